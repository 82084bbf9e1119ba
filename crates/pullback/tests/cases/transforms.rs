//! The meaning of transforms: nesting, zeros, modes, arguments.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};

use pullback::*;

use crate::{Map, close, every_nesting, forward, gradient, is, noise, ones, second, value, values, zeros};

/// A derivative by one mode or the other.
fn by(reverse: bool, f: impl Fn(&Tensor) -> Result<Tensor>) -> impl Fn(&Tensor) -> Result<Tensor> {
    move |x| if reverse { grad(&f)(x) } else { forward(&f)(x) }
}

#[test]
fn c84_perturbations_do_not_mix() {
    let one = Tensor::from(1.0);
    for outer in [true, false] {
        for inner in [true, false] {
            let sum = by(outer, |x: &Tensor| x.mul(&by(inner, |y: &Tensor| x.add(y))(&one)?));
            assert_eq!(value(&sum(&one).unwrap()), 1.0);
            let product = by(outer, |x: &Tensor| x.mul(&by(inner, |y: &Tensor| x.mul(y))(&one)?));
            assert_eq!(value(&product(&Tensor::from(4.0)).unwrap()), 8.0);
            assert_eq!(values(&vmap(product)(&Tensor::from([4.0, 5.0])).unwrap()), [8.0, 10.0]);
            // The inner point depends on the outer variable as well.
            let both = by(outer, |x: &Tensor| by(inner, |y: &Tensor| x.mul(&y.mul(y)?))(&x.mul(x)?));
            assert_eq!(value(&both(&Tensor::from(2.0)).unwrap()), 24.0); // d/dx 2x³
            for third in [true, false] {
                // d/dx d/dy d/dz (x²·y²·z²) at (x, x, x): d/dx (x²·y²·2z at z = x) and so on.
                let deep = by(outer, |x: &Tensor| {
                    by(inner, |y: &Tensor| by(third, |z: &Tensor| x.mul(x)?.mul(&y.mul(y)?)?.mul(&z.mul(z)?))(x))(x)
                });
                assert_eq!(value(&deep(&Tensor::from(2.0)).unwrap()), 4.0 * 4.0 * 8.0); // d/dx 4x⁴
            }
        }
    }
}

#[test]
fn c86_an_intermediate_used_several_times() {
    let cube = |x: &Tensor| {
        let m = x.add(0.0)?;
        m.mul(&m)?.mul(&m)
    };
    every_nesting(cube, 0.7, &[0.343, 1.47, 4.2, 6.0]);
    let sine = |x: &Tensor| {
        let a = x.sin()?;
        a.mul(&a)?.mul(&a)
    };
    every_nesting(sine, 0.7, &[0.267_360_923_766, 0.952_266_218_913, 1.459_057_809_532, -3.981_342_846_524]);
    let matrix = |x: &Tensor| {
        let one = ones(&[]);
        let m = stack(&[x, &one, &one.neg()?, x], 0)?.reshape(&[2, 2])?;
        m.matmul(&m)?.matmul(&m)?.sum()
    };
    every_nesting(matrix, 0.7, &[-3.514, -3.06, 8.4, 12.0]);
}

#[test]
fn c87_a_stopped_value_is_a_constant_in_every_mode() {
    let f = |x: &Tensor| x.mul(x)?.detach()?.add(&x.mul(3.0)?);
    every_nesting(f, 2.0, &[10.0, 3.0, 0.0]);
    gradient(f, &Tensor::from(2.0), &[3.0]);
    second(f, &Tensor::from(2.0), &[0.0]);
    // It is stopped for every level that is running, and for lanes it is no barrier.
    let inner = |x: &Tensor| grad(|y: &Tensor| x.detach()?.mul(y))(x);
    assert_eq!(value(&grad(inner)(&Tensor::from(2.0)).unwrap()), 0.0);
    let lanes = vmap(|x: &Tensor| x.detach()?.mul(x));
    is(&grad(|x: &Tensor| lanes(x)?.sum())(&Tensor::from([2.0, 3.0])).unwrap(), &[2], &[2.0, 3.0]);
}

