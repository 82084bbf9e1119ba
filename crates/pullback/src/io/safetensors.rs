//! The safetensors format: named tensors, and text about them, in one file.
//!
//! A file may hold every dtype but `c128`, which the format does not have. It may also hold elements that tensors cannot have,
//! such as `I16` or `F8_E4M3`: [`load`] is then an error of kind [`Dtype`](crate::ErrorKind::Dtype) that names the first, and
//! [`File`] reads the others by name. Files are written in the same way each time: the largest types first, then by name.
//!
//! ```
//! use pullback::{Tensor, Tree, io};
//!
//! #[derive(Clone, Tree)]
//! struct Linear<T = Tensor> {
//!     weight: T,
//!     bias: T,
//! }
//!
//! let path = std::env::temp_dir().join(format!("pullback-doc-{}.safetensors", std::process::id()));
//! let model = Linear { weight: Tensor::from([[1.0f32, 2.0]]), bias: Tensor::from([0.5f32]) };
//! io::safetensors::save(&path, &model)?;
//!
//! let state = io::safetensors::load(&path)?;
//! assert_eq!(state["weight"].ty().to_string(), "f32[1,2]");
//! let fresh = Linear { weight: Tensor::from([[0.0f32, 0.0]]), bias: Tensor::from([0.0f32]) };
//! let loaded = io::load_state_dict(&fresh, &state)?;
//! assert!(loaded.bias.equal(&model.bias)?);
//! # std::fs::remove_file(&path).unwrap();
//! # Ok::<(), pullback::Error>(())
//! ```
//!
//! # Source
//! The description of the format by its authors, Hugging Face, and their crate, which reads and writes the headers. It takes the
//! last of two tensors with one name; here that is an error.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufReader, Cursor, Read, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::path::Path;
use std::{error, fmt};

use ::safetensors::Dtype;
use ::safetensors::tensor::{Metadata as Header, TensorInfo};
use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use super::raw::{self, Bytes, byte_count, cut_off};
use super::{file, state_dict};
use crate::error::Context;
use crate::shape::TensorType;
use crate::{DType, Error, ErrorKind, Result, Tensor, Tree, error::bail};

/// The longest header that the format allows.
const MAX_HEADER: u64 = 100_000_000;

/// Where the text lies that is not a tensor.
const METADATA: &str = "__metadata__";

type Tensors = BTreeMap<String, Tensor>;
type Metadata = BTreeMap<String, String>;

/// The tensors of a file by name.
///
/// # Errors
/// `Io` if the file cannot be read or is damaged; `Dtype` for elements of a type that tensors cannot have, before any are read.
///
/// See the [module](self) for an example.
pub fn load(path: impl AsRef<Path>) -> Result<Tensors> {
    Ok(load_with_metadata(path)?.0)
}

/// The tensors of a file by name, and the text that is stored with them.
///
/// # Errors
/// As [`load`].
pub fn load_with_metadata(path: impl AsRef<Path>) -> Result<(Tensors, Metadata)> {
    let path = path.as_ref();
    let read = || File::parse(file::open(path)?.0)?.into_parts();
    read().context(|| path.display().to_string()).context(|| "safetensors::load".into())
}

/// The tensors of a file that is in memory, and the text that is stored with them.
///
/// # Errors
/// As [`load`].
///
/// ```
/// use std::collections::BTreeMap;
/// use pullback::{Tensor, io::safetensors};
/// let text = BTreeMap::from([("format".to_string(), "pt".to_string())]);
/// let bytes = safetensors::to_bytes(&vec![Tensor::from([1, 2])], &text)?;
/// let (tensors, metadata) = safetensors::from_bytes(&bytes)?;
/// assert_eq!(tensors["0"].to_vec::<i32>()?, [1, 2]);
/// assert_eq!(metadata["format"], "pt");
///
/// let err = safetensors::from_bytes(&bytes[..bytes.len() - 1]).unwrap_err();
/// assert_eq!(err.to_string(), "safetensors::from_bytes: expected 8 bytes of elements, got 7");
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn from_bytes(bytes: &[u8]) -> Result<(Tensors, Metadata)> {
    let read = || File::parse(Cursor::new(bytes))?.into_parts();
    read().context(|| "safetensors::from_bytes".into())
}

