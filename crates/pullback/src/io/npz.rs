//! NumPy's format for named arrays, `.npz`: a zip archive of `.npy` files.
//!
//! What `numpy.savez` and `numpy.savez_compressed` write is read, of any size; so is what is written here by them. The
//! arrays are as for [`npy`](super::npy). An archive is read in full: every array is checked against its checksum.
//!
//! ```
//! use std::collections::BTreeMap;
//! use pullback::{Tensor, io::npz};
//! let path = std::env::temp_dir().join(format!("pullback-doc-{}.npz", std::process::id()));
//! let arrays = BTreeMap::from([("x".to_string(), Tensor::from([1.0, 2.0])), ("n".to_string(), Tensor::from(2i64))]);
//! npz::save_compressed(&path, &arrays)?;
//! assert_eq!(npz::load(&path)?["x"].to_vec::<f64>()?, [1.0, 2.0]);
//! # std::fs::remove_file(&path).unwrap();
//! # Ok::<(), pullback::Error>(())
//! ```

use std::collections::BTreeMap;
use std::io::{Cursor, Read, Seek, Write};
use std::path::Path;

use npyz::npz::{array_name_from_file_name, file_name_from_array_name};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

use super::npy::{prepare, read};
use super::raw::{Bytes, cut_off};
use super::{file, state_dict};
use crate::error::Context;
use crate::{Error, ErrorKind, Result, Tensor, Tree, error::bail};

/// The most that a byte of deflated data can become.
const MOST: u64 = 1032;

/// The arrays of a file by name.
///
/// # Errors
/// `Io` if the file cannot be read or is damaged, and for names that come twice; `Dtype` for elements of a type that tensors
/// cannot have.
///
/// See the [module](self) for an example.
pub fn load(path: impl AsRef<Path>) -> Result<BTreeMap<String, Tensor>> {
    let path = path.as_ref();
    let load = || read_all(file::open(path)?.0);
    load().context(|| path.display().to_string()).context(|| "npz::load".into())
}

/// The arrays of a file that is in memory, by name.
///
/// # Errors
/// As [`load`].
///
/// ```
/// use pullback::{Tensor, io::npz};
/// let bytes = npz::to_bytes(&(Tensor::from([1, 2]), Tensor::from(0.5)))?;
/// assert_eq!(npz::from_bytes(&bytes)?["1"].item::<f64>()?, 0.5);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn from_bytes(bytes: &[u8]) -> Result<BTreeMap<String, Tensor>> {
    read_all(Cursor::new(bytes)).context(|| "npz::from_bytes".into())
}

/// Writes the tensors of a tree to a file, under the names of [`state_dict`].
///
/// A file that is there is replaced once the new one is complete.
///
/// # Errors
/// `Io` if the file cannot be written; `Value` as for [`state_dict`]; `Dtype` for `bf16`; `Shape` for more than 64 dims;
/// `ConcreteValueNeeded` for values that [`to_vec`](Tensor::to_vec) cannot read.
///
/// See the [module](self) for an example.
pub fn save<T: Tree>(path: impl AsRef<Path>, tree: &T) -> Result<()> {
    save_as(path.as_ref(), tree, false).context(|| "npz::save".into())
}

/// Writes the tensors of a tree to a file and compresses them.
///
/// # Errors
/// As [`save`].
///
/// See the [module](self) for an example.
pub fn save_compressed<T: Tree>(path: impl AsRef<Path>, tree: &T) -> Result<()> {
    save_as(path.as_ref(), tree, true).context(|| "npz::save_compressed".into())
}

/// The bytes of a file with the tensors of a tree, not compressed.
///
/// # Errors
/// `Value`, `Dtype`, `Shape` and `ConcreteValueNeeded` as for [`save`].
///
/// See [`from_bytes`] for an example.
pub fn to_bytes<T: Tree>(tree: &T) -> Result<Vec<u8>> {
    let bytes = || {
        let mut out = Cursor::new(Vec::new());
        write_all(&mut out, &members(tree)?, false)?;
        Ok(out.into_inner())
    };
    bytes().context(|| "npz::to_bytes".into())
}

