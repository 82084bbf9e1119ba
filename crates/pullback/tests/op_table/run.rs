//! Running checks over samples.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pullback::testing::table::{OpInfo, Sample};

use super::quiet::quietly;

/// Runs `f`, and turns a panic into a message.
pub fn guarded<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    quietly(|| catch_unwind(AssertUnwindSafe(f))).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
        format!("panicked: {}", text.unwrap_or_default())
    })
}

/// Checks every sample. One that says it violates the property must violate it.
pub fn each_sample(property: &str, op: &OpInfo, check: impl Fn(&Sample) -> Result<(), String>) -> Result<(), String> {
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
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}
