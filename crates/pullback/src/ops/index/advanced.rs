//! Tensors in the brackets of an index: positions of several dimensions at once, and masks.

use std::fmt;

use smallvec::{SmallVec, smallvec};

use super::check::Wanted;
use super::elements::Scatter;
use super::masks::true_places_in;
use super::slices::{IndexAdd, IndexSelect, rows_of};
use crate::error::bail;
use crate::function::op::{Batched, Op, no_derivative};
use crate::function::{OpRef, Outs, VmapInfo};
use crate::kernels::map;
use crate::ops::family::{apply1, vmap_elementwise};
use crate::ops::shape::broadcast_to;
use crate::shape::{Dims, Shape, broadcast, numel};
use crate::tensor::Part;
use crate::{DType, Error, ErrorKind, Result, Tensor};

/// Checked positions along some neighbouring dimensions of a part, as if these were one.
struct Positions {
    index: Tensor,
    dims: std::ops::Range<usize>,
    size: usize,
}

/// Which elements of a part the tensors of an index pick.
pub(in crate::ops) struct Picks {
    /// The dimensions of the part that are picked from, in rising order.
    dims: Dims,
    /// The positions along them, in this order.
    along: SmallVec<[Positions; 2]>,
    /// What the shapes of the positions broadcast to.
    shape: Shape,
}

/// A tensor in which the dimensions that are picked from are one.
struct Merged {
    x: Tensor,
    /// The shape before the merging, after dimensions moved.
    open: Shape,
    /// The dimension.
    dim: usize,
    /// The positions along it.
    index: Tensor,
}

impl Picks {
    /// The picks of an index of `x`, checked against `x`; a single index of known values is left to the kernel, whose
    /// error [`explain`] puts in terms of `x`.
    pub(in crate::ops) fn of(op: &'static str, x: &Tensor, part: &Part) -> Result<Picks> {
        let single = part.picks.len() == 1 && x.array().is_some() && part.picks[0].index.array().is_some();
        let mut picks = Picks { dims: Dims::new(), along: SmallVec::new(), shape: Shape::new() };
        for pick in &part.picks {
            let (index, rank) = match pick.index.dtype() {
                DType::Bool => (true_places_in(op, x, pick.of, &pick.index)?, pick.index.rank()),
                _ if single => (pick.index.clone(), 1),
                _ => (Wanted::Elements.check(op, x, pick.of, &pick.index)?, 1),
            };
            let size = numel(&x.shape()[pick.of..pick.of + rank]);
            picks.dims.extend(pick.at..pick.at + rank);
            picks.along.push(Positions { index, dims: pick.at..pick.at + rank, size });
        }
        for positions in &picks.along {
            let Some(shape) = broadcast(&picks.shape, positions.index.shape()) else {
                let types: Vec<String> = picks.along.iter().map(|p| p.index.ty().to_string()).collect();
                bail!(Shape, "{op}: expected positions whose shapes broadcast, got {}", types.join(", "));
            };
            picks.shape = shape;
        }
        crate::tensor::checked_numel(op, &picks.shape)?;
        Ok(picks)
    }

    /// Whether no dimension lies between those that are picked from.
    fn adjacent(&self) -> bool {
        self.dims.windows(2).all(|d| d[0] + 1 == d[1])
    }

    /// Where the dims of the positions go.
    fn place(&self) -> usize {
        if self.adjacent() { self.dims[0] } else { 0 }
    }

    /// The shape of what is picked from `part`.
    pub(in crate::ops) fn shape_of(&self, part: &Tensor) -> Shape {
        let mut shape: Shape = (0..part.rank()).filter(|d| !self.dims.contains(d)).map(|d| part.shape()[d]).collect();
        shape.insert_many(self.place(), self.shape.iter().copied());
        shape
    }

    /// The order of the dimensions of a part of this rank in which those that are picked from are neighbours.
    fn order(&self, rank: usize) -> Dims {
        let rest = (0..rank).filter(|d| !self.dims.contains(d));
        let mut order: Dims = rest.collect();
        order.insert_many(self.place(), self.dims.iter().copied());
        order
    }

    fn merged(&self, op: &'static str, part: &Tensor) -> Result<Merged> {
        let dim = self.place();
        let x = permuted(part, &self.order(part.rank()))?;
        let open = Shape::from_slice(x.shape());
        let sizes: Shape = self.along.iter().map(|p| p.size).collect();
        let mut shape = Shape::from_slice(&open[..dim]);
        shape.push(numel(&sizes));
        shape.extend_from_slice(&open[dim + self.dims.len()..]);
        let index = match &self.along[..] {
            [one] => one.index.clone(),
            many => apply1(Combine { op, sizes }, &many.iter().map(|p| &p.index).collect::<SmallVec<[&Tensor; 4]>>())?,
        };
        Ok(Merged { x: x.reshape_to(&shape)?, open, dim, index })
    }

