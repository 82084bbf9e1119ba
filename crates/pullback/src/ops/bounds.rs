//! Clamping between bounds that are tensors.

use super::choose::clamp;
use super::table::{ErrorSample, Kink, Naive, Sample, ops, sample_tensor};
use crate::error::bail;
use crate::shape::broadcast;
use crate::{DType, ErrorKind, Result, Tensor};

ops! { OPS;
    /// The elements, with those below `min` and above `max` replaced by that bound. Beside a NaN, in the tensor or in a bound, the
    /// result is NaN.
    ///
    /// # Shapes
    /// The tensor and the bounds broadcast against each other.
    ///
    /// # Dtypes
    /// Floats and integers, promoted by the table of [`DType`].
    ///
    /// # Derivative
    /// The cotangent goes to the tensor where it lies between the bounds, or on one; elsewhere to the bound that replaces it. If
    /// `min` is above `max`, all of it goes to `max`.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; `Dtype` for bools and complex numbers.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([-5.0, 0.5, 5.0]);
    /// let (min, max) = (Tensor::from([-1.0, 0.0, 1.0]), Tensor::from(2.0));
    /// assert_eq!(x.clamp_with(Some(&min), Some(&max))?.to_vec::<f64>()?, [-1.0, 0.5, 2.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn clamp_with(&self, min: Option<&Tensor>, max: Option<&Tensor>) -> Result<Tensor> = clamp_with {
        samples: clamp_with_samples, errors: clamp_with_errors, kinks: clamp_with_kinks,
        python: clamp(min, max),
        python: clip(min, max)
    };
}

fn clamp_with(x: &Tensor, min: Option<&Tensor>, max: Option<&Tensor>) -> Result<Tensor> {
    if min.is_none() && max.is_none() {
        return clamp(x, None, None);
    }
    for t in [Some(x), min, max].into_iter().flatten() {
        if t.dtype() == DType::Bool || t.dtype().is_complex() {
            bail!(Dtype, "clamp: expected real numbers, got {}", t.ty(); help = "convert with `to_dtype`");
        }
        if broadcast(x.shape(), t.shape()).is_none() {
            bail!(Shape, "clamp: shapes must broadcast, got {} and the bound {}", x.ty(), t.ty());
        }
    }
    let mut y = x.clone();
    if let Some(min) = min {
        y = y.lt(min)?.logical_or(min.isnan()?)?.where_(min, &y)?;
    }
    if let Some(max) = max {
        y = y.gt(max)?.logical_or(max.isnan()?)?.where_(max, &y)?;
    }
    Ok(y)
}

fn clamp_with_samples() -> Vec<Sample> {
    let case = |label: &str, x: &[usize], min: Option<&[usize]>, max: Option<&[usize]>| {
        let mut inputs = vec![sample_tensor(x, -2.0, 2.0, 1)];
        inputs.extend(min.map(|s| sample_tensor(s, -1.5, 0.0, 2)));
        inputs.extend(max.map(|s| sample_tensor(s, -0.5, 1.5, 3)));
        let (has_min, has_max) = (min.is_some(), max.is_some());
        let call = move |x: &[Tensor]| x[0].clamp_with(has_min.then(|| &x[1]), has_max.then(|| &x[x.len() - 1]));
        Sample::one(label, inputs, call).reference(move |x| {
            let shape = x.iter().try_fold(crate::Shape::new(), |s, x| broadcast(&s, &x.shape));
            vec![Naive::from_fn(&shape.expect("samples broadcast"), |i| {
                let mut v = x[0].at_broadcast(i);
                if has_min {
                    v = v.max(x[1].at_broadcast(i));
                }
                if has_max { v.min(x[x.len() - 1].at_broadcast(i)) } else { v }
            })]
        })
    };
    vec![
        case("both", &[2, 3], Some(&[2, 3]), Some(&[2, 3])),
        case("min", &[2, 3], Some(&[3]), None),
        case("max", &[3], None, Some(&[2, 1])),
        case("numbers", &[4], Some(&[]), Some(&[])),
        case("empty", &[0, 2], Some(&[2]), None),
        Sample::one("NaN", [Tensor::from([f64::NAN, 1.0, 1.0]), Tensor::from([0.0, f64::NAN, 0.0])], |x| {
            x[0].clamp_with(Some(&x[1]), Some(&x[1]))
        })
        .reference(|_| vec![Naive { shape: vec![3], data: vec![f64::NAN, f64::NAN, 0.0] }])
        .special(),
    ]
}

fn clamp_with_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2], 0.0, 1.0, 1);
    let (y, z) = (x.clone(), sample_tensor(&[3], 0.0, 1.0, 1));
    vec![
        ErrorSample::new("shape", ErrorKind::Shape, "clamp: shapes must broadcast, got f64[2] and the bound f64[3]", {
            move || x.clamp_with(None, Some(&z))
        }),
        ErrorSample::new("dtype", ErrorKind::Dtype, "clamp: expected real numbers, got bool[]", move || {
            y.clamp_with(Some(&Tensor::from(true)), None)
        }),
    ]
}

fn clamp_with_kinks() -> Vec<Kink> {
    let bounds = || (Tensor::from(-1.0), Tensor::from(1.0));
    vec![
        Kink::new("at the bounds", Tensor::from([-1.5, -1.0, 0.0, 1.0, 1.5]), [0.0, 1.0, 1.0, 1.0, 0.0], move |x| {
            let (min, max) = bounds();
            x.clamp_with(Some(&min), Some(&max))
        }),
        Kink::new("a bound that is reached", Tensor::from([0.0, 1.0]), [1.0, 0.0], |min| {
            Tensor::from([-1.0, 1.0]).clamp_with(Some(min), None)
        }),
    ]
}
