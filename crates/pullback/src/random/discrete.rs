//! Distributions of whole numbers and categories, and random choices from tensors.

use std::fmt;

use smallvec::smallvec;

use super::draw::{Kind, Source};
use super::parameters::{Must, parameter, place};
use super::{check_float, check_probability, draw, draws};
use crate::array::Array;
use crate::error::bail;
use crate::function::op::{Batched, Op, no_derivative};
use crate::function::{OpRef, Outs, VmapInfo};
use crate::interp::{batch, bind, bind1};
use crate::kernels::samplers::{self, NoWeights, Sampler};
use crate::ops::family::vmap_elementwise;
use crate::shape::resolve_dim;
use crate::tensor::Operand;
use crate::{DType, Result, Tensor};

draws! {
    /// Bools that are true with probability `p`; for a number to the nearest multiple of 2⁻³².
    ///
    /// # Shapes
    /// The probability broadcasts to `shape`.
    ///
    /// # Derivative
    /// None: the result is discrete.
    ///
    /// # Errors
    /// `Value` unless `p` lies in [0, 1]; `Shape` if it does not broadcast, or the size overflows; `Randomness` under a
    /// `vmap` that forbids it.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, random::Key};
    /// assert_eq!(Key::new(1).bernoulli(1.0, &[2])?.to_vec::<bool>()?, [true, true]);
    /// let p = Tensor::from([0.0, 1.0]);
    /// assert_eq!(Key::new(1).bernoulli(&p, &[2])?.to_vec::<bool>()?, [false, true]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn bernoulli(p: impl Operand, shape: &[usize]);

    /// How many events there are if they are independent of each other and `rate` are expected: Poisson's distribution.
    ///
    /// # Shapes
    /// The rate broadcasts to `shape`.
    ///
    /// # Dtypes
    /// Floats and integers; numbers are drawn in `f64` and converted.
    ///
    /// # Derivative
    /// None: the result is discrete.
    ///
    /// # Errors
    /// `Value` for a rate that is not from 0 up and finite, or so large that the dtype could not hold the result; `Shape` if
    /// it does not broadcast; `Dtype` for `bool`; `Randomness` under a `vmap` that forbids it.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, random::Key};
    /// let x = Key::new(1).poisson(50.0, &[10_000], DType::I64)?.to_vec::<i64>()?;
    /// assert!((x.iter().sum::<i64>() as f64 / 1e4 - 50.0).abs() < 0.5);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// Hörmann, "The transformed rejection method for generating Poisson random variables", 1993.
    fn poisson(rate: impl Operand, shape: &[usize], dtype: DType),
        python: poisson(from, rate, shape = [], dtype = I64);

    /// How many of `count` trials succeed if each does with probability `p`.
    ///
    /// # Shapes
    /// The parameters broadcast to `shape`.
    ///
    /// # Dtypes
    /// Floats and integers; numbers are drawn in `f64` and converted.
    ///
    /// # Derivative
    /// None: the result is discrete.
    ///
    /// # Errors
    /// `Value` for a count that is not a whole number from 0 up that the dtype can hold, or a probability that is not in
    /// [0, 1]; `Shape` if they do not broadcast; `Dtype` for `bool`; `Randomness` under a `vmap` that forbids it.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, random::Key};
    /// let x = Key::new(1).binomial(10, 1.0, &[2], DType::I32)?;
    /// assert_eq!(x.to_vec::<i32>()?, [10, 10]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// Hörmann, "The generation of binomial random variates", 1993.
    fn binomial(count: impl Operand, p: impl Operand, shape: &[usize], dtype: DType),
        python: binomial(from, count, p, shape = [], dtype = I64);

    /// How many trials fail before the first that succeeds, if each does with probability `p`.
    ///
    /// # Shapes
    /// The probability broadcasts to `shape`.
    ///
    /// # Dtypes
    /// Floats: there is no largest result.
    ///
    /// # Derivative
    /// None: the result is discrete.
    ///
    /// # Errors
    /// `Value` for a probability that is not above 0 and at most 1; `Shape` if it does not broadcast; `Dtype` for another
    /// dtype; `Randomness` under a `vmap` that forbids it.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, random::Key};
    /// assert_eq!(Key::new(1).geometric(1.0, &[2], DType::F32)?.to_vec::<f32>()?, [0.0, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// The count is that of `torch.distributions`; `Tensor.geometric_` of PyTorch counts the success as well.
    fn geometric(p: impl Operand, shape: &[usize], dtype: DType),
        python: geometric(from, p, shape = [], dtype = I64);

    /// Numbers of categories, as `i64`, with the probabilities that `softmax` gives the logits.
    ///
    /// # Shapes
    /// The logits of one distribution lie along the last dimension; `shape` ends with the other dimensions, and may have
    /// more in front for several draws of each.
    ///
    /// # Dtypes
    /// Floats.
    ///
    /// # Derivative
    /// None: the result is discrete.
    ///
    /// # Errors
    /// `Value` for logits that are NaN or infinite, other than minus infinity, or all minus infinity; `Shape` if the shapes
    /// do not fit; `Dtype` for another dtype; `Randomness` under a `vmap` that forbids it.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, random::Key};
    /// let never = f64::NEG_INFINITY;
    /// let logits = Tensor::from([[never, 1.0, never], [0.0, never, never]]);
    /// let x = Key::new(1).categorical(&logits, &[3, 2])?;
    /// assert_eq!(x.to_vec::<i64>()?, [1, 0, 1, 0, 1, 0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn categorical(logits: &Tensor, shape: &[usize]);

    /// `count` numbers of categories, as `i64`, with probabilities proportional to the weights. Without `replacement`, no
    /// category is drawn twice; they come in the order in which they are drawn.
    ///
    /// # Shapes
    /// The weights of one distribution lie along the last dimension, in whose place the result has `count`.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// None: the result is discrete.
    ///
    /// # Errors
    /// `Value` for weights that are negative or not finite, or if there are fewer positive ones than categories are needed;
    /// `Shape` for a weight without dimensions; `Randomness` under a `vmap` that forbids it.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, random::Key};
    /// let weights = Tensor::from([0.0, 3.0, 0.0, 1.0]);
    /// let mut both = Key::new(1).multinomial(&weights, 2, false)?.to_vec::<i64>()?;
    /// both.sort();
    /// assert_eq!(both, [1, 3]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn multinomial(weights: &Tensor, count: usize, replacement: bool),
        python: multinomial(from, weights, count, replacement = false);

    /// `x` with its parts along `dim` in random order.
    ///
    /// # Derivative
    /// The cotangent in the order of `x`.
    ///
    /// # Errors
    /// `Dim` if there is no such dimension; `Randomness` under a `vmap` that forbids it.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, random::Key};
    /// let mut x = Key::new(1).shuffle(&Tensor::from([1.0, 2.0, 3.0]), 0)?.to_vec::<f64>()?;
    /// x.sort_by(f64::total_cmp);
    /// assert_eq!(x, [1.0, 2.0, 3.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn shuffle(x: &Tensor, dim: isize), python: shuffle(from, x, dim = 0);

    /// `count` parts of `x` along `dim`, each equally likely. Without `replacement`, no part is chosen twice.
    ///
    /// # Shapes
    /// That of `x` with `count` in the place of the size of `dim`.
    ///
    /// # Derivative
    /// The cotangent of what was chosen, added up where it was chosen.
    ///
    /// # Errors
    /// `Value` if there are fewer parts than are asked for without replacement, or none; `Dim` if there is no such
    /// dimension; `Randomness` under a `vmap` that forbids it.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, random::Key};
    /// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    /// let rows = Key::new(1).choice(&x, 0, 2, false)?;
    /// assert_eq!(rows.shape(), [2, 2]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn choice(x: &Tensor, dim: isize, count: usize, replacement: bool),
        python: choice(from, x, count, dim = 0, replacement = true);
}

