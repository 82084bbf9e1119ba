"""Names and forms of arguments that a user of PyTorch or NumPy tries on the first day, against NumPy, SciPy and closed forms."""

import math

import numpy as np
import pytest
import scipy.integrate
import scipy.signal
import scipy.special

import pullback as pb
from pullback.func import grad, jvp, vmap
from pullback.nn import functional as F


def rng(*shape, seed=0):
    return np.random.default_rng(seed).uniform(0.1, 0.9, shape)


def of(array):
    return pb.from_numpy(np.ascontiguousarray(array))


def close(tensor, expected, tolerance=1e-12):
    expected = np.asarray(expected)
    assert tuple(tensor.shape) == expected.shape
    np.testing.assert_allclose(tensor.numpy(), expected, rtol=tolerance, atol=tolerance)


X, Y, V = rng(3, 4), rng(3, 4, seed=1), rng(4, seed=2)
B, C = rng(2, 3, 4, seed=3), rng(2, 4, 2, seed=4)


def tanh_gelu(x):
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


CALLS = {
    "mm": (lambda x, y: pb.mm(x, y.T), lambda x, y: x @ y.T),
    "mm, a method": (lambda x, y: x.mm(y.T), lambda x, y: x @ y.T),
    "bmm": (lambda x, y: pb.bmm(of(B), of(C)), lambda x, y: B @ C),
    "mv": (lambda x, y: pb.mv(x, of(V)), lambda x, y: x @ V),
    "addmm": (lambda x, y: pb.addmm(x[:, :3], x, y.T, beta=2, alpha=0.5), lambda x, y: 2 * x[:, :3] + 0.5 * x @ y.T),
    "addmv": (lambda x, y: x[:, 0].addmv(y, of(V)), lambda x, y: x[:, 0] + y @ V),
    "baddbmm": (lambda x, y: pb.baddbmm(x[:, :2], of(B), of(C), alpha=3), lambda x, y: x[:, :2] + 3 * B @ C),
    "addmm without what is added": (lambda x, y: pb.addmm(pb.tensor(math.nan), x, y.T, beta=0), lambda x, y: x @ y.T),
    "inner": (lambda x, y: pb.inner(x, y), np.inner),
    "vdot": (lambda x, y: pb.vdot(x[0], y[0]), lambda x, y: np.vdot(x[0], y[0])),
    "vecdot": (lambda x, y: pb.linalg.vecdot(x, y), lambda x, y: (x * y).sum(-1)),
    "vecdot along": (lambda x, y: pb.linalg.vecdot(x, y, dim=0), lambda x, y: (x * y).sum(0)),
    "norm": (lambda x, y: pb.linalg.norm(x), lambda x, y: np.linalg.norm(x)),
    "norm with an order": (lambda x, y: pb.linalg.norm(x, 1), lambda x, y: np.linalg.norm(x, 1)),
    "norm, spectral": (lambda x, y: pb.linalg.norm(x, ord=2), lambda x, y: np.linalg.norm(x, 2)),
    "norm, nuclear": (lambda x, y: pb.linalg.norm(x, "nuc"), lambda x, y: np.linalg.norm(x, "nuc")),
    "norm along": (lambda x, y: pb.linalg.norm(x, 3, dim=1), lambda x, y: np.linalg.norm(x, 3, axis=1)),
    "norm along two": (
        lambda x, y: pb.linalg.norm(of(B), "fro", dim=(0, 2), keepdim=True),
        lambda x, y: np.linalg.norm(B, "fro", axis=(0, 2), keepdims=True),
    ),
    "norm of a stack along two": (
        lambda x, y: pb.linalg.norm(of(B), math.inf, dim=(2, 0)),
        lambda x, y: np.linalg.norm(B, np.inf, axis=(2, 0)),
    ),
    "norm by name": (lambda x, y: x.norm("fro"), lambda x, y: np.linalg.norm(x)),
    "norm by name, nuclear": (lambda x, y: pb.norm(x, p="nuc"), lambda x, y: np.linalg.norm(x, "nuc")),
    "inverse": (lambda x, y: pb.inverse(x[:, :3]), lambda x, y: np.linalg.inv(x[:, :3])),
    "hstack": (lambda x, y: pb.hstack((x, y)), lambda x, y: np.hstack((x, y))),
    "hstack of vectors": (lambda x, y: pb.hstack([x[0], y[1]]), lambda x, y: np.hstack([x[0], y[1]])),
    "vstack": (lambda x, y: pb.vstack((x, y[0])), lambda x, y: np.vstack((x, y[0]))),
    "row_stack": (lambda x, y: pb.row_stack((x, y)), lambda x, y: np.vstack((x, y))),
    "dstack": (lambda x, y: pb.dstack((x, y)), lambda x, y: np.dstack((x, y))),
    "column_stack": (lambda x, y: pb.column_stack((x[0], y[0])), lambda x, y: np.column_stack((x[0], y[0]))),
    "atleast_2d": (lambda x, y: pb.atleast_2d(x[0]), lambda x, y: np.atleast_2d(x[0])),
    "atleast_3d": (lambda x, y: pb.atleast_3d(x), lambda x, y: np.atleast_3d(x)),
    "concat": (lambda x, y: pb.concat((x, y), dim=1), lambda x, y: np.concatenate((x, y), 1)),
    "concatenate": (lambda x, y: pb.concatenate((x, y), axis=0), lambda x, y: np.concatenate((x, y), 0)),
    "clip": (lambda x, y: pb.clip(x, 0.3, 0.6), lambda x, y: np.clip(x, 0.3, 0.6)),
    "clip, a method": (lambda x, y: x.clip(min=0.3), lambda x, y: np.maximum(x, 0.3)),
    "clamp by tensors": (lambda x, y: pb.clamp(x, y, y + 0.1), lambda x, y: np.clip(x, y, y + 0.1)),
    "clamp by a tensor": (lambda x, y: x.clamp(max=y[0]), lambda x, y: np.minimum(x, y[0])),
    "relu6": (lambda x, y: F.relu6(x * 20 - 5), lambda x, y: np.clip(x * 20 - 5, 0, 6)),
    "expit": (lambda x, y: pb.special.expit(x), lambda x, y: scipy.special.expit(x)),
    "logit": (lambda x, y: pb.special.logit(x), lambda x, y: scipy.special.logit(x)),
    "logit with eps": (lambda x, y: pb.logit(x, eps=0.4), lambda x, y: scipy.special.logit(np.clip(x, 0.4, 0.6))),
    "ndtr": (lambda x, y: pb.special.ndtr(x), lambda x, y: scipy.special.ndtr(x)),
    "gammaln": (lambda x, y: pb.special.gammaln(x), lambda x, y: scipy.special.gammaln(x)),
    "psi": (lambda x, y: pb.special.psi(x), lambda x, y: scipy.special.psi(x)),
    "cov": (lambda x, y: pb.cov(x), lambda x, y: np.cov(x)),
    "cov with options": (
        lambda x, y: pb.cov(x, correction=0, fweights=pb.tensor([1, 2, 3, 1]), aweights=of(V)),
        lambda x, y: np.cov(x, ddof=0, fweights=[1, 2, 3, 1], aweights=V),
    ),
    "cov of a variable": (lambda x, y: x[0].cov(), lambda x, y: np.cov(x[0])),
    "corrcoef": (lambda x, y: pb.corrcoef(x), lambda x, y: np.corrcoef(x)),
    "trapezoid": (lambda x, y: pb.trapezoid(x), lambda x, y: scipy.integrate.trapezoid(x)),
    "trapezoid at places": (lambda x, y: pb.trapezoid(x, y, dim=0), lambda x, y: scipy.integrate.trapezoid(x, y, axis=0)),
    "trapz": (lambda x, y: pb.trapz(x, dx=0.5), lambda x, y: scipy.integrate.trapezoid(x, dx=0.5)),
    "cumulative_trapezoid": (
        lambda x, y: pb.cumulative_trapezoid(x, of(V).cumsum(0)),
        lambda x, y: scipy.integrate.cumulative_trapezoid(x, np.cumsum(V)),
    ),
    "std with a bias": (lambda x, y: x.std(unbiased=False), lambda x, y: x.std()),
    "std along, with a bias": (lambda x, y: pb.std(x, 1, False), lambda x, y: x.std(1)),
    "std along, unbiased": (lambda x, y: pb.std(x, 1, unbiased=True, keepdim=True), lambda x, y: x.std(1, ddof=1, keepdims=True)),
    "var with a bias": (lambda x, y: x.var(False), lambda x, y: x.var()),
    "var with a correction": (lambda x, y: x.var(dim=0, correction=2), lambda x, y: x.var(0, ddof=2)),
    "gelu by a hyperbolic tangent": (lambda x, y: F.gelu(x, approximate="tanh"), lambda x, y: tanh_gelu(x)),
    "gelu": (lambda x, y: F.gelu(x, approximate="none"), lambda x, y: x * scipy.special.ndtr(x)),
    "round": (lambda x, y: pb.round(x, decimals=2), lambda x, y: np.round(x, 2)),
    "round before the point": (lambda x, y: (x * 1000).round(decimals=-2), lambda x, y: np.round(x * 1000, -2)),
    "pow of a number": (lambda x, y: pb.pow(2, x), lambda x, y: 2**x),
    "a number to the power": (lambda x, y: 2**x, lambda x, y: 2**x),
    "sub from a number": (lambda x, y: pb.sub(1, x), lambda x, y: 1 - x),
    "div of a number": (lambda x, y: pb.div(1, x), lambda x, y: 1 / x),
    "maximum of a number": (lambda x, y: pb.maximum(0.5, x), lambda x, y: np.maximum(0.5, x)),
    "add a multiple": (lambda x, y: pb.add(x, y, alpha=-2), lambda x, y: x - 2 * y),
    "sub a multiple": (lambda x, y: x.sub(y, alpha=0.5), lambda x, y: x - y / 2),
    "addcmul": (lambda x, y: pb.addcmul(x, x, y, value=0.5), lambda x, y: x + x * y / 2),
    "addcdiv": (lambda x, y: x.addcdiv(x, y, value=-1), lambda x, y: x - x / y),
    "tensordot": (lambda x, y: pb.tensordot(x, y.T, dims=1), lambda x, y: np.tensordot(x, y.T, 1)),
    "tensordot over two": (lambda x, y: pb.tensordot(x, y), lambda x, y: np.tensordot(x, y)),
    "tensordot over pairs": (lambda x, y: x.tensordot(y, dims=([0], [0])), lambda x, y: np.tensordot(x, y, ([0], [0]))),
    "tensordot over a pair": (lambda x, y: x.tensordot(y, (1, 1)), lambda x, y: np.tensordot(x, y, (1, 1))),
    "softmax in a dtype": (
        lambda x, y: F.softmax(x.float(), dim=-1, dtype=pb.float64),
        lambda x, y: scipy.special.softmax(x.astype(np.float32).astype(float), -1),
    ),
    "log_softmax": (lambda x, y: pb.log_softmax(x, 1), lambda x, y: scipy.special.log_softmax(x, 1)),
    "swapaxes": (lambda x, y: x.swapaxes(0, 1), lambda x, y: x.swapaxes(0, 1)),
    "moveaxis": (lambda x, y: pb.moveaxis(of(B), 0, -1), lambda x, y: np.moveaxis(B, 0, -1)),
    "multiply": (lambda x, y: pb.multiply(x, y), np.multiply),
    "true_divide": (lambda x, y: x.true_divide(y), np.true_divide),
    "absolute": (lambda x, y: pb.absolute(x - y), lambda x, y: np.absolute(x - y)),
    "arctan2": (lambda x, y: pb.arctan2(x, y), np.arctan2),
    "clamp_min": (lambda x, y: x.clamp_min(0.5), lambda x, y: np.maximum(x, 0.5)),
    "clamp_max by a tensor": (lambda x, y: pb.clamp_max(x, y), np.minimum),
    "fmax": (lambda x, y: pb.fmax(x, y), np.fmax),
    "fmin of a number": (lambda x, y: x.fmin(0.5), lambda x, y: np.fmin(x, 0.5)),
    "frac": (lambda x, y: pb.frac(x * 3), lambda x, y: np.modf(x * 3)[0]),
    "deg2rad": (lambda x, y: pb.deg2rad(x), lambda x, y: np.deg2rad(x)),
    "rad2deg": (lambda x, y: x.rad2deg(), lambda x, y: np.rad2deg(x)),
    "fliplr": (lambda x, y: pb.fliplr(x), lambda x, y: np.fliplr(x)),
    "flipud": (lambda x, y: x.flipud(), lambda x, y: np.flipud(x)),
    "ravel": (lambda x, y: x.ravel(), lambda x, y: x.ravel()),
    "view_as": (lambda x, y: x.view_as(y.T), lambda x, y: x.reshape(4, 3)),
    "expand_as": (lambda x, y: x[:1].expand_as(y), lambda x, y: np.broadcast_to(x[:1], (3, 4))),
    "std_mean": (lambda x, y: pb.std_mean(x, 0)[0], lambda x, y: x.std(0, ddof=1)),
    "var_mean": (lambda x, y: pb.var_mean(x, unbiased=False)[0], lambda x, y: x.var()),
    "var_mean, the mean": (lambda x, y: pb.var_mean(x, dim=1, keepdim=True)[1], lambda x, y: x.mean(1, keepdims=True)),
    "vander": (lambda x, y: pb.vander(x[0], N=3), lambda x, y: np.vander(x[0], 3)),
    "vander, increasing": (lambda x, y: pb.vander(x[0], increasing=True), lambda x, y: np.vander(x[0], increasing=True)),
    "gradient": (lambda x, y: pb.gradient(x, dim=1)[0], lambda x, y: np.gradient(x, axis=1)),
    "gradient at distances": (lambda x, y: pb.gradient(x, spacing=0.5)[0], lambda x, y: np.gradient(x, 0.5)[0]),
    "kthvalue": (lambda x, y: x.kthvalue(2, dim=1).values, lambda x, y: np.sort(x, 1)[:, 1]),
    "pinverse": (lambda x, y: pb.pinverse(x), lambda x, y: np.linalg.pinv(x)),
    "arcsin": (lambda x, y: x.arcsin(), lambda x, y: np.arcsin(x)),
}


