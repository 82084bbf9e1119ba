//! Keys and generators of random numbers, and the functions that PyTorch has for drawing them.
//!
//! The methods that draw are those of the table of the library; `ops` attaches them to both classes.

mod draw;

use std::sync::{Arc, Mutex, PoisonError};

use pullback::random::{AnySource, Generator, Key};
use pyo3::Borrowed;
use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyList;

use crate::convert::count;

/// What random numbers are drawn from: the same key gives the same numbers, on every machine.
///
/// Draws from one key are not independent of each other; derive a key for each with `split` or `fold_in`. Below `vmap`, the option
/// `randomness` says whether lanes share their numbers.
///
/// >>> key = pullback.random.Key(7)
/// >>> (key.uniform((2,)) == key.uniform((2,))).all().item()
/// True
/// >>> a, b = key.split()
/// >>> (a.uniform((2,)) == b.uniform((2,))).any().item()
/// False
#[pyclass(name = "Key", module = "pullback.random", frozen, eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub struct PyKey(Key);

#[pymethods]
impl PyKey {
    #[new]
    #[pyo3(signature = (seed))]
    fn new(seed: &Bound<'_, PyAny>) -> PyResult<PyKey> {
        Ok(PyKey(Key::new(seed_of("Key", seed)?)))
    }

    /// The key number `number` of those that derive from this one.
    #[pyo3(signature = (number))]
    fn fold_in(&self, number: &Bound<'_, PyAny>) -> PyResult<PyKey> {
        let number = number.extract::<u64>().map_err(|e| {
            let text = format!("fold_in: expected a number of at least 0 that fits 64 bits, got {number}");
            if e.is_instance_of::<PyTypeError>(number.py()) {
                PyTypeError::new_err(text)
            } else {
                PyValueError::new_err(text)
            }
        })?;
        Ok(PyKey(self.0.fold_in(number)))
    }

    /// So many keys that derive from this one: those of `fold_in` for the numbers from 0.
    #[pyo3(signature = (num=None), text_signature = "($self, num=2)")]
    fn split<'py>(&self, py: Python<'py>, num: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyList>> {
        let num = num.map_or(Ok(2), |num| count("split", "num", 0, num))? as u64;
        let mut keys = Vec::new();
        if usize::try_from(num).ok().is_none_or(|num| keys.try_reserve_exact(num).is_err()) {
            return Err(PyMemoryError::new_err(format!(
                "split: expected a number of keys that memory can hold, got {num}"
            )));
        }
        for k in 0..num {
            if k % (1 << 16) == 0 {
                py.check_signals()?;
            }
            keys.push(Bound::new(py, PyKey(self.0.fold_in(k)))?);
        }
        PyList::new(py, keys)
    }

    fn __repr__(&self) -> String {
        match self.0.to_bits() {
            [seed, 0] => format!("Key({seed})"),
            [key, stream] => format!("<Key {key:016x}.{stream:016x}>"),
        }
    }

    /// Pickles as its bits.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, ([u64; 2],))> {
        Ok((py.import("pullback._core")?.getattr("_rebuild_key")?, (self.0.to_bits(),)))
    }
}

#[pyfunction]
#[pyo3(signature = (bits))]
fn _rebuild_key(bits: [u64; 2]) -> PyKey {
    PyKey(Key::from_bits(bits))
}

/// A key with a counter: each draw takes other numbers, those of the next key.
///
/// Threads may share one, and which of them gets which numbers then depends on who comes first.
///
/// >>> g = pullback.random.Generator(7)
/// >>> (g.uniform((2,)) == g.uniform((2,))).any().item()
/// False
#[pyclass(name = "Generator", module = "pullback.random", frozen)]
pub struct PyGenerator {
    state: Mutex<(Arc<Generator>, u64)>,
}

impl PyGenerator {
    fn seeded(seed: u64) -> PyGenerator {
        PyGenerator { state: Mutex::new((Arc::new(Generator::new(seed)), seed)) }
    }

    pub fn get(&self) -> Arc<Generator> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0.clone()
    }
}

