//! A tensor cut into several along a dimension.

use std::fmt;

use smallvec::{SmallVec, smallvec};

use super::{behind, zeros};
use crate::error::bail;
use crate::function::op::{Batched, Cotangents, Op, Tangents};
use crate::function::{Cotangent, OpRef, Outs, Saved, Tangent, VmapInfo};
use crate::interp::bind;
use crate::ops::join::cat;
use crate::ops::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::shape::{Brackets, resolve_dim};
use crate::{ErrorKind, Result, Tensor};

ops! { OPS;
    /// The tensor cut along `dim` into parts of `size`, the last of which may be smaller. The parts are views.
    ///
    /// # Shapes
    /// A tensor of size 0 in `dim` gives one part.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The cotangents of the parts put together.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Value` for a size of 0, unless the tensor has size 0 there.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let parts = Tensor::from([1, 2, 3, 4, 5]).split(2, 0)?;
    /// assert_eq!(parts[1].to_vec::<i32>()?, [3, 4]);
    /// assert_eq!(parts[2].to_vec::<i32>()?, [5]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn split(&self, size: usize, dim: isize) -> Result<Vec<Tensor>> = split {
        samples: split_samples, errors: split_errors,
        python: split(size as split_size_or_sections, dim = 0)
    };

    /// The tensor cut along `dim` into parts of the given sizes. The parts are views.
    ///
    /// # Shapes
    /// The sizes add up to that of `dim`.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The cotangents of the parts put together.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Shape` if the sizes do not add up.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let parts = Tensor::from([1, 2, 3]).split_with_sizes(&[1, 2], 0)?;
    /// assert_eq!(parts[1].to_vec::<i32>()?, [2, 3]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn split_with_sizes(&self, sizes: &[usize], dim: isize) -> Result<Vec<Tensor>> = split_with_sizes {
        samples: split_with_sizes_samples, errors: split_with_sizes_errors,
        python: split(sizes as split_size_or_sections, dim = 0)
    };

    /// The tensor cut along `dim` into at most `chunks` parts of equal size, the last of which may be smaller. The parts
    /// are views.
    ///
    /// # Shapes
    /// Parts have the size of `dim` divided by `chunks`, rounded up, so that there may be fewer of them.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The cotangents of the parts put together.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Value` for 0 chunks.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let parts = Tensor::from([1, 2, 3, 4, 5]).chunk(2, 0)?;
    /// assert_eq!((parts.len(), parts[0].shape(), parts[1].shape()), (2, &[3][..], &[2][..]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn chunk(&self, chunks: usize, dim: isize) -> Result<Vec<Tensor>> = chunk {
        samples: chunk_samples, errors: chunk_errors,
        python: chunk(chunks, dim = 0)
    };

    /// The tensor cut along `dim` into exactly `sections` parts whose sizes differ by at most 1, larger ones first. The
    /// parts are views.
    ///
    /// # Shapes
    /// With more sections than elements the last parts are empty.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The cotangents of the parts put together.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Value` for 0 sections; `Shape` for a list of parts that is too large.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let parts = Tensor::from([1, 2, 3, 4, 5]).tensor_split(3, 0)?;
    /// assert_eq!(parts.iter().map(Tensor::numel).collect::<Vec<_>>(), [2, 2, 1]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn tensor_split(&self, sections: usize, dim: isize) -> Result<Vec<Tensor>> = tensor_split {
        samples: tensor_split_samples, errors: tensor_split_errors,
        python: tensor_split(sections as indices_or_sections, dim = 0)
    };

    /// The slices along `dim`, each without that dimension. They are views.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The cotangents of the slices stacked.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let columns = Tensor::from([[1, 2], [3, 4]]).unbind(1)?;
    /// assert_eq!(columns[0].to_vec::<i32>()?, [1, 3]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn unbind(&self, dim: isize) -> Result<Vec<Tensor>> = unbind {
        samples: unbind_samples, errors: unbind_errors,
        python: unbind(dim = 0)
    };
}

/// Cuts a tensor into parts along a dimension. One operation, so that its transpose is one concatenation.
#[derive(Clone, Debug)]
struct Split {
    dim: usize,
    sizes: SmallVec<[usize; 4]>,
    /// False if the parts, which have size 1, lose the dimension.
    keep: bool,
}

