//! Samples of images at the places of a grid.

use super::{GridMode, GridPadding, GridSample};
use crate::ops::table::{ErrorSample, Naive, Sample, sample_tensor};
use crate::{ErrorKind, Result, Tensor};

/// The place of element `i`, which may lie beyond the ends, or nothing.
fn resolve(i: i64, n: i64, options: &GridSample) -> Option<usize> {
    if (0..n).contains(&i) {
        return Some(i as usize);
    }
    match options.padding {
        GridPadding::Zeros => None,
        GridPadding::Border => Some(i.clamp(0, n - 1) as usize),
        GridPadding::Reflection => {
            // One period of the mirrored image.
            let period = if options.align_corners { (2 * n - 2).max(1) } else { 2 * n };
            let k = i.rem_euclid(period);
            Some(if k < n {
                k
            } else if options.align_corners {
                period - k
            } else {
                period - 1 - k
            } as usize)
        }
    }
}

/// The weight of element `i` along a dimension of `n` elements at place `u`, by the definition of each mode.
fn weight(i: usize, n: usize, u: f64, options: &GridSample) -> f64 {
    let hat = |t: f64| match options.mode {
        GridMode::Nearest => f64::from(u8::from(t < 0.5)),
        GridMode::Linear => (1.0 - t).max(0.0),
        GridMode::Cubic if t <= 1.0 => 1.25 * t.powi(3) - 2.25 * t * t + 1.0,
        GridMode::Cubic if t < 2.0 => -0.75 * (t.powi(3) - 5.0 * t * t + 8.0 * t - 4.0),
        GridMode::Cubic => 0.0,
    };
    // Lines between mirrored elements are mirrored lines, and so are those beyond a border.
    (-40..40).filter(|&k| resolve(k, n as i64, options) == Some(i)).map(|k| hat((u - k as f64).abs())).sum()
}

fn naive(x: &[Naive], options: &GridSample) -> Vec<Naive> {
    let dims = x[0].shape.len() - 2;
    let mut shape = x[0].shape[..2].to_vec();
    shape.extend(&x[1].shape[1..=dims]);
    vec![Naive::from_fn(&shape, |at| {
        let place = |k: usize| {
            let (g, n) = (x[1].at(&[&at[..1], &at[2..], &[dims - 1 - k]].concat()), x[0].shape[k + 2] as f64);
            if options.align_corners { (g + 1.0) / 2.0 * (n - 1.0) } else { ((g + 1.0) * n - 1.0) / 2.0 }
        };
        let image = Naive::from_fn(&x[0].shape[2..], |i| {
            let weight: f64 =
                i.iter().enumerate().map(|(k, &i)| weight(i, x[0].shape[k + 2], place(k), options)).product();
            weight * x[0].at(&[&at[..2], i].concat())
        });
        image.data.iter().sum()
    })]
}

pub(super) fn grid_sample() -> Vec<Sample> {
    let mut all = Vec::new();
    let mut case = |x: &[usize], grid: &[usize], options: GridSample| {
        // Some of the places lie beyond the ends.
        let inputs = [sample_tensor(x, -1.0, 1.0, 1), sample_tensor(grid, -1.7, 1.6, 2)];
        all.push(
            Sample::one(format!("{x:?} {options:?}"), inputs, move |x| x[0].grid_sample(&x[1], &options))
                .reference(move |x| naive(x, &options))
                .tolerance(1e-11),
        );
    };
    for padding in [GridPadding::Zeros, GridPadding::Border, GridPadding::Reflection] {
        for align_corners in [false, true] {
            let options = GridSample::new().padding(padding).align_corners(align_corners);
            case(&[2, 1, 3, 4], &[2, 2, 2, 2], options);
            case(&[1, 2, 2, 3], &[1, 1, 3, 2], options.mode(GridMode::Nearest));
            case(&[1, 2, 4, 3], &[1, 2, 1, 2], options.mode(GridMode::Cubic));
            case(&[1, 1, 2, 3, 2], &[1, 1, 2, 1, 3], options);
        }
    }
    case(&[1, 1, 2, 2, 3], &[1, 2, 1, 1, 3], GridSample::new().mode(GridMode::Nearest));
    case(&[1, 0, 2, 3], &[1, 1, 2, 2], GridSample::new());
    case(&[1, 2, 2, 3], &[1, 0, 2, 2], GridSample::new());
    case(&[1, 1, 1, 1], &[1, 1, 2, 2], GridSample::new().padding(GridPadding::Reflection).align_corners(true));
    all
}

