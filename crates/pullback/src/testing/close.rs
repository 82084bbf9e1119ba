//! Comparing tensors and trees of tensors.

use std::fmt;

use crate::error::bail;
use crate::tree::leaves;
use crate::{Complex64, DType, Error, Result, Tensor, Tree};

/// Why a property does not hold.
#[derive(Debug)]
pub(super) struct Failure(pub(super) String);

/// What a check comes to.
pub(super) type Outcome = std::result::Result<(), Failure>;

impl From<Error> for Failure {
    fn from(e: Error) -> Failure {
        Failure(format!("{e} (error of kind {:?})", e.kind()))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Puts a place in front of a failure.
pub(super) trait At<T> {
    fn at(self, place: impl fmt::Display) -> std::result::Result<T, Failure>;
}

impl<T, E: Into<Failure>> At<T> for std::result::Result<T, E> {
    fn at(self, place: impl fmt::Display) -> std::result::Result<T, Failure> {
        self.map_err(|e| Failure(format!("{place}: {}", e.into())))
    }
}

/// Returns a [`Failure`] with a formatted text.
macro_rules! fail {
    ($($arg:tt)*) => { return Err($crate::testing::close::Failure(format!($($arg)*))) };
}
pub(super) use fail;

/// The elements of a tensor of any dtype as f64; of complex numbers, both parts.
pub(super) fn values(t: &Tensor) -> Result<Vec<f64>> {
    if t.dtype().is_complex() {
        let all = t.to_dtype(DType::C128)?.to_vec::<Complex64>()?;
        return Ok(all.into_iter().flat_map(|z| [z.re, z.im]).collect());
    }
    t.to_dtype(DType::F64)?.to_vec::<f64>()
}

/// The largest absolute value among finite elements.
pub(super) fn magnitude(values: &[f64]) -> f64 {
    values.iter().filter(|v| v.is_finite()).fold(0.0, |m, v| v.abs().max(m))
}

/// How far `a` is from `b`, relative to `scale`; equal infinities, and two NaNs, do not differ.
pub(super) fn distance(a: f64, b: f64, scale: f64) -> f64 {
    if a == b || (a.is_nan() && b.is_nan()) {
        return 0.0;
    }
    let d = (a - b).abs() / scale;
    if d.is_nan() { f64::INFINITY } else { d }
}

/// True if an error is larger than allowed, or NaN.
pub(super) fn exceeds(error: f64, tolerance: f64) -> bool {
    error.is_nan() || tolerance.is_nan() || error > tolerance
}

/// The largest difference between elements of two tensors of one type, relative to the larger of 1 and the size of
/// the elements of `b`.
fn tensor_error(a: &Tensor, b: &Tensor) -> Result<f64> {
    let (x, y) = (values(a)?, values(b)?);
    let scale = magnitude(&y).max(1.0);
    Ok(x.iter().zip(&y).fold(0.0, |m, (x, y)| distance(*x, *y, scale).max(m)))
}

/// The largest difference between corresponding elements of two trees, each tensor relative to the larger of 1 and
/// its largest element in `b`. Two NaNs are equal, and so are equal infinities.
///
/// # Errors
/// `Arity`, `Shape` or `Dtype` if the trees are not alike; `ConcreteValueNeeded` for batched values.
///
/// ```
/// use pullback::{Tensor, testing::max_error};
/// let (a, b) = (Tensor::from([1.0, 200.0]), Tensor::from([1.0, 202.0]));
/// assert!((max_error(&a, &b)? - 2.0 / 202.0).abs() < 1e-15);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn max_error<T: Tree>(a: &T, b: &T) -> Result<f64> {
    let (x, y) = (leaves(a), leaves(b));
    if x.len() != y.len() {
        bail!(Arity, "max_error: expected trees alike, got {} tensors and {}", x.len(), y.len());
    }
    let mut worst = 0.0f64;
    for (k, (x, y)) in x.into_iter().zip(y).enumerate() {
        if x.shape() != y.shape() {
            bail!(Shape, "max_error: expected tensors alike, got {} and {} at position {k}", x.ty(), y.ty());
        }
        if x.dtype() != y.dtype() {
            bail!(Dtype, "max_error: expected tensors alike, got {} and {} at position {k}", x.ty(), y.ty());
        }
        worst = worst.max(tensor_error(x, y)?);
    }
    Ok(worst)
}

/// Panics unless [`max_error`] of two trees is at most `tolerance`.
///
/// # Panics
/// If the trees differ by more, or in structure, shapes or dtypes.
///
/// ```
/// use pullback::{Tensor, testing::assert_close};
/// assert_close(&Tensor::from(0.1 + 0.2), &Tensor::from(0.3), 1e-15);
/// ```
#[track_caller]
pub fn assert_close<T: Tree>(a: &T, b: &T, tolerance: f64) {
    match max_error(a, b) {
        Ok(error) if error <= tolerance => {}
        Ok(error) => {
            let show = |t: &T| leaves(t).iter().map(|t| describe(t)).collect::<Vec<_>>().join(", ");
            panic!("values differ by {error:.3e}, which is more than {tolerance:.1e}: {} and {}", show(a), show(b))
        }
        Err(e) => panic!("{e}"),
    }
}

/// The type of a tensor and its first elements.
pub(super) fn describe(t: &Tensor) -> String {
    match values(t) {
        Ok(v) => {
            let shown: Vec<String> = v.iter().take(8).map(|x| format!("{x}")).collect();
            let dots = if v.len() > 8 { ", …" } else { "" };
            format!("{} [{}{dots}]", t.ty(), shown.join(", "))
        }
        Err(_) => t.ty().to_string(),
    }
}

/// Fails unless two tensors have one type and agree up to `tolerance`; `names` says what they are.
pub(super) fn same(got: &Tensor, want: &Tensor, tolerance: f64, names: [&str; 2]) -> Outcome {
    if got.ty() != want.ty() {
        fail!("{} is {}, but {} is {}", names[0], got.ty(), names[1], want.ty());
    }
    let error = tensor_error(got, want)?;
    if exceeds(error, tolerance) {
        fail!("{} is {}, but {} is {} (error {error:.2e})", names[0], describe(got), names[1], describe(want));
    }
    Ok(())
}

/// [`same`] for lists.
pub(super) fn all_same(got: &[Tensor], want: &[Tensor], tolerance: f64, names: [&str; 2]) -> Outcome {
    if got.len() != want.len() {
        fail!("{} has {} tensors, but {} has {}", names[0], got.len(), names[1], want.len());
    }
    for (k, (g, w)) in got.iter().zip(want).enumerate() {
        same(g, w, tolerance, names).at(format_args!("tensor {k}"))?;
    }
    Ok(())
}

/// The inner product of two lists of tensors, computed outside the library, and the sum of the sizes of its terms.
pub(super) fn inner(a: &[Tensor], b: &[Tensor]) -> Result<(f64, f64)> {
    let (mut sum, mut size) = (0.0, 0.0);
    for (x, y) in a.iter().zip(b) {
        for (x, y) in values(x)?.iter().zip(values(y)?) {
            sum += x * y;
            size += (x * y).abs();
        }
    }
    Ok((sum, size))
}
