//! Dual numbers.

use pullback::autograd::forward_ad::{dual_level, make_dual, unpack_dual};
use pullback::autograd::{self, leaf, no_grad};
use pullback::{ErrorKind, Function, Tensor, grad, jvp, vmap};

use crate::{Cube, Exp, close, grad_of, refused, scalar, value, values};

fn one() -> Tensor {
    Tensor::from(1.0)
}

#[test]
fn tangents_flow_through_operations_and_functions() {
    let level = dual_level();
    let x = level.make_dual(&Tensor::from([1.0, 2.0]), &Tensor::from([1.0, 10.0])).unwrap();
    let (y, dy) = level.unpack_dual(&Exp.apply(&Cube.apply(&x).unwrap().mul(0.1).unwrap()).unwrap()).unwrap();
    let f = |x: &Tensor| Exp.apply(&Cube.apply(x)?.mul(0.1)?);
    let (want, dwant) = jvp(f, &Tensor::from([1.0, 2.0]), &Tensor::from([1.0, 10.0])).unwrap();
    assert_eq!((values(&y), values(&dy.unwrap())), (values(&want), values(&dwant)));
    // What does not depend on a dual has no tangent.
    let (c, none) = level.unpack_dual(&Tensor::from(3.0)).unwrap();
    assert_eq!(value(&c), 3.0);
    assert!(none.is_none());
    let (_, none) = level.unpack_dual(&x.gt(&Tensor::from(1.0)).unwrap()).unwrap();
    assert!(none.is_none());
    let (_, none) = level.unpack_dual(&no_grad(|| x.square()).unwrap()).unwrap();
    assert!(none.is_none(), "as with every derivative that is being taken");
}

#[test]
fn what_make_dual_refuses() {
    refused(make_dual(&one(), &one()), ErrorKind::Value, &["make_dual", "dual_level", "jvp"]);
    refused(unpack_dual(&one()), ErrorKind::Value, &["unpack_dual", "dual_level"]);
    let level = dual_level();
    refused(level.make_dual(&Tensor::from(1i64), &one()), ErrorKind::NotDifferentiable, &["i64[]"]);
    refused(level.make_dual(&one(), &Tensor::from(1i64)), ErrorKind::Dtype, &["f64[]", "i64[]"]);
    refused(level.make_dual(&one(), &Tensor::from(1f32)), ErrorKind::Dtype, &["f64[]", "f32[]"]);
    refused(level.make_dual(&one(), &Tensor::from([1.0])), ErrorKind::Shape, &["f64[]", "f64[1]"]);
    let x = level.make_dual(&one(), &one()).unwrap();
    refused(level.make_dual(&x, &one()), ErrorKind::NotDifferentiable, &["primal", "unpack"]);
    refused(level.make_dual(&one(), &x), ErrorKind::NotDifferentiable, &["tangent", "unpack"]);
    let err = vmap(|t: &Tensor| level.make_dual(t, t))(&Tensor::from([1.0]));
    refused(err, ErrorKind::InTransform, &["primal", "vmap", "jvp"]);
    drop(level);
    refused(make_dual(&one(), &one()), ErrorKind::Value, &["dual_level"]);
}

#[test]
fn levels_nest_and_their_perturbations_do_not_mix() {
    let outer = dual_level();
    let x = outer.make_dual(&Tensor::from(2.0), &one()).unwrap();
    let first = {
        let inner = dual_level();
        // The free functions work at the innermost level.
        let y = make_dual(&x, &one()).unwrap();
        let z = y.square().unwrap().mul(&x).unwrap();
        let (_, dz) = inner.unpack_dual(&z).unwrap();
        dz.unwrap() // 2 x·x
    };
    let (v, dv) = unpack_dual(&first).unwrap();
    assert_eq!((value(&v), value(&dv.unwrap())), (8.0, 8.0));
    // d/dx (x · d/dy (x + y)) is 1, the case that confuses perturbations.
    let slope = {
        let inner = dual_level();
        let y = inner.make_dual(&one(), &one()).unwrap();
        inner.unpack_dual(&x.add(&y).unwrap()).unwrap().1.unwrap()
    };
    let (_, d) = outer.unpack_dual(&x.mul(&slope).unwrap()).unwrap();
    assert_eq!(value(&d.unwrap()), 1.0);
}

#[test]
fn levels_end_in_any_order_and_their_values_with_them() {
    let outer = dual_level();
    let inner = dual_level();
    let x = outer.make_dual(&Tensor::from(3.0), &one()).unwrap();
    drop(outer);
    refused(x.square(), ErrorKind::EscapedTracer, &["jvp", "ended"]);
    refused(unpack_dual(&x), ErrorKind::EscapedTracer, &["unpack_dual"]);
    let y = make_dual(&Tensor::from(3.0), &one()).unwrap();
    assert_eq!(value(&inner.unpack_dual(&y.square().unwrap()).unwrap().1.unwrap()), 6.0);
}

#[test]
fn duals_of_leaves_are_walked_back_from() {
    // Forward over reverse: the gradient of the tangent x² dx is 2 x dx.
    let (x, dx) = leaf(&(Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0]))).unwrap();
    let level = dual_level();
    let dual = level.make_dual(&x, &dx).unwrap();
    let (y, dy) = level.unpack_dual(&Cube.apply(&dual).unwrap()).unwrap();
    y.sum().unwrap().backward().unwrap();
    close(&grad_of(&x), &[3.0, 12.0]);
    autograd::zero_grad(&x).unwrap();
    dy.unwrap().sum().unwrap().backward().unwrap();
    close(&grad_of(&x), &[6.0 * 3.0, 12.0 * 4.0]);
    close(&grad_of(&dx), &[3.0, 12.0]);
    // A leaf's gradient along a direction: the cotangent of a dual result cannot be walked back from as it is.
    refused(dual.sum().unwrap().backward(), ErrorKind::InTransform, &["jvp", "vjp"]);
}

#[test]
fn duals_inside_and_around_transforms() {
    // Inside grad: the derivative of d/dx x³ = 3x² is 6x.
    let f = |x: &Tensor| {
        let level = dual_level();
        let dual = level.make_dual(x, &x.ones_like()?)?;
        let (_, d) = level.unpack_dual(&Cube.apply(&dual)?)?;
        Ok(d.expect("a tangent"))
    };
    assert_eq!(value(&grad(f)(&Tensor::from(2.0)).unwrap()), 12.0);
    assert_eq!(value(&jvp(f, &Tensor::from(2.0), &one()).unwrap().1), 12.0);
    assert_eq!(values(&vmap(grad(f))(&Tensor::from([1.0, 2.0])).unwrap()), [6.0, 12.0]);
    // Around transforms.
    let level = dual_level();
    let x = level.make_dual(&Tensor::from(2.0), &one()).unwrap();
    let (_, d) = level.unpack_dual(&grad(|t: &Tensor| Cube.apply(t))(&x).unwrap()).unwrap();
    assert_eq!(value(&d.unwrap()), 12.0);
    let (_, d) = level.unpack_dual(&jvp(|t: &Tensor| Cube.apply(t), &x, &one()).unwrap().1).unwrap();
    assert_eq!(value(&d.unwrap()), 12.0);
    let lanes = vmap(|t: &Tensor| t.mul(&x)?.square())(&Tensor::from([1.0, 3.0])).unwrap();
    assert_eq!(values(&level.unpack_dual(&lanes).unwrap().1.unwrap()), [4.0, 36.0]);
    assert!(scalar(1.0).is_leaf());
}
