//! The temperature along a rod, and the conductivities that explain measurements of it.
//! `cargo run --release -p faer_solve`.

use std::process::ExitCode;

use faer_solve::{factorisations, solve};
use pullback::{DType, Error, Result, Tensor, Vmap, hessian, jacrev, stack};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::FAILURE
        }
    }
}

/// A rod of `n` pieces between walls of temperature 0 is heated with `heat`. Neighbouring points exchange heat in
/// proportion to the conductivity of the piece between them; `conductivity` is `[n]`, and the result, the temperature
/// of the points between pieces, has the shape of `heat`, `[n-1]` or `[n-1, k]` for several heatings.
fn temperature(conductivity: &Tensor, heat: &Tensor) -> Result<Tensor> {
    let n = conductivity.shape()[0] - 1;
    let (left, right) = (conductivity.narrow(0, 0, n)?, conductivity.narrow(0, 1, n)?);
    let between = conductivity.narrow(0, 1, n - 1)?.neg()?;
    let exchange = left.add(&right)?.diag(0)?.add(&between.diag(1)?)?.add(&between.diag(-1)?)?;
    solve(&exchange, heat)
}

fn run() -> Result<()> {
    const N: usize = 24;
    let heat = Tensor::ones(&[N - 1], DType::F64)?;

    // With one conductivity c everywhere the temperature is k(N - k)/2c, and each derivative is known.
    let uniform = |c: &Tensor| temperature(&c.expand(&[N])?, &heat);
    let c = Tensor::from(2.0);
    let parabola = Tensor::from_iter((1..N).map(|k| (k * (N - k)) as f64 / 2.0));
    println!("a rod of {N} pieces, heated everywhere; against the closed form");
    report("temperature", &uniform(&c)?, &(&parabola / 2.0))?;
    report("its slope by the conductivity", &jacrev(uniform)(&c)?, &(&parabola / -4.0))?;
    report("its curvature", &hessian(uniform)(&c)?, &(&parabola / 4.0))?;

    // One rod, many heatings: they are columns of one system.
    let sources = Tensor::eye(N - 1, DType::F64)?;
    let pieces = c.expand(&[N])?;
    let before = factorisations();
    let each = Vmap::new().in_dims((None, 0)).of(|(c, q): &(Tensor, Tensor)| temperature(c, q))(&(pieces, sources))?;
    report("the sum of the effects of single sources", &each.sum_dims(&[0], false)?, &(&parabola / 2.0))?;
    println!("  {} factorisation for {} right-hand sides", factorisations() - before, N - 1);

    // The inverse problem: conductivities from the temperatures of two heatings, by the Gauss-Newton method.
    let ramp = Tensor::from_iter((1..N).map(|k| k as f64 / N as f64));
    let heatings = stack(&[&heat, &ramp], 1)?;
    let truth = Tensor::from_iter((0..N).map(|k| 2.0 + (k as f64 * 0.7).sin()));
    let measured = temperature(&truth, &heatings)?;
    // Of logarithms, so that no step leads to negative conductivities.
    let deviations = |log: &Tensor| temperature(&log.exp()?, &heatings)?.div(&measured)?.sub(1.0)?.flatten(0, 1);
    let mut log = c.expand(&[N])?.log()?;
    println!("recovering {N} conductivities from the temperatures of two heatings");
    for step in 0..12 {
        let (off, slopes) = (deviations(&log)?, jacrev(deviations)(&log)?);
        println!("  step {step:2}: deviation {:.1e}", off.square()?.sum()?.item::<f64>()?.sqrt());
        let transposed = slopes.t()?;
        log = log.sub(&solve(&transposed.matmul(&slopes)?, &transposed.matmul(&off)?)?)?;
    }
    report("conductivities", &log.exp()?, &truth)
}

/// Prints the largest relative deviation, and fails if it is not small.
fn report(what: &str, got: &Tensor, want: &Tensor) -> Result<()> {
    let deviation = got.sub(want)?.abs()?.max()?.item::<f64>()? / want.abs()?.max()?.item::<f64>()?;
    println!("  {what}: off by {deviation:.1e}");
    if deviation.is_nan() || deviation > 1e-9 {
        return Err(Error::other(format!("{what}: off by {deviation:e}")));
    }
    Ok(())
}
