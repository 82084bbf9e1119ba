//! Gradients of gradients.

use pullback::autograd::{self, Backward, Grad};
use pullback::{
    Context, Cotangent, Cotangents, ErrorKind, Function, Result, Tensor, custom_vjp, grad, jvp, stack, vjp, vmap,
};

use crate::{Cube, Exp, close, refused, scalar, value, values, vector};

/// The derivatives of order 0 to `order` at `x`, each the gradient of the one before.
fn imperative(f: &dyn Fn(&Tensor) -> Result<Tensor>, x: f64, order: usize) -> Vec<f64> {
    let x = scalar(x);
    let mut y = f(&x).unwrap();
    let mut all = vec![value(&y)];
    for _ in 0..order {
        y = Grad::new().create_graph().materialize_grads().of(&y, &x).unwrap();
        all.push(value(&y));
        if !y.requires_grad() {
            // Constant from here on.
            all.resize(order + 1, 0.0);
            break;
        }
    }
    all
}

fn functional(f: &dyn Fn(&Tensor) -> Result<Tensor>, x: f64) -> Vec<f64> {
    let x = Tensor::from(x);
    let (d0, d1) = (f(&x), grad(f)(&x));
    let (d2, d3) = (grad(grad(f))(&x), grad(grad(grad(f)))(&x));
    [d0, d1, d2, d3].into_iter().map(|d| value(&d.unwrap())).collect()
}

#[test]
fn built_in_operations_match_closed_forms_to_third_order() {
    let x = 0.7f64;
    let (s, c, e) = (x.sin(), x.cos(), x.exp());
    close(&imperative(&|x| x.sin(), x, 4), &[s, c, -s, -c, s]);
    close(&imperative(&|x| x.exp(), x, 3), &[e, e, e, e]);
    close(&imperative(&|x| x.log(), x, 3), &[x.ln(), 1.0 / x, -1.0 / (x * x), 2.0 / (x * x * x)]);
    close(&imperative(&|x| x.mul(x)?.mul(x), x, 4), &[x * x * x, 3.0 * x * x, 6.0 * x, 6.0, 0.0]);
    let r = x.sqrt();
    close(&imperative(&|x| x.sqrt(), x, 3), &[r, 0.5 / r, -0.25 / (r * x), 0.375 / (r * x * x)]);
    let t = x.tanh();
    let d = 1.0 - t * t;
    close(&imperative(&|x| x.tanh(), x, 3), &[t, d, -2.0 * t * d, d * (6.0 * t * t - 2.0)]);
}

#[test]
fn many_operations_match_nested_grad() {
    type F = Box<dyn Fn(&Tensor) -> Result<Tensor>>;
    let functions: Vec<(&str, F)> = vec![
        ("mul and detach", Box::new(|x| x.mul(&x.detach()?)?.mul(x))),
        ("one array as variable and constant", Box::new(|x| x.detach()?.mul(x)?.exp())),
        ("one array twice", Box::new(|x| x.mul(x)?.mul(&x.mul(x)?))),
        ("div", Box::new(|x| x.exp()?.div(&x.square()?.add(1.0)?))),
        ("pow", Box::new(|x| x.pow(x))),
        ("softmax", Box::new(|x| stack(&[x, &x.square()?, &x.sin()?], 0)?.softmax(0)?.i(1))),
        ("logsumexp", Box::new(|x| stack(&[x, &x.square()?], 0)?.logsumexp(&[0], false))),
        (
            "matmul",
            Box::new(|x| {
                let m = stack(&[x, &x.square()?, &x.sin()?, &x.exp()?], 0)?.reshape(&[2, 2])?;
                m.matmul(&m)?.matmul(&m)?.sum()
            }),
        ),
        (
            "broadcast and reduce",
            Box::new(|x| {
                let v = Tensor::from([1.0, 2.0, 3.0]).mul(x)?;
                v.mul(&v.sum()?)?.mean()?.mul(&v.prod()?)
            }),
        ),
        (
            "where and max",
            Box::new(|x| {
                let v = Tensor::from([1.0, -2.0, 3.0]).mul(x)?;
                v.relu()?.square()?.sum()?.mul(&v.exp()?.max_dims(&[0], false)?)
            }),
        ),
        (
            "index, cat and sort",
            Box::new(|x| {
                let v = stack(&[x, &x.exp()?, &x.square()?], 0)?;
                let w = pullback::cat(&[&v, &v.square()?], 0)?;
                w.i(1..5)?.mul(&w.i(2..6)?)?.sum()?.mul(x)
            }),
        ),
        ("var", Box::new(|x| stack(&[x, &x.exp()?, &x.square()?], 0)?.square()?.mean())),
        ("silu", Box::new(|x| x.silu()?.mul(&x.sigmoid()?))),
        ("user function", Box::new(|x| Cube.apply(x))),
        ("user functions", Box::new(|x| Exp.apply(&Cube.apply(&x.mul(0.5)?)?)?.mul(&Cube.apply(x)?))),
        ("derived rule", Box::new(|x| Exp.apply(&x.sin()?))),
        ("nested grad", Box::new(|x| grad(|t: &Tensor| t.mul(x)?.sin()?.mul(t))(x))),
        ("nested jvp", Box::new(|x| Ok(jvp(|t: &Tensor| t.mul(x)?.sin()?.mul(t), x, &x.square()?)?.1))),
        (
            "nested vjp",
            Box::new(|x| {
                let (y, pull) = vjp(|t: &Tensor| t.mul(x)?.exp(), x)?;
                pull.call(&y)
            }),
        ),
        (
            "nested vmap",
            Box::new(|x| {
                vmap(|t: &Tensor| Cube.apply(&t.mul(x)?)?.mul(&x.sin()?))(&Tensor::from([1.0, 2.0, 3.0]))?.sum()
            }),
        ),
        (
            "generated batching rule",
            Box::new(|x| {
                vmap(|t: &Tensor| Marked.apply(&(t.mul(x)?, t.sin()?))?.0.mul(x))(&Tensor::from([1.0, 2.0]))?.sum()
            }),
        ),
        (
            "vmap of grad",
            Box::new(|x| {
                vmap(|t: &Tensor| grad(|u: &Tensor| Cube.apply(&u.mul(x)?)?.mul(&u.exp()?))(t))(&Tensor::from([
                    0.5, 1.0,
                ]))?
                .sum()
            }),
        ),
    ];
    for (name, f) in functions {
        let (got, want) = (imperative(&f, 0.7, 3), functional(&f, 0.7));
        for (order, (g, w)) in got.iter().zip(&want).enumerate() {
            assert!((g - w).abs() <= 1e-9 * w.abs().max(1.0), "{name}, order {order}: got {got:?}, want {want:?}");
        }
    }
}

