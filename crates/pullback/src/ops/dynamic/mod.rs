//! Operations called with arguments whose types are known at run time only, as bindings to other languages call them.
//!
//! Every row of the table has its [`Form`]s: names, parameters and a function that takes [`Arguments`]. They are made of the
//! row's declaration; nothing here knows an operation.

use smallvec::SmallVec;

use crate::error::bail;
use crate::{DType, Result, Scalar, Tensor};

pub(crate) mod argument;
mod choice;
mod options;

pub use argument::{Argument, Value};
pub(crate) use argument::{Exactly, Unbiased};
pub(crate) use choice::{AddOrMultiply, NamedNorm};

pub use crate::array::on_no_memory;
pub use crate::tensor::rebind;

/// A way to call an operation.
#[derive(Clone, Copy)]
pub struct Form {
    /// The name. Forms of one name are told apart by their arguments, and the first that takes them is meant.
    pub name: &'static str,
    /// The namespace that alone has the form, with dots between its parts; empty for what any namespace may have.
    pub namespace: &'static str,
    /// Whether it is called as a function.
    pub is_function: bool,
    /// Whether it is called as a method of its first argument.
    pub is_method: bool,
    /// Whether the result can have the type of the first argument: then there may be a method that gives the tensor its result, see
    /// [`rebind`].
    pub in_place: bool,
    /// Whether the parameters are in the order that they have in Rust.
    pub keeps_order: bool,
    /// The names of parameters in Rust, and here, where they differ.
    pub renamed: &'static [(&'static str, &'static str)],
    /// The parameters in order.
    pub parameters: fn() -> Vec<Parameter>,
    /// What comes back.
    pub results: Results,
    /// The operation.
    pub call: fn(&mut Arguments) -> Result<Outcome>,
}

/// What a form returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Results {
    /// A tensor.
    One,
    /// Several tensors, and what they are called, if they have names.
    Several(usize, &'static [&'static str]),
    /// As many tensors as the arguments say.
    List,
    /// Whether something holds.
    Bool,
}

/// A parameter of a form.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// The name.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// Whether it takes [`Value::None`] too.
    pub or_none: bool,
    /// What a missing argument means. Without it, there must be one.
    pub default: Option<Literal>,
    /// Whether its integers or tensors may be given as arguments of their own: `reshape(2, 3)`.
    pub is_variadic: bool,
}

/// What a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// [`Value::Tensor`].
    Tensor,
    /// [`Value::Tensor`] or [`Value::Number`].
    Operand,
    /// [`Value::Tensors`].
    Tensors,
    /// [`Value::Int`].
    Int,
    /// [`Value::Ints`].
    Ints,
    /// [`Value::Float`].
    Float,
    /// [`Value::Floats`].
    Floats,
    /// [`Value::Bool`].
    Bool,
    /// [`Value::Text`].
    Text,
    /// [`Value::DType`].
    DType,
    /// [`Value::Source`].
    Source,
    /// [`Value::Choice`] of these names.
    Choice(&'static [&'static str]),
    /// [`Value::Choice`] of these names, or [`Value::Ints`].
    IntsOr(&'static [&'static str]),
    /// [`Value::Choice`] of these names, or [`Value::Float`].
    FloatOr(&'static [&'static str]),
    /// [`Value::Bool`], but only this one.
    Exactly(bool),
    /// [`Value::Int`], or [`Value::IntLists`] of two lists.
    IntOrPair,
}

/// The value of a missing argument.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Literal {
    /// Nothing.
    None,
    /// A bool.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// One of the names of a choice.
    Name(&'static str),
    /// Integers.
    Ints(&'static [i64]),
    /// An element type.
    DType(DType),
}

/// The arguments of a call, one for each parameter, which the form takes in order.
pub struct Arguments {
    operation: &'static str,
    values: SmallVec<[Value; 4]>,
    next: usize,
}

impl Arguments {
    /// No arguments yet for an operation.
    #[inline]
    pub fn new(operation: &'static str) -> Arguments {
        Arguments { operation, values: SmallVec::new(), next: 0 }
    }

    /// Adds the next argument.
    #[inline]
    pub fn push(&mut self, value: Value) {
        self.values.push(value);
    }

    /// How many elements the tensors among the arguments have: what the work of a call grows with.
    #[inline]
    pub fn numel(&self) -> usize {
        let of = |v: &Value| match v {
            Value::Tensor(t) => t.numel(),
            Value::Tensors(all) => all.iter().map(Tensor::numel).sum(),
            _ => 0,
        };
        self.values.iter().map(of).sum()
    }

    /// The next argument.
    #[inline]
    fn take(&mut self) -> Value {
        let value = self.values.get_mut(self.next).map_or(Value::Missing, |v| std::mem::replace(v, Value::Missing));
        self.next += 1;
        value
    }
}

/// What a call returned.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// A tensor.
    One(Tensor),
    /// Several tensors.
    Several(SmallVec<[Tensor; 3]>),
    /// Whether something holds.
    Bool(bool),
}

