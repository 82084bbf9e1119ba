//! The bits of integers and bools.

use super::arith::with_common_dtype;
use super::family::{Binary, binary};
use super::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::bail;
use crate::kernels::map;
use crate::tensor::Operand;
use crate::{DType, ErrorKind, Result, Scalar, Tensor};

ops! { OPS;
    /// The bits that are set in both operands; of bools, whether both are true.
    ///
    /// # Shapes
    /// Both operands broadcast against each other.
    ///
    /// # Dtypes
    /// Bools and integers, promoted by the table of [`DType`](crate::DType).
    ///
    /// # Derivative
    /// None: the result is discrete.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; `Dtype` for floats and complex numbers; `Value` for a number that the dtype of the tensor
    /// cannot hold.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([12, 10]).bitwise_and(6)?.to_vec::<i32>()?, [4, 2]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn bitwise_and(&self, rhs: impl Operand) -> Result<Tensor> = bitwise_and {
        in_place: true, samples: bitwise_and_samples, errors: bits_errors
    };

    /// The bits that are set in at least one operand; of bools, whether one is true.
    ///
    /// # Shapes
    /// Both operands broadcast against each other.
    ///
    /// # Dtypes
    /// Bools and integers, promoted by the table of [`DType`](crate::DType).
    ///
    /// # Derivative
    /// None: the result is discrete.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; `Dtype` for floats and complex numbers; `Value` for a number that the dtype of the tensor
    /// cannot hold.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([12, 10]).bitwise_or(6)?.to_vec::<i32>()?, [14, 14]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn bitwise_or(&self, rhs: impl Operand) -> Result<Tensor> = bitwise_or {
        in_place: true, samples: bitwise_or_samples, errors: bits_errors
    };

    /// The bits that are set in exactly one operand; of bools, whether they differ.
    ///
    /// # Shapes
    /// Both operands broadcast against each other.
    ///
    /// # Dtypes
    /// Bools and integers, promoted by the table of [`DType`](crate::DType).
    ///
    /// # Derivative
    /// None: the result is discrete.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; `Dtype` for floats and complex numbers; `Value` for a number that the dtype of the tensor
    /// cannot hold.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([12, 10]).bitwise_xor(6)?.to_vec::<i32>()?, [10, 12]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn bitwise_xor(&self, rhs: impl Operand) -> Result<Tensor> = bitwise_xor {
        in_place: true, samples: bitwise_xor_samples, errors: bits_errors
    };

    /// The integers with their bits moved up by as many places as the right operand says, which multiplies by powers of 2 and wraps.
    ///
    /// # Shapes
    /// Both operands broadcast against each other.
    ///
    /// # Dtypes
    /// Integers, promoted by the table of [`DType`](crate::DType). All bits are gone where the places are
    /// negative or as many as the dtype has bits.
    ///
    /// # Derivative
    /// None: the result is discrete.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; `Dtype` for other numbers; `Value` for a number that the dtype of the tensor
    /// cannot hold.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([1, 3]).bitwise_left_shift(2)?.to_vec::<i32>()?, [4, 12]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn bitwise_left_shift(&self, rhs: impl Operand) -> Result<Tensor> = bitwise_left_shift {
        in_place: true, samples: bitwise_left_shift_samples, errors: shift_errors
    };

    /// The integers with their bits moved down by as many places as the right operand says, which divides by powers of 2 and
    /// rounds down.
    ///
    /// # Shapes
    /// Both operands broadcast against each other.
    ///
    /// # Dtypes
    /// Integers, promoted by the table of [`DType`](crate::DType). Only the sign is left where the places
    /// are negative or as many as the dtype has bits.
    ///
    /// # Derivative
    /// None: the result is discrete.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; `Dtype` for other numbers; `Value` for a number that the dtype of the tensor
    /// cannot hold.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([12, -3]).bitwise_right_shift(1)?.to_vec::<i32>()?, [6, -2]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn bitwise_right_shift(&self, rhs: impl Operand) -> Result<Tensor> = bitwise_right_shift {
        in_place: true, samples: bitwise_right_shift_samples, errors: shift_errors
    };

    /// The integers with all bits inverted: `-x - 1` of those with a sign. Of bools, whether they are false.
    ///
    /// # Shapes
    /// The result has the shape of the tensor.
    ///
    /// # Dtypes
    /// Bools and integers, and the result has the same.
    ///
    /// # Derivative
    /// None: the result is discrete.
    ///
    /// # Errors
    /// `Dtype` for floats and complex numbers.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([0, 5]).bitwise_not()?.to_vec::<i32>()?, [-1, -6]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn bitwise_not(&self) -> Result<Tensor> = bitwise_not { in_place: true, samples: bitwise_not_samples, errors: not_errors };
}

