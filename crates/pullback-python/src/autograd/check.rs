//! Checking derivatives: the checkers of the library on Python functions.

use std::sync::{Arc, Mutex, PoisonError};

use pullback::testing::{GradCheck, Report};
use pullback::{DType, ErrorKind, Tensor, jvp};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::convert::wrap;
use crate::error::{OrRaise as _, from_py};
use crate::tensor::PyTensor;

create_exception!(
    pullback.autograd,
    GradcheckError,
    PyRuntimeError,
    "A derivative that `gradcheck` or `gradgradcheck` computed is not what differences say."
);

/// A Python function of some of its arguments.
struct Checked {
    func: Py<PyAny>,
    arguments: Vec<Py<PyAny>>,
    /// Which arguments the checker varies or holds: those that are tensors.
    places: Vec<usize>,
    /// What is no `Exception`, such as Ctrl-C, ends the check.
    interrupt: Mutex<Option<PyErr>>,
}

impl Checked {
    fn call(&self, inputs: &[Tensor]) -> pullback::Result<Vec<Tensor>> {
        Python::attach(|py| {
            self.run(py, inputs).inspect_err(|raised| {
                if !raised.is_instance_of::<PyException>(py) {
                    *self.interrupt.lock().unwrap_or_else(PoisonError::into_inner) = Some(raised.clone_ref(py));
                }
            })
        })
        .map_err(from_py)
    }

    fn run(&self, py: Python<'_>, inputs: &[Tensor]) -> PyResult<Vec<Tensor>> {
        let mut arguments: Vec<Bound<'_, PyAny>> = self.arguments.iter().map(|a| a.bind(py).clone()).collect();
        for (&place, input) in self.places.iter().zip(inputs) {
            arguments[place] = wrap(py, input.clone())?.into_any();
        }
        let out = self.func.bind(py).call1(PyTuple::new(py, arguments)?)?;
        if let Ok(one) = out.cast::<PyTensor>() {
            return Ok(vec![one.get().get()]);
        }
        if !out.is_instance_of::<PyTuple>() && !out.is_instance_of::<PyList>() {
            let kind = out.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "gradcheck: expected the function to return a tensor or a tuple of tensors, got {kind}"
            )));
        }
        let mut tensors = Vec::new();
        for entry in out.try_iter()? {
            if let Ok(tensor) = entry?.cast::<PyTensor>() {
                tensors.push(tensor.get().get());
            }
        }
        Ok(tensors)
    }
}

/// A Python function and the point at which it is checked.
struct Check {
    checked: Arc<Checked>,
    /// The tensors that are varied.
    varied: Vec<Tensor>,
    options: GradCheck,
    /// Whether forward mode is checked; if it exists, unless said.
    forward: Option<bool>,
    reverse: bool,
}

