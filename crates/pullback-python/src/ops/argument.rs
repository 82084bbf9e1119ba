//! Python objects as arguments of the kind that a parameter takes.

use pullback::dynamic::{Kind, Parameter, Value};
use pullback::{DType, Tensor};
use pyo3::Borrowed;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};
use smallvec::SmallVec;

use super::{Overload, signature};
use crate::convert::{self, Operand};
use crate::dtype::{DTypeArg, python_name};
use crate::random;
use crate::tensor::PyTensor;

/// Why an overload does not take the arguments.
pub enum Refused {
    /// No argument for a parameter without default.
    Missing(usize),
    /// This many by position.
    TooMany(usize),
    /// A parameter has a value by position and by name, or two by name.
    Twice(usize),
    /// A name that no parameter has.
    Unexpected(String),
    /// An object that the parameter does not take, of this type.
    Type(usize, Py<PyType>),
    /// A text that is none of the choices.
    Choice(usize, String),
    /// A text that UTF-8 cannot hold, as Python writes it.
    Surrogates(usize, String),
    /// An exception of the object's own code.
    Raised(PyErr),
}

impl Refused {
    /// Whether another overload has the same to say.
    pub fn is_like(&self, own: &Overload, refused: &Refused, other: &Overload) -> bool {
        let parameter = |overload: &Overload, k: usize| {
            let p = overload.parameters[k].of;
            (p.name, p.kind, p.or_none, p.is_variadic)
        };
        match (self, refused) {
            (Refused::Missing(a), Refused::Missing(b)) | (Refused::Type(a, _), Refused::Type(b, _)) => {
                a == b && parameter(own, *a) == parameter(other, *b)
            }
            _ => false,
        }
    }

    /// The exception.
    #[cold]
    pub fn raise(self, overload: &Overload, is_method: bool) -> PyErr {
        // The tensor whose method it is does not count.
        let hidden = usize::from(is_method);
        let name = overload.name;
        let parameter = |k: usize| &overload.parameters[k].of;
        match self {
            Refused::Missing(k) => PyTypeError::new_err(format!(
                "{name}() missing required argument '{}' (pos {})",
                parameter(k).name,
                k + 1 - hidden
            )),
            Refused::TooMany(given) => {
                let (most, given) = (overload.parameters.len() - hidden, given - hidden);
                let form = signature::of_overload(overload, hidden);
                PyTypeError::new_err(format!(
                    "{name}() takes at most {most} arguments, but {given} were given; it is {form}"
                ))
            }
            Refused::Twice(k) => {
                PyTypeError::new_err(format!("{name}() got multiple values for argument '{}'", parameter(k).name))
            }
            Refused::Unexpected(keyword) => PyTypeError::new_err(format!(
                "{name}() got an unexpected keyword argument '{keyword}'; it is {}",
                signature::of_overload(overload, hidden)
            )),
            Refused::Type(k, found) => {
                let p = parameter(k);
                let found = Python::attach(|py| name_of(found.bind(py)));
                let help = match p.kind {
                    // The class of another library, such as PyTorch.
                    Kind::Tensor | Kind::Tensors | Kind::Operand if found.ends_with("Tensor") && found != "Tensor" => {
                        "; help: convert it with `pullback.from_dlpack`"
                    }
                    Kind::Tensor | Kind::Tensors | Kind::Operand if found != "Tensor" && found != "NoneType" => {
                        "; help: make tensors with `pullback.tensor`"
                    }
                    Kind::Float | Kind::Floats | Kind::FloatOr(_) if found == "Tensor" => {
                        "; help: `item()` gives the number of a tensor, without its derivative"
                    }
                    _ => "",
                };
                PyTypeError::new_err(format!(
                    "{name}(): argument '{}' must be {}, not {found}{help}",
                    p.name,
                    signature::in_words(p)
                ))
            }
            Refused::Choice(k, found) => {
                let p = parameter(k);
                PyValueError::new_err(format!(
                    "{name}(): argument '{}' must be {}, got '{found}'",
                    p.name,
                    signature::in_words(p)
                ))
            }
            Refused::Surrogates(k, found) => PyValueError::new_err(format!(
                "{name}(): argument '{}' must be a text without surrogates, got {found}",
                parameter(k).name
            )),
            Refused::Raised(raised) => raised,
        }
    }
}

