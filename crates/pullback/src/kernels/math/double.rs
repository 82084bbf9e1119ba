//! The elementary functions of an `f64`, without branches, so that loops over them vectorise.
//!
//! Coefficients and reductions are made as those of the `f32` functions. Relative errors stay below 1e-15.

// Coefficients are data, and are given to the digit that makes them exact.
#![allow(clippy::approx_constant, clippy::excessive_precision)]

use super::{Core, poly};

/// Adding and subtracting this rounds to an integer, which then stands in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;

const LN2: f64 = std::f64::consts::LN_2;
/// What `LN2` lacks.
const LN2_LOW: f64 = 2.319_046_813_846_299_6e-17;
/// ln 2 in 41 bits, whose product with an exponent is exact, and the rest.
const LN2_SHORT: f64 = 0.693_147_180_560_117_7;
const LN2_REST: f64 = -1.723_944_452_561_483_5e-13;

#[inline(always)]
fn fma(a: f64, b: f64, c: f64) -> f64 {
    a.mul_add(b, c)
}

/// 2ⁿ for −1023 < n < 1024.
#[inline(always)]
fn pow2(n: i64) -> f64 {
    f64::from_bits((n.wrapping_add(1023) << 52) as u64)
}

/// `x` cut off at `lo` and `hi`; NaN stays.
#[inline(always)]
fn clamp(x: f64, lo: f64, hi: f64) -> f64 {
    let x = if x < lo { lo } else { x };
    if x > hi { hi } else { x }
}

/// The integer n nearest to x/ln 2 and x + low − n·ln 2.
#[inline(always)]
fn reduce_exp(x: f64, low: f64) -> (i64, f64) {
    let t = fma(x, std::f64::consts::LOG2_E, ROUND);
    let n = t - ROUND;
    let r = fma(n, -LN2, x);
    ((t.to_bits() as i64).wrapping_sub(ROUND.to_bits() as i64), r + fma(n, -LN2_LOW, low))
}

/// (eʳ − 1 − r)/r² for |r| ≤ ln 2 / 2.
#[inline(always)]
fn exp_poly(r: f64) -> f64 {
    poly!(r; 0.500_000_000_000_001, 0.166_666_666_666_666_74, 0.041_666_666_666_520_95, 0.008_333_333_333_322_127,
        0.001_388_888_894_814_000_7, 0.000_198_412_698_868_363_9, 2.480_148_696_535_089_5e-5,
        2.755_724_205_934_048_4e-6, 2.763_279_158_266_039e-7, 2.511_015_434_044_301_3e-8)
}

#[inline(always)]
fn exp_reduced(r: f64) -> f64 {
    fma(r * r, exp_poly(r), r) + 1.0
}

/// y·2ⁿ in two steps, so that results below the normal range round once.
#[inline(always)]
fn scale(y: f64, n: i64) -> f64 {
    let half = n >> 1;
    y * pow2(half) * pow2(n.wrapping_sub(half))
}

/// x = m·2ᵉ with m between √½ and √2, for normal positive x: (e, m − 1).
#[inline(always)]
fn split(x: f64) -> (f64, f64) {
    const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    const MANTISSA: u64 = (1 << 52) - 1;
    const TWO_52: u64 = 0x4330_0000_0000_0000;
    let shifted = x.to_bits().wrapping_add(0x3ff0_0000_0000_0000 - SQRT_HALF);
    // The exponent becomes a float by way of its bits: no instruction converts 64-bit integers below AVX-512.
    let e = f64::from_bits((shifted >> 52) | TWO_52) - (4_503_599_627_370_496.0 + 1023.0);
    let m = f64::from_bits((shifted & MANTISSA) + SQRT_HALF);
    (e, m - 1.0)
}

/// As [`split`], for any positive x: subnormal ones are scaled up first.
#[inline(always)]
fn split_any(x: f64) -> (f64, f64) {
    let tiny = x < f64::MIN_POSITIVE;
    let (e, f) = split(if tiny { x * 18_014_398_509_481_984.0 } else { x });
    (if tiny { e - 54.0 } else { e }, f)
}

/// log(1 + f) − f for √½ ≤ 1 + f ≤ √2, from log(1 + f) = 2 artanh s with s = f/(2 + f).
#[inline(always)]
fn log_tail(f: f64) -> f64 {
    let s = f / (2.0 + f);
    let z = s * s;
    // (2 artanh s / s − 2)/s².
    let p = poly!(z; 0.666_666_666_666_671, 0.399_999_999_995_142_24, 0.285_714_287_308_224_5, 0.222_221_989_100_285_48,
        0.181_835_818_796_536_68, 0.153_128_807_795_660_13, 0.148_135_114_490_265_62);
    let half = 0.5 * f * f;
    fma(s, fma(z, p, half), -half)
}

