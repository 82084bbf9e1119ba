"""The rules of an `autograd.Function`: gradients, tangents, and rules that are differentiated once."""

import collections
import itertools

import numpy as np
import pytest
from differences import same
from functions import D, make, save_inputs, square, t

import pullback as pb
from pullback.autograd import Function
from pullback.autograd.function import once_differentiable
from pullback.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap


# Rules


def test_f03_more_gradients_may_be_none():
    f = make(forward=lambda x: x * 2, backward=lambda ctx, g: (2 * g, None, None))
    assert grad(f.apply)(t(1.0)).item() == 2.0


def test_f06_a_gradient_that_nobody_needs_is_ignored():
    f = make(forward=lambda x, y: x * y, setup=save_inputs, backward=lambda ctx, g: (g * ctx.saved_tensors[1], pb.ones(7)))
    assert grad(f.apply)(t(2.0), t(3.0)).item() == 3.0


@pytest.mark.parametrize("generated", [False, True])
def test_f07_a_gradient_in_the_shape_of_the_result_is_summed(generated):
    f = make(
        forward=lambda x, y: x * y,
        setup=save_inputs,
        backward=lambda ctx, g: (g * ctx.saved_tensors[1], g * ctx.saved_tensors[0]),
        generate_vmap_rule=generated,
    )
    rng = np.random.default_rng(1)
    x, y = t(rng.standard_normal(4)), t(rng.standard_normal((3, 4)))
    got = grad(lambda x, y: f.apply(x, y).sum(), (0, 1))(x, y)
    same(got[0], y.numpy().sum(0))
    same(got[1], np.broadcast_to(x.numpy(), (3, 4)))
    if generated:
        ys = t(rng.standard_normal((5, 3, 4)))
        got = vmap(grad(lambda x, y: f.apply(x, y).sum(), (0, 1)), in_dims=(None, 0))(x, ys)
        same(got[0], ys.numpy().sum(1))
        # The shared argument receives from all lanes.
        same(grad(lambda x: vmap(f.apply, in_dims=(None, 0))(x, ys).sum())(x), ys.numpy().sum((0, 1)))


def test_c18_a_scalar_that_was_broadcast():
    f = make(forward=lambda x: x * pb.ones(2, dtype=D), backward=lambda ctx, g: g)
    assert grad(lambda x: f.apply(x).sum())(t(1.0)).item() == 2.0


def test_f09_floats_are_converted():
    f = make(forward=lambda x: x * 2, backward=lambda ctx, g: g.double() * 2, jvp=lambda ctx, tx: tx.double() * 2)
    x = pb.tensor([1.0, 2.0], dtype=pb.float32)
    g = grad(lambda x: f.apply(x).sum())(x)
    assert g.dtype == pb.float32 and g.tolist() == [2.0, 2.0]
    tangent = jvp(f.apply, (x,), (x,))[1]
    assert tangent.dtype == pb.float32 and tangent.tolist() == [2.0, 4.0]


def test_gradients_may_come_in_one_list():
    def backward(ctx, grads):
        a, b = grads
        grads.clear()
        return 2 * a + 3 * b

    own = make(forward=lambda x: (x * 2, x * 3), backward=backward, boxed_grads_call=True, generate_vmap_rule=True).apply
    assert grad(lambda x: sum(own(x)))(t(1.0)).item() == 5.0
    assert vmap(grad(lambda x: sum(own(x))))(t([1.0, 2.0])).tolist() == [5.0, 5.0]
    with pytest.raises(TypeError, match="True or False for `boxed_grads_call`, got 3"):
        type("Own", (Function,), {"boxed_grads_call": 3})


def test_f11_none_is_a_zero():
    f = make(forward=lambda x, y: x * y, setup=save_inputs, backward=lambda ctx, g: (g * ctx.saved_tensors[1], None))
    assert [g.item() for g in grad(f.apply, (0, 1))(t(2.0), t(3.0))] == [3.0, 0.0]


@pytest.mark.parametrize("name", ["backward", "vjp"])
def test_the_rule_has_two_names(name):
    f = make(forward=lambda x: x * 2, **{name: lambda ctx, g: g * 2})
    assert grad(f.apply)(t(1.0)).item() == 2.0


