"""The transforms of `pullback.func`, on Python functions of trees. Ids such as T-05 and C86 name cases in the tests' comments."""

import dataclasses
import functools
import inspect
import itertools
import math
import threading
import traceback

import numpy as np
import pytest

import pullback as pb
from pullback.func import (
    grad,
    grad_and_value,
    hessian,
    hessian_diagonal,
    hvp,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    laplacian,
    linearize,
    stop_gradient,
    value_and_grad,
    value_and_jacobian,
    vhp,
    vjp,
    vmap,
)


def f64(x):
    return pb.tensor(x, dtype=pb.float64)


def close(got, want, tolerance=1e-10):
    np.testing.assert_allclose(np.asarray(got), want, rtol=tolerance, atol=tolerance)


def numeric_jacobian(f, x, step=1e-6):
    """Central differences, with the directions last."""
    x = np.asarray(x, dtype=np.float64)
    columns = []
    for k in range(x.size):
        e = np.zeros(x.size)
        e[k] = step
        e = e.reshape(x.shape)
        columns.append((np.asarray(f(f64(x + e))) - np.asarray(f(f64(x - e)))) / (2 * step))
    return np.stack(columns, -1).reshape(np.asarray(columns[0]).shape + x.shape)


def smooth(x):
    """A vector function with all entries of its derivatives."""
    return (x.sin() * x.sum()).exp()


def bowl(x):
    return (x.sin() * x).sum() + x.prod()


POINT = [0.3, -0.7, 1.1]


# Values, against differences and closed forms.


def test_gradients_are_those_of_differences():
    close(grad(bowl)(f64(POINT)), numeric_jacobian(bowl, POINT), 1e-8)


@pytest.mark.parametrize("transform", [jacrev, jacfwd, jacobian, functools.partial(jacrev, chunk_size=2),
                                       functools.partial(jacfwd, chunk_size=1)])
def test_jacobians_are_those_of_differences(transform):
    close(transform(smooth)(f64(POINT)), numeric_jacobian(smooth, POINT), 1e-8)


STRATEGIES = ["forward-over-reverse", "reverse-over-forward", "reverse-over-reverse", "forward-over-forward"]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("chunk_size", [None, 1, 2])
def test_hessians_are_those_of_differences(strategy, chunk_size):
    h = hessian(bowl, strategy=strategy, chunk_size=chunk_size)(f64(POINT))
    close(h, numeric_jacobian(grad(bowl), POINT), 1e-7)


def test_parts_of_a_hessian_are_those_of_the_whole():
    x, v = f64(POINT), f64([1.0, -2.0, 0.5])
    whole = np.asarray(hessian(bowl)(x))
    close(hvp(bowl, x, v)[1], whole @ np.asarray(v))
    close(vhp(bowl, x, v)[1], whole @ np.asarray(v))
    close(hvp(bowl, x, v)[0], np.asarray(bowl(x)))
    close(hessian_diagonal(bowl)(x), np.diag(whole))
    close(laplacian(bowl, chunk_size=2)(x), np.trace(whole))


def test_products_with_the_jacobian_are_those_of_the_matrix():
    x, v = f64(POINT), f64([1.0, -2.0, 0.5])
    j = np.asarray(jacrev(smooth)(x))
    y, push = linearize(smooth, x)
    close(y, np.asarray(smooth(x)))
    close(push(v), j @ np.asarray(v))
    close(jvp(smooth, (x,), (v,))[1], j @ np.asarray(v))
    y, pull = vjp(smooth, x)
    (dx,) = pull(v)
    close(dx, np.asarray(v) @ j)


def test_batches_are_loops():
    x = f64(np.random.default_rng(0).normal(size=(5, 3)))
    for f in [smooth, bowl, grad(bowl), jacrev(smooth), jacfwd(smooth), hessian(bowl), lambda x: jvp(smooth, (x,), (x,))[1],
              lambda x: vjp(smooth, x)[1](x)[0], lambda x: linearize(smooth, x)[1](x)]:
        want = np.stack([np.asarray(f(row)) for row in x])
        for chunk_size in [None, 1, 2, 7]:
            close(vmap(f, chunk_size=chunk_size)(x), want)


# Nests of two and three transforms, of a function of numbers whose derivatives are known.


