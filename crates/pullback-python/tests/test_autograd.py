"""Gradients of values: leaves, backward, grad, hooks, modes, dual levels and the checkers."""

import asyncio
import gc
import math
import sys
import threading
import traceback
import weakref

import numpy as np
import pytest

import pullback as pb
import pullback.autograd.forward_ad as fwAD
from pullback import autograd
from pullback.autograd import functional
from pullback.func import grad as grad_of
from pullback.func import jacfwd, jvp, vjp, vmap


def leaf(value, dtype=pb.float64):
    return pb.tensor(value, dtype=dtype, requires_grad=True)


def const(value, dtype=pb.float64):
    return pb.tensor(value, dtype=dtype)


# Leaves (A-01 … A-05)


def test_a01_an_output_requires_grad_if_an_input_does_and_recording_is_on():
    x, c = leaf(2.0), const(3.0)
    assert (x * c).requires_grad and not (c * c).requires_grad
    with pb.no_grad():
        assert not (x * c).requires_grad
    assert x.is_leaf and c.is_leaf and not (x * c).is_leaf


def test_a01_the_flag_can_be_set_on_leaves_and_taken_back():
    x = const(2.0)
    x.requires_grad = True
    assert x.requires_grad
    x.requires_grad = False
    assert not x.requires_grad
    assert x.requires_grad_() is x and x.requires_grad
    assert not x.requires_grad_(False).requires_grad
    y = leaf(2.0) * 3
    y.requires_grad_()
    with pytest.raises(RuntimeError, match="expected a leaf.*detach"):
        y.requires_grad_(False)
    with pytest.raises(RuntimeError, match="expected a leaf.*detach"):
        y.requires_grad = False


def test_a01_integers_require_no_gradient():
    with pytest.raises(RuntimeError, match="expected a floating-point tensor"):
        pb.tensor([1, 2]).requires_grad_()
    with pytest.raises(RuntimeError, match="expected a floating-point tensor"):
        pb.tensor([1, 2]).requires_grad = True
    assert not pb.tensor([1, 2]).requires_grad_(False).requires_grad


def test_a02_gradients_accumulate_and_two_leaves_never_share_one():
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    (x + y).sum().backward()
    x.grad.mul_(10)
    assert x.grad.tolist() == [10.0, 10.0]
    assert y.grad.tolist() == [1.0, 1.0]
    (x + y).sum().backward()
    assert x.grad.tolist() == [11.0, 11.0]
    assert y.grad.tolist() == [2.0, 2.0]


def test_a02_the_gradient_is_one_object_that_shows_what_accumulates():
    x = leaf(3.0)
    assert x.grad is None
    (x * x).backward()
    g = x.grad
    assert g is x.grad
    (x * x).backward()
    assert g is x.grad and g.item() == 12.0
    g.zero_()
    assert x.grad.item() == 0.0
    (x * x).backward()
    assert g.item() == 6.0


def test_a_gradient_that_was_forgotten_keeps_its_value_and_changes_nothing():
    x = leaf(3.0)
    (x * x).backward()
    g = x.grad
    x.grad = None
    assert x.grad is None and g.item() == 6.0
    (x * x * x).backward()
    assert g.item() == 6.0 and x.grad.item() == 27.0
    g.zero_()
    assert x.grad.item() == 27.0
    del x.grad
    assert x.grad is None
    x.zero_grad()
    assert x.grad is None


def test_augmented_assignment_to_a_gradient_changes_it():
    x = leaf([1.0, 2.0])
    (x * x).sum().backward()
    x.grad *= 0.5
    assert x.grad.tolist() == [1.0, 2.0]


