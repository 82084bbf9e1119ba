"""Operators: NumPy's results for every pair of operands, both sides, and what is refused."""

import operator
from decimal import Decimal

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, vmap

ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
A = np.array([[5.5, -5.5, 2.0], [7.0, 0.5, -1.0]])
B = np.array([2.0, -2.0, 3.0])


@pytest.mark.parametrize("op", ARITHMETIC + COMPARISONS)
def test_operators_agree_with_numpy(op):
    with np.errstate(all="ignore"):
        want = op(A, B)
    a, b = pb.tensor(A), pb.tensor(B)
    for got in (op(a, b), op(A, b), op(a, B)):
        assert isinstance(got, pb.Tensor)
        np.testing.assert_allclose(got.numpy(), want)


@pytest.mark.parametrize("op", ARITHMETIC + COMPARISONS)
@pytest.mark.parametrize("number", [2, 2.5, True, np.float64(2.5), np.float32(2.5), np.int64(2)])
def test_operators_take_numbers_on_both_sides(op, number):
    a = np.array([1.5, 4.0])
    np.testing.assert_allclose(op(pb.tensor(a), number).numpy(), op(a, number))
    np.testing.assert_allclose(op(number, pb.tensor(a)).numpy(), op(number, a))


@pytest.mark.parametrize("op", [operator.floordiv, operator.mod])
def test_integer_division_rounds_down(op):
    a, b = np.array([7, -7, 7, -7, 6]), np.array([3, 3, -3, -3, -3])
    assert op(pb.tensor(a), pb.tensor(b)).tolist() == op(a, b).tolist()
    assert op(pb.tensor(a), 2).tolist() == op(a, 2).tolist()
    with pytest.raises(ValueError, match="divisors other than 0"):
        op(pb.tensor(a), 0)