@pytest.mark.parametrize("call, expected", CALLS.values(), ids=CALLS.keys())
def test_values_are_those_of_numpy_and_scipy(call, expected):
    close(call(of(X), of(Y)), expected(X, Y), 1e-11)


# Not of steps, and not of what goes through single precision.
SMOOTH = {name: call for name, call in CALLS.items() if not name.startswith("round") and name != "softmax in a dtype"}


@pytest.mark.parametrize("call, expected", SMOOTH.values(), ids=SMOOTH.keys())
def test_derivatives_are_differences(call, expected):
    direction, step = rng(3, 4, seed=9) - 0.5, 1e-6
    weights = rng(*np.shape(expected(X, Y)), seed=8)
    objective = lambda x: (expected(x, Y) * weights).sum()
    difference = (objective(X + step * direction) - objective(X - step * direction)) / (2 * step)
    y = of(Y)
    loss = lambda x: (call(x, y) * of(weights)).sum()
    gradient = grad(loss)(of(X)).numpy()
    np.testing.assert_allclose((gradient * direction).sum(), difference, rtol=1e-6, atol=1e-7)
    forward = jvp(loss, (of(X),), (of(direction),))[1].item()
    np.testing.assert_allclose(forward, difference, rtol=1e-6, atol=1e-7)


