"""NumPy, DLPack and buffers: nothing that happens to an array changes a tensor, and the other way round."""

import gc
import sys
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, jvp, vjp, vmap

NUMPY_DTYPES = ["bool", "uint8", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("name", NUMPY_DTYPES)
def test_arrays_come_and_go_with_their_dtype(name):
    a = np.arange(6).reshape(2, 3).astype(name)
    for made in (pb.tensor, pb.as_tensor, pb.from_numpy, pb.from_dlpack):
        t = made(a)
        assert t.dtype.name == name and t.tolist() == a.tolist()
        assert t.numpy().dtype == a.dtype and (t.numpy() == a).all()


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a.T,
        lambda a: a[::-1, ::2],
        lambda a: a[:, 1],
        lambda a: np.broadcast_to(a[0], (3, 4)),
        lambda a: a[1:1],
        lambda a: a[None, :, None],
        lambda a: np.asfortranarray(a),
        lambda a: a.astype(">f8"),
        lambda a: np.frombuffer(b"\0" + a.tobytes(), dtype="<f8", offset=1),
        lambda a: a[0, 0],
        lambda a: np.ma.array(a),
    ],
)
def test_views_of_arrays_are_read_as_they_are(view):
    a = view(np.arange(12.0).reshape(3, 4))
    assert pb.from_numpy(a).tolist() == a.tolist() and pb.tensor(a).shape == a.shape


def test_c178_an_array_that_is_changed_afterwards_changes_no_gradient():
    a = np.array([1.0, 2.0, 3.0])
    for made in (pb.from_numpy, pb.tensor, pb.as_tensor, pb.from_dlpack):
        _, pullback = vjp(lambda x: x**2, made(a))
        a[:] = 100.0
        assert pullback(pb.ones(3, dtype=pb.float64))[0].tolist() == [2.0, 4.0, 6.0]
        a[:] = [1.0, 2.0, 3.0]


def test_read_only_arrays_are_shared_if_asked_for():
    a = np.arange(1000.0)
    with pytest.raises(ValueError, match="read-only array to share memory with, got one that is not"):
        pb.from_numpy(a, copy=False)
    view = a[:]
    view.setflags(write=False)
    with pytest.raises(ValueError, match="a view of one that is not"):
        pb.from_numpy(view, copy=False)
    a.setflags(write=False)
    before = pb.live_bytes()
    shared = pb.from_numpy(a[::-1], copy=False)
    assert pb.live_bytes() == before and shared.numpy().__array_interface__["data"] == a[::-1].__array_interface__["data"]
    changed = shared
    shared = shared.clone()
    changed += 1
    assert (a == np.arange(1000.0)).all() and shared[0].item() == 999.0 and changed[0].item() == 1000.0
    assert grad(lambda x: (x * x).sum())(shared)[0].item() == 1998.0


def test_shared_memory_lives_as_long_as_a_tensor_uses_it():
    class Watched(np.ndarray):
        pass

    a = np.arange(100.0).view(Watched)
    a = np.array(a, subok=True)
    a.setflags(write=False)
    end = weakref.ref(a)
    shared = pb.from_numpy(a, copy=False)
    row = shared[3:5]
    del a, shared
    gc.collect()
    assert end() is not None and row.tolist() == [3.0, 4.0]
    del row
    gc.collect()
    assert end() is None


def test_bools_and_what_a_tensor_cannot_hold_are_not_shared_blindly():
    a = np.array([True, False])
    a.setflags(write=False)
    assert pb.from_numpy(a, copy=False).tolist() == [True, False]
    odd = np.array([2, 0], dtype=np.uint8)
    odd.setflags(write=False)
    with pytest.raises(ValueError, match="0 or 1"):
        pb.from_numpy(odd.view(bool), copy=False)
    assert pb.from_numpy(odd.view(bool)).tolist() == [True, False]


