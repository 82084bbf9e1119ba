//! Functions that keep the dtype, integers included: the sign and what depends on it, and squares.

use super::{Facts, by_dtype, constant};
use crate::array::Array;
use crate::dtype::{Element, Scalar, dispatch};
use crate::kernels::math::{self, Float};
use crate::kernels::{cast, complex, map};
use crate::ops::arith::Arithmetic;
use crate::ops::complex::real_slope;
use crate::ops::family::{Slope, Unary, slope};
use crate::{DType, Result, Tensor};

by_dtype! { OPS;
    /// The negative, elementwise.
    neg = Neg, dtypes "Numbers, which stay what they are; integers wrap on overflow. A bool is an error.",
        derivative "`-1`.",
        example "assert_eq!(Tensor::from([1i32, -2]).neg()?.to_vec::<i32>()?, [-1, 2]);",
        python: neg(), python: negative();

    /// The magnitude, elementwise.
    abs = Abs, dtypes "Numbers; real ones stay what they are, complex ones become real, and integers wrap on overflow. A bool is an error.",
        derivative "`sign(x)`, for complex numbers `x/|x|`: 0 at 0, the mean of all sides.",
        example "assert_eq!(Tensor::from([1i32, -2]).abs()?.to_vec::<i32>()?, [1, 2]);",
        python: abs(), python: absolute();

    /// -1, 0 or 1 for negative, zero and positive elements; NaN for NaN, where PyTorch gives 0.
    sign = Sign, dtypes "Floats and integers, which stay what they are. A bool is an error.",
        derivative "0 everywhere, also at 0.",
        example "assert_eq!(Tensor::from([3.0, 0.0, -2.0]).sign()?.to_vec::<f64>()?, [1.0, 0.0, -1.0]);";

    /// True where an element has a minus sign: also for -0, and for a NaN that has one.
    signbit = SignBit, dtypes "All but complex numbers; the result is bool.", derivative "None: the result is discrete.",
        example "assert_eq!(Tensor::from([3.0, -0.0, 0.0]).signbit()?.to_vec::<bool>()?, [false, true, false]);",
        python: signbit();

    /// The square, elementwise.
    square = Square,
        dtypes "Numbers, which stay what they are; integers wrap on overflow. A bool is an error.",
        derivative "`2x`.",
        example "assert_eq!(Tensor::from([3i32, -2]).square()?.to_vec::<i32>()?, [9, 4]);";

    /// `x` where it is positive, else 0; NaN for NaN.
    relu = Relu, dtypes "Floats and integers, which stay what they are. A bool is an error.",
        derivative "1 where `x` is positive, else 0, also at 0.",
        example "assert_eq!(Tensor::from([3.0, 0.0, -2.0]).relu()?.to_vec::<f64>()?, [3.0, 0.0, 0.0]);",
        python: relu(), python: nn::functional::relu();
}

/// What distinguishes the number types here.
trait Signed: Arithmetic + Element + PartialOrd {
    fn negative(self) -> Self;
    fn magnitude(self) -> Self;
    fn direction(self) -> Self;
    fn has_minus(self) -> bool;
    /// The number itself unless it is negative or zero: NaN stays.
    #[inline(always)]
    fn positive_part(self) -> Self {
        if self <= Self::ZERO { Self::ZERO } else { self }
    }
}

macro_rules! signed {
    (float: $($f:ident)*; integer: $($i:ident)*;) => {
        $(impl Signed for $f {
            #[inline(always)]
            fn negative(self) -> $f { -self }
            #[inline(always)]
            fn magnitude(self) -> $f { Float::abs(self) }
            #[inline(always)]
            fn direction(self) -> $f { Float::sign(self) }
            #[inline(always)]
            fn has_minus(self) -> bool { Float::is_sign_negative(self) }
        })*
        $(impl Signed for $i {
            #[inline(always)]
            fn negative(self) -> $i { self.wrapping_neg() }
            #[inline(always)]
            fn magnitude(self) -> $i { if self < <$i>::ZERO { self.wrapping_neg() } else { self } }
            #[inline(always)]
            fn direction(self) -> $i {
                if self < <$i>::ZERO { <$i>::ZERO.wrapping_sub(1) } else { <$i>::from(self > 0) }
            }
            #[inline(always)]
            fn has_minus(self) -> bool { self < <$i>::ZERO }
        })*
    };
}
signed! { float: f32 f64; integer: u8 i32 i64; }

impl Facts for Neg {
    const DOMAIN: (f64, f64) = (-2.0, 2.0);
    fn reference(x: f64) -> f64 {
        -x
    }
}

