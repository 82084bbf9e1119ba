//! A tree of tensors as one vector, and back.

use crate::error::bail;
use crate::tree::{Path, leaves, path_of, same_places, try_map};
use crate::{DType, Result, Tensor, TensorType, Tree, cat};

/// How the tensors of a tree lie in a vector.
pub(super) struct Flat {
    /// The widest dtype of the tree.
    pub(super) dtype: DType,
    /// The length of the vector.
    pub(super) n: usize,
}

impl Flat {
    pub(super) fn of<X: Tree>(x: &X) -> Flat {
        let all = leaves(x);
        let wide = all.iter().any(|t| t.dtype() == DType::F64);
        Flat { dtype: if wide { DType::F64 } else { DType::F32 }, n: all.iter().map(|t| t.numel()).sum() }
    }

    pub(super) fn join<X: Tree>(&self, x: &X) -> Result<Tensor> {
        let parts = leaves(x).into_iter().map(|t| t.reshape_to(&[t.numel()])?.to_dtype(self.dtype));
        let parts: Vec<Tensor> = parts.collect::<Result<_>>()?;
        match &parts[..] {
            [] => Tensor::zeros(&[0], self.dtype),
            [one] => Ok(one.clone()),
            several => cat(&several.iter().collect::<Vec<_>>(), 0),
        }
    }

    /// The tree like `like` that lies in `vector`.
    pub(super) fn split<X: Tree>(&self, vector: &Tensor, like: &X) -> Result<X> {
        let mut start = 0;
        try_map(like, &mut |t| {
            let n = t.numel();
            let part = if n == self.n { vector.clone() } else { vector.narrow(0, start as isize, n)? };
            start += n;
            part.reshape_to(t.shape())?.to_dtype(t.dtype())
        })
    }
}

/// An error unless `got` has the structure, shapes and dtypes of `x`, or if these are not floats.
pub(super) fn check_like<X: Tree>(what: &str, x: &X, got: &X) -> Result<()> {
    check_float("x", x)?;
    if !same_places(x, got) {
        bail!(Arity, "expected {what} like x, with tensors at the places of {}, got {}", x.describe(), got.describe());
    }
    for (k, (x_k, t)) in leaves(x).into_iter().zip(leaves(got)).enumerate() {
        let (TensorType { dtype, shape }, ty) = (x_k.ty(), t.ty());
        let place = Path(x, k);
        if shape != ty.shape {
            bail!(Shape, "expected {what} like x, which is {} at x{place}, got {ty}", x_k.ty());
        }
        if dtype != ty.dtype {
            bail!(Dtype, "expected {what} like x, which is {} at x{place}, got {ty}", x_k.ty(); help = "convert one of \
                them with `to_dtype`");
        }
    }
    Ok(())
}

/// An error unless all tensors are floats.
pub(super) fn check_float<X: Tree>(name: &str, x: &X) -> Result<()> {
    match leaves(x).iter().position(|t| !t.dtype().is_float()) {
        None => Ok(()),
        Some(k) => {
            let (ty, place) = (leaves(x)[k].ty(), path_of(x, k));
            bail!(Dtype, "expected floating-point tensors, got {ty} at {name}{place}"; help = "an equation has real \
                numbers as its solution; convert it with `to_dtype`, or compute it from the solution")
        }
    }
}
