//! Samples of pooling.

use super::{AvgPool, MaxPool};
use crate::ops::table::{ErrorSample, Kink, Naive, Sample, failing, sample_tensor};
use crate::{ErrorKind, Result, Tensor};

const SHAPES1: &[&[usize]] = &[&[2, 3, 6], &[5], &[0, 6]];

pub(super) fn max_pool1d() -> Vec<Sample> {
    maxima(1, SHAPES1, |x, o| Ok(vec![x.max_pool1d(o)?]))
}
pub(super) fn max_pool1d_with_indices() -> Vec<Sample> {
    maxima(1, SHAPES1, |x, o| {
        let (values, places) = x.max_pool1d_with_indices(o)?;
        Ok(vec![values, places])
    })
}
pub(super) fn max_kinks1() -> Vec<Kink> {
    max_kinks(1, |x| x.max_pool1d(&MaxPool::new(2)))
}
pub(super) fn avg_pool1d() -> Vec<Sample> {
    means(1, SHAPES1, Tensor::avg_pool1d)
}
pub(super) fn adaptive_avg_pool1d() -> Vec<Sample> {
    adaptive(1, SHAPES1, |x, n| x.adaptive_avg_pool1d(n), false)
}
pub(super) fn adaptive_max_pool1d() -> Vec<Sample> {
    adaptive(1, SHAPES1, |x, n| x.adaptive_max_pool1d(n), true)
}

const SHAPES2: &[&[usize]] = &[&[2, 5, 6], &[5, 5], &[0, 6, 5]];

pub(super) fn max_pool2d() -> Vec<Sample> {
    maxima(2, SHAPES2, |x, o| Ok(vec![x.max_pool2d(o)?]))
}
pub(super) fn max_pool2d_with_indices() -> Vec<Sample> {
    maxima(2, SHAPES2, |x, o| {
        let (values, places) = x.max_pool2d_with_indices(o)?;
        Ok(vec![values, places])
    })
}
pub(super) fn max_kinks2() -> Vec<Kink> {
    max_kinks(2, |x| x.max_pool2d(&MaxPool::new(2)))
}
pub(super) fn avg_pool2d() -> Vec<Sample> {
    means(2, SHAPES2, Tensor::avg_pool2d)
}
pub(super) fn adaptive_avg_pool2d() -> Vec<Sample> {
    adaptive(2, SHAPES2, |x, n| x.adaptive_avg_pool2d(n), false)
}
pub(super) fn adaptive_max_pool2d() -> Vec<Sample> {
    adaptive(2, SHAPES2, |x, n| x.adaptive_max_pool2d(n), true)
}

const SHAPES3: &[&[usize]] = &[&[2, 4, 5, 6], &[0, 4, 5, 5]];

pub(super) fn max_pool3d() -> Vec<Sample> {
    maxima(3, SHAPES3, |x, o| Ok(vec![x.max_pool3d(o)?]))
}
pub(super) fn max_pool3d_with_indices() -> Vec<Sample> {
    maxima(3, SHAPES3, |x, o| {
        let (values, places) = x.max_pool3d_with_indices(o)?;
        Ok(vec![values, places])
    })
}
pub(super) fn max_kinks3() -> Vec<Kink> {
    max_kinks(3, |x| x.max_pool3d(&MaxPool::new(2)))
}
pub(super) fn avg_pool3d() -> Vec<Sample> {
    means(3, SHAPES3, Tensor::avg_pool3d)
}
pub(super) fn adaptive_avg_pool3d() -> Vec<Sample> {
    adaptive(3, SHAPES3, |x, n| x.adaptive_avg_pool3d(n), false)
}
pub(super) fn adaptive_max_pool3d() -> Vec<Sample> {
    adaptive(3, SHAPES3, |x, n| x.adaptive_max_pool3d(n), true)
}

/// The elements of a window along one dimension.
type Window = Vec<usize>;

/// The elements of each window over the last dims, in row-major order, with their places in the image.
fn windows(x: &Naive, dims: usize, of: &[Vec<Window>]) -> (Vec<usize>, Vec<Vec<(usize, f64)>>) {
    let (lead, sizes) = x.shape.split_at(x.shape.len() - dims);
    let shape: Vec<usize> = lead.iter().copied().chain(of.iter().map(Vec::len)).collect();
    let mut all = Vec::new();
    Naive::from_fn(&shape, |at| {
        let mut places = vec![0];
        for d in 0..dims {
            let own = &of[d][at[lead.len() + d]];
            places = places.iter().flat_map(|p| own.iter().map(move |i| p * sizes[d] + i)).collect();
        }
        let plane = at[..lead.len()].iter().zip(lead).fold(0, |flat, (i, n)| flat * n + i);
        let volume: usize = sizes.iter().product();
        all.push(places.into_iter().map(|p| (p, x.data[plane * volume + p])).collect());
        0.0
    });
    (shape, all)
}