def test_a_gradient_can_be_set():
    x = leaf([1.0, 2.0])
    x.grad = const([5.0, 6.0])
    assert x.grad.tolist() == [5.0, 6.0]
    (x * x).sum().backward()
    assert x.grad.tolist() == [7.0, 10.0]
    with pytest.raises(ValueError, match=r"expected a gradient of type f64\[2\], got f64\[3\]"):
        x.grad = const([1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match=r"expected a gradient of type f64\[2\], got f32\[2\]"):
        x.grad = const([1.0, 2.0], dtype=pb.float32)
    with pytest.raises(TypeError, match="expected a tensor or None, got int"):
        x.grad = 3
    assert x.grad.tolist() == [7.0, 10.0]


def test_a03_results_keep_no_gradient_unless_told():
    x = leaf(3.0)
    y = x * x
    with pytest.raises(RuntimeError, match="retain_grad"):
        y.grad
    assert not y.retains_grad
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad and y.grad is None
    (y * y).backward()
    assert y.grad.item() == 18.0
    x.retain_grad()
    assert not x.retains_grad
    with pytest.raises(RuntimeError, match="require gradients"):
        const(1.0).retain_grad()


def test_a04_the_gradient_has_the_dtype_of_the_leaf():
    x = leaf([1.0, 2.0], dtype=pb.float32)
    (x.to(pb.float64) * const([3.0, 4.0])).sum().backward()
    assert x.grad.dtype == pb.float32 and x.grad.tolist() == [3.0, 4.0]


def test_a05_detached_values_are_constants():
    x = leaf(3.0)
    y = x * x.detach()
    y.backward()
    assert x.grad.item() == 3.0
    z = x * x
    assert z.detach_() is z and not z.requires_grad and z.is_leaf


def test_in_place_on_a_leaf_in_no_grad_keeps_the_leaf():
    w = leaf([1.0, 2.0])
    same = w
    (w * w).sum().backward()
    with pb.no_grad():
        w -= 0.25 * w.grad
    assert w is same and w.is_leaf and w.requires_grad
    assert w.tolist() == [0.5, 1.0]
    w.grad.zero_()
    (w * w).sum().backward()
    assert w.grad.tolist() == [1.0, 2.0]


def test_in_place_on_a_leaf_outside_no_grad_makes_it_a_result():
    w = leaf(2.0)
    w.mul_(3.0)
    assert not w.is_leaf
    with pytest.raises(RuntimeError, match="no_grad"):
        w.grad


# backward


def test_backward_agrees_with_a_closed_form():
    x = leaf([0.3, 1.2])
    (x.sin() * x).sum().backward()
    want = np.sin([0.3, 1.2]) + np.array([0.3, 1.2]) * np.cos([0.3, 1.2])
    np.testing.assert_allclose(x.grad.tolist(), want, rtol=1e-14)


def test_backward_takes_gradients_of_results_that_are_no_scalars():
    x = leaf([1.0, 2.0])
    y = x * x
    y.backward(const([1.0, 10.0]))
    assert x.grad.tolist() == [2.0, 40.0]
    y.backward(gradient=const([1.0, 0.0]))
    assert x.grad.tolist() == [4.0, 40.0]
    with pytest.raises(RuntimeError, match="expected scalar outputs"):
        y.backward()
    with pytest.raises(ValueError, match=r"type of output 0, f64\[2\].*got f64\[3\]"):
        y.backward(const([1.0, 2.0, 3.0]))
    with pytest.raises(TypeError, match=r"got f32\[2\]"):
        y.backward(const([1.0, 2.0], dtype=pb.float32))
    with pytest.raises(TypeError, match="expected a tensor or None as `gradient`, got float"):
        y.backward(1.0)
    assert x.grad.tolist() == [4.0, 40.0]


def test_backward_of_constants_is_an_error():
    with pytest.raises(RuntimeError, match="require gradients"):
        const(1.0).backward()


def test_backward_can_be_called_again_and_takes_retain_graph():
    x = leaf(3.0)
    y = x * x
    y.backward(retain_graph=False)
    y.backward(retain_graph=True)
    assert x.grad.item() == 12.0


def test_backward_of_several_tensors_sums():
    x = leaf(2.0)
    autograd.backward([x * x, x * 3])
    assert x.grad.item() == 7.0
    v = leaf([1.0, 2.0])
    autograd.backward((v * v, v.sum()), (const([1.0, 1.0]), None))
    assert v.grad.tolist() == [3.0, 5.0]
    with pytest.raises(RuntimeError, match=r"grad_tensors\[1\]"):
        autograd.backward((v.sum(), v * v), (const(1.0), None))
    with pytest.raises(ValueError, match="expected 2 cotangents"):
        autograd.backward((v.sum(), v.sum()), (const(1.0),))
    with pytest.raises(TypeError, match=r"`tensors\[1\]`, got int"):
        autograd.backward((v.sum(), 3))
    with pytest.raises(TypeError, match="got int"):
        autograd.backward(3)
    with pytest.raises(ValueError, match="at least one output"):
        autograd.backward(())


def test_backward_with_inputs_accumulates_in_these_only():
    a, b = leaf(2.0), leaf(3.0)
    y = a * b
    (y * y).backward(inputs=[a])
    assert a.grad.item() == 36.0 and b.grad is None
    (y * y).backward(inputs=[y, b])
    assert b.grad.item() == 24.0 and y.grad.item() == 12.0 and a.grad.item() == 36.0
    with pytest.raises(ValueError, match="at least one input"):
        y.backward(inputs=[])


def test_backward_with_create_graph_gives_gradients_of_gradients():
    x = leaf(2.0)
    (x * x * x).backward(create_graph=True)
    first = x.grad
    assert first.requires_grad
    (second,) = autograd.grad(first, x)
    assert first.item() == 12.0 and second.item() == 12.0
    x.grad = None


def test_leaves_that_are_not_reached_have_no_gradient():
    a, b = leaf(2.0), leaf(3.0)
    (a * a).backward()
    assert b.grad is None


# grad


def test_grad_returns_a_tuple_and_accumulates_nothing():
    x, w = leaf(2.0), leaf(5.0)
    y = x * w
    grads = autograd.grad(y * y, (x, y))
    assert isinstance(grads, tuple) and [g.item() for g in grads] == [100.0, 20.0]
    assert x.grad is None and w.grad is None
    assert isinstance(autograd.grad(y, x), tuple)
    by_name = autograd.grad(y, {"x": x, "w": w})
    assert {k: g.item() for k, g in by_name.items()} == {"x": 5.0, "w": 2.0}


def test_grad_of_unused_inputs_is_an_error_none_or_zeros():
    x, w = leaf(2.0), leaf([5.0, 6.0])
    with pytest.raises(RuntimeError, match=r"input\[1\].*allow_unused"):
        autograd.grad(x * x, (x, w))
    dx, dw = autograd.grad(x * x, (x, w), allow_unused=True)
    assert dx.item() == 4.0 and dw is None
    _, dw = autograd.grad(x * x, (x, w), materialize_grads=True)
    assert dw.tolist() == [0.0, 0.0]
    _, dw = autograd.grad(x * x, (x, w), allow_unused=True, materialize_grads=True)
    assert dw.tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="allow_unused=False"):
        autograd.grad(x * x, (x, w), allow_unused=False, materialize_grads=True)


