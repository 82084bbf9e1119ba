//! Operations that are wrong as calls.

use std::sync::atomic::{AtomicU64, Ordering};

use pullback::testing::properties;
use pullback::testing::table::{Sample, sample_tensor};
use pullback::{Result, Tensor};

use super::quiet::quietly;

/// The names of the properties that a sample violates.
fn violated(sample: &Sample) -> Vec<&'static str> {
    quietly(|| properties().iter().filter(|p| p.check(sample).is_err()).map(|p| p.name).collect())
}

fn sample(call: impl Fn(&[Tensor]) -> Result<Tensor> + Send + Sync + 'static) -> Sample {
    Sample::one("sample", [sample_tensor(&[2, 3], 0.5, 2.0, 1)], call)
}

#[test]
fn right_calls() {
    assert_eq!(violated(&sample(|x| x[0].sin()?.mul(&x[0]))), [""; 0]);
    assert_eq!(violated(&sample(|x| x[0].floor()).not_differentiable()), [""; 0]);
}

#[test]
fn kinks_are_noticed() {
    // Zero is a kink of this function; the sample must say so.
    let kink = sample_tensor(&[2, 3], 0.5, 2.0, 1);
    let found = violated(&sample(move |x| x[0].sub(&kink)?.clamp(Some(0.0), None)));
    assert!(found.contains(&"jvp_matches_differences"), "{found:?}");
}

#[test]
fn calls_that_differ_from_run_to_run() {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let drifting = sample(|x| x[0].mul(1.0 + 1e-12 * RUNS.fetch_add(1, Ordering::Relaxed) as f64));
    assert!(violated(&drifting).contains(&"repeats_exactly"));
}

#[test]
fn calls_that_a_graph_does_not_repeat() {
    // Rust code that counts is not in the graph.
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let counting = sample(|x| x[0].mul(1.0 + RUNS.fetch_add(1, Ordering::Relaxed) as f64));
    let found = violated(&counting);
    assert!(found.contains(&"capture_replays") && found.contains(&"capture_replays_derivatives"), "{found:?}");
    // Nor is what it reads.
    let reading = sample(|x| match x[0].to_vec::<f64>()?[0] > 1.0 {
        true => x[0].square(),
        false => x[0].mul(2.0),
    });
    let reads = |name| {
        let found = properties().iter().find(|p| p.name == name).unwrap().check(&reading).unwrap_err();
        assert!(found.contains("the value is a variable of a graph that `capture` writes down"), "{found}");
    };
    reads("capture_replays");
    reads("capture_replays_derivatives");
    assert!(properties().iter().find(|p| p.name == "linearize_is_jvp").unwrap().check(&reading).is_ok());
}

#[test]
fn linearizing_runs_a_function_as_it_was() {
    // A function whose slope depends on how often it ran.
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let drifting = sample(|x| x[0].sub(&x[0].detach()?)?.mul(RUNS.fetch_add(1, Ordering::Relaxed) as f64));
    assert!(violated(&drifting).contains(&"linearize_is_jvp"));
}

#[test]
fn panics_are_reported() {
    let found = violated(&sample(|_| panic!("on purpose")));
    assert!(found.contains(&"layouts") && found.contains(&"vmap_is_loop"), "{found:?}");
}

#[test]
fn lanes_that_leave_the_domain_are_told_apart() {
    let fails = sample(|x| {
        let y = x[0].sum()?;
        match y.item::<f64>() {
            Ok(v) if v < sample_tensor(&[2, 3], 0.5, 2.0, 1).sum()?.item::<f64>()? - 1e-6 => {
                Err(pullback::Error::other("outside the domain"))
            }
            _ => Ok(y),
        }
    });
    let found = properties().iter().find(|p| p.name == "vmap_is_loop").unwrap().check(&fails).unwrap_err();
    assert!(found.contains("lane 1 alone: outside the domain"), "{found}");
    let given = fails.lanes(|_| vec![sample_tensor(&[2, 3], 0.5, 2.0, 1)]);
    assert_eq!(properties().iter().find(|p| p.name == "vmap_is_loop").unwrap().check(&given), Ok(()));
}
