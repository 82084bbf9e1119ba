//! Properties of plain calls.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Part;
use crate::testing::close::{At, Outcome, all_same, describe, distance, exceeds, fail, magnitude, values};
use crate::testing::lanes::fresh;
use crate::testing::table::Sample;
use crate::{DType, Result, Tensor, vjp, vmap};

/// The elements, bit by bit.
fn bits(t: &Tensor) -> Result<Vec<u64>> {
    Ok(values(t)?.into_iter().map(f64::to_bits).collect())
}

fn all_bits(tensors: &[Tensor]) -> Result<Vec<Vec<u64>>> {
    tensors.iter().map(bits).collect()
}

fn exactly(got: &[Tensor], want: &[Tensor], what: &str) -> Outcome {
    if got.len() != want.len() {
        fail!("{what} gave {} tensors, and then {}", want.len(), got.len());
    }
    for (k, (g, w)) in got.iter().zip(want).enumerate() {
        if g.ty() != w.ty() || bits(g)? != bits(w)? {
            fail!("{what} gave {} for tensor {k}, and then {}", describe(w), describe(g));
        }
    }
    Ok(())
}

pub(super) fn repeats_exactly(sample: &Sample) -> Outcome {
    let call = || (sample.call)(&sample.inputs);
    let first = call()?;
    exactly(&call()?, &first, "the call")?;
    if !sample.is_differentiable() {
        return Ok(());
    }
    let part = Part::of(sample)?;
    let (g, t) = (part.cotangents(1)?, part.tangents(2)?);
    let (x, inputs) = (part.pick(&sample.inputs), &sample.inputs);
    let (_, pull) = vjp(|x: &Vec<Tensor>| part.eval(inputs, x), &x)?;
    let first = pull.call(&g)?;
    exactly(&pull.call(&g)?, &first, "the pullback")?;
    exactly(&part.vjp(inputs, &g)?, &first, "reverse mode")?;
    exactly(&part.vjp(inputs, &g)?, &first, "reverse mode")?;
    let first = part.jvp(inputs, &t)?;
    exactly(&part.jvp(inputs, &t)?, &first, "forward mode")
}

pub(super) fn inputs_unchanged(sample: &Sample) -> Outcome {
    let inputs: Vec<Tensor> = sample.inputs.iter().map(fresh).collect::<Result<_>>()?;
    let before = all_bits(&inputs)?;
    let y = (sample.call)(&inputs)?;
    let results = all_bits(&y)?;
    let check = |what: &str| -> Outcome {
        if all_bits(&inputs)? != before {
            fail!("{what} changed an input");
        }
        if all_bits(&y)? != results {
            fail!("{what} changed a result of an earlier call");
        }
        Ok(())
    };
    check("the call")?;
    if sample.is_differentiable() {
        let part = Part::of(sample)?;
        let (g, t) = (part.cotangents(1)?, part.tangents(2)?);
        let (given, directions) = (all_bits(&g)?, all_bits(&t)?);
        part.vjp(&inputs, &g)?;
        check("reverse mode")?;
        part.jvp(&inputs, &t)?;
        check("forward mode")?;
        if all_bits(&g)? != given || all_bits(&t)? != directions {
            fail!("a derivative rule changed the tensors it was given");
        }
    }
    let lanes: Vec<Tensor> = inputs.iter().map(|t| t.unsqueeze(0)).collect::<Result<_>>()?;
    // Whether the batching rule works is for `vmap_is_loop` to say.
    let _ = catch_unwind(AssertUnwindSafe(|| vmap(|x: &Vec<Tensor>| (sample.call)(x))(&lanes)));
    check("vmap")
}

/// The sample in f32, and in f64 at the same rounded inputs.
fn rounded(sample: &Sample) -> Result<(Sample, Sample)> {
    let (mut single, mut double) = (sample.clone(), sample.clone());
    for (s, d) in single.inputs.iter_mut().zip(&mut double.inputs) {
        if d.dtype() == DType::F64 {
            *s = s.to_dtype(DType::F32)?;
            *d = s.to_dtype(DType::F64)?;
        }
    }
    Ok((single, double))
}

pub(super) fn derivatives_keep_dtypes(sample: &Sample) -> Outcome {
    let floats: Vec<usize> = (0..sample.inputs.len()).filter(|&k| sample.inputs[k].dtype() == DType::F64).collect();
    for &k in floats.iter().filter(|_| floats.len() > 1 && !sample.fixed_dtype) {
        let (mut mixed, mut double) = (sample.clone(), sample.clone());
        mixed.inputs[k] = sample.inputs[k].to_dtype(DType::F32)?;
        double.inputs[k] = mixed.inputs[k].to_dtype(DType::F64)?;
        match (sample.call)(&mixed.inputs) {
            Ok(_) => {}
            // Which dtypes an operation takes is not the question here.
            Err(e) if e.is_dtype() => continue,
            Err(e) => return Err(e.into()),
        }
        let (part, whole) = (Part::by(&mixed, floats.clone())?, Part::of(&double)?);
        let like = |list: Vec<Tensor>, types: &[Tensor]| -> Result<Vec<Tensor>> {
            list.iter().zip(types).map(|(t, of)| t.to_dtype(of.dtype())).collect()
        };
        let place = format!("input {k} in f32");
        let g = like(whole.cotangents(1)?, &part.y)?;
        let want = whole.vjp(&double.inputs, &like(g.clone(), &whole.y)?)?;
        close_in_own_dtype(&part.vjp(&mixed.inputs, &g)?, &want, &part.pick(&mixed.inputs))
            .at("reverse mode")
            .at(&place)?;
        let t = like(whole.tangents(2)?, &part.pick(&mixed.inputs))?;
        let want = whole.jvp(&double.inputs, &like(t.clone(), &whole.pick(&double.inputs))?)?;
        close_in_own_dtype(&part.jvp(&mixed.inputs, &t)?, &want, &part.y).at("forward mode").at(&place)?;
    }
    Ok(())
}

