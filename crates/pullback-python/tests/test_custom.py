"""Rules by decorators: `custom_vjp`, `custom_jvp`, `custom_vmap`."""

import numpy as np
import pytest
from differences import jacobian, same

import pullback as pb
from pullback.func import grad, hessian, jacfwd, jacrev, jvp, vmap

D = pb.float64


def t(value):
    return pb.tensor(value, dtype=D)


@pb.custom_vjp
def power(x, n=2):
    """x to the n"""
    return x**n


def fwd(x, n):
    return x**n, (x, n)


power.defvjp(fwd, lambda kept, g: (g * kept[1] * kept[0] ** (kept[1] - 1), None))


def test_a_reverse_rule_has_derivatives_of_every_order():
    x = t(2.0)
    f = lambda x: power(x, 4)
    for order, value in enumerate([16.0, 32.0, 48.0, 48.0, 24.0]):
        g = f
        for _ in range(order):
            g = grad(g)
        assert g(x).item() == value
    assert hessian(f)(x).item() == 48.0
    assert jvp(f, (x,), (x,))[1].item() == 64.0
    assert grad(lambda x: power(x, n=3))(x).item() == 12.0
    assert grad(power)(x).item() == 4.0
    assert vmap(grad(f))(t([1.0, 2.0])).tolist() == [4.0, 32.0]
    assert grad(lambda x: vmap(f)(x).sum())(t([1.0, 2.0])).tolist() == [4.0, 32.0]


def test_what_the_rule_keeps_is_any_tree_and_results_are_too():
    @pb.custom_vjp
    def both(x, y):
        return x * y, {"s": x + y}

    both.defvjp(
        lambda x, y: (both(x, y), {"x": x, "rest": [y, 2, "word"]}),
        lambda kept, g: (g[0] * kept["rest"][0] + g[1]["s"], g[0] * kept["x"] + g[1]["s"]),
    )
    f = lambda x, y: both(x, y)[0] * both(x, y)[1]["s"]
    same(grad(f, (0, 1))(t(2.0), t(3.0))[0], 3.0 * 5.0 + 6.0)
    same(jacrev(lambda x: both(x, x)[0])(t([1.0, 2.0])), jacobian(lambda x: both(x, x)[0], t([1.0, 2.0])))


def test_a_forward_rule_is_transposed():
    @pb.custom_jvp
    def cube(x, scale):
        return x**3 * scale

    @cube.defjvp
    def rule(primals, tangents):
        (x, scale), (tx, none) = primals, tangents
        assert none is None
        return cube(x, scale), 3 * x**2 * tx * scale

    f = lambda x: cube(x, 2.0)
    assert jvp(f, (t(3.0),), (t(1.0),))[1].item() == 54.0
    assert grad(f)(t(3.0)).item() == 54.0
    assert grad(grad(f))(t(3.0)).item() == 36.0
    assert jacfwd(jacfwd(f))(t(3.0)).item() == 36.0
    assert vmap(grad(f))(t([1.0, 2.0])).tolist() == [6.0, 24.0]


def test_a_batching_rule_beside_the_derivatives_of_the_operations():
    calls = []

    @pb.custom_vmap
    def product(a, x, power=1):
        return (a @ x) ** power

    @product.def_vmap
    def rule(info, in_dims, a, x, power):
        calls.append((info.batch_size, in_dims))
        return (x.movedim(in_dims[1], 0) @ a.t()) ** power, 0

    rng = np.random.default_rng(0)
    a, xs = t(rng.standard_normal((2, 3))), t(rng.standard_normal((4, 3)))
    expected = np.stack([(a.numpy() @ x) ** 2 for x in xs.numpy()])
    f = lambda a, x: product(a, x, 2)
    same(vmap(f, in_dims=(None, 0))(a, xs), expected)
    same(vmap(f, in_dims=(None, 1))(a, xs.t()), expected)
    assert calls == [(4, (None, 0, None)), (4, (None, 1, None))]
    loss = lambda a: vmap(f, in_dims=(None, 0))(a, xs).sum()
    same(grad(loss)(a), jacobian(loss, a))
    x = xs[0]
    same(jacrev(f, 1)(a, x), jacobian(lambda x: f(a, x), x))
    same(jacfwd(f, 1)(a, x), jacobian(lambda x: f(a, x), x))


def test_functions_keep_their_names_and_are_methods():
    assert power.__name__ == "power" and power.__doc__ == "x to the n"

    class Model:
        scale = 3.0

        @pb.custom_jvp
        def __call__(self, x):
            return x * self.scale

    Model.__dict__["__call__"].defjvp(lambda primals, tangents: (None, tangents[1] * 3.0))
    assert grad(lambda x: Model().__call__(x))(t(1.0)).item() == 3.0


def test_mistakes_are_named():
    lonely = pb.custom_vjp(lambda x: x)
    with pytest.raises(NotImplementedError, match="custom_vjp.*no rule yet.*defvjp"):
        lonely(t(1.0))
    with pytest.raises(TypeError, match="custom_jvp: expected a function, got int"):
        pb.custom_jvp(3)

    @pb.custom_vjp
    def double(x):
        return 2 * x

    double.defvjp(lambda x: 2 * x, lambda kept, g: (2 * g,))
    with pytest.raises(TypeError, match=r"`fwd` of `double`.*\(result, residuals\), got Tensor"):
        grad(double)(t(1.0))
    double.defvjp(lambda x: (x.expand((2,)), None), lambda kept, g: (2 * g,))
    with pytest.raises(ValueError, match=r"`fwd` of `double`.*shape \(\), got .*shape \(2,\)"):
        grad(double)(t(1.0))
    double.defvjp(lambda x: (2 * x, None), lambda kept, g: (g, g))
    with pytest.raises(RuntimeError, match=r"function `double`: expected 1 gradient.*got 2"):
        grad(double)(t(1.0))
