//! Reading and writing along a dimension at places that an index tensor gives.

use smallvec::{SmallVec, smallvec};

use super::family::apply1;
use super::shape::{behind, broadcast_to, move_dim, slice, zeros};
use super::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::array::Array;
use crate::error::bail;
use crate::function::op::{Batched, Cotangents, Op, Tangents};
use crate::function::{Cotangent, OpRef, Outs, Saved, Tangent, VmapInfo};
use crate::interp::bind;
use crate::kernels::gather;
use crate::shape::{Brackets, Dims, Shape, broadcast, resolve_dim, with_dim};
use crate::{DType, ErrorKind, Result, Tensor, TensorType};

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
    fn index_add(&self, dim: isize, index: &Tensor, src: &Tensor) -> Result<Tensor> = index_add
        { samples: index_add_samples, errors: index_add_errors };

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
    fn index_copy(&self, dim: isize, index: &Tensor, src: &Tensor) -> Result<Tensor> = index_copy
        { samples: index_copy_samples, errors: index_copy_errors };

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
    fn take_along_dim(&self, index: &Tensor, dim: isize) -> Result<Tensor> = take_along_dim
        { samples: take_along_dim_samples, errors: take_along_dim_errors };

    /// The tensor with elements of `src` added at the places that `index` gives along `dim`:
    /// `out[.., index[.., i, ..], ..] += src[.., i, ..]`, those that meet in row-major order of the index.
    ///
    /// # Shapes
    /// All ranks are equal. `index` is no larger than `src` in any dimension, and no larger than the tensor in any but
    /// `dim`; what `src` has beyond the index is not read. A 0-d `src` is added at every place.
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
    fn scatter_add(&self, dim: isize, index: &Tensor, src: &Tensor) -> Result<Tensor> = scatter_add
        { samples: scatter_add_samples, errors: scatter_add_errors };

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
    fn scatter(&self, dim: isize, index: &Tensor, src: &Tensor) -> Result<Tensor> = scatter
        { samples: scatter_samples, errors: scatter_errors };

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
    fn dynamic_slice(&self, dim: isize, start: &Tensor, len: usize) -> Result<Tensor> = dynamic_slice
        { samples: dynamic_slice_samples, errors: dynamic_slice_errors };
}

/// What an index is checked for: all of it, or it as the start of slices of a length.
#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    Elements,
    Starts(usize),
}

/// Passes an index on that is in range for a dimension of the tensor that the user sees, or fails in the user's terms
/// where kernels know only of all lanes together. As starts of slices, it becomes the indices of their elements.
#[derive(Clone)]
struct CheckIndex {
    op: &'static str,
    target: TensorType,
    dim: usize,
    wanted: Wanted,
    /// The dims of the index that are lanes, outermost `vmap` first.
    lanes: Dims,
}

impl CheckIndex {
    fn out_of_range(&self, found: &gather::OutOfRange, size: usize) -> Result<Outs> {
        let at = |lanes: bool| -> Shape {
            let dims = 0..found.position.len();
            match lanes {
                true => self.lanes.iter().map(|&d| found.position[d]).collect(),
                false => dims.filter(|d| !self.lanes.contains(d)).map(|d| found.position[d]).collect(),
            }
        };
        let (position, lane) = (at(false), at(true));
        let mut place = match position.len() {
            0 => String::new(),
            _ => format!(" at position {}", Brackets(&position)),
        };
        match lane[..] {
            [] => {}
            [lane] => place += &format!(" of lane {lane}"),
            _ => place += &format!(" of lane {}", Brackets(&lane)),
        }
        let CheckIndex { op, target, dim, .. } = self;
        match self.wanted {
            Wanted::Elements => bail!(
                Index,
                "{op}: index {}{place} is out of range for dim {dim} of {target}, which has size {size}",
                found.value
            ),
            Wanted::Starts(len) => bail!(
                Index,
                "{op}: a slice of {len} from {}{place} is out of range for dim {dim} of {target}, which has size {size}",
                found.value
            ),
        }
    }
}

