//! Users' functions are captured as calls, and keep their rules.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pullback::function::{ArrayMut, ArrayRef, rules};
use pullback::{
    Context, Cotangent, Dims, ErrorKind, Function, Opaque, OpaqueFunction, Result, Tangent, Tensor, TensorType,
    VmapInfo, capture, custom_jvp, custom_vjp, grad, implicit, jvp, vmap,
};

use super::{close, refused, value, values};

/// The sine by plain Rust code; the rule says that it stops the gradient.
#[derive(Clone)]
struct Stopped;

impl Function for Stopped {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = ();

    fn name(&self) -> &str {
        "Stopped"
    }
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let sines: Vec<f64> = x.to_vec::<f64>()?.into_iter().map(f64::sin).collect();
        Tensor::from_slice(&sines, x.shape())
    }
    fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
        Ok(())
    }
    fn backward(&self, _: &Context<Self>, (): &(), g: Cotangent) -> Result<Cotangent> {
        Ok(g * 0.0)
    }
    fn vmap(&self, info: &VmapInfo, dims: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
        rules::elementwise(self, info, dims, x)
    }
}

#[test]
fn c30_capture_keeps_the_rule() -> Result<()> {
    let f = |x: &Tensor| Stopped.apply(x)?.sum();
    let x = Tensor::from([0.5, 1.0]);
    let graph = capture(f)(&x)?;
    assert!(graph.operations().eq(["Stopped", "sum"]), "{graph}");
    close(&[value(&graph.call(&x)?)], &[0.5f64.sin() + 1.0f64.sin()]);
    let eager = grad(f)(&x)?;
    let of_captured = grad(|x: &Tensor| graph.call(x))(&x)?;
    let captured = capture(grad(f))(&x)?.call(&x)?;
    let both = capture(grad(|x: &Tensor| graph.call(x)))(&x)?.call(&x)?;
    for found in [eager, of_captured, captured, both] {
        assert_eq!(values(&found), [0.0, 0.0]);
    }
    // The derived forward rule too.
    assert_eq!(value(&jvp(|x: &Tensor| graph.call(x), &x, &x)?.1), 0.0);
    assert_eq!(value(&capture(|x: &Tensor| Ok(jvp(f, x, x)?.1))(&x)?.call(&x)?), 0.0);
    Ok(())
}

/// The sine with a forward rule that is three times too large, so that it shows which rule ran.
#[derive(Clone)]
struct Tripled;

impl Function for Tripled {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.sin()
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        Ok(x.clone())
    }
    fn jvp(&self, _: &Context<Self>, x: &Tensor, t: Tangent) -> Result<Tangent> {
        Ok(t * x.cos()? * 3.0)
    }
}

#[test]
fn c30_a_hand_written_jvp() -> Result<()> {
    let f = |x: &Tensor| Tripled.apply(x)?.sum();
    let (x, other) = (Tensor::from([0.5, 1.0]), Tensor::from([0.2, -0.7]));
    let want: Vec<f64> = values(&other).iter().map(|v| 3.0 * v.cos()).collect();
    let graph = capture(f)(&x)?;
    close(&values(&grad(|x: &Tensor| graph.call(x))(&other)?), &want);
    close(&values(&capture(grad(f))(&x)?.call(&other)?), &want);
    let push = |x: &Tensor| Ok(jvp(f, x, &Tensor::from([1.0, 10.0]))?.1);
    let pushed = want[0] + 10.0 * want[1];
    close(&[value(&jvp(|x: &Tensor| graph.call(x), &other, &Tensor::from([1.0, 10.0]))?.1)], &[pushed]);
    close(&[value(&capture(push)(&x)?.call(&other)?)], &[pushed]);
    Ok(())
}

#[test]
fn c30_functions_from_closures() -> Result<()> {
    let x = Tensor::from([0.5, 1.0]);
    let reversed = custom_vjp(
        |x: &Tensor| x.exp(),
        |x: &Tensor| Ok((x.exp()?, x.clone())),
        |x: &Tensor, g: Cotangent| Ok(g * x * 7.0),
    );
    let f = |x: &Tensor| reversed(x)?.sum();
    let graph = capture(f)(&x)?;
    close(&values(&grad(|x: &Tensor| graph.call(x))(&x)?), &[3.5, 7.0]);
    close(&values(&capture(grad(f))(&Tensor::from([0.0, 9.0]))?.call(&x)?), &[3.5, 7.0]);
    let forward = custom_jvp(|x: &Tensor| x.exp(), |x: &Tensor, _: &Tensor, t: Tangent| Ok(t * x * 7.0));
    let f = |x: &Tensor| forward(x)?.sum();
    let graph = capture(f)(&x)?;
    close(&values(&grad(|x: &Tensor| graph.call(x))(&x)?), &[3.5, 7.0]);
    close(&values(&capture(grad(f))(&Tensor::from([0.0, 9.0]))?.call(&x)?), &[3.5, 7.0]);
    Ok(())
}

