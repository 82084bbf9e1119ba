//! Many small functions, each wrong in one way: the report names the method. And some right ones.

use std::sync::atomic::{AtomicU64, Ordering};

use pullback::function::rules;
use pullback::random::Key;
use pullback::testing::{Report, check_function};
use pullback::{
    Context, Cotangent, Cotangents, DType, Dims, Function, Randomness, Result, Tangent, Tangents, Tensor, VmapInfo,
};

use super::quiet::quietly;

pub type Pair = (Tensor, Tensor);
type Backward = fn(&Context<Wrong>, &Pair, (Cotangent, Cotangent)) -> Result<(Cotangent, Cotangent)>;
type Jvp = fn(&Pair, (Tangent, Tangent)) -> Result<(Tangent, Tangent)>;
type Batching = fn(&VmapInfo, &Dims<Pair>, &Pair) -> Result<(Pair, Dims<Pair>)>;

/// `(x·Σy, sin x)` of two vectors of one length, whose methods can be replaced by wrong ones.
#[derive(Clone, Copy)]
struct Wrong {
    setup: fn(&mut Context<Wrong>, &Pair) -> Result<Pair>,
    backward: Backward,
    jvp: Jvp,
    vmap: Option<Batching>,
    once: bool,
}

fn right_backward(_: &Context<Wrong>, (x, y): &Pair, (g, h): (Cotangent, Cotangent)) -> Result<(Cotangent, Cotangent)> {
    Ok((&g * y.sum()? + h * x.cos()?, g.map(|g| g.mul(x)?.sum()?.expand(y.shape()))?))
}

fn right_jvp((x, y): &Pair, (dx, dy): (Tangent, Tangent)) -> Result<(Tangent, Tangent)> {
    let from_y = dy.map(|dy| dy.sum()?.mul(x))?;
    Ok((&dx * y.sum()? + from_y, dx * x.cos()?))
}

/// Both inputs with their lanes in front; one that has none is repeated.
fn in_front(info: &VmapInfo, dims: &Dims<Pair>, (x, y): &Pair) -> Result<Pair> {
    let front = |t: &Tensor, dim: Option<usize>| match dim {
        Some(dim) => t.movedim(&[dim as isize], &[0]),
        None => t.unsqueeze(0)?.expand(&[&[info.batch_size], t.shape()].concat()),
    };
    Ok((front(x, dims.0)?, front(y, dims.1)?))
}

fn batched((x, y): &Pair) -> Result<Pair> {
    Ok((x.mul(y.sum_dims(&[1], true)?)?, x.sin()?))
}

const FRONT: Dims<Pair> = (Some(0), Some(0));

const RIGHT: Wrong =
    Wrong { setup: |_, x| Ok(x.clone()), backward: right_backward, jvp: right_jvp, vmap: None, once: false };

impl Function for Wrong {
    type Inputs = Pair;
    type Outputs = Pair;
    type Saved = Pair;
    fn forward(&self, (x, y): &Pair) -> Result<Pair> {
        Ok((x.mul(y.sum()?)?, x.sin()?))
    }
    fn setup_context(&self, ctx: &mut Context<Self>, x: &Pair, _: &Pair) -> Result<Pair> {
        (self.setup)(ctx, x)
    }
    fn backward(&self, ctx: &Context<Self>, x: &Pair, g: Cotangents<Pair>) -> Result<Cotangents<Pair>> {
        (self.backward)(ctx, x, g)
    }
    fn jvp(&self, _: &Context<Self>, x: &Pair, t: Tangents<Pair>) -> Result<Tangents<Pair>> {
        (self.jvp)(x, t)
    }
    fn vmap(&self, info: &VmapInfo, dims: Dims<Pair>, x: &Pair) -> Result<(Pair, Dims<Pair>)> {
        match self.vmap {
            Some(rule) => rule(info, &dims, x),
            None => rules::generated(self, info, dims, x),
        }
    }
    fn once_differentiable(&self) -> bool {
        self.once
    }
}

pub fn x() -> Pair {
    (Tensor::from([0.7, -1.3, 2.1]), Tensor::from([0.4, 1.6, -0.9]))
}

