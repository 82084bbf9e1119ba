//! Linear algebra: second order, singular and degenerate matrices, extremes, and lanes.

use pullback::*;

use crate::{close, is, noise, value, values};

/// Every nest of two modes gives these first and second derivatives of a function of one number.
#[track_caller]
fn twice(f: impl Fn(&Tensor) -> Result<Tensor>, t: f64, want: [f64; 3]) {
    let (t, one) = (Tensor::from(t), Tensor::from(1.0));
    close(&[value(&f(&t).unwrap())], &want[..1]);
    let forward = |t: &Tensor| Ok(jvp(&f, t, &one)?.1);
    let reverse = |t: &Tensor| grad(&f)(t);
    for first in [forward(&t), reverse(&t)] {
        close(&[value(&first.unwrap())], &want[1..2]);
    }
    let nests = [
        jvp(forward, &t, &one).map(|x| x.1),
        jvp(reverse, &t, &one).map(|x| x.1),
        grad(forward)(&t),
        grad(reverse)(&t),
    ];
    for second in nests {
        close(&[value(&second.unwrap())], &want[2..]);
    }
}

fn matrix(rows: [[&Tensor; 2]; 2]) -> Result<Tensor> {
    let [[a, b], [c, d]] = rows;
    stack(&[a, b, c, d], 0)?.reshape(&[2, 2])
}

#[test]
fn c128_determinants_at_every_order() {
    let f = |t: &Tensor| matrix([[&(t + 2.0), &t.ones_like()?], [&t.ones_like()?, &(t * 2.0 + 3.0)]])?.det();
    // (t + 2)(2t + 3) - 1.
    twice(f, 0.7, [10.88, 9.8, 4.0]);
    let third = grad(grad(grad(f)))(&Tensor::from(0.7)).unwrap();
    close(&[value(&third)], &[0.0]);

    let singular = Tensor::from([[1.0, 1.0], [1.0, 1.0]]);
    assert_eq!(value(&singular.det().unwrap()), 0.0);
    close(&values(&grad(|x: &Tensor| x.det())(&singular).unwrap()), &[1.0, -1.0, -1.0, 1.0]);
    let second = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, -1.0, 0.0, 0.0, -1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
    for hessian in [
        hessian(|x: &Tensor| x.det())(&singular),
        jacfwd(jacfwd(|x: &Tensor| x.det()))(&singular),
        jacrev(jacrev(|x: &Tensor| x.det()))(&singular),
    ] {
        close(&values(&hessian.unwrap()), &second);
    }
}

#[test]
fn determinants_of_matrices_of_any_rank() {
    // The coefficients of det(D + t N) for a diagonal D with zeros: derivatives of every order.
    let n = noise(&[5, 5], 0.3);
    for zeros in 0..=4usize {
        let diagonal: Vec<f64> = (0..5).map(|k| if k < 5 - zeros { 1.0 + k as f64 } else { 0.0 }).collect();
        let d = Tensor::from(diagonal).diag(0).unwrap();
        let f = |t: &Tensor| d.add(t.mul(&n)?)?.det();
        let at = |t: f64| value(&f(&Tensor::from(t)).unwrap());
        // det is a polynomial of degree 5 in t: differences of small steps are exact but for rounding.
        let h = 0.05;
        let first =
            (45.0 * (at(h) - at(-h)) - 9.0 * (at(2.0 * h) - at(-2.0 * h)) + at(3.0 * h) - at(-3.0 * h)) / (60.0 * h);
        let second = (270.0 * (at(h) + at(-h)) - 27.0 * (at(2.0 * h) + at(-2.0 * h))
            + 2.0 * (at(3.0 * h) + at(-3.0 * h))
            - 490.0 * at(0.0))
            / (180.0 * h * h);
        let zero = Tensor::from(0.0);
        let got = value(&grad(f)(&zero).unwrap());
        assert!((got - first).abs() < 1e-9, "{zeros} zeros: {got} and {first}");
        if zeros <= 3 {
            let got = value(&grad(grad(f))(&zero).unwrap());
            assert!((got - second).abs() < 1e-7, "{zeros} zeros: {got} and {second}");
        } else {
            let e = grad(grad(f))(&zero).unwrap_err().to_string();
            assert!(e.contains("det: expected matrices of a rank of at least 2"), "{e}");
        }
    }
}

