use super::{error, values};
use pullback::*;

fn grid() -> Tensor {
    Tensor::arange(0, 12, 1, DType::I32).unwrap().reshape(&[3, 4]).unwrap()
}

fn ints(x: &Tensor) -> Vec<i32> {
    x.to_vec().unwrap()
}

#[test]
fn every_kind_of_item() -> Result<()> {
    let x = grid();
    assert_eq!(ints(&x.i(1)?), [4, 5, 6, 7]);
    assert_eq!(ints(&x.i(-1i64)?), [8, 9, 10, 11]);
    assert_eq!(ints(&x.i((2usize, 3u32))?), [11]);
    assert_eq!(ints(&x.i((.., -2))?), [2, 6, 10]);
    assert_eq!(ints(&x.i((..1, 1..3))?), [1, 2]);
    assert_eq!(ints(&x.i((1.., 3..))?), [7, 11]);
    assert_eq!(ints(&x.i((0, ..=2))?), [0, 1, 2]);
    assert_eq!(ints(&x.i((0, 1..=2))?), [1, 2]);
    assert_eq!(ints(&x.i((0, 1..=-1))?), [1, 2, 3]);
    assert_eq!(ints(&x.i((0, ..=-2))?), [0, 1, 2]);
    assert_eq!(ints(&x.i((0, -3..-1))?), [1, 2]);
    assert_eq!(ints(&x.i((0, ..-3))?), [0]);
    assert_eq!(ints(&x.i((s(0, None, 2), s(None, None, 3)))?), [0, 3, 8, 11]);
    assert_eq!(ints(&x.i((0, s(3, 0, -2)))?), [3, 1]);
    assert_eq!(ints(&x.i((0, s(-1, None, -1)))?), [3, 2, 1, 0]);
    assert_eq!(ints(&x.i((0, s(2, -4, -1)))?), [2, 1]);
    assert_eq!(ints(&x.i((0, s(None, None, isize::MIN)))?), [3]);
    assert_eq!(ints(&x.i((0, s(None, None, isize::MAX)))?), [0]);
    assert_eq!(x.i((NewAxis, Ellipsis, NewAxis))?.shape(), [1, 3, 4, 1]);
    assert_eq!(x.i((0, NewAxis, ..))?.shape(), [1, 4]);
    assert_eq!(x.i((Ellipsis, 1..3))?.shape(), [3, 2]);
    assert_eq!(x.i((1, Ellipsis, 2))?.shape(), [0usize; 0]);
    assert_eq!(ints(&x.i([IndexItem::from(1), s(1, 2, 1)])?), [5]);
    assert_eq!(x.i(())?.shape(), [3, 4]);
    assert_eq!(x.i(..)?.shape(), [3, 4]);
    assert_eq!(Tensor::from(5).i(Ellipsis)?.item::<i32>()?, 5);
    Ok(())
}

#[test]
fn empty_parts_and_empty_tensors() -> Result<()> {
    let x = grid();
    assert_eq!(x.i((3..3, ..))?.shape(), [0, 4]);
    assert_eq!(x.i((.., s(2, 2, -1)))?.shape(), [3, 0]);
    let empty = Tensor::zeros(&[0, 2], DType::F32)?;
    assert_eq!(empty.i(s(None, None, -1))?.shape(), [0, 2]);
    assert_eq!(empty.i((0..0, 1))?.shape(), [0]);
    assert_eq!(error(empty.i(0)).1, "i: index 0 is out of range for dim 0 of f32[0,2], which has size 0");
    assert_eq!(empty.i(s(0, None, -1))?.shape(), [0, 2]);
    assert_eq!(x.i(2..1)?.shape(), [0, 4]);
    assert_eq!(x.i(s(0, 2, -1))?.shape(), [0, 4]);
    Ok(())
}

#[test]
fn bounds_of_ranges_are_clamped_as_in_slice() -> Result<()> {
    let x = Tensor::from([0, 1, 2, 3, 4]);
    let bounds = [isize::MIN, -7, -5, -2, 0, 3, 5, 6, isize::MAX].map(Some).into_iter().chain([None]);
    for start in bounds.clone() {
        for end in bounds.clone() {
            for step in [isize::MIN, -2, -1, 1, 2, isize::MAX] {
                let (a, b) = (x.i(s(start, end, step))?, x.slice(0, start, end, step)?);
                assert_eq!(ints(&a), ints(&b), "{start:?} {end:?} {step}");
            }
        }
    }
    assert_eq!(ints(&x.i(1..usize::MAX)?), [1, 2, 3, 4]);
    assert_eq!(ints(&x.i(-9..2)?), [0, 1]);
    assert_eq!(ints(&x.i(i64::MIN..=i64::MAX)?), [0, 1, 2, 3, 4]);
    let mut y = x.clone();
    y.set_(3..9, 7)?;
    assert_eq!(ints(&y), [0, 1, 2, 7, 7]);
    assert_eq!(ints(&x.index_set(4..2, 7)?), [0, 1, 2, 3, 4]);
    Ok(())
}

