//! What a graph takes from outside: listed, shared, replaceable, and alive for the transforms that work on it.

use pullback::autograd::{leaf, no_grad};
use pullback::graph::{Cached, Capture};
use pullback::{ErrorKind, Result, Tensor, capture, checkpoint, cond, grad, jvp, linearize, vmap};

use super::{close, refused, value, values};

type Step = (Tensor, Tensor);

/// One step of gradient descent on the squared error of `w·x + b` against a target.
fn step(x: &Tensor, target: f64, rate: f64, parameters: &Step) -> Result<Step> {
    let loss = |(w, b): &Step| w.mul(x)?.sum()?.add(b)?.sub(target)?.square();
    let (dw, db) = grad(loss)(parameters)?;
    Ok((parameters.0.sub(dw.mul(rate)?)?, parameters.1.sub(db.mul(rate)?)?))
}

#[test]
fn c146_parameters_are_not_frozen() -> Result<()> {
    let x = Tensor::from([1.0, 1.0, 1.0]);
    let first = (Tensor::from([1.0, 2.0, 3.0]), Tensor::from(1.0));
    let graph = capture(|p: &Step| step(&x, 1.0, 0.05, p))(&first)?;
    let (w, b) = graph.call(&first)?;
    close(&values(&w), &[0.4, 1.4, 2.4]);
    close(&[value(&b)], &[0.4]);
    let (w, b) = graph.call(&(Tensor::from([10.0, 10.0, 10.0]), Tensor::from(1.0)))?;
    close(&values(&w), &[7.0, 7.0, 7.0]);
    close(&[value(&b)], &[-2.0]);
    Ok(())
}

#[test]
fn c146_captured_tensors_are_listed_and_can_be_replaced_or_refused() -> Result<()> {
    let (w, b) = (Tensor::from([1.0, 2.0, 3.0]), Tensor::from(1.0));
    let f = |x: &Tensor| w.mul(x)?.sum()?.mul(2.0)?.add(&b);
    let x = Tensor::from([1.0, 1.0, 1.0]);
    let graph = capture(f)(&x)?;
    assert_eq!(graph.to_string().lines().next(), Some("graph(a: f64[3]) captured(A: f64[3], B: f64[]) {"));
    let captured = graph.captured();
    assert_eq!(captured.len(), 2);
    assert!(captured[0].equal(&w)? && captured[1].equal(&b)?);
    // The graph has values, not variables of Rust code, so they are given to it.
    let (other, zero) = (Tensor::from([10.0, 10.0, 10.0]), Tensor::from(0.0));
    close(&[value(&graph.with_captured(&[&other, &zero])?.call(&x)?)], &[60.0]);
    close(&[value(&graph.call(&x)?)], &[13.0]);
    let slope = grad(|w: &Tensor| graph.with_captured(&[w, &zero])?.call(&x))(&w)?;
    close(&values(&slope), &[2.0, 2.0, 2.0]);
    let message = |tensors: &[&Tensor]| refused(graph.with_captured(tensors)).to_string();
    assert_eq!(message(&[&w]), "with_captured: expected 2 tensors, one for each that was captured, got 1");
    assert_eq!(message(&[&b, &b]), "with_captured: expected f64[3] for tensor 0, as captured, got f64[]");
    let e = refused(Capture::new().closed(true).of(f)(&x));
    assert_eq!(
        e.to_string(),
        "capture: the graph must depend on its arguments only, got a tensor from outside, f64[3]; help: pass it to the \
         function as an argument"
    );
    let closed = |(x, w, b): &(Tensor, Tensor, Tensor)| w.mul(x)?.sum()?.mul(2.0)?.add(b);
    let graph = Capture::new().closed(true).of(grad(closed))(&(x.clone(), w.clone(), b.clone()))?;
    assert!(graph.captured().is_empty());
    Ok(())
}

#[test]
fn a_value_is_listed_once_however_often_it_is_used() -> Result<()> {
    let w = Tensor::from([1.0, 2.0]);
    let graph = capture(|x: &Tensor| w.mul(x)?.add(&w)?.sub(w.clone()))(&Tensor::from([1.0, 2.0]))?;
    assert_eq!(graph.captured().len(), 1);
    Ok(())
}

#[test]
fn values_of_outer_transforms_stay_alive_for_them() -> Result<()> {
    let x = Tensor::from([1.0, 2.0]);
    // d/dw of sum(w x) by a graph that captured w.
    let through = |w: &Tensor| capture(|x: &Tensor| w.mul(x)?.sum())(&x)?.call(&x);
    close(&values(&grad(through)(&Tensor::from([3.0, 4.0]))?), &[1.0, 2.0]);
    let (_, dy) = jvp(through, &Tensor::from([3.0, 4.0]), &Tensor::from([1.0, 10.0]))?;
    close(&[value(&dy)], &[21.0]);
    let rows = Tensor::from([[3.0, 4.0], [5.0, 6.0]]);
    close(&values(&vmap(through)(&rows)?), &[11.0, 17.0]);
    close(&values(&vmap(grad(through))(&rows)?), &[1.0, 2.0, 1.0, 2.0]);
    // In a graph outside, it is one of its variables.
    let outer = capture(through)(&Tensor::from([3.0, 4.0]))?;
    close(&[value(&outer.call(&Tensor::from([5.0, 6.0]))?)], &[17.0]);
    // Both: the graph of a gradient with respect to what an inner graph captured.
    let outer = capture(grad(through))(&Tensor::from([3.0, 4.0]))?;
    close(&values(&outer.call(&Tensor::from([5.0, 6.0]))?), &[1.0, 2.0]);
    Ok(())
}