#[test]
fn c129_solutions_at_second_order() {
    let f = |t: &Tensor| {
        let a = matrix([[&(t + 2.0), &t.ones_like()?], [&t.zeros_like()?, &(t + 3.0)]])?;
        let b = matrix([[t, &(t * 2.0 + 1.0)], [&(t + 1.0), &(3.0 - t)]])?;
        // X A = B.
        let x = a.t()?.solve(&b.t()?)?.t()?;
        x.mul(&Tensor::from([[1.0, 2.0], [-1.0, 3.0]]))?.sum()
    };
    twice(f, -0.5, [3.4, -2.026_666_666_666_667, 3.043_555_555_555_556]);
    let by_triangle = |t: &Tensor| {
        let a = matrix([[&(t + 2.0), &t.ones_like()?], [&t.zeros_like()?, &(t + 3.0)]])?;
        let b = matrix([[t, &(t * 2.0 + 1.0)], [&(t + 1.0), &(3.0 - t)]])?;
        let x = a.solve_triangular(&b, true, false, false)?;
        x.mul(&Tensor::from([[1.0, 2.0], [-1.0, 3.0]]))?.sum()
    };
    twice(by_triangle, -0.5, [3.4, -2.026_666_666_666_667, 3.043_555_555_555_556]);
}

#[test]
fn c81_one_singular_matrix_among_the_lanes_of_a_solve() {
    let a = Tensor::from([[[2.0, 0.0], [0.0, 4.0]], [[1.0, 1.0], [0.0, 0.0]]]);
    let b = Tensor::from([[2.0, 4.0], [1.0, 1.0]]);
    let solve = |(a, b): &(Tensor, Tensor)| a.solve(b);
    let alone = solve(&(a.i(1).unwrap(), b.i(1).unwrap())).unwrap_err();
    let e = vmap(solve)(&(a.clone(), b.clone())).unwrap_err();
    assert_eq!((alone.kind(), e.kind()), (ErrorKind::Value, ErrorKind::Value));
    assert!(e.to_string().contains("singular to working precision (matrix 1 of 2)"), "{e}");
    is(&solve(&(a.i(0).unwrap(), b.i(0).unwrap())).unwrap(), &[2], &[1.0, 1.0]);
    // The other ones too say which.
    let not_definite = Tensor::from([[[1.0]], [[-1.0]]]);
    let e = vmap(|x: &Tensor| x.cholesky())(&not_definite).unwrap_err().to_string();
    assert!(e.contains("leading minor of order 1 is not positive (matrix 1 of 2)"), "{e}");
    let e = vmap(|x: &Tensor| x.inv())(&a).unwrap_err().to_string();
    assert!(e.contains("inv: expected regular matrices") && e.contains("(matrix 1 of 2)"), "{e}");
}

