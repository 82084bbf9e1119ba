//! Branches and loops.

use std::cell::RefCell;

use pullback::{Error, ErrorKind, Result, Scan, Tensor, WhileLoop};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyTuple};

use super::transformed::check_callable;
use crate::error::{OrRaise as _, from_py};
use crate::memory::catch;
use crate::tensor::PyTensor;
use crate::tree::{Build as _, Numbers, PyTree, Shaped, Structure, class_name, flatten, flatten_into, flatten_like};

/// The tree of a value in which numbers are 0-d tensors, because values of a loop or a branch may come to depend on tensors.
fn state(x: &Bound<'_, PyAny>) -> PyResult<PyTree> {
    let mut leaves = Numbers::new();
    let structure = flatten_into(x, &mut leaves)?;
    Ok(Shaped::new(leaves.leaves, structure))
}

/// The same in the order of keys of a structure that is known; the core says how it differs where it does.
fn state_like(known: &Structure, x: &Bound<'_, PyAny>) -> Result<PyTree> {
    let mut leaves = Numbers::new();
    match flatten_like(known, x, &mut leaves).map_err(from_py)? {
        Ok(()) => Ok(Shaped::new(leaves.leaves, known.clone())),
        Err(_) => state(x).map_err(from_py),
    }
}

/// Calls a function with the members of a tuple as arguments, or with what is no tuple.
fn call<'py>(f: &Bound<'py, PyAny>, state: &PyTree) -> Result<Bound<'py, PyAny>> {
    let run = || {
        let state = state.build(f.py())?;
        match state.cast_exact::<PyTuple>() {
            Ok(args) => f.call1(args),
            Err(_) => f.call1((state,)),
        }
    };
    run().map_err(from_py)
}

/// A predicate as a tensor.
fn predicate(x: &Bound<'_, PyAny>) -> Result<Tensor> {
    if let Ok(tensor) = x.cast::<PyTensor>() {
        return Ok(tensor.get().get());
    }
    match x.cast::<PyBool>() {
        Ok(flag) => Ok(Tensor::from(flag.is_true())),
        Err(_) => {
            let got = class_name(x);
            Err(Error::new(
                ErrorKind::Dtype,
                format!("expected a predicate that is a bool tensor or a bool, got {got}"),
            ))
        }
    }
}

/// One of two branches, by the value of a predicate.
///
/// `pred` is a bool scalar. If it has one value, whatever is being differentiated, one branch runs, as with an ``if``. Under a
/// `vmap` that it depends on, each branch that at least one lane takes runs for all lanes, and every lane gets the result of its own;
/// lanes that do not take a branch bring nothing into it, so that no NaN arises from it, in values and in derivatives. The results
/// must then have the same structure and types.
///
/// `operands` is a tuple of trees, which are the arguments of both functions. Numbers in the results become tensors.
///
/// Raises
/// ------
/// TypeError
///     If the predicate is not bool, or results differ in dtype.
/// ValueError
///     If the predicate is not a scalar, or results differ in structure or shape.
///
/// Examples
/// --------
/// >>> import pullback as pb
/// >>> from pullback.func import cond, grad, vmap
/// >>> f = lambda x: cond(x > 0, lambda x: x.sqrt(), lambda x: x * 0, (x,))
/// >>> vmap(grad(f))(pb.tensor([0.0, 4.0])).tolist()
/// [0.0, 0.25]
#[pyfunction]
#[pyo3(signature = (pred, true_fn, false_fn, operands = None), text_signature = "(pred, true_fn, false_fn, operands=())")]
pub fn cond<'py>(
    pred: &Bound<'py, PyAny>,
    true_fn: &Bound<'py, PyAny>,
    false_fn: &Bound<'py, PyAny>,
    operands: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = pred.py();
    check_callable("cond", true_fn)?;
    check_callable("cond", false_fn)?;
    let operands = match operands {
        None => PyTuple::empty(py),
        Some(operands) => operands.cast::<PyTuple>().cloned().map_err(|_| {
            let got = class_name(operands);
            PyTypeError::new_err(format!("cond: expected `operands` to be a tuple of arguments, got {got}"))
        })?,
    };
    let operands = flatten(&operands)?;
    let first: RefCell<Option<Structure>> = RefCell::default();
    let branch = |f: &Bound<'py, PyAny>, x: &PyTree| {
        let out = call(f, x)?;
        let known = first.borrow().clone();
        let out = match &known {
            Some(known) => state_like(known, &out)?,
            None => state(&out).map_err(from_py)?,
        };
        first.replace(Some(out.structure.clone()));
        Ok(out)
    };
    let run = || {
        let pred = predicate(pred).map_err(|e| e.in_context("cond"))?;
        pullback::cond(&pred, |x: &PyTree| branch(true_fn, x), |x: &PyTree| branch(false_fn, x), &operands)
    };
    catch(run).or_raise()?.build(py)
}

