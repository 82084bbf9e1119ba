"""What `autograd.Function` does with arguments, results and classes."""

import collections

import numpy as np
import pytest
from differences import same
from functions import FORMS, make, nothing, save_inputs, t

import pullback as pb
from pullback.autograd import Function
from pullback.autograd.function import once_differentiable
from pullback.func import grad, jacfwd, jacrev, jvp, vmap


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
