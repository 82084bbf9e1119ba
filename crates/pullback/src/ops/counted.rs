//! Operations the size of whose result depends on the contents of a tensor, which are therefore read.

use super::discrete::{Discrete, discrete};
use super::index::masks::of_unknown_size;
use super::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::array::Array;
use crate::error::bail;
use crate::kernels::classes::position;
use crate::kernels::copy::contiguous;
use crate::shape::{with_dim, without_dim};
use crate::{DType, Error, ErrorKind, Result, Tensor};

ops! { OPS;
    /// The positions of the elements that are not zero, one vector of `i64` for each dimension.
    ///
    /// As an index these select the elements. The size of the results depends on the contents, so these must be known: they are
    /// read, not traced.
    ///
    /// # Shapes
    /// As many vectors as there are dimensions, each with an element for every position. A 0-d tensor counts as a vector of one
    /// element.
    ///
    /// # Dtypes
    /// All. NaN is not zero.
    ///
    /// # Errors
    /// `ConcreteValueNeeded` for a tensor that is batched by `vmap` or written down by `capture`.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let places = Tensor::from([[0, 7], [8, 0]]).nonzero_dims()?;
    /// assert_eq!(places[0].to_vec::<i64>()?, [0, 1]);
    /// assert_eq!(places[1].to_vec::<i64>()?, [1, 0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn nonzero_dims(&self) -> Result<Vec<Tensor>> = nonzero_dims {
        samples: nonzero_dims_samples, errors: nonzero_dims_errors,
        python: nonzero(+as_tuple: Exactly<true>),
        python: function::where(self as condition)
    };

    /// How often each whole number from 0 up to the largest occurs among the elements, or the sum of their weights.
    ///
    /// This is [`bincount`](Tensor::bincount) with a length that the elements say, which therefore are read.
    ///
    /// # Shapes
    /// A vector with a place for each number up to the largest, and at least `minlength` of them. The weights have the shape of the
    /// tensor.
    ///
    /// # Dtypes
    /// Integers. The result is `i64`, or of the dtype of the weights; integers and bools are added as `i64`.
    ///
    /// # Derivative
    /// By the weights: the cotangent at the places that the elements name.
    ///
    /// # Errors
    /// `Index` for an element that is negative; `Shape` if the weights have another shape, or the result is too large; `Dtype` for
    /// floats and bools; `ConcreteValueNeeded` for a tensor that is batched by `vmap` or written down by `capture`.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([1i64, 0, 1, 3]);
    /// assert_eq!(x.bincount_with(None, 0)?.to_vec::<i64>()?, [1, 2, 0, 1]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn bincount_with(&self, weights: Option<&Tensor>, minlength: usize) -> Result<Tensor> = bincount_with {
        samples: bincount_with_samples, errors: bincount_with_errors,
        python: bincount(weights, minlength = 0)
    };

    /// Every slice along `dim` repeated as often as `repeats` says, the copies next to each other; without `dim`, every element, in
    /// row-major order.
    ///
    /// # Shapes
    /// `repeats` is a vector with a number for each slice, or with one for all.
    ///
    /// # Dtypes
    /// All; the numbers are integers.
    ///
    /// # Derivative
    /// The sum over the copies.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Shape` unless there is a number for each slice, or if the result is too large; `Value` for a
    /// negative number; `Dtype` unless they are integers; `ConcreteValueNeeded` if they are batched by `vmap` or written down by
    /// `capture`.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([1, 2, 3]).repeat_interleave_by(&Tensor::from([2, 0, 1]), Some(0))?;
    /// assert_eq!(x.to_vec::<i32>()?, [1, 1, 3]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn repeat_interleave_by(&self, repeats: &Tensor, dim: Option<isize>) -> Result<Tensor> = repeat_interleave_by {
        samples: repeat_by_samples, errors: repeat_by_errors,
        python: repeat_interleave(repeats, dim)
    };

    /// Every slice along `dim` repeated as often as `repeats` says, where the sum of these is known; without `dim`, every element, in
    /// row-major order.
    ///
    /// This is [`repeat_interleave_by`](Tensor::repeat_interleave_by), but as the size of the result does not depend on contents, the
    /// repeats may differ between lanes and be arguments of graphs.
    ///
    /// # Shapes
    /// `repeats` is a vector with a number for each slice, or with one for all. `dim` has `output_size` elements in the result.
    ///
    /// # Dtypes
    /// All; the numbers are integers.
    ///
    /// # Derivative
    /// The sum over the copies.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Shape` unless there is a number for each slice, or if the result is too large; `Value` for a
    /// negative number, or if their sum is not `output_size`; `Dtype` unless they are integers.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, vmap};
    /// let x = Tensor::from([1, 2]);
    /// let f = vmap(move |repeats: &Tensor| x.repeat_interleave_to(repeats, Some(0), 3));
    /// assert_eq!(f(&Tensor::from([[2, 1], [0, 3]]))?.to_vec::<i32>()?, [1, 1, 2, 2, 2, 2]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn repeat_interleave_to(&self, repeats: &Tensor, dim: Option<isize>, output_size: usize) -> Result<Tensor> =
        repeat_interleave_to {
            samples: repeat_to_samples, errors: repeat_to_errors,
            python: repeat_interleave(repeats, dim: isize, output_size),
            python: repeat_interleave(repeats, output_size, dim)
        };
}