#[test]
fn c88_no_mode_around_a_transform_changes_it() {
    // There is no ambient mode: differentiating inside a value that is thrown away, or inside a stopped part, works.
    let x = Tensor::from([1.0, 2.0, 3.0]);
    let slope = |x: &Tensor| grad(|x: &Tensor| x.mul(x)?.sum())(x);
    is(&slope(&x).unwrap(), &[3], &[2.0, 4.0, 6.0]);
    is(&slope(&x.detach().unwrap()).unwrap(), &[3], &[2.0, 4.0, 6.0]);
    let stopped = |x: &Tensor| slope(&x.detach()?)?.sum();
    is(&grad(stopped)(&x).unwrap(), &[3], &[0.0; 3]);
    assert_eq!(value(&stopped(&x).unwrap()), 12.0);
    is(&jvp(|x: &Tensor| x.mul(x), &x, &ones(&[3])).unwrap().1, &[3], &[2.0, 4.0, 6.0]);
}

#[test]
fn c91_straight_through_estimator() {
    let m = Tensor::from([[-1.705_501_3, 0.214_439], [1.599_473_2, 1.179_864]]);
    let x = Tensor::from([0.279_999, -1.820_097_1]);
    let y = Tensor::from([-0.336_791_63, -1.027_495_3]);
    let loss = move |y: &Tensor| {
        let soft = y.tanh()?;
        let q = soft.add(&y.round()?.clamp(Some(-1.0), Some(1.0))?.sub(&soft)?.detach()?)?;
        let error = m.matmul(&q)?.sub(&m.matmul(&x)?)?;
        error.square()?.sum()?.sqrt()?.add(&y.abs()?.sum()?.mul(0.1)?)
    };
    close(&[value(&loss(&y).unwrap())], &[0.971_337_760_290_5]);
    gradient(&loss, &y, &[-0.403_289_516_033_7, 0.263_292_637_777_4]);
    second(&loss, &y, &[4.933_742_964_673, 0.788_349_537_961, 0.788_349_537_961, 0.682_712_997_142_5]);
}

#[test]
fn c93_inputs_without_influence() {
    let pair = (ones(&[2]), ones(&[3]));
    let f = |(a, _): &(Tensor, Tensor)| a.square()?.sum();
    let (da, db) = grad(f)(&pair).unwrap();
    is(&da, &[2], &[2.0, 2.0]);
    is(&db, &[3], &[0.0; 3]);
    let (da, db) = jacfwd(f)(&pair).unwrap();
    is(&da, &[2], &[2.0, 2.0]);
    is(&db, &[3], &[0.0; 3]);
    let single = (ones(&[2]), Tensor::ones(&[3], DType::F32).unwrap());
    assert_eq!(grad(f)(&single).unwrap().1.ty().to_string(), "f32[3]");
    assert_eq!(jacfwd(f)(&single).unwrap().1.ty().to_string(), "f64[3]");
    let constant = ones(&[1]);
    let g = |_: &Tensor| Ok(constant.clone());
    is(&jacrev(g)(&ones(&[4])).unwrap(), &[1, 4], &[0.0; 4]);
    is(&jacfwd(g)(&ones(&[4])).unwrap(), &[1, 4], &[0.0; 4]);
    is(&jvp(g, &ones(&[4]), &ones(&[4])).unwrap().1, &[1], &[0.0]);
    is(&vjp(g, &ones(&[4])).unwrap().1.call(&ones(&[1])).unwrap(), &[4], &[0.0; 4]);
    is(&hessian(|x: &Tensor| x.sum())(&ones(&[2])).unwrap(), &[2, 2], &[0.0; 4]);
}

