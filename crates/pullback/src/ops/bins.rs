//! Searching in sorted sequences, and counting what falls into bins.

use std::fmt;

use smallvec::smallvec;

use super::discrete::{Discrete, discrete};
use super::family::apply1;
use super::join::stack;
use super::reduce::to_float;
use super::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::array::Array;
use crate::error::bail;
use crate::function::op::{Batched, Op, no_derivative};
use crate::function::{OpRef, Outs, VmapInfo};
use crate::interp::{batch, bind1};
use crate::kernels::half::widened;
use crate::kernels::{copy, search};
use crate::shape::numel;
use crate::tensor::Operand;
use crate::{DType, ErrorKind, Result, Tensor};

ops! { OPS;
    /// For each of `values`, how many elements of this sorted sequence come before it: the place, as `i64`, where it is
    /// inserted to keep the order. With `right` it is inserted behind the elements equal to it, else before them.
    ///
    /// Nothing checks that the sequence is in rising order. NaN is the largest.
    ///
    /// # Shapes
    /// The result has that of `values`, a number or a tensor: of any shape beside a vector, which is searched for all of
    /// them. Otherwise the sequences lie along the last dimension, and both agree in the other dimensions.
    ///
    /// # Dtypes
    /// All, promoted by the table of [`DType`].
    ///
    /// # Derivative
    /// None: the result is discrete.
    ///
    /// # Errors
    /// `Shape` if the shapes do not fit; `Value` for a number that the integer dtype of the tensor cannot hold.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let edges = Tensor::from([1.0, 2.0, 2.0, 3.0]);
    /// let x = Tensor::from([0.0, 2.0, 9.0]);
    /// assert_eq!(edges.searchsorted(&x, false)?.to_vec::<i64>()?, [0, 1, 4]);
    /// assert_eq!(edges.searchsorted(&x, true)?.to_vec::<i64>()?, [0, 3, 4]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn searchsorted(&self, values: impl Operand, right: bool) -> Result<Tensor> = searchsorted {
        samples: searchsorted_samples, errors: searchsorted_errors,
        python: searchsorted(self as sorted_sequence, values as input, right = false)
    };

    /// The bin of each element, as `i64`: bin `k` lies between `boundaries[k - 1]` and `boundaries[k]`. A boundary belongs
    /// to the bin below, with `right` to the bin above.
    ///
    /// It is [`searchsorted`](Tensor::searchsorted) with the roles exchanged. Nothing checks that the boundaries are in
    /// rising order.
    ///
    /// # Shapes
    /// That of the tensor; the boundaries are a vector.
    ///
    /// # Dtypes
    /// All, promoted by the table of [`DType`].
    ///
    /// # Derivative
    /// None: the result is discrete.
    ///
    /// # Errors
    /// `Shape` if the boundaries are no vector.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[0.5, 1.0], [1.5, 7.0]]);
    /// let y = x.bucketize(&Tensor::from([1.0, 2.0]), false)?;
    /// assert_eq!(y.to_vec::<i64>()?, [0, 0, 1, 2]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn bucketize(&self, boundaries: &Tensor, right: bool) -> Result<Tensor> = bucketize {
        samples: bucketize_samples, errors: bucketize_errors,
        python: bucketize(boundaries, right = false)
    };

    /// How often each of the numbers from 0 to `length - 1` occurs among the elements, or the sum of their weights.
    ///
    /// # Shapes
    /// A vector of `length`, which is given and not found from the elements: a shape does not depend on values, so that
    /// [`vmap`](crate::vmap) gives every lane the same. The weights have the shape of the tensor.
    ///
    /// # Dtypes
    /// Integers. The result is `i64`, or of the dtype of the weights; integers and bools are added as `i64`.
    ///
    /// # Derivative
    /// By the weights: the cotangent at the places that the elements name.
    ///
    /// # Errors
    /// `Index` for an element that is negative or not below `length`; `Shape` if the weights have another shape; `Dtype`
    /// for floats and bools.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([1i64, 0, 1, 3]);
    /// assert_eq!(x.bincount(None, 5)?.to_vec::<i64>()?, [1, 2, 0, 1, 0]);
    /// let w = Tensor::from([0.5, 1.0, 0.25, 2.0]);
    /// assert_eq!(x.bincount(Some(&w), 4)?.to_vec::<f64>()?, [1.0, 0.75, 0.0, 2.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn bincount(&self, weights: Option<&Tensor>, length: usize) -> Result<Tensor> = bincount {
        samples: bincount_samples, errors: bincount_errors,
        python: bincount(length, weights)
    };

    /// How many elements fall into each of the bins between neighbouring `edges`, or the sum of their weights.
    ///
    /// An edge belongs to the bin above, the last one to the last bin. Elements outside of the edges and NaN are not
    /// counted. With `density`, the bins are divided by their sum and each by its width, so that the integral over all is 1.
    ///
    /// # Shapes
    /// A vector with one element less than the edges, a vector of at least 2 in rising order, which nothing checks. The
    /// weights have the shape of the tensor.
    ///
    /// # Dtypes
    /// All. The result has the float dtype of tensor and edges, or that of the weights; integers and bools count as `f32`.
    ///
    /// # Derivative
    /// By the weights; with `density`, by the edges as far as they are the widths of bins. There is none by the elements.
    ///
    /// # Errors
    /// `Shape` if there are fewer than 2 edges, they are no vector, or the weights have another shape than the tensor.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([0.5, 1.0, 1.5, 3.0, 7.0]);
    /// let edges = Tensor::from([0.0, 1.0, 3.0]);
    /// assert_eq!(x.histogram(&edges, None, false)?.to_vec::<f64>()?, [1.0, 3.0]);
    /// assert_eq!(x.histogram(&edges, None, true)?.to_vec::<f64>()?, [0.25, 0.375]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// The bins are those of PyTorch and NumPy, which return the edges as well.
    fn histogram(&self, edges: &Tensor, weights: Option<&Tensor>, density: bool) -> Result<Tensor> = histogram {
        samples: histogram_samples, errors: histogram_errors,
        python: histogram(edges as bins, weights as weight, density = false)
    };

    /// How many elements fall into each of `bins` bins of equal width between `min` and `max`, or, if these are equal, between the
    /// smallest and the largest element; where those are equal too, the range goes on for 1 to both sides.
    ///
    /// As for [`histogram`](Tensor::histogram), an edge belongs to the bin above, `max` to the last bin, and elements outside
    /// and NaN are not counted.
    ///
    /// # Shapes
    /// A vector of `bins`.
    ///
    /// # Dtypes
    /// All. The result has the dtype of the tensor; integers and bools count as `f32`.
    ///
    /// # Derivative
    /// None: the result is discrete.
    ///
    /// # Errors
    /// `Value` if there are no bins, or `min` is above `max`, or the elements say the range and one is not finite.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([0.0, 0.4, 0.5, 1.0, 2.0]);
    /// assert_eq!(x.histc(2, 0.0, 1.0)?.to_vec::<f64>()?, [2.0, 2.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn histc(&self, bins: usize, min: f64, max: f64) -> Result<Tensor> = histc {
        samples: histc_samples, errors: histc_errors,
        python: histc(bins = 100, min = 0.0, max = 0.0)
    };
}

