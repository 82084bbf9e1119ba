//! The conditions under which a rule is refused or accepted, by the ids of the list of semantics that the project
//! started from (F-01 to F-61), and the cases of arguments and results.
//!
//! Some conditions of other systems cannot be written down here:
//!
//! | Id | Condition | Why it cannot occur |
//! |---|---|---|
//! | F-04, F-21 | a rule returns something that is not a tensor | the return type is a tree of `Cotangent` or `Tangent` |
//! | F-05 | a tensor for an argument that is none | arguments that are not tensors are fields of the function |
//! | F-10 | another device | there is one |
//! | F-13, F-14 | no, or two names for `backward` | it is one method, and derived from `jvp` if it is not written |
//! | F-26, F-27, F-28 | the tangent of a view is no view, that of a changed input is not changed | values never change, and no promise is made about memory |
//! | F-40, F-41, F-44 | a batching rule returns no pair, or a dim of another type | the return type |
//! | F-48 | tensors by keyword only | there are no keywords |
//! | F-60 | the order of the two calls that save | one value is saved, for both rules |
//!
//! The case that looks most like ordinary code, a rule with too few results, does not compile; see
//! `src/function/refused.rs`.

use std::sync::{Arc, Mutex};

use pullback::function::rules;
use pullback::*;

use crate::{forward, value, values};

type Rule = fn(&[Tensor], &[Cotangent]) -> Result<Vec<Cotangent>>;
type Batching = fn(&VmapInfo, &[Option<usize>], &[Tensor]) -> Result<(Vec<Tensor>, Vec<Option<usize>>)>;

/// A function of lists, whose methods a test may choose. The rules read the inputs.
#[derive(Clone, Copy)]
struct Custom {
    forward: fn(&[Tensor]) -> Result<Vec<Tensor>>,
    marks: &'static [usize],
    backward: Rule,
    vmap: Option<Batching>,
}

/// Twice the first input.
const DOUBLE: Custom = Custom {
    forward: |x| Ok(vec![x[0].mul(2.0)?]),
    marks: &[],
    backward: |x, g| {
        Ok(x.iter().enumerate().map(|(k, _)| if k == 0 { &g[0] * 2.0 } else { Cotangent::zero() }).collect())
    },
    vmap: None,
};

impl Function for Custom {
    type Inputs = Vec<Tensor>;
    type Outputs = Vec<Tensor>;
    type Saved = Vec<Tensor>;
    fn forward(&self, x: &Vec<Tensor>) -> Result<Vec<Tensor>> {
        (self.forward)(x)
    }
    fn setup_context(&self, ctx: &mut Context<Self>, x: &Vec<Tensor>, _: &Vec<Tensor>) -> Result<Vec<Tensor>> {
        ctx.mark_non_differentiable(self.marks)?;
        Ok(x.clone())
    }
    fn backward(&self, _: &Context<Self>, x: &Vec<Tensor>, g: Vec<Cotangent>) -> Result<Vec<Cotangent>> {
        (self.backward)(x, &g)
    }
    fn vmap(
        &self,
        info: &VmapInfo,
        dims: Vec<Option<usize>>,
        x: &Vec<Tensor>,
    ) -> Result<(Vec<Tensor>, Vec<Option<usize>>)> {
        match self.vmap {
            Some(rule) => rule(info, &dims, x),
            None => rules::generated(self, info, dims, x),
        }
    }
}

/// The same with `jvp` instead of `backward`.
#[derive(Clone, Copy)]
struct Pushed {
    forward: fn(&[Tensor]) -> Result<Vec<Tensor>>,
    marks: &'static [usize],
    jvp: Rule,
}

impl Function for Pushed {
    type Inputs = Vec<Tensor>;
    type Outputs = Vec<Tensor>;
    type Saved = Vec<Tensor>;
    fn forward(&self, x: &Vec<Tensor>) -> Result<Vec<Tensor>> {
        (self.forward)(x)
    }
    fn setup_context(&self, ctx: &mut Context<Self>, x: &Vec<Tensor>, _: &Vec<Tensor>) -> Result<Vec<Tensor>> {
        ctx.mark_non_differentiable(self.marks)?;
        Ok(x.clone())
    }
    fn jvp(&self, _: &Context<Self>, x: &Vec<Tensor>, t: Vec<Tangent>) -> Result<Vec<Tangent>> {
        (self.jvp)(x, &t)
    }
}

