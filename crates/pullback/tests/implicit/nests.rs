//! One equation whose solution is known, under every nest of transforms.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pullback::implicit::{self, LinearSolver, Root};
use pullback::{Result, Tensor, Vmap, custom, grad, hessian, jacfwd, jacrev, jvp, value_and_grad, vjp, vmap};

use super::{heron, near, number, numbers, square_is};

type F = Arc<dyn Fn(&Tensor) -> Result<Tensor> + Send + Sync>;

/// The square root by each kind of solver and linear solver.
fn roots() -> Vec<(&'static str, F)> {
    let opaque = |a: &Tensor| Ok(Tensor::from(heron(a.item::<f64>()?)));
    let halfway = |a: &Tensor, x: &Tensor| a.div(x)?.add(x)?.mul(0.5);
    let start = |a: &Tensor| a.ones_like();
    let gmres = LinearSolver::gmres();
    vec![
        ("opaque", Arc::new(implicit::root(square_is, opaque))),
        ("gmres", Arc::new(Root::new(square_is, opaque).linear_solver(gmres).into_fn())),
        // Its derivative is 2x, and positive.
        ("cg", Arc::new(Root::new(square_is, opaque).linear_solver(LinearSolver::cg()).into_fn())),
        ("newton", Arc::new(Root::newton(square_is, start).into_fn())),
        ("fixed point", Arc::new(implicit::fixed_point(halfway, opaque))),
        ("iterate", Arc::new(Root::iterate(halfway, start).into_fn())),
    ]
}

/// The derivative of order `k` of the square root.
fn derivative(k: usize, a: f64) -> f64 {
    let factor: f64 = (0..k).map(|j| 0.5 - j as f64).product();
    factor * a.powf(0.5 - k as f64)
}

fn by_grad(f: F) -> F {
    Arc::new(move |x| grad(|x: &Tensor| f(x))(x))
}

fn by_jvp(f: F) -> F {
    Arc::new(move |x| Ok(jvp(|x: &Tensor| f(x), x, &x.ones_like()?)?.1))
}

/// A derivative through a batch: of the sum over two lanes that are alike, halved.
fn by_lanes(f: F) -> F {
    Arc::new(move |x| {
        let lanes = |x: &Tensor| vmap(|x: &Tensor| f(x))(&x.expand(&[2])?)?.sum()?.mul(0.5);
        grad(lanes)(x)
    })
}

fn by_jacobian(f: F) -> F {
    Arc::new(move |x| jacfwd(|x: &Tensor| f(x))(x))
}

#[test]
fn c39_every_nest_to_depth_three() {
    let steps: [(&str, fn(F) -> F); 4] =
        [("grad", by_grad), ("jvp", by_jvp), ("lanes", by_lanes), ("jacfwd", by_jacobian)];
    let a = Tensor::from(4.0);
    let batch = Tensor::from([4.0, 9.0, 16.0]);
    for (kind, f) in roots() {
        near(number(&f(&a).unwrap()), 2.0, 1e-15);
        let mut nests: Vec<(String, usize, F)> = vec![(kind.to_string(), 0, f)];
        let mut start = 0;
        for depth in 1..=3 {
            let end = nests.len();
            for k in start..end {
                for (name, step) in steps {
                    let (inner, _, f) = &nests[k];
                    nests.push((format!("{name} of {inner}"), depth, step(f.clone())));
                }
            }
            start = end;
        }
        for (name, depth, f) in &nests {
            let got = f(&a).unwrap_or_else(|e| panic!("{name}: {e}"));
            let want = derivative(*depth, 4.0);
            assert!((number(&got) - want).abs() < 1e-11, "{name}: {got} instead of {want}");
            let got = vmap(|a: &Tensor| f(a))(&batch).unwrap_or_else(|e| panic!("vmap of {name}: {e}"));
            let want = [4.0, 9.0, 16.0].map(|a| derivative(*depth, a));
            let close = numbers(&got).iter().zip(want).all(|(g, w)| (g - w).abs() < 1e-11);
            assert!(close, "vmap of {name}: {got} instead of {want:?}");
        }
    }
}