def test_grad_refuses_what_requires_no_gradient():
    x, c = leaf(2.0), const(3.0)
    with pytest.raises(RuntimeError, match=r"input\[1\]"):
        autograd.grad(x * c, (x, c))
    with pytest.raises(RuntimeError, match="output 0"):
        autograd.grad(c * c, x)
    with pytest.raises(ValueError, match="at least one input"):
        autograd.grad(x * c, [])
    with pytest.raises(TypeError, match="got None"):
        autograd.grad(x * c, [None])
    with pytest.raises(RuntimeError, match="expected scalar outputs"):
        v = leaf([1.0, 2.0])
        autograd.grad(v * v, v)


def test_grad_takes_gradients_of_outputs():
    x = leaf([1.0, 2.0])
    (dx,) = autograd.grad(x * x, x, grad_outputs=const([1.0, 10.0]))
    assert dx.tolist() == [2.0, 40.0]
    (dx,) = autograd.grad((x * x, x.sum()), x, (const([1.0, 10.0]), None))
    assert dx.tolist() == [3.0, 41.0]
    with pytest.raises(ValueError, match="cotangent"):
        autograd.grad(x * x, x, const(1.0))


def test_grad_of_grad_to_third_order():
    x = leaf(2.0)
    y = x**4
    (d1,) = autograd.grad(y, x, create_graph=True)
    (d2,) = autograd.grad(d1, x, create_graph=True)
    (d3,) = autograd.grad(d2, x)
    assert (d1.item(), d2.item(), d3.item()) == pytest.approx((32.0, 48.0, 48.0))
    assert not autograd.grad(y, x)[0].requires_grad


def test_batched_gradients_are_a_jacobian():
    x = leaf([1.0, 2.0, 3.0])
    (jacobian,) = autograd.grad(x * x, x, pb.eye(3, dtype=pb.float64), is_grads_batched=True)
    np.testing.assert_allclose(jacobian.numpy(), np.diag([2.0, 4.0, 6.0]))
    with pytest.raises(ValueError, match="grad_outputs"):
        autograd.grad(x.sum(), x, is_grads_batched=True)
    with pytest.raises(ValueError, match="leading dimension"):
        autograd.grad(x * x, x, pb.eye(2, dtype=pb.float64), is_grads_batched=True)


def test_a_graph_of_a_million_operations_does_not_recurse():
    x = leaf(1.0)
    y = x
    for _ in range(1_000_000):
        y = -y
    y.backward()
    assert x.grad.item() == 1.0
    del y
    gc.collect()


def test_a_graph_that_nobody_holds_is_freed():
    x = leaf([1.0] * 1000)
    y = (x * x).exp().sum()
    y.backward()
    before = pb.live_bytes() if hasattr(pb, "live_bytes") else None
    del y
    if before is not None:
        assert pb.live_bytes() < before


# Hooks


