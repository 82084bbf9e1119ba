//! Batching.

use std::cell::RefCell;
use std::sync::Arc;

use pullback::{DimSpec, Error, ErrorKind, Randomness, Result, Tensor, Vmap};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyTuple};

use super::call::Call;
use super::jacobian::{chunk_size as parse_chunk_size, randomness as parse_randomness};
use super::transformed::{Transform, Transformed};
use crate::convert::count;
use crate::error::{OrRaise as _, from_py, to_py};
use crate::tensor::PyTensor;
use crate::tree::{
    Build as _, Kind, PyTree, Shaped, Structure, check_depth, class_name, flatten, flatten_into, is_array, open, short,
};

/// What `in_dims` or `out_dims` says at one place.
enum Spec {
    At(isize),
    Shared,
    Inner,
}

/// Reads the outermost part of a spec.
fn read(spec: &Bound<'_, PyAny>) -> PyResult<Spec> {
    if spec.is_none() {
        return Ok(Spec::Shared);
    }
    // A bool is an int, and hardly meant as one.
    if spec.is_instance_of::<PyInt>() && !spec.is_instance_of::<PyBool>() {
        let dim = spec.extract();
        return dim
            .map(Spec::At)
            .map_err(|_| PyIndexError::new_err(format!("vmap: dim {spec} is out of range for every tensor")));
    }
    if open(spec)?.is_some() {
        return Ok(Spec::Inner);
    }
    let got = short(spec);
    Err(PyTypeError::new_err(format!("vmap: expected dims to be ints, None, or containers of these, got {got}")))
}

/// The leaves of a value with the dim of each.
#[derive(Default)]
struct Mapped {
    leaves: Vec<Tensor>,
    dims: Vec<Option<isize>>,
    /// How many containers deep it is at present.
    depth: usize,
}

/// What is wrong at a place of the arguments or the results; the path grows from the inside out.
struct Fault {
    path: Vec<String>,
    error: Box<dyn FnOnce(&str) -> PyErr>,
}

impl Fault {
    fn new(error: impl FnOnce(&str) -> PyErr + 'static) -> Fault {
        Fault { path: Vec::new(), error: Box::new(error) }
    }

    fn raise(self, value: &str) -> PyErr {
        let path: String = self.path.into_iter().rev().collect();
        (self.error)(&format!("{value}{path}"))
    }
}

impl From<PyErr> for Fault {
    fn from(error: PyErr) -> Fault {
        Fault::new(move |_| error)
    }
}

impl Mapped {
    /// The structure of a part of the arguments, whose lanes lie where `spec` says. What all lanes share stays as it is.
    fn argument(&mut self, x: &Bound<'_, PyAny>, spec: &Bound<'_, PyAny>) -> std::result::Result<Structure, Fault> {
        match read(spec)? {
            // A tensor gets an object of the function's own, which may be changed in place.
            Spec::Shared if x.is_instance_of::<PyTensor>() => {
                let structure = flatten_into(x, &mut self.leaves)?;
                self.dims.push(None);
                Ok(structure)
            }
            Spec::Shared => Ok(Structure::Static(Arc::new(x.clone().unbind()))),
            Spec::At(dim) => self.everything(x, dim),
            Spec::Inner => self.inner(x, spec, "in_dims", Mapped::argument),
        }
    }

    /// All tensors of an argument, mapped along one dim.
    fn everything(&mut self, x: &Bound<'_, PyAny>, dim: isize) -> std::result::Result<Structure, Fault> {
        let structure = flatten_into(x, &mut self.leaves)?;
        let unfit = match &structure {
            Structure::Static(_) => Some((String::new(), x.clone())),
            _ => {
                let array = structure.find_static(&mut |s| is_array(s.bind(x.py())));
                array.map(|(path, s)| (path, s.bind(x.py()).clone()))
            }
        };
        if let Some((path, unfit)) = unfit {
            let got = short(&unfit);
            return Err(Fault::new(move |place| {
                PyTypeError::new_err(format!(
                    "vmap: expected a tensor at {place}{path}, because its in_dim is {dim}, got {got}; help: use None as the \
                     in_dim of what is the same for every lane"
                ))
            }));
        }
        self.dims.resize(self.leaves.len(), Some(dim));
        Ok(structure)
    }

    /// The structure of a part of the results, whose lanes shall lie where `spec` says.
    fn result(&mut self, x: &Bound<'_, PyAny>, spec: &Bound<'_, PyAny>) -> std::result::Result<Structure, Fault> {
        let dim = match read(spec)? {
            Spec::At(dim) => Some(dim),
            Spec::Shared => None,
            Spec::Inner => {
                // The dims of a single result may stand in a tuple, as those of several do.
                if let (Ok(only), None) = (spec.cast_exact::<PyTuple>(), open(x)?)
                    && only.len() == 1
                {
                    return self.result(x, &only.get_item(0)?);
                }
                return self.inner(x, spec, "out_dims", Mapped::result);
            }
        };
        let structure = flatten_into(x, &mut self.leaves)?;
        self.dims.resize(self.leaves.len(), dim);
        if let Some(dim) = dim
            && let Some((path, got)) = structure.find_static(&mut |_| true)
        {
            let got = short(got.bind(x.py()));
            return Err(Fault::new(move |place| {
                to_py(
                    Error::new(
                        ErrorKind::Dtype,
                        format!("the function must return tensors where out_dims is {dim}, got {got} at {place}{path}"),
                    )
                    .with_help("use None as the out_dim of what is the same for every lane"),
                )
            }));
        }
        Ok(structure)
    }

