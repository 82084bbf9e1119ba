"""What may not end the process, whatever is asked for: no memory, no stack, damaged data, a child of `fork`."""

import ctypes
import os
import pickle
import subprocess
import sys
import textwrap

import pytest

import pullback as pb
from pullback import autograd
from pullback.func import grad, vmap


def run(program):
    program = textwrap.dedent(program)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)


def holds():
    """Asserts that the library still works."""
    x = pb.tensor(3.0)
    assert grad(lambda x: x * x)(x).item() == 6.0
    assert vmap(lambda x: x + 1)(pb.tensor([1.0, 2.0])).tolist() == [2.0, 3.0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_of_fork_computes_what_its_parent_does():
    done = run("""
        import os, signal, warnings
        import pullback as pb
        warnings.simplefilter("ignore")
        pb.set_num_threads(2)
        a = pb.rand(300, 300)
        before = a @ a
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            same = bool(((a @ a) == before).all().item())
            grandchild = os.fork()
            if grandchild == 0:
                signal.alarm(30)
                os._exit(0 if bool(((a @ a) == before).all().item()) else 1)
            os._exit(0 if same and os.waitpid(grandchild, 0)[1] == 0 else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert ((a @ a) == before).all().item()
    """)
    assert done.returncode == 0, done.stderr


# The first cannot be mapped, the second is more than an address space.
SIZES = [2**45, 2**57]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(
    "f",
    [
        pb.zeros,
        lambda n: pb.full((n,), 1.0),
        lambda n: pb.tensor(1.0).expand((n,)) + 1,
        lambda n: -pb.tensor(1.0).expand((n,)),
        lambda n: pb.tensor(1.0).expand((n,)).exp(),
        lambda n: pb.exp(pb.tensor(1.0).expand((n,))),
        lambda n: grad(lambda x: (x.expand((n,)) * 2).sum())(pb.tensor(1.0)),
        lambda n: vmap(lambda x: x.expand((n,)) + 1)(pb.tensor([1.0, 2.0])),
    ],
)
def test_memory_that_cannot_be_had_is_an_error(f, n):
    with pytest.raises((MemoryError, ValueError), match="memory|too large") as raised:
        f(n)
    if n == SIZES[0]:
        assert raised.type is MemoryError
    holds()


def test_a_rule_and_a_backward_pass_without_memory_are_errors():
    class Wide(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return (g.expand((2**45,)) * 2).sum()

    x = pb.tensor(1.0, requires_grad=True)
    with pytest.raises(MemoryError):
        Wide.apply(x).backward()
    with pytest.raises(MemoryError):
        grad(Wide.apply)(pb.tensor(1.0))
    holds()


def test_specs_that_contain_themselves_are_errors():
    spec = []
    spec.append(spec)
    x = pb.tensor([1.0, 2.0])
    with pytest.raises(RecursionError):
        vmap(lambda x: x, in_dims=(spec,))(x)
    with pytest.raises(RecursionError):
        vmap(lambda x: x, out_dims=spec)(x)
    late, value = [0], [x]
    mapped = vmap(lambda x: x[0], in_dims=(late,))
    late[0], value[0] = late, value
    with pytest.raises(RecursionError):
        mapped(value)
    holds()


def test_rules_and_functions_that_call_themselves_without_end_are_errors():
    done = run("""
        import pullback as pb
        from pullback import autograd
        from pullback.func import grad, vmap

        class Endless(autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return grad(Endless.apply)(ctx.saved_tensors[0]) * g

        def f(x):
            return grad(f)(x)

        def g(x):
            return vmap(g)(x.expand((1,)))

        import sys
        # Beyond Python's own limit; but every level of `vmap` is passed by each operation.
        for endless, limit in [(grad(Endless.apply), 100_000), (f, 100_000), (g, 1_000)]:
            sys.setrecursionlimit(limit)
            for _ in range(2):
                try:
                    endless(pb.tensor(1.0))
                except RecursionError:
                    continue
                raise AssertionError(endless)
        assert grad(lambda x: x * x)(pb.tensor(3.0)).item() == 6.0
    """)
    assert done.returncode == 0, done.stderr[-2000:]


class View(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class Producer:
    """An object whose header says anything."""

    def __init__(self, shape, *, rank=None, data=True, strides=None):
        self.elements = (ctypes.c_float * 4)(1, 2, 3, 4)
        self.shape = (ctypes.c_int64 * 4)(*(shape or ()))
        self.strides = (ctypes.c_int64 * 4)(*(strides or ()))
        self.view = View(
            ctypes.addressof(self.elements) if data else None,
            (1, 0),
            len(shape or ()) if rank is None else rank,
            2,
            32,
            1,
            None if shape is None else self.shape,
            None if strides is None else self.strides,
        )

    def __dlpack__(self, **options):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.view), b"dltensor", None)


def test_headers_of_other_libraries_are_checked():
    assert pb.from_dlpack(Producer((2, 2))).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert pb.from_dlpack(Producer((0, 2), data=False)).shape == (0, 2)
    for bad in [
        Producer((2,), rank=-1),
        Producer(None, rank=1),
        Producer((2,), data=False),
        Producer((-1,)),
        Producer((2**40, 2**40)),
        Producer((0, 2**40, 2**40)),
        Producer((2, 2), strides=(2**62, 1)),
        Producer((2, 2), strides=(-(2**63), 1)),
    ]:
        with pytest.raises((BufferError, ValueError), match="expected .*, got"):
            pb.from_dlpack(bad)
    holds()


def test_damaged_pickles_are_errors():
    with pytest.raises(ValueError, match="expected the bytes of"):
        pb._core._rebuild_tensor(pb.float32, (0, 2**40, 2**40), b"", False)
    assert pickle.loads(pickle.dumps(pb.zeros(0, 3))).shape == (0, 3)


def test_sizes_that_take_for_ever_are_refused_at_once():
    key = pb.random.Key(0)
    for num in [2**62, 2**50]:
        with pytest.raises(MemoryError):
            pb.random.split(key, num)
    for f in [pb.triu_indices, pb.tril_indices]:
        with pytest.raises(MemoryError):
            f(2147483647, 1000000)
    assert len(pb.random.split(key, 3)) == 3


def test_the_collector_may_come_at_any_time():
    done = run("""
        import gc
        import pullback as pb
        from pullback.autograd import Function
        from pullback.func import grad, linearize, vjp, vmap

        class Double(Function):
            generate_vmap_rule = True

            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                ctx.factor = 2
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return g * ctx.factor

        gc.set_threshold(1, 1, 1)
        x = pb.tensor([1.0, 2.0])
        for _ in range(300):
            assert vmap(grad(lambda x: Double.apply(x) * x))(x).tolist() == [4.0, 8.0]
            vjp(Double.apply, x)[1](x)
            linearize(lambda x: x * x, x)[1](x)
            leaf = pb.tensor(3.0, requires_grad=True)
            Double.apply(leaf).backward()
            assert leaf.grad.item() == 2.0
    """)
    assert done.returncode == 0, done.stderr[-2000:]
