//! `linearize`: one run of the function, any number of tangents.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pullback::testing::assert_close;
use pullback::{
    Context, Cotangent, DType, Function, Result, Tangent, Tensor, capture, grad, hessian, jacfwd, jacrev, jvp,
    linearize, vjp, vmap,
};

use super::{close, refused, value, values};

#[test]
fn c98_one_run_and_many_tangents() -> Result<()> {
    let runs = Cell::new(0);
    let f = |x: &Tensor| {
        runs.set(runs.get() + 1);
        x.sin()
    };
    let x = Tensor::from([0.0, 1.0, 2.0]);
    let (y, push) = linearize(f, &x)?;
    close(&values(&y), &[0.0, 1.0f64.sin(), 2.0f64.sin()]);
    let cos = [1.0, 1.0f64.cos(), 2.0f64.cos()];
    for scale in [1.0, -2.0, 0.0, 1e3, 0.5] {
        let dx = Tensor::from([scale, 10.0 * scale, 100.0 * scale]);
        close(&values(&push.call(&dx)?), &[scale * cos[0], 10.0 * scale * cos[1], 100.0 * scale * cos[2]]);
    }
    // 5.403023059 and -41.614683655
    close(&values(&push.call(&Tensor::from([1.0, 10.0, 100.0]))?), &[1.0, 10.0 * cos[1], 100.0 * cos[2]]);
    // The transpose.
    let (_, pull) = vjp(|dx: &Tensor| push.call(dx), &x)?;
    for k in 0..5 {
        let g = Tensor::from([1.0, f64::from(k), -2.0]);
        close(&values(&pull.call(&g)?), &[cos[0], f64::from(k) * cos[1], -2.0 * cos[2]]);
    }
    assert_eq!(runs.get(), 1);
    Ok(())
}

#[test]
fn c98_a_gradient_that_does_not_depend_on_its_argument() -> Result<()> {
    let slope = grad(|x: &Tensor| Tensor::zeros(&[3], DType::F64)?.mul(x)?.sum());
    let (y, push) = linearize(slope, &Tensor::from([1.0, 2.0, 3.0]))?;
    assert_eq!(values(&y), [0.0; 3]);
    for _ in 0..2 {
        assert_eq!(values(&push.call(&Tensor::from([1.0, 10.0, 100.0]))?), [0.0; 3]);
    }
    Ok(())
}

fn f(xy: &Tensor) -> Result<Tensor> {
    let (x, y) = (xy.i(0)?, xy.i(1)?);
    x.square()?.mul(&y)?.add(y.powi(3)?)
}

#[test]
fn c106_second_derivatives_without_the_whole_matrix() -> Result<()> {
    let at = Tensor::from([1.0, 2.0]);
    let runs = Cell::new(0);
    let slope = grad(|x: &Tensor| {
        runs.set(runs.get() + 1);
        f(x)
    });
    let (_, push) = linearize(&slope, &at)?;
    let column = |k: usize| push.call(&Tensor::from([[1.0, 0.0], [0.0, 1.0]][k]))?.i(k);
    let diagonal = [value(&column(0)?), value(&column(1)?)];
    close(&diagonal, &[4.0, 12.0]);
    let v = Tensor::from([1.0, 1.0]);
    close(&[value(&push.call(&v)?.mul(&v)?.sum()?)], &[20.0]);
    assert_eq!(runs.get(), 1);
    Ok(())
}

#[test]
fn c107_products_with_the_hessian() -> Result<()> {
    let n = 10_000;
    let x: Vec<f64> = (0..n).map(|k| (1.7 * f64::from(k)).sin()).collect();
    let v: Vec<f64> = (0..n).map(|k| (0.3 * f64::from(k)).cos()).collect();
    let want: Vec<f64> = x.iter().zip(&v).map(|(x, v)| -x.sin() * v).collect();
    let (x, v) = (Tensor::from(x), Tensor::from(v));
    let sines = |x: &Tensor| x.sin()?.sum();
    let (_, push) = linearize(grad(sines), &x)?;
    close(&values(&push.call(&v)?), &want);
    close(&values(&jvp(grad(sines), &x, &v)?.1), &want);
    close(&values(&grad(|x: &Tensor| grad(sines)(x)?.mul(&v)?.sum())(&x)?), &want);
    Ok(())
}

fn trees((a, rest): &(Tensor, Vec<Tensor>)) -> Result<BTreeMap<&'static str, Tensor>> {
    let product = a.mul(&rest[0])?.tanh()?;
    Ok(BTreeMap::from([
        ("product", product.clone()),
        ("order", rest[0].argsort(0, false)?),
        ("constant", Tensor::ones(&[2], DType::F32)?),
        ("sum", product.add(&rest[1])?.sum()?),
        ("argument", rest[1].clone()),
    ]))
}

