//! The handle that users hold: making, reading, printing, indexing and changing it.

mod create;
mod index;
mod inplace;
mod print;
mod read;
mod tree;

use pullback::*;

/// The elements as `f64`.
fn values(t: &Tensor) -> Vec<f64> {
    t.to_dtype(DType::F64).unwrap().to_vec().unwrap()
}

/// The kind and the text of the error.
#[track_caller]
fn error<T>(result: Result<T>) -> (ErrorKind, String) {
    match result {
        Ok(_) => panic!("expected an error"),
        Err(e) => (e.kind(), e.to_string()),
    }
}
