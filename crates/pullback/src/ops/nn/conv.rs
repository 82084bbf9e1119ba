//! Convolutions, and the one operation behind them.
//!
//! A convolution pairs three tensors: image, weight and result (see the kernel). The operation computes one of them from the other
//! two, so its transpose with respect to an operand is the same operation with that operand and the result exchanged.
//! Lanes of a `vmap` join a dimension that the tensors with lanes share: the images where image and result have them, the
//! channels of the weight where it and another one have. Where all three do, as in the weight gradients of single
//! examples, they are a dimension of its own, through which the kernel runs in one call.

use std::fmt;

use smallvec::smallvec;

use super::options::{Conv, ConvTranspose, spatial};
use super::samples;
use crate::error::bail;
use crate::function::op::{Batched, Cotangents, Op, Tangents};
use crate::function::{Cotangent, Outs, Saved, Tangent, VmapInfo};
use crate::kernels::conv::{Geometry, Role, Sizes, convolve};
use crate::kernels::half::widened;
use crate::ops::arith::{add_owned, with_common_dtype};
use crate::ops::family::apply1;
use crate::ops::shape::move_dim;
use crate::ops::table::ops;
use crate::shape::{Shape, with_dim, without_dim};
use crate::{Result, Tensor};

ops! { OPS;
    /// The convolution of sequences: `y[n, o, l] = bias[o] + Σ x[n, c, stride·l + dilation·k - padding] weight[o, c, k]` over
    /// channels `c` and taps `k`, where elements beyond the ends of the input are zero. The kernel is not reversed.
    ///
    /// # Shapes
    /// The tensor is `[images, channels, length]` or `[channels, length]`, the weight `[outputs, channels/groups, kernel]`, a
    /// bias `[outputs]`. The result is `[images, outputs, ..]`, or without images, with
    /// `(length + 2·padding - dilation·(kernel - 1) - 1)/stride + 1` elements, rounded down.
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// Linear in the input and in the weight. The cotangent of the input is a transposed convolution, that of the weight a convolution of the
    /// input with the cotangent; that of the bias is a sum.
    ///
    /// # Batching
    /// Lanes of the input become images, those of the weight channels. Weight gradients of single examples are one grouped
    /// convolution.
    ///
    /// # Errors
    /// `Shape` if numbers of dimensions or channels do not fit, or if the kernel does not fit into the padded input; `Value` for
    /// options that make no sense; `Arity` for a wrong number of them.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, nn::Conv};
    /// let x = Tensor::from([[1.0, 2.0, 4.0, 8.0]]);
    /// let difference = Tensor::from([[[-1.0, 1.0]]]);
    /// assert_eq!(x.conv1d(&difference, None, &Conv::new())?.to_vec::<f64>()?, [1.0, 2.0, 4.0]);
    /// assert_eq!(x.conv1d(&difference, None, &Conv::new().stride(2))?.to_vec::<f64>()?, [1.0, 4.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn conv1d(&self, weight: &Tensor, bias: Option<&Tensor>, options: &Conv) -> Result<Tensor> = conv1d {
        samples: samples::conv1d, errors: samples::conv_errors
    };

    /// The convolution of images: [`conv1d`](Tensor::conv1d) over two dimensions.
    ///
    /// # Shapes
    /// The tensor is `[images, channels, height, width]` or `[channels, height, width]`, the weight
    /// `[outputs, channels/groups, ..]` with the two sizes of the kernel, a bias `[outputs]`. The result is
    /// `[images, outputs, ..]`, or without images, with sizes as for `conv1d`.
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// As for `conv1d`.
    ///
    /// # Batching
    /// As for `conv1d`.
    ///
    /// # Errors
    /// As for `conv1d`.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor, grad, nn::Conv};
    /// let x = Tensor::ones(&[1, 3, 3], DType::F64)?;
    /// let w = Tensor::ones(&[1, 1, 3, 3], DType::F64)?;
    /// let y = x.conv2d(&w, None, &Conv::new().padding(1))?;
    /// assert_eq!(y.to_vec::<f64>()?, [4.0, 6.0, 4.0, 6.0, 9.0, 6.0, 4.0, 6.0, 4.0]);
    /// let g = grad(|w: &Tensor| x.conv2d(w, None, &Conv::new())?.sum())(&w)?;
    /// assert_eq!(g.shape(), w.shape());
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn conv2d(&self, weight: &Tensor, bias: Option<&Tensor>, options: &Conv) -> Result<Tensor> = conv2d {
        samples: samples::conv2d, errors: samples::conv_errors
    };

    /// The convolution of volumes: [`conv1d`](Tensor::conv1d) over three dimensions.
    ///
    /// # Shapes
    /// The tensor is `[images, channels, depth, height, width]` or without images, the weight `[outputs, channels/groups, ..]` with the
    /// three sizes of the kernel, a bias `[outputs]`. The result is `[images, outputs, ..]`, or without images, with sizes
    /// as for `conv1d`.
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// As for `conv1d`.
    ///
    /// # Batching
    /// As for `conv1d`.
    ///
    /// # Errors
    /// As for `conv1d`.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor, nn::Conv};
    /// let (x, w) = (Tensor::ones(&[2, 1, 4, 4, 4], DType::F64)?, Tensor::ones(&[3, 1, 2, 2, 2], DType::F64)?);
    /// assert_eq!(x.conv3d(&w, None, &Conv::new().stride([1, 2, 2]))?.shape(), [2, 3, 3, 2, 2]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn conv3d(&self, weight: &Tensor, bias: Option<&Tensor>, options: &Conv) -> Result<Tensor> = conv3d {
        samples: samples::conv3d, errors: samples::conv_errors
    };

    /// The transpose of the convolution of sequences: each element of the input adds the kernel, times itself, to the result.
    ///
    /// # Shapes
    /// The tensor is `[images, channels, length]` or `[channels, length]`, the weight `[channels, outputs/groups, kernel]`, a
    /// bias `[outputs]`. The result is `[images, outputs, ..]`, or without images, with
    /// `(length - 1)·stride - 2·padding + dilation·(kernel - 1) + output_padding + 1` elements.
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// Linear in the input and in the weight. The cotangent of the input is a convolution, that of the weight one of the cotangent with
    /// the input; that of the bias is a sum.
    ///
    /// # Batching
    /// As for [`conv1d`](Tensor::conv1d).
    ///
    /// # Errors
    /// `Shape` if numbers of dimensions or channels do not fit, or if the result would be empty; `Value` for options that
    /// make no sense; `Arity` for a wrong number of them.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, nn::ConvTranspose};
    /// let (x, w) = (Tensor::from([[1.0, 10.0]]), Tensor::from([[[1.0, 2.0, 3.0]]]));
    /// let y = x.conv_transpose1d(&w, None, &ConvTranspose::new().stride(2))?;
    /// assert_eq!(y.to_vec::<f64>()?, [1.0, 2.0, 13.0, 20.0, 30.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn conv_transpose1d(&self, weight: &Tensor, bias: Option<&Tensor>, options: &ConvTranspose) -> Result<Tensor> = conv_transpose1d {
        samples: samples::conv_transpose1d, errors: samples::conv_transpose_errors
    };

    /// The transpose of the convolution of images: [`conv_transpose1d`](Tensor::conv_transpose1d) over two dimensions.
    ///
    /// # Shapes
    /// The tensor is `[images, channels, height, width]` or without images, the weight `[channels, outputs/groups, ..]` with the two
    /// sizes of the kernel, a bias `[outputs]`. The result is `[images, outputs, ..]`, or without images, with sizes as
    /// for `conv_transpose1d`.
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// As for `conv_transpose1d`.
    ///
    /// # Batching
    /// As for `conv1d`.
    ///
    /// # Errors
    /// As for `conv_transpose1d`.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor, nn::ConvTranspose};
    /// let (x, w) = (Tensor::ones(&[1, 3, 3], DType::F64)?, Tensor::ones(&[1, 2, 2, 2], DType::F64)?);
    /// assert_eq!(x.conv_transpose2d(&w, None, &ConvTranspose::new().stride(2))?.shape(), [2, 6, 6]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn conv_transpose2d(&self, weight: &Tensor, bias: Option<&Tensor>, options: &ConvTranspose) -> Result<Tensor> = conv_transpose2d {
        samples: samples::conv_transpose2d, errors: samples::conv_transpose_errors
    };

    /// The transpose of the convolution of volumes: [`conv_transpose1d`](Tensor::conv_transpose1d) over three dimensions.
    ///
    /// # Shapes
    /// The tensor is `[images, channels, depth, height, width]` or without images, the weight `[channels, outputs/groups, ..]` with the
    /// three sizes of the kernel, a bias `[outputs]`. The result is `[images, outputs, ..]`, or without images, with sizes
    /// as for `conv_transpose1d`.
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// As for `conv_transpose1d`.
    ///
    /// # Batching
    /// As for `conv1d`.
    ///
    /// # Errors
    /// As for `conv_transpose1d`.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor, nn::ConvTranspose};
    /// let (x, w) = (Tensor::ones(&[1, 2, 2, 2], DType::F64)?, Tensor::ones(&[1, 3, 2, 2, 2], DType::F64)?);
    /// assert_eq!(x.conv_transpose3d(&w, None, &ConvTranspose::new())?.shape(), [3, 3, 3, 3]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn conv_transpose3d(&self, weight: &Tensor, bias: Option<&Tensor>, options: &ConvTranspose) -> Result<Tensor> = conv_transpose3d {
        samples: samples::conv_transpose3d, errors: samples::conv_transpose_errors
    };
}

