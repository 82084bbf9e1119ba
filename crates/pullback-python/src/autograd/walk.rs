//! Walks back through what was recorded.

use pullback::Tensor;
use pullback::autograd::{Backward, Grad};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::{entries, tensors};
use crate::convert::wrap;
use crate::error::OrRaise as _;
use crate::memory::catch;
use crate::tensor::PyTensor;

/// The gradients that a walk begins with. A `None` among them stands for the 1 of a scalar.
fn seeds(
    place: &str,
    name: &str,
    outputs: &[Tensor],
    given: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Vec<Tensor>>> {
    let Some(given) = given.filter(|given| !given.is_none()) else { return Ok(None) };
    let entries = entries(place, name, given)?;
    if entries.iter().all(Option::is_none) && entries.len() == outputs.len() {
        return Ok(None);
    }
    let seed = |(k, entry): (usize, Option<Tensor>)| match (entry, outputs.get(k)) {
        (Some(seed), _) => Ok(seed),
        (None, Some(output)) if output.numel() == 1 => Tensor::ones(output.shape(), output.dtype()).or_raise(),
        (None, output) => {
            let ty = output.map_or_else(|| "no output".into(), |output| output.ty().to_string());
            Err(PyRuntimeError::new_err(format!(
                "{place}: expected a gradient for output {k}, which is not a scalar ({ty}), got None as `{name}[{k}]`"
            )))
        }
    };
    entries.into_iter().enumerate().map(seed).collect::<PyResult<_>>().map(Some)
}

/// Gradients of the outputs with respect to the inputs, as a tuple. Nothing accumulates anywhere.
///
/// Args:
///     outputs: a tensor or a sequence of tensors.
///     inputs: a tensor, a sequence, or a dict of tensors, which gives a dict: leaves, or results on the way.
///     grad_outputs: the gradient of each output, of its type; needed unless it is a scalar.
///     retain_graph: accepted for PyTorch's sake. A graph lives as long as its result, and can be walked again.
///     create_graph: record the walk, so that the gradients can be differentiated again.
///     allow_unused: give None for an input that no output depends on, which is an error otherwise.
///     is_grads_batched: each of `grad_outputs` has one more dimension in front, and so have the gradients.
///     materialize_grads: give zeros for an input that no output depends on.
///
/// >>> import pullback as pb
/// >>> x, w = pb.tensor(2.0, requires_grad=True), pb.tensor(5.0, requires_grad=True)
/// >>> y = x * w
/// >>> dx, dy = pb.autograd.grad(y * y, (x, y))
/// >>> dx.item(), dy.item()
/// (100.0, 20.0)
/// >>> (d1,) = pb.autograd.grad(x * x * x, x, create_graph=True)
/// >>> pb.autograd.grad(d1, x)[0].item()
/// 12.0
///
/// Raises:
///     RuntimeError: an output or an input does not require a gradient, or an input is not used; an output without
///         `grad_outputs` is not a scalar; or a transform is working on a value.
///     ValueError, TypeError: `grad_outputs` are not like the outputs.
#[pyfunction]
#[pyo3(signature = (outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=false, allow_unused=None,
    is_grads_batched=false, materialize_grads=false))]
#[allow(clippy::too_many_arguments, reason = "PyTorch's signature")]
fn grad<'py>(
    py: Python<'py>,
    outputs: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyAny>,
    grad_outputs: Option<&Bound<'py, PyAny>>,
    retain_graph: Option<bool>,
    create_graph: bool,
    allow_unused: Option<bool>,
    is_grads_batched: bool,
    materialize_grads: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let place = "autograd.grad";
    let _ = retain_graph;
    if materialize_grads && allow_unused == Some(false) {
        return Err(PyValueError::new_err(format!(
            "{place}: `allow_unused=False` makes an unused input an error, and `materialize_grads=True` gives zeros for it"
        )));
    }
    let outputs = tensors(place, "outputs", outputs)?;
    let (keys, inputs) = match inputs.cast::<PyDict>() {
        Ok(dict) => (Some(dict.keys()), tensors(place, "inputs", dict.values().as_any())?),
        Err(_) => (None, tensors(place, "inputs", inputs)?),
    };
    let seeds = seeds(place, "grad_outputs", &outputs, grad_outputs)?;
    if is_grads_batched && seeds.is_none() {
        return Err(PyValueError::new_err(format!("{place}: `is_grads_batched=True` needs `grad_outputs`")));
    }
    let mut options = Grad::new();
    if let Some(seeds) = seeds {
        options = options.cotangents(&seeds);
    }
    if create_graph {
        options = options.create_graph();
    }
    if is_grads_batched {
        options = options.batched();
    }
    // Rules and hooks of users attach again.
    let walk = || match (materialize_grads, allow_unused) {
        (true, _) => options.materialize_grads().of(&outputs, &inputs).map(|all| all.into_iter().map(Some).collect()),
        (false, Some(true)) => options.optional(&outputs, &inputs),
        (false, _) => options.of(&outputs, &inputs).map(|all| all.into_iter().map(Some).collect()),
    };
    let found: Vec<Option<Tensor>> = catch(|| py.detach(walk)).or_raise()?;
    let found = found.into_iter().map(|grad| grad.map(|grad| wrap(py, grad)).transpose());
    let found = found.collect::<PyResult<Vec<_>>>()?;
    match keys {
        None => Ok(PyTuple::new(py, found)?.into_any()),
        Some(keys) => {
            let dict = PyDict::new(py);
            for (key, grad) in keys.iter().zip(found) {
                dict.set_item(key, grad)?;
            }
            Ok(dict.into_any())
        }
    }
}

