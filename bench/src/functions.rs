//! The user-defined functions of the workloads.

use pullback::{Context, Cotangent, Function, Result, Tangent, Tensor};

/// x³ with 3x² as a second output that the derivative reads.
#[derive(Clone)]
pub struct Cube;

impl Function for Cube {
    type Inputs = Tensor;
    type Outputs = (Tensor, Tensor);
    type Saved = (Tensor, Tensor);

    fn forward(&self, x: &Tensor) -> Result<(Tensor, Tensor)> {
        Ok((x.powi(3)?, x.square()? * 3.0))
    }

    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, y: &(Tensor, Tensor)) -> Result<(Tensor, Tensor)> {
        Ok((x.clone(), y.1.clone()))
    }

    fn backward(
        &self,
        _: &Context<Self>,
        (x, slope): &(Tensor, Tensor),
        (g, h): (Cotangent, Cotangent),
    ) -> Result<Cotangent> {
        Ok(g * slope + h * x * 6.0)
    }
}

/// The sine, as a function of the user's: what it costs beside the built-in one is the price of a `Function`.
#[derive(Clone)]
pub struct Sine;

impl Function for Sine {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.sin()
    }

    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        Ok(x.clone())
    }

    fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
        g.map(|g| g.mul(x.cos()?))
    }
}

/// The sine with a forward rule only.
#[derive(Clone)]
pub struct ForwardSine;

impl Function for ForwardSine {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.sin()
    }

    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        Ok(x.clone())
    }

    fn jvp(&self, _: &Context<Self>, x: &Tensor, t: Tangent) -> Result<Tangent> {
        t.map(|t| t.mul(x.cos()?))
    }
}