#[test]
fn trees_integers_and_constants_are_as_in_jvp() -> Result<()> {
    let x = (Tensor::from(0.5), vec![Tensor::from([1.0, -0.3]), Tensor::from([0.2, 2.0])]);
    let dx = (Tensor::from(2.0), vec![Tensor::from([0.1, 1.0]), Tensor::from([5.0, -7.0])]);
    let (y, push) = linearize(trees, &x)?;
    let (want, dwant) = jvp(trees, &x, &dx)?;
    for name in want.keys() {
        assert_close(&y[name], &want[name], 0.0);
        assert_close(&push.call(&dx)?[name], &dwant[name], 1e-14);
    }
    Ok(())
}

#[test]
fn wrong_tangents_are_named() -> Result<()> {
    let x = (Tensor::from([1.0, 2.0]), vec![Tensor::from(1.0f32)]);
    let (_, push) = linearize(|(a, b): &(Tensor, Vec<Tensor>)| a.mul(&b[0].to_dtype(DType::F64)?), &x)?;
    let message = |dx: (Tensor, Vec<Tensor>)| refused(push.call(&dx)).to_string();
    assert_eq!(
        message((x.0.clone(), vec![Tensor::from([1.0f32])])),
        "linearize: expected a tangent of type f32[] for argument.1[0], got f32[1]"
    );
    assert_eq!(
        message((x.0.clone(), vec![Tensor::from(1.0)])),
        "linearize: expected a tangent of type f32[] for argument.1[0], got f64[]; help: convert it with `to_dtype`"
    );
    assert_eq!(message((x.0.clone(), vec![])), "linearize: expected 2 tangents, one for each argument, got 1");
    let (_, push) = linearize(|x: &[Option<Tensor>; 2]| Ok(x[0].clone()), &[Some(Tensor::from(1.0)), None])?;
    let e = refused(push.call(&[None, Some(Tensor::from(1.0))]));
    assert_eq!(
        e.to_string(),
        "linearize: expected tangents at the places of the arguments, [tensor, none], got [none, tensor]"
    );
    let e = refused(linearize(|x: &(Tensor, Tensor)| Ok(x.0.clone()), &(Tensor::from(1.0), Tensor::from(1i64))));
    assert_eq!(
        e.to_string(),
        "linearize: expected floating-point arguments, got i64[] at argument.1; help: capture integer tensors in a closure"
    );
    Ok(())
}

#[test]
fn inside_and_outside_of_every_transform() -> Result<()> {
    let g = |x: &Tensor| x.mul(x)?.sin()?.add(x.sum()?);
    let (x, v) = (Tensor::from([0.3, -0.8]), Tensor::from([2.0, 0.5]));
    let by_push = |x: &Tensor| linearize(g, x)?.1.call(&v);
    let by_jvp = |x: &Tensor| Ok(jvp(g, x, &v)?.1);
    assert_close(&by_push(&x)?, &by_jvp(&x)?, 1e-14);
    assert_close(&jacrev(by_push)(&x)?, &jacrev(by_jvp)(&x)?, 1e-14);
    assert_close(&jacfwd(by_push)(&x)?, &jacfwd(by_jvp)(&x)?, 1e-14);
    let (total_push, total_jvp) = (|x: &Tensor| by_push(x)?.sum(), |x: &Tensor| by_jvp(x)?.sum());
    assert_close(&hessian(total_push)(&x)?, &hessian(total_jvp)(&x)?, 1e-13);
    assert_close(&linearize(by_push, &x)?.1.call(&v)?, &jvp(by_jvp, &x, &v)?.1, 1e-13);
    let rows = Tensor::from([[0.3, -0.8], [1.0, 2.0], [0.0, 0.1]]);
    assert_close(&vmap(by_push)(&rows)?, &vmap(by_jvp)(&rows)?, 1e-14);
    assert_close(&vmap(grad(total_push))(&rows)?, &vmap(grad(total_jvp))(&rows)?, 1e-14);
    assert_close(&capture(by_push)(&v)?.call(&x)?, &by_jvp(&x)?, 1e-14);
    // Tangents that have lanes, or derivatives of their own.
    let (_, push) = linearize(g, &x)?;
    assert_close(&vmap(|v: &Tensor| push.call(v))(&rows)?, &vmap(|v: &Tensor| Ok(jvp(g, &x, v)?.1))(&rows)?, 1e-14);
    assert_close(&jacrev(|v: &Tensor| push.call(v))(&v)?, &jacfwd(g)(&x)?, 1e-14);
    let replayed = capture(|v: &Tensor| push.call(v))(&x)?;
    assert_close(&replayed.call(&v)?, &by_jvp(&x)?, 1e-14);
    Ok(())
}