/// The name of an object's type; of one that is called as ours is, with its module.
pub fn type_name(object: Borrowed<'_, '_, PyAny>) -> String {
    name_of(&object.get_type())
}

fn name_of(class: &Bound<'_, PyType>) -> String {
    let name = class.name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
    if name == "Tensor" && !class.is(class.py().get_type::<PyTensor>()) {
        return class.fully_qualified_name().map_or(name, |name| name.to_string());
    }
    name
}

fn wrong(object: Borrowed<'_, '_, PyAny>, k: usize) -> Refused {
    Refused::Type(k, object.get_type().unbind())
}

/// Whether an object is an integer, of Python or NumPy.
pub fn is_int(object: Borrowed<'_, '_, PyAny>) -> bool {
    let is_number = object.is_instance_of::<PyInt>() && !object.is_instance_of::<PyBool>();
    is_number || (!object.is_instance_of::<PyBool>() && is_scalar(object, "__index__"))
}

/// Whether an object is a number that is none of Python's: NumPy's have no length and the method, tensors are something else.
fn is_scalar(object: Borrowed<'_, '_, PyAny>, method: &str) -> bool {
    // Lists are frequent, and to ask for an attribute that there is not takes long.
    let is_list = object.is_instance_of::<PyTuple>() || object.is_instance_of::<PyList>();
    !is_list
        && !object.is_instance_of::<PyString>()
        && object.hasattr(method).unwrap_or(false)
        && (object.is_instance_of::<PyTensor>() || !object.get_type().hasattr("__len__").unwrap_or(true))
}

/// The value of an int of Python itself that fits.
#[inline]
fn plain_int(object: Borrowed<'_, '_, PyAny>) -> Option<i64> {
    let int = object.cast_exact::<PyInt>().ok()?;
    // SAFETY: it is an int.
    let value = unsafe { ffi::PyLong_AsLongLong(int.as_ptr()) };
    if value == -1 {
        // Either that, or it does not fit.
        return int.extract().ok();
    }
    Some(value)
}

#[inline]
fn int(object: Borrowed<'_, '_, PyAny>, k: usize) -> Result<i64, Refused> {
    if let Some(value) = plain_int(object) {
        return Ok(value);
    }
    if !is_int(object) {
        return Err(wrong(object, k));
    }
    object.extract::<i64>().map_err(|raised| {
        let is_overflow = raised.is_instance_of::<PyOverflowError>(object.py());
        match () {
            // A tensor that is no integer is an argument of another type.
            _ if object.is_instance_of::<PyTensor>() => wrong(object, k),
            _ if is_overflow => Refused::Raised(PyOverflowError::new_err("an integer does not fit into 64 bits")),
            _ => Refused::Raised(raised),
        }
    })
}

/// Whether an object is an element of what a parameter takes several of.
pub fn is_element(parameter: &Parameter, object: Borrowed<'_, '_, PyAny>) -> bool {
    match parameter.kind {
        Kind::Tensors => object.is_instance_of::<PyTensor>(),
        _ => object.is_exact_instance_of::<PyInt>() || is_int(object),
    }
}

/// The value of a parameter whose elements are arguments of their own.
pub fn all<'a, 'py: 'a>(
    parameter: &Parameter,
    elements: impl Iterator<Item = Borrowed<'a, 'py, PyAny>>,
    k: usize,
) -> Result<Value, Refused> {
    Ok(match parameter.kind {
        Kind::Tensors => Value::Tensors(elements.map(|object| tensor(object, k)).collect::<Result<_, _>>()?),
        _ => {
            let mut all = SmallVec::new();
            for object in elements {
                all.push(int(object, k)?);
            }
            Value::Ints(all)
        }
    })
}

