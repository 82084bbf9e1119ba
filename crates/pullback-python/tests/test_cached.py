"""Functions that are captured once for each kind of arguments."""

import gc
import threading
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.func import cached, grad, vmap


def counted(f):
    """The function, and the list of its calls."""
    calls = []

    def g(*args, **kwargs):
        calls.append(args)
        return f(*args, **kwargs)

    return g, calls


def test_c149_a_function_is_captured_once_for_each_kind_of_arguments():
    f, calls = counted(lambda w, rate: w - w.sin() * rate)
    step = cached(f)
    w = plain = pb.linspace(0, 1, 5)
    for k in range(1000):
        w = step(w, 0.1 / (k + 1))
        if k < 3:
            plain = plain - plain.sin() * (0.1 / (k + 1))
            assert w.tolist() == plain.tolist() and w.dtype is plain.dtype
    assert step.traces == len(calls) == 1
    for k in range(30):
        step(pb.ones(k % 3 + 1), 0.5)
    assert step.traces == len(calls) == 4
    assert step.report().splitlines()[-1] == "trace 4: argument[0] is f32[3], not f32[2] as in trace 3"
    # A fresh closure is a function that has not been captured.
    assert all(cached(lambda x: x * 2).traces == 0 for _ in range(3))
    step.clear()
    step(w, 0.1)
    assert step.traces == 5 and "no graph is kept" in step.report()


def test_floats_leave_the_dtypes_of_results_alone():
    scale = cached(lambda x, a, b=2.0: x * a + b)
    for dtype in (pb.float32, pb.float64, pb.float16):
        x = pb.tensor([1.0, 3.0], dtype=dtype)
        got = scale(x, 1 / 3, b=0.1)
        want = x * (1 / 3) + 0.1
        assert got.dtype is dtype and got.tolist() == want.tolist()
    assert scale(pb.tensor([1, 2]), 0.5).dtype is pb.float32


def test_ints_and_texts_are_fixed_in_a_graph():
    f, calls = counted(lambda x, dim, mode: x.sum(dim) if mode == "sum" else x.mean(dim))
    g = cached(f)
    x = pb.arange(6.0).reshape(2, 3)
    assert g(x, 0, "sum").tolist() == [3.0, 5.0, 7.0] and g(x, 1, "sum").tolist() == [3.0, 12.0]
    assert g(x, 0, mode="mean").tolist() == [1.5, 2.5, 3.5]
    g(x, 0, "sum")
    assert len(calls) == g.traces == 3
    assert len(calls) == 3 and "not \"(tensor, 0, 'sum', {})" in g.report()


def test_other_objects_are_known_by_their_identity():
    class Config:
        def __init__(self, scale):
            self.scale = scale

    f, calls = counted(lambda x, config: x * config.scale)
    g = cached(f)
    x, one = pb.ones(2), Config(3.0)
    for scale in (one, one, Config(4.0), Config(5.0), one):
        assert g(x, scale).tolist() == [scale.scale] * 2
    assert len(calls) == 3
    for broken in (np.ones(2), np.float32(1.0), np.int64(1), 1j):
        with pytest.raises(TypeError, match="among the arguments; help: make it a tensor"):
            g(x, broken)


def test_it_is_differentiated_and_batched():
    f, calls = counted(lambda x: (x.sin() * x).sum())
    g = cached(f)
    x = pb.tensor([0.5, 1.5])
    assert grad(g)(x).tolist() == grad(f)(x).tolist()
    many = pb.stack([x, x * 2])
    assert vmap(grad(g))(many).tolist() == vmap(grad(f))(many).tolist()
    before = len(calls)
    grad(g)(x), vmap(g)(many), g(x)
    assert len(calls) <= before + 1


def test_what_cannot_be_captured_is_an_error():
    with pytest.raises(TypeError, match="cached: expected a function, got Tensor"):
        cached(pb.ones(2))
    with pytest.raises(RuntimeError, match="`where`"):
        cached(lambda x: x if x > 0 else -x)(pb.tensor(1.0))
    with pytest.raises(TypeError, match="must return tensors, got 'a'"):
        cached(lambda x: (x, "a"))(pb.tensor(1.0))

    def broken(x):
        raise KeyError("mine")

    g = cached(broken)
    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            g(pb.ones(2))
    assert g.traces == 0


def test_several_threads_share_the_graphs():
    g = cached(lambda x: x * 2 + 1)
    found = []
    threads = [threading.Thread(target=lambda k=k: found.append(g(pb.full((4,), float(k))).tolist() == [2.0 * k + 1] * 4)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found) and len(found) == 8 and 1 <= g.traces <= 8


def test_a_cycle_through_a_cached_method_is_collected():
    class Model:
        def __init__(self):
            self.w = pb.ones(2)
            self.forward = cached(self.apply)

        def apply(self, x):
            return x * self.w

    model = Model()
    assert model.forward(pb.ones(2)).tolist() == [1.0, 1.0]
    # An argument is kept, and may lead back.
    with pytest.raises(TypeError, match="unsupported operand"):
        model.forward(model)
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None
