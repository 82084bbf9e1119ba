//! Problems that users of other systems met with their own functions. The ids are those of the case log that the
//! project started from; expected values are closed forms.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pullback::function::rules;
use pullback::*;

use crate::{close, forward, value, values};

#[test]
fn c01_the_users_backward_survives_vmap() {
    function!(Marker; x => x.mul(2.0); |_x, g| Ok(g * 3.0));
    let f = |x: &Tensor| Marker.apply(x);
    let ones = Tensor::ones(&[4], DType::F64).unwrap();
    assert_eq!(value(&grad(f)(&Tensor::from(1.0)).unwrap()), 3.0);
    assert_eq!(values(&vmap(grad(f))(&ones).unwrap()), [3.0; 4]);
    assert_eq!(values(&grad(|x: &Tensor| vmap(f)(x)?.sum())(&ones).unwrap()), [3.0; 4]);
}

#[test]
fn c02_no_level_is_lost() {
    function!(Cube; x => x.mul(x)?.mul(x); |x, g| Ok(g * (x * x * 3.0)));
    let f = |x: &Tensor| Cube.apply(x);
    let x = Tensor::from(3.0);
    assert_eq!(value(&f(&x).unwrap()), 27.0);
    assert_eq!(value(&grad(f)(&x).unwrap()), 27.0);
    assert_eq!(value(&grad(grad(f))(&x).unwrap()), 18.0);
    assert_eq!(value(&grad(grad(grad(f)))(&x).unwrap()), 6.0);
    assert_eq!(value(&grad(grad(grad(grad(f))))(&x).unwrap()), 0.0);
    assert_eq!(value(&forward(forward(f))(&x).unwrap()), 18.0);
    assert_eq!(value(&forward(grad(forward(f)))(&x).unwrap()), 6.0);
    assert_eq!(value(&grad(forward(grad(forward(f))))(&x).unwrap()), 0.0);
}

#[test]
fn c03_nested_forward_mode_through_a_written_jvp() {
    function!(Square; x => x.mul(x); |x, g| Ok(g * x * 2.0);
        fn jvp(&self, _: &Context<Self>, x: &Tensor, t: Tangent) -> Result<Tangent> { Ok(t * x * 2.0) });
    let f = |x: &Tensor| Square.apply(&Square.apply(x)?);
    let x = Tensor::from(3.0);
    assert_eq!(value(&forward(f)(&x).unwrap()), 108.0);
    assert_eq!(value(&forward(forward(f))(&x).unwrap()), 108.0);
    assert_eq!(value(&forward(forward(forward(f)))(&x).unwrap()), 72.0);
    assert_eq!(value(&forward(forward(forward(forward(f))))(&x).unwrap()), 24.0);
    assert_eq!(value(&grad(forward(grad(f)))(&x).unwrap()), 72.0);
    assert_eq!(value(&forward(grad(grad(forward(f))))(&x).unwrap()), 24.0);
}

#[test]
fn c05_an_intermediate_computed_in_setup_is_differentiated() {
    // m = 2x is neither input nor output; `forward` cannot save it, and what `setup_context` computes is tracked.
    #[derive(Clone)]
    struct Intermediate;
    impl Function for Intermediate {
        type Inputs = Tensor;
        type Outputs = Tensor;
        type Saved = Tensor;
        fn forward(&self, x: &Tensor) -> Result<Tensor> {
            let m = x.mul(2.0)?;
            m.mul(&m)
        }
        fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
            x.mul(2.0)
        }
        fn backward(&self, _: &Context<Self>, m: &Tensor, g: Cotangent) -> Result<Cotangent> {
            Ok(g * m * 4.0)
        }
    }
    let f = |x: &Tensor| Intermediate.apply(x);
    let x = Tensor::from(3.0);
    assert_eq!(value(&grad(f)(&x).unwrap()), 24.0);
    assert_eq!(value(&grad(grad(f))(&x).unwrap()), 8.0);
    assert_eq!(value(&forward(forward(f))(&x).unwrap()), 8.0);
    assert_eq!(value(&vmap(hessian(f))(&Tensor::from([3.0])).unwrap().select(0, 0).unwrap()), 8.0);
}