#[test]
fn c95_choosing_arguments() {
    let args = (Tensor::from([[1.0, 2.0], [3.0, 4.0]]), ones(&[2]));
    let f = |(x, y): &(Tensor, Tensor)| x.sum()?.mul(&y.sum()?);
    is(&Grad::new().argnums::<1>().of(f)(&args).unwrap(), &[2], &[10.0, 10.0]);
    is(&Grad::new().argnums::<0>().of(f)(&args).unwrap(), &[2, 2], &[2.0; 4]);
    let (dx, dy) = Grad::new().of(f)(&args).unwrap();
    is(&dx, &[2, 2], &[2.0; 4]);
    is(&dy, &[2], &[10.0, 10.0]);
    let (y, dy) = Grad::new().argnums::<1>().value_and(f)(&args).unwrap();
    assert_eq!(value(&y), 20.0);
    is(&dy, &[2], &[10.0, 10.0]);
    // The Jacobian of a sum: two identities.
    let pair = (Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0]));
    let sum = |(a, b): &(Tensor, Tensor)| a.add(b);
    let eye = [1.0, 0.0, 0.0, 1.0];
    for (a, b) in [jacrev(sum)(&pair).unwrap(), jacfwd(sum)(&pair).unwrap()] {
        is(&a, &[2, 2], &eye);
        is(&b, &[2, 2], &eye);
    }
    // Arguments that are not chosen may be integers, and derivatives with respect to chosen ones nest.
    let picked = |(x, i): &(Tensor, Tensor)| x.index_select(0, i)?.powi(3);
    let args = (Tensor::from([2.0, 5.0]), Tensor::from(1i64));
    is(&Grad::new().argnums::<0>().of(picked)(&args).unwrap(), &[2], &[0.0, 75.0]);
    let slope = |a: &(Tensor, Tensor)| Grad::new().argnums::<0>().of(picked)(a)?.sum();
    is(&Grad::new().argnums::<0>().of(slope)(&args).unwrap(), &[2], &[0.0, 30.0]);
    let each = Vmap::new().in_dims((None, 0)).of(Grad::new().argnums::<0>().of(picked));
    is(&each(&(args.0, Tensor::from([0i64, 1]))).unwrap(), &[2, 2], &[12.0, 0.0, 0.0, 75.0]);
}

#[test]
fn c98_a_pullback_evaluates_once_and_is_called_often() {
    let calls = AtomicUsize::new(0);
    let f = |x: &Tensor| {
        calls.fetch_add(1, Ordering::Relaxed);
        x.sin()
    };
    let x = Tensor::from([0.0, 1.0, 2.0]);
    let (_, pull) = vjp(f, &x).unwrap();
    for k in 0..5 {
        let g = Tensor::from([1.0, 10.0, 100.0]).mul(k as f64).unwrap();
        let want: Vec<f64> = [1.0, 5.403_023_059, -41.614_683_655].iter().map(|w| w * k as f64).collect();
        is(&pull.call(&g).unwrap(), &[3], &want);
    }
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    // Called as lanes, inside of a derivative, and from another thread.
    let rows = Tensor::from([[1.0, 0.0, 0.0], [0.0, 10.0, 0.0]]);
    let want = [1.0, 0.0, 0.0, 0.0, 5.403_023_059, 0.0];
    is(&vmap(|g: &Tensor| pull.call(g))(&rows).unwrap(), &[2, 3], &want);
    let d = grad(|g: &Tensor| pull.call(g)?.square()?.sum())(&ones(&[3])).unwrap();
    is(&d, &[3], &[2.0, 2.0 * 1f64.cos().powi(2), 2.0 * 2f64.cos().powi(2)]);
    std::thread::scope(|s| {
        let pull = &pull;
        s.spawn(move || is(&pull.call(&ones(&[3])).unwrap(), &[3], &[1.0, 1f64.cos(), 2f64.cos()]));
    });
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    // A gradient that does not depend on its argument.
    let flat = |x: &Tensor| grad(|x: &Tensor| x.mul(0.0)?.sum())(x);
    is(&flat(&x).unwrap(), &[3], &[0.0; 3]);
    is(&jacfwd(flat)(&x).unwrap(), &[3, 3], &[0.0; 9]);
    is(&vjp(flat, &x).unwrap().1.call(&ones(&[3])).unwrap(), &[3], &[0.0; 3]);
}

#[test]
fn c100_an_undefined_output_spoils_no_other_row() {
    let x = Tensor::from([-1.0, -2.0, -3.0]);
    let f = |x: &Tensor| Ok((x.mean()?, x.square()?.mean()?, x.sqrt()?.mean()?));
    for (a, b, c) in [jacrev(f)(&x).unwrap(), jacfwd(f)(&x).unwrap()] {
        is(&a, &[3], &[1.0 / 3.0; 3]);
        is(&b, &[3], &[-2.0 / 3.0, -4.0 / 3.0, -2.0]);
        is(&c, &[3], &[f64::NAN; 3]);
    }
    // Also by a pullback whose cotangent does not reach the third.
    let (_, pull) = vjp(|x: &Tensor| Ok(f(x)?.0), &x).unwrap();
    is(&pull.call(&Tensor::from(1.0)).unwrap(), &[3], &[1.0 / 3.0; 3]);
}

