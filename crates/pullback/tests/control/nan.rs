//! Lanes that do not take a branch bring no NaN and no infinity into it, through operands or captured values.

use std::sync::Arc;

use pullback::{
    Result, Tensor, capture, checkpoint, cond, custom_vjp, fori, grad, hessian, jacfwd, jacrev, jvp, scan, stack, vjp,
    vmap, while_loop,
};

use crate::{close, values, vector};

/// A function that is finite and smooth for positive numbers only.
type Inner = fn(&Tensor) -> Result<Tensor>;

const INNER: [(&str, Inner, fn(f64) -> [f64; 3]); 4] = [
    ("sqrt", Tensor::sqrt, |x| [x.sqrt(), 0.5 / x.sqrt(), -0.25 * x.powf(-1.5)]),
    ("log", Tensor::log, |x| [x.ln(), 1.0 / x, -1.0 / (x * x)]),
    ("1/x", Tensor::reciprocal, |x| [1.0 / x, -1.0 / (x * x), 2.0 / x.powi(3)]),
    ("x^1.5/x", |x| x.powf(1.5)?.div(x), |x| [x.sqrt(), 0.5 / x.sqrt(), -0.25 * x.powf(-1.5)]),
];

/// Zero and negative numbers among positive ones.
const POINTS: [f64; 6] = [0.0, 4.0, -1.0, 0.25, 0.0, 9.0];

/// Checks that `f` is `inner` for positive numbers, and 3x else.
#[track_caller]
fn check(name: &str, f: impl Fn(&Tensor) -> Result<Tensor>, inner: fn(f64) -> [f64; 3]) {
    let x = vector(&POINTS);
    let want = |order: usize| -> Vec<f64> {
        POINTS.iter().map(|&p| if p > 0.0 { inner(p)[order] } else { [3.0 * p, 3.0, 0.0][order] }).collect()
    };
    let sum = |x: &Tensor| vmap(&f)(x)?.sum();
    let ones = x.ones_like().unwrap();
    let all = [
        (0, vmap(&f)(&x)),
        (1, vmap(grad(&f))(&x)),
        (1, grad(sum)(&x)),
        (1, jvp(vmap(&f), &x, &ones).map(|r| r.1)),
        (1, vmap(|x: &Tensor| Ok(jvp(&f, x, &Tensor::from(1.0))?.1))(&x)),
        (1, jacrev(vmap(&f))(&x).and_then(|j| j.sum_dims(&[0], false))),
        (1, jacfwd(vmap(&f))(&x).and_then(|j| j.sum_dims(&[0], false))),
        (1, vjp(vmap(&f), &x).and_then(|(_, pull)| pull.call(&ones))),
        (2, vmap(hessian(&f))(&x)),
        (2, vmap(grad(grad(&f)))(&x)),
        (2, grad(|x: &Tensor| grad(sum)(x)?.sum())(&x)),
        (2, grad(|x: &Tensor| vmap(grad(&f))(x)?.sum())(&x)),
        (2, jvp(grad(sum), &x, &ones).map(|r| r.1)),
        (2, jvp(vmap(grad(&f)), &x, &ones).map(|r| r.1)),
        (2, hessian(sum)(&x).and_then(|j| j.sum_dims(&[0], false))),
    ];
    for (k, (order, t)) in all.into_iter().enumerate() {
        let got = values(&t.unwrap());
        let want = want(order);
        assert!(
            got.iter().zip(&want).all(|(g, w)| (g - w).abs() <= 1e-10 * w.abs().max(1.0)),
            "{name}, {k}: {got:?}, {want:?}"
        );
    }
}

#[test]
fn c115_where_and_the_branch_that_is_not_taken() {
    let f = |a: &Tensor| cond(&a.le(0.0)?, Tensor::exp, |a| a.add(1.0), a);
    close(&values(&vmap(grad(f))(&vector(&[1000.0, -1.0])).unwrap()), &[1.0, (-1f64).exp()]);
    let g = |x: &Tensor| cond(&x.gt(2.0)?, Tensor::log2, |x| x.mul(2.0), x);
    let slopes = grad(|x: &Tensor| vmap(g)(x)?.sum())(&vector(&[0.0, 2.0, 3.0])).unwrap();
    close(&values(&slopes), &[2.0, 2.0, 1.0 / (3.0 * 2f64.ln())]);
}

#[test]
fn operands() {
    for (name, inner, plain) in INNER {
        check(name, |x| cond(&x.gt(0.0)?, inner, |x| x.mul(3.0), x), plain);
        // The other way round.
        check(name, |x| cond(&x.le(0.0)?, |x| x.mul(3.0), inner, x), plain);
    }
}

