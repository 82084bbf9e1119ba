//! Wrong derivative rules.

use std::sync::atomic::{AtomicU32, Ordering};

use pullback::{Context, Cotangent, Cotangents, DType, Dims, Function, Result, Tangent, Tensor, VmapInfo, cat};

use super::reports;

static RUNS: AtomicU32 = AtomicU32::new(0);

/// Another factor close to 1 in every run.
fn drift() -> f64 {
    1.0 + 1e-9 * f64::from(RUNS.fetch_add(1, Ordering::Relaxed))
}

/// How the square of a tensor is wrong.
#[derive(Clone, Copy, PartialEq)]
enum Wrong {
    Nothing,
    /// The slope is 3x instead of 2x.
    First,
    /// The slope is saved as a constant, so that its own derivative is lost.
    Second,
    /// `backward` clips the cotangent.
    Nonlinear,
    /// The cotangent has another dtype or shape, or is not there.
    Dtype,
    Shape,
    NotSupplied,
    /// `backward` reads raw data.
    Opaque,
    /// Each run of `setup_context` saves something else.
    Impure,
    /// Each run of `forward` computes something else.
    ImpureForward,
    /// `forward` loses the digits that f32 does not have.
    Inaccurate,
    /// The output is f64 whatever the input is.
    Wide,
}
use Wrong::*;

/// The square, with only `backward`.
#[derive(Clone)]
struct Square(Wrong);

impl Function for Square {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let y = x.mul(x)?;
        match self.0 {
            ImpureForward => y.mul(drift()),
            Inaccurate => y.add(1e6)?.sub(1e6),
            Wide => y.to_dtype(DType::F64),
            _ => Ok(y),
        }
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        match self.0 {
            Second => x.detach(),
            Impure => x.mul(drift()),
            _ => Ok(x.clone()),
        }
    }
    fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
        match self.0 {
            First => Ok(g * x * 3.0),
            Nonlinear => g.map(|g| g.clamp(Some(-0.5), Some(0.5))?.mul(x)?.mul(2.0)),
            Dtype => g.map(|g| g.mul(x)?.mul(2.0)?.to_dtype(DType::F32)),
            Shape => g.map(|g| g.mul(x)?.mul(2.0)?.sum()),
            NotSupplied => Ok(Cotangent::not_supplied()),
            Opaque => {
                let slope = Tensor::from(x.to_vec::<f64>()?);
                Ok(g * slope * 2.0)
            }
            Wide => g.map(|g| g.to_dtype(x.dtype())?.mul(x)?.mul(2.0)),
            _ => Ok(g * x * 2.0),
        }
    }
}

fn x() -> Tensor {
    Tensor::from([0.7, -1.3, 2.1])
}

const HIGHER: &[&str] = &["second_order", "third_order"];

/// Everything that needs a rule, which cannot be checked where no rule works.
const RULES: &[&str] = &[
    "vjp_matches_differences",
    "repeats_exactly",
    "inputs_unchanged",
    "f32_agrees_with_f64",
    "layouts_of_derivatives",
    "jvp_matches_differences",
    "vjp_is_transpose_of_jvp",
    "rules_are_linear",
    "parts_agree",
    "jacobians_agree",
    "second_order",
    "third_order",
    "vmap_of_grad",
    "grad_of_vmap",
    "vmap_of_jvp",
    "jvp_of_vmap",
    "vmap_of_second_order",
    "grad_of_vmap_of_grad",
    "capture_replays_derivatives",
    "linearize_is_jvp",
];

#[test]
fn right_function() {
    reports(&Square(Nothing), &x(), &[], &[]);
}

#[test]
fn wrong_first_derivative() {
    reports(&Square(First), &x(), &["vjp_matches_differences", "jvp_matches_differences"], HIGHER);
}

#[test]
fn wrong_second_derivative() {
    reports(&Square(Second), &x(), HIGHER, &[]);
}

#[test]
fn nonlinear_backward() {
    let report = reports(&Square(Nonlinear), &x(), &["rules_are_linear"], RULES);
    assert_eq!(report.rule("rules_are_linear"), Some("backward"), "{report}");
}

