//! Calls of a Python function by a transform: which arguments the core sees, and what it gets back.

use pullback::{Error, ErrorKind, Result, Tensor};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyTuple};

use super::inside::Inside;
use crate::autograd::Block;
use crate::convert::wrap;
use crate::error::from_py;
use crate::nest::Nest;
use crate::tensor::PyTensor;
use crate::tree::{Build as _, Kind, PyTree, Shaped, Structure, flatten, flatten_into, is_array, is_inexact, short};

/// Which positional arguments a transform differentiates.
pub enum Argnums {
    One(isize),
    Several(Vec<isize>),
}

impl Argnums {
    /// The first argument where nothing is said.
    pub fn parse(name: &str, argnums: Option<&Bound<'_, PyAny>>) -> PyResult<Argnums> {
        let Some(argnums) = argnums else { return Ok(Argnums::One(0)) };
        let number = |x: &Bound<'_, PyAny>| {
            // A bool is an int, and hardly meant as one.
            let plain = x.is_instance_of::<PyInt>() && !x.is_instance_of::<PyBool>();
            let read = || x.extract::<isize>();
            plain.then(read).transpose().map_err(|_| {
                PyIndexError::new_err(format!("{name}: there is no argument number {x}, for any function"))
            })
        };
        if let Some(n) = number(argnums)? {
            return Ok(Argnums::One(n));
        }
        let Ok(tuple) = argnums.cast::<PyTuple>() else {
            let got = short(argnums);
            return Err(PyTypeError::new_err(format!(
                "{name}: expected `argnums` to be an int or a tuple of ints, got {got}"
            )));
        };
        if tuple.is_empty() {
            return Err(PyValueError::new_err(format!("{name}: expected at least one number in `argnums`, got ()")));
        }
        let numbers = tuple.iter().map(|x| match number(&x)? {
            Some(n) => Ok(n),
            None => {
                let got = short(&x);
                Err(PyTypeError::new_err(format!(
                    "{name}: expected `argnums` to be an int or a tuple of ints, got {got} in it"
                )))
            }
        });
        Ok(Argnums::Several(numbers.collect::<PyResult<_>>()?))
    }

    /// The positions of the arguments, and whether one stands for itself.
    fn resolve(&self, name: &str, given: usize) -> PyResult<(Vec<usize>, bool)> {
        let position = |n: isize| {
            let at = if n < 0 { n + given as isize } else { n };
            if (0..given as isize).contains(&at) {
                return Ok(at as usize);
            }
            Err(PyIndexError::new_err(format!(
                "{name}: there is no argument number {n}, the function was called with {given} positional arguments"
            )))
        };
        match self {
            Argnums::One(n) => Ok((vec![position(*n)?], true)),
            Argnums::Several(numbers) => {
                let positions = numbers.iter().map(|&n| position(n)).collect::<PyResult<Vec<_>>>()?;
                for (k, p) in positions.iter().enumerate() {
                    if positions[..k].contains(p) {
                        return Err(PyValueError::new_err(format!(
                            "{name}: expected different arguments in `argnums`, got {numbers:?}"
                        )));
                    }
                }
                Ok((positions, false))
            }
        }
    }
}

/// A call of a function.
pub struct Call<'a, 'py> {
    pub function: &'a Bound<'py, PyAny>,
    pub args: &'a Bound<'py, PyTuple>,
    /// Constants, always.
    pub kwargs: Option<&'a Bound<'py, PyDict>>,
}

