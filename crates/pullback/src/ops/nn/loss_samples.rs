//! Samples of the losses and distances.

use super::BinaryCrossEntropy;
use crate::ops::loss::naive_reduction;
use crate::ops::table::{ErrorSample, Naive, Sample, sample_tensor};
use crate::{ErrorKind, Reduction, Result, Tensor};

const ALL: [Reduction; 3] = [Reduction::None, Reduction::Mean, Reduction::Sum];

/// A range of samples.
type Range = (f64, f64);

/// Samples of a loss of elements, whose value at one place is `reference`.
fn elements<const N: usize>(
    ranges: [Range; N],
    call: impl Fn(&[Tensor], Reduction) -> Result<Tensor> + Copy + Send + Sync + 'static,
    reference: fn([f64; N]) -> f64,
) -> Vec<Sample> {
    let mut all = Vec::new();
    for (reduction, shape) in ALL.into_iter().flat_map(|r| [&[2usize, 3][..], &[], &[0]].map(|s| (r, s))) {
        if reduction == Reduction::Mean && shape == [0] {
            continue;
        }
        let inputs: Vec<Tensor> =
            (0..N).map(|k| sample_tensor(shape, ranges[k].0, ranges[k].1, k as u64 + 1)).collect();
        all.push(Sample::one(format!("{shape:?} {reduction:?}"), inputs, move |x| call(x, reduction)).reference(
            move |x| {
                let data = (0..x[0].data.len()).map(|i| reference(std::array::from_fn(|k| x[k].data[i]))).collect();
                naive_reduction(Naive { shape: x[0].shape.clone(), data }, reduction)
            },
        ));
    }
    all
}

/// With the last input, a target, made of 1 and -1, and held fixed.
fn signed(samples: Vec<Sample>) -> Vec<Sample> {
    samples
        .into_iter()
        .map(|sample| {
            let mut inputs = sample.inputs.clone();
            let target = inputs.pop().expect("a target");
            let signs: Vec<i64> = (0..target.numel() as i64).map(|k| if k % 3 == 1 { -1 } else { 1 }).collect();
            inputs.push(Tensor::from_slice(&signs, target.shape()).expect("as many signs"));
            Sample { inputs, ..sample }
        })
        .collect()
}

/// Samples of a function of rows: the tensors have these shapes.
fn rows<const N: usize>(
    label: &str,
    shapes: [&[usize]; N],
    call: impl Fn(&[Tensor]) -> Result<Tensor> + Send + Sync + 'static,
    reference: impl Fn(&[Naive]) -> Naive + Send + Sync + 'static,
) -> Sample {
    let inputs: Vec<Tensor> = (0..N).map(|k| sample_tensor(shapes[k], -2.0, 2.0, k as u64 + 1)).collect();
    Sample::one(label, inputs, move |x| call(x)).reference(move |x| vec![reference(x)])
}

/// Of rows, each in turn.
fn each_row(shape: &[usize], x: &[&Naive], f: impl Fn(&[&[f64]]) -> f64) -> Naive {
    Naive::from_fn(shape, |i| {
        let flat = i.iter().zip(shape).fold(0, |flat, (i, n)| flat * n + i);
        let of: Vec<&[f64]> = x
            .iter()
            .map(|x| {
                let n = *x.shape.last().expect("rows");
                &x.data[flat * n..(flat + 1) * n]
            })
            .collect();
        f(&of)
    })
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn cos(a: &[f64], b: &[f64]) -> f64 {
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

fn distance_of(a: &[f64], b: &[f64], p: f64, eps: f64) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b + eps).abs().powf(p)).sum::<f64>().powf(1.0 / p)
}

pub(super) fn bce() -> Vec<Sample> {
    let mut all = elements(
        [(0.1, 0.9), (0.1, 0.9)],
        |x, r| x[0].binary_cross_entropy(&x[1], r),
        |[x, t]| -t * x.ln() - (1.0 - t) * (1.0 - x).ln(),
    );
    all.extend(elements(
        [(0.1, 0.9), (0.1, 0.9), (0.5, 2.0)],
        |x, r| x[0].binary_cross_entropy(&x[1], BinaryCrossEntropy::new().weight(&x[2]).reduction(r)),
        |[x, t, w]| w * (-t * x.ln() - (1.0 - t) * (1.0 - x).ln()),
    ));
    let n = all.len() / 2;
    for sample in &mut all[n..] {
        sample.label += ", weights";
    }
    all
}

