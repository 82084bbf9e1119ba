"""Hooks, scopes of recording, and threads."""

import asyncio
import threading
import traceback
import weakref

import numpy as np
import pytest

import pullback as pb
import pullback.autograd.forward_ad as fwAD
from pullback import autograd


def leaf(value, dtype=pb.float64):
    return pb.tensor(value, dtype=dtype, requires_grad=True)


def const(value, dtype=pb.float64):
    return pb.tensor(value, dtype=dtype)


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
