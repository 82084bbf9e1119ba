"""`vmap`: where lanes lie, what is the same for all of them, and what is an error."""

import collections
import dataclasses
import typing

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, jacrev, vmap


def f64(x):
    return pb.tensor(x, dtype=pb.float64)


MATRIX = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


class Pair(typing.NamedTuple):
    a: object
    b: object


@dataclasses.dataclass
class Params:
    w: object
    name: str = "p"


def test_dims_of_arguments():
    x, v = f64(MATRIX), f64([1.0, 2.0, 3.0])
    assert vmap(lambda r: r.sum())(x).tolist() == [6, 15]
    assert vmap(lambda c: c.sum(), in_dims=1)(x).tolist() == [5, 7, 9]
    assert vmap(lambda c: c.sum(), in_dims=-1)(x).tolist() == [5, 7, 9]
    assert vmap(lambda r, v: (r * v).sum(), in_dims=(0, None))(x, v).tolist() == [14, 32]
    assert vmap(lambda c, s: c * s, in_dims=(1, 0))(x, v).tolist() == [[1, 4], [4, 10], [9, 18]]


def test_dims_of_results():
    x = f64(MATRIX)
    assert vmap(lambda r: r, out_dims=1)(x).tolist() == np.array(MATRIX).T.tolist()
    assert vmap(lambda r: r, out_dims=-1)(x).tolist() == np.array(MATRIX).T.tolist()
    assert vmap(lambda r: r, out_dims=(1,))(x).shape == (3, 2)
    a, b = vmap(lambda r: (r, r), out_dims=(0, 1))(x)
    assert a.shape == (2, 3) and b.shape == (3, 2)
    out = vmap(lambda r: {"a": [r, r], "b": r}, out_dims={"a": 1, "b": 0})(x)
    assert out["a"][1].shape == (3, 2) and out["b"].shape == (2, 3)


def test_dims_in_trees():
    x = f64(MATRIX)
    f = lambda p, y: p["a"][0].sum() + p["b"].sum() + y
    p = {"a": [x, f64(1.0)], "b": x}
    assert vmap(f, in_dims=({"a": [1, None], "b": 1}, None))(p, 10.0).tolist() == [20, 24, 28]
    assert vmap(f, in_dims=({"b": 1, "a": [1, None]}, 0))(p, f64([0.0, 1.0, 2.0])).tolist() == [10, 15, 20]
    assert vmap(lambda q: q.a.sum() * q.b, in_dims=(Pair(1, None),))(Pair(x, 2.0)).tolist() == [10, 14, 18]
    assert vmap(lambda q: q.a.sum() + q.b.sum())(Pair(x, x)).tolist() == [12, 30]
    q = vmap(lambda q: Params(q.w * 2, q.name), out_dims=Params(0, None))(Params(x))
    assert q.w.shape == (2, 3) and q.name == "p"
    ordered = collections.OrderedDict(w=x)
    assert vmap(lambda p: p["w"].sum(), in_dims=({"w": 1},))(ordered).tolist() == [5, 7, 9]


def test_what_is_shared_stays_the_same_object():
    shared, table = object(), {"w": f64(1.0)}

    def f(x, s, t):
        assert s is shared and t is table
        return x

    vmap(f, in_dims=(0, None, None))(f64([1.0]), shared, table)


def test_strings_and_flags_of_an_argument_are_the_same_for_every_lane():
    f = lambda p, mask: p["x"] * 2 if p["on"] and p["name"] == "n" and mask is None else p["x"]
    assert vmap(f)({"x": f64([1.0, 2.0]), "on": True, "name": "n"}, None).tolist() == [2, 4]


def test_results_that_do_not_depend_on_the_lane():
    x = f64([1.0, 2.0])
    assert vmap(lambda x: f64(3.0))(x).tolist() == [3, 3]
    y, note = vmap(lambda x: (x, "note"), out_dims=(0, None))(x)
    assert note == "note"
    assert vmap(lambda x: f64(3.0), out_dims=None)(x).item() == 3
    assert vmap(lambda x: {"a": f64(3.0), "b": 1}, out_dims=None)(x)["b"] == 1


def test_number_of_lanes_without_mapped_arguments():
    assert vmap(lambda x: x * 2, in_dims=None, batch_size=3)(f64(1.0)).tolist() == [2, 2, 2]
    with pytest.raises(ValueError, match="`batch_size` is 3"):
        vmap(lambda x: x, batch_size=3)(f64([1.0]))


def test_no_lanes():
    assert vmap(lambda x: x.sin())(pb.zeros((0, 3))).shape == (0, 3)
    assert vmap(lambda x: x.sin(), chunk_size=2)(pb.zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 10])
