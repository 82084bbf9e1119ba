//! Every operation of the table, as a method of `Tensor` and as a function. They are made when the module is loaded, from the
//! forms of the rows: an operation that the table gets is in Python by itself.
//!
//! What Python calls is a function pointer without data, so each operation has one of its own ([`trampoline`]).

use std::collections::BTreeMap;
use std::ffi::CString;
use std::ptr;

use pullback::dynamic::{Form, Kind};
use pullback::testing::operations;
use pullback::testing::table::OpInfo;
use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

mod argument;
mod bind;
mod doc;
mod example;
mod outcome;
mod signature;
mod trampoline;

use self::doc::Docs;
use crate::random::{PyGenerator, PyKey};
use crate::tensor::PyTensor;

/// What one name stands for: a method, or a function of a namespace.
struct Operation {
    name: &'static str,
    is_method: bool,
    /// Whether the tensor whose method it is gets the result.
    in_place: bool,
    /// Whether it draws random numbers: its methods are those of what they are drawn from.
    is_draw: bool,
    /// Where the function is: `""`, `"linalg"`, `"nn.functional"`.
    namespaces: Vec<&'static str>,
    overloads: Vec<Overload>,
}

/// A way to call an operation.
struct Overload {
    /// The name of the operation, which differs from that of the form where a method is in place.
    name: &'static str,
    row: &'static OpInfo,
    form: &'static Form,
    parameters: Vec<Parameter>,
    /// The type of what comes back, if it has names.
    named: Option<Py<PyAny>>,
}

struct Parameter {
    of: pullback::dynamic::Parameter,
    /// The name as a Python object, which keywords mostly are the same as.
    key: Py<PyString>,
}

/// All operations, at the places that their trampolines know.
static OPERATIONS: PyOnceLock<Vec<Operation>> = PyOnceLock::new();

/// The namespaces beside the top one that users look into, by the modules of the families.
fn namespace_of(module: &str) -> &'static str {
    let of = |part: &str| match part {
        "linalg" => Some("linalg"),
        "fft" => Some("fft"),
        "special" => Some("special"),
        "nn" | "activation" | "gated" | "loss" | "regression" | "softmax" => Some("nn.functional"),
        _ => None,
    };
    module.split("::").find_map(of).unwrap_or_default()
}

/// The forms of all rows, put together by name.
fn collect(py: Python<'_>, own: &Bound<'_, PyAny>) -> PyResult<Vec<Operation>> {
    let mut all: Vec<Operation> = Vec::new();
    let mut places: BTreeMap<(bool, &str, &str), usize> = BTreeMap::new();
    // Names of methods that are in place.
    let mut changing: BTreeMap<&str, &'static str> = BTreeMap::new();
    for row in operations() {
        let family = namespace_of(row.module);
        for form in row.forms {
            // `fft` is a namespace, and cannot be a function beside it.
            let only = if family == "fft" { family } else { form.namespace };
            for is_method in [true, false] {
                if !(if is_method { form.is_method } else { form.is_function }) {
                    continue;
                }
                // What the class has by hand stays.
                if is_method && own.contains(form.name)? {
                    continue;
                }
                let only = if is_method { "" } else { only };
                let place = *places.entry((is_method, only, form.name)).or_insert_with(|| {
                    let overloads = Vec::new();
                    let namespaces = if is_method { vec![] } else { vec![only] };
                    all.push(Operation {
                        name: form.name,
                        is_method,
                        in_place: false,
                        is_draw: false,
                        namespaces,
                        overloads,
                    });
                    all.len() - 1
                });
                if !is_method && only.is_empty() && !family.is_empty() && !all[place].namespaces.contains(&family) {
                    all[place].namespaces.push(family);
                }
                add(&mut all[place].overloads, overload(py, form.name, row, form)?);
            }
            if form.in_place {
                let name = *changing.entry(form.name).or_insert_with(|| format!("{}_", form.name).leak());
                if own.contains(name)? {
                    continue;
                }
                let place = *places.entry((true, "", name)).or_insert_with(|| {
                    let (namespaces, overloads) = (vec![], vec![]);
                    all.push(Operation {
                        name,
                        is_method: true,
                        in_place: true,
                        is_draw: false,
                        namespaces,
                        overloads,
                    });
                    all.len() - 1
                });
                add(&mut all[place].overloads, overload(py, name, row, form)?);
            }
        }
    }
    // What a namespace has by its own name is not hidden by what it shares with the top one.
    let own: Vec<_> =
        all.iter().filter(|o| !o.is_method && !o.namespaces[0].is_empty()).map(|o| (o.namespaces[0], o.name)).collect();
    for operation in all.iter_mut().filter(|o| !o.is_method && o.namespaces[0].is_empty()) {
        operation.namespaces.retain(|namespace| !own.contains(&(*namespace, operation.name)));
    }
    for row in pullback::random::operations() {
        for form in row.forms {
            for is_method in [true, false] {
                let namespaces = if is_method { vec![] } else { vec!["random"] };
                let overloads = vec![overload(py, form.name, row, form)?];
                all.push(Operation {
                    name: form.name,
                    is_method,
                    in_place: false,
                    is_draw: true,
                    namespaces,
                    overloads,
                });
            }
        }
    }
    Ok(all)
}

