//! `x.grad_fn`: the graph that a backward walks, to look at.

use pullback::autograd::GradFn;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::tensor::PyTensor;

/// A recorded operation in the graph that `backward` walks, or a leaf in which gradients accumulate. It is there to look at.
///
/// >>> import pullback as pb
/// >>> x = pb.tensor(2.0, requires_grad=True)
/// >>> y = x.sin() * 3
/// >>> y.grad_fn
/// <MulBackward>
/// >>> y.grad_fn.next_functions
/// ((<SinBackward>, 0), (None, 0))
/// >>> y.grad_fn.next_functions[0][0].next_functions
/// ((<AccumulateGrad>, 0),)
#[pyclass(name = "Node", module = "pullback.autograd", frozen)]
pub struct PyNode(GradFn);

/// `index_add` as `IndexAdd`; what begins with a capital is the name of a class already.
fn camel(name: &str) -> String {
    let part = |part: &str| {
        let mut letters = part.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>()).unwrap_or_default()
    };
    name.split('_').map(part).collect()
}

#[pymethods]
impl PyNode {
    /// What it is called: the operation with `Backward` behind it.
    fn name(&self) -> String {
        if self.0.is_leaf() { "AccumulateGrad".to_owned() } else { format!("{}Backward", camel(self.0.name())) }
    }

    /// Where the inputs of the operation came from: for each, the operation and which of its results it is; None in the place of
    /// the operation for an input that needs no gradient.
    #[getter]
    fn next_functions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let one = |input: Option<GradFn>| {
            let output = input.as_ref().map_or(0, GradFn::output);
            (input.map(PyNode), output)
        };
        PyTuple::new(py, self.0.inputs().into_iter().map(one))
    }

    fn __eq__(&self, other: &PyNode) -> bool {
        self.0.is_same(&other.0)
    }

    fn __hash__(&self) -> u64 {
        self.0.id()
    }

    fn __repr__(&self) -> String {
        format!("<{}>", self.name())
    }
}

#[pymethods]
impl PyTensor {
    /// The recorded operation whose result this tensor is, as a `Node`; None for leaves, constants, and values of transforms.
    #[getter]
    fn grad_fn(&self) -> Option<PyNode> {
        self.get().grad_fn().map(PyNode)
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyNode>()
}
