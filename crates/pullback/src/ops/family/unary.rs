//! Elementwise operations of one tensor.

use std::fmt;
use std::marker::PhantomData;

use smallvec::{SmallVec, smallvec};

use super::{Binary, Operands, Reads, adjoint, binary, discrete};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::function::op::{Batched, Cotangents, Op, Tangents};
use crate::function::{Cotangent, OpRef, Outs, Saved, Tangent, VmapInfo};
use crate::interp::{bind, bind1};
use crate::kernels::half::widened_elementwise;
use crate::kernels::math::Float;
use crate::kernels::{complex, map};
use crate::ops::arith::mul_owned;
use crate::{Result, Tensor};

/// An elementwise function of one tensor whose derivative is a formula in the input and the output.
pub(crate) trait Unary: Sized + Send + Sync + 'static {
    const NAME: &'static str;
    /// False for functions with discrete results, whose derivative is zero.
    const DIFFERENTIABLE: bool = true;
    /// Whether [`derivative`](Unary::derivative) reads the input.
    const READS_INPUT: bool = true;
    /// Whether it reads the output.
    const READS_OUTPUT: bool = false;
    /// False for functions of complex numbers whose derivative is no multiplication by one.
    const HOLOMORPHIC: bool = true;

    /// Computes the elements.
    fn kernel(x: &Array) -> Result<Array>;

    /// `d` times the derivative at input `x` with output `y`: serves both modes, because the Jacobian is diagonal.
    /// A value that the constants above exclude is the other one, or `d`.
    fn derivative(d: &Tensor, x: &Tensor, y: &Tensor) -> Result<Tensor> {
        let _ = (x, y);
        Err(discrete(Self::NAME, d))
    }
}

/// A [`Unary`] that has parameters.
pub(crate) trait UnaryWith: fmt::Debug + Sized + Send + Sync + 'static {
    /// See [`Unary::NAME`].
    const NAME: &'static str;
    /// See [`Unary::DIFFERENTIABLE`].
    const DIFFERENTIABLE: bool = true;
    /// See [`Unary::READS_INPUT`].
    const READS_INPUT: bool = true;
    /// See [`Unary::READS_OUTPUT`].
    const READS_OUTPUT: bool = false;
    /// See [`Unary::HOLOMORPHIC`].
    const HOLOMORPHIC: bool = true;

    /// The operation to share.
    fn share(&self) -> OpRef;

    /// See [`Unary::kernel`].
    fn kernel(&self, x: &Array) -> Result<Array>;

    /// See [`Unary::derivative`].
    fn derivative(&self, d: &Tensor, x: &Tensor, y: &Tensor) -> Result<Tensor> {
        let _ = (x, y);
        Err(discrete(Self::NAME, d))
    }
}

/// A [`Unary`] as one without parameters.
struct Plain<K>(PhantomData<K>);

/// No parameters.
impl<K> fmt::Debug for Plain<K> {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

impl<K: Unary> Plain<K> {
    const OP: &'static dyn Op = &UnaryOp(Plain::<K>(PhantomData));
}

impl<K: Unary> UnaryWith for Plain<K> {
    const NAME: &'static str = K::NAME;
    const DIFFERENTIABLE: bool = K::DIFFERENTIABLE;
    const READS_INPUT: bool = K::READS_INPUT;
    const READS_OUTPUT: bool = K::READS_OUTPUT;
    const HOLOMORPHIC: bool = K::HOLOMORPHIC;

