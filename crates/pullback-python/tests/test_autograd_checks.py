"""The checkers of derivatives."""

import numpy as np
import pytest

import pullback as pb
from pullback import autograd


def leaf(value, dtype=pb.float64):
    return pb.tensor(value, dtype=dtype, requires_grad=True)


def const(value, dtype=pb.float64):
    return pb.tensor(value, dtype=dtype)


# The checkers


def test_gradcheck_accepts_right_and_refuses_wrong_derivatives():
    x = leaf([0.3, 1.2])
    assert autograd.gradcheck(lambda x: x.sin() * x, x) is True
    assert autograd.gradcheck(lambda x, y: (x * y, x + y), (x, leaf([0.5, 0.7]))) is True
    assert autograd.gradcheck(lambda x: x * x.detach(), x, raise_exception=False) is False
    with pytest.raises(autograd.GradcheckError, match="vjp_matches_differences"):
        autograd.gradcheck(lambda x: x * x.detach(), x)
    assert issubclass(autograd.GradcheckError, RuntimeError)
    assert autograd.gradcheck(lambda x: x.exp(), (x,), fast_mode=True, check_batched_grad=True)
    assert autograd.gradgradcheck(lambda x: x.sin() * x, x)
    assert not autograd.gradgradcheck(lambda x: (x * x).detach() * x, x, raise_exception=False)


def test_gradcheck_varies_what_requires_gradients_or_everything():
    x, c = leaf([0.3, 1.2]), const([1.0, 2.0])
    wrong_in_c = lambda x, c: x * c.detach()  # noqa: E731
    assert autograd.gradcheck(wrong_in_c, (x, c))
    assert not autograd.gradcheck(wrong_in_c, (x.detach(), c), raise_exception=False)
    assert autograd.gradcheck(lambda x, n, flag: x**n if flag else x, (x, 3, True))


def test_gradcheck_modes():
    x = leaf([0.3, 1.2])
    wrong = lambda x: x * x.detach()  # noqa: E731
    for options in [{"check_forward_ad": True, "check_backward_ad": False}, {"check_forward_ad": False}]:
        assert autograd.gradcheck(lambda x: x.sin(), x, **options)
        assert not autograd.gradcheck(wrong, x, raise_exception=False, **options)
    with pytest.raises(ValueError, match="at least one mode"):
        autograd.gradcheck(wrong, x, check_forward_ad=False, check_backward_ad=False)


def test_gradcheck_checks_forward_mode_where_it_exists():
    class Sine(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return pb.from_numpy(np.sin(x.numpy()))

        @staticmethod
        @autograd.function.once_differentiable
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return pb.from_numpy(g.numpy() * np.cos(x.numpy()))

    x = leaf([0.3, 1.2])
    assert autograd.gradcheck(Sine.apply, x)
    assert autograd.gradcheck(Sine.apply, x, fast_mode=True)
    with pytest.raises(autograd.GradcheckError, match="the rule of the other mode is derived"):
        autograd.gradcheck(Sine.apply, x, check_forward_ad=True)
    with pytest.raises(autograd.GradcheckError, match="no batching rule"):
        autograd.gradcheck(Sine.apply, x, check_batched_grad=True)
    with pytest.raises(autograd.GradcheckError, match="differentiable once"):
        autograd.gradgradcheck(Sine.apply, x)


def test_gradcheck_preconditions_raise_always():
    for call, error, match in [
        (lambda: autograd.gradcheck(lambda x: x, leaf(1.0, pb.float32), raise_exception=False), TypeError, "double"),
        (lambda: autograd.gradcheck(lambda x: x, pb.tensor(1), raise_exception=False), RuntimeError, "floating"),
        (lambda: autograd.gradcheck(lambda x: 3, leaf(1.0), raise_exception=False), TypeError, "got int"),
        (lambda: autograd.gradcheck(lambda x: x, leaf(1.0), eps=-1.0), ValueError, "eps"),
    ]:
        with pytest.raises(error, match=match):
            call()


def test_gradcheck_notices_what_does_not_repeat():
    state = [0]

    def noisy(x):
        state[0] += 1
        return x * (1.0 + 1e-8 * state[0])

    x = leaf([1.0, 2.0])
    with pytest.raises(autograd.GradcheckError, match="repeats_exactly"):
        autograd.gradcheck(noisy, x, atol=1e-1, rtol=1e-1)
    assert autograd.gradcheck(noisy, x, atol=1e-1, rtol=1e-1, nondet_tol=1e-3, check_forward_ad=False)


def test_gradcheck_passes_exceptions_on():
    def raises(x):
        raise KeyError("boom")

    with pytest.raises(KeyError, match="boom"):
        autograd.gradcheck(raises, leaf(1.0))

    calls = [0]

    def interrupted(x):
        calls[0] += 1
        if calls[0] > 3:
            raise KeyboardInterrupt
        return x * x

    with pytest.raises(KeyboardInterrupt):
        autograd.gradcheck(interrupted, leaf(1.0))
