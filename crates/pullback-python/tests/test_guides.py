"""The examples of PyTorch's guides "Extending autograd" and "Extending torch.func", as they are written here."""

import numpy as np
import pytest
from differences import gradient, jacobian, same

import pullback as pb
from pullback.autograd import Function
from pullback.autograd.function import once_differentiable
from pullback.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

RNG = np.random.default_rng(0)


def random(*shape):
    return pb.tensor(RNG.standard_normal(shape), dtype=pb.float64)


class Linear(Function):
    """A layer with an optional bias, which computes only the gradients that are asked for."""

    @staticmethod
    def forward(x, weight, bias=None):
        y = x @ weight.t()
        return y if bias is None else y + bias

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, weight, bias = inputs
        ctx.save_for_backward(x, weight, bias)

    @staticmethod
    def backward(ctx, grad):
        x, weight, bias = ctx.saved_tensors
        dx = dweight = dbias = None
        if ctx.needs_input_grad[0]:
            dx = grad @ weight
        if ctx.needs_input_grad[1]:
            dweight = grad.t() @ x
        if bias is not None and ctx.needs_input_grad[2]:
            dbias = grad.sum(0)
        return dx, dweight, dbias


def test_a_linear_layer_has_the_gradients_of_plain_operations():
    x, w, b = random(4, 3), random(2, 3), random(2)
    plain = lambda x, w, b: ((x @ w.t() + b) ** 2).sum()
    own = lambda x, w, b: (Linear.apply(x, w, b) ** 2).sum()
    for got, expected in zip(grad(own, (0, 1, 2))(x, w, b), grad(plain, (0, 1, 2))(x, w, b), strict=True):
        same(got, expected)
    same(grad(own)(x, w, b), gradient(lambda x: own(x, w, b), x))


def test_a_linear_layer_may_lack_its_bias():
    x, w = random(4, 3), random(2, 3)
    same(Linear.apply(x, w), x.numpy() @ w.numpy().T)
    same(Linear.apply(x, weight=w), x.numpy() @ w.numpy().T)
    same(grad(lambda w: Linear.apply(x, w).sum())(w), np.broadcast_to(x.numpy().sum(0), (2, 3)))


class MulConstant(Function):
    """Non-tensor arguments have None for a gradient; without materialised zeros the rules see None and return it."""

    @staticmethod
    def forward(x, constant):
        return x * constant

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.set_materialize_grads(False)
        ctx.constant = inputs[1]

    @staticmethod
    def backward(ctx, grad):
        if grad is None:
            return None, None
        return grad * ctx.constant, None

    @staticmethod
    def jvp(ctx, tangent, _):
        return None if tangent is None else tangent * ctx.constant


def test_a_product_with_a_number():
    x = random(3)
    same(grad(lambda x: MulConstant.apply(x, 2.5).sum())(x), np.full(3, 2.5))
    same(jvp(lambda x: MulConstant.apply(x, 2.5), (x,), (x,))[1], 2.5 * x.numpy())