/// A file whose tensors are read one by one.
///
/// What it says about them is read and checked at once, and elements when they are asked for. This is for a part of a large
/// file, and for files in which some tensors have elements of other types than those here.
///
/// ```
/// use std::{collections::BTreeMap, io::Cursor};
/// use pullback::{Tensor, io::safetensors};
///
/// let bytes = safetensors::to_bytes(&(Tensor::from([1.0, 2.0]), Tensor::from(true)), &BTreeMap::new())?;
/// let mut file = safetensors::File::new(Cursor::new(bytes))?;
/// assert_eq!(file.names(), ["0", "1"]);
/// assert_eq!(file.ty("0")?.to_string(), "f64[2]");
/// assert_eq!(file.tensor("0")?.to_vec::<f64>()?, [1.0, 2.0]);
///
/// // All that can be read.
/// let names: Vec<String> = file.names().into_iter().filter(|name| file.ty(name).is_ok()).collect();
/// let state: pullback::Result<BTreeMap<String, Tensor>> =
///     names.into_iter().map(|name| file.tensor(&name).map(|tensor| (name, tensor))).collect();
/// assert_eq!(state?.len(), 2);
/// # Ok::<(), pullback::Error>(())
/// ```
pub struct File<R = BufReader<std::fs::File>> {
    source: R,
    /// Where the elements begin.
    start: u64,
    header: Header,
    metadata: Metadata,
}

impl File {
    /// The file at `path`.
    ///
    /// # Errors
    /// `Io` if it cannot be read or is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<File> {
        let path = path.as_ref();
        let open = || File::parse(file::open(path)?.0);
        open().context(|| path.display().to_string()).context(|| "safetensors::File::open".into())
    }
}

impl<R: Read + Seek> File<R> {
    /// The file that a reader has from its beginning to its end, such as a [`Cursor`] over bytes.
    ///
    /// # Errors
    /// `Io` if it cannot be read or is damaged.
    pub fn new(source: R) -> Result<File<R>> {
        File::parse(source).context(|| "safetensors::File::new".into())
    }

    fn parse(mut source: R) -> Result<File<R>> {
        let len = source.seek(SeekFrom::End(0)).and_then(|len| source.rewind().map(|()| len)).map_err(cut_off)?;
        let mut size = [0; 8];
        if len < 8 {
            bail!(Io, "expected a safetensors file, got {len} bytes");
        }
        source.read_exact(&mut size).map_err(cut_off)?;
        let (size, rest) = (u64::from_le_bytes(size), len - 8);
        if size > rest || size > MAX_HEADER {
            bail!(Io, "expected a header of at most {} bytes, got one that says {size}", rest.min(MAX_HEADER);
                help = "check that this is a safetensors file, and whole");
        }
        let mut header = vec![0; size as usize];
        source.read_exact(&mut header).map_err(cut_off)?;
        let parsed = serde_json::from_slice::<Unique<Unique<IgnoredAny>>>(&header)
            .and_then(|_| serde_json::from_slice::<Header>(&header));
        let header = parsed.map_err(|e| {
            Error::new(ErrorKind::Io, format!("expected a header of tensors and text, got: {e}")).with_source(e)
        })?;
        let (want, got) = (header.data_len() as u64, rest - size);
        if want != got {
            bail!(Io, "expected {want} bytes of elements, got {got}");
        }
        let metadata = header.metadata().iter().flatten().map(|(k, v)| (k.clone(), v.clone())).collect();
        Ok(File { source, start: 8 + size, header, metadata })
    }

    /// The names of the tensors, in order.
    pub fn names(&self) -> Vec<String> {
        let mut names = self.header.offset_keys();
        names.sort();
        names
    }

