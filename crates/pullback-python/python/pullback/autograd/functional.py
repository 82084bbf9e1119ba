"""Derivatives of functions at a point, in the words of `torch.autograd.functional`.

`pullback.func` has the same as transforms, which nest, take trees, and are shorter to write. Here, results are constants unless
`create_graph=True`: they lead back to inputs that require gradients then.
"""

from .. import func as _func
from .._core import Tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def _inputs(place, inputs):
    """The inputs as a tuple, and whether they were one."""
    if isinstance(inputs, Tensor):
        return (inputs,), False
    if not isinstance(inputs, (tuple, list)):
        raise TypeError(f"{place}: expected a tensor or a tuple of tensors as inputs, got {type(inputs).__name__}")
    for k, entry in enumerate(inputs):
        if not isinstance(entry, Tensor):
            raise TypeError(f"{place}: expected a tensor as input {k}, got {type(entry).__name__}")
    return tuple(inputs), True


def _directions(place, name, given, like):
    """The vector of a product, as a tuple like `like`; the 1 of a scalar if there is none."""
    if given is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"{place}: expected `v`, which may be left out for a scalar {name} only, got None")
        return (like[0].detach() * 0 + 1,)
    return _inputs(place, given)[0]


def _done(out, create_graph):
    """Cuts results off from the inputs."""
    if create_graph:
        return out
    if isinstance(out, Tensor):
        return out.detach()
    return tuple(_done(entry, create_graph) for entry in out)


def _as_given(out, is_tuple):
    return tuple(out) if is_tuple else out[0]


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=True, strategy="reverse-mode"):
    """The Jacobian: for one output and one input a tensor of the shape of the output followed by that of the input; for
    tuples, tuples of those, the outputs outside.

    Args:
        func: a function of tensors that returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple of tensors.
        create_graph: let the result lead back to the inputs.
        strict, vectorize: accepted for PyTorch's sake. Rows are always computed together.
        strategy: "reverse-mode" or "forward-mode".

    >>> import pullback as pb
    >>> jacobian(lambda x: x * x, pb.tensor([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]

    Raises:
        TypeError: an input is not a tensor. ValueError: no such strategy.
    """
    inputs, is_tuple = _inputs("jacobian", inputs)
    if strategy not in ("reverse-mode", "forward-mode"):
        raise ValueError(f'jacobian: expected the strategy "reverse-mode" or "forward-mode", got {strategy!r}')
    transform = _func.jacrev if strategy == "reverse-mode" else _func.jacfwd
    return _done(transform(func, argnums=tuple(range(len(inputs))) if is_tuple else 0)(*inputs), create_graph)


def hessian(func, inputs, create_graph=False, strict=False, vectorize=True, outer_jacobian_strategy="reverse-mode"):
    """The Hessian of a function that returns a scalar: for one input a tensor, for a tuple of inputs a tuple of tuples.

    Args:
        func, inputs, create_graph, strict, vectorize: as for `jacobian`.
        outer_jacobian_strategy: accepted for PyTorch's sake. It is forward over reverse mode.

    >>> import pullback as pb
    >>> hessian(lambda x: (x**3).sum(), pb.tensor([1.0, 2.0])).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    inputs, is_tuple = _inputs("hessian", inputs)
    return _done(_func.hessian(func, argnums=tuple(range(len(inputs))) if is_tuple else 0)(*inputs), create_graph)


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """The outputs, and the product of `v`, which is like them, with the Jacobian: `(outputs, product)`.

    `v` may be left out for a scalar output.

    >>> import pullback as pb
    >>> _, product = vjp(lambda x: x * x, pb.tensor([1.0, 2.0]), pb.tensor([1.0, 10.0]))
    >>> product.tolist()
    [2.0, 40.0]
    """
    inputs, is_tuple = _inputs("vjp", inputs)
    outputs, pullback = _func.vjp(func, *inputs)
    likes, several = _inputs("vjp", outputs)
    v = _directions("vjp", "output", v, likes)
    product = pullback(_as_given(v, several))
    return _done(outputs, create_graph), _done(_as_given(product, is_tuple), create_graph)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """The outputs, and the product of the Jacobian with `v`, which is like the inputs: `(outputs, product)`.

    `v` may be left out for a scalar input.

    >>> import pullback as pb
    >>> jvp(lambda x: x * x, pb.tensor(3.0))[1].item()
    6.0
    """
    inputs, _ = _inputs("jvp", inputs)
    outputs, product = _func.jvp(func, inputs, _directions("jvp", "input", v, inputs))
    return _done(outputs, create_graph), _done(product, create_graph)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """The value of a function that returns a scalar, and the product of its Hessian with `v`: `(value, product)`.

    >>> import pullback as pb
    >>> hvp(lambda x: (x**3).sum(), pb.tensor([1.0, 2.0]), pb.tensor([1.0, 0.0]))[1].tolist()
    [6.0, 0.0]
    """
    inputs, is_tuple = _inputs("hvp", inputs)
    v = _directions("hvp", "input", v, inputs)
    gradient = _func.grad_and_value(func, argnums=tuple(range(len(inputs))))
    (_, value), (product, _) = _func.jvp(gradient, inputs, v)
    return _done(value, create_graph), _done(_as_given(product, is_tuple), create_graph)


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """The value of a function that returns a scalar, and the product of `v` with its Hessian: `(value, product)`.

    >>> import pullback as pb
    >>> vhp(lambda x: (x**3).sum(), pb.tensor([1.0, 2.0]), pb.tensor([1.0, 0.0]))[1].tolist()
    [6.0, 0.0]
    """
    inputs, is_tuple = _inputs("vhp", inputs)
    v = _directions("vhp", "input", v, inputs)

    def slope(*inputs):
        value, tangent = _func.jvp(func, inputs, v)
        return tangent, value

    product, value = _func.grad(slope, argnums=tuple(range(len(inputs))), has_aux=True)(*inputs)
    return _done(value, create_graph), _done(_as_given(product, is_tuple), create_graph)
