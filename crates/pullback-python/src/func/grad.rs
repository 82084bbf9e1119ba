//! Gradients of scalar functions.

use pullback::{Grad, Result, Tensor};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::call::{Argnums, Call, split, tensor};
use super::transformed::{Transform, Transformed};
use crate::error::{OrRaise as _, to_py_as};
use crate::tree::{Build as _, PyTree};

/// What is returned besides the gradient.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Gradient,
    /// `(gradient, value)`
    ThenValue,
    /// `(value, gradient)`
    ValueFirst,
}

struct Gradient {
    name: &'static str,
    argnums: Argnums,
    has_aux: bool,
    form: Form,
}

impl Transform for Gradient {
    fn call<'py>(&self, call: &Call<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        let py = call.args.py();
        let x = call.select(self.name, &self.argnums)?;
        let f = |x: &PyTree| -> Result<(Tensor, Option<PyTree>)> {
            let (value, aux) = split(call.run(x)?, self.has_aux)?;
            Ok((tensor(&value)?, aux))
        };
        if self.form == Form::Gradient {
            let (gradient, aux) = Grad::new().has_aux().of(&f)(&x).or_raise()?;
            return with_aux(gradient.build(py)?, aux);
        }
        let both = Grad::new().has_aux().value_and(&f)(&x);
        let ((value, aux), gradient) = both.map_err(|error| to_py_as(error, "value_and_grad", self.name))?;
        let (value, gradient) = (with_aux(value.build(py)?, aux)?, gradient.build(py)?);
        let pair = if self.form == Form::ThenValue { (gradient, value) } else { (value, gradient) };
        Ok(pair.into_pyobject(py)?.into_any())
    }
}

/// A result, in a pair with the auxiliary data if there is some.
pub fn with_aux<'py>(result: Bound<'py, PyAny>, aux: Option<PyTree>) -> PyResult<Bound<'py, PyAny>> {
    let py = result.py();
    match aux {
        None => Ok(result),
        Some(aux) => Ok(PyTuple::new(py, [result, aux.build(py)?])?.into_any()),
    }
}

fn gradient(
    name: &'static str,
    func: &Bound<'_, PyAny>,
    argnums: Option<&Bound<'_, PyAny>>,
    has_aux: bool,
    form: Form,
) -> PyResult<Transformed> {
    Transformed::new(name, func, Gradient { name, argnums: Argnums::parse(name, argnums)?, has_aux, form })
}

/// The gradient of a scalar function, as a function of the same arguments.
///
/// `func` returns a 0-d floating-point tensor, or with `has_aux` a pair of that and auxiliary data: any tree, which is passed on
/// and not differentiated here. `argnums` selects the positional arguments to differentiate, each a tree of tensors: an int, or a
/// tuple of ints; negative ones count from the end. All others, and keyword arguments, are constants of any type. What an
/// argument holds besides tensors (strings, ints, flags) is passed on; floats and arrays are an error, because their derivative
/// would be lost.
///
/// Returns
/// -------
/// A function that returns the gradient with the structure of the argument, or a tuple of them if `argnums` is one; with
/// `has_aux`, `(gradient, aux)`. Arguments that do not influence the result get zeros.
///
/// Raises
/// ------
/// TypeError
///     If `func` does not return a tensor, or a selected argument is none.
/// RuntimeError
///     If the result is not a scalar, or an argument or the result is not floating-point.
/// IndexError, ValueError
///     If there is no such argument, or one is selected twice.
///
/// Examples
/// --------
/// >>> import pullback as pb
/// >>> from pullback.func import grad, vmap
/// >>> x = pb.tensor([1.0, 2.0])
/// >>> grad(lambda x: (x * x).sum())(x).tolist()
/// [2.0, 4.0]
/// >>> grad(lambda p, x: (p["w"] * x).sum())({"w": x}, 3.0)["w"].tolist()
/// [3.0, 3.0]
/// >>> vmap(grad(grad(lambda x: x**3)))(x).tolist()
/// [6.0, 12.0]
#[pyfunction]
#[pyo3(signature = (func, argnums = None, has_aux = false), text_signature = "(func, argnums=0, has_aux=False)")]
pub fn grad(func: &Bound<'_, PyAny>, argnums: Option<&Bound<'_, PyAny>>, has_aux: bool) -> PyResult<Transformed> {
    gradient("grad", func, argnums, has_aux, Form::Gradient)
}

/// The gradient of a scalar function and its value, as `(gradient, value)`; with `has_aux`, `(gradient, (value, aux))`. See
/// `grad`. `value_and_grad` returns them the other way round.
///
/// Examples
/// --------
/// >>> import pullback as pb
/// >>> from pullback.func import grad_and_value
/// >>> gradient, value = grad_and_value(lambda x: x * x)(pb.tensor(3.0))
/// >>> gradient.item(), value.item()
/// (6.0, 9.0)
#[pyfunction]
#[pyo3(signature = (func, argnums = None, has_aux = false), text_signature = "(func, argnums=0, has_aux=False)")]
pub fn grad_and_value(
    func: &Bound<'_, PyAny>,
    argnums: Option<&Bound<'_, PyAny>>,
    has_aux: bool,
) -> PyResult<Transformed> {
    gradient("grad_and_value", func, argnums, has_aux, Form::ThenValue)
}

/// The value of a scalar function and its gradient, as `(value, gradient)`; with `has_aux`, `((value, aux), gradient)`. See
/// `grad`.
///
/// Examples
/// --------
/// >>> import pullback as pb
/// >>> from pullback.func import value_and_grad
/// >>> value, gradient = value_and_grad(lambda x: x * x)(pb.tensor(3.0))
/// >>> value.item(), gradient.item()
/// (9.0, 6.0)
#[pyfunction]
#[pyo3(signature = (func, argnums = None, has_aux = false), text_signature = "(func, argnums=0, has_aux=False)")]
pub fn value_and_grad(
    func: &Bound<'_, PyAny>,
    argnums: Option<&Bound<'_, PyAny>>,
    has_aux: bool,
) -> PyResult<Transformed> {
    gradient("value_and_grad", func, argnums, has_aux, Form::ValueFirst)
}