#[inline]
fn tensor(object: Borrowed<'_, '_, PyAny>, k: usize) -> Result<Tensor, Refused> {
    match object.cast_exact::<PyTensor>() {
        Ok(t) => Ok(t.get().get()),
        Err(_) => Err(wrong(object, k)),
    }
}

#[inline]
fn float(object: Borrowed<'_, '_, PyAny>, k: usize) -> Result<f64, Refused> {
    if let Ok(x) = object.cast::<PyFloat>() {
        return Ok(x.value());
    }
    let is_number = object.is_instance_of::<PyInt>() && !object.is_instance_of::<PyBool>();
    if is_number || (!object.is_instance_of::<PyBool>() && is_scalar(object, "__float__")) {
        // A tensor of several elements is an argument of another type, and so is one whose derivative a number would lose.
        return match object.cast_exact::<PyTensor>() {
            Ok(t) if !stands_for_a_number(&t.get().get()) => Err(wrong(object, k)),
            _ => object.extract().map_err(Refused::Raised),
        };
    }
    Err(wrong(object, k))
}

/// Whether a tensor may be read as a number: it is one, and nobody wants its derivative.
pub fn stands_for_a_number(t: &Tensor) -> bool {
    t.numel() == 1 && !t.is_differentiated()
}

/// Whether an object is a tensor, and the parameter for something else.
pub fn is_tensor_for_another(parameter: &Parameter, object: Borrowed<'_, '_, PyAny>) -> bool {
    object.is_exact_instance_of::<PyTensor>() && !matches!(parameter.kind, Kind::Tensor | Kind::Operand | Kind::Tensors)
}

/// A tensor, or a number in the place of one.
fn operand(object: Borrowed<'_, '_, PyAny>, k: usize) -> Result<Value, Refused> {
    match convert::operand(&object) {
        Ok(Some(Operand::Tensor(t))) => Ok(Value::Tensor(t)),
        Ok(Some(Operand::Number(n))) => Ok(Value::Number(n)),
        Ok(None) => Err(wrong(object, k)),
        Err(raised) => Err(Refused::Raised(raised)),
    }
}

/// Goes through a list, a tuple or another sequence that is no text.
fn each_element<'py>(
    object: Borrowed<'_, 'py, PyAny>,
    k: usize,
    mut each: impl FnMut(Borrowed<'_, 'py, PyAny>) -> Result<(), Refused>,
) -> Result<(), Refused> {
    if let Ok(tuple) = object.cast::<PyTuple>() {
        return tuple.iter_borrowed().try_for_each(each);
    }
    if let Ok(list) = object.cast::<PyList>() {
        return list.iter().try_for_each(|x| each(x.as_borrowed()));
    }
    if object.is_instance_of::<PyString>() || object.is_instance_of::<PyTensor>() {
        return Err(wrong(object, k));
    }
    let Ok(mut all) = object.try_iter() else { return Err(wrong(object, k)) };
    all.try_for_each(|x| each(x.map_err(Refused::Raised)?.as_borrowed()))
}

/// Its elements in a list.
fn elements<'py, T>(
    object: Borrowed<'_, 'py, PyAny>,
    k: usize,
    mut each: impl FnMut(Borrowed<'_, 'py, PyAny>) -> Result<T, Refused>,
) -> Result<Vec<T>, Refused> {
    let mut all = Vec::new();
    each_element(object, k, |x| {
        all.push(each(x)?);
        Ok(())
    })?;
    Ok(all)
}

fn int_list(object: Borrowed<'_, '_, PyAny>, k: usize) -> Result<Value, Refused> {
    if is_int(object) {
        return Ok(Value::Ints(SmallVec::from_slice(&[int(object, k)?])));
    }
    let mut all = SmallVec::new();
    each_element(object, k, |x| {
        all.push(int(x, k)?);
        Ok(())
    })?;
    Ok(Value::Ints(all))
}