def test_t65_chunks_give_the_same(chunk_size):
    x = f64(np.arange(10.0).reshape(5, 2))
    f = lambda x, c: ({"a": x.sin() * c}, c, "text")
    want = vmap(f, in_dims=(0, None), out_dims=({"a": 1}, None, None))(x, f64(2.0))
    got = vmap(f, in_dims=(0, None), out_dims=({"a": 1}, None, None), chunk_size=chunk_size)(x, f64(2.0))
    assert got[0]["a"].tolist() == want[0]["a"].tolist() and got[1].item() == 2 and got[2] == "text"


def test_a_chunk_of_one_may_read_data():
    assert vmap(lambda x: x * 2 if x.item() > 1 else x, chunk_size=1)(f64([1.0, 2.0])).tolist() == [1, 4]


def test_nested_dims_count_what_the_outer_ones_leave():
    x = f64(np.arange(24.0).reshape(2, 3, 4))
    f = vmap(vmap(lambda v: v.sum(), in_dims=1), in_dims=1)
    # The outer one takes the 3, the inner one the 4 of [2, 4].
    assert f(x).tolist() == np.asarray(x).transpose(1, 2, 0).sum(-1).tolist()


def test_t50_t51_there_must_be_something_to_map():
    for call in [lambda: vmap(lambda: f64(1.0))(), lambda: vmap(lambda x: x, in_dims=None)(f64(1.0)),
                 lambda: vmap(lambda x: x, in_dims=(None,))(f64(1.0)), lambda: vmap(lambda *, x: x)(x=f64([1.0]))]:
        with pytest.raises(ValueError, match="vmap: expected at least one argument to map over"):
            call()


@pytest.mark.parametrize("in_dims", [[0], {"x": 0}, "0", 0.0, True, (True,), ("x",), ([0.5],)])
def test_t52_t54_in_dims_are_ints_and_none(in_dims):
    with pytest.raises(TypeError, match="vmap: expected (in_)?dims to be"):
        vmap(lambda x: x, in_dims=in_dims)


def test_dims_that_contain_themselves_are_refused():
    endless = []
    endless.append(endless)
    for options in [{"in_dims": (endless,)}, {"out_dims": endless}]:
        with pytest.raises(RecursionError):
            vmap(lambda x: x, **options)


def test_t53_in_dims_have_the_structure_of_the_arguments():
    x = f64([1.0])
    with pytest.raises(ValueError, match=r"in_dims for 2 positional arguments, got \(0,\)"):
        vmap(lambda x, y: x, in_dims=(0,))(x, x)
    with pytest.raises(ValueError, match=r"expected in_dims with the structure of \[tensor\] at argument\[1\]\['k'\], got \(0,\)"):
        vmap(lambda x, y: x, in_dims=(0, {"k": (0,)}))(x, {"k": [x]})
    with pytest.raises(ValueError, match=r"structure of tensor at argument\[0\], got \[0\]"):
        vmap(lambda x: x, in_dims=([0],))(x)
    with pytest.raises(ValueError, match=r"structure of \{'a': tensor\} at argument\[0\], got \{'b': 0\}"):
        vmap(lambda x: x, in_dims=({"b": 0},))({"a": x})


def test_t55_only_tensors_have_lanes():
    x = f64([1.0])
    for constant in [3.0, "text", 2, np.ones(1)]:
        with pytest.raises(TypeError, match=r"vmap: expected a tensor at argument\[1\], because its in_dim is 0, got"):
            vmap(lambda x, y: x)(x, constant)
    with pytest.raises(TypeError, match=r"at argument\[0\]\['a'\], because its in_dim is 0, got ndarray"):
        vmap(lambda p: p["b"])({"a": np.ones(1), "b": x})


@pytest.mark.parametrize("dim", [2, -3])
def test_t56_in_dims_exist(dim):
    with pytest.raises(IndexError, match=rf"vmap: in_dims: dim {dim} is out of range for argument\[0\]\['x'\] \(f64\[2,3\]\) \(valid: -2 to 1\)"):
        vmap(lambda p: p["x"], in_dims=dim)({"x": f64(MATRIX)})
    with pytest.raises(IndexError, match="dim 0 is out of range"):
        vmap(lambda x: x)(f64(1.0))


def test_t57_sizes_agree():
    with pytest.raises(ValueError, match=r"disagree on the batch size: argument\[0\] has 2 \(f64\[2,3\], dim 0\), argument\[1\]\['k'\] has 3"):
        vmap(lambda x, y: x)(f64(MATRIX), {"k": f64([1.0, 2.0, 3.0])})


