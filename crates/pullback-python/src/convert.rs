//! Values in both directions: tensors, numbers, shapes, and where the interpreter lock is released.

use pullback::{Complex, DType, Scalar, Tensor};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyComplexMethods, PyFloat, PyInt, PyString, PyTuple};

use crate::error::OrRaise;
use crate::memory::{self, Fallible, catch};
use crate::tensor::PyTensor;
use crate::tensor::numpy;

/// A new Python object for a tensor.
#[inline]
pub fn wrap(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyTensor>> {
    Bound::new(py, PyTensor::new(tensor))
}

/// The number of elements from which on a kernel runs longer than it takes to let other threads run meanwhile.
const LARGE: usize = 1 << 14;

/// Calls `f`, which works on about this many elements and needs no Python, without the interpreter lock if that is worth it.
#[inline]
pub fn compute<R: Fallible + Send>(py: Python<'_>, elements: usize, f: impl FnOnce() -> R + Send) -> R {
    catch(|| if elements < LARGE { f() } else { py.detach(f) })
}

/// Calls `f`, by which `function` makes a tensor of this shape. Messages name the function, also if there is no memory.
pub fn create(
    py: Python<'_>,
    function: &str,
    shape: &[usize],
    f: impl FnOnce() -> pullback::Result<Tensor> + Send,
) -> PyResult<Tensor> {
    let count = shape.iter().fold(1usize, |n, &d| n.saturating_mul(d));
    compute(py, count, f).or_raise().map_err(|raised| memory::named(py, function, raised))
}

/// A tensor or a number as an argument of an operation.
pub enum Operand {
    Tensor(Tensor),
    Number(Scalar),
}

impl Operand {
    /// A tensor: of a number, the one that it is beside a tensor of dtype `beside`.
    pub fn into_tensor(self, op: &str, beside: DType) -> PyResult<Tensor> {
        match self {
            Operand::Tensor(t) => Ok(t),
            Operand::Number(x) => pullback::Operand::into_operand(x, op, beside).or_raise(),
        }
    }
}

/// A number of Python's types or their subclasses.
#[inline]
pub fn number(obj: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
    if let Ok(x) = obj.cast::<PyFloat>() {
        return Ok(Some(Scalar::Float(x.value())));
    }
    if let Ok(x) = obj.cast::<PyInt>() {
        if let Ok(b) = obj.cast::<PyBool>() {
            return Ok(Some(Scalar::Bool(b.is_true())));
        }
        return match x.extract::<i64>() {
            Ok(i) => Ok(Some(Scalar::Int(i))),
            Err(_) => Err(PyOverflowError::new_err(format!("expected an integer that fits 64 bits, got {x}"))),
        };
    }
    if let Ok(z) = obj.cast::<PyComplex>() {
        return Ok(Some(Scalar::Complex(Complex::new(z.real(), z.imag()))));
    }
    Ok(None)
}

/// A tensor, a number, or an array or scalar of NumPy; `None` for anything else.
#[inline]
pub fn operand(obj: &Bound<'_, PyAny>) -> PyResult<Option<Operand>> {
    if let Ok(t) = obj.cast_exact::<PyTensor>() {
        return Ok(Some(Operand::Tensor(t.get().get())));
    }
    if let Some(x) = number(obj)? {
        return Ok(Some(Operand::Number(x)));
    }
    Ok(numpy::copy_of(obj, None)?.map(Operand::Tensor))
}

/// As [`operand`], with an error for anything else that names the function and the argument.
pub fn expect_operand(function: &str, argument: &str, obj: &Bound<'_, PyAny>) -> PyResult<Operand> {
    operand(obj)?.ok_or_else(|| {
        let kind = obj.get_type();
        PyTypeError::new_err(format!("{function}: expected a tensor or a number for `{argument}`, got {kind}"))
    })
}

/// A device as PyTorch's functions take it. There is only the CPU, so it is checked and forgotten.
pub struct Device;

impl<'py> FromPyObject<'_, 'py> for Device {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<Device> {
        let name = obj.str()?;
        let name = name.to_string_lossy();
        if name == "cpu" || name.starts_with("cpu:") {
            return Ok(Device);
        }
        Err(PyValueError::new_err(format!("expected the device 'cpu', the only one there is, got '{name}'")))
    }
}

