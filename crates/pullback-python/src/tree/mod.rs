//! Python values as trees of tensors: what every transform and every function takes and returns.

use std::sync::Arc;

use pullback::{Leaf, Tensor, Tree};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

mod build;
mod flatten;
mod module;
mod registry;

pub use build::Build;
pub use flatten::{Numbers, Sink, check_depth, flatten, flatten_into, flatten_like, is_array, is_inexact, open};
pub use module::register as register_module;
pub use registry::Registered;

/// What a Python value is apart from its leaves.
#[derive(Clone)]
pub enum Structure {
    Leaf,
    /// `None`, which has no leaves.
    None,
    /// What holds no tensors: a number, a string, a function. It is carried along.
    Static(Arc<Py<PyAny>>),
    Node(Arc<Node>),
}

pub struct Node {
    pub kind: Kind,
    pub children: Vec<Structure>,
    /// The number of leaves below.
    pub leaves: usize,
    /// True if there is a static part below.
    pub statics: bool,
}

/// The kinds of containers, with what is needed to make one like it.
pub enum Kind {
    Tuple,
    List,
    Dict(Mapping, Vec<Py<PyAny>>),
    NamedTuple(Py<PyType>, Vec<Py<PyString>>),
    Dataclass(Py<PyType>, Vec<Py<PyString>>),
    /// An instance of a registered class, with the context that its `flatten` gave.
    Custom(Arc<Registered>, Py<PyAny>),
    /// Arguments of a function, by their numbers. A single one stands for itself outside.
    Arguments {
        numbers: Vec<usize>,
        single: bool,
    },
}

/// The kinds of dicts.
pub enum Mapping {
    Plain,
    Ordered,
    /// With the factory of missing values.
    Default(Py<PyAny>),
}

impl Structure {
    pub fn node(kind: Kind, children: Vec<Structure>) -> Structure {
        let (mut leaves, mut statics) = (0, false);
        for child in &children {
            leaves += child.leaves();
            statics |= child.has_statics();
        }
        Structure::Node(Arc::new(Node { kind, children, leaves, statics }))
    }

    /// The number of leaves.
    pub fn leaves(&self) -> usize {
        match self {
            Structure::Leaf => 1,
            Structure::None | Structure::Static(_) => 0,
            Structure::Node(node) => node.leaves,
        }
    }

    pub fn has_statics(&self) -> bool {
        match self {
            Structure::Leaf | Structure::None => false,
            Structure::Static(_) => true,
            Structure::Node(node) => node.statics,
        }
    }

    /// The first static part that `wrong` says yes to, with its path.
    pub fn find_static<'a>(&'a self, wrong: &mut dyn FnMut(&Py<PyAny>) -> bool) -> Option<(String, &'a Py<PyAny>)> {
        match self {
            Structure::Static(x) if wrong(x) => Some((String::new(), x)),
            Structure::Node(node) if node.statics => node.children.iter().enumerate().find_map(|(k, child)| {
                let (rest, x) = child.find_static(wrong)?;
                Some((node.kind.step(k) + &rest, x))
            }),
            _ => None,
        }
    }

    /// Calls `f` with the path of every leaf, in order.
    pub fn paths(&self, path: &mut String, f: &mut dyn FnMut(&mut String)) {
        match self {
            Structure::Leaf => f(path),
            Structure::None | Structure::Static(_) => {}
            Structure::Node(node) => {
                for (k, child) in node.children.iter().enumerate().filter(|(_, child)| child.leaves() > 0) {
                    let len = path.len();
                    path.push_str(&node.kind.step(k));
                    child.paths(path, f);
                    path.truncate(len);
                }
            }
        }
    }

    /// True if both are the same containers, with equal keys, and have equal static parts.
    pub fn same(&self, other: &Structure) -> bool {
        match (self, other) {
            (Structure::Leaf, Structure::Leaf) | (Structure::None, Structure::None) => true,
            (Structure::Static(a), Structure::Static(b)) => equal(a, b),
            (Structure::Node(a), Structure::Node(b)) => {
                Arc::ptr_eq(a, b)
                    || a.leaves == b.leaves
                        && a.children.len() == b.children.len()
                        && a.kind.same(&b.kind)
                        && a.children.iter().zip(&b.children).all(|(a, b)| a.same(b))
            }
            _ => false,
        }
    }

    /// Such as `(tensor, {'w': tensor})`.
    pub fn describe(&self) -> String {
        self.describe_as("tensor")
    }

    /// The same with another word for leaves.
    pub fn describe_as(&self, leaf: &str) -> String {
        match self {
            Structure::Leaf => leaf.into(),
            Structure::None => "None".into(),
            Structure::Static(x) => Python::attach(|py| short(x.bind(py))),
            Structure::Node(node) => node.kind.describe(node.children.iter().map(|c| c.describe_as(leaf)).collect()),
        }
    }
}

