//! Checks of a row of the table: its values, errors, kinks, dtypes, documentation and samples.

use std::collections::HashSet;

use pullback::testing::properties;
use pullback::testing::table::{Naive, OpInfo, Sample};
use pullback::{DType, Error, ErrorKind, Tensor, grad, jvp, stack, vjp, vmap};

use super::run::guarded;

type Outcome = Result<(), String>;

/// The check of the imperative surface, which is in a file of its own.
pub const WALKS: &str = "walks_match_transforms";

/// Checks of one sample.
pub const SAMPLE_CHECKS: &[(&str, fn(&Sample) -> Outcome)] =
    &[("values", values), ("values_are_finite", values_are_finite), ("integers", integers)];

/// Checks of a whole row.
pub const ROW_CHECKS: &[(&str, fn(&OpInfo) -> Outcome)] =
    &[("errors", errors), ("kinks", kinks), ("dtypes", dtypes), ("docs", docs), ("samples", samples)];

fn text(e: impl std::fmt::Display) -> String {
    e.to_string()
}

/// Compares results with those of the reference.
fn matches(got: &[Tensor], want: &[Naive], relative: f64) -> Outcome {
    if got.len() != want.len() {
        return Err(format!("{} results, the reference has {}", got.len(), want.len()));
    }
    for (k, (got, want)) in got.iter().zip(want).enumerate() {
        if got.shape() != want.shape {
            return Err(format!("result {k} is {}, the reference has shape {:?}", got.ty(), want.shape));
        }
        let got = Naive::of(got).map_err(text)?;
        let finite = want.data.iter().filter(|v| v.is_finite());
        // Cancellation may cost what the largest element rounds to.
        let absolute = 1e-2 * relative * finite.fold(0.0, |m: f64, v| m.max(v.abs()));
        for (i, (a, b)) in got.data.iter().zip(&want.data).enumerate() {
            let same = a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= relative * b.abs() + absolute;
            if !same {
                return Err(format!("result {k}, element {i} is {a:?}, the reference gives {b:?}"));
            }
        }
    }
    Ok(())
}

fn reference(sample: &Sample, inputs: &[Tensor]) -> Result<Option<Vec<Naive>>, String> {
    let Some(reference) = &sample.reference else { return Ok(None) };
    let naive = inputs.iter().map(Naive::of).collect::<pullback::Result<Vec<_>>>().map_err(text)?;
    Ok(Some(reference(&naive)))
}

/// The values are those of the reference.
fn values(sample: &Sample) -> Outcome {
    let got = (sample.call)(&sample.inputs).map_err(text)?;
    match reference(sample, &sample.inputs)? {
        Some(want) => matches(&got, &want, sample.tolerance),
        None => Err("no reference".into()),
    }
}

/// Values are finite unless the sample says that they are special.
fn values_are_finite(sample: &Sample) -> Outcome {
    let got = (sample.call)(&sample.inputs).map_err(text)?;
    for t in sample.inputs.iter().chain(&got) {
        if !sample.special && !Naive::of(t).map_err(text)?.data.iter().all(|v| v.is_finite()) {
            return Err(format!("non-finite values in {}; mark the sample `special` if they are meant", t.ty()));
        }
    }
    Ok(())
}

/// With integer inputs, an operation gives an error or what the reference gives for integers.
fn integers(sample: &Sample) -> Outcome {
    if !sample.inputs.iter().any(|t| t.dtype().is_float()) {
        return Ok(());
    }
    for dtype in [DType::I32, DType::I64] {
        let inputs: Vec<Tensor> = sample
            .inputs
            .iter()
            .map(|t| if t.dtype().is_float() { t.to_dtype(dtype) } else { Ok(t.clone()) })
            .collect::<pullback::Result<_>>()
            .map_err(text)?;
        let Ok(got) = (sample.call)(&inputs) else { continue };
        let Some(want) = reference(sample, &inputs)? else { continue };
        // Integers have no word for what is undefined, and saturate or wrap where the reference does not.
        if want.iter().any(|w| w.data.iter().any(|v| !v.is_finite() || v.abs() > 1e9)) {
            continue;
        }
        matches(&got, &want, if got.iter().any(|t| t.dtype().is_float()) { 2e-5 } else { 0.0 })
            .map_err(|e| format!("as {dtype}: {e}"))?;
    }
    Ok(())
}

