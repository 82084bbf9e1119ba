//! Objects that hold tensors, called with others: `functional_call` and `stack_module_state`.

use std::collections::{HashMap, HashSet};

use pullback::Tensor;
use pyo3::exceptions::{PyRecursionError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFunction, PyList, PyModule, PyString, PyTuple, PyType};

use crate::convert::wrap;
use crate::error::OrRaise as _;
use crate::tensor::PyTensor;
use crate::tree::{Kind, PyTree, class_name, flatten, open};

const MAX_DEPTH: usize = 200;

/// What a value consists of.
enum Parts<'py> {
    Tensor(Bound<'py, PyTensor>),
    /// The items of a container.
    Items(Kind, Vec<(Bound<'py, PyAny>, bool)>),
    /// The attributes of an object.
    Attributes(Vec<(Bound<'py, PyString>, Bound<'py, PyAny>)>),
    Nothing,
}

fn parts<'py>(x: &Bound<'py, PyAny>) -> PyResult<Parts<'py>> {
    if let Ok(tensor) = x.cast::<PyTensor>() {
        return Ok(Parts::Tensor(tensor.clone()));
    }
    if let Some((kind, items)) = open(x)?
        && !matches!(kind, Kind::Dataclass(..))
    {
        return Ok(Parts::Items(kind, items));
    }
    // Code is no state.
    if x.is_instance_of::<PyFunction>() || x.is_instance_of::<PyType>() || x.is_instance_of::<PyModule>() {
        return Ok(Parts::Nothing);
    }
    let mut attributes = Vec::new();
    for class in x.get_type().getattr("__mro__")?.try_iter()? {
        let class = class?;
        let Ok(slots) = class.getattr("__dict__")?.get_item("__slots__") else { continue };
        let slots: Vec<Bound<'py, PyString>> = match slots.cast::<PyString>() {
            Ok(one) => vec![one.clone()],
            Err(_) => slots.try_iter()?.filter_map(|s| s.ok()?.cast_into().ok()).collect(),
        };
        for name in slots {
            if let Some(value) = x.getattr_opt(&name)? {
                attributes.push((name, value));
            }
        }
    }
    if let Some(dict) = x.getattr_opt("__dict__")?
        && let Ok(dict) = dict.cast::<PyDict>()
    {
        attributes.extend(dict.iter().filter_map(|(name, value)| Some((name.cast_into().ok()?, value))));
    }
    Ok(if attributes.is_empty() { Parts::Nothing } else { Parts::Attributes(attributes) })
}

fn name_of(prefix: &str, kind: &Kind, k: usize, py: Python<'_>) -> String {
    let step = match kind {
        Kind::Dict(_, keys) => keys[k].bind(py).str().map_or_else(|_| k.to_string(), |s| s.to_string()),
        Kind::NamedTuple(_, fields) => fields[k].bind(py).to_string(),
        _ => k.to_string(),
    };
    joined(prefix, &step)
}

fn joined(prefix: &str, step: &str) -> String {
    if prefix.is_empty() { step.to_string() } else { format!("{prefix}.{step}") }
}

fn id(x: &Bound<'_, PyAny>) -> usize {
    x.as_ptr() as usize
}

/// The tensors of an object by their names.
#[derive(Default)]
struct State<'py> {
    /// All names, also those of one tensor.
    names: Vec<(String, Bound<'py, PyTensor>)>,
    /// The objects on the way to the one that is looked at.
    above: Vec<usize>,
    /// Objects that hold tensors, or know one above them that may.
    holders: HashSet<usize>,
}

