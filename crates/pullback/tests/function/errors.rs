//! Every mistake in a user's rule is an error that names the function, the method and the position, at every level.

use pullback::*;

use crate::value;

/// A function whose rules return whatever the test asks for.
#[derive(Clone)]
struct Broken {
    backward: fn(&Tensor, &Cotangent) -> Result<Vec<Cotangent>>,
    jvp: fn(&Tensor, &Tangent) -> Result<Vec<Tangent>>,
}

impl Function for Broken {
    type Inputs = Vec<Tensor>;
    type Outputs = Vec<Tensor>;
    type Saved = Tensor;
    fn forward(&self, x: &Vec<Tensor>) -> Result<Vec<Tensor>> {
        Ok(vec![x[0].mul(2.0)?])
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Vec<Tensor>, _: &Vec<Tensor>) -> Result<Tensor> {
        Ok(x[0].clone())
    }
    fn backward(&self, _: &Context<Self>, x: &Tensor, g: Vec<Cotangent>) -> Result<Vec<Cotangent>> {
        (self.backward)(x, &g[0])
    }
    fn jvp(&self, _: &Context<Self>, x: &Tensor, t: Vec<Tangent>) -> Result<Vec<Tangent>> {
        (self.jvp)(x, &t[0])
    }
}

const FINE: Broken = Broken { backward: |_, g| Ok(vec![g * 2.0]), jvp: |_, t| Ok(vec![t * 2.0]) };

fn backward_error(rule: fn(&Tensor, &Cotangent) -> Result<Vec<Cotangent>>) -> [String; 3] {
    let f = Broken { backward: rule, ..FINE };
    let apply = |x: &Tensor| Ok(f.apply(&vec![x.clone()])?[0].clone());
    let x = Tensor::from(1.5);
    let xs = Tensor::from([1.5, 2.5]);
    let errors = [
        grad(apply)(&x).unwrap_err(),
        vmap(grad(apply))(&xs).unwrap_err(),
        grad(|x: &Tensor| vmap(apply)(x)?.sum())(&xs).unwrap_err(),
    ];
    // The state is intact afterwards.
    assert_eq!(value(&grad(|x: &Tensor| x.mul(x))(&x).unwrap()), 3.0);
    errors.map(|e| {
        assert!(e.is_rule(), "{e:?}");
        e.to_string()
    })
}

fn jvp_error(rule: fn(&Tensor, &Tangent) -> Result<Vec<Tangent>>) -> [String; 3] {
    let f = Broken { jvp: rule, ..FINE };
    let apply = |x: &Tensor| Ok(f.apply(&vec![x.clone()])?[0].clone());
    let (x, xs) = (Tensor::from(1.5), Tensor::from([1.5, 2.5]));
    let push = |x: &Tensor| Ok(jvp(apply, x, &Tensor::from(1.0))?.1);
    let errors = [push(&x).unwrap_err(), vmap(push)(&xs).unwrap_err(), jvp(vmap(apply), &xs, &xs).unwrap_err()];
    errors.map(|e| {
        assert!(e.is_rule(), "{e:?}");
        e.to_string()
    })
}

#[track_caller]
fn all_contain(errors: [String; 3], text: &str) {
    for e in errors {
        assert!(e.contains(text), "expected `{text}` in `{e}`");
    }
}

#[test]
fn backward_returns_the_wrong_number() {
    all_contain(
        backward_error(|_, _| Ok(vec![])),
        "`backward` of function `Broken`: expected one cotangent for each of 1 inputs, got 0",
    );
    all_contain(
        backward_error(|_, g| Ok(vec![g.clone(), g.clone()])),
        "expected one cotangent for each of 1 inputs, got 2",
    );
}

#[test]
fn backward_returns_the_wrong_type() {
    all_contain(
        backward_error(|_, _| Ok(vec![Tensor::from([1.0, 2.0, 3.0]).into()])),
        "expected a cotangent of type f64[] for input 0, got f64[3]",
    );
    all_contain(
        backward_error(|_, _| Ok(vec![Tensor::from(1.0f32).into()])),
        "expected a cotangent of type f64[] for input 0, got f32[]",
    );
    all_contain(
        backward_error(|_, _| Ok(vec![Tensor::from(1i64).into()])),
        "expected a cotangent of type f64[] for input 0, got i64[]",
    );
}

