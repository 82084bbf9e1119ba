//! `no_grad` and `enable_grad`, and the table of their interplay with transforms.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pullback::autograd::{self, GradMode, enable_grad, no_grad};
use pullback::{Error, Function, Result, Tensor, grad, hessian, jacfwd, jacrev, jvp, value_and_grad, vjp, vmap};

use crate::{Cube, Exp, close, grad_of, scalar, value, values, vector};

fn one() -> Tensor {
    Tensor::from(1.0)
}

/// The gradient of a function of a number by every transform that takes one.
fn by_every_mode(f: impl Fn(&Tensor) -> Result<Tensor>, x: f64) -> Vec<f64> {
    let x = Tensor::from(x);
    let all = [
        grad(&f)(&x),
        jacrev(&f)(&x),
        vjp(&f, &x).and_then(|(_, pull)| pull.call(&one())),
        jacfwd(&f)(&x),
        jvp(&f, &x, &one()).map(|(_, dy)| dy),
        vmap(grad(&f))(&x.unsqueeze(0).unwrap()).and_then(|d| d.i(0)),
    ];
    all.into_iter().map(|d| value(&d.unwrap())).collect()
}

#[test]
fn row_1_outside_the_transform_it_is_ignored_and_the_result_is_a_constant_for_leaves() {
    let w = scalar(3.0);
    let f = |x: &Tensor| x.mul(x)?.mul(&w);
    no_grad(|| assert_eq!(by_every_mode(f, 2.0), [12.0; 6]));
    let (y, dy) = no_grad(|| value_and_grad(f)(&Tensor::from(2.0))).unwrap();
    assert!(!y.requires_grad() && !dy.requires_grad());
    // Without it, both depend on the leaf.
    let (y, dy) = value_and_grad(f)(&Tensor::from(2.0)).unwrap();
    assert!(y.requires_grad() && dy.requires_grad());
    dy.backward().unwrap();
    assert_eq!(grad_of(&w), [4.0]);
}

#[test]
fn c88_a_transform_wins_over_the_mode_around_it() {
    let x = Tensor::from([1.0, 2.0, 3.0]);
    let _guard = GradMode::off();
    let f = |x: &Tensor| x.square();
    assert_eq!(values(&grad(|x: &Tensor| f(x)?.sum())(&x).unwrap()), [2.0, 4.0, 6.0]);
    assert_eq!(values(&jvp(f, &x, &x.ones_like().unwrap()).unwrap().1), [2.0, 4.0, 6.0]);
    assert_eq!(values(&vmap(grad(f))(&x).unwrap()), [2.0, 4.0, 6.0]);
    assert_eq!(value(&grad(grad(|x: &Tensor| x.square()))(&one()).unwrap()), 2.0);
    assert_eq!(values(&hessian(|x: &Tensor| x.square()?.sum())(&x).unwrap())[0], 2.0);
    assert_eq!(value(&grad(|x: &Tensor| Exp.apply(&Cube.apply(x)?))(&one()).unwrap()), 3.0 * 1f64.exp());
}

#[test]
fn row_2_inside_the_function_the_region_is_constant_in_both_modes() {
    // PyTorch's forward mode sees through it; here modes agree.
    let f = |x: &Tensor| no_grad(|| x.square())?.add(&x.mul(3.0)?);
    assert_eq!(by_every_mode(f, 2.0), [3.0; 6]);
    assert_eq!(value(&hessian(f)(&Tensor::from(2.0)).unwrap()), 0.0);
    let g = |x: &Tensor| no_grad(|| Cube.apply(x))?.mul(x);
    assert_eq!(by_every_mode(g, 2.0), [8.0; 6]);
    // For every order of modes the derivative of x·c is c, and of that, 0.
    let x = Tensor::from(2.0);
    for second in [grad(grad(g))(&x), jacfwd(grad(g))(&x), grad(jacfwd(g))(&x), jacfwd(jacfwd(g))(&x)] {
        assert_eq!(value(&second.unwrap()), 0.0);
    }
}

