//! The network, its loss, and sums over per-example gradients.

use pullback::random::Generator;
use pullback::{DType, Function, Result, Tensor, Tree};

use crate::data::Images;
use crate::functions::{Bend, squash};

/// A fully connected layer: `weight` is `[out, in]`.
#[derive(Clone, Tree)]
pub struct Dense<T = Tensor> {
    pub weight: T,
    pub bias: T,
}

impl Dense {
    fn new(inputs: usize, outputs: usize, rng: &mut Generator) -> Result<Dense> {
        let weight = rng.normal(&[outputs, inputs], DType::F32)? * (1.0 / (inputs as f64).sqrt());
        Ok(Dense { weight, bias: Tensor::zeros(&[outputs], DType::F32)? })
    }

    fn apply(&self, x: &Tensor) -> Result<Tensor> {
        x.linear(&self.weight, Some(&self.bias))
    }
}

/// 64 pixels, two hidden layers with the activations of `functions.rs`, ten classes.
#[derive(Clone, Tree)]
pub struct Model<T = Tensor> {
    first: Dense<T>,
    second: Dense<T>,
    last: Dense<T>,
}

impl Model {
    pub fn new(rng: &mut Generator) -> Result<Model> {
        Ok(Model { first: Dense::new(64, 32, rng)?, second: Dense::new(32, 32, rng)?, last: Dense::new(32, 10, rng)? })
    }

    /// The scores of the ten digits for images `[.., 64]`.
    fn scores(&self, images: &Tensor) -> Result<Tensor> {
        let (hidden, _) = Bend.apply(&self.first.apply(images)?)?;
        self.last.apply(&squash(&self.second.apply(&hidden)?)?)
    }

    /// The loss of one image, `f32[64]`, of a digit, `i64[]`.
    pub fn loss(&self, image: &Tensor, class: &Tensor) -> Result<Tensor> {
        self.scores(image)?.cross_entropy(class)
    }

    /// The part of the images whose highest score is that of their digit.
    pub fn accuracy(&self, images: &Images) -> Result<f64> {
        let (pixels, classes) = images.all()?;
        let hits = self.scores(&pixels)?.argmax(-1, false)?.eq(&classes)?;
        hits.to_dtype(DType::F64)?.mean()?.item::<f64>()
    }
}

/// The norm of each example's gradient over all parameters, `f32[n]`; every leaf has its examples in front.
pub fn example_norms(gradients: &Model) -> Result<Tensor> {
    let mut squares = Tensor::from(0.0f32);
    let mut failed = Ok(());
    gradients.visit(&mut |g| {
        let own = g.square().and_then(|g| g.reshape(&[g.shape()[0] as isize, -1])?.sum_dims(&[1], false));
        match own.and_then(|own| squares.add(&own)) {
            Ok(sum) => squares = sum,
            Err(e) => failed = Err(e),
        }
    });
    failed?;
    squares.sqrt()
}

/// The sum over examples of `weights[n]` times each one's gradient.
pub fn weighted_sum(gradients: &Model, weights: &Tensor) -> Result<Model> {
    gradients.zip_with(gradients, |g, _| {
        let shape: Vec<isize> = g.shape()[1..].iter().map(|&n| n as isize).collect();
        weights.matmul(&g.reshape(&[g.shape()[0] as isize, -1])?)?.reshape(&shape)
    })
}
