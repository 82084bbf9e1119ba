//! Checking users' functions with the properties that the built-in operations satisfy.

use std::fmt;

use super::properties::properties;
use super::table::Sample;
use crate::error::bail;
use crate::tree::{leaves, try_map};
use crate::{DType, Function, Result, Tensor, Tree};

/// What [`check_function`], [`gradcheck`] or [`gradgradcheck`] found: one line per property.
///
/// Its `Display` lists them, and says of each that does not hold what was found instead.
#[derive(Clone, Debug)]
pub struct Report {
    /// What was checked.
    function: String,
    lines: Vec<(&'static str, Option<String>)>,
    /// Properties that were not checked, each with the reason.
    skipped: Vec<(&'static str, String)>,
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
        bail!(Rule, "{}: expected every property to hold, got {}", self.function, findings.join("; "))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.function)?;
        for (name, found) in &self.lines {
            match found {
                None => writeln!(f, "  ok      {name}")?,
                Some(found) => writeln!(f, "  FAILED  {name}: {found}")?,
            }
        }
        for (name, reason) in &self.skipped {
            writeln!(f, "  skipped {name}: {reason}")?;
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
/// The same inputs in `f32` must give the same in `f32`. A function that refuses them with an error of kind `Dtype`, as
/// one that reads its inputs with `to_vec::<f64>()` does, is taken to be for `f64` only; the report then lists
/// `f32_agrees_with_f64` as skipped.
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
    let own = function.clone();
    let sample = sample_of("check_function", move |x: &F::Inputs| own.apply(x), inputs)?;
    let (mut lines, mut skipped) = (Vec::new(), Vec::new());
    let refusal = refusal_of_f32(function, inputs);
    for p in properties().iter().filter(|p| !p.mixed_dtypes) {
        match &refusal {
            Some(reason) if p.name == "f32_agrees_with_f64" => skipped.push((p.name, reason.clone())),
            _ => lines.push((p.name, p.check(&sample).err())),
        }
    }
    Ok(Report { function: format!("function `{}`", function.name()), lines, skipped })
}

/// What `function` says if it does not take `inputs` in `f32` because of their dtype.
fn refusal_of_f32<F: Function>(function: &F, inputs: &F::Inputs) -> Option<String> {
    let single = try_map(inputs, &mut |t| if t.dtype() == DType::F64 { t.to_dtype(DType::F32) } else { Ok(t.clone()) });
    let single = single.ok()?;
    // A panic is left to the properties, which report it.
    let call = std::panic::AssertUnwindSafe(|| function.apply(&single));
    let refusal = std::panic::catch_unwind(call).ok()?.err()?;
    refusal.is_dtype().then(|| refusal.to_string())
}

/// Checks the first derivatives of a function of a tree at `x`, in both modes: that forward mode agrees with central
/// differences, that reverse mode is its transpose, and that derivatives by one input are parts of the whole.
///
/// Inputs of dtype `f64` are differentiated, the others held fixed.
///
/// # Errors
/// As [`check_function`].
///
/// # Example
/// ```
/// use pullback::testing::gradcheck;
/// use pullback::Tensor;
/// let f = |(a, b): &(Tensor, Tensor)| a.mul(b)?.sin();
/// gradcheck(f, &(Tensor::from([0.3, 1.2]), Tensor::from(2.0)))?.into_result()?;
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn gradcheck<A: Tree, O: Tree>(f: impl Fn(&A) -> Result<O> + Send + Sync + 'static, x: &A) -> Result<Report> {
    check_first(f, x, "gradcheck", |name| !matches!(name, "second_order" | "third_order"))
}

/// [`gradcheck`] for second derivatives: that all four nestings of the modes agree with each other and with differences
/// of the gradient.
///
/// # Errors
/// As [`check_function`].
///
/// # Example
/// ```
/// use pullback::testing::gradgradcheck;
/// use pullback::Tensor;
/// let report = gradgradcheck(|x: &Tensor| x.mul(&x.detach()?), &Tensor::from([0.3, 1.2]))?;
/// assert!(!report.is_ok());
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn gradgradcheck<A: Tree, O: Tree>(f: impl Fn(&A) -> Result<O> + Send + Sync + 'static, x: &A) -> Result<Report> {
    check_first(f, x, "gradgradcheck", |name| name == "second_order")
}

/// Checks the properties about derivatives that `wanted` selects by name, except those of batching.
fn check_first<A: Tree, O: Tree>(
    f: impl Fn(&A) -> Result<O> + Send + Sync + 'static,
    x: &A,
    name: &str,
    wanted: fn(&str) -> bool,
) -> Result<Report> {
    let sample = sample_of(name, f, x)?;
    let chosen = properties().iter().filter(|p| p.derivatives && !p.batching && !p.mixed_dtypes && wanted(p.name));
    let lines = chosen.map(|p| (p.name, p.check(&sample).err())).collect();
    Ok(Report { function: name.to_string(), lines, skipped: Vec::new() })
}

/// Calls of `f` with trees like `inputs` as a sample.
fn sample_of<A: Tree, O: Tree>(
    name: &str,
    f: impl Fn(&A) -> Result<O> + Send + Sync + 'static,
    inputs: &A,
) -> Result<Sample> {
    let tensors: Vec<Tensor> = leaves(inputs).into_iter().cloned().collect();
    if !tensors.iter().any(|t| t.dtype() == DType::F64) {
        bail!(Dtype, "{name}: expected an f64 tensor among the inputs, got none"; help = "differences of `f32` \
            values have few digits; convert the inputs with `to_dtype`");
    }
    let template = inputs.clone();
    let call = move |x: &[Tensor]| {
        let mut x = x.iter();
        let tree: A = try_map(&template, &mut |t| Ok(x.next().unwrap_or(t).clone()))?;
        Ok(leaves(&f(&tree)?).into_iter().cloned().collect())
    };
    let sample = Sample::new("inputs", tensors, call);
    // An error here is the caller's, not a finding.
    (sample.call)(&sample.inputs)?;
    Ok(sample)
}
