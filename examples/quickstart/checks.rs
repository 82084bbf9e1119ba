//! The derivatives of the two functions, beside finite differences.

use pullback::{Error, Function, Result, Tensor, hessian, jacrev, jvp};

use crate::functions::{Bend, squash};

/// Prints a Jacobian, a Hessian and a directional derivative; an error if one of them is off.
pub fn print() -> Result<()> {
    let x = Tensor::from([0.3, -1.2, 2.0]);

    // Mixes the three inputs, so that the Jacobian is not diagonal.
    let f = |x: &Tensor| squash(&Bend.apply(&x.mul(&x.sum()?)?)?.0);
    let jacobian = jacrev(f)(&x)?;
    println!("Jacobian of squash(bend(x·Σx)) at {x}:\n{jacobian}");
    compare("Jacobian", &jacobian, 1e-8, |h, k| central(&f, &x, k, h))?;

    let energy = |x: &Tensor| Bend.apply(&squash(x)?)?.0.mul(x)?.sum();
    let curvature = hessian(energy)(&x)?;
    println!("Hessian of Σ x·bend(squash(x)):\n{curvature}");
    let slope = |x: &Tensor| jacrev(energy)(x);
    compare("Hessian", &curvature, 1e-8, |h, k| central(&slope, &x, k, h))?;

    let direction = Tensor::from([1.0, 0.5, -0.25]);
    let (_, change) = jvp(f, &x, &direction)?;
    println!("its change along {direction}:\n{change}");
    let h = 1e-5;
    let along = f(&(&x + &direction * h))?.sub(&f(&(&x - &direction * h))?)? / (2.0 * h);
    report("jvp", deviation(&change, &along)?, 1e-8)
}

/// Compares the columns of a matrix with central differences in each coordinate.
fn compare(name: &str, matrix: &Tensor, tolerance: f64, column: impl Fn(f64, usize) -> Result<Tensor>) -> Result<()> {
    let mut worst = 0.0f64;
    for k in 0..matrix.shape()[1] {
        worst = worst.max(deviation(&matrix.select(1, k as isize)?, &column(1e-5, k)?)?);
    }
    report(name, worst, tolerance)
}

/// The central difference of `f` in coordinate `k`.
fn central(f: &impl Fn(&Tensor) -> Result<Tensor>, x: &Tensor, k: usize, h: f64) -> Result<Tensor> {
    let unit: Vec<f64> = (0..x.numel()).map(|i| if i == k { h } else { 0.0 }).collect();
    let step = Tensor::from(unit);
    Ok(f(&(x + &step))?.sub(&f(&(x - &step))?)? / (2.0 * h))
}

fn deviation(a: &Tensor, b: &Tensor) -> Result<f64> {
    let (a, b) = (a.to_vec::<f64>()?, b.to_vec::<f64>()?);
    Ok(a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max))
}

fn report(name: &str, deviation: f64, tolerance: f64) -> Result<()> {
    println!("  largest deviation of the {name} from finite differences: {deviation:.1e}\n");
    if deviation.is_nan() || deviation > tolerance {
        return Err(Error::other(format!("the {name} deviates by {deviation:e}, more than {tolerance:e}")));
    }
    Ok(())
}
