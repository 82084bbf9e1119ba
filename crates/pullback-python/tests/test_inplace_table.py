"""Methods in place that are made of operations: `name_` for `name`."""

import numpy as np
import pytest
from differences import gradient, same

import pullback as pb
from pullback import _core
from pullback.func import grad, jvp, vmap

X, Y = np.random.default_rng(0).uniform(0.2, 0.8, (2, 3, 4))
I = pb.tensor([[0, 2, 1, 0], [1, 1, 0, 2], [2, 0, 2, 1]])
# With the arguments that some take.
CALLS = {
    "exp": (),
    "sqrt": (),
    "neg": (),
    "abs": (),
    "relu": (),
    "sin": (),
    "floor": (),
    "clamp": (0.3, 0.6),
    "pow": (2,),
    "lerp": (pb.tensor(Y), 0.5),
    "masked_fill": (pb.tensor(Y > 0.5), -1.0),
    "scatter": (0, I, pb.tensor(Y)),
    "scatter_add": (0, I, pb.tensor(Y)),
    "index_add": (0, pb.tensor([0, 2, 0]), pb.tensor(Y)),
    "index_fill": (1, pb.tensor([0, 3]), 2.0),
    "index_put": ((pb.tensor([0, 2]),), 0.5),
    "cumsum": (1,),
    "tril": (),
    "remainder": (0.3,),
    "leaky_relu": (0.1,),
    "gt": (0.5,),
}


def t(array):
    return pb.tensor(array, dtype=pb.float64)


@pytest.mark.parametrize("name", CALLS)
def test_the_object_gets_the_result(name):
    x, args = t(X), CALLS[name]
    want = getattr(x, name)(*args)
    other, view, before = x, x[0], x.clone()
    assert getattr(x, name + "_")(*args) is x
    same(other, want)
    same(view, X[0])
    same(before, X)
    assert x.dtype is pb.float64


@pytest.mark.parametrize("name", CALLS)
def test_it_is_differentiated_and_batched(name):
    args = CALLS[name]

    def f(x):
        return (getattr(x, name)(*args) * x).sum()

    def g(x):
        y = x * 1.0
        getattr(y, name + "_")(*args)
        return (y * x).sum()

    x = t(X)
    same(grad(g)(x), grad(f)(x))
    if name not in ("floor", "gt"):
        same(grad(g)(x), gradient(g, x))
    same(jvp(g, (x,), (t(Y),))[1], jvp(f, (x,), (t(Y),))[1])
    many = pb.stack([x, t(Y), x * 0.9])
    same(vmap(grad(g))(many), pb.stack([grad(f)(x) for x in many]))


def test_every_operation_that_says_so_has_one():
    names = {name for namespaces, name, _, _ in _core._signatures() if not namespaces}
    changing = {name for name in names if name.endswith("_")}
    assert len(changing) > 90
    assert {name[:-1] for name in changing} <= names | {"bernoulli", "exponential"}
    for name in ("exp_", "clamp_", "logical_and_", "bitwise_xor_", "index_put_", "scatter_reduce_", "erfinv_"):
        assert name in changing and "Gives this object" in getattr(pb.Tensor, name).__doc__
    # What has another type is none.
    for name in ("sum_", "reshape_", "matmul_", "softmax_", "max_", "sort_"):
        assert not hasattr(pb.Tensor, name)


def test_a_change_that_fails_changes_nothing():
    x = pb.tensor([1, 2])
    with pytest.raises(TypeError, match=r"exp_: expected a result that can be stored in i64\[2\], got float32"):
        x.exp_()
    with pytest.raises(ValueError, match="pow_: expected a result of the shape of i64"):
        x.pow_(pb.ones(3, 2, dtype=pb.int64))
    with pytest.raises(TypeError, match="pow_\\(\\) missing required argument 'exponent'"):
        x.pow_()
    assert x.tolist() == [1, 2] and x.dtype is pb.int64
    assert pb.tensor([1.5, -0.5]).gt_(0).tolist() == [1.0, 0.0]


def test_leaves_and_captured_tensors():
    w = pb.tensor([0.5, 2.0], requires_grad=True)
    with pb.no_grad():
        w.clamp_(max=1.0)
    assert w.is_leaf and w.requires_grad and w.tolist() == [0.5, 1.0]
    (w * w).sum().backward()
    with pb.no_grad():
        w.grad.clamp_(max=1.5)
    assert w.grad.tolist() == [1.0, 1.5]
    captured = pb.ones(2)
    with pytest.raises(RuntimeError, match="got one from outside"):
        vmap(lambda x: captured.exp_() * x)(pb.ones(3))
    assert captured.tolist() == [1.0, 1.0]


