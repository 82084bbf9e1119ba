//! `+ - * /` and unary `-` on every combination of owned, borrowed and scalar operands.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::Tensor;
use crate::dtype::Scalar;
use crate::ops::arith;
use crate::{DType, Result};

/// What a binary operation accepts on its right: `&Tensor`, `Tensor`, or a Rust number.
///
/// A number takes the dtype of the tensor unless its kind is higher; see [`DType`] for the table. An integer that the
/// dtype cannot hold is an error of kind [`Value`](crate::ErrorKind::Value): `300` beside a tensor of `u8`.
///
/// ```
/// use pullback::Tensor;
/// let x = Tensor::from([1.0f32, 2.0]);
/// assert_eq!(x.mul(&x)?.add(1)?.to_vec::<f32>()?, [2.0, 5.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub trait Operand {
    /// Calls `f` with the tensor itself, or a 0-d tensor of the dtype that the number takes beside `other`. `op` names
    /// the operation in the message about a number that this dtype cannot hold.
    #[doc(hidden)]
    fn with_operand<R>(self, op: &str, other: DType, f: impl FnOnce(&Tensor) -> Result<R>) -> Result<R>;

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
    fn operand_dtype(&self) -> DType {
        self.dtype()
    }
}

impl Operand for Tensor {
    #[inline]
    fn with_operand<R>(self, _: &str, _: DType, f: impl FnOnce(&Tensor) -> Result<R>) -> Result<R> {
        f(&self)
    }
    #[inline]
    fn operand_dtype(&self) -> DType {
        self.dtype()
    }
}

macro_rules! scalar_operand {
    ($($t:ty),*) => { $(
        impl Operand for $t {
            #[inline]
            fn with_operand<R>(self, op: &str, other: DType, f: impl FnOnce(&Tensor) -> Result<R>) -> Result<R> {
                f(&arith::number(op, Scalar::from(self), other)?)
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
scalar_operand!(bool, u8, i32, i64, u32, usize, isize, f32, f64);

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
    panic!("{e}")
}

/// Writes a binary operator for tensors (owned or borrowed) with tensors, and with numbers on either side.
///
/// One integer and one float type only: with several, the type of a literal, and with it that of `2.0 * &x`, would be
/// unknown to the compiler until it is too late to call a method on the product. Methods take every number. `float` says
/// that the operation has float results only.
macro_rules! binary_operator {
    ($trait:ident, $method:ident, $owned:path, float: $float:literal) => {
        impl $trait<&Tensor> for &Tensor {
            type Output = Tensor;
            #[inline]
            #[track_caller]
            fn $method(self, rhs: &Tensor) -> Tensor {
                expect(Tensor::$method(self, rhs))
            }
        }
        impl $trait<Tensor> for &Tensor {
            type Output = Tensor;
            #[inline]
            #[track_caller]
            fn $method(self, rhs: Tensor) -> Tensor {
                expect($owned(self.clone(), rhs))
            }
        }
        impl $trait<&Tensor> for Tensor {
            type Output = Tensor;
            #[inline]
            #[track_caller]
            fn $method(self, rhs: &Tensor) -> Tensor {
                expect($owned(self, rhs.clone()))
            }
        }
        impl $trait<Tensor> for Tensor {
            type Output = Tensor;
            #[inline]
            #[track_caller]
            fn $method(self, rhs: Tensor) -> Tensor {
                expect($owned(self, rhs))
            }
        }
        binary_operator!(@number $trait, $method, $owned, $float, i64, f64);
    };
    (@number $trait:ident, $method:ident, $owned:path, $float:literal, $($t:ty),*) => { $(
        impl $trait<$t> for &Tensor {
            type Output = Tensor;
            #[inline]
            #[track_caller]
            fn $method(self, rhs: $t) -> Tensor {
                expect(Tensor::$method(self, rhs))
            }
        }
        impl $trait<$t> for Tensor {
            type Output = Tensor;
            #[inline]
            #[track_caller]
            fn $method(self, rhs: $t) -> Tensor {
                expect(beside(stringify!($method), rhs.into(), &self, $float).and_then(|rhs| $owned(self, rhs)))
            }
        }
        impl $trait<&Tensor> for $t {
            type Output = Tensor;
            #[inline]
            #[track_caller]
            fn $method(self, rhs: &Tensor) -> Tensor {
                expect(beside(stringify!($method), self.into(), rhs, $float).and_then(|lhs| Tensor::$method(&lhs, rhs)))
            }
        }
        impl $trait<Tensor> for $t {
            type Output = Tensor;
            #[inline]
            #[track_caller]
            fn $method(self, rhs: Tensor) -> Tensor {
                expect(beside(stringify!($method), self.into(), &rhs, $float).and_then(|lhs| $owned(lhs, rhs)))
            }
        }
    )* };
}
binary_operator!(Add, add, arith::add_owned, float: false);
binary_operator!(Sub, sub, arith::sub_owned, float: false);
binary_operator!(Mul, mul, arith::mul_owned, float: false);
binary_operator!(Div, div, arith::div_owned, float: true);

/// A number as an operand beside `t`, of an operation that has float results only if `float`.
fn beside(op: &str, number: Scalar, t: &Tensor, float: bool) -> Result<Tensor> {
    let dtype = t.dtype();
    arith::number(op, number, if float { dtype.to_float() } else { dtype })
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
