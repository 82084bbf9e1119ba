//! Leaves, their gradients, and `backward`.

use pullback::autograd::{self, Backward, leaf, no_grad};
use pullback::{DType, ErrorKind, Tensor};

use crate::{close, grad_of, refused, scalar, value, values, vector};

#[test]
fn a_01_a_result_requires_gradients_if_an_input_does_and_the_mode_is_on() {
    let (x, c) = (scalar(2.0), Tensor::from(3.0));
    let y = x.mul(&c).unwrap();
    assert!(y.requires_grad() && !y.is_leaf());
    assert!(!c.requires_grad() && c.is_leaf());
    assert!(x.requires_grad() && x.is_leaf());
    assert!(!c.mul(&c).unwrap().requires_grad());
    let z = no_grad(|| x.mul(&c)).unwrap();
    assert!(!z.requires_grad() && z.is_leaf());
    // Comparisons and integers carry no derivative.
    assert!(!x.gt(&c).unwrap().requires_grad());
    assert!(!x.to_dtype(DType::I64).unwrap().requires_grad());
}

#[test]
fn a_01_marking_integers_is_an_error_and_marking_twice_changes_nothing() {
    let mut n = Tensor::from(3i64);
    refused(n.requires_grad_(), ErrorKind::NotDifferentiable, &["requires_grad_", "i64[]", "to_dtype"]);
    refused(leaf(&(Tensor::from(1.0), Tensor::from(true))), ErrorKind::NotDifferentiable, &["leaf", "bool[]", "1"]);
    let mut x = scalar(3.0);
    x.square().unwrap().backward().unwrap();
    x.requires_grad_().unwrap();
    assert_eq!(grad_of(&x), [6.0], "the same leaf");
    // The result of an operation keeps its graph: to cut it off, detach.
    let mut y = x.square().unwrap();
    y.requires_grad_().unwrap();
    assert!(!y.is_leaf());
    refused(leaf(&y), ErrorKind::NotDifferentiable, &["detach"]);
    assert!(leaf(&y.detach().unwrap()).unwrap().is_leaf());
}

#[test]
fn a_02_gradients_accumulate_and_leaves_never_share_one() {
    let (a, b) = (vector(&[1.0, 2.0]), vector(&[3.0, 4.0]));
    // Both get the very cotangent of the sum.
    let y = a.add(&b).unwrap().sum().unwrap();
    y.backward().unwrap();
    let mut first = a.grad().unwrap().unwrap();
    first.mul_(100.0).unwrap();
    assert_eq!((grad_of(&a), grad_of(&b)), (vec![1.0; 2], vec![1.0; 2]));
    let kept = a.grad().unwrap().unwrap();
    y.backward().unwrap();
    assert_eq!((grad_of(&a), values(&kept)), (vec![2.0; 2], vec![1.0; 2]), "what was read does not change");
}

#[test]
fn a_02_a_leaf_that_occurs_twice_gets_both_parts() {
    let x = scalar(3.0);
    x.mul(&x).unwrap().add(&x).unwrap().backward().unwrap();
    assert_eq!(grad_of(&x), [7.0]);
}

#[test]
fn a_03_results_have_no_gradient_unless_they_retain_it() {
    let x = scalar(3.0);
    let y = x.square().unwrap();
    refused(y.grad(), ErrorKind::NotDifferentiable, &["grad", "retain_grad", "no_grad"]);
    refused(y.zero_grad(), ErrorKind::NotDifferentiable, &["retain_grad"]);
    assert!(!y.retains_grad());
    y.retain_grad().unwrap();
    y.retain_grad().unwrap();
    assert!(y.retains_grad() && y.grad().unwrap().is_none());
    let z = y.square().unwrap();
    z.backward().unwrap();
    assert_eq!((grad_of(&y), grad_of(&x)), (vec![18.0], vec![108.0]));
    z.backward().unwrap();
    assert_eq!(grad_of(&y), [36.0], "it accumulates as in a leaf");
    x.retain_grad().unwrap();
    assert!(!x.retains_grad());
    refused(Tensor::from(1.0).retain_grad(), ErrorKind::NotDifferentiable, &["retain_grad", "does not"]);
}

#[test]
fn a_03_after_an_in_place_operation_the_handle_is_the_new_value() {
    let x = scalar(3.0);
    let mut y = x.mul(2.0).unwrap();
    let old = y.clone();
    old.retain_grad().unwrap();
    y.mul_(5.0).unwrap();
    y.retain_grad().unwrap();
    y.square().unwrap().backward().unwrap();
    assert_eq!((grad_of(&y), grad_of(&old), grad_of(&x)), (vec![60.0], vec![300.0], vec![600.0]));
}

