"""Gradients of values: leaves, backward and grad."""

import gc

import numpy as np
import pytest

import pullback as pb
from pullback import autograd


def leaf(value, dtype=pb.float64):
    return pb.tensor(value, dtype=dtype, requires_grad=True)


def const(value, dtype=pb.float64):
    return pb.tensor(value, dtype=dtype)


# Leaves (A-01 … A-05)


def test_a01_an_output_requires_grad_if_an_input_does_and_recording_is_on():
    x, c = leaf(2.0), const(3.0)
    assert (x * c).requires_grad and not (c * c).requires_grad
    with pb.no_grad():
        assert not (x * c).requires_grad
    assert x.is_leaf and c.is_leaf and not (x * c).is_leaf


def test_a01_the_flag_can_be_set_on_leaves_and_taken_back():
    x = const(2.0)
    x.requires_grad = True
    assert x.requires_grad
    x.requires_grad = False
    assert not x.requires_grad
    assert x.requires_grad_() is x and x.requires_grad
    assert not x.requires_grad_(False).requires_grad
    y = leaf(2.0) * 3
    y.requires_grad_()
    with pytest.raises(RuntimeError, match="expected a leaf.*detach"):
        y.requires_grad_(False)
    with pytest.raises(RuntimeError, match="expected a leaf.*detach"):
        y.requires_grad = False


def test_a01_integers_require_no_gradient():
    with pytest.raises(RuntimeError, match="expected a floating-point tensor"):
        pb.tensor([1, 2]).requires_grad_()
    with pytest.raises(RuntimeError, match="expected a floating-point tensor"):
        pb.tensor([1, 2]).requires_grad = True
    assert not pb.tensor([1, 2]).requires_grad_(False).requires_grad


def test_a02_gradients_accumulate_and_two_leaves_never_share_one():
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    (x + y).sum().backward()
    x.grad.mul_(10)
    assert x.grad.tolist() == [10.0, 10.0]
    assert y.grad.tolist() == [1.0, 1.0]
    (x + y).sum().backward()
    assert x.grad.tolist() == [11.0, 11.0]
    assert y.grad.tolist() == [2.0, 2.0]


def test_a02_the_gradient_is_one_object_that_shows_what_accumulates():
    x = leaf(3.0)
    assert x.grad is None
    (x * x).backward()
    g = x.grad
    assert g is x.grad
    (x * x).backward()
    assert g is x.grad and g.item() == 12.0
    g.zero_()
    assert x.grad.item() == 0.0
    (x * x).backward()
    assert g.item() == 6.0


def test_a_gradient_that_was_forgotten_keeps_its_value_and_changes_nothing():
    x = leaf(3.0)
    (x * x).backward()
    g = x.grad
    x.grad = None
    assert x.grad is None and g.item() == 6.0
    (x * x * x).backward()
    assert g.item() == 6.0 and x.grad.item() == 27.0
    g.zero_()
    assert x.grad.item() == 27.0
    del x.grad
    assert x.grad is None
    x.zero_grad()
    assert x.grad is None


def test_augmented_assignment_to_a_gradient_changes_it():
    x = leaf([1.0, 2.0])
    (x * x).sum().backward()
    x.grad *= 0.5
    assert x.grad.tolist() == [1.0, 2.0]


