//! Checking the derivatives of any function of trees, with options.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::close::{At as _, Outcome, all_same};
use super::function::{Report, sample_of};
use super::jacobian::{Mode, Tolerance, matches, matches_fast};
use super::limits::refusal_of_second_order;
use super::properties::{Part, properties};
use super::table::Sample;
use crate::error::bail;
use crate::{Result, Tensor, Tree};

/// Options for checking derivatives; [`gradcheck`] and [`gradgradcheck`] are the defaults.
///
/// The Jacobians by reverse and forward mode must be those by central differences, up to `atol + rtol·|difference|`.
/// A finding names the input, the output and the worst element, and shows both Jacobians next to each other.
///
/// ```
/// use pullback::{Tensor, testing::GradCheck};
/// let f = |x: &Tensor| x.sin()?.mul(x);
/// let x = Tensor::from([0.3, 1.2]);
/// GradCheck::new().fast(true).seed(7).run(f, &x)?.into_result()?;
/// GradCheck::new().atol(1e-4).second_order(f, &x)?.into_result()?;
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct GradCheck {
    tolerance: Tolerance,
    fast: bool,
    batched: bool,
    reverse: bool,
    forward: bool,
    noise: f64,
    seed: u64,
}

impl Default for GradCheck {
    fn default() -> GradCheck {
        let tolerance = Tolerance { eps: 1e-6, atol: 1e-5, rtol: 1e-3 };
        GradCheck { tolerance, fast: false, batched: false, reverse: true, forward: true, noise: 0.0, seed: 0 }
    }
}

impl GradCheck {
    /// Steps of 1e-6, tolerances 1e-5 (absolute) and 1e-3 (relative), whole Jacobians, no `vmap`.
    pub fn new() -> GradCheck {
        GradCheck::default()
    }

    /// The step of the differences, a positive number.
    pub fn eps(mut self, eps: f64) -> GradCheck {
        self.tolerance.eps = eps;
        self
    }

    /// How far an element may be from the difference; 0 for not at all.
    pub fn atol(mut self, atol: f64) -> GradCheck {
        self.tolerance.atol = atol;
        self
    }

    /// How far an element may be from the difference, relative to it.
    pub fn rtol(mut self, rtol: f64) -> GradCheck {
        self.tolerance.rtol = rtol;
        self
    }

    /// Compares one random combination of the rows and columns of each Jacobian instead of all elements: two calls
    /// for each input instead of two for each element. If that fails, the whole Jacobians are computed to say where.
    /// Of the other properties, only `repeats_exactly` is checked.
    pub fn fast(mut self, fast: bool) -> GradCheck {
        self.fast = fast;
        self
    }

    /// Checks also that derivatives under `vmap` are those of a loop.
    pub fn check_batched(mut self, batched: bool) -> GradCheck {
        self.batched = batched;
        self
    }

    /// Checks reverse mode, forward mode or, as by default, both. What compares the modes needs both.
    pub fn modes(mut self, reverse: bool, forward: bool) -> GradCheck {
        (self.reverse, self.forward) = (reverse, forward);
        self
    }

    /// How far two equal calls may be from each other, for functions that do not repeat exactly.
    pub fn noise(mut self, noise: f64) -> GradCheck {
        self.noise = noise;
        self
    }

    /// Chooses the random combinations.
    pub fn seed(mut self, seed: u64) -> GradCheck {
        self.seed = seed;
        self
    }

    /// Checks the first derivatives of `f` at `x`, in both modes.
    ///
    /// Inputs of dtype `f64` and `c128` are differentiated, the others held fixed. Complex numbers, also among the outputs, are
    /// checked as pairs of real ones, and so do findings show them.
    ///
    /// # Errors
    /// `Value` for a step that is not positive and finite, a tolerance that is negative or not finite, or if no input
    /// that is differentiated, or no floating output, has elements; `Arity` if no input is a float, `Dtype` if none of
    /// them is `f64`, `NotDifferentiable` if no output is a float; `ConcreteValueNeeded` if an
    /// input is batched by a `vmap`; whatever `f` reports at `x`.
    pub fn run<A: Tree, O: Tree>(&self, f: impl Fn(&A) -> Result<O> + Send + Sync + 'static, x: &A) -> Result<Report> {
        self.validate("gradcheck")?;
        let sample = sample_of("gradcheck", f, x)?;
        let mut lines = self.lines(&sample, ["vjp_matches_differences", "jvp_matches_differences"]);
        let wanted = ["repeats_exactly", "vjp_is_transpose_of_jvp", "rules_are_linear", "parts_agree"];
        let batched = ["vmap_of_grad", "vmap_of_jvp"];
        let both = self.reverse && self.forward;
        let repeats = wanted[0];
        if !both || self.noise > 0.0 {
            lines.push((repeats, quietly(|| self.repeats(&Part::of(&sample)?))));
        }
        for p in properties() {
            let is_wanted = match p.name {
                name if name == repeats => both && self.noise == 0.0,
                name if name == batched[0] => self.batched && self.reverse,
                name if name == batched[1] => self.batched && self.forward,
                name => wanted.contains(&name) && both && !self.fast,
            };
            if is_wanted {
                lines.push((p.name, p.check(&sample).err()));
            }
        }
        Ok(Report::new("gradcheck".into(), lines))
    }

