//! Running products, extremes, and logarithms of sums of exponentials.

use std::fmt;

use smallvec::smallvec;

use super::discrete::{Discrete, discrete};
use super::family::{adjoint, apply1, vmap_front};
use super::join::cat;
use super::reduce::to_float;
use super::shape::slice;
use super::table::{ErrorSample, Kink, Naive, Sample, ops, sample_tensor};
use crate::array::Array;
use crate::function::op::{Batched, Cotangents, Op, Tangents};
use crate::function::{Cotangent, OpRef, Outs, Saved, Tangent, VmapInfo};
use crate::interp::{batch, bind};
use crate::kernels::half::widened;
use crate::kernels::running as kernel;
use crate::shape::{resolve_dim, with_dim, without_dim};
use crate::{DType, ErrorKind, Result, Tensor};

ops! { OPS;
    /// The running product along `dim`: element `k` is the product of the elements up to and including `k`.
    ///
    /// Floats are accumulated in `f64`, complex numbers in `c128`.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// All; integers and bools multiply as `i64`, wrapping on overflow.
    ///
    /// # Derivative
    /// The products of the other elements. Nothing is divided, so that they are right where elements are 0, however many
    /// and in every order, and they take one pass.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, grad};
    /// let x = Tensor::from([2.0, 0.0, 4.0]);
    /// assert_eq!(Tensor::from([1.0, 2.0, 3.0]).cumprod(0)?.to_vec::<f64>()?, [1.0, 2.0, 6.0]);
    /// assert_eq!(grad(|x: &Tensor| x.cumprod(0)?.sum())(&x)?.to_vec::<f64>()?, [1.0, 10.0, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn cumprod(&self, dim: isize) -> Result<Tensor> = cumprod {
        in_place: true, samples: cumprod_samples, errors: cumprod_errors, kinks: cumprod_kinks,
        python: cumprod(dim, dtype)
    };

    /// The logarithm of the running sum of exponentials along `dim`: element `k` is `log(exp(x[0]) + … + exp(x[k]))`.
    ///
    /// Each is computed relative to the largest element so far, so that nothing overflows. It is `-∞` as long as all
    /// elements are.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// `exp(x[i] - y[k])` of result `k` by element `i`, for `i` up to `k`; 0 by elements that are `-∞`, and NaN where the
    /// result is `∞`.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let y = Tensor::from([1000.0, 1000.0]).logcumsumexp(0)?;
    /// assert_eq!(y.to_vec::<f64>()?, [1000.0, 1000.0 + 2f64.ln()]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn logcumsumexp(&self, dim: isize) -> Result<Tensor> = logcumsumexp {
        samples: logcumsumexp_samples, errors: logcumsumexp_errors, kinks: logcumsumexp_kinks
    };

    /// The largest element up to each one along `dim`, and its position, as `i64`; NaN from the first NaN on.
    ///
    /// Of equal elements the last counts.
    ///
    /// # Shapes
    /// Both results have that of the tensor.
    ///
    /// # Dtypes
    /// All; `true` is larger than `false`.
    ///
    /// # Derivative
    /// Tangents and cotangents move with the elements; of those that tie, the one at the position that is returned.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (values, indices) = Tensor::from([1.0, 3.0, 2.0, 3.0]).cummax(0)?;
    /// assert_eq!(values.to_vec::<f64>()?, [1.0, 3.0, 3.0, 3.0]);
    /// assert_eq!(indices.to_vec::<i64>()?, [0, 1, 1, 3]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn cummax(&self, dim: isize) -> Result<(Tensor, Tensor)> = cummax {
        samples: cummax_samples, errors: cummax_errors, kinks: cummax_kinks,
        python: cummax(dim) -> (values, indices)
    };

    /// The smallest element up to each one along `dim`, and its position, as `i64`; NaN from the first NaN on.
    ///
    /// Of equal elements the last counts.
    ///
    /// # Shapes
    /// Both results have that of the tensor.
    ///
    /// # Dtypes
    /// All; `false` is smaller than `true`.
    ///
    /// # Derivative
    /// Tangents and cotangents move with the elements; of those that tie, the one at the position that is returned.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (values, indices) = Tensor::from([3.0, 1.0, 2.0, 1.0]).cummin(0)?;
    /// assert_eq!(values.to_vec::<f64>()?, [3.0, 1.0, 1.0, 1.0]);
    /// assert_eq!(indices.to_vec::<i64>()?, [0, 1, 1, 3]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn cummin(&self, dim: isize) -> Result<(Tensor, Tensor)> = cummin {
        samples: cummin_samples, errors: cummin_errors, kinks: cummin_kinks,
        python: cummin(dim) -> (values, indices)
    };
}