/// The operation: image, weight or result of a convolution from the two others.
///
/// Images are `[lanes, images, groups·inputs, ..]`, weights `[lanes, groups·outputs, inputs, ..]`, results
/// `[lanes, images, groups·outputs, ..]`, all without the first dimension where there are no lanes.
#[derive(Clone, Copy)]
struct Convolution {
    name: &'static str,
    role: Role,
    lanes: bool,
    groups: usize,
    dims: usize,
    geometry: Geometry,
}

impl fmt::Debug for Convolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Geometry { stride, padding, dilation, .. } = &self.geometry;
        let own = |sizes: &[usize; 3]| sizes[3 - self.dims..].to_vec();
        f.debug_struct("Conv")
            .field("of", &self.role)
            .field("stride", &own(stride))
            .field("padding", &own(padding))
            .field("dilation", &own(dilation))
            .field("groups", &self.groups)
            .finish()
    }
}

/// The place of a role among the three tensors.
const fn place(role: Role) -> usize {
    match role {
        Role::Input => 0,
        Role::Weight => 1,
        Role::Output => 2,
    }
}

impl Convolution {
    /// The same convolution computing another one of its tensors.
    fn of(&self, role: Role) -> Convolution {
        Convolution { role, ..*self }
    }

    /// The roles of the operands, in their order.
    fn operands(&self) -> [Role; 2] {
        match self.role {
            Role::Input => [Role::Weight, Role::Output],
            Role::Weight => [Role::Input, Role::Output],
            Role::Output => [Role::Input, Role::Weight],
        }
    }

