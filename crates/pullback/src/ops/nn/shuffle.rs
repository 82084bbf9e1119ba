//! Channels made of pixels, pixels made of channels, and channels in another order.

use crate::error::bail;
use crate::ops::table::{ErrorSample, Naive, Sample, failing, ops, sample_tensor};
use crate::shape::Shape;
use crate::{ErrorKind, Result, Tensor};

ops! { OPS;
    /// Images that are `factor` times as high and wide, each square of `factor²` pixels taken from as many channels.
    ///
    /// # Shapes
    /// `[.., channels·factor², height, width]` to `[.., channels, height·factor, width·factor]`.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// Tangents and cotangents move with their elements.
    ///
    /// # Errors
    /// `Shape` if there are too few dimensions or the number of channels is no multiple of `factor²`; `Value` if `factor` is 0.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[[1]], [[2]], [[3]], [[4]]]);
    /// let y = x.pixel_shuffle(2)?;
    /// assert_eq!((y.shape(), y.to_vec::<i32>()?), (&[1, 2, 2][..], vec![1, 2, 3, 4]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// Shi et al., "Real-time single image and video super-resolution using an efficient sub-pixel convolutional neural network", 2016.
    fn pixel_shuffle(&self, factor: usize) -> Result<Tensor> = pixel_shuffle {
        samples: shuffle_samples, errors: shuffle_errors,
        python: pixel_shuffle(factor as upscale_factor)
    };

    /// Undoes [`pixel_shuffle`](Tensor::pixel_shuffle): each pixel of a square of `factor²` goes to a channel of its own.
    ///
    /// # Shapes
    /// `[.., channels, height·factor, width·factor]` to `[.., channels·factor², height, width]`.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// Tangents and cotangents move with their elements.
    ///
    /// # Errors
    /// `Shape` if there are too few dimensions or height or width is no multiple of `factor`; `Value` if `factor` is 0.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[[1, 2], [3, 4]]]);
    /// let y = x.pixel_unshuffle(2)?;
    /// assert_eq!((y.shape(), y.to_vec::<i32>()?), (&[4, 1, 1][..], vec![1, 2, 3, 4]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn pixel_unshuffle(&self, factor: usize) -> Result<Tensor> = pixel_unshuffle {
        samples: unshuffle_samples, errors: unshuffle_errors,
        python: pixel_unshuffle(factor as downscale_factor)
    };

    /// The channels in another order: those of `groups` equal groups in turn, the first of each, then the second of each.
    ///
    /// # Shapes
    /// `[images, channels, ..]` to the same.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// Tangents and cotangents move with their elements.
    ///
    /// # Errors
    /// `Shape` if there is no dimension of channels or their number is no multiple of `groups`; `Value` if `groups` is 0.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1, 2, 3, 4]]);
    /// assert_eq!(x.channel_shuffle(2)?.to_vec::<i32>()?, [1, 3, 2, 4]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// Zhang et al., "ShuffleNet: an extremely efficient convolutional neural network for mobile devices", 2018.
    fn channel_shuffle(&self, groups: usize) -> Result<Tensor> = channel_shuffle { samples: channel_samples, errors: channel_errors };
}

/// The leading dimensions, channels, height and width.
fn parts<'a>(op: &str, x: &'a Tensor, factor: usize) -> Result<(&'a [usize], [usize; 3])> {
    let Some(lead) = x.rank().checked_sub(3) else {
        bail!(Shape, "{op}: expected images [.., channels, height, width], got {}", x.ty());
    };
    if factor == 0 {
        bail!(Value, "{op}: expected a factor of at least 1, got 0");
    }
    let (lead, last) = x.shape().split_at(lead);
    Ok((lead, [last[0], last[1], last[2]]))
}

/// `x` as `split`, with the last dimensions in the given order, as `joined`, all behind `lead`.
fn rearranged(
    op: &str,
    x: &Tensor,
    lead: &[usize],
    split: &[usize],
    order: &[usize],
    joined: &[usize],
) -> Result<Tensor> {
    let split = [lead, split].concat();
    // Without elements any factor divides all sizes.
    crate::tensor::checked_numel(op, &split)?;
    let order: Vec<isize> = (0..lead.len()).chain(order.iter().map(|d| lead.len() + d)).map(|d| d as isize).collect();
    x.reshape_to(&split)?.permute(&order)?.reshape_to(&[lead, joined].concat())
}

fn pixel_shuffle(x: &Tensor, factor: usize) -> Result<Tensor> {
    let (lead, [c, h, w]) = parts("pixel_shuffle", x, factor)?;
    let square = factor.saturating_mul(factor);
    if !c.is_multiple_of(square) {
        bail!(Shape, "pixel_shuffle: expected a multiple of {square} channels, got {}", x.ty());
    }
    let c = c / square;
    let joined = [c, h.saturating_mul(factor), w.saturating_mul(factor)];
    rearranged("pixel_shuffle", x, lead, &[c, factor, factor, h, w], &[0, 3, 1, 4, 2], &joined)
}

fn pixel_unshuffle(x: &Tensor, factor: usize) -> Result<Tensor> {
    let (lead, [c, h, w]) = parts("pixel_unshuffle", x, factor)?;
    if !h.is_multiple_of(factor) || !w.is_multiple_of(factor) {
        bail!(Shape, "pixel_unshuffle: expected height and width that are multiples of {factor}, got {}", x.ty());
    }
    let (h, w) = (h / factor, w / factor);
    let joined = [factor.saturating_mul(factor).saturating_mul(c), h, w];
    rearranged("pixel_unshuffle", x, lead, &[c, h, factor, w, factor], &[0, 2, 4, 1, 3], &joined)
}