#[test]
fn an_intermediate_saved_in_setup_context_is_differentiated() {
    // Saved as a number, 3x² would make the second derivative 0.
    close(&imperative(&|x| Cube.apply(x), 2.0, 4), &[8.0, 12.0, 12.0, 6.0, 0.0]);
    close(&imperative(&|x| Exp.apply(x), 0.5, 3), &[0.5f64.exp(); 4]);
}

/// x², whose rule reads a number that `setup_context` took out of the input.
#[derive(Clone)]
struct ByNumber;

impl Function for ByNumber {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.square()
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        Ok(Tensor::from(2.0 * x.item::<f64>()?))
    }
    fn backward(&self, _: &Context<Self>, slope: &Tensor, g: Cotangent) -> Result<Cotangent> {
        g.map(|g| g.mul(slope))
    }
}

#[test]
fn a_rule_that_reads_data_is_refused_where_a_derivative_would_be_lost() {
    let x = scalar(3.0);
    let y = ByNumber.apply(&x).unwrap();
    assert_eq!(value(&autograd::grad(&y, &x).unwrap()), 6.0);
    let err = Grad::new().create_graph().of(&y, &x);
    refused(err, ErrorKind::ConcreteValueNeeded, &["setup_context", "ByNumber", "requires_grad"]);
}

/// A rule that may be differentiated once only.
#[derive(Clone)]
struct Once;

impl Function for Once {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;
    fn once_differentiable(&self) -> bool {
        true
    }
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.square()
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        Ok(x.clone())
    }
    fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
        g.map(|g| g.mul(2.0)?.mul(x))
    }
}

#[test]
fn rules_that_are_differentiable_once_say_so_at_second_order() {
    let x = scalar(3.0);
    let first = Grad::new().create_graph().of(&Once.apply(&x).unwrap(), &x).unwrap();
    assert_eq!(value(&first), 6.0);
    let err = autograd::grad(&first, &x).unwrap_err();
    assert!(err.to_string().contains("Once"), "{err}");
}

/// (a + b, a·b), the second output not differentiable.
#[derive(Clone)]
struct Marked;

