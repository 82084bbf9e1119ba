//! Replacing and mixing elements, by means of `where_`.

use super::arith::{binary_samples, with_common_dtype};
use super::family::broadcast_shape;
use super::reduce::to_float;
use super::table::{ErrorSample, Kink, Naive, Sample, ops, sample_tensor};
use crate::error::bail;
use crate::tensor::Operand;
use crate::{DType, ErrorKind, Result, Tensor, bf16, f16};

ops! { OPS;
    /// The elements, with those where `mask` holds replaced by `value`.
    ///
    /// # Shapes
    /// All three broadcast against each other.
    ///
    /// # Dtypes
    /// Those of [`where_`](Tensor::where_): `mask` is bool.
    ///
    /// # Derivative
    /// 1 where `mask` does not hold, else 0; the other way round with respect to a tensor `value`.
    ///
    /// # Errors
    /// `Dtype` if the mask is not bool; `Shape` if the shapes do not broadcast.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([1.0, 2.0]);
    /// assert_eq!(x.masked_fill(&x.gt(1.5)?, -1.0)?.to_vec::<f64>()?, [1.0, -1.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn masked_fill(&self, mask: &Tensor, value: impl Operand) -> Result<Tensor> = masked_fill { in_place: true, samples: masked_fill_samples, errors: masked_fill_errors };

    /// The point between this tensor, for weight 0, and `end`, for weight 1: `x + weight·(end - x)`, which is exact at both
    /// ends. Other weights go beyond.
    ///
    /// # Shapes
    /// All three broadcast against each other.
    ///
    /// # Dtypes
    /// Floats, promoted; integers and bools become `f32`.
    ///
    /// # Derivative
    /// `1 - weight` and `weight`; `end - x` with respect to the weight.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([1.0, 2.0]);
    /// assert_eq!(x.lerp(&Tensor::from([3.0, 6.0]), 0.25)?.to_vec::<f64>()?, [1.5, 3.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn lerp(&self, end: &Tensor, weight: impl Operand) -> Result<Tensor> = lerp { in_place: true, samples: lerp_samples, errors: lerp_errors };

    /// The elements, with NaN replaced by `nan`, infinity by `posinf` and minus infinity by `neginf`; `None` stands for the
    /// largest and the smallest finite number of the dtype.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// All; integers and bools are returned as they are.
    ///
    /// # Derivative
    /// 1 for the elements that stay, 0 for the others.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([f64::NAN, f64::INFINITY, 2.0]);
    /// assert_eq!(x.nan_to_num(0.0, Some(9.0), None)?.to_vec::<f64>()?, [0.0, 9.0, 2.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn nan_to_num(&self, nan: f64, posinf: Option<f64>, neginf: Option<f64>) -> Result<Tensor> = nan_to_num {
        in_place: true, samples: nan_to_num_samples, kinks: nan_to_num_kinks,
        python: nan_to_num(nan = 0.0, posinf, neginf)
    };
}

fn masked_fill(x: &Tensor, mask: &Tensor, value: impl Operand) -> Result<Tensor> {
    if mask.dtype() != DType::Bool {
        bail!(Dtype, "masked_fill: expected a mask of dtype bool, got {}", mask.ty(); help = "compare it with \
            something, for example `ne(0)`");
    }
    broadcast_shape("masked_fill", x, mask)?;
    mask.where_(value, x)
}

fn lerp(x: &Tensor, end: &Tensor, weight: impl Operand) -> Result<Tensor> {
    let (x, end) = (to_float(x)?, to_float(end)?);
    weight.with_operand("lerp", x.dtype(), |weight| {
        let weight = &to_float(weight)?;
        with_common_dtype(&x, &end, true, |x, end| {
            let way = end.sub(x)?;
            let near_start = x.add(way.mul(weight)?)?;
            let near_end = end.sub(way.mul(weight.neg()?.add(1.0)?)?)?;
            weight.lt(0.5)?.where_(near_start, near_end)
        })
    })
}