pub(super) fn poisson() -> Vec<Sample> {
    let mut all =
        elements([(-1.0, 1.0), (0.2, 3.0)], |x, r| x[0].poisson_nll_loss(&x[1], true, r), |[x, t]| x.exp() - t * x);
    let plain = elements(
        [(0.3, 2.0), (0.2, 3.0)],
        |x, r| x[0].poisson_nll_loss(&x[1], false, r),
        |[x, t]| x - t * (x + 1e-8).ln(),
    );
    all.extend(plain.into_iter().map(|s| Sample { label: format!("{}, of means", s.label), ..s }));
    all
}

pub(super) fn gaussian() -> Vec<Sample> {
    elements(
        [(-1.0, 1.0), (-1.0, 1.0), (0.2, 2.0)],
        |x, r| x[0].gaussian_nll_loss(&x[1], &x[2], 0.5, r),
        |[x, t, v]| {
            let v = v.max(0.5);
            (v.ln() + (x - t).powi(2) / v) / 2.0
        },
    )
}

pub(super) fn soft() -> Vec<Sample> {
    signed(elements(
        [(-2.0, 2.0), (-1.0, 1.0)],
        |x, r| x[0].soft_margin_loss(&x[1], r),
        |[x, t]| (-t * x).exp().ln_1p(),
    ))
}

pub(super) fn hinge() -> Vec<Sample> {
    signed(elements(
        [(-2.0, 2.0), (-1.0, 1.0)],
        |x, r| x[0].hinge_embedding_loss(&x[1], 0.5, r),
        |[x, t]| {
            if t > 0.0 { x } else { (0.5 - x).max(0.0) }
        },
    ))
}

pub(super) fn ranking() -> Vec<Sample> {
    let call = |x: &[Tensor], r| x[0].margin_ranking_loss(&x[1], &x[2], 0.5, r);
    signed(elements([(-2.0, 2.0), (-2.0, 2.0), (-1.0, 1.0)], call, |[x, y, t]| (-t * (x - y) + 0.5).max(0.0)))
}

pub(super) fn cosine_loss() -> Vec<Sample> {
    let mut all = Vec::new();
    for (reduction, shape) in ALL.into_iter().flat_map(|r| [&[4usize, 3][..], &[3], &[0, 2]].map(|s| (r, s))) {
        if reduction == Reduction::Mean && shape[0] == 0 {
            continue;
        }
        let lead = &shape[..shape.len() - 1];
        all.push(rows(
            &format!("{shape:?} {reduction:?}"),
            [shape, shape, lead],
            move |x| x[0].cosine_embedding_loss(&x[1], &x[2], -0.3, reduction),
            move |x| {
                let cosines = each_row(&x[0].shape[..x[0].shape.len() - 1], &[&x[0], &x[1]], |r| cos(r[0], r[1]));
                let losses = cosines.data.iter().zip(&x[2].data);
                let data = losses.map(|(c, &t)| if t > 0.0 { 1.0 - c } else { (c + 0.3).max(0.0) }).collect();
                naive_reduction(Naive { shape: x[2].shape.clone(), data }, reduction).remove(0)
            },
        ));
    }
    signed(all)
}

pub(super) fn triplet() -> Vec<Sample> {
    let mut all = Vec::new();
    for (reduction, shape, p) in [
        (Reduction::None, &[3usize, 2][..], 2.0),
        (Reduction::Mean, &[2, 2, 2], 3.0),
        (Reduction::Sum, &[4], 2.0),
        (Reduction::Sum, &[0, 2], 2.0),
    ] {
        all.push(rows(
            &format!("{shape:?} {reduction:?} {p}"),
            [shape, shape, shape],
            move |x| x[0].triplet_margin_loss(&x[1], &x[2], 0.7, p, reduction),
            move |x| {
                let lead = &x[0].shape[..x[0].shape.len() - 1];
                let losses = each_row(lead, &[&x[0], &x[1], &x[2]], |r| {
                    (distance_of(r[0], r[1], p, 1e-6) - distance_of(r[0], r[2], p, 1e-6) + 0.7).max(0.0)
                });
                naive_reduction(losses, reduction).remove(0)
            },
        ));
    }
    all
}

