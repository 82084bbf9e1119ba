//! What the checkers say where differences tell nothing, so that no rule is blamed for it.

use std::sync::atomic::{AtomicU64, Ordering};

use pullback::testing::{GradCheck, Report, check_function, gradcheck};
use pullback::{Context, Cotangent, DType, Error, ErrorKind, Function, Result, Tensor, vmap};

#[track_caller]
fn both_say(report: &Report, want: &str) {
    for property in ["vjp_matches_differences", "jvp_matches_differences"] {
        let found = report.finding(property).unwrap_or_default();
        assert!(found.contains(want), "{report}");
    }
}

#[test]
fn a_step_that_does_not_move_the_input() {
    for fast in [false, true] {
        let check = GradCheck::new().eps(1e-300).fast(fast);
        let want =
            "a step of 1e-300 does not move input 0, element 0, which is 0.5: choose a larger `eps`, or another point";
        both_say(&check.run(|x: &Tensor| x.sin(), &Tensor::from([0.5, 0.0])).unwrap(), want);
    }
    let report = gradcheck(|x: &Tensor| x.mul(3.0), &Tensor::from([1.0, 1e20])).unwrap();
    both_say(&report, "a step of 1e-6 does not move input 0, element 1, which is 1e20");
}

#[test]
fn a_point_that_is_not_finite_or_outside_the_domain() {
    let report = gradcheck(|x: &Tensor| x.square(), &Tensor::from([1.0, f64::INFINITY])).unwrap();
    both_say(&report, "input 0, element 1, is inf, where there are no differences; choose another point");
    let report = gradcheck(|x: &Tensor| x.log(), &Tensor::from([1.0, -1.0])).unwrap();
    both_say(&report, "output 0, element 1, is NaN, where there are no differences; choose another point");
    let narrow = |x: &Tensor| {
        if x.to_vec::<f64>()?[0] < 0.9 { Err(Error::other("too small")) } else { x.square() }
    };
    let report = gradcheck(narrow, &Tensor::from([0.9])).unwrap();
    both_say(&report, "where input 0 is moved by -1e-6: too small (error of kind User)");
}

#[test]
fn an_output_with_few_digits() {
    let narrow = |x: &Tensor| Ok((x.square()?, x.to_dtype(DType::F32)?));
    let report = gradcheck(narrow, &Tensor::from([0.5, 1.25])).unwrap();
    both_say(
        &report,
        "(this output is not f64, so the differences have few digits: return it as f64, or choose a larger",
    );
    let coarse = GradCheck::new().eps(1e-2).rtol(1e-3).fast(true).run(narrow, &Tensor::from([0.5, 1.25])).unwrap();
    assert_eq!(coarse.finding("vjp_matches_differences"), None, "{coarse}");
}

#[test]
fn another_number_of_outputs_each_time() {
    #[derive(Clone)]
    struct Growing;
    static CALLS: AtomicU64 = AtomicU64::new(0);
    impl Function for Growing {
        type Inputs = Tensor;
        type Outputs = Vec<Tensor>;
        type Saved = Tensor;
        fn forward(&self, x: &Tensor) -> Result<Vec<Tensor>> {
            let n = CALLS.fetch_add(1, Ordering::Relaxed);
            Ok(vec![x.square()?; 1 + n as usize % 3])
        }
        fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Vec<Tensor>) -> Result<Tensor> {
            Ok(x.clone())
        }
        fn backward(&self, _: &Context<Self>, x: &Tensor, g: Vec<Cotangent>) -> Result<Cotangent> {
            Ok(g.into_iter().fold(Cotangent::zero(), |sum, g| sum + g * x * 2.0))
        }
    }
    let report = check_function(&Growing, &Tensor::from([0.9, 1.0])).unwrap();
    assert!(!report.is_ok() && !report.to_string().contains("panicked"), "{report}");
    assert!(report.finding("repeats_exactly").is_some(), "{report}");
    assert!(report.to_string().contains("expected the same outputs every time"), "{report}");
}

#[test]
fn a_fast_check_finds_that_calls_differ() {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let drifting = |x: &Tensor| x.mul(CALLS.fetch_add(1, Ordering::Relaxed) as f64);
    let report = GradCheck::new().fast(true).run(drifting, &Tensor::from([0.9, 1.0])).unwrap();
    assert!(report.finding("repeats_exactly").is_some(), "{report}");
}

#[test]
fn batched_inputs_are_refused() {
    let x = Tensor::from([[0.5, 1.0]]);
    let e = vmap(|x: &Tensor| {
        gradcheck(|x: &Tensor| x.sin(), x)?;
        Ok(x.clone())
    })(&x)
    .unwrap_err();
    assert!(e.kind() == ErrorKind::ConcreteValueNeeded && e.to_string().starts_with("vmap > gradcheck: "), "{e}");
}
