//! Functions that make tensors.

use pullback::{DType, Scalar, Tensor};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::{PyTensor, data};
use crate::convert::{Device, Operand, Sizes, count, create, expect_operand, number, shape};
use crate::dtype::DTypeArg;
use crate::error::OrRaise;

/// The new tensor as an object, as a leaf if gradients are asked for.
fn finish(tensor: Tensor, requires_grad: bool) -> PyResult<PyTensor> {
    let mut tensor = tensor;
    if requires_grad {
        tensor.requires_grad_().or_raise()?;
    }
    Ok(PyTensor::new(tensor))
}

fn dtype_or(dtype: Option<DTypeArg>, default: DType) -> DType {
    dtype.map_or(default, |dtype| dtype.0)
}

/// A plain number.
fn plain_number(function: &str, argument: &str, obj: &Bound<'_, PyAny>) -> PyResult<Scalar> {
    if let Some(x) = number(obj)? {
        return Ok(x);
    }
    // A 0-d tensor or a scalar of NumPy stands for its element.
    match expect_operand(function, argument, obj)? {
        Operand::Number(x) => Ok(x),
        Operand::Tensor(t) if t.is_differentiated() => Err(PyTypeError::new_err(format!(
            "{function}: expected a number for `{argument}`, got a tensor that is differentiated; help: `expand` repeats a tensor, \
             and `item()` gives its number, without the derivative"
        ))),
        Operand::Tensor(t) => {
            let item = super::read::item(obj.py(), &t)?;
            number(&item)?
                .ok_or_else(|| PyTypeError::new_err(format!("{function}: expected a number for `{argument}`")))
        }
    }
}

/// A tensor with the given elements.
///
/// data: a number, lists of numbers in lists, a NumPy array or scalar, or whatever else has `__dlpack__`, `__array__` or a buffer.
///     Lists may hold tensors, which are stacked.
/// dtype: the type of the elements. Without one, numbers of Python become `bool`, `int64`, `float32` or `complex64`, and arrays keep
///     theirs.
/// requires_grad: whether the tensor is a leaf that `backward` computes a gradient for.
///
/// The elements are copied: an array that is changed afterwards does not change the tensor. A tensor in `data` that is being
/// differentiated stays so, unlike in PyTorch, where its derivative would be lost; call `detach` for a constant.
///
/// Raises ValueError for lists of different lengths and integers that the dtype cannot hold, TypeError for what is no number.
///
/// >>> pullback.tensor([[1, 2], [3, 4]])
/// tensor([[1, 2],
///         [3, 4]])
/// >>> pullback.tensor(1.0).dtype
/// pullback.float32
/// >>> pullback.func.grad(lambda x: pullback.tensor([x, 2 * x]).sum())(pullback.tensor(1.0))
/// tensor(3.0000)
#[pyfunction]
#[pyo3(signature = (data, *, dtype=None, device=None, requires_grad=false))]
fn tensor(
    data: &Bound<'_, PyAny>,
    dtype: Option<DTypeArg>,
    device: Option<Device>,
    requires_grad: bool,
) -> PyResult<PyTensor> {
    let _ = device;
    finish(data::tensor_of("tensor", data, dtype.map(|d| d.0))?, requires_grad)
}

/// The tensor itself if it is one of that dtype, else `tensor(data, dtype)`.
///
/// Elements of arrays are copied; `from_numpy(array, copy=False)` shares those of a read-only one.
#[pyfunction]
#[pyo3(signature = (data, dtype=None, device=None))]
fn as_tensor<'py>(
    data: &Bound<'py, PyAny>,
    dtype: Option<DTypeArg>,
    device: Option<Device>,
) -> PyResult<Bound<'py, PyTensor>> {
    let _ = device;
    if let Ok(tensor) = data.cast::<PyTensor>()
        && dtype.is_none_or(|d| d.0 == tensor.get().get().dtype())
    {
        return Ok(tensor.clone());
    }
    Bound::new(data.py(), PyTensor::new(data::tensor_of("as_tensor", data, dtype.map(|d| d.0))?))
}

