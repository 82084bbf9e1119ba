//! Reductions, extremes, softmax, sorting and losses: conventions, hard cases and messages that the table of
//! operations does not reach.

use pullback::{ErrorKind, Interpolation, Reduction, Result, Tensor, Vmap, grad, hessian, jacfwd, jacrev, jvp, vmap};

fn vec(t: &Tensor) -> Vec<f64> {
    t.to_vec::<f64>().unwrap()
}

fn close(got: &Tensor, expected: &[f64]) {
    let got = vec(got);
    assert_eq!(got.len(), expected.len());
    assert!(got.iter().zip(expected).all(|(g, e)| (g - e).abs() <= 1e-9), "{got:?}, expected {expected:?}");
}

#[test]
fn elements_that_tie_share_the_derivative_in_every_mode_and_batched() {
    let x = Tensor::from([1.0, 1.0]);
    for f in [Tensor::max, Tensor::min] {
        close(&grad(f)(&x).unwrap(), &[0.5, 0.5]);
        close(&jvp(f, &x, &Tensor::from([1.0, 0.0])).unwrap().1, &[0.5]);
        close(&jacfwd(f)(&x).unwrap(), &[0.5, 0.5]);
        close(&hessian(f)(&x).unwrap(), &[0.0; 4]);
    }
    let lanes = Tensor::from([[1.0, 1.0, 0.0], [3.0, 2.0, 1.0], [2.0, 2.0, 2.0]]);
    let third = 1.0 / 3.0;
    close(&vmap(grad(Tensor::max))(&lanes).unwrap(), &[0.5, 0.5, 0.0, 1.0, 0.0, 0.0, third, third, third]);
    let columns = Vmap::new().in_dims(1).of(grad(Tensor::max))(&lanes.t().unwrap()).unwrap();
    close(&columns, &[0.5, 0.5, 0.0, 1.0, 0.0, 0.0, third, third, third]);
}

#[test]
fn nan_is_the_extreme_and_takes_the_derivative() {
    let x = Tensor::from([1.0, f64::NAN, 2.0]);
    assert!(x.max().unwrap().item::<f64>().unwrap().is_nan());
    assert_eq!(x.argmin(0, false).unwrap().item::<i64>().unwrap(), 1);
    close(&grad(Tensor::min)(&x).unwrap(), &[0.0, 1.0, 0.0]);
}

#[test]
fn sorting_is_stable_and_routes_cotangents_accordingly() {
    let x = Tensor::from([2.0, 1.0, 2.0, 1.0]);
    let weigh = |x: &Tensor| x.sort(0, false)?.0.mul(Tensor::from([1.0, 2.0, 3.0, 4.0]))?.sum();
    close(&grad(weigh)(&x).unwrap(), &[3.0, 1.0, 4.0, 2.0]);
    let lanes = pullback::stack(&[&x, &x.neg().unwrap()], 0).unwrap();
    close(&vmap(grad(weigh))(&lanes).unwrap(), &[3.0, 1.0, 4.0, 2.0, 1.0, 3.0, 2.0, 4.0]);
}

#[test]
fn the_gradient_of_top_k_is_one_where_elements_were_taken() {
    let x = Tensor::from([[1.0, 2.0, 6.0, 4.0, 5.0], [9.0, 5.0, 6.0, 7.0, 8.0]]);
    let expected = [0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    for sorted in [true, false] {
        let top = move |x: &Tensor| x.topk(2, -1, true, sorted)?.0.sum();
        close(&grad(top)(&x).unwrap(), &expected);
        close(&vmap(grad(top))(&x).unwrap(), &expected);
    }
}

#[test]
fn dims_of_selections_count_in_the_lane() {
    let x = Tensor::from([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]]);
    let top = vmap(|x: &Tensor| Ok(x.topk(2, 0, true, true)?.0))(&x).unwrap();
    assert_eq!((top.shape(), vec(&top)), (&[2, 2][..], vec![3.0, 2.0, 6.0, 5.0]));
    let sorted = Vmap::new().in_dims(1).of(|x: &Tensor| Ok(x.sort(-1, false)?.0))(&x).unwrap();
    assert_eq!(vec(&sorted), [3.0, 6.0, 1.0, 5.0, 2.0, 4.0]);
    let place = vmap(|x: &Tensor| x.argmax(None, false))(&x).unwrap();
    assert_eq!(place.to_vec::<i64>().unwrap(), [0, 0]);
}