/// The elements one place further on along `dim`, or one place back, and `fill` at the end that becomes free.
fn shift(x: &Tensor, dim: usize, back: bool, fill: f64) -> Result<Tensor> {
    let n = x.shape()[dim];
    if n == 0 {
        return Ok(x.clone());
    }
    let end = Tensor::full(&with_dim(&without_dim(x.shape(), dim), dim, 1), fill, x.dtype())?;
    let rest = slice(x, dim, usize::from(back), n - 1, 1)?;
    if back { cat(&[&rest, &end], dim as isize) } else { cat(&[&end, &rest], dim as isize) }
}

/// `h[k] = a[k] h[k - 1] + b[k]` for inputs `a` and `b`, or from the other end. Its derivatives are recurrences as well, so
/// that all that is made of it is differentiated any number of times, each time in one pass.
#[derive(Debug)]
struct Recurrence {
    dim: usize,
    reverse: bool,
}

impl Recurrence {
    fn apply(self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        apply1(self, &[a, b])
    }

    /// What each element of the result came from.
    fn before(&self, h: &Tensor) -> Result<Tensor> {
        shift(h, self.dim, self.reverse, 0.0)
    }

    /// The transpose in `b`.
    fn transpose(&self, a: &Tensor, g: &Tensor) -> Result<Tensor> {
        let (dim, reverse) = (self.dim, !self.reverse);
        Recurrence { dim, reverse }.apply(&shift(a, dim, reverse, 0.0)?, g)
    }
}

impl Op for Recurrence {
    fn name(&self) -> &str {
        "recurrence"
    }
    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let [a, b] = [inputs[0].concrete(), inputs[1].concrete()];
        Ok(smallvec![widened([a, b], |[a, b]| kernel::recurrence(a, b, self.dim, self.reverse))?.into()])
    }
    fn save(&self, _: &[bool], inputs: &[&Tensor], outputs: &[Tensor]) -> Result<Saved> {
        Ok(Saved::tensors([inputs[0], &outputs[0]]))
    }
    fn backward(&self, saved: &Saved, needs: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        let of_b = |g: &Tensor| self.transpose(&saved.tensors[0], g);
        let of_a = |g: &Tensor| of_b(g)?.mul(self.before(&saved.tensors[1])?);
        if needs[0] && needs[1] && !saved.tensors[0].dtype().is_complex() {
            let of_b = grads[0].map(of_b)?;
            return Ok(smallvec![of_b.map(|g| g.mul(self.before(&saved.tensors[1])?))?, of_b]);
        }
        let found = |needed: bool, f: &dyn Fn(&Tensor) -> Result<Tensor>| match needed {
            true => grads[0].map(|g| adjoint(true, g, f)),
            false => Ok(Cotangent::zero()),
        };
        Ok(smallvec![found(needs[0], &of_a)?, found(needs[1], &of_b)?])
    }
    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        let of_a = tangents[0].map(|t| t.mul(self.before(&saved.tensors[1])?))?;
        let sum = of_a.plus(tangents[1].clone())?;
        Ok(smallvec![sum.map(|t| Recurrence { ..*self }.apply(&saved.tensors[0], t))?])
    }
    fn vmap(&self, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        let a = batch::materialize(inputs[0], dims[0], info.batch_size)?;
        let b = batch::materialize(inputs[1], dims[1], info.batch_size)?;
        let op = Recurrence { dim: self.dim + 1, reverse: self.reverse };
        Ok((bind(&OpRef::new(op), &[&a, &b])?, smallvec![Some(0)]))
    }
}

