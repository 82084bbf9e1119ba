//! Conversions from and to `ndarray`.

use ndarray::{Array0, Array1, Array2, Array3, ArrayD, Axis, ShapeBuilder, array, s};
use pullback::{DType, ErrorKind, Tensor, grad, vjp, vmap};

use super::support::{assert_error, assert_same, pattern};

#[test]
fn arrays_of_any_layout_become_tensors() {
    let x = Array3::from_shape_fn((2, 3, 4), |(i, j, k)| (100 * i + 10 * j + k) as i32);
    let t = Tensor::from(&x);
    assert_eq!(t.ty().to_string(), "i32[2,3,4]");
    assert_eq!(t.to_vec::<i32>().unwrap(), x.iter().copied().collect::<Vec<_>>());
    for view in [x.view().permuted_axes([2, 0, 1]), x.slice(s![..;-1, 1.., ..;-2]), x.slice(s![..0, .., ..])] {
        let t = Tensor::from(view);
        assert_eq!(t.shape(), view.shape());
        assert_eq!(t.to_vec::<i32>().unwrap(), view.iter().copied().collect::<Vec<_>>());
    }
    let columns = Array2::from_shape_vec((2, 3).f(), vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    assert_eq!(Tensor::from(columns).to_vec::<f64>().unwrap(), [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);
    let row = array![1.0f32, 2.0];
    assert_eq!(Tensor::from(row.broadcast((3, 2)).unwrap()).to_vec::<f32>().unwrap(), [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]);
    assert_eq!(Tensor::from(Array0::from_elem((), true)).ty().to_string(), "bool[]");
    assert_eq!(Tensor::from(x.index_axis(Axis(1), 2)).to_vec::<i32>().unwrap()[..2], [20, 21]);
}

#[test]
fn tensors_of_any_layout_become_views_and_arrays() {
    for dtype in [DType::I32, DType::Bool] {
        let x = pattern(&[2, 3, 4], dtype);
        let others = [
            x.permute(&[2, 0, 1]).unwrap(),
            x.flip(&[0, 2]).unwrap(),
            x.narrow(1, 1, 2).unwrap(),
            x.select(0, 1).unwrap().expand(&[5, 3, 4]).unwrap(),
            x.narrow(2, 0, 0).unwrap(),
            x.narrow(0, 0, 1).unwrap().flip(&[0, 1]).unwrap(),
            pattern(&[], dtype),
            x,
        ];
        for t in others {
            if dtype == DType::Bool {
                let view = t.as_ndarray::<bool>().unwrap();
                assert_eq!(view.iter().copied().collect::<Vec<_>>(), t.to_vec::<bool>().unwrap());
                continue;
            }
            let view = t.as_ndarray::<i32>().unwrap();
            assert_eq!(view.shape(), t.shape());
            assert_eq!(view.iter().copied().collect::<Vec<_>>(), t.to_vec::<i32>().unwrap());
            let copy: ArrayD<i32> = (&t).try_into().unwrap();
            assert_same(&Tensor::from(copy), &t);
        }
    }
}

#[test]
fn a_view_is_no_copy() {
    let t = pattern(&[100, 3], DType::F64);
    let (whole, part) = (t.as_ndarray::<f64>().unwrap(), t.narrow(0, 7, 2).unwrap());
    assert_eq!(&raw const whole[[7, 0]], part.as_ndarray::<f64>().unwrap().as_ptr());
}

#[test]
fn what_does_not_fit_is_an_error() {
    let t = pattern(&[2, 3], DType::F32);
    assert_error(t.as_ndarray::<f64>(), ErrorKind::Dtype, &["as_ndarray", "f64", "f32[2,3]"]);
    assert_error(Array1::<f32>::try_from(&t), ErrorKind::Dim, &["expected a tensor with 1 dimensions, got f32[2,3]"]);
    assert_error(Array2::<i64>::try_from(&t), ErrorKind::Dtype, &["f32[2,3]"]);
    let f = |x: &Tensor| {
        assert_error(x.as_ndarray::<f32>(), ErrorKind::ConcreteValueNeeded, &["as_ndarray", "vmap"]);
        Ok(x.clone())
    };
    vmap(f)(&t).unwrap();
}

#[test]
fn a_traced_tensor_gives_its_value() {
    let f = |x: &Tensor| {
        assert_eq!(x.as_ndarray::<f64>().unwrap()[[1]], 2.0);
        x.square()?.sum()
    };
    assert_eq!(grad(f)(&Tensor::from([1.0, 2.0])).unwrap().to_vec::<f64>().unwrap(), [2.0, 4.0]);
}

#[test]
fn c178_a_pullback_does_not_see_what_happens_to_the_array_later() {
    let mut x = array![1.0, 2.0, 3.0];
    let (_, pull) = vjp(|x: &Tensor| x.square(), &Tensor::from(&x)).unwrap();
    x.fill(100.0);
    assert_eq!(pull.call(&Tensor::from([1.0; 3])).unwrap().to_vec::<f64>().unwrap(), [2.0, 4.0, 6.0]);
}

#[test]
fn a_view_does_not_see_writes_in_place() {
    let mut t = pattern(&[50], DType::F64);
    let copy = t.clone();
    let view = copy.as_ndarray::<f64>().unwrap();
    let before = view.to_owned();
    t.set_(.., 7.0).unwrap();
    assert_eq!(view, before);
}
