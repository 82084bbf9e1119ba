//! Linear systems, against inverses in closed form.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pullback::implicit::{LinearSolve, LinearSolver, linear_solve};
use pullback::testing::{assert_close, check_function};
use pullback::{DType, Function, Result, Tensor, Vmap, grad, hessian, jacfwd, jacrev, jvp, stack, vmap};

use super::{holds, near, number};

type Pair = (Tensor, Tensor);

fn product(a: &Tensor, x: &Tensor) -> Result<Tensor> {
    a.matmul(x)
}

/// The solution of two equations by Cramer's rule, in tensor operations.
fn cramer((a, b): &Pair) -> Result<Tensor> {
    let at = |i: isize, j: isize| a.select(0, i)?.select(0, j);
    let (b0, b1) = (b.select(0, 0)?, b.select(0, 1)?);
    let determinant = at(0, 0)?.mul(&at(1, 1)?)?.sub(&at(0, 1)?.mul(&at(1, 0)?)?)?;
    let first = b0.mul(&at(1, 1)?)?.sub(&b1.mul(&at(0, 1)?)?)?;
    let second = b1.mul(&at(0, 0)?)?.sub(&b0.mul(&at(1, 0)?)?)?;
    stack(&[&first.div(&determinant)?, &second.div(&determinant)?], 0)
}

/// The same on raw numbers, for the transposed matrix if `transposed`.
fn raw_cramer(a: &Tensor, b: &Tensor, transposed: bool) -> Result<Tensor> {
    let (a, b) = (a.to_vec::<f64>()?, b.to_vec::<f64>()?);
    let (p, q) = if transposed { (a[2], a[1]) } else { (a[1], a[2]) };
    let determinant = a[0] * a[3] - p * q;
    Ok(Tensor::from([(b[0] * a[3] - b[1] * p) / determinant, (b[1] * a[0] - b[0] * q) / determinant]))
}

fn at() -> Pair {
    (Tensor::from([[2.0, 0.5], [-1.0, 3.0]]), Tensor::from([1.0, -2.0]))
}

/// Systems with a general matrix, by every solver that takes one.
fn systems() -> Vec<(&'static str, LinearSolve<Tensor, Tensor>)> {
    let new = || LinearSolve::new(product);
    let opaque = |a: &Tensor, b: &Tensor| raw_cramer(a, b, false);
    vec![
        ("dense", new()),
        ("gmres", new().linear_solver(LinearSolver::gmres())),
        ("opaque", new().solve(opaque)),
        ("both", new().solve(opaque).transpose_solve(|a: &Tensor, b: &Tensor| raw_cramer(a, b, true))),
        ("opaque and gmres", new().solve(opaque).linear_solver(LinearSolver::gmres())),
    ]
}

#[test]
fn derivatives_by_matrix_and_right_hand_side() {
    for (name, system) in systems() {
        let f = |at: &Pair| system.apply(at);
        assert_close(&f(&at()).unwrap(), &cramer(&at()).unwrap(), 1e-14);
        for (got, want) in [(jacrev(f)(&at()), jacrev(cramer)(&at())), (jacfwd(f)(&at()), jacfwd(cramer)(&at()))] {
            assert_close(&got.unwrap(), &want.unwrap(), 1e-12);
        }
        // Second order by the elements of the matrix.
        let weights = Tensor::from([0.7, -1.3]);
        let got = hessian(|at: &Pair| f(at)?.dot(&weights))(&at()).unwrap();
        let want = hessian(|at: &Pair| cramer(at)?.dot(&weights))(&at()).unwrap();
        assert_close(&got, &want, 1e-11);
        let got = jacrev(jacrev(|a: &Tensor| f(&(a.clone(), at().1))))(&at().0).unwrap();
        let want = jacrev(jacrev(|a: &Tensor| cramer(&(a.clone(), at().1))))(&at().0).unwrap();
        assert_close(&got, &want, 1e-11);
        let report = check_function(&system, &at()).unwrap();
        assert!(report.is_ok(), "{name}: {report}");
    }
}

