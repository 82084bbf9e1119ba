//! DLPack in both directions: elements that other libraries look at without a copy.
//!
//! Elements of tensors never change. So what is given away says that it is read-only, which only the versioned protocol can; and what
//! is taken without a copy must say so too.

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

use pullback::{DType, Memory, Tensor};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyDict, PyType};

use super::{PyTensor, numpy};
use crate::convert::compute;
use crate::error::OrRaise;

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct Device {
    kind: i32,
    number: i32,
}

const CPU: Device = Device { kind: 1, number: 0 };

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
struct ElementType {
    code: u8,
    bits: u8,
    lanes: u16,
}

/// `DLTensor`.
#[repr(C)]
struct View {
    data: *mut c_void,
    device: Device,
    rank: i32,
    dtype: ElementType,
    shape: *mut i64,
    strides: *mut i64,
    offset: u64,
}

/// `DLManagedTensor`.
#[repr(C)]
struct Managed {
    view: View,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    view: View,
}

const READ_ONLY: u64 = 1;
const COPIED: u64 = 2;

const NAME: &CStr = c"dltensor";
const USED: &CStr = c"used_dltensor";
const VERSIONED_NAME: &CStr = c"dltensor_versioned";
const VERSIONED_USED: &CStr = c"used_dltensor_versioned";

/// What the codes of the protocol mean.
fn code_of(dtype: DType) -> ElementType {
    let code = match dtype {
        DType::I32 | DType::I64 => 0,
        DType::U8 => 1,
        DType::F16 | DType::F32 | DType::F64 => 2,
        DType::BF16 => 4,
        DType::C64 | DType::C128 => 5,
        _ => 6,
    };
    ElementType { code, bits: 8 * dtype.size() as u8, lanes: 1 }
}

/// What a structure that was given away refers to.
struct Held {
    shape: Box<[i64]>,
    strides: Box<[i64]>,
    _memory: Memory,
}

/// A view of the elements, which `Held` keeps.
fn view_of(memory: Memory) -> (View, *mut c_void) {
    let mut held = Box::new(Held {
        shape: memory.shape().iter().map(|&n| n as i64).collect(),
        strides: memory.strides().iter().map(|&s| s as i64).collect(),
        _memory: memory.clone(),
    });
    let view = View {
        data: memory.as_ptr().cast_mut().cast(),
        device: CPU,
        rank: held.shape.len() as i32,
        dtype: code_of(memory.dtype()),
        shape: held.shape.as_mut_ptr(),
        strides: held.strides.as_mut_ptr(),
        offset: 0,
    };
    (view, Box::into_raw(held).cast())
}

/// Writes what frees a structure of ours, and what does so for a capsule that nobody took it from.
macro_rules! deleters {
    ($structure:ident, $delete:ident, $drop:ident, $name:ident) => {
        unsafe extern "C" fn $delete(place: *mut $structure) {
            // SAFETY: both are boxes that were made for the consumer, who calls this once.
            unsafe {
                drop(Box::from_raw((*place).context.cast::<Held>()));
                drop(Box::from_raw(place));
            }
        }

        unsafe extern "C" fn $drop(capsule: *mut ffi::PyObject) {
            // SAFETY: a capsule of this name holds a structure that nobody has taken.
            unsafe {
                if ffi::PyCapsule_IsValid(capsule, $name.as_ptr()) != 0 {
                    let place = ffi::PyCapsule_GetPointer(capsule, $name.as_ptr()).cast::<$structure>();
                    if let Some(deleter) = (*place).deleter {
                        deleter(place);
                    }
                }
            }
        }
    };
}
deleters!(Managed, delete_managed, drop_managed, NAME);
deleters!(Versioned, delete_versioned, drop_versioned, VERSIONED_NAME);

/// The device that a consumer asks for must be the CPU.
fn check_device(device: Option<(i32, i32)>) -> PyResult<()> {
    match device {
        Some((kind, number)) if (Device { kind, number }) != CPU => Err(PyBufferError::new_err(format!(
            "__dlpack__: expected the device (1, 0), the only one there is, got ({kind}, {number})"
        ))),
        _ => Ok(()),
    }
}

