//! More of the problems in `cases`: functions as parts of models and solvers, and in other people's code.

use std::collections::BTreeMap;

use pullback::*;

use crate::{close, forward, value, values};

#[test]
fn c34_a_gradient_inside_a_backward_from_many_threads() {
    function!(Nested; x => x.mul(x); |x, g| Ok(g * grad(|t: &Tensor| t.mul(t))(x)?));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..100 {
                    assert_eq!(value(&grad(|x: &Tensor| Nested.apply(x))(&Tensor::from(3.0)).unwrap()), 6.0);
                }
            });
        }
    });
}

#[test]
fn c35_a_forward_only_function_refuses_differentiation() {
    #[derive(Clone)]
    struct ForwardOnly;
    impl Function for ForwardOnly {
        type Inputs = (Tensor, Tensor);
        type Outputs = Tensor;
        type Saved = ();
        fn forward(&self, (w, x): &(Tensor, Tensor)) -> Result<Tensor> {
            w.mul(x)
        }
        fn setup_context(&self, _: &mut Context<Self>, _: &(Tensor, Tensor), _: &Tensor) -> Result<()> {
            Ok(())
        }
    }
    let x = Tensor::from([3.0, 4.0]);
    let f = |w: &Tensor| ForwardOnly.apply(&(w.clone(), x.clone()))?.sum();
    let err = grad(f)(&Tensor::ones(&[2], DType::F64).unwrap()).unwrap_err();
    assert!(err.is_missing_rule());
    assert!(err.to_string().contains("`ForwardOnly`"), "{err}");
}

#[test]
fn c37_a_shared_coefficient_over_steps_and_lanes() {
    #[derive(Clone)]
    struct Step;
    impl Function for Step {
        type Inputs = (Tensor, Tensor);
        type Outputs = Tensor;
        type Saved = (Tensor, Tensor);
        fn forward(&self, (c, x): &(Tensor, Tensor)) -> Result<Tensor> {
            c.mul(x)
        }
        fn setup_context(&self, _: &mut Context<Self>, x: &(Tensor, Tensor), _: &Tensor) -> Result<(Tensor, Tensor)> {
            Ok(x.clone())
        }
        fn backward(
            &self,
            _: &Context<Self>,
            (c, x): &(Tensor, Tensor),
            g: Cotangent,
        ) -> Result<(Cotangent, Cotangent)> {
            Ok((&g * x, &g * c))
        }
    }
    let xs = Tensor::from([1.0, 2.0]);
    let c = Tensor::from(2.0);
    let run = |c: &Tensor, x: &Tensor| {
        let mut x = x.clone();
        for _ in 0..3 {
            x = Step.apply(&(c.clone(), x))?;
        }
        Ok(x)
    };
    let lanes = |c: &Tensor| Vmap::new().of(|x: &Tensor| run(c, x))(&xs);
    assert_eq!(values(&lanes(&c).unwrap()), [8.0, 16.0]);
    let d = grad(|c: &Tensor| lanes(c)?.sum())(&c).unwrap();
    assert_eq!((value(&d), d.shape().len()), (36.0, 0));
    assert_eq!(values(&vmap(|x: &Tensor| grad(|c: &Tensor| run(c, x))(&c))(&xs).unwrap()), [12.0, 24.0]);
}

/// The root y of y² = x by an iteration that is not differentiated; its derivative is that of the equation.
#[derive(Clone)]
struct Root;

impl Function for Root {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let roots: Vec<f64> = x
            .to_vec::<f64>()?
            .iter()
            .map(|&x| {
                let mut y = x;
                for _ in 0..60 {
                    y = 0.5 * (y + x / y);
                }
                y
            })
            .collect();
        Tensor::from_slice(&roots, x.shape())
    }
    fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, y: &Tensor) -> Result<Tensor> {
        Ok(y.clone())
    }
    fn backward(&self, _: &Context<Self>, y: &Tensor, g: Cotangent) -> Result<Cotangent> {
        g.map(|g| g.div(&y.mul(2.0)?))
    }
    fn vmap(&self, _: &VmapInfo, dims: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
        Ok((self.apply(x)?, dims))
    }
}

#[test]
fn c39_implicit_derivative_of_a_solver() {
    let f = |x: &Tensor| Root.apply(x);
    let x = Tensor::from(4.0);
    close(&[value(&f(&x).unwrap()), value(&grad(f)(&x).unwrap()), value(&forward(f)(&x).unwrap())], &[2.0, 0.25, 0.25]);
    for second in [grad(grad(f))(&x), forward(forward(f))(&x), hessian(f)(&x)] {
        close(&[value(&second.unwrap())], &[-0.031_25]);
    }
    close(&values(&vmap(grad(f))(&Tensor::from([4.0, 9.0, 16.0])).unwrap()), &[0.25, 1.0 / 6.0, 0.125]);
}

