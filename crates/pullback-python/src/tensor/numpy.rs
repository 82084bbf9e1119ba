//! NumPy's arrays in both directions, through the structure that `__array_struct__` describes, so that NumPy is imported only by
//! those who use it.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::{NonNull, null_mut};

use pullback::{DType, Memory, Tensor};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyType};

use super::PyTensor;
use crate::convert::compute;
use crate::dtype::python_name;
use crate::error::OrRaise;

/// `PyArrayInterface` of NumPy's C interface.
#[repr(C)]
struct ArrayStruct {
    two: c_int,
    rank: c_int,
    kind: c_char,
    itemsize: c_int,
    flags: c_int,
    shape: *mut isize,
    strides: *mut isize,
    data: *mut c_void,
    description: *mut ffi::PyObject,
}

const ALIGNED: c_int = 0x100;
const NATIVE_ORDER: c_int = 0x200;
const WRITEABLE: c_int = 0x400;

/// The letter of NumPy for the kind of number. There is none for `bfloat16`.
fn kind_of(dtype: DType) -> Option<u8> {
    match dtype {
        DType::Bool => Some(b'b'),
        DType::U8 => Some(b'u'),
        DType::I32 | DType::I64 => Some(b'i'),
        DType::F16 | DType::F32 | DType::F64 => Some(b'f'),
        DType::C64 | DType::C128 => Some(b'c'),
        _ => None,
    }
}

/// An array of NumPy as it lies in memory.
struct Layout<'py> {
    owner: Bound<'py, PyAny>,
    /// Keeps `structure`.
    _capsule: Bound<'py, PyCapsule>,
    structure: NonNull<ArrayStruct>,
}

impl<'py> Layout<'py> {
    /// The layout of an array or scalar of NumPy; `None` for another object.
    fn of(obj: &Bound<'py, PyAny>) -> PyResult<Option<Layout<'py>>> {
        // The types of scalars have such an attribute too, which is none of an array.
        if obj.cast::<PyType>().is_ok() {
            return Ok(None);
        }
        let Some(capsule) = obj.getattr_opt(intern!(obj.py(), "__array_struct__"))? else { return Ok(None) };
        let Ok(capsule) = capsule.cast_into::<PyCapsule>() else { return Ok(None) };
        let structure = capsule.pointer_checked(None)?.cast::<ArrayStruct>();
        let layout = Layout { owner: obj.clone(), _capsule: capsule, structure };
        if layout.get().two != 2 {
            return Err(PyTypeError::new_err("expected an `__array_struct__` of the known form, got another"));
        }
        Ok(Some(layout))
    }

    fn get(&self) -> &ArrayStruct {
        // SAFETY: the capsule is alive, and such capsules hold this structure.
        unsafe { self.structure.as_ref() }
    }

    fn dtype(&self) -> PyResult<Option<DType>> {
        let (kind, itemsize) = (self.get().kind as u8, self.get().itemsize);
        let plain = DType::ALL.into_iter().find(|d| kind_of(*d) == Some(kind) && d.size() as c_int == itemsize);
        // Other libraries bring their own types, which NumPy does not know.
        if plain.is_none() && kind == b'V' && itemsize == 2 && self.dtype_name()? == "bfloat16" {
            return Ok(Some(DType::BF16));
        }
        Ok(plain)
    }

    fn dtype_name(&self) -> PyResult<String> {
        self.owner.getattr("dtype")?.str()?.extract()
    }

    /// Shape, and strides in elements if they are whole numbers of elements.
    fn sizes(&self, dtype: DType) -> Option<(Vec<usize>, Vec<isize>)> {
        let structure = self.get();
        let rank = structure.rank as usize;
        if rank == 0 {
            return Some((Vec::new(), Vec::new()));
        }
        // SAFETY: both lists are as long as the rank says.
        let (shape, strides) = unsafe {
            (std::slice::from_raw_parts(structure.shape, rank), std::slice::from_raw_parts(structure.strides, rank))
        };
        let (size, shape) = (dtype.size() as isize, shape.iter().map(|&n| n as usize).collect());
        let strides: Option<Vec<isize>> = strides.iter().map(|&s| (s % size == 0).then_some(s / size)).collect();
        Some((shape, strides?))
    }

    fn has(&self, flags: c_int) -> bool {
        self.get().flags & flags == flags
    }
}

/// What to convert an array to first whose elements no tensor can have.
fn wider(name: &str) -> Option<&'static str> {
    match name {
        "int8" | "int16" | "uint16" => Some("int32"),
        "uint32" | "uint64" => Some("int64"),
        "float128" | "longdouble" => Some("float64"),
        "complex256" => Some("complex128"),
        _ => None,
    }
}