def test_closeness_is_that_of_numpy():
    a = np.array([1.0, 2.0, np.inf, np.nan, -np.inf, 0.0])
    b = np.array([1.0 + 1e-6, 2.1, np.inf, np.nan, np.inf, 1e-9])
    for equal_nan in (False, True):
        found = pb.isclose(of(a), of(b), equal_nan=equal_nan)
        assert found.tolist() == np.isclose(a, b, equal_nan=equal_nan).tolist()
        assert pb.allclose(of(a[:1]), of(b[:1]), equal_nan=equal_nan) is True
    assert of(a).allclose(of(a)) is False and of(a).allclose(of(a), equal_nan=True) is True
    assert pb.isclose(pb.tensor([1, 2]), pb.tensor(2)).tolist() == [False, True]
    with pytest.raises(ValueError, match="`rtol` of at least 0, got -1"):
        pb.isclose(of(a), of(b), rtol=-1)


def test_equality_is_of_shape_dtype_and_elements():
    x = pb.tensor([1.0, 2.0])
    assert pb.equal(x, x.clone()) is True
    assert x.equal(pb.tensor([1.0, 3.0])) is False
    assert pb.equal(x, pb.tensor([[1.0, 2.0]])) is False
    assert pb.equal(pb.tensor([1, 2]), pb.tensor([1, 2], dtype=pb.int32)) is False


