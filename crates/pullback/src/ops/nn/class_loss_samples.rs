//! Samples of the losses over classes.

use super::{CrossEntropy, NllLoss};
use crate::ops::loss::naive_reduction;
use crate::ops::table::{ErrorSample, Naive, Sample, sample_tensor};
use crate::{ErrorKind, Reduction, Result, Tensor};

const OTHERS: [Reduction; 2] = [Reduction::None, Reduction::Sum];

/// The row of element `example` of the target: all classes of the second, or the only, dimension.
fn row(x: &Naive, example: &[usize]) -> Vec<f64> {
    let dim = usize::from(x.shape.len() > 1);
    let mut at = example.to_vec();
    at.insert(dim, 0);
    (0..x.shape[dim])
        .map(|k| {
            at[dim] = k;
            x.at(&at)
        })
        .collect()
}

fn log_softmax(row: &[f64]) -> Vec<f64> {
    let log = row.iter().map(|v| v.exp()).sum::<f64>().ln();
    row.iter().map(|v| v - log).collect()
}

/// Losses from the loss of each example and what it counts in a mean.
fn weighted(losses: Naive, counts: &[f64], reduction: Reduction) -> Vec<Naive> {
    match reduction {
        Reduction::Mean => {
            let mean = losses.data.iter().sum::<f64>() / counts.iter().sum::<f64>();
            vec![Naive { shape: vec![], data: vec![mean] }]
        }
        _ => naive_reduction(losses, reduction),
    }
}

/// The loss for target classes and what its examples count, from the logarithms of probabilities, where `x[2]` are weights if there are any.
fn naive(x: &[Naive], logs: fn(&[f64]) -> Vec<f64>, ignore: i64, smoothing: f64, reduction: Reduction) -> Vec<Naive> {
    let mut counts = Vec::new();
    let losses = Naive::from_fn(&x[1].shape, |i| {
        let (logs, target) = (logs(&row(&x[0], i)), x[1].at(i));
        let weight = |k: usize| x.get(2).map_or(1.0, |w| w.data[k]);
        if target == ignore as f64 {
            counts.push(0.0);
            return 0.0;
        }
        let target = target as usize;
        counts.push(weight(target));
        let part = smoothing / logs.len() as f64;
        let all: f64 = logs.iter().enumerate().map(|(k, v)| part * weight(k) * v).sum();
        -((1.0 - smoothing) * weight(target) * logs[target] + all)
    });
    weighted(losses, &counts, reduction)
}

/// Inputs of every kind of shape: logits and classes.
fn inputs(reduction: Reduction) -> Vec<(&'static str, Tensor, Tensor)> {
    let x = |shape: &[usize]| sample_tensor(shape, -2.0, 2.0, 1);
    let mut all = vec![
        ("batch", x(&[3, 4]), Tensor::from([2i64, 0, 3])),
        ("one example", x(&[3]), Tensor::from(1i64)),
        ("image", x(&[2, 3, 2]), Tensor::from([[2i64, 0], [1, 1]])),
    ];
    if reduction != Reduction::Mean {
        all.push(("empty", x(&[0, 3]), Tensor::from(Vec::<i64>::new())));
    }
    all
}

fn plain(
    call: impl Fn(&Tensor, &Tensor, Reduction) -> Result<Tensor> + Copy + Send + Sync + 'static,
    reductions: &[Reduction],
    logs: fn(&[f64]) -> Vec<f64>,
) -> Vec<Sample> {
    let of = |reduction: Reduction| {
        inputs(reduction).into_iter().map(move |(label, x, t)| {
            Sample::one(format!("{label} {reduction:?}"), [x, t], move |x| call(&x[0], &x[1], reduction))
                .reference(move |x| naive(x, logs, -1, 0.0, reduction))
        })
    };
    reductions.iter().copied().flat_map(of).collect()
}