#[test]
fn row_2_the_region_is_constant_for_all_levels_already_active() {
    let w = scalar(3.0);
    let x = Tensor::from(2.0);
    // Two levels and a leaf around it.
    let f = |x: &Tensor| {
        let inner = |y: &Tensor| no_grad(|| y.mul(x)?.mul(&w))?.add(&y.mul(x)?.mul(&w)?);
        grad(inner)(x)
    };
    // d/dy = w x, so d/dx of that is w.
    assert_eq!(value(&f(&x).unwrap()), 6.0);
    let slope = grad(f)(&x).unwrap();
    assert_eq!(value(&slope), 3.0);
    slope.backward().unwrap();
    assert_eq!(grad_of(&w), [1.0]);
}

#[test]
fn row_3_a_grad_called_in_the_region_works_and_is_constant_outside() {
    let f = |x: &Tensor| no_grad(|| grad(|y: &Tensor| y.mul(y)?.mul(x))(x))?.mul(x);
    // The inner derivative is 2x² = 8, a constant c; d(c x) = c.
    assert_eq!(by_every_mode(f, 2.0), [8.0; 6]);
    let g = |x: &Tensor| no_grad(|| Ok::<_, Error>(jvp(|y: &Tensor| y.mul(y)?.mul(x), x, &one())?.1))?.mul(x);
    assert_eq!(by_every_mode(g, 2.0), [8.0; 6]);
    let w = scalar(5.0);
    let y = no_grad(|| grad(|x: &Tensor| x.square()?.mul(&w))(&w)).unwrap();
    assert_eq!((value(&y), y.requires_grad()), (50.0, false));
}

#[test]
fn row_4_a_pullback_keeps_to_the_mode_in_which_its_function_ran() {
    let w = scalar(2.0);
    let f = |x: &Tensor| x.sin()?.mul(x);
    let (y, pull) = no_grad(|| vjp(f, &w)).unwrap();
    assert!(!y.requires_grad());
    // PyTorch gives a gradient here that depends on parts of the function only.
    let g = pull.call(&one()).unwrap();
    assert!(!g.requires_grad(), "what was saved is constant, as a whole");
    close(&[value(&g)], &[2f64.sin() + 2.0 * 2f64.cos()]);
    // The other way round.
    let (y, pull) = vjp(f, &w).unwrap();
    assert!(y.requires_grad());
    assert!(!no_grad(|| pull.call(&one())).unwrap().requires_grad());
    assert!(pull.call(&one()).unwrap().requires_grad());
    // And between two transforms.
    let h = |x: &Tensor| {
        let (_, pull) = no_grad(|| vjp(f, x))?;
        pull.call(&one())
    };
    assert_eq!(by_every_mode(h, 2.0), [0.0; 6]);
}

#[test]
fn enable_grad_undoes_what_was_switched_off_in_the_same_function() {
    let w = scalar(3.0);
    let y = no_grad(|| enable_grad(|| w.square())).unwrap();
    assert!(y.requires_grad());
    let f = |x: &Tensor| no_grad(|| enable_grad(|| x.square()));
    assert_eq!(by_every_mode(f, 2.0), [4.0; 6]);
    // The caller of a transform has switched it off for what is outside.
    let g = |x: &Tensor| enable_grad(|| x.mul(&w));
    let (y, dy) = no_grad(|| value_and_grad(g)(&Tensor::from(2.0))).unwrap();
    assert_eq!((value(&dy), y.requires_grad(), dy.requires_grad()), (3.0, false, false));
    let h = |x: &Tensor| no_grad(|| grad(|y: &Tensor| enable_grad(|| y.mul(y)?.mul(x)))(x))?.mul(x);
    assert_eq!(by_every_mode(h, 2.0), [8.0; 6]);
    // A vmap is no derivative: inside it, enable_grad undoes what is outside of it.
    let k = |x: &Tensor| no_grad(|| vmap(|t: &Tensor| enable_grad(|| t.mul(x)))(&Tensor::from([1.0, 2.0])))?.sum();
    assert_eq!(value(&grad(k)(&Tensor::from(1.0)).unwrap()), 3.0);
}