def test_unused_results_have_zeros_or_none():
    seen = []

    def own(materialize):
        def backward(ctx, *grads):
            seen.append(grads)
            return grads[0] * 2

        setup = lambda ctx, inputs, output: ctx.set_materialize_grads(materialize)
        return make(forward=lambda x: (x * 2, x * 3, x.argmax(), "note"), setup=setup, backward=backward)

    x = t([1.0, 2.0])
    for materialize in (True, False):
        seen.clear()
        f = own(materialize)
        assert grad(lambda x, f=f: f.apply(x)[0].sum())(x).tolist() == [2.0, 2.0]
        ((first, second, third, fourth),) = seen
        assert first.tolist() == [1.0, 1.0] and fourth is None
        if materialize:
            assert second.tolist() == [0.0, 0.0] and third.item() == 0
        else:
            assert second is None and third is None


def test_tangents_of_constants_are_zeros_or_none():
    seen = []

    def own(materialize):
        def rule(ctx, *tangents):
            seen.append(tangents)
            return tangents[0]

        setup = lambda ctx, inputs, output: ctx.set_materialize_grads(materialize)
        return make(forward=lambda x, y, i, n: x + y, setup=setup, jvp=rule)

    x, i = t([1.0, 2.0]), pb.tensor([0, 1])
    for materialize in (True, False):
        seen.clear()
        f = own(materialize)
        _, tangent = jvp(lambda x, f=f: f.apply(x, x.detach(), i, 3), (x,), (x,))
        assert tangent.tolist() == [1.0, 2.0]
        ((first, second, third, fourth),) = seen
        assert first.tolist() == [1.0, 2.0] and third is None and fourth is None
        assert second.tolist() == [0.0, 0.0] if materialize else second is None


def test_f23_without_zeros_a_result_may_have_no_tangent():
    f = make(
        forward=lambda x, y: (x * 2, y * 3),
        setup=lambda ctx, inputs, output: ctx.set_materialize_grads(False),
        jvp=lambda ctx, tx, ty: (tx * 2, None if ty is None else ty * 3),
    )
    (_, _), (a, b) = jvp(lambda x: f.apply(x, t(1.0)), (t(1.0),), (t(1.0),))
    assert a.item() == 2.0 and b.item() == 0.0


def test_c25_a_missing_rule_is_derived():
    cos = make(
        forward=lambda x: x.cos(), setup=save_inputs, backward=lambda ctx, g: -g * ctx.saved_tensors[0].sin()
    )
    x = t(1.0)
    same(jvp(cos.apply, (x,), (x,))[1], -0.841470985, 1e-9)
    same(hessian(cos.apply)(x), -0.540302306, 1e-9)
    tan = make(
        forward=lambda x: x.tan(), setup=save_inputs, jvp=lambda ctx, tx: tx * (1 + ctx.saved_tensors[0].tan() ** 2)
    )
    same(grad(tan.apply)(x), 1 + np.tan(1.0) ** 2)
    same(grad(grad(tan.apply))(x), 2 * np.tan(1.0) * (1 + np.tan(1.0) ** 2))


def nests(f, order):
    """Every way to take the derivative of this order by nesting the modes."""
    for modes in itertools.product([grad, jacfwd, jacrev], repeat=order):
        g = f
        for mode in modes:
            g = mode(g)
        yield [mode.__name__ for mode in modes], g


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_c03_derivatives_of_every_order_in_every_nest_of_modes(order):
    own = square()
    f = lambda x: own.apply(own.apply(x))
    for modes, derivative in nests(f, order):
        assert derivative(t(3.0)).item() == [108.0, 108.0, 72.0, 24.0][order - 1], modes


def test_c02_no_level_is_lost():
    cube = make(
        forward=lambda x: x**3, setup=save_inputs, backward=lambda ctx, g: 3 * ctx.saved_tensors[0] ** 2 * g
    ).apply
    f, got = cube, []
    for _ in range(5):
        got.append(f(t(3.0)).item())
        f = grad(f)
    assert got == [27.0, 27.0, 18.0, 6.0, 0.0]


def test_c01_the_rule_that_was_written_runs_in_every_nest():
    f = make(forward=lambda x: 2 * x, backward=lambda ctx, g: 3 * g, generate_vmap_rule=True).apply
    ones = pb.ones(4, dtype=D)
    assert grad(f)(t(1.0)).item() == 3.0
    assert vmap(grad(f))(ones).tolist() == [3.0] * 4
    assert grad(lambda x: vmap(f)(x).sum())(ones).tolist() == [3.0] * 4


