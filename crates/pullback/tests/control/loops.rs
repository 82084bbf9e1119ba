//! Loops whose number of steps depends on values, and loops over numbers.

use pullback::random::Generator;
use pullback::{DType, Randomness, Result, Tensor, Vmap, WhileLoop, fori, grad, hessian, jvp, map, vmap, while_loop};

use crate::every_way::check;
use crate::{close, tensor, value, values, vector};

#[test]
fn c46_a_while_loop_under_vmap() {
    let up = |x: &Tensor| while_loop(|x| x.le(0.0), |x| x.add(1.0), x);
    close(&values(&vmap(up)(&vector(&[0.0, 1.0, 2.0])).unwrap()), &[1.0, 1.0, 2.0]);
    let square = |x: &Tensor| while_loop(|x| x.lt(100.0), |x| x.square(), x);
    let x = vector(&[3.0, 200.0]);
    close(&values(&vmap(square)(&x).unwrap()), &[6561.0, 200.0]);
    let ones = vector(&[1.0, 1.0]);
    close(&values(&jvp(vmap(square), &x, &ones).unwrap().1), &[17496.0, 1.0]);
    let forward = vmap(|x: &Tensor| Ok(jvp(square, x, &Tensor::from(1.0))?.1));
    close(&values(&forward(&x).unwrap()), &[17496.0, 1.0]);
    close(&values(&vmap(grad(square))(&x).unwrap()), &[17496.0, 1.0]);
    let grid = tensor(&[0.0, 1.0, 2.0, -1.0, -2.0, 5.0], &[2, 3]);
    close(&values(&vmap(vmap(up))(&grid).unwrap()), &[1.0, 1.0, 2.0, 1.0, 1.0, 5.0]);
}

/// How often a number below 100 is squared until it is not.
fn exponent(x: f64) -> i32 {
    let (mut x, mut n) = (x, 1);
    while x < 100.0 {
        (x, n) = (x * x, 2 * n);
    }
    n
}

#[test]
fn a_while_loop_under_every_nest() {
    let square = |x: &Tensor| while_loop(|x| x.lt(100.0), |x| x.square(), x);
    check(
        square,
        &[3.0, 200.0, 1.5, 2.0, 11.0, 5.0],
        [
            |x| x.powi(exponent(x)),
            |x| f64::from(exponent(x)) * x.powi(exponent(x) - 1),
            |x| f64::from(exponent(x) * (exponent(x) - 1)) * x.powi(exponent(x) - 2),
            |x| f64::from(exponent(x) * (exponent(x) - 1) * (exponent(x) - 2)) * x.powi(exponent(x) - 3),
        ],
    );
}

#[test]
fn newton_s_method_in_a_loop_with_a_captured_value() {
    // √a, where a is captured by the body and by the predicate, and counts its steps.
    let root = |a: &Tensor| {
        let step = |(x, n): &(Tensor, Tensor)| Ok((x.add(&a.div(x)?)?.mul(0.5)?, n.add(1)?));
        let away = |(x, _): &(Tensor, Tensor)| x.square()?.sub(a)?.abs()?.gt(&a.abs()?.mul(1e-13)?);
        while_loop(away, step, &(a.clone(), Tensor::from(0i64)))
    };
    let a = vector(&[4.0, 0.25, 1e6, 1.0]);
    let (x, steps) = vmap(root)(&a).unwrap();
    close(&values(&x), &[2.0, 0.5, 1000.0, 1.0]);
    let steps = steps.to_vec::<i64>().unwrap();
    assert!(steps[3] == 0 && steps[2] > steps[0] && steps[0] > 3, "{steps:?}");
    // The derivative of the iteration at its limit is that of the root, to the accuracy that it has reached.
    let slopes = values(&vmap(grad(|a: &Tensor| Ok(root(a)?.0)))(&a).unwrap());
    for (got, want) in slopes.iter().zip([0.25, 1.0, 0.0005, 1.0]) {
        assert!((got - want).abs() < 1e-6, "{slopes:?}");
    }
    let bends = values(&vmap(hessian(|a: &Tensor| Ok(root(a)?.0)))(&a).unwrap());
    assert!((bends[0] + 0.03125).abs() < 1e-4, "{bends:?}");
}

