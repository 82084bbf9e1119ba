//! Derivative rules of built-in operations: kinks, removable singularities, extremes, orders above one.

use std::f64::consts::{FRAC_PI_2, LN_2};

use pullback::*;

use crate::{close, every_nesting, forward, gradient, is, noise, ones, second, value, values, zeros};

fn at(x: &Tensor, k: isize) -> Result<Tensor> {
    x.select(0, k)
}

#[test]
fn c115_the_branch_that_is_not_taken() {
    // Computed before it is chosen, it may be infinite, and zero times that is NaN; so says the documentation.
    let plain = |a: &Tensor| a.le(0.0)?.where_(&a.exp()?, &a.add(1.0)?);
    assert!(value(&grad(plain)(&Tensor::from(1000.0)).unwrap()).is_nan());
    // With the input chosen as well, as documented, both are safe.
    let safe = |a: &Tensor| {
        let c = a.le(0.0)?;
        c.where_(&c.where_(a, 0.0)?.exp()?, &a.add(1.0)?)
    };
    every_nesting(safe, 1000.0, &[1001.0, 1.0, 0.0]);
    every_nesting(safe, -1.0, &[(-1f64).exp(), (-1f64).exp(), (-1f64).exp()]);
    let logs = |x: &Tensor| {
        let c = x.gt(2.0)?;
        c.where_(&c.where_(x, 1.0)?.log2()?, &x.mul(2.0)?)?.sum()
    };
    gradient(logs, &Tensor::from([0.0, 2.0, 3.0]), &[2.0, 2.0, 0.480_898_347]);
}

#[test]
fn c45_a_choice_of_inputs_protects_the_untaken_branch_of_a_lane() {
    let root = |x: &Tensor| {
        let c = x.gt(0.0)?;
        c.where_(&c.where_(x, 1.0)?.sqrt()?, &x.mul(0.0)?)
    };
    let x = Tensor::from([0.0, 4.0]);
    is(&vmap(root)(&x).unwrap(), &[2], &[0.0, 2.0]);
    is(&vmap(grad(root))(&x).unwrap(), &[2], &[0.0, 0.25]);
    is(&vmap(forward(root))(&x).unwrap(), &[2], &[0.0, 0.25]);
    is(&vmap(hessian(root))(&x).unwrap(), &[2], &[0.0, -0.031_25]);
}

#[test]
fn c116_squares_of_a_norm_at_zero() {
    let squares = |x: &Tensor| x.square()?.sum();
    gradient(squares, &zeros(&[2]), &[0.0, 0.0]);
    second(squares, &zeros(&[2]), &[2.0, 0.0, 0.0, 2.0]);
    let kernel = |(a, b): &(Tensor, Tensor)| squares(&a.sub(b)?)?.neg()?.exp();
    let p = Tensor::from([1.0, 1.0]);
    let ((_, mixed), _) = hessian(kernel)(&(p.clone(), p)).unwrap();
    is(&mixed, &[2, 2], &[2.0, 0.0, 0.0, 2.0]);
}

#[test]
fn c116_a_norm_at_zero() {
    for p in [1.0, 2.0, 2.5, 3.0, f64::INFINITY] {
        gradient(|x| x.norm(p), &zeros(&[2]), &[0.0, 0.0]);
        gradient(|x| x.norm_dims(p, &[0], true)?.sum(), &zeros(&[2]), &[0.0, 0.0]);
        let lanes = vmap(grad(move |x: &Tensor| x.norm(p)))(&Tensor::from([[0.0, 0.0], [0.0, -4.0]])).unwrap();
        is(&lanes, &[2, 2], &[0.0, 0.0, 0.0, -1.0]);
    }
    // What the documentation says instead of NaN; the square of a norm is the sum of squares above.
    second(|x| x.norm(2.0), &zeros(&[2]), &[0.0; 4]);
    second(|x| x.norm(2.0)?.square(), &zeros(&[2]), &[0.0; 4]);
    second(|x| x.norm(2.0)?.square(), &Tensor::from([3.0, 4.0]), &[2.0, 0.0, 0.0, 2.0]);
}

