//! The class `Function`: operations of users, written as for PyTorch.

mod call;
mod check;
mod class;
mod context;
mod outputs;
mod returned;
mod rule;
mod severed;

use pullback::autograd::GradMode;
use pullback::{Ellipsis, Function as _, Tensor};
use pyo3::exceptions::{PyNotImplementedError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use crate::convert::wrap;
use crate::error::OrRaise as _;
use crate::memory::catch;
use crate::tensor::PyTensor;
use call::Call;
use class::{Facts, ONCE};
use context::{FunctionCtx, PyVmapInfo};

/// An operation with derivative and batching rules of its own. Subclass it, and call it with `apply`.
///
/// The methods are static. `forward(*args)` computes the result; it may use anything: NumPy, SciPy, other languages.
/// `setup_context(ctx, inputs, output)` keeps on `ctx` what the rules read. `backward(ctx, *grads)` returns one gradient for
/// each argument of `forward`, or None. All works under every transform, nested in any order.
///
/// The older form, where `forward(ctx, *args)` also does what `setup_context` does, works as well, also under transforms.
///
/// Optional: `jvp(ctx, *tangents)`, the rule of forward mode. Where one of `backward` and `jvp` is missing it is derived from
/// the other. `vmap(info, in_dims, *args)`, the rule for many examples at once, which returns the output and where its lanes
/// lie; or ``generate_vmap_rule = True``, for methods that are written in tensor operations: it is made from them.
///
/// When methods run: `forward` once per call, on values without derivatives. `setup_context` once for each level of
/// differentiation, so it must be pure; what it computes with tensor operations is differentiated by the outer levels. Rules run
/// on values of the level below, and must be written in tensor operations and other Functions, unless `once_differentiable`
/// decorates them. A tensor must reach a method as an argument: one that is captured, and that a transform works on, is an error.
///
/// Arguments may be anything; tensors in tuples, lists, dicts and other trees count as well, and their gradients come in the
/// same structure.
///
/// A cube that also returns ``3 x**2``, so that the derivative need not be computed again. As an output it has a gradient of its
/// own, so derivatives of every order are right:
///
/// >>> import pullback as pb
/// >>> class Cube(pb.autograd.Function):
/// ...     @staticmethod
/// ...     def forward(x):
/// ...         return x ** 3, 3 * x ** 2
/// ...     @staticmethod
/// ...     def setup_context(ctx, inputs, output):
/// ...         ctx.save_for_backward(inputs[0], output[1])
/// ...     @staticmethod
/// ...     def backward(ctx, grad, grad_slope):
/// ...         x, slope = ctx.saved_tensors
/// ...         return grad * slope + grad_slope * 6 * x
/// >>> x = pb.tensor(2.0, requires_grad=True)
/// >>> y, _ = Cube.apply(x)
/// >>> y.backward()
/// >>> x.grad.item()
/// 12.0
#[pyclass(name = "Function", module = "pullback.autograd", subclass, frozen)]
pub struct PyFunction;

/// What a method does that no class has written.
fn missing<T>(method: &str, advice: &str) -> PyResult<T> {
    Err(PyNotImplementedError::new_err(format!("`{method}` is not written; help: {advice}")))
}

#[pymethods]
impl PyFunction {
    /// True to have the rule of `vmap` made from the other methods.
    #[classattr]
    #[allow(non_upper_case_globals, reason = "the name in Python")]
    const generate_vmap_rule: bool = false;

    /// True to have `backward` called with one list of gradients, from which it may drop those that it has used.
    #[classattr]
    #[allow(non_upper_case_globals, reason = "the name in Python")]
    const boxed_grads_call: bool = false;

    #[new]
    #[classmethod]
    #[pyo3(signature = (*args, **kwargs))]
    fn new(cls: &Bound<'_, PyType>, args: &Bound<'_, PyTuple>, kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let (_, name) = ((args, kwargs), cls.name()?);
        Err(PyTypeError::new_err(format!(
            "`{name}` is a Function, of which there are no instances; help: write its methods as static methods, and call \
             `{name}.apply(...)`"
        )))
    }

    /// Refuses a class whose members contradict each other.
    #[classmethod]
    #[pyo3(signature = (**kwargs))]
    fn __init_subclass__(cls: &Bound<'_, PyType>, kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        if let Some(kwargs) = kwargs.filter(|kwargs| !kwargs.is_empty()) {
            let names = kwargs.keys().repr()?;
            return Err(PyTypeError::new_err(format!("{}: unexpected class arguments {names}", cls.name()?)));
        }
        class::check(cls)
    }

    /// Calls the function. Keywords and defaults are bound to the parameters of `forward`.
    #[classmethod]
    #[pyo3(signature = (*args, **kwargs))]
    fn apply<'py>(
        cls: &Bound<'py, PyType>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let facts = Facts::of(cls)?;
        let args = facts.bind(args, kwargs)?;
        let (call, tensors) = Call::new(cls, facts, &args)?;
        let outs = catch(|| call.apply(&tensors)).or_raise()?;
        drop(tensors);
        finish(&call, &args, outs)
    }

    /// The computation: takes the arguments of `apply`, and `ctx` first where the class has no `setup_context`.
    #[staticmethod]
    #[pyo3(signature = (*args, **kwargs))]
    fn forward(args: &Bound<'_, PyTuple>, kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        let _ = (args, kwargs);
        missing("forward", "write it as a static method of a subclass")
    }

    /// Keeps what the rules read: `inputs` is the tuple of all arguments, `output` is what `forward` returned.
    #[staticmethod]
    fn setup_context(ctx: &Bound<'_, PyAny>, inputs: &Bound<'_, PyAny>, output: &Bound<'_, PyAny>) -> PyResult<()> {
        let _ = (ctx, inputs, output);
        missing(
            "setup_context",
            "write it as a static method of a subclass, or let `forward` take `ctx` as its first argument",
        )
    }

    /// The gradients of the arguments, from those of the outputs.
    #[staticmethod]
    #[pyo3(signature = (ctx, *grad_outputs))]
    fn backward(ctx: &Bound<'_, PyAny>, grad_outputs: &Bound<'_, PyTuple>) -> PyResult<()> {
        let _ = (ctx, grad_outputs);
        missing("backward", "write it as a static method of a subclass")
    }

    /// Another name of `backward`.
    #[staticmethod]
    #[pyo3(signature = (ctx, *grad_outputs))]
    fn vjp(ctx: &Bound<'_, PyAny>, grad_outputs: &Bound<'_, PyTuple>) -> PyResult<()> {
        let _ = (ctx, grad_outputs);
        missing("vjp", "write `backward` as a static method of a subclass")
    }

    /// The tangents of the outputs, from those of the arguments.
    #[staticmethod]
    #[pyo3(signature = (ctx, *grad_inputs))]
    fn jvp(ctx: &Bound<'_, PyAny>, grad_inputs: &Bound<'_, PyTuple>) -> PyResult<()> {
        let _ = (ctx, grad_inputs);
        missing("jvp", "write it as a static method of a subclass")
    }

    /// The outputs for all lanes at once, and where their lanes lie: `(output, out_dims)`.
    #[staticmethod]
    #[pyo3(signature = (info, in_dims, *args))]
    fn vmap(info: &Bound<'_, PyAny>, in_dims: &Bound<'_, PyAny>, args: &Bound<'_, PyTuple>) -> PyResult<()> {
        let _ = (info, in_dims, args);
        missing("vmap", "write it as a static method of a subclass, or set `generate_vmap_rule = True`")
    }
}