/// What `backward` of tensors and `Tensor.backward` share.
pub fn accumulate(
    py: Python<'_>,
    outputs: &[Tensor],
    seeds: Option<Vec<Tensor>>,
    create_graph: bool,
    inputs: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let inputs = match inputs.filter(|inputs| !inputs.is_none()) {
        None => None,
        Some(inputs) => Some(match inputs.cast::<PyDict>() {
            Ok(dict) => tensors("backward", "inputs", dict.values().as_any())?,
            Err(_) => tensors("backward", "inputs", inputs)?,
        }),
    };
    let mut options = Backward::new();
    if let Some(seeds) = seeds {
        options = options.cotangents(&seeds);
    }
    if create_graph {
        options = options.create_graph();
    }
    let outputs = outputs.to_vec();
    let walk = || match &inputs {
        None => options.run(&outputs),
        Some(inputs) => options.run_to(&outputs, inputs),
    };
    catch(|| py.detach(walk)).or_raise()
}

/// Walks back from tensors and adds the gradients of their sum to the leaves that they depend on.
///
/// After an error nothing has accumulated, except if a post-accumulate hook raised it.
///
/// Args:
///     tensors: a tensor or a sequence of tensors.
///     grad_tensors: the gradient of each, of its type; needed unless it is a scalar.
///     retain_graph: accepted for PyTorch's sake. A graph lives as long as its result, and can be walked again.
///     create_graph: record the walk. A gradient then holds the graph that leads to its leaf, and the leaf holds the
///         gradient: set it to None when you are done, or use `grad`.
///     inputs: accumulate in these tensors only (leaves, or results on the way).
///
/// >>> import pullback as pb
/// >>> x = pb.tensor(2.0, requires_grad=True)
/// >>> pb.autograd.backward((x * x, x * 3))
/// >>> x.grad.item()
/// 7.0
///
/// Raises:
///     RuntimeError: no gradient is required, or an output without `grad_tensors` is not a scalar, or a transform is
///         working on a value.
///     ValueError, TypeError: `grad_tensors` are not like the tensors.
#[pyfunction]
#[pyo3(signature = (tensors, grad_tensors=None, retain_graph=None, create_graph=false, inputs=None))]
fn backward(
    py: Python<'_>,
    tensors: &Bound<'_, PyAny>,
    grad_tensors: Option<&Bound<'_, PyAny>>,
    retain_graph: Option<bool>,
    create_graph: bool,
    inputs: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let _ = retain_graph;
    let outputs = self::tensors("backward", "tensors", tensors)?;
    let seeds = seeds("backward", "grad_tensors", &outputs, grad_tensors)?;
    accumulate(py, &outputs, seeds, create_graph, inputs)
}

/// The gradient that `Tensor.backward` begins with.
pub fn seed(given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Vec<Tensor>>> {
    let Some(given) = given.filter(|given| !given.is_none()) else { return Ok(None) };
    match given.cast::<PyTensor>() {
        Ok(given) => Ok(Some(vec![given.get().get()])),
        Err(_) => {
            let kind = given.get_type().name()?;
            Err(PyTypeError::new_err(format!("backward: expected a tensor or None as `gradient`, got {kind}")))
        }
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(grad, module)?)?;
    module.add_function(wrap_pyfunction!(backward, module)?)
}
