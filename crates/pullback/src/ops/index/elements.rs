//! Single elements along a dimension at the places of an index.

use std::fmt;

use smallvec::smallvec;

use super::check::{Wanted, check_index, check_index_dtype, check_number, check_src_dtype};
use super::naive::{flat, index, resolve, with};
use super::{lanes_at, vmap_at};
use crate::array::Array;
use crate::error::bail;
use crate::function::op::{Batched, Cotangents, Op, Tangents};
use crate::function::{Cotangent, Outs, Saved, Tangent, VmapInfo};
use crate::kernels::gather;
use crate::kernels::half::widened;
use crate::ops::family::apply1;
use crate::ops::shape::{behind, broadcast_to, move_dim, slice, zeros};
use crate::ops::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::shape::{Shape, broadcast, resolve_dim};
use crate::tensor::Operand;
use crate::{DType, ErrorKind, Result, Tensor};

ops! { OPS;
    /// The elements along `dim` at the places that `index` gives, one by one:
    /// `out[.., i, ..] = x[.., index[.., i, ..], ..]`.
    ///
    /// # Shapes
    /// The result has the shape of `index`, which has the rank of the tensor and is no larger in any dimension but
    /// `dim`. Negative indices count from the end.
    ///
    /// # Dtypes
    /// All; the index is `i64` or `i32`.
    ///
    /// # Derivative
    /// The cotangent added up at the places that were read; see [`scatter_add`](Tensor::scatter_add).
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Index` if an index is; `Shape` if the shape of the index does not fit;
    /// `Dtype` for an index of another dtype.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// let y = x.gather(1, &Tensor::from([[0i64], [-1]]))?;
    /// assert_eq!(y.to_vec::<f64>()?, [1.0, 4.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn gather(&self, dim: isize, index: &Tensor) -> Result<Tensor> = gather
        { samples: gather_samples, errors: gather_errors };

    /// The elements along `dim` at the places that `index` gives, where tensor and index broadcast against each other
    /// in the other dimensions.
    ///
    /// # Shapes
    /// Tensor and index have the same rank. The result has the broadcast shape, and the size of the index in `dim`.
    ///
    /// # Dtypes
    /// All; the index is `i64` or `i32`.
    ///
    /// # Derivative
    /// As that of [`gather`](Tensor::gather).
    ///
    /// # Errors
    /// As those of [`gather`](Tensor::gather).
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1, 2, 3], [4, 5, 6]]);
    /// let y = x.take_along_dim(&Tensor::from([[2i64, 0]]), 1)?;
    /// assert_eq!(y.to_vec::<i32>()?, [3, 1, 6, 4]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn take_along_dim(&self, index: &Tensor, dim: isize) -> Result<Tensor> = take_along_dim {
        samples: take_along_dim_samples, errors: take_along_dim_errors,
        python: take_along_dim(index as indices, dim)
    };

    /// The tensor with elements of `src` added at the places that `index` gives along `dim`:
    /// `out[.., index[.., i, ..], ..] += src[.., i, ..]`, those that meet in row-major order of the index.
    ///
    /// # Shapes
    /// All ranks are equal. `index` is no larger than `src` in any dimension, and no larger than the tensor in any but
    /// `dim`; what `src` has beyond the index is not read. A number, or a 0-d `src`, is added at every place.
    ///
    /// # Dtypes
    /// Numbers, the same for the tensor and `src`; the index is `i64` or `i32`.
    ///
    /// # Derivative
    /// The cotangent for the tensor, and its elements at `index` for `src`.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Index` if an index is; `Shape` if the shapes do not fit; `Dtype`.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor};
    /// let x = Tensor::zeros(&[3], DType::I32)?;
    /// let y = x.scatter_add(0, &Tensor::from([1i64, 1]), &Tensor::from([5, 7]))?;
    /// assert_eq!(y.to_vec::<i32>()?, [0, 12, 0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn scatter_add(&self, dim: isize, index: &Tensor, src: impl Operand) -> Result<Tensor> = scatter_add
        { in_place: true, samples: scatter_add_samples, errors: scatter_add_errors };

    /// The tensor with elements of `src` written at the places that `index` gives along `dim`:
    /// `out[.., index[.., i, ..], ..] = src[.., i, ..]`; of several writes to one place the last one in row-major order
    /// of the index stays.
    ///
    /// # Shapes
    /// As those of [`scatter_add`](Tensor::scatter_add).
    ///
    /// # Dtypes
    /// All, the same for the tensor and `src`; the index is `i64` or `i32`.
    ///
    /// # Derivative
    /// For the tensor the cotangent with zeros where something was written, for `src` the cotangent at the places of
    /// the writes that stayed, and zero for those that were overwritten.
    ///
    /// # Errors
    /// As those of [`scatter_add`](Tensor::scatter_add).
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor};
    /// let x = Tensor::zeros(&[3], DType::I32)?;
    /// let y = x.scatter(0, &Tensor::from([1i64, 1]), &Tensor::from([5, 7]))?;
    /// assert_eq!(y.to_vec::<i32>()?, [0, 7, 0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn scatter(&self, dim: isize, index: &Tensor, src: impl Operand) -> Result<Tensor> = scatter
        {
            in_place: true, samples: scatter_samples, errors: scatter_errors,
            python: scatter(dim, index, src),
            python: scatter(dim, index, src as value)
        };
}

