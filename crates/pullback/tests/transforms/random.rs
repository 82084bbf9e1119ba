//! Random numbers under the levels of transforms, whole and in chunks.

use pullback::random::{Generator, Key};
use pullback::*;

use crate::{fails, is, same, values};

fn noisy(x: &Tensor) -> Result<Tensor> {
    x.add(&Key::new(5).normal(x.shape(), x.dtype())?)
}

#[test]
fn c72_c73_numbers_do_not_depend_on_the_size_of_chunks() {
    let key = Key::new(9);
    let kinds: [(&str, fn(Key) -> Result<Tensor>); 6] = [
        ("uniform", |k| k.uniform(&[3, 5], DType::F64)),
        ("normal", |k| k.normal(&[33], DType::F32)),
        ("randint", |k| k.randint(-5, 50, &[7], DType::I32)),
        ("bernoulli", |k| k.bernoulli(0.4, &[70])),
        ("permutation", |k| k.permutation(11)),
        ("dropout", |k| k.dropout(&Tensor::ones(&[100], DType::F64)?, 0.5)),
    ];
    let x = Tensor::zeros(&[7], DType::F64).unwrap();
    for (name, draw) in kinds {
        let f = |x: &Tensor| draw(key)?.to_dtype(DType::F64)?.add(x);
        for policy in [Randomness::Different, Randomness::Same] {
            let want = Vmap::new().randomness(policy).of(f)(&x).unwrap();
            for size in [1, 2, 3, 4, 6, 7, 100] {
                let got = Vmap::new().randomness(policy).chunk_size(size).of(f)(&x).unwrap();
                assert_eq!(values(&got), values(&want), "{name} {policy:?} {size}");
            }
            // Nested, each with chunks of its own.
            let inner = |size: usize| move |x: &Tensor| Vmap::new().randomness(policy).chunk_size(size).of(f)(x);
            let grid = Tensor::zeros(&[5, 4], DType::F64).unwrap();
            let want = Vmap::new().randomness(Randomness::Different).of(inner(100))(&grid).unwrap();
            for (a, b) in [(1, 1), (1, 3), (2, 1), (2, 3), (5, 2), (3, 4)] {
                let got = Vmap::new().randomness(Randomness::Different).chunk_size(a).of(inner(b))(&grid).unwrap();
                assert_eq!(values(&got), values(&want), "{name} {policy:?} {a} {b}");
            }
        }
    }
    // Lane `k` is part `k` of one draw.
    let f = |x: &Tensor| x.add(&key.uniform(&[3], DType::F64)?);
    let whole = values(&key.uniform(&[7, 3], DType::F64).unwrap());
    is(&Vmap::new().randomness(Randomness::Different).chunk_size(2).of(f)(&x).unwrap(), &[7, 3], &whole);
}

#[test]
fn c73_masks_of_modules() {
    // A module that is created and applied in each lane, with dropout inside of a function with a generated rule.
    #[derive(Clone)]
    struct Drop;
    impl Function for Drop {
        type Inputs = Tensor;
        type Outputs = Tensor;
        type Saved = ();
        fn forward(&self, x: &Tensor) -> Result<Tensor> {
            Key::new(3).dropout(x, 0.5)
        }
        fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
            Ok(())
        }
    }
    let x = Tensor::ones(&[4, 1000], DType::F64).unwrap();
    let run = |policy: Randomness, size: usize| {
        Vmap::new().randomness(policy).chunk_size(size).of(|x: &Tensor| Drop.apply(x))(&x).unwrap()
    };
    let whole = run(Randomness::Different, 100);
    let rows: Vec<Vec<f64>> = (0..4).map(|k| values(&whole.select(0, k).unwrap())).collect();
    for (k, row) in rows.iter().enumerate() {
        let kept = row.iter().filter(|v| **v != 0.0).count() as f64 / 1000.0;
        assert!((kept - 0.5).abs() < 0.06);
        assert!(!rows[..k].contains(row));
    }
    for size in [1, 2, 3] {
        same(&run(Randomness::Different, size), &whole);
        let equal = run(Randomness::Same, size);
        for k in 1..4 {
            same(&equal.select(0, k).unwrap(), &equal.select(0, 0).unwrap());
        }
    }
}