fn overload(py: Python<'_>, name: &'static str, row: &'static OpInfo, form: &'static Form) -> PyResult<Overload> {
    let parameters = (form.parameters)()
        .into_iter()
        .map(|of| Parameter { of, key: PyString::intern(py, of.name).unbind() })
        .collect();
    Ok(Overload { name, row, form, parameters, named: outcome::named(py, form)? })
}

/// Adds an overload, unless another one takes all that it takes, in which case that one is enough.
fn add(overloads: &mut Vec<Overload>, new: Overload) {
    if !overloads.iter().any(|old| signature::is_more_general(old, &new)) {
        overloads.retain(|old| !signature::is_more_general(&new, old));
        overloads.push(new);
    }
    // A number is a dimension rather than an operand.
    overloads.sort_by_key(|o| o.parameters.iter().skip(1).any(|p| p.of.kind == Kind::Operand));
}

/// The definition of a function or method, which lives as long as the process.
fn definition(docs: &Docs, operation: &Operation, place: usize) -> PyResult<*mut ffi::PyMethodDef> {
    let Some(meth) = trampoline::at(operation.is_method, place) else {
        return Err(PyRuntimeError::new_err(format!("no more than {} operations", trampoline::COUNT)));
    };
    let name = CString::new(operation.name)?.into_raw();
    let doc = CString::new(format!("{}\n--\n\n{}", signature::text(operation), docs.of(operation)))?.into_raw();
    Ok(Box::into_raw(Box::new(ffi::PyMethodDef {
        ml_name: name,
        ml_meth: ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: meth },
        ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
        ml_doc: doc,
    })))
}

/// Makes the methods and functions.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let of_tensors = [py.get_type::<PyTensor>()];
    let of_draws = [py.get_type::<PyKey>(), py.get_type::<PyGenerator>()];
    let all = OPERATIONS.get_or_try_init(py, || collect(py, &of_tensors[0].getattr("__dict__")?))?;
    let namespaces = PyDict::new(py);
    let dict_of = |name: &str| -> PyResult<Bound<'_, PyDict>> {
        match namespaces.get_item(name)? {
            Some(dict) => Ok(dict.cast_into()?),
            None => {
                let dict = PyDict::new(py);
                namespaces.set_item(name, &dict)?;
                Ok(dict)
            }
        }
    };
    let docs = Docs::new();
    for (place, operation) in all.iter().enumerate() {
        let definition = definition(&docs, operation, place)?;
        if operation.is_method {
            for class in if operation.is_draw { &of_draws[..] } else { &of_tensors[..] } {
                // SAFETY: the definition is never freed, and its function takes instances of the class.
                let method = unsafe {
                    Bound::from_owned_ptr_or_err(py, ffi::PyDescr_NewMethod(class.as_type_ptr(), definition))?
                };
                class.setattr(operation.name, method)?;
            }
        } else {
            let home = operation.namespaces[0];
            let home = if home.is_empty() { "pullback".to_owned() } else { format!("pullback.{home}") };
            let home = PyString::new(py, &home);
            // SAFETY: the definition is never freed.
            let function = unsafe {
                let function = ffi::PyCFunction_NewEx(definition, ptr::null_mut(), home.as_ptr());
                Bound::from_owned_ptr_or_err(py, function)?
            };
            for namespace in &operation.namespaces {
                dict_of(namespace)?.set_item(operation.name, &function)?;
            }
        }
    }
    let named = dict_of("return_types")?;
    for overload in all.iter().flat_map(|operation| &operation.overloads) {
        if let Some(class) = &overload.named {
            named.set_item(overload.form.name, class)?;
        }
    }
    module.add("_operations", namespaces)?;
    module.add_function(wrap_pyfunction!(_signatures, module)?)
}

/// The signatures of all operations with their types, of which the stubs are made: for each, its namespaces (none: a method), its
/// name, its documentation, and for each overload the parameters and the type of the result.
#[pyfunction]
fn _signatures(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let docs = Docs::new();
    let all = PyList::empty(py);
    for operation in OPERATIONS.get(py).into_iter().flatten() {
        // Such methods are the functions without their first argument.
        if operation.is_draw && operation.is_method {
            continue;
        }
        let overloads = PyList::empty(py);
        for overload in &operation.overloads {
            let parameters = PyList::empty(py);
            for parameter in &overload.parameters {
                let p = &parameter.of;
                let default = p.default.map(|d| signature::literal(&d));
                parameters.append((p.name, signature::type_of(p), default, p.is_variadic))?;
            }
            overloads.append((parameters, signature::result(overload)))?;
        }
        let namespaces = PyTuple::new(py, &operation.namespaces)?;
        all.append((namespaces, operation.name, docs.of(operation), overloads))?;
    }
    Ok(all)
}
