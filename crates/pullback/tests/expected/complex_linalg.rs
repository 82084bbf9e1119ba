//! Linear algebra of complex matrices.

use pullback::{Result, Tensor};

/// `A diag(w) Bᴴ` for the squares of 1, 2 and so on, in which phases of vectors cancel.
fn joined(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let n = a.shape()[a.rank() - 1];
    let squares: Vec<f64> = (1..=n).map(|k| (k * k) as f64).collect();
    a.mul(&Tensor::from(squares))?.matmul(&b.conj()?.transpose(-2, -1)?)
}

/// The outputs, if this is linear algebra.
pub fn call(op: &str, rest: &[&str], inputs: &[Tensor]) -> Option<Result<Vec<Tensor>>> {
    outputs(op, rest, inputs).transpose()
}

fn outputs(op: &str, rest: &[&str], inputs: &[Tensor]) -> Result<Option<Vec<Tensor>>> {
    let x = &inputs[0];
    let flag = |k: usize| rest[k] == "true";
    Ok(Some(match op {
        "det" => vec![x.det()?],
        "slogdet" => x.slogdet().map(|(sign, log)| vec![sign, log])?,
        "logdet" => vec![x.logdet()?],
        "matrix_power" => vec![x.matrix_power(rest[0].parse().unwrap())?],
        "matrix_exp" => vec![x.matrix_exp()?],
        "solve_triangular" => vec![x.solve_triangular(&inputs[1], flag(0), flag(1), flag(2))?],
        "pinv" => vec![x.pinv(None)?],
        "qr" => x.qr(false).map(|(q, r)| vec![q, r])?,
        "lu" => x.lu().map(|(_, l, u)| vec![l, u])?,
        "lu_factor" => vec![x.lu_factor()?.0],
        "lu_solve" => {
            let (lu, order) = x.lu_factor()?;
            vec![lu.lu_solve(&order, &inputs[1])?]
        }
        "lstsq" => vec![x.lstsq(&inputs[1])?],
        "eigvalsh" => vec![x.eigvalsh()?],
        "eigh" => {
            let (w, v) = x.eigh()?;
            vec![w, joined(&v, &v)?]
        }
        "svdvals" => vec![x.svdvals()?],
        "svd" => {
            let (u, s, vh) = x.svd(false)?;
            let v = vh.conj()?.transpose(-2, -1)?;
            vec![s, joined(&u, &u)?, joined(&u, &v)?, joined(&v, &v)?]
        }
        _ => return Ok(None),
    }))
}
