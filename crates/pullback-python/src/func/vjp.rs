//! Products with the Jacobian, from either side: `vjp`, `jvp` and `linearize`.

use pullback::{Jvp, Pullback, Pushforward, Result, Vjp};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use super::call::{Call, split, tensors};
use super::transformed::{check_callable, generic};
use crate::error::OrRaise as _;
use crate::memory::catch;
use crate::tree::{Build as _, PyTree, Shaped, Structure, class_name, flatten_like};

/// The tree of a value that must have a structure; `value` is what messages call it.
pub fn like(name: &str, structure: &Structure, value: &str, x: &Bound<'_, PyAny>) -> PyResult<PyTree> {
    let mut leaves = Vec::with_capacity(structure.leaves());
    flatten_like(structure, x, &mut leaves)?.map_err(|mismatch| mismatch.raise(name, value))?;
    Ok(Shaped::new(leaves, structure.clone()))
}

/// The map from cotangents of the results to cotangents of the arguments, which `vjp` returns.
///
/// It takes one tree like the result of the function, and returns a tuple with an entry for each argument. It may be called any
/// number of times, from any thread, and inside other transforms.
#[pyclass(module = "pullback.func", frozen, weakref)]
pub struct VjpFunction {
    pullback: Pullback<PyTree, PyTree>,
    results: Structure,
}

#[pymethods]
impl VjpFunction {
    fn __call__<'py>(&self, cotangents: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = cotangents.py();
        let cotangents = like("vjp", &self.results, "cotangents", cotangents)?;
        catch(|| self.pullback.call(&cotangents)).or_raise()?.build(py)
    }

    fn __repr__(&self) -> String {
        format!("VjpFunction(cotangents={})", self.results.describe())
    }
}

/// The value of a function, and the map from cotangents of the result to cotangents of the arguments.
///
/// All positional arguments are differentiated; keyword arguments are constants. Arguments and results are trees of tensors.
/// With `has_aux`, `func` returns a pair of the result and auxiliary data, which may be any tree.
///
/// Returns
/// -------
/// `(output, vjp_fn)`, or `(output, vjp_fn, aux)`. `vjp_fn(cotangents)` takes a tree like `output` and returns a tuple with an
/// entry for each argument. `func` does not run again in it.
///
/// Raises
/// ------
/// TypeError
///     If an argument or the result holds no tensors, or a cotangent has another dtype than its result.
/// ValueError
///     If the cotangents do not have the structure and the shapes of the result.
/// RuntimeError
///     If an argument or a result is not floating-point.
///
/// Examples
/// --------
/// >>> import pullback as pb
/// >>> from pullback.func import vjp
/// >>> y, vjp_fn = vjp(lambda x: x * x, pb.tensor([1.0, 2.0]))
/// >>> (dx,) = vjp_fn(pb.tensor([1.0, 10.0]))
/// >>> dx.tolist()
/// [2.0, 40.0]
#[pyfunction]
#[pyo3(signature = (func, *primals, has_aux = false, **kwargs))]
pub fn vjp<'py>(
    func: &Bound<'py, PyAny>,
    primals: &Bound<'py, PyTuple>,
    has_aux: bool,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = func.py();
    check_callable("vjp", func)?;
    let call = Call { function: func, args: primals, kwargs };
    let x = call.all("vjp")?;
    let f = |x: &PyTree| -> Result<(PyTree, Option<PyTree>)> {
        let (value, aux) = split(call.run(x)?, has_aux)?;
        Ok((tensors(&value)?, aux))
    };
    let (value, pullback, aux) = catch(|| Vjp::new().has_aux().of(f)(&x)).or_raise()?;
    let results = value.structure.clone();
    let vjp_fn = Bound::new(py, VjpFunction { pullback, results })?.into_any();
    triple(value.build(py)?, vjp_fn, aux)
}

/// `(a, b)`, or `(a, b, aux)` if there is auxiliary data.
pub fn triple<'py>(a: Bound<'py, PyAny>, b: Bound<'py, PyAny>, aux: Option<PyTree>) -> PyResult<Bound<'py, PyTuple>> {
    let py = a.py();
    match aux {
        None => PyTuple::new(py, [a, b]),
        Some(aux) => PyTuple::new(py, [a, b, aux.build(py)?]),
    }
}