/// The sum of squares on slices, and how often it was computed.
#[derive(Clone)]
struct Squares(Arc<AtomicUsize>);

impl OpaqueFunction for Squares {
    type Inputs = Tensor;
    type Outputs = Tensor;

    fn name(&self) -> &str {
        "Squares"
    }
    fn output_types(&self, x: &TensorType) -> Result<TensorType> {
        Ok(TensorType::new(x.dtype, &[]))
    }
    fn forward(&self, x: &[ArrayRef<'_>], y: &mut [ArrayMut<'_>]) -> Result<()> {
        self.0.fetch_add(1, Ordering::Relaxed);
        y[0].as_mut_slice::<f64>()?[0] = x[0].as_slice::<f64>()?.iter().map(|v| v * v).sum();
        Ok(())
    }
    fn backward(
        &self,
        x: &[ArrayRef<'_>],
        _: &[ArrayRef<'_>],
        g: &[ArrayRef<'_>],
        dx: &mut [Option<ArrayMut<'_>>],
    ) -> Result<()> {
        let g = g[0].as_slice::<f64>()?[0];
        if let Some(dx) = &mut dx[0] {
            for (dx, x) in dx.as_mut_slice::<f64>()?.iter_mut().zip(x[0].as_slice::<f64>()?) {
                *dx = 2.0 * g * x;
            }
        }
        Ok(())
    }
}

#[test]
fn functions_on_slices_are_calls_and_so_are_their_rules() -> Result<()> {
    let calls = Arc::new(AtomicUsize::new(0));
    let squares = Opaque::new(Squares(calls.clone()));
    let f = |x: &Tensor| squares.apply(&x.mul(2.0)?)?.sin();
    let (x, y) = (Tensor::from([0.1, 0.2]), Tensor::from([0.3, -0.4]));
    let graph = capture(grad(f))(&x)?;
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    assert!(graph.to_string().contains("f: f64[2] = Squares[backward](b, c, e)"), "{graph}");
    close(&values(&graph.call(&y)?), &values(&grad(f)(&y)?));
    assert_eq!(calls.load(Ordering::Relaxed), 3);
    let rows = Tensor::from([[0.1, 0.2], [0.3, -0.4], [0.0, 1.0]]);
    close(&values(&vmap(|x: &Tensor| graph.call(x))(&rows)?), &values(&vmap(grad(f))(&rows)?));
    let batched = capture(vmap(grad(f)))(&rows)?;
    close(&values(&batched.call(&rows.flip(&[0])?)?), &values(&vmap(grad(f))(&rows.flip(&[0])?)?));
    Ok(())
}

/// The square, with a rule that reads data.
#[derive(Clone)]
struct Reading {
    once: bool,
}

impl Function for Reading {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;

    fn name(&self) -> &str {
        "Reading"
    }
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        Ok(Tensor::from(x.item::<f64>()?.powi(2)))
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        Ok(x.clone())
    }
    fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
        let slope = 2.0 * x.item::<f64>()?;
        Ok(g * slope)
    }
    fn once_differentiable(&self) -> bool {
        self.once
    }
}

#[test]
fn data_is_read_in_forward_and_nowhere_else() -> Result<()> {
    let x = Tensor::from(3.0);
    let reading = |once| move |x: &Tensor| Reading { once }.apply(x);
    close(&[value(&capture(reading(false))(&x)?.call(&Tensor::from(5.0))?)], &[25.0]);
    // Differentiating a graph runs the rule on numbers,
    let graph = capture(reading(false))(&x)?;
    close(&[value(&grad(|x: &Tensor| graph.call(x))(&Tensor::from(5.0))?)], &[10.0]);
    // and capturing a derivative would write those of one call down.
    let e = refused(capture(grad(reading(false)))(&x));
    assert_eq!(e.kind(), ErrorKind::ConcreteValueNeeded);
    let text = e.to_string();
    assert!(
        text.contains("`backward` of function `Reading`: `item` reads the data of a value that `capture`"),
        "{text}"
    );
    assert!(
        text.ends_with("or move the external code into a `Function` of its own, which is captured as one call"),
        "{text}"
    );
    // A rule that is not differentiated in turn is a call itself.
    let graph = capture(grad(reading(true)))(&x)?;
    close(&[value(&graph.call(&Tensor::from(5.0))?)], &[10.0]);
    Ok(())
}

/// The identity, which clips its cotangent: a rule that is not linear, so that lanes must not share a call of it.
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
fn lanes_keep_their_own_calls_of_a_nonlinear_rule() -> Result<()> {
    let scales = Tensor::from([3.0, 0.5, -4.0]);
    // The loop: each lane clips its own cotangent.
    let f = |w: &Tensor| vmap(|s: &Tensor| Clip.apply(w)?.mul(s))(&scales)?.sum();
    let w = Tensor::from(2.0);
    let want = [1.0 + 0.5 - 1.0];
    close(&values(&grad(f)(&w)?.reshape(&[1])?), &want);
    let graph = capture(f)(&w)?;
    close(&values(&grad(|w: &Tensor| graph.call(w))(&w)?.reshape(&[1])?), &want);
    close(&values(&capture(grad(f))(&w)?.call(&w)?.reshape(&[1])?), &want);
    // Lanes that come later than the graph.
    let graph = capture(|w: &Tensor| Clip.apply(w))(&w)?;
    let f = |w: &Tensor| vmap(|s: &Tensor| graph.call(w)?.mul(s))(&scales)?.sum();
    close(&values(&grad(f)(&w)?.reshape(&[1])?), &want);
    Ok(())
}

/// Returns as many numbers as the first one says.
#[derive(Clone)]
struct Growing;

impl Function for Growing {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = ();

    fn name(&self) -> &str {
        "Growing"
    }
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        Tensor::ones(&[x.to_vec::<f64>()?[0] as usize], x.dtype())
    }
    fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
        Ok(())
    }
}

