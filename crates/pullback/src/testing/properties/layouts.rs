//! Properties of inputs that do not lie in memory row by row.

use super::Part;
use crate::ops::shape::{broadcast_to, slice};
use crate::testing::close::{At, Failure, Outcome, all_same, fail};
use crate::testing::lanes::fresh;
use crate::testing::table::Sample;
use crate::{DType, Result, Tensor, cat, stack};

/// How far results may differ: sums may be added up in another order.
const TOLERANCE: f64 = 1e-13;

/// What lies in memory between and around the elements of a view: results that read it are conspicuous.
fn garbage(like: &Tensor) -> Result<Tensor> {
    match like.dtype() {
        DType::F32 | DType::F64 => Tensor::full(like.shape(), f64::NAN, like.dtype()),
        DType::Bool => Tensor::ones(like.shape(), DType::Bool),
        dtype => Tensor::full(like.shape(), 113, dtype),
    }
}

/// The same values in other places.
fn variants(t: &Tensor) -> Result<Vec<(&'static str, Tensor)>> {
    let mut out = Vec::new();
    let order: Vec<isize> = (0..t.rank() as isize).rev().collect();
    if t.rank() > 1 {
        out.push(("transposed", fresh(&t.permute(&order)?)?.permute(&order)?));
    }
    out.push(("stepped", stack(&[t, &garbage(t)?], -1)?.select(-1, 0)?));
    if t.rank() > 0 {
        let other = garbage(t)?;
        let mut longer = cat(&[&other, t, &other], 0)?;
        longer = slice(&longer, 0, t.shape()[0], t.shape()[0], 1)?;
        out.push(("offset", longer));
        let mut reversed = t.clone();
        for _ in 0..2 {
            // Twice, so that the values come back and the strides are negative.
            reversed = fresh(&reversed)?;
            for (d, &n) in t.shape().iter().enumerate().filter(|(_, n)| **n > 0) {
                reversed = slice(&reversed, d, n - 1, n, -1)?;
            }
        }
        out.push(("reversed", reversed));
    }
    Ok(out)
}

/// Other values, repeated along one dimension without a copy, and a copy of them.
fn repeated(t: &Tensor) -> Result<Vec<(&'static str, Tensor, Tensor)>> {
    let mut out = Vec::new();
    for (d, &n) in t.shape().iter().enumerate() {
        if n > 1 {
            let view = broadcast_to(&slice(t, d, 0, 1, 1)?, t.shape())?;
            out.push(("repeated", view.clone(), fresh(&view)?));
        }
    }
    Ok(out)
}

fn with(list: &[Tensor], k: usize, t: &Tensor) -> Vec<Tensor> {
    let mut list = list.to_vec();
    list[k] = t.clone();
    list
}

/// What was done, the list that results, and the list that it must be like.
type Moved = (String, Vec<Tensor>, Vec<Tensor>);

/// Every list that differs from `list` in the places of its elements only, with the list it must be like.
fn lists(list: &[Tensor], what: &str) -> Result<Vec<Moved>> {
    let mut out = Vec::new();
    for (k, t) in list.iter().enumerate() {
        for (name, variant) in variants(t)? {
            out.push((format!("{what} {k} {name}"), with(list, k, &variant), list.to_vec()));
        }
        for (name, view, copy) in repeated(t)? {
            out.push((format!("{what} {k} {name}"), with(list, k, &view), with(list, k, &copy)));
        }
    }
    if list.len() > 1 {
        let all: Vec<_> = list.iter().map(variants).collect::<Result<_>>()?;
        for index in 0..4 {
            let mixed = list.iter().zip(&all).map(|(t, v)| v.get(index).map_or(t, |v| &v.1).clone()).collect();
            out.push((format!("every {what} moved in memory ({index})"), mixed, list.to_vec()));
        }
    }
    Ok(out)
}

fn compare(got: Result<Vec<Tensor>>, want: Result<Vec<Tensor>>) -> Outcome {
    match (got, want) {
        (Ok(got), Ok(want)) => all_same(&got, &want, TOLERANCE, ["the result", "that of a contiguous copy"]),
        // Repeating values may leave the domain.
        (Err(got), Err(want)) if got.kind() == want.kind() => Ok(()),
        (Err(e), _) => Err(Failure::from(e)),
        (Ok(_), Err(e)) => fail!("a result, but a contiguous copy gives the error {e}"),
    }
}

pub(super) fn layouts(sample: &Sample) -> Outcome {
    for (name, moved, plain) in lists(&sample.inputs, "input")? {
        compare((sample.call)(&moved), (sample.call)(&plain)).at(name)?;
    }
    Ok(())
}

pub(super) fn layouts_of_derivatives(sample: &Sample) -> Outcome {
    let part = Part::of(sample)?;
    let (g, t) = (part.cotangents(1)?, part.tangents(2)?);
    for (name, moved, plain) in lists(&sample.inputs, "input")? {
        if name.ends_with("repeated") {
            // Equal values may be a kink.
            continue;
        }
        compare(part.vjp(&moved, &g), part.vjp(&plain, &g)).at(&name).at("reverse mode")?;
        compare(part.jvp(&moved, &t), part.jvp(&plain, &t)).at(&name).at("forward mode")?;
    }
    let inputs = &sample.inputs;
    for (name, moved, plain) in lists(&g, "cotangent")? {
        compare(part.vjp(inputs, &moved), part.vjp(inputs, &plain)).at(&name)?;
    }
    for (name, moved, plain) in lists(&t, "tangent")? {
        compare(part.jvp(inputs, &moved), part.jvp(inputs, &plain)).at(&name)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::table::sample_tensor;

    /// A call that adds what `f` makes of the strides.
    fn strided(f: fn(&[isize]) -> f64) -> Sample {
        Sample::one("strided", [sample_tensor(&[2, 3], -1.0, 1.0, 1)], move |x| {
            x[0].add(f(x[0].array().map_or(&[], |a| a.strides())))
        })
    }

    #[test]
    fn every_layout_is_tried() {
        assert!(layouts(&strided(|_| 0.0)).is_ok());
        let noticed = |f| layouts(&strided(f)).unwrap_err().0;
        assert!(noticed(|s| f64::from(u8::from(s == [1, 2]))).contains("transposed"));
        assert!(noticed(|s| f64::from(u8::from(s == [6, 2]))).contains("stepped"));
        assert!(noticed(|s| f64::from(u8::from(s == [-3, -1]))).contains("reversed"));
        assert!(noticed(|s| f64::from(u8::from(s.contains(&0)))).contains("repeated"));
    }
}
