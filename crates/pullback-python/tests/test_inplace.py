"""Methods that give an object another value: what other names, views and leaves see."""

import threading

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, vmap


@pytest.mark.parametrize(
    ("change", "want"),
    [
        (lambda x: x.add_(1), [2.0, 3.0]),
        (lambda x: x.add_(pb.ones(2), alpha=3), [4.0, 5.0]),
        (lambda x: x.sub_(1, alpha=0.5), [0.5, 1.5]),
        (lambda x: x.mul_(pb.tensor([2.0, 3.0])), [2.0, 6.0]),
        (lambda x: x.div_(2), [0.5, 1.0]),
        (lambda x: x.zero_(), [0.0, 0.0]),
        (lambda x: x.fill_(7), [7.0, 7.0]),
        (lambda x: x.copy_(pb.tensor([3, 4])), [3.0, 4.0]),
    ],
)
def test_methods_return_the_object_itself(change, want):
    x = pb.tensor([1.0, 2.0])
    other, copy = x, x.clone()
    assert change(x) is x
    assert other.tolist() == want and copy.tolist() == [1.0, 2.0]


def test_assignments_with_operators_keep_the_object():
    x = y = pb.tensor([1.0, 2.0])
    x += 1
    x *= np.array([2.0, 3.0], dtype=np.float32)
    x -= pb.tensor(1.0)
    x /= 2
    assert x is y and y.tolist() == [1.5, 4.0]
    x **= 2
    x //= 2
    x %= 5
    assert x is y and y.tolist() == [1.0, 3.0]
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+=: 'Tensor' and 'str'"):
        x += "a"


def test_a_change_that_fails_changes_nothing():
    x = pb.tensor([1, 2])
    for broken, error in (
        (lambda: x.add_(0.5), TypeError),
        (lambda: x.mul_(pb.ones(3, dtype=pb.int64)), ValueError),
        (lambda: x.div_(2), TypeError),
        (lambda: x.copy_("a"), TypeError),
    ):
        with pytest.raises(error):
            broken()
    assert x.tolist() == [1, 2] and x.dtype is pb.int64


def test_a_tensor_may_be_changed_by_itself():
    x = pb.arange(4.0)
    x.add_(x).mul_(x[1])
    assert x.tolist() == [0.0, 4.0, 8.0, 12.0]


def test_changes_are_differentiated():
    def f(x):
        y = x * 2
        y += x
        y.mul_(x)
        return y.sum()

    assert grad(f)(pb.tensor([1.0, 2.0])).tolist() == [6.0, 12.0]
    assert vmap(grad(f))(pb.tensor([[1.0], [2.0]])).tolist() == [[6.0], [12.0]]


def test_leaves_stay_leaves_below_no_grad():
    w = pb.tensor([1.0, 2.0], requires_grad=True)
    (w * w).sum().backward()
    with pb.no_grad():
        w -= 0.5 * w.grad
    assert w.requires_grad and w.is_leaf and w.tolist() == [0.0, 0.0]
    pb.init.ones_(w)
    assert w.requires_grad and w.is_leaf and w.tolist() == [1.0, 1.0]


def test_threads_see_whole_values():
    x = pb.zeros(50_000)
    seen, stop = [], threading.Event()

    def read():
        while not stop.is_set():
            values = x.clone().numpy()
            seen.append(values[0] == values[-1])

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for _ in range(200):
        x += 1
    stop.set()
    for reader in readers:
        reader.join()
    assert all(seen) and x[0].item() == x[-1].item() == 200.0