    fn apply(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        apply1(*self, &[a, b])
    }

    /// The tensor of `role` where the tensors of the two other roles are given.
    fn solve(&self, role: Role, given: [(Role, &Tensor); 2]) -> Result<Tensor> {
        let [a, b] = if place(given[0].0) < place(given[1].0) { given } else { [given[1], given[0]] };
        self.of(role).apply(a.1, b.1)
    }

    /// How much there is of what, by the shapes of the operands.
    fn sizes(&self, a: &[usize], b: &[usize]) -> Sizes {
        let lead = usize::from(self.lanes);
        let lanes = if self.lanes { a[0] } else { 1 };
        let (a, b) = (&a[lead..], &b[lead..]);
        let (images, inputs, outputs) = match self.role {
            Role::Output => (a[0], b[1], b[0] / self.groups),
            Role::Input => (b[0], a[1], a[0] / self.groups),
            Role::Weight => (a[0], a[1] / self.groups, b[1] / self.groups),
        };
        Sizes { lanes, images, groups: self.groups, inputs, outputs, geometry: self.geometry }
    }

    /// The shape of the tensor of a role.
    fn shape(&self, s: &Sizes) -> Shape {
        let (first, second, spatial) = match self.role {
            Role::Input => (s.images, s.groups.saturating_mul(s.inputs), s.geometry.input),
            Role::Weight => (s.groups.saturating_mul(s.outputs), s.inputs, s.geometry.kernel),
            Role::Output => (s.images, s.groups.saturating_mul(s.outputs), s.geometry.output),
        };
        let mut shape = Shape::new();
        if self.lanes {
            shape.push(s.lanes);
        }
        shape.extend([first, second]);
        shape.extend_from_slice(&spatial[3 - self.dims..]);
        shape
    }

