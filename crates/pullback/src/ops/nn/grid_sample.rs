//! Images at places between their elements.
//!
//! One operation and its transpose: elements at places, weighted by a curve between them, and the way back. The derivative by the
//! places is the same with the derivative of the curve, so that the two are closed under differentiation.

use std::fmt;

use smallvec::{SmallVec, smallvec};

use super::grid_samples as samples;
use crate::error::bail;
use crate::function::op::{Batched, Cotangents, Op, Tangents};
use crate::function::{Cotangent, Outs, Saved, Tangent, VmapInfo};
use crate::interp::batch;
use crate::kernels::grid_sample::{Curve, Edge, Sampler, sample, spread};
use crate::ops::arith::{mul_owned, with_common_dtype};
use crate::ops::family::apply1;
use crate::ops::reduce::to_real_float;
use crate::ops::shape::move_dim;
use crate::ops::table::ops;
use crate::shape::{Shape, with_dim};
use crate::{DType, Result, Tensor};

/// What lies between the elements of an image for [`grid_sample`](Tensor::grid_sample).
///
/// ```
/// use pullback::{Tensor, nn::{GridMode, GridSample}};
/// let (x, grid) = (Tensor::from([[[[1.0, 3.0]]]]), Tensor::from([[[[0.25, 0.0]]]]));
/// let at = |mode| x.grid_sample(&grid, &GridSample::new().mode(mode).align_corners(true));
/// assert_eq!(at(GridMode::Linear)?.item::<f64>()?, 2.25);
/// assert_eq!(at(GridMode::Nearest)?.item::<f64>()?, 3.0);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GridMode {
    /// Straight lines along each dimension: PyTorch's `bilinear`.
    #[default]
    Linear,
    /// The nearest element; in the middle between two, the one with the even number.
    Nearest,
    /// Cubic curves along each dimension, with the parameter -0.75, for images with two dimensions: PyTorch's `bicubic`.
    Cubic,
}

/// What lies beyond the ends of an image for [`grid_sample`](Tensor::grid_sample).
///
/// ```
/// use pullback::{Tensor, nn::{GridPadding, GridSample}};
/// let (x, grid) = (Tensor::from([[[[1.0, 3.0]]]]), Tensor::from([[[[2.0, 0.0]]]]));
/// let at = |padding| x.grid_sample(&grid, &GridSample::new().padding(padding).align_corners(true))?.item::<f64>();
/// assert_eq!([at(GridPadding::Zeros)?, at(GridPadding::Border)?, at(GridPadding::Reflection)?], [1.5, 3.0, 2.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GridPadding {
    /// Zeros.
    #[default]
    Zeros,
    /// The last element goes on.
    Border,
    /// The image is mirrored at its ends, any number of times: at the last element with `align_corners`, else at the end of its cell.
    Reflection,
}

/// The options of [`grid_sample`](Tensor::grid_sample).
///
/// ```
/// use pullback::{Tensor, nn::{GridMode, GridSample}};
/// let (x, grid) = (Tensor::from([[[[1.0, 3.0]]]]), Tensor::from([[[[-1.0, 0.0]]]]));
/// // The place -1 is the first element, or the end of its cell, half of which is zero.
/// assert_eq!(x.grid_sample(&grid, &GridSample::new().align_corners(true))?.item::<f64>()?, 1.0);
/// assert_eq!(x.grid_sample(&grid, &GridSample::new())?.item::<f64>()?, 0.5);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct GridSample {
    pub(super) mode: GridMode,
    pub(super) padding: GridPadding,
    pub(super) align_corners: bool,
}

impl GridSample {
    /// Straight lines, zeros beyond the ends, and -1 and 1 the ends of the first and last cells.
    pub fn new() -> GridSample {
        GridSample::default()
    }

    /// What lies between the elements.
    #[must_use]
    pub fn mode(mut self, mode: GridMode) -> GridSample {
        self.mode = mode;
        self
    }