@pytest.mark.parametrize(
    ("a", "message"),
    [
        (np.ones(2, dtype=np.int16), r"got dtype int16; help: convert it with `.astype\('int32'\)`"),
        (np.ones(2, dtype=np.uint64), "int64"),
        (np.array(["a"]), "got dtype <U1"),
        (np.array([object()]), "got dtype object"),
        (np.zeros(1, dtype="datetime64[s]"), "datetime64"),
        (np.zeros(1, dtype=[("a", "f4")]), "got dtype"),
    ],
)
def test_arrays_that_no_tensor_can_hold_are_refused(a, message):
    for made in (pb.tensor, pb.from_numpy):
        with pytest.raises(TypeError, match=message):
            made(a)


def test_a_dtype_converts_arrays():
    assert pb.tensor(np.array([1, 2], dtype=np.int16), dtype=pb.float32).tolist() == [1.0, 2.0]
    assert pb.tensor(np.array([1, 2], dtype=object), dtype=pb.int64).tolist() == [1, 2]
    assert pb.tensor(np.array([1.9]), dtype=pb.int32).tolist() == [1]


def test_numpy_gives_a_read_only_view_that_outlives_the_tensor():
    x = pb.tensor([[1.0, 2.0], [3.0, 4.0]] * 50)
    a = x.T.numpy()
    assert not a.flags.writeable and a.strides == (4, 8) and not a.flags.owndata
    x += 1
    del x
    gc.collect()
    assert a[:, :2].tolist() == [[1.0, 3.0], [2.0, 4.0]]
    with pytest.raises(ValueError, match="read-only"):
        a[0] = 0.0
    with pytest.raises(ValueError):
        a.setflags(write=True)


def test_numpy_functions_that_make_arrays():
    x = pb.tensor([1.0, 2.0])
    assert np.asarray(x).dtype == np.float32 and np.array(x).flags.writeable
    assert np.asarray(x, dtype=np.float64).tolist() == [1.0, 2.0]
    assert np.stack([x, x]).shape == (2, 2) and np.allclose(x, [1.0, 2.0])
    assert np.testing.assert_array_equal(x, [1.0, 2.0]) is None


def test_a_value_that_is_differentiated_does_not_become_an_array():
    def constant(x):
        return pb.tensor(np.sin(np.asarray(x)))

    for broken in (lambda: grad(constant)(pb.tensor(1.0)), lambda: constant(pb.tensor(1.0, requires_grad=True))):
        with pytest.raises(RuntimeError, match="no derivative"):
            broken()
    with pytest.raises(RuntimeError, match="of `jvp`"):
        jvp(lambda x: x.numpy() and x, (pb.tensor(1.0),), (pb.tensor(1.0),))
    with pytest.raises(RuntimeError, match="no derivative"):
        grad(lambda x: np.from_dlpack(x))(pb.tensor(1.0))
    leaf = pb.tensor([1.0], requires_grad=True)
    assert leaf.detach().numpy().tolist() == leaf.numpy(force=True).tolist() == [1.0]
    with pb.no_grad():
        assert leaf.numpy().tolist() == [1.0]


def test_a_value_that_is_batched_does_not_become_an_array():
    with pytest.raises(RuntimeError, match="numpy: the value is batched by `vmap`"):
        vmap(lambda x: x.numpy())(pb.ones(3))


def test_functions_of_numpy_do_not_swallow_tensors():
    with pytest.raises(TypeError, match="__array_ufunc__"):
        np.sin(pb.ones(2))


def test_bfloat16_needs_a_conversion_or_its_package():
    x = pb.ones(2, dtype=pb.bfloat16)
    try:
        import ml_dtypes
    except ImportError:
        with pytest.raises(TypeError, match=r"got bf16\[2\]; help: convert it with `.float\(\)`"):
            x.numpy()
    else:
        assert x.numpy().dtype == ml_dtypes.bfloat16
        assert pb.tensor(x.numpy()).dtype is pb.bfloat16
    assert x.float().numpy().tolist() == [1.0, 1.0]