#[test]
fn a_symmetric_system_is_solved_the_same_way_both_times() {
    let (solved, transposed) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (count, count_transposed) = (solved.clone(), transposed.clone());
    let solve = move |a: &Tensor, b: &Tensor| {
        count.fetch_add(1, Ordering::Relaxed);
        raw_cramer(a, b, false)
    };
    let transpose = move |a: &Tensor, b: &Tensor| {
        count_transposed.fetch_add(1, Ordering::Relaxed);
        raw_cramer(a, b, true)
    };
    let counts = || (solved.swap(0, Ordering::Relaxed), transposed.swap(0, Ordering::Relaxed));
    let total = |system: &LinearSolve<Tensor, Tensor>| grad(|at: &Pair| system.apply(at)?.sum())(&at()).unwrap();
    let system = LinearSolve::new(product).solve(solve.clone());
    total(&system);
    assert_eq!(counts(), (1, 0));
    let system = system.transpose_solve(transpose);
    total(&system);
    assert_eq!(counts(), (1, 1));
    // Second order: the pullback of the transposed solution is a solution again.
    hessian(|at: &Pair| system.apply(at)?.sum())(&at()).unwrap();
    let (n, m) = counts();
    assert!(n > 1 && m > 1, "{n} {m}");
    let symmetric = Tensor::from([[2.0, 0.5], [0.5, 3.0]]);
    let system = LinearSolve::new(product).solve(solve).symmetric();
    let by_b = |b: &Tensor| system.apply(&(symmetric.clone(), b.clone()))?.sum();
    let slope = grad(by_b)(&at().1).unwrap();
    assert_eq!(counts(), (2, 0));
    assert_close(&slope, &cramer(&(symmetric.clone(), Tensor::from([1.0, 1.0]))).unwrap(), 1e-14);
}

#[test]
fn conjugate_gradients_for_many_unknowns() {
    // Minus the second difference plus p, of 300 unknowns in a ring: eigenvectors are waves.
    let n = 300;
    let ring = LinearSolve::new(|p: &Tensor, x: &Tensor| {
        x.mul(&(p + 2.0))?.sub(&x.roll(&[1], &[0])?)?.sub(&x.roll(&[-1], &[0])?)
    })
    .symmetric();
    let wave = |k: usize| {
        let element = |j: usize| (std::f64::consts::TAU * (k * j) as f64 / n as f64).cos();
        Tensor::from_slice(&(0..n).map(element).collect::<Vec<_>>(), &[n]).unwrap()
    };
    let b = wave(3).add(&wave(40)).unwrap();
    let eigenvalue = |k: usize, p: f64| p + 2.0 - 2.0 * (std::f64::consts::TAU * k as f64 / n as f64).cos();
    // Parseval: the sum of x·b is n/2·(1/λ₃ + 1/λ₄₀).
    let want = |p: f64| 150.0 * (1.0 / eigenvalue(3, p) + 1.0 / eigenvalue(40, p));
    let slope = |p: f64| -150.0 * (eigenvalue(3, p).powi(-2) + eigenvalue(40, p).powi(-2));
    let bend = |p: f64| 300.0 * (eigenvalue(3, p).powi(-3) + eigenvalue(40, p).powi(-3));
    let p = Tensor::from(0.5);
    for solver in [LinearSolver::cg(), LinearSolver::gmres(), LinearSolver::gmres().restart(4), LinearSolver::dense()] {
        let ring = ring.clone().linear_solver(solver);
        let f = |p: &Tensor| ring.apply(&(p.clone(), b.clone()))?.dot(&b);
        near(number(&f(&p).unwrap()), want(0.5), 1e-9);
        near(number(&grad(f)(&p).unwrap()), slope(0.5), 1e-9);
        near(number(&jvp(f, &p, &Tensor::from(1.0)).unwrap().1), slope(0.5), 1e-9);
        near(number(&hessian(f)(&p).unwrap()), bend(0.5), 1e-8);
        let lanes = vmap(grad(f))(&Tensor::from([0.5, 1.5])).unwrap().to_vec::<f64>().unwrap();
        near(lanes[0], slope(0.5), 1e-9);
        near(lanes[1], slope(1.5), 1e-9);
    }
}