/// `(x, y) -> (x·y, 2y)` with a batching rule whose outputs and dims can be set.
#[derive(Clone)]
struct Contract {
    dims: (Option<usize>, Option<usize>),
    cut: bool,
}

impl Function for Contract {
    type Inputs = (Tensor, Tensor);
    type Outputs = (Tensor, Tensor);
    type Saved = (Tensor, Tensor);
    fn forward(&self, (x, y): &(Tensor, Tensor)) -> Result<(Tensor, Tensor)> {
        Ok((x.mul(y)?, y.mul(2.0)?))
    }
    fn setup_context(
        &self,
        _: &mut Context<Self>,
        inputs: &(Tensor, Tensor),
        _: &(Tensor, Tensor),
    ) -> Result<(Tensor, Tensor)> {
        Ok(inputs.clone())
    }
    fn vmap(
        &self,
        info: &VmapInfo,
        in_dims: (Option<usize>, Option<usize>),
        (x, y): &(Tensor, Tensor),
    ) -> Result<((Tensor, Tensor), (Option<usize>, Option<usize>))> {
        assert_eq!((info.batch_size, in_dims), (3, (Some(0), None)));
        let product = x.mul(y)?;
        let first = if self.cut { stack(&[&product.select(0, 0)?, &product.select(0, 1)?], 0)? } else { product };
        Ok(((first, y.mul(2.0)?), self.dims))
    }
}

#[test]
fn c09_contract_of_a_written_batching_rule() {
    let args = (Tensor::from([1.0, 2.0, 3.0]), Tensor::from(10.0));
    let run = |f: Contract| Vmap::new().in_dims((0, None)).of(move |a: &(Tensor, Tensor)| f.apply(a))(&args);
    let (a, b) = run(Contract { dims: (Some(0), None), cut: false }).unwrap();
    assert_eq!((values(&a), values(&b)), (vec![10.0, 20.0, 30.0], vec![20.0; 3]));
    let err = run(Contract { dims: (Some(0), None), cut: true }).unwrap_err();
    assert_eq!(
        err.to_string(),
        "vmap > `vmap` of function `Contract`: expected batch size 3 at dim 0 of output 0, got 2 (f64[2]); help: return \
         the dimension that the lanes lie along"
    );
    assert!(err.is_rule());
    let err = run(Contract { dims: (Some(0), Some(0)), cut: false }).unwrap_err();
    assert!(err.to_string().contains("batch dim 0 of output 1 is out of range for f64[]"), "{err}");
}

#[test]
fn c11_integer_second_output() {
    /// x ↦ (x, position of its largest element).
    #[derive(Clone)]
    struct WithArgmax;
    impl Function for WithArgmax {
        type Inputs = Tensor;
        type Outputs = (Tensor, Tensor);
        type Saved = ();
        fn forward(&self, x: &Tensor) -> Result<(Tensor, Tensor)> {
            let v = x.to_vec::<f64>()?;
            let best = (0..v.len()).fold(0, |b, k| if v[k] > v[b] { k } else { b });
            Ok((x.clone(), Tensor::from(best as i64)))
        }
        fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &(Tensor, Tensor)) -> Result<()> {
            Ok(())
        }
        fn jvp(&self, _: &Context<Self>, _: &(), t: Tangent) -> Result<(Tangent, Tangent)> {
            Ok((t, Tangent::not_supplied()))
        }
        fn vmap(
            &self,
            info: &VmapInfo,
            dims: Dims<Tensor>,
            x: &Tensor,
        ) -> Result<((Tensor, Tensor), (Option<usize>, Option<usize>))> {
            rules::per_example(self, info, dims, x)
        }
    }
    let f = |x: &Tensor| WithArgmax.apply(x);
    let x = Tensor::from([1.0, 3.0, 2.0]);
    let ones = Tensor::ones(&[3], DType::F64).unwrap();
    let ((y, k), (dy, dk)) = jvp(f, &x, &ones).unwrap();
    assert_eq!((values(&y), k.item::<i64>().unwrap()), (vec![1.0, 3.0, 2.0], 1));
    assert_eq!((values(&dy), dk.item::<i64>().unwrap()), (vec![1.0; 3], 0));
    let (_, k) = vmap(f)(&Tensor::from([[1.0, 3.0, 2.0], [3.0, 1.0, 2.0]])).unwrap();
    assert_eq!(k.to_vec::<i64>().unwrap(), [1, 0]);
}

