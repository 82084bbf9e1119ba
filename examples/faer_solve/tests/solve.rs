//! The solver against closed forms and differences, its rules, its errors, and that the checker notices wrong rules.

use faer_solve::{Solve, factorisations, solve};
use pullback::function::rules;
use pullback::testing::{assert_close, check_function, numeric_jvp};
use pullback::{
    Context, Cotangent, DType, Dims, ErrorKind, Function, Result, Tensor, Vmap, VmapInfo, grad, hessian, jacfwd,
    jacrev, jvp, stack, vjp, vmap,
};

fn matrix() -> Tensor {
    Tensor::from([[0.5, 2.0, -0.3], [1.7, -0.4, 0.6], [0.2, 0.9, 1.5]])
}

fn right() -> Tensor {
    Tensor::from([[1.0, -0.5], [0.3, 2.0], [-1.1, 0.7]])
}

/// Gaussian elimination with the rows exchanged as needed, in plain loops.
fn eliminate(a: &Tensor, b: &Tensor) -> Tensor {
    let (n, k) = (b.shape()[0], b.shape()[1]);
    let (mut a, mut b) = (a.to_vec::<f64>().unwrap(), b.to_vec::<f64>().unwrap());
    for p in 0..n {
        let best = (p..n).max_by(|&i, &j| a[i * n + p].abs().total_cmp(&a[j * n + p].abs())).unwrap();
        (0..n).for_each(|j| a.swap(p * n + j, best * n + j));
        (0..k).for_each(|j| b.swap(p * k + j, best * k + j));
        for i in (0..n).filter(|&i| i != p) {
            let factor = a[i * n + p] / a[p * n + p];
            (0..n).for_each(|j| a[i * n + j] -= factor * a[p * n + j]);
            (0..k).for_each(|j| b[i * k + j] -= factor * b[p * k + j]);
        }
    }
    (0..n * k).for_each(|i| b[i] /= a[(i / k) * n + i / k]);
    Tensor::from_slice(&b, &[n, k]).unwrap()
}

/// A matrix that is far from singular, with elements that follow no pattern.
fn large(n: usize) -> Tensor {
    let values: Vec<f64> =
        (0..n * n).map(|i| ((i * i + 7 * i) as f64).sin() + f64::from(u8::from(i % n == i / n)) * 5.0).collect();
    Tensor::from_slice(&values, &[n, n]).unwrap()
}

#[test]
fn values_are_those_of_elimination() {
    assert_close(&solve(&matrix(), &right()).unwrap(), &eliminate(&matrix(), &right()), 1e-14);
    let (a, b) = (large(40), large(40).narrow(1, 3, 5).unwrap());
    let x = solve(&a, &b).unwrap();
    assert_close(&x, &eliminate(&a, &b), 1e-12);
    assert_close(&a.matmul(&x).unwrap(), &b, 1e-12);
    // A vector is a matrix of one column.
    let column = b.select(1, 2).unwrap();
    assert_close(&solve(&a, &column).unwrap(), &x.select(1, 2).unwrap(), 1e-13);
    // Leading dimensions, and strides of any kind.
    let pair = stack(&[&matrix(), &matrix().t().unwrap()], 0).unwrap();
    let rights = stack(&[&right(), &right()], 0).unwrap();
    let both = solve(&pair, &rights).unwrap();
    assert_close(&both.select(0, 1).unwrap(), &eliminate(&matrix().t().unwrap(), &right()), 1e-14);
}

#[test]
fn single_precision_and_empty_systems() {
    let narrow = |t: &Tensor| t.to_dtype(DType::F32).unwrap();
    let x = solve(&narrow(&matrix()), &narrow(&right())).unwrap();
    assert_eq!(x.dtype(), DType::F32);
    assert_close(&x, &narrow(&eliminate(&matrix(), &right())), 1e-6);
    let empty = |shape: &[usize]| Tensor::zeros(shape, DType::F64).unwrap();
    assert_eq!(solve(&empty(&[0, 0]), &empty(&[0])).unwrap().shape(), [0]);
    assert_eq!(solve(&empty(&[0, 0]), &empty(&[0, 2])).unwrap().shape(), [0, 2]);
    assert_eq!(solve(&matrix(), &empty(&[3, 0])).unwrap().shape(), [3, 0]);
    let (ga, _) = grad(|(a, b): &(Tensor, Tensor)| solve(a, b)?.sum())(&(matrix(), empty(&[3, 0]))).unwrap();
    assert_close(&ga, &empty(&[3, 3]), 0.0);
}