/// The sum of the first output.
fn total<F: Function<Inputs = Vec<Tensor>, Outputs = Vec<Tensor>>>(
    f: F,
) -> impl Fn(&Vec<Tensor>) -> Result<Tensor> + Clone {
    move |x| f.apply(x)?[0].sum()
}

/// Lanes of `x` and of twice `x`.
fn lanes(x: &[Tensor]) -> Vec<Tensor> {
    x.iter().map(|t| stack(&[t, &t.mul(2).unwrap().to_dtype(t.dtype()).unwrap()], 0).unwrap()).collect()
}

/// The errors of a function in reverse and forward mode, alone, under `vmap`, and through `vmap`.
fn errors<F: Function<Inputs = Vec<Tensor>, Outputs = Vec<Tensor>>>(f: F, x: &[Tensor]) -> Vec<Error> {
    let (x, f) = (x.to_vec(), total(f));
    let xs = lanes(&x);
    let through = |xs: &Vec<Tensor>| vmap(&f)(xs)?.sum();
    let push = |x: &Vec<Tensor>| Ok(jvp(&f, x, x)?.1);
    vec![
        grad(&f)(&x).unwrap_err(),
        vmap(grad(&f))(&xs).unwrap_err(),
        grad(through)(&xs).unwrap_err(),
        grad(|x: &Vec<Tensor>| grad(&f)(x)?[0].sum())(&x).unwrap_err(),
        push(&x).unwrap_err(),
        vmap(push)(&xs).unwrap_err(),
        jvp(through, &xs, &xs).unwrap_err(),
    ]
}

#[track_caller]
fn all_say(errors: Vec<Error>, text: &str) {
    for e in errors {
        assert!(e.is_rule() && e.to_string().contains(text), "expected `{text}` in `{e}`");
    }
}

fn vector() -> Tensor {
    Tensor::from([1.0, 2.0, 3.0])
}

#[test]
fn f01_f02_f03_number_of_cotangents() {
    let two = [vector(), vector()];
    let rule = |backward| errors(Custom { backward, ..DOUBLE }, &two);
    let place = "`backward` of function `Custom`: expected one cotangent for each of 2 inputs, got";
    all_say(rule(|_, g| Ok(vec![&g[0] * 2.0])), &format!("{place} 1"));
    all_say(rule(|_, g| Ok(vec![g[0].clone(); 3])), &format!("{place} 3"));
    // Also if the surplus is zero, or not supplied: a list has the length of the list of inputs.
    all_say(rule(|_, g| Ok(vec![g[0].clone(), Cotangent::zero(), Cotangent::zero()])), &format!("{place} 3"));
    all_say(rule(|_, g| Ok(vec![g[0].clone(), Cotangent::zero(), Cotangent::not_supplied()])), &format!("{place} 3"));
}

#[test]
fn f01_structure_of_cotangents() {
    /// The sum of what is there; the rule gives the cotangent to the other.
    #[derive(Clone)]
    struct Either;
    impl Function for Either {
        type Inputs = (Option<Tensor>, Option<Tensor>);
        type Outputs = Tensor;
        type Saved = ();
        fn forward(&self, (a, b): &Self::Inputs) -> Result<Tensor> {
            a.as_ref().or(b.as_ref()).map_or_else(|| Tensor::zeros(&[], DType::F64), |t| t.mul(2.0))
        }
        fn setup_context(&self, _: &mut Context<Self>, _: &Self::Inputs, _: &Tensor) -> Result<()> {
            Ok(())
        }
        fn backward(&self, _: &Context<Self>, _: &(), g: Cotangent) -> Result<Cotangents<Self::Inputs>> {
            Ok((None, Some(g * 2.0)))
        }
    }
    let f = |x: &(Option<Tensor>, Option<Tensor>)| Either.apply(x);
    assert_eq!(value(&grad(f)(&(None, Some(Tensor::from(1.0)))).unwrap().1.unwrap()), 2.0);
    let x = (Some(Tensor::from(1.0)), None);
    for e in [grad(f)(&x).unwrap_err(), jvp(f, &x, &x).unwrap_err()] {
        let text = "expected cotangents in the structure of the inputs, (tensor, none), got (none, tensor)";
        assert!(e.is_rule() && e.to_string().contains(text), "{e}");
    }
    // Nothing there at all.
    assert!(grad(f)(&(None, None)).unwrap().0.is_none());
}