#[test]
fn c103_higher_orders_through_nested_closures() {
    let u = |x: &Tensor| x.square()?.sin();
    every_nesting(u, 1.0, &[1f64.sin(), 1.080_604_611_736, -2.285_279_327_495, -14.420_070_264_64]);
    // The residual of a differential equation, and its gradient by a parameter outside.
    let residual = |a: &Tensor| {
        let u = |x: &Tensor| x.mul(a)?.sin();
        let x = Tensor::from(0.3);
        grad(grad(u))(&x)?.add(&u(&x)?)?.square() // ((1 − a²)·sin(a·x))²
    };
    let a: f64 = 1.7;
    let (r, dr) = ((1.0 - a * a) * (0.3 * a).sin(), -2.0 * a * (0.3 * a).sin() + (1.0 - a * a) * 0.3 * (0.3 * a).cos());
    every_nesting(residual, a, &[r * r, 2.0 * r * dr]);
    let f = |(x, y): &(Tensor, Tensor)| x.square()?.add(&y.mul(3.0)?)?.add(&x.mul(y)?);
    let h = hessian(f)(&(Tensor::from(2.0), Tensor::from(5.0))).unwrap();
    let ((xx, xy), (yx, yy)) = h;
    assert_eq!([xx, xy, yx, yy].each_ref().map(value), [2.0, 1.0, 1.0, 0.0]);
}

#[test]
fn c106_parts_of_a_hessian_without_all_of_it() {
    let f = |x: &Tensor| {
        let (x, y) = (x.select(0, 0)?, x.select(0, 1)?);
        x.square()?.mul(&y)?.add(&y.powi(3)?)
    };
    let x = Tensor::from([1.0, 2.0]);
    second(f, &x, &[4.0, 2.0, 2.0, 12.0]);
    let hvp = |v: &Tensor| Ok(jvp(grad(f), &x, v)?.1);
    let v = ones(&[2]);
    assert_eq!(value(&hvp(&v).unwrap().dot(&v).unwrap()), 20.0);
    // The diagonal: each direction as a lane.
    let directions = Tensor::from([[1.0, 0.0], [0.0, 1.0]]);
    let diagonal = vmap(|v: &Tensor| hvp(v)?.dot(v))(&directions).unwrap();
    is(&diagonal, &[2], &[4.0, 12.0]);
    assert_eq!(value(&diagonal.sum().unwrap()), 16.0);
    // The same by forward mode only.
    let twice = vmap(|v: &Tensor| Ok(jvp(|x: &Tensor| Ok(jvp(f, x, v)?.1), &x, v)?.1))(&directions).unwrap();
    is(&twice, &[2], &[4.0, 12.0]);
}

#[test]
fn c107_hessian_times_vector_by_both_compositions() {
    let x = noise(&[1000], 0.1);
    let v = noise(&[1000], 5.0);
    let f = |x: &Tensor| x.sin()?.sum();
    let want: Vec<f64> = values(&x).iter().zip(values(&v)).map(|(x, v)| -x.sin() * v).collect();
    is(&jvp(grad(f), &x, &v).unwrap().1, &[1000], &want);
    is(&grad(|x: &Tensor| grad(f)(x)?.dot(&v))(&x).unwrap(), &[1000], &want);
    is(&grad(|x: &Tensor| Ok(jvp(f, x, &v)?.1))(&x).unwrap(), &[1000], &want);
    is(&vjp(grad(f), &x).unwrap().1.call(&v).unwrap(), &[1000], &want);
}

