//! Choosing between values: where, maximum, minimum, clamp.

use smallvec::smallvec;

use super::arith::{binary_samples, scalar_tensor, with_common_dtype};
use super::compare::below;
use super::family::{Binary, Operands, Reads, Slope, UnaryOp, UnaryWith, binary, slope, unary_with, vmap_elementwise};
use super::structural::broadcast_to;
use super::table::{ErrorSample, Kink, Naive, Sample, ops, sample_tensor};
use crate::array::Array;
use crate::dtype::{Element, Scalar, any_word, dispatch};
use crate::error::bail;
use crate::function::op::{Batched, Cotangents, Op, State, Tangents};
use crate::function::{Cotangent, OpRef, Outs, Saved, Tangent, VmapInfo};
use crate::interp::bind1;
use crate::kernels::map;
use crate::kernels::math::Float;
use crate::kernels::reduce::is_nan;
use crate::shape::{Shape, broadcast};
use crate::tensor::Operand;
use crate::{DType, ErrorKind, Result, Tensor};

ops! { OPS;
    /// The elements of `a` where this condition holds, and those of `b` elsewhere.
    ///
    /// # Shapes
    /// All three broadcast against each other.
    ///
    /// # Dtypes
    /// The condition is bool. `a` and `b` are promoted by the table of [`DType`].
    ///
    /// # Derivative
    /// The cotangent goes to the operand that was chosen, and 0 to the other one, whatever the cotangent is.
    ///
    /// The operands themselves are computed before one is chosen. If the one that is not chosen has an infinite or
    /// undefined derivative, zero times that derivative is NaN. Choose its input as well, so that it never sees the
    /// value that it cannot take: not the logarithm of `x`, but that of a tensor that has 1 where `x` is not positive.
    ///
    /// # Errors
    /// `Dtype` if the condition is not bool; `Shape` if the shapes do not broadcast; `Value` for a number that the integer
    /// dtype of the other operand cannot hold.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([4.0, 0.0, -9.0]);
    /// let positive = x.gt(0.0)?;
    /// let root = positive.where_(positive.where_(&x, 1.0)?.sqrt()?, 0.0)?;
    /// assert_eq!(root.to_vec::<f64>()?, [2.0, 0.0, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn where_(&self, a: impl Operand, b: impl Operand) -> Result<Tensor> = choose {
        samples: where_samples, errors: where_errors,
        python: function::where(self as condition, a as input, b as other),
        python: where(a as self, self as condition, b as other)
    };

    /// The larger of two elements; NaN if either is NaN.
    ///
    /// # Shapes
    /// Both operands broadcast against each other.
    ///
    /// # Dtypes
    /// All, promoted by the table of [`DType`].
    ///
    /// # Derivative
    /// 1 for the operand that was chosen, 0 for the other one, and one half for both where they are equal: the
    /// derivative of `x.maximum(&x)` is 1. Beside NaN, 1 for both, as in PyTorch's reverse mode.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; `Value` for a number that the integer dtype of the tensor cannot hold.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([1.0, 5.0]).maximum(3)?.to_vec::<f64>()?, [3.0, 5.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn maximum(&self, rhs: impl Operand) -> Result<Tensor> = maximum {
        samples: maximum_samples, errors: extreme_errors, kinks: maximum_kinks,
        python: maximum(rhs),
        python: max(rhs)
    };

    /// The smaller of two elements; NaN if either is NaN.
    ///
    /// # Shapes
    /// Both operands broadcast against each other.
    ///
    /// # Dtypes
    /// All, promoted by the table of [`DType`].
    ///
    /// # Derivative
    /// 1 for the operand that was chosen, 0 for the other one, and one half for both where they are equal.
    /// Beside NaN, 1 for both.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; `Value` for a number that the integer dtype of the tensor cannot hold.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([1.0, 5.0]).minimum(3)?.to_vec::<f64>()?, [1.0, 3.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn minimum(&self, rhs: impl Operand) -> Result<Tensor> = minimum {
        samples: minimum_samples, errors: extreme_errors, kinks: minimum_kinks,
        python: minimum(rhs),
        python: min(rhs)
    };

    /// The elements, with those below `min` and above `max` replaced by that bound; NaN stays NaN.
    ///
    /// # Shapes
    /// The result has the shape of the tensor.
    ///
    /// # Dtypes
    /// Floats and integers, which stay what they are. The bounds of integers must be whole numbers, and leave room
    /// for at least one value of the dtype.
    ///
    /// # Derivative
    /// 1 inside and at the bounds, 0 outside and for NaN.
    ///
    /// If `min` is larger than `max`, every element becomes `max` and the derivative is 0.
    ///
    /// # Errors
    /// `Value` if a bound is NaN, or one that an integer dtype cannot respect; `Dtype` for bools.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([-2.0, 0.5, 3.0]);
    /// assert_eq!(x.clamp(Some(0.0), Some(1.0))?.to_vec::<f64>()?, [0.0, 0.5, 1.0]);
    /// assert_eq!(x.clamp(None, Some(1.0))?.to_vec::<f64>()?, [-2.0, 0.5, 1.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// The order of the bounds is PyTorch's. At the bounds, where this derivative is 1, that of PyTorch 2.15 is 0.
    /// PyTorch turns integers with a bound that is a float into floats; here they stay what they are.
    fn clamp(&self, min: Option<f64>, max: Option<f64>) -> Result<Tensor> = clamp
        {
            in_place: true, samples: clamp_samples, errors: clamp_errors, kinks: clamp_kinks,
            python: clamp(min, max),
            python: clip(min, max)
        };
}