def test_perturbations_of_two_levels_are_not_confused():
    own = square()
    # d/dx (x * d/dy (x + y)²) at y = x.
    f = lambda x: x * grad(lambda y: own.apply(x + y))(x)
    assert grad(f)(t(3.0)).item() == 24.0
    g = lambda x: x * jvp(lambda y: own.apply(x + y), (x,), (t(1.0),))[1]
    assert jvp(g, (t(3.0),), (t(1.0),))[1].item() == 24.0
    assert grad(g)(t(3.0)).item() == 24.0


def test_a_function_of_an_outer_value_runs_its_rule_once():
    calls = []
    own = make(
        forward=lambda x: x * x,
        setup=save_inputs,
        backward=lambda ctx, g: (calls.append(1), 2 * g * ctx.saved_tensors[0])[1],
    )
    f = lambda x: grad(lambda y: y * own.apply(x))(t(1.0))
    assert grad(f)(t(3.0)).item() == 6.0
    assert len(calls) == 1


def test_forward_runs_once_and_setup_context_once_per_level():
    count = collections.Counter()

    def forward(x):
        count["forward"] += 1
        return x * x

    def setup(ctx, inputs, output):
        count["setup"] += 1
        save_inputs(ctx, inputs, output)

    own = make(forward=forward, setup=setup, backward=lambda ctx, g: 2 * g * ctx.saved_tensors[0]).apply
    for call, setups in [(own, 0), (grad(own), 1), (grad(grad(own)), 2), (grad(grad(grad(own))), 3)]:
        count.clear()
        call(t(3.0))
        assert (count["forward"], count["setup"]) == (1, setups)


def test_forward_sees_numbers_whatever_transforms_run():
    seen = []

    def forward(x):
        seen.append(x.numpy().copy())
        return pb.tensor(x.numpy() ** 2)

    own = make(forward=forward, setup=save_inputs, backward=lambda ctx, g: 2 * g * ctx.saved_tensors[0])
    f = lambda x: own.apply(x)
    for g in (f, grad(f), grad(grad(f)), hessian(f), jacfwd(jacfwd(f))):
        g(t(3.0))
    assert all(v == 3.0 for v in seen)


# Once


@pytest.mark.parametrize("outside", [False, True])
def test_a_rule_by_other_software_is_differentiated_once(outside):
    def backward(ctx, g):
        return pb.tensor(g.numpy() * 2 * ctx.saved_tensors[0].numpy())

    rule = staticmethod(once_differentiable(backward)) if not outside else once_differentiable(staticmethod(backward))
    own = type(
        "Own",
        (Function,),
        {"forward": staticmethod(lambda x: x * x), "setup_context": staticmethod(save_inputs), "backward": rule},
    ).apply
    x = t([1.0, 2.0])
    f = lambda x: own(x).sum()
    assert grad(f)(x).tolist() == [2.0, 4.0]
    assert jacrev(own)(x).tolist() == [[2.0, 0.0], [0.0, 4.0]]
    for again in (
        grad(lambda x: grad(f)(x).sum()),
        jacrev(grad(f)),
        # The cotangent does not depend on x, and the product would have a plausible value.
        grad(lambda x: (x * grad(f)(x)).sum()),
    ):
        with pytest.raises(RuntimeError, match="`backward` of function `Own`.*differentiable once"):
            again(x)
    # There is no rule for forward mode, and none can be derived from numbers.
    with pytest.raises(RuntimeError, match="`backward` of function `Own`.*write both `backward` and `jvp`"):
        jacfwd(grad(f))(x)


def test_each_rule_is_once_differentiable_for_itself():
    own = make(
        forward=lambda x: x * x,
        setup=save_inputs,
        backward=once_differentiable(lambda ctx, g: g * 2 * ctx.saved_tensors[0]),
        jvp=lambda ctx, tx: tx * 2 * ctx.saved_tensors[0],
    ).apply
    assert jacfwd(jacfwd(own))(t(3.0)).item() == 2.0
    assert grad(lambda x: jvp(own, (x,), (t(1.0),))[1])(t(3.0)).item() == 2.0
    with pytest.raises(RuntimeError, match="differentiable once"):
        grad(grad(own))(t(3.0))
