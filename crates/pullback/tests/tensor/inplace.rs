use super::{error, values};
use pullback::*;

#[test]
fn assignment_operators_take_everything() -> Result<()> {
    let mut x = Tensor::from([1.0f32, 2.0]);
    x += 1;
    x += 0.5;
    x -= &Tensor::from([0.5f32, 0.5]);
    x *= Tensor::from([2.0f32, 3.0]);
    x /= 2i64;
    assert_eq!(x.to_vec::<f32>()?, [2.0, 4.5]);
    let mut y = Tensor::from([1i64, 2]);
    y += true;
    y *= 3u8;
    y -= 1usize;
    assert_eq!(y.to_vec::<i64>()?, [5, 8]);
    let z = &mut y;
    *z += &z.clone();
    assert_eq!(y.to_vec::<i64>()?, [10, 16]);
    Ok(())
}

#[test]
fn operators_take_every_combination() {
    let (x, y) = (|| Tensor::from([6.0, 8.0]), || Tensor::from([2.0, 4.0]));
    let all = [
        x() + y(),
        &x() + y(),
        x() + &y(),
        &x() + &y(),
        x() + 2.0,
        &x() + 2.0,
        2.0 + x(),
        2.0 + &x(),
        x() - y(),
        &x() - y(),
        x() - &y(),
        &x() - &y(),
        x() - 2,
        &x() - 2,
        2 - x(),
        2 - &x(),
        x() * y(),
        &x() * y(),
        x() * &y(),
        &x() * &y(),
        x() * 2,
        &x() * 2,
        2 * x(),
        2 * &x(),
        x() / y(),
        &x() / y(),
        x() / &y(),
        &x() / &y(),
        x() / 2,
        &x() / 2,
        24.0 / x(),
        24.0 / &x(),
        -x(),
        -&x(),
    ];
    let expected: [[f64; 2]; 34] = [
        [8.0, 12.0],
        [8.0, 12.0],
        [8.0, 12.0],
        [8.0, 12.0],
        [8.0, 10.0],
        [8.0, 10.0],
        [8.0, 10.0],
        [8.0, 10.0],
        [4.0, 4.0],
        [4.0, 4.0],
        [4.0, 4.0],
        [4.0, 4.0],
        [4.0, 6.0],
        [4.0, 6.0],
        [-4.0, -6.0],
        [-4.0, -6.0],
        [12.0, 32.0],
        [12.0, 32.0],
        [12.0, 32.0],
        [12.0, 32.0],
        [12.0, 16.0],
        [12.0, 16.0],
        [12.0, 16.0],
        [12.0, 16.0],
        [3.0, 2.0],
        [3.0, 2.0],
        [3.0, 2.0],
        [3.0, 2.0],
        [3.0, 4.0],
        [3.0, 4.0],
        [4.0, 3.0],
        [4.0, 3.0],
        [-6.0, -8.0],
        [-6.0, -8.0],
    ];
    for (k, (got, expected)) in all.iter().zip(expected).enumerate() {
        assert_eq!(values(got), expected, "{k}");
    }
}

#[test]
fn the_type_of_the_tensor_stays() -> Result<()> {
    let mut x = Tensor::from([1.0f32, 2.0]);
    x.add_(Tensor::from([0.5f64, 0.5]))?;
    assert_eq!((x.ty().to_string(), values(&x)), ("f32[2]".into(), vec![1.5, 2.5]));
    x.mul_(Tensor::from([2i64, 2]))?;
    assert_eq!(x.to_vec::<f32>()?, [3.0, 5.0]);
    assert_eq!(
        error(x.add_(Tensor::zeros(&[3, 2], DType::F32)?).map(|_| ())),
        (
            ErrorKind::Shape,
            "add_: expected an operand that broadcasts to f32[2], got f32[3,2]; help: assign the result of the method \
             without `_`, which may have another shape"
                .into()
        )
    );
    let mut n = Tensor::from([4, 5]);
    assert_eq!(
        error(n.div_(2).map(|_| ())),
        (
            ErrorKind::Dtype,
            "div_: expected a result that can be stored in i32[2], got f32 from an operand i32[]; help: convert the \
             tensor with `to_dtype` first"
                .into()
        )
    );
    assert_eq!(error(n.mul_(0.5).map(|_| ())).0, ErrorKind::Dtype);
    assert_eq!(n.to_vec::<i32>()?, [4, 5]);
    let mut b = Tensor::from([true, false]);
    assert_eq!(error(b.sub_(true).map(|_| ())).0, ErrorKind::Dtype);
    assert_eq!(error(b.add_(1).map(|_| ())).0, ErrorKind::Dtype);
    assert_eq!(b.add_(true)?.to_vec::<bool>()?, [true, true]);
    Ok(())
}

#[test]
fn a_failed_assignment_changes_nothing() -> Result<()> {
    let mut x = Tensor::from([1.0, 2.0, 3.0]);
    error(x.set_(3, 0.0).map(|_| ()));
    error(x.set_(0..2, Tensor::from([1.0, 2.0, 3.0])).map(|_| ()));
    error(x.set_(0, Tensor::from([1.0, 2.0])).map(|_| ()));
    assert_eq!(x.to_vec::<f64>()?, [1.0, 2.0, 3.0]);
    assert_eq!(
        error(x.set_(-4, 0.0).map(|_| ())).1,
        "set_: index -4 is out of range for dim 0 of f64[3], which has size 3"
    );
    Ok(())
}

