//! The contract of each method, one promise at a time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pullback::function::rules;
use pullback::random::Key;
use pullback::*;

use crate::{close, forward, value, values};

/// Counts how often each method runs.
#[derive(Clone, Default)]
struct Counted(Arc<[AtomicUsize; 5]>);

impl Counted {
    fn count(&self, k: usize) {
        self.0[k].fetch_add(1, Ordering::Relaxed);
    }
    fn take(&self) -> [usize; 5] {
        std::array::from_fn(|k| self.0[k].swap(0, Ordering::Relaxed))
    }
}

impl Function for Counted {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        self.count(0);
        x.mul(x)
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        self.count(1);
        Ok(x.clone())
    }
    fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
        self.count(2);
        Ok(g * x * 2.0)
    }
    fn jvp(&self, _: &Context<Self>, x: &Tensor, t: Tangent) -> Result<Tangent> {
        self.count(3);
        Ok(t * x * 2.0)
    }
    fn vmap(&self, info: &VmapInfo, dims: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
        self.count(4);
        rules::generated(self, info, dims, x)
    }
}

#[test]
fn each_method_runs_as_often_as_documented() {
    let f = Counted::default();
    let apply = |x: &Tensor| f.apply(x);
    let x = Tensor::from(3.0);
    let xs = Tensor::from([1.0, 2.0]);

    apply(&x).unwrap();
    assert_eq!(f.take(), [1, 0, 0, 0, 0], "no transform: only forward");
    grad(apply)(&x).unwrap();
    assert_eq!(f.take(), [1, 1, 1, 0, 0], "grad");
    assert_eq!(value(&grad(grad(apply))(&x).unwrap()), 2.0);
    assert_eq!(f.take(), [1, 2, 1, 0, 0], "grad of grad: the outer level differentiates the inner backward");
    jvp(apply, &x, &x).unwrap();
    assert_eq!(f.take(), [1, 1, 0, 1, 0], "jvp");
    vmap(apply)(&xs).unwrap();
    assert_eq!(f.take(), [1, 0, 0, 0, 1], "vmap");
    vmap(grad(apply))(&xs).unwrap();
    assert_eq!(f.take(), [1, 1, 1, 0, 1], "per-example gradients");
    grad(|x: &Tensor| vmap(apply)(x)?.sum())(&xs).unwrap();
    assert_eq!(f.take(), [1, 1, 1, 0, 1], "gradient of a batched function");
    // Nothing batched at this level: the rule is skipped.
    Vmap::new().of(|_: &Tensor| f.apply(&Tensor::from(2.0)))(&xs).unwrap();
    assert_eq!(f.take(), [1, 0, 0, 0, 0], "unbatched input");
}

/// `(a, b) -> (a·b, a + 1, round(a))`, the last one marked.
#[derive(Clone)]
struct Several;

impl Function for Several {
    type Inputs = (Tensor, Tensor);
    type Outputs = (Tensor, Tensor, Tensor);
    type Saved = (Tensor, Tensor);
    fn forward(&self, (a, b): &Self::Inputs) -> Result<Self::Outputs> {
        Ok((a.mul(b)?, a.add(1.0)?, a.to_dtype(DType::I64)?.to_dtype(DType::F64)?))
    }
    fn setup_context(&self, ctx: &mut Context<Self>, inputs: &Self::Inputs, _: &Self::Outputs) -> Result<Self::Saved> {
        ctx.mark_non_differentiable(&[2])?;
        Ok(inputs.clone())
    }
    fn backward(
        &self,
        ctx: &Context<Self>,
        (a, b): &Self::Saved,
        (g, h, k): Cotangents<Self::Outputs>,
    ) -> Result<Cotangents<Self::Inputs>> {
        assert!(k.is_zero(), "a marked output receives a symbolic zero");
        let (needs_a, needs_b) = *ctx.needs_input_grad();
        let da = if needs_a { &g * b + &h } else { Cotangent::not_supplied() };
        let db = if needs_b { &g * a } else { Cotangent::not_supplied() };
        Ok((da, db))
    }
}