/// Bad calls give the error that the row says.
fn errors(op: &OpInfo) -> Outcome {
    let mut failures = Vec::new();
    for sample in (op.errors)() {
        let label = &sample.label;
        match guarded(|| (sample.call)()) {
            Err(panic) => failures.push(format!("error sample `{label}` {panic}")),
            Ok(Ok(t)) => failures.push(format!("error sample `{label}` succeeds with {}", t.ty())),
            Ok(Err(e)) => {
                if e.kind() != sample.kind || !e.to_string().contains(sample.message) {
                    let (kind, message) = (sample.kind, sample.message);
                    failures.push(format!(
                        "error sample `{label}` should be {kind:?} with `{message}`, got {:?} with `{e}`",
                        e.kind()
                    ));
                }
            }
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// At its kinks, an operation has the documented derivative in both modes.
fn kinks(op: &OpInfo) -> Outcome {
    let mut failures = Vec::new();
    for kink in (op.kinks)() {
        let label = &kink.label;
        let x = vec![kink.input.clone()];
        let call = |x: &Vec<Tensor>| Ok((kink.call)(x)?.swap_remove(0));
        let run = || -> pullback::Result<(Vec<f64>, Vec<f64>)> {
            let (y, pull) = vjp(call, &x)?;
            let reverse = pull.call(&Tensor::ones(y.shape(), y.dtype())?)?[0].to_vec::<f64>()?;
            // Lanes follow the convention as well.
            let lanes = vec![stack(&[&kink.input, &kink.input], 0)?];
            for lane in
                vmap(grad(|x: &Vec<Tensor>| call(x)?.sum()))(&lanes)?[0].to_vec::<f64>()?.chunks(reverse.len().max(1))
            {
                if !lane.iter().zip(&reverse).all(|(a, b)| a == b || (a.is_nan() && b.is_nan())) {
                    return Err(Error::other(format!("{reverse:?} alone, {lane:?} as a lane")));
                }
            }
            let n = kink.input.numel();
            let forward = (0..n)
                .map(|i| {
                    let mut unit = vec![0.0; n];
                    unit[i] = 1.0;
                    let t = vec![Tensor::from_slice(&unit, kink.input.shape())?];
                    Ok(jvp(call, &x, &t)?.1.to_vec::<f64>()?.iter().sum())
                })
                .collect::<pullback::Result<Vec<f64>>>()?;
            Ok((reverse, forward))
        };
        match guarded(run) {
            Err(panic) => failures.push(format!("kink `{label}` {panic}")),
            Ok(Err(e)) => failures.push(format!("kink `{label}`: {e}")),
            Ok(Ok((reverse, forward))) => {
                let close = |a: &f64, b: &f64| a == b || (a - b).abs() <= 1e-14 || (a.is_nan() && b.is_nan());
                let like = |v: &[f64]| {
                    v.len() == kink.gradient.len() && v.iter().zip(&kink.gradient).all(|(a, b)| close(a, b))
                };
                if !like(&reverse) || !like(&forward) {
                    let want = &kink.gradient;
                    failures
                        .push(format!("kink `{label}`: {want:?} documented, reverse {reverse:?}, forward {forward:?}"));
                }
            }
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// True if some tensor became an integer from a float, or the other way round, or positions became a mask.
fn other_kind(before: &[Tensor], after: &[Tensor]) -> bool {
    before
        .iter()
        .zip(after)
        .any(|(a, b)| a.dtype().is_float() != b.dtype().is_float() || a.dtype().is_int() && b.dtype() == DType::Bool)
}

/// True if the message starts with the name of the operation, or of the one that it is a variant of: `cross_entropy`
/// for `cross_entropy_with`.
fn names(e: &pullback::Error, op: &str) -> bool {
    let text = e.to_string();
    let place = text.split(':').next().unwrap_or_default();
    !place.is_empty() && (op.starts_with(place) || place.contains(op))
}

/// Every dtype works or gives an error of kind `Dtype` that names the operation, for all inputs or for one of them.
fn dtypes(op: &OpInfo) -> Outcome {
    for sample in (op.samples)() {
        let n = sample.inputs.len();
        for dtype in DType::ALL {
            // Every floating input, and each input alone.
            for which in std::iter::once(None).chain((0..n).map(Some)) {
                let inputs: Vec<Tensor> = sample
                    .inputs
                    .iter()
                    .enumerate()
                    .map(|(k, t)| {
                        let convert = which.map_or(t.dtype().is_float(), |w| w == k);
                        if convert { t.to_dtype(dtype) } else { Ok(t.clone()) }
                    })
                    .collect::<pullback::Result<_>>()
                    .map_err(text)?;
                let types: Vec<String> = inputs.iter().map(|t| t.ty().to_string()).collect();
                let place = format!("sample `{}` as {}", sample.label, types.join(", "));
                match guarded(|| (sample.call)(&inputs)) {
                    Err(panic) => return Err(format!("{place}: {panic}")),
                    Ok(Ok(_)) => {}
                    Ok(Err(e)) if e.kind() == ErrorKind::Dtype && names(&e, op.name) => {}
                    // What is made of other operations is defined for complex numbers where all of them are.
                    Ok(Err(e)) if e.kind() == ErrorKind::Dtype && dtype.is_complex() => {}
                    // An integer in the place of a float, or the other way round, or a bool in that of an integer may
                    // mean something else.
                    Ok(Err(e))
                        if matches!(e.kind(), ErrorKind::Shape | ErrorKind::Dim)
                            && other_kind(&sample.inputs, &inputs) => {}
                    // Converted values may be indices out of range, or leave the domain.
                    Ok(Err(e)) if matches!(e.kind(), ErrorKind::Index | ErrorKind::Value) => {}
                    Ok(Err(e)) => {
                        return Err(format!(
                            "{place}: expected a `Dtype` error that names the op, got {:?}: {e}",
                            e.kind()
                        ));
                    }
                }
            }
        }
    }
    Ok(())
}

/// The documentation says what it must.
fn docs(op: &OpInfo) -> Outcome {
    let mut missing = Vec::new();
    let doc = op.doc;
    let section = |name: &str| doc.lines().any(|l| l.trim() == format!("# {name}"));
    let first: String = doc.lines().take_while(|l| !l.trim().is_empty()).collect();
    if !first.trim_end().ends_with('.') {
        missing.push("a first sentence");
    }
    if (op.samples)().iter().any(Sample::is_differentiable) && !section("Derivative") {
        missing.push("`# Derivative`");
    }
    if !section("Dtypes") && !section("Shapes") {
        missing.push("`# Dtypes` or `# Shapes`");
    }
    if !section("Example") || doc.matches("```").count() < 2 {
        missing.push("`# Example`");
    }
    if !(op.errors)().is_empty() && !section("Errors") {
        missing.push("`# Errors`");
    }
    if !(op.kinks)().is_empty() && !section("Derivative") {
        missing.push("`# Derivative` with the value at the kinks");
    }
    if missing.is_empty() { Ok(()) } else { Err(format!("the documentation lacks {}", missing.join(", "))) }
}

/// The samples are enough, labelled, and name real properties.
fn samples(op: &OpInfo) -> Outcome {
    let samples = (op.samples)();
    if samples.len() < 2 {
        return Err(format!("{} samples, at least 2 are needed", samples.len()));
    }
    if !samples.iter().any(|s| s.inputs.iter().any(|t| t.rank() == 0 || t.numel() == 0)) {
        return Err("no sample has an empty or a 0-d input".into());
    }
    let labels: HashSet<&str> = samples.iter().map(|s| s.label.as_str()).collect();
    if labels.len() < samples.len() {
        return Err("two samples have one label".into());
    }
    let checks = SAMPLE_CHECKS.iter().chain(super::half::SAMPLE_CHECKS);
    let known: HashSet<&str> =
        properties().iter().map(|p| p.name).chain(checks.map(|(name, _)| *name)).chain([WALKS]).collect();
    for sample in &samples {
        if let Some((name, _)) = sample.expected_failures.iter().find(|(name, _)| !known.contains(name)) {
            return Err(format!("sample `{}` expects the failure of `{name}`, which is no property", sample.label));
        }
    }
    Ok(())
}
