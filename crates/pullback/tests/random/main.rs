//! Random numbers: reproducible, distributed as they should be, and as every surrounding `vmap` says.

mod distributions;
mod parameters;

use Randomness::{Different, Same};
use pullback::random::{Generator, Key};
use pullback::{DType, ErrorKind, Randomness, Result, Tensor, Vmap, grad, jacfwd, jacrev, jvp, vmap};

fn values(t: &Tensor) -> Vec<f64> {
    t.to_dtype(DType::F64).unwrap().to_vec().unwrap()
}

fn uniform(key: Key, shape: &[usize]) -> Result<Tensor> {
    key.uniform(shape, DType::F64)
}

/// Mean and variance.
fn moments(x: &[f64]) -> (f64, f64) {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    (mean, x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / x.len() as f64)
}

fn assert_near(got: f64, want: f64, tolerance: f64) {
    assert!((got - want).abs() < tolerance, "{got} is not {want}");
}

#[test]
fn equal_keys_give_equal_numbers_and_other_keys_others() {
    let key = Key::new(3);
    assert_eq!(values(&uniform(key, &[20]).unwrap()), values(&uniform(Key::new(3), &[4, 5]).unwrap()));
    let [a, b] = key.split();
    let all = [key, Key::new(4), a, b, key.fold_in(2), a.fold_in(0), b.fold_in(0)];
    for (i, x) in all.iter().enumerate() {
        for y in &all[..i] {
            assert_ne!(values(&uniform(*x, &[5]).unwrap()), values(&uniform(*y, &[5]).unwrap()));
        }
    }
}

#[test]
fn numbers_of_different_keys_are_not_correlated() {
    let n = 100_000;
    let x: Vec<Vec<f64>> = (0..4).map(|k| values(&Key::new(1).fold_in(k).normal(&[n], DType::F64).unwrap())).collect();
    for i in 0..4 {
        for j in 0..i {
            let product = x[i].iter().zip(&x[j]).map(|(a, b)| a * b).sum::<f64>() / n as f64;
            assert_near(product, 0.0, 0.015);
        }
    }
}

#[test]
fn a_generator_draws_anew_each_time_and_repeats_from_its_seed() {
    let draw = || {
        let g = Generator::new(9);
        let draws = [g.uniform(&[3], DType::F32), g.normal(&[3], DType::F64), g.randint(0, 100, &[3], DType::I32)];
        draws.map(|t| values(&t.unwrap()))
    };
    assert_eq!(draw(), draw());
    let g = Generator::new(9);
    assert_ne!(values(&g.uniform(&[9], DType::F32).unwrap()), values(&g.uniform(&[9], DType::F32).unwrap()));
    let g = Generator::from(Key::new(5));
    assert_eq!(g.next_key(), Key::new(5).fold_in(0));
    assert_eq!(g.next_key(), Key::new(5).fold_in(1));
}

#[test]
fn a_generator_is_shared_by_threads() {
    let g = Generator::new(1);
    let mut keys: Vec<Key> = std::thread::scope(|s| {
        let threads: Vec<_> = (0..4).map(|_| s.spawn(|| (0..100).map(|_| g.next_key()).collect::<Vec<_>>())).collect();
        threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
    });
    keys.sort_by_key(|k| format!("{k:?}"));
    keys.dedup();
    assert_eq!(keys.len(), 400);
}

#[test]
fn moments_are_those_of_the_distributions() {
    let (key, n) = (Key::new(11), 200_000);
    for dtype in [DType::F32, DType::F64] {
        let (mean, variance) = moments(&values(&key.uniform(&[n], dtype).unwrap()));
        assert_near(mean, 0.5, 0.005);
        assert_near(variance, 1.0 / 12.0, 0.002);
        let (mean, variance) = moments(&values(&key.normal(&[n], dtype).unwrap()));
        assert_near(mean, 0.0, 0.01);
        assert_near(variance, 1.0, 0.02);
    }
    for p in [0.0, 0.1, 0.5, 0.9, 1.0] {
        assert_near(moments(&values(&key.bernoulli(p, &[n]).unwrap())).0, p, 0.005);
    }
    let dice = values(&key.randint(1, 7, &[n], DType::U8).unwrap());
    for face in 1..7 {
        let share = dice.iter().filter(|&&d| d == f64::from(face)).count() as f64 / n as f64;
        assert_near(share, 1.0 / 6.0, 0.005);
    }
}

#[test]
fn every_order_of_a_permutation_is_equally_likely() {
    let mut counts = std::collections::BTreeMap::new();
    for k in 0..6000 {
        *counts.entry(Key::new(k).permutation(3).unwrap().to_vec::<i64>().unwrap()).or_insert(0) += 1;
    }
    assert_eq!(counts.len(), 6);
    assert!(counts.values().all(|c| (850..1150).contains(c)), "{counts:?}");
    let mut long = Key::new(0).permutation(1000).unwrap().to_vec::<i64>().unwrap();
    assert_ne!(long, (0..1000).collect::<Vec<_>>());
    long.sort();
    assert_eq!(long, (0..1000).collect::<Vec<_>>());
    assert_eq!(Key::new(0).permutation(0).unwrap().shape(), [0]);
}

