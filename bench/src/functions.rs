//! The user-defined function of the workloads.

use pullback::{Context, Cotangent, Function, Result, Tensor};

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
