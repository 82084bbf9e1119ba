"""Functions with rules of their own, by decorators: short forms of `autograd.Function` in the manner of JAX."""

import functools

from . import tree
from ._core import Tensor as _Tensor
from .autograd.function import Function
from .func import jvp as _jvp
from .func import vjp as _vjp


class _Kept:
    """A tree, as its tensors and what else is in it, so that a context can hold it."""

    def __init__(self, value):
        leaves, self.structure = tree.flatten(value)
        self.tensors = [leaf if isinstance(leaf, _Tensor) else None for leaf in leaves]
        self.others = [None if isinstance(leaf, _Tensor) else leaf for leaf in leaves]

    def without_tensors(self):
        self.tensors = None
        return self

    def build(self, tensors):
        pairs = zip(tensors, self.others, strict=True)
        return tree.unflatten([other if tensor is None else tensor for tensor, other in pairs], self.structure)


def _keep(save, value):
    kept = _Kept(value)
    save(*kept.tensors)
    return kept.without_tensors()


def _as_returned(output, parts):
    """What belongs to the outputs, in the form in which the function returned them."""
    return tuple(parts) if isinstance(output, tuple) else parts[0]


class _Custom:
    """A callable that stands for a function, and calls it through a `Function` once there is a rule."""

    def __init__(self, fun):
        if not callable(fun):
            raise TypeError(f"{type(self).__name__}: expected a function, got {type(fun).__name__}")
        functools.update_wrapper(self, fun)
        self._own = None

    def _define(self, **members):
        body = {name: staticmethod(f) if callable(f) else f for name, f in members.items()}
        body["forward"] = staticmethod(self.__wrapped__)
        self._own = type(getattr(self, "__name__", "custom"), (Function,), body)

    def __call__(self, *args, **kwargs):
        if self._own is None:
            kind, method = type(self).__name__, self._method
            raise NotImplementedError(
                f"{kind}: function `{self.__name__}` has no rule yet; help: give it one with `{self.__name__}.{method}(...)`"
            )
        return self._own.apply(*args, **kwargs)

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)


class custom_vjp(_Custom):
    """A function with a reverse rule of its own, given by `defvjp(fwd, bwd)`.

    `fwd` takes the arguments and returns the result and what the rule reads: any tree, also of intermediate values. `bwd` takes that
    and the gradients of the result, in its form, and returns one gradient for each argument, or None. What `fwd` computes is
    differentiated, so derivatives of every order are right. Forward mode and batching are derived from the rule.

    >>> import pullback as pb
    >>> @pb.custom_vjp
    ... def softplus(x):
    ...     return x.exp().log1p()
    >>> def fwd(x):
    ...     e = x.exp()
    ...     return e.log1p(), e
    >>> def bwd(e, g):
    ...     return (g * (1 - 1 / (1 + e)),)
    >>> softplus.defvjp(fwd, bwd)
    >>> pb.func.grad(softplus)(pb.tensor(1000.0)).item()
    1.0
    >>> pb.func.hessian(softplus)(pb.tensor(0.0)).item()
    0.25
    """

    _method = "defvjp"

    def defvjp(self, fwd, bwd):
        """Gives the rule; see the class."""

        def setup_context(ctx, inputs, output):
            pair = fwd(*inputs)
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise TypeError(f"`fwd` of `{self.__name__}`: expected a tuple (result, residuals), got {type(pair).__name__}")
            _same_types(self.__name__, pair[0], output)
            ctx.residuals = _keep(ctx.save_for_backward, pair[1])
            ctx.tuple = isinstance(output, tuple)

        def backward(ctx, *grads):
            return bwd(ctx.residuals.build(ctx.saved_tensors), tuple(grads) if ctx.tuple else grads[0])

        self._define(setup_context=setup_context, backward=backward, generate_vmap_rule=True)


def _same_types(name, again, output):
    """An error unless `fwd` returned what the function did."""
    (got, form), (expected, own) = tree.flatten(again), tree.flatten(output)
    if form != own:
        raise ValueError(f"`fwd` of `{name}`: expected the result in the structure {own}, got {form}")
    for a, b in zip(got, expected, strict=True):
        if isinstance(b, _Tensor) and (a.shape != b.shape or a.dtype != b.dtype):
            raise ValueError(f"`fwd` of `{name}`: expected the result of the function, {_type(b)}, got {_type(a)}")