#[test]
fn c13_parameters_with_defaults_are_fields() {
    #[derive(Clone)]
    struct ScaledSine {
        factor: f64,
    }
    impl Default for ScaledSine {
        fn default() -> ScaledSine {
            ScaledSine { factor: 1.0 }
        }
    }
    impl Function for ScaledSine {
        type Inputs = Tensor;
        type Outputs = Tensor;
        type Saved = Tensor;
        fn forward(&self, x: &Tensor) -> Result<Tensor> {
            x.sin()?.mul(self.factor)
        }
        fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
            Ok(x.clone())
        }
        fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
            Ok(g * x.cos()? * self.factor)
        }
    }
    let x = Tensor::from(0.812);
    let (y, dy) = value_and_grad(|x: &Tensor| ScaledSine { factor: 6.0 }.apply(x))(&x).unwrap();
    close(&[value(&y), value(&dy)], &[4.353_988_330, 4.128_290_883]);
    close(&[value(&ScaledSine::default().apply(&x).unwrap())], &[0.812f64.sin()]);
}

#[test]
fn c14_containers_as_arguments() {
    #[derive(Clone, Tree)]
    struct Args<T = Tensor> {
        a: T,
        b: Vec<T>,
    }
    #[derive(Clone)]
    struct Product;
    impl Function for Product {
        type Inputs = Args;
        type Outputs = Tensor;
        type Saved = Args;
        fn forward(&self, x: &Args) -> Result<Tensor> {
            x.a.mul(&x.b[0])?.mul(&x.b[1])
        }
        fn setup_context(&self, _: &mut Context<Self>, x: &Args, _: &Tensor) -> Result<Args> {
            Ok(x.clone())
        }
        fn backward(&self, _: &Context<Self>, x: &Args, g: Cotangent) -> Result<Args<Cotangent>> {
            Ok(Args { a: &g * &x.b[0] * &x.b[1], b: vec![&g * &x.a * &x.b[1], &g * &x.a * &x.b[0]] })
        }
    }
    let x = Args { a: Tensor::from(2.0), b: vec![Tensor::from(3.0), Tensor::from(4.0)] };
    let (y, g) = value_and_grad(|x: &Args| Product.apply(x))(&x).unwrap();
    assert_eq!((value(&y), value(&g.a), value(&g.b[0]), value(&g.b[1])), (24.0, 12.0, 8.0, 6.0));
}

#[test]
fn c15_wrong_shape_from_backward() {
    function!(Wrong; x => x.mul(2.0); |_x, _g| Ok(Tensor::ones(&[10], DType::F64)?.into()));
    let f = |x: &Tensor| Wrong.apply(x);
    let err = grad(f)(&Tensor::from(3.25)).unwrap_err();
    assert_eq!(
        err.to_string(),
        "grad > `backward` of function `Wrong`: expected a cotangent of type f64[] for input 0, got f64[10]; help: sum \
         over the dimensions that were broadcast, with `sum_to`"
    );
    let err = vmap(grad(f))(&Tensor::from([3.25, 1.0])).unwrap_err();
    assert!(
        err.to_string().starts_with("vmap > grad > `backward` of function `Wrong`: expected a cotangent of type f64[]"),
        "{err}"
    );
}

