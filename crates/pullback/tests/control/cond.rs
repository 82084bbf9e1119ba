//! Branches.

use pullback::{DType, Result, Static, Tensor, Tree, Vmap, cond, grad, hessian, jacfwd, jacrev, jvp, vmap};

use crate::every_way::check;
use crate::{close, value, values, vector};

#[test]
fn c44_a_branch_that_depends_on_data() {
    let x = vector(&[-1.0, 3.0]);
    let host = |x: &Tensor| if x.item::<f64>()? > 0.0 { x.mul(2.0) } else { x.sub(1.0) };
    let message = vmap(host)(&x).unwrap_err().to_string();
    assert!(message.contains("item: the value is batched by `vmap`"), "{message}");
    assert!(message.contains("`cond`"), "{message}");
    let f = |x: &Tensor| cond(&x.gt(0.0)?, |x| x.mul(2.0), |x| x.sub(1.0), x);
    close(&values(&vmap(f)(&x).unwrap()), &[-2.0, 6.0]);
    close(&values(&vmap(grad(f))(&x).unwrap()), &[1.0, 2.0]);
}

#[test]
fn c45_the_branch_that_is_not_taken_is_protected() {
    let f = |x: &Tensor| cond(&x.gt(0.0)?, |x| x.sqrt(), |x| x.mul(0.0), x);
    let x = vector(&[0.0, 4.0]);
    close(&values(&vmap(f)(&x).unwrap()), &[0.0, 2.0]);
    close(&values(&vmap(grad(f))(&x).unwrap()), &[0.0, 0.25]);
    close(&values(&grad(|x: &Tensor| vmap(f)(x)?.sum())(&x).unwrap()), &[0.0, 0.25]);
}

#[test]
fn a_branch_under_every_nest() {
    let f = |x: &Tensor| cond(&x.gt(0.5)?, |x| x.sin()?.mul(x), |x| x.exp()?.neg(), x);
    let points = [-1.0, 0.75, 0.25, 2.0, 0.5, 3.0];
    check(
        f,
        &points,
        [
            |x| if x > 0.5 { x * x.sin() } else { -x.exp() },
            |x| if x > 0.5 { x.sin() + x * x.cos() } else { -x.exp() },
            |x| if x > 0.5 { 2.0 * x.cos() - x * x.sin() } else { -x.exp() },
            |x| if x > 0.5 { -3.0 * x.sin() - x * x.cos() } else { -x.exp() },
        ],
    );
    // All lanes the same way.
    check(f, &[-1.0, -2.0], [|x| -x.exp(); 4]);
}

#[test]
fn branches_in_branches_under_every_nest() {
    // ln x above 1, x² from 0 to 1, and √(-x) below.
    let f = |x: &Tensor| {
        let above = |x: &Tensor| cond(&x.gt(1.0)?, |x| x.log(), |x| x.square(), x);
        cond(&x.ge(0.0)?, above, |x| x.neg()?.sqrt(), x)
    };
    let points = [-4.0, 0.25, 9.0, 2.0, -0.25, 0.5, 0.75, 1.5];
    check(
        f,
        &points,
        [
            |x| {
                if x > 1.0 {
                    x.ln()
                } else if x >= 0.0 {
                    x * x
                } else {
                    (-x).sqrt()
                }
            },
            |x| {
                if x > 1.0 {
                    1.0 / x
                } else if x >= 0.0 {
                    2.0 * x
                } else {
                    -0.5 / (-x).sqrt()
                }
            },
            |x| {
                if x > 1.0 {
                    -1.0 / (x * x)
                } else if x >= 0.0 {
                    2.0
                } else {
                    -0.25 * (-x).powf(-1.5)
                }
            },
            |x| {
                if x > 1.0 {
                    2.0 * x.powi(-3)
                } else if x >= 0.0 {
                    0.0
                } else {
                    -0.375 * (-x).powf(-2.5)
                }
            },
        ],
    );
}

#[test]
fn one_predicate_calls_one_branch() {
    let calls = std::cell::Cell::new((0, 0));
    let f = |x: &Tensor| {
        let (a, b) = calls.get();
        cond(
            &x.gt(0.0)?,
            |x| {
                calls.set((a + 1, b));
                x.mul(2.0)
            },
            |x| {
                calls.set((calls.get().0, b + 1));
                x.mul(3.0)
            },
            x,
        )
    };
    let one = Tensor::from(1.0);
    close(&[value(&f(&one).unwrap()), value(&grad(f)(&one).unwrap())], &[2.0, 2.0]);
    assert_eq!(calls.get(), (2, 0));
    // Lanes that agree, as well as lanes that the predicate does not depend on.
    calls.set((0, 0));
    close(&values(&vmap(f)(&vector(&[-1.0, -2.0])).unwrap()), &[-3.0, -6.0]);
    let shared = vmap(|y: &Tensor| f(&one)?.mul(y))(&vector(&[1.0, 10.0])).unwrap();
    close(&values(&shared), &[2.0, 20.0]);
    assert_eq!(calls.get(), (1, 1));
    vmap(f)(&vector(&[-1.0, 1.0])).unwrap();
    assert_eq!(calls.get(), (2, 2));
}

