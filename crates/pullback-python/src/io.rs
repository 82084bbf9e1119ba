//! Files of tensors.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use pullback::io::{npy, npz, safetensors};
use pullback::{ErrorKind, Tensor};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use crate::convert::wrap;
use crate::error::OrRaise;
use crate::tensor::{PyTensor, tensor_of};

type Tensors = BTreeMap<String, Tensor>;

/// The tensors of dicts and lists by name: keys and positions, joined by dots.
fn collect(obj: &Bound<'_, PyAny>, name: &str, all: &mut Tensors, depth: usize) -> PyResult<()> {
    if depth > 64 {
        return Err(PyValueError::new_err("save: expected dicts that do not contain themselves"));
    }
    let inner = |part: &str| if name.is_empty() { part.to_owned() } else { format!("{name}.{part}") };
    if let Ok(dict) = obj.cast::<PyDict>() {
        for (key, value) in dict.iter() {
            let place = if name.is_empty() { String::new() } else { format!(" in `{name}`") };
            let Ok(key) = key.cast::<PyString>() else {
                return Err(PyTypeError::new_err(format!("save: expected names as keys, got {}{place}", key.repr()?)));
            };
            match key.to_cow() {
                Ok(part) if !part.is_empty() => collect(&value, &inner(&part), all, depth + 1)?,
                _ => {
                    return Err(PyValueError::new_err(format!(
                        "save: expected names as keys that are not empty and have no surrogates, got {}{place}",
                        key.repr()?
                    )));
                }
            }
        }
        return Ok(());
    }
    let is_list = obj.cast::<pyo3::types::PyList>().is_ok() || obj.cast::<pyo3::types::PyTuple>().is_ok();
    if is_list {
        for (k, value) in obj.try_iter()?.enumerate() {
            collect(&value?, &inner(&k.to_string()), all, depth + 1)?;
        }
        return Ok(());
    }
    if name.is_empty() {
        return Err(PyTypeError::new_err(format!("save: expected a dict of tensors by name, got {}", obj.get_type())));
    }
    let tensor = match obj.cast::<PyTensor>() {
        Ok(tensor) => tensor.get().get(),
        Err(_) => tensor_of("save", obj, None)?,
    };
    // A parameter is written as its value.
    let value = if tensor.requires_grad() { tensor.detach().or_raise()? } else { tensor };
    if all.insert(name.to_owned(), value).is_some() {
        return Err(PyValueError::new_err(format!("save: expected different names, got two tensors called `{name}`")));
    }
    Ok(())
}

fn named(obj: &Bound<'_, PyAny>) -> PyResult<Tensors> {
    let mut all = Tensors::new();
    collect(obj, "", &mut all, 0)?;
    Ok(all)
}

fn dict_of(py: Python<'_>, all: Tensors) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for (name, tensor) in all {
        dict.set_item(name, wrap(py, tensor)?)?;
    }
    Ok(dict)
}

/// Writes tensors to a file in the format of safetensors.
///
/// tensors: tensors by name; dicts and lists in them add their keys and positions to the names: `layers.0.weight`.
/// path: a file that is there is replaced once the new one is complete.
/// metadata: text to store beside them. Programs around PyTorch expect `{'format': 'pt'}`.
///
/// Raises OSError if the file cannot be written, TypeError for dtypes that the format does not have.
#[pyfunction]
#[pyo3(signature = (tensors, path, metadata=None))]
fn save_safetensors(
    tensors: &Bound<'_, PyAny>,
    path: &Bound<'_, PyAny>,
    metadata: Option<BTreeMap<String, String>>,
) -> PyResult<()> {
    let (all, metadata) = (named(tensors)?, metadata.unwrap_or_default());
    let path = path_of("save_safetensors", path)?;
    tensors.py().detach(|| safetensors::save_with_metadata(path, &all, &metadata)).or_raise()
}

/// The tensors of a file in the format of safetensors, by name.
///
/// names: those to read, if not all.
/// strict: whether elements of other dtypes than those of tensors are an error; if not, such tensors are left out.
///
/// Raises OSError if the file cannot be read or is damaged, ValueError for a name that is not in it, TypeError for elements that no
/// tensor can have.
#[pyfunction]
#[pyo3(signature = (path, names=None, *, strict=true))]
fn load_safetensors<'py>(
    py: Python<'py>,
    path: &Bound<'_, PyAny>,
    names: Option<Vec<String>>,
    strict: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let path = path_of("load_safetensors", path)?;
    let read = || {
        if strict && names.is_none() {
            return safetensors::load(path);
        }
        let mut file = safetensors::File::open(path)?;
        let mut all = Tensors::new();
        for name in names.unwrap_or_else(|| file.names()) {
            match file.tensor(&name) {
                Ok(tensor) => drop(all.insert(name, tensor)),
                Err(e) if e.kind() == ErrorKind::Dtype && !strict => {}
                Err(e) => return Err(e),
            }
        }
        Ok(all)
    };
    dict_of(py, py.detach(read).or_raise()?)
}