impl Function for Marked {
    type Inputs = (Tensor, Tensor);
    type Outputs = (Tensor, Tensor);
    type Saved = (Tensor, Tensor);
    fn forward(&self, (a, b): &(Tensor, Tensor)) -> Result<(Tensor, Tensor)> {
        Ok((a.mul(a)?.mul(b)?, a.mul(b)?))
    }
    fn setup_context(
        &self,
        ctx: &mut Context<Self>,
        (a, _): &(Tensor, Tensor),
        (_, product): &(Tensor, Tensor),
    ) -> Result<(Tensor, Tensor)> {
        ctx.mark_non_differentiable(&[1])?;
        Ok((a.clone(), product.clone()))
    }
    fn backward(
        &self,
        _: &Context<Self>,
        (a, product): &(Tensor, Tensor),
        (g, _): (Cotangent, Cotangent),
    ) -> Result<Cotangents<(Tensor, Tensor)>> {
        // A rule that reads an output which is marked: constant for further derivatives, as in the functional transforms.
        Ok((g.map(|g| g.mul(product)?.mul(2.0))?, g.map(|g| g.mul(a)?.mul(a))?))
    }
}

#[test]
fn marked_outputs_and_several_inputs_match_the_functional_transforms() {
    let f = |(a, b): &(Tensor, Tensor)| Marked.apply(&(a.clone(), b.clone()))?.0.mul(&a.sin()?);
    let at = (Tensor::from(2.0), Tensor::from(3.0));
    let first = grad(f)(&at).unwrap();
    let second = grad(|x: &(Tensor, Tensor)| grad(f)(x)?.0.add(&grad(f)(x)?.1))(&at).unwrap();
    let x = autograd::leaf(&at).unwrap();
    let got = Grad::new().create_graph().of(&f(&x).unwrap(), &x).unwrap();
    close(&[value(&got.0), value(&got.1)], &[value(&first.0), value(&first.1)]);
    let (a, b) = autograd::grad(&got, &x).unwrap();
    close(&[value(&a), value(&b)], &[value(&second.0), value(&second.1)]);
}

#[test]
fn functions_from_closures_are_differentiated_twice() {
    let f = custom_vjp(
        |x: &Tensor| x.exp(),
        |x: &Tensor| {
            let y = x.exp()?;
            Ok((y.clone(), y))
        },
        |y: &Tensor, g: Cotangent| g.map(|g| g.mul(y)),
    );
    let call = |x: &Tensor| f(x);
    close(&imperative(&call, 0.3, 3), &[0.3f64.exp(); 4]);
}

#[test]
fn hessian_vector_products_and_penalties() {
    // The gradient penalty: d/dw (df/dx)² for f = sin(w x).
    let (w, x) = (scalar(0.8), scalar(1.5));
    let y = w.mul(&x).unwrap().sin().unwrap();
    let dx = Grad::new().create_graph().of(&y, &x).unwrap();
    dx.square().unwrap().backward().unwrap();
    let (wv, xv) = (0.8f64, 1.5f64);
    let (s, c) = ((wv * xv).sin(), (wv * xv).cos());
    close(&[value(&w.grad().unwrap().unwrap())], &[2.0 * wv * c * (c - wv * xv * s)]);
    // H·v of Σ x³ is 6 x v.
    let x = vector(&[1.0, 2.0, 3.0]);
    let g = Grad::new().create_graph().of(&Cube.apply(&x).unwrap().sum().unwrap(), &x).unwrap();
    let hv = Grad::new().cotangents(&Tensor::from([1.0, 0.5, 2.0])).of(&g, &x).unwrap();
    close(&values(&hv), &[6.0, 6.0, 36.0]);
}

#[test]
fn backward_with_a_graph_accumulates_values_that_can_be_differentiated() {
    let x = scalar(2.0);
    let y = x.square().unwrap().square().unwrap();
    Backward::new().create_graph().run(&y).unwrap();
    let g = x.grad().unwrap().unwrap();
    assert_eq!((value(&g), g.requires_grad()), (32.0, true));
    x.zero_grad().unwrap();
    g.backward().unwrap();
    assert_eq!(value(&x.grad().unwrap().unwrap()), 48.0);
    // Accumulating without a graph gives a constant.
    x.zero_grad().unwrap();
    Backward::new().create_graph().run(&y).unwrap();
    y.backward().unwrap();
    let g = x.grad().unwrap().unwrap();
    assert_eq!((value(&g), g.requires_grad()), (64.0, false));
}

#[test]
fn saved_values_that_are_shared_get_one_graph_each() {
    // x·x with the same array in both places; then an array that is variable in one place and constant in the other.
    let x = vector(&[2.0, 3.0]);
    let fixed = x.detach().unwrap();
    let y = x.mul(&fixed).unwrap().mul(&x).unwrap().sum().unwrap(); // c x², c = x
    let g = Grad::new().create_graph().of(&y, &x).unwrap();
    assert_eq!(values(&g), [8.0, 18.0]);
    let h = autograd::grad(&g.sum().unwrap(), &x).unwrap();
    assert_eq!(values(&h), [4.0, 6.0]); // 2c
}
