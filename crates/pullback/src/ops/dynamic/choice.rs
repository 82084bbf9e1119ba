//! The names of the values of enumerations.

use super::argument::{FromValue, Value};
use super::{Kind, Literal, unexpected};
use crate::nn::{Approximate, ConvPadding, GridMode, GridPadding, InterpolateMode, PerDim};
use crate::{GridOrder, Interpolation, MatrixNorm, NormOrder, Reduce, Reduction, Result, RoundingMode};

/// Writes the names of the values of an enumeration, of which the first is the default if `default` is given.
macro_rules! choice {
    ($($t:ty $([default $default:literal])?: $($name:literal => $value:expr),*;)*) => { $(
        impl FromValue for $t {
            const KIND: Kind = Kind::Choice(&[$($name),*]);
            $(const DEFAULT: Option<Literal> = Some(Literal::Name($default));)?
            fn from_value(value: Value, operation: &'static str, name: &'static str) -> Result<$t> {
                const VALUES: &[$t] = &[$($value),*];
                match value {
                    Value::Choice(k) if k < VALUES.len() => Ok(VALUES[k]),
                    other => unexpected(operation, name, &other),
                }
            }
        }
    )* };
}
choice! {
    Approximate [default "none"]: "none" => Approximate::None, "tanh" => Approximate::Tanh;
    Reduction [default "mean"]: "none" => Reduction::None, "mean" => Reduction::Mean, "sum" => Reduction::Sum;
    Interpolation [default "linear"]: "linear" => Interpolation::Linear, "lower" => Interpolation::Lower,
        "higher" => Interpolation::Higher, "midpoint" => Interpolation::Midpoint, "nearest" => Interpolation::Nearest;
    Reduce: "sum" => Reduce::Sum, "prod" => Reduce::Prod, "mean" => Reduce::Mean, "amax" => Reduce::Amax,
        "amin" => Reduce::Amin;
    RoundingMode: "trunc" => RoundingMode::Trunc, "floor" => RoundingMode::Floor;
    GridOrder [default "ij"]: "ij" => GridOrder::Ij, "xy" => GridOrder::Xy;
    InterpolateMode [default "nearest"]: "nearest" => InterpolateMode::Nearest,
        "nearest-exact" => InterpolateMode::NearestExact, "linear" => InterpolateMode::Linear,
        "bilinear" => InterpolateMode::Linear, "trilinear" => InterpolateMode::Linear,
        "bicubic" => InterpolateMode::Cubic, "area" => InterpolateMode::Area;
    GridMode [default "bilinear"]: "bilinear" => GridMode::Linear, "nearest" => GridMode::Nearest, "bicubic" => GridMode::Cubic;
    GridPadding [default "zeros"]: "zeros" => GridPadding::Zeros, "border" => GridPadding::Border,
        "reflection" => GridPadding::Reflection;
}
#[cfg(feature = "fft")]
choice! {
    crate::fft::Norm [default "backward"]: "backward" => crate::fft::Norm::Backward, "ortho" => crate::fft::Norm::Ortho,
        "forward" => crate::fft::Norm::Forward;
}

impl FromValue for MatrixNorm {
    const KIND: Kind = Kind::FloatOr(&["fro", "nuc"]);
    fn from_value(value: Value, operation: &'static str, name: &'static str) -> Result<MatrixNorm> {
        Ok(match value {
            Value::Choice(0) => MatrixNorm::Frobenius,
            Value::Choice(1) => MatrixNorm::Nuclear,
            Value::Float(2.0) => MatrixNorm::Two,
            Value::Float(-2.0) => MatrixNorm::MinusTwo,
            Value::Float(1.0) => MatrixNorm::One,
            Value::Float(-1.0) => MatrixNorm::MinusOne,
            Value::Float(f64::INFINITY) => MatrixNorm::Infinity,
            Value::Float(f64::NEG_INFINITY) => MatrixNorm::MinusInfinity,
            Value::Float(ord) => crate::error::bail!(
                Value,
                "{operation}: expected 'fro', 'nuc', 1, -1, 2, -2, inf or -inf for `{name}`, got {ord}"
            ),
            other => return unexpected(operation, name, &other),
        })
    }
}

impl FromValue for NormOrder {
    const KIND: Kind = Kind::FloatOr(&["fro", "nuc"]);
    fn from_value(value: Value, operation: &'static str, name: &'static str) -> Result<NormOrder> {
        Ok(match value {
            Value::Choice(0) => NormOrder::Frobenius,
            Value::Choice(1) => NormOrder::Nuclear,
            Value::Float(p) => NormOrder::P(p),
            other => return unexpected(operation, name, &other),
        })
    }
}

/// How elements are joined, by the names that `scatter` has for it.
#[derive(Clone, Copy)]
pub(crate) enum AddOrMultiply {
    Add,
    Multiply,
}

choice! {
    AddOrMultiply: "add" => AddOrMultiply::Add, "multiply" => AddOrMultiply::Multiply;
}

impl From<AddOrMultiply> for Reduce {
    fn from(join: AddOrMultiply) -> Reduce {
        match join {
            AddOrMultiply::Add => Reduce::Sum,
            AddOrMultiply::Multiply => Reduce::Prod,
        }
    }
}

/// A norm by its name, for a form beside one that takes a number.
#[derive(Clone, Copy)]
pub(crate) enum NamedNorm {
    Frobenius,
    Nuclear,
}

choice! {
    NamedNorm: "fro" => NamedNorm::Frobenius, "nuc" => NamedNorm::Nuclear;
}

impl From<NamedNorm> for Option<NormOrder> {
    fn from(norm: NamedNorm) -> Option<NormOrder> {
        Some(match norm {
            NamedNorm::Frobenius => NormOrder::Frobenius,
            NamedNorm::Nuclear => NormOrder::Nuclear,
        })
    }
}

impl FromValue for ConvPadding {
    const KIND: Kind = Kind::IntsOr(&["same", "valid"]);
    fn from_value(value: Value, operation: &'static str, name: &'static str) -> Result<ConvPadding> {
        Ok(match value {
            Value::Choice(0) => ConvPadding::Same,
            Value::Choice(_) => 0.into(),
            other => PerDim::from_value(other, operation, name)?.into(),
        })
    }
}
