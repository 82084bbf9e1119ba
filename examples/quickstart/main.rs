//! The main job: a classifier of handwritten digits, trained with the gradient of *each example*, clipped before it is
//! averaged. `cargo run --release --example quickstart`.
//!
//! The network contains two operations that are not part of the library: see `functions.rs`.

mod checks;
mod data;
mod functions;
mod model;
mod plots;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use pullback::random::Generator;
use pullback::{Result, Tensor, Tree, Vmap, value_and_grad};

use crate::data::Digits;
use crate::model::Model;

const EPOCHS: usize = 40;
const BATCH: usize = 64;
const CLIP: f64 = 2.0;
const RATE: f64 = 0.25;
const MOMENTUM: f64 = 0.9;
const LEAST_ACCURACY: f64 = 0.95;

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
    let start = Instant::now();
    let digits = Digits::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data/digits.txt"))?;
    println!("{} training and {} test images of handwritten digits", digits.train.len(), digits.test.len());

    checks::print()?;

    let mut rng = Generator::new(7);
    let mut model = Model::new(&mut rng)?;
    let mut velocity = model.zip_with(&model, |p, _| p.mul(0.0))?;
    let mut history = plots::History::default();

    // The whole of per-example differentiation: a gradient, mapped over examples, with the parameters shared.
    let per_example = Vmap::new()
        .in_dims((None, 0, 0))
        .of(|(model, image, class): &(Model, Tensor, Tensor)| value_and_grad(|m: &Model| m.loss(image, class))(model));

    let steps = digits.train.len() / BATCH;
    let bar = ProgressBar::new((EPOCHS * steps) as u64);
    bar.set_style(
        ProgressStyle::with_template("training {bar:40} {pos}/{len} steps, {msg}").map_err(pullback::Error::other)?,
    );
    for epoch in 0..EPOCHS {
        let order = data::shuffled(digits.train.len(), epoch as u64);
        for batch in order.chunks_exact(BATCH) {
            let (images, classes) = digits.train.take(batch)?;
            let (losses, gradients) = per_example(&(model.clone(), images, classes))?;
            let norms = model::example_norms(&gradients)?;
            // Each example's gradient is scaled to a norm of at most CLIP, then the batch is averaged.
            let weights = (CLIP / (&norms + 1e-6)).clamp(None, Some(1.0))? / BATCH as f64;
            let step = model::weighted_sum(&gradients, &weights)?;
            velocity = velocity.zip_with(&step, |v, g| Ok(v * MOMENTUM + g))?;
            model = model.zip_with(&velocity, |p, v| Ok(p - v * RATE))?;
            history.record(losses.mean()?.item::<f32>()?, &norms.to_vec::<f32>()?);
            bar.set_message(format!("loss {:.4}", history.last_loss()));
            bar.inc(1);
        }
    }
    bar.finish();

    let accuracy = model.accuracy(&digits.test)?;
    println!("test accuracy: {:.2} %", 100.0 * accuracy);
    for file in history.draw(Path::new("target/quickstart"), CLIP)? {
        println!("wrote {}", file.display());
    }
    println!("{:.1} s", start.elapsed().as_secs_f64());
    if accuracy < LEAST_ACCURACY {
        return Err(pullback::Error::other(format!("the accuracy is below {LEAST_ACCURACY}")));
    }
    Ok(())
}
