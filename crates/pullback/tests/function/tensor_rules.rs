//! Opaque functions with wrong rules in tensor operations, and with outputs of several dtypes.

use pullback::function::{ArrayMut, ArrayRef, Batching, Types};
use pullback::testing::check_function;
use pullback::*;

use crate::values;

type Many = Vec<Tensor>;
type Rule = fn(&Many, &[Cotangent]) -> Result<Vec<Cotangent>>;

/// `[x, i] -> [x², i + 1, sums of i]` for floats `x` and integers `i`, with a rule in one mode.
macro_rules! squares {
    ($name:ident, $rule:ident) => {
        struct $name(Rule, Batching);

        impl OpaqueFunction for $name {
            type Inputs = Many;
            type Outputs = Many;
            fn output_types(&self, x: &Types<Many>) -> Result<Types<Many>> {
                let mut sums = x[1].clone();
                sums.shape.pop();
                Ok(vec![x[0].clone(), x[1].clone(), sums])
            }
            fn forward(&self, x: &[ArrayRef<'_>], y: &mut [ArrayMut<'_>]) -> Result<()> {
                let (values, i) = (x[0].as_slice::<f64>()?, x[1].as_slice::<i64>()?);
                y[0].as_mut_slice::<f64>()?.iter_mut().zip(values).for_each(|(y, x)| *y = x * x);
                y[1].as_mut_slice::<i64>()?.iter_mut().zip(i).for_each(|(y, i)| *y = i + 1);
                let n = x[1].shape().last().copied().unwrap_or(1);
                y[2].as_mut_slice::<i64>()?.iter_mut().zip(i.chunks(n)).for_each(|(y, i)| *y = i.iter().sum());
                Ok(())
            }
            fn $rule(
                &self,
                _: &Context<Opaque<Self>>,
                (x, _): &(Many, Many),
                g: Vec<Cotangent>,
            ) -> Result<Vec<Cotangent>> {
                (self.0)(x, &g)
            }
            fn batching(&self) -> Batching {
                self.1
            }
        }
    };
}
squares!(Reverse, tensor_backward);
squares!(Forward, tensor_jvp);

fn slope(x: &Many, g: &Cotangent) -> Cotangent {
    g * &x[0] * 2.0
}

fn x() -> Tensor {
    Tensor::from([1.0, 2.0, 3.0])
}

fn xs() -> Tensor {
    Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
}

fn index() -> Tensor {
    Tensor::from([7i64, 8, 9])
}

fn first<T: OpaqueFunction<Inputs = Many, Outputs = Many>>(f: T) -> impl Fn(&Tensor) -> Result<Tensor> {
    let f = Opaque::new(f);
    move |x: &Tensor| Ok(f.apply(&vec![x.clone(), index()])?[0].clone())
}

#[track_caller]
fn all_say(errors: &[Error], place: &str, want: &str) {
    for e in errors {
        assert!(e.is_rule(), "{e:?}");
        let text = e.to_string();
        assert!(text.contains(&format!("{place}: {want}")), "{text}");
    }
}

#[test]
fn a_wrong_tensor_backward_is_an_error_by_name() {
    let wrong: [(Rule, &str); 6] = [
        (|x, g| Ok(vec![slope(x, &g[0])]), "expected one cotangent for each of 2 inputs, got 1"),
        (
            |x, g| Ok(vec![slope(x, &g[0]), Cotangent::zero(), Cotangent::zero()]),
            "expected one cotangent for each of 2 inputs, got 3",
        ),
        (
            |_, _| Ok(vec![Tensor::ones(&[4], DType::F64)?.into(), Cotangent::zero()]),
            "expected a cotangent of type f64[3] for input 0, got f64[4]",
        ),
        (
            |x, g| Ok(vec![slope(x, &g[0]).map(|t| t.to_dtype(DType::F32))?, Cotangent::zero()]),
            "expected a cotangent of type f64[3] for input 0, got f32[3]",
        ),
        (
            |x, g| Ok(vec![slope(x, &g[0]), slope(x, &g[0])]),
            "expected no cotangent for input 1, which is i64[3] and takes none, got f64[3]",
        ),
        (|_, _| Ok(vec![Cotangent::not_supplied(), Cotangent::zero()]), "expected a cotangent for input 0 (f64[3])"),
    ];
    for (k, (rule, want)) in wrong.into_iter().enumerate() {
        let f = first(Reverse(rule, Batching::Loop));
        let sum = |x: &Tensor| f(x)?.sum();
        let errors = [
            grad(sum)(&x()).unwrap_err(),
            vmap(grad(sum))(&xs()).unwrap_err(),
            grad(|x: &Tensor| vmap(sum)(x)?.sum())(&xs()).unwrap_err(),
        ];
        all_say(&errors, "`backward` of function `Reverse`", want);
        // Forward mode is the transpose of this rule. The cotangent of an input without a tangent is not looked at.
        if k != 4 {
            all_say(&[jvp(&f, &x(), &x()).unwrap_err()], "`backward` of function `Reverse`", want);
        }
    }
}