#[test]
fn c17_a_missing_cotangent_is_not_a_zero() {
    /// m·v whose rule supplies a cotangent for m, and for v if told to.
    #[derive(Clone)]
    struct MatVec {
        complete: bool,
    }
    impl Function for MatVec {
        type Inputs = (Tensor, Tensor);
        type Outputs = Tensor;
        type Saved = (Tensor, Tensor);
        fn forward(&self, (m, v): &(Tensor, Tensor)) -> Result<Tensor> {
            m.mul(v)
        }
        fn setup_context(&self, _: &mut Context<Self>, x: &(Tensor, Tensor), _: &Tensor) -> Result<(Tensor, Tensor)> {
            Ok(x.clone())
        }
        fn backward(
            &self,
            _: &Context<Self>,
            (m, v): &(Tensor, Tensor),
            g: Cotangent,
        ) -> Result<(Cotangent, Cotangent)> {
            Ok((&g * v, if self.complete { &g * m } else { Cotangent::not_supplied() }))
        }
    }
    let tanh = |x: &Tensor| {
        let e = x.mul(2.0)?.exp()?;
        e.sub(1.0)?.div(&e.add(1.0)?)
    };
    let run = |complete| {
        let f = MatVec { complete };
        grad(move |(w1, w2): &(Tensor, Tensor)| {
            let inner = f.apply(&(w1.clone(), Tensor::from(1.0)))?;
            f.apply(&(w2.clone(), tanh(&inner)?))
        })(&(Tensor::from(2.0), Tensor::from(3.0)))
    };
    let (d1, d2) = run(true).unwrap();
    close(&[value(&d1), value(&d2)], &[0.211_952_475, 0.964_027_580]);
    let err = run(false).unwrap_err();
    assert!(err.is_rule());
    assert!(
        err.to_string().contains(
            "`backward` of function `MatVec`: expected a cotangent for input 1 (f64[]), which is needed, got none"
        ),
        "{err}"
    );
}

#[test]
fn c18_broadcasting_inside_a_rule() {
    function!(Spread; x => x.mul(&Tensor::from([1.0, 1.0])); |x, g| g.map(|g| g.sum_to(x.shape())));
    let f = |x: &Tensor| Spread.apply(x)?.sum();
    let g = grad(f)(&Tensor::from(3.0)).unwrap();
    assert_eq!((value(&g), g.shape().len()), (2.0, 0));
    // The same from a forward rule only: its transpose must sum.
    #[derive(Clone)]
    struct SpreadForward;
    impl Function for SpreadForward {
        type Inputs = Tensor;
        type Outputs = Tensor;
        type Saved = ();
        fn forward(&self, x: &Tensor) -> Result<Tensor> {
            x.mul(&Tensor::from([1.0, 1.0]))
        }
        fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
            Ok(())
        }
        fn jvp(&self, _: &Context<Self>, _: &(), t: Tangent) -> Result<Tangent> {
            t.map(|t| t.mul(&Tensor::from([1.0, 1.0])))
        }
    }
    assert_eq!(value(&grad(|x: &Tensor| SpreadForward.apply(x)?.sum())(&Tensor::from(3.0)).unwrap()), 2.0);
}

#[test]
fn c19_integers_take_no_cotangent() {
    #[derive(Clone)]
    struct PickWrong;
    impl Function for PickWrong {
        type Inputs = (Tensor, Tensor);
        type Outputs = Tensor;
        type Saved = (Tensor, Tensor);
        fn forward(&self, (x, i): &(Tensor, Tensor)) -> Result<Tensor> {
            x.select(0, i.item::<i64>()? as isize)
        }
        fn setup_context(&self, _: &mut Context<Self>, x: &(Tensor, Tensor), _: &Tensor) -> Result<(Tensor, Tensor)> {
            Ok(x.clone())
        }
        fn backward(&self, _: &Context<Self>, _: &(Tensor, Tensor), g: Cotangent) -> Result<(Cotangent, Cotangent)> {
            let at = g.map(|g| g.mul(&Tensor::from([0.0, 1.0, 0.0])))?;
            Ok((at, Tensor::from(1.0).into()))
        }
    }
    let i = Tensor::from(1i64);
    let err =
        grad(|x: &Tensor| PickWrong.apply(&(x.clone(), i.clone())))(&Tensor::from([10.0, 20.0, 30.0])).unwrap_err();
    assert!(
        err.to_string().contains("expected no cotangent for input 1, which is i64[] and takes none, got f64[]"),
        "{err}"
    );
}

/// a · expensive(b), which counts the calls of the costly rule.
#[derive(Clone, Default)]
struct Costly(Arc<AtomicUsize>);