#[test]
fn c39_the_case_itself() {
    let (solved, equation) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (count_solved, count_equation) = (solved.clone(), equation.clone());
    let root = implicit::root(
        move |a: &Tensor, x: &Tensor| {
            count_equation.fetch_add(1, Ordering::Relaxed);
            square_is(a, x)
        },
        move |a: &Tensor| {
            count_solved.fetch_add(1, Ordering::Relaxed);
            Ok(Tensor::from(heron(a.item::<f64>()?)))
        },
    );
    let a = Tensor::from(4.0);
    let (value, slope) = value_and_grad(&root)(&a).unwrap();
    assert_eq!((number(&value), number(&slope)), (2.0, 0.25));
    assert_eq!(solved.swap(0, Ordering::Relaxed), 1);
    assert_eq!(number(&hessian(&root)(&a).unwrap()), -0.03125);
    assert_eq!(solved.swap(0, Ordering::Relaxed), 1);
    let lanes = Tensor::from([4.0, 9.0, 16.0]);
    let slopes = numbers(&vmap(grad(&root))(&lanes).unwrap());
    assert_eq!(slopes, [0.25, 1.0 / 6.0, 0.125]);
    // One solution for each lane, and one evaluation of rules for all.
    assert_eq!(solved.swap(0, Ordering::Relaxed), 3);
    equation.store(0, Ordering::Relaxed);
    vmap(grad(&root))(&lanes.expand(&[1000, 3]).unwrap().select(1, 0).unwrap()).unwrap();
    assert_eq!(solved.swap(0, Ordering::Relaxed), 1000);
    assert!(equation.load(Ordering::Relaxed) < 10, "{equation:?}");
    // The pullback may be called later, and twice.
    let (_, pull) = vjp(&root, &a).unwrap();
    assert_eq!(number(&pull.call(&Tensor::from(8.0)).unwrap()), 2.0);
    assert_eq!(number(&pull.call(&Tensor::from(4.0)).unwrap()), 1.0);
}

#[test]
fn parameters_shared_by_lanes_get_the_sum() {
    // x² = a·b, with b for all lanes.
    let root = implicit::root(
        |(a, b): &(Tensor, Tensor), x: &Tensor| x.square()?.sub(&a.mul(b)?),
        |(a, b): &(Tensor, Tensor)| Ok(Tensor::from(heron(a.item::<f64>()? * b.item::<f64>()?))),
    );
    let a = Tensor::from([1.0, 4.0, 9.0]);
    let total = |b: &Tensor| vmap(|a: &Tensor| root(&(a.clone(), b.clone())))(&a)?.sum();
    let b = Tensor::from(4.0);
    // 6·√b
    near(number(&total(&b).unwrap()), 12.0, 1e-15);
    near(number(&grad(total)(&b).unwrap()), 1.5, 1e-14);
    near(number(&grad(grad(total))(&b).unwrap()), -0.1875, 1e-14);
    near(number(&jvp(grad(total), &b, &Tensor::from(1.0)).unwrap().1), -0.1875, 1e-14);
    let each = Vmap::new().in_dims((0, None)).of(grad(&root))(&(a.clone(), b.clone())).unwrap();
    assert_eq!((numbers(&each.0), numbers(&each.1)), (vec![1.0, 0.5, 1.0 / 3.0], vec![0.25, 0.5, 0.75]));
    // A call that no lane changes, inside of lanes: it is solved once.
    let same = |b: &Tensor| vmap(|a: &Tensor| root(&(b.clone(), b.clone()))?.mul(a))(&a)?.sum();
    assert_eq!(number(&grad(same)(&b).unwrap()), 14.0);
}

#[test]
fn solutions_inside_other_functions_and_equations() {
    // √(√a) by an equation whose parameters are solutions.
    let root = implicit::root(square_is, |a: &Tensor| Ok(Tensor::from(heron(a.item::<f64>()?))));
    let inner = root.clone();
    let twice = move |a: &Tensor| root(&inner(a)?);
    let fourth = |k: usize, a: f64| (0..k).map(|j| 0.25 - j as f64).product::<f64>() * a.powf(0.25 - k as f64);
    let a = Tensor::from(16.0);
    near(number(&hessian(&twice)(&a).unwrap()), fourth(2, 16.0), 1e-13);
    near(number(&grad(grad(grad(&twice)))(&a).unwrap()), fourth(3, 16.0), 1e-13);
    near(number(&jacfwd(jacrev(jacfwd(&twice)))(&a).unwrap()), fourth(3, 16.0), 1e-13);
    let lanes = numbers(&vmap(hessian(&twice))(&Tensor::from([1.0, 16.0])).unwrap());
    near(lanes[0], fourth(2, 1.0), 1e-13);
    near(lanes[1], fourth(2, 16.0), 1e-13);
    // A residual that solves an equation itself: √(x⁴) = a.
    let within = implicit::root(square_is, |a: &Tensor| Ok(Tensor::from(heron(a.item::<f64>()?))));
    let outer = Root::newton(move |a: &Tensor, x: &Tensor| within(&x.powi(4)?)?.sub(a), |a: &Tensor| a.ones_like());
    let outer = outer.into_fn();
    near(number(&outer(&Tensor::from(9.0)).unwrap()), 3.0, 1e-12);
    near(number(&hessian(&outer)(&Tensor::from(4.0)).unwrap()), -0.03125, 1e-10);
    // And inside a function with other rules.
    let scaled = custom(move |a: &Tensor| twice(&a.mul(16.0)?)).name("scaled").into_fn();
    near(number(&grad(grad(scaled))(&Tensor::from(1.0)).unwrap()), 256.0 * fourth(2, 16.0), 1e-13);
}
