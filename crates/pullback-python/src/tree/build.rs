//! From trees to Python values.

use pullback::Tensor;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use super::{Kind, Mapping, Shaped, Structure};
use crate::convert::wrap;

/// What becomes a Python value.
pub trait Build {
    fn build<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>>;
}

impl Build for Tensor {
    fn build<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(wrap(py, self.clone())?.into_any())
    }
}

impl Build for Py<PyAny> {
    fn build<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.bind(py).clone())
    }
}

impl<L: Build> Build for Shaped<L> {
    fn build<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if let (Structure::Leaf, [leaf]) = (&self.structure, self.leaves.as_slice()) {
            return leaf.build(py);
        }
        let mut leaves = self.leaves.iter();
        self.structure.build(py, &mut || match leaves.next() {
            Some(leaf) => leaf.build(py),
            None => Ok(py.None().into_bound(py)),
        })
    }
}

impl Structure {
    /// The value with the leaves that `next` gives, one after the other.
    pub fn build<'py>(
        &self,
        py: Python<'py>,
        next: &mut dyn FnMut() -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let node = match self {
            Structure::Leaf => return next(),
            Structure::None => return Ok(py.None().into_bound(py)),
            Structure::Static(x) => return Ok(x.bind(py).clone()),
            Structure::Node(node) => node,
        };
        let mut children = Vec::with_capacity(node.children.len());
        for child in &node.children {
            children.push(child.build(py, next)?);
        }
        node.kind.build(py, children)
    }
}

impl Kind {
    /// A container of this kind.
    pub fn build<'py>(&self, py: Python<'py>, children: Vec<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Kind::Arguments { single: true, .. } if children.len() == 1 => Ok(children[0].clone()),
            Kind::Tuple | Kind::Arguments { .. } => Ok(PyTuple::new(py, children)?.into_any()),
            Kind::List => Ok(PyList::new(py, children)?.into_any()),
            Kind::Dict(mapping, keys) => {
                let out = match mapping {
                    Mapping::Plain => PyDict::new(py).into_any(),
                    Mapping::Ordered => py.import("collections")?.getattr("OrderedDict")?.call0()?,
                    Mapping::Default(factory) => {
                        py.import("collections")?.getattr("defaultdict")?.call1((factory.bind(py),))?
                    }
                };
                for (key, child) in keys.iter().zip(children) {
                    out.set_item(key, child)?;
                }
                Ok(out)
            }
            Kind::NamedTuple(class, _) => {
                let (class, children) = (class.bind(py), PyTuple::new(py, children)?);
                match class.getattr_opt("_make")? {
                    Some(make) => make.call1((children,)),
                    None => class.call1((children,)),
                }
            }
            Kind::Dataclass(class, fields) => {
                // Neither `__init__` nor `__post_init__` runs: they may check or convert what is only a stand-in here.
                let out = class.bind(py).call_method1("__new__", (class.bind(py),))?;
                let set = py.get_type::<PyAny>().getattr("__setattr__")?;
                for (field, child) in fields.iter().zip(children) {
                    // Those of frozen classes refuse `setattr`.
                    set.call1((&out, field.bind(py), child))?;
                }
                Ok(out)
            }
            Kind::Custom(entry, context) => {
                entry.unflatten.bind(py).call1((PyList::new(py, children)?, context.bind(py)))
            }
        }
    }
}
