//! Equations of several unknowns, trees, and lanes that behave differently.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use pullback::function::Batching;
use pullback::implicit::{self, LinearSolver, Root};
use pullback::testing::{assert_close, check_function, gradcheck, gradgradcheck, numeric_jvp};
use pullback::{DType, Function, Result, Tensor, Tree, Vmap, grad, hessian, jacfwd, jacrev, jvp, stack, vmap};

use super::{heron, holds, near, number, numbers, square_is};

type Pair = (Tensor, Tensor);

/// x - e·sin x - m
fn kepler((m, e): &Pair, x: &Tensor) -> Result<Tensor> {
    x.sub(&x.sin()?.mul(e)?)?.sub(m)
}

/// The Bessel function of order `n` by its power series.
fn bessel(n: i32, x: f64) -> f64 {
    let mut term = (1..=n).fold(1.0, |t, k| t * x / 2.0 / f64::from(k));
    let mut sum = 0.0;
    for k in 0..60 {
        sum += term;
        term *= -(x * x / 4.0) / (f64::from(k + 1) * f64::from(k + 1 + n));
    }
    sum
}

#[test]
fn kepler_against_its_fourier_series() {
    let place = Root::newton(kepler, |(m, _): &Pair| Ok(m.clone()));
    let e = 0.2;
    let at = |m: &Tensor| place.apply(&(m.clone(), Tensor::from(e)));
    for m in [0.3, 1.0, 2.5, 4.0] {
        // x = m + Σ 2/n·Jₙ(n·e)·sin(n·m), and its derivatives by m, term by term.
        let series = |phase: &dyn Fn(f64, f64) -> f64| -> f64 {
            (1..60).map(|n| 2.0 / f64::from(n) * bessel(n, f64::from(n) * e) * phase(f64::from(n), m)).sum()
        };
        let m_ = Tensor::from(m);
        near(number(&at(&m_).unwrap()), m + series(&|n, m| (n * m).sin()), 1e-14);
        near(number(&grad(at)(&m_).unwrap()), 1.0 + series(&|n, m| n * (n * m).cos()), 1e-13);
        near(number(&hessian(at)(&m_).unwrap()), series(&|n, m| -n * n * (n * m).sin()), 1e-12);
        near(number(&grad(grad(grad(at)))(&m_).unwrap()), series(&|n, m| -n.powi(3) * (n * m).cos()), 1e-11);
    }
    let f = move |p: &Pair| place.apply(p);
    let at = (Tensor::from(0.8), Tensor::from(0.6));
    gradcheck(f.clone(), &at).unwrap().into_result().unwrap();
    gradgradcheck(f, &at).unwrap().into_result().unwrap();
}

/// `x₀³ + x₁ = p₀`, `x₁ - tanh(x₀)/2 = p₁·p₂`.
fn coupled(p: &Tensor, x: &Tensor) -> Result<Tensor> {
    let (a, b) = (x.select(0, 0)?, x.select(0, 1)?);
    let first = a.powi(3)?.add(&b)?.sub(&p.select(0, 0)?)?;
    let second = b.sub(&a.tanh()?.mul(0.5)?)?.sub(&p.select(0, 1)?.mul(&p.select(0, 2)?)?)?;
    stack(&[&first, &second], 0)
}

#[test]
fn every_property_holds_for_every_kind() {
    let p = Tensor::from([1.5, 0.4, -0.7]);
    let newton = Root::newton(coupled, |_: &Tensor| Ok(Tensor::from([1.0, 0.5])));
    for solver in [LinearSolver::dense(), LinearSolver::gmres()] {
        // The start is in f64, so the function is for f64.
        let own = newton.clone();
        let root = Root::new(coupled, move |p: &Tensor| own.apply(&p.to_dtype(DType::F64)?)?.to_dtype(p.dtype()));
        holds(&root.linear_solver(solver), &p);
    }
    let at = (Tensor::from(1.2), Tensor::from(0.4));
    holds(&Root::newton(kepler, |(m, _): &Pair| Ok(m.clone())), &at);
    // One lane with x near 0.7, for a map that contracts well.
    let cosine = |p: &Tensor, x: &Tensor| x.mul(p)?.cos();
    let start = |p: &Tensor| p.ones_like();
    holds(&Root::iterate(cosine, start).tolerance(1e-15), &Tensor::from([0.3, 0.5]));
    let opaque = |a: &Tensor| {
        let roots: Vec<f64> = a.to_dtype(DType::F64)?.to_vec::<f64>()?.into_iter().map(heron).collect();
        Tensor::from_slice(&roots, a.shape())?.to_dtype(a.dtype())
    };
    for batching in [Batching::Loop, Batching::LeadingDims, Batching::Expand] {
        holds(&Root::new(square_is, opaque).batching(batching), &Tensor::from([4.0, 2.0]));
    }
    let report = check_function(&Root::new(square_is, |a: &Tensor| a.powf(0.51)), &Tensor::from([4.0, 2.0])).unwrap();
    assert!(report.finding("vjp_matches_differences").is_some(), "a solver of another equation is found: {report}");
}

