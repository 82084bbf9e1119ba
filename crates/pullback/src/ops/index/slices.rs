//! Whole slices along a dimension at the places of an index.

use std::fmt;

use smallvec::smallvec;

use super::check::{Wanted, check_index, check_index_dtype, check_number, check_src_dtype};
use super::elements::Scatter;
use super::naive::{flat, index, resolve};
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
use crate::shape::{Brackets, Shape, broadcasts_to, resolve_dim};
use crate::{DType, ErrorKind, Operand, Result, Tensor};

ops! { OPS;
    /// The slices along `dim` at the places that `index` gives.
    ///
    /// # Shapes
    /// The dimensions of `index` take the place of `dim`: an index `[k]` keeps the rank, a 0-d index removes the
    /// dimension, an index `[j,k]` adds one. Negative indices count from the end.
    ///
    /// # Dtypes
    /// All; the index is `i64` or `i32`.
    ///
    /// # Derivative
    /// The cotangent added up at the places that were read, in the order of the index; see
    /// [`index_add`](Tensor::index_add). The index has no derivative.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Index` if an index is; `Dtype` for an index of another dtype.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, vmap};
    /// let table = Tensor::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    /// let rows = table.index_select(0, &Tensor::from([2i64, 0]))?;
    /// assert_eq!(rows.to_vec::<f64>()?, [5.0, 6.0, 1.0, 2.0]);
    /// // A 0-d index may be a lane.
    /// let pick = vmap(|i: &Tensor| Tensor::from([10, 20, 30]).index_select(0, i));
    /// assert_eq!(pick(&Tensor::from([1i64, -1]))?.to_vec::<i32>()?, [20, 30]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn index_select(&self, dim: isize, index: &Tensor) -> Result<Tensor> = index_select
        { samples: index_select_samples, errors: index_select_errors };

    /// The tensor with slices of `src` added along `dim` at the places that `index` gives; those that meet add up, in
    /// the order of the index.
    ///
    /// # Shapes
    /// `src` has the shape of [`index_select`](Tensor::index_select) with the same index.
    ///
    /// # Dtypes
    /// Numbers, the same for the tensor and `src`; the index is `i64` or `i32`.
    ///
    /// # Derivative
    /// The cotangent for the tensor, and its slices at `index` for `src`.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Index` if an index is; `Shape` if `src` has another shape; `Dtype`.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor};
    /// let x = Tensor::zeros(&[3], DType::I32)?;
    /// let y = x.index_add(0, &Tensor::from([1i64, 1, -1]), &Tensor::from([5, 7, 1]))?;
    /// assert_eq!(y.to_vec::<i32>()?, [0, 12, 1]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn index_add(&self, dim: isize, index: &Tensor, src: &Tensor) -> Result<Tensor> = index_add {
        in_place: true, samples: index_add_samples, errors: index_add_errors,
        python: index_add(dim, index, src as source)
    };

    /// The tensor with slices of `src`, times `alpha`, added along `dim` at the places that `index` gives.
    ///
    /// This is [`index_add`](Tensor::index_add) of a multiple of `src`.
    ///
    /// # Shapes
    /// As those of [`index_add`](Tensor::index_add). `alpha` is a number, or broadcasts to `src`.
    ///
    /// # Dtypes
    /// Numbers, the same for the tensor and for `src` times `alpha`: a float is no factor for integers.
    ///
    /// # Derivative
    /// The cotangent for the tensor; its slices at `index` times `alpha` for `src`, and times `src` for `alpha`.
    ///
    /// # Errors
    /// As those of [`index_add`](Tensor::index_add).
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor};
    /// let x = Tensor::zeros(&[3], DType::I32)?;
    /// let y = x.index_add_scaled(0, &Tensor::from([1i64, 1]), &Tensor::from([5, 7]), 2)?;
    /// assert_eq!(y.to_vec::<i32>()?, [0, 24, 0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn index_add_scaled(&self, dim: isize, index: &Tensor, src: &Tensor, alpha: impl Operand) -> Result<Tensor>
        = index_add_scaled {
        in_place: true, samples: index_add_scaled_samples, errors: index_add_scaled_errors,
        python: index_add(dim, index, src as source, alpha)
    };

    /// The tensor with slices of `src` written along `dim` at the places that `index` gives; of several writes to one
    /// place the last one stays.
    ///
    /// # Shapes
    /// `src` has the shape of [`index_select`](Tensor::index_select) with the same index.
    ///
    /// # Dtypes
    /// All, the same for the tensor and `src`; the index is `i64` or `i32`.
    ///
    /// # Derivative
    /// As that of [`scatter`](Tensor::scatter).
    ///
    /// # Errors
    /// As those of [`index_add`](Tensor::index_add).
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor};
    /// let x = Tensor::zeros(&[3], DType::I32)?;
    /// let y = x.index_copy(0, &Tensor::from([1i64, 1]), &Tensor::from([5, 7]))?;
    /// assert_eq!(y.to_vec::<i32>()?, [0, 7, 0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn index_copy(&self, dim: isize, index: &Tensor, src: &Tensor) -> Result<Tensor> = index_copy {
        in_place: true, samples: index_copy_samples, errors: index_copy_errors,
        python: index_copy(dim, index, src as source)
    };

    /// `len` elements along `dim` from `start` on, where the start is a tensor and may differ between lanes.
    ///
    /// # Shapes
    /// A 0-d `start` keeps the rank. The dimensions of another one come before `dim` in the result: one slice for
    /// every start. Negative starts count from the end.
    ///
    /// # Dtypes
    /// All; the start is `i64` or `i32`.
    ///
    /// # Derivative
    /// The cotangent at its places, added up where slices overlap.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Index` if a slice does not lie inside the tensor (it is never moved);
    /// `Dtype` for a start of another dtype.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, vmap};
    /// let f = vmap(|(row, start): &(Tensor, Tensor)| row.dynamic_slice(0, start, 2));
    /// let rows = Tensor::from([[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]);
    /// let y = f(&(rows, Tensor::from([0i64, 3])))?;
    /// assert_eq!(y.to_vec::<i32>()?, [0, 1, 8, 9]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn dynamic_slice(&self, dim: isize, start: &Tensor, len: usize) -> Result<Tensor> = dynamic_slice {
        samples: dynamic_slice_samples, errors: dynamic_slice_errors,
        python: dynamic_slice(dim, start, len as length)
    };
}

