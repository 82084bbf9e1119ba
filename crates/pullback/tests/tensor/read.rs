use super::error;
use pullback::*;

#[test]
fn views_are_read_in_their_own_order() -> Result<()> {
    let x = Tensor::arange(0, 6, 1, DType::I32)?.reshape(&[2, 3])?;
    assert_eq!(x.permute(&[1, 0])?.to_vec::<i32>()?, [0, 3, 1, 4, 2, 5]);
    assert_eq!(x.i((.., s(None, None, -1)))?.to_vec::<i32>()?, [2, 1, 0, 5, 4, 3]);
    assert_eq!(x.i((.., 1..1))?.to_vec::<i32>()?, [0i32; 0]);
    assert_eq!(Tensor::from(true).expand(&[2])?.to_vec::<bool>()?, [true, true]);
    Ok(())
}

#[test]
fn equality_is_of_type_and_elements() -> Result<()> {
    let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    assert!(x.equal(&x)? && x.permute(&[1, 0])?.equal(&Tensor::from([[1.0, 3.0], [2.0, 4.0]]))?);
    assert!(!x.equal(&x.add(1)?)?);
    assert!(!x.equal(&x.reshape(&[4])?)?);
    assert!(!x.equal(&x.to_dtype(DType::F32)?)?);
    let nan = Tensor::from(f64::NAN);
    assert!(!nan.equal(&nan)?);
    Ok(())
}

#[test]
fn closeness() -> Result<()> {
    let close = |a: f64, b: f64| Tensor::from(a).allclose(&Tensor::from(b), 1e-5, 1e-8);
    assert!(close(1.0, 1.0 + 9e-6)? && close(0.0, 9e-9)?);
    assert!(!close(1.0, 1.0 + 2e-5)? && !close(0.0, 2e-8)?);
    let inf = f64::INFINITY;
    assert!(close(inf, inf)?);
    for (a, b) in [(inf, -inf), (1.0, inf), (inf, 1.0), (f64::NAN, f64::NAN), (f64::NAN, 1.0), (1.0, f64::NAN)] {
        assert!(!close(a, b)?, "{a} {b}");
    }
    assert!(Tensor::from([1, 2]).allclose(&Tensor::from([1.0f32, 2.0]), 0.0, 0.0)?);
    let (kind, text) = error(Tensor::from([1.0]).allclose(&Tensor::from(1.0), 0.0, 0.0));
    assert_eq!((kind, &*text), (ErrorKind::Shape, "allclose: expected tensors of one shape, got f64[1] and f64[]"));
    Ok(())
}

#[test]
fn traced_values_are_compared_by_their_data_and_batched_ones_refuse() -> Result<()> {
    grad(|x: &Tensor| {
        assert!(x.equal(&Tensor::from(2.0))? && x.allclose(&Tensor::from(2.0), 0.0, 0.0)?);
        Ok(x.clone())
    })(&Tensor::from(2.0))?;
    let (kind, text) = error(vmap(|x: &Tensor| Ok(Tensor::from(x.equal(x)?)))(&Tensor::from([1.0, 2.0])));
    assert_eq!(kind, ErrorKind::ConcreteValueNeeded);
    assert!(text.starts_with("vmap: equal: the value is batched by `vmap`"), "{text}");
    Ok(())
}