def test_what_reads_values_says_so_under_vmap():
    with pytest.raises(RuntimeError, match="allclose"):
        vmap(lambda x: pb.tensor(float(pb.allclose(x, x))))(of(X))
    with pytest.raises(RuntimeError, match="`length`"):
        vmap(lambda x: pb.bincount(x))(pb.tensor([[1, 2], [0, 1]]))
    with pytest.raises(RuntimeError, match="`where` with three arguments and `masked_fill` keep the shape"):
        vmap(lambda x: pb.where(x > 0.5)[0])(of(X))
    # With a length it is a matter of shapes.
    found = vmap(lambda x: pb.bincount(x, length=3))(pb.tensor([[1, 2], [1, 1]]))
    assert found.tolist() == [[0, 1, 1], [0, 2, 0]]


def test_products_of_given_ranks_refuse_others():
    x = of(X)
    for call in (lambda: pb.mm(x, x[0]), lambda: pb.bmm(x, x), lambda: pb.mv(x, x), lambda: x.mm(of(B))):
        with pytest.raises(ValueError, match="dims, got f64.*matmul"):
            call()
    with pytest.raises(ValueError, match="mm: inner dimensions must match"):
        pb.mm(x, x)
    with pytest.raises(ValueError, match="broadcasts to the product"):
        pb.addmm(pb.zeros(7), x, x.T)