#[test]
fn c39_the_derivative_of_a_solver_by_its_equation() {
    // √a by a loop that is not differentiated; y² = a gives the derivative.
    let solve = |a: &Tensor| {
        let off = |y: &Tensor| y.square()?.sub(a)?.abs()?.gt(1e-12);
        while_loop(off, |y| y.add(&a.div(y)?)?.mul(0.5), &a.detach()?)
    };
    let root =
        pullback::custom(solve).saving(|_, y| Ok(y.clone()), |y: &Tensor, g| g.map(|g| g.div(&(y * 2.0)))).into_fn();
    let x = Tensor::from(4.0);
    let near = |got: f64, want: f64| assert!((got - want).abs() < 1e-9, "{got}, {want}");
    near(value(&root(&x).unwrap()), 2.0);
    near(value(&grad(&root)(&x).unwrap()), 0.25);
    near(value(&jvp(&root, &x, &Tensor::from(1.0)).unwrap().1), 0.25);
    near(value(&grad(grad(&root))(&x).unwrap()), -0.03125);
    let lanes = values(&vmap(grad(&root))(&vector(&[4.0, 9.0, 16.0])).unwrap());
    for (got, want) in lanes.into_iter().zip([0.25, 1.0 / 6.0, 0.125]) {
        near(got, want);
    }
}

#[test]
fn lanes_that_have_finished_are_not_disturbed() {
    // The body divides by the state less 1: infinite where the loop stops.
    let f = |x: &Tensor| while_loop(|x| x.gt(1.0), |x| x.sub(1.0)?.reciprocal()?.mul(0.0)?.add(&x.sub(1.0)?), x);
    let x = vector(&[1.0, 3.5, 1.0, 6.25]);
    close(&values(&vmap(f)(&x).unwrap()), &[1.0, 0.5, 1.0, 0.25]);
    close(&values(&vmap(grad(f))(&x).unwrap()), &[1.0; 4]);
    close(&values(&vmap(hessian(f))(&x).unwrap()), &[0.0; 4]);
    close(&values(&jvp(vmap(f), &x, &vector(&[1.0; 4])).unwrap().1), &[1.0; 4]);
}

#[test]
fn a_lane_does_not_start_again() {
    // How often a coin shows heads in a row: a predicate that is true again later.
    let generator = Generator::new(5);
    let run = |_: &Tensor| {
        WhileLoop::new().max_steps(100).run(|_| generator.bernoulli(0.6, &[]), |n| n.add(1), &Tensor::from(0i64))
    };
    let lanes = Vmap::new().randomness(Randomness::Different).of(run);
    let counts = lanes(&Tensor::zeros(&[50], DType::F64).unwrap()).unwrap().to_vec::<i64>().unwrap();
    let tosses = Generator::new(5);
    let mut want = vec![0; 50];
    let mut running = [true; 50];
    while running.contains(&true) {
        for (k, heads) in tosses.bernoulli(0.6, &[50]).unwrap().to_vec::<bool>().unwrap().into_iter().enumerate() {
            running[k] &= heads;
            want[k] += i64::from(running[k]);
        }
    }
    assert_eq!(counts, want);
}

#[test]
fn a_state_that_becomes_batched_inside() {
    // The number of steps is per lane, the state is not at first.
    let f = |n: &Tensor| {
        let body = |(k, p): &(Tensor, Tensor)| Ok((k.sub(1)?, p.mul(2.0)?));
        Ok(while_loop(|(k, _)| k.gt(0), body, &(n.clone(), Tensor::from(1.0)))?.1)
    };
    close(&values(&vmap(f)(&Tensor::from([0i64, 3, 1, 5])).unwrap()), &[1.0, 8.0, 2.0, 32.0]);
    // No lanes: the types are those of the state.
    let none = Tensor::zeros(&[0], DType::I64).unwrap();
    assert_eq!(vmap(f)(&none).unwrap().ty().to_string(), "f64[0]");
}

#[test]
fn a_bound_is_exact() {
    let run = |max: usize| WhileLoop::new().max_steps(max).run(|x| x.lt(3.0), |x| x.add(1.0), &Tensor::from(0.0));
    assert_eq!(value(&run(3).unwrap()), 3.0);
    let message = run(2).unwrap_err().to_string();
    assert_eq!(message, "while_loop: expected the loop to end within 2 steps, but its predicate still holds");
    // Lanes count by the longest.
    let lanes = |max| vmap(move |x: &Tensor| WhileLoop::new().max_steps(max).run(|x| x.lt(3.0), |x| x.add(1.0), x));
    close(&values(&lanes(3)(&vector(&[0.0, 5.0])).unwrap()), &[3.0, 5.0]);
    assert!(lanes(2)(&vector(&[0.0, 5.0])).is_err());
}