/// Slices of the first input along `dim`, at the places of the second. The first `batch` dims of both are the same
/// ones, each with an index of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexSelect {
    pub(super) batch: usize,
    pub(super) dim: usize,
}

impl IndexSelect {
    pub(super) fn call(self, x: &Tensor, index: &Tensor) -> Result<Tensor> {
        apply1(self, &[x, index])
    }
}

impl Op for IndexSelect {
    fn name(&self) -> &str {
        "index_select"
    }
    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let out = gather::index_select(inputs[0].concrete(), self.batch, self.dim, inputs[1].concrete())?;
        Ok(smallvec![out.into()])
    }
    fn save(&self, _: &[bool], inputs: &[&Tensor], _: &[Tensor]) -> Result<Saved> {
        let mut saved = Saved::shape(inputs[0].shape());
        saved.tensors.push(inputs[1].clone());
        Ok(saved)
    }
    fn backward(&self, saved: &Saved, _: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        let IndexSelect { batch, dim } = *self;
        let back =
            |g: &Tensor| IndexAdd { batch, dim }.call(&zeros(&saved.get_shape(), g.dtype())?, &saved.tensors[0], g);
        Ok(smallvec![grads[0].map(back)?, Cotangent::zero()])
    }
    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        Ok(smallvec![tangents[0].map(|t| self.call(t, &saved.tensors[0]))?])
    }
    fn vmap(&self, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        let IndexSelect { batch, dim } = *self;
        let [x, index] = [inputs[0], inputs[1]];
        // Lanes of one input are one more of its dims behind the common ones, and need not move.
        let clear = |t: &Tensor, lane: usize| -> Result<(Tensor, usize)> {
            if lane < batch { Ok((move_dim(t, lane, batch)?, batch)) } else { Ok((t.clone(), lane)) }
        };
        match (dims[0], dims[1]) {
            (Some(lane), None) => {
                let (x, lane) = clear(x, lane)?;
                let out = IndexSelect { batch, dim: behind(dim, lane) }.call(&x, index)?;
                let out_lane = if lane <= dim { lane } else { lane + index.rank() - batch - 1 };
                Ok((smallvec![out], smallvec![Some(out_lane)]))
            }
            (None, Some(lane)) => {
                let (index, lane) = clear(index, lane)?;
                Ok((smallvec![self.call(x, &index)?], smallvec![Some(dim + lane - batch)]))
            }
            _ => vmap_at(IndexSelect { batch: batch + 1, dim: dim + 1 }, 0, info, dims, inputs),
        }
    }
}

