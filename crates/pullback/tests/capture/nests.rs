//! `capture` at each place in nests of transforms up to three deep: the graph gives what the function gives.

use std::rc::Rc;

use pullback::testing::assert_close;
use pullback::{
    Context, Cotangent, Function, Result, Tensor, capture, grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap,
};

/// Of a matrix of points; all transforms below keep its type.
type F = Rc<dyn Fn(&Tensor) -> Result<Tensor>>;

/// The sine, whose rule triples the derivative, so that losing the rule shows.
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
    fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
        Ok(g * x.cos()? * 3.0)
    }
}

fn base(x: &Tensor) -> Result<Tensor> {
    Tripled.apply(&x.mul(x)?)?.mul(x)?.add(x.sum_to(&[])?.mul(0.1)?)
}

/// Transforms of functions from matrices to matrices, each in its own way.
const TRANSFORMS: [(&str, fn(F) -> F); 7] = [
    ("grad", |f| Rc::new(move |x| grad(|x: &Tensor| f(x)?.sum())(x))),
    ("vjp", |f| {
        Rc::new(move |x| {
            let (y, pull) = vjp(|x: &Tensor| f(x), x)?;
            pull.call(&y.cos()?)
        })
    }),
    ("jvp", |f| Rc::new(move |x| Ok(jvp(|x: &Tensor| f(x), x, &x.cos()?)?.1))),
    ("linearize", |f| Rc::new(move |x| linearize(|x: &Tensor| f(x), x)?.1.call(&x.cos()?))),
    ("vmap", |f| Rc::new(move |x| vmap(|x: &Tensor| f(x))(x))),
    ("jacrev", |f| Rc::new(move |x| jacrev(|x: &Tensor| f(x))(x)?.sum_to(x.shape()))),
    ("jacfwd", |f| Rc::new(move |x| jacfwd(|x: &Tensor| f(x))(x)?.sum_to(x.shape()))),
];

/// `f` as a graph that is captured and replayed in each call, at another point than that of the call.
fn captured(f: F) -> F {
    Rc::new(move |x| capture(|x: &Tensor| f(x))(&x.mul(0.5)?.add(0.1)?)?.call(x))
}

fn at(k: usize) -> Tensor {
    let data: Vec<f64> = (0..6).map(|i| 0.4 + (1.3 * i as f64 + k as f64).sin() * 0.5).collect();
    Tensor::from_slice(&data, &[2, 3]).expect("six numbers")
}

#[test]
fn every_nest_of_three_with_capture_at_each_place() -> Result<()> {
    let mut compared = 0;
    for (inner, f) in TRANSFORMS {
        for (middle, g) in TRANSFORMS {
            for (outer, h) in TRANSFORMS {
                // Three nested Jacobians of six numbers by six are large and say nothing new.
                if [inner, middle, outer].iter().filter(|name| name.starts_with("jac")).count() > 1 {
                    continue;
                }
                // `vmap` takes a dim away, so at most two fit.
                if [inner, middle, outer].iter().filter(|name| **name == "vmap").count() > 2 {
                    continue;
                }
                let plain = h(g(f(Rc::new(base))));
                let want = plain(&at(1))?;
                let nests = [
                    ("inside", h(g(f(captured(Rc::new(base)))))),
                    ("around the first", h(g(captured(f(Rc::new(base)))))),
                    ("around the second", h(captured(g(f(Rc::new(base)))))),
                    ("around all", captured(h(g(f(Rc::new(base)))))),
                    ("inside and outside", captured(h(g(f(captured(Rc::new(base))))))),
                ];
                for (place, nest) in nests {
                    let got = nest(&at(1)).unwrap_or_else(|e| panic!("{outer} {middle} {inner}, {place}: {e}"));
                    let error = pullback::testing::max_error(&got, &want)?;
                    assert!(error < 1e-11, "{outer} {middle} {inner}, {place}: {error}: {got}, want {want}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 900, "{compared}");
    Ok(())
}

#[test]
fn capture_everywhere() -> Result<()> {
    let mut f: F = captured(Rc::new(base));
    let mut plain: F = Rc::new(base);
    for (_, transform) in &TRANSFORMS[..4] {
        f = captured(transform(f));
        plain = transform(plain);
    }
    assert_close(&f(&at(2))?, &plain(&at(2))?, 1e-10);
    Ok(())
}

#[test]
fn perturbations_do_not_mix() -> Result<()> {
    // d/dx (x · d/dy (x y)) = 2x: by graphs at each place.
    let inner = |x: &Tensor| {
        let graph = capture(|y: &Tensor| x.mul(y))(&Tensor::from(1.0))?;
        x.mul(grad(|y: &Tensor| graph.call(y))(&Tensor::from(1.0))?)
    };
    let x = Tensor::from(3.0);
    for slope in [
        grad(inner)(&x)?,
        jvp(inner, &x, &Tensor::from(1.0))?.1,
        capture(grad(inner))(&Tensor::from(-1.0))?.call(&x)?,
        grad(|x: &Tensor| capture(inner)(&Tensor::from(-1.0))?.call(x))(&x)?,
        linearize(inner, &x)?.1.call(&Tensor::from(1.0))?,
    ] {
        assert_eq!(slope.item::<f64>()?, 6.0);
    }
    assert_eq!(hessian(inner)(&x)?.item::<f64>()?, 2.0);
    Ok(())
}
