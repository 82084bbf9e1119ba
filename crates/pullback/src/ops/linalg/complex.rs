//! Complex matrices: as real ones of twice the size where that is a solution, else by kernels in double precision.
//!
//! In the first case each number `a + ib` becomes the block `[[a, -b], [b, a]]`. Sums and products of blocks are those of the
//! numbers, blocks of a triangular matrix are triangular where its diagonal is real, and so systems are solved, and Hermitian
//! matrices taken apart, by what does so for real numbers, with all its rules. It takes twice the time that code of its own
//! would, and no code.

use smallvec::SmallVec;

use super::sizes;
use super::triangular::{Triangular, check_rows};
use crate::array::Array;
use crate::error::bail;
use crate::kernels::cast::cast;
use crate::kernels::linalg::Stop;
use crate::ops::arith::with_common_dtype;
use crate::shape::Shape;
use crate::{Complex64, DType, Error, ErrorKind, Result, Tensor};

/// `shape` with its last two dimensions replaced.
fn with_cores(shape: &[usize], cores: &[usize]) -> Shape {
    shape[..shape.len() - 2].iter().chain(cores).copied().collect()
}

/// `[.., m, n]` as `[.., 2m, 2n]`.
fn blocks(z: &Tensor) -> Result<Tensor> {
    let [m, n] = sizes(z);
    let turned = z.mul(Complex64::new(0.0, 1.0))?;
    // [.., m, n, row of the block, column of the block]
    let all = crate::stack(&[&z.view_as_real()?, &turned.view_as_real()?], -1)?;
    all.transpose(-3, -2)?.reshape_to(&with_cores(z.shape(), &[2 * m, 2 * n]))
}

/// The first column of each block: `[.., m, n]` as `[.., 2m, n]`.
fn columns(z: &Tensor) -> Result<Tensor> {
    let [m, n] = sizes(z);
    z.view_as_real()?.transpose(-2, -1)?.reshape_to(&with_cores(z.shape(), &[2 * m, n]))
}

/// Undoes [`columns`].
fn numbers(x: &Tensor) -> Result<Tensor> {
    let [m, n] = sizes(x);
    x.reshape_to(&with_cores(x.shape(), &[m / 2, 2, n]))?.transpose(-2, -1)?.view_as_complex()
}

/// Complex square matrices.
fn square_complex(op: &str, x: &Tensor) -> Result<()> {
    if x.rank() < 2 {
        bail!(Shape, "{op}: expected matrices, got {}", x.ty());
    }
    let [m, n] = sizes(x);
    if m != n {
        bail!(Shape, "{op}: expected square matrices, got {} ({m} rows, {n} columns)", x.ty());
    }
    Ok(())
}

/// An error about the real matrices, told of the complex ones.
fn told(e: Error, op: &str, expected: &str, x: &Tensor) -> Error {
    if e.kind() != ErrorKind::Value {
        return e;
    }
    Error::new(ErrorKind::Value, format!("{op}: expected {expected} matrices, got {} with one that is not", x.ty()))
}

/// Solutions of systems of which a side is complex.
pub(super) fn solve(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    with_common_dtype(a, b, true, |a, b| {
        square_complex("solve", a)?;
        let vector = b.rank() == 1 || (b.rank() + 1 == a.rank() && b.shape() == &a.shape()[..a.rank() - 1]);
        let b = if vector { b.unsqueeze(-1)? } else { b.clone() };
        if b.rank() < 2 {
            bail!(Shape, "solve: expected matrices, got {}", b.ty());
        }
        check_rows("solve", a, &b)?;
        let x = blocks(a)?.solve(&columns(&b)?).map_err(|e| told(e, "solve", "regular", a))?;
        let x = numbers(&x)?;
        if vector { x.squeeze(-1) } else { Ok(x) }
    })
}

/// Inverses of complex matrices.
pub(super) fn inv(op: &str, x: &Tensor) -> Result<Tensor> {
    square_complex(op, x)?;
    let one = Tensor::eye(x.shape()[x.rank() - 1], x.dtype())?;
    let inverse = blocks(x)?.solve(&columns(&one)?).map_err(|e| told(e, op, "regular", x))?;
    numbers(&inverse)
}