#[test]
fn several_outputs_and_marks() {
    let args = (Tensor::from(2.5), Tensor::from(3.0));
    let all = |x: &(Tensor, Tensor)| Several.apply(x);
    let (y, pull) = vjp(all, &args).unwrap();
    assert_eq!((value(&y.0), value(&y.1), value(&y.2)), (7.5, 3.5, 2.0));
    let one = Tensor::from(1.0);
    let (da, db) = pull.call(&(one.clone(), Tensor::from(10.0), Tensor::from(100.0))).unwrap();
    assert_eq!((value(&da), value(&db)), (13.0, 2.5));
    let (_, (d0, d1, d2)) = jvp(all, &args, &(one.clone(), Tensor::from(0.0))).unwrap();
    assert_eq!((value(&d0), value(&d1), value(&d2)), (3.0, 1.0, 0.0));
    // The mark survives the generated batching rule, in both orders.
    let lanes = (Tensor::from([1.5, 2.5]), Tensor::from([3.0, 4.0]));
    let marked = |x: &(Tensor, Tensor)| Ok(Several.apply(x)?.2);
    let (da, _) = vmap(grad(marked))(&lanes).unwrap();
    assert_eq!(values(&da), [0.0, 0.0]);
    let (da, _) = grad(|x: &(Tensor, Tensor)| vmap(marked)(x)?.sum())(&lanes).unwrap();
    assert_eq!(values(&da), [0.0, 0.0]);
}

#[test]
fn needs_input_grad_is_exact_per_level() {
    let f = |a: &Tensor, b: &Tensor| Ok(Several.apply(&(a.clone(), b.clone()))?.0);
    let (a, b) = (Tensor::from(2.0), Tensor::from(5.0));
    // The rule returns `not_supplied` for what is not needed, so a wrong flag would be an error.
    assert_eq!(value(&grad(|a: &Tensor| f(a, &b))(&a).unwrap()), 5.0);
    assert_eq!(value(&grad(|b: &Tensor| f(&a, b))(&b).unwrap()), 2.0);
    let mixed = grad(|a: &Tensor| grad(|b: &Tensor| f(a, b))(&b))(&a).unwrap();
    assert_eq!(value(&mixed), 1.0);
}

/// A weighted sum with an optional weight, over a tree of inputs, to a tree of outputs.
#[derive(Clone)]
struct Weighted {
    scale: f64,
}

#[derive(Clone, Tree)]
struct Parts<T = Tensor> {
    items: Vec<T>,
    weight: Option<T>,
    #[tree(static)]
    label: &'static str,
}

impl Function for Weighted {
    type Inputs = Parts;
    type Outputs = BTreeMap<String, Tensor>;
    type Saved = (Parts, Static<usize>);
    fn forward(&self, p: &Parts) -> Result<BTreeMap<String, Tensor>> {
        let mut sum = Tensor::from(0.0);
        for t in &p.items {
            sum = sum.add(t)?;
        }
        if let Some(w) = &p.weight {
            sum = sum.mul(w)?;
        }
        Ok(BTreeMap::from([(p.label.to_string(), sum.mul(self.scale)?)]))
    }
    fn setup_context(&self, _: &mut Context<Self>, p: &Parts, _: &Self::Outputs) -> Result<Self::Saved> {
        Ok((p.clone(), Static(p.items.len())))
    }
    fn backward(
        &self,
        _: &Context<Self>,
        (p, n): &Self::Saved,
        grads: BTreeMap<String, Cotangent>,
    ) -> Result<Parts<Cotangent>> {
        let g = &grads[p.label] * self.scale;
        let each = match &p.weight {
            Some(w) => &g * w,
            None => g.clone(),
        };
        let mut sum = Tensor::from(0.0);
        for t in &p.items {
            sum = sum.add(t)?;
        }
        Ok(Parts { items: vec![each; n.0], weight: p.weight.as_ref().map(|_| g * sum), label: p.label })
    }
}

