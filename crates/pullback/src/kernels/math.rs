//! Functions of one or two floats.
//!
//! Call them through the trait (`Float::exp(x)`, or with `T: Float`): on a plain `f32` the method syntax would find
//! the standard library's scalar version.

use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

use crate::dtype::Element;

/// The floating dtypes and their functions.
pub(crate) trait Float:
    Element
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
    + Neg<Output = Self>
{
    const NAN: Self;
    const INFINITY: Self;
    const EPSILON: Self;
    const PI: Self;
    fn exp(self) -> Self;
    fn exp2(self) -> Self;
    fn expm1(self) -> Self;
    fn log(self) -> Self;
    fn log2(self) -> Self;
    fn log10(self) -> Self;
    fn log1p(self) -> Self;
    fn sqrt(self) -> Self;
    fn rsqrt(self) -> Self;
    fn cbrt(self) -> Self;
    fn sin(self) -> Self;
    fn cos(self) -> Self;
    fn tan(self) -> Self;
    fn asin(self) -> Self;
    fn acos(self) -> Self;
    fn atan(self) -> Self;
    fn atan2(self, x: Self) -> Self;
    fn sinh(self) -> Self;
    fn cosh(self) -> Self;
    fn tanh(self) -> Self;
    fn asinh(self) -> Self;
    fn acosh(self) -> Self;
    fn atanh(self) -> Self;
    fn sigmoid(self) -> Self;
    fn softplus(self) -> Self;
    fn erf(self) -> Self;
    fn erfc(self) -> Self;
    fn powf(self, y: Self) -> Self;
    fn powi(self, n: i32) -> Self;
    fn hypot(self, y: Self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    /// Halves go to the even neighbour.
    fn round(self) -> Self;
    fn trunc(self) -> Self;
    fn abs(self) -> Self;
    /// −1, 0 or 1; NaN of NaN.
    fn sign(self) -> Self;
    /// The magnitude of `self` with the sign bit of `sign`.
    fn copysign(self, sign: Self) -> Self;
    /// `self·a + b`, rounded once where the machine can.
    fn mul_add(self, a: Self, b: Self) -> Self;
    fn is_nan(self) -> bool;
    fn is_finite(self) -> bool;
    /// The larger one; NaN if either is NaN.
    fn maximum(self, other: Self) -> Self;
    /// The smaller one; NaN if either is NaN.
    fn minimum(self, other: Self) -> Self;
}

macro_rules! float_by_std {
    ($t:ident) => {
        impl Float for $t {
            const NAN: $t = $t::NAN;
            const INFINITY: $t = $t::INFINITY;
            const EPSILON: $t = $t::EPSILON;
            const PI: $t = std::$t::consts::PI;
            float_by_std!(@ $t exp exp2 log2 log10 sqrt cbrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh
                floor ceil trunc abs);
            #[inline(always)]
            fn expm1(self) -> $t { self.exp_m1() }
            #[inline(always)]
            fn log(self) -> $t { self.ln() }
            #[inline(always)]
            fn log1p(self) -> $t { self.ln_1p() }
            #[inline(always)]
            fn rsqrt(self) -> $t { 1.0 / self.sqrt() }
            #[inline(always)]
            fn atan2(self, x: $t) -> $t { self.atan2(x) }
            #[inline(always)]
            fn hypot(self, y: $t) -> $t { self.hypot(y) }
            #[inline(always)]
            fn sigmoid(self) -> $t {
                let e = (-self.abs()).exp();
                (if self < 0.0 { e } else { 1.0 }) / (1.0 + e)
            }
            #[inline(always)]
            fn softplus(self) -> $t {
                (-self.abs()).exp().ln_1p() + Float::maximum(self, 0.0)
            }
            #[inline(always)]
            fn erf(self) -> $t {
                // Maclaurin series below 3, else 1: a stand-in.
                let (mut term, mut sum) = (self as f64, self as f64);
                let x2 = term * term;
                if x2 > 36.0 { return (1.0f64).copysign(self as f64) as $t; }
                for k in 1..200 {
                    term *= -x2 / k as f64;
                    sum += term / (2 * k + 1) as f64;
                }
                (sum * std::f64::consts::FRAC_2_SQRT_PI) as $t
            }
            #[inline(always)]
            fn erfc(self) -> $t { 1.0 - Float::erf(self) }
            #[inline(always)]
            fn powf(self, y: $t) -> $t { self.powf(y) }
            #[inline(always)]
            fn powi(self, n: i32) -> $t { self.powi(n) }
            #[inline(always)]
            fn round(self) -> $t { self.round_ties_even() }
            #[inline(always)]
            fn sign(self) -> $t {
                if self > 0.0 { 1.0 } else if self < 0.0 { -1.0 } else { self }
            }
            #[inline(always)]
            fn copysign(self, sign: $t) -> $t { self.copysign(sign) }
            #[inline(always)]
            fn mul_add(self, a: $t, b: $t) -> $t { self.mul_add(a, b) }
            #[inline(always)]
            fn is_nan(self) -> bool { self != self }
            #[inline(always)]
            fn is_finite(self) -> bool { self.is_finite() }
            #[inline(always)]
            fn maximum(self, other: $t) -> $t { if self > other || self != self { self } else { other } }
            #[inline(always)]
            fn minimum(self, other: $t) -> $t { if self < other || self != self { self } else { other } }
        }
    };
    (@ $t:ident $($f:ident)*) => { $(
        #[inline(always)]
        fn $f(self) -> $t { self.$f() }
    )* };
}
float_by_std!(f32);
float_by_std!(f64);