impl<'py> State<'py> {
    fn of(x: &Bound<'py, PyAny>) -> PyResult<State<'py>> {
        let mut state = State::default();
        state.visit(x, "")?;
        Ok(state)
    }

    /// Returns whether there is a tensor in `x`.
    fn visit(&mut self, x: &Bound<'py, PyAny>, name: &str) -> PyResult<bool> {
        if self.above.len() > MAX_DEPTH {
            return Err(PyRecursionError::new_err(format!(
                "expected less than {MAX_DEPTH} nested objects at `{name}`"
            )));
        }
        if self.above.contains(&id(x)) {
            return Ok(true);
        }
        let mut holds = false;
        self.above.push(id(x));
        match parts(x)? {
            Parts::Tensor(tensor) => {
                self.names.push((name.to_string(), tensor));
                holds = true;
            }
            Parts::Items(kind, items) => {
                for (k, (item, _)) in items.iter().enumerate() {
                    holds |= self.visit(item, &name_of(name, &kind, k, x.py()))?;
                }
            }
            Parts::Attributes(attributes) => {
                for (attribute, value) in attributes {
                    holds |= self.visit(&value, &joined(name, &attribute.to_string()))?;
                }
            }
            Parts::Nothing => {}
        }
        self.above.pop();
        if holds {
            self.holders.insert(id(x));
        }
        Ok(holds)
    }

    /// Each tensor once, under its first name.
    fn first_names(&self) -> Vec<(&str, &Bound<'py, PyTensor>)> {
        let mut seen = HashSet::new();
        self.names.iter().filter(|(_, t)| seen.insert(id(t.as_any()))).map(|(name, t)| (name.as_str(), t)).collect()
    }
}

/// Copies of the objects on the way to tensors, with other tensors.
struct Copies<'a, 'py> {
    holders: &'a HashSet<usize>,
    by_tensor: HashMap<usize, Bound<'py, PyAny>>,
    by_name: HashMap<String, Bound<'py, PyAny>>,
    made: HashMap<usize, Bound<'py, PyAny>>,
    copy: Bound<'py, PyAny>,
}

impl<'py> Copies<'_, 'py> {
    fn of(&mut self, x: &Bound<'py, PyAny>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        if !self.holders.contains(&id(x)) {
            return Ok(x.clone());
        }
        if let Some(made) = self.made.get(&id(x)) {
            return Ok(made.clone());
        }
        let py = x.py();
        match parts(x)? {
            Parts::Tensor(_) => {
                let other = self.by_name.get(name).or_else(|| self.by_tensor.get(&id(x)));
                Ok(other.unwrap_or(x).clone())
            }
            Parts::Items(kind, items) => {
                let mut others = Vec::with_capacity(items.len());
                for (k, (item, _)) in items.iter().enumerate() {
                    others.push(self.of(item, &name_of(name, &kind, k, py))?);
                }
                kind.build(py, others)
            }
            Parts::Attributes(attributes) => {
                let made = self.copy.call1((x,))?;
                // Before its attributes, which may know it.
                self.made.insert(id(x), made.clone());
                let set = py.get_type::<PyAny>().getattr("__setattr__")?;
                for (attribute, value) in attributes {
                    let other = self.of(&value, &joined(name, &attribute.to_string()))?;
                    if !other.is(&value) {
                        set.call1((&made, attribute, other))?;
                    }
                }
                Ok(made)
            }
            Parts::Nothing => Ok(x.clone()),
        }
    }
}

/// The tensors of an object by their names, in order: what `functional_call` can replace.
///
/// They are looked for in its attributes, in the containers among these, and so on. A name is the way to the tensor, such as
/// ``'layers.0.weight'``. A tensor that is found twice is listed once, under its first name.
///
/// Examples
/// --------
/// >>> import pullback as pb
/// >>> from pullback.func import named_tensors
/// >>> class Line:
/// ...     def __init__(self):
/// ...         self.slope, self.offsets = pb.tensor(2.0), [pb.tensor(1.0)]
/// >>> list(named_tensors(Line()))
/// ['slope', 'offsets.0']
#[pyfunction]
pub fn named_tensors<'py>(module: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(module.py());
    for (name, tensor) in State::of(module)?.first_names() {
        out.set_item(name, tensor)?;
    }
    Ok(out)
}

