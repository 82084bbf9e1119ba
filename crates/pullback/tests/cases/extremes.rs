//! Derivatives at infinities, at kinks of second order and at the ends of the range of floats, where formulas meet 0 times infinity.
//! Expected values are limits and closed forms.

use pullback::nn::{CrossEntropy, GridMode, GridPadding, GridSample, MaxPool, NllLoss};
use pullback::*;

const INF: f64 = f64::INFINITY;

type F = fn(&Tensor) -> Result<Tensor>;

fn f64s(t: &Tensor) -> Vec<f64> {
    t.to_dtype(DType::F64).unwrap().to_vec::<f64>().unwrap()
}

/// The gradient of `f`, which must be that of both modes.
fn slopes(f: impl Fn(&Tensor) -> Result<Tensor> + Copy, x: &Tensor) -> Vec<f64> {
    let total = |x: &Tensor| f(x)?.sum();
    let back = f64s(&grad(total)(x).unwrap());
    let along = f64s(&jacfwd(total)(x).unwrap());
    assert!(back.iter().zip(&along).all(|(a, b)| a == b || a.is_nan() && b.is_nan()), "{back:?} {along:?}");
    back
}

fn near(got: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len(), "{got:?} {expected:?}");
    for (a, b) in got.iter().zip(expected) {
        assert!((a - b).abs() <= tolerance * b.abs() || a == b, "{got:?} is not {expected:?}");
    }
}

#[test]
fn elementwise_slopes_at_infinity_are_limits() {
    let zero = || Tensor::from([0.0, 0.0]);
    let loss = |f: fn(&Tensor, &Tensor) -> Result<Tensor>| move |x: &Tensor| f(x, &zero());
    let ends = Tensor::from([-INF, INF]);
    for dtype in [DType::F64, DType::F32] {
        let ends = ends.to_dtype(dtype).unwrap();
        assert_eq!(slopes(|x| x.hardswish(), &ends), [0.0, 1.0]);
        assert_eq!(slopes(loss(|x, t| x.huber_loss(t, 0.5, Reduction::None)), &ends), [-0.5, 0.5]);
        assert_eq!(slopes(loss(|x, t| x.smooth_l1_loss(t, 0.5, Reduction::None)), &ends), [-1.0, 1.0]);
        let high = Tensor::from([INF]).to_dtype(dtype).unwrap();
        assert_eq!(slopes(|x| x.digamma(), &high), [0.0]);
        for n in 1..4 {
            assert_eq!(slopes(|x| x.polygamma(n), &high), [0.0]);
            assert_eq!(f64s(&high.polygamma(n).unwrap()), [0.0]);
        }
    }
    // Second derivatives of functions that are straight far out.
    let straight: [F; 4] = [|x| x.erf(), |x| x.erfc(), |x| x.silu(), |x| x.ndtr()];
    for f in straight {
        let second = |x: &Tensor| grad(|x: &Tensor| f(x)?.sum())(x)?.sum();
        assert_eq!(f64s(&grad(second)(&ends).unwrap()), [0.0, 0.0]);
    }
}

#[test]
fn huber_losses_are_straight_beyond_delta() {
    let x = Tensor::from([-3.0, -0.5, 0.25, 2.0]);
    let loss = |x: &Tensor| x.huber_loss(&Tensor::zeros(&[4], DType::F64)?, 0.5, Reduction::None);
    near(&f64s(&loss(&x).unwrap()), &[1.375, 0.125, 0.03125, 0.875], 1e-15);
    assert_eq!(slopes(loss, &x), [-0.5, -0.5, 0.25, 0.5]);
    let second = |x: &Tensor| grad(|x: &Tensor| loss(x)?.sum())(x)?.sum();
    assert_eq!(f64s(&grad(second)(&x).unwrap()), [0.0, 1.0, 1.0, 0.0]);
}