/// A seed; PyTorch takes negative ones too.
fn seed_of(function: &str, seed: &Bound<'_, PyAny>) -> PyResult<u64> {
    if let Ok(seed) = seed.extract::<u64>() {
        return Ok(seed);
    }
    match seed.extract::<i64>() {
        Ok(seed) => Ok(seed as u64),
        Err(_) => Err(PyValueError::new_err(format!("{function}: expected a seed of 64 bits, got {seed}"))),
    }
}

#[pymethods]
impl PyGenerator {
    #[new]
    #[pyo3(signature = (seed=None))]
    fn new(seed: Option<&Bound<'_, PyAny>>) -> PyResult<PyGenerator> {
        Ok(PyGenerator::seeded(seed.map_or(Ok(DEFAULT_SEED), |seed| seed_of("Generator", seed))?))
    }

    /// Begins again with the numbers of a seed. Returns the generator.
    #[pyo3(signature = (seed))]
    fn manual_seed<'py>(slf: Bound<'py, Self>, seed: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        let seed = seed_of("manual_seed", seed)?;
        let state = (Arc::new(Generator::new(seed)), seed);
        let old = std::mem::replace(&mut *slf.get().state.lock().unwrap_or_else(PoisonError::into_inner), state);
        drop(old);
        Ok(slf)
    }

    /// The seed that the numbers began with.
    #[pyo3(signature = ())]
    fn initial_seed(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1
    }

    /// The next key.
    ///
    /// A graph that is being captured cannot see what becomes of it, so it refuses to be finished; draw from the generator itself
    /// there.
    #[pyo3(signature = ())]
    fn next_key(&self) -> PyKey {
        PyKey(self.get().next_key())
    }

    fn __repr__(&self) -> String {
        format!("Generator({})", self.initial_seed())
    }
}

/// The seed of generators that are given none, so that programs give the same numbers each time.
const DEFAULT_SEED: u64 = 0;

/// The generator of functions that are given none.
static DEFAULT: PyOnceLock<Py<PyGenerator>> = PyOnceLock::new();

fn default_generator(py: Python<'_>) -> PyResult<&Bound<'_, PyGenerator>> {
    Ok(DEFAULT.get_or_try_init(py, || Py::new(py, PyGenerator::seeded(DEFAULT_SEED)))?.bind(py))
}

/// What an argument draws from, if it is a key or a generator.
pub fn source(obj: Borrowed<'_, '_, PyAny>) -> Option<AnySource> {
    if let Ok(key) = obj.cast::<PyKey>() {
        return Some(AnySource::Key(key.get().0));
    }
    Some(AnySource::Generator(obj.cast::<PyGenerator>().ok()?.get().get()))
}

/// The generator that a function was given: a `Generator`, a `Key`, or none for that of the process.
pub fn generator(py: Python<'_>, given: Option<&Bound<'_, PyAny>>) -> PyResult<Arc<Generator>> {
    let Some(given) = given.filter(|g| !g.is_none()) else { return Ok(default_generator(py)?.get().get()) };
    match source(given.as_borrowed()) {
        Some(AnySource::Generator(generator)) => Ok(generator),
        Some(AnySource::Key(key)) => Ok(Arc::new(key.into())),
        None => Err(PyTypeError::new_err(format!("expected a Generator or a Key, got {}", given.get_type()))),
    }
}

/// Begins again with the numbers of a seed, for all functions that are given no generator. Returns their generator.
///
/// >>> _ = pullback.manual_seed(0); a = pullback.rand(2)
/// >>> _ = pullback.manual_seed(0); b = pullback.rand(2)
/// >>> (a == b).all().item()
/// True
#[pyfunction]
#[pyo3(signature = (seed))]
fn manual_seed<'py>(py: Python<'py>, seed: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyGenerator>> {
    PyGenerator::manual_seed(default_generator(py)?.clone(), seed)
}

/// The seed that the numbers of functions without generator began with.
#[pyfunction]
#[pyo3(signature = ())]
fn initial_seed(py: Python<'_>) -> PyResult<u64> {
    Ok(default_generator(py)?.get().initial_seed())
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add_class::<PyKey>()?;
    module.add_class::<PyGenerator>()?;
    module.add("default_generator", default_generator(py)?)?;
    module.add_function(wrap_pyfunction!(_rebuild_key, module)?)?;
    module.add_function(wrap_pyfunction!(manual_seed, module)?)?;
    module.add_function(wrap_pyfunction!(initial_seed, module)?)?;
    draw::register(module)
}