#[test]
fn c109_running_statistics_are_an_input_and_an_output() {
    /// A training step of a normalisation: the normalised batch, and the new running mean.
    fn step((x, running): &(Tensor, Tensor)) -> Result<(Tensor, Tensor)> {
        let mean = x.mean()?;
        let y = x.sub(&mean)?.div(&x.var_dims(&[], 0, false)?.add(1e-5)?.sqrt()?)?;
        Ok((y, running.mul(0.9)?.add(&mean.detach()?.mul(0.1)?)?))
    }
    let (y, running) = step(&(Tensor::from([1.0, 3.0]), Tensor::from(0.0))).unwrap();
    close(&values(&y), &[-0.999_995_000_037, 0.999_995_000_037]);
    close(&[value(&running)], &[0.2]);
    // An ensemble of three members has three states.
    let x = Tensor::from([[1.0, 3.0], [2.0, 4.0], [0.0, 10.0]]);
    let (_, running) = vmap(step)(&(x.clone(), Tensor::from([0.0, 1.0, 2.0]))).unwrap();
    is(&running, &[3], &[0.2, 1.2, 2.3]);
    let (_, running) = Vmap::new().in_dims((0, None)).of(step)(&(x.clone(), Tensor::from(0.0))).unwrap();
    is(&running, &[3], &[0.2, 0.3, 0.5]);
    // A buffer of the host cannot be hidden from the transform: what escapes is not usable afterwards.
    let hidden = RefCell::new(Tensor::from(0.0));
    let mutating = |x: &Tensor| {
        let (y, running) = step(&(x.clone(), hidden.borrow().clone()))?;
        *hidden.borrow_mut() = running;
        Ok(y)
    };
    vmap(mutating)(&x).unwrap();
    let err = hidden.borrow().add(1.0).unwrap_err();
    assert!(err.is_escaped_tracer(), "{err}");
}

#[test]
fn c111_a_buffer_written_in_parts() {
    let f = |v: &Tensor| {
        let buffer = zeros(&[3]).index_copy(0, &Tensor::from([0i64, 1]), &v.mul(2.0)?)?;
        buffer.index_copy(0, &Tensor::from(2i64), &v.select(0, 0)?)
    };
    let v = Tensor::from([1.0, 5.0]);
    let want = [2.0, 0.0, 0.0, 2.0, 1.0, 0.0];
    is(&jacrev(f)(&v).unwrap(), &[3, 2], &want);
    is(&jacfwd(f)(&v).unwrap(), &[3, 2], &want);
}

#[test]
fn c113_a_gradient_of_something_that_is_no_scalar() {
    let x = ones(&[3]);
    let f = |x: &Tensor| x.mul(2.0);
    let err = grad(f)(&x).unwrap_err();
    assert!(err.is_not_scalar());
    assert_eq!(
        err.to_string(),
        "grad: the function must return a scalar, got f64[3]; help: sum it, select one element, or use `vjp` or `jacrev`"
    );
    is(&grad(|x: &Tensor| f(x)?.select(0, 1))(&x).unwrap(), &[3], &[0.0, 2.0, 0.0]);
    // Inside of lanes the shape is that of a lane; one element is not a scalar.
    let err = vmap(grad(f))(&ones(&[2, 3])).unwrap_err();
    assert!(err.to_string().starts_with("vmap > grad: the function must return a scalar, got f64[3]"), "{err}");
    assert!(grad(f)(&ones(&[1])).unwrap_err().is_not_scalar());
    is(&vmap(grad(f))(&x).unwrap(), &[3], &[2.0; 3]);
}

#[test]
fn c136_gradients_of_a_value_used_several_times_are_added() {
    let b = Tensor::from([3.0, 4.0]);
    let a = Tensor::from([1.0, 2.0]);
    let orders: [Map; 4] = [
        {
            let b = b.clone();
            std::sync::Arc::new(move |a: &Tensor| a.mul(&b)?.sum()?.add(&a.select(0, 0)?)?.add(&a.sum()?))
        },
        {
            let b = b.clone();
            std::sync::Arc::new(move |a: &Tensor| a.sum()?.add(&a.select(0, 0)?)?.add(&a.mul(&b)?.sum()?))
        },
        {
            let b = b.clone();
            std::sync::Arc::new(move |a: &Tensor| {
                let first = a.select(0, 0)?;
                let (rest, product) = (a.sum()?, b.mul(a)?.sum()?);
                product.add(&rest)?.add(&first)
            })
        },
        {
            // One of the uses writes to a part of a buffer.
            let b = b.clone();
            std::sync::Arc::new(move |a: &Tensor| {
                let buffer = a.index_add(0, &Tensor::from([0i64]), &a.dynamic_slice(0, &Tensor::from(0i64), 1)?)?;
                buffer.sum()?.add(&a.mul(&b)?.sum()?)
            })
        },
    ];
    for f in orders {
        gradient(|a| f(a), &a, &[5.0, 5.0]);
    }
}