#[test]
fn lanes_have_numbers_of_their_own_or_share_them() {
    let key = Key::new(2);
    let noisy = |x: &Tensor| x.add(&uniform(key, &[3])?);
    let zeros = Tensor::zeros(&[5, 3], DType::F64).unwrap();
    let different = Vmap::new().randomness(Different).of(noisy)(&zeros).unwrap();
    assert_eq!(values(&different), values(&uniform(key, &[5, 3]).unwrap()));
    let same = Vmap::new().randomness(Same).of(noisy)(&zeros).unwrap();
    assert_eq!(values(&same), values(&uniform(key, &[3]).unwrap().expand(&[5, 3]).unwrap()));
}

#[test]
fn a_vmap_that_says_nothing_refuses_and_names_both_ways_out() {
    let x = Tensor::zeros(&[5], DType::F64).unwrap();
    let draws: [fn(Key) -> Result<Tensor>; 8] = [
        |k| k.uniform(&[], DType::F64),
        |k| k.normal(&[], DType::F32),
        |k| k.randint(0, 2, &[], DType::I64),
        |k| k.bernoulli(0.5, &[]),
        |k| k.permutation(3),
        |k| k.dropout(&Tensor::from(1.0), 0.5),
        |k| k.gamma(1.0, &[2], DType::F32),
        |k| k.multinomial(&Tensor::from([1.0, 2.0]), 1, false),
    ];
    let names = ["uniform", "normal", "randint", "bernoulli", "permutation", "dropout", "gamma", "multinomial"];
    for (draw, name) in draws.iter().zip(names) {
        // Also where no input of the draw is batched.
        let e = vmap(|_: &Tensor| draw(Key::new(0)))(&x).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Randomness);
        let text = e.to_string();
        assert!(text.starts_with(&format!("vmap: {name}: ")), "{text}");
        assert!(text.contains("5 lanes") && text.contains("Different") && text.contains("Same"), "{text}");
    }
}

#[test]
fn each_of_two_nested_vmaps_is_asked() {
    let key = Key::new(4);
    let x = Tensor::zeros(&[2, 3], DType::F64).unwrap();
    let run = |outer: Randomness, inner: Randomness| {
        let f = move |row: &Tensor| {
            Vmap::new().randomness(inner).of(move |x: &Tensor| x.unsqueeze(0)?.add(&uniform(key, &[4])?))(row)
        };
        Vmap::new().randomness(outer).of(f)(&x)
    };
    let all = |shape: &[usize], kept: &[usize]| {
        values(
            &uniform(key, kept)
                .unwrap()
                .reshape(&shape.iter().map(|&n| n as isize).collect::<Vec<_>>())
                .unwrap()
                .expand(&[2, 3, 4])
                .unwrap(),
        )
    };
    assert_eq!(values(&run(Different, Different).unwrap()), all(&[2, 3, 4], &[2, 3, 4]));
    assert_eq!(values(&run(Different, Same).unwrap()), all(&[2, 1, 4], &[2, 4]));
    assert_eq!(values(&run(Same, Different).unwrap()), all(&[1, 3, 4], &[3, 4]));
    assert_eq!(values(&run(Same, Same).unwrap()), all(&[1, 1, 4], &[4]));
    for other in [Different, Same] {
        assert_eq!(run(Randomness::Error, other).unwrap_err().kind(), ErrorKind::Randomness);
        assert_eq!(run(other, Randomness::Error).unwrap_err().kind(), ErrorKind::Randomness);
    }
}

#[test]
fn draws_outside_and_inside_derivatives_are_not_the_business_of_a_vmap() {
    let key = Key::new(6);
    let outside = uniform(key, &[]).unwrap();
    let x = Tensor::from([1.0, 2.0]);
    assert!(vmap(|x: &Tensor| x.mul(&outside))(&x).is_ok());
    let scaled = |x: &Tensor| x.mul(&uniform(key, &[2])?);
    let u = values(&uniform(key, &[2]).unwrap());
    assert_eq!(values(&grad(|x: &Tensor| scaled(x)?.sum())(&x).unwrap()), u);
    assert_eq!(values(&jvp(scaled, &x, &x).unwrap().1), [u[0], 2.0 * u[1]]);
    // The directions of a Jacobian are not lanes of the function.
    assert_eq!(values(&jacfwd(scaled)(&x).unwrap()), [u[0], 0.0, 0.0, u[1]]);
    assert_eq!(values(&jacrev(scaled)(&x).unwrap()), [u[0], 0.0, 0.0, u[1]]);
}