/// Two lists of integers, which may be integers themselves.
fn int_lists(object: Borrowed<'_, '_, PyAny>, k: usize) -> Result<Value, Refused> {
    let list = |object: Borrowed<'_, '_, PyAny>| match int_list(object, k)? {
        Value::Ints(list) => Ok(list),
        _ => Err(wrong(object, k)),
    };
    let lists = elements(object, k, list)?;
    if lists.len() != 2 {
        return Err(wrong(object, k));
    }
    Ok(Value::IntLists(lists.into_iter().collect()))
}

fn choice(object: Borrowed<'_, '_, PyAny>, k: usize, names: &[&str]) -> Option<Result<Value, Refused>> {
    let text = object.cast::<PyString>().ok()?;
    let text = match text.to_cow() {
        Ok(text) => text,
        Err(raised) => return Some(Err(Refused::Raised(raised))),
    };
    match names.iter().position(|name| *name == text) {
        Some(place) => Some(Ok(Value::Choice(place))),
        None => Some(Err(Refused::Choice(k, text.into_owned()))),
    }
}

/// The value of an argument for parameter `k`.
#[inline]
pub fn value(parameter: &Parameter, object: Borrowed<'_, '_, PyAny>, k: usize) -> Result<Value, Refused> {
    if object.is_none() {
        return match () {
            _ if parameter.or_none => Ok(Value::None),
            _ if signature::none_is_default(parameter) => Ok(Value::Missing),
            _ => Err(wrong(object, k)),
        };
    }
    match parameter.kind {
        Kind::Tensor => tensor(object, k).map(Value::Tensor),
        Kind::Operand => operand(object, k),
        Kind::Tensors => Ok(Value::Tensors(elements(object, k, |x| tensor(x, k))?)),
        Kind::Int => int(object, k).map(Value::Int),
        Kind::Ints => int_list(object, k),
        Kind::Float => float(object, k).map(Value::Float),
        Kind::Floats => match float(object, k) {
            Ok(x) => Ok(Value::Floats(SmallVec::from_slice(&[x]))),
            Err(_) => Ok(Value::Floats(SmallVec::from_vec(elements(object, k, |x| float(x, k))?))),
        },
        Kind::Bool => match object.cast::<PyBool>() {
            Ok(b) => Ok(Value::Bool(b.is_true())),
            Err(_) if type_name(object).starts_with("bool") => {
                object.is_truthy().map(Value::Bool).map_err(Refused::Raised)
            }
            Err(_) => Err(wrong(object, k)),
        },
        Kind::Exactly(only) => match object.cast::<PyBool>() {
            Ok(b) if b.is_true() == only => Ok(Value::Bool(only)),
            _ => Err(wrong(object, k)),
        },
        Kind::IntOrPair if is_int(object) => int(object, k).map(Value::Int),
        Kind::IntOrPair => int_lists(object, k),
        Kind::Text => match object.extract::<String>() {
            Ok(text) => Ok(Value::Text(text)),
            Err(_) if object.is_instance_of::<PyString>() => {
                let found = object.repr().map(|text| text.to_string());
                found.map_or_else(|raised| Err(Refused::Raised(raised)), |found| Err(Refused::Surrogates(k, found)))
            }
            Err(_) => Err(wrong(object, k)),
        },
        Kind::DType => match object.extract::<DTypeArg>() {
            Ok(dtype) => Ok(Value::DType(dtype.0)),
            // The name, as in the signature.
            Err(_) => {
                let name = object.extract::<String>().ok();
                let of_name = |d: &DType| name.as_deref() == Some(python_name(*d));
                DType::ALL.into_iter().find(of_name).map(Value::DType).ok_or_else(|| wrong(object, k))
            }
        },
        Kind::Source => match random::source(object) {
            Some(source) => Ok(Value::Source(source)),
            None => Err(wrong(object, k)),
        },
        Kind::Choice(names) => choice(object, k, names).unwrap_or_else(|| Err(wrong(object, k))),
        Kind::IntsOr(names) => choice(object, k, names).unwrap_or_else(|| int_list(object, k)),
        Kind::FloatOr(names) => choice(object, k, names).unwrap_or_else(|| float(object, k).map(Value::Float)),
        _ => Err(wrong(object, k)),
    }
}
