//! Checks of index tensors, in the terms of the user, who sees one lane.

use std::fmt;

use smallvec::smallvec;

use crate::error::bail;
use crate::function::op::{Batched, Op, no_derivative};
use crate::function::{OpRef, Outs, VmapInfo};
use crate::interp::bind;
use crate::kernels::gather;
use crate::ops::family::apply1;
use crate::shape::{Brackets, Dims, Shape};
use crate::{DType, Result, Tensor, TensorType};

/// What an index is checked for: all of it, it as the start of slices of a length, or that a tensor has as many
/// elements as are wanted of it in turn, where negative numbers want none.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Wanted {
    Elements,
    Starts(usize),
    InTurn,
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

impl fmt::Debug for CheckIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.target.shape[self.dim];
        let mut parts = f.debug_struct("CheckIndex");
        match self.wanted {
            Wanted::Elements | Wanted::InTurn => parts.field("below", &size),
            Wanted::Starts(len) => parts.field("below", &size).field("len", &len),
        };
        parts.finish()
    }
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
            Wanted::InTurn => {
                let lanes = match lane[..] {
                    [] => String::new(),
                    [lane] => format!(" in lane {lane}"),
                    _ => format!(" in lane {}", Brackets(&lane)),
                };
                bail!(
                    Index,
                    "{op}: expected a source with an element for each that the mask selects{lanes}, got {target}"
                )
            }
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
    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }
    no_derivative!();
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let (index, size) = (inputs[0].concrete(), self.target.shape[self.dim]);
        match self.wanted {
            Wanted::Elements => match gather::checked(self.op, index, size)? {
                Ok(index) => Ok(smallvec![index.into()]),
                Err(found) => self.out_of_range(&found, size),
            },
            Wanted::InTurn => match gather::below(self.op, index, size)? {
                Ok(index) => Ok(smallvec![index.into()]),
                Err(found) => self.out_of_range(&found, size),
            },
            Wanted::Starts(len) => match gather::ranges(self.op, index, size, len)? {
                Ok(index) => Ok(smallvec![index.into()]),
                Err(found) => self.out_of_range(&found, size),
            },
        }
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
    pub(super) fn check(self, op: &'static str, x: &Tensor, dim: usize, index: &Tensor) -> Result<Tensor> {
        apply1(CheckIndex { op, target: x.ty(), dim, wanted: self, lanes: Dims::new() }, &[index])
    }
}

/// The index after a check, which is left to the kernel where that will see what the user sees.
pub(super) fn check_index(op: &'static str, x: &Tensor, dim: usize, index: &Tensor) -> Result<Tensor> {
    match (x.array(), index.array()) {
        (Some(_), Some(_)) => Ok(index.clone()),
        _ => Wanted::Elements.check(op, x, dim, index),
    }
}

pub(super) fn check_index_dtype(op: &str, index: &Tensor) -> Result<()> {
    match index.dtype() {
        DType::I64 | DType::I32 => Ok(()),
        other => {
            bail!(Dtype, "{op}: expected an index of dtype i64 or i32, got {other}"; help = "convert it with `to_dtype`")
        }
    }
}

pub(super) fn check_src_dtype(op: &str, x: &Tensor, src: &Tensor) -> Result<()> {
    if x.dtype() != src.dtype() {
        bail!(Dtype, "{op}: expected a src of dtype {}, got {}", x.dtype(), src.ty(); help = "convert it with `to_dtype`");
    }
    Ok(())
}

pub(in crate::ops) fn check_number(op: &str, x: &Tensor) -> Result<()> {
    if x.dtype() == DType::Bool {
        bail!(Dtype, "{op}: expected a tensor of numbers, got {}", x.ty(); help = "convert it with `to_dtype`");
    }
    Ok(())
}