pub(super) fn check_integers(op: &str, x: &Tensor) -> Result<()> {
    if !x.dtype().is_int() {
        bail!(Dtype, "{op}: expected integers, got {}", x.ty(); help = "convert them with `to_dtype`");
    }
    Ok(())
}

/// The contents of integers, which the size of the result depends on; `help` says what to do where they are not known.
pub(super) fn whole(op: &str, x: &Tensor, help: &'static str) -> Result<Vec<i64>> {
    check_integers(op, x)?;
    let known = |e: Error| if e.kind() == ErrorKind::ConcreteValueNeeded { e.with_help(help) } else { e };
    Tensor::from(x.data(op).map_err(known)?.clone()).to_dtype(DType::I64)?.to_vec()
}

fn nonzero_dims(x: &Tensor) -> Result<Vec<Tensor>> {
    match x.rank() {
        0 => x.reshape_to(&[1])?.nonzero()?.unbind(1),
        _ => x.nonzero()?.unbind(1),
    }
}

/// How many whole numbers there are from 0 to the largest.
pub(super) fn count(all: &[i64]) -> usize {
    all.iter().max().map_or(0, |&largest| usize::try_from(largest).map_or(0, |n| n.saturating_add(1)))
}

fn bincount_with(x: &Tensor, weights: Option<&Tensor>, minlength: usize) -> Result<Tensor> {
    let all = whole("bincount", x, "say how many numbers there are, with `length`")?;
    x.bincount(weights, count(&all).max(minlength))
}

/// The tensor whose slices along the dimension are repeated: one for each of `repeats`, unless that is one for all.
fn slices_to_repeat(x: &Tensor, repeats: &Tensor, dim: Option<isize>) -> Result<(Tensor, usize)> {
    let op = "repeat_interleave";
    check_integers(op, repeats)?;
    let (flat, dim) = match dim {
        Some(dim) => (x.clone(), crate::shape::resolve_dim(op, dim, x.rank(), x.ty())?),
        None => (x.reshape_to(&[x.numel()])?, 0),
    };
    let n = flat.shape()[dim];
    if repeats.rank() > 1 || (repeats.numel() != n && repeats.numel() != 1) {
        bail!(
            Shape,
            "{op}: expected a vector of {n} repeats for dim {dim} of {}, or one for all, got {}",
            flat.ty(),
            repeats.ty()
        );
    }
    Ok((flat, dim))
}

/// Adds the number of the slice for each of its copies, the numbers of which are `counts`, or one for each of `n` slices.
fn push_places(places: &mut Vec<i64>, n: usize, counts: &[i64]) {
    for k in 0..n {
        let times = counts[if counts.len() == 1 { 0 } else { k }];
        places.extend(std::iter::repeat_n(k as i64, usize::try_from(times).unwrap_or(0)));
    }
}