/// A tensor with a copy of an array or scalar of NumPy, converted if a dtype is given; `None` for another object.
pub fn copy_of(obj: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Option<Tensor>> {
    let Some(layout) = Layout::of(obj)? else { return Ok(None) };
    let (Some(own), true) = (layout.dtype()?, layout.has(ALIGNED | NATIVE_ORDER)) else {
        return converted(&layout, dtype).map(Some);
    };
    let Some((shape, strides)) = layout.sizes(own) else { return converted(&layout, dtype).map(Some) };
    let count = shape.iter().product();
    let start = layout.get().data.expose_provenance();
    let copy = move || {
        let start = std::ptr::with_exposed_provenance(start);
        // SAFETY: NumPy keeps the elements of an aligned array at these places while the array, which `layout` holds, exists.
        let copied = unsafe { Tensor::copy_from_memory(start, &shape, &strides, own) }?;
        dtype.map_or(Ok(copied.clone()), |dtype| copied.to_dtype(dtype))
    };
    compute(obj.py(), count, copy).or_raise().map(Some)
}

/// The tensor of an array that NumPy must convert first: to `dtype` or, if only the order of bytes or the alignment is foreign, to
/// what it is natively.
fn converted(layout: &Layout<'_>, dtype: Option<DType>) -> PyResult<Tensor> {
    let (owner, py) = (&layout.owner, layout.owner.py());
    let target = dtype.or(layout.dtype()?);
    let name = layout.dtype_name()?;
    let Some(target) = target.filter(|d| kind_of(*d).is_some()) else {
        let help = match wider(&name) {
            Some(wide) => format!("; help: convert it with `.astype('{wide}')`, or give a `dtype`"),
            None => String::new(),
        };
        return Err(PyTypeError::new_err(format!(
            "tensor: expected an array of numbers that a tensor can hold, got dtype {name}{help}"
        )));
    };
    let native = py.import(intern!(py, "numpy"))?.call_method1("require", (owner, python_name(target), "AC"))?;
    match Layout::of(&native)? {
        Some(layout) if layout.dtype()? == Some(target) && layout.has(ALIGNED | NATIVE_ORDER) => {
            copy_of(&native, None)?.ok_or_else(|| PyTypeError::new_err("tensor: expected an array"))
        }
        _ => Err(PyTypeError::new_err(format!("tensor: NumPy did not convert an array of dtype {name} to {target}"))),
    }
}

/// Keeps an object of Python for a tensor over its memory.
struct Owner {
    _object: Py<PyAny>,
}

/// A tensor over the memory of an array that nobody can write to.
pub fn shared(obj: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let Some(layout) = Layout::of(obj)? else {
        return Err(PyTypeError::new_err(format!("from_numpy: expected an array of NumPy, got {}", obj.get_type())));
    };
    if let Some(writable) = writable_base(obj)? {
        return Err(PyValueError::new_err(format!(
            "from_numpy: expected a read-only array to share memory with, got {writable}: writing to it would change the \
             tensor; help: call `.setflags(write=False)` on it, or leave out `copy=False`"
        )));
    }
    let dtype = layout.dtype()?.filter(|_| layout.has(ALIGNED | NATIVE_ORDER));
    let sizes = dtype.and_then(|dtype| Some((dtype, layout.sizes(dtype)?)));
    let Some((dtype, (shape, strides))) = sizes else {
        let name = layout.dtype_name()?;
        return Err(PyTypeError::new_err(format!(
            "from_numpy: expected an array whose elements a tensor can share, got dtype {name}, or elements that are not \
             aligned; help: leave out `copy=False`"
        )));
    };
    let start = layout.get().data.cast_const().cast::<u8>();
    if dtype == DType::Bool {
        // Any byte is true for NumPy.
        // SAFETY: the array holds the elements, which are bytes here.
        let bytes = unsafe { Tensor::from_memory(start, &shape, &strides, DType::U8, Box::new(())) };
        if !bytes.and_then(|b| b.le(1)?.all()?.item::<bool>()).or_raise()? {
            return Err(PyValueError::new_err(
                "from_numpy: expected bools that are 0 or 1; help: leave out `copy=False`",
            ));
        }
    }
    let owner = Owner { _object: obj.clone().unbind() };
    // SAFETY: the array is kept by the owner, and neither it nor an array that it is a view of can be written to.
    unsafe { Tensor::from_memory(start, &shape, &strides, dtype, Box::new(owner)) }.or_raise()
}

/// What may be written to of an array and those that it is a view of; nothing of another object.
pub fn writable_base(obj: &Bound<'_, PyAny>) -> PyResult<Option<&'static str>> {
    let (py, mut at, mut what) = (obj.py(), obj.clone(), "one that is not");
    loop {
        match Layout::of(&at)? {
            Some(layout) if layout.has(WRITEABLE) => return Ok(Some(what)),
            Some(_) => {}
            None => {
                // Memory of something else, such as a file: that has to say that it is not written to.
                let view = py.import(intern!(py, "builtins"))?.call_method1("memoryview", (&at,));
                let is_readonly = match view {
                    Ok(view) => view.getattr(intern!(py, "readonly"))?.is_truthy()?,
                    Err(_) => at.cast::<Exported>().is_ok(),
                };
                return Ok((!is_readonly).then_some("a view of memory that is not"));
            }
        }
        match at.getattr_opt(intern!(py, "base"))? {
            Some(base) if !base.is_none() => at = base,
            _ => return Ok(None),
        }
        what = "a view of one that is not";
    }
}

/// The elements of a tensor at one moment, which NumPy may look at: they do not change, whatever happens to the tensor.
#[pyclass(name = "_Memory", module = "pullback._core", frozen)]
pub struct Exported {
    memory: Memory,
    kind: u8,
}

/// What a capsule holds for NumPy.
#[repr(C)]
struct Description {
    structure: ArrayStruct,
    _shape: Box<[isize]>,
    _strides: Box<[isize]>,
    _memory: Memory,
}

/// The destructor of such capsules.
unsafe extern "C" fn drop_description(capsule: *mut ffi::PyObject) {
    // SAFETY: the capsule holds a pointer that `Box::into_raw` gave, once.
    unsafe {
        let place = ffi::PyCapsule_GetPointer(capsule, std::ptr::null()).cast::<Description>();
        if !place.is_null() {
            drop(Box::from_raw(place));
        }
    }
}

#[pymethods]
impl Exported {
    #[getter]
    fn __array_struct__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let memory = self.memory.clone();
        let size = memory.dtype().size() as isize;
        let mut shape: Box<[isize]> = memory.shape().iter().map(|&n| n as isize).collect();
        let mut strides: Box<[isize]> = memory.strides().iter().map(|s| s * size).collect();
        let structure = ArrayStruct {
            two: 2,
            rank: shape.len() as c_int,
            kind: self.kind as c_char,
            itemsize: size as c_int,
            flags: ALIGNED | NATIVE_ORDER,
            shape: shape.as_mut_ptr(),
            strides: strides.as_mut_ptr(),
            data: memory.as_ptr().cast_mut().cast(),
            description: null_mut(),
        };
        let held = Box::new(Description { structure, _shape: shape, _strides: strides, _memory: memory });
        let place = Box::into_raw(held);
        // SAFETY: the structure is the first thing that NumPy finds at the pointer, which the destructor frees.
        unsafe {
            let first = (&raw mut (*place).structure).cast::<c_void>();
            debug_assert_eq!(first.addr(), place.addr());
            let capsule = ffi::PyCapsule_New(place.cast(), std::ptr::null(), Some(drop_description));
            Bound::from_owned_ptr_or_err(py, capsule)
        }
    }
}

/// A read-only array of NumPy over the elements of a tensor.
pub fn array_of<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    let memory = tensor.memory_for("numpy").or_raise()?;
    let (kind, half) = match kind_of(memory.dtype()) {
        Some(kind) => (kind, None),
        None => match py.import(intern!(py, "ml_dtypes")) {
            Ok(types) => (b'u', Some(types.getattr("bfloat16")?)),
            Err(_) => {
                return Err(PyTypeError::new_err(format!(
                    "numpy: expected a dtype that NumPy has, got {}; help: convert it with `.float()` first, or install \
                     `ml_dtypes`",
                    tensor.ty()
                )));
            }
        },
    };
    let exported = Bound::new(py, Exported { memory, kind })?;
    let array = py.import(intern!(py, "numpy"))?.call_method1(intern!(py, "asarray"), (exported,))?;
    match half {
        Some(half) => array.call_method1("view", (half,)),
        None => Ok(array),
    }
}