#[test]
#[should_panic(expected = "add_: expected an operand that broadcasts to f64[2], got f64[3]")]
fn assignment_operators_panic_with_the_message() {
    let mut x = Tensor::from([1.0, 2.0]);
    x += Tensor::from([1.0, 2.0, 3.0]);
}

/// The argument is rebound, not overwritten: the derivative is taken where the caller said.
#[test]
fn changing_the_argument_keeps_the_derivative() -> Result<()> {
    let f = |x: &Tensor| {
        let mut x = x.clone();
        x.set_((), x.sin()?)?;
        Ok(x)
    };
    let x = Tensor::from(1.2);
    for d in [grad(f)(&x)?, jvp(f, &x, &Tensor::from(1.0))?.1] {
        assert!((d.item::<f64>()? - 0.362357754).abs() < 1e-9);
    }
    assert_eq!(x.item::<f64>()?, 1.2);
    let f = |x: &Tensor| {
        let mut y = x.clone();
        y *= x;
        y += x;
        Ok(y)
    };
    assert_eq!(grad(f)(&Tensor::from(3.0))?.item::<f64>()?, 7.0);
    assert_eq!(hessian(f)(&Tensor::from(3.0))?.item::<f64>()?, 2.0);
    Ok(())
}

#[test]
fn a_buffer_filled_in_parts_has_the_jacobian_of_its_parts() -> Result<()> {
    let f = |v: &Tensor| {
        let mut buffer = Tensor::zeros(&[3], DType::F64)?;
        buffer.set_(0..2, v * 2.0)?;
        buffer.set_(2, v.i(0)?)?;
        Ok(buffer)
    };
    let v = Tensor::from([0.3, 0.4]);
    let expected = [2.0, 0.0, 0.0, 2.0, 1.0, 0.0];
    assert_eq!(values(&jacrev(f)(&v)?), expected);
    assert_eq!(values(&jacfwd(f)(&v)?), expected);
    let lanes = vmap(jacrev(f))(&Tensor::from([[0.3, 0.4], [1.0, 2.0]]))?;
    assert_eq!(values(&lanes), [expected, expected].concat());
    assert_eq!(values(&jacfwd(vmap(f))(&Tensor::from([[0.3, 0.4]]))?), expected);
    Ok(())
}

#[test]
fn a_loop_that_writes_row_after_row() -> Result<()> {
    // A recurrence whose history is kept: yₖ₊₁ = a·yₖ.
    let f = |(a, start): &(Tensor, Tensor)| {
        let mut out = Tensor::zeros(&[5], DType::F64)?;
        let mut y = start.clone();
        for k in 0..5 {
            out.set_(k, &y)?;
            y *= a;
        }
        out.sum()
    };
    let x = (Tensor::from(2.0), Tensor::from(3.0));
    assert_eq!(f(&x)?.item::<f64>()?, 93.0);
    let (da, ds) = grad(f)(&x)?;
    assert_eq!((da.item::<f64>()?, ds.item::<f64>()?), (3.0 * (1.0 + 4.0 + 12.0 + 32.0), 31.0));
    let many = (Tensor::from([2.0, 1.0]), Tensor::from([3.0, 1.0]));
    let (da, ds) = vmap(grad(f))(&many)?;
    assert_eq!((values(&da), values(&ds)), (vec![147.0, 10.0], vec![31.0, 5.0]));
    let y = jvp(vmap(f), &many, &(Tensor::from([1.0, 1.0]), Tensor::from([0.0, 0.0])))?.1;
    assert_eq!(values(&y), [147.0, 10.0]);
    Ok(())
}

#[test]
fn a_value_of_a_newer_level_lifts_the_buffer() -> Result<()> {
    let f = |x: &Tensor| {
        let mut outer = x.mul(2)?;
        let inner = jvp(
            |v: &Tensor| {
                let mut buffer = outer.clone();
                buffer.set_(0, v.mul(v)?)?;
                Ok(buffer)
            },
            &x.i(1)?,
            &Tensor::from(1.0),
        )?;
        outer.set_(1, inner.1.i(0)?)?;
        outer.sum()
    };
    let x = Tensor::from([3.0, 5.0]);
    assert_eq!(f(&x)?.item::<f64>()?, 16.0);
    assert_eq!(values(&grad(f)(&x)?), [2.0, 2.0]);
    assert_eq!(values(&vmap(f)(&Tensor::from([[3.0, 5.0], [1.0, 1.0]]))?), [16.0, 4.0]);
    Ok(())
}

#[test]
fn escaped_values_are_refused_in_place_too() -> Result<()> {
    let escaped = std::sync::Mutex::new(None);
    vmap(|x: &Tensor| {
        *escaped.lock().unwrap() = Some(x.mul(2)?);
        Ok(x.clone())
    })(&Tensor::from([[1.0, 2.0]]))?;
    let mut x = escaped.into_inner().unwrap().unwrap();
    assert_eq!(error(x.set_(0, 1.0).map(|_| ())).0, ErrorKind::EscapedTracer);
    assert_eq!(error(x.add_(1.0).map(|_| ())).0, ErrorKind::EscapedTracer);
    let mut y = Tensor::zeros(&[2], DType::F64)?;
    assert_eq!(error(y.set_(.., &x).map(|_| ())).0, ErrorKind::EscapedTracer);
    assert_eq!(y.to_vec::<f64>()?, [0.0, 0.0]);
    Ok(())
}
