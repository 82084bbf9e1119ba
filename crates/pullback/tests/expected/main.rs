//! Values and derivatives of every operation against those that other programs computed: PyTorch (`torch.txt`, in half
//! precision `halves.txt`, of complex numbers `complex.txt` and
//! `complex_linalg.txt`, for indexing `index.txt`, for what neural networks are made of
//! `nn.txt`, for losses with options and images at the places of a grid `losses.txt`, for linear algebra `linalg.txt`, for what is made
//! of other operations `words.txt`) and mpmath (`mpmath.txt`). `scripts/expected` writes the files and says what is
//! in a line.

mod call;
mod complex;
mod complex_linalg;
mod index;
mod losses;
mod nn;
mod read;
mod words;

use std::panic::{AssertUnwindSafe, catch_unwind};

use pullback::testing::operations;
use pullback::{DType, Result, Tensor, bf16, f16, jvp, vjp};
use read::{Case, read};

const TORCH: &str = include_str!("torch.txt");
const COMPLEX: &str = include_str!("complex.txt");
const COMPLEX_LINALG: &str = include_str!("complex_linalg.txt");
const INDEX: &str = include_str!("index.txt");
const NN: &str = include_str!("nn.txt");
const LOSSES: &str = include_str!("losses.txt");
const LINALG: &str = include_str!("linalg.txt");
const WORDS: &str = include_str!("words.txt");
const HALVES: &str = include_str!("halves.txt");
const MPMATH: &str = include_str!("mpmath.txt");

/// The elements of cotangents and tangents, in turn; see `pattern`.
const COTANGENTS: [f64; 7] = [1.25, -0.5, 0.75, -1.5, 2.0, 0.25, -0.75];
const TANGENTS: [f64; 5] = [0.5, -1.25, 0.75, 1.5, -0.25];

/// The cotangent of output `n`, or the tangent of input `n`: the values in turn, each tensor from another one on.
fn pattern(like: &Tensor, n: usize, values: &[f64], step: usize) -> Result<Tensor> {
    let data: Vec<f64> = (0..like.numel()).map(|i| values[(i + step * n) % values.len()]).collect();
    Tensor::from_slice(&data, like.shape())?.to_dtype(like.dtype())
}

/// Compares one quantity of a case; the message names it.
fn compare(what: &str, got: &[Tensor], want: &[Tensor]) -> std::result::Result<(), String> {
    let types = |ts: &[Tensor]| ts.iter().map(|t| t.ty().to_string()).collect::<Vec<_>>().join(", ");
    if types(got) != types(want) {
        return Err(format!("{what}: got {}, expected {}", types(got), types(want)));
    }
    for (n, (g, w)) in got.iter().zip(want).enumerate() {
        let tolerance = if w.dtype() == DType::F32 { 1e-6 } else { 1e-12 };
        let (g, w) = (read::values(g), read::values(w));
        for (i, (&a, &b)) in g.iter().zip(&w).enumerate() {
            let near = a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= tolerance * b.abs().max(1.0);
            if !near {
                return Err(format!("{what} {n}, element {i}: got {a:e}, expected {b:e}; all: {g:?}, expected {w:?}"));
            }
        }
    }
    Ok(())
}

