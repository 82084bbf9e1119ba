//! `+ - * /` and unary `-` on tensors, owned or borrowed, and numbers.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::Tensor;
use crate::dtype::Scalar;
use crate::ops::arith;
use crate::{Complex32, Complex64, DType, Result, bf16, f16};

/// What a binary operation accepts on its right: `&Tensor`, `Tensor`, or a number, also one whose kind is known at run time
/// only, as a [`Scalar`].
///
/// Operators accept the same on their right, and `f64`, `i64`, `Complex64` and literals on their left: `&x * 2`, `1.0 - &x`. They
/// reuse the memory of owned operands that nobody else holds.
///
/// A number takes the dtype of the tensor unless its kind is higher; see [`DType`] for the table. An integer that the
/// dtype cannot hold is an error of kind [`Value`](crate::ErrorKind::Value): `300` beside a tensor of `u8`.
///
/// ```
/// use pullback::Tensor;
/// let x = Tensor::from([1.0f32, 2.0]);
/// assert_eq!(x.mul(&x)?.add(1)?.to_vec::<f32>()?, [2.0, 5.0]);
/// assert_eq!((1.0 - &x * 2).abs()?.to_vec::<f32>()?, [1.0, 3.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub trait Operand: Sized {
    /// Whether the memory of the operand may be reused.
    #[doc(hidden)]
    const IS_OWNED: bool = false;

    /// Calls `f` with the tensor itself, or a 0-d tensor of the dtype that the number takes beside `other`. `op` names
    /// the operation in the message about a number that this dtype cannot hold.
    #[doc(hidden)]
    fn with_operand<R>(self, op: &str, other: DType, f: impl FnOnce(&Tensor) -> Result<R>) -> Result<R>;

    /// The tensor that [`with_operand`](Operand::with_operand) passes on.
    #[doc(hidden)]
    fn into_operand(self, op: &str, other: DType) -> Result<Tensor>;

    /// The dtype; of a number, the one it has beside a bool.
    #[doc(hidden)]
    fn operand_dtype(&self) -> DType;

    /// The number, if it is one.
    #[doc(hidden)]
    #[inline]
    fn as_scalar(&self) -> Option<Scalar> {
        None
    }
}

impl Operand for &Tensor {
    #[inline]
    fn with_operand<R>(self, _: &str, _: DType, f: impl FnOnce(&Tensor) -> Result<R>) -> Result<R> {
        f(self)
    }
    #[inline]
    fn into_operand(self, _: &str, _: DType) -> Result<Tensor> {
        Ok(self.clone())
    }
    #[inline]
    fn operand_dtype(&self) -> DType {
        self.dtype()
    }
}

impl Operand for Tensor {
    const IS_OWNED: bool = true;
    #[inline]
    fn with_operand<R>(self, _: &str, _: DType, f: impl FnOnce(&Tensor) -> Result<R>) -> Result<R> {
        f(&self)
    }
    #[inline]
    fn into_operand(self, _: &str, _: DType) -> Result<Tensor> {
        Ok(self)
    }
    #[inline]
    fn operand_dtype(&self) -> DType {
        self.dtype()
    }
}

macro_rules! number_operand {
    ($($t:ty),*) => { $(
        impl Operand for $t {
            #[inline]
            fn with_operand<R>(self, op: &str, other: DType, f: impl FnOnce(&Tensor) -> Result<R>) -> Result<R> {
                f(&arith::number(op, Scalar::from(self), other)?)
            }
            #[inline]
            fn into_operand(self, op: &str, other: DType) -> Result<Tensor> {
                arith::number(op, Scalar::from(self), other)
            }
            fn operand_dtype(&self) -> DType {
                Scalar::from(*self).promote_with(DType::Bool)
            }
            #[inline]
            fn as_scalar(&self) -> Option<Scalar> {
                Some(Scalar::from(*self))
            }
        }
    )* };
}
number_operand!(bool, u8, i32, i64, u32, usize, isize, f16, bf16, f32, f64, Complex32, Complex64, Scalar);

/// Panics with the message of the error, at the caller's line: what operators do, because they cannot return it.
#[inline]
#[track_caller]
pub(crate) fn expect(result: Result<Tensor>) -> Tensor {
    match result {
        Ok(t) => t,
        Err(e) => fail(e),
    }
}

#[cold]
#[inline(never)]
#[track_caller]
pub(super) fn fail(e: crate::Error) -> ! {
    panic!("{e:#}")
}

/// Writes a binary operator for tensors, owned or borrowed, with any operand on the right, and with a number on the left.
/// `float` says that the operation has float results only.
///
/// One generic implementation per left side, and one type of number of each kind on the left, so that the compiler
/// knows the result of `&x * 2.0` and `1 - &x` without knowing the type of the number.
macro_rules! binary_operator {
    ($trait:ident, $method:ident, $owned:path, float: $float:literal) => {
        impl<R: Operand> $trait<R> for &Tensor {
            type Output = Tensor;
            #[inline]
            #[track_caller]
            fn $method(self, rhs: R) -> Tensor {
                if R::IS_OWNED {
                    expect(beside(stringify!($method), rhs, self, $float).and_then(|rhs| $owned(self.clone(), rhs)))
                } else {
                    expect(Tensor::$method(self, rhs))
                }
            }
        }
        impl<R: Operand> $trait<R> for Tensor {
            type Output = Tensor;
            #[inline]
            #[track_caller]
            fn $method(self, rhs: R) -> Tensor {
                expect(beside(stringify!($method), rhs, &self, $float).and_then(|rhs| $owned(self, rhs)))
            }
        }
        binary_operator!(@left $trait, $method, $owned, $float, f64, i64, Complex64);
    };
    (@left $trait:ident, $method:ident, $owned:path, $float:literal, $($t:ty),*) => { $(
        impl $trait<&Tensor> for $t {
            type Output = Tensor;
            #[inline]
            #[track_caller]
            fn $method(self, rhs: &Tensor) -> Tensor {
                expect(beside(stringify!($method), self, rhs, $float).and_then(|lhs| Tensor::$method(&lhs, rhs)))
            }
        }
        impl $trait<Tensor> for $t {
            type Output = Tensor;
            #[inline]
            #[track_caller]
            fn $method(self, rhs: Tensor) -> Tensor {
                expect(beside(stringify!($method), self, &rhs, $float).and_then(|lhs| $owned(lhs, rhs)))
            }
        }
    )* };
}
binary_operator!(Add, add, arith::add_owned, float: false);
binary_operator!(Sub, sub, arith::sub_owned, float: false);
binary_operator!(Mul, mul, arith::mul_owned, float: false);
binary_operator!(Div, div, arith::div_owned, float: true);

/// An operand beside `t` of an operation that has float results only if `float`.
#[inline]
fn beside(op: &str, operand: impl Operand, t: &Tensor, float: bool) -> Result<Tensor> {
    let dtype = t.dtype();
    operand.into_operand(op, if float { dtype.to_float() } else { dtype })
}

impl Neg for &Tensor {
    type Output = Tensor;
    #[inline]
    #[track_caller]
    fn neg(self) -> Tensor {
        expect(Tensor::neg(self))
    }
}

impl Neg for Tensor {
    type Output = Tensor;
    #[inline]
    #[track_caller]
    fn neg(self) -> Tensor {
        expect(arith::neg_owned(self))
    }
}