impl Op for CheckIndex {
    fn name(&self) -> &str {
        self.op
    }
    fn is_differentiable(&self) -> bool {
        false
    }
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let (index, size) = (inputs[0].concrete(), self.target.shape[self.dim]);
        match self.wanted {
            Wanted::Elements => match gather::checked(self.op, index, size)? {
                Ok(index) => Ok(smallvec![index.into()]),
                Err(found) => self.out_of_range(&found, size),
            },
            Wanted::Starts(len) => match gather::ranges(self.op, index, size, len)? {
                Ok(index) => Ok(smallvec![index.into()]),
                Err(found) => self.out_of_range(&found, size),
            },
        }
    }
    fn save(&self, _: &[bool], _: &[&Tensor], _: &[Tensor]) -> Result<Saved> {
        Ok(Saved::default())
    }
    fn backward(&self, _: &Saved, _: &[bool], _: &[Cotangent]) -> Result<Cotangents> {
        Ok(smallvec![Cotangent::zero()])
    }
    fn jvp(&self, _: &Saved, _: &[Tangent]) -> Result<Tangents> {
        Ok(smallvec![Tangent::zero()])
    }
    fn vmap(&self, _: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        let mut op = self.clone();
        if let Some(lane) = dims[0] {
            for d in &mut op.lanes {
                *d += usize::from(*d >= lane);
            }
            op.lanes.insert(0, lane);
        }
        Ok((bind(&OpRef::new(op), inputs)?, dims.into()))
    }
}

impl Wanted {
    /// The index after a check against dimension `dim` of `x` as the user sees it.
    fn check(self, op: &'static str, x: &Tensor, dim: usize, index: &Tensor) -> Result<Tensor> {
        apply1(CheckIndex { op, target: x.ty(), dim, wanted: self, lanes: Dims::new() }, &[index])
    }
}

/// The index after a check, which is left to the kernel where that will see what the user sees.
fn check_index(op: &'static str, x: &Tensor, dim: usize, index: &Tensor) -> Result<Tensor> {
    match (x.array(), index.array()) {
        (Some(_), Some(_)) => Ok(index.clone()),
        _ => Wanted::Elements.check(op, x, dim, index),
    }
}

/// `t` with its lanes in dimension `to`, which is put in with size `size` if there are none.
fn lanes_at(t: &Tensor, lane: Option<usize>, to: usize, size: usize) -> Result<Tensor> {
    match lane {
        Some(lane) => move_dim(t, lane, to),
        None => broadcast_to(&t.reshape_to(&with_dim(t.shape(), to, 1))?, &with_dim(t.shape(), to, size)),
    }
}

/// Calls `op` with the lanes of every input in dimension `to`, where those of the result will be.
fn vmap_at(op: impl Op, to: usize, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
    let moved: SmallVec<[Tensor; 3]> =
        inputs.iter().zip(dims).map(|(t, d)| lanes_at(t, *d, to, info.batch_size)).collect::<Result<_>>()?;
    let outs = bind(&OpRef::new(op), &moved.iter().collect::<SmallVec<[&Tensor; 3]>>())?;
    Ok((outs, smallvec![Some(to)]))
}

/// Slices of the first input along `dim`, at the places of the second. The first `batch` dims of both are the same
/// ones, each with an index of its own.
#[derive(Clone, Copy)]
struct IndexSelect {
    batch: usize,
    dim: usize,
}

impl IndexSelect {
    fn call(self, x: &Tensor, index: &Tensor) -> Result<Tensor> {
        apply1(self, &[x, index])
    }
}