/// The four quantities of a case, as far as it has them.
fn check(case: &Case) -> std::result::Result<(), String> {
    let text = |e: pullback::Error| format!("error: {e}");
    let run = |x: &[Tensor]| call::call(case.op, &case.parameters, x);
    compare("value", &run(&case.inputs).map_err(text)?, &case.value)?;

    // Inputs in f64 are differentiated, and outputs that are floats.
    let places: Vec<usize> = (0..case.inputs.len()).filter(|&n| case.inputs[n].dtype() == DType::F64).collect();
    let own: Vec<Tensor> = places.iter().map(|&n| case.inputs[n].clone()).collect();
    let f = |own: &Vec<Tensor>| {
        let mut x = case.inputs.clone();
        for (&n, t) in places.iter().zip(own) {
            x[n] = t.clone();
        }
        Ok(run(&x)?.into_iter().filter(|t| t.dtype().is_float()).collect::<Vec<_>>())
    };
    let each = |ts: &[Tensor], values: &[f64], step| -> Result<Vec<Tensor>> {
        ts.iter().enumerate().map(|(n, t)| pattern(t, n, values, step)).collect()
    };
    let tangents = each(&own, &TANGENTS, 2).map_err(text)?;
    let transpose = |own: &Vec<Tensor>| {
        let (y, pullback) = vjp(f, own)?;
        pullback.call(&each(&y, &COTANGENTS, 3)?)
    };
    let mut wrong = Vec::new();
    if let Some(want) = &case.vjp {
        wrong.extend(compare("vjp", &transpose(&own).map_err(text)?, want).err());
    }
    if let Some(want) = &case.jvp {
        wrong.extend(compare("jvp", &jvp(f, &own, &tangents).map_err(text)?.1, want).err());
    }
    if let Some(want) = &case.hvp {
        wrong.extend(compare("hvp", &jvp(transpose, &own, &tangents).map_err(text)?.1, want).err());
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n    ")) }
}

/// The outcome of a case, with its line if it fails.
fn outcome(case: &Case) -> Option<String> {
    let result = catch_unwind(AssertUnwindSafe(|| check(case))).unwrap_or_else(|_| Err("panic".into()));
    result
        .err()
        .map(|e| format!("line {}: {}|{}|{}\n    {e}", case.line, case.op, case.parameters.join(" "), case.shown))
}

#[test]
fn values_and_derivatives_are_those_of_torch() {
    let failures: Vec<String> = read(TORCH).iter().filter_map(outcome).collect();
    assert!(failures.is_empty(), "{} cases differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn complex_numbers_and_fourier_transforms_are_those_of_torch() {
    let lines = read(COMPLEX);
    let failures: Vec<String> = lines.iter().filter(|case| complex::can_run(case.op)).filter_map(outcome).collect();
    assert!(failures.is_empty(), "{} cases differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn linear_algebra_of_complex_matrices_is_that_of_torch() {
    let failures: Vec<String> = read(COMPLEX_LINALG).iter().filter_map(outcome).collect();
    assert!(failures.is_empty(), "{} cases differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn indexing_is_that_of_torch() {
    let failures: Vec<String> = read(INDEX).iter().filter_map(outcome).collect();
    assert!(failures.is_empty(), "{} cases differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn networks_are_those_of_torch() {
    let failures: Vec<String> = read(NN).iter().filter_map(outcome).collect();
    assert!(failures.is_empty(), "{} cases differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn losses_and_images_at_places_of_a_grid_are_those_of_torch() {
    let failures: Vec<String> = read(LOSSES).iter().filter_map(outcome).collect();
    assert!(failures.is_empty(), "{} cases differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn what_is_made_of_other_operations_is_that_of_torch() {
    let failures: Vec<String> = read(WORDS).iter().filter_map(outcome).collect();
    assert!(failures.is_empty(), "{} cases differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn linear_algebra_is_that_of_torch_and_mpmath() {
    let failures: Vec<String> = read(LINALG).iter().filter_map(outcome).collect();
    assert!(failures.is_empty(), "{} cases differ:\n{}", failures.len(), failures.join("\n"));
}

/// How many numbers lie between two of a dtype, up to the sign of zero.
fn ulps(got: f64, want: f64, dtype: DType) -> f64 {
    if got == want || got.is_nan() && want.is_nan() {
        return 0.0;
    }
    if dtype.is_half() {
        let key = |x: f64| {
            let b = if dtype == DType::F16 { f16::from_f64(x).to_bits() } else { bf16::from_f64(x).to_bits() };
            let b = i64::from(b);
            if b >> 15 == 0 { b } else { (1 << 15) - b }
        };
        return (key(got) - key(want)).abs() as f64;
    }
    if dtype == DType::F32 {
        let key = |x: f64| {
            let b = i64::from((x as f32).to_bits());
            if b >> 31 == 0 { b } else { (1 << 31) - b }
        };
        return (key(got) - key(want)).abs() as f64;
    }
    let key = |x: f64| {
        let b = i128::from(x.to_bits());
        if b >> 63 == 0 { b } else { (1 << 63) - b }
    };
    (key(got) - key(want)).abs() as f64
}

#[test]
fn values_are_within_four_ulps_of_mpmath() {
    let mut failures = Vec::new();
    for case in read(MPMATH) {
        let got = call::call(case.op, &case.parameters, &case.inputs).unwrap();
        let (dtype, want) = (case.value[0].dtype(), read::values(&case.value[0]));
        assert_eq!(got[0].dtype(), dtype, "{}", case.op);
        for (i, (&g, &w)) in read::values(&got[0]).iter().zip(&want).enumerate() {
            let off = ulps(g, w, dtype);
            if off > 4.0 {
                let x: Vec<f64> = case.inputs.iter().map(|t| read::values(t)[i.min(t.numel() - 1)]).collect();
                failures.push(format!(
                    "line {}: {} {dtype} at {x:?}: got {g:e}, expected {w:e}, {off} ulps",
                    case.line, case.op
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{} values differ:\n{}", failures.len(), failures.join("\n"));
}

/// One rounding each, of results in f32 that may differ in the last digits.
#[test]
fn values_in_half_precision_are_within_one_ulp_of_torch() {
    let mut failures = Vec::new();
    for case in read(HALVES) {
        let got = call::call(case.op, &case.parameters, &case.inputs).unwrap();
        let types = |ts: &[Tensor]| ts.iter().map(|t| t.ty().to_string()).collect::<Vec<_>>().join(", ");
        assert_eq!(types(&got), types(&case.value), "line {}: {}", case.line, case.op);
        let dtype = case.value[0].dtype();
        for (g, w) in read::values(&got[0]).into_iter().zip(read::values(&case.value[0])) {
            let off = ulps(g, w, dtype);
            if off > 1.0 {
                failures
                    .push(format!("line {}: {} {dtype}: got {g:e}, expected {w:e}, {off} ulps", case.line, case.op));
            }
        }
    }
    assert!(failures.is_empty(), "{} values differ:\n{}", failures.len(), failures.join("\n"));
}

/// Prints the operations that still lack a second opinion.
#[test]
fn almost_every_operation_has_a_line() {
    let files = [TORCH, COMPLEX, INDEX, NN, LOSSES, LINALG, WORDS];
    let (cases, all) = (Vec::from_iter(files.into_iter().flat_map(read)), operations().count());
    let missing: Vec<&str> =
        operations().map(|op| op.name).filter(|name| !cases.iter().any(|c| c.op == *name)).collect();
    println!("{} of {all} operations have no case in scripts/expected: {missing:?}", missing.len());
    assert!(missing.len() * 20 < all, "{missing:?}");
}

/// The test can fail: a change of any one quantity is noticed, and the message names operation, case and quantity.
#[test]
fn a_wrong_expectation_is_noticed() {
    let (sample, mut seen) = (read(TORCH), 0);
    for case in sample.iter().filter(|c| c.op == "hypot" && c.hvp.is_some() && c.value[0].numel() > 0) {
        seen += 1;
        for what in ["value", "vjp", "jvp", "hvp"] {
            let mut case = case.clone();
            let changed = match what {
                "value" => Some(&mut case.value),
                "vjp" => case.vjp.as_mut(),
                "jvp" => case.jvp.as_mut(),
                _ => case.hvp.as_mut(),
            };
            let first = &mut changed.unwrap()[0];
            *first = first.add(1e-9).unwrap();
            let message = outcome(&case).expect("the change was not noticed");
            assert!(message.contains("hypot|") && message.contains(&case.shown) && message.contains(what), "{message}");
        }
    }
    assert!(seen > 0);
}
