//! Linear algebra: decompositions, systems, determinants, and functions of matrices.
//!
//! All of them work on the last two dimensions and broadcast over the others, so lanes of a `vmap` are one more leading
//! dimension. Their rules are written in these operations again, which makes every order of derivative exact.

pub(super) mod cholesky;
mod complex;
mod complex_samples;
pub(super) mod det;
#[cfg(feature = "linalg")]
pub(super) mod eig;
pub(super) mod eigh;
pub(super) mod either;
pub(super) mod lu;
mod naive;
pub(super) mod norms;
mod phase;
pub(super) mod pinv;
pub(super) mod power;
pub(super) mod product;
pub(super) mod qr;
mod quotient;
pub(super) mod solve;
pub(super) mod svd;
pub(super) mod triangular;

use std::fmt;

use smallvec::SmallVec;

use crate::array::Array;
use crate::error::bail;
use crate::function::op::{Batched, Cotangents, Op, Tangents};
use crate::function::{Cotangent, OpRef, Outs, Saved, Tangent, VmapInfo, backward_through};
use crate::interp::bind;
use crate::kernels::linalg::Stop;
use crate::ops::arith::with_common_dtype;
use crate::ops::reduce::to_float;
use crate::ops::shape::move_dim;
use crate::shape::{Shape, broadcast, numel};
use crate::{DType, Error, ErrorKind, Result, Tensor};

/// What a rule reads: an input or an output of the call.
pub(super) enum Slot {
    In(usize),
    Out(usize),
}

/// A function of matrices and vectors in the last dimensions, which works through leading ones and broadcasts them.
pub(super) trait MatrixOp: Clone + fmt::Debug + Send + Sync + 'static {
    /// How many of the last dimensions of each input are one matrix, vector or number.
    const CORES: &'static [usize];
    /// What the rules are given, in this order.
    const SAVED: &'static [Slot];
    /// False for functions that are constant wherever they are smooth.
    const DIFFERENTIABLE: bool = true;

    /// What messages call it.
    fn name(&self) -> &'static str;

    /// Computes the outputs.
    fn kernel(&self, x: &[&Array]) -> Result<SmallVec<[Array; 2]>>;

    /// The tangents of the outputs.
    fn tangents(&self, saved: &[Tensor], t: &[Tangent]) -> Result<Tangents>;

    /// The cotangents of the inputs, which may have the leading dimensions of the outputs.
    fn cotangents(&self, saved: &[Tensor], needs: &[bool], g: &[Cotangent]) -> Result<Cotangents>;
}

/// A [`MatrixOp`] as an operation.
struct Applied<K>(K);

/// The shapes of the inputs, kept where they broadcast.
struct Shapes(SmallVec<[Shape; 2]>);

/// Applies a [`MatrixOp`].
pub(super) fn apply<K: MatrixOp>(op: K, inputs: &[&Tensor]) -> Result<Outs> {
    if inputs.iter().all(|t| t.array().is_some()) {
        return Applied(op).forward(inputs);
    }
    bind(&OpRef::new(Applied(op)), inputs)
}

/// [`apply`] for one output.
pub(super) fn apply1<K: MatrixOp>(op: K, inputs: &[&Tensor]) -> Result<Tensor> {
    let name = op.name();
    match apply(op, inputs)?.into_iter().next() {
        Some(out) => Ok(out),
        None => bail!(Internal, "{name}: an operation with one output returned none"),
    }
}

/// [`apply`] for two outputs.
pub(super) fn apply2<K: MatrixOp>(op: K, inputs: &[&Tensor]) -> Result<(Tensor, Tensor)> {
    let name = op.name();
    let mut outs = apply(op, inputs)?.into_iter();
    match (outs.next(), outs.next()) {
        (Some(a), Some(b)) => Ok((a, b)),
        _ => bail!(Internal, "{name}: an operation with two outputs returned fewer"),
    }
}

