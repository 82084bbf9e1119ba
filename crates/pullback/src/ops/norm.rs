//! Norms of vectors.

use super::extremes::extreme_of;
use super::family::linear;
use super::moments::over_or_zero;
use super::reduce::{Sum, dims_errors, to_float};
use super::reduction::{Over, Reduce, naive_reduce, reduction};
use super::table::{ErrorSample, Kink, Naive, Sample, ops, sample_tensor};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::bail;
use crate::kernels::math::Float;
use crate::kernels::reduce;
use crate::{DType, ErrorKind, Result, Tensor};

ops! { OPS;
    /// The `p`-norm of all elements as one vector, a 0-d tensor: `(Σ |x|^p)^(1/p)`.
    ///
    /// With `p` of 0 it is the number of elements that are not zero, with ∞ the largest magnitude, and with -∞ the
    /// smallest. Squares that would overflow or vanish are scaled first.
    ///
    /// # Shapes
    /// The norm of no elements is 0 for `p` from 0 up to, but not including, ∞.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`. The norm of complex numbers is that of their magnitudes.
    ///
    /// # Derivative
    /// `sign(x) (|x| / norm)^(p - 1)`; for `p` of 0 there is none, and for ∞ and -∞ the cotangent goes to the largest
    /// or smallest magnitude, which those that tie share equally.
    ///
    /// Where the norm is 0, and for elements of 0 where `|x|^p` has a kink, it is 0, the value that the symmetry of the
    /// kink singles out, and so are the higher ones. For the square of a norm that may be 0 use
    /// `x.square()?.sum()?`, which is smooth: the second derivative of `x.norm(2.0)?.square()?` at 0 is 0 by this
    /// convention, and not 2. Where the norm is infinite, an infinite element has the derivative that it would have alone, 1 or -1 for
    /// `p` above 1, and others have 0.
    ///
    /// # Errors
    /// `Value` if `p` is NaN; `Shape` if there are no elements and `p` is negative or infinite.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, grad};
    /// let x = Tensor::from([3.0, -4.0]);
    /// assert_eq!(x.norm(2.0)?.item::<f64>()?, 5.0);
    /// assert_eq!(x.norm(1.0)?.item::<f64>()?, 7.0);
    /// assert_eq!(x.norm(f64::INFINITY)?.item::<f64>()?, 4.0);
    /// assert_eq!(grad(|x: &Tensor| x.norm(2.0))(&Tensor::from([0.0, 0.0]))?.to_vec::<f64>()?, [0.0, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// Values and first derivatives are those of PyTorch's `linalg.vector_norm`.
    fn norm(&self, p: f64) -> Result<Tensor> = norm_all {
        samples: norm_samples, errors: norm_errors, kinks: norm_kinks,
        python: norm(p = 2.0)
    };

    /// The `p`-norms of the vectors along `dims`, all dimensions if the list is empty; see [`norm`](Tensor::norm).
    ///
    /// # Shapes
    /// The dimensions are removed, or kept with size 1 if `keepdim`. The norm of no elements is 0 for `p` from 0 up to,
    /// but not including, ∞.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// As that of [`norm`](Tensor::norm).
    ///
    /// # Errors
    /// `Dim` if a dimension is out of range or given twice; `Value` if `p` is NaN; `Shape` if a dimension is empty and
    /// `p` is negative or infinite.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[3.0, -4.0], [0.0, 2.0]]);
    /// assert_eq!(x.norm_dims(2.0, &[1], false)?.to_vec::<f64>()?, [5.0, 2.0]);
    /// assert_eq!(x.norm_dims(0.0, &[1], true)?.to_vec::<f64>()?, [2.0, 1.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn norm_dims(&self, p: f64, dims: &[isize], keepdim: bool) -> Result<Tensor> = norm_dims {
        samples: norm_dims_samples, errors: norm_dims_errors, kinks: norm_dims_kinks,
        python: norm(p = 2.0, dims = [], keepdim, dtype),
        python: linalg::vector_norm(p as ord = 2.0, dims = [], keepdim, dtype)
    };
}

/// The norm for a `p` that is finite and not 0.
#[derive(Clone)]
struct Norm {
    p: f64,
}

// The kernel is made of operations on values that nobody traces, for which no other loops need be compiled.
impl Norm {
    fn sum(x: &Tensor, over: &Over) -> Result<Tensor> {
        Ok(reduce::sum(x.concrete(), &over.dims)?.into())
    }

    fn plain(&self, x: &Tensor, over: &Over) -> Result<Tensor> {
        match self.p {
            1.0 => Self::sum(&x.abs()?, over),
            2.0 => Tensor::from(reduce::sum_of_squares(x.concrete(), &over.dims)?).sqrt(),
            p => Self::sum(&x.abs()?.powf(p)?, over)?.powf(1.0 / p),
        }
    }

