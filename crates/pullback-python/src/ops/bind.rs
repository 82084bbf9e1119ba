//! A call from Python: which overload is meant, and its arguments in order.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use pullback::dynamic::{Arguments, Value};
use pyo3::Borrowed;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi::{Py_ssize_t, PyObject};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use smallvec::SmallVec;

use super::argument::{self, Refused};
use super::{OPERATIONS, Operation, Overload, outcome, signature};
use crate::convert::compute;
use crate::error::{InternalError, OrRaise};
use crate::tensor::PyTensor;

/// The arguments that Python passes.
struct Given<'a, 'py> {
    py: Python<'py>,
    /// The tensor whose method is called.
    me: Option<Borrowed<'a, 'py, PyAny>>,
    /// Those by position, and behind them those by name.
    all: &'a [*mut PyObject],
    positional: usize,
    names: Option<Borrowed<'a, 'py, PyTuple>>,
}

impl<'a, 'py> Given<'a, 'py> {
    /// How many are given by position, with the tensor.
    #[inline]
    fn count(&self) -> usize {
        self.positional + usize::from(self.me.is_some())
    }

    /// One that is given by position.
    #[inline]
    fn at(&self, k: usize) -> Option<Borrowed<'a, 'py, PyAny>> {
        let k = match self.me {
            Some(me) if k == 0 => return Some(me),
            Some(_) => k - 1,
            None => k,
        };
        (k < self.positional).then(|| self.object(k))
    }

    /// Whether there is a tensor beside the one whose method it is, or the first.
    #[inline]
    fn has_tensor(&self) -> bool {
        let first = usize::from(self.me.is_none());
        (first..self.all.len()).any(|k| self.object(k).is_exact_instance_of::<PyTensor>())
    }

    /// Whether an overload takes all tensors that are given as tensors.
    fn suits(&self, overload: &Overload) -> bool {
        let all = &overload.parameters;
        let by_place = all.iter().enumerate().all(|(k, parameter)| {
            self.at(k).is_none_or(|object| !argument::is_tensor_for_another(&parameter.of, object))
        });
        let Some(names) = self.names.as_ref().filter(|_| by_place) else { return by_place };
        names.iter().enumerate().all(|(place, name)| {
            let named = all.iter().find(|parameter| name.eq(parameter.of.name).unwrap_or(false));
            let object = self.object(self.positional + place);
            named.is_none_or(|parameter| !argument::is_tensor_for_another(&parameter.of, object))
        })
    }

    #[inline]
    fn object(&self, k: usize) -> Borrowed<'a, 'py, PyAny> {
        // SAFETY: Python keeps the arguments alive during the call.
        unsafe { Borrowed::from_ptr(self.py, self.all[k]) }
    }
}

/// Calls an operation.
///
/// # Safety
/// The arguments are those of a function or method of the kind fast-call with keywords.
#[inline]
pub unsafe fn enter(
    place: usize,
    me: *mut PyObject,
    arguments: *const *mut PyObject,
    count: Py_ssize_t,
    names: *mut PyObject,
) -> *mut PyObject {
    // The thread is attached already; this tells the bindings so, which else put off giving up references.
    Python::attach(|py| {
        let run = || {
            let positional = count as usize;
            // SAFETY: as the caller promises, here and below.
            let names =
                (!names.is_null()).then(|| unsafe { Borrowed::from_ptr(py, names).cast_unchecked::<PyTuple>() });
            let all = match positional + names.as_ref().map_or(0, |names| names.len()) {
                0 => &[],
                n => unsafe { std::slice::from_raw_parts(arguments, n) },
            };
            let me = (!me.is_null()).then(|| unsafe { Borrowed::from_ptr(py, me) });
            match OPERATIONS.get(py).and_then(|all| all.get(place)) {
                Some(operation) => call(operation, &Given { py, me, all, positional, names }),
                None => Err(InternalError::new_err("an operation is called before the module is loaded")),
            }
        };
        // A panic must not cross into Python.
        match catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(panicked(&*panic))) {
            Ok(object) => object.into_ptr(),
            Err(raised) => {
                raised.restore(py);
                ptr::null_mut()
            }
        }
    })
}

#[cold]
fn panicked(panic: &(dyn Any + Send)) -> PyErr {
    if let Some(raised) = crate::memory::exception(panic) {
        return raised;
    }
    let text = panic.downcast_ref::<String>().map(String::as_str);
    InternalError::new_err(text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned())
}

fn call(operation: &Operation, given: &Given<'_, '_>) -> PyResult<Py<PyAny>> {
    // A tensor is a number or a dim only for those that no overload takes as a tensor.
    if operation.overloads.len() > 1 && given.has_tensor() {
        for overload in &operation.overloads {
            let mut arguments = Arguments::new(overload.name);
            if given.suits(overload) && bind(overload, given, &mut arguments).is_ok() {
                return run(operation, overload, given, &mut arguments);
            }
        }
    }
    let mut refusals = SmallVec::<[Refused; 4]>::new();
    for overload in &operation.overloads {
        // They are large, so they are filled in where they stay.
        let mut arguments = Arguments::new(overload.name);
        match bind(overload, given, &mut arguments) {
            Ok(()) => return run(operation, overload, given, &mut arguments),
            // What the user's code raised is no reason to try another overload.
            Err(Refused::Raised(raised)) => return Err(raised),
            Err(refused) => refusals.push(refused),
        }
    }
    Err(refused_by_all(operation, given, refusals))
}

