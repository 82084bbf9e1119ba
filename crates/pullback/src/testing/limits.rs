//! What a function does not promise: orders and modes that it has no rule for.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::close::{Failure, Outcome, fail};
use super::jacobian::Mode;
use super::properties::{Part, Property};
use super::table::Sample;
use crate::function::NOT_ON_SLICES;
use crate::function::probe::Rules;
use crate::{DType, Error, ErrorKind, Function, Result, Tensor, grad, jvp};

/// Properties of second and third derivatives.
const HIGHER: [&str; 4] = ["second_order", "third_order", "vmap_of_second_order", "grad_of_vmap_of_grad"];

/// Properties that use one mode, where all others about derivatives, and some about calls, use both.
const REVERSE: [&str; 2] = ["vmap_of_grad", "grad_of_vmap"];
const FORWARD: [&str; 3] = ["jvp_matches_differences", "vmap_of_jvp", "jvp_of_vmap"];
const CALLS_IN_BOTH: [&str; 3] = ["repeats_exactly", "inputs_unchanged", "f32_agrees_with_f64"];

/// What a function says that it cannot do, with the reason.
pub(super) struct Limits {
    /// Second derivatives.
    pub(super) once: Option<&'static str>,
    mode: Option<(Mode, &'static str)>,
}

impl Limits {
    pub(super) fn of<F: Function>(function: &F, sample: &Sample, rules: Option<Rules>) -> Limits {
        let mut limits = Limits { once: None, mode: None };
        if function.once_differentiable() {
            limits.once = Some("it is differentiable once");
        }
        let Ok(Ok(part)) = catch_unwind(AssertUnwindSafe(|| Part::of(sample))) else { return limits };
        // Only what the function says of itself counts: a rule that calls another function without rules is a finding.
        let own = format!("of function `{}`", function.name());
        let not_on_slices = |e: &Error| {
            e.message().starts_with(NOT_ON_SLICES) && e.context().last().is_some_and(|place| place.ends_with(&own))
        };
        // A panic is left to the properties, which report it.
        let failure = |call: &dyn Fn() -> Result<()>| catch_unwind(AssertUnwindSafe(call)).ok()?.err();
        let reverse = failure(&|| part.vjp(&sample.inputs, &part.cotangents(1)?).map(drop));
        let forward = failure(&|| part.jvp(&sample.inputs, &part.tangents(2)?).map(drop));
        limits.mode = match (&reverse, &forward) {
            (None, Some(e)) if not_on_slices(e) => Some((Mode::Forward, "its only rule is `backward` on slices")),
            (Some(e), None) if not_on_slices(e) => Some((Mode::Reverse, "its only rule is `jvp` on slices")),
            _ => None,
        };
        // Without any rule that works, there is nothing that is differentiable once.
        if rules.is_some_and(|rules| rules.on_slices) && (reverse.is_none() || forward.is_none()) {
            limits.once = Some("its rules work on slices");
        }
        limits
    }

    /// Why a mode is missing.
    pub(super) fn mode_missing(&self, mode: Mode) -> Option<&'static str> {
        self.mode.filter(|(missing, _)| *missing == mode).map(|(_, reason)| reason)
    }

    /// Why a property need not hold.
    pub(super) fn excludes(&self, p: &Property) -> Option<String> {
        if HIGHER.contains(&p.name) && self.once.is_some() {
            return self.once.map(String::from);
        }
        let (missing, reason) = self.mode?;
        let served = if missing == Mode::Forward { &REVERSE[..] } else { &FORWARD[..] };
        let needed = p.derivatives || CALLS_IN_BOTH.contains(&p.name);
        (needed && !served.contains(&p.name)).then(|| reason.into())
    }
}

/// Second derivatives of the sum of the squares of the outputs, each nesting with its name.
fn nestings(part: &Part<'_>) -> Result<[(&'static str, Result<()>); 3]> {
    let sample = part.sample;
    let x = part.pick(&sample.inputs);
    let v = part.tangents(3)?;
    let square = |x: &Vec<Tensor>| -> Result<Tensor> {
        let mut total = Tensor::from(0.0);
        for y in part.eval(&sample.inputs, x)? {
            total = total.add(y.mul(&y)?.sum()?.to_dtype(DType::F64)?)?;
        }
        Ok(total)
    };
    let slope = |x: &Vec<Tensor>| -> Result<Tensor> {
        let mut total = Tensor::from(0.0);
        for g in grad(square)(x)? {
            total = total.add(g.sum()?)?;
        }
        Ok(total)
    };
    Ok([
        ("reverse over reverse", grad(slope)(&x).map(drop)),
        ("forward over reverse", jvp(slope, &x, &v).map(drop)),
        ("reverse over forward", grad(|x: &Vec<Tensor>| Ok(jvp(square, x, &v)?.1))(&x).map(drop)),
    ])
}

/// Whether an error says that there is no derivative.
fn refuses(e: &Error) -> bool {
    matches!(e.kind(), ErrorKind::NotDifferentiable | ErrorKind::MissingRule)
}

/// What a function says that refuses every second derivative.
pub(super) fn refusal_of_second_order(sample: &Sample) -> Option<String> {
    let second = catch_unwind(AssertUnwindSafe(|| Ok::<_, Failure>(nestings(&Part::of(sample)?)?))).ok()?.ok()?;
    let refused = second.iter().all(|(_, result)| result.as_ref().is_err_and(refuses));
    let [(_, first), ..] = second;
    refused.then(|| first.err()).flatten().map(|e| format!("expected second derivatives, got {}", Failure::from(e)))
}

/// Fails unless every second derivative is an error that says so.
pub(super) fn second_order_is_refused(sample: &Sample) -> Outcome {
    for (nesting, result) in nestings(&Part::of(sample)?)? {
        match result {
            Err(e) if refuses(&e) => {}
            Err(e) => fail!("{nesting}: expected an error of kind NotDifferentiable or MissingRule, got {e}"),
            Ok(()) => fail!("{nesting}: expected an error of kind NotDifferentiable or MissingRule, got a value"),
        }
    }
    Ok(())
}
