//! From Python values to trees.

use std::sync::Arc;

use pullback::{DType, Scalar, Tensor};
use pyo3::exceptions::{PyRecursionError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyComplex, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};

use super::{Kind, Mapping, PyTree, Shaped, Structure, class_name, equal, registry, short};
use crate::convert::number;
use crate::error::OrRaise as _;
use crate::tensor::PyTensor;
use crate::tensor::numpy::copy_of;

/// Nests that are deeper than this are taken for cycles.
const MAX_DEPTH: usize = 500;

/// What leaves are collected in.
pub trait Sink {
    /// Takes `x`, which is no container, as a leaf; false if it is a static part.
    fn take(&mut self, x: &Bound<'_, PyAny>) -> PyResult<bool>;

    /// The word for a leaf in messages.
    const LEAF: &'static str = "tensor";
}

/// Tensors are leaves.
impl Sink for Vec<Tensor> {
    fn take(&mut self, x: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(tensor) = x.cast::<PyTensor>() else { return Ok(false) };
        self.push(tensor.get().get());
        Ok(true)
    }
}

/// Everything that is no container is a leaf.
impl Sink for Vec<Py<PyAny>> {
    fn take(&mut self, x: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.push(x.clone().unbind());
        Ok(true)
    }

    const LEAF: &'static str = "*";
}

/// Tensors are leaves, and numbers and NumPy's arrays become tensors: what a loop carries, and what solvers return.
pub struct Numbers {
    pub leaves: Vec<Tensor>,
    /// The dtype of a Python float.
    float: DType,
}

impl Numbers {
    pub fn new() -> Numbers {
        Numbers::with_float(DType::F32)
    }

