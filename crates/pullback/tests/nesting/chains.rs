//! Chains of a million operations (fewer in debug builds) neither overflow the stack nor keep memory.

use pullback::{Function, Result, Tensor, grad, jvp, vjp, vmap};

use super::alloc::measured;
use super::functions::SquareBackward;
use super::modes::number;

const LONG: usize = if cfg!(debug_assertions) { 200_000 } else { 1_000_000 };

/// Adds 0 to `x` again and again: the derivative is 1, whatever the length.
fn chain(x: &Tensor, length: usize) -> Result<Tensor> {
    let mut y = x.clone();
    for _ in 0..length {
        y = y.add(0.0)?;
    }
    Ok(y)
}

/// Runs `f` on a small stack, on which recursion of any depth would show, and checks that it keeps no memory.
fn keeps_nothing(name: &str, f: impl Fn(usize) -> f64 + Send + Sync) {
    keeps_nothing_of(name, LONG, f);
}

/// The same for a chain of a given length.
fn keeps_nothing_of(name: &str, length: usize, f: impl Fn(usize) -> f64 + Send + Sync) {
    let run = || {
        // What is cached is cached by a short chain already.
        f(1000);
        let (value, kept, peak) = measured(|| f(length));
        assert_eq!(value, 1.0, "{name}");
        assert!(kept.abs() < 64 * 1024, "{name}: {kept} bytes are kept");
        let each = peak as f64 / length as f64;
        assert!(each < 2048.0, "{name}: {each} bytes per operation at the worst moment");
    };
    std::thread::scope(|s| {
        std::thread::Builder::new().stack_size(256 * 1024).spawn_scoped(s, run).expect("a thread").join().expect(name);
    });
}

/// A million in every build.
#[test]
fn gradient() {
    let slope = |n| number(&grad(|x: &Tensor| chain(x, n))(&Tensor::from(0.5)).unwrap());
    keeps_nothing_of("grad", 1_000_000, slope);
}

#[test]
fn pullback_called_twice() {
    keeps_nothing("vjp", |n| {
        let (_, pull) = vjp(|x: &Tensor| chain(x, n), &Tensor::from(0.5)).unwrap();
        let once = number(&pull.call(&Tensor::from(0.25)).unwrap());
        once + number(&pull.call(&Tensor::from(0.75)).unwrap())
    });
}

#[test]
fn pullback_never_called() {
    keeps_nothing("vjp", |n| {
        let (y, pull) = vjp(|x: &Tensor| chain(x, n), &Tensor::from(0.5)).unwrap();
        drop(pull);
        2.0 * number(&y)
    });
}

#[test]
fn tracers_that_are_dropped() {
    keeps_nothing("grad", |n| {
        let f = |x: &Tensor| {
            chain(x, n)?;
            x.mul(1.0)
        };
        number(&grad(f)(&Tensor::from(0.5)).unwrap())
    });
}

#[test]
fn forward_mode() {
    keeps_nothing("jvp", |n| number(&jvp(|x: &Tensor| chain(x, n), &Tensor::from(0.5), &Tensor::from(1.0)).unwrap().1));
}

#[test]
fn lanes_of_gradients() {
    keeps_nothing("vmap of grad", |n| {
        let slopes = vmap(grad(|x: &Tensor| chain(x, n / 2)))(&Tensor::from([0.5, 1.0])).unwrap();
        slopes.to_vec::<f64>().unwrap()[1]
    });
}

#[test]
fn gradient_of_gradient() {
    keeps_nothing("grad of grad", |n| {
        let f = |x: &Tensor| {
            let y = chain(x, n / 8)?;
            y.mul(&y)?.mul(0.5)
        };
        number(&grad(grad(f))(&Tensor::from(0.5)).unwrap())
    });
}

#[test]
fn gradient_through_functions() {
    keeps_nothing("grad through a function", |n| {
        // 1 is a fixed point of the square, whose slope there is 2; the factor takes it back.
        let f = |x: &Tensor| {
            let mut y = x.clone();
            for _ in 0..n / 16 {
                y = SquareBackward.apply(&y)?.mul(0.5)?.add(0.5)?;
            }
            Ok(y)
        };
        number(&grad(f)(&Tensor::from(1.0)).unwrap())
    });
}

/// A chain that fans out: every value is used twice.
#[test]
fn diamonds() {
    keeps_nothing("grad", |n| {
        let f = |x: &Tensor| {
            let mut y = x.clone();
            for _ in 0..n / 4 {
                y = y.mul(0.5)?.add(&y.mul(0.5)?)?;
            }
            Ok(y)
        };
        number(&grad(f)(&Tensor::from(0.5)).unwrap())
    });
}
