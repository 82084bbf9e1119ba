//! From values whose type is known at run time to the types of parameters.

use smallvec::SmallVec;

use super::{AnyOperand, Arguments, Kind, Literal, Parameter, unexpected};
use crate::error::bail;
use crate::nn::PerDim;
use crate::random::{AnySource, Source};
use crate::{Classes, Contracted, DType, IndexItem, Result, Scalar, Tensor};

/// An argument.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Value {
    /// No argument: the default is meant.
    Missing,
    /// The absence of what is optional.
    None,
    /// A tensor.
    Tensor(Tensor),
    /// A number in the place of a tensor.
    Number(Scalar),
    /// Several tensors.
    Tensors(Vec<Tensor>),
    /// An integer.
    Int(i64),
    /// Integers.
    Ints(SmallVec<[i64; 4]>),
    /// A float.
    Float(f64),
    /// Lists of integers.
    IntLists(SmallVec<[SmallVec<[i64; 4]>; 2]>),
    /// Floats.
    Floats(SmallVec<[f64; 4]>),
    /// A bool.
    Bool(bool),
    /// A text.
    Text(String),
    /// An element type.
    DType(DType),
    /// What random numbers are drawn from.
    Source(AnySource),
    /// Which of the names of the [`Kind`].
    Choice(usize),
}

