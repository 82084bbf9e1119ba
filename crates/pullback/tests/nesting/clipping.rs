//! Rules that are not linear in the cotangent see that of one lane at a time, whatever is nested around and inside.

use pullback::{Context, Cotangent, Function, Result, Tangent, Tensor, Vmap, grad, jvp, vmap};

use super::modes::number;

/// The identity, whose cotangent is clipped to one half.
#[derive(Clone)]
struct Clip;

impl Function for Clip {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = ();

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.mul(1.0)
    }
    fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
        Ok(())
    }
    fn backward(&self, _: &Context<Self>, _: &(), g: Cotangent) -> Result<Cotangent> {
        g.map(|g| g.clamp(Some(-0.5), Some(0.5)))
    }
    fn jvp(&self, _: &Context<Self>, _: &(), t: Tangent) -> Result<Tangent> {
        Ok(t)
    }
}

/// The sum of `f(x)` over three lanes, of which none has an input of its own: a loop clips three times.
fn three_times(f: impl Fn(&Tensor) -> Result<Tensor>, x: &Tensor) -> Result<Tensor> {
    Vmap::new().in_dims(None).batch_size(3).of(f)(x)?.sum_dims(&[0], false)
}

fn value_under_jvp(x: &Tensor) -> Result<Tensor> {
    Ok(jvp(|x: &Tensor| Clip.apply(x), x, &Tensor::ones(x.shape(), x.dtype())?)?.0)
}

#[test]
fn lanes_without_inputs_of_their_own() {
    let x = Tensor::from(1.0);
    assert_eq!(number(&grad(|x: &Tensor| three_times(|x| Clip.apply(x), x))(&x).unwrap()), 1.5);
    assert_eq!(number(&grad(|x: &Tensor| three_times(|x| three_times(|x| Clip.apply(x), x), x))(&x).unwrap()), 4.5);
    // Outside of the lanes the sum is clipped once.
    assert_eq!(number(&grad(|x: &Tensor| three_times(|x| x.mul(1.0), &Clip.apply(x)?))(&x).unwrap()), 0.5);
}

#[test]
fn lanes_around_forward_mode() {
    let x = Tensor::from(1.0);
    assert_eq!(number(&grad(|x: &Tensor| three_times(value_under_jvp, x))(&x).unwrap()), 1.5);
    let outside = |x: &Tensor| Ok(jvp(|x: &Tensor| three_times(|x| Clip.apply(x), x), x, &Tensor::from(1.0))?.0);
    assert_eq!(number(&grad(outside)(&x).unwrap()), 1.5);
}

#[test]
fn lanes_inside_of_lanes_with_inputs() {
    let xs = Tensor::from([1.0, 2.0]);
    let f = |x: &Tensor| three_times(|x| Clip.apply(x), x);
    let through = grad(|xs: &Tensor| vmap(f)(xs)?.sum())(&xs).unwrap();
    assert_eq!(through.to_vec::<f64>().unwrap(), [1.5, 1.5]);
    assert_eq!(vmap(grad(f))(&xs).unwrap().to_vec::<f64>().unwrap(), [1.5, 1.5]);
    let under = grad(|xs: &Tensor| vmap(|x: &Tensor| three_times(value_under_jvp, x))(xs)?.sum())(&xs).unwrap();
    assert_eq!(under.to_vec::<f64>().unwrap(), [1.5, 1.5]);
}
