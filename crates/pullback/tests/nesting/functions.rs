//! Functions as users write them: with one derivative rule, with the other, with both, and closed to the outside.

use pullback::{Context, Cotangent, Dims, Function, Result, Tangent, Tensor, VmapInfo};

/// `x²` with only `backward`.
#[derive(Clone)]
pub struct SquareBackward;

impl Function for SquareBackward {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.mul(x)
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        Ok(x.clone())
    }
    fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
        Ok(g * x * 2.0)
    }
}

/// `x²` with only `jvp`.
#[derive(Clone)]
pub struct SquareJvp;

impl Function for SquareJvp {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.mul(x)
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        Ok(x.clone())
    }
    fn jvp(&self, _: &Context<Self>, x: &Tensor, t: Tangent) -> Result<Tangent> {
        Ok(t * x * 2.0)
    }
}

/// `x²` with both rules, which save what they read in `setup_context`.
#[derive(Clone)]
pub struct SquareBoth;

impl Function for SquareBoth {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.mul(x)
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        x.mul(2.0)
    }
    fn backward(&self, _: &Context<Self>, slope: &Tensor, g: Cotangent) -> Result<Cotangent> {
        Ok(g * slope)
    }
    fn jvp(&self, _: &Context<Self>, slope: &Tensor, t: Tangent) -> Result<Tangent> {
        Ok(t * slope)
    }
}

/// `x³` with only `backward`, written as anybody would.
#[derive(Clone)]
pub struct Cube;

impl Function for Cube {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.mul(x)?.mul(x)
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        Ok(x.clone())
    }
    fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
        Ok(g * x * x * 3.0)
    }
}

/// The sine as code outside the library computes it; its derivative is [`OpaqueCos`].
#[derive(Clone)]
pub struct OpaqueSin;

/// The cosine as code outside the library computes it; its derivative is [`OpaqueSin`].
#[derive(Clone)]
pub struct OpaqueCos;

fn outside(x: &Tensor, f: fn(f64) -> f64) -> Result<Tensor> {
    let values: Vec<f64> = x.to_vec::<f64>()?.into_iter().map(f).collect();
    Tensor::from_slice(&values, x.shape())
}

impl Function for OpaqueSin {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        outside(x, f64::sin)
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        Ok(x.clone())
    }
    fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
        Ok(g * OpaqueCos.apply(x)?)
    }
    fn vmap(&self, _: &VmapInfo, dims: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
        Ok((self.apply(x)?, dims))
    }
}

impl Function for OpaqueCos {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        outside(x, f64::cos)
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        Ok(x.clone())
    }
    fn jvp(&self, _: &Context<Self>, x: &Tensor, t: Tangent) -> Result<Tangent> {
        Ok(-(t * OpaqueSin.apply(x)?))
    }
    fn vmap(&self, _: &VmapInfo, dims: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
        Ok((self.apply(x)?, dims))
    }
}
