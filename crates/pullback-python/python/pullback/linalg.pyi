"""Linear algebra: decompositions, solutions of linear equations, norms of matrices."""

# Written by stubs/write.py.

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, SupportsFloat, SupportsIndex, final, overload

from . import return_types
from ._core import Tensor, _DTypeLike, _Number

__all__ = [
    "cholesky",
    "cholesky_solve",
    "solve_triangular",
    "lu",
    "lu_factor",
    "lu_solve",
    "solve",
    "inv",
    "inverse",
    "det",
    "slogdet",
    "logdet",
    "eig",
    "eigvals",
    "eigh",
    "eigvalsh",
    "matrix_norm",
    "cond",
    "matrix_exp",
    "matrix_power",
    "multi_dot",
    "kron",
    "cross",
    "qr",
    "lstsq",
    "svd",
    "svdvals",
    "pinv",
    "pinverse",
    "matrix_rank",
    "matmul",
    "vecdot",
    "vector_norm",
    "norm",
]

def cholesky(input: Tensor) -> Tensor:
    """The lower triangle `L` with a positive diagonal for which `L Lᵀ` is the symmetric positive definite matrix."""

def cholesky_solve(input: Tensor, L: Tensor) -> Tensor:
    """The solutions `X` of `(L Lᵀ) X = B` from a `cholesky` factor, this tensor being `L`."""

def solve_triangular(input: Tensor, B: Tensor, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """The solutions `X` of `A X = B`, this tensor being the triangular matrices `A`; of `X A = B` unless `left`."""

def lu(input: Tensor) -> return_types.lu:
    """The factors of `A = P L U` by elimination with partial pivoting: a permutation, a lower triangle with ones on the
    diagonal, and an upper triangle.
    """

def lu_factor(input: Tensor) -> return_types.lu_factor:
    """The factors of `lu` in one matrix, and the order of the rows as `int64`."""

def lu_solve(LU: Tensor, order: Tensor, B: Tensor) -> Tensor:
    """The solutions `X` of `A X = B` from what `lu_factor` made of `A`, this tensor being the factors."""

def solve(input: Tensor, B: Tensor) -> Tensor:
    """The solutions `X` of `A X = B`, this tensor being the matrices `A`."""

def inv(input: Tensor) -> Tensor:
    """The inverses of matrices. To solve a system, `solve` is faster and more accurate."""

def inverse(input: Tensor) -> Tensor:
    """The inverses of matrices. To solve a system, `solve` is faster and more accurate."""

def det(input: Tensor) -> Tensor:
    """The determinants of matrices."""

def slogdet(input: Tensor) -> return_types.slogdet:
    """The signs of the determinants of matrices, for complex ones `det / |det|`, and the natural logarithms of their magnitudes."""

def logdet(input: Tensor) -> Tensor:
    """The logarithms of the determinants of matrices: NaN where they are negative, -∞ where they are 0. Complex ones have an imaginary
    part between -π and π.
    """

def eig(input: Tensor) -> return_types.eig:
    """The eigenvalues `w` of matrices in rising order, if all are real, and eigenvectors of length 1 as the columns of `V`:
    `A V = V diag(w)`. Needs the cargo feature `linalg`.
    """

def eigvals(input: Tensor) -> Tensor:
    """The eigenvalues of matrices in rising order, if all are real. Needs the cargo feature `linalg`."""

def eigh(input: Tensor) -> return_types.eigh:
    """The eigenvalues `w` of symmetric matrices in rising order, and orthonormal eigenvectors as the columns of `V`:
    `A = V diag(w) Vᵀ`.
    """

def eigvalsh(input: Tensor) -> Tensor:
    """The eigenvalues of symmetric matrices in rising order."""

def matrix_norm(input: Tensor, ord: SupportsFloat | Literal['fro', 'nuc'] = 'fro', keepdim: bool = False) -> Tensor:
    """A norm of the matrices in the last two dimensions."""

def cond(input: Tensor, ord: SupportsFloat | Literal['fro', 'nuc'] = 2) -> Tensor:
    """The condition numbers of matrices: a norm times that of the inverse."""

def matrix_exp(input: Tensor) -> Tensor:
    """The exponentials of matrices: `1 + A + A²/2 + A³/6 + …`."""

def matrix_power(input: Tensor, n: SupportsIndex) -> Tensor:
    """Whole powers of matrices, by repeated squaring. Power 0 is the identity, negative ones are powers of the inverse."""

def multi_dot(tensors: Iterable[Tensor]) -> Tensor:
    """The product of a chain of matrices, in the order that takes the fewest multiplications."""

def kron(input: Tensor, other: Tensor) -> Tensor:
    """Kronecker's product: every element of this tensor times the whole other one, as a block in its place."""

def cross(input: Tensor, other: Tensor, dim: SupportsIndex = -1) -> Tensor:
    """The cross products of vectors of three elements along `dim`."""

def qr(input: Tensor, complete: bool = False) -> return_types.qr:
    """The factors of `A = Q R`: orthonormal columns and an upper triangle."""

def lstsq(input: Tensor, B: Tensor) -> return_types.lstsq:
    """The solutions `X` for which `A X` is nearest to `B`, this tensor being the matrices `A` of full rank; of many solutions the
    shortest.
    """

def svd(input: Tensor, full_matrices: bool = True) -> return_types.svd:
    """The singular values `S` of matrices in falling order, with orthonormal vectors as the columns of `U` and the rows of `Vᵀ`:
    `A = U diag(S) Vᵀ`.
    """

def svdvals(input: Tensor) -> Tensor:
    """The singular values of matrices in falling order."""

def pinv(input: Tensor, rtol: SupportsFloat | None = None) -> Tensor:
    """The pseudoinverses of matrices: what takes `b` to the shortest `x` for which `A x` is nearest to it."""

def pinverse(input: Tensor, rtol: SupportsFloat | None = None) -> Tensor:
    """The pseudoinverses of matrices: what takes `b` to the shortest `x` for which `A x` is nearest to it."""

def matrix_rank(input: Tensor, rtol: SupportsFloat | None = None) -> Tensor:
    """The numbers of singular values above `rtol` times the largest, as `int64`. By default `rtol` is the larger size of the matrix
    times the distance from 1 to the next number.
    """

def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The matrix product."""

def vecdot(x: Tensor, y: Tensor, dim: SupportsIndex = -1) -> Tensor:
    """The scalar products of the vectors along `dim`, the first of which is conjugated if it is complex."""

def vector_norm(
    input: Tensor,
    ord: SupportsFloat = 2.0,
    dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
    keepdim: bool = False,
    dtype: _DTypeLike | None = None,
) -> Tensor:
    """The `ord`-norms of the vectors along `dim`, all dimensions if the list is empty; see `norm`."""

def norm(
    input: Tensor,
    ord: SupportsFloat | Literal['fro', 'nuc'] | None = None,
    dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
    keepdim: bool = False,
    dtype: _DTypeLike | None = None,
) -> Tensor:
    """A norm of vectors or of matrices."""
