//! A graph gives what the function gives, also for other arguments.

use pullback::testing::assert_close;
use pullback::{
    DType, ErrorKind, Result, Tensor, Tree, Vmap, capture, cat, einsum, grad, hessian, hvp, jacfwd, jacrev, jvp,
    laplacian, linearize, stop_gradient, value_and_grad, vjp, vmap,
};

use super::{close, refused, values};

type Pair = (Tensor, Tensor);

fn points() -> [Pair; 3] {
    let pair = |a: f64, b: f64| (Tensor::from([a, 0.5 * a, -b]), Tensor::from([b, a - b, 0.3]));
    [pair(1.0, 2.0), pair(-0.4, 0.7), pair(2.5, -1.1)]
}

/// Captures at the first point and compares at all of them.
#[track_caller]
fn same<O: Tree>(name: &str, f: impl Fn(&Pair) -> Result<O>) {
    let run = || -> Result<()> {
        let points = points();
        let graph = capture(&f)(&points[0])?;
        graph.verify()?;
        for x in &points {
            assert_close(&graph.call(x)?, &f(x)?, 1e-12);
        }
        // A replay is a function like any other, which can be captured.
        let again = capture(|x: &Pair| graph.call(x))(&points[1])?;
        assert_eq!(again.to_string().lines().count(), graph.to_string().lines().count());
        assert_close(&again.call(&points[2])?, &f(&points[2])?, 1e-12);
        Ok(())
    };
    if let Err(e) = run() {
        panic!("{name}: {e}");
    }
}

fn scalar((x, y): &Pair) -> Result<Tensor> {
    x.mul(y)?.sin()?.add(x.square()?.exp()?)?.sum()
}

fn vector((x, y): &Pair) -> Result<Tensor> {
    x.mul(y.sum()?)?.tanh()?.add(y)
}

#[test]
fn functions_of_many_kinds() {
    same("a constant", |_: &Pair| Tensor::eye(2, DType::F64));
    same("the arguments", |x: &Pair| Ok(x.clone()));
    same("swapped, twice", |(x, y): &Pair| Ok((y.clone(), x.clone(), y.clone())));
    same("operators", |(x, y): &Pair| Ok((x + 1.0) * (y - x) / 2.0));
    same("a loop", |(x, y): &Pair| (0..5).try_fold(x.clone(), |z, k| z.mul(y)?.add(f64::from(k))?.tanh()));
    same("in place", |(x, y): &Pair| {
        let mut z = x.clone();
        z += y;
        z.set_(1, y.i(0)?)?.mul_(2.0)?;
        Ok(z)
    });
    same("indexing", |(x, y): &Pair| cat(&[&x.i(1..)?, &y.i((.., pullback::NewAxis))?.flatten(0, -1)?], 0));
    same("a data-dependent choice", |(x, y): &Pair| x.gt(y)?.where_(x, &y.neg()?));
    same("sorting", |(x, _): &Pair| {
        let (sorted, order) = x.sort(0, true)?;
        sorted.add(x.gather(0, &order)?.mul(2.0)?)
    });
    same("integers", |(x, _): &Pair| Ok((x.argmax(0, false)?, x.gt(0.0)?, x.to_dtype(DType::F32)?)));
    same("einsum", |(x, y): &Pair| einsum("i,j->ij", &[x, y]));
    same("vectors and options", |(x, y): &Pair| Ok((vec![x.clone(), x.mul(y)?], Some(y.neg()?), None::<Tensor>)));
}