#[test]
fn c117_ties_share_alike_in_every_mode() {
    let tie = Tensor::from([1.0, 1.0]);
    gradient(|x| x.max(), &tie, &[0.5, 0.5]);
    gradient(|x| x.min(), &tie, &[0.5, 0.5]);
    gradient(|x| x.max_dims(&[-1], false), &tie, &[0.5, 0.5]);
    gradient(|x| Ok(x.aminmax(0, false)?.0), &tie, &[0.5, 0.5]);
    gradient(|x| x.norm(f64::INFINITY), &tie, &[0.5, 0.5]);
    assert_eq!(value(&jvp(|x: &Tensor| x.max(), &tie, &Tensor::from([1.0, 0.0])).unwrap().1), 0.5);
    gradient(|x| at(x, 0)?.maximum(&at(x, 1)?), &tie, &[0.5, 0.5]);
    gradient(|x| at(x, 0)?.minimum(&at(x, 1)?), &tie, &[0.5, 0.5]);
    every_nesting(|x| x.maximum(x), 3.0, &[3.0, 1.0, 0.0]);
    every_nesting(|x| x.minimum(x), 3.0, &[3.0, 1.0, 0.0]);
    // Three equal ones, and ties in lanes.
    gradient(|x| x.max(), &Tensor::from([2.0, 1.0, 2.0, 2.0]), &[1.0 / 3.0, 0.0, 1.0 / 3.0, 1.0 / 3.0]);
    let lanes = vmap(grad(|x: &Tensor| x.max()))(&Tensor::from([[1.0, 1.0], [2.0, 1.0]])).unwrap();
    is(&lanes, &[2, 2], &[0.5, 0.5, 1.0, 0.0]);
}

#[test]
fn c118_products_with_zeros() {
    let last: fn(&Tensor) -> Result<Tensor> = |x| at(&x.cumprod(0)?, -1);
    for prod in [Tensor::prod, last] {
        gradient(prod, &Tensor::from([2.0, 0.0, 3.0, 4.0]), &[0.0, 24.0, 0.0, 0.0]);
        let mut want = vec![0.0; 16];
        want[2 * 4 + 3] = 6.0;
        want[3 * 4 + 2] = 6.0;
        second(prod, &Tensor::from([2.0, 3.0, 0.0, 0.0]), &want);
        let x = Tensor::from([5.0, 0.0, 0.0, 0.0]);
        for third in [
            jacrev(jacrev(jacrev(prod)))(&x),
            jacfwd(jacfwd(jacfwd(prod)))(&x),
            jacfwd(jacrev(jacrev(prod)))(&x),
            jacrev(jacfwd(jacrev(prod)))(&x),
            jacrev(jacrev(jacfwd(prod)))(&x),
        ] {
            let third = values(&third.unwrap());
            for (k, d) in third.into_iter().enumerate() {
                let mut place = [k / 16, k / 4 % 4, k % 4];
                place.sort();
                assert_eq!(d, if place == [1, 2, 3] { 5.0 } else { 0.0 }, "at {k}");
            }
        }
    }
    // All running products at once: 2, 2a, 6a, 24a for an `a` of 0.
    gradient(|x| x.cumprod(0)?.sum(), &Tensor::from([2.0, 0.0, 3.0, 4.0]), &[1.0, 32.0, 0.0, 0.0]);
}

