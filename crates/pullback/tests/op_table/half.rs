//! Operations in half precision: what they are in f64, up to rounding, in values and derivatives, mapped or not.

use pullback::testing::table::Sample;
use pullback::{DType, Result, Tensor, jvp, stack, vjp, vmap};

type Outcome = std::result::Result<(), String>;

fn text(e: impl std::fmt::Display) -> String {
    e.to_string()
}

/// Checks of one sample.
pub const SAMPLE_CHECKS: &[(&str, fn(&Sample) -> Outcome)] = &[("half", half)];

/// The dtypes, with the error of rounding to them and their largest number.
const HALVES: [(DType, f64, f64); 2] = [(DType::F16, 4.9e-4, 65504.0), (DType::BF16, 3.9e-3, 3.3e38)];

fn converted(list: &[Tensor], from: DType, to: DType) -> Vec<Tensor> {
    let convert = |t: &Tensor| if t.dtype() == from { t.to_dtype(to).expect("floats convert") } else { t.clone() };
    list.iter().map(convert).collect()
}

fn elements(t: &Tensor) -> Vec<f64> {
    t.to_dtype(DType::F64).and_then(|t| t.to_vec()).expect("a concrete real tensor")
}

/// Numbers that every dtype holds, of both signs.
fn directions(like: &[Tensor]) -> Vec<Tensor> {
    const PATTERN: [f64; 5] = [0.5, -1.0, 0.75, 1.25, -0.25];
    let direction = |(k, t): (usize, &Tensor)| {
        let all: Vec<f64> = (0..t.numel()).map(|i| PATTERN[(i + k) % 5]).collect();
        Tensor::from_slice(&all, t.shape()).and_then(|d| d.to_dtype(t.dtype())).expect("the shape of the tensor")
    };
    like.iter().enumerate().map(direction).collect()
}

/// Fails unless results in half precision are near those in f64, relative to the largest, and have `dtype` where those
/// have f64.
fn near(got: &[Tensor], want: &[Tensor], dtype: Option<DType>, tolerance: f64, largest: f64) -> Outcome {
    if got.len() != want.len() {
        return Err(format!("{} results, {} in f64", got.len(), want.len()));
    }
    for (g, w) in got.iter().zip(want) {
        let expected = if w.dtype() == DType::F64 { dtype.unwrap_or(w.dtype()) } else { w.dtype() };
        if g.shape() != w.shape() || g.dtype() != expected {
            return Err(format!("{}, in f64 {}", g.ty(), w.ty()));
        }
        let (a, b) = (elements(g), elements(w));
        let scale = b.iter().filter(|v| v.is_finite()).fold(1.0, |m: f64, v| m.max(v.abs()));
        for (x, y) in a.iter().zip(&b) {
            let same = x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= tolerance * scale || y.abs() > largest;
            if !same {
                return Err(format!("{g}, in f64 {w}"));
            }
        }
    }
    Ok(())
}

/// Everything in half precision is what it is in f64 at the same inputs.
fn half(sample: &Sample) -> Outcome {
    if !sample.inputs.iter().any(|t| t.dtype() == DType::F64) {
        return Ok(());
    }
    for (dtype, rounding, largest) in HALVES {
        let inputs = converted(&sample.inputs, DType::F64, dtype);
        let double = converted(&inputs, dtype, DType::F64);
        let out = if sample.fixed_dtype { None } else { Some(dtype) };
        let call = |x: &[Tensor]| (sample.call)(x);
        // What is rounded may have left the domain, which f64 tells as well.
        let Ok(want) = call(&double) else { continue };
        let got = call(&inputs).map_err(|e| format!("as {dtype}: {e}"))?;
        near(&got, &want, out, 4.0 * rounding, largest).map_err(|e| format!("as {dtype}: {e}"))?;

        let lanes: Vec<Tensor> = inputs.iter().map(|t| stack(&[t, t], 0)).collect::<Result<_>>().map_err(text)?;
        let mapped = vmap(|x: &Vec<Tensor>| call(x))(&lanes).map_err(|e| format!("vmap as {dtype}: {e}"))?;
        for (m, g) in mapped.iter().zip(&got) {
            let lane = m.select(0, 1).map_err(text)?;
            near(&[lane], &[g.clone()], None, 2.0 * rounding, largest).map_err(|e| format!("vmap as {dtype}: {e}"))?;
        }

        if !sample.is_differentiable() || sample.fixed_dtype {
            continue;
        }
        // Derivatives by the floats, of the floats.
        let which: Vec<usize> = (0..inputs.len()).filter(|&k| double[k].dtype() == DType::F64).collect();
        let part = |all: &[Tensor], x: &Vec<Tensor>| -> Result<Vec<Tensor>> {
            let mut all = all.to_vec();
            which.iter().zip(x).for_each(|(&k, t)| all[k] = t.clone());
            Ok(call(&all)?.into_iter().filter(|t| t.dtype().is_float()).collect())
        };
        let pick = |all: &[Tensor]| -> Vec<Tensor> { which.iter().map(|&k| all[k].clone()).collect() };
        let derivatives = |all: &[Tensor]| -> Result<(Vec<Tensor>, Vec<Tensor>)> {
            let x = pick(all);
            let (y, pull) = vjp(|x: &Vec<Tensor>| part(all, x), &x)?;
            let t = directions(&x);
            Ok((pull.call(&directions(&y))?, jvp(|x: &Vec<Tensor>| part(all, x), &x, &t)?.1))
        };
        let (a, b) = derivatives(&inputs).map_err(|e| format!("derivatives as {dtype}: {e}"))?;
        let (c, d) = derivatives(&double).map_err(text)?;
        near(&a, &c, out, 8.0 * rounding, largest).map_err(|e| format!("reverse mode as {dtype}: {e}"))?;
        near(&b, &d, out, 8.0 * rounding, largest).map_err(|e| format!("forward mode as {dtype}: {e}"))?;
    }
    Ok(())
}