#[test]
fn infinite_elements_share_the_slope_of_logsumexp() {
    let cases: [(&[f64], &[f64]); 5] = [
        (&[INF, 0.0, 1.0], &[1.0, 0.0, 0.0]),
        (&[INF, INF, 0.0, -INF], &[0.5, 0.5, 0.0, 0.0]),
        (&[-INF, -INF], &[0.5, 0.5]),
        (&[-INF, 0.0], &[0.0, 1.0]),
        (&[-INF, 0.0, 0.0], &[0.0, 0.5, 0.5]),
    ];
    for (x, expected) in cases {
        let x = Tensor::from(x.to_vec());
        let n = x.numel();
        assert_eq!(slopes(|x| x.logsumexp(&[0], false), &x), expected);
        // Under another transform, and over several dims.
        let rows = x.expand(&[2, n]).unwrap();
        let lanes = vmap(grad(|x: &Tensor| x.logsumexp(&[0], false)))(&rows).unwrap();
        assert_eq!(f64s(&lanes), [expected, expected].concat());
        near(&slopes(|x| x.unsqueeze(0)?.logsumexp(&[], false), &x), expected, 1e-15);
        let straight = |x: &Tensor| grad(|x: &Tensor| x.logsumexp(&[0], false))(x)?.square()?.sum();
        assert!(f64s(&grad(straight)(&x).unwrap()).iter().all(|v| v.abs() < 1e-15));
    }
    assert!(slopes(|x| x.logsumexp(&[0], false), &Tensor::from([f64::NAN, 1.0])).iter().all(|v| v.is_nan()));
}

#[test]
fn hessians_of_pairs_are_symmetric_where_they_have_kinks() {
    type G = fn(&Tensor, &Tensor) -> Result<Tensor>;
    let pairs: [(&str, G); 5] = [
        ("xlogy", |x, y| x.xlogy(y)),
        ("pow", |x, y| x.pow(y)),
        ("atan2", |x, y| x.atan2(y)),
        ("hypot", |x, y| x.hypot(y)),
        ("logaddexp", |x, y| x.logaddexp(y)),
    ];
    for (name, f) in pairs {
        for x in [0.0, -0.0, 1.0, -1.0, 1e30, 1e-40] {
            for y in [0.0, -0.0, 1e-40, 0.5, 1.0, 2.0, 3.5] {
                let at = Tensor::from([x, y]);
                let f = |v: &Tensor| f(&v.select(0, 0)?, &v.select(0, 1)?);
                if f64s(&grad(f)(&at).unwrap()).iter().any(|v| !v.is_finite()) {
                    continue;
                }
                let h = f64s(&hessian(f)(&at).unwrap());
                let size = h.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
                let same = h[1] == h[2] || (h[1] - h[2]).abs() <= 1e-12 * size || h[1].is_nan() && h[2].is_nan();
                assert!(same, "{name} at {x} and {y}: {h:?}");
            }
        }
    }
    assert_eq!(slopes(|x| x.xlogy(Tensor::from([-1.0, -INF, 0.0])), &Tensor::from([0.0; 3])), [0.0; 3]);
    // inf^-1·log(inf) is 0.
    assert_eq!(slopes(|e| Tensor::from([INF]).pow(e), &Tensor::from([-1.0])), [0.0]);
}

#[test]
fn lengths_at_infinity_point_along_the_infinite_part() {
    let x = Tensor::from([INF, 2.0, -INF]);
    assert_eq!(slopes(|x| x.norm(2.0), &Tensor::from([-INF, 0.0, 1.0])), [-1.0, 0.0, 0.0]);
    assert_eq!(slopes(|x| x.norm(3.0), &Tensor::from([-INF, 0.0, 1.0])), [-1.0, 0.0, 0.0]);
    assert_eq!(slopes(|x| x.hypot(Tensor::from([1.0, -INF, 0.0])), &x), [1.0, 0.0, -1.0]);
    assert_eq!(slopes(|x| x.atan2(Tensor::from([1.0, -INF, INF])), &x), [0.0; 3]);
}

/// `x·scale` in `f32`.
fn scaled(x: &[f64], scale: f64) -> Tensor {
    Tensor::from(x.iter().map(|v| (v * scale) as f32).collect::<Vec<_>>())
}

