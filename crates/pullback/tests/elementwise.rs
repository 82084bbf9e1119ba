//! Values and derivatives of the elementwise operations at the places where they usually go wrong.

use pullback::*;

type R = Result<Tensor>;
type F = fn(&Tensor) -> R;

fn vec64(t: &Tensor) -> Vec<f64> {
    t.to_dtype(DType::F64).unwrap().to_vec::<f64>().unwrap()
}

fn item(t: &Tensor) -> f64 {
    t.item::<f64>().unwrap()
}

/// The first derivatives of `f` at a 0-d `x`, computed in both modes, which must agree.
fn derivatives(f: F, x: f64, orders: usize) -> Vec<f64> {
    fn nth(f: F, n: usize, mode: usize) -> Box<dyn Fn(&Tensor) -> R> {
        if n == 0 {
            return Box::new(f);
        }
        let inner = nth(f, n - 1, mode);
        // Mode 0 is reverse, 1 is forward, 2 and 3 alternate.
        let reverse = match mode {
            0 => true,
            1 => false,
            m => (n + m).is_multiple_of(2),
        };
        if reverse {
            Box::new(move |x| grad(|x: &Tensor| inner(x))(x))
        } else {
            Box::new(move |x| Ok(jvp(|x: &Tensor| inner(x), x, &Tensor::from(1.0))?.1))
        }
    }
    let at = Tensor::from(x);
    (1..=orders)
        .map(|n| {
            let all: Vec<f64> = (0..4).map(|mode| item(&nth(f, n, mode)(&at).unwrap())).collect();
            for v in &all[1..] {
                let close = (v - all[0]).abs() <= 1e-12 * all[0].abs().max(1e-300)
                    || v.to_bits() == all[0].to_bits()
                    || v == &all[0];
                assert!(close, "order {n} at {x}: {all:?}");
            }
            all[0]
        })
        .collect()
}

fn near(got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len(), "{got:?} {want:?}");
    for (g, w) in got.iter().zip(want) {
        assert!((g - w).abs() <= tolerance * w.abs() || g == w || g.is_nan() && w.is_nan(), "{got:?} is not {want:?}");
    }
}

#[test]
fn extremes_stay_finite() {
    let softplus: F = |x| x.softplus();
    for x in [20.0, 50.0, 100.0, 1000.0] {
        near(&derivatives(softplus, x, 1), &[1.0], 1e-8);
        let single = grad(|x: &Tensor| x.softplus())(&Tensor::from(x as f32)).unwrap();
        assert_eq!(single.item::<f32>().unwrap(), 1.0);
    }
    near(&derivatives(softplus, -100.0, 3), &[3.720_075_976_020_836e-44; 3], 1e-13);
    let sigmoid: F = |x| x.sigmoid();
    near(&derivatives(sigmoid, -90.0, 3), &[8.194_012_623_990_515e-40; 3], 1e-13);
    assert!(derivatives(sigmoid, 90.0, 3).iter().all(|v| v.abs() < 1e-38));
    assert!(derivatives(sigmoid, -1000.0, 4).iter().all(|v| *v == 0.0));
    assert!(derivatives(|x| x.tanh(), 400.0, 4).iter().all(|v| *v == 0.0));
    near(&derivatives(|x| x.expm1(), -50.0, 3), &[1.928_749_847_963_917_7e-22; 3], 1e-13);
    near(&derivatives(|x| x.erf(), 30.0, 3), &[0.0; 3], 0.0);
    near(&derivatives(|x| x.asinh(), 1e200, 1), &[1e-200], 1e-12);
    near(&derivatives(|x| x.acosh(), 1e200, 1), &[1e-200], 1e-12);
    near(&derivatives(|x| x.atan(), 1e200, 2), &[0.0; 2], 0.0);
}

/// The value and derivatives of `f` at `x`.
fn with_value(f: F, x: f64, orders: usize) -> Vec<f64> {
    [vec![item(&f(&Tensor::from(x)).unwrap())], derivatives(f, x, orders)].concat()
}

