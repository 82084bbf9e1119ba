//! Images of other sizes.

use super::pool::imp::area;
use super::{PerDim, resample};
use crate::error::bail;
use crate::kernels::resample::Taps;
use crate::ops::reduce::to_float;
use crate::ops::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::{ErrorKind, Result, Tensor};

/// How [`interpolate`](Tensor::interpolate) finds the elements of the result.
///
/// ```
/// use pullback::{Tensor, nn::{Interpolate, InterpolateMode}};
/// let x = Tensor::from([[[0.0, 4.0]]]);
/// let up = Interpolate::to_size(4).mode(InterpolateMode::Linear);
/// assert_eq!(x.interpolate(&up)?.to_vec::<f64>()?, [0.0, 1.0, 3.0, 4.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InterpolateMode {
    /// The element in whose cell the lower end of the new cell lies.
    #[default]
    Nearest,
    /// The element in whose cell the middle of the new cell lies.
    NearestExact,
    /// Straight lines between elements along each dimension: PyTorch's `linear`, `bilinear` and `trilinear`.
    Linear,
    /// Cubic curves between elements along each dimension, with the parameter -0.75: PyTorch's `bicubic`, for any number of
    /// dimensions. Beyond the ends, the last element goes on.
    Cubic,
    /// The mean of all elements that the new cell touches: [`adaptive_avg_pool2d`](Tensor::adaptive_avg_pool2d).
    Area,
}

/// The size of the result, or how much larger it is.
#[derive(Clone, Debug, PartialEq)]
enum Target {
    Size(PerDim),
    Scale(Vec<f64>),
}

/// The options of [`interpolate`](Tensor::interpolate).
///
/// ```
/// use pullback::{DType, Tensor, nn::{Interpolate, InterpolateMode}};
/// let x = Tensor::ones(&[1, 3, 4, 6], DType::F32)?;
/// assert_eq!(x.interpolate(&Interpolate::by_scale(&[1.5]))?.shape(), [1, 3, 6, 9]);
/// let corners = Interpolate::to_size([7, 5]).mode(InterpolateMode::Linear).align_corners(true);
/// assert_eq!(x.interpolate(&corners)?.shape(), [1, 3, 7, 5]);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Interpolate {
    target: Target,
    mode: InterpolateMode,
    align_corners: bool,
    antialias: bool,
}

impl Interpolate {
    /// Images of the given size, to the nearest element.
    pub fn to_size(size: impl Into<PerDim>) -> Interpolate {
        Interpolate::to(Target::Size(size.into()))
    }

    /// Images larger by the given factors (one for each spatial dimension, or one for all), rounded down, to the nearest element. Places
    /// are computed with the factors, not with the sizes that were rounded.
    pub fn by_scale(scale: &[f64]) -> Interpolate {
        Interpolate::to(Target::Scale(scale.to_vec()))
    }

    fn to(target: Target) -> Interpolate {
        Interpolate { target, mode: InterpolateMode::Nearest, align_corners: false, antialias: false }
    }

    /// How elements are found.
    #[must_use]
    pub fn mode(mut self, mode: InterpolateMode) -> Interpolate {
        self.mode = mode;
        self
    }

    /// Whether the first and last elements of input and result are at the same places, for lines and curves; otherwise the ends of
    /// their cells are.
    #[must_use]
    pub fn align_corners(mut self, align_corners: bool) -> Interpolate {
        self.align_corners = align_corners;
        self
    }

    /// Whether all elements that a smaller image leaves out have a part in it, for lines and curves: these become wider by the factor by which
    /// the image becomes smaller, as in image libraries. Curves have the parameter -0.5 then, and where they reach beyond the ends, the
    /// weights of the elements are scaled to a sum of 1.
    ///
    /// ```
    /// use pullback::{Tensor, nn::{Interpolate, InterpolateMode}};
    /// let x = Tensor::from([[[0.0, 0.0, 9.0, 0.0, 0.0, 0.0]]]);
    /// let small = Interpolate::to_size(2).mode(InterpolateMode::Linear);
    /// assert_eq!(x.interpolate(&small)?.to_vec::<f64>()?, [0.0, 0.0]);
    /// let y = x.interpolate(&small.antialias(true))?.to_vec::<f64>()?;
    /// assert!(y[0] > 2.0 && y[1] > 0.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    #[must_use]
    pub fn antialias(mut self, antialias: bool) -> Interpolate {
        self.antialias = antialias;
        self
    }