/// Elements of the first input along `dim` at the places of the second; only the last of several that name one place
/// if `last`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gather {
    pub(super) dim: usize,
    pub(super) last: bool,
}

impl Gather {
    pub(super) fn call(self, x: &Tensor, index: &Tensor) -> Result<Tensor> {
        apply1(self, &[x, index])
    }
}

/// The elements of `x` along `dim` at places of the same other sizes, which lie inside of it.
pub(in crate::ops) fn gather_at(x: &Tensor, dim: usize, index: &Tensor) -> Result<Tensor> {
    Gather { dim, last: false }.call(x, index)
}

impl Op for Gather {
    fn name(&self) -> &str {
        "gather"
    }
    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let (x, index) = (inputs[0].concrete(), inputs[1].concrete());
        let kernel = if self.last { gather::gather_last } else { gather::gather };
        Ok(smallvec![kernel(x, self.dim, index)?.into()])
    }
    fn save(&self, _: &[bool], inputs: &[&Tensor], _: &[Tensor]) -> Result<Saved> {
        let mut saved = Saved::shape(inputs[0].shape());
        saved.tensors.push(inputs[1].clone());
        Ok(saved)
    }
    fn backward(&self, saved: &Saved, _: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        let scatter = Scatter { dim: self.dim, add: !self.last };
        let back = |g: &Tensor| scatter.call(&zeros(&saved.get_shape(), g.dtype())?, &saved.tensors[0], g);
        Ok(smallvec![grads[0].map(back)?, Cotangent::zero()])
    }
    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        Ok(smallvec![tangents[0].map(|t| self.call(t, &saved.tensors[0]))?])
    }
    fn vmap(&self, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        let Gather { dim, last } = *self;
        let [x, index] = [inputs[0], inputs[1]];
        match (dims[0], dims[1]) {
            (Some(lane), None) => {
                let index = lanes_at(index, None, lane, info.batch_size)?;
                let out = Gather { dim: behind(dim, lane), last }.call(x, &index)?;
                Ok((smallvec![out], smallvec![Some(lane)]))
            }
            // All lanes read the same elements: together they are one longer index, and `x` is not repeated.
            (None, Some(lane)) if !last => {
                let index = move_dim(index, lane, dim)?;
                let unfolded = Shape::from_slice(index.shape());
                let mut folded = unfolded.clone();
                let lanes = folded.remove(dim);
                folded[dim] *= lanes;
                let out = self.call(x, &index.reshape_to(&folded)?)?.reshape_to(&unfolded)?;
                Ok((smallvec![out], smallvec![Some(dim)]))
            }
            _ => vmap_at(Gather { dim: dim + 1, last }, 0, info, dims, inputs),
        }
    }
}

/// Fails unless `index` has the rank of `x` and is no larger except in `dim`.
fn check_fits(op: &str, x: &Tensor, dim: usize, index: &Tensor) -> Result<()> {
    check_index_dtype(op, index)?;
    let fits = |d: usize| d == dim || index.shape()[d] <= x.shape()[d];
    if index.rank() != x.rank() || !(0..x.rank()).all(fits) {
        let (x, index) = (x.ty(), index.ty());
        bail!(Shape, "{op}: expected an index of the rank of {x}, no larger in any dim but {dim}, got {index}");
    }
    Ok(())
}

fn gather(x: &Tensor, dim: isize, index: &Tensor) -> Result<Tensor> {
    let dim = resolve_dim("gather", dim, x.rank(), x.ty())?;
    check_fits("gather", x, dim, index)?;
    Gather { dim, last: false }.call(x, &check_index("gather", x, dim, index)?)
}

