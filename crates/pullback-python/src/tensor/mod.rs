//! The class `Tensor`: the handle, what it says of itself, and conversions between dtypes. Operations are elsewhere.

mod create;
mod data;
pub mod dlpack;
mod index;
mod inplace;
mod layout;
pub mod numpy;
mod operators;
mod pickle;
mod read;

pub use create::named_size;
pub use data::tensor_of;

use std::sync::{Mutex, OnceLock, PoisonError};

use pullback::{DType, Error, ErrorKind, Tensor};
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::autograd::{Bond, data as value};
use crate::convert::{Device, compute, wrap};
use crate::dtype::{DTypeArg, PyDType, dtype_object};
use crate::error::OrRaise;
use crate::func::inside;

/// An n-dimensional array of numbers, or the stand-in for one inside a transform.
///
/// Made by `pullback.tensor` and its relatives. Elements never change: what looks like writing (`x[0] = 1`, `x += 1`, `x.add_(1)`)
/// gives this object another value. Names of the same object see it; views and copies that were made before keep the old one, which
/// differs from PyTorch, where `y = x[0]` is changed by `x += 1`.
///
/// >>> x = pullback.tensor([1.0, 2.0])
/// >>> y = x
/// >>> x += 1
/// >>> y
/// tensor([2.0000, 3.0000])
#[pyclass(name = "Tensor", module = "pullback", frozen, weakref)]
pub struct PyTensor {
    /// Held only as long as it takes to copy or replace the handle, or to change numbers in place, never while code of the user
    /// runs.
    handle: Mutex<Tensor>,
    /// What ties a gradient to its leaf.
    bond: OnceLock<Box<Bond>>,
    /// When it was made; see [`inside`].
    made: u64,
}

impl Drop for PyTensor {
    #[inline]
    fn drop(&mut self) {
        if let Some(bond) = self.bond.get() {
            bond.leave(self.handle.get_mut().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

impl PyTensor {
    #[inline]
    pub fn new(tensor: Tensor) -> PyTensor {
        PyTensor { handle: Mutex::new(tensor), bond: OnceLock::new(), made: inside::now() }
    }

    pub fn bonded(tensor: Tensor, bond: Bond) -> PyTensor {
        PyTensor { handle: Mutex::new(tensor), bond: OnceLock::from(Box::new(bond)), made: inside::now() }
    }

    pub fn bond(&self) -> &Bond {
        self.bond.get_or_init(Box::default)
    }

    pub fn bond_if_any(&self) -> Option<&Bond> {
        self.bond.get().map(|bond| &**bond)
    }

    /// The tensor of this moment.
    #[inline]
    pub fn get(&self) -> Tensor {
        if let Some(current) = self.bond_if_any().and_then(Bond::current) {
            self.put(current);
        }
        self.handle.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Rebinds the handle.
    pub fn set(&self, tensor: Tensor) {
        if let Some(bond) = self.bond_if_any() {
            bond.update(&tensor);
        }
        self.put(tensor);
    }

    fn put(&self, tensor: Tensor) {
        let old = std::mem::replace(&mut *self.handle.lock().unwrap_or_else(PoisonError::into_inner), tensor);
        // Outside the lock: to drop a tensor may run code of the user.
        drop(old);
    }

    /// An object for a value of this one, as old as it.
    pub fn alias(&self, tensor: Tensor, bond: Bond) -> PyTensor {
        PyTensor { handle: Mutex::new(tensor), bond: OnceLock::from(Box::new(bond)), made: self.made }
    }

    /// An error if a function that a transform runs has captured this object, which it may not change.
    pub fn check_not_captured(&self) -> pullback::Result<()> {
        if !inside::is_captured(self.made) {
            return Ok(());
        }
        let message = format!(
            "expected in-place changes of tensors that the function has made, or that are its arguments, got one from outside, {}",
            self.get().ty()
        );
        Err(Error::new(ErrorKind::CapturedTracer, message)
            .with_help("return the new value, or change a `clone()` of it"))
    }

    /// Rebinds the handle by a method that may reuse the memory of its value. If that fails, nothing has changed.
    pub fn update<R>(&self, change: impl FnOnce(&mut Tensor) -> pullback::Result<R>) -> pullback::Result<R> {
        self.check_not_captured()?;
        if let Some(bond) = self.bond_if_any() {
            let mut tensor = self.get();
            let result = change(&mut tensor)?;
            match bond.owner() {
                Some(owner) => {
                    value::assign(owner.get(), tensor.clone())?;
                    self.put(tensor);
                }
                None => self.set(tensor),
            }
            return Ok(result);
        }
        let mut handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        if handle.owns_memory() {
            // Plain numbers, which nobody else has: nothing of the user's can run, also when they are dropped.
            return change(&mut handle);
        }
        let mut tensor = handle.clone();
        drop(handle);
        let result = change(&mut tensor)?;
        self.set(tensor);
        Ok(result)
    }

    /// The tensor as another dtype.
    fn cast<'py>(slf: &Bound<'py, Self>, dtype: DType) -> PyResult<Bound<'py, PyTensor>> {
        let (py, tensor) = (slf.py(), slf.get().get());
        if tensor.dtype() == dtype {
            return Ok(slf.clone());
        }
        wrap(py, compute(py, tensor.numel(), || tensor.to_dtype(dtype)).or_raise()?)
    }
}

/// What `size` returns.
#[derive(IntoPyObject)]
enum Size<'py> {
    All(Bound<'py, PyTuple>),
    One(usize),
}

#[pymethods]
impl PyTensor {
    /// The sizes of the dimensions, as a tuple. Inside `vmap`, those of one lane.
    #[getter]
    pub(crate) fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.get().shape())
    }

    /// The type of the elements.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDType>> {
        dtype_object(py, self.get().dtype())
    }