/// Inputs: the sequences, and the values to search for, of one dtype that is `i64` or a float.
#[derive(Clone, Copy, Debug)]
struct SearchSorted {
    right: bool,
}

impl Op for SearchSorted {
    fn name(&self) -> &str {
        "searchsorted"
    }
    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }
    no_derivative!();
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let [sorted, values] = [inputs[0].concrete(), inputs[1].concrete()];
        Ok(smallvec![widened([sorted, values], |[s, v]| search::searchsorted(s, v, self.right))?.into()])
    }
    fn vmap(&self, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        let op = OpRef::new(*self);
        let vector = inputs[0].rank() - usize::from(dims[0].is_some()) == 1;
        if vector && dims[0].is_none() {
            // One sequence for the values of all lanes.
            return Ok((smallvec![bind1(&op, inputs)?], smallvec![dims[1]]));
        }
        let sorted = batch::materialize(inputs[0], dims[0], info.batch_size)?;
        let values = batch::materialize(inputs[1], dims[1], info.batch_size)?;
        if !vector {
            return Ok((smallvec![bind1(&op, &[&sorted, &values])?], smallvec![Some(0)]));
        }
        // A sequence for each lane, whose values become a vector.
        let row = values.reshape_to(&[info.batch_size, numel(&values.shape()[1..])])?;
        let places = bind1(&op, &[&sorted, &row])?;
        Ok((smallvec![places.reshape_to(values.shape())?], smallvec![Some(0)]))
    }
}

