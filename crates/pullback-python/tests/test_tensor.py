"""Tensors as values: creation, dtypes, what they say of themselves, and the way back to Python's numbers."""

import array
import copy
import math
import pickle
from collections import namedtuple

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, jvp, vmap

DTYPES = [
    pb.bool,
    pb.uint8,
    pb.int32,
    pb.int64,
    pb.float16,
    pb.bfloat16,
    pb.float32,
    pb.float64,
    pb.complex64,
    pb.complex128,
]


def test_numbers_get_the_default_dtypes():
    made = {pb.tensor(x).dtype for x in (True, [True])}, {pb.tensor(x).dtype for x in (1, [1, True])}
    assert made == ({pb.bool}, {pb.int64})
    assert pb.tensor([1, 2.5]).dtype is pb.float32
    assert pb.tensor([1, 2.5, 1j]).dtype is pb.complex64
    assert pb.tensor([]).dtype is pb.float32


@pytest.mark.parametrize(
    ("data", "shape"),
    [(1.0, ()), ([], (0,)), ([[]], (1, 0)), ([[1, 2]], (1, 2)), (((1,), (2,), (3,)), (3, 1)), (range(4), (4,))],
)
def test_nested_sequences_become_dimensions(data, shape):
    assert pb.tensor(data).shape == shape


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ([[1], [2, 3]], ValueError, r"expected lists of one length, got 1 items in the first one and 2 at \[1\]"),
        ([1, [2]], ValueError, r"expected a number at \[1\], got a list"),
        ([[1], 2], ValueError, r"expected a list at \[1\], got a number"),
        ("text", TypeError, "got <class 'str'>"),
        ([None], TypeError, "NoneType"),
        ({1, 2}, TypeError, "set"),
        (2**63, OverflowError, "9223372036854775808"),
        (float, TypeError, "type"),
    ],
)
def test_what_is_no_array_of_numbers_is_refused(data, error, message):
    with pytest.raises(error, match=message):
        pb.tensor(data)


def test_a_list_that_contains_itself_is_refused():
    endless = []
    endless.append(endless)
    with pytest.raises(ValueError, match="levels of lists"):
        pb.tensor(endless)


def test_numbers_that_a_dtype_cannot_hold_are_refused():
    with pytest.raises(ValueError, match="uint8 can hold, got 300"):
        pb.tensor([1, 300], dtype=pb.uint8)
    with pytest.raises(TypeError, match="complex"):
        pb.tensor(1j, dtype=pb.float32)
    assert pb.tensor(1.9, dtype=pb.int64).item() == 1


def test_lists_hold_tensors_arrays_and_numbers():
    x = pb.tensor([1.0, 2.0])
    assert pb.tensor([x, x + 1]).tolist() == [[1.0, 2.0], [2.0, 3.0]]
    assert pb.tensor([[x[0], 5], [np.float32(3.0), x[1]]]).tolist() == [[1.0, 5.0], [3.0, 2.0]]
    assert pb.tensor([np.float64(1.0), 2]).dtype is pb.float64
    assert pb.tensor([np.int32(1), 2.5]).dtype is pb.float32
    with pytest.raises(ValueError, match="tensor"):
        pb.tensor([x, pb.zeros(3)])


def test_derivatives_pass_through_lists_of_tensors():
    def f(x):
        return (pb.tensor([x[0] * 2, 1.0, x[1] ** 2]) * pb.tensor([3.0, 5.0, 7.0])).sum()

    assert grad(f)(pb.tensor([1.0, 2.0])).tolist() == [6.0, 28.0]
    assert grad(lambda x: pb.tensor(x, dtype=pb.float64) * 2)(pb.tensor(1.0)).item() == 2.0


def test_as_tensor_returns_the_same_object_if_there_is_nothing_to_do():
    x = pb.tensor([1.0])
    assert pb.as_tensor(x) is x and pb.as_tensor(x, dtype=pb.float32) is x
    assert pb.as_tensor(x, pb.float64).dtype is pb.float64
    assert pb.as_tensor([1, 2]).tolist() == [1, 2]


@pytest.mark.parametrize("shape", [((2, 3),), (2, 3), ([2, 3],), (np.array([2, 3]),), (np.int64(2), 3)])
def test_shapes_are_given_as_arguments_or_as_a_sequence(shape):
    for make in (pb.zeros, pb.ones, pb.empty, pb.rand, pb.randn):
        assert make(*shape).shape == (2, 3)
    assert pb.zeros(()).shape == () and pb.zeros(size=(2,)).shape == (2,)


def test_bad_shapes_are_refused():
    with pytest.raises(ValueError, match="at least 0, got -1"):
        pb.zeros(-1)
    with pytest.raises(TypeError, match="integers"):
        pb.zeros(2.5)
    with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
        pb.zeros(2, foo=1)
    with pytest.raises(ValueError, match="too large"):
        pb.zeros(2**40, 2**40)


