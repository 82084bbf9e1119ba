//! `ndarray`: tensors from arrays of any layout, arrays from tensors, and views of them.

use ndarray::{Array, ArrayBase, ArrayViewD, Axis, Data, Dimension, IxDyn, ShapeBuilder};

use crate::kernels::copy::from_strided;
use crate::{Element, Error, Result, Tensor, error::bail};

/// # ndarray
/// With the feature `ndarray`. Arrays of any layout and dimension become tensors by `Tensor::from`, and tensors become arrays
/// by `try_into`.
impl Tensor {
    /// The elements as a view of the crate `ndarray`, without a copy, whatever the strides.
    ///
    /// Inside `grad`, `jvp` and their relatives this gives the value and leaves the derivative alone.
    ///
    /// # Errors
    /// `Dtype` if `T` is not the element type; `ConcreteValueNeeded` as [`to_vec`](Tensor::to_vec).
    ///
    /// # Example
    /// ```
    /// use ndarray::{Array2, array};
    /// use pullback::Tensor;
    ///
    /// let t = Tensor::from(&array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    /// let columns = t.t()?;
    /// assert_eq!(columns.as_ndarray::<f64>()?, array![[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]].into_dyn());
    /// // A copy with a fixed number of dimensions.
    /// let copy: Array2<f64> = (&columns).try_into()?;
    /// assert_eq!(copy[[2, 1]], 6.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn as_ndarray<T: Element>(&self) -> Result<ArrayViewD<'_, T>> {
        self.check_element::<T>("as_ndarray")?;
        let array = self.data("as_ndarray")?;
        let shape = IxDyn(array.shape());
        if array.numel() == 0 {
            return match ArrayViewD::from_shape(shape, &[]) {
                Ok(view) => Ok(view),
                Err(e) => bail!(Shape, "as_ndarray: expected a shape that `ndarray` can hold, got {}: {e}", self.ty()),
            };
        }
        // Views are made with strides that do not go backwards, and turned round afterwards.
        let backwards = |d: usize| array.strides()[d] < 0 && array.shape()[d] > 1;
        let mut first = array.as_ptr::<T>();
        let mut strides = IxDyn(&vec![0; array.rank()]);
        for d in 0..array.rank() {
            let (n, step) = (array.shape()[d], array.strides()[d]);
            if n > 1 {
                strides[d] = step.unsigned_abs();
            }
            if backwards(d) {
                // SAFETY: this is the last element of the dimension, seen from where we are.
                first = unsafe { first.offset((n as isize - 1) * step) };
            }
        }
        // SAFETY: the strides lead to the elements of the array, and nobody writes to them as long as it is held.
        let mut view = unsafe { ArrayViewD::from_shape_ptr(shape.strides(strides), first) };
        (0..array.rank()).filter(|&d| backwards(d)).for_each(|d| view.invert_axis(Axis(d)));
        Ok(view)
    }
}

impl<T: Element, D: Dimension> TryFrom<&Tensor> for Array<T, D> {
    type Error = Error;

    /// A copy of the elements.
    ///
    /// # Errors
    /// `Dim` if the number of dimensions is not that of the array's type; otherwise as [`Tensor::as_ndarray`].
    fn try_from(tensor: &Tensor) -> Result<Array<T, D>> {
        let view = tensor.as_ndarray::<T>()?;
        match view.into_dimensionality::<D>() {
            Ok(view) => Ok(view.to_owned()),
            Err(_) => {
                let want = D::NDIM.unwrap_or_default();
                bail!(Dim, "try_into: expected a tensor with {want} dimensions, got {}", tensor.ty();
                    help = "convert it to an `ArrayD`, or `reshape` it first")
            }
        }
    }
}

impl<S: Data, D: Dimension> From<&ArrayBase<S, D>> for Tensor
where
    S::Elem: Element,
{
    /// A copy of an array of `ndarray`, whatever its layout.
    fn from(array: &ArrayBase<S, D>) -> Tensor {
        // SAFETY: an array can be read at all the places that its shape and strides name.
        unsafe { from_strided(array.as_ptr(), array.shape(), array.strides()) }.into()
    }
}

impl<S: Data, D: Dimension> From<ArrayBase<S, D>> for Tensor
where
    S::Elem: Element,
{
    /// A copy of an array of `ndarray`, whatever its layout.
    fn from(array: ArrayBase<S, D>) -> Tensor {
        Tensor::from(&array)
    }
}