    /// A container with a container of specs.
    fn inner(
        &mut self,
        x: &Bound<'_, PyAny>,
        spec: &Bound<'_, PyAny>,
        name: &'static str,
        part: fn(&mut Self, &Bound<'_, PyAny>, &Bound<'_, PyAny>) -> std::result::Result<Structure, Fault>,
    ) -> std::result::Result<Structure, Fault> {
        check_depth(self.depth)?;
        let specs = open(spec)?;
        let Some((kind, children)) = open(x)? else { return Err(other_structure(name, spec, x)) };
        let Some(specs) = specs.and_then(|(other, specs)| kind.in_order(&other, specs)) else {
            return Err(other_structure(name, spec, x));
        };
        if specs.len() != children.len() {
            return Err(other_structure(name, spec, x));
        }
        let mut structures = Vec::with_capacity(children.len());
        self.depth += 1;
        for (k, ((child, fixed), (spec, _))) in children.into_iter().zip(specs).enumerate() {
            structures.push(match fixed {
                true => Structure::Static(Arc::new(child.unbind())),
                false => part(self, &child, &spec).map_err(|mut fault| {
                    fault.path.push(kind.step(k));
                    fault
                })?,
            });
        }
        self.depth -= 1;
        Ok(Structure::node(kind, structures))
    }
}

fn other_structure(name: &'static str, spec: &Bound<'_, PyAny>, x: &Bound<'_, PyAny>) -> Fault {
    let spec = spec.repr().map_or_else(|_| class_name(spec), |text| text.to_string());
    let got = flatten(x).map_or_else(|_| class_name(x), |tree| tree.structure.describe());
    Fault::new(move |place| {
        PyValueError::new_err(format!("vmap: expected {name} with the structure of {got} at {place}, got {spec}"))
    })
}

/// The dims of the leaves of a tree that is made together with them.
struct Dims<'a> {
    dims: &'a RefCell<Vec<Option<isize>>>,
    spec: &'a Py<PyAny>,
}

impl DimSpec<PyTree> for Dims<'_> {
    fn dims(&self, _: &PyTree) -> Result<Vec<Option<isize>>> {
        Ok(self.dims.borrow().clone())
    }
    fn describe(&self) -> String {
        Python::attach(|py| self.spec.bind(py).repr().map_or_else(|_| "dims".into(), |text| text.to_string()))
    }
}

struct Batched {
    in_dims: Py<PyAny>,
    out_dims: Py<PyAny>,
    randomness: Randomness,
    chunk_size: Option<usize>,
    batch_size: Option<usize>,
}

impl Batched {
    fn arguments(&self, args: &Bound<'_, PyTuple>, mapped: &mut Mapped) -> PyResult<Structure> {
        let spec = self.in_dims.bind(args.py());
        let numbers: Vec<usize> = (0..args.len()).collect();
        let mut children = Vec::with_capacity(args.len());
        let specs = spec.cast::<PyTuple>().ok();
        if let Some(specs) = specs
            && specs.len() != args.len()
        {
            let (n, spec) = (args.len(), spec.repr()?);
            return Err(PyValueError::new_err(format!(
                "vmap: expected in_dims for {n} positional arguments, got {spec}"
            )));
        }
        for (n, x) in args.iter().enumerate() {
            let child = match specs {
                Some(specs) => mapped.argument(&x, &specs.get_item(n)?),
                None => mapped.argument(&x, spec),
            };
            children.push(child.map_err(|fault| fault.raise(&format!("argument[{n}]")))?);
        }
        Ok(Structure::node(Kind::Arguments { numbers, single: false }, children))
    }
}

impl Transform for Batched {
    fn call<'py>(&self, call: &Call<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        let py = call.args.py();
        let mut mapped = Mapped::default();
        let structure = self.arguments(call.args, &mut mapped)?;
        let (in_dims, out_dims) = (RefCell::new(mapped.dims), RefCell::default());
        let x = Shaped::new(mapped.leaves, structure);
        let f = |x: &PyTree| -> Result<PyTree> {
            let out = call.run(x)?;
            let mut mapped = Mapped::default();
            let structure = mapped.result(&out, self.out_dims.bind(py)).map_err(|f| from_py(f.raise("result")))?;
            out_dims.replace(mapped.dims);
            Ok(Shaped::new(mapped.leaves, structure))
        };
        let mut options = Vmap::new()
            .in_dims(Dims { dims: &in_dims, spec: &self.in_dims })
            .out_dims(Dims { dims: &out_dims, spec: &self.out_dims })
            .randomness(self.randomness);
        if let Some(size) = self.chunk_size {
            options = options.chunk_size(size);
        }
        if let Some(size) = self.batch_size {
            options = options.batch_size(size);
        }
        options.of(f)(&x).or_raise()?.build(py)
    }
}