def derivative_modes():
    one = lambda x: x * 0 + 1
    return {
        "grad": lambda f: grad(f),
        "jvp": lambda f: lambda x: jvp(f, (x,), (one(x),))[1],
        "vjp": lambda f: lambda x: vjp(f, x)[1](one(x))[0],
        "linearize": lambda f: lambda x: linearize(f, x)[1](one(x)),
        "jacrev": lambda f: jacrev(f),
        "jacfwd": lambda f: jacfwd(f),
    }


MODES = derivative_modes()
# sin(x) exp(x/2), by hand
FUNCTION = lambda x: x.sin() * (x * 0.5).exp()
DERIVATIVES = [
    lambda x: math.sin(x) * math.exp(x / 2),
    lambda x: (math.cos(x) + 0.5 * math.sin(x)) * math.exp(x / 2),
    lambda x: (math.cos(x) - 0.75 * math.sin(x)) * math.exp(x / 2),
    lambda x: (-0.25 * math.cos(x) - 1.375 * math.sin(x)) * math.exp(x / 2),
]


@pytest.mark.parametrize("modes", list(itertools.product(MODES, repeat=2)), ids="-".join)
def test_c86_two_derivatives_in_any_modes(modes):
    f = FUNCTION
    for mode in reversed(modes):
        f = MODES[mode](f)
    close(f(f64(0.8)), DERIVATIVES[2](0.8))
    close(vmap(f)(f64([0.8, -0.3])), [DERIVATIVES[2](0.8), DERIVATIVES[2](-0.3)])


@pytest.mark.parametrize("modes", list(itertools.product(["grad", "jvp", "vjp", "linearize"], repeat=3)), ids="-".join)
def test_c86_three_derivatives_in_any_modes(modes):
    f = FUNCTION
    for mode in reversed(modes):
        f = MODES[mode](f)
    close(f(f64(0.8)), DERIVATIVES[3](0.8))


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("modes", [("grad", "jvp", "grad"), ("jvp", "grad", "linearize"), ("vjp", "vjp", "jvp")])
def test_batches_between_derivatives(modes, place):
    """A vmap at any place of a nest of three; what is outside of it differentiates the sum."""
    f = FUNCTION
    for k, mode in enumerate(reversed(modes)):
        if k == place:
            batched = vmap(f)
            f = lambda x, batched=batched: batched(pb.stack([x, x], 0)).sum() * 0.5
        f = MODES[mode](f)
    if place == 3:
        f = vmap(f)
        close(f(f64([0.8, 0.2])), [DERIVATIVES[3](0.8), DERIVATIVES[3](0.2)])
    else:
        close(f(f64(0.8)), DERIVATIVES[3](0.8))


def test_perturbations_do_not_mix():
    # d/dx (x · d/dy (x + y)) = 1
    f = lambda x: x * jvp(lambda y: x + y, (f64(1.0),), (f64(1.0),))[1]
    assert jvp(f, (f64(1.0),), (f64(1.0),))[1].item() == 1.0
    assert grad(lambda x: x * grad(lambda y: x + y)(f64(1.0)))(f64(1.0)).item() == 1.0


# Arguments (T-01 to T-08) and trees.


