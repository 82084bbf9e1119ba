//! Whether tensors are equal, or nearly so.

use super::index::masks::of_unknown_size;
use super::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::dtype::any_dtype;
use crate::error::bail;
use crate::kernels::copy;
use crate::shape::broadcast;
use crate::{DType, ErrorKind, Result, Tensor};

ops! { OPS;
    /// True where `|x - y| <= atol + rtol·|y|`; infinities are close to themselves, NaN to nothing unless `equal_nan`.
    ///
    /// The comparison is made in `f64`, whatever the dtypes, and that of complex numbers by their distance.
    ///
    /// # Shapes
    /// Both tensors broadcast against each other.
    ///
    /// # Dtypes
    /// All; the result is bool.
    ///
    /// # Derivative
    /// None: the result is discrete.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; `Value` for a tolerance that is negative or NaN.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (x, y) = (Tensor::from([1.0, 2.0]), Tensor::from([1.0, 2.1]));
    /// assert_eq!(x.isclose(&y, 1e-5, 1e-8, false)?.to_vec::<bool>()?, [true, false]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn isclose(&self, other: &Tensor, rtol: f64, atol: f64, equal_nan: bool) -> Result<Tensor> = isclose {
        samples: isclose_samples, errors: isclose_errors,
        python: isclose(other, rtol = 1e-5, atol = 1e-8, equal_nan = false)
    };

    /// Whether [`isclose`](Tensor::isclose) holds for all elements.
    ///
    /// Inside `grad`, `jvp` and their relatives it compares the values.
    ///
    /// # Shapes
    /// Both tensors broadcast against each other, unlike those of [`allclose`](Tensor::allclose).
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; `Value` for a tolerance that is negative or NaN; `ConcreteValueNeeded` as
    /// [`to_vec`](Tensor::to_vec).
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([1.0, f64::NAN]);
    /// assert!(x.allclose_with(&x, 0.0, 0.0, true)?);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn allclose_with(&self, other: &Tensor, rtol: f64, atol: f64, equal_nan: bool) -> Result<bool> = allclose {
        samples: allclose_samples, errors: allclose_errors,
        python: allclose(other, rtol = 1e-5, atol = 1e-8, equal_nan = false)
    };

    /// Whether both tensors have the same dtype, shape and elements; NaN equals nothing.
    ///
    /// Inside `grad`, `jvp` and their relatives it compares the values.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Errors
    /// `ConcreteValueNeeded` as [`to_vec`](Tensor::to_vec).
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([1, 2]);
    /// assert!(x.equal(&Tensor::from([1, 2]))?);
    /// assert!(!x.equal(&Tensor::from([1i64, 2]))?);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn equal(&self, other: &Tensor) -> Result<bool> = equal { samples: equal_samples };
}

/// [`Tensor::isclose`] on behalf of an operation.
fn close(op: &str, a: &Tensor, b: &Tensor, rtol: f64, atol: f64, equal_nan: bool) -> Result<Tensor> {
    for (name, tolerance) in [("rtol", rtol), ("atol", atol)] {
        if tolerance.is_nan() || tolerance < 0.0 {
            bail!(Value, "{op}: expected `{name}` of at least 0, got {tolerance}");
        }
    }
    if broadcast(a.shape(), b.shape()).is_none() {
        bail!(Shape, "{op}: shapes must broadcast, got {} and {}", a.ty(), b.ty());
    }
    if a.dtype().is_int() && b.dtype().is_int() {
        // Floats do not tell large integers apart, but their differences.
        let (a, b) = (a.to_dtype(DType::I64)?, b.to_dtype(DType::I64)?);
        let apart = a.maximum(&b)?.sub(a.minimum(&b)?)?;
        let overflown = apart.lt(0)?;
        let tolerance = b.to_dtype(DType::F64)?.abs()?.mul(rtol)?.add(atol)?;
        let apart = overflown
            .where_(a.to_dtype(DType::F64)?.sub(b.to_dtype(DType::F64)?)?.abs()?, apart.to_dtype(DType::F64)?)?;
        return a.eq(&b)?.logical_or(apart.le(&tolerance)?);
    }
    let dtype = if a.dtype().is_complex() || b.dtype().is_complex() { DType::C128 } else { DType::F64 };
    let (a, b) = (a.detach()?.to_dtype(dtype)?, b.detach()?.to_dtype(dtype)?);
    let near = a.sub(&b)?.abs()?.le(b.abs()?.mul(rtol)?.add(atol)?)?;
    // An infinity is as far from everything else as the tolerance that it would get.
    let mut close = a.eq(&b)?.logical_or(near.logical_and(b.isfinite()?)?)?;
    if equal_nan {
        close = close.logical_or(a.isnan()?.logical_and(b.isnan()?)?)?;
    }
    Ok(close)
}

fn isclose(a: &Tensor, b: &Tensor, rtol: f64, atol: f64, equal_nan: bool) -> Result<Tensor> {
    close("isclose", a, b, rtol, atol, equal_nan)
}