/// Ten unknowns: `g(B·x) = p` with `g(y) = y + y³`, so that `x = B⁻¹·g⁻¹(p)`.
fn ten() -> (Tensor, Tensor) {
    let element = |k: usize| ((k * k + 3 * k) as f64).sin() * 0.3 + if k.is_multiple_of(11) { 2.0 } else { 0.0 };
    let b = Tensor::from_slice(&(0..100).map(element).collect::<Vec<_>>(), &[10, 10]).unwrap();
    (b, Tensor::from_slice(&(0..10).map(|k| (k as f64 * 1.3).cos() * 2.0).collect::<Vec<_>>(), &[10]).unwrap())
}

#[test]
fn ten_unknowns_with_a_known_inverse() {
    let (b, p) = ten();
    for solver in [LinearSolver::dense(), LinearSolver::gmres().tolerance(1e-14)] {
        let own = b.clone();
        let f = move |p: &Tensor, x: &Tensor| {
            let y = own.matmul(x)?;
            y.powi(3)?.add(&y)?.sub(p)
        };
        let root = Root::newton(f, |p: &Tensor| p.zeros_like()).linear_solver(solver);
        let x = root.apply(&p).unwrap();
        let y = b.matmul(&x).unwrap();
        // B·dx/dp is diagonal, with 1/(1 + 3y²).
        let jacobian = jacrev(|p: &Tensor| root.apply(p))(&p).unwrap();
        let slope = y.square().unwrap().mul(3.0).unwrap().add(1.0).unwrap();
        let want = Tensor::eye(10, DType::F64).unwrap().div(&slope).unwrap();
        assert_close(&b.matmul(&jacobian).unwrap(), &want, 1e-12);
        assert_close(&jacfwd(|p: &Tensor| root.apply(p))(&p).unwrap(), &jacobian, 1e-12);
        // d²y/dp² = -6y/(1 + 3y²)³, for the sum of B·x the trace of that.
        let total = |p: &Tensor| b.matmul(&root.apply(p)?)?.sum();
        let bend = (y * -6.0).div(&slope.powi(3).unwrap()).unwrap();
        let want = Tensor::eye(10, DType::F64).unwrap().mul(&bend).unwrap();
        assert_close(&hessian(total)(&p).unwrap(), &want, 1e-11);
        let gradient = |p: &Tensor| grad(total)(p);
        let reverse = jacrev(gradient)(&p).unwrap();
        assert_close(&reverse, &want, 1e-11);
        // Three orders against differences of two.
        let v = Tensor::ones(&[10], DType::F64).unwrap();
        let hessian_of_total = |p: &Tensor| hessian(total)(p);
        let third = jvp(hessian_of_total, &p, &v).unwrap().1;
        assert_close(&third, &numeric_jvp(hessian_of_total, &p, &v).unwrap().0, 1e-6);
    }
}

#[derive(Clone, Tree)]
struct State<T = Tensor> {
    place: T,
    speed: Vec<T>,
    spin: Option<T>,
}

