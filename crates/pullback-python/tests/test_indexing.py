"""Brackets: NumPy's results for every kind of index, and tensors that get another value."""

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, jacrev, vmap

A = np.arange(60.0).reshape(3, 4, 5)
INDICES = [
    1,
    -1,
    np.int64(2),
    slice(None),
    slice(1, 3),
    slice(None, None, -1),
    slice(-2, None),
    slice(10, 20),
    slice(None, -100, -2),
    None,
    ...,
    (1, 2, 3),
    (..., 1),
    (0, ..., -1),
    (slice(None), None, slice(None, None, 2)),
    (None, ..., None),
    [0, 2],
    ([0, 2], [1, 3]),
    (slice(None), [1, 1, 0]),
    ([0, 1], slice(None), [2, 3]),
    (slice(None), [0, 1], [2, 3]),
    np.array([[0, 1], [2, 0]]),
    A > 30,
    A[0, 0] > 1,
    [True, False, True],
    (slice(None), np.array([True, False, True, True])),
    (1, A[0] > 7),
    [],
    (),
]


def in_tensors(index):
    """The index with tensors for arrays and lists."""
    if isinstance(index, tuple):
        return tuple(in_tensors(part) for part in index)
    return pb.tensor(index) if isinstance(index, (list, np.ndarray)) and len(index) else index


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_indices_agree_with_numpy(index):
    if isinstance(index, np.ndarray) and index.shape == (5,):
        index = (..., index)
    want = A[index]
    for each in (index, in_tensors(index)):
        got = pb.tensor(A)[each]
        assert got.shape == want.shape
        np.testing.assert_array_equal(got.numpy(), want)


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_assignment_agrees_with_numpy(index):
    if isinstance(index, np.ndarray) and index.shape == (5,):
        index = (..., index)
    a, t = A.copy(), pb.tensor(A)
    a[index], t[index] = -1.0, -1.0
    np.testing.assert_array_equal(t.numpy(), a)
    value = np.random.default_rng(0).normal(size=a[index].shape)
    if not (isinstance(index, tuple) and [1, 1, 0] in [x for x in index if isinstance(x, list)]):
        a[index], t[index] = value, pb.tensor(value)
        np.testing.assert_array_equal(t.numpy(), a)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (3, "index 3 is out of range for dim 0"),
        (-4, "index -4 is out of range"),
        (2**70, "out of range"),
        ((0, 0, 0, 0), "at most 3"),
        ((..., ...), "at most one"),
        (1.5, "got the float 1.5; help: convert it with `int`"),
        ("a", "got <class 'str'>"),
        (True, "the bool True"),
        ([1.5], "int64, int32 or bool"),
        (pb.tensor([0.5]), "convert it"),
        ([0, 7], "7"),
        (pb.tensor([True, False]), "."),
    ],
)
def test_bad_indices_are_index_errors(index, message):
    x = pb.tensor(A)
    for broken in (lambda: x[index], lambda: x.__setitem__(index, 0.0)):
        with pytest.raises((IndexError, ValueError), match=message) as raised:
            broken()
        if message != ".":
            assert raised.type is IndexError
    assert x.tolist() == A.tolist()


def test_messages_say_what_python_calls_an_index():
    x = pb.zeros(2, dtype=pb.int64)
    with pytest.raises(IndexError, match=r"^indexing: index 5 is out of range for dim 0 of i64\[2\]"):
        x[5]
    with pytest.raises(TypeError, match="^assignment: expected a value that can be stored"):
        x[0] = 0.5
    with pytest.raises(IndexError, match="vmap.*indexing: index 5"):
        vmap(lambda x: x[5])(pb.zeros(2, 3))


def test_a_step_of_zero_is_refused():
    with pytest.raises(ValueError, match="step"):
        pb.tensor(A)[::0]


def test_tensors_of_one_integer_are_positions():
    assert pb.arange(5)[pb.tensor(3)].item() == 3
    assert vmap(lambda k: pb.tensor([5.0, 6.0, 7.0])[k])(pb.tensor([2, 0])).tolist() == [7.0, 5.0]


def test_views_do_not_see_what_is_written():
    x = pb.zeros(2, 2)
    row, name, copy = x[0], x, x.clone()
    x[0] = pb.tensor([1.0, 2.0])
    assert name is x and x.tolist() == [[1.0, 2.0], [0.0, 0.0]]
    assert row.tolist() == [0.0, 0.0] and copy.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    x[0][1] = 9.0
    assert x.tolist() == [[1.0, 2.0], [0.0, 0.0]]


def test_values_of_many_kinds_are_written():
    x = pb.zeros(2, 3)
    x[0] = [1, 2, 3]
    x[1, :2] = np.array([4.0, 5.0])
    x[..., 2] = 7
    assert x.tolist() == [[1.0, 2.0, 7.0], [4.0, 5.0, 7.0]]
    n = pb.zeros(2, dtype=pb.int64)
    with pytest.raises(TypeError, match="stored in i64"):
        n[0] = 1.5
    with pytest.raises(ValueError, match="broadcasts"):
        x[0] = [1.0, 2.0]
    with pytest.raises(TypeError, match="`value`"):
        x[0] = "a"
    with pytest.raises(TypeError, match="deleted"):
        del x[0]
    assert n.tolist() == [0, 0]


def test_writing_is_differentiated():
    def f(v):
        out = pb.zeros(3, dtype=v.dtype)
        out[:2] = v * 2
        out[2] = v[0]
        return out

    assert jacrev(f)(pb.ones(2)).tolist() == [[2.0, 0.0], [0.0, 2.0], [1.0, 0.0]]

    def g(x):
        x = x.clone()
        x[1] = 0.0
        return (x * x).sum()

    assert grad(g)(pb.tensor([3.0, 4.0])).tolist() == [6.0, 0.0]
    assert vmap(grad(g))(pb.tensor([[3.0, 4.0], [5.0, 6.0]])).tolist() == [[6.0, 0.0], [10.0, 0.0]]


def test_an_argument_that_is_written_to_in_a_transform_stays_what_it_was_outside():
    def f(x):
        x[0] = 0.0
        x += 1
        return x.sum()

    x = pb.tensor([1.0, 2.0])
    assert grad(f)(x).tolist() == [0.0, 1.0] and x.tolist() == [1.0, 2.0]


def test_reading_with_an_index_is_differentiated():
    index = pb.tensor([0, 0, 2])
    assert grad(lambda x: (x[index] * pb.tensor([1.0, 10.0, 100.0])).sum())(pb.ones(3)).tolist() == [11.0, 0.0, 100.0]
    assert grad(lambda x: x[::-2][0])(pb.ones(4)).tolist() == [0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize("mask", [True, np.bool_(True), pb.tensor(True), np.array(False)])
def test_masks_without_dims_are_no_index(mask):
    for x in (pb.ones(3), pb.tensor(1.0)):
        with pytest.raises(IndexError, match="indexing: expected an integer, .*bool.*write `None` for a new dim"):
            x[mask]
        with pytest.raises(IndexError, match="indexing: expected an integer"):
            x[mask] = 2.0
