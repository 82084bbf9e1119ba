//! From a dtype to the Rust type of its elements, or to the size of them.

use super::DType;
use crate::{Result, error::bail};

/// Runs a block with a type alias bound to the Rust type of a dtype:
/// `dispatch!(x.dtype(), "sin", [F32, F64], T => kernel::<T>(x))`.
///
/// The list names the accepted dtypes, or is one of `float`, `integer`, `number` (both of them), `all` (with bool),
/// `complex` and `inexact` (`float` and `complex`). Any other dtype is an error of kind `Dtype` that names the operation.
///
/// Half precision is in no list: whoever calls kernels that compute does so through `kernels::half`, which gives them
/// `f32`. Kernels that only move elements need no list either: see `any_word`.
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
    ($dtype:expr, $op:expr, complex, $t:ident => $body:expr) => {
        $crate::dtype::dispatch!($dtype, $op, [C64, C128], $t => $body)
    };
    ($dtype:expr, $op:expr, inexact, $t:ident => $body:expr) => {
        $crate::dtype::dispatch!($dtype, $op, [F32, F64, C64, C128], $t => $body)
    };
    ($dtype:expr, $op:expr, [$($d:ident),+], $t:ident => $body:expr) => {
        match $dtype {
            $( $crate::DType::$d => { type $t = $crate::dtype::rust_type!($d); $body } )+
            #[allow(unreachable_patterns)]
            other => $crate::dtype::unsupported($op, other, &[$($crate::DType::$d),+]),
        }
    };
}

/// Runs a block with a type alias bound to the Rust type of a dtype, whichever it is. Kernels that compute have lists,
/// see `dispatch`; those that move elements are made for each size, see `any_word`.
macro_rules! any_dtype {
    ($dtype:expr, $t:ident => $body:expr) => {
        $crate::dtype::any_dtype!(@arms $dtype, $t => $body; Bool U8 I32 I64 F16 BF16 F32 F64 C64 C128)
    };
    (@arms $dtype:expr, $t:ident => $body:expr; $($d:ident)+ $(| $other:expr)?) => {
        match $dtype {
            $( $crate::DType::$d => { type $t = $crate::dtype::rust_type!($d); $body } )+
            $( _ => $other )?
        }
    };
}

/// Runs a block with a type alias bound to a word of the size of a dtype's elements: for what only moves them.
macro_rules! any_word {
    ($dtype:expr, $w:ident => $body:expr) => {
        match $dtype.size() {
            1 => {
                type $w = u8;
                $body
            }
            2 => {
                type $w = u16;
                $body
            }
            4 => {
                type $w = u32;
                $body
            }
            8 => {
                type $w = u64;
                $body
            }
            _ => {
                type $w = [u64; 2];
                $body
            }
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
    (F16) => {
        $crate::dtype::f16
    };
    (BF16) => {
        $crate::dtype::bf16
    };
    (F32) => {
        f32
    };
    (F64) => {
        f64
    };
    (C64) => {
        $crate::dtype::Complex32
    };
    (C128) => {
        $crate::dtype::Complex64
    };
}
pub(crate) use {any_dtype, any_word, dispatch, rust_type};

#[cold]
pub(crate) fn unsupported<T>(op: &str, got: DType, accepted: &[DType]) -> Result<T> {
    // What computes in f32 takes half precision, unless nobody calls it with f32 instead.
    let takes = |d: &&DType| accepted.contains(d) || d.is_half() && !got.is_half() && accepted.contains(&DType::F32);
    let names: Vec<_> = DType::ALL.iter().filter(takes).map(|d| d.name()).collect();
    let names = names.join(", ");
    if got.is_complex() {
        bail!(Dtype, "{op}: expected a tensor of dtype {names}, got {got}"; help = "take its `real`, `imag` or `abs`")
    }
    bail!(Dtype, "{op}: expected a tensor of dtype {names}, got {got}"; help = "convert it with `to_dtype`")
}
