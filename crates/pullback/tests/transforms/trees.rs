//! Parameter trees as values: ensembles by stacking, and models with other parameters.

use std::collections::BTreeMap;

use pullback::*;

use crate::{fails, is, noise};

#[derive(Clone, Tree)]
struct Layer<T = Tensor> {
    weight: T,
    bias: T,
}

#[derive(Clone, Tree)]
struct Mlp<T = Tensor> {
    layers: Vec<Layer<T>>,
    #[tree(static)]
    name: &'static str,
}

impl Mlp {
    fn new(seed: f64) -> Mlp {
        let layer = |n: usize, m: usize, s: f64| Layer { weight: noise(&[n, m], s), bias: noise(&[n], s + 0.5) };
        Mlp { layers: vec![layer(4, 3, seed), layer(2, 4, seed + 1.0)], name: "mlp" }
    }

    fn call(&self, x: &Tensor) -> Result<Tensor> {
        let mut x = x.clone();
        for layer in &self.layers {
            x = layer.weight.matmul(&x)?.add(&layer.bias)?.tanh()?;
        }
        Ok(x)
    }
}

#[test]
fn c170_an_ensemble_gives_what_its_members_give() {
    let members: Vec<Mlp> = (0..3).map(|k| Mlp::new(k as f64)).collect();
    let ensemble = stack_trees(&members).unwrap();
    assert_eq!(ensemble.layers[0].weight.shape(), [3, 4, 3]);
    assert_eq!(ensemble.name, "mlp");
    let x = noise(&[3], 0.3);
    for size in [1, 2, 100] {
        let each = Vmap::new().chunk_size(size).of(|m: &Mlp| m.call(&x))(&ensemble).unwrap();
        let own = noise(&[3, 3], 0.7);
        let pairs =
            Vmap::new().chunk_size(size).of(|(m, x): &(Mlp, Tensor)| m.call(x))(&(ensemble.clone(), own.clone()))
                .unwrap();
        let loss = |m: &Mlp| m.call(&x)?.square()?.sum();
        let gradients = unstack_trees(&Vmap::new().chunk_size(size).of(grad(loss))(&ensemble).unwrap()).unwrap();
        for (k, m) in members.iter().enumerate() {
            is(&each.select(0, k as isize).unwrap(), &[2], &crate::values(&m.call(&x).unwrap()));
            let want = m.call(&own.select(0, k as isize).unwrap()).unwrap();
            is(&pairs.select(0, k as isize).unwrap(), &[2], &crate::values(&want));
            let want = grad(loss)(m).unwrap();
            is(&gradients[k].layers[1].weight, &[2, 4], &crate::values(&want.layers[1].weight));
        }
    }
}

#[test]
fn members_that_do_not_fit_are_named() {
    let (a, mut b) = (Mlp::new(0.0), Mlp::new(1.0));
    b.layers[1].bias = noise(&[3], 0.1);
    let parts = ["stack_trees: expected f64[2] at `.layers[1].bias`", "got f64[3] at position 1"];
    fails(stack_trees(&[a.clone(), b.clone()]), ErrorKind::Shape, &parts);
    b.layers[1].bias = b.layers[1].bias.narrow(0, 0, 2).unwrap().to_dtype(DType::F32).unwrap();
    let parts = ["f64[2] at `.layers[1].bias`", "got f32[2] at position 2"];
    fails(stack_trees(&[a.clone(), a.clone(), b.clone()]), ErrorKind::Dtype, &parts);
    b.layers.pop();
    fails(stack_trees(&[a.clone(), b]), ErrorKind::Arity, &["Mlp { layers: [Layer", "at position 1"]);
    fails(stack_trees::<Mlp>(&[]), ErrorKind::Arity, &["at least one"]);
    fails(unstack_trees(&a), ErrorKind::Shape, &["`.layers[0].weight`", "`.layers[1].weight`"]);
}

#[test]
fn a_model_is_called_with_other_parameters() {
    // The parameters are the model: a changed copy is another model, and the first one is as it was.
    let model = Mlp::new(0.0);
    let x = noise(&[3], 0.3);
    let before = model.call(&x).unwrap();
    let other = model.try_map(|t| t.mul(0.5)).unwrap();
    assert_ne!(crate::values(&other.call(&x).unwrap()), crate::values(&before));
    is(&model.call(&x).unwrap(), &[2], &crate::values(&before));
    // Some of them by name, the rest captured.
    let f = |bias: &Tensor| {
        let mut m = model.clone();
        m.layers[1].bias = bias.clone();
        m.call(&x)?.sum()
    };
    let all = grad(|m: &Mlp| m.call(&x)?.sum())(&model).unwrap();
    is(&grad(f)(&model.layers[1].bias).unwrap(), &[2], &crate::values(&all.layers[1].bias));
    // By names that are known at run time only.
    let named: BTreeMap<String, Tensor> =
        [("w".to_string(), Tensor::from(2.0)), ("b".to_string(), Tensor::from(1.0))].into();
    let line = |p: &BTreeMap<String, Tensor>| p["w"].mul(3.0)?.add(&p["b"])?.square();
    let g = grad(line)(&named).unwrap();
    is(&g["w"], &[], &[42.0]);
    is(&g["b"], &[], &[14.0]);
    // A tied weight is one leaf that is used twice.
    let tied = |w: &Tensor| w.mul(&w.mul(3.0)?);
    is(&grad(tied)(&Tensor::from(2.0)).unwrap(), &[], &[12.0]);
}
