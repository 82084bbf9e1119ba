//! Activations made of other operations, and those that take tensors.

use crate::error::bail;
use crate::ops::reduce::to_float;
use crate::ops::table::{ErrorSample, Kink, Naive, Sample, ops, sample_tensor};
use crate::shape::{Shape, resolve_dim};
use crate::{ErrorKind, Result, Tensor};

ops! { OPS;
    /// `x` where it is positive, else `alpha·(exp(x/alpha) - 1)`.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// 1 where `x` is positive, else `exp(x/alpha)`.
    ///
    /// # Errors
    /// `Value` if `alpha` is 0 or no finite number.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([3.0, 0.0, -2000.0]).celu(2.0)?.to_vec::<f64>()?, [3.0, 0.0, -2.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn celu(&self, alpha: f64) -> Result<Tensor> = celu {
        in_place: true, samples: celu_samples, errors: celu_errors,
        python: celu(alpha = 1.0)
    };

    /// `x`, at least `min` and at most `max`.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// That of [`clamp`](Tensor::clamp).
    ///
    /// # Errors
    /// `Value` unless `min` is at most `max`.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([3.0, 0.5, -2.0]).hardtanh(-1.0, 1.0)?.to_vec::<f64>()?, [1.0, 0.5, -1.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn hardtanh(&self, min: f64, max: f64) -> Result<Tensor> = hardtanh {
        in_place: true, samples: hardtanh_samples, errors: hardtanh_errors,
        python: hardtanh(min as min_val = -1.0, max as max_val = 1.0)
    };

    /// `x` where it is larger than `lambda` in size, else 0.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// 1 where `x` is larger than `lambda` in size, else 0.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([3.0, 0.5, -2.0]).hardshrink(1.0)?.to_vec::<f64>()?, [3.0, 0.0, -2.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn hardshrink(&self, lambda: f64) -> Result<Tensor> = hardshrink {
        samples: hardshrink_samples, kinks: hardshrink_kinks,
        python: hardshrink(lambda as lambd = 0.5)
    };

    /// `x` moved towards 0 by `lambda`, and 0 where it is smaller than that in size.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// 1 where `x` is larger than `lambda` in size, else 0.
    ///
    /// # Errors
    /// `Value` if `lambda` is negative or no number.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([3.0, 0.5, -2.0]).softshrink(1.0)?.to_vec::<f64>()?, [2.0, 0.0, -1.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn softshrink(&self, lambda: f64) -> Result<Tensor> = softshrink {
        samples: softshrink_samples, errors: softshrink_errors, kinks: softshrink_kinks,
        python: softshrink(lambda as lambd = 0.5)
    };

    /// `x - tanh(x)`, elementwise.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// `tanh(x)²`.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([0.0, 1000.0]).tanhshrink()?.to_vec::<f64>()?, [0.0, 999.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn tanhshrink(&self) -> Result<Tensor> = tanhshrink { samples: tanhshrink_samples };

    /// `x` where it is larger than `threshold`, else `value`.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// 1 where `x` is larger than `threshold`, else 0.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([3.0, 0.5]).threshold(1.0, -7.0)?.to_vec::<f64>()?, [3.0, -7.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn threshold(&self, threshold: f64, value: f64) -> Result<Tensor> = above { in_place: true, samples: threshold_samples, kinks: threshold_kinks };

    /// The first half along `dim` times the sigmoid of the second.
    ///
    /// # Shapes
    /// That of the tensor with half the size in `dim`.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// That of the product.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Shape` if its size is odd.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([3.0, 5.0, 0.0, 1000.0]).glu(0)?.to_vec::<f64>()?, [1.5, 5.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// Dauphin et al., "Language modeling with gated convolutional networks", 2017.
    fn glu(&self, dim: isize) -> Result<Tensor> = glu {
        samples: glu_samples, errors: glu_errors,
        python: glu(dim = -1)
    };

    /// `x` where it is positive, else `weight·x`, with one weight or one for each channel.
    ///
    /// # Shapes
    /// `[examples, channels, ..]` to the same, with a weight `[channels]`; any shape with a weight `[1]` or `[]`.
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// In `x`, 1 where it is positive, else `weight`; in the weight, the sum of the elements that are not positive.
    ///
    /// # Errors
    /// `Shape` if the weight has another shape.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[3.0, -2.0]]);
    /// assert_eq!(x.prelu(&Tensor::from([0.5, 0.25]))?.to_vec::<f64>()?, [3.0, -0.5]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// He et al., "Delving deep into rectifiers", 2015.
    fn prelu(&self, weight: &Tensor) -> Result<Tensor> = prelu { samples: prelu_samples, errors: prelu_errors };

    /// [`softmax`](Tensor::softmax) of the negative.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// `-y·(t - Σ y·t)` where `y` is the result.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([3.0, 3.0]).softmin(0)?.to_vec::<f64>()?, [0.5, 0.5]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn softmin(&self, dim: isize) -> Result<Tensor> = softmin { samples: softmin_samples, errors: softmin_errors };
}