fn search_in(op: &str, sorted: &Tensor, values: &Tensor, right: bool) -> Result<Tensor> {
    let fits = match (sorted.shape(), values.shape()) {
        ([], _) => false,
        ([_], _) => true,
        ([lead @ .., _], [other @ .., _]) => lead == other,
        _ => false,
    };
    if !fits {
        let (sorted, values) = (sorted.ty(), values.ty());
        bail!(
            Shape,
            "{op}: expected a sorted vector, or values that agree in all dims but the last, got {sorted} and {values}"
        );
    }
    let mut dtype = sorted.dtype().promote(values.dtype());
    if !dtype.is_differentiable() {
        dtype = DType::I64;
    }
    apply1(SearchSorted { right }, &[&sorted.to_dtype(dtype)?, &values.to_dtype(dtype)?])
}

fn searchsorted(sorted: &Tensor, values: impl Operand, right: bool) -> Result<Tensor> {
    search_in("searchsorted", sorted, &values.into_operand("searchsorted", sorted.dtype())?, right)
}

fn check_vector(op: &str, what: &str, x: &Tensor, least: usize) -> Result<usize> {
    match x.shape() {
        [n] if *n >= least => Ok(*n),
        _ => bail!(Shape, "{op}: expected a vector of at least {least} {what}, got {}", x.ty()),
    }
}

fn bucketize(x: &Tensor, boundaries: &Tensor, right: bool) -> Result<Tensor> {
    check_vector("bucketize", "boundaries", boundaries, 0)?;
    search_in("bucketize", boundaries, x, right)
}

/// Passes numbers on that name one of `length` places.
#[derive(Clone, Debug)]
struct CheckPlaces {
    length: usize,
}

impl Discrete for CheckPlaces {
    const NAME: &'static str = "bincount";
    fn kernel(&self, x: &Array) -> Result<Array> {
        let x = copy::contiguous(x);
        let places = 0..self.length as i64;
        if let Some(wrong) = x.as_slice::<i64>().into_iter().flatten().find(|v| !places.contains(v)) {
            bail!(Index, "bincount: expected numbers from 0 up to, but not including, {}, got {wrong}", self.length);
        }
        Ok(x)
    }
    fn batched(&self) -> CheckPlaces {
        self.clone()
    }
}

fn check_weights(op: &str, x: &Tensor, weights: Option<&Tensor>) -> Result<()> {
    match weights {
        Some(w) if w.shape() != x.shape() => {
            bail!(Shape, "{op}: expected weights of the shape of {}, got {}", x.ty(), w.ty())
        }
        _ => Ok(()),
    }
}

/// The sums of the weights, or counts, of elements at places in `0..length`.
fn count(places: &Tensor, weights: Option<&Tensor>, length: usize) -> Result<Tensor> {
    let n = places.numel();
    let weights = match weights {
        None => Tensor::ones(&[], DType::I64)?,
        Some(w) if w.dtype().is_differentiable() => w.reshape_to(&[n])?,
        Some(w) => w.to_dtype(DType::I64)?.reshape_to(&[n])?,
    };
    Tensor::zeros(&[length], weights.dtype())?.scatter_add(0, &places.reshape_to(&[n])?, &weights)
}