#[pymethods]
impl PyTensor {
    /// The elements for another library: `numpy.from_dlpack(t)`, `torch.from_dlpack(t)`.
    ///
    /// They are shared, and marked as read-only: nothing may be written there, also by PyTorch, which disregards the mark. Consumers
    /// who cannot be told so, because they know only the old protocol, get a copy.
    ///
    /// Raises RuntimeError for a value that a transform is working on or that requires gradients, BufferError for another device,
    /// and where a copy is needed but refused.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if stream.is_some() {
            return Err(PyBufferError::new_err("__dlpack__: expected no stream, as tensors are on the CPU"));
        }
        check_device(dl_device)?;
        let is_versioned = max_version.is_some_and(|(major, _)| major >= 1);
        let must_copy = copy == Some(true) || !is_versioned;
        if must_copy && copy == Some(false) {
            return Err(PyBufferError::new_err(
                "__dlpack__: expected a consumer that can be told that memory is read-only (version 1), or that takes a copy",
            ));
        }
        let mut memory = self.get().memory_for("__dlpack__").or_raise()?;
        if must_copy {
            // SAFETY: the memory is that of a tensor.
            let copied =
                unsafe { Tensor::copy_from_memory(memory.as_ptr(), memory.shape(), memory.strides(), memory.dtype()) };
            memory = copied.and_then(|t| t.memory()).or_raise()?;
        }
        let (view, context) = view_of(memory);
        // SAFETY: the structures are as the protocol says, and are freed by their deleters.
        unsafe {
            let capsule = if is_versioned {
                let flags = if must_copy { COPIED } else { READ_ONLY };
                let deleter = Some(delete_versioned as unsafe extern "C" fn(*mut Versioned));
                let held = Box::new(Versioned { major: 1, minor: 0, context, deleter, flags, view });
                ffi::PyCapsule_New(Box::into_raw(held).cast(), VERSIONED_NAME.as_ptr(), Some(drop_versioned))
            } else {
                let held = Box::new(Managed { view, context, deleter: Some(delete_managed) });
                ffi::PyCapsule_New(Box::into_raw(held).cast(), NAME.as_ptr(), Some(drop_managed))
            };
            Bound::from_owned_ptr_or_err(py, capsule)
        }
    }

    /// Where the elements are, for `__dlpack__`: the CPU.
    #[pyo3(signature = ())]
    fn __dlpack_device__(&self) -> (i32, i32) {
        (CPU.kind, CPU.number)
    }
}

/// A structure that was taken from a capsule of another library, and its view.
struct Taken {
    place: NonNull<c_void>,
    is_versioned: bool,
}

// SAFETY: the structure is only read, and its deleter may be called on any thread that is attached to the interpreter.
unsafe impl Send for Taken {}
// SAFETY: as above.
unsafe impl Sync for Taken {}

impl Taken {
    fn view(&self) -> &View {
        // SAFETY: the place holds a structure of this kind until it is dropped.
        unsafe {
            match self.is_versioned {
                true => &self.place.cast::<Versioned>().as_ref().view,
                false => &self.place.cast::<Managed>().as_ref().view,
            }
        }
    }

    fn is_read_only(&self) -> bool {
        // SAFETY: as above.
        self.is_versioned && unsafe { self.place.cast::<Versioned>().as_ref() }.flags & READ_ONLY != 0
    }

    /// Takes the structure out of a capsule.
    fn from_capsule(capsule: &Bound<'_, PyCapsule>) -> PyResult<Taken> {
        let is_versioned = capsule.is_valid_checked(Some(VERSIONED_NAME));
        if !is_versioned && !capsule.is_valid_checked(Some(NAME)) {
            return Err(PyBufferError::new_err(
                "from_dlpack: expected a capsule with a tensor that nobody has taken from it, got another one",
            ));
        }
        let place = capsule.pointer_checked(Some(if is_versioned { VERSIONED_NAME } else { NAME }))?;
        if is_versioned {
            // SAFETY: such a capsule holds this structure, whose first fields are the same in all versions.
            let major = unsafe { place.cast::<Versioned>().as_ref() }.major;
            if major != 1 {
                return Err(PyBufferError::new_err(format!(
                    "from_dlpack: expected version 1 of the protocol, got {major}"
                )));
            }
        }
        // The name tells the capsule that its contents have another owner now.
        let used = if is_versioned { VERSIONED_USED } else { USED };
        // SAFETY: the name is static.
        if unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) } != 0 {
            return Err(PyErr::fetch(capsule.py()));
        }
        Ok(Taken { place, is_versioned })
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        // Producers in Python expect to be attached. When the interpreter is gone, so is the memory.
        let place = self.place;
        let delete = |_: Python<'_>| {
            // SAFETY: the structure is ours, and is not used again.
            unsafe {
                match self.is_versioned {
                    true => {
                        let place = place.cast::<Versioned>().as_ptr();
                        if let Some(deleter) = (*place).deleter {
                            deleter(place);
                        }
                    }
                    false => {
                        let place = place.cast::<Managed>().as_ptr();
                        if let Some(deleter) = (*place).deleter {
                            deleter(place);
                        }
                    }
                }
            }
        };
        Python::try_attach(delete);
    }
}