fn nan_to_num(x: &Tensor, nan: f64, posinf: Option<f64>, neginf: Option<f64>) -> Result<Tensor> {
    let largest = match x.dtype() {
        DType::F16 => f16::MAX.to_f64(),
        DType::BF16 => bf16::MAX.to_f64(),
        DType::F32 => f64::from(f32::MAX),
        DType::F64 => f64::MAX,
        _ => return Ok(x.clone()),
    };
    let number = x.isnan()?.where_(nan, x)?;
    let bounded = x.eq(f64::INFINITY)?.where_(posinf.unwrap_or(largest), number)?;
    x.eq(f64::NEG_INFINITY)?.where_(neginf.unwrap_or(-largest), bounded)
}

fn masked_fill_samples() -> Vec<Sample> {
    let mask = || Tensor::from([[true, false, true], [false, false, true]]);
    let held = |i: &[usize]| matches!(i, [0, 0] | [0, 2] | [1, 2]);
    let tensor =
        Sample::one("tensor", [sample_tensor(&[2, 3], -1.0, 1.0, 1), sample_tensor(&[3], -1.0, 1.0, 2)], move |x| {
            x[0].masked_fill(&mask(), &x[1])
        })
        .reference(move |x| vec![Naive::from_fn(&[2, 3], |i| if held(i) { x[1].at(&i[1..]) } else { x[0].at(i) })]);
    let number = Sample::one("number", [sample_tensor(&[3], -1.0, 1.0, 3)], move |x| x[0].masked_fill(&mask(), 7.0))
        .reference(move |x| vec![Naive::from_fn(&[2, 3], |i| if held(i) { 7.0 } else { x[0].at(&i[1..]) })]);
    let empty =
        Sample::one("empty", [sample_tensor(&[0, 3], -1.0, 1.0, 4)], |x| x[0].masked_fill(&Tensor::from(true), 7.0))
            .reference(|x| vec![x[0].clone()]);
    vec![tensor, number, empty]
}

fn masked_fill_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2], 0.0, 1.0, 1);
    vec![
        ErrorSample::new("mask", ErrorKind::Dtype, "masked_fill: expected a mask of dtype bool, got f64[2]", {
            let x = x.clone();
            move || x.masked_fill(&x, 0.0)
        }),
        ErrorSample::new("shape", ErrorKind::Shape, "masked_fill: ", move || {
            x.masked_fill(&Tensor::from([true, false, true]), 0.0)
        }),
    ]
}

fn lerp_samples() -> Vec<Sample> {
    let mut all = binary_samples((-2.0, 2.0), |a, b| a.lerp(b, 0.25), |a, b| 0.75 * a + 0.25 * b);
    let far = binary_samples((-2.0, 2.0), |a, b| a.lerp(b, 0.75), |a, b| 0.25 * a + 0.75 * b);
    all.extend(far.into_iter().map(|mut sample| {
        sample.label += ", near the end";
        sample
    }));
    let inputs = [
        sample_tensor(&[2, 3], -2.0, 2.0, 1),
        sample_tensor(&[3], -2.0, 2.0, 2),
        Tensor::from([[0.1, 0.4, 0.9], [1.5, -0.5, 0.6]]),
    ];
    all.push(Sample::one("weights", inputs, |x| x[0].lerp(&x[1], &x[2])).reference(|x| {
        vec![Naive::from_fn(&[2, 3], |i| {
            let w = x[2].at(i);
            (1.0 - w) * x[0].at(i) + w * x[1].at(&i[1..])
        })]
    }));
    all
}

fn lerp_errors() -> Vec<ErrorSample> {
    let (a, b) = (sample_tensor(&[2], 0.0, 1.0, 1), sample_tensor(&[3], 0.0, 1.0, 2));
    vec![ErrorSample::new("shapes", ErrorKind::Shape, "got lhs f64[3] and rhs f64[2]", move || a.lerp(&b, 0.5))]
}

fn nan_to_num_samples() -> Vec<Sample> {
    let one = |label: &str, shape: &[usize]| {
        Sample::one(label, [sample_tensor(shape, -1.0, 1.0, 1)], |x| x[0].nan_to_num(0.0, None, None))
            .reference(|x| vec![x[0].clone()])
    };
    vec![one("matrix", &[2, 3]), one("0-d", &[]), one("empty", &[0, 2])]
}

fn nan_to_num_kinks() -> Vec<Kink> {
    let x = Tensor::from([f64::NAN, f64::INFINITY, 1.0]);
    vec![Kink::new("not finite", x, [0.0, 0.0, 1.0], |x| x.nan_to_num(0.0, None, None))]
}