impl Function for Costly {
    type Inputs = (Tensor, Tensor);
    type Outputs = (Tensor, Tensor);
    type Saved = (Tensor, Tensor);
    fn forward(&self, (a, b): &(Tensor, Tensor)) -> Result<(Tensor, Tensor)> {
        Ok((a.mul(b)?.mul(b)?, a.clone()))
    }
    fn setup_context(
        &self,
        _: &mut Context<Self>,
        x: &(Tensor, Tensor),
        _: &(Tensor, Tensor),
    ) -> Result<(Tensor, Tensor)> {
        Ok(x.clone())
    }
    fn backward(
        &self,
        ctx: &Context<Self>,
        (a, b): &(Tensor, Tensor),
        (g, h): (Cotangent, Cotangent),
    ) -> Result<(Cotangent, Cotangent)> {
        assert!(h.is_zero(), "the unused second output has a symbolic zero as its cotangent");
        let db = if ctx.needs_input_grad().1 {
            self.0.fetch_add(1, Ordering::Relaxed);
            &g * a * b * 2.0
        } else {
            Cotangent::not_supplied()
        };
        Ok((&g * b * b + h, db))
    }
    fn jvp(
        &self,
        ctx: &Context<Self>,
        (a, b): &(Tensor, Tensor),
        (ta, tb): (Tangent, Tangent),
    ) -> Result<(Tangent, Tangent)> {
        if ctx.needs_input_grad().1 {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        assert_eq!(ctx.needs_input_grad().1, !tb.is_zero());
        Ok((&ta * b * b + tb * a * b * 2.0, ta))
    }
}

#[test]
fn c20_rules_know_what_is_needed() {
    let f = Costly::default();
    let (a, b) = (Tensor::from(2.0), Tensor::from(3.0));
    let by_a = |a: &Tensor| Ok(f.apply(&(a.clone(), b.clone()))?.0);
    assert_eq!(value(&grad(by_a)(&a).unwrap()), 9.0);
    assert_eq!(value(&forward(by_a)(&a).unwrap()), 9.0);
    assert_eq!(f.0.load(Ordering::Relaxed), 0);
    assert_eq!(value(&grad(|b: &Tensor| Ok(f.apply(&(a.clone(), b.clone()))?.0))(&b).unwrap()), 12.0);
    assert_eq!(f.0.load(Ordering::Relaxed), 1);
}

#[test]
fn c22_a_captured_traced_value_is_an_error() {
    /// Multiplies by a tensor that it holds instead of taking it as an input.
    #[derive(Clone)]
    struct TimesCaptured(Tensor);
    impl Function for TimesCaptured {
        type Inputs = Tensor;
        type Outputs = Tensor;
        type Saved = ();
        fn forward(&self, x: &Tensor) -> Result<Tensor> {
            x.mul(&self.0)
        }
        fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
            Ok(())
        }
        fn backward(&self, _: &Context<Self>, _: &(), g: Cotangent) -> Result<Cotangent> {
            Ok(g * &self.0)
        }
    }
    let x = Tensor::from(2.0);
    let err = grad(|w: &Tensor| TimesCaptured(w.clone()).apply(&x))(&Tensor::from(3.0)).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::CapturedTracer);
    assert!(err.to_string().contains("`forward` of function `TimesCaptured`"), "{err}");
    assert!(err.to_string().contains("pass it to the function as an input"), "{err}");
    // Reading its data is no way around.
    let err = vmap(|w: &Tensor| TimesCaptured(w.clone()).apply(&x))(&Tensor::from([3.0])).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::CapturedTracer);
    // A constant may be captured.
    assert_eq!(value(&grad(|x: &Tensor| TimesCaptured(Tensor::from(3.0)).apply(x))(&x).unwrap()), 3.0);
}

#[test]
fn c24_tensor_valued_constants() {
    #[derive(Clone)]
    struct Masked;
    impl Function for Masked {
        type Inputs = (Tensor, Tensor);
        type Outputs = Tensor;
        type Saved = Tensor;
        fn forward(&self, (x, mask): &(Tensor, Tensor)) -> Result<Tensor> {
            x.mul(&mask.to_dtype(x.dtype())?)?.sum()
        }
        fn setup_context(&self, _: &mut Context<Self>, (_, mask): &(Tensor, Tensor), _: &Tensor) -> Result<Tensor> {
            Ok(mask.clone())
        }
        fn backward(&self, _: &Context<Self>, mask: &Tensor, g: Cotangent) -> Result<(Cotangent, Cotangent)> {
            Ok((g.map(|g| g.mul(&mask.to_dtype(g.dtype())?))?, Cotangent::zero()))
        }
    }
    let x = Tensor::from([1.0, 2.0, 3.0]);
    for mask in [[1i64, 0, 1], [0, 1, 1]] {
        let mask = Tensor::from(mask);
        let g = grad(|x: &Tensor| Masked.apply(&(x.clone(), mask.clone())))(&x).unwrap();
        assert_eq!(values(&g), mask.to_dtype(DType::F64).unwrap().to_vec::<f64>().unwrap());
    }
    let masks = Tensor::from([[1i64, 0, 1], [0, 1, 1]]);
    let g = vmap(|mask: &Tensor| grad(|x: &Tensor| Masked.apply(&(x.clone(), mask.clone())))(&x))(&masks).unwrap();
    assert_eq!(values(&g), [1.0, 0.0, 1.0, 0.0, 1.0, 1.0]);
}

