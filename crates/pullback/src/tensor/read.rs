//! Reading the contents of a tensor.

use super::{Repr, Tensor};
use crate::array::Array;
use crate::dtype::Element;
use crate::interp::check_data_access;
use crate::interp::watch::resolve;
use crate::kernels::cast::cast;
use crate::kernels::copy;
use crate::{Complex64, DType, Result, error::bail};

/// The elements in row-major order.
pub(crate) fn elements<T: Element>(array: &Array) -> Vec<T> {
    if let Some(slice) = array.as_slice::<T>() {
        return slice.to_vec();
    }
    let n = array.numel();
    let mut out = Vec::with_capacity(n);
    copy::copy_into(array, &mut out.spare_capacity_mut()[..n]);
    // SAFETY: `copy_into` has written all of them.
    unsafe { out.set_len(n) };
    out
}

impl Tensor {
    /// The concrete contents: of a traced value, those of its primal.
    pub(crate) fn data(&self, op: &str) -> Result<&Array> {
        // What reads a value uses it, although no operation does.
        if self.array().is_none() {
            resolve(self, op)?;
        }
        let mut t = self;
        loop {
            match t.repr() {
                Repr::Array(array) => return Ok(array),
                Repr::Tracer(tracer) => {
                    check_data_access(tracer, op)?;
                    match tracer.primal() {
                        Some(primal) => t = primal,
                        None => bail!(Internal, "{op}: a batched value passed the check of data access"),
                    }
                }
            }
        }
    }

    /// The elements in row-major order.
    ///
    /// Inside `grad`, `jvp` and their relatives this gives the value and leaves the derivative alone.
    ///
    /// # Errors
    /// `Dtype` if `T` is not the element type (convert with [`to_dtype`](Tensor::to_dtype) first);
    /// `ConcreteValueNeeded` for a value that is batched by `vmap`, or that [`capture`](crate::capture) writes down.
    ///
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([[1i64, 2], [3, 4]]).to_vec::<i64>()?, [1, 2, 3, 4]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.check_element::<T>("to_vec")?;
        let array = self.data("to_vec")?;
        Ok(elements(array))
    }

    /// The only element of a tensor that has one.
    ///
    /// # Errors
    /// `Shape` unless there is exactly one element; otherwise as [`to_vec`](Tensor::to_vec).
    ///
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from(2.5f32).item::<f32>()?, 2.5);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn item<T: Element>(&self) -> Result<T> {
        self.check_element::<T>("item")?;
        if self.numel() != 1 {
            bail!(Shape, "item: expected a tensor with one element, got {}", self.ty(); help = "use `to_vec`, or select \
                an element first");
        }
        Ok(self.data("item")?.first::<T>())
    }

    /// True if everywhere `|self - other| <= atol + rtol * |other|`; infinities are close to themselves, NaN to
    /// nothing.
    ///
    /// The comparison is made in `f64`, whatever the dtypes, and that of complex numbers by their distance. Inside `grad`, `jvp` and their relatives it compares the
    /// values.
    ///
    /// # Errors
    /// `Shape` if the shapes differ; `ConcreteValueNeeded` as [`to_vec`](Tensor::to_vec).
    ///
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([1.0, 2.0]);
    /// assert!(x.allclose(&Tensor::from([1.0, 2.000001]), 1e-5, 1e-8)?);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// NumPy and PyTorch, without their broadcasting.
    pub fn allclose(&self, other: &Tensor, rtol: f64, atol: f64) -> Result<bool> {
        let (a, b) = (self.data("allclose")?, other.data("allclose")?);
        if a.shape() != b.shape() {
            bail!(Shape, "allclose: expected tensors of one shape, got {} and {}", a.ty(), b.ty());
        }
        // An infinity is as far from everything else as the tolerance that it would get.
        if a.dtype().is_complex() || b.dtype().is_complex() {
            let all = |x| elements::<Complex64>(&cast(x, DType::C128));
            let close =
                |(a, b): (Complex64, Complex64)| a == b || b.is_finite() && (a - b).norm() <= atol + rtol * b.norm();
            return Ok(all(a).into_iter().zip(all(b)).all(close));
        }
        let all = |x| elements::<f64>(&cast(x, DType::F64));
        let close = |(a, b): (f64, f64)| a == b || b.is_finite() && (a - b).abs() <= atol + rtol * b.abs();
        Ok(all(a).into_iter().zip(all(b)).all(close))
    }

    pub(crate) fn check_element<T: Element>(&self, op: &str) -> Result<()> {
        let got = self.dtype();
        if got != T::DTYPE {
            let want = T::DTYPE;
            bail!(Dtype, "{op}: expected a tensor of dtype {want}, got {}", self.ty(); help = "read it as `{got}`, or \
                convert it with `to_dtype` first");
        }
        Ok(())
    }
}
