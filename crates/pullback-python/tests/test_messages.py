"""Messages are in the words of Python, and say what to do."""

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, vmap
from pullback.nn import functional as F


class Foreign:
    """Stands for the class of another library."""


Foreign.__name__ = Foreign.__qualname__ = "Tensor"
Foreign.__module__ = "torch"

CASES = {
    "randomness": (
        lambda: vmap(lambda x: pb.randn(2))(pb.ones(3)),
        RuntimeError,
        "give it `randomness='different'` for numbers of their own, or `randomness='same'` for shared ones",
    ),
    "a shape": (lambda: pb.zeros(-1), ValueError, "zeros: expected sizes of at least 0, got -1"),
    "a size": (lambda: pb.rand(2, "a"), TypeError, "rand: expected sizes that are integers, got <class 'str'>"),
    "a size by name": (lambda: pb.full((-1,), 0), ValueError, "size: expected sizes of at least 0, got -1"),
    "dtypes": (
        lambda: pb.tensor([1j]).sort(),
        TypeError,
        "expected a tensor of dtype bool, uint8, int32, int64, float16, bfloat16, float32, float64, got complex64",
    ),
    "types": (lambda: pb.tensor([1j]).to(pb.float32), TypeError, "to: expected a complex dtype for c64[1], got float32"),
    "a method": (lambda: pb.ones(2).gather(0, pb.ones(2)), TypeError, "convert it with `to`"),
    "a float": (lambda: pb.ones(2)[1.0], IndexError, "got the float 1.0; help: convert it with `int`"),
    "another library": (
        lambda: pb.sin(Foreign()),
        TypeError,
        "must be Tensor, not torch.Tensor; help: convert it with `pullback.from_dlpack`",
    ),
    "others in a list": (lambda: pb.cat([pb.ones(2), Foreign()]), TypeError, "not torch.Tensor; help: convert it"),
    "an array": (
        lambda: pb.from_numpy(np.array([1], dtype=np.int16)),
        TypeError,
        "got dtype int16; help: convert it with `.astype('int32')`",
    ),
    "dlpack": (
        lambda: pb.from_dlpack(np.array([1], dtype=np.int16)),
        TypeError,
        "from_dlpack: expected elements that a tensor can hold, got int16; help: convert them before, for example to int32",
    ),
    "memory": (lambda: pb.ones(2**45), MemoryError, "ones: expected 140737488355328 bytes of memory"),
    "memory by name": (lambda: pb.ones(1).new_zeros(2**45), MemoryError, "new_zeros: expected 140737488355328 bytes"),
    "default": (
        lambda: pb.set_default_dtype(pb.float64),
        NotImplementedError,
        "expected float32, the default that no call changes, got float64; help: give `dtype=pullback.float64`",
    ),
    "a padding": (
        lambda: F.conv1d(pb.ones(1, 1, 5), pb.ones(1, 1, 3), padding="same", stride=2),
        ValueError,
        "expected stride 1 with `padding='same'`, got [2]",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_messages_are_in_the_words_of_python(name):
    call, kind, text = CASES[name]
    with pytest.raises(kind) as raised:
        call()
    assert text in str(raised.value) and "::" not in str(raised.value)


def test_the_default_dtype_does_not_change():
    pb.set_default_dtype(pb.float32)
    assert pb.get_default_dtype() is pb.float32 is pb.tensor(1.0).dtype


def test_more_memory_than_there_is_is_an_error_and_no_end():
    # An allocator may give addresses for so much, without memory behind them.
    with pytest.raises(MemoryError, match="zeros: expected .* bytes of memory"):
        pb.zeros(2**41)


def test_inference_mode_is_no_grad():
    x = pb.tensor(2.0, requires_grad=True)
    with pb.inference_mode():
        y = x * x
        with pb.inference_mode(mode=False):
            assert (x * x).requires_grad
    assert not y.requires_grad and (y * x).requires_grad

    @pb.inference_mode
    def f(x):
        return x * x

    @pb.inference_mode()
    def g(x):
        return x * x

    assert not f(x).requires_grad and not g(x).requires_grad
    assert grad(lambda x: f(x) + 3 * x)(pb.tensor(2.0)).item() == 3.0


def test_the_checker_takes_a_class_or_its_apply():
    class Double(pb.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = pb.tensor([1.0, 2.0], dtype=pb.float64)
    assert pb.testing.check_function(Double, x) and pb.testing.check_function(Double.apply, x)
    for broken in (lambda x: x, int, pb.sin, x.sin):
        with pytest.raises(TypeError, match="expected a class that inherits from `autograd.Function`.*`gradcheck`"):
            pb.testing.check_function(broken, x)