    fn share(&self) -> OpRef {
        OpRef::Static(Self::OP)
    }
    fn kernel(&self, x: &Array) -> Result<Array> {
        K::kernel(x)
    }
    fn derivative(&self, d: &Tensor, x: &Tensor, y: &Tensor) -> Result<Tensor> {
        K::derivative(d, x, y)
    }
}

/// A [`UnaryWith`] as an operation.
pub(crate) struct UnaryOp<K>(pub(crate) K);

impl<K: UnaryWith> UnaryOp<K> {
    fn differential(&self, saved: &Saved, d: &Tensor) -> Result<Tensor> {
        let first = saved.tensors.first().unwrap_or(d);
        let (x, y) = match (K::READS_INPUT, K::READS_OUTPUT) {
            (true, true) => (first, &saved.tensors[1]),
            (true, false) => (first, d),
            (false, true) => (d, first),
            (false, false) => (d, d),
        };
        self.0.derivative(d, x, y)
    }
}

/// Applies a [`Unary`].
#[inline]
pub(crate) fn unary<K: Unary>(x: &Tensor) -> Result<Tensor> {
    match x.array() {
        Some(array) => Ok(widened_elementwise([array], array.shape(), |[x], _| K::kernel(x))?.into()),
        None => bind1(&OpRef::Static(Plain::<K>::OP), &[x]),
    }
}

/// Applies a [`UnaryWith`].
#[inline]
pub(crate) fn unary_with<K: UnaryWith>(op: &K, x: &Tensor) -> Result<Tensor> {
    match x.array() {
        Some(array) => Ok(widened_elementwise([array], array.shape(), |[x], _| op.kernel(x))?.into()),
        None => bind1(&op.share(), &[x]),
    }
}

impl<K: UnaryWith> Op for UnaryOp<K> {
    fn name(&self) -> &str {
        K::NAME
    }

    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(&self.0)
    }

    fn is_differentiable(&self) -> bool {
        K::DIFFERENTIABLE
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        Ok(smallvec![self.forward1(inputs)?])
    }

    fn forward1(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let x = inputs[0].concrete();
        Ok(widened_elementwise([x], x.shape(), |[x], _| self.0.kernel(x))?.into())
    }

    fn save_to(&self, _: &[bool], inputs: &[&Tensor], outputs: &[Tensor], saved: &mut Saved) -> Result<()> {
        if K::READS_INPUT {
            saved.tensors.push(inputs[0].clone());
        }
        if K::READS_OUTPUT {
            saved.tensors.push(outputs[0].clone());
        }
        Ok(())
    }

    fn backward(&self, saved: &Saved, _: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        let holomorphic = K::HOLOMORPHIC && (K::READS_INPUT || K::READS_OUTPUT);
        Ok(smallvec![grads[0].map(|g| adjoint(holomorphic, g, |g| self.differential(saved, g)))?])
    }

    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        Ok(smallvec![tangents[0].map(|t| self.differential(saved, t))?])
    }

    fn vmap(&self, _: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        let outs = bind(&self.0.share(), inputs)?;
        Ok((outs, SmallVec::from_slice(&dims[..1])))
    }
}

/// The derivative of an elementwise function in one kernel: `d` times a function of `v`, which is the input or the
/// output of the function. Use it where that function is a few machine instructions, so that fusing saves a pass.
pub(crate) trait Slope: Sized + Send + Sync + 'static {
    const NAME: &'static str;
    /// False if the slope is piecewise constant.
    const VARIES: bool = true;
    /// [`times`](Slope::times) of complex numbers, if the function takes them.
    const COMPLEX: Option<complex::Function2> = None;

    /// `d` times the slope at `v`.
    fn times<T: Float>(d: T, v: T) -> T;

    /// The derivative of the slope at `v`, if it varies.
    fn derivative(v: &Tensor) -> Result<Tensor> {
        Err(discrete(Self::NAME, v))
    }
}

/// `d` times the slope `K` at `v`.
pub(crate) fn slope<K: Slope>(d: &Tensor, v: &Tensor) -> Result<Tensor> {
    binary::<TimesSlope<K>>(d, v)
}

struct TimesSlope<K>(PhantomData<K>);

impl<K: Slope> Binary for TimesSlope<K> {
    const NAME: &'static str = K::NAME;
    const VARIES_RIGHT: bool = K::VARIES;

    fn kernel(d: &Array, v: &Array, shape: &[usize]) -> Result<Array> {
        if let (Some(times), true) = (K::COMPLEX, d.dtype().is_complex()) {
            return Ok(complex::zip(d, v, shape, times));
        }
        dispatch!(d.dtype(), K::NAME, float, T => Ok(map::zip::<T, T, T>(d, v, shape,
            #[inline(always)] |d, v| K::times(d, v))))
    }
    fn reads(needs: (bool, bool)) -> Reads {
        Reads { lhs: needs.1, rhs: true, output: false }
    }
    fn left(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        slope::<K>(d, values.rhs())
    }
    fn right(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        mul_owned(d.mul(values.lhs())?, K::derivative(values.rhs())?)
    }
}
