"""Solutions of equations, by any solver."""

import gc
import math
import weakref

import numpy as np
import pytest
import scipy.optimize

import pullback as pb
from pullback import implicit
from pullback.func import grad, hessian, jacfwd, jacrev, jvp, vmap


def f64(x):
    return pb.tensor(x, dtype=pb.float64)


def close(got, want, tolerance=1e-9):
    np.testing.assert_allclose(np.asarray(got), want, rtol=tolerance, atol=tolerance)


def square_root(p, x):
    return x * x - p


def by_scipy(p):
    return scipy.optimize.brentq(lambda x: x * x - p.item(), 0, 1e3, xtol=1e-13)


SOLUTIONS = {
    "solve": lambda: implicit.root(square_root, by_scipy),
    "start": lambda: implicit.root(square_root, start=lambda p: p),
    "fixed point": lambda: implicit.fixed_point(lambda p, x: (p / x + x) * 0.5, start=lambda p: p),
    "fixed point by solve": lambda: implicit.fixed_point(lambda p, x: (p / x + x) * 0.5, by_scipy),
}


@pytest.mark.parametrize("name", SOLUTIONS)
def test_c39_solutions_are_differentiated_through_their_equation(name):
    root = SOLUTIONS[name]()
    p = f64(4.0)
    close(root(p), 2)
    close(grad(root)(p), 0.25)
    close(jvp(root, (p,), (f64(1.0),))[1], 0.25)
    for second in [hessian(root), grad(grad(root)), jacfwd(jacfwd(root)), jacrev(jacfwd(root))]:
        close(second(p), -1 / 32)
    close(vmap(root)(f64([4.0, 16.0])), [2, 4])
    close(vmap(grad(root))(f64([4.0, 16.0])), [0.25, 0.125])


def test_parameters_and_solutions_are_trees():
    def residual(p, x):
        return {"b": x["b"] - p["shift"], "a": x["a"] * x["a"] - p["scale"] * x["b"]}

    def solve(p):
        b = p["shift"].numpy()
        return {"a": np.sqrt(p["scale"].item() * b), "b": b}

    root = implicit.root(residual, solve)
    p = {"scale": f64(2.0), "shift": f64([2.0, 8.0]), "note": "text"}
    x = root(p)
    close(x["a"], [2, 4])
    g = grad(lambda p: root(p)["a"].sum())(p)
    # a = √(scale · shift)
    close(g["scale"], 0.5 * (2 + 4) / 2)
    close(g["shift"], [0.5, 0.25])


@pytest.mark.parametrize(
    "solver",
    [
        implicit.LinearSolver.dense(),
        implicit.LinearSolver.cg(tolerance=1e-12),
        implicit.LinearSolver.gmres(tolerance=1e-12, restart=5, max_iterations=100),
    ],
    ids=repr,
)
def test_linear_systems(solver):
    matrix = f64([[4.0, 1.0], [1.0, 3.0]])
    system = implicit.linear_solve(lambda a, x: a @ x, symmetric=True, linear_solver=solver)
    b = f64([1.0, 2.0])
    want = np.linalg.solve(np.asarray(matrix), np.asarray(b))
    close(system(matrix, b), want)
    close(jacrev(system, argnums=1)(matrix, b), np.linalg.inv(np.asarray(matrix)))
    close(vmap(system, in_dims=(None, 0))(matrix, f64([[1.0, 2.0], [0.0, 1.0]]))[0], want)


def test_linear_systems_with_solvers_of_ones_own():
    solve = lambda a, b: np.linalg.solve(np.asarray(a), np.asarray(b))
    transposed = lambda a, b: np.linalg.solve(np.asarray(a).T, np.asarray(b))
    system = implicit.linear_solve(lambda a, x: a @ x, solve, transpose_solve=transposed)
    a, b = f64([[2.0, 1.0], [0.0, 3.0]]), f64([1.0, 2.0])
    direct = lambda a, b: (a.inv() @ b).sum()
    g = grad(lambda a, b: system(a, b).sum(), argnums=(0, 1))(a, b)
    h = grad(direct, argnums=(0, 1))(a, b)
    close(g[0], np.asarray(h[0]))
    close(g[1], np.asarray(h[1]))


