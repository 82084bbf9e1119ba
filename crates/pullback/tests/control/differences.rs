//! Against finite differences, in both modes and to second order, by the checkers that users have.

use pullback::testing::GradCheck;
use pullback::{Result, Scan, Tensor, Tree, checkpoint, cond, map, scan, vmap, while_loop};

use crate::noise;

#[track_caller]
fn check<A: Tree>(f: impl Fn(&A) -> Result<Tensor> + Clone + Send + Sync + 'static, x: &A) {
    GradCheck::new().check_batched(true).run(f.clone(), x).unwrap().into_result().unwrap();
    GradCheck::new().atol(1e-4).second_order(f, x).unwrap().into_result().unwrap();
}

#[test]
fn branches_and_loops() {
    let (x, w) = (noise(&[5], 0.3), noise(&[], 1.1));
    let branch = |(x, w): &(Tensor, Tensor)| {
        let w = w.clone();
        vmap(move |x: &Tensor| cond(&x.gt(0.0)?, |x| x.sqrt()?.mul(&w), |x| x.mul(&w)?.exp(), x))(x)
    };
    check(branch, &(x.clone(), w.clone()));
    let grow = |(x, w): &(Tensor, Tensor)| {
        let w = w.clone();
        vmap(move |x: &Tensor| while_loop(|x| x.lt(2.0), |x| x.mul(&w)?.add(1.5), x))(x)
    };
    check(grow, &(x, w));
}

#[test]
fn loops_over_slices() {
    let arguments = (noise(&[3], 0.3), noise(&[4, 3], 0.8), noise(&[3], 1.9));
    let step = |w: &Tensor, h: &Tensor, x: &Tensor| {
        let h = h.mul(w)?.add(x)?.tanh()?;
        Ok((h.clone(), h.square()?.sum()?))
    };
    check(
        move |(h, xs, w): &(Tensor, Tensor, Tensor)| Ok(scan(|h: &Tensor, x: &Tensor| step(w, h, x), h, xs)?.1),
        &arguments,
    );
    check(
        move |(h, xs, w): &(Tensor, Tensor, Tensor)| {
            let w = w.clone();
            let scan = Scan::new().reverse(true).checkpoint(3);
            Ok(scan.run(move |h: &Tensor, x: &Tensor| step(&w, h, x), h, xs)?.1)
        },
        &arguments,
    );
    check(|x: &Tensor| map(|x: &Tensor| x.sin()?.mul(x), x), &noise(&[4], 0.2));
}

#[test]
fn functions_that_run_again() {
    let f = |(x, w): &(Tensor, Tensor)| {
        let w = w.clone();
        checkpoint(move |x: &Tensor| checkpoint(|x: &Tensor| x.sin())(&x.mul(&w)?)?.mul(&w))(x)
    };
    check(f, &(noise(&[4], 0.4), noise(&[4], 1.4)));
}