/// Inputs: the condition, and two tensors of one dtype.
struct Where;

/// The shapes of the two tensors and the result, kept where they differ.
struct WhereShapes([Shape; 3]);

fn choose(condition: &Tensor, a: impl Operand, b: impl Operand) -> Result<Tensor> {
    if condition.dtype() != DType::Bool {
        bail!(Dtype, "where_: expected a condition of dtype bool, got {}", condition.ty(); help = "compare it with \
            something, for example `ne(0)`");
    }
    let other = b.operand_dtype();
    a.with_operand("where_", other, |a| {
        b.with_operand("where_", a.dtype(), |b| with_common_dtype(a, b, false, |a, b| choose_tensors(condition, a, b)))
    })
}

/// [`choose`] between tensors of one dtype.
fn choose_tensors(condition: &Tensor, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let shape = where_shape([condition, a, b])?;
    match (condition.array(), a.array(), b.array()) {
        (Some(c), Some(a), Some(b)) => Ok(where_kernel(c, a, b, &shape).into()),
        _ => bind1(&OpRef::Static(&Where), &[condition, a, b]),
    }
}

fn where_shape([condition, a, b]: [&Tensor; 3]) -> Result<Shape> {
    let shape = broadcast(a.shape(), b.shape()).and_then(|ab| broadcast(condition.shape(), &ab));
    match shape {
        Some(shape) => {
            crate::tensor::checked_numel("where_", &shape)?;
            Ok(shape)
        }
        None => {
            let (c, a, b) = (condition.ty(), a.ty(), b.ty());
            bail!(Shape, "where_: shapes must broadcast, got condition {c}, a {a} and b {b}")
        }
    }
}

fn where_kernel(condition: &Array, a: &Array, b: &Array, shape: &[usize]) -> Array {
    any_word!(a.dtype(), W => map::select::<W>(condition, a, b, shape))
}

impl Op for Where {
    fn name(&self) -> &str {
        "where_"
    }
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let shape = where_shape([inputs[0], inputs[1], inputs[2]])?;
        Ok(smallvec![where_kernel(inputs[0].concrete(), inputs[1].concrete(), inputs[2].concrete(), &shape).into()])
    }
    fn save(&self, _: &[bool], inputs: &[&Tensor], outputs: &[Tensor]) -> Result<Saved> {
        let saved = Saved::tensors([inputs[0]]);
        let (a, b, y) = (inputs[1].shape(), inputs[2].shape(), outputs[0].shape());
        if a == y && b == y {
            return Ok(saved);
        }
        Ok(saved.with_state(WhereShapes([a, b, y].map(Shape::from_slice))))
    }
    fn backward(&self, saved: &Saved, needs: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        let Some(g) = grads[0].as_tensor() else { return Ok(smallvec![Cotangent::zero(); 3]) };
        let condition = &saved.tensors[0];
        let zero = scalar_tensor(Scalar::Int(0), g.dtype());
        let fit = |t: Tensor, k: usize| match saved.state {
            State::Any(_) => t.sum_to(&saved.get_state::<WhereShapes>().0[k]),
            _ => Ok(t),
        };
        let mut out: Cotangents = smallvec![Cotangent::zero(); 3];
        if needs[1] {
            out[1] = fit(choose_tensors(condition, g, &zero)?, 0)?.into();
        }
        if needs[2] {
            out[2] = fit(choose_tensors(condition, &zero, g)?, 1)?.into();
        }
        Ok(out)
    }
    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        let Some(dtype) = tangents[1..].iter().find_map(|t| t.as_tensor().map(Tensor::dtype)) else {
            return Ok(smallvec![Tangent::zero()]);
        };
        let zero = scalar_tensor(Scalar::Int(0), dtype);
        let [a, b] = [1, 2].map(|k| tangents[k].as_tensor().unwrap_or(&zero));
        let t = choose_tensors(&saved.tensors[0], a, b)?;
        Ok(smallvec![match saved.state {
            State::Any(_) => broadcast_to(&t, &saved.get_state::<WhereShapes>().0[2])?.into(),
            _ => t.into(),
        }])
    }
    fn vmap(&self, _: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        vmap_elementwise(&OpRef::Static(&Where), dims, inputs)
    }
}