    /// The type of a tensor.
    ///
    /// # Errors
    /// `Value` for a name that is not in the file; `Dtype` if no tensor can have such elements.
    pub fn ty(&self, name: &str) -> Result<TensorType> {
        Ok(self.entry(name).context(|| "safetensors::File::ty".into())?.0)
    }

    /// The tensor of this name.
    ///
    /// # Errors
    /// As [`ty`](File::ty), and `Io` if the file cannot be read.
    pub fn tensor(&mut self, name: &str) -> Result<Tensor> {
        let entry = self.entry(name);
        entry.and_then(|entry| self.read(name, &entry)).context(|| "safetensors::File::tensor".into())
    }

    /// The text that is stored with the tensors.
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.metadata
    }

    /// The type of a tensor, and where its elements begin among all.
    fn entry(&self, name: &str) -> Result<(TensorType, u64)> {
        let Some(TensorInfo { dtype: found, shape, data_offsets: (start, _) }) = self.header.info(name) else {
            bail!(Value, "expected the name of a tensor in the file, got `{name}`"; help = "`names` lists them");
        };
        let Some(dtype) = DType::ALL.into_iter().find(|&d| code(d) == Some(*found)) else {
            let known: Vec<String> = DType::ALL.into_iter().filter_map(code).map(|c| c.to_string()).collect();
            bail!(Dtype, "expected elements of type {} for `{name}`, got `{found}`", known.join(", ");
                help = "read the other tensors by name from a `safetensors::File`");
        };
        byte_count(shape, dtype).context(|| format!("`{name}`"))?;
        Ok((TensorType::new(dtype, shape), *start as u64))
    }

    fn read(&mut self, name: &str, (ty, start): &(TensorType, u64)) -> Result<Tensor> {
        self.source.seek(SeekFrom::Start(self.start + start)).map_err(cut_off)?;
        let array = raw::read(&mut self.source, &ty.shape, ty.dtype, false).context(|| format!("`{name}`"))?;
        Ok(array.into())
    }

    /// All tensors, and the text.
    fn into_parts(mut self) -> Result<(Tensors, Metadata)> {
        let names = self.header.offset_keys();
        let entries: Result<Vec<_>> = names.iter().map(|name| self.entry(name)).collect();
        let mut tensors = Tensors::new();
        for (name, entry) in names.into_iter().zip(entries?) {
            let tensor = self.read(&name, &entry)?;
            tensors.insert(name, tensor);
        }
        Ok((tensors, self.metadata))
    }
}

impl<R> fmt::Debug for File<R> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("File").field("tensors", &self.header.tensors()).field("metadata", &self.metadata).finish()
    }
}

/// A JSON object in which no key comes twice. Read as a map, it would keep the last without a word.
struct Unique<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Unique<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Unique(PhantomData))
    }
}

impl<'de, V: Deserialize<'de>> Visitor<'de> for Unique<V> {
    type Value = Unique<V>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Unique<V>, M::Error> {
        let mut keys = BTreeSet::new();
        while let Some((key, _)) = map.next_entry::<String, V>()? {
            if let Some(twice) = keys.replace(key) {
                return Err(M::Error::custom(format_args!("`{twice}` twice")));
            }
        }
        Ok(self)
    }
}

/// Writes the tensors of a tree to a file, under the names of [`state_dict`].
///
/// A file that is there is replaced once the new one is complete.
///
/// # Errors
/// `Io` if the file cannot be written; `Value` as for [`state_dict`], and for the name `__metadata__`; `Dtype` for `c128`;
/// `ConcreteValueNeeded` for values that [`to_vec`](Tensor::to_vec) cannot read.
///
/// See the [module](self) for an example.
pub fn save<T: Tree>(path: impl AsRef<Path>, tree: &T) -> Result<()> {
    save_with_metadata(path, tree, &Metadata::new())
}

