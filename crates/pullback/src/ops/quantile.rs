//! Quantiles.

use super::family::{Unary, unary};
use super::median::{filled_dim, flat};
use super::reduce::to_float;
use super::reduction::naive_reduce;
use super::table::{ErrorSample, Kink, Naive, Sample, ops, sample_tensor};
use crate::array::Array;
use crate::error::bail;
use crate::kernels::{cast, copy};
use crate::shape::with_dim;
use crate::tensor::Operand;
use crate::{DType, ErrorKind, Result, Tensor};

/// What a quantile is that lies between two elements.
///
/// ```
/// use pullback::{Interpolation, Tensor};
/// let x = Tensor::from([0.0, 10.0]);
/// assert_eq!(x.quantile(0.25, 0, false, Interpolation::Linear)?.item::<f64>()?, 2.5);
/// assert_eq!(x.quantile(0.25, 0, false, Interpolation::Higher)?.item::<f64>()?, 10.0);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Interpolation {
    /// On the line between both.
    #[default]
    Linear,
    /// The smaller one.
    Lower,
    /// The larger one.
    Higher,
    /// The mean of both.
    Midpoint,
    /// The nearer one; half way, that of even rank.
    Nearest,
}

ops! { OPS;
    /// The quantiles `q` of the elements along `dim`, or for `None` of all elements; NaN where there is one.
    ///
    /// Quantile `q` of `n` elements in order is the one of rank `q (n - 1)`, counted from 0; `interpolation` says what lies
    /// between two ranks.
    ///
    /// # Shapes
    /// `q` is a number, a 0-d tensor or a vector. The dimension is removed, or kept with size 1 if `keepdim`; for `None` all
    /// are. For a vector there is one more dimension in front, for its elements.
    ///
    /// # Dtypes
    /// Floats, which stay what they are; integers and bools become `f32`. Ranks are computed in `f64`.
    ///
    /// # Derivative
    /// By the elements: their weight in the result; of those that tie, a stable [`sort`](Tensor::sort) says which come
    /// first. By `q`, for [`Interpolation::Linear`]: `n - 1` times the difference of the two elements, and 0 where one
    /// element is the result.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Shape` if there is no element to choose from, or `q` is a matrix; `Value` if
    /// `q` is outside of 0 to 1.
    ///
    /// # Example
    /// ```
    /// use pullback::{Interpolation, Tensor};
    /// let x = Tensor::from([[1.0, 4.0, 2.0], [0.0, 1.0, 5.0]]);
    /// assert_eq!(x.quantile(0.5, 1, false, Interpolation::Linear)?.to_vec::<f64>()?, [2.0, 1.0]);
    /// let y = x.quantile(&Tensor::from([0.25, 1.0]), 1, false, Interpolation::Linear)?;
    /// assert_eq!(y.shape(), [2, 2]);
    /// assert_eq!(y.to_vec::<f64>()?, [1.5, 0.5, 4.0, 5.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// The modes of interpolation are those of PyTorch and NumPy.
    fn quantile(
        &self,
        q: impl Operand,
        dim: impl Into<Option<isize>>,
        keepdim: bool,
        interpolation: Interpolation,
    ) -> Result<Tensor> = quantile { samples: quantile_samples, errors: quantile_errors, kinks: quantile_kinks };

    /// The [`quantile`](Tensor::quantile)s of the elements that are not NaN; NaN where all are.
    ///
    /// # Shapes
    /// As those of [`quantile`](Tensor::quantile).
    ///
    /// # Dtypes
    /// Floats, which stay what they are; integers and bools become `f32`. Ranks are computed in `f64`.
    ///
    /// # Derivative
    /// As that of [`quantile`](Tensor::quantile), and 0 for elements that are NaN.
    ///
    /// # Errors
    /// As those of [`quantile`](Tensor::quantile).
    ///
    /// # Example
    /// ```
    /// use pullback::{Interpolation, Tensor};
    /// let x = Tensor::from([[1.0, f64::NAN, 2.0], [0.0, 1.0, 5.0]]);
    /// assert_eq!(x.nanquantile(0.5, 1, false, Interpolation::Linear)?.to_vec::<f64>()?, [1.5, 1.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn nanquantile(
        &self,
        q: impl Operand,
        dim: impl Into<Option<isize>>,
        keepdim: bool,
        interpolation: Interpolation,
    ) -> Result<Tensor> = nanquantile { samples: nanquantile_samples, errors: nanquantile_errors, kinks: nanquantile_kinks };
}