#[pymethods]
impl PyTensor {
    /// The elements as a NumPy array over the same memory, which is read-only: elements of tensors never change.
    ///
    /// Call `.copy()` on the array to write to it. A `bfloat16` tensor needs the package `ml_dtypes`, or `.float()` first.
    ///
    /// force: takes a value that is differentiated as a constant: `t.detach().numpy()`.
    ///
    /// Raises RuntimeError for a value that a transform is working on or that requires gradients: what NumPy computes from it would
    /// have no derivative.
    ///
    /// >>> pullback.tensor([1.0, 2.0]).numpy()
    /// array([1., 2.], dtype=float32)
    #[pyo3(signature = (*, force=false))]
    fn numpy<'py>(&self, py: Python<'py>, force: bool) -> PyResult<Bound<'py, PyAny>> {
        let tensor = self.get();
        array_of(py, &if force { tensor.detach().or_raise()? } else { tensor })
    }

    /// What `numpy.asarray` calls.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let array = array_of(py, &self.get())?;
        if let Some(dtype) = dtype {
            let numpy = py.import(intern!(py, "numpy"))?;
            let dtype = numpy.call_method1(intern!(py, "dtype"), (dtype,))?;
            if !array.getattr(intern!(py, "dtype"))?.eq(&dtype)? {
                if copy == Some(false) {
                    return Err(PyValueError::new_err(format!(
                        "__array__: expected {dtype} without a copy, got a tensor of {}",
                        self.get().dtype()
                    )));
                }
                return array.call_method1(intern!(py, "astype"), (dtype,));
            }
        }
        if copy == Some(true) { array.call_method0(intern!(py, "copy")) } else { Ok(array) }
    }

    /// What `memoryview` calls from Python 3.12 on: the elements, read-only, through NumPy.
    #[pyo3(signature = (flags, /))]
    fn __buffer__<'py>(&self, py: Python<'py>, flags: i32) -> PyResult<Bound<'py, PyAny>> {
        const WRITABLE: i32 = 1;
        if flags & WRITABLE != 0 {
            return Err(PyBufferError::new_err("__buffer__: expected a reader, as elements of tensors never change"));
        }
        let array = array_of(py, &self.get())?;
        py.import(intern!(py, "builtins"))?.call_method1(intern!(py, "memoryview"), (array,))
    }

    /// NumPy's operators leave operands of ours to ours.
    #[classattr]
    fn __array_priority__() -> i32 {
        1000
    }

    /// NumPy's functions of elements refuse tensors, whose derivatives they would lose, and its operators are ours then.
    #[classattr]
    fn __array_ufunc__(py: Python<'_>) -> Py<PyAny> {
        py.None()
    }
}

