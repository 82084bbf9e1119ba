//! Elementwise operations of two tensors, whose shapes broadcast.

use std::marker::PhantomData;

use smallvec::smallvec;

use super::{adjoint, discrete, vmap_elementwise};
use crate::array::Array;
use crate::error::bail;
use crate::function::op::{Batched, Cotangents, Op, State, Tangents};
use crate::function::{Cotangent, OpRef, Outs, Saved, Tangent, VmapInfo};
use crate::interp::bind1;
use crate::kernels::half::widened_elementwise;
use crate::ops::arith::add_owned;
use crate::ops::shape::broadcast_to;
use crate::shape::{Shape, same_shape};
use crate::{Result, Tensor};

/// What the derivative of a [`Binary`] may read.
#[derive(Clone, Copy, Default)]
pub(crate) struct Reads {
    pub(crate) lhs: bool,
    pub(crate) rhs: bool,
    pub(crate) output: bool,
}

/// The values that a [`Binary`] said it reads; the others are missing.
#[derive(Clone, Copy, Default)]
pub(crate) struct Operands<'a> {
    lhs: Option<&'a Tensor>,
    rhs: Option<&'a Tensor>,
    output: Option<&'a Tensor>,
}

impl<'a> Operands<'a> {
    pub(crate) fn lhs(&self) -> &'a Tensor {
        self.lhs.expect("`reads` asked for the left operand")
    }
    pub(crate) fn rhs(&self) -> &'a Tensor {
        self.rhs.expect("`reads` asked for the right operand")
    }
    pub(crate) fn output(&self) -> &'a Tensor {
        self.output.expect("`reads` asked for the output")
    }
}

/// An elementwise function of two tensors of one dtype, which broadcast against each other.
pub(crate) trait Binary: Sized + Send + Sync + 'static {
    const NAME: &'static str;
    /// False for functions with discrete results.
    const DIFFERENTIABLE: bool = true;
    /// False if the function is piecewise constant in its right operand.
    const VARIES_RIGHT: bool = true;

    /// Computes the elements; `shape` is what the operands broadcast to.
    fn kernel(a: &Array, b: &Array, shape: &[usize]) -> Result<Array>;

    /// What the derivative with respect to the left (`needs.0`) and the right operand (`needs.1`) reads.
    fn reads(_needs: (bool, bool)) -> Reads {
        Reads::default()
    }

    /// `d` times the partial derivative with respect to the left operand: serves both modes.
    fn left(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        let _ = values;
        Err(discrete(Self::NAME, d))
    }

    /// `d` times the partial derivative with respect to the right operand, if it varies with it.
    fn right(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        let _ = values;
        Err(discrete(Self::NAME, d))
    }
}

/// A [`Binary`] as an operation.
pub(crate) struct BinaryOp<K>(PhantomData<K>);

/// The shapes of the operands and the result, kept where that of an operand that is differentiated differs.
struct Shapes([Shape; 3]);

impl<K: Binary> BinaryOp<K> {
    pub(super) const OP: &'static dyn Op = &BinaryOp::<K>(PhantomData);

    fn operands(saved: &Saved, needs: (bool, bool)) -> Operands<'_> {
        let reads = K::reads(needs);
        let mut tensors = saved.tensors.iter();
        Operands {
            lhs: reads.lhs.then(|| tensors.next()).flatten(),
            rhs: reads.rhs.then(|| tensors.next()).flatten(),
            output: reads.output.then(|| tensors.next()).flatten(),
        }
    }

    fn shapes(saved: &Saved) -> Option<&[Shape; 3]> {
        match saved.state {
            State::Any(_) => Some(&saved.get_state::<Shapes>().0),
            _ => None,
        }
    }
}

/// Applies a [`Binary`] to operands of one dtype.
#[inline]
pub(crate) fn binary<K: Binary>(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let (Some(x), Some(y)) = (a.array(), b.array()) else {
        if !is_simple(a.shape(), b.shape()) {
            broadcast_shape(K::NAME, a, b)?;
        }
        return bind1(&OpRef::Static(BinaryOp::<K>::OP), &[a, b]);
    };
    let joint;
    let shape = if !is_simple(x.shape(), y.shape()) {
        joint = broadcast_shape(K::NAME, a, b)?;
        &joint[..]
    } else if x.rank() == 0 {
        y.shape()
    } else {
        x.shape()
    };
    Ok(widened_elementwise([x, y], shape, |[x, y], shape| K::kernel(x, y, shape))?.into())
}