#[test]
fn wrong_types() {
    for wrong in [Dtype, Shape, NotSupplied] {
        let report = reports(&Square(wrong), &x(), &["rules_fit"], RULES);
        assert!(report.finding("rules_fit").unwrap().contains("`backward` of function `Square`"), "{report}");
    }
}

#[test]
fn raw_data_in_a_rule() {
    reports(&Square(Opaque), &x(), &["second_order"], RULES);
}

#[test]
fn impure_setup_context() {
    reports(&Square(Impure), &x(), &["setup_context_is_pure", "repeats_exactly"], RULES);
}

#[test]
fn impure_forward() {
    let all =
        [RULES, &["layouts", "vmap_is_loop", "nested_vmap", "capture_replays", "capture_replays_under_vmap"]].concat();
    reports(&Square(ImpureForward), &x(), &["repeats_exactly"], &all);
}

#[test]
fn inaccurate_in_f32() {
    reports(
        &Square(Inaccurate),
        &x(),
        &["f32_agrees_with_f64"],
        &["jvp_matches_differences", "second_order", "third_order"],
    );
}

#[test]
fn wrong_dtype_for_f32() {
    reports(&Square(Wide), &x(), &["f32_agrees_with_f64"], &[]);
}

#[test]
fn a_function_for_f64_alone() {
    /// Reads its input as `f64`.
    #[derive(Clone)]
    struct Raw;
    impl Function for Raw {
        type Inputs = Tensor;
        type Outputs = Tensor;
        type Saved = Tensor;
        fn forward(&self, x: &Tensor) -> Result<Tensor> {
            let squares: Vec<f64> = x.to_vec::<f64>()?.iter().map(|v| v * v).collect();
            Tensor::from_slice(&squares, x.shape())
        }
        fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
            Ok(x.clone())
        }
        fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
            Ok(g * x * 2.0)
        }
        fn vmap(&self, info: &VmapInfo, dim: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
            Ok((self.apply(&info.lanes_first(x, dim)?)?, Some(0)))
        }
    }
    let report = reports(&Raw, &x(), &[], &[]);
    assert!(report.to_string().contains("skipped f32_agrees_with_f64: `forward` of function `Raw`"), "{report}");
    report.into_result().unwrap();
}

/// The square with both rules, of which one may be wrong by a factor, or treat its slope as a constant.
#[derive(Clone)]
struct Both {
    backward: f64,
    jvp: f64,
    constant_in_backward: bool,
    constant_in_jvp: bool,
}

const RIGHT: Both = Both { backward: 2.0, jvp: 2.0, constant_in_backward: false, constant_in_jvp: false };

impl Function for Both {
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
        Ok(g * if self.constant_in_backward { x.detach()? } else { x.clone() } * self.backward)
    }
    fn jvp(&self, _: &Context<Self>, x: &Tensor, t: Tangent) -> Result<Tangent> {
        Ok(t * if self.constant_in_jvp { x.detach()? } else { x.clone() } * self.jvp)
    }
}

#[test]
fn rules_that_contradict_each_other() {
    let first = &["jacobians_agree", "second_order", "third_order"];
    reports(&RIGHT, &x(), &[], &[]);
    reports(&Both { jvp: 2.2, ..RIGHT }, &x(), &["jvp_matches_differences", "vjp_is_transpose_of_jvp"], first);
    reports(&Both { backward: 2.2, ..RIGHT }, &x(), &["vjp_matches_differences", "vjp_is_transpose_of_jvp"], first);
}

#[test]
fn second_derivative_of_one_mode() {
    reports(&Both { constant_in_jvp: true, ..RIGHT }, &x(), HIGHER, &[]);
    reports(&Both { constant_in_backward: true, ..RIGHT }, &x(), HIGHER, &[]);
}

/// Neither `backward` nor `jvp`.
#[derive(Clone)]
struct NoRule;

impl Function for NoRule {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = ();

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.mul(x)
    }
    fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
        Ok(())
    }
}

