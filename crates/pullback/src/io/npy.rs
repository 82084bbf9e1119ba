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

use std::io::{BufReader, Read, Write};
use std::path::Path;

use super::raw::{self, Bytes, byte_count, cut_off};
use crate::error::Context;
use crate::{DType, Result, Tensor, error::bail};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The longest header that is read. Those of arrays have about a hundred bytes.
const MAX_HEADER: usize = 1 << 20;

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
        let (file, len) = raw::open(path)?;
        read(&mut BufReader::new(file), len)
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
/// `Io` if the file cannot be written; `Dtype` for `bf16`; `ConcreteValueNeeded` for values that [`to_vec`](Tensor::to_vec) cannot read.
///
/// See the [module](self) for an example.
pub fn save(path: impl AsRef<Path>, tensor: &Tensor) -> Result<()> {
    let path = path.as_ref();
    let save = || {
        let (header, bytes) = prepare(tensor)?;
        raw::create(path, |file| {
            file.write_all(&header)?;
            bytes.with(&mut |part| file.write_all(part))
        })
        .context(|| path.display().to_string())
    };
    save().context(|| "npy::save".into())
}

/// The bytes of a file with a tensor.
///
/// # Errors
/// `Dtype` and `ConcreteValueNeeded` as for [`save`].
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
    let order = if tensor.dtype().size() == 1 { '|' } else { '<' };
    let sizes: String = tensor.shape().iter().map(|n| format!("{n}, ")).collect();
    // A tuple of one element keeps its comma.
    let sizes = if tensor.rank() == 1 { sizes.trim_end() } else { sizes.trim_end_matches(", ") };
    let mut text = format!("{{'descr': '{order}{code}', 'fortran_order': False, 'shape': ({sizes}), }}");
    // The elements begin at a multiple of 64, after a line break.
    let long = text.len() + 80 > usize::from(u16::MAX);
    let before = MAGIC.len() + if long { 6 } else { 4 };
    let padded = (before + text.len() + 1).next_multiple_of(64) - before;
    text.extend(std::iter::repeat_n(' ', padded - 1 - text.len()));
    text.push('\n');
    let mut header = MAGIC.to_vec();
    if long {
        header.extend([2, 0]);
        header.extend((padded as u32).to_le_bytes());
    } else {
        header.extend([1, 0]);
        header.extend((padded as u16).to_le_bytes());
    }
    header.extend(text.as_bytes());
    Ok((header, Bytes::of(tensor.data("save")?)))
}

/// Reads a file that is `len` bytes long.
pub(super) fn read(source: &mut dyn Read, len: u64) -> Result<Tensor> {
    let mut start = [0; 8];
    if len < 10 {
        bail!(Io, "expected a .npy file, got {len} bytes");
    }
    source.read_exact(&mut start).map_err(cut_off)?;
    if start[..6] != *MAGIC {
        bail!(Io, "expected a .npy file, which begins with {MAGIC:?}, got {:?}", &start[..6]);
    }
    let mut size = [0; 4];
    let width = match start[6] {
        1 => 2,
        2 | 3 => 4,
        other => bail!(Io, "expected version 1, 2 or 3 of the format, got {other}"),
    };
    source.read_exact(&mut size[..width]).map_err(cut_off)?;
    let size = u32::from_le_bytes(size) as usize;
    let rest = len.saturating_sub(8 + width as u64);
    if size > MAX_HEADER || size as u64 > rest {
        bail!(Io, "expected a header of at most {} bytes, got one that says {size}", rest.min(MAX_HEADER as u64));
    }
    let mut header = vec![0; size];
    source.read_exact(&mut header).map_err(cut_off)?;
    let header = Header::parse(&header)?;

    let ty = crate::TensorType::new(header.dtype, &header.shape);
    let (bytes, rest) = (byte_count(&header.shape, header.dtype)?, rest - size as u64);
    if bytes != rest {
        bail!(Io, "expected {bytes} bytes of elements for {ty}, got {rest}");
    }
    if !header.fortran_order {
        return Ok(raw::read(source, &ty.shape, ty.dtype, header.big_endian)?.into());
    }
    let reversed: Vec<usize> = header.shape.iter().rev().copied().collect();
    let array = raw::read(source, &reversed, ty.dtype, header.big_endian)?;
    let order: Vec<usize> = (0..reversed.len()).rev().collect();
    Ok(array.permute(&order).into())
}