pub(super) fn multi() -> Vec<Sample> {
    let case = |label: &str, shape: &[usize], target: Tensor, reduction| {
        Sample::one(label, [sample_tensor(shape, -1.0, 1.0, 1), target], move |x| {
            x[0].multi_margin_loss(&x[1], 0.8, reduction)
        })
        .reference(move |x| {
            let n = *x[0].shape.last().expect("classes");
            let losses = x[0].data.chunks(n).zip(&x[1].data).map(|(row, &t)| {
                let own = t as usize;
                let others = row.iter().enumerate().filter(|(k, _)| *k != own);
                others.map(|(_, v)| (0.8 - row[own] + v).max(0.0)).sum::<f64>() / n as f64
            });
            naive_reduction(Naive { shape: x[1].shape.clone(), data: losses.collect() }, reduction)
        })
    };
    vec![
        case("batch", &[3, 4], Tensor::from([2i64, 0, 3]), Reduction::None),
        case("mean", &[2, 3], Tensor::from([1i64, 1]), Reduction::Mean),
        case("one", &[3], Tensor::from(1i64), Reduction::Sum),
        case("empty", &[0, 3], Tensor::from(Vec::<i64>::new()), Reduction::Sum),
    ]
}

pub(super) fn cosine() -> Vec<Sample> {
    let case = |a: &'static [usize], b: &'static [usize], dim: isize, at: usize, eps: f64| {
        rows(
            &format!("{a:?} {b:?} {dim} {eps}"),
            [a, b],
            move |x| x[0].cosine_similarity(&x[1], dim, eps),
            move |x| {
                let whole = crate::shape::broadcast(&x[0].shape, &x[1].shape).expect("shapes that broadcast");
                let mut shape = whole.to_vec();
                let n = shape.remove(at);
                Naive::from_fn(&shape, |i| {
                    let line = |x: &Naive| -> Vec<f64> {
                        let place = |k| [&i[..at], &[k], &i[at..]].concat();
                        (0..n).map(|k| x.at_broadcast(&place(k))).collect()
                    };
                    let (a, b) = (line(&x[0]), line(&x[1]));
                    dot(&a, &b) / (dot(&a, &a).sqrt().max(eps) * dot(&b, &b).sqrt().max(eps))
                })
            },
        )
    };
    vec![
        case(&[3, 4], &[3, 4], -1, 1, 1e-8),
        case(&[3, 4], &[3, 4], 0, 0, 3.0),
        case(&[2, 3, 2], &[3, 1], 1, 1, 1e-8),
        case(&[4], &[4], 0, 0, 1e-8),
        case(&[0, 3], &[1, 3], 1, 1, 1e-8),
    ]
}

pub(super) fn distance() -> Vec<Sample> {
    let case = |a: &'static [usize], b: &'static [usize], p: f64, keepdim: bool| {
        rows(
            &format!("{a:?} {b:?} {p}"),
            [a, b],
            move |x| x[0].pairwise_distance(&x[1], p, 0.1, keepdim),
            move |x| {
                let whole = crate::shape::broadcast(&x[0].shape, &x[1].shape).expect("shapes that broadcast");
                let (n, lead) = whole.split_last().expect("rows");
                let shape = if keepdim { [lead, &[1]].concat() } else { lead.to_vec() };
                Naive::from_fn(&shape, |i| {
                    let line = |x: &Naive| -> Vec<f64> {
                        (0..*n).map(|k| x.at_broadcast(&[&i[..lead.len()], &[k]].concat())).collect()
                    };
                    distance_of(&line(&x[0]), &line(&x[1]), p, 0.1)
                })
            },
        )
    };
    vec![
        case(&[3, 4], &[3, 4], 2.0, false),
        case(&[2, 3, 2], &[3, 2], 3.0, true),
        case(&[4], &[4], 1.0, false),
        case(&[0, 3], &[3], 2.0, false),
    ]
}

pub(super) fn cdist() -> Vec<Sample> {
    let case = |a: &'static [usize], b: &'static [usize], p: f64| {
        rows(
            &format!("{a:?} {b:?} {p}"),
            [a, b],
            move |x| x[0].cdist(&x[1], p),
            move |x| {
                let lead = |x: &Naive| x.shape[..x.shape.len() - 2].to_vec();
                let mut shape =
                    crate::shape::broadcast(&lead(&x[0]), &lead(&x[1])).expect("shapes that broadcast").to_vec();
                let batch = shape.len();
                let rows = |x: &Naive| x.shape[x.shape.len() - 2];
                shape.extend([rows(&x[0]), rows(&x[1])]);
                let n = *x[0].shape.last().expect("rows");
                Naive::from_fn(&shape, |i| {
                    let line = |x: &Naive, row: usize| -> Vec<f64> {
                        (0..n).map(|k| x.at_broadcast(&[&i[..batch], &[row, k]].concat()[..])).collect()
                    };
                    distance_of(&line(&x[0], i[batch]), &line(&x[1], i[batch + 1]), p, 0.0)
                })
            },
        )
    };
    vec![
        case(&[3, 4], &[2, 4], 2.0),
        case(&[2, 2, 3], &[2, 3, 3], 1.0),
        case(&[2, 1, 2, 2], &[3, 1, 2], 3.0),
        case(&[0, 3], &[2, 3], 2.0),
    ]
}