@pytest.mark.parametrize("transform", [grad, grad_and_value, value_and_grad, jacrev, jacfwd, jacobian, hessian, laplacian])
class TestArgnums:
    @pytest.mark.parametrize("argnums", [[0], 0.0, "x", (0.0,), ((0,),), (0, "x"), True, (False,)])
    def test_t01_t02_t06_are_ints(self, transform, argnums):
        with pytest.raises(TypeError, match=f"{transform.__name__}: expected `argnums` to be an int or a tuple of ints, got"):
            transform(bowl, argnums=argnums)

    @pytest.mark.parametrize("argnums", [2, -3, (0, 2), (-3,)])
    def test_t03_exist(self, transform, argnums):
        with pytest.raises(IndexError, match=r"there is no argument number -?\d, .* 2 positional"):
            transform(lambda x, y: (x * y).sum(), argnums=argnums)(f64(1.0), f64(2.0))

    def test_t04_are_not_empty(self, transform):
        with pytest.raises(ValueError, match="at least one"):
            transform(bowl, argnums=())

    @pytest.mark.parametrize("argnums", [(0, 0), (0, -2)])
    def test_t05_are_different(self, transform, argnums):
        with pytest.raises(ValueError, match="different arguments in `argnums`"):
            transform(lambda x, y: (x * y).sum(), argnums=argnums)(f64(1.0), f64(2.0))

    def test_t07_select_tensors(self, transform):
        with pytest.raises(TypeError, match=r"expected tensors to differentiate at argument\[1\], got 2.5"):
            transform(lambda x, y: (x * y).sum(), argnums=1)(f64(1.0), 2.5)
        with pytest.raises(TypeError, match=r"got 2.5 at argument\[0\]\['k'\]\[1\]"):
            transform(lambda p: (p["k"][0] * 2).sum())({"k": [f64(1.0), 2.5]})
        with pytest.raises(TypeError, match=r"argument\[0\], got ndarray; help: make it a tensor"):
            transform(lambda x: x.sum())(np.ones(3))

    def test_t08_select_floats(self, transform):
        with pytest.raises(RuntimeError, match=r"expected floating-point arguments.*got i64\[\] at argument\[1\]\['n'\]"):
            transform(lambda x, p: (x * p["n"]).sum(), argnums=1)(f64(1.0), {"n": pb.tensor(3)})


def test_argnums_give_their_order():
    f = lambda a, b, c: a * b * b * c
    a, b, c = f64(2.0), f64(3.0), f64(5.0)
    assert grad(f, argnums=-1)(a, b, c).item() == 18
    (only,) = grad(f, argnums=(1,))(a, b, c)
    assert only.item() == 60
    dc, da = grad(f, argnums=(2, 0))(a, b, c)
    assert (dc.item(), da.item()) == (18, 45)
    h = hessian(f, argnums=(0, 1))(a, b, c)
    assert [[x.item() for x in row] for row in h] == [[0, 30], [30, 20]]


@dataclasses.dataclass
class Params:
    w: pb.Tensor
    inner: dict
    kind: str = "sine"
    depth: int = 2
    extra: object = None


def apply(params, x, *, scale=1.0):
    assert params.kind == "sine" and params.depth == 2 and params.extra is None
    return (params.w * params.inner["b"][0] * x * scale).sin().sum()


def test_gradients_have_the_structure_of_the_argument():
    params = Params(f64([1.0, 2.0]), {"b": (f64(0.5),)})
    x = f64([3.0, 4.0])
    g = grad(apply)(params, x, scale=2.0)
    assert isinstance(g, Params) and (g.kind, g.depth, g.extra) == ("sine", 2, None)
    inner = np.cos(np.array([1.0, 2.0]) * 0.5 * np.array([3.0, 4.0]) * 2) * 2
    close(g.w, inner * 0.5 * np.array([3.0, 4.0]))
    close(g.inner["b"][0], (inner * np.array([1.0, 2.0]) * np.array([3.0, 4.0])).sum())


def test_jacobians_have_the_structure_of_results_and_arguments():
    f = lambda p, x: {"s": p["a"] * x, "t": (p["a"].sum(),)}
    p, x = {"a": f64([1.0, 2.0])}, f64([3.0, 4.0])
    for transform in [jacrev, jacfwd, jacobian]:
        j = transform(f, argnums=(0, 1))(p, x)
        assert j["s"][0]["a"].tolist() == [[3, 0], [0, 4]]
        assert j["s"][1].tolist() == [[1, 0], [0, 2]]
        assert j["t"][0][0]["a"].tolist() == [1, 1]
        assert j["t"][0][1].tolist() == [0, 0]
    h = hessian(lambda p: (p["a"] * p["b"] * p["b"]).sum())({"a": x, "b": x})
    assert h["b"]["a"].tolist() == [[6, 0], [0, 8]] and h["a"]["a"].tolist() == [[0, 0], [0, 0]]


def test_all_shapes_of_jacobians():
    for shape_in, shape_out in itertools.product([(), (1,), (2, 3), (0,)], repeat=2):
        x, c = pb.ones(shape_in, dtype=pb.float64), pb.ones(shape_out, dtype=pb.float64)
        for transform in [jacrev, jacfwd]:
            assert transform(lambda x: c * x.sum())(x).shape == shape_out + shape_in


