//! `hessian`, its strategies and chunks.

use pullback::*;

use crate::{fails, is, noise, rosenbrock, rosenbrock_hessian, values};

#[test]
fn every_strategy_and_chunk_gives_the_hessian() {
    let x = noise(&[6], 0.3);
    let want = rosenbrock_hessian(&values(&x));
    for strategy in HessianStrategy::ALL {
        is(&Hessian::new().strategy(strategy).of(rosenbrock)(&x).unwrap(), &[6, 6], &want);
        for size in [1, 2, 4, 5, 6, 100] {
            let h = Hessian::new().strategy(strategy).chunk_size(size).of(rosenbrock)(&x).unwrap();
            is(&h, &[6, 6], &want);
        }
        fails(
            Hessian::new().strategy(strategy).chunk_size(0).of(rosenbrock)(&x),
            ErrorKind::Value,
            &["hessian: chunk_size"],
        );
    }
}

#[test]
fn results_that_are_vectors_and_trees() {
    // f = (a²·b, [Σa·b²]), a: [2], b: 0-d.
    let f = |(a, b): &(Tensor, Tensor)| Ok((a.square()?.mul(b)?, vec![a.sum()?.mul(&b.square()?)?]));
    let x = (Tensor::from([1.0, 2.0]), Tensor::from(3.0));
    for strategy in HessianStrategy::ALL {
        for size in [1, 2, 100] {
            let (first, second) = Hessian::new().strategy(strategy).chunk_size(size).of(f)(&x).unwrap();
            let ((aa, ab), (ba, bb)) = first;
            is(&aa, &[2, 2, 2], &[6.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 6.0]);
            is(&ab, &[2, 2], &[2.0, 0.0, 0.0, 4.0]);
            is(&ba, &[2, 2], &[2.0, 0.0, 0.0, 4.0]);
            is(&bb, &[2], &[0.0, 0.0]);
            let ((aa, ab), (ba, bb)) = &second[0];
            is(aa, &[2, 2], &[0.0; 4]);
            is(ab, &[2], &[6.0, 6.0]);
            is(ba, &[2], &[6.0, 6.0]);
            is(bb, &[], &[6.0]);
        }
    }
}

#[test]
fn strategies_nest() {
    // Σx⁴: the Hessian is 12x² on the diagonal; of the trace of that, 24.
    let f = |x: &Tensor| x.powi(4)?.sum();
    let x = Tensor::from([1.0, 2.0]);
    for inner in HessianStrategy::ALL {
        for outer in HessianStrategy::ALL {
            let trace = |x: &Tensor| Hessian::new().strategy(inner).chunk_size(1).of(f)(x)?.trace();
            let h = Hessian::new().strategy(outer).of(trace)(&x).unwrap();
            is(&h, &[2, 2], &[24.0, 0.0, 0.0, 24.0]);
        }
        let lanes = vmap(Hessian::new().strategy(inner).of(f))(&Tensor::from([[1.0, 2.0], [0.0, 3.0]])).unwrap();
        is(&lanes, &[2, 2, 2], &[12.0, 0.0, 0.0, 48.0, 0.0, 0.0, 0.0, 108.0]);
    }
}