#[test]
fn every_property_holds() {
    let vector = Tensor::from([0.4, -1.0, 0.8]);
    check_function(&Solve::new(), &(matrix(), vector)).unwrap().into_result().unwrap();
    check_function(&Solve::new(), &(matrix(), right())).unwrap().into_result().unwrap();
}

#[test]
fn every_property_holds_with_leading_dimensions() {
    let small = Tensor::from([[[2.0, 0.3], [-0.4, 1.5]], [[0.2, 1.1], [0.9, -0.3]]]);
    let b = Tensor::from([[[0.5], [1.0]], [[-0.7], [0.2]]]);
    check_function(&Solve::new(), &(small, b)).unwrap().into_result().unwrap();
}

#[test]
fn gradient_and_tangent_in_closed_form() {
    let inverse = eliminate(&matrix(), &Tensor::eye(3, DType::F64).unwrap());
    let g = Tensor::from([[0.2, 1.0], [-0.5, 0.3], [0.9, -0.8]]);
    let (x, pull) = vjp(|(a, b): &(Tensor, Tensor)| solve(a, b), &(matrix(), right())).unwrap();
    let (ga, gb) = pull.call(&g).unwrap();
    let want_b = inverse.t().unwrap().matmul(&g).unwrap();
    assert_close(&gb, &want_b, 1e-13);
    assert_close(&ga, &want_b.matmul(&x.t().unwrap()).unwrap().neg().unwrap(), 1e-13);
    let (da, db) = (matrix().sin().unwrap(), right().cos().unwrap());
    let (_, dx) =
        jvp(|(a, b): &(Tensor, Tensor)| solve(a, b), &(matrix(), right()), &(da.clone(), db.clone())).unwrap();
    assert_close(&dx, &inverse.matmul(&(&db - da.matmul(&x).unwrap())).unwrap(), 1e-13);
}

#[test]
fn hessian_of_the_inverse_in_closed_form() {
    // d²(A⁻¹)/dt² = 2·A⁻¹·D·A⁻¹·D·A⁻¹ for A + t·D.
    let (a, d, eye) = (matrix(), matrix().sin().unwrap(), Tensor::eye(3, DType::F64).unwrap());
    let f = |t: &Tensor| solve(&(&a + &d * t), &eye);
    let i = eliminate(&a, &eye);
    let (id, zero) = (i.matmul(&d).unwrap(), Tensor::from(0.0));
    let want = id.matmul(&id).unwrap().matmul(&i).unwrap() * 2.0;
    assert_close(&jacfwd(jacrev(f))(&zero).unwrap(), &want, 1e-12);
    assert_close(&jacrev(jacfwd(f))(&zero).unwrap(), &want, 1e-12);
    assert_close(&jacrev(jacrev(f))(&zero).unwrap(), &want, 1e-12);
    assert_close(&hessian(f)(&zero).unwrap(), &want, 1e-12);
}

#[test]
fn derivatives_of_a_composition_match_differences() {
    let f = |(a, b): &(Tensor, Tensor)| solve(&a.sin()?, &solve(a, b)?)?.square()?.sum();
    let at = (matrix(), right());
    let along = (matrix().cos().unwrap(), right().sin().unwrap());
    let (want, _) = numeric_jvp(f, &at, &along).unwrap();
    assert_close(&jvp(f, &at, &along).unwrap().1, &want, 1e-9);
    let slope = |x: &(Tensor, Tensor)| grad(f)(x);
    let (want, _) = numeric_jvp(slope, &at, &along).unwrap();
    assert_close(&jvp(slope, &at, &along).unwrap().1, &want, 1e-8);
}

/// Three lanes of both arguments, and the dims where `vmap` finds them.
fn batched(a_dim: Option<usize>, b_dim: Option<usize>, b: &Tensor) -> (Vec<(Tensor, Tensor)>, (Tensor, Tensor)) {
    let lanes = |t: &Tensor, dim: Option<usize>| -> (Vec<Tensor>, Tensor) {
        let each: Vec<Tensor> = (0..3)
            .map(|k| if dim.is_some() { t * (1.0 + 0.2 * f64::from(k)) + &t.sin().unwrap() * 0.1 } else { t.clone() })
            .collect();
        let all = match dim {
            Some(d) => stack(&each.iter().collect::<Vec<_>>(), d as isize).unwrap(),
            None => t.clone(),
        };
        (each, all)
    };
    let ((a, all_a), (b, all_b)) = (lanes(&matrix(), a_dim), lanes(b, b_dim));
    (a.into_iter().zip(b).collect(), (all_a, all_b))
}

