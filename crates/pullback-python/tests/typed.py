"""A program as users write it, for `mypy --strict`. It is checked, and run by `test_typed_programs_run`."""

from typing import NamedTuple

import pullback as pb
from pullback import Tensor, autograd
from pullback.autograd import forward_ad
from pullback.autograd.function import FunctionCtx
from pullback.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap


class Line(NamedTuple):
    slope: Tensor
    offset: Tensor


def loss(line: Line, x: Tensor, y: Tensor) -> Tensor:
    return ((x * line.slope + line.offset - y) ** 2).mean()


class Square(autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: FunctionCtx, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        result: Tensor = g * 2 * x
        return result


def main() -> float:
    x, y = pb.tensor([0.0, 1.0, 2.0]), pb.tensor([1.0, 3.0, 5.0])
    line = Line(pb.tensor(0.0), pb.tensor(0.0))
    for _ in range(300):
        slopes = grad(loss)(line, x, y)
        line = Line(*(p - 0.1 * g for p, g in zip(line, slopes)))
    curvature: Tensor = hessian(lambda t: (t**3).sum())(x)
    assert curvature.shape == (3, 3)
    per_example: Tensor = vmap(grad(lambda t: t * t))(x)
    value, pullback = vjp(lambda t: t * t, x)
    _, push = jvp(lambda t: t * t, (x,), (pb.ones_like(x),))
    assert per_example.tolist() == pullback(pb.ones_like(value))[0].tolist() == push.tolist()
    assert jacrev(lambda t: t * t)(x).tolist() == jacfwd(lambda t: t * t)(x).tolist()
    grad_and_value(lambda t: t.sum())(x)

    leaf = pb.tensor(3.0, requires_grad=True)
    handle = leaf.register_hook(lambda g: 2 * g)
    with pb.enable_grad():
        Square.apply(leaf).backward()
    handle.remove()
    assert leaf.grad is not None
    (direct,) = autograd.grad(leaf * leaf, leaf)
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(forward_ad.make_dual(x, x) * 2.0).tangent
    assert tangent is not None
    result: float = line.slope.item() + 0 * direct.item()
    return result


if __name__ == "__main__":
    assert abs(main() - 2.0) < 1e-2