pub(super) fn normalize() -> Vec<Sample> {
    let case = |shape: &'static [usize], p: f64, dim: isize, at: usize, eps: f64| {
        rows(
            &format!("{shape:?} {p} {dim} {eps}"),
            [shape],
            move |x| x[0].normalize(p, dim, eps),
            move |x| {
                Naive::from_fn(&x[0].shape, |i| {
                    let mut other = i.to_vec();
                    let sum: f64 = (0..x[0].shape[at])
                        .map(|k| {
                            other[at] = k;
                            x[0].at(&other).abs().powf(p)
                        })
                        .sum();
                    x[0].at(i) / sum.powf(1.0 / p).max(eps)
                })
            },
        )
    };
    vec![
        case(&[3, 4], 2.0, 1, 1, 1e-12),
        case(&[3, 4], 1.0, 0, 0, 1e-12),
        case(&[2, 3, 2], 3.0, -2, 1, 4.0),
        case(&[4], 2.0, 0, 0, 1e-12),
        case(&[0, 2], 2.0, 1, 1, 1e-12),
    ]
}

pub(super) fn response() -> Vec<Sample> {
    let case = |shape: &'static [usize], size: usize| {
        rows(
            &format!("{shape:?} {size}"),
            [shape],
            move |x| x[0].local_response_norm(size, 0.3, 0.75, 1.5),
            move |x| {
                Naive::from_fn(&x[0].shape, |i| {
                    let mut other = i.to_vec();
                    let mut sum = 0.0;
                    for k in 0..size {
                        let Some(c) = (i[1] + k).checked_sub(size / 2).filter(|&c| c < x[0].shape[1]) else { continue };
                        other[1] = c;
                        sum += x[0].at(&other).powi(2);
                    }
                    x[0].at(i) / (1.5 + 0.3 * sum / size as f64).powf(0.75)
                })
            },
        )
    };
    vec![case(&[2, 5, 2], 3), case(&[1, 4], 2), case(&[2, 3, 2, 2], 7), case(&[0, 3], 3)]
}

fn error(
    label: &'static str,
    kind: ErrorKind,
    message: &'static str,
    call: fn(&Tensor, &Tensor) -> Result<Tensor>,
) -> ErrorSample {
    ErrorSample::new(label, kind, message, move || {
        call(&sample_tensor(&[2, 3], 0.0, 1.0, 1), &sample_tensor(&[3], 0.0, 1.0, 2))
    })
}

const SUM: Reduction = Reduction::Sum;

pub(super) fn bce_errors() -> Vec<ErrorSample> {
    vec![
        error(
            "shape",
            ErrorKind::Shape,
            "binary_cross_entropy: expected a target of the shape of f64[2,3], got f64[3]",
            |x, y| x.binary_cross_entropy(y, SUM),
        ),
        error(
            "range",
            ErrorKind::Value,
            "binary_cross_entropy: expected probabilities from 0 to 1, got 1.5 at position [1]",
            |_, _| Tensor::from([0.5, 1.5]).binary_cross_entropy(&Tensor::from([0.0, 1.0]), SUM),
        ),
        error("weights", ErrorKind::Shape, "expected weights that broadcast to f64[2,3], got f64[2]", |x, _| {
            x.binary_cross_entropy(x, BinaryCrossEntropy::new().weight(&Tensor::from([1.0, 2.0])))
        }),
    ]
}

pub(super) fn poisson_errors() -> Vec<ErrorSample> {
    vec![error("shape", ErrorKind::Shape, "expected a target of the shape of f64[2,3], got f64[3]", |x, y| {
        x.poisson_nll_loss(y, true, SUM)
    })]
}

pub(super) fn gaussian_errors() -> Vec<ErrorSample> {
    vec![
        error(
            "var",
            ErrorKind::Shape,
            "gaussian_nll_loss: expected a var of the shape of f64[2,3], got f64[3]",
            |x, y| x.gaussian_nll_loss(x, y, 1e-6, SUM),
        ),
        error("eps", ErrorKind::Value, "expected a positive eps, got 0", |x, _| x.gaussian_nll_loss(x, x, 0.0, SUM)),
    ]
}

