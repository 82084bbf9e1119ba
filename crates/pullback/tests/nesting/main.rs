//! Transforms inside transforms, by hand where the table of operations does not reach: high orders, perturbation
//! confusion, closures over outer values, threads, errors and panics at depth, escaped values, very long chains.

mod alloc;
mod chains;
mod clipping;
mod closed_forms;
mod confusion;
mod escapes;
mod failures;
mod functions;
mod general;
mod modes;
mod threads;

#[path = "../op_table/quiet.rs"]
mod quiet;

use quiet::quietly;
