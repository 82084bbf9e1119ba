//! `vmap` chunk by chunk.

use std::cell::RefCell;

use pullback::*;

use crate::{fails, is, noise, same, values};

#[test]
fn c76_the_size_of_chunks_does_not_change_a_result() {
    // Elementwise work is the same bit for bit.
    let x = noise(&[7, 4], 0.3);
    let f = |x: &Tensor| x.sin()?.mul(x);
    let want = vmap(f)(&x).unwrap();
    for size in [1, 2, 3, 7, 100] {
        same(&Vmap::new().chunk_size(size).of(f)(&x).unwrap(), &want);
    }
    fails(Vmap::new().chunk_size(0).of(f)(&x), ErrorKind::Value, &["vmap: chunk_size: expected at least 1, got 0"]);
}

#[test]
fn any_dims_results_and_dtypes() {
    let (a, b) = (noise(&[3, 7], 0.1), noise(&[7], 0.2));
    let shared = Tensor::from(2.0f32);
    let f = |(a, b, c): &(Tensor, Tensor, Tensor)| {
        Ok((a.mul(b)?, vec![a.argmax(None, false)?, b.gt(0.0)?], c.mul(3.0)?, (a.outer(a)?, Static(4))))
    };
    let args = (a, b, shared);
    let run = |size: usize| {
        Vmap::new().in_dims((-1, 0, None)).out_dims((-1, vec![0, 0], None, (1, None))).chunk_size(size).of(f)(&args)
            .unwrap()
    };
    let want = run(1000);
    assert_eq!((want.0.shape(), want.3.0.shape()), (&[3, 7][..], &[3, 7, 3][..]));
    for size in [1, 2, 3, 4, 6, 7] {
        let got = run(size);
        same(&got.0, &want.0);
        same(&got.1[0], &want.1[0]);
        same(&got.1[1], &want.1[1]);
        same(&got.2, &want.2);
        same(&got.3.0, &want.3.0);
        assert_eq!(got.3.1.0, 4);
    }
    // A shared result with a dim is repeated.
    let constant = |_: &Tensor| Ok(Tensor::from([1.0, 2.0]));
    for size in [1, 2, 3] {
        is(
            &Vmap::new().out_dims(1).chunk_size(size).of(constant)(&noise(&[3], 0.1)).unwrap(),
            &[2, 3],
            &[1.0, 1.0, 1.0, 2.0, 2.0, 2.0],
        );
    }
}

#[test]
fn chunks_are_as_large_as_told() {
    // The size that a batched value has below is seen by a function's own rule.
    #[derive(Clone)]
    struct Sizes(std::sync::Arc<std::sync::Mutex<Vec<usize>>>);
    impl Function for Sizes {
        type Inputs = Tensor;
        type Outputs = Tensor;
        type Saved = ();
        fn forward(&self, x: &Tensor) -> Result<Tensor> {
            Ok(x.clone())
        }
        fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
            Ok(())
        }
        fn vmap(&self, info: &VmapInfo, dims: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
            self.0.lock().unwrap().push(info.batch_size);
            Ok((x.mul(1.0)?, dims))
        }
    }
    let sizes = Sizes(Default::default());
    let f = |x: &Tensor| sizes.apply(x);
    let x = noise(&[7], 0.1);
    for (size, want) in [(1, vec![]), (2, vec![2, 2, 2, 1]), (3, vec![3, 3, 1]), (7, vec![7]), (100, vec![7])] {
        Vmap::new().chunk_size(size).of(f)(&x).unwrap();
        assert_eq!(std::mem::take(&mut *sizes.0.lock().unwrap()), want);
    }
}