/// A type of parameters.
#[doc(hidden)]
pub trait Argument: Sized {
    /// Adds the parameters that make it; `default` is what the row says.
    fn describe(all: &mut Vec<Parameter>, name: &'static str, default: Option<Literal>);

    /// Takes it from the arguments.
    fn take(arguments: &mut Arguments, name: &'static str, default: Option<Literal>) -> Result<Self>;
}

/// A type of parameters that is made of one value.
pub(crate) trait FromValue: Sized {
    const KIND: Kind;
    /// Whether [`Value::None`] is one of its values.
    const OR_NONE: bool = false;
    /// The default where a row says nothing else.
    const DEFAULT: Option<Literal> = None;

    fn from_value(value: Value, operation: &'static str, name: &'static str) -> Result<Self>;
}

impl<T: FromValue> Argument for T {
    fn describe(all: &mut Vec<Parameter>, name: &'static str, default: Option<Literal>) {
        let default = default.or(T::DEFAULT);
        all.push(Parameter { name, kind: T::KIND, or_none: T::OR_NONE, default, is_variadic: false });
    }

    #[inline]
    fn take(arguments: &mut Arguments, name: &'static str, default: Option<Literal>) -> Result<T> {
        let value = match arguments.take() {
            Value::Missing => of_literal(T::KIND, default.or(T::DEFAULT)),
            given => given,
        };
        T::from_value(value, arguments.operation, name)
    }
}

/// The value of a default.
fn of_literal(kind: Kind, literal: Option<Literal>) -> Value {
    match (kind, literal) {
        (_, None) => Value::Missing,
        (_, Some(Literal::None)) => Value::None,
        (_, Some(Literal::Bool(b))) => Value::Bool(b),
        (Kind::Int | Kind::IntOrPair, Some(Literal::Int(i))) => Value::Int(i),
        (Kind::Operand, Some(Literal::Int(i))) => Value::Number(Scalar::Int(i)),
        (Kind::Operand, Some(Literal::Float(x))) => Value::Number(Scalar::Float(x)),
        (Kind::Ints | Kind::IntsOr(_), Some(Literal::Int(i))) => Value::Ints(SmallVec::from_slice(&[i])),
        (_, Some(Literal::Int(i))) => Value::Float(i as f64),
        (_, Some(Literal::Float(x))) => Value::Float(x),
        (_, Some(Literal::DType(dtype))) => Value::DType(dtype),
        (_, Some(Literal::Ints(all))) => Value::Ints(SmallVec::from_slice(all)),
        (Kind::Choice(names) | Kind::IntsOr(names) | Kind::FloatOr(names), Some(Literal::Name(name))) => {
            names.iter().position(|n| *n == name).map_or(Value::Missing, Value::Choice)
        }
        (_, Some(Literal::Name(text))) => Value::Text(text.to_owned()),
    }
}

/// Writes that a type is made of one variant of [`Value`].
macro_rules! from_value {
    ($($t:ty: $kind:ident = $value:ident($v:ident) => $made:expr;)*) => { $(
        impl FromValue for $t {
            const KIND: Kind = Kind::$kind;
            #[inline]
            fn from_value(value: Value, operation: &'static str, name: &'static str) -> Result<$t> {
                match value {
                    Value::$value($v) => Ok($made),
                    other => unexpected(operation, name, &other),
                }
            }
        }
    )* };
}
from_value! {
    Tensor: Tensor = Tensor(t) => t;
    Vec<Tensor>: Tensors = Tensors(all) => all;
    f64: Float = Float(x) => x;
    SmallVec<[f64; 4]>: Floats = Floats(all) => all;
    bool: Bool = Bool(b) => b;
    String: Text = Text(s) => s;
    DType: DType = DType(d) => d;
}

impl FromValue for AnyOperand {
    const KIND: Kind = Kind::Operand;
    #[inline]
    fn from_value(value: Value, operation: &'static str, name: &'static str) -> Result<AnyOperand> {
        match value {
            Value::Tensor(t) => Ok(AnyOperand::Tensor(t)),
            Value::Number(n) => Ok(AnyOperand::Number(n)),
            other => unexpected(operation, name, &other),
        }
    }
}

/// A number of a type that may be smaller than `i64`.
#[inline]
fn fit<T: TryFrom<i64>>(n: i64, operation: &str, name: &str) -> Result<T> {
    match T::try_from(n) {
        Ok(n) => Ok(n),
        Err(_) if n < 0 => bail!(Value, "{operation}: expected `{name}` of at least 0, got {n}"),
        Err(_) => bail!(Value, "{operation}: `{name}` is too large: {n}"),
    }
}

macro_rules! integer {
    ($($t:ty),*) => { $(
        impl FromValue for $t {
            const KIND: Kind = Kind::Int;
            #[inline]
            fn from_value(value: Value, operation: &'static str, name: &'static str) -> Result<$t> {
                match value {
                    Value::Int(n) => fit(n, operation, name),
                    other => unexpected(operation, name, &other),
                }
            }
        }
    )* };
}
integer!(i32, i64, isize, u32, u64, usize);

macro_rules! integers {
    ($($t:ty),*) => { $(
        impl FromValue for SmallVec<[$t; 4]> {
            const KIND: Kind = Kind::Ints;
            #[inline]
            fn from_value(value: Value, operation: &'static str, name: &'static str) -> Result<SmallVec<[$t; 4]>> {
                match value {
                    Value::Ints(all) => {
                        // A loop, because collecting results in a list is much slower for few of them.
                        let mut out = SmallVec::with_capacity(all.len());
                        for &n in &all {
                            out.push(fit(n, operation, name)?);
                        }
                        Ok(out)
                    }
                    other => unexpected(operation, name, &other),
                }
            }
        }
    )* };
}
integers!(isize, usize);

/// The one bool that a form takes, by which it differs from another one.
pub(crate) struct Exactly<const ONLY: bool>;

impl<const ONLY: bool> FromValue for Exactly<ONLY> {
    const KIND: Kind = Kind::Exactly(ONLY);
    fn from_value(value: Value, operation: &'static str, name: &'static str) -> Result<Exactly<ONLY>> {
        match value {
            Value::Bool(b) if b == ONLY => Ok(Exactly),
            other => unexpected(operation, name, &other),
        }
    }
}

/// A correction of 1 if it holds, else of 0.
pub(crate) struct Unbiased(bool);

impl FromValue for Unbiased {
    const KIND: Kind = Kind::Bool;
    fn from_value(value: Value, operation: &'static str, name: &'static str) -> Result<Unbiased> {
        bool::from_value(value, operation, name).map(Unbiased)
    }
}

impl From<Unbiased> for usize {
    fn from(unbiased: Unbiased) -> usize {
        usize::from(unbiased.0)
    }
}

impl FromValue for Classes {
    const KIND: Kind = Kind::Int;
    fn from_value(value: Value, operation: &'static str, name: &'static str) -> Result<Classes> {
        match value {
            Value::Int(-1) => Ok(Classes::OfData),
            Value::Int(n) => fit(n, operation, name).map(Classes::Exactly),
            other => unexpected(operation, name, &other),
        }
    }
}

impl FromValue for Contracted {
    const KIND: Kind = Kind::IntOrPair;
    fn from_value(value: Value, operation: &'static str, name: &'static str) -> Result<Contracted> {
        match value {
            Value::Int(n) => Ok(Contracted::Last(fit(n, operation, name)?)),
            Value::IntLists(lists) if lists.len() == 2 => {
                let list = |k: usize| lists[k].iter().map(|&n| fit(n, operation, name)).collect::<Result<Vec<isize>>>();
                Ok(Contracted::Pairs(list(0)?, list(1)?))
            }
            other => unexpected(operation, name, &other),
        }
    }
}

/// An index by tensors, one for each of the first dimensions.
impl FromValue for Vec<IndexItem> {
    const KIND: Kind = Kind::Tensors;
    fn from_value(value: Value, operation: &'static str, name: &'static str) -> Result<Vec<IndexItem>> {
        Ok(Vec::from_value(value, operation, name)?.into_iter().map(IndexItem::Tensor).collect())
    }
}

impl<const N: usize> FromValue for [isize; N] {
    const KIND: Kind = Kind::Ints;
    fn from_value(value: Value, operation: &'static str, name: &'static str) -> Result<[isize; N]> {
        let all = SmallVec::<[isize; 4]>::from_value(value, operation, name)?;
        match <[isize; N]>::try_from(&all[..]) {
            Ok(all) => Ok(all),
            Err(_) => bail!(Arity, "{operation}: expected {N} integers for `{name}`, got {}", all.len()),
        }
    }
}

impl FromValue for PerDim {
    const KIND: Kind = Kind::Ints;
    fn from_value(value: Value, operation: &'static str, name: &'static str) -> Result<PerDim> {
        Ok(SmallVec::<[usize; 4]>::from_value(value, operation, name)?[..].into())
    }
}

impl FromValue for Source {
    const KIND: Kind = Kind::Source;
    fn from_value(value: Value, operation: &'static str, name: &'static str) -> Result<Source> {
        match value {
            Value::Source(source) => Ok(source.into()),
            other => unexpected(operation, name, &other),
        }
    }
}

impl<T: FromValue> FromValue for Option<T> {
    const KIND: Kind = T::KIND;
    const OR_NONE: bool = true;
    const DEFAULT: Option<Literal> = Some(Literal::None);
    #[inline]
    fn from_value(value: Value, operation: &'static str, name: &'static str) -> Result<Option<T>> {
        match value {
            Value::None => Ok(None),
            value => T::from_value(value, operation, name).map(Some),
        }
    }
}
