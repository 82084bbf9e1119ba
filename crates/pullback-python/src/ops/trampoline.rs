//! A function for each place in the table, which Python calls.

use pyo3::ffi::{Py_ssize_t, PyCFunctionFastWithKeywords, PyObject};

use super::bind;

unsafe extern "C" fn method<const PLACE: usize>(
    me: *mut PyObject,
    arguments: *const *mut PyObject,
    count: Py_ssize_t,
    names: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: Python passes what the calling convention says.
    unsafe { bind::enter(PLACE, me, arguments, count, names) }
}

unsafe extern "C" fn function<const PLACE: usize>(
    _module: *mut PyObject,
    arguments: *const *mut PyObject,
    count: Py_ssize_t,
    names: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: Python passes what the calling convention says.
    unsafe { bind::enter(PLACE, std::ptr::null_mut(), arguments, count, names) }
}

/// `[f::<N>, f::<N + 1>, …]`, sixteen of them for each of the numbers.
macro_rules! sixteen {
    ($f:ident, $($k:literal)*) => { [$(
        $f::<{ 16 * $k }>, $f::<{ 16 * $k + 1 }>, $f::<{ 16 * $k + 2 }>, $f::<{ 16 * $k + 3 }>,
        $f::<{ 16 * $k + 4 }>, $f::<{ 16 * $k + 5 }>, $f::<{ 16 * $k + 6 }>, $f::<{ 16 * $k + 7 }>,
        $f::<{ 16 * $k + 8 }>, $f::<{ 16 * $k + 9 }>, $f::<{ 16 * $k + 10 }>, $f::<{ 16 * $k + 11 }>,
        $f::<{ 16 * $k + 12 }>, $f::<{ 16 * $k + 13 }>, $f::<{ 16 * $k + 14 }>, $f::<{ 16 * $k + 15 }>,
    )*] };
}
macro_rules! table {
    ($f:ident) => {
        sixteen!($f, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
            32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
            64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95)
    };
}

/// How many places there are.
pub const COUNT: usize = 1536;

static METHODS: [PyCFunctionFastWithKeywords; COUNT] = table!(method);
static FUNCTIONS: [PyCFunctionFastWithKeywords; COUNT] = table!(function);

/// The function for a place in the table.
pub fn at(is_method: bool, place: usize) -> Option<PyCFunctionFastWithKeywords> {
    if is_method { METHODS.get(place) } else { FUNCTIONS.get(place) }.copied()
}