def test_g26_keyword_arguments_are_constants_everywhere():
    f = lambda x, *, k, name: (x * x * k).sum()
    x = f64([1.0, 2.0])
    kwargs = {"k": f64(3.0), "name": "any"}
    assert grad(f)(x, **kwargs).tolist() == [6, 12]
    assert jacrev(f)(x, **kwargs).tolist() == jacfwd(f)(x, **kwargs).tolist() == [6, 12]
    assert hessian(f)(x, **kwargs).tolist() == [[6, 0], [0, 6]]
    assert vjp(f, x, **kwargs)[1](f64(1.0))[0].tolist() == [6, 12]
    assert jvp(f, (x,), (x,), **kwargs)[1].item() == 30
    assert linearize(f, x, **kwargs)[1](x).item() == 30
    assert vmap(f)(x, **kwargs).tolist() == [3, 12]
    assert hvp(f, x, x, **kwargs)[1].tolist() == [6, 12]


def test_constants_may_be_anything():
    f = lambda x, table, mode, n: x * table["a"] + n if mode == "on" else x
    assert grad(f)(f64(2.0), {"a": 3.0}, "on", None or 1).item() == 3
    assert grad(f)(f64(2.0), np.zeros(3), object(), pb.tensor(1)).item() == 1


def test_one_tensor_as_two_arguments_is_two_arguments():
    x = f64(3.0)
    a, b = grad(lambda a, b: a * a * b, argnums=(0, 1))(x, x)
    assert (a.item(), b.item()) == (18, 9)


def test_c166_a_tensor_at_two_places_of_a_tree_is_two_arguments():
    w = f64(2.0)
    g = grad(lambda p: p["a"] * p["b"] * 3)({"a": w, "b": w})
    assert (g["a"].item(), g["b"].item()) == (6, 6)
    assert grad(lambda w: w * (w * 3))(w).item() == 12
    assert vmap(grad(lambda w, x: w * (w * x)), in_dims=(None, 0))(w, f64([1.0, 3.0])).tolist() == [4, 12]


def test_empty_containers_have_empty_derivatives():
    g = grad(lambda p, q: p["w"] * 2, argnums=(0, 1))({"w": f64(1.0), "none": {}}, [])
    assert g[0]["none"] == {} and g[1] == []


# Results: T-10 to T-13, T-20 to T-25, T-30 to T-35.


@pytest.mark.parametrize("transform", [grad, grad_and_value, value_and_grad, laplacian, hessian_diagonal])
def test_t10_t11_the_result_is_a_scalar_tensor(transform):
    with pytest.raises(TypeError, match=r"must return a scalar tensor, got \(tensor, tensor\); help: .*has_aux"):
        transform(lambda x: (x, x))(f64(1.0))
    with pytest.raises(TypeError, match="must return a scalar tensor, got 1.5"):
        transform(lambda x: 1.5)(f64(1.0))
    with pytest.raises(TypeError, match="must return a scalar tensor, got None"):
        transform(lambda x: None)(f64(1.0))
    with pytest.raises(RuntimeError, match=r"must return a scalar, got f64\[1\]"):
        transform(lambda x: x)(f64([1.0]))


def test_g24_an_integer_result_has_no_gradient():
    with pytest.raises(RuntimeError, match=r"floating-point scalar, got i64\[\]"):
        grad(lambda x: x.to_dtype(pb.int64))(f64(1.5))


@pytest.mark.parametrize("out", [lambda x: x, lambda x: [x, x], lambda x: (x,), lambda x: (x, x, x), lambda x: {"a": x}])
@pytest.mark.parametrize("transform", [grad, grad_and_value, jacrev, jacfwd, hessian, laplacian])
def test_t12_has_aux_takes_a_pair(transform, out):
    with pytest.raises(TypeError, match="must return a tuple of the result and the auxiliary data, because of `has_aux`"):
        transform(out, has_aux=True)(f64(1.0))


