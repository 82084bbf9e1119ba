//! Perturbations of nested derivatives do not mix.

use pullback::{Function, Result, Tensor, grad, jacfwd, jacrev, jvp, stack, vmap};

use super::functions::SquareBackward;
use super::modes::Mode::{Forward, Lanes, Reverse};
use super::modes::{apply, check, mixes, number};

/// C84: `D(x → x·D(y → x + y, 1), 1)` is 1, and `D(x → x·D(y → x·y, 1), 4)` is 8.
#[test]
fn inner_and_outer_perturbation() {
    for outer in [Forward, Reverse] {
        for inner in [Forward, Reverse] {
            let sum = |x: &Tensor| x.mul(apply(&|y: &Tensor| x.add(y), &[inner], &Tensor::from(1.0))?);
            check(&sum, &[outer], 1.0, 1.0);
            check(&sum, &[Lanes, outer], 1.0, 1.0);
            check(&sum, &[outer, Lanes], 1.0, 1.0);
            let product = |x: &Tensor| x.mul(apply(&|y: &Tensor| x.mul(y), &[inner], &Tensor::from(1.0))?);
            check(&product, &[outer], 4.0, 8.0);
            check(&product, &[Lanes, outer], 4.0, 8.0);
            check(&product, &[outer, Lanes], 4.0, 8.0);
        }
    }
}

/// The inner derivative is taken of a function that was made by the outer one, and called later.
#[test]
fn a_function_returned_by_a_derivative() {
    let shift = |a: &Tensor| {
        let a = a.clone();
        move |f: &dyn Fn(&Tensor) -> Result<Tensor>, x: &Tensor| f(&x.add(&a)?)
    };
    // d/da of (d/dx exp at x + a), at 0 and 1.
    let d = |x: &Tensor, a: &Tensor| jvp(|x: &Tensor| shift(a)(&|y: &Tensor| y.exp(), x), x, &Tensor::from(1.0));
    let (_, slope) = jvp(|a: &Tensor| Ok(d(&Tensor::from(1.0), a)?.1), &Tensor::from(0.0), &Tensor::from(1.0)).unwrap();
    assert!((number(&slope) - 1f64.exp()).abs() < 1e-14);
}

/// C86: a value used along several paths, in all four nestings.
#[test]
fn intermediate_used_twice() {
    let identity = |x: &Tensor| x.mul(1.0);
    let cube = |m: &Tensor| m.mul(m)?.mul(m);
    // The entries of M·M·M for M = [[x, 1], [-1, x]] sum to 2x³ − 6x, whose second derivative is 12x.
    let matrix = |x: &Tensor| {
        let m = stack(&[x, &Tensor::from(1.0), &Tensor::from(-1.0), x], 0)?.reshape(&[2, 2])?;
        m.matmul(&m)?.matmul(&m)?.sum()
    };
    for modes in mixes(2) {
        check(&|x| cube(&identity(x)?), &modes, 0.7, 4.2);
        check(&|x| cube(&x.sin()?), &modes, 0.7, 1.459_057_809_531_669_7);
        check(&matrix, &modes, 0.7, 8.4);
    }
}

/// C03: the fourth power through a `Function`, with derivatives by whole Jacobians.
#[test]
fn jacobians_of_jacobians() {
    let f = |x: &Tensor| SquareBackward.apply(&SquareBackward.apply(x)?);
    let x = Tensor::from([3.0, 2.0]);
    let third = |d: Tensor| d.to_vec::<f64>().unwrap();
    let mut want = vec![0.0; 16];
    (want[0], want[15]) = (72.0, 48.0);
    assert_eq!(third(jacfwd(jacfwd(jacfwd(f)))(&x).unwrap()), want);
    assert_eq!(third(jacrev(jacrev(jacrev(f)))(&x).unwrap()), want);
    assert_eq!(third(jacfwd(jacrev(jacfwd(f)))(&x).unwrap()), want);
    assert_eq!(third(jacrev(jacfwd(jacrev(f)))(&x).unwrap()), want);
}

/// A gradient inside a `vmap` of a closure over a value that an outer gradient is taken of.
#[test]
fn outer_value_inside_vmap_inside_grad() {
    // Σᵢ d/dxᵢ (w·xᵢ²) = Σᵢ 2w·xᵢ, so the derivative by w is 2Σxᵢ.
    let xs = Tensor::from([1.0, 2.0, 4.0]);
    for outer in [Forward, Reverse] {
        for inner in [Forward, Reverse] {
            let f = |w: &Tensor| vmap(|x: &Tensor| apply(&|x: &Tensor| w.mul(x)?.mul(x), &[inner], x))(&xs)?.sum();
            check(&f, &[outer], 5.0, 14.0);
        }
    }
}

/// The cotangent that a pullback is called with may itself be differentiated, inside and outside.
#[test]
fn pullbacks_called_with_traced_cotangents() {
    let x = Tensor::from(3.0);
    let (_, pull) = pullback::vjp(|x: &Tensor| x.mul(x), &x).unwrap();
    assert_eq!(number(&grad(|g: &Tensor| pull.call(g))(&Tensor::from(1.0)).unwrap()), 6.0);
    let pulled = vmap(|g: &Tensor| pull.call(g))(&Tensor::from([1.0, 2.0])).unwrap();
    assert_eq!(pulled.to_vec::<f64>().unwrap(), [6.0, 12.0]);
    // Made at an outer level, called at an inner one.
    let f = |x: &Tensor| {
        let (_, pull) = pullback::vjp(|x: &Tensor| x.mul(x)?.mul(x), x)?;
        grad(|g: &Tensor| pull.call(&g.mul(g)?))(&Tensor::from(2.0))
    };
    // 3x²·g² by g is 6x²g = 12x²; by x that is 24x.
    check(&f, &[], 3.0, 108.0);
    check(&f, &[Reverse], 3.0, 72.0);
    check(&f, &[Forward, Reverse], 3.0, 24.0);
}
