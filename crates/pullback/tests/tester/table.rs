//! Rows of the table that say something wrong about their operation.

use pullback::testing::table::{ErrorSample, Kink, Naive, OpInfo, Sample, sample_tensor};
use pullback::{DType, Error, ErrorKind, Tensor};

use super::rows::{ROW_CHECKS, SAMPLE_CHECKS};
use super::run::each_sample;

const DOC: &str =
    " The square.\n\n # Dtypes\n All.\n\n # Derivative\n `2x`.\n\n # Errors\n None.\n\n # Example\n ```\n ```\n";

fn square(label: &str, x: Tensor) -> Sample {
    Sample::one(label, [x], |x| x[0].mul(&x[0]))
        .reference(|x| vec![Naive { shape: x[0].shape.clone(), data: x[0].data.iter().map(|v| v * v).collect() }])
}

fn good_samples() -> Vec<Sample> {
    vec![square("matrix", sample_tensor(&[2, 3], -1.0, 1.0, 1)), square("0-d", Tensor::from(0.5))]
}

const RIGHT: OpInfo = OpInfo {
    name: "square",
    doc: DOC,
    signature: "",
    samples: good_samples,
    errors: Vec::new,
    kinks: Vec::new,
    module: "tester",
    #[cfg(feature = "dynamic")]
    forms: &[],
};

/// The names of the checks that a row fails.
fn failed(op: &OpInfo) -> Vec<&'static str> {
    let of_samples = SAMPLE_CHECKS.iter().filter(|(name, check)| each_sample(name, op, check).is_err()).map(|c| c.0);
    let of_rows = ROW_CHECKS.iter().filter(|(_, check)| check(op).is_err()).map(|c| c.0);
    of_samples.chain(of_rows).collect()
}

#[test]
fn right_row() {
    assert_eq!(failed(&RIGHT), [""; 0]);
}

/// The good samples and another one.
fn with(extra: Sample) -> Vec<Sample> {
    [good_samples(), vec![extra]].concat()
}

/// The row with other samples.
fn sampled(samples: fn() -> Vec<Sample>) -> Vec<&'static str> {
    failed(&OpInfo { samples, ..RIGHT })
}

#[test]
fn wrong_values() {
    let off = || with(square("off", Tensor::from([0.5, 2.0])).reference(|x| vec![x[0].clone()]));
    assert_eq!(sampled(off), ["values", "integers"]);
    let shape =
        || with(square("shape", Tensor::from([0.0])).reference(|_| vec![Naive { shape: vec![], data: vec![0.0] }]));
    assert_eq!(sampled(shape), ["values", "integers"]);
    // A relative error of 1e-11 is one.
    fn close(x: &[Naive]) -> Vec<Naive> {
        vec![Naive { shape: vec![], data: vec![x[0].data[0].powi(2) * (1.0 + 1e-11)] }]
    }
    assert_eq!(sampled(|| with(square("close", Tensor::from(0.5)).reference(close))), ["values"]);
}

#[test]
fn samples_without_a_reference() {
    assert_eq!(sampled(|| with(Sample::one("bare", [Tensor::from(0.5)], |x| x[0].mul(&x[0])))), ["values"]);
}

#[test]
fn values_that_are_not_finite() {
    assert_eq!(sampled(|| with(square("infinite", Tensor::from([1e200])))), ["values_are_finite"]);
    assert_eq!(sampled(|| with(square("infinite", Tensor::from([1e200])).special())), [""; 0]);
}

#[test]
fn expected_failures_are_strict() {
    fn off() -> Sample {
        square("off", Tensor::from([0.5])).reference(|_| vec![Naive { shape: vec![1], data: vec![7.0] }])
    }
    let known = || {
        let reason = "the reference is wrong";
        with(off().expect_failure("values", reason).expect_failure("integers", reason))
    };
    assert_eq!(sampled(known), [""; 0]);
    let passes = || with(square("fine", Tensor::from([0.5])).expect_failure("values", "it is not known yet"));
    assert_eq!(sampled(passes), ["values"]);
    let unknown = || with(square("fine", Tensor::from([0.5])).expect_failure("valeus", "misspelt"));
    assert_eq!(sampled(unknown), ["samples"]);
}