/// Fails unless each tensor has the type of another one, and about the values of a third.
fn close_in_own_dtype(got: &[Tensor], want: &[Tensor], types: &[Tensor]) -> Outcome {
    for (k, ((g, w), of)) in got.iter().zip(want).zip(types).enumerate() {
        let w = w.to_dtype(of.dtype())?;
        crate::testing::close::same(g, &w, 2e-4, ["the derivative", "that in f64"]).at(format_args!("tensor {k}"))?;
    }
    Ok(())
}

fn agree_in_f32(single: &[Tensor], double: &[Tensor], fixed_dtype: bool, tolerance: f64) -> Outcome {
    if single.len() != double.len() {
        fail!("{} results in f32, {} in f64", single.len(), double.len());
    }
    for (k, (s, d)) in single.iter().zip(double).enumerate() {
        let expected = if d.dtype() == DType::F64 && !fixed_dtype { DType::F32 } else { d.dtype() };
        if s.dtype() != expected || s.shape() != d.shape() {
            fail!("result {k} is {} for f32 inputs and {} for f64 inputs", s.ty(), d.ty());
        }
        let (a, b) = (values(s)?, values(d)?);
        let scale = magnitude(&b).max(1.0);
        for (x, y) in a.iter().zip(&b) {
            let too_large = y.is_finite() && y.abs() > f64::from(f32::MAX);
            if exceeds(distance(*x, *y, scale), tolerance) && !too_large {
                fail!("result {k} is {} in f32 and {} in f64", describe(s), describe(d));
            }
        }
    }
    Ok(())
}

fn values_agree(single: &Sample, double: &Sample) -> Outcome {
    let call = |s: &Sample| (s.call)(&s.inputs);
    agree_in_f32(&call(single)?, &call(double)?, double.fixed_dtype, 2e-5)
}

/// The part of [`f32_agrees_with_f64`] that calls no derivative rule.
pub(in crate::testing) fn f32_values_agree(sample: &Sample) -> Outcome {
    let (single, double) = rounded(sample)?;
    values_agree(&single, &double)
}

/// What the call, or a derivative rule, says if it does not take `f32` because of its dtype.
pub(in crate::testing) fn refusal_of_f32(sample: &Sample) -> Option<Refusal> {
    let (single, _) = rounded(sample).ok()?;
    // A panic, and any other error, is left to the properties, which report it.
    let refusal = |call: &dyn Fn() -> Result<()>| {
        let error = catch_unwind(AssertUnwindSafe(call)).ok()?.err()?;
        error.is_dtype().then(|| error.to_string())
    };
    if let Some(reason) = refusal(&|| (single.call)(&single.inputs).map(drop)) {
        return Some(Refusal { reason, in_forward: true });
    }
    let part = catch_unwind(AssertUnwindSafe(|| Part::with_dtype(&single, DType::F32))).ok()?.ok()?;
    let reason = refusal(&|| part.vjp(&single.inputs, &part.cotangents(1)?).map(drop))
        .or_else(|| refusal(&|| part.jvp(&single.inputs, &part.tangents(2)?).map(drop)))?;
    Some(Refusal { reason, in_forward: false })
}

/// A function that does not take `f32`.
pub(in crate::testing) struct Refusal {
    /// The error.
    pub(in crate::testing) reason: String,
    /// Whether it was `forward`, so that there are no values to compare either.
    pub(in crate::testing) in_forward: bool,
}

pub(super) fn f32_agrees_with_f64(sample: &Sample) -> Outcome {
    if !sample.inputs.iter().any(|t| t.dtype() == DType::F64) {
        return Ok(());
    }
    let (single, double) = rounded(sample)?;
    if sample.special {
        // Numbers out of the range of f32 become others; only types can be compared then.
        let finite = |t: &Tensor| -> Result<bool> { Ok(values(t)?.iter().all(|v| v.is_finite())) };
        for (s, t) in single.inputs.iter().zip(&sample.inputs) {
            if finite(s)? != finite(t)? {
                return Ok(());
            }
        }
    }
    values_agree(&single, &double)?;
    if !sample.is_differentiable() || sample.fixed_dtype {
        return Ok(());
    }
    let narrow = |list: Vec<Tensor>| list.iter().map(|t| t.to_dtype(DType::F32)).collect::<Result<Vec<_>>>();
    let wide = |list: &[Tensor]| list.iter().map(|t| t.to_dtype(DType::F64)).collect::<Result<Vec<_>>>();
    let (low, high) = (Part::with_dtype(&single, DType::F32)?, Part::of(&double)?);
    let g = narrow(high.cotangents(1)?)?;
    let (a, b) = (low.vjp(&single.inputs, &g).at("in f32")?, high.vjp(&double.inputs, &wide(&g)?)?);
    agree_in_f32(&a, &b, false, 2e-4).at("reverse mode")?;
    let t = narrow(high.tangents(2)?)?;
    let (a, b) = (low.jvp(&single.inputs, &t).at("in f32")?, high.jvp(&double.inputs, &wide(&t)?)?);
    agree_in_f32(&a, &b, false, 2e-4).at("forward mode")?;
    let y = low.eval(&single.inputs, &low.pick(&single.inputs))?;
    all_same(&y, &low.y, 0.0, ["a second call", "the first"])
}