    /// In units of the magnitude that counts most, where that is neither 0 nor infinite.
    fn scaled(&self, x: &Tensor, over: &Over) -> Result<Tensor> {
        let most = if self.p < 0.0 { reduce::min } else { reduce::max };
        let size = Tensor::from(most(x.abs()?.concrete(), &over.dims)?);
        let unit = unit_of(size)?;
        self.plain(&x.div(unit.reshape_to(&over.kept(x.shape()))?)?, over)?.mul(unit)
    }
}

/// The sizes, and 1 for those that nothing can be measured in.
pub(super) fn unit_of(size: Tensor) -> Result<Tensor> {
    size.gt(0)?.logical_and(size.isfinite()?)?.where_(&size, 1)
}

/// Whether the sum of powers behind a norm has overflowed, vanished, or lost digits on the way there, unless it is that of elements
/// which are all infinite or 0.
pub(super) fn out_of_range<T: Float>(y: &Array, p: f64) -> bool {
    let (least, step) = match T::DTYPE {
        DType::F32 => (f64::from(f32::MIN_POSITIVE), f64::from(f32::EPSILON)),
        _ => (f64::MIN_POSITIVE, f64::EPSILON),
    };
    // The norm whose sum is the least that all its terms can be compared with.
    let edge = T::from_f64((least / step).powf(1.0 / p));
    let is_out = |y: T| if p < 0.0 { y >= edge || y == T::ZERO } else { y <= edge || y == T::INFINITY };
    y.as_slice::<T>().is_some_and(|y| y.iter().any(|&y| is_out(y)))
}

impl Reduce for Norm {
    const NAME: &'static str = "norm";
    const READS_OUTPUT: bool = true;

    fn kernel(&self, x: &Array, over: &Over) -> Result<Array> {
        let x = Tensor::from(x.clone());
        let mut y = self.plain(&x, over)?;
        let scale = dispatch!(x.dtype(), "norm", float, T => Ok(out_of_range::<T>(y.concrete(), self.p)))?;
        if scale && self.p != 1.0 {
            y = self.scaled(&x, over)?;
        }
        Ok(y.concrete().clone())
    }

    fn weights(&self, x: &Tensor, y: &Tensor, _: &Over) -> Result<Tensor> {
        let p = self.p;
        if p == 1.0 {
            return x.sign();
        }
        let ratio = over_or_zero(x, y)?;
        if p == 2.0 {
            return Ok(ratio);
        }
        // Whole powers are smooth at 0, or have a kink of the sign only. Others are kept from 0, where they have no
        // derivative of some order; so have all but one if the norm is 0.
        if p > 2.0 && p.fract() == 0.0 {
            let power = ratio.powf(p - 1.0)?;
            return if p % 2.0 == 0.0 { Ok(power) } else { power.mul(x.sign()?) };
        }
        let live = ratio.ne(0)?;
        live.where_(live.where_(ratio.abs()?, 1)?.powf(p - 1.0)?.mul(x.sign()?)?, 0)
    }
}

fn norm_over(op: &str, x: &Tensor, p: f64, over: Over) -> Result<Tensor> {
    let x = to_float(x)?;
    if p.is_nan() {
        bail!(Value, "{op}: expected a number p, got NaN for {}", x.ty());
    }
    if x.dtype().is_complex() {
        if p != 2.0 {
            return norm_over(op, &x.abs()?, p, over);
        }
        // Unlike magnitudes, their squares are smooth at 0.
        let parts = reduction(Norm { p }, over.with_last(x.rank()), &x.view_as_real()?)?;
        return parts.reshape_to(&over.result(x.shape()));
    }
    if p < 0.0 || p.is_infinite() {
        over.check_not_empty(op, &x)?;
    }
    match p {
        0.0 => linear(Sum::<false>(over), &x.ne(0)?.to_dtype(x.dtype())?),
        f64::INFINITY => extreme_of::<true>(op, &x.abs()?, over),
        f64::NEG_INFINITY => extreme_of::<false>(op, &x.abs()?, over),
        _ => reduction(Norm { p }, over, &x),
    }
}

fn norm_all(x: &Tensor, p: f64) -> Result<Tensor> {
    norm_over("norm", x, p, Over::all(x.rank()))
}

fn norm_dims(x: &Tensor, p: f64, dims: &[isize], keepdim: bool) -> Result<Tensor> {
    norm_over("norm_dims", x, p, Over::new("norm_dims", x, dims, keepdim)?)
}

/// The norm in units of the largest magnitude, so that nothing overflows.
fn naive_norm(x: &[f64], p: f64) -> f64 {
    let sizes = || x.iter().map(|v| v.abs());
    if p == 0.0 {
        return sizes().filter(|&v| v > 0.0).count() as f64;
    }
    let largest = sizes().fold(0.0, f64::max);
    if p == f64::INFINITY || largest == 0.0 {
        return largest;
    }
    if p == f64::NEG_INFINITY {
        return sizes().fold(f64::INFINITY, f64::min);
    }
    largest * sizes().map(|v| (v / largest).powf(p)).sum::<f64>().powf(1.0 / p)
}