#[test]
fn a_04_a_gradient_has_the_dtype_of_its_leaf() {
    let x = leaf(&Tensor::from([1.0f32, 2.0])).unwrap();
    x.to_dtype(DType::F64).unwrap().square().unwrap().sum().unwrap().backward().unwrap();
    assert_eq!(x.grad().unwrap().unwrap().ty().to_string(), "f32[2]");
    refused(x.set_grad(Some(Tensor::from([1.0, 2.0]))), ErrorKind::Dtype, &["f32[2]", "f64[2]"]);
    refused(x.set_grad(Some(Tensor::from([1.0f32]))), ErrorKind::Shape, &["f32[2]", "f32[1]"]);
    refused(Tensor::from(1.0).set_grad(None), ErrorKind::NotDifferentiable, &["set_grad"]);
    x.set_grad(Some(Tensor::from([5.0f32, 6.0]))).unwrap();
    assert_eq!(x.grad().unwrap().unwrap().to_vec::<f32>().unwrap(), [5.0, 6.0]);
    x.zero_grad().unwrap();
    assert!(x.grad().unwrap().is_none());
    Tensor::from(1.0).zero_grad().unwrap();
    assert!(Tensor::from(1.0).grad().unwrap().is_none());
}

#[test]
fn a_05_detached_values_are_constants_and_never_change_under_others() {
    let x = vector(&[1.0, 2.0]);
    let mut d = x.detach().unwrap();
    assert!(!d.requires_grad());
    let y = x.mul(&d).unwrap().sum().unwrap();
    d.mul_(100.0).unwrap();
    y.backward().unwrap();
    assert_eq!(grad_of(&x), [1.0, 2.0]);
    let mut row = x.square().unwrap();
    row.detach_().unwrap().set_(0, 7.0).unwrap();
    assert!(!row.requires_grad());
    assert_eq!((values(&row), values(&x)), (vec![7.0, 4.0], vec![1.0, 2.0]));
}

#[test]
fn in_place_on_a_leaf_is_recorded_outside_no_grad_and_updates_it_inside() {
    let mut x = vector(&[1.0, 2.0]);
    let other = x.clone();
    let y = x.square().unwrap().sum().unwrap();
    no_grad(|| {
        x.mul_(10.0).unwrap().sub_(1).unwrap().set_(0, 5.0).unwrap();
        x += 1.0;
    });
    assert!(x.is_leaf() && x.requires_grad());
    assert_eq!((values(&x), values(&other)), (vec![6.0, 20.0], vec![1.0, 2.0]));
    // What was recorded before has the values from before; both handles are one leaf.
    y.backward().unwrap();
    assert_eq!((grad_of(&x), grad_of(&other)), (vec![2.0, 4.0], vec![2.0, 4.0]));
    x.zero_grad().unwrap();
    let mut z = x.clone();
    z.mul_(3.0).unwrap();
    assert!(x.is_leaf() && !z.is_leaf());
    z.sum().unwrap().backward().unwrap();
    assert_eq!(grad_of(&x), [3.0, 3.0]);
    // Where an update fails, the leaf is what it was.
    no_grad(|| refused(x.add_(Tensor::from([1.0, 2.0, 3.0])), ErrorKind::Shape, &["add_"]));
    assert_eq!(values(&x), [6.0, 20.0]);
    assert!(x.is_leaf());
    // The operand may require gradients itself.
    no_grad(|| x.sub_(&vector(&[1.0, 1.0])).map(|_| ())).unwrap();
    assert!(x.is_leaf());
    assert_eq!(values(&x), [5.0, 19.0]);
    // A result of an operation becomes a constant.
    let mut y = other.square().unwrap();
    no_grad(|| y.mul_(2.0).map(|_| ())).unwrap();
    assert!(!y.requires_grad());
}

