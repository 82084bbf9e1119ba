//! Element types, the promotion table, and the one place that matches on a dtype.

mod dispatch;
mod element;
mod scalar;

use std::fmt;

pub(crate) use dispatch::{any_dtype, any_word, dispatch, rust_type, unsupported};
pub use element::Element;
pub(crate) use element::Word;
pub use half::{bf16, f16};
pub use num_complex::{Complex, Complex32, Complex64};
pub use scalar::Scalar;

/// The type of a tensor's elements.
///
/// # Promotion
/// Operands of different dtypes are first brought to a common one. Types fall in four categories, `bool` < integer
/// (`u8`, `i32`, `i64`) < floating (`f16`, `bf16`, `f32`, `f64`) < complex (`c64`, `c128`). Operands are ranked: tensors
/// with dimensions, then 0-d tensors, then Rust numbers. A lower-ranked operand only matters if its category is higher
/// than that of all higher-ranked ones, and makes a float complex without changing its precision; within a rank the dtypes
/// combine by this table:
///
/// |      | bool | u8   | i32  | i64  | f16  | bf16 | f32  | f64  | c64  | c128 |
/// |------|------|------|------|------|------|------|------|------|------|------|
/// | bool | bool | u8   | i32  | i64  | f16  | bf16 | f32  | f64  | c64  | c128 |
/// | u8   | u8   | u8   | i32  | i64  | f16  | bf16 | f32  | f64  | c64  | c128 |
/// | i32  | i32  | i32  | i32  | i64  | f16  | bf16 | f32  | f64  | c64  | c128 |
/// | i64  | i64  | i64  | i64  | i64  | f16  | bf16 | f32  | f64  | c64  | c128 |
/// | f16  | f16  | f16  | f16  | f16  | f16  | f32  | f32  | f64  | c64  | c128 |
/// | bf16 | bf16 | bf16 | bf16 | bf16 | f32  | bf16 | f32  | f64  | c64  | c128 |
/// | f32  | f32  | f32  | f32  | f32  | f32  | f32  | f32  | f64  | c64  | c128 |
/// | f64  | f64  | f64  | f64  | f64  | f64  | f64  | f64  | f64  | c128 | c128 |
/// | c64  | c64  | c64  | c64  | c64  | c64  | c64  | c64  | c128 | c64  | c128 |
/// | c128 | c128 | c128 | c128 | c128 | c128 | c128 | c128 | c128 | c128 | c128 |
///
/// A Rust integer stands for `i64`, a Rust float for the default float `f32` and a Rust complex number for `c64` when they
/// win: `i32[3] * 2` is `i32[3]`, `i32[3] * 2.0` is `f32[3]`, `f16[3] * 2.0` is `f16[3]`. Functions that need a float
/// (`exp`, `mean`, true division) turn integers and bools into `f32`. These are PyTorch's rules.
///
/// # Half precision
/// Operations on `f16` and `bf16` compute in `f32` and round once, when the result is stored; sums and products of matrices
/// are accumulated in `f32`.
///
/// ```
/// use pullback::{DType, Tensor};
/// assert_eq!(DType::I32.promote(DType::F32), DType::F32);
/// assert_eq!(DType::F16.promote(DType::BF16), DType::F32);
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
    /// IEEE 754 half precision: 11 bits of precision, numbers up to 65504.
    F16,
    /// The upper half of an `f32`: 8 bits of precision, the range of `f32`.
    BF16,
    /// IEEE 754 single precision.
    F32,
    /// IEEE 754 double precision.
    F64,
    /// Complex number of two `f32`.
    C64,
    /// Complex number of two `f64`.
    C128,
}

impl DType {
    /// Every dtype, in the order of the promotion table.
    pub const ALL: [DType; 10] = [
        DType::Bool,
        DType::U8,
        DType::I32,
        DType::I64,
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
        DType::C64,
        DType::C128,
    ];

    /// The name used in messages and printed tensors: `f32`, `i64`, `bool`.
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::U8 => "u8",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::C64 => "c64",
            DType::C128 => "c128",
        }
    }

    /// Bytes per element.
    pub const fn size(self) -> usize {
        match self {
            DType::Bool | DType::U8 => 1,
            DType::F16 | DType::BF16 => 2,
            DType::I32 | DType::F32 => 4,
            DType::I64 | DType::F64 | DType::C64 => 8,
            DType::C128 => 16,
        }
    }

    /// True for `f16`, `bf16`, `f32` and `f64`.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F16 | DType::BF16 | DType::F32 | DType::F64)
    }

    /// True for `f16` and `bf16`, whose operations compute in `f32`.
    pub const fn is_half(self) -> bool {
        matches!(self, DType::F16 | DType::BF16)
    }

    /// True for `c64` and `c128`.
    pub const fn is_complex(self) -> bool {
        matches!(self, DType::C64 | DType::C128)
    }

    /// True for the dtypes that can carry a derivative: floats and complex numbers.
    pub const fn is_differentiable(self) -> bool {
        self.category() >= DType::F32.category()
    }

    /// True for `u8`, `i32` and `i64`.
    pub const fn is_int(self) -> bool {
        matches!(self, DType::U8 | DType::I32 | DType::I64)
    }

    const fn category(self) -> u8 {
        match self {
            DType::Bool => 0,
            DType::U8 | DType::I32 | DType::I64 => 1,
            DType::F16 | DType::BF16 | DType::F32 | DType::F64 => 2,
            DType::C64 | DType::C128 => 3,
        }
    }

    /// The common dtype of two operands of equal rank, by the table above.
    pub const fn promote(self, other: DType) -> DType {
        match (self, other) {
            // Neither holds the numbers of the other.
            (DType::F16, DType::BF16) | (DType::BF16, DType::F16) => DType::F32,
            (DType::F64, DType::C64) | (DType::C64, DType::F64) => DType::C128,
            // Otherwise the enum is ordered so that the join of two entries is the larger one.
            _ if self as u8 >= other as u8 => self,
            _ => other,
        }
    }

    /// The dtype of an operand that ranks higher than one of dtype `low`.
    pub(crate) const fn above(self, low: DType) -> DType {
        if self.category() >= low.category() {
            self
        } else if self.is_float() {
            self.to_complex()
        } else {
            self.promote(low)
        }
    }

    /// True if elements of this dtype can be stored in a tensor of dtype `other` without changing what kind of number
    /// they are: no float among integers, no number among bools.
    pub(crate) const fn fits_in(self, other: DType) -> bool {
        self.category() <= other.category()
    }

    /// `self` if it is a float or complex, else the default float `f32`.
    pub const fn to_float(self) -> DType {
        if self.is_differentiable() { self } else { DType::F32 }
    }

    /// The dtype of the real and the imaginary part; `self` if it is not complex.
    pub const fn to_real(self) -> DType {
        match self {
            DType::C64 => DType::F32,
            DType::C128 => DType::F64,
            real => real,
        }
    }

    /// The complex dtype of the same precision: `c128` for `f64`, `c64` for whatever else is not complex.
    pub const fn to_complex(self) -> DType {
        match self {
            DType::F64 | DType::C128 => DType::C128,
            _ => DType::C64,
        }
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
        (true, false) => da.above(db),
        (false, true) => db.above(da),
        _ => da.promote(db),
    }
}
