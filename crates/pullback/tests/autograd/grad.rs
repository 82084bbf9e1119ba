//! `autograd::grad` and its options.

use pullback::autograd::{self, Grad, enable_grad, no_grad};
use pullback::{Context, Cotangent, Cotangents, ErrorKind, Function, Result, Tensor, vmap};

use crate::{Cube, close, refused, scalar, value, values, vector};

#[test]
fn gradients_come_back_as_a_tree_and_accumulate_nowhere() {
    let leaves = autograd::leaf(&(Tensor::from(2.0), vec![Tensor::from(3.0), Tensor::from(5.0)])).unwrap();
    let y = leaves.0.mul(&leaves.1[0]).unwrap().mul(&leaves.1[1]).unwrap();
    let (a, list) = autograd::grad(&y, &leaves).unwrap();
    assert_eq!((value(&a), value(&list[0]), value(&list[1])), (15.0, 10.0, 6.0));
    assert!(leaves.0.grad().unwrap().is_none());
    assert!(!a.requires_grad());
}

#[test]
fn unused_inputs_are_an_error_none_or_zeros() {
    let (x, w) = (scalar(2.0), vector(&[1.0, 2.0]));
    let y = x.square().unwrap();
    let both = (x.clone(), w.clone());
    refused(autograd::grad(&y, &both), ErrorKind::NotDifferentiable, &["input", "1", "f64[2]", "optional"]);
    let (dx, dw) = Grad::new().optional(&y, &both).unwrap();
    assert_eq!(value(&dx.unwrap()), 4.0);
    assert!(dw.is_none());
    let (_, dw) = Grad::new().materialize_grads().of(&y, &both).unwrap();
    assert_eq!(values(&dw), [0.0, 0.0]);
    refused(Grad::new().materialize_grads().optional(&y, &both), ErrorKind::Value, &["materialize_grads"]);
}

#[test]
fn inputs_are_checked() {
    let y = scalar(2.0).square().unwrap();
    refused(autograd::grad(&y, &Vec::<Tensor>::new()), ErrorKind::Arity, &["at least one input"]);
    refused(autograd::grad(&y, &Tensor::from(1.0)), ErrorKind::NotDifferentiable, &["grad", "input", "f64[]"]);
    refused(autograd::grad(&Tensor::from(1.0), &y), ErrorKind::NotDifferentiable, &["output 0"]);
}

#[test]
fn inputs_may_lie_on_the_way_or_be_the_output() {
    let x = scalar(2.0);
    let y = x.square().unwrap();
    let z = y.mul(3.0).unwrap().add(&x).unwrap();
    let (dz, dy, dx) = autograd::grad(&z, &(z.clone(), y.clone(), x.clone())).unwrap();
    assert_eq!((value(&dz), value(&dy), value(&dx)), (1.0, 3.0, 13.0));
    // The same input twice gets the same gradient twice.
    let (a, b) = autograd::grad(&z, &(x.clone(), x)).unwrap();
    assert_eq!((value(&a), value(&b)), (13.0, 13.0));
}

/// The identity, whose backward fails.
#[derive(Clone)]
struct Fails;

impl Function for Fails {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = ();
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.mul(1.0)
    }
    fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
        Ok(())
    }
    fn backward(&self, _: &Context<Self>, (): &(), _: Cotangent) -> Result<Cotangent> {
        Err(pullback::Error::new(ErrorKind::Value, "this must not run"))
    }
}

#[test]
fn nodes_that_lead_to_no_input_do_not_run() {
    let (x, w) = (scalar(2.0), scalar(3.0));
    // Beside the way, and below the input.
    let deep = Fails.apply(&x).unwrap();
    let side = Fails.apply(&w).unwrap();
    let y = deep.square().unwrap().mul(&side).unwrap();
    assert_eq!(value(&autograd::grad(&y, &deep).unwrap()), 12.0);
    refused(
        autograd::grad(&y, &x),
        ErrorKind::Value,
        &["autograd::grad > `backward` of function `Fails`: this must not"],
    );
    refused(y.backward(), ErrorKind::Value, &["backward > `backward` of function `Fails`: this must not"]);
    assert!(x.grad().unwrap().is_none() && w.grad().unwrap().is_none(), "all or nothing");
}

/// a·b, which reports which cotangents its rule was asked for.
#[derive(Clone)]
struct Product;

impl Function for Product {
    type Inputs = (Tensor, Tensor);
    type Outputs = Tensor;
    type Saved = (Tensor, Tensor);
    fn forward(&self, (a, b): &(Tensor, Tensor)) -> Result<Tensor> {
        a.mul(b)
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &(Tensor, Tensor), _: &Tensor) -> Result<(Tensor, Tensor)> {
        Ok(x.clone())
    }
    fn backward(
        &self,
        _: &Context<Self>,
        (a, b): &(Tensor, Tensor),
        g: Cotangent,
    ) -> Result<Cotangents<(Tensor, Tensor)>> {
        Ok((g.map(|g| g.mul(b))?, g.map(|g| g.mul(a))?))
    }
}

