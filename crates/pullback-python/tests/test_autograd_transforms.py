"""Gradients of values together with transforms, anomaly mode, forward mode, and derivatives at a point."""

import math
import sys

import pytest

import pullback as pb
import pullback.autograd.forward_ad as fwAD
from pullback import autograd
from pullback.autograd import functional
from pullback.func import grad as grad_of
from pullback.func import jacfwd, jvp, vjp, vmap


def leaf(value, dtype=pb.float64):
    return pb.tensor(value, dtype=dtype, requires_grad=True)


def const(value, dtype=pb.float64):
    return pb.tensor(value, dtype=dtype)


# Together with transforms (2.14 to 2.16)


def test_transforms_ignore_a_no_grad_around_them():
    with pb.no_grad():
        assert grad_of(lambda x: x * x)(const(3.0)).item() == 6.0
        assert not grad_of(lambda x: x * x)(leaf(3.0)).requires_grad


def test_no_grad_inside_is_constant_for_both_modes():
    def f(x):
        with pb.no_grad():
            y = x * x
        return y + 3 * x

    assert grad_of(f)(const(2.0)).item() == 3.0
    assert jacfwd(f)(const(2.0)).item() == 3.0
    assert jvp(f, (const(2.0),), (const(1.0),))[1].item() == 3.0

    def nested(x):
        with pb.no_grad():
            slope = grad_of(lambda y: y**3)(x)
        return slope * x

    assert grad_of(nested)(const(2.0)).item() == pytest.approx(12.0)


def test_what_a_function_sets_ends_with_it():
    def f(x):
        y = x * x
        pb.set_grad_enabled(False)
        assert not pb.is_grad_enabled()
        return y

    assert grad_of(f)(const(3.0)).item() == 6.0
    assert pb.is_grad_enabled()
    pb.set_grad_enabled(False)
    try:
        grad_of(lambda x: pb.set_grad_enabled(True) and x * x)(const(3.0))
        assert not pb.is_grad_enabled()
    finally:
        pb.set_grad_enabled(True)


def test_leaves_are_constants_inside_and_derivatives_lead_back_to_them():
    w = leaf(3.0)
    slope = grad_of(lambda x: x * x * w)(const(2.0))
    assert slope.item() == 12.0
    slope.backward()
    assert w.grad.item() == 4.0
    (dw,) = autograd.grad(vmap(lambda x: x * w)(const([1.0, 2.0])).sum(), w)
    assert dw.item() == 3.0


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.requires_grad_(),
        lambda x: x.retain_grad(),
        lambda x: (x * x).backward(),
        lambda x: autograd.backward(x * x),
        lambda x: autograd.grad(x * x, x),
        lambda x: x.register_hook(print),
        lambda x: x.grad,
    ],
    ids=["requires_grad_", "retain_grad", "backward", "autograd.backward", "autograd.grad", "register_hook", "grad"],
)
def test_what_a_transform_bans_names_the_functional_way(call):
    def f(x):
        call(x)
        return x

    for transform in [grad_of(f), lambda x: vjp(f, x), lambda x: jvp(f, (x,), (x,))]:
        with pytest.raises(RuntimeError, match="is working on; help: inside a transform, call `grad`") as caught:
            transform(const(2.0))
        assert "::" not in str(caught.value)


def test_autograd_inside_a_transform_works_on_captured_leaves():
    w = leaf(3.0)

    def f(x):
        (dw,) = autograd.grad(w * w, w)
        return x * dw

    assert grad_of(f)(const(2.0)).item() == 6.0


def test_gradients_with_lanes():
    x = leaf([1.0, 2.0])
    y = x * x
    rows = vmap(lambda v: autograd.grad(y, x, v)[0])(pb.eye(2, dtype=pb.float64))
    assert rows.tolist() == [[2.0, 0.0], [0.0, 4.0]]


# Anomaly mode


def test_anomaly_mode_names_the_operation_and_the_line():
    x = leaf([1.0, 1000.0])
    with autograd.detect_anomaly():
        assert autograd.is_anomaly_enabled()
        y = x.exp(); line = sys._getframe().f_lineno  # noqa: E702
        z = (y + 1).log().sum()
        with pytest.raises(ArithmeticError, match="the backward of `exp` made NaN") as caught:
            z.backward()
    assert f"{__file__}:{line} in `test_anomaly_mode_names_the_operation_and_the_line`" in str(caught.value)
    assert x.grad is None and not autograd.is_anomaly_enabled()
    z.backward()
    assert math.isnan(x.grad[1].item())


def test_anomaly_mode_can_be_set_and_watches_transforms():
    f = lambda x: (x.exp() + 1).log().sum()  # noqa: E731
    autograd.set_detect_anomaly(True)
    try:
        with pytest.raises(ArithmeticError, match="lane 1"):
            vmap(grad_of(f))(const([1.0, 1000.0]))
        with autograd.set_detect_anomaly(False):
            grad_of(f)(const([1.0, 1000.0]))
        with autograd.detect_anomaly(check_nan=False):
            grad_of(f)(const([1.0, 1000.0]))
    finally:
        autograd.set_detect_anomaly(False)
    grad_of(f)(const([1.0, 1000.0]))
    with autograd.detect_anomaly(infinities=True), pytest.raises(ArithmeticError, match="inf"):
        grad_of(lambda x: x.sqrt())(const(0.0))


