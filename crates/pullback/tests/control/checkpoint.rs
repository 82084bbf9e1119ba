//! Functions that run again in the backward pass.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use pullback::random::{Generator, Key};
use pullback::{
    Context, Cotangent, DType, ErrorKind, Function, Randomness, Result, Tensor, Vmap, autograd, checkpoint, cond,
    custom_vjp, fori, grad, hessian, jacfwd, jacrev, jvp, stack, vjp, vmap, while_loop,
};

use crate::every_way::check;
use crate::{close, noise, tensor, value, values, vector};

#[test]
fn c160_checkpointing_under_transforms() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counter = runs.clone();
    let f = checkpoint(move |x: &Tensor| {
        counter.fetch_add(1, Relaxed);
        x.sin()?.sin()
    });
    let x = Tensor::from(5.0);
    let near = |got: f64, want: f64| assert!((got - want).abs() < 1e-9, "{got}, {want}");
    near(value(&grad(&f)(&x).unwrap()), 0.162935809);
    assert_eq!(runs.swap(0, Relaxed), 2);
    near(value(&grad(grad(&f))(&x).unwrap()), 0.616672889);
    near(value(&hessian(&f)(&x).unwrap()), 0.616672889);
    runs.store(0, Relaxed);
    value(&f(&x).unwrap());
    assert_eq!(runs.swap(0, Relaxed), 1);
    let lanes = vector(&[5.0, 5.0, 1.0]);
    let first = values(&vmap(grad(&f))(&lanes).unwrap());
    assert_eq!(runs.swap(0, Relaxed), 2);
    near(first[1], 0.162935809);
    near(first[2], 1f64.sin().cos() * 1f64.cos());
    near(values(&vmap(grad(grad(&f)))(&lanes).unwrap())[0], 0.616672889);
    // Captured values get gradients as well.
    let loss = |w: &Tensor| {
        let w = w.clone();
        checkpoint(move |x: &Tensor| x.mul(&w)?.sin())(&Tensor::from(2.0))
    };
    near(value(&grad(loss)(&Tensor::from(0.7)).unwrap()), 2.0 * 1.4f64.cos());
}

#[test]
fn under_every_nest() {
    let functions: [fn(f64) -> f64; 4] =
        [|x| x.sin() * x, |x| x.sin() + x * x.cos(), |x| 2.0 * x.cos() - x * x.sin(), |x| -3.0 * x.sin() - x * x.cos()];
    let points = [-1.0, 0.75, 0.25, 2.0];
    check(checkpoint(|x: &Tensor| x.sin()?.mul(x)), &points, functions);
    // The argument captured, and both.
    check(
        |x| {
            checkpoint({
                let x = x.clone();
                move |()| x.sin()?.mul(&x)
            })(&())
        },
        &points,
        functions,
    );
    check(
        |x| {
            checkpoint({
                let x = x.clone();
                move |y: &Tensor| x.sin()?.mul(y)
            })(x)
        },
        &points,
        functions,
    );
    // One in another, which captures what the outer one captured, and one that captures what the outer one made.
    let nested = |x: &Tensor| {
        let captured = x.clone();
        let outer = checkpoint(move |y: &Tensor| {
            let (captured, s) = (captured.clone(), y.sin()?);
            checkpoint(move |()| s.mul(&captured))(&())
        });
        outer(x)
    };
    check(nested, &points, functions);
    let three = checkpoint(checkpoint(checkpoint(|x: &Tensor| x.sin()?.mul(x))));
    check(three, &points, functions);
    // Captured as the argument of transforms that run inside.
    let inside = |x: &Tensor| {
        let x = x.clone();
        checkpoint(move |()| grad(|x: &Tensor| x.sin()?.sub(&x.mul(&x.cos()?)?))(&x))(&())
    };
    // The derivative of sin x - x cos x is x sin x.
    check(inside, &points, functions);
    let forward = |x: &Tensor| {
        let x = x.clone();
        checkpoint(move |()| Ok(jvp(|x: &Tensor| x.sin()?.sub(&x.mul(&x.cos()?)?), &x, &Tensor::from(1.0))?.1))(&())
    };
    check(forward, &points, functions);
    let lanes = |x: &Tensor| {
        let (x, row) = (x.clone(), stack(&[x, x], 0)?);
        checkpoint(move |()| vmap(|y: &Tensor| y.sin()?.mul(&x))(&row)?.mean())(&())
    };
    check(lanes, &points, functions);
    // Values that come back as they are, from outside.
    let returned = |x: &Tensor| {
        let c = x.clone();
        let (a, b) = checkpoint(move |x: &Tensor| Ok((c.clone(), x.clone())))(x)?;
        a.sin()?.mul(&b)
    };
    check(returned, &points, functions);
    let inner = checkpoint(|x: &Tensor| Ok((x.clone(), x.sin()?)));
    let returned = checkpoint(move |x: &Tensor| {
        let (a, b) = inner(x)?;
        a.mul(&b)
    });
    check(returned, &points, functions);
}

