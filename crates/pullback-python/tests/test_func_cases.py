"""Problems that users of other libraries had with transforms; each test is named by its id in the list of cases."""

import itertools
import math
import threading

import numpy as np
import pytest

import pullback as pb
from pullback.func import (
    capture,
    cond,
    grad,
    hessian,
    hessian_diagonal,
    hvp,
    jacfwd,
    jacrev,
    jvp,
    laplacian,
    linearize,
    stop_gradient,
    vjp,
    vmap,
    while_loop,
)


def f64(x):
    return pb.tensor(x, dtype=pb.float64)


def close(got, want, tolerance=1e-9):
    np.testing.assert_allclose(np.asarray(got), want, rtol=tolerance, atol=tolerance)


def test_c44_a_branch_that_depends_on_the_data():
    x = f64([-1.0, 3.0])
    with pytest.raises(RuntimeError, match="vmap.*`bool`|vmap.*bool.*cond|vmap.*where"):
        vmap(lambda x: 2 * x if x > 0 else x - 1)(x)
    f = lambda x: cond(x > 0, lambda x: 2 * x, lambda x: x - 1, (x,))
    assert vmap(f)(x).tolist() == [-2, 6] and vmap(grad(f))(x).tolist() == [1, 2]


def test_c46_a_while_loop_under_vmap():
    f = lambda x: while_loop(lambda x: x <= 0, lambda x: x + 1, x)
    assert vmap(f)(f64([0.0, 1.0, 2.0])).tolist() == [1, 1, 2]
    g = lambda x: while_loop(lambda x: x < 100, lambda x: x * x, x)
    x = f64([3.0, 200.0])
    value, change = vmap(lambda x: jvp(g, (x,), (f64(1.0),)))(x)
    assert value.tolist() == [6561, 200] and change.tolist() == [17496, 1]
    grid = f64([[3.0, 200.0, 2.0], [50.0, 99.0, 101.0]])
    assert vmap(vmap(g))(grid).tolist() == [[6561, 200, 256], [2500, 9801, 101]]


def test_c50_an_index_that_is_a_lane():
    i = pb.tensor([0, 1])
    assert vmap(lambda i: pb.ones(4)[i])(i).tolist() == [1, 1]
    t = f64([10.0, 20.0, 30.0, 40.0])
    assert vmap(lambda i: t[i])(pb.tensor([1, 3])).tolist() == [20, 40]
    table, rows = f64([1.0, 2.0, 3.0, 4.0, 5.0]), f64([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]])
    assert vmap(lambda i, r: table[i] * r)(pb.tensor([2, 3]), rows).tolist() == [[3, 3, 3], [8, 8, 8]]
    with pytest.raises((RuntimeError, TypeError), match="vmap|tensor"):
        vmap(lambda i: [1.0, 2.0][i])(i)


def test_c61_keywords_are_the_same_for_every_lane():
    array = f64([[0.0, 3.0, 0.0], [0.0, 0.0, 2.0], [1.0, 0.0, 0.0]])
    f = lambda d, *, array: array.argmax(-1)
    assert vmap(f)(array, array=array).tolist() == [[1, 2, 0]] * 3
    # Lanes of a keyword are lanes of an argument of a function that passes it on.
    assert vmap(lambda d, a: f(d, array=a))(array, array).tolist() == [1, 2, 0]


def test_c62_negative_nested_and_partial_in_dims():
    x = f64(np.arange(24.0).reshape(2, 3, 4))
    lane_sum = lambda x: x.sum()
    assert vmap(lane_sum, in_dims=-1)(x).tolist() == vmap(lane_sum, in_dims=2)(x).tolist() == np.asarray(x).sum((0, 1)).tolist()
    tree = {"a": f64(np.arange(3.0)), "b": f64(np.ones((5, 3)))}
    f = lambda t: t["a"] + t["b"].sum()
    assert vmap(f, in_dims=({"a": 0, "b": 1},))(tree).tolist() == [5, 6, 7]
    with pytest.raises(ValueError, match=r"structure of \{'a': tensor, 'b': tensor\} at argument\[0\], got \{'a': 0\}"):
        vmap(f, in_dims=({"a": 0},))(tree)


