//! Rust numbers as operands.

use super::{Complex, DType, bf16, f16};

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
    /// Any float up to `f64`.
    Float(f64),
    /// A complex number.
    Complex(Complex<f64>),
}

impl Scalar {
    /// The value as `f64`; of a complex number, the real part.
    pub fn to_f64(self) -> f64 {
        match self {
            Scalar::Bool(b) => f64::from(u8::from(b)),
            Scalar::Int(i) => i as f64,
            Scalar::Float(x) => x,
            Scalar::Complex(z) => z.re,
        }
    }

    /// The dtype of this number where it decides.
    pub(crate) fn dtype(self) -> DType {
        match self {
            Scalar::Bool(_) => DType::Bool,
            Scalar::Int(_) => DType::I64,
            Scalar::Float(_) => DType::F32,
            Scalar::Complex(_) => DType::C64,
        }
    }

    /// The dtype of the result when this number meets a tensor of `dtype`.
    pub(crate) fn promote_with(self, dtype: DType) -> DType {
        dtype.above(self.dtype())
    }
}

macro_rules! scalar_from {
    ($($t:ty => $variant:ident($x:ident => $value:expr)),* $(,)?) => { $(
        impl From<$t> for Scalar {
            fn from($x: $t) -> Scalar { Scalar::$variant($value) }
        }
    )* };
}
scalar_from! {
    bool => Bool(x => x),
    u8 => Int(x => x.into()),
    i32 => Int(x => x.into()),
    i64 => Int(x => x),
    u32 => Int(x => x.into()),
    usize => Int(x => x as i64),
    isize => Int(x => x as i64),
    f16 => Float(x => x.to_f64()),
    bf16 => Float(x => x.to_f64()),
    f32 => Float(x => x.into()),
    f64 => Float(x => x),
    Complex<f32> => Complex(x => Complex::new(x.re.into(), x.im.into())),
    Complex<f64> => Complex(x => x),
}
