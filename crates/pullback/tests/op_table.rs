//! Every property of every operation, as one named test each: `vjp_is_transpose_of_jvp::sinh`.
//!
//! The tests are generated from the table of operations; there is no list to keep. `cargo test --test op_table sinh`
//! runs those of one operation, `cargo test --test op_table vmap_is_loop` those of one property.

#[path = "op_table/half.rs"]
mod half;
#[path = "op_table/imperative.rs"]
mod imperative;
#[path = "op_table/quiet.rs"]
mod quiet;
#[path = "op_table/rows.rs"]
mod rows;
#[path = "op_table/run.rs"]
mod run;

use std::collections::HashSet;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use pullback::testing::table::Sample;
use pullback::testing::{operations, properties};
use run::{each_sample, guarded};

fn main() -> ExitCode {
    if cfg!(not(debug_assertions)) {
        eprintln!("builds without debug assertions have no samples");
        return ExitCode::FAILURE;
    }
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for op in operations() {
        for property in properties() {
            let samples = guarded(|| (op.samples)()).unwrap_or_default();
            if property.derivatives && !samples.iter().any(Sample::is_differentiable) {
                continue;
            }
            trials.push(Trial::test(format!("{}::{}", property.name, op.name), move || {
                each_sample(property.name, op, |sample| property.check(sample)).map_err(Failed::from)
            }));
        }
        for (name, check) in rows::SAMPLE_CHECKS.iter().chain(imperative::SAMPLE_CHECKS).chain(half::SAMPLE_CHECKS) {
            trials.push(Trial::test(format!("{name}::{}", op.name), move || {
                each_sample(name, op, check).map_err(Failed::from)
            }));
        }
        for (name, check) in rows::ROW_CHECKS {
            trials.push(Trial::test(format!("{name}::{}", op.name), move || {
                guarded(|| check(op)).and_then(|outcome| outcome).map_err(Failed::from)
            }));
        }
    }
    trials.push(Trial::test("names_are_unique", || names_are_unique().map_err(Failed::from)));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// No operation is declared twice, and each has a name and a documentation.
fn names_are_unique() -> Result<(), String> {
    let mut seen = HashSet::new();
    for op in operations() {
        if !seen.insert(op.name) {
            return Err(format!("`{}` is declared twice", op.name));
        }
        if op.name.is_empty() || op.doc.trim().is_empty() {
            return Err(format!("`{}` has no documentation", op.name));
        }
    }
    Ok(())
}
