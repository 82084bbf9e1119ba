//! What the families share: elementwise operations of one and two tensors, linear ones, and the batching rules that most need.

mod binary;
mod linear;
mod owned;
mod unary;

use smallvec::SmallVec;

pub(crate) use self::binary::{Binary, Operands, Reads, binary, broadcast_shape};
pub(crate) use self::linear::{Linear, linear};
pub(crate) use self::owned::{InPlace, binary_owned};
pub(crate) use self::unary::{Slope, Unary, UnaryOp, UnaryWith, slope, unary, unary_with};
use crate::function::OpRef;
use crate::function::op::{Batched, Op};
use crate::interp::{batch, bind, bind1};
use crate::{Error, ErrorKind, Result, Tensor};

/// The batching rule of an elementwise operation, whose inputs broadcast: the lanes become one more dimension.
pub(crate) fn vmap_elementwise(op: &OpRef, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
    // Where the batched inputs agree on rank and dim and the others are too small to reach it, nothing moves.
    let mut place = None;
    let in_place = inputs.iter().zip(dims).all(|(t, d)| match d {
        Some(d) => *place.get_or_insert((t.rank(), *d)) == (t.rank(), *d),
        None => true,
    });
    if in_place
        && let Some((rank, dim)) = place
        && inputs.iter().zip(dims).all(|(t, d)| d.is_some() || t.rank() < rank - dim)
    {
        let outs = bind(op, inputs)?;
        let n = outs.len();
        return Ok((outs, SmallVec::from_elem(Some(dim), n)));
    }
    let aligned = batch::align(dims, inputs)?;
    let outs = bind(op, &aligned.iter().collect::<SmallVec<[&Tensor; 4]>>())?;
    let n = outs.len();
    Ok((outs, SmallVec::from_elem(Some(0), n)))
}

/// The batching rule of an operation of one tensor that acts on dimensions: the lanes go to the front, and `shifted`
/// is the operation with its dimension numbers counted from behind them.
pub(crate) fn vmap_front(shifted: &OpRef, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
    let values = batch::to_front(dims, inputs)?;
    let outs = bind(shifted, &values.iter().collect::<SmallVec<[&Tensor; 4]>>())?;
    let n = outs.len();
    Ok((outs, SmallVec::from_elem(Some(0), n)))
}

/// A family asked for a derivative that an operation says it does not have.
#[cold]
fn discrete(op: &str, t: &Tensor) -> Error {
    Error::new(ErrorKind::Internal, format!("{op}: a derivative that is always zero was asked for with {}", t.ty()))
}

/// The transpose of `f`, which multiplies by a number: for real numbers `f` itself, and for complex ones that of the conjugate,
/// if the number may be complex. This is the one place that conjugates derivatives.
#[inline]
pub(in crate::ops) fn adjoint(holomorphic: bool, g: &Tensor, f: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    if holomorphic && g.dtype().is_complex() { f(&g.conj()?)?.conj() } else { f(g) }
}

/// Applies an operation with one output that is made for this call.
pub(crate) fn apply1(op: impl Op, inputs: &[&Tensor]) -> Result<Tensor> {
    if inputs.iter().any(|t| t.array().is_none()) {
        return bind1(&OpRef::new(op), inputs);
    }
    op.forward1(inputs)
}