#[test]
fn control_flow_inside_and_outside() {
    let functions: [fn(f64) -> f64; 4] = [
        |x| if x > 0.5 { x.ln() } else { x * x },
        |x| if x > 0.5 { 1.0 / x } else { 2.0 * x },
        |x| if x > 0.5 { -1.0 / (x * x) } else { 2.0 },
        |x| if x > 0.5 { 2.0 / x.powi(3) } else { 0.0 },
    ];
    let points = [-1.0, 0.75, 0.25, 2.0];
    let branch = |x: &Tensor| cond(&x.gt(0.5)?, |x| x.log(), |x| x.square(), x);
    check(checkpoint(branch), &points, functions);
    check(|x| cond(&x.gt(0.5)?, checkpoint(Tensor::log), checkpoint(Tensor::square), x), &points, functions);
    // The predicate and the values captured.
    let captured = |x: &Tensor| {
        let (x, p) = (x.clone(), x.gt(0.5)?);
        checkpoint(move |()| cond(&p, |()| x.log(), |()| x.square(), &()))(&())
    };
    check(captured, &points, functions);
    // x, x², x⁴ …, in a loop inside and around.
    let loops = |x: &Tensor| while_loop(|x| x.lt(50.0), checkpoint(Tensor::square), x);
    let inside = checkpoint(|x: &Tensor| while_loop(|x| x.lt(50.0), Tensor::square, x));
    let points = [3.0, 60.0, 2.0, 7.5];
    fn n(mut x: f64) -> i32 {
        let mut n = 1;
        while x < 50.0 {
            (x, n) = (x * x, 2 * n);
        }
        n
    }
    let powers: [fn(f64) -> f64; 4] = [
        |x| x.powi(n(x)),
        |x| f64::from(n(x)) * x.powi(n(x) - 1),
        |x| f64::from(n(x) * (n(x) - 1)) * x.powi(n(x) - 2),
        |x| f64::from(n(x) * (n(x) - 1) * (n(x) - 2)) * x.powi(n(x) - 3),
    ];
    check(loops, &points, powers);
    check(inside, &points, powers);
    check(
        |x| fori(0..3, |_, x: &Tensor| checkpoint(|x: &Tensor| x.mul(1.5))(x), x),
        &points,
        [|x| 3.375 * x, |_| 3.375, |_| 0.0, |_| 0.0],
    );
}

