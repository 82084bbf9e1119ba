//! Elementwise operations of two tensors that may be taken apart: the result takes the place of one that nobody else holds.

use super::binary::BinaryOp;
use super::{Binary, binary};
use crate::array::Array;
use crate::function::OpRef;
use crate::interp::reverse::Own;
use crate::ops::arith::with_common_dtype;
use crate::shape::{broadcasts_to, same_shape};
use crate::tensor::{Repr, ReprMut, TracerHandle};
use crate::{Result, Tensor};

/// A [`Binary`] that can write its results over an operand.
pub(crate) trait InPlace: Binary {
    /// Whether integers and bools become floats first.
    const FLOAT: bool;

    /// Writes the results over `own`, the left or the right operand, to whose shape `other` broadcasts. False if that is not
    /// possible: somebody else holds the memory, or the dtype is not one of those.
    fn in_place(own: &mut Array, other: &Array, left: bool) -> bool;
}

/// Applies a [`Binary`] to operands that it may take apart.
pub(crate) fn binary_owned<K: InPlace>(mut a: Tensor, mut b: Tensor) -> Result<Tensor> {
    if put_over::<K>(&mut a, &b, true)? {
        return Ok(a);
    }
    if put_over::<K>(&mut b, &a, false)? {
        return Ok(b);
    }
    with_common_dtype(&a, &b, K::FLOAT, binary::<K>)
}

/// Puts the result in the place of `own`, the left or the right operand, if nobody else holds that.
fn put_over<K: InPlace>(own: &mut Tensor, other: &Tensor, left: bool) -> Result<bool> {
    let dtype = own.dtype();
    if dtype != other.dtype() || dtype.is_half() {
        return Ok(false);
    }
    match (own.repr_mut(), other.repr()) {
        (ReprMut::Array(x), Repr::Array(y)) => Ok(broadcasts_to(y.shape(), x.shape()) && K::in_place(x, y, left)),
        (ReprMut::Array(_), Repr::Tracer(_)) => Ok(false),
        (ReprMut::Tracer(x), _) if dtype.is_float() => record_over::<K>(x, other, left),
        (ReprMut::Tracer(_), _) => Ok(false),
    }
}

/// [`put_over`] for a value that a reverse level records: its tracer becomes that of the result.
fn record_over<K: InPlace>(own: &mut TracerHandle, other: &Tensor, left: bool) -> Result<bool> {
    let Some(own) = Own::of(own) else { return Ok(false) };
    let Some((value, way)) = own.beside(other) else { return Ok(false) };
    // Where shapes differ, a cotangent may have to be summed; a number that is a constant has none.
    if !(same_shape(value.shape(), own.primal.shape()) || value.rank() == 0 && way.is_none()) {
        return Ok(false);
    }
    let needs = in_order(left, true, way.is_some());
    let reads = K::reads((needs.0, needs.1 && K::VARIES_RIGHT));
    let (reads_own, reads_other) = if left { (reads.lhs, reads.rhs) } else { (reads.rhs, reads.lhs) };
    let mut read = None;
    if reads_own || !put_over::<K>(own.primal, value, left)? {
        let out = if left { binary::<K>(own.primal, value)? } else { binary::<K>(value, own.primal)? };
        read = Some(std::mem::replace(own.primal, out)).filter(|_| reads_own);
    }
    let output = reads.output.then(|| own.primal.clone());
    let (lhs, rhs) = in_order(left, read, reads_other.then(|| value.clone()));
    let saved = own.record(&OpRef::Static(BinaryOp::<K>::OP), way, left);
    saved.tensors.extend([lhs, rhs, output].into_iter().flatten());
    Ok(true)
}

/// What belongs to the left and to the right operand.
fn in_order<T>(left: bool, own: T, other: T) -> (T, T) {
    if left { (own, other) } else { (other, own) }
}
