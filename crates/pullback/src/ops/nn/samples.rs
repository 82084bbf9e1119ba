//! Samples of the convolutions, and the naive ones that they are compared with.

use super::options::{Conv, ConvPadding, ConvTranspose};
use crate::ops::table::{ErrorSample, Naive, Sample, sample_tensor};
use crate::{ErrorKind, Result, Tensor};

/// Numbers of a convolution, one for all spatial dims.
#[derive(Clone, Copy)]
struct Numbers {
    stride: usize,
    padding: usize,
    dilation: usize,
    groups: usize,
    extra: usize,
}

const PLAIN: Numbers = Numbers { stride: 1, padding: 0, dilation: 1, groups: 1, extra: 0 };

/// Every index of an array of this shape.
fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![Vec::new()], |all, &n| {
        all.iter().flat_map(|index| (0..n).map(move |k| [&index[..], &[k]].concat())).collect()
    })
}

/// The element of an image that the position meets with the tap, in each spatial dimension.
fn meet(n: Numbers, position: &[usize], tap: &[usize], sizes: &[usize]) -> Option<Vec<usize>> {
    position
        .iter()
        .zip(tap)
        .zip(sizes)
        .map(|((o, k), &size)| (o * n.stride + k * n.dilation).checked_sub(n.padding).filter(|&i| i < size))
        .collect()
}

/// The convolution with positions of the given sizes.
fn naive_conv(n: Numbers, x: &Naive, w: &Naive, bias: Option<&Naive>, sizes: &[usize]) -> Naive {
    let dims = w.shape.len() - 2;
    let (lead, spatial) = x.shape.split_at(x.shape.len() - dims);
    let mut shape = lead.to_vec();
    *shape.last_mut().unwrap() = w.shape[0];
    shape.extend_from_slice(sizes);
    let per_group = w.shape[0] / n.groups;
    Naive::from_fn(&shape, |i| {
        let (head, position) = i.split_at(lead.len());
        let (output, images) = head.split_last().unwrap();
        let mut sum = bias.map_or(0.0, |b| b.data[*output]);
        for c in 0..w.shape[1] {
            for tap in indices(&w.shape[2..]) {
                if let Some(at) = meet(n, position, &tap, spatial) {
                    let channel = output / per_group * w.shape[1] + c;
                    sum += x.at(&[images, &[channel], &at].concat()) * w.at(&[&[*output, c], &tap[..]].concat());
                }
            }
        }
        sum
    })
}

/// The transposed convolution: every element of `x` adds to what it reaches.
fn naive_transpose(n: Numbers, x: &Naive, w: &Naive, bias: Option<&Naive>) -> Naive {
    let dims = w.shape.len() - 2;
    let (lead, spatial) = x.shape.split_at(x.shape.len() - dims);
    let outputs = w.shape[1] * n.groups;
    let mut shape = lead.to_vec();
    *shape.last_mut().unwrap() = outputs;
    for (&size, &kernel) in spatial.iter().zip(&w.shape[2..]) {
        shape.push((size - 1) * n.stride + n.dilation * (kernel - 1) + n.extra + 1 - 2 * n.padding);
    }
    let per_group = w.shape[0] / n.groups;
    Naive::from_fn(&shape, |i| {
        let (head, at) = i.split_at(lead.len());
        let (output, images) = head.split_last().unwrap();
        let mut sum = bias.map_or(0.0, |b| b.data[*output]);
        for c in 0..per_group {
            let channel = output / w.shape[1] * per_group + c;
            for tap in indices(&w.shape[2..]) {
                for position in indices(spatial) {
                    if meet(n, &position, &tap, &shape[lead.len()..]).is_some_and(|found| found == at) {
                        let weight = w.at(&[&[channel, output % w.shape[1]], &tap[..]].concat());
                        sum += x.at(&[images, &[channel], &position].concat()) * weight;
                    }
                }
            }
        }
        sum
    })
}

/// A convolution as a function of its number of dims.
fn call(x: &Tensor, w: &Tensor, bias: Option<&Tensor>, options: &Conv) -> Result<Tensor> {
    match w.rank() {
        3 => x.conv1d(w, bias, options),
        4 => x.conv2d(w, bias, options),
        _ => x.conv3d(w, bias, options),
    }
}