/// A tensor with the elements of a NumPy array.
///
/// array: an array or scalar of NumPy.
/// copy: without a copy the tensor shares the memory of the array. Elements of tensors must not change, so that is for arrays
///     that are read-only, and are not views of one that is not, only; and it must stay so.
///
/// Raises TypeError for anything but an array of NumPy, and for elements that no tensor can have; ValueError for an array that
/// can be written to, if it shall be shared.
///
/// >>> a = numpy.array([1.0, 2.0])
/// >>> t = pullback.from_numpy(a)
/// >>> a[0] = 100.0
/// >>> t.tolist()
/// [1.0, 2.0]
#[pyfunction]
#[pyo3(signature = (array, *, copy=true))]
fn from_numpy(array: &Bound<'_, PyAny>, copy: bool) -> PyResult<PyTensor> {
    let tensor = match copy {
        true => copy_of(array, None)?.ok_or_else(|| {
            PyTypeError::new_err(format!("from_numpy: expected an array of NumPy, got {}", array.get_type()))
        })?,
        false => shared(array)?,
    };
    Ok(PyTensor::new(tensor))
}

/// What `__array__` of another object gives, as a tensor.
pub fn from_array_method(obj: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Option<Tensor>> {
    let py = obj.py();
    if obj.cast::<PyType>().is_ok() || !obj.hasattr(intern!(py, "__array__"))? {
        return Ok(None);
    }
    let numpy = py.import(intern!(py, "numpy"))?;
    copy_of(&numpy.call_method1(intern!(py, "asarray"), (obj,))?, dtype)
}

/// What NumPy makes of an object with a buffer, as a tensor.
pub fn from_buffer(obj: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Option<Tensor>> {
    let py = obj.py();
    let Ok(view) = py.import(intern!(py, "builtins"))?.call_method1(intern!(py, "memoryview"), (obj,)) else {
        return Ok(None);
    };
    let format: String = view.getattr(intern!(py, "format"))?.extract()?;
    let Some(own) = dtype_of_format(&format, view.getattr(intern!(py, "itemsize"))?.extract()?) else {
        return Err(PyTypeError::new_err(format!(
            "tensor: expected a buffer of numbers that a tensor can hold, got the format '{format}'"
        )));
    };
    let shape: Vec<usize> = view.getattr(intern!(py, "shape"))?.extract()?;
    let bytes = view.call_method0(intern!(py, "tobytes"))?;
    let tensor = super::pickle::from_bytes(bytes.extract()?, &shape, own)?;
    dtype.map_or(Ok(tensor.clone()), |dtype| tensor.to_dtype(dtype)).or_raise().map(Some)
}

/// The dtype of a format of the module `struct`.
fn dtype_of_format(format: &str, itemsize: usize) -> Option<DType> {
    let native = format.trim_start_matches(['@', '=', if cfg!(target_endian = "little") { '<' } else { '>' }]);
    let kind = match native {
        "?" => b'b',
        "B" | "c" => b'u',
        "i" | "l" | "q" | "n" => b'i',
        "e" | "f" | "d" => b'f',
        "Zf" | "Zd" => b'c',
        _ => return None,
    };
    DType::ALL.into_iter().find(|d| kind_of(*d) == Some(kind) && d.size() == itemsize)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // The interface that wheels for several versions of Python have gets buffers with 3.11 only. From 3.12 on, to set the method is to
    // say that the class has one.
    let class = module.py().get_type::<PyTensor>();
    class.setattr("__buffer__", class.getattr("__buffer__")?)?;
    module.add_class::<Exported>()?;
    module.add_function(wrap_pyfunction!(from_numpy, module)?)
}