def test_a_tensor_without_memory_for_it_is_an_exception():
    n = 2**47
    for make in (pb.zeros, pb.empty, pb.rand, pb.randperm, pb.arange, lambda n: pb.full((n,), 1), lambda n: pb.eye(n, 1)):
        with pytest.raises(MemoryError, match="bytes of memory"):
            make(n)


def test_functions_that_make_tensors():
    assert pb.full((2,), 7).tolist() == [7, 7] and pb.full((), True).dtype is pb.bool
    assert pb.full((1,), 1j).dtype is pb.complex64 and pb.full((1,), 1, dtype=float).dtype is pb.float64
    assert pb.eye(2, 3).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    assert pb.arange(3).tolist() == [0, 1, 2] and pb.arange(3.0).dtype is pb.float32
    assert pb.arange(5, 0, -2).tolist() == [5, 3, 1]
    assert pb.linspace(0, 1, 3).tolist() == [0.0, 0.5, 1.0]
    assert pb.tril_indices(2, 2).tolist() == [[0, 1, 1], [0, 0, 1]]
    assert pb.triu_indices(2, 3, 1).tolist() == [[0, 0, 1], [1, 2, 2]]
    x = pb.ones(2, dtype=pb.int32)
    assert [f(x).dtype for f in (pb.zeros_like, pb.ones_like, pb.empty_like)] == [pb.int32] * 3
    assert pb.full_like(x, 3.5, dtype=pb.float32).tolist() == [3.5, 3.5]
    assert x.new_zeros(2, 2).tolist() == [[0, 0], [0, 0]] and x.new_tensor([1.0]).dtype is pb.int32
    assert x.new_full((1,), 2).tolist() == [2] and x.new_ones((1,), dtype=float).dtype is pb.float64


def test_the_device_is_the_cpu():
    assert pb.zeros(2, device="cpu").device == "cpu"
    x = pb.ones(1)
    assert x.to("cpu") is x and x.cpu() is x and x.to(x.device, pb.float64).dtype is pb.float64
    with pytest.raises(ValueError, match="'cpu', the only one"):
        pb.zeros(2, device="cuda")
    with pytest.raises(TypeError, match="'cuda'"):
        x.to("cuda")


def test_dtypes_are_single_objects_with_names():
    assert [repr(d) for d in DTYPES[:2]] == ["pullback.bool", "pullback.uint8"]
    for dtype in DTYPES:
        assert pb.zeros(1, dtype=dtype).dtype is dtype and getattr(pb, dtype.name) is dtype
        assert pickle.loads(pickle.dumps(dtype)) is dtype and copy.deepcopy(dtype) is dtype
    assert (pb.float, pb.double, pb.half, pb.int, pb.long) == (pb.float32, pb.float64, pb.float16, pb.int32, pb.int64)
    assert pb.bfloat16.is_floating_point and not pb.complex64.is_floating_point and pb.complex64.is_complex
    assert (pb.complex128.to_real(), pb.float64.to_complex()) == (pb.float64, pb.complex128)
    assert [d.itemsize for d in (pb.bool, pb.bfloat16, pb.complex128)] == [1, 2, 16]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (float, pb.float64),
        (int, pb.int64),
        (bool, pb.bool),
        (complex, pb.complex128),
        (np.float32, pb.float32),
        (np.dtype("int32"), pb.int32),
        (np.bool_, pb.bool),
    ],
)
def test_dtypes_of_python_and_numpy_are_accepted(given, meant):
    assert pb.zeros(1, dtype=given).dtype is meant
    assert pb.zeros(1).to(given).dtype is meant


@pytest.mark.parametrize("given", ["float", 3, str, np.int16, np.dtype("datetime64[s]"), object()])
def test_what_is_no_dtype_is_refused(given):
    with pytest.raises(TypeError, match="expected a dtype"):
        pb.zeros(1, dtype=given)


def test_conversions_between_dtypes():
    x = pb.tensor([1.7, 0.0, -1.7])
    assert x.long().tolist() == [1, 0, -1] and x.bool().tolist() == [True, False, True]
    assert [m().dtype for m in (x.double, x.half, x.bfloat16, x.int, x.byte, x.cfloat, x.cdouble)] == [
        pb.float64,
        pb.float16,
        pb.bfloat16,
        pb.int32,
        pb.uint8,
        pb.complex64,
        pb.complex128,
    ]
    assert x.float() is x and x.to(x) is x and x.to(pb.float32, copy=True) is not x
    assert x.type(pb.int64).dtype is pb.int64 and x.type_as(pb.tensor(1)).dtype is pb.int64
    with pytest.raises(TypeError, match="complex"):
        pb.tensor(1j).float()
    assert grad(lambda x: x.double().sum())(x).dtype is pb.float32


