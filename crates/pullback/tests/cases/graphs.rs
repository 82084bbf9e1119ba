//! How much time and memory graphs and linearized functions take. Each of these tests runs in a process of its own.

use std::time::Instant;

use pullback::*;

use crate::{alone, value, values};

const N: usize = 100_000;

fn halves() -> Tensor {
    Tensor::full(&[N], 0.5, DType::F64).expect("a small tensor")
}

#[test]
fn c150_large_tables_are_shared() {
    if !alone("graphs::c150_large_tables_are_shared", &[]) {
        return;
    }
    let table = |n: usize| Tensor::full(&[n], 2.0, DType::F64).unwrap();
    let (large, small) = (table(6_553_600), table(8)); // 50 MB
    let x = Tensor::ones(&[2], DType::F64).unwrap();
    let rows = Tensor::from([1i64, 2]);
    let time = |table: &Tensor| {
        let f = |x: &Tensor| table.index_select(0, &rows)?.mul(x)?.add(table.narrow(0, 0, 2)?)?.sum();
        let g = |x: &Tensor| table.mul(x.sum()?)?.i(0);
        let start = Instant::now();
        drop(capture(f)(&x).unwrap());
        let time = start.elapsed().as_secs_f64();
        // The same where the whole table is an operand, without what the multiplication takes.
        let start = Instant::now();
        g(&x).unwrap();
        let eager = start.elapsed().as_secs_f64();
        let start = Instant::now();
        drop(capture(g)(&x).unwrap());
        time + start.elapsed().as_secs_f64() - eager
    };
    let fastest = |table: &Tensor| (0..5).map(|_| time(table)).fold(f64::INFINITY, f64::min);
    let (with_small, with_large) = (fastest(&small), fastest(&large));
    assert!(with_large < with_small + 0.01, "{with_large} s, with a small table {with_small} s");

    let before = live_bytes();
    let graph = capture(|at: &Tensor| large.index_select(0, at)?.sum())(&rows).unwrap();
    assert!(live_bytes() < before + 10_000);
    assert_eq!(graph.captured()[0].ty(), large.ty());
    assert_eq!(value(&graph.call(&Tensor::from([7i64, 5])).unwrap()), 4.0);
    assert!(live_bytes() < before + 10_000);
    let text = graph.to_string();
    assert!(text.starts_with("graph(a: i64[2]) captured(A: f64[6553600]) {"), "{text}");
    assert!(text.len() < 1000 && graph.to_svg().len() < 10_000);
}

#[test]
fn values_are_freed_as_a_replay_goes_on() {
    if !alone("graphs::values_are_freed_as_a_replay_goes_on", &[]) {
        return;
    }
    let x = halves();
    let before = live_bytes();
    let most = std::cell::Cell::new(0);
    let graph = capture(|x: &Tensor| {
        let mut y = x.clone();
        for _ in 0..50 {
            y = y.mul(1.01)?.add(x)?;
            most.set(most.get().max(live_bytes()));
        }
        y.sum()
    })(&x)
    .unwrap();
    // The graph holds types, not values.
    assert!(most.get() <= before + 3 * N * 8 && live_bytes() <= before + 1000);
    // A function that looks what is held in the middle of a replay.
    let seen = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let probe = {
        let seen = seen.clone();
        custom(move |x: &Tensor| {
            seen.store(live_bytes(), std::sync::atomic::Ordering::Relaxed);
            Ok(x.clone())
        })
        .into_fn()
    };
    let with_probe = capture(|x: &Tensor| {
        let y = (0..50).try_fold(x.clone(), |y, _| y.mul(1.01)?.add(x))?;
        probe(&y)
    })(&x)
    .unwrap();
    seen.store(0, std::sync::atomic::Ordering::Relaxed);
    drop(with_probe.call(&x).unwrap());
    let held = seen.load(std::sync::atomic::Ordering::Relaxed);
    assert!(held > before && held <= before + 2 * N * 8, "{held} bytes, {before} before");
    graph.call(&x).unwrap();
    assert!(live_bytes() <= before + 1000);
}

#[test]
fn tangents_are_freed_as_they_are_pushed() {
    if !alone("graphs::tangents_are_freed_as_they_are_pushed", &[]) {
        return;
    }
    let x = halves();
    let (y, push) = linearize(|x: &Tensor| (0..200).try_fold(x.clone(), |y, _| y.add(1.0)?.neg()), &x).unwrap();
    drop(y);
    let before = live_bytes();
    let (out, seen) = vjp(|x: &Tensor| push.call(x), &x).map(|(y, _)| (y, live_bytes())).unwrap();
    // Each step is linear and keeps nothing, also when the pushforward is differentiated in turn.
    assert!(seen <= before + 3 * N * 8, "{seen} bytes, {before} before");
    assert_eq!(values(&out)[..2], [0.5, 0.5]);
}

#[test]
fn what_no_result_depends_on_is_not_kept() {
    if !alone("graphs::what_no_result_depends_on_is_not_kept", &[]) {
        return;
    }
    let x = halves();
    let before = live_bytes();
    let f = |x: &Tensor| {
        let _unused = x.exp()?.mul(x)?.tanh()?;
        x.add(1.0)
    };
    let (y, push) = linearize(f, &x).unwrap();
    assert!(live_bytes() < before + N * 8 * 3 / 2);
    drop((y, push));
    drop(capture(f)(&x).unwrap());
    assert!(live_bytes() <= before + 1000);
}

#[test]
fn long_functions_are_linearized_with_little_stack() {
    let run = || {
        let f = |x: &Tensor| (0..100_000).try_fold(x.clone(), |y, _| y.mul(1.000_01));
        let (_, push) = linearize(f, &Tensor::from(1.0)).unwrap();
        let dy = push.call(&Tensor::from(2.0)).unwrap();
        assert!((value(&dy) - 2.0 * std::f64::consts::E).abs() < 1e-4);
        let graph = capture(f)(&Tensor::from(1.0)).unwrap();
        assert!((value(&graph.call(&Tensor::from(1.0)).unwrap()) - std::f64::consts::E).abs() < 1e-4);
    };
    std::thread::Builder::new().stack_size(256 << 10).spawn(run).unwrap().join().unwrap();
}