#[test]
fn c40_wrong_dtype_from_backward() {
    function!(Wide; x => x.mul(3.0); |_x, g| g.map(|g| g.mul(3.0)?.to_dtype(DType::F64)));
    let err = grad(|x: &Tensor| Wide.apply(x))(&Tensor::from(2.0f32)).unwrap_err();
    assert!(err.to_string().contains("expected a cotangent of type f32[] for input 0, got f64[]"), "{err}");
}

#[test]
fn c42_surrogate_gradient_of_a_step() {
    #[derive(Clone)]
    struct Spike;
    impl Function for Spike {
        type Inputs = Tensor;
        type Outputs = Tensor;
        type Saved = Tensor;
        fn forward(&self, x: &Tensor) -> Result<Tensor> {
            let fired: Vec<f64> = x.to_vec::<f64>()?.iter().map(|&v| f64::from(u8::from(v > 0.0))).collect();
            Tensor::from_slice(&fired, x.shape())
        }
        fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
            Ok(x.clone())
        }
        fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
            let u = x * std::f64::consts::PI;
            g.map(|g| g.div(&(&u * &u + 1.0)))
        }
        fn vmap(&self, _: &VmapInfo, dims: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
            Ok((self.apply(x)?, dims))
        }
    }
    let f = |x: &Tensor| Spike.apply(x);
    let x = Tensor::from(0.5);
    close(&[value(&f(&x).unwrap()), value(&grad(f)(&x).unwrap())], &[1.0, 0.288_400_439]);
    close(&values(&vmap(grad(f))(&Tensor::from([0.5, 0.5])).unwrap()), &[0.288_400_439; 2]);
    close(&values(&jacrev(f)(&Tensor::from([0.5])).unwrap()), &[0.288_400_439]);
}

#[test]
fn c180_downstream_function_with_the_sum_to_helper() {
    #[derive(Clone)]
    struct ScaledAdd;
    impl Function for ScaledAdd {
        type Inputs = (Tensor, Tensor, Tensor);
        type Outputs = Tensor;
        type Saved = (Tensor, Tensor);
        fn forward(&self, (x, b, s): &Self::Inputs) -> Result<Tensor> {
            x.add(&s.mul(b)?)
        }
        fn setup_context(&self, _: &mut Context<Self>, (_, b, s): &Self::Inputs, _: &Tensor) -> Result<Self::Saved> {
            Ok((b.clone(), s.clone()))
        }
        fn backward(
            &self,
            _: &Context<Self>,
            (b, s): &Self::Saved,
            g: Cotangent,
        ) -> Result<(Cotangent, Cotangent, Cotangent)> {
            let db = g.map(|g| g.mul(s)?.sum_to(b.shape()))?;
            let ds = g.map(|g| g.mul(b)?.sum_to(s.shape()))?;
            Ok((g, db, ds))
        }
    }
    let args = (Tensor::ones(&[2, 3], DType::F64).unwrap(), Tensor::from([1.0, 2.0, 3.0]), Tensor::from(2.0));
    let (dx, db, ds) = grad(|a: &(Tensor, Tensor, Tensor)| ScaledAdd.apply(a)?.sum())(&args).unwrap();
    assert_eq!((values(&dx), values(&db), value(&ds)), (vec![1.0; 6], vec![4.0; 3], 12.0));
}

#[test]
fn trees_of_outputs_by_name() {
    #[derive(Clone)]
    struct Stats;
    impl Function for Stats {
        type Inputs = Tensor;
        type Outputs = BTreeMap<String, Tensor>;
        type Saved = Tensor;
        fn forward(&self, x: &Tensor) -> Result<BTreeMap<String, Tensor>> {
            Ok([("sum".to_string(), x.sum()?), ("squares".to_string(), x.mul(x)?.sum()?)].into())
        }
        fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Self::Outputs) -> Result<Tensor> {
            Ok(x.clone())
        }
        fn backward(&self, _: &Context<Self>, x: &Tensor, g: BTreeMap<String, Cotangent>) -> Result<Cotangent> {
            let sum = g["sum"].map(|g| g.expand(x.shape()))?;
            Ok(sum + g["squares"].map(|g| x.mul(2.0)?.mul(g))?)
        }
    }
    let x = Tensor::from([1.0, 2.0]);
    let j = jacrev(|x: &Tensor| Stats.apply(x))(&x).unwrap();
    assert_eq!((values(&j["sum"]), values(&j["squares"])), (vec![1.0, 1.0], vec![2.0, 4.0]));
}