def test_c69_sizes_that_differ_are_listed():
    with pytest.raises(ValueError, match=r"argument\[0\] has 10 \(f32\[10,4\], dim 0\), argument\[1\] has 2 \(f32\[10,2\], dim 1\)"):
        vmap(lambda a, b: a, in_dims=(0, 1))(pb.zeros((10, 4)), pb.zeros((10, 2)))
    with pytest.raises(ValueError, match="disagree on the batch size"):
        vmap(lambda a, b: a + b)(pb.zeros((10, 1)), pb.zeros((1, 1, 1, 5)))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_c76_chunks_of_any_size(size):
    x = f64(np.linspace(-1, 2, 7))
    f = lambda x: x.sin() * x
    assert vmap(f, chunk_size=size)(x).tolist() == vmap(f)(x).tolist()
    g = lambda x: (x.sum() * x).sin()
    assert jacrev(g, chunk_size=size)(x).tolist() == jacrev(g)(x).tolist()


def test_c82_a_jacobian_for_each_row():
    rng = np.random.default_rng(1)
    w, x = f64(rng.normal(size=(10, 5))), f64(rng.normal(size=(3, 5)))
    rows = vmap(jacrev(lambda x: w @ x))(x)
    assert rows.shape == (3, 10, 5)
    close(rows, np.broadcast_to(np.asarray(w), (3, 10, 5)))
    whole = np.asarray(jacrev(lambda x: x @ w.t())(x))
    for i, k in itertools.product(range(3), repeat=2):
        close(whole[i, :, k], np.asarray(w) * (i == k))
    a, b = jacrev(lambda x: (x * x, x.sum()))(f64([1.0, 2.0, 3.0]))
    assert a.tolist() == np.diag([2.0, 4.0, 6.0]).tolist() and b.tolist() == [1, 1, 1]


SLOPES = {"grad": grad, "jvp": lambda f: lambda x: jvp(f, (x,), (f64(1.0),))[1]}


@pytest.mark.parametrize(("outer", "inner"), list(itertools.product(SLOPES, repeat=2)))
def test_c84_perturbations_are_told_apart(outer, inner):
    outer, inner = SLOPES[outer], SLOPES[inner]
    assert outer(lambda x: x * inner(lambda y: x + y)(f64(1.0)))(f64(1.0)).item() == 1
    assert outer(lambda x: x * inner(lambda y: x * y)(f64(1.0)))(f64(4.0)).item() == 8


def test_c87_a_stopped_gradient_is_stopped_in_every_mode():
    f = lambda x: stop_gradient(x * x) + 3 * x
    x = f64(2.0)
    assert jacrev(f)(x).item() == jacfwd(f)(x).item() == grad(f)(x).item() == 3
    assert jvp(f, (x,), (f64(1.0),))[1].item() == linearize(f, x)[1](f64(1.0)).item() == vjp(f, x)[1](f64(1.0))[0].item() == 3
    assert vmap(jacfwd(f))(f64([2.0, 5.0])).tolist() == vmap(grad(f))(f64([2.0, 5.0])).tolist() == [3, 3]
    assert hessian(f)(x).item() == 0


def test_c88_no_grad_outside_of_a_transform_does_not_matter():
    x, one = f64([1.0, 2.0, 3.0]), f64([1.0, 1.0, 1.0])
    with pb.no_grad():
        assert grad(lambda x: (x * x).sum())(x).tolist() == jvp(lambda x: x * x, (x,), (one,))[1].tolist() == [2, 4, 6]
        assert jacfwd(lambda x: x * x)(x).diagonal().tolist() == [2, 4, 6]


def test_no_grad_inside_of_a_transform_is_a_constant_in_both_modes():
    def f(x):
        with pb.no_grad():
            y = x * x
        return x * y

    assert grad(f)(f64(3.0)).item() == jvp(f, (f64(3.0),), (f64(1.0),))[1].item() == 9


def test_c95_choosing_arguments():
    f = lambda x, y: x.sum() * y.sum()
    x, y = f64([[1.0, 2.0], [3.0, 4.0]]), f64([1.0, 1.0])
    assert grad(f, argnums=-1)(x, y).tolist() == [10, 10]
    dx, dy = grad(f, argnums=(0, 1))(x, y)
    assert dx.tolist() == [[2, 2], [2, 2]] and dy.tolist() == [10, 10]
    with pytest.raises(IndexError, match="2 positional arguments"):
        grad(f, argnums=2)(x, y)
    for transform in [jacrev, jacfwd]:
        a, b = transform(lambda a, b: a + b, argnums=(0, 1))(y, y)
        assert a.tolist() == b.tolist() == [[1, 0], [0, 1]]


