//! NumPy's format for one array, `.npy`.
//!
//! All versions of the format are read, in row-major and column-major (Fortran) order and with either order of bytes; what is
//! written is of version 1, in row-major order and little-endian. Elements may have any dtype but `bf16`, which
//! NumPy does not have; others, such as its records and objects, are an error of kind [`Dtype`](crate::ErrorKind::Dtype).
//!
//! ```
//! use pullback::{Tensor, io::npy};
//! let path = std::env::temp_dir().join(format!("pullback-doc-{}.npy", std::process::id()));
//! npy::save(&path, &Tensor::from([[1.0, 2.0], [3.0, 4.0]]))?;
//! assert_eq!(npy::load(&path)?.to_vec::<f64>()?, [1.0, 2.0, 3.0, 4.0]);
//! # std::fs::remove_file(&path).unwrap();
//! # Ok::<(), pullback::Error>(())
//! ```
//!
//! # Source
//! The description of the format in NumPy's documentation (`numpy.lib.format`).

use std::io::{Read, Write};
use std::path::Path;

use npyz::{Endianness, NpyHeader, Order, TypeStr, WriteOptions, WriterBuilder};

use super::file;
use super::raw::{self, Bytes, byte_count, cut_off};
use crate::error::Context;
use crate::{DType, Error, ErrorKind, Result, Tensor, error::bail};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The longest header that is read, as by NumPy. Those of arrays have about a hundred bytes.
const MAX_HEADER: u64 = 10_000;

/// The most brackets that a header may have. That of an array has two pairs.
const MAX_BRACKETS: usize = 8;

/// The most dims that NumPy's arrays have.
const MAX_RANK: usize = 64;

/// The array of a file.
///
/// One in column-major order becomes a view of its transpose, which costs nothing.
///
/// # Errors
/// `Io` if the file cannot be read or is damaged; `Dtype` for elements of a type that tensors cannot have.
///
/// See the [module](self) for an example.
pub fn load(path: impl AsRef<Path>) -> Result<Tensor> {
    let path = path.as_ref();
    let read = || {
        let (mut file, len) = file::open(path)?;
        read(&mut file, len)
    };
    read().context(|| path.display().to_string()).context(|| "npy::load".into())
}

/// The array of a file that is in memory.
///
/// # Errors
/// As [`load`].
///
/// ```
/// use pullback::{Tensor, io::npy};
/// let bytes = npy::to_bytes(&Tensor::from([true, false]))?;
/// assert_eq!(npy::from_bytes(&bytes)?.to_vec::<bool>()?, [true, false]);
/// let err = npy::from_bytes(&bytes[..bytes.len() - 1]).unwrap_err();
/// assert_eq!(err.to_string(), "npy::from_bytes: expected 2 bytes of elements for bool[2], got 1");
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn from_bytes(mut bytes: &[u8]) -> Result<Tensor> {
    let len = bytes.len() as u64;
    read(&mut bytes, len).context(|| "npy::from_bytes".into())
}

/// Writes a tensor to a file. A file that is there is replaced once the new one is complete.
///
/// # Errors
/// `Io` if the file cannot be written; `Dtype` for `bf16`; `Shape` for more than 64 dims, which NumPy cannot have;
/// `ConcreteValueNeeded` for values that [`to_vec`](Tensor::to_vec) cannot read.
///
/// See the [module](self) for an example.
pub fn save(path: impl AsRef<Path>, tensor: &Tensor) -> Result<()> {
    let path = path.as_ref();
    let save = || {
        let (header, bytes) = prepare(tensor)?;
        let write = |file: &mut dyn file::Sink| {
            file.write_all(&header)?;
            bytes.with(&mut |part| file.write_all(part))
        };
        file::create(path, |file| write(file).map_err(file::unwritable)).context(|| path.display().to_string())
    };
    save().context(|| "npy::save".into())
}

/// The bytes of a file with a tensor.
///
/// # Errors
/// `Dtype`, `Shape` and `ConcreteValueNeeded` as for [`save`].
///
/// See [`from_bytes`] for an example.
pub fn to_bytes(tensor: &Tensor) -> Result<Vec<u8>> {
    let bytes = || {
        let (mut out, bytes) = prepare(tensor)?;
        out.reserve(bytes.len());
        bytes.with(&mut |part| out.write_all(part)).map_err(cut_off)?;
        Ok(out)
    };
    bytes().context(|| "npy::to_bytes".into())
}

/// Kind and size in NumPy's description of a dtype, without the order of bytes.
fn code(dtype: DType) -> Option<&'static str> {
    match dtype {
        DType::Bool => Some("b1"),
        DType::U8 => Some("u1"),
        DType::I32 => Some("i4"),
        DType::I64 => Some("i8"),
        DType::F16 => Some("f2"),
        DType::BF16 => None,
        DType::F32 => Some("f4"),
        DType::F64 => Some("f8"),
        DType::C64 => Some("c8"),
        DType::C128 => Some("c16"),
    }
}