pub fn report<F: Function>(f: &F, x: &F::Inputs) -> Report {
    quietly(|| check_function(f, x)).expect("the function can be called")
}

/// Fails unless the report says that `property` does not hold because of `rule`.
#[track_caller]
fn blames(f: Wrong, property: &str, rule: &str) -> Report {
    let report = report(&f, &x());
    assert_eq!(report.rule(property), Some(rule), "{report}");
    assert!(report.finding(property).unwrap().contains("of function `Wrong`"), "{report}");
    assert!(report.to_string().starts_with("function `Wrong`"), "{report}");
    report
}

#[test]
fn right_ones_pass() {
    let right_rule: Batching = |info, dims, x| Ok((batched(&in_front(info, dims, x)?)?, FRONT));
    for f in [
        RIGHT,
        Wrong { vmap: Some(right_rule), ..RIGHT },
        Wrong { vmap: Some(|info, dims, x| rules::per_example(&RIGHT, info, *dims, x)), ..RIGHT },
        Wrong { once: true, ..RIGHT },
    ] {
        let report = report(&f, &x());
        assert!(report.is_ok(), "{report}");
        assert_eq!(report.to_string().contains("skipped second_order: it is differentiable once"), f.once, "{report}");
        report.into_result().unwrap();
    }
}

/// A backward rule that is wrong from the first derivative on.
#[track_caller]
fn wrong_backward(backward: Backward) -> Report {
    let report = blames(Wrong { backward, ..RIGHT }, "vjp_matches_differences", "backward");
    assert_eq!(report.finding("jvp_matches_differences"), None, "{report}");
    report
}

#[test]
fn n01_wrong_factor_shown_side_by_side() {
    let report = wrong_backward(|c, s, (g, h)| right_backward(c, s, (g, h * 1.1)));
    let text = report.finding("vjp_matches_differences").unwrap();
    assert!(text.contains("output 1 by input 0 is wrong, worst at row 0, column 0"), "{text}");
    let lines: Vec<&str> = text.lines().skip(1).collect();
    assert!(lines[0].contains("differences") && lines[0].contains("| rule"), "{text}");
    assert!(lines[1].contains("0.76484") && lines[1].contains("0.84133*"), "{text}");
    assert_eq!(lines.len(), 4, "{text}");
    let column = |l: &&str| l.chars().position(|c| c == '|');
    assert!(lines.iter().all(|l| column(l) == column(&lines[0])), "{text}");
}

#[test]
fn n02_wrong_sign() {
    wrong_backward(|c, s, (g, h)| right_backward(c, s, (g, -h)));
}

#[test]
fn n03_forgotten_term() {
    wrong_backward(|c, s, (g, h)| Ok((right_backward(c, s, (g, h))?.0, Cotangent::zero())));
}

#[test]
fn n04_forgotten_second_output() {
    wrong_backward(|c, s, (g, _)| right_backward(c, s, (g, Cotangent::zero())));
}

#[test]
fn n05_transposed_jacobian() {
    // The derivative of the first output by `y` is x_i for every column; here it is that of the rows.
    wrong_backward(|c, s, (g, h)| Ok((right_backward(c, s, (g.clone(), h))?.0, g.map(|g| g.sum()?.mul(&s.0))?)));
}

#[test]
fn n06_exchanged_inputs() {
    wrong_backward(|c, s, g| right_backward(c, s, g).map(|(a, b)| (b, a)));
}

#[test]
fn n07_wrong_shape() {
    let f =
        Wrong { backward: |c, s, g| Ok((right_backward(c, s, g)?.0.map(|g| g.sum())?, Cotangent::zero())), ..RIGHT };
    let text = blames(f, "rules_fit", "backward").finding("rules_fit").unwrap().to_string();
    assert!(text.contains("expected a cotangent of type f64[3] for input 0, got f64[]"), "{text}");
}