#[test]
fn trees_optional_inputs_and_parameters() {
    let f = Weighted { scale: 2.0 };
    let total = |p: &Parts| Ok(f.apply(p)?["total"].clone());
    let with =
        Parts { items: vec![Tensor::from(1.0), Tensor::from(2.0)], weight: Some(Tensor::from(5.0)), label: "total" };
    let without = Parts { weight: None, ..with.clone() };
    assert_eq!(value(&total(&with).unwrap()), 30.0);
    let g = grad(total)(&with).unwrap();
    assert_eq!((value(&g.items[0]), value(&g.items[1]), value(g.weight.as_ref().unwrap())), (10.0, 10.0, 6.0));
    let g = grad(total)(&without).unwrap();
    assert_eq!((value(&g.items[0]), g.weight.is_none()), (2.0, true));
    // Second order mixes an item with the weight.
    let h = hessian(total)(&with).unwrap();
    assert_eq!(value(h.items[0].weight.as_ref().unwrap()), 2.0);
    // A prefix of batch dims: items mapped, weight shared.
    let lanes = Parts { items: vec![Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0])], ..with.clone() };
    let dims = Parts { items: vec![Some(0), Some(0)], weight: Some(None), label: "total" };
    let y = Vmap::new().in_dims(dims).of(total)(&lanes).unwrap();
    assert_eq!(values(&y), [40.0, 60.0]);
    let shared = |p: &Parts| {
        Vmap::new().in_dims(Parts { items: vec![Some(0), Some(0)], weight: Some(None), label: "total" }).of(total)(p)?
            .sum()
    };
    let g = grad(shared)(&lanes).unwrap();
    assert_eq!(value(g.weight.as_ref().unwrap()), 20.0);
    assert_eq!(values(&g.items[0]), [10.0, 10.0]);
}

/// Cube with any subset of its derivative rules.
#[derive(Clone, Copy)]
struct Cube<const BACKWARD: bool, const JVP: bool>;

macro_rules! cube {
    ($backward:literal, $jvp:literal, {$($methods:tt)*}) => {
        impl Function for Cube<$backward, $jvp> {
            type Inputs = Tensor;
            type Outputs = Tensor;
            type Saved = Tensor;
            fn forward(&self, x: &Tensor) -> Result<Tensor> {
                let v: Vec<f64> = x.to_vec::<f64>()?.iter().map(|v| v * v * v).collect();
                Tensor::from_slice(&v, x.shape())
            }
            fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
                Ok(x.clone())
            }
            fn vmap(&self, _: &VmapInfo, dims: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
                Ok((self.apply(x)?, dims))
            }
            $($methods)*
        }
    };
}
cube!(true, false, {
    fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
        Ok(g * (x * x) * 3.0)
    }
});
cube!(false, true, {
    fn jvp(&self, _: &Context<Self>, x: &Tensor, t: Tangent) -> Result<Tangent> {
        Ok(t * (x * x) * 3.0)
    }
});
cube!(false, false, {});

fn derivatives_to_order_four<F: Fn(&Tensor) -> Result<Tensor> + Copy + 'static>(f: F) {
    let want = [12.0, 12.0, 6.0, 0.0];
    let x = Tensor::from(2.0);
    type Step = fn(Box<dyn Fn(&Tensor) -> Result<Tensor>>) -> Box<dyn Fn(&Tensor) -> Result<Tensor>>;
    let steps: [Step; 2] = [|f| Box::new(grad(f)), |f| Box::new(forward(f))];
    for order in 1..=4usize {
        for mix in 0..1 << order {
            let mut g: Box<dyn Fn(&Tensor) -> Result<Tensor>> = Box::new(f);
            for k in 0..order {
                g = steps[mix >> k & 1](g);
            }
            assert_eq!(value(&g(&x).unwrap()), want[order - 1], "order {order}, modes {mix:0order$b}");
        }
    }
}