class Exp(Function):
    """Saves its result, through which derivatives of every order flow."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad * y

    @staticmethod
    def jvp(ctx, tangent):
        (y,) = ctx.saved_tensors
        return tangent * y


def test_the_exponential_has_derivatives_of_every_order():
    f, x = Exp.apply, pb.tensor(0.5, dtype=pb.float64)
    e = np.exp(0.5)
    for derivative in (grad(f), grad(grad(f)), grad(grad(grad(f))), jacfwd(jacfwd(jacfwd(f))), hessian(f), jacrev(jacfwd(f))):
        same(derivative(x), e)
    xs = random(4)
    same(vmap(grad(grad(f)))(xs), np.exp(xs.numpy()))


class Sinh(Function):
    """Intermediates that the rule reads are outputs with gradients of their own, so that the second derivative is right."""

    @staticmethod
    def forward(x):
        up, down = x.exp(), (-x).exp()
        return (up - down) / 2, up, down

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output[1], output[2])

    @staticmethod
    def backward(ctx, grad, grad_up, grad_down):
        up, down = ctx.saved_tensors
        return grad * (up + down) / 2 + grad_up * up - grad_down * down


def test_intermediates_that_are_outputs_have_right_higher_derivatives():
    f, x = (lambda x: Sinh.apply(x)[0]), pb.tensor(0.7, dtype=pb.float64)
    same(grad(f)(x), np.cosh(0.7))
    same(grad(grad(f))(x), np.sinh(0.7))
    same(grad(grad(grad(f)))(x), np.cosh(0.7))
    same(hessian(f)(x), np.sinh(0.7))


class SinhOld(Function):
    """The older form of the same."""

    @staticmethod
    def forward(ctx, x):
        up, down = x.exp(), (-x).exp()
        ctx.save_for_backward(up, down)
        return (up - down) / 2, up, down

    @staticmethod
    def backward(ctx, grad, grad_up, grad_down):
        up, down = ctx.saved_tensors
        return grad * (up + down) / 2 + grad_up * up - grad_down * down


def test_the_older_form_works_under_transforms():
    f, x = (lambda x: SinhOld.apply(x)[0]), pb.tensor(0.7, dtype=pb.float64)
    same(grad(f)(x), np.cosh(0.7))
    same(grad(grad(f))(x), np.sinh(0.7))
    same(hessian(f)(x), np.sinh(0.7))
    same(jvp(f, (x,), (pb.ones_like(x),))[1], np.cosh(0.7))


class SinhHidden(Function):
    """The older form with intermediates that are not returned: right once, and refused the second time."""

    @staticmethod
    def forward(ctx, x):
        up, down = x.exp(), (-x).exp()
        ctx.save_for_backward(up, down)
        return (up - down) / 2

    @staticmethod
    def backward(ctx, grad):
        up, down = ctx.saved_tensors
        return grad * (up + down) / 2


def test_hidden_intermediates_are_refused_where_their_derivative_would_be_lost():
    x = pb.tensor(0.7, dtype=pb.float64)
    same(grad(SinhHidden.apply)(x), np.cosh(0.7))
    for second in (grad(grad(SinhHidden.apply)), hessian(SinhHidden.apply), jacfwd(grad(SinhHidden.apply))):
        with pytest.raises(RuntimeError, match="SinhHidden.*intermediate value that `forward` saved.*return it from `forward`"):
            second(x)


def rows_first(x, dim):
    return x if dim is None else x.movedim(dim, 0)


class NumpySort(Function):
    """Sorts with NumPy. The positions are outputs without a derivative."""

    @staticmethod
    def forward(x, dim):
        array = x.numpy()
        order = np.argsort(array, axis=dim)
        back = np.argsort(order, axis=dim)
        return pb.tensor(np.take_along_axis(array, order, axis=dim)), pb.tensor(order), pb.tensor(back)

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, order, back = output
        ctx.mark_non_differentiable(order, back)
        ctx.save_for_backward(order, back)
        ctx.dim = inputs[1]

    @staticmethod
    def backward(ctx, grad, _1, _2):
        order, back = ctx.saved_tensors
        return NumpyTake.apply(grad, back, order, ctx.dim), None

    @staticmethod
    def vmap(info, in_dims, x, dim):
        x_dim, _ = in_dims
        x = x.movedim(x_dim, 0)
        # The lanes are one more dimension in front.
        dim = dim if dim >= 0 else dim + x.ndim - 1
        return NumpySort.apply(x, dim + 1), (0, 0, 0)


class NumpyTake(Function):
    """Takes along an axis with NumPy; its derivative takes along the inverse positions."""

    @staticmethod
    def forward(x, order, back, dim):
        return pb.tensor(np.take_along_axis(x.numpy(), order.numpy(), axis=dim))

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, order, back, dim = inputs
        ctx.save_for_backward(order, back)
        ctx.dim = dim

    @staticmethod
    def backward(ctx, grad):
        order, back = ctx.saved_tensors
        return NumpyTake.apply(grad, back, order, ctx.dim), None, None, None

    @staticmethod
    def vmap(info, in_dims, x, order, back, dim):
        x_dim, order_dim, back_dim, _ = in_dims
        rank = x.ndim if x_dim is None else x.ndim - 1
        dim = dim if dim >= 0 else dim + rank

        def lanes(t, t_dim):
            return t.expand((info.batch_size, *t.shape)) if t_dim is None else t.movedim(t_dim, 0)

        return NumpyTake.apply(lanes(x, x_dim), lanes(order, order_dim), lanes(back, back_dim), dim + 1), 0


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_sorting_with_numpy(dim):
    x = random(3, 5)
    weights = random(3, 5)
    f = lambda x: (NumpySort.apply(x, dim)[0] * weights).sum()
    same(NumpySort.apply(x, dim)[0], np.sort(x.numpy(), axis=dim))
    same(grad(f)(x), gradient(f, x))
    order = NumpySort.apply(x, dim)[1]
    same(order, np.argsort(x.numpy(), axis=dim))


@pytest.mark.parametrize("in_dim", [0, 1, 2])
def test_sorting_with_numpy_in_lanes(in_dim):
    x = random(3, 4, 5)
    got = vmap(lambda x: NumpySort.apply(x, -1)[0], in_dims=in_dim)(x)
    same(got, np.sort(np.moveaxis(x.numpy(), in_dim, 0), axis=-1))
    weights = random(*np.moveaxis(x.numpy(), in_dim, 0).shape[1:])
    f = lambda x: (NumpySort.apply(x, 0)[0] * weights).sum()
    expected = [grad(f)(lane) for lane in x.unbind(in_dim)]
    same(vmap(grad(f), in_dims=in_dim)(x), np.stack([e.numpy() for e in expected]))
    # Lanes of cotangents for one sorted matrix.
    row = random(4)
    _, pull = vjp(lambda x: NumpySort.apply(x, 0)[0], row)
    same(vmap(pull)(pb.eye(4, dtype=pb.float64))[0], jacobian(lambda x: NumpySort.apply(x, 0)[0], row))
    same(jacrev(lambda x: NumpySort.apply(x, 0)[0])(row), jacobian(lambda x: NumpySort.apply(x, 0)[0], row))


class Cube(Function):
    """Returns what the rule needs as a second output. `vmap` is written by hand, in NumPy's terms."""

    @staticmethod
    def forward(x):
        array = x.numpy()
        return pb.tensor(array**3), pb.tensor(3 * array**2)

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,), (_, slope) = inputs, output
        ctx.save_for_backward(x, slope)
        ctx.save_for_forward(x, slope)

    @staticmethod
    def backward(ctx, grad, grad_slope):
        x, slope = ctx.saved_tensors
        return grad * slope + grad_slope * 6 * x

    @staticmethod
    def jvp(ctx, tangent):
        x, slope = ctx.saved_tensors
        return slope * tangent, 6 * x * tangent

    @staticmethod
    def vmap(info, in_dims, x):
        return Cube.apply(x), (in_dims[0], in_dims[0])


