//! `+ - * /` and unary `-` on every combination of owned, borrowed and scalar operands.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::Tensor;
use crate::dtype::Scalar;
use crate::ops::arith;
use crate::{DType, Result};

/// What a binary operation accepts on its right: `&Tensor`, `Tensor`, or a Rust number.
///
/// A number takes the dtype of the tensor unless its kind is higher; see [`DType`] for the table.
///
/// ```
/// use pullback::Tensor;
/// let x = Tensor::from([1.0f32, 2.0]);
/// assert_eq!(x.mul(&x)?.add(1)?.to_vec::<f32>()?, [2.0, 5.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub trait Operand {
    /// The tensor itself, or a 0-d tensor of the dtype that the number takes beside `other`.
    #[doc(hidden)]
    fn with_operand<R>(self, other: DType, f: impl FnOnce(&Tensor) -> R) -> R;

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
    fn with_operand<R>(self, _: DType, f: impl FnOnce(&Tensor) -> R) -> R {
        f(self)
    }
    #[inline]
    fn operand_dtype(&self) -> DType {
        self.dtype()
    }
}

impl Operand for Tensor {
    #[inline]
    fn with_operand<R>(self, _: DType, f: impl FnOnce(&Tensor) -> R) -> R {
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
            fn with_operand<R>(self, other: DType, f: impl FnOnce(&Tensor) -> R) -> R {
                let scalar = Scalar::from(self);
                f(&arith::scalar_tensor(scalar, scalar.promote_with(other)))
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
macro_rules! binary_operator {
    ($trait:ident, $method:ident, $owned:path) => {
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
        binary_operator!(@scalar $trait, $method, $owned, bool, u8, i32, i64, u32, usize, isize, f32, f64);
    };
    (@scalar $trait:ident, $method:ident, $owned:path, $($t:ty),*) => { $(
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
                let rhs = rhs.with_operand(self.dtype(), Tensor::clone);
                expect($owned(self, rhs))
            }
        }
        impl $trait<&Tensor> for $t {
            type Output = Tensor;
            #[inline]
            #[track_caller]
            fn $method(self, rhs: &Tensor) -> Tensor {
                expect(self.with_operand(rhs.dtype(), |lhs| Tensor::$method(lhs, rhs)))
            }
        }
        impl $trait<Tensor> for $t {
            type Output = Tensor;
            #[inline]
            #[track_caller]
            fn $method(self, rhs: Tensor) -> Tensor {
                let lhs = self.with_operand(rhs.dtype(), Tensor::clone);
                expect($owned(lhs, rhs))
            }
        }
    )* };
}
binary_operator!(Add, add, arith::add_owned);
binary_operator!(Sub, sub, arith::sub_owned);
binary_operator!(Mul, mul, arith::mul_owned);
binary_operator!(Div, div, arith::div_owned);

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
        expect(Tensor::neg(&self))
    }
}