def test_a_dtype_is_what_the_work_is_done_in():
    x = pb.tensor([1, 2, 4])
    assert x.mean(dtype=pb.float64).dtype is pb.float64
    assert x.mean(dtype=pb.float64).item() == 7 / 3
    assert x.sum(dtype=pb.float32).dtype is pb.float32
    assert x.sum(dtype=pb.int32).dtype is pb.int32
    assert pb.prod(x, dtype=float).item() == 8.0
    assert pb.cumsum(x, dim=0, dtype=pb.float64).tolist() == [1.0, 3.0, 7.0]
    assert pb.tensor([0.1] * 3).sum(0, dtype=pb.float64).item() == sum([float(np.float32(0.1))] * 3)
    assert x.sum(dtype=None).dtype is pb.int64
    with pytest.raises(TypeError, match="mean: expected a dtype that it can compute in, got int64"):
        x.mean(dtype=pb.int64)
    with pytest.raises(TypeError, match="softmax: expected a dtype"):
        pb.softmax(x, 0, dtype=pb.int64)


def test_a_dim_that_must_be_named_is_asked_for():
    with pytest.raises(TypeError, match="softmax\\(\\) missing required argument 'dim'"):
        F.softmax(of(X))
    with pytest.raises(TypeError, match="log_softmax\\(\\) missing required argument 'dim'"):
        of(X).log_softmax()


def test_words_for_ways_are_checked():
    with pytest.raises(ValueError, match="'approximate' must be one of 'none', 'tanh', got 'sigmoid'"):
        F.gelu(of(X), approximate="sigmoid")
    with pytest.raises(ValueError, match="order of a norm of matrices, got 3"):
        pb.linalg.norm(of(X), 3)
    with pytest.raises(ValueError, match="for a norm with an order"):
        pb.linalg.norm(of(B), 2)


def test_the_derivative_of_clamp_goes_to_what_is_chosen():
    x, low, high = pb.tensor([-2.0, 0.5, 3.0]), pb.tensor([-1.0, 0.0, 1.0]), pb.tensor([1.0, 1.0, 2.0])
    total = lambda x, low, high: pb.clamp(x, min=low, max=high).sum()
    assert [g.tolist() for g in grad(total, (0, 1, 2))(x, low, high)] == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
    # On a bound it is the tensor's, as with numbers.
    assert grad(lambda x: x.clamp(min=low).sum())(low).tolist() == grad(lambda x: x.clamp(min=0.0).sum())(0 * low).tolist()
    # A NaN in a bound is not passed over.
    assert math.isnan(pb.clamp(pb.tensor(1.0), min=pb.tensor(math.nan)).item())


def test_where_with_a_condition_alone_gives_places():
    mask = X > 0.5
    found = pb.where(of(mask))
    assert [t.tolist() for t in found] == [list(k) for k in np.nonzero(mask)]
    assert [t.tolist() for t in of(mask).nonzero(as_tuple=True)] == [list(k) for k in np.nonzero(mask)]
    assert pb.nonzero(of(mask), as_tuple=False).tolist() == np.argwhere(mask).tolist()
    assert pb.argwhere(of(mask)).tolist() == np.argwhere(mask).tolist()
    assert of(X)[found].tolist() == X[mask].tolist()


