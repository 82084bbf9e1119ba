//! Functions whose rules are differentiable once: first derivatives everywhere, and never a wrong second one.

use pullback::function::{Batching, rules};
use pullback::testing::{GradCheck, check_function};
use pullback::{
    Context, Cotangent, Dims, ErrorKind, Function, Result, Tangent, Tensor, VmapInfo, grad, hessian, jacfwd, jacrev,
    jvp, vjp, vmap,
};

/// x³ with rules on raw data.
#[derive(Clone)]
struct RawCube;

fn on_data(x: &Tensor, g: &Tensor, f: fn(f64) -> f64) -> Result<Tensor> {
    let (x, g, shape) = (x.to_vec::<f64>()?, g.to_vec::<f64>()?, x.shape());
    Tensor::from_slice(&x.iter().zip(&g).map(|(&x, &g)| g * f(x)).collect::<Vec<_>>(), shape)
}

impl Function for RawCube {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.powi(3)
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        Ok(x.clone())
    }
    fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
        Ok(on_data(x, &g.tensor()?, |x| 3.0 * x * x)?.into())
    }
    fn jvp(&self, _: &Context<Self>, x: &Tensor, t: Tangent) -> Result<Tangent> {
        Ok(on_data(x, &t.tensor()?, |x| 3.0 * x * x)?.into())
    }
    fn once_differentiable(&self) -> bool {
        true
    }
}

/// The same with a rule in tensor operations that keeps nothing: what it needs, it has from elsewhere.
#[derive(Clone)]
struct Forgetful(f64);

impl Function for Forgetful {
    type Inputs = (Tensor, Tensor);
    type Outputs = Tensor;
    type Saved = ();
    fn forward(&self, (x, y): &(Tensor, Tensor)) -> Result<Tensor> {
        x.powi(3)?.mul(y)
    }
    fn setup_context(&self, _: &mut Context<Self>, _: &(Tensor, Tensor), _: &Tensor) -> Result<()> {
        Ok(())
    }
    fn backward(&self, ctx: &Context<Self>, _: &(), g: Cotangent) -> Result<(Cotangent, Cotangent)> {
        assert_eq!(*ctx.needs_input_grad(), (true, false));
        Ok((g * (3.0 * self.0 * self.0), Cotangent::zero()))
    }
    fn once_differentiable(&self) -> bool {
        true
    }
}

fn cube(x: &Tensor) -> Result<Tensor> {
    RawCube.apply(x)
}

fn near(t: &Tensor, expected: &[f64]) {
    let got = t.to_vec::<f64>().unwrap();
    assert!(got.len() == expected.len() && got.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{got:?}");
}

#[test]
fn first_derivatives_work_under_every_transform() -> Result<()> {
    let x = Tensor::from(2.0);
    let xs = Tensor::from([1.0, 2.0, 3.0]);
    let slopes = [3.0, 12.0, 27.0];
    near(&grad(cube)(&x)?, &[12.0]);
    near(&jvp(cube, &x, &Tensor::from(1.0))?.1, &[12.0]);
    near(&vmap(grad(cube))(&xs)?, &slopes);
    near(&grad(|xs: &Tensor| vmap(cube)(xs)?.sum())(&xs)?, &slopes);
    near(&vmap(|x: &Tensor| Ok(jvp(cube, x, &Tensor::from(1.0))?.1))(&xs)?, &slopes);
    near(&jvp(vmap(cube), &xs, &Tensor::ones(&[3], xs.dtype())?)?.1, &slopes);
    let diagonal = [3.0, 0.0, 0.0, 0.0, 12.0, 0.0, 0.0, 0.0, 27.0];
    near(&jacrev(cube)(&xs)?, &diagonal);
    near(&jacfwd(cube)(&xs)?, &diagonal);
    near(&vmap(vmap(grad(cube)))(&xs.reshape(&[3, 1])?)?, &slopes);
    Ok(())
}

fn refused<T: std::fmt::Debug>(result: Result<T>, rule: &str) {
    let e = result.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotDifferentiable, "{e}");
    for part in [rule, "function `", "differentiable once"] {
        assert!(e.to_string().contains(part), "{e}");
    }
}

#[test]
fn second_derivatives_are_refused_in_every_nesting() -> Result<()> {
    let x = Tensor::from(2.0);
    let xs = Tensor::from([1.0, 2.0, 3.0]);
    let one = Tensor::from(1.0);
    let total = |f: fn(&Tensor) -> Result<Tensor>| move |xs: &Tensor| vmap(f)(xs)?.sum();
    refused(grad(grad(cube))(&x), "`backward`");
    refused(grad(grad(|x: &Tensor| x.mul(cube(x)?)))(&x), "`backward`");
    refused(vmap(grad(grad(cube)))(&xs), "`backward`");
    refused(grad(|xs: &Tensor| grad(total(cube))(xs)?.sum())(&xs), "`backward`");
    refused(jvp(grad(cube), &x, &one), "`backward`");
    refused(grad(|x: &Tensor| Ok(jvp(cube, x, &Tensor::from(1.0))?.1))(&x), "`jvp`");
    refused(jvp(|x: &Tensor| Ok(jvp(cube, x, &Tensor::from(1.0))?.1), &x, &one), "`jvp`");
    refused(hessian(cube)(&x), "`backward`");
    refused(jacrev(jacrev(cube))(&xs), "`backward`");
    refused(jacfwd(jacfwd(cube))(&xs), "`jvp`");
    // With respect to the cotangent as well, although the rule is linear in it.
    refused(grad(|g: &Tensor| vjp(cube, &Tensor::from(2.0))?.1.call(g))(&one), "`backward`");
    Ok(())
}