@pytest.mark.parametrize("out_dims", ["0", 0.5, True, (0, "x")])
def test_t58_out_dims_are_ints_and_none(out_dims):
    with pytest.raises(TypeError, match="vmap: expected dims to be"):
        vmap(lambda x: x, out_dims=out_dims)


def test_t59_out_dims_have_the_structure_of_the_results():
    with pytest.raises(ValueError, match=r"vmap: expected out_dims with the structure of tensor at result, got \(0, 0\)"):
        vmap(lambda x: x, out_dims=(0, 0))(f64([1.0]))
    with pytest.raises(ValueError, match=r"out_dims with the structure of \[tensor, tensor\] at result\['a'\], got \[0\]"):
        vmap(lambda x: {"a": [x, x]}, out_dims={"a": [0]})(f64([1.0]))


def test_t60_out_dims_exist():
    with pytest.raises(IndexError, match=r"dim 2 is out of range for result\['a'\] with its lanes, f64\[\] \(valid: -1 to 0\)"):
        vmap(lambda x: {"a": x}, out_dims=2)(f64([1.0]))


@pytest.mark.parametrize("out", [3.0, "text", [1]])
def test_t61_results_with_lanes_are_tensors(out):
    with pytest.raises(TypeError, match=r"vmap: the function must return tensors where out_dims is 0, got .* at result\['a'\]"):
        vmap(lambda x: {"a": out, "b": x})(f64([1.0]))


@pytest.mark.parametrize("chunk_size", [None, 1])
def test_t62_none_is_for_results_that_are_the_same(chunk_size):
    with pytest.raises(IndexError, match=r"out_dims is None for result\[1\]"):
        vmap(lambda x: (x, x), out_dims=(0, None), chunk_size=chunk_size)(f64([1.0, 2.0]))


def test_t63_policies_by_name():
    with pytest.raises(ValueError, match="vmap: expected `randomness` to be 'error', 'different' or 'same', got 'some'"):
        vmap(lambda x: x, randomness="some")


@pytest.mark.parametrize("size", [0, -1])
def test_t64_chunks_have_a_size(size):
    for transform in [vmap, jacrev]:
        with pytest.raises(ValueError, match=f"expected `chunk_size` to be an int of at least 1, got {size}"):
            transform(lambda x: x, chunk_size=size)


def test_c164_gradients_per_example():
    w, x = f64(3.0), f64([1.0, 2.0])
    g = vmap(grad(lambda w, x: (w * x) ** 2), in_dims=(None, 0))(w, x)
    assert g.tolist() == [6, 24] and g.mean().item() == 15 and g.var().item() == 162


def test_c168_gradients_per_example_of_a_table():
    table = f64([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    samples = pb.tensor([[0, 0], [2, 1]])
    loss = lambda t, s: (t[s] ** 2).sum()
    g = vmap(grad(loss), in_dims=(None, 0))(table, samples)
    assert g.tolist() == [[[4, 8], [0, 0], [0, 0]], [[0, 0], [6, 8], [10, 12]]]


def test_c172_rows_of_a_jacobian_for_some_examples():
    w = f64([1.0, 2.0])
    rows = lambda x: jacrev(lambda w: pb.stack([w.sum() * x, (w * w).sum() * x, w[0] * x], 0))(w)
    x = f64([1.0, 2.0, 3.0])
    whole, some = vmap(rows)(x), vmap(rows)(x[pb.tensor([0, 2])])
    assert some.shape == (2, 3, 2) and some.tolist() == [whole.tolist()[0], whole.tolist()[2]]


def test_reading_data_under_vmap_is_an_error_that_names_it():
    for read in [lambda x: x.item(), lambda x: bool(x > 0), lambda x: x.tolist(), lambda x: np.asarray(x), float]:
        with pytest.raises(RuntimeError, match="vmap"):
            vmap(lambda x: (read(x), x)[1])(f64([1.0]))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"batch_size": -1}, ValueError, "vmap: expected `batch_size` to be an int of at least 0, got -1"),
        ({"in_dims": 2**70}, IndexError, f"vmap: dim {2**70} is out of range"),
        ({"out_dims": (0, 2**70)}, IndexError, f"vmap: dim {2**70} is out of range"),
        ({"chunk_size": 2**70}, ValueError, "vmap: expected `chunk_size`"),
        ({"chunk_size": True}, TypeError, "vmap: expected `chunk_size` to be an int of at least 1, got the bool True"),
        ({"randomness": None}, TypeError, "vmap: expected `randomness` to be 'error', .*got None"),
        ({"randomness": "\ud800"}, ValueError, "vmap: expected `randomness`"),
    ],
)
def test_options_of_the_wrong_kind_say_what_is_expected(options, error, message):
    with pytest.raises(error, match=message):
        vmap(lambda x: x, **options)