/// The state after `body_fn` has been applied to it as long as `cond_fn` of it holds.
///
/// The state is a tree in which numbers become tensors. A tuple is passed as several arguments, and `body_fn` returns a tuple
/// again. Under a `vmap` that the predicate depends on, the loop runs until it holds for no lane, and a lane that has finished keeps
/// its state.
///
/// Reverse mode records every step. With `max_steps`, it is an error if the predicate holds after this number of steps.
///
/// Raises
/// ------
/// TypeError, ValueError
///     If the predicate is not a bool scalar, `body_fn` changes the structure or a type of the state, or the loop does not end within
///     `max_steps`.
///
/// Examples
/// --------
/// >>> import pullback as pb
/// >>> from pullback.func import vmap, while_loop
/// >>> f = lambda x: while_loop(lambda x: x < 100, lambda x: x * x, x)
/// >>> vmap(f)(pb.tensor([3.0, 200.0])).tolist()
/// [6561.0, 200.0]
#[pyfunction]
#[pyo3(signature = (cond_fn, body_fn, carried_inputs, *, max_steps = None))]
pub fn while_loop<'py>(
    cond_fn: &Bound<'py, PyAny>,
    body_fn: &Bound<'py, PyAny>,
    carried_inputs: &Bound<'py, PyAny>,
    max_steps: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    check_callable("while_loop", cond_fn)?;
    check_callable("while_loop", body_fn)?;
    let init = state(carried_inputs)?;
    let mut options = WhileLoop::new();
    if let Some(steps) = max_steps {
        options = options.max_steps(steps);
    }
    let holds = |x: &PyTree| predicate(&call(cond_fn, x)?);
    let body = |x: &PyTree| state_like(&init.structure, &call(body_fn, x)?);
    catch(|| options.run(holds, body, &init)).or_raise()?.build(cond_fn.py())
}

/// The state after `body_fn(i, state)` has been applied for each int `i` from `lower` up to, but not including, `upper`.
///
/// The state is a tree in which numbers become tensors; `i` is an int. `body_fn` keeps the structure and the types of the state.
///
/// Examples
/// --------
/// >>> import pullback as pb
/// >>> from pullback.func import fori, grad
/// >>> grad(lambda x: fori(0, 3, lambda i, y: y * x, 1.0))(pb.tensor(2.0)).item()
/// 12.0
#[pyfunction]
#[pyo3(signature = (lower, upper, body_fn, init))]
pub fn fori<'py>(
    lower: i64,
    upper: i64,
    body_fn: &Bound<'py, PyAny>,
    init: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = init.py();
    check_callable("fori", body_fn)?;
    let init = state(init)?;
    let body = |i: usize, x: &PyTree| {
        let out = x.build(py).and_then(|x| body_fn.call1((lower + i as i64, x))).map_err(from_py)?;
        state_like(&init.structure, &out)
    };
    let steps = usize::try_from(upper.saturating_sub(lower)).unwrap_or(0);
    catch(|| pullback::fori(0..steps, body, &init)).or_raise()?.build(py)
}

