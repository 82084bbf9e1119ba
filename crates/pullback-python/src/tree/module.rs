//! The module `pullback.tree`.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use super::{Structure, flatten_into, flatten_like, registry, short};

/// What a tree is apart from its leaves. Two are equal if they have the same containers with the same keys.
///
/// `structure` and `flatten` make them.
#[pyclass(name = "TreeStructure", module = "pullback.tree", frozen, eq)]
pub struct PyStructure(Structure);

impl PartialEq for PyStructure {
    fn eq(&self, other: &PyStructure) -> bool {
        self.0.same(&other.0)
    }
}

#[pymethods]
impl PyStructure {
    /// The number of leaves.
    #[getter]
    fn num_leaves(&self) -> usize {
        self.0.leaves()
    }

    /// The path of every leaf, as it is written in Python.
    ///
    /// Examples
    /// --------
    /// >>> import pullback
    /// >>> pullback.tree.structure({"w": [1, 2]}).paths()
    /// ["['w'][0]", "['w'][1]"]
    fn paths(&self) -> Vec<String> {
        let mut out = Vec::new();
        self.0.paths(&mut String::new(), &mut |path| out.push(path.clone()));
        out
    }

    fn __repr__(&self) -> String {
        format!("TreeStructure({})", self.0.describe_as("*"))
    }
}

fn leaves_of(tree: &Bound<'_, PyAny>) -> PyResult<(Vec<Py<PyAny>>, Structure)> {
    let mut leaves = Vec::new();
    let structure = flatten_into(tree, &mut leaves)?;
    Ok((leaves, structure))
}

/// The leaves of a tree, in order, and its structure.
///
/// Containers are tuples, lists, dicts (also ``OrderedDict`` and ``defaultdict``), named tuples, dataclasses, and classes that
/// `register` knows. ``None`` is a container of nothing. Everything else is a leaf. The values of a dict come in the order of
/// insertion, the fields of a dataclass in that of their declaration; a field with ``metadata={"static": True}`` belongs to the
/// structure.
///
/// Examples
/// --------
/// >>> import pullback
/// >>> leaves, structure = pullback.tree.flatten({"a": 1, "b": (2, None)})
/// >>> leaves, structure
/// ([1, 2], TreeStructure({'a': *, 'b': (*, None)}))
/// >>> pullback.tree.unflatten([10, 20], structure)
/// {'a': 10, 'b': (20, None)}
#[pyfunction]
fn flatten<'py>(tree: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyList>, PyStructure)> {
    let (leaves, structure) = leaves_of(tree)?;
    Ok((PyList::new(tree.py(), leaves)?, PyStructure(structure)))
}

/// The leaves of a tree, in order. See `flatten`.
///
/// Examples
/// --------
/// >>> import pullback
/// >>> pullback.tree.leaves([1, {"a": 2}, None])
/// [1, 2]
#[pyfunction]
fn leaves<'py>(tree: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    PyList::new(tree.py(), leaves_of(tree)?.0)
}

/// The structure of a tree. See `flatten`.
///
/// Examples
/// --------
/// >>> import pullback
/// >>> pullback.tree.structure((1, 2)) == pullback.tree.structure((3, 4))
/// True
#[pyfunction]
fn structure(tree: &Bound<'_, PyAny>) -> PyResult<PyStructure> {
    Ok(PyStructure(leaves_of(tree)?.1))
}

/// The tree of a structure with other leaves, which may be any values.
///
/// Raises
/// ------
/// ValueError
///     If their number is another one.
///
/// Examples
/// --------
/// >>> import pullback
/// >>> pullback.tree.unflatten([3, 4], pullback.tree.structure((1, [2])))
/// (3, [4])
#[pyfunction]
fn unflatten<'py>(leaves: &Bound<'py, PyAny>, structure: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = leaves.py();
    let Ok(structure) = structure.cast::<PyStructure>() else {
        let got = short(structure);
        return Err(PyTypeError::new_err(format!(
            "unflatten: expected a `structure` that `pullback.tree.structure` has made, got {got}"
        )));
    };
    let Ok(leaves) = leaves.try_iter() else {
        let got = short(leaves);
        return Err(PyTypeError::new_err(format!(
            "unflatten: expected a list or another iterable of leaves, got {got}"
        )));
    };
    let leaves = leaves.collect::<PyResult<Vec<_>>>()?;
    let structure = &structure.get().0;
    let (want, got) = (structure.leaves(), leaves.len());
    if want != got {
        let shape = structure.describe_as("*");
        return Err(PyValueError::new_err(format!("unflatten: expected {want} leaves for {shape}, got {got}")));
    }
    let mut leaves = leaves.into_iter();
    structure.build(py, &mut || Ok(leaves.next().unwrap_or_else(|| py.None().into_bound(py))))
}

/// The tree of `f` applied to every leaf, together with the leaves at the same places of other trees.
///
/// Raises
/// ------
/// ValueError
///     If another tree has another structure. The message names the place.
///
/// Examples
/// --------
/// >>> import pullback
/// >>> pullback.tree.map(lambda p, g: p - 0.5 * g, {"w": 1.0}, {"w": 4.0})
/// {'w': -1.0}
#[pyfunction]
#[pyo3(signature = (f, tree, *rest))]
fn map<'py>(
    f: &Bound<'py, PyAny>,
    tree: &Bound<'py, PyAny>,
    rest: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = f.py();
    let (first, structure) = leaves_of(tree)?;
    let mut columns = vec![first];
    for (k, other) in rest.iter().enumerate() {
        let mut leaves: Vec<Py<PyAny>> = Vec::new();
        flatten_like(&structure, &other, &mut leaves)?.map_err(|m| m.raise("map", &format!("rest[{k}]")))?;
        columns.push(leaves);
    }
    let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
    structure.build(py, &mut || {
        let arguments: Vec<_> = columns.iter_mut().filter_map(Iterator::next).collect();
        f.call1(PyTuple::new(py, arguments)?)
    })
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let tree = PyModule::new(module.py(), "pullback.tree")?;
    tree.add_class::<PyStructure>()?;
    tree.add_function(wrap_pyfunction!(flatten, &tree)?)?;
    tree.add_function(wrap_pyfunction!(leaves, &tree)?)?;
    tree.add_function(wrap_pyfunction!(structure, &tree)?)?;
    tree.add_function(wrap_pyfunction!(unflatten, &tree)?)?;
    tree.add_function(wrap_pyfunction!(map, &tree)?)?;
    tree.add_function(wrap_pyfunction!(registry::register, &tree)?)?;
    module.add("tree", tree)
}