fn bincount(x: &Tensor, weights: Option<&Tensor>, length: usize) -> Result<Tensor> {
    if !x.dtype().is_int() {
        bail!(Dtype, "bincount: expected integers, got {}", x.ty(); help = "convert them with `to_dtype`");
    }
    check_weights("bincount", x, weights)?;
    crate::tensor::checked_numel("bincount", &[length])?;
    count(&discrete(CheckPlaces { length }, &x.to_dtype(DType::I64)?)?, weights, length)
}

fn histogram(x: &Tensor, edges: &Tensor, weights: Option<&Tensor>, density: bool) -> Result<Tensor> {
    let op = "histogram";
    let n = check_vector(op, "edges", edges, 2)?;
    check_weights(op, x, weights)?;
    let dtype = x.dtype().promote(edges.dtype()).to_float();
    let (x, edges) = (x.to_dtype(dtype)?, edges.to_dtype(dtype)?);
    // Bin 0 is what lies below the edges, and bin `n` what lies above, and NaN.
    let at_end = x.eq(edges.select(0, -1)?)?;
    let places = at_end.where_(n as i64 - 1, search_in(op, &edges, &x, true)?)?;
    let weights = weights.map(to_float).transpose()?;
    let found = count(&places, weights.as_ref(), n + 1)?.narrow(0, 1, n - 1)?;
    let found = if weights.is_some() { found } else { found.to_dtype(dtype)? };
    if density { found.div(found.sum()?.mul(edges.diff(1, 0)?)?) } else { Ok(found) }
}

fn histc(x: &Tensor, bins: usize, min: f64, max: f64) -> Result<Tensor> {
    if bins == 0 || !(min <= max && (max - min).is_finite()) {
        bail!(Value, "histc: expected at least one bin and min not above max, got {bins} bins from {min} to {max}");
    }
    crate::tensor::checked_numel("histc", &[bins])?;
    let dtype = x.dtype().to_float();
    // In f64, where the edges are exact enough for any elements.
    let edges = if min < max {
        Tensor::linspace(min, max, bins + 1, DType::F64)?
    } else if x.numel() == 0 {
        x.unchanged("histc")?;
        return Tensor::zeros(&[bins], dtype);
    } else {
        let x = x.to_dtype(DType::F64)?;
        let ends = discrete(Range, &stack(&[&x.min()?, &x.max()?], 0)?)?;
        // Both ends as they are, whatever is between them.
        let share = Tensor::linspace(0.0, 1.0, bins + 1, DType::F64)?;
        ends.select(0, 0)?.mul(share.neg()?.add(1)?)?.add(ends.select(0, 1)?.mul(share)?)?
    };
    histogram(x, &edges, None, false)?.to_dtype(dtype)
}

/// Two ends, which are finite, and are moved apart where they are equal.
#[derive(Clone, Debug)]
struct Range;

impl Discrete for Range {
    const NAME: &'static str = "histc";
    fn kernel(&self, ends: &Array) -> Result<Array> {
        let ends = copy::contiguous(ends);
        let all = ends.as_slice::<f64>().unwrap_or_default();
        if let Some(end) = all.iter().find(|end| !end.is_finite()) {
            bail!(Value, "histc: expected finite elements to take the range from, got {end}"; help = "give `min` and `max`");
        }
        let apart =
            all.chunks_exact(2).flat_map(|e| if e[0] == e[1] { [e[0] - 1.0, e[1] + 1.0] } else { [e[0], e[1]] });
        Tensor::from_slice(&apart.collect::<Vec<f64>>(), ends.shape()).map(|t| t.concrete().clone())
    }
    fn batched(&self) -> Range {
        Range
    }
}

/// How many elements of each sequence come before a value.
fn naive_search(sorted: &Naive, values: &Naive, right: bool) -> Naive {
    Naive::from_fn(&values.shape, |i| {
        let v = values.at(i);
        let n = *sorted.shape.last().expect("a sequence has a dim");
        let mut at = if sorted.shape.len() == 1 { vec![0] } else { i.to_vec() };
        (0..n)
            .filter(|&k| {
                *at.last_mut().expect("as above") = k;
                let s = sorted.at(&at);
                s < v || (right && s == v) || (v.is_nan() && (right || !s.is_nan()))
            })
            .count() as f64
    })
}

