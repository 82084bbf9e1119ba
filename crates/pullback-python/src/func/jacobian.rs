//! Jacobians and Hessians.

use pullback::{Hessian, HessianStrategy, Jacfwd, Jacrev, Randomness, Result};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::call::{Argnums, Call, split, tensors};
use super::grad::with_aux;
use super::transformed::{Transform, Transformed};
use super::vmap::Given;
use crate::convert::count;
use crate::error::OrRaise as _;
use crate::tree::{Build as _, PyTree, short};

/// How many directions or lanes at once, at most.
pub fn chunk_size(name: &str, size: Option<&Bound<'_, PyAny>>) -> PyResult<Option<usize>> {
    size.map(|size| count(name, "chunk_size", 1, size)).transpose()
}

/// A policy for random numbers by its name.
pub fn randomness(py: Python<'_>, name: &str, policy: &Given) -> PyResult<Randomness> {
    let Some(policy) = policy.get(py) else { return Ok(Randomness::Error) };
    let wanted = format!("{name}: expected `randomness` to be 'error', 'different' or 'same', got");
    let Ok(policy) = policy.cast::<PyString>() else {
        return Err(PyTypeError::new_err(format!("{wanted} {}", short(policy))));
    };
    match &*policy.to_string_lossy() {
        "error" => Ok(Randomness::Error),
        "same" => Ok(Randomness::Same),
        "different" => Ok(Randomness::Different),
        _ => Err(PyValueError::new_err(format!("{wanted} {}", policy.repr()?))),
    }
}

enum Mode {
    Reverse,
    Forward,
    /// The one that suits the sizes.
    Either,
    ReverseWithValue,
    Second(HessianStrategy),
}

struct Jacobian {
    name: &'static str,
    mode: Mode,
    argnums: Argnums,
    has_aux: bool,
    chunk_size: Option<usize>,
    randomness: Randomness,
}

impl Transform for Jacobian {
    fn call<'py>(&self, call: &Call<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        let py = call.args.py();
        let x = call.select(self.name, &self.argnums)?;
        let f = |x: &PyTree| -> Result<(PyTree, Option<PyTree>)> {
            let (value, aux) = split(call.run(x)?, self.has_aux)?;
            Ok((tensors(&value)?, aux))
        };
        let plain = |x: &PyTree| Ok(f(x)?.0);
        match &self.mode {
            Mode::Reverse => {
                let mut options = Jacrev::new().has_aux();
                if let Some(size) = self.chunk_size {
                    options = options.chunk_size(size);
                }
                let (jacobian, aux) = options.of(f)(&x).or_raise()?;
                with_aux(jacobian.build(py)?, aux)
            }
            Mode::Forward => {
                let mut options = Jacfwd::new().has_aux().randomness(self.randomness);
                if let Some(size) = self.chunk_size {
                    options = options.chunk_size(size);
                }
                let (jacobian, aux) = options.of(f)(&x).or_raise()?;
                with_aux(jacobian.build(py)?, aux)
            }
            Mode::Either => pullback::jacobian(plain)(&x).or_raise()?.build(py),
            Mode::ReverseWithValue => {
                let (value, jacobian) = pullback::value_and_jacobian(plain)(&x).or_raise()?;
                Ok((value.build(py)?, jacobian.build(py)?).into_pyobject(py)?.into_any())
            }
            Mode::Second(strategy) => {
                let mut options = Hessian::new().has_aux().randomness(self.randomness).strategy(*strategy);
                if let Some(size) = self.chunk_size {
                    options = options.chunk_size(size);
                }
                let (hessian, aux) = options.of(f)(&x).or_raise()?;
                with_aux(hessian.build(py)?, aux)
            }
        }
    }
}