def test_properties():
    x = pb.zeros(2, 3, dtype=pb.float64)
    assert (x.shape, x.ndim, x.dim(), x.size(), x.size(-1)) == ((2, 3), 2, 2, (2, 3), 3)
    assert (x.numel(), x.nelement(), x.itemsize, x.element_size(), x.nbytes) == (6, 6, 8, 8, 48)
    assert (x.is_floating_point(), x.is_complex(), x.is_signed()) == (True, False, True)
    assert x.T.shape == x.mT.shape == (3, 2) and pb.zeros(2, 3, 4).mT.shape == (2, 4, 3)
    z = pb.tensor([[1 + 2j, 3j]])
    assert z.H.tolist() == z.mH.tolist() == [[1 - 2j], [-3j]]
    assert z.real.tolist() == [[1.0, 0.0]] and z.imag.tolist() == [[2.0, 3.0]]
    with pytest.raises(IndexError, match="dim 2"):
        x.size(2)
    with pytest.raises(TypeError, match="complex"):
        x.imag


def test_single_elements_become_numbers():
    assert pb.tensor([2.5]).item() == 2.5 and pb.tensor(3).item() == 3 and pb.tensor(True).item() is True
    assert pb.tensor(1 + 2j).item() == 1 + 2j and type(pb.tensor(1.0, dtype=pb.bfloat16).item()) is float
    assert (float(pb.tensor(2)), int(pb.tensor(2.7)), complex(pb.tensor(1j))) == (2.0, 2, 1j)
    assert ["a", "b", "c"][pb.tensor(1)] == "b" and list(range(pb.tensor(2))) == [0, 1]
    assert math.sqrt(pb.tensor(4.0)) == 2.0
    with pytest.raises(ValueError, match=r"one element, got f32\[2\]"):
        pb.zeros(2).item()
    with pytest.raises(ValueError, match="one element"):
        float(pb.zeros(2))
    with pytest.raises(TypeError, match="one integer"):
        [1, 2][pb.tensor(1.0)]
    with pytest.raises(TypeError, match="real"):
        float(pb.tensor(1j))


def test_truth_needs_a_single_element():
    assert pb.tensor(1.0) and not pb.tensor([0])
    for x in (pb.zeros(2), pb.zeros(0)):
        with pytest.raises(ValueError, match="any"):
            bool(x)


def test_lists_iteration_and_membership():
    x = pb.tensor([[1, 2], [3, 4]])
    assert x.tolist() == [[1, 2], [3, 4]] and pb.tensor(2.5).tolist() == 2.5 and pb.zeros(2, 0).tolist() == [[], []]
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]] and len(x) == 2
    a, b = x
    assert (a + b).tolist() == [4, 6]
    assert 3 in x and 9 not in x and 2.5 not in x
    for broken in (iter, len):
        with pytest.raises(TypeError, match="0-d"):
            broken(pb.tensor(1.0))
    assert grad(lambda x: sum(r * k for k, r in enumerate(x)))(pb.ones(3)).tolist() == [0.0, 1.0, 2.0]


def test_tensors_are_hashed_by_identity():
    x, y = pb.ones(2), pb.ones(2)
    assert {x: 1, y: 2}[x] == 1 and hash(x) == hash(x)


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (pb.tensor([1.0, 2.5]), "tensor([1.0000, 2.5000])"),
        (pb.tensor([1.0], dtype=pb.float64), "tensor([1.0000], dtype=float64)"),
        (pb.tensor([True, False]), "tensor([ True, False])"),
        (pb.tensor(3), "tensor(3)"),
        (pb.tensor([1, 2], dtype=pb.uint8), "tensor([1, 2], dtype=uint8)"),
        (pb.tensor([float("nan"), float("-inf")]), "tensor([ nan, -inf])"),
        (pb.tensor([1j]), "tensor([0.0000+1.0000j])"),
        (pb.zeros(0, 3), "tensor([], shape=(0, 3))"),
        (pb.zeros(2000, dtype=pb.int32), "tensor([0, 0, 0, ..., 0, 0, 0], dtype=int32, shape=(2000,))"),
    ],
)
def test_tensors_are_printed_in_the_spelling_of_python(x, text):
    assert repr(x) == str(x) == f"{x}" == text


def test_traced_values_show_what_a_transform_made_of_them():
    seen = []
    vmap(grad(lambda x: seen.append(repr(x)) or x.sum()))(pb.tensor([[1.0, 2.0]]))
    assert seen[0].startswith("grad(level ") and "vmap(level " in seen[0] and "tensor([[1.0000, 2.0000]])" in seen[0]
    assert repr(pb.tensor(1.0, requires_grad=True)) == "requires_grad(tensor(1.0000))"