#[test]
fn c120_powers_at_zero() {
    let base = Tensor::from([0.0, 2.0]);
    gradient(|b| base.pow(b)?.sum(), &ones(&[2]), &[0.0, 2.0 * LN_2]);
    let fourth = [0.0, 0.0, 0.0, 0.0, 24.0];
    every_nesting(|x| x.powi(4), 0.0, &fourth);
    every_nesting(|x| x.powf(4.0), 0.0, &fourth);
    every_nesting(|x| x.pow(4), 0.0, &fourth);
    every_nesting(|x| x.pow(&Tensor::from(4.0)), 0.0, &fourth);
    let fifth = grad(grad(grad(grad(grad(|x: &Tensor| x.powi(4))))))(&Tensor::from(0.0)).unwrap();
    assert_eq!(value(&fifth), 0.0);
    // 0⁰ = 1, flat in the base and, by convention, in the exponent.
    let zero = Tensor::from(0.0);
    let both = |(a, b): &(Tensor, Tensor)| a.pow(b);
    let (y, (da, db)) = value_and_grad(both)(&(zero.clone(), zero.clone())).unwrap();
    assert_eq!([y, da, db].each_ref().map(value), [1.0, 0.0, 0.0]);
    let (da, db) = jacfwd(both)(&(zero.clone(), zero.clone())).unwrap();
    assert_eq!([da, db].each_ref().map(value), [0.0, 0.0]);
    every_nesting(|x| x.powi(0), 0.0, &[1.0, 0.0, 0.0]);
    every_nesting(|x| x.powi(1), 0.0, &[0.0, 1.0, 0.0]);
    every_nesting(|x| x.pow(1), 0.0, &[0.0, 1.0, 0.0]);
    every_nesting(|x| x.pow(&Tensor::from(2.0)), 0.0, &[0.0, 0.0, 2.0, 0.0]);
    every_nesting(|x| x.square(), 0.0, &[0.0, 0.0, 2.0, 0.0]);
}

#[test]
fn c121_reading_a_place_twice_adds_up() {
    let twice = |x: &Tensor| x.index_select(0, &Tensor::from([1i64, 1]));
    let x = ones(&[3]);
    let g = Tensor::from([0.2, 0.3]);
    is(&vjp(twice, &x).unwrap().1.call(&g).unwrap(), &[3], &[0.0, 0.5, 0.0]);
    gradient(|x| twice(x)?.mul(&g)?.sum(), &x, &[0.0, 0.5, 0.0]);
    gradient(|x| x.gather(0, &Tensor::from([1i64, 1]))?.mul(&g)?.sum(), &x, &[0.0, 0.5, 0.0]);
    // Each lane of indices adds to the shared table.
    let index = Tensor::from([[1i64, 1], [1, 0]]);
    let all = |x: &Tensor| vmap(|i: &Tensor| x.index_select(0, i)?.mul(&g)?.sum())(&index)?.sum();
    gradient(all, &x, &[0.3, 0.7, 0.0]);
}

#[test]
fn c122_writing_a_place_twice_keeps_the_last() {
    let index = Tensor::from([1i64, 1]);
    let v = Tensor::from([5.0, 7.0]);
    for by in [
        |v: &Tensor, i: &Tensor| zeros(&[3]).index_copy(0, i, v),
        |v: &Tensor, i: &Tensor| zeros(&[3]).scatter(0, i, v),
    ] {
        is(&by(&v, &index).unwrap(), &[3], &[0.0, 7.0, 0.0]);
        gradient(|v| by(v, &index)?.sum(), &v, &[0.0, 1.0]);
        let want = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0];
        is(&jacrev(|v: &Tensor| by(v, &index))(&v).unwrap(), &[3, 2], &want);
        is(&jacfwd(|v: &Tensor| by(v, &index))(&v).unwrap(), &[3, 2], &want);
        second(|v| by(v, &index)?.square()?.sum(), &v, &[0.0, 0.0, 0.0, 2.0]);
        // Lanes of indices.
        let each = vmap(|i: &Tensor| grad(|v: &Tensor| by(v, i)?.sum())(&v));
        is(&each(&Tensor::from([[1i64, 1], [0, 2]])).unwrap(), &[2, 2], &[0.0, 1.0, 1.0, 1.0]);
    }
    // What was there before gets no gradient where it was overwritten.
    gradient(|x| x.index_copy(0, &index, &v)?.sum(), &ones(&[3]), &[1.0, 0.0, 1.0]);
}

#[test]
fn c125_sorting_is_stable() {
    let x = Tensor::from([2.0, 1.0, 2.0, 1.0]);
    let g = Tensor::from([1.0, 2.0, 3.0, 4.0]);
    gradient(|x| x.sort(0, false)?.0.mul(&g)?.sum(), &x, &[3.0, 1.0, 4.0, 2.0]);
    gradient(|x| x.sort(0, true)?.0.mul(&g)?.sum(), &x, &[1.0, 3.0, 2.0, 4.0]);
    // The median of three with a tie is the second of the equal ones.
    gradient(|x| at(&x.sort(0, false)?.0, 1), &Tensor::from([1.0, 1.0, 3.0]), &[0.0, 1.0, 0.0]);
}