#[test]
fn backward_supplies_nothing() {
    all_contain(
        backward_error(|_, _| Ok(vec![Cotangent::not_supplied()])),
        "expected a cotangent for input 0 (f64[]), which is needed, got none",
    );
}

#[test]
fn jvp_returns_the_wrong_number_or_type() {
    all_contain(
        jvp_error(|_, _| Ok(vec![])),
        "`jvp` of function `Broken`: expected one tangent for each of 1 outputs, got 0",
    );
    all_contain(jvp_error(|_, t| Ok(vec![t.clone(), t.clone()])), "expected one tangent for each of 1 outputs, got 2");
    all_contain(
        jvp_error(|_, _| Ok(vec![Tensor::from([1.0]).into()])),
        "expected a tangent of type f64[] for output 0, got f64[1]",
    );
    all_contain(
        jvp_error(|_, _| Ok(vec![Tensor::from(1.0f32).into()])),
        "expected a tangent of type f64[] for output 0, got f32[]",
    );
    all_contain(
        jvp_error(|_, _| Ok(vec![Tangent::not_supplied()])),
        "expected a tangent for output 0 (f64[]), which is needed, got none",
    );
}

#[test]
fn reading_data_in_a_rule_never_loses_a_derivative() {
    /// x², whose backward computes with raw numbers.
    #[derive(Clone)]
    struct Opaque;
    impl Function for Opaque {
        type Inputs = Tensor;
        type Outputs = Tensor;
        type Saved = Tensor;
        fn forward(&self, x: &Tensor) -> Result<Tensor> {
            Ok(Tensor::from(x.item::<f64>()?.powi(2)))
        }
        fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
            Ok(x.clone())
        }
        fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
            Ok(Tensor::from(2.0 * x.item::<f64>()? * g.tensor()?.item::<f64>()?).into())
        }
    }
    let f = |x: &Tensor| Opaque.apply(x);
    let x = Tensor::from(3.0);
    assert_eq!(value(&grad(f)(&x).unwrap()), 6.0);
    // Second order, the derived forward rule and the generated batching rule all need what was thrown away.
    for err in [
        grad(grad(f))(&x).unwrap_err(),
        jvp(f, &x, &x).unwrap_err(),
        hessian(f)(&x).unwrap_err(),
        vmap(f)(&Tensor::from([3.0])).unwrap_err(),
    ] {
        assert_eq!(err.kind(), ErrorKind::ConcreteValueNeeded, "{err}");
        assert!(err.to_string().contains("of function `Opaque`"), "{err}");
        assert!(err.help().is_some());
    }
    let err = vmap(f)(&Tensor::from([3.0])).unwrap_err();
    assert!(err.to_string().contains("implement `Function::vmap`, or loop with `rules::per_example`"), "{err}");
}

#[test]
fn escaped_values_are_errors_everywhere() {
    use std::sync::Mutex;
    let kept = Mutex::new(None);
    grad(|x: &Tensor| {
        *kept.lock().unwrap() = Some(x.clone());
        x.mul(x)
    })(&Tensor::from(2.0))
    .unwrap();
    let stale = kept.into_inner().unwrap().unwrap();
    for err in [
        stale.mul(2.0).unwrap_err(),
        stale.item::<f64>().unwrap_err(),
        stale.exp().unwrap_err(),
        grad(|x: &Tensor| x.mul(&stale))(&Tensor::from(1.0)).unwrap_err(),
        grad(|_: &Tensor| Ok(stale.clone()))(&Tensor::from(1.0)).unwrap_err(),
        vmap(|_: &Tensor| Ok(stale.clone()))(&Tensor::from([1.0])).unwrap_err(),
        jvp(|x: &Tensor| x.mul(2.0), &stale, &Tensor::from(1.0)).unwrap_err(),
        jvp(|x: &Tensor| x.mul(2.0), &Tensor::from(1.0), &stale).unwrap_err(),
        grad(|x: &Tensor| x.mul(2.0))(&stale).unwrap_err(),
    ] {
        assert!(err.is_escaped_tracer(), "{err:?}");
        assert!(err.to_string().contains("of a `grad`"), "{err}");
    }
}