/// The quantiles that were asked for, in `f64`, if they are some.
struct Fractions;

impl Unary for Fractions {
    const NAME: &'static str = "quantile";
    const READS_INPUT: bool = false;
    fn kernel(q: &Array) -> Result<Array> {
        let q = cast::cast(q, DType::F64);
        let values = copy::contiguous(&q);
        if let Some(wrong) = values.as_slice::<f64>().into_iter().flatten().find(|q| !(0.0..=1.0).contains(*q)) {
            bail!(Value, "quantile: expected quantiles from 0 to 1, got {wrong}");
        }
        Ok(q)
    }
    fn derivative(d: &Tensor, _: &Tensor, _: &Tensor) -> Result<Tensor> {
        Ok(d.clone())
    }
}

struct Quantile {
    op: &'static str,
    keepdim: bool,
    interpolation: Interpolation,
    skip_nan: bool,
}

impl Quantile {
    fn of(&self, x: &Tensor, q: impl Operand, dim: Option<isize>) -> Result<Tensor> {
        let op = self.op;
        let q = match q.as_scalar() {
            Some(number) => Tensor::full(&[], number, DType::F64)?,
            None => q.into_operand(op, x.dtype())?.to_dtype(DType::F64)?,
        };
        if q.rank() > 1 {
            bail!(Shape, "{op}: expected a number or a vector of quantiles, got {}", q.ty());
        }
        let x = to_float(x)?;
        let (along, dim) = match dim {
            Some(dim) => (x.clone(), filled_dim(op, &x, dim)?),
            None => (flat(op, &x)?, 0),
        };
        let sorted = along.sort(dim as isize, false)?.0.movedim(&[dim as isize], &[-1])?;
        // The quantiles lie along the last dim, as the elements do.
        let found = self.of_sorted(&sorted, &unary::<Fractions>(&q)?.reshape_to(&[q.numel()])?)?;
        let mut shape = match self.keepdim {
            true if along.rank() == x.rank() => with_dim(&sorted.shape()[..sorted.rank() - 1], dim, 1),
            true => x.shape().iter().map(|_| 1).collect(),
            false => sorted.shape()[..sorted.rank() - 1].into(),
        };
        if q.rank() == 1 {
            shape.insert(0, q.numel());
        }
        found.movedim(&[-1], &[0])?.reshape_to(&shape)
    }

    fn of_sorted(&self, sorted: &Tensor, q: &Tensor) -> Result<Tensor> {
        let last = sorted.shape()[sorted.rank() - 1] as i64 - 1;
        // NaN is sorted last.
        let rank = if self.skip_nan {
            q.mul(sorted.eq(sorted)?.sum_dims(&[-1], true)?.sub(1)?.maximum(0)?)?
        } else {
            q.mul(last)?
        };
        let hole = if self.skip_nan { None } else { Some(sorted.narrow(-1, last as isize, 1)?.isnan()?) };
        let at = |rank: Tensor| {
            let mut place = rank.to_dtype(DType::I64)?;
            if let Some(hole) = &hole {
                place = hole.where_(last, place)?;
            }
            sorted.take_along_dim(&place, -1)
        };
        let below = || at(rank.floor()?);
        let above = || at(rank.ceil()?);
        let weight = match self.interpolation {
            Interpolation::Lower => return below(),
            Interpolation::Higher => return above(),
            Interpolation::Nearest => return at(rank.round()?),
            Interpolation::Midpoint => Tensor::full(&[], 0.5, sorted.dtype())?,
            Interpolation::Linear => rank.sub(rank.floor()?)?.to_dtype(sorted.dtype())?,
        };
        let (below, above) = (below()?, above()?);
        // Infinite ones have no difference.
        let alike = below.eq(&above)?.logical_and(below.isinf()?)?;
        below.add(alike.where_(0, above.sub(&below)?)?.mul(weight)?)
    }
}

fn quantile(
    x: &Tensor,
    q: impl Operand,
    dim: impl Into<Option<isize>>,
    keepdim: bool,
    interpolation: Interpolation,
) -> Result<Tensor> {
    Quantile { op: "quantile", keepdim, interpolation, skip_nan: false }.of(x, q, dim.into())
}

fn nanquantile(
    x: &Tensor,
    q: impl Operand,
    dim: impl Into<Option<isize>>,
    keepdim: bool,
    interpolation: Interpolation,
) -> Result<Tensor> {
    Quantile { op: "nanquantile", keepdim, interpolation, skip_nan: true }.of(x, q, dim.into())
}