/// The Python value of the results of a call, where arguments that it changed in place have their new values.
fn finish<'py>(call: &Call, args: &Bound<'py, PyTuple>, outs: Vec<Tensor>) -> PyResult<Bound<'py, PyAny>> {
    let (py, run) = (args.py(), call.run());
    let mut objects = Vec::with_capacity(run.outputs.leaves);
    for (k, out) in outs.into_iter().take(run.outputs.leaves).enumerate() {
        match run.dirty.iter().find(|(_, output)| *output == k) {
            Some((position, _)) => {
                let object = args.get_item(*position)?.cast_into::<PyTensor>()?;
                let old = object.get().get();
                // As by any operation in place, a leaf that nobody records now stays the leaf that it is.
                let stays = old.is_leaf() && old.requires_grad() && !GradMode::is_on();
                let change = |t: &mut Tensor| match stays {
                    true => t.set_(Ellipsis, &out).map(|_| ()),
                    false => {
                        *t = out;
                        Ok(())
                    }
                };
                object.get().update(change).or_raise()?;
                objects.push(object);
            }
            None => objects.push(wrap(py, out)?),
        }
    }
    run.outputs.build(py, &mut objects.into_iter())
}

/// Marks a `backward` or `jvp` that cannot be differentiated: its body runs on values without derivatives, so it may use NumPy,
/// and a second derivative through it is an error, never a zero.
///
/// >>> import pullback as pb
/// >>> from pullback.autograd.function import once_differentiable
/// >>> class Square(pb.autograd.Function):
/// ...     @staticmethod
/// ...     def forward(ctx, x):
/// ...         ctx.save_for_backward(x)
/// ...         return x * x
/// ...     @staticmethod
/// ...     @once_differentiable
/// ...     def backward(ctx, grad):
/// ...         (x,) = ctx.saved_tensors
/// ...         return 2 * x * grad
/// >>> pb.func.grad(Square.apply)(pb.tensor(3.0)).item()
/// 6.0
/// >>> pb.func.grad(pb.func.grad(Square.apply))(pb.tensor(3.0))
/// Traceback (most recent call last):
///     ...
/// RuntimeError: ...
#[pyfunction]
fn once_differentiable<'py>(r#fn: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = r#fn.py();
    // A static method, if the decorators are in the other order.
    let method = r#fn.getattr_opt("__func__")?.unwrap_or_else(|| r#fn.clone());
    if !method.is_callable() {
        return Err(PyTypeError::new_err(format!("once_differentiable: expected a method, got {}", r#fn.repr()?)));
    }
    method.setattr(pyo3::intern!(py, ONCE), true)?;
    Ok(r#fn)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // Named as users reach it, so that functions say so of themselves.
    let function = PyModule::new(module.py(), "pullback.autograd.function")?;
    function.add_class::<PyFunction>()?;
    function.add_class::<FunctionCtx>()?;
    function.add_class::<PyVmapInfo>()?;
    function.add_function(wrap_pyfunction!(once_differentiable, &function)?)?;
    check::register(&function)?;
    module.add("function", function)
}
