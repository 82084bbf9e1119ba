//! Intermediate values that a `forward` with `ctx` saved: right in the first derivative, and an error in the next one.

use std::sync::Arc;

use pullback::function::WrittenAs;
use pullback::{Context, Cotangent, Error, ErrorKind, Function, Result, Tensor};

/// The intermediate values, as values that depend on the inputs in a way that nobody knows.
///
/// `forward` ran below all levels, so an outer derivative would take them for constants and be wrong.
#[derive(Clone)]
pub struct Severed(pub Arc<str>);

impl Severed {
    fn refuse<T>(&self) -> Result<T> {
        let text = "a rule reads an intermediate value that `forward` saved, which is neither an input nor an output, so the \
                    derivative of the rule is not known";
        Err(Error::new(ErrorKind::NotDifferentiable, text).with_help(
            "return it from `forward` as another output, with a gradient in `backward` (or marked with \
             `ctx.mark_non_differentiable` if it is a constant), or save inputs and compute it in the rule",
        ))
    }
}

impl Function for Severed {
    /// The inputs of the function, and the values.
    type Inputs = (Vec<Tensor>, Vec<Tensor>);
    type Outputs = Vec<Tensor>;
    type Saved = ();

    fn name(&self) -> &str {
        &self.0
    }

    fn forward(&self, (_, values): &Self::Inputs) -> Result<Vec<Tensor>> {
        Ok(values.clone())
    }

    fn setup_context(&self, _: &mut Context<Self>, _: &Self::Inputs, _: &Vec<Tensor>) -> Result<()> {
        Ok(())
    }

    fn backward(&self, ctx: &Context<Self>, _: &(), grads: Vec<Cotangent>) -> Result<(Vec<Cotangent>, Vec<Cotangent>)> {
        if grads.iter().any(|grad| !grad.is_zero()) {
            return self.refuse();
        }
        let (inputs, values) = ctx.needs_input_grad();
        Ok((vec![Cotangent::zero(); inputs.len()], vec![Cotangent::zero(); values.len()]))
    }

    fn jvp(&self, _: &Context<Self>, _: &(), _: (Vec<Cotangent>, Vec<Cotangent>)) -> Result<Vec<Cotangent>> {
        self.refuse()
    }

    fn backward_is_linear(&self) -> bool {
        true
    }

    fn written_as(&self) -> WrittenAs {
        WrittenAs::Python
    }
}
