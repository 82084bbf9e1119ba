"""SciPy with derivatives from here: arrays go in, and float64 arrays come out."""

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.sparse.linalg

import pullback as pb
from pullback.func import grad, hessian, hvp, jacfwd, value_and_grad


def rosenbrock(x):
    return ((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2).sum()


def on_arrays(f):
    """The function of NumPy arrays."""
    return lambda *args: np.asarray(f(*map(pb.from_numpy, args)))


START = np.array([-1.2, 1.0, 0.7, -0.5, 2.0])


def test_derivatives_are_those_of_scipy():
    np.testing.assert_allclose(on_arrays(grad(rosenbrock))(START), scipy.optimize.rosen_der(START), rtol=1e-12)
    np.testing.assert_allclose(on_arrays(hessian(rosenbrock))(START), scipy.optimize.rosen_hess(START), rtol=1e-12)
    product = on_arrays(lambda x, v: hvp(rosenbrock, x, v)[1])
    np.testing.assert_allclose(product(START, START), scipy.optimize.rosen_hess_prod(START, START), rtol=1e-12)


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "CG", "Newton-CG", "trust-ncg", "trust-exact", "SLSQP"])
def test_minimize_finds_the_minimum_of_rosenbrock(method):
    options = {"jac": on_arrays(grad(rosenbrock))}
    if method in {"Newton-CG", "trust-ncg", "trust-exact"}:
        options["hess"] = on_arrays(hessian(rosenbrock))
    start = np.array([1.3, 0.7, 0.8, 1.9, 1.2])
    found = scipy.optimize.minimize(on_arrays(rosenbrock), start, method=method, tol=1e-10, **options)
    np.testing.assert_allclose(found.x, np.ones(5), atol=1e-5)


def test_value_and_gradient_in_one_call():
    def both(x):
        value, g = value_and_grad(rosenbrock)(pb.from_numpy(x))
        return value.item(), g.numpy()

    found = scipy.optimize.minimize(both, START * 0.5, jac=True, method="L-BFGS-B", tol=1e-12)
    assert found.fun < 1e-8 or np.allclose(both(found.x)[1], 0, atol=1e-4)


def test_products_instead_of_a_hessian():
    product = on_arrays(lambda x, v: hvp(rosenbrock, x, v)[1])
    found = scipy.optimize.minimize(
        on_arrays(rosenbrock), np.zeros(5), method="trust-krylov", jac=on_arrays(grad(rosenbrock)), hessp=product
    )
    np.testing.assert_allclose(found.x, np.ones(5), atol=1e-4)


def test_least_squares_and_roots_with_our_jacobian():
    t = np.linspace(0, 1, 20)
    target = 2.0 * np.exp(-1.5 * t)
    residual = lambda p: p[0] * (-p[1] * pb.from_numpy(t)).exp() - pb.from_numpy(target)
    found = scipy.optimize.least_squares(on_arrays(residual), [1.0, 1.0], jac=on_arrays(jacfwd(residual)))
    np.testing.assert_allclose(found.x, [2.0, 1.5], rtol=1e-8)
    equations = lambda x: pb.stack([x[0] + 2 * x[1] - 2, x[0] ** 2 + 4 * x[1] ** 2 - 4], 0)
    root = scipy.optimize.root(on_arrays(equations), [1.0, 2.0], jac=on_arrays(jacfwd(equations)))
    np.testing.assert_allclose(on_arrays(equations)(root.x), 0, atol=1e-9)


def test_stiff_equations_with_our_jacobian():
    decay = lambda y: pb.stack([-1000 * y[0] + y[1], y[0] - 2 * y[1]], 0)
    f, jac = on_arrays(decay), on_arrays(jacfwd(decay))
    found = scipy.integrate.solve_ivp(lambda t, y: f(y), (0, 1), [1.0, 1.0], method="BDF", jac=lambda t, y: jac(y), rtol=1e-9,
                                      atol=1e-12)
    matrix = np.array([[-1000.0, 1.0], [1.0, -2.0]])
    np.testing.assert_allclose(found.y[:, -1], scipy.linalg.expm(matrix) @ [1.0, 1.0], rtol=1e-6)
