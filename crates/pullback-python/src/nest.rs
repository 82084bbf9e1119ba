//! How deep calls of user code from native code are nested. Python counts its own frames only, and those between take much more
//! of the stack.

use std::cell::Cell;

use pyo3::exceptions::PyRecursionError;
use pyo3::prelude::*;

/// How much of the stack nested calls may take: half of what there is commonly.
const MOST: usize = if cfg!(windows) { 512 << 10 } else { 4 << 20 };

thread_local! {
    /// Where the stack was at the outermost call; 0 outside of all.
    static OUTERMOST: Cell<usize> = const { Cell::new(0) };
}

/// A call of user code, until it is dropped.
pub struct Nest {
    is_outermost: bool,
}

impl Nest {
    /// An error if there is little of the stack left.
    #[inline]
    pub fn enter() -> PyResult<Nest> {
        let here = 0u8;
        let here = (&raw const here).addr();
        match OUTERMOST.get() {
            0 => {
                OUTERMOST.set(here);
                Ok(Nest { is_outermost: true })
            }
            outermost if outermost.abs_diff(here) > MOST => Err(too_deep()),
            _ => Ok(Nest { is_outermost: false }),
        }
    }
}

impl Drop for Nest {
    #[inline]
    fn drop(&mut self) {
        if self.is_outermost {
            OUTERMOST.set(0);
        }
    }
}

#[cold]
fn too_deep() -> PyErr {
    PyRecursionError::new_err(
        "maximum recursion depth exceeded in calls through transforms and rules; does one call itself without end?",
    )
}
