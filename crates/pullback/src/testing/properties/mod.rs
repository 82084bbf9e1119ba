//! What must hold for every operation: one function per property, which checks one sample.

mod batching;
mod derivatives;
mod graphs;
mod layouts;
mod values;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub(super) use values::{f32_values_agree, refusal_of_f32};

use super::close::{Failure, Outcome, fail};
use super::lanes::directions;
use super::table::Sample;
use crate::error::bail;
use crate::{DType, Result, Tensor, jvp, vjp};

/// Something that must hold for every operation, built in or a user's.
#[derive(Clone, Copy)]
pub struct Property {
    /// The name, a sentence: `vjp_is_transpose_of_jvp`.
    pub name: &'static str,
    /// What it says.
    pub about: &'static str,
    /// Whether it is about derivatives, and so holds for differentiable samples only.
    pub derivatives: bool,
    /// Whether it is about `vmap`.
    pub batching: bool,
    /// Whether it calls the operation with inputs of several dtypes, which a user's function need not take.
    pub mixed_dtypes: bool,
    check: fn(&Sample) -> Outcome,
}

impl fmt::Debug for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Property {
    /// Checks one sample: `Err` says what was found instead. A panic inside counts as a violation.
    ///
    /// Samples that are not differentiable satisfy every property about derivatives.
    pub fn check(&self, sample: &Sample) -> std::result::Result<(), String> {
        let check = || if self.derivatives && !sample.is_differentiable() { Ok(()) } else { (self.check)(sample) };
        match catch_unwind(AssertUnwindSafe(check)) {
            Ok(outcome) => outcome.map_err(|f| f.0),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
                Err(format!("panicked: {text}"))
            }
        }
    }
}

/// Every property, those that explain the others first.
pub fn properties() -> &'static [Property] {
    PROPERTIES
}

// The words of the table.
const CALLS: bool = false;
const DERIVATIVES: bool = true;
const ALIKE: bool = false;
const MIXED: bool = true;
const ALONE: bool = false;
const LANES: bool = true;

/// Writes the table of properties from their sentences, what they are about (calls or derivatives, inputs of alike or
/// mixed dtypes) and their functions.
macro_rules! table {
    ($($module:ident $batching:ident { $($about:literal $of:ident $dtypes:ident $name:ident;)* })*) => {
        static PROPERTIES: &[Property] = &[$($(Property {
            name: stringify!($name),
            about: $about,
            derivatives: $of,
            batching: $batching,
            mixed_dtypes: $dtypes,
            check: $module::$name,
        }),*),*];
    };
}
table! {
    values ALONE {
        "calls and derivatives are the same every time" CALLS ALIKE repeats_exactly;
        "no call changes its inputs, or results that somebody holds" CALLS ALIKE inputs_unchanged;
        "in f32 everything is what it is in f64, up to rounding, and has dtype f32" CALLS ALIKE f32_agrees_with_f64;
        "with inputs in f32 and f64, each derivative has the dtype of its value" DERIVATIVES MIXED derivatives_keep_dtypes;
    }
    layouts ALONE {
        "views, steps, reversals and repetitions in memory change nothing" CALLS ALIKE layouts;
        "nor do they change derivatives" DERIVATIVES ALIKE layouts_of_derivatives;
    }
    derivatives ALONE {
        "every rule exists and returns what it must" DERIVATIVES ALIKE rules_fit;
        "forward mode agrees with central differences" DERIVATIVES ALIKE jvp_matches_differences;
        "reverse mode is the transpose of forward mode" DERIVATIVES ALIKE vjp_is_transpose_of_jvp;
        "both rules are linear in what they are given" DERIVATIVES ALIKE rules_are_linear;
        "derivatives by one input, or of one output, are parts of the whole" DERIVATIVES ALIKE parts_agree;
        "`jacrev`, `jacfwd` and single cotangents give one Jacobian" DERIVATIVES ALIKE jacobians_agree;
        "second derivatives agree in all four nestings and with differences" DERIVATIVES ALIKE second_order;
        "third derivatives agree in all eight nestings and with differences" DERIVATIVES ALIKE third_order;
    }
    graphs ALONE {
        "a graph that was captured gives what the call gives" CALLS ALIKE capture_replays;
        "derivatives of a graph, and graphs of derivatives, give what the derivatives give" DERIVATIVES ALIKE capture_replays_derivatives;
        "pushing tangents through a linearized call gives what forward mode gives" DERIVATIVES ALIKE linearize_is_jvp;
    }
    batching LANES {
        "`vmap` gives what a loop over the lanes gives" CALLS ALIKE vmap_is_loop;
        "and with the dtypes of the loop when the inputs have several" CALLS MIXED vmap_keeps_dtypes;
        "`vmap` in `vmap` gives what two loops give" CALLS ALIKE nested_vmap;
        "`vmap` of reverse mode gives what a loop gives" DERIVATIVES ALIKE vmap_of_grad;
        "reverse mode through `vmap` gives the gradients of the lanes" DERIVATIVES ALIKE grad_of_vmap;
        "`vmap` of forward mode gives what a loop gives" DERIVATIVES ALIKE vmap_of_jvp;
        "forward mode through `vmap` gives the tangents of the lanes" DERIVATIVES ALIKE jvp_of_vmap;
        "`vmap` of second derivatives gives what a loop gives, in all four nestings" DERIVATIVES ALIKE vmap_of_second_order;
        "derivatives through `vmap` of reverse mode are those of the lanes" DERIVATIVES ALIKE grad_of_vmap_of_grad;
    }
    graphs LANES {
        "`vmap` of a graph, and graphs of `vmap`, give what `vmap` gives" CALLS ALIKE capture_replays_under_vmap;
    }
}