/// The windows of one number for all dims.
fn slid(x: &Naive, dims: usize, [kernel, stride, padding, dilation]: [usize; 4], ceil: bool) -> Vec<Vec<Window>> {
    x.shape[x.shape.len() - dims..]
        .iter()
        .map(|&size| {
            let room = size + 2 * padding - dilation * (kernel - 1) - 1;
            let mut count = if ceil { room.div_ceil(stride) } else { room / stride } + 1;
            if ceil && (count - 1) * stride >= size + padding {
                count -= 1;
            }
            (0..count)
                .map(|k| {
                    (0..kernel)
                        .filter_map(|t| (k * stride + t * dilation).checked_sub(padding).filter(|&i| i < size))
                        .collect()
                })
                .collect()
        })
        .collect()
}

const MAXIMA: &[([usize; 4], bool)] =
    &[([2, 2, 0, 1], false), ([3, 2, 1, 1], false), ([2, 1, 1, 2], false), ([2, 3, 1, 1], true), ([3, 2, 0, 1], true)];

fn maxima(dims: usize, shapes: &[&[usize]], call: fn(&Tensor, &MaxPool) -> Result<Vec<Tensor>>) -> Vec<Sample> {
    let mut all = Vec::new();
    for (shape, &(numbers, ceil)) in shapes.iter().cycle().zip(MAXIMA) {
        let [kernel, stride, padding, dilation] = numbers;
        let options = MaxPool::new(kernel).stride(stride).padding(padding).dilation(dilation).ceil_mode(ceil);
        let x = sample_tensor(shape, -1.0, 1.0, 1);
        let outputs = call(&x, &options).map_or(1, |o| o.len());
        all.push(Sample::new(format!("{shape:?}, {options:?}"), [x], move |x| call(&x[0], &options)).reference(
            move |x| {
                let (shape, windows) = windows(&x[0], dims, &slid(&x[0], dims, numbers, ceil));
                let best = windows.iter().map(|w| w.iter().fold(w[0], |best, &e| if e.1 > best.1 { e } else { best }));
                let (places, values) = best.map(|(place, value)| (place as f64, value)).unzip();
                let mut both = vec![Naive { shape: shape.clone(), data: values }, Naive { shape, data: places }];
                both.truncate(outputs);
                both
            },
        ));
    }
    all
}

fn max_kinks(dims: usize, call: fn(&Tensor) -> Result<Tensor>) -> Vec<Kink> {
    let n = 2usize.pow(dims as u32);
    let x = Tensor::from(vec![1.0; n]).reshape_to(&vec![2; dims]).expect("as many elements");
    let mut first = vec![0.0; n];
    first[0] = 1.0;
    vec![Kink::new("equal elements", x, first, call)]
}

fn means(dims: usize, shapes: &[&[usize]], call: fn(&Tensor, &AvgPool) -> Result<Tensor>) -> Vec<Sample> {
    let mut all = Vec::new();
    let cases: &[([usize; 3], bool, bool, Option<usize>)] = &[
        ([2, 2, 0], false, true, None),
        ([3, 2, 1], false, true, None),
        ([3, 2, 1], true, false, None),
        ([2, 3, 1], true, true, None),
        ([2, 1, 1], false, true, Some(3)),
        ([3, 3, 1], true, true, None),
    ];
    for (shape, &([kernel, stride, padding], ceil, include, divisor)) in shapes.iter().cycle().zip(cases) {
        let mut options =
            AvgPool::new(kernel).stride(stride).padding(padding).ceil_mode(ceil).count_include_pad(include);
        if let Some(divisor) = divisor {
            options = options.divisor_override(divisor);
        }
        let x = sample_tensor(shape, -1.0, 1.0, 1);
        all.push(Sample::one(format!("{shape:?}, {options:?}"), [x], move |x| call(&x[0], &options)).reference(
            move |x| {
                let own = slid(&x[0], dims, [kernel, stride, padding, 1], ceil);
                let (shape, windows) = windows(&x[0], dims, &own);
                let sizes = &x[0].shape[x[0].shape.len() - dims..];
                let sums =
                    Naive { shape: shape.clone(), data: windows.iter().map(|w| w.iter().map(|e| e.1).sum()).collect() };
                vec![Naive::from_fn(&shape, |at| {
                    let counts = (0..dims).map(|d| {
                        let k = at[at.len() - dims + d];
                        let padded = (k * stride + kernel).min(sizes[d] + 2 * padding) - k * stride;
                        if include { padded } else { own[d][k].len() }
                    });
                    sums.at(at) / divisor.unwrap_or(counts.product()) as f64
                })]
            },
        ));
    }
    all
}