/// What `log` of a number below, at and above the positive finite range is; else `y`.
#[inline(always)]
fn log_special(x: f64, y: f64) -> f64 {
    let y = if x < f64::INFINITY { y } else { x };
    let y = if x > 0.0 || x.is_nan() { y } else { f64::NAN };
    if x == 0.0 { f64::NEG_INFINITY } else { y }
}

/// The quadrant of x and its distance from the multiple of π/2, for |x| below [`Core::TRIG_LIMIT`].
#[inline(always)]
fn reduce_trig(x: f64) -> (i64, f64) {
    const MID: f64 = -6.123_233_995_736_766e-17;
    let t = fma(x, std::f64::consts::FRAC_2_PI, ROUND);
    let n = t - ROUND;
    // The first step is exact; the error of the second is carried, since the result may be tiny.
    let r = fma(n, -std::f64::consts::FRAC_PI_2, x);
    let w = n * -MID;
    let lost = fma(n, -MID, -w);
    let s = r - w;
    let rest = (r - s) - w - lost;
    (t.to_bits() as i64, s + fma(n, 1.497_384_904_859_169_8e-33, rest))
}

#[inline(always)]
fn sin_reduced(r: f64) -> f64 {
    let z = r * r;
    // (sin r / r − 1)/r².
    let p = poly!(z; -0.166_666_666_666_666_4, 0.008_333_333_333_323_624, -0.000_198_412_698_301_088_15,
        2.755_731_363_850_032e-6, -2.505_073_237_897_685_2e-8, 1.589_457_974_148_899_4e-10);
    fma(r * z, p, r)
}

#[inline(always)]
fn cos_reduced(r: f64) -> f64 {
    let z = r * r;
    // (cos r − 1 + r²/2)/r⁴.
    let p = poly!(z; 0.041_666_666_666_666_65, -0.001_388_888_888_888_281_6, 2.480_158_729_460_574_8e-5,
        -2.755_731_573_025_932e-7, 2.087_589_636_721_461_7e-9, -1.136_790_002_000_285_2e-11);
    // What 1 − r²/2 rounds away is added back.
    let half = 0.5 * z;
    let w = 1.0 - half;
    w + fma(z * z, p, (1.0 - w) - half)
}

/// sin or cos of x: the sine of the angle `quadrant` quarter turns further.
#[inline(always)]
fn sin_from(x: f64, quadrant: i64) -> f64 {
    let (q, r) = reduce_trig(x);
    let q = q.wrapping_add(quadrant);
    let y = if q & 1 == 0 { sin_reduced(r) } else { cos_reduced(r) };
    f64::from_bits(y.to_bits() ^ (((q & 2) as u64) << 62))
}

impl Core for f64 {
    const TRIG_LIMIT: f64 = 1e9;

    #[inline(always)]
    fn exp_scaled(self, shift: i32) -> f64 {
        let (n, r) = reduce_exp(clamp(self, -746.0, 712.0), 0.0);
        scale(exp_reduced(r), n.wrapping_add(i64::from(shift)))
    }

    #[inline(always)]
    fn exp2_core(self) -> f64 {
        let x = clamp(self, -1080.0, 1025.0);
        let t = x + ROUND;
        let r = x - (t - ROUND);
        // r·ln 2 with its rounding error, which the exponential takes to first order.
        let p = r * LN2;
        let low = fma(r, LN2, -p) + r * LN2_LOW;
        let y = fma(p * p, exp_poly(p), low) + p + 1.0;
        scale(y, (t.to_bits() as i64).wrapping_sub(ROUND.to_bits() as i64))
    }

    #[inline(always)]
    fn expm1_scaled(self, shift: i32) -> f64 {
        let x = clamp(self, -40.0, (1024.1 - f64::from(shift)) * LN2);
        let (n, r) = reduce_exp(x, 0.0);
        let p = fma(r * r, exp_poly(r), r);
        // Half the result, since 2ⁿ itself may overflow.
        let s = pow2(n.wrapping_add(i64::from(shift) - 1));
        2.0 * fma(s, p, s - pow2(i64::from(shift) - 1))
    }