/// The differentiable part of a sample: a function from its f64 inputs to its floating outputs.
pub(in crate::testing) struct Part<'a> {
    pub(in crate::testing) sample: &'a Sample,
    /// The inputs that are differentiated.
    pub(in crate::testing) which: Vec<usize>,
    /// The outputs that carry a derivative.
    pub(in crate::testing) outs: Vec<usize>,
    /// Those outputs, at the sample itself.
    pub(in crate::testing) y: Vec<Tensor>,
}

impl<'a> Part<'a> {
    pub(in crate::testing) fn of(sample: &'a Sample) -> std::result::Result<Part<'a>, Failure> {
        Part::with_dtype(sample, DType::F64)
    }

    fn with_dtype(sample: &'a Sample, dtype: DType) -> std::result::Result<Part<'a>, Failure> {
        let which = (0..sample.inputs.len()).filter(|&k| sample.inputs[k].dtype() == dtype).collect();
        Part::by(sample, which)
    }

    /// With respect to inputs of choice.
    pub(in crate::testing) fn by(sample: &'a Sample, which: Vec<usize>) -> std::result::Result<Part<'a>, Failure> {
        let all = (sample.call)(&sample.inputs)?;
        let outs: Vec<usize> = (0..all.len()).filter(|&k| all[k].dtype().is_float()).collect();
        if which.is_empty() || outs.is_empty() {
            fail!("a differentiable sample needs a floating input and a floating output");
        }
        let y = outs.iter().map(|&k| all[k].clone()).collect();
        Ok(Part { sample, which, outs, y })
    }

    /// The inputs that are differentiated, among all of them.
    pub(in crate::testing) fn pick(&self, inputs: &[Tensor]) -> Vec<Tensor> {
        self.which.iter().map(|&k| inputs[k].clone()).collect()
    }

    /// The outputs, at `inputs` with those that are differentiated replaced by `x`.
    pub(in crate::testing) fn eval(&self, inputs: &[Tensor], x: &[Tensor]) -> Result<Vec<Tensor>> {
        let mut all = inputs.to_vec();
        for (&k, t) in self.which.iter().zip(x) {
            all[k] = t.clone();
        }
        let y = (self.sample.call)(&all)?;
        if let Some(&k) = self.outs.iter().find(|&&k| y.get(k).is_none_or(|t| !t.dtype().is_float())) {
            let got: Vec<String> = y.iter().map(|t| t.ty().to_string()).collect();
            bail!(
                Rule,
                "expected the same outputs every time, with a floating one at position {k}, got {}",
                got.join(", ")
            );
        }
        Ok(self.outs.iter().map(|&k| y[k].clone()).collect())
    }

    /// The cotangents of the inputs.
    pub(in crate::testing) fn vjp(&self, inputs: &[Tensor], g: &[Tensor]) -> Result<Vec<Tensor>> {
        vjp(|x: &Vec<Tensor>| self.eval(inputs, x), &self.pick(inputs))?.1.call(&g.to_vec())
    }

    /// The tangents of the outputs.
    pub(in crate::testing) fn jvp(&self, inputs: &[Tensor], t: &[Tensor]) -> Result<Vec<Tensor>> {
        Ok(jvp(|x: &Vec<Tensor>| self.eval(inputs, x), &self.pick(inputs), &t.to_vec())?.1)
    }

    pub(in crate::testing) fn cotangents(&self, seed: u64) -> Result<Vec<Tensor>> {
        directions(&self.y, seed)
    }

    pub(in crate::testing) fn tangents(&self, seed: u64) -> Result<Vec<Tensor>> {
        directions(self.which.iter().map(|&k| &self.sample.inputs[k]), seed)
    }
}
