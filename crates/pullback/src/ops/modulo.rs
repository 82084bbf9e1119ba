//! Division with a whole quotient, and its remainders.

use super::arith::{binary_samples, mul_owned, with_common_dtype};
use super::family::{Binary, Operands, Reads, binary};
use super::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::array::Array;
use crate::dtype::{Element, dispatch};
use crate::error::bail;
use crate::kernels::{map, reduce};
use crate::tensor::Operand;
use crate::{DType, ErrorKind, Result, Tensor};

ops! { OPS;
    /// What is left of each element after a division by `divisor` whose quotient is rounded towards zero: it has the
    /// sign of the element. Rust's `%`.
    ///
    /// # Shapes
    /// Both operands broadcast against each other.
    ///
    /// # Dtypes
    /// Floats and integers, promoted by the table of [`DType`]; bools become `i64`. NaN for a float divisor of 0.
    ///
    /// # Derivative
    /// 1, and minus the quotient with respect to the divisor; also where the quotient jumps.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; `Value` for an integer divisor of 0.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([5.5, -5.5]).fmod(2.0)?.to_vec::<f64>()?, [1.5, -1.5]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn fmod(&self, divisor: impl Operand) -> Result<Tensor> = fmod {
        in_place: true, samples: fmod_samples, errors: fmod_errors,
        python: fmod(divisor as other)
    };

    /// What is left of each element after a division by `divisor` whose quotient is rounded down: it has the sign of
    /// the divisor. Python's `%`.
    ///
    /// # Shapes
    /// Both operands broadcast against each other.
    ///
    /// # Dtypes
    /// Floats and integers, promoted by the table of [`DType`]; bools become `i64`. NaN for a float divisor of 0.
    ///
    /// # Derivative
    /// 1, and minus the quotient with respect to the divisor; also where the quotient jumps.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; `Value` for an integer divisor of 0.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([5.5, -5.5]).remainder(2.0)?.to_vec::<f64>()?, [1.5, 0.5]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn remainder(&self, divisor: impl Operand) -> Result<Tensor> = remainder {
        in_place: true, samples: remainder_samples, errors: remainder_errors,
        python: remainder(divisor as other)
    };

    /// The quotient of each element and `divisor`, rounded down. Python's `//`.
    ///
    /// With [`remainder`](Tensor::remainder) it makes up the element, `x = d * x.floor_divide(d) + x.remainder(d)`: where a float
    /// quotient is rounded to the next whole number, that is not taken for it, so `1.0 // 0.1` is 9.
    ///
    /// # Shapes
    /// Both operands broadcast against each other.
    ///
    /// # Dtypes
    /// Floats and integers, promoted by the table of [`DType`]; bools become `i64`. Infinity or NaN for a float divisor of 0.
    ///
    /// # Derivative
    /// None: the result is discrete.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; `Value` for an integer divisor of 0.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([7, -7]).floor_divide(2)?.to_vec::<i32>()?, [3, -4]);
    /// assert_eq!(Tensor::from([5.5, -5.5]).floor_divide(2.0)?.to_vec::<f64>()?, [2.0, -3.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn floor_divide(&self, divisor: impl Operand) -> Result<Tensor> = floor_divide {
        in_place: true, samples: floor_divide_samples, errors: floor_divide_errors,
        python: floor_divide(divisor as other)
    };

    /// The quotient of each element and `divisor`, rounded as `rounding_mode` says: without one it is
    /// [`div`](Tensor::div), with [`RoundingMode::Floor`] it is [`floor_divide`](Tensor::floor_divide).
    ///
    /// # Shapes
    /// Both operands broadcast against each other.
    ///
    /// # Dtypes
    /// Without a mode those of `div`. With one, floats and integers, promoted by the table of [`DType`], which stay what they
    /// are; bools become `i64`. Infinity or NaN for a float divisor of 0.
    ///
    /// # Derivative
    /// Without a mode that of `div`; with one none, because the result is discrete.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; with a mode also `Value` for an integer divisor of 0, and `Dtype` for complex
    /// numbers.
    ///
    /// # Example
    /// ```
    /// use pullback::{RoundingMode, Tensor};
    /// let x = Tensor::from([7, -7]);
    /// assert_eq!(x.div_with(2, Some(RoundingMode::Trunc))?.to_vec::<i32>()?, [3, -3]);
    /// assert_eq!(x.div_with(2, Some(RoundingMode::Floor))?.to_vec::<i32>()?, [3, -4]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn div_with(&self, divisor: impl Operand, rounding_mode: Option<RoundingMode>) -> Result<Tensor> = div_with {
        in_place: true, samples: div_with_samples, errors: div_with_errors,
        python: div(divisor as other, rounding_mode),
        python: divide(divisor as other, rounding_mode)
    };
}