fn index_select(x: &Tensor, dim: isize, index: &Tensor) -> Result<Tensor> {
    let dim = resolve_dim("index_select", dim, x.rank(), x.ty())?;
    check_index_dtype("index_select", index)?;
    IndexSelect { batch: 0, dim }.call(x, &check_index("index_select", x, dim, index)?)
}

/// The transpose of [`IndexSelect`]: slices of the third input are added to the first.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexAdd {
    pub(super) batch: usize,
    pub(super) dim: usize,
}

impl IndexAdd {
    pub(super) fn call(self, x: &Tensor, index: &Tensor, src: &Tensor) -> Result<Tensor> {
        apply1(self, &[x, index, src])
    }
}

impl Op for IndexAdd {
    fn name(&self) -> &str {
        "index_add"
    }
    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let [x, index, src]: [&Array; 3] = std::array::from_fn(|k| inputs[k].concrete());
        Ok(smallvec![widened([x, src], |[x, src]| gather::index_add(x, self.batch, self.dim, index, src))?.into()])
    }
    fn save(&self, _: &[bool], inputs: &[&Tensor], _: &[Tensor]) -> Result<Saved> {
        let mut saved = Saved::shape(inputs[0].shape());
        saved.tensors.push(inputs[1].clone());
        Ok(saved)
    }
    fn backward(&self, saved: &Saved, needs: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        let IndexAdd { batch, dim } = *self;
        let src = match needs[2] {
            true => grads[0].map(|g| IndexSelect { batch, dim }.call(g, &saved.tensors[0]))?,
            false => Cotangent::zero(),
        };
        Ok(smallvec![grads[0].clone(), Cotangent::zero(), src])
    }
    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        let Some(src) = tangents[2].as_tensor() else { return Ok(smallvec![tangents[0].clone()]) };
        let x = match tangents[0].as_tensor() {
            Some(x) => x.clone(),
            None => zeros(&saved.get_shape(), src.dtype())?,
        };
        Ok(smallvec![self.call(&x, &saved.tensors[0], src)?.into()])
    }
    fn vmap(&self, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        let IndexAdd { batch, dim } = *self;
        if dims[1].is_some() {
            return vmap_at(IndexAdd { batch: batch + 1, dim: dim + 1 }, 0, info, dims, inputs);
        }
        let x = lanes_at(inputs[0], dims[0], batch, info.batch_size)?;
        let src = lanes_at(inputs[2], dims[2], batch, info.batch_size)?;
        let out = IndexAdd { batch, dim: dim + 1 }.call(&x, inputs[1], &src)?;
        Ok((smallvec![out], smallvec![Some(batch)]))
    }
}

/// The dim, and the shape that [`index_select`] gives, which is that of `src`.
pub(super) fn check_slices(op: &'static str, x: &Tensor, dim: isize, index: &Tensor, src: &Tensor) -> Result<usize> {
    let dim = resolve_dim(op, dim, x.rank(), x.ty())?;
    check_index_dtype(op, index)?;
    check_src_dtype(op, x, src)?;
    let mut shape = Shape::from_slice(&x.shape()[..dim]);
    shape.extend_from_slice(index.shape());
    shape.extend_from_slice(&x.shape()[dim + 1..]);
    if src.shape() != &shape[..] {
        let (expected, x, index) = (Brackets(&shape), x.ty(), index.ty());
        bail!(
            Shape,
            "{op}: expected a src of shape {expected} for {x} and index {index} in dim {dim}, got {}",
            src.ty()
        );
    }
    Ok(dim)
}