#[test]
fn captured_values() {
    for (name, inner, plain) in INNER {
        check(name, |x| cond(&x.gt(0.0)?, |()| inner(x), |()| x.mul(3.0), &()), plain);
        // Some of both, and a value made from what is captured.
        let both = |x: &Tensor| {
            let half = x.mul(0.5)?;
            cond(&x.gt(0.0)?, |h| inner(&h.add(&half)?), |h| h.add(&half)?.mul(3.0), &half)
        };
        check(name, both, plain);
        // As the argument of a transform that runs inside of the branch.
        let transformed =
            |x: &Tensor| cond(&x.gt(0.0)?, |()| Ok(vjp(inner, x)?.0), |()| Ok(jvp(|x| x.mul(3.0), x, x)?.0), &());
        check(name, transformed, plain);
        let lanes = |x: &Tensor| {
            let row = stack(&[x, x], 0)?;
            cond(&x.gt(0.0)?, |()| vmap(inner)(&row)?.mean(), |()| row.sum()?.mul(1.5), &())
        };
        check(name, lanes, plain);
    }
}

#[test]
fn in_loops_and_functions() {
    for (name, inner, plain) in INNER {
        let branch = move |x: &Tensor| cond(&x.gt(0.0)?, inner, |x| x.mul(3.0), x);
        check(name, |x| fori(0..1, |_, x: &Tensor| branch(x), x), plain);
        check(name, |x| Ok(scan(|_: &Tensor, x: &Tensor| Ok((branch(x)?, ())), x, &x.unsqueeze(0)?)?.0), plain);
        check(name, checkpoint(branch), plain);
        // A branch that contains a call which runs again, and one that captures what it runs on.
        check(name, |x| cond(&x.gt(0.0)?, checkpoint(inner), |x| x.mul(3.0), x), plain);
        let captured = |x: &Tensor| {
            let x2 = x.clone();
            cond(&x.gt(0.0)?, |()| checkpoint(move |()| inner(&x2))(&()), |()| x.mul(3.0), &())
        };
        check(name, captured, plain);
        check(
            name,
            |x| cond(&x.gt(0.0)?, |()| checkpoint(inner)(x), |()| checkpoint(|x: &Tensor| x.mul(3.0))(x), &()),
            plain,
        );
        // A loop whose lanes stop at once where the number is not positive.
        let once = |x: &Tensor| {
            let body = |(y, n): &(Tensor, Tensor)| Ok((inner(y)?, n.add(1)?));
            let (y, n) = while_loop(|(y, n)| y.gt(0.0)?.logical_and(&n.lt(1)?), body, &(x.clone(), Tensor::from(0)))?;
            cond(&n.eq(0)?, |y| y.mul(3.0), |y| Ok(y.clone()), &y)
        };
        check(name, once, plain);
        // The same with what the body reads captured.
        let captured = |x: &Tensor| {
            let body = |(_, n): &(Tensor, Tensor)| Ok((inner(x)?, n.add(1)?));
            let (y, n) = while_loop(|(y, n)| y.gt(0.0)?.logical_and(&n.lt(1)?), body, &(x.clone(), Tensor::from(0)))?;
            cond(&n.eq(0)?, |y| y.mul(3.0), |y| Ok(y.clone()), &y)
        };
        check(name, captured, plain);
    }
}

#[test]
fn pullbacks_that_branches_capture() {
    // The slope of the square root. The pullback was made for all lanes, but keeps the argument only.
    let slope: fn(f64) -> [f64; 3] = |x| [0.5 * x.powf(-0.5), -0.25 * x.powf(-1.5), 0.375 * x.powf(-2.5)];
    let f = |x: &Tensor| {
        let (_, pull) = vjp(checkpoint(Tensor::sqrt), x)?;
        cond(&x.gt(0.0)?, |()| pull.call(&Tensor::from(1.0)), |()| x.mul(3.0), &())
    };
    check("pullback", f, slope);
    let x = vector(&POINTS);
    let g = |w: &Tensor, x: &Tensor| {
        let (_, pull) = vjp(checkpoint(Tensor::sqrt), x)?;
        cond(&x.gt(0.0)?, |()| pull.call(&Tensor::from(1.0))?.mul(w), |()| x.mul(w), &())
    };
    let total = |w: &Tensor| vmap(|x: &Tensor| g(w, x))(&x)?.sum();
    let want = 0.25 - 1.0 + 1.0 + 1.0 / 6.0;
    close(&[grad(total)(&Tensor::from(2.0)).unwrap().item::<f64>().unwrap()], &[want]);
}