def _type(x):
    return f"{x.dtype} of shape {tuple(x.shape)}"


class custom_jvp(_Custom):
    """A function with a forward rule of its own, given by `defjvp(rule)`.

    `rule` takes the tuple of arguments and that of their tangents (None for what has none), and returns the result and its tangents.
    It must be linear in the tangents: reverse mode is derived by transposing it, and batching from all.

    >>> import pullback as pb
    >>> @pb.custom_jvp
    ... def tanh(x):
    ...     return x.tanh()
    >>> @tanh.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     y = tanh(x)
    ...     return y, t * (1 - y * y)
    >>> pb.func.grad(tanh)(pb.tensor(0.0)).item()
    1.0
    >>> pb.func.grad(pb.func.grad(pb.func.grad(tanh)))(pb.tensor(0.0)).item()
    -2.0
    """

    _method = "defjvp"

    def defjvp(self, rule):
        """Gives the rule, which it returns, so that it can be a decorator; see the class."""

        def setup_context(ctx, inputs, output):
            ctx.primals = _keep(ctx.save_for_forward, inputs)

        def jvp(ctx, *tangents):
            pair = rule(ctx.primals.build(ctx.saved_tensors), tangents)
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise TypeError(f"the rule of `{self.__name__}`: expected a tuple (result, tangents), got {type(pair).__name__}")
            return pair[1]

        self._define(setup_context=setup_context, jvp=jvp, generate_vmap_rule=True)
        return rule


class custom_vmap(_Custom):
    """A function with a batching rule of its own, given by `def_vmap(rule)`.

    `rule(info, in_dims, *args)` gets all lanes at once, as `Function.vmap`, and returns the output and where its lanes lie. Derivatives
    are those of the operations that the function and the rule consist of.

    >>> import pullback as pb
    >>> @pb.custom_vmap
    ... def product(a, x):
    ...     return a @ x
    >>> @product.def_vmap
    ... def rule(info, in_dims, a, x):
    ...     assert in_dims == (None, 0)
    ...     return x @ a.t(), 0
    >>> a, xs = pb.tensor([[1.0, 2.0], [3.0, 4.0]]), pb.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> pb.func.vmap(product, in_dims=(None, 0))(a, xs).tolist()
    [[1.0, 3.0], [2.0, 4.0], [3.0, 7.0]]
    """

    _method = "def_vmap"

    def def_vmap(self, rule):
        """Gives the rule, which it returns, so that it can be a decorator; see the class."""
        fun = self.__wrapped__

        def setup_context(ctx, inputs, output):
            ctx.inputs = _keep(ctx.save_for_backward, inputs)
            ctx.save_for_forward(*_Kept(inputs).tensors)

        def split(ctx):
            """The function of its differentiable tensors, these, and where they are."""
            saved = list(ctx.saved_tensors)
            places = [k for k, t in enumerate(saved) if t is not None and (t.is_floating_point() or t.is_complex())]

            def of(*tensors):
                every = list(saved)
                for k, tensor in zip(places, tensors, strict=True):
                    every[k] = tensor
                return fun(*ctx.inputs.build(every))

            return of, [saved[k] for k in places], places

        def backward(ctx, *grads):
            of, tensors, places = split(ctx)
            output, pull = _vjp(of, *tensors)
            found = pull(_as_returned(output, grads))
            every = [None] * len(ctx.inputs.others)
            for k, grad in zip(places, found, strict=True):
                every[k] = grad
            return _in_place_of(ctx.inputs, every)

        def jvp(ctx, *tangents):
            of, tensors, places = split(ctx)
            flat = [t for t in tree.leaves(list(tangents)) if t is not None]
            return _jvp(of, tuple(tensors), tuple(flat))[1]

        self._define(setup_context=setup_context, backward=backward, jvp=jvp, vmap=rule)
        return rule


def _in_place_of(kept, leaves):
    """One entry for each argument, with None for what is no tensor."""
    return tree.unflatten(leaves, kept.structure)