fn adaptive(
    dims: usize,
    shapes: &[&[usize]],
    call: fn(&Tensor, usize) -> Result<Tensor>,
    largest: bool,
) -> Vec<Sample> {
    let mut all = Vec::new();
    for (shape, n) in shapes.iter().cycle().zip([1, 2, 3, 4, 7]) {
        let x = sample_tensor(shape, -1.0, 1.0, 1);
        all.push(Sample::one(format!("{shape:?} to {n}"), [x], move |x| call(&x[0], n)).reference(move |x| {
            let own: Vec<Vec<Window>> = x[0].shape[x[0].shape.len() - dims..]
                .iter()
                .map(|&size| (0..n).map(|k| (k * size / n..((k + 1) * size).div_ceil(n)).collect()).collect())
                .collect();
            let (shape, windows) = windows(&x[0], dims, &own);
            let of = |w: &Vec<(usize, f64)>| match largest {
                true => w.iter().fold(f64::NEG_INFINITY, |m, e| m.max(e.1)),
                false => w.iter().map(|e| e.1).sum::<f64>() / w.len() as f64,
            };
            vec![Naive { shape, data: windows.iter().map(of).collect() }]
        }));
    }
    all
}

pub(super) fn max_errors() -> Vec<ErrorSample> {
    vec![
        failing(
            "rank",
            ErrorKind::Shape,
            "max_pool2d: expected at least 2 spatial dimensions, got f64[3]",
            &[3],
            |x| x.max_pool2d(&MaxPool::new(2)),
        ),
        failing(
            "fit",
            ErrorKind::Shape,
            "expected a window that fits into the padded input, got size 3 with dilation 2 for \
            2 + 2 elements in spatial dimension 1",
            &[4, 5, 2],
            |x| x.max_pool2d(&MaxPool::new(3).dilation(2).padding(1)),
        ),
        failing(
            "padding",
            ErrorKind::Value,
            "max_pool1d: expected a padding of at most half of the kernel, got 2 and kernel 3",
            &[4],
            |x| x.max_pool1d(&MaxPool::new(3).padding(2)),
        ),
        failing("between", ErrorKind::Value, "expected windows with at least one element each", &[2], |x| {
            x.max_pool1d(&MaxPool::new(2).padding(1).dilation(3).stride(1))
        }),
        failing("kernel", ErrorKind::Value, "max_pool1d: expected `kernel` of at least 1, got 0", &[2], |x| {
            x.max_pool1d(&MaxPool::new(0))
        }),
        failing("arity", ErrorKind::Arity, "max_pool1d: expected one number or 1 for `kernel`, got 2", &[2], |x| {
            x.max_pool1d(&MaxPool::new([1, 1]))
        }),
    ]
}

pub(super) fn indices_errors() -> Vec<ErrorSample> {
    vec![failing("fit", ErrorKind::Shape, "max_pool1d_with_indices: expected a window that fits", &[2], |x| {
        Ok(x.max_pool1d_with_indices(&MaxPool::new(3))?.0)
    })]
}

pub(super) fn avg_errors() -> Vec<ErrorSample> {
    vec![
        failing("fit", ErrorKind::Shape, "avg_pool1d: expected a window that fits into the padded input", &[2], |x| {
            x.avg_pool1d(&AvgPool::new(3))
        }),
        failing("divisor", ErrorKind::Value, "avg_pool1d: expected a divisor_override that is not 0", &[2], |x| {
            x.avg_pool1d(&AvgPool::new(2).divisor_override(0))
        }),
        failing("stride", ErrorKind::Value, "avg_pool1d: expected `stride` of at least 1, got 0", &[2], |x| {
            x.avg_pool1d(&AvgPool::new(2).stride(0))
        }),
    ]
}

pub(super) fn adaptive_errors() -> Vec<ErrorSample> {
    vec![
        failing("zero", ErrorKind::Value, "adaptive_avg_pool1d: expected `size` of at least 1, got 0", &[2], |x| {
            x.adaptive_avg_pool1d(0)
        }),
        failing("empty", ErrorKind::Shape, "expected elements in spatial dimension 1, got none", &[2, 0], |x| {
            x.adaptive_avg_pool2d(1)
        }),
    ]
}

pub(super) fn adaptive_max_errors() -> Vec<ErrorSample> {
    vec![failing(
        "empty",
        ErrorKind::Shape,
        "adaptive_max_pool1d: expected elements in spatial dimension 0, got none",
        &[0],
        |x| x.adaptive_max_pool1d(1),
    )]
}