impl Op for IndexSelect {
    fn name(&self) -> &str {
        "index_select"
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
            |g: &Tensor| IndexAdd { batch, dim }.call(&zeros(saved.get_shape(), g.dtype())?, &saved.tensors[0], g);
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

fn check_index_dtype(op: &str, index: &Tensor) -> Result<()> {
    match index.dtype() {
        DType::I64 | DType::I32 => Ok(()),
        other => {
            bail!(Dtype, "{op}: expected an index of dtype i64 or i32, got {other}"; help = "convert it with `to_dtype`")
        }
    }
}

fn check_src_dtype(op: &str, x: &Tensor, src: &Tensor) -> Result<()> {
    if x.dtype() != src.dtype() {
        bail!(Dtype, "{op}: expected a src of dtype {}, got {}", x.dtype(), src.ty(); help = "convert it with `to_dtype`");
    }
    Ok(())
}

/// The transpose of [`IndexSelect`]: slices of the third input are added to the first.
#[derive(Clone, Copy)]
struct IndexAdd {
    batch: usize,
    dim: usize,
}

impl IndexAdd {
    fn call(self, x: &Tensor, index: &Tensor, src: &Tensor) -> Result<Tensor> {
        apply1(self, &[x, index, src])
    }
}

impl Op for IndexAdd {
    fn name(&self) -> &str {
        "index_add"
    }
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let [x, index, src]: [&Array; 3] = std::array::from_fn(|k| inputs[k].concrete());
        Ok(smallvec![gather::index_add(x, self.batch, self.dim, index, src)?.into()])
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
            None => zeros(saved.get_shape(), src.dtype())?,
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
fn check_slices(op: &'static str, x: &Tensor, dim: isize, index: &Tensor, src: &Tensor) -> Result<usize> {
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

fn check_number(op: &str, x: &Tensor) -> Result<()> {
    if x.dtype() == DType::Bool {
        bail!(Dtype, "{op}: expected a tensor of numbers, got {}", x.ty(); help = "convert it with `to_dtype`");
    }
    Ok(())
}

fn index_copy(x: &Tensor, dim: isize, index: &Tensor, src: &Tensor) -> Result<Tensor> {
    let dim = check_slices("index_copy", x, dim, index, src)?;
    let index = Wanted::Elements.check("index_copy", x, dim, index)?;
    // One dim for the places, as in `x`, and the index repeated along all others.
    let n = index.numel();
    let mut shape = Shape::from_slice(x.shape());
    shape[dim] = n;
    let src = src.reshape_to(&shape)?;
    let mut column = Shape::from_elem(1, x.rank());
    column[dim] = n;
    let index = broadcast_to(&index.reshape_to(&column)?, &shape)?;
    Scatter { dim, add: false }.call(x, &index, &src)
}

/// Elements of the first input along `dim` at the places of the second; only the last of several that name one place
/// if `last`.
#[derive(Clone, Copy)]
struct Gather {
    dim: usize,
    last: bool,
}

impl Gather {
    fn call(self, x: &Tensor, index: &Tensor) -> Result<Tensor> {
        apply1(self, &[x, index])
    }
}

impl Op for Gather {
    fn name(&self) -> &str {
        "gather"
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
        let back = |g: &Tensor| scatter.call(&zeros(saved.get_shape(), g.dtype())?, &saved.tensors[0], g);
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
#[derive(Clone, Copy)]
struct Scatter {
    dim: usize,
    add: bool,
}

impl Scatter {
    fn call(self, x: &Tensor, index: &Tensor, src: &Tensor) -> Result<Tensor> {
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
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let [x, index, src]: [&Array; 3] = std::array::from_fn(|k| inputs[k].concrete());
        let kernel = if self.add { gather::scatter_add } else { gather::scatter };
        Ok(smallvec![kernel(x, self.dim, index, src)?.into()])
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

fn scatter_any(op: &'static str, x: &Tensor, dim: isize, index: &Tensor, src: &Tensor, add: bool) -> Result<Tensor> {
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
    Scatter { dim, add }.call(x, &check_index(op, x, dim, index)?, &src)
}

fn scatter_add(x: &Tensor, dim: isize, index: &Tensor, src: &Tensor) -> Result<Tensor> {
    check_number("scatter_add", x)?;
    scatter_any("scatter_add", x, dim, index, src, true)
}

fn scatter(x: &Tensor, dim: isize, index: &Tensor, src: &Tensor) -> Result<Tensor> {
    scatter_any("scatter", x, dim, index, src, false)
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

mod samples;
use samples::*;