#[test]
fn one_lane_at_a_time_is_a_plain_loop() {
    let seen = RefCell::new(Vec::new());
    let f = |x: &Tensor| {
        seen.borrow_mut().push(x.item::<f64>()?);
        if x.item::<f64>()? > 0.0 { x.square() } else { x.neg() }
    };
    let x = Tensor::from([1.0, -2.0, 3.0]);
    is(&Vmap::new().chunk_size(1).of(f)(&x).unwrap(), &[3], &[1.0, 2.0, 9.0]);
    assert_eq!(seen.take(), [1.0, -2.0, 3.0]);
    fails(Vmap::new().chunk_size(2).of(f)(&x), ErrorKind::ConcreteValueNeeded, &["vmap"]);
    // One lane is a loop as well, and so is the body of a derivative of it.
    is(&Vmap::new().chunk_size(1).of(f)(&Tensor::from([-2.0])).unwrap(), &[1], &[2.0]);
    let total = |x: &Tensor| Vmap::new().chunk_size(1).of(f)(x)?.sum();
    is(&grad(total)(&x).unwrap(), &[3], &[2.0, -1.0, 6.0]);
    is(&jacfwd(total)(&x).unwrap(), &[3], &[2.0, -1.0, 6.0]);
    // Inside of an outer batch data still cannot be read.
    fails(
        vmap(|x: &Tensor| Vmap::new().chunk_size(1).of(f)(x))(&noise(&[2, 3], 0.1)),
        ErrorKind::ConcreteValueNeeded,
        &[],
    );
}

#[test]
fn t65_results_without_a_dim_and_no_lanes() {
    let c = Tensor::from([5.0, f64::NAN]);
    let f = |x: &Tensor| Ok((x.square()?, c.clone()));
    for size in [1, 2, 100] {
        let map = Vmap::new().out_dims((0, None)).chunk_size(size);
        let (y, shared) = map.of(f)(&Tensor::from([1.0, 2.0, 3.0])).unwrap();
        is(&y, &[3], &[1.0, 4.0, 9.0]);
        assert!(shared.shape() == [2] && values(&shared)[0] == 5.0 && values(&shared)[1].is_nan());
        let (y, shared) = map.of(f)(&Tensor::zeros(&[0, 4], DType::F32).unwrap()).unwrap();
        assert_eq!(y.ty().to_string(), "f32[0,4]");
        assert_eq!(shared.shape(), [2]);
        // Its derivatives, too.
        let total = |x: &Tensor| map.of(f)(x)?.0.sum();
        is(&grad(total)(&Tensor::zeros(&[0, 4], DType::F64).unwrap()).unwrap(), &[0, 4], &[]);
    }
}

#[test]
fn chunks_under_and_around_other_transforms() {
    let f = |x: &Tensor| x.powi(3)?.sum();
    let x = noise(&[5, 3], 0.2);
    let squares: Vec<f64> = values(&x).iter().map(|x| 3.0 * x * x).collect();
    for size in [1, 2, 5] {
        let map = Vmap::new().chunk_size(size);
        is(&map.of(grad(f))(&x).unwrap(), &[5, 3], &squares);
        let total = |x: &Tensor| map.of(f)(x)?.sum();
        is(&grad(total)(&x).unwrap(), &[5, 3], &squares);
        is(&jvp(total, &x, &x).unwrap().1, &[], &[values(&x).iter().map(|x| 3.0 * x * x * x).sum()]);
        is(&vmap(total)(&x.unsqueeze(0).unwrap()).unwrap(), &[1], &values(&total(&x).unwrap().unsqueeze(0).unwrap()));
        let rows = |x: &Tensor| map.of(|x: &Tensor| map.of(|x: &Tensor| x.powi(3))(x))(x);
        is(&rows(&x).unwrap(), &[5, 3], &values(&x.powi(3).unwrap()));
        is(&grad(|x: &Tensor| rows(x)?.sum())(&x).unwrap(), &[5, 3], &squares);
        is(
            &vmap(hessian(total))(&x.unsqueeze(1).unwrap()).unwrap().sum().unwrap(),
            &[],
            &[values(&x).iter().map(|x| 6.0 * x).sum()],
        );
    }
}

