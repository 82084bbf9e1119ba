//! The module `pullback.implicit`: functions that are defined by an equation.

use std::sync::Arc;

use pullback::function::Batching;
use pullback::implicit::{LinearSolve, LinearSolver, Root};
use pullback::{DType, Function as _, Result};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyType;

use super::call::tensors;
use super::transformed::{check_callable, generic};
use crate::error::{OrRaise as _, from_py};
use crate::memory::catch;
use crate::tree::{Build as _, Numbers, PyTree, Shaped, flatten, flatten_into, flatten_like};

/// The method for the linear systems of derivatives: `dense`, `cg` or `gmres`.
///
/// A system that has no solution, or that is not solved within `max_iterations`, is a ValueError, or NaN with `nan_on_failure`.
#[pyclass(name = "LinearSolver", module = "pullback.implicit", frozen, eq)]
#[derive(Clone, PartialEq)]
pub struct PyLinearSolver {
    solver: LinearSolver,
    text: String,
}

impl PyLinearSolver {
    fn new(
        name: &str,
        mut solver: LinearSolver,
        tolerance: Option<f64>,
        max_iterations: Option<usize>,
        nan_on_failure: bool,
    ) -> PyLinearSolver {
        let mut given = Vec::new();
        if let Some(tolerance) = tolerance {
            solver = solver.tolerance(tolerance);
            given.push(format!("tolerance={tolerance}"));
        }
        if let Some(n) = max_iterations {
            solver = solver.max_iterations(n);
            given.push(format!("max_iterations={n}"));
        }
        if nan_on_failure {
            solver = solver.nan_on_failure();
            given.push("nan_on_failure=True".into());
        }
        PyLinearSolver { solver, text: format!("LinearSolver.{name}({})", given.join(", ")) }
    }
}

#[pymethods]
impl PyLinearSolver {
    /// Makes a matrix of the system and eliminates with pivots: for some hundred unknowns, and any matrix.
    #[staticmethod]
    #[pyo3(signature = (*, nan_on_failure = false))]
    fn dense(nan_on_failure: bool) -> PyLinearSolver {
        PyLinearSolver::new("dense", LinearSolver::dense(), None, None, nan_on_failure)
    }

    /// Conjugate gradients: for many unknowns, and symmetric positive definite matrices.
    #[staticmethod]
    #[pyo3(signature = (*, tolerance = None, max_iterations = None, nan_on_failure = false))]
    fn cg(tolerance: Option<f64>, max_iterations: Option<usize>, nan_on_failure: bool) -> PyLinearSolver {
        PyLinearSolver::new("cg", LinearSolver::cg(), tolerance, max_iterations, nan_on_failure)
    }

    /// GMRES, restarted after `restart` steps: for many unknowns, and any matrix.
    #[staticmethod]
    #[pyo3(signature = (*, tolerance = None, max_iterations = None, restart = 50, nan_on_failure = false))]
    fn gmres(
        tolerance: Option<f64>,
        max_iterations: Option<usize>,
        restart: usize,
        nan_on_failure: bool,
    ) -> PyLinearSolver {
        let solver = LinearSolver::gmres().restart(restart);
        PyLinearSolver::new("gmres", solver, tolerance, max_iterations, nan_on_failure)
    }

    fn __repr__(&self) -> &str {
        &self.text
    }
}

/// What a solver returned, as a tree of tensors. Its floats are as wide as the parameters.
fn solved(p: &PyTree, out: &Bound<'_, PyAny>) -> Result<PyTree> {
    let wide = p.leaves.iter().any(|t| t.dtype() == DType::F64);
    let mut found = Numbers::with_float(if wide { DType::F64 } else { DType::F32 });
    let structure = flatten_into(out, &mut found).map_err(from_py)?;
    if structure.has_statics() {
        return tensors(out);
    }
    Ok(Shaped::new(found.leaves, structure))
}

/// The Python functions that closures hold.
#[derive(Default)]
struct Functions(Vec<Arc<Py<PyAny>>>);

