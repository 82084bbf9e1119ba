//! Addition, subtraction, multiplication, division, and how operands come to a common dtype.

use super::family::{Binary, InPlace, Operands, Reads, binary, binary_owned};
use super::table::{ErrorSample, Naive, OpInfo, Sample, sample_tensor};
use crate::array::Array;
use crate::dtype::{Scalar, dispatch, promote_ranked};
use crate::kernels::{cast, complex, map};
use crate::tensor::Operand;
use crate::{Complex32, Complex64, DType, Error, ErrorKind, Result, Tensor};

/// A 0-d tensor with the value of a Rust number.
pub(crate) fn scalar_tensor(value: Scalar, dtype: DType) -> Tensor {
    cast::full(&[], value, dtype).into()
}

/// A 0-d tensor with a number of the dtype of `t`.
pub(super) fn constant(value: f64, t: &Tensor) -> Tensor {
    scalar_tensor(Scalar::Float(value), t.dtype())
}

/// A number as an operand of `op` beside a tensor of dtype `other`.
#[inline]
pub(crate) fn number(op: &str, value: Scalar, other: DType) -> Result<Tensor> {
    let dtype = value.promote_with(other);
    if let Scalar::Int(i) = value
        && !fits(i, dtype)
    {
        return Err(does_not_fit(op, i, dtype));
    }
    Ok(scalar_tensor(value, dtype))
}

/// Whether an integer is a value of `dtype`; floats take all, rounded.
pub(super) fn fits(i: i64, dtype: DType) -> bool {
    match dtype {
        DType::Bool => i == 0 || i == 1,
        DType::U8 => u8::try_from(i).is_ok(),
        DType::I32 => i32::try_from(i).is_ok(),
        _ => true,
    }
}

#[cold]
fn does_not_fit(op: &str, i: i64, dtype: DType) -> Error {
    Error::new(ErrorKind::Value, format!("{op}: expected a number that {dtype} can hold, got {i}"))
        .with_help("convert the tensor with `to_dtype` first")
}