/// The factors of Hermitian matrices: that of the real matrix is the real matrix of the factor, because there is but one with a positive
/// diagonal.
pub(super) fn cholesky(x: &Tensor) -> Result<Tensor> {
    square_complex("cholesky", x)?;
    let [_, n] = sizes(x);
    let factor = blocks(x)?.cholesky().map_err(|e| told(e, "cholesky", "positive definite", x))?;
    let factor = numbers(&factor.reshape_to(&with_cores(x.shape(), &[2 * n, n, 2]))?.select(-1, 0)?)?.view_as_real()?;
    // What rounding leaves of the imaginary parts of the diagonal goes.
    crate::stack(&[&factor.select(-1, 0)?, &factor.select(-1, 1)?.tril(-1)?], -1)?.view_as_complex()
}

/// Solutions of systems from the factors of their matrices, of which a side is complex. Diagonals of factors are real.
pub(super) fn cholesky_solve(l: &Tensor, b: &Tensor) -> Result<Tensor> {
    let op = "cholesky_solve";
    with_common_dtype(l, b, true, |l, b| {
        square_complex(op, l)?;
        if b.rank() < 2 {
            bail!(Shape, "{op}: expected matrices, got {}", b.ty());
        }
        check_rows(op, l, b)?;
        let x = blocks(l)?.cholesky_solve(&columns(b)?).map_err(|e| told(e, op, "regular triangular", l))?;
        numbers(&x)
    })
}

/// Solutions of triangular systems. Rows are turned until the diagonal is real, which makes a triangle of the blocks too.
pub(super) fn triangular(system: Triangular, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    // What the system does not read may be anything, and the blocks on the diagonal reach into it.
    let read = if system.unit { isize::from(system.upper) * 2 - 1 } else { 0 };
    let triangle = if system.upper { a.triu(read)? } else { a.tril(read)? };
    let turn = if system.unit { None } else { Some(triangle.diagonal(0, -2, -1)?.sgn()?.conj()?.unsqueeze(-1)?) };
    let turned = |x: &Tensor| turn.as_ref().map_or_else(|| Ok(x.clone()), |turn| x.mul(turn));
    let triangle = turned(&triangle)?;
    // A complex product rounds more often than a real one.
    let real = Triangular { tiny: 4.0 * system.tiny, ..system };
    let failed = |e| told(e, system.of, "regular triangular", a);
    if system.transposed {
        // The transpose of the blocks is that of the conjugates.
        let solved = real.solve(&blocks(&triangle.conj()?)?, &columns(b)?).map_err(failed)?;
        return turned(&numbers(&solved)?);
    }
    numbers(&real.solve(&blocks(&triangle)?, &columns(&turned(b)?)?).map_err(failed)?)
}

/// Exponentials, which are those of the real matrices.
pub(super) fn exponential(x: &Tensor) -> Result<Tensor> {
    let [_, n] = sizes(x);
    let whole = blocks(x)?.matrix_exp()?;
    numbers(&whole.reshape_to(&with_cores(x.shape(), &[2 * n, n, 2]))?.select(-1, 0)?)
}

/// Results of a kernel for numbers of double precision, in the precision of the argument.
pub(super) fn computed(x: &Array, f: &dyn Fn(&Array) -> Vec<Array>) -> SmallVec<[Array; 2]> {
    narrowed(x.dtype(), f(&cast(x, DType::C128)))
}

/// [`computed`] for a kernel that may stop.
pub(super) fn try_computed(
    x: &Array,
    f: &dyn Fn(&Array) -> std::result::Result<Vec<Array>, Stop>,
) -> std::result::Result<SmallVec<[Array; 2]>, Stop> {
    Ok(narrowed(x.dtype(), f(&cast(x, DType::C128))?))
}

/// Results of double precision in that of numbers of this dtype.
fn narrowed(dtype: DType, found: Vec<Array>) -> SmallVec<[Array; 2]> {
    let narrow = |y: Array| match (dtype, y.dtype()) {
        (DType::C64, DType::C128) => cast(&y, DType::C64),
        (DType::C64, DType::F64) => cast(&y, DType::F32),
        _ => y,
    };
    found.into_iter().map(narrow).collect()
}