#[test]
fn pullbacks_outlive_the_transform_and_work_in_others() {
    let w = noise(&[3, 3], 0.5);
    let x = noise(&[3], 0.1);
    let run = |w: &Tensor| {
        let w = w.clone();
        checkpoint(move |x: &Tensor| w.matmul(x)?.tanh())
    };
    let f = |(w, x): &(Tensor, Tensor)| run(w)(&run(w)(x)?);
    let p = |(w, x): &(Tensor, Tensor)| w.matmul(&w.matmul(x)?.tanh()?)?.tanh();
    let (_, pull) = vjp(f, &(w.clone(), x.clone())).unwrap();
    let (_, plain) = vjp(p, &(w.clone(), x.clone())).unwrap();
    let seeds = noise(&[4, 3], 0.7);
    // Under another vmap, on another thread, and differentiated with respect to the seed.
    let all = |pull: &(dyn Fn(&Tensor) -> Result<(Tensor, Tensor)> + Sync)| {
        let batched = vmap(pull)(&seeds).unwrap();
        let threaded = std::thread::scope(|s| s.spawn(|| pull(&seeds.i(0).unwrap()).unwrap()).join().unwrap());
        let slopes = grad(|s: &Tensor| pull(s)?.0.sum())(&seeds.i(1).unwrap()).unwrap();
        let pushed = jvp(pull, &seeds.i(2).unwrap(), &seeds.i(3).unwrap()).unwrap().1;
        [batched.0, batched.1, threaded.0, threaded.1, slopes, pushed.0, pushed.1].map(|t| values(&t))
    };
    for (a, b) in all(&|s| pull.call(s)).iter().zip(&all(&|s| plain.call(s))) {
        close(a, b);
    }
    // Jacobians walk once per result, with lanes of directions.
    let (dw, dx) = jacrev(f)(&(w.clone(), x.clone())).unwrap();
    let (pw, px) = jacfwd(p)(&(w.clone(), x.clone())).unwrap();
    close(&values(&dw), &values(&pw));
    close(&values(&dx), &values(&px));
    let (fw, fx) = jacfwd(f)(&(w, x)).unwrap();
    close(&values(&fw), &values(&pw));
    close(&values(&fx), &values(&px));
}

#[test]
fn a_pullback_may_be_captured() {
    let x = Tensor::from(2.0);
    let f = |x: &Tensor| {
        let (_, pull) = vjp(|y: &Tensor| y.mul(x)?.sin(), x)?;
        let pull = Arc::new(pull);
        checkpoint(move |g: &Tensor| pull.call(g))(x)
    };
    let plain = |x: &Tensor| x.mul(x)?.cos()?.mul(x)?.mul(x);
    let x4 = 4f64;
    close(&[value(&f(&x).unwrap())], &[4.0 * x4.cos()]);
    for (a, b) in [
        (grad(f)(&x).unwrap(), grad(plain)(&x).unwrap()),
        (hessian(f)(&x).unwrap(), hessian(plain)(&x).unwrap()),
        (jvp(f, &x, &x).unwrap().1, jvp(plain, &x, &x).unwrap().1),
    ] {
        close(&[value(&a)], &[value(&b)]);
    }
    let lanes = vector(&[0.5, 2.0]);
    close(&values(&vmap(grad(f))(&lanes).unwrap()), &values(&vmap(grad(plain))(&lanes).unwrap()));
    let sum = |x: &Tensor| vmap(f)(x)?.sum();
    close(&values(&grad(sum)(&lanes).unwrap()), &values(&vmap(grad(plain))(&lanes).unwrap()));
}

