//! `jacrev`, `jacfwd`, and the choice between them.

use std::cell::Cell;

use pullback::*;

use crate::{fails, is, noise, same, values};

#[derive(Clone, Tree)]
struct Pair<T = Tensor> {
    a: T,
    b: T,
}

/// A function of trees with results of different shapes, one of which depends on one argument only.
fn f(p: &Pair) -> Result<(Tensor, Vec<Tensor>)> {
    Ok((p.a.outer(&p.b)?.sin()?, vec![p.a.square()?.sum()?, p.b.cumsum(0)?]))
}

fn at() -> Pair {
    Pair { a: noise(&[3], 0.2), b: noise(&[5], 0.9) }
}

fn flat(j: &(Pair, Vec<Pair>)) -> Vec<Tensor> {
    [&j.0].into_iter().chain(&j.1).flat_map(|p| [p.a.clone(), p.b.clone()]).collect()
}

#[test]
fn c76_the_size_of_chunks_does_not_change_a_jacobian() {
    let whole = jacrev(f)(&at()).unwrap();
    let shapes: Vec<Vec<usize>> = flat(&whole).iter().map(|t| t.shape().to_vec()).collect();
    assert_eq!(shapes, [vec![3, 5, 3], vec![3, 5, 5], vec![3], vec![5], vec![5, 3], vec![5, 5]]);
    for size in [1, 2, 3, 4, 5, 7, 15, 100] {
        for chunked in
            [Jacrev::new().chunk_size(size).of(f)(&at()).unwrap(), Jacfwd::new().chunk_size(size).of(f)(&at()).unwrap()]
        {
            for (got, want) in flat(&chunked).iter().zip(flat(&whole)) {
                is(got, want.shape(), &values(&want));
            }
        }
    }
    // Bit for bit where the work is elementwise; five results.
    let g = |x: &Tensor| x.sin()?.mul(x);
    let x = noise(&[5], 0.4);
    for size in [1, 2, 3, 7, 100] {
        same(&Jacrev::new().chunk_size(size).of(g)(&x).unwrap(), &jacrev(g)(&x).unwrap());
        same(&Jacfwd::new().chunk_size(size).of(g)(&x).unwrap(), &jacfwd(g)(&x).unwrap());
    }
    let parts = ["chunk_size: expected at least 1, got 0"];
    fails(Jacrev::new().chunk_size(0).of(g)(&x), ErrorKind::Value, &parts);
    fails(Jacfwd::new().chunk_size(0).of(g)(&x), ErrorKind::Value, &parts);
}

#[test]
fn chunks_inside_of_other_transforms() {
    let g = |x: &Tensor| x.sin()?.cumsum(0);
    for size in [1, 2] {
        let total = |x: &Tensor| Jacrev::new().chunk_size(size).of(g)(x)?.square()?.sum();
        let other = |x: &Tensor| Jacfwd::new().chunk_size(size).of(g)(x)?.square()?.sum();
        let plain = |x: &Tensor| jacrev(g)(x)?.square()?.sum();
        let x = noise(&[3], 0.1);
        let want = grad(plain)(&x).unwrap();
        for got in [grad(total)(&x), grad(other)(&x), jacfwd(total)(&x), jacfwd(other)(&x)] {
            is(&got.unwrap(), &[3], &values(&want));
        }
        let rows = noise(&[4, 3], 0.5);
        let want = vmap(plain)(&rows).unwrap();
        is(&vmap(total)(&rows).unwrap(), &[4], &values(&want));
        is(&vmap(other)(&rows).unwrap(), &[4], &values(&want));
    }
}