impl Functions {
    fn add(&mut self, name: &'static str, f: &Bound<'_, PyAny>) -> PyResult<Arc<Py<PyAny>>> {
        check_callable(name, f)?;
        let f = Arc::new(f.clone().unbind());
        self.0.push(f.clone());
        Ok(f)
    }
}

/// What the collector is told of an object that holds functions behind counted pointers.
///
/// Recorded operations may hold them, too. Then they are not the object's own, and the collector must not count them as such: it would
/// clear functions that are still called.
struct Own {
    functions: Functions,
    /// The number of holders when the object was made.
    holders: usize,
}

impl Own {
    fn traverse(&self, holders: usize, visit: &PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        // The closure's, and the one here.
        let is_own = |f: &&Arc<Py<PyAny>>| Arc::strong_count(f) == 2;
        if self.holders != holders {
            return Ok(());
        }
        self.functions.0.iter().filter(is_own).try_for_each(|f| visit.call(&**f))
    }
}

/// A Python function of one tree, such as a solver.
fn of_one(
    name: &'static str,
    f: &Bound<'_, PyAny>,
    functions: &mut Functions,
) -> PyResult<impl Fn(&PyTree) -> Result<PyTree> + Send + Sync + use<>> {
    let f = functions.add(name, f)?;
    Ok(move |p: &PyTree| {
        Python::attach(|py| {
            let out = p.build(py).and_then(|p| f.bind(py).call1((p,))).map_err(from_py)?;
            solved(p, &out)
        })
    })
}

/// A Python function of two trees, whose result is like the second one.
fn of_two(
    name: &'static str,
    f: &Bound<'_, PyAny>,
    functions: &mut Functions,
) -> PyResult<impl Fn(&PyTree, &PyTree) -> Result<PyTree> + Send + Sync + use<>> {
    let f = functions.add(name, f)?;
    Ok(move |p: &PyTree, x: &PyTree| {
        Python::attach(|py| {
            let run = || f.bind(py).call1((p.build(py)?, x.build(py)?));
            let out = run().map_err(from_py)?;
            let wide = x.leaves.iter().any(|t| t.dtype() == DType::F64);
            let mut leaves = Numbers::with_float(if wide { DType::F64 } else { DType::F32 });
            match flatten_like(&x.structure, &out, &mut leaves).map_err(from_py)? {
                Ok(()) => Ok(Shaped::new(leaves.leaves, x.structure.clone())),
                // The core says how it differs.
                Err(_) => tensors(&out),
            }
        })
    })
}

fn parse_batching(name: &str, batching: &str) -> PyResult<Batching> {
    match batching {
        "loop" => Ok(Batching::Loop),
        "leading_dims" => Ok(Batching::LeadingDims),
        "expand" => Ok(Batching::Expand),
        "flatten" => Ok(Batching::Flatten),
        "refuse" => Ok(Batching::Refuse),
        _ => Err(PyValueError::new_err(format!(
            "{name}: expected `batching` to be 'loop', 'leading_dims', 'expand', 'flatten' or 'refuse', got '{batching}'"
        ))),
    }
}

/// The solution of an equation as a function of its parameters, which `root` and `fixed_point` return.
#[pyclass(module = "pullback.implicit", frozen, weakref)]
pub struct Solution {
    root: Root<PyTree, PyTree>,
    own: Own,
}

#[pymethods]
impl Solution {
    fn __call__<'py>(&self, p: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let tree = flatten(p)?;
        catch(|| self.root.apply(&tree)).or_raise()?.build(p.py())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        self.own.traverse(self.root.holders(), &visit)
    }

    #[classmethod]
    fn __class_getitem__<'py>(cls: &Bound<'py, PyType>, item: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        generic(cls, item)
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.root)
    }
}

/// What both kinds of equations have as options.
struct Options<'a, 'py> {
    linear_solver: Option<&'a Bound<'py, PyLinearSolver>>,
    batching: &'a str,
    tolerance: Option<f64>,
    max_iterations: Option<usize>,
}