fn take_along_dim(x: &Tensor, index: &Tensor, dim: isize) -> Result<Tensor> {
    let op = "take_along_dim";
    let dim = resolve_dim(op, dim, x.rank(), x.ty())?;
    check_index_dtype(op, index)?;
    let (mut from, mut places) = (Shape::from_slice(x.shape()), Shape::from_slice(index.shape()));
    let common = if places.len() == from.len() {
        (from[dim], places[dim]) = (1, 1);
        broadcast(&from, &places)
    } else {
        None
    };
    let Some(common) = common else {
        let (x, index) = (x.ty(), index.ty());
        bail!(Shape, "{op}: expected an index that broadcasts with {x} in every dim but {dim}, got {index}");
    };
    (from, places) = (common.clone(), common);
    (from[dim], places[dim]) = (x.shape()[dim], index.shape()[dim]);
    let index = Wanted::Elements.check(op, x, dim, index)?;
    Gather { dim, last: false }.call(&broadcast_to(x, &from)?, &broadcast_to(&index, &places)?)
}

/// Elements of the third input, written or added to the first along `dim` at the places of the second; index and
/// source have one shape.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scatter {
    pub(super) dim: usize,
    pub(super) add: bool,
}

impl Scatter {
    pub(super) fn call(self, x: &Tensor, index: &Tensor, src: &Tensor) -> Result<Tensor> {
        apply1(self, &[x, index, src])
    }
}

/// The shapes of the tensor and the index of a [`Scatter`].
struct ScatterShapes {
    x: Shape,
    index: Shape,
}

impl Op for Scatter {
    fn name(&self) -> &str {
        if self.add { "scatter_add" } else { "scatter" }
    }
    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let [x, index, src]: [&Array; 3] = std::array::from_fn(|k| inputs[k].concrete());
        let out = match self.add {
            true => widened([x, src], |[x, src]| gather::scatter_add(x, self.dim, index, src)),
            false => gather::scatter(x, self.dim, index, src),
        };
        Ok(smallvec![out?.into()])
    }
    fn save(&self, _: &[bool], inputs: &[&Tensor], _: &[Tensor]) -> Result<Saved> {
        let [x, index] = [0, 1].map(|k| Shape::from_slice(inputs[k].shape()));
        Ok(Saved::tensors([inputs[1]]).with_state(ScatterShapes { x, index }))
    }
    fn backward(&self, saved: &Saved, needs: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        let index = &saved.tensors[0];
        let x = match needs[0] && !self.add {
            true => {
                let shape = &saved.get_state::<ScatterShapes>().index;
                grads[0].map(|g| self.call(g, index, &zeros(shape, g.dtype())?))?
            }
            false => grads[0].clone(),
        };
        let src = match needs[2] {
            true => grads[0].map(|g| Gather { dim: self.dim, last: !self.add }.call(g, index))?,
            false => Cotangent::zero(),
        };
        Ok(smallvec![x, Cotangent::zero(), src])
    }
    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        let shapes = saved.get_state::<ScatterShapes>();
        let (x, src) = match (tangents[0].as_tensor(), tangents[2].as_tensor()) {
            (Some(x), None) if self.add => return Ok(smallvec![x.clone().into()]),
            (None, None) => return Ok(smallvec![Tangent::zero()]),
            (Some(x), Some(src)) => (x.clone(), src.clone()),
            (Some(x), None) => (x.clone(), zeros(&shapes.index, x.dtype())?),
            (None, Some(src)) => (zeros(&shapes.x, src.dtype())?, src.clone()),
        };
        Ok(smallvec![self.call(&x, &saved.tensors[0], &src)?.into()])
    }
    fn vmap(&self, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        vmap_at(Scatter { dim: self.dim + 1, ..*self }, 0, info, dims, inputs)
    }
}

/// The dimension of a scatter, and the part of `src` that an index of its shape places.
pub(super) fn placed(op: &str, x: &Tensor, dim: isize, index: &Tensor, src: &Tensor) -> Result<(usize, Tensor)> {
    let dim = resolve_dim(op, dim, x.rank(), x.ty())?;
    check_fits(op, x, dim, index)?;
    check_src_dtype(op, x, src)?;
    let src = if src.rank() == 0 {
        broadcast_to(src, index.shape())?
    } else if src.rank() == x.rank() && src.shape().iter().zip(index.shape()).all(|(s, i)| i <= s) {
        let mut part = src.clone();
        for (d, &n) in index.shape().iter().enumerate() {
            part = slice(&part, d, 0, n, 1)?;
        }
        part
    } else {
        let (index, src) = (index.ty(), src.ty());
        bail!(Shape, "{op}: expected a src no smaller than the index in any dim, got {src} and index {index}");
    };
    Ok((dim, src))
}