/// Rows of numbers in rising order.
fn rising(shape: &[usize]) -> Tensor {
    let x = sample_tensor(shape, -1.0, 1.0, 3);
    x.sort(-1, false).expect("a last dim").0
}

fn searchsorted_samples() -> Vec<Sample> {
    let case = |label: &str, sorted: Tensor, values: Tensor| {
        [false, true].map(|right| {
            Sample::one(format!("{label}, right {right}"), [sorted.clone(), values.clone()], move |x| {
                x[0].searchsorted(&x[1], right)
            })
            .reference(move |x| vec![naive_search(&x[0], &x[1], right)])
        })
    };
    let values = |shape: &[usize]| sample_tensor(shape, -1.3, 1.3, 5);
    let nan = f64::NAN;
    let mut samples = [
        case("vectors", rising(&[4]), values(&[6])),
        case("a matrix of values", rising(&[5]), values(&[2, 3])),
        case("a 0-d value", rising(&[3]), values(&[])),
        case("rows", rising(&[2, 4]), values(&[2, 3])),
        case("rows of rows", rising(&[2, 1, 4]), values(&[2, 1, 2])),
        case("an empty sequence", rising(&[0]), values(&[2])),
        case("no values", rising(&[3]), values(&[0, 2])),
        case("ties", Tensor::from([-1.0, 0.0, 0.0, 0.0, 2.0]), Tensor::from([0.0, -1.0, 2.0, 0.5])),
    ]
    .concat();
    samples.extend(
        case("NaN", Tensor::from([-2.0, -1.0, nan, nan]), Tensor::from([-1.5, nan, f64::INFINITY]))
            .map(Sample::special),
    );
    samples.push(
        Sample::one("a number", [Tensor::from([1i64, 3, 5])], |x| x[0].searchsorted(3.5, false))
            .reference(|x| vec![naive_search(&x[0], &Naive { shape: vec![], data: vec![3.5] }, false)]),
    );
    samples
}

fn searchsorted_errors() -> Vec<ErrorSample> {
    let x = rising(&[2, 3]);
    let (y, z) = (x.clone(), Tensor::from(1.0));
    vec![
        ErrorSample::new("rows", ErrorKind::Shape, "searchsorted: expected a sorted vector, or values", move || {
            x.searchsorted(&Tensor::from([[1.0]]), false)
        }),
        ErrorSample::new("vector", ErrorKind::Shape, "got f64[2,3] and f64[]", move || y.searchsorted(1.0, false)),
        ErrorSample::new("0-d", ErrorKind::Shape, "got f64[] and f64[]", move || z.searchsorted(1.0, false)),
    ]
}

fn bucketize_samples() -> Vec<Sample> {
    [(&[5][..], 3), (&[2, 3], 4), (&[], 2), (&[0, 2], 2)]
        .into_iter()
        .flat_map(|(shape, n)| [false, true].map(|right| (shape, n, right)))
        .map(|(shape, n, right)| {
            let label = format!("{n} boundaries of {shape:?}, right {right}");
            Sample::one(label, [sample_tensor(shape, -1.3, 1.3, 5), rising(&[n])], move |x| {
                x[0].bucketize(&x[1], right)
            })
            .reference(move |x| vec![naive_search(&x[1], &x[0], right)])
        })
        .collect()
}

fn bucketize_errors() -> Vec<ErrorSample> {
    vec![ErrorSample::new("matrix", ErrorKind::Shape, "bucketize: expected a vector of at least 0 boundaries", || {
        Tensor::from(1.0).bucketize(&rising(&[2, 3]), false)
    })]
}

fn naive_count(x: &[f64], weights: Option<&[f64]>, bins: usize, bin: impl Fn(f64) -> Option<usize>) -> Vec<Naive> {
    let mut data = vec![0.0; bins];
    for (k, &v) in x.iter().enumerate() {
        if let Some(b) = bin(v) {
            data[b] += weights.map_or(1.0, |w| w[k]);
        }
    }
    vec![Naive { shape: vec![bins], data }]
}