def test_solvers_are_shown_as_they_are_written():
    assert repr(implicit.LinearSolver.cg(tolerance=0.5)) == "LinearSolver.cg(tolerance=0.5)"
    assert implicit.LinearSolver.dense() == implicit.LinearSolver.dense()
    assert implicit.LinearSolver.dense() != implicit.LinearSolver.gmres()


def test_what_is_differentiated_is_a_parameter():
    with pytest.raises(RuntimeError, match="pass it to the function as an input"):
        grad(lambda p: implicit.root(lambda _, x: x * x - p, start=lambda q: q)(f64(4.0)))(f64(4.0))


def test_one_way_to_find_the_solution():
    for make in [implicit.root, implicit.fixed_point]:
        for options in [{}, {"solve": by_scipy, "start": by_scipy}]:
            with pytest.raises(TypeError, match="expected either `solve` or `start`, and not both"):
                make(square_root, **options)
    with pytest.raises(ValueError, match="expected `batching` to be 'loop'"):
        implicit.root(square_root, by_scipy, batching="all")
    with pytest.raises(TypeError, match="root: expected a function, got int"):
        implicit.root(3, by_scipy)


def test_what_a_solver_returns_is_like_the_residual():
    with pytest.raises(TypeError, match="the function must return tensors, got str at result"):
        implicit.root(square_root, lambda p: "a root of some kind, in words")(f64(4.0))
    with pytest.raises(ValueError, match="expected a residual like x"):
        implicit.root(lambda p, x: [x], by_scipy)(f64(4.0))


def test_a_root_that_is_not_found_is_an_error():
    with pytest.raises(ValueError, match="root"):
        implicit.root(lambda p, x: x * x + p, start=lambda p: p, max_iterations=20)(f64(4.0))


def test_exceptions_of_solvers_arrive_unchanged():
    def fails(*_):
        raise KeyError("mine")

    for root in [implicit.root(square_root, fails), implicit.root(fails, by_scipy), implicit.root(fails, start=fails)]:
        with pytest.raises(KeyError, match="^'mine'$"):
            vmap(grad(root))(f64([4.0]))


def test_kepler():
    """x - e sin x = m for many times at once, with the speed 1 / (1 - e cos x)."""
    place = implicit.root(lambda p, x: x - p["e"] * x.sin() - p["m"], start=lambda p: p["m"])
    m, e = f64([0.5, 1.0, 3.0]), f64(0.6)
    at = lambda m: place({"m": m, "e": e})
    x, speed = vmap(at)(m), vmap(grad(at))(m)
    close(x - 0.6 * x.sin(), np.asarray(m))
    close(speed, 1 / (1 - 0.6 * np.cos(np.asarray(x))))
    assert math.isfinite(speed.sum().item())


def test_cycles_through_solutions_are_collected():
    class Model:
        def __init__(self):
            self.sqrt = implicit.root(self.residual, start=self.start)
            self.point = implicit.fixed_point(self.step, self.start)
            self.solve = implicit.linear_solve(self.product)

        def residual(self, a, x):
            return x * x - a

        def start(self, a):
            return a

        def step(self, a, x):
            return (a / x + x) * 0.5

        def product(self, p, x):
            return p * x

    def use(model):
        assert round(model.sqrt(pb.tensor(4.0)).item(), 5) == 2.0
        assert model.solve(pb.tensor([2.0]), pb.tensor([4.0])).tolist() == [2.0]
        return grad(model.sqrt)(pb.tensor(4.0))

    model = Model()
    use(model)
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None
    # A recorded operation keeps the functions that its derivative needs.
    model = Model()
    a = pb.tensor(4.0, requires_grad=True)
    y = model.sqrt(a) + model.solve(a.reshape(1), pb.tensor([2.0])).sum()
    del model
    gc.collect()
    y.backward()
    assert abs(a.grad.item() - (0.25 - 2.0 / 16)) < 1e-5