#[test]
fn random_numbers_are_the_same_again() {
    let x = noise(&[5], 0.3);
    let key = Key::new(3);
    let noisy = move |x: &Tensor| key.dropout(x, 0.5)?.mul(&key.fold_in(1).normal(x.shape(), DType::F64)?);
    for randomness in [Randomness::Different, Randomness::Same] {
        // A sum over lanes of a product with what was drawn: another draw gives another gradient.
        let lanes = |f: &dyn Fn(&Tensor) -> Result<Tensor>, x: &Tensor| -> Result<Tensor> {
            Vmap::new().randomness(randomness).batch_size(3).of(|x: &Tensor| f(x)?.square()?.sum())(x)
        };
        let rows = noise(&[3, 5], 0.9);
        let f = checkpoint(noisy);
        let inside = |f: &dyn Fn(&Tensor) -> Result<Tensor>| {
            let each = |x: &Tensor| grad(|x: &Tensor| f(x)?.square()?.sum())(x);
            values(&Vmap::new().randomness(randomness).of(each)(&rows).unwrap())
        };
        close(&inside(&f), &inside(&noisy));
        let outside = |f: &dyn Fn(&Tensor) -> Result<Tensor>| {
            values(&grad(|rows: &Tensor| lanes(f, rows)?.sum())(&rows).unwrap())
        };
        close(&outside(&f), &outside(&noisy));
        let twice = |f: &dyn Fn(&Tensor) -> Result<Tensor>| {
            values(&hessian(|rows: &Tensor| lanes(f, rows)?.sum())(&rows).unwrap())
        };
        close(&twice(&f), &twice(&noisy));
        // An argument that no lane differs in: only what is drawn does.
        let shared = |f: &dyn Fn(&Tensor) -> Result<Tensor>| {
            let total = |x: &Tensor| {
                let f = |_: &Tensor| f(x)?.square()?.sum();
                Vmap::new().randomness(randomness).of(f)(&rows)?.sum()
            };
            values(&grad(total)(&x).unwrap())
        };
        close(&shared(&f), &shared(&noisy));
        // A pullback that is called for lanes of another vmap, which draws nothing.
        let pulled = |f: &dyn Fn(&Tensor) -> Result<Tensor>| {
            let (_, pull) = vjp(|rows: &Tensor| lanes(f, rows), &rows).unwrap();
            let seeds = noise(&[2, 3], 0.1);
            let strict = values(&vmap(|g: &Tensor| pull.call(g))(&seeds).unwrap());
            let open = Vmap::new().randomness(Randomness::Different).of(|g: &Tensor| pull.call(g))(&seeds).unwrap();
            close(&values(&open), &strict);
            strict
        };
        close(&pulled(&f), &pulled(&noisy));
        let inner = |f: &dyn Fn(&Tensor) -> Result<Tensor>| {
            let each = |x: &Tensor| {
                let (_, pull) = vjp(f, x)?;
                Vmap::new().randomness(Randomness::Different).of(|g: &Tensor| pull.call(g))(&noise(&[2, 5], 0.1))
            };
            values(&Vmap::new().randomness(randomness).of(each)(&rows).unwrap())
        };
        close(&inner(&f), &inner(&noisy));
        let nested = |f: &dyn Fn(&Tensor) -> Result<Tensor>| {
            let cube = noise(&[2, 3, 5], 0.4);
            let total =
                |x: &Tensor| Vmap::new().randomness(Randomness::Different).of(|x: &Tensor| lanes(f, x))(x)?.sum();
            values(&grad(|x: &Tensor| grad(total)(x)?.square()?.sum())(&cube).unwrap())
        };
        close(&nested(&f), &nested(&noisy));
    }
    let strict = vmap(grad(|x: &Tensor| checkpoint(noisy)(x)?.sum()))(&noise(&[3, 5], 0.9)).unwrap_err();
    assert_eq!(strict.kind(), pullback::ErrorKind::Randomness);
}

#[test]
fn random_numbers_are_the_same_again_in_chunks_and_loops_of_lanes() {
    let key = Key::new(4);
    let noisy = move |x: &Tensor| x.mul(&key.normal(x.shape(), DType::F64)?);
    let again = checkpoint(noisy);
    let cube = noise(&[2, 4, 3], 0.4);
    let chunks = [None, Some(1), Some(2), Some(3)];
    for (outer, inner) in chunks.iter().flat_map(|&a| chunks.map(|b| (a, b))) {
        let map = |chunk: Option<usize>, f: &dyn Fn(&Tensor) -> Result<Tensor>, x: &Tensor| {
            let vmap = Vmap::new().randomness(Randomness::Different);
            match chunk {
                Some(n) => vmap.chunk_size(n).of(f)(x),
                None => vmap.of(f)(x),
            }
        };
        let total = |f: &dyn Fn(&Tensor) -> Result<Tensor>, x: &Tensor| -> Result<Tensor> {
            map(outer, &|rows| map(inner, &|x| f(x)?.square()?.sum(), rows)?.sum(), x)?.sum()
        };
        let outside = |f: &dyn Fn(&Tensor) -> Result<Tensor>| values(&grad(|x: &Tensor| total(f, x))(&cube).unwrap());
        close(&outside(&again), &outside(&noisy));
        let between = |f: &dyn Fn(&Tensor) -> Result<Tensor>| {
            let rows = |rows: &Tensor| grad(|rows: &Tensor| map(inner, &|x| f(x)?.square()?.sum(), rows)?.sum())(rows);
            values(&map(outer, &rows, &cube).unwrap())
        };
        close(&between(&again), &between(&noisy));
        let inside = |f: &dyn Fn(&Tensor) -> Result<Tensor>| {
            let row = |x: &Tensor| grad(|x: &Tensor| f(x)?.square()?.sum())(x);
            values(&map(outer, &|rows| map(inner, &row, rows), &cube).unwrap())
        };
        close(&inside(&again), &inside(&noisy));
        let pulled = |f: &dyn Fn(&Tensor) -> Result<Tensor>| {
            let (_, pull) = vjp(|x: &Tensor| total(f, x), &cube).unwrap();
            values(&map(inner, &|g| pull.call(g), &vector(&[1.0, 2.0, 3.0])).unwrap())
        };
        close(&pulled(&again), &pulled(&noisy));
        let twice = |f: &dyn Fn(&Tensor) -> Result<Tensor>| {
            values(&grad(|x: &Tensor| grad(|x: &Tensor| total(f, x)?.square())(x)?.square()?.sum())(&cube).unwrap())
        };
        close(&twice(&again), &twice(&noisy));
    }
}