#[test]
fn vmap_is_the_loop_for_lanes_anywhere() {
    let value = |(a, b): &(Tensor, Tensor)| solve(a, b);
    let slope = |x: &(Tensor, Tensor)| grad(|(a, b): &(Tensor, Tensor)| solve(a, b)?.square()?.sum())(x);
    for b in [right(), right().select(1, 0).unwrap()] {
        for a_dim in [None, Some(0), Some(1), Some(2)] {
            for b_dim in [None, Some(0), Some(1)] {
                if (a_dim, b_dim) == (None, None) {
                    continue;
                }
                let (each, all) = batched(a_dim, b_dim, &b);
                let got = Vmap::new().in_dims((a_dim, b_dim)).of(value)(&all).unwrap();
                let want: Vec<Tensor> = each.iter().map(|x| value(x).unwrap()).collect();
                assert_close(&got, &stack(&want.iter().collect::<Vec<_>>(), 0).unwrap(), 1e-13);
                let got = Vmap::new().in_dims((a_dim, b_dim)).of(slope)(&all).unwrap();
                let want: Vec<(Tensor, Tensor)> = each.iter().map(|x| slope(x).unwrap()).collect();
                assert_close(&got, &pullback::stack_trees(&want).unwrap(), 1e-12);
            }
        }
    }
}

#[test]
fn one_factorisation_serves_a_call_and_all_its_rules() {
    let spent = |f: &dyn Fn() -> Result<()>| {
        let before = factorisations();
        f().unwrap();
        factorisations() - before
    };
    let (a, b) = (matrix(), right());
    let loss = |(a, b): &(Tensor, Tensor)| solve(a, b)?.square()?.sum();
    let at = (a.clone(), b.clone());
    assert_eq!(spent(&|| grad(loss)(&at).map(drop)), 1);
    assert_eq!(spent(&|| jvp(loss, &at, &at).map(drop)), 1);
    assert_eq!(spent(&|| hessian(|a: &Tensor| solve(a, &b)?.square()?.sum())(&a).map(drop)), 1);
    assert_eq!(spent(&|| grad(|x: &(Tensor, Tensor)| grad(loss)(x)?.0.sum())(&at).map(drop)), 1);
    // A matrix that all lanes share, and one for each.
    let lanes = stack(&[&b, &b, &b, &b], 2).unwrap();
    let shared = Vmap::new()
        .in_dims((None, 2))
        .of(|(a, b): &(Tensor, Tensor)| grad(|b: &Tensor| solve(a, b)?.square()?.sum())(b));
    assert_eq!(spent(&|| shared(&(a.clone(), lanes.clone())).map(drop)), 1);
    let matrices = stack(&[&a, &(&a * 2.0)], 0).unwrap();
    let own = vmap(|a: &Tensor| grad(|a: &Tensor| solve(a, &b)?.square()?.sum())(a));
    assert_eq!(spent(&|| own(&matrices).map(drop)), 2);
    // A solver that is used again: for the same matrix, and for others in between, whose rules are not confused.
    let keep = Solve::new();
    assert_eq!(spent(&|| (0..5).try_for_each(|k| keep.apply(&(a.clone(), &b * f64::from(k))).map(drop))), 1);
    let both = |b: &Tensor| keep.apply(&(a.clone(), b.clone()))?.add(&keep.apply(&(a.sin()?, b.clone()))?)?.sum();
    let apart = |b: &Tensor| solve(&a, b)?.add(&solve(&a.sin()?, b)?)?.sum();
    assert_close(&grad(both)(&b).unwrap(), &grad(apart)(&b).unwrap(), 1e-14);
    assert_eq!(spent(&|| grad(both)(&b).map(drop)), 2);
}

#[test]
fn errors_name_the_function() {
    let fails = |a: Tensor, b: Tensor, kind: ErrorKind, text: &str| {
        let e = solve(&a, &b).unwrap_err();
        assert_eq!(e.kind(), kind, "{e}");
        assert!(
            e.to_string().starts_with("`forward` of function `Solve`: expected ") && e.to_string().contains(text),
            "{e}"
        );
    };
    let vector = |n: usize| Tensor::ones(&[n], DType::F64).unwrap();
    fails(matrix().narrow(0, 0, 2).unwrap(), vector(2), ErrorKind::Shape, "a square matrix [.., n, n], got f64[2,3]");
    fails(Tensor::from(1.0), vector(1), ErrorKind::Shape, "a square matrix [.., n, n], got f64[]");
    fails(matrix(), vector(2), ErrorKind::Shape, "for the matrix f64[3,3], got f64[2]");
    fails(matrix(), Tensor::from(1.0), ErrorKind::Shape, "got f64[]");
    fails(matrix(), right().unsqueeze(0).unwrap(), ErrorKind::Shape, "got f64[1,3,2]");
    fails(matrix(), right().to_dtype(DType::F32).unwrap(), ErrorKind::Dtype, "got f64[3,3] and f32[3,2]");
    fails(Tensor::from([[1i64]]), Tensor::from([1i64]), ErrorKind::Dtype, "two f32 or two f64 tensors");
    fails(matrix() * f64::INFINITY, right(), ErrorKind::Value, "finite elements");
}