#[test]
fn transforms_inside() {
    same("grad", grad(scalar));
    same("value_and_grad", value_and_grad(scalar));
    same("grad of grad", grad(|x: &Pair| grad(scalar)(x)?.0.square()?.sum()));
    same("jvp", |x: &Pair| jvp(vector, x, &(x.1.clone(), x.0.clone())));
    same("jvp of grad", |x: &Pair| jvp(grad(scalar), x, &(x.1.clone(), x.0.clone())));
    same("grad of jvp", grad(|x: &Pair| jvp(vector, x, &(x.1.clone(), x.0.clone()))?.1.sum()));
    same("linearize", |x: &Pair| {
        let (y, push) = linearize(vector, x)?;
        Ok((y, push.call(x)?, push.call(&(x.1.clone(), x.0.clone()))?))
    });
    same("vjp, twice", |x: &Pair| {
        let (y, pull) = vjp(vector, x)?;
        Ok((pull.call(&y)?, pull.call(&x.0)?))
    });
    same("jacrev", jacrev(vector));
    same("jacfwd", jacfwd(vector));
    same("hessian", hessian(scalar));
    same("vmap", vmap(|(a, b): &Pair| a.mul(b)?.exp()));
    same("vmap of grad", vmap(grad(|(a, b): &Pair| a.mul(b)?.exp()?.mul(a))));
    same("vmap over one", |(x, y): &Pair| Vmap::new().in_dims(0).of(|a: &Tensor| a.mul(y)?.sum())(x));
    same("grad of vmap", grad(|x: &Pair| vmap(|(a, b): &Pair| a.mul(b)?.sin())(x)?.sum()));
    same("hvp", |x: &Pair| hvp(scalar, x, &(x.1.clone(), x.0.clone())));
    same("laplacian", laplacian(|x: &Pair| scalar(x)));
    same("stop_gradient", grad(|x: &Pair| scalar(&(stop_gradient(&x.0)?, x.1.clone()))));
    same("chunks", Vmap::new().chunk_size(2).of(grad(|(a, b): &Pair| a.mul(b)?.exp()?.mul(a))));
    same("capture", |x: &Pair| capture(vector)(x)?.call(&(x.1.clone(), x.0.clone())));
    same("grad of a graph", grad(|x: &Pair| capture(scalar)(x)?.call(x)));
}

#[test]
fn a_graph_is_transformed_like_a_function() -> Result<()> {
    let [x, y, z] = points();
    let graph = capture(scalar)(&x)?;
    let call = |x: &Pair| graph.call(x);
    assert_close(&grad(call)(&y)?, &grad(scalar)(&y)?, 1e-12);
    assert_close(&hessian(call)(&y)?, &hessian(scalar)(&y)?, 1e-12);
    assert_close(&jvp(call, &y, &z)?, &jvp(scalar, &y, &z)?, 1e-12);
    assert_close(&linearize(call, &y)?.1.call(&z)?, &jvp(scalar, &y, &z)?.1, 1e-12);
    let stacked = pullback::stack_trees(&[x, y, z])?;
    assert_close(&vmap(call)(&stacked)?, &vmap(scalar)(&stacked)?, 1e-12);
    assert_close(&vmap(grad(call))(&stacked)?, &vmap(grad(scalar))(&stacked)?, 1e-12);
    Ok(())
}

#[derive(Clone, Tree)]
struct Model<T = Tensor> {
    layers: Vec<(T, T)>,
    #[tree(static)]
    slope: f64,
}

fn predict((model, x): &(Model, Tensor)) -> Result<Tensor> {
    model.layers.iter().try_fold(x.clone(), |x, (w, b)| x.matmul(w)?.add(b)?.leaky_relu(model.slope))
}

fn model(scale: f64, layers: usize, slope: f64) -> (Model, Tensor) {
    let w = Tensor::from([[1.0, -2.0], [0.5, 1.5]]) * scale;
    let layer = (w, Tensor::from([0.1, -0.2]));
    (Model { layers: vec![layer; layers], slope }, Tensor::from([[1.0, 2.0]]) * scale)
}

#[test]
fn models_are_arguments() -> Result<()> {
    let graph = capture(predict)(&model(1.0, 2, 0.1))?;
    assert_close(&graph.call(&model(0.7, 2, 0.1))?, &predict(&model(0.7, 2, 0.1))?, 1e-14);
    let loss = |x: &(Model, Tensor)| predict(x)?.square()?.sum();
    let step = capture(grad(loss))(&model(1.0, 2, 0.1))?;
    let (got, want) = (step.call(&model(0.7, 2, 0.1))?, grad(loss)(&model(0.7, 2, 0.1))?);
    assert_close(&got, &want, 1e-14);
    assert_eq!(got.0.slope, 0.1);
    let e = refused(graph.call(&model(1.0, 3, 0.1)));
    assert_eq!(e.kind(), ErrorKind::Arity);
    assert!(e.to_string().starts_with("graph: expected arguments (Model { layers: [(tensor, tensor), "), "{e}");
    // The slope is a part of the graph.
    let e = refused(graph.call(&model(1.0, 2, 0.2)));
    assert_eq!(
        e.to_string(),
        "graph: expected the static part 0.1 (f64), which the graph was captured with, got 0.2 (f64); help: capture the \
         function again for this value"
    );
    Ok(())
}

