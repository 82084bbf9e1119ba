//! Choices between values that are made of comparisons: steps, extremes that pass over NaN, and membership.

use super::arith::{binary_samples, with_common_dtype};
use super::table::{ErrorSample, Kink, Naive, Sample, ops, sample_tensor};
use crate::error::bail;
use crate::tensor::Operand;
use crate::{DType, ErrorKind, Result, Tensor};

ops! { OPS;
    /// 0 below 0, 1 above, and at 0 what `values` says; NaN for NaN.
    ///
    /// # Shapes
    /// Both tensors broadcast against each other.
    ///
    /// # Dtypes
    /// Floats and integers, promoted by the table of [`DType`].
    ///
    /// # Derivative
    /// 0 with respect to the tensor, also at 0; 1 with respect to `values` where the tensor is 0.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; `Dtype` for bools and complex numbers.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let y = Tensor::from([-2.0, 0.0, 3.0]).heaviside(&Tensor::from(0.5))?;
    /// assert_eq!(y.to_vec::<f64>()?, [0.0, 0.5, 1.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn heaviside(&self, values: &Tensor) -> Result<Tensor> = heaviside {
        samples: heaviside_samples, errors: heaviside_errors, kinks: heaviside_kinks,
        python: heaviside(values)
    };

    /// The larger of two elements, or the other one if one is NaN.
    ///
    /// # Shapes
    /// Both operands broadcast against each other.
    ///
    /// # Dtypes
    /// Numbers with an order, promoted by the table of [`DType`].
    ///
    /// # Derivative
    /// 1 for the operand that was chosen, 0 for the other one, and one half for both where they are equal.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; `Value` for a number that the integer dtype of the tensor cannot hold.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([f64::NAN, 5.0]).fmax(3.0)?.to_vec::<f64>()?, [3.0, 5.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn fmax(&self, rhs: impl Operand) -> Result<Tensor> = fmax {
        samples: fmax_samples, kinks: fmax_kinks
    };

    /// The smaller of two elements, or the other one if one is NaN.
    ///
    /// # Shapes
    /// Both operands broadcast against each other.
    ///
    /// # Dtypes
    /// Numbers with an order, promoted by the table of [`DType`].
    ///
    /// # Derivative
    /// 1 for the operand that was chosen, 0 for the other one, and one half for both where they are equal.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; `Value` for a number that the integer dtype of the tensor cannot hold.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([f64::NAN, 5.0]).fmin(3.0)?.to_vec::<f64>()?, [3.0, 3.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn fmin(&self, rhs: impl Operand) -> Result<Tensor> = fmin {
        samples: fmin_samples, kinks: fmin_kinks
    };

    /// Whether each element is one of those of another tensor, or none of them if `invert`.
    ///
    /// # Shapes
    /// The result has that of the tensor; `test_elements` has any.
    ///
    /// # Dtypes
    /// All, promoted by the table of [`DType`]; the result is bool. NaN is no element.
    ///
    /// # Derivative
    /// None: the result is discrete.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([1, 2, 3]).isin(&Tensor::from([3, 1]), false)?;
    /// assert_eq!(x.to_vec::<bool>()?, [true, false, true]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn isin(&self, test_elements: &Tensor, invert: bool) -> Result<Tensor> = isin {
        samples: isin_samples,
        python: function::isin(self as elements, test_elements, +assume_unique: bool = false, invert = false)
    };
}

fn check_ordered(op: &str, tensors: &[&Tensor]) -> Result<()> {
    match tensors.iter().find(|t| t.dtype() == DType::Bool || t.dtype().is_complex()) {
        Some(t) => bail!(Dtype, "{op}: expected real numbers, got {}", t.ty(); help = "convert with `to_dtype`"),
        None => Ok(()),
    }
}

fn heaviside(x: &Tensor, values: &Tensor) -> Result<Tensor> {
    let op = "heaviside";
    check_ordered(op, &[x, values])?;
    with_common_dtype(x, values, false, |x, values| {
        // The sign is NaN for NaN, and has no derivative.
        let step = x.sign()?.clamp(Some(0.0), None)?;
        x.eq(0)?.where_(values, step).map_err(|e| e.renamed("where_", op))
    })
}

/// [`Tensor::maximum`] or [`Tensor::minimum`], but of what is no NaN.
fn known(op: &str, a: &Tensor, rhs: impl Operand, extreme: fn(&Tensor, &Tensor) -> Result<Tensor>) -> Result<Tensor> {
    rhs.with_operand(op, a.dtype(), |b| {
        check_ordered(op, &[a, b])?;
        with_common_dtype(a, b, false, |a, b| {
            let chosen = extreme(a, b).map_err(|e| e.renamed("maximum", op).renamed("minimum", op))?;
            if !a.dtype().is_float() {
                return Ok(chosen);
            }
            let chosen = b.isnan()?.where_(a, chosen)?;
            a.isnan()?.where_(b, chosen)
        })
    })
}

fn fmax(a: &Tensor, rhs: impl Operand) -> Result<Tensor> {
    known("fmax", a, rhs, |a, b| a.maximum(b))
}