#[test]
fn silu_is_exact_far_out() {
    let silu: F = |x| x.silu();
    near(&with_value(silu, 0.0, 3), &[0.0, 0.5, 0.5, 0.0], 1e-15);
    near(&with_value(silu, -1e-9, 3), &[-4.999_999_997_5e-10, 0.499_999_999_5, 0.5, 5e-10], 1e-14);
    let at_3 =
        [2.857_722_380_467_299_8, 1.088_104_106_015_169_7, -0.032_321_404_521_006_174, -0.023_881_495_310_061_16];
    near(&with_value(silu, 3.0, 3), &at_3, 1e-14);
    near(&with_value(silu, 40.0, 2), &[40.0, 1.000_000_000_000_000_2, -1.614_374_617_010_803_8e-16], 1e-14);
    let at_40 = [-1.699_341_702_116_635_5e-16, -1.656_858_159_563_719_7e-16, -1.614_374_617_010_803_8e-16];
    near(&with_value(silu, -40.0, 2), &at_40, 1e-14);
    // Where the exponential has underflowed and the product has not.
    near(&with_value(silu, -711.0, 1), &[-1.170_827_643_084_826_8e-306, -1.169_180_909_409_602e-306], 1e-12);
    for far in [1e4, 1e300, f64::INFINITY] {
        assert_eq!(with_value(silu, far, 1), [far, 1.0]);
        assert_eq!(with_value(silu, -far, 1), [0.0, 0.0]);
        let single = Tensor::from(-far as f32);
        assert_eq!(item(&silu(&single).unwrap().to_dtype(DType::F64).unwrap()), 0.0);
    }
    assert!(with_value(silu, f64::NAN, 2).iter().all(|v| v.is_nan()));
}

#[test]
fn sinc_has_all_derivatives_at_and_near_zero() {
    let sinc: F = |x| x.sinc();
    let cases: [(f64, [f64; 5]); 7] = [
        (0.0, [1.0, 0.0, -3.289_868_133_696_453, 0.0, 19.481_818_206_800_487]),
        (
            1e-5,
            [
                0.999_999_999_835_506_6,
                -3.289_868_133_371_756e-5,
                -3.289_868_132_722_362,
                0.000_194_818_182_045_114_66,
                19.481_818_199_933_42,
            ],
        ),
        (
            -1e-3,
            [
                0.999_998_355_066_745,
                0.003_289_864_886_727_896_4,
                -3.289_858_392_793_072,
                -0.019_481_795_316_590_38,
                19.481_749_536_187_73,
            ],
        ),
        // On both sides of the places where the series end.
        (
            0.55,
            [
                0.571_619_933_236_173_3,
                -1.323_735_269_593_462_3,
                -0.828_079_810_296_460_8,
                7.323_974_028_240_92,
                2.415_712_453_518_849_7,
            ],
        ),
        (
            0.75,
            [
                0.300_105_438_719_035_33,
                -1.342_949_626_540_777_2,
                0.619_277_045_336_495,
                6.828_044_084_839_193,
                -7.183_237_119_160_607,
            ],
        ),
        (1.0, [0.0, -1.0, 2.0, 3.869_604_401_089_358_4, -15.478_417_604_357_434]),
        (1e3, [0.0, 0.001, -2e-6, -0.009_869_598_401_089_358, 3.947_839_360_435_744e-5]),
    ];
    for (x, want) in cases {
        near(&with_value(sinc, x, 4), &want, 1e-13);
    }
    assert_eq!(with_value(sinc, 1e300, 1), [0.0, 1e-300]);
    assert_eq!(with_value(sinc, f64::NEG_INFINITY, 3), [0.0; 4]);
    assert_eq!(with_value(sinc, f64::MIN_POSITIVE / 8.0, 1)[0], 1.0);
    let single = jvp(sinc, &Tensor::from(1e-3f32), &Tensor::from(1f32)).unwrap().1;
    assert!((single.item::<f32>().unwrap() + 0.003_289_865).abs() < 1e-9);
}

#[test]
fn activations_with_parameters_far_out_and_near_zero() {
    let elu: F = |x| x.elu(1.0);
    assert_eq!(with_value(elu, 1e4, 3), [1e4, 1.0, 0.0, 0.0]);
    assert_eq!(with_value(elu, f64::INFINITY, 3), [f64::INFINITY, 1.0, 0.0, 0.0]);
    assert_eq!(with_value(elu, f64::NEG_INFINITY, 3), [-1.0, 0.0, 0.0, 0.0]);
    near(&with_value(elu, -1e-10, 1), &[-9.999_999_999_5e-11, 0.999_999_999_9], 1e-15);
    let leaky: F = |x| x.leaky_relu(0.25);
    assert_eq!(with_value(leaky, -8.0, 2), [-2.0, 0.25, 0.0]);
    assert_eq!(with_value(leaky, f64::NEG_INFINITY, 1), [f64::NEG_INFINITY, 0.25]);
}

