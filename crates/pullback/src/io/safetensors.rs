//! The safetensors format: named tensors, and text about them, in one file.
//!
//! A file may hold every dtype but `c128`, which the format does not have. Other types of elements are an error of kind
//! [`Dtype`](crate::ErrorKind::Dtype) that names the tensor. Files are written in the same way each time: the largest types
//! first, then by name.
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
//! The description of the format by its authors, Hugging Face. Their reader takes the last of two tensors with one name; here
//! that is an error.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufReader, Read, Write};
use std::path::Path;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use super::raw::{self, Bytes, byte_count, cut_off};
use super::state_dict;
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
/// `Io` if the file cannot be read or is damaged; `Dtype` for elements of a type that tensors cannot have.
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
    let read = || {
        let (file, len) = raw::open(path)?;
        read(&mut BufReader::new(file), len)
    };
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
pub fn from_bytes(mut bytes: &[u8]) -> Result<(Tensors, Metadata)> {
    let len = bytes.len() as u64;
    read(&mut bytes, len).context(|| "safetensors::from_bytes".into())
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
        raw::create(path, |file| {
            file.write_all(&header)?;
            data.iter().try_for_each(|bytes| bytes.with(&mut |part| file.write_all(part)))
        })
        .context(|| path.display().to_string())
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
fn code(dtype: DType) -> Option<&'static str> {
    match dtype {
        DType::Bool => Some("BOOL"),
        DType::U8 => Some("U8"),
        DType::I32 => Some("I32"),
        DType::I64 => Some("I64"),
        DType::F16 => Some("F16"),
        DType::BF16 => Some("BF16"),
        DType::F32 => Some("F32"),
        DType::F64 => Some("F64"),
        DType::C64 => Some("C64"),
        DType::C128 => None,
    }
}

/// Everything before the elements, and the elements in the order in which they follow.
fn prepare(tensors: &Tensors, metadata: &Metadata) -> Result<(Vec<u8>, Vec<Bytes>)> {
    let mut order: Vec<(&String, &Tensor)> = tensors.iter().collect();
    // The largest first, so that all are aligned.
    order.sort_by_key(|(_, t)| std::cmp::Reverse(t.dtype().size()));
    let mut entries = Vec::new();
    if !metadata.is_empty() {
        let texts: Vec<String> = metadata.iter().map(|(k, v)| format!("{}:{}", json(k), json(v))).collect();
        entries.push(format!("{}:{{{}}}", json(METADATA), texts.join(",")));
    }
    let (mut data, mut start) = (Vec::new(), 0);
    for (name, tensor) in order {
        if name == METADATA {
            bail!(Value, "expected a name other than `{METADATA}`, which the format keeps for itself");
        }
        let Some(code) = code(tensor.dtype()) else {
            bail!(Dtype, "expected elements that the format has, got {} for `{name}`", tensor.ty(); help = "convert it with \
                `to_dtype`");
        };
        let bytes = Bytes::of(tensor.data("save")?);
        let (shape, end) = (crate::shape::Brackets(tensor.shape()), start + bytes.len());
        entries.push(format!(
            "{}:{{\"dtype\":\"{code}\",\"shape\":{shape},\"data_offsets\":[{start},{end}]}}",
            json(name)
        ));
        start = end;
        data.push(bytes);
    }
    let mut header = format!("{{{}}}", entries.join(","));
    header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(8) - header.len()));
    if header.len() as u64 > MAX_HEADER {
        bail!(Value, "expected names and text of at most {MAX_HEADER} bytes, got {}", header.len());
    }
    Ok(([&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat(), data))
}

fn json(text: &str) -> String {
    Value::from(text).to_string()
}

/// A JSON object as the list of its entries: a map would hide that a key comes twice.
struct Entries<V>(Vec<(String, V)>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Entries<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List<V>(std::marker::PhantomData<V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for List<V> {
            type Value = Entries<V>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Entries<V>, M::Error> {
                let mut list = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    list.push(entry);
                }
                Ok(Entries(list))
            }
        }
        deserializer.deserialize_map(List(std::marker::PhantomData))
    }
}