fn scatter_any(
    op: &'static str,
    x: &Tensor,
    dim: isize,
    index: &Tensor,
    src: impl Operand,
    add: bool,
) -> Result<Tensor> {
    src.with_operand(op, x.dtype(), |src| {
        let (dim, src) = placed(op, x, dim, index, src)?;
        Scatter { dim, add }.call(x, &check_index(op, x, dim, index)?, &src)
    })
}

fn scatter_add(x: &Tensor, dim: isize, index: &Tensor, src: impl Operand) -> Result<Tensor> {
    check_number("scatter_add", x)?;
    scatter_any("scatter_add", x, dim, index, src, true)
}

fn scatter(x: &Tensor, dim: isize, index: &Tensor, src: impl Operand) -> Result<Tensor> {
    scatter_any("scatter", x, dim, index, src, false)
}

fn naive_gather(x: &Naive, dim: usize, index: &Naive) -> Naive {
    Naive::from_fn(&index.shape, |at| x.at(&with(at, dim, resolve(index.at(at), x.shape[dim]))))
}

fn naive_scatter(x: &Naive, dim: usize, index: &Naive, src: &Naive, join: fn(f64, f64) -> f64) -> Naive {
    let mut out = x.clone();
    Naive::from_fn(&index.shape, |at| {
        let k = flat(&x.shape, &with(at, dim, resolve(index.at(at), x.shape[dim])));
        out.data[k] = join(out.data[k], if src.shape.is_empty() { src.data[0] } else { src.at(at) });
        0.0
    });
    out
}

/// Cases for [`gather`] and its relatives: label, shape, dim, index.
fn element_cases() -> Vec<(&'static str, &'static [usize], isize, Tensor)> {
    vec![
        ("1-d, repeated", &[3], 0, index(&[1, 1, -1, 0, 1], &[5])),
        ("rows", &[3, 2], 0, index(&[0, -1, 2, 2], &[2, 2])),
        ("columns, fewer rows, i32", &[3, 4], -1, Tensor::from([[3i32, 0, 0], [1, -4, 2]])),
        ("middle", &[2, 3, 2], 1, index(&[0, 1, 2, 0, 1, 1, -1, -2], &[2, 2, 2])),
        ("no place", &[2, 3], 1, index(&[], &[2, 0])),
        ("empty", &[0, 3], 1, index(&[], &[0, 2])),
    ]
}

fn gather_samples() -> Vec<Sample> {
    element_cases()
        .into_iter()
        .map(|(label, shape, dim, index)| {
            let d = dim.rem_euclid(shape.len() as isize) as usize;
            Sample::one(label, [sample_tensor(shape, -1.0, 1.0, 1), index], move |x| x[0].gather(dim, &x[1]))
                .reference(move |x| vec![naive_gather(&x[0], d, &x[1])])
        })
        .collect()
}

fn gather_errors() -> Vec<ErrorSample> {
    let x = || sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![
        ErrorSample::new(
            "index",
            ErrorKind::Index,
            "gather: index 3 at position [1,0] is out of range for dim 1 of f64[2,3], which has size 3",
            move || x().gather(1, &index(&[0, 3], &[2, 1])),
        ),
        ErrorSample::new(
            "of a lane",
            ErrorKind::Index,
            "gather: index -4 at position [1,0] of lane 1 is out of range for dim 1 of f64[2,3], which has size 3",
            move || crate::vmap(move |i: &Tensor| x().gather(1, i))(&index(&[0, 1, 2, -4], &[2, 2, 1])),
        ),
        ErrorSample::new(
            "shape",
            ErrorKind::Shape,
            "expected an index of the rank of f64[2,3], no larger in any dim but 1, got i64[3,1]",
            move || x().gather(1, &index(&[0, 1, 2], &[3, 1])),
        ),
        ErrorSample::new("dtype", ErrorKind::Dtype, "expected an index of dtype i64 or i32, got f64", move || {
            x().gather(0, &x())
        }),
    ]
}