/// Writes a function whose result has one value everywhere.
macro_rules! constants {
    ($($(#[doc = $doc:literal])* $name:ident = $value:literal;)*) => { $(
        $(#[doc = $doc])*
        #[pyfunction]
        #[pyo3(signature = (*size, dtype=None, device=None, requires_grad=false, **named))]
        fn $name(
            py: Python<'_>,
            size: &Bound<'_, PyTuple>,
            dtype: Option<DTypeArg>,
            device: Option<Device>,
            requires_grad: bool,
            named: Option<&Bound<'_, pyo3::types::PyDict>>,
        ) -> PyResult<PyTensor> {
            let _ = device;
            let shape = shape(stringify!($name), size, named_size(stringify!($name), named)?)?;
            let dtype = dtype_or(dtype, DType::F32);
            let make = || Tensor::full(&shape, $value, dtype);
            finish(create(py, stringify!($name), &shape, make)?, requires_grad)
        }
    )* };
}

/// The shape that is given as `size=…`, which cannot be an argument beside those of `*size`.
pub fn named_size(function: &str, named: Option<&Bound<'_, pyo3::types::PyDict>>) -> PyResult<Option<Sizes>> {
    let Some(named) = named else { return Ok(None) };
    let mut size = None;
    for (key, value) in named.iter() {
        let key: String = key.extract()?;
        if key != "size" && key != "shape" {
            return Err(PyTypeError::new_err(format!("{function}() got an unexpected keyword argument '{key}'")));
        }
        size = Some(value.extract::<Sizes>()?);
    }
    Ok(size)
}

constants! {
    /// Zeros: `zeros(2, 3)` or `zeros((2, 3))`.
    ///
    /// dtype: `float32` unless given.
    ///
    /// Raises ValueError for a negative size, and for a tensor that is too large.
    ///
    /// >>> pullback.zeros(2, 2)
    /// tensor([[0.0000, 0.0000],
    ///         [0.0000, 0.0000]])
    zeros = 0;

    /// Ones: `ones(2, 3)` or `ones((2, 3))`; see `zeros`.
    ///
    /// >>> pullback.ones(2, dtype=pullback.int64)
    /// tensor([1, 1])
    ones = 1;

    /// A tensor whose elements do not matter; they are zeros here. See `zeros`.
    empty = 0;
}

/// Every element equal to a number.
///
/// dtype: by default that of the number: `bool`, `int64`, `float32` or `complex64`.
///
/// >>> pullback.full((2,), 7)
/// tensor([7, 7])
#[pyfunction]
#[pyo3(signature = (size, fill_value, *, dtype=None, device=None, requires_grad=false))]
fn full(
    py: Python<'_>,
    size: Sizes,
    fill_value: &Bound<'_, PyAny>,
    dtype: Option<DTypeArg>,
    device: Option<Device>,
    requires_grad: bool,
) -> PyResult<PyTensor> {
    let _ = device;
    let value = plain_number("full", "fill_value", fill_value)?;
    let dtype = dtype_or(dtype, data::own_dtype(value));
    finish(create(py, "full", &size.0, || Tensor::full(&size.0, value, dtype))?, requires_grad)
}

/// Ones on the main diagonal of an `n × m` matrix, zeros elsewhere; `m` is `n` unless given.
///
/// >>> pullback.eye(2, dtype=pullback.int64)
/// tensor([[1, 0],
///         [0, 1]])
#[pyfunction]
#[pyo3(signature = (n, m=None, *, dtype=None, device=None, requires_grad=false))]
fn eye(
    py: Python<'_>,
    n: &Bound<'_, PyAny>,
    m: Option<&Bound<'_, PyAny>>,
    dtype: Option<DTypeArg>,
    device: Option<Device>,
    requires_grad: bool,
) -> PyResult<PyTensor> {
    let _ = device;
    let n = count("eye", "n", 0, n)?;
    let (m, dtype) = (m.map_or(Ok(n), |m| count("eye", "m", 0, m))?, dtype_or(dtype, DType::F32));
    finish(create(py, "eye", &[n, m], || Tensor::eye_m(n, m, dtype))?, requires_grad)
}

/// The numbers from `start` (0 unless given) up to but not including `end`: `arange(end)`, `arange(start, end, step)`.
///
/// dtype: by default `int64` if all arguments are integers, else `float32`.
///
/// With float steps, rounding can make the result one longer than meant; `linspace` says how many there are.
///
/// Raises ValueError for a step of 0 and for one that leads away from `end`.
///
/// >>> pullback.arange(1, 10, 3)
/// tensor([1, 4, 7])
#[pyfunction]
#[pyo3(signature = (start, end=None, step=None, *, dtype=None, device=None, requires_grad=false))]
fn arange(
    py: Python<'_>,
    start: &Bound<'_, PyAny>,
    end: Option<&Bound<'_, PyAny>>,
    step: Option<&Bound<'_, PyAny>>,
    dtype: Option<DTypeArg>,
    device: Option<Device>,
    requires_grad: bool,
) -> PyResult<PyTensor> {
    let _ = device;
    let start = plain_number("arange", "start", start)?;
    let step = step.map_or(Ok(Scalar::Int(1)), |step| plain_number("arange", "step", step))?;
    let (start, end) = match end {
        Some(end) => (start, plain_number("arange", "end", end)?),
        None => (Scalar::Int(0), start),
    };
    let floats = [start, end, step].iter().any(|x| matches!(x, Scalar::Float(_)));
    let dtype = dtype_or(dtype, if floats { DType::F32 } else { DType::I64 });
    // About as many.
    let count = ((end.to_f64() - start.to_f64()) / step.to_f64()).abs();
    finish(create(py, "arange", &[count as usize], || Tensor::arange(start, end, step, dtype))?, requires_grad)
}

/// So many numbers from `start` to `end`, both included, evenly spaced.
///
/// >>> pullback.linspace(0, 1, 5)
/// tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
#[pyfunction]
#[pyo3(signature = (start, end, steps, *, dtype=None, device=None, requires_grad=false))]
fn linspace(
    py: Python<'_>,
    start: &Bound<'_, PyAny>,
    end: &Bound<'_, PyAny>,
    steps: &Bound<'_, PyAny>,
    dtype: Option<DTypeArg>,
    device: Option<Device>,
    requires_grad: bool,
) -> PyResult<PyTensor> {
    let _ = device;
    let steps = count("linspace", "steps", 0, steps)?;
    let (start, end) = (plain_number("linspace", "start", start)?, plain_number("linspace", "end", end)?);
    let make = || Tensor::linspace(start, end, steps, dtype_or(dtype, DType::F32));
    finish(create(py, "linspace", &[steps], make)?, requires_grad)
}

/// `base` to the power of evenly spaced numbers from `start` to `end`, both included.
///
/// >>> pullback.logspace(0, 2, 3)
/// tensor([  1.,  10., 100.])
#[pyfunction]
#[pyo3(signature = (start, end, steps, base=10.0, *, dtype=None, device=None, requires_grad=false))]
#[allow(clippy::too_many_arguments)]
fn logspace(
    py: Python<'_>,
    start: &Bound<'_, PyAny>,
    end: &Bound<'_, PyAny>,
    steps: &Bound<'_, PyAny>,
    base: f64,
    dtype: Option<DTypeArg>,
    device: Option<Device>,
    requires_grad: bool,
) -> PyResult<PyTensor> {
    let _ = device;
    let steps = count("logspace", "steps", 0, steps)?;
    let (start, end) = (plain_number("logspace", "start", start)?, plain_number("logspace", "end", end)?);
    let dtype = dtype_or(dtype, DType::F32);
    let powers = create(py, "logspace", &[steps], || {
        Tensor::from(base).pow(Tensor::linspace(start, end, steps, DType::F64)?)?.to_dtype(dtype)
    })?;
    finish(powers, requires_grad)
}

/// The positions of the lower triangle of a `row × col` matrix, as rows and columns: `[2, count]`.
///
/// offset: how far above the main diagonal the triangle ends.
///
/// >>> pullback.tril_indices(2, 2)
/// tensor([[0, 1, 1],
///         [0, 0, 1]])
#[pyfunction]
#[pyo3(signature = (row, col, offset=0))]
fn tril_indices(py: Python<'_>, row: &Bound<'_, PyAny>, col: &Bound<'_, PyAny>, offset: isize) -> PyResult<PyTensor> {
    let (row, col) = (count("tril_indices", "row", 0, row)?, count("tril_indices", "col", 0, col)?);
    let make = || Tensor::tril_indices(row, col, offset);
    Ok(PyTensor::new(create(py, "tril_indices", &[row, col], make)?))
}

/// The positions of the upper triangle of a `row × col` matrix, as rows and columns: `[2, count]`.
///
/// offset: how far above the main diagonal the triangle begins.
///
/// >>> pullback.triu_indices(2, 2)
/// tensor([[0, 0, 1],
///         [0, 1, 1]])
#[pyfunction]
#[pyo3(signature = (row, col, offset=0))]
fn triu_indices(py: Python<'_>, row: &Bound<'_, PyAny>, col: &Bound<'_, PyAny>, offset: isize) -> PyResult<PyTensor> {
    let (row, col) = (count("triu_indices", "row", 0, row)?, count("triu_indices", "col", 0, col)?);
    let make = || Tensor::triu_indices(row, col, offset);
    Ok(PyTensor::new(create(py, "triu_indices", &[row, col], make)?))
}

/// A constant of the shape of `like`.
fn constant_like(
    py: Python<'_>,
    function: &str,
    like: &Tensor,
    value: Scalar,
    dtype: Option<DTypeArg>,
    device: Option<Device>,
    requires_grad: bool,
) -> PyResult<PyTensor> {
    let _ = device;
    let make = || Tensor::full(like.shape(), value, dtype_or(dtype, like.dtype()));
    finish(create(py, function, like.shape(), make)?, requires_grad)
}

/// Zeros with the shape and dtype of a tensor.
///
/// Like every tensor that is made inside `vmap`, it is the same for all lanes until values of a lane are written into it.
///
/// >>> pullback.zeros_like(pullback.tensor([1, 2]))
/// tensor([0, 0])
#[pyfunction]
#[pyo3(signature = (input, *, dtype=None, device=None, requires_grad=false))]
fn zeros_like(
    py: Python<'_>,
    input: &PyTensor,
    dtype: Option<DTypeArg>,
    device: Option<Device>,
    requires_grad: bool,
) -> PyResult<PyTensor> {
    constant_like(py, "zeros_like", &input.get(), Scalar::Int(0), dtype, device, requires_grad)
}

/// Ones with the shape and dtype of a tensor; see `zeros_like`.
#[pyfunction]
#[pyo3(signature = (input, *, dtype=None, device=None, requires_grad=false))]
fn ones_like(
    py: Python<'_>,
    input: &PyTensor,
    dtype: Option<DTypeArg>,
    device: Option<Device>,
    requires_grad: bool,
) -> PyResult<PyTensor> {
    constant_like(py, "ones_like", &input.get(), Scalar::Int(1), dtype, device, requires_grad)
}

/// A tensor with the shape and dtype of another one, whose elements do not matter; they are zeros here.
#[pyfunction]
#[pyo3(signature = (input, *, dtype=None, device=None, requires_grad=false))]
fn empty_like(
    py: Python<'_>,
    input: &PyTensor,
    dtype: Option<DTypeArg>,
    device: Option<Device>,
    requires_grad: bool,
) -> PyResult<PyTensor> {
    constant_like(py, "empty_like", &input.get(), Scalar::Int(0), dtype, device, requires_grad)
}

/// A number everywhere, with the shape and dtype of a tensor; see `zeros_like`.
#[pyfunction]
#[pyo3(signature = (input, fill_value, *, dtype=None, device=None, requires_grad=false))]
fn full_like(
    py: Python<'_>,
    input: &PyTensor,
    fill_value: &Bound<'_, PyAny>,
    dtype: Option<DTypeArg>,
    device: Option<Device>,
    requires_grad: bool,
) -> PyResult<PyTensor> {
    constant_like(
        py,
        "full_like",
        &input.get(),
        plain_number("full_like", "fill_value", fill_value)?,
        dtype,
        device,
        requires_grad,
    )
}

#[pymethods]
impl PyTensor {
    /// Zeros of this dtype: `x.new_zeros(2, 3)`.
    #[pyo3(signature = (*size, dtype=None, device=None, requires_grad=false))]
    fn new_zeros(
        &self,
        size: &Bound<'_, PyTuple>,
        dtype: Option<DTypeArg>,
        device: Option<Device>,
        requires_grad: bool,
    ) -> PyResult<PyTensor> {
        let _ = device;
        let (shape, dtype) = (shape("new_zeros", size, None)?, dtype_or(dtype, self.get().dtype()));
        finish(create(size.py(), "new_zeros", &shape, || Tensor::zeros(&shape, dtype))?, requires_grad)
    }

    /// Ones of this dtype: `x.new_ones(2, 3)`.
    #[pyo3(signature = (*size, dtype=None, device=None, requires_grad=false))]
    fn new_ones(
        &self,
        size: &Bound<'_, PyTuple>,
        dtype: Option<DTypeArg>,
        device: Option<Device>,
        requires_grad: bool,
    ) -> PyResult<PyTensor> {
        let _ = device;
        let (shape, dtype) = (shape("new_ones", size, None)?, dtype_or(dtype, self.get().dtype()));
        finish(create(size.py(), "new_ones", &shape, || Tensor::ones(&shape, dtype))?, requires_grad)
    }

    /// A tensor of this dtype whose elements do not matter; they are zeros here.
    #[pyo3(signature = (*size, dtype=None, device=None, requires_grad=false))]
    fn new_empty(
        &self,
        size: &Bound<'_, PyTuple>,
        dtype: Option<DTypeArg>,
        device: Option<Device>,
        requires_grad: bool,
    ) -> PyResult<PyTensor> {
        self.new_zeros(size, dtype, device, requires_grad)
    }

    /// A number everywhere, of this dtype.
    #[pyo3(signature = (size, fill_value, *, dtype=None, device=None, requires_grad=false))]
    fn new_full(
        &self,
        size: Sizes,
        fill_value: &Bound<'_, PyAny>,
        dtype: Option<DTypeArg>,
        device: Option<Device>,
        requires_grad: bool,
    ) -> PyResult<PyTensor> {
        let _ = device;
        let value = plain_number("new_full", "fill_value", fill_value)?;
        let dtype = dtype_or(dtype, self.get().dtype());
        finish(create(fill_value.py(), "new_full", &size.0, || Tensor::full(&size.0, value, dtype))?, requires_grad)
    }

    /// `tensor(data)` of this dtype.
    #[pyo3(signature = (data, *, dtype=None, device=None, requires_grad=false))]
    fn new_tensor(
        &self,
        data: &Bound<'_, PyAny>,
        dtype: Option<DTypeArg>,
        device: Option<Device>,
        requires_grad: bool,
    ) -> PyResult<PyTensor> {
        let _ = device;
        let dtype = dtype_or(dtype, self.get().dtype());
        finish(data::tensor_of("new_tensor", data, Some(dtype))?, requires_grad)
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(tensor, module)?)?;
    module.add_function(wrap_pyfunction!(as_tensor, module)?)?;
    module.add_function(wrap_pyfunction!(zeros, module)?)?;
    module.add_function(wrap_pyfunction!(ones, module)?)?;
    module.add_function(wrap_pyfunction!(empty, module)?)?;
    module.add_function(wrap_pyfunction!(full, module)?)?;
    module.add_function(wrap_pyfunction!(eye, module)?)?;
    module.add_function(wrap_pyfunction!(arange, module)?)?;
    module.add_function(wrap_pyfunction!(linspace, module)?)?;
    module.add_function(wrap_pyfunction!(logspace, module)?)?;
    module.add_function(wrap_pyfunction!(tril_indices, module)?)?;
    module.add_function(wrap_pyfunction!(triu_indices, module)?)?;
    module.add_function(wrap_pyfunction!(zeros_like, module)?)?;
    module.add_function(wrap_pyfunction!(ones_like, module)?)?;
    module.add_function(wrap_pyfunction!(empty_like, module)?)?;
    module.add_function(wrap_pyfunction!(full_like, module)?)
}