#[test]
fn f05_f06_inputs_that_need_none() {
    let rule = Custom { backward: |_, g| Ok(vec![&g[0] * 2.0, g[0].clone()]), ..DOUBLE };
    let i = Tensor::from([1i64, 2, 3]);
    let text = "expected no cotangent for input 1, which is i64[3] and takes none, got f64[3]";
    let by_first = |x: &Tensor| total(rule)(&vec![x.clone(), i.clone()]);
    let e = grad(by_first)(&vector()).unwrap_err();
    assert!(e.is_rule() && e.to_string().contains(text), "{e}");
    // A constant of the level: what the rule computed for it is dropped.
    let g = grad(|x: &Tensor| total(rule)(&vec![x.clone(), vector()]))(&vector()).unwrap();
    assert_eq!(values(&g), [2.0; 3]);
}

/// `x·y` with broadcasting; the rule leaves the sums to the caller.
const PRODUCT: Custom = Custom {
    forward: |x| Ok(vec![x[0].mul(&x[1])?]),
    marks: &[],
    backward: |x, g| Ok(vec![&g[0] * &x[1], &g[0] * &x[0]]),
    vmap: None,
};

#[test]
fn f07_a_larger_cotangent_of_a_broadcast_input_is_summed() {
    let matrix = Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let column = Tensor::from([[10.0], [20.0]]);
    let f = total(PRODUCT);
    for x in [vector(), column.clone(), Tensor::from(2.0), Tensor::from([[3.0]])] {
        let args = vec![x.clone(), matrix.clone()];
        let want = matrix.sum_to(x.shape()).unwrap();
        let g = grad(&f)(&args).unwrap();
        assert_eq!((g[0].shape(), values(&g[0])), (x.shape(), values(&want)));
        // The forward rule derived from it, and second order: the mixed derivative is one per element.
        let tangents = vec![Tensor::ones(x.shape(), DType::F64).unwrap(), matrix.zeros_like().unwrap()];
        assert_eq!(value(&jvp(&f, &args, &tangents).unwrap().1), 21.0);
        let mixed = grad(|m: &Tensor| grad(|x: &Tensor| f(&vec![x.clone(), m.clone()]))(&x)?.sum())(&matrix).unwrap();
        assert_eq!(values(&mixed), [1.0; 6]);
        // With lanes: in the input, in the other, in both, through and under `vmap`.
        let (xs, ms) = (lanes(std::slice::from_ref(&x)).remove(0), lanes(std::slice::from_ref(&matrix)).remove(0));
        let g = vmap(grad(&f))(&vec![xs.clone(), ms.clone()]).unwrap();
        assert_eq!(values(&g[0].select(0, 1).unwrap()), values(&want.mul(2.0).unwrap()));
        let through = |dims: Vec<Option<usize>>| {
            let f = f.clone();
            grad(move |a: &Vec<Tensor>| Vmap::new().in_dims(dims.clone()).of(&f)(a)?.sum())
        };
        let g = through(vec![None, Some(0)])(&vec![x.clone(), ms]).unwrap();
        assert_eq!((g[0].shape(), values(&g[0])), (x.shape(), values(&want.mul(3.0).unwrap())));
        let g = through(vec![Some(0), None])(&vec![xs, matrix.clone()]).unwrap();
        assert_eq!(values(&g[0].select(0, 1).unwrap()), values(&want));
    }
    // An output that is a sum hides the shape; another input shows it.
    let inner = Custom {
        forward: |x| Ok(vec![x[0].mul(&x[1])?.sum()?]),
        backward: |x, g| Ok(vec![&g[0] * &x[1], &g[0] * x[0].expand(x[1].shape())?]),
        ..PRODUCT
    };
    assert_eq!(values(&grad(total(inner))(&vec![vector(), matrix]).unwrap()[0]), [5.0, 7.0, 9.0]);
}

