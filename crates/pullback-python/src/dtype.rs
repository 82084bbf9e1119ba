//! The class `dtype`, its instances, and what is accepted in the place of one.

use pullback::DType;
use pyo3::exceptions::{PyNotImplementedError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyString, PyType};

/// The type of the elements of a tensor: `pullback.float32` and its relatives.
///
/// Wherever one is expected, NumPy's dtypes and Python's `float`, `int`, `bool` and `complex` are accepted, which mean
/// `float64`, `int64`, `bool` and `complex128`, as in NumPy and PyTorch.
///
/// >>> pullback.zeros(2, dtype=pullback.int64).dtype
/// pullback.int64
/// >>> pullback.zeros(2, dtype=float).dtype is pullback.float64
/// True
#[pyclass(name = "dtype", module = "pullback", frozen)]
pub struct PyDType(DType);

/// There is one object for each dtype, so that `is` compares them.
static OBJECTS: PyOnceLock<Vec<Py<PyDType>>> = PyOnceLock::new();

fn objects(py: Python<'_>) -> PyResult<&Vec<Py<PyDType>>> {
    OBJECTS.get_or_try_init(py, || DType::ALL.iter().map(|&dtype| Py::new(py, PyDType(dtype))).collect())
}

/// The object for a dtype.
pub fn dtype_object(py: Python<'_>, dtype: DType) -> PyResult<Bound<'_, PyDType>> {
    let place = DType::ALL.iter().position(|&d| d == dtype).unwrap_or(0);
    Ok(objects(py)?[place].bind(py).clone())
}

/// The name that Python programs know the dtype by, which is also NumPy's.
pub fn python_name(dtype: DType) -> &'static str {
    match dtype {
        DType::U8 => "uint8",
        DType::I32 => "int32",
        DType::I64 => "int64",
        DType::F16 => "float16",
        DType::BF16 => "bfloat16",
        DType::F32 => "float32",
        DType::F64 => "float64",
        DType::C64 => "complex64",
        DType::C128 => "complex128",
        other => other.name(),
    }
}

fn from_name(name: &str) -> Option<DType> {
    // NumPy 1 calls the class of its bools so, because `bool` was Python's.
    let name = name.strip_suffix('_').unwrap_or(name);
    DType::ALL.into_iter().find(|&dtype| python_name(dtype) == name)
}

/// What is accepted as a dtype: a `pullback.dtype`, one of NumPy's, or a type of Python's numbers.
#[derive(Clone, Copy)]
pub struct DTypeArg(pub DType);

impl<'py> FromPyObject<'_, 'py> for DTypeArg {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<DTypeArg> {
        dtype_of(&obj.to_owned()).map(DTypeArg)
    }
}

fn dtype_of(obj: &Bound<'_, PyAny>) -> PyResult<DType> {
    if let Ok(dtype) = obj.cast_exact::<PyDType>() {
        return Ok(dtype.get().0);
    }
    let py = obj.py();
    let mut name = None;
    if let Ok(class) = obj.cast::<PyType>() {
        let numbers = [
            (py.get_type::<PyFloat>(), DType::F64),
            (py.get_type::<PyInt>(), DType::I64),
            (py.get_type::<PyBool>(), DType::Bool),
            (py.get_type::<PyComplex>(), DType::C128),
        ];
        if let Some((_, dtype)) = numbers.iter().find(|(number, _)| class.is(number)) {
            return Ok(*dtype);
        }
        // NumPy's scalar types, and those that other libraries register there. A subclass of Python's number is none.
        if class.hasattr(intern!(py, "dtype"))? {
            name = Some(class.getattr(intern!(py, "__name__"))?);
        }
    } else {
        name = obj.getattr_opt(intern!(py, "name"))?;
    }
    let known = name.and_then(|name| Some(from_name(&name.cast::<PyString>().ok()?.to_string_lossy())));
    match known {
        Some(Some(dtype)) => Ok(dtype),
        _ => {
            let all = DType::ALL.map(python_name).join(", ");
            Err(PyTypeError::new_err(format!("expected a dtype (one of {all}), got {}", obj.repr()?)))
        }
    }
}

#[pymethods]
impl PyDType {
    /// The name: `'float32'`.
    #[getter]
    fn name(&self) -> &'static str {
        python_name(self.0)
    }

    /// Bytes per element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.0.size()
    }

    /// True for floats: `float16`, `bfloat16`, `float32` and `float64`.
    #[getter]
    fn is_floating_point(&self) -> bool {
        self.0.is_float()
    }

    /// True for `complex64` and `complex128`.
    #[getter]
    fn is_complex(&self) -> bool {
        self.0.is_complex()
    }

    /// True if elements can be negative.
    #[getter]
    fn is_signed(&self) -> bool {
        !matches!(self.0, DType::Bool | DType::U8)
    }

    /// The dtype of the real part; itself if it is not complex.
    #[pyo3(signature = ())]
    fn to_real<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDType>> {
        dtype_object(py, self.0.to_real())
    }

    /// The complex dtype of the same precision.
    #[pyo3(signature = ())]
    fn to_complex<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDType>> {
        dtype_object(py, self.0.to_complex())
    }

    fn __repr__(&self) -> String {
        format!("pullback.{}", python_name(self.0))
    }

    /// Pickles as the name of the object in the package, so that there is one object for each dtype.
    fn __reduce__(&self) -> &'static str {
        python_name(self.0)
    }
}

/// The dtype of tensors that are made of Python's floats: always `float32`; see `set_default_dtype`.
///
/// >>> pullback.get_default_dtype()
/// pullback.float32
#[pyfunction]
#[pyo3(signature = ())]
fn get_default_dtype(py: Python<'_>) -> PyResult<Bound<'_, PyDType>> {
    dtype_object(py, DType::F32)
}

/// Accepts `float32`, which is the default, and refuses any other.
///
/// A default that can be changed is a state of the process, by which a function computes one thing here and another there, and which
/// threads would take from each other. `dtype=` says what is meant where tensors are made; arrays keep theirs.
///
/// Raises NotImplementedError for another dtype.
///
/// >>> pullback.tensor([1.0, 2.0], dtype=pullback.float64).dtype
/// pullback.float64
#[pyfunction]
#[pyo3(signature = (d))]
fn set_default_dtype(d: DTypeArg) -> PyResult<()> {
    match d.0 {
        DType::F32 => Ok(()),
        other => Err(PyNotImplementedError::new_err(format!(
            "set_default_dtype: expected float32, the default that no call changes, got {0}; help: give `dtype=pullback.{0}` where \
             tensors are made, or make them of arrays, which keep their dtype",
            python_name(other)
        ))),
    }
}

/// PyTorch's other names of dtypes.
const ALIASES: [(&str, DType); 7] = [
    ("half", DType::F16),
    ("float", DType::F32),
    ("double", DType::F64),
    ("int", DType::I32),
    ("long", DType::I64),
    ("cfloat", DType::C64),
    ("cdouble", DType::C128),
];

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add_class::<PyDType>()?;
    module.add_function(wrap_pyfunction!(get_default_dtype, module)?)?;
    module.add_function(wrap_pyfunction!(set_default_dtype, module)?)?;
    for dtype in DType::ALL {
        module.add(python_name(dtype), dtype_object(py, dtype)?)?;
    }
    ALIASES.iter().try_for_each(|&(name, dtype)| module.add(name, dtype_object(py, dtype)?))
}