    /// Checks the second derivatives of `f` at `x`: the derivatives of the gradient, in both modes, by the inputs and
    /// by the cotangents of the outputs. A function that refuses all of them, as one that is differentiable once does, fails
    /// the one property `second_order_exists`.
    ///
    /// # Errors
    /// As [`GradCheck::run`].
    pub fn second_order<A: Tree, O: Tree>(
        &self,
        f: impl Fn(&A) -> Result<O> + Send + Sync + 'static,
        x: &A,
    ) -> Result<Report> {
        self.validate("gradgradcheck")?;
        let sample = sample_of("gradgradcheck", f, x)?;
        if let Some(refusal) = refusal_of_second_order(&sample) {
            return Ok(Report::new("gradgradcheck".into(), vec![("second_order_exists", Some(refusal))]));
        }
        let mut lines =
            self.lines(&gradient_of(&sample)?, ["vjp_of_vjp_matches_differences", "jvp_of_vjp_matches_differences"]);
        if !self.fast && self.reverse && self.forward {
            let second = properties().iter().filter(|p| p.name == "second_order");
            lines.extend(second.map(|p| (p.name, p.check(&sample).err())));
        }
        Ok(Report::new("gradgradcheck".into(), lines))
    }

    /// An error if the options allow everything, or nothing.
    fn validate(&self, name: &str) -> Result<()> {
        let Tolerance { eps, atol, rtol } = self.tolerance;
        if !(eps.is_finite() && eps > 0.0) {
            bail!(Value, "{name}: expected a positive, finite step `eps`, got {eps}");
        }
        if !self.reverse && !self.forward {
            bail!(Value, "{name}: expected at least one mode to check, got none");
        }
        for (option, value) in [("atol", atol), ("rtol", rtol), ("noise", self.noise)] {
            if !(value.is_finite() && value >= 0.0) {
                bail!(Value, "{name}: expected a tolerance `{option}` that is finite and not negative, got {value}");
            }
        }
        Ok(())
    }

    fn lines(&self, sample: &Sample, names: [&'static str; 2]) -> Vec<(&'static str, Option<String>)> {
        let modes = [(Mode::Reverse, "reverse mode", self.reverse), (Mode::Forward, "forward mode", self.forward)];
        let each = |((mode, rule, is_asked), name): ((Mode, &str, bool), &'static str)| {
            is_asked.then(|| (name, quietly(|| self.check(&Part::of(sample)?, mode, rule))))
        };
        modes.into_iter().zip(names).filter_map(each).collect()
    }

    /// Fails if two equal calls differ by more than what is allowed.
    fn repeats(&self, part: &Part<'_>) -> Outcome {
        let inputs = &part.sample.inputs;
        let (cotangents, tangents) = (part.cotangents(1)?, part.tangents(2)?);
        let names = ["the second of two equal calls", "the first"];
        let twice = |place: &str, call: &dyn Fn() -> Result<Vec<Tensor>>| {
            let first = call()?;
            all_same(&call()?, &first, self.noise, names).at(place)
        };
        twice("values", &|| (part.sample.call)(inputs))?;
        if self.reverse {
            twice("reverse mode", &|| part.vjp(inputs, &cotangents))?;
        }
        if self.forward {
            twice("forward mode", &|| part.jvp(inputs, &tangents))?;
        }
        Ok(())
    }

    /// One mode against differences.
    pub(super) fn check(&self, part: &Part<'_>, mode: Mode, rule: &str) -> Outcome {
        match self.fast {
            true => matches_fast(part, mode, rule, self.tolerance, self.seed),
            false => matches(part, mode, rule, self.tolerance),
        }
    }
}

/// What a check finds; a panic is a finding too.
pub(super) fn quietly(check: impl FnOnce() -> Outcome) -> Option<String> {
    match catch_unwind(AssertUnwindSafe(check)) {
        Ok(outcome) => outcome.err().map(|f| f.0),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            Some(format!("panicked: {text}"))
        }
    }
}

/// The cotangents of the inputs, as a function of the inputs and the cotangents of the outputs.
fn gradient_of(sample: &Sample) -> Result<Sample> {
    let failed = |f: super::close::Failure| crate::Error::new(crate::ErrorKind::Rule, f.0);
    let part = Part::of(sample).map_err(failed)?;
    let cotangents = part.cotangents(5)?;
    let n = sample.inputs.len();
    let (which, own) = (part.which.clone(), sample.clone());
    let call = move |x: &[Tensor]| Part::by(&own, which.clone()).map_err(failed)?.vjp(&x[..n], &x[n..]);
    Ok(Sample::new("inputs and cotangents", [sample.inputs.clone(), cotangents].concat(), call))
}

/// Checks the first derivatives of a function of a tree at `x`, in both modes: the whole Jacobians against central
/// differences, that each mode is the transpose of the other and linear, and that derivatives by one input are parts of
/// the whole. [`GradCheck`] has options.
///
/// Inputs of dtype `f64` and `c128` are differentiated, the others held fixed.
///
/// # Errors
/// As [`GradCheck::run`].
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
    GradCheck::new().run(f, x)
}

/// [`gradcheck`] for second derivatives: those of the gradient against differences in both modes, and that all four
/// nestings of the modes agree.
///
/// # Errors
/// As [`GradCheck::run`].
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
    GradCheck::new().second_order(f, x)
}