/// Calls an object, or a method of one, with other tensors in the place of its own.
///
/// The call sees a copy of the object, so the object stays as it is, and several threads may call it. What the call assigns to
/// attributes is lost with the copy: state that changes is an argument and a result.
///
/// Parameters
/// ----------
/// module
///     Any callable object whose tensors are found by `named_tensors`, or a method of such an object.
/// params
///     A dict from names to tensors, or a sequence of such dicts. A tensor that the object holds under several names is replaced
///     under all of them by one, unless `tie_weights` is False.
/// args, kwargs
///     The arguments: a tuple, or a single one.
/// strict
///     Whether all tensors must be replaced.
///
/// Raises
/// ------
/// ValueError
///     If there is no tensor of a name (always, so that a typo is not a gradient of zero), or with `strict`, if one is missing; if a
///     name is in two dicts, or tied names get different tensors.
/// TypeError
///     If `params` is no dict of tensors.
///
/// Examples
/// --------
/// >>> import pullback as pb
/// >>> from pullback.func import functional_call, grad, named_tensors
/// >>> class Line:
/// ...     def __init__(self):
/// ...         self.slope = pb.tensor(2.0)
/// ...     def __call__(self, x):
/// ...         return self.slope * x
/// >>> line = Line()
/// >>> grad(lambda p: functional_call(line, p, pb.tensor(3.0)))(named_tensors(line))["slope"].item()
/// 3.0
#[pyfunction]
#[pyo3(signature = (module, params, args = None, kwargs = None, *, tie_weights = true, strict = false))]
pub fn functional_call<'py>(
    module: &Bound<'py, PyAny>,
    params: &Bound<'py, PyAny>,
    args: Option<&Bound<'py, PyAny>>,
    kwargs: Option<&Bound<'py, PyDict>>,
    tie_weights: bool,
    strict: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = module.py();
    let owner = module.getattr_opt("__self__")?.filter(|owner| !owner.is_instance_of::<PyModule>());
    let method = module.getattr_opt("__func__")?;
    let (object, method) = match (owner, method) {
        (Some(owner), Some(method)) => (owner, Some(method)),
        _ => (module.clone(), None),
    };
    if !module.is_callable() {
        let got = class_name(module);
        return Err(PyTypeError::new_err(format!("functional_call: expected a callable object, got {got}")));
    }
    let state = State::of(&object)?;
    let by_name = dicts(params)?;
    let (mut by_tensor, mut given): (HashMap<usize, Bound<'py, PyAny>>, HashMap<usize, &str>) = Default::default();
    let mut missing = Vec::new();
    for (name, tensor) in &state.names {
        let Some(other) = by_name.get(name) else { continue };
        let at = id(tensor.as_any());
        if let Some(known) = by_tensor.get(&at)
            && tie_weights
            && !known.is(other)
        {
            let first = given[&at];
            return Err(PyValueError::new_err(format!(
                "functional_call: expected one tensor for `{first}` and `{name}`, which are the same tensor of the object, got \
                 two; help: give one of them, or use `tie_weights=False`"
            )));
        }
        by_tensor.insert(at, other.clone());
        given.insert(at, name);
    }
    for (name, tensor) in state.first_names() {
        if !given.contains_key(&id(tensor.as_any())) {
            missing.push(name);
        }
    }
    let mut unknown: Vec<&str> =
        by_name.keys().filter(|name| !state.names.iter().any(|(n, _)| n == *name)).map(String::as_str).collect();
    unknown.sort_unstable();
    if !unknown.is_empty() || (strict && !missing.is_empty()) {
        let known = list(state.names.iter().map(|(name, _)| name.as_str()));
        let problem = match unknown.is_empty() {
            true => format!("nothing for {}", list(missing)),
            false => list(unknown),
        };
        return Err(PyValueError::new_err(format!(
            "functional_call: expected the names of tensors of the object, {known}, got {problem}"
        )));
    }
    let copy = py.import("copy")?.getattr("copy")?;
    if !tie_weights {
        by_tensor.clear();
    }
    let made = HashMap::new();
    let object = Copies { holders: &state.holders, by_tensor, by_name, made, copy }.of(&object, "")?;
    let args = match args {
        None => PyTuple::empty(py),
        Some(args) => match args.cast::<PyTuple>() {
            Ok(args) => args.clone(),
            Err(_) => PyTuple::new(py, [args])?,
        },
    };
    match method {
        None => object.call(args, kwargs),
        Some(method) => method.call_method1("__get__", (object,))?.call(args, kwargs),
    }
}

/// Names as a list is written in Python.
fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    format!("[{}]", names.into_iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", "))
}

