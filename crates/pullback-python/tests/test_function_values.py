"""`autograd.Function` in gradients of values, in other functions and in several threads."""

import gc
import threading
import weakref

import numpy as np
import pytest
from differences import gradient, jacobian, same
from functions import D, FORMS, Mul, OldMul, make, save_inputs, t

import pullback as pb
from pullback.autograd import Function
from pullback.autograd.function import once_differentiable
from pullback.func import grad, hessian, jvp, vjp, vmap


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
