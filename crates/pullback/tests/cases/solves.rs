//! Linear systems among lanes and at second order, and equations inside of other machinery.

use pullback::implicit::{LinearSolve, LinearSolver, Root};
use pullback::*;

use crate::{close, is, value, values};

fn system() -> LinearSolve<Tensor, Tensor> {
    LinearSolve::new(|a: &Tensor, x: &Tensor| a.matmul(x))
}

#[test]
fn c81_one_singular_matrix_among_the_lanes() {
    let a = Tensor::from([[[2.0, 0.0], [0.0, 4.0]], [[1.0, 1.0], [0.0, 0.0]]]);
    let b = Tensor::from([[2.0, 4.0], [1.0, 1.0]]);
    // As without lanes, an error, which says which lane it is.
    let alone = system().apply(&(a.i(1).unwrap(), b.i(1).unwrap())).unwrap_err();
    let e = vmap(system().into_fn())(&(a.clone(), b.clone())).unwrap_err();
    assert_eq!((alone.kind(), e.kind()), (ErrorKind::Value, ErrorKind::Value));
    assert!(e.to_string().contains("singular to working precision in system 1 of 2"), "{e}");
    // Or the lane fails for itself, in values and derivatives.
    let solve = system().linear_solver(LinearSolver::dense().nan_on_failure()).into_fn();
    let nan = f64::NAN;
    is(&vmap(&solve)(&(a.clone(), b.clone())).unwrap(), &[2, 2], &[1.0, 1.0, nan, nan]);
    let by_b = vmap(|(a, b): &(Tensor, Tensor)| grad(|b: &Tensor| solve(&(a.clone(), b.clone()))?.sum())(b));
    is(&by_b(&(a, b)).unwrap(), &[2, 2], &[0.5, 0.25, nan, nan]);
}

#[test]
fn c129_solves_at_second_order() {
    // The rows of X in X·A = B are solutions of transposed systems.
    let solve = system().into_fn();
    let f = |t: &Tensor| {
        let matrix = |[a, b, c, d]: [&Tensor; 4]| stack(&[a, b, c, d], 0)?.reshape(&[2, 2]);
        let a = matrix([&(t + 2.0), &t.ones_like()?, &t.zeros_like()?, &(t + 3.0)])?;
        let b = matrix([t, &(t * 2.0 + 1.0), &(t + 1.0), &(3.0 - t)])?;
        let x = vmap(|row: &Tensor| solve(&(a.t()?, row.clone())))(&b)?;
        x.mul(&Tensor::from([[1.0, 2.0], [-1.0, 3.0]]))?.sum()
    };
    let t = Tensor::from(-0.5);
    // 3.4, -2.02666…, 3.0435555…
    close(&[value(&f(&t).unwrap())], &[17.0 / 5.0]);
    close(&[value(&grad(f)(&t).unwrap())], &[-152.0 / 75.0]);
    for strategy in HessianStrategy::ALL {
        close(&[value(&Hessian::new().strategy(strategy).of(f)(&t).unwrap())], &[3424.0 / 1125.0]);
    }
}

/// A leaf, a loop with checkpoints, a checkpoint and a root in one walk, against the chain rule by hand.
#[test]
fn a_root_behind_loops_and_checkpoints() {
    let running = |xs: &Tensor| {
        let step = |sum: &Tensor, x: &Tensor| {
            let sum = sum.mul(0.9)?.add(&x.square()?)?;
            Ok((sum.clone(), sum))
        };
        Ok(Scan::new().reverse(true).checkpoint(2).run(step, &Tensor::from(0.0), xs)?.1)
    };
    let cubic = Root::newton(|p: &Tensor, x: &Tensor| x.powi(3)?.add(x)?.sub(p), |p: &Tensor| p.zeros_like()).into_fn();
    let f = |xs: &Tensor| cubic(&checkpoint(|y: &Tensor| y.sin()?.sum())(&running(xs)?)?);

    let x = [1.0f64, 2.0, 3.0];
    let leaf = autograd::leaf(&Tensor::from(x)).unwrap();
    let root = f(&leaf).unwrap();
    root.backward().unwrap();

    let mut y = [0.0; 3];
    for i in (0..3).rev() {
        y[i] = x[i] * x[i] + if i < 2 { 0.9 * y[i + 1] } else { 0.0 };
    }
    let r = value(&root);
    assert!((r * r * r + r - y.iter().map(|y| y.sin()).sum::<f64>()).abs() < 1e-12);
    // `y[i]` for i ≤ k holds x[k]² times a power of 0.9.
    let by_hand = |k: usize| (0..=k).map(|i| y[i].cos() * 0.9f64.powi((k - i) as i32)).sum::<f64>();
    let want: Vec<f64> = (0..3).map(|k| by_hand(k) * 2.0 * x[k] / (3.0 * r * r + 1.0)).collect();
    close(&values(&leaf.grad().unwrap().unwrap()), &want);
    close(&values(&grad(f)(&Tensor::from(x)).unwrap()), &want);
}