#[test]
fn f07_a_larger_cotangent_is_refused_where_nothing_was_broadcast() {
    let wrong = Custom { backward: |_, _| Ok(vec![Tensor::ones(&[10], DType::F64)?.into()]), ..DOUBLE };
    let text = "`backward` of function `Custom`: expected a cotangent of type f64[] for input 0, got f64[10]; help: sum \
                over the dimensions that were broadcast, with `sum_to`";
    all_say(errors(wrong, &[Tensor::from(2.0)]), text);
    let rule = Custom { backward: |_, g| Ok(vec![g[0].map(|g| stack(&[g, g], 0))?]), ..DOUBLE };
    all_say(errors(rule, &[vector()]), "expected a cotangent of type f64[3] for input 0, got f64[2,3]");
}

#[test]
fn f08_any_other_shape() {
    let text = "`backward` of function `Custom`: expected a cotangent of type f64[3] for input 0, got";
    let rule = |backward| errors(Custom { backward, ..DOUBLE }, &[vector()]);
    all_say(rule(|_, g| Ok(vec![g[0].map(|g| g.sum())?])), &format!("{text} f64[]"));
    all_say(rule(|_, g| Ok(vec![g[0].map(|g| g.narrow(0, 0, 1))?])), &format!("{text} f64[1]"));
    all_say(rule(|_, g| Ok(vec![g[0].map(|g| g.unsqueeze(1))?])), &format!("{text} f64[3,1]"));
    // Elements that could be reordered to fit do not count either.
    let transposed = Custom { backward: |_, g| Ok(vec![g[0].map(|g| g.transpose(0, 1))?]), ..DOUBLE };
    let text = "expected a cotangent of type f64[1,3] for input 0, got f64[3,1]";
    all_say(errors(transposed, &[vector().unsqueeze(0).unwrap()]), text);
}

#[test]
fn f09_f15_dtype_of_a_cotangent() {
    let text = "`backward` of function `Custom`: expected a cotangent of type f64[3] for input 0, got";
    for (dtype, rule) in [
        ("f32", (|_, g| Ok(vec![g[0].map(|g| g.to_dtype(DType::F32))?])) as Rule),
        ("i64", |_, _| Ok(vec![Tensor::from([1i64, 1, 1]).into()])),
        ("bool", |_, _| Ok(vec![Tensor::from([true, true, false]).into()])),
    ] {
        let found = errors(Custom { backward: rule, ..DOUBLE }, &[vector()]);
        all_say(found, &format!("{text} {dtype}[3]; help: convert it with `to_dtype`"));
    }
}

#[test]
fn f11_zero_is_not_the_same_as_not_supplied() {
    let zero = Custom { backward: |_, _| Ok(vec![Cotangent::zero()]), ..DOUBLE };
    let f = total(zero);
    let x = vec![vector()];
    assert_eq!(values(&grad(&f)(&x).unwrap()[0]), [0.0; 3]);
    assert_eq!(value(&jvp(&f, &x, &x).unwrap().1), 0.0);
    assert_eq!(values(&vmap(grad(&f))(&lanes(&x)).unwrap()[0]), [0.0; 6]);
    let nothing = Custom { backward: |_, _| Ok(vec![Cotangent::not_supplied()]), ..DOUBLE };
    all_say(errors(nothing, &x), "expected a cotangent for input 0 (f64[3]), which is needed, got none");
}

#[test]
fn f12_errors_and_panics_of_a_rule_pass_through() {
    let failing = Custom { backward: |_, _| Err(Error::other("no luck".parse::<f64>().unwrap_err())), ..DOUBLE };
    for e in errors(failing, &[vector()]) {
        assert_eq!(e.kind(), ErrorKind::User);
        assert!(e.downcast_ref::<std::num::ParseFloatError>().is_some());
        assert!(e.to_string().contains("`backward` of function `Custom`"), "{e}");
    }
    let panicking = Custom { backward: |_, _| panic!("on purpose"), ..DOUBLE };
    let caught = std::panic::catch_unwind(|| vmap(grad(total(panicking)))(&vec![Tensor::ones(&[2, 3], DType::F64)?]));
    assert!(caught.is_err());
    assert_eq!(values(&vmap(grad(total(DOUBLE)))(&lanes(&[vector()])).unwrap()[0]), [2.0; 6]);
}