#[test]
fn the_predicate_gets_no_derivatives() {
    // With derivatives it would have to differentiate an operation that has none.
    let f = |x: &Tensor| {
        let holds = |x: &Tensor| {
            assert!(!format!("{x:?}").contains("grad("), "{x:?}");
            x.lt(10.0)
        };
        while_loop(holds, |x| x.square(), x)
    };
    close(&[value(&grad(f)(&Tensor::from(2.0)).unwrap())], &[32.0]);
}

#[test]
fn loops_over_numbers_under_every_nest() {
    let f = |x: &Tensor| fori(1..4, |i, p: &Tensor| p.mul(x)?.add(&x.mul(i as f64)?), &Tensor::from(1.0));
    check(
        f,
        &[0.5, -2.0],
        [
            |x| x.powi(3) + (x.powi(3) + 2.0 * x * x + 3.0 * x),
            |x| 6.0 * x * x + 4.0 * x + 3.0,
            |x| 12.0 * x + 4.0,
            |_| 12.0,
        ],
    );
    assert_eq!(value(&fori(3..3, |_, x: &Tensor| x.add(1.0), &Tensor::from(7.0)).unwrap()), 7.0);
}

#[test]
fn map_is_the_loop_over_slices() {
    let xs = tensor(&[0.1, 0.2, 0.3, 0.4, 0.5, 0.6], &[3, 2]);
    let ks = vector(&[1.0, 2.0, 3.0]);
    let f = |(x, k): &(Tensor, Tensor)| Ok((x.sin()?.mul(k)?.sum()?, Tensor::from(x.rank() as f64)));
    let mapped = |xs: &Tensor| {
        let (sums, ranks) = map(f, &(xs.clone(), ks.clone()))?;
        close(&values(&ranks), &[1.0; 3]);
        Ok(sums)
    };
    let plain: Vec<f64> =
        (0..3).map(|k| (k + 1) as f64 * ((0.2 * k as f64 + 0.1).sin() + (0.2 * k as f64 + 0.2).sin())).collect();
    close(&values(&mapped(&xs).unwrap()), &plain);
    let slopes = grad(|xs: &Tensor| mapped(xs)?.sum())(&xs).unwrap();
    let want: Vec<f64> = (0..6).map(|k| (k / 2 + 1) as f64 * (0.1 * (k + 1) as f64).cos()).collect();
    close(&values(&slopes), &want);
    // Under vmap, dimension 0 is that of a lane.
    let lanes = Vmap::new().in_dims(2).of(mapped)(&xs.unsqueeze(2).unwrap().expand(&[3, 2, 4]).unwrap()).unwrap();
    assert_eq!(lanes.shape(), [4, 3]);
    close(&values(&lanes.i(2).unwrap()), &plain);
    // It may read data, slice by slice.
    let read = map(|x: &Tensor| Ok(Tensor::from(x.to_vec::<f64>()?[0] * 2.0)), &xs).unwrap();
    close(&values(&read), &[0.2, 0.6, 1.0]);
}

#[test]
fn loops_agree_with_rust_loops_bit_by_bit() {
    let x = Tensor::from(0.3f32);
    let step = |x: &Tensor| -> Result<Tensor> { x.mul(3.7f32)?.mul(&x.neg()?.add(1.0f32)?) };
    let mut plain = x.clone();
    for _ in 0..20 {
        plain = step(&plain).unwrap();
    }
    let looped = fori(0..20, |_, x: &Tensor| step(x), &x).unwrap();
    assert_eq!(looped.item::<f32>().unwrap().to_bits(), plain.item::<f32>().unwrap().to_bits());
    let counted = while_loop(
        |(_, k): &(Tensor, Tensor)| k.lt(20),
        |(x, k)| Ok((step(x)?, k.add(1)?)),
        &(x.clone(), Tensor::from(0)),
    );
    assert_eq!(counted.unwrap().0.item::<f32>().unwrap().to_bits(), plain.item::<f32>().unwrap().to_bits());
}
