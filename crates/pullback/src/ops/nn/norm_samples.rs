//! Samples of the normalisations.

use crate::ops::table::{ErrorSample, Naive, Sample, failing, sample_tensor};
use crate::{ErrorKind, Result, Tensor};

/// Weight and bias of inputs, where they exist.
type Affine<'a> = (Option<&'a Tensor>, Option<&'a Tensor>);

/// A sample of `x`, of further tensors, and of a weight and a bias of shape `own` if there are any.
fn case(
    label: impl Into<String>,
    x: &[usize],
    others: &[(&[usize], f64, f64)],
    call: impl Fn(&Tensor, &[Tensor]) -> Result<Vec<Tensor>> + Send + Sync + 'static,
    reference: impl Fn(&Naive, &[Naive]) -> Vec<Naive> + Send + Sync + 'static,
) -> Sample {
    let mut inputs = vec![sample_tensor(x, -2.0, 2.0, 1)];
    inputs.extend(others.iter().enumerate().map(|(k, (s, lo, hi))| sample_tensor(s, *lo, *hi, k as u64 + 2)));
    Sample::new(label, inputs, move |x| call(&x[0], &x[1..]))
        .reference(move |x| reference(&x[0], &x[1..]))
        .tolerance(1e-11)
}

/// Mean and variance of the elements that belong to the same set as `at`, told by `key`.
fn statistics(x: &Naive, at: &[usize], key: &dyn Fn(&[usize]) -> Vec<usize>) -> (f64, f64, usize) {
    let own = key(at);
    let mut all = Vec::new();
    Naive::from_fn(&x.shape, |i| {
        if key(i) == own {
            all.push(x.at(i));
        }
        0.0
    });
    let n = all.len();
    let mean = all.iter().sum::<f64>() / n as f64;
    (mean, all.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n as f64, n)
}

/// The normalised elements, with weight and bias at the dims that `place` picks of an index.
fn normalized(
    x: &Naive,
    eps: f64,
    key: &dyn Fn(&[usize]) -> Vec<usize>,
    affine: &[Naive],
    place: &dyn Fn(&[usize]) -> Vec<usize>,
) -> Naive {
    Naive::from_fn(&x.shape, |i| {
        let (mean, var, _) = statistics(x, i, key);
        let y = (x.at(i) - mean) / (var + eps).sqrt();
        let (w, b) = (affine.first().map_or(1.0, |w| w.at(&place(i))), affine.get(1).map_or(0.0, |b| b.at(&place(i))));
        y * w + b
    })
}

fn affine(others: &[Tensor]) -> Affine<'_> {
    (others.first(), others.get(1))
}

/// What of weight and bias there is.
fn some(shape: &'static [usize], n: usize) -> Vec<(&'static [usize], f64, f64)> {
    [(shape, -1.5, 1.5), (shape, -1.0, 1.0)][..n].to_vec()
}

type Layer = (&'static [usize], &'static [usize]);
const LAYERS: &[Layer] = &[(&[3, 5], &[5]), (&[2, 3, 4], &[3, 4]), (&[4], &[4]), (&[0, 3], &[3]), (&[2, 1, 19], &[19])];

pub(super) fn layer_norm() -> Vec<Sample> {
    let mut all = Vec::new();
    for (k, &(shape, layer)) in LAYERS.iter().enumerate() {
        let n = [2, 1, 0, 2, 2][k];
        let lead = shape.len() - layer.len();
        all.push(case(
            format!("{layer:?} of {shape:?}, {n} more"),
            shape,
            &some(layer, n),
            move |x, o| Ok(vec![x.layer_norm(layer, affine(o).0, affine(o).1, 0.1)?]),
            move |x, o| vec![normalized(x, 0.1, &|i| i[..lead].to_vec(), o, &|i| i[lead..].to_vec())],
        ));
    }
    all
}