/// The sum of the copies of `n` slices.
fn total_of(n: usize, counts: &[i64]) -> usize {
    let times = |k: usize| usize::try_from(counts[if counts.len() == 1 { 0 } else { k }]).unwrap_or(0);
    (0..n).fold(0usize, |sum, k| sum.saturating_add(times(k)))
}

fn repeat_interleave_by(x: &Tensor, repeats: &Tensor, dim: Option<isize>) -> Result<Tensor> {
    let op = "repeat_interleave";
    let counts = whole(op, repeats, "the size of the result depends on the repeats: give it as `output_size`")?;
    let (flat, dim) = slices_to_repeat(x, repeats, dim)?;
    if let Some(count) = counts.iter().find(|&&count| count < 0) {
        bail!(Value, "{op}: expected repeats of at least 0, got {count}");
    }
    let n = flat.shape()[dim];
    let total = total_of(n, &counts);
    crate::tensor::checked_numel(op, &[total])?;
    let mut places = Vec::with_capacity(total);
    push_places(&mut places, n, &counts);
    flat.index_select(dim as isize, &Tensor::from(places))
}

/// The slice that each of `size` copies is of, from how many there are of each.
#[derive(Clone, Debug)]
struct Copies {
    slices: usize,
    size: usize,
    lanes: usize,
}

impl Discrete for Copies {
    const NAME: &'static str = "repeat_interleave";
    fn kernel(&self, counts: &Array) -> Result<Array> {
        let (op, counts) = (Self::NAME, contiguous(counts));
        let row = counts.shape()[self.lanes..].iter().product::<usize>();
        let lanes: usize = counts.shape()[..self.lanes].iter().product();
        let all = counts.as_slice::<i64>().unwrap_or_default();
        let mut places = Vec::with_capacity(lanes * self.size);
        for lane in 0..lanes {
            let own = &all[lane * row..(lane + 1) * row];
            if let Some(k) = own.iter().position(|&count| count < 0) {
                let at = position(counts.shape(), lane * row + k, self.lanes);
                bail!(Value, "{op}: expected repeats of at least 0, got {}{at}", own[k]);
            }
            let total = total_of(self.slices, own);
            if total != self.size {
                let of = if self.lanes == 0 { String::new() } else { format!(" in lane {lane}") };
                bail!(Value, "{op}: expected repeats whose sum is {}, the `output_size`, got {total}{of}", self.size);
            }
            push_places(&mut places, self.slices, own);
        }
        let shape = with_dim(&counts.shape()[..self.lanes], self.lanes, self.size);
        Ok(Array::from_slice(shape, &places))
    }
    fn batched(&self) -> Copies {
        Copies { lanes: self.lanes + 1, ..*self }
    }
}

fn repeat_interleave_to(x: &Tensor, repeats: &Tensor, dim: Option<isize>, output_size: usize) -> Result<Tensor> {
    let (flat, dim) = slices_to_repeat(x, repeats, dim)?;
    crate::tensor::checked_numel("repeat_interleave", &with_dim(&without_dim(flat.shape(), dim), dim, output_size))?;
    let copies = Copies { slices: flat.shape()[dim], size: output_size, lanes: 0 };
    flat.index_select(dim as isize, &discrete(copies, &repeats.to_dtype(DType::I64)?)?)
}

fn nonzero_dims_samples() -> Vec<Sample> {
    [
        ("matrix", Tensor::from([[0.0, 2.0, f64::NAN], [-1.0, 0.0, -0.0]])),
        ("mask", Tensor::from([true, false, true])),
        ("0-d", Tensor::from(3)),
        ("empty", sample_tensor(&[2, 0], 0.0, 1.0, 1)),
    ]
    .into_iter()
    .map(|(label, x)| {
        let sample = Sample::new(label, [x], |x| x[0].nonzero_dims()).special().fixed_dtype().reference(|x| {
            let rank = x[0].shape.len().max(1);
            let mut places = vec![vec![]; rank];
            Naive::from_fn(&x[0].shape, |at| {
                if x[0].at(at) != 0.0 {
                    (0..rank).for_each(|d| places[d].push(at.get(d).map_or(0.0, |&i| i as f64)));
                }
                0.0
            });
            places.into_iter().map(|data| Naive { shape: vec![data.len()], data }).collect()
        });
        of_unknown_size(sample)
    })
    .collect()
}