fn index_add(x: &Tensor, dim: isize, index: &Tensor, src: &Tensor) -> Result<Tensor> {
    let dim = check_slices("index_add", x, dim, index, src)?;
    check_number("index_add", x)?;
    IndexAdd { batch: 0, dim }.call(x, &check_index("index_add", x, dim, index)?, src)
}

fn index_add_scaled(x: &Tensor, dim: isize, index: &Tensor, src: &Tensor, alpha: impl Operand) -> Result<Tensor> {
    check_slices("index_add", x, dim, index, src)?;
    check_number("index_add", x)?;
    let multiple = alpha.with_operand("index_add", src.dtype(), |alpha| {
        if !broadcasts_to(alpha.shape(), src.shape()) {
            bail!(Shape, "index_add: expected an `alpha` that broadcasts to {}, got {}", src.ty(), alpha.ty());
        }
        src.mul(alpha)
    })?;
    index_add(x, dim, index, &multiple)
}

fn index_copy(x: &Tensor, dim: isize, index: &Tensor, src: &Tensor) -> Result<Tensor> {
    let dim = check_slices("index_copy", x, dim, index, src)?;
    let index = Wanted::Elements.check("index_copy", x, dim, index)?;
    let (index, src) = rows_of(x, dim, &index, src)?;
    Scatter { dim, add: false }.call(x, &index, &src)
}

/// An index and the slices of `src` that it places, as [`Scatter`] takes them: one dim for the places, as in `x`, and the
/// index repeated along all others.
pub(super) fn rows_of(x: &Tensor, dim: usize, index: &Tensor, src: &Tensor) -> Result<(Tensor, Tensor)> {
    let n = index.numel();
    let mut shape = Shape::from_slice(x.shape());
    shape[dim] = n;
    let src = src.reshape_to(&shape)?;
    let mut column = Shape::from_elem(1, x.rank());
    column[dim] = n;
    Ok((broadcast_to(&index.reshape_to(&column)?, &shape)?, src))
}

fn dynamic_slice(x: &Tensor, dim: isize, start: &Tensor, len: usize) -> Result<Tensor> {
    let op = "dynamic_slice";
    let dim = resolve_dim(op, dim, x.rank(), x.ty())?;
    check_index_dtype(op, start)?;
    let index = Wanted::Starts(len).check(op, x, dim, start)?;
    // A start that is known needs no index: the slice is a view.
    if let Some(places) = index.array()
        && start.rank() == 0
        && let Some(&[first, ..]) = places.as_slice::<i64>()
    {
        return slice(x, dim, first as usize, len, 1);
    }
    IndexSelect { batch: 0, dim }.call(x, &index)
}

/// The shape of the slices of `shape` along `dim` at the places of `index`.
fn sliced(shape: &[usize], dim: usize, index: &[usize]) -> Vec<usize> {
    [&shape[..dim], index, &shape[dim + 1..]].concat()
}

/// Where in `x` the element `at` of its slices comes from.
fn origin(x: &Naive, dim: usize, index: &Naive, at: &[usize]) -> Vec<usize> {
    let rank = index.shape.len();
    let place = resolve(index.at(&at[dim..dim + rank]), x.shape[dim]);
    [&at[..dim], &[place], &at[dim + rank..]].concat()
}

fn naive_select(x: &Naive, dim: usize, index: &Naive) -> Naive {
    Naive::from_fn(&sliced(&x.shape, dim, &index.shape), |at| x.at(&origin(x, dim, index, at)))
}

/// Joins the slices of `src` to `x`.
fn naive_slices(x: &Naive, dim: usize, index: &Naive, src: &Naive, join: fn(f64, f64) -> f64) -> Naive {
    let mut out = x.clone();
    Naive::from_fn(&src.shape, |at| {
        let k = flat(&x.shape, &origin(x, dim, index, at));
        out.data[k] = join(out.data[k], src.at(at));
        0.0
    });
    out
}