#[test]
fn f20_to_f25_what_a_forward_rule_returns() {
    let rule = |jvp: Rule| errors(Pushed { forward: DOUBLE.forward, marks: &[], jvp }, &[vector()]);
    let place = "`jvp` of function `Pushed`: expected";
    all_say(rule(|_, _| Ok(vec![])), &format!("{place} one tangent for each of 1 outputs, got 0"));
    all_say(
        rule(|_, t| Ok(vec![t[0].clone(), t[0].clone()])),
        &format!("{place} one tangent for each of 1 outputs, got 2"),
    );
    all_say(
        rule(|_, t| Ok(vec![t[0].clone(), Tangent::not_supplied()])),
        &format!("{place} one tangent for each of 1 outputs, got 2"),
    );
    let one = "a tangent of type f64[3] for output 0, got";
    all_say(rule(|_, t| Ok(vec![t[0].map(|t| t.sum())?])), &format!("{place} {one} f64[]"));
    // A tangent is never summed.
    all_say(rule(|_, t| Ok(vec![t[0].map(|t| stack(&[t, t], 0))?])), &format!("{place} {one} f64[2,3]"));
    all_say(rule(|_, t| Ok(vec![t[0].map(|t| t.to_dtype(DType::F32))?])), &format!("{place} {one} f32[3]"));
    let text = "a tangent for output 0 (f64[3]), which is needed, got none";
    all_say(rule(|_, _| Ok(vec![Tangent::not_supplied()])), &format!("{place} {text}"));
    // Zero is a tangent like another.
    let flat = Pushed { forward: DOUBLE.forward, marks: &[], jvp: |_, _| Ok(vec![Tangent::zero()]) };
    assert_eq!(values(&grad(total(flat))(&vec![vector()]).unwrap()[0]), [0.0; 3]);
    assert_eq!(value(&jvp(total(flat), &vec![vector()], &vec![vector()]).unwrap().1), 0.0);
}

#[test]
fn f22_tangents_of_outputs_without_derivative() {
    let forward: fn(&[Tensor]) -> Result<Vec<Tensor>> =
        |x| Ok(vec![x[0].mul(2.0)?, x[0].gt(1.5)?.to_dtype(DType::I64)?]);
    let wrong = Pushed { forward, marks: &[], jvp: |_, t| Ok(vec![&t[0] * 2.0, t[0].clone()]) };
    let text = "expected no tangent for output 1, which is i64[3] and takes none, got f64[3]";
    let e = jvp(total(wrong), &vec![vector()], &vec![vector()]).unwrap_err();
    assert!(e.is_rule() && e.to_string().contains(text), "{e}");
    for nothing in [Tangent::zero as fn() -> Tangent, Tangent::not_supplied] {
        // A function pointer cannot capture, so each is written out.
        let jvp_rule: Rule = if nothing().is_zero() {
            |_, t| Ok(vec![&t[0] * 2.0, Tangent::zero()])
        } else {
            |_, t| Ok(vec![&t[0] * 2.0, Tangent::not_supplied()])
        };
        let f = Pushed { forward, marks: &[], jvp: jvp_rule };
        assert_eq!(value(&jvp(total(f), &vec![vector()], &vec![vector()]).unwrap().1), 12.0);
        assert_eq!(values(&grad(total(f))(&vec![vector()]).unwrap()[0]), [2.0; 3]);
    }
    // The tangent of a marked output is ignored.
    let marked = Pushed { forward: DOUBLE.forward, marks: &[0], jvp: |_, t| Ok(vec![&t[0] * 2.0]) };
    assert_eq!(value(&jvp(total(marked), &vec![vector()], &vec![vector()]).unwrap().1), 0.0);
    assert_eq!(values(&grad(total(marked))(&vec![vector()]).unwrap()[0]), [0.0; 3]);
}