/// A loop over slices that carries a state and stacks a result per step.
///
/// `f(carry, x)` returns the next carry, of the same structure and types, and a result `y`, any tree of tensors or ``None``. `xs` is
/// a tree of tensors, whose slices along dimension 0 are the `x`; without it, `length` is the number of steps and `x` is ``None``.
/// With `reverse`, the slices are taken from the last to the first, and each result stands where its slice was.
///
/// With `checkpoint`, reverse mode keeps the carry after every so many steps, and computes the rest again; ``True`` chooses the
/// square root of the number of steps.
///
/// Returns
/// -------
/// `(carry, ys)`.
///
/// Examples
/// --------
/// >>> import pullback as pb
/// >>> from pullback.func import scan
/// >>> total, sums = scan(lambda c, x: (c + x, c + x), pb.tensor(0.0), pb.tensor([1.0, 2.0, 3.0]))
/// >>> total.item(), sums.tolist()
/// (6.0, [1.0, 3.0, 6.0])
#[pyfunction]
#[pyo3(signature = (f, init, xs = None, *, length = None, reverse = false, checkpoint = None))]
pub fn scan<'py>(
    f: &Bound<'py, PyAny>,
    init: &Bound<'py, PyAny>,
    xs: Option<&Bound<'py, PyAny>>,
    length: Option<usize>,
    reverse: bool,
    checkpoint: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = f.py();
    check_callable("scan", f)?;
    let init = state(init)?;
    let xs = match xs {
        Some(xs) => flatten(xs)?,
        None => Shaped::new(Vec::new(), Structure::None),
    };
    let mut options = Scan::new().reverse(reverse);
    if let Some(length) = length {
        options = options.length(length);
    }
    let (function, known) = (f.clone().unbind(), init.structure.clone());
    let step = move |carry: &PyTree, x: &PyTree| {
        Python::attach(|py| {
            let run = || function.bind(py).call1((carry.build(py)?, x.build(py)?));
            let out = run().map_err(from_py)?;
            let Ok(pair) = out.cast::<PyTuple>().map_err(drop).and_then(|p| if p.len() == 2 { Ok(p) } else { Err(()) })
            else {
                let got = flatten(&out).map_err(from_py)?.structure.describe();
                let message = format!("the function must return a tuple of the next carry and a result, got {got}");
                return Err(Error::new(ErrorKind::Dtype, message));
            };
            let (carry, y) = (pair.get_item(0).map_err(from_py)?, pair.get_item(1).map_err(from_py)?);
            Ok((state_like(&known, &carry)?, state(&y).map_err(from_py)?))
        })
    };
    let (carry, ys) = match checkpoint {
        Some(steps) if !steps.is_none() && !steps.cast::<PyBool>().is_ok_and(|flag| !flag.is_true()) => {
            let steps = match steps.cast::<PyBool>() {
                Ok(_) => None,
                Err(_) => Some(steps.extract::<usize>().map_err(|_| {
                    PyValueError::new_err("scan: expected `checkpoint` to be a number of steps, True or None")
                })?),
            };
            catch(|| options.checkpoint(steps).run(step, &init, &xs)).or_raise()?
        }
        _ => catch(|| options.run(step, &init, &xs)).or_raise()?,
    };
    Ok((carry.build(py)?, ys.build(py)?).into_pyobject(py)?.into_any())
}

/// The results of `f` for the slices of a tree along dimension 0, one after the other, stacked along dimension 0.
///
/// As `vmap`, but a loop: it needs the memory of one call, and `f` may read the data of its argument.
///
/// Examples
/// --------
/// >>> import pullback as pb
/// >>> from pullback.func import map
/// >>> map(lambda x: x.sum(), pb.tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
/// [3.0, 7.0]
#[pyfunction]
pub fn map<'py>(f: &Bound<'py, PyAny>, xs: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    check_callable("map", f)?;
    let xs = flatten(xs)?;
    let slice = |x: &PyTree| {
        let out = x.build(f.py()).and_then(|x| f.call1((x,))).map_err(from_py)?;
        state(&out).map_err(from_py)
    };
    catch(|| pullback::map(slice, &xs)).or_raise()?.build(f.py())
}

/// The same tree as a constant: no transform differentiates through its tensors, in either mode. `vmap` is not stopped.
///
/// Examples
/// --------
/// >>> import pullback as pb
/// >>> from pullback.func import grad, stop_gradient
/// >>> grad(lambda x: x * stop_gradient(x))(pb.tensor(3.0)).item()
/// 3.0
#[pyfunction]
pub fn stop_gradient<'py>(tree: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    pullback::stop_gradient(&flatten(tree)?).or_raise()?.build(tree.py())
}
