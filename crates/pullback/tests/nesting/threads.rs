//! Levels belong to values, not to threads.

use pullback::{Function, Result, Tensor, grad, jvp, stack, vmap};
use rayon::prelude::*;

use super::functions::{Cube, SquareBackward, SquareJvp};
use super::modes::{Mode, apply, check, inserted, mixes, number};

fn joined(parts: Vec<Result<Tensor>>) -> Result<Tensor> {
    let parts = parts.into_iter().collect::<Result<Vec<_>>>()?;
    stack(&parts.iter().collect::<Vec<_>>(), 0)?.sum()
}

/// `Σₖ k·x³` for k below 8, each term on a thread of its own.
fn on_threads(x: &Tensor) -> Result<Tensor> {
    joined(std::thread::scope(|s| {
        let handles: Vec<_> = (0..8).map(|k| s.spawn(move || x.mul(x)?.mul(x)?.mul(f64::from(k)))).collect();
        handles.into_iter().map(|h| h.join().expect("no panic")).collect()
    }))
}

/// The same on the threads of a pool.
fn on_a_pool(x: &Tensor) -> Result<Tensor> {
    joined((0..8).into_par_iter().map(|k| x.mul(x)?.mul(x)?.mul(f64::from(k))).collect())
}

/// The same with a derivative taken inside every thread: `k·x³` is `x/3` times the derivative of `k·y³` at `x`.
fn with_inner_derivatives(x: &Tensor) -> Result<Tensor> {
    joined(
        (0..8)
            .into_par_iter()
            .map(|k: i32| {
                let mode = if k % 2 == 0 { Mode::Forward } else { Mode::Reverse };
                let slope = apply(&|y: &Tensor| y.mul(y)?.mul(y)?.mul(k), &[mode], x)?;
                slope.mul(x)?.div(3)
            })
            .collect(),
    )
}

/// The same through user functions.
fn with_functions(x: &Tensor) -> Result<Tensor> {
    joined(
        (0..8)
            .into_par_iter()
            .map(|k| {
                let square = if k % 2 == 0 { SquareJvp.apply(x)? } else { SquareBackward.apply(x)? };
                if k % 3 == 0 { Cube.apply(x)?.mul(k) } else { square.mul(x)?.mul(k) }
            })
            .collect(),
    )
}

#[test]
fn values_of_a_level_are_used_on_many_threads() {
    for f in [on_threads, on_a_pool, with_inner_derivatives, with_functions] {
        for (order, want) in [756.0, 756.0, 504.0, 168.0].into_iter().enumerate() {
            for modes in mixes(order) {
                check(&f, &modes, 3.0, want);
                inserted(&modes, Mode::Lanes).iter().for_each(|m| check(&f, m, 3.0, want));
                inserted(&modes, Mode::Unmapped).iter().for_each(|m| check(&f, m, 3.0, want));
            }
        }
    }
}

#[test]
fn transforms_run_on_many_threads_at_once() {
    (0..200).into_par_iter().for_each(|k| {
        let x = f64::from(k) / 50.0 - 2.0;
        let modes = &mixes(3)[k as usize % 8];
        check(&|x| x.mul(x)?.mul(x)?.mul(x), modes, x, 24.0 * x);
        let xs = Tensor::from([x, x + 1.0]);
        let slopes = vmap(grad(|x: &Tensor| Cube.apply(x)))(&xs).unwrap().to_vec::<f64>().unwrap();
        for (slope, x) in slopes.iter().zip([x, x + 1.0]) {
            assert!((slope - 3.0 * x * x).abs() < 1e-12);
        }
    });
}

/// A pullback is called on another thread than the one that made it, while the outer level is open.
#[test]
fn pullbacks_travel() {
    let f = |x: &Tensor| {
        let (_, pull) = pullback::vjp(|x: &Tensor| x.mul(x)?.mul(x), x)?;
        std::thread::scope(|s| s.spawn(|| pull.call(&Tensor::from(1.0))).join().expect("no panic"))
    };
    for modes in mixes(1) {
        check(&f, &modes, 2.0, 12.0);
    }
    let forward = jvp(f, &Tensor::from(2.0), &Tensor::from(1.0)).unwrap().1;
    assert_eq!(number(&forward), 12.0);
}