impl Split {
    fn call(self, x: &Tensor) -> Result<Outs> {
        if x.array().is_some() {
            return self.forward(&[x]);
        }
        bind(&OpRef::new(self), &[x])
    }
}

impl Op for Split {
    fn name(&self) -> &str {
        if self.keep { "split" } else { "unbind" }
    }
    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let x = inputs[0].concrete();
        let mut start = 0;
        let parts = self.sizes.iter().map(|&n| {
            let part = if self.keep { x.slice(self.dim, start, n, 1) } else { x.select(self.dim, start) };
            start += n;
            part.into()
        });
        Ok(parts.collect())
    }
    fn save(&self, _: &[bool], inputs: &[&Tensor], _: &[Tensor]) -> Result<Saved> {
        Ok(Saved::shape(inputs[0].shape()))
    }
    fn backward(&self, saved: &Saved, _: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        let Some(dtype) = grads.iter().find_map(Cotangent::as_tensor).map(Tensor::dtype) else {
            return Ok(smallvec![Cotangent::zero()]);
        };
        let mut shape = saved.get_shape();
        let parts: SmallVec<[Tensor; 8]> = grads
            .iter()
            .zip(&self.sizes)
            .map(|(g, &n)| {
                shape[self.dim] = n;
                match g.as_tensor() {
                    Some(g) => g.reshape_to(&shape),
                    None => zeros(&shape, dtype),
                }
            })
            .collect::<Result<_>>()?;
        Ok(smallvec![cat(&parts.iter().collect::<SmallVec<[&Tensor; 8]>>(), self.dim as isize)?.into()])
    }
    fn jvp(&self, _: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        match tangents[0].as_tensor() {
            Some(t) => Ok(self.clone().call(t)?.into_iter().map(Tangent::from).collect()),
            None => Ok(smallvec![Tangent::zero(); self.sizes.len()]),
        }
    }
    fn vmap(&self, _: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        let lane = dims[0].unwrap_or(0);
        let dim = behind(self.dim, lane);
        let outs = Split { dim, ..self.clone() }.call(inputs[0])?;
        let lane = lane - usize::from(!self.keep && dim < lane);
        let n = outs.len();
        Ok((outs, SmallVec::from_elem(Some(lane), n)))
    }
}

/// An error if a list of `count` parts of `x` cannot be held: empty tensors, and those that repeat one element, may have
/// sizes far beyond the memory.
pub(crate) fn check_count(op: &str, count: usize, x: &Tensor) -> Result<()> {
    if count >= 1 << 32 {
        bail!(Shape, "{op}: a list of {count} parts of {} is too large", x.ty(); help = "take parts with `narrow`");
    }
    Ok(())
}

/// The parts of `x` along `dim` of sizes that add up to that of `dim`.
fn parts(x: &Tensor, dim: usize, sizes: SmallVec<[usize; 4]>) -> Result<Vec<Tensor>> {
    match sizes.len() {
        0 => x.unchanged("split").map(|_| Vec::new()),
        1 => Ok(vec![x.unchanged("split")?]),
        _ => Ok(Split { dim, sizes, keep: true }.call(x)?.into_vec()),
    }
}

/// Sizes of `size`, and a last one for the rest, that add up to `n`.
fn equal_sizes(n: usize, size: usize) -> SmallVec<[usize; 4]> {
    if n == 0 {
        return smallvec![0];
    }
    (0..n.div_ceil(size)).map(|k| size.min(n - k * size)).collect()
}

fn tensor_split(x: &Tensor, sections: usize, dim: isize) -> Result<Vec<Tensor>> {
    let op = "tensor_split";
    let dim = resolve_dim(op, dim, x.rank(), x.ty())?;
    if sections == 0 {
        bail!(Value, "{op}: expected 1 section or more for dim {dim} of {}, got 0", x.ty());
    }
    check_count(op, sections, x)?;
    let (size, larger) = (x.shape()[dim] / sections, x.shape()[dim] % sections);
    parts(x, dim, (0..sections).map(|k| size + usize::from(k < larger)).collect())
}