    pub fn with_float(float: DType) -> Numbers {
        Numbers { leaves: Vec::new(), float }
    }
}

impl Sink for Numbers {
    fn take(&mut self, x: &Bound<'_, PyAny>) -> PyResult<bool> {
        let leaf = if let Ok(tensor) = x.cast::<PyTensor>() {
            tensor.get().get()
        } else if let Some(array) = copy_of(x, None)? {
            array
        } else {
            match number(x)? {
                None => return Ok(false),
                Some(Scalar::Bool(b)) => Tensor::from(b),
                Some(Scalar::Int(i)) => Tensor::from(i),
                Some(Scalar::Float(x)) => Tensor::from(x).to_dtype(self.float).or_raise()?,
                Some(Scalar::Complex(z)) => Tensor::from(z).to_dtype(DType::C64).or_raise()?,
            }
        };
        self.leaves.push(leaf);
        Ok(true)
    }
}

/// The tree of the tensors in a value.
pub fn flatten(x: &Bound<'_, PyAny>) -> PyResult<PyTree> {
    let mut leaves = Vec::new();
    let structure = flatten_into(x, &mut leaves)?;
    Ok(Shaped::new(leaves, structure))
}

/// The structure of a value, whose leaves go into `sink`.
pub fn flatten_into<S: Sink>(x: &Bound<'_, PyAny>, sink: &mut S) -> PyResult<Structure> {
    part(x, sink, 0)
}

fn part<S: Sink>(x: &Bound<'_, PyAny>, sink: &mut S, depth: usize) -> PyResult<Structure> {
    if x.is_exact_instance_of::<PyTensor>() {
        return leaf(x, sink);
    }
    check_depth(depth)?;
    if let Ok(tuple) = x.cast_exact::<PyTuple>() {
        return Ok(Structure::node(
            Kind::Tuple,
            tuple.iter().map(|x| part(&x, sink, depth + 1)).collect::<PyResult<_>>()?,
        ));
    }
    if let Ok(list) = x.cast_exact::<PyList>() {
        return Ok(Structure::node(
            Kind::List,
            list.iter().map(|x| part(&x, sink, depth + 1)).collect::<PyResult<_>>()?,
        ));
    }
    if let Ok(dict) = x.cast_exact::<PyDict>() {
        return entries(dict, Mapping::Plain, sink, depth);
    }
    if x.is_none() {
        return Ok(Structure::None);
    }
    match container(x)? {
        Some(container) => container.flatten(sink, depth),
        None => leaf(x, sink),
    }
}

/// An error for what is nested so deep that it is taken for a cycle.
#[inline]
pub fn check_depth(depth: usize) -> PyResult<()> {
    if depth <= MAX_DEPTH {
        return Ok(());
    }
    Err(PyRecursionError::new_err(format!(
        "expected a tree, got containers that are nested more than {MAX_DEPTH} deep; does one contain itself?"
    )))
}

fn leaf<S: Sink>(x: &Bound<'_, PyAny>, sink: &mut S) -> PyResult<Structure> {
    Ok(if sink.take(x)? { Structure::Leaf } else { Structure::Static(Arc::new(x.clone().unbind())) })
}

fn entries<S: Sink>(dict: &Bound<'_, PyDict>, mapping: Mapping, sink: &mut S, depth: usize) -> PyResult<Structure> {
    let (mut keys, mut children) = (Vec::with_capacity(dict.len()), Vec::with_capacity(dict.len()));
    for (key, value) in dict.iter() {
        keys.push(key.unbind());
        children.push(part(&value, sink, depth + 1)?);
    }
    Ok(Structure::node(Kind::Dict(mapping, keys), children))
}

/// The kind of a container, and its children with a flag for those that are static; nothing for what is no container.
pub fn open<'py>(x: &Bound<'py, PyAny>) -> PyResult<Option<(Kind, Vec<(Bound<'py, PyAny>, bool)>)>> {
    let of_entries = |dict: &Bound<'py, PyDict>, mapping| {
        let (keys, values): (Vec<_>, Vec<_>) = dict.iter().map(|(key, value)| (key.unbind(), (value, false))).unzip();
        (Kind::Dict(mapping, keys), values)
    };
    if x.is_exact_instance_of::<PyTensor>() {
        return Ok(None);
    }
    if let Ok(tuple) = x.cast_exact::<PyTuple>() {
        return Ok(Some((Kind::Tuple, tuple.iter().map(|x| (x, false)).collect())));
    }
    if let Ok(list) = x.cast_exact::<PyList>() {
        return Ok(Some((Kind::List, list.iter().map(|x| (x, false)).collect())));
    }
    if let Ok(dict) = x.cast_exact::<PyDict>() {
        return Ok(Some(of_entries(dict, Mapping::Plain)));
    }
    Ok(match container(x)? {
        None => None,
        Some(Container::Entries(dict, mapping)) => Some(of_entries(&dict, mapping)),
        Some(Container::Other(kind, children)) => Some((kind, children)),
    })
}

