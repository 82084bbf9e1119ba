//! Products with Hessians, their diagonal and trace.

use pullback::*;

use crate::{fails, is, noise, rosenbrock, rosenbrock_hessian, values};

/// x²y + y³.
fn f(x: &Tensor) -> Result<Tensor> {
    let (x, y) = (x.select(0, 0)?, x.select(0, 1)?);
    x.square()?.mul(&y)?.add(&y.powi(3)?)
}

#[test]
fn c106_parts_of_a_hessian() {
    let (x, v) = (Tensor::from([1.0, 2.0]), Tensor::from([1.0, 1.0]));
    is(&hessian_diagonal(f)(&x).unwrap(), &[2], &[4.0, 12.0]);
    is(&laplacian(f)(&x).unwrap(), &[], &[16.0]);
    for (y, product) in [hvp(f, &x, &v).unwrap(), vhp(f, &x, &v).unwrap()] {
        is(&y, &[], &[10.0]);
        is(&product, &[2], &[6.0, 14.0]);
        is(&product.dot(&v).unwrap(), &[], &[20.0]);
    }
}

#[test]
fn c107_products_by_both_compositions() {
    let (x, v) = (noise(&[1000], 0.1), noise(&[1000], 5.0));
    let f = |x: &Tensor| x.sin()?.sum();
    let want: Vec<f64> = values(&x).iter().zip(values(&v)).map(|(x, v)| -x.sin() * v).collect();
    is(&hvp(f, &x, &v).unwrap().1, &[1000], &want);
    is(&vhp(f, &x, &v).unwrap().1, &[1000], &want);
}

#[test]
fn every_chunk_gives_the_same_trace() {
    let x = noise(&[7], 0.3);
    let h = rosenbrock_hessian(&values(&x));
    let diagonal: Vec<f64> = (0..7).map(|k| h[8 * k]).collect();
    for size in [1, 2, 3, 6, 7, 100] {
        is(&HessianDiagonal::new().chunk_size(size).of(rosenbrock)(&x).unwrap(), &[7], &diagonal);
        is(&Laplacian::new().chunk_size(size).of(rosenbrock)(&x).unwrap(), &[], &[diagonal.iter().sum()]);
    }
    fails(Laplacian::new().chunk_size(0).of(rosenbrock)(&x), ErrorKind::Value, &["laplacian: chunk_size"]);
    // More variables than there are directions at a time.
    let x = noise(&[150], 0.3);
    let h = rosenbrock_hessian(&values(&x));
    is(&laplacian(rosenbrock)(&x).unwrap(), &[], &[(0..150).map(|k| h[151 * k]).sum()]);
}

#[test]
fn trees_are_summed_over_their_tensors() {
    let f = |(a, b): &(Tensor, Vec<Tensor>)| a.powi(3)?.sum()?.mul(&b[0].square()?)?.add(&b[1].sum()?);
    let x = (Tensor::from([[1.0, 2.0]]), vec![Tensor::from(3.0), Tensor::from([1.0, 1.0])]);
    let (a, b) = hessian_diagonal(f)(&x).unwrap();
    is(&a, &[1, 2], &[54.0, 108.0]);
    is(&b[0], &[], &[18.0]);
    is(&b[1], &[2], &[0.0, 0.0]);
    is(&laplacian(f)(&x).unwrap(), &[], &[180.0]);
    let v = (Tensor::from([[1.0, 0.0]]), vec![Tensor::from(1.0), Tensor::from([5.0, 5.0])]);
    for (_, (da, db)) in [hvp(f, &x, &v).unwrap(), vhp(f, &x, &v).unwrap()] {
        is(&da, &[1, 2], &[54.0 + 18.0, 72.0]);
        is(&db[0], &[], &[18.0 + 18.0]);
        is(&db[1], &[2], &[0.0, 0.0]);
    }
    is(&laplacian(|_: &()| Ok(Tensor::from(2.0)))(&()).unwrap(), &[], &[0.0]);
}

#[test]
fn under_other_transforms() {
    // The Laplacian of (x·x)² in n dimensions is (8 + 4n)·(x·x), here 16·(x·x); its gradient 32x.
    let f = |x: &Tensor| x.dot(x)?.square();
    let points = Tensor::from([[1.0, 2.0], [3.0, -1.0]]);
    is(&vmap(laplacian(f))(&points).unwrap(), &[2], &[80.0, 160.0]);
    is(&vmap(grad(laplacian(f)))(&points).unwrap(), &[2, 2], &[32.0, 64.0, 96.0, -32.0]);
    // The Laplacian of that: 16·2n.
    is(&laplacian(laplacian(f))(&Tensor::from([1.0, 2.0])).unwrap(), &[], &[64.0]);
    let v = Tensor::from([1.0, 0.0]);
    // H = 8xxᵀ + 4(x·x); the first column at (1, 2) is (28, 16), the second row of its Jacobian 16·…
    let product = |x: &Tensor| Ok(hvp(f, x, &v)?.1);
    let row = |x: &Tensor| Ok(vhp(f, x, &v)?.1);
    let x = Tensor::from([1.0, 2.0]);
    is(&product(&x).unwrap(), &[2], &[28.0, 16.0]);
    // ∂/∂x of 8·x₀·x + 4(x·x)·e₀.
    let want = [24.0, 16.0, 16.0, 8.0];
    is(&jacrev(product)(&x).unwrap(), &[2, 2], &want);
    is(&jacfwd(row)(&x).unwrap(), &[2, 2], &want);
    is(&vmap(product)(&points).unwrap(), &[2, 2], &[28.0, 16.0, 112.0, -24.0]);
    is(&vmap(row)(&points).unwrap(), &[2, 2], &[28.0, 16.0, 112.0, -24.0]);
}

#[test]
fn linear_and_constant_functions_have_zeros() {
    let x = Tensor::from([1.0, 2.0]);
    let one = Tensor::from(1.0);
    for (_, zero) in [
        hvp(|x: &Tensor| x.sum(), &x, &x).unwrap(),
        vhp(|x: &Tensor| x.sum(), &x, &x).unwrap(),
        hvp(|_: &Tensor| Ok(one.clone()), &x, &x).unwrap(),
        vhp(|_: &Tensor| Ok(one.clone()), &x, &x).unwrap(),
    ] {
        is(&zero, &[2], &[0.0, 0.0]);
    }
    is(&laplacian(|x: &Tensor| x.sum())(&x).unwrap(), &[], &[0.0]);
    is(&hessian_diagonal(|_: &Tensor| Ok(one.clone()))(&x).unwrap(), &[2], &[0.0, 0.0]);
}

#[test]
fn errors_name_the_transform() {
    let x = Tensor::from([1.0, 2.0]);
    let square = |x: &Tensor| x.square();
    fails(hvp(square, &x, &x), ErrorKind::NotScalar, &["hvp: the function must return a scalar, got f64[2]"]);
    fails(vhp(square, &x, &x), ErrorKind::NotScalar, &["vhp: the function must return a scalar, got f64[2]"]);
    fails(laplacian(square)(&x), ErrorKind::NotScalar, &["laplacian: the function must return a scalar"]);
    fails(hvp(f, &x, &Tensor::from([1.0; 3])), ErrorKind::Shape, &["hvp: tangent 0 has type f64[3]"]);
    fails(vhp(f, &x, &Tensor::from([1.0; 3])), ErrorKind::Shape, &["vhp: tangent 0 has type f64[3]"]);
    fails(laplacian(|x: &Tensor| x.sum())(&Tensor::from([1i64])), ErrorKind::NotDifferentiable, &["i64[1]"]);
}