#[test]
fn a_generator_gives_its_keys_again_and_does_not_move_on() {
    let x = noise(&[4], 0.3);
    let draws = |again: bool| {
        let generator = Arc::new(Generator::new(9));
        let shared = generator.clone();
        let layer = move |x: &Tensor| shared.dropout(x, 0.5)?.mul(&shared.normal(&[4], DType::F64)?)?.sin();
        let f: Arc<dyn Fn(&Tensor) -> Result<Tensor>> =
            if again { Arc::new(checkpoint(checkpoint(layer))) } else { Arc::new(layer) };
        let loss = |x: &Tensor| f(&f(x)?)?.sum();
        let all = [
            grad(loss)(&x).unwrap(),
            grad(|x: &Tensor| grad(loss)(x)?.square()?.sum())(&x).unwrap(),
            jvp(loss, &x, &x).unwrap().1,
            generator.uniform(&[3], DType::F64).unwrap(),
        ];
        all.map(|t| values(&t))
    };
    for (a, b) in draws(true).iter().zip(&draws(false)) {
        close(a, b);
    }
    // A gradient inside of a function that runs again is one run of what it contains, each time.
    let inside = |again: bool| {
        let generator = Arc::new(Generator::new(9));
        let shared = generator.clone();
        let noisy = move |x: &Tensor| x.mul(&shared.normal(&[4], DType::F64)?)?.sin()?.sum();
        let slope = move |x: &Tensor| {
            if again { grad(checkpoint(noisy.clone()))(x) } else { grad(&noisy)(x) }
        };
        let loss: Arc<dyn Fn(&Tensor) -> Result<Tensor>> =
            if again { Arc::new(checkpoint(slope)) } else { Arc::new(slope) };
        [grad(|x: &Tensor| loss(x)?.square()?.sum())(&x).unwrap(), generator.uniform(&[2], DType::F64).unwrap()]
            .map(|t| values(&t))
    };
    for (a, b) in inside(true).iter().zip(&inside(false)) {
        close(a, b);
    }
}

/// A gradient that is clipped, which is not linear.
#[derive(Clone)]
struct Clip;

impl Function for Clip {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = ();

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        Ok(x.clone())
    }
    fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
        Ok(())
    }
    fn backward(&self, _: &Context<Self>, (): &(), g: Cotangent) -> Result<Cotangent> {
        g.map(|g| g.clamp(Some(-1.0), Some(1.0)))
    }
}

#[test]
fn rules_that_are_not_linear_see_one_lane_each() {
    let scales = vector(&[0.5, 3.0, -0.25]);
    let w = Tensor::from(2.0);
    for again in [false, true] {
        let f = |w: &Tensor| -> Result<Tensor> {
            if again { checkpoint(|w: &Tensor| Clip.apply(w))(w) } else { Clip.apply(w) }
        };
        let total = |w: &Tensor| vmap(|s: &Tensor| f(w)?.mul(s))(&scales)?.sum();
        close(&[value(&grad(total)(&w).unwrap())], &[0.5 + 1.0 - 0.25]);
        let total = |w: &Tensor| {
            let c = w.clone();
            vmap(|s: &Tensor| {
                if again {
                    checkpoint({
                        let c = c.clone();
                        move |()| Clip.apply(&c)
                    })(&())?
                    .mul(s)
                } else {
                    f(w)?.mul(s)
                }
            })(&scales)?
            .sum()
        };
        close(&[value(&grad(total)(&w).unwrap())], &[1.25]);
    }
}

