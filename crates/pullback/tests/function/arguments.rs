//! Kinds of arguments and results, and places that a function may be called from.

use pullback::function::rules;
use pullback::*;

use crate::entries::{Cube, OpaqueCube, OpaqueMul};
use crate::nests::{Jet, Subject};
use crate::{forward, value, values};

/// `(xᵀ, first row, x)`: two views of the input, and the input itself, which is also saved.
#[derive(Clone)]
struct Views;

impl Function for Views {
    type Inputs = Tensor;
    type Outputs = (Tensor, Tensor, Tensor);
    type Saved = (Tensor, Tensor);
    fn forward(&self, x: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
        Ok((x.transpose(0, 1)?, x.select(0, 0)?, x.clone()))
    }
    fn setup_context(
        &self,
        _: &mut Context<Self>,
        x: &Tensor,
        y: &(Tensor, Tensor, Tensor),
    ) -> Result<(Tensor, Tensor)> {
        Ok((x.clone(), y.2.clone()))
    }
    fn backward(
        &self,
        _: &Context<Self>,
        (x, _): &(Tensor, Tensor),
        (g, h, k): (Cotangent, Cotangent, Cotangent),
    ) -> Result<Cotangent> {
        let row = h.map(|h| {
            let mut all = x.zeros_like()?;
            all.set_(0, h)?;
            Ok(all)
        })?;
        Ok(g.map(|g| g.transpose(0, 1))? + row + k)
    }
}

#[test]
fn views_and_the_input_itself_as_outputs() {
    let x = Tensor::from([[1.0, -0.5, 0.3], [0.7, 1.2, -0.8]]);
    let apply = |x: &[Tensor]| Views.apply(&x[0]).map(|(a, b, c)| vec![a, b, c]);
    let twin = |x: &[Vec<Jet>]| {
        let x = &x[0];
        vec![(0..6).map(|k| x[k % 2 * 3 + k / 2]).collect(), x[..3].to_vec(), x.clone()]
    };
    Subject { name: "Views", inputs: vec![x.clone()], apply: Box::new(apply), twin }.check_all();
    // Changing a result changes neither the input nor the other results.
    let (mut a, b, c) = Views.apply(&x).unwrap();
    a.mul_(0.0).unwrap();
    assert_eq!((values(&b), values(&c)), (vec![1.0, -0.5, 0.3], values(&x)));
}

#[test]
fn nothing_to_differentiate() {
    /// Counts up from 0.
    #[derive(Clone)]
    struct Count(usize);
    impl Function for Count {
        type Inputs = ();
        type Outputs = Vec<Tensor>;
        type Saved = ();
        fn forward(&self, _: &()) -> Result<Vec<Tensor>> {
            Ok((0..self.0).map(|k| Tensor::from(k as f64)).collect())
        }
        fn setup_context(&self, _: &mut Context<Self>, _: &(), _: &Vec<Tensor>) -> Result<()> {
            panic!("nothing is differentiated")
        }
    }
    let x = Tensor::from([1.0, 2.0]);
    assert!(Count(0).apply(&()).unwrap().is_empty());
    let f = |x: &Tensor| x.mul(&Count(3).apply(&())?[2]);
    assert_eq!(values(&vmap(grad(f))(&x).unwrap()), [2.0, 2.0]);
    assert_eq!(values(&vmap(grad(grad(f)))(&x).unwrap()), [0.0, 0.0]);

    /// Integers to integers.
    #[derive(Clone)]
    struct Next;
    impl Function for Next {
        type Inputs = Tensor;
        type Outputs = Tensor;
        type Saved = ();
        fn forward(&self, i: &Tensor) -> Result<Tensor> {
            i.add(1)
        }
        fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
            panic!("integers have no derivative")
        }
    }
    let i = Tensor::from([4i64, 5]);
    assert_eq!(vmap(|i: &Tensor| Next.apply(i))(&i).unwrap().to_vec::<i64>().unwrap(), [5, 6]);
    let f = |x: &Tensor| x.mul(&Next.apply(&x.to_dtype(DType::I64)?)?.to_dtype(DType::F64)?)?.sum();
    assert_eq!(values(&grad(f)(&x).unwrap()), [2.0, 3.0]);
    assert_eq!(value(&jvp(f, &x, &x).unwrap().1), 8.0);
}

#[test]
fn tensors_without_elements() {
    let none = Tensor::zeros(&[0], DType::F64).unwrap();
    let f = |x: &Tensor| Ok(Cube.apply(x)?.0);
    assert_eq!(grad(|x: &Tensor| f(x)?.sum())(&none).unwrap().shape(), [0]);
    assert_eq!(jvp(f, &none, &none).unwrap().1.shape(), [0]);
    assert_eq!(jacrev(f)(&none).unwrap().shape(), [0, 0]);
    assert_eq!(jacfwd(f)(&none).unwrap().shape(), [0, 0]);
    let rows = Tensor::zeros(&[3, 0], DType::F64).unwrap();
    assert_eq!(vmap(grad(|x: &Tensor| f(x)?.sum()))(&rows).unwrap().shape(), [3, 0]);
    // A broadcast input without lanes of its own, next to no elements: its cotangent is a sum of nothing.
    let product = |a: &Tensor| OpaqueMul.apply(&(a.clone(), rows.clone()))?.sum();
    assert_eq!(values(&grad(product)(&Tensor::from([[1.0], [2.0], [3.0]])).unwrap()), [0.0; 3]);
}

