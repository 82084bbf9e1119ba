//! How much memory is held, and for how long. Each of these tests runs in a process of its own, because it counts what
//! the whole process allocates.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use pullback::*;

use crate::{alone, is, noise, value, values};

/// Counts the bytes that are allocated.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(held, Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The result of `f`, and by how many bytes it raised what is allocated at most, blocks that wait for reuse among them.
fn peak<R>(f: impl FnOnce() -> R) -> (R, usize) {
    clear_cache();
    let before = HELD.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = f();
    (result, PEAK.load(Relaxed) - before)
}

const KB: usize = 1 << 10;
const MB: usize = 1 << 20;

/// A matrix of 512 KB.
const SIDE: usize = 256;
const MATRIX: usize = SIDE * SIDE * 8;

/// How many matrices tensors hold.
fn matrices_held() -> usize {
    live_bytes() / MATRIX
}

#[test]
fn c78_a_shared_weight_is_not_copied_for_each_lane() {
    if !alone("memory::c78_a_shared_weight_is_not_copied_for_each_lane", &[("PULLBACK_NUM_THREADS", "1")]) {
        return;
    }
    let (w, x) = (noise(&[64, 128], 0.1), noise(&[1000, 128], 0.2));
    let lanes = |w: &Tensor, x: &Tensor| vmap(|x: &Tensor| w.matmul(x))(x);
    // The matrix engine keeps a workspace for each thread, whose size does not depend on that of the operands.
    noise(&[128, 130], 0.3).matmul(&noise(&[130, 128], 0.4)).unwrap();
    let (y, used) = peak(|| lanes(&w, &x).unwrap());
    assert_eq!(y.shape(), [1000, 64]);
    let output = 1000 * 64 * 8;
    assert!(used <= 2 * output, "{used} bytes for an output of {output}");
    // Nor for the gradients, or with lanes at the back, where W in front is not repeated either.
    let loss = |(w, x): &(Tensor, Tensor)| lanes(w, x)?.square()?.sum();
    let ((dw, dx), used) = peak(|| grad(loss)(&(w.clone(), x.clone())).unwrap());
    assert_eq!((dw.shape(), dx.shape()), (w.shape(), x.shape()));
    assert!(used <= 8 * output, "{used} bytes for gradients; copies of the weight are 64 MB");
    let turned = x.permute(&[1, 0]).unwrap();
    let (y2, used) = peak(|| Vmap::new().in_dims(1).of(|x: &Tensor| w.matmul(x))(&turned).unwrap());
    assert!(used <= 4 * output, "{used}");
    is(&y2.sub(&y).unwrap().abs().unwrap().max().unwrap(), &[], &[0.0]);
    // Tangents of the weight only.
    let (_, used) = peak(|| jvp(|w: &Tensor| lanes(w, &x), &w, &w).unwrap());
    assert!(used <= 6 * output, "{used}");
}

#[test]
fn c155_loops_without_a_gradient_hold_nothing() {
    if !alone("memory::c155_loops_without_a_gradient_hold_nothing", &[]) {
        return;
    }
    let size = 64 * KB;
    let run = |x: &Tensor, n: usize| {
        let mut x = x.clone();
        let mut metrics = Vec::new();
        for k in 0..n {
            x = x.mul(0.99)?.add(1.0)?;
            if k % 100 == 0 {
                metrics.push(x.mean()?);
            }
        }
        x.sum()?.add(&metrics[0].mul(0.0)?)
    };
    let x = noise(&[size / 8], 0.3);
    // No transform: as after a few steps.
    let (_, few) = peak(|| run(&x, 10).unwrap());
    let (_, many) = peak(|| run(&x, 1000).unwrap());
    assert!(few <= 6 * size && many <= few + 64 * KB, "{few} bytes for 10 steps, {many} for 1000");
    // On constants inside of a gradient: the same.
    let (_, used) = peak(|| grad(|w: &Tensor| run(&x, 1000)?.mul(w))(&Tensor::from(2.0)).unwrap());
    assert!(used <= 6 * size, "{used}");
    // On values that are tracked, only what the derivative needs: numbers, no tensors of this size.
    let (g, used) = peak(|| grad(|x: &Tensor| run(x, 1000))(&x).unwrap());
    assert!((values(&g)[0] / 0.99f64.powi(1000) - 1.0).abs() < 1e-9);
    assert!(used <= 2 * MB, "{used} bytes, tensors of every step are {} MB", 1000 * size / MB);
    // The same for values that are tracked and then not returned, and with lanes.
    let (_, used) = peak(|| {
        grad(|x: &Tensor| {
            for _ in 0..20 {
                run(x, 50)?.sin()?;
            }
            x.sum()
        })(&x)
        .unwrap()
    });
    assert!(used <= MB, "{used}");
    let (_, used) = peak(|| vmap(|x: &Tensor| run(x, 1000))(&x.reshape(&[8, -1]).unwrap()).unwrap());
    assert!(used <= 6 * size, "{used}");
    let (_, used) = peak(|| jvp(|x: &Tensor| run(x, 1000), &x, &x).unwrap());
    assert!(used <= 12 * size, "{used}");
}

