//! The imperative surface. Test names begin with the ids of the facts of PyTorch's behaviour that the project started
//! from (`a_01_…`) or of the cases that users of other systems met (`c88_…`); expected values are closed forms, or what the
//! functional transforms give.

mod anomaly;
mod create_graph;
mod dual;
mod grad;
mod hooks;
mod leaves;
mod memory;
mod mode;
mod threads;
mod training;
mod transforms;

use pullback::autograd::leaf;
use pullback::{Context, Cotangent, Dims, ErrorKind, Function, Result, Tangent, Tensor, VmapInfo};

pub fn value(t: &Tensor) -> f64 {
    t.item::<f64>().expect("one f64")
}

pub fn values(t: &Tensor) -> Vec<f64> {
    t.to_vec::<f64>().expect("an f64 tensor")
}

/// A 0-d leaf.
pub fn scalar(x: f64) -> Tensor {
    leaf(&Tensor::from(x)).expect("a float")
}

/// A leaf of one dimension.
pub fn vector(x: &[f64]) -> Tensor {
    leaf(&Tensor::from_slice(x, &[x.len()]).expect("a vector")).expect("a float")
}

/// The gradient that has accumulated.
#[track_caller]
pub fn grad_of(t: &Tensor) -> Vec<f64> {
    values(&t.grad().expect("a leaf").expect("a gradient"))
}

#[track_caller]
pub fn close(got: &[f64], want: &[f64]) {
    assert_eq!(got.len(), want.len(), "got {got:?}, want {want:?}");
    for (g, w) in got.iter().zip(want) {
        assert!((g - w).abs() <= 1e-9 * w.abs().max(1.0), "got {got:?}, want {want:?}");
    }
}

/// The error has this kind, and its text has all these parts.
#[track_caller]
pub fn refused<T>(result: Result<T>, kind: ErrorKind, parts: &[&str]) {
    let err = result.err().expect("an error");
    assert_eq!(err.kind(), kind, "{err}");
    for part in parts {
        assert!(err.to_string().contains(part), "{err}\ndoes not say {part}");
    }
}

/// x³ by plain numbers, whose backward reads an intermediate that `setup_context` computes.
#[derive(Clone)]
pub struct Cube;

impl Function for Cube {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let cubes: Vec<f64> = x.to_vec::<f64>()?.into_iter().map(|x| x * x * x).collect();
        Tensor::from_slice(&cubes, x.shape())
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        x.square()?.mul(3.0)
    }
    fn backward(&self, _: &Context<Self>, slope: &Tensor, g: Cotangent) -> Result<Cotangent> {
        g.map(|g| g.mul(slope))
    }
    fn vmap(&self, _: &VmapInfo, dims: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
        Ok((self.apply(x)?, dims))
    }
}

/// exp(x) by plain numbers, whose only rule is `jvp` and reads the output.
#[derive(Clone)]
pub struct Exp;

impl Function for Exp {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let all: Vec<f64> = x.to_vec::<f64>()?.into_iter().map(f64::exp).collect();
        Tensor::from_slice(&all, x.shape())
    }
    fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, y: &Tensor) -> Result<Tensor> {
        Ok(y.clone())
    }
    fn jvp(&self, _: &Context<Self>, y: &Tensor, t: Tangent) -> Result<Tangent> {
        t.map(|t| t.mul(y))
    }
    fn vmap(&self, _: &VmapInfo, dims: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
        Ok((self.apply(x)?, dims))
    }
}