#[test]
fn either_rule_gives_both_modes_to_order_four() {
    derivatives_to_order_four(|x: &Tensor| Cube::<true, false>.apply(x));
    derivatives_to_order_four(|x: &Tensor| Cube::<false, true>.apply(x));
    let xs = Tensor::from([1.0, 2.0]);
    close(&values(&vmap(forward(|x: &Tensor| Cube::<true, false>.apply(x)))(&xs).unwrap()), &[3.0, 12.0]);
    close(&values(&vmap(grad(|x: &Tensor| Cube::<false, true>.apply(x)))(&xs).unwrap()), &[3.0, 12.0]);
}

#[test]
fn without_a_rule_both_modes_say_so() {
    let f = |x: &Tensor| Cube::<false, false>.apply(x);
    for err in [grad(f)(&Tensor::from(2.0)).unwrap_err(), jvp(f, &Tensor::from(2.0), &Tensor::from(1.0)).unwrap_err()] {
        assert!(err.is_missing_rule(), "{err}");
        assert!(err.to_string().contains("function `Cube` has neither `backward` nor `jvp`"), "{err}");
    }
    // Values alone need no rule.
    assert_eq!(value(&f(&Tensor::from(2.0)).unwrap()), 8.0);
}

#[test]
fn the_same_tensor_twice_counts_twice() {
    let g = grad(|x: &Tensor| Ok(Several.apply(&(x.clone(), x.clone()))?.0))(&Tensor::from(3.0)).unwrap();
    assert_eq!(value(&g), 6.0);
}

/// Returns its input, once or twice.
#[derive(Clone)]
struct Same;

impl Function for Same {
    type Inputs = Tensor;
    type Outputs = (Tensor, Tensor);
    type Saved = (Tensor, Tensor);
    fn forward(&self, x: &Tensor) -> Result<(Tensor, Tensor)> {
        Ok((x.clone(), x.clone()))
    }
    fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, y: &(Tensor, Tensor)) -> Result<(Tensor, Tensor)> {
        Ok(y.clone())
    }
    fn backward(&self, _: &Context<Self>, _: &(Tensor, Tensor), (g, h): (Cotangent, Cotangent)) -> Result<Cotangent> {
        Ok(g * 10.0 + h * 100.0)
    }
}

#[test]
fn an_input_returned_twice_gets_both_cotangents() {
    let x = Tensor::from(1.0);
    let first = |x: &Tensor| Ok(Same.apply(x)?.0);
    let second = |x: &Tensor| Ok(Same.apply(x)?.1);
    assert_eq!(value(&grad(first)(&x).unwrap()), 10.0);
    assert_eq!(value(&grad(second)(&x).unwrap()), 100.0);
    assert_eq!(value(&grad(|x: &Tensor| first(x)?.add(&second(x)?))(&x).unwrap()), 110.0);
}

/// Integer input and output besides floating ones: `(x, i) -> (x[i], i + 1)`.
#[derive(Clone)]
struct Pick;

impl Function for Pick {
    type Inputs = (Tensor, Tensor);
    type Outputs = (Tensor, Tensor);
    type Saved = (Tensor, Static<Vec<usize>>);
    fn forward(&self, (x, i): &Self::Inputs) -> Result<Self::Outputs> {
        let k = i.item::<i64>()?;
        Ok((x.select(0, k as isize)?, i.add(1)?))
    }
    fn setup_context(&self, _: &mut Context<Self>, (x, i): &Self::Inputs, _: &Self::Outputs) -> Result<Self::Saved> {
        Ok((i.clone(), Static(x.shape().to_vec())))
    }
    fn backward(
        &self,
        _: &Context<Self>,
        (i, shape): &Self::Saved,
        (g, _): Cotangents<Self::Outputs>,
    ) -> Result<Cotangents<Self::Inputs>> {
        let n = shape.0[0];
        let at: Vec<f64> =
            (0..n as i64).map(|k| f64::from(u8::from(Ok(k) == i.item::<i64>().map_err(|_| ())))).collect();
        Ok((g.map(|g| g.mul(&Tensor::from(at)))?, Cotangent::not_supplied()))
    }
}