    /// The positions in row-major order of the elements that are picked from `part`, where the picks are not adjacent.
    fn all_positions(&self, part: &Tensor) -> Result<Tensor> {
        let rest = part.rank() - self.dims.len();
        let (mut sizes, mut along) = (Shape::new(), SmallVec::<[Tensor; 4]>::new());
        let (mut d, mut behind) = (0, rest);
        while d < part.rank() {
            let (index, ones) = match self.along.iter().find(|p| p.dims.start == d) {
                Some(positions) => {
                    d = positions.dims.end;
                    sizes.push(positions.size);
                    (positions.index.clone(), rest)
                }
                None => {
                    let n = part.shape()[d];
                    d += 1;
                    behind -= 1;
                    sizes.push(n);
                    (Tensor::arange(0, n as i64, 1, DType::I64)?, behind)
                }
            };
            let mut shape = Shape::from_slice(index.shape());
            shape.extend(std::iter::repeat_n(1, ones));
            along.push(index.reshape_to(&shape)?);
        }
        apply1(Combine { op: "i", sizes }, &along.iter().collect::<SmallVec<[&Tensor; 4]>>())
    }

    /// The elements that are picked from `part`.
    pub(in crate::ops) fn read(&self, part: &Tensor) -> Result<Tensor> {
        // To bring dimensions together costs a copy of the part; not so to compute the place of every element.
        if !self.adjacent() && part.numel() / 4 > numel(&self.shape_of(part)) {
            return IndexSelect { batch: 0, dim: 0 }
                .call(&part.reshape_to(&[part.numel()])?, &self.all_positions(part)?);
        }
        let Merged { x, dim, index, .. } = self.merged("i", part)?;
        IndexSelect { batch: 0, dim }.call(&x, &index)
    }

    /// `part` with `value` where elements are picked, or added to them; `value` has the shape of what is picked.
    pub(in crate::ops) fn put(
        &self,
        op: &'static str,
        part: &Tensor,
        value: &Tensor,
        accumulate: bool,
    ) -> Result<Tensor> {
        let Merged { x, open, dim, index } = self.merged(op, part)?;
        let out = if accumulate {
            IndexAdd { batch: 0, dim }.call(&x, &broadcast_to(&index, &self.shape)?, value)?
        } else {
            let (index, value) = rows_of(&x, dim, &broadcast_to(&index, &self.shape)?, value)?;
            Scatter { dim, add: false }.call(&x, &index, &value)?
        };
        let order = self.order(part.rank());
        let mut back: Dims = smallvec![0; order.len()];
        for (k, &d) in order.iter().enumerate() {
            back[d] = k;
        }
        permuted(&out.reshape_to(&open)?, &back)
    }
}

/// An error about picks of an index of `x`.
pub(in crate::ops) fn explain(op: &'static str, x: &Tensor, part: &Part, e: Error) -> Error {
    if e.kind() == ErrorKind::Index {
        for pick in part.picks.iter().filter(|pick| pick.index.dtype() != DType::Bool) {
            if let Err(better) = Wanted::Elements.check(op, x, pick.of, &pick.index) {
                return better;
            }
        }
    }
    e
}

fn permuted(x: &Tensor, order: &[usize]) -> Result<Tensor> {
    if order.iter().enumerate().all(|(k, &d)| k == d) {
        return Ok(x.clone());
    }
    x.permute(&order.iter().map(|&d| d as isize).collect::<SmallVec<[isize; 6]>>())
}

/// Positions along several dimensions of these sizes as positions along one that they merge to, counted from the start.
#[derive(Clone, Debug)]
struct Combine {
    op: &'static str,
    sizes: Shape,
}

impl Op for Combine {
    fn name(&self) -> &str {
        self.op
    }
    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }
    no_derivative!();
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let size = |k: usize| self.sizes[k] as i64;
        let mut out = inputs[0].concrete().clone();
        for (k, index) in inputs.iter().enumerate().skip(1) {
            let index = index.concrete();
            let Some(shape) = broadcast(out.shape(), index.shape()) else {
                bail!(Internal, "{}: the shapes of positions were not checked", self.op)
            };
            crate::tensor::checked_numel(self.op, &shape)?;
            // What is joined already is not negative, so that only the first positions are counted from the end.
            let (a, n) = (size(0), size(k));
            out = map::zip::<i64, i64, i64>(
                &out,
                index,
                &shape,
                #[inline(always)]
                move |i, j| (i + (a & (i >> 63))) * n + j + (n & (j >> 63)),
            );
        }
        Ok(smallvec![out.into()])
    }
    fn vmap(&self, _: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        vmap_elementwise(&OpRef::new(self.clone()), dims, inputs)
    }
}