pub(super) fn rms_norm() -> Vec<Sample> {
    let mut all = Vec::new();
    for (k, &(shape, layer)) in LAYERS.iter().enumerate() {
        let lead = shape.len() - layer.len();
        all.push(case(
            format!("{layer:?} of {shape:?}"),
            shape,
            &some(layer, (k + 1) % 2),
            move |x, o| Ok(vec![x.rms_norm(layer, o.first(), 0.1)?]),
            move |x, o| {
                vec![Naive::from_fn(&x.shape, |i| {
                    let key = |i: &[usize]| i[..lead].to_vec();
                    let (mean, var, _) = statistics(x, i, &key);
                    x.at(i) / (var + mean * mean + 0.1).sqrt() * o.first().map_or(1.0, |w| w.at(&i[lead..]))
                })]
            },
        ));
    }
    all
}

pub(super) fn group_norm() -> Vec<Sample> {
    let cases: &[(&[usize], usize, &[usize], usize)] =
        &[(&[2, 4, 3], 2, &[4], 2), (&[3, 6], 3, &[6], 1), (&[2, 2, 2, 2], 1, &[2], 0), (&[0, 4, 2], 2, &[4], 2)];
    cases
        .iter()
        .map(|&(shape, groups, channels, n)| {
            case(
                format!("{groups} groups of {shape:?}, {n} more"),
                shape,
                &some(channels, n),
                move |x, o| Ok(vec![x.group_norm(groups, affine(o).0, affine(o).1, 0.1)?]),
                move |x, o| {
                    let each = shape[1] / groups;
                    vec![normalized(x, 0.1, &move |i| vec![i[0], i[1] / each], o, &|i| vec![i[1]])]
                },
            )
        })
        .collect()
}

const IMAGES: &[(&[usize], &[usize], usize)] =
    &[(&[2, 3, 4], &[3], 2), (&[3, 2, 2, 2], &[2], 1), (&[2, 2, 3], &[2], 0), (&[0, 2, 3], &[2], 2)];

pub(super) fn instance_norm() -> Vec<Sample> {
    IMAGES
        .iter()
        .map(|&(shape, channels, n)| {
            case(
                format!("{shape:?}, {n} more"),
                shape,
                &some(channels, n),
                |x, o| Ok(vec![x.instance_norm(affine(o).0, affine(o).1, 0.1)?]),
                |x, o| vec![normalized(x, 0.1, &|i| i[..2].to_vec(), o, &|i| vec![i[1]])],
            )
        })
        .collect()
}

pub(super) fn batch_norm() -> Vec<Sample> {
    IMAGES
        .iter()
        .chain(&[(&[3, 2][..], &[2][..], 2)])
        .map(|&(shape, channels, n)| {
            let mut others = vec![(channels, -1.0, 1.0), (channels, 0.2, 2.0)];
            others.extend(some(channels, n));
            case(
                format!("{shape:?}, {n} more"),
                shape,
                &others,
                |x, o| Ok(vec![x.batch_norm(&o[0], &o[1], affine(&o[2..]).0, affine(&o[2..]).1, 0.1)?]),
                |x, o| {
                    vec![Naive::from_fn(&x.shape, |i| {
                        let [mean, var] = [0, 1].map(|k| o[k].data[i[1]]);
                        let (w, b) = (o.get(2).map_or(1.0, |w| w.data[i[1]]), o.get(3).map_or(0.0, |b| b.data[i[1]]));
                        (x.at(i) - mean) / (var + 0.1).sqrt() * w + b
                    })]
                },
            )
        })
        .collect()
}

pub(super) fn batch_norm_training() -> Vec<Sample> {
    let mut all = Vec::new();
    for &(shape, channels, n) in IMAGES[..3].iter().chain(&[(&[3, 2][..], &[2][..], 2), (&[4, 0][..], &[0][..], 2)]) {
        let mut others = vec![(channels, -1.0, 1.0), (channels, 0.2, 2.0)];
        others.extend(some(channels, n));
        // The running statistics have no derivative, so the elements are tested by themselves for theirs.
        for whole in [false, true] {
            let sample = case(
                format!("{shape:?}, {n} more{}", if whole { ", with statistics" } else { "" }),
                shape,
                &others,
                move |x, o| {
                    let (w, b) = affine(&o[2..]);
                    let (y, mean, var) = x.batch_norm_training(&o[0], &o[1], w, b, 0.3, 0.1)?;
                    Ok(if whole { vec![y, mean, var] } else { vec![y] })
                },
                move |x, o| {
                    let key = |i: &[usize]| vec![i[1]];
                    let mut out = vec![normalized(x, 0.1, &key, &o[2..], &key)];
                    if whole {
                        let of = |c: usize| {
                            let mut at = vec![0; x.shape.len()];
                            at[1] = c;
                            statistics(x, &at, &key)
                        };
                        out.push(Naive::from_fn(&o[0].shape, |c| 0.7 * o[0].at(c) + 0.3 * of(c[0]).0));
                        out.push(Naive::from_fn(&o[1].shape, |c| {
                            let (_, var, n) = of(c[0]);
                            0.7 * o[1].at(c) + 0.3 * var * n as f64 / (n - 1) as f64
                        }));
                    }
                    out
                },
            );
            all.push(if whole { sample.not_differentiable() } else { sample });
        }
    }
    all
}