def test_a_gradient_can_be_set():
    x = leaf([1.0, 2.0])
    x.grad = const([5.0, 6.0])
    assert x.grad.tolist() == [5.0, 6.0]
    (x * x).sum().backward()
    assert x.grad.tolist() == [7.0, 10.0]
    with pytest.raises(ValueError, match=r"expected a gradient of type f64\[2\], got f64\[3\]"):
        x.grad = const([1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match=r"expected a gradient of type f64\[2\], got f32\[2\]"):
        x.grad = const([1.0, 2.0], dtype=pb.float32)
    with pytest.raises(TypeError, match="expected a tensor or None, got int"):
        x.grad = 3
    assert x.grad.tolist() == [7.0, 10.0]


def test_a03_results_keep_no_gradient_unless_told():
    x = leaf(3.0)
    y = x * x
    with pytest.raises(RuntimeError, match="retain_grad"):
        y.grad
    assert not y.retains_grad
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad and y.grad is None
    (y * y).backward()
    assert y.grad.item() == 18.0
    x.retain_grad()
    assert not x.retains_grad
    with pytest.raises(RuntimeError, match="require gradients"):
        const(1.0).retain_grad()


def test_a04_the_gradient_has_the_dtype_of_the_leaf():
    x = leaf([1.0, 2.0], dtype=pb.float32)
    (x.to(pb.float64) * const([3.0, 4.0])).sum().backward()
    assert x.grad.dtype == pb.float32 and x.grad.tolist() == [3.0, 4.0]


def test_a05_detached_values_are_constants():
    x = leaf(3.0)
    y = x * x.detach()
    y.backward()
    assert x.grad.item() == 3.0
    z = x * x
    assert z.detach_() is z and not z.requires_grad and z.is_leaf


def test_in_place_on_a_leaf_in_no_grad_keeps_the_leaf():
    w = leaf([1.0, 2.0])
    same = w
    (w * w).sum().backward()
    with pb.no_grad():
        w -= 0.25 * w.grad
    assert w is same and w.is_leaf and w.requires_grad
    assert w.tolist() == [0.5, 1.0]
    w.grad.zero_()
    (w * w).sum().backward()
    assert w.grad.tolist() == [1.0, 2.0]


def test_in_place_on_a_leaf_outside_no_grad_makes_it_a_result():
    w = leaf(2.0)
    w.mul_(3.0)
    assert not w.is_leaf
    with pytest.raises(RuntimeError, match="no_grad"):
        w.grad


# backward


def test_backward_agrees_with_a_closed_form():
    x = leaf([0.3, 1.2])
    (x.sin() * x).sum().backward()
    want = np.sin([0.3, 1.2]) + np.array([0.3, 1.2]) * np.cos([0.3, 1.2])
    np.testing.assert_allclose(x.grad.tolist(), want, rtol=1e-14)


def test_backward_takes_gradients_of_results_that_are_no_scalars():
    x = leaf([1.0, 2.0])
    y = x * x
    y.backward(const([1.0, 10.0]))
    assert x.grad.tolist() == [2.0, 40.0]
    y.backward(gradient=const([1.0, 0.0]))
    assert x.grad.tolist() == [4.0, 40.0]
    with pytest.raises(RuntimeError, match="expected scalar outputs"):
        y.backward()
    with pytest.raises(ValueError, match=r"type of output 0, f64\[2\].*got f64\[3\]"):
        y.backward(const([1.0, 2.0, 3.0]))
    with pytest.raises(TypeError, match=r"got f32\[2\]"):
        y.backward(const([1.0, 2.0], dtype=pb.float32))
    with pytest.raises(TypeError, match="expected a tensor or None as `gradient`, got float"):
        y.backward(1.0)
    assert x.grad.tolist() == [4.0, 40.0]


def test_backward_of_constants_is_an_error():
    with pytest.raises(RuntimeError, match="require gradients"):
        const(1.0).backward()


def test_backward_can_be_called_again_and_takes_retain_graph():
    x = leaf(3.0)
    y = x * x
    y.backward(retain_graph=False)
    y.backward(retain_graph=True)
    assert x.grad.item() == 12.0


def test_backward_of_several_tensors_sums():
    x = leaf(2.0)
    autograd.backward([x * x, x * 3])
    assert x.grad.item() == 7.0
    v = leaf([1.0, 2.0])
    autograd.backward((v * v, v.sum()), (const([1.0, 1.0]), None))
    assert v.grad.tolist() == [3.0, 5.0]
    with pytest.raises(RuntimeError, match=r"grad_tensors\[1\]"):
        autograd.backward((v.sum(), v * v), (const(1.0), None))
    with pytest.raises(ValueError, match="expected 2 cotangents"):
        autograd.backward((v.sum(), v.sum()), (const(1.0),))
    with pytest.raises(TypeError, match=r"`tensors\[1\]`, got int"):
        autograd.backward((v.sum(), 3))
    with pytest.raises(TypeError, match="got int"):
        autograd.backward(3)
    with pytest.raises(ValueError, match="at least one output"):
        autograd.backward(())


def test_backward_with_inputs_accumulates_in_these_only():
    a, b = leaf(2.0), leaf(3.0)
    y = a * b
    (y * y).backward(inputs=[a])
    assert a.grad.item() == 36.0 and b.grad is None
    (y * y).backward(inputs=[y, b])
    assert b.grad.item() == 24.0 and y.grad.item() == 12.0 and a.grad.item() == 36.0
    with pytest.raises(ValueError, match="at least one input"):
        y.backward(inputs=[])


def test_backward_with_create_graph_gives_gradients_of_gradients():
    x = leaf(2.0)
    (x * x * x).backward(create_graph=True)
    first = x.grad
    assert first.requires_grad
    (second,) = autograd.grad(first, x)
    assert first.item() == 12.0 and second.item() == 12.0
    x.grad = None


def test_leaves_that_are_not_reached_have_no_gradient():
    a, b = leaf(2.0), leaf(3.0)
    (a * a).backward()
    assert b.grad is None


# grad


def test_grad_returns_a_tuple_and_accumulates_nothing():
    x, w = leaf(2.0), leaf(5.0)
    y = x * w
    grads = autograd.grad(y * y, (x, y))
    assert isinstance(grads, tuple) and [g.item() for g in grads] == [100.0, 20.0]
    assert x.grad is None and w.grad is None
    assert isinstance(autograd.grad(y, x), tuple)
    by_name = autograd.grad(y, {"x": x, "w": w})
    assert {k: g.item() for k, g in by_name.items()} == {"x": 5.0, "w": 2.0}


def test_grad_of_unused_inputs_is_an_error_none_or_zeros():
    x, w = leaf(2.0), leaf([5.0, 6.0])
    with pytest.raises(RuntimeError, match=r"input\[1\].*allow_unused"):
        autograd.grad(x * x, (x, w))
    dx, dw = autograd.grad(x * x, (x, w), allow_unused=True)
    assert dx.item() == 4.0 and dw is None
    _, dw = autograd.grad(x * x, (x, w), materialize_grads=True)
    assert dw.tolist() == [0.0, 0.0]
    _, dw = autograd.grad(x * x, (x, w), allow_unused=True, materialize_grads=True)
    assert dw.tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="allow_unused=False"):
        autograd.grad(x * x, (x, w), allow_unused=False, materialize_grads=True)


