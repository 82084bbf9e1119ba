//! Threads: no cross-talk, and results that do not depend on how many there are.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use pullback::*;

use crate::{child, iota, is, noise, ones, value, values, zeros};

#[test]
fn c102_threads_differentiate_beside_each_other() {
    let done = Arc::new(AtomicBool::new(false));
    std::thread::scope(|s| {
        let busy = done.clone();
        s.spawn(move || {
            while !busy.load(Relaxed) {
                let (_, pull) = vjp(|x: &Tensor| vmap(|x: &Tensor| x.sin()?.exp())(x), &iota(&[50])).unwrap();
                drop(pull);
            }
        });
        let threads: Vec<_> = (0..8)
            .map(|i| {
                s.spawn(move || {
                    let x = Tensor::from(f64::from(i));
                    for k in 0..200 {
                        if i == 3 && k == 100 {
                            // A panic in the middle of a transform, in the middle of others.
                            let f = |_: &Tensor| -> Result<Tensor> { panic!("on purpose") };
                            let lanes = zeros(&[2]);
                            assert!(catch_unwind(AssertUnwindSafe(|| vmap(grad(f))(&lanes))).is_err());
                        }
                        let g = grad(|x: &Tensor| x.mul(x)?.mul(x))(&x).unwrap();
                        assert_eq!(value(&g), 3.0 * f64::from(i * i));
                        let h = grad(grad(|x: &Tensor| x.mul(x)?.mul(x)))(&x).unwrap();
                        assert_eq!(value(&h), 6.0 * f64::from(i));
                    }
                })
            })
            .collect();
        for t in threads {
            t.join().unwrap();
        }
        done.store(true, Relaxed);
    });
}

#[test]
fn c102_values_of_a_transform_may_visit_other_threads() {
    // Parts of a function on threads of their own: the graph joins them.
    let f = |x: &Tensor| {
        std::thread::scope(|s| {
            let parts: Vec<_> = (1..=4).map(|k| s.spawn(move || x.powi(k)?.sum())).collect();
            parts.into_iter().map(|p| p.join().unwrap()).try_fold(Tensor::from(0.0), |sum, part| sum.add(&part?))
        })
    };
    let x = Tensor::from([1.0, 2.0]);
    is(&grad(f)(&x).unwrap(), &[2], &[10.0, 49.0]);
    is(&jacfwd(f)(&x).unwrap(), &[2], &[10.0, 49.0]);
    is(&vmap(f)(&x.unsqueeze(1).unwrap()).unwrap(), &[2], &[4.0, 30.0]);
    is(&vmap(grad(f))(&x.unsqueeze(1).unwrap()).unwrap(), &[2, 1], &[10.0, 49.0]);
    // Transforms inside of the threads.
    let g = |x: &Tensor| {
        std::thread::scope(|s| s.spawn(|| vmap(|x: &Tensor| grad(|x: &Tensor| x.powi(3))(x))(x)?.sum()).join().unwrap())
    };
    is(&grad(g)(&x).unwrap(), &[2], &[6.0, 12.0]);
}

#[test]
fn one_pullback_serves_many_threads() {
    let x = noise(&[40], 0.2);
    let (_, pull) = vjp(|x: &Tensor| vmap(|x: &Tensor| x.sin()?.exp())(x), &x).unwrap();
    let seed = noise(&[40], 0.9);
    let want = values(&pull.call(&seed).unwrap());
    std::thread::scope(|s| {
        for _ in 0..8 {
            s.spawn(|| {
                for _ in 0..50 {
                    assert_eq!(values(&pull.call(&seed).unwrap()), want);
                    let lanes = vmap(|g: &Tensor| pull.call(g))(&seed.unsqueeze(0).unwrap()).unwrap();
                    assert_eq!(values(&lanes), want);
                }
            });
        }
    });
    // The last one to hold it may be another thread.
    std::thread::spawn(move || drop(pull)).join().unwrap();
}

#[test]
fn c121_many_reads_of_one_place_add_up_reproducibly() {
    let n = 100_000;
    let index = Tensor::from(vec![1i64; n]);
    let g = noise(&[n], 0.1);
    let x = ones(&[3]);
    let add = || {
        let (_, pull) = vjp(|x: &Tensor| x.index_select(0, &index), &x).unwrap();
        values(&pull.call(&g).unwrap())
    };
    let first = add();
    assert_eq!((first[0], first[2]), (0.0, 0.0));
    assert!((first[1] - values(&g).iter().sum::<f64>()).abs() < 1e-8);
    std::thread::scope(|s| {
        let threads: Vec<_> = (0..8).map(|_| s.spawn(add)).collect();
        for t in threads {
            assert_eq!(t.join().unwrap(), first);
        }
    });
}

/// Sums, products and a small training run, large enough for several threads; every bit of the results.
fn workload() -> Vec<u64> {
    let mut bits = Vec::new();
    let mut keep = |t: &Tensor| bits.extend(values(t).iter().map(|v| v.to_bits()));
    let x = noise(&[400, 500], 0.1);
    keep(&x.sum().unwrap());
    keep(&x.sum_dims(&[0], false).unwrap());
    keep(&x.mean_dims(&[1], false).unwrap());
    keep(&x.var().unwrap());
    keep(&x.logsumexp(&[], false).unwrap());
    keep(&x.softmax(0).unwrap().sum_dims(&[1], false).unwrap());
    keep(&x.matmul(&noise(&[500, 60], 0.2)).unwrap().sum_dims(&[0], false).unwrap());
    let index = Tensor::from((0..400).map(|k| k * k % 7).collect::<Vec<i64>>());
    keep(&zeros(&[7, 500]).index_add(0, &index, &x).unwrap());
    let mut w = noise(&[500, 4], 0.3);
    for _ in 0..3 {
        let g = grad(|w: &Tensor| x.matmul(w)?.tanh()?.square()?.mean())(&w).unwrap();
        w = w.sub(&g.mul(0.1).unwrap()).unwrap();
    }
    keep(&w);
    bits
}

fn digest(bits: &[u64]) -> u64 {
    bits.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ b).wrapping_mul(0x0100_0000_01b3).rotate_left(7))
}

#[test]
fn c162_results_do_not_depend_on_the_number_of_threads() {
    const NAME: &str = "threads::c162_results_do_not_depend_on_the_number_of_threads";
    if std::env::var_os("CASES_DIGEST").is_some() {
        let first = workload();
        for _ in 0..2 {
            assert_eq!(workload(), first);
        }
        println!("digest {:x} end", digest(&first));
        return;
    }
    let with = |n: &str| {
        let text = child(NAME, &[("CASES_DIGEST", "1"), ("PULLBACK_NUM_THREADS", n), ("RAYON_NUM_THREADS", n)]);
        let start = text.find("digest ").expect("the digest") + 7;
        text[start..].split(' ').next().map(str::to_string)
    };
    let one = with("1");
    for n in ["2", "8"] {
        assert_eq!(with(n), one, "with {n} threads");
    }
}