def test_single_elements_are_formatted_as_numbers():
    assert f"{pb.tensor(1.5):.3f}" == "1.500" and f"{pb.tensor([7]):03d}" == "007"
    with pytest.raises(TypeError, match="one element"):
        f"{pb.zeros(2):.3f}"
    seen = []
    grad(lambda x: seen.append(f"{x:.2f}") or x)(pb.tensor(1.5))
    assert seen == ["1.50"]


def test_numbers_are_not_read_from_batched_values():
    for read in (float, int, bool, complex, pb.Tensor.item, pb.Tensor.tolist, np.asarray, lambda x: f"{x:.2f}", pickle.dumps):
        with pytest.raises(RuntimeError, match="batched by `vmap`"):
            vmap(lambda x: (read(x), x)[1])(pb.ones(3))
    with pytest.raises(RuntimeError, match="batched by `vmap`"):
        vmap(lambda x: x if 1.0 in x.reshape(1) else -x)(pb.ones(3))


def test_a_branch_on_a_value_that_is_differentiated_is_fine():
    f = lambda x: x**2 if x > 0 else -x  # noqa: E731
    assert grad(f)(pb.tensor(3.0)).item() == 6.0 and grad(f)(pb.tensor(-3.0)).item() == -1.0
    assert jvp(f, (pb.tensor(3.0),), (pb.tensor(1.0),))[1].item() == 6.0


@pytest.mark.parametrize("dtype", DTYPES)
def test_pickling_keeps_values_dtype_and_shape(dtype):
    for x in (pb.tensor([[0, 1, 1], [1, 0, 1]]).to(dtype).T, pb.zeros(0, 2, dtype=dtype), pb.ones((), dtype=dtype)):
        y = pickle.loads(pickle.dumps(x))
        assert (y.dtype, y.shape, y.tolist()) == (x.dtype, x.shape, x.tolist())


def test_pickling_and_copying_of_leaves():
    leaf = pb.tensor([1.0, 2.0], requires_grad=True)
    (leaf * leaf).sum().backward()
    for again in (pickle.loads(pickle.dumps(leaf)), copy.deepcopy(leaf)):
        assert again.requires_grad and again.is_leaf and again.tolist() == [1.0, 2.0]
    assert copy.deepcopy(leaf).grad.tolist() == [2.0, 4.0]
    twin = copy.deepcopy({"a": leaf, "b": leaf})
    assert twin["a"] is twin["b"] and twin["a"] is not leaf
    assert copy.copy(leaf).requires_grad
    for copied in (pickle.dumps, copy.deepcopy):
        with pytest.raises(ValueError, match="detach"):
            copied(leaf * 2)
    assert grad(lambda x: copy.deepcopy(x * 2))(pb.tensor(1.0)).item() == 2.0


def test_tensors_in_containers_pickle():
    Pair = namedtuple("Pair", "a b")
    globals()["Pair"] = Pair
    Pair.__module__, Pair.__qualname__ = __name__, "Pair"
    again = pickle.loads(pickle.dumps(Pair(pb.ones(2), [pb.zeros(1)])))
    assert again.a.tolist() == [1.0, 1.0] and again.b[0].tolist() == [0.0]


def test_buffers_of_other_objects_are_read():
    assert pb.tensor(array.array("d", [1.0, 2.0])).dtype is pb.float64
    assert pb.tensor(bytearray(b"ab")).tolist() == [97, 98]
    assert pb.tensor(memoryview(np.arange(6, dtype=np.int32).reshape(2, 3)[:, ::2])).tolist() == [[0, 2], [3, 5]]
    with pytest.raises(TypeError, match="format 'H'"):
        pb.tensor(array.array("H", [1]))


def test_memory_is_counted_and_threads_are_set():
    before = pb.live_bytes()
    x = pb.zeros(100_000)
    assert pb.live_bytes() >= before + 400_000
    del x
    assert pb.live_bytes() <= before
    pb.clear_cache()
    threads = pb.num_threads()
    pb.set_num_threads(1)
    assert pb.num_threads() == 1
    pb.set_num_threads(threads)
    with pytest.raises(ValueError):
        pb.set_num_threads(0)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: pb.linspace(0, 1, -1), "linspace: expected `steps`"),
        (lambda: pb.eye(-1), "eye: expected `n`"),
        (lambda: pb.tril_indices(2, -1), "tril_indices: expected `col`"),
        (lambda: pb.set_num_threads(-1), "set_num_threads: expected `threads`"),
        (lambda: pb.set_num_threads(0), "set_num_threads: expected `threads`"),
    ],
)
def test_counts_that_are_too_small_name_the_function(call, name):
    with pytest.raises(ValueError, match=f"{name} to be an int of at least [01], got"):
        call()