/// Elements made of bits.
trait Bits: Copy {
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
}

/// Integers, whose bits can be moved.
trait Shift: Copy {
    fn up(self, places: Self) -> Self;
    fn down(self, places: Self) -> Self;
}

macro_rules! bits {
    ($($t:ty)*) => { $(
        impl Bits for $t {
            #[inline(always)]
            fn and(self, other: $t) -> $t { self & other }
            #[inline(always)]
            fn or(self, other: $t) -> $t { self | other }
            #[inline(always)]
            fn xor(self, other: $t) -> $t { self ^ other }
        }
    )* };
}
bits!(bool u8 i32 i64);

macro_rules! shifts {
    ($($t:ty)*) => { $(
        impl Shift for $t {
            #[inline(always)]
            fn up(self, places: $t) -> $t {
                u32::try_from(places).ok().and_then(|n| self.checked_shl(n)).unwrap_or(0)
            }
            #[inline(always)]
            fn down(self, places: $t) -> $t {
                let n = u32::try_from(places).unwrap_or(<$t>::BITS).min(<$t>::BITS - 1);
                // Moved by one place less than there are bits, a number with a sign is its sign; one without has a bit left.
                let is_all = u32::try_from(places).map_or(true, |n| n >= <$t>::BITS);
                if is_all && <$t>::MIN == 0 { 0 } else { self >> n }
            }
        }
    )* };
}
shifts!(u8 i32 i64);