/// Cases for [`index_select`] and its relatives: label, shape, dim, index.
fn slices_cases() -> Vec<(&'static str, &'static [usize], isize, Tensor)> {
    vec![
        ("rows", &[4, 3], 0, index(&[2, 0, -1], &[3])),
        ("columns, repeated", &[2, 4], -1, index(&[1, 1, -3, 0, 1], &[5])),
        ("middle, i32", &[2, 3, 2], 1, Tensor::from([2i32, 0])),
        ("one place", &[3, 2], 0, index(&[-2], &[])),
        ("two dims of places", &[2, 4, 2], 1, index(&[0, 3, -1, 1, 1, 2], &[2, 3])),
        ("no place", &[2, 3], 1, index(&[], &[0])),
        ("empty slices", &[3, 0], 0, index(&[1, 1], &[2])),
    ]
}

fn index_select_samples() -> Vec<Sample> {
    slices_cases()
        .into_iter()
        .map(|(label, shape, dim, index)| {
            let d = dim.rem_euclid(shape.len() as isize) as usize;
            Sample::one(label, [sample_tensor(shape, -1.0, 1.0, 1), index], move |x| x[0].index_select(dim, &x[1]))
                .reference(move |x| vec![naive_select(&x[0], d, &x[1])])
        })
        .collect()
}

fn index_select_errors() -> Vec<ErrorSample> {
    let x = || sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![
        ErrorSample::new(
            "index",
            ErrorKind::Index,
            "index_select: index 3 at position [1] is out of range for dim 1 of f64[2,3], which has size 3",
            move || x().index_select(1, &index(&[0, 3], &[2])),
        ),
        ErrorSample::new(
            "of a lane",
            ErrorKind::Index,
            "index_select: index -4 of lane 1 is out of range for dim 1 of f64[2,3], which has size 3",
            move || crate::vmap(move |i: &Tensor| x().index_select(1, i))(&index(&[2, -4], &[2])),
        ),
        ErrorSample::new("dim", ErrorKind::Dim, "dim 2 is out of range for f64[2,3]", move || {
            x().index_select(2, &index(&[0], &[1]))
        }),
        ErrorSample::new("dtype", ErrorKind::Dtype, "expected an index of dtype i64 or i32, got f64", move || {
            x().index_select(0, &x())
        }),
    ]
}

/// Samples of the operations that put slices into a tensor.
fn slices_samples(
    call: fn(&Tensor, isize, &Tensor, &Tensor) -> Result<Tensor>,
    join: fn(f64, f64) -> f64,
) -> Vec<Sample> {
    slices_cases()
        .into_iter()
        .map(|(label, shape, dim, index)| {
            let d = dim.rem_euclid(shape.len() as isize) as usize;
            let src = sample_tensor(&sliced(shape, d, index.shape()), -1.0, 1.0, 2);
            let inputs = [sample_tensor(shape, -1.0, 1.0, 1), index, src];
            Sample::one(label, inputs, move |x| call(&x[0], dim, &x[1], &x[2]))
                .reference(move |x| vec![naive_slices(&x[0], d, &x[1], &x[2], join)])
        })
        .collect()
}

fn slices_errors(call: fn(&Tensor, isize, &Tensor, &Tensor) -> Result<Tensor>) -> Vec<ErrorSample> {
    let x = || sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![
        ErrorSample::new(
            "index",
            ErrorKind::Index,
            "index 3 at position [1] is out of range for dim 1 of f64[2,3], which has size 3",
            move || call(&x(), 1, &index(&[0, 3], &[2]), &sample_tensor(&[2, 2], 0.0, 1.0, 2)),
        ),
        ErrorSample::new(
            "src",
            ErrorKind::Shape,
            "expected a src of shape [2,2] for f64[2,3] and index i64[2] in dim 1, got f64[2,3]",
            move || call(&x(), 1, &index(&[0, 1], &[2]), &x()),
        ),
        ErrorSample::new("dtype", ErrorKind::Dtype, "expected a src of dtype f64, got f32[2,3]", move || {
            call(&x(), 0, &index(&[0, 1], &[2]), &x().to_dtype(DType::F32)?)
        }),
    ]
}

fn index_add_samples() -> Vec<Sample> {
    slices_samples(Tensor::index_add, |a, b| a + b)
}

fn index_add_errors() -> Vec<ErrorSample> {
    slices_errors(Tensor::index_add)
}

