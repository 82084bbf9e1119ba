//! A training loop in the manner of PyTorch gives the numbers of the functional one.

use pullback::autograd::{self, leaf, no_grad};
use pullback::{DType, Result, Tensor, Tree, value_and_grad};

use crate::values;

#[derive(Clone, Tree)]
struct Net<T = Tensor> {
    hidden: Layer<T>,
    out: Layer<T>,
}

#[derive(Clone, Tree)]
struct Layer<T = Tensor> {
    weight: T,
    bias: T,
}

fn noise(shape: &[usize], seed: f64) -> Tensor {
    let data: Vec<f64> = (0..shape.iter().product()).map(|k: usize| (seed + 1.7 * k as f64).sin()).collect();
    Tensor::from_slice(&data, shape).unwrap()
}

fn start() -> Net {
    let layer = |shape: [usize; 2], seed| Layer { weight: noise(&shape, seed), bias: noise(&shape[1..], seed + 0.5) };
    Net { hidden: layer([2, 5], 1.0), out: layer([5, 1], 2.0) }
}

fn loss(net: &Net, x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let hidden = x.matmul(&net.hidden.weight)?.add(&net.hidden.bias)?.tanh()?;
    let out = hidden.matmul(&net.out.weight)?.add(&net.out.bias)?;
    out.sub(y)?.square()?.mean()
}

fn data() -> (Tensor, Tensor) {
    let x = noise(&[16, 2], 3.0);
    let y = x.i((.., 0..1)).unwrap().mul(&x.i((.., 1..2)).unwrap()).unwrap();
    (x, y)
}

fn each(net: &mut Net, f: &mut dyn FnMut(&mut Tensor) -> Result<()>) -> Result<()> {
    let Net { hidden, out } = net;
    [&mut hidden.weight, &mut hidden.bias, &mut out.weight, &mut out.bias].into_iter().try_for_each(f)
}

#[test]
fn the_loop_gives_the_numbers_of_the_functional_one() {
    let (x, y) = data();
    let mut functional = start();
    let mut losses = Vec::new();
    for _ in 0..40 {
        let (value, gradient) = value_and_grad(|net: &Net| loss(net, &x, &y))(&functional).unwrap();
        losses.push(value.item::<f64>().unwrap());
        let mut gradient = pullback_leaves(&gradient).into_iter();
        each(&mut functional, &mut |p| p.sub_(&gradient.next().unwrap().mul(0.2)?).map(|_| ())).unwrap();
    }

    let mut net = leaf(&start()).unwrap();
    for (step, want) in losses.iter().enumerate() {
        let value = loss(&net, &x, &y).unwrap();
        assert_eq!(value.item::<f64>().unwrap(), *want, "step {step}");
        autograd::backward(value).unwrap();
        no_grad(|| {
            each(&mut net, &mut |p| {
                let step = p.grad()?.expect("every parameter is used").mul(0.2)?;
                p.sub_(&step)?;
                p.zero_grad()
            })
        })
        .unwrap();
    }
    for (a, b) in pullback_leaves(&net).iter().zip(pullback_leaves(&functional)) {
        assert_eq!(values(a), values(&b));
        assert!(a.is_leaf() && a.requires_grad());
    }
    assert!(losses[39] < 0.5 * losses[0]);
}

/// The tensors of a tree.
fn pullback_leaves(net: &Net) -> Vec<Tensor> {
    let mut all = Vec::new();
    net.visit(&mut |t| all.push(t.clone()));
    all
}

#[test]
fn forgetting_no_grad_is_noticed() {
    let (x, y) = data();
    let mut net = leaf(&start()).unwrap();
    loss(&net, &x, &y).unwrap().backward().unwrap();
    let step = net.out.bias.grad().unwrap().unwrap().mul(0.1).unwrap();
    net.out.bias.sub_(&step).unwrap();
    loss(&net, &x, &y).unwrap().backward().unwrap();
    let err = net.out.bias.grad().unwrap_err();
    assert!(err.help().unwrap().contains("no_grad"), "{err}");
}

#[test]
fn frozen_parameters_get_no_gradients() {
    let (x, y) = data();
    let mut net = start();
    net.out = leaf(&net.out).unwrap();
    loss(&net, &x, &y).unwrap().backward().unwrap();
    assert!(net.hidden.weight.grad().unwrap().is_none());
    assert!(net.out.weight.grad().unwrap().is_some());
    assert_eq!(net.out.weight.dtype(), DType::F64);
}