#[test]
fn backward_names_what_is_wrong_with_outputs_and_cotangents() {
    let (x, c) = (vector(&[1.0, 2.0]), Tensor::from(3.0));
    refused(c.backward(), ErrorKind::NotDifferentiable, &["backward", "output 0", "f64[]", "autograd::leaf"]);
    let y = x.sum().unwrap();
    refused(autograd::backward((y.clone(), c)), ErrorKind::NotDifferentiable, &["output 1"]);
    refused(x.square().unwrap().backward(), ErrorKind::NotScalar, &["f64[2]", "output 0", "sum it"]);
    refused(autograd::backward(Vec::<Tensor>::new()), ErrorKind::Arity, &["at least one output"]);
    let run = |g: &Tensor| Backward::new().cotangents(g).run(&x.square().unwrap());
    refused(run(&Tensor::from([1.0, 2.0, 3.0])), ErrorKind::Shape, &["cotangent 0", "f64[2]", "f64[3]"]);
    refused(run(&Tensor::from([1.0f32, 2.0])), ErrorKind::Dtype, &["cotangent 0", "f64[2]", "f32[2]", "to_dtype"]);
    let two = (Tensor::from([1.0, 2.0]), Tensor::from([1.0, 2.0]));
    refused(Backward::new().cotangents(&two).run(&x), ErrorKind::Arity, &["1 cotangents", "2"]);
    refused(Backward::new().run_to(&y, &Vec::<Tensor>::new()), ErrorKind::Arity, &["at least one input"]);
    refused(Backward::new().run_to(&y, &(x.clone(), two.0)), ErrorKind::NotDifferentiable, &["input", "1", "f64[2]"]);
    assert!(x.grad().unwrap().is_none(), "nothing has accumulated");
    // One element is a scalar, whatever its rank.
    vector(&[2.0]).square().unwrap().backward().unwrap();
}

#[test]
fn backward_with_cotangents_inputs_and_unreached_leaves() {
    let (x, w, far) = (vector(&[1.0, 2.0]), scalar(3.0), scalar(1.0));
    let mid = x.mul(&w).unwrap();
    let y = mid.square().unwrap();
    Backward::new().cotangents(&Tensor::from([1.0, 10.0])).run(&y).unwrap();
    // y = w² x², with weights 1 and 10.
    close(&grad_of(&x), &[18.0, 360.0]);
    close(&grad_of(&w), &[2.0 * 3.0 + 10.0 * 2.0 * 3.0 * 4.0]);
    assert!(far.grad().unwrap().is_none());
    autograd::zero_grad(&(x.clone(), w.clone())).unwrap();
    // Only the named inputs, a result of an operation among them; naming one twice does not double it.
    Backward::new().cotangents(&Tensor::from([1.0, 1.0])).run_to(&y, &(x.clone(), mid.clone(), x.clone())).unwrap();
    close(&grad_of(&x), &[18.0, 36.0]);
    close(&grad_of(&mid), &[6.0, 12.0]);
    assert!(w.grad().unwrap().is_none());
    mid.zero_grad().unwrap();
    mid.retain_grad().unwrap();
    Backward::new().run_to(&y.sum().unwrap(), &mid).unwrap();
    close(&grad_of(&mid), &[6.0, 12.0]);
}

#[test]
fn a_second_backward_works_because_nothing_was_freed() {
    let x = scalar(2.0);
    let y = x.exp().unwrap().sin().unwrap();
    let once = {
        y.backward().unwrap();
        grad_of(&x)[0]
    };
    y.backward().unwrap();
    close(&grad_of(&x), &[2.0 * once]);
    // By value, the graph goes with the walk, unless somebody else holds it.
    autograd::backward(y.clone()).unwrap();
    autograd::backward(y).unwrap();
    close(&grad_of(&x), &[4.0 * once]);
}

#[test]
fn several_outputs_add_up() {
    let x = scalar(2.0);
    let y = x.square().unwrap();
    autograd::backward(vec![y.clone(), y.clone(), x.clone()]).unwrap();
    assert_eq!(grad_of(&x), [9.0]);
    let mixed = (y, vector(&[1.0, 2.0]));
    let cotangents = (Tensor::from(2.0), Tensor::from([3.0, 4.0]));
    Backward::new().cotangents(&cotangents).run(&mixed).unwrap();
    assert_eq!((grad_of(&x), grad_of(&mixed.1)), (vec![17.0], vec![3.0, 4.0]));
}

#[test]
fn operations_with_several_outputs_get_zeros_where_nothing_arrives() {
    let x = vector(&[3.0, 1.0, 2.0, 5.0]);
    let parts = x.split(2, 0).unwrap();
    parts[1].square().unwrap().sum().unwrap().backward().unwrap();
    assert_eq!(grad_of(&x), [0.0, 0.0, 4.0, 10.0]);
}

#[test]
fn printing_shows_what_requires_gradients() {
    let x = scalar(2.0);
    assert_eq!(x.to_string(), "requires_grad(tensor(2.0000, f64[]))");
    let text = pullback::vmap(|t: &Tensor| {
        let y = t.mul(&x)?;
        assert!(y.to_string().contains("vmap(") && y.to_string().contains("requires_grad("), "{y}");
        Ok(y)
    })(&Tensor::from([1.0, 2.0]))
    .unwrap();
    assert!(text.requires_grad());
    assert_eq!(value(&x), 2.0);
}