impl<K: MatrixOp> Op for Applied<K> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(&self.0)
    }

    fn is_differentiable(&self) -> bool {
        K::DIFFERENTIABLE
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let arrays: SmallVec<[&Array; 4]> = inputs.iter().map(|t| t.concrete()).collect();
        Ok(self.0.kernel(&arrays)?.into_iter().map(Tensor::from).collect())
    }

    fn save(&self, _: &[bool], inputs: &[&Tensor], outputs: &[Tensor]) -> Result<Saved> {
        let tensors = K::SAVED.iter().map(|slot| match slot {
            Slot::In(k) => inputs[*k].clone(),
            Slot::Out(k) => outputs[*k].clone(),
        });
        let saved = Saved { tensors: tensors.collect(), ..Saved::default() };
        let lead = |k: usize| &inputs[k].shape()[..inputs[k].rank() - K::CORES[k]];
        Ok(if (1..inputs.len()).all(|k| lead(k) == lead(0)) {
            saved
        } else {
            saved.with_state(Shapes(inputs.iter().map(|t| Shape::from_slice(t.shape())).collect()))
        })
    }

    fn backward(&self, saved: &Saved, needs: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        if grads.iter().all(Cotangent::is_zero) {
            return Ok(needs.iter().map(|_| Cotangent::zero()).collect());
        }
        let found = self.0.cotangents(&saved.tensors, needs, grads)?;
        if !matches!(saved.state, crate::function::op::State::Any(_)) {
            return Ok(found);
        }
        let shapes = &saved.get_state::<Shapes>().0;
        found.into_iter().zip(shapes).map(|(g, shape)| g.map(|g| g.sum_to(shape))).collect()
    }

    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        self.0.tangents(&saved.tensors, tangents)
    }

    fn vmap(&self, _: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        let lead = |k: usize| inputs[k].rank() - K::CORES[k] - usize::from(dims[k].is_some());
        let most = (0..inputs.len()).map(lead).max().unwrap_or(0);
        let aligned = (0..inputs.len())
            .map(|k| {
                let Some(dim) = dims[k] else { return Ok(inputs[k].clone()) };
                let front = move_dim(inputs[k], dim, 0)?;
                if lead(k) == most {
                    return Ok(front);
                }
                let mut shape = Shape::from_slice(&front.shape()[..1]);
                shape.extend(std::iter::repeat_n(1, most - lead(k)));
                shape.extend_from_slice(&front.shape()[1..]);
                front.reshape_to(&shape)
            })
            .collect::<Result<SmallVec<[Tensor; 4]>>>()?;
        let outs = apply(self.0.clone(), &aligned.iter().collect::<SmallVec<[&Tensor; 4]>>())?;
        let dims = SmallVec::from_elem(Some(0), outs.len());
        Ok((outs, dims))
    }
}

/// The cotangents that belong to a rule for tangents, which is linear: it is recorded at zero and walked back.
pub(super) fn transposed(
    like: &[&Tensor],
    needs: &[bool],
    g: &[Cotangent],
    rule: impl FnOnce(&[Tangent]) -> Result<Tangents>,
) -> Result<Cotangents> {
    let zeros = like.iter().map(|t| Tensor::zeros(t.shape(), t.dtype())).collect::<Result<Vec<_>>>()?;
    let run = |t: &Vec<Tensor>| -> Result<Vec<Tensor>> {
        let given: Vec<Tangent> = t.iter().cloned().map(Tangent::from).collect();
        rule(&given)?
            .into_iter()
            .zip(g)
            .map(|(mut t, g)| {
                // What nobody asks for needs no type.
                match g.as_tensor() {
                    Some(g) => t.set_type(&g.ty()),
                    None => return Ok(Tensor::from(0.0)),
                }
                t.tensor()
            })
            .collect()
    };
    Ok(backward_through(run, &zeros, needs, &g.to_vec())?.into_iter().collect())
}

/// Results that were computed in `f32` for arguments of half precision.
pub(super) trait Rounded: Sized {
    /// The same with all `f32` rounded to `half`.
    fn rounded(self, half: DType) -> Result<Self>;
}

impl Rounded for Tensor {
    fn rounded(self, half: DType) -> Result<Tensor> {
        if self.dtype() == DType::F32 { self.to_dtype(half) } else { Ok(self) }
    }
}

impl Rounded for (Tensor, Tensor) {
    fn rounded(self, half: DType) -> Result<Self> {
        Ok((self.0.rounded(half)?, self.1.rounded(half)?))
    }
}

impl Rounded for (Tensor, Tensor, Tensor) {
    fn rounded(self, half: DType) -> Result<Self> {
        Ok((self.0.rounded(half)?, self.1.rounded(half)?, self.2.rounded(half)?))
    }
}

/// Calls `f`, for half precision in `f32`: once for all steps, so that only results are rounded.
pub(super) fn widened<R: Rounded>(x: &Tensor, f: impl FnOnce(&Tensor) -> Result<R>) -> Result<R> {
    let half = x.dtype();
    if half.is_half() { f(&x.to_dtype(DType::F32)?)?.rounded(half) } else { f(x) }
}

/// Calls `f` with floats of one dtype; half precision as in [`widened`].
pub(super) fn common(a: &Tensor, b: &Tensor, f: impl FnOnce(&Tensor, &Tensor) -> Result<Tensor>) -> Result<Tensor> {
    with_common_dtype(a, b, true, |a, b| widened(a, |a| f(a, &b.to_dtype(a.dtype())?)))
}