#[test]
fn unknowns_and_parameters_are_trees_with_integers_among_the_parameters() {
    // place = a·speed₀, speed₀ + speed₁² = c, speed₁ = place·(index + 1), each in its own shape and dtype.
    type P = (Tensor, Vec<Tensor>);
    let f = |(a, rest): &P, x: &State| {
        let (c, index) = (&rest[0], &rest[1]);
        let place = x.place.sub(&x.speed[0].to_dtype(DType::F64)?.mul(a)?)?;
        let first = x.speed[0].add(&x.speed[1].square()?.sum()?.to_dtype(DType::F32)?)?.sub(c)?;
        let factor = index.add(1)?.to_dtype(DType::F64)?;
        let second = x.speed[1].sub(&x.place.mul(&factor)?)?;
        Ok(State { place, speed: vec![first, second], spin: None })
    };
    let start = |_: &P| {
        Ok(State { place: Tensor::from(0.5), speed: vec![Tensor::from(0.5f32), Tensor::from([0.5, 0.5])], spin: None })
    };
    let root = Root::newton(f, start).tolerance(1e-6);
    let index = Tensor::from([0i64, 1]);
    let at = |a: f64, c: f32| (Tensor::from(a), vec![Tensor::from(c), index.clone()]);
    // place² · 5 = c - place/a
    let place = |a: f64, c: f64| (-1.0 / a + (1.0 / (a * a) + 20.0 * c).sqrt()) / 10.0;
    let p = at(2.0, 3.0);
    let x = root.apply(&p).unwrap();
    near(number(&x.place), place(2.0, 3.0), 1e-6);
    assert_eq!((x.speed[0].dtype(), x.speed[1].shape(), x.spin.is_none()), (DType::F32, &[2][..], true));
    let by_a = |a: &Tensor| Ok(root.apply(&(a.clone(), p.1.clone()))?.place);
    let h = 1e-5;
    near(number(&grad(by_a)(&p.0).unwrap()), (place(2.0 + h, 3.0) - place(2.0 - h, 3.0)) / (2.0 * h), 1e-5);
    let by_c = |c: &Tensor| Ok(root.apply(&(p.0.clone(), vec![c.clone(), index.clone()]))?.place);
    let slope = grad(by_c)(&p.1[0]).unwrap();
    assert_eq!(slope.dtype(), DType::F32);
    near(f64::from(slope.item::<f32>().unwrap()), (place(2.0, 3.0 + h) - place(2.0, 3.0 - h)) / (2.0 * h), 1e-5);
    let forward = jvp(by_a, &p.0, &Tensor::from(1.0)).unwrap().1;
    near(number(&forward), number(&grad(by_a)(&p.0).unwrap()), 1e-6);
    let lanes = vmap(grad(by_a))(&Tensor::from([1.0, 2.0])).unwrap();
    near(numbers(&lanes)[1], number(&forward), 1e-6);
}

#[test]
fn lanes_take_the_steps_that_they_need() {
    let steps = Arc::new(Mutex::new(Vec::new()));
    let seen = steps.clone();
    let root = implicit::fixed_point(
        |a: &Tensor, x: &Tensor| a.div(x)?.add(x)?.mul(0.5),
        move |a: &Tensor| {
            let (a, mut x, mut n) = (a.item::<f64>()?, 1.0, 0);
            while f64::abs(x * x - a) > 1e-14 * a {
                (x, n) = (0.5 * (x + a / x), n + 1);
            }
            seen.lock().unwrap().push(n);
            Ok(Tensor::from(x))
        },
    );
    let a = Tensor::from([1.0, 4.0, 1e12]);
    let slopes = numbers(&vmap(grad(&root))(&a).unwrap());
    assert!(slopes.iter().zip([0.5, 0.25, 5e-7]).all(|(s, w)| (s / w - 1.0).abs() < 1e-12), "{slopes:?}");
    let steps = std::mem::take(&mut *steps.lock().unwrap());
    assert!(steps.len() == 3 && steps[0] == 0 && steps[1] > 2 && steps[2] > 20, "{steps:?}");
    let bends = numbers(&vmap(hessian(&root))(&a).unwrap());
    assert!(bends.iter().zip([-0.25, -0.03125, -2.5e-19]).all(|(s, w)| (s / w - 1.0).abs() < 1e-11), "{bends:?}");
}

#[test]
fn a_solver_may_take_all_lanes_at_once() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = calls.clone();
    let root = Root::new(square_is, move |a: &Tensor| {
        count.fetch_add(1, Ordering::Relaxed);
        let roots: Vec<f64> = a.to_vec::<f64>()?.into_iter().map(heron).collect();
        Tensor::from_slice(&roots, a.shape())
    });
    let root = root.batching(Batching::LeadingDims);
    let a = Tensor::from([[4.0, 9.0], [16.0, 25.0]]);
    let each = |a: &Tensor| root.apply(a);
    let slopes = Vmap::new().of(vmap(grad(each)))(&a).unwrap();
    assert_close(&slopes, &Tensor::from([[0.25, 1.0 / 6.0], [0.125, 0.1]]), 1e-15);
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    // One that cannot is found out.
    let single = Root::new(square_is, |a: &Tensor| a.sqrt()?.flatten(0, -1)?.select(0, 0));
    let e = vmap(|a: &Tensor| single.clone().batching(Batching::LeadingDims).apply(a))(&Tensor::from([4.0, 9.0]));
    assert_eq!(e.unwrap_err().kind(), pullback::ErrorKind::Rule);
}

