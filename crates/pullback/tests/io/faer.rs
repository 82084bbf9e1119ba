//! Conversions from and to `faer`.

use faer::{Col, Mat};
use pullback::{DType, ErrorKind, Tensor, vmap};

use super::support::{assert_error, assert_same, pattern};

#[test]
fn matrices_and_columns_become_tensors() {
    let m = Mat::from_fn(20, 30, |i, j| (100 * i + j) as f64);
    let t = Tensor::from(&m);
    assert_eq!((t.shape(), t.i((3, 7)).unwrap().item::<f64>().unwrap()), (&[20, 30][..], 307.0));
    assert_same(&Tensor::from(m.transpose()), &t.t().unwrap());
    assert_same(&Tensor::from(m.reverse_rows()), &t.flip(&[0]).unwrap());
    assert_same(&Tensor::from(m.submatrix(2, 3, 4, 5)), &t.narrow(0, 2, 4).unwrap().narrow(1, 3, 5).unwrap());
    assert_same(&Tensor::from(m.col(4)), &t.select(1, 4).unwrap());
    assert_same(&Tensor::from(m.row(4).transpose()), &t.select(0, 4).unwrap());
    assert_same(&Tensor::from(Col::from_fn(3, |i| i as i64)), &Tensor::from([0i64, 1, 2]));
    assert_eq!(Tensor::from(Mat::<f32>::zeros(0, 3)).shape(), [0, 3]);
}

#[test]
fn tensors_become_views_matrices_and_columns() {
    let x = pattern(&[20, 30], DType::F64);
    for t in [
        x.clone(),
        x.t().unwrap(),
        x.flip(&[0, 1]).unwrap(),
        x.select(0, 0).unwrap().expand(&[4, 30]).unwrap(),
        x.narrow(0, 0, 0).unwrap(),
    ] {
        assert_same(&Tensor::from(t.as_faer::<f64>().unwrap()), &t);
        let m: Mat<f64> = (&t).try_into().unwrap();
        assert_same(&Tensor::from(m), &t);
    }
    let column: Col<f64> = (&x.select(1, 2).unwrap()).try_into().unwrap();
    assert_same(&Tensor::from(column), &x.select(1, 2).unwrap());
}

#[test]
fn what_does_not_fit_is_an_error() {
    let t = pattern(&[2, 3], DType::F32);
    assert_error(t.as_faer::<f64>(), ErrorKind::Dtype, &["as_faer", "f64", "f32[2,3]"]);
    assert_error(t.select(0, 0).unwrap().as_faer::<f32>(), ErrorKind::Dim, &["as_faer", "got f32[3]"]);
    assert_error(Mat::<f32>::try_from(&Tensor::from(1.0f32)), ErrorKind::Dim, &["got f32[]"]);
    assert_error(Col::<f32>::try_from(&t), ErrorKind::Dim, &["expected a vector"]);
    let f = |x: &Tensor| {
        assert_error(x.as_faer::<f32>(), ErrorKind::ConcreteValueNeeded, &["as_faer", "vmap"]);
        Ok(x.clone())
    };
    vmap(f)(&t.expand(&[4, 2, 3]).unwrap()).unwrap();
}