#[test]
fn per_example_gradients_with_dropout_use_the_masks_of_their_lanes() {
    let (key, p) = (Key::new(8), 0.5);
    let x = Tensor::ones(&[4, 1000], DType::F64).unwrap();
    let masks = |randomness| {
        let loss = move |x: &Tensor| key.dropout(x, p)?.sum();
        values(&Vmap::new().randomness(randomness).of(grad(loss))(&x).unwrap())
    };
    let different = masks(Different);
    let rows: Vec<&[f64]> = different.chunks(1000).collect();
    for (i, row) in rows.iter().enumerate() {
        assert!(row.iter().all(|&v| v == 0.0 || v == 2.0));
        assert_near(row.iter().filter(|&&v| v == 2.0).count() as f64 / 1000.0, 0.5, 0.06);
        assert!(rows[..i].iter().all(|other| other != row));
    }
    let same = masks(Same);
    assert!(same.chunks(1000).all(|row| row == &same[..1000]));
    assert_eq!(masks(Different), different);
}

#[test]
fn permutations_and_integers_differ_by_lane_as_asked() {
    let x = Tensor::zeros(&[3], DType::F64).unwrap();
    let run = |randomness, f: fn(Key) -> Result<Tensor>| {
        let out = Vmap::new().randomness(randomness).of(move |_: &Tensor| f(Key::new(3)))(&x).unwrap();
        values(&out).chunks(8).map(<[f64]>::to_vec).collect::<Vec<_>>()
    };
    for f in [(|k| k.permutation(8)) as fn(Key) -> Result<Tensor>, |k| k.randint(-9, 9, &[8], DType::I32)] {
        let rows = run(Different, f);
        assert!(rows.len() == 3 && rows[0] != rows[1] && rows[1] != rows[2] && rows[0] != rows[2]);
        let rows = run(Same, f);
        assert!(rows.len() == 3 && rows[0] == rows[1] && rows[1] == rows[2]);
    }
}

#[test]
fn zero_lanes_draw_nothing() {
    let x = Tensor::zeros(&[0, 2], DType::F64).unwrap();
    let y = Vmap::new().randomness(Different).of(|x: &Tensor| x.add(&uniform(Key::new(1), &[2])?))(&x).unwrap();
    assert_eq!(y.shape(), [0, 2]);
}

#[test]
fn bad_parameters_are_errors() {
    let key = Key::new(0);
    for (result, kind, message) in [
        (key.uniform(&[2], DType::I64), ErrorKind::Dtype, "uniform: expected a floating dtype, got i64"),
        (key.normal(&[2], DType::Bool), ErrorKind::Dtype, "normal: expected a floating dtype, got bool"),
        (key.uniform(&[usize::MAX, 2], DType::F32), ErrorKind::Shape, "uniform: a tensor of shape"),
        (key.randint(3, 3, &[2], DType::I64), ErrorKind::Value, "randint: expected low < high, got 3 and 3"),
        (key.randint(0, 257, &[2], DType::U8), ErrorKind::Value, "integers that fit u8, got the range 0..257"),
        (key.randint(-1, 1, &[2], DType::U8), ErrorKind::Value, "integers that fit u8"),
        (key.randint(0, 2, &[2], DType::F32), ErrorKind::Dtype, "randint: expected an integer dtype, got f32"),
        (key.bernoulli(1.5, &[2]), ErrorKind::Value, "bernoulli: expected a probability from 0 to 1, got 1.5"),
        (key.bernoulli(f64::NAN, &[2]), ErrorKind::Value, "got NaN"),
        (key.dropout(&Tensor::from([1]), 0.5), ErrorKind::Dtype, "dropout: expected floats, got i32[1]"),
        (key.dropout(&Tensor::from([1.0]), -0.1), ErrorKind::Value, "dropout: expected a probability"),
    ] {
        let e = result.unwrap_err();
        assert_eq!(e.kind(), kind, "{e}");
        assert!(e.to_string().contains(message), "{e}");
    }
    assert!(key.randint(0, 256, &[2], DType::U8).is_ok());
}

#[test]
fn dropout_drops_whatever_it_finds() {
    let x = Tensor::full(&[100], f64::NAN, DType::F64).unwrap();
    for (p, share) in [(0.0, 0.0), (0.5, 0.5), (1.0, 1.0)] {
        let y = values(&Key::new(0).dropout(&x, p).unwrap());
        assert_near(y.iter().filter(|&&v| v == 0.0).count() as f64 / 100.0, share, 0.2);
        let slope = values(&grad(|x: &Tensor| Key::new(0).dropout(x, p)?.sum())(&x).unwrap());
        assert!(y.iter().zip(&slope).all(|(y, s)| *s == if *y == 0.0 { 0.0 } else { 1.0 / (1.0 - p) }));
    }
}