fn channel_shuffle(x: &Tensor, groups: usize) -> Result<Tensor> {
    let &[images, channels, ref rest @ ..] = x.shape() else {
        bail!(Shape, "channel_shuffle: expected [images, channels, ..], got {}", x.ty());
    };
    if groups == 0 {
        bail!(Value, "channel_shuffle: expected at least one group, got 0");
    }
    if !channels.is_multiple_of(groups) {
        bail!(Shape, "channel_shuffle: expected a multiple of {groups} channels, got {}", x.ty());
    }
    // Without channels there is nothing in any number of groups.
    let groups = if channels == 0 { 1 } else { groups };
    let mut split = Shape::from_slice(&[images, groups, channels / groups]);
    split.extend_from_slice(rest);
    x.reshape_to(&split)?.transpose(1, 2)?.reshape_to(x.shape())
}

/// A sample whose elements come from where `from` says.
fn case(
    shape: &'static [usize],
    n: usize,
    call: fn(&Tensor, usize) -> Result<Tensor>,
    from: fn(&[usize], usize, &[usize]) -> (Vec<usize>, Vec<Vec<usize>>),
) -> Sample {
    Sample::one(format!("{shape:?} by {n}"), [sample_tensor(shape, -1.0, 1.0, 1)], move |x| call(&x[0], n)).reference(
        move |x| {
            let (shape, _) = from(shape, n, &[]);
            vec![Naive::from_fn(&shape, |at| x[0].at(&from(&x[0].shape, n, at).1[0]))]
        },
    )
}

fn shuffle_samples() -> Vec<Sample> {
    let from = |shape: &[usize], r: usize, at: &[usize]| {
        let k = shape.len() - 3;
        let mut out = shape.to_vec();
        (out[k], out[k + 1], out[k + 2]) = (shape[k] / r / r, shape[k + 1] * r, shape[k + 2] * r);
        let found = (!at.is_empty()).then(|| {
            let (c, h, w) = (at[k], at[k + 1], at[k + 2]);
            [&at[..k], &[c * r * r + h % r * r + w % r, h / r, w / r]].concat()
        });
        (out, found.into_iter().collect())
    };
    [(&[2, 8, 2, 3][..], 2), (&[9, 1, 2], 3), (&[1, 2, 4, 1, 1], 1), (&[0, 4, 1, 2], 2)]
        .map(|(shape, r)| case(shape, r, Tensor::pixel_shuffle, from))
        .into()
}

fn unshuffle_samples() -> Vec<Sample> {
    let from = |shape: &[usize], r: usize, at: &[usize]| {
        let k = shape.len() - 3;
        let mut out = shape.to_vec();
        (out[k], out[k + 1], out[k + 2]) = (shape[k] * r * r, shape[k + 1] / r, shape[k + 2] / r);
        let found = (!at.is_empty()).then(|| {
            let (c, h, w) = (at[k], at[k + 1], at[k + 2]);
            [&at[..k], &[c / (r * r), h * r + c / r % r, w * r + c % r]].concat()
        });
        (out, found.into_iter().collect())
    };
    [(&[2, 2, 4, 6][..], 2), (&[1, 3, 6], 3), (&[0, 1, 2, 2], 2)]
        .map(|(shape, r)| case(shape, r, Tensor::pixel_unshuffle, from))
        .into()
}

fn channel_samples() -> Vec<Sample> {
    let from = |shape: &[usize], groups: usize, at: &[usize]| {
        let found = (!at.is_empty()).then(|| {
            let mut from = at.to_vec();
            from[1] = at[1] % groups * (shape[1] / groups) + at[1] / groups;
            from
        });
        (shape.to_vec(), found.into_iter().collect())
    };
    [(&[2, 6, 2][..], 3), (&[1, 4], 2), (&[0, 4, 3], 2), (&[2, 3, 1, 2], 1)]
        .map(|(shape, groups)| case(shape, groups, Tensor::channel_shuffle, from))
        .into()
}

fn shuffle_errors() -> Vec<ErrorSample> {
    let message = "pixel_shuffle: expected a multiple of 4 channels, got f64[3,2,2]";
    vec![
        failing("channels", ErrorKind::Shape, message, &[3, 2, 2], |x| x.pixel_shuffle(2)),
        failing("rank", ErrorKind::Shape, "expected images [.., channels, height, width], got f64[4]", &[4], |x| {
            x.pixel_shuffle(2)
        }),
        failing("zero", ErrorKind::Value, "expected a factor of at least 1, got 0", &[1, 1, 1], |x| x.pixel_shuffle(0)),
    ]
}

fn unshuffle_errors() -> Vec<ErrorSample> {
    let message = "expected height and width that are multiples of 2, got f64[1,2,3]";
    vec![failing("size", ErrorKind::Shape, message, &[1, 2, 3], |x| x.pixel_unshuffle(2))]
}

fn channel_errors() -> Vec<ErrorSample> {
    vec![
        failing("channels", ErrorKind::Shape, "expected a multiple of 2 channels, got f64[1,3]", &[1, 3], |x| {
            x.channel_shuffle(2)
        }),
        failing("groups", ErrorKind::Value, "expected at least one group, got 0", &[1, 3], |x| x.channel_shuffle(0)),
        failing("rank", ErrorKind::Shape, "expected [images, channels, ..], got f64[3]", &[3], |x| {
            x.channel_shuffle(1)
        }),
    ]
}
