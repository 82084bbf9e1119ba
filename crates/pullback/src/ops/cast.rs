//! Conversion between dtypes, and cutting derivatives.

use std::fmt;

use smallvec::smallvec;

use super::family::{Unary, unary};
use super::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::array::Array;
use crate::error::bail;
use crate::function::op::{Batched, Cotangents, Op, Tangents};
use crate::function::{Cotangent, OpRef, Outs, Saved, Tangent, VmapInfo};
use crate::interp::{bind, bind1};
use crate::kernels::cast;
use crate::{DType, ErrorKind, Result, Tensor};

ops! { OPS;
    /// The elements converted to another dtype.
    ///
    /// # Dtypes
    /// From any to any, except that complex numbers stay complex: which real number is meant is said by `real`, `imag` or
    /// `abs`. Floats are truncated towards zero and saturate when they become integers; non-zero is `true`. What is too
    /// large for `f16` becomes infinite.
    ///
    /// # Derivative
    /// Between floats and complex numbers, the cotangent converted back, which is its real part if floats became complex.
    /// Through an integer or bool there is none.
    ///
    /// # Errors
    /// `Dtype` from a complex dtype to one that is not.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor};
    /// assert_eq!(Tensor::from([1.9, -1.9]).to_dtype(DType::I32)?.to_vec::<i32>()?, [1, -1]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn to_dtype(&self, dtype: DType) -> Result<Tensor> = to_dtype { samples: to_dtype_samples, errors: to_dtype_errors };

    /// The same values as a constant: whatever is being differentiated, this tensor does not depend on it.
    ///
    /// Known elsewhere as stop-gradient: it is cut from every derivative that is running, in forward and reverse mode alike. Under `vmap` the lanes stay.
    ///
    /// # Shapes
    /// The result has the shape of the tensor.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// 0.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, grad};
    /// let f = |x: &Tensor| Ok(x.square()?.detach()? + x * 3.0);
    /// assert_eq!(grad(f)(&Tensor::from(2.0))?.item::<f64>()?, 3.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn detach(&self) -> Result<Tensor> = detach { samples: detach_samples };
}

struct Cast {
    from: DType,
    to: DType,
}

impl fmt::Debug for Cast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.to, f)
    }
}

fn to_dtype(x: &Tensor, dtype: DType) -> Result<Tensor> {
    if x.dtype().is_complex() && !dtype.is_complex() {
        bail!(Dtype, "to_dtype: expected a complex dtype for {}, got {dtype}", x.ty(); help = "take its `real` part, \
            `imag` or `abs` first");
    }
    convert(x, dtype)
}

/// `to_dtype`, which also takes the real part of a complex number.
pub(crate) fn convert(x: &Tensor, dtype: DType) -> Result<Tensor> {
    let from = x.dtype();
    if from == dtype {
        return x.unchanged("to_dtype");
    }
    match x.array() {
        Some(array) => Ok(cast::cast(array, dtype).into()),
        None => bind1(&OpRef::new(Cast { from, to: dtype }), &[x]),
    }
}

impl Op for Cast {
    fn name(&self) -> &str {
        "to_dtype"
    }
    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }
    fn is_differentiable(&self) -> bool {
        self.from.is_differentiable() && self.to.is_differentiable()
    }
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        Ok(smallvec![cast::cast(inputs[0].concrete(), self.to).into()])
    }
    fn save(&self, _: &[bool], _: &[&Tensor], _: &[Tensor]) -> Result<Saved> {
        Ok(Saved::default())
    }
    fn backward(&self, _: &Saved, _: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        Ok(smallvec![grads[0].map(|g| convert(g, self.from))?])
    }
    fn jvp(&self, _: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        Ok(smallvec![tangents[0].map(|t| convert(t, self.to))?])
    }
    fn vmap(&self, _: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        let outs = bind(&OpRef::new(Cast { ..*self }), inputs)?;
        Ok((outs, dims.into()))
    }
}

struct Detach;

fn detach(x: &Tensor) -> Result<Tensor> {
    unary::<Detach>(x)
}

impl Unary for Detach {
    const NAME: &'static str = "detach";
    const DIFFERENTIABLE: bool = false;
    fn kernel(x: &Array) -> Result<Array> {
        Ok(x.clone())
    }
}

fn detach_samples() -> Vec<Sample> {
    vec![
        Sample::one("matrix", [sample_tensor(&[2, 3], -3.0, 3.0, 1)], |x| x[0].detach())
            .reference(|x| vec![x[0].clone()])
            .not_differentiable(),
        Sample::one("integer", [Tensor::from(3)], |x| x[0].detach())
            .reference(|x| vec![x[0].clone()])
            .not_differentiable(),
    ]
}

fn to_dtype_samples() -> Vec<Sample> {
    let x = || [sample_tensor(&[2, 3], -3.0, 3.0, 1)];
    vec![
        Sample::one("empty", [sample_tensor(&[0, 3], -3.0, 3.0, 1)], |x| x[0].to_dtype(DType::F64))
            .reference(|x| vec![x[0].clone()])
            .fixed_dtype(),
        Sample::one("through f64", x(), |x| x[0].to_dtype(DType::F64)).reference(|x| vec![x[0].clone()]).fixed_dtype(),
        Sample::one("to i64", x(), |x| x[0].to_dtype(DType::I64))
            .reference(|x| {
                vec![Naive { shape: x[0].shape.clone(), data: x[0].data.iter().map(|v| v.trunc()).collect() }]
            })
            .not_differentiable(),
    ]
}

fn to_dtype_errors() -> Vec<ErrorSample> {
    let z = Tensor::ones(&[2], DType::C64).expect("a small tensor");
    vec![ErrorSample::new(
        "complex to real",
        ErrorKind::Dtype,
        "to_dtype: expected a complex dtype for c64[2], got f32",
        move || z.to_dtype(DType::F32),
    )]
}