fn split(x: &Tensor, size: usize, dim: isize) -> Result<Vec<Tensor>> {
    let dim = resolve_dim("split", dim, x.rank(), x.ty())?;
    let n = x.shape()[dim];
    if size == 0 && n > 0 {
        bail!(Value, "split: expected parts of size 1 or more for dim {dim} of {}, got 0", x.ty());
    }
    check_count("split", n.checked_div(size).unwrap_or(0), x)?;
    parts(x, dim, equal_sizes(n, size))
}

fn split_with_sizes(x: &Tensor, sizes: &[usize], dim: isize) -> Result<Vec<Tensor>> {
    let dim = resolve_dim("split_with_sizes", dim, x.rank(), x.ty())?;
    let (n, total) = (x.shape()[dim], sizes.iter().try_fold(0usize, |sum, &n| sum.checked_add(n)));
    if total != Some(n) {
        let (got, ty) = (Brackets(sizes), x.ty());
        bail!(Shape, "split_with_sizes: expected sizes that add up to {n} for dim {dim} of {ty}, got {got}");
    }
    parts(x, dim, SmallVec::from_slice(sizes))
}

fn chunk(x: &Tensor, chunks: usize, dim: isize) -> Result<Vec<Tensor>> {
    let dim = resolve_dim("chunk", dim, x.rank(), x.ty())?;
    if chunks == 0 {
        bail!(Value, "chunk: expected at least one chunk for {}, got 0", x.ty());
    }
    let n = x.shape()[dim];
    check_count("chunk", if n == 0 { chunks } else { chunks.min(n) }, x)?;
    if n == 0 {
        // As many parts as were asked for would all be empty; PyTorch gives them.
        return parts(x, dim, SmallVec::from_elem(0, chunks));
    }
    parts(x, dim, equal_sizes(n, n.div_ceil(chunks)))
}

fn unbind(x: &Tensor, dim: isize) -> Result<Vec<Tensor>> {
    let dim = resolve_dim("unbind", dim, x.rank(), x.ty())?;
    check_count("unbind", x.shape()[dim], x)?;
    match x.shape()[dim] {
        0 => x.unchanged("unbind").map(|_| Vec::new()),
        n => Ok(Split { dim, sizes: SmallVec::from_elem(1, n), keep: false }.call(x)?.into_vec()),
    }
}

/// The parts of these sizes, one after the other.
fn naive_parts(x: &Naive, dim: usize, sizes: &[usize]) -> Vec<Naive> {
    let mut start = 0;
    let part = |&n: &usize| {
        let mut shape = x.shape.clone();
        shape[dim] = n;
        let part = Naive::from_fn(&shape, |i| {
            let mut from = i.to_vec();
            from[dim] += start;
            x.at(&from)
        });
        start += n;
        part
    };
    sizes.iter().map(part).collect()
}

fn case(
    label: &str,
    shape: &[usize],
    dim: usize,
    sizes: &'static [usize],
    call: impl Fn(&Tensor) -> Result<Vec<Tensor>> + Send + Sync + 'static,
) -> Sample {
    Sample::new(label, [sample_tensor(shape, -1.0, 1.0, 1)], move |x| call(&x[0]))
        .reference(move |x| naive_parts(&x[0], dim, sizes))
}

/// A call with `f64[2,3]` that fails.
fn failing(
    label: &str,
    kind: ErrorKind,
    message: &'static str,
    call: impl Fn(&Tensor) -> Result<Vec<Tensor>> + Send + Sync + 'static,
) -> ErrorSample {
    super::failing(label, kind, message, move |x| Ok(call(x)?.swap_remove(0)))
}

fn split_samples() -> Vec<Sample> {
    vec![
        case("with rest", &[5, 2], 0, &[2, 2, 1], |x| x.split(2, 0)),
        case("columns", &[2, 4], 1, &[2, 2], |x| x.split(2, -1)),
        case("one part", &[3], 0, &[3], |x| x.split(7, 0)),
        case("empty", &[0, 2], 0, &[0], |x| x.split(2, 0)),
    ]
}