def test_c100_a_nan_stays_in_its_row():
    f = lambda x: (x.mean(), (x * x).mean(), x.sqrt().mean())
    x = f64([-1.0, -2.0, -3.0])
    for transform in [jacrev, jacfwd]:
        a, b, c = transform(f)(x)
        close(a, [1 / 3] * 3)
        close(b, [-2 / 3, -4 / 3, -2])
        assert np.isnan(np.asarray(c)).all()


def test_c102_threads():
    found, failed = {}, []

    def work(k):
        try:
            found[k] = [grad(lambda x: x * x * x)(f64(float(k))).item() for _ in range(200)]
        except BaseException as e:
            failed.append(e)

    def breaks():
        def f(x):
            raise RuntimeError("in the middle")

        for _ in range(50):
            with pytest.raises(RuntimeError, match="in the middle"):
                vmap(grad(f))(f64([1.0]))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)] + [threading.Thread(target=breaks)]
    [t.start() for t in threads]
    [t.join(60) for t in threads]
    assert not failed and found == {k: [3.0 * k * k] * 200 for k in range(8)}


def test_c103_higher_orders():
    f = lambda x: (x * x).sin()
    close(grad(f)(f64(1.0)), 1.080604612)
    close(grad(grad(f))(f64(1.0)), 2 * math.cos(1) - 4 * math.sin(1))
    g = lambda x, y: x * x + 3 * y + x * y
    h = hessian(g, argnums=(0, 1))(f64(1.0), f64(1.0))
    assert [[e.item() for e in row] for row in h] == [[2, 1], [1, 0]]


def test_c106_parts_of_a_hessian():
    f = lambda v: v[0] * v[0] * v[1] + v[1] ** 3
    x, v = f64([1.0, 2.0]), f64([1.0, 1.0])
    assert hessian_diagonal(f)(x).tolist() == [4, 12] and laplacian(f)(x).item() == 16
    assert (hvp(f, x, v)[1] * v).sum().item() == 20


def test_c109_statistics_are_a_state_that_is_returned():
    def step(mean, batch):
        new = 0.9 * mean + 0.1 * batch.mean()
        return ((batch - batch.mean()) ** 2).sum(), new

    batch = f64([1.0, 3.0])
    g, new = grad(step, argnums=1, has_aux=True)(f64(0.0), batch)
    close(new, 0.2)
    close(g, [-2, 2])
    _, states = vmap(step, in_dims=(0, None))(f64([0.0, 1.0, 2.0]), batch)
    close(states, [0.2, 1.1, 2.0])


def test_c111_an_argument_that_is_changed_in_place():
    def f(x):
        x.mul_(x)
        return x

    x = f64(1.2)
    close(vjp(f, x)[1](f64(1.0))[0], 2.4)
    assert x.item() == 1.2

    def fill(v):
        buffer = pb.zeros(3, dtype=pb.float64)
        buffer[0:2] = 2 * v
        buffer[2] = v[0]
        return buffer

    for transform in [jacrev, jacfwd]:
        assert transform(fill)(f64([1.0, 2.0])).tolist() == [[2, 0], [0, 2], [1, 0]]


def test_c113_a_result_that_is_no_scalar():
    f = lambda x: 2 * x
    with pytest.raises(RuntimeError, match=r"must return a scalar, got f64\[3\]; help: sum it, select one element, or use `vjp` or `jacrev`"):
        grad(f)(pb.ones(3, dtype=pb.float64))
    assert grad(lambda x: f(x)[1])(pb.ones(3, dtype=pb.float64)).tolist() == [0, 2, 0]