/// Where the elements of a view are and what they look like.
struct Elements {
    start: *const u8,
    shape: Vec<usize>,
    strides: Vec<isize>,
    dtype: DType,
}

impl Elements {
    fn of(view: &View) -> PyResult<Elements> {
        if view.device != CPU {
            let Device { kind, number } = view.device;
            return Err(PyBufferError::new_err(format!(
                "from_dlpack: expected elements on the CPU, device (1, 0), got device ({kind}, {number}); help: bring them there first"
            )));
        }
        let dtype = DType::ALL.into_iter().find(|d| code_of(*d) == view.dtype).ok_or_else(|| {
            let ElementType { code, bits, lanes } = view.dtype;
            let kind = match code {
                0 => Some(("int", "int32")),
                1 => Some(("uint", "int64")),
                2 => Some(("float", "float64")),
                _ => None,
            };
            let got = match kind {
                Some((kind, to)) if lanes == 1 => {
                    format!("{kind}{bits}; help: convert them before, for example to {to}")
                }
                _ => format!("those of code {code} with {bits} bits and {lanes} lanes"),
            };
            PyTypeError::new_err(format!("from_dlpack: expected elements that a tensor can hold, got {got}"))
        })?;
        let rank = usize::try_from(view.rank).map_err(|_| {
            PyBufferError::new_err(format!("from_dlpack: expected a rank of at least 0, got {}", view.rank))
        })?;
        if rank > 0 && view.shape.is_null() {
            return Err(PyBufferError::new_err(format!("from_dlpack: expected the sizes of {rank} dims, got none")));
        }
        let list = |place: *mut i64| match rank {
            0 => Vec::new(),
            // SAFETY: the lists are as long as the rank says.
            _ => unsafe { std::slice::from_raw_parts(place, rank) }.to_vec(),
        };
        let sizes = list(view.shape);
        if let Some(n) = sizes.iter().find(|&&n| n < 0) {
            return Err(PyBufferError::new_err(format!(
                "from_dlpack: expected sizes of at least 0, got {n} in {sizes:?}"
            )));
        }
        let shape: Vec<usize> = sizes.iter().map(|&n| n as usize).collect();
        // Dims of size 0 do not make up for others, as elsewhere in the library.
        let span = shape.iter().try_fold(dtype.size(), |n, &d| n.checked_mul(d.max(1)));
        if span.is_none_or(|n| n > isize::MAX as usize / 16) {
            let text = format!("from_dlpack: expected a shape that memory can hold, got {sizes:?}");
            return Err(PyBufferError::new_err(text));
        }
        let is_empty = shape.contains(&0);
        let strides = if view.strides.is_null() {
            let mut strides = vec![1isize; rank];
            for k in (1..rank).rev() {
                strides[k - 1] = strides[k] * shape[k].max(1) as isize;
            }
            strides
        } else {
            list(view.strides).into_iter().map(|s| s as isize).collect()
        };
        if !is_empty && view.data.is_null() {
            return Err(PyBufferError::new_err(format!(
                "from_dlpack: expected the elements of {sizes:?}, got no address"
            )));
        }
        // The distance between the first and the last element, over all dims in one direction.
        let reach = shape.iter().zip(&strides).try_fold(dtype.size(), |sum, (&n, &stride)| {
            n.saturating_sub(1).checked_mul(stride.unsigned_abs())?.checked_mul(dtype.size())?.checked_add(sum)
        });
        if !is_empty && reach.is_none_or(|bytes| bytes > isize::MAX as usize) {
            let text = format!("from_dlpack: expected strides within memory, got {strides:?} for the shape {sizes:?}");
            return Err(PyBufferError::new_err(text));
        }
        let start = view.data.cast_const().cast::<u8>().wrapping_add(view.offset as usize);
        Ok(Elements { start, shape, strides, dtype })
    }
}