fn bernoulli(from: Source, p: impl Operand, shape: &[usize]) -> Result<Tensor> {
    if let Some(p) = p.as_scalar() {
        check_probability("bernoulli", p.to_f64())?;
        return draw("bernoulli", Kind::Bernoulli(p.to_f64()), shape, from);
    }
    let p = parameter("bernoulli", "probability", Must::PROBABILITY, p, shape)?;
    draw("bernoulli", Kind::Uniform(DType::F64), shape, from)?.lt(&p)
}

/// One number for each seed and up to 2 parameters of its shape.
struct Sample {
    op: &'static str,
    sampler: Sampler,
}

/// The name says everything.
impl fmt::Debug for Sample {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

impl Op for Sample {
    fn name(&self) -> &str {
        self.op
    }
    no_derivative!();
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let shape = inputs.iter().try_fold(crate::Shape::new(), |shape, t| crate::shape::broadcast(&shape, t.shape()));
        let Some(shape) = shape else { bail!(Internal, "{}: parameters that do not broadcast", self.op) };
        let inputs: Vec<Array> = inputs.iter().map(|t| t.concrete().expand(&shape)).collect();
        Ok(smallvec![samplers::sample(&inputs[0], &inputs[1..].iter().collect::<Vec<_>>(), self.sampler).into()])
    }
    fn vmap(&self, _: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        vmap_elementwise(&OpRef::new(Sample { ..*self }), dims, inputs)
    }
}