/// The argument as floating or complex matrices.
pub(super) fn matrices(op: &str, x: &Tensor) -> Result<Tensor> {
    if x.rank() < 2 {
        bail!(Shape, "{op}: expected matrices, got {}", x.ty());
    }
    let x = to_float(x)?;
    let accepted = [DType::F32, DType::F64, DType::C64, DType::C128];
    if accepted.contains(&x.dtype()) { Ok(x) } else { crate::dtype::unsupported(op, x.dtype(), &accepted) }
}

/// The argument as floating or complex square matrices.
pub(super) fn square(op: &str, x: &Tensor) -> Result<Tensor> {
    let x = matrices(op, x)?;
    let [m, n] = sizes(&x);
    if m != n {
        bail!(Shape, "{op}: expected square matrices, got {} ({m} rows, {n} columns)", x.ty());
    }
    Ok(x)
}

/// The argument as floating square matrices.
#[cfg(feature = "linalg")]
pub(super) fn real_square(op: &str, x: &Tensor) -> Result<Tensor> {
    if x.dtype().is_complex() {
        return crate::dtype::unsupported(op, x.dtype(), &[DType::F32, DType::F64]);
    }
    square(op, x)
}

/// The numbers of rows and columns.
pub(super) fn sizes(x: &Tensor) -> [usize; 2] {
    let shape = x.shape();
    [shape[shape.len() - 2], shape[shape.len() - 1]]
}

/// An error unless the leading dimensions broadcast, where `cores` of the last ones do not count.
pub(super) fn check_leads(op: &str, a: &Tensor, b: &Tensor, cores: [usize; 2]) -> Result<()> {
    let lead = |t: &Tensor, core: usize| Shape::from_slice(&t.shape()[..t.rank() - core]);
    match broadcast(&lead(a, cores[0]), &lead(b, cores[1])) {
        Some(shape) => crate::tensor::checked_numel(op, &shape).map(|_| ()),
        None => bail!(Shape, "{op}: leading dimensions must broadcast, got {} and {}", a.ty(), b.ty()),
    }
}

/// The transposed matrices.
pub(super) fn flipped(x: &Tensor) -> Result<Tensor> {
    x.transpose(-2, -1)
}

/// The conjugates of transposed matrices.
pub(super) fn adjoint(x: &Tensor) -> Result<Tensor> {
    conjugate(&flipped(x)?)
}

/// `a bᴴ`, for matrices.
pub(super) fn times_adjoint(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    a.matmul(&adjoint(b)?)
}

/// The conjugate of what may be complex.
pub(super) fn conjugate(x: &Tensor) -> Result<Tensor> {
    if x.dtype().is_complex() { x.conj() } else { Ok(x.clone()) }
}

/// The real part of what may be complex.
pub(super) fn real_part(x: &Tensor) -> Result<Tensor> {
    if x.dtype().is_complex() { x.real() } else { Ok(x.clone()) }
}

/// `a bᵀ`, for matrices.
pub(super) fn times_flipped(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    a.matmul(&flipped(b)?)
}

/// Half of the sum of a matrix and its conjugate transpose.
pub(super) fn symmetric(x: &Tensor) -> Result<Tensor> {
    x.add(&adjoint(x)?)?.mul(0.5)
}

/// The lower triangle with half of the diagonal.
pub(super) fn half_triangle(x: &Tensor) -> Result<Tensor> {
    x.tril(0)?.add(&x.tril(-1)?)?.mul(0.5)
}

/// The rows of `x` in the order of `[.., rows]`.
pub(super) fn rows_in_order(x: &Tensor, order: &Tensor) -> Result<Tensor> {
    let rank = x.rank().max(order.rank() + 1);
    let padded = |t: &Tensor| {
        let shape: Shape = std::iter::repeat_n(1, rank - t.rank()).chain(t.shape().iter().copied()).collect();
        t.reshape_to(&shape)
    };
    padded(x)?.take_along_dim(&padded(&order.unsqueeze(-1)?)?, -2)
}

/// Which of the matrices of a shape a computation stopped at, as messages say it; nothing if there is one only.
pub(super) fn which(lead: &[usize], stop: Stop) -> String {
    match numel(lead) {
        1 => String::new(),
        count => format!(" (matrix {} of {count})", stop.matrix),
    }
}

/// The error for a matrix without an inverse.
#[cold]
pub(super) fn singular(op: &str, x: &Array, lead: &[usize], stop: Stop) -> Error {
    let message = format!(
        "{op}: expected regular matrices, got {} with one that is singular to working precision{}: nothing is left to divide \
        by in step {}",
        x.ty(),
        which(lead, stop),
        stop.step
    );
    Error::new(ErrorKind::Value, message).with_help("`pinv` and `lstsq` take matrices without an inverse")
}