impl<V> Entries<V> {
    /// The entries by key; `what` they are for the message that one comes twice.
    fn into_map(self, what: &str) -> Result<BTreeMap<String, V>> {
        let mut map = BTreeMap::new();
        for (key, value) in self.0 {
            if map.contains_key(&key) {
                bail!(Io, "expected {what} once each, got `{key}` twice");
            }
            map.insert(key, value);
        }
        Ok(map)
    }
}

/// What the header says of a tensor.
struct Entry {
    name: String,
    ty: TensorType,
    start: u64,
    end: u64,
}

impl Entry {
    fn parse(name: String, fields: Entries<Value>) -> Result<Entry> {
        let fields = fields.into_map(&format!("the fields of `{name}`"))?;
        let numbers =
            |key: &str| -> Option<Vec<u64>> { fields.get(key)?.as_array()?.iter().map(Value::as_u64).collect() };
        let dtype = fields.get("dtype").and_then(Value::as_str);
        let (Some(dtype), Some(shape), Some(&[start, end])) =
            (dtype, numbers("shape"), numbers("data_offsets").as_deref())
        else {
            bail!(
                Io,
                "expected a dtype, a shape and two offsets of data for `{name}`, got {}",
                Value::from_iter(fields)
            );
        };
        let Some(dtype) = DType::ALL.into_iter().find(|&d| code(d) == Some(dtype)) else {
            let known: Vec<&str> = DType::ALL.into_iter().filter_map(code).collect();
            bail!(Dtype, "expected elements of type {} for `{name}`, got `{dtype}`", known.join(", "));
        };
        let shape: Vec<usize> = shape.iter().map(|&n| usize::try_from(n).unwrap_or(usize::MAX)).collect();
        let bytes = byte_count(&shape, dtype).context(|| format!("`{name}`"))?;
        let ty = TensorType::new(dtype, &shape);
        if end.checked_sub(start) != Some(bytes) {
            bail!(Io, "expected {bytes} bytes for `{name}` ({ty}), got data from {start} to {end}");
        }
        Ok(Entry { name, ty, start, end })
    }
}

/// Reads a file that is `len` bytes long.
fn read(source: &mut dyn Read, len: u64) -> Result<(Tensors, Metadata)> {
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
    let header: Entries<Entries<Value>> = serde_json::from_slice(&header).map_err(|e| {
        Error::new(ErrorKind::Io, format!("expected a header of JSON objects, got: {e}")).with_source(e)
    })?;

    let mut header = header.into_map("names of tensors")?;
    let mut metadata = Metadata::new();
    for (key, value) in header.remove(METADATA).map_or(Ok(BTreeMap::new()), |m| m.into_map("keys of metadata"))? {
        let Value::String(text) = value else { bail!(Io, "expected text as metadata `{key}`, got {value}") };
        metadata.insert(key, text);
    }
    let entries: Result<Vec<Entry>> = header.into_iter().map(|(name, fields)| Entry::parse(name, fields)).collect();
    let mut entries = entries?;
    entries.sort_by_key(|e| (e.start, e.end));
    let mut at = 0;
    for Entry { name, start, end, .. } in &entries {
        if *start != at {
            bail!(Io, "expected tensors without gaps between them, got `{name}` at {start} where {at} follows");
        }
        at = *end;
    }
    if at != rest - size {
        bail!(Io, "expected {at} bytes of elements, got {}", rest - size);
    }
    let mut tensors = Tensors::new();
    for Entry { name, ty, .. } in entries {
        let array = raw::read(source, &ty.shape, ty.dtype, false).context(|| format!("`{name}`"))?;
        tensors.insert(name, array.into());
    }
    Ok((tensors, metadata))
}