/// The error for arguments that no overload takes. If all say the same of them, so does it.
#[cold]
fn refused_by_all(operation: &Operation, given: &Given<'_, '_>, mut refusals: SmallVec<[Refused; 4]>) -> PyErr {
    let (overloads, is_method) = (&operation.overloads, given.me.is_some());
    let alike = |k: usize| refusals[0].is_like(&overloads[0], &refusals[k], &overloads[k]);
    if (1..refusals.len()).all(alike) && !refusals.is_empty() {
        return refusals.swap_remove(0).raise(&overloads[0], is_method);
    }
    no_overload(operation, given)
}

#[inline]
fn run(
    operation: &Operation,
    overload: &Overload,
    given: &Given<'_, '_>,
    arguments: &mut Arguments,
) -> PyResult<Py<PyAny>> {
    let (py, call) = (given.py, overload.form.call);
    let outcome = compute(py, arguments.numel(), || call(arguments)).or_raise()?;
    if operation.in_place {
        return outcome::in_place(operation.name, given.me, outcome);
    }
    outcome::to_python(py, overload, outcome)
}

/// Adds the arguments in the order of the parameters.
#[inline]
fn bind(overload: &Overload, given: &Given<'_, '_>, arguments: &mut Arguments) -> Result<(), Refused> {
    let parameters = &overload.parameters;
    let count = given.count();
    let mut named = SmallVec::<[usize; 8]>::new();
    if let Some(names) = &given.names {
        named = match_names(overload, given, names)?;
    }
    for (k, parameter) in parameters.iter().enumerate() {
        let value = match given.at(k) {
            Some(object) => {
                if named.contains(&k) {
                    return Err(Refused::Twice(k));
                }
                if parameter.of.is_variadic && argument::is_element(&parameter.of, object) {
                    let rest = (k..count).filter_map(|k| given.at(k));
                    arguments.push(argument::all(&parameter.of, rest, k)?);
                    return match parameters.get(k + 1) {
                        None => Ok(()),
                        Some(_) => finish(overload, given, &named, k + 1, arguments),
                    };
                }
                argument::value(&parameter.of, object, k)?
            }
            None => return finish(overload, given, &named, k, arguments),
        };
        arguments.push(value);
    }
    if count > parameters.len() {
        return Err(Refused::TooMany(count));
    }
    Ok(())
}

/// The arguments from parameter `from` on, of which none is given by position.
fn finish(
    overload: &Overload,
    given: &Given<'_, '_>,
    named: &[usize],
    from: usize,
    arguments: &mut Arguments,
) -> Result<(), Refused> {
    for (k, parameter) in overload.parameters.iter().enumerate().skip(from) {
        arguments.push(match named.iter().position(|&n| n == k) {
            Some(at) => argument::value(&parameter.of, given.object(given.positional + at), k)?,
            None if parameter.of.default.is_some() => Value::Missing,
            None => return Err(Refused::Missing(k)),
        });
    }
    Ok(())
}

/// The parameter of each argument that is given by name.
fn match_names(
    overload: &Overload,
    given: &Given<'_, '_>,
    names: &Bound<'_, PyTuple>,
) -> Result<SmallVec<[usize; 8]>, Refused> {
    let mut places = SmallVec::new();
    for name in names.iter() {
        let same = overload.parameters.iter().position(|p| p.key.as_ptr() == name.as_ptr());
        let place = same.or_else(|| {
            let name = name.cast::<PyString>().ok()?.to_cow().ok()?;
            // NumPy's words.
            let name = match &*name {
                "axis" => "dim",
                "keepdims" => "keepdim",
                name => name,
            };
            overload.parameters.iter().position(|p| p.of.name == name)
        });
        match place {
            // The tensor whose method it is has no name.
            Some(place) if !(place == 0 && given.me.is_some()) => places.push(place),
            _ => return Err(Refused::Unexpected(name.to_string())),
        }
    }
    if let Some(k) = (1..places.len()).find(|&k| places[..k].contains(&places[k])) {
        return Err(Refused::Twice(places[k]));
    }
    Ok(places)
}

/// The error for arguments that no overload takes.
#[cold]
fn no_overload(operation: &Operation, given: &Given<'_, '_>) -> PyErr {
    let skipped = usize::from(given.me.is_some());
    let mut types: Vec<String> = Vec::new();
    for k in 0..given.all.len() {
        let kind = argument::type_name(given.object(k));
        match k.checked_sub(given.positional).and_then(|k| given.names.as_ref()?.get_item(k).ok()) {
            Some(name) => types.push(format!("{name}={kind}")),
            None => types.push(kind),
        }
    }
    let mut forms: Vec<String> = operation.overloads.iter().map(|o| signature::of_overload(o, skipped)).collect();
    // Those that differ in what they take alone are told apart by that.
    if (1..forms.len()).any(|k| forms[..k].contains(&forms[k])) {
        forms = operation.overloads.iter().map(|o| signature::in_full(o, skipped)).collect();
    }
    PyTypeError::new_err(format!(
        "{}(): expected arguments as in one of {}, got ({})",
        operation.name,
        forms.join(", "),
        types.join(", ")
    ))
}
