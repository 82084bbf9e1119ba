//! Leaves and walks next to and inside of transforms.

use pullback::autograd::{self, Backward, Grad, leaf};
use pullback::{
    Context, Cotangent, ErrorKind, Function, Result, Tensor, Vmap, grad, hessian, jacfwd, jacrev, jvp, value_and_grad,
    vjp, vmap,
};

use crate::{Cube, Exp, close, grad_of, refused, scalar, value, values, vector};

#[test]
fn captured_leaves_are_constants_inside_and_alive_outside() {
    let w = vector(&[2.0, 3.0]);
    let x = Tensor::from([0.5, 0.25]);
    let f = |x: &Tensor| Cube.apply(&x.mul(&w)?)?.sum(); // Σ w³x³
    let dx = grad(f)(&x).unwrap();
    close(&values(&dx), &[3.0 * 8.0 * 0.25, 3.0 * 27.0 * 0.0625]);
    dx.sum().unwrap().backward().unwrap(); // Σ 3 w³ x² by w: 9 w² x²
    close(&grad_of(&w), &[9.0 * 4.0 * 0.25, 9.0 * 9.0 * 0.0625]);
    w.zero_grad().unwrap();
    // By every transform: the derivative of the sum of what it returns.
    let results: Vec<Tensor> = vec![
        jacrev(|x: &Tensor| x.mul(&w))(&x).unwrap(),
        jacfwd(|x: &Tensor| x.mul(&w))(&x).unwrap(),
        jvp(|x: &Tensor| x.mul(&w), &x, &x.ones_like().unwrap()).unwrap().1,
        vjp(|x: &Tensor| x.mul(&w), &x).unwrap().1.call(&x.ones_like().unwrap()).unwrap(),
        vmap(|v: &Tensor| v.mul(&w))(&Tensor::from([[1.0, 1.0]])).unwrap(),
        hessian(|x: &Tensor| x.square()?.mul(&w)?.sum())(&x).unwrap().mul(0.5).unwrap(),
    ];
    for (k, result) in results.into_iter().enumerate() {
        result.sum().unwrap().backward().unwrap();
        assert_eq!(grad_of(&w), [1.0, 1.0], "transform {k}");
        w.zero_grad().unwrap();
    }
}

#[test]
fn a_leaf_as_argument_is_differentiated_by_both() {
    let w = scalar(2.0);
    let (y, dy) = value_and_grad(|x: &Tensor| Exp.apply(&Cube.apply(x)?.mul(0.1)?))(&w).unwrap();
    let (f, d1) = (0.8f64.exp(), 0.8f64.exp() * 1.2);
    close(&[value(&y), value(&dy)], &[f, d1]);
    y.backward().unwrap();
    close(&grad_of(&w), &[d1]);
    w.zero_grad().unwrap();
    dy.backward().unwrap();
    close(&grad_of(&w), &[f * (1.2 * 1.2 + 1.2)]); // f·(g'² + g''), g = x³/10
}

#[test]
fn walks_of_ambient_values_work_inside_transforms() {
    // Nothing here depends on the argument of the transform, so nothing can be lost.
    let w = scalar(3.0);
    let f = |x: &Tensor| {
        let slope = autograd::grad(&w.square()?, &w)?;
        x.mul(&slope)
    };
    assert_eq!(value(&grad(f)(&Tensor::from(1.0)).unwrap()), 6.0);
    assert_eq!(values(&vmap(f)(&Tensor::from([1.0, 2.0])).unwrap()), [6.0, 12.0]);
    // A fresh leaf inside.
    let g = |x: &Tensor| {
        let v = leaf(&Tensor::from(2.0))?;
        v.square()?.backward()?;
        x.mul(&v.grad()?.expect("walked"))
    };
    assert_eq!(value(&jacfwd(g)(&Tensor::from(1.0)).unwrap()), 4.0);
    // Cotangents may belong to the transform: their derivative is kept.
    let y = Cube.apply(&w).unwrap();
    let h = |g: &Tensor| Grad::new().cotangents(&g.square()?).of(&y, &w);
    assert_eq!(value(&grad(h)(&Tensor::from(2.0)).unwrap()), 4.0 * 27.0);
    assert_eq!(value(&jvp(h, &Tensor::from(2.0), &Tensor::from(1.0)).unwrap().1), 4.0 * 27.0);
    assert_eq!(values(&vmap(grad(h))(&Tensor::from([1.0, 2.0])).unwrap()), [54.0, 108.0]);
    // And with the graph of the walk, for the leaf outside.
    let slope = grad(|g: &Tensor| Grad::new().create_graph().cotangents(g).of(&y, &w))(&Tensor::from(1.0)).unwrap();
    assert_eq!(value(&autograd::grad(&slope, &w).unwrap()), 18.0);
}