fn allclose(a: &Tensor, b: &Tensor, rtol: f64, atol: f64, equal_nan: bool) -> Result<bool> {
    let all = close("allclose", a, b, rtol, atol, equal_nan)?.all()?;
    Ok(all.data("allclose")?.first::<bool>())
}

fn equal(a: &Tensor, b: &Tensor) -> Result<bool> {
    let (a, b) = (a.data("equal")?, b.data("equal")?);
    if a.dtype() != b.dtype() || a.shape() != b.shape() {
        return Ok(false);
    }
    let (a, b) = (copy::contiguous(a), copy::contiguous(b));
    Ok(any_dtype!(a.dtype(), T => a.as_slice::<T>() == b.as_slice::<T>()))
}

fn naive_close(a: f64, b: f64, equal_nan: bool) -> bool {
    a == b || (a - b).abs() <= 0.1 + 0.2 * b.abs() && b.is_finite() || equal_nan && a.is_nan() && b.is_nan()
}

fn naive_all(x: &[Naive], equal_nan: bool) -> Naive {
    let shape = broadcast(&x[0].shape, &x[1].shape).expect("samples broadcast");
    Naive::from_fn(&shape, |i| f64::from(u8::from(naive_close(x[0].at_broadcast(i), x[1].at_broadcast(i), equal_nan))))
}

fn pairs() -> Vec<(&'static str, Tensor, Tensor)> {
    vec![
        ("matrix", sample_tensor(&[2, 3], -1.0, 1.0, 1), sample_tensor(&[2, 3], -1.0, 1.0, 2)),
        ("broadcast", sample_tensor(&[2, 1], -1.0, 1.0, 1), sample_tensor(&[4], -1.0, 1.0, 2)),
        ("0-d", Tensor::from(1.0), Tensor::from(1.1)),
        ("empty", sample_tensor(&[0], 0.0, 1.0, 1), sample_tensor(&[0], 0.0, 1.0, 2)),
    ]
}

fn isclose_samples() -> Vec<Sample> {
    let far = [1.0, f64::NAN, f64::INFINITY, f64::INFINITY, 1e300];
    let other = [1.2, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY];
    let finite = pairs().into_iter().map(|(label, a, b)| {
        Sample::one(label, [a, b], |x| x[0].isclose(&x[1], 0.2, 0.1, false))
            .reference(|x| vec![naive_all(x, false)])
            .not_differentiable()
            .fixed_dtype()
    });
    let special = [false, true].map(|equal_nan| {
        let label = format!("special values, equal_nan {equal_nan}");
        Sample::one(label, [Tensor::from(far), Tensor::from(other)], move |x| x[0].isclose(&x[1], 0.2, 0.1, equal_nan))
            .reference(move |x| vec![naive_all(x, equal_nan)])
            .special()
            .fixed_dtype()
    });
    finite.chain(special).collect()
}

fn isclose_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2], 0.0, 1.0, 1);
    let (y, z) = (x.clone(), sample_tensor(&[3], 0.0, 1.0, 1));
    vec![
        ErrorSample::new("tolerance", ErrorKind::Value, "isclose: expected `atol` of at least 0, got -1", move || {
            x.isclose(&x, 0.0, -1.0, false)
        }),
        ErrorSample::new("shapes", ErrorKind::Shape, "shapes must broadcast, got f64[2] and f64[3]", move || {
            y.isclose(&z, 0.0, 0.0, false)
        }),
    ]
}

fn allclose_samples() -> Vec<Sample> {
    let of = |(label, a, b): (&str, Tensor, Tensor)| {
        Sample::one(label, [a, b], |x| close("allclose", &x[0], &x[1], 0.2, 0.1, false)?.all())
            .reference(|x| {
                let all = naive_all(x, false).data.iter().all(|&close| close == 1.0);
                vec![Naive { shape: vec![], data: vec![f64::from(u8::from(all))] }]
            })
            .not_differentiable()
            .fixed_dtype()
    };
    pairs().into_iter().map(of).collect()
}

fn allclose_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2], 0.0, 1.0, 1);
    vec![ErrorSample::new("lanes", ErrorKind::ConcreteValueNeeded, "allclose: the value is batched", move || {
        crate::vmap(|x: &Tensor| Ok(Tensor::from(x.allclose_with(x, 0.0, 0.0, false)?)))(&x)
    })]
}

fn equal_samples() -> Vec<Sample> {
    let of = |(label, a, b): (&str, Tensor, Tensor)| {
        let sample = Sample::one(label, [a, b], |x| Ok(Tensor::from(x[0].equal(&x[1])?)))
            .reference(|x| vec![Naive { shape: vec![], data: vec![f64::from(u8::from(x[0] == x[1]))] }])
            .not_differentiable()
            .fixed_dtype();
        of_unknown_size(sample)
    };
    let same = sample_tensor(&[2, 3], -1.0, 1.0, 1);
    pairs().into_iter().chain([("the same", same.clone(), same)]).map(of).collect()
}