def test_elements_are_repeated_by_a_number_or_by_numbers():
    x = pb.tensor([[1, 2], [3, 4]])
    assert pb.repeat_interleave(x, 2).tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    assert x.repeat_interleave(2, dim=1).tolist() == [[1, 1, 2, 2], [3, 3, 4, 4]]
    assert x.repeat_interleave(pb.tensor([2, 1]), dim=0).tolist() == [[1, 2], [1, 2], [3, 4]]
    assert x.repeat_interleave(pb.tensor([0, 1, 2, 0])).tolist() == [2, 3, 3]
    with pytest.raises(ValueError, match="expected a vector of 2 repeats"):
        x.repeat_interleave(pb.tensor([1, 2, 3]), dim=0)
    repeated = grad(lambda x: (x.repeat_interleave(pb.tensor([2, 0, 1]), 0) * pb.tensor([1.0, 10.0, 100.0])).sum())
    assert repeated(pb.tensor([5.0, 6.0, 7.0])).tolist() == [11.0, 0.0, 100.0]


def test_numbers_are_counted_up_to_the_largest():
    x = pb.tensor([1, 3, 1])
    assert pb.bincount(x).tolist() == [0, 2, 0, 1]
    assert x.bincount(minlength=6).tolist() == [0, 2, 0, 1, 0, 0]
    weights = pb.tensor([0.5, 1.0, 0.25])
    assert pb.bincount(x, weights).tolist() == [0.0, 0.75, 0.0, 1.0]
    assert pb.bincount(x, weights=weights, minlength=5).tolist() == [0.0, 0.75, 0.0, 1.0, 0.0]
    assert grad(lambda w: (pb.bincount(x, w) * pb.tensor([1.0, 2.0, 3.0, 4.0])).sum())(weights).tolist() == [2, 4, 2]
    with pytest.raises(IndexError, match="got -1"):
        pb.bincount(pb.tensor([-1]))


def test_classes_are_those_that_occur():
    y = pb.tensor([2, 0])
    assert F.one_hot(y).tolist() == F.one_hot(y, 3).tolist() == [[0, 0, 1], [1, 0, 0]]
    assert pb.one_hot(y, dtype=pb.float32).dtype is pb.float32
    with pytest.raises(RuntimeError, match="how many classes"):
        vmap(F.one_hot)(y)
    assert vmap(lambda y: F.one_hot(y, num_classes=3))(y).tolist() == [[0, 0, 1], [1, 0, 0]]


def test_least_squares_has_a_solution_by_name():
    a, b = of(X.T), of(V)
    expected = np.linalg.lstsq(X.T, V, rcond=None)[0]
    close(pb.linalg.lstsq(a, b).solution, expected, 1e-10)
    close(pb.linalg.lstsq(a, b)[0], expected, 1e-10)
    close(vmap(lambda b: pb.linalg.lstsq(a, b).solution)(pb.stack([b, 2 * b])), [expected, 2 * expected], 1e-10)


def test_unique_returns_what_it_is_asked_for():
    x = np.array([[3, 1], [3, 2]])
    values, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    t = of(x)
    assert pb.unique(t).tolist() == values.tolist() == pb.unique(t, sorted=True).tolist()
    pair = t.unique(return_inverse=True)
    assert [r.tolist() for r in pair] == [values.tolist(), inverse.reshape(2, 2).tolist()]
    assert [r.tolist() for r in t.unique(return_counts=True)] == [values.tolist(), counts.tolist()]
    every = pb.unique(t, return_inverse=True, return_counts=True)
    assert every.values.tolist() == values.tolist() and every.counts.tolist() == counts.tolist()
    assert pb.unique(t, dim=1).tolist() == np.unique(x, axis=1).tolist()
    runs = pb.tensor([1, 1, 2, 1])
    assert pb.unique_consecutive(runs).tolist() == [1, 2, 1]
    assert [r.tolist() for r in runs.unique_consecutive(return_counts=True)] == [[1, 2, 1], [2, 1, 1]]


