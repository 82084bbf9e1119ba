//! The tester is tested: deliberately wrong operations and functions are reported, each under the right name.

#[path = "../op_table/half.rs"]
mod half;
#[path = "../op_table/quiet.rs"]
mod quiet;
#[path = "../op_table/rows.rs"]
mod rows;
#[path = "../op_table/run.rs"]
mod run;

mod batching;
mod derivatives;
mod functions;
mod gradcheck;
mod points;
mod table;
mod values;

use pullback::Function;
use pullback::testing::{Report, check_function};

/// Fails unless the report names exactly the properties that `wrong` lists, and perhaps some of `consequences`.
#[track_caller]
fn reports<F: Function>(function: &F, inputs: &F::Inputs, wrong: &[&str], consequences: &[&str]) -> Report {
    let report = quiet::quietly(|| check_function(function, inputs)).expect("the function can be called");
    let found: Vec<&str> = report.failures().collect();
    for name in wrong {
        assert!(found.contains(name), "`{name}` should be reported: {report}");
    }
    for name in &found {
        assert!(wrong.contains(name) || consequences.contains(name), "`{name}` should not be reported: {report}");
    }
    report
}