/// An integer of at least `least` in an argument of a function, by `__index__`. A bool is none.
pub fn count(function: &str, argument: &str, least: usize, obj: &Bound<'_, PyAny>) -> PyResult<usize> {
    let py = obj.py();
    let wanted = format!("{function}: expected `{argument}` to be an int of at least {least}, got");
    if obj.cast::<PyBool>().is_ok() {
        return Err(PyTypeError::new_err(format!("{wanted} the bool {obj}")));
    }
    match obj.extract::<isize>() {
        Ok(n) => usize::try_from(n)
            .ok()
            .filter(|&n| n >= least)
            .ok_or_else(|| PyValueError::new_err(format!("{wanted} {n}"))),
        Err(e) if e.is_instance_of::<PyOverflowError>(py) => {
            Err(PyValueError::new_err(format!("{wanted} one that does not fit 64 bits: {obj}")))
        }
        Err(e) if e.is_instance_of::<PyTypeError>(py) => {
            Err(PyTypeError::new_err(format!("{wanted} {}", obj.get_type().name()?)))
        }
        Err(e) => Err(e),
    }
}

/// A size, by `__index__`. Messages begin with `place`.
fn size(place: &str, obj: &Bound<'_, PyAny>) -> PyResult<usize> {
    let n: isize = obj.extract().map_err(|e: PyErr| match e.is_instance_of::<PyTypeError>(obj.py()) {
        true => PyTypeError::new_err(format!("{place}expected sizes that are integers, got {}", obj.get_type())),
        false => e,
    })?;
    usize::try_from(n).map_err(|_| PyValueError::new_err(format!("{place}expected sizes of at least 0, got {n}")))
}

fn sizes(place: &str, obj: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    if is_listlike(obj)? {
        return obj.try_iter()?.map(|item| size(place, &item?)).collect();
    }
    Ok(vec![size(place, obj)?])
}

/// The sizes of a sequence, or the only one.
pub struct Sizes(pub Vec<usize>);

impl<'py> FromPyObject<'_, 'py> for Sizes {
    type Error = PyErr;

    fn extract(obj: Borrowed<'_, 'py, PyAny>) -> PyResult<Sizes> {
        sizes("size: ", &obj).map(Sizes)
    }
}

/// A shape that is given as `f(2, 3)`, `f((2, 3))` or `f(size=(2, 3))`.
pub fn shape(function: &str, sizes: &Bound<'_, PyTuple>, size: Option<Sizes>) -> PyResult<Vec<usize>> {
    match (sizes.len(), size) {
        (0, Some(size)) => Ok(size.0),
        (0, None) => {
            Err(PyTypeError::new_err(format!("{function}: expected a shape; that of a single number is `()`")))
        }
        (_, Some(_)) => Err(PyTypeError::new_err(format!("{function}: expected one shape, got two"))),
        (1, None) => self::sizes(&format!("{function}: "), &sizes.get_item(0)?),
        (_, None) => sizes.iter().map(|item| self::size(&format!("{function}: "), &item)).collect(),
    }
}

/// Whether a value is a list of others and no number: a list, a tuple, a range or another sequence, but no text.
pub fn is_listlike(obj: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = obj.py();
    Ok(obj.cast::<PyString>().is_err()
        && obj.hasattr(intern!(py, "__len__"))?
        && obj.hasattr(intern!(py, "__getitem__"))?
        && !obj.hasattr(intern!(py, "keys"))?
        && !(obj.cast_exact::<PyTensor>().is_ok_and(|t| t.get().get().rank() == 0)))
}

/// Evaluates an expression with `$T` standing for the Rust type of the elements of a dtype.
macro_rules! with_element {
    ($dtype:expr, $T:ident => $body:expr) => {{
        macro_rules! with {
            ($type:ty) => {{
                type $T = $type;
                $body
            }};
        }
        match $dtype {
            pullback::DType::Bool => with!(bool),
            pullback::DType::U8 => with!(u8),
            pullback::DType::I32 => with!(i32),
            pullback::DType::I64 => with!(i64),
            pullback::DType::F16 => with!(pullback::f16),
            pullback::DType::BF16 => with!(pullback::bf16),
            pullback::DType::F32 => with!(f32),
            pullback::DType::F64 => with!(f64),
            pullback::DType::C64 => with!(pullback::Complex32),
            pullback::DType::C128 => with!(pullback::Complex64),
            other => unreachable!("the dtype {other} has no elements in Python"),
        }
    }};
}
pub(crate) use with_element;
