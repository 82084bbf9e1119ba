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

#[test]
fn lists_and_tensors_of_positions() -> Result<()> {
    let x = grid();
    assert_eq!(ints(&x.i([2, 0])?), [8, 9, 10, 11, 0, 1, 2, 3]);
    assert_eq!(ints(&x.i((0, [-1, 0]))?), [3, 0]);
    assert_eq!(ints(&x.i((vec![0i64, 1], &[1usize, 2][..]))?), [1, 6]);
    assert_eq!(x.i(Vec::<i64>::new())?.shape(), [0, 4]);
    let rows = vec![2usize, 2];
    assert_eq!(ints(&x.i((&rows, 0))?), [8, 8]);
    assert_eq!(ints(&x.i((Ellipsis, &Tensor::from([1i32, 1]), NewAxis))?), [1, 1, 5, 5, 9, 9]);
    assert_eq!(x.i((NewAxis, &Tensor::from([[0i64]])))?.shape(), [1, 1, 1, 4]);
    assert_eq!(ints(&x.i(&Tensor::from(1i64))?), [4, 5, 6, 7]);
    assert_eq!(ints(&x.i((x.i((.., 0))?.gt(3)?, 1))?), [5, 9]);
    assert_eq!(ints(&x.i((&Tensor::from([true, false, true]), [1, 1]))?), [1, 9]);
    Ok(())
}

#[test]
fn positions_are_set_in_leaves_and_lanes() -> Result<()> {
    let mut x = grid();
    let before = x.clone();
    let large = x.i(2)?.gt(9)?;
    x.set_(([0, 1], [0, -1]), -1)?.set_((2, large), 0)?;
    assert_eq!(ints(&x), [-1, 1, 2, 3, 4, 5, 6, -1, 8, 9, 0, 0]);
    assert_eq!(ints(&before), ints(&grid()));
    assert_eq!(
        error(x.set_([3], 0)).1,
        "set_: index 3 at position [0] is out of range for dim 0 of i32[3,4], which has size 3"
    );
    // A leaf stays the leaf that it is.
    let mut leaf = Tensor::from([1.0, 2.0, 3.0]);
    leaf.requires_grad_()?;
    autograd::no_grad(|| leaf.set_([0, 2], 5.0).map(|_| ()))?;
    leaf.powi(2)?.sum()?.backward()?;
    assert_eq!(values(&leaf.grad()?.expect("a gradient")), [10.0, 4.0, 10.0]);
    let set = |(x, at): &(Tensor, Tensor)| {
        let mut x = x.clone();
        x.set_(at, 9.0)?;
        Ok(x)
    };
    let lanes = vmap(set)(&(Tensor::zeros(&[2, 3], DType::F64)?, Tensor::from([[0i64, 1], [2, 2]])))?;
    assert_eq!(values(&lanes), [9.0, 9.0, 0.0, 0.0, 0.0, 9.0]);
    Ok(())
}

#[test]
fn triangles_of_positions() -> Result<()> {
    let lower = Tensor::tril_indices(3, 4, -1)?;
    assert_eq!(lower.shape(), [2, 3]);
    let x = grid();
    for offset in [-9, -1, 0, 2, 9] {
        let ones = Tensor::ones(&[3, 4], DType::I32)?;
        for (places, mask) in [
            (Tensor::tril_indices(3, 4, offset)?, ones.tril(offset)?),
            (Tensor::triu_indices(3, 4, offset)?, ones.triu(offset)?),
        ] {
            let picked = x.i((places.i(0)?, places.i(1)?))?;
            assert_eq!(ints(&picked), ints(&x.masked_select(&mask.ne(0)?)?), "{offset}");
        }
    }
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