/// Samples with a target of probabilities and weights.
fn probabilities(
    call: impl Fn(&[Tensor], Reduction) -> Result<Tensor> + Copy + Send + Sync + 'static,
    is_weighted: bool,
    smoothing: f64,
    reduction: Reduction,
) -> Vec<Sample> {
    [&[2usize, 3][..], &[2, 3, 2], &[3]]
        .into_iter()
        .map(|shape| {
            let mut inputs = vec![sample_tensor(shape, -2.0, 2.0, 1), sample_tensor(shape, 0.0, 0.7, 2)];
            if is_weighted {
                inputs.push(sample_tensor(&[3], 0.5, 2.0, 3));
            }
            let label = format!("probabilities {shape:?} {reduction:?}, weights {is_weighted}, smoothing {smoothing}");
            Sample::one(label, inputs, move |x| call(x, reduction)).reference(move |x| {
                let mut examples = x[0].shape.clone();
                examples.remove(usize::from(examples.len() > 1));
                let losses = Naive::from_fn(&examples, |i| {
                    let (logs, p) = (log_softmax(&row(&x[0], i)), row(&x[1], i));
                    let one = |k: usize| {
                        let p = (1.0 - smoothing) * p[k] + smoothing / 3.0;
                        -x.get(2).map_or(1.0, |w| w.data[k]) * p * logs[k]
                    };
                    (0..3).map(one).sum()
                });
                naive_reduction(losses, reduction)
            })
        })
        .collect()
}

/// The options that the samples have.
fn options(x: &[Tensor], ignore: Option<i64>, smoothing: f64, reduction: Reduction) -> CrossEntropy {
    let mut options = CrossEntropy::new().label_smoothing(smoothing).reduction(reduction);
    if let Some(class) = ignore {
        options = options.ignore_index(class);
    }
    match x.get(2) {
        Some(weight) => options.weight(weight),
        None => options,
    }
}

pub(super) fn cross_entropy() -> Vec<Sample> {
    let mut all = plain(|x, t, _| x.cross_entropy(t), &[Reduction::Mean], log_softmax);
    all.extend(probabilities(|x, _| x[0].cross_entropy(&x[1]), false, 0.0, Reduction::Mean));
    all
}

/// Samples of a loss with weights and a target that is left out.
fn with_options(
    call: impl Fn(&[Tensor], Option<i64>, Reduction) -> Result<Tensor> + Copy + Send + Sync + 'static,
    logs: fn(&[f64]) -> Vec<f64>,
    smoothing: f64,
    reductions: &[Reduction],
) -> Vec<Sample> {
    let mut all = Vec::new();
    for &reduction in reductions {
        for (k, (is_weighted, ignore)) in [(true, None), (false, Some(0)), (true, Some(-1))].into_iter().enumerate() {
            let cases = [
                ("batch", sample_tensor(&[4, 3], -2.0, 2.0, 1), Tensor::from([2i64, 0, ignore.unwrap_or(1), 1])),
                ("image", sample_tensor(&[2, 3, 2], -2.0, 2.0, 1), Tensor::from([[2i64, ignore.unwrap_or(0)], [1, 1]])),
                ("one example", sample_tensor(&[3], -2.0, 2.0, 1), Tensor::from(2i64)),
            ];
            // Each shape with some of the options.
            for (label, x, t) in cases.into_iter().skip(2 - k) {
                let mut inputs = vec![x, t];
                if is_weighted {
                    inputs.push(sample_tensor(&[3], 0.5, 2.0, 3));
                }
                let label =
                    format!("{label} {reduction:?}, weights {is_weighted}, without {ignore:?}, smoothing {smoothing}");
                all.push(
                    Sample::one(label, inputs, move |x| call(x, ignore, reduction))
                        .reference(move |x| naive(x, logs, ignore.unwrap_or(-1), smoothing, reduction)),
                );
            }
        }
    }
    all
}

pub(super) fn cross_entropy_with() -> Vec<Sample> {
    let with = |x: &[Tensor], ignore, smoothing, reduction| {
        x[0].cross_entropy_with(&x[1], options(x, ignore, smoothing, reduction))
    };
    let mut all = plain(|x, t, r| x.cross_entropy_with(t, r), &OTHERS, log_softmax);
    all.extend(with_options(
        move |x, ignore, r| with(x, ignore, 0.0, r),
        log_softmax,
        0.0,
        &[Reduction::None, Reduction::Mean],
    ));
    all.extend(with_options(move |x, ignore, r| with(x, ignore, 0.3, r), log_softmax, 0.3, &[Reduction::Mean]));
    all.extend(probabilities(move |x, r| with(x, Some(-100), 0.0, r), false, 0.0, Reduction::None));
    all.extend(probabilities(move |x, r| with(x, None, 0.25, r), true, 0.25, Reduction::Mean));
    all
}

pub(super) fn nll() -> Vec<Sample> {
    plain(|x, t, _| x.nll_loss(t), &[Reduction::Mean], <[f64]>::to_vec)
}