/// What a file says of its array.
struct Header {
    dtype: DType,
    big_endian: bool,
    fortran_order: bool,
    shape: Vec<usize>,
}

impl Header {
    fn parse(bytes: &[u8]) -> Result<Header> {
        let Some(entries) = std::str::from_utf8(bytes).ok().and_then(dictionary) else {
            bail!(Io, "expected a header that is a dictionary of Python, got {:?}", shortened(bytes));
        };
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        for (key, value) in entries {
            let new = match (key, value) {
                ("descr", Literal::Text(x)) => descr.replace(x).is_none(),
                ("descr", Literal::List) => {
                    bail!(Dtype, "expected an array of numbers, got one of records"; help = "save each field on its own");
                }
                ("fortran_order", Literal::Bool(x)) => fortran_order.replace(x).is_none(),
                ("shape", Literal::Tuple(x)) => shape.replace(x).is_none(),
                _ => false,
            };
            if !new {
                bail!(
                    Io,
                    "expected the keys `descr`, `fortran_order` and `shape` in the header, got {:?}",
                    shortened(bytes)
                );
            }
        }
        let (Some(descr), Some(fortran_order), Some(shape)) = (descr, fortran_order, shape) else {
            bail!(
                Io,
                "expected the keys `descr`, `fortran_order` and `shape` in the header, got {:?}",
                shortened(bytes)
            );
        };
        let (order, kind) = descr.split_at_checked(1).unwrap_or(("", descr));
        let dtype = DType::ALL.into_iter().find(|&d| code(d) == Some(kind));
        match (dtype, order) {
            (Some(dtype), "<" | ">") => Ok(Header { dtype, big_endian: order == ">", fortran_order, shape }),
            (Some(dtype), "|") if dtype.size() == 1 => Ok(Header { dtype, big_endian: false, fortran_order, shape }),
            _ => {
                let known: Vec<&str> = DType::ALL.into_iter().filter_map(code).collect();
                bail!(Dtype, "expected elements of type {}, got `{descr}`", known.join(", "); help = "convert the array with \
                    NumPy's `astype`");
            }
        }
    }
}

/// The beginning of a header for a message.
fn shortened(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(100)]).trim_end().to_string()
}

/// The values that headers are made of. A list describes records, which are not read.
enum Literal<'a> {
    Text(&'a str),
    Bool(bool),
    Tuple(Vec<usize>),
    List,
}

/// The entries of a dictionary as Python writes it: `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`. Nothing is
/// read behind a list.
fn dictionary(text: &str) -> Option<Vec<(&str, Literal<'_>)>> {
    let mut rest = text.trim().strip_prefix('{')?.trim_start();
    let mut entries = Vec::new();
    while rest != "}" {
        let (key, after) = quoted(rest)?;
        let value = after.trim_start().strip_prefix(':')?.trim_start();
        let (value, after) = match value.chars().next()? {
            '\'' | '"' => quoted(value).map(|(text, after)| (Literal::Text(text), after))?,
            '(' => tuple(value)?,
            '[' => {
                entries.push((key, Literal::List));
                return Some(entries);
            }
            _ => match (value.strip_prefix("True"), value.strip_prefix("False")) {
                (Some(after), _) => (Literal::Bool(true), after),
                (_, Some(after)) => (Literal::Bool(false), after),
                _ => return None,
            },
        };
        entries.push((key, value));
        rest = after.trim_start();
        if rest != "}" {
            rest = rest.strip_prefix(',')?.trim_start();
        }
    }
    Some(entries)
}

fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split_once(quote)
}

fn tuple(text: &str) -> Option<(Literal<'_>, &str)> {
    let (inside, after) = text.strip_prefix('(')?.split_once(')')?;
    let inside = inside.trim();
    let mut sizes = Vec::new();
    if !inside.is_empty() {
        let (inside, comma) = inside.strip_suffix(',').map_or((inside, false), |inside| (inside, true));
        for size in inside.split(',') {
            // Python 2 marked long integers.
            sizes.push(size.trim().trim_end_matches('L').parse().ok()?);
        }
        if sizes.len() == 1 && !comma {
            return None;
        }
    }
    Some((Literal::Tuple(sizes), after))
}