#[test]
fn one_row_at_a_time_is_a_plain_loop() {
    // Reading data is refused in batched code, so that none is batched here.
    #[derive(Clone)]
    struct Reads;
    impl Function for Reads {
        type Inputs = Tensor;
        type Outputs = Tensor;
        type Saved = Tensor;
        fn forward(&self, x: &Tensor) -> Result<Tensor> {
            let cubes: Vec<f64> = x.to_vec::<f64>()?.into_iter().map(|x| x * x * x).collect();
            Tensor::from_slice(&cubes, x.shape())
        }
        fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
            Ok(x.clone())
        }
        fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
            g.map(|g| {
                let data =
                    g.to_vec::<f64>()?.iter().zip(x.to_vec::<f64>()?).map(|(g, x)| 3.0 * g * x * x).collect::<Vec<_>>();
                Tensor::from_slice(&data, x.shape())
            })
        }
        fn jvp(&self, _: &Context<Self>, x: &Tensor, t: Tangent) -> Result<Tangent> {
            t.map(|t| {
                let data =
                    t.to_vec::<f64>()?.iter().zip(x.to_vec::<f64>()?).map(|(t, x)| 3.0 * t * x * x).collect::<Vec<_>>();
                Tensor::from_slice(&data, x.shape())
            })
        }
    }
    let f = |x: &Tensor| Reads.apply(x);
    let (x, want) = (Tensor::from([1.0, 2.0]), [3.0, 0.0, 0.0, 12.0]);
    is(&Jacrev::new().chunk_size(1).of(f)(&x).unwrap(), &[2, 2], &want);
    is(&Jacfwd::new().chunk_size(1).of(f)(&x).unwrap(), &[2, 2], &want);
    fails(jacrev(f)(&x), ErrorKind::ConcreteValueNeeded, &["Reads"]);
    fails(jacfwd(f)(&x), ErrorKind::ConcreteValueNeeded, &["Reads"]);
}

