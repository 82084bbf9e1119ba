use super::matmul;
use crate::array::Array;
use crate::dtype::Element;
use crate::kernels::strided::testing::{at, indices, layouts, read};
use crate::shape::broadcast;

fn check<T: Element>(a: &Array, b: &Array, tolerance: f64) {
    let got = matmul(a, b).unwrap();
    let (ra, rb) = (a.rank(), b.rank());
    let mut shape = broadcast(&a.shape()[..ra - 2], &b.shape()[..rb - 2]).unwrap();
    shape.extend([a.shape()[ra - 2], b.shape()[rb - 1]]);
    assert_eq!((got.shape(), got.dtype()), (&shape[..], T::DTYPE));
    let (a, b) = (
        a.expand(&[&shape[..shape.len() - 2], &a.shape()[ra - 2..]].concat()),
        b.expand(&[&shape[..shape.len() - 2], &b.shape()[rb - 2..]].concat()),
    );
    let k = a.shape()[a.rank() - 1];
    for (index, g) in indices(&shape).into_iter().zip(read(&got)) {
        let (mut ia, mut ib) = (index.clone(), index.clone());
        let (mut e, mut scale) = (0.0, 1.0);
        for q in 0..k {
            ia[shape.len() - 1] = q;
            ib[shape.len() - 2] = q;
            let term = at(&a, &ia) * at(&b, &ib);
            e += term;
            scale += term.abs();
        }
        assert!(
            (g - e).abs() <= tolerance * scale,
            "{} {:?} x {} {:?} at {index:?}: {g} {e}",
            a.ty(),
            a.strides(),
            b.ty(),
            b.strides()
        );
    }
}

fn pairs<T: Element>(a: &[usize], b: &[usize], tolerance: f64) {
    for x in layouts::<T>(a) {
        for y in layouts::<T>(b) {
            check::<T>(&x, &y, tolerance);
        }
    }
}

#[test]
fn products_of_every_layout_agree_with_loops() {
    for (m, k, n) in [
        (1, 1, 1),
        (3, 4, 5),
        (1, 7, 9),
        (9, 7, 1),
        (5, 1, 6),
        (16, 16, 16),
        (13, 5, 33),
        (2, 20, 40),
        (17, 3, 50),
        (1, 40, 150),
        (150, 40, 1),
        (7, 140, 3),
        (0, 2, 3),
        (2, 0, 3),
        (2, 3, 0),
    ] {
        pairs::<f32>(&[m, k], &[k, n], 5e-6);
        pairs::<f64>(&[m, k], &[k, n], 2e-14);
        pairs::<i32>(&[m, k], &[k, n], 0.0);
    }
    pairs::<f32>(&[70, 71], &[71, 72], 5e-6);
    pairs::<f64>(&[70, 71], &[71, 72], 2e-14);
    pairs::<i64>(&[3, 4], &[4, 2], 0.0);
}

#[test]
fn leading_dims_broadcast() {
    for (a, b) in [
        (&[5, 3, 4][..], &[4, 2][..]),
        (&[3, 4], &[5, 4, 2]),
        (&[5, 3, 4], &[5, 4, 2]),
        (&[2, 1, 3, 4], &[5, 4, 2]),
        (&[2, 5, 3, 4], &[2, 1, 4, 6]),
        (&[6, 1, 8], &[8, 3]),
        (&[6, 1, 8], &[6, 8, 3]),
        (&[6, 9, 1], &[6, 1, 20]),
        (&[0, 3, 4], &[4, 2]),
        (&[2, 3, 4, 5], &[3, 5, 2]),
        (&[9, 2, 3], &[9, 3, 1]),
    ] {
        pairs::<f32>(a, b, 5e-6);
        pairs::<f64>(a, b, 2e-14);
        pairs::<i64>(a, b, 0.0);
    }
}

#[test]
fn bytes_wrap() {
    let x = Array::full(crate::Shape::from_slice(&[2, 2]), 200u8);
    assert_eq!(read(&matmul(&x, &x).unwrap()), [(200 * 200 * 2 % 256) as f64; 4]);
}

#[test]
fn an_error_names_both_types() {
    let x = Array::full(crate::Shape::from_slice(&[2, 2, 2]), 1f32);
    let y = Array::full(crate::Shape::from_slice(&[3, 2, 2]), 1f32);
    let message = matmul(&x, &y).err().unwrap().to_string();
    assert_eq!(message, "matmul: the leading dimensions do not broadcast, got lhs f32[2,2,2] and rhs f32[3,2,2]");
}
