//! What cannot be computed right is an error that says so, and leaves everything as it was.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pullback::implicit::{self, LinearSolve, LinearSolver, Root};
use pullback::{DType, Error, ErrorKind, Function, Result, Tensor, grad, jvp, vmap};

use super::{heron, number, square_is};

fn opaque(a: &Tensor) -> Result<Tensor> {
    Ok(Tensor::from(heron(a.item::<f64>()?)))
}

#[track_caller]
fn fails<T: std::fmt::Debug>(result: Result<T>, kind: ErrorKind, text: &str) -> Error {
    let e = result.unwrap_err();
    assert_eq!(e.kind(), kind, "{e}");
    assert!(e.to_string().contains(text), "{e}");
    e
}

#[test]
fn captured_parameters_are_errors() {
    let a = Tensor::from(4.0);
    // The equation captures what is differentiated; the parameter may depend on it or not.
    type Equation = fn(&Tensor) -> Result<Tensor>;
    let (alone, also): (Equation, Equation) = (|_| Ok(Tensor::from(1.0)), |c| c.mul(2.0));
    for parameter in [alone, also] {
        let by_equation = |c: &Tensor| {
            let held = c.clone();
            let root = implicit::root(
                move |p: &Tensor, x: &Tensor| x.square()?.sub(p)?.sub(&held),
                |_: &Tensor| Ok(Tensor::from(2.0)),
            );
            root(&parameter(c)?)
        };
        let by_solver = |c: &Tensor| {
            let held = c.clone();
            let root = implicit::root(square_is, move |_: &Tensor| opaque(&held));
            root(&parameter(c)?)
        };
        let by_product = |c: &Tensor| {
            let held = c.clone();
            let solve = |_: &Tensor, b: &Tensor| Ok(b.clone());
            let system = implicit::linear_solve(move |p: &Tensor, x: &Tensor| x.mul(&held)?.mul(p), solve);
            system(&(parameter(c)?, Tensor::from(1.0)))
        };
        let by_dense = |c: &Tensor| {
            let held = c.clone();
            LinearSolve::new(move |p: &Tensor, x: &Tensor| x.mul(&held)?.mul(p))
                .apply(&(parameter(c)?, Tensor::from(1.0)))
        };
        let text = "pass it to the function as an input";
        fails(grad(by_equation)(&a), ErrorKind::CapturedTracer, text);
        fails(jvp(by_equation, &a, &a), ErrorKind::CapturedTracer, text);
        fails(vmap(by_equation)(&Tensor::from([1.0, 2.0])), ErrorKind::CapturedTracer, text);
        fails(grad(by_product)(&a), ErrorKind::CapturedTracer, text);
        fails(jvp(by_dense, &a, &a), ErrorKind::CapturedTracer, text);
        fails(vmap(by_dense)(&Tensor::from([1.0, 2.0])), ErrorKind::CapturedTracer, text);
        fails(grad(by_solver)(&a), ErrorKind::CapturedTracer, text);
    }
    // As a parameter it is right.
    let root = implicit::root(
        |(p, c): &(Tensor, Tensor), x: &Tensor| x.square()?.sub(p)?.sub(c),
        |(p, c): &(Tensor, Tensor)| opaque(&p.add(c)?),
    );
    let f = |c: &Tensor| root(&(Tensor::from(0.0), c.clone()));
    assert_eq!(number(&grad(f)(&a).unwrap()), 0.25);
}

#[test]
fn constants_may_be_captured() {
    let three = Tensor::from(3.0);
    let root = implicit::root(move |p: &Tensor, x: &Tensor| x.mul(&three)?.sub(p), |p: &Tensor| p.div(3.0));
    assert_eq!(number(&grad(&root)(&Tensor::from(6.0)).unwrap()), 1.0 / 3.0);
}

#[test]
fn an_equation_that_reads_raw_data_has_no_derivative() {
    let root =
        implicit::root(|a: &Tensor, x: &Tensor| Ok(Tensor::from(x.item::<f64>()?.powi(2) - a.item::<f64>()?)), opaque);
    let a = Tensor::from(4.0);
    assert_eq!(number(&root(&a).unwrap()), 2.0);
    fails(grad(&root)(&a), ErrorKind::ConcreteValueNeeded, "item");
    fails(jvp(&root, &a, &a), ErrorKind::ConcreteValueNeeded, "item");
}

#[test]
fn types_that_do_not_fit() {
    let a = Tensor::from([4.0, 9.0]);
    let root = |f: fn(&Tensor, &Tensor) -> Result<Tensor>| implicit::root(f, |a: &Tensor| a.sqrt())(&a);
    let text = "`forward` of function `root`: expected a residual like x, which is f64[2] at x, got";
    fails(root(|a, x| x.sub(a)?.sum()), ErrorKind::Shape, &format!("{text} f64[]"));
    fails(root(|a, x| x.sub(a)?.to_dtype(DType::F32)), ErrorKind::Dtype, &format!("{text} f32[2]"));
    let whole = implicit::root(|_: &Tensor, x: &Tensor| Ok(x.clone()), |a: &Tensor| a.to_dtype(DType::I64));
    fails(whole(&a), ErrorKind::Dtype, "expected floating-point tensors, got i64[2] at x");
    let list = implicit::root(
        |a: &Tensor, x: &Vec<Tensor>| Ok(vec![x[0].sub(a)?]),
        |a: &Tensor| Ok(vec![a.clone(), a.clone()]),
    );
    fails(list(&a), ErrorKind::Arity, "expected a residual like x, with tensors at the places of");
    let next = Root::iterate(|_: &Tensor, x: &Tensor| x.sum(), |a: &Tensor| Ok(a.clone()));
    fails(next.apply(&a), ErrorKind::Shape, "expected a next value like x");
    let system = LinearSolve::new(|_: &Tensor, x: &Tensor| x.sum());
    fails(system.apply(&(a.clone(), a.clone())), ErrorKind::Shape, "expected a product like x");
    let solve = implicit::linear_solve(|_: &Tensor, x: &Tensor| Ok(x.clone()), |_: &Tensor, b: &Tensor| b.sum());
    fails(
        solve(&(a.clone(), a.clone())),
        ErrorKind::Shape,
        "expected a solution like x, which is f64[2] at x, got f64[]",
    );
    let whole = LinearSolve::new(|_: &Tensor, x: &Tensor| Ok(x.clone()));
    fails(whole.apply(&(a.clone(), Tensor::from([1i64]))), ErrorKind::Dtype, "got i64[1] at b");
}

