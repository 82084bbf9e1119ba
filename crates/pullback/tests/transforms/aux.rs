//! Auxiliary data of every transform, and how often the function runs for it.

use std::cell::Cell;

use pullback::*;

use crate::is;

/// Σx³, with the number of calls counted, and what else it returns: a tree with data that is no tensor.
fn counted<'a>(
    calls: &'a Cell<usize>,
) -> impl Fn(&Tensor) -> Result<(Tensor, (Tensor, Vec<Tensor>, Static<&'static str>))> + 'a {
    move |x| {
        calls.set(calls.get() + 1);
        Ok((x.powi(3)?.sum()?, (x.square()?, vec![Tensor::from(7i64)], Static("note"))))
    }
}

#[track_caller]
fn check_aux(aux: (Tensor, Vec<Tensor>, Static<&'static str>), calls: &Cell<usize>, runs: usize) {
    is(&aux.0, &[2], &[1.0, 4.0]);
    assert_eq!(aux.1[0].item::<i64>().unwrap(), 7);
    assert_eq!(aux.2.0, "note");
    assert_eq!(calls.take(), runs);
}

#[test]
fn auxiliary_data_of_every_transform() {
    let (x, calls) = (Tensor::from([1.0, 2.0]), Cell::new(0));
    let f = counted(&calls);
    let (slope, h) = ([3.0, 12.0], [6.0, 0.0, 0.0, 12.0]);

    let (g, aux) = Grad::new().has_aux().of(&f)(&x).unwrap();
    is(&g, &[2], &slope);
    check_aux(aux, &calls, 1);
    let ((y, aux), g) = Grad::new().has_aux().value_and(&f)(&x).unwrap();
    is(&y, &[], &[9.0]);
    is(&g, &[2], &slope);
    check_aux(aux, &calls, 1);

    let (y, pull, aux) = Vjp::new().has_aux().of(&f)(&x).unwrap();
    is(&y, &[], &[9.0]);
    is(&pull.call(&Tensor::from(2.0)).unwrap(), &[2], &[6.0, 24.0]);
    check_aux(aux, &calls, 1);

    let (y, dy, aux) = Jvp::new().has_aux().of(&f)(&x, &Tensor::from([1.0, 1.0])).unwrap();
    is(&y, &[], &[9.0]);
    is(&dy, &[], &[15.0]);
    check_aux(aux, &calls, 1);

    let ((y, aux), j) = Jacrev::new().has_aux().value_and(&f)(&x).unwrap();
    is(&y, &[], &[9.0]);
    is(&j, &[2], &slope);
    check_aux(aux, &calls, 1);
    let ((y, aux), j) = Jacfwd::new().has_aux().value_and(&f)(&x).unwrap();
    is(&y, &[], &[9.0]);
    is(&j, &[2], &slope);
    check_aux(aux, &calls, 1);
    // A run for each chunk.
    let (j, aux) = Jacfwd::new().has_aux().chunk_size(1).of(&f)(&x).unwrap();
    is(&j, &[2], &slope);
    check_aux(aux, &calls, 2);

    for (strategy, whole, single) in [
        (HessianStrategy::ForwardOverReverse, 1, 2),
        (HessianStrategy::ReverseOverForward, 1, 2),
        (HessianStrategy::ReverseOverReverse, 1, 1),
        (HessianStrategy::ForwardOverForward, 1, 4),
    ] {
        let builder = Hessian::new().strategy(strategy).has_aux();
        let (got, aux) = builder.of(&f)(&x).unwrap();
        is(&got, &[2, 2], &h);
        check_aux(aux, &calls, whole);
        let ((y, aux), got) = builder.chunk_size(1).value_and(&f)(&x).unwrap();
        is(&y, &[], &[9.0]);
        is(&got, &[2, 2], &h);
        check_aux(aux, &calls, single);
    }

    let v = Tensor::from([1.0, 10.0]);
    let (y, product, aux) = Hvp::new().has_aux().of(&f)(&x, &v).unwrap();
    is(&y, &[], &[9.0]);
    is(&product, &[2], &[6.0, 120.0]);
    check_aux(aux, &calls, 1);
    let (y, product, aux) = Vhp::new().has_aux().of(&f)(&x, &v).unwrap();
    is(&y, &[], &[9.0]);
    is(&product, &[2], &[6.0, 120.0]);
    check_aux(aux, &calls, 1);

    let (trace, aux) = Laplacian::new().has_aux().of(&f)(&x).unwrap();
    is(&trace, &[], &[18.0]);
    check_aux(aux, &calls, 1);
    let ((y, aux), diagonal) = HessianDiagonal::new().has_aux().value_and(&f)(&x).unwrap();
    is(&y, &[], &[9.0]);
    is(&diagonal, &[2], &[6.0, 12.0]);
    check_aux(aux, &calls, 1);
}

#[test]
fn a_value_needs_no_further_run() {
    let (x, calls) = (Tensor::from([1.0, 2.0]), Cell::new(0));
    let f = |x: &Tensor| Ok(counted(&calls)(x)?.0);
    hvp(f, &x, &x).unwrap();
    assert_eq!(calls.take(), 1);
    vhp(f, &x, &x).unwrap();
    assert_eq!(calls.take(), 1);
    let g = |x: &Tensor| {
        calls.set(calls.get() + 1);
        x.square()
    };
    let (y, j) = value_and_jacobian(g)(&x).unwrap();
    assert_eq!(calls.take(), 1);
    is(&y, &[2], &[1.0, 4.0]);
    is(&j, &[2, 2], &[2.0, 0.0, 0.0, 4.0]);
    Jacrev::new().chunk_size(1).value_and(g)(&x).unwrap();
    assert_eq!(calls.take(), 1);
}

#[test]
fn auxiliary_data_is_differentiated_by_the_levels_outside_only() {
    let x = Tensor::from(3.0);
    let f = |x: &Tensor| Ok((x.powi(3)?, x.square()?));
    let aux_of = |x: &Tensor| Ok(Grad::new().has_aux().of(f)(x)?.1);
    is(&grad(aux_of)(&x).unwrap(), &[], &[6.0]);
    let aux_of = |x: &Tensor| Ok(Hessian::new().has_aux().of(f)(x)?.1);
    is(&grad(aux_of)(&x).unwrap(), &[], &[6.0]);
    is(&jvp(aux_of, &x, &Tensor::from(1.0)).unwrap().1, &[], &[6.0]);
    let lanes = vmap(Jacfwd::new().has_aux().value_and(f));
    let ((y, aux), j) = lanes(&Tensor::from([1.0, 2.0])).unwrap();
    is(&y, &[2], &[1.0, 8.0]);
    is(&aux, &[2], &[1.0, 4.0]);
    is(&j, &[2], &[3.0, 12.0]);
}

#[test]
fn t12_t24_auxiliary_data_may_be_empty() {
    // What is no pair does not compile; see `src/transforms/refused.rs`.
    let f = |x: &Tensor| Ok((x.square()?, ()));
    is(&Grad::new().has_aux().of(f)(&Tensor::from(3.0)).unwrap().0, &[], &[6.0]);
}

#[test]
fn t13_what_is_no_tensor_is_static() {
    let f = |x: &Tensor| Ok((x.square()?, (Static(vec![1u8, 2]), None::<Tensor>)));
    let (_, (bytes, none)) = Grad::new().has_aux().of(f)(&Tensor::from(3.0)).unwrap();
    assert_eq!(bytes.0, [1, 2]);
    assert!(none.is_none());
}