fn bincount_samples() -> Vec<Sample> {
    let x = Tensor::from([1i64, 0, 3, 1, 1]);
    let matrix = Tensor::from([[2i64, 0, 2], [1, 2, 0]]);
    let place = |v: f64| Some(v as usize);
    vec![
        Sample::one("counts", [x.clone()], |x| x[0].bincount(None, 6))
            .reference(move |x| naive_count(&x[0].data, None, 6, place)),
        Sample::one("weights", [x, sample_tensor(&[5], -1.0, 1.0, 1)], |x| x[0].bincount(Some(&x[1]), 4))
            .reference(move |x| naive_count(&x[0].data, Some(&x[1].data), 4, place)),
        Sample::one("a matrix", [matrix, sample_tensor(&[2, 3], -1.0, 1.0, 1)], |x| x[0].bincount(Some(&x[1]), 3))
            .reference(move |x| naive_count(&x[0].data, Some(&x[1].data), 3, place)),
        Sample::one("nothing", [Tensor::zeros(&[0], DType::I64).expect("a shape")], |x| x[0].bincount(None, 2))
            .reference(move |x| naive_count(&x[0].data, None, 2, place)),
    ]
}

fn bincount_errors() -> Vec<ErrorSample> {
    let with = |x: Tensor, w: Option<Tensor>| move || x.bincount(w.as_ref(), 3);
    let x = Tensor::from([0i64, 2]);
    vec![
        ErrorSample::new(
            "large",
            ErrorKind::Index,
            "up to, but not including, 3, got 3",
            with(Tensor::from([0i64, 3]), None),
        ),
        ErrorSample::new(
            "negative",
            ErrorKind::Index,
            "bincount: expected numbers from 0",
            with(Tensor::from([-1i64]), None),
        ),
        ErrorSample::new(
            "floats",
            ErrorKind::Dtype,
            "bincount: expected integers, got f64[1]",
            with(Tensor::from([1.0]), None),
        ),
        ErrorSample::new(
            "weights",
            ErrorKind::Shape,
            "bincount: expected weights of the shape of i64[2], got f64[1]",
            with(x, Some(Tensor::from([1.0]))),
        ),
    ]
}

/// The bin between `edges` that a number falls into.
fn naive_bin(edges: &[f64], v: f64) -> Option<usize> {
    let last = edges.len() - 1;
    let inside = (0..last).find(|&k| edges[k] <= v && v < edges[k + 1]);
    if v == edges[last] { Some(last - 1) } else { inside }
}

fn histogram_samples() -> Vec<Sample> {
    let edges = || Tensor::from([-0.8, -0.3, 0.1, 0.9]);
    let naive = |x: &[Naive], weighted: bool, density: bool| {
        let edges = &x[1].data;
        let mut out =
            naive_count(&x[0].data, weighted.then(|| &x[2].data[..]), edges.len() - 1, |v| naive_bin(edges, v));
        if density {
            let total: f64 = out[0].data.iter().sum();
            for (k, v) in out[0].data.iter_mut().enumerate() {
                *v /= total * (edges[k + 1] - edges[k]);
            }
        }
        out
    };
    let mut samples = Vec::new();
    for density in [false, true] {
        // Clear of the edges.
        let x = || sample_tensor(&[2, 4], -1.0, 1.0, 1);
        samples.push(
            Sample::one(format!("counts, density {density}"), [x(), edges()], move |x| {
                x[0].histogram(&x[1], None, density)
            })
            .reference(move |x| naive(x, false, density)),
        );
        samples.push(
            Sample::one(
                format!("weights, density {density}"),
                [x(), edges(), sample_tensor(&[2, 4], 0.2, 1.0, 2)],
                move |x| x[0].histogram(&x[1], Some(&x[2]), density),
            )
            .reference(move |x| naive(x, true, density)),
        );
    }
    let on_edges = Tensor::from([0.0, 1.0, 1.0, 3.0, 3.0, -0.5, 3.5]);
    samples.push(
        Sample::one("on edges", [on_edges, Tensor::from([0.0, 1.0, 3.0])], |x| x[0].histogram(&x[1], None, false))
            .reference(move |x| naive(x, false, false))
            .not_differentiable(),
    );
    samples.push(
        Sample::one("NaN", [Tensor::from([0.5, f64::NAN, f64::INFINITY]), Tensor::from([0.0, 1.0])], |x| {
            x[0].histogram(&x[1], None, false)
        })
        .reference(move |x| naive(x, false, false))
        .special(),
    );
    samples.push(
        Sample::one("nothing", [sample_tensor(&[0], 0.0, 1.0, 1), edges()], |x| x[0].histogram(&x[1], None, false))
            .reference(move |x| naive(x, false, false)),
    );
    samples
}

