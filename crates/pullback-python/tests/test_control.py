"""Branches, loops, checkpoints, graphs: `cond`, `while_loop`, `fori`, `scan`, `map`, `checkpoint`, `capture`."""

import math

import numpy as np
import pytest

import pullback as pb
from pullback import func
from pullback.func import capture, checkpoint, cond, fori, grad, hessian, jacfwd, jvp, scan, vmap, while_loop


def f64(x):
    return pb.tensor(x, dtype=pb.float64)


def close(got, want, tolerance=1e-10):
    np.testing.assert_allclose(np.asarray(got), want, rtol=tolerance, atol=tolerance)


# cond


def root_or_zero(x):
    return cond(x > 0, lambda x: x.sqrt(), lambda x: x * 0, (x,))


def test_one_branch_runs_for_one_value():
    ran = []
    branch = lambda name: lambda x: (ran.append(name), x)[1]
    for pred, want in [(pb.tensor(True), "yes"), (False, "no")]:
        cond(pred, branch("yes"), branch("no"), (f64(1.0),))
        assert ran.pop() == want and not ran


def test_c45_lanes_that_do_not_take_a_branch_bring_nothing_into_it():
    x = f64([0.0, 4.0])
    assert vmap(root_or_zero)(x).tolist() == [0, 2]
    assert vmap(grad(root_or_zero))(x).tolist() == [0, 0.25]
    assert grad(lambda x: vmap(root_or_zero)(x).sum())(x).tolist() == [0, 0.25]
    assert vmap(lambda x: jvp(root_or_zero, (x,), (f64(1.0),))[1])(x).tolist() == [0, 0.25]
    assert vmap(hessian(root_or_zero))(x).tolist() == [0, -1 / 32]


def test_branches_return_trees_and_take_any_operands():
    f = lambda x: cond(
        x > 1, lambda x, p: {"a": x * p["k"], "n": 1.0}, lambda x, p: {"n": 2.0, "a": x}, (x, {"k": 3.0, "s": "text"})
    )
    out = vmap(f)(f64([1.0, 2.0]))
    assert out["a"].tolist() == [1, 6] and out["n"].tolist() == [2, 1]
    assert cond(True, lambda: f64(1.0), lambda: f64(2.0)).item() == 1


def test_captured_tensors_get_derivatives_through_a_branch():
    f = lambda w: vmap(lambda x: cond(x > 0, lambda: w * x, lambda: x * 0))(f64([1.0, -1.0, 2.0])).sum()
    assert grad(f)(f64(5.0)).item() == 3


@pytest.mark.parametrize(
    ("pred", "error", "message"),
    [
        (1, TypeError, "cond: expected a predicate that is a bool tensor or a bool, got int"),
        (pb.tensor(1.0), TypeError, "cond: expected a predicate of dtype bool, got f32"),
        (pb.tensor([True]), ValueError, r"cond: expected a predicate that is a scalar, got bool\[1\]"),
    ],
)
def test_predicates_are_bool_scalars(pred, error, message):
    with pytest.raises(error, match=message):
        cond(pred, lambda: f64(1.0), lambda: f64(1.0))


def test_branches_agree_where_both_run():
    run = lambda no: vmap(lambda x: cond(x > 0, lambda: {"a": x}, lambda: no(x)))(f64([1.0, -1.0]))
    with pytest.raises(ValueError, match="vmap > cond: expected one structure, got {'a': tensor} from the branch for true"):
        run(lambda x: [x])
    with pytest.raises(ValueError, match=r"expected one type at `\['a'\]`, got f64\[\] .* and f64\[1\]"):
        run(lambda x: {"a": x.unsqueeze(0)})
    with pytest.raises(ValueError, match="expected one structure"):
        vmap(lambda x: cond(x > 0, lambda: (x, "a"), lambda: (x, "b")))(f64([1.0, -1.0]))
    with pytest.raises(TypeError, match="expected `operands` to be a tuple of arguments, got Tensor"):
        cond(True, lambda x: x, lambda x: x, f64(1.0))


# Loops


def test_while_loops_run_as_long_as_each_lane_needs():
    f = lambda x: while_loop(lambda x: x < 100, lambda x: x * x, x)
    x = f64([3.0, 200.0, 2.0])
    assert vmap(f)(x).tolist() == [6561, 200, 256]
    # x⁸, x and x⁸
    assert vmap(grad(f))(x).tolist() == [8 * 3.0**7, 1, 8 * 2.0**7]
    assert vmap(jacfwd(f))(x).tolist() == [8 * 3.0**7, 1, 8 * 2.0**7]


