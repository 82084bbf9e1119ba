//! `serde`: tensors, dtypes, shapes with them, and the static parts of trees.
//!
//! Numbers are read as `serde` reads those of the element's type: one that is written with more digits is rounded, and one beyond the range
//! of a float becomes infinite, such as `1e300` as `f32`. Integers that their dtype cannot hold are errors.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::ser::{Error as _, Serialize, SerializeSeq, SerializeStruct, Serializer};

use crate::array::Array;
use crate::dtype::{Complex64, Element, any_dtype};
use crate::io::raw::{self, Bytes, byte_count};
use crate::kernels::copy::contiguous;
use crate::{DType, Static, Tensor, TensorType};

const FIELDS: &[&str] = &["dtype", "shape", "data"];

impl Serialize for DType {
    /// The name, such as `f32`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for DType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<DType, D::Error> {
        struct Name;
        impl Visitor<'_> for Name {
            type Value = DType;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("the name of a dtype, such as `f32`")
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<DType, E> {
                let found = DType::ALL.into_iter().find(|d| d.name() == name);
                found.ok_or_else(|| E::invalid_value(Unexpected::Str(name), &self))
            }
        }
        deserializer.deserialize_str(Name)
    }
}

impl<T: Serialize> Serialize for Static<T> {
    /// What is inside.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Static<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Static<T>, D::Error> {
        T::deserialize(deserializer).map(Static)
    }
}

impl Serialize for Tensor {
    /// With the feature `serde`: a struct of `dtype`, `shape` and `data`.
    ///
    /// `data` is one list in row-major order in formats that people read, such as JSON, and bytes (little-endian) in the
    /// others. In a list, a complex number is a list of its real and its imaginary part, and floats that are not finite are the texts
    /// `NaN`, `inf` and `-inf`, because JSON has no numbers for them.
    ///
    /// # Errors
    /// An error of the format for values that [`to_vec`](Tensor::to_vec) cannot read.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let array = self.data("serialize").map_err(S::Error::custom)?;
        let readable = serializer.is_human_readable();
        let mut fields = serializer.serialize_struct("Tensor", FIELDS.len())?;
        fields.serialize_field("dtype", &array.dtype())?;
        fields.serialize_field("shape", array.shape())?;
        if readable {
            fields.serialize_field("data", &List(&contiguous(array)))?;
        } else {
            fields.serialize_field("data", &Raw(Bytes::of(array)))?;
        }
        fields.end()
    }
}

/// The elements as a list.
struct List<'a>(&'a Array);

impl Serialize for List<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.numel()))?;
        any_dtype!(self.0.dtype(), T => {
            for &x in self.0.as_slice::<T>().unwrap_or_default() {
                let short = T::DTYPE.to_real().size() < 8;
                match Number::of(x) {
                    Number::Bool(x) => list.serialize_element(&x)?,
                    Number::Int(x) => list.serialize_element(&x)?,
                    Number::Float(x) => list.serialize_element(&Float { x, short })?,
                    Number::Complex(z) => list.serialize_element(&[z.re, z.im].map(|x| Float { x, short }))?,
                }
            }
        });
        list.end()
    }
}

/// A float, or a text for it.
struct Float {
    x: f64,
    /// It came from an `f32` or from less: its text is the shortest for such a number.
    short: bool,
}

impl Serialize for Float {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.x {
            x if x.is_nan() => serializer.serialize_str("NaN"),
            x if x.is_infinite() => serializer.serialize_str(if x > 0.0 { "inf" } else { "-inf" }),
            x if self.short => serializer.serialize_f32(x as f32),
            x => serializer.serialize_f64(x),
        }
    }
}

/// The elements as bytes.
struct Raw(Bytes);

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut all = Vec::new();
        let mut serialized = None;
        let mut serializer = Some(serializer);
        let _ = self.0.with::<()>(&mut |part| {
            // In one piece, and then not copied, unless the bytes had to be swapped.
            match serializer.take() {
                Some(s) if part.len() == self.0.len() => serialized = Some(s.serialize_bytes(part)),
                other => {
                    serializer = other;
                    all.extend_from_slice(part);
                }
            }
            Ok(())
        });
        match (serialized, serializer) {
            (Some(done), _) => done,
            (None, Some(serializer)) => serializer.serialize_bytes(&all),
            (None, None) => Err(S::Error::custom("the elements were not serialized")),
        }
    }
}