#[test]
fn f29_no_rule_at_all() {
    /// Only `forward`.
    #[derive(Clone)]
    struct Bare;
    impl Function for Bare {
        type Inputs = Tensor;
        type Outputs = Tensor;
        type Saved = ();
        fn forward(&self, x: &Tensor) -> Result<Tensor> {
            x.mul(2.0)
        }
        fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
            Ok(())
        }
    }
    let f = |x: &Tensor| Bare.apply(x);
    let (x, xs) = (Tensor::from(1.0), Tensor::from([1.0, 2.0]));
    assert_eq!(values(&vmap(f)(&xs).unwrap()), [2.0, 4.0]);
    for e in [
        grad(f)(&x).unwrap_err(),
        forward(f)(&x).unwrap_err(),
        vmap(grad(f))(&xs).unwrap_err(),
        grad(|xs: &Tensor| vmap(f)(xs)?.sum())(&xs).unwrap_err(),
        hessian(f)(&x).unwrap_err(),
    ] {
        assert!(e.is_missing_rule(), "{e:?}");
        assert!(e.to_string().contains("function `Bare` has neither `backward` nor `jvp`"), "{e}");
    }
}

#[test]
fn f30_forward_mode_nested_three_deep() {
    let fourth =
        Pushed { forward: |x| Ok(vec![x[0].powi(4)?]), marks: &[], jvp: |x, t| Ok(vec![&t[0] * x[0].powi(3)? * 4.0]) };
    let f = move |x: &Tensor| total(fourth)(&vec![x.clone()]);
    let x = Tensor::from(2.0);
    assert_eq!(value(&forward(f)(&x).unwrap()), 32.0);
    assert_eq!(value(&forward(forward(f))(&x).unwrap()), 48.0);
    assert_eq!(value(&forward(forward(forward(f)))(&x).unwrap()), 48.0);
    assert_eq!(value(&forward(grad(forward(f)))(&x).unwrap()), 48.0);
    assert_eq!(values(&vmap(forward(forward(f)))(&Tensor::from([1.0, 2.0])).unwrap()), [12.0, 48.0]);
}

/// The error of a batching rule, alone, nested, and inside derivatives.
#[track_caller]
fn batching_says(rule: Batching, x: &[Tensor], text: &str) {
    let f = Custom { vmap: Some(rule), ..DOUBLE };
    let call = |x: &Vec<Tensor>| f.apply(x);
    let x = x.to_vec();
    let mut found = vec![vmap(call)(&x).unwrap_err()];
    found.push(grad(|x: &Vec<Tensor>| vmap(call)(x)?[0].sum())(&x).unwrap_err());
    found.push(vmap(|x: &Vec<Tensor>| grad(total(f))(x))(&x).unwrap_err());
    found.push(vmap(vmap(call))(&lanes(&x)).unwrap_err());
    for e in found {
        assert!(e.is_rule() && e.to_string().contains(text), "expected `{text}` in `{e}`");
        assert!(e.to_string().contains("`vmap` of function `Custom`"), "{e}");
    }
}

fn rows() -> Tensor {
    Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
}

#[test]
fn f42_one_batch_dim_for_each_output() {
    let text = "expected one batch dim for each of 1 outputs, got";
    batching_says(|_, _, x| Ok((vec![x[0].mul(2.0)?], vec![])), &[rows()], &format!("{text} 0"));
    batching_says(|_, _, x| Ok((vec![x[0].mul(2.0)?], vec![Some(0), Some(0)])), &[rows()], &format!("{text} 2"));
}

#[test]
fn f43_f49_a_batch_dim_that_is_out_of_range() {
    let text = "batch dim 2 of output 0 is out of range for f64[2,3]";
    batching_says(|_, _, x| Ok((vec![x[0].mul(2.0)?], vec![Some(2)])), &[rows()], text);
    let text = "batch dim 0 of output 0 is out of range for f64[]";
    batching_says(|_, _, x| Ok((vec![x[0].sum()?], vec![Some(0)])), &[rows()], text);
}

#[test]
fn f45_f49_a_batch_size_that_is_wrong() {
    let text = "expected batch size 2 at dim 1 of output 0, got 3 (f64[2,3])";
    batching_says(|_, _, x| Ok((vec![x[0].mul(2.0)?], vec![Some(1)])), &[rows()], text);
    let text = "expected batch size 2 at dim 0 of output 0, got 1 (f64[1,3])";
    batching_says(|_, _, x| Ok((vec![x[0].narrow(0, 0, 1)?], vec![Some(0)])), &[rows()], text);
    let text = "expected batch size 2 at dim 0 of output 0, got 3 (f64[3])";
    batching_says(|_, _, x| Ok((vec![x[0].select(0, 0)?], vec![Some(0)])), &[rows()], text);
}

