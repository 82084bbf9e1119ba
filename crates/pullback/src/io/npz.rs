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
use std::io::{BufReader, Cursor, Read, Seek, Write};
use std::path::Path;

use super::npy::{prepare, read};
use super::{raw, state_dict, zip};
use crate::error::Context;
use crate::{Result, Tensor, Tree, error::bail};

/// What the names of arrays have behind them in an archive.
const SUFFIX: &str = ".npy";

/// The arrays of a file by name.
///
/// # Errors
/// `Io` if the file cannot be read or is damaged, and for names that come twice; `Dtype` for elements of a type that tensors
/// cannot have.
///
/// See the [module](self) for an example.
pub fn load(path: impl AsRef<Path>) -> Result<BTreeMap<String, Tensor>> {
    let path = path.as_ref();
    let load = || read_all(&mut BufReader::new(raw::open(path)?.0));
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
    read_all(&mut Cursor::new(bytes)).context(|| "npz::from_bytes".into())
}

/// Writes the tensors of a tree to a file, under the names of [`state_dict`].
///
/// A file that is there is replaced once the new one is complete.
///
/// # Errors
/// `Io` if the file cannot be written; `Value` as for [`state_dict`]; `Dtype` for `bf16`; `ConcreteValueNeeded` for values
/// that [`to_vec`](Tensor::to_vec) cannot read.
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
/// `Value`, `Dtype` and `ConcreteValueNeeded` as for [`save`].
///
/// See [`from_bytes`] for an example.
pub fn to_bytes<T: Tree>(tree: &T) -> Result<Vec<u8>> {
    let bytes = || {
        let mut out = Vec::new();
        write_all(&mut out, &members(tree)?, false).map_err(raw::cut_off)?;
        Ok(out)
    };
    bytes().context(|| "npz::to_bytes".into())
}

fn save_as<T: Tree>(path: &Path, tree: &T, compress: bool) -> Result<()> {
    let members = members(tree)?;
    raw::create(path, |file| write_all(file, &members, compress)).context(|| path.display().to_string())
}

/// The names, headers and elements of what a tree holds.
fn members<T: Tree>(tree: &T) -> Result<Vec<(String, Vec<u8>, raw::Bytes)>> {
    let member = |(name, tensor): (String, Tensor)| {
        if name.len() + SUFFIX.len() > usize::from(u16::MAX) {
            bail!(Value, "expected names of at most 65531 bytes, got one of {}", name.len());
        }
        let (header, bytes) = prepare(&tensor).context(|| format!("`{name}`"))?;
        Ok((name + SUFFIX, header, bytes))
    };
    state_dict(tree)?.into_iter().map(member).collect()
}

fn write_all(out: &mut dyn Write, members: &[(String, Vec<u8>, raw::Bytes)], compress: bool) -> std::io::Result<()> {
    let mut archive = zip::Writer::new(out);
    for (name, header, bytes) in members {
        archive.add(name, compress, &|sink| {
            sink(header)?;
            bytes.with(sink)
        })?;
    }
    archive.finish()
}

fn read_all<R: Read + Seek>(source: &mut R) -> Result<BTreeMap<String, Tensor>> {
    let mut tensors = BTreeMap::new();
    for member in zip::members(source)? {
        let Some(name) = member.name.strip_suffix(SUFFIX) else {
            bail!(Io, "expected arrays, whose names end in {SUFFIX}, got `{}`", member.name);
        };
        if tensors.contains_key(name) {
            bail!(Io, "expected arrays of different names, got `{name}` twice");
        }
        let tensor = zip::read(source, &member, &mut |data| read(data, member.size)).context(|| format!("`{name}`"))?;
        tensors.insert(name.to_string(), tensor);
    }
    Ok(tensors)
}