fn save_as<T: Tree>(path: &Path, tree: &T, compress: bool) -> Result<()> {
    let members = members(tree)?;
    file::create(path, |file| write_all(file, &members, compress)).context(|| path.display().to_string())
}

/// The names, headers and elements of what a tree holds.
fn members<T: Tree>(tree: &T) -> Result<Vec<(String, Vec<u8>, Bytes)>> {
    let member = |(name, tensor): (String, Tensor)| {
        let file = file_name_from_array_name(&name);
        if file.len() > usize::from(u16::MAX) {
            bail!(Value, "expected names of at most 65531 bytes, got one of {}", name.len());
        }
        let (header, bytes) = prepare(&tensor).context(|| format!("`{name}`"))?;
        Ok((file, header, bytes))
    };
    state_dict(tree)?.into_iter().map(member).collect()
}

fn write_all(out: &mut dyn file::Sink, members: &[(String, Vec<u8>, Bytes)], compress: bool) -> Result<()> {
    let write = || {
        let mut archive = ZipWriter::new(out);
        let method = if compress { CompressionMethod::Deflated } else { CompressionMethod::Stored };
        // The time is the first that the format has, so that files do not differ by it.
        let options = SimpleFileOptions::default().compression_method(method).last_modified_time(DateTime::default());
        for (name, header, bytes) in members {
            let large = (header.len() + bytes.len()) as u64 >= u64::from(u32::MAX);
            archive.start_file(name, options.large_file(large))?;
            archive.write_all(header)?;
            bytes.with(&mut |part| archive.write_all(part))?;
        }
        archive.finish().map(drop)
    };
    write().map_err(|e| match e {
        ZipError::Io(e) => file::unwritable(e),
        e => Error::new(ErrorKind::Io, format!("expected an archive that can be written, got: {e}")).with_source(e),
    })
}

#[cold]
fn unreadable(source: ZipError) -> Error {
    match source {
        ZipError::Io(e) => cut_off(e),
        e => Error::new(ErrorKind::Io, format!("expected a zip archive that can be read, got: {e}"))
            .with_help("check that the file is whole")
            .with_source(e),
    }
}

fn read_all(source: impl Read + Seek) -> Result<BTreeMap<String, Tensor>> {
    let mut archive = ZipArchive::new(source).map_err(unreadable)?;
    // Members that share their data could have a small archive take any amount of memory.
    if archive.has_duplicate_names() || archive.has_overlapping_entries().map_err(unreadable)? {
        bail!(Io, "expected members with names and data of their own, got some that share them");
    }
    let mut tensors = BTreeMap::new();
    for k in 0..archive.len() {
        let mut member = archive.by_index(k).map_err(unreadable)?;
        let file = member.name().map_err(unreadable)?.into_owned();
        let Some(name) = array_name_from_file_name(&file) else {
            bail!(Io, "expected arrays, whose names end in .npy, got `{file}`");
        };
        let (size, compressed) = (member.size(), member.compressed_size());
        if size > compressed.saturating_mul(MOST) {
            bail!(Io, "expected `{name}` to have a size that its data can have, got {size} bytes from {compressed}");
        }
        let tensor = read(&mut member, size).context(|| format!("`{name}`"))?;
        // The checksum is compared at the end.
        match member.read(&mut [0]) {
            Ok(0) => {}
            Ok(_) => bail!(Io, "expected {size} bytes for `{name}`, got more"),
            Err(e) => return Err(cut_off(e).with_help("the file is damaged")).context(|| format!("`{name}`")),
        }
        if tensors.insert(name.to_string(), tensor).is_some() {
            bail!(Io, "expected arrays of different names, got `{name}` twice");
        }
    }
    Ok(tensors)
}