#[test]
fn messages_name_dim_index_and_size() {
    let x = grid();
    assert_eq!(
        error(x.i((0, 4))),
        (ErrorKind::Index, "i: index 4 is out of range for dim 1 of i32[3,4], which has size 4".into())
    );
    assert_eq!(error(x.i(-4)).1, "i: index -4 is out of range for dim 0 of i32[3,4], which has size 3");
    assert_eq!(error(x.i(usize::MAX)).0, ErrorKind::Index);
    assert_eq!(
        error(x.i(s(0, 2, 0))),
        (ErrorKind::Value, "i: expected a step other than 0 for dim 0 of i32[3,4], which has size 3".into())
    );
    assert_eq!(
        error(x.i((0, 0, NewAxis, 0))),
        (ErrorKind::Dim, "i: expected at most 2 items for the dims of i32[3,4], got 3".into())
    );
    assert_eq!(error(x.i((Ellipsis, Ellipsis))).0, ErrorKind::Dim);
}

#[test]
fn an_index_may_be_built_at_run_time() -> Result<()> {
    let x = grid();
    let mut index = vec![IndexItem::from(..); 2];
    index[1] = IndexItem::from(1..3);
    assert_eq!(ints(&x.i(index.as_slice())?), [1, 2, 5, 6, 9, 10]);
    index[0] = 2.into();
    assert_eq!(ints(&x.i(index)?), [9, 10]);
    Ok(())
}

#[test]
fn values_are_converted_and_broadcast() -> Result<()> {
    let x = Tensor::zeros(&[2, 3], DType::F32)?;
    assert_eq!(values(&x.index_set((.., 1), 7)?), [0.0, 7.0, 0.0, 0.0, 7.0, 0.0]);
    let y = x.index_set(1, Tensor::from([1.0f64, 2.0, 3.0]))?;
    assert_eq!((y.dtype(), values(&y)), (DType::F32, vec![0.0, 0.0, 0.0, 1.0, 2.0, 3.0]));
    let column = Tensor::from([[1], [2]]);
    assert_eq!(values(&x.index_set((.., 1..), &column)?), [0.0, 1.0, 1.0, 0.0, 2.0, 2.0]);
    assert_eq!(values(&x.index_set((), 1)?), [1.0; 6]);
    assert_eq!(values(&x.index_set((.., NewAxis, 0), &column)?), [1.0, 0.0, 0.0, 2.0, 0.0, 0.0]);
    assert_eq!(values(&x.index_set((.., 0..0), 9)?), [0.0; 6]);
    assert_eq!(
        error(x.index_set(0, &column)),
        (
            ErrorKind::Shape,
            "index_set: expected a value that broadcasts to the selected part, f32[3] of f32[2,3], got f32[2,1]".into()
        )
    );
    assert_eq!(
        error(Tensor::from([1, 2]).index_set(0, 0.5)),
        (
            ErrorKind::Dtype,
            "index_set: expected a value that can be stored in i32[2], got f32[]; help: convert one of them with \
             `to_dtype`"
                .into()
        )
    );
    assert_eq!(error(Tensor::from([true]).index_set(0, 1)).0, ErrorKind::Dtype);
    Ok(())
}

#[track_caller]
fn assert_close(a: &Tensor, b: &Tensor, what: &str) {
    assert!(a.allclose(b, 1e-9, 1e-9).unwrap(), "{what}: {a} {b}");
}

#[test]
fn derivatives_of_all_orders_and_nestings() -> Result<()> {
    // The value depends on the tensor, and the result is not linear.
    let f = |x: &Tensor| {
        let y = x.mul(x)?.index_set((1, 0..2), x.i((0, s(None, None, -2)))?.mul(x.i((1, 1..))?)?)?;
        y.i((.., s(None, None, -1)))?.mul(x)?.sum()
    };
    let x = Tensor::from([[0.5, -1.0, 2.0], [1.5, 0.3, -0.7]]);
    let step = |k: usize, h: f64| {
        let mut v = x.to_vec::<f64>()?;
        v[k] += h;
        f(&Tensor::from_slice(&v, &[2, 3])?)?.item::<f64>()
    };
    let g = values(&grad(f)(&x)?);
    for (k, g) in g.iter().enumerate() {
        let numeric = (step(k, 1e-5)? - step(k, -1e-5)?) / 2e-5;
        assert!((g - numeric).abs() < 1e-8, "{k}: {g} {numeric}");
    }
    let reference = jacrev(grad(f))(&x)?;
    assert_close(&jacfwd(grad(f))(&x)?, &reference, "forward over reverse");
    assert_close(&hessian(f)(&x)?, &reference, "hessian");
    assert_close(&jacfwd(jacfwd(f))(&x)?, &reference, "forward over forward");
    assert_close(&jacrev(jacfwd(f))(&x)?, &reference, "reverse over forward");
    let many = stack(&[&x, &x.mul(2)?], 0)?;
    let lanes = vmap(grad(f))(&many)?;
    assert_close(&lanes.i(1)?, &grad(f)(&x.mul(2)?)?, "lanes of gradients");
    let sum = grad(|x: &Tensor| vmap(f)(x)?.sum())(&many)?;
    assert_close(&sum, &lanes, "gradient of lanes");
    Ok(())
}
