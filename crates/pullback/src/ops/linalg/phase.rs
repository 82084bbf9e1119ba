//! The phases of complex vectors, which decompositions leave open.

use smallvec::{SmallVec, smallvec};

use super::{MatrixOp, Slot, apply1, which};
use crate::array::Array;
use crate::function::op::{Cotangents, Tangents};
use crate::function::{Cotangent, Tangent};
use crate::kernels::cast::cast;
use crate::kernels::copy::contiguous;
use crate::kernels::linalg::Stop;
use crate::{Complex64, DType, Error, ErrorKind, Result, Tensor};

/// The matrix `Vᴴ G` of vectors and their cotangents, unchanged: an error if its diagonal has imaginary parts, which say that a
/// function changes when a vector is multiplied by a number of magnitude 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Phase {
    pub(super) of: &'static str,
}

impl Phase {
    /// The same matrices, if they are real or pass.
    pub(super) fn checked(self, x: &Tensor) -> Result<Tensor> {
        if x.dtype().is_complex() { apply1(self, &[x]) } else { Ok(x.clone()) }
    }
}

impl MatrixOp for Phase {
    const CORES: &'static [usize] = &[2];
    const SAVED: &'static [Slot] = &[];

    fn name(&self) -> &'static str {
        self.of
    }

    fn kernel(&self, x: &[&Array]) -> Result<SmallVec<[Array; 2]>> {
        let wide = contiguous(&cast(x[0], DType::C128));
        let n = wide.shape()[wide.rank() - 1];
        // Rounding leaves far less, and a function that depends on a phase far more.
        let share = if x[0].dtype() == DType::C64 { 1e-3 } else { 1e-6 };
        let data = wide.as_slice::<Complex64>().unwrap_or_default();
        for (matrix, a) in data.chunks_exact((n * n).max(1)).enumerate() {
            let largest = a.iter().fold(0.0f64, |m, v| m.max(v.norm()));
            if let Some(k) = (0..n).find(|k| a[k * n + k].im.abs() > share * largest) {
                let place = which(&wide.shape()[..wide.rank() - 2], Stop { matrix, step: 0 });
                let message = format!(
                    "{}: expected a function that does not depend on the phases of complex vectors, got a cotangent that turns \
                     vector {k}{place} by {:.3e}",
                    self.of,
                    a[k * n + k].im
                );
                return Err(Error::new(ErrorKind::Value, message).with_help(
                    "vectors are unique up to a number of magnitude 1 each; take magnitudes, or products in which it cancels",
                ));
            }
        }
        Ok(smallvec![x[0].clone()])
    }

    fn tangents(&self, _: &[Tensor], t: &[Tangent]) -> Result<Tangents> {
        Ok(smallvec![t[0].clone()])
    }

    fn cotangents(&self, _: &[Tensor], _: &[bool], g: &[Cotangent]) -> Result<Cotangents> {
        Ok(smallvec![g[0].clone()])
    }
}