#[test]
fn standard_deviations_keep_their_scale() {
    let data = [1.0, 3.0, 5.0, 4.0];
    let deviation = (35.0f64 / 4.0 / 3.0).sqrt();
    for scale in [1e-36, 1e-25, 1e-10, 1.0, 1e18, 1e25, 1e36] {
        let x = scaled(&data, scale);
        near(&f64s(&x.std().unwrap()), &[deviation * scale], 1e-5);
        near(&f64s(&x.std_dims(&[0], 1, false).unwrap()), &[deviation * scale], 1e-5);
        // In another layout, which another kernel reads.
        let wide = x.unsqueeze(1).unwrap().expand(&[4, 2]).unwrap();
        near(&f64s(&wide.std_dims(&[0], 1, false).unwrap()), &[deviation * scale; 2], 1e-5);
        near(&slopes(|x| x.std(), &x), &data.map(|v| (v - 3.25) / 3.0 / deviation), 1e-5);
    }
    let mixed = Tensor::from([[1.0f32, 3.0], [1e-30, 3e-30], [1e30, 3e30], [2.0, 2.0]]);
    near(&f64s(&mixed.std_dims(&[1], 0, false).unwrap()), &[1.0, 1e-30, 1e30, 0.0], 1e-5);
    assert!(f64s(&Tensor::from([1.0f32, f32::INFINITY]).std().unwrap())[0].is_nan());
}

#[test]
fn norms_have_derivatives_at_every_scale() {
    // u = x/|x|; the second derivative is (1 - u uᵀ)/|x|.
    let u = [0.6, -0.8];
    for scale in [1e-40, 1e-36, 1e-20, 1.0, 1e20, 1e36] {
        let x = scaled(&[3.0, -4.0], scale);
        let tolerance = if scale < 1e-38 { 1e-4 } else { 1e-5 };
        near(&slopes(|x| x.norm(2.0), &x), &u, tolerance);
        near(&slopes(|x| x.unsqueeze(0)?.norm_dims(2.0, &[1], false), &x), &u, tolerance);
        if scale >= 1e-36 {
            let h = f64s(&hessian(|x: &Tensor| x.norm(2.0))(&x).unwrap());
            let expected = [0.64, 0.48, 0.48, 0.36].map(|v| v / (5.0 * scale));
            near(&h, &expected, 1e-4);
        }
    }
}

#[test]
fn losses_of_ignored_targets_alone_have_no_slope() {
    let x = Tensor::from([[0.3, -1.0, 2.0], [0.1, 0.2, 0.3]]);
    let target = Tensor::from([-100i64, -100]);
    let weight = Tensor::from([1.0, 2.0, 3.0]);
    let losses = |x: &Tensor| -> Result<Vec<Tensor>> {
        let options = || CrossEntropy::new().ignore_index(-100);
        Ok(vec![
            x.cross_entropy_with(&target, options())?,
            x.cross_entropy_with(&target, options().weight(&weight))?,
            x.cross_entropy_with(&target, options().label_smoothing(0.1))?,
            x.nll_loss_with(&target, NllLoss::new().ignore_index(-100))?,
            x.nll_loss_with(&target, NllLoss::new().ignore_index(-100).weight(&weight))?,
        ])
    };
    for k in 0..5 {
        assert!(f64s(&losses(&x).unwrap()[k])[0].is_nan());
        assert_eq!(slopes(|x| Ok(losses(x)?.remove(k)), &x), [0.0; 6], "{k}");
    }
}