#[test]
fn trees_integers_and_results_without_a_derivative() {
    let f = checkpoint(|(x, k, list): &(Tensor, Tensor, Vec<Tensor>)| {
        let picked = x.index_select(0, k)?;
        Ok((vec![picked.mul(&list[0])?, picked.detach()?], k.add(1)?, Some(list[1].clone())))
    });
    let k = Tensor::from([2i64, 0]);
    let list = vec![vector(&[3.0, 5.0]), vector(&[1.0])];
    let loss = |x: &Tensor| {
        let (ys, n, last) = f(&(x.clone(), k.clone(), list.clone()))?;
        assert_eq!(n.to_vec::<i64>()?, [3, 1]);
        assert_eq!(last.map(|t| t.shape().to_vec()), Some(vec![1]));
        Ok(ys[0].sum()? + ys[1].sum()?)
    };
    close(&values(&grad(loss)(&vector(&[1.0, 10.0, 100.0])).unwrap()), &[5.0, 0.0, 3.0]);
    // Reading data is fine where it is fine without.
    let read = checkpoint(|x: &Tensor| if x.item::<f64>()? > 0.0 { x.square() } else { x.neg() });
    close(&[value(&grad(&read)(&Tensor::from(3.0)).unwrap())], &[6.0]);
    close(&[value(&grad(|x: &Tensor| read(&x.neg()?))(&Tensor::from(3.0)).unwrap())], &[1.0]);
    let captured = |x: &Tensor| {
        let x = x.clone();
        checkpoint(move |()| if x.item::<f64>()? > 0.0 { Ok(Tensor::from(2.0)) } else { x.neg() })(&())?
            .mul(&Tensor::from(1.0))
    };
    close(&[value(&grad(captured)(&Tensor::from(3.0)).unwrap())], &[0.0]);
    close(&[value(&grad(captured)(&Tensor::from(-3.0)).unwrap())], &[-1.0]);
    // A captured value that is read and used for nothing else.
    let switched = |(x, s): &(Tensor, Tensor)| {
        let s = s.clone();
        checkpoint(move |x: &Tensor| if s.item::<f64>()? > 0.0 { x.square() } else { x.neg() })(x)
    };
    for (s, want) in [(1.0, 6.0), (-1.0, -1.0)] {
        let (dx, ds) = grad(switched)(&(Tensor::from(3.0), Tensor::from(s))).unwrap();
        close(&[value(&dx), value(&ds)], &[want, 0.0]);
    }
}

#[test]
fn operations_that_have_nothing_to_do_on_captured_values() {
    let f = |w: &Tensor| {
        let w = w.clone();
        checkpoint(move |x: &Tensor| {
            // Each returns what it is given.
            let same = w.reshape(&[2])?.to_dtype(DType::F64)?.flip(&[])?.powi(1)?.expand(&[2])?;
            let dot = vmap(|(a, b): &(Tensor, Tensor)| a.mul(b))(&(w.clone(), same))?;
            let pulled = vjp(|w: &Tensor| Ok(w.clone()), &w)?.0;
            dot.mul(&pulled)?.mul(x)?.sum()
        })(&vector(&[1.0, 2.0]))
    };
    let w = vector(&[3.0, 5.0]);
    close(&values(&grad(f)(&w).unwrap()), &[27.0, 150.0]);
    close(&values(&hessian(f)(&w).unwrap()), &[18.0, 0.0, 0.0, 60.0]);
    let rows = tensor(&[3.0, 5.0, 1.0, 2.0], &[2, 2]);
    close(&values(&vmap(grad(f))(&rows).unwrap()), &[27.0, 150.0, 3.0, 24.0]);
    close(&values(&grad(|w: &Tensor| vmap(f)(w)?.sum())(&rows).unwrap()), &[27.0, 150.0, 3.0, 24.0]);
}