#[test]
fn it_outlives_the_transform_and_crosses_threads() -> Result<()> {
    let push = linearize(|x: &Tensor| x.exp()?.mul(x), &Tensor::from([0.0, 1.0]))?.1;
    let e = 1.0f64.exp();
    std::thread::scope(|s| {
        for k in 0..4 {
            let push = &push;
            s.spawn(move || {
                let v = f64::from(k);
                let got = push.call(&Tensor::from([v, 1.0])).unwrap();
                close(&values(&got), &[v, 2.0 * e]);
            });
        }
    });
    let owned = std::thread::spawn(move || values(&push.call(&Tensor::from([1.0, 1.0])).unwrap()));
    close(&owned.join().expect("no panic"), &[1.0, 2.0 * e]);
    Ok(())
}

/// Two outputs, of which the second is not differentiable, and the first has a tangent that may be a symbolic zero.
#[derive(Clone)]
struct Odd {
    forward_calls: Arc<AtomicUsize>,
    zero: bool,
}

impl Function for Odd {
    type Inputs = (Tensor, Tensor);
    type Outputs = (Tensor, Tensor);
    type Saved = (Tensor, Tensor);

    fn forward(&self, (x, y): &(Tensor, Tensor)) -> Result<(Tensor, Tensor)> {
        self.forward_calls.fetch_add(1, Ordering::Relaxed);
        let product = x.item::<f64>()? * y.item::<f64>()?;
        Ok((Tensor::from(product), Tensor::from(product.floor())))
    }
    fn setup_context(
        &self,
        ctx: &mut Context<Self>,
        x: &(Tensor, Tensor),
        _: &(Tensor, Tensor),
    ) -> Result<(Tensor, Tensor)> {
        ctx.mark_non_differentiable(&[1])?;
        Ok(x.clone())
    }
    fn jvp(
        &self,
        _: &Context<Self>,
        (x, y): &(Tensor, Tensor),
        (dx, dy): (Tangent, Tangent),
    ) -> Result<(Tangent, Tangent)> {
        if self.zero {
            return Ok((Tangent::zero(), Tangent::zero()));
        }
        // The rule reads data, as it may in one call after the other.
        let (a, b) = (x.item::<f64>()?, y.item::<f64>()?);
        Ok((dx * b + dy * a, Tangent::zero()))
    }
}

#[test]
fn users_rules_are_called_for_each_tangent() -> Result<()> {
    let forward_calls = Arc::new(AtomicUsize::new(0));
    for zero in [false, true] {
        forward_calls.store(0, Ordering::Relaxed);
        let odd = Odd { forward_calls: forward_calls.clone(), zero };
        let f = |(x, y): &(Tensor, Tensor)| {
            let (product, floor) = odd.apply(&(x.mul(2.0)?, y.clone()))?;
            // Both operands carry tangents, of which one may be a zero that has to be made: what the product saved for two
            // tangents is not what it saves for one.
            Ok((x.mul(&product)?, floor.mul(x)?))
        };
        let (x, y) = (3.0, 0.7);
        let at = (Tensor::from(x), Tensor::from(y));
        let (_, push) = linearize(f, &at)?;
        for (dx, dy) in [(1.0, 0.0), (0.0, 1.0), (2.0, -3.0)] {
            let (dp, df) = push.call(&(Tensor::from(dx), Tensor::from(dy)))?;
            let inner = if zero { 0.0 } else { 2.0 * (dx * y + x * dy) };
            close(&[value(&dp), value(&df)], &[inner * x + 2.0 * x * y * dx, 4.0 * dx]);
        }
        assert_eq!(forward_calls.load(Ordering::Relaxed), 1);
    }
    Ok(())
}

/// Square with a backward only.
#[derive(Clone)]
struct Backward;

impl Function for Backward {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.mul(x)
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        Ok(x.clone())
    }
    fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
        Ok(g * x * 2.0)
    }
}

#[test]
fn a_rule_for_the_other_mode_is_transposed() -> Result<()> {
    let (_, push) = linearize(|x: &Tensor| Backward.apply(x)?.sum(), &Tensor::from([1.0, 2.0]))?;
    close(&[value(&push.call(&Tensor::from([1.0, 10.0]))?)], &[42.0]);
    close(&values(&vmap(|v: &Tensor| push.call(v))(&Tensor::from([[1.0, 0.0], [0.0, 1.0]]))?), &[2.0, 4.0]);
    Ok(())
}
