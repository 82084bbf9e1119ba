use pullback::*;
#[test]
fn scratch() -> Result<()> {
    let f = |x: &Tensor| x.mul(x)?.sin()?.mul(2.0)?.sum();
    let x = Tensor::from([1.0, 2.0]);
    println!("{}", capture(f)(&x)?);
    println!("{}", capture(grad(f))(&x)?);
    println!("{}", capture(vmap(grad(f)))(&x.unsqueeze(0)?)?);
    println!("{}", capture(hessian(f))(&x)?);
    let g = capture(hessian(f))(&x)?;
    g.verify()?;
    println!("{} {}", g.call(&x)?, hessian(f)(&x)?);
    let w = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    let gen1 = random::Generator::new(3);
    let h = |x: &Tensor| w.matmul(x)?.softmax(0)?.reshape(&[2, 1])?.add(gen1.normal(&[2], DType::F64)?)?.sort(0, false);
    let g = capture(h)(&x)?;
    println!("{g}");
    g.verify()?;
    println!("{:?} {:?}", g.call(&x)?, g.call(&x)?);
    let e = capture(|x: &Tensor| {
        x.item::<f64>()?;
        Ok(x.clone())
    })(&Tensor::from(1.0))
    .unwrap_err();
    println!("{e}");
    Ok(())
}
#[test]
fn pic() -> Result<()> {
    let f = |(w, x): &(Tensor, Tensor)| (w * x).sin()?.sum();
    let x = (Tensor::from([1.0, 2.0]), Tensor::from([1.0, 2.0]));
    std::fs::write("/tmp/a.svg", capture(grad(f))(&x)?.to_svg()).unwrap();
    println!("{}", capture(grad(f))(&x)?);
    let g = random::Generator::new(1);
    let big = |(w, b, x): &(Tensor, Tensor, Tensor)| {
        let h = x.matmul(w)?.add(b)?.tanh()?;
        let h = h.matmul(w)?.add(b)?.softmax(1)?.add(g.normal(&[2, 2], DType::F64)?)?;
        h.log_softmax(1)?.mul(h.square()?)?.mean()
    };
    let x = (Tensor::from([[1.0, 2.0], [2.0, 3.0]]), Tensor::from([1.0, 2.0]), Tensor::from([[1.0, 2.0], [2.0, 3.0]]));
    std::fs::write("/tmp/b.svg", capture(grad(big))(&x)?.to_svg()).unwrap();
    Ok(())
}