#[derive(Clone, Debug, Tree)]
struct Parts<T = Tensor> {
    x: T,
    list: Vec<T>,
    count: T,
    flag: T,
    #[tree(static)]
    label: &'static str,
}

#[test]
fn trees_of_every_dtype_are_chosen_leaf_by_leaf() {
    let f = |p: &Parts| {
        let swapped = |p: &Parts| {
            let list = vec![p.list[1].clone(), p.list[0].mul(2.0)?];
            Ok(Parts { list, count: p.count.add(1)?, flag: p.flag.logical_not()?, ..p.clone() })
        };
        cond(&p.x.gt(0.0)?, swapped, |p| Ok(p.clone()), p)
    };
    let p = Parts {
        x: vector(&[-1.0, 1.0]),
        list: vec![vector(&[1.0, 2.0]), Tensor::from([[3.0f64, 4.0], [5.0, 6.0]])],
        count: Tensor::from([7i64, 8]),
        flag: Tensor::from([true, true]),
        label: "kept",
    };
    // The list holds a number and a vector, so it cannot be swapped.
    let message = vmap(f)(&p).unwrap_err().to_string();
    assert!(
        message.contains(
            "cond: expected one type at `.list[0]`, got f64[2] from the branch for true and f64[] from \
        the one for false"
        ),
        "{message}"
    );
    let p = Parts { list: vec![vector(&[1.0, 2.0]), vector(&[3.0, 4.0])], ..p };
    let out = vmap(f)(&p).unwrap();
    close(&values(&out.list[0]), &[1.0, 4.0]);
    close(&values(&out.list[1]), &[3.0, 4.0]);
    assert_eq!(out.count.to_vec::<i64>().unwrap(), [7, 9]);
    assert_eq!(out.flag.to_vec::<bool>().unwrap(), [true, false]);
    assert_eq!(out.label, "kept");
    // The structure may hold sizes too.
    let sized = |(x, n): &(Tensor, Static<i32>)| x.powi(n.0);
    let g = |x: &Tensor| cond(&x.gt(0.0)?, sized, |_| Ok(Tensor::from(0.0)), &(x.clone(), Static(3)));
    close(&values(&vmap(grad(g))(&vector(&[-1.0, 2.0])).unwrap()), &[0.0, 12.0]);
}

#[test]
fn a_predicate_may_depend_on_either_level() {
    let grid = Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let signs = vector(&[-1.0, 1.0]);
    let f = |s: &Tensor, x: &Tensor| cond(&s.gt(0.0)?, |x| x.square(), |x| x.mul(10.0), x);
    // The outer lanes decide.
    let outer = vmap(|(s, row): &(Tensor, Tensor)| vmap(|x: &Tensor| f(s, x))(row))(&(signs.clone(), grid.clone()));
    close(&values(&outer.unwrap()), &[10.0, 20.0, 30.0, 16.0, 25.0, 36.0]);
    // The inner lanes decide, on values of the outer ones.
    let inner = vmap(|column: &Tensor| vmap(|(s, x): &(Tensor, Tensor)| f(s, x))(&(signs.clone(), column.clone())));
    let turned = inner(&grid.t().unwrap()).unwrap();
    close(&values(&turned.t().unwrap()), &[10.0, 20.0, 30.0, 16.0, 25.0, 36.0]);
    let slopes = vmap(|column: &Tensor| {
        vmap(|(s, x): &(Tensor, Tensor)| grad(|x: &Tensor| f(s, x))(x))(&(signs.clone(), column.clone()))
    });
    close(&values(&slopes(&grid.t().unwrap()).unwrap()), &[10.0, 8.0, 10.0, 10.0, 10.0, 12.0]);
}