/// A running function whose tangent is a recurrence: `t[k] = factor[k] t[k - 1] + weight[k] d[k]` for a tangent `d`.
trait Running: Clone + Send + Sync + 'static {
    const NAME: &'static str;
    fn kernel(x: &Array, dim: usize) -> Result<Array>;
    /// Factor and weight, from input and output.
    fn coefficients(x: &Tensor, y: &Tensor, dim: usize) -> Result<(Tensor, Tensor)>;
}

/// A [`Running`] as an operation.
struct RunningOp<K> {
    kind: K,
    dim: usize,
}

impl<K> fmt::Debug for RunningOp<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningOp").field("dim", &self.dim).finish()
    }
}

impl<K: Running> Op for RunningOp<K> {
    fn name(&self) -> &str {
        K::NAME
    }
    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        Ok(smallvec![widened([inputs[0].concrete()], |[x]| K::kernel(x, self.dim))?.into()])
    }
    fn save(&self, _: &[bool], inputs: &[&Tensor], outputs: &[Tensor]) -> Result<Saved> {
        Ok(Saved::tensors([inputs[0], &outputs[0]]))
    }
    fn backward(&self, saved: &Saved, _: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        let found = grads[0].map(|g| {
            let (factor, weight) = K::coefficients(&saved.tensors[0], &saved.tensors[1], self.dim)?;
            adjoint(true, g, |g| Recurrence { dim: self.dim, reverse: false }.transpose(&factor, g)?.mul(&weight))
        });
        Ok(smallvec![found?])
    }
    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        let found = tangents[0].map(|t| {
            let (factor, weight) = K::coefficients(&saved.tensors[0], &saved.tensors[1], self.dim)?;
            Recurrence { dim: self.dim, reverse: false }.apply(&factor, &weight.mul(t)?)
        });
        Ok(smallvec![found?])
    }
    fn vmap(&self, _: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        vmap_front(&OpRef::new(RunningOp { kind: self.kind.clone(), dim: self.dim + 1 }), dims, inputs)
    }
}

#[derive(Clone)]
struct CumProd;

impl Running for CumProd {
    const NAME: &'static str = "cumprod";
    fn kernel(x: &Array, dim: usize) -> Result<Array> {
        kernel::cumprod(x, dim)
    }
    fn coefficients(x: &Tensor, y: &Tensor, dim: usize) -> Result<(Tensor, Tensor)> {
        Ok((x.clone(), shift(y, dim, false, 1.0)?))
    }
}

#[derive(Clone)]
struct LogCumSumExp;

impl Running for LogCumSumExp {
    const NAME: &'static str = "logcumsumexp";
    fn kernel(x: &Array, dim: usize) -> Result<Array> {
        kernel::logcumsumexp(x, dim)
    }
    // Shares of the sum: both are at most 1.
    fn coefficients(x: &Tensor, y: &Tensor, dim: usize) -> Result<(Tensor, Tensor)> {
        let share = |part: &Tensor| {
            let none = part.eq(f64::NEG_INFINITY)?;
            // Without the choice it is NaN where the sum is also that of nothing.
            none.where_(f64::NEG_INFINITY, part.sub(y)?)?.exp()
        };
        Ok((share(&shift(y, dim, false, f64::NEG_INFINITY)?)?, share(x)?))
    }
}

fn cumprod(x: &Tensor, dim: isize) -> Result<Tensor> {
    let dim = resolve_dim("cumprod", dim, x.rank(), x.ty())?;
    let x = if x.dtype().is_differentiable() { x.clone() } else { x.to_dtype(DType::I64)? };
    apply1(RunningOp { kind: CumProd, dim }, &[&x])
}

fn logcumsumexp(x: &Tensor, dim: isize) -> Result<Tensor> {
    let dim = resolve_dim("logcumsumexp", dim, x.rank(), x.ty())?;
    apply1(RunningOp { kind: LogCumSumExp, dim }, &[&to_float(x)?])
}

/// Where the largest or smallest element so far is.
#[derive(Clone, Debug)]
struct RunningArg {
    dim: usize,
    largest: bool,
}

