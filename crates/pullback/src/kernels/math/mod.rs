//! Functions of one or two floats.
//!
//! They are branch-free scalar code, which the compiler vectorises where it is inlined into a loop under
//! [`vectorize`](super::simd::vectorize); single calls outside such a loop work, slowly. Call them through the trait
//! (`Float::exp(x)`, or with `T: Float`): on a plain `f32` the method syntax would find the standard library's
//! function. `sin`, `cos` and `tan` branch for huge arguments, so whole arrays go through [`sin`], [`cos`] and [`tan`].

pub(crate) mod complex;
mod double;
pub(crate) mod implicit;
mod single;
pub(crate) mod special;
#[cfg(test)]
mod tests;

use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

use super::map::{map, map_guarded};
use crate::array::Array;
use crate::dtype::Element;

/// A polynomial by Horner's rule, constant term first.
macro_rules! poly {
    ($x:expr; $c:literal) => { $c };
    ($x:expr; $c:literal, $($rest:literal),+) => { $x.mul_add($crate::kernels::math::poly!($x; $($rest),+), $c) };
}
pub(crate) use poly;

/// The base of a logarithm: 1/ln b and log_b 2, each with what its first part lacks.
#[derive(Clone, Copy)]
pub(crate) struct LogBase<T> {
    scale: T,
    scale_low: T,
    of_two: T,
    of_two_low: T,
}

/// What is different for each dtype. The functions for use are in [`Float`].
pub(crate) trait Core: Element + PartialOrd {
    /// The largest magnitude for which the trigonometric cores are right.
    const TRIG_LIMIT: Self;
    /// eˣ·2^shift, for shift 0 or −1.
    fn exp_scaled(self, shift: i32) -> Self;
    fn exp2_core(self) -> Self;
    /// (eˣ − 1)·2^shift, for shift 0 or −1.
    fn expm1_scaled(self, shift: i32) -> Self;
    fn log_core(self) -> Self;
    fn log_times(self, base: LogBase<Self>) -> Self;
    fn log1p_core(self) -> Self;
    fn sin_core(self) -> Self;
    fn cos_core(self) -> Self;
    fn tan_core(self) -> Self;
    fn sinh_core(self) -> Self;
    fn tanh_core(self) -> Self;
    fn erf_core(self) -> Self;
    fn erfc_core(self) -> Self;
    /// |x|ʸ for finite non-zero x.
    fn pow_core(self, y: Self) -> Self;
    fn atan_core(self) -> Self;
    fn asin_core(self) -> Self;
    fn acos_core(self) -> Self;
}