/// Asks an object for its elements, on the newest protocol that it knows.
fn take(obj: &Bound<'_, PyAny>) -> PyResult<Option<Taken>> {
    let py = obj.py();
    if obj.cast::<PyType>().is_ok() {
        return Ok(None);
    }
    let Some(method) = obj.getattr_opt(intern!(py, "__dlpack__"))? else { return Ok(None) };
    let options = PyDict::new(py);
    options.set_item("max_version", (1, 0))?;
    let capsule = match method.call((), Some(&options)) {
        Err(e) if e.is_instance_of::<PyTypeError>(py) => method.call0()?,
        other => other?,
    };
    let Ok(capsule) = capsule.cast::<PyCapsule>() else {
        let (of, got) = (obj.get_type(), capsule.get_type());
        return Err(PyTypeError::new_err(format!(
            "from_dlpack: expected `__dlpack__` of {of} to return a capsule, got {got}"
        )));
    };
    Ok(Some(Taken::from_capsule(capsule)?))
}

/// A tensor with a copy of the elements.
fn copied(py: Python<'_>, taken: &Taken) -> PyResult<Tensor> {
    let Elements { start, shape, strides, dtype } = Elements::of(taken.view())?;
    let (count, start) = (shape.iter().product(), start.expose_provenance());
    compute(py, count, || {
        // SAFETY: the producer keeps the elements until its structure is deleted.
        unsafe { Tensor::copy_from_memory(std::ptr::with_exposed_provenance(start), &shape, &strides, dtype) }
    })
    .or_raise()
}

/// A tensor with a copy of the elements that an object has for other libraries; `None` if it has none.
pub fn copy_of(obj: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    take(obj)?.map(|taken| copied(obj.py(), &taken)).transpose()
}

/// A tensor with the elements of a tensor or array of another library.
///
/// x: an object with `__dlpack__`.
/// copy: by default elements are shared if the other library says that they are read-only, and copied if not, because what is
///     written to them would change the tensor. `False` refuses to copy, `True` always does.
///
/// Raises BufferError for elements that are not on the CPU or that would have to be copied, TypeError for those of another kind and
/// for an object without `__dlpack__`.
///
/// >>> a = numpy.array([1.0, 2.0])
/// >>> t = pullback.from_dlpack(a)
/// >>> a[0] = 100.0
/// >>> t.tolist()
/// [1.0, 2.0]
#[pyfunction]
#[pyo3(signature = (x, *, copy=None))]
fn from_dlpack(x: &Bound<'_, PyAny>, copy: Option<bool>) -> PyResult<PyTensor> {
    let taken = match x.cast::<PyCapsule>() {
        Ok(capsule) => Some(Taken::from_capsule(capsule)?),
        Err(_) => take(x)?,
    };
    let Some(taken) = taken else {
        return Err(PyTypeError::new_err(format!(
            "from_dlpack: expected an object with `__dlpack__`, got {}",
            x.get_type()
        )));
    };
    let Elements { start, shape, strides, dtype } = Elements::of(taken.view())?;
    // Bytes that are no bools can only be found by reading them, and unaligned elements cannot be shared.
    // A read-only array of NumPy may be a view of one that is not.
    let is_read_only = taken.is_read_only()
        && (!x.hasattr(intern!(x.py(), "__array_struct__"))? || numpy::writable_base(x)?.is_none());
    let is_shared = copy != Some(true) && is_read_only && dtype != DType::Bool;
    if is_shared {
        // SAFETY: the producer promises that nobody writes to the elements, and keeps them until the structure is deleted.
        let tensor = unsafe { Tensor::from_memory(start, &shape, &strides, dtype, Box::new(taken)) };
        return Ok(PyTensor::new(tensor.or_raise()?));
    }
    if copy == Some(false) {
        return Err(PyBufferError::new_err(
            "from_dlpack: expected read-only elements to share, got some that can be written to, which would change the tensor; \
             help: leave out `copy=False`",
        ));
    }
    Ok(PyTensor::new(copied(x.py(), &taken)?))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(from_dlpack, module)?)
}