impl Discrete for RunningArg {
    const NAME: &'static str = "cummax";
    fn kernel(&self, x: &Array) -> Result<Array> {
        kernel::running_extreme(x, self.dim, self.largest)
    }
    fn batched(&self) -> RunningArg {
        RunningArg { dim: self.dim + 1, ..self.clone() }
    }
}

fn running_extreme(op: &str, x: &Tensor, dim: isize, largest: bool) -> Result<(Tensor, Tensor)> {
    let dim = resolve_dim(op, dim, x.rank(), x.ty())?;
    let places = discrete(RunningArg { dim, largest }, x)?;
    Ok((x.gather(dim as isize, &places)?, places))
}

fn cummax(x: &Tensor, dim: isize) -> Result<(Tensor, Tensor)> {
    running_extreme("cummax", x, dim, true)
}

fn cummin(x: &Tensor, dim: isize) -> Result<(Tensor, Tensor)> {
    running_extreme("cummin", x, dim, false)
}

const CASES: &[(&[usize], isize, usize)] = &[
    (&[4], 0, 0),
    (&[2, 3], -1, 1),
    (&[3, 2], 0, 0),
    (&[2, 3, 2], 1, 1),
    (&[1], 0, 0),
    (&[0, 2], 1, 1),
    (&[2, 0], 1, 1),
];

/// `f` of the elements up to each one along `dim`.
fn naive_running(x: &Naive, dim: usize, f: impl Fn(&[f64]) -> f64) -> Naive {
    Naive::from_fn(&x.shape, |i| {
        let mut other = i.to_vec();
        let up_to: Vec<f64> = (0..=i[dim])
            .map(|k| {
                other[dim] = k;
                x.at(&other)
            })
            .collect();
        f(&up_to)
    })
}

fn running_samples(call: fn(&Tensor, isize) -> Result<Tensor>, reference: fn(&[f64]) -> f64) -> Vec<Sample> {
    let case = |&(shape, dim, resolved): &(&'static [usize], isize, usize)| {
        let label = format!("dim {dim} of {shape:?}");
        Sample::one(label, [sample_tensor(shape, -1.5, 1.5, 1)], move |x| call(&x[0], dim))
            .reference(move |x| vec![naive_running(&x[0], resolved, reference)])
    };
    CASES.iter().map(case).collect()
}

fn dim_errors(call: fn(&Tensor) -> Result<Tensor>) -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![ErrorSample::new("dim", ErrorKind::Dim, "dim -3 is out of range for f64[2,3] (valid: -2..=1)", move || {
        call(&x)
    })]
}

fn product(x: &[f64]) -> f64 {
    x.iter().product()
}

fn cumprod_samples() -> Vec<Sample> {
    let mut samples = running_samples(Tensor::cumprod, product);
    samples.push(
        Sample::one("zeros", [Tensor::from([[2.0, 0.0, 3.0, 4.0], [5.0, 0.0, 0.0, 0.5]])], |x| x[0].cumprod(1))
            .reference(|x| vec![naive_running(&x[0], 1, product)]),
    );
    samples
}

fn cumprod_errors() -> Vec<ErrorSample> {
    dim_errors(|x| x.cumprod(-3))
}

fn cumprod_kinks() -> Vec<Kink> {
    let last = |x: &Tensor| x.cumprod(0)?.select(0, -1);
    vec![
        Kink::new("one zero", Tensor::from([2.0, 0.0, 3.0, 4.0]), [0.0, 24.0, 0.0, 0.0], last),
        Kink::new("two zeros", Tensor::from([2.0, 3.0, 0.0, 0.0]), [0.0; 4], last),
    ]
}

