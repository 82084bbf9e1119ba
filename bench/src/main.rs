//! `cargo run --release -p bench -- [--only NAME] [--seconds S] [--threads N]`: times each workload and prints one line
//! of JSON for it. `scripts/compare` runs other frameworks on the same workloads and prints ratios.

mod data;
mod functions;
mod harness;
mod inputs;
mod workloads;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let mut harness = harness::Harness { only: None, seconds: 1.5, threads: 0 };
    let mut args = std::env::args().skip(1);
    while let Some(flag) = args.next() {
        let value = args.next();
        let ok = match (flag.as_str(), value) {
            ("--only", Some(v)) => {
                harness.only = Some(v);
                true
            }
            ("--seconds", Some(v)) => v.parse().map(|s| harness.seconds = s).is_ok(),
            ("--threads", Some(v)) => v.parse().map(|n| harness.threads = n).is_ok(),
            _ => false,
        };
        if !ok {
            eprintln!("usage: bench [--only NAME] [--seconds S] [--threads N]");
            return ExitCode::from(2);
        }
    }
    if harness.threads == 0 {
        harness.threads = pullback::num_threads();
    }
    pullback::set_num_threads(harness.threads);
    match workloads::run(&harness) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}
