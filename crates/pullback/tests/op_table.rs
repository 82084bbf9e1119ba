//! Every property of every operation, as one named test each: `vjp_is_transpose_of_jvp::sinh`.
//!
//! The tests are generated from the table of operations; there is no list to keep. `cargo test --test op_table sinh`
//! runs those of one operation, `cargo test --test op_table vmap_is_loop` those of one property.

#[path = "op_table/rows.rs"]
mod rows;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use pullback::testing::table::{OpInfo, Sample};
use pullback::testing::{operations, properties};

fn main() -> ExitCode {
    // A panic is reported by the test that it happens in.
    std::panic::set_hook(Box::new(|_| {}));
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for op in operations() {
        for property in properties() {
            let samples = guarded(|| (op.samples)()).unwrap_or_default();
            if property.derivatives && !samples.iter().any(Sample::is_differentiable) {
                continue;
            }
            trials.push(Trial::test(format!("{}::{}", property.name, op.name), move || {
                each_sample(property.name, op, |sample| property.check(sample))
            }));
        }
        for (name, check) in rows::SAMPLE_CHECKS {
            trials.push(Trial::test(format!("{name}::{}", op.name), move || each_sample(name, op, check)));
        }
        for (name, check) in rows::ROW_CHECKS {
            trials.push(Trial::test(format!("{name}::{}", op.name), move || {
                guarded(|| check(op)).and_then(|outcome| outcome).map_err(Failed::from)
            }));
        }
    }
    trials.push(Trial::test("names_are_unique", || rows::names_are_unique().map_err(Failed::from)));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Runs `f`, and turns a panic into a message.
fn guarded<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
        format!("panicked: {}", text.unwrap_or_default())
    })
}

/// Checks every sample. One that says it violates the property must violate it.
fn each_sample(property: &str, op: &OpInfo, check: impl Fn(&Sample) -> Result<(), String>) -> Result<(), Failed> {
    let samples = guarded(|| (op.samples)()).map_err(|e| format!("samples: {e}"))?;
    let mut failures = Vec::new();
    for sample in &samples {
        let outcome = guarded(|| check(sample)).and_then(|outcome| outcome);
        let expected = sample.expected_failures.iter().find(|(name, _)| *name == property);
        match (outcome, expected) {
            (Ok(()), None) | (Err(_), Some(_)) => {}
            (Err(e), None) => failures.push(format!("sample `{}`: {e}", sample.label)),
            (Ok(()), Some((_, reason))) => {
                failures.push(format!("sample `{}` was expected to fail ({reason}), and does not", sample.label))
            }
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}