#[test]
fn integer_inputs_and_outputs_carry_no_derivative() {
    let x = Tensor::from([10.0, 20.0, 30.0]);
    let i = Tensor::from(1i64);
    let g = grad(|x: &Tensor| Ok(Pick.apply(&(x.clone(), i.clone()))?.0))(&x).unwrap();
    assert_eq!(values(&g), [0.0, 1.0, 0.0]);
    let ((y, j), (dy, dj)) = jvp(|x: &Tensor| Pick.apply(&(x.clone(), i.clone())), &x, &x).unwrap();
    assert_eq!((value(&y), j.item::<i64>().unwrap()), (20.0, 2));
    assert_eq!((value(&dy), dj.item::<i64>().unwrap()), (20.0, 0));
}

#[test]
fn functions_run_inside_functions_and_transforms_inside_rules() {
    /// x ↦ x², whose backward asks `grad` for the derivative of t ↦ t² at the saved input.
    #[derive(Clone)]
    struct Reentrant;
    impl Function for Reentrant {
        type Inputs = Tensor;
        type Outputs = Tensor;
        type Saved = Tensor;
        fn forward(&self, x: &Tensor) -> Result<Tensor> {
            // Another function, and a transform, inside forward.
            let derivative = grad(|t: &Tensor| Cube::<true, false>.apply(t))(x)?;
            derivative.div(3.0)
        }
        fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
            Ok(x.clone())
        }
        fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
            Ok(g * grad(|t: &Tensor| t.mul(t))(x)?)
        }
    }
    let f = |x: &Tensor| Reentrant.apply(x);
    let x = Tensor::from(3.0);
    assert_eq!(value(&f(&x).unwrap()), 9.0);
    assert_eq!(value(&grad(f)(&x).unwrap()), 6.0);
    assert_eq!(value(&grad(grad(f))(&x).unwrap()), 2.0);
    assert_eq!(value(&jvp(grad(f), &x, &Tensor::from(1.0)).unwrap().1), 2.0);
}

#[test]
fn zero_lanes_and_empty_tensors() {
    let f = Counted::default();
    let none = Tensor::zeros(&[0, 3], DType::F64).unwrap();
    assert_eq!(vmap(|x: &Tensor| f.apply(x))(&none).unwrap().shape(), [0, 3]);
    let g = vmap(grad(|x: &Tensor| f.apply(x)?.sum()))(&none).unwrap();
    assert_eq!(g.shape(), [0, 3]);
}

#[test]
fn a_written_rule_does_not_draw_where_the_vmap_forbids_it() -> Result<()> {
    /// Adds noise, in a rule of its own for the whole batch.
    #[derive(Clone)]
    struct Noise;
    impl Function for Noise {
        type Inputs = Tensor;
        type Outputs = Tensor;
        type Saved = ();
        fn forward(&self, x: &Tensor) -> Result<Tensor> {
            x.add(&Key::new(1).uniform(x.shape(), x.dtype())?)
        }
        fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
            Ok(())
        }
        fn vmap(&self, _: &VmapInfo, dims: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
            Ok((self.apply(x)?, dims))
        }
    }
    let x = Tensor::zeros(&[4], DType::F64)?;
    let noise = |x: &Tensor| Noise.apply(x);
    let e = vmap(noise)(&x).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Randomness);
    assert!(e.to_string().contains("`vmap` of function `Noise`"), "{e}");
    let lanes = Vmap::new().randomness(Randomness::Different).of(noise)(&x)?.to_vec::<f64>()?;
    assert!(lanes[0] != lanes[1]);
    // The state is as before, and draws outside are allowed again.
    Key::new(1).uniform(&[2], DType::F32)?;
    Ok(())
}