#[test]
fn a_wrong_tensor_jvp_is_an_error_by_name() {
    let wrong: [(Rule, &str); 5] = [
        (|x, t| Ok(vec![slope(x, &t[0])]), "expected one tangent for each of 3 outputs, got 1"),
        (
            |_, _| Ok(vec![Tensor::ones(&[4], DType::F64)?.into(), Tangent::zero(), Tangent::zero()]),
            "expected a tangent of type f64[3] for output 0, got f64[4]",
        ),
        (
            |x, t| {
                let low = slope(x, &t[0]).map(|t| t.to_dtype(DType::F32))?;
                Ok(vec![low, Tangent::zero(), Tangent::zero()])
            },
            "expected a tangent of type f64[3] for output 0, got f32[3]",
        ),
        (
            |_, _| Ok(vec![Tangent::not_supplied(), Tangent::zero(), Tangent::zero()]),
            "expected a tangent for output 0 (f64[3])",
        ),
        (
            |x, t| Ok(vec![slope(x, &t[0]), slope(x, &t[0]), Tangent::zero()]),
            "expected no tangent for output 1, which is i64[3] and takes none, got f64[3]",
        ),
    ];
    for (k, (rule, want)) in wrong.into_iter().enumerate() {
        let f = first(Forward(rule, Batching::LeadingDims));
        let sum = |x: &Tensor| f(x)?.sum();
        let errors = [jvp(&f, &x(), &x()).unwrap_err(), vmap(|x: &Tensor| Ok(jvp(&f, x, x)?.1))(&xs()).unwrap_err()];
        all_say(&errors, "`jvp` of function `Forward`", want);
        // Reverse mode is the transpose of this rule. The tangent of an output without a cotangent is not looked at.
        if k < 4 {
            let errors = [grad(sum)(&x()).unwrap_err(), vmap(grad(sum))(&xs()).unwrap_err()];
            all_say(&errors, "`jvp` of function `Forward`", want);
        }
    }
}

#[test]
fn integers_and_floats_come_out_under_every_transform() {
    let reverse: Rule = |x, g| {
        // Cotangents of integers arrive as zeros.
        assert!(g[1].is_zero() && g[2].is_zero());
        Ok(vec![slope(x, &g[0]), Cotangent::zero()])
    };
    let forward: Rule = |x, t| {
        assert!(t[1].is_zero());
        Ok(vec![slope(x, &t[0]), Tangent::zero(), Tangent::zero()])
    };
    let check = |f: &dyn Fn(&Many) -> Result<Many>| {
        let args = vec![x(), index()];
        let y = f(&args).unwrap();
        assert_eq!(y[1].to_vec::<i64>().unwrap(), [8, 9, 10]);
        assert_eq!(y[2].item::<i64>().unwrap(), 24);
        // Lanes of both, of the floats alone and of the integers alone.
        let indices = Tensor::from([[7i64, 8, 9], [1, 2, 3]]);
        for (dims, args, sums) in [
            (vec![Some(0), Some(0)], vec![xs(), indices.clone()], [24, 6]),
            (vec![Some(0), None], vec![xs(), index()], [24, 24]),
            (vec![None, Some(0)], vec![x(), indices.clone()], [24, 6]),
        ] {
            let y = Vmap::new().in_dims(dims.clone()).of(f)(&args).unwrap();
            assert_eq!(y[2].to_vec::<i64>().unwrap(), sums);
            assert_eq!(y[0].shape(), [2, 3]);
            // The gradient of one lane.
            let lane = |lane: &Many| {
                let i = lane[1].clone();
                grad(move |x: &Tensor| f(&vec![x.clone(), i.clone()])?[0].sum())(&lane[0])
            };
            let g = Vmap::new().in_dims(dims).of(lane)(&args).unwrap();
            let lanes =
                if args[0].rank() == 2 { xs() } else { stack(&[x(), x()].iter().collect::<Vec<_>>(), 0).unwrap() };
            assert_eq!(values(&g), values(&lanes.mul(2.0).unwrap()));
        }
        // Forward mode: integers have no tangent. (`jvp` wants floats to differentiate.)
        let by_x = |x: &Tensor| f(&vec![x.clone(), index()]);
        let (y, t) = jvp(by_x, &x(), &x()).unwrap();
        assert_eq!(y[1].dtype(), DType::I64);
        assert_eq!(values(&t[0]), [2.0, 8.0, 18.0]);
        let float = |x: &Tensor| Ok(by_x(x)?[0].clone());
        assert_eq!(
            values(&vmap(|x: &Tensor| Ok(jvp(float, x, x)?.1))(&xs()).unwrap()),
            [2.0, 8.0, 18.0, 32.0, 50.0, 72.0]
        );
        assert_eq!(values(&jvp(vmap(float), &xs(), &xs()).unwrap().1), [2.0, 8.0, 18.0, 32.0, 50.0, 72.0]);
        // An integer result has no derivative, and says so.
        let e = grad(|x: &Tensor| Ok(by_x(x)?[2].clone()))(&x()).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::NotDifferentiable, "{e}");
        let e = grad(|a: &Many| f(a)?[0].sum())(&args).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::NotDifferentiable, "{e}");
    };
    for batching in [Batching::Loop, Batching::LeadingDims] {
        let f = Opaque::new(Reverse(reverse, batching));
        check(&|x| f.apply(x));
        let f = Opaque::new(Forward(forward, batching));
        check(&|x| f.apply(x));
    }
}