#[test]
fn weights_and_matrices_that_are_no_numbers_are_errors() {
    let lanes = Tensor::from([[1.0, 1.0, 1.0], [1.0, 1.0, -3.0]]);
    let x = Tensor::from([1.0, 2.0, 4.0]);
    let error = vmap(|w: &Tensor| x.cov(1, None, Some(w)))(&lanes).unwrap_err().to_string();
    assert!(error.contains("cov: expected `aweights` of at least 0, got -3 at position [2]"), "{error}");
    let error = x.cov(1, None, Some(&Tensor::from([1.0, f64::NAN, 1.0]))).unwrap_err().to_string();
    assert!(error.contains("of at least 0, got NaN at position [1]"), "{error}");
    let two = Tensor::from([[[1.0, 0.0], [0.0, 1.0]], [[1.0, f64::NAN], [0.0, 1.0]]]);
    for bad in [two.clone(), two.nan_to_num(INF, None, None).unwrap()] {
        let error = bad.matrix_rank(None).unwrap_err().to_string();
        assert!(error.contains("matrix_rank: expected finite matrices, got one"), "{error}");
    }
}

#[test]
fn cholesky_factors_of_hermitian_matrices_have_a_real_diagonal() {
    let z: Vec<Complex64> = (0..25).map(|k| Complex64::new((k as f64).sin(), (k as f64 * 1.7).cos())).collect();
    let z = Tensor::from(z).reshape(&[5, 5]).unwrap();
    let a = z.matmul(&z.conj().unwrap().t().unwrap()).unwrap().add(Tensor::eye(5, DType::C128).unwrap()).unwrap();
    let l = a.cholesky().unwrap();
    assert_eq!(f64s(&l.diagonal(0, 0, 1).unwrap().imag().unwrap()), [0.0; 5]);
    let back = l.matmul(&l.conj().unwrap().t().unwrap()).unwrap().sub(&a).unwrap().abs().unwrap();
    assert!(f64s(&back.max().unwrap())[0] < 1e-12);
}

#[test]
fn images_are_sampled_far_beyond_their_ends() {
    let image = Tensor::from((0..9).map(f64::from).collect::<Vec<_>>()).reshape(&[1, 1, 3, 3]).unwrap();
    for mode in [GridMode::Linear, GridMode::Nearest, GridMode::Cubic] {
        for (padding, expected) in [(GridPadding::Zeros, 0.0), (GridPadding::Border, 8.0)] {
            for place in [1e6, 1e18, 1e30, INF] {
                let grid = Tensor::full(&[1, 1, 1, 2], place, DType::F64).unwrap();
                let options = || GridSample::new().mode(mode).padding(padding);
                let y = image.grid_sample(&grid, &options()).unwrap();
                assert!((f64s(&y)[0] - expected).abs() < 1e-9, "{mode:?} {padding:?} {place}: {y:?}");
                let slope = slopes(|g| image.grid_sample(g, &options()), &grid);
                assert!(slope.iter().all(|v| v.abs() < 1e-6), "{mode:?} {padding:?} {place}: {slope:?}");
            }
        }
    }
}

#[test]
fn pooling_of_no_images_reports_windows_without_elements() {
    let options = || MaxPool::new(2).dilation(3).padding(1);
    for images in [0, 1] {
        let x = Tensor::zeros(&[images, 1, 2], DType::F64).unwrap();
        let error = x.max_pool1d(&options()).unwrap_err().to_string();
        assert!(error.contains("windows with at least one element each"), "{error}");
    }
    let x = Tensor::zeros(&[0, 1, 5], DType::F64).unwrap();
    assert_eq!(x.max_pool1d(&MaxPool::new(2)).unwrap().shape(), [0, 1, 2]);
}

#[test]
fn second_derivatives_vanish_where_functions_become_straight() {
    let second = |f: F, x: &Tensor| {
        let first = move |x: &Tensor| grad(|x: &Tensor| f(x)?.sum())(x)?.sum();
        slopes(first, x)
    };
    let flat: [F; 2] = [|x| x.atan(), |x| x.asinh()];
    for dtype in [DType::F64, DType::F32] {
        let ends = Tensor::from([-INF, INF]).to_dtype(dtype).unwrap();
        for f in flat {
            assert_eq!(second(f, &ends), [0.0, 0.0]);
        }
        assert_eq!(second(|x| x.acosh(), &Tensor::from([INF]).to_dtype(dtype).unwrap()), [0.0]);
    }
    // -2x/(1 + x²)², -x/(1 + x²)^1.5 and -x/(x² - 1)^1.5.
    let x = Tensor::from([2.0, 1e20]);
    near(&second(|x| x.atan(), &x), &[-4.0 / 25.0, -2e-60], 1e-14);
    near(&second(|x| x.asinh(), &x), &[-2.0 / 5f64.powf(1.5), -1e-40], 1e-14);
    near(&second(|x| x.acosh(), &x), &[-2.0 / 3f64.powf(1.5), -1e-40], 1e-14);
}