#[derive(Clone)]
struct Unknown;

#[derive(Clone, Tree)]
struct WithUnknown<T = Tensor> {
    x: T,
    #[tree(static)]
    kind: Vec<Unknown>,
}

#[test]
fn static_parts_that_cannot_be_compared_are_refused() {
    let f = |p: &WithUnknown| Ok(&p.x * p.kind.len() as f64);
    let e = refused(capture(f)(&WithUnknown { x: Tensor::from(1.0), kind: vec![Unknown; 3] }));
    assert_eq!(e.kind(), ErrorKind::Value);
    assert!(
        e.to_string().starts_with("capture: the arguments WithUnknown { x: tensor, kind: static } have a static"),
        "{e}"
    );
}

#[test]
fn other_types_are_refused_by_name() -> Result<()> {
    let x = (Tensor::from([[1.0f32, 2.0, 3.0]]), vec![Tensor::from(1.0f32), Tensor::from([2.0f32])]);
    let graph = capture(|(a, b): &(Tensor, Vec<Tensor>)| a.mul(&b[0])?.add(&b[1]))(&x)?;
    let message = |x: &(Tensor, Vec<Tensor>)| refused(graph.call(x)).to_string();
    let other = (x.0.clone(), vec![Tensor::from(1.0f32), Tensor::from([2.0f32, 3.0, 4.0])]);
    assert_eq!(
        message(&other),
        "graph: expected f32[1] at argument.1[1], as captured, got f32[3]; help: capture the function again for this shape, \
         or use `vmap` for one more dimension"
    );
    let other = (x.0.to_dtype(DType::F64)?, x.1.clone());
    assert_eq!(
        message(&other),
        "graph: expected f32[1,3] at argument.0, as captured, got f64[1,3]; help: convert it with `to_dtype`"
    );
    let other = (x.0.clone(), vec![Tensor::from(1.0f32)]);
    assert_eq!(
        message(&other),
        "graph: expected arguments (tensor, [tensor, tensor]), as captured, got (tensor, [tensor])"
    );
    Ok(())
}

#[test]
fn branches_in_code_are_those_that_were_taken() -> Result<()> {
    // The shape is known, so code may look at it: the graph is for that shape.
    let f = |x: &Tensor| if x.numel() > 2 { x.sum() } else { x.prod() };
    let graph = capture(f)(&Tensor::from([1.0, 2.0, 3.0]))?;
    close(&values(&graph.call(&Tensor::from([5.0, 5.0, 5.0]))?), &[15.0]);
    refused(graph.call(&Tensor::from([5.0, 5.0])));
    Ok(())
}

#[test]
fn long_graphs_neither_overflow_the_stack_nor_take_long() -> Result<()> {
    let f = |x: &Tensor| (0..100_000).try_fold(x.clone(), |y, _| y.add(1.0));
    let graph = capture(f)(&Tensor::from(0.0))?;
    assert_eq!(graph.operations().count(), 100_000);
    close(&values(&graph.call(&Tensor::from(2.0))?), &[100_002.0]);
    graph.verify()?;
    Ok(())
}

#[test]
fn graphs_are_shared_between_threads() -> Result<()> {
    let graph = capture(grad(scalar))(&points()[0])?;
    std::thread::scope(|s| {
        for x in points() {
            let graph = &graph;
            s.spawn(move || assert_close(&graph.call(&x).unwrap(), &grad(scalar)(&x).unwrap(), 1e-12));
        }
    });
    Ok(())
}