#[test]
fn c159_branches_join_in_any_order() {
    let o1 = |x: &Tensor| x.square()?.sum();
    let o2 = |x: &Tensor| x.exp()?.sum();
    let x = Tensor::from([1.0, 2.0]);
    gradient(|x: &Tensor| o1(x)?.add(&o2(x)?.mul(0.0)?), &x, &[2.0, 4.0]);
    gradient(|x: &Tensor| o2(x)?.mul(0.0)?.add(&o1(x)?), &x, &[2.0, 4.0]);
    gradient(
        |x: &Tensor| {
            let second = o2(x)?;
            o1(x)?.add(&second.mul(0.0)?)
        },
        &x,
        &[2.0, 4.0],
    );
    // Gradients of intermediates: the rest of the program as a function of them.
    let front = |x: &Tensor| Ok((x.square()?, x.powi(3)?));
    let rest = |(a, b): &(Tensor, Tensor)| a.add(b);
    let x = Tensor::from(2.0);
    assert_eq!(value(&grad(|x: &Tensor| rest(&front(x)?))(&x).unwrap()), 16.0);
    let (da, db) = grad(rest)(&front(&x).unwrap()).unwrap();
    assert_eq!((value(&da), value(&db)), (1.0, 1.0));
}

#[test]
fn empty_tensors_differentiate() {
    let none = zeros(&[0]);
    is(&grad(|x: &Tensor| x.sin()?.sum())(&none).unwrap(), &[0], &[]);
    is(&grad(|x: &Tensor| x.prod())(&none).unwrap(), &[0], &[]);
    is(&grad(|x: &Tensor| x.logsumexp(&[], false))(&none).unwrap(), &[0], &[]);
    for f in [|x: &Tensor| x.mul(x), |x: &Tensor| x.exp()] {
        is(&jacrev(f)(&none).unwrap(), &[0, 0], &[]);
        is(&jacfwd(f)(&none).unwrap(), &[0, 0], &[]);
        is(&jacrev(f)(&zeros(&[2, 0])).unwrap(), &[2, 0, 2, 0], &[]);
        is(&jacfwd(f)(&zeros(&[2, 0])).unwrap(), &[2, 0, 2, 0], &[]);
    }
    is(&hessian(|x: &Tensor| x.square()?.sum())(&none).unwrap(), &[0, 0], &[]);
    // No results from some arguments, some results from no arguments.
    let cut = |x: &Tensor| x.dynamic_slice(0, &Tensor::from(0i64), 0);
    is(&jacrev(cut)(&ones(&[3])).unwrap(), &[0, 3], &[]);
    is(&jacfwd(cut)(&ones(&[3])).unwrap(), &[0, 3], &[]);
    let grown = |x: &Tensor| cat(&[x, &ones(&[2])], 0)?.square();
    is(&jacrev(grown)(&none).unwrap(), &[2, 0], &[]);
    is(&jacfwd(grown)(&none).unwrap(), &[2, 0], &[]);
    is(&jvp(grown, &none, &none).unwrap().1, &[2], &[0.0; 2]);
    is(&vmap(jacrev(grown))(&zeros(&[3, 0])).unwrap(), &[3, 2, 0], &[]);
    is(&vmap(jacfwd(grown))(&zeros(&[3, 0])).unwrap(), &[3, 2, 0], &[]);
}

#[test]
fn derivatives_keep_the_dtypes_of_their_values() {
    let x = (Tensor::from([1.0f32, 2.0]), Tensor::from([3.0, 4.0]));
    let f = |(a, b): &(Tensor, Tensor)| a.mul(b)?.sum();
    let (da, db) = grad(f)(&x).unwrap();
    assert_eq!((da.dtype(), db.dtype()), (DType::F32, DType::F64));
    assert_eq!((da.to_vec::<f32>().unwrap(), values(&db)), (vec![3.0, 4.0], vec![1.0, 2.0]));
    let (y, t) = jvp(f, &x, &x).unwrap();
    assert_eq!((y.dtype(), t.dtype(), value(&t)), (DType::F64, DType::F64, 22.0));
    // A 0-d tensor of a wider dtype gives way, and its gradient is its own dtype.
    let (w, x) = (Tensor::from(2.0), Tensor::from([1.0f32, 2.0]));
    let g = grad(|w: &Tensor| x.mul(w)?.sum())(&w).unwrap();
    assert_eq!((g.ty().to_string(), value(&g)), ("f64[]".into(), 3.0));
    let ((hff, hfd), (hdf, hdd)) = hessian(|(a, b): &(Tensor, Tensor)| a.mul(b))(&(Tensor::from(1.0f32), w)).unwrap();
    assert_eq!(
        [hff, hfd, hdf, hdd].each_ref().map(|t| t.to_dtype(DType::F64).unwrap().item::<f64>().unwrap()),
        [0.0, 1.0, 1.0, 0.0]
    );
    let down = |x: &Tensor| x.to_dtype(DType::F32)?.square()?.sum();
    let g = grad(down)(&Tensor::from([1.0, 2.0])).unwrap();
    assert_eq!((g.dtype(), values(&g)), (DType::F64, vec![2.0, 4.0]));
    let j = jacfwd(down)(&Tensor::from([1.0, 2.0])).unwrap();
    assert_eq!((j.dtype(), j.to_vec::<f32>().unwrap()), (DType::F32, vec![2.0, 4.0]));
}

