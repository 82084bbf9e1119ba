"""Operations: methods and functions made of the table."""

import doctest
import inspect
import pickle
import threading

import numpy as np
import pytest

import pullback as pb
from pullback import _core
from pullback.nn import functional as F

TABLE = _core._signatures()
METHODS = {name: (doc, overloads) for namespaces, name, doc, overloads in TABLE if not namespaces}
FUNCTIONS = [
    (namespace, name, doc, overloads) for namespaces, name, doc, overloads in TABLE for namespace in namespaces
]


def home(namespace):
    """The module of a namespace."""
    module = pb
    for part in filter(None, namespace.split(".")):
        module = getattr(module, part)
    return module


def close(tensor, expected, tolerance=1e-12):
    expected = np.asarray(expected)
    assert tuple(tensor.shape) == expected.shape
    np.testing.assert_allclose(tensor.numpy(), expected, rtol=tolerance, atol=tolerance)


def rng(*shape, seed=0):
    return np.random.default_rng(seed).uniform(0.1, 0.9, shape)


def test_every_operation_is_a_method_or_a_function_with_documentation_and_a_signature():
    assert len(METHODS) > 250 and len(FUNCTIONS) > 300
    for name, (doc, overloads) in METHODS.items():
        check_member(getattr(pb.Tensor, name), name, doc, overloads, ["self"])
    for namespace, name, doc, overloads in FUNCTIONS:
        function = getattr(home(namespace), name)
        check_member(function, name, doc, overloads, [])
        # The home of a function in several namespaces is the first of them.
        assert getattr(home(function.__module__.removeprefix("pullback").strip(".")), name) is function


def check_member(member, name, doc, overloads, first):
    assert member.__name__ == name
    assert len(doc.split("\n\n")[0]) > 10
    if type(member).__name__ not in ("method_descriptor", "builtin_function_or_method"):
        return
    parameters = inspect.signature(member).parameters
    if len(overloads) == 1:
        ((written, _),) = overloads
        expected = first + [p[0] for p in written[len(first) :]]
        # What the class has by hand may take more.
        assert list(parameters)[: len(expected)] == expected or name not in doc
        assert member.__doc__ == doc or name not in doc
    else:
        assert all(f"{name}(" in doc for _ in overloads)


def test_methods_without_arguments_agree_with_their_functions():
    x = pb.tensor(rng(3, 3) + 0.01, dtype=pb.float64)
    ran = 0
    for namespaces, name, _, overloads in TABLE:
        if "" not in namespaces or name not in METHODS or len(overloads) > 1:
            continue
        ((parameters, _),) = overloads
        if any(default is None for _, _, default, _ in parameters[1:]):
            continue
        try:
            expected = getattr(x, name)()
        except (TypeError, ValueError, RuntimeError) as error:
            with pytest.raises(type(error)):
                getattr(pb, name)(x)
            continue
        found = getattr(pb, name)(x)
        for a, b in zip(flat(found), flat(expected), strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())
        ran += 1
    assert ran > 100


def flat(value):
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize(
    "doc, name", sorted({(doc, name) for _, name, doc, _ in TABLE if ">>>" in doc}), ids=lambda v: v[:30].split(" ")[0]
)
def test_examples_of_the_documentation_run(doc, name):
    test = doctest.DocTestParser().get_doctest(doc, {}, name, None, 0)
    runner = doctest.DocTestRunner(verbose=False)
    assert runner.run(test).failed == 0


def test_help_has_no_rust_in_it():
    for _, name, doc, _ in TABLE:
        for rust in ("&self", "Ok(", "assert", "Result<", "](", "```", "impl "):
            assert rust not in doc, name


X, Y = rng(3, 4), rng(3, 4, seed=1)
S = rng(4, 4) + 4 * np.eye(4)
I = np.array([[0, 2, 1, 0], [1, 1, 3, 2], [0, 3, 2, 1]])
softmax = lambda x, axis: np.exp(x) / np.exp(x).sum(axis, keepdims=True)