def test_data_is_the_value_of_a_leaf():
    w = pb.tensor([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()
    w.data.sub_(0.5)
    w.data *= 2
    assert w.tolist() == [1.0, 3.0] and w.is_leaf and w.requires_grad and not w.data.requires_grad
    loss.backward()
    # The graph keeps the values that it was made of.
    assert w.grad.tolist() == [2.0, 4.0]
    held = w.data
    with pb.no_grad():
        w.add_(1)
    assert held.tolist() == [2.0, 4.0]
    w.data = pb.tensor([5.0, 6.0])
    assert held.tolist() == w.tolist() == [5.0, 6.0] and w.requires_grad
    w.data[0] = 7.0
    assert w.tolist() == [7.0, 6.0] and w.grad.tolist() == [2.0, 4.0]
    c = pb.ones(2)
    c.data = pb.zeros(3, dtype=pb.int64)
    assert c.dtype is pb.int64 and c.tolist() == [0, 0, 0]
    held = pb.ones(2).data.requires_grad_()
    (held * 3).sum().backward()
    assert held.is_leaf and held.grad.tolist() == [3.0, 3.0]


def test_data_that_cannot_be_set_is_an_error():
    w = pb.tensor([1.0, 2.0], requires_grad=True)
    y = w * 2
    for broken in (lambda: y.data.add_(1), lambda: setattr(y, "data", pb.ones(2))):
        with pytest.raises(RuntimeError, match="data: expected a leaf or a constant, got f32"):
            broken()
    with pytest.raises(TypeError, match="expected a value of type f32.*got f64"):
        w.data = pb.ones(2, dtype=pb.float64)
    with pytest.raises(ValueError, match="of the shape of"):
        w.data = pb.ones(3)
    with pytest.raises(TypeError, match="data: expected a tensor, got list"):
        w.data = [1.0, 2.0]
    for f in (lambda x: w.data.add_(x) * x, lambda x: setattr(w, "data", x)):
        with pytest.raises(RuntimeError, match="got one from outside"):
            vmap(f)(pb.ones(2))
    with pytest.raises(RuntimeError, match="data: expected a leaf or a constant"):
        grad(lambda x: x.data.mul_(2).sum())(pb.ones(2))
    assert w.tolist() == [1.0, 2.0] and y.tolist() == [2.0, 4.0]
    assert grad(lambda x: (x * x.data).sum())(pb.tensor([3.0])).tolist() == [3.0]


def test_the_graph_can_be_looked_at():
    x = pb.tensor(2.0, requires_grad=True)
    y = x.sin() * 3

    class Own(pb.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * 1, b * 2

        @staticmethod
        def backward(ctx, da, db):
            return da, db * 2

    assert x.grad_fn is None and pb.ones(2).grad_fn is None
    assert y.grad_fn.name() == "MulBackward" and isinstance(y.grad_fn, pb.autograd.Node)
    (sin, place), (none, _) = y.grad_fn.next_functions
    assert sin.name() == "SinBackward" and none is None and place == 0
    ((leaf, _),) = sin.next_functions
    assert leaf.name() == "AccumulateGrad" and leaf.next_functions == ()
    a, b = Own.apply(x, y)
    assert a.grad_fn.name() == "OwnBackward" and a.grad_fn == b.grad_fn != y.grad_fn
    assert hash(a.grad_fn) == hash(b.grad_fn)
    assert (a + b).grad_fn.next_functions[1][1] == 1
    assert grad(lambda x: x * (0.0 if (x * x).grad_fn else 1.0))(pb.tensor(1.0)).item() == 1.0
    with pb.no_grad():
        assert (x * 2).grad_fn is None


def test_how_tensors_lie_and_shapes_of_others():
    x = pb.zeros(2, 3)
    assert x.is_contiguous() and x.T.is_contiguous() and x.stride() == (3, 1) and x.T.stride() == (2, 1)
    assert x.stride(0) == 3 and pb.tensor(1.0).stride() == () and pb.zeros(0, 3).stride() == (3, 1)
    with pytest.raises(IndexError, match="stride: dim 2 is out of range for f32"):
        x.stride(2)
    assert pb.arange(6).view_as(x).tolist() == pb.arange(6).reshape_as(x).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert pb.ones(3).expand_as(x).shape == (2, 3)
    with pytest.raises(ValueError, match="view_as: reshape: expected a shape of 4 elements"):
        pb.ones(4).view_as(x)
    assert grad(lambda v: (v.view_as(x) * 2).sum())(pb.ones(6)).tolist() == [2.0] * 6
