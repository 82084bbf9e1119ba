//! Samples of connectionist temporal classification.

use super::CtcLoss;
use crate::ops::loss::naive_reduction;
use crate::ops::table::{ErrorSample, Naive, Sample, sample_tensor};
use crate::{ErrorKind, Reduction, Result, Tensor};

/// The labels that a path through the classes stands for.
fn labels_of(path: &[usize], blank: usize) -> Vec<f64> {
    let kept = path.iter().enumerate().filter(|&(k, c)| *c != blank && (k == 0 || path[k - 1] != *c));
    kept.map(|(_, c)| *c as f64).collect()
}

/// The losses by all paths through the classes.
fn naive(x: &[Naive], blank: usize, zero_infinity: bool, reduction: Reduction) -> Vec<Naive> {
    let classes = x[0].shape[x[0].shape.len() - 1];
    let losses = Naive::from_fn(&x[2].shape, |example| {
        let (steps, count) = (x[2].at(example) as usize, x[3].at(example) as usize);
        let labels: Vec<f64> = (0..count).map(|k| x[1].at(&[example, &[k]].concat())).collect();
        let of_path = |number: usize| {
            let path: Vec<usize> = (0..steps).map(|k| number / classes.pow(k as u32) % classes).collect();
            if labels_of(&path, blank) != labels {
                return 0.0;
            }
            path.iter().enumerate().map(|(k, &c)| x[0].at(&[&[k], example, &[c]].concat())).sum::<f64>().exp()
        };
        let loss = -(0..classes.pow(steps as u32)).map(of_path).sum::<f64>().ln();
        let loss = if zero_infinity && loss == f64::INFINITY { 0.0 } else { loss };
        if reduction == Reduction::Mean { loss / (count as f64).max(1.0) } else { loss }
    });
    naive_reduction(losses, reduction)
}

fn case(
    label: &str,
    inputs: [Tensor; 4],
    options: &CtcLoss,
    (blank, zero, reduction): (usize, bool, Reduction),
) -> Sample {
    let options = options.clone().blank(blank).zero_infinity(zero).reduction(reduction);
    Sample::one(format!("{label} {reduction:?}"), inputs, move |x| x[0].ctc_loss(&x[1], &x[2], &x[3], &options))
        .reference(move |x| naive(x, blank, zero, reduction))
        .tolerance(1e-11)
}

pub(super) fn samples() -> Vec<Sample> {
    let new = CtcLoss::new();
    let batch = || {
        [
            sample_tensor(&[5, 2, 3], -3.0, 0.0, 1),
            Tensor::from([[1i64, 1], [2, 1]]),
            Tensor::from([5i64, 4]),
            Tensor::from([2i64, 1]),
        ]
    };
    let mut all: Vec<Sample> = [Reduction::None, Reduction::Mean, Reduction::Sum]
        .into_iter()
        .map(|reduction| case("batch", batch(), &new, (0, false, reduction)))
        .collect();
    let one = |labels: Vec<i64>, steps: i64| {
        let count = Tensor::from(labels.len() as i64);
        [sample_tensor(&[4, 3], -3.0, 0.0, 1), Tensor::from(labels), Tensor::from(steps), count]
    };
    all.push(case("one example, last blank", one(vec![0, 1, 0], 4), &new, (2, false, Reduction::None)));
    all.push(case("no labels", one(vec![], 3), &new, (0, false, Reduction::Mean)));
    all.push(case("no steps", one(vec![], 0), &new, (0, false, Reduction::None)));
    all.push(case("infeasible, zero", one(vec![1, 1, 1], 4), &new, (0, true, Reduction::None)));
    all.push(case("infeasible", one(vec![1, 1, 1], 4), &new, (0, false, Reduction::None)).special());
    let none =
        [Tensor::from(Vec::<f64>::new()).reshape_to(&[2, 0, 3]), Tensor::from(Vec::<i64>::new()).reshape_to(&[0, 1])]
            .map(|t| t.expect("no elements have every such shape"));
    let lengths = || Tensor::from(Vec::<i64>::new());
    let [x, targets] = none;
    all.push(case("no examples", [x, targets, lengths(), lengths()], &new, (0, false, Reduction::Sum)));
    all
}

pub(super) fn errors() -> Vec<ErrorSample> {
    let error =
        |label: &str, kind, message: &'static str, call: fn(&Tensor, [&Tensor; 3], CtcLoss) -> Result<Tensor>| {
            let x = sample_tensor(&[4, 2, 3], -2.0, 0.0, 1);
            ErrorSample::new(label, kind, message, move || {
                let (targets, lengths) = (Tensor::from([[1i64, 2], [2, 1]]), Tensor::from([2i64, 2]));
                call(&x, [&targets, &lengths, &lengths], CtcLoss::new())
            })
        };
    vec![
        error(
            "rank",
            ErrorKind::Shape,
            "ctc_loss: expected [steps, examples, classes] or [steps, classes], got f64[2]",
            |_, [t, n, m], o| Tensor::from([1.0, 2.0]).ctc_loss(t, n, m, o),
        ),
        error(
            "targets",
            ErrorKind::Shape,
            "expected targets [.., longest] with the examples [2] of f64[4,2,3], got i64[4]",
            |x, [t, n, m], o| x.ctc_loss(&t.flatten(0, -1)?, n, m, o),
        ),
        error(
            "lengths",
            ErrorKind::Shape,
            "expected input_lengths [..] with the examples [2] of f64[4,2,3], got i64[]",
            |x, [t, _, m], o| x.ctc_loss(t, &Tensor::from(4i64), m, o),
        ),
        error("dtype", ErrorKind::Dtype, "expected target_lengths of integers, got f64[2]", |x, [t, n, _], o| {
            x.ctc_loss(t, n, &Tensor::from([1.0, 1.0]), o)
        }),
        error(
            "blank",
            ErrorKind::Value,
            "expected a blank below 3, the number of classes of f64[4,2,3], got 3",
            |x, [t, n, m], o| x.ctc_loss(t, n, m, o.blank(3)),
        ),
        error(
            "steps",
            ErrorKind::Index,
            "expected input_lengths from 0 to 4, got 5 at position [1]",
            |x, [t, _, m], o| x.ctc_loss(t, &Tensor::from([4i64, 5]), m, o),
        ),
        error(
            "labels",
            ErrorKind::Index,
            "expected target_lengths from 0 to 2, got -1 at position [0]",
            |x, [t, n, _], o| x.ctc_loss(t, n, &Tensor::from([-1i64, 5]), o),
        ),
        error(
            "label",
            ErrorKind::Index,
            "expected labels from 0 to below 3, the number of classes, without 1, the blank, got 1 as label 0 at position [0]",
            |x, [t, n, m], o| x.ctc_loss(t, n, m, o.blank(1)),
        ),
        error("class", ErrorKind::Index, "the blank, got 3 as label 1 at position [1]", |x, [_, n, m], o| {
            x.ctc_loss(&Tensor::from([[1i64, 2], [2, 3]]), n, m, o)
        }),
    ]
}