#[test]
fn kinks_are_zero_to_every_order() {
    let abs: F = |x| x.abs();
    near(&derivatives(abs, 0.0, 3), &[0.0; 3], 0.0);
    near(&derivatives(abs, -2.0, 3), &[-1.0, 0.0, 0.0], 0.0);
    near(&derivatives(|x| x.relu(), 0.0, 2), &[0.0; 2], 0.0);
    near(&derivatives(|x| x.relu()?.square(), 3.0, 3), &[6.0, 2.0, 0.0], 0.0);
    near(&derivatives(|x| x.sign(), 0.0, 2), &[0.0; 2], 0.0);
    near(&derivatives(|x| x.mul(x.sign()?), -3.0, 2), &[-1.0, 0.0], 0.0);
    near(&derivatives(|x| x.round()?.mul(x), 2.3, 2), &[2.0, 0.0], 0.0);
}

#[test]
fn powers_at_zero_to_every_order() {
    near(&derivatives(|x| x.powi(4), 0.0, 5), &[0.0, 0.0, 0.0, 24.0, 0.0], 0.0);
    near(&derivatives(|x| x.powf(4.0), 0.0, 5), &[0.0, 0.0, 0.0, 24.0, 0.0], 0.0);
    near(&derivatives(|x| x.pow(4), 0.0, 5), &[0.0, 0.0, 0.0, 24.0, 0.0], 0.0);
    near(&derivatives(|x| x.pow(&Tensor::from(4.0)), 0.0, 5), &[0.0, 0.0, 0.0, 24.0, 0.0], 0.0);
    near(&derivatives(|x| x.pow(&Tensor::from(3.0)), -2.0, 4), &[12.0, -12.0, 6.0, 0.0], 1e-14);
    near(&derivatives(|x| x.pow(&Tensor::from(0.0)), 0.0, 3), &[0.0; 3], 0.0);
    near(&derivatives(|x| x.pow(&Tensor::from(0.0)), 1e-320, 2), &[0.0; 2], 0.0);
    near(&derivatives(|x| x.powi(0), 0.0, 2), &[0.0; 2], 0.0);
    near(&derivatives(|x| x.powi(i32::MIN), 1.0, 2), &[-2_147_483_648.0, 2_147_483_648.0 * 2_147_483_649.0], 1e-12);
    near(&derivatives(|e| Tensor::from(0.0).pow(e), 0.0, 2), &[0.0; 2], 0.0);
    near(&derivatives(|e| Tensor::from(0.0).pow(e), 2.0, 3), &[0.0; 3], 0.0);
    let ln2 = std::f64::consts::LN_2;
    near(
        &derivatives(|e| Tensor::from(2.0).pow(e), 3.0, 3),
        &[8.0 * ln2, 8.0 * ln2 * ln2, 8.0 * ln2 * ln2 * ln2],
        1e-14,
    );
    // The mixed derivative at exponent 0 is 1/x.
    let mixed = |x: f64| {
        let inner = move |e: &Tensor| grad(|x: &Tensor| x.pow(e))(&Tensor::from(x));
        item(&grad(inner)(&Tensor::from(0.0)).unwrap())
    };
    near(&[mixed(4.0), mixed(-4.0)], &[0.25, f64::NAN], 1e-14);
    assert!(mixed(0.0).is_finite());
    let base = Tensor::from([0.0, 2.0]);
    let g = grad(|b: &Tensor| base.pow(b)?.sum())(&Tensor::from([1.0, 1.0])).unwrap();
    near(&vec64(&g), &[0.0, 2.0 * ln2], 1e-15);
    assert_eq!(item(&Tensor::from(0.0).pow(&Tensor::from(0.0)).unwrap()), 1.0);
    // x^x at 1: 1, 1 + 1, ...
    near(&derivatives(|x| x.pow(x), 1.0, 3), &[1.0, 2.0, 3.0], 1e-13);
}