#[test]
fn n08_wrong_dtype() {
    let rule: Backward = |c, s, g| {
        let (a, b) = right_backward(c, s, g)?;
        Ok((a, b.map(|b| b.to_dtype(DType::F32))?))
    };
    let text =
        blames(Wrong { backward: rule, ..RIGHT }, "rules_fit", "backward").finding("rules_fit").unwrap().to_string();
    assert!(text.contains("expected a cotangent of type f64[3] for input 1, got f32[3]"), "{text}");
}

#[test]
fn n09_jvp_inconsistent_with_backward() {
    let f = Wrong { jvp: |s, (dx, dy)| right_jvp(s, (dx * 0.9, dy)), ..RIGHT };
    let report = blames(f, "jvp_matches_differences", "jvp");
    assert_eq!(report.finding("vjp_matches_differences"), None, "{report}");
    assert!(report.finding("vjp_is_transpose_of_jvp").is_some(), "{report}");
}

#[test]
fn n10_jvp_that_forgets_an_output() {
    blames(Wrong { jvp: |s, t| Ok((right_jvp(s, t)?.0, Tangent::zero())), ..RIGHT }, "jvp_matches_differences", "jvp");
}

#[test]
fn n11_nonlinear_backward() {
    let rule: Backward = |c, s, (g, h)| {
        let clipped = g.map(|g| g.clamp(Some(-1.0), Some(1.0)))?;
        right_backward(c, s, (clipped, h))
    };
    blames(Wrong { backward: rule, ..RIGHT }, "rules_are_linear", "backward");
}

#[test]
fn n12_nonlinear_jvp() {
    let rule: Jvp = |s, (dx, dy)| right_jvp(s, (dx.map(|t| t.mul(t)?.mul(t))?, dy));
    blames(Wrong { jvp: rule, ..RIGHT }, "rules_are_linear", "jvp");
}

#[test]
fn n13_right_only_at_first_order() {
    let f = Wrong { setup: |_, (x, y)| Ok((x.detach()?, y.clone())), ..RIGHT };
    let report = report(&f, &x());
    assert!(report.finding("second_order").is_some(), "{report}");
    for first in ["vjp_matches_differences", "jvp_matches_differences", "vjp_is_transpose_of_jvp"] {
        assert_eq!(report.finding(first), None, "{report}");
    }
}

#[test]
fn n14_backward_that_forgets_a_dependence() {
    let f = Wrong { backward: |c, s, g| right_backward(c, &(s.0.detach()?, s.1.clone()), g), ..RIGHT };
    blames(f, "second_order", "backward");
}

/// A batching rule that is wrong although all derivatives are right.
#[track_caller]
fn wrong_vmap(rule: Batching) -> Report {
    let report = blames(Wrong { vmap: Some(rule), ..RIGHT }, "vmap_is_loop", "vmap");
    assert_eq!(report.finding("second_order"), None, "{report}");
    report
}

#[test]
fn n15_batching_rule_off_by_ten_percent() {
    wrong_vmap(|info, dims, x| {
        let (a, b) = batched(&in_front(info, dims, x)?)?;
        Ok(((a.mul(1.1)?, b), FRONT))
    });
}

#[test]
fn n16_batching_rule_for_lanes_in_front_only() {
    wrong_vmap(|info, dims, x| {
        let front = (dims.0.map(|_| 0), dims.1.map(|_| 0));
        Ok((batched(&in_front(info, &front, x)?)?, FRONT))
    });
}

#[test]
fn n17_batching_rule_that_mixes_lanes() {
    wrong_vmap(|info, dims, x| {
        let (x, y) = in_front(info, dims, x)?;
        Ok(((x.mul(y.sum()?)?, x.sin()?), FRONT))
    });
}

#[test]
fn n18_batching_rule_that_ignores_unbatched_inputs() {
    // Right if both inputs have lanes.
    wrong_vmap(|info, dims, x| match dims {
        (Some(_), Some(_)) => Ok((batched(&in_front(info, dims, x)?)?, FRONT)),
        _ => {
            let (a, b) = in_front(info, dims, x)?;
            Ok((batched(&(a, b.mul(0.0)?))?, FRONT))
        }
    });
}