#[test]
fn integer_results_have_no_derivative_and_no_wrong_one() {
    let x = Tensor::from([1.0, 3.0, 2.0]);
    let place = |x: &Tensor| x.argmax(None, false);
    let (y, t) = jvp(place, &x, &ones(&[3])).unwrap();
    assert_eq!((y.item::<i64>().unwrap(), t.item::<i64>().unwrap()), (1, 0));
    for err in [grad(place)(&x).unwrap_err(), jacrev(place)(&x).unwrap_err(), vjp(place, &x).err().unwrap()] {
        assert_eq!(err.kind(), ErrorKind::NotDifferentiable, "{err}");
        assert!(err.to_string().contains("i64[]"), "{err}");
    }
    // Through an integer and back there is no derivative.
    every_nesting(|x: &Tensor| x.to_dtype(DType::I64)?.to_dtype(DType::F64)?.mul(x), 3.5, &[10.5, 3.0, 0.0]);
    let picked = |x: &Tensor| x.index_select(0, &place(x)?)?.square();
    gradient(picked, &x, &[0.0, 6.0, 0.0]);
    is(&jacfwd(jacfwd(picked))(&x).unwrap(), &[3, 3], &[0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0]);
}

#[test]
fn a_pullback_kept_beyond_an_outer_transform_is_an_error() {
    let kept = RefCell::new(None);
    let f = |x: &Tensor| {
        let (y, pull) = vjp(|z: &Tensor| z.mul(x), x)?;
        *kept.borrow_mut() = Some(pull);
        Ok(y)
    };
    assert_eq!(value(&grad(f)(&Tensor::from(3.0)).unwrap()), 6.0);
    let err = kept.borrow().as_ref().unwrap().call(&Tensor::from(1.0)).unwrap_err();
    assert!(err.is_escaped_tracer(), "{err}");
    vmap(f)(&Tensor::from([1.0, 2.0])).unwrap();
    let err = kept.borrow().as_ref().unwrap().call(&Tensor::from(1.0)).unwrap_err();
    assert!(err.is_escaped_tracer(), "{err}");
}

#[test]
fn values_that_pass_through_untouched() {
    let x = Tensor::from([1.0, 2.0]);
    let same = |x: &Tensor| Ok(x.clone());
    is(&jacrev(same)(&x).unwrap(), &[2, 2], &[1.0, 0.0, 0.0, 1.0]);
    is(&jacfwd(same)(&x).unwrap(), &[2, 2], &[1.0, 0.0, 0.0, 1.0]);
    is(&vmap(same)(&x).unwrap(), &[2], &[1.0, 2.0]);
    is(&vjp(same, &x).unwrap().1.call(&x).unwrap(), &[2], &[1.0, 2.0]);
    // The same value as several results: cotangents add.
    let twice = |x: &Tensor| Ok((x.clone(), x.clone()));
    is(&vjp(twice, &x).unwrap().1.call(&(x.clone(), x.clone())).unwrap(), &[2], &[2.0, 4.0]);
    // The same tensor as several arguments: each has a gradient of its own.
    let (a, b) = grad(|(a, b): &(Tensor, Tensor)| a.mul(b)?.mul(b)?.sum())(&(x.clone(), x.clone())).unwrap();
    is(&a, &[2], &[1.0, 4.0]);
    is(&b, &[2], &[2.0, 8.0]);
    // The argument of an outer transform returned by an inner one.
    let outer = grad(|x: &Tensor| grad(|_: &Tensor| x.sum())(x)?.sum())(&x).unwrap();
    is(&outer, &[2], &[0.0, 0.0]);
    let outer = grad(|x: &Tensor| vmap(|_: &Tensor| x.sum())(&ones(&[3]))?.sum())(&x).unwrap();
    is(&outer, &[2], &[3.0, 3.0]);
    let outer = jvp(|x: &Tensor| Ok(jvp(|_: &Tensor| Ok(x.clone()), x, x)?.0), &x, &ones(&[2])).unwrap().1;
    is(&outer, &[2], &[1.0, 1.0]);
}