#[test]
fn a_graph_that_outlives_the_transform_it_depends_on_says_so() -> Result<()> {
    let x = Tensor::from(2.0);
    let mut kept = None;
    grad(|w: &Tensor| {
        let graph = capture(|x: &Tensor| w.mul(x))(&x)?;
        assert!(graph.to_string().starts_with("graph(a: f64[]) captured(A: f64[] of grad) {"), "{graph}");
        graph.call(w)
    })(&x)?;
    let keep = std::cell::RefCell::new(&mut kept);
    grad(|w: &Tensor| {
        **keep.borrow_mut() = Some(capture(|x: &Tensor| w.mul(x))(&x)?);
        w.square()
    })(&x)?;
    let graph = kept.expect("it was captured");
    for e in [refused(graph.call(&x)), refused(graph.verify())] {
        assert_eq!(e.kind(), ErrorKind::EscapedTracer, "{e}");
    }
    assert!(!graph.to_string().is_empty() && !graph.to_svg().is_empty());
    // A cache does not keep it in the first place.
    grad(|w: &Tensor| {
        let cached = Cached::new(|x: &Tensor| w.mul(x));
        close(&[value(&cached.call(&x)?.detach()?)], &[4.0]);
        cached.call(&x)?;
        assert_eq!(cached.traces(), 2);
        assert!(cached.report().ends_with("(not kept: the graph depends on a value of a `grad` outside)"));
        w.square()
    })(&x)?;
    Ok(())
}

#[test]
fn unused_operations_are_left_out() -> Result<()> {
    let f = |x: &Tensor| {
        let unused = x.exp()?;
        let _ = unused.add(&Tensor::from([[1.0], [2.0]]))?;
        x.sin()
    };
    let x = Tensor::from([1.0, 2.0]);
    let graph = capture(f)(&x)?;
    assert!(graph.operations().eq(["sin"]));
    assert!(graph.captured().is_empty());
    let all = Capture::new().keep_unused(true).of(f)(&x)?;
    assert!(all.operations().eq(["exp", "add", "sin"]));
    assert_eq!(all.captured().len(), 1);
    all.verify()?;
    close(&values(&all.call(&Tensor::from([0.1, 0.2]))?), &[0.1f64.sin(), 0.2f64.sin()]);
    assert!(all.to_string().contains("b: f64[2] = exp a // unused"), "{all}");
    Ok(())
}

#[test]
fn no_grad_is_written_down() -> Result<()> {
    let f = |x: &Tensor| x.mul(&no_grad(|| x.exp()?.add(1.0))?)?.sum();
    let (x, y) = (Tensor::from([1.0, 2.0]), Tensor::from([0.0, 0.5]));
    let want: Vec<f64> = values(&y).iter().map(|y| y.exp() + 1.0).collect();
    close(&values(&grad(f)(&y)?), &want);
    let graph = capture(f)(&x)?;
    close(&[value(&graph.call(&y)?)], &[value(&f(&y)?)]);
    close(&values(&grad(|x: &Tensor| graph.call(x))(&y)?), &want);
    close(&values(&capture(grad(f))(&x)?.call(&y)?), &want);
    close(&[value(&linearize(f, &y)?.1.call(&Tensor::from([1.0, 10.0]))?)], &[want[0] + 10.0 * want[1]]);
    // It does not open the contents of variables.
    let e = refused(capture(|x: &Tensor| no_grad(|| x.item::<f64>().map(|_| x.clone())))(&Tensor::from(1.0)));
    assert_eq!(e.kind(), ErrorKind::ConcreteValueNeeded);
    Ok(())
}

#[test]
fn leaves_from_outside_receive_gradients_through_a_graph() -> Result<()> {
    let w = leaf(&Tensor::from([3.0, 4.0]))?;
    let x = Tensor::from([1.0, 2.0]);
    let graph = capture(|x: &Tensor| w.mul(x)?.sum())(&x)?;
    graph.call(&Tensor::from([5.0, 6.0]))?.backward()?;
    close(&values(&w.grad()?.expect("it was walked back to")), &[5.0, 6.0]);
    Ok(())
}

#[test]
fn branches_on_variables_are_refused() -> Result<()> {
    let f = |x: &Tensor| cond(&x.sum()?.gt(0.0)?, |x: &Tensor| x.exp(), |x: &Tensor| x.neg(), x);
    let e = refused(capture(f)(&Tensor::from([1.0, 2.0])));
    assert_eq!(e.kind(), ErrorKind::ConcreteValueNeeded, "{e}");
    Ok(())
}

#[test]
fn checkpointed_functions_are_captured() -> Result<()> {
    let f = |x: &Tensor| checkpoint(|x: &Tensor| x.sin()?.mul(x))(x)?.sum();
    let (x, y) = (Tensor::from([1.0, 2.0]), Tensor::from([0.3, -0.5]));
    let want = values(&grad(f)(&y)?);
    let graph = capture(f)(&x)?;
    close(&[value(&graph.call(&y)?)], &[value(&f(&y)?)]);
    close(&values(&grad(|x: &Tensor| graph.call(x))(&y)?), &want);
    close(&values(&capture(grad(f))(&x)?.call(&y)?), &want);
    Ok(())
}