    /// The dimension of `role` that lanes join if only it and `other` have them, and into how many groups it falls.
    fn shared(&self, role: Role, other: Role) -> (usize, usize) {
        let lead = usize::from(self.lanes);
        match (role, other) {
            (Role::Input, Role::Output) | (Role::Output, Role::Input) => (lead, 1),
            (Role::Weight, Role::Output) => (lead, self.groups),
            (Role::Weight, _) => (lead + 1, 1),
            _ => (lead + 1, self.groups),
        }
    }
}

/// `t`, whose lanes lie along dimension `lane`, with the lanes as a part of dimension `dim`, counted without them: outside of what
/// each of its `groups` holds.
fn join(t: &Tensor, lane: usize, (dim, groups): (usize, usize)) -> Result<Tensor> {
    let lanes = t.shape()[lane];
    let mut joined = Shape::from_slice(t.shape());
    joined.remove(lane);
    let whole = joined[dim];
    joined[dim] *= lanes;
    if groups == 1 {
        return move_dim(t, lane, dim)?.reshape_to(&joined);
    }
    let front = move_dim(t, lane, 0)?;
    let mut split = Shape::from_slice(front.shape());
    split[dim + 1] = whole / groups;
    split.insert(dim + 1, groups);
    move_dim(&front.reshape_to(&split)?, 0, dim + 1)?.reshape_to(&joined)
}

/// Undoes [`join`] for a dimension of size `whole`: the tensor, and where its lanes lie.
fn part(t: &Tensor, lanes: usize, (dim, groups): (usize, usize), whole: usize) -> Result<(Tensor, usize)> {
    let mut split = Shape::from_slice(t.shape());
    if groups == 1 {
        split[dim] = whole;
        split.insert(dim, lanes);
        return Ok((t.reshape_to(&split)?, dim));
    }
    split[dim] = whole / groups;
    split.insert(dim, lanes);
    split.insert(dim, groups);
    let front = move_dim(&t.reshape_to(&split)?, dim + 1, 0)?;
    let mut joined = Shape::from_slice(t.shape());
    joined[dim] = whole;
    Ok((front.reshape_to(&with_dim(&joined, 0, lanes))?, 0))
}

