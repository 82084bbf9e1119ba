use super::{error, values};
use pullback::*;

#[test]
fn arrays_and_lists_of_every_depth() -> Result<()> {
    assert_eq!(Tensor::from([[[[1, 2]], [[3, 4]]]]).ty().to_string(), "i32[1,2,1,2]");
    assert_eq!(Tensor::from(vec![[1.0, 2.0], [3.0, 4.0]]).ty().to_string(), "f64[2,2]");
    assert_eq!(Tensor::try_from(vec![vec![1.0f32, 2.0], vec![3.0, 4.0]])?.ty().to_string(), "f32[2,2]");
    let deep = Tensor::try_from(vec![vec![vec![vec![1u8], vec![2]]], vec![vec![vec![3], vec![4]]]])?;
    assert_eq!((deep.ty().to_string(), values(&deep)), ("u8[2,1,2,1]".into(), vec![1.0, 2.0, 3.0, 4.0]));
    let list = vec![1u8, 2];
    assert!(Tensor::from(&list).equal(&Tensor::from(&[1u8, 2]))? && Tensor::from(&list[..]).equal(&list.into())?);
    assert_eq!((1..4).collect::<Tensor>().to_vec::<i32>()?, [1, 2, 3]);
    assert_eq!(Tensor::from([[0.0f32; 0]; 3]).shape(), [3, 0]);
    Ok(())
}

#[test]
fn empty_lists_have_the_rank_of_their_type() -> Result<()> {
    assert_eq!(Tensor::try_from(Vec::<Vec<f32>>::new())?.shape(), [0, 0]);
    assert_eq!(Tensor::try_from(vec![Vec::<f32>::new(); 2])?.shape(), [2, 0]);
    assert_eq!(Tensor::try_from(vec![Vec::<Vec<f32>>::new(); 2])?.shape(), [2, 0, 0]);
    Ok(())
}

#[test]
fn ragged_lists_are_refused() {
    let (kind, text) = error(Tensor::try_from(vec![vec![1, 2], vec![3]]));
    assert_eq!(kind, ErrorKind::Shape);
    assert_eq!(
        text,
        "try_from: expected lists of one length, got 2 items in the first one and 1 at [1]; help: pad the short ones"
    );
    let (_, text) = error(Tensor::try_from(vec![vec![vec![1], vec![2]], vec![vec![3], vec![4, 5]]]));
    assert!(text.contains("1 items in the first one and 2 at [1][1]"), "{text}");
    error(Tensor::try_from(vec![vec![], vec![1]]));
}

#[test]
fn ranges() -> Result<()> {
    let ints = |a: i64, b: i64, s: i64| Tensor::arange(a, b, s, DType::I64)?.to_vec::<i64>();
    assert_eq!(ints(0, 5, 1)?, [0, 1, 2, 3, 4]);
    assert_eq!(ints(1, 8, 3)?, [1, 4, 7]);
    assert_eq!(ints(5, 0, -2)?, [5, 3, 1]);
    assert_eq!(ints(3, 3, 1)?, [0i64; 0]);
    assert_eq!(ints(3, 3, -1)?, [0i64; 0]);
    assert_eq!(ints(i64::MAX - 1, i64::MAX, 5)?, [i64::MAX - 1]);
    assert_eq!(ints(i64::MIN, i64::MAX, i64::MAX)?, [i64::MIN, -1, i64::MAX - 1]);
    assert_eq!(Tensor::arange(0.0, 0.3, 0.1, DType::F64)?.to_vec::<f64>()?, [0.0, 0.1, 0.2]);
    // The length is that of NumPy, whose documentation warns of this case.
    assert_eq!(Tensor::arange(1.0, 1.3, 0.1, DType::F64)?.numel(), 4);
    assert_eq!(Tensor::arange(0, 3, 1, DType::F32)?.to_vec::<f32>()?, [0.0, 1.0, 2.0]);
    assert_eq!(Tensor::arange(0, 256, 1, DType::U8)?.numel(), 256);
    Ok(())
}