    /// The size of the result along each of the dimensions of `input`, and the factor if one was given.
    fn sizes(&self, input: &[usize]) -> Result<Vec<(usize, Option<f64>)>> {
        let dims = input.len();
        match &self.target {
            Target::Size(size) => {
                Ok(size.positive("interpolate", "size", dims)?[3 - dims..].iter().map(|&n| (n, None)).collect())
            }
            Target::Scale(scale) => {
                if scale.len() != 1 && scale.len() != dims {
                    bail!(Arity, "interpolate: expected one scale or {dims}, got {}", scale.len());
                }
                let size = |(&n, &s): (&usize, &f64)| {
                    let size = n as f64 * s;
                    if !(1.0..1e15).contains(&size) {
                        bail!(
                            Value,
                            "interpolate: expected scales that leave at least one element, got {s} for {n} elements"
                        );
                    }
                    Ok((size as usize, Some(s)))
                };
                input.iter().zip(scale.iter().cycle()).map(size).collect()
            }
        }
    }
}

ops! { OPS;
    /// Images of another size.
    ///
    /// # Shapes
    /// `[images, channels, ..]` with one to three spatial dimensions, to the same with the sizes of the options.
    ///
    /// # Dtypes
    /// Floats; integers become `f32`.
    ///
    /// # Derivative
    /// Linear: each element gets the cotangents of those that it went into, times its weights.
    ///
    /// # Errors
    /// `Shape` for another number of dimensions or an image without elements; `Value` for a size of 0 or a scale that leaves none,
    /// and for `align_corners` and `antialias` in modes without lines; `Arity` for a wrong number of sizes or scales.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, nn::{Interpolate, InterpolateMode}};
    /// let x = Tensor::from([[[1.0, 2.0]]]);
    /// assert_eq!(x.interpolate(&Interpolate::by_scale(&[2.0]))?.to_vec::<f64>()?, [1.0, 1.0, 2.0, 2.0]);
    /// let line = Interpolate::to_size(3).mode(InterpolateMode::Linear).align_corners(true);
    /// assert_eq!(x.interpolate(&line)?.to_vec::<f64>()?, [1.0, 1.5, 2.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// Keys, "Cubic convolution interpolation for digital image processing", 1981.
    fn interpolate(&self, options: &Interpolate) -> Result<Tensor> = interpolate { samples: samples, errors: errors };
}

/// Which of `input` elements make element `k` of `output`, and how much of each.
fn taps(options: &Interpolate, k: usize, input: usize, (output, scale): (usize, Option<f64>)) -> Vec<(usize, f64)> {
    let (n, last) = (input as f64, input - 1);
    let step = scale.map_or(n / output as f64, |s| 1.0 / s);
    let clamp = |place: f64| if place <= 0.0 { 0 } else { (place as usize).min(last) };
    let middle = |k: usize| match options.align_corners {
        true if output == 1 => 0.0,
        true => k as f64 * (last as f64 / (output - 1) as f64),
        false => (k as f64 + 0.5) * step - 0.5,
    };
    if options.antialias {
        let step = match options.align_corners {
            true => last as f64 / (output.max(2) - 1) as f64,
            false => step,
        };
        return wide_taps(options.mode, middle(k), step.max(1.0), input);
    }
    match options.mode {
        InterpolateMode::Nearest => {
            let place = match scale {
                // Whole numbers where possible: a place at the border of two cells must not be rounded.
                None => (k as u128 * input as u128 / output as u128) as usize,
                Some(_) => clamp(k as f64 * step),
            };
            vec![(place.min(last), 1.0)]
        }
        InterpolateMode::NearestExact => {
            let place = match scale {
                None => ((2 * k as u128 + 1) * input as u128 / (2 * output as u128)) as usize,
                Some(_) => clamp((k as f64 + 0.5) * step),
            };
            vec![(place.min(last), 1.0)]
        }
        InterpolateMode::Linear => {
            let place = middle(k).max(0.0);
            let below = clamp(place);
            let part = (place - below as f64).min(1.0);
            if below == last { vec![(last, 1.0)] } else { vec![(below, 1.0 - part), (below + 1, part)] }
        }
        InterpolateMode::Cubic | InterpolateMode::Area => {
            let place = middle(k);
            let (below, part) = (place.floor(), place - place.floor());
            const A: f64 = -0.75;
            let near = |t: f64| ((A + 2.0) * t - (A + 3.0)) * t * t + 1.0;
            let far = |t: f64| ((A * t - 5.0 * A) * t + 8.0 * A) * t - 4.0 * A;
            let weights = [far(1.0 + part), near(part), near(1.0 - part), far(2.0 - part)];
            (-1..3).zip(weights).map(|(d, w)| (clamp(below + f64::from(d)), w)).collect()
        }
    }
}