struct Maximum;
struct Minimum;

/// Applies [`Maximum`] or [`Minimum`].
fn extreme<K: Binary>(a: &Tensor, rhs: impl Operand) -> Result<Tensor> {
    rhs.with_operand(K::NAME, a.dtype(), |b| with_common_dtype(a, b, false, binary::<K>))
}

fn maximum(a: &Tensor, rhs: impl Operand) -> Result<Tensor> {
    extreme::<Maximum>(a, rhs)
}

fn minimum(a: &Tensor, rhs: impl Operand) -> Result<Tensor> {
    extreme::<Minimum>(a, rhs)
}

impl Binary for Maximum {
    const NAME: &'static str = "maximum";
    fn kernel(a: &Array, b: &Array, shape: &[usize]) -> Result<Array> {
        // A NaN on the left fails both comparisons that would pass it over; one on the right fails to be smaller.
        dispatch!(a.dtype(), "maximum", all, T => Ok(map::zip::<T, T, T>(a, b, shape,
            #[inline(always)] |x, y| if below(y, x) || is_nan(x) { x } else { y })))
    }
    fn reads(_: (bool, bool)) -> Reads {
        Reads { lhs: true, rhs: true, output: false }
    }
    fn left(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        slope::<Weight>(d, &binary::<NotBelow>(values.lhs(), values.rhs())?)
    }
    fn right(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        slope::<Weight>(d, &binary::<NotBelow>(values.rhs(), values.lhs())?)
    }
}

impl Binary for Minimum {
    const NAME: &'static str = "minimum";
    fn kernel(a: &Array, b: &Array, shape: &[usize]) -> Result<Array> {
        dispatch!(a.dtype(), "minimum", all, T => Ok(map::zip::<T, T, T>(a, b, shape,
            #[inline(always)] |x, y| if below(x, y) || is_nan(x) { x } else { y })))
    }
    fn reads(_: (bool, bool)) -> Reads {
        Reads { lhs: true, rhs: true, output: false }
    }
    fn left(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        slope::<Weight>(d, &binary::<NotBelow>(values.rhs(), values.lhs())?)
    }
    fn right(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        slope::<Weight>(d, &binary::<NotBelow>(values.lhs(), values.rhs())?)
    }
}

/// 0 where `a < b`, ½ where they are equal, else 1, also beside NaN.
struct NotBelow;

impl Binary for NotBelow {
    const NAME: &'static str = "not_below";
    const DIFFERENTIABLE: bool = false;
    fn kernel(a: &Array, b: &Array, shape: &[usize]) -> Result<Array> {
        dispatch!(a.dtype(), "not_below", float, T => Ok(map::zip::<T, T, T>(a, b, shape, #[inline(always)] |x, y| {
            let unequal = if x < y { T::ZERO } else { T::ONE };
            if x == y { T::from_f64(0.5) } else { unequal }
        })))
    }
}

/// `d` times a constant weight, where weight 0 gives 0 whatever `d` is.
struct Weight;

impl Slope for Weight {
    const NAME: &'static str = "weight";
    const VARIES: bool = false;
    #[inline(always)]
    fn times<T: Float>(d: T, w: T) -> T {
        if w == T::ZERO { T::ZERO } else { d * w }
    }
}

/// An absent bound is infinite.
#[derive(Clone, Copy, Debug)]
struct Clamp {
    min: f64,
    max: f64,
}

pub(super) fn clamp(x: &Tensor, min: Option<f64>, max: Option<f64>) -> Result<Tensor> {
    let dtype = x.dtype();
    let (lowest, highest) = match dtype {
        DType::U8 => (f64::from(u8::MIN), f64::from(u8::MAX)),
        DType::I32 => (f64::from(i32::MIN), f64::from(i32::MAX)),
        DType::I64 => (i64::MIN as f64, i64::MAX as f64),
        _ => (f64::NEG_INFINITY, f64::INFINITY),
    };
    for (name, bound, possible) in [("min", min, min <= Some(highest)), ("max", max, max.is_none_or(|m| m >= lowest))] {
        let Some(bound) = bound else { continue };
        if bound.is_nan() {
            bail!(Value, "clamp: expected bounds that are numbers, got {name} NaN");
        }
        if dtype.is_int() && (!possible || bound.is_finite() && bound.fract() != 0.0) {
            bail!(Value, "clamp: expected whole bounds that leave room for {dtype}, got {name} {bound} for {}", x.ty();
                help = "convert the tensor with `to_dtype` first");
        }
    }
    let op = Clamp { min: min.unwrap_or(f64::NEG_INFINITY), max: max.unwrap_or(f64::INFINITY) };
    unary_with(&op, x)
}

impl UnaryWith for Clamp {
    const NAME: &'static str = "clamp";
    fn share(&self) -> OpRef {
        OpRef::new(UnaryOp(*self))
    }
    fn kernel(&self, x: &Array) -> Result<Array> {
        dispatch!(x.dtype(), "clamp", number, T => {
            let (min, max) = (T::from_f64(self.min), T::from_f64(self.max));
            Ok(map::map::<T, T>(x, #[inline(always)] move |x| {
                let x = if x < min { min } else { x };
                if x > max { max } else { x }
            }))
        })
    }
    fn derivative(&self, d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        unary_with(&Inside(*self), x)?.where_(d, 0)
    }
}

/// Whether an element lies between the bounds.
#[derive(Debug)]
struct Inside(Clamp);

impl UnaryWith for Inside {
    const NAME: &'static str = "inside";
    const DIFFERENTIABLE: bool = false;
    fn share(&self) -> OpRef {
        OpRef::new(UnaryOp(Inside(self.0)))
    }
    fn kernel(&self, x: &Array) -> Result<Array> {
        dispatch!(x.dtype(), "inside", float, T => {
            let (min, max) = (T::from_f64(self.0.min), T::from_f64(self.0.max));
            Ok(map::map::<T, bool>(x, #[inline(always)] move |x| x >= min && x <= max))
        })
    }
}

fn where_samples() -> Vec<Sample> {
    let case = |label: &str, condition: Tensor, a: &[usize], b: &[usize]| {
        let inputs = [condition, sample_tensor(a, -1.0, 1.0, 1), sample_tensor(b, -1.0, 1.0, 2)];
        Sample::one(label, inputs, |x| x[0].where_(&x[1], &x[2])).reference(|x| {
            let all = broadcast(&x[1].shape, &x[2].shape).and_then(|s| broadcast(&x[0].shape, &s));
            vec![Naive::from_fn(&all.expect("samples broadcast"), |i| {
                x[if x[0].at_broadcast(i) != 0.0 { 1 } else { 2 }].at_broadcast(i)
            })]
        })
    };
    vec![
        case("same shape", Tensor::from([[true, false, true], [false, false, true]]), &[2, 3], &[2, 3]),
        case("condition broadcast", Tensor::from([[true], [false]]), &[2, 3], &[3]),
        case("operands broadcast", Tensor::from([[true, false], [false, true]]), &[], &[2, 1]),
        case("0-d", Tensor::from(true), &[], &[]),
        case("empty", Tensor::from([true, false]), &[0, 2], &[2]),
        Sample::one("numbers", [Tensor::from([true, false])], |x| x[0].where_(1.5, 2))
            .reference(|x| vec![Naive { shape: vec![2], data: x[0].data.iter().map(|&c| 2.0 - 0.5 * c).collect() }])
            .not_differentiable(),
    ]
}

fn where_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    let (y, condition) = (x.clone(), Tensor::from([true, false]));
    vec![
        ErrorSample::new("dtype", ErrorKind::Dtype, "expected a condition of dtype bool, got f64[2,3]", move || {
            x.where_(&x, &x)
        }),
        ErrorSample::new(
            "shapes",
            ErrorKind::Shape,
            "shapes must broadcast, got condition bool[2], a f64[2,3] and b f64[]",
            move || condition.where_(&y, 0),
        ),
        ErrorSample::new("range", ErrorKind::Value, "where_: expected a number that u8 can hold, got 300", || {
            Tensor::from([true]).where_(300, Tensor::from([1u8]))
        }),
    ]
}

fn maximum_samples() -> Vec<Sample> {
    binary_samples((-2.0, 2.0), |a, b| a.maximum(b), f64::max)
}

fn minimum_samples() -> Vec<Sample> {
    binary_samples((-2.0, 2.0), |a, b| a.minimum(b), f64::min)
}

fn maximum_kinks() -> Vec<Kink> {
    vec![
        Kink::new("tie with a number", Tensor::from([0.0, 1.0, 2.0]), [0.0, 0.5, 1.0], |x| x.maximum(1)),
        Kink::new("with itself", Tensor::from([0.0, 1.0]), [1.0, 1.0], |x| x.maximum(x)),
    ]
}

fn minimum_kinks() -> Vec<Kink> {
    vec![
        Kink::new("tie with a number", Tensor::from([0.0, 1.0, 2.0]), [1.0, 0.5, 0.0], |x| x.minimum(1)),
        Kink::new("with itself", Tensor::from([0.0, 1.0]), [1.0, 1.0], |x| x.minimum(x)),
    ]
}

fn extreme_errors() -> Vec<ErrorSample> {
    let (a, b) = (sample_tensor(&[2, 3], 0.0, 1.0, 1), sample_tensor(&[4], 0.0, 1.0, 2));
    vec![
        ErrorSample::new(
            "shapes",
            ErrorKind::Shape,
            "shapes must broadcast, got lhs f64[2,3] and rhs f64[4]",
            move || a.maximum(&b).and(a.minimum(&b)),
        ),
        ErrorSample::new("range", ErrorKind::Value, "expected a number that u8 can hold, got 300", || {
            let x = Tensor::from([1u8]);
            x.maximum(300).and(x.minimum(300))
        }),
    ]
}

fn clamp_samples() -> Vec<Sample> {
    let case = |label: &str, min: Option<f64>, max: Option<f64>| {
        Sample::one(label, [sample_tensor(&[2, 3], -2.0, 2.0, 1)], move |x| x[0].clamp(min, max)).reference(move |x| {
            let of = |v: &f64| v.max(min.unwrap_or(f64::NEG_INFINITY)).min(max.unwrap_or(f64::INFINITY));
            vec![Naive { shape: x[0].shape.clone(), data: x[0].data.iter().map(of).collect() }]
        })
    };
    vec![
        case("both", Some(-0.5), Some(0.7)),
        case("min", Some(0.1), None),
        case("max", None, Some(0.1)),
        case("neither", None, None),
        case("crossed", Some(1.0), Some(-1.0)),
        Sample::one("integers", [Tensor::from([-5i64, 0, 7])], |x| x[0].clamp(Some(-1.0), Some(1e300)))
            .reference(|_| vec![Naive { shape: vec![3], data: vec![-1.0, 0.0, 7.0] }])
            .not_differentiable(),
        Sample::one("empty", [sample_tensor(&[0], 0.0, 1.0, 1)], |x| x[0].clamp(Some(0.0), None))
            .reference(|x| vec![x[0].clone()]),
    ]
}

fn clamp_errors() -> Vec<ErrorSample> {
    vec![
        ErrorSample::new("nan", ErrorKind::Value, "expected bounds that are numbers, got max NaN", || {
            Tensor::from([1.0]).clamp(None, Some(f64::NAN))
        }),
        ErrorSample::new("fraction", ErrorKind::Value, "got min 0.5 for i32[1]", || {
            Tensor::from([1]).clamp(Some(0.5), None)
        }),
        ErrorSample::new("impossible", ErrorKind::Value, "leave room for u8, got max -1 for u8[1]", || {
            Tensor::from([1u8]).clamp(None, Some(-1.0))
        }),
        ErrorSample::new("bool", ErrorKind::Dtype, "clamp: expected a tensor of dtype u8", || {
            Tensor::from([true]).clamp(None, None)
        }),
    ]
}

fn clamp_kinks() -> Vec<Kink> {
    vec![Kink::new("at the bounds", Tensor::from([-1.5, -1.0, 0.0, 1.0, 1.5]), [0.0, 1.0, 1.0, 1.0, 0.0], |x| {
        x.clamp(Some(-1.0), Some(1.0))
    })]
}