fn nonzero_dims_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![ErrorSample::new("lanes", ErrorKind::ConcreteValueNeeded, "nonzero: the value is batched", move || {
        crate::vmap(|x: &Tensor| Ok(x.nonzero_dims()?.swap_remove(0)))(&x)
    })]
}

fn bincount_with_samples() -> Vec<Sample> {
    let reference = |x: &[Naive], minlength: usize| {
        let length = x[0].data.iter().fold(minlength, |n, &v| n.max(v as usize + 1));
        let mut data = vec![0.0; length];
        for (k, &v) in x[0].data.iter().enumerate() {
            data[v as usize] += x.get(1).map_or(1.0, |w| w.data[k]);
        }
        vec![Naive { shape: vec![length], data }]
    };
    let counts = |label: &str, x: Tensor, minlength: usize| {
        Sample::one(label, [x], move |x| x[0].bincount_with(None, minlength))
            .reference(move |x| reference(x, minlength))
            .not_differentiable()
    };
    let x = Tensor::from([[3i64, 0], [1, 3]]);
    let weighted = Sample::one("weights", [x.clone(), sample_tensor(&[2, 2], -1.0, 1.0, 1)], |x| {
        x[0].bincount_with(Some(&x[1]), 0)
    });
    let none = Tensor::zeros(&[0], DType::I64).expect("no memory is needed");
    let samples = [counts("numbers", x, 0), counts("few", Tensor::from([1, 1]), 4), counts("none", none, 2)];
    let weighted = weighted.reference(move |x| reference(x, 0));
    let mut weighted = of_unknown_size(weighted);
    // A walk differentiates by the weights alone, whose number is known.
    weighted.expected_failures.retain(|(property, _)| *property != "walks_match_transforms");
    samples.into_iter().map(of_unknown_size).chain([weighted]).collect()
}

fn bincount_with_errors() -> Vec<ErrorSample> {
    vec![
        ErrorSample::new("negative", ErrorKind::Index, "bincount: expected numbers from 0", || {
            Tensor::from([2, -1]).bincount_with(None, 0)
        }),
        ErrorSample::new("dtype", ErrorKind::Dtype, "bincount: expected integers, got f64[1]", || {
            Tensor::from([1.0]).bincount_with(None, 0)
        }),
        ErrorSample::new("lanes", ErrorKind::ConcreteValueNeeded, "with `length`", || {
            crate::vmap(|x: &Tensor| x.bincount_with(None, 0))(&Tensor::from([[1], [2]]))
        }),
    ]
}

/// Samples of calls with repeats, and how many copies there are.
fn repeat_samples(call: fn(&Tensor, &Tensor, Option<isize>, usize) -> Result<Tensor>) -> Vec<Sample> {
    let case = |label: &str, shape: &[usize], repeats: &[i64], dim: Option<isize>, places: &'static [usize]| {
        let repeats = Tensor::from(repeats.to_vec());
        Sample::one(label, [sample_tensor(shape, -1.0, 1.0, 1)], move |x| call(&x[0], &repeats, dim, places.len()))
            .reference(move |x| {
                let Some(dim) = dim else {
                    let data = places.iter().map(|&k| x[0].data[k]).collect();
                    return vec![Naive { shape: vec![places.len()], data }];
                };
                let dim = dim.rem_euclid(x[0].shape.len() as isize) as usize;
                let mut shape = x[0].shape.clone();
                shape[dim] = places.len();
                vec![Naive::from_fn(&shape, |i| {
                    let mut own = i.to_vec();
                    own[dim] = places[i[dim]];
                    x[0].at(&own)
                })]
            })
    };
    vec![
        case("rows", &[3, 2], &[2, 0, 1], Some(0), &[0, 0, 2]),
        case("columns", &[2, 3], &[1, 1, 2], Some(-1), &[0, 1, 2, 2]),
        case("elements", &[2, 2], &[0, 1, 2, 0], None, &[1, 2, 2]),
        case("one for all", &[2, 2], &[2], Some(1), &[0, 0, 1, 1]),
        case("0-d", &[], &[3], None, &[0, 0, 0]),
        case("none", &[2], &[0, 0], Some(0), &[]),
    ]
}