#[test]
fn n19_wrong_out_dim() {
    let report = wrong_vmap(|info, dims, x| Ok((batched(&in_front(info, dims, x)?)?, (Some(1), Some(0)))));
    let text = report.finding("vmap_is_loop").unwrap();
    assert!(text.contains("`vmap` of function `Wrong`"), "{text}");
}

#[test]
fn n20_impure_setup_context() {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let f = Wrong {
        setup: |_, (x, y)| Ok((x.add(RUNS.fetch_add(1, Ordering::Relaxed) as f64 * 1e-9)?, y.clone())),
        ..RIGHT
    };
    blames(f, "setup_context_is_pure", "setup_context");
    // Marks count too.
    let f = Wrong {
        setup: |ctx, x| {
            if RUNS.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
                ctx.mark_non_differentiable(&[1])?;
            }
            Ok(x.clone())
        },
        ..RIGHT
    };
    blames(f, "setup_context_is_pure", "setup_context");
}

#[test]
fn n21_needed_cotangent_not_supplied() {
    let f = Wrong { backward: |c, s, g| Ok((right_backward(c, s, g)?.0, Cotangent::not_supplied())), ..RIGHT };
    let text = blames(f, "rules_fit", "backward").finding("rules_fit").unwrap().to_string();
    assert!(text.contains("expected a cotangent for input 1 (f64[3]), which is needed, got none"), "{text}");
}

#[test]
fn n22_needs_read_the_wrong_way_round() {
    // Right if both inputs are needed.
    let rule: Backward = |c, s, g| {
        let (a, b) = right_backward(c, s, g)?;
        let needs = c.needs_input_grad();
        Ok((if needs.1 { a } else { Cotangent::not_supplied() }, if needs.0 { b } else { Cotangent::not_supplied() }))
    };
    blames(Wrong { backward: rule, ..RIGHT }, "parts_agree", "backward");
}

#[test]
fn n23_marks_that_hide_a_derivative() {
    let setup = |ctx: &mut Context<Wrong>, x: &Pair| {
        ctx.mark_non_differentiable(&[1])?;
        Ok(x.clone())
    };
    let report = report(&Wrong { setup, ..RIGHT }, &x());
    let text = report.finding("vjp_matches_differences").unwrap_or_default();
    assert!(text.contains("output 1 by input 0 is wrong"), "{report}");
}

/// Adds noise, with a batching rule that honours the policy of the `vmap` or not.
#[derive(Clone, Copy)]
enum Noise {
    Generated,
    Honouring,
    AlwaysDifferent,
    AlwaysSame,
    /// Numbers of its own, which the library does not know of.
    Hidden,
}

impl Function for Noise {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = ();
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.add(&Key::new(3).uniform(x.shape(), x.dtype())?)
    }
    fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
        Ok(())
    }
    fn backward(&self, _: &Context<Self>, _: &(), g: Cotangent) -> Result<Cotangent> {
        Ok(g)
    }
    fn vmap(&self, info: &VmapInfo, dim: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
        let Some(d) = dim else { return rules::generated(self, info, dim, x) };
        let front = x.movedim(&[d as isize], &[0])?;
        let same = match self {
            Noise::Generated => return rules::generated(self, info, dim, x),
            Noise::Honouring => info.randomness == Randomness::Same,
            Noise::AlwaysDifferent => false,
            Noise::AlwaysSame => true,
            Noise::Hidden => {
                let noise = Tensor::arange(0.0, info.batch_size as f64, 1.0, DType::F64)?.reshape(&[-1, 1])?;
                return Ok((front.add(noise)?, Some(0)));
            }
        };
        let shape = if same { &front.shape()[1..] } else { front.shape() };
        Ok((front.add(&Key::new(3).uniform(shape, x.dtype())?)?, Some(0)))
    }
}