#[test]
fn in_user_functions() {
    let root = custom_vjp(
        |x: &Tensor| x.sqrt(),
        |x: &Tensor| {
            let y = x.sqrt()?;
            Ok((y.clone(), y))
        },
        |y: &Tensor, g| g.map(|g| g.div(&(y * 2.0))),
    );
    let root = Arc::new(root);
    let plain = |x: f64| [x.sqrt(), 0.5 / x.sqrt(), -0.25 * x.powf(-1.5)];
    check("function", |x| cond(&x.gt(0.0)?, |x| root(x), |x| x.mul(3.0), x), plain);
    check("captured", |x| cond(&x.gt(0.0)?, |()| root(x), |()| x.mul(3.0), &()), plain);
    // A branch inside of a function whose derivative goes through its operations.
    let whole = pullback::custom(|x: &Tensor| cond(&x.gt(0.0)?, |x| x.sqrt(), |x| x.mul(3.0), x)).into_fn();
    check("inside", whole, plain);
}

#[test]
fn shared_parameters_get_the_sum_of_the_lanes_that_use_them() {
    // w √x for positive x: at the others, the slope by w is that of -x.
    let x = vector(&POINTS);
    let f = |w: &Tensor, x: &Tensor| cond(&x.gt(0.0)?, |x| x.sqrt()?.mul(w), |x| x.neg()?.mul(w), x);
    let total = |w: &Tensor| vmap(|x: &Tensor| f(w, x))(&x)?.sum();
    let w = Tensor::from(2.0);
    close(&[grad(total)(&w).unwrap().item::<f64>().unwrap()], &[2.0 + 0.5 + 3.0 + 1.0]);
    close(&[jvp(total, &w, &Tensor::from(1.0)).unwrap().1.item::<f64>().unwrap()], &[6.5]);
    // A parameter whose logarithm is fine, of which lanes have their own as well.
    let g = |w: &Tensor, x: &Tensor| cond(&x.gt(0.0)?, |()| x.log()?.mul(&w.log()?), |()| Ok(w.clone()), &());
    let total = |w: &Tensor| vmap(|x: &Tensor| g(w, x))(&x)?.sum();
    let logs: f64 = POINTS.iter().filter(|&&p| p > 0.0).map(|p| p.ln()).sum();
    close(&[grad(total)(&w).unwrap().item::<f64>().unwrap()], &[logs / 2.0 + 3.0]);
    let again = |w: &Tensor, x: &Tensor| {
        let part = |(): &()| checkpoint(Tensor::log)(x)?.mul(&w.log()?);
        cond(&x.gt(0.0)?, part, |()| Ok(w.clone()), &())
    };
    let total = |w: &Tensor| vmap(|x: &Tensor| again(w, x))(&x)?.sum();
    close(&[grad(total)(&w).unwrap().item::<f64>().unwrap()], &[logs / 2.0 + 3.0]);
    let both = vmap(|w: &Tensor| grad(|w: &Tensor| vmap(|x: &Tensor| g(w, x))(&x)?.sum())(w))(&vector(&[2.0, 4.0]));
    close(&values(&both.unwrap()), &[logs / 2.0 + 3.0, logs / 4.0 + 3.0]);
}