def test_grad_refuses_what_requires_no_gradient():
    x, c = leaf(2.0), const(3.0)
    with pytest.raises(RuntimeError, match=r"input\[1\]"):
        autograd.grad(x * c, (x, c))
    with pytest.raises(RuntimeError, match="output 0"):
        autograd.grad(c * c, x)
    with pytest.raises(ValueError, match="at least one input"):
        autograd.grad(x * c, [])
    with pytest.raises(TypeError, match="got None"):
        autograd.grad(x * c, [None])
    with pytest.raises(RuntimeError, match="expected scalar outputs"):
        v = leaf([1.0, 2.0])
        autograd.grad(v * v, v)


def test_grad_takes_gradients_of_outputs():
    x = leaf([1.0, 2.0])
    (dx,) = autograd.grad(x * x, x, grad_outputs=const([1.0, 10.0]))
    assert dx.tolist() == [2.0, 40.0]
    (dx,) = autograd.grad((x * x, x.sum()), x, (const([1.0, 10.0]), None))
    assert dx.tolist() == [3.0, 41.0]
    with pytest.raises(ValueError, match="cotangent"):
        autograd.grad(x * x, x, const(1.0))


def test_grad_of_grad_to_third_order():
    x = leaf(2.0)
    y = x**4
    (d1,) = autograd.grad(y, x, create_graph=True)
    (d2,) = autograd.grad(d1, x, create_graph=True)
    (d3,) = autograd.grad(d2, x)
    assert (d1.item(), d2.item(), d3.item()) == pytest.approx((32.0, 48.0, 48.0))
    assert not autograd.grad(y, x)[0].requires_grad


def test_batched_gradients_are_a_jacobian():
    x = leaf([1.0, 2.0, 3.0])
    (jacobian,) = autograd.grad(x * x, x, pb.eye(3, dtype=pb.float64), is_grads_batched=True)
    np.testing.assert_allclose(jacobian.numpy(), np.diag([2.0, 4.0, 6.0]))
    with pytest.raises(ValueError, match="grad_outputs"):
        autograd.grad(x.sum(), x, is_grads_batched=True)
    with pytest.raises(ValueError, match="leading dimension"):
        autograd.grad(x * x, x, pb.eye(2, dtype=pb.float64), is_grads_batched=True)


def test_a_graph_of_a_million_operations_does_not_recurse():
    x = leaf(1.0)
    y = x
    for _ in range(1_000_000):
        y = -y
    y.backward()
    assert x.grad.item() == 1.0
    del y
    gc.collect()


def test_a_graph_that_nobody_holds_is_freed():
    x = leaf([1.0] * 1000)
    y = (x * x).exp().sum()
    y.backward()
    before = pb.live_bytes() if hasattr(pb, "live_bytes") else None
    del y
    if before is not None:
        assert pb.live_bytes() < before


def test_a_leaf_that_was_frozen_keeps_its_gradient_and_its_place_in_graphs():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    x.requires_grad_(False)
    assert not (x * 3.0).requires_grad and x.grad is None
    x.requires_grad_(True)
    y.backward()
    assert x.grad.tolist() == [2.0, 4.0]
    x.requires_grad = False
    assert x.grad.tolist() == [2.0, 4.0]
    # A constant may be changed, and the leaf goes on with what it is then.
    x.mul_(10.0)
    x.requires_grad = True
    assert x.tolist() == [10.0, 20.0]
    (x * x).sum().backward()
    assert x.grad.tolist() == [22.0, 44.0]
    x.requires_grad_(False)
    x.grad = None
    assert x.requires_grad_().grad is None