/// The elements around `place`, weighted by a line or curve that is `width` times as wide as usual.
fn wide_taps(mode: InterpolateMode, place: f64, width: f64, input: usize) -> Vec<(usize, f64)> {
    let reach = width * if mode == InterpolateMode::Linear { 1.0 } else { 2.0 };
    let first = (place - reach).ceil().max(0.0) as usize;
    let end = ((place + reach).floor() + 1.0).clamp(0.0, input as f64) as usize;
    let weight = |k: usize| match ((k as f64 - place) / width).abs() {
        t if mode == InterpolateMode::Linear => (1.0 - t).max(0.0),
        t if t < 1.0 => (1.5 * t - 2.5) * t * t + 1.0,
        t if t < 2.0 => ((-0.5 * t + 2.5) * t - 4.0) * t + 2.0,
        _ => 0.0,
    };
    let sum: f64 = (first..end).map(weight).sum();
    (first..end).map(|k| (k, weight(k) / sum)).filter(|&(_, w)| w != 0.0).collect()
}

fn interpolate(x: &Tensor, options: &Interpolate) -> Result<Tensor> {
    let (op, lines) = ("interpolate", matches!(options.mode, InterpolateMode::Linear | InterpolateMode::Cubic));
    if !(3..=5).contains(&x.rank()) {
        bail!(
            Shape,
            "{op}: expected images [images, channels, ..] with one to three spatial dimensions, got {}",
            x.ty()
        );
    }
    if options.align_corners && !lines {
        bail!(Value, "{op}: expected `align_corners` with lines or curves only, got it with {:?}", options.mode);
    }
    if options.antialias && !lines {
        bail!(Value, "{op}: expected `antialias` with lines or curves only, got it with {:?}", options.mode);
    }
    if x.shape()[2..].contains(&0) {
        bail!(Shape, "{op}: expected images with elements, got {}", x.ty());
    }
    let x = to_float(x)?;
    let sizes = options.sizes(&x.shape()[2..])?;
    let mut shape = crate::Shape::from_slice(&x.shape()[..2]);
    shape.extend(sizes.iter().map(|s| s.0));
    crate::tensor::checked_numel(op, &shape)?;
    if x.numel() == 0 {
        return resample::of_nothing(&x, 2, &shape);
    }
    if options.mode == InterpolateMode::Area {
        return area(op, &x, &shape[2..]);
    }
    let mut out = x;
    for (d, &size) in sizes.iter().enumerate() {
        let n = out.shape()[d + 2];
        out = resample::apply(&out, d + 2, Taps::new(n, (0..size.0).map(|k| taps(options, k, n, size))))?;
    }
    Ok(out)
}

/// The weight of input element `i` for element `k` of the result, by the definition of each mode.
fn naive_weight(options: &Interpolate, i: usize, k: usize, n: usize, (size, scale): (usize, Option<f64>)) -> f64 {
    let one = |place: f64| f64::from(u8::from((place.floor().max(0.0) as usize).min(n - 1) == i));
    let step = scale.map_or(n as f64 / size as f64, |s| 1.0 / s);
    let middle = match options.align_corners {
        true => k as f64 * (n - 1) as f64 / (size.max(2) - 1) as f64,
        false => (k as f64 + 0.5) * step - 0.5,
    };
    if options.antialias {
        let step = match options.align_corners {
            true => (n - 1) as f64 / (size.max(2) - 1) as f64,
            false => step,
        };
        let weight = |i: usize| match (i as f64 - middle).abs() / step.max(1.0) {
            t if options.mode == InterpolateMode::Linear => (1.0 - t).max(0.0),
            t if t <= 1.0 => 1.5 * t.powi(3) - 2.5 * t * t + 1.0,
            t if t < 2.0 => -0.5 * (t.powi(3) - 5.0 * t * t + 8.0 * t - 4.0),
            _ => 0.0,
        };
        return weight(i) / (0..n).map(weight).sum::<f64>();
    }
    match options.mode {
        InterpolateMode::Nearest => one(k as f64 * step + 1e-9),
        InterpolateMode::NearestExact => one((k as f64 + 0.5) * step + 1e-9),
        // A hat around each element.
        InterpolateMode::Linear => (1.0 - (middle.clamp(0.0, (n - 1) as f64) - i as f64).abs()).max(0.0),
        InterpolateMode::Cubic => (-9i32..n as i32 + 9)
            .filter(|&j| j.clamp(0, n as i32 - 1) == i as i32)
            .map(|j| match (middle - f64::from(j)).abs() {
                t if t <= 1.0 => 1.25 * t.powi(3) - 2.25 * t * t + 1.0,
                t if t < 2.0 => -0.75 * (t.powi(3) - 5.0 * t * t + 8.0 * t - 4.0),
                _ => 0.0,
            })
            .sum(),
        InterpolateMode::Area => {
            let (start, end) = (k * n / size, ((k + 1) * n).div_ceil(size));
            if (start..end).contains(&i) { 1.0 / (end - start) as f64 } else { 0.0 }
        }
    }
}