#[test]
fn f46_an_input_returned_as_it_came_keeps_its_dim() {
    let square = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    let text = "output 0 is input 0 as it came (f64[2,2]), so its batch dim is 0, got 1";
    batching_says(|_, _, x| Ok((vec![x[0].clone()], vec![Some(1)])), &[square.clone()], text);
    let text = "output 0 is input 0 as it came (f64[2,2]), so its batch dim is 0, got none";
    batching_says(|_, _, x| Ok((vec![x[0].clone()], vec![None])), &[square.clone()], text);
    // One that has no lanes must not get some.
    let same = |dims: Batching| {
        let f = Custom { vmap: Some(dims), ..DOUBLE };
        Vmap::new().in_dims(vec![Some(0), None]).of(move |x: &Vec<Tensor>| f.apply(x))
    };
    let args = vec![Tensor::from([5.0, 6.0]), square.clone()];
    let e = same(|_, _, x| Ok((vec![x[1].clone()], vec![Some(0)])))(&args).unwrap_err();
    assert!(
        e.to_string().contains("output 0 is input 1 as it came (f64[2,2]), so its batch dim is none, got 0"),
        "{e}"
    );
    assert_eq!(same(|_, _, x| Ok((vec![x[1].clone()], vec![None])))(&args).unwrap()[0].shape(), [2, 2, 2]);
    // One tensor as two arguments, with lanes at different dims: both are right.
    let f = Custom { vmap: Some(|_, _, x| Ok((vec![x[0].clone()], vec![Some(1)]))), ..DOUBLE };
    let twice = Vmap::new().in_dims(vec![Some(0), Some(1)]).of(move |x: &Vec<Tensor>| f.apply(x));
    assert_eq!(values(&twice(&vec![square.clone(), square.clone()]).unwrap()[0]), [1.0, 3.0, 2.0, 4.0]);
    // With a single lane both dims can mean the same elements.
    let f = Custom { vmap: Some(|_, _, x| Ok((vec![x[0].clone()], vec![Some(1)]))), ..DOUBLE };
    assert_eq!(values(&vmap(|x: &Vec<Tensor>| f.apply(x))(&vec![Tensor::from([[7.0]])]).unwrap()[0]), [7.0]);
}

#[test]
fn f47_the_number_of_outputs_is_that_of_the_type() {
    // Lists are as long as the rule says: `forward` does not run. What depends on them notices.
    let f = Custom { vmap: Some(|_, d, x| Ok((vec![x[0].mul(2.0)?; 2], vec![d[0]; 2]))), ..DOUBLE };
    assert_eq!(vmap(|x: &Vec<Tensor>| f.apply(x))(&vec![rows()]).unwrap().len(), 2);
    // The checker, which calls both, does not let that pass; `tests/tester` has the case.
    assert!(!testing::check_function(&f, &vec![vector()]).unwrap().is_ok());
}

#[test]
fn f61_marks_hold_under_the_generated_rule_and_for_any_dtype() {
    let f = Custom {
        forward: |x| Ok(vec![x[0].mul(3.0)?, x[0].mul(2.0)?, x[0].to_dtype(DType::I32)?]),
        marks: &[0, 2],
        backward: |_, g| {
            assert!(g[0].is_zero() && g[2].is_zero(), "marked outputs receive zeros");
            Ok(vec![&g[1] * 2.0])
        },
        vmap: None,
    };
    let x = vec![vector()];
    let xs = lanes(&x);
    let marked = total(f);
    let both = move |x: &Vec<Tensor>| {
        let y = f.apply(x)?;
        y[0].add(&y[1])?.sum()
    };
    assert_eq!(values(&grad(&marked)(&x).unwrap()[0]), [0.0; 3]);
    assert_eq!(values(&grad(both)(&x).unwrap()[0]), [2.0; 3]);
    for (f, want) in [(&marked as &dyn Fn(&Vec<Tensor>) -> Result<Tensor>, 0.0), (&both, 2.0)] {
        assert_eq!(values(&vmap(grad(f))(&xs).unwrap()[0]), [want; 6]);
        assert_eq!(values(&grad(|xs: &Vec<Tensor>| vmap(f)(xs)?.sum())(&xs).unwrap()[0]), [want; 6]);
        assert_eq!(values(&vmap(|x: &Vec<Tensor>| Ok(jvp(f, x, &vec![vector()])?.1))(&xs).unwrap()), [want * 6.0; 2]);
        let through = jvp(|xs: &Vec<Tensor>| vmap(f)(xs)?.sum(), &xs, &xs).unwrap().1;
        assert_eq!(value(&through), want * 18.0);
        let twice = vmap(vmap(grad(f)))(&lanes(&xs)).unwrap();
        assert_eq!(values(&twice[0]), [want; 12]);
    }
    let beyond = Custom { marks: &[1], ..DOUBLE };
    let e = grad(total(beyond))(&x).unwrap_err();
    assert!(e.to_string().contains("output 1 does not exist, the function has 1 outputs"), "{e}");
}