def test_hooks_run_in_order_and_replace_the_gradient():
    x = leaf([1.0, 2.0])
    y = x * x
    seen = []
    first = y.register_hook(lambda g: seen.append(g.tolist()) or g * 10)
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.sum().backward()
    assert seen == [[1.0, 1.0], [10.0, 10.0]]
    assert x.grad.tolist() == [20.0, 40.0]
    first.remove()
    first.remove()
    x.grad = None
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_hooks_are_context_managers():
    x = leaf(3.0)
    with x.register_hook(lambda g: -g) as handle:
        assert isinstance(handle, autograd.RemovableHandle)
        (x * x).backward()
    assert x.grad.item() == -6.0
    (x * x).backward()
    assert x.grad.item() == 0.0


def test_a_hook_may_remove_itself_and_others():
    x = leaf(3.0)
    handles, calls = [], []

    def once(g):
        calls.append(1)
        for handle in handles:
            handle.remove()

    handles.append(x.register_hook(once))
    handles.append(x.register_hook(lambda g: calls.append(2)))
    (x * x).backward()
    (x * x).backward()
    assert calls == [1]


def test_hooks_that_return_something_else_are_errors_and_nothing_accumulates():
    x = leaf([1.0, 2.0])
    for returned, error in [(3, TypeError), (const(1.0), ValueError), (const([1.0, 2.0], pb.float32), TypeError)]:
        with x.register_hook(lambda g: returned), pytest.raises(error, match="hook"):
            (x * x).sum().backward()
        assert x.grad is None
    with pytest.raises(TypeError, match="callable"):
        x.register_hook(3)
    with pytest.raises(RuntimeError, match="require gradients"):
        const(1.0).register_hook(print)


def test_c175_an_exception_in_a_hook_comes_out_unchanged():
    x = leaf(3.0)
    error = KeyError("boom")

    def hook(grad):
        raise error

    x.register_hook(hook)
    with pytest.raises(KeyError) as caught:
        (x * x).backward()
    assert caught.value is error
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert frames[-1].name == "hook" and frames[-1].line == "raise error"
    assert x.grad is None


def test_a_hook_sees_gradients_of_its_own_backward():
    x = leaf(3.0)
    inner = leaf(2.0)

    def hook(grad):
        with pb.enable_grad():
            (inner * inner).backward()
        return grad * inner.grad

    x.register_hook(hook)
    (x * x).backward()
    assert x.grad.item() == 24.0


def test_post_accumulate_hooks_get_the_leaf():
    x = leaf(3.0)
    seen = []
    handle = x.register_post_accumulate_grad_hook(lambda t: seen.append((t is x, t.grad.item())))
    (x * x).backward()
    (x * x).backward()
    assert seen == [(True, 6.0), (True, 12.0)]
    handle.remove()
    (x * x).backward()
    assert len(seen) == 2
    with pytest.raises(RuntimeError, match="expected a leaf"):
        (x * x).register_post_accumulate_grad_hook(print)
    with x.register_post_accumulate_grad_hook(lambda t: 3), pytest.raises(TypeError, match="return None, got int"):
        (x * x).backward()


def test_an_optimizer_step_in_the_backward():
    x = leaf([1.0, 2.0])

    def step(param):
        with pb.no_grad():
            param -= 0.1 * param.grad
        param.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * x).sum().backward()
    assert x.grad is None and x.is_leaf
    np.testing.assert_allclose(x.tolist(), [0.8, 1.6])


# Modes


def test_no_grad_is_a_context_manager_a_decorator_and_restores_after_errors():
    x = leaf(2.0)
    assert pb.is_grad_enabled()
    with pytest.raises(ZeroDivisionError), pb.no_grad():
        assert not pb.is_grad_enabled()
        1 / 0
    assert pb.is_grad_enabled()

    @pb.no_grad()
    def double(x):
        """Doubles."""
        return x * 2

    @pb.no_grad
    def triple(x):
        return x * 3

    assert not double(x).requires_grad and not triple(x).requires_grad
    assert double.__name__ == "double" and double.__doc__ == "Doubles."
    with pb.no_grad():
        with pb.enable_grad():
            assert (x * x).requires_grad
        assert not (x * x).requires_grad


def test_one_scope_can_be_entered_again_and_again():
    scope = pb.no_grad()
    with scope:
        with scope:
            assert not pb.is_grad_enabled()
        assert not pb.is_grad_enabled()
    assert pb.is_grad_enabled()

    @scope
    def fib(n):
        assert not pb.is_grad_enabled()
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    assert fib(6) == 8 and pb.is_grad_enabled()


def test_set_grad_enabled_is_a_call_a_context_manager_and_a_decorator():
    pb.set_grad_enabled(False)
    assert not pb.is_grad_enabled()
    pb.set_grad_enabled(True)
    assert pb.is_grad_enabled()
    with pb.set_grad_enabled(False):
        assert not pb.is_grad_enabled()
        with pb.set_grad_enabled(True):
            assert pb.is_grad_enabled()
        assert not pb.is_grad_enabled()
    assert pb.is_grad_enabled()
    with pb.no_grad():
        pb.set_grad_enabled(True)
        assert pb.is_grad_enabled()
        pb.set_grad_enabled(False)
    assert pb.is_grad_enabled()

    @pb.set_grad_enabled(False)
    def f():
        return pb.is_grad_enabled()

    assert pb.is_grad_enabled() and f() is False and pb.is_grad_enabled()