fn repeat_errors(call: fn(&Tensor, &Tensor, Option<isize>) -> Result<Tensor>) -> Vec<ErrorSample> {
    let of = |label: &str, kind, message, repeats: Tensor| {
        let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
        ErrorSample::new(label, kind, message, move || call(&x, &repeats, Some(0)))
    };
    vec![
        of(
            "number",
            ErrorKind::Shape,
            "expected a vector of 2 repeats for dim 0 of f64[2,3], or one for all, got i32[3]",
            Tensor::from([1, 2, 3]),
        ),
        of(
            "negative",
            ErrorKind::Value,
            "repeat_interleave: expected repeats of at least 0, got -1",
            Tensor::from([-1]),
        ),
        of("dtype", ErrorKind::Dtype, "repeat_interleave: expected integers, got f64[2]", Tensor::from([1.0, 2.0])),
    ]
}

fn repeat_by_samples() -> Vec<Sample> {
    repeat_samples(|x, repeats, dim, _| x.repeat_interleave_by(repeats, dim))
}

fn repeat_by_errors() -> Vec<ErrorSample> {
    let mut errors = repeat_errors(|x, repeats, dim| x.repeat_interleave_by(repeats, dim));
    errors.push(ErrorSample::new("lanes", ErrorKind::ConcreteValueNeeded, "give it as `output_size`", || {
        let x = sample_tensor(&[2], 0.0, 1.0, 1);
        crate::vmap(move |repeats: &Tensor| x.repeat_interleave_by(repeats, None))(&Tensor::from([[1, 1], [2, 0]]))
    }));
    errors
}

fn repeat_to_samples() -> Vec<Sample> {
    let mut samples = repeat_samples(|x, repeats, dim, size| x.repeat_interleave_to(repeats, dim, size));
    // Lanes have the same repeats in another order, whose sum is the same.
    let inputs = [sample_tensor(&[3, 2], -1.0, 1.0, 1), Tensor::from([1, 0, 3])];
    let given = Sample::one("repeats as an input", inputs, |x| x[0].repeat_interleave_to(&x[1], Some(0), 4));
    samples.push(given.reference(|x| {
        let places: Vec<usize> = (0..3).flat_map(|k| std::iter::repeat_n(k, x[1].data[k] as usize)).collect();
        vec![Naive::from_fn(&[4, 2], |i| x[0].at(&[places[i[0]], i[1]]))]
    }));
    samples
}

fn repeat_to_errors() -> Vec<ErrorSample> {
    let mut errors = repeat_errors(|x, repeats, dim| x.repeat_interleave_to(repeats, dim, 2));
    errors.push(ErrorSample::new(
        "size",
        ErrorKind::Value,
        "repeat_interleave: expected repeats whose sum is 2, the `output_size`, got 4",
        || sample_tensor(&[2], 0.0, 1.0, 1).repeat_interleave_to(&Tensor::from([1, 3]), Some(0), 2),
    ));
    errors.push(ErrorSample::new("size in a lane", ErrorKind::Value, "the `output_size`, got 1 in lane 1", || {
        let x = sample_tensor(&[2], 0.0, 1.0, 1);
        crate::vmap(move |repeats: &Tensor| x.repeat_interleave_to(repeats, None, 2))(&Tensor::from([[1, 1], [1, 0]]))
    }));
    errors
}
