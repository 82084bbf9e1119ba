//! Masks: where they are true, and the elements there.

use crate::array::Array;
use crate::error::bail;
use crate::kernels::copy::contiguous;
use crate::shape::{Brackets, Shape};
use crate::{DType, ErrorKind, Result, Tensor};

/// Where the elements of `x` are not zero, in row-major order: the places along each of its dimensions.
///
/// The number of places depends on the contents, so these are read here, and nothing is recorded.
fn places(op: &str, x: &Tensor) -> Result<Vec<Vec<i64>>> {
    let data = x.data(op).map_err(|e| match e.kind() {
        ErrorKind::ConcreteValueNeeded => e.with_help(
            "how many elements are selected depends on the contents of the mask; `where_` and `masked_fill` keep the \
             shape, or compute the mask outside",
        ),
        _ => e,
    })?;
    let truth = match data.dtype() {
        DType::Bool => contiguous(data),
        _ => contiguous(Tensor::from(data.clone()).ne(0)?.concrete()),
    };
    Ok(true_places(&truth))
}

/// The places of `true` along each dimension of a contiguous array.
fn true_places(truth: &Array) -> Vec<Vec<i64>> {
    let data = truth.as_slice::<bool>().unwrap_or_default();
    let count = data.iter().filter(|&&b| b).count();
    let mut out = vec![Vec::with_capacity(count); truth.rank()];
    let Some((&row, outer)) = truth.shape().split_last() else { return out };
    if row == 0 {
        return out;
    }
    let mut at = Shape::from_elem(0, outer.len());
    for line in data.chunks_exact(row) {
        for (k, _) in line.iter().enumerate().filter(|(_, b)| **b) {
            for (list, &i) in out.iter_mut().zip(&at) {
                list.push(i as i64);
            }
            out[outer.len()].push(k as i64);
        }
        for (i, &n) in at.iter_mut().zip(outer).rev() {
            *i += 1;
            if *i < n {
                break;
            }
            *i = 0;
        }
    }
    out
}

/// Where a mask of the dimensions of `x` from `dim` on is true.
pub(super) fn nonzero_dims(op: &str, x: &Tensor, dim: usize, mask: &Tensor) -> Result<Vec<Tensor>> {
    let covered = &x.shape()[dim..dim + mask.rank()];
    if mask.shape() != covered {
        let (covered, x, mask) = (Brackets(covered), x.ty(), mask.ty());
        bail!(Shape, "{op}: expected a mask of shape {covered} for {x} from dim {dim} on, got {mask}");
    }
    Ok(places(op, mask)?.into_iter().map(Tensor::from).collect())
}
