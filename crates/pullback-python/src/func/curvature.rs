//! Parts of a Hessian without the Hessian.

use pullback::{HessianDiagonal, Hvp, Laplacian, Randomness, Result, Tensor, Vhp};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::call::{Argnums, Call, split, tensor};
use super::grad::with_aux;
use super::jacobian::{chunk_size as parse_chunk_size, randomness as parse_randomness};
use super::transformed::{Transform, Transformed, check_callable};
use super::vjp::{like, triple};
use super::vmap::Given;
use crate::error::OrRaise as _;
use crate::memory::catch;
use crate::tree::{Build as _, PyTree};

struct Diagonal {
    name: &'static str,
    /// Whether the diagonal is summed.
    trace: bool,
    argnums: Argnums,
    has_aux: bool,
    chunk_size: Option<usize>,
    randomness: Randomness,
}

impl Transform for Diagonal {
    fn call<'py>(&self, call: &Call<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        let py = call.args.py();
        let x = call.select(self.name, &self.argnums)?;
        let f = |x: &PyTree| scalar(call, x, self.has_aux);
        if self.trace {
            let mut options = Laplacian::new().has_aux().randomness(self.randomness);
            if let Some(size) = self.chunk_size {
                options = options.chunk_size(size);
            }
            let (trace, aux) = options.of(f)(&x).or_raise()?;
            return with_aux(trace.build(py)?, aux);
        }
        let mut options = HessianDiagonal::new().has_aux().randomness(self.randomness);
        if let Some(size) = self.chunk_size {
            options = options.chunk_size(size);
        }
        let (diagonal, aux) = options.of(f)(&x).or_raise()?;
        with_aux(diagonal.build(py)?, aux)
    }
}

fn scalar(call: &Call<'_, '_>, x: &PyTree, has_aux: bool) -> Result<(Tensor, Option<PyTree>)> {
    let (value, aux) = split(call.run(x)?, has_aux)?;
    Ok((tensor(&value)?, aux))
}

fn diagonal(
    name: &'static str,
    trace: bool,
    func: &Bound<'_, PyAny>,
    argnums: Option<&Bound<'_, PyAny>>,
    has_aux: bool,
    options: (Given, Option<&Bound<'_, PyAny>>),
) -> PyResult<Transformed> {
    let argnums = Argnums::parse(name, argnums)?;
    let randomness = parse_randomness(func.py(), name, &options.0)?;
    let chunk_size = parse_chunk_size(name, options.1)?;
    Transformed::new(name, func, Diagonal { name, trace, argnums, has_aux, chunk_size, randomness })
}

/// The Laplacian of a scalar function: the trace of its Hessian, a 0-d tensor; for trees, the sum over all tensors.
///
/// It follows at most `chunk_size` directions at once, 64 if nothing is said. See `grad` for `argnums`, `has_aux` and errors.
///
/// Examples
/// --------
/// >>> import pullback as pb
/// >>> from pullback.func import laplacian, vmap
/// >>> points = pb.tensor([[1.0, 2.0], [3.0, 4.0]])
/// >>> vmap(laplacian(lambda x: (x**3).sum()))(points).tolist()
/// [18.0, 42.0]
#[pyfunction]
#[pyo3(
    signature = (func, argnums = None, has_aux = false, *, randomness = Given(None), chunk_size = None),
    text_signature = "(func, argnums=0, has_aux=False, *, randomness='error', chunk_size=None)"
)]
pub fn laplacian(
    func: &Bound<'_, PyAny>,
    argnums: Option<&Bound<'_, PyAny>>,
    has_aux: bool,
    randomness: Given,
    chunk_size: Option<&Bound<'_, PyAny>>,
) -> PyResult<Transformed> {
    diagonal("laplacian", true, func, argnums, has_aux, (randomness, chunk_size))
}