#[test]
fn c125_medians_of_ties() {
    let x = Tensor::from([1.0, 1.0, 3.0]);
    let half = |x: &Tensor| x.quantile(0.5, 0, false, Interpolation::Linear);
    let along = |x: &Tensor| Ok(x.median_dim(0, false)?.0);
    let functions: [fn(&Tensor) -> Result<Tensor>; 4] = [Tensor::median, Tensor::nanmedian, along, half];
    for f in functions {
        gradient(f, &x, &[0.0, 1.0, 0.0]);
        let lanes = vmap(grad(f))(&Tensor::from([[1.0, 1.0, 3.0], [3.0, 1.0, 1.0]])).unwrap();
        is(&lanes, &[2, 3], &[0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    }
}

#[test]
fn c126_top_elements_of_each_row() {
    let x = Tensor::from([[1.0, 2.0, 6.0, 4.0, 5.0], [9.0, 5.0, 6.0, 7.0, 8.0]]);
    let want = [0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    gradient(|x| x.topk(2, -1, true, true)?.0.sum(), &x, &want);
    gradient(|x| x.topk(2, 1, true, false)?.0.sum(), &x, &want);
    gradient(|x| vmap(|row: &Tensor| x_top(row))(x)?.sum(), &x, &want);
    fn x_top(row: &Tensor) -> Result<Tensor> {
        row.topk(2, 0, true, true)?.0.sum()
    }
}

#[test]
fn c128_a_determinant_written_out() {
    let det = |m: &Tensor| {
        let e = |i: isize, j: isize| m.select(0, i)?.select(0, j);
        e(0, 0)?.mul(&e(1, 1)?)?.sub(&e(0, 1)?.mul(&e(1, 0)?)?)
    };
    let along = move |t: &Tensor| {
        let one = ones(&[]);
        det(&stack(&[&t.add(2.0)?, &one, &one, &t.mul(2.0)?.add(3.0)?], 0)?.reshape(&[2, 2])?)
    };
    every_nesting(along, 0.7, &[10.88, 9.8, 4.0, 0.0]);
    gradient(det, &ones(&[2, 2]), &[1.0, -1.0, -1.0, 1.0]);
}

#[test]
fn c131_layer_norm_to_third_order() {
    let f = |t: &Tensor| {
        let x = stack(&[t, &Tensor::from(0.0)], 0)?;
        let y = x.sub(&x.mean()?)?.div(&x.var_dims(&[], 0, false)?.add(0.25)?.sqrt()?)?;
        y.mul(&Tensor::from([1.0, 2.0]))?.sum()
    };
    every_nesting(f, 0.7, &[-0.573_462_344_363, -0.549_820_080_885, 0.774_914_207_959, -0.713_247_976_645]);
}

#[test]
fn c134_extremes_of_softplus_and_sigmoid_and_kinks_at_zero() {
    let slope = grad(|x: &Tensor| x.softplus());
    let push = forward(|x: &Tensor| x.softplus());
    for x in [20.0, 50.0, 100.0, 1000.0] {
        for d in [slope(&Tensor::from(x)).unwrap(), push(&Tensor::from(x)).unwrap()] {
            close(&[value(&d)], &[1.0]);
        }
        for d in [slope(&Tensor::from(x as f32)).unwrap(), push(&Tensor::from(x as f32)).unwrap()] {
            assert!((d.item::<f32>().unwrap() - 1.0).abs() < 1e-6);
        }
    }
    let relative = |got: f64, want: f64| assert!((got / want - 1.0).abs() < 1e-8, "got {got}, want {want}");
    for d in [&slope as &dyn Fn(&Tensor) -> Result<Tensor>, &push] {
        relative(value(&d(&Tensor::from(-100.0)).unwrap()), (-100f64).exp());
    }
    for d in
        [grad(|x: &Tensor| x.sigmoid())(&Tensor::from(-90.0)), forward(|x: &Tensor| x.sigmoid())(&Tensor::from(-90.0))]
    {
        relative(value(&d.unwrap()), 8.194_012_623_990_515e-40);
    }
    for x in [-1000.0, -90.0, 90.0, 1000.0] {
        for f in [Tensor::softplus, Tensor::sigmoid, Tensor::tanh] {
            assert!(value(&hessian(f)(&Tensor::from(x)).unwrap()).is_finite());
            assert!(value(&forward(forward(f))(&Tensor::from(x)).unwrap()).is_finite());
        }
    }
    every_nesting(|x| x.abs(), 0.0, &[0.0, 0.0, 0.0]);
    every_nesting(|x| x.relu(), 0.0, &[0.0, 0.0, 0.0]);
    every_nesting(|x| x.abs(), -2.0, &[2.0, -1.0, 0.0]);
}

#[test]
fn c137_the_length_of_a_hypotenuse_to_second_order() {
    let f = |x: &Tensor| at(x, 0)?.hypot(&at(x, 1)?);
    gradient(f, &Tensor::from([3.0, 4.0]), &[0.6, 0.8]);
    let h = 0.125f64.sqrt();
    second(f, &ones(&[2]), &[h, -h, -h, h]);
    // Far out, where squares overflow, and at the origin, where 0 is the convention.
    gradient(f, &Tensor::from([3e200, 4e200]), &[0.6, 0.8]);
    second(f, &Tensor::from([1e200, 1e200]), &[0.0; 4]);
    gradient(f, &zeros(&[2]), &[0.0, 0.0]);
    // Along one axis it is the absolute value.
    every_nesting(|x| x.hypot(0.0), -2.0, &[2.0, -1.0, 0.0, 0.0]);
    // The angle: its derivatives of first and second order at (y, x) = (1, 1).
    let angle = |p: &Tensor| at(p, 0)?.atan2(&at(p, 1)?);
    gradient(angle, &ones(&[2]), &[0.5, -0.5]);
    second(angle, &ones(&[2]), &[-0.5, 0.0, 0.0, 0.5]);
}

#[test]
fn c138_newtons_method_differentiated() {
    let kepler = |e: &Tensor, m: &Tensor| {
        let mut x = m.clone();
        for _ in 0..12 {
            let f = x.sub(&e.mul(&x.sin()?)?)?.sub(m)?;
            x = x.sub(&f.div(&e.mul(&x.cos()?)?.neg()?.add(1.0)?)?)?;
        }
        Ok(x)
    };
    let half = Tensor::from(0.5);
    let quarter = Tensor::from(FRAC_PI_2);
    every_nesting(move |m| kepler(&half, m), FRAC_PI_2, &[2.020_979_938_09, 0.821_311_098_161]);
    every_nesting(move |e| kepler(e, &quarter), 0.5, &[2.020_979_938_09, 0.739_481_592_333]);
}

#[test]
fn c140_softmax_and_cross_entropy_to_second_order() {
    let zeroth = Tensor::from(0i64);
    let loss = |x: &Tensor| x.cross_entropy(&zeroth);
    gradient(loss, &Tensor::from([0.5, 0.5]), &[-0.5, 0.5]);
    second(loss, &Tensor::from([0.5, 0.5]), &[0.25, -0.25, -0.25, 0.25]);
    let x = Tensor::from([1.0, 2.0, 3.0]);
    gradient(loss, &x, &[-0.909_969_427_0, 0.244_728_471_1, 0.665_240_955_8]);
    let h = values(&hessian(loss)(&x).unwrap());
    close(&[h[0], h[4], h[8]], &[0.081_925_069_06, 0.184_836_446_51, 0.222_695_426_53]);
    second(loss, &x, &h);
    // The same written out, and with the target as probabilities.
    let written = |x: &Tensor| at(&x.log_softmax(0)?, 0)?.neg();
    second(written, &x, &h);
    let p = Tensor::from([1.0, 0.0, 0.0]);
    second(|x| x.cross_entropy(&p), &x, &h);
    let squares = |x: &Tensor| x.softmax(0)?.square()?.sum();
    close(&[value(&squares(&x).unwrap())], &[0.510_543_057_89]);
    gradient(squares, &x, &[-0.075_717_960_05, -0.130_104_794_84, 0.205_822_754_89]);
    // A batch of examples, each a lane.
    let logits = noise(&[4, 3], 0.2);
    let classes = Tensor::from([0i64, 2, 1, 1]);
    let each = vmap(|(x, k): &(Tensor, Tensor)| x.cross_entropy(k))(&(logits.clone(), classes.clone())).unwrap();
    close(&[value(&each.mean().unwrap())], &[value(&logits.cross_entropy(&classes).unwrap())]);
}

#[test]
fn c143_logarithms_of_sums_far_apart() {
    let f = |t: &Tensor| {
        let x = stack(&[&t.add(2.0)?, &t.mul(-2.0)?], 0)?.unsqueeze(1)?.expand(&[2, 3])?;
        let y = stack(&[&t.mul(0.5)?.sub(1.0)?, &t.neg()?.add(3.0)?, &t.mul(2.0)?.add(1.0)?], 0)?.expand(&[2, 3])?;
        stack(&[&x, &y], 0)?.logsumexp(&[0], false)?.mul(&Tensor::from([[1.0, 2.0, -1.0], [3.0, -2.0, 4.0]]))?.sum()
    };
    every_nesting(f, -800.0, &[10_003.0, -12.5, 0.0]);
    let pairwise = |t: &Tensor| {
        let x = stack(&[&t.add(2.0)?, &t.mul(-2.0)?], 0)?.unsqueeze(1)?;
        let y = stack(&[&t.mul(0.5)?.sub(1.0)?, &t.neg()?.add(3.0)?, &t.mul(2.0)?.add(1.0)?], 0)?;
        x.logaddexp(&y)?.mul(&Tensor::from([[1.0, 2.0, -1.0], [3.0, -2.0, 4.0]]))?.sum()
    };
    every_nesting(pairwise, -800.0, &[10_003.0, -12.5, 0.0]);
    let slow = value(&grad(grad(f))(&Tensor::from(0.3)).unwrap());
    let first = value(&grad(f)(&Tensor::from(0.3)).unwrap());
    every_nesting(pairwise, 0.3, &[value(&f(&Tensor::from(0.3)).unwrap()), first, slow]);
}

#[test]
fn extremes_of_stable_reductions_stay_finite_in_every_nesting() {
    for x in [[0.0, 1e4, -1e4], [1e300, 0.0, -1e300], [-1e4, -1e4, -1e4]] {
        let x = Tensor::from(x);
        for f in [
            (|x: &Tensor| x.logsumexp(&[0], false)) as fn(&Tensor) -> Result<Tensor>,
            |x| x.softmax(0)?.select(0, 1),
            |x| x.log_softmax(0)?.select(0, 1),
            |x| x.cross_entropy(&Tensor::from(2i64)),
            |x| x.softplus()?.sum(),
            |x| x.tanh()?.sum(),
        ] {
            let all = [
                grad(f)(&x).unwrap(),
                jacfwd(f)(&x).unwrap(),
                hessian(f)(&x).unwrap(),
                jacrev(jacrev(f))(&x).unwrap(),
                jacfwd(jacfwd(f))(&x).unwrap(),
            ];
            for d in all {
                assert!(values(&d).iter().all(|v| v.is_finite()), "{:?}: {:?}", values(&x), values(&d));
            }
        }
    }
}

#[test]
fn spread_of_equal_elements() {
    // The variance is smooth where all elements are equal; its root has a kink there.
    let x = Tensor::from([2.0, 2.0, 2.0]);
    gradient(|x| x.var(), &x, &[0.0; 3]);
    let third = 1.0 / 3.0;
    second(|x| x.var(), &x, &[2.0 * third, -third, -third, -third, 2.0 * third, -third, -third, -third, 2.0 * third]);
    gradient(|x| x.std(), &x, &[0.0; 3]);
}
