"""Scopes of the running thread, as context managers and decorators."""

import functools
import inspect
import types

from .._core import autograd as _native


class _Scope(_native.Scope):
    """A scope that is also a decorator."""

    def __call__(self, func):
        """Returns `func` with the scope around every call; of generators and coroutines, around their own steps only."""
        self._unset()
        if inspect.isclass(func) or not callable(func):
            raise TypeError(f"{type(self).__name__}: expected a function to decorate, got {func!r}")
        if inspect.isasyncgenfunction(func):
            raise TypeError(f"{type(self).__name__}: expected a function to decorate, got an asynchronous generator")

        if inspect.isgeneratorfunction(func):

            @functools.wraps(func)
            def scoped(*args, **kwargs):
                return _steps(self, func(*args, **kwargs))

        elif inspect.iscoroutinefunction(func):

            @functools.wraps(func)
            async def scoped(*args, **kwargs):
                return await types.coroutine(_steps)(self, func(*args, **kwargs))

        else:

            @functools.wraps(func)
            def scoped(*args, **kwargs):
                with self:
                    return func(*args, **kwargs)

        return scoped


def _steps(scope, generator):
    """Runs a generator so that its code, but not the code that waits for it, is in the scope."""
    step, given = generator.send, None
    while True:
        try:
            with scope:
                made = step(given)
        except StopIteration as end:
            return end.value
        try:
            step, given = generator.send, (yield made)
        except GeneratorExit:
            with scope:
                generator.close()
            raise
        except BaseException as raised:
            step, given = generator.throw, raised


class _Switch(_Scope):
    """A scope without arguments, which decorates with and without parentheses."""

    def __new__(cls, func=None):
        scope = cls._make()
        return scope if func is None else scope(func)


class no_grad(_Switch):
    """Nothing that is being differentiated sees what runs inside: its results are constants.

    This holds for tensors that require gradients and for every `grad`, `vjp`, `jvp` and Jacobian that is running on this
    thread, by reverse and by forward mode. Transforms that are called inside work as always. Other threads are not
    affected.

    >>> import pullback as pb
    >>> x = pb.tensor(2.0, requires_grad=True)
    >>> with pb.no_grad():
    ...     y = x * x
    >>> y.requires_grad
    False
    >>> @pb.no_grad()
    ... def double(x):
    ...     return x * 2
    >>> double(x).requires_grad
    False
    """

    @classmethod
    def _make(cls):
        return _Scope.__new__(cls, "grad", False)


class enable_grad(_Switch):
    """Recording works again inside a `no_grad`.

    Inside a transform it undoes what was switched off inside that transform, not what its caller switched off.

    >>> import pullback as pb
    >>> x = pb.tensor(2.0, requires_grad=True)
    >>> with pb.no_grad(), pb.enable_grad():
    ...     y = x * x
    >>> y.requires_grad
    True
    """

    @classmethod
    def _make(cls):
        return _Scope.__new__(cls, "grad", True)


class set_grad_enabled(_Scope):
    """Recording on or off: as a context manager, as a decorator, or by the call itself, to the end of the `with` around it.

    >>> import pullback as pb
    >>> with pb.set_grad_enabled(False):
    ...     pb.is_grad_enabled()
    False
    >>> with pb.no_grad():
    ...     _ = pb.set_grad_enabled(True)
    ...     pb.is_grad_enabled()
    True
    """

    def __new__(cls, mode):
        scope = super().__new__(cls, "grad", bool(mode), now=True)
        scope.mode = bool(mode)
        return scope


class inference_mode(_Scope):
    """`no_grad` by its other name; with `mode=False`, `enable_grad`. Tensors that are made inside may be used anywhere later.

    >>> import pullback as pb
    >>> x = pb.tensor(2.0, requires_grad=True)
    >>> with pb.inference_mode():
    ...     y = x * x
    >>> y.requires_grad, (y * x).requires_grad
    (False, True)
    """

    def __new__(cls, mode=True):
        if callable(mode):
            return cls()(mode)
        return super().__new__(cls, "grad", not mode)


class detect_anomaly(_Scope):
    """A NaN in a gradient is an `ArithmeticError` that says which operation made it, and where that was called.

    Every recorded operation remembers its caller, and every walk back looks at each gradient. A NaN that is masked out on
    the way is no anomaly. It is meant for debugging: it costs time. With `infinities`, it looks for infinities as well.

    >>> import pullback as pb
    >>> x = pb.tensor(-1.0, requires_grad=True)
    >>> with pb.autograd.detect_anomaly():
    ...     x.sqrt().backward()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ArithmeticError: backward: the backward of `sqrt` made NaN...
    """

    def __new__(cls, check_nan=True, *, infinities=False):
        return super().__new__(cls, "anomaly", bool(check_nan), bool(infinities))


class set_detect_anomaly(_Scope):
    """Anomaly mode on or off, as `set_grad_enabled` does for recording. See `detect_anomaly`."""

    def __new__(cls, mode, check_nan=True):
        return super().__new__(cls, "anomaly", bool(mode) and bool(check_nan), now=True)