/// What each banned call answers inside `transform`, given its argument there.
fn banned(x: &Tensor, transform: &str) -> Result<Tensor> {
    let parts = |method: &str| [method.to_string(), transform.to_string(), "vjp".into()];
    let check = |result: Result<()>, method: &str| {
        let all = parts(method);
        refused(result, ErrorKind::InTransform, &all.each_ref().map(String::as_str));
    };
    check(x.clone().requires_grad_().map(|_| ()), "requires_grad_");
    check(leaf(x).map(|_| ()), "leaf");
    check(x.retain_grad(), "retain_grad");
    check(x.grad().map(|_| ()), "grad");
    check(x.set_grad(None), "set_grad");
    check(x.zero_grad(), "set_grad");
    check(x.register_hook(|_| Ok(None)).map(|_| ()), "register_hook");
    check(x.register_post_accumulate_grad_hook(|_| Ok(())).map(|_| ()), "register_post_accumulate_grad_hook");
    check(x.backward(), "backward");
    check(autograd::backward(x.clone()), "backward");
    let w = scalar(2.0);
    let mixed = x.mul(&w)?;
    assert!(mixed.requires_grad() && !mixed.is_leaf());
    check(mixed.backward(), "backward");
    check(autograd::grad(&mixed, &w).map(|_| ()), "grad");
    check(autograd::grad(&w.square()?, x).map(|_| ()), "grad");
    // What a transform is working on must not accumulate in a leaf.
    let err = Backward::new().cotangents(x).run(&w.mul(1.0)?);
    let name = format!("`{transform}`");
    refused(err, ErrorKind::InTransform, &["backward: expected a gradient to keep", &name, "autograd::grad"]);
    refused(w.set_grad(Some(x.clone())), ErrorKind::InTransform, &["set_grad: ", "to keep", &name]);
    assert!(w.grad()?.is_none());
    Ok(x.clone())
}

#[test]
fn what_is_banned_inside_a_transform_names_the_functional_way() {
    grad(|x: &Tensor| banned(x, "grad"))(&Tensor::from(1.0)).unwrap();
    vmap(|x: &Tensor| banned(x, "vmap"))(&Tensor::from([1.0, 2.0])).unwrap();
    jvp(|x: &Tensor| banned(x, "jvp"), &Tensor::from(1.0), &Tensor::from(1.0)).unwrap();
    vmap(grad(|x: &Tensor| banned(x, "grad")))(&Tensor::from([1.0, 2.0])).unwrap();
}

#[test]
fn c90_tape_style_inside_vmap_is_refused_and_the_functional_way_works() {
    let x = Tensor::from([1.0, 2.0, 3.0]);
    let tape = |x: &Tensor| {
        let x = leaf(x)?;
        let y = Cube.apply(&x)?;
        autograd::grad(&y, &x)
    };
    refused(vmap(tape)(&x), ErrorKind::InTransform, &["vmap", "leaf", "`grad`", "`vjp`"]);
    assert_eq!(values(&vmap(grad(|x: &Tensor| Cube.apply(x)))(&x).unwrap()), [3.0, 12.0, 27.0]);
}

/// x², whose gradient the rule takes in the way that `inner` says.
#[derive(Clone)]
struct Inner(fn(&Tensor) -> Result<Tensor>);

impl Function for Inner {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.square()
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        Ok(x.clone())
    }
    fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
        let slope = (self.0)(x)?;
        g.map(|g| g.mul(&slope))
    }
}

#[test]
fn c34_a_gradient_inside_a_rule_is_taken_by_a_transform() {
    let functional = Inner(|x| grad(|t: &Tensor| t.square())(x));
    let x = scalar(3.0);
    let y = functional.apply(&x).unwrap();
    y.backward().unwrap();
    assert_eq!(grad_of(&x), [6.0]);
    let first = Grad::new().create_graph().of(&y, &x).unwrap();
    assert_eq!(value(&autograd::grad(&first, &x).unwrap()), 2.0);
    let tape = Inner(|x| {
        let x = leaf(x)?;
        autograd::grad(&x.square()?, &x)
    });
    let err = tape.apply(&x).unwrap().backward();
    refused(err, ErrorKind::InTransform, &["leaf", "`backward` of function `Inner`", "closure"]);
}

#[test]
fn values_that_escaped_are_refused_as_such() {
    let kept = std::cell::RefCell::new(None);
    grad(|x: &Tensor| {
        *kept.borrow_mut() = Some(x.clone());
        Ok(x.clone())
    })(&Tensor::from(1.0))
    .unwrap();
    let mut stale = kept.into_inner().unwrap();
    refused(stale.backward(), ErrorKind::EscapedTracer, &["backward", "grad"]);
    refused(stale.requires_grad_(), ErrorKind::EscapedTracer, &["requires_grad_"]);
    let w = scalar(1.0);
    refused(w.set_grad(Some(stale.clone())), ErrorKind::EscapedTracer, &["set_grad"]);
    refused(Backward::new().cotangents(&stale).run(&w), ErrorKind::EscapedTracer, &["cotangent 0"]);
}

#[test]
fn per_example_gradients_with_leaves_as_parameters() {
    // vmap(grad) where the parameters are leaves, and a regulariser on the gradients themselves.
    let w = vector(&[1.0, -2.0]);
    let examples = Tensor::from([[1.0, 0.0], [0.5, 1.0], [2.0, 2.0]]);
    let loss = |(w, x): &(Tensor, Tensor)| w.mul(x)?.sum()?.square();
    let one = |x: &(Tensor, Tensor)| Ok(grad(loss)(x)?.0);
    let each = Vmap::new().in_dims((None, 0)).of(one)(&(w.clone(), examples.clone())).unwrap();
    each.square().unwrap().sum().unwrap().backward().unwrap();
    let plain =
        grad(|w: &Tensor| Vmap::new().in_dims((None, 0)).of(one)(&(w.clone(), examples.clone()))?.square()?.sum())(
            &w.detach().unwrap(),
        )
        .unwrap();
    close(&grad_of(&w), &values(&plain));
}

#[test]
fn integer_and_constant_results_of_transforms_stay_constant() {
    let w = scalar(2.0);
    let n = vmap(|x: &Tensor| x.add(&w)?.gt(&w))(&Tensor::from([1.0, -1.0])).unwrap();
    assert!(!n.requires_grad());
    assert!(!grad(|x: &Tensor| x.mul(3.0))(&w).unwrap().requires_grad());
}
