//! A blurred signal: the blur from a known signal, and the signal from a known blur, by descending along gradients.
//! `cargo run --release -p fft_convolution`.

use std::process::ExitCode;

use fft_convolution::{Mode, convolve};
use pullback::random::Generator;
use pullback::{DType, Error, Result, Tensor, hessian, stack, value_and_grad};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    const N: usize = 256;
    let rng = Generator::new(3);

    // A blur of nine elements, and a signal of noise.
    let blur = Tensor::from([0.02, 0.05, 0.1, 0.18, 0.3, 0.18, 0.1, 0.05, 0.02]);
    let noise = rng.normal(&[N], DType::F64)?;
    let blurred = convolve(&noise, &blur, Mode::Circular)?;

    // The squared deviation is quadratic in the kernel: its Hessian is twice the correlation of the signal with itself.
    let misfit = |k: &Tensor| convolve(&noise, k, Mode::Circular)?.sub(&blurred)?.square()?.mean();
    let shifts: Vec<Tensor> = (0..9).map(|j| noise.roll(&[j], &[0])).collect::<Result<_>>()?;
    let shifted = stack(&shifts.iter().collect::<Vec<_>>(), 0)?;
    let correlation = shifted.matmul(&shifted.t()?)? * (2.0 / N as f64);
    println!("the blur from a known signal of {N} elements");
    report("Hessian against correlations", &hessian(misfit)(&blur)?, &correlation, 1e-12)?;
    let recovered = descend(misfit, Tensor::zeros(&[9], DType::F64)?, 0.35, 0.0, 150)?;
    report("recovered blur", &recovered, &blur, 1e-6)?;

    // The other way round: spikes, each smeared over 16 samples.
    let spikes =
        Tensor::from_iter((0..N).map(|k| f64::from(u8::from(k % 37 == 5)) - 0.5 * f64::from(u8::from(k % 53 == 20))));
    let tail = Tensor::from_iter((0..16).map(|k| 0.6f64.powi(k) * 0.4));
    let smeared = convolve(&spikes, &tail, Mode::Full)?;
    let misfit = |x: &Tensor| convolve(x, &tail, Mode::Full)?.sub(&smeared)?.square()?.sum();
    println!("{N} samples from {} smeared ones", smeared.numel());
    let recovered = descend(misfit, Tensor::zeros(&[N], DType::F64)?, 0.9, 0.6, 250)?;
    report("recovered signal", &recovered, &spikes, 1e-6)
}

/// Steps along the gradient, with momentum.
fn descend(
    loss: impl Fn(&Tensor) -> Result<Tensor>,
    start: Tensor,
    rate: f64,
    momentum: f64,
    steps: usize,
) -> Result<Tensor> {
    let (mut x, mut velocity) = (start.clone(), start);
    let both = value_and_grad(loss);
    for step in 0..steps {
        let (value, slope) = both(&x)?;
        if step % 50 == 0 {
            println!("  step {step:3}: misfit {:.2e}", value.item::<f64>()?);
        }
        velocity = velocity * momentum - slope * rate;
        x += &velocity;
    }
    Ok(x)
}

/// Prints the largest deviation, and fails if it is not small.
fn report(what: &str, got: &Tensor, want: &Tensor, allowed: f64) -> Result<()> {
    let deviation = got.sub(want)?.abs()?.max()?.item::<f64>()?;
    println!("  {what}: off by {deviation:.1e}");
    if deviation.is_nan() || deviation > allowed {
        return Err(Error::other(format!("{what}: off by {deviation:e}, more than {allowed:e}")));
    }
    Ok(())
}