fn celu(x: &Tensor, alpha: f64) -> Result<Tensor> {
    if alpha == 0.0 || !alpha.is_finite() {
        bail!(Value, "celu: expected an alpha that is not 0, got {alpha}");
    }
    let x = to_float(x)?;
    let positive = x.gt(0)?;
    // What is not chosen must not overflow.
    let below = positive.where_(0.0, &x)?.div(alpha)?.expm1()?.mul(alpha)?;
    positive.where_(&x, &below)
}

fn hardtanh(x: &Tensor, min: f64, max: f64) -> Result<Tensor> {
    if min.is_nan() || max.is_nan() || min > max {
        bail!(Value, "hardtanh: expected min to be at most max, got {min} and {max}");
    }
    to_float(x)?.clamp(Some(min), Some(max))
}

fn hardshrink(x: &Tensor, lambda: f64) -> Result<Tensor> {
    let x = to_float(x)?;
    // NaN is not small.
    x.abs()?.le(lambda)?.where_(0.0, &x)
}

fn softshrink(x: &Tensor, lambda: f64) -> Result<Tensor> {
    if lambda.is_nan() || lambda < 0.0 {
        bail!(Value, "softshrink: expected a lambda that is not negative, got {lambda}");
    }
    let x = to_float(x)?;
    let inner = x.abs()?.le(lambda)?;
    let moved = x.gt(0)?.where_(&x.sub(lambda)?, &x.add(lambda)?)?;
    inner.where_(0.0, &moved)
}

fn tanhshrink(x: &Tensor) -> Result<Tensor> {
    let x = to_float(x)?;
    x.sub(&x.tanh()?)
}

fn above(x: &Tensor, threshold: f64, value: f64) -> Result<Tensor> {
    let x = to_float(x)?;
    x.le(threshold)?.where_(value, &x)
}

fn glu(x: &Tensor, dim: isize) -> Result<Tensor> {
    let k = resolve_dim("glu", dim, x.rank(), x.ty())?;
    let n = x.shape()[k];
    if !n.is_multiple_of(2) {
        bail!(Shape, "glu: expected an even size in dim {dim}, got {}", x.ty());
    }
    let x = to_float(x)?;
    x.narrow(dim, 0, n / 2)?.mul(&x.narrow(dim, (n / 2) as isize, n / 2)?.sigmoid()?)
}

fn prelu(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    let channels = if x.rank() > 1 { x.shape()[1] } else { 1 };
    let mut shape = Shape::from_elem(1, x.rank());
    match weight.shape() {
        [] | [1] => {}
        [n] if *n == channels && x.rank() > 1 => shape[1] = channels,
        _ => bail!(Shape, "prelu: expected a weight of shape [1] or [{channels}] for {}, got {}", x.ty(), weight.ty()),
    }
    let x = to_float(x)?;
    x.gt(0)?.where_(&x, &x.mul(&to_float(weight)?.reshape_to(&shape)?)?)
}

fn softmin(x: &Tensor, dim: isize) -> Result<Tensor> {
    resolve_dim("softmin", dim, x.rank(), x.ty())?;
    to_float(x)?.neg()?.softmax(dim)
}

/// Samples of an elementwise function.
fn samples(
    label: &'static str,
    call: impl Fn(&Tensor) -> Result<Tensor> + Copy + Send + Sync + 'static,
    reference: impl Fn(f64) -> f64 + Copy + Send + Sync + 'static,
) -> Vec<Sample> {
    let shapes: [&[usize]; 4] = [&[7], &[2, 3], &[], &[0, 2]];
    let sample = |shape: &[usize]| {
        Sample::one(format!("{label}, {shape:?}"), [sample_tensor(shape, -2.5, 2.5, 1)], move |x| call(&x[0]))
            .reference(move |x| {
                vec![Naive { shape: x[0].shape.clone(), data: x[0].data.iter().map(|&v| reference(v)).collect() }]
            })
    };
    shapes.map(sample).into()
}

fn kinks(points: &[(f64, f64)], call: impl Fn(&Tensor) -> Result<Tensor> + Copy + Send + Sync + 'static) -> Vec<Kink> {
    let kink = |&(x, slope): &(f64, f64)| Kink::new(format!("{x}"), Tensor::from([x]), [slope], call);
    points.iter().map(kink).collect()
}

fn celu_samples() -> Vec<Sample> {
    let reference = |x: f64, a: f64| x.max(0.0) + (a * ((x / a).exp() - 1.0)).min(0.0);
    let mut all = samples("alpha 1", |x| x.celu(1.0), move |x| reference(x, 1.0));
    all.extend(samples("alpha 0.4", |x| x.celu(0.4), move |x| reference(x, 0.4)));
    all
}

fn celu_errors() -> Vec<ErrorSample> {
    vec![ErrorSample::new("alpha", ErrorKind::Value, "celu: expected an alpha that is not 0, got 0", || {
        Tensor::from([1.0]).celu(0.0)
    })]
}

fn hardtanh_samples() -> Vec<Sample> {
    samples("-1 to 2", |x| x.hardtanh(-1.0, 2.0), |x| x.clamp(-1.0, 2.0))
}

