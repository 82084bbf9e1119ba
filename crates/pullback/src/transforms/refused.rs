//! Options that the types refuse: each example must not compile.
//!
//! Arguments are selected by integers (T-01, T-02, T-06 of the list of semantics):
//! ```compile_fail
//! # use pullback::{Grad, Tensor};
//! let f = |x: &(Tensor, Tensor)| x.0.mul(&x.1);
//! let g = Grad::new().argnums::<"x">().of(f);
//! ```
//! ```compile_fail
//! # use pullback::{Grad, Tensor};
//! let f = |x: &(Tensor, Tensor)| x.0.mul(&x.1);
//! let g = Grad::new().argnums::<1.0>().of(f);
//! ```
//! ```compile_fail
//! # use pullback::{Grad, Tensor};
//! let f = |x: &(Tensor, Tensor)| x.0.mul(&x.1);
//! let g = Grad::new().argnums::<true>().of(f);
//! ```
//! There must be such an argument (T-03), of a tuple or of an array:
//! ```compile_fail
//! # use pullback::{Grad, Tensor};
//! let f = |x: &(Tensor, Tensor)| x.0.mul(&x.1);
//! let g = Grad::new().argnums::<2>().of(f);
//! ```
//! ```compile_fail
//! # use pullback::{Hessian, Tensor};
//! let f = |x: &(Tensor, Tensor)| x.0.mul(&x.1);
//! let h = Hessian::new().argnums::<-3>().of(f);
//! ```
//! ```compile_fail
//! # use pullback::{Grad, Tensor};
//! let f = |x: &[Tensor; 2]| x[0].mul(&x[1]);
//! let g = Grad::new().argnums::<2>().of(f)(&[Tensor::from(1.0), Tensor::from(2.0)]);
//! ```
//! A tensor has no arguments:
//! ```compile_fail
//! # use pullback::{Grad, Tensor};
//! let g = Grad::new().argnums::<0>().of(|x: &Tensor| x.sum());
//! ```
//! There is no selection without an argument (T-04), to which another one could be added:
//! ```compile_fail
//! # use pullback::{Grad, Tensor};
//! let f = |x: &(Tensor, Tensor)| x.0.mul(&x.1);
//! let g = Grad::new().and::<0>().of(f);
//! ```
//! An argument is selected once (T-05), by whatever number:
//! ```compile_fail
//! # use pullback::{Grad, Tensor};
//! let f = |x: &(Tensor, Tensor)| x.0.mul(&x.1);
//! let g = Grad::new().argnums::<1>().and::<1>().of(f)(&(Tensor::from(1.0), Tensor::from(2.0)));
//! ```
//! ```compile_fail
//! # use pullback::{Grad, Tensor};
//! let f = |x: &(Tensor, Tensor)| x.0.mul(&x.1);
//! let g = Grad::new().argnums::<1>().and::<-1>().of(f)(&(Tensor::from(1.0), Tensor::from(2.0)));
//! ```
//! ```compile_fail
//! # use pullback::{Grad, Tensor};
//! let f = |x: &[Tensor; 2]| x[0].mul(&x[1]);
//! let g = Grad::new().argnums::<1>().and::<-1>().of(f)(&[Tensor::from(1.0), Tensor::from(2.0)]);
//! ```
//! What these refuse is the selection, and nothing else:
//! ```
//! # use pullback::{Grad, Hessian, Tensor};
//! let f = |x: &(Tensor, Tensor)| x.0.mul(&x.1);
//! let g = Grad::new().argnums::<1>().and::<-2>().of(f)(&(Tensor::from(1.0), Tensor::from(2.0)));
//! let h = Hessian::new().argnums::<-2>().of(f);
//! let f = |x: &[Tensor; 2]| x[0].mul(&x[1]);
//! let g = Grad::new().argnums::<1>().and::<-2>().of(f)(&[Tensor::from(1.0), Tensor::from(2.0)]);
//! ```
//! `grad` takes functions that return one tensor (T-10), and with auxiliary data a pair (T-12):
//! ```compile_fail
//! # use pullback::{Tensor, grad};
//! let g = grad(|x: &Tensor| Ok((x.sum()?, x.sum()?)));
//! ```
//! ```compile_fail
//! # use pullback::{Tensor, grad};
//! let g = grad(|x: &Tensor| Ok(2.0));
//! ```
//! ```compile_fail
//! # use pullback::{Grad, Tensor};
//! let g = Grad::new().has_aux().of(|x: &Tensor| x.sum());
//! ```
//! ```compile_fail
//! # use pullback::{Grad, Tensor};
//! let g = Grad::new().has_aux().of(|x: &Tensor| Ok(vec![x.sum()?, x.sum()?]));
//! ```
//! Auxiliary data is a tree (T-13, T-24):
//! ```compile_fail
//! # use pullback::{Grad, Tensor};
//! let g = Grad::new().has_aux().of(|x: &Tensor| Ok((x.sum()?, 2.0)));
//! ```
//! ```compile_fail
//! # use pullback::{Tensor, Vjp};
//! let (y, pull, aux) = Vjp::new().has_aux().of(|x: &Tensor| Ok((x.sum()?, "note")))(&Tensor::from(1.0)).unwrap();
//! ```
//! Results are trees (T-21, T-34), and tangents and cotangents have the type of what they belong to (T-23, T-30, T-31):
//! ```compile_fail
//! # use pullback::{Tensor, vjp};
//! let (y, pull) = vjp(|x: &Tensor| Ok(5.0), &Tensor::from(1.0)).unwrap();
//! ```
//! ```compile_fail
//! # use pullback::{Tensor, vjp};
//! let (y, pull) = vjp(|x: &Tensor| x.sum(), &Tensor::from(1.0)).unwrap();
//! pull.call(&None::<Tensor>).unwrap();
//! ```
//! ```compile_fail
//! # use pullback::{Tensor, jvp};
//! let x = Tensor::from(1.0);
//! jvp(|x: &Tensor| x.sum(), &x, &(x.clone(),)).unwrap();
//! ```
//! Specs of dims are integers, `None`, and trees of these (T-52, T-54, T-58) with the structure of the arguments
//! (T-53):
//! ```compile_fail
//! # use pullback::{Tensor, Vmap};
//! let g = Vmap::new().in_dims("0").of(|x: &Tensor| x.sum());
//! ```
//! ```compile_fail
//! # use pullback::{Tensor, Vmap};
//! let g = Vmap::new().in_dims(true).of(|x: &Tensor| x.sum());
//! ```
//! ```compile_fail
//! # use pullback::{Tensor, Vmap};
//! let g = Vmap::new().in_dims((0, 0, 0)).of(|x: &(Tensor, Tensor)| x.0.add(&x.1));
//! ```
//! ```compile_fail
//! # use pullback::{Tensor, Vmap};
//! let g = Vmap::new().in_dims(vec![0, 0]).of(|x: &(Tensor, Tensor)| x.0.add(&x.1));
//! ```
//! ```compile_fail
//! # use pullback::{Tensor, Vmap};
//! let g = Vmap::new().out_dims(0.5).of(|x: &Tensor| x.sum());
//! ```
//! ```compile_fail
//! # use pullback::{Tensor, Vmap};
//! let g = Vmap::new().out_dims((0, 0)).of(|x: &Tensor| x.sum());
//! ```
//! A function has one argument, which is a tree (T-50), and a policy is one of three (T-63):
//! ```compile_fail
//! # use pullback::{Tensor, Vmap};
//! let g = Vmap::new().of(|| Ok(Tensor::from(1.0)));
//! ```
//! ```compile_fail
//! # use pullback::{Tensor, Vmap};
//! let g = Vmap::new().randomness("different").of(|x: &Tensor| x.sum());
//! ```
//! Options that mean nothing for a transform do not exist:
//! ```compile_fail
//! let g = pullback::Grad::new().chunk_size(3);
//! ```
