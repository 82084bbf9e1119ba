//! What calls return, as Python objects.

use std::collections::HashMap;
use std::ffi::{CString, c_int};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use pullback::dynamic::{Form, Outcome, Results, rebind};
use pyo3::Borrowed;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyTuple};

use super::Overload;
use crate::convert::wrap;
use crate::error::{InternalError, OrRaise};
use crate::tensor::PyTensor;

/// The Python object for an outcome.
#[inline]
pub fn to_python(py: Python<'_>, overload: &Overload, outcome: Outcome) -> PyResult<Py<PyAny>> {
    let all = match outcome {
        Outcome::One(t) if overload.named.is_none() => return Ok(wrap(py, t)?.into_any().unbind()),
        Outcome::One(t) => [t].into_iter().collect(),
        Outcome::Several(all) => all,
        Outcome::Bool(holds) => return Ok(PyBool::new(py, holds).to_owned().into_any().unbind()),
    };
    let all = all.into_iter().map(|t| wrap(py, t)).collect::<PyResult<Vec<_>>>()?;
    let Some(class) = &overload.named else { return Ok(PyTuple::new(py, all)?.into_any().unbind()) };
    // SAFETY: `named` made the type with as many fields as there are results; `SetItem` takes over the reference.
    unsafe {
        let made = Bound::from_owned_ptr_or_err(py, ffi::PyStructSequence_New(class.as_ptr().cast()))?;
        for (k, t) in all.into_iter().enumerate() {
            ffi::PyStructSequence_SetItem(made.as_ptr(), k as ffi::Py_ssize_t, t.into_ptr());
        }
        Ok(made.unbind())
    }
}

/// Gives the tensor whose method was called what came out, and returns it.
pub fn in_place(name: &str, me: Option<Borrowed<'_, '_, PyAny>>, outcome: Outcome) -> PyResult<Py<PyAny>> {
    match (me, outcome) {
        (Some(me), Outcome::One(result)) => {
            me.cast::<PyTensor>()?.get().update(|t| rebind(t, name, result)).or_raise()?;
            Ok(me.to_owned().unbind())
        }
        _ => Err(InternalError::new_err(format!("{name}: a method in place has one result"))),
    }
}

/// The tuple type with named fields of a form that has several results with names.
pub fn named(py: Python<'_>, form: &Form) -> PyResult<Option<Py<PyAny>>> {
    static MADE: Mutex<Option<HashMap<&str, Py<PyAny>>>> = Mutex::new(None);
    let Results::Several(n, names) = form.results else { return Ok(None) };
    if names.is_empty() {
        return Ok(None);
    }
    let known = |made: &Option<HashMap<&str, Py<PyAny>>>| made.as_ref()?.get(form.name).map(|c| c.clone_ref(py));
    if let Some(class) = known(&MADE.lock().unwrap_or_else(PoisonError::into_inner)) {
        return Ok(Some(class));
    }
    // Python keeps pointers to the texts.
    let mut fields = Vec::new();
    for name in names {
        fields.push(ffi::PyStructSequence_Field { name: CString::new(*name)?.into_raw(), doc: ptr::null() });
    }
    fields.push(ffi::PyStructSequence_Field { name: ptr::null(), doc: ptr::null() });
    let doc = format!("What `{}` returns: ({}).", form.name, names.join(", "));
    let mut description = ffi::PyStructSequence_Desc {
        name: CString::new(format!("pullback.return_types.{}", form.name))?.into_raw(),
        doc: CString::new(doc)?.into_raw(),
        fields: Box::leak(fields.into_boxed_slice()).as_mut_ptr(),
        n_in_sequence: n as c_int,
    };
    // SAFETY: the description ends with a field without a name, and its texts are never freed.
    let class =
        unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyStructSequence_NewType(&mut description).cast())?.unbind() };
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    made.get_or_insert_default().insert(form.name, class.clone_ref(py));
    Ok(Some(class))
}
