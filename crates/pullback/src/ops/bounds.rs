//! Clamping between bounds that are tensors.

use super::arith::binary_samples;
use super::choose::clamp;
use super::table::{ErrorSample, Kink, Naive, Sample, ops, sample_tensor};
use crate::error::bail;
use crate::shape::broadcast;
use crate::tensor::Operand;
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
        in_place: true, samples: clamp_with_samples, errors: clamp_with_errors, kinks: clamp_with_kinks,
        python: clamp(min, max),
        python: clip(min, max)
    };

    /// The elements, with those below `min` replaced by it: [`clamp`](Tensor::clamp) with one bound, a number or a tensor.
    ///
    /// # Shapes
    /// Tensor and bound broadcast against each other.
    ///
    /// # Dtypes
    /// Floats and integers.
    ///
    /// # Derivative
    /// The cotangent goes to the tensor where it is not below the bound, elsewhere to the bound.
    ///
    /// # Errors
    /// As those of [`clamp`](Tensor::clamp) and [`clamp_with`](Tensor::clamp_with).
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([-1.0, 2.0]).clamp_min(0.0)?.to_vec::<f64>()?, [0.0, 2.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn clamp_min(&self, min: impl Operand) -> Result<Tensor> = clamp_min {
        samples: clamp_min_samples, kinks: clamp_min_kinks
    };

    /// The elements, with those above `max` replaced by it: [`clamp`](Tensor::clamp) with one bound, a number or a tensor.
    ///
    /// # Shapes
    /// Tensor and bound broadcast against each other.
    ///
    /// # Dtypes
    /// Floats and integers.
    ///
    /// # Derivative
    /// The cotangent goes to the tensor where it is not above the bound, elsewhere to the bound.
    ///
    /// # Errors
    /// As those of [`clamp`](Tensor::clamp) and [`clamp_with`](Tensor::clamp_with).
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([-1.0, 2.0]).clamp_max(0.0)?.to_vec::<f64>()?, [-1.0, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn clamp_max(&self, max: impl Operand) -> Result<Tensor> = clamp_max {
        samples: clamp_max_samples, kinks: clamp_max_kinks
    };
}

/// A bound that is a number, exactly where that is needed.
fn number_of(bound: &impl Operand) -> Option<f64> {
    bound.as_scalar().map(|n| n.to_f64())
}

fn clamp_min(x: &Tensor, min: impl Operand) -> Result<Tensor> {
    match number_of(&min) {
        Some(min) => clamp(x, Some(min), None),
        None => min.with_operand("clamp", x.dtype(), |min| clamp_with(x, Some(min), None)),
    }
}

fn clamp_max(x: &Tensor, max: impl Operand) -> Result<Tensor> {
    match number_of(&max) {
        Some(max) => clamp(x, None, Some(max)),
        None => max.with_operand("clamp", x.dtype(), |max| clamp_with(x, None, Some(max))),
    }
}

/// Samples of one bound, as a tensor and as a number.
fn one_bound_samples(
    tensors: fn(&Tensor, &Tensor) -> Result<Tensor>,
    number: fn(&Tensor) -> Result<Tensor>,
    reference: fn(f64, f64) -> f64,
) -> Vec<Sample> {
    let mut all = binary_samples((-2.0, 2.0), tensors, reference);
    let shapes: [&[usize]; 3] = [&[2, 3], &[], &[0]];
    all.extend(shapes.iter().map(|shape| {
        Sample::one(format!("a number, {shape:?}"), [sample_tensor(shape, -2.0, 2.0, 1)], move |x| number(&x[0]))
            .reference(move |x| {
                let data = x[0].data.iter().map(|&v| reference(v, 0.5)).collect();
                vec![Naive { shape: x[0].shape.clone(), data }]
            })
    }));
    all
}

fn clamp_min_samples() -> Vec<Sample> {
    one_bound_samples(|a, b| a.clamp_min(b), |x| x.clamp_min(0.5), f64::max)
}

fn clamp_max_samples() -> Vec<Sample> {
    one_bound_samples(|a, b| a.clamp_max(b), |x| x.clamp_max(0.5), f64::min)
}

fn clamp_min_kinks() -> Vec<Kink> {
    vec![Kink::new("at the bound", Tensor::from([0.0, 1.0, 2.0]), [0.0, 1.0, 1.0], |x| x.clamp_min(1.0))]
}

fn clamp_max_kinks() -> Vec<Kink> {
    vec![Kink::new("at the bound", Tensor::from([0.0, 1.0, 2.0]), [1.0, 1.0, 0.0], |x| x.clamp_max(1.0))]
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