#[test]
fn cross_entropy_has_the_right_gradient_and_hessian() {
    let loss = |x: &Tensor| x.cross_entropy(&Tensor::from(0i64));
    let x = Tensor::from([0.5, 0.5]);
    close(&grad(loss)(&x).unwrap(), &[-0.5, 0.5]);
    close(&hessian(loss)(&x).unwrap(), &[0.25, -0.25, -0.25, 0.25]);
    let x = Tensor::from([1.0, 2.0, 3.0]);
    close(&grad(loss)(&x).unwrap(), &[-0.909969427, 0.244728471, 0.665240956]);
    let h = vec(&hessian(loss)(&x).unwrap());
    for (k, e) in [0.081925069, 0.184836447, 0.222695427].into_iter().enumerate() {
        assert!((h[k * 4] - e).abs() < 1e-9);
    }
    for other in [jacfwd(jacfwd(loss))(&x), jacrev(jacrev(loss))(&x), jacrev(jacfwd(loss))(&x)] {
        close(&other.unwrap(), &h);
    }
    let squares = |x: &Tensor| x.softmax(0)?.square()?.sum();
    close(&squares(&x).unwrap(), &[0.510543058]);
    close(&grad(squares)(&x).unwrap(), &[-0.075717960, -0.130104795, 0.205822755]);
}

#[test]
fn per_example_gradients_of_cross_entropy_are_those_of_a_loop() {
    let logits = Tensor::from([[0.1, 0.2, -0.3], [1.0, -2.0, 0.5]]);
    let target = Tensor::from([2i64, 0]);
    let rows = vmap(|(x, t): &(Tensor, Tensor)| grad(|x: &Tensor| x.cross_entropy(t))(x));
    let g = rows(&(logits.clone(), target.clone())).unwrap();
    let whole = grad(|x: &Tensor| x.cross_entropy_with(&target, Reduction::Sum))(&logits).unwrap();
    close(&g, &vec(&whole));
}

#[test]
fn a_target_out_of_range_is_named_with_its_position_and_lane() {
    let logits = Tensor::from([[[0.0, 1.0], [2.0, 3.0]], [[4.0, 5.0], [6.0, 7.0]]]);
    let target = Tensor::from([[0i64, 1], [1, 2]]);
    let check = |r: Result<Tensor>, place: &str| {
        let e = r.unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Index);
        let expected = format!("expected targets from 0 to below 2, the number of classes, got 2{place}");
        assert!(e.to_string().ends_with(&expected), "{e}");
    };
    let pair = (logits, target);
    let loss = |(x, t): &(Tensor, Tensor)| x.cross_entropy(t);
    check(loss(&pair), " at position [1,1]");
    check(vmap(loss)(&pair), " at position [1] of lane 1");
    check(vmap(vmap(loss))(&pair), " of lane [1,1]");
    check(vmap(|(x, t): &(Tensor, Tensor)| x.nll_loss(t))(&pair), " at position [1] of lane 1");
}

