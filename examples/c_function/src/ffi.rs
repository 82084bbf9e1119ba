//! The C functions, and wrappers that are safe to call. All `unsafe` code is here.

use std::ffi::c_int;

use pullback::{Error, ErrorKind, Result};

unsafe extern "C" {
    fn bessel_i_f64(order: c_int, x: *const f64, out: *mut f64, count: usize) -> c_int;
    fn bessel_i_f32(order: c_int, x: *const f32, out: *mut f32, count: usize) -> c_int;
}

/// An element type that there is a C function for.
pub trait Real: pullback::Element {
    /// The function of some order, for every element.
    fn bessel_i(order: u32, x: &[Self]) -> Result<Vec<Self>>;
}

/// Writes `Real` for an element type by its C function.
macro_rules! real {
    ($($t:ty => $function:ident),*) => { $(
        impl Real for $t {
            fn bessel_i(order: u32, x: &[$t]) -> Result<Vec<$t>> {
                let mut out = vec![0.0; x.len()];
                // Too large an order must not become a negative one.
                let number = c_int::try_from(order).unwrap_or(c_int::MAX);
                // SAFETY: both pointers are valid for `x.len()` elements for the time of the call, and `out` overlaps
                // nothing. The C side promises to read and write no more, to keep no pointer, and to use no state.
                let status = unsafe { $function(number, x.as_ptr(), out.as_mut_ptr(), x.len()) };
                match status {
                    0 => Ok(out),
                    _ => Err(Error::new(ErrorKind::Value, format!("expected an order of at most 1000, got {order}"))),
                }
            }
        }
    )* };
}
real!(f64 => bessel_i_f64, f32 => bessel_i_f32);