def test_a_decorated_generator_is_in_the_scope_only_while_it_runs():
    log = []

    @pb.no_grad()
    def numbers():
        """Numbers."""
        try:
            log.append(pb.is_grad_enabled())
            got = yield 1
            log.append((got, pb.is_grad_enabled()))
            try:
                yield 2
            except ValueError:
                log.append(("thrown", pb.is_grad_enabled()))
            yield 3
            return "end"
        finally:
            log.append(("finally", pb.is_grad_enabled()))

    def outer():
        return (yield from numbers())

    steps = outer()
    assert next(steps) == 1 and pb.is_grad_enabled()
    assert steps.send("sent") == 2 and pb.is_grad_enabled()
    assert steps.throw(ValueError()) == 3 and pb.is_grad_enabled()
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert end.value.value == "end"
    assert log == [False, ("sent", False), ("thrown", False), ("finally", False)]
    assert numbers.__doc__ == "Numbers."
    log.clear()
    steps = numbers()
    next(steps)
    steps.close()
    assert log == [False, ("finally", False)] and pb.is_grad_enabled()


def test_a_decorated_coroutine_is_in_the_scope_only_while_it_runs():
    @pb.no_grad()
    async def inside():
        before = pb.is_grad_enabled()
        await asyncio.sleep(0)
        return before, pb.is_grad_enabled()

    async def outside():
        seen = [pb.is_grad_enabled()]
        await asyncio.sleep(0)
        return seen + [pb.is_grad_enabled()]

    async def both():
        return await asyncio.gather(inside(), outside())

    assert asyncio.run(both()) == [(False, False), [True, True]]


def test_classes_are_not_decorated():
    with pytest.raises(TypeError, match="expected a function to decorate"):

        @pb.no_grad()
        class Model:
            pass


def test_modes_belong_to_their_thread():
    seen = []
    with pb.no_grad():
        thread = threading.Thread(target=lambda: seen.append(pb.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]
    scope, errors = pb.no_grad(), []
    scope.__enter__()

    def leave():
        try:
            scope.__exit__(None, None, None)
        except RuntimeError as error:
            errors.append(str(error))

    thread = threading.Thread(target=leave)
    thread.start()
    thread.join()
    scope.__exit__(None, None, None)
    assert len(errors) == 1 and "thread" in errors[0] and pb.is_grad_enabled()


def test_a_thread_may_end_in_a_scope():
    thread = threading.Thread(target=lambda: (pb.set_grad_enabled(False), fwAD.enter_dual_level()))
    thread.start()
    thread.join()
    assert pb.is_grad_enabled()


# Together with transforms (2.14 to 2.16)


def test_transforms_ignore_a_no_grad_around_them():
    with pb.no_grad():
        assert grad_of(lambda x: x * x)(const(3.0)).item() == 6.0
        assert not grad_of(lambda x: x * x)(leaf(3.0)).requires_grad


def test_no_grad_inside_is_constant_for_both_modes():
    def f(x):
        with pb.no_grad():
            y = x * x
        return y + 3 * x

    assert grad_of(f)(const(2.0)).item() == 3.0
    assert jacfwd(f)(const(2.0)).item() == 3.0
    assert jvp(f, (const(2.0),), (const(1.0),))[1].item() == 3.0

    def nested(x):
        with pb.no_grad():
            slope = grad_of(lambda y: y**3)(x)
        return slope * x

    assert grad_of(nested)(const(2.0)).item() == pytest.approx(12.0)


def test_what_a_function_sets_ends_with_it():
    def f(x):
        y = x * x
        pb.set_grad_enabled(False)
        assert not pb.is_grad_enabled()
        return y

    assert grad_of(f)(const(3.0)).item() == 6.0
    assert pb.is_grad_enabled()
    pb.set_grad_enabled(False)
    try:
        grad_of(lambda x: pb.set_grad_enabled(True) and x * x)(const(3.0))
        assert not pb.is_grad_enabled()
    finally:
        pb.set_grad_enabled(True)


def test_leaves_are_constants_inside_and_derivatives_lead_back_to_them():
    w = leaf(3.0)
    slope = grad_of(lambda x: x * x * w)(const(2.0))
    assert slope.item() == 12.0
    slope.backward()
    assert w.grad.item() == 4.0
    (dw,) = autograd.grad(vmap(lambda x: x * w)(const([1.0, 2.0])).sum(), w)
    assert dw.item() == 3.0


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.requires_grad_(),
        lambda x: x.retain_grad(),
        lambda x: (x * x).backward(),
        lambda x: autograd.backward(x * x),
        lambda x: autograd.grad(x * x, x),
        lambda x: x.register_hook(print),
        lambda x: x.grad,
    ],
    ids=["requires_grad_", "retain_grad", "backward", "autograd.backward", "autograd.grad", "register_hook", "grad"],
)
def test_what_a_transform_bans_names_the_functional_way(call):
    def f(x):
        call(x)
        return x

    for transform in [grad_of(f), lambda x: vjp(f, x), lambda x: jvp(f, (x,), (x,))]:
        with pytest.raises(RuntimeError, match="is working on; help: inside a transform, call `grad`") as caught:
            transform(const(2.0))
        assert "::" not in str(caught.value)