#[test]
fn values_that_are_not_finite_are_passed_on_and_stay_in_their_lane() {
    let root = implicit::root(square_is, |a: &Tensor| a.sqrt());
    let a = Tensor::from([4.0, -1.0, f64::INFINITY, 16.0]);
    let x = numbers(&vmap(&root)(&a).unwrap());
    assert!(x[0] == 2.0 && x[1].is_nan() && x[2].is_infinite() && x[3] == 4.0, "{x:?}");
    let slopes = numbers(&vmap(grad(&root))(&a).unwrap());
    assert!(slopes[0] == 0.25 && slopes[1].is_nan() && slopes[2].is_nan() && slopes[3] == 0.125, "{slopes:?}");
    assert!(number(&root(&Tensor::from(-1.0)).unwrap()).is_nan());
    let gmres = Root::new(square_is, |a: &Tensor| a.sqrt()).linear_solver(LinearSolver::gmres());
    let slopes = numbers(&vmap(grad(|a: &Tensor| gmres.apply(a)))(&a).unwrap());
    assert!(slopes[0] == 0.25 && slopes[1].is_nan() && slopes[3] == 0.125, "{slopes:?}");
}

#[test]
fn a_lane_without_a_derivative_is_an_error_or_nan() {
    for solver in [LinearSolver::dense(), LinearSolver::gmres(), LinearSolver::cg()] {
        let root = Root::new(square_is, |a: &Tensor| a.sqrt()).linear_solver(solver);
        let a = Tensor::from([4.0, 0.0, 16.0]);
        let e = vmap(grad(|a: &Tensor| root.apply(a)))(&a).unwrap_err();
        assert_eq!(e.kind(), pullback::ErrorKind::Value, "{e}");
        assert!(e.to_string().starts_with("vmap > grad > `backward` of function `root` > "), "{e}");
        let root = root.linear_solver(solver.nan_on_failure());
        for slopes in [
            vmap(grad(|a: &Tensor| root.apply(a)))(&a).unwrap(),
            vmap(|a: &Tensor| Ok(jvp(|a: &Tensor| root.apply(a), a, &a.ones_like()?)?.1))(&a).unwrap(),
            grad(|a: &Tensor| vmap(|a: &Tensor| root.apply(a))(a)?.sum())(&a).unwrap(),
        ] {
            let slopes = numbers(&slopes);
            assert!(slopes[0] == 0.25 && slopes[1].is_nan() && slopes[2] == 0.125, "{solver:?}: {slopes:?}");
        }
    }
}

#[test]
fn no_unknowns_and_no_lanes() {
    let root = Root::new(square_is, |a: &Tensor| a.sqrt());
    let none = Tensor::zeros(&[0], DType::F64).unwrap();
    let f = |a: &Tensor| root.apply(a)?.sum();
    assert_eq!(grad(f)(&none).unwrap().shape(), [0]);
    assert_eq!(vmap(|a: &Tensor| root.apply(a))(&none).unwrap().shape(), [0]);
    let scalar = |a: &Tensor| root.apply(a);
    // A lane of zeros tells the type of the solution, and its derivatives have no lanes either.
    assert_eq!(vmap(grad(scalar))(&none).unwrap().shape(), [0]);
    let gmres = root.clone().linear_solver(LinearSolver::gmres());
    assert_eq!(vmap(grad(|a: &Tensor| gmres.apply(a)))(&none).unwrap().shape(), [0]);
    assert_eq!(jacrev(|a: &Tensor| root.apply(a))(&none).unwrap().shape(), [0, 0]);
}

#[test]
fn single_precision() {
    for solver in [LinearSolver::dense(), LinearSolver::gmres(), LinearSolver::cg()] {
        let root = Root::newton(square_is, |a: &Tensor| a.ones_like()).linear_solver(solver);
        let f = |a: &Tensor| root.apply(a)?.sum();
        let a = Tensor::from([4.0f32, 2.0]);
        let slope = grad(f)(&a).unwrap();
        assert_close(&slope, &Tensor::from([0.25f32, 0.353_553_4]), 1e-6);
        assert_close(&hessian(f)(&a).unwrap(), &Tensor::from([[-0.03125f32, 0.0], [0.0, -0.088_388_35]]), 1e-5);
    }
}
