//! Conversions from and to `nalgebra`.

use nalgebra::{DMatrix, DVector, Matrix2x3, RowVector3, SMatrix, SVector, Vector3};
use pullback::{DType, ErrorKind, Tensor, vmap};

use super::support::{assert_error, assert_same, pattern};

#[test]
fn matrices_and_vectors_become_tensors() {
    let m = Matrix2x3::new(1.0, 2.0, 3.0, 4.0, 5.0, 6.0);
    let want = Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    assert_same(&Tensor::from(m), &want);
    let dynamic = DMatrix::from_fn(2, 3, |i, j| m[(i, j)]);
    assert_same(&Tensor::from(&dynamic), &want);
    assert_same(&Tensor::from(dynamic.view((0, 1), (2, 2))), &want.narrow(1, 1, 2).unwrap());
    assert_same(&Tensor::from(dynamic.row(1)), &want.narrow(0, 1, 1).unwrap());
    assert_same(&Tensor::from(dynamic.column(2)), &want.select(1, 2).unwrap());
    assert_same(&Tensor::from(Vector3::new(1i64, 2, 3)), &Tensor::from([1i64, 2, 3]));
    assert_same(&Tensor::from(RowVector3::new(1, 2, 3)), &Tensor::from([[1, 2, 3]]));
    assert_eq!(Tensor::from(DMatrix::<f32>::zeros(3, 1)).shape(), [3, 1]);
    assert_eq!(Tensor::from(DMatrix::<f32>::zeros(0, 4)).shape(), [0, 4]);
}

#[test]
fn tensors_become_matrices_and_vectors() {
    let x = pattern(&[20, 30], DType::F64);
    for t in [x.clone(), x.t().unwrap(), x.flip(&[0]).unwrap(), x.narrow(0, 0, 0).unwrap()] {
        let m: DMatrix<f64> = (&t).try_into().unwrap();
        assert_eq!(m.shape(), (t.shape()[0], t.shape()[1]));
        assert_same(&Tensor::from(m), &t);
    }
    let v: DVector<f64> = (&x.select(1, 3).unwrap()).try_into().unwrap();
    assert_same(&Tensor::from(v), &x.select(1, 3).unwrap());
    let small = Tensor::from([[1, 2, 3], [4, 5, 6]]);
    assert_eq!(SMatrix::<i32, 2, 3>::try_from(&small).unwrap(), Matrix2x3::new(1, 2, 3, 4, 5, 6));
    assert_eq!(SVector::<i32, 2>::try_from(&small.select(1, 1).unwrap()).unwrap().as_slice(), [2, 5]);
    assert_eq!(SVector::<i32, 2>::try_from(&small.narrow(1, 1, 1).unwrap()).unwrap().as_slice(), [2, 5]);
}

#[test]
fn what_does_not_fit_is_an_error() {
    let t = pattern(&[2, 3], DType::F32);
    assert_error(DMatrix::<f64>::try_from(&t), ErrorKind::Dtype, &["f64", "f32[2,3]"]);
    assert_error(
        DVector::<f32>::try_from(&t),
        ErrorKind::Dim,
        &["expected a vector, which has one dimension, got f32[2,3]"],
    );
    assert_error(DMatrix::<f32>::try_from(&t.select(0, 0).unwrap()), ErrorKind::Dim, &["got f32[3]"]);
    assert_error(
        SMatrix::<f32, 3, 2>::try_from(&t),
        ErrorKind::Shape,
        &["expected a tensor of shape [3,2], got f32[2,3]"],
    );
    assert_error(SMatrix::<f32, 1, 3>::try_from(&t.select(0, 0).unwrap()), ErrorKind::Shape, &["got f32[3]"]);
    let f = |x: &Tensor| {
        assert_error(DVector::<f32>::try_from(x), ErrorKind::ConcreteValueNeeded, &["vmap"]);
        Ok(x.clone())
    };
    vmap(f)(&t).unwrap();
}