def test_steps_and_membership():
    assert pb.heaviside(pb.tensor([-1.0, 0.0, 2.0]), pb.tensor(0.5)).tolist() == [0.0, 0.5, 1.0]
    assert pb.isin(pb.tensor([[1, 2], [3, 4]]), pb.tensor([4, 1])).tolist() == [[True, False], [False, True]]
    assert pb.isin(pb.tensor([1, 2]), pb.tensor([2]), invert=True).tolist() == [True, False]
    assert pb.kthvalue(pb.tensor([3, 1, 2]), 3).indices.item() == 0
    with pytest.raises(ValueError, match="`k` from 1 to 3"):
        pb.kthvalue(pb.tensor([3, 1, 2]), 0)


def test_shapes_and_spaces():
    assert pb.broadcast_shapes((2, 1), (3,), 1) == (2, 3) == np.broadcast_shapes((2, 1), (3,), 1)
    assert pb.broadcast_shapes() == ()
    with pytest.raises(ValueError, match="sizes 2 and 3 in dim 0"):
        pb.broadcast_shapes(2, 3)
    close(pb.logspace(-1, 1, 5, dtype=pb.float64), np.logspace(-1, 1, 5))
    close(pb.logspace(0, 3, 4, base=2, dtype=pb.float64), [1, 2, 4, 8])
    assert pb.sort(pb.tensor([2, 1]), stable=True).values.tolist() == [1, 2]


def test_frequencies_are_those_of_numpy():
    for n in (1, 4, 5):
        close(pb.fft.fftfreq(n, d=0.5, dtype=pb.float64), np.fft.fftfreq(n, 0.5))
        close(pb.fft.rfftfreq(n, 0.5, pb.float64), np.fft.rfftfreq(n, 0.5))
    assert pb.fft.fftfreq(4).dtype is pb.float32
    with pytest.raises(ValueError, match="not 0"):
        pb.fft.fftfreq(4, d=0)


@pytest.mark.parametrize("name", ["hann", "hamming", "blackman"])
def test_windows_are_those_of_scipy(name):
    window = getattr(pb, f"{name}_window")
    for n in (0, 1, 2, 7):
        expected = scipy.signal.get_window(name, n) if n else []
        close(window(n, dtype=pb.float64), expected)
        close(window(n, periodic=False, dtype=pb.float64), scipy.signal.get_window(name, n, fftbins=False) if n else [])
    assert window(4).dtype is pb.float32
    with pytest.raises(TypeError, match=f"{name}_window"):
        window(4, dtype=pb.int64)


def test_constants_are_numbers():
    assert (pb.pi, pb.e, pb.inf) == (math.pi, math.e, math.inf) and math.isnan(pb.nan)


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_limits_of_floats_are_those_of_numpy(name):
    info, expected = pb.finfo(getattr(pb, name)), np.finfo(name)
    for field in ("eps", "max", "min", "tiny", "smallest_normal", "bits", "resolution"):
        # NumPy's powers of ten are numbers of the dtype.
        tolerance = 1e-3 if field == "resolution" else 0
        assert float(getattr(info, field)) == pytest.approx(float(getattr(expected, field)), rel=tolerance, abs=0)
    assert info.eps == float(expected.eps) and info.max == float(expected.max) and info.dtype == name


def test_limits_of_other_dtypes():
    assert pb.finfo().dtype == "float32" and pb.finfo(pb.complex128).dtype == "float64"
    assert pb.finfo(pb.bfloat16).eps == 2.0**-7
    assert (pb.iinfo(pb.uint8).min, pb.iinfo(pb.uint8).max) == (0, 255)
    assert (pb.iinfo(pb.int64).min, pb.iinfo(pb.int64).max, pb.iinfo(pb.int64).bits) == (-(2**63), 2**63 - 1, 64)
    with pytest.raises(TypeError, match="iinfo"):
        pb.finfo(pb.int32)
    with pytest.raises(TypeError, match="finfo"):
        pb.iinfo(pb.float32)


def test_facts_about_tensors():
    x = pb.tensor([[1.0, 2.0]])
    assert pb.is_tensor(x) and not pb.is_tensor([1.0])
    assert pb.is_floating_point(x) and not pb.is_complex(x) and pb.numel(x) == 2
    assert pb.clone(x) is not x and pb.equal(pb.clone(x), x)
    assert grad(lambda x: pb.clone(x).sum())(x).tolist() == [[1.0, 1.0]]
    assert pb.promote_types(pb.int32, pb.float16) is pb.float16
    assert pb.result_type(pb.tensor([1, 2]), 0.5) is pb.float32
    assert pb.result_type(pb.tensor([1.0], dtype=pb.float16), 0.5) is pb.float16
    with pytest.raises(TypeError, match="result_type"):
        pb.result_type("x")


