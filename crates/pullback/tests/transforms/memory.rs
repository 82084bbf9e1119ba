//! That chunks bound the memory: what is held at the worst moment, counted. Each test runs in a process of its own,
//! with one thread, because blocks that wait for reuse are shared between threads.

use std::process::Command;

use pullback::*;

use crate::alloc::measured;
use crate::{is, noise, rosenbrock, rosenbrock_hessian, values};

/// True in a process that runs this test alone; else starts one, checks that it succeeds, and is false.
fn alone(test: &str) -> bool {
    const MARK: &str = "TRANSFORMS_ALONE";
    if std::env::var_os(MARK).is_some() {
        return true;
    }
    let mut command = Command::new(std::env::current_exe().expect("tests are programs"));
    command
        .args([&format!("memory::{test}"), "--exact", "--test-threads=1"])
        .env(MARK, "1")
        .env("PULLBACK_NUM_THREADS", "1");
    let out = command.output().expect("the program that runs");
    let text = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && text.contains("1 passed"), "{text}");
    false
}

/// What does not depend on the sizes.
const ROOM: isize = 100_000;

/// The result of `f`, and how much more than before was held at the worst moment, apart from the result.
fn extra(f: impl Fn() -> Tensor) -> (Tensor, isize) {
    // What is made once does not count.
    f();
    clear_cache();
    let (y, _, peak) = measured(&f);
    let own = (y.numel() * 8) as isize;
    (y, peak - own)
}

#[test]
fn c76_the_peak_of_a_chunked_vmap_grows_with_the_chunk() {
    if !alone("c76_the_peak_of_a_chunked_vmap_grows_with_the_chunk") {
        return;
    }
    let (lanes, n) = (256, 1000);
    let x = noise(&[lanes, n], 0.3);
    let row = (n * 8) as isize;
    // Some values of the size of the argument that live at the same time; the result is small.
    let small = |x: &Tensor| x.sin()?.mul(&x.cos()?)?.mul(&x.exp()?)?.sum();
    let (want, whole) = extra(|| vmap(small)(&x).unwrap());
    assert!(whole > 2 * lanes as isize * row, "{whole}");
    for chunk in [1, 4, 16, 64] {
        let (y, used) = extra(|| Vmap::new().chunk_size(chunk).of(small)(&x).unwrap());
        is(&y, &[lanes], &values(&want));
        assert!(used < 6 * chunk as isize * row + ROOM, "{used} bytes besides the result for chunks of {chunk}");
    }
    // A result of the size of the argument is written to its place: no second one while the chunks are joined.
    let large = |x: &Tensor| x.sin()?.mul(x);
    for (chunk, dim) in [(1, 0), (8, 0), (8, 1)] {
        let (y, used) = extra(|| Vmap::new().out_dims(dim).chunk_size(chunk).of(large)(&x).unwrap());
        assert_eq!(y.numel(), lanes * n);
        assert!(used < 6 * chunk as isize * row + ROOM, "{used} bytes besides the result for chunks of {chunk}");
    }
}

#[test]
fn the_peak_of_a_chunked_jacobian_grows_with_the_chunk() {
    if !alone("the_peak_of_a_chunked_jacobian_grows_with_the_chunk") {
        return;
    }
    let n = 400;
    let x = noise(&[n], 0.3);
    let row = (n * 8) as isize;
    let f = |x: &Tensor| x.sin()?.mul(&x.cos()?)?.mul(&x.exp()?);
    let (want, reverse) = extra(|| jacrev(f)(&x).unwrap());
    let (_, forward) = extra(|| jacfwd(f)(&x).unwrap());
    assert!(reverse.min(forward) > n as isize * row, "{reverse} {forward}");
    for chunk in [1, 8, 32] {
        // The last chunk is smaller: its blocks come on top of those that wait for reuse.
        let bound = |whole: isize| 3 * whole * chunk as isize / n as isize + ROOM;
        let (j, used) = extra(|| Jacrev::new().chunk_size(chunk).of(f)(&x).unwrap());
        is(&j, &[n, n], &values(&want));
        assert!(
            used < bound(reverse),
            "jacrev: {used} bytes besides the result for chunks of {chunk}, {reverse} at once"
        );
        let (j, used) = extra(|| Jacfwd::new().chunk_size(chunk).of(f)(&x).unwrap());
        is(&j, &[n, n], &values(&want));
        assert!(
            used < bound(forward),
            "jacfwd: {used} bytes besides the result for chunks of {chunk}, {forward} at once"
        );
    }
}

#[test]
fn a_hessian_of_a_thousand_variables_in_bounded_memory() {
    if !alone("a_hessian_of_a_thousand_variables_in_bounded_memory") {
        return;
    }
    let n = 1000;
    let x = noise(&[n], 0.3);
    let row = (n * 8) as isize;
    let (h, used) = extra(|| Hessian::new().chunk_size(50).of(rosenbrock)(&x).unwrap());
    is(&h, &[n, n], &rosenbrock_hessian(&values(&x)));
    assert!(used < 50 * 20 * row, "{used} bytes besides the result of {}", n as isize * row);
}

#[test]
fn a_laplacian_keeps_no_hessian() {
    if !alone("a_laplacian_keeps_no_hessian") {
        return;
    }
    let n = 2000;
    let x = noise(&[n], 0.3);
    let row = (n * 8) as isize;
    let f = |x: &Tensor| x.powi(3)?.sum();
    let want: f64 = values(&x).iter().map(|x| 6.0 * x).sum();
    let (trace, used) = extra(|| laplacian(f)(&x).unwrap());
    is(&trace, &[], &[want]);
    assert!(used < 64 * 10 * row, "{used} bytes, the Hessian has {}", n as isize * row);
    let (trace, used) = extra(|| Laplacian::new().chunk_size(4).of(f)(&x).unwrap());
    is(&trace, &[], &[want]);
    assert!(used < 4 * 20 * row + ROOM, "{used}");
}

#[test]
fn c107_a_product_by_forward_over_reverse_holds_a_few_vectors() {
    if !alone("c107_a_product_by_forward_over_reverse_holds_a_few_vectors") {
        return;
    }
    let n = 100_000;
    let (x, v) = (noise(&[n], 0.3), noise(&[n], 0.6));
    let f = |x: &Tensor| {
        let mut x = x.clone();
        for _ in 0..5 {
            x = x.sin()?.mul(&x)?;
        }
        x.sum()
    };
    let (_, gradient) = extra(|| grad(f)(&x).unwrap());
    let (a, forward) = extra(|| hvp(f, &x, &v).unwrap().1);
    let (b, reverse) = extra(|| vhp(f, &x, &v).unwrap().1);
    is(&a, &[n], &values(&b));
    assert!(forward <= 3 * gradient, "{forward} bytes, {gradient} for a gradient");
    assert!(forward <= reverse, "{forward} and {reverse} bytes");
}

#[test]
fn the_last_walk_frees_what_it_passes() {
    if !alone("the_last_walk_frees_what_it_passes") {
        return;
    }
    let x = noise(&[50_000], 0.3);
    let f = |x: &Tensor| {
        let mut x = x.clone();
        for _ in 0..20 {
            x = x.sin()?;
        }
        x.sum()
    };
    let (a, gradient) = extra(|| grad(f)(&x).unwrap());
    let (b, jacobian) = extra(|| jacrev(f)(&x).unwrap());
    is(&a, &[50_000], &values(&b));
    assert!(jacobian < gradient + 2 * 50_000 * 8, "{jacobian} and {gradient}");
}