fn histogram_errors() -> Vec<ErrorSample> {
    let x = || sample_tensor(&[3], 0.0, 1.0, 1);
    vec![
        ErrorSample::new(
            "edges",
            ErrorKind::Shape,
            "histogram: expected a vector of at least 2 edges, got f64[1]",
            move || x().histogram(&Tensor::from([1.0]), None, false),
        ),
        ErrorSample::new(
            "weights",
            ErrorKind::Shape,
            "expected weights of the shape of f64[3], got f64[2]",
            move || x().histogram(&rising(&[3]), Some(&rising(&[2])), false),
        ),
    ]
}

fn histc_samples() -> Vec<Sample> {
    let of_all = |label: &str, x: Tensor| {
        Sample::one(label, [x], move |x| x[0].histc(3, 0.0, 0.0))
            .reference(move |x| {
                let ends =
                    |pick: fn(f64, f64) -> f64| x[0].data.iter().copied().reduce(pick).expect("there are elements");
                let (min, max) = (ends(f64::min), ends(f64::max));
                let (min, max) = if min == max { (min - 1.0, max + 1.0) } else { (min, max) };
                let edges: Vec<f64> = (0..=3).map(|k| min + (max - min) * f64::from(k) / 3.0).collect();
                // The largest element is the last edge, whatever rounding makes of it.
                naive_count(&x[0].data, None, 3, |v| naive_bin(&edges, v.min(edges[3])))
            })
            .not_differentiable()
    };
    let case = |label: &str, x: Tensor, bins: usize, min: f64, max: f64| {
        Sample::one(label, [x], move |x| x[0].histc(bins, min, max)).reference(move |x| {
            let edges: Vec<f64> = (0..=bins).map(|k| min + (max - min) * k as f64 / bins as f64).collect();
            naive_count(&x[0].data, None, bins, |v| naive_bin(&edges, v))
        })
    };
    vec![
        case("a vector", sample_tensor(&[9], -1.0, 1.0, 1), 4, -0.75, 0.5),
        case("a matrix", sample_tensor(&[2, 3], -1.0, 1.0, 1), 1, -1.0, 1.0),
        case("on edges", Tensor::from([0.0, 1.0, 2.0, 3.0, 4.0, 5.0]), 2, 0.0, 4.0).not_differentiable(),
        case("nothing", sample_tensor(&[0], 0.0, 1.0, 1), 2, 0.0, 1.0),
        of_all("the range of the elements", sample_tensor(&[2, 4], -1.0, 1.0, 1)),
        of_all("equal elements", Tensor::from([2.0, 2.0])),
        case("nothing, without a range", sample_tensor(&[0], 0.0, 1.0, 1), 2, 0.0, 0.0),
    ]
}

fn histc_errors() -> Vec<ErrorSample> {
    let x = || sample_tensor(&[3], 0.0, 1.0, 1);
    vec![
        ErrorSample::new("bins", ErrorKind::Value, "histc: expected at least one bin", move || x().histc(0, 0.0, 1.0)),
        ErrorSample::new("range", ErrorKind::Value, "got 2 bins from 2 to 1", move || x().histc(2, 2.0, 1.0)),
        ErrorSample::new(
            "NaN",
            ErrorKind::Value,
            "histc: expected finite elements to take the range from, got NaN",
            || Tensor::from([1.0, f64::NAN]).histc(2, 0.0, 0.0),
        ),
    ]
}