impl Check {
    fn new<'py>(place: &str, func: &Bound<'py, PyAny>, inputs: &Bound<'py, PyAny>) -> PyResult<Check> {
        let py = func.py();
        let arguments: Vec<Bound<'py, PyAny>> = match inputs.cast::<PyTuple>() {
            Ok(tuple) => tuple.iter().collect(),
            Err(_) => match inputs.cast::<PyList>() {
                Ok(list) => list.iter().collect(),
                Err(_) => vec![inputs.clone()],
            },
        };
        let tensor = |argument: &Bound<'py, PyAny>| argument.cast::<PyTensor>().ok().map(|tensor| tensor.get().get());
        let tensors: Vec<Option<Tensor>> = arguments.iter().map(tensor).collect();
        // Where none is marked, all are meant.
        let marked = tensors.iter().flatten().any(Tensor::requires_grad);
        let (mut places, mut varied, mut held) = (Vec::new(), Vec::new(), Vec::new());
        for (k, tensor) in tensors.into_iter().enumerate() {
            let Some(tensor) = tensor else { continue };
            let constant = tensor.detach().or_raise()?;
            if tensor.dtype().is_differentiable() && (tensor.requires_grad() || !marked) {
                if !matches!(tensor.dtype(), DType::F64 | DType::C128) {
                    return Err(PyTypeError::new_err(format!(
                        "{place}: expected inputs in double precision, got {} as argument {k}; help: differences of \
                         fewer digits tell nothing: convert it with `double()`",
                        tensor.ty()
                    )));
                }
                places.push(k);
                varied.push(constant);
            } else {
                held.push((k, constant));
            }
        }
        if varied.is_empty() {
            return Err(PyRuntimeError::new_err(format!(
                "{place}: expected at least one floating-point tensor among the inputs, got none"
            )));
        }
        let mut arguments: Vec<Py<PyAny>> = arguments.into_iter().map(Bound::unbind).collect();
        for (k, constant) in &held {
            arguments[*k] = wrap(py, constant.clone())?.into_any().unbind();
        }
        let func = func.clone().unbind();
        let checked = Arc::new(Checked { func, arguments, places, interrupt: Mutex::default() });
        Ok(Check { checked, varied, options: GradCheck::new(), forward: None, reverse: true })
    }

    /// Runs a check; true if everything holds.
    fn run(mut self, raise_exception: bool, check: Checker) -> PyResult<bool> {
        let forward = match self.forward {
            Some(forward) => forward,
            None => self.has_forward(),
        };
        self.options = self.options.modes(self.reverse, forward);
        let checked = self.checked.clone();
        let report = check(&self, Box::new(move |inputs| checked.call(inputs)));
        if let Some(raised) = self.checked.interrupt.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(raised);
        }
        match report.or_raise()?.into_result() {
            Ok(()) => Ok(true),
            Err(found) if raise_exception => Err(GradcheckError::new_err(found.to_string())),
            Err(_) => Ok(false),
        }
    }

    /// False if the function says that it has no forward mode.
    fn has_forward(&self) -> bool {
        let checked = self.checked.clone();
        let pushed = jvp(|x: &Vec<Tensor>| checked.call(x), &self.varied, &self.varied);
        !pushed.is_err_and(|e| {
            matches!(e.kind(), ErrorKind::MissingRule | ErrorKind::NotDifferentiable | ErrorKind::ConcreteValueNeeded)
        })
    }
}

type Function = Box<dyn Fn(&[Tensor]) -> pullback::Result<Vec<Tensor>> + Send + Sync>;
type Checker = fn(&Check, Function) -> pullback::Result<Report>;

/// Checks the gradients of a function at a point against central differences. True, or an error that shows both Jacobians.
///
/// The tensors among the inputs that require gradients are varied, or all floating ones if none does. The function is called
/// by `vjp` and `jvp`: what it does with its arguments is what a transform allows.
///
/// Args:
///     func: a function of tensors, which returns a tensor or a tuple of them.
///     inputs: a tensor, or a tuple of arguments.
///     eps: the step of the differences.
///     atol, rtol: how far a derivative may be from a difference: `atol + rtol * |difference|`.
///     raise_exception: raise `GradcheckError` for a derivative that is wrong, or return False.
///     nondet_tol: how far two equal calls may be from each other.
///     check_undefined_grad, check_grad_dtypes: accepted for PyTorch's sake. Both are always checked.
///     check_batched_grad, check_batched_forward_grad: check that derivatives under `vmap` are those of a loop.
///     check_forward_ad: check forward mode. None: if it exists.
///     check_backward_ad: check reverse mode.
///     fast_mode: compare one random combination of the elements of each Jacobian.
///
/// >>> import pullback as pb
/// >>> x = pb.tensor([0.3, 1.2], dtype=pb.float64, requires_grad=True)
/// >>> pb.autograd.gradcheck(lambda x: x.sin() * x, x)
/// True
/// >>> pb.autograd.gradcheck(lambda x: x * x.detach(), x, raise_exception=False)
/// False
///
/// Raises:
///     GradcheckError: a derivative is wrong.
///     TypeError, ValueError, RuntimeError: the check makes no sense; whatever `func` raises at the point itself.
#[pyfunction]
#[pyo3(signature = (func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=true, nondet_tol=0.0,
    check_undefined_grad=true, check_grad_dtypes=false, check_batched_grad=false, check_batched_forward_grad=false,
    check_forward_ad=None, check_backward_ad=true, fast_mode=false))]
