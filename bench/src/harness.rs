//! Timing one workload and printing it as one line of JSON.

use std::time::{Duration, Instant};

use pullback::{DType, Result, Tensor, Tree};

/// What to run, from the command line.
pub struct Harness {
    pub only: Option<String>,
    pub seconds: f64,
    pub threads: usize,
}

impl Harness {
    /// Times `work`, which repeats itself `inner` times per call, and prints the line. Errors become part of it.
    pub fn run<O: Tree>(&self, workload: &str, inner: u32, work: impl Fn() -> Result<O>) {
        if self.only.as_ref().is_some_and(|only| !workload.contains(only.as_str())) {
            return;
        }
        let framework = format!("pullback-{}t", self.threads);
        let line = match self.measure(inner, &work) {
            Ok(m) => serde_json::json!({
                "framework": framework, "workload": workload, "median_s": m.median, "min_s": m.min, "runs": m.runs,
                "first_call_s": m.first, "checksum": m.checksum, "note": "",
            }),
            Err(e) => serde_json::json!({
                "framework": framework, "workload": workload, "error": e.to_string(), "note": "",
            }),
        };
        println!("{line}");
    }

    fn measure<O: Tree>(&self, inner: u32, work: &dyn Fn() -> Result<O>) -> Result<Measurement> {
        let start = Instant::now();
        let out = work()?;
        let first = start.elapsed().as_secs_f64();
        let checksum = checksum(&out)?;
        drop(out);
        for _ in 0..2 {
            work()?;
        }
        let mut times = Vec::new();
        let end = Instant::now() + Duration::from_secs_f64(self.seconds);
        while (Instant::now() < end && times.len() < 20_000) || times.len() < 5 {
            let start = Instant::now();
            let out = work()?;
            times.push(start.elapsed().as_secs_f64() / f64::from(inner));
            drop(out);
        }
        times.sort_by(f64::total_cmp);
        Ok(Measurement { first, median: times[times.len() / 2], min: times[0], runs: times.len(), checksum })
    }
}

struct Measurement {
    first: f64,
    median: f64,
    min: f64,
    runs: usize,
    checksum: f64,
}

/// The weighted sum of all elements of all results, in f64. Weights differ, so that elements in another order are noticed.
fn checksum<O: Tree>(out: &O) -> Result<f64> {
    let mut sum = Ok(0.0);
    out.visit(&mut |t: &Tensor| {
        if let Ok(total) = &mut sum {
            match t.to_dtype(DType::F64).and_then(|t| t.to_vec::<f64>()) {
                Ok(all) => {
                    *total += all.iter().enumerate().map(|(i, x)| x * (1.0 + (i % 97) as f64 / 97.0)).sum::<f64>()
                }
                Err(e) => sum = Err(e),
            }
        }
    });
    sum
}