/// Everything before the elements, and the elements.
pub(super) fn prepare(tensor: &Tensor) -> Result<(Vec<u8>, Bytes)> {
    let Some(code) = code(tensor.dtype()) else {
        bail!(Dtype, "expected elements that NumPy has, got {}", tensor.ty(); help = "convert it with `to_dtype`");
    };
    if tensor.rank() > MAX_RANK {
        bail!(Shape, "expected at most {MAX_RANK} dims, which is what NumPy can have, got {}", tensor.rank());
    }
    let order = if tensor.dtype().size() == 1 { '|' } else { '<' };
    let Ok(descr) = format!("{order}{code}").parse::<TypeStr>() else {
        bail!(Internal, "`{order}{code}` is no type of NumPy");
    };
    let shape: Vec<u64> = tensor.shape().iter().map(|&n| n as u64).collect();
    let header = WriteOptions::new_header_only().dtype(npyz::DType::Plain(descr)).shape(&shape).writer(Vec::new());
    Ok((header.write_header_only().map_err(file::unwritable)?, Bytes::of(tensor.data("save")?)))
}

/// Reads a file that is `len` bytes long.
pub(super) fn read(source: &mut dyn Read, len: u64) -> Result<Tensor> {
    let (header, rest) = header(source, len)?;
    let npyz::DType::Plain(descr) = header.dtype() else { return Err(records()) };
    let name = descr.to_string();
    let Some(dtype) = DType::ALL.into_iter().find(|&d| code(d) == name.get(1..)) else {
        let known: Vec<&str> = DType::ALL.into_iter().filter_map(code).collect();
        bail!(Dtype, "expected elements of type {}, got `{name}`", known.join(", "); help = "convert the array with \
            NumPy's `astype`");
    };
    let mut shape: Vec<usize> = header.shape().iter().map(|&n| usize::try_from(n).unwrap_or(usize::MAX)).collect();
    let bytes = byte_count(&shape, dtype)?;
    if bytes != rest {
        let ty = crate::TensorType::new(dtype, &shape);
        bail!(Io, "expected {bytes} bytes of elements for {ty}, got {rest}");
    }
    let big_endian = descr.endianness() == Endianness::Big;
    if header.order() == Order::C {
        return Ok(raw::read(source, &shape, dtype, big_endian)?.into());
    }
    shape.reverse();
    let array = raw::read(source, &shape, dtype, big_endian)?;
    let order: Vec<usize> = (0..shape.len()).rev().collect();
    Ok(array.permute(&order).into())
}

/// The header of a file, and how many bytes follow it.
///
/// `npyz` gets it once it can do no harm: it makes room for as much as a header says that it takes, recurses into brackets, and
/// multiplies sizes whatever comes out.
fn header(source: &mut dyn Read, len: u64) -> Result<(NpyHeader, u64)> {
    if len < 12 {
        bail!(Io, "expected a .npy file, got {len} bytes");
    }
    let mut bytes = vec![0; 10];
    source.read_exact(&mut bytes).map_err(cut_off)?;
    if bytes[..6] != *MAGIC {
        bail!(Io, "expected a .npy file, which begins with {MAGIC:?}, got {:?}", &bytes[..6]);
    }
    let size = match bytes[6] {
        1 => u32::from(u16::from_le_bytes([bytes[8], bytes[9]])),
        2 | 3 => {
            bytes.resize(12, 0);
            source.read_exact(&mut bytes[10..]).map_err(cut_off)?;
            u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]])
        }
        other => bail!(Io, "expected version 1, 2 or 3 of the format, got {other}"),
    };
    let (start, size) = (bytes.len(), u64::from(size));
    let rest = len - start as u64;
    if size > rest || size > MAX_HEADER {
        bail!(Io, "expected a header of at most {} bytes, got one that says {size}", rest.min(MAX_HEADER));
    }
    bytes.resize(start + size as usize, 0);
    let text = &mut bytes[start..];
    source.read_exact(text).map_err(cut_off)?;
    if text.windows(2).any(|pair| pair == b"[(") {
        return Err(records());
    }
    // Python 2 marked long integers.
    text.iter_mut().filter(|b| **b == b'L').for_each(|b| *b = b' ');
    let words = text.split(|b| !b.is_ascii_alphanumeric() && *b != b'_');
    let sizes = words.filter(|word| word.first().is_some_and(u8::is_ascii_digit));
    let numel = sizes
        .map(|word| std::str::from_utf8(word).ok()?.parse::<u64>().ok())
        .try_fold(1u64, |numel, size| numel.checked_mul(size?.max(1)));
    let brackets = text.iter().filter(|b| b"([{".contains(b)).count();
    if numel.is_none() || brackets > MAX_BRACKETS || text.iter().any(|b| b"+-".contains(b)) {
        bail!(Io, "expected a header with sizes that memory can hold, got {:?}", shortened(text));
    }
    let header = NpyHeader::from_reader(&bytes[..]).map_err(|e| {
        let text = shortened(&bytes[start..]);
        Error::new(ErrorKind::Io, format!("expected the header of an array, got {text:?}: {e}")).with_source(e)
    })?;
    Ok((header, rest - size))
}

#[cold]
fn records() -> Error {
    Error::new(ErrorKind::Dtype, "expected an array of numbers, got one of records")
        .with_help("save each field on its own")
}

/// The beginning of a header for a message.
fn shortened(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(100)]).trim_end().to_string()
}