/// A container of one of the rarer kinds.
enum Container<'py> {
    Entries(Bound<'py, PyDict>, Mapping),
    /// The children with a flag for those that are static.
    Other(Kind, Vec<(Bound<'py, PyAny>, bool)>),
}

impl Container<'_> {
    fn flatten<S: Sink>(self, sink: &mut S, depth: usize) -> PyResult<Structure> {
        match self {
            Container::Entries(dict, mapping) => entries(&dict, mapping, sink, depth),
            Container::Other(kind, children) => {
                let children = children.into_iter().map(|(x, fixed)| match fixed {
                    true => Ok(Structure::Static(Arc::new(x.unbind()))),
                    false => part(&x, sink, depth + 1),
                });
                Ok(Structure::node(kind, children.collect::<PyResult<_>>()?))
            }
        }
    }
}

static ORDERED: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static DEFAULT: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// Looks at what is neither a tensor nor exactly a tuple, a list or a dict.
fn container<'py>(x: &Bound<'py, PyAny>) -> PyResult<Option<Container<'py>>> {
    let (py, class) = (x.py(), x.get_type());
    let plain = [py.get_type::<PyFloat>(), py.get_type::<PyInt>(), py.get_type::<PyBool>(), py.get_type::<PyString>()];
    if plain.iter().any(|p| p.is(&class)) {
        return Ok(None);
    }
    if let Some(entry) = registry::find(&class) {
        let pair = entry.flatten.bind(py).call1((x,))?;
        let (children, context) = pair.extract::<(Bound<'py, PyAny>, Py<PyAny>)>().map_err(|_| {
            let (name, got) = (class_name(x), class_name(&pair));
            PyTypeError::new_err(format!(
                "`flatten` of the registered class `{name}` must return a pair of the children and a context, got {got}"
            ))
        })?;
        let Ok(children) = children.try_iter() else {
            let (name, got) = (class_name(x), class_name(&children));
            return Err(PyTypeError::new_err(format!(
                "`flatten` of the registered class `{name}` must return an iterable of children first, got {got}"
            )));
        };
        let children = children.map(|child| Ok((child?, false))).collect::<PyResult<_>>()?;
        return Ok(Some(Container::Other(Kind::Custom(entry, context), children)));
    }
    if let Ok(tuple) = x.cast::<PyTuple>()
        // The second is the name in tuples that are made in C, as operations return them.
        && let Some(fields) = match class.getattr_opt("_fields")? {
            None if class.hasattr("n_sequence_fields")? => class.getattr_opt("__match_args__")?,
            fields => fields,
        }
        && let Ok(fields) = fields.extract::<Vec<Py<PyString>>>()
        && fields.len() == tuple.len()
    {
        let children = tuple.iter().map(|child| (child, false)).collect();
        return Ok(Some(Container::Other(Kind::NamedTuple(class.unbind(), fields), children)));
    }
    if let Ok(dict) = x.cast::<PyDict>() {
        if class.is(ORDERED.import(py, "collections", "OrderedDict")?) {
            return Ok(Some(Container::Entries(dict.clone(), Mapping::Ordered)));
        }
        if class.is(DEFAULT.import(py, "collections", "defaultdict")?) {
            let factory = x.getattr("default_factory")?.unbind();
            return Ok(Some(Container::Entries(dict.clone(), Mapping::Default(factory))));
        }
    }
    if let Some(fields) = class.getattr_opt("__dataclass_fields__")? {
        return dataclass(x, class, &fields).map(Some);
    }
    refuse_hidden(x, &class)?;
    Ok(None)
}

fn dataclass<'py>(
    x: &Bound<'py, PyAny>,
    class: Bound<'py, PyType>,
    fields: &Bound<'py, PyAny>,
) -> PyResult<Container<'py>> {
    let (mut names, mut children) = (Vec::new(), Vec::new());
    for (name, field) in fields.cast::<PyDict>()?.iter() {
        // Class variables and arguments of `__init__` alone are listed too.
        if field.getattr("_field_type")?.getattr("name")?.extract::<&str>().is_ok_and(|kind| kind != "_FIELD") {
            continue;
        }
        let name = name.cast_into::<PyString>()?;
        // One that was never set is not there again afterwards.
        let Some(value) = x.getattr_opt(&name)? else { continue };
        let fixed = match field.getattr("metadata")?.call_method1("get", ("static",)) {
            Ok(flag) => flag.is_truthy()?,
            Err(_) => false,
        };
        names.push(name.unbind());
        children.push((value, fixed));
    }
    Ok(Container::Other(Kind::Dataclass(class.unbind(), names), children))
}

/// A container of a class that is not known would hide its tensors: they would be constants, and nobody would notice.
fn refuse_hidden(x: &Bound<'_, PyAny>, class: &Bound<'_, PyType>) -> PyResult<()> {
    let holds = |items: Bound<'_, PyAny>| {
        let Ok(items) = items.try_iter() else { return false };
        items.flatten().any(|item| item.is_instance_of::<PyTensor>())
    };
    let hidden = match x.cast::<PyDict>() {
        Ok(dict) => holds(dict.values().into_any()),
        Err(_) => (x.is_instance_of::<PyTuple>() || x.is_instance_of::<PyList>()) && holds(x.clone()),
    };
    if hidden {
        let name = class.name()?;
        return Err(PyTypeError::new_err(format!(
            "expected containers that are known, got `{name}` with tensors inside; help: `pullback.tree.register` makes \
             it known"
        )));
    }
    Ok(())
}

