//! Which arguments are differentiated.

use pullback::*;

use crate::{fails, is};

type Three = (Tensor, Tensor, Tensor);

fn args() -> Three {
    (Tensor::from([[1.0, 2.0], [3.0, 4.0]]), Tensor::from([1.0, 1.0]), Tensor::from(3.0))
}

/// Σx · Σy · z².
fn f((x, y, z): &Three) -> Result<Tensor> {
    x.sum()?.mul(&y.sum()?)?.mul(&z.square()?)
}

#[test]
fn c95_one_argument_from_the_front_and_from_the_back() {
    let g = Grad::new();
    is(&g.argnums::<0>().of(f)(&args()).unwrap(), &[2, 2], &[18.0; 4]);
    is(&g.argnums::<-3>().of(f)(&args()).unwrap(), &[2, 2], &[18.0; 4]);
    is(&g.argnums::<1>().of(f)(&args()).unwrap(), &[2], &[90.0; 2]);
    is(&g.argnums::<-2>().of(f)(&args()).unwrap(), &[2], &[90.0; 2]);
    is(&g.argnums::<2>().of(f)(&args()).unwrap(), &[], &[120.0]);
    is(&g.argnums::<-1>().of(f)(&args()).unwrap(), &[], &[120.0]);
}

#[test]
fn c95_several_arguments_come_in_the_order_of_selection() {
    let (dz, dx) = Grad::new().argnums::<-1>().and::<0>().of(f)(&args()).unwrap();
    is(&dz, &[], &[120.0]);
    is(&dx, &[2, 2], &[18.0; 4]);
    let (dx, dy, dz) = Grad::new().argnums::<0>().and::<1>().and::<2>().of(f)(&args()).unwrap();
    is(&dx, &[2, 2], &[18.0; 4]);
    is(&dy, &[2], &[90.0; 2]);
    is(&dz, &[], &[120.0]);
}

#[test]
fn c95_every_transform_selects() {
    let x = args();
    let g = |(x, y, z): &Three| x.sum()?.mul(y)?.mul(z); // [2]
    let want = [30.0, 0.0, 0.0, 30.0];
    is(&Jacrev::new().argnums::<1>().of(g)(&x).unwrap(), &[2, 2], &want);
    is(&Jacfwd::new().argnums::<1>().of(g)(&x).unwrap(), &[2, 2], &want);
    let (jz, jy) = Jacfwd::new().argnums::<2>().and::<1>().of(g)(&x).unwrap();
    is(&jz, &[2], &[10.0, 10.0]);
    is(&jy, &[2, 2], &want);
    is(&Hessian::new().argnums::<2>().of(f)(&x).unwrap(), &[], &[40.0]);
    let ((zz, zy), (yz, yy)) = Hessian::new().argnums::<-1>().and::<1>().of(f)(&x).unwrap();
    is(&zz, &[], &[40.0]);
    is(&zy, &[2], &[60.0; 2]);
    is(&yz, &[2], &[60.0; 2]);
    is(&yy, &[2, 2], &[0.0; 4]);
    let (y, dy) = Jvp::new().argnums::<2>().of(g)(&x, &Tensor::from(2.0)).unwrap();
    is(&y, &[2], &[30.0; 2]);
    is(&dy, &[2], &[20.0; 2]);
    let (_, dy) =
        Jvp::new().argnums::<2>().and::<1>().of(g)(&x, &(Tensor::from(1.0), Tensor::from([1.0, 0.0]))).unwrap();
    is(&dy, &[2], &[40.0, 10.0]);
    let (_, pull) = Vjp::new().argnums::<1>().of(g)(&x).unwrap();
    is(&pull.call(&Tensor::from([1.0, 10.0])).unwrap(), &[2], &[30.0, 300.0]);
    let (_, pull) = Vjp::new().argnums::<1>().and::<-1>().of(g)(&x).unwrap();
    let (dy, dz) = pull.call(&Tensor::from([1.0, 10.0])).unwrap();
    is(&dy, &[2], &[30.0, 300.0]);
    is(&dz, &[], &[110.0]);
    for product in [
        Hvp::new().argnums::<2>().of(f)(&x, &Tensor::from(2.0)).unwrap(),
        Vhp::new().argnums::<2>().of(f)(&x, &Tensor::from(2.0)).unwrap(),
    ] {
        is(&product.0, &[], &[180.0]);
        is(&product.1, &[], &[80.0]);
    }
    is(&Laplacian::new().argnums::<2>().of(f)(&x).unwrap(), &[], &[40.0]);
    is(&HessianDiagonal::new().argnums::<2>().of(f)(&x).unwrap(), &[], &[40.0]);
}

#[derive(Clone, Tree)]
struct Model<T = Tensor> {
    w: T,
    layers: Vec<T>,
}