#[test]
fn an_input_that_the_rule_does_not_keep_counts_too() -> Result<()> {
    let f = |x: &Tensor| Forgetful(2.0).apply(&(x.clone(), Tensor::from(1.0)));
    let x = Tensor::from(2.0);
    near(&grad(f)(&x)?, &[12.0]);
    near(&jvp(f, &x, &Tensor::from(1.0))?.1, &[12.0]);
    refused(grad(grad(f))(&x), "`backward`");
    let of_y = |y: &Tensor| grad(|x: &Tensor| Forgetful(2.0).apply(&(x.clone(), y.clone())))(&Tensor::from(2.0));
    refused(grad(of_y)(&Tensor::from(1.0)), "`backward`");
    Ok(())
}

#[test]
fn what_does_not_depend_on_the_rule_is_not_refused() -> Result<()> {
    let x = Tensor::from(2.0);
    // The slope at a constant, and the slope without its derivative.
    near(&grad(|x: &Tensor| grad(cube)(&Tensor::from(3.0))?.mul(x))(&x)?, &[27.0]);
    near(&grad(|x: &Tensor| grad(cube)(x)?.detach()?.mul(x))(&x)?, &[12.0]);
    near(&grad(grad(|x: &Tensor| x.powi(3)?.add(cube(&Tensor::from(3.0))?)))(&x)?, &[12.0]);
    Ok(())
}

#[test]
fn gradgradcheck_says_once_that_second_order_is_refused() -> Result<()> {
    let x = Tensor::from([0.5, 1.5]);
    for fast in [false, true] {
        let report = GradCheck::new().fast(fast).second_order(cube, &x)?;
        assert_eq!(report.failures().collect::<Vec<_>>(), ["second_order_exists"], "{report}");
        let found = report.finding("second_order_exists").unwrap();
        let want = "expected second derivatives, got grad > `backward` of function `RawCube`: the function is differentiable once";
        assert!(found.starts_with(want), "{found}");
        assert_eq!(report.to_string().lines().count(), 2, "{report}");
        GradCheck::new().fast(fast).run(cube, &x)?.into_result()?;
    }
    Ok(())
}

#[test]
fn a_rule_on_raw_data_without_lanes_gives_nothing() {
    let none = Tensor::from_slice(&[0.0; 0], &[0, 3]).unwrap();
    let rows = vmap(|x: &Tensor| grad(|x: &Tensor| RawCube.apply(x)?.sum())(x))(&none).unwrap();
    assert_eq!(rows.shape(), [0, 3]);
    let pushed = vmap(|x: &Tensor| Ok(jvp(|x: &Tensor| RawCube.apply(x), x, x)?.1))(&none).unwrap();
    assert_eq!(pushed.shape(), [0, 3]);
}

/// `(x, i, w) -> (x·w, i, w summed)` with rules on raw data that do not work on empty slices.
#[derive(Clone)]
struct Mixed;

type Three = (Tensor, Tensor, Tensor);

impl Function for Mixed {
    type Inputs = Three;
    type Outputs = Three;
    type Saved = Three;
    fn forward(&self, (x, i, w): &Three) -> Result<Three> {
        Ok((x.mul(w)?, i.clone(), w.sum()?))
    }
    fn setup_context(&self, ctx: &mut Context<Self>, x: &Three, _: &Three) -> Result<Three> {
        ctx.mark_non_differentiable(&[2])?;
        Ok(x.clone())
    }
    fn backward(
        &self,
        ctx: &Context<Self>,
        (x, _, w): &Three,
        (g, _, _): (Cotangent, Cotangent, Cotangent),
    ) -> Result<(Cotangent, Cotangent, Cotangent)> {
        let g = g.tensor()?;
        assert!(x.to_vec::<f64>()?.len() == x.numel() && g.numel() > 0);
        let dw = if ctx.needs_input_grad().2 { g.mul(x)?.into() } else { Cotangent::not_supplied() };
        Ok((g.mul(w)?.into(), Cotangent::zero(), dw))
    }
    fn jvp(&self, _: &Context<Self>, (_, _, w): &Three, (t, _, _): (Tangent, Tangent, Tangent)) -> Result<Three2> {
        assert!(w.to_vec::<f64>()?.len() == w.numel() && w.numel() > 0);
        Ok((t * w, Tangent::zero(), Tangent::zero()))
    }
    fn once_differentiable(&self) -> bool {
        true
    }
}