/// True for equal shapes, and where one is that of a number: the result has the shape of the other operand.
#[inline(always)]
fn is_simple(a: &[usize], b: &[usize]) -> bool {
    same_shape(a, b) || a.is_empty() || b.is_empty()
}

/// The shape that two operands broadcast to.
pub(crate) fn broadcast_shape(op: &str, a: &Tensor, b: &Tensor) -> Result<Shape> {
    match crate::shape::broadcast(a.shape(), b.shape()) {
        Some(shape) => {
            crate::tensor::checked_numel(op, &shape)?;
            Ok(shape)
        }
        None => bail!(Shape, "{op}: shapes must broadcast, got lhs {} and rhs {}", a.ty(), b.ty()),
    }
}

impl<K: Binary> Op for BinaryOp<K> {
    fn name(&self) -> &str {
        K::NAME
    }

    fn is_differentiable(&self) -> bool {
        K::DIFFERENTIABLE
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        Ok(smallvec![self.forward1(inputs)?])
    }

    fn forward1(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        binary::<K>(inputs[0], inputs[1])
    }

    fn save_to(&self, needs: &[bool], inputs: &[&Tensor], outputs: &[Tensor], saved: &mut Saved) -> Result<()> {
        let reads = K::reads((needs[0], needs[1] && K::VARIES_RIGHT));
        for (read, t) in [(reads.lhs, inputs[0]), (reads.rhs, inputs[1]), (reads.output, &outputs[0])] {
            if read {
                saved.tensors.push(t.clone());
            }
        }
        let (a, b, y) = (inputs[0].shape(), inputs[1].shape(), outputs[0].shape());
        if needs[0] && !same_shape(a, y) || needs[1] && !same_shape(b, y) {
            saved.keep_state(Shapes([a, b, y].map(Shape::from_slice)));
        }
        Ok(())
    }

    fn backward(&self, saved: &Saved, needs: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        let Some(g) = grads[0].as_tensor() else { return Ok(smallvec![Cotangent::zero(), Cotangent::zero()]) };
        let needs = (needs[0], needs[1] && K::VARIES_RIGHT);
        let values = Self::operands(saved, needs);
        let Reads { lhs, rhs, output } = K::reads(needs);
        let holomorphic = lhs || rhs || output;
        let shapes = Self::shapes(saved);
        let fit = |t: Tensor, k: usize| match shapes {
            Some(shapes) => t.sum_to(&shapes[k]),
            None => Ok(t),
        };
        let mut out = Cotangents::new();
        out.push(if needs.0 {
            fit(adjoint(holomorphic, g, |g| K::left(g, values))?, 0)?.into()
        } else {
            Cotangent::zero()
        });
        out.push(if needs.1 {
            fit(adjoint(holomorphic, g, |g| K::right(g, values))?, 1)?.into()
        } else {
            Cotangent::zero()
        });
        Ok(out)
    }

    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        let needs = (!tangents[0].is_zero(), !tangents[1].is_zero() && K::VARIES_RIGHT);
        let values = Self::operands(saved, needs);
        let left = tangents[0].map(|t| K::left(t, values))?;
        let right = if needs.1 { tangents[1].map(|t| K::right(t, values))? } else { Tangent::zero() };
        let sum = match (left.into_tensor(), right.into_tensor()) {
            (Some(a), Some(b)) => add_owned(a, b)?,
            (Some(t), None) | (None, Some(t)) => t,
            (None, None) => return Ok(smallvec![Tangent::zero()]),
        };
        Ok(smallvec![match Self::shapes(saved) {
            Some([_, _, y]) if sum.shape() != &y[..] => broadcast_to(&sum, y)?.into(),
            _ => sum.into(),
        }])
    }

    fn vmap(&self, _: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        vmap_elementwise(&OpRef::Static(Self::OP), dims, inputs)
    }
}
