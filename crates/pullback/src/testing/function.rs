//! Checking users' functions with the properties that the built-in operations satisfy.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::close::{Outcome, all_same, fail, values};
use super::gradcheck::{GradCheck, quietly};
use super::jacobian::Mode;
use super::limits::{Limits, second_order_is_refused};
use super::properties::{Part, f32_values_agree, properties, refusal_of_f32};
use super::table::Sample;
use crate::error::{Context as _, bail};
use crate::function::probe::{Rules, rules, saved_values};
use crate::tree::{leaves, path_of, try_map};
use crate::{DType, ErrorKind, Function, Randomness, Result, Tensor, Tree, Vmap, stack};

/// What [`check_function`], [`gradcheck`](super::gradcheck) or [`gradgradcheck`](super::gradgradcheck) found: one line per property.
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
    pub(super) fn new(function: String, lines: Vec<(&'static str, Option<String>)>) -> Report {
        Report { function, lines, skipped: Vec::new() }
    }

    /// The method that the finding about `property` is about: `forward`, `setup_context`, `backward`, `jvp` or `vmap`.
    /// Without a function of its own methods, as in [`gradcheck`](super::gradcheck), there is none.
    pub fn rule(&self, property: &str) -> Option<&'static str> {
        let found = self.finding(property)?;
        let place = |name: &&str| found.find(&format!("`{name}` of function `"));
        METHODS.into_iter().filter(|name| place(name).is_some()).min_by_key(place)
    }

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

const METHODS: [&str; 5] = ["forward", "setup_context", "backward", "jvp", "vmap"];

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
/// Also that `setup_context` is pure, and that lanes share random numbers as the policy of the `vmap` says. Second
/// derivatives of a function that is differentiable once, or whose rules work on slices, must be errors. If it has a rule on
/// slices for one mode only, what needs the other mode is skipped. Findings name the method, and show the
/// Jacobians by differences and by the rule next to each other.
///
/// Inputs of dtype `f64` are differentiated, the others held fixed. Choose a point away from kinks, where the function
/// also exists a few percent further on (lanes are made by varying the inputs slightly).
///
/// The same inputs in `f32` must give the same in `f32`. A function of which `forward`, `backward` or `jvp` refuses
/// them with an error of kind `Dtype`, as one that reads its inputs with `to_vec::<f64>()` does, is taken to be for
/// `f64` only; the report then lists `f32_agrees_with_f64` as skipped, and says which method refused.
///
/// # Errors
/// As [`gradcheck`](super::gradcheck). Violations are not errors but lines of the [`Report`].
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
    let refusal = refusal_of_f32(&sample);
    let name = function.name();
    let known = catch_unwind(AssertUnwindSafe(|| rules(function, inputs))).ok().and_then(Result::ok);
    let place = |property: &str, found: String| match rule_of(property, &found, known) {
        Some(rule) if !found.contains("of function `") => format!("`{rule}` of function `{name}`: {found}"),
        _ => found,
    };
    lines.push(("setup_context_is_pure", quietly(|| setup_context_is_pure(function, inputs))));
    let (draws, honoured) = randomness(&sample);
    lines.push(("randomness_is_honoured", honoured));
    let small = sample.inputs.iter().map(Tensor::numel).sum::<usize>() <= 64;
    let limits = Limits::of(function, &sample, known);
    let check = || GradCheck::new().fast(!small).check(&Part::of(&sample)?, Mode::Reverse, "reverse mode");
    match limits.mode_missing(Mode::Reverse) {
        Some(reason) => skipped.push(("vjp_matches_differences", reason.into())),
        None => lines.push(("vjp_matches_differences", quietly(check))),
    }
    if limits.once.is_some() {
        lines.push(("second_order_is_refused", quietly(|| second_order_is_refused(&sample))));
    }
    for p in properties().iter().filter(|p| !p.mixed_dtypes) {
        match &refusal {
            Some(refusal) if p.name == "f32_agrees_with_f64" => {
                match (!refusal.in_forward).then(|| quietly(|| f32_values_agree(&sample))).flatten() {
                    Some(found) => lines.push((p.name, Some(found))),
                    None => skipped.push((p.name, refusal.reason.clone())),
                }
            }
            _ if limits.excludes(p).is_some() => skipped.extend(limits.excludes(p).map(|reason| (p.name, reason))),
            _ if draws && p.batching => skipped.push((p.name, "it draws random numbers".into())),
            _ => {
                let mut found = p.check(&sample).err();
                if p.name == "jvp_matches_differences" && found.is_some() && small {
                    // The whole Jacobian tells more than one direction.
                    let check = || GradCheck::new().check(&Part::of(&sample)?, Mode::Forward, "forward mode");
                    found = quietly(check).or(found);
                }
                lines.push((p.name, found));
            }
        }
    }
    let lines = lines.into_iter().map(|(p, found)| (p, found.map(|found| place(p, found)))).collect();
    Ok(Report { function: format!("function `{name}`"), lines, skipped })
}

/// Which method a finding is about, where its text does not say.
fn rule_of(property: &str, found: &str, known: Option<Rules>) -> Option<&'static str> {
    let Rules { backward, jvp, .. } = known?;
    // The rule that serves a mode, which may be the other one transposed.
    let reverse = if backward { "backward" } else { "jvp" };
    let forward = if jvp { "jvp" } else { "backward" };
    match property {
        "setup_context_is_pure" => Some("setup_context"),
        "randomness_is_honoured" => Some("vmap"),
        "vjp_matches_differences" => Some(reverse),
        "jvp_matches_differences" => Some(forward),
        _ if property.contains("vmap") => Some("vmap"),
        _ if reverse == forward && property != "repeats_exactly" => Some(reverse),
        _ if found.starts_with("reverse mode") || found.contains("over reverse:") => Some(reverse),
        _ if found.starts_with("forward mode") || found.contains("over forward:") => Some(forward),
        _ => None,
    }
}