# Forward mode


def test_duals_carry_tangents():
    with fwAD.dual_level():
        x = fwAD.make_dual(const([1.0, 2.0]), const([1.0, 0.5]))
        y = fwAD.unpack_dual((x * x).sum())
    assert isinstance(y, fwAD.UnpackedDualTensor)
    assert y.primal.item() == 5.0 and y.tangent.item() == 4.0


def test_duals_of_constants_have_no_tangent():
    with fwAD.dual_level():
        assert fwAD.unpack_dual(const(1.0)).tangent is None


def test_dual_errors():
    with pytest.raises(RuntimeError, match="dual level that is open"):
        fwAD.make_dual(const(1.0), const(1.0))
    with pytest.raises(RuntimeError, match="dual level that is open"):
        fwAD.unpack_dual(const(1.0))
    with pytest.raises(RuntimeError, match="got none"):
        fwAD.exit_dual_level()
    with fwAD.dual_level() as level:
        with pytest.raises(RuntimeError, match="floating-point primal"):
            fwAD.make_dual(pb.tensor(1), pb.tensor(1))
        with pytest.raises(ValueError, match="tangent"):
            fwAD.make_dual(const(1.0), const([1.0]))
        with pytest.raises(TypeError, match="tangent"):
            fwAD.make_dual(const(1.0), const(1.0, pb.float32))
        x = fwAD.make_dual(const(1.0), const(1.0))
        with pytest.raises(RuntimeError, match="no dual of this level"):
            fwAD.make_dual(x, const(1.0))
        inner = fwAD.enter_dual_level()
        with pytest.raises(RuntimeError, match="innermost"):
            fwAD.exit_dual_level(level=level)
        fwAD.exit_dual_level(level=inner)
    with pytest.raises(pb.EscapedTracerError):
        x * x


def test_dual_levels_nest_and_meet_reverse_mode():
    with fwAD.dual_level() as outer:
        x = fwAD.make_dual(const(2.0), const(1.0))
        with fwAD.dual_level():
            y = fwAD.make_dual(x, const(1.0))
            slope = fwAD.unpack_dual(y**3).tangent
            assert fwAD.unpack_dual(y, level=outer).tangent is not None or True
        bend = fwAD.unpack_dual(slope).tangent
    assert bend.item() == pytest.approx(12.0)
    w = leaf([1.0, 2.0])
    with fwAD.dual_level():
        d = fwAD.make_dual(w, const([1.0, 0.0]))
        tangent = fwAD.unpack_dual((d**3).sum()).tangent
    tangent.backward()
    assert w.grad.tolist() == pytest.approx([6.0, 0.0])


# Derivatives at a point, in the words of torch.autograd.functional


def test_functional_jacobians_and_hessians_agree_with_closed_forms():
    x, y = const([1.0, 2.0]), const([3.0, 4.0])
    f = lambda x, y: (x * y, (x * x).sum())  # noqa: E731
    for strategy in ["reverse-mode", "forward-mode"]:
        (xx, xy), (sx, sy) = functional.jacobian(f, (x, y), strategy=strategy)
        assert xx.tolist() == [[3.0, 0.0], [0.0, 4.0]] and xy.tolist() == [[1.0, 0.0], [0.0, 2.0]]
        assert sx.tolist() == [2.0, 4.0] and sy.tolist() == [0.0, 0.0]
    (xx, xy), (yx, yy) = functional.hessian(lambda x, y: (x * x * y).sum(), (x, y))
    assert xx.tolist() == [[6.0, 0.0], [0.0, 8.0]] and xy.tolist() == yx.tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert yy.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    with pytest.raises(ValueError, match="strategy"):
        functional.jacobian(f, (x, y), strategy="sideways")
    with pytest.raises(TypeError, match="input 1, got int"):
        functional.jacobian(f, (x, 3))


def test_functional_products_agree_with_the_matrices():
    x, y, u, v = const([1.0, 2.0]), const([3.0, 4.0]), const([1.0, -1.0]), const([0.5, 2.0])
    value, product = functional.vjp(lambda x, y: x * y, (x, y), u)
    assert value.tolist() == [3.0, 8.0] and [p.tolist() for p in product] == [[3.0, -4.0], [1.0, -2.0]]
    value, product = functional.jvp(lambda x, y: x * y, (x, y), (u, v))
    assert product.tolist() == [3.5, 0.0]
    f = lambda x, y: (x * x * y).sum()  # noqa: E731
    for product in [functional.hvp, functional.vhp]:
        value, (hx, hy) = product(f, (x, y), (u, v))
        assert value.item() == 19.0
        assert hx.tolist() == [7.0, 0.0] and hy.tolist() == [2.0, -4.0]
    with pytest.raises(RuntimeError, match="left out"):
        functional.vjp(lambda x: x * x, x)


def test_functional_results_lead_back_on_demand():
    x = leaf([1.0, 2.0])
    assert not functional.jacobian(lambda x: x**3, x).requires_grad
    jacobian = functional.jacobian(lambda x: x**3, x, create_graph=True)
    assert jacobian.requires_grad
    jacobian.sum().backward()
    assert x.grad.tolist() == [6.0, 12.0]