def test_auxiliary_data_may_be_any_tree():
    f = lambda x: ((x * x).sum(), {"norm": x.sum(), "note": "text", "list": [1, None, x]})
    x = f64([1.0, 2.0])
    g, aux = grad(f, has_aux=True)(x)
    assert g.tolist() == [2, 4] and aux["norm"].item() == 3 and aux["note"] == "text" and aux["list"][:2] == [1, None]
    g, (value, aux) = grad_and_value(f, has_aux=True)(x)
    assert value.item() == 5 and aux["list"][2].tolist() == [1, 2]
    (value, aux), g = value_and_grad(f, has_aux=True)(x)
    assert value.item() == 5 and aux["note"] == "text"
    for transform in [jacrev, jacfwd]:
        j, aux = transform(f, has_aux=True)(x)
        assert j.tolist() == [2, 4] and aux["norm"].item() == 3
    h, aux = hessian(f, has_aux=True)(x)
    assert h.tolist() == [[2, 0], [0, 2]] and aux["note"] == "text"
    value, pull, aux = vjp(f, x, has_aux=True)
    assert pull(f64(1.0))[0].tolist() == [2, 4] and aux["norm"].item() == 3
    value, change, aux = jvp(f, (x,), (x,), has_aux=True)
    assert change.item() == 10 and aux["norm"].item() == 3
    value, product, aux = hvp(f, x, x, has_aux=True)
    assert product.tolist() == [2, 4] and aux["note"] == "text"


def test_auxiliary_data_carries_outer_derivatives():
    inner = lambda x: grad(lambda y: (y * y, x * y), has_aux=True)(x)[1]
    assert grad(inner)(f64(3.0)).item() == 6


def test_value_and_jacobian_gives_both():
    value, j = value_and_jacobian(lambda x: x * x)(f64([1.0, 2.0]))
    assert value.tolist() == [1, 4] and j.tolist() == [[2, 0], [0, 4]]


@pytest.mark.parametrize("empty", [None, (), {}])
def test_t20_vjp_needs_a_result(empty):
    with pytest.raises(ValueError, match="vjp: the function must return at least one tensor"):
        vjp(lambda x: empty, f64(1.0))


@pytest.mark.parametrize("transform", [lambda f: vjp(f, f64(1.0)), lambda f: jvp(f, (f64(1.0),), (f64(1.0),)),
                                       lambda f: linearize(f, f64(1.0)), lambda f: jacrev(f)(f64(1.0))])
def test_t21_t34_results_are_tensors(transform):
    with pytest.raises(TypeError, match=r"the function must return tensors, got 2.5 at result\['a'\]\[1\]"):
        transform(lambda x: {"a": [x, 2.5]})


def test_t22_results_of_vjp_are_floats():
    with pytest.raises(RuntimeError, match=r"expected floating-point results, got i64\[\] at result\[1\]"):
        vjp(lambda x: (x, x.to_dtype(pb.int64)), f64(1.0))


@pytest.mark.parametrize(
    ("cotangents", "error", "message"),
    [
        (lambda x: x, ValueError, r"vjp: expected \{'s': tensor, 't': \(tensor,\)\} at cotangents, got tensor"),
        (lambda x: None, ValueError, "at cotangents, got None"),
        (lambda x: {"s": x, "t": [x]}, ValueError, r"expected \(tensor,\) at cotangents\['t'\], got \[tensor\]"),
        (lambda x: {"s": x, "t": (None,)}, ValueError, r"expected tensor at cotangents\['t'\]\[0\], got None"),
        (lambda x: {"s": x, "t": (1.0,)}, ValueError, r"expected tensor at cotangents\['t'\]\[0\], got 1.0"),
        (lambda x: {"s": x}, ValueError, "got {'s': tensor}"),
        (lambda x: {"s": x.sum(), "t": (x,)}, ValueError, r"cotangent 0 has type f64\[\], .* f64\[2\]"),
        (lambda x: {"s": x.to_dtype(pb.float32), "t": (x,)}, TypeError, r"cotangent 0 has type f32\[2\]"),
    ],
)
def test_t23_cotangents_are_like_the_result(cotangents, error, message):
    x = f64([1.0, 2.0])
    _, pull = vjp(lambda x: {"s": x, "t": (x,)}, x)
    with pytest.raises(error, match=message):
        pull(cotangents(x))