#[test]
fn c25_forward_mode_from_a_backward() {
    function!(Cosine; x => x.cos(); |x, g| Ok(-(g * x.sin()?)));
    let f = |x: &Tensor| Cosine.apply(x);
    let x = Tensor::from(1.0);
    close(&[value(&forward(f)(&x).unwrap())], &[-0.841_470_985]);
    close(&[value(&hessian(f)(&x).unwrap())], &[-0.540_302_306]);
    close(&[value(&jacfwd(jacfwd(f))(&x).unwrap())], &[-0.540_302_306]);
}

/// x + y with a batching rule that counts and a backward that returns `factor` times the cotangent.
#[derive(Clone)]
struct CountedAdd {
    calls: Arc<AtomicUsize>,
    factor: f64,
}

impl Function for CountedAdd {
    type Inputs = (Tensor, Tensor);
    type Outputs = Tensor;
    type Saved = ();
    fn forward(&self, (x, y): &(Tensor, Tensor)) -> Result<Tensor> {
        x.add(y)
    }
    fn setup_context(&self, _: &mut Context<Self>, _: &(Tensor, Tensor), _: &Tensor) -> Result<()> {
        Ok(())
    }
    fn backward(&self, _: &Context<Self>, _: &(), g: Cotangent) -> Result<(Cotangent, Cotangent)> {
        Ok((&g * self.factor, &g * self.factor))
    }
    fn vmap(
        &self,
        _: &VmapInfo,
        dims: (Option<usize>, Option<usize>),
        x: &(Tensor, Tensor),
    ) -> Result<(Tensor, Option<usize>)> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        assert_eq!(dims, (Some(0), Some(0)));
        Ok((self.apply(x)?, Some(0)))
    }
}

#[test]
fn c27_batching_rule_and_backward_together() {
    let ones = || Tensor::ones(&[4], DType::F64).unwrap();
    for factor in [1.0, 3.0] {
        let f = CountedAdd { calls: Arc::default(), factor };
        let apply = |x: &(Tensor, Tensor)| f.apply(x);
        let args = (ones(), ones());
        let (a, b) = vmap(grad(apply))(&args).unwrap();
        assert_eq!((values(&a), values(&b)), (vec![factor; 4], vec![factor; 4]));
        assert_eq!(f.calls.swap(0, Ordering::Relaxed), 1);
        let (a, _) = grad(|x: &(Tensor, Tensor)| vmap(apply)(x)?.sum())(&args).unwrap();
        assert_eq!(values(&a), vec![factor; 4]);
        assert_eq!(f.calls.swap(0, Ordering::Relaxed), 1);
        let pulled = vmap(|(x, y): &(Tensor, Tensor)| {
            let (_, pull) = vjp(apply, &(x.clone(), y.clone()))?;
            pull.call(&Tensor::from(1.0))
        })(&args)
        .unwrap();
        assert_eq!(values(&pulled.0), vec![factor; 4]);
        assert_eq!(f.calls.swap(0, Ordering::Relaxed), 1);
    }
}