def test_a_cube_that_returns_its_slope():
    f = lambda x: Cube.apply(x)[0]
    x = pb.tensor(3.0, dtype=pb.float64)
    same(grad(f)(x), 27.0)
    same(grad(grad(f))(x), 18.0)
    same(grad(grad(grad(f)))(x), 6.0)
    same(jvp(f, (x,), (pb.ones_like(x),))[1], 27.0)
    same(jacfwd(jacfwd(f))(x), 18.0)
    same(hessian(f)(x), 18.0)
    xs = random(2, 3)
    same(vmap(vmap(grad(f)))(xs), 3 * xs.numpy() ** 2)
    same(vmap(f, in_dims=1, out_dims=1)(xs), xs.numpy() ** 3)
    same(grad(lambda x: vmap(f)(x).sum())(xs), 3 * xs.numpy() ** 2)


class CubeGenerated(Function):
    """The same in tensor operations, so that the batching rule can be made of it."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3, 3 * x**2

    setup_context, backward, jvp = map(staticmethod, (Cube.setup_context, Cube.backward, Cube.jvp))


def test_a_batching_rule_that_is_generated():
    f = lambda x: CubeGenerated.apply(x)[0]
    xs = random(5)
    same(vmap(f)(xs), xs.numpy() ** 3)
    same(vmap(grad(f))(xs), 3 * xs.numpy() ** 2)
    same(vmap(grad(grad(f)))(xs), 6 * xs.numpy())
    same(vmap(jacfwd(jacrev(f)))(xs), 6 * xs.numpy())
    same(grad(lambda x: vmap(f)(x).sum())(xs), 3 * xs.numpy() ** 2)
    same(jacfwd(lambda x: vmap(f)(x))(xs), np.diag(3 * xs.numpy() ** 2))


def test_a_generated_rule_reads_no_data():
    class Branches(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x if x.item() > 0 else -x

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, grad):
            return grad

    assert Branches.apply(pb.tensor(-2.0)).item() == 2.0
    with pytest.raises(RuntimeError, match="`forward` of function `Branches`.*static method `vmap"):
        vmap(Branches.apply)(random(3))


class Scale(Function):
    """An identity whose gradient is scaled: nothing to save."""

    factor = 3.14
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        return grad * Scale.factor

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * Scale.factor


def test_the_rule_that_was_written_is_the_rule_that_runs():
    x, xs = pb.tensor(1.0, dtype=pb.float64), random(3)
    same(grad(Scale.apply)(x), 3.14)
    same(jvp(Scale.apply, (x,), (x,))[1], 3.14)
    same(vmap(grad(Scale.apply))(xs), np.full(3, 3.14))
    same(grad(lambda x: vmap(Scale.apply)(x).sum())(xs), np.full(3, 3.14))


class Square(Function):
    """A rule by other software, which can be differentiated once."""

    @staticmethod
    def forward(ctx, x):
        array = x.numpy()
        ctx.array = array
        return pb.tensor(array**2)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        return pb.tensor(2 * ctx.array * grad.numpy())


def test_a_rule_by_other_software_is_differentiable_once():
    x = pb.tensor(3.0, dtype=pb.float64)
    same(grad(Square.apply)(x), 6.0)
    with pytest.raises(RuntimeError, match="`backward` of function `Square`.*differentiable once"):
        grad(grad(Square.apply))(x)
    with pytest.raises(RuntimeError, match="differentiable once"):
        # The product has a second derivative through x itself, so that a zero would go unnoticed.
        grad(grad(lambda x: x * Square.apply(x)))(x)


class StepOfSign(Function):
    """A straight-through estimate."""

    @staticmethod
    def forward(x):
        return x.sign()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x.abs() <= 1)


def test_a_straight_through_estimate():
    x = pb.tensor([-2.0, -0.5, 0.5, 2.0])
    assert grad(lambda x: StepOfSign.apply(x).sum())(x).tolist() == [0.0, 1.0, 1.0, 0.0]