#[test]
fn searches_that_do_not_arrive() {
    let a = Tensor::from(4.0);
    let start = |a: &Tensor| a.ones_like();
    // x ← a/x alternates for ever.
    let e = fails(
        Root::iterate(|a: &Tensor, x: &Tensor| a.div(x), start).max_iterations(7).apply(&a),
        ErrorKind::Value,
        "expected an iteration that comes to rest, got a step of 3.0e0 after 7 steps, where the tolerance is 1.0e-12",
    );
    assert!(
        e.to_string().starts_with("`forward` of function `fixed_point` > `forward` of function `iterate`: "),
        "{e}"
    );
    let grows = Root::iterate(|a: &Tensor, x: &Tensor| x.square()?.add(a), start);
    fails(grows.apply(&a), ErrorKind::Value, "not finite after");
    let none = Root::newton(|a: &Tensor, x: &Tensor| x.square()?.add(a), start).name("nowhere");
    let e = fails(none.apply(&a), ErrorKind::Value, "a residual of");
    assert!(e.to_string().starts_with("`forward` of function `nowhere` > `forward` of function `newton`"), "{e}");
    let slow = Root::newton(square_is, start).max_iterations(2);
    fails(slow.apply(&a), ErrorKind::Value, "expected a root within 2 steps");
    let flat = Root::newton(square_is, |a: &Tensor| a.zeros_like());
    fails(flat.apply(&a), ErrorKind::Value, "singular to working precision");
    // One lane that does not arrive is an error, as in a loop.
    fails(vmap(|a: &Tensor| slow.apply(a))(&Tensor::from([1.0, 2.0])), ErrorKind::Value, "within 2 steps");
    for wrong in [f64::NAN, -1.0, f64::INFINITY] {
        let root = Root::newton(square_is, start).tolerance(wrong);
        fails(root.apply(&a), ErrorKind::Value, "expected a finite `tolerance` that is not negative, got");
    }
}

#[test]
fn linear_systems_without_a_solution() {
    let system = LinearSolve::new(|a: &Tensor, x: &Tensor| a.matmul(x));
    let (a, b) = (Tensor::from([[1.0, 2.0], [2.0, 4.0]]), Tensor::from([1.0, 1.0]));
    let at = (a, b);
    fails(system.apply(&at), ErrorKind::Value, "got a matrix of size 2 that is singular");
    let solve = |solver| system.clone().linear_solver(solver).apply(&at);
    fails(solve(LinearSolver::gmres()), ErrorKind::Value, "the matrix is singular, or close to it");
    let indefinite = (Tensor::from([[1.0, 0.0], [0.0, -1.0]]), at.1.clone());
    let cg = system.clone().linear_solver(LinearSolver::cg());
    fails(cg.apply(&indefinite), ErrorKind::Value, "not positive definite");
    let nan = solve(LinearSolver::gmres().nan_on_failure()).unwrap().to_vec::<f64>().unwrap();
    assert!(nan.iter().all(|v| v.is_nan()), "{nan:?}");
    for wrong in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
        fails(
            solve(LinearSolver::gmres().tolerance(wrong)),
            ErrorKind::Value,
            "expected a positive, finite `tolerance`",
        );
    }
    fails(solve(LinearSolver::gmres().restart(0)), ErrorKind::Value, "expected `restart` to be at least 1, got 0");
    let well = (Tensor::from([[2.0, 1.0], [0.5, 3.0]]), at.1.clone());
    let short = system.clone().linear_solver(LinearSolver::gmres().max_iterations(1));
    fails(short.apply(&well), ErrorKind::Value, "after 1 iterations");
}

#[test]
fn errors_and_panics_of_a_solver_pass_through() {
    #[derive(Debug)]
    struct Own;
    impl std::fmt::Display for Own {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("own")
        }
    }
    impl std::error::Error for Own {}
    let root = implicit::root(square_is, |a: &Tensor| {
        let value = a.item::<f64>()?;
        assert!(value >= 0.0, "negative");
        if value == 0.0 { Err(Error::other(Own)) } else { Ok(Tensor::from(heron(value))) }
    });
    let e = grad(&root)(&Tensor::from(0.0)).unwrap_err();
    assert!(e.downcast_ref::<Own>().is_some(), "{e}");
    assert!(vmap(grad(&root))(&Tensor::from([4.0, 0.0])).unwrap_err().downcast_ref::<Own>().is_some());
    let run = AssertUnwindSafe(|| vmap(grad(&root))(&Tensor::from([4.0, -1.0])));
    let panics = catch_unwind(run);
    assert!(panics.is_err());
    assert_eq!(number(&grad(&root)(&Tensor::from(4.0)).unwrap()), 0.25);
}