fn solution(
    name: &'static str,
    mut root: Root<PyTree, PyTree>,
    functions: Functions,
    options: Options<'_, '_>,
) -> PyResult<Solution> {
    root = root.batching(parse_batching(name, options.batching)?);
    if let Some(solver) = options.linear_solver {
        root = root.linear_solver(solver.get().solver);
    }
    if let Some(tolerance) = options.tolerance {
        root = root.tolerance(tolerance);
    }
    if let Some(n) = options.max_iterations {
        root = root.max_iterations(n);
    }
    let own = Own { functions, holders: root.holders() };
    Ok(Solution { root, own })
}

fn one_of(name: &str) -> PyErr {
    PyTypeError::new_err(format!("{name}: expected either `solve` or `start`, and not both"))
}

/// The root `x` of ``f(p, x) = 0``, as a function of the parameters `p`, a tree.
///
/// `f` returns a residual like `x`, and is written in tensor operations. The root is what `solve(p)` finds by any means, on values
/// without derivatives; or, with `start` instead, what Newton's method finds from `start(p)`. It is differentiated by the implicit
/// function theorem, in both modes and of every order, without a look at the solver: a derivative costs one linear system, for
/// which `linear_solver` is the method. What is differentiated must be a parameter.
///
/// Under `vmap`, `solve` runs for one lane after the other, unless `batching` says otherwise. `tolerance` and `max_iterations` are
/// for Newton's method.
///
/// Raises
/// ------
/// ValueError
///     If no root is found, a residual is not like `x`, or a linear system has no solution.
/// RuntimeError
///     If `f` or `solve` captures a tensor that a transform is working on: it belongs to the parameters.
///
/// Examples
/// --------
/// >>> import pullback as pb
/// >>> from pullback.func import grad, implicit, vmap
/// >>> sqrt = implicit.root(lambda a, x: x * x - a, start=lambda a: a)
/// >>> round(sqrt(pb.tensor(4.0)).item(), 5), round(grad(sqrt)(pb.tensor(4.0)).item(), 5)
/// (2.0, 0.25)
#[pyfunction]
#[pyo3(signature = (f, solve = None, *, start = None, linear_solver = None, batching = "loop", tolerance = None,
    max_iterations = None))]
#[allow(clippy::too_many_arguments, reason = "they are keywords")]
fn root(
    f: &Bound<'_, PyAny>,
    solve: Option<&Bound<'_, PyAny>>,
    start: Option<&Bound<'_, PyAny>>,
    linear_solver: Option<&Bound<'_, PyLinearSolver>>,
    batching: &str,
    tolerance: Option<f64>,
    max_iterations: Option<usize>,
) -> PyResult<Solution> {
    let name = "root";
    let mut functions = Functions::default();
    let f = of_two(name, f, &mut functions)?;
    let root = match (solve, start) {
        (Some(solve), None) => Root::new(f, of_one(name, solve, &mut functions)?),
        (None, Some(start)) => Root::newton(f, of_one(name, start, &mut functions)?),
        _ => return Err(one_of(name)),
    };
    solution(name, root, functions, Options { linear_solver, batching, tolerance, max_iterations })
}

/// The fixed point ``x = f(p, x)``, as a function of the parameters `p`, a tree.
///
/// It is what `solve(p)` finds, or, with `start` instead, what is reached from `start(p)` by applying `f` until nothing changes. Else
/// as `root`.
///
/// Examples
/// --------
/// >>> import pullback as pb
/// >>> from pullback.func import grad, implicit
/// >>> sqrt = implicit.fixed_point(lambda a, x: (a / x + x) * 0.5, start=lambda a: a)
/// >>> round(sqrt(pb.tensor(4.0)).item(), 5), round(grad(sqrt)(pb.tensor(4.0)).item(), 5)
/// (2.0, 0.25)
#[pyfunction]
#[pyo3(signature = (f, solve = None, *, start = None, linear_solver = None, batching = "loop", tolerance = None,
    max_iterations = None))]