#[test]
fn c156_residuals_and_constants() {
    if !alone("memory::c156_residuals_and_constants", &[]) {
        return;
    }
    let x = noise(&[SIDE, SIDE], 0.1);
    let chain = |x: &Tensor| {
        let mut x = x.clone();
        for _ in 0..10 {
            x = x.sin()?.cos()?;
        }
        x.sum()
    };
    let (_, used) = peak(|| grad(chain)(&x).unwrap());
    assert!(used <= 23 * MATRIX + 64 * KB, "{} matrices", used as f64 / MATRIX as f64);
    // Constant weights get no gradients, and nothing is kept for them but themselves.
    let weights: Vec<Tensor> = (0..10).map(|k| noise(&[SIDE, SIDE], k as f64)).collect();
    let weighted = |x: &Tensor| {
        let mut x = x.clone();
        for w in &weights {
            x = x.mul(w)?.sin()?;
        }
        x.sum()
    };
    assert_eq!(matrices_held(), 11);
    let (_, used) = peak(|| grad(weighted)(&x).unwrap());
    assert!(used <= 13 * MATRIX + 64 * KB, "{} matrices", used as f64 / MATRIX as f64);
    assert_eq!(matrices_held(), 11);
    // Products with constant weights keep the weights, and of the values between them nothing.
    let linear = |x: &Tensor| {
        let mut x = x.clone();
        for w in &weights {
            x = x.mul(w)?;
        }
        x.sum()
    };
    let (_, pull) = vjp(linear, &x).unwrap();
    assert_eq!(matrices_held(), 11);
    drop(pull);
    // A pullback holds what it needs, and gives it back when it is dropped.
    let (y, pull) = vjp(chain, &x).unwrap();
    let held = matrices_held() - 11;
    assert!(held <= 20, "{held} matrices");
    pull.call(&Tensor::from(1.0)).unwrap();
    assert_eq!(matrices_held() - 11, held);
    drop(pull);
    assert_eq!(matrices_held(), 11);
    assert!(value(&y).is_finite());
}

#[test]
fn c156_training_is_flat() {
    if !alone("memory::c156_training_is_flat", &[]) {
        return;
    }
    let x = noise(&[32, 16], 0.3);
    let mut p = (noise(&[16, 16], 0.1), noise(&[16], 0.2));
    let loss = |(w, b): &(Tensor, Tensor)| vmap(|x: &Tensor| w.matmul(x)?.add(b)?.tanh()?.square()?.sum())(&x)?.mean();
    let mut after_few = 0;
    for step in 0..500 {
        let g = grad(loss)(&p).unwrap();
        p = p.zip_with(&g, |p, g| p.sub(&g.mul(0.01)?)).unwrap();
        if step == 10 {
            after_few = HELD.load(Relaxed);
        }
    }
    let after_many = HELD.load(Relaxed);
    assert!(after_many <= after_few + 16 * KB, "{after_few} bytes after 10 steps, {after_many} after 500");
}

#[test]
fn c163_a_stopped_tangent_keeps_nothing() {
    if !alone("memory::c163_a_stopped_tangent_keeps_nothing", &[]) {
        return;
    }
    let x = noise(&[SIDE, SIDE], 0.1);
    let v = noise(&[SIDE, SIDE], 0.2);
    let chain = |x: &Tensor| {
        let mut x = x.clone();
        for _ in 0..20 {
            x = x.sin()?;
        }
        Ok(x)
    };
    let base = matrices_held();
    let held = std::cell::Cell::new(0);
    let plain = |x: &Tensor| {
        let y = chain(x)?;
        held.set(matrices_held() - base);
        y.sum()
    };
    let want = grad(plain)(&x).unwrap();
    let without = held.get();
    let with_diagnostic = |x: &Tensor| {
        let (y, size) = {
            let (y, t) = jvp(chain, x, &v)?;
            (y, t.detach()?.square()?.sum()?)
        };
        held.set(matrices_held() - base);
        y.sum()?.add(&size.mul(0.0)?)
    };
    let got = grad(with_diagnostic)(&x).unwrap();
    assert!(held.get() <= without + without / 20, "{} matrices held, {without} without the tangent", held.get());
    assert_eq!(values(&got), values(&want));
}

#[test]
fn dropping_a_long_chain_needs_no_deep_stack() {
    // In a thread with little stack: recording, walking back and dropping 100,000 operations.
    let run = || {
        let chain = |x: &Tensor| {
            let mut x = x.clone();
            for _ in 0..100_000 {
                x = x.mul(1.000_01)?;
            }
            Ok(x)
        };
        let x = Tensor::from(1.0);
        let (_, pull) = vjp(chain, &x).unwrap();
        let g = pull.call(&x).unwrap();
        assert!((value(&g) - std::f64::consts::E).abs() < 1e-4);
        drop(pull);
        assert!((value(&grad(chain)(&x).unwrap()) - std::f64::consts::E).abs() < 1e-4);
        // A chain of levels that is dropped without a walk.
        let (_, pull) = vjp(|x: &Tensor| grad(chain)(x), &x).unwrap();
        drop(pull);
    };
    std::thread::Builder::new().stack_size(256 * KB).spawn(run).unwrap().join().unwrap();
}