#[test]
fn singular_matrices_are_errors() {
    let singular = Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]);
    for a in [Tensor::zeros(&[3, 3], DType::F64).unwrap(), singular.clone(), singular.to_dtype(DType::F32).unwrap()] {
        let b = right().to_dtype(a.dtype()).unwrap();
        let e = solve(&a, &b).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Value);
        assert!(e.to_string().contains("an inverse, got a singular one: the matrix"), "{e}");
        assert!(grad(|a: &Tensor| solve(a, &b)?.sum())(&a).unwrap_err().to_string().starts_with("grad > `forward` of"));
    }
    // Among lanes, it is named.
    let lanes = stack(&[&matrix(), &singular, &matrix()], 0).unwrap();
    let e = vmap(|a: &Tensor| solve(a, &right()))(&lanes).unwrap_err();
    assert!(e.to_string().contains("matrix 1 of 3 (f64[3,3,3])"), "{e}");
    // Badly scaled is not singular.
    let scaled = [
        ([[1.0, 0.0], [0.0, 1e-30]], [2.0, 3e-30], [2.0, 3.0]),
        ([[1.0, 1.0], [1e-30, 2e-30]], [2.0, 3e-30], [1.0, 1.0]),
        ([[1.0, 1e-30], [1.0, 2e-30]], [2.0, 3.0], [1.0, 1e30]),
    ];
    for (a, b, x) in scaled {
        let ratio = solve(&Tensor::from(a), &Tensor::from(b)).unwrap().div(&Tensor::from(x)).unwrap();
        assert_close(&ratio, &Tensor::from([1.0, 1.0]), 1e-12);
    }
}

#[test]
fn errors_under_vmap_speak_of_one_lane() {
    let lanes = Tensor::ones(&[4, 2], DType::F64).unwrap();
    let e = vmap(|b: &Tensor| solve(&matrix(), b))(&lanes).unwrap_err();
    assert!(e.is_shape());
    assert!(e.to_string().contains("`vmap` of function `Solve`: ") && e.to_string().contains("got f64[2]"), "{e}");
}

/// The solver with mistakes that are easily made.
#[derive(Clone)]
struct Wrong(Mistake);

#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    Sign,
    Transpose,
    Detached,
    Lanes,
}

impl Function for Wrong {
    type Inputs = (Tensor, Tensor);
    type Outputs = Tensor;
    type Saved = (Tensor, Tensor);

    fn forward(&self, (a, b): &(Tensor, Tensor)) -> Result<Tensor> {
        solve(a, b)
    }

    fn setup_context(&self, _: &mut Context<Self>, (a, _): &(Tensor, Tensor), x: &Tensor) -> Result<(Tensor, Tensor)> {
        Ok((if self.0 == Mistake::Detached { a.detach()? } else { a.clone() }, x.clone()))
    }

    fn backward(&self, _: &Context<Self>, (a, x): &(Tensor, Tensor), g: Cotangent) -> Result<(Cotangent, Cotangent)> {
        let inverse = if self.0 == Mistake::Transpose { a.clone() } else { a.t()? };
        let gb = g.map(|g| solve(&inverse, g))?;
        let ga = gb.map(|gb| gb.matmul(&x.t()?))?;
        Ok((if self.0 == Mistake::Sign { ga } else { -ga }, gb))
    }

    fn vmap(
        &self,
        info: &VmapInfo,
        dims: Dims<(Tensor, Tensor)>,
        (a, b): &(Tensor, Tensor),
    ) -> Result<(Tensor, Option<usize>)> {
        if self.0 == Mistake::Lanes && dims == (Some(0), Some(0)) {
            // Forgets that other lanes have other matrices.
            return Ok((vmap(|b: &Tensor| self.apply(&(a.select(0, 0)?, b.clone())))(b)?, Some(0)));
        }
        rules::per_example(self, info, dims, &(a.clone(), b.clone()))
    }
}

#[test]
fn wrong_rules_are_noticed() {
    let finds = |mistake, property: &str| {
        let report = check_function(&Wrong(mistake), &(matrix(), right())).unwrap();
        assert!(report.finding(property).is_some(), "{report}");
    };
    finds(Mistake::Sign, "jvp_matches_differences");
    finds(Mistake::Transpose, "jvp_matches_differences");
    finds(Mistake::Detached, "second_order");
    finds(Mistake::Lanes, "vmap_is_loop");
}