#[test]
fn ties_and_choices() {
    near(&derivatives(|x| x.maximum(x), 1.5, 2), &[1.0, 0.0], 0.0);
    near(&derivatives(|x| x.minimum(x), 1.5, 2), &[1.0, 0.0], 0.0);
    near(&derivatives(|x| x.square()?.maximum(&x.mul(3.0)?), 4.0, 3), &[8.0, 2.0, 0.0], 0.0);
    let nan = Tensor::from([f64::NAN, 1.0]);
    let other = Tensor::from([1.0, f64::NAN]);
    for y in [nan.maximum(&other), nan.minimum(&other), other.maximum(&nan), other.minimum(&nan)] {
        assert!(vec64(&y.unwrap()).iter().all(|v| v.is_nan()));
    }
    assert!(item(&Tensor::from(f64::NAN).clamp(Some(0.0), Some(1.0)).unwrap()).is_nan());
    assert!(item(&Tensor::from(f64::NAN).relu().unwrap()).is_nan());

    // The cotangent of the operand that was not chosen is zero, also for an infinite cotangent.
    let condition = Tensor::from([true, false]);
    let (_, pull) =
        vjp(|(a, b): &(Tensor, Tensor)| condition.where_(a, b), &(Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0])))
            .unwrap();
    let (a, b) = pull.call(&Tensor::from([f64::INFINITY, f64::NAN])).unwrap();
    assert_eq!((vec64(&a)[0], vec64(&a)[1], vec64(&b)[0]), (f64::INFINITY, 0.0, 0.0));
    assert!(vec64(&b)[1].is_nan());

    // C115: the input is chosen as well.
    let safe = |a: &Tensor| {
        let low = a.le(0.0)?;
        low.where_(low.where_(a, 0.0)?.exp()?, a.add(1.0)?)
    };
    assert_eq!(item(&grad(safe)(&Tensor::from(1000.0)).unwrap()), 1.0);
    let sum = |x: &Tensor| {
        let large = x.gt(2.0)?;
        large.where_(large.where_(x, 1.0)?.log2()?, x.mul(2.0)?)?.sum()
    };
    near(&vec64(&grad(sum)(&Tensor::from([0.0, 2.0, 3.0])).unwrap()), &[2.0, 2.0, 0.480_898_346_962_987_8], 1e-14);
    // The plain form gives NaN, as documented.
    let plain = |a: &Tensor| a.le(0.0)?.where_(a.exp()?, a.add(1.0)?);
    assert!(item(&grad(plain)(&Tensor::from(1000.0)).unwrap()).is_nan());
}

#[test]
fn detach_means_the_same_everywhere() {
    let f: F = |x| x.square()?.detach()?.add(x.mul(3.0)?);
    near(&derivatives(f, 2.0, 2), &[3.0, 0.0], 0.0);
    let x = Tensor::from(2.0);
    assert_eq!(item(&f(&x).unwrap()), 10.0);
    assert_eq!(item(&jacrev(f)(&x).unwrap()), 3.0);
    assert_eq!(item(&jacfwd(f)(&x).unwrap()), 3.0);
    assert_eq!(item(&hessian(f)(&x).unwrap()), 0.0);
    let xs = Tensor::from([1.0, 2.0]);
    assert_eq!(vec64(&vmap(f)(&xs).unwrap()), [4.0, 10.0]);
    assert_eq!(vec64(&vmap(grad(f))(&xs).unwrap()), [3.0, 3.0]);
    assert_eq!(vec64(&grad(|x: &Tensor| vmap(f)(x)?.sum())(&xs).unwrap()), [3.0, 3.0]);
    // Both levels are cut at once.
    let nested = |x: &Tensor| grad(|y: &Tensor| y.mul(x)?.detach()?.mul(y))(x);
    assert_eq!(item(&nested(&x).unwrap()), 4.0);
    assert_eq!(item(&grad(nested)(&x).unwrap()), 0.0);
}

#[test]
fn detach_of_an_escaped_value_is_an_error() {
    let kept = std::sync::Mutex::new(None);
    grad(|x: &Tensor| {
        *kept.lock().unwrap() = Some(x.clone());
        x.square()
    })(&Tensor::from(2.0))
    .unwrap();
    let stale = kept.into_inner().unwrap().unwrap();
    assert!(stale.detach().unwrap_err().is_escaped_tracer());
}