fn split_errors() -> Vec<ErrorSample> {
    vec![
        failing("size", ErrorKind::Value, "expected parts of size 1 or more for dim 1 of f64[2,3], got 0", |x| {
            x.split(0, 1)
        }),
        failing("dim", ErrorKind::Dim, "split: dim 2 is out of range for f64[2,3]", |x| x.split(1, 2)),
    ]
}

fn split_with_sizes_samples() -> Vec<Sample> {
    vec![
        case("rows", &[4, 2], 0, &[1, 3], |x| x.split_with_sizes(&[1, 3], 0)),
        case("middle, one empty", &[2, 3, 2], 1, &[2, 0, 1], |x| x.split_with_sizes(&[2, 0, 1], -2)),
        case("empty", &[3, 0], 0, &[1, 2], |x| x.split_with_sizes(&[1, 2], 0)),
    ]
}

fn split_with_sizes_errors() -> Vec<ErrorSample> {
    vec![failing("sum", ErrorKind::Shape, "expected sizes that add up to 3 for dim 1 of f64[2,3], got [1,1]", |x| {
        x.split_with_sizes(&[1, 1], 1)
    })]
}

fn chunk_samples() -> Vec<Sample> {
    vec![
        case("uneven", &[5, 2], 0, &[3, 2], |x| x.chunk(2, 0)),
        case("fewer", &[2, 5], 1, &[2, 2, 1], |x| x.chunk(4, -1)),
        case("empty", &[0], 0, &[0, 0], |x| x.chunk(2, 0)),
    ]
}

fn chunk_errors() -> Vec<ErrorSample> {
    vec![failing("none", ErrorKind::Value, "expected at least one chunk for f64[2,3], got 0", |x| x.chunk(0, 0))]
}

fn unbind_samples() -> Vec<Sample> {
    let case = |label: &str, shape: &'static [usize], dim: isize| {
        let d = dim.rem_euclid(shape.len() as isize) as usize;
        Sample::new(label, [sample_tensor(shape, -1.0, 1.0, 1)], move |x| x[0].unbind(dim)).reference(move |x| {
            let mut parts = naive_parts(&x[0], d, &vec![1; shape[d]]);
            for part in &mut parts {
                part.shape.remove(d);
            }
            parts
        })
    };
    vec![
        case("rows", &[3, 2], 0),
        case("columns", &[2, 3], -1),
        case("to 0-d", &[2], 0),
        case("one", &[2, 1], 1),
        case("empty", &[2, 0], 0),
    ]
}

fn unbind_errors() -> Vec<ErrorSample> {
    vec![failing("dim", ErrorKind::Dim, "unbind: dim 2 is out of range for f64[2,3]", |x| x.unbind(2))]
}

fn tensor_split_samples() -> Vec<Sample> {
    let case = |label: &str, shape: &[usize], sections: usize, dim: usize, starts: &'static [usize]| {
        Sample::new(label, [sample_tensor(shape, -1.0, 1.0, 1)], move |x| x[0].tensor_split(sections, dim as isize))
            .reference(move |x| {
                let n = x[0].shape[dim];
                let ends = starts[1..].iter().chain([&n]);
                let part = |(&start, &end): (&usize, &usize)| {
                    let mut shape = x[0].shape.clone();
                    shape[dim] = end - start;
                    Naive::from_fn(&shape, |at| {
                        let mut from = at.to_vec();
                        from[dim] += start;
                        x[0].at(&from)
                    })
                };
                starts.iter().zip(ends).map(part).collect()
            })
    };
    vec![
        case("larger first", &[8], 3, 0, &[0, 3, 6]),
        case("columns", &[2, 4], 2, 1, &[0, 2]),
        case("one", &[2], 1, 0, &[0]),
        case("more than elements", &[2, 2], 3, 0, &[0, 1, 2]),
        case("empty", &[0, 2], 2, 0, &[0, 0]),
    ]
}

fn tensor_split_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    let y = x.clone();
    vec![
        ErrorSample::new(
            "none",
            ErrorKind::Value,
            "expected 1 section or more for dim 1 of f64[2,3], got 0",
            move || Ok(x.tensor_split(0, 1)?.swap_remove(0)),
        ),
        ErrorSample::new("many", ErrorKind::Shape, "is too large", move || {
            Ok(y.tensor_split(usize::MAX, 1)?.swap_remove(0))
        }),
    ]
}