/// An error for dtypes that are no numbers.
fn check_number(op: &str, dtype: DType) -> Result<()> {
    if dtype == DType::Bool {
        bail!(Dtype, "{op}: expected the dtype of a number, got {dtype}");
    }
    Ok(())
}

/// What a count must be so that the dtype can hold it.
fn whole(dtype: DType) -> Must {
    fn up_to(v: f64, most: f64) -> bool {
        v >= 0.0 && v <= most && v.fract() == 0.0
    }
    match dtype {
        DType::U8 => Must { be: "that is a whole number from 0 to 255", hold: |v| up_to(v, f64::from(u8::MAX)) },
        DType::I32 => Must { be: "that is a whole number which i32 can hold", hold: |v| up_to(v, f64::from(i32::MAX)) },
        _ => Must { be: "that is a whole number up to 2^53", hold: |v| up_to(v, (1u64 << 53) as f64) },
    }
}

/// What a rate must be so that the dtype can hold what is drawn; 12 deviations above it there is nothing.
fn rate_for(dtype: DType) -> Must {
    fn within(v: f64, most: f64) -> bool {
        v >= 0.0 && v + 12.0 * v.sqrt() + 30.0 <= most
    }
    match dtype {
        DType::U8 => Must { be: "from 0 up whose numbers u8 can hold", hold: |v| within(v, f64::from(u8::MAX)) },
        DType::I32 => Must { be: "from 0 up whose numbers i32 can hold", hold: |v| within(v, f64::from(i32::MAX)) },
        _ => Must { be: "from 0 up to 2^53", hold: |v| within(v, (1u64 << 53) as f64) },
    }
}

fn poisson(from: Source, rate: impl Operand, shape: &[usize], dtype: DType) -> Result<Tensor> {
    check_number("poisson", dtype)?;
    let rate = parameter("poisson", "rate", rate_for(dtype), rate, shape)?;
    let seeds = draw("poisson", Kind::Bits, shape, from)?;
    let op = OpRef::new(Sample { op: "poisson", sampler: samplers::poisson });
    bind1(&op, &[&seeds, &rate])?.to_dtype(dtype)
}

fn binomial(from: Source, count: impl Operand, p: impl Operand, shape: &[usize], dtype: DType) -> Result<Tensor> {
    check_number("binomial", dtype)?;
    let count = parameter("binomial", "count", whole(dtype), count, shape)?;
    let p = parameter("binomial", "probability", Must::PROBABILITY, p, shape)?;
    let seeds = draw("binomial", Kind::Bits, shape, from)?;
    let op = OpRef::new(Sample { op: "binomial", sampler: samplers::binomial });
    bind1(&op, &[&seeds, &count, &p])?.to_dtype(dtype)
}

fn geometric(from: Source, p: impl Operand, shape: &[usize], dtype: DType) -> Result<Tensor> {
    check_float("geometric", dtype)?;
    let must = Must { be: "above 0 and at most 1", hold: |v| v > 0.0 && v <= 1.0 };
    let p = parameter("geometric", "probability", must, p, shape)?;
    // An exponential number, cut into steps in which the share `p` of the rest ends.
    let e = draw("geometric", Kind::Exponential(DType::F64), shape, from)?;
    e.div(p.neg()?.log1p()?.neg()?)?.floor()?.to_dtype(dtype)
}

/// What is drawn by weights: the inputs are seeds (`i64`) and weights (`f64`) with the same dims but the last.
#[derive(Clone, Debug)]
struct Pick {
    op: &'static str,
    kind: PickKind,
    lanes: usize,
}

#[derive(Clone, Copy, Debug)]
enum PickKind {
    Logits,
    Weights,
    /// So many different ones.
    Different(usize),
}