fn logcumsumexp_samples() -> Vec<Sample> {
    fn naive(x: &[f64]) -> f64 {
        let largest = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if largest.is_infinite() {
            return largest;
        }
        largest + x.iter().map(|v| (v - largest).exp()).sum::<f64>().ln()
    }
    let mut samples = running_samples(Tensor::logcumsumexp, naive);
    let far = Tensor::from([[-800.0, -790.0, 0.0, 700.0, -20.0], [900.0, 890.0, 901.0, 0.0, 905.0]]);
    let from_nothing = Tensor::from([f64::NEG_INFINITY, f64::NEG_INFINITY, 1.0, f64::NEG_INFINITY, f64::INFINITY]);
    samples.push(
        Sample::one("far apart", [far], |x| x[0].logcumsumexp(1))
            .reference(|x| vec![naive_running(&x[0], 1, naive)])
            // Differences lose all digits there.
            .not_differentiable(),
    );
    samples.push(
        Sample::one("infinities", [from_nothing], |x| x[0].logcumsumexp(0))
            .reference(|x| vec![naive_running(&x[0], 0, naive)])
            .special(),
    );
    samples
}

fn logcumsumexp_errors() -> Vec<ErrorSample> {
    dim_errors(|x| x.logcumsumexp(-3))
}

fn logcumsumexp_kinks() -> Vec<Kink> {
    let x = Tensor::from([f64::NEG_INFINITY, f64::NEG_INFINITY, 0.0, f64::NEG_INFINITY, 0.0]);
    vec![Kink::new("-∞", x, [0.0, 0.0, 2.5, 0.0, 0.5], |x| x.logcumsumexp(0))]
}

/// Value and position of the last of the elements that none is better than.
fn naive_extreme(x: &[f64], better: fn(f64, f64) -> bool) -> (f64, f64) {
    let mut best = 0;
    for k in 1..x.len() {
        if x[k].is_nan() || !(x[best].is_nan() || better(x[best], x[k])) {
            best = k;
        }
    }
    (x[best], best as f64)
}

fn extreme_samples(call: fn(&Tensor, isize) -> Result<(Tensor, Tensor)>, better: fn(f64, f64) -> bool) -> Vec<Sample> {
    let both = move |x: &Tensor, dim| call(x, dim).map(|(values, places)| vec![values, places]);
    let reference = move |x: &Naive, dim| {
        vec![
            naive_running(x, dim, |x| naive_extreme(x, better).0),
            naive_running(x, dim, |x| naive_extreme(x, better).1),
        ]
    };
    let case = |&(shape, dim, resolved): &(&'static [usize], isize, usize)| {
        let label = format!("dim {dim} of {shape:?}");
        Sample::new(label, [sample_tensor(shape, -1.5, 1.5, 1)], move |x| both(&x[0], dim))
            .reference(move |x| reference(&x[0], resolved))
    };
    let mut samples: Vec<Sample> = CASES.iter().map(case).collect();
    let ties = Tensor::from([2.0, 1.0, 2.0, 1.0, 3.0, 3.0]);
    samples.push(
        Sample::new("ties", [ties], move |x| both(&x[0], 0))
            .reference(move |x| reference(&x[0], 0))
            .not_differentiable(),
    );
    let holes = Tensor::from([1.0, f64::NAN, 2.0, f64::NAN, 0.0]);
    samples
        .push(Sample::new("NaN", [holes], move |x| both(&x[0], 0)).reference(move |x| reference(&x[0], 0)).special());
    samples
}

fn cummax_samples() -> Vec<Sample> {
    extreme_samples(Tensor::cummax, |a, b| a > b)
}

fn cummin_samples() -> Vec<Sample> {
    extreme_samples(Tensor::cummin, |a, b| a < b)
}

fn cummax_errors() -> Vec<ErrorSample> {
    dim_errors(|x| Ok(x.cummax(-3)?.0))
}

fn cummin_errors() -> Vec<ErrorSample> {
    dim_errors(|x| Ok(x.cummin(-3)?.0))
}

fn cummax_kinks() -> Vec<Kink> {
    vec![Kink::new("ties", Tensor::from([1.0, 3.0, 3.0]), [1.0, 1.0, 1.0], |x| Ok(x.cummax(0)?.0))]
}

fn cummin_kinks() -> Vec<Kink> {
    vec![Kink::new("ties", Tensor::from([3.0, 1.0, 1.0, 2.0]), [1.0, 1.0, 2.0, 0.0], |x| Ok(x.cummin(0)?.0))]
}