/// The text that is stored beside the tensors of a file in the format of safetensors.
#[pyfunction]
#[pyo3(signature = (path))]
fn load_safetensors_metadata(py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<BTreeMap<String, String>> {
    let path = path_of("load_safetensors_metadata", path)?;
    Ok(py.detach(|| safetensors::File::open(path)).or_raise()?.metadata().clone())
}

/// Writes a tensor to a file as `numpy.save` does.
#[pyfunction]
#[pyo3(signature = (tensor, path))]
fn save_npy(tensor: &Bound<'_, PyTensor>, path: &Bound<'_, PyAny>) -> PyResult<()> {
    let path = path_of("save_npy", path)?;
    let value = tensor.get().get().detach().or_raise()?;
    tensor.py().detach(|| npy::save(path, &value)).or_raise()
}

/// The tensor of a file that `numpy.save` wrote.
///
/// Raises OSError if the file cannot be read or is damaged, TypeError for elements that no tensor can have.
#[pyfunction]
#[pyo3(signature = (path))]
fn load_npy<'py>(py: Python<'py>, path: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyTensor>> {
    let path = path_of("load_npy", path)?;
    wrap(py, py.detach(|| npy::load(path)).or_raise()?)
}

/// Writes tensors to a file as `numpy.savez` does, or `numpy.savez_compressed`; names are as for `save_safetensors`.
#[pyfunction]
#[pyo3(signature = (tensors, path, *, compressed=false))]
fn save_npz(tensors: &Bound<'_, PyAny>, path: &Bound<'_, PyAny>, compressed: bool) -> PyResult<()> {
    let path = path_of("save_npz", path)?;
    let all = named(tensors)?;
    let save = || if compressed { npz::save_compressed(path, &all) } else { npz::save(path, &all) };
    tensors.py().detach(save).or_raise()
}

/// The tensors of a file that `numpy.savez` or `numpy.savez_compressed` wrote, by name.
///
/// Raises OSError if the file cannot be read or is damaged, TypeError for elements that no tensor can have.
#[pyfunction]
#[pyo3(signature = (path))]
fn load_npz<'py>(py: Python<'py>, path: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let path = path_of("load_npz", path)?;
    dict_of(py, py.detach(|| npz::load(path)).or_raise()?)
}

/// A file's name: text, bytes, or an object with `__fspath__`. Python's surrogates stand for the bytes that are no text.
fn path_of(function: &str, path: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    let py = path.py();
    let is_name = path.cast::<PyString>().is_ok()
        || path.cast::<PyBytes>().is_ok()
        || path.get_type().hasattr(intern!(py, "__fspath__"))?;
    if !is_name {
        let got = path.get_type().name()?;
        return Err(PyTypeError::new_err(format!("{function}: expected a file name as str, bytes or path, got {got}")));
    }
    let name = py.import(intern!(py, "os"))?.call_method1(intern!(py, "fsdecode"), (path,))?;
    // Others than those that stand for bytes have no place in a name.
    name.call_method1(intern!(py, "encode"), ("utf-8", "surrogateescape")).map_err(|_| {
        PyValueError::new_err(format!("{function}: expected a file name that the system can have, got {name:?}"))
    })?;
    Ok(name.extract::<OsString>()?.into())
}

/// The format that the end of a file's name says.
fn format_of(function: &str, path: &Bound<'_, PyAny>) -> PyResult<&'static str> {
    let path = path_of(function, path)?;
    match path.extension().and_then(|e| e.to_str()) {
        Some("safetensors") => Ok("safetensors"),
        Some("npz") => Ok("npz"),
        Some("npy") => Ok("npy"),
        _ => Err(PyValueError::new_err(format!(
            "{function}: expected a file name that ends in .safetensors, .npz or .npy, got {}",
            path.display()
        ))),
    }
}

/// Writes tensors to a file in the format that the end of its name says: `.safetensors`, `.npz`, or `.npy` for a single tensor.
///
/// See `save_safetensors` for names and errors.
///
/// >>> import tempfile, os
/// >>> with tempfile.TemporaryDirectory() as folder:
/// ...     path = os.path.join(folder, "model.safetensors")
/// ...     pullback.io.save({"weight": pullback.eye(2), "layers": [pullback.ones(1)]}, path)
/// ...     list(pullback.io.load(path))
/// ['layers.0', 'weight']
#[pyfunction]
#[pyo3(signature = (tensors, path))]
fn save(tensors: &Bound<'_, PyAny>, path: &Bound<'_, PyAny>) -> PyResult<()> {
    match format_of("save", path)? {
        "safetensors" => save_safetensors(tensors, path, None),
        "npz" => save_npz(tensors, path, false),
        _ => match tensors.cast::<PyTensor>() {
            Ok(tensor) => save_npy(tensor, path),
            Err(_) => {
                Err(PyTypeError::new_err(format!("save: expected a tensor for .npy, got {}", tensors.get_type())))
            }
        },
    }
}

/// The tensors of a file by name, or the tensor of an `.npy` file, in the format that the end of its name says.
#[pyfunction]
#[pyo3(signature = (path))]
fn load<'py>(py: Python<'py>, path: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match format_of("load", path)? {
        "safetensors" => Ok(load_safetensors(py, path, None, true)?.into_any()),
        "npz" => Ok(load_npz(py, path)?.into_any()),
        _ => Ok(load_npy(py, path)?.into_any()),
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let inner = PyModule::new(module.py(), "pullback.io")?;
    inner.add_function(wrap_pyfunction!(save, &inner)?)?;
    inner.add_function(wrap_pyfunction!(load, &inner)?)?;
    inner.add_function(wrap_pyfunction!(save_safetensors, &inner)?)?;
    inner.add_function(wrap_pyfunction!(load_safetensors, &inner)?)?;
    inner.add_function(wrap_pyfunction!(load_safetensors_metadata, &inner)?)?;
    inner.add_function(wrap_pyfunction!(save_npy, &inner)?)?;
    inner.add_function(wrap_pyfunction!(load_npy, &inner)?)?;
    inner.add_function(wrap_pyfunction!(save_npz, &inner)?)?;
    inner.add_function(wrap_pyfunction!(load_npz, &inner)?)?;
    module.add("_io", inner)
}