impl Op for Convolution {
    fn name(&self) -> &str {
        self.name
    }

    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let (a, b) = (inputs[0].concrete(), inputs[1].concrete());
        let sizes = self.sizes(a.shape(), b.shape());
        let shape = self.shape(&sizes);
        crate::tensor::checked_numel(self.name, &shape)?;
        Ok(smallvec![widened([a, b], |[a, b]| convolve(&sizes, self.role, a, b, shape.clone()))?.into()])
    }

    fn save(&self, needs: &[bool], inputs: &[&Tensor], _: &[Tensor]) -> Result<Saved> {
        let mut saved = Saved::default();
        for k in [0, 1] {
            if needs[1 - k] {
                saved.tensors.push(inputs[k].clone());
            }
        }
        Ok(saved)
    }

    fn backward(&self, saved: &Saved, needs: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        let [left, right] = self.operands();
        let mut tensors = saved.tensors.iter();
        let x = if needs[1] { tensors.next() } else { None };
        let y = if needs[0] { tensors.next() } else { None };
        let of = |wanted: Role, (role, other): (Role, Option<&Tensor>)| match (grads[0].as_tensor(), other) {
            (Some(g), Some(other)) => Ok(self.solve(wanted, [(self.role, g), (role, other)])?.into()),
            _ => Ok(Cotangent::zero()),
        };
        let found: Result<_> = of(left, (right, y));
        Ok(smallvec![found?, of(right, (left, x))?])
    }

    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        let (ta, tb) = (tangents[0].as_tensor(), tangents[1].as_tensor());
        let mut tensors = saved.tensors.iter();
        let a = if tb.is_some() { tensors.next() } else { None };
        let b = if ta.is_some() { tensors.next() } else { None };
        let mut sum = Tangent::zero();
        for (a, b) in [(ta, b), (a, tb)] {
            if let (Some(a), Some(b)) = (a, b) {
                sum.accumulate(self.apply(a, b)?)?;
            }
        }
        Ok(smallvec![sum])
    }

    fn vmap(&self, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        let [left, right] = self.operands();
        let (out, dim) = match (dims[0], dims[1]) {
            (Some(da), Some(db)) => {
                let (mut a, mut b) = (move_dim(inputs[0], da, 0)?, move_dim(inputs[1], db, 0)?);
                let outer = info.batch_size;
                if self.lanes {
                    (a, b) = (a.flatten(0, 1)?, b.flatten(0, 1)?);
                }
                let out = Convolution { lanes: true, ..*self }.apply(&a, &b)?;
                if !self.lanes {
                    (out, 0)
                } else {
                    let mut shape = with_dim(out.shape(), 0, outer);
                    shape[1] = inputs[0].shape()[if da == 0 { 1 } else { 0 }];
                    (out.reshape_to(&shape)?, 0)
                }
            }
            (Some(dim), None) => {
                let at = self.shared(self.role, left);
                let whole = self.shape(&self.sizes(&without_dim(inputs[0].shape(), dim), inputs[1].shape()))[at.0];
                let a = join(inputs[0], dim, self.shared(left, self.role))?;
                part(&self.apply(&a, inputs[1])?, info.batch_size, at, whole)?
            }
            (None, Some(dim)) => {
                let at = self.shared(self.role, right);
                let whole = self.shape(&self.sizes(inputs[0].shape(), &without_dim(inputs[1].shape(), dim)))[at.0];
                let b = join(inputs[1], dim, self.shared(right, self.role))?;
                part(&self.apply(inputs[0], &b)?, info.batch_size, at, whole)?
            }
            (None, None) => unreachable!("a batching rule has an input with lanes"),
        };
        Ok((smallvec![out], smallvec![Some(dim)]))
    }
}

fn conv1d(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>, options: &Conv) -> Result<Tensor> {
    conv("conv1d", 1, x, weight, bias, options)
}
fn conv2d(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>, options: &Conv) -> Result<Tensor> {
    conv("conv2d", 2, x, weight, bias, options)
}
fn conv3d(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>, options: &Conv) -> Result<Tensor> {
    conv("conv3d", 3, x, weight, bias, options)
}
fn conv_transpose1d(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>, options: &ConvTranspose) -> Result<Tensor> {
    conv_transpose("conv_transpose1d", 1, x, weight, bias, options)
}
fn conv_transpose2d(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>, options: &ConvTranspose) -> Result<Tensor> {
    conv_transpose("conv_transpose2d", 2, x, weight, bias, options)
}
fn conv_transpose3d(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>, options: &ConvTranspose) -> Result<Tensor> {
    conv_transpose("conv_transpose3d", 3, x, weight, bias, options)
}