/// Writes the tensors of a tree and some text to a file. Programs around PyTorch expect `format` to be `pt`.
///
/// # Errors
/// As [`save`].
pub fn save_with_metadata<T: Tree>(path: impl AsRef<Path>, tree: &T, metadata: &Metadata) -> Result<()> {
    let path = path.as_ref();
    let save = || {
        let (header, data) = prepare(&state_dict(tree)?, metadata)?;
        let write = |file: &mut dyn file::Sink| {
            file.write_all(&header)?;
            data.iter().try_for_each(|bytes| bytes.with(&mut |part| file.write_all(part)))
        };
        file::create(path, |file| write(file).map_err(file::unwritable)).context(|| path.display().to_string())
    };
    save().context(|| "safetensors::save".into())
}

/// The bytes of a file with the tensors of a tree and some text.
///
/// # Errors
/// `Value`, `Dtype` and `ConcreteValueNeeded` as for [`save`].
///
/// See [`from_bytes`] for an example.
pub fn to_bytes<T: Tree>(tree: &T, metadata: &Metadata) -> Result<Vec<u8>> {
    let bytes = || {
        let (mut out, data) = prepare(&state_dict(tree)?, metadata)?;
        out.reserve(data.iter().map(Bytes::len).sum());
        data.iter().try_for_each(|bytes| bytes.with(&mut |part| out.write_all(part))).map_err(cut_off)?;
        Ok(out)
    };
    bytes().context(|| "safetensors::to_bytes".into())
}

/// The name that the format has for a dtype.
fn code(dtype: DType) -> Option<Dtype> {
    match dtype {
        DType::Bool => Some(Dtype::BOOL),
        DType::U8 => Some(Dtype::U8),
        DType::I32 => Some(Dtype::I32),
        DType::I64 => Some(Dtype::I64),
        DType::F16 => Some(Dtype::F16),
        DType::BF16 => Some(Dtype::BF16),
        DType::F32 => Some(Dtype::F32),
        DType::F64 => Some(Dtype::F64),
        DType::C64 => Some(Dtype::C64),
        DType::C128 => None,
    }
}

/// Everything before the elements, and the elements in the order in which they follow.
fn prepare(tensors: &Tensors, metadata: &Metadata) -> Result<(Vec<u8>, Vec<Bytes>)> {
    let mut order: Vec<(&String, &Tensor)> = tensors.iter().collect();
    // The largest first, so that all are aligned.
    order.sort_by_key(|(_, t)| std::cmp::Reverse(t.dtype().size()));
    let (mut infos, mut data, mut start) = (Vec::new(), Vec::new(), 0);
    for (name, tensor) in order {
        if name == METADATA {
            bail!(Value, "expected a name other than `{METADATA}`, which the format keeps for itself");
        }
        let Some(dtype) = code(tensor.dtype()) else {
            bail!(Dtype, "expected elements that the format has, got {} for `{name}`", tensor.ty(); help = "convert it with \
                `to_dtype`");
        };
        let bytes = Bytes::of(tensor.data("save")?);
        let end = start + bytes.len();
        infos.push((name.clone(), TensorInfo { dtype, shape: tensor.shape().to_vec(), data_offsets: (start, end) }));
        start = end;
        data.push(bytes);
    }
    // The text of a `Header` is in a map without an order, and files shall not differ by that.
    let mut header = serde_json::to_value(Header::new(None, infos).map_err(refused)?).map_err(refused)?;
    if !metadata.is_empty() {
        header[METADATA] = serde_json::to_value(metadata).map_err(refused)?;
    }
    let mut header = header.to_string();
    header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(8) - header.len()));
    if header.len() as u64 > MAX_HEADER {
        bail!(Value, "expected names and text of at most {MAX_HEADER} bytes, got {}", header.len());
    }
    Ok(([&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat(), data))
}

#[cold]
fn refused(source: impl error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Value, format!("expected tensors that the format can hold, got: {source}"))
        .with_source(source)
}