#[test]
fn n24_n25_n26_randomness_ignored() {
    let x = Tensor::from([0.3, 0.8]);
    for right in [Noise::Generated, Noise::Honouring] {
        let report = report(&right, &x);
        assert_eq!(report.finding("randomness_is_honoured"), None, "{report}");
        assert!(report.to_string().contains("skipped vmap_is_loop: it draws random numbers"), "{report}");
    }
    for (wrong, text) in [
        (Noise::AlwaysDifferent, "equal lanes give different results under `Randomness::Same`"),
        (Noise::AlwaysSame, "all lanes get the same random numbers under `Randomness::Different`"),
    ] {
        let report = report(&wrong, &x);
        let found = report.finding("randomness_is_honoured").unwrap_or_default();
        assert!(found.contains(text) && found.starts_with("`vmap` of function `Noise`"), "{report}");
    }
    // What the library does not know to be random is a wrong rule like another.
    let report = report(&Noise::Hidden, &x);
    assert_eq!(report.rule("vmap_is_loop"), Some("vmap"), "{report}");
}

/// The square, with one rule.
#[derive(Clone)]
struct OneRule<const BACKWARD: bool>;

impl Function for OneRule<true> {
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
        Ok(g * x * 3.0)
    }
}

impl Function for OneRule<false> {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.mul(x)
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        Ok(x.clone())
    }
    fn jvp(&self, _: &Context<Self>, x: &Tensor, t: Tangent) -> Result<Tangent> {
        Ok(t * x * 3.0)
    }
}

#[test]
fn n27_n28_a_derived_rule_is_not_blamed() {
    let x = Tensor::from([0.7, -1.3]);
    let (backward, jvp) = (report(&OneRule::<true>, &x), report(&OneRule::<false>, &x));
    for property in ["vjp_matches_differences", "jvp_matches_differences"] {
        assert_eq!(backward.rule(property), Some("backward"), "{backward}");
        assert_eq!(jvp.rule(property), Some("jvp"), "{jvp}");
    }
}

/// Where the square reads its values as `f64`.
#[derive(Clone)]
struct Double {
    backward: bool,
    jvp: bool,
    /// A mistake that shows in f32 only.
    inaccurate: bool,
}

impl Double {
    /// 2x, by code for `f64`.
    fn slope(x: &Tensor, raw: bool) -> Result<Tensor> {
        if raw { Tensor::from_slice(&x.to_vec::<f64>()?, x.shape())?.mul(2.0) } else { x.mul(2.0) }
    }
}

impl Function for Double {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let y = x.mul(x)?;
        if self.inaccurate && x.dtype() == DType::F32 { y.mul(1.01) } else { Ok(y) }
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        Ok(x.clone())
    }
    fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
        Ok(g * Double::slope(x, self.backward)?)
    }
    fn jvp(&self, _: &Context<Self>, x: &Tensor, t: Tangent) -> Result<Tangent> {
        Ok(t * Double::slope(x, self.jvp)?)
    }
    fn once_differentiable(&self) -> bool {
        true
    }
    fn vmap(&self, info: &VmapInfo, dim: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
        rules::elementwise(self, info, dim, x)
    }
}

#[test]
fn a_rule_that_is_for_f64_only_is_no_mistake() {
    let right = Double { backward: false, jvp: false, inaccurate: false };
    let x = Tensor::from([0.7, -1.3]);
    for (f, rule) in [
        (Double { backward: true, ..right.clone() }, "backward"),
        (Double { jvp: true, ..right.clone() }, "jvp"),
        (Double { backward: true, jvp: true, ..right.clone() }, "backward"),
    ] {
        let report = report(&f, &x);
        assert!(report.is_ok(), "{report}");
        let transform = if rule == "backward" { "vjp" } else { "jvp" };
        let skipped =
            format!("skipped f32_agrees_with_f64: {transform} > `{rule}` of function `Double`: to_vec: expected");
        assert!(report.to_string().contains(&skipped), "{report}");
        // The values are compared nevertheless.
        let wrong = self::report(&Double { inaccurate: true, ..f }, &x);
        assert_eq!(wrong.failures().collect::<Vec<_>>(), ["f32_agrees_with_f64"], "{wrong}");
    }
    let report = report(&right, &x);
    assert!(report.is_ok() && report.to_string().contains("ok      f32_agrees_with_f64"), "{report}");
}