/// The Jacobian of a function, by reverse mode: a row for each element of the results.
///
/// The result has the structure of what `func` returns, and at each of its tensors the structure of the selected argument (a tuple
/// of them, if `argnums` is one). Each of these tensors has the shape of the result followed by that of the argument. `func` runs
/// once; `chunk_size` bounds how many rows are computed at once, and 1 is a loop without batching. See `grad` for `argnums` and
/// `has_aux`; keyword arguments are constants.
///
/// Raises
/// ------
/// As `grad`; RuntimeError also if arguments or results are complex.
///
/// Examples
/// --------
/// >>> import pullback as pb
/// >>> from pullback.func import jacrev
/// >>> jacrev(lambda x: x * x)(pb.tensor([1.0, 2.0])).tolist()
/// [[2.0, 0.0], [0.0, 4.0]]
#[pyfunction]
#[pyo3(
    signature = (func, argnums = None, *, has_aux = false, chunk_size = None),
    text_signature = "(func, argnums=0, *, has_aux=False, chunk_size=None)"
)]
pub fn jacrev(
    func: &Bound<'_, PyAny>,
    argnums: Option<&Bound<'_, PyAny>>,
    has_aux: bool,
    chunk_size: Option<&Bound<'_, PyAny>>,
) -> PyResult<Transformed> {
    let name = "jacrev";
    let (argnums, chunk_size) = (Argnums::parse(name, argnums)?, self::chunk_size(name, chunk_size)?);
    let randomness = Randomness::Same;
    Transformed::new(name, func, Jacobian { name, mode: Mode::Reverse, argnums, has_aux, chunk_size, randomness })
}

/// The Jacobian of a function, by forward mode: a column for each element of the selected arguments.
///
/// The same numbers as `jacrev` in the same structure. `func` runs on all directions at once, or on `chunk_size` at a time, for
/// each tensor of the arguments. `randomness` is that of `vmap`: with ``'same'``, all directions see the same draws, as the
/// derivative of one function needs.
///
/// Raises
/// ------
/// As `jacrev`.
///
/// Examples
/// --------
/// >>> import pullback as pb
/// >>> from pullback.func import jacfwd
/// >>> jacfwd(lambda x: x * x)(pb.tensor([1.0, 2.0])).tolist()
/// [[2.0, 0.0], [0.0, 4.0]]
#[pyfunction]
#[pyo3(
    signature = (func, argnums = None, has_aux = false, *, randomness = Given(None), chunk_size = None),
    text_signature = "(func, argnums=0, has_aux=False, *, randomness='error', chunk_size=None)"
)]
pub fn jacfwd(
    func: &Bound<'_, PyAny>,
    argnums: Option<&Bound<'_, PyAny>>,
    has_aux: bool,
    randomness: Given,
    chunk_size: Option<&Bound<'_, PyAny>>,
) -> PyResult<Transformed> {
    let name = "jacfwd";
    let (argnums, chunk_size) = (Argnums::parse(name, argnums)?, self::chunk_size(name, chunk_size)?);
    let randomness = self::randomness(func.py(), name, &randomness)?;
    Transformed::new(name, func, Jacobian { name, mode: Mode::Forward, argnums, has_aux, chunk_size, randomness })
}

/// The Jacobian of a function, by the mode that suits the sizes: reverse mode where the results have no more elements than the
/// arguments, else forward mode, for which `func` runs once more.
///
/// The same numbers as `jacrev` in the same structure, with the same errors.
///
/// Examples
/// --------
/// >>> import pullback as pb
/// >>> from pullback.func import jacobian
/// >>> jacobian(lambda x: (x * x).sum())(pb.tensor([1.0, 2.0])).tolist()
/// [2.0, 4.0]
#[pyfunction]
#[pyo3(signature = (func, argnums = None), text_signature = "(func, argnums=0)")]
pub fn jacobian(func: &Bound<'_, PyAny>, argnums: Option<&Bound<'_, PyAny>>) -> PyResult<Transformed> {
    plain("jacobian", func, argnums, Mode::Either)
}