def test_a_tuple_of_states_is_passed_as_arguments():
    steps, x = while_loop(lambda n, x: n < 3, lambda n, x: (n + 1, x * 2), (0, f64(1.0)))
    assert steps.item() == 3 and steps.dtype == pb.int64 and x.item() == 8
    out = while_loop(lambda s: s["n"] < 3, lambda s: {"x": s["x"] * 2, "n": s["n"] + 1}, {"n": 0, "x": f64(1.0)})
    assert out["x"].item() == 8


def test_endless_loops_have_a_bound():
    with pytest.raises(ValueError, match="while_loop: expected the loop to end within 10 steps"):
        while_loop(lambda x: True, lambda x: x, f64(1.0), max_steps=10)


def test_loops_keep_structure_and_types():
    with pytest.raises(ValueError, match=r"while_loop: expected one structure, got \(tensor, tensor\) before a step"):
        while_loop(lambda a, b: a < 3, lambda a, b: a, (f64(1.0), f64(1.0)))
    with pytest.raises(TypeError, match=r"fori: expected one type, got f64\[\] before a step and f32\[\] from the body"):
        fori(0, 2, lambda i, x: x.to_dtype(pb.float32), f64(1.0))
    with pytest.raises(ValueError, match=r"scan: expected one type at `\['c'\]`, got f64\[\] .* f64\[1\]"):
        scan(lambda c, x: ({"c": c["c"].unsqueeze(0)}, None), {"c": f64(1.0)}, f64([1.0]))


def test_fori_counts_with_ints():
    seen = []
    assert fori(2, 5, lambda i, x: (seen.append(i), x * i)[1], f64(1.0)).item() == 24 and seen == [2, 3, 4]
    assert fori(-2, 0, lambda i, x: x * i, f64(1.0)).item() == 2
    assert fori(3, 1, lambda i, x: x * i, f64(7.0)).item() == 7
    assert grad(lambda x: fori(0, 4, lambda i, y: y * x, x))(f64(2.0)).item() == 5 * 16


@pytest.mark.parametrize("checkpoint", [None, False, True, 1, 2, 100])
@pytest.mark.parametrize("reverse", [False, True])
def test_scans_are_loops(checkpoint, reverse):
    xs = {"a": f64([1.0, 2.0, 3.0]), "b": f64([[1.0], [0.5], [2.0]])}

    def step(carry, x):
        carry = carry * x["a"] + x["b"][0]
        return carry, (carry, None)

    def loop(start, xs):
        total, sums = start, []
        for k in reversed(range(3)) if reverse else range(3):
            total = total * xs["a"][k] + xs["b"][k, 0]
            sums.append(total)
        return total, pb.stack(sums[::-1] if reverse else sums, 0)

    run = lambda start, xs: scan(step, start, xs, reverse=reverse, checkpoint=checkpoint)
    total, (sums, none) = run(f64(0.5), xs)
    want, wanted = loop(f64(0.5), xs)
    assert none is None
    close(total, np.asarray(want))
    close(sums, np.asarray(wanted))
    g = grad(lambda s, xs: run(s, xs)[1][0].sum(), argnums=(0, 1))(f64(0.5), xs)
    h = grad(lambda s, xs: loop(s, xs)[1].sum(), argnums=(0, 1))(f64(0.5), xs)
    close(g[0], np.asarray(h[0]))
    close(g[1]["a"], np.asarray(h[1]["a"]))
    close(g[1]["b"], np.asarray(h[1]["b"]))


def test_scans_without_slices_have_a_length():
    total, ys = scan(lambda c, x: (c * 2, c), 1.0, length=3)
    assert total.item() == 8 and ys.tolist() == [1, 2, 4]
    with pytest.raises(ValueError, match="scan: expected at least one tensor to take slices of"):
        scan(lambda c, x: (c, c), 1.0)


def test_steps_of_a_scan_return_a_pair():
    with pytest.raises(TypeError, match="scan: the function must return a tuple of the next carry and a result, got tensor"):
        scan(lambda c, x: c, f64(1.0), f64([1.0]))


def test_map_is_a_loop_that_may_read_data():
    assert func.map(lambda r: r.sum() if r[0].item() > 2 else r.prod(), f64([[1.0, 2.0], [3.0, 4.0]])).tolist() == [2, 7]


def test_exceptions_in_loops_and_branches_arrive_unchanged():
    def fails(*_):
        raise KeyError("mine")

    x = f64([1.0, -1.0])
    for run in [
        lambda: cond(True, fails, fails),
        lambda: vmap(lambda x: cond(x > 0, fails, fails, (x,)))(x),
        lambda: while_loop(fails, fails, x),
        lambda: while_loop(lambda x: True, fails, x),
        lambda: fori(0, 1, fails, x),
        lambda: scan(fails, x, x),
        lambda: scan(fails, x, x, checkpoint=1),
        lambda: func.map(fails, x),
        lambda: checkpoint(fails)(x),
        lambda: capture(fails)(x),
    ]:
        with pytest.raises(KeyError, match="^'mine'$"):
            run()