impl Outcome {
    /// The results at these places, of several.
    pub(crate) fn pick(self, places: &[usize]) -> Outcome {
        let Outcome::Several(all) = self else { return self };
        match places {
            [place] => Outcome::One(all[*place].clone()),
            places => Outcome::Several(places.iter().map(|&place| all[place].clone()).collect()),
        }
    }
}

impl From<Tensor> for Outcome {
    #[inline]
    fn from(t: Tensor) -> Outcome {
        Outcome::One(t)
    }
}

impl From<bool> for Outcome {
    #[inline]
    fn from(holds: bool) -> Outcome {
        Outcome::Bool(holds)
    }
}

impl From<(Tensor, Tensor)> for Outcome {
    fn from((a, b): (Tensor, Tensor)) -> Outcome {
        Outcome::Several([a, b].into_iter().collect())
    }
}

impl From<(Tensor, Tensor, Tensor)> for Outcome {
    fn from((a, b, c): (Tensor, Tensor, Tensor)) -> Outcome {
        Outcome::Several(SmallVec::from([a, b, c]))
    }
}

impl From<Vec<Tensor>> for Outcome {
    fn from(all: Vec<Tensor>) -> Outcome {
        Outcome::Several(all.into())
    }
}

/// The tensor or number that an `impl Operand` is given.
pub(crate) enum AnyOperand {
    Tensor(Tensor),
    Number(Scalar),
}

impl AnyOperand {
    /// The operands of an operation, the first of which is made a tensor beside the other.
    #[inline]
    pub(crate) fn two(operation: &str, a: AnyOperand, b: AnyOperand) -> Result<(Tensor, AnyOperand)> {
        match (a, &b) {
            (AnyOperand::Tensor(a), _) => Ok((a, b)),
            (AnyOperand::Number(a), AnyOperand::Tensor(t)) => Ok((super::arith::number(operation, a, t.dtype())?, b)),
            (AnyOperand::Number(_), AnyOperand::Number(_)) => {
                bail!(Dtype, "{operation}: expected a tensor among the operands, got two numbers")
            }
        }
    }
}

impl crate::Operand for AnyOperand {
    #[inline]
    fn with_operand<R>(self, op: &str, other: DType, f: impl FnOnce(&Tensor) -> Result<R>) -> Result<R> {
        match self {
            AnyOperand::Tensor(t) => f(&t),
            AnyOperand::Number(n) => f(&super::arith::number(op, n, other)?),
        }
    }
    fn into_operand(self, op: &str, other: DType) -> Result<Tensor> {
        match self {
            AnyOperand::Tensor(t) => Ok(t),
            AnyOperand::Number(n) => super::arith::number(op, n, other),
        }
    }
    fn operand_dtype(&self) -> DType {
        match self {
            AnyOperand::Tensor(t) => t.dtype(),
            AnyOperand::Number(n) => n.promote_with(DType::Bool),
        }
    }
    #[inline]
    fn as_scalar(&self) -> Option<Scalar> {
        match self {
            AnyOperand::Tensor(_) => None,
            AnyOperand::Number(n) => Some(*n),
        }
    }
}

/// The tensor in the dtype that the operation is asked to work in.
#[inline]
pub(crate) fn converted(t: Tensor, dtype: Option<DType>) -> Result<Tensor> {
    match dtype {
        Some(dtype) => t.to_dtype(dtype),
        None => Ok(t),
    }
}

/// The result of an operation that was asked to work in a dtype. What it computes in another one is no answer, except that
/// smaller integers are added and multiplied as `i64`.
#[inline]
pub(crate) fn of_dtype(operation: &str, y: Tensor, dtype: Option<DType>) -> Result<Tensor> {
    match dtype {
        Some(dtype) if y.dtype() == DType::I64 && dtype.is_int() => y.to_dtype(dtype),
        Some(dtype) if y.dtype() != dtype => {
            bail!(Dtype, "{operation}: expected a dtype that it can compute in, got {dtype}")
        }
        _ => Ok(y),
    }
}

/// The error for a value that is none of those that the kind of a parameter allows: the caller broke its promise.
#[cold]
fn unexpected<T>(operation: &str, name: &str, value: &Value) -> Result<T> {
    bail!(Internal, "{operation}: no value for `{name}` in {value:?}")
}
