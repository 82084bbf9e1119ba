//! The Rust types of elements.

use std::fmt;

use super::{Complex, Complex32, Complex64, DType, Scalar, bf16, f16};

mod sealed {
    /// Bytes that are moved as they are: every element, and the integers that stand for elements of their size.
    pub trait Word: Copy + Send + Sync + 'static {}
}
pub(crate) use sealed::Word;

/// Moving an element is moving a word of its size, so that there is one copy of such code for each size. Words are no
/// more aligned than elements of their size in arrays.
macro_rules! words {
    ($($t:ty),*) => { $( impl Word for $t {} )* };
}
words!(bool, u8, i32, i64, f16, bf16, f32, f64, Complex32, Complex64, u16, u32, u64, [u32; 2], [u64; 2]);

/// A Rust type that can be the element of a tensor: `bool`, `u8`, `i32`, `i64`, [`struct@f16`], [`bf16`], `f32`, `f64`,
/// [`Complex32`], [`Complex64`]. Sealed.
pub trait Element: sealed::Word + Default + PartialEq + fmt::Debug + fmt::Display {
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
    /// Conversion to `f64`, exact except for large `i64`; the real part of a complex number.
    fn to_f64(self) -> f64;
    /// Conversion to `i64` by Rust's `as`; the real part of a complex number.
    fn to_i64(self) -> i64;
    /// Conversion to a complex number, exact except for large `i64`.
    fn to_complex(self) -> Complex64 {
        Complex { re: self.to_f64(), im: 0.0 }
    }
    /// The element nearest to a Rust number; that of the real part, if the element is not complex and the number is.
    fn from_scalar(x: Scalar) -> Self {
        match x {
            Scalar::Bool(b) => Self::from_i64(i64::from(b)),
            Scalar::Int(i) => Self::from_i64(i),
            Scalar::Float(x) => Self::from_f64(x),
            Scalar::Complex(z) => Self::from_f64(z.re),
        }
    }
}

macro_rules! number_element {
    ($($t:ty => $dtype:ident),*) => { $(
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

macro_rules! half_element {
    ($($t:ident => $dtype:ident),*) => { $(
        impl Element for $t {
            const DTYPE: DType = DType::$dtype;
            const ZERO: $t = $t::ZERO;
            const ONE: $t = $t::ONE;
            #[inline(always)]
            fn from_f64(x: f64) -> $t { $t::from_f64(x) }
            #[inline(always)]
            fn from_i64(x: i64) -> $t { $t::from_f64(x as f64) }
            #[inline(always)]
            fn to_f64(self) -> f64 { self.to_f64() }
            #[inline(always)]
            fn to_i64(self) -> i64 { self.to_f32() as i64 }
        }
    )* };
}
half_element!(f16 => F16, bf16 => BF16);

macro_rules! complex_element {
    ($($part:ident => $dtype:ident),*) => { $(
        impl Element for Complex<$part> {
            const DTYPE: DType = DType::$dtype;
            const ZERO: Self = Complex { re: 0.0, im: 0.0 };
            const ONE: Self = Complex { re: 1.0, im: 0.0 };
            #[inline(always)]
            fn from_f64(x: f64) -> Self { Complex { re: x as $part, im: 0.0 } }
            #[inline(always)]
            fn from_i64(x: i64) -> Self { Complex { re: x as $part, im: 0.0 } }
            #[inline(always)]
            fn to_f64(self) -> f64 { self.re.into() }
            #[inline(always)]
            fn to_i64(self) -> i64 { self.re as i64 }
            #[inline(always)]
            fn to_complex(self) -> Complex64 { Complex { re: self.re.into(), im: self.im.into() } }
            fn from_scalar(x: Scalar) -> Self {
                match x {
                    Scalar::Complex(z) => Complex { re: z.re as $part, im: z.im as $part },
                    real => Self::from_f64(real.to_f64()),
                }
            }
        }
    )* };
}
complex_element!(f32 => C64, f64 => C128);

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