/// Elements of both signs, clear of 0.
fn signed(shape: &[usize]) -> Tensor {
    let sizes = sample_tensor(shape, 0.4, 1.5, 1).to_vec::<f64>().expect("samples are concrete");
    let values: Vec<f64> = sizes.iter().enumerate().map(|(k, v)| if k % 3 == 1 { -v } else { *v }).collect();
    Tensor::from(values).reshape_to(shape).expect("the number of values is that of the shape")
}

const POWERS: [f64; 10] = [2.0, 1.0, 0.0, 3.0, 4.0, 2.5, 0.5, -1.0, f64::INFINITY, f64::NEG_INFINITY];

fn norm_samples() -> Vec<Sample> {
    let case = |p: f64, shape: &[usize]| {
        Sample::one(format!("p {p} of {shape:?}"), [signed(shape)], move |x| x[0].norm(p))
            .reference(move |x| vec![Naive { shape: vec![], data: vec![naive_norm(&x[0].data, p)] }])
    };
    let mut samples: Vec<Sample> = POWERS.iter().map(|&p| case(p, &[2, 3])).collect();
    samples.extend([case(2.0, &[]), case(3.0, &[]), case(2.0, &[0, 2]), case(0.0, &[0]), case(2.0, &[5])]);
    for values in [[3e200, -4e200], [3e-200, -4e-200], [1.0, f64::INFINITY], [f64::NAN, 1.0]] {
        samples.push(
            Sample::one(format!("{values:?}"), [Tensor::from(values)], |x| x[0].norm(2.0))
                .reference(|x| vec![Naive { shape: vec![], data: vec![x[0].data[0].hypot(x[0].data[1])] }])
                .special(),
        );
    }
    samples
}

fn norm_dims_samples() -> Vec<Sample> {
    let case = |p: f64, shape: &[usize], dims: &'static [isize], resolved: &'static [usize], keepdim: bool| {
        Sample::one(format!("p {p}, {dims:?} of {shape:?}"), [signed(shape)], move |x| x[0].norm_dims(p, dims, keepdim))
            .reference(move |x| vec![naive_reduce(&x[0], resolved, keepdim, |x| naive_norm(x, p))])
    };
    let mut samples: Vec<Sample> = POWERS.iter().map(|&p| case(p, &[2, 3, 2], &[1], &[1], false)).collect();
    for p in [2.0, 3.0, 2.5, f64::INFINITY] {
        samples.extend([
            case(p, &[2, 3, 2], &[-1, 0], &[0, 2], true),
            case(p, &[2, 3], &[], &[0, 1], true),
            case(p, &[], &[], &[], false),
            case(p, &[0, 2], &[1], &[1], false),
        ]);
    }
    samples.push(case(2.0, &[2, 0], &[1], &[1], false));
    samples
}

fn norm_errors() -> Vec<ErrorSample> {
    let (x, y) = (sample_tensor(&[2], 0.0, 1.0, 1), sample_tensor(&[2, 0], 0.0, 1.0, 1));
    let z = y.clone();
    vec![
        ErrorSample::new("p", ErrorKind::Value, "norm: expected a number p, got NaN for f64[2]", move || {
            x.norm(f64::NAN)
        }),
        ErrorSample::new("empty", ErrorKind::Shape, "norm: expected at least one element along dim 1", move || {
            y.norm(f64::INFINITY)
        }),
        ErrorSample::new("negative", ErrorKind::Shape, "norm: expected at least one element along dim 1", move || {
            z.norm(-1.0)
        }),
    ]
}

fn norm_dims_errors() -> Vec<ErrorSample> {
    let y = sample_tensor(&[2, 0], 0.0, 1.0, 1);
    let mut errors = dims_errors(|x, dims, keepdim| x.norm_dims(2.0, dims, keepdim));
    errors.push(ErrorSample::new("empty", ErrorKind::Shape, "norm_dims: expected at least one element", move || {
        y.norm_dims(f64::NEG_INFINITY, &[1], false)
    }));
    errors
}

fn norm_kinks() -> Vec<Kink> {
    let mut kinks = Vec::new();
    for p in POWERS {
        kinks.push(Kink::new(format!("p {p} of zeros"), Tensor::from([0.0, 0.0]), [0.0; 2], move |x| x.norm(p)));
    }
    for p in [1.0, 0.5, 2.5, 3.0] {
        kinks.push(Kink::new(format!("p {p} beside a zero"), Tensor::from([0.0, -2.0]), [0.0, -1.0], move |x| {
            x.norm(p)
        }));
    }
    kinks.push(Kink::new("a norm of 0 for a negative p", Tensor::from([0.0, -2.0]), [0.0; 2], |x| x.norm(-1.0)));
    for p in [f64::INFINITY, f64::NEG_INFINITY] {
        kinks.push(Kink::new(format!("p {p}, ties"), Tensor::from([2.0, -2.0]), [0.5, -0.5], move |x| x.norm(p)));
    }
    kinks
}

fn norm_dims_kinks() -> Vec<Kink> {
    let rows = || Tensor::from([[0.0, 0.0], [3.0, -4.0]]);
    vec![Kink::new("a row of zeros", rows(), [0.0, 0.0, 0.6, -0.8], |x| x.norm_dims(2.0, &[1], false))]
}