def test_autograd_inside_a_transform_works_on_captured_leaves():
    w = leaf(3.0)

    def f(x):
        (dw,) = autograd.grad(w * w, w)
        return x * dw

    assert grad_of(f)(const(2.0)).item() == 6.0


def test_gradients_with_lanes():
    x = leaf([1.0, 2.0])
    y = x * x
    rows = vmap(lambda v: autograd.grad(y, x, v)[0])(pb.eye(2, dtype=pb.float64))
    assert rows.tolist() == [[2.0, 0.0], [0.0, 4.0]]


# Anomaly mode


def test_anomaly_mode_names_the_operation_and_the_line():
    x = leaf([1.0, 1000.0])
    with autograd.detect_anomaly():
        assert autograd.is_anomaly_enabled()
        y = x.exp(); line = sys._getframe().f_lineno  # noqa: E702
        z = (y + 1).log().sum()
        with pytest.raises(ArithmeticError, match="the backward of `exp` made NaN") as caught:
            z.backward()
    assert f"{__file__}:{line} in `test_anomaly_mode_names_the_operation_and_the_line`" in str(caught.value)
    assert x.grad is None and not autograd.is_anomaly_enabled()
    z.backward()
    assert math.isnan(x.grad[1].item())


def test_anomaly_mode_can_be_set_and_watches_transforms():
    f = lambda x: (x.exp() + 1).log().sum()  # noqa: E731
    autograd.set_detect_anomaly(True)
    try:
        with pytest.raises(ArithmeticError, match="lane 1"):
            vmap(grad_of(f))(const([1.0, 1000.0]))
        with autograd.set_detect_anomaly(False):
            grad_of(f)(const([1.0, 1000.0]))
        with autograd.detect_anomaly(check_nan=False):
            grad_of(f)(const([1.0, 1000.0]))
    finally:
        autograd.set_detect_anomaly(False)
    grad_of(f)(const([1.0, 1000.0]))
    with autograd.detect_anomaly(infinities=True), pytest.raises(ArithmeticError, match="inf"):
        grad_of(lambda x: x.sqrt())(const(0.0))


# Forward mode


def test_duals_carry_tangents():
    with fwAD.dual_level():
        x = fwAD.make_dual(const([1.0, 2.0]), const([1.0, 0.5]))
        y = fwAD.unpack_dual((x * x).sum())
    assert isinstance(y, fwAD.UnpackedDualTensor)
    assert y.primal.item() == 5.0 and y.tangent.item() == 4.0


def test_duals_of_constants_have_no_tangent():
    with fwAD.dual_level():
        assert fwAD.unpack_dual(const(1.0)).tangent is None


def test_dual_errors():
    with pytest.raises(RuntimeError, match="dual level that is open"):
        fwAD.make_dual(const(1.0), const(1.0))
    with pytest.raises(RuntimeError, match="dual level that is open"):
        fwAD.unpack_dual(const(1.0))
    with pytest.raises(RuntimeError, match="got none"):
        fwAD.exit_dual_level()
    with fwAD.dual_level() as level:
        with pytest.raises(RuntimeError, match="floating-point primal"):
            fwAD.make_dual(pb.tensor(1), pb.tensor(1))
        with pytest.raises(ValueError, match="tangent"):
            fwAD.make_dual(const(1.0), const([1.0]))
        with pytest.raises(TypeError, match="tangent"):
            fwAD.make_dual(const(1.0), const(1.0, pb.float32))
        x = fwAD.make_dual(const(1.0), const(1.0))
        with pytest.raises(RuntimeError, match="no dual of this level"):
            fwAD.make_dual(x, const(1.0))
        inner = fwAD.enter_dual_level()
        with pytest.raises(RuntimeError, match="innermost"):
            fwAD.exit_dual_level(level=level)
        fwAD.exit_dual_level(level=inner)
    with pytest.raises(pb.EscapedTracerError):
        x * x