#[test]
fn c108_the_mode_with_fewer_directions() {
    // Counts the directions of each rule by the size of what it is given.
    #[derive(Clone)]
    struct Spy(std::sync::Arc<std::sync::Mutex<Vec<(&'static str, usize)>>>);
    impl Function for Spy {
        type Inputs = Tensor;
        type Outputs = Tensor;
        type Saved = ();
        fn forward(&self, x: &Tensor) -> Result<Tensor> {
            x.mul(2.0)
        }
        fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
            Ok(())
        }
        fn backward(&self, _: &Context<Self>, _: &(), g: Cotangent) -> Result<Cotangent> {
            self.0.lock().unwrap().push(("pull", 1));
            g.map(|g| g.mul(2.0))
        }
        fn jvp(&self, _: &Context<Self>, _: &(), t: Tangent) -> Result<Tangent> {
            self.0.lock().unwrap().push(("push", 1));
            t.map(|t| t.mul(2.0))
        }
    }
    let spy = Spy(Default::default());
    let seen = || std::mem::take(&mut *spy.0.lock().unwrap()).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    let (up, down) = (noise(&[1000, 2], 0.1), noise(&[2, 1000], 0.2));
    let wide = |x: &Tensor| spy.apply(&up.matmul(x)?);
    let narrow = |x: &Tensor| down.matmul(&spy.apply(x)?);
    let j = jacobian(wide)(&noise(&[2], 0.3)).unwrap();
    assert_eq!(seen(), ["push"]);
    is(&j, &[1000, 2], &values(&up.mul(2.0).unwrap()));
    let x = noise(&[1000], 0.3);
    let j = jacobian(narrow)(&x).unwrap();
    assert_eq!(seen(), ["pull"]);
    is(&j, &[2, 1000], &values(&down.mul(2.0).unwrap()));
    // It is what both explicit forms give.
    is(&jacrev(wide)(&noise(&[2], 0.3)).unwrap(), &[1000, 2], &values(&up.mul(2.0).unwrap()));
    is(&Jacfwd::new().chunk_size(100).of(narrow)(&x).unwrap(), &[2, 1000], &values(&j));
    // Trees count all their elements, and every transform works on it.
    let j = jacobian(f)(&at()).unwrap();
    for (got, want) in flat(&j).iter().zip(flat(&jacrev(f)(&at()).unwrap())) {
        is(got, want.shape(), &values(&want));
    }
    is(
        &jacobian(jacobian(|x: &Tensor| x.powi(3)?.sum()))(&Tensor::from([1.0, 2.0])).unwrap(),
        &[2, 2],
        &[6.0, 0.0, 0.0, 12.0],
    );
    // Integers are refused whichever mode would be chosen.
    let integer = |x: &Tensor| stack(&[x, x], 0)?.to_dtype(DType::I64);
    fails(
        jacobian(integer)(&Tensor::from(1.0)),
        ErrorKind::NotDifferentiable,
        &["jacobian: expected floating-point results"],
    );
}

#[test]
fn integers_are_refused_or_have_zeros() {
    let g = |x: &Tensor| Ok((x.square()?, x.argmax(None, false)?));
    let x = Tensor::from([1.0, 2.0]);
    let parts = ["jacrev: expected floating-point results, got i64[] at result.1"];
    fails(jacrev(g)(&x), ErrorKind::NotDifferentiable, &parts);
    is(&Jacrev::new().has_aux().of(g)(&x).unwrap().1, &[], &[1.0]);
    is(&jacfwd(g)(&x).unwrap().1, &[2], &[0.0, 0.0]);
    fails(jacfwd(g)(&Tensor::from([1i64])), ErrorKind::NotDifferentiable, &["i64[1]"]);
    fails(jacfwd(|_: &()| Ok(Tensor::from(1.0)))(&()), ErrorKind::Arity, &["at least one tensor"]);
}

#[test]
fn sizes_zero_and_one() {
    for size in [1, 2, 100] {
        let (rev, fwd) = (Jacrev::new().chunk_size(size), Jacfwd::new().chunk_size(size));
        for shape in [&[0][..], &[1], &[1, 1], &[2, 0]] {
            let x = Tensor::ones(shape, DType::F64).unwrap();
            let full: Vec<usize> = shape.iter().chain(shape).copied().collect();
            let want = vec![2.0; full.iter().product()];
            is(&rev.of(|x: &Tensor| x.square())(&x).unwrap(), &full, &want);
            is(&fwd.of(|x: &Tensor| x.square())(&x).unwrap(), &full, &want);
        }
        // No results, or no elements of an argument.
        let none = |x: &Tensor| x.narrow(0, 0, 0);
        let x = Tensor::from([1.0, 2.0]);
        is(&rev.of(none)(&x).unwrap(), &[0, 2], &[]);
        is(&fwd.of(none)(&x).unwrap(), &[0, 2], &[]);
        let empty = (x, Tensor::zeros(&[0], DType::F64).unwrap());
        let sum = |(a, b): &(Tensor, Tensor)| a.add(&b.sum()?);
        for (a, b) in [rev.of(sum)(&empty).unwrap(), fwd.of(sum)(&empty).unwrap()] {
            is(&a, &[2, 2], &[1.0, 0.0, 0.0, 1.0]);
            is(&b, &[2, 0], &[]);
        }
    }
}

#[test]
fn a_result_that_changes_its_type_between_chunks() {
    let calls = Cell::new(0);
    let f = |x: &Tensor| {
        calls.set(calls.get() + 1);
        if calls.get() > 1 { x.square() } else { x.sum() }
    };
    let parts = ["jacfwd: expected f64[2] for the columns of result 0", "got f64[2,1]"];
    fails(Jacfwd::new().chunk_size(1).of(f)(&Tensor::from([1.0, 2.0])), ErrorKind::Shape, &parts);
    calls.set(0);
    let f = |x: &Tensor| {
        calls.set(calls.get() + 1);
        Ok(vec![x.clone(); calls.get()])
    };
    let parts = ["same structure every time, got [tensor, tensor] now"];
    fails(Jacfwd::new().chunk_size(1).of(f)(&Tensor::from([1.0, 2.0])), ErrorKind::Arity, &parts);
}