#[test]
fn a_long_chain_of_captured_values_is_dropped_and_walked_without_recursion() {
    let x = Tensor::from(1.0);
    let f = |x: &Tensor| {
        let mut x = x.clone();
        let shared = Tensor::from(1.0);
        let half = checkpoint({
            let shared = shared.clone();
            move |x: &Tensor| x.mul(&shared)
        });
        for _ in 0..20_000 {
            x = half(&x)?;
        }
        Ok(x)
    };
    close(&[value(&grad(f)(&x).unwrap())], &[1.0]);
}

#[test]
fn user_functions_inside() {
    let square =
        custom_vjp(|x: &Tensor| x.square(), |x: &Tensor| Ok((x.square()?, x.clone())), |x: &Tensor, g| Ok(g * x * 2.0));
    let inner = square.clone();
    check(checkpoint(move |x: &Tensor| inner(x)), &[1.0, -2.0], [|x| x * x, |x| 2.0 * x, |_| 2.0, |_| 0.0]);
    let captured = |x: &Tensor| {
        let (x, square) = (x.clone(), square.clone());
        checkpoint(move |()| square(&x))(&())
    };
    check(captured, &[1.0, -2.0], [|x| x * x, |x| 2.0 * x, |_| 2.0, |_| 0.0]);
    // And one around.
    let around = pullback::custom(|x: &Tensor| checkpoint(|x: &Tensor| x.square()?.mul(x))(x)).into_fn();
    check(around, &[1.0, -2.0], [|x| x * x * x, |x| 3.0 * x * x, |x| 6.0 * x, |_| 6.0]);
}

#[test]
fn leaves_that_a_walk_back_ends_at() {
    let (x, w) = (autograd::leaf(&Tensor::from(2.0)).unwrap(), autograd::leaf(&Tensor::from(0.7)).unwrap());
    let captured = w.clone();
    let f = checkpoint(move |x: &Tensor| x.mul(&captured)?.sin());
    let loss = f(&f(&x).unwrap()).unwrap();
    let plain = |(x, w): &(Tensor, Tensor)| x.mul(w)?.sin()?.mul(w)?.sin();
    let (dx, dw) = grad(plain)(&(Tensor::from(2.0), Tensor::from(0.7))).unwrap();
    loss.backward().unwrap();
    close(&[value(&x.grad().unwrap().unwrap()), value(&w.grad().unwrap().unwrap())], &[value(&dx), value(&dw)]);
    // Gradients that can be walked back from in turn.
    let first = autograd::Grad::new().create_graph().of(&loss, &w).unwrap();
    let second = autograd::grad(&first, &w).unwrap();
    let want = hessian(|w: &Tensor| plain(&(Tensor::from(2.0), w.clone())))(&Tensor::from(0.7)).unwrap();
    close(&[value(&second)], &[value(&want)]);
    // A branch of lanes over leaves.
    let xs = autograd::leaf(&vector(&[0.0, 4.0])).unwrap();
    let branch = |x: &Tensor| cond(&x.gt(0.0)?, |x| x.sqrt()?.mul(&w), |x| x.mul(3.0), x);
    vmap(branch)(&xs).unwrap().sum().unwrap().backward().unwrap();
    close(&values(&xs.grad().unwrap().unwrap()), &[3.0, 0.175]);
}

#[test]
fn what_only_works_outside_says_so() {
    let w = autograd::leaf(&Tensor::from(2.0)).unwrap();
    let walks = checkpoint(|x: &Tensor| autograd::grad(&x.square()?, x));
    let err = walks(&w).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::NotDifferentiable);
    assert!(err.to_string().contains("inside of a `checkpoint`"), "{err}");
    let marks = checkpoint(|x: &Tensor| x.mul(&autograd::leaf(&Tensor::from(5.0))?));
    let err = marks(&w).unwrap().backward().unwrap_err();
    assert_eq!(err.kind(), ErrorKind::Rule);
    assert!(err.to_string().contains("a value of a `requires_grad`"), "{err}");
    assert!(err.to_string().contains("get leaves and duals from outside"), "{err}");
    assert!(w.grad().unwrap().is_none());
}