#[test]
fn the_logit_has_the_slopes_of_its_domain_at_its_ends() {
    let x = Tensor::from([0.0, -0.0, 1.0, 0.25]);
    let along = jvp(|x: &Tensor| x.logit(), &x, &Tensor::ones(&[4], DType::F64).unwrap()).unwrap().1;
    for found in [along, grad(|x: &Tensor| x.logit()?.sum())(&x).unwrap()] {
        near(&f64s(&found), &[INF, INF, INF, 16.0 / 3.0], 1e-15);
    }
    // (2x - 1)/(x (1 - x))².
    let second = |x: &Tensor| grad(|x: &Tensor| x.logit()?.sum())(x)?.sum();
    near(&f64s(&grad(second)(&x).unwrap()), &[-INF, -INF, INF, -128.0 / 9.0], 1e-14);
    assert!(slopes(|x| x.logit(), &Tensor::from([-0.5, 1.5])).iter().all(|v| v.is_nan()));
}

#[test]
fn remainders_of_infinite_divisors_have_a_slope() {
    // The quotient is 0, or -1 where the signs differ.
    let (x, y) = (Tensor::from([1.0, -1.0, 1.0, -1.0, 7.5]), Tensor::from([INF, INF, -INF, -INF, -2.0]));
    assert_eq!(slopes(|y| x.remainder(y), &y), [0.0, 1.0, 1.0, 0.0, 4.0]);
    assert_eq!(slopes(|y| x.fmod(y), &y), [0.0, 0.0, 0.0, 0.0, 3.0]);
}

#[test]
fn large_deviations_of_many_elements_have_a_slope() {
    // The deviation times the number of elements is beyond the range.
    // Of numbers with an even number of ones and an odd one, those with the same last digits cancel as well.
    let signs: Vec<f64> = (0..128u32).map(|k| if k.count_ones() % 2 == 0 { 1.0 } else { -1.0 }).collect();
    let x = scaled(&signs, 2e37);
    let expected: Vec<f64> = signs.iter().map(|s| s / 128.0).collect();
    near(&slopes(|x| x.std_dims(&[0], 0, false), &x), &expected, 1e-4);
}

#[test]
fn correlations_do_not_depend_on_the_unit() {
    let rows = [1.0, 3.0, 5.0, 4.0, 2.0, 2.5, 7.0, 1.0];
    let exact = f64s(&Tensor::from(rows.to_vec()).reshape(&[2, 4]).unwrap().corrcoef().unwrap());
    let slope =
        |x: &Tensor| f64s(&grad(|x: &Tensor| x.reshape(&[2, 4])?.corrcoef()?.select(0, 0)?.select(0, 1))(x).unwrap());
    let exact_slope = slope(&Tensor::from(rows.to_vec()));
    for scale in [1e-36, 1e-25, 1.0, 1e25, 1e36] {
        let x = scaled(&rows, scale);
        near(&f64s(&x.reshape(&[2, 4]).unwrap().corrcoef().unwrap()), &exact, 1e-5);
        near(&slope(&x).iter().map(|v| v * scale).collect::<Vec<_>>(), &exact_slope, 1e-4);
    }
}