/// Writes the struct, the operation and the samples of each row.
macro_rules! bitwise {
    ($($name:ident = $op:ident, $samples:ident, [$($dtypes:tt)*] $check:ident, |$x:ident, $y:ident| $body:expr;)*) => { $(
        struct $op;

        impl Binary for $op {
            const NAME: &'static str = stringify!($name);
            const DIFFERENTIABLE: bool = false;
            fn kernel(a: &Array, b: &Array, shape: &[usize]) -> Result<Array> {
                dispatch!(a.dtype(), stringify!($name), [$($dtypes)*], T =>
                    Ok(map::zip::<T, T, T>(a, b, shape, #[inline(always)] |$x, $y| $body)))
            }
        }

        fn $name(a: &Tensor, b: impl Operand) -> Result<Tensor> {
            check(stringify!($name), a, b.operand_dtype(), DType::$check)?;
            b.with_operand(stringify!($name), a.dtype(), |b| with_common_dtype(a, b, false, binary::<$op>))
        }

        fn $samples() -> Vec<Sample> {
            // The dtypes of numbers that the reference computes with, which are those of the result.
            samples(DType::$check, |a, b| a.$name(b), |$x: i64, $y: i64| $body)
        }
    )* };
}
bitwise! {
    bitwise_and = And, bitwise_and_samples, [Bool, U8, I32, I64] Bool, |x, y| x.and(y);
    bitwise_or = Or, bitwise_or_samples, [Bool, U8, I32, I64] Bool, |x, y| x.or(y);
    bitwise_xor = Xor, bitwise_xor_samples, [Bool, U8, I32, I64] Bool, |x, y| x.xor(y);
    bitwise_left_shift = Left, bitwise_left_shift_samples, [U8, I32, I64] U8, |x, y| x.up(y);
    bitwise_right_shift = Right, bitwise_right_shift_samples, [U8, I32, I64] U8, |x, y| x.down(y);
}

/// An error unless both operands have bits; `least` is the smallest dtype that has what is asked.
fn check(op: &str, a: &Tensor, b: DType, least: DType) -> Result<()> {
    let fits = |dtype: DType| dtype.is_int() || dtype == least;
    let what = if least == DType::Bool { "bools or integers" } else { "integers" };
    if !fits(a.dtype()) {
        bail!(Dtype, "{op}: expected {what}, got {}", a.ty(); help = "compare the numbers first, or convert them to integers");
    }
    if !(fits(b) || (b == DType::Bool && a.dtype().is_int())) {
        bail!(Dtype, "{op}: expected {what}, got {} and {b}", a.ty(); help = "compare the numbers first, or convert them to \
            integers");
    }
    Ok(())
}

fn bitwise_not(x: &Tensor) -> Result<Tensor> {
    check("bitwise_not", x, x.dtype(), DType::Bool)?;
    let all = match x.dtype() {
        DType::Bool => Scalar::Bool(true),
        DType::U8 => Scalar::Int(i64::from(u8::MAX)),
        _ => Scalar::Int(-1),
    };
    bitwise_xor(x, all)
}

fn samples(least: DType, call: fn(&Tensor, &Tensor) -> Result<Tensor>, reference: fn(i64, i64) -> i64) -> Vec<Sample> {
    let case = |label: &str, a: Tensor, b: Tensor| {
        Sample::one(label, [a, b], move |x| call(&x[0], &x[1]))
            .reference(move |x| {
                let shape = crate::shape::broadcast(&x[0].shape, &x[1].shape).expect("samples broadcast");
                vec![Naive::from_fn(&shape, |i| {
                    reference(x[0].at_broadcast(i) as i64, x[1].at_broadcast(i) as i64) as f64
                })]
            })
            .not_differentiable()
    };
    let mut all = vec![
        case("vectors", Tensor::from([5i64, 12, -7]), Tensor::from([3i64, 1, 2])),
        case("broadcast", Tensor::from([[1i32], [6]]), Tensor::from([0i32, 1, 5])),
        case("bytes", Tensor::from([1u8, 6, 12]), Tensor::from([2u8, 3, 1])),
        case("promoted", Tensor::from([1u8, 6]), Tensor::from([2i64, 3])),
        case("0-d", Tensor::from(9i64), Tensor::from(3i64)),
    ];
    if least == DType::Bool {
        all.push(case("bools", Tensor::from([[false], [true]]), Tensor::from([false, true])));
    } else {
        all.push(case("all places", Tensor::from([5i64, -5, 5]), Tensor::from([64i64, 70, -1])));
    }
    all
}

fn bitwise_not_samples() -> Vec<Sample> {
    let case = |label: &str, x: Tensor, of: fn(f64) -> f64| {
        Sample::one(label, [x], |x| x[0].bitwise_not())
            .reference(move |x| {
                vec![Naive { shape: x[0].shape.clone(), data: x[0].data.iter().map(|&v| of(v)).collect() }]
            })
            .not_differentiable()
    };
    vec![
        case("integers", Tensor::from([[0i32, 5], [-1, 7]]), |v| -v - 1.0),
        case("bytes", Tensor::from([0u8, 200]), |v| 255.0 - v),
        case("bools", Tensor::from([true, false]), |v| 1.0 - v),
        case("0-d", Tensor::from(3i64), |v| -v - 1.0),
    ]
}

fn bits_errors() -> Vec<ErrorSample> {
    let (a, b) = (Tensor::from([1i32, 2, 3]), Tensor::from([1i32, 2]));
    vec![
        ErrorSample::new(
            "shapes",
            ErrorKind::Shape,
            "shapes must broadcast, got lhs i32[3] and rhs i32[2]",
            move || a.bitwise_and(&b),
        ),
        ErrorSample::new("floats", ErrorKind::Dtype, "expected bools or integers, got f64[2]", || {
            sample_tensor(&[2], 0.0, 1.0, 1).bitwise_and(1)
        }),
        ErrorSample::new("a float", ErrorKind::Dtype, "expected bools or integers, got i32[2] and f32", || {
            Tensor::from([1i32, 2]).bitwise_or(1.5)
        }),
        ErrorSample::new("a number that does not fit", ErrorKind::Value, "300", || {
            Tensor::from([1u8]).bitwise_xor(300)
        }),
    ]
}

fn shift_errors() -> Vec<ErrorSample> {
    vec![
        ErrorSample::new("bools", ErrorKind::Dtype, "expected integers, got bool[2]", || {
            Tensor::from([true, false]).bitwise_left_shift(1)
        }),
        ErrorSample::new("floats", ErrorKind::Dtype, "expected integers, got f64[2]", || {
            sample_tensor(&[2], 0.0, 1.0, 1).bitwise_right_shift(1)
        }),
    ]
}

fn not_errors() -> Vec<ErrorSample> {
    vec![ErrorSample::new("floats", ErrorKind::Dtype, "bitwise_not: expected bools or integers, got f64[2]", || {
        sample_tensor(&[2], 0.0, 1.0, 1).bitwise_not()
    })]
}