fn take_along_dim_samples() -> Vec<Sample> {
    let case = |label: &str, shape: &[usize], index: Tensor, dim: usize, out: &'static [usize]| {
        Sample::one(label, [sample_tensor(shape, -1.0, 1.0, 1), index], move |x| {
            x[0].take_along_dim(&x[1], dim as isize)
        })
        .reference(move |x| {
            let n = x[0].shape[dim];
            vec![Naive::from_fn(out, |at| {
                let i = resolve(x[1].at_broadcast(at), n);
                let mut from = with(at, dim, i);
                for (k, f) in from.iter_mut().enumerate() {
                    *f = if x[0].shape[k] == 1 { 0 } else { *f };
                }
                x[0].at(&from)
            })]
        })
    };
    vec![
        case("same shapes", &[2, 3], index(&[2, 0, 1, 1, -1, 0], &[2, 3]), 1, &[2, 3]),
        case("index repeated", &[2, 3], index(&[2, 2, 0, -2], &[1, 4]), 1, &[2, 4]),
        case("tensor repeated", &[3, 1], index(&[2, 0, 1, -1], &[2, 2]), 0, &[2, 2]),
        case("no index", &[2, 3], index(&[], &[2, 0]), 1, &[2, 0]),
    ]
}

fn take_along_dim_errors() -> Vec<ErrorSample> {
    let x = || sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![
        ErrorSample::new(
            "shape",
            ErrorKind::Shape,
            "expected an index that broadcasts with f64[2,3] in every dim but 1, got i64[3,1]",
            move || x().take_along_dim(&index(&[0, 1, 2], &[3, 1]), 1),
        ),
        ErrorSample::new("rank", ErrorKind::Shape, "got i64[1]", move || x().take_along_dim(&index(&[0], &[1]), 1)),
    ]
}

/// Samples of the operations that put elements into a tensor.
fn elements_samples(
    call: fn(&Tensor, isize, &Tensor, &Tensor) -> Result<Tensor>,
    join: fn(f64, f64) -> f64,
) -> Vec<Sample> {
    let case = |label: &str, shape: &[usize], dim: isize, index: Tensor, src: Tensor| {
        let d = dim.rem_euclid(shape.len() as isize) as usize;
        Sample::one(label, [sample_tensor(shape, -1.0, 1.0, 1), index, src], move |x| call(&x[0], dim, &x[1], &x[2]))
            .reference(move |x| vec![naive_scatter(&x[0], d, &x[1], &x[2], join)])
    };
    let mut out: Vec<Sample> = element_cases()
        .into_iter()
        .map(|(label, shape, dim, index)| {
            let src = sample_tensor(index.shape(), -1.0, 1.0, 2);
            case(label, shape, dim, index, src)
        })
        .collect();
    let src = sample_tensor(&[3, 4], -1.0, 1.0, 2);
    out.push(case("larger src", &[3, 4], 0, index(&[0, 2, -1, 1, 1, 1], &[2, 3]), src));
    out.push(case("one src", &[4], 0, index(&[2, 2, 0], &[3]), sample_tensor(&[], 1.0, 2.0, 2)));
    out
}

fn elements_errors(call: fn(&Tensor, isize, &Tensor, &Tensor) -> Result<Tensor>) -> Vec<ErrorSample> {
    let x = || sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![
        ErrorSample::new(
            "index",
            ErrorKind::Index,
            "index 3 at position [0,1] is out of range for dim 1 of f64[2,3], which has size 3",
            move || call(&x(), 1, &index(&[0, 3], &[1, 2]), &x()),
        ),
        ErrorSample::new(
            "src",
            ErrorKind::Shape,
            "expected a src no smaller than the index in any dim, got f64[2,3] and index i64[1,4]",
            move || call(&x(), 1, &index(&[0; 4], &[1, 4]), &x()),
        ),
        ErrorSample::new("shape", ErrorKind::Shape, "got i64[3,1]", move || {
            call(&x(), 1, &index(&[0; 3], &[3, 1]), &x())
        }),
        ErrorSample::new("dtype", ErrorKind::Dtype, "expected a src of dtype f64, got f32[2,3]", move || {
            call(&x(), 0, &index(&[0, 1], &[1, 2]), &x().to_dtype(DType::F32)?)
        }),
    ]
}

fn scatter_add_samples() -> Vec<Sample> {
    elements_samples(|x, dim, index, src| x.scatter_add(dim, index, src), |a, b| a + b)
}

fn scatter_add_errors() -> Vec<ErrorSample> {
    let mut out = elements_errors(|x, dim, index, src| x.scatter_add(dim, index, src));
    out.push(ErrorSample::new("bool", ErrorKind::Dtype, "expected a tensor of numbers, got bool[1]", || {
        let x = Tensor::from([true]);
        x.scatter_add(0, &index(&[0], &[1]), &x)
    }));
    out
}

fn scatter_samples() -> Vec<Sample> {
    elements_samples(|x, dim, index, src| x.scatter(dim, index, src), |_, b| b)
}

fn scatter_errors() -> Vec<ErrorSample> {
    elements_errors(|x, dim, index, src| x.scatter(dim, index, src))
}