/// Fails unless `setup_context` saves and marks the same every time.
fn setup_context_is_pure<F: Function>(function: &F, inputs: &F::Inputs) -> Outcome {
    let first = saved_values(function, inputs)?;
    for _ in 0..2 {
        let again = saved_values(function, inputs)?;
        if first.1 != again.1 {
            fail!("two runs marked the outputs {:?} and {:?}", first.1, again.1);
        }
        all_same(&again.0, &first.0, 0.0, ["what a second run saved", "what the first run saved"])?;
    }
    Ok(())
}

/// Whether the function draws random numbers under `vmap`, and what is wrong with how lanes share them.
fn randomness(sample: &Sample) -> (bool, Option<String>) {
    let lanes = 3;
    let run = |randomness| -> Result<Vec<Tensor>> {
        let x: Vec<Tensor> = sample.inputs.iter().map(|t| stack(&vec![t; lanes], 0)).collect::<Result<_>>()?;
        let dims = vec![Some(0usize); x.len()];
        Vmap::new().in_dims(dims).randomness(randomness).of(|x: &Vec<Tensor>| (sample.call)(x))(&x)
    };
    let refused = catch_unwind(AssertUnwindSafe(|| run(Randomness::Error)));
    let draws = matches!(&refused, Ok(Err(e)) if e.kind() == ErrorKind::Randomness);
    let check = || -> Outcome {
        for policy in [Randomness::Same, Randomness::Different] {
            // Other errors are found by the properties of `vmap`.
            let Ok(y) = run(policy) else { continue };
            let mut differ = false;
            for t in y.iter().filter(|t| t.numel() > 0) {
                for lane in 1..lanes {
                    differ |= values(&t.select(0, lane as isize)?)? != values(&t.select(0, 0)?)?;
                }
            }
            if differ && policy == Randomness::Same {
                fail!("equal lanes give different results under `Randomness::Same`");
            }
            if !differ && policy == Randomness::Different {
                fail!("all lanes get the same random numbers under `Randomness::Different`");
            }
        }
        Ok(())
    };
    // Where nothing is drawn, equal lanes that differ are found by the properties of `vmap`.
    (draws, if draws { quietly(check) } else { None })
}

/// Calls of `f` with trees like `inputs` as a sample, if there is anything to check in it.
pub(super) fn sample_of<A: Tree, O: Tree>(
    name: &str,
    f: impl Fn(&A) -> Result<O> + Send + Sync + 'static,
    inputs: &A,
) -> Result<Sample> {
    // Complex numbers are checked as pairs of real ones: derivatives are those of the function of the parts.
    let as_pairs = |t: &Tensor| if t.dtype() == DType::C128 { t.view_as_real() } else { Ok(t.clone()) };
    let tensors: Vec<Tensor> = leaves(inputs).into_iter().map(as_pairs).collect::<Result<_>>()?;
    if !tensors.iter().any(|t| t.dtype() == DType::F64) {
        if let Some(k) = tensors.iter().position(|t| t.dtype().is_differentiable()) {
            bail!(Dtype, "{name}: expected an f64 tensor among the inputs, got {} at argument{}, which has too few \
                digits for differences", tensors[k].ty(), path_of(inputs, k); help = "convert the inputs with `to_dtype`")
        }
        let types: Vec<String> = tensors.iter().map(|t| t.ty().to_string()).collect();
        let got = if types.is_empty() { "no tensors".into() } else { types.join(", ") };
        bail!(
            Arity,
            "{name}: expected an f64 tensor among the inputs, got {got}, so there is nothing to differentiate"
        );
    }
    let without_elements = |tensors: &[Tensor], wanted: &dyn Fn(DType) -> bool| {
        let types: Vec<_> = tensors.iter().filter(|t| wanted(t.dtype())).map(|t| (t.numel(), t.ty())).collect();
        let empty = types.iter().all(|(numel, _)| *numel == 0);
        empty.then(|| types.iter().map(|(_, ty)| ty.to_string()).collect::<Vec<_>>().join(", "))
    };
    if let Some(got) = without_elements(&tensors, &|dtype| dtype == DType::F64) {
        bail!(Value, "{name}: expected an f64 input with elements, got {got}, so there is nothing to compare");
    }
    // Differences need numbers, which a batched value does not have.
    tensors.iter().try_for_each(|t| values(t).map(drop)).context(|| name.to_string())?;
    let template = inputs.clone();
    let call = move |x: &[Tensor]| {
        let mut x = x.iter();
        let tree: A = try_map(&template, &mut |t| match x.next() {
            Some(own) if t.dtype() == DType::C128 => own.view_as_complex(),
            own => Ok(own.unwrap_or(t).clone()),
        })?;
        leaves(&f(&tree)?)
            .into_iter()
            .map(|y| if y.dtype().is_complex() { y.view_as_real() } else { Ok(y.clone()) })
            .collect()
    };
    let sample = Sample::new("inputs", tensors, call);
    // An error here is the caller's, not a finding.
    let outputs: Vec<Tensor> = (sample.call)(&sample.inputs)?;
    if !outputs.iter().any(|t| t.dtype().is_float()) {
        bail!(NotDifferentiable, "{name}: expected a floating output, got none");
    }
    if let Some(got) = without_elements(&outputs, &DType::is_float) {
        bail!(Value, "{name}: expected a floating output with elements, got {got}, so there is nothing to compare");
    }
    Ok(sample)
}