#[test]
fn needs_input_grad_level_by_level() {
    /// `a·b`, which writes down what is needed each time it saves and each time a rule runs.
    #[derive(Clone, Default)]
    struct Noted(Arc<Mutex<Vec<(char, bool, bool)>>>);
    impl Noted {
        fn note(&self, method: char, ctx: &Context<Self>) {
            let (a, b) = *ctx.needs_input_grad();
            self.0.lock().unwrap().push((method, a, b));
        }
        fn take(&self) -> Vec<(char, bool, bool)> {
            std::mem::take(&mut self.0.lock().unwrap())
        }
    }
    impl Function for Noted {
        type Inputs = (Tensor, Tensor);
        type Outputs = Tensor;
        type Saved = (Tensor, Tensor);
        fn forward(&self, (a, b): &(Tensor, Tensor)) -> Result<Tensor> {
            a.mul(b)
        }
        fn setup_context(&self, ctx: &mut Context<Self>, x: &Self::Inputs, _: &Tensor) -> Result<Self::Saved> {
            self.note('s', ctx);
            Ok(x.clone())
        }
        fn backward(
            &self,
            ctx: &Context<Self>,
            (a, b): &Self::Saved,
            g: Cotangent,
        ) -> Result<Cotangents<Self::Inputs>> {
            self.note('b', ctx);
            Ok((&g * b, &g * a))
        }
        fn jvp(&self, ctx: &Context<Self>, (a, b): &Self::Saved, (s, t): Tangents<Self::Inputs>) -> Result<Tangent> {
            self.note('j', ctx);
            Ok(s * b + t * a)
        }
    }
    let f = Noted::default();
    let call = |a: &Tensor, b: &Tensor| f.apply(&(a.clone(), b.clone()));
    let x = Tensor::from(3.0);
    let xs = Tensor::from([1.0, 2.0]);
    call(&x, &x).unwrap();
    assert_eq!(f.take(), [], "nothing is saved if nothing is differentiated");
    grad(|a: &Tensor| call(a, &x))(&x).unwrap();
    assert_eq!(f.take(), [('s', true, false), ('b', true, false)]);
    forward(|b: &Tensor| call(&x, b))(&x).unwrap();
    assert_eq!(f.take(), [('s', false, true), ('j', false, true)]);
    // The outer level sees `a`, the inner one `b`; only the inner rule runs, and the outer level differentiates it.
    grad(|a: &Tensor| grad(|b: &Tensor| call(a, b))(&x))(&x).unwrap();
    assert_eq!(f.take(), [('s', true, false), ('s', false, true), ('b', false, true)]);
    // A value of the outer level only: the inner level has no part in it.
    grad(|a: &Tensor| grad(|b: &Tensor| call(a, a)?.add(b))(&x)?.add(&call(a, &x)?))(&x).unwrap();
    assert_eq!(f.take().iter().filter(|n| n.0 == 's').collect::<Vec<_>>(), [&('s', true, true), &('s', true, false)]);
    // Lanes change nothing.
    vmap(grad(|a: &Tensor| call(a, &x)))(&xs).unwrap();
    assert_eq!(f.take(), [('s', true, false), ('b', true, false)]);
    grad(|b: &Tensor| vmap(|a: &Tensor| call(a, b))(&xs)?.sum())(&x).unwrap();
    assert_eq!(f.take(), [('s', false, true), ('b', false, true)]);
}