#[test]
fn ranges_that_make_no_sense() {
    let arange = |a: f64, b: f64, s: f64| error(Tensor::arange(a, b, s, DType::F64));
    assert_eq!(
        arange(0.0, 1.0, 0.0),
        (ErrorKind::Value, "arange: expected a step that leads from 0 to 1, got 0".into())
    );
    assert_eq!(arange(0.0, 1.0, -0.5).1, "arange: expected a step that leads from 0 to 1, got -0.5");
    assert_eq!(arange(1.0, 0.0, 0.5).0, ErrorKind::Value);
    assert_eq!(arange(0.0, f64::INFINITY, 1.0).0, ErrorKind::Value);
    assert_eq!(arange(0.0, f64::NAN, 1.0).0, ErrorKind::Value);
    assert_eq!(arange(0.0, 1e300, 1.0).0, ErrorKind::Shape);
    assert_eq!(error(Tensor::arange(i64::MIN, i64::MAX, 1, DType::I64)).0, ErrorKind::Shape);
    assert_eq!(error(Tensor::arange(0, 1, 0.5, DType::I32)).0, ErrorKind::Dtype);
    assert_eq!(error(Tensor::arange(0, 1, 1, DType::Bool)).0, ErrorKind::Dtype);
    let (kind, text) = error(Tensor::arange(0, 257, 1, DType::U8));
    assert_eq!((kind, &*text), (ErrorKind::Value, "arange: expected numbers that u8 can hold, got 0 to 256"));
}

#[test]
fn even_spacing_hits_both_ends() -> Result<()> {
    let x = Tensor::linspace(0.1, 0.7, 7, DType::F64)?.to_vec::<f64>()?;
    assert_eq!((x[0], x[6]), (0.1, 0.7));
    for (k, v) in x.iter().enumerate() {
        assert!((v - (0.1 + 0.1 * k as f64)).abs() < 1e-15);
    }
    assert_eq!(Tensor::linspace(5, -5, 1, DType::F32)?.to_vec::<f32>()?, [5.0]);
    assert_eq!(Tensor::linspace(5, -5, 2, DType::F32)?.to_vec::<f32>()?, [5.0, -5.0]);
    assert_eq!(Tensor::linspace(0, 1, 0, DType::F32)?.numel(), 0);
    let wide = Tensor::linspace(-f64::MAX, f64::MAX, 3, DType::F64)?.to_vec::<f64>()?;
    assert_eq!((wide[0], wide[2]), (-f64::MAX, f64::MAX));
    assert_eq!(error(Tensor::linspace(0, 1, 3, DType::I64)).0, ErrorKind::Dtype);
    assert_eq!(error(Tensor::linspace(0.0, f64::NAN, 3, DType::F64)).0, ErrorKind::Value);
    Ok(())
}

#[test]
fn identity_matrices() -> Result<()> {
    assert_eq!(Tensor::eye(3, DType::F32)?.ty().to_string(), "f32[3,3]");
    assert_eq!(values(&Tensor::eye(2, DType::Bool)?), [1.0, 0.0, 0.0, 1.0]);
    assert_eq!(values(&Tensor::eye_m(3, 2, DType::I32)?), [1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    assert_eq!(Tensor::eye(0, DType::F64)?.shape(), [0, 0]);
    assert_eq!(error(Tensor::eye(usize::MAX, DType::F64)).0, ErrorKind::Shape);
    Ok(())
}

#[test]
fn likes_follow_type_and_shape_of_the_lane() -> Result<()> {
    let x = Tensor::from([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    assert_eq!(x.zeros_like()?.ty(), x.ty());
    assert_eq!(x.full_like(2)?.to_vec::<f32>()?, [2.0; 6]);
    let y = vmap(|row: &Tensor| {
        assert_eq!(row.ones_like()?.shape(), [3]);
        row.mul(row.ones_like()?.mul(2)?)
    })(&x)?;
    assert_eq!(values(&y), [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
    assert_eq!(vmap(Tensor::zeros_like)(&x)?.ty(), x.ty());
    let g = grad(|x: &Tensor| x.mul(x.full_like(3)?)?.sum())(&x)?;
    assert_eq!(values(&g), [3.0; 6]);
    Ok(())
}

/// A buffer made inside a lane takes mapped values.
#[test]
fn a_mapped_value_is_written_into_an_unmapped_buffer() -> Result<()> {
    let x = Tensor::ones(&[3, 2], DType::F64)?;
    let lane = |x: &Tensor| x.zeros_like()?.index_set(0, x.i(0)?);
    let y = vmap(lane)(&x)?;
    assert_eq!((y.shape(), values(&y)), (&[3, 2][..], vec![1.0, 0.0, 1.0, 0.0, 1.0, 0.0]));
    let g = grad(|x: &Tensor| vmap(lane)(x)?.sum())(&x)?;
    assert_eq!(values(&g), [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
    // The buffer may also come from outside of the map.
    let outer = Tensor::zeros(&[2], DType::F64)?;
    assert_eq!(values(&vmap(|x: &Tensor| outer.index_set(1, x.i(0)?))(&x)?), [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
    Ok(())
}
