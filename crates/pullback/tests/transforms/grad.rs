//! `grad` and `value_and_grad`.

use pullback::*;

use crate::{fails, is};

#[test]
fn t10_the_result_is_one_tensor() {
    // A tuple or a number does not compile without `has_aux`; a tree of one tensor is not a tensor either.
    let f = |x: &Tensor| x.square();
    is(&grad(f)(&Tensor::from(3.0)).unwrap(), &[], &[6.0]);
    let (y, dy) = value_and_grad(f)(&Tensor::from(3.0)).unwrap();
    is(&y, &[], &[9.0]);
    is(&dy, &[], &[6.0]);
}

#[test]
fn t11_the_result_is_a_scalar() {
    let x = Tensor::from([1.0]);
    let parts = ["grad: the function must return a scalar, got f64[1]", "vjp", "jacrev"];
    fails(grad(|x: &Tensor| x.square())(&x), ErrorKind::NotScalar, &parts);
    let parts = ["value_and_grad: the function must return a scalar"];
    fails(value_and_grad(|x: &Tensor| x.square())(&x), ErrorKind::NotScalar, &parts);
    fails(Grad::new().has_aux().of(|x: &Tensor| Ok((x.square()?, ())))(&x), ErrorKind::NotScalar, &["f64[1]"]);
}

#[test]
fn an_integer_result_is_refused() {
    let f = |x: &Tensor| x.to_dtype(DType::I64);
    fails(grad(f)(&Tensor::from(1.0)), ErrorKind::NotDifferentiable, &["floating-point scalar", "i64[]", "to_dtype"]);
}

#[test]
fn independent_arguments_and_results_have_zeros() {
    let x = (Tensor::from([1.0f32]), Tensor::from([1.0, 2.0]));
    let (a, b) = grad(|(_, b): &(Tensor, Tensor)| b.sum())(&x).unwrap();
    assert_eq!(a.ty().to_string(), "f32[1]");
    is(&a, &[1], &[0.0]);
    is(&b, &[2], &[1.0, 1.0]);
    let one = Tensor::from(1.0);
    is(&grad(|_: &Tensor| Ok(one.clone()))(&x.1).unwrap(), &[2], &[0.0, 0.0]);
}

#[test]
fn a_stopped_tree_is_constant_in_both_modes() {
    let f = |(a, b): &(Tensor, Vec<Tensor>)| {
        let (c, d) = stop_gradient(&(a.clone(), b.clone()))?;
        a.mul(&c)?.add(&b[0].mul(&d[0])?)
    };
    let x = (Tensor::from(2.0), vec![Tensor::from(3.0)]);
    let (da, db) = grad(f)(&x).unwrap();
    is(&da, &[], &[2.0]);
    is(&db[0], &[], &[3.0]);
    let ones = (Tensor::from(1.0), vec![Tensor::from(1.0)]);
    is(&jvp(f, &x, &ones).unwrap().1, &[], &[5.0]);
    let ((aa, _), _) = hessian(f)(&x).unwrap();
    is(&aa, &[], &[0.0]);
    // Lanes go through it.
    is(&vmap(|x: &Tensor| stop_gradient(x)?.mul(x))(&Tensor::from([2.0, 3.0])).unwrap(), &[2], &[4.0, 9.0]);
}

#[test]
fn c90_there_is_one_way_to_a_gradient_inside_of_vmap() {
    let slopes = vmap(grad(|x: &Tensor| x.powi(3)));
    is(&slopes(&Tensor::from([1.0, 2.0, 3.0])).unwrap(), &[3], &[3.0, 12.0, 27.0]);
}