/// The value of a function, and how it changes when its arguments change along `tangents`.
///
/// `primals` is the tuple of the arguments, each a tree of tensors, and `tangents` one like it. Keyword arguments are constants.
/// The tangent of an integer result, and of one that does not depend on the arguments, is zero; with `strict`, the latter is an
/// error.
///
/// Returns
/// -------
/// `(output, tangent)`, or `(output, tangent, aux)`.
///
/// Raises
/// ------
/// TypeError
///     If `primals` is not a tuple, an argument or the result holds no tensors, or a tangent has another dtype.
/// ValueError
///     If the tangents do not have the structure and the shapes of the arguments.
/// RuntimeError
///     If an argument is not floating-point, or, with `strict`, if a result does not depend on the arguments.
///
/// Examples
/// --------
/// >>> import pullback as pb
/// >>> from pullback.func import jvp
/// >>> y, dy = jvp(lambda x: x * x, (pb.tensor(3.0),), (pb.tensor(1.0),))
/// >>> y.item(), dy.item()
/// (9.0, 6.0)
#[pyfunction]
#[pyo3(signature = (func, primals, tangents, *, strict = false, has_aux = false, **kwargs))]
pub fn jvp<'py>(
    func: &Bound<'py, PyAny>,
    primals: &Bound<'py, PyAny>,
    tangents: &Bound<'py, PyAny>,
    strict: bool,
    has_aux: bool,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = func.py();
    check_callable("jvp", func)?;
    let Ok(args) = primals.cast::<PyTuple>() else {
        let got = class_name(primals);
        return Err(PyTypeError::new_err(format!("jvp: expected `primals` to be the tuple of arguments, got {got}")));
    };
    let call = Call { function: func, args, kwargs };
    let x = call.all("jvp")?;
    let dx = like("jvp", &x.structure, "tangents", tangents)?;
    let f = |x: &PyTree| -> Result<(PyTree, Option<PyTree>)> {
        let (value, aux) = split(call.run(x)?, has_aux)?;
        Ok((tensors(&value)?, aux))
    };
    let (value, tangent, aux) = catch(|| Jvp::new().strict(strict).has_aux().of(f)(&x, &dx)).or_raise()?;
    triple(value.build(py)?, tangent.build(py)?, aux)
}

/// The linear map from changes of the arguments to changes of the results, which `linearize` returns.
///
/// It takes a tangent for each argument. It may be called any number of times, from any thread, and inside other transforms.
#[pyclass(module = "pullback.func", frozen, weakref)]
pub struct JvpFunction {
    pushforward: Pushforward<PyTree, PyTree>,
    arguments: Structure,
}

#[pymethods]
impl JvpFunction {
    #[pyo3(signature = (*tangents))]
    fn __call__<'py>(&self, tangents: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let py = tangents.py();
        let tangents = like("linearize", &self.arguments, "tangents", tangents)?;
        catch(|| self.pushforward.call(&tangents)).or_raise()?.build(py)
    }

    #[classmethod]
    fn __class_getitem__<'py>(cls: &Bound<'py, PyType>, item: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        generic(cls, item)
    }

    fn __repr__(&self) -> String {
        format!("JvpFunction(tangents={})", self.arguments.describe())
    }
}

/// The value of a function, and the linear map from changes of its arguments to changes of the result.
///
/// `func` runs once, however many tangents are pushed. For a single one, `jvp` does the same and keeps nothing. Keyword arguments
/// are constants.
///
/// Returns
/// -------
/// `(output, jvp_fn)`. `jvp_fn(*tangents)` takes a tangent for each argument.
///
/// Raises
/// ------
/// As `jvp`.
///
/// Examples
/// --------
/// >>> import pullback as pb
/// >>> from pullback.func import linearize, vmap
/// >>> y, push = linearize(lambda x: x * x, pb.tensor([1.0, 2.0]))
/// >>> push(pb.tensor([1.0, 10.0])).tolist()
/// [2.0, 40.0]
/// >>> vmap(push)(pb.tensor([[1.0, 0.0], [0.0, 1.0]])).tolist()
/// [[2.0, 0.0], [0.0, 4.0]]
#[pyfunction]
#[pyo3(signature = (func, *primals, **kwargs))]
pub fn linearize<'py>(
    func: &Bound<'py, PyAny>,
    primals: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = func.py();
    check_callable("linearize", func)?;
    let call = Call { function: func, args: primals, kwargs };
    let x = call.all("linearize")?;
    let f = |x: &PyTree| tensors(&call.run(x)?);
    let (value, pushforward) = catch(|| pullback::linearize(f, &x)).or_raise()?;
    let jvp_fn = Bound::new(py, JvpFunction { pushforward, arguments: x.structure })?.into_any();
    triple(value.build(py)?, jvp_fn, None)
}