#[test]
fn no_rule() {
    let report = reports(&NoRule, &x(), &["rules_fit"], RULES);
    assert!(report.finding("rules_fit").unwrap().contains("neither `backward` nor `jvp`"), "{report}");
}

/// `(a·b, a + b)` of a list of tensors, with a rule that is wrong in what it does with its lists and its zeros.
#[derive(Clone, Copy)]
enum Lists {
    Right,
    /// One cotangent too few.
    Short,
    /// The cotangent of `a` is wrong if that of `b` is not needed.
    Needs,
    /// A symbolic zero counts as ones.
    Zeros,
    /// The results of the first two inputs are exchanged.
    Exchanged,
}

#[derive(Clone)]
struct ProductAndSum(Lists);

impl Function for ProductAndSum {
    type Inputs = Vec<Tensor>;
    type Outputs = (Tensor, Tensor);
    type Saved = Vec<Tensor>;

    fn forward(&self, x: &Vec<Tensor>) -> Result<(Tensor, Tensor)> {
        Ok((x[0].mul(&x[1])?, x[0].add(&x[1])?))
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Vec<Tensor>, _: &(Tensor, Tensor)) -> Result<Vec<Tensor>> {
        Ok(x.clone())
    }
    fn backward(
        &self,
        ctx: &Context<Self>,
        x: &Vec<Tensor>,
        (product, sum): (Cotangent, Cotangent),
    ) -> Result<Cotangents<Vec<Tensor>>> {
        let sum = match self.0 {
            Lists::Zeros if sum.is_zero() => Tensor::ones(x[0].shape(), x[0].dtype())?.into(),
            _ => sum,
        };
        let mut grads = vec![&product * &x[1] + sum.clone(), &product * &x[0] + sum];
        match self.0 {
            Lists::Short => drop(grads.pop()),
            Lists::Needs if !ctx.needs_input_grad()[1] => grads[0] = &grads[0] * 0.5,
            Lists::Exchanged => grads.swap(0, 1),
            _ => {}
        }
        Ok(grads)
    }
}

#[test]
fn lists_and_zeros() {
    let x = vec![Tensor::from([0.7, -1.3]), Tensor::from([2.1, 0.4])];
    reports(&ProductAndSum(Lists::Right), &x, &[], &[]);
    let report = reports(&ProductAndSum(Lists::Short), &x, &["rules_fit"], RULES);
    assert!(report.finding("rules_fit").unwrap().contains("2 inputs, got 1"), "{report}");
    reports(&ProductAndSum(Lists::Needs), &x, &["parts_agree"], RULES);
    reports(&ProductAndSum(Lists::Zeros), &x, &["parts_agree"], RULES);
    reports(&ProductAndSum(Lists::Exchanged), &x, &["vjp_matches_differences", "jvp_matches_differences"], HIGHER);
}

/// Joins two tensors; the cotangents are right only where both have one length.
#[derive(Clone)]
struct Join;

impl Function for Join {
    type Inputs = (Tensor, Tensor);
    type Outputs = Tensor;
    type Saved = ();

    fn forward(&self, (a, b): &(Tensor, Tensor)) -> Result<Tensor> {
        cat(&[a, b], 0)
    }
    fn setup_context(&self, _: &mut Context<Self>, _: &(Tensor, Tensor), _: &Tensor) -> Result<()> {
        Ok(())
    }
    fn backward(&self, _: &Context<Self>, _: &(), g: Cotangent) -> Result<(Cotangent, Cotangent)> {
        let half = g.tensor()?.shape()[0] / 2;
        Ok((g.map(|g| g.narrow(0, 0, half))?, g.map(|g| g.narrow(0, half as isize, half))?))
    }
}

#[test]
fn rules_that_are_right_for_some_shapes() {
    let (a, b, c) = (Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0]), Tensor::from([5.0, 6.0, 7.0, 8.0]));
    reports(&Join, &(a.clone(), b), &[], &[]);
    reports(&Join, &(a, c), &["rules_fit"], RULES);
}
