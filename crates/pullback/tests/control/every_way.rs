//! One function of a number under every nest of transforms, against its derivatives as plain Rust functions.

use pullback::{Result, Tensor, Vmap, grad, hessian, jacfwd, jacrev, jvp, stack, value_and_grad, vjp, vmap};

use crate::{close, tensor, value, values, vector};

/// A number as a function of a number.
type Plain = fn(f64) -> f64;

/// Checks `f` at `points`, of which there must be a multiple of 2, one by one and as lanes.
#[track_caller]
pub fn check<F: Fn(&Tensor) -> Result<Tensor>>(f: F, points: &[f64], [f0, f1, f2, f3]: [Plain; 4]) {
    one_by_one(&f, points, [f0, f1, f2, f3]);
    lanes(&f, points, [f0, f1, f2, f3]);
    nested_lanes(&f, points, [f0, f1, f2, f3]);
}

#[track_caller]
fn one_by_one<F: Fn(&Tensor) -> Result<Tensor>>(f: &F, points: &[f64], [f0, f1, f2, f3]: [Plain; 4]) {
    for &p in points {
        let x = Tensor::from(p);
        let tangent = Tensor::from(2.0);
        let (y, dy) = value_and_grad(f)(&x).unwrap();
        close(&[value(&f(&x).unwrap()), value(&y), value(&dy)], &[f0(p), f0(p), f1(p)]);
        let (y, dy) = jvp(f, &x, &tangent).unwrap();
        close(&[value(&y), value(&dy)], &[f0(p), 2.0 * f1(p)]);
        let (y, pull) = vjp(f, &x).unwrap();
        close(&[value(&y), value(&pull.call(&tangent).unwrap())], &[f0(p), 2.0 * f1(p)]);
        // Twice from one recording.
        close(&[value(&pull.call(&tangent).unwrap())], &[2.0 * f1(p)]);
        close(&[value(&jacrev(f)(&x).unwrap()), value(&jacfwd(f)(&x).unwrap())], &[f1(p), f1(p)]);
        let second = [
            hessian(f)(&x).unwrap(),
            grad(grad(f))(&x).unwrap(),
            grad(|x: &Tensor| Ok(jvp(f, x, &Tensor::from(1.0))?.1))(&x).unwrap(),
            jvp(|x: &Tensor| Ok(jvp(f, x, &Tensor::from(1.0))?.1), &x, &Tensor::from(1.0)).unwrap().1,
            jacrev(jacfwd(f))(&x).unwrap(),
            jacfwd(jacfwd(f))(&x).unwrap(),
            jacrev(jacrev(f))(&x).unwrap(),
        ];
        close(&second.map(|t| value(&t)), &[f2(p); 7]);
        let third = [
            grad(grad(grad(f)))(&x).unwrap(),
            jvp(hessian(f), &x, &Tensor::from(1.0)).unwrap().1,
            grad(hessian(f))(&x).unwrap(),
        ];
        close(&third.map(|t| value(&t)), &[f3(p); 3]);
    }
}