fn error(
    label: &str,
    kind: ErrorKind,
    message: &'static str,
    (x, grid): (&[usize], &[usize]),
    call: impl Fn(&Tensor, &Tensor) -> Result<Tensor> + Send + Sync + 'static,
) -> ErrorSample {
    let (x, grid) = (sample_tensor(x, 0.0, 1.0, 1), sample_tensor(grid, 0.0, 1.0, 2));
    ErrorSample::new(label, kind, message, move || call(&x, &grid))
}

pub(super) fn grid_sample_errors() -> Vec<ErrorSample> {
    let plain = |x: &Tensor, grid: &Tensor| x.grid_sample(grid, &GridSample::new());
    let fit = "expected a grid [1, .., 2] with 2 dimensions of places for images f64[1,1,2,2], got f64";
    vec![
        error(
            "rank",
            ErrorKind::Shape,
            "grid_sample: expected images [images, channels, ..] with two or three spatial dimensions, got f64[1,2,2]",
            (&[1, 2, 2], &[1, 2, 1]),
            plain,
        ),
        error("coordinates", ErrorKind::Shape, fit, (&[1, 1, 2, 2], &[1, 2, 2, 3]), plain),
        error("images", ErrorKind::Shape, fit, (&[1, 1, 2, 2], &[2, 2, 2, 2]), plain),
        error("dims", ErrorKind::Shape, fit, (&[1, 1, 2, 2], &[1, 2, 2]), plain),
        error(
            "empty",
            ErrorKind::Shape,
            "expected images with elements, got f64[1,1,0,2]",
            (&[1, 1, 0, 2], &[1, 2, 2, 2]),
            plain,
        ),
        error(
            "cubic volumes",
            ErrorKind::Value,
            "expected `Cubic` for two spatial dimensions only, got f64[1,1,2,2,2]",
            (&[1, 1, 2, 2, 2], &[1, 1, 1, 1, 3]),
            |x, grid| x.grid_sample(grid, &GridSample::new().mode(GridMode::Cubic)),
        ),
    ]
}

pub(super) fn affine_grid() -> Vec<Sample> {
    let case = |size: &'static [usize], align_corners: bool| {
        let dims = size.len() - 2;
        let theta = sample_tensor(&[size[0], dims, dims + 1], -1.0, 1.0, 1);
        Sample::one(format!("{size:?} {align_corners}"), [theta], move |x| x[0].affine_grid(size, align_corners))
            .reference(move |x| {
                let mut shape = vec![size[0]];
                shape.extend(&size[2..]);
                shape.push(dims);
                let place = |k: usize, n: usize| match (align_corners, n) {
                    (true, 1) => 0.0,
                    (true, n) => -1.0 + 2.0 / (n as f64 - 1.0) * k as f64,
                    (false, n) => -1.0 + (2.0 * k as f64 + 1.0) / n as f64,
                };
                vec![Naive::from_fn(&shape, |i| {
                    let (image, row) = (i[0], i[dims + 1]);
                    let linear: f64 =
                        (0..dims).map(|k| x[0].at(&[image, row, k]) * place(i[dims - k], size[1 + dims - k])).sum();
                    linear + x[0].at(&[image, row, dims])
                })]
            })
    };
    vec![
        case(&[2, 3, 2, 3], false),
        case(&[1, 1, 3, 2], true),
        case(&[1, 1, 1, 4], true),
        case(&[2, 1, 2, 1, 3], false),
        case(&[1, 2, 2, 3, 2], true),
        case(&[1, 1, 0, 2], false),
        case(&[0, 1, 2, 2], true),
    ]
}

pub(super) fn affine_grid_errors() -> Vec<ErrorSample> {
    let message = "affine_grid: expected maps [images, 2, 3] and a size of 4 numbers, or [images, 3, 4] and 5, with as many images, \
        got f64[1,2,3] and ";
    let error = |label: &str, size: &'static [usize]| {
        let theta = sample_tensor(&[1, 2, 3], 0.0, 1.0, 1);
        ErrorSample::new(label, ErrorKind::Shape, message, move || theta.affine_grid(size, false))
    };
    vec![error("images", &[2, 1, 3, 3]), error("dims", &[1, 1, 3, 3, 3]), error("short", &[1])]
}
