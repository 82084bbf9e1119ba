//! Checks of derivatives alone, and checks that could check nothing.

use pullback::testing::{GradCheck, check_function, gradcheck, gradgradcheck};
use pullback::{Context, Cotangents, DType, ErrorKind, Function, Result, Tensor, stack};

use super::functions::{Pair, report, x};

#[test]
fn gradcheck_has_options() {
    let f = |(a, b): &Pair| a.mul(b)?.sin();
    for fast in [false, true] {
        for seed in 0..3 {
            let check = GradCheck::new().fast(fast).seed(seed).check_batched(!fast);
            check.run(f, &x()).unwrap().into_result().unwrap();
            check.second_order(f, &x()).unwrap().into_result().unwrap();
        }
    }
    gradcheck(f, &x()).unwrap().into_result().unwrap();
    gradgradcheck(f, &x()).unwrap().into_result().unwrap();
    // Half of the derivative is lost.
    let lost = |(a, b): &Pair| a.mul(&a.detach()?)?.mul(b);
    for fast in [false, true] {
        let report = GradCheck::new().fast(fast).run(lost, &x()).unwrap();
        let text = report.finding("vjp_matches_differences").unwrap();
        assert!(text.contains("reverse mode: output 0 by input 0 is wrong") && text.contains("| rule"), "{text}");
        assert!(report.finding("jvp_matches_differences").is_some(), "{report}");
    }
    // A tolerance that allows it.
    let report = GradCheck::new().rtol(0.6).atol(0.1).eps(1e-5).fast(true).run(lost, &x()).unwrap();
    assert!(report.is_ok(), "{report}");
    // Lost only in the second derivative.
    let second = |(a, _): &Pair| {
        let slope = a.detach()?;
        a.mul(&slope)?.mul(2.0)?.sub(slope.mul(&slope)?)
    };
    assert!(gradcheck(second, &x()).unwrap().is_ok());
    for fast in [false, true] {
        let report = GradCheck::new().fast(fast).second_order(second, &x()).unwrap();
        assert!(report.finding("vjp_of_vjp_matches_differences").is_some(), "{report}");
        assert!(report.finding("jvp_of_vjp_matches_differences").is_some(), "{report}");
    }
}

#[test]
fn gradcheck_says_what_is_wrong_with_a_point() {
    let report = gradcheck(|x: &Tensor| x.relu()?.mul(2.0), &Tensor::from([1.0, 0.0])).unwrap();
    let text = report.finding("vjp_matches_differences").unwrap();
    let want = "the function has a kink at input 0, element 1: the slope of output 0, element 1, is 0.0000 to the left \
                and 2.0000 to the right; choose another point";
    assert!(text.contains(want), "{text}");
    let e = gradcheck(|x: &Tensor| x.sin(), &Tensor::from([1.0f32])).unwrap_err();
    assert!(e.is_dtype() && e.to_string().contains("got f32[1] at argument, which has too few digits"), "{e}");
    let e = gradcheck(|x: &Tensor| x.add(1), &Tensor::from([1i64])).unwrap_err();
    assert!(e.to_string().contains("nothing to differentiate"), "{e}");
    let e = gradcheck(|x: &Tensor| x.gt(0.0), &Tensor::from([1.0])).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotDifferentiable, "{e}");
}

#[test]
fn large_jacobians_are_cut() {
    let x = Tensor::from((0..12).map(f64::from).collect::<Vec<_>>());
    let report = gradcheck(|x: &Tensor| stack(&[&x.mul(&x.detach()?)?, x], 0), &x).unwrap();
    let text = report.finding("vjp_matches_differences").unwrap();
    assert!(text.lines().count() <= 11 && text.contains("… (24 rows, 12 columns)"), "{text}");
}

#[test]
fn gradcheck_refuses_options_that_check_nothing() {
    let refused = |check: GradCheck, text: &str| {
        for (name, found) in [
            ("gradcheck", check.run(|x: &Tensor| x.sin(), &Tensor::from(0.3))),
            ("gradgradcheck", check.second_order(|x: &Tensor| x.sin(), &Tensor::from(0.3))),
        ] {
            let e = found.unwrap_err();
            assert_eq!((e.kind(), e.to_string()), (ErrorKind::Value, format!("{name}: expected {text}")));
        }
    };
    for (eps, shown) in [(0.0, "0"), (-1e-6, "-0.000001"), (f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
        refused(GradCheck::new().eps(eps), &format!("a positive, finite step `eps`, got {shown}"));
    }
    for (value, shown) in [(-1.0, "-1"), (f64::NAN, "NaN"), (f64::INFINITY, "inf"), (f64::NEG_INFINITY, "-inf")] {
        let want = |option| format!("a tolerance `{option}` that is finite and not negative, got {shown}");
        refused(GradCheck::new().atol(value), &want("atol"));
        refused(GradCheck::new().rtol(value), &want("rtol"));
    }
    // No tolerance is a tolerance: the identity is exact in binary steps.
    let exact = GradCheck::new().eps(0.5).atol(0.0).rtol(0.0);
    exact.run(|x: &Tensor| x.mul(2.0), &Tensor::from([1.0, 2.0])).unwrap().into_result().unwrap();
}

/// The identity of any tree, by a function.
#[derive(Clone)]
struct Same;

impl Function for Same {
    type Inputs = Vec<Tensor>;
    type Outputs = Vec<Tensor>;
    type Saved = ();
    fn forward(&self, x: &Vec<Tensor>) -> Result<Vec<Tensor>> {
        Ok(x.clone())
    }
    fn setup_context(&self, _: &mut Context<Self>, _: &Vec<Tensor>, _: &Vec<Tensor>) -> Result<()> {
        Ok(())
    }
    fn backward(&self, _: &Context<Self>, _: &(), g: Cotangents<Vec<Tensor>>) -> Result<Cotangents<Vec<Tensor>>> {
        Ok(g)
    }
}

#[test]
fn checks_of_nothing_are_errors() {
    let same = |x: &Vec<Tensor>| Ok(x.clone());
    let refused = |x: Vec<Tensor>, kind: ErrorKind, text: &str| {
        let found = [
            ("gradcheck", gradcheck(same, &x)),
            ("gradgradcheck", gradgradcheck(same, &x)),
            ("check_function", check_function(&Same, &x)),
        ];
        for (name, found) in found {
            let e = found.unwrap_err();
            assert_eq!((e.kind(), e.to_string()), (kind, format!("{name}: expected {text}")));
        }
    };
    let nothing =
        |got: &str| format!("an f64 tensor among the inputs, got {got}, so there is nothing to differentiate");
    refused(vec![], ErrorKind::Arity, &nothing("no tensors"));
    refused(vec![Tensor::from([1i64, 2]), Tensor::from(true)], ErrorKind::Arity, &nothing("i64[2], bool[]"));
    let empty = Tensor::zeros(&[0, 3], DType::F64).unwrap();
    let text = "an f64 input with elements, got f64[0,3], so there is nothing to compare";
    refused(vec![empty.clone(), Tensor::from(3i64)], ErrorKind::Value, text);
    // One that has elements is enough.
    assert!(report(&Same, &vec![empty, Tensor::from(1.0)]).is_ok());
    let e = gradcheck(|x: &Tensor| x.narrow(0, 0, 0), &Tensor::from([1.0])).unwrap_err();
    let text = "gradcheck: expected a floating output with elements, got f64[0], so there is nothing to compare";
    assert_eq!((e.kind(), e.to_string()), (ErrorKind::Value, text.into()));
}
