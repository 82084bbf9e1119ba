//! Linear maps from trees to trees of one type, which depend on parameters.

use super::flat::{Flat, check_like};
use super::{Equation, materialize, symbolic};
use crate::function::{Randomness, backward_through, jvp_through};
use crate::tree::{count, try_map};
use crate::{Result, Tensor, Tree, Vmap};

/// A linear map `v ↦ A(p)·v`, written in tensor operations.
pub(super) trait Operator<P: Tree, X: Tree>: Send + Sync + 'static {
    /// The product `A(p)·v`.
    fn apply(&self, p: &P, v: &X) -> Result<X>;

    /// The product `A(p)ᵀ·v`.
    fn apply_transposed(&self, p: &P, v: &X) -> Result<X>;
}

fn zeros_like<X: Tree>(x: &X) -> Result<X> {
    try_map(x, &mut |t| Tensor::zeros(t.shape(), t.dtype()))
}

/// The derivative of `f` at `x` along `v`.
fn push<X: Tree>(f: impl FnOnce(&X) -> Result<X>, x: &X, v: &X) -> Result<X> {
    let pushed = jvp_through::<X, X>(f, x, &symbolic(v))?;
    materialize(x, &pushed)?.map_or_else(|| zeros_like(x), Ok)
}

/// The transposed derivative of `f` at `x`, times `v`.
fn pull<X: Tree>(f: impl FnOnce(&X) -> Result<X>, x: &X, v: &X) -> Result<X> {
    let pulled = backward_through::<X, X>(f, x, &vec![true; count(x)], &symbolic(v))?;
    materialize(x, &pulled)?.map_or_else(|| zeros_like(x), Ok)
}

/// A map that is given as its products.
pub(super) struct Products<P, X> {
    pub(super) product: Equation<P, X>,
    pub(super) symmetric: bool,
}

impl<P: Tree, X: Tree> Operator<P, X> for Products<P, X> {
    fn apply(&self, p: &P, v: &X) -> Result<X> {
        let product = (self.product)(p, v)?;
        check_like("a product", v, &product)?;
        Ok(product)
    }

    fn apply_transposed(&self, p: &P, v: &X) -> Result<X> {
        if self.symmetric {
            return self.apply(p, v);
        }
        // The map is linear, so its derivative is the same everywhere.
        pull(|x| self.apply(p, x), &zeros_like(v)?, v)
    }
}

/// The derivative of an equation by `x` at `(p, x)`.
pub(super) struct Jacobian<P, X> {
    pub(super) residual: Equation<P, X>,
}

impl<P: Tree, X: Tree> Operator<(P, X), X> for Jacobian<P, X> {
    fn apply(&self, (p, x): &(P, X), v: &X) -> Result<X> {
        push(|x| (self.residual)(p, x), x, v)
    }

    fn apply_transposed(&self, (p, x): &(P, X), v: &X) -> Result<X> {
        pull(|x| (self.residual)(p, x), x, v)
    }
}

/// A map as a matrix, for vectors as [`Flat`] makes them: the products with all unit vectors, as lanes.
pub(super) fn matrix<X: Tree>(product: impl Fn(&X) -> Result<X>, like: &X, flat: &Flat) -> Result<Tensor> {
    let column = |unit: &Tensor| flat.join(&product(&flat.split(unit, like)?)?);
    let units = Tensor::eye(flat.n, flat.dtype)?;
    Vmap::new().out_dims(1).randomness(Randomness::Same).of(column)(&units)
}