#[allow(clippy::too_many_arguments, reason = "they are keywords")]
fn fixed_point(
    f: &Bound<'_, PyAny>,
    solve: Option<&Bound<'_, PyAny>>,
    start: Option<&Bound<'_, PyAny>>,
    linear_solver: Option<&Bound<'_, PyLinearSolver>>,
    batching: &str,
    tolerance: Option<f64>,
    max_iterations: Option<usize>,
) -> PyResult<Solution> {
    let name = "fixed_point";
    let mut functions = Functions::default();
    let f = of_two(name, f, &mut functions)?;
    let root = match (solve, start) {
        (Some(solve), None) => Root::fixed_point(f, of_one(name, solve, &mut functions)?),
        (None, Some(start)) => Root::iterate(f, of_one(name, start, &mut functions)?),
        _ => return Err(one_of(name)),
    };
    solution(name, root, functions, Options { linear_solver, batching, tolerance, max_iterations })
}

/// The solution of a linear system as a function of its parameters and its right-hand side, which `linear_solve` returns.
#[pyclass(module = "pullback.implicit", frozen, weakref)]
pub struct LinearSolution {
    system: LinearSolve<PyTree, PyTree>,
    own: Own,
}

#[pymethods]
impl LinearSolution {
    fn __call__<'py>(&self, p: &Bound<'py, PyAny>, b: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let both = (flatten(p)?, flatten(b)?);
        catch(|| self.system.apply(&both)).or_raise()?.build(p.py())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        self.own.traverse(self.system.holders(), &visit)
    }

    #[classmethod]
    fn __class_getitem__<'py>(cls: &Bound<'py, PyType>, item: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        generic(cls, item)
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.system)
    }
}

/// The solution `x` of ``matvec(p, x) = b``, which is linear in `x`, as a function ``(p, b)``.
///
/// It is what `solve(p, b)` finds, or what `linear_solver` does if there is none. Derivatives solve systems with the same matrix and
/// with its transpose; `transpose_solve(p, b)` is for the latter, and `symmetric` says that they are the same.
///
/// Examples
/// --------
/// >>> import pullback as pb
/// >>> from pullback.func import grad, implicit
/// >>> solve = implicit.linear_solve(lambda p, x: p * x)
/// >>> p, b = pb.tensor([2.0, 4.0]), pb.tensor([2.0, 2.0])
/// >>> solve(p, b).tolist()
/// [1.0, 0.5]
/// >>> grad(lambda p: solve(p, b).sum())(p).tolist()
/// [-0.5, -0.125]
#[pyfunction]
#[pyo3(signature = (matvec, solve = None, *, transpose_solve = None, symmetric = false, linear_solver = None,
    batching = "loop"))]
fn linear_solve(
    matvec: &Bound<'_, PyAny>,
    solve: Option<&Bound<'_, PyAny>>,
    transpose_solve: Option<&Bound<'_, PyAny>>,
    symmetric: bool,
    linear_solver: Option<&Bound<'_, PyLinearSolver>>,
    batching: &str,
) -> PyResult<LinearSolution> {
    let name = "linear_solve";
    let mut functions = Functions::default();
    let matvec = of_two(name, matvec, &mut functions)?;
    let mut system = LinearSolve::new(matvec).batching(parse_batching(name, batching)?);
    if let Some(solve) = solve {
        system = system.solve(of_two(name, solve, &mut functions)?);
    }
    if let Some(solve) = transpose_solve {
        system = system.transpose_solve(of_two(name, solve, &mut functions)?);
    }
    if symmetric {
        system = system.symmetric();
    }
    if let Some(solver) = linear_solver {
        system = system.linear_solver(solver.get().solver);
    }
    let own = Own { functions, holders: system.holders() };
    Ok(LinearSolution { system, own })
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let implicit = PyModule::new(module.py(), "pullback.implicit")?;
    implicit.add_class::<PyLinearSolver>()?;
    implicit.add_class::<Solution>()?;
    implicit.add_class::<LinearSolution>()?;
    implicit.add_function(wrap_pyfunction!(root, &implicit)?)?;
    implicit.add_function(wrap_pyfunction!(fixed_point, &implicit)?)?;
    implicit.add_function(wrap_pyfunction!(linear_solve, &implicit)?)?;
    module.add("implicit", implicit)
}
