//! Accuracy against the standard library in `f64`, and special values.

#![allow(clippy::excessive_precision)]

use super::*;
use crate::kernels::simd::vectorize;

/// The distance of two values in units in the last place of the wanted one, rounded to `f32`.
fn ulps32(got: f32, want: f64) -> f64 {
    let rounded = want as f32;
    if rounded.is_nan() || got.is_nan() {
        return if rounded.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if rounded.is_infinite() || got.is_infinite() {
        let near = |x: f32| x.abs() >= f32::MAX;
        return if near(rounded) && near(got) && (rounded > 0.0) == (got > 0.0) { 0.0 } else { f64::INFINITY };
    }
    if rounded == 0.0 && got == 0.0 {
        return if rounded.is_sign_negative() == got.is_sign_negative() { 0.0 } else { f64::INFINITY };
    }
    let unit = f64::from(rounded.abs().next_up()) - f64::from(rounded.abs());
    (f64::from(got) - want).abs() / unit
}

fn relative64(got: f64, want: f64) -> f64 {
    if want.is_nan() || got.is_nan() {
        return if want.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if got == want {
        return if want == 0.0 && got.is_sign_negative() != want.is_sign_negative() { f64::INFINITY } else { 0.0 };
    }
    // Below the normal range one unit is the most that can be asked.
    (got - want).abs() / want.abs().max(5e-324 / 1e-15)
}

/// Every `STEP`-th `f32` there is.
const STEP: usize = if cfg!(miri) { 40_000_003 } else { 4099 };

fn check32(name: &str, limit: f32, f: impl Fn(f32) -> f32, want: impl Fn(f64) -> f64) {
    let x: Vec<f32> = (0..1usize << 32).step_by(STEP).map(|b| f32::from_bits(b as u32)).chain(SPECIAL).collect();
    let mut y = vec![0f32; x.len()];
    vectorize(
        #[inline(always)]
        || {
            for (o, &v) in y.iter_mut().zip(&x) {
                *o = f(v);
            }
        },
    );
    for (&x, &y) in x.iter().zip(&y).filter(|(x, _)| x.is_nan() || x.abs() <= limit) {
        let off = ulps32(y, want(f64::from(x)));
        assert!(off <= 2.0, "{name}({x:e}): got {y:e}, expected {:e}, {off} ulp", want(f64::from(x)));
    }
}

const SPECIAL: [f32; 12] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    f32::MAX,
    f32::MIN,
    f32::MIN_POSITIVE,
    1e-45,
    -1e-45,
];

fn check64(name: &str, range: (f64, f64), limit: f64, f: impl Fn(f64) -> f64, want: impl Fn(f64) -> f64) {
    let n = if cfg!(miri) { 100 } else { 200_000 };
    let mut state = 0x1234_5678_9abc_def1u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut x: Vec<f64> = SPECIAL.iter().map(|&v| f64::from(v)).chain([5e-324, -5e-324, f64::MAX, f64::MIN]).collect();
    x.extend((0..n).map(|_| f64::from_bits(next())));
    x.extend((0..n).map(|_| range.0 + (range.1 - range.0) * ((next() >> 11) as f64 / (1u64 << 53) as f64)));
    let mut y = vec![0f64; x.len()];
    vectorize(
        #[inline(always)]
        || {
            for (o, &v) in y.iter_mut().zip(&x) {
                *o = f(v);
            }
        },
    );
    for (&x, &y) in x.iter().zip(&y).filter(|(x, _)| x.is_nan() || x.abs() <= limit) {
        let off = relative64(y, want(x));
        assert!(off <= 1.2e-15, "{name}({x:e}): got {y:e}, expected {:e}, off by {off:e}", want(x));
    }
}

/// `name: f of the standard library; range sampled densely` per line. The bound for `f64` is 1e-15 and a bit, since
/// the library is itself off by up to a unit.
macro_rules! accuracy {
    ($($name:ident $range:expr => $want:expr;)*) => { $(
        #[test]
        fn $name() {
            let want = $want;
            check32(stringify!($name), f32::INFINITY, #[inline(always)] |x| Float::$name(x), want);
            check64(stringify!($name), $range, f64::INFINITY, #[inline(always)] |x| Float::$name(x), want);
        }
    )* };
}
accuracy! {
    exp (-745.0, 710.0) => f64::exp;
    exp2 (-1075.0, 1024.0) => f64::exp2;
    expm1 (-2.0, 2.0) => f64::exp_m1;
    log (0.0, 4.0) => f64::ln;
    log2 (0.0, 4.0) => f64::log2;
    log10 (0.0, 4.0) => f64::log10;
    log1p (-1.0, 2.0) => f64::ln_1p;
    sqrt (0.0, 4.0) => f64::sqrt;
    rsqrt (0.0, 4.0) => |x: f64| 1.0 / x.sqrt();
    sinh (-3.0, 3.0) => f64::sinh;
    cosh (-3.0, 3.0) => f64::cosh;
    tanh (-3.0, 3.0) => f64::tanh;
    asin (-1.0, 1.0) => f64::asin;
    acos (-1.0, 1.0) => f64::acos;
    atan (-3.0, 3.0) => f64::atan;
    asinh (-3.0, 3.0) => |x: f64| {
        let a = x.abs();
        let y = if a < 1e17 { (a + a * a / (1.0 + (1.0 + a * a).sqrt())).ln_1p() } else { a.ln() + std::f64::consts::LN_2 };
        y.copysign(x)
    };
    acosh (1.0, 3.0) => |x: f64| {
        let t = x - 1.0;
        match x {
            _ if x < 1.0 => f64::NAN,
            _ if x < 1e17 => (t + (t * (t + 2.0)).sqrt()).ln_1p(),
            _ => x.ln() + std::f64::consts::LN_2,
        }
    };
    atanh (-1.0, 1.0) => |x: f64| (0.5 * (2.0 * x.abs() / (1.0 - x.abs())).ln_1p()).copysign(x);
    sigmoid (-40.0, 40.0) => |x: f64| if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) };
    softplus (-40.0, 40.0) => |x: f64| (-x.abs()).exp().ln_1p() + if x < 0.0 { 0.0 } else { x };
    floor (-9.0, 9.0) => f64::floor;
    round (-9.0, 9.0) => f64::round_ties_even;
    trunc (-9.0, 9.0) => f64::trunc;
    sign (-9.0, 9.0) => |x: f64| if x == 0.0 || x.is_nan() { x } else { x.signum() };
}

#[test]
fn trigonometric_functions_in_range() {
    let limit = (<f32 as Core>::TRIG_LIMIT, <f64 as Core>::TRIG_LIMIT);
    macro_rules! check {
        ($($core:ident $want:ident),*) => { $(
            check32(stringify!($want), limit.0, #[inline(always)] |x| x.$core(), f64::$want);
            check64(stringify!($want), (-100.0, 100.0), limit.1, #[inline(always)] |x| x.$core(), f64::$want);
        )* };
    }
    check!(sin_core sin, cos_core cos, tan_core tan);
}

#[test]
fn trigonometric_functions_of_arrays_take_any_argument() {
    let x = [0.5, 1e10, -3e38, 0.0, f64::INFINITY, f64::NAN, 22.0, 1e-300, 6_381_956_970_095_103.0 * 2f64.powi(797)];
    let shape = crate::shape::Shape::from_slice(&[x.len()]);
    let a = Array::from_slice(shape.clone(), &x);
    let b = Array::from_slice(shape, &x.map(|v| v as f32));
    for (k, &v) in x.iter().enumerate() {
        let w = f64::from(v as f32);
        let at = |a: &Array| a.as_slice::<f64>().unwrap()[k];
        let at32 = |a: &Array| a.as_slice::<f32>().unwrap()[k];
        assert!(relative64(at(&sin::<f64>(&a)), v.sin()) < 1e-15 && ulps32(at32(&sin::<f32>(&b)), w.sin()) <= 2.0);
        assert!(relative64(at(&cos::<f64>(&a)), v.cos()) < 1e-15 && ulps32(at32(&cos::<f32>(&b)), w.cos()) <= 2.0);
        assert!(relative64(at(&tan::<f64>(&a)), v.tan()) < 1e-15 && ulps32(at32(&tan::<f32>(&b)), w.tan()) <= 2.0);
    }
}

/// From 40 digits of mpmath 1.4.
#[test]
fn values_to_full_precision() {
    let near = |got: f64, want: f64| assert!((got - want).abs() <= 1e-15 * want.abs(), "{got:e} {want:e}");
    near(Float::erf(1e-300), 1.1283791670955126e-300);
    near(Float::erf(0.1), 0.1124629160182849);
    near(Float::erf(0.49), 0.51166826118852309);
    near(Float::erf(0.75), 0.71115563365351513);
    near(Float::erf(0.999), 0.84228527020649694);
    near(Float::erf(1.001), 0.84311548547807628);
    near(Float::erf(1.5), 0.96610514647531073);
    near(Float::erf(2.2), 0.99813715370201811);
    near(Float::erf(3.7), 0.99999983284894209);
    near(Float::erf(5.5), 0.99999999999999264);
    near(Float::erfc(1e-300), 1.0);
    near(Float::erfc(0.1), 0.8875370839817151);
    near(Float::erfc(0.49), 0.48833173881147691);
    near(Float::erfc(0.75), 0.28884436634648487);
    near(Float::erfc(0.999), 0.15771472979350306);
    near(Float::erfc(1.001), 0.15688451452192372);
    near(Float::erfc(1.5), 0.033894853524689273);
    near(Float::erfc(2.2), 0.0018628462979818899);
    near(Float::erfc(3.7), 1.6715105790914598e-7);
    near(Float::erfc(5.5), 7.3578479179743981e-15);
    near(Float::erfc(8.0), 1.1224297172982927e-29);
    near(Float::erfc(15.25), 3.6865151492308135e-103);
    near(Float::erfc(26.0), 5.6631924088561428e-296);
    near(Float::erfc(-0.3), 1.3286267594591274);
    near(Float::erfc(-0.8), 1.7421009647076605);
    near(Float::erfc(-3.0), 1.9999779095030014);
    near(Float::exp(-0.7), 0.49658530379140954);
    near(Float::log(1.1), 0.095310179804324941);
    near(Float::tanh(0.2124084765612544), 0.20927065586213854);
    near(Float::sinh(-0.11950421642393305), -0.11978886469071303);
    near(Float::expm1(0.35478409494902907), 0.42587276791293075);
    near(Float::sigmoid(-2.718631877330054), 0.061882842786246587);
    near(Float::atanh(-0.9999922293367507), -6.2291491660886589);
    for x in [0.0f64, -0.0, 7.0, -7.0, f64::INFINITY, f64::NEG_INFINITY] {
        let want = if x == 0.0 { x } else { x.signum() };
        assert!(Float::erf(x) == want && Float::erf(x).is_sign_negative() == want.is_sign_negative());
        assert!(Float::erf(x as f32) == want as f32);
    }
    assert!(Float::is_nan(Float::erf(f64::NAN)) && Float::is_nan(Float::erfc(f32::NAN)));
    assert_eq!((Float::erfc(f64::INFINITY), Float::erfc(f64::NEG_INFINITY), Float::erfc(0.0)), (0.0, 2.0, 1.0));
    assert_eq!((Float::erfc(11.0f32), Float::erfc(-11.0f32), Float::erfc(28.0)), (0.0, 2.0, 0.0));
}

#[test]
fn erf_of_single_precision_agrees_with_double() {
    check32("erf", f32::INFINITY, Float::erf, Float::erf);
    check32("erfc", f32::INFINITY, Float::erfc, Float::erfc);
}

#[test]
fn powers() {
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0,
        -2.0,
        0.5,
        -0.5,
        3.0,
        -3.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        1e300,
        -1e300,
        5e-324,
        1e16,
        -1e16,
        9_007_199_254_740_991.0,
        -1.5,
    ];
    let mut pairs: Vec<(f64, f64)> = special.iter().flat_map(|&x| special.map(|y| (x, y))).collect();
    let n = if cfg!(miri) { 50 } else { 300 };
    for i in 0..n {
        let x = 0.003 * (i as f64).powf(1.7) + 1e-3;
        pairs.extend((0..n).map(|j| (x, (j as f64 - 150.3) * 0.61)));
        pairs.push((f64::from_bits(i * 0x000f_ffff_ffff_1234), 0.37));
    }
    for (x, y) in pairs {
        let off = relative64(Float::powf(x, y), x.powf(y));
        assert!(off <= 1e-15, "{x:e}^{y:e}: got {:e}, expected {:e}", Float::powf(x, y), x.powf(y));
        let (x, y) = (x as f32, y as f32);
        let want = f64::from(x).powf(f64::from(y));
        assert!(ulps32(Float::powf(x, y), want) <= 1.0, "{x:e}^{y:e}: got {:e}, expected {want:e}", Float::powf(x, y));
    }
    let x = Array::from_slice(crate::shape::Shape::from_slice(&[4]), &[1.5f64, -2.0, 0.0, 3.0]);
    for n in [-7, -2, -1, 0, 1, 2, 3, 4, 5, 13] {
        let got = powi::<f64>(&x, n);
        for (&v, &y) in x.as_slice::<f64>().unwrap().iter().zip(got.as_slice::<f64>().unwrap()) {
            assert!(relative64(y, v.powi(n)) < 1e-15);
        }
    }
}

#[test]
fn whole_powers_keep_the_parity_of_the_exponent() {
    let x = Array::from_slice([5], &[-1.0f32, -0.0, f32::NEG_INFINITY, 1.0, f32::NAN]);
    let got = powi::<f32>(&x, 16_777_217);
    let got = got.as_slice::<f32>().unwrap();
    assert_eq!(got[..4], [-1.0, -0.0, f32::NEG_INFINITY, 1.0]);
    assert!(got[1].is_sign_negative() && got[4].is_nan());
    let got = powi::<f32>(&x, -16_777_217);
    assert_eq!(got.as_slice::<f32>().unwrap()[..4], [-1.0, f32::NEG_INFINITY, -0.0, 1.0]);
    assert_eq!(powi::<f32>(&x, i32::MIN).as_slice::<f32>().unwrap()[..4], [1.0, f32::INFINITY, 0.0, 1.0]);
}

#[test]
fn atan2_and_hypot() {
    let x = [0.0, -0.0, 1.0, -1.0, 3.5, -0.2, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-310, 1e308];
    for (a, b) in x.iter().flat_map(|&a| x.map(|b| (a, b))) {
        assert!(relative64(Float::atan2(a, b), a.atan2(b)) < 1e-15, "atan2({a}, {b})");
        assert!(relative64(Float::hypot(a, b), a.hypot(b)) < 1e-15, "hypot({a}, {b})");
        let (a, b) = (a as f32, b as f32);
        assert!(ulps32(Float::atan2(a, b), f64::from(a).atan2(f64::from(b))) <= 2.0, "atan2({a}, {b})");
        assert!(ulps32(Float::hypot(a, b), f64::from(a).hypot(f64::from(b))) <= 2.0, "hypot({a}, {b})");
    }
}

#[test]
fn maximum_keeps_nan() {
    for (a, b) in [(1.0f32, f32::NAN), (f32::NAN, 1.0), (f32::NAN, f32::NAN)] {
        assert!(Float::is_nan(Float::maximum(a, b)));
    }
    assert_eq!(Float::maximum(1.0, 2.0), 2.0);
}
