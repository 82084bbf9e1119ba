//! Results that come in parts: rows of a Jacobian, lanes of a `vmap`.

use smallvec::SmallVec;

use crate::array::{Array, Cut};
use crate::dtype::Scalar;
use crate::error::bail;
use crate::kernels::{cast::full, region::replace_in_place};
use crate::tensor::checked_numel;
use crate::{Result, Tensor, cat};

/// A tensor whose parts along one dim arrive one after the other.
///
/// The whole is allocated when the first part arrives, and each part is copied to its place, so that never more than
/// one part exists besides. Parts that an outer transform works on cannot be written into anything; they are kept and
/// joined.
pub(super) struct Assembly {
    dim: usize,
    /// The size of the whole along `dim`.
    total: usize,
    /// How much of it has arrived.
    filled: usize,
    written: Option<Array>,
    kept: Vec<Tensor>,
}

impl Assembly {
    pub(super) fn new(dim: usize, total: usize) -> Assembly {
        Assembly { dim, total, filled: 0, written: None, kept: Vec::new() }
    }

    /// Adds the next part. All parts must have one type but for their size along the dim; `place` names what they are.
    pub(super) fn push(&mut self, part: Tensor, place: impl FnOnce() -> String) -> Result<()> {
        let known = self.written.as_ref().map(Array::ty).or_else(|| self.kept.first().map(Tensor::ty));
        let size = part.shape().get(self.dim).copied().unwrap_or_default();
        if let Some(mut like) = known {
            like.shape[self.dim] = size;
            if like != part.ty() {
                bail!(Shape, "expected {like} for {} as in the parts before, got {}", place(), part.ty());
            }
        }
        match part.array() {
            Some(array) if self.kept.is_empty() && size < self.total => self.write(array)?,
            _ => {
                if let Some(written) = self.written.take() {
                    self.kept.push(Tensor::from(written).narrow(self.dim as isize, 0, self.filled)?);
                }
                self.kept.push(part);
            }
        }
        self.filled += size;
        Ok(())
    }

    fn write(&mut self, part: &Array) -> Result<()> {
        let whole = match &mut self.written {
            Some(whole) => whole,
            none => {
                let mut shape = part.to_shape();
                shape[self.dim] = self.total;
                checked_numel("the result of all parts", &shape)?;
                none.insert(full(&shape, Scalar::Int(0), part.dtype()))
            }
        };
        let mut cuts: SmallVec<[Cut; 6]> = whole.shape().iter().map(|&n| Cut::all(n)).collect();
        (cuts[self.dim].start, cuts[self.dim].len) = (self.filled, part.shape()[self.dim]);
        let written = replace_in_place(whole, part, &cuts);
        debug_assert!(written, "the whole has one owner and is contiguous");
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Tensor> {
        match (self.written, self.kept.pop()) {
            (Some(whole), _) => Ok(whole.into()),
            (None, Some(only)) if self.kept.is_empty() => Ok(only),
            (None, last) => {
                self.kept.extend(last);
                cat(&self.kept.iter().collect::<Vec<_>>(), self.dim as isize)
            }
        }
    }
}
