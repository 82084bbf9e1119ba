//! Functions that are written down, and functions that run again.

use pullback::graph::{Capture, Graph};
use pullback::{Result, Tensor};
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

use super::call::{Call, tensors};
use super::transformed::{Transform, Transformed, generic};
use super::vjp::like;
use crate::convert::wrap;
use crate::error::{OrRaise as _, from_py};
use crate::memory::catch;
use crate::tensor::PyTensor;
use crate::tree::{Build as _, PyTree, Structure, flatten};

struct Written(Capture);

impl Transform for Written {
    fn call<'py>(&self, call: &Call<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        let x = call.everything()?;
        let graph = self.0.of(|x: &PyTree| tensors(&call.run(x)?))(&x).or_raise()?;
        Ok(Bound::new(call.args.py(), PyGraph { graph, arguments: x.structure })?.into_any())
    }
}

/// A function that returns, for some arguments, the graph of what `func` does with them: to print, check, draw and call again.
///
/// Tensors in the positional arguments become arguments of the graph; what else these hold, and keyword arguments, are fixed in it.
/// `func` may not read the data of its arguments. With `keep_unused`, operations whose results nobody needs are kept; with `closed`,
/// a tensor from outside is an error.
///
/// Raises
/// ------
/// RuntimeError
///     If `func` reads the data of an argument, or chooses between branches by it.
///
/// Examples
/// --------
/// >>> import pullback as pb
/// >>> from pullback.func import capture, grad
/// >>> graph = capture(lambda x: x.sin() * x)(pb.tensor(1.0))
/// >>> print(graph)
/// graph(a: f32[]) {
///     b: f32[] = sin a
///     c: f32[] = mul b a
///     return c
/// }
/// >>> graph(pb.tensor(0.0)).item()
/// 0.0
#[pyfunction]
#[pyo3(signature = (func, *, keep_unused = false, closed = false))]
pub fn capture(func: &Bound<'_, PyAny>, keep_unused: bool, closed: bool) -> PyResult<Transformed> {
    Transformed::new("capture", func, Written(Capture::new().keep_unused(keep_unused).closed(closed)))
}

/// A function as the list of its operations, which `capture` makes. It is called like the function, and transformed like one.
#[pyclass(name = "Graph", module = "pullback.func", frozen, weakref)]
pub struct PyGraph {
    graph: Graph<PyTree, PyTree>,
    arguments: Structure,
}

#[pymethods]
impl PyGraph {
    #[pyo3(signature = (*args))]
    fn __call__<'py>(&self, args: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let arguments = like("graph", &self.arguments, "argument", args)?;
        catch(|| self.graph.call(&arguments)).or_raise()?.build(args.py())
    }

    /// Checks that every value is defined once and before it is used, and that every operation returns the types that are written
    /// down, by running it on ones.
    fn verify(&self) -> PyResult<()> {
        self.graph.verify().or_raise()
    }

    /// The graph as a picture.
    fn to_svg(&self) -> String {
        self.graph.to_svg()
    }

    fn _repr_svg_(&self) -> String {
        self.graph.to_svg()
    }

    /// The names of the operations, in order.
    #[getter]
    fn operations(&self) -> Vec<&str> {
        self.graph.operations().collect()
    }

    /// The types of the arguments, such as ``'f32[2,3]'``.
    #[getter]
    fn argument_types(&self) -> Vec<String> {
        self.graph.argument_types().iter().map(ToString::to_string).collect()
    }

    /// The types of the results.
    #[getter]
    fn result_types(&self) -> Vec<String> {
        self.graph.result_types().iter().map(ToString::to_string).collect()
    }

    /// The tensors from outside that the graph uses.
    #[getter]
    fn captured<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTensor>>> {
        self.graph.captured().into_iter().map(|t| wrap(py, t.clone())).collect()
    }

    /// The same graph with other tensors from outside, in the order of `captured`.
    ///
    /// Raises
    /// ------
    /// ValueError, TypeError
    ///     If their number or a type is another one.
    fn with_captured(&self, tensors: Vec<Bound<'_, PyTensor>>) -> PyResult<PyGraph> {
        let tensors: Vec<Tensor> = tensors.iter().map(|t| t.get().get()).collect();
        let graph = self.graph.with_captured(&tensors.iter().collect::<Vec<_>>()).or_raise()?;
        Ok(PyGraph { graph, arguments: self.arguments.clone() })
    }

    #[classmethod]
    fn __class_getitem__<'py>(cls: &Bound<'py, PyType>, item: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        generic(cls, item)
    }

    fn __str__(&self) -> String {
        self.graph.to_string()
    }

    fn __repr__(&self) -> String {
        self.graph.to_string()
    }
}

struct Again;

impl Transform for Again {
    fn call<'py>(&self, call: &Call<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        let x = call.everything()?;
        let (function, kwargs) = (call.function.clone().unbind(), call.kwargs.map(|k| k.clone().unbind()));
        let f = move |x: &PyTree| -> Result<PyTree> {
            Python::attach(|py| {
                let run = || {
                    let args = x.build(py)?.cast_into::<PyTuple>()?;
                    flatten(&function.bind(py).call(args, kwargs.as_ref().map(|k| k.bind(py)))?)
                };
                run().map_err(from_py)
            })
        };
        pullback::checkpoint(f)(&x).or_raise()?.build(call.args.py())
    }
}

/// The function with a reverse mode that keeps only the arguments of a call, and runs `func` again in the backward pass.
///
/// It is called like `func`, with the same values and derivatives of every order. Tensors that `func` captures, and those in keyword
/// arguments, get their derivatives too. `func` must do the same each time it runs; random numbers are the same again.
///
/// Examples
/// --------
/// >>> import pullback as pb
/// >>> from pullback.func import checkpoint, grad
/// >>> layer = checkpoint(lambda x: x.sin().sin())
/// >>> round(grad(layer)(pb.tensor(5.0)).item(), 6)
/// 0.162936
#[pyfunction]
pub fn checkpoint(func: &Bound<'_, PyAny>) -> PyResult<Transformed> {
    Transformed::new("checkpoint", func, Again)
}