#[test]
fn wrong_arguments_of_transforms() {
    let x = Tensor::from([1.0f32, 2.0]);
    let text = |e: Error| e.to_string();
    assert_eq!(
        text(grad(|x: &Tensor| x.mul(2.0))(&x).unwrap_err()),
        "grad: the function must return a scalar, got f32[2]; help: sum it, select one element, or use `vjp` or `jacrev`"
    );
    let err = grad(|x: &Tensor| x.sum())(&Tensor::from([1i64, 2])).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::NotDifferentiable);
    assert!(text(err).contains("got i64[2]"));
    let (_, pull) = vjp(|x: &Tensor| x.mul(2.0), &x).unwrap();
    let err = pull.call(&Tensor::from([1.0f32, 2.0, 3.0])).unwrap_err();
    assert_eq!(text(err), "vjp: cotangent 0 has type f32[3], but output 0 of the function has type f32[2]");
    assert!(pull.call(&Tensor::from([1.0, 2.0])).unwrap_err().is_dtype());
    let err = jvp(|x: &Tensor| x.mul(2.0), &x, &Tensor::from(1.0f32)).unwrap_err();
    assert_eq!(text(err), "jvp: tangent 0 has type f32[], but argument 0 of the function has type f32[2]");
    let two = |(a, b): &(Tensor, Tensor)| a.sum()?.mul(&b.sum()?);
    let (a, b) = (Tensor::zeros(&[10, 4], DType::F32).unwrap(), Tensor::zeros(&[10, 2], DType::F32).unwrap());
    let err = Vmap::new().in_dims((0, 1)).of(two)(&(a.clone(), b.clone())).unwrap_err();
    assert_eq!(
        text(err),
        "vmap: batched arguments disagree on the batch size: argument.0 has 10 (f32[10,4], dim 0), argument.1 has 2 \
         (f32[10,2], dim 1)"
    );
    let err = Vmap::new().in_dims((2, None)).of(two)(&(a.clone(), b.clone())).unwrap_err();
    assert_eq!(text(err), "vmap: in_dims: dim 2 is out of range for argument.0 (f32[10,4]) (valid: -2..=1)");
    let none: (Option<usize>, Option<usize>) = (None, None);
    let err = Vmap::new().in_dims(none).of(two)(&(a.clone(), b.clone())).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::Arity);
    assert!(Vmap::new().in_dims(none).batch_size(5).of(two)(&(a.clone(), b.clone())).is_ok());
    let err = Vmap::new().out_dims(3).of(two)(&(a.clone(), b.clone())).unwrap_err();
    assert_eq!(text(err), "vmap: out_dims: dim 3 is out of range for result with its lanes, f32[] (valid: -1..=0)");
    let err = Vmap::new().out_dims(None).of(two)(&(a, b)).unwrap_err();
    assert!(text(err).contains("out_dims is None for result, but it depends on the lane"));
}

#[test]
fn errors_and_panics_of_users_pass_through() {
    let f = |_: &Tensor| -> Result<Tensor> { Err(Error::other("no luck".parse::<i32>().unwrap_err())) };
    let err = vmap(grad(f))(&Tensor::from([1.0])).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::User);
    assert!(err.downcast_ref::<std::num::ParseIntError>().is_some());
    assert_eq!(err.context().collect::<Vec<_>>(), ["vmap", "grad"]);
    let caught = std::panic::catch_unwind(|| {
        vmap(grad(|x: &Tensor| -> Result<Tensor> {
            if x.shape().is_empty() {
                panic!("user panic");
            }
            Ok(x.clone())
        }))(&Tensor::from([1.0]))
    });
    assert!(caught.is_err());
    // Nothing is left behind: a random policy, a level, a running method.
    assert_eq!(
        vmap(grad(|x: &Tensor| x.mul(x)))(&Tensor::from([1.0, 2.0])).unwrap().to_vec::<f64>().unwrap(),
        [2.0, 4.0]
    );
}

#[test]
fn a_message_names_its_place_once() {
    #[derive(Clone)]
    struct Reader;
    impl Function for Reader {
        type Inputs = Tensor;
        type Outputs = Tensor;
        type Saved = ();
        fn forward(&self, x: &Tensor) -> Result<Tensor> {
            Tensor::from_slice(&x.to_vec::<f64>()?, x.shape())
        }
        fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
            Ok(())
        }
    }
    let message = vmap(|x: &Tensor| Reader.apply(x))(&Tensor::from([1.0, 2.0])).unwrap_err().to_string();
    assert!(message.contains("> `forward` of function `Reader`: `to_vec` reads the data of a batched"), "{message}");
}