/// Where and how a value differs from a structure.
pub struct Mismatch {
    /// From the inside out.
    path: Vec<String>,
    expected: String,
    got: String,
}

impl Mismatch {
    fn new<T>(expected: impl Into<String>, got: impl Into<String>) -> PyResult<Result<T, Mismatch>> {
        Ok(Err(Mismatch { path: Vec::new(), expected: expected.into(), got: got.into() }))
    }

    /// The exception: `{place}: expected {what} …`, where the path follows the word for the value.
    pub fn raise(mut self, place: &str, value: &str) -> PyErr {
        self.path.reverse();
        let (path, expected, got) = (self.path.concat(), self.expected, self.got);
        PyValueError::new_err(format!("{place}: expected {expected} at {value}{path}, got {got}"))
    }
}

/// The leaves of a value that must have a structure. Dicts may have their keys in another order.
pub fn flatten_like<S: Sink>(
    structure: &Structure,
    x: &Bound<'_, PyAny>,
    sink: &mut S,
) -> PyResult<Result<(), Mismatch>> {
    let py = x.py();
    let node = match structure {
        Structure::Leaf => {
            let container = x.is_none() || open(x)?.is_some();
            return if !container && sink.take(x)? { Ok(Ok(())) } else { Mismatch::new(S::LEAF, seen(x)?) };
        }
        Structure::None if x.is_none() => return Ok(Ok(())),
        Structure::None => return Mismatch::new("None", seen(x)?),
        Structure::Static(own) if equal(own, x.as_unbound()) => return Ok(Ok(())),
        Structure::Static(own) => return Mismatch::new(short(own.bind(py)), short(x)),
        Structure::Node(node) => node,
    };
    if let Kind::Arguments { single: true, .. } = &node.kind {
        return flatten_like(&node.children[0], x, sink);
    }
    let other = || Mismatch::new(structure.describe_as(S::LEAF), seen(x)?);
    let Some((kind, children)) = open(x)? else { return other() };
    let Some(children) = node.kind.in_order(&kind, children.into_iter().map(|(x, _)| x).collect()) else {
        return other();
    };
    if children.len() != node.children.len() {
        return other();
    }
    for (k, (child, value)) in node.children.iter().zip(children).enumerate() {
        if let Err(mut mismatch) = flatten_like(child, &value, sink)? {
            mismatch.path.push(node.kind.step(k));
            return Ok(Err(mismatch));
        }
    }
    Ok(Ok(()))
}

impl Kind {
    /// The children of another container in the order of this one; nothing if it does not have the same ones. Arguments may be
    /// given as a tuple.
    pub fn in_order<X: Clone>(&self, other: &Kind, children: Vec<X>) -> Option<Vec<X>> {
        match (self, other) {
            (Kind::Dict(_, keys), Kind::Dict(_, others)) if keys.len() == others.len() => {
                if keys.iter().zip(others).all(|(a, b)| a.is(b)) {
                    return Some(children);
                }
                let place = |key| others.iter().position(|other| equal(key, other));
                keys.iter().map(|key| Some(children[place(key)?].clone())).collect()
            }
            (Kind::Arguments { numbers, .. }, Kind::Tuple) if numbers.len() == children.len() => Some(children),
            (Kind::Tuple, Kind::Tuple) | (Kind::List, Kind::List) => Some(children),
            _ if self.same(other) => Some(children),
            _ => None,
        }
    }
}

/// What was given, for messages.
fn seen(x: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(flatten(x)?.structure.describe())
}

/// True for what looks like a number of which somebody may expect a derivative, or lanes.
pub fn is_inexact(x: &Bound<'_, PyAny>) -> bool {
    x.is_instance_of::<PyFloat>() || x.is_instance_of::<PyComplex>()
}

/// True for arrays of other libraries.
pub fn is_array(x: &Bound<'_, PyAny>) -> bool {
    x.hasattr("__dlpack__").unwrap_or(false)
}