#[test]
fn lanes_with_shared_matrices_and_right_hand_sides() {
    let (a, b) = at();
    let many = stack(&[&b, &b.mul(2.0).unwrap(), &b.neg().unwrap()], 0).unwrap();
    for (_, system) in systems() {
        let f = |at: &Pair| system.apply(at);
        let rows = Vmap::new().in_dims((None, 0)).of(f)(&(a.clone(), many.clone())).unwrap();
        let x = cramer(&at()).unwrap();
        let want = stack(&[&x, &x.mul(2.0).unwrap(), &x.neg().unwrap()], 0).unwrap();
        assert_close(&rows, &want, 1e-13);
        let total = |a: &Tensor| Vmap::new().in_dims((None, 0)).of(f)(&(a.clone(), many.clone()))?.square()?.sum();
        let loop_ = |a: &Tensor| {
            let mut sum = Tensor::from(0.0);
            for k in 0..3 {
                sum = sum.add(&cramer(&(a.clone(), many.select(0, k)?))?.square()?.sum()?)?;
            }
            Ok(sum)
        };
        assert_close(&hessian(total)(&a).unwrap(), &hessian(loop_)(&a).unwrap(), 1e-10);
    }
}

#[test]
fn unknowns_are_trees() {
    // x + p·y = b₀, y - p·x = b₁ for vectors, one of them in f32.
    let system = LinearSolve::new(|p: &Tensor, (x, y): &Pair| {
        let first = x.add(&y.to_dtype(DType::F64)?.mul(p)?)?;
        let second = y.sub(&x.mul(p)?.to_dtype(DType::F32)?)?;
        Ok((first, second))
    });
    let b = (Tensor::from([1.0, 2.0]), Tensor::from([3.0f32, 4.0]));
    let f = |p: &Tensor| system.apply(&(p.clone(), b.clone()))?.0.sum();
    // x = (b₀ - p·b₁)/(1 + p²)
    let p = Tensor::from(0.5);
    near(number(&f(&p).unwrap()), (3.0 - 3.5) / 1.25, 1e-6);
    let slope = (-7.0 * 1.25 - (3.0 - 3.5)) / 1.25f64.powi(2);
    near(number(&grad(f)(&p).unwrap()), slope, 1e-6);
    near(number(&jvp(f, &p, &Tensor::from(1.0)).unwrap().1), slope, 1e-6);
    let single = LinearSolve::new(product).linear_solver(LinearSolver::gmres());
    let (a, b) = at();
    holds(&single, &(a, b));
}

#[test]
fn the_short_form() {
    let solve = linear_solve(product, |a: &Tensor, b: &Tensor| raw_cramer(a, b, false));
    let solve = |at: &Pair| solve(at);
    assert_close(&jacrev(solve)(&at()).unwrap(), &jacrev(cramer)(&at()).unwrap(), 1e-13);
}

#[test]
fn the_checker_finds_broken_promises() {
    let found = |system: LinearSolve<Tensor, Tensor>, property: &str| {
        let report = check_function(&system, &at()).unwrap();
        assert!(report.finding(property).is_some(), "{report}");
    };
    let opaque = |a: &Tensor, b: &Tensor| raw_cramer(a, b, false);
    // Not symmetric.
    found(LinearSolve::new(product).symmetric(), "vjp_matches_differences");
    // The solver of the system itself for the transposed one.
    found(LinearSolve::new(product).solve(opaque).transpose_solve(opaque), "vjp_matches_differences");
    // A solver of the transposed system.
    found(LinearSolve::new(product).solve(|a: &Tensor, b: &Tensor| raw_cramer(a, b, true)), "vjp_matches_differences");
    // A product that is not linear.
    found(LinearSolve::new(|a: &Tensor, x: &Tensor| a.matmul(x)?.add(0.1)), "vjp_matches_differences");
}