#[test]
fn shapes_that_depend_on_data_are_noticed() -> Result<()> {
    let graph = capture(|x: &Tensor| Growing.apply(x)?.sum())(&Tensor::from([2.0, 5.0]))?;
    close(&[value(&graph.call(&Tensor::from([2.0, 9.0]))?)], &[2.0]);
    let e = refused(graph.call(&Tensor::from([3.0, 9.0])));
    assert!(
        e.to_string().starts_with("graph: `Growing` must return f64[2], as when the graph was captured, got f64[3]"),
        "{e}"
    );
    Ok(())
}

#[test]
fn equations_are_captured_as_calls() -> Result<()> {
    // A root whose solver reads data and takes as many steps as it needs.
    let root = implicit::root(
        |a: &Tensor, x: &Tensor| x.square()?.sub(a),
        |a: &Tensor| {
            let a = a.item::<f64>()?;
            let (mut x, mut before) = (a.max(1.0), f64::INFINITY);
            while x < before {
                (x, before) = (0.5 * (x + a / x), x);
            }
            Ok(Tensor::from(x))
        },
    );
    let f = |a: &Tensor| root(a)?.sin()?.mul(a);
    let (a, b) = (Tensor::from(4.0), Tensor::from(9.0));
    for (graph, eager) in [
        (capture(f)(&a)?, f(&b)?),
        (capture(grad(f))(&a)?, grad(f)(&b)?),
        (capture(grad(grad(f)))(&a)?, grad(grad(f))(&b)?),
    ] {
        graph.verify()?;
        close(&[value(&graph.call(&b)?)], &[value(&eager)]);
    }
    let graph = capture(f)(&a)?;
    close(&[value(&grad(grad(|x: &Tensor| graph.call(x)))(&b)?)], &[value(&grad(grad(f))(&b)?)]);
    let rows = Tensor::from([1.0, 4.0, 16.0]);
    close(
        &values(&capture(vmap(grad(f)))(&rows)?.call(&rows.flip(&[0])?)?),
        &values(&vmap(grad(f))(&rows.flip(&[0])?)?),
    );
    close(&values(&vmap(grad(|x: &Tensor| graph.call(x)))(&rows)?), &values(&vmap(grad(f))(&rows)?));
    Ok(())
}

/// A function that holds a tensor instead of taking it as an input.
#[derive(Clone)]
struct Holding(Tensor);

impl Function for Holding {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = ();

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.mul(&self.0)
    }
    fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
        Ok(())
    }
}

#[test]
fn a_variable_that_a_function_captured_is_an_error() -> Result<()> {
    let x = Tensor::from(3.0);
    let e = refused(capture(|x: &Tensor| Holding(x.clone()).apply(&x.mul(2.0)?))(&x));
    assert_eq!(e.kind(), ErrorKind::CapturedTracer, "{e}");
    // A value from outside is none, and neither is one that nothing is done to at this level.
    close(&[value(&capture(|x: &Tensor| Holding(Tensor::from(2.0)).apply(x))(&x)?.call(&Tensor::from(5.0))?)], &[10.0]);
    Ok(())
}