    #[inline(always)]
    fn log_core(self) -> f64 {
        let (e, f) = split_any(self);
        let y = fma(e, LN2_REST, log_tail(f)) + f;
        log_special(self, fma(e, LN2_SHORT, y))
    }

    #[inline(always)]
    fn log_times(self, base: super::LogBase<f64>) -> f64 {
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
    fn log1p_core(self) -> f64 {
        let x = self;
        let u = 1.0 + x;
        let b = u - 1.0;
        let lost = ((1.0 - (u - b)) + (x - b)) / u;
        let (e, f) = split(u);
        let y = fma(e, LN2_REST, log_tail(f) + lost) + f;
        let y = fma(e, LN2_SHORT, y);
        // Below this the sum above would lose the sign of zero.
        let y = if x.abs() < 1e-20 { x } else { y };
        log_special(u, y)
    }

    #[inline(always)]
    fn sin_core(self) -> f64 {
        let y = sin_from(self, 0);
        if self == 0.0 { self } else { y }
    }

    #[inline(always)]
    fn cos_core(self) -> f64 {
        sin_from(self, 1)
    }

    #[inline(always)]
    fn tan_core(self) -> f64 {
        let (q, r) = reduce_trig(self);
        let (sin, cos) = (sin_reduced(r), cos_reduced(r));
        let odd = q & 1 != 0;
        let y = if odd { -cos } else { sin } / if odd { sin } else { cos };
        if self == 0.0 { self } else { y }
    }

    #[inline(always)]
    fn sinh_core(self) -> f64 {
        // h = (e^|x| − 1)/2; then sinh = h + h/(2h + 1).
        let h = self.abs().expm1_scaled(-1);
        let part = h / fma(2.0, h, 1.0);
        let part = if h > 1e10 { 0.5 } else { part };
        // Half of a subnormal number may not exist.
        if self.abs() < 1e-9 { self } else { (h + part).copysign(self) }
    }

    #[inline(always)]
    fn tanh_core(self) -> f64 {
        let a = self.abs();
        let a = if a > 20.0 { 20.0 } else { a };
        let t = (a + a).expm1_scaled(0);
        (t / (t + 2.0)).copysign(self)
    }

    #[inline(always)]
    fn erf_core(self) -> f64 {
        let a = self.abs();
        let z = a * a;
        // erf(x)/x − 1 on [0, 1].
        let p = poly!(z; 0.128_379_167_095_512_56, -0.376_126_389_031_835_2, 0.112_837_916_709_441_85,
            -0.026_866_170_643_111_46, 0.005_223_977_606_118_426, -0.000_854_832_592_931_189_3,
            0.000_120_552_935_768_161_74, -1.492_471_230_029_015e-5, 1.644_713_154_912_601_3e-6,
            -1.620_631_358_318_719_8e-7, 1.371_097_962_044_563_5e-8, -7.779_467_009_284_168e-10);
        let near = fma(self, p, self);
        // erfc(x)·exp(x²)·(1 + 2x) on [1, 5.95], beyond which erf is 1, as a function of (x − 4)/(x + 4).
        let x = clamp(a, 1.0, 5.95);
        let t = (x - 4.0) / (x + 4.0);
        let p = poly!(t; 1.232_995_118_625_552_6, -0.139_621_116_840_562_94, 0.015_379_652_102_691_177,
            0.068_097_054_256_184_92, -0.101_039_066_037_883_89, 0.093_732_834_749_322_85, -0.066_330_367_745_014_94,
            0.037_167_517_016_453_294, -0.016_197_636_735_639_08, 0.005_032_587_805_568_101,
            -0.000_755_848_998_327_538_4, -0.000_196_231_531_074_621_64, 0.000_151_518_113_069_269_8,
            -2.956_853_806_598_806_5e-5, -2.030_809_218_228_087e-5);
        let (n, r) = reduce_exp(-x * x, 0.0);
        let far = 1.0 - exp_reduced(r) * pow2(n) * p / fma(2.0, x, 1.0);
        if a < 1.0 { near } else { far.copysign(self) }
    }

    #[inline(always)]
    fn erfc_core(self) -> f64 {
        let a = self.abs();
        let x = clamp(a, 0.5, 28.0);
        let t = (x - 4.0) / (x + 4.0);
        // erfc(x)·exp(x²)·(1 + 2x) on [½, 28] as a function of (x − 4)/(x + 4).
        let p = poly!(t; 1.232_995_118_625_552_6, -0.139_621_116_840_562_5, 0.015_379_652_102_619_875,
            0.068_097_054_254_688_65, -0.101_039_066_036_312_53, 0.093_732_834_998_526_61, -0.066_330_365_812_016_97,
            0.037_167_515_533_932_535, -0.016_197_734_060_364_986, 0.005_031_970_017_214_983,
            -0.000_757_773_269_223_827_9, -0.000_199_256_957_601_779_9, 0.000_150_621_585_325_566_5,
            -2.439_808_658_410_259e-5, -1.122_176_597_384_109_2e-5, 5.706_562_735_766_272e-6,
            2.933_373_317_491_263e-7, -8.196_054_084_490_037e-7, 7.513_456_731_757_274e-8, 1.033_338_783_248_98e-7,
            -1.820_602_058_126_764_2e-8, -9.678_561_043_954_777e-9, 1.907_395_331_620_035_6e-9);
        // exp(−x²) with x² to twice the precision.
        let square = x * x;
        let (n, r) = reduce_exp(-square, -fma(x, x, -square));
        let tail = scale(exp_reduced(r) * p / fma(2.0, x, 1.0), n);
        let far = if self < 0.0 { 2.0 - tail } else { tail };
        let near = 1.0 - self.erf_core();
        if a < 0.5 { near } else { far }
    }

    #[inline(always)]
    fn pow_core(self, y: f64) -> f64 {
        // log x as an unevaluated sum of two numbers, from 2s + ⅔s³ + s⁵·P(s²) with s = (m − 1)/(m + 1).
        let (e, f) = split_any(self);
        let d = 2.0 + f;
        let d_low = f - (d - 2.0);
        let inverse = 1.0 / d;
        let s = f * inverse;
        let s_low = (fma(-s, d, f) - s * d_low) * inverse;
        let z = s * s;
        let z_low = fma(s, s, -z) + 2.0 * s * s_low;
        let t = z * poly!(z; 0.400_000_000_000_022_9, 0.285_714_285_700_837_7, 0.222_222_225_228_757_1,
                0.181_817_840_982_018_36, 0.153_867_701_679_751_58, 0.132_565_091_301_300_1, 0.131_992_770_090_660_8);
        let u = 2.0 / 3.0 + t;
        let u_low = (2.0 / 3.0 - u) + t + 3.700_743_415_417_188e-17;
        let v = z * u;
        let v_low = fma(z, u, -v) + fma(z, u_low, z_low * u);
        let w = 2.0 + v;
        let w_low = (2.0 - w) + v + v_low;
        let l = s * w;
        let l_low = fma(s, w, -l) + fma(s, w_low, s_low * w);
        let k = e * LN2_SHORT;
        let h = k + l;
        let h_low = (k - h) + l + fma(e, LN2_REST, l_low);
        // y·log x, and its exponential.
        let p = y * h;
        let p_low = fma(y, h, -p) + y * h_low;
        let p_low = if p.abs() < 1000.0 { p_low } else { 0.0 };
        let (n, r) = reduce_exp(clamp(p, -746.0, 712.0), p_low);
        scale(exp_reduced(r), n)
    }

    #[inline(always)]
    fn atan_core(self) -> f64 {
        let a = self.abs();
        let far = a > 1.0;
        let t = if far { -1.0 / a } else { a };
        let z = t * t;
        // (atan t / t − 1)/t² on [0, 1].
        let p = poly!(z; -0.333_333_333_333_332_4, 0.199_999_999_999_762_92, -0.142_857_142_838_044_04,
            0.111_111_110_380_371_23, -0.090_909_074_719_374_18, 0.076_922_844_954_895_64, -0.066_664_361_821_907_98,
            0.058_806_875_674_403_22, -0.052_541_045_854_066_604, 0.047_239_281_229_05, -0.042_224_742_347_578_8,
            0.036_692_024_404_733_68, -0.029_958_535_539_377_055, 0.022_023_958_293_802_81,
            -0.013_912_900_613_876_325, 0.007_189_111_198_860_505, -0.002_873_362_309_996_121,
            0.000_824_677_309_824_025, -0.000_150_200_248_203_601_87, 1.297_957_750_142_300_6e-5);
        let y = fma(t * z, p, t);
        let y = if far { std::f64::consts::FRAC_PI_2 + (y + 6.123_233_995_736_766e-17) } else { y };
        y.copysign(self)
    }

    #[inline(always)]
    fn asin_core(self) -> f64 {
        let (y, tail, far) = asin_reduced(self.abs());
        // asin a = π/2 − 2 asin √((1 − a)/2), where the first difference is exact or nearly so.
        let end = fma(-2.0, y, std::f64::consts::FRAC_PI_2) - fma(2.0, tail, -6.123_233_995_736_766e-17);
        (if far { end } else { y + tail }).copysign(self)
    }

    #[inline(always)]
    fn acos_core(self) -> f64 {
        let (y, tail, far) = asin_reduced(self.abs());
        let (y0, tail0) = (y.copysign(self), tail.copysign(self));
        let near = (std::f64::consts::FRAC_PI_2 - y0) - (tail0 + -6.123_233_995_736_766e-17);
        let left = fma(-2.0, y, std::f64::consts::PI) - fma(2.0, tail, -1.224_646_799_147_353_2e-16);
        let end = if self < 0.0 { left } else { 2.0 * (y + tail) };
        if far { end } else { near }
    }
}

/// asin of a ≤ ½, or of √((1 − a)/2) for larger a, as the argument and what the sine adds to it; and which.
#[inline(always)]
fn asin_reduced(a: f64) -> (f64, f64, bool) {
    let far = a > 0.5;
    let z = if far { fma(a, -0.5, 0.5) } else { a * a };
    let t = if far { z.sqrt() } else { a };
    // (asin t / t − 1)/t² on [0, ½].
    let p = poly!(z; 0.166_666_666_666_661_72, 0.075_000_000_001_902_86, 0.044_642_856_925_715_506,
        0.030_381_955_955_865_642, 0.022_371_817_219_987_04, 0.017_359_033_461_046_967, 0.013_889_990_628_221_204,
        0.012_148_606_599_901_208, 0.006_577_367_972_145_564, 0.019_487_479_185_301_45, -0.016_289_304_841_128_352,
        0.032_034_199_882_601_57);
    (t, t * z * p, far)
}

/// |x|ʸ to more than single precision, for x and y that are `f32` values.
#[inline(always)]
pub(super) fn pow_for_single(x: f64, y: f64) -> f64 {
    let (e, f) = split(x);
    let s = f / (2.0 + f);
    let z = s * s;
    // 2 artanh s / (s·ln 2).
    let p = poly!(z; 2.885_390_081_777_848_6, 0.961_796_694_115_876_2, 0.577_077_941_592_636_4,
        0.412_209_333_779_527_9, 0.319_902_228_296_150_9, 0.282_951_475_477_890_5);
    let t = clamp(y * fma(s, p, e), -200.0, 200.0);
    let rounded = t + ROUND;
    let r = t - (rounded - ROUND);
    // (2ʳ − 1)/r, |r| ≤ ½.
    let q = poly!(r; 0.693_147_180_706_854_8, 0.240_226_510_709_963_18, 0.055_504_103_599_618_33,
        0.009_618_037_406_324_45, 0.001_333_393_808_318_815, 0.000_154_670_084_534_107_13, 1.519_592_818_502_473_3e-5);
    fma(r, q, 1.0) * pow2((rounded.to_bits() as i64).wrapping_sub(ROUND.to_bits() as i64))
}

/// erfc of an `f32` value to more than single precision.
#[inline(always)]
pub(super) fn erfc_for_single(x: f64) -> f64 {
    let a = x.abs();
    let z = a * a;
    // erf(x)/x on [0, 1].
    let p = poly!(z; 1.128_379_17, -0.376_126_26, 0.112_835_854, -0.026_853_815, 0.005_188_330_5, -0.000_801_020_24,
        7.853_85e-5);
    let near = fma(-x, p, 1.0);
    let x0 = clamp(a, 0.5, 10.2);
    let t = (x0 - 4.0) / (x0 + 4.0);
    // erfc(x)·exp(x²)·(1 + 2x) on [½, 10.2] as a function of (x − 4)/(x + 4).
    let p = poly!(t; 1.232_995_117_670_399_5, -0.139_621_069_257_361_67, 0.015_379_811_014_493_773,
        0.068_094_550_047_637_66, -0.101_044_297_248_178_22, 0.093_767_815_732_767_43, -0.066_262_572_123_047_6,
        0.036_992_394_460_811_866, -0.016_572_726_934_088_306, 0.005_274_679_989_951_239);
    let (n, r) = reduce_exp(-x0 * x0, 0.0);
    let tail = (fma(r * r, exp_poly(r), r) + 1.0) * pow2(n) * p / fma(2.0, x0, 1.0);
    let far = if x < 0.0 { 2.0 - tail } else { tail };
    if a < 0.5 { near } else { far }
}