type Three2 = (Tangent, Tangent, Tangent);

#[test]
fn no_lanes_have_the_types_of_the_inputs_and_outputs() -> Result<()> {
    let empty = |shape: &[usize]| Tensor::from_slice(&[0.0f64; 0], shape);
    let (x, w, i) = (empty(&[0, 3])?, Tensor::from([1.0, 2.0, 3.0]), Tensor::from([1i64, 2]));
    let both = |x: &Tensor, w: &Tensor| {
        let i = i.clone();
        grad(move |(x, w): &(Tensor, Tensor)| Mixed.apply(&(x.clone(), i.clone(), w.clone()))?.0.sum())(&(
            x.clone(),
            w.clone(),
        ))
    };
    let (dx, dw) = vmap(|x: &Tensor| both(x, &w))(&x)?;
    assert_eq!([dx.ty().to_string(), dw.ty().to_string()], ["f64[0,3]", "f64[0,3]"]);
    let push = |x: &Tensor| Ok(jvp(|x: &Tensor| Mixed.apply(&(x.clone(), i.clone(), w.clone())), x, x)?.1);
    let (dy, _, dz) = vmap(push)(&x)?;
    assert_eq!([dy.ty().to_string(), dz.ty().to_string()], ["f64[0,3]", "f64[0]"]);
    // Lanes of no lanes, and no lanes of lanes.
    for shape in [[0, 2, 3], [2, 0, 3]] {
        let (dx, dw) = vmap(vmap(|x: &Tensor| both(x, &w)))(&empty(&shape)?)?;
        assert_eq!([dx.shape(), dw.shape()], [shape, shape]);
        assert_eq!(vmap(vmap(push))(&empty(&shape)?)?.0.shape(), shape);
    }
    // Reverse mode outside of the lanes: every lane contributes to `w`, so nothing does.
    let total = |w: &Tensor| vmap(|x: &Tensor| Ok(Mixed.apply(&(x.clone(), i.clone(), w.clone()))?.0))(&x)?.sum();
    near(&grad(total)(&w)?, &[0.0; 3]);
    Ok(())
}

/// x³ on raw data in every part, batched by one of the strategies.
#[derive(Clone)]
struct AllRaw(Batching);

impl Function for AllRaw {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        on_data(x, &x.mul(0.0)?.add(1.0)?, |x| x.powi(3))
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        Ok(x.clone())
    }
    fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
        Ok(on_data(x, &g.tensor()?, |x| 3.0 * x * x)?.into())
    }
    fn jvp(&self, _: &Context<Self>, x: &Tensor, t: Tangent) -> Result<Tangent> {
        Ok(on_data(x, &t.tensor()?, |x| 3.0 * x * x)?.into())
    }
    fn once_differentiable(&self) -> bool {
        true
    }
    fn vmap(&self, info: &VmapInfo, dim: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
        match self.0 {
            Batching::Loop => rules::per_example(self, info, dim, x),
            Batching::LeadingDims => rules::leading_dims(self, info, dim, x),
            Batching::Expand => rules::expand(self, info, dim, x),
            Batching::Flatten => rules::flatten(self, info, dim, x),
            _ => rules::elementwise(self, info, dim, x),
        }
    }
}

#[test]
fn rules_on_raw_data_beside_every_strategy() -> Result<()> {
    let x = Tensor::from([0.5, 1.5, 2.0]);
    let strategies = [
        Batching::Loop,
        Batching::LeadingDims,
        Batching::Expand,
        Batching::Flatten,
        /* elementwise */ Batching::Refuse,
    ];
    for batching in strategies {
        check_function(&AllRaw(batching), &x)?.into_result()?;
    }
    Ok(())
}

/// It had no help.
#[test]
fn zeros_that_depend_on_the_data_are_not_symbolic() {
    #[derive(Clone)]
    struct Dead;
    impl Function for Dead {
        type Inputs = Tensor;
        type Outputs = Tensor;
        type Saved = Tensor;
        fn forward(&self, x: &Tensor) -> Result<Tensor> {
            x.square()
        }
        fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
            Ok(x.clone())
        }
        fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
            if x.item::<f64>()? > 1.0 { Ok(Cotangent::zero()) } else { Ok(g * x * 2.0) }
        }
        fn once_differentiable(&self) -> bool {
            true
        }
    }
    let slope = grad(|x: &Tensor| Dead.apply(x));
    let e = vmap(&slope)(&Tensor::from([0.5, 2.0])).unwrap_err();
    assert_eq!(
        e.to_string(),
        "vmap > grad > `backward` of function `Dead`: expected the same results to be symbolic zeros for every lane; help: \
         return `zero()` for every lane or for none, and a tensor of zeros where it depends on the data"
    );
    assert_eq!(vmap(&slope)(&Tensor::from([0.5, 0.25])).unwrap().to_vec::<f64>().unwrap(), [1.0, 0.5]);
}