fn fmin(a: &Tensor, rhs: impl Operand) -> Result<Tensor> {
    known("fmin", a, rhs, |a, b| a.minimum(b))
}

fn isin(x: &Tensor, elements: &Tensor, invert: bool) -> Result<Tensor> {
    let elements = elements.reshape_to(&[elements.numel()])?;
    let found = x.unsqueeze(-1)?.eq(&elements).map_err(|e| e.renamed("eq", "isin"))?.any_dims(&[-1], false)?;
    if invert { found.logical_not() } else { Ok(found) }
}

fn heaviside_samples() -> Vec<Sample> {
    let case = |label: &str, x: Tensor, values: &[usize]| {
        Sample::one(label, [x, sample_tensor(values, 0.2, 0.8, 2)], |x| x[0].heaviside(&x[1])).reference(|x| {
            let shape = crate::shape::broadcast(&x[0].shape, &x[1].shape).expect("samples broadcast");
            vec![Naive::from_fn(&shape, |i| match x[0].at_broadcast(i) {
                0.0 => x[1].at_broadcast(i),
                v => f64::from(u8::from(v > 0.0)),
            })]
        })
    };
    vec![
        case("vector", sample_tensor(&[4], -1.0, 1.0, 1), &[]),
        case("zeros", Tensor::zeros(&[2, 2], DType::F64).expect("it is small"), &[2]).not_differentiable(),
        case("0-d", Tensor::from(2.0), &[]),
        case("empty", sample_tensor(&[0], -1.0, 1.0, 1), &[]),
        Sample::one("NaN", [Tensor::from([f64::NAN])], |x| x[0].heaviside(&Tensor::from(0.5)))
            .reference(|x| {
                let of = |&v: &f64| if v == 0.0 { 0.5 } else { v };
                vec![Naive { shape: vec![1], data: x[0].data.iter().map(of).collect() }]
            })
            .special(),
    ]
}

fn heaviside_errors() -> Vec<ErrorSample> {
    let (x, y) = (sample_tensor(&[2], 0.0, 1.0, 1), sample_tensor(&[3], 0.0, 1.0, 1));
    vec![
        ErrorSample::new("shapes", ErrorKind::Shape, "heaviside: shapes must broadcast", move || x.heaviside(&y)),
        ErrorSample::new("dtype", ErrorKind::Dtype, "heaviside: expected real numbers, got bool[]", || {
            Tensor::from(true).heaviside(&Tensor::from(1.0))
        }),
    ]
}

fn heaviside_kinks() -> Vec<Kink> {
    vec![
        Kink::new("at 0", Tensor::from([0.0, 1.0]), [0.0, 0.0], |x| x.heaviside(&Tensor::from(0.5))),
        Kink::new("by values", Tensor::from([0.5, 0.5]), [1.0, 0.0], |v| Tensor::from([0.0, 2.0]).heaviside(v)),
    ]
}

/// Samples beside NaN.
fn beside_nan(call: fn(&Tensor, &Tensor) -> Result<Tensor>) -> Sample {
    let inputs = [Tensor::from([f64::NAN, 2.0, f64::NAN]), Tensor::from([1.0, f64::NAN, f64::NAN])];
    Sample::one("NaN", inputs, move |x| call(&x[0], &x[1]))
        .reference(|_| vec![Naive { shape: vec![3], data: vec![1.0, 2.0, f64::NAN] }])
        .special()
}

fn fmax_samples() -> Vec<Sample> {
    let mut all = binary_samples((-2.0, 2.0), |a, b| a.fmax(b), f64::max);
    all.push(beside_nan(|a, b| a.fmax(b)));
    all
}

fn fmin_samples() -> Vec<Sample> {
    let mut all = binary_samples((-2.0, 2.0), |a, b| a.fmin(b), f64::min);
    all.push(beside_nan(|a, b| a.fmin(b)));
    all
}

fn fmax_kinks() -> Vec<Kink> {
    vec![Kink::new("tie", Tensor::from([0.0, 1.0, 2.0]), [0.0, 0.5, 1.0], |x| x.fmax(1.0))]
}

fn fmin_kinks() -> Vec<Kink> {
    vec![Kink::new("tie", Tensor::from([0.0, 1.0, 2.0]), [1.0, 0.5, 0.0], |x| x.fmin(1.0))]
}

fn isin_samples() -> Vec<Sample> {
    let case = |label: &str, x: Tensor, elements: Tensor, invert: bool| {
        Sample::one(label, [x, elements], move |x| x[0].isin(&x[1], invert))
            .reference(move |x| {
                let of = |v: &f64| f64::from(u8::from(x[1].data.contains(v) != invert));
                vec![Naive { shape: x[0].shape.clone(), data: x[0].data.iter().map(of).collect() }]
            })
            .not_differentiable()
            .fixed_dtype()
    };
    let x = || Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    vec![
        case("matrix", x(), Tensor::from([4.0, 1.0, 7.0]), false),
        case("inverted", x(), Tensor::from([[4.0], [1.0]]), true),
        case("0-d", Tensor::from(2.0), Tensor::from(2.0), false),
        case("of nothing", x(), sample_tensor(&[0], 0.0, 1.0, 1), false),
    ]
}