/// The fourth power: other functions do the work in each of its methods.
#[derive(Clone)]
struct Fourth;

impl Function for Fourth {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        OpaqueMul.apply(&(OpaqueCube.apply(x)?.0, x.clone()))
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        // A function here as well: what it gives is differentiated like any result.
        Ok(OpaqueCube.apply(x)?.0)
    }
    fn backward(&self, _: &Context<Self>, cube: &Tensor, g: Cotangent) -> Result<Cotangent> {
        g.map(|g| OpaqueMul.apply(&(g.mul(4.0)?, cube.clone())))
    }
    fn jvp(&self, _: &Context<Self>, cube: &Tensor, t: Tangent) -> Result<Tangent> {
        t.map(|t| OpaqueMul.apply(&(cube.mul(4.0)?, t.clone())))
    }
    fn vmap(&self, info: &VmapInfo, dim: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
        // By another function that is batched by hand, on odd and even numbers of lanes in turn.
        if info.batch_size.is_multiple_of(2) {
            return rules::per_example(self, info, dim, x);
        }
        Ok((self.apply(x)?, dim))
    }
}

fn fourth_power(x: &[Vec<Jet>]) -> Vec<Vec<Jet>> {
    vec![x[0].iter().map(|&v| v * v * v * v).collect()]
}

fn subject() -> Subject {
    let apply = |x: &[Tensor]| Ok(vec![Fourth.apply(&x[0])?]);
    let inputs = vec![Tensor::from([0.9, -1.4])];
    Subject { name: "Fourth", inputs, apply: Box::new(apply), twin: fourth_power }
}

#[test]
fn functions_in_every_method_of_functions() {
    subject().check_all();
    let f = |x: &Tensor| Fourth.apply(x);
    let three = Tensor::from([1.0, 2.0, -1.0]);
    assert_eq!(values(&vmap(grad(grad(f)))(&three).unwrap()), [12.0, 48.0, 12.0]);
}

#[test]
fn a_derivative_of_itself_in_backward() {
    /// `xⁿ`, whose rule differentiates `xⁿ⁻¹` and so calls itself.
    #[derive(Clone)]
    struct Power(u32);
    impl Function for Power {
        type Inputs = Tensor;
        type Outputs = Tensor;
        type Saved = Tensor;
        fn forward(&self, x: &Tensor) -> Result<Tensor> {
            x.powi(self.0 as i32)
        }
        fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
            Ok(x.clone())
        }
        fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
            if self.0 == 0 {
                return Ok(Cotangent::zero());
            }
            // (x·xⁿ⁻¹)' = xⁿ⁻¹ + x·(xⁿ⁻¹)'
            let lower = |x: &Tensor| Power(self.0 - 1).apply(x);
            Ok(g * (lower(x)? + x * grad(lower)(x)?))
        }
    }
    let f = |x: &Tensor| Power(6).apply(x);
    let x = Tensor::from(2.0);
    assert_eq!(value(&grad(f)(&x).unwrap()), 192.0);
    assert_eq!(value(&grad(grad(f))(&x).unwrap()), 480.0);
    assert_eq!(value(&forward(grad(f))(&x).unwrap()), 480.0);
    assert_eq!(values(&vmap(grad(f))(&Tensor::from([1.0, 2.0])).unwrap()), [6.0, 192.0]);
    // Deep enough that a walk within a walk would notice a limit.
    let deep = |x: &Tensor| Power(100).apply(x);
    assert_eq!(value(&grad(deep)(&Tensor::from(1.0)).unwrap()), 100.0);
}

#[test]
fn several_threads() {
    let (y, pull) = vjp(|x: &Tensor| Fourth.apply(x), &Tensor::from([1.0, 2.0])).unwrap();
    assert_eq!(values(&y), [1.0, 16.0]);
    std::thread::scope(|s| {
        for k in 0..4 {
            let pull = &pull;
            s.spawn(move || {
                // A pullback of another thread, under transforms of this one.
                let g = Tensor::from([f64::from(k), 1.0]);
                assert_eq!(values(&pull.call(&g).unwrap()), [4.0 * f64::from(k), 32.0]);
                let rows = vmap(|g: &Tensor| pull.call(g))(&stack(&[&g, &g], 0).unwrap()).unwrap();
                assert_eq!(values(&rows.select(0, 1).unwrap()), [4.0 * f64::from(k), 32.0]);
                subject().check_all();
            });
        }
    });
}