#[test]
fn softmax_and_its_relatives_are_stable_and_ignore_elements_of_minus_infinity() {
    let inf = f64::INFINITY;
    let x = Tensor::from([1000.0, -inf, 1000.0, -1000.0]);
    close(&x.softmax(0).unwrap(), &[0.5, 0.0, 0.5, 0.0]);
    close(&x.logsumexp(&[0], false).unwrap(), &[1000.0 + 2f64.ln()]);
    close(&grad(|x: &Tensor| x.logsumexp(&[], false))(&x).unwrap(), &[0.5, 0.0, 0.5, 0.0]);
    close(&grad(|x: &Tensor| x.softmax(0)?.select(0, 0))(&x).unwrap(), &[0.25, 0.0, -0.25, 0.0]);
    close(&grad(|x: &Tensor| x.log_softmax(0)?.select(0, 0))(&x).unwrap(), &[0.5, 0.0, -0.5, 0.0]);
    close(
        &hessian(|x: &Tensor| x.logsumexp(&[0], false))(&x).unwrap(),
        &[0.25, 0.0, -0.25, 0.0, 0.0, 0.0, 0.0, 0.0, -0.25, 0.0, 0.25, 0.0, 0.0, 0.0, 0.0, 0.0],
    );
    assert_eq!(Tensor::from([-inf, -inf]).logsumexp(&[0], false).unwrap().item::<f64>().unwrap(), -inf);
}

#[test]
fn the_variance_survives_a_large_mean_and_the_deviation_equal_elements() {
    let x = Tensor::from([1e8 + 1.0, 1e8 + 2.0, 1e8 + 3.0]);
    close(&x.var().unwrap(), &[1.0]);
    close(&x.std().unwrap(), &[1.0]);
    let equal = Tensor::from([3.0, 3.0, 3.0]);
    close(&grad(Tensor::std)(&equal).unwrap(), &[0.0; 3]);
    close(&jvp(Tensor::std, &equal, &Tensor::from([1.0, 0.0, 0.0])).unwrap().1, &[0.0]);
    let d = 2.0 / 3.0;
    let o = -1.0 / 3.0;
    close(&hessian(Tensor::var)(&equal).unwrap(), &[d, o, o, o, d, o, o, o, d]);
}

#[test]
fn reductions_see_the_lane_only() {
    let x = Tensor::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    for lane in [0, 1] {
        let over = Vmap::new().in_dims(lane);
        let expected = if lane == 0 { vec![1.5, 3.5, 5.5] } else { vec![3.0, 4.0] };
        close(&over.of(Tensor::mean)(&x).unwrap(), &expected);
        close(&over.of(|x: &Tensor| x.mean_dims(&[-1], true))(&x).unwrap(), &expected);
        close(&over.of(|x: &Tensor| x.cumsum(0)?.select(0, -1))(&x).unwrap(), &vec(&over.of(Tensor::sum)(&x).unwrap()));
    }
}

#[test]
fn norms_of_f32_neither_overflow_nor_vanish() {
    let x = Tensor::from([[3e-30f32, -4e-30], [3e30, 4e30], [3.0, -4.0], [0.0, 0.0]]);
    for (p, unit) in [(2.0, 5.0), (3.0, 91f32.cbrt())] {
        let got = x.norm_dims(p, &[1], false).unwrap().to_vec::<f32>().unwrap();
        for (g, e) in got.iter().zip([unit * 1e-30, unit * 1e30, unit, 0.0]) {
            assert!((g - e).abs() <= 1e-6 * e, "p {p}: {got:?}");
        }
    }
    let slopes = grad(|x: &Tensor| x.norm_dims(2.0, &[1], false)?.sum())(&x).unwrap().to_vec::<f32>().unwrap();
    for (g, e) in slopes.iter().zip([0.6, -0.8, 0.6, 0.8, 0.6, -0.8, 0.0, 0.0]) {
        assert!((g - e).abs() <= 1e-6, "{slopes:?}");
    }
}