impl<'de> Deserialize<'de> for Tensor {
    /// With the feature `serde`: what [`serialize`](Serialize) wrote.
    ///
    /// # Errors
    /// An error of the format if `data` has not the number of elements of the shape, or elements that the dtype cannot hold.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tensor, D::Error> {
        let readable = deserializer.is_human_readable();
        deserializer.deserialize_struct("Tensor", FIELDS, Parts { readable })
    }
}

/// Puts a tensor together from its fields.
struct Parts {
    readable: bool,
}

impl<'de> Visitor<'de> for Parts {
    type Value = Tensor;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a tensor: dtype, shape and data")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut fields: A) -> Result<Tensor, A::Error> {
        let missing = |k| de::Error::invalid_length(k, &"the dtype, the shape and the data of a tensor");
        let dtype = fields.next_element()?.ok_or_else(|| missing(0))?;
        let shape = fields.next_element()?.ok_or_else(|| missing(1))?;
        if self.readable {
            from_list(dtype, shape, fields.next_element()?.ok_or_else(|| missing(2))?)
        } else {
            from_raw(dtype, shape, fields.next_element()?.ok_or_else(|| missing(2))?)
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tensor, A::Error> {
        let (mut dtype, mut shape, mut list, mut raw) = (None, None, None, None);
        while let Some(key) = map.next_key::<Field>()? {
            let twice = match key {
                Field("dtype") => dtype.replace(map.next_value()?).is_some(),
                Field("shape") => shape.replace(map.next_value()?).is_some(),
                _ if self.readable => list.replace(map.next_value()?).is_some(),
                _ => raw.replace(map.next_value()?).is_some(),
            };
            if twice {
                return Err(de::Error::duplicate_field(key.0));
            }
        }
        let dtype = dtype.ok_or_else(|| de::Error::missing_field("dtype"))?;
        let shape = shape.ok_or_else(|| de::Error::missing_field("shape"))?;
        match (list, raw) {
            (Some(list), _) => from_list(dtype, shape, list),
            (None, Some(raw)) => from_raw(dtype, shape, raw),
            (None, None) => Err(de::Error::missing_field("data")),
        }
    }
}

/// The name of a field.
struct Field(&'static str);

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Field, D::Error> {
        struct Name;
        impl Visitor<'_> for Name {
            type Value = Field;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a field of a tensor")
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<Field, E> {
                let found = FIELDS.iter().find(|f| **f == name);
                found.map(|f| Field(f)).ok_or_else(|| E::unknown_field(name, FIELDS))
            }
            fn visit_u64<E: de::Error>(self, index: u64) -> Result<Field, E> {
                let found = FIELDS.get(index as usize);
                found.map(|f| Field(f)).ok_or_else(|| E::invalid_value(Unexpected::Unsigned(index), &self))
            }
        }
        deserializer.deserialize_identifier(Name)
    }
}

fn from_list<E: de::Error>(dtype: DType, shape: Vec<usize>, numbers: Vec<Number>) -> Result<Tensor, E> {
    let ty = TensorType::new(dtype, &shape);
    let count = byte_count(&shape, dtype).map_err(E::custom)? / dtype.size() as u64;
    if count != numbers.len() as u64 {
        return Err(E::custom(format_args!("expected {count} elements for a tensor {ty}, got {}", numbers.len())));
    }
    any_dtype!(dtype, T => {
        let elements: Option<Vec<T>> = numbers.iter().map(|x| x.get::<T>()).collect();
        match elements {
            Some(elements) => Ok(Array::from_slice(&ty.shape, &elements).into()),
            None => {
                let bad = numbers.iter().find(|x| x.get::<T>().is_none());
                Err(E::custom(format_args!("expected elements of {dtype}, got {}", bad.map_or(String::new(), Number::text))))
            }
        }
    })
}

fn from_raw<E: de::Error>(dtype: DType, shape: Vec<usize>, bytes: Octets) -> Result<Tensor, E> {
    let (ty, count) = (TensorType::new(dtype, &shape), byte_count(&shape, dtype).map_err(E::custom)?);
    if count != bytes.0.len() as u64 {
        return Err(E::custom(format_args!("expected {count} bytes for a tensor {ty}, got {}", bytes.0.len())));
    }
    Ok(raw::read(&mut &bytes.0[..], &ty.shape, dtype, false).map_err(E::custom)?.into())
}