#[test]
fn a_nonlinear_rule_sees_each_lane_in_every_chunk() {
    // An identity whose cotangent is clipped to [-1, 1]: with a shared argument each lane clips its own.
    #[derive(Clone)]
    struct Clip;
    impl Function for Clip {
        type Inputs = Tensor;
        type Outputs = Tensor;
        type Saved = ();
        fn forward(&self, x: &Tensor) -> Result<Tensor> {
            Ok(x.clone())
        }
        fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
            Ok(())
        }
        fn backward(&self, _: &Context<Self>, _: &(), g: Cotangent) -> Result<Cotangent> {
            g.map(|g| g.clamp(Some(-1.0), Some(1.0)))
        }
    }
    let xs = Tensor::from([0.1, 2.0, 0.02]);
    for size in [1, 2, 3] {
        let f = |w: &Tensor| Vmap::new().chunk_size(size).of(|x: &Tensor| Clip.apply(w)?.mul(x)?.mul(5.0))(&xs)?.sum();
        is(&grad(f)(&Tensor::from(1.0)).unwrap(), &[], &[0.5 + 1.0 + 0.1]);
        // Lanes outside of the derivative, a loop inside of it.
        let lanes = vmap(|w: &Tensor| grad(f)(w))(&Tensor::from([1.0, 1.0])).unwrap();
        is(&lanes, &[2], &[1.6, 1.6]);
    }
}

#[test]
fn lanes_that_do_not_fit_together() {
    let f = |x: &Tensor| if x.item::<f64>()? > 1.5 { stack(&[x, x], 0) } else { Ok(x.clone()) };
    let x = Tensor::from([1.0, 2.0]);
    let loop_ = Vmap::new().chunk_size(1);
    let parts = ["vmap: expected f64[1] for result of lane 1 as in the parts before, got f64[1,2]"];
    fails(loop_.of(f)(&x), ErrorKind::Shape, &parts);
    fails(loop_.out_dims(-1).of(f)(&x), ErrorKind::Shape, &[]);
    fails(loop_.out_dims(-1).of(f)(&x.flip(&[0]).unwrap()), ErrorKind::Shape, &[]);
    let f = |x: &Tensor| if x.item::<f64>()? > 1.5 { x.to_dtype(DType::F32) } else { Ok(x.clone()) };
    fails(loop_.of(f)(&x), ErrorKind::Shape, &["f64[1]", "f32[1]"]);
    let f = |x: &Tensor| Ok(vec![x.clone(); x.item::<f64>()? as usize]);
    let parts = ["expected results [tensor] for all lanes, got [tensor, tensor] from lane 1 on"];
    fails(loop_.of(f)(&x), ErrorKind::Arity, &parts);
    let f = |x: &Tensor| Ok(if x.item::<f64>()? > 1.5 { [Some(x.clone()), None] } else { [None, Some(x.clone())] });
    fails(loop_.of(f)(&x), ErrorKind::Arity, &["[none, tensor]", "[tensor, none]"]);
}

#[test]
fn a_result_that_no_memory_holds() {
    let wide = |_: &Tensor| Tensor::from(1.0).expand(&[1 << 40]);
    let x = Tensor::from(1.0).expand(&[1 << 40]).unwrap();
    let parts = ["is too large"];
    fails(Vmap::new().chunk_size(2).of(wide)(&x), ErrorKind::Shape, &parts);
    fails(Vmap::new().chunk_size(1).of(wide)(&x), ErrorKind::Shape, &parts);
}

#[test]
fn an_error_in_a_later_chunk_leaves_nothing_behind() {
    let f = |x: &Tensor| if x.item::<f64>()? > 2.5 { Err(Error::other("too large")) } else { Ok(x.clone()) };
    let x = Tensor::from([1.0, 2.0, 3.0]);
    fails(Vmap::new().chunk_size(1).of(f)(&x), ErrorKind::User, &["vmap: too large"]);
    // A level that were left behind would refuse random numbers.
    is(&random::Key::new(1).uniform(&[0], DType::F64).unwrap(), &[0], &[]);
}