#[test]
fn too_few_samples() {
    assert_eq!(sampled(|| vec![square("0-d", Tensor::from(0.5))]), ["samples"]);
    assert_eq!(sampled(|| vec![square("a", Tensor::from([0.5])), square("b", Tensor::from([1.5]))]), ["samples"]);
    assert_eq!(sampled(|| [good_samples(), good_samples()].concat()), ["samples"]);
}

#[test]
fn wrong_errors() {
    fn fail() -> pullback::Result<Tensor> {
        Err(Error::new(ErrorKind::Dim, "square: dim 3 is out of range"))
    }
    let with_errors = |errors: fn() -> Vec<ErrorSample>| failed(&OpInfo { errors, ..RIGHT });
    assert_eq!(with_errors(|| vec![ErrorSample::new("", ErrorKind::Dim, "dim 3 is out of range", fail)]), [""; 0]);
    assert_eq!(with_errors(|| vec![ErrorSample::new("", ErrorKind::Shape, "dim 3", fail)]), ["errors"]);
    assert_eq!(with_errors(|| vec![ErrorSample::new("", ErrorKind::Dim, "dim 4", fail)]), ["errors"]);
    assert_eq!(with_errors(|| vec![ErrorSample::new("", ErrorKind::Dim, "", || Ok(Tensor::from(1.0)))]), ["errors"]);
    assert_eq!(with_errors(|| vec![ErrorSample::new("", ErrorKind::Dim, "", || panic!("on purpose"))]), ["errors"]);
}

#[test]
fn wrong_kinks() {
    fn kink(gradient: &[f64]) -> Vec<Kink> {
        vec![Kink::new("zero", Tensor::from([0.0, 1.0]), gradient, |x: &Tensor| x.abs())]
    }
    let with_kinks = |kinks: fn() -> Vec<Kink>| failed(&OpInfo { kinks, ..RIGHT });
    assert_eq!(with_kinks(|| kink(&[0.0, 1.0])), [""; 0]);
    assert_eq!(with_kinks(|| kink(&[1.0, 1.0])), ["kinks"]);
    assert_eq!(with_kinks(|| kink(&[0.0])), ["kinks"]);
}

/// Good samples, the first of which takes only f64.
fn only_f64(error: fn() -> Error) -> Vec<Sample> {
    let mut samples = good_samples();
    let inputs = samples[0].inputs.clone();
    let call = move |x: &[Tensor]| if x[0].dtype() == DType::F64 { x[0].mul(&x[0]) } else { Err(error()) };
    samples[0].call = Sample::one("", inputs, call).call;
    samples
}

#[test]
fn wrong_dtypes() {
    assert_eq!(sampled(|| only_f64(|| Error::new(ErrorKind::Dtype, "square: expected f64"))), [""; 0]);
    assert_eq!(sampled(|| only_f64(|| Error::new(ErrorKind::Dtype, "expected f64"))), ["dtypes"]);
    assert_eq!(sampled(|| only_f64(|| Error::new(ErrorKind::Internal, "square: f64"))), ["dtypes"]);
    assert_eq!(sampled(|| only_f64(|| panic!("on purpose"))), ["integers", "dtypes"]);
}

#[test]
fn documentation_with_gaps() {
    for (section, other) in [("# Derivative", "# Slope"), ("# Example", "# Usage"), ("# Dtypes", "# Types")] {
        let doc: &'static str = DOC.replace(section, other).leak();
        assert_eq!(failed(&OpInfo { doc, ..RIGHT }), ["docs"], "{section}");
    }
    assert_eq!(failed(&OpInfo { doc: " The square", ..RIGHT }), ["docs"]);
}