#[test]
fn c135_functions_of_equal_values_have_gradients() {
    let x = Tensor::from([1.0, 1.0, 2.0, 3.0]).diag(0).unwrap();
    let want = [0.258_198_889_747_161_1, 0.258_198_889_747_161_1, 0.516_397_779_494_322_2, 0.774_596_669_241_483_4];
    let want = values(&Tensor::from(want).diag(0).unwrap());
    let singular = |x: &Tensor| x.svdvals()?.norm(2.0);
    let eigen = |x: &Tensor| x.eigvalsh()?.norm(2.0);
    close(&values(&grad(singular)(&x).unwrap()), &want);
    close(&values(&grad(eigen)(&x).unwrap()), &want);
    close(&values(&jacfwd(singular)(&x).unwrap()), &want);
    close(&values(&jacfwd(eigen)(&x).unwrap()), &want);
    // Of the decompositions too, if nobody uses the vectors, and in any basis.
    let (q, _) = noise(&[4, 4], 1.0).qr(false).unwrap();
    let turned = q.matmul(&x).unwrap().matmul(&q.t().unwrap()).unwrap();
    let of_turned = q.matmul(&Tensor::from_slice(&want, &[4, 4]).unwrap()).unwrap().matmul(&q.t().unwrap()).unwrap();
    close(&values(&grad(|x: &Tensor| x.svd(false)?.1.norm(2.0))(&turned).unwrap()), &values(&of_turned));
    close(&values(&grad(|x: &Tensor| x.eigh()?.0.norm(2.0))(&turned).unwrap()), &values(&of_turned));

    // What depends on the vectors of the equal values is refused, with both named; what does not, is not.
    let e = grad(|x: &Tensor| x.eigh()?.1.select(-1, 0)?.sum())(&x).unwrap_err().to_string();
    assert!(e.contains("numbers 0 and 1, 1e0 and 1e0, are equal to rounding"), "{e}");
    let e = grad(|x: &Tensor| x.svd(false)?.2.sum())(&turned).unwrap_err().to_string();
    assert!(e.contains("svd: expected distinct singular values") && e.contains("numbers 2 and 3"), "{e}");
    let e = jvp(|x: &Tensor| x.eigh(), &x, &noise(&[4, 4], 2.0)).unwrap_err().to_string();
    assert!(e.contains("eigh: expected distinct eigenvalues"), "{e}");
    // The vector of the largest eigenvalue moves towards the others.
    let last = |x: &Tensor| x.eigh()?.1.select(-1, 3);
    let direction = Tensor::from([[0.0, 0.0, 0.0, 0.2], [0.0, 0.0, 0.0, 0.4], [0.0; 4], [0.2, 0.4, 0.0, 0.0]]);
    close(&values(&grad(|x: &Tensor| last(x)?.select(0, 0))(&x).unwrap()), &{
        let mut g = [0.0; 16];
        (g[3], g[12]) = (0.25, 0.25);
        g
    });
    close(&values(&jvp(last, &x, &direction).unwrap().1), &[0.1, 0.2, 0.0, 0.0]);
    // Which of several lanes it is.
    let lanes = stack(&[&Tensor::from([1.0, 2.0, 3.0, 4.0]).diag(0).unwrap(), &x], 0).unwrap();
    let e = vmap(grad(|x: &Tensor| x.eigh()?.1.sum()))(&lanes).unwrap_err().to_string();
    assert!(e.contains("(matrix 1 of 2) of which numbers 0 and 1"), "{e}");
}

#[test]
fn entries_of_any_size() {
    let base = Tensor::from([[2.0, 1.0], [1.0, 3.0]]);
    for exponent in [-150, 150] {
        let unit = 10f64.powi(exponent);
        let x = base.mul(unit).unwrap();
        let log = value(&x.slogdet().unwrap().1);
        assert!((log - (5f64.ln() + 2.0 * unit.ln())).abs() < 1e-12 * log.abs(), "{log}");
        let near = |got: &Tensor, want: f64| {
            let got = value(got);
            assert!((got / want - 1.0).abs() < 1e-13, "{got:e} and {want:e}");
        };
        let (s, w) = (x.svdvals().unwrap(), x.eigvalsh().unwrap());
        let larger = (5.0 + 5f64.sqrt()) / 2.0;
        near(&s.select(0, 0).unwrap(), larger * unit);
        near(&w.select(0, 1).unwrap(), larger * unit);
        near(&x.matrix_norm(MatrixNorm::Frobenius, false).unwrap(), 15f64.sqrt() * unit);
        near(&x.solve(&Tensor::from([unit, 0.0])).unwrap().select(0, 0).unwrap(), 0.6);
        near(&x.inv().unwrap().i((0, 1)).unwrap(), -0.2 / unit);
        near(&x.cond(MatrixNorm::Two).unwrap(), larger / (5.0 - larger));
        near(&x.qr(false).unwrap().1.i((0, 0)).unwrap(), -5f64.sqrt() * unit);
        // The derivative of the logarithm is the inverse.
        let g = grad(|x: &Tensor| Ok(x.slogdet()?.1))(&x).unwrap();
        near(&g.i((0, 1)).unwrap(), -0.2 / unit);
    }
    // Factors that would overflow in another order.
    let d = Tensor::from([1e200, 1e200, 1e-200, 1e-200]).diag(0).unwrap();
    assert_eq!(value(&d.det().unwrap()), 1.0);
}