def test_vmap_is_at_the_top_as_well():
    assert pb.vmap is vmap
    assert pb.vmap(pb.sum)(pb.ones(2, 3)).tolist() == [3.0, 3.0]


def test_two_numbers_are_no_operands():
    with pytest.raises(TypeError, match="add: expected a tensor among the operands, got two numbers"):
        pb.add(1, 2)


def test_messages_tell_forms_of_one_name_apart():
    with pytest.raises(TypeError, match=r"clamp\(min: Tensor or None = None, .*, clamp\(min: float or None = None"):
        of(X).clamp("a")
    with pytest.raises(TypeError, match="as_tuple: True"):
        of(X).nonzero(as_tuple=1)
    # What all say is said once.
    with pytest.raises(TypeError, match="argument 'other' must be Tensor or number, not str"):
        of(X).add("a")


def test_an_order_that_rounds_is_kept():
    # Scaling overflows where the number needs no rounding.
    assert pb.tensor(1e300, dtype=pb.float64).round(decimals=20).item() == 1e300
    assert pb.tensor([15, 25]).round(decimals=2).tolist() == [15, 25]
    with pytest.raises(ValueError, match="decimals"):
        pb.tensor([15]).round(decimals=-1)


def test_a_place_and_a_distance_exclude_each_other():
    with pytest.raises(ValueError, match="one of `x` and `dx`"):
        pb.trapezoid(of(X), of(Y), dx=1.0)


def test_a_tensor_is_a_dim_or_a_number_only_where_no_form_takes_it_as_a_tensor():
    assert pb.max(pb.tensor([3.0, -1.0]), pb.tensor(0)).tolist() == [3.0, 0.0]
    assert pb.tensor([3, -1]).max(pb.tensor(1)).tolist() == [3, 1]
    assert pb.min(pb.tensor([3.0, -1.0]), pb.tensor([0])).tolist() == [0.0, -1.0]
    assert pb.bincount(pb.tensor([0]), pb.tensor([2])).tolist() == [2.0]
    assert pb.max(pb.tensor([[1.0, 2.0]]), 1).values.tolist() == [2.0]


def test_a_number_does_not_lose_the_derivative_of_a_tensor():
    bound = pb.func.grad(lambda v: pb.tensor([1.0, 2.0]).clone().clamp_(v).sum())(pb.tensor(1.5))
    assert bound.item() == 1.0
    assert pb.tensor([1.0, 2.0]).clamp_(pb.tensor([1.5, 1.5]), None).tolist() == [1.5, 2.0]
    for f in (
        lambda v: pb.nn.functional.elu(pb.tensor([-1.0]), v).sum(),
        lambda v: pb.nn.functional.leaky_relu(pb.tensor([-1.0]), v).sum(),
        lambda v: pb.full((2,), v).sum(),
    ):
        for transformed in (pb.func.grad(f), lambda v, f=f: pb.func.jvp(f, (v,), (v,))):
            with pytest.raises(TypeError, match="item"):
                transformed(pb.tensor(1.5))
        with pytest.raises(TypeError, match="item"):
            f(pb.tensor(1.5, requires_grad=True))
        f(pb.tensor(1.5))


def test_large_integers_are_close_only_as_far_as_they_are():
    for a, b in ((2**53, 2**53 + 1), (2**62, 2**62 + 1), (-(2**63), 2**63 - 1)):
        assert not pb.isclose(pb.tensor([a]), pb.tensor([b]), rtol=0, atol=0).item()
        assert pb.isclose(pb.tensor([a]), pb.tensor([b]), rtol=0.0, atol=2.0**65).item()
    assert pb.allclose(pb.tensor([10, 20]), pb.tensor([11, 19]), rtol=0, atol=1)
    assert not pb.allclose(pb.tensor([10, 20]), pb.tensor([12, 19]), rtol=0, atol=1)


def test_a_covariance_of_too_few_observations_is_infinite_as_in_torch():
    x = pb.tensor([[1.0, 2.0, 4.0]])
    assert pb.cov(x, correction=5).item() == float("inf")
    assert pb.cov(x, correction=5, fweights=pb.tensor([1, 1, 1])).item() == float("inf")