def test_dual_levels_nest_and_meet_reverse_mode():
    with fwAD.dual_level() as outer:
        x = fwAD.make_dual(const(2.0), const(1.0))
        with fwAD.dual_level():
            y = fwAD.make_dual(x, const(1.0))
            slope = fwAD.unpack_dual(y**3).tangent
            assert fwAD.unpack_dual(y, level=outer).tangent is not None or True
        bend = fwAD.unpack_dual(slope).tangent
    assert bend.item() == pytest.approx(12.0)
    w = leaf([1.0, 2.0])
    with fwAD.dual_level():
        d = fwAD.make_dual(w, const([1.0, 0.0]))
        tangent = fwAD.unpack_dual((d**3).sum()).tangent
    tangent.backward()
    assert w.grad.tolist() == pytest.approx([6.0, 0.0])


# The checkers


def test_gradcheck_accepts_right_and_refuses_wrong_derivatives():
    x = leaf([0.3, 1.2])
    assert autograd.gradcheck(lambda x: x.sin() * x, x) is True
    assert autograd.gradcheck(lambda x, y: (x * y, x + y), (x, leaf([0.5, 0.7]))) is True
    assert autograd.gradcheck(lambda x: x * x.detach(), x, raise_exception=False) is False
    with pytest.raises(autograd.GradcheckError, match="vjp_matches_differences"):
        autograd.gradcheck(lambda x: x * x.detach(), x)
    assert issubclass(autograd.GradcheckError, RuntimeError)
    assert autograd.gradcheck(lambda x: x.exp(), (x,), fast_mode=True, check_batched_grad=True)
    assert autograd.gradgradcheck(lambda x: x.sin() * x, x)
    assert not autograd.gradgradcheck(lambda x: (x * x).detach() * x, x, raise_exception=False)


def test_gradcheck_varies_what_requires_gradients_or_everything():
    x, c = leaf([0.3, 1.2]), const([1.0, 2.0])
    wrong_in_c = lambda x, c: x * c.detach()  # noqa: E731
    assert autograd.gradcheck(wrong_in_c, (x, c))
    assert not autograd.gradcheck(wrong_in_c, (x.detach(), c), raise_exception=False)
    assert autograd.gradcheck(lambda x, n, flag: x**n if flag else x, (x, 3, True))


def test_gradcheck_modes():
    x = leaf([0.3, 1.2])
    wrong = lambda x: x * x.detach()  # noqa: E731
    for options in [{"check_forward_ad": True, "check_backward_ad": False}, {"check_forward_ad": False}]:
        assert autograd.gradcheck(lambda x: x.sin(), x, **options)
        assert not autograd.gradcheck(wrong, x, raise_exception=False, **options)
    with pytest.raises(ValueError, match="at least one mode"):
        autograd.gradcheck(wrong, x, check_forward_ad=False, check_backward_ad=False)