#[test]
fn large_matrices_in_blocks() {
    for n in [5, 24, 49, 100, 150] {
        let x = noise(&[n, n], 0.7).add(Tensor::eye(n, DType::F64).unwrap().mul(3.0).unwrap()).unwrap();
        let zero = |x: Tensor| {
            let off = value(&x.abs().unwrap().max().unwrap());
            assert!(off < 1e-9, "{n}: {off:e}");
        };
        let b = noise(&[n, 3], 0.1);
        zero(x.matmul(&x.solve(&b).unwrap()).unwrap().sub(&b).unwrap());
        let (p, l, u) = x.lu().unwrap();
        zero(multi_dot(&[&p, &l, &u]).unwrap().sub(&x).unwrap());
        let (q, r) = x.qr(false).unwrap();
        zero(q.matmul(&r).unwrap().sub(&x).unwrap());
        let a = x.matmul(&x.t().unwrap()).unwrap();
        let l = a.cholesky().unwrap();
        zero(l.matmul(&l.t().unwrap()).unwrap().sub(&a).unwrap());
        zero(l.triu(1).unwrap());
        let y = x.solve_triangular(&b, true, true, false).unwrap();
        zero(x.triu(0).unwrap().matmul(&y).unwrap().sub(&b).unwrap());
        // The derivative of log det is the inverse, in either way through the kernels.
        let g = grad(|a: &Tensor| a.cholesky()?.diagonal(0, 0, 1)?.log()?.sum()?.mul(2.0))(&a).unwrap();
        zero(g.matmul(&a).unwrap().sub(Tensor::eye(n, DType::F64).unwrap()).unwrap());
        if n <= 100 {
            let (u, s, vh) = x.svd(false).unwrap();
            zero(u.mul(&s).unwrap().matmul(&vh).unwrap().sub(&x).unwrap());
            let (w, v) = a.eigh().unwrap();
            zero(v.mul(&w).unwrap().matmul(&v.t().unwrap()).unwrap().sub(&a).unwrap());
        }
    }
    // Wide and tall, with the columns that complete a basis.
    for (m, n) in [(60, 30), (30, 60)] {
        let x = noise(&[m, n], 0.2);
        let (u, s, vh) = x.svd(true).unwrap();
        let k = m.min(n);
        let back = u.narrow(1, 0, k).unwrap().mul(&s).unwrap().matmul(&vh.narrow(0, 0, k).unwrap()).unwrap();
        close(&values(&back), &values(&x));
        for basis in [u, vh.t().unwrap()] {
            let n = basis.shape()[0];
            close(&values(&basis.t().unwrap().matmul(&basis).unwrap()), &values(&Tensor::eye(n, DType::F64).unwrap()));
        }
        let (p, l, u) = x.lu().unwrap();
        close(&values(&multi_dot(&[&p, &l, &u]).unwrap()), &values(&x));
    }
}

