//! Rounding to whole numbers, and tests for special values. None of them has a derivative other than 0.

use super::{Facts, by_dtype};
use crate::array::Array;
use crate::dtype::{Scalar, dispatch};
use crate::kernels::math::Float;
use crate::kernels::{cast, complex, map};
use crate::ops::family::Unary;
use crate::{DType, Result};

by_dtype! { OPS;
    /// The largest whole number not above each element.
    floor = Floor, dtypes "All; integers and bools are returned as they are.", derivative "0, also at the steps.",
        example "assert_eq!(Tensor::from([1.5, -1.5]).floor()?.to_vec::<f64>()?, [1.0, -2.0]);";

    /// The smallest whole number not below each element.
    ceil = Ceil, dtypes "All; integers and bools are returned as they are.", derivative "0, also at the steps.",
        example "assert_eq!(Tensor::from([1.5, -1.5]).ceil()?.to_vec::<f64>()?, [2.0, -1.0]);";

    /// The nearest whole number; halves go to the even neighbour.
    round = Round, dtypes "All; integers and bools are returned as they are.", derivative "0, also at the steps.",
        example "assert_eq!(Tensor::from([0.5, 1.5, -0.7]).round()?.to_vec::<f64>()?, [0.0, 2.0, -1.0]);";

    /// The whole part: each element without its fraction.
    trunc = Trunc, dtypes "All; integers and bools are returned as they are.", derivative "0, also at the steps.",
        example "assert_eq!(Tensor::from([1.5, -1.5]).trunc()?.to_vec::<f64>()?, [1.0, -1.0]);";

    /// True where an element is NaN.
    isnan = IsNan, dtypes "All; the result is bool.", derivative "None: the result is discrete.",
        example "assert_eq!(Tensor::from([1.5, f64::NAN]).isnan()?.to_vec::<bool>()?, [false, true]);";

    /// True where an element is infinite.
    isinf = IsInf, dtypes "All; the result is bool.", derivative "None: the result is discrete.",
        example "assert_eq!(Tensor::from([1.5, f64::NEG_INFINITY]).isinf()?.to_vec::<bool>()?, [false, true]);";

    /// True where an element is neither infinite nor NaN.
    isfinite = IsFinite, dtypes "All; the result is bool.", derivative "None: the result is discrete.",
        example "assert_eq!(Tensor::from([1.5, f64::INFINITY]).isfinite()?.to_vec::<bool>()?, [true, false]);";
}

/// Writes the kernel of a function that leaves whole numbers alone.
macro_rules! rounding {
    ($($op:ident $name:ident $reference:ident;)*) => { $(
        impl Facts for $op {
            const DOMAIN: (f64, f64) = (-3.0, 3.0);
            fn reference(x: f64) -> f64 { x.$reference() }
        }

        impl Unary for $op {
            const NAME: &'static str = stringify!($name);
            const DIFFERENTIABLE: bool = false;
            #[inline]
            fn kernel(x: &Array) -> Result<Array> {
                if !x.dtype().is_differentiable() {
                    return Ok(x.clone());
                }
                dispatch!(x.dtype(), stringify!($name), float, T => Ok(map::map::<T, T>(x,
                    #[inline(always)] |x| Float::$name(x))))
            }
        }
    )* };
}
rounding! {
    Floor floor floor;
    Ceil ceil ceil;
    Round round round_ties_even;
    Trunc trunc trunc;
}

/// Writes the kernel of a test, with the answer for integers and bools.
macro_rules! test {
    ($($op:ident $name:ident $whole:literal, |$x:ident| $holds:expr, $reference:ident;)*) => { $(
        impl Facts for $op {
            const DOMAIN: (f64, f64) = (-3.0, 3.0);
            const IS_TEST: bool = true;
            fn reference(x: f64) -> f64 { f64::from(u8::from(x.$reference())) }
        }

        impl Unary for $op {
            const NAME: &'static str = stringify!($name);
            const DIFFERENTIABLE: bool = false;
            #[inline]
            fn kernel(x: &Array) -> Result<Array> {
                if !x.dtype().is_differentiable() {
                    return Ok(cast::full(x.shape(), Scalar::Bool($whole), DType::Bool));
                }
                if x.dtype().is_complex() {
                    // What holds of whole numbers must hold of both parts, what does not of one.
                    let [re, im] = complex::parts(x).map(|part| Self::kernel(&part));
                    return Ok(map::zip::<bool, bool, bool>(&re?, &im?, x.shape(), |a, b| if $whole { a && b } else { a || b }));
                }
                dispatch!(x.dtype(), stringify!($name), float, T => Ok(map::map::<T, bool>(x,
                    #[inline(always)] |$x| $holds)))
            }
        }
    )* };
}
test! {
    IsNan isnan false, |x| Float::is_nan(x), is_nan;
    IsInf isinf false, |x| Float::abs(x) == T::INFINITY, is_infinite;
    IsFinite isfinite true, |x| Float::is_finite(x), is_finite;
}