#[test]
fn tangents_and_cotangents_may_belong_to_outer_transforms() {
    let x = Tensor::from(3.0);
    // Derivatives by the tangent, by the cotangent, and by the point all at once.
    let push = |(x, t): &(Tensor, Tensor)| Ok(jvp(|x: &Tensor| x.powi(3), x, t)?.1);
    let pull = |(x, t): &(Tensor, Tensor)| vjp(|x: &Tensor| x.powi(3), x)?.1.call(t);
    for f in [&push as &dyn Fn(&(Tensor, Tensor)) -> Result<Tensor>, &pull] {
        let point = (x.clone(), Tensor::from(2.0));
        let (dx, dt) = grad(f)(&point).unwrap();
        assert_eq!((value(&dx), value(&dt)), (36.0, 27.0));
        let ((xx, xt), (tx, tt)) = hessian(f)(&point).unwrap();
        assert_eq!([xx, xt, tx, tt].each_ref().map(value), [12.0, 18.0, 18.0, 0.0]);
        let lanes = Vmap::new().in_dims((None, 0)).of(f)(&(x.clone(), Tensor::from([1.0, 2.0]))).unwrap();
        is(&lanes, &[2], &[27.0, 54.0]);
        let lanes = Vmap::new().in_dims((0, None)).of(f)(&(Tensor::from([1.0, 2.0]), x.clone())).unwrap();
        is(&lanes, &[2], &[9.0, 36.0]);
    }
    // A tangent that belongs to an inner transform has ended with it.
    let kept = RefCell::new(None);
    grad(|x: &Tensor| {
        *kept.borrow_mut() = Some(x.clone());
        x.mul(x)
    })(&x)
    .unwrap();
    let stale = kept.into_inner().unwrap();
    let (_, pull) = vjp(|x: &Tensor| x.mul(2.0), &x).unwrap();
    assert!(pull.call(&stale).unwrap_err().is_escaped_tracer());
    assert!(jvp(|x: &Tensor| x.mul(2.0), &x, &stale).unwrap_err().is_escaped_tracer());
}

#[test]
fn wrong_tangents_and_cotangents() {
    let x = ones(&[2]);
    let f = |x: &Tensor| x.sum();
    for bad in [ones(&[3]), ones(&[]), ones(&[2, 1])] {
        let err = jvp(f, &x, &bad).unwrap_err();
        assert!(err.is_shape() && err.to_string().contains(&bad.ty().to_string()), "{err}");
    }
    let err = jvp(f, &x, &Tensor::ones(&[2], DType::F32).unwrap()).unwrap_err();
    assert!(err.is_dtype(), "{err}");
    let (_, pull) = vjp(f, &x).unwrap();
    for bad in [ones(&[1]), ones(&[2])] {
        assert!(pull.call(&bad).unwrap_err().is_shape());
    }
    assert!(pull.call(&Tensor::from(1.0f32)).unwrap_err().is_dtype());
    let err = jvp(|x: &Vec<Tensor>| x[0].sum(), &vec![x.clone()], &vec![x.clone(), x.clone()]).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::Arity);
    // Nothing to differentiate at all.
    let nothing: Vec<Tensor> = vec![];
    assert_eq!(jacfwd(|_: &Vec<Tensor>| Ok(ones(&[2])))(&nothing).unwrap_err().kind(), ErrorKind::Arity);
    assert!(grad(|_: &Vec<Tensor>| Ok(ones(&[])))(&nothing).unwrap().is_empty());
    assert_eq!(vmap(|_: &Vec<Tensor>| Ok(ones(&[])))(&nothing).unwrap_err().kind(), ErrorKind::Arity);
}
