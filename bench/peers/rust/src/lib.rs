//! Inputs and timing shared by the peers; the same as in `bench/src`, so that checksums can be compared.

use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Values in [-0.5, 0.5) times `scale`: the top 24 bits of splitmix64 of `i + seed * 2^32`.
pub fn uniform(count: usize, seed: u64, scale: f64) -> Vec<f64> {
    let value = |i: u64| {
        let mut z = i.wrapping_add(seed << 32).wrapping_add(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        ((z >> 40) as f64 / (1u64 << 24) as f64 - 0.5) * scale
    };
    (0..count as u64).map(value).collect()
}

/// The same in single precision.
pub fn uniform32(count: usize, seed: u64, scale: f64) -> Vec<f32> {
    uniform(count, seed, scale).into_iter().map(|x| x as f32).collect()
}

/// Whole numbers below `classes`.
pub fn labels(count: usize, classes: usize, seed: u64) -> Vec<i64> {
    uniform(count, seed, 1.0).into_iter().map(|x| ((x + 0.5) * classes as f64).floor() as i64).collect()
}

/// The sizes and seeds of the layers of a network: (inputs, outputs, seed of the weight, scale).
pub fn mlp(sizes: &[usize], seed: u64) -> Vec<(usize, usize, u64, f64)> {
    let layer = |(k, pair): (usize, &[usize])| (pair[0], pair[1], seed + 2 * k as u64, 2.0 / (pair[0] as f64).sqrt());
    sizes.windows(2).enumerate().map(layer).collect()
}

/// Times workloads and prints one line of JSON for each.
pub struct Harness {
    framework: &'static str,
    only: String,
    seconds: f64,
    threads: usize,
}

impl Harness {
    /// Reads `[--only NAME] [--seconds S] [--threads N]`. The number of threads must be set before a framework starts its own.
    pub fn new(framework: &'static str) -> Self {
        let args: Vec<String> = std::env::args().collect();
        let flag = |name: &str| args.iter().position(|a| a == name).and_then(|k| args.get(k + 1));
        let number = |name: &str, default: f64| flag(name).map_or(default, |v| v.parse().expect("a number"));
        let threads = number("--threads", 1.0) as usize;
        // Nothing else runs yet.
        unsafe { std::env::set_var("RAYON_NUM_THREADS", threads.to_string()) };
        Harness {
            framework,
            only: flag("--only").cloned().unwrap_or_default(),
            seconds: number("--seconds", 1.5),
            threads,
        }
    }

    /// Times `work`, which repeats itself `inner` times in a call; `read` gives the elements of what it returns.
    pub fn run<O, E: std::fmt::Debug>(
        &self,
        workload: &str,
        inner: u32,
        work: impl Fn() -> Result<O, E>,
        read: impl Fn(O) -> Vec<Vec<f64>>,
    ) {
        if !workload.contains(&self.only) {
            return;
        }
        let framework = format!("{}-{}t", self.framework, self.threads);
        let line = match work() {
            Err(e) => serde_json::json!({"framework": framework, "workload": workload, "error": format!("{e:?}")}),
            Ok(out) => {
                let (median, min, runs) = self.time(inner, &work);
                serde_json::json!({
                    "framework": framework, "workload": workload, "median_s": median, "min_s": min, "runs": runs,
                    "checksum": checksum(&read(out)),
                })
            }
        };
        println!("{line}");
    }

    fn time<O, E: std::fmt::Debug>(&self, inner: u32, work: &impl Fn() -> Result<O, E>) -> (f64, f64, usize) {
        for _ in 0..2 {
            work().expect("it ran before");
        }
        let mut times = Vec::new();
        let end = Instant::now() + Duration::from_secs_f64(self.seconds);
        while (Instant::now() < end && times.len() < 20_000) || times.len() < 5 {
            let start = Instant::now();
            let out = work().expect("it ran before");
            times.push(start.elapsed().as_secs_f64() / f64::from(inner));
            drop(out);
        }
        times.sort_by(f64::total_cmp);
        (times[times.len() / 2], times[0], times.len())
    }
}

/// The weighted sum of all elements. Weights differ, so that elements in another order are noticed.
fn checksum(leaves: &[Vec<f64>]) -> f64 {
    let weight = |(i, x): (usize, &f64)| x * (1.0 + (i % 97) as f64 / 97.0);
    leaves.iter().map(|leaf| leaf.iter().enumerate().map(weight).sum::<f64>()).sum()
}
