//! `jvp`, strict and not.

use pullback::*;

use crate::{fails, is};

#[test]
fn a_push_of_trees() {
    let f = |(x, y): &(Tensor, Vec<Tensor>)| Ok([x.mul(&y[0])?, y[1].sum()?]);
    let x = (Tensor::from([1.0, 2.0]), vec![Tensor::from(3.0), Tensor::from([4.0])]);
    let dx = (Tensor::from([1.0, 0.0]), vec![Tensor::from(10.0), Tensor::from([100.0])]);
    let ([a, b], [da, db]) = jvp(f, &x, &dx).unwrap();
    is(&a, &[2], &[3.0, 6.0]);
    is(&b, &[], &[4.0]);
    is(&da, &[2], &[13.0, 20.0]);
    is(&db, &[], &[100.0]);
}

#[test]
fn independent_and_integer_results_have_zeros() {
    let one = Tensor::from([1.0f32, 1.0]);
    let f = |x: &Tensor| Ok((x.square()?, one.clone(), x.argmax(None, false)?));
    let (_, (d, zero, integer)) = jvp(f, &Tensor::from([1.0, 2.0]), &Tensor::from([1.0, 1.0])).unwrap();
    is(&d, &[2], &[2.0, 4.0]);
    assert_eq!(zero.ty().to_string(), "f32[2]");
    is(&zero, &[2], &[0.0, 0.0]);
    assert_eq!(integer.ty().to_string(), "i64[]");
    is(&integer, &[], &[0.0]);
}

#[test]
fn t31_tangents_of_another_structure() {
    let f = |x: &Vec<Tensor>| x[0].square();
    let x = vec![Tensor::from(1.0), Tensor::from(2.0)];
    let parts = ["jvp: expected tangents at the places of the arguments, [tensor, tensor], got [tensor]"];
    fails(jvp(f, &x, &x[..1].to_vec()), ErrorKind::Arity, &parts);
    let g = |x: &[Option<Tensor>; 2]| Ok(x[0].clone());
    let (left, right) = ([Some(Tensor::from(1.0)), None], [None, Some(Tensor::from(1.0))]);
    fails(jvp(g, &left, &right), ErrorKind::Arity, &["[tensor, none], got [none, tensor]"]);
}

#[test]
fn tangents_of_another_type() {
    let f = |x: &Tensor| x.square();
    let x = Tensor::from([1.0, 2.0]);
    let parts = ["tangent 0 has type f64[3]", "argument 0 of the function has type f64[2]"];
    fails(jvp(f, &x, &Tensor::from([1.0; 3])), ErrorKind::Shape, &parts);
    fails(jvp(f, &x, &Tensor::from([1.0f32; 2])), ErrorKind::Dtype, &["f32[2]", "f64[2]", "to_dtype"]);
}

#[test]
fn t33_t34_nothing_to_push() {
    // Without tensors there is nothing to differentiate, and nothing wrong.
    let one = Tensor::from(1.0);
    let (y, dy) = jvp(|_: &()| Ok(one.clone()), &(), &()).unwrap();
    is(&y, &[], &[1.0]);
    is(&dy, &[], &[0.0]);
    jvp(|_: &Tensor| Ok(()), &one, &one).unwrap();
    fails(
        jvp(|x: &Tensor| Ok(x.clone()), &Tensor::from(1i64), &Tensor::from(1i64)),
        ErrorKind::NotDifferentiable,
        &["i64[]"],
    );
}

#[test]
fn t35_strict_names_the_result_that_does_not_depend() {
    let one = Tensor::from([1.0f32, 1.0]);
    let f = |x: &Tensor| Ok((x.square()?, vec![x.clone(), one.clone()]));
    let x = Tensor::from([1.0, 2.0]);
    let strict = Jvp::new().strict(true);
    let parts = ["jvp: strict: result.1[1] (f32[2], number 2) does not depend on the arguments", "zeros"];
    fails(strict.of(f)(&x, &x), ErrorKind::NotDifferentiable, &parts);
    is(&Jvp::new().strict(false).of(f)(&x, &x).unwrap().1.0, &[2], &[2.0, 8.0]);
    is(&strict.of(|x: &Tensor| x.square())(&x, &x).unwrap().1, &[2], &[2.0, 8.0]);
    // A constant for the selected argument, and through a stopped value.
    let g = |(a, _): &(Tensor, Tensor)| a.square();
    let pair = (x.clone(), Tensor::from(1.0));
    fails(strict.argnums::<1>().of(g)(&pair, &pair.1), ErrorKind::NotDifferentiable, &["result (f64[2], number 0)"]);
    fails(strict.of(|x: &Tensor| stop_gradient(x))(&x, &x), ErrorKind::NotDifferentiable, &["number 0"]);
    // Auxiliary data need not depend on anything.
    let h = |x: &Tensor| Ok((x.square()?, one.clone()));
    is(&strict.has_aux().of(h)(&x, &x).unwrap().2, &[2], &[1.0, 1.0]);
    // Under lanes, where the tangents have lanes and the arguments have none.
    let lanes = vmap(|t: &Tensor| Ok(strict.of(|x: &Tensor| x.square())(&x, t)?.1));
    is(&lanes(&Tensor::from([[1.0, 0.0], [0.0, 1.0]])).unwrap(), &[2, 2], &[2.0, 0.0, 0.0, 4.0]);
}