/// The value of a function and its Jacobian by reverse mode, as `(value, jacobian)`. `func` runs once. See `jacrev`.
///
/// Examples
/// --------
/// >>> import pullback as pb
/// >>> from pullback.func import value_and_jacobian
/// >>> value, jacobian = value_and_jacobian(lambda x: x * x)(pb.tensor([1.0, 2.0]))
/// >>> value.tolist(), jacobian.tolist()
/// ([1.0, 4.0], [[2.0, 0.0], [0.0, 4.0]])
#[pyfunction]
#[pyo3(signature = (func, argnums = None), text_signature = "(func, argnums=0)")]
pub fn value_and_jacobian(func: &Bound<'_, PyAny>, argnums: Option<&Bound<'_, PyAny>>) -> PyResult<Transformed> {
    plain("value_and_jacobian", func, argnums, Mode::ReverseWithValue)
}

fn plain(
    name: &'static str,
    func: &Bound<'_, PyAny>,
    argnums: Option<&Bound<'_, PyAny>>,
    mode: Mode,
) -> PyResult<Transformed> {
    let argnums = Argnums::parse(name, argnums)?;
    let (has_aux, chunk_size, randomness) = (false, None, Randomness::Same);
    Transformed::new(name, func, Jacobian { name, mode, argnums, has_aux, chunk_size, randomness })
}

/// The Hessian of a function: the Jacobian of its Jacobian, in the structure that those give.
///
/// For a scalar function of a tensor of shape `[n]` it is `[n, n]`; for a dict of parameters, a dict of dicts. `strategy` says by
/// which modes, the outer one first; all give the same numbers:
///
/// - ``'forward-over-reverse'``: the cheapest in general;
/// - ``'reverse-over-forward'``, ``'reverse-over-reverse'``: `func` runs once for the latter;
/// - ``'forward-over-forward'``: nothing is recorded.
///
/// `chunk_size` bounds how many rows or columns are computed at once. The auxiliary data is that of the first run. `hvp`,
/// `hessian_diagonal` and `laplacian` give parts of it without the whole.
///
/// Raises
/// ------
/// As `jacrev`.
///
/// Examples
/// --------
/// >>> import pullback as pb
/// >>> from pullback.func import hessian
/// >>> hessian(lambda x: (x**3).sum())(pb.tensor([1.0, 2.0])).tolist()
/// [[6.0, 0.0], [0.0, 12.0]]
#[pyfunction]
#[pyo3(
    signature = (func, argnums = None, has_aux = false, *, strategy = "forward-over-reverse", randomness = Given(None),
        chunk_size = None),
    text_signature = "(func, argnums=0, has_aux=False, *, strategy='forward-over-reverse', randomness='error', \
        chunk_size=None)"
)]
pub fn hessian(
    func: &Bound<'_, PyAny>,
    argnums: Option<&Bound<'_, PyAny>>,
    has_aux: bool,
    strategy: &str,
    randomness: Given,
    chunk_size: Option<&Bound<'_, PyAny>>,
) -> PyResult<Transformed> {
    let name = "hessian";
    let strategy = match strategy {
        "forward-over-reverse" => HessianStrategy::ForwardOverReverse,
        "reverse-over-forward" => HessianStrategy::ReverseOverForward,
        "reverse-over-reverse" => HessianStrategy::ReverseOverReverse,
        "forward-over-forward" => HessianStrategy::ForwardOverForward,
        _ => {
            return Err(PyValueError::new_err(format!(
                "{name}: expected `strategy` to be two of 'forward' and 'reverse', such as 'forward-over-reverse', got \
                 '{strategy}'"
            )));
        }
    };
    let (argnums, chunk_size) = (Argnums::parse(name, argnums)?, self::chunk_size(name, chunk_size)?);
    let (mode, randomness) = (Mode::Second(strategy), self::randomness(func.py(), name, &randomness)?);
    Transformed::new(name, func, Jacobian { name, mode, argnums, has_aux, chunk_size, randomness })
}
