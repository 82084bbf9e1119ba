//! The von Mises distribution of directions, fitted by Newton's method.
//! `cargo run --release -p c_function`.

use std::process::ExitCode;

use c_function::BesselI;
use pullback::{Error, Function, Result, Tensor, Vmap, grad, hessian};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::FAILURE
        }
    }
}

/// Directions in degrees, made up: around one that is preferred, with a stray one.
const DIRECTIONS: [f64; 24] = [
    8.0, 13.0, 22.0, 30.0, 38.0, 45.0, 48.0, 52.0, 57.0, 61.0, 64.0, 66.0, 68.0, 70.0, 75.0, 78.0, 83.0, 88.0, 92.0,
    98.0, 107.0, 118.0, 138.0, 251.0,
];

/// Minus the logarithm of the probability of one direction, up to a constant: `log I₀(κ) - κ·cos(θ - μ)` for `p = [μ, κ]`.
fn surprise(p: &Tensor, direction: &Tensor) -> Result<Tensor> {
    let (mean, concentration) = (p.select(0, 0)?, p.select(0, 1)?);
    let fit = direction.sub(&mean)?.cos()?.mul(&concentration)?;
    BesselI { order: 0 }.apply(&concentration)?.log()?.sub(&fit)
}

fn run() -> Result<()> {
    let directions = Tensor::from_iter(DIRECTIONS.iter().map(|d| d.to_radians()));
    let n = DIRECTIONS.len() as f64;
    // Written for one direction, and mapped over all; the parameters are shared.
    let loss = |p: &Tensor| {
        Vmap::new().in_dims((None, 0)).of(|(p, d): &(Tensor, Tensor)| surprise(p, d))(&(p.clone(), directions.clone()))?
            .sum()
    };
    println!("fitting {n} directions");
    let mut p = Tensor::from([1.0, 1.0]);
    for step in 0..8 {
        let v = p.to_vec::<f64>()?;
        println!("  step {step}: mean {:7.3}°, concentration {:.6}", v[0].to_degrees(), v[1]);
        let (g, h) = (grad(loss)(&p)?.to_vec::<f64>()?, hessian(loss)(&p)?.to_vec::<f64>()?);
        let det = h[0] * h[3] - h[1] * h[2];
        p = p.sub(&Tensor::from([(h[3] * g[0] - h[1] * g[1]) / det, (h[0] * g[1] - h[2] * g[0]) / det]))?;
    }

    // The closed form: the mean is that of the vectors, and I₁(κ)/I₀(κ) is their mean length along it.
    let (sin, cos) = (directions.sin()?.sum()?.item::<f64>()?, directions.cos()?.sum()?.item::<f64>()?);
    let mean = sin.atan2(cos);
    let length = sin.hypot(cos) / n;
    let concentration = p.select(0, 1)?;
    let bessel = |order| BesselI { order }.apply(&concentration)?.item::<f64>();
    let ratio = bessel(1)? / bessel(0)?;
    report("mean direction", p.select(0, 0)?.item::<f64>()?, mean)?;
    report("I₁/I₀ against the length of the mean vector", ratio, length)?;
    // Curvatures are the information in the data: n·κ·A and n·(1 - A/κ - A²) for A = I₁/I₀.
    let curvature = hessian(loss)(&p)?.to_vec::<f64>()?;
    let k = concentration.item::<f64>()?;
    report("curvature along the mean", curvature[0], n * k * ratio)?;
    report("curvature along the concentration", curvature[3], n * (1.0 - ratio / k - ratio * ratio))?;
    println!(
        "  mean {:.1}° ± {:.1}°, concentration {k:.2} ± {:.2}",
        mean.to_degrees(),
        curvature[0].sqrt().recip().to_degrees(),
        curvature[3].sqrt().recip()
    );
    Ok(())
}

/// Prints the deviation, and fails if it is not small.
fn report(what: &str, got: f64, want: f64) -> Result<()> {
    let deviation = (got - want).abs() / want.abs().max(1.0);
    println!("  {what}: off by {deviation:.1e}");
    if deviation.is_nan() || deviation > 1e-10 {
        return Err(Error::other(format!("{what}: off by {deviation:e}")));
    }
    Ok(())
}