#[test]
fn chunks_refuse_numbers_like_the_whole() {
    let x = Tensor::zeros(&[3], DType::F64).unwrap();
    for size in [1, 2, 100] {
        let parts = ["(3 lanes", "Randomness::Different", "Randomness::Same"];
        fails(Vmap::new().chunk_size(size).of(noisy)(&x), ErrorKind::Randomness, &parts);
        // Also by an outer level, whatever the inner one says.
        let inner = Vmap::new().randomness(Randomness::Different).chunk_size(size).of(noisy);
        let outer = Vmap::new().chunk_size(size).of(|x: &Tensor| inner(x));
        fails(outer(&Tensor::zeros(&[2, 3], DType::F64).unwrap()), ErrorKind::Randomness, &["(2 lanes"]);
    }
}

#[test]
fn jacobians_are_those_of_one_function_by_default() {
    // y = x·u with random u: every column has the same u.
    let u = values(&Key::new(1).uniform(&[3], DType::F64).unwrap());
    let f = |x: &Tensor| x.mul(&Key::new(1).uniform(&[3], DType::F64)?);
    let x = Tensor::from([1.0, 2.0, 3.0]);
    let want = [u[0], 0.0, 0.0, 0.0, u[1], 0.0, 0.0, 0.0, u[2]];
    for size in [1, 2, 3] {
        is(&Jacfwd::new().chunk_size(size).of(f)(&x).unwrap(), &[3, 3], &want);
        is(&Jacrev::new().chunk_size(size).of(f)(&x).unwrap(), &[3, 3], &want);
        fails(
            Jacfwd::new().chunk_size(size).randomness(Randomness::Error).of(f)(&x),
            ErrorKind::Randomness,
            &["3 lanes"],
        );
        let energy = |x: &Tensor| f(x)?.square()?.sum();
        let h = Hessian::new().chunk_size(size).of(energy)(&x).unwrap();
        is(&h, &[3, 3], &want.map(|u| 2.0 * u * u));
        is(
            &Laplacian::new().chunk_size(size).of(energy)(&x).unwrap(),
            &[],
            &[2.0 * u.iter().map(|u| u * u).sum::<f64>()],
        );
        fails(Hessian::new().randomness(Randomness::Error).of(energy)(&x), ErrorKind::Randomness, &["hessian"]);
        fails(Laplacian::new().randomness(Randomness::Error).of(energy)(&x), ErrorKind::Randomness, &["laplacian"]);
    }
    // A level outside is asked as well.
    fails(vmap(jacfwd(f))(&x.unsqueeze(0).unwrap()), ErrorKind::Randomness, &["vmap"]);
    fails(vmap(jacrev(f))(&x.unsqueeze(0).unwrap()), ErrorKind::Randomness, &["vmap"]);
}

#[test]
fn columns_with_numbers_of_their_own() {
    // Column k of the Jacobian of x·u is that of draw k.
    let u = values(&Key::new(1).uniform(&[3, 3], DType::F64).unwrap());
    let f = |x: &Tensor| x.mul(&Key::new(1).uniform(&[3], DType::F64)?);
    let x = Tensor::from([1.0, 2.0, 3.0]);
    for size in [1, 2, 100] {
        let builder = Jacfwd::new().chunk_size(size).randomness(Randomness::Different);
        let (y, j) = builder.value_and(f)(&x).unwrap();
        is(&j, &[3, 3], &[u[0], 0.0, 0.0, 0.0, u[4], 0.0, 0.0, 0.0, u[8]]);
        is(&y, &[3], &[u[0], 2.0 * u[1], 3.0 * u[2]]);
    }
}

#[test]
fn a_generator_advances_in_every_chunk() {
    let generator = Generator::new(4);
    let f = |x: &Tensor| x.add(&generator.uniform(&[], DType::F64)?);
    let got = Vmap::new().randomness(Randomness::Same).chunk_size(1).of(f)(&Tensor::from([0.0, 0.0])).unwrap();
    let got = values(&got);
    assert_ne!(got[0], got[1]);
}
