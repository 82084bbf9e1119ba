//! Anomaly mode: where a NaN was born.

use pullback::autograd::{self, Anomaly, Backward, detect_anomaly};
use pullback::{
    Context, Cotangent, ErrorKind, Function, Result, Tensor, Vmap, checkpoint, grad, jacrev, value_and_grad, vjp, vmap,
};

use crate::{close, grad_of, refused, scalar, values, vector};

/// The line on which this is called, as messages write it.
#[track_caller]
fn line(offset: u32) -> String {
    format!("anomaly.rs:{}", std::panic::Location::caller().line() + offset)
}

#[test]
fn c114_the_operation_the_pass_and_the_lane_are_named() {
    let f = |(x, y): &(Tensor, Tensor)| x.mul(y)?.exp()?.add(1.0)?.log();
    let one = |x: &(Tensor, Tensor)| Ok(grad(f)(x)?.0);
    let args = (Tensor::from(2.0), Tensor::from([1.0, 500.0]));
    let per_lane = Vmap::new().in_dims((None, 0)).of(one);
    let plain = values(&per_lane(&args).unwrap());
    close(&plain[..1], &[0.880797078]);
    assert!(plain[1].is_nan());
    let _guard = detect_anomaly();
    let parts = ["vmap > grad", "the backward of `exp` made NaN", "input 0", "f64[]", "lane 1", "anomaly.rs:"];
    refused(per_lane(&args), ErrorKind::Anomaly, &parts);
    // The stable way is no anomaly.
    let stable = |(x, y): &(Tensor, Tensor)| x.mul(y)?.softplus();
    let one = |x: &(Tensor, Tensor)| Ok(grad(stable)(x)?.0);
    close(&values(&Vmap::new().in_dims((None, 0)).of(one)(&args).unwrap()), &[0.880797078, 500.0]);
}

#[test]
fn lanes_of_nested_vmaps_are_named_from_the_outside() {
    let _guard = detect_anomaly();
    let x = Tensor::from([[[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0], [1.0, 0.0]]]);
    let f = |x: &Tensor| x.sqrt()?.mul(&x.detach()?)?.sum();
    refused(vmap(vmap(grad(f)))(&x), ErrorKind::Anomaly, &["`sqrt`", "f64[2] at [1], lanes [1, 2]"]);
    // Whatever dims the lanes lie along.
    let other = Vmap::new().in_dims(2).of(Vmap::new().in_dims(1).of(grad(f)));
    refused(other(&x), ErrorKind::Anomaly, &["f64[2] at [1], lanes [1, 2]"]);
    let turned = x.permute(&[2, 0, 1]).unwrap();
    let inner_first = Vmap::new().in_dims(2).of(Vmap::new().in_dims(1).of(grad(f)));
    refused(inner_first(&turned), ErrorKind::Anomaly, &["f64[2] at [1], lanes [2, 1]"]);
}

#[test]
fn c115_the_branch_not_taken_is_named_unless_it_is_masked_out() {
    let _guard = detect_anomaly();
    let x = Tensor::from([0.0, 2.0, 3.0]);
    let plain = |x: &Tensor| x.gt(&Tensor::from(2.0))?.where_(&x.log2()?, &x.mul(2.0)?)?.sum();
    refused(grad(plain)(&x), ErrorKind::Anomaly, &["`log2`", "NaN", "[0]"]);
    // The inner where masks the bad derivative: no complaint, although a backward made NaN on the way.
    let safe = |x: &Tensor| {
        let big = x.gt(&Tensor::from(2.0))?;
        big.where_(&big.where_(x, &x.zeros_like()?)?.log2()?, &x.mul(2.0)?)?.sum()
    };
    close(&values(&grad(safe)(&x).unwrap()), &[2.0, 2.0, 0.480898347]);
    // NaN in values that are masked out is none of its business either.
    let values_only = |x: &Tensor| x.gt(&Tensor::from(0.0))?.where_(x, &x.sub(10.0)?.log()?.detach()?)?.sum();
    close(&values(&grad(values_only)(&x).unwrap()), &[0.0, 1.0, 1.0]);
}

#[test]
fn the_place_is_the_line_that_called_the_operation() {
    let _guard = detect_anomaly();
    let x = vector(&[1.0, 0.0]);
    let bad = line(1);
    let y = x.sqrt().unwrap();
    let y = y.mul(&Tensor::from([1.0, 0.0])).unwrap();
    refused(y.sum().unwrap().backward(), ErrorKind::Anomaly, &["`sqrt`", "[1]", &bad, "the_place_is_the_line"]);
    assert!(x.grad().unwrap().is_none(), "nothing accumulates");
}

#[test]
fn a_nan_that_was_born_in_a_forward_is_traced_to_it() {
    let _guard = detect_anomaly();
    let x = scalar(-1.0);
    let born = line(1);
    let y = x.log().unwrap();
    // The backward of `mul` is the first that reads it.
    let z = y.mul(&x).unwrap().exp().unwrap();
    let parts = ["the NaN was born before, in the forward of `log`", &born];
    refused(z.backward(), ErrorKind::Anomaly, &parts);
    // A NaN in the data was born nowhere.
    let given = Tensor::from(f64::NAN).mul(&x).unwrap();
    let err = given.square().unwrap().backward().unwrap_err();
    assert_eq!(err.kind(), ErrorKind::Anomaly);
    assert!(!err.to_string().contains("born before"), "{err}");
    // Nor one in a cotangent.
    let err = Backward::new().cotangents(&Tensor::from(f64::NAN)).run(&x.exp().unwrap());
    refused(err, ErrorKind::Anomaly, &["cotangents given"]);
}