    /// What lies beyond the ends.
    #[must_use]
    pub fn padding(mut self, padding: GridPadding) -> GridSample {
        self.padding = padding;
        self
    }

    /// Whether -1 and 1 are the places of the first and last elements; otherwise they are the ends of their cells.
    #[must_use]
    pub fn align_corners(mut self, align_corners: bool) -> GridSample {
        self.align_corners = align_corners;
        self
    }
}

ops! { OPS;
    /// The elements of images at the places of a grid, which need not be those of elements.
    ///
    /// A place has one coordinate for each spatial dimension, that of the last dimension first, from -1 at one end to 1 at the other.
    ///
    /// # Shapes
    /// Images `[images, channels, height, width]` and a grid `[images, rows, columns, 2]` give `[images, channels, rows, columns]`; images
    /// `[images, channels, depth, height, width]` and a grid `[images, .., 3]` with three dimensions likewise.
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`. Places in half precision are computed with in `f32`.
    ///
    /// # Derivative
    /// Linear in the images: each element gets the cotangents of the places that it went into, times its weights. By the grid it is the slope
    /// of the curve between the elements, at an element with `Linear` that to the right, and 0 where the padding holds a place fixed. The
    /// nearest element has none by the grid.
    ///
    /// # Batching
    /// Lanes of both become images, those of the images alone channels, and those of the grid alone places: nothing is repeated.
    ///
    /// # Errors
    /// `Shape` if shapes do not fit, or for images without elements; `Value` for `Cubic` with three dimensions.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, nn::GridSample};
    /// let x = Tensor::from([[[[1.0, 2.0], [3.0, 4.0]]]]);
    /// let grid = Tensor::from([[[[-1.0, -1.0], [0.0, 0.0], [1.0, 0.0]]]]);
    /// let y = x.grid_sample(&grid, &GridSample::new().align_corners(true))?;
    /// assert_eq!(y.to_vec::<f64>()?, [1.0, 2.5, 3.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// Jaderberg et al., "Spatial transformer networks", 2015.
    fn grid_sample(&self, grid: &Tensor, options: &GridSample) -> Result<Tensor> = grid_sample {
        samples: samples::grid_sample, errors: samples::grid_sample_errors
    };

    /// The grid for [`grid_sample`](Tensor::grid_sample) that affine maps make: place `p` of the result is at `A p + b` of the image, where
    /// the tensor holds `[A, b]` for each image.
    ///
    /// # Shapes
    /// `[images, 2, 3]` and a size of images, `[images, channels, height, width]`, give `[images, height, width, 2]`; `[images, 3, 4]` and a
    /// size `[images, channels, depth, height, width]` give `[images, depth, height, width, 3]`.
    ///
    /// # Dtypes
    /// Floats; integers become `f32`.
    ///
    /// # Derivative
    /// Linear.
    ///
    /// # Errors
    /// `Shape` if shape and size do not fit.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let shift = Tensor::from([[[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]]]);
    /// let grid = shift.affine_grid(&[1, 1, 1, 3], true)?;
    /// assert_eq!(grid.to_vec::<f64>()?, [-0.5, 0.0, 0.5, 0.0, 1.5, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn affine_grid(&self, size: &[usize], align_corners: bool) -> Result<Tensor> = affine_grid {
        samples: samples::affine_grid, errors: samples::affine_grid_errors,
        python: affine_grid(self as theta, size, align_corners = false)
    };
}

/// Images `[images, channels, ..]` at places `[images, places, dims]`, counted in elements: `[images, channels, places]`; or the
/// transpose, which takes what it makes back to images.
#[derive(Clone, Copy)]
struct At {
    sampler: Sampler,
    transposed: bool,
}

impl fmt::Debug for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sampler { curve, edge, dims, sizes, order } = &self.sampler;
        let mut f = f.debug_struct("GridSample");
        f.field("curve", curve)
            .field("edge", edge)
            .field("sizes", &&sizes[3 - dims..])
            .field("order", &&order[..*dims]);
        f.field("transposed", &self.transposed).finish()
    }
}

impl At {
    fn apply(self, a: &Tensor, places: &Tensor) -> Result<Tensor> {
        apply1(self, &[a, places])
    }

    fn transpose(self) -> At {
        At { transposed: !self.transposed, ..self }
    }

    /// With the slopes along a coordinate in the place of the weights; nothing if they are all zero.
    fn slope(mut self, coordinate: usize) -> Option<At> {
        let order = &mut self.sampler.order[coordinate];
        *order += 1;
        let last = match self.sampler.curve {
            Curve::Nearest => 0,
            Curve::Linear => 1,
            Curve::Cubic => 3,
        };
        (*order <= last).then_some(self)
    }

    /// The tensor with two dimensions, of which the second has the given size, in the place of `dim`.
    fn split(t: &Tensor, dim: usize, inner: usize, lanes: usize) -> Result<Tensor> {
        let mut shape = with_dim(t.shape(), dim, lanes);
        shape[dim + 1] = inner;
        t.reshape_to(&shape)
    }

    /// The tensor whose lanes, at the front, are a part of dimension `dim`, before what it holds.
    fn join(t: &Tensor, dim: usize) -> Result<Tensor> {
        let t = move_dim(t, 0, dim)?;
        let mut shape = Shape::from_slice(t.shape());
        let lanes = shape.remove(dim);
        shape[dim] *= lanes;
        t.reshape_to(&shape)
    }
}

impl Op for At {
    fn name(&self) -> &str {
        "grid_sample"
    }
    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let (a, places) = (inputs[0].concrete(), inputs[1].concrete());
        let kernel = if self.transposed { spread } else { sample };
        Ok(smallvec![kernel(a, places, &self.sampler)?.into()])
    }
    fn save(&self, needs: &[bool], inputs: &[&Tensor], _: &[Tensor]) -> Result<Saved> {
        // The images only where the grid has a derivative.
        Ok(if needs[1] { Saved::tensors([inputs[1], inputs[0]]) } else { Saved::tensors([inputs[1]]) })
    }
    fn backward(&self, saved: &Saved, needs: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        let Some(g) = grads[0].as_tensor() else { return Ok(smallvec![Cotangent::zero(), Cotangent::zero()]) };
        let places = &saved.tensors[0];
        let of_a = if needs[0] { self.transpose().apply(g, places)?.into() } else { Cotangent::zero() };
        if !needs[1] {
            return Ok(smallvec![of_a, Cotangent::zero()]);
        }
        let a = &saved.tensors[1];
        let dims = self.sampler.dims;
        // Both ways it is the images that are looked up, and the other one that weighs what is found.
        let (image, weight) = if self.transposed { (g, a) } else { (a, g) };
        let find = At { transposed: false, ..*self };
        let mut parts: SmallVec<[Option<Tensor>; 3]> = SmallVec::new();
        for k in 0..dims {
            parts.push(match find.slope(k) {
                None => None,
                Some(find) => Some(mul_owned(find.apply(image, places)?, weight.clone())?.sum_dims(&[1], false)?),
            });
        }
        let Some(like) = parts.iter().flatten().next() else { return Ok(smallvec![of_a, Cotangent::zero()]) };
        let zero = Tensor::zeros(like.shape(), like.dtype())?;
        let all: SmallVec<[&Tensor; 3]> = parts.iter().map(|p| p.as_ref().unwrap_or(&zero)).collect();
        Ok(smallvec![of_a, crate::stack(&all, -1)?.into()])
    }
    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        let places = &saved.tensors[0];
        let mut sum = tangents[0].map(|t| self.apply(t, places))?;
        if let Some(t) = tangents[1].as_tensor() {
            let a = &saved.tensors[1];
            for (k, slope) in (0..self.sampler.dims).filter_map(|k| Some((k, self.slope(k)?))) {
                let t = t.select(-1, k as isize)?.unsqueeze(1)?;
                sum.accumulate(match self.transposed {
                    false => mul_owned(slope.apply(a, places)?, t)?,
                    true => slope.apply(&a.mul(&t)?, places)?,
                })?;
            }
        }
        Ok(smallvec![sum])
    }
    fn vmap(&self, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        let lanes = info.batch_size;
        let front = |k: usize| batch::materialize(inputs[k], dims[k], lanes);
        let (out, dim) = match (dims[0], dims[1]) {
            (Some(_), None) => {
                let channels = inputs[0].shape()[if dims[0] > Some(1) { 1 } else { 2 }];
                let y = self.apply(&At::join(&front(0)?, 1)?, inputs[1])?;
                (At::split(&y, 1, channels, lanes)?, 1)
            }
            (None, Some(_)) if !self.transposed => {
                let places = front(1)?;
                let count = places.shape()[2];
                let y = self.apply(inputs[0], &At::join(&places, 1)?)?;
                (At::split(&y, 2, count, lanes)?, 2)
            }
            _ => {
                let (a, places) = (front(0)?, front(1)?);
                let images = a.shape()[1];
                let y = self.apply(&At::join(&a, 0)?, &At::join(&places, 0)?)?;
                (At::split(&y, 0, images, lanes)?, 0)
            }
        };
        Ok((smallvec![out], smallvec![Some(dim)]))
    }
}

fn grid_sample(x: &Tensor, grid: &Tensor, options: &GridSample) -> Result<Tensor> {
    let op = "grid_sample";
    let dims = x.rank().saturating_sub(2);
    if !(2..=3).contains(&dims) {
        bail!(
            Shape,
            "{op}: expected images [images, channels, ..] with two or three spatial dimensions, got {}",
            x.ty()
        );
    }
    if grid.rank() != dims + 2 || grid.shape()[0] != x.shape()[0] || grid.shape()[dims + 1] != dims {
        bail!(
            Shape,
            "{op}: expected a grid [{}, .., {dims}] with {dims} dimensions of places for images {}, got {}",
            x.shape()[0],
            x.ty(),
            grid.ty()
        );
    }
    if x.shape()[2..].contains(&0) {
        bail!(Shape, "{op}: expected images with elements, got {}", x.ty());
    }
    if options.mode == GridMode::Cubic && dims == 3 {
        bail!(Value, "{op}: expected `Cubic` for two spatial dimensions only, got {}", x.ty());
    }
    let mut shape = Shape::from_slice(&x.shape()[..2]);
    shape.extend_from_slice(&grid.shape()[1..=dims]);
    crate::tensor::checked_numel(op, &shape)?;
    let (x, grid) = (to_real_float(op, x)?, to_real_float(op, grid)?);
    with_common_dtype(&x, &grid, true, |x, grid| {
        let (half, mut sizes) = (x.dtype().is_half(), [1; 3]);
        // Places in half precision would lie beside their elements.
        let wide = |t: &Tensor| if half { t.to_dtype(DType::F32) } else { Ok(t.clone()) };
        sizes[3 - dims..].copy_from_slice(&x.shape()[2..]);
        let grid = wide(grid)?.reshape_to(&[grid.shape()[0], shape[2..].iter().product(), dims])?;
        let places = in_elements(&grid, &sizes[3 - dims..], options)?;
        let curve = match options.mode {
            GridMode::Nearest => Curve::Nearest,
            GridMode::Linear => Curve::Linear,
            GridMode::Cubic => Curve::Cubic,
        };
        let edge = match options.padding {
            // Others have been brought back into the image.
            _ if options.mode != GridMode::Cubic => Edge::Zeros,
            GridPadding::Zeros => Edge::Zeros,
            GridPadding::Border => Edge::Border,
            GridPadding::Reflection => Edge::Reflection { corners: options.align_corners },
        };
        let sampler = Sampler { curve, edge, dims, sizes, order: [0; 3] };
        let y = At { sampler, transposed: false }.apply(&wide(x)?, &places)?;
        y.reshape_to(&shape)?.to_dtype(x.dtype())
    })
}

/// The places of a grid counted in elements, brought back into the image where its padding says where they lie in it.
fn in_elements(grid: &Tensor, sizes: &[usize], options: &GridSample) -> Result<Tensor> {
    let (dtype, corners) = (grid.dtype(), options.align_corners);
    // A number for each coordinate.
    let each = |f: &dyn Fn(f64) -> f64| {
        let all: Vec<f64> = sizes.iter().rev().map(|&n| f(n as f64)).collect();
        Tensor::from(all).to_dtype(dtype)
    };
    let scale = each(&|n| if corners { (n - 1.0) / 2.0 } else { n / 2.0 })?;
    let mut places = grid.mul(scale)?.add(each(&|n| (n - 1.0) / 2.0)?)?;
    if options.padding == GridPadding::Zeros || options.mode == GridMode::Cubic {
        return Ok(places);
    }
    if options.padding == GridPadding::Reflection {
        let low = each(&|_| if corners { 0.0 } else { -0.5 })?;
        let span = each(&|n| if corners { (n - 1.0).max(1.0) } else { n })?;
        let fixed = places.detach()?;
        let past = fixed.sub(&low)?;
        let size = past.abs()?;
        let turns = size.div(&span)?.floor()?;
        let rest = size.sub(turns.mul(&span)?)?;
        let back = turns.remainder(2.0)?.ne(0.0)?;
        let mirrored = back.where_(span.sub(&rest)?, &rest)?.add(&low)?;
        // The way of a place, forwards or backwards, and where it goes.
        let way = past.lt(0.0)?.ne(&back)?.where_(-1.0, 1.0)?.to_dtype(dtype)?;
        places = places.sub(&fixed)?.mul(way)?.add(mirrored)?;
    }
    let fixed = places.detach()?;
    let (zero, last) = (each(&|_| 0.0)?, each(&|n| n - 1.0)?);
    let inside = fixed.gt(&zero)?.logical_and(fixed.lt(&last)?)?;
    inside.where_(&places, &fixed.maximum(&zero)?.minimum(&last)?)
}

fn affine_grid(theta: &Tensor, size: &[usize], align_corners: bool) -> Result<Tensor> {
    let op = "affine_grid";
    let dims = size.len().saturating_sub(2);
    if !(2..=3).contains(&dims) || theta.shape() != [size[0], dims, dims + 1] {
        bail!(
            Shape,
            "{op}: expected maps [images, 2, 3] and a size of 4 numbers, or [images, 3, 4] and 5, with as many images, got {} and \
            {size:?}",
            theta.ty()
        );
    }
    let theta = to_real_float(op, theta)?;
    let mut shape = Shape::from_slice(&size[..1]);
    shape.extend_from_slice(&size[2..]);
    shape.push(dims);
    crate::tensor::checked_numel(op, &shape)?;
    // Column `k` of the maps, with ones for the places.
    let column = |k: usize| -> Result<Tensor> {
        let mut own = Shape::from_elem(1, dims + 2);
        (own[0], own[dims + 1]) = (size[0], dims);
        theta.select(2, k as isize)?.reshape_to(&own)
    };
    let mut grid = column(dims)?;
    // From the first spatial dimension on, so that the largest tensors come last.
    for (d, &n) in size[2..].iter().enumerate() {
        let place = |k: usize| match (align_corners, n) {
            (true, 1) => 0.0,
            (true, n) => 2.0 * k as f64 / (n - 1) as f64 - 1.0,
            (false, n) => (2 * k + 1) as f64 / n as f64 - 1.0,
        };
        let mut along = Shape::from_elem(1, dims + 2);
        along[d + 1] = n;
        let places = Tensor::from((0..n).map(place).collect::<Vec<f64>>()).to_dtype(theta.dtype())?;
        grid = grid.add(places.reshape_to(&along)?.mul(column(dims - 1 - d)?)?)?;
    }
    grid.unchanged(op)
}