#[test]
fn rules_of_two_operands_to_second_order() {
    let length = |p: &Tensor| p.select(0, 0)?.hypot(p.select(0, 1)?);
    near(&vec64(&grad(length)(&Tensor::from([3.0, 4.0])).unwrap()), &[0.6, 0.8], 1e-15);
    let c = 0.353_553_390_593_273_8;
    near(&vec64(&hessian(length)(&Tensor::from([1.0, 1.0])).unwrap()), &[c, -c, -c, c], 1e-14);
    near(&vec64(&grad(length)(&Tensor::from([3e200, 4e200])).unwrap()), &[0.6, 0.8], 1e-15);
    let angle = |p: &Tensor| p.select(0, 0)?.atan2(p.select(0, 1)?);
    near(&vec64(&grad(angle)(&Tensor::from([3e200, 4e200])).unwrap()), &[0.16e-200, -0.12e-200], 1e-14);
    let h = vec64(&hessian(angle)(&Tensor::from([1.0, 1.0])).unwrap());
    assert!(h.iter().zip([-0.5, 0.0, 0.0, 0.5]).all(|(a, b)| (a - b).abs() < 1e-15), "{h:?}");
    assert_eq!(vec64(&grad(angle)(&Tensor::from([0.0, 0.0])).unwrap()), [0.0, 0.0]);
    let both = |p: &Tensor| p.select(0, 0)?.logaddexp(p.select(0, 1)?);
    let zero = f64::NEG_INFINITY;
    near(&vec64(&grad(both)(&Tensor::from([zero, zero])).unwrap()), &[0.5, 0.5], 0.0);
    near(&vec64(&hessian(both)(&Tensor::from([2.0, 2.0])).unwrap()), &[0.25, -0.25, -0.25, 0.25], 1e-15);
    assert!(vec64(&hessian(both)(&Tensor::from([zero, 1.0])).unwrap()).iter().all(|v| *v == 0.0));
}

#[test]
fn the_logarithm_of_a_normal_probability_is_exact_in_the_tail() {
    // By mpmath: the value and two derivatives.
    let f: F = |x| x.log_ndtr();
    let cases = [
        (-1e3, [-500_007.826_694_812_16, 1_000.000_999_998, -0.999_999_000_006]),
        (-30.0, [-454.321_243_956_343_2, 30.033_259_667_433_676, -0.998_896_228_488_109_9]),
        (-10.0, [-53.231_285_150_512_47, 10.098_093_233_962_512, -0.990_554_622_174_343_8]),
        (-4.5, [-12.592_419_735_713_08, 4.704_319_844_827_732, -0.961_185_900_715_224_5]),
        (-3.5, [-8.366_065_308_344_092, 3.751_391_264_857_699_7, -0.943_066_995_048_703_2]),
        (-1.0, [-1.841_021_645_009_263_6, 1.525_135_276_160_981, -0.800_902_334_429_651_2]),
        (0.5, [-0.368_946_415_288_656_4, 0.509_160_433_837_033_5, -0.513_824_564_303_632_9]),
        (3.0, [-0.001_350_809_964_748_193_8, 0.004_437_839_042_125_664, -0.013_333_211_541_740_806]),
        (9.0, [-1.128_588_405_953_840_5e-19, 1.027_977_357_166_891_5e-18, -9.251_796_214_502_023e-18]),
    ];
    for (x, expected) in cases {
        near(&with_value(f, x, 2), &expected, 1e-13);
        let single = Tensor::from(x as f32).log_ndtr().unwrap().item::<f32>().unwrap();
        near(&[f64::from(single)], &expected[..1], 1e-6);
    }
    assert_eq!(with_value(f, f64::INFINITY, 2), [0.0; 3]);
    assert_eq!(with_value(f, f64::NEG_INFINITY, 2), [f64::NEG_INFINITY, f64::INFINITY, -1.0]);
}

#[test]
fn normal_quantiles_are_exact_in_both_tails_and_around_one_half() {
    let cases = [
        (1e-300, -37.047_096_299_361_2),
        (1e-20, -9.262_340_089_798_407),
        (0.01, -2.326_347_874_040_841),
        (0.3, -0.524_400_512_708_040_8),
        (0.5, 0.0),
        (0.5 + 2f64.powi(-30), 2.334_479_498_333_298_3e-09),
    ];
    for (p, expected) in cases {
        near(&[item(&Tensor::from(p).ndtri().unwrap())], &[expected], 1e-14);
    }
    let ends = Tensor::from([0.0, 1.0, -0.1, 1.1]).ndtri().unwrap();
    near(&vec64(&ends), &[f64::NEG_INFINITY, f64::INFINITY, f64::NAN, f64::NAN], 0.0);
}

#[test]
fn entropies_end_at_zero() {
    let f: F = |x| x.entr();
    assert_eq!(with_value(f, 0.0, 1), [0.0, f64::INFINITY]);
    assert_eq!(item(&f(&Tensor::from(-0.5)).unwrap()), f64::NEG_INFINITY);
    assert!(item(&f(&Tensor::from(f64::NAN)).unwrap()).is_nan());
    near(&with_value(f, 1e-300, 2), &[6.907_755_278_982_137e-298, 689.775_527_898_213_7, -1e300], 1e-14);
}