pub(super) fn soft_errors() -> Vec<ErrorSample> {
    vec![error("shape", ErrorKind::Shape, "soft_margin_loss: expected a target of the shape", |x, y| {
        x.soft_margin_loss(y, SUM)
    })]
}

pub(super) fn hinge_errors() -> Vec<ErrorSample> {
    vec![error("shape", ErrorKind::Shape, "hinge_embedding_loss: expected a target", |x, y| {
        x.hinge_embedding_loss(y, 1.0, SUM)
    })]
}

pub(super) fn ranking_errors() -> Vec<ErrorSample> {
    vec![error("shape", ErrorKind::Shape, "margin_ranking_loss: expected a second tensor", |x, y| {
        x.margin_ranking_loss(y, y, 1.0, SUM)
    })]
}

pub(super) fn cosine_loss_errors() -> Vec<ErrorSample> {
    vec![error(
        "target",
        ErrorKind::Shape,
        "expected rows [.., n] and a target [..], got f64[2,3] and f64[3]",
        |x, y| x.cosine_embedding_loss(x, y, 0.0, SUM),
    )]
}

pub(super) fn triplet_errors() -> Vec<ErrorSample> {
    vec![
        error(
            "shape",
            ErrorKind::Shape,
            "triplet_margin_loss: expected a negative of the shape of f64[2,3], got f64[3]",
            |x, y| x.triplet_margin_loss(x, y, 1.0, 2.0, SUM),
        ),
        error("p", ErrorKind::Value, "expected a number p, got NaN", |x, _| {
            x.triplet_margin_loss(x, x, 1.0, f64::NAN, SUM)
        }),
    ]
}

pub(super) fn multi_errors() -> Vec<ErrorSample> {
    vec![
        error(
            "shape",
            ErrorKind::Shape,
            "multi_margin_loss: expected targets of shape [2] for f64[2,3], got i64[1]",
            |x, _| x.multi_margin_loss(&Tensor::from([0i64]), 1.0, SUM),
        ),
        error("dtype", ErrorKind::Dtype, "expected targets of integers", |x, y| x.multi_margin_loss(y, 1.0, SUM)),
        error("range", ErrorKind::Index, "got 3 at position [1]", |x, _| {
            x.multi_margin_loss(&Tensor::from([0i64, 3]), 1.0, SUM)
        }),
    ]
}

pub(super) fn cosine_errors() -> Vec<ErrorSample> {
    vec![
        error("shape", ErrorKind::Shape, "cosine_similarity: shapes must broadcast", |x, _| {
            x.cosine_similarity(&Tensor::from([1.0, 2.0]), 0, 1e-8)
        }),
        error("dim", ErrorKind::Dim, "cosine_similarity: dim 2 is out of range for f64[2,3]", |x, y| {
            x.cosine_similarity(y, 2, 1e-8)
        }),
    ]
}

pub(super) fn distance_errors() -> Vec<ErrorSample> {
    vec![error("p", ErrorKind::Value, "pairwise_distance: expected a number p, got NaN", |x, y| {
        x.pairwise_distance(y, f64::NAN, 0.0, false)
    })]
}

pub(super) fn cdist_errors() -> Vec<ErrorSample> {
    vec![error(
        "rank",
        ErrorKind::Shape,
        "cdist: expected rows [.., m, n] and [.., r, n] of one size, got f64[2,3] and f64[3]",
        |x, y| x.cdist(y, 2.0),
    )]
}

pub(super) fn normalize_errors() -> Vec<ErrorSample> {
    vec![
        error("dim", ErrorKind::Dim, "normalize: dim 2 is out of range for f64[2,3]", |x, _| {
            x.normalize(2.0, 2, 1e-12)
        }),
        error("p", ErrorKind::Value, "expected a number p, got NaN", |x, _| x.normalize(f64::NAN, 0, 1e-12)),
    ]
}

pub(super) fn response_errors() -> Vec<ErrorSample> {
    vec![
        error("size", ErrorKind::Value, "local_response_norm: expected a size of at least 1, got 0", |x, _| {
            x.local_response_norm(0, 1.0, 1.0, 1.0)
        }),
        error("rank", ErrorKind::Shape, "expected [images, channels, ..], got f64[3]", |_, y| {
            y.local_response_norm(1, 1.0, 1.0, 1.0)
        }),
    ]
}