# checkpoint


def test_c160_checkpoints_under_all_transforms():
    runs = []

    def f(x):
        runs.append(1)
        return x.sin().sin()

    g = checkpoint(f)
    # By hand: cos(sin x) cos x, and its derivative.
    first = math.cos(math.sin(5.0)) * math.cos(5.0)
    second = -math.sin(math.sin(5.0)) * math.cos(5.0) ** 2 - math.cos(math.sin(5.0)) * math.sin(5.0)
    close(grad(g)(f64(5.0)), first)
    assert len(runs) == 2
    assert abs(first - 0.162935809) < 1e-9 and abs(second - 0.616672889) < 1e-9
    close(grad(grad(g))(f64(5.0)), second)
    close(jvp(grad(g), (f64(5.0),), (f64(1.0),))[1], second)
    close(vmap(grad(grad(g)))(f64([5.0, 5.0])), [second, second])


def test_checkpoints_take_trees_keywords_and_captured_tensors():
    def loss(p):
        layer = checkpoint(lambda x, *, b, act: {"y": getattr(x["x"] * p["w"] + b, act)(), "note": "text"})
        out = layer({"x": f64(2.0)}, b=p["b"], act="sin")
        assert out["note"] == "text"
        return out["y"]

    g = grad(loss)({"w": f64(0.5), "b": f64(0.25)})
    close(g["w"], 2 * math.cos(1.25))
    close(g["b"], math.cos(1.25))


# capture


def test_graphs_are_printed_checked_and_called():
    graph = capture(lambda x, p: {"y": (x.sin() * p["w"]).sum(), "z": [x]})(f64([1.0, 2.0]), {"w": f64(3.0)})
    assert str(graph) == repr(graph) and str(graph).startswith("graph(a: f64[2], b: f64[]) {")
    assert graph.operations == ["sin", "mul", "sum"]
    assert graph.argument_types == ["f64[2]", "f64[]"] and graph.result_types == ["f64[]", "f64[2]"]
    graph.verify()
    assert graph.to_svg().startswith("<svg ") and graph._repr_svg_() == graph.to_svg()
    out = graph(f64([0.0, 1.0]), {"w": f64(2.0)})
    close(out["y"], 2 * math.sin(1.0))
    assert out["z"][0].tolist() == [0, 1]


def test_graphs_are_transformed_like_functions():
    graph = capture(lambda x: x.sin() * x)(f64(1.0))
    want = lambda x: math.sin(x) + x * math.cos(x)
    close(grad(graph)(f64(0.7)), want(0.7))
    close(vmap(grad(graph))(f64([0.7, 0.2])), [want(0.7), want(0.2)])
    close(capture(grad(lambda x: x.sin() * x))(f64(1.0))(f64(0.7)), want(0.7))


def test_graphs_are_for_arguments_like_those_they_were_captured_with():
    graph = capture(lambda x, n: x * n)(f64([1.0, 2.0]), 3)
    assert graph(f64([1.0, 2.0]), 3).tolist() == [3, 6]
    with pytest.raises(ValueError, match=r"graph: expected 3 at argument\[1\], got 4"):
        graph(f64([1.0, 2.0]), 4)
    with pytest.raises(ValueError, match=r"graph: expected f64\[2\] at argument\[0\], as captured, got f64\[3\]"):
        graph(f64([1.0, 2.0, 3.0]), 3)
    with pytest.raises(ValueError, match=r"graph: expected \(tensor, 3\) at argument, got \(tensor,\)"):
        graph(f64([1.0, 2.0]))


def test_graphs_do_not_freeze_what_they_cannot_know():
    with pytest.raises(RuntimeError, match="capture"):
        capture(lambda x: x if x.item() > 0 else -x)(f64(1.0))
    with pytest.raises(RuntimeError, match="capture"):
        capture(lambda x: cond(x > 0, lambda: x, lambda: -x))(f64(1.0))


def test_values_from_outside_can_be_replaced():
    w = f64([2.0, 3.0])
    graph = capture(lambda x: x * w)(f64([1.0, 1.0]))
    (captured,) = graph.captured
    assert captured.tolist() == [2, 3]
    assert graph.with_captured([f64([5.0, 6.0])])(f64([1.0, 1.0])).tolist() == [5, 6]
    with pytest.raises(ValueError, match="with_captured: expected 1 tensors"):
        graph.with_captured([])
    with pytest.raises(ValueError, match="a tensor from outside"):
        capture(lambda x: x * w, closed=True)(f64([1.0, 1.0]))


def test_unused_operations_can_be_kept():
    f = lambda x: (x.cos(), x.sin())[1]
    assert capture(f)(f64(1.0)).operations == ["sin"]
    assert capture(f, keep_unused=True)(f64(1.0)).operations == ["cos", "sin"]