def test_floor_division_of_floats_fits_the_remainder():
    a, b = pb.tensor([1.0, -1.0, 6.0], dtype=float), pb.tensor(0.1, dtype=float)
    assert (a // b).tolist() == [1.0 // 0.1, -1.0 // 0.1, 6.0 // 0.1] == [9.0, -10.0, 59.0]
    q, r = divmod(pb.tensor([7.5, -7.5]), 2)
    assert (q.tolist(), r.tolist()) == ([3.0, -4.0], [1.5, 0.5])
    assert [part.tolist() for part in divmod(7, pb.tensor([2, -2]))] == [[3, -4], [1, -1]]
    assert (pb.tensor([1.0, -1.0]) // 0.0).tolist() == [np.inf, -np.inf]


def test_numbers_give_way_to_the_dtype_of_a_tensor():
    x = pb.ones(2)
    assert (x * 2.0).dtype is (x * np.float64(2.0)).dtype is (2 - x).dtype is pb.float32
    assert (pb.ones(2, dtype=pb.int32) * 2).dtype is pb.int32 and (pb.ones(2, dtype=pb.int32) * 2.0).dtype is pb.float32
    assert (x + 1j).dtype is pb.complex64 and (x + np.ones(2)).dtype is pb.float64
    assert (1 / pb.tensor([2, 4])).tolist() == [0.5, 0.25] and (2 ** pb.tensor([1, 2])).dtype is pb.int64
    with pytest.raises(OverflowError, match="64 bits"):
        x + 2**70
    with pytest.raises(ValueError, match="300"):
        pb.zeros(2, dtype=pb.uint8) + 300


def test_matrix_products():
    m = pb.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert (m @ m).tolist() == [[7.0, 10.0], [15.0, 22.0]] and (m @ pb.ones(2)).tolist() == [3.0, 7.0]
    assert (np.ones((2, 2), dtype=np.float32) @ m).tolist() == [[4.0, 6.0], [4.0, 6.0]]
    for broken in (lambda: m @ 2, lambda: 2 @ m):
        with pytest.raises(TypeError, match="unsupported operand"):
            broken()
    with pytest.raises(ValueError, match="matmul"):
        m @ pb.ones(3)


def test_logic_of_bools():
    a, b = pb.tensor([True, True, False, False]), pb.tensor([True, False, True, False])
    assert (a & b).tolist() == [True, False, False, False] and (a | b).tolist() == [True, True, True, False]
    assert (a ^ b).tolist() == [False, True, True, False] and (~a).tolist() == [False, False, True, True]
    assert (True & b).tolist() == b.tolist() and (np.array(True) | b).tolist() == [True] * 4
    for broken in (lambda: pb.tensor([1.0]) & 1, lambda: ~pb.tensor([1.0]), lambda: a | 1.5):
        with pytest.raises(TypeError, match="expected bools or integers"):
            broken()


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64"])
def test_bits_of_integers_are_those_of_numpy(dtype):
    rng = np.random.default_rng(0)
    x, y = (rng.integers(0, 120, (3, 4)).astype(dtype) for _ in range(2))
    a, b = pb.tensor(x), pb.tensor(y[0])
    for op in (operator.and_, operator.or_, operator.xor):
        same(op(a, b), op(x, y[0]))
        same(op(a, 5), op(x, x.dtype.type(5)))
        same(op(5, a), op(x, x.dtype.type(5)))
    same(~a, ~x)
    same(a >> 2, x >> x.dtype.type(2))
    same(a << 1, x << x.dtype.type(1))
    same(2 << pb.tensor([1, 3]), [4, 16])
    c = a
    c &= 63
    c |= b
    c ^= 1
    c <<= 1
    c >>= 1
    assert c is a
    same(c, (((x & 63) | y[0]) ^ 1) << 1 >> 1)


def test_bits_under_transforms():
    x, n = pb.tensor([[1, 2], [12, 7]]), pb.tensor([1, 2])
    same(pb.func.vmap(lambda x, n: x << n)(x, n), [[2, 4], [48, 28]])
    same(pb.func.vmap(lambda x: ~x)(x), [[-2, -3], [-13, -8]])
    assert (pb.tensor([5, -5]) << 64).tolist() == [0, 0] and (pb.tensor([5, -5]) >> 64).tolist() == [0, -1]
    with pytest.raises(TypeError, match="bitwise_left_shift: expected integers"):
        pb.tensor([True]) << 1


def same(tensor, array):
    np.testing.assert_array_equal(tensor.numpy(), array)


def test_signs():
    x = pb.tensor([1.0, -2.0])
    assert (-x).tolist() == [-1.0, 2.0] and abs(x).tolist() == [1.0, 2.0] and (+x) is x


@pytest.mark.parametrize("other", ["a", [1.0, 2.0], (1, 2), None, Decimal(1), object(), {}])
def test_foreign_types_are_left_to_themselves(other):
    x = pb.ones(2)
    for op in (operator.add, operator.truediv, operator.lt, operator.matmul, divmod):
        with pytest.raises(TypeError, match="not supported|unsupported operand"):
            op(x, other)
    assert (x == other) is False and (x != other) is True


def test_operators_of_other_classes_get_their_turn():
    class Other:
        def __radd__(self, x):
            return "radd"

        def __rmatmul__(self, x):
            return "rmatmul"

        def __eq__(self, x):
            return "eq"

    assert (pb.ones(1) + Other(), pb.ones(1) @ Other(), pb.ones(1) == Other()) == ("radd", "rmatmul", "eq")


def test_pow_with_a_modulus_is_refused():
    with pytest.raises(TypeError):
        pow(pb.tensor(2), 3, 5)


def test_shapes_that_do_not_broadcast_are_named():
    with pytest.raises(ValueError, match=r"add: .*f32\[2\].*f32\[3\]"):
        pb.ones(2) + pb.ones(3)


@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (lambda x: x + 3, lambda x: 1.0),
        (lambda x: 3 - x, lambda x: -1.0),
        (lambda x: x * x, lambda x: 2 * x),
        (lambda x: 3 / x, lambda x: -3 / x**2),
        (lambda x: x % 1.5, lambda x: 1.0),
        (lambda x: x // 1.5, lambda x: 0.0),
        (lambda x: 2**x, lambda x: 2**x * np.log(2)),
        (lambda x: x**2.5, lambda x: 2.5 * x**1.5),
        (lambda x: -abs(x), lambda x: -1.0),
        (lambda x: np.float64(3) * x, lambda x: 3.0),
        (lambda x: np.array(3.0) * x, lambda x: 3.0),
    ],
)
def test_operators_are_differentiated_and_batched(f, slope):
    points = [0.7, 1.3, 2.9]
    slopes = vmap(grad(f))(pb.tensor(points, dtype=float)).tolist()
    np.testing.assert_allclose(slopes, [slope(x) for x in points], rtol=1e-12)


def test_large_tensors_are_computed_without_the_interpreter_lock():
    # Not that it is released, which is hard to see, but that the way without it gives the same.
    a = np.linspace(0.0, 1.0, 100_000)
    np.testing.assert_array_equal((pb.tensor(a) * 2 + a).numpy(), a * 2 + a)
    assert (pb.tensor(a) < 0.5)[::10].numpy().sum() == (a < 0.5)[::10].sum()