def test_cotangents_may_have_their_keys_in_another_order():
    x = f64([1.0, 2.0])
    _, pull = vjp(lambda x: {"s": 2 * x, "t": 3 * x}, x)
    assert pull({"t": f64([10.0, 10.0]), "s": f64([1.0, 1.0])})[0].tolist() == [32, 32]


def test_t25_primals_are_tensors():
    with pytest.raises(TypeError, match=r"vjp: expected tensors to differentiate at argument\[0\], got 2.0"):
        vjp(lambda x: x, 2.0)
    with pytest.raises(ValueError, match="vjp: expected at least one argument"):
        vjp(lambda: f64(1.0))


def test_t30_to_t33_primals_and_tangents():
    x = f64(1.0)
    with pytest.raises(TypeError, match="jvp: expected `primals` to be the tuple of arguments, got Tensor"):
        jvp(lambda x: x, x, (x,))
    with pytest.raises(ValueError, match=r"jvp: expected \(tensor,\) at tangents, got tensor"):
        jvp(lambda x: x, (x,), x)
    with pytest.raises(ValueError, match=r"expected \(tensor, tensor\) at tangents, got \(tensor,\)"):
        jvp(lambda x, y: x, (x, x), (x,))
    with pytest.raises(ValueError, match=r"expected tensor at tangents\[0\], got 1.0"):
        jvp(lambda x: x, (x,), (1.0,))
    with pytest.raises(TypeError, match=r"argument\[0\], got 1.0"):
        jvp(lambda x: x, (1.0,), (x,))
    with pytest.raises(ValueError, match="at least one argument"):
        jvp(lambda: x, (), ())
    with pytest.raises(TypeError, match=r"tangent 0 has type f32\[\]"):
        jvp(lambda x: x, (x,), (x.to_dtype(pb.float32),))
    with pytest.raises(ValueError, match=r"tangent 0 has type f64\[1\]"):
        jvp(lambda x: x, (x,), (f64([1.0]),))


def test_t35_strict_finds_results_that_do_not_depend_on_the_arguments():
    x = f64(1.0)
    f = lambda x: {"a": x, "b": f64(2.0)}
    assert jvp(f, (x,), (x,))[1]["b"].item() == 0
    with pytest.raises(RuntimeError, match=r"strict: result\['b'\] .* does not depend on the arguments"):
        jvp(f, (x,), (x,), strict=True)


def test_integer_results_of_jvp_have_zero_tangents():
    value, change = jvp(lambda x: (x * 2, x.to_dtype(pb.int64)), (f64(1.5),), (f64(1.0),))
    assert change[0].item() == 2 and change[1].item() == 0 and change[1].dtype == pb.int64


def test_what_does_not_matter_has_a_zero_gradient():
    assert grad(lambda x, y: y * 2)(f64([1.0, 2.0]), f64(1.0)).tolist() == [0, 0]
    assert grad(lambda x: f64(1.0))(f64([1.0, 2.0])).tolist() == [0, 0]
    assert vjp(lambda x, y: x, f64(1.0), f64(2.0))[1](f64(1.0))[1].item() == 0
    assert hessian(lambda x: f64(1.0))(f64([1.0, 2.0])).tolist() == [[0, 0], [0, 0]]


def test_complex_jacobians_are_refused():
    with pytest.raises(RuntimeError, match="real"):
        jacrev(lambda x: x)(pb.tensor(1j))


# Reuse, captures, levels.


def test_c98_a_pullback_serves_many_times_and_inside_transforms():
    y, pull = vjp(lambda x: x * x, f64([1.0, 2.0]))
    for k in range(3):
        assert pull(f64([k, 1.0]))[0].tolist() == [2 * k, 4]
    assert vmap(lambda c: pull(c)[0])(f64([[1.0, 0.0], [0.0, 1.0]])).tolist() == [[2, 0], [0, 4]]
    assert grad(lambda c: pull(c)[0].sum())(f64([1.0, 1.0])).tolist() == [2, 4]
    _, push = linearize(lambda x: x * x, f64([1.0, 2.0]))
    assert vjp(push, f64([0.0, 0.0]))[1](f64([1.0, 1.0]))[0].tolist() == [2, 4]


def test_pullbacks_of_an_outer_level_are_differentiated():
    def f(x):
        _, pull = vjp(lambda y: y * y * x, x)
        return pull(x * 0 + 1)[0]

    # 2x², whose derivative is 4x
    assert f(f64(3.0)).item() == 18 and grad(f)(f64(3.0)).item() == 12


