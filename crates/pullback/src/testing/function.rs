//! Checking a user's [`Function`] with the properties that the built-in operations satisfy.

use std::fmt;

use super::properties::properties;
use super::table::Sample;
use crate::error::bail;
use crate::tree::{leaves, try_map};
use crate::{DType, Function, Result, Tensor};

/// What [`check_function`] found: one line per property.
///
/// Its `Display` lists them, and says of each that does not hold what was found instead.
#[derive(Clone, Debug)]
pub struct Report {
    function: String,
    lines: Vec<(&'static str, Option<String>)>,
}

impl Report {
    /// The names of the properties that do not hold.
    pub fn failures(&self) -> impl Iterator<Item = &'static str> {
        self.lines.iter().filter(|(_, found)| found.is_some()).map(|(name, _)| *name)
    }

    /// What was found where `property` should hold, if it does not.
    pub fn finding(&self, property: &str) -> Option<&str> {
        self.lines.iter().find(|(name, _)| *name == property)?.1.as_deref()
    }

    /// True if every property holds.
    pub fn is_ok(&self) -> bool {
        self.failures().next().is_none()
    }

    /// The report as an error of kind `Rule` if a property does not hold, for `?`.
    ///
    /// # Errors
    /// `Rule`, with every finding in its message.
    pub fn into_result(self) -> Result<()> {
        if self.is_ok() {
            return Ok(());
        }
        let findings: Vec<String> =
            self.lines.iter().filter_map(|(name, found)| Some(format!("{name}: {}", found.as_ref()?))).collect();
        bail!(Rule, "function `{}` violates: {}", self.function, findings.join("; "))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "function `{}`", self.function)?;
        for (name, found) in &self.lines {
            match found {
                None => writeln!(f, "  ok      {name}")?,
                Some(found) => writeln!(f, "  FAILED  {name}: {found}")?,
            }
        }
        Ok(())
    }
}

/// Checks everything that must hold for a function at `inputs`: derivatives against differences, reverse against
/// forward mode, linearity of the rules, second order in all four nestings, and the batching rule against a loop for
/// every set of batched inputs, alone and nested with derivatives.
///
/// Inputs of dtype `f64` are differentiated, the others held fixed. Choose a point away from kinks, where the function
/// also exists a few percent further on (lanes are made by varying the inputs slightly).
///
/// # Errors
/// `Dtype` if there is no `f64` input; whatever the function reports at `inputs`. Violations are not errors but lines of
/// the [`Report`].
///
/// # Example
/// ```
/// use pullback::testing::check_function;
/// use pullback::{Context, Cotangent, Function, Result, Tensor};
///
/// #[derive(Clone)]
/// struct Square;
/// impl Function for Square {
///     type Inputs = Tensor;
///     type Outputs = Tensor;
///     type Saved = Tensor;
///     fn forward(&self, x: &Tensor) -> Result<Tensor> {
///         x.mul(x)
///     }
///     fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
///         Ok(x.clone())
///     }
///     fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
///         Ok(g * x * 3.0) // should be 2
///     }
/// }
///
/// let report = check_function(&Square, &Tensor::from([1.0, 2.0]))?;
/// assert!(report.failures().any(|name| name == "jvp_matches_differences"));
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn check_function<F: Function>(function: &F, inputs: &F::Inputs) -> Result<Report> {
    let sample = sample_of(function, inputs)?;
    let lines = properties().iter().map(|p| (p.name, p.check(&sample).err())).collect();
    Ok(Report { function: function.name().to_string(), lines })
}

/// A call of the function as a sample.
fn sample_of<F: Function>(function: &F, inputs: &F::Inputs) -> Result<Sample> {
    let tensors: Vec<Tensor> = leaves(inputs).into_iter().cloned().collect();
    if !tensors.iter().any(|t| t.dtype() == DType::F64) {
        bail!(Dtype, "check_function: expected an f64 tensor among the inputs, got none"; help = "differences of `f32` \
            values have few digits; convert the inputs with `to_dtype`");
    }
    let (function, template) = (function.clone(), inputs.clone());
    let call = move |x: &[Tensor]| {
        let mut x = x.iter();
        let tree: F::Inputs = try_map(&template, &mut |t| Ok(x.next().unwrap_or(t).clone()))?;
        let outputs = function.apply(&tree)?;
        Ok(leaves(&outputs).into_iter().cloned().collect())
    };
    let mut sample = Sample::new("inputs", tensors, call);
    let outputs = (sample.call)(&sample.inputs)?;
    sample.differentiable = outputs.iter().any(|t| t.dtype().is_float());
    Ok(sample)
}