/// The identity, which clips cotangents at `limit`, and may promise that it does not.
#[derive(Clone)]
struct Clips {
    limit: f64,
    promised: bool,
}

impl Function for Clips {
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
        g.map(|g| g.clamp(Some(-self.limit), Some(self.limit)))
    }
    fn jvp(&self, _: &Context<Self>, (): &(), t: Tangent) -> Result<Tangent> {
        Ok(t)
    }
    fn backward_is_linear(&self) -> bool {
        self.promised
    }
}

#[test]
fn a_rule_that_is_not_linear_is_noticed_although_it_promises() {
    for limit in [0.05, 3.0, 100.0] {
        let report = check_function(&Clips { limit, promised: true }, &x()).unwrap();
        let found = report.finding("rules_are_linear").unwrap();
        assert!(found.starts_with("`backward` of function `Clips`"), "{found}");
    }
    // Nor is one that adds something to what it is given.
    let f = custom(|x: &Tensor| Ok(x.clone())).saving(|_, _| Ok(()), |_, g: Cotangent| g.map(|g| g.add(1e-3)));
    let report = check_function(&f.jvp(|_, _, t| Ok(t)).backward_is_linear(), &x()).unwrap();
    assert!(report.finding("rules_are_linear").is_some(), "{report}");
    // A clip that never acts is linear, where it is checked.
    assert!(check_function(&Clips { limit: 1e9, promised: true }, &x()).unwrap().is_ok());
}

/// The identity, whose parts read a tensor that they hold, and whose reverse rule reads data.
struct Holds(Option<Tensor>, Batching);

impl OpaqueFunction for Holds {
    type Inputs = Tensor;
    type Outputs = Tensor;
    fn output_types(&self, x: &TensorType) -> Result<TensorType> {
        Ok(x.clone())
    }
    fn forward(&self, x: &[ArrayRef<'_>], y: &mut [ArrayMut<'_>]) -> Result<()> {
        if let Some(held) = &self.0 {
            held.to_vec::<f64>()?;
        }
        y[0].as_mut_slice::<f64>()?.copy_from_slice(x[0].as_slice()?);
        Ok(())
    }
    fn tensor_backward(&self, _: &Context<Opaque<Self>>, _: &(Tensor, Tensor), g: Cotangent) -> Result<Cotangent> {
        g.map(|g| Tensor::from_slice(&g.to_vec::<f64>()?, g.shape()))
    }
    fn batching(&self) -> Batching {
        self.1
    }
}

#[test]
fn an_opaque_function_that_reads_lanes_is_told_what_to_do() {
    for batching in [Batching::Loop, Batching::LeadingDims] {
        let f = Opaque::new(Holds(None, batching));
        let e = vmap(grad(|x: &Tensor| f.apply(x)?.mul(x)?.sum()))(&xs()).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::ConcreteValueNeeded, "{e}");
        assert_eq!(e.help(), Some("write the rule with tensor operations, or on slices"), "{e}");
        for e in [
            vmap(|x: &Tensor| Opaque::new(Holds(Some(x.clone()), batching)).apply(&Tensor::from(1.0)))(&xs())
                .unwrap_err(),
            vmap(|x: &Tensor| Opaque::new(Holds(Some(x.clone()), batching)).apply(x))(&xs()).unwrap_err(),
            grad(|x: &Tensor| Opaque::new(Holds(Some(x.clone()), batching)).apply(&Tensor::from(1.0)))(&x())
                .unwrap_err(),
        ] {
            // A value that was captured has nothing to do with how lanes are handed over.
            assert!(
                e.kind() == ErrorKind::CapturedTracer && e.to_string().contains("`forward` of function `Holds`: "),
                "{e}"
            );
        }
    }
}