impl<'py> Call<'_, 'py> {
    /// The arguments that are differentiated, as a tree.
    pub fn select(&self, name: &str, argnums: &Argnums) -> PyResult<PyTree> {
        let (numbers, single) = argnums.resolve(name, self.args.len())?;
        self.take(name, numbers, single)
    }

    /// All arguments, which are differentiated, as a tree.
    pub fn all(&self, name: &str) -> PyResult<PyTree> {
        if self.args.is_empty() {
            return Err(PyValueError::new_err(format!(
                "{name}: expected at least one argument to differentiate, got none"
            )));
        }
        self.take(name, (0..self.args.len()).collect(), false)
    }

    fn take(&self, name: &str, numbers: Vec<usize>, single: bool) -> PyResult<PyTree> {
        let mut leaves: Vec<Tensor> = Vec::new();
        let mut children = Vec::with_capacity(numbers.len());
        for &n in &numbers {
            let argument = self.args.get_item(n)?;
            let child = flatten_into(&argument, &mut leaves)?;
            // An empty container has an empty derivative.
            if child.leaves() == 0 && (child.has_statics() || matches!(child, Structure::None)) {
                let got = if matches!(child, Structure::Static(_)) { short(&argument) } else { child.describe() };
                let help = match is_inexact(&argument) || is_array(&argument) {
                    true => "; help: make it a tensor with `pullback.tensor`",
                    false => "",
                };
                return Err(PyTypeError::new_err(format!(
                    "{name}: expected tensors to differentiate at argument[{n}], got {got}{help}"
                )));
            }
            children.push(child);
        }
        let structure = Structure::node(Kind::Arguments { numbers, single }, children);
        if structure.has_statics() {
            check_constants(name, &structure, self.args.py())?;
        }
        Ok(Shaped::new(leaves, structure))
    }

    /// All arguments, with whatever they hold besides tensors.
    pub fn everything(&self) -> PyResult<PyTree> {
        let mut leaves: Vec<Tensor> = Vec::new();
        let children = self.args.iter().map(|x| flatten_into(&x, &mut leaves)).collect::<PyResult<Vec<_>>>()?;
        let numbers = (0..children.len()).collect();
        Ok(Shaped::new(leaves, Structure::node(Kind::Arguments { numbers, single: false }, children)))
    }

    /// Calls the function with other values for the arguments that are in the tree.
    pub fn run(&self, selected: &PyTree) -> Result<Bound<'py, PyAny>> {
        // What the function sets by `set_grad_enabled(..)` is not for its caller.
        let _block = Block::begin();
        let _inside = Inside::enter();
        let _nest = Nest::enter().map_err(from_py)?;
        let run = || self.function.call(self.replaced(selected)?, self.constants()?.as_ref());
        run().map_err(from_py)
    }

    /// The keyword arguments for one run.
    fn constants(&self) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(kwargs) = self.kwargs else { return Ok(None) };
        let constants = kwargs.copy()?;
        for (name, x) in kwargs.iter() {
            if let Some(own) = own(&x)? {
                constants.set_item(name, own)?;
            }
        }
        Ok(Some(constants))
    }

    fn replaced(&self, selected: &PyTree) -> PyResult<Bound<'py, PyTuple>> {
        let py = self.args.py();
        let Structure::Node(node) = &selected.structure else { return Ok(self.args.clone()) };
        let Kind::Arguments { numbers, .. } = &node.kind else { return Ok(self.args.clone()) };
        let mut leaves = selected.leaves.iter();
        let mut next = || match leaves.next() {
            Some(leaf) => leaf.build(py),
            None => Ok(py.None().into_bound(py)),
        };
        let mut args: Vec<Option<Bound<'py, PyAny>>> = vec![None; self.args.len()];
        for (&n, child) in numbers.iter().zip(&node.children) {
            args[n] = Some(child.build(py, &mut next)?);
        }
        let args = self.args.iter().zip(args).map(|(given, new)| match new {
            Some(new) => Ok(new),
            None => Ok(own(&given)?.unwrap_or(given)),
        });
        PyTuple::new(py, args.collect::<PyResult<Vec<_>>>()?)
    }
}

/// An object of the function's own for a tensor that is an argument, so that it may change it in place.
fn own<'py>(x: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    match x.cast::<PyTensor>() {
        Ok(tensor) => Ok(Some(wrap(x.py(), tensor.get().get())?.into_any())),
        Err(_) => Ok(None),
    }
}

/// An error if there is something among the arguments to differentiate that may have been meant as a tensor.
fn check_constants(name: &str, structure: &Structure, py: Python<'_>) -> PyResult<()> {
    match structure.find_static(&mut |x| is_inexact(x.bind(py)) || is_array(x.bind(py))) {
        None => Ok(()),
        Some((path, x)) => {
            let got = short(x.bind(py));
            Err(PyTypeError::new_err(format!(
                "{name}: expected tensors to differentiate, got {got} at argument{path}; help: make it a tensor with \
                 `pullback.tensor`, or pass it as another argument"
            )))
        }
    }
}

/// What a function returned, and its auxiliary data, if it has some.
pub fn split<'py>(out: Bound<'py, PyAny>, has_aux: bool) -> Result<(Bound<'py, PyAny>, Option<PyTree>)> {
    if !has_aux {
        return Ok((out, None));
    }
    match out.cast::<PyTuple>() {
        Ok(pair) if pair.len() == 2 => {
            let (value, aux) = (pair.get_item(0).map_err(from_py)?, pair.get_item(1).map_err(from_py)?);
            Ok((value, Some(flatten(&aux).map_err(from_py)?)))
        }
        _ => Err(returned("a tuple of the result and the auxiliary data, because of `has_aux`", &out)?),
    }
}

/// The tensor that a function returned.
pub fn tensor(out: &Bound<'_, PyAny>) -> Result<Tensor> {
    match out.cast::<PyTensor>() {
        Ok(tensor) => Ok(tensor.get().get()),
        Err(_) => {
            let error = returned("a scalar tensor", out)?;
            Err(match out.cast::<PyTuple>() {
                Ok(_) => error.with_help("return what is not differentiated as auxiliary data, with `has_aux=True`"),
                Err(_) => error,
            })
        }
    }
}

/// The tree of tensors that a function returned.
pub fn tensors(out: &Bound<'_, PyAny>) -> Result<PyTree> {
    let tree = flatten(out).map_err(from_py)?;
    if let Some((path, x)) = tree.structure.find_static(&mut |_| true) {
        let got = short(x.bind(out.py()));
        let error =
            Error::new(ErrorKind::Dtype, format!("the function must return tensors, got {got} at result{path}"));
        return Err(error.with_help("leave it out of the result, or return it as auxiliary data"));
    }
    Ok(tree)
}

fn returned(expected: &str, out: &Bound<'_, PyAny>) -> Result<Error> {
    let got = flatten(out).map_err(from_py)?.structure.describe();
    Ok(Error::new(ErrorKind::Dtype, format!("the function must return {expected}, got {got}")))
}
