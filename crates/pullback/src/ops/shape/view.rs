//! Views that look at some elements of a tensor, none of them twice, and their transposes, which put elements at
//! their places in zeros.

use std::fmt;

use crate::array::Array;
use crate::kernels::place::place;
use crate::ops::family::{Linear, linear};
use crate::shape::{Shape, with_dim};
use crate::{Result, Tensor};

/// A view.
pub(in crate::ops) trait View: Clone + fmt::Debug + Send + Sync + 'static {
    const NAME: &'static str;
    /// The name of the transpose.
    const BACK: &'static str;

    /// The view of an array.
    fn of(&self, x: &Array) -> Array;

    /// The same view where the tensor has lanes along `lane`, and where they lie in the view.
    fn with_lanes(&self, lane: usize) -> (Self, usize);
}

/// A [`View`] as a function.
#[derive(Clone, Debug)]
pub(in crate::ops) struct ViewOp<V>(pub(in crate::ops) V);

impl<V: View> Linear for ViewOp<V> {
    const NAME: &'static str = V::NAME;
    const COMPUTES: bool = false;
    fn kernel(&self, x: &Array) -> Result<Array> {
        Ok(self.0.of(x))
    }
    fn transpose(&self, g: &Tensor, input: &[usize]) -> Result<Tensor> {
        linear(Placed { view: self.0.clone(), shape: Shape::from_slice(input) }, g)
    }
    fn batched(&self, _: usize) -> ViewOp<V> {
        ViewOp(self.0.with_lanes(0).0)
    }
    fn batched_in_place(&self, _: &[usize], lane: usize) -> Option<(ViewOp<V>, usize)> {
        let (view, lane) = self.0.with_lanes(lane);
        Some((ViewOp(view), lane))
    }
}

/// Zeros of `shape` with the elements where `view` looks.
#[derive(Clone, Debug)]
pub(in crate::ops) struct Placed<V> {
    pub(in crate::ops) view: V,
    pub(in crate::ops) shape: Shape,
}

impl<V: View> Linear for Placed<V> {
    const NAME: &'static str = V::BACK;
    const COMPUTES: bool = false;
    fn kernel(&self, x: &Array) -> Result<Array> {
        crate::tensor::checked_numel(V::BACK, &self.shape)?;
        Ok(place(x, &self.shape, |out| self.view.of(out)))
    }
    fn transpose(&self, g: &Tensor, _: &[usize]) -> Result<Tensor> {
        linear(ViewOp(self.view.clone()), g)
    }
    fn batched(&self, size: usize) -> Placed<V> {
        Placed { view: self.view.with_lanes(0).0, shape: with_dim(&self.shape, 0, size) }
    }
}