/// How [`Tensor::div_with`] rounds quotients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RoundingMode {
    /// Towards zero.
    Trunc,
    /// Down.
    Floor,
}

/// Numbers with a remainder.
trait Divides: Element {
    /// The remainder with the sign of `self`; 0 for an integer divisor of 0.
    fn rest(self, divisor: Self) -> Self;
    fn below_zero(self) -> bool;
    fn plus(self, other: Self) -> Self;
    /// The quotient rounded down; 0 for an integer divisor of 0.
    fn quotient(self, divisor: Self) -> Self;
    /// The quotient rounded towards zero; 0 for an integer divisor of 0.
    fn whole_quotient(self, divisor: Self) -> Self;
}

macro_rules! divides {
    ($($t:ty: $rest:expr, $whole:expr, $quotient:expr;)*) => { $(
        impl Divides for $t {
            #[inline(always)]
            fn rest(self, divisor: $t) -> $t { $rest(self, divisor) }
            #[inline(always)]
            fn below_zero(self) -> bool { self < <$t as Element>::ZERO }
            #[inline(always)]
            fn plus(self, other: $t) -> $t { self + other }
            #[inline(always)]
            fn quotient(self, divisor: $t) -> $t { $quotient(self, divisor) }
            #[inline(always)]
            fn whole_quotient(self, divisor: $t) -> $t { $whole(self, divisor) }
        }
    )* };
}
divides! {
    u8: |a: u8, b: u8| a.checked_rem(b).unwrap_or(0), |a: u8, b: u8| a.checked_div(b).unwrap_or(0),
        |a: u8, b: u8| a.checked_div(b).unwrap_or(0);
    // The one quotient that is out of range leaves nothing.
    i32: |a: i32, b: i32| a.checked_rem(b).unwrap_or(0), |a: i32, b: i32| if b == 0 { 0 } else { a.wrapping_div(b) }, |a: i32, b: i32| match b {
        0 => 0,
        // The one quotient that is out of range wraps.
        _ => a.wrapping_div(b) - i32::from(a.wrapping_rem(b) != 0 && (a < 0) != (b < 0)),
    };
    i64: |a: i64, b: i64| a.checked_rem(b).unwrap_or(0), |a: i64, b: i64| if b == 0 { 0 } else { a.wrapping_div(b) }, |a: i64, b: i64| match b {
        0 => 0,
        // The one quotient that is out of range wraps.
        _ => a.wrapping_div(b) - i64::from(a.wrapping_rem(b) != 0 && (a < 0) != (b < 0)),
    };
    f32: |a: f32, b: f32| a % b, |a: f32, b: f32| (a / b).trunc(), |a: f32, b: f32| {
        let rest = a % b;
        let down = rest != 0.0 && (rest < 0.0) != (b < 0.0);
        // Without the rest the quotient is whole but for rounding.
        let whole = ((a - rest) / b).round() - if down { 1.0 } else { 0.0 };
        if b == 0.0 { a / b } else { whole }
    };
    f64: |a: f64, b: f64| a % b, |a: f64, b: f64| (a / b).trunc(), |a: f64, b: f64| {
        let rest = a % b;
        let down = rest != 0.0 && (rest < 0.0) != (b < 0.0);
        // Without the rest the quotient is whole but for rounding.
        let whole = ((a - rest) / b).round() - if down { 1.0 } else { 0.0 };
        if b == 0.0 { a / b } else { whole }
    };
}

/// Applies `K` to numbers of one dtype.
fn divide<K: Binary>(a: &Tensor, divisor: impl Operand) -> Result<Tensor> {
    let number = |t: &Tensor| if t.dtype() == DType::Bool { t.to_dtype(DType::I64) } else { Ok(t.clone()) };
    let a = &number(a)?;
    divisor.with_operand(K::NAME, a.dtype(), |b| with_common_dtype(a, &number(b)?, false, binary::<K>))
}

fn fmod(a: &Tensor, divisor: impl Operand) -> Result<Tensor> {
    divide::<Fmod>(a, divisor)
}

fn remainder(a: &Tensor, divisor: impl Operand) -> Result<Tensor> {
    divide::<Remainder>(a, divisor)
}