fn call_transpose(x: &Tensor, w: &Tensor, bias: Option<&Tensor>, options: &ConvTranspose) -> Result<Tensor> {
    match w.rank() {
        3 => x.conv_transpose1d(w, bias, options),
        4 => x.conv_transpose2d(w, bias, options),
        _ => x.conv_transpose3d(w, bias, options),
    }
}

fn inputs(x: &[usize], w: &[usize], bias: Option<usize>) -> Vec<Tensor> {
    let mut inputs = vec![sample_tensor(x, -1.0, 1.0, 1), sample_tensor(w, -1.0, 1.0, 2)];
    inputs.extend(bias.map(|n| sample_tensor(&[n], -1.0, 1.0, 3)));
    inputs
}

fn conv_case(label: &str, x: &[usize], w: &[usize], bias: bool, n: Numbers) -> Sample {
    let options = Conv::new().stride(n.stride).padding(n.padding).dilation(n.dilation).groups(n.groups);
    Sample::one(label, inputs(x, w, bias.then_some(w[0])), move |x| call(&x[0], &x[1], x.get(2), &options)).reference(
        move |x| {
            let dims = x[1].shape.len() - 2;
            let sizes: Vec<usize> = x[0].shape[x[0].shape.len() - dims..]
                .iter()
                .zip(&x[1].shape[2..])
                .map(|(size, kernel)| (size + 2 * n.padding - n.dilation * (kernel - 1) - 1) / n.stride + 1)
                .collect();
            vec![naive_conv(n, &x[0], &x[1], x.get(2), &sizes)]
        },
    )
}

fn transpose_case(label: &str, x: &[usize], w: &[usize], bias: bool, n: Numbers) -> Sample {
    let options = ConvTranspose::new()
        .stride(n.stride)
        .padding(n.padding)
        .dilation(n.dilation)
        .groups(n.groups)
        .output_padding(n.extra);
    let outputs = w[1] * n.groups;
    Sample::one(label, inputs(x, w, bias.then_some(outputs)), move |x| call_transpose(&x[0], &x[1], x.get(2), &options))
        .reference(move |x| vec![naive_transpose(n, &x[0], &x[1], x.get(2))])
}

pub(super) fn conv1d() -> Vec<Sample> {
    let same = |label: &str, kernel: usize, dilation: usize| {
        let options = Conv::new().padding(ConvPadding::Same).dilation(dilation);
        Sample::one(label, inputs(&[2, 2, 5], &[3, 2, kernel], None), move |x| call(&x[0], &x[1], None, &options))
            .reference(move |x| {
                let n = Numbers { padding: dilation * (kernel - 1) / 2, dilation, ..PLAIN };
                vec![naive_conv(n, &x[0], &x[1], None, &[5])]
            })
    };
    vec![
        conv_case("plain", &[2, 3, 6], &[4, 3, 3], false, PLAIN),
        conv_case("one image, bias", &[3, 5], &[2, 3, 2], true, PLAIN),
        conv_case("stride and padding", &[2, 2, 7], &[3, 2, 3], true, Numbers { stride: 2, padding: 2, ..PLAIN }),
        conv_case("dilation", &[1, 2, 8], &[2, 2, 3], false, Numbers { dilation: 3, padding: 1, ..PLAIN }),
        conv_case("groups", &[2, 4, 5], &[6, 2, 2], true, Numbers { groups: 2, ..PLAIN }),
        conv_case("depthwise", &[2, 3, 6], &[3, 1, 3], false, Numbers { groups: 3, padding: 1, ..PLAIN }),
        conv_case("depthwise, stride", &[2, 3, 6], &[3, 1, 2], false, Numbers { groups: 3, stride: 2, ..PLAIN }),
        conv_case("kernel of 1", &[2, 3, 4], &[2, 3, 1], false, PLAIN),
        conv_case("no images", &[0, 2, 4], &[3, 2, 2], false, PLAIN),
        same("same, odd", 3, 1),
        same("same, even", 4, 1),
        same("same, dilated", 2, 2),
    ]
}