/// The diagonal of the Hessian of a scalar function, shaped like the argument. It costs as much as the `laplacian`, and has its
/// options.
///
/// Examples
/// --------
/// >>> import pullback as pb
/// >>> from pullback.func import hessian_diagonal
/// >>> hessian_diagonal(lambda x: (x**3).sum())(pb.tensor([1.0, 2.0])).tolist()
/// [6.0, 12.0]
#[pyfunction]
#[pyo3(
    signature = (func, argnums = None, has_aux = false, *, randomness = Given(None), chunk_size = None),
    text_signature = "(func, argnums=0, has_aux=False, *, randomness='error', chunk_size=None)"
)]
pub fn hessian_diagonal(
    func: &Bound<'_, PyAny>,
    argnums: Option<&Bound<'_, PyAny>>,
    has_aux: bool,
    randomness: Given,
    chunk_size: Option<&Bound<'_, PyAny>>,
) -> PyResult<Transformed> {
    diagonal("hessian_diagonal", false, func, argnums, has_aux, (randomness, chunk_size))
}

/// The value of a scalar function, and its Hessian times a vector, by forward over reverse mode.
///
/// `inputs` is the argument of `func`, or the tuple of its arguments, and `v` a tree like it. A product costs a few runs of `func`
/// and no more memory than a gradient. With `has_aux`, `func` returns a pair of its value and auxiliary data. Keyword arguments are
/// constants.
///
/// Returns
/// -------
/// `(value, product)`, or `(value, product, aux)`; the product is like `inputs`.
///
/// Raises
/// ------
/// As `grad` and `jvp`.
///
/// Examples
/// --------
/// >>> import pullback as pb
/// >>> from pullback.func import hvp
/// >>> value, product = hvp(lambda x: (x**3).sum(), pb.tensor([1.0, 2.0]), pb.tensor([1.0, 10.0]))
/// >>> value.item(), product.tolist()
/// (9.0, [6.0, 120.0])
#[pyfunction]
#[pyo3(signature = (func, inputs, v, *, has_aux = false, **kwargs))]
pub fn hvp<'py>(
    func: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyAny>,
    v: &Bound<'py, PyAny>,
    has_aux: bool,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyTuple>> {
    product("hvp", func, inputs, v, kwargs, |call, x, v| {
        Hvp::new().has_aux().of(|x: &PyTree| scalar(call, x, has_aux))(x, v)
    })
}

/// The value of a scalar function, and a vector times its Hessian, by reverse over forward mode.
///
/// The Hessian is symmetric, so this is the product that `hvp` gives, by another way, with the same arguments.
///
/// Examples
/// --------
/// >>> import pullback as pb
/// >>> from pullback.func import vhp
/// >>> value, product = vhp(lambda x: (x**3).sum(), pb.tensor([1.0, 2.0]), pb.tensor([1.0, 10.0]))
/// >>> product.tolist()
/// [6.0, 120.0]
#[pyfunction]
#[pyo3(signature = (func, inputs, v, *, has_aux = false, **kwargs))]
pub fn vhp<'py>(
    func: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyAny>,
    v: &Bound<'py, PyAny>,
    has_aux: bool,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyTuple>> {
    product("vhp", func, inputs, v, kwargs, |call, x, v| {
        Vhp::new().has_aux().of(|x: &PyTree| scalar(call, x, has_aux))(x, v)
    })
}

/// The value, the product, and the auxiliary data.
type Product = (Tensor, PyTree, Option<PyTree>);

fn product<'py>(
    name: &'static str,
    func: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyAny>,
    v: &Bound<'py, PyAny>,
    kwargs: Option<&Bound<'py, PyDict>>,
    run: impl FnOnce(&Call<'_, 'py>, &PyTree, &PyTree) -> Result<Product>,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = func.py();
    check_callable(name, func)?;
    let several = inputs.cast_exact::<PyTuple>().ok();
    let args = match several {
        Some(args) => args.clone(),
        None => PyTuple::new(py, [inputs])?,
    };
    let call = Call { function: func, args: &args, kwargs };
    let x = if several.is_some() { call.all(name) } else { call.select(name, &Argnums::One(0)) }?;
    let v = like(name, &x.structure, "v", v)?;
    let (value, product, aux) = catch(|| run(&call, &x, &v)).or_raise()?;
    triple(value.build(py)?, product.build(py)?, aux)
}