/// The floating dtypes and their functions. Special values are those of IEEE 754 and C.
pub(crate) trait Float:
    Core
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
    + Neg<Output = Self>
{
    const NAN: Self;
    const INFINITY: Self;
    const PI: Self;
    /// What `PI` lacks.
    const PI_LOW: Self;
    const LN_2: Self;
    const HALF: Self;
    const TWO: Self;
    const BASE_2: LogBase<Self>;
    const BASE_10: LogBase<Self>;

    fn sqrt(self) -> Self;
    fn cbrt(self) -> Self;
    fn hypot(self, y: Self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    /// Halves go to the even neighbour.
    fn round(self) -> Self;
    fn trunc(self) -> Self;
    fn abs(self) -> Self;
    /// The magnitude of `self` with the sign bit of `sign`.
    fn copysign(self, sign: Self) -> Self;
    /// `self·a + b`, rounded once.
    fn mul_add(self, a: Self, b: Self) -> Self;
    fn is_sign_negative(self) -> bool;
    /// The standard library's function, right for any argument.
    fn sin_slow(self) -> Self;
    fn cos_slow(self) -> Self;
    fn tan_slow(self) -> Self;

    #[inline(always)]
    fn exp(self) -> Self {
        self.exp_scaled(0)
    }

    #[inline(always)]
    fn exp2(self) -> Self {
        self.exp2_core()
    }

    #[inline(always)]
    fn expm1(self) -> Self {
        let y = self.expm1_scaled(0);
        if self == Self::ZERO { self } else { y }
    }

    #[inline(always)]
    fn log(self) -> Self {
        self.log_core()
    }

    #[inline(always)]
    fn log2(self) -> Self {
        self.log_times(Self::BASE_2)
    }

    #[inline(always)]
    fn log10(self) -> Self {
        self.log_times(Self::BASE_10)
    }

    #[inline(always)]
    fn log1p(self) -> Self {
        self.log1p_core()
    }

    #[inline(always)]
    fn rsqrt(self) -> Self {
        Self::ONE / self.sqrt()
    }

    #[inline(always)]
    fn sin(self) -> Self {
        if trig_in_range(self) { self.sin_core() } else { self.sin_slow() }
    }

    #[inline(always)]
    fn cos(self) -> Self {
        if trig_in_range(self) { self.cos_core() } else { self.cos_slow() }
    }

    #[inline(always)]
    fn tan(self) -> Self {
        if trig_in_range(self) { self.tan_core() } else { self.tan_slow() }
    }

    #[inline(always)]
    fn asin(self) -> Self {
        self.asin_core()
    }

    #[inline(always)]
    fn acos(self) -> Self {
        self.acos_core()
    }

    #[inline(always)]
    fn atan(self) -> Self {
        self.atan_core()
    }

    /// The angle of the point (x, self).
    #[inline(always)]
    fn atan2(self, x: Self) -> Self {
        let (a, b) = (self.abs(), x.abs());
        let both = a == b;
        // Equal magnitudes, infinite or zero, have a direction too.
        let t = if both { if a == Self::ZERO { a } else { Self::ONE } } else { a / b };
        let right = t.atan_core();
        let y = if x.is_sign_negative() { Self::PI - (right - Self::PI_LOW) } else { right };
        if x.is_nan() || self.is_nan() { x + self } else { y.copysign(self) }
    }

    #[inline(always)]
    fn sinh(self) -> Self {
        self.sinh_core()
    }

    #[inline(always)]
    fn cosh(self) -> Self {
        let e = self.abs().exp_scaled(-1);
        e + Self::from_f64(0.25) / e
    }

    #[inline(always)]
    fn tanh(self) -> Self {
        self.tanh_core()
    }

    #[inline(always)]
    fn asinh(self) -> Self {
        let a = self.abs();
        let huge = a > Self::from_f64(1e17);
        let z = a * a;
        let t = a + z / (Self::ONE + (Self::ONE + z).sqrt());
        let y = (if huge { a } else { t }).log1p_core() + if huge { Self::LN_2 } else { Self::ZERO };
        y.copysign(self)
    }

    #[inline(always)]
    fn acosh(self) -> Self {
        let huge = self > Self::from_f64(1e17);
        let t = self - Self::ONE;
        let s = t + (t * (t + Self::TWO)).sqrt();
        let y = (if huge { self } else { s }).log1p_core() + if huge { Self::LN_2 } else { Self::ZERO };
        if self < Self::ONE { Self::NAN } else { y }
    }

    #[inline(always)]
    fn atanh(self) -> Self {
        let a = self.abs();
        let y = Self::HALF * ((a + a) / (Self::ONE - a)).log1p_core();
        y.copysign(self)
    }

    /// 1/(1 + e⁻ˣ).
    #[inline(always)]
    fn sigmoid(self) -> Self {
        let e = (-self.abs()).exp_scaled(0);
        // As b − b·e/(1 + e), the error of the quotient hardly counts.
        let b = if self < Self::ZERO { e } else { Self::ONE };
        (-b).mul_add(e / (Self::ONE + e), b)
    }

    /// log(1 + eˣ).
    #[inline(always)]
    fn softplus(self) -> Self {
        let rest = (-self.abs()).exp_scaled(0).log1p_core();
        (if self < Self::ZERO { Self::ZERO } else { self }) + rest
    }

    #[inline(always)]
    fn erf(self) -> Self {
        self.erf_core()
    }

    #[inline(always)]
    fn erfc(self) -> Self {
        self.erfc_core()
    }

    #[inline(always)]
    fn powf(self, y: Self) -> Self {
        let a = self.abs();
        let size = a.pow_core(y);
        let edge = if (a == Self::ZERO) == (y < Self::ZERO) { Self::INFINITY } else { Self::ZERO };
        let size = if a == Self::ZERO || a == Self::INFINITY { edge } else { size };
        let size = if a == Self::ONE { Self::ONE } else { size };
        let whole = y == y.trunc();
        let half = y * Self::HALF;
        let odd = whole && half != half.trunc();
        let value = if odd && self.is_sign_negative() { -size } else { size };
        let value = if self < Self::ZERO && a < Self::INFINITY && !whole { Self::NAN } else { value };
        let value = if self.is_nan() || y.is_nan() { Self::NAN } else { value };
        if y == Self::ZERO || self == Self::ONE { Self::ONE } else { value }
    }

    /// −1, 0 or 1; zeros keep their sign, and NaN stays.
    #[inline(always)]
    fn sign(self) -> Self {
        let one = Self::ONE.copysign(self);
        if self == Self::ZERO || self.is_nan() { self } else { one }
    }

    #[inline(always)]
    #[allow(clippy::eq_op)]
    fn is_nan(self) -> bool {
        self != self
    }

    #[inline(always)]
    fn is_finite(self) -> bool {
        self.abs() < Self::INFINITY
    }

    /// The larger one; NaN if either is NaN.
    #[inline(always)]
    fn maximum(self, other: Self) -> Self {
        if self > other || self.is_nan() { self } else { other }
    }
}

/// Whether the fast trigonometric functions are right for x; also true for NaN, which they keep, and infinity.
#[inline(always)]
fn trig_in_range<T: Float>(x: T) -> bool {
    x.abs() <= T::TRIG_LIMIT
}

/// The sine of every element.
pub(crate) fn sin<T: Float>(x: &Array) -> Array {
    map_guarded(
        x,
        #[inline(always)]
        |v: T| trig_in_range(v),
        #[inline(always)]
        |v| v.sin_core(),
        |v| v.sin_slow(),
    )
}

/// The cosine of every element.
pub(crate) fn cos<T: Float>(x: &Array) -> Array {
    map_guarded(
        x,
        #[inline(always)]
        |v: T| trig_in_range(v),
        #[inline(always)]
        |v| v.cos_core(),
        |v| v.cos_slow(),
    )
}

/// The tangent of every element.
pub(crate) fn tan<T: Float>(x: &Array) -> Array {
    map_guarded(
        x,
        #[inline(always)]
        |v: T| trig_in_range(v),
        #[inline(always)]
        |v| v.tan_core(),
        |v| v.tan_slow(),
    )
}

/// Every element to the power `n`.
pub(crate) fn powi<T: Float>(x: &Array, n: i32) -> Array {
    macro_rules! by {
        ($v:ident => $f:expr) => {
            map(
                x,
                #[inline(always)]
                |$v: T| $f,
            )
        };
    }
    match n {
        0 => by!(_v => T::ONE),
        1 => x.clone(),
        2 => by!(v => v * v),
        3 => by!(v => v * v * v),
        4 => by!(v => (v * v) * (v * v)),
        -1 => by!(v => T::ONE / v),
        -2 => by!(v => T::ONE / (v * v)),
        // The sign comes from the integer, which `f32` rounds beyond 2²⁴. Such powers of numbers other than ±1 that
        // are finite and not zero lose a few more digits.
        _ => {
            let (y, odd) = (T::from_f64(f64::from(n)), n & 1 == 1);
            by!(v => {
                let size = v.abs().powf(y);
                if odd { size.copysign(v) } else { size }
            })
        }
    }
}

macro_rules! float {
    ($t:ident, $base_2:expr, $base_10:expr, $pi_low:expr) => {
        impl Float for $t {
            const NAN: $t = $t::NAN;
            const INFINITY: $t = $t::INFINITY;
            const PI: $t = std::$t::consts::PI;
            const PI_LOW: $t = $pi_low;
            const LN_2: $t = std::$t::consts::LN_2;
            const HALF: $t = 0.5;
            const TWO: $t = 2.0;
            const BASE_2: LogBase<$t> = $base_2;
            const BASE_10: LogBase<$t> = $base_10;
            float!(@ $t sqrt sqrt, cbrt cbrt, floor floor, ceil ceil, round round_ties_even, trunc trunc, abs abs,
                sin_slow sin, cos_slow cos, tan_slow tan);
            #[inline(always)]
            fn hypot(self, y: $t) -> $t {
                self.hypot(y)
            }
            #[inline(always)]
            fn copysign(self, sign: $t) -> $t {
                self.copysign(sign)
            }
            #[inline(always)]
            fn mul_add(self, a: $t, b: $t) -> $t {
                self.mul_add(a, b)
            }
            #[inline(always)]
            fn is_sign_negative(self) -> bool {
                self.is_sign_negative()
            }
        }
    };
    (@ $t:ident $($name:ident $std:ident),*) => { $(
        #[inline(always)]
        fn $name(self) -> $t {
            self.$std()
        }
    )* };
}
float!(
    f32,
    LogBase { scale: std::f32::consts::LOG2_E, scale_low: 1.925_963e-8, of_two: 1.0, of_two_low: 0.0 },
    LogBase {
        scale: std::f32::consts::LOG10_E,
        scale_low: -1.010_305e-8,
        of_two: std::f32::consts::LOG10_2,
        of_two_low: -1.432_098_9e-8
    },
    -8.742_278e-8
);
float!(
    f64,
    LogBase { scale: std::f64::consts::LOG2_E, scale_low: 2.035_527_374_093_103_3e-17, of_two: 1.0, of_two_low: 0.0 },
    LogBase {
        scale: std::f64::consts::LOG10_E,
        scale_low: 1.098_319_650_216_765e-17,
        of_two: std::f64::consts::LOG10_2,
        of_two_low: -2.803_728_127_785_170_4e-18
    },
    1.224_646_799_147_353_2e-16
);
