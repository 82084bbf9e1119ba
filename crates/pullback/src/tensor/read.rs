//! Reading the contents of a tensor.

use super::{Repr, Tensor};
use crate::array::Array;
use crate::dtype::Element;
use crate::interp::check_data_access;
use crate::kernels::copy;
use crate::{Result, error::bail};

impl Tensor {
    /// The concrete contents: of a traced value, those of its primal.
    pub(crate) fn data(&self, op: &str) -> Result<&Array> {
        let mut t = self;
        loop {
            match &t.0 {
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
    /// `ConcreteValueNeeded` for a value that is batched by `vmap`.
    ///
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([[1i64, 2], [3, 4]]).to_vec::<i64>()?, [1, 2, 3, 4]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.check_element::<T>("to_vec")?;
        let array = self.data("to_vec")?;
        match array.as_slice::<T>() {
            Some(slice) => Ok(slice.to_vec()),
            None => Ok(copy::contiguous(array).as_slice::<T>().unwrap_or_default().to_vec()),
        }
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

    fn check_element<T: Element>(&self, op: &str) -> Result<()> {
        let got = self.dtype();
        if got != T::DTYPE {
            let want = T::DTYPE;
            bail!(Dtype, "{op}: expected a tensor of dtype {want}, got {}", self.ty(); help = "read it as `{got}`, or \
                convert it with `to_dtype` first");
        }
        Ok(())
    }
}