#[test]
fn derivatives_of_long_running_operations_are_those_of_closed_forms() {
    let n = 20_000;
    // Element `i` is part of the `n - i` products from its own on, which are all 1.
    let ones = Tensor::from(vec![1.0; n]);
    let products = vec(&grad(|x: &Tensor| x.cumprod(0)?.sum())(&ones).unwrap());
    assert!(products.iter().enumerate().all(|(i, &g)| g == (n - i) as f64));
    // log(k + 1) for equal elements: element `i` has a share of `1 / (k + 1)` in each result from its own on.
    let zeros = Tensor::from(vec![0.0; n]);
    let shares = vec(&grad(|x: &Tensor| x.logcumsumexp(0)?.sum())(&zeros).unwrap());
    let mut expected = 0.0;
    for (k, &g) in shares.iter().enumerate().rev() {
        expected += 1.0 / (k + 1) as f64;
        assert!((g - expected).abs() <= 1e-10 * expected, "{k}: {g} {expected}");
    }
    // Far apart, where a quotient of sums of exponentials would be 0 / 0.
    let apart = Tensor::from([-800.0, -1600.0, 800.0]);
    close(&jacrev(|x: &Tensor| x.logcumsumexp(0))(&apart).unwrap(), &[1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn lanes_that_depend_on_one_operand_alone() {
    let edges = Tensor::from([[0.0, 1.0, 2.0], [-1.0, 0.0, 0.5]]);
    let x = Tensor::from([0.5, 1.0]);
    let places = |e: &Tensor| e.searchsorted(&x, true);
    assert_eq!(vmap(places)(&edges).unwrap().to_vec::<i64>().unwrap(), [1, 2, 3, 3]);
    let one = Tensor::from([0.0, 1.0, 2.0]);
    let places = |x: &Tensor| one.searchsorted(x, false);
    assert_eq!(vmap(places)(&x).unwrap().to_vec::<i64>().unwrap(), [1, 1]);
    let rows = Tensor::from([[0i64, 1], [1, 1]]);
    let counts = vmap(|x: &Tensor| x.bincount(None, 3))(&rows).unwrap();
    assert_eq!(counts.to_vec::<i64>().unwrap(), [1, 1, 0, 0, 2, 0]);
    let error = vmap(|x: &Tensor| x.bincount(None, 1))(&rows).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Index);
    // Quantiles of one sample at a level that depends on the lane.
    let sample = Tensor::from([1.0, 2.0, 4.0]);
    let at = |q: &Tensor| sample.quantile(q, 0, false, Interpolation::Linear);
    close(&vmap(at)(&Tensor::from([0.25, 0.75])).unwrap(), &[1.5, 3.0]);
    close(&vmap(grad(at))(&Tensor::from([0.25, 0.75])).unwrap(), &[2.0, 4.0]);
    let error = vmap(at)(&Tensor::from([0.25, 1.75])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Value);
}

#[test]
fn norms_of_every_order_keep_their_digits_where_powers_lose_them() {
    for p in [2.0, 2.5, 3.0, 4.0, 8.0, 10.0, 40.0, -2.0, -3.0] {
        for exponent in -36..=37 {
            let scale = 10f32.powi(exponent);
            let data = [3.0 * scale, 4.0 * scale, 2.5 * scale];
            let x = Tensor::from(data);
            // In units of the first element, in double precision.
            let unit = f64::from(data[0]);
            let ratios = data.map(|v| f64::from(v) / unit);
            let norm = ratios.iter().map(|r| r.powf(p)).sum::<f64>().powf(1.0 / p);
            let near = |got: f64, e: f64| (got / e - 1.0).abs() < 2e-5;
            let got = f64::from(x.norm(p).unwrap().item::<f32>().unwrap());
            assert!(near(got, norm * unit), "order {p} at {scale:e}: {got:e}, expected {:e}", norm * unit);
            let slopes = grad(|x: &Tensor| x.norm(p))(&x).unwrap().to_vec::<f32>().unwrap();
            for (g, r) in slopes.into_iter().zip(ratios) {
                assert!(near(f64::from(g), (r / norm).powf(p - 1.0)), "order {p} at {scale:e}: slope {g}");
            }
        }
    }
}