fn two() -> Tensor {
    Tensor::from([1.0, 2.0])
}

pub(super) fn layer_norm_errors() -> Vec<ErrorSample> {
    vec![
        failing(
            "shape",
            ErrorKind::Shape,
            "layer_norm: expected a normalized_shape that is the end of the shape of f64[2,3], got [2]",
            &[2, 3],
            |x| x.layer_norm(&[2], None, None, 1e-5),
        ),
        failing("nothing", ErrorKind::Shape, "got []", &[2, 3], |x| x.layer_norm(&[], None, None, 1e-5)),
        failing(
            "weight",
            ErrorKind::Shape,
            "layer_norm: expected a weight of shape [3] for f64[2,3], got f64[2]",
            &[2, 3],
            |x| x.layer_norm(&[3], Some(&two()), None, 1e-5),
        ),
        failing("eps", ErrorKind::Value, "layer_norm: expected an eps that is not negative, got -1", &[2, 3], |x| {
            x.layer_norm(&[3], None, None, -1.0)
        }),
    ]
}

pub(super) fn rms_norm_errors() -> Vec<ErrorSample> {
    vec![failing("shape", ErrorKind::Shape, "rms_norm: expected a normalized_shape", &[2, 3], |x| {
        x.rms_norm(&[2], None, 0.0)
    })]
}

pub(super) fn group_norm_errors() -> Vec<ErrorSample> {
    vec![
        failing(
            "channels",
            ErrorKind::Shape,
            "group_norm: expected a multiple of 2 channels, got f64[2,3]",
            &[2, 3],
            |x| x.group_norm(2, None, None, 1e-5),
        ),
        failing("groups", ErrorKind::Value, "group_norm: expected at least one group, got 0", &[2, 3], |x| {
            x.group_norm(0, None, None, 1e-5)
        }),
        failing("rank", ErrorKind::Shape, "group_norm: expected [images, channels, ..], got f64[3]", &[3], |x| {
            x.group_norm(1, None, None, 1e-5)
        }),
    ]
}

pub(super) fn instance_norm_errors() -> Vec<ErrorSample> {
    vec![failing(
        "bias",
        ErrorKind::Shape,
        "instance_norm: expected a bias of shape [3] for f64[2,3,2], got f64[2]",
        &[2, 3, 2],
        |x| x.instance_norm(None, Some(&two()), 1e-5),
    )]
}

pub(super) fn batch_norm_errors() -> Vec<ErrorSample> {
    vec![failing(
        "mean",
        ErrorKind::Shape,
        "batch_norm: expected a mean of shape [3] for f64[2,3], got f64[2]",
        &[2, 3],
        |x| x.batch_norm(&two(), &two(), None, None, 1e-5),
    )]
}

pub(super) fn batch_norm_training_errors() -> Vec<ErrorSample> {
    let call = |x: &Tensor| Ok(x.batch_norm_training(&two(), &two(), None, None, 0.1, 1e-5)?.0);
    vec![
        failing(
            "one",
            ErrorKind::Shape,
            "batch_norm_training: expected at least 2 elements in each channel, got f64[1,2]",
            &[1, 2],
            call,
        ),
        failing(
            "channels",
            ErrorKind::Shape,
            "expected a running mean of shape [3] for f64[2,3], got f64[2]",
            &[2, 3],
            call,
        ),
    ]
}