#[test]
fn many_matrices_and_one_are_the_same() {
    let x = noise(&[37, 6, 6], 0.4);
    let a = x.matmul(&x.transpose(1, 2).unwrap()).unwrap().add(Tensor::eye(6, DType::F64).unwrap()).unwrap();
    let each: Vec<Tensor> = (0..37).map(|k| a.i(k).unwrap().cholesky().unwrap()).collect();
    let each = stack(&each.iter().collect::<Vec<_>>(), 0).unwrap();
    close(&values(&a.cholesky().unwrap()), &values(&each));
    let log_det = |m: &Tensor| m.cholesky()?.diagonal(0, 0, 1)?.log()?.sum()?.mul(2.0);
    let g = vmap(grad(log_det))(&a).unwrap();
    close(&values(&g), &values(&a.inv().unwrap()));
    // In single precision there are twice as many to a vector.
    let single = a.to_dtype(DType::F32).unwrap();
    let off =
        single.cholesky().unwrap().to_dtype(DType::F64).unwrap().sub(&each).unwrap().abs().unwrap().max().unwrap();
    assert!(value(&off) < 1e-5);
    let g32 = vmap(grad(log_det))(&single).unwrap().to_dtype(DType::F64).unwrap();
    assert!(value(&g32.sub(&g).unwrap().abs().unwrap().max().unwrap()) < 1e-4);
}

#[test]
fn exponentials_of_hard_matrices() {
    // Nilpotent, with large elements: the series ends.
    let x = Tensor::from([[0.0, 1e6, 0.0], [0.0, 0.0, 1e6], [0.0, 0.0, 0.0]]);
    close(&values(&x.matrix_exp().unwrap()), &[1.0, 1e6, 5e11, 0.0, 1.0, 1e6, 0.0, 0.0, 1.0]);
    // A rotation by many turns.
    let angle = 1000.0f64;
    let turned = Tensor::from([[0.0, -angle], [angle, 0.0]]).matrix_exp().unwrap();
    let (sin, cos) = angle.sin_cos();
    close(&values(&turned), &[cos, -sin, sin, cos]);
    // The derivative along the matrix itself, and a direction of any size.
    let a = noise(&[4, 4], 0.9);
    for scale in [1e-200, 1.0, 1e200] {
        let t = a.mul(scale).unwrap();
        let (y, dy) = jvp(|x: &Tensor| x.matrix_exp(), &a, &t).unwrap();
        let want = a.matmul(&y).unwrap();
        close(&values(&dy.div(scale).unwrap()), &values(&want));
    }
    assert!(values(&Tensor::from([[f64::NAN]]).matrix_exp().unwrap())[0].is_nan());
}

#[test]
fn not_finite_matrices_are_not_finite_results() {
    let nan = Tensor::from([[f64::NAN, 0.0], [0.0, 1.0]]);
    for result in [
        nan.cholesky(),
        nan.inv(),
        nan.svdvals(),
        nan.eigvalsh(),
        nan.det(),
        nan.solve(&Tensor::from([1.0, 1.0])),
        Ok(nan.qr(false).unwrap().1),
    ] {
        assert!(values(&result.unwrap()).iter().any(|v| v.is_nan()));
    }
}

#[test]
fn symmetric_matrices_next_to_the_largest_number() {
    let size = 8e307f64;
    let a = Tensor::from([[1.0, 0.5], [0.5, 1.25]]).mul(1.6 * size).unwrap();
    let l = Tensor::from([[1.0, 0.0], [0.5, 1.0]]).mul((1.6 * size).sqrt()).unwrap();
    close(&values(&a.cholesky().unwrap().div(&l.add(l.eq(0).unwrap()).unwrap()).unwrap()), &[1.0, 0.0, 1.0, 1.0]);
    close(&values(&Tensor::from([[1.6 * size]]).eigvalsh().unwrap().div(size).unwrap()), &[1.6]);
}

#[test]
fn condition_numbers_of_zeros() {
    let zeros = Tensor::zeros(&[2, 3], DType::F64).unwrap();
    assert_eq!(value(&zeros.cond(MatrixNorm::Two).unwrap()), f64::INFINITY);
    assert_eq!(value(&zeros.cond(MatrixNorm::MinusTwo).unwrap()), 0.0);
}