fn samples() -> Vec<Sample> {
    let case = |shape: &'static [usize], options: Interpolate| {
        let label = format!("{shape:?} {options:?}");
        Sample::one(label, [sample_tensor(shape, -1.0, 1.0, 1)], {
            let options = options.clone();
            move |x| x[0].interpolate(&options)
        })
        .reference(move |x| {
            let mut now = x[0].clone();
            for (d, size) in options.sizes(&shape[2..]).expect("valid options").into_iter().enumerate() {
                let mut next = now.shape.clone();
                next[d + 2] = size.0;
                now = Naive::from_fn(&next, |at| {
                    let mut from = at.to_vec();
                    (0..now.shape[d + 2])
                        .map(|i| {
                            from[d + 2] = i;
                            now.at(&from) * naive_weight(&options, i, at[d + 2], now.shape[d + 2], size)
                        })
                        .sum()
                });
            }
            vec![now]
        })
    };
    let mut all = Vec::new();
    use InterpolateMode::{Area, Cubic, Linear, Nearest, NearestExact};
    for mode in [Nearest, NearestExact, Linear, Cubic, Area] {
        all.push(case(&[1, 2, 4], Interpolate::to_size(7).mode(mode)));
        all.push(case(&[2, 1, 5, 4], Interpolate::to_size([3, 6]).mode(mode)));
        all.push(case(&[1, 1, 3, 5], Interpolate::by_scale(&[1.7, 0.6]).mode(mode)));
        if [Linear, Cubic].contains(&mode) {
            all.push(case(&[1, 2, 4, 3], Interpolate::to_size([7, 1]).mode(mode).align_corners(true)));
        }
    }
    for mode in [Linear, Cubic] {
        let smooth = |options: Interpolate| options.mode(mode).antialias(true);
        all.push(case(&[1, 1, 7, 3], smooth(Interpolate::to_size([3, 5]))));
        all.push(case(&[1, 2, 9], smooth(Interpolate::by_scale(&[0.3]))));
        all.push(case(&[1, 1, 8, 5], smooth(Interpolate::to_size([3, 1]).align_corners(true))));
    }
    all.push(case(&[1, 1, 2, 3, 2], Interpolate::to_size([3, 2, 4]).mode(Linear)));
    all.push(case(&[0, 2, 4], Interpolate::to_size(2).mode(Linear)));
    all
}

fn errors() -> Vec<ErrorSample> {
    let error = |label: &'static str, kind, message, shape: &[usize], options: Interpolate| {
        let x = sample_tensor(shape, 0.0, 1.0, 1);
        ErrorSample::new(label, kind, message, move || x.interpolate(&options))
    };
    vec![
        error(
            "rank",
            ErrorKind::Shape,
            "interpolate: expected images [images, channels, ..] with one to three spatial dimensions, \
            got f64[2,3]",
            &[2, 3],
            Interpolate::to_size(2),
        ),
        error(
            "empty",
            ErrorKind::Shape,
            "expected images with elements, got f64[1,2,0]",
            &[1, 2, 0],
            Interpolate::to_size(2),
        ),
        error(
            "size",
            ErrorKind::Value,
            "interpolate: expected `size` of at least 1, got 0",
            &[1, 2, 3],
            Interpolate::to_size(0),
        ),
        error(
            "scale",
            ErrorKind::Value,
            "expected scales that leave at least one element, got 0.1 for 3 elements",
            &[1, 2, 3],
            Interpolate::by_scale(&[0.1]),
        ),
        error(
            "arity",
            ErrorKind::Arity,
            "interpolate: expected one scale or 1, got 2",
            &[1, 2, 3],
            Interpolate::by_scale(&[1.0, 2.0]),
        ),
        error(
            "corners",
            ErrorKind::Value,
            "expected `align_corners` with lines or curves only, got it with Nearest",
            &[1, 2, 3],
            Interpolate::to_size(2).align_corners(true),
        ),
        error(
            "antialias",
            ErrorKind::Value,
            "expected `antialias` with lines or curves only, got it with Area",
            &[1, 2, 3],
            Interpolate::to_size(2).mode(InterpolateMode::Area).antialias(true),
        ),
    ]
}