fn index_add_scaled_samples() -> Vec<Sample> {
    let mut samples =
        slices_samples(|x, dim, index, src| x.index_add_scaled(dim, index, src, -1.5), |a, b| a - 1.5 * b);
    let inputs = [(&[2, 3][..], 1), (&[2, 2], 2), (&[], 3)].map(|(s, seed)| sample_tensor(s, -1.0, 1.0, seed));
    let places = index(&[2, 2], &[2]);
    let scaled = Sample::one("alpha as a tensor", inputs, move |x| x[0].index_add_scaled(1, &places, &x[1], &x[2]));
    samples.push(scaled.reference(|x| {
        let src = Naive { shape: vec![2, 2], data: x[1].data.iter().map(|v| v * x[2].data[0]).collect() };
        vec![naive_slices(&x[0], 1, &Naive { shape: vec![2], data: vec![2.0, 2.0] }, &src, |a, b| a + b)]
    }));
    samples
}

fn index_add_scaled_errors() -> Vec<ErrorSample> {
    let mut errors = slices_errors(|x, dim, index, src| x.index_add_scaled(dim, index, src, 2));
    errors.push(ErrorSample::new(
        "alpha",
        ErrorKind::Shape,
        "an `alpha` that broadcasts to f64[1], got f64[2]",
        || {
            let x = Tensor::from([1.0]);
            x.index_add_scaled(0, &index(&[0], &[1]), &x, &Tensor::from([1.0, 2.0]))
        },
    ));
    errors.push(ErrorSample::new(
        "float",
        ErrorKind::Dtype,
        "index_add: expected a src of dtype i32, got f32[1]",
        || {
            let x = Tensor::from([1]);
            x.index_add_scaled(0, &index(&[0], &[1]), &x, 0.5)
        },
    ));
    errors
}

fn index_copy_samples() -> Vec<Sample> {
    slices_samples(Tensor::index_copy, |_, b| b)
}

fn index_copy_errors() -> Vec<ErrorSample> {
    slices_errors(Tensor::index_copy)
}

fn dynamic_slice_samples() -> Vec<Sample> {
    let case = |label: &str, shape: &[usize], dim: isize, start: Tensor, len: usize| {
        let d = dim.rem_euclid(shape.len() as isize) as usize;
        Sample::one(label, [sample_tensor(shape, -1.0, 1.0, 1), start], move |x| x[0].dynamic_slice(dim, &x[1], len))
            .reference(move |x| {
                let n = x[0].shape[d];
                let places = Naive::from_fn(&[&x[1].shape[..], &[len]].concat(), |at| {
                    (resolve(x[1].at(&at[..at.len() - 1]), n) + at[at.len() - 1]) as f64
                });
                vec![naive_select(&x[0], d, &places)]
            })
    };
    vec![
        case("vector", &[5], 0, index(&[3], &[]), 2),
        case("columns, from the end, i32", &[2, 4], -1, Tensor::from(-3i32), 3),
        case("several starts", &[5, 2], 0, index(&[3, 0, 2], &[3]), 2),
        case("nothing", &[3, 2], 0, index(&[3], &[]), 0),
    ]
}

fn dynamic_slice_errors() -> Vec<ErrorSample> {
    let x = || sample_tensor(&[5], 0.0, 1.0, 1);
    vec![
        ErrorSample::new(
            "over the end",
            ErrorKind::Index,
            "dynamic_slice: a slice of 2 from 4 is out of range for dim 0 of f64[5], which has size 5",
            move || x().dynamic_slice(0, &index(&[4], &[]), 2),
        ),
        ErrorSample::new("around the end", ErrorKind::Index, "a slice of 2 from -1 is out of range", move || {
            x().dynamic_slice(0, &index(&[-1], &[]), 2)
        }),
        ErrorSample::new(
            "of a lane",
            ErrorKind::Index,
            "a slice of 2 from 4 of lane 1 is out of range for dim 0 of f64[5], which has size 5",
            move || crate::vmap(move |i: &Tensor| x().dynamic_slice(0, i, 2))(&index(&[3, 4], &[2])),
        ),
        ErrorSample::new("too long", ErrorKind::Index, "a slice of 6 from 0 is out of range", move || {
            x().dynamic_slice(0, &index(&[0], &[]), 6)
        }),
    ]
}