def test_gradcheck_checks_forward_mode_where_it_exists():
    class Sine(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return pb.from_numpy(np.sin(x.numpy()))

        @staticmethod
        @autograd.function.once_differentiable
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return pb.from_numpy(g.numpy() * np.cos(x.numpy()))

    x = leaf([0.3, 1.2])
    assert autograd.gradcheck(Sine.apply, x)
    assert autograd.gradcheck(Sine.apply, x, fast_mode=True)
    with pytest.raises(autograd.GradcheckError, match="the rule of the other mode is derived"):
        autograd.gradcheck(Sine.apply, x, check_forward_ad=True)
    with pytest.raises(autograd.GradcheckError, match="no batching rule"):
        autograd.gradcheck(Sine.apply, x, check_batched_grad=True)
    with pytest.raises(autograd.GradcheckError, match="differentiable once"):
        autograd.gradgradcheck(Sine.apply, x)


def test_gradcheck_preconditions_raise_always():
    for call, error, match in [
        (lambda: autograd.gradcheck(lambda x: x, leaf(1.0, pb.float32), raise_exception=False), TypeError, "double"),
        (lambda: autograd.gradcheck(lambda x: x, pb.tensor(1), raise_exception=False), RuntimeError, "floating"),
        (lambda: autograd.gradcheck(lambda x: 3, leaf(1.0), raise_exception=False), TypeError, "got int"),
        (lambda: autograd.gradcheck(lambda x: x, leaf(1.0), eps=-1.0), ValueError, "eps"),
    ]:
        with pytest.raises(error, match=match):
            call()


def test_gradcheck_notices_what_does_not_repeat():
    state = [0]

    def noisy(x):
        state[0] += 1
        return x * (1.0 + 1e-8 * state[0])

    x = leaf([1.0, 2.0])
    with pytest.raises(autograd.GradcheckError, match="repeats_exactly"):
        autograd.gradcheck(noisy, x, atol=1e-1, rtol=1e-1)
    assert autograd.gradcheck(noisy, x, atol=1e-1, rtol=1e-1, nondet_tol=1e-3, check_forward_ad=False)


def test_gradcheck_passes_exceptions_on():
    def raises(x):
        raise KeyError("boom")

    with pytest.raises(KeyError, match="boom"):
        autograd.gradcheck(raises, leaf(1.0))

    calls = [0]

    def interrupted(x):
        calls[0] += 1
        if calls[0] > 3:
            raise KeyboardInterrupt
        return x * x

    with pytest.raises(KeyboardInterrupt):
        autograd.gradcheck(interrupted, leaf(1.0))


# Derivatives at a point, in the words of torch.autograd.functional


def test_functional_jacobians_and_hessians_agree_with_closed_forms():
    x, y = const([1.0, 2.0]), const([3.0, 4.0])
    f = lambda x, y: (x * y, (x * x).sum())  # noqa: E731
    for strategy in ["reverse-mode", "forward-mode"]:
        (xx, xy), (sx, sy) = functional.jacobian(f, (x, y), strategy=strategy)
        assert xx.tolist() == [[3.0, 0.0], [0.0, 4.0]] and xy.tolist() == [[1.0, 0.0], [0.0, 2.0]]
        assert sx.tolist() == [2.0, 4.0] and sy.tolist() == [0.0, 0.0]
    (xx, xy), (yx, yy) = functional.hessian(lambda x, y: (x * x * y).sum(), (x, y))
    assert xx.tolist() == [[6.0, 0.0], [0.0, 8.0]] and xy.tolist() == yx.tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert yy.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    with pytest.raises(ValueError, match="strategy"):
        functional.jacobian(f, (x, y), strategy="sideways")
    with pytest.raises(TypeError, match="input 1, got int"):
        functional.jacobian(f, (x, 3))


def test_functional_products_agree_with_the_matrices():
    x, y, u, v = const([1.0, 2.0]), const([3.0, 4.0]), const([1.0, -1.0]), const([0.5, 2.0])
    value, product = functional.vjp(lambda x, y: x * y, (x, y), u)
    assert value.tolist() == [3.0, 8.0] and [p.tolist() for p in product] == [[3.0, -4.0], [1.0, -2.0]]
    value, product = functional.jvp(lambda x, y: x * y, (x, y), (u, v))
    assert product.tolist() == [3.5, 0.0]
    f = lambda x, y: (x * x * y).sum()  # noqa: E731
    for product in [functional.hvp, functional.vhp]:
        value, (hx, hy) = product(f, (x, y), (u, v))
        assert value.item() == 19.0
        assert hx.tolist() == [7.0, 0.0] and hy.tolist() == [2.0, -4.0]
    with pytest.raises(RuntimeError, match="left out"):
        functional.vjp(lambda x: x * x, x)


def test_functional_results_lead_back_on_demand():
    x = leaf([1.0, 2.0])
    assert not functional.jacobian(lambda x: x**3, x).requires_grad
    jacobian = functional.jacobian(lambda x: x**3, x, create_graph=True)
    assert jacobian.requires_grad
    jacobian.sum().backward()
    assert x.grad.tolist() == [6.0, 12.0]


# Threads


def test_backward_from_several_threads_is_right():
    w = leaf([1.0, 2.0])
    errors = []

    def work(seed):
        try:
            for _ in range(50):
                x = leaf([float(seed), 1.0])
                (x * x * w.detach()).sum().backward()
                assert x.grad.tolist() == [2.0 * seed, 4.0]
                (w * seed).sum().backward()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert w.grad.tolist() == [50.0 * (1 + 2 + 3 + 4)] * 2


def test_one_graph_is_walked_by_several_threads():
    x = leaf([1.0, 2.0])
    y = (x.sin() * x).sum()
    want = autograd.grad(y, x)[0].tolist()
    found = []
    threads = [threading.Thread(target=lambda: found.append(autograd.grad(y, x)[0].tolist())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [want] * 8


def test_a_post_accumulate_hook_keeps_no_tensor_alive():
    x = leaf([1.0, 2.0])
    seen = []

    def step(param):
        seen.append((param.tolist(), param.grad.tolist()))
        with pb.no_grad():
            param -= param.grad

    x.register_post_accumulate_grad_hook(step)
    with pb.no_grad():
        x += 1
    y = (3 * x).sum()
    gone = weakref.ref(x)
    del x
    assert gone() is None
    y.backward()
    y.backward()
    # Without its object, the leaf still has the last value, and what hooks make of it.
    assert seen == [([2.0, 3.0], [3.0, 3.0]), ([-1.0, 0.0], [6.0, 6.0])]