fn hardtanh_errors() -> Vec<ErrorSample> {
    vec![ErrorSample::new("order", ErrorKind::Value, "hardtanh: expected min to be at most max, got 1 and 0", || {
        Tensor::from([1.0]).hardtanh(1.0, 0.0)
    })]
}

fn hardshrink_samples() -> Vec<Sample> {
    samples("0.7", |x| x.hardshrink(0.7), |x| if x.abs() > 0.7 { x } else { 0.0 })
}

fn hardshrink_kinks() -> Vec<Kink> {
    kinks(&[(0.5, 0.0), (-0.5, 0.0)], |x| x.hardshrink(0.5))
}

fn softshrink_samples() -> Vec<Sample> {
    samples("0.7", |x| x.softshrink(0.7), |x| x.signum() * (x.abs() - 0.7).max(0.0))
}

fn softshrink_kinks() -> Vec<Kink> {
    kinks(&[(0.5, 0.0), (-0.5, 0.0)], |x| x.softshrink(0.5))
}

fn softshrink_errors() -> Vec<ErrorSample> {
    vec![ErrorSample::new(
        "lambda",
        ErrorKind::Value,
        "softshrink: expected a lambda that is not negative, got -1",
        || Tensor::from([1.0]).softshrink(-1.0),
    )]
}

fn tanhshrink_samples() -> Vec<Sample> {
    samples("all", Tensor::tanhshrink, |x| x - x.tanh())
}

fn threshold_samples() -> Vec<Sample> {
    samples("0.3, -1", |x| x.threshold(0.3, -1.0), |x| if x > 0.3 { x } else { -1.0 })
}

fn threshold_kinks() -> Vec<Kink> {
    kinks(&[(0.5, 0.0)], |x| x.threshold(0.5, 2.0))
}

fn glu_samples() -> Vec<Sample> {
    let cases: [(&'static [usize], isize, usize); 4] =
        [(&[6], 0, 0), (&[2, 4], -1, 1), (&[4, 2, 3], 0, 0), (&[0, 2], 0, 0)];
    cases
        .map(|(shape, dim, at)| {
            Sample::one(format!("dim {dim} of {shape:?}"), [sample_tensor(shape, -2.0, 2.0, 1)], move |x| x[0].glu(dim))
                .reference(move |x| {
                    let mut half = x[0].shape.clone();
                    half[at] /= 2;
                    vec![Naive::from_fn(&half, |i| {
                        let mut gate = i.to_vec();
                        gate[at] += half[at];
                        x[0].at(i) / (1.0 + (-x[0].at(&gate)).exp())
                    })]
                })
        })
        .into()
}

fn glu_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    let y = x.clone();
    vec![
        ErrorSample::new("odd", ErrorKind::Shape, "glu: expected an even size in dim 1, got f64[2,3]", move || {
            x.glu(1)
        }),
        ErrorSample::new("dim", ErrorKind::Dim, "glu: dim 2 is out of range for f64[2,3]", move || y.glu(2)),
    ]
}

fn prelu_samples() -> Vec<Sample> {
    let cases: [(&'static [usize], &'static [usize]); 5] =
        [(&[2, 3, 2], &[3]), (&[4], &[1]), (&[2, 3], &[]), (&[], &[1]), (&[0, 2], &[2])];
    cases
        .map(|(shape, weight)| {
            let inputs = [sample_tensor(shape, -2.0, 2.0, 1), sample_tensor(weight, -1.0, 1.0, 2)];
            Sample::one(format!("{shape:?}, weight {weight:?}"), inputs, |x| x[0].prelu(&x[1])).reference(|x| {
                vec![Naive::from_fn(&x[0].shape, |i| {
                    let weight = if x[1].data.len() == 1 { x[1].data[0] } else { x[1].data[i[1]] };
                    if x[0].at(i) > 0.0 { x[0].at(i) } else { weight * x[0].at(i) }
                })]
            })
        })
        .into()
}

fn prelu_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    let message = "prelu: expected a weight of shape [1] or [3] for f64[2,3], got f64[2]";
    vec![ErrorSample::new("weight", ErrorKind::Shape, message, move || x.prelu(&Tensor::from([1.0, 2.0])))]
}

fn softmin_samples() -> Vec<Sample> {
    let case = |shape: &'static [usize]| {
        Sample::one(format!("{shape:?}"), [sample_tensor(shape, -2.0, 2.0, 1)], |x| x[0].softmin(-1)).reference(|x| {
            let n = *x[0].shape.last().expect("a dimension");
            let rows = x[0].data.chunks(n.max(1)).flat_map(|row| {
                let total: f64 = row.iter().map(|v| (-v).exp()).sum();
                row.iter().map(move |v| (-v).exp() / total)
            });
            vec![Naive { shape: x[0].shape.clone(), data: rows.collect() }]
        })
    };
    vec![case(&[4]), case(&[2, 3]), case(&[0, 3])]
}

fn softmin_errors() -> Vec<ErrorSample> {
    vec![ErrorSample::new("dim", ErrorKind::Dim, "softmin: dim 1 is out of range for f64[1]", || {
        Tensor::from([1.0]).softmin(1)
    })]
}
