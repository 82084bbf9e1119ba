//! The elementary functions of an `f32`, without branches, so that loops over them vectorise.
//!
//! All coefficients are minimax fits (Remez exchange in 60 digits) of the function named above them, over the reduced
//! range that stands there. Reductions follow Cody and Waite: subtract multiples of a constant that is split into
//! parts, with fused multiply-add. Integers made from the bits of an argument outside the domain wrap; a selection at
//! the end gives such arguments their value. Every function is within 2 units in the last place.

// Coefficients are data, and are given to the digit that makes them exact.
#![allow(clippy::approx_constant, clippy::excessive_precision)]

use super::{Core, poly};

/// Adding and subtracting this rounds to an integer, which then stands in the low bits.
const ROUND: f32 = 12_582_912.0;

#[inline(always)]
fn fma(a: f32, b: f32, c: f32) -> f32 {
    a.mul_add(b, c)
}

/// 2ⁿ for −127 < n < 128.
#[inline(always)]
fn pow2(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) << 23) as u32)
}

/// `x` cut off at `lo` and `hi`; NaN stays.
#[inline(always)]
fn clamp(x: f32, lo: f32, hi: f32) -> f32 {
    let x = if x < lo { lo } else { x };
    if x > hi { hi } else { x }
}

/// The integer n nearest to x/ln 2 and x − n·ln 2.
#[inline(always)]
fn reduce_exp(x: f32) -> (i32, f32) {
    let t = fma(x, std::f32::consts::LOG2_E, ROUND);
    let n = t - ROUND;
    let r = fma(n, -0.693_147_2, x);
    ((t.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32), fma(n, 1.904_654_2e-9, r))
}

/// eʳ for |r| ≤ ln 2 / 2.
#[inline(always)]
fn exp_reduced(r: f32) -> f32 {
    // (eʳ − 1 − r)/r².
    let q = poly!(r; 0.499_999_94, 0.166_665_2, 0.041_668_393, 0.008_368_781, 0.001_381_446_7);
    fma(r * r, q, r) + 1.0
}

/// y·2ⁿ in two steps, so that results below the normal range round once.
#[inline(always)]
fn scale(y: f32, n: i32) -> f32 {
    let half = n >> 1;
    y * pow2(half) * pow2(n.wrapping_sub(half))
}

/// x = m·2ᵉ with m between √½ and √2, for normal positive x: (e, m − 1).
#[inline(always)]
fn split(x: f32) -> (f32, f32) {
    const SQRT_HALF: i32 = 0x3f35_04f3;
    let bits = x.to_bits() as i32;
    let e = bits.wrapping_sub(SQRT_HALF) >> 23;
    let m = f32::from_bits(bits.wrapping_sub(e << 23) as u32);
    (e as f32, m - 1.0)
}

/// log(1 + f) − f for √½ ≤ 1 + f ≤ √2.
#[inline(always)]
fn log_tail(f: f32) -> f32 {
    // (log(1 + f) − f + f²/2)/f³.
    let p = poly!(f; 0.333_333_13, -0.250_000_1, 0.200_021_19, -0.166_679_98, 0.142_195_3, -0.124_055_3,
        0.118_883_155, -0.116_761_55, 0.067_468_92);
    let f2 = f * f;
    fma(f2 * f, p, -0.5 * f2)
}

/// What `log` of a number below, at and above the positive finite range is; else `y`.
#[inline(always)]
fn log_special(x: f32, y: f32) -> f32 {
    let y = if x < f32::INFINITY { y } else { x };
    let y = if x > 0.0 || x.is_nan() { y } else { f32::NAN };
    if x == 0.0 { f32::NEG_INFINITY } else { y }
}

/// (e, f, whole): the parts of [`split`] for any positive x; subnormal ones are scaled up first.
#[inline(always)]
fn split_any(x: f32) -> (f32, f32) {
    let tiny = x < f32::MIN_POSITIVE;
    let (e, f) = split(if tiny { x * 8_388_608.0 } else { x });
    (if tiny { e - 23.0 } else { e }, f)
}

/// The quadrant of x and its distance from the multiple of π/2, for |x| below [`Core::TRIG_LIMIT`].
#[inline(always)]
fn reduce_trig(x: f32) -> (i32, f32) {
    let t = fma(x, std::f32::consts::FRAC_2_PI, ROUND);
    let n = t - ROUND;
    // The first step is exact; the error of the second is carried, since the result may be tiny.
    let r = fma(n, -1.570_796_4, x);
    let w = n * -4.371_138_8e-8;
    let lost = fma(n, -4.371_138_8e-8, -w);
    let s = r - w;
    let rest = (r - s) - w - lost;
    (t.to_bits() as i32, s + fma(n, 1.715_124_5e-15, rest))
}

