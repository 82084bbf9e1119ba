"""Functions that the tests of `autograd.Function` share."""

import pytest

import pullback as pb
from pullback.autograd import Function

D = pb.float64


def t(value):
    return pb.tensor(value, dtype=D)


def nothing(ctx, inputs, output):
    pass


def make(name="Own", forward=None, setup=nothing, old=False, **members):
    """A class of functions from its methods; `old` lets `forward` take the context."""
    body = {"forward": staticmethod(forward)}
    if not old:
        body["setup_context"] = staticmethod(setup)
    for key, value in members.items():
        body[key] = value if isinstance(value, bool) else staticmethod(value)
    return type(name, (Function,), body)


def save_inputs(ctx, inputs, output):
    ctx.save_for_backward(*inputs)
    ctx.save_for_forward(*inputs)


class Mul(Function):
    """The product of two numbers."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        return x * y

    setup_context = staticmethod(save_inputs)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y, g * x

    @staticmethod
    def jvp(ctx, tx, ty):
        x, y = ctx.saved_tensors
        return tx * y + x * ty


class OldMul(Function):
    """The same in the older form."""

    generate_vmap_rule = True

    @staticmethod
    def forward(ctx, x, y):
        save_inputs(ctx, (x, y), None)
        return x * y

    backward, jvp = staticmethod(Mul.backward), staticmethod(Mul.jvp)


def square():
    return make(
        forward=lambda x: x * x,
        setup=save_inputs,
        backward=lambda ctx, g: 2 * ctx.saved_tensors[0] * g,
        jvp=lambda ctx, tx: 2 * ctx.saved_tensors[0] * tx,
        generate_vmap_rule=True,
    )


FORMS = pytest.mark.parametrize("mul", [Mul, OldMul])