/// The tensors in a dict, or in several.
fn dicts<'py>(params: &Bound<'py, PyAny>) -> PyResult<HashMap<String, Bound<'py, PyAny>>> {
    let wrong = |what: &str, got: &Bound<'py, PyAny>| {
        let got = class_name(got);
        PyTypeError::new_err(format!("functional_call: expected {what}, got {got}"))
    };
    let mut out = HashMap::new();
    let mut add = |dict: &Bound<'py, PyDict>| {
        for (name, tensor) in dict.iter() {
            let name: String = name.extract().map_err(|_| wrong("names that are strings", &name))?;
            if !tensor.is_instance_of::<PyTensor>() {
                return Err(wrong(&format!("a tensor for `{name}`"), &tensor));
            }
            if out.insert(name.clone(), tensor).is_some() {
                return Err(PyValueError::new_err(format!("functional_call: `{name}` is in several dicts")));
            }
        }
        Ok(())
    };
    if let Ok(dict) = params.cast::<PyDict>() {
        add(dict)?;
    } else if params.is_instance_of::<PyTuple>() || params.is_instance_of::<PyList>() {
        for dict in params.try_iter()? {
            let dict = dict?;
            add(dict.cast().map_err(|_| wrong("dicts of tensors", &dict))?)?;
        }
    } else {
        return Err(wrong("a dict of tensors, or a sequence of them", params));
    }
    Ok(out)
}

/// The tensors of several objects of one class, stacked: `(params, buffers)`, two dicts from names to tensors.
///
/// Floating-point and complex tensors are parameters, all others buffers. Over dimension 0 of both, `vmap` of a `functional_call`
/// maps an ensemble. The results are new tensors: they require a gradient if those of all objects do.
///
/// Raises
/// ------
/// ValueError
///     If there is no object, or they differ in class, names or shapes, or in whether a tensor requires a gradient.
///
/// Examples
/// --------
/// >>> import pullback as pb
/// >>> from pullback.func import functional_call, stack_module_state, vmap
/// >>> class Line:
/// ...     def __init__(self, slope):
/// ...         self.slope = pb.tensor(slope)
/// ...     def __call__(self, x):
/// ...         return self.slope * x
/// >>> lines = [Line(1.0), Line(2.0), Line(3.0)]
/// >>> params, buffers = stack_module_state(lines)
/// >>> f = lambda p, b, x: functional_call(lines[0], (p, b), (x,))
/// >>> vmap(f, in_dims=(0, 0, None))(params, buffers, pb.tensor(2.0)).tolist()
/// [2.0, 4.0, 6.0]
#[pyfunction]
pub fn stack_module_state<'py>(models: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
    let py = models.py();
    let models = models.try_iter()?.collect::<PyResult<Vec<_>>>()?;
    let Some(first) = models.first() else {
        return Err(PyValueError::new_err("stack_module_state: expected at least one object, got none"));
    };
    let mut trees: Vec<PyTree> = Vec::with_capacity(models.len());
    for (k, model) in models.iter().enumerate() {
        if !model.get_type().is(first.get_type()) {
            let (want, got) = (class_name(first), class_name(model));
            return Err(PyValueError::new_err(format!(
                "stack_module_state: expected objects of one class, got {want} and, at position {k}, {got}"
            )));
        }
        trees.push(flatten(named_tensors(model)?.as_any())?);
    }
    let stacked = pullback::stack_trees(&trees).map_err(|e| e.in_context("stack_module_state")).or_raise()?;
    let (params, buffers) = (PyDict::new(py), PyDict::new(py));
    for (k, (name, _)) in named_tensors(first)?.iter().enumerate() {
        let wanted = trees.iter().filter(|tree| tree.leaves[k].requires_grad()).count();
        if wanted != 0 && wanted != trees.len() {
            return Err(PyValueError::new_err(format!(
                "stack_module_state: expected `{name}` to require a gradient in all objects or in none, got {wanted} of {}",
                trees.len()
            )));
        }
        let mut tensor: Tensor = stacked.leaves[k].clone();
        if wanted > 0 {
            tensor = tensor.detach().or_raise()?;
            tensor.requires_grad_().or_raise()?;
        }
        let dtype = tensor.dtype();
        let of = if dtype.is_float() || dtype.is_complex() { &params } else { &buffers };
        of.set_item(name, wrap(py, tensor)?)?;
    }
    Ok((params, buffers))
}