#[test]
fn a_panic_in_a_rule_leaves_everything_as_it_was() {
    /// The identity, whose backward panics.
    #[derive(Clone)]
    struct Panics;
    impl Function for Panics {
        type Inputs = Tensor;
        type Outputs = Tensor;
        type Saved = ();
        fn forward(&self, x: &Tensor) -> Result<Tensor> {
            x.mul(1.0)
        }
        fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
            Ok(())
        }
        fn backward(&self, _: &Context<Self>, (): &(), _: Cotangent) -> Result<Cotangent> {
            panic!("on purpose")
        }
    }
    let (x, w) = (scalar(2.0), scalar(3.0));
    let y = Panics.apply(&x.mul(&w).unwrap()).unwrap().add(&w).unwrap();
    let walks: [&dyn Fn() -> Result<()>; 3] =
        [&|| y.backward(), &|| Grad::new().create_graph().of(&y, &x).map(|_| ()), &|| {
            no_grad(|| autograd::backward(y.clone()))
        }];
    for walk in walks {
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(walk)).is_err());
        assert!(autograd::GradMode::is_on());
        assert!(x.grad().unwrap().is_none() && w.grad().unwrap().is_none());
        assert_eq!(value(&autograd::grad(&x.square().unwrap(), &x).unwrap()), 4.0);
        assert_eq!(value(&pullback::grad(|t: &Tensor| t.mul(&x))(&Tensor::from(1.0)).unwrap()), 2.0);
    }
}

#[test]
fn batched_cotangents_are_many_walks_in_one() {
    let (x, w) = (vector(&[1.0, 2.0, 3.0]), scalar(2.0));
    let y = Cube.apply(&Product.apply(&(x.clone(), w.clone())).unwrap()).unwrap(); // w³ x³
    let rows = Tensor::from([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 10.0], [0.0, 0.0, 0.0]]);
    let both = (x.clone(), w.clone());
    let (dx, dw) = Grad::new().cotangents(&rows).batched().of(&y, &both).unwrap();
    assert_eq!((dx.shape(), dw.shape()), (&[4, 3][..], &[4][..]));
    for k in 0..4 {
        let row = rows.i(k).unwrap();
        let (one_dx, one_dw) = Grad::new().cotangents(&row).of(&y, &both).unwrap();
        close(&values(&dx.i(k).unwrap()), &values(&one_dx));
        close(&[value(&dw.i(k).unwrap())], &[value(&one_dw)]);
    }
    // The same by `vmap` over the cotangent.
    let lanes = vmap(|g: &Tensor| Grad::new().cotangents(g).of(&y, &both))(&rows).unwrap();
    assert_eq!((values(&lanes.0), values(&lanes.1)), (values(&dx), values(&dw)));
    // With a graph, and unused inputs.
    let graph = Grad::new().cotangents(&rows).batched().create_graph().of(&y, &x).unwrap();
    let second = autograd::grad(&graph.sum().unwrap(), &x).unwrap();
    close(&values(&second), &[2.0 * 48.0, 2.0 * 96.0, 10.0 * 144.0]);
    let unused = vector(&[1.0, 2.0]);
    let zeros = Grad::new().cotangents(&rows).batched().materialize_grads().of(&y, &unused).unwrap();
    assert_eq!((zeros.shape(), values(&zeros)), (&[4, 2][..], vec![0.0; 8]));
}

#[test]
fn batched_cotangents_are_checked() {
    let x = vector(&[1.0, 2.0]);
    let y = x.square().unwrap();
    let run = |g: &Tensor| Grad::new().cotangents(g).batched().of(&y, &x);
    refused(run(&Tensor::from([1.0, 2.0])), ErrorKind::Shape, &["cotangent 0", "f64[2]", "leading dimension"]);
    refused(run(&Tensor::from([[1.0, 2.0, 3.0]])), ErrorKind::Shape, &["f64[1,3]"]);
    let scalar = x.sum().unwrap();
    refused(
        Grad::new().cotangents(&Tensor::from(1.0)).batched().of(&scalar, &x),
        ErrorKind::Shape,
        &["leading dimension"],
    );
    refused(Grad::new().batched().of(&scalar, &x), ErrorKind::Arity, &["cotangents"]);
    let two = (Tensor::from([[1.0, 2.0]]), Tensor::from([[1.0, 2.0], [3.0, 4.0]]));
    let err = Grad::new().cotangents(&two).batched().of(&(y.clone(), y.clone()), &x);
    refused(err, ErrorKind::Shape, &["cotangent 1 has 2", "cotangent 0 has 1"]);
}

#[test]
fn cotangents_with_a_graph_are_differentiated_only_if_asked() {
    let (x, g) = (scalar(3.0), scalar(5.0));
    let y = x.square().unwrap();
    let plain = Grad::new().cotangents(&g).of(&y, &x).unwrap();
    assert!(!plain.requires_grad());
    let graph = Grad::new().cotangents(&g).create_graph().of(&y, &x).unwrap();
    let (dx, dg) = autograd::grad(&graph, &(x.clone(), g.clone())).unwrap();
    assert_eq!((value(&graph), value(&dx), value(&dg)), (30.0, 10.0, 6.0));
    // Also below a level of a transform, and where a cotangent passes through untouched.
    let sum = x.add(1.0).unwrap();
    let lanes = vmap(|t: &Tensor| Grad::new().cotangents(&g.mul(t)?).of(&sum, &x))(&Tensor::from([1.0, 2.0])).unwrap();
    assert!(!lanes.requires_grad());
    assert_eq!(values(&lanes), [5.0, 10.0]);
}

#[test]
fn the_mode_outside_does_not_decide_about_the_walk() {
    let x = scalar(3.0);
    let y = x.square().unwrap().mul(&x).unwrap();
    let first = no_grad(|| Grad::new().create_graph().of(&y, &x)).unwrap();
    assert_eq!(value(&autograd::grad(&first, &x).unwrap()), 18.0);
    let plain = enable_grad(|| autograd::grad(&y, &x)).unwrap();
    assert!(!plain.requires_grad());
    no_grad(|| y.backward()).unwrap();
    assert_eq!(value(&x.grad().unwrap().unwrap()), 27.0);
}