def test_c146_a_captured_step_does_not_freeze_parameters():
    x, target = f64([1.0, 1.0, 1.0]), 1.0

    def step(w, b):
        gw, gb = grad(lambda w, b: ((w * x).sum() + b - target) ** 2, argnums=(0, 1))(w, b)
        return w - 0.05 * gw, b - 0.05 * gb

    graph = capture(step)(f64([1.0, 2.0, 3.0]), f64(1.0))
    w, b = graph(f64([1.0, 2.0, 3.0]), f64(1.0))
    close(w, [0.4, 1.4, 2.4])
    close(b, 0.4)
    w, b = graph(f64([10.0, 10.0, 10.0]), f64(1.0))
    close(w, [7, 7, 7])
    close(b, -2)
    assert len(graph.captured) == 1


def test_c150_a_large_table_is_captured_as_it_is():
    table = pb.ones(1_000_000)
    graph = capture(lambda i: table[i] * 2)(pb.tensor(3))
    (captured,) = graph.captured
    assert captured.shape == (1_000_000,)


def test_c159_branches_may_be_joined_in_any_order():
    for join in [lambda a, b: a + 0 * b, lambda a, b: 0 * b + a]:
        assert grad(lambda x: join(x * x, x**3))(f64(2.0)).item() == 4
    dq = grad(lambda a, b: a + b, argnums=(0, 1))(f64(4.0), f64(8.0))
    assert [d.item() for d in dq] == [1, 1] and grad(lambda x: x * x + x**3)(f64(2.0)).item() == 16


@pytest.mark.parametrize("change", [lambda t, x: t.add_(1.0), lambda t, x: t.add_(x), lambda t, x: t.__setitem__((), x),
                                    lambda t, x: t.__iadd__(x)])
def test_c43_g20_captured_tensors_are_not_changed_in_place(change):
    """Once for all lanes would not be what a loop does, and a value of the transform would stay in the tensor."""
    for transform in [lambda f: vmap(f)(f64([1.0, 2.0])), lambda f: grad(f)(f64(1.0)), lambda f: vjp(f, f64(1.0)),
                      lambda f: jvp(f, (f64(1.0),), (f64(1.0),)), lambda f: vmap(f, chunk_size=1)(f64([1.0, 2.0]))]:
        captured = f64(0.0)
        with pytest.raises(RuntimeError, match=r"in-place changes .* got one from outside, f64\[\]; help: return the new value"):
            transform(lambda x: (change(captured, x), x)[1])
        assert captured.item() == 0 and captured.add_(1.0).item() == 1


def test_tensors_of_the_function_may_be_changed_in_place():
    def f(x):
        total = f64(0.0)
        for k in range(3):
            total += x * k
        x *= 2
        return total + x

    assert grad(f)(f64(1.0)).item() == 5 and vmap(f)(f64([1.0, 2.0])).tolist() == [5, 10]

    def nested(x):
        total = f64(0.0)
        total += grad(lambda y: y * y)(x)
        return total

    assert grad(nested)(f64(1.0)).item() == 2
    with pytest.raises(RuntimeError, match="^grad > grad: expected in-place changes"):
        grad(lambda x: grad(lambda y: x.add_(y))(x))(f64(1.0))


def test_constant_arguments_may_be_changed_in_place_and_stay_as_they_were():
    def f(x, y, *, z):
        y.mul_(x)
        z[0] = x.sum()
        return (y * z).sum()

    x, y, z = f64([1.0, 2.0]), f64([3.0, 4.0]), f64([5.0, 6.0])
    # y₀x₀(x₀ + x₁) + y₁x₁z₁
    assert grad(f)(x, y, z=z).tolist() == [3 * 3 + 3, 3 + 24] == jacfwd(f)(x, y, z=z).tolist()
    assert vmap(lambda x, y: f(x.reshape((1,)), y, z=z.clone()), in_dims=(0, None))(x, y).tolist() == [27, 60]
    assert y.tolist() == [3, 4] and z.tolist() == [5, 6]


def test_results_with_names_are_trees():
    out = vmap(lambda r: r.sort())(f64([[3.0, 1.0], [2.0, 5.0]]))
    assert out.values.tolist() == [[1, 3], [2, 5]] and out.indices.tolist() == [[1, 0], [0, 1]]
    assert type(out) is type(f64([1.0]).sort())
    j = jacrev(lambda x: x.svd() if False else x.aminmax())(f64([3.0, 1.0]))
    assert j.min.tolist() == [0, 1] and j.max.tolist() == [1, 0]