/// The quantile of a list by its definition.
fn naive_quantile(x: &[f64], q: f64, interpolation: Interpolation, skip_nan: bool) -> f64 {
    let mut x: Vec<f64> = x.iter().copied().filter(|v| !(skip_nan && v.is_nan())).collect();
    if x.is_empty() || x.iter().any(|v| v.is_nan()) {
        return f64::NAN;
    }
    x.sort_by(f64::total_cmp);
    let rank = q * (x.len() - 1) as f64;
    let (low, high) = (x[rank.floor() as usize], x[rank.ceil() as usize]);
    match interpolation {
        Interpolation::Linear if low == high => low,
        Interpolation::Linear => low * (rank.ceil() - rank) + high * (rank - rank.floor()),
        Interpolation::Lower => low,
        Interpolation::Higher => high,
        Interpolation::Midpoint => (low + high) / 2.0,
        Interpolation::Nearest => x[rank.round_ties_even() as usize],
    }
}

type Call = fn(&Tensor, &Tensor, Option<isize>, bool, Interpolation) -> Result<Tensor>;

/// The naive quantiles along `dim`, or of all elements.
fn naive(x: &Naive, q: &Naive, dim: Option<usize>, keepdim: bool, of: impl Fn(&[f64], f64) -> f64) -> Naive {
    let dims: Vec<usize> = dim.map_or((0..x.shape.len()).collect(), |d| vec![d]);
    let parts: Vec<Naive> = q.data.iter().map(|&q| naive_reduce(x, &dims, keepdim, |x| of(x, q))).collect();
    let mut shape = naive_reduce(x, &dims, keepdim, |_| 0.0).shape;
    if !q.shape.is_empty() {
        shape.insert(0, q.data.len());
    }
    Naive { shape, data: parts.into_iter().flat_map(|p| p.data).collect() }
}

fn samples(call: Call, skip_nan: bool) -> Vec<Sample> {
    use Interpolation::{Higher, Linear, Lower, Midpoint, Nearest};
    let case = |label: &str, x: Tensor, q: Tensor, dim: Option<usize>, keepdim: bool, by: Interpolation| {
        let given = dim.map(|d| d as isize - x.rank() as isize);
        let fixed = q.clone();
        Sample::one(format!("{label}, {by:?}"), [x], move |x| call(&x[0], &fixed, given, keepdim, by)).reference(
            move |x| {
                let q = Naive::of(&q).expect("samples are concrete");
                vec![naive(&x[0], &q, dim, keepdim, |x, q| naive_quantile(x, q, by, skip_nan))]
            },
        )
    };
    let x = |shape: &[usize]| sample_tensor(shape, -1.0, 1.0, 1);
    let nan = f64::NAN;
    let mut out = Vec::new();
    for by in [Linear, Lower, Higher, Midpoint, Nearest] {
        out.push(case("several", x(&[5]), Tensor::from([0.3, 1.0, 0.0, 0.125, 0.5, 0.9]), Some(0), false, by));
        out.push(case("rows", x(&[2, 4]), Tensor::from(0.3), Some(1), false, by));
    }
    out.extend([
        case("several of a middle dim", x(&[2, 3, 2]), Tensor::from([0.2, 0.7, 0.95]), Some(1), true, Linear),
        case("all", x(&[2, 3]), Tensor::from([0.2, 0.7]), None, false, Linear),
        case("all, keepdim", x(&[2, 3]), Tensor::from(0.6), None, true, Linear),
        case("all of a 0-d tensor", x(&[]), Tensor::from(0.6), None, false, Linear),
        case("one", x(&[2, 1]), Tensor::from([0.1, 0.2]), Some(1), false, Linear),
        case("none", x(&[3]), Tensor::zeros(&[0], DType::F64).expect("a shape"), Some(0), true, Linear),
        case("empty beside", x(&[0, 2]), Tensor::from([0.1, 0.2]), Some(1), false, Linear),
        case("ties", Tensor::from([1.0, 2.0, 1.0, 2.0]), Tensor::from([0.1, 0.4]), Some(0), false, Linear)
            .not_differentiable(),
        case(
            "NaN",
            Tensor::from([[2.0, nan, -1.0, 7.0], [nan, 1.0, nan, 0.0], [nan, nan, nan, nan], [1.0, 2.0, 3.0, 4.0]]),
            Tensor::from([0.2, 1.0]),
            Some(1),
            false,
            Linear,
        )
        .special(),
        case(
            "infinite",
            Tensor::from([f64::INFINITY, 1.0, f64::INFINITY]),
            Tensor::from([0.7, 1.0]),
            Some(0),
            false,
            Linear,
        )
        .special(),
    ]);
    out.push(
        Sample::one("of traced quantiles", [x(&[2, 5]), Tensor::from([0.3, 0.6, 0.9])], move |x| {
            call(&x[0], &x[1], Some(1), false, Linear)
        })
        .reference(move |x| vec![naive(&x[0], &x[1], Some(1), false, |x, q| naive_quantile(x, q, Linear, skip_nan))]),
    );
    out
}