/// `repr(x)` where that is short, else the name of its class.
pub fn short(x: &Bound<'_, PyAny>) -> String {
    let plain = x.is_instance_of::<pyo3::types::PyInt>()
        || x.is_instance_of::<pyo3::types::PyFloat>()
        || x.is_instance_of::<PyString>();
    match x.repr() {
        Ok(text) if plain && text.len().is_ok_and(|n| n <= 24) => text.to_string(),
        _ => class_name(x),
    }
}

/// The name of the class of a value.
pub fn class_name(x: &Bound<'_, PyAny>) -> String {
    x.get_type().name().map_or_else(|_| "object".into(), |name| name.to_string())
}

/// True if two values are the same or equal. Arrays, whose comparison is no bool, are only equal to themselves.
pub fn equal(a: &Py<PyAny>, b: &Py<PyAny>) -> bool {
    a.is(b) || Python::attach(|py| a.bind(py).eq(b.bind(py)).unwrap_or(false))
}

/// `repr(x)`
fn shown(x: &Py<PyAny>) -> String {
    Python::attach(|py| x.bind(py).repr().map_or_else(|_| class_name(x.bind(py)), |r| r.to_string()))
}

fn text(x: &Py<PyString>) -> String {
    Python::attach(|py| x.bind(py).to_string())
}

impl Kind {
    /// The way to child number `k`, as it is written in Python.
    pub fn step(&self, k: usize) -> String {
        match self {
            Kind::Tuple | Kind::List | Kind::Custom(..) => format!("[{k}]"),
            Kind::Dict(_, keys) => format!("[{}]", shown(&keys[k])),
            Kind::NamedTuple(_, fields) | Kind::Dataclass(_, fields) => format!(".{}", text(&fields[k])),
            Kind::Arguments { numbers, .. } => format!("[{}]", numbers[k]),
        }
    }

    pub fn same(&self, other: &Kind) -> bool {
        match (self, other) {
            (Kind::Tuple, Kind::Tuple) | (Kind::List, Kind::List) => true,
            (Kind::Dict(a, these), Kind::Dict(b, those)) => {
                a.same(b) && these.len() == those.len() && these.iter().zip(those).all(|(a, b)| equal(a, b))
            }
            (Kind::NamedTuple(a, these), Kind::NamedTuple(b, those)) => a.is(b) && these.len() == those.len(),
            (Kind::Dataclass(a, these), Kind::Dataclass(b, those)) => a.is(b) && these.len() == those.len(),
            (Kind::Custom(a, context), Kind::Custom(b, other)) => Arc::ptr_eq(a, b) && equal(context, other),
            (Kind::Arguments { numbers: a, single: s }, Kind::Arguments { numbers: b, single: t }) => a == b && s == t,
            _ => false,
        }
    }

