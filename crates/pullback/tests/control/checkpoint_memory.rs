//! How much memory reverse mode takes with checkpoints.

use pullback::{Result, Scan, Tensor, checkpoint, clear_cache, grad, vmap};

use crate::alloc::measured;
use crate::{noise, values};

/// A state of 8 KB.
const SIZE: usize = 1024;

fn state() -> Tensor {
    noise(&[SIZE], 0.2)
}

fn step(x: &Tensor, _: &()) -> Result<(Tensor, ())> {
    Ok((x.sin()?.mul(x)?.cos()?, ()))
}

fn recorded(n: usize) -> impl Fn(&Tensor) -> Result<Tensor> {
    move |x| Scan::new().length(n).run(step, x, &())?.0.sum()
}

fn checkpointed(n: usize) -> impl Fn(&Tensor) -> Result<Tensor> {
    move |x| Scan::new().length(n).checkpoint(None).run(step, x, &())?.0.sum()
}

/// The result of `f`, and how many more bytes this thread held than before, at the worst moment.
fn peak<R>(f: impl FnOnce() -> R) -> (R, usize) {
    clear_cache();
    let (result, _, most) = measured(f);
    (result, most as usize)
}

/// The peak in states.
fn states(f: impl Fn(&Tensor) -> Result<Tensor>) -> (Vec<f64>, usize) {
    let x = state();
    let (y, bytes) = peak(|| f(&x).unwrap());
    (values(&y), bytes / (SIZE * 8))
}

#[test]
fn a_scan_of_1000_steps_takes_the_square_root() {
    let (plain, all) = states(grad(recorded(1000)));
    let (again, few) = states(grad(checkpointed(1000)));
    assert_eq!(plain, again);
    // 3 values per step; the carries of 32 parts and the steps of one.
    assert!(all >= 2500, "{all}");
    assert!(few <= 32 + 5 * 32, "{few}");
    // Four times the steps: twice the memory.
    let (_, quarter) = states(grad(checkpointed(250)));
    assert!(few as f64 <= 2.6 * quarter as f64, "{quarter} states for 250 steps, {few} for 1000");
    let (_, parts_of_4) = states(grad(|x: &Tensor| Scan::new().length(1000).checkpoint(4).run(step, x, &())?.0.sum()));
    assert!((250..300).contains(&parts_of_4), "{parts_of_4}");
}

#[test]
fn in_forward_mode_and_without_derivatives_nothing_is_kept() {
    let (_, used) = states(checkpointed(1000));
    assert!(used <= 8, "{used}");
    let (_, used) = states(|x| Ok(pullback::jvp(checkpointed(1000), x, x)?.1));
    // The steps of one part at most.
    assert!(used <= 40, "{used}");
}

#[test]
fn under_vmap_and_for_second_derivatives() {
    let each = |f: &dyn Fn(&Tensor) -> Result<Tensor>| states(|x| vmap(grad(f))(&x.unflatten(0, &[8, -1])?));
    let ((plain, all), (again, few)) = (each(&recorded(400)), each(&checkpointed(400)));
    assert_eq!(plain, again);
    assert!(all >= 1000 && few <= 6 * 20 + 40, "{all} {few}");
    let over = |f: &dyn Fn(&Tensor) -> Result<Tensor>| {
        states(|x| grad(|rows: &Tensor| vmap(f)(rows)?.sum())(&x.unflatten(0, &[8, -1])?))
    };
    let ((plain, all), (again, few)) = (over(&recorded(400)), over(&checkpointed(400)));
    assert_eq!(plain, again);
    assert!(all >= 1000 && few <= 6 * 20 + 40, "{all} {few}");
    let twice = |f: &dyn Fn(&Tensor) -> Result<Tensor>| states(|x| grad(|x: &Tensor| grad(f)(x)?.square()?.sum())(x));
    let ((plain, all), (again, few)) = (twice(&recorded(400)), twice(&checkpointed(400)));
    for (p, a) in plain.iter().zip(&again) {
        assert!((p - a).abs() <= 1e-12 * p.abs().max(1.0), "{p} {a}");
    }
    // All steps of both walks, against those of one part and the carries and cotangents between the parts.
    assert!(all >= 3000 && few <= 800, "{all} {few}");
}

#[test]
fn c160_a_chain_of_100_layers() {
    let chain = |again: bool| {
        move |x: &Tensor| {
            let layer = |x: &Tensor| x.exp()?.add(1.0)?.log()?.tanh();
            let again = again.then(|| checkpoint(layer));
            let mut x = x.clone();
            for _ in 0..100 {
                x = match &again {
                    Some(layer) => layer(&x)?,
                    None => layer(&x)?,
                };
            }
            x.sum()
        }
    };
    let ((plain, all), (again, few)) = (states(grad(chain(false))), states(grad(chain(true))));
    assert_eq!(plain, again);
    // One value per layer instead of three or more.
    assert!(all >= 290 && few <= 115, "{all} {few}");
}

#[test]
fn lanes_inside_do_not_pile_up() {
    // A function that runs many operations on lanes keeps none of them.
    let f = checkpoint(|x: &Tensor| {
        let mut x = x.clone();
        for _ in 0..1000 {
            x = x.neg()?;
        }
        x.sum()
    });
    let rows = noise(&[8, 1024], 0.1);
    let (_, bytes) = peak(|| vmap(&f)(&rows).unwrap());
    assert!(bytes <= 6 * 8 * 1024 * 8, "{bytes}");
}