#[test]
fn divergences_of_what_has_no_probability_are_zero() {
    let none = Reduction::None;
    for dtype in [DType::F64, DType::F32] {
        let to = |x: &[f64]| Tensor::from(x.to_vec()).to_dtype(dtype).unwrap();
        let (x, t) = (to(&[-INF, -2.0, -INF, 0.0]), to(&[0.0, 0.0, 0.5, 1.0]));
        assert_eq!(f64s(&x.kl_div(&t, false, none).unwrap()), [0.0, 0.0, INF, 0.0]);
        assert_eq!(slopes(|x| x.kl_div(&t, false, none), &x), [0.0, 0.0, -0.5, -1.0]);
        let gone = to(&[-INF]);
        assert_eq!(slopes(|t| gone.kl_div(t, false, none), &to(&[0.0])), [0.0]);
        let (x, t) = (to(&[-INF, -2.0, -INF, 0.0]), to(&[-INF, -INF, 0.0, 0.0]));
        assert_eq!(f64s(&x.kl_div(&t, true, none).unwrap()), [0.0, 0.0, INF, 0.0]);
        assert_eq!(slopes(|x| x.kl_div(&t, true, none), &x), [0.0, 0.0, -1.0, -1.0]);
        let (x, t) = (to(&[-INF, -2.0, 0.0]), to(&[-INF, -INF, 0.0]));
        assert_eq!(slopes(|t| x.kl_div(t, true, none), &t), [0.0, 0.0, 1.0]);
    }
}

#[test]
fn poisson_losses_of_extreme_rates_are_limits() {
    let none = Reduction::None;
    for dtype in [DType::F64, DType::F32] {
        let to = |x: &[f64]| Tensor::from(x.to_vec()).to_dtype(dtype).unwrap();
        let (x, t) = (to(&[-INF, -INF, INF, INF, 0.0]), to(&[0.0, 2.0, 0.0, 2.0, 3.0]));
        assert_eq!(f64s(&x.poisson_nll_loss(&t, true, none).unwrap()), [0.0, INF, INF, INF, 1.0]);
        for (x, t, slope) in [(-INF, 0.0, 0.0), (-INF, 2.0, -2.0), (INF, 0.0, INF), (INF, 2.0, INF), (0.0, 3.0, -2.0)] {
            assert_eq!(slopes(|x| x.poisson_nll_loss(&to(&[t]), true, none), &to(&[x])), [slope]);
        }
        let (x, t) = (to(&[0.0, INF, INF]), to(&[0.0, 0.0, 2.0]));
        assert_eq!(f64s(&x.poisson_nll_loss(&t, false, none).unwrap()), [0.0, INF, INF]);
        assert_eq!(slopes(|x| x.poisson_nll_loss(&t, false, none), &x), [1.0, 1.0, 1.0]);
    }
}

#[test]
fn directions_do_not_depend_on_the_scale() {
    let (a, b) = ([3.0, -1.0, 2.0], [1.0, 2.0, 2.0]);
    let expected = 5.0 / 14f64.sqrt() / 3.0;
    for scale in [1e-30, 1e-20, 1.0, 1e20, 1e30] {
        let (x, y) = (scaled(&a, scale), scaled(&b, scale));
        let cosine = |x: &Tensor| x.cosine_similarity(&y, 0, 1e-38);
        near(&f64s(&cosine(&x).unwrap()), &[expected], 1e-6);
        // The slope is (b/|b| - cosine·a/|a|)/|a|.
        let length = 14f64.sqrt();
        let slope: Vec<f64> =
            a.iter().zip(b).map(|(a, b)| (b / 3.0 - expected * a / length) / (length * scale)).collect();
        near(&f64s(&grad(cosine)(&x).unwrap()), &slope, 1e-5);
    }
}

#[test]
fn deviations_around_a_mean_that_overflows() {
    let data = [3.0, 3.2, 2.6, 3.4];
    let mean = 3.05;
    let deviation = (data.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / 3.0).sqrt();
    for x in [scaled(&data, 1e38), Tensor::from(data.map(|v| v * 5e307))] {
        let unit = if x.dtype() == DType::F32 { 1e38 } else { 5e307 };
        near(&f64s(&x.std().unwrap()), &[deviation * unit], 1e-5);
    }
}
