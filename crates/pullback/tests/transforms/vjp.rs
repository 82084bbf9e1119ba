//! `vjp` and its pullback.

use pullback::*;
use rayon::prelude::*;

use crate::{fails, is};

fn pair() -> (Tensor, Tensor) {
    (Tensor::from([1.0, 2.0]), Tensor::from(3.0))
}

/// (x·y, Σx), a tree.
fn f((x, y): &(Tensor, Tensor)) -> Result<(Tensor, Vec<Tensor>)> {
    Ok((x.mul(y)?, vec![x.sum()?]))
}

#[test]
fn a_pullback_of_trees() {
    let ((xy, sum), pull) = vjp(f, &pair()).unwrap();
    is(&xy, &[2], &[3.0, 6.0]);
    is(&sum[0], &[], &[3.0]);
    let (dx, dy) = pull.call(&(Tensor::from([1.0, 10.0]), vec![Tensor::from(100.0)])).unwrap();
    is(&dx, &[2], &[103.0, 130.0]);
    is(&dy, &[], &[21.0]);
}

#[test]
fn a_pullback_is_called_often_from_threads_and_as_lanes() {
    fn shared<T: Send + Sync>(_: &T) {}
    let (_, pull) = vjp(f, &pair()).unwrap();
    shared(&pull);
    let call = |k: f64| pull.call(&(Tensor::from([k, 0.0]), vec![Tensor::from(0.0)])).unwrap();
    (0..200).into_par_iter().for_each(|k| {
        let (dx, dy) = call(k as f64);
        is(&dx, &[2], &[3.0 * k as f64, 0.0]);
        is(&dy, &[], &[k as f64]);
    });
    std::thread::scope(|s| {
        let threads: Vec<_> = (0..4).map(|k| s.spawn(move || (k, call(k as f64).0))).collect();
        for t in threads {
            let (k, dx) = t.join().unwrap();
            is(&dx, &[2], &[3.0 * k as f64, 0.0]);
        }
    });
    let lanes = (Tensor::from([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), vec![Tensor::from([0.0, 0.0, 1.0])]);
    let (dx, dy) = vmap(|c: &(Tensor, Vec<Tensor>)| pull.call(c))(&lanes).unwrap();
    is(&dx, &[3, 2], &[3.0, 0.0, 0.0, 3.0, 4.0, 4.0]);
    is(&dy, &[3], &[1.0, 2.0, 3.0]);
    // In chunks too, and it can be differentiated.
    let (again, _) = Vmap::new().chunk_size(2).of(|c: &(Tensor, Vec<Tensor>)| pull.call(c))(&lanes).unwrap();
    is(&again, &[3, 2], &crate::values(&dx));
    let length = |c: &Tensor| pull.call(&(c.clone(), vec![Tensor::from(0.0)]))?.0.square()?.sum();
    is(&grad(length)(&Tensor::from([1.0, 2.0])).unwrap(), &[2], &[18.0, 36.0]);
    // It outlives the level that made it, and moves to another thread.
    let moved = std::thread::spawn(move || pull.call(&(Tensor::from([1.0, 1.0]), vec![Tensor::from(0.0)])).unwrap().1);
    is(&moved.join().unwrap(), &[], &[3.0]);
}

#[test]
fn a_pullback_under_outer_levels_keeps_their_derivatives() {
    // d/dy of the cotangent of x for x·y² is 2y.
    let slope = |y: &Tensor| {
        let (_, pull) = vjp(|x: &Tensor| x.mul(&y.square()?), &Tensor::from(5.0))?;
        pull.call(&Tensor::from(1.0))
    };
    is(&grad(slope)(&Tensor::from(3.0)).unwrap(), &[], &[6.0]);
    is(&vmap(grad(slope))(&Tensor::from([3.0, 4.0])).unwrap(), &[2], &[6.0, 8.0]);
}

#[test]
fn t20_a_result_without_tensors() {
    let parts = ["vjp: the function must return at least one tensor, got []"];
    fails(vjp(|_: &Tensor| Ok(Vec::<Tensor>::new()), &Tensor::from(1.0)), ErrorKind::Arity, &parts);
    fails(vjp(|_: &Tensor| Ok(()), &Tensor::from(1.0)), ErrorKind::Arity, &["got ()"]);
}

#[test]
fn t21_a_part_of_a_result_that_is_no_tensor_is_static() {
    let (y, pull) = vjp(|x: &Tensor| Ok((x.square()?, Static(5))), &Tensor::from(3.0)).unwrap();
    assert_eq!(y.1.0, 5);
    is(&pull.call(&(Tensor::from(1.0), Static(5))).unwrap(), &[], &[6.0]);
}

#[test]
fn t22_an_integer_result() {
    let g = |x: &Tensor| Ok((x.square()?, x.argmax(None, false)?));
    let parts = ["floating-point results", "i64[]", "result.1", "auxiliary data"];
    fails(vjp(g, &Tensor::from([1.0, 2.0])), ErrorKind::NotDifferentiable, &parts);
    let (_, _, index) = Vjp::new().has_aux().of(g)(&Tensor::from([1.0, 2.0])).unwrap();
    is(&index, &[], &[1.0]);
}

#[test]
fn t23_cotangents_of_another_structure() {
    let (_, pull) = vjp(f, &pair()).unwrap();
    let more = (Tensor::from([1.0, 1.0]), vec![Tensor::from(1.0), Tensor::from(1.0)]);
    let parts = ["(tensor, [tensor])", "got (tensor, [tensor, tensor])"];
    fails(pull.call(&more), ErrorKind::Arity, &parts);
    let (_, pull) = vjp(|x: &Tensor| Ok([Some(x.clone()), None]), &Tensor::from(1.0)).unwrap();
    let parts = ["[tensor, none]", "got [none, tensor]"];
    fails(pull.call(&[None, Some(Tensor::from(1.0))]), ErrorKind::Arity, &parts);
}

#[test]
fn cotangents_of_another_type() {
    let (_, pull) = vjp(f, &pair()).unwrap();
    let parts = ["vjp: cotangent 0 has type f64[3], but output 0 of the function has type f64[2]"];
    fails(pull.call(&(Tensor::from([1.0; 3]), vec![Tensor::from(1.0)])), ErrorKind::Shape, &parts);
    let parts = ["cotangent 1 has type f32[]", "output 1 of the function has type f64[]", "to_dtype"];
    fails(pull.call(&(Tensor::from([1.0; 2]), vec![Tensor::from(1.0f32)])), ErrorKind::Dtype, &parts);
    // After an error it works as before.
    is(&pull.call(&(Tensor::from([1.0; 2]), vec![Tensor::from(0.0)])).unwrap().1, &[], &[3.0]);
}

#[test]
fn t25_an_integer_argument() {
    let parts = ["floating-point arguments", "i64[]", "argument.1"];
    fails(vjp(f, &(Tensor::from([1.0]), Tensor::from(1i64))), ErrorKind::NotDifferentiable, &parts);
}
