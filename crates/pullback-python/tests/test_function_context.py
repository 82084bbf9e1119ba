"""The context of an `autograd.Function`: what it keeps, and arguments that are changed in place."""

import gc
import weakref

import numpy as np
import pytest
from differences import same
from functions import D, FORMS, make, nothing, save_inputs, t

import pullback as pb
from pullback.autograd import Function
from pullback.func import capture, grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap


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


@pytest.mark.parametrize("old", [False, True])
def test_gradients_come_in_the_dtypes_that_were_asked_for(old):
    seen = []

    def setup(ctx, inputs, output):
        ctx.set_output_grad_dtype(pb.float64, None)

    def old_forward(ctx, x):
        setup(ctx, None, None)
        return x * 2, x * 3

    def backward(ctx, a, b):
        seen.append((a.dtype, b.dtype))
        return a * 2 + b * 3

    f = make(forward=old_forward if old else lambda x: (x * 2, x * 3), setup=setup, old=old, backward=backward, generate_vmap_rule=True)
    x = pb.tensor([1.0, 2.0])
    g = grad(lambda x: sum(y.sum() for y in f.apply(x)))(x)
    assert g.dtype is pb.float32 and g.tolist() == [5.0, 5.0] and seen == [(pb.float64, pb.float32)]


@pytest.mark.parametrize(
    ("dtypes", "error", "text"),
    [
        ((pb.float64,), ValueError, "expected 2 dtypes in `ctx.set_output_grad_dtype`, one for each returned value, got 1"),
        ((pb.int64, None), TypeError, "expected floating dtypes in `ctx.set_output_grad_dtype`, got int64"),
        (("a", None), TypeError, "expected a dtype"),
    ],
)
def test_wrong_dtypes_of_gradients_are_errors(dtypes, error, text):
    def setup(ctx, inputs, output):
        ctx.set_output_grad_dtype(*dtypes)

    f = make(forward=lambda x: (x * 2, x * 3), setup=setup, backward=lambda ctx, a, b: a + b)
    with pytest.raises(error, match=text):
        grad(lambda x: f.apply(x)[0])(t(1.0))

    def twice(ctx, inputs, output):
        ctx.set_output_grad_dtype(None, None)
        ctx.set_output_grad_dtype(None, None)

    f = make(forward=lambda x: (x * 2, x * 3), setup=twice, backward=lambda ctx, a, b: a + b)
    with pytest.raises(RuntimeError, match="expected one call of `ctx.set_output_grad_dtype`, got two"):
        grad(lambda x: f.apply(x)[0])(t(1.0))


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