CALLS = {
    "sin": (lambda x, y: pb.sin(x), lambda x, y: np.sin(x)),
    "sin by name": (lambda x, y: pb.sin(input=x), lambda x, y: np.sin(x)),
    "exp": (lambda x, y: x.exp(), lambda x, y: np.exp(x)),
    "add": (lambda x, y: pb.add(x, y), lambda x, y: x + y),
    "add a number": (lambda x, y: x.add(2), lambda x, y: x + 2),
    "add by name": (lambda x, y: x.add(other=2.5), lambda x, y: x + 2.5),
    "sub": (lambda x, y: x.sub(y), lambda x, y: x - y),
    "mul": (lambda x, y: x.mul(True), lambda x, y: x * 1),
    "div": (lambda x, y: x.div(y), lambda x, y: x / y),
    "add a number of NumPy": (lambda x, y: x.add(np.float64(0.5)), lambda x, y: x + 0.5),
    "pow": (lambda x, y: x.pow(2), lambda x, y: x**2),
    "pow of a float": (lambda x, y: x.pow(0.5), lambda x, y: x**0.5),
    "pow of a tensor": (lambda x, y: pb.pow(x, y), lambda x, y: x**y),
    "atan2": (lambda x, y: x.atan2(y), np.arctan2),
    "hypot": (lambda x, y: pb.hypot(x, y), np.hypot),
    "remainder": (lambda x, y: x.remainder(y), np.mod),
    "maximum": (lambda x, y: pb.maximum(x, y), np.maximum),
    "max of two": (lambda x, y: pb.max(x, y), np.maximum),
    "max": (lambda x, y: x.max(), lambda x, y: x.max()),
    "max along": (lambda x, y: x.max(1).values, lambda x, y: x.max(1)),
    "max along, places": (lambda x, y: x.max(dim=0)[1], lambda x, y: x.argmax(0)),
    "min along": (lambda x, y: pb.min(x, -1, keepdim=True)[0], lambda x, y: x.min(-1, keepdims=True)),
    "amax": (lambda x, y: x.amax((0, 1)), lambda x, y: x.max((0, 1))),
    "argmin": (lambda x, y: x.argmin(dim=1), lambda x, y: x.argmin(1)),
    "sum": (lambda x, y: x.sum(), lambda x, y: x.sum()),
    "sum along": (lambda x, y: x.sum(0), lambda x, y: x.sum(0)),
    "sum of no dims": (lambda x, y: x.sum(dim=None), lambda x, y: x.sum()),
    "sum, kept": (lambda x, y: x.sum(dim=(0, 1), keepdim=True), lambda x, y: x.sum((0, 1), keepdims=True)),
    "sum as in NumPy": (lambda x, y: x.sum(axis=1, keepdims=True), lambda x, y: x.sum(1, keepdims=True)),
    "mean": (lambda x, y: pb.mean(x, [0]), lambda x, y: x.mean(0)),
    "var": (lambda x, y: x.var(dim=1), lambda x, y: x.var(1, ddof=1)),
    "std": (lambda x, y: x.std(correction=0), lambda x, y: x.std()),
    "prod": (lambda x, y: x.prod(1), lambda x, y: x.prod(1)),
    "cumsum": (lambda x, y: x.cumsum(dim=1), lambda x, y: x.cumsum(1)),
    "cummax": (lambda x, y: x.cummax(1).values, lambda x, y: np.maximum.accumulate(x, 1)),
    "norm": (lambda x, y: x.norm(), lambda x, y: np.linalg.norm(x)),
    "norm of rows": (lambda x, y: x.norm(1, dim=1), lambda x, y: np.abs(x).sum(1)),
    "vector_norm": (lambda x, y: pb.linalg.vector_norm(x, dim=0), lambda x, y: np.linalg.norm(x, axis=0)),
    "quantile": (lambda x, y: x.quantile(0.25, dim=1), lambda x, y: np.quantile(x, 0.25, axis=1)),
    "median": (lambda x, y: x[:, :3].median(1).values, lambda x, y: np.median(x[:, :3], 1)),
    "all": (lambda x, y: (x > 0).all(), lambda x, y: (x > 0).all()),
    "any along": (lambda x, y: (x > 0.5).any(dim=0), lambda x, y: (x > 0.5).any(0)),
    "reshape": (lambda x, y: x.reshape(2, 6), lambda x, y: x.reshape(2, 6)),
    "reshape of a tuple": (lambda x, y: x.reshape((4, -1)), lambda x, y: x.reshape(4, -1)),
    "reshape by name": (lambda x, y: pb.reshape(x, shape=[12]), lambda x, y: x.reshape(12)),
    "view": (lambda x, y: x.view(-1), lambda x, y: x.reshape(-1)),
    "permute": (lambda x, y: x.permute(1, 0), lambda x, y: x.T),
    "permute of a list": (lambda x, y: pb.permute(x, [1, 0]), lambda x, y: x.T),
    "transpose": (lambda x, y: x.transpose(0, 1), lambda x, y: x.T),
    "unsqueeze": (lambda x, y: x.unsqueeze(-1), lambda x, y: x[..., None]),
    "squeeze": (lambda x, y: x.unsqueeze(0).squeeze(), lambda x, y: x),
    "squeeze of one dim": (lambda x, y: x.unsqueeze(0).squeeze(0), lambda x, y: x),
    "expand": (lambda x, y: x.unsqueeze(0).expand(2, -1, -1), lambda x, y: np.stack([x, x])),
    "broadcast_to": (lambda x, y: pb.broadcast_to(x, (2, 3, 4)), lambda x, y: np.stack([x, x])),
    "flatten": (lambda x, y: x.flatten(), lambda x, y: x.ravel()),
    "flip": (lambda x, y: x.flip(0, 1), lambda x, y: x[::-1, ::-1]),
    "roll": (lambda x, y: x.roll(1, 0), lambda x, y: np.roll(x, 1, 0)),
    "tile": (lambda x, y: x.tile(2), lambda x, y: np.tile(x, 2)),
    "repeat": (lambda x, y: x.repeat(2, 1), lambda x, y: np.tile(x, (2, 1))),
    "cat": (lambda x, y: pb.cat([x, y]), lambda x, y: np.concatenate([x, y])),
    "cat along": (lambda x, y: pb.cat((x, y), dim=1), lambda x, y: np.concatenate([x, y], 1)),
    "stack": (lambda x, y: pb.stack((t for t in (x, y)), 2), lambda x, y: np.stack([x, y], 2)),
    "split": (lambda x, y: x.split(3, dim=1)[1], lambda x, y: x[:, 3:]),
    "split in sizes": (lambda x, y: x.split([1, 2])[1], lambda x, y: x[1:]),
    "chunk": (lambda x, y: pb.chunk(x, 2, dim=1)[0], lambda x, y: x[:, :2]),
    "unbind": (lambda x, y: x.unbind()[2], lambda x, y: x[2]),
    "meshgrid": (
        lambda x, y: pb.meshgrid(x[0], y[:, 0], indexing="xy")[1],
        lambda x, y: np.meshgrid(x[0], y[:, 0])[1],
    ),
    "narrow": (lambda x, y: x.narrow(1, 1, 2), lambda x, y: x[:, 1:3]),
    "gather": (lambda x, y: x.gather(1, pb.tensor(I)), lambda x, y: np.take_along_axis(x, I, 1)),
    "index_select": (lambda x, y: x.index_select(0, pb.tensor([2, 0])), lambda x, y: x[[2, 0]]),
    "index_put": (
        lambda x, y: x.index_put((pb.tensor([0, 2]),), 0.0),
        lambda x, y: x * np.array([[0.0], [1.0], [0.0]]),
    ),
    "where": (lambda x, y: pb.where(x > 0.5, x, y), lambda x, y: np.where(x > 0.5, x, y)),
    "where as a method": (lambda x, y: x.where(x > 0.5, 0.0), lambda x, y: np.where(x > 0.5, x, 0.0)),
    "clamp": (lambda x, y: x.clamp(max=0.5), lambda x, y: np.minimum(x, 0.5)),
    "clamp of both": (lambda x, y: x.clamp(0.3, 0.6), lambda x, y: np.clip(x, 0.3, 0.6)),
    "masked_fill": (lambda x, y: x.masked_fill(x > 0.5, -1), lambda x, y: np.where(x > 0.5, -1, x)),
    "lerp": (lambda x, y: x.lerp(y, 0.25), lambda x, y: x + 0.25 * (y - x)),
    "tril": (lambda x, y: x.tril(-1), lambda x, y: np.tril(x, -1)),
    "diagonal": (lambda x, y: x.diagonal(offset=1), lambda x, y: np.diagonal(x, 1)),
    "sort": (lambda x, y: x.sort(descending=True).values, lambda x, y: -np.sort(-x)),
    "argsort": (lambda x, y: x.argsort(0), lambda x, y: np.argsort(x, 0)),
    "topk": (lambda x, y: x.topk(2)[0], lambda x, y: -np.sort(-x)[:, :2]),
    "searchsorted": (
        lambda x, y: pb.searchsorted(x[0].sort().values, y),
        lambda x, y: np.searchsorted(np.sort(x[0]), y),
    ),
    "matmul": (lambda x, y: x.matmul(y.transpose(0, 1)), lambda x, y: x @ y.T),
    "einsum": (lambda x, y: pb.einsum("ij,kj->ik", x, y), lambda x, y: x @ y.T),
    "einsum of a list": (lambda x, y: pb.einsum("ij,ij", [x, y]), lambda x, y: (x * y).sum()),
    "tensordot": (lambda x, y: x.tensordot(y, ((1,), (1,))), lambda x, y: np.tensordot(x, y, ((1,), (1,)))),
    "outer": (lambda x, y: x[0].outer(y[0]), lambda x, y: np.outer(x[0], y[0])),
    "linear": (lambda x, y: F.linear(x, y, y[:, 0]), lambda x, y: x @ y.T + y[:, 0]),
    "softmax": (lambda x, y: F.softmax(x, dim=1), lambda x, y: softmax(x, 1)),
    "logsumexp": (lambda x, y: x.logsumexp(1), lambda x, y: np.log(np.exp(x).sum(1))),
    "relu": (lambda x, y: F.relu(x - 0.5), lambda x, y: np.maximum(x - 0.5, 0)),
    "leaky_relu": (lambda x, y: F.leaky_relu(x - 1), lambda x, y: 0.01 * (x - 1)),
    "mse_loss": (lambda x, y: F.mse_loss(x, y), lambda x, y: ((x - y) ** 2).mean()),
    "mse_loss, summed": (lambda x, y: F.mse_loss(x, y, reduction="sum"), lambda x, y: ((x - y) ** 2).sum()),
    "l1_loss": (lambda x, y: x.l1_loss(y, "none"), lambda x, y: np.abs(x - y)),
    "cross_entropy": (
        lambda x, y: F.cross_entropy(x, pb.tensor([1, 0, 3])),
        lambda x, y: -np.log(softmax(x, 1))[[0, 1, 2], [1, 0, 3]].mean(),
    ),
    "cross_entropy, images": (
        lambda x, y: F.cross_entropy(x[None], pb.tensor([[1, 0, 2, 2]])),
        lambda x, y: -np.log(softmax(x, 0))[[1, 0, 2, 2], [0, 1, 2, 3]].mean(),
    ),
    "cross_entropy, one left out": (
        lambda x, y: F.cross_entropy(x, pb.tensor([1, -100, 3])),
        lambda x, y: -np.log(softmax(x, 1))[[0, 2], [1, 3]].mean(),
    ),
    "cross_entropy, options": (
        lambda x, y: F.cross_entropy(
            x, pb.tensor([1, 0, 3]), weight=y[0], ignore_index=0, reduction="sum", label_smoothing=0.2
        ),
        lambda x, y: -sum(
            0.8 * y[0, t] * np.log(softmax(x, 1))[k, t] + 0.05 * (y[0] * np.log(softmax(x, 1))[k]).sum()
            for k, t in [(0, 1), (2, 3)]
        ),
    ),
    "nll_loss, weighted": (
        lambda x, y: F.nll_loss(x, pb.tensor([1, 0, 3]), y[0]),
        lambda x, y: -(y[0, [1, 0, 3]] * x[[0, 1, 2], [1, 0, 3]]).sum() / y[0, [1, 0, 3]].sum(),
    ),
    "binary_cross_entropy, weighted": (
        lambda x, y: F.binary_cross_entropy(x, y, weight=y, reduction="none"),
        lambda x, y: -y * (y * np.log(x) + (1 - y) * np.log(1 - x)),
    ),
    "binary_cross_entropy_with_logits, positive weights": (
        lambda x, y: F.binary_cross_entropy_with_logits(x, y, pos_weight=y[0]),
        lambda x, y: (y[0] * y * np.log1p(np.exp(-x)) + (1 - y) * np.log1p(np.exp(x))).mean(),
    ),
    "ctc_loss": (
        lambda x, y: F.ctc_loss(x, pb.tensor([1]), pb.tensor(2), pb.tensor(1), reduction="sum"),
        lambda x, y: -np.log(np.exp(x[0, 0] + x[1, 1]) + np.exp(x[0, 1] + x[1, 0]) + np.exp(x[0, 1] + x[1, 1])),
    ),
    "grid_sample": (
        lambda x, y: F.grid_sample(
            x[None, None],
            F.affine_grid(pb.tensor([[[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]], dtype=pb.float64), (1, 1, 3, 4)),
            mode="bilinear",
            padding_mode="border",
        ),
        lambda x, y: x[None, None, :, ::-1],
    ),
    "layer_norm": (
        lambda x, y: F.layer_norm(x, 4),
        lambda x, y: (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5),
    ),
    "one_hot": (lambda x, y: F.one_hot(pb.tensor([1, 0]), 3), lambda x, y: np.eye(3)[[1, 0]]),
    "embedding": (lambda x, y: F.embedding(pb.tensor([2, 2]), x), lambda x, y: x[[2, 2]]),
    "conv1d": (
        lambda x, y: F.conv1d(x[None], y[None, :, :2], stride=2),
        lambda x, y: np.array([[[(x[:, k : k + 2] * y[:, :2]).sum() for k in (0, 2)]]]),
    ),
    "conv2d": (
        lambda x, y: F.conv2d(x[None, None], pb.ones(1, 1, 3, 3, dtype=pb.float64), padding="same")[0, 0, 1, 1:3],
        lambda x, y: np.array([x[:, :3].sum(), x[:, 1:].sum()]),
    ),
    "max_pool2d": (
        lambda x, y: F.max_pool2d(x[None, None], (3, 2)),
        lambda x, y: np.array([[[[x[:, :2].max(), x[:, 2:].max()]]]]),
    ),
    "avg_pool1d": (lambda x, y: F.avg_pool1d(x[None], 2), lambda x, y: x.reshape(1, 3, 2, 2).mean(-1)),
    "interpolate": (
        lambda x, y: F.interpolate(x[None], scale_factor=2.0, mode="nearest"),
        lambda x, y: np.repeat(x, 2, 1)[None],
    ),
    "pad": (lambda x, y: F.pad(x, (1, 0), value=2.0), lambda x, y: np.pad(x, ((0, 0), (1, 0)), constant_values=2)),
    "pad, reflected": (lambda x, y: x.pad([2, 1], "reflect"), lambda x, y: np.pad(x, ((0, 0), (2, 1)), "reflect")),
    "rfft": (lambda x, y: pb.fft.rfft(x), lambda x, y: np.fft.rfft(x)),
    "fft2": (lambda x, y: pb.fft.fft2(x, norm="ortho"), lambda x, y: np.fft.fft2(x, norm="ortho")),
    "det": (lambda x, y: pb.linalg.det(pb.tensor(S)), lambda x, y: np.linalg.det(S)),
    "solve": (lambda x, y: pb.linalg.solve(pb.tensor(S), x.transpose(0, 1)), lambda x, y: np.linalg.solve(S, x.T)),
    "slogdet": (lambda x, y: pb.tensor(S).slogdet().logabsdet, lambda x, y: np.linalg.slogdet(S)[1]),
    "svd": (lambda x, y: pb.linalg.svd(x, full_matrices=False).S, lambda x, y: np.linalg.svd(x)[1]),
    "eigh": (lambda x, y: pb.linalg.eigh(pb.tensor(S + S.T))[0], lambda x, y: np.linalg.eigh(S + S.T)[0]),
    "matrix_norm": (lambda x, y: pb.linalg.matrix_norm(x, ord="nuc"), lambda x, y: np.linalg.norm(x, "nuc")),
    "matrix_norm, infinite": (lambda x, y: x.matrix_norm(float("inf")), lambda x, y: np.linalg.norm(x, np.inf)),
    "isnan": (lambda x, y: pb.isnan(x), lambda x, y: np.isnan(x)),
    "nan_to_num": (lambda x, y: (x / 0).nan_to_num(posinf=3.0), lambda x, y: np.full((3, 4), 3.0)),
    "i0": (lambda x, y: pb.special.i0(x), lambda x, y: np.i0(x)),
    "polygamma": (lambda x, y: pb.special.polygamma(1, x) - x.polygamma(1), lambda x, y: 0 * x),
}


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("call", CALLS)
def test_calls_agree_with_numpy(call):
    ours, expected = CALLS[call]
    close(ours(pb.tensor(X), pb.tensor(Y)), expected(X, Y), 1e-8)


x = pb.tensor([[1.0, 2.0], [3.0, 4.0]])

WRONG = [
    (lambda: x.sum("a"), TypeError, "sum(): argument 'dim' must be int or a sequence of ints or None, not str"),
    (lambda: x.sum(0, True, None, 3), TypeError, "sum() takes at most 3 arguments, but 4 were given"),
    (lambda: pb.sum(x, 0, True, None, 3), TypeError, "sum() takes at most 4 arguments, but 5 were given"),
    (lambda: x.sum(foo=1), TypeError, "sum() got an unexpected keyword argument 'foo'; it is sum(dim=None, keepdim=False, dtype=None)"),
    (lambda: x.sum(input=x), TypeError, "sum() got an unexpected keyword argument 'input'"),
    (lambda: x.sum(0, dim=0), TypeError, "sum() got multiple values for argument 'dim'"),
    (lambda: x.sum(dim=0, axis=0), TypeError, "sum() got multiple values for argument 'dim'"),
    (lambda: x.sum(5), IndexError, "sum: dim 5 is out of range for f32[2,2] (valid: -2 to 1)"),
    (lambda: x.sum(0.5), TypeError, "argument 'dim' must be int or a sequence of ints or None, not float"),
    (lambda: x.sum([0, "a"]), TypeError, "argument 'dim' must be int or a sequence of ints or None, not str"),
    (lambda: x.add(), TypeError, "add() missing required argument 'other' (pos 1)"),
    (lambda: pb.add(x), TypeError, "add() missing required argument 'other' (pos 2)"),
    (lambda: x.add(None), TypeError, "add(): argument 'other' must be Tensor or number, not NoneType"),
    (lambda: x.add([1]), TypeError, "must be Tensor or number, not list; help: make tensors with `pullback.tensor`"),
    (lambda: x.add(10**30), OverflowError, "64 bits"),
    (lambda: pb.sin(3.0), TypeError, "sin(): argument 'input' must be Tensor, not float"),
    (lambda: pb.sin(), TypeError, "sin() missing required argument 'input' (pos 1)"),
    (lambda: pb.cat(x), TypeError, "cat(): argument 'tensors' must be a sequence of tensors, not Tensor"),
    (lambda: pb.cat([x, 1]), TypeError, "must be a sequence of tensors, not int"),
    (lambda: x.matmul(3), TypeError, "matmul(): argument 'other' must be Tensor, not int"),
    (lambda: x.mse_loss(x, "avg"), ValueError, "argument 'reduction' must be one of 'none', 'mean', 'sum', got 'avg'"),
    (lambda: x.softmax(True), TypeError, "softmax(): argument 'dim' must be int, not bool"),
    (lambda: x.argmax(0, 1), TypeError, "argmax(): argument 'keepdim' must be bool, not int"),
    (lambda: x.max("a"), TypeError, "max(): expected arguments as in one of max(dim, keepdim=False), max(), max(other), got (str)"),
    (lambda: x.repeat(-1, 2), ValueError, "repeat: expected `repeats` of at least 0, got -1"),
    (lambda: x.reshape(3), ValueError, "reshape"),
    (lambda: x.reshape(2, "a"), TypeError, "reshape(): argument 'shape' must be int or a sequence of ints, not str"),
    (lambda: F.max_pool2d(x), TypeError, "max_pool2d() missing required argument 'kernel_size' (pos 2)"),
    (lambda: x.to_dtype(3), TypeError, "to_dtype(): argument 'dtype' must be a dtype, not int"),
    (lambda: x.pow("a"), TypeError, "pow(): argument 'exponent' must be Tensor or number, not str"),
    (lambda: x.matrix_norm("what"), ValueError, "one of 'fro', 'nuc', got 'what'"),
    (lambda: x.matrix_norm(3), ValueError, "got 3"),
]


@pytest.mark.parametrize("call, kind, message", WRONG, ids=[w[2][:40] for w in WRONG])
def test_wrong_arguments_are_errors_that_name_them(call, kind, message):
    with pytest.raises(kind) as raised:
        call()
    assert message in str(raised.value)


def test_an_exception_of_an_argument_comes_through():
    class Odd:
        def __index__(self):
            raise LookupError("no number today")

    with pytest.raises(LookupError, match="no number today"):
        x.softmax(Odd())
    with pytest.raises(LookupError, match="no number today"):
        x.max(Odd())

    def broken():
        yield x
        raise LookupError("no tensor today")

    with pytest.raises(LookupError, match="no tensor today"):
        pb.cat(broken())


def test_results_with_names_are_tuples():
    found = x.sort()
    assert isinstance(found, tuple) and len(found) == 2
    values, indices = found
    assert values is found.values and indices is found.indices
    assert type(found) is pb.return_types.sort
    assert "values" in repr(found)


def test_functions_are_pickled_by_name():
    for function in (pb.sin, pb.fft.rfft, pb.linalg.vector_norm, F.relu):
        assert pickle.loads(pickle.dumps(function)) is function


def test_a_tensor_as_an_integer_argument():
    close(x.select(0, pb.tensor(1)), [3.0, 4.0])
    close(x.select(0, np.int64(1)), [3.0, 4.0])


def test_operations_have_derivatives():
    grad = pb.func.grad(lambda x: F.conv2d(x, pb.ones(1, 1, 2, 2)).sum())
    close(grad(pb.ones(1, 1, 3, 3)), [[[[1, 2, 1], [2, 4, 2], [1, 2, 1]]]])


def test_max_along_a_dim_has_the_derivative_of_the_element_it_picks():
    ties = pb.tensor([1.0, 2.0, 2.0])
    close(pb.func.grad(lambda x: x.max(0).values)(ties), [0, 1, 0])
    close(pb.func.grad(lambda x: x.amax(0))(ties), [0, 0.5, 0.5])


def test_operations_from_several_threads():
    big = pb.ones(300, 300, dtype=pb.float64)
    found = []

    def work():
        for _ in range(5):
            found.append(float(big.matmul(big).sum()))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [300.0**3] * 20


def test_a_text_with_surrogates_is_no_equation():
    with pytest.raises(ValueError, match=r"einsum\(\): argument 'equation' must be a text without surrogates"):
        pb.einsum("\ud800", pb.ones(2))