fn floor_divide(a: &Tensor, divisor: impl Operand) -> Result<Tensor> {
    divide::<FloorDivide>(a, divisor)
}

fn div_with(a: &Tensor, divisor: impl Operand, rounding_mode: Option<RoundingMode>) -> Result<Tensor> {
    match rounding_mode {
        None => a.div(divisor),
        Some(RoundingMode::Trunc) => divide::<TruncDivide>(a, divisor),
        Some(RoundingMode::Floor) => {
            floor_divide(a, divisor).map_err(|e| e.renamed(FloorDivide::NAME, TruncDivide::NAME))
        }
    }
}

fn check_divisor(op: &str, b: &Array) -> Result<()> {
    let dims: Vec<usize> = (0..b.rank()).collect();
    if b.dtype().is_int() && !reduce::all(b, &dims)?.first::<bool>() {
        bail!(Value, "{op}: expected integer divisors other than 0, got one that is 0 among {}", b.ty());
    }
    Ok(())
}

struct Fmod;

impl Binary for Fmod {
    const NAME: &'static str = "fmod";
    fn kernel(a: &Array, b: &Array, shape: &[usize]) -> Result<Array> {
        check_divisor("fmod", b)?;
        dispatch!(a.dtype(), "fmod", number, T => Ok(map::zip::<T, T, T>(a, b, shape, #[inline(always)] |a, b| a.rest(b))))
    }
    fn reads((_, right): (bool, bool)) -> Reads {
        Reads { lhs: right, rhs: right, output: right }
    }
    fn left(d: &Tensor, _: Operands<'_>) -> Result<Tensor> {
        Ok(d.clone())
    }
    fn right(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        // The result tells the quotient: `a - result` is a multiple of the divisor.
        let quotient = values.lhs().sub(values.output())?.div(values.rhs())?.round()?;
        mul_owned(quotient.neg()?, d.clone())
    }
}

struct Remainder;

impl Binary for Remainder {
    const NAME: &'static str = "remainder";
    fn kernel(a: &Array, b: &Array, shape: &[usize]) -> Result<Array> {
        check_divisor("remainder", b)?;
        dispatch!(a.dtype(), "remainder", number, T => Ok(map::zip::<T, T, T>(a, b, shape, #[inline(always)] |a, b| {
            let rest = a.rest(b);
            if rest != T::ZERO && rest.below_zero() != b.below_zero() { rest.plus(b) } else { rest }
        })))
    }
    fn reads((_, right): (bool, bool)) -> Reads {
        Reads { lhs: right, rhs: right, output: false }
    }
    fn left(d: &Tensor, _: Operands<'_>) -> Result<Tensor> {
        Ok(d.clone())
    }
    fn right(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        // An infinite result, of an infinite divisor, does not tell the quotient.
        let quotient = binary::<FloorDivide>(values.lhs(), values.rhs())?;
        mul_owned(quotient.neg()?, d.clone())
    }
}

struct FloorDivide;

impl Binary for FloorDivide {
    const NAME: &'static str = "floor_divide";
    const DIFFERENTIABLE: bool = false;
    fn kernel(a: &Array, b: &Array, shape: &[usize]) -> Result<Array> {
        check_divisor("floor_divide", b)?;
        dispatch!(a.dtype(), "floor_divide", number, T =>
            Ok(map::zip::<T, T, T>(a, b, shape, #[inline(always)] |a, b| a.quotient(b))))
    }
}

struct TruncDivide;

impl Binary for TruncDivide {
    const NAME: &'static str = "div";
    const DIFFERENTIABLE: bool = false;
    fn kernel(a: &Array, b: &Array, shape: &[usize]) -> Result<Array> {
        check_divisor("div", b)?;
        dispatch!(a.dtype(), "div", number, T =>
            Ok(map::zip::<T, T, T>(a, b, shape, #[inline(always)] |a, b| a.whole_quotient(b))))
    }
}

fn fmod_samples() -> Vec<Sample> {
    // Away from the multiples, where the quotient jumps.
    let mut all = binary_samples(
        (1.05, 1.95),
        |a, b| a.add(2.0)?.fmod(b.mul(0.5)?.add(3.0)?),
        |a, b| {
            let (x, y) = (a + 2.0, b / 2.0 + 3.0);
            x - y * (x / y).trunc()
        },
    );
    all.extend(signs(|x, y| x.fmod(y), |x, y| x - y * (x / y).trunc()));
    all
}

fn remainder_samples() -> Vec<Sample> {
    let mut all = binary_samples(
        (1.05, 1.95),
        |a, b| a.add(2.0)?.remainder(b.mul(0.5)?.add(3.0)?),
        |a, b| {
            let (x, y) = (a + 2.0, b / 2.0 + 3.0);
            x - y * (x / y).floor()
        },
    );
    all.extend(signs(|x, y| x.remainder(y), |x, y| x - y * (x / y).floor()));
    all
}

fn floor_divide_samples() -> Vec<Sample> {
    let call = |x: &Tensor, y: &Tensor| x.floor_divide(y);
    let rounded =
        Sample::one("rounded", [Tensor::from([1.0, -1.0, 6.0, 0.0]), Tensor::from([0.1, 0.1, 0.1, -0.1])], move |x| {
            call(&x[0], &x[1])
        })
        .reference(|x| vec![Naive { shape: x[0].shape.clone(), data: vec![9.0, -10.0, 59.0, 0.0] }]);
    let number = Sample::one("0-d", [Tensor::from(7.5), Tensor::from(-2.0)], move |x| call(&x[0], &x[1]))
        .reference(|_| vec![Naive { shape: vec![], data: vec![-4.0] }]);
    let mut all = vec![rounded, number];
    all.extend(signs(call, |x, y| (x / y).floor()));
    all.into_iter().map(Sample::not_differentiable).collect()
}

fn div_with_samples() -> Vec<Sample> {
    let mut all = binary_samples((0.5, 2.0), |a, b| a.div_with(b, None), |a, b| a / b);
    let rounded = [
        ("down", signs(|x, y| x.div_with(y, Some(RoundingMode::Floor)), |x, y| (x / y).floor())),
        ("towards zero", signs(|x, y| x.div_with(y, Some(RoundingMode::Trunc)), |x, y| (x / y).trunc())),
    ];
    for (how, samples) in rounded {
        all.extend(samples.into_iter().map(|mut sample| {
            sample.label = format!("{how}, {}", sample.label);
            sample.not_differentiable()
        }));
    }
    all
}

fn div_with_errors() -> Vec<ErrorSample> {
    let mut all = errors_of(|x, y| x.div_with(y, Some(RoundingMode::Trunc)));
    all.push(ErrorSample::new("zero, down", ErrorKind::Value, "div: expected integer divisors other than 0", || {
        Tensor::from([3, 4]).div_with(0, Some(RoundingMode::Floor))
    }));
    all
}

/// Samples with every pair of signs, in floats and in integers.
fn signs(call: fn(&Tensor, &Tensor) -> Result<Tensor>, reference: fn(f64, f64) -> f64) -> Vec<Sample> {
    let naive = move |x: &[Naive]| vec![Naive::from_fn(&x[0].shape, |i| reference(x[0].at(i), x[1].at(i)))];
    let floats = [Tensor::from([5.3, -5.3, 5.3, -5.3]), Tensor::from([2.0, 2.0, -2.0, -2.0])];
    let integers = [Tensor::from([7i64, -7, 7, -7, 6]), Tensor::from([3i64, 3, -3, -3, -3])];
    vec![
        Sample::one("signs", floats, move |x| call(&x[0], &x[1])).reference(naive),
        Sample::one("integers", integers, move |x| call(&x[0], &x[1])).reference(naive).not_differentiable(),
    ]
}

fn errors_of(call: fn(&Tensor, &Tensor) -> Result<Tensor>) -> Vec<ErrorSample> {
    let (a, b) = (sample_tensor(&[2, 3], 0.0, 1.0, 1), sample_tensor(&[4], 0.0, 1.0, 2));
    vec![
        ErrorSample::new("shapes", ErrorKind::Shape, "got lhs f64[2,3] and rhs f64[4]", move || call(&a, &b)),
        ErrorSample::new(
            "zero",
            ErrorKind::Value,
            "expected integer divisors other than 0, got one that is 0 among i64[2]",
            move || call(&Tensor::from([3i64, 4]), &Tensor::from([2i64, 0])),
        ),
    ]
}

fn fmod_errors() -> Vec<ErrorSample> {
    errors_of(|x, y| x.fmod(y))
}

fn floor_divide_errors() -> Vec<ErrorSample> {
    errors_of(|x, y| x.floor_divide(y))
}

fn remainder_errors() -> Vec<ErrorSample> {
    errors_of(|x, y| x.remainder(y))
}