impl Op for Pick {
    fn name(&self) -> &str {
        self.op
    }
    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }
    no_derivative!();
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let (seeds, weights) = (inputs[0].concrete(), inputs[1].concrete());
        let picked = match self.kind {
            PickKind::Logits => samplers::categorical(seeds, weights, true),
            PickKind::Weights => samplers::categorical(seeds, weights, false),
            PickKind::Different(n) => samplers::without_replacement(seeds, weights, n),
        };
        match picked {
            Ok(places) => Ok(smallvec![places.into()]),
            Err(NoWeights { row, why }) => {
                let lead = &weights.shape()[..weights.rank() - 1];
                let at = place(lead, row, self.lanes);
                bail!(Value, "{}: {why}{}", self.op, if at.is_empty() { at } else { format!(" in the row{at}") })
            }
        }
    }
    fn vmap(&self, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        let seeds = batch::materialize(inputs[0], dims[0], info.batch_size)?;
        let weights = batch::materialize(inputs[1], dims[1], info.batch_size)?;
        let op = OpRef::new(Pick { lanes: self.lanes + 1, ..self.clone() });
        Ok((bind(&op, &[&seeds, &weights])?, smallvec![Some(0)]))
    }
}

fn categorical(from: Source, logits: &Tensor, shape: &[usize]) -> Result<Tensor> {
    let op = "categorical";
    check_float(op, logits.dtype())?;
    let Some((_, lead)) = logits.shape().split_last() else {
        bail!(Shape, "{op}: expected logits along a last dimension, got {}", logits.ty());
    };
    let Some(more) = shape.strip_suffix(lead) else {
        bail!(
            Shape,
            "{op}: expected a shape that ends with {lead:?}, the dims of {} but the last, got {shape:?}",
            logits.ty()
        );
    };
    let seeds = draw(op, Kind::Bits, shape, from)?;
    // Draws from one distribution side by side.
    let (count, back) = (more.iter().product::<usize>(), [&[more.iter().product()], lead].concat());
    let seeds = seeds.reshape_to(&back)?.movedim(&[0], &[-1])?;
    let pick = Pick { op, kind: PickKind::Logits, lanes: 0 };
    debug_assert_eq!(seeds.shape().last(), Some(&count));
    bind1(&OpRef::new(pick), &[&seeds, &logits.to_dtype(DType::F64)?])?.movedim(&[-1], &[0])?.reshape_to(shape)
}

fn multinomial(from: Source, weights: &Tensor, count: usize, replacement: bool) -> Result<Tensor> {
    let op = "multinomial";
    let Some((&n, lead)) = weights.shape().split_last() else {
        bail!(Shape, "{op}: expected weights along a last dimension, got {}", weights.ty());
    };
    if weights.dtype().is_complex() {
        bail!(Dtype, "{op}: expected weights that are real numbers, got {}", weights.ty());
    }
    if !replacement && count > n {
        bail!(Value, "{op}: expected at most {n} draws without replacement from {n} categories, got {count}";
            help = "draw with replacement");
    }
    let (kind, seeds) = if replacement { (PickKind::Weights, count) } else { (PickKind::Different(count), n) };
    let seeds = draw(op, Kind::Bits, &[lead, &[seeds]].concat(), from)?;
    bind1(&OpRef::new(Pick { op, kind, lanes: 0 }), &[&seeds, &weights.to_dtype(DType::F64)?])
}

fn shuffle(from: Source, x: &Tensor, dim: isize) -> Result<Tensor> {
    let dim = resolve_dim("shuffle", dim, x.rank(), x.ty())?;
    let order = draw("shuffle", Kind::Permutation, &[x.shape()[dim]], from)?;
    x.index_select(dim as isize, &order)
}

fn choice(from: Source, x: &Tensor, dim: isize, count: usize, replacement: bool) -> Result<Tensor> {
    let dim = resolve_dim("choice", dim, x.rank(), x.ty())?;
    let n = x.shape()[dim];
    if count > n && (!replacement || n == 0) {
        let how = if replacement { "with" } else { "without" };
        bail!(Value, "choice: expected at most {n} parts {how} replacement from dim {dim} of {}, got {count}", x.ty());
    }
    let index = if replacement && n > 0 {
        draw("choice", Kind::Integers { low: 0, high: n as i64, dtype: DType::I64 }, &[count], from)?
    } else {
        draw("choice", Kind::Permutation, &[n], from)?.narrow(0, 0, count)?
    };
    x.index_select(dim as isize, &index)
}