#[test]
fn a_selected_argument_may_be_a_tree() {
    let model = Model { w: Tensor::from(2.0), layers: vec![Tensor::from(3.0), Tensor::from([1.0, 2.0])] };
    let f =
        |(i, m): &(Tensor, Model)| m.w.mul(&m.layers[0])?.mul(&m.layers[1].index_select(0, &i.reshape(&[1])?)?.sum()?);
    let g = Grad::new().argnums::<-1>().of(f)(&(Tensor::from(1i64), model)).unwrap();
    is(&g.w, &[], &[6.0]);
    is(&g.layers[0], &[], &[4.0]);
    is(&g.layers[1], &[2], &[0.0, 6.0]);
}

#[test]
fn members_of_arrays_and_lists_are_arguments_too() {
    let array = [Tensor::from(2.0), Tensor::from(3.0), Tensor::from(5.0)];
    let f = |x: &[Tensor; 3]| x[0].mul(&x[1])?.mul(&x[2]);
    is(&Grad::new().argnums::<-1>().of(f)(&array).unwrap(), &[], &[6.0]);
    let (c, a) = Grad::new().argnums::<2>().and::<0>().of(f)(&array).unwrap();
    is(&c, &[], &[6.0]);
    is(&a, &[], &[15.0]);
    let list = array.to_vec();
    let f = |x: &Vec<Tensor>| x[0].mul(&x[1])?.mul(&x[2]);
    is(&Grad::new().argnums::<-3>().of(f)(&list).unwrap(), &[], &[15.0]);
    let (b, c) = Grad::new().argnums::<1>().and::<2>().of(f)(&list).unwrap();
    is(&b, &[], &[10.0]);
    is(&c, &[], &[6.0]);
    // The others keep the places that they had.
    let f = |x: &Vec<Tensor>| x[0].sub(&x[1])?.powi(3);
    is(&Grad::new().argnums::<1>().of(f)(&list[..2].to_vec()).unwrap(), &[], &[-3.0]);
}

#[test]
fn t03_a_number_out_of_range_of_a_list() {
    let f = |x: &Vec<Tensor>| x[0].mul(&x[1]);
    let x = vec![Tensor::from(1.0), Tensor::from(2.0)];
    let parts = ["grad: argnums", "argument number 2", "2 positional arguments"];
    fails(Grad::new().argnums::<2>().of(f)(&x), ErrorKind::Index, &parts);
    fails(Jacfwd::new().argnums::<-3>().of(f)(&x), ErrorKind::Index, &["jacfwd: argnums", "argument number -3"]);
    fails(Vjp::new().argnums::<5>().of(f)(&x), ErrorKind::Index, &["vjp: argnums"]);
}

#[test]
fn t05_an_argument_twice_in_a_list() {
    let f = |x: &Vec<Tensor>| x[0].mul(&x[1]);
    let x = vec![Tensor::from(1.0), Tensor::from(2.0)];
    fails(Grad::new().argnums::<1>().and::<-1>().of(f)(&x), ErrorKind::Index, &["different arguments", "[1, -1]"]);
}

#[test]
fn t07_what_holds_no_tensor_is_passed_along() {
    let f = |(x, n): &(Tensor, Static<i32>)| x.powi(n.0);
    let (dx, n) = Grad::new().of(f)(&(Tensor::from(2.0), Static(3))).unwrap();
    is(&dx, &[], &[12.0]);
    assert_eq!(n.0, 3);
    assert_eq!(Grad::new().argnums::<1>().of(f)(&(Tensor::from(2.0), Static(3))).unwrap().0, 3);
}

#[test]
fn t08_a_selected_integer() {
    let x = (Tensor::from(2.0), (Tensor::from(1.0), Tensor::from([1i64])));
    let f = |(x, _): &(Tensor, (Tensor, Tensor))| x.square();
    let parts = ["floating-point arguments", "i64[1]", ".1", "argnums"];
    fails(Grad::new().argnums::<1>().of(f)(&x), ErrorKind::NotDifferentiable, &parts);
    fails(Jacrev::new().argnums::<1>().of(f)(&x), ErrorKind::NotDifferentiable, &parts);
    fails(Jacfwd::new().argnums::<1>().of(f)(&x), ErrorKind::NotDifferentiable, &parts);
    is(&Grad::new().argnums::<0>().of(f)(&x).unwrap(), &[], &[4.0]);
}

#[test]
fn an_argument_that_is_not_selected_is_alive_for_the_levels_outside() {
    // d/dz of d/dx Σx·z² is 2z for each element of x.
    let slope = |a: &(Tensor, Tensor)| {
        let f = |(x, z): &(Tensor, Tensor)| x.sum()?.mul(&z.square()?);
        Grad::new().argnums::<0>().of(f)(a)?.sum()
    };
    let x = (Tensor::from([1.0, 2.0]), Tensor::from(3.0));
    is(&Grad::new().argnums::<1>().of(slope)(&x).unwrap(), &[], &[12.0]);
    let lanes = Vmap::new().in_dims((None, 0)).of(Grad::new().argnums::<1>().of(slope));
    is(&lanes(&(x.0, Tensor::from([3.0, 4.0]))).unwrap(), &[2], &[12.0, 16.0]);
}