#[test]
fn c28_nonlinear_backward_of_a_shared_input_equals_the_loop() {
    function!(Clip; x => Ok(x.clone()); |_x, g| {
        // Clips to [-1, 1] with operations only: clip(g) = (|g + 1| - |g - 1|) / 2, where |v| = v·tanh(large·v).
        g.map(|g| {
            let abs = |v: &Tensor| -> Result<Tensor> {
                let e = v.mul(-40.0)?.exp()?;
                v.mul(&e.mul(-1.0)?.add(1.0)?.div(&e.add(1.0)?)?)
            };
            abs(&g.add(1.0)?)?.sub(&abs(&g.sub(1.0)?)?)?.mul(0.5)
        })
    });
    let xs = Tensor::from([0.1, 2.0]);
    let w = Tensor::from(1.0);
    let shared = |w: &Tensor, x: &Tensor| Clip.apply(w)?.mul(x)?.mul(5.0);
    let batched = |w: &Tensor| Vmap::new().of(|x: &Tensor| shared(w, x))(&xs)?.sum();
    let looped = [0.1, 2.0].map(|x| value(&grad(|w: &Tensor| shared(w, &Tensor::from(x)))(&w).unwrap()));
    close(&[looped.iter().sum()], &[1.5]);
    close(&[value(&grad(batched)(&w).unwrap())], &[1.5]);
    let each = vmap(|x: &Tensor| grad(|w: &Tensor| shared(w, x))(&w))(&xs).unwrap();
    close(&values(&each), &[0.5, 1.0]);
    // 5·id(w·x): the cotangent is 5 in both lanes, clipped to 1, times x.
    let inner = |w: &Tensor| Vmap::new().of(|x: &Tensor| Clip.apply(&w.mul(x)?)?.mul(5.0))(&xs)?.sum();
    close(&[value(&grad(inner)(&w).unwrap())], &[2.1]);
    // Two levels of lanes around one shared value.
    let grid = Tensor::from([[0.1, 2.0], [2.0, 0.1]]);
    let nested = |w: &Tensor| vmap(vmap(|x: &Tensor| shared(w, x)))(&grid)?.sum();
    close(&[value(&grad(nested)(&w).unwrap())], &[3.0]);
}

/// Whether a batching rule is written and whether one is generated cannot contradict each other here: the generated rule is
/// the default body. Without a usable one, the error says both ways out.
#[test]
fn c08_a_written_rule_a_generated_one_or_neither() {
    function!(Generated; x => x.mul(x); |x, g| Ok(g * x * 2.0));
    function!(Written; x => x.mul(x); |x, g| Ok(g * x * 2.0);
    fn vmap(&self, _: &VmapInfo, dims: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
        Ok((self.apply(x)?, dims))
    });
    function!(Neither; x => Tensor::from_slice(&x.to_vec::<f64>()?, x.shape()); |_x, g| Ok(g));
    let xs = Tensor::from([1.0, 2.0, 3.0]);
    close(&values(&vmap(|x: &Tensor| Generated.apply(x))(&xs).unwrap()), &[1.0, 4.0, 9.0]);
    close(&values(&vmap(|x: &Tensor| Written.apply(x))(&xs).unwrap()), &[1.0, 4.0, 9.0]);
    let err = vmap(|x: &Tensor| Neither.apply(x))(&xs).unwrap_err().to_string();
    for part in ["vmap", "`Neither`", "implement `Function::vmap`", "`rules::per_example`"] {
        assert!(err.contains(part), "{err}");
    }
}

/// Only what can be asked without capturing graphs.
#[test]
fn c30_a_rule_that_stops_the_gradient_is_the_rule_that_runs() {
    function!(Stop; x => x.sin(); |_x, g| Ok(g * 0.0));
    let stop = |x: &Tensor| Stop.apply(x);
    let forward_rule = custom_jvp(|x: &Tensor| x.sin(), |_: &Tensor, _: &Tensor, t| Ok(t * 0.0));
    let x = Tensor::from([0.5, 1.0]);
    let ones = Tensor::from([1.0, 1.0]);
    let all: [&dyn Fn(&Tensor) -> Result<Tensor>; 2] = [&stop, &forward_rule];
    for f in all {
        let total = |x: &Tensor| f(x)?.sum();
        close(&values(&grad(total)(&x).unwrap()), &[0.0; 2]);
        close(&values(&grad(|x: &Tensor| vmap(f)(x)?.sum())(&x).unwrap()), &[0.0; 2]);
        close(&values(&vmap(grad(f))(&x).unwrap()), &[0.0; 2]);
        close(&values(&jvp(f, &x, &ones).unwrap().1), &[0.0; 2]);
        close(&values(&jacrev(f)(&x).unwrap()), &[0.0; 4]);
        close(&values(&jacfwd(f)(&x).unwrap()), &[0.0; 4]);
    }
}
