//! The vertical slice: one family, one function, every transform.
use pullback::*;

#[derive(Clone)]
struct Cube;
impl Function for Cube {
    type Inputs = Tensor;
    type Outputs = (Tensor, Tensor);
    type Saved = (Tensor, Tensor);
    fn forward(&self, x: &Tensor) -> Result<(Tensor, Tensor)> {
        Ok((x * x * x, x * x * 3.0))
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, y: &(Tensor, Tensor)) -> Result<(Tensor, Tensor)> {
        Ok((x.clone(), y.1.clone()))
    }
    fn backward(
        &self,
        _: &Context<Self>,
        (x, dx): &(Tensor, Tensor),
        (gy, gdx): (Cotangent, Cotangent),
    ) -> Result<Cotangent> {
        Ok(gy * dx + gdx * x * 6.0)
    }
}

#[derive(Clone, Tree)]
struct Line<T = Tensor> {
    w: T,
    b: Vec<T>,
    #[tree(static)]
    n: usize,
}

fn item(t: &Tensor) -> f64 {
    t.item::<f64>().unwrap()
}

#[test]
fn slice() {
    let x = Tensor::from(2.0);
    let f = |x: &Tensor| Ok(Cube.apply(x)?.0);
    assert_eq!(item(&f(&x).unwrap()), 8.0);
    assert_eq!(item(&grad(f)(&x).unwrap()), 12.0);
    assert_eq!(item(&grad(grad(f))(&x).unwrap()), 12.0);
    assert_eq!(item(&grad(grad(grad(f)))(&x).unwrap()), 6.0);
    let d = |f: fn(&Tensor) -> Result<Tensor>| move |x: &Tensor| Ok(jvp(f, x, &Tensor::from(1.0))?.1);
    assert_eq!(item(&d(|x| Ok(Cube.apply(x)?.0))(&x).unwrap()), 12.0);
    let j2 = jvp(d(|x| Ok(Cube.apply(x)?.0)), &x, &Tensor::from(1.0)).unwrap().1;
    assert_eq!(item(&j2), 12.0);
    assert_eq!(item(&hessian(f)(&x).unwrap()), 12.0);
    let xs = Tensor::from([1.0, 2.0, 3.0]);
    assert_eq!(vmap(grad(f))(&xs).unwrap().to_vec::<f64>().unwrap(), [3.0, 12.0, 27.0]);
    assert_eq!(grad(|x: &Tensor| vmap(f)(x)?.sum())(&xs).unwrap().to_vec::<f64>().unwrap(), [3.0, 12.0, 27.0]);
    assert_eq!(jacrev(vmap(f))(&xs).unwrap().to_vec::<f64>().unwrap(), [3.0, 0.0, 0.0, 0.0, 12.0, 0.0, 0.0, 0.0, 27.0]);
    assert_eq!(jacfwd(vmap(f))(&xs).unwrap().to_vec::<f64>().unwrap(), [3.0, 0.0, 0.0, 0.0, 12.0, 0.0, 0.0, 0.0, 27.0]);
    assert_eq!(vmap(hessian(f))(&xs).unwrap().to_vec::<f64>().unwrap(), [6.0, 12.0, 18.0]);
    let g = grad(|l: &Line| (&l.w * &l.b[0] + l.b[1].sin()?).mul(1.0))(&Line {
        w: x.clone(),
        b: vec![x.clone(), x.clone()],
        n: 3,
    })
    .unwrap();
    assert_eq!((item(&g.w), item(&g.b[0]), g.n), (2.0, 2.0, 3));
    let v = Vmap::new().in_dims((None, 0)).of(|(l, x): &(Line, Tensor)| l.w.mul(x))(&(g.clone(), xs.clone())).unwrap();
    assert_eq!(v.to_vec::<f64>().unwrap(), [2.0, 4.0, 6.0]);
    let dims = Line { w: None, b: vec![None, Some(0usize)], n: 0 };
    let _ = Vmap::new().in_dims((dims, 0)).of(|(l, x): &(Line, Tensor)| l.w.mul(x)?.mul(&l.b[1]));
}
