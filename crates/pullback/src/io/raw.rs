//! The bytes of arrays, read and written as files hold them.

use std::io::Read;

use crate::array::Array;
use crate::dtype::{Word, any_word};
use crate::kernels::cast::full;
use crate::kernels::copy::contiguous;
use crate::tensor::checked_numel;
use crate::{DType, Error, ErrorKind, Result, Scalar, error::bail};

/// The number of bytes that an array of this type takes, or an error if nothing can be so large.
pub(crate) fn byte_count(shape: &[usize], dtype: DType) -> Result<u64> {
    let bytes = checked_numel("", shape).ok().and_then(|n| n.checked_mul(dtype.size()));
    match bytes.filter(|&n| isize::try_from(n).is_ok()) {
        Some(bytes) => Ok(bytes as u64),
        None => bail!(Io, "expected a size that memory can hold, got shape {}", crate::shape::Brackets(shape)),
    }
}

/// The size of what has its bytes swapped as one: a number, or either part of a complex one.
fn word(dtype: DType) -> usize {
    if dtype.is_complex() { dtype.size() / 2 } else { dtype.size() }
}

fn swap(bytes: &mut [u8], word: usize) {
    if word > 1 {
        bytes.chunks_exact_mut(word).for_each(<[u8]>::reverse);
    }
}

/// An array of this type with the next elements of `source`, whose numbers are in the given order of bytes. The caller has
/// checked that the source is long enough to hold them.
pub(crate) fn read(source: &mut dyn Read, shape: &[usize], dtype: DType, big_endian: bool) -> Result<Array> {
    byte_count(shape, dtype)?;
    let mut array = full(shape, Scalar::Int(0), dtype);
    if dtype == DType::Bool {
        read_bools(source, elements(&mut array)?)?;
        return Ok(array);
    }
    any_word!(dtype, W => {
        let elements = elements::<W>(&mut array)?;
        let len = size_of_val(elements);
        // SAFETY: the elements are numbers, for which all bytes are valid, as for this slice over the same memory.
        let bytes = unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast::<u8>(), len) };
        source.read_exact(bytes).map_err(cut_off)?;
        if big_endian != cfg!(target_endian = "big") {
            swap(bytes, word(dtype));
        }
    });
    Ok(array)
}

fn elements<W: Word>(array: &mut Array) -> Result<&mut [W]> {
    match array.as_mut_words() {
        Some(elements) => Ok(elements),
        None => bail!(Internal, "a new array is shared"),
    }
}

/// Not every byte is a `bool`, so they are looked at before they become any.
fn read_bools(source: &mut dyn Read, out: &mut [bool]) -> Result<()> {
    let mut bytes = [0u8; 4096];
    for part in out.chunks_mut(bytes.len()) {
        let bytes = &mut bytes[..part.len()];
        source.read_exact(bytes).map_err(cut_off)?;
        for (to, &from) in part.iter_mut().zip(&*bytes) {
            *to = match from {
                0 => false,
                1 => true,
                other => bail!(Io, "expected bools that are 0 or 1, got {other}"),
            };
        }
    }
    Ok(())
}

/// The bytes of an array in row-major order, least significant first.
pub(crate) struct Bytes(Array);

impl Bytes {
    pub(crate) fn of(array: &Array) -> Bytes {
        Bytes(contiguous(array))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.numel() * self.0.dtype().size()
    }

    /// Hands them to `f`, all at once unless they must be swapped.
    pub(crate) fn with<E>(&self, f: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let start = any_word!(self.0.dtype(), W => self.0.start::<W>().cast::<u8>());
        // SAFETY: the array is contiguous and its elements are plain data without padding.
        let bytes = unsafe { std::slice::from_raw_parts(start, self.len()) };
        if cfg!(target_endian = "little") {
            return f(bytes);
        }
        for part in bytes.chunks(1 << 16) {
            let mut part = part.to_vec();
            swap(&mut part, word(self.0.dtype()));
            f(&part)?;
        }
        Ok(())
    }
}

#[cold]
pub(crate) fn cut_off(source: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("expected more bytes, got: {source}")).with_source(source)
}
