//! What the families share: elementwise operations of one and two tensors, and the batching rules that most need.

use std::fmt;
use std::marker::PhantomData;

use smallvec::{SmallVec, smallvec};

use super::arith::{mul_owned, with_common_dtype};
use super::shape::broadcast_to;
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::bail;
use crate::function::op::{Batched, Cotangents, Op, State, Tangents};
use crate::function::{Cotangent, OpRef, Outs, Saved, Tangent, VmapInfo};
use crate::interp::reverse::Own;
use crate::interp::{batch, bind, bind1};
use crate::kernels::half::{widened, widened_elementwise};
use crate::kernels::math::Float;
use crate::kernels::{complex, map};
use crate::shape::{Shape, broadcasts_to, same_shape};
use crate::tensor::{Repr, ReprMut, TracerHandle};
use crate::{Error, ErrorKind, Result, Tensor};

/// The batching rule of an elementwise operation, whose inputs broadcast: the lanes become one more dimension.
pub(crate) fn vmap_elementwise(op: &OpRef, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
    // Where the batched inputs agree on rank and dim and the others are too small to reach it, nothing moves.
    let mut place = None;
    let in_place = inputs.iter().zip(dims).all(|(t, d)| match d {
        Some(d) => *place.get_or_insert((t.rank(), *d)) == (t.rank(), *d),
        None => true,
    });
    if in_place
        && let Some((rank, dim)) = place
        && inputs.iter().zip(dims).all(|(t, d)| d.is_some() || t.rank() < rank - dim)
    {
        let outs = bind(op, inputs)?;
        let n = outs.len();
        return Ok((outs, SmallVec::from_elem(Some(dim), n)));
    }
    let aligned = batch::align(dims, inputs)?;
    let outs = bind(op, &aligned.iter().collect::<SmallVec<[&Tensor; 4]>>())?;
    let n = outs.len();
    Ok((outs, SmallVec::from_elem(Some(0), n)))
}

/// The batching rule of an operation of one tensor that acts on dimensions: the lanes go to the front, and `shifted`
/// is the operation with its dimension numbers counted from behind them.
pub(crate) fn vmap_front(shifted: &OpRef, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
    let values = batch::to_front(dims, inputs)?;
    let outs = bind(shifted, &values.iter().collect::<SmallVec<[&Tensor; 4]>>())?;
    let n = outs.len();
    Ok((outs, SmallVec::from_elem(Some(0), n)))
}

/// A family asked for a derivative that an operation says it does not have.
#[cold]
fn discrete(op: &str, t: &Tensor) -> Error {
    Error::new(ErrorKind::Internal, format!("{op}: a derivative that is always zero was asked for with {}", t.ty()))
}

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

/// The transpose of `f`, which multiplies by a number: for real numbers `f` itself, and for complex ones that of the conjugate,
/// if the number may be complex. This is the one place that conjugates derivatives.
#[inline]
pub(in crate::ops) fn adjoint(holomorphic: bool, g: &Tensor, f: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    if holomorphic && g.dtype().is_complex() { f(&g.conj()?)?.conj() } else { f(g) }
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

    fn save(&self, needs: &[bool], inputs: &[&Tensor], outputs: &[Tensor]) -> Result<Saved> {
        let mut saved = Saved::default();
        self.save_to(needs, inputs, outputs, &mut saved)?;
        Ok(saved)
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
    const OP: &'static dyn Op = &BinaryOp::<K>(PhantomData);

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

    fn save(&self, needs: &[bool], inputs: &[&Tensor], outputs: &[Tensor]) -> Result<Saved> {
        let mut saved = Saved::default();
        self.save_to(needs, inputs, outputs, &mut saved)?;
        Ok(saved)
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
            (Some(a), Some(b)) => super::arith::add_owned(a, b)?,
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

/// Applies an operation with one output that is made for this call.
pub(crate) fn apply1(op: impl Op, inputs: &[&Tensor]) -> Result<Tensor> {
    if inputs.iter().any(|t| t.array().is_none()) {
        return bind1(&OpRef::new(op), inputs);
    }
    op.forward1(inputs)
}

/// A linear function of one tensor: both modes follow from the function itself and its transpose.
pub(crate) trait Linear: Clone + fmt::Debug + Send + Sync + 'static {
    const NAME: &'static str;
    /// False if the kernel only moves elements, whatever their dtype.
    const COMPUTES: bool = true;
    /// False if a complex array is not to be treated as two real ones.
    const BY_PARTS: bool = true;

    /// Computes the result.
    fn kernel(&self, x: &Array) -> Result<Array>;

    /// The transpose: takes a cotangent of the result to one of the input, whose shape is given. Of a function of complex
    /// numbers, the conjugate transpose.
    fn transpose(&self, g: &Tensor, input: &[usize]) -> Result<Tensor>;

    /// The same function for `size` lanes, which lie along dimension 0 of input and result.
    fn batched(&self, size: usize) -> Self;

    /// The same function for lanes that lie along dimension `lane` of an input of shape `input`, and where they lie in
    /// the result; `None` if they have to move to the front first.
    fn batched_in_place(&self, _input: &[usize], _lane: usize) -> Option<(Self, usize)> {
        None
    }
}

/// A [`Linear`] as an operation.
struct LinearOp<K>(K);

/// Applies a [`Linear`].
pub(crate) fn linear<K: Linear>(op: K, x: &Tensor) -> Result<Tensor> {
    match x.array() {
        Some(array) => Ok(run_linear(&op, array)?.into()),
        None => bind1(&OpRef::new(LinearOp(op)), &[x]),
    }
}

#[inline]
fn run_linear<K: Linear>(op: &K, x: &Array) -> Result<Array> {
    match K::COMPUTES {
        true if K::BY_PARTS && x.dtype().is_complex() => complex::by_parts([x], |[x]| op.kernel(x)),
        true => widened([x], |[x]| op.kernel(x)),
        false => op.kernel(x),
    }
}

impl<K: Linear> Op for LinearOp<K> {
    fn name(&self) -> &str {
        K::NAME
    }

    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(&self.0)
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        Ok(smallvec![self.forward1(inputs)?])
    }

    fn forward1(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        Ok(run_linear(&self.0, inputs[0].concrete())?.into())
    }

    fn save(&self, _: &[bool], inputs: &[&Tensor], _: &[Tensor]) -> Result<Saved> {
        Ok(Saved::shape(inputs[0].shape()))
    }

    fn save_to(&self, _: &[bool], inputs: &[&Tensor], _: &[Tensor], saved: &mut Saved) -> Result<()> {
        saved.keep_shape(inputs[0].shape());
        Ok(())
    }

    fn backward(&self, saved: &Saved, _: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        Ok(smallvec![grads[0].map(|g| self.0.transpose(g, &saved.get_shape()))?])
    }

    fn jvp(&self, _: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        Ok(smallvec![tangents[0].map(|t| linear(self.0.clone(), t))?])
    }

    fn vmap(&self, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        if let Some(lane) = dims[0]
            && let Some((op, lane)) = self.0.batched_in_place(inputs[0].shape(), lane)
        {
            return Ok((smallvec![linear(op, inputs[0])?], smallvec![Some(lane)]));
        }
        vmap_front(&OpRef::new(LinearOp(self.0.batched(info.batch_size))), dims, inputs)
    }
}