/// (sin r − r)/r³ as a function of r².
#[inline(always)]
fn sin_poly(z: f32) -> f32 {
    poly!(z; -0.166_666_67, 0.008_333_329, -0.000_198_392_58, 2.717_311_4e-6)
}

/// sin or cos of x: the sine of the angle `quadrant` quarter turns further.
#[inline(always)]
fn sin_from(x: f32, quadrant: i32) -> f32 {
    let (q, r) = reduce_trig(x);
    let q = q.wrapping_add(quadrant);
    let z = r * r;
    let sin = fma(r * z, sin_poly(z), r);
    let cos = fma(z * z, poly!(z; 0.041_666_653, -0.001_388_765_2, 2.446_350_1e-5), fma(z, -0.5, 1.0));
    let y = if q & 1 == 0 { sin } else { cos };
    f32::from_bits(y.to_bits() ^ (((q & 2) as u32) << 30))
}

impl Core for f32 {
    const TRIG_LIMIT: f32 = 30_000.0;

    #[inline(always)]
    fn exp_scaled(self, shift: i32) -> f32 {
        let (n, r) = reduce_exp(clamp(self, -105.0, 90.0));
        scale(exp_reduced(r), n.wrapping_add(shift))
    }

    #[inline(always)]
    fn exp2_core(self) -> f32 {
        let x = clamp(self, -151.0, 129.0);
        let t = x + ROUND;
        let r = x - (t - ROUND);
        // 2ʳ, |r| ≤ ½.
        let p = poly!(r; 0.693_147_24, 0.240_226_5, 0.055_502_962, 0.009_618_03, 0.001_341_030_8, 0.000_154_699_97);
        scale(fma(r, p, 1.0), (t.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32))
    }

    #[inline(always)]
    fn expm1_scaled(self, shift: i32) -> f32 {
        let x = clamp(self, -18.0, (128.1 - shift as f32) * std::f32::consts::LN_2);
        let (n, r) = reduce_exp(x);
        // (eʳ − 1 − r)/r².
        let q = poly!(r; 0.5, 0.166_666_67, 0.041_666_24, 0.008_333_286, 0.001_394_87, 0.000_199_077_04);
        let p = fma(r * r, q, r);
        // Half the result, since 2ⁿ itself may overflow.
        let s = pow2(n.wrapping_add(shift - 1));
        2.0 * fma(s, p, s - pow2(shift - 1))
    }

    #[inline(always)]
    fn log_core(self) -> f32 {
        let (e, f) = split_any(self);
        let y = fma(e, 1.428_606_8e-6, log_tail(f)) + f;
        log_special(self, fma(e, 0.693_145_75, y))
    }

    #[inline(always)]
    fn log_times(self, base: super::LogBase<f32>) -> f32 {
        let (e, f) = split_any(self);
        let tail = log_tail(f);
        let y = f + tail;
        let lost = (f - y) + tail;
        let p = y * base.scale;
        let low = fma(y, base.scale, -p) + fma(y, base.scale_low, lost * base.scale);
        let hi = fma(e, base.of_two, p);
        let round = fma(e, base.of_two, -hi) + p;
        log_special(self, hi + (round + fma(e, base.of_two_low, low)))
    }

    #[inline(always)]
    fn log1p_core(self) -> f32 {
        let x = self;
        let u = 1.0 + x;
        let b = u - 1.0;
        let lost = ((1.0 - (u - b)) + (x - b)) / u;
        let (e, f) = split(u);
        let y = fma(e, 1.428_606_8e-6, log_tail(f) + lost) + f;
        let y = fma(e, 0.693_145_75, y);
        // Below this the sum above would lose the sign of zero.
        let y = if x.abs() < 1e-10 { x } else { y };
        log_special(u, y)
    }

    #[inline(always)]
    fn sin_core(self) -> f32 {
        let y = sin_from(self, 0);
        if self == 0.0 { self } else { y }
    }

    #[inline(always)]
    fn cos_core(self) -> f32 {
        sin_from(self, 1)
    }

    #[inline(always)]
    fn tan_core(self) -> f32 {
        let (q, r) = reduce_trig(self);
        // The quotient of two rounded functions would be off by more than 2 units, so the parts that are lost are kept.
        let z = f64::from(r) * f64::from(r);
        let sin = f64::from(r) * poly!(z; 1.0, -0.166_666_666_4, 0.008_333_328_9, -0.000_198_392_58, 2.717_311_4e-6);
        let cos = poly!(z; 1.0, -0.5, 0.041_666_667_6, -0.001_388_888_6, 2.479_990_9e-5, -2.723_684_8e-7);
        let odd = q & 1 != 0;
        let (a, b) = if odd { (-cos, sin) } else { (sin, cos) };
        let y = (a / b) as f32;
        if self == 0.0 { self } else { y }
    }

