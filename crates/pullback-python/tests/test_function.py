"""What `autograd.Function` does: arguments, outputs, the context, rules, and how they behave under transforms."""

import collections
import gc
import itertools
import threading
import weakref

import numpy as np
import pytest
from differences import gradient, jacobian, same

import pullback as pb
from pullback.autograd import Function
from pullback.autograd.function import once_differentiable
from pullback.func import capture, grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

D = pb.float64


def t(value):
    return pb.tensor(value, dtype=D)


def nothing(ctx, inputs, output):
    pass


def make(name="Own", forward=None, setup=nothing, old=False, **members):
    """A class of functions from its methods; `old` lets `forward` take the context."""
    body = {"forward": staticmethod(forward)}
    if not old:
        body["setup_context"] = staticmethod(setup)
    for key, value in members.items():
        body[key] = value if isinstance(value, bool) else staticmethod(value)
    return type(name, (Function,), body)


def save_inputs(ctx, inputs, output):
    ctx.save_for_backward(*inputs)
    ctx.save_for_forward(*inputs)


class Mul(Function):
    """The product of two numbers."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        return x * y

    setup_context = staticmethod(save_inputs)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y, g * x

    @staticmethod
    def jvp(ctx, tx, ty):
        x, y = ctx.saved_tensors
        return tx * y + x * ty


class OldMul(Function):
    """The same in the older form."""

    generate_vmap_rule = True

    @staticmethod
    def forward(ctx, x, y):
        save_inputs(ctx, (x, y), None)
        return x * y

    backward, jvp = staticmethod(Mul.backward), staticmethod(Mul.jvp)


FORMS = pytest.mark.parametrize("mul", [Mul, OldMul])


# Arguments


@pytest.mark.parametrize("old", [False, True])
def test_c13_keywords_and_defaults_reach_every_method(old):
    seen = []

    def body(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor

    def forward(x, factor=1.0):
        return x.sin() * factor

    def old_forward(ctx, x, factor=1.0):
        body(ctx, x, factor)
        return forward(x, factor)

    def setup(ctx, inputs, output):
        seen.append(len(inputs))
        body(ctx, *inputs)

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ctx.factor * x.cos(), None

    sin = make(forward=old_forward if old else forward, setup=setup, old=old, backward=backward)
    x = t(0.812)
    same(sin.apply(x, factor=6.0), 4.353988330, 1e-9)
    same(grad(lambda x: sin.apply(x, factor=6.0))(x), 4.128290883, 1e-9)
    same(grad(lambda x: sin.apply(x=x, factor=6.0))(x), 4.128290883, 1e-9)
    same(grad(lambda x: sin.apply(x, 6.0))(x), 4.128290883, 1e-9)
    same(sin.apply(x), np.sin(0.812))
    same(grad(sin.apply)(x), np.cos(0.812))
    assert set(seen) == (set() if old else {2})


def test_defaults_between_keywords_are_filled_in():
    f = make(forward=lambda x, a=2.0, b=3.0: x * a * b, backward=lambda ctx, g: (g * ctx.k, None, None))
    assert f.apply(t(1.0), b=5.0).item() == 10.0
    old = make(forward=lambda ctx, x, a=2.0, b=3.0: x * a * b, old=True)
    assert old.apply(t(1.0), b=5.0).item() == 10.0
    assert old.apply(t(1.0)).item() == 6.0


def test_any_number_of_arguments():
    def backward(ctx, g):
        xs = ctx.saved_tensors
        return tuple(g * t(np.prod([x.item() for j, x in enumerate(xs) if j != k])) for k in range(len(xs)))

    def product(*xs):
        out = xs[0]
        for x in xs[1:]:
            out = out * x
        return out

    f = make(forward=product, setup=save_inputs, backward=once_differentiable(backward))
    got = grad(f.apply, (0, 1, 2))(t(2.0), t(3.0), t(5.0))
    assert [g.item() for g in got] == [15.0, 10.0, 6.0]


def test_a_call_without_tensors_runs_forward():
    f = make(forward=lambda a, b: a + b)
    assert f.apply(2, 3) == 5
    assert f.apply("a", "b") == "ab"


@FORMS
def test_the_same_tensor_twice_is_two_arguments(mul):
    x = t(3.0)
    assert grad(lambda x: mul.apply(x, x))(x).item() == 6.0
    assert grad(grad(lambda x: mul.apply(x, x)))(x).item() == 2.0
    assert [g.item() for g in grad(mul.apply, (0, 1))(x, x)] == [3.0, 3.0]
    # One of two arguments that hold the same value at the bottom.
    assert grad(lambda y: mul.apply(x, y))(x).item() == 3.0
    assert jvp(lambda y: mul.apply(x, y), (x,), (t(1.0),))[1].item() == 3.0


def test_c14_tensors_in_containers_are_arguments():
    def backward(ctx, g):
        a, b, c = ctx.saved_tensors
        return {"a": g * b * c, "b": [g * a * c, g * a * b]}, None

    def setup(ctx, inputs, output):
        tree, note = inputs
        assert note == "note"
        ctx.save_for_backward(tree["a"], *tree["b"])

    f = make(forward=lambda tree, note: tree["a"] * tree["b"][0] * tree["b"][1], setup=setup, backward=backward)
    tree = {"a": t(2.0), "b": [t(3.0), t(4.0)]}
    assert f.apply(tree, "note").item() == 24.0
    got = grad(lambda tree: f.apply(tree, "note"))(tree)
    assert got["a"].item() == 12.0 and [x.item() for x in got["b"]] == [8.0, 6.0]
    second = jacrev(grad(lambda tree: f.apply(tree, "note")))(tree)
    assert second["a"]["b"][0].item() == 4.0


def test_gradients_in_containers_may_be_none():
    f = make(forward=lambda xs, n: xs[0] * n, backward=lambda ctx, g: ([g * 3, None], None))
    got = grad(lambda xs: f.apply(xs, 3))([t(1.0), t(2.0)])
    assert [x.item() for x in got] == [3.0, 0.0]


def test_c24_a_mask_is_an_argument_of_its_own_in_each_call():
    f = make(
        forward=lambda x, mask: x * mask,
        setup=lambda ctx, inputs, output: ctx.save_for_backward(inputs[1]),
        backward=lambda ctx, g: (g * ctx.saved_tensors[0], None),
        generate_vmap_rule=True,
    )
    x, masks = t([1.0, 2.0, 3.0]), t([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    for mask in masks:
        assert grad(lambda x, mask=mask: f.apply(x, mask).sum())(x).tolist() == mask.tolist()
    assert vmap(lambda mask: grad(lambda x: f.apply(x, mask).sum())(x))(masks).tolist() == masks.tolist()


def test_c20_rules_know_what_is_needed():
    seen = []

    def backward(ctx, g):
        seen.append(ctx.needs_input_grad)
        a, b = ctx.saved_tensors
        return g * b if ctx.needs_input_grad[0] else None, g * a if ctx.needs_input_grad[1] else None

    for old in (False, True):
        forward = (lambda ctx, a, b: (save_inputs(ctx, (a, b), None), a * b)[1]) if old else (lambda a, b: a * b)
        f = make(forward=forward, setup=save_inputs, old=old, backward=backward)
        seen.clear()
        assert grad(f.apply)(t(2.0), t(5.0)).item() == 5.0
        assert grad(f.apply, 1)(t(2.0), t(5.0)).item() == 2.0
        grad(f.apply, (0, 1))(t(2.0), t(5.0))
        assert seen == [(True, False), (False, True), (True, True)]
        seen.clear()
        assert grad(grad(f.apply), 1)(t(2.0), t(5.0)).item() == 1.0
        assert seen[0] == (True, False)


def test_needs_input_grad_counts_arguments():
    seen = []

    def forward(ctx, n, xs, y):
        seen.append(ctx.needs_input_grad)
        return xs[0] * y * n

    f = make(forward=forward, old=True, backward=lambda ctx, g: (seen.append(ctx.needs_input_grad), None, [None, None], g)[1:])
    grad(lambda y: f.apply(2, [t(1.0), t(1.0)], y))(t(3.0))
    assert seen == [(False, False, True)] * 2
    seen.clear()
    f.apply(2, [t(1.0), t(1.0)], t(3.0))
    assert seen == [(False, False, False)]


# Outputs


Pair = collections.namedtuple("Pair", "a b")


@pytest.mark.parametrize(
    ("result", "check"),
    [
        (lambda x: x * 2, lambda y: y.item() == 6.0),
        (lambda x: (x * 2,), lambda y: type(y) is tuple and y[0].item() == 6.0),
        (lambda x: (x * 2, x * 3), lambda y: type(y) is tuple and [v.item() for v in y] == [6.0, 9.0]),
        (lambda x: Pair(x * 2, x * 3), lambda y: type(y) is tuple and [v.item() for v in y] == [6.0, 9.0]),
        (lambda x: [x * 2, x * 3], lambda y: type(y) is list and [v.item() for v in y] == [6.0, 9.0]),
        (lambda x: {"a": x * 2}, lambda y: y["a"].item() == 6.0),
        (lambda x: (x * 2, "note", None, 7), lambda y: y[0].item() == 6.0 and y[1:] == ("note", None, 7)),
        (lambda x: "note", lambda y: y == "note"),
        (lambda x: None, lambda y: y is None),
        (lambda x: (), lambda y: y == ()),
    ],
)
@pytest.mark.parametrize("transformed", [False, True])
def test_results_of_all_kinds(result, check, transformed):
    f = make(forward=result, backward=lambda ctx, *grads: None)
    if not transformed:
        assert check(f.apply(t(3.0)))
        return

    def inner(x):
        assert check(f.apply(x))
        return x

    grad(inner)(t(3.0))


def test_lists_and_dicts_of_results_are_differentiated():
    f = make(
        forward=lambda x: {"a": x * 2, "b": [x * 3, "note"]},
        backward=lambda ctx, g: g["a"] * 2 + g["b"][0] * 3,
        jvp=lambda ctx, tx: {"a": tx * 2, "b": [tx * 3, None]},
    )
    pick = lambda x: f.apply(x)["b"][0] * f.apply(x)["a"]
    assert grad(pick)(t(1.0)).item() == 12.0
    assert jvp(pick, (t(1.0),), (t(1.0),))[1].item() == 12.0


def test_g21_the_same_object_returned_twice_has_two_gradients():
    def forward(x):
        y = x * 2
        return y, y

    f = make(forward=forward, backward=lambda ctx, a, b: 2 * a + 20 * b, jvp=lambda ctx, tx: (2 * tx, 20 * tx))
    assert grad(lambda x: f.apply(x)[0])(t(1.0)).item() == 2.0
    assert grad(lambda x: f.apply(x)[1])(t(1.0)).item() == 20.0
    assert grad(lambda x: sum(f.apply(x)))(t(1.0)).item() == 22.0
    y, z = f.apply(t(1.0))
    y += 1
    assert z.item() == 2.0


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("saves", ["input", "output", "nothing"])
def test_an_argument_returned_as_it_is(old, saves):
    def save(ctx, x, y):
        if saves != "nothing":
            ctx.save_for_backward(x if saves == "input" else y)

    def backward(ctx, g):
        return 3 * g if saves == "nothing" else 3 * g * ctx.saved_tensors[0]

    forward = (lambda ctx, x: (save(ctx, x, x), x)[1]) if old else (lambda x: x)
    setup = lambda ctx, inputs, output: save(ctx, inputs[0], output)
    f = make(forward=forward, setup=setup, old=old, backward=backward)
    x = t(5.0)
    y = f.apply(x)
    assert y is not x and y.item() == 5.0
    y += 1
    assert x.item() == 5.0
    assert grad(f.apply)(x).item() == (3.0 if saves == "nothing" else 15.0)
    # A saved input is the argument, a saved output is the result, and its derivative is that of the rule.
    second = {"nothing": 0.0, "input": 3.0, "output": 3.0 * 15.0}[saves]
    if old and saves == "output":
        second = 3.0
    assert grad(grad(f.apply))(x).item() == second


@pytest.mark.parametrize("old", [False, True])
def test_c11_integer_results_need_no_mark(old):
    def forward(*args):
        x = args[-1]
        return x * 1, x.argmax()

    f = make(
        forward=forward,
        old=old,
        backward=lambda ctx, g, _: g,
        jvp=lambda ctx, tx: (tx, None),
        generate_vmap_rule=True,
    )
    x = t([1.0, 3.0, 2.0])
    (y, k), (ty, tk) = jvp(f.apply, (x,), (pb.ones_like(x),))
    assert y.tolist() == [1.0, 3.0, 2.0] and k.item() == 1 and ty.tolist() == [1.0] * 3
    xs = t([[1.0, 3.0, 2.0], [3.0, 1.0, 2.0]])
    assert vmap(lambda x: f.apply(x)[1])(xs).tolist() == [1, 0]
    assert jacfwd(lambda x: f.apply(x)[0])(x).tolist() == np.eye(3).tolist()
    assert grad(lambda x: f.apply(x)[0].sum())(x).tolist() == [1.0] * 3


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("generated", [False, True])
def test_f61_marks_hold_for_floats_in_every_nest(old, generated):
    def mark(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])

    def forward(x):
        return x * 2, x * 3

    def old_forward(ctx, x):
        out = forward(x)
        mark(ctx, (x,), out)
        return out

    rule = {"generate_vmap_rule": True} if generated else {"vmap": lambda info, d, x: (f.apply(x), (d[0], d[0]))}
    f = make(
        forward=old_forward if old else forward,
        setup=mark,
        old=old,
        backward=lambda ctx, a, b: 2 * a + b,
        jvp=lambda ctx, tx: (2 * tx, None),
        **rule,
    )
    total = lambda x: sum(f.apply(x))
    xs = t([1.0, 2.0])
    assert grad(total)(t(1.0)).item() == 2.0
    assert jvp(total, (t(1.0),), (t(1.0),))[1].item() == 2.0
    if not (old and not generated):
        assert vmap(grad(total))(xs).tolist() == [2.0, 2.0]
    assert grad(lambda x: vmap(total)(x).sum())(xs).tolist() == [2.0, 2.0]
    assert jacfwd(lambda x: vmap(total)(x))(xs).tolist() == [[2.0, 0.0], [0.0, 2.0]]


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


def square():
    return make(
        forward=lambda x: x * x,
        setup=save_inputs,
        backward=lambda ctx, g: 2 * ctx.saved_tensors[0] * g,
        jvp=lambda ctx, tx: 2 * ctx.saved_tensors[0] * tx,
        generate_vmap_rule=True,
    )


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


# The context


def test_saved_tensors_come_in_their_order_with_none():
    def setup(ctx, inputs, output):
        ctx.save_for_backward(None, inputs[0], None, output)
        ctx.save_for_forward(output, None)

    def backward(ctx, g):
        a, x, b, y = ctx.saved_tensors
        assert a is None and b is None
        return g * y / x * 2

    def rule(ctx, tx):
        y, none = ctx.saved_tensors
        assert none is None
        return 2 * tx * y.sqrt()

    own = make(forward=lambda x: x * x, setup=setup, backward=backward, jvp=rule).apply
    assert grad(own)(t(3.0)).item() == 6.0
    assert grad(grad(own))(t(3.0)).item() == 2.0
    assert jvp(own, (t(3.0),), (t(1.0),))[1].item() == 6.0
    same(jacfwd(jacfwd(own))(t(3.0)), 2.0)


def test_nothing_saved_is_an_empty_tuple():
    own = make(forward=lambda x: x * 2, backward=lambda ctx, g: g * (2 + len(ctx.saved_tensors))).apply
    assert grad(own)(t(1.0)).item() == 2.0


def test_saving_twice_keeps_the_last():
    def setup(ctx, inputs, output):
        ctx.save_for_backward(output)
        ctx.save_for_backward(*inputs)

    own = make(forward=lambda x: x * x, setup=setup, backward=lambda ctx, g: 2 * g * ctx.saved_tensors[0]).apply
    assert grad(own)(t(3.0)).item() == 6.0


@pytest.mark.parametrize("first", ["backward", "forward"])
@pytest.mark.parametrize("old", [False, True])
def test_f60_the_order_of_the_two_calls_does_not_matter(first, old):
    def save(ctx, x, y):
        calls = [lambda: ctx.save_for_backward(x, y), lambda: ctx.save_for_forward(y, x)]
        for call in calls if first == "backward" else calls[::-1]:
            call()

    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y, (g * x).sum()

    def rule(ctx, tx, ty):
        y, x = ctx.saved_tensors
        return tx * y + ty * x

    forward = (lambda ctx, x, y: (save(ctx, x, y), x * y)[1]) if old else (lambda x, y: x * y)
    own = make(
        forward=forward,
        setup=lambda ctx, inputs, output: save(ctx, *inputs),
        old=old,
        backward=backward,
        jvp=rule,
        generate_vmap_rule=True,
    ).apply
    x, ys = t([1.0, 2.0]), t([3.0, 4.0, 5.0])
    f = lambda x, y: own(x, y).sum()
    for k, y in enumerate(ys):
        expected = grad(f, (0, 1))(x, y)
        got = vmap(grad(f, (0, 1)), in_dims=(None, 0))(x, ys)
        same(got[0][k], expected[0])
        same(got[1][k], expected[1])
        tangents = vmap(lambda y: jvp(own, (x, y), (x, y))[1])(ys)
        same(tangents[k], 2 * x.numpy() * y.numpy())


def test_attributes_hold_anything_but_tensors():
    def setup(ctx, inputs, output):
        ctx.shape, ctx.word, ctx.array, ctx.nothing = inputs[0].shape, "two", np.array([2.0]), None
        ctx.pair = (1, [2])
        del ctx.word
        assert not hasattr(ctx, "word") and "pair" in dir(ctx)
        ctx.pair = 2

    def backward(ctx, g):
        assert tuple(ctx.shape) == (3,) and ctx.nothing is None
        return g * ctx.pair * float(ctx.array[0])

    own = make(forward=lambda x: x * 4, setup=setup, backward=backward)
    assert grad(lambda x: own.apply(x).sum())(t([1.0, 2.0, 3.0])).tolist() == [4.0] * 3


def test_attributes_live_as_long_as_the_graph():
    class Thing:
        pass

    alive = []

    def setup(ctx, inputs, output):
        ctx.thing = Thing()
        alive.append(weakref.ref(ctx.thing))

    own = make(forward=lambda x: x * 2, setup=setup, backward=lambda ctx, g: g * 2).apply
    _, pull = vjp(own, t(1.0))
    gc.collect()
    assert alive[0]() is not None
    assert pull(t(1.0))[0].item() == 2.0
    del pull
    gc.collect()
    assert alive[0]() is None


def test_what_setup_context_computes_is_differentiated():
    # A value that is neither input nor output, which would be a constant in PyTorch.
    own = make(
        forward=lambda x: x**3,
        setup=lambda ctx, inputs, output: ctx.save_for_backward(3 * inputs[0] ** 2),
        backward=lambda ctx, g: g * ctx.saved_tensors[0],
    ).apply
    assert grad(own)(t(2.0)).item() == 12.0
    assert grad(grad(own))(t(2.0)).item() == 12.0
    assert hessian(own)(t(2.0)).item() == 12.0
    assert grad(grad(grad(own)))(t(2.0)).item() == 6.0


@pytest.mark.parametrize("second", [lambda f: grad(grad(f)), lambda f: hessian(f), lambda f: jacfwd(grad(f))])
@pytest.mark.parametrize("generated", [False, True])
def test_c05_a_hidden_intermediate_is_an_error_in_the_second_derivative(second, generated):
    def forward(ctx, x):
        m = 2 * x
        ctx.save_for_backward(m)
        return m * m

    own = make(
        "Hidden", forward=forward, old=True, backward=lambda ctx, g: 4 * ctx.saved_tensors[0] * g, generate_vmap_rule=generated
    ).apply
    assert grad(own)(t(3.0)).item() == 24.0
    with pytest.raises(RuntimeError, match="`Hidden`.*intermediate value"):
        second(own)(t(3.0))
    if generated:
        assert vmap(grad(own))(t([1.0, 3.0])).tolist() == [8.0, 24.0]
        with pytest.raises(RuntimeError, match="`Hidden`.*intermediate value"):
            vmap(second(own))(t([1.0, 3.0]))


def test_a_hidden_constant_does_no_harm_where_no_derivative_flows():
    # The second derivative goes through x alone: the mask is read, but multiplied by what does not depend on x.
    def forward(ctx, x):
        mask = (x > 0).to(D)
        ctx.save_for_backward(mask)
        return x * mask

    own = make(forward=forward, old=True, backward=lambda ctx, g: g * ctx.saved_tensors[0]).apply
    x = t([-1.0, 2.0])
    assert grad(lambda x: own(x).sum())(x).tolist() == [0.0, 1.0]
    with pytest.raises(RuntimeError, match="mark_non_differentiable"):
        grad(lambda x: grad(lambda x: (own(x) ** 2).sum())(x).sum())(x)

    def returned(ctx, x):
        mask = (x > 0).to(D)
        ctx.save_for_backward(mask)
        ctx.mark_non_differentiable(mask)
        return x * mask, mask

    fixed = make(forward=returned, old=True, backward=lambda ctx, g, _: g * ctx.saved_tensors[0]).apply
    assert grad(lambda x: grad(lambda x: (fixed(x)[0] ** 2).sum())(x).sum())(x).tolist() == [0.0, 2.0]


@FORMS
def test_g31_both_forms_are_right_in_every_nest(mul):
    x, y = t(2.0), t(5.0)
    f = lambda x, y: mul.apply(mul.apply(x, y), mul.apply(x, x))  # x³ y
    plain = lambda x, y: (x * y) * (x * x)
    xs = t([1.0, 2.0, 3.0])
    for transform in (
        lambda f: grad(f, (0, 1)),
        lambda f: grad(grad(f), 1),
        lambda f: jacfwd(jacrev(f, (0, 1)), (0, 1)),
        lambda f: jacrev(jacfwd(f)),
        lambda f: jacfwd(jacfwd(f)),
        lambda f: (lambda x, y: jvp(f, (x, y), (y, x))),
        lambda f: (lambda x, y: linearize(f, x, y)[1](y, x)),
        lambda f: (lambda x, y: vjp(f, x, y)[1](x)),
        lambda f: (lambda x, y: vmap(f, in_dims=(0, None))(xs, y)),
        lambda f: (lambda x, y: vmap(grad(f, (0, 1)), in_dims=(0, None))(xs, y)),
        lambda f: (lambda x, y: grad(lambda y: vmap(f, in_dims=(0, None))(xs, y).sum())(y)),
        lambda f: (lambda x, y: vmap(vmap(hessian(f), in_dims=(0, None)), in_dims=(None, 0))(xs, xs)),
        lambda f: (lambda x, y: hessian(lambda x: vmap(f, in_dims=(0, None))(x, y).sum())(xs)),
    ):
        got, expected = pb.tree.leaves(transform(f)(x, y)), pb.tree.leaves(transform(plain)(x, y))
        assert len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            same(a, b)


@pytest.mark.parametrize("old", [False, True])
def test_graphs_run_the_function_again(old):
    scale = lambda x: float(np.abs(x.numpy()).max())

    def forward(*args):
        if old:
            args[0].scale = scale(args[-1])
        return args[-1] * scale(args[-1])

    def setup(ctx, inputs, output):
        ctx.save_for_backward(output)

    def backward(ctx, g):
        return g * (ctx.scale if old else 2.0)

    own = make(forward=forward, setup=setup, old=old, backward=backward)
    graph = capture(lambda x: own.apply(x))(t([1.0, 3.0]))
    assert graph(t([1.0, 5.0])).tolist() == [5.0, 25.0]
    pulls = [vjp(graph, t([1.0, k]))[1] for k in (5.0, 7.0)]
    if old:
        assert [pull(t([1.0, 1.0]))[0].tolist() for pull in pulls] == [[5.0, 5.0], [7.0, 7.0]]


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


# In place


@pytest.mark.parametrize("old", [False, True])
def test_c36_an_argument_that_is_changed_in_place(old):
    def forward(*args):
        x = args[-1]
        x.mul_(2)
        if old:
            args[0].mark_dirty(x)
            args[0].save_for_backward(x)
            args[0].save_for_forward(x)
        return x

    def setup(ctx, inputs, output):
        assert inputs[0] is output
        ctx.mark_dirty(inputs[0])
        save_inputs(ctx, inputs, output)

    def backward(ctx, g):
        # The saved value is the new one.
        return g * ctx.saved_tensors[0]

    own = make(
        forward=forward,
        setup=setup,
        old=old,
        backward=backward,
        jvp=lambda ctx, tx: tx.mul_(ctx.saved_tensors[0]),
        generate_vmap_rule=True,
    )
    x = t(3.0)
    assert own.apply(x) is x and x.item() == 6.0

    def f(x):
        y = x * 1
        z = own.apply(y)
        assert z is y
        return y

    assert f(t(3.0)).item() == 6.0
    assert grad(f)(t(3.0)).item() == 6.0
    assert jvp(f, (t(3.0),), (t(1.0),))[1].item() == 6.0
    # y = 2x is saved as an output, whose derivative is that of the rule: 6 at x = 3.
    assert grad(grad(f))(t(3.0)).item() == 6.0
    xs = t([1.0, 2.0])
    assert vmap(f)(xs).tolist() == [2.0, 4.0]
    assert vmap(grad(f))(xs).tolist() == [2.0, 4.0]
    assert grad(lambda x: vmap(f)(x).sum())(xs).tolist() == [2.0, 4.0]


def test_in_place_with_a_batching_rule():
    class Double(Function):
        @staticmethod
        def forward(x):
            return x.mul_(2)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.mark_dirty(inputs[0])

        @staticmethod
        def backward(ctx, g):
            return 2 * g

        @staticmethod
        def vmap(info, in_dims, x):
            return Double.apply(x), in_dims[0]

    def f(x):
        y = x * 1
        assert Double.apply(y) is y
        return y

    xs = t([[1.0, 2.0], [3.0, 4.0]])
    assert vmap(f, in_dims=1)(xs).tolist() == [[2.0, 6.0], [4.0, 8.0]]
    assert vmap(grad(lambda x: f(x).sum()))(xs).tolist() == [[2.0, 2.0], [2.0, 2.0]]


# Lanes


class Recorder:
    """A product whose batching rule writes down what it is given."""

    def __init__(self):
        self.seen = seen = []

        def rule(info, in_dims, x, y):
            seen.append((info.batch_size, info.randomness, in_dims))
            return x * y, 0

        self.apply = make(
            forward=lambda x, y: x * y,
            setup=save_inputs,
            backward=lambda ctx, g: (g * ctx.saved_tensors[1], g * ctx.saved_tensors[0]),
            vmap=rule,
        ).apply


@pytest.mark.parametrize("randomness", ["error", "different", "same"])
def test_the_rule_is_told_of_the_vmap(randomness):
    recorder, xs = Recorder(), t([[1.0], [2.0], [3.0]])
    vmap(lambda x: recorder.apply(x, x), randomness=randomness)(xs)
    vmap(recorder.apply, in_dims=(0, None), randomness=randomness)(xs, t([1.0]))
    assert recorder.seen == [(3, randomness, (0, 0)), (3, randomness, (0, None))]
    assert "batch_size=3" in repr_of_info()


def repr_of_info():
    seen = []
    f = make(forward=lambda x: x, vmap=lambda info, in_dims, x: (seen.append(repr(info)), (x, 0))[1]).apply
    vmap(f)(t([1.0, 2.0, 3.0]))
    return seen[0]


def test_in_dims_are_nested_as_the_arguments_are():
    seen = []

    def rule(info, in_dims, x, xs, n, d):
        seen.append(in_dims)
        return xs[0] * 2, in_dims[1][0]

    f = make(forward=lambda x, xs, n, d: xs[0] * 2, vmap=rule).apply
    a, b = t([[1.0, 2.0]]), t([[1.0], [2.0]])
    vmap(lambda a, b: f(a, [b, t(1.0)], 3, {"k": (a, "s")}), in_dims=(1, 0))(a, b)
    assert seen == [(1, [0, None], None, {"k": (1, None)})]


def test_the_rule_is_not_called_where_nothing_is_batched():
    recorder = Recorder()
    got = vmap(lambda x: x + recorder.apply(t(2.0), t(3.0)))(t([1.0, 2.0]))
    assert got.tolist() == [7.0, 8.0] and recorder.seen == []


def test_c09_results_may_be_the_same_for_all_lanes():
    f = make(forward=lambda x, y: (x * y, y * 2), vmap=lambda info, in_dims, x, y: ((x * y, y * 2), (0, None))).apply
    a, b = vmap(f, in_dims=(0, None))(t([1.0, 2.0, 3.0]), t(10.0))
    assert a.tolist() == [10.0, 20.0, 30.0] and b.tolist() == [20.0] * 3


@pytest.mark.parametrize("out_dims", [-1, 1, (1, -1), (-1, 1)])
def test_out_dims_may_be_negative_or_one_for_all(out_dims):
    f = make(forward=lambda x: (x * 2, x * 3), vmap=lambda info, d, x: ((x.t() * 2, x.t() * 3), out_dims)).apply
    a, b = vmap(f)(t([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    assert a.tolist() == [[2.0, 4.0], [6.0, 8.0], [10.0, 12.0]] and b.shape == (3, 2)


def test_out_dims_of_results_that_are_not_tensors_do_not_matter():
    for dims in [(0, None), (0, 5), 0]:
        f = make(forward=lambda x: (x, "n"), vmap=lambda info, d, x, dims=dims: ((x * 2, "note"), dims)).apply
        a, note = vmap(lambda x, f=f: (f(x)[0], x))(t([1.0, 2.0]))
        assert a.tolist() == [2.0, 4.0]


def test_a_rule_for_nested_lanes_is_called_once_for_each():
    recorder = Recorder()
    xs = t([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    got = vmap(vmap(lambda x: recorder.apply(x, x)))(xs)
    same(got, xs.numpy() ** 2)
    assert [n for n, _, _ in recorder.seen] == [3]


def test_c27_rules_for_lanes_and_for_derivatives_go_together():
    for factor in (1.0, 3.0):
        calls = []

        class Add(Function):
            @staticmethod
            def forward(x, y):
                return x + y

            @staticmethod
            def setup_context(ctx, inputs, output):
                pass

            @staticmethod
            def backward(ctx, g, factor=factor):
                return factor * g, factor * g

            @staticmethod
            def vmap(info, in_dims, x, y, calls=calls):
                calls.append(1)
                return Add.apply(x, y), 0

        ones = pb.ones(4, dtype=D)
        expected = [factor] * 4
        assert [g.tolist() for g in vmap(grad(Add.apply, (0, 1)))(ones, ones)] == [expected] * 2
        assert grad(lambda x: vmap(Add.apply)(x, ones).sum())(ones).tolist() == expected
        assert vmap(lambda x, y: vjp(Add.apply, x, y)[1](t(1.0)))(ones, ones)[0].tolist() == expected
        assert len(calls) == 3


def test_c28_each_lane_has_its_own_backward():
    clip = make(forward=lambda x: x * 1, backward=lambda ctx, g: g.clamp(-1, 1), generate_vmap_rule=True).apply
    xs = t([0.1, 2.0])
    f = lambda w: vmap(lambda x: 5 * clip(w) * x)(xs).sum()
    same(grad(f)(t(1.0)), 1.5)
    same(vmap(grad(lambda w, x: 5 * clip(w) * x), in_dims=(None, 0))(t(1.0), xs).sum(), 1.5)
    same(grad(lambda w: sum(5 * clip(w) * x for x in xs))(t(1.0)), 1.5)
    same(grad(lambda w: vmap(lambda x: 5 * clip(w * x))(xs).sum())(t(1.0)), 2.1)


@pytest.mark.parametrize("in_dims", [(0, None), (None, 0), (1, 0), (0, 1), (-1, 1)])
@FORMS
def test_the_generated_rule_is_a_loop(mul, in_dims):
    rng = np.random.default_rng(2)
    full = [t(rng.standard_normal((3, 3))) if d is not None else t(rng.standard_normal(3)) for d in in_dims]
    lanes = [(x.unbind(d) if d is not None else [x] * 3) for x, d in zip(full, in_dims, strict=True)]
    f = lambda x, y: mul.apply(x, y).sum()
    for g in (mul.apply, grad(f), grad(f, 1), lambda x, y: jvp(mul.apply, (x, y), (y, x))[1], hessian(f)):
        got = vmap(g, in_dims=in_dims)(*full)
        for k, (x, y) in enumerate(zip(*lanes, strict=True)):
            same(got[k], g(x, y))


def test_shapes_on_the_context_are_those_of_a_lane():
    def setup(ctx, inputs, output):
        ctx.shape = inputs[0].shape

    own = make(
        forward=lambda x: x.sum(), setup=setup, backward=lambda ctx, g: g.expand(ctx.shape), generate_vmap_rule=True
    ).apply
    xs = t([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert vmap(grad(own))(xs).tolist() == [[1.0, 1.0]] * 3
    assert grad(lambda x: vmap(own)(x).sum())(xs).tolist() == [[1.0, 1.0]] * 3


def test_lanes_of_cotangents():
    x = t([1.0, 2.0])
    own = square().apply
    _, pull = vjp(own, x)
    cotangents = t([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert vmap(pull)(cotangents)[0].tolist() == [[2.0, 0.0], [0.0, 4.0], [2.0, 4.0]]
    same(jacrev(own)(x), jacobian(own, x))
    same(jacrev(own, chunk_size=1)(x), jacobian(own, x))


def test_a_rule_with_data_dependent_code_works_one_row_at_a_time():
    own = make(forward=lambda x: x * 2, backward=lambda ctx, g: g * (2 if g.sum().item() > 0 else 3)).apply
    assert jacrev(own, chunk_size=1)(t([1.0, 2.0])).tolist() == [[2.0, 0.0], [0.0, 2.0]]


@pytest.mark.parametrize("old", [False, True])
def test_the_generated_rule_draws_as_the_vmap_says(old):
    def mark(ctx, x, output):
        ctx.save_for_backward(output[1])
        ctx.mark_non_differentiable(output[1])

    def forward(x):
        mask = (pb.rand(x.shape, dtype=D) > 0.5).to(D)
        return x * mask, mask

    def old_forward(ctx, x):
        out = forward(x)
        mark(ctx, x, out)
        return out

    dropout = make(
        forward=old_forward if old else forward,
        setup=mark,
        old=old,
        backward=lambda ctx, g, _: g * ctx.saved_tensors[0],
        generate_vmap_rule=True,
    ).apply
    xs = pb.ones((6, 20), dtype=D)
    for randomness, kinds in [("different", 6), ("same", 1)]:
        masks = vmap(lambda x: dropout(x)[0], randomness=randomness)(xs)
        assert len({tuple(row) for row in masks.tolist()}) == kinds
        # The rule uses the mask that was drawn.
        slopes, masks = vmap(grad(lambda x: (lambda y: (y[0].sum(), y[1]))(dropout(x)), has_aux=True), randomness=randomness)(xs)
        assert slopes.tolist() == masks.tolist()
        assert len({tuple(row) for row in masks.tolist()}) == kinds


# Classes


def test_methods_are_inherited():
    class Base(Function):
        @staticmethod
        def forward(x):
            return x * 2

        setup_context = staticmethod(nothing)

    class Own(Base):
        @staticmethod
        def backward(ctx, g):
            return g * 2

    class Other(Own):
        @staticmethod
        def backward(ctx, g):
            return g * 5

    assert Base.apply(t(1.0)).item() == 2.0
    assert grad(Own.apply)(t(1.0)).item() == 2.0
    assert grad(Other.apply)(t(1.0)).item() == 5.0
    assert grad(Own.apply)(t(1.0)).item() == 2.0


def test_class_methods_work_as_well():
    class Own(Function):
        factor = 2.0

        @classmethod
        def forward(cls, x, n=1):
            return x * cls.factor * n

        setup_context = staticmethod(nothing)

        @classmethod
        def backward(cls, ctx, g):
            return g * cls.factor, None

    class Other(Own):
        factor = 3.0

    assert grad(Own.apply)(t(1.0)).item() == 2.0
    assert grad(Other.apply)(t(1.0)).item() == 3.0


def test_methods_may_be_exchanged():
    own = make(forward=lambda x: x * 2, backward=lambda ctx, g: g * 2)
    assert grad(own.apply)(t(1.0)).item() == 2.0
    own.backward = staticmethod(lambda ctx, g: g * 7)
    assert grad(own.apply)(t(1.0)).item() == 7.0
    own.forward = staticmethod(lambda x, y=1: x * 5)
    assert own.apply(t(1.0), y=3).item() == 5.0
    with pytest.raises(NotImplementedError, match="generate_vmap_rule"):
        vmap(own.apply)(t([1.0]))
    own.generate_vmap_rule = True
    assert vmap(own.apply)(t([1.0])).tolist() == [5.0]


# Reentrance and threads


def test_c34_a_rule_takes_a_gradient():
    own = make(
        forward=lambda x: grad(lambda s: s**3)(x),
        setup=save_inputs,
        backward=lambda ctx, g: g * grad(lambda s: s**2)(ctx.saved_tensors[0]) * 3,
    ).apply
    assert own(t(3.0)).item() == 27.0
    assert grad(own)(t(3.0)).item() == 18.0
    assert grad(grad(own))(t(3.0)).item() == 6.0
    results = []

    def work():
        for _ in range(25):
            results.append((grad(own)(t(3.0)).item(), grad(grad(own))(t(3.0)).item()))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [(18.0, 6.0)] * 200


def test_a_function_calls_another_one():
    outer = make(
        forward=lambda x: Mul.apply(x, x),
        setup=save_inputs,
        backward=lambda ctx, g: Mul.apply(g, 2 * ctx.saved_tensors[0]),
        generate_vmap_rule=True,
    ).apply
    xs = t([1.0, 2.0, 3.0])
    assert grad(grad(outer))(t(3.0)).item() == 2.0
    assert vmap(grad(outer))(xs).tolist() == [2.0, 4.0, 6.0]


def test_a_pullback_is_called_in_another_thread():
    _, pull = vjp(Mul.apply, t(2.0), t(3.0))
    got = []
    thread = threading.Thread(target=lambda: got.extend(pull(t(1.0))))
    thread.start()
    thread.join()
    assert [g.item() for g in got] == [3.0, 2.0]


def test_random_functions_agree_with_differences():
    rng = np.random.default_rng(3)
    x = t(rng.uniform(0.5, 1.5, 4))
    own = make(
        forward=lambda x: (x**3, x.log()),
        setup=save_inputs,
        backward=lambda ctx, a, b: a * 3 * ctx.saved_tensors[0] ** 2 + b / ctx.saved_tensors[0],
    ).apply
    f = lambda x: (own(x)[0] * own(x)[1]).sum()
    same(grad(f)(x), gradient(f, x))
    same(hessian(f)(x), jacobian(grad(f), x), 1e-5)


def test_the_older_form_with_a_batching_rule_says_what_is_missing():
    own = make(
        forward=lambda ctx, x: x * 2, old=True, backward=lambda ctx, g: 2 * g, vmap=lambda info, d, x: (own(x), d[0])
    ).apply
    assert vmap(own)(t([1.0, 2.0])).tolist() == [2.0, 4.0]
    assert grad(lambda x: vmap(own)(x).sum())(t([1.0, 2.0])).tolist() == [2.0, 2.0]
    with pytest.raises(NotImplementedError, match="`setup_context` of function `Own`.*lanes"):
        vmap(grad(own))(t([1.0, 2.0]))


# Gradients of values


def leaf(value):
    return pb.tensor(value, dtype=D, requires_grad=True)


@FORMS
def test_backward_runs_the_rule(mul):
    x, y = leaf(2.0), leaf(5.0)
    z = mul.apply(x, y)
    assert z.requires_grad and not z.is_leaf
    z.backward()
    assert (x.grad.item(), y.grad.item()) == (5.0, 2.0)


@FORMS
def test_backward_can_be_differentiated(mul):
    x, y = leaf(2.0), leaf(5.0)
    z = mul.apply(mul.apply(x, y), x)  # x² y
    (dx,) = pb.autograd.grad(z, x, create_graph=True)
    assert dx.item() == 20.0
    assert [g.item() for g in pb.autograd.grad(dx, (x, y))] == [10.0, 4.0]


@FORMS
def test_values_and_functions_mix(mul):
    w = leaf(3.0)
    y = grad(lambda x: mul.apply(mul.apply(x, x), w))(t(2.0))  # 2 x w
    assert y.item() == 12.0
    y.backward()
    assert w.grad.item() == 4.0


def test_no_gradient_is_needed_where_nothing_is_recorded():
    seen = []

    def forward(ctx, x):
        seen.append(ctx.needs_input_grad)
        return x * 2

    own = make(forward=forward, old=True, backward=lambda ctx, g: 2 * g).apply
    x = leaf(1.0)
    with pb.no_grad():
        assert not own(x).requires_grad
    assert own(x).requires_grad
    assert not own(x.detach()).requires_grad
    assert seen[-2:] == [(True,), (False,)]


def test_results_that_are_marked_or_integers_require_no_gradient():
    own = make(
        forward=lambda x: (x * 2, x * 3, x.argmax()),
        setup=lambda ctx, inputs, output: ctx.mark_non_differentiable(output[1]),
        backward=lambda ctx, a, b, c: 2 * a,
    ).apply
    assert [y.requires_grad for y in own(leaf([1.0, 2.0]))] == [True, False, False]


def test_a_leaf_that_is_changed_in_place():
    own = make(
        forward=lambda x: x.mul_(2), setup=lambda ctx, inputs, output: ctx.mark_dirty(*inputs), backward=lambda ctx, g: 2 * g
    ).apply
    x = leaf(3.0)
    # As by `y.mul_(2)`: the object is the result of a recorded operation, and the leaf has another name.
    y = x.clone()
    assert own(y) is y and y.item() == 6.0 and x.item() == 3.0
    y.backward()
    assert x.grad.item() == 2.0
    # Without recording it stays the leaf that it is, with another value.
    with pb.no_grad():
        assert own(x) is x
    assert x.item() == 6.0 and x.is_leaf and x.requires_grad


def test_a_captured_tensor_is_not_changed_in_place():
    own = make(
        forward=lambda x, y: x.mul_(y),
        setup=lambda ctx, inputs, output: (ctx.mark_dirty(inputs[0]), save_inputs(ctx, inputs, output)),
        backward=lambda ctx, g: (g, g),
    ).apply
    w = t(3.0)
    with pytest.raises(RuntimeError, match="got one from outside"):
        grad(lambda x: own(w, x))(t(2.0))
    assert w.item() == 3.0


def test_c22_a_captured_leaf_is_an_error():
    w = leaf(3.0)
    own = make(forward=lambda x: x * w, backward=lambda ctx, g: g * w).apply
    with pytest.raises(RuntimeError, match="`forward` of function `Own`.*not one of the arguments"):
        own(leaf(2.0))


def test_gradients_of_leaves_inside_of_a_method():
    # The engine is entered again while it runs.
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * grad(lambda s: s * s)(x.detach())

    own = make(forward=lambda x: x * x, setup=save_inputs, backward=once_differentiable(backward)).apply
    x = leaf(3.0)
    own(x).backward()
    assert x.grad.item() == 6.0


def test_a_rule_that_is_differentiable_once_is_refused_by_backward_too():
    own = make(
        forward=lambda x: x * x,
        setup=save_inputs,
        backward=once_differentiable(lambda ctx, g: pb.tensor(g.numpy() * 2 * ctx.saved_tensors[0].numpy())),
    ).apply
    x = leaf(3.0)
    (dx,) = pb.autograd.grad(own(x), x)
    assert dx.item() == 6.0
    (dx,) = pb.autograd.grad(own(x), x, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiable once"):
        pb.autograd.grad(x * dx, x)


def test_hidden_intermediates_are_refused_by_backward_too():
    def forward(ctx, x):
        m = 2 * x
        ctx.save_for_backward(m)
        return m * m

    own = make(forward=forward, old=True, backward=lambda ctx, g: 4 * ctx.saved_tensors[0] * g).apply
    x = leaf(3.0)
    (dx,) = pb.autograd.grad(own(x), x, create_graph=True)
    assert dx.item() == 24.0
    with pytest.raises(RuntimeError, match="intermediate value"):
        pb.autograd.grad(dx, x)


def test_many_calls_in_a_row_need_no_stack():
    own = make(forward=lambda x: x * 1, backward=lambda ctx, g: g).apply
    x = leaf(1.0)
    y = x
    for _ in range(3000):
        y = own(y)
    y.backward()
    assert x.grad.item() == 1.0


def test_backward_in_several_threads():
    results = []

    def work(k):
        for _ in range(20):
            x = leaf(float(k))
            OldMul.apply(x, x).backward()
            results.append(x.grad.item() == 2.0 * k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 160


def test_dual_numbers_run_the_rule_of_forward_mode():
    import pullback.autograd.forward_ad as dual

    with dual.dual_level():
        z = Mul.apply(dual.make_dual(t(2.0), t(1.0)), t(5.0))
        assert dual.unpack_dual(z).tangent.item() == 5.0


@FORMS
def test_gradcheck_is_content(mul):
    x, y = leaf([0.5, 1.5]), leaf([2.0, 3.0])
    assert pb.autograd.gradcheck(mul.apply, (x, y))
    assert pb.autograd.gradgradcheck(mul.apply, (x, y))


def test_the_checker_of_functions_is_content_with_a_right_one():
    from pullback.testing import check_function

    report = check_function(Mul, t([0.5, 1.5]), t([2.0, 3.0]))
    assert report and report.failures == [], report
    assert "ok" in repr(report)


@pytest.mark.parametrize(
    ("wrong", "method"),
    [
        ({"backward": lambda ctx, g: (g * ctx.saved_tensors[0], g * ctx.saved_tensors[1])}, "backward"),
        ({"jvp": lambda ctx, tx, ty: tx * ctx.saved_tensors[1]}, "jvp"),
        ({"generate_vmap_rule": False, "vmap": lambda info, d, x, y: (x * y * 2, 0)}, "vmap"),
    ],
)
def test_the_checker_of_functions_finds_what_is_wrong(wrong, method):
    from pullback.testing import check_function

    own = type("Own", (Mul,), {k: v if isinstance(v, bool) else staticmethod(v) for k, v in wrong.items()})
    report = check_function(own, t([0.5, 1.5]), t([2.0, 3.0]))
    assert not report
    assert method in {report.rule(name) for name in report.failures}, report


@pytest.mark.parametrize("combined", [True, False])
def test_a_context_that_reaches_itself_is_collected(combined):
    kept = []

    def keep(ctx):
        ctx.me = [ctx]
        kept.append(ctx)

    def setup_context(ctx, inputs, output):
        keep(ctx)

    def forward(ctx, x):
        keep(ctx)
        return 2 * x

    def backward(ctx, g):
        keep(ctx)
        return 2 * g

    methods = {"forward": forward} if combined else {"forward": lambda x: 2 * x, "setup_context": setup_context}
    methods["backward"] = backward
    double = type("Double", (Function,), {name: staticmethod(f) for name, f in methods.items()})
    assert grad(double.apply)(pb.tensor(1.0)).item() == 2.0
    gone = [weakref.ref(ctx) for ctx in kept]
    assert len(gone) >= 2
    kept.clear()
    gc.collect()
    assert [ctx() for ctx in gone] == [None] * len(gone)


def test_a_context_with_attributes_that_live_elsewhere_keeps_them():
    class Scale(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.me, ctx.by = [ctx], 3.0
            return 3 * x

        @staticmethod
        def backward(ctx, g):
            return ctx.by * g

    x = pb.tensor(1.0, requires_grad=True)
    y = Scale.apply(x)
    gc.collect()
    y.backward()
    assert x.grad.item() == 3.0