#[test]
fn values_of_another_level_that_no_lane_of_this_one_decides() {
    // The outer lanes hold what the inner predicate does not depend on: one of them is negative and used by nobody.
    let outer = vector(&[4.0, -1.0]);
    let inner = vector(&[1.0, -1.0]);
    // √s is taken where both are positive; the inner branch captures the outer value.
    let f = |s: &Tensor, x: &Tensor| {
        let positive = |x: &Tensor| cond(&s.gt(0.0)?, |x| s.sqrt()?.mul(x), |x| x.mul(2.0), x);
        cond(&x.gt(0.0)?, positive, |x| x.mul(3.0), x)
    };
    let grid = vmap(|s: &Tensor| vmap(|x: &Tensor| f(s, x))(&inner))(&outer).unwrap();
    close(&values(&grid), &[2.0, -3.0, 2.0, -3.0]);
    let slopes = grad(|s: &Tensor| vmap(|s: &Tensor| vmap(|x: &Tensor| f(s, x))(&inner))(s)?.sum())(&outer).unwrap();
    close(&values(&slopes), &[0.25, 0.0]);
    // Inside of a function that runs again.
    let again = |s: &Tensor, x: &Tensor| checkpoint(move |(s, x): &(Tensor, Tensor)| f(s, x))(&(s.clone(), x.clone()));
    let slopes =
        grad(|s: &Tensor| vmap(|s: &Tensor| vmap(|x: &Tensor| again(s, x))(&inner))(s)?.sum())(&outer).unwrap();
    close(&values(&slopes), &[0.25, 0.0]);
    let both = |(s, x): &(Tensor, Tensor)| {
        let pairs = |(s, x): &(Tensor, Tensor)| {
            let a = s.mul(x)?;
            let branch = |a: &Tensor| cond(&a.gt(0.0)?, |a: &Tensor| a.mul(&a.exp()?), |a| a.sin(), a);
            checkpoint(branch)(&a)
        };
        let row = x.clone();
        vmap(|s: &Tensor| vmap(|x: &Tensor| pairs(&(s.clone(), x.clone())))(&row))(s)?.sum()
    };
    let want: Vec<f64> = [4.0f64, -1.0]
        .map(|s| {
            [1.0, -1.0]
                .map(|x| (s * x, x))
                .map(|(a, x): (f64, f64)| x * if a > 0.0 { a.exp() * (1.0 + a) } else { a.cos() })
        })
        .map(|parts| parts.iter().sum())
        .to_vec();
    close(&values(&grad(both)(&(outer.clone(), inner.clone())).unwrap().0), &want);
    // An operand that depends on both levels, and a predicate that depends on one.
    let one = |s: &Tensor, x: &Tensor| {
        let f = move |(a, x): &(Tensor, Tensor)| cond(&x.gt(0.0)?, |a: &Tensor| a.exp(), |a| a.sin(), a);
        checkpoint(f)(&(s.mul(x)?, x.clone()))
    };
    let want = [4.0f64, -1.0].map(|s| s.exp() - (-s).cos());
    let slopes = grad(|s: &Tensor| vmap(|s: &Tensor| vmap(|x: &Tensor| one(s, x))(&inner))(s)?.sum())(&outer).unwrap();
    close(&values(&slopes), &want);
    let slopes = grad(|s: &Tensor| vmap(|x: &Tensor| vmap(|s: &Tensor| one(s, x))(s))(&inner)?.sum())(&outer).unwrap();
    close(&values(&slopes), &want);
    // With the levels exchanged.
    let grid = vmap(|x: &Tensor| vmap(|s: &Tensor| f(s, x))(&outer))(&inner).unwrap();
    close(&values(&grid), &[2.0, 2.0, -3.0, -3.0]);
    let slopes = grad(|s: &Tensor| vmap(|x: &Tensor| vmap(|s: &Tensor| f(s, x))(s))(&inner)?.sum())(&outer).unwrap();
    close(&values(&slopes), &[0.25, 0.0]);
}

#[test]
fn graphs_of_branches() {
    let points = (vector(&[-1.0, 1.0]), vector(&[0.0, 4.0]));
    // The lanes are those of a `vmap` outside of the graph, and the graph is differentiated.
    let operand = |(p, x): &(Tensor, Tensor)| {
        let graph = capture(|x: &Tensor| cond(&p.gt(0.0)?, |x: &Tensor| x.sqrt(), |x| x.mul(3.0), x))(x)?;
        grad(|x: &Tensor| graph.call(x))(x)
    };
    let captured = |(p, x): &(Tensor, Tensor)| {
        let graph = capture(|x: &Tensor| cond(&p.gt(0.0)?, |(): &()| x.sqrt(), |()| x.mul(3.0), &()))(x)?;
        grad(|x: &Tensor| graph.call(x))(x)
    };
    close(&values(&vmap(operand)(&points).unwrap()), &[3.0, 0.25]);
    close(&values(&vmap(captured)(&points).unwrap()), &[3.0, 0.25]);
    // They are those of one inside of the graph, which a checkpoint runs again.
    let p = vector(&[-1.0, 1.0]);
    let rows = checkpoint(move |x: &Tensor| {
        let root = |(p, x): &(Tensor, Tensor)| cond(&p.gt(0.0)?, |x: &Tensor| x.sqrt(), |x| x.mul(3.0), x);
        vmap(root)(&(p.clone(), x.clone()))?.sum()
    });
    let graph = capture(grad(&rows))(&vector(&[1.0, 1.0])).unwrap();
    close(&values(&graph.call(&points.1).unwrap()), &[3.0, 0.25]);
    let n = vector(&[0.0, 1.0, 2.0]);
    let repeated = checkpoint(move |x: &Tensor| {
        let step = |(k, x): &(Tensor, Tensor)| Ok((k.sub(1.0)?, x.sqrt()?));
        vmap(|k: &Tensor| Ok(while_loop(|(k, _)| k.gt(0.0), step, &(k.clone(), x.clone()))?.1))(&n)?.sum()
    });
    let graph = capture(grad(&repeated))(&Tensor::from(1.0)).unwrap();
    let want = 1.0 + 0.5 / 4.0 + 0.25 / 8.0; // of x + x^(1/2) + x^(1/4) at 16
    close(&values(&graph.call(&Tensor::from(16.0)).unwrap()), &[want]);
}