class OldProducer:
    """Knows the protocol without versions only."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)


def test_dlpack_gives_read_only_views():
    x = pb.tensor([[1.0, 2.0], [3.0, 4.0]] * 50)
    a = np.from_dlpack(x.T)
    if int(np.__version__.split(".")[0]) >= 2 and int(np.__version__.split(".")[1]) >= 1:
        assert a.__array_interface__["data"][0] == x.numpy().__array_interface__["data"][0]
        assert not a.flags.writeable
    x *= 2
    del x
    gc.collect()
    assert a[:, 0].tolist() == [1.0, 2.0]
    assert pb.ones(1).__dlpack_device__() == (1, 0)


def test_dlpack_copies_for_consumers_that_cannot_be_told():
    x = pb.ones(100)
    capsule = x.__dlpack__()
    assert 'capsule object "dltensor"' in repr(capsule)
    assert pb.from_dlpack(capsule).tolist() == x.tolist()
    with pytest.raises(BufferError, match="nobody has taken"):
        pb.from_dlpack(capsule)
    with pytest.raises(BufferError, match="read-only"):
        x.__dlpack__(copy=False)
    with pytest.raises(BufferError, match="device"):
        x.__dlpack__(dl_device=(2, 0))
    assert 'capsule object "dltensor_versioned"' in repr(x.__dlpack__(max_version=(1, 0), copy=True))


def test_capsules_that_nobody_takes_are_freed():
    before = pb.live_bytes()
    x = pb.zeros(100_000)
    capsules = [x.__dlpack__(), x.__dlpack__(max_version=(1, 0)), x.numpy().__array_struct__]
    del x, capsules
    gc.collect()
    assert pb.live_bytes() <= before


def test_dlpack_shares_what_is_read_only_and_copies_the_rest():
    a = np.arange(100.0)
    before = pb.live_bytes()
    t = pb.from_dlpack(a)
    assert pb.live_bytes() > before
    a[0] = 7.0
    assert t[0].item() == 0.0
    with pytest.raises(BufferError, match="leave out `copy=False`"):
        pb.from_dlpack(a, copy=False)
    frozen = a.copy()
    frozen.setflags(write=False)
    assert pb.from_dlpack(frozen).tolist() == frozen.tolist()
    view = a[:]
    view.setflags(write=False)
    t = pb.from_dlpack(view)
    a[1] = 7.0
    assert t[1].item() == 1.0
    x = pb.ones(1000)
    before = pb.live_bytes()
    y = pb.from_dlpack(x)
    assert pb.live_bytes() == before
    y += 1
    assert x[0].item() == 1.0 and y[0].item() == 2.0


def test_producers_of_the_old_protocol_are_copied():
    a = np.arange(6.0).reshape(2, 3)
    assert pb.from_dlpack(OldProducer(a)).tolist() == pb.tensor(OldProducer(a)).tolist() == a.tolist()
    with pytest.raises(TypeError, match="__dlpack__"):
        pb.from_dlpack([1.0])
    with pytest.raises(TypeError, match="cannot hold|can hold"):
        pb.from_dlpack(np.ones(2, dtype=np.int16))


def test_objects_with_an_array_method_are_read():
    class Holder:
        def __array__(self, dtype=None, copy=None):
            return np.array([1.0, 2.0])

    assert pb.tensor(Holder()).tolist() == [1.0, 2.0]
    assert pb.tensor([Holder(), Holder()]).shape == (2, 2)


def test_an_exception_in_an_array_method_comes_through():
    class Broken:
        def __array__(self, dtype=None, copy=None):
            raise KeyError("boom")

    with pytest.raises(KeyError, match="boom"):
        pb.tensor(Broken())


@pytest.mark.skipif(sys.version_info < (3, 12), reason="classes have buffers from Python 3.12 on")
def test_buffers_are_read_only():
    x = pb.tensor([[1.0, 2.0], [3.0, 4.0]])
    view = memoryview(x)
    assert view.readonly and view.format == "f" and view.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    x += 1
    assert view.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    with pytest.raises(RuntimeError):
        memoryview(pb.tensor(1.0, requires_grad=True))


def test_a_dlpack_method_without_a_capsule_is_named():
    class Odd:
        def __dlpack__(self, **options):
            return 3

    with pytest.raises(TypeError, match="from_dlpack: expected `__dlpack__` of .*Odd.* to return a capsule, got .*int"):
        pb.from_dlpack(Odd())