#[test]
fn parameters_are_captured_and_differentiated() {
    let (w, x) = (Tensor::from(3.0), vector(&[-1.0, 2.0, 4.0]));
    // w x² for positive x, w³ x else: captured by the branches, at every level.
    let f = |w: &Tensor, x: &Tensor| cond(&x.gt(0.0)?, |x| w.mul(&x.square()?), |x| w.powi(3)?.mul(x), x);
    let total = |w: &Tensor| vmap(|x: &Tensor| f(w, x))(&x)?.sum();
    close(&[value(&grad(total)(&w).unwrap())], &[20.0 - 27.0]);
    close(&[value(&jvp(total, &w, &Tensor::from(1.0)).unwrap().1)], &[-7.0]);
    close(&[value(&hessian(total)(&w).unwrap())], &[-18.0]);
    let each = vmap(|x: &Tensor| grad(|w: &Tensor| f(w, x))(&w))(&x).unwrap();
    close(&values(&each), &[-27.0, 4.0, 16.0]);
    let members = vector(&[1.0, 3.0]);
    let all = vmap(|w: &Tensor| vmap(|x: &Tensor| grad(|x: &Tensor| f(w, x))(x))(&x))(&members).unwrap();
    close(&values(&all), &[1.0, 4.0, 8.0, 27.0, 12.0, 24.0]);
}

#[test]
fn results_that_are_operands_captured_or_constant() {
    let c = vector(&[5.0, 6.0, 7.0]);
    let f = |(x, c): &(Tensor, Tensor)| cond(&x.gt(0.0)?, |_| Ok(c.clone()), |x| Ok(x.clone()), x);
    let x = vector(&[-1.0, 2.0, 3.0]);
    close(&values(&vmap(f)(&(x.clone(), c.clone())).unwrap()), &[-1.0, 6.0, 7.0]);
    let (dx, dc) = vmap(grad(f))(&(x.clone(), c.clone())).unwrap();
    close(&values(&dx), &[1.0, 0.0, 0.0]);
    close(&values(&dc), &[0.0, 1.0, 1.0]);
    let constant = |x: &Tensor| cond(&x.gt(0.0)?, |_| Ok(Tensor::from(1.0)), |_| Ok(Tensor::from(2.0)), x);
    close(&values(&vmap(constant)(&x).unwrap()), &[2.0, 1.0, 1.0]);
    close(&values(&vmap(grad(constant))(&x).unwrap()), &[0.0; 3]);
    let same = Tensor::from(4.0);
    let unbatched = |x: &Tensor| cond(&x.gt(0.0)?, |_| Ok(same.clone()), |_| Ok(same.clone()), x);
    close(&values(&Vmap::new().out_dims(None).of(unbatched)(&x).unwrap()), &[4.0]);
}

#[test]
fn a_transform_inside_a_branch() {
    // The derivative of x³ for positive x, by reverse mode; that of sin by forward mode else; both on captured values.
    let f = |x: &Tensor| {
        let cube = |_: &()| grad(|x: &Tensor| x.powi(3))(x);
        let sine = |_: &()| Ok(jvp(Tensor::sin, x, &Tensor::from(1.0))?.1);
        cond(&x.gt(0.0)?, cube, sine, &())
    };
    check(
        f,
        &[-1.0, 2.0],
        [
            |x| if x > 0.0 { 3.0 * x * x } else { x.cos() },
            |x| if x > 0.0 { 6.0 * x } else { -x.sin() },
            |x| if x > 0.0 { 6.0 } else { -x.cos() },
            |x| if x > 0.0 { 0.0 } else { x.sin() },
        ],
    );
    // Lanes inside of a branch of lanes: Σ √x over a row, if its first element is positive.
    let rows = Tensor::from([[1.0, 4.0], [-1.0, -4.0]]);
    let g = |row: &Tensor| {
        let roots = |row: &Tensor| vmap(|x: &Tensor| x.sqrt())(row)?.sum();
        cond(&row.i(0)?.gt(0.0)?, roots, |row| row.sum(), row)
    };
    close(&values(&vmap(g)(&rows).unwrap()), &[3.0, -5.0]);
    close(&values(&vmap(grad(g))(&rows).unwrap()), &[0.5, 0.25, 1.0, 1.0]);
    close(&values(&vmap(jacrev(g))(&rows).unwrap()), &[0.5, 0.25, 1.0, 1.0]);
    close(&values(&vmap(jacfwd(g))(&rows).unwrap()), &[0.5, 0.25, 1.0, 1.0]);
}

#[test]
fn no_lanes_give_the_right_types() {
    let f = |x: &Tensor| {
        cond(&x.gt(0.0)?, |x| x.to_dtype(DType::F32)?.expand(&[3]), |_| Tensor::zeros(&[3], DType::F32), x)
    };
    let none = Tensor::zeros(&[0], DType::F64).unwrap();
    assert_eq!(vmap(f)(&none).unwrap().ty().to_string(), "f32[0,3]");
    let result: Result<Tensor> = vmap(grad(|x: &Tensor| f(x)?.to_dtype(DType::F64)?.sum()))(&none);
    assert_eq!(result.unwrap().ty().to_string(), "f64[0]");
}