impl Unary for Neg {
    const NAME: &'static str = "neg";
    const READS_INPUT: bool = false;
    #[inline]
    fn kernel(x: &Array) -> Result<Array> {
        if x.dtype().is_complex() {
            return dispatch!(x.dtype(), "neg", complex, T => Ok(map::map::<T, T>(x, #[inline(always)] |z| -z)));
        }
        dispatch!(x.dtype(), "neg", number, T => Ok(map::map::<T, T>(x, #[inline(always)] |x| x.negative())))
    }
    fn derivative(d: &Tensor, _: &Tensor, _: &Tensor) -> Result<Tensor> {
        d.neg()
    }
}

impl Facts for Abs {
    const DOMAIN: (f64, f64) = (-2.0, 2.0);
    const KINKS: &'static [(f64, f64)] = &[(0.0, 0.0), (-0.0, 0.0)];
    fn reference(x: f64) -> f64 {
        if x < 0.0 { -x } else { x }
    }
}

impl Unary for Abs {
    const NAME: &'static str = "abs";
    const HOLOMORPHIC: bool = false;
    #[inline]
    fn kernel(x: &Array) -> Result<Array> {
        if x.dtype().is_complex() {
            return Ok(complex::map_real(x, math::complex::abs));
        }
        dispatch!(x.dtype(), "abs", number, T => Ok(map::map::<T, T>(x, #[inline(always)] |x| x.magnitude())))
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        if x.dtype().is_complex() {
            return real_slope(d, &x.sgn()?);
        }
        slope::<Abs>(d, x)
    }
}

impl Slope for Abs {
    const NAME: &'static str = "abs_backward";
    const VARIES: bool = false;
    #[inline(always)]
    fn times<T: Float>(d: T, x: T) -> T {
        // Chosen, not multiplied: zero times an infinite cotangent would be NaN.
        if x > T::ZERO {
            d
        } else if x < T::ZERO {
            -d
        } else {
            x.abs()
        }
    }
}

impl Facts for Sign {
    const DOMAIN: (f64, f64) = (-2.0, 2.0);
    const KINKS: &'static [(f64, f64)] = &[(0.0, 0.0)];
    fn reference(x: f64) -> f64 {
        if x == 0.0 { 0.0 } else { x.signum() }
    }
}

impl Unary for Sign {
    const NAME: &'static str = "sign";
    const DIFFERENTIABLE: bool = false;
    #[inline]
    fn kernel(x: &Array) -> Result<Array> {
        dispatch!(x.dtype(), "sign", number, T => Ok(map::map::<T, T>(x, #[inline(always)] |x| x.direction())))
    }
}

impl Facts for SignBit {
    const DOMAIN: (f64, f64) = (-2.0, 2.0);
    const IS_TEST: bool = true;
    fn reference(x: f64) -> f64 {
        if x < 0.0 { 1.0 } else { 0.0 }
    }
}

impl Unary for SignBit {
    const NAME: &'static str = "signbit";
    const DIFFERENTIABLE: bool = false;
    fn kernel(x: &Array) -> Result<Array> {
        if x.dtype() == DType::Bool {
            return Ok(cast::full(x.shape(), Scalar::Bool(false), DType::Bool));
        }
        dispatch!(x.dtype(), "signbit", number, T => Ok(map::map::<T, bool>(x, #[inline(always)] |x| x.has_minus())))
    }
}

impl Facts for Square {
    const DOMAIN: (f64, f64) = (-2.0, 2.0);
    fn reference(x: f64) -> f64 {
        x * x
    }
}

impl Unary for Square {
    const NAME: &'static str = "square";
    #[inline]
    fn kernel(x: &Array) -> Result<Array> {
        if x.dtype().is_complex() {
            return dispatch!(x.dtype(), "square", complex, T => Ok(map::map::<T, T>(x, #[inline(always)] |z| z * z)));
        }
        dispatch!(x.dtype(), "square", number, T => Ok(map::map::<T, T>(x, #[inline(always)] |x| x.times(x))))
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        slope::<Square>(d, x)
    }
}

impl Slope for Square {
    const NAME: &'static str = "square_backward";
    const COMPLEX: Option<complex::Function2> = Some(|d, x| d * (x + x));
    #[inline(always)]
    fn times<T: Float>(d: T, x: T) -> T {
        d * (x + x)
    }
    fn derivative(x: &Tensor) -> Result<Tensor> {
        Ok(constant(2.0, x))
    }
}

impl Facts for Relu {
    const DOMAIN: (f64, f64) = (-2.0, 2.0);
    const KINKS: &'static [(f64, f64)] = &[(0.0, 0.0)];
    fn reference(x: f64) -> f64 {
        if x > 0.0 { x } else { 0.0 }
    }
}

impl Unary for Relu {
    const NAME: &'static str = "relu";
    const READS_INPUT: bool = false;
    const READS_OUTPUT: bool = true;
    #[inline]
    fn kernel(x: &Array) -> Result<Array> {
        dispatch!(x.dtype(), "relu", number, T => Ok(map::map::<T, T>(x,
            #[inline(always)] |x| x.positive_part())))
    }
    fn derivative(d: &Tensor, _: &Tensor, y: &Tensor) -> Result<Tensor> {
        slope::<Relu>(d, y)
    }
}

impl Slope for Relu {
    const NAME: &'static str = "relu_backward";
    const VARIES: bool = false;
    #[inline(always)]
    fn times<T: Float>(d: T, y: T) -> T {
        if y <= T::ZERO { T::ZERO } else { d }
    }
}