/// The identity, whose backward divides zero by zero.
#[derive(Clone)]
struct Broken;

impl Function for Broken {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = ();
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.mul(1.0)
    }
    fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
        Ok(())
    }
    fn backward(&self, _: &Context<Self>, (): &(), g: Cotangent) -> Result<Cotangent> {
        g.map(|g| g.sub(g)?.div(&g.sub(g)?))
    }
}

#[test]
fn functions_of_users_are_named_in_every_transform() {
    let f = |x: &Tensor| Broken.apply(&x.exp()?)?.sin()?.sum();
    let x = Tensor::from([0.5, 0.25]);
    let _guard = detect_anomaly();
    let named = |result: Result<Tensor>, place: &str| {
        refused(result, ErrorKind::Anomaly, &[place, "the backward of `Broken` made NaN", "anomaly.rs:"]);
    };
    named(grad(f)(&x), "grad: ");
    named(value_and_grad(f)(&x).map(|v| v.1), "value_and_grad: ");
    named(jacrev(f)(&x), "jacrev: ");
    named(vjp(f, &x).and_then(|(_, pull)| pull.call(&Tensor::from(1.0))), "vjp: ");
    named(vmap(grad(f))(&x.unsqueeze(0).unwrap()), "vmap > grad: ");
    named(f(&autograd::leaf(&x).unwrap()).and_then(|y| y.backward()).map(|()| x.clone()), "");
    named(
        autograd::grad(&f(&autograd::leaf(&x).unwrap()).unwrap(), &autograd::leaf(&x).unwrap()).or_else(|_| {
            let x = autograd::leaf(&x)?;
            autograd::grad(&f(&x)?, &x)
        }),
        "",
    );
}

#[test]
fn infinities_only_if_asked_for() {
    let x = Tensor::from([4.0, 0.0]);
    let f = |x: &Tensor| x.sqrt()?.sum();
    {
        let _guard = detect_anomaly();
        assert_eq!(values(&grad(f)(&x).unwrap()), [0.25, f64::INFINITY]);
    }
    let _guard = Anomaly::new().infinities().enter();
    refused(grad(f)(&x), ErrorKind::Anomaly, &["`sqrt` made inf", "[1]"]);
    {
        let _off = Anomaly::off();
        assert_eq!(values(&grad(f)(&x).unwrap()), [0.25, f64::INFINITY]);
        let _inner = detect_anomaly();
        assert_eq!(values(&grad(f)(&x).unwrap()), [0.25, f64::INFINITY]);
    }
    assert!(grad(f)(&x).is_err(), "inner scopes end");
}

#[test]
fn it_changes_no_number_and_ends_with_its_guard() {
    let f = |x: &Tensor| x.sin()?.mul(&x.exp()?)?.sum();
    let x = Tensor::from([0.5, 1.5]);
    let plain = values(&grad(grad_sum(f))(&x).unwrap());
    let leaf = autograd::leaf(&x).unwrap();
    let y = {
        let _guard = detect_anomaly();
        assert_eq!(values(&grad(grad_sum(f))(&x).unwrap()), plain);
        let y = f(&leaf).unwrap();
        y.backward().unwrap();
        y
    };
    // What was recorded while it was on is walked as ever.
    y.backward().unwrap();
    let want: Vec<f64> = values(&grad(f)(&x).unwrap()).iter().map(|g| 2.0 * g).collect();
    close(&grad_of(&leaf), &want);
    let (_, pull) = {
        let _guard = detect_anomaly();
        vjp(f, &x).unwrap()
    };
    close(&values(&pull.call(&Tensor::from(2.0)).unwrap()), &want);
    // Turned on only for the walk, it cannot know where the forward ran.
    let bad = autograd::leaf(&Tensor::from(0.0)).unwrap();
    let y = bad.sqrt().unwrap().mul(0.0).unwrap();
    let _guard = detect_anomaly();
    let (_, pull) = {
        let _off = Anomaly::off();
        vjp(|x: &Tensor| x.sqrt()?.mul(0.0), &Tensor::from(0.0)).unwrap()
    };
    refused(pull.call(&Tensor::from(1.0)), ErrorKind::Anomaly, &["`sqrt`", "turn anomaly mode on before"]);
    refused(y.backward(), ErrorKind::Anomaly, &["`sqrt`", "turn anomaly mode on before"]);
}

#[test]
fn a_nan_that_is_a_sum_of_infinities_is_traced_in_two_steps() {
    let f = |x: &Tensor| x.sub(x)?.sqrt();
    let x = Tensor::from(0.5);
    let again = checkpoint(f);
    let _guard = detect_anomaly();
    for slope in [grad(f)(&x), grad(&again)(&x)] {
        refused(slope, ErrorKind::Anomaly, &["NaN in a gradient", "a sum of infinities", "`Anomaly::infinities`"]);
    }
    let _guard = Anomaly::new().infinities().enter();
    for slope in [grad(f)(&x), grad(&again)(&x)] {
        refused(slope, ErrorKind::Anomaly, &["the backward of `sqrt` made inf"]);
    }
}

fn grad_sum(f: impl Fn(&Tensor) -> Result<Tensor>) -> impl Fn(&Tensor) -> Result<Tensor> {
    move |x| grad(&f)(x)?.sum()
}
