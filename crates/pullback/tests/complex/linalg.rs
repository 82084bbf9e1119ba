//! Functions of six complex numbers that take matrices apart.

use pullback::{DType, Result, Tensor};

use crate::Call;

/// A regular matrix of two rows.
fn square(x: &Tensor) -> Result<Tensor> {
    x.slice(0, 0, 4, 1)?.reshape(&[2, 2])?.add(&Tensor::eye(2, DType::F64)?)
}

/// Three regular matrices of two rows.
fn many(x: &Tensor) -> Result<Tensor> {
    let rows = x.unsqueeze(-1)?.mul(&Tensor::from([1.0, -0.5]))?.reshape(&[3, 2, 2])?;
    rows.add(&rows.square()?)?.add(&Tensor::eye(2, DType::F64)?)
}

/// A regular matrix of three rows.
fn three(x: &Tensor) -> Result<Tensor> {
    x.outer(&x.square()?)?.narrow(0, 0, 3)?.narrow(1, 2, 3)?.add(&Tensor::eye(3, DType::F64)?.mul(3.0)?)
}

/// The matrix of less than full rank that two numbers span.
fn singular(x: &Tensor) -> Result<Tensor> {
    x.slice(0, 0, 3, 1)?.outer(&x.slice(0, 3, 6, 1)?)
}

fn wide(x: &Tensor) -> Result<Tensor> {
    x.reshape(&[2, 3])?.add(&Tensor::from([[2.0, 0.0, 0.5], [0.0, -1.0, 0.0]]))
}

fn tall(x: &Tensor) -> Result<Tensor> {
    wide(x)?.transpose(0, 1)
}

fn rest(x: &Tensor) -> Result<Tensor> {
    x.slice(0, 2, 6, 1)?.reshape(&[2, 2])
}

/// `V diag(w) Vᴴ`, which does not depend on phases.
fn between(v: &Tensor, w: [f64; 2], u: &Tensor) -> Result<Tensor> {
    v.mul(&Tensor::from(w))?.matmul(&u.conj()?.transpose(-2, -1)?)
}

pub fn functions() -> Vec<(&'static str, Call)> {
    vec![
        ("det", |x| square(x)?.det()),
        ("det of three rows", |x| three(x)?.det()),
        ("det of many", |x| many(x)?.det()),
        ("det of a singular matrix", |x| singular(x)?.det()),
        ("the sign", |x| Ok(three(x)?.slogdet()?.0)),
        ("the logarithm", |x| Ok(many(x)?.slogdet()?.1)),
        ("logdet", |x| three(x)?.logdet()),
        ("solve_triangular", |x| square(x)?.solve_triangular(&rest(x)?, false, true, false)),
        ("solve_triangular, upper", |x| many(x)?.solve_triangular(&rest(x)?, true, true, false)),
        ("solve_triangular, right", |x| square(x)?.solve_triangular(&wide(x)?.t()?, true, false, false)),
        ("solve_triangular, unit", |x| square(x)?.solve_triangular(&rest(x)?, false, true, true)),
        ("solve_triangular, upper unit right", |x| square(x)?.solve_triangular(&rest(x)?, true, false, true)),
        ("solve_triangular with a real side", |x| {
            Tensor::from([[2.0, 0.0], [0.5, 3.0]]).solve_triangular(&wide(x)?, false, true, false)
        }),
        ("matrix_power", |x| square(x)?.matrix_power(3)),
        ("matrix_power of the inverse", |x| many(x)?.matrix_power(-2)),
        ("matrix_exp", |x| three(x)?.mul(0.3)?.matrix_exp()),
        ("pinv", |x| wide(x)?.pinv(None)),
        ("pinv of a tall matrix", |x| tall(x)?.pinv(None)),
        ("lstsq", |x| tall(x)?.lstsq(&x.slice(0, 1, 4, 1)?)),
        ("lstsq of a wide matrix", |x| wide(x)?.lstsq(&x.slice(0, 1, 3, 1)?)),
        ("qr, q", |x| Ok(tall(x)?.qr(false)?.0)),
        ("qr, r", |x| Ok(many(x)?.qr(false)?.1)),
        ("qr of a wide matrix, q", |x| Ok(wide(x)?.qr(false)?.0)),
        ("qr of a wide matrix, r", |x| Ok(wide(x)?.qr(false)?.1)),
        ("lu_factor", |x| Ok(three(x)?.lu_factor()?.0)),
        ("lu of a wide matrix", |x| Ok(wide(x)?.lu()?.2)),
        ("lu of a tall matrix", |x| Ok(tall(x)?.lu()?.1)),
        ("lu_solve", |x| {
            let (lu, order) = many(x)?.lu_factor()?;
            lu.lu_solve(&order, &rest(x)?)
        }),
        ("eigh, values", |x| Ok(three(x)?.eigh()?.0)),
        ("eigvalsh", |x| many(x)?.eigvalsh()),
        ("eigh, vectors", |x| {
            let v = many(x)?.eigh()?.1;
            between(&v, [1.0, 3.0], &v)
        }),
        ("svdvals", |x| wide(x)?.svdvals()),
        ("svd, values", |x| Ok(many(x)?.svd(false)?.1)),
        ("svd, left vectors", |x| {
            let u = tall(x)?.svd(false)?.0;
            between(&u, [1.0, 3.0], &u)
        }),
        ("svd, right vectors", |x| {
            let v = wide(x)?.svd(false)?.2.conj()?.transpose(-2, -1)?;
            between(&v, [1.0, 3.0], &v)
        }),
        ("svd, both", |x| {
            let (u, _, vh) = many(x)?.svd(false)?;
            u.mul(&Tensor::from([1.0, -2.0]))?.matmul(&vh)
        }),
        ("nuclear norm", |x| wide(x)?.matrix_norm(pullback::MatrixNorm::Nuclear, false)),
        ("cond", |x| square(x)?.cond(pullback::MatrixNorm::One)),
    ]
}
