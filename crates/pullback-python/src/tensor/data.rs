//! Tensors from whatever holds numbers: Python's numbers and lists, arrays and buffers of other libraries.

use pullback::{DType, Element, Scalar, Tensor};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyList, PyString, PyTuple};

use super::{PyTensor, dlpack, numpy};
use crate::convert::{compute, is_listlike, number, with_element};
use crate::dtype::python_name;
use crate::error::OrRaise;

/// Lists in lists in lists; beyond that they contain themselves.
const DEPTH: usize = 64;

/// Whether a value is a list or a tuple, whose numbers belong in one tensor.
pub fn is_nested(obj: &Bound<'_, PyAny>) -> bool {
    obj.cast::<PyList>().is_ok() || obj.cast::<PyTuple>().is_ok()
}

/// The dtype of a number on its own.
pub fn own_dtype(x: Scalar) -> DType {
    match x {
        Scalar::Bool(_) => DType::Bool,
        Scalar::Int(_) => DType::I64,
        Scalar::Float(_) => DType::F32,
        Scalar::Complex(_) => DType::C64,
    }
}

/// A tensor of the numbers in `obj`; `function` names the caller in messages.
pub fn tensor_of(function: &str, obj: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Tensor> {
    match single(function, obj, dtype)? {
        Some(tensor) => Ok(tensor),
        None if is_nested(obj) || is_listlike(obj)? => nested(function, obj, dtype),
        None => Err(PyTypeError::new_err(format!(
            "{function}: expected numbers, lists of numbers, or an array, got {}",
            obj.get_type()
        ))),
    }
}

/// The tensor of a value that is one by itself: a number, a tensor, an array or a buffer, but no list.
fn single(function: &str, obj: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Option<Tensor>> {
    if let Ok(tensor) = obj.cast_exact::<PyTensor>() {
        let tensor = tensor.get().get();
        return match dtype {
            Some(dtype) => compute(obj.py(), tensor.numel(), || tensor.to_dtype(dtype)).or_raise().map(Some),
            None => Ok(Some(tensor)),
        };
    }
    let is_plain = obj.cast_exact::<PyFloat>().is_ok()
        || obj.cast_exact::<PyInt>().is_ok()
        || obj.cast_exact::<PyBool>().is_ok()
        || obj.cast_exact::<PyComplex>().is_ok();
    // Scalars of NumPy may be numbers of Python too, but they know a dtype.
    if !is_plain
        && !is_nested(obj)
        && let Some(tensor) = numpy::copy_of(obj, dtype)?
    {
        return Ok(Some(tensor));
    }
    if let Some(x) = number(obj)? {
        return filled(function, &[x], &[], dtype.unwrap_or_else(|| own_dtype(x))).map(Some);
    }
    if is_nested(obj) || obj.cast::<PyString>().is_ok() {
        return Ok(None);
    }
    if let Some(tensor) = dlpack::copy_of(obj)? {
        return match dtype {
            Some(dtype) => tensor.to_dtype(dtype).or_raise().map(Some),
            None => Ok(Some(tensor)),
        };
    }
    if let Some(tensor) = numpy::from_array_method(obj, dtype)? {
        return Ok(Some(tensor));
    }
    numpy::from_buffer(obj, dtype)
}

/// The numbers of nested lists.
struct Numbers {
    /// The sizes of the levels of lists that have been seen.
    shape: Vec<usize>,
    /// Whether `shape` is complete, because a number has been seen.
    complete: bool,
    found: Vec<Scalar>,
}

/// Nested lists as a tensor. Where they hold tensors or arrays these are stacked, so that derivatives pass through.
fn nested(function: &str, obj: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Tensor> {
    let mut numbers = Numbers { shape: Vec::new(), complete: false, found: Vec::new() };
    if !numbers.collect(function, obj, &mut Vec::new())? {
        return stacked(function, obj, dtype, 0);
    }
    let inferred = || numbers.found.iter().map(|x| own_dtype(*x)).max().unwrap_or(DType::F32);
    let dtype = dtype.unwrap_or_else(inferred);
    filled(function, &numbers.found, &numbers.shape, dtype)
}

/// Where in the nested lists an item is: `[1][0]`.
fn place(at: &[usize]) -> String {
    at.iter().map(|k| format!("[{k}]")).collect()
}

impl Numbers {
    /// Collects a list at a place; false if it holds something that is no number, as far as it has been looked at.
    fn collect(&mut self, function: &str, list: &Bound<'_, PyAny>, at: &mut Vec<usize>) -> PyResult<bool> {
        if at.len() > DEPTH {
            return Err(PyValueError::new_err(format!(
                "{function}: expected at most {DEPTH} levels of lists, got more"
            )));
        }
        let size = list.len()?;
        match self.shape.get(at.len()) {
            None if self.complete => {
                return Err(PyValueError::new_err(format!(
                    "{function}: expected a number at {}, got a list",
                    place(at)
                )));
            }
            None => self.shape.push(size),
            Some(&expected) if expected != size => {
                return Err(PyValueError::new_err(format!(
                    "{function}: expected lists of one length, got {expected} items in the first one and {size} at {}; help: \
                     pad the short ones",
                    place(at)
                )));
            }
            Some(_) => {}
        }
        for (k, item) in list.try_iter()?.enumerate() {
            let item = item?;
            at.push(k);
            let plain = if item.cast_exact::<PyFloat>().is_ok() || !has_dtype(&item) { number(&item)? } else { None };
            if let Some(x) = plain {
                if self.shape.len() != at.len() {
                    return Err(PyValueError::new_err(format!(
                        "{function}: expected a list at {}, got a number",
                        place(at)
                    )));
                }
                self.complete = true;
                self.found.push(x);
            } else if is_nested(&item) || (is_listlike(&item)? && !has_dtype(&item)) {
                if !self.collect(function, &item, at)? {
                    return Ok(false);
                }
            } else {
                return Ok(false);
            }
            at.pop();
        }
        Ok(true)
    }
}

/// Whether a value has a dtype of its own, as arrays and their scalars have.
fn has_dtype(obj: &Bound<'_, PyAny>) -> bool {
    let plain = obj.cast_exact::<PyInt>().is_ok() || obj.cast_exact::<PyList>().is_ok();
    !plain && obj.hasattr(pyo3::intern!(obj.py(), "dtype")).unwrap_or(false)
}

/// A tensor of these numbers.
fn filled(function: &str, numbers: &[Scalar], shape: &[usize], dtype: DType) -> PyResult<Tensor> {
    let bounds = match dtype {
        DType::U8 => Some((0, i64::from(u8::MAX))),
        DType::I32 => Some((i64::from(i32::MIN), i64::from(i32::MAX))),
        _ => None,
    };
    for x in numbers {
        match *x {
            Scalar::Int(i) if bounds.is_some_and(|(low, high)| i < low || i > high) => {
                let name = python_name(dtype);
                return Err(PyValueError::new_err(format!(
                    "{function}: expected integers that {name} can hold, got {i}"
                )));
            }
            Scalar::Complex(z) if !dtype.is_complex() => {
                let name = python_name(dtype);
                return Err(PyTypeError::new_err(format!("{function}: expected a complex dtype for {z}, got {name}")));
            }
            _ => {}
        }
    }
    with_element!(dtype, T => {
        let elements: Vec<T> = numbers.iter().map(|x| <T as Element>::from_scalar(*x)).collect();
        Tensor::from_slice(&elements, shape).or_raise()
    })
}

/// The stack of the items of a list, whatever they are; their dtypes are promoted, and numbers give way.
fn stacked(function: &str, list: &Bound<'_, PyAny>, dtype: Option<DType>, depth: usize) -> PyResult<Tensor> {
    if depth > DEPTH {
        return Err(PyValueError::new_err(format!("{function}: expected at most {DEPTH} levels of lists, got more")));
    }
    let items: Vec<Bound<'_, PyAny>> = list.try_iter()?.collect::<PyResult<_>>()?;
    let mut parts = Vec::with_capacity(items.len());
    let (mut strong, mut weak): (Option<DType>, Vec<Scalar>) = (None, Vec::new());
    for item in &items {
        if !has_dtype(item)
            && let Some(x) = number(item)?
        {
            weak.push(x);
            parts.push(None);
            continue;
        }
        let part = match single(function, item, dtype)? {
            Some(part) => part,
            None if is_nested(item) || is_listlike(item)? => stacked(function, item, dtype, depth + 1)?,
            None => {
                return Err(PyTypeError::new_err(format!(
                    "{function}: expected numbers, tensors, and lists of these, got {}",
                    item.get_type()
                )));
            }
        };
        strong = Some(strong.map_or(part.dtype(), |d| d.promote(part.dtype())));
        parts.push(Some(part));
    }
    let beside = |d: DType, x: &Scalar| pullback::Operand::into_operand(*x, function, d).map(|t| t.dtype());
    let mut common = match (dtype, strong) {
        (Some(dtype), _) => dtype,
        (None, Some(strong)) => strong,
        (None, None) => weak.iter().map(|x| own_dtype(*x)).max().unwrap_or(DType::F32),
    };
    if dtype.is_none() {
        for x in &weak {
            common = beside(common, x).or_raise()?;
        }
    }
    let mut numbers = weak.into_iter();
    let tensors: Vec<Tensor> = parts
        .into_iter()
        .map(|part| match part {
            Some(part) => part.to_dtype(common).or_raise(),
            None => filled(function, &[numbers.next().unwrap_or(Scalar::Int(0))], &[], common),
        })
        .collect::<PyResult<_>>()?;
    if tensors.is_empty() {
        return Tensor::zeros(&[0], common).or_raise();
    }
    pullback::stack(&tensors.iter().collect::<Vec<_>>(), 0).map_err(|e| e.in_context(function)).or_raise()
}
