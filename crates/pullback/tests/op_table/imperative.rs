//! Leaves, walks and graphs of walks give what nested transforms give.

use pullback::autograd::{Grad, leaf};
use pullback::testing::table::{Naive, Sample};
use pullback::{DType, Result, Tensor, grad, vmap};

/// Checks of one sample.
pub const SAMPLE_CHECKS: &[(&str, fn(&Sample) -> Result<(), String>)] = &[(super::rows::WALKS, imperative)];

/// Of `y`, a number that depends on every output, also in its second derivative.
fn total(y: &[Tensor]) -> Result<Tensor> {
    let mut sum = Tensor::from(0.0);
    for (k, y) in y.iter().filter(|y| y.dtype().is_float()).enumerate() {
        let y = y.to_dtype(DType::F64)?;
        let weights: Vec<f64> = (0..y.numel()).map(|i| (1.0 + 0.7 * i as f64 + k as f64).sin()).collect();
        let weights = Tensor::from_slice(&weights, y.shape())?;
        sum = sum.add(y.square()?.mul(0.3)?.add(&y)?.mul(&weights)?.sum()?)?;
    }
    Ok(sum)
}

/// The inner product with some fixed direction.
fn along(x: &[Tensor]) -> Result<Tensor> {
    total(x)
}

/// The gradients of order one to three, by nesting.
fn by_transforms(f: &dyn Fn(&Vec<Tensor>) -> Result<Tensor>, x: &Vec<Tensor>) -> Result<[Vec<Tensor>; 3]> {
    let first = |x: &Vec<Tensor>| grad(f)(x);
    let second = |x: &Vec<Tensor>| grad(|x: &Vec<Tensor>| along(&first(x)?))(x);
    let third = |x: &Vec<Tensor>| grad(|x: &Vec<Tensor>| along(&second(x)?))(x);
    Ok([first(x)?, second(x)?, third(x)?])
}

/// The same by walks back to leaves.
fn by_walks(f: &dyn Fn(&Vec<Tensor>) -> Result<Tensor>, x: &Vec<Tensor>) -> Result<[Vec<Tensor>; 3]> {
    let x = leaf(x)?;
    let mut y = f(&x)?;
    let mut all: [Vec<Tensor>; 3] = Default::default();
    for gradient in &mut all {
        *gradient = match y.requires_grad() {
            true => Grad::new().create_graph().materialize_grads().of(&y, &x)?,
            false => x.iter().map(Tensor::zeros_like).collect::<Result<_>>()?,
        };
        y = along(gradient)?;
    }
    // Without a graph, and into the leaves.
    let y = f(&x)?;
    if y.requires_grad() {
        y.backward()?;
    }
    for (leaf, want) in x.iter().zip(&all[0]) {
        let got = match leaf.grad()? {
            Some(got) => got,
            None => leaf.zeros_like()?,
        };
        assert!(
            got.equal(want)? || Naive::of(&got)?.data.iter().any(|v| v.is_nan()),
            "without a graph: {got} for {want}"
        );
    }
    Ok(all)
}

fn compare(f: &dyn Fn(&Vec<Tensor>) -> Result<Tensor>, x: &Vec<Tensor>) -> Result<(), String> {
    let text = |e: pullback::Error| e.to_string();
    let (got, want) = (by_walks(f, x).map_err(text)?, by_transforms(f, x).map_err(text)?);
    for (order, (got, want)) in got.iter().zip(&want).enumerate() {
        for (k, (got, want)) in got.iter().zip(want).enumerate() {
            let (a, b) = (Naive::of(got).map_err(text)?, Naive::of(want).map_err(text)?);
            if got.ty() != want.ty() {
                return Err(format!("order {}, input {k}: {} by a walk, {} by `grad`", order + 1, got.ty(), want.ty()));
            }
            let size = b.data.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
            let same = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-10 * size;
            if !a.data.iter().zip(&b.data).all(same) {
                let order = order + 1;
                return Err(format!("order {order}, input {k}: {:?} by walks, {:?} by `grad`", a.data, b.data));
            }
        }
    }
    Ok(())
}

/// Derivatives to third order, of the call itself and of one lane of a `vmap`.
fn imperative(sample: &Sample) -> Result<(), String> {
    if !sample.is_differentiable() {
        return Ok(());
    }
    let which: Vec<usize> = (0..sample.inputs.len()).filter(|&k| sample.inputs[k].dtype() == DType::F64).collect();
    let x: Vec<Tensor> = which.iter().map(|&k| sample.inputs[k].clone()).collect();
    let call = |x: &Vec<Tensor>| {
        let mut all = sample.inputs.clone();
        for (&k, t) in which.iter().zip(x) {
            all[k] = t.clone();
        }
        (sample.call)(&all)
    };
    if x.is_empty() {
        return Ok(());
    }
    compare(&|x| total(&call(x)?), &x)?;
    let lanes = |x: &Vec<Tensor>| {
        let x: Vec<Tensor> = x.iter().map(|t| t.unsqueeze(0)).collect::<Result<_>>()?;
        vmap(|x: &Vec<Tensor>| total(&call(x)?))(&x)?.sum()
    };
    compare(&lanes, &x).map_err(|e| format!("as a lane: {e}"))
}
