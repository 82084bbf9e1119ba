//! Element types, the promotion table, and the one place that matches on a dtype.

use std::fmt;

use crate::{Result, error::bail};

/// The type of a tensor's elements.
///
/// # Promotion
/// Operands of different dtypes are first brought to a common one. Types fall in three categories, `bool` < integer
/// (`u8`, `i32`, `i64`) < floating (`f32`, `f64`). Operands are ranked: tensors with dimensions, then 0-d tensors,
/// then Rust numbers. A lower-ranked operand only matters if its category is higher than that of all higher-ranked
/// ones; within a rank the dtypes combine by this table:
///
/// |      | bool | u8  | i32 | i64 | f32 | f64 |
/// |------|------|-----|-----|-----|-----|-----|
/// | bool | bool | u8  | i32 | i64 | f32 | f64 |
/// | u8   | u8   | u8  | i32 | i64 | f32 | f64 |
/// | i32  | i32  | i32 | i32 | i64 | f32 | f64 |
/// | i64  | i64  | i64 | i64 | i64 | f32 | f64 |
/// | f32  | f32  | f32 | f32 | f32 | f32 | f64 |
/// | f64  | f64  | f64 | f64 | f64 | f64 | f64 |
///
/// A Rust integer stands for `i64` and a Rust float for the default float `f32` when they win:
/// `i32[3] * 2` is `i32[3]`, `i32[3] * 2.0` is `f32[3]`, `f32[3] * 2.0` is `f32[3]`. Functions that need a float
/// (`exp`, `mean`, true division) turn integers and bools into `f32`. These are PyTorch's rules.
///
/// ```
/// use pullback::{DType, Tensor};
/// assert_eq!(DType::I32.promote(DType::F32), DType::F32);
/// assert_eq!((&Tensor::from([1i32, 2]) * 2.0).dtype(), DType::F32);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DType {
    /// True or false, one byte.
    Bool,
    /// Unsigned 8-bit integer.
    U8,
    /// Signed 32-bit integer.
    I32,
    /// Signed 64-bit integer.
    I64,
    /// IEEE 754 single precision.
    F32,
    /// IEEE 754 double precision.
    F64,
}

impl DType {
    /// Every dtype, in the order of the promotion table.
    pub const ALL: [DType; 6] = [DType::Bool, DType::U8, DType::I32, DType::I64, DType::F32, DType::F64];

    /// The name used in messages and printed tensors: `f32`, `i64`, `bool`.
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::U8 => "u8",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::F32 => "f32",
            DType::F64 => "f64",
        }
    }

    /// Bytes per element.
    pub const fn size(self) -> usize {
        match self {
            DType::Bool | DType::U8 => 1,
            DType::I32 | DType::F32 => 4,
            DType::I64 | DType::F64 => 8,
        }
    }

    /// True for the dtypes that can carry a derivative.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F32 | DType::F64)
    }

    /// True for `u8`, `i32` and `i64`.
    pub const fn is_int(self) -> bool {
        matches!(self, DType::U8 | DType::I32 | DType::I64)
    }

    const fn category(self) -> u8 {
        match self {
            DType::Bool => 0,
            DType::U8 | DType::I32 | DType::I64 => 1,
            DType::F32 | DType::F64 => 2,
        }
    }

    /// The common dtype of two operands of equal rank, by the table above.
    pub const fn promote(self, other: DType) -> DType {
        // The enum is ordered so that the join of two entries is the larger one.
        if self as u8 >= other as u8 { self } else { other }
    }

    /// True if elements of this dtype can be stored in a tensor of dtype `other` without changing what kind of number
    /// they are: no float among integers, no number among bools.
    pub(crate) const fn fits_in(self, other: DType) -> bool {
        self.category() <= other.category()
    }

    /// `self` if it is a float, else the default float `f32`.
    pub const fn to_float(self) -> DType {
        if self.is_float() { self } else { DType::F32 }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The common dtype of two tensors, where 0-d tensors only matter if their category is higher.
pub(crate) fn promote_ranked(a: (DType, usize), b: (DType, usize)) -> DType {
    let ((da, ra), (db, rb)) = (a, b);
    match (ra > 0, rb > 0) {
        (true, false) if da.category() >= db.category() => da,
        (false, true) if db.category() >= da.category() => db,
        _ => da.promote(db),
    }
}

/// A Rust number as an operand, whose dtype gives way to that of a tensor of at least its category.
///
/// You rarely name it: every operator and method that takes a number takes `impl Into<Scalar>`.
///
/// ```
/// use pullback::Tensor;
/// let x = Tensor::from([1.0f32, 2.0]);
/// assert_eq!((&x + 1).to_vec::<f32>().unwrap(), [2.0, 3.0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// A `bool`.
    Bool(bool),
    /// Any Rust integer up to 64 bits.
    Int(i64),
    /// An `f32` or `f64`.
    Float(f64),
}

impl Scalar {
    /// The value as `f64`.
    pub fn to_f64(self) -> f64 {
        match self {
            Scalar::Bool(b) => f64::from(u8::from(b)),
            Scalar::Int(i) => i as f64,
            Scalar::Float(x) => x,
        }
    }

    /// The dtype of the result when this number meets a tensor of `dtype`.
    pub(crate) fn promote_with(self, dtype: DType) -> DType {
        let own = match self {
            Scalar::Bool(_) => DType::Bool,
            Scalar::Int(_) => DType::I64,
            Scalar::Float(_) => DType::F32,
        };
        if dtype.category() >= own.category() { dtype } else { own }
    }
}