#[allow(clippy::too_many_arguments, reason = "PyTorch's signature")]
#[allow(clippy::fn_params_excessive_bools, reason = "PyTorch's signature")]
fn gradcheck(
    func: &Bound<'_, PyAny>,
    inputs: &Bound<'_, PyAny>,
    eps: f64,
    atol: f64,
    rtol: f64,
    raise_exception: bool,
    nondet_tol: f64,
    check_undefined_grad: bool,
    check_grad_dtypes: bool,
    check_batched_grad: bool,
    check_batched_forward_grad: bool,
    check_forward_ad: Option<bool>,
    check_backward_ad: bool,
    fast_mode: bool,
) -> PyResult<bool> {
    let _ = (check_undefined_grad, check_grad_dtypes);
    let mut check = Check::new("gradcheck", func, inputs)?;
    let batched = check_batched_grad || check_batched_forward_grad;
    check.options =
        check.options.eps(eps).atol(atol).rtol(rtol).noise(nondet_tol).fast(fast_mode).check_batched(batched);
    (check.forward, check.reverse) = (check_forward_ad, check_backward_ad);
    check.run(raise_exception, |check, f| check.options.run(move |x: &Vec<Tensor>| f(x), &check.varied))
}

/// `gradcheck` for second derivatives: those of the gradient, by the inputs and by the gradients of the outputs.
///
/// Args:
///     func, inputs, eps, atol, rtol, raise_exception, nondet_tol, check_batched_grad, fast_mode: as in `gradcheck`.
///     grad_outputs: accepted for PyTorch's sake. They are chosen at random.
///     check_fwd_over_rev: check forward over reverse mode. None: if it exists.
///     check_rev_over_rev: check reverse over reverse mode.
///
/// >>> import pullback as pb
/// >>> x = pb.tensor([0.3, 1.2], dtype=pb.float64, requires_grad=True)
/// >>> pb.autograd.gradgradcheck(lambda x: x.sin() * x, x)
/// True
///
/// Raises:
///     As `gradcheck`.
#[pyfunction]
#[pyo3(signature = (func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=true,
    nondet_tol=0.0, check_undefined_grad=true, check_grad_dtypes=false, check_batched_grad=false,
    check_fwd_over_rev=None, check_rev_over_rev=true, fast_mode=false))]
#[allow(clippy::too_many_arguments, reason = "PyTorch's signature")]
#[allow(clippy::fn_params_excessive_bools, reason = "PyTorch's signature")]
fn gradgradcheck(
    func: &Bound<'_, PyAny>,
    inputs: &Bound<'_, PyAny>,
    grad_outputs: Option<&Bound<'_, PyAny>>,
    eps: f64,
    atol: f64,
    rtol: f64,
    raise_exception: bool,
    nondet_tol: f64,
    check_undefined_grad: bool,
    check_grad_dtypes: bool,
    check_batched_grad: bool,
    check_fwd_over_rev: Option<bool>,
    check_rev_over_rev: bool,
    fast_mode: bool,
) -> PyResult<bool> {
    let _ = (grad_outputs, check_undefined_grad, check_grad_dtypes);
    let mut check = Check::new("gradgradcheck", func, inputs)?;
    let options = check.options.eps(eps).atol(atol).rtol(rtol).noise(nondet_tol);
    check.options = options.fast(fast_mode).check_batched(check_batched_grad);
    (check.forward, check.reverse) = (check_fwd_over_rev, check_rev_over_rev);
    check.run(raise_exception, |check, f| check.options.second_order(move |x: &Vec<Tensor>| f(x), &check.varied))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("GradcheckError", module.py().get_type::<GradcheckError>())?;
    module.add_function(wrap_pyfunction!(gradcheck, module)?)?;
    module.add_function(wrap_pyfunction!(gradgradcheck, module)?)
}