#[test]
fn scopes_end_with_errors_and_panics_and_in_any_order() {
    assert!(GradMode::is_on());
    no_grad(|| Err::<(), _>(Error::other("no"))).unwrap_err();
    assert!(GradMode::is_on());
    let panicked = catch_unwind(AssertUnwindSafe(|| no_grad(|| enable_grad(|| no_grad(|| panic!("on purpose"))))));
    assert!(panicked.is_err() && GradMode::is_on());
    let off = GradMode::off();
    let on = GradMode::on();
    assert!(GradMode::is_on());
    let last = GradMode::set(false);
    drop(off);
    assert!(!GradMode::is_on());
    drop(last);
    assert!(GradMode::is_on());
    drop(on);
    assert!(GradMode::is_on());
    // A guard that outlives the function that made it holds on.
    let mut kept = None;
    let slope = grad(|x: &Tensor| {
        let y = x.square()?;
        Ok(y)
    })(&Tensor::from(2.0))
    .unwrap();
    assert_eq!(value(&slope), 4.0);
    let cell = std::cell::RefCell::new(&mut kept);
    vmap(|x: &Tensor| {
        **cell.borrow_mut() = Some(GradMode::off());
        Ok(x.clone())
    })(&Tensor::from([1.0]))
    .unwrap();
    assert!(!GradMode::is_on());
    drop(kept);
    assert!(GradMode::is_on());
}

#[test]
fn other_threads_are_not_affected() {
    let w = scalar(3.0);
    let _guard = GradMode::off();
    std::thread::scope(|s| {
        s.spawn(|| assert!(GradMode::is_on() && w.square().unwrap().requires_grad()));
    });
    assert!(!w.square().unwrap().requires_grad());
}

/// A function that holds its weight itself, as layers do.
#[derive(Clone)]
struct Holds(Tensor);

impl Function for Holds {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = ();
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.mul(&self.0)
    }
    fn setup_context(&self, _: &mut pullback::Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
        Ok(())
    }
    fn backward(&self, _: &pullback::Context<Self>, (): &(), g: pullback::Cotangent) -> Result<pullback::Cotangent> {
        g.map(|g| g.mul(&self.0))
    }
}

#[test]
fn a_captured_leaf_is_refused_unless_nothing_could_be_lost() {
    let w = scalar(3.0);
    let f = Holds(w.clone());
    let err = f.apply(&scalar(2.0)).unwrap_err();
    assert_eq!(err.kind(), pullback::ErrorKind::CapturedTracer);
    assert!(err.to_string().contains("requires_grad"), "{err}");
    let y = no_grad(|| f.apply(&Tensor::from(2.0))).unwrap();
    assert_eq!(value(&y), 6.0);
    assert_eq!(value(&no_grad(|| grad(|x: &Tensor| f.apply(x))(&Tensor::from(2.0))).unwrap()), 3.0);
}

#[test]
fn values_of_the_region_are_plain() {
    let x = vector(&[1.0, 2.0]);
    let all = no_grad(|| {
        let mut y = x.square()?;
        y.add_(1.0)?.set_(0, &x.i(1)?)?;
        Ok::<_, Error>((y, x.i(0)?, x.reshape(&[1, 2])?, pullback::stack(&[&x, &x], 0)?))
    })
    .unwrap();
    assert!(!all.0.requires_grad() && !all.1.requires_grad() && !all.2.requires_grad() && !all.3.requires_grad());
    assert_eq!(values(&all.0), [2.0, 5.0]);
    autograd::backward(x.sum().unwrap()).unwrap();
    assert_eq!(grad_of(&x), [1.0, 1.0]);
}