fn errors(call: Call) -> Vec<ErrorSample> {
    let with = move |x: &[usize], q: Tensor, dim: Option<isize>| {
        let x = sample_tensor(x, 0.0, 1.0, 1);
        move || call(&x, &q, dim, false, Interpolation::Linear)
    };
    let half = || Tensor::from(0.5);
    vec![
        ErrorSample::new(
            "dim",
            ErrorKind::Dim,
            "dim 2 is out of range for f64[2,3] (valid: -2..=1)",
            with(&[2, 3], half(), Some(2)),
        ),
        ErrorSample::new(
            "empty dim",
            ErrorKind::Shape,
            "at least one element along dim 1, got f64[2,0]",
            with(&[2, 0], half(), Some(1)),
        ),
        ErrorSample::new(
            "empty",
            ErrorKind::Shape,
            "expected at least one element, got f64[2,0]",
            with(&[2, 0], half(), None),
        ),
        ErrorSample::new(
            "range",
            ErrorKind::Value,
            "quantile: expected quantiles from 0 to 1, got 1.5",
            with(&[3], Tensor::from([0.5, 1.5]), Some(0)),
        ),
        ErrorSample::new(
            "NaN",
            ErrorKind::Value,
            "quantile: expected quantiles from 0 to 1, got NaN",
            with(&[3], Tensor::from(f64::NAN), Some(0)),
        ),
        ErrorSample::new(
            "matrix",
            ErrorKind::Shape,
            "expected a number or a vector of quantiles, got f64[1,2]",
            with(&[3], Tensor::from([[0.5, 0.1]]), Some(0)),
        ),
    ]
}

/// Ties: the first of them come first.
fn kinks(call: Call) -> Vec<Kink> {
    let x = Tensor::from([1.0, 2.0, 1.0]);
    vec![
        Kink::new("ties", x.clone(), [0.5, 0.0, 0.5], move |x| {
            call(x, &Tensor::from(0.25), Some(0), false, Interpolation::Linear)
        }),
        Kink::new("one of the ties", x, [0.0, 0.0, 1.0], move |x| {
            call(x, &Tensor::from(0.5), Some(0), false, Interpolation::Linear)
        }),
        Kink::new("of whole rank, by q", Tensor::from(0.5), [0.0], move |q| {
            call(&Tensor::from([1.0, 2.0, 4.0]), q, Some(0), false, Interpolation::Linear)
        }),
    ]
}

fn quantile_samples() -> Vec<Sample> {
    samples(|x, q, dim, keepdim, by| x.quantile(q, dim, keepdim, by), false)
}

fn quantile_errors() -> Vec<ErrorSample> {
    errors(|x, q, dim, keepdim, by| x.quantile(q, dim, keepdim, by))
}

fn quantile_kinks() -> Vec<Kink> {
    kinks(|x, q, dim, keepdim, by| x.quantile(q, dim, keepdim, by))
}

fn nanquantile_samples() -> Vec<Sample> {
    samples(|x, q, dim, keepdim, by| x.nanquantile(q, dim, keepdim, by), true)
}

fn nanquantile_errors() -> Vec<ErrorSample> {
    errors(|x, q, dim, keepdim, by| x.nanquantile(q, dim, keepdim, by))
}

fn nanquantile_kinks() -> Vec<Kink> {
    let mut kinks = kinks(|x, q, dim, keepdim, by| x.nanquantile(q, dim, keepdim, by));
    kinks.push(Kink::new("NaN", Tensor::from([1.0, f64::NAN, 2.0]), [0.75, 0.0, 0.25], |x| {
        x.nanquantile(0.25, None, false, Interpolation::Linear)
    }));
    kinks
}