pub(super) fn conv2d() -> Vec<Sample> {
    vec![
        conv_case("plain", &[2, 2, 4, 5], &[3, 2, 2, 3], true, PLAIN),
        conv_case("one image", &[1, 4, 4], &[2, 1, 3, 3], false, Numbers { padding: 1, ..PLAIN }),
        conv_case("stride", &[1, 2, 5, 5], &[2, 2, 3, 3], true, Numbers { stride: 2, padding: 1, ..PLAIN }),
        conv_case(
            "all options",
            &[2, 4, 5, 6],
            &[4, 2, 2, 2],
            true,
            Numbers { stride: 2, padding: 1, dilation: 2, groups: 2, extra: 0 },
        ),
        conv_case("depthwise", &[1, 3, 4, 4], &[3, 1, 3, 3], true, Numbers { groups: 3, padding: 1, ..PLAIN }),
        conv_case("kernel of 1", &[2, 3, 2, 3], &[4, 3, 1, 1], true, PLAIN),
        conv_case("no images", &[0, 2, 3, 4], &[3, 2, 2, 2], true, PLAIN),
        conv_case("kernel of 1, stride", &[1, 2, 3, 3], &[2, 2, 1, 1], false, Numbers { stride: 2, ..PLAIN }),
    ]
}

pub(super) fn conv3d() -> Vec<Sample> {
    vec![
        conv_case("plain", &[1, 2, 3, 3, 4], &[2, 2, 2, 2, 2], true, PLAIN),
        conv_case(
            "options",
            &[2, 2, 3, 4, 3],
            &[2, 1, 2, 2, 1],
            false,
            Numbers { stride: 2, padding: 1, groups: 2, ..PLAIN },
        ),
        conv_case("no images", &[0, 2, 3, 4, 3], &[3, 2, 2, 2, 2], true, PLAIN),
        conv_case("one image", &[1, 3, 3, 3], &[2, 1, 2, 2, 2], false, Numbers { dilation: 2, ..PLAIN }),
    ]
}

pub(super) fn conv_transpose1d() -> Vec<Sample> {
    vec![
        transpose_case("plain", &[2, 3, 4], &[3, 2, 3], false, PLAIN),
        transpose_case("one image, bias", &[2, 3], &[2, 3, 2], true, PLAIN),
        transpose_case("stride", &[1, 2, 4], &[2, 2, 3], true, Numbers { stride: 2, padding: 1, extra: 1, ..PLAIN }),
        transpose_case(
            "dilation",
            &[2, 2, 3],
            &[2, 1, 3],
            false,
            Numbers { dilation: 2, padding: 2, extra: 1, ..PLAIN },
        ),
        transpose_case("groups", &[2, 4, 3], &[4, 3, 2], true, Numbers { groups: 2, stride: 3, ..PLAIN }),
        transpose_case("no images", &[0, 3, 3], &[3, 2, 3], true, PLAIN),
        transpose_case("depthwise", &[2, 3, 3], &[3, 1, 3], false, Numbers { groups: 3, padding: 1, ..PLAIN }),
    ]
}

pub(super) fn conv_transpose2d() -> Vec<Sample> {
    vec![
        transpose_case("plain", &[1, 2, 3, 2], &[2, 2, 2, 3], true, PLAIN),
        transpose_case(
            "all options",
            &[1, 4, 2, 3],
            &[4, 2, 3, 3],
            true,
            Numbers { stride: 2, padding: 2, dilation: 2, groups: 2, extra: 1 },
        ),
        transpose_case("no images", &[0, 3, 3, 2], &[3, 2, 3, 1], true, PLAIN),
        transpose_case("kernel of 1", &[2, 3, 2, 2], &[3, 2, 1, 1], false, PLAIN),
    ]
}

pub(super) fn conv_transpose3d() -> Vec<Sample> {
    vec![
        transpose_case("plain", &[1, 2, 2, 2, 2], &[2, 1, 2, 2, 2], true, PLAIN),
        transpose_case("no images", &[0, 3, 3, 2, 2], &[3, 2, 3, 1, 1], true, PLAIN),
        transpose_case("stride", &[1, 2, 2, 3], &[1, 2, 2, 1, 2], false, Numbers { stride: 2, ..PLAIN }),
    ]
}