def test_c34_gradients_in_threads():
    results, failed = [], []

    def work():
        try:
            for _ in range(50):
                results.append(grad(lambda x: grad(lambda y: y * y * x)(x))(f64(3.0)).item())
        except BaseException as e:
            failed.append(e)

    threads = [threading.Thread(target=work) for _ in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not failed and results == [12.0] * 400


def test_pullbacks_are_called_from_other_threads():
    _, pull = vjp(lambda x: x.sin(), f64(0.0))
    found = []
    thread = threading.Thread(target=lambda: found.append(pull(f64(2.0))[0].item()))
    thread.start()
    thread.join()
    assert found == [2.0]


def test_captured_values_are_constants_of_the_inner_transform_only():
    f = lambda x: grad(lambda y: x * y * y)(f64(2.0))
    assert f(f64(3.0)).item() == 12 and grad(f)(f64(3.0)).item() == 4


def test_g19_a_value_that_escapes_is_an_error():
    kept = []

    def f(x):
        kept.append(x * 2)
        return x * x

    grad(f)(f64(1.0))
    with pytest.raises(pb.EscapedTracerError, match="`grad` .* that has ended"):
        kept[0] + 1
    vmap(f)(f64([1.0]))
    with pytest.raises(pb.EscapedTracerError, match="`vmap` .* that has ended"):
        kept[1] + 1
    with pytest.raises(pb.EscapedTracerError):
        grad(lambda x: kept[0])(f64(1.0))


def test_stop_gradient_stops_all_modes():
    f = lambda x: x * stop_gradient({"a": [x, "text"]})["a"][0]
    assert grad(f)(f64(3.0)).item() == 3 and jvp(f, (f64(3.0),), (f64(1.0),))[1].item() == 3


def test_host_arrays_may_change_after_the_forward_pass():  # C178
    array = np.array([1.0, 2.0, 3.0])
    _, pull = vjp(lambda x: x * x, pb.from_numpy(array))
    array[:] = 100
    assert pull(f64([1.0, 1.0, 1.0]))[0].tolist() == [2, 4, 6]


# Exceptions.


class Mine(Exception):
    pass


def fails(x):
    raise Mine("on this line")


@pytest.mark.parametrize(
    "run",
    [
        lambda x: grad(fails)(x),
        lambda x: vmap(fails)(pb.stack([x, x], 0)),
        lambda x: vmap(fails, chunk_size=1)(pb.stack([x, x], 0)),
        lambda x: vmap(grad(fails))(pb.stack([x, x], 0)),
        lambda x: hessian(fails)(x),
        lambda x: vjp(fails, x),
        lambda x: jvp(fails, (x,), (x,)),
        lambda x: linearize(fails, x),
        lambda x: grad(lambda x: jacfwd(fails)(x))(x),
        lambda x: laplacian(fails)(x),
    ],
)
def test_c175_exceptions_of_the_function_arrive_unchanged(run):
    with pytest.raises(Mine, match="^on this line$") as caught:
        run(f64(1.0))
    assert type(caught.value) is Mine and caught.value.args == ("on this line",)
    assert traceback.extract_tb(caught.tb)[-1].name == "fails"
    # And leave everything as it was.
    assert grad(lambda x: x * x)(f64(3.0)).item() == 6


def test_interrupts_and_exits_pass_through():
    def interrupted(x):
        raise KeyboardInterrupt

    for error, f in [(KeyboardInterrupt, interrupted), (SystemExit, lambda x: exit(3))]:
        with pytest.raises(error):
            vmap(grad(f))(f64([1.0]))
    assert grad(lambda x: x * x)(f64(3.0)).item() == 6


def test_an_exception_that_is_caught_inside_does_no_harm():
    def f(x):
        try:
            grad(fails)(x)
        except Mine:
            return x * 2

    assert grad(f)(f64(1.0)).item() == 2


def test_messages_name_the_chain_of_transforms():
    with pytest.raises(RuntimeError, match=r"^jacrev > vmap > grad: the function must return a scalar, got f64\[2\]"):
        jacrev(vmap(grad(lambda x: x)))(f64([[1.0, 2.0]]))
    with pytest.raises(RuntimeError, match=r"^vmap: `item`.*" if False else "vmap"):
        vmap(lambda x: pb.tensor(x.item()))(f64([1.0]))


def test_what_is_not_callable_is_refused_at_once():
    for transform in [grad, vmap, jacrev, hessian, lambda f: vjp(f, f64(1.0)), lambda f: jvp(f, (), ())]:
        with pytest.raises(TypeError, match="expected a function, got int"):
            transform(3)


# The callables that transforms return.


def documented(x, n=2):
    """What it does."""
    return x**n


def test_transformed_functions_look_like_the_function():
    for f in [grad(documented), vmap(documented), hessian(documented)]:
        assert f.__name__ == "documented" and f.__doc__ == "What it does." and f.__wrapped__ is documented
        assert list(inspect.signature(f).parameters) == ["x", "n"]
        assert "documented" in repr(f)


def test_transforms_have_signatures_and_docs():
    assert str(inspect.signature(grad)) == "(func, argnums=0, has_aux=False)"
    assert str(inspect.signature(jacfwd)) == "(func, argnums=0, has_aux=False, *, randomness='error', chunk_size=None)"
    assert str(inspect.signature(jacrev)) == "(func, argnums=0, *, has_aux=False, chunk_size=None)"
    assert str(inspect.signature(jvp)) == "(func, primals, tangents, *, strict=False, has_aux=False, **kwargs)"
    assert str(inspect.signature(vmap)).startswith("(func, in_dims=0, out_dims=0, randomness='error', *, chunk_size=None")
    assert all(getattr(pb.func, name).__doc__ for name in pb.func.__all__)


def test_transforms_are_decorators_of_functions_and_methods():
    @functools.partial(vmap, in_dims=(None, 0))
    @functools.partial(grad, argnums=1)
    def f(w, x):
        return w * x * x

    assert f(f64(2.0), f64([1.0, 3.0])).tolist() == [4, 12]

    class Model:
        scale = 3.0

        @functools.partial(grad, argnums=1)
        def slope(self, x):
            return x * x * self.scale

    assert Model().slope(f64(2.0)).item() == 12


def test_transformed_functions_take_attributes_and_weak_references():
    import weakref

    f = grad(documented)
    f.note = 3
    assert f.note == 3 and weakref.ref(f)() is f
    with pytest.raises(AttributeError):
        f.missing


def test_callables_of_all_kinds_are_transformed():
    class Cube:
        def __call__(self, x):
            return x**3

        def method(self, x):
            return x**3

    for f in [Cube(), Cube().method, functools.partial(pow, exp=3), lambda x: x**3, grad(lambda x: x**4 * 0.25)]:
        assert abs(grad(f)(f64(2.0)).item() - 12) < 1e-12


@pytest.mark.parametrize("transform", [grad, jacrev, jacfwd, hessian, laplacian])
def test_an_argument_number_beyond_64_bits_is_none(transform):
    with pytest.raises(IndexError, match=f"{transform.__name__}: there is no argument number {2**70}"):
        transform(lambda x: x, argnums=2**70)


@pytest.mark.parametrize("transform", [jacrev, jacfwd, hessian, laplacian, hessian_diagonal])
def test_wrong_chunk_sizes_name_the_transform(transform):
    name = transform.__name__
    for size, error in [(2**70, ValueError), (True, TypeError), ("1", TypeError)]:
        with pytest.raises(error, match=f"{name}: expected `chunk_size` to be an int of at least 1, got"):
            transform(lambda x: x, chunk_size=size)


def test_errors_name_the_transform_that_was_called():
    for transform in (grad_and_value, value_and_grad):
        with pytest.raises(RuntimeError, match=f"^{transform.__name__}: the function must return a scalar"):
            transform(lambda x: x)(pb.ones(2))
        with pytest.raises(RuntimeError, match=f"^grad > {transform.__name__}: the function must return a scalar"):
            grad(lambda x: transform(lambda x: x)(x)[0])(pb.ones(2))
        with pytest.raises(RuntimeError, match=f"^{transform.__name__} > grad: the function must return a scalar"):
            transform(lambda x: grad(lambda x: x)(x).sum())(pb.ones(2))