/// Calls `f` with both operands in their common dtype, or in a float dtype if `float`.
#[inline]
pub(crate) fn with_common_dtype(
    a: &Tensor,
    b: &Tensor,
    float: bool,
    f: impl FnOnce(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    let (da, db) = (a.dtype(), b.dtype());
    if da == db && (!float || da.is_differentiable()) {
        return f(a, b);
    }
    let mut dtype = promote_ranked((da, a.rank()), (db, b.rank()));
    if float {
        dtype = dtype.to_float();
    }
    f(&a.to_dtype(dtype)?, &b.to_dtype(dtype)?)
}

/// `neg` that reuses the memory of the operand where nobody else holds it.
pub(crate) fn neg_owned(x: Tensor) -> Result<Tensor> {
    if x.array().is_none() || !x.dtype().is_float() {
        return x.neg();
    }
    let minus_one = scalar_tensor(Scalar::Int(-1), x.dtype());
    mul_owned(x, minus_one)
}

/// Writes, for each arithmetic operation: its struct, its kernel, the method, the version that may reuse the memory of
/// owned operands, and its row. The derivative is a `Binary` by hand.
macro_rules! arithmetic {
    ($($(#[doc = $doc:literal])* $name:ident, $owned:ident = $op:ident, float: $float:literal, [$($dtypes:tt)*],
        |$x:ident, $y:ident| $body:expr; samples $samples:path $(, also $($alias:ident),+)?;)*) => {
        $(
            struct $op;

            impl $op {
                #[inline]
                fn array(a: &Array, b: &Array, shape: &[usize]) -> Result<Array> {
                    if a.dtype().is_complex() {
                        return dispatch!(a.dtype(), stringify!($name), complex, T =>
                            Ok(map::zip::<T, T, T>(a, b, shape, #[inline(always)] |$x, $y| $body)));
                    }
                    dispatch!(a.dtype(), stringify!($name), $($dtypes)*, T => Ok(map::zip::<T, T, T>(a, b, shape, #[inline(always)] |$x, $y| $body)))
                }
            }

            impl Tensor {
                $(#[doc = $doc])*
                #[inline]
                pub fn $name(&self, rhs: impl Operand) -> Result<Tensor> {
                    let dtype = self.dtype();
                    let dtype = if $float { dtype.to_float() } else { dtype };
                    rhs.with_operand(stringify!($name), dtype, |rhs| with_common_dtype(self, rhs, $float, binary::<$op>))
                }
            }

            impl InPlace for $op {
                const FLOAT: bool = $float;
                fn in_place(own: &mut Array, other: &Array, left: bool) -> bool {
                    let dtype = own.dtype();
                    let done = match left {
                        true => dispatch!(dtype, stringify!($name), $($dtypes)*, T =>
                            Ok(map::zip_in_place::<T>(own, other, #[inline(always)] |$x, $y| $body))),
                        false => dispatch!(dtype, stringify!($name), $($dtypes)*, T =>
                            Ok(map::zip_in_place_right::<T>(other, own, #[inline(always)] |$x, $y| $body))),
                    };
                    done.unwrap_or(false)
                }
            }

            #[doc = concat!("`", stringify!($name), "` that reuses the memory of an operand where nobody else holds it.")]
            pub(crate) fn $owned(a: Tensor, b: Tensor) -> Result<Tensor> {
                binary_owned::<$op>(a, b)
            }
        )*
        pub(super) static OPS: &[OpInfo] = &[$(OpInfo {
            name: stringify!($name),
            doc: concat!($($doc, "\n"),*),
            signature: "rhs: impl Operand",
            samples: $samples,
            errors: arithmetic_errors,
            kinks: Vec::new,
            module: module_path!(),
            #[cfg(feature = "dynamic")]
            forms: ::pullback_macros::operation_forms! { method $name(rhs: impl $crate::Operand) -> $crate::Result<$crate::Tensor>
                [$name(rhs) $($(, $alias(rhs))+)?] in_place true },
        }),*];
    };
}

/// Rust's integer operators panic on overflow in debug builds; tensors wrap, as PyTorch's and NumPy's do.
pub(super) trait Arithmetic: Copy {
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
}

/// Division, which whole numbers do not have.
pub(super) trait Division: Copy {
    fn over(self, other: Self) -> Self;
}
macro_rules! arithmetic_for {
    ($($t:ty: $plus:expr, $minus:expr, $times:expr;)*) => { $(
        impl Arithmetic for $t {
            #[inline(always)]
            fn plus(self, other: $t) -> $t { $plus(self, other) }
            #[inline(always)]
            fn minus(self, other: $t) -> $t { $minus(self, other) }
            #[inline(always)]
            fn times(self, other: $t) -> $t { $times(self, other) }
        }
    )* };
}
arithmetic_for! {
    bool: |a, b| a | b, |a, b| a ^ b, |a, b| a & b;
    u8: u8::wrapping_add, u8::wrapping_sub, u8::wrapping_mul;
    i32: i32::wrapping_add, i32::wrapping_sub, i32::wrapping_mul;
    i64: i64::wrapping_add, i64::wrapping_sub, i64::wrapping_mul;
    f32: |a, b| a + b, |a, b| a - b, |a, b| a * b;
    f64: |a, b| a + b, |a, b| a - b, |a, b| a * b;
    Complex32: |a, b| a + b, |a, b| a - b, |a, b| a * b;
    Complex64: |a, b| a + b, |a, b| a - b, |a, b| a * b;
}
macro_rules! division_for {
    ($($t:ty: $over:expr;)*) => { $(
        impl Division for $t {
            #[inline(always)]
            fn over(self, other: $t) -> $t { $over(self, other) }
        }
    )* };
}
division_for! {
    f32: |a, b| a / b;
    f64: |a, b| a / b;
    Complex32: |a, b| complex::narrow(complex::divide(complex::wide(a), complex::wide(b)));
    Complex64: complex::divide;
}

arithmetic! {
    /// Adds `rhs`, elementwise.
    ///
    /// # Shapes
    /// Both operands broadcast against each other.
    ///
    /// # Dtypes
    /// All, promoted by the table of [`DType`]. Integers wrap on overflow; `bool` adds as "or".
    ///
    /// # Derivative
    /// `1` with respect to both operands.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; `Value` for a number that the integer dtype of the tensor cannot hold.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1.0f32, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.add(&Tensor::from([10.0f32, 20.0]))?.to_vec::<f32>()?, [11.0, 22.0, 13.0, 24.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    add, add_owned = Add, float: false, [all], |x, y| Arithmetic::plus(x, y); samples add_samples;

    /// Subtracts `rhs`, elementwise.
    ///
    /// # Shapes
    /// Both operands broadcast against each other.
    ///
    /// # Dtypes
    /// All but `bool`, promoted by the table of [`DType`]. Integers wrap on overflow.
    ///
    /// # Derivative
    /// `1` with respect to the left operand, `-1` with respect to the right one.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; `Dtype` for two bools; `Value` for a number that the integer dtype of the
    /// tensor cannot hold.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([3i32, 5]).sub(1)?.to_vec::<i32>()?, [2, 4]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    sub, sub_owned = Sub, float: false, [number], |x, y| Arithmetic::minus(x, y); samples sub_samples, also subtract;

    /// Multiplies by `rhs`, elementwise.
    ///
    /// # Shapes
    /// Both operands broadcast against each other.
    ///
    /// # Dtypes
    /// All, promoted by the table of [`DType`]. Integers wrap on overflow; `bool` multiplies as "and".
    ///
    /// # Derivative
    /// The other operand.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; `Value` for a number that the integer dtype of the tensor cannot hold.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([3.0, 5.0]).mul(2)?.to_vec::<f64>()?, [6.0, 10.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    mul, mul_owned = Mul, float: false, [all], |x, y| Arithmetic::times(x, y); samples mul_samples, also multiply;

    /// Divides by `rhs`, elementwise; integers are divided as floats.
    ///
    /// # Shapes
    /// Both operands broadcast against each other.
    ///
    /// # Dtypes
    /// All, promoted by the table of [`DType`]; integers and bools become `f32`.
    ///
    /// # Derivative
    /// `1 / rhs` with respect to the left operand, `-lhs / rhs²` with respect to the right one.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([3i32, 5]).div(2)?.to_vec::<f32>()?, [1.5, 2.5]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    div, div_owned = Div, float: true, [float], |x, y| Division::over(x, y); samples div_samples, also divide, true_divide;
}

impl Binary for Add {
    const NAME: &'static str = "add";
    #[inline]
    fn kernel(a: &Array, b: &Array, shape: &[usize]) -> Result<Array> {
        Add::array(a, b, shape)
    }
    fn left(d: &Tensor, _: Operands<'_>) -> Result<Tensor> {
        Ok(d.clone())
    }
    fn right(d: &Tensor, _: Operands<'_>) -> Result<Tensor> {
        Ok(d.clone())
    }
}

impl Binary for Sub {
    const NAME: &'static str = "sub";
    fn kernel(a: &Array, b: &Array, shape: &[usize]) -> Result<Array> {
        Sub::array(a, b, shape)
    }
    fn left(d: &Tensor, _: Operands<'_>) -> Result<Tensor> {
        Ok(d.clone())
    }
    fn right(d: &Tensor, _: Operands<'_>) -> Result<Tensor> {
        d.neg()
    }
}

impl Binary for Mul {
    const NAME: &'static str = "mul";
    fn kernel(a: &Array, b: &Array, shape: &[usize]) -> Result<Array> {
        Mul::array(a, b, shape)
    }
    fn reads(needs: (bool, bool)) -> Reads {
        Reads { lhs: needs.1, rhs: needs.0, output: false }
    }
    fn left(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        d.mul(values.rhs())
    }
    fn right(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        d.mul(values.lhs())
    }
}

impl Binary for Div {
    const NAME: &'static str = "div";
    fn kernel(a: &Array, b: &Array, shape: &[usize]) -> Result<Array> {
        Div::array(a, b, shape)
    }
    fn reads(needs: (bool, bool)) -> Reads {
        Reads { lhs: false, rhs: true, output: needs.1 }
    }
    fn left(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        d.div(values.rhs())
    }
    fn right(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        // The quotient of the forward pass stands in for lhs / rhs.
        mul_owned(d.div(values.rhs())?, values.output().neg()?)
    }
}

/// Samples of a binary operation: equal shapes, broadcasting both ways, 0-d, empty.
pub(super) fn binary_samples(
    range: (f64, f64),
    call: fn(&Tensor, &Tensor) -> Result<Tensor>,
    reference: fn(f64, f64) -> f64,
) -> Vec<Sample> {
    let shapes: &[(&str, &[usize], &[usize])] = &[
        ("same shape", &[2, 3], &[2, 3]),
        ("row", &[2, 3], &[3]),
        ("column", &[2, 1], &[2, 3]),
        ("both ways", &[3, 1], &[1, 2]),
        ("scalar", &[4], &[]),
        ("0-d", &[], &[]),
        ("empty", &[0, 2], &[2]),
    ];
    shapes
        .iter()
        .map(|&(label, a, b)| {
            let inputs = [sample_tensor(a, range.0, range.1, 1), sample_tensor(b, range.0, range.1, 2)];
            Sample::one(label, inputs, move |x| call(&x[0], &x[1])).reference(move |x| {
                let shape = crate::shape::broadcast(&x[0].shape, &x[1].shape).expect("samples broadcast");
                vec![Naive::from_fn(&shape, |i| reference(x[0].at_broadcast(i), x[1].at_broadcast(i)))]
            })
        })
        .collect()
}

fn add_samples() -> Vec<Sample> {
    binary_samples((-2.0, 2.0), |a, b| a.add(b), |a, b| a + b)
}

fn sub_samples() -> Vec<Sample> {
    binary_samples((-2.0, 2.0), |a, b| a.sub(b), |a, b| a - b)
}

fn mul_samples() -> Vec<Sample> {
    binary_samples((-2.0, 2.0), |a, b| a.mul(b), |a, b| a * b)
}

fn div_samples() -> Vec<Sample> {
    binary_samples((0.5, 2.0), |a, b| a.div(b), |a, b| a / b)
}

fn arithmetic_errors() -> Vec<ErrorSample> {
    let (a, b) = (sample_tensor(&[2, 3], 0.0, 1.0, 1), sample_tensor(&[4], 0.0, 1.0, 2));
    vec![
        ErrorSample::new(
            "shapes",
            ErrorKind::Shape,
            "shapes must broadcast, got lhs f64[2,3] and rhs f64[4]",
            move || a.mul(&b).and(a.div(&b)).and(a.sub(&b)).and(a.add(&b)),
        ),
        ErrorSample::new("range", ErrorKind::Value, "expected a number that u8 can hold, got 300", || {
            let x = Tensor::from([1u8]);
            x.mul(300).and(x.sub(300)).and(x.add(300))
        }),
    ]
}

#[cfg(test)]
mod tests {
    //! Where memory is reused; that the values are right is tested outside.

    use super::*;

    fn large() -> Tensor {
        Tensor::full(&[10, 10], 2.0, DType::F64).unwrap()
    }

    fn address(x: &Tensor) -> usize {
        x.concrete().as_ptr::<f64>() as usize
    }

    #[test]
    fn operators_reuse_operands_that_nobody_else_holds() -> Result<()> {
        let shared = large();
        let row = Tensor::full(&[10], 3.0, DType::F64)?;
        let at = |x: Tensor, f: fn(Tensor, &Tensor, &Tensor) -> Tensor| {
            let before = address(&x);
            let y = f(x, &shared, &row);
            assert_eq!(y.shape(), [10, 10]);
            (address(&y) == before, y.to_vec::<f64>().unwrap()[99])
        };
        assert_eq!(at(large(), |x, s, _| x * s), (true, 4.0));
        assert_eq!(at(large(), |x, s, _| s - x), (true, 0.0));
        assert_eq!(at(large(), |x, s, _| x + s.clone()), (true, 4.0));
        assert_eq!(at(large(), |x, _, r| x / r), (true, 2.0 / 3.0));
        assert_eq!(at(large(), |x, _, r| r - x), (true, 1.0));
        assert_eq!(at(large(), |x, _, _| 1.0 - x * 3), (true, -5.0));
        assert_eq!(at(large(), |x, _, _| -x), (true, -2.0));
        assert_eq!(at(large(), |x, _, _| x.clone() + x), (false, 4.0));
        assert_eq!(shared.to_vec::<f64>()?, [2.0; 100]);
        Ok(())
    }

    #[test]
    fn sums_reuse_either_term() -> Result<()> {
        let (mut sum, term) = (large(), large());
        let before = address(&sum);
        sum = add_owned(sum, term.clone())?;
        assert_eq!(address(&sum), before);
        let other = sum.clone();
        let before = address(&term);
        sum = add_owned(sum, term)?;
        assert_eq!(address(&sum), before);
        assert_eq!((other.to_vec::<f64>()?[0], sum.to_vec::<f64>()?[0]), (4.0, 6.0));
        Ok(())
    }
}