/// Fails unless input, weight and bias have the right numbers of dimensions and channels; tells the number of outputs.
fn check(
    op: &str,
    dims: usize,
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    groups: usize,
    transposed: bool,
) -> Result<usize> {
    if x.rank() != dims + 1 && x.rank() != dims + 2 {
        bail!(
            Shape,
            "{op}: expected an input of channels and {dims} spatial dimensions, with or without a dimension of \
            images in front, got {}",
            x.ty()
        );
    }
    if weight.rank() != dims + 2 {
        bail!(
            Shape,
            "{op}: expected a weight of two dimensions of channels and {dims} of the kernel, got {}",
            weight.ty()
        );
    }
    let (channels, w) = (x.shape()[x.rank() - dims - 1], weight.shape());
    if groups == 0 {
        bail!(Value, "{op}: expected at least one group, got 0");
    }
    let (expected, given, outputs) = if transposed {
        (channels, w[0], w[1].saturating_mul(groups))
    } else {
        (channels, w[1].saturating_mul(groups), w[0])
    };
    if expected != given || !w[0].is_multiple_of(groups) {
        bail!(Shape, "{op}: expected {channels} input channels in {groups} groups, as {} has, and a whole number of outputs for each \
            group, got weight {}", x.ty(), weight.ty(); help = "a weight is [{}, ..kernel]",
            if transposed { "channels, outputs/groups" } else { "outputs, channels/groups" });
    }
    if w[2..].contains(&0) {
        bail!(Shape, "{op}: expected a kernel with elements, got weight {}", weight.ty());
    }
    if let Some(bias) = bias
        && bias.shape() != [outputs]
    {
        bail!(Shape, "{op}: expected a bias of shape [{outputs}] for weight {}, got {}", weight.ty(), bias.ty());
    }
    Ok(outputs)
}

/// Applies the operation to an image with or without a dimension of images, and adds the bias.
fn finish(op: Convolution, x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    let single = x.rank() == op.dims + 1;
    let out = with_common_dtype(x, weight, true, |x, weight| {
        let x = if single { &x.unsqueeze(0)? } else { x };
        let out = match op.role {
            Role::Input => op.apply(weight, x)?,
            _ => op.apply(x, weight)?,
        };
        if single { out.squeeze(0) } else { Ok(out) }
    })?;
    let Some(bias) = bias else { return Ok(out) };
    let mut shape = Shape::from_elem(1, op.dims + 1);
    shape[0] = bias.numel();
    let bias = bias.reshape_to(&shape)?;
    if bias.dtype() == out.dtype() { add_owned(out, bias) } else { out.add(&bias) }
}

fn conv(
    name: &'static str,
    dims: usize,
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &Conv,
) -> Result<Tensor> {
    let groups = options.groups;
    check(name, dims, x, weight, bias, groups, false)?;
    let geometry = options.geometry(name, dims, spatial(&x.ty(), dims), spatial(&weight.ty(), dims))?;
    finish(Convolution { name, role: Role::Output, lanes: false, groups, dims, geometry }, x, weight, bias)
}

fn conv_transpose(
    name: &'static str,
    dims: usize,
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &ConvTranspose,
) -> Result<Tensor> {
    let groups = options.groups;
    check(name, dims, x, weight, bias, groups, true)?;
    let geometry = options.geometry(name, dims, spatial(&x.ty(), dims), spatial(&weight.ty(), dims))?;
    finish(Convolution { name, role: Role::Input, lanes: false, groups, dims, geometry }, x, weight, bias)
}