    /// The number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.get().rank()
    }

    /// The number of dimensions.
    #[pyo3(signature = ())]
    fn dim(&self) -> usize {
        self.get().rank()
    }

    /// The sizes of the dimensions, or the size of one.
    ///
    /// >>> x = pullback.zeros(2, 3)
    /// >>> x.size(), x.size(-1)
    /// ((2, 3), 3)
    #[pyo3(signature = (dim=None))]
    fn size<'py>(&self, py: Python<'py>, dim: Option<isize>) -> PyResult<Size<'py>> {
        let Some(dim) = dim else { return self.shape(py).map(Size::All) };
        let tensor = self.get();
        let (rank, shape) = (tensor.rank() as isize, tensor.shape());
        let place = if dim < 0 { dim + rank } else { dim };
        match usize::try_from(place).ok().and_then(|place| shape.get(place)) {
            Some(&size) => Ok(Size::One(size)),
            None => Err(PyIndexError::new_err(format!("size: dim {dim} is out of range for {}", tensor.ty()))),
        }
    }

    /// The number of elements.
    #[pyo3(signature = ())]
    fn numel(&self) -> usize {
        self.get().numel()
    }

    /// The number of elements.
    #[pyo3(signature = ())]
    fn nelement(&self) -> usize {
        self.get().numel()
    }

    /// Bytes per element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.get().dtype().size()
    }

    /// Bytes per element.
    #[pyo3(signature = ())]
    fn element_size(&self) -> usize {
        self.get().dtype().size()
    }

    /// Bytes of all elements.
    #[getter]
    fn nbytes(&self) -> usize {
        let tensor = self.get();
        tensor.numel() * tensor.dtype().size()
    }

    /// Where the elements are: always `'cpu'`.
    #[getter]
    fn device(&self) -> &'static str {
        "cpu"
    }

    /// True for floats; see `dtype.is_floating_point`.
    #[pyo3(signature = ())]
    fn is_floating_point(&self) -> bool {
        self.get().dtype().is_float()
    }

    /// True for complex numbers.
    #[pyo3(signature = ())]
    fn is_complex(&self) -> bool {
        self.get().dtype().is_complex()
    }

    /// True if elements can be negative.
    #[pyo3(signature = ())]
    fn is_signed(&self) -> bool {
        !matches!(self.get().dtype(), DType::Bool | DType::U8)
    }

    /// The tensor with its dimensions in reverse order.
    #[getter]
    #[pyo3(name = "T")]
    fn reversed_dims<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
        let tensor = self.get();
        let dims: Vec<isize> = (0..tensor.rank() as isize).rev().collect();
        wrap(py, tensor.permute(&dims).or_raise()?)
    }

    /// The transposed matrices of the last two dimensions.
    ///
    /// Raises IndexError if there are fewer than two.
    #[getter]
    #[pyo3(name = "mT")]
    fn transposed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
        wrap(py, self.get().transpose(-2, -1).or_raise()?)
    }

    /// The conjugate transposed matrices of the last two dimensions.
    #[getter]
    #[pyo3(name = "mH")]
    fn adjoint<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
        wrap(py, self.get().transpose(-2, -1).and_then(|t| t.conj()).or_raise()?)
    }

    /// The conjugate transpose of a matrix.
    #[getter]
    #[pyo3(name = "H")]
    fn matrix_adjoint<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
        wrap(py, self.get().t().and_then(|t| t.conj()).or_raise()?)
    }

    /// The real parts of complex numbers; the tensor itself if it is not complex.
    #[getter]
    fn real<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
        wrap(py, self.get().real().or_raise()?)
    }

    /// The imaginary parts of complex numbers.
    ///
    /// Raises TypeError if the tensor is not complex.
    #[getter]
    fn imag<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
        wrap(py, self.get().imag().or_raise()?)
    }

    /// The tensor as another dtype: `to(dtype)`, or `to(other)` for that of another tensor. The device `'cpu'` is accepted wherever
    /// PyTorch takes one.
    ///
    /// Returns the tensor itself if there is nothing to do. The derivative passes through between floats.
    ///
    /// Raises TypeError for a complex tensor and a dtype that is not.
    ///
    /// >>> pullback.tensor([1.9, -1.9]).to(pullback.int64)
    /// tensor([ 1, -1])
    #[pyo3(signature = (*args, dtype=None, device=None, copy=false, non_blocking=false))]
    fn to<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        dtype: Option<DTypeArg>,
        device: Option<Device>,
        copy: bool,
        non_blocking: bool,
    ) -> PyResult<Bound<'py, PyTensor>> {
        // Accepted for programs that move tensors to other devices too.
        let _ = (device, non_blocking);
        let mut target = dtype;
        for arg in args.iter() {
            if let Ok(other) = arg.cast::<PyTensor>() {
                target = Some(DTypeArg(other.get().get().dtype()));
            } else if let Ok(dtype) = arg.extract::<DTypeArg>() {
                target = Some(dtype);
            } else if !arg.is_none() {
                arg.extract::<Device>().map_err(|_| {
                    let got = arg.repr().map(|r| r.to_string()).unwrap_or_default();
                    PyTypeError::new_err(format!("to: expected a dtype, a tensor or the device 'cpu', got {got}"))
                })?;
            }
        }
        match target {
            Some(target) if target.0 != slf.get().get().dtype() => PyTensor::cast(slf, target.0),
            _ if copy => wrap(slf.py(), slf.get().get()),
            _ => Ok(slf.clone()),
        }
    }

    /// The dtype, or the tensor as another one.
    #[pyo3(signature = (dtype))]
    fn r#type<'py>(slf: &Bound<'py, Self>, dtype: DTypeArg) -> PyResult<Bound<'py, PyTensor>> {
        PyTensor::cast(slf, dtype.0)
    }

    /// The tensor as the dtype of another one.
    #[pyo3(signature = (other))]
    fn type_as<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyTensor>) -> PyResult<Bound<'py, PyTensor>> {
        PyTensor::cast(slf, other.get().get().dtype())
    }

    /// The tensor as `float32`.
    #[pyo3(signature = ())]
    fn float<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTensor>> {
        PyTensor::cast(slf, DType::F32)
    }

    /// The tensor as `float64`.
    #[pyo3(signature = ())]
    fn double<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTensor>> {
        PyTensor::cast(slf, DType::F64)
    }

    /// The tensor as `float16`.
    #[pyo3(signature = ())]
    fn half<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTensor>> {
        PyTensor::cast(slf, DType::F16)
    }

    /// The tensor as `bfloat16`.
    #[pyo3(signature = ())]
    fn bfloat16<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTensor>> {
        PyTensor::cast(slf, DType::BF16)
    }

    /// The tensor as `int64`: floats are cut off towards zero.
    #[pyo3(signature = ())]
    fn long<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTensor>> {
        PyTensor::cast(slf, DType::I64)
    }

    /// The tensor as `int32`: floats are cut off towards zero.
    #[pyo3(signature = ())]
    fn int<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTensor>> {
        PyTensor::cast(slf, DType::I32)
    }

    /// The tensor as `uint8`.
    #[pyo3(signature = ())]
    fn byte<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTensor>> {
        PyTensor::cast(slf, DType::U8)
    }

    /// The tensor as `bool`: true where an element is not zero.
    #[pyo3(signature = ())]
    fn bool<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTensor>> {
        PyTensor::cast(slf, DType::Bool)
    }

    /// The tensor as `complex64`.
    #[pyo3(signature = ())]
    fn cfloat<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTensor>> {
        PyTensor::cast(slf, DType::C64)
    }

    /// The tensor as `complex128`.
    #[pyo3(signature = ())]
    fn cdouble<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTensor>> {
        PyTensor::cast(slf, DType::C128)
    }

    /// Another object with the same value. As elements never change, nothing is copied; the derivative passes through.
    #[pyo3(signature = ())]
    fn clone<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
        wrap(py, self.get())
    }

    /// The tensor itself: where elements lie in memory is not visible.
    #[pyo3(signature = ())]
    fn contiguous(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    /// The tensor itself: there is no other device.
    #[pyo3(signature = ())]
    fn cpu(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __len__(&self) -> PyResult<usize> {
        let tensor = self.get();
        tensor.shape().first().copied().ok_or_else(|| PyTypeError::new_err("len: expected a dim, got a 0-d tensor"))
    }

    /// The number of the object, so that tensors are keys by identity.
    fn __hash__(slf: &Bound<'_, Self>) -> isize {
        // Objects are aligned, so the lowest bits tell nothing.
        (slf.as_ptr().addr() >> 4) as isize
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyTensor>()?;
    create::register(module)?;
    dlpack::register(module)?;
    numpy::register(module)?;
    pickle::register(module)
}