pub(super) fn conv_errors() -> Vec<ErrorSample> {
    let error = |label: &'static str, kind, message, x: &[usize], w: &[usize], options: Conv| {
        let (x, w) = (sample_tensor(x, 0.0, 1.0, 1), sample_tensor(w, 0.0, 1.0, 2));
        ErrorSample::new(label, kind, message, move || call(&x, &w, None, &options))
    };
    let (shape, value, arity) = (ErrorKind::Shape, ErrorKind::Value, ErrorKind::Arity);
    let bias = {
        let (x, w) = (sample_tensor(&[1, 2, 4], 0.0, 1.0, 1), sample_tensor(&[3, 2, 2], 0.0, 1.0, 2));
        move || x.conv1d(&w, Some(&Tensor::from([1.0, 2.0])), &Conv::new())
    };
    vec![
        error(
            "rank",
            shape,
            "conv1d: expected an input of channels and 1 spatial dimensions, with or without a dimension \
            of images in front, got f64[4]",
            &[4],
            &[1, 1, 2],
            Conv::new(),
        ),
        error(
            "channels",
            shape,
            "conv2d: expected 3 input channels in 1 groups, as f64[1,3,4,4] has, and a whole number \
            of outputs for each group, got weight f64[2,2,3,3]",
            &[1, 3, 4, 4],
            &[2, 2, 3, 3],
            Conv::new(),
        ),
        error("groups", shape, "got weight f64[3,2,2]", &[1, 4, 4], &[3, 2, 2], Conv::new().groups(2)),
        error(
            "no groups",
            value,
            "conv1d: expected at least one group, got 0",
            &[1, 4, 4],
            &[3, 2, 2],
            Conv::new().groups(0),
        ),
        error(
            "kernel",
            shape,
            "conv1d: expected a kernel that fits into the padded input, got size 5 with dilation 2 for \
            4 + 2 elements in spatial dimension 0",
            &[1, 1, 4],
            &[1, 1, 5],
            Conv::new().padding(1).dilation(2),
        ),
        error("empty kernel", shape, "expected a kernel with elements", &[1, 1, 4], &[1, 1, 0], Conv::new()),
        error(
            "stride",
            value,
            "conv1d: expected `stride` of at least 1, got 0",
            &[1, 1, 4],
            &[1, 1, 2],
            Conv::new().stride(0),
        ),
        error(
            "arity",
            arity,
            "conv2d: expected one number or 2 for `padding`, got 3",
            &[1, 1, 4, 4],
            &[1, 1, 2, 2],
            Conv::new().padding([1, 2, 3]),
        ),
        error(
            "same",
            value,
            "conv1d: expected stride 1 with `ConvPadding::Same`, got [2]",
            &[1, 1, 4],
            &[1, 1, 2],
            Conv::new().stride(2).padding(ConvPadding::Same),
        ),
        ErrorSample::new("bias", shape, "expected a bias of shape [3] for weight f64[3,2,2], got f64[2]", bias),
    ]
}

pub(super) fn conv_transpose_errors() -> Vec<ErrorSample> {
    let error = |label: &'static str, kind, message, x: &[usize], w: &[usize], options: ConvTranspose| {
        let (x, w) = (sample_tensor(x, 0.0, 1.0, 1), sample_tensor(w, 0.0, 1.0, 2));
        ErrorSample::new(label, kind, message, move || call_transpose(&x, &w, None, &options))
    };
    vec![
        error(
            "channels",
            ErrorKind::Shape,
            "conv_transpose1d: expected 3 input channels in 1 groups",
            &[1, 3, 4],
            &[2, 3, 3],
            ConvTranspose::new(),
        ),
        error(
            "output padding",
            ErrorKind::Value,
            "expected an output_padding below the stride or the dilation, got 2 with \
            stride 2 and dilation 1",
            &[1, 2, 4],
            &[2, 3, 3],
            ConvTranspose::new().stride(2).output_padding(2),
        ),
        error(
            "nothing left",
            ErrorKind::Shape,
            "expected a result with elements, got none in spatial dimension 0 from an \
            input of size 1, a kernel of 2 and padding 1",
            &[1, 2, 1],
            &[2, 3, 2],
            ConvTranspose::new().padding(1),
        ),
    ]
}