pub(super) fn nll_with() -> Vec<Sample> {
    let with = |x: &[Tensor], ignore: Option<i64>, reduction| {
        let mut options = NllLoss::new().reduction(reduction);
        if let Some(class) = ignore {
            options = options.ignore_index(class);
        }
        if let Some(weight) = x.get(2) {
            options = options.weight(weight);
        }
        x[0].nll_loss_with(&x[1], &options)
    };
    let mut all = plain(|x, t, r| x.nll_loss_with(t, r), &OTHERS, <[f64]>::to_vec);
    all.extend(with_options(with, <[f64]>::to_vec, 0.0, &[Reduction::None, Reduction::Mean]));
    all
}

fn error(
    label: &str,
    kind: ErrorKind,
    message: &'static str,
    call: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static,
) -> ErrorSample {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    ErrorSample::new(label, kind, message, move || call(&x))
}

fn class_errors(call: fn(&Tensor, &Tensor) -> Result<Tensor>) -> Vec<ErrorSample> {
    vec![
        error(
            "range",
            ErrorKind::Index,
            "expected targets from 0 to below 3, the number of classes, got 5 at position [1]",
            move |x| call(x, &Tensor::from([0i64, 5])),
        ),
        error("negative", ErrorKind::Index, "got -100 at position [0]", move |x| call(x, &Tensor::from([-100i64, 0]))),
        error("shape", ErrorKind::Shape, "expected a target of shape [2] for f64[2,3], got i64[3]", move |x| {
            call(x, &Tensor::from([0i64, 0, 0]))
        }),
        error(
            "classes in the last dim",
            ErrorKind::Shape,
            "expected a target of shape [2,3] for f64[2,1,3], got i64[2,1]",
            move |x| call(&x.unsqueeze(1)?, &Tensor::from([[0i64], [0]])),
        ),
        error("no classes", ErrorKind::Shape, "expected a dimension of classes, got f64[]", move |_| {
            call(&Tensor::from(1.0), &Tensor::from(0i64))
        }),
    ]
}

pub(super) fn cross_entropy_errors() -> Vec<ErrorSample> {
    let mut errors = class_errors(Tensor::cross_entropy);
    errors.push(error("probabilities", ErrorKind::Shape, "got logits f64[2,3] and target f64[1,3]", |x| {
        x.cross_entropy(&Tensor::from([[0.0, 1.0, 0.0]]))
    }));
    errors.push(error("dtype", ErrorKind::Dtype, "expected a target of integers for f64[2], got f64[]", |_| {
        Tensor::from([1.0, 2.0]).cross_entropy(&Tensor::from(1.0))
    }));
    errors
}

pub(super) fn cross_entropy_with_errors() -> Vec<ErrorSample> {
    let mut errors = class_errors(|x, t| x.cross_entropy_with(t, Reduction::Sum));
    errors.extend(weight_errors(|x, t, w| x.cross_entropy_with(t, CrossEntropy::new().weight(w))));
    errors.push(error(
        "ignored",
        ErrorKind::Index,
        "expected targets from 0 to below 3, the number of classes, or -100, which is ignored, got -1 at position [1]",
        |x| x.cross_entropy_with(&Tensor::from([-100i64, -1]), CrossEntropy::new().ignore_index(-100)),
    ));
    errors.push(error("smoothing", ErrorKind::Value, "expected a label smoothing from 0 to 1, got 1.5", |x| {
        x.cross_entropy_with(&Tensor::from([0i64, 1]), CrossEntropy::new().label_smoothing(1.5))
    }));
    errors.push(error(
        "ignored probabilities",
        ErrorKind::Value,
        "expected target classes to ignore 1 among, got probabilities f64[2,3]",
        |x| x.cross_entropy_with(x, CrossEntropy::new().ignore_index(1)),
    ));
    errors
}

fn weight_errors(call: fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor>) -> Vec<ErrorSample> {
    vec![error(
        "weights",
        ErrorKind::Shape,
        "expected weights [3], one for each class of f64[2,3], got f64[2]",
        move |x| call(x, &Tensor::from([0i64, 1]), &Tensor::from([1.0, 2.0])),
    )]
}

pub(super) fn nll_errors() -> Vec<ErrorSample> {
    let mut errors = class_errors(Tensor::nll_loss);
    errors.push(error("dtype", ErrorKind::Dtype, "expected a target of integers for f64[2,3], got f64[2]", |x| {
        x.nll_loss(&Tensor::from([0.0, 1.0]))
    }));
    errors
}

pub(super) fn nll_with_errors() -> Vec<ErrorSample> {
    let mut errors = class_errors(|x, t| x.nll_loss_with(t, Reduction::Sum));
    errors.extend(weight_errors(|x, t, w| x.nll_loss_with(t, NllLoss::new().weight(w))));
    errors
}