/// Bytes, however the format has them.
struct Octets(Vec<u8>);

impl<'de> Deserialize<'de> for Octets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Octets, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Octets;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Octets, E> {
                Ok(Octets(bytes.to_vec()))
            }
            fn visit_byte_buf<E: de::Error>(self, bytes: Vec<u8>) -> Result<Octets, E> {
                Ok(Octets(bytes))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Octets, A::Error> {
                let mut bytes = Vec::new();
                while let Some(byte) = list.next_element()? {
                    bytes.push(byte);
                }
                Ok(Octets(bytes))
            }
        }
        deserializer.deserialize_byte_buf(Any)
    }
}

/// An element as readable formats have it.
enum Number {
    Bool(bool),
    Int(i64),
    Float(f64),
    Complex(Complex64),
}

impl Number {
    fn of<T: Element>(x: T) -> Number {
        match T::DTYPE {
            DType::Bool => Number::Bool(x.to_i64() != 0),
            d if d.is_int() => Number::Int(x.to_i64()),
            d if d.is_complex() => Number::Complex(x.to_complex()),
            _ => Number::Float(x.to_f64()),
        }
    }

    /// The element, if the dtype can hold the number.
    fn get<T: Element>(&self) -> Option<T> {
        match *self {
            Number::Bool(x) => (T::DTYPE == DType::Bool).then(|| T::from_i64(x.into())),
            Number::Int(x) if T::DTYPE.is_int() => Some(T::from_i64(x)).filter(|y| y.to_i64() == x),
            Number::Int(x) => T::DTYPE.is_float().then(|| T::from_f64(x as f64)),
            Number::Float(x) => T::DTYPE.is_float().then(|| T::from_f64(x)),
            Number::Complex(z) => T::DTYPE.is_complex().then(|| T::from_scalar(z.into())),
        }
    }

    fn text(&self) -> String {
        match self {
            Number::Bool(x) => x.to_string(),
            Number::Int(x) => x.to_string(),
            Number::Float(x) => format!("{x:?}"),
            Number::Complex(z) => format!("[{:?},{:?}]", z.re, z.im),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        deserializer.deserialize_any(AnyNumber { is_part: false })
    }
}

/// A part of a complex number.
struct Part(f64);

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Part, D::Error> {
        match deserializer.deserialize_any(AnyNumber { is_part: true })? {
            Number::Int(x) => Ok(Part(x as f64)),
            Number::Float(x) => Ok(Part(x)),
            other => Err(de::Error::custom(format_args!("expected a part of a complex number, got {}", other.text()))),
        }
    }
}

struct AnyNumber {
    /// Then it has no parts itself.
    is_part: bool,
}

impl<'de> Visitor<'de> for AnyNumber {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a number, a bool, two parts, or one of the texts `NaN`, `inf` and `-inf`")
    }
    fn visit_bool<E: de::Error>(self, x: bool) -> Result<Number, E> {
        Ok(Number::Bool(x))
    }
    fn visit_i64<E: de::Error>(self, x: i64) -> Result<Number, E> {
        Ok(Number::Int(x))
    }
    fn visit_u64<E: de::Error>(self, x: u64) -> Result<Number, E> {
        // Beyond all integers that there are; a float may be as large.
        Ok(i64::try_from(x).map_or(Number::Float(x as f64), Number::Int))
    }
    fn visit_f64<E: de::Error>(self, x: f64) -> Result<Number, E> {
        Ok(Number::Float(x))
    }
    fn visit_str<E: de::Error>(self, x: &str) -> Result<Number, E> {
        match x {
            "NaN" => Ok(Number::Float(f64::NAN)),
            "inf" => Ok(Number::Float(f64::INFINITY)),
            "-inf" => Ok(Number::Float(f64::NEG_INFINITY)),
            _ => Err(E::invalid_value(Unexpected::Str(x), &self)),
        }
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Number, A::Error> {
        if self.is_part {
            return Err(de::Error::invalid_type(Unexpected::Seq, &self));
        }
        let mut part = || parts.next_element::<Part>();
        match [part()?, part()?, part()?] {
            [Some(Part(re)), Some(Part(im)), None] => Ok(Number::Complex(Complex64::new(re, im))),
            _ => Err(de::Error::custom("expected the two parts of a complex number")),
        }
    }
}