    #[inline(always)]
    fn sinh_core(self) -> f32 {
        let a = self.abs();
        let z = a * a;
        // (sinh x / x − 1)/x² on [0, 1].
        let p = poly!(z; 0.166_666_67, 0.008_333_350_5, 0.000_198_358_71, 2.819_029e-6);
        let near = fma(a * z, p, a);
        let e = a.exp_scaled(-1);
        let far = e - 0.25 / e;
        (if a < 1.0 { near } else { far }).copysign(self)
    }

    #[inline(always)]
    fn tanh_core(self) -> f32 {
        let a = self.abs();
        let z = a * a;
        // (tanh x / x − 1)/x² on [0, 0.55].
        let p = poly!(z; -0.333_333_2, 0.133_326_25, -0.053_851_65, 0.021_055_805, -0.006_238_845_6);
        let near = fma(a * z, p, a);
        let t = if a > 10.0 { 10.0 } else { a };
        let (n, r) = reduce_exp(t + t);
        let far = 1.0 - 2.0 / fma(exp_reduced(r), pow2(n), 1.0);
        (if a < 0.55 { near } else { far }).copysign(self)
    }

    #[inline(always)]
    fn erf_core(self) -> f32 {
        let a = self.abs();
        let z = a * a;
        // erf(x)/x − 1 on [0, 1].
        let p = poly!(z; 0.128_379_12, -0.376_123_25, 0.112_801_805, -0.026_711_313, 0.004_917_553, -0.000_563_142_9);
        let near = fma(self, p, self);
        // erf on [1, 3.95], about a number whose erf is nearly exact; from 3.92 on it is 1.
        let u = (if a > 3.92 { 3.92 } else { a }) - 2.470_708_8;
        let far = poly!(u; 0.999_524_35, 0.002_519_541, -0.006_226_707_2, 0.009_416_508_5, -0.009_545_235,
            0.006_608_179_3, -0.002_929_192_3, 0.000_494_676_47, 0.000_363_873_67, -0.000_296_107_76,
            5.389_097_7e-5, 2.427_073_6e-5, -9.006_62e-6);
        if a < 1.0 { near } else { far.copysign(self) }
    }

    #[inline(always)]
    fn erfc_core(self) -> f32 {
        // The accuracy asked for near the end of the range is far beyond f32.
        super::double::erfc_for_single(f64::from(self)) as f32
    }

    #[inline(always)]
    fn pow_core(self, y: f32) -> f32 {
        super::double::pow_for_single(f64::from(self.abs()), f64::from(y)) as f32
    }

    #[inline(always)]
    fn atan_core(self) -> f32 {
        let a = self.abs();
        let far = a > 1.0;
        let t = if far { -1.0 / a } else { a };
        let z = t * t;
        // (atan t / t − 1)/t² on [0, 1].
        let p = poly!(z; -0.333_333_13, 0.199_988_42, -0.142_663_46, 0.109_585_82, -0.084_106_54, 0.057_913_54,
            -0.030_991_29, 0.010_748_5, -0.001_743_701_2);
        let y = fma(t * z, p, t);
        let y = if far { std::f32::consts::FRAC_PI_2 + (y - 4.371_138_8e-8) } else { y };
        y.copysign(self)
    }

    #[inline(always)]
    fn asin_core(self) -> f32 {
        let (y, tail, far) = asin_reduced(self.abs());
        // asin a = π/2 − 2 asin √((1 − a)/2), where the first difference is exact or nearly so.
        let end = fma(-2.0, y, std::f32::consts::FRAC_PI_2) - fma(2.0, tail, 4.371_138_8e-8);
        (if far { end } else { y + tail }).copysign(self)
    }

    #[inline(always)]
    fn acos_core(self) -> f32 {
        let (y, tail, far) = asin_reduced(self.abs());
        let (y0, tail0) = (y.copysign(self), tail.copysign(self));
        let near = (std::f32::consts::FRAC_PI_2 - y0) - (tail0 + 4.371_138_8e-8);
        let left = fma(-2.0, y, std::f32::consts::PI) - fma(2.0, tail, 8.742_278e-8);
        let end = if self < 0.0 { left } else { 2.0 * (y + tail) };
        if far { end } else { near }
    }
}

/// asin of a ≤ ½, or of √((1 − a)/2) for larger a, as the argument and what the sine adds to it; and which.
#[inline(always)]
fn asin_reduced(a: f32) -> (f32, f32, bool) {
    let far = a > 0.5;
    let z = if far { fma(a, -0.5, 0.5) } else { a * a };
    let t = if far { z.sqrt() } else { a };
    // (asin t / t − 1)/t² on [0, ½].
    let p = poly!(z; 0.166_667_31, 0.074_956_6, 0.045_466_92, 0.024_050_372, 0.042_565_763);
    (t, t * z * p, far)
}