macro_rules! scalar_from {
    ($($t:ty => $variant:ident as $to:ty),*) => { $(
        impl From<$t> for Scalar {
            fn from(x: $t) -> Scalar { Scalar::$variant(x as $to) }
        }
    )* };
}
scalar_from!(bool => Bool as bool, u8 => Int as i64, i32 => Int as i64, i64 => Int as i64, u32 => Int as i64,
    usize => Int as i64, isize => Int as i64, f32 => Float as f64, f64 => Float as f64);

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that can be the element of a tensor: `bool`, `u8`, `i32`, `i64`, `f32`, `f64`. Sealed.
pub trait Element:
    sealed::Sealed + Copy + Default + PartialOrd + fmt::Debug + fmt::Display + Send + Sync + 'static
{
    /// The dtype of a tensor with these elements.
    const DTYPE: DType;
    /// Zero, or `false`.
    const ZERO: Self;
    /// One, or `true`.
    const ONE: Self;
    /// Conversion by Rust's `as`: floats truncate towards zero and saturate; for `bool`, non-zero is `true`.
    fn from_f64(x: f64) -> Self;
    /// Conversion by Rust's `as`: integers wrap; for `bool`, non-zero is `true`.
    fn from_i64(x: i64) -> Self;
    /// Conversion to `f64`, exact except for large `i64`.
    fn to_f64(self) -> f64;
    /// Conversion to `i64` by Rust's `as`.
    fn to_i64(self) -> i64;
    /// The element nearest to a Rust number.
    fn from_scalar(x: Scalar) -> Self {
        match x {
            Scalar::Bool(b) => Self::from_i64(i64::from(b)),
            Scalar::Int(i) => Self::from_i64(i),
            Scalar::Float(x) => Self::from_f64(x),
        }
    }
}

macro_rules! number_element {
    ($($t:ty => $dtype:ident),*) => { $(
        impl sealed::Sealed for $t {}
        impl Element for $t {
            const DTYPE: DType = DType::$dtype;
            const ZERO: $t = 0 as $t;
            const ONE: $t = 1 as $t;
            #[inline(always)]
            fn from_f64(x: f64) -> $t { x as $t }
            #[inline(always)]
            fn from_i64(x: i64) -> $t { x as $t }
            #[inline(always)]
            fn to_f64(self) -> f64 { self as f64 }
            #[inline(always)]
            fn to_i64(self) -> i64 { self as i64 }
        }
    )* };
}
number_element!(u8 => U8, i32 => I32, i64 => I64, f32 => F32, f64 => F64);

impl sealed::Sealed for bool {}
impl Element for bool {
    const DTYPE: DType = DType::Bool;
    const ZERO: bool = false;
    const ONE: bool = true;
    #[inline(always)]
    fn from_f64(x: f64) -> bool {
        x != 0.0
    }
    #[inline(always)]
    fn from_i64(x: i64) -> bool {
        x != 0
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(u8::from(self))
    }
    #[inline(always)]
    fn to_i64(self) -> i64 {
        i64::from(self)
    }
}

/// Runs a block with a type alias bound to the Rust type of a dtype:
/// `dispatch!(x.dtype(), "sin", [F32, F64], T => kernel::<T>(x))`.
///
/// The list names the accepted dtypes, or is `all` or `float` or `number` (all but bool); any other dtype is an
/// error of kind `Dtype` that names the operation. A new dtype is added here and in [`DType`].
macro_rules! dispatch {
    ($dtype:expr, $op:expr, all, $t:ident => $body:expr) => {
        $crate::dtype::dispatch!($dtype, $op, [Bool, U8, I32, I64, F32, F64], $t => $body)
    };
    ($dtype:expr, $op:expr, number, $t:ident => $body:expr) => {
        $crate::dtype::dispatch!($dtype, $op, [U8, I32, I64, F32, F64], $t => $body)
    };
    ($dtype:expr, $op:expr, integer, $t:ident => $body:expr) => {
        $crate::dtype::dispatch!($dtype, $op, [U8, I32, I64], $t => $body)
    };
    ($dtype:expr, $op:expr, float, $t:ident => $body:expr) => {
        $crate::dtype::dispatch!($dtype, $op, [F32, F64], $t => $body)
    };
    ($dtype:expr, $op:expr, [$($d:ident),+], $t:ident => $body:expr) => {
        match $dtype {
            $( $crate::DType::$d => { type $t = $crate::dtype::rust_type!($d); $body } )+
            #[allow(unreachable_patterns)]
            other => $crate::dtype::unsupported($op, other, &[$($crate::DType::$d),+]),
        }
    };
}
macro_rules! rust_type {
    (Bool) => {
        bool
    };
    (U8) => {
        u8
    };
    (I32) => {
        i32
    };
    (I64) => {
        i64
    };
    (F32) => {
        f32
    };
    (F64) => {
        f64
    };
}
pub(crate) use {dispatch, rust_type};

#[cold]
pub(crate) fn unsupported<T>(op: &str, got: DType, accepted: &[DType]) -> Result<T> {
    let names: Vec<_> = accepted.iter().map(|d| d.name()).collect();
    bail!(Dtype, "{op}: expected a tensor of dtype {}, got {got}", names.join(", "); help = "convert it with `to_dtype`")
}