/// The cube, with these rules besides.
macro_rules! cube {
    ($name:ident, {$($rules:tt)*}) => {
        struct $name;
        impl OpaqueFunction for $name {
            type Inputs = Tensor;
            type Outputs = Tensor;
            fn output_types(&self, x: &TensorType) -> Result<TensorType> {
                Ok(x.clone())
            }
            fn forward(&self, x: &[ArrayRef<'_>], y: &mut [ArrayMut<'_>]) -> Result<()> {
                let x = x[0].as_slice::<f64>()?;
                y[0].as_mut_slice::<f64>()?.iter_mut().zip(x).for_each(|(y, x)| *y = x * x * x);
                Ok(())
            }
            $($rules)*
        }
    };
}

macro_rules! on_slices {
    ($rule:ident) => {
        fn $rule(
            &self,
            x: &[ArrayRef<'_>],
            _: &[ArrayRef<'_>],
            g: &[ArrayRef<'_>],
            to: &mut [Option<ArrayMut<'_>>],
        ) -> Result<()> {
            let (x, g) = (x[0].as_slice::<f64>()?, g[0].as_slice::<f64>()?);
            let to = to[0].as_mut().expect("it is wanted").as_mut_slice::<f64>()?;
            to.iter_mut().enumerate().for_each(|(k, to)| *to = 3.0 * x[k] * x[k] * g[k]);
            Ok(())
        }
    };
}

macro_rules! with_tensors {
    ($rule:ident) => {
        fn $rule(&self, _: &Context<Opaque<Self>>, (x, _): &(Tensor, Tensor), g: Cotangent) -> Result<Cotangent> {
            Ok(g * x.square()? * 3.0)
        }
    };
}

cube!(Backward, {
    on_slices!(backward);
});
cube!(Jvp, {
    on_slices!(jvp);
});
cube!(Both, {
    on_slices!(backward);
    on_slices!(jvp);
});
// What the messages advise for each.
cube!(BackwardTwin, {
    on_slices!(backward);
    with_tensors!(tensor_backward);
});
cube!(JvpTwin, {
    on_slices!(jvp);
    with_tensors!(tensor_jvp);
});
cube!(BothTwins, {
    on_slices!(backward);
    on_slices!(jvp);
    with_tensors!(tensor_backward);
    with_tensors!(tensor_jvp);
});

/// Second derivatives of the sum of cubes in all four nestings.
fn second_orders<T: OpaqueFunction<Inputs = Tensor, Outputs = Tensor>>(make: fn() -> T) -> Vec<Result<Tensor>> {
    let f = move |x: &Tensor| Opaque::new(make()).apply(x)?.sum();
    let diagonal = |h: Result<Tensor>| h?.diagonal(0, 0, 1);
    vec![
        diagonal(hessian(f)(&x())),
        diagonal(jacrev(jacrev(f))(&x())),
        diagonal(jacfwd(jacfwd(f))(&x())),
        diagonal(jacrev(jacfwd(f))(&x())),
        vmap(grad(grad(|x: &Tensor| Opaque::new(make()).apply(x))))(&x()),
    ]
}

#[test]
fn the_advice_for_second_order_works() {
    for result in
        [second_orders(|| BackwardTwin), second_orders(|| JvpTwin), second_orders(|| BothTwins)].into_iter().flatten()
    {
        assert_eq!(values(&result.unwrap()), [6.0, 12.0, 18.0]);
    }
    let tensor_rules = ["`tensor_backward`", "`tensor_jvp`"];
    for (results, wanted) in [
        (second_orders(|| Backward), &tensor_rules[..1]),
        (second_orders(|| Jvp), &tensor_rules[1..]),
        (second_orders(|| Both), &tensor_rules[..]),
    ] {
        for result in results {
            let e = result.unwrap_err();
            assert!(matches!(e.kind(), ErrorKind::NotDifferentiable | ErrorKind::MissingRule), "{e:?}");
            let help = e.help().unwrap();
            for rule in wanted {
                assert!(help.contains(rule), "{e}");
            }
        }
    }
    // `hessian` needs forward mode first of all; what is advised is not a rule that leads to the next error.
    let e = hessian(|x: &Tensor| Opaque::new(Backward).apply(x)?.sum())(&x()).unwrap_err();
    let help = "implement `tensor_backward`, which gives both modes and every order, or `jvp`, which gives first derivatives \
                in this mode";
    assert_eq!(e.help(), Some(help));
}