#[track_caller]
fn lanes<F: Fn(&Tensor) -> Result<Tensor>>(f: &F, points: &[f64], [f0, f1, f2, f3]: [Plain; 4]) {
    let all = |f: Plain| points.iter().map(|&p| f(p)).collect::<Vec<_>>();
    let x = vector(points);
    close(&values(&vmap(f)(&x).unwrap()), &all(f0));
    let sum = |x: &Tensor| vmap(f)(x)?.sum();
    let ones = x.ones_like().unwrap();
    let first = [
        vmap(grad(f))(&x).unwrap(),
        grad(sum)(&x).unwrap(),
        jvp(vmap(f), &x, &ones).unwrap().1,
        vmap(|x: &Tensor| Ok(jvp(f, x, &Tensor::from(1.0))?.1))(&x).unwrap(),
        vmap(jacrev(f))(&x).unwrap(),
        vmap(jacfwd(f))(&x).unwrap(),
        vjp(vmap(f), &x).unwrap().1.call(&ones).unwrap(),
        jacrev(vmap(f))(&x).unwrap().diagonal(0, 0, 1).unwrap(),
        jacfwd(vmap(f))(&x).unwrap().diagonal(0, 0, 1).unwrap(),
    ];
    for t in &first {
        close(&values(t), &all(f1));
    }
    // What a lane depends on is that lane.
    let off = jacrev(vmap(f))(&x).unwrap().sum().unwrap().sub(&first[7].sum().unwrap()).unwrap();
    close(&[value(&off)], &[0.0]);
    let second = [
        vmap(hessian(f))(&x).unwrap(),
        vmap(grad(grad(f)))(&x).unwrap(),
        grad(|x: &Tensor| vmap(grad(f))(x)?.sum())(&x).unwrap(),
        grad(|x: &Tensor| grad(sum)(x)?.sum())(&x).unwrap(),
        jvp(vmap(grad(f)), &x, &ones).unwrap().1,
        jvp(grad(sum), &x, &ones).unwrap().1,
        vmap(|x: &Tensor| Ok(jvp(grad(f), x, &Tensor::from(1.0))?.1))(&x).unwrap(),
        grad(|x: &Tensor| jvp(vmap(f), x, &ones)?.1.sum())(&x).unwrap(),
        hessian(sum)(&x).unwrap().diagonal(0, 0, 1).unwrap(),
    ];
    for t in &second {
        close(&values(t), &all(f2));
    }
    let third = [
        vmap(grad(grad(grad(f))))(&x).unwrap(),
        grad(|x: &Tensor| vmap(hessian(f))(x)?.sum())(&x).unwrap(),
        grad(|x: &Tensor| grad(|x: &Tensor| vmap(grad(f))(x)?.sum())(x)?.sum())(&x).unwrap(),
        jvp(vmap(hessian(f)), &x, &ones).unwrap().1,
    ];
    for t in &third {
        close(&values(t), &all(f3));
    }
}

#[track_caller]
fn nested_lanes<F: Fn(&Tensor) -> Result<Tensor>>(f: &F, points: &[f64], [f0, f1, f2, _]: [Plain; 4]) {
    let all = |f: Plain| points.iter().map(|&p| f(p)).collect::<Vec<_>>();
    let grid = tensor(points, &[2, points.len() / 2]);
    let ones = grid.ones_like().unwrap();
    close(&values(&vmap(vmap(f))(&grid).unwrap()), &all(f0));
    // With the lanes of the inner level in front.
    let turned = Vmap::new().in_dims(1).out_dims(1).of(vmap(f))(&grid).unwrap();
    close(&values(&turned), &all(f0));
    let sum = |x: &Tensor| vmap(vmap(f))(x)?.sum();
    let first = [
        vmap(vmap(grad(f)))(&grid).unwrap(),
        vmap(grad(|x: &Tensor| vmap(f)(x)?.sum()))(&grid).unwrap(),
        grad(sum)(&grid).unwrap(),
        jvp(vmap(vmap(f)), &grid, &ones).unwrap().1,
    ];
    for t in &first {
        close(&values(t), &all(f1));
    }
    let second = [
        vmap(vmap(hessian(f)))(&grid).unwrap(),
        vmap(grad(|x: &Tensor| vmap(grad(f))(x)?.sum()))(&grid).unwrap(),
        grad(|x: &Tensor| grad(sum)(x)?.sum())(&grid).unwrap(),
        jvp(grad(sum), &grid, &ones).unwrap().1,
    ];
    for t in &second {
        close(&values(t), &all(f2));
    }
    // A level whose lanes do not decide anything: the same values, scaled outside.
    let scales = vector(&[1.0, 3.0]);
    let scaled = vmap(|s: &Tensor| grad(|x: &Tensor| (vmap(f)(x)? * s).sum())(&vector(points)))(&scales).unwrap();
    let want = [1.0, 3.0].map(|s| all(f1).into_iter().map(move |d| s * d).collect::<Vec<_>>()).concat();
    close(&values(&scaled), &want);
    let rows = stack(&[&vector(points), &vector(points)], 0).unwrap();
    close(&values(&vmap(vmap(f))(&rows).unwrap()), &[all(f0), all(f0)].concat());
}