    fn describe(&self, parts: Vec<String>) -> String {
        let named = |fields: &[Py<PyString>]| {
            let pairs: Vec<String> = fields.iter().zip(&parts).map(|(f, p)| format!("{}={p}", text(f))).collect();
            pairs.join(", ")
        };
        match self {
            Kind::Arguments { single: true, .. } if parts.len() == 1 => parts[0].clone(),
            Kind::Tuple | Kind::Arguments { .. } => match parts.as_slice() {
                [one] => format!("({one},)"),
                _ => format!("({})", joined(&parts)),
            },
            Kind::List => format!("[{}]", joined(&parts)),
            Kind::Dict(mapping, keys) => {
                let pairs: Vec<String> = keys.iter().zip(&parts).map(|(k, p)| format!("{}: {p}", shown(k))).collect();
                let pairs = pairs.join(", ");
                match mapping {
                    Mapping::Plain => format!("{{{pairs}}}"),
                    Mapping::Ordered => format!("OrderedDict({{{pairs}}})"),
                    Mapping::Default(_) => format!("defaultdict({{{pairs}}})"),
                }
            }
            Kind::NamedTuple(class, fields) | Kind::Dataclass(class, fields) => {
                format!("{}({})", name_of(class), named(fields))
            }
            Kind::Custom(entry, _) => format!("{}({})", name_of(&entry.class), joined(&parts)),
        }
    }
}

/// `tensor, tensor`; many equal ones are `tensor, …, 12 in all`.
fn joined(parts: &[String]) -> String {
    match parts {
        [first, rest @ ..] if rest.len() > 5 && rest.iter().all(|p| p == first) => {
            format!("{first}, …, {} in all", parts.len())
        }
        _ => parts.join(", "),
    }
}

fn name_of(class: &Py<PyType>) -> String {
    use pyo3::types::PyTypeMethods as _;
    Python::attach(|py| class.bind(py).name().map_or_else(|_| "object".into(), |name| name.to_string()))
}

impl Mapping {
    fn same(&self, other: &Mapping) -> bool {
        match (self, other) {
            (Mapping::Plain, Mapping::Plain) | (Mapping::Ordered, Mapping::Ordered) => true,
            (Mapping::Default(a), Mapping::Default(b)) => equal(a, b),
            _ => false,
        }
    }
}

/// A Python value with an `L` for every tensor. As leaves may be such trees in turn, this is also what derivatives come in.
#[derive(Clone)]
pub struct Shaped<L> {
    pub leaves: Vec<L>,
    pub structure: Structure,
}

/// A Python value made of tensors.
pub type PyTree = Shaped<Tensor>;

impl<L> Shaped<L> {
    pub fn new(leaves: Vec<L>, structure: Structure) -> Shaped<L> {
        debug_assert_eq!(leaves.len(), structure.leaves());
        Shaped { leaves, structure }
    }

    fn with<M>(&self, f: impl FnMut(&L) -> M) -> Shaped<M> {
        Shaped { leaves: self.leaves.iter().map(f).collect(), structure: self.structure.clone() }
    }
}

impl<T: Tree> Tree for Shaped<T> {
    type Mapped<L: Leaf> = Shaped<T::Mapped<L>>;

    fn map<L: Leaf>(&self, f: &mut dyn FnMut(&Tensor) -> L) -> Self::Mapped<L> {
        self.with(|x| x.map(f))
    }
    fn map_mapped<L: Leaf, M: Leaf>(mapped: &Self::Mapped<L>, f: &mut dyn FnMut(&L) -> M) -> Self::Mapped<M> {
        mapped.with(|x| T::map_mapped(x, f))
    }
    fn from_mapped<L: Leaf>(mapped: &Self::Mapped<L>, f: &mut dyn FnMut(&L) -> Tensor) -> Self {
        mapped.with(|x| T::from_mapped(x, f))
    }
    fn visit<'a>(&'a self, f: &mut dyn FnMut(&'a Tensor)) {
        self.leaves.iter().for_each(|x| x.visit(f));
    }
    fn visit_mapped<'a, L: Leaf>(mapped: &'a Self::Mapped<L>, f: &mut dyn FnMut(&'a L)) {
        mapped.leaves.iter().for_each(|x| T::visit_mapped(x, f));
    }
    fn visit_paths(&self, path: &mut String, f: &mut dyn FnMut(&str)) {
        let mut leaves = self.leaves.iter();
        self.structure.paths(path, &mut |path| {
            if let Some(leaf) = leaves.next() {
                leaf.visit_paths(path, f);
            }
        });
    }
    fn same_places(&self, other: &Self) -> bool {
        self.structure.same(&other.structure) && self.leaves.iter().zip(&other.leaves).all(|(a, b)| a.same_places(b))
    }
    fn describe(&self) -> String {
        self.structure.describe()
    }
}