/// Maps a function over a dimension of its arguments: equal to a loop over the lanes followed by a stack, but `func` runs once on
/// all lanes, and sees the shapes of one.
///
/// Parameters
/// ----------
/// func
///     Takes trees of tensors, and constants. Keyword arguments are constants.
/// in_dims
///     Where the lanes of the positional arguments lie: an int for all of them, or a tuple with an entry for each; an entry is an
///     int, ``None`` for what all lanes share, or a container like the argument with such entries. Negative ints count from the end.
/// out_dims
///     Where the lanes of the results shall lie, in the same way. ``None`` is for what does not depend on the lane, and may then be
///     anything.
/// randomness
///     ``'error'``: random numbers are an error; ``'different'``: each lane draws its own; ``'same'``: all lanes share them.
/// chunk_size
///     How many lanes to run at once, at most. The numbers are the same. With 1 it is a plain loop, in which `func` may read the
///     data of its arguments.
/// batch_size
///     The number of lanes, which is needed if nothing is mapped.
///
/// Raises
/// ------
/// ValueError
///     If sizes differ, nothing is mapped, or a spec does not fit.
/// TypeError
///     If something other than a tensor has an int as its dim.
/// IndexError
///     If a dim does not exist, or is ``None`` for a result that depends on the lane.
///
/// Examples
/// --------
/// >>> import pullback as pb
/// >>> from pullback.func import vmap
/// >>> a, b = pb.tensor([[1.0, 2.0], [3.0, 4.0]]), pb.tensor([10.0, 20.0])
/// >>> vmap(lambda x, y: (x * y).sum(), in_dims=(0, None))(a, b).tolist()
/// [50.0, 110.0]
/// >>> vmap(lambda p, s: p["x"] * s, in_dims=({"x": 1}, 0), out_dims=1)({"x": a}, b).tolist()
/// [[10.0, 40.0], [30.0, 80.0]]
#[pyfunction]
#[pyo3(
    signature = (func, in_dims = Given(None), out_dims = Given(None), randomness = Given(None), *, chunk_size = None, batch_size = None),
    text_signature = "(func, in_dims=0, out_dims=0, randomness='error', *, chunk_size=None, batch_size=None)"
)]
pub fn vmap(
    func: &Bound<'_, PyAny>,
    in_dims: Given,
    out_dims: Given,
    randomness: Given,
    chunk_size: Option<&Bound<'_, PyAny>>,
    batch_size: Option<&Bound<'_, PyAny>>,
) -> PyResult<Transformed> {
    let py = func.py();
    let (in_dims, out_dims) = (in_dims.or_zero(py)?, out_dims.or_zero(py)?);
    let outer = in_dims.bind(py);
    if matches!(read(outer)?, Spec::Inner) && !outer.is_instance_of::<PyTuple>() {
        let got = class_name(outer);
        return Err(PyTypeError::new_err(format!(
            "vmap: expected in_dims to be an int or a tuple with an entry for each positional argument, got {got}"
        )));
    }
    for spec in [outer, out_dims.bind(py)] {
        // One that contains itself is refused here.
        flatten(spec)?;
        check(spec, 0)?;
    }
    let (randomness, chunk_size) = (parse_randomness(py, "vmap", &randomness)?, parse_chunk_size("vmap", chunk_size)?);
    let batch_size = batch_size.map(|size| count("vmap", "batch_size", 0, size)).transpose()?;
    Transformed::new("vmap", func, Batched { in_dims, out_dims, randomness, chunk_size, batch_size })
}

/// An error unless a spec is made of ints and None.
fn check(spec: &Bound<'_, PyAny>, depth: usize) -> PyResult<()> {
    check_depth(depth)?;
    if let Spec::Inner = read(spec)?
        && let Some((_, inner)) = open(spec)?
    {
        for (inner, fixed) in inner {
            if !fixed {
                check(&inner, depth + 1)?;
            }
        }
    }
    Ok(())
}

/// An argument for which None is not the same as nothing.
pub struct Given(pub(super) Option<Py<PyAny>>);

impl FromPyObject<'_, '_> for Given {
    type Error = PyErr;

    fn extract(x: Borrowed<'_, '_, PyAny>) -> PyResult<Given> {
        Ok(Given(Some(x.to_owned().unbind())))
    }
}

impl Given {
    pub(super) fn get<'a, 'py>(&'a self, py: Python<'py>) -> Option<&'a Bound<'py, PyAny>> {
        self.0.as_ref().map(|given| given.bind(py))
    }

    fn or_zero(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self.0 {
            Some(given) => Ok(given),
            None => Ok(0i64.into_pyobject(py)?.into_any().unbind()),
        }
    }
}