#[test]
fn powers_of_two_multiply_exactly_over_the_whole_range() {
    let x = Tensor::from([5e-324, 1.5, -0.0, 0.0, 3.0, f64::INFINITY]);
    let e = Tensor::from([2000, -1074, 5000, -5000, 1, -3]);
    let expected = [5e-324 * 2f64.powi(1000) * 2f64.powi(1000), 1e-323, 0.0, 0.0, 6.0, f64::INFINITY];
    assert_eq!(vec64(&x.ldexp(&e).unwrap()), expected);
    let parts = Tensor::from([5e-324, f64::MAX, -0.0, f64::NEG_INFINITY, f64::NAN, 1.0]).frexp().unwrap();
    let mantissas = [0.5, 1.0 - f64::EPSILON / 2.0, 0.0, f64::NEG_INFINITY, f64::NAN, 0.5];
    near(&vec64(&parts.0), &mantissas, 0.0);
    assert_eq!(parts.1.to_vec::<i32>().unwrap(), [-1073, 1024, 0, 0, 0, 1]);
    let single = Tensor::from([1e-45f32, 3e38]).frexp().unwrap();
    assert_eq!(single.1.to_vec::<i32>().unwrap(), [-148, 128]);
}

#[test]
fn signs_are_those_of_zeros_and_of_nan_too() {
    let x = Tensor::from([0.0, -0.0, -f64::NAN, f64::NEG_INFINITY, 2.0]);
    assert_eq!(x.signbit().unwrap().to_vec::<bool>().unwrap(), [false, true, true, true, false]);
    assert_eq!(Tensor::from([-3i32, 0]).signbit().unwrap().to_vec::<bool>().unwrap(), [true, false]);
    assert_eq!(Tensor::from([true]).signbit().unwrap().to_vec::<bool>().unwrap(), [false]);
    let y = Tensor::from([3, -4]).copysign(-0.0).unwrap();
    assert_eq!(y.to_vec::<f32>().unwrap(), [-3.0, -4.0]);
    // A number does not say that it is a minus zero once it is an integer.
    assert_eq!(Tensor::from([3.0]).copysign(Tensor::from([0i64])).unwrap().to_vec::<f64>().unwrap(), [3.0]);
}

#[test]
fn rounded_quotients_are_those_of_the_wider_dtype() {
    let (x, y) = (Tensor::from([7i32, -7, i32::MIN]), Tensor::from([2i64, 2, -1]));
    let trunc = x.div_with(&y, Some(RoundingMode::Trunc)).unwrap();
    assert_eq!(trunc.to_vec::<i64>().unwrap(), [3, -3, 1 << 31]);
    let wrapped = Tensor::from([i32::MIN]).div_with(-1, Some(RoundingMode::Trunc)).unwrap();
    assert_eq!(wrapped.to_vec::<i32>().unwrap(), [i32::MIN]);
    let float = Tensor::from([-7.5f32, 1.0]).div_with(Tensor::from([2.0f32, 0.0]), Some(RoundingMode::Trunc)).unwrap();
    assert_eq!(float.to_vec::<f32>().unwrap(), [-3.0, f32::INFINITY]);
    for mode in [RoundingMode::Trunc, RoundingMode::Floor] {
        let slope = grad(|x: &Tensor| x.div_with(3.0, Some(mode))?.sum())(&Tensor::from([7.0, -7.0])).unwrap();
        assert_eq!(vec64(&slope), [0.0, 0.0]);
    }
}

#[test]
fn float_powers_are_double() {
    let y = Tensor::from([2i64, 3]).float_power(Tensor::from([-1i32, 2])).unwrap();
    assert_eq!((y.dtype(), vec64(&y)), (DType::F64, vec![0.5, 9.0]));
    assert_eq!(Tensor::from([2.0f32]).float_power(0.5).unwrap().to_vec::<f64>().unwrap(), [2f64.sqrt()]);
    let z = Tensor::from([Complex32::new(0.0, 1.0)]).float_power(2).unwrap();
    assert_eq!(z.to_vec::<Complex64>().unwrap(), [Complex64::new(-1.0, 0.0)]);
    assert_eq!(
        Tensor::from([2.0f32]).float_power(Tensor::from([Complex32::new(1.0, 0.0)])).unwrap().dtype(),
        DType::C128
    );
}
