"""`autograd.Function` under `vmap`."""

import numpy as np
import pytest
from differences import jacobian, same
from functions import D, FORMS, make, save_inputs, square, t

import pullback as pb
from pullback.autograd import Function
from pullback.func import grad, hessian, jacrev, jvp, vjp, vmap


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
