//! The calls of the table: their arguments are checked, sizes fitted, and the dims transformed one after the other.

use super::Norm;
use super::transform::{Fourier, FromReal, ToReal};
use crate::error::bail;
use crate::ops::family::linear;
use crate::shape::{Dims, Shape, resolve_dim, with_dim, without_dim};
use crate::tensor::checked_numel;
use crate::{Result, Tensor, cat};

/// Complex numbers, of whatever numbers are given.
fn to_complex(x: &Tensor) -> Result<Tensor> {
    x.to_dtype(x.dtype().to_complex())
}

/// Real numbers whose parts can be transformed.
fn to_real(op: &str, x: &Tensor) -> Result<Tensor> {
    if x.dtype().is_complex() {
        bail!(Dtype, "{op}: expected real numbers, got {}", x.ty(); help = "transform complex numbers by `fft`");
    }
    x.to_dtype(x.dtype().to_complex().to_real())
}

/// A dim and how many elements are transformed along it.
type Along = (usize, usize);

fn check_size(op: &str, x: &Tensor, (dim, n): Along) -> Result<()> {
    if n == 0 {
        bail!(Shape, "{op}: expected at least one element along dim {dim} of {}, got 0", x.ty());
    }
    Ok(())
}

/// The dim of a transform of one, and its length.
fn along(op: &str, x: &Tensor, n: Option<usize>, dim: isize) -> Result<Along> {
    let dim = resolve_dim(op, dim, x.rank(), x.ty())?;
    let along = (dim, n.unwrap_or(x.shape()[dim]));
    check_size(op, x, along)?;
    Ok(along)
}

/// The dims of a transform of several, and their lengths.
fn along_all(op: &str, x: &Tensor, s: Option<&[usize]>, dims: Option<&[isize]>) -> Result<Vec<Along>> {
    let places: Dims = match (dims, s) {
        (Some(dims), _) => {
            let mut places = Dims::new();
            for &d in dims {
                let place = resolve_dim(op, d, x.rank(), x.ty())?;
                if places.contains(&place) {
                    bail!(Dim, "{op}: dim {d} is given twice for {}", x.ty());
                }
                places.push(place);
            }
            places
        }
        (None, Some(s)) if s.len() <= x.rank() => (x.rank() - s.len()..x.rank()).collect(),
        (None, Some(s)) => bail!(Shape, "{op}: expected at most {} sizes for {}, got {}", x.rank(), x.ty(), s.len()),
        (None, None) => (0..x.rank()).collect(),
    };
    if let Some(s) = s
        && s.len() != places.len()
    {
        bail!(Shape, "{op}: expected a size for each of {} dims, got {}", places.len(), s.len());
    }
    let all: Vec<Along> = places.iter().enumerate().map(|(k, &d)| (d, s.map_or(x.shape()[d], |s| s[k]))).collect();
    for &along in &all {
        check_size(op, x, along)?;
    }
    Ok(all)
}

/// `x` with `n` elements along `dim`: cut off, or filled up with zeros.
fn fit(x: &Tensor, (dim, n): Along) -> Result<Tensor> {
    let size = x.shape()[dim];
    if n <= size {
        return if n == size { Ok(x.clone()) } else { x.narrow(dim as isize, 0, n) };
    }
    let zeros = Tensor::zeros(&with_dim(&without_dim(x.shape(), dim), dim, n - size), x.dtype())?;
    cat(&[x, &zeros], dim as isize)
}

/// An error if the sizes together are too large, before any of them is made.
fn check_all(op: &str, x: &Tensor, all: &[Along]) -> Result<()> {
    let mut shape = Shape::from_slice(x.shape());
    for &(dim, n) in all {
        shape[dim] = n;
    }
    checked_numel(op, &shape).map(|_| ())
}

/// The transform of complex numbers along all of the dims.
fn transform(op: &str, x: &Tensor, all: &[Along], inverse: bool, norm: Norm) -> Result<Tensor> {
    check_all(op, x, all)?;
    let mut x = to_complex(x)?;
    for &along in all {
        x = fit(&x, along)?;
    }
    if all.is_empty() {
        return Ok(x);
    }
    let scale = norm.scale(all.iter().map(|a| a.1).product(), inverse);
    linear(Fourier { dims: all.iter().map(|a| a.0).collect(), inverse, scale }, &x)
}

/// The half of the transform of real numbers along all of the dims, by halves along the last one.
fn half(op: &str, x: &Tensor, all: &[Along], norm: Norm) -> Result<Tensor> {
    let x = to_real(op, x)?;
    check_all(op, &x, all)?;
    let Some((&(dim, n), others)) = all.split_last() else {
        bail!(Dim, "{op}: expected at least one dimension of {}, got none", x.ty());
    };
    let y = linear(FromReal { dim, doubled: false, scale: norm.scale(n, false) }, &fit(&x, (dim, n))?)?;
    transform(op, &y, others, false, norm)
}

/// The inverse of [`half`].
fn whole(op: &str, x: &Tensor, all: &[Along], norm: Norm) -> Result<Tensor> {
    let Some((&(dim, n), others)) = all.split_last() else {
        bail!(Dim, "{op}: expected at least one dimension of {}, got none", x.ty());
    };
    check_all(op, x, all)?;
    let x = transform(op, &fit(x, (dim, n / 2 + 1))?, others, true, norm)?;
    linear(ToReal { dim, n, halved: false, scale: norm.scale(n, true) }, &x)
}

/// How many numbers a half of `m` values stands for, unless it is said.
fn length(op: &str, x: &Tensor, n: Option<usize>, dim: isize) -> Result<Along> {
    let (dim, m) = along(op, x, None, dim)?;
    let along = (dim, n.unwrap_or(2 * (m - 1)));
    check_size(op, x, along)?;
    Ok(along)
}

fn lengths(op: &str, x: &Tensor, s: Option<&[usize]>, dims: Option<&[isize]>) -> Result<Vec<Along>> {
    let mut all = along_all(op, x, s, dims)?;
    if let (None, Some(last)) = (s, all.last_mut()) {
        last.1 = 2 * (last.1 - 1);
        check_size(op, x, *last)?;
    }
    Ok(all)
}

pub(super) fn fft_of(x: &Tensor, n: Option<usize>, dim: isize, norm: Norm) -> Result<Tensor> {
    transform("fft", x, &[along("fft", x, n, dim)?], false, norm)
}

pub(super) fn ifft_of(x: &Tensor, n: Option<usize>, dim: isize, norm: Norm) -> Result<Tensor> {
    transform("ifft", x, &[along("ifft", x, n, dim)?], true, norm)
}

pub(super) fn rfft_of(x: &Tensor, n: Option<usize>, dim: isize, norm: Norm) -> Result<Tensor> {
    half("rfft", x, &[along("rfft", x, n, dim)?], norm)
}

pub(super) fn irfft_of(x: &Tensor, n: Option<usize>, dim: isize, norm: Norm) -> Result<Tensor> {
    whole("irfft", x, &[length("irfft", x, n, dim)?], norm)
}

pub(super) fn hfft_of(x: &Tensor, n: Option<usize>, dim: isize, norm: Norm) -> Result<Tensor> {
    whole("hfft", &x.conj()?, &[length("hfft", x, n, dim)?], norm.swapped())
}

pub(super) fn ihfft_of(x: &Tensor, n: Option<usize>, dim: isize, norm: Norm) -> Result<Tensor> {
    half("ihfft", x, &[along("ihfft", x, n, dim)?], norm.swapped())?.conj()
}

pub(super) fn fftn_of(x: &Tensor, s: Option<&[usize]>, dims: Option<&[isize]>, norm: Norm) -> Result<Tensor> {
    transform("fftn", x, &along_all("fftn", x, s, dims)?, false, norm)
}

pub(super) fn ifftn_of(x: &Tensor, s: Option<&[usize]>, dims: Option<&[isize]>, norm: Norm) -> Result<Tensor> {
    transform("ifftn", x, &along_all("ifftn", x, s, dims)?, true, norm)
}

pub(super) fn rfftn_of(x: &Tensor, s: Option<&[usize]>, dims: Option<&[isize]>, norm: Norm) -> Result<Tensor> {
    half("rfftn", x, &along_all("rfftn", x, s, dims)?, norm)
}

pub(super) fn irfftn_of(x: &Tensor, s: Option<&[usize]>, dims: Option<&[isize]>, norm: Norm) -> Result<Tensor> {
    whole("irfftn", x, &lengths("irfftn", x, s, dims)?, norm)
}

pub(super) fn fft2_of(x: &Tensor, s: Option<&[usize]>, dims: [isize; 2], norm: Norm) -> Result<Tensor> {
    transform("fft2", x, &along_all("fft2", x, s, Some(&dims))?, false, norm)
}

pub(super) fn ifft2_of(x: &Tensor, s: Option<&[usize]>, dims: [isize; 2], norm: Norm) -> Result<Tensor> {
    transform("ifft2", x, &along_all("ifft2", x, s, Some(&dims))?, true, norm)
}

pub(super) fn rfft2_of(x: &Tensor, s: Option<&[usize]>, dims: [isize; 2], norm: Norm) -> Result<Tensor> {
    half("rfft2", x, &along_all("rfft2", x, s, Some(&dims))?, norm)
}

pub(super) fn irfft2_of(x: &Tensor, s: Option<&[usize]>, dims: [isize; 2], norm: Norm) -> Result<Tensor> {
    whole("irfft2", x, &lengths("irfft2", x, s, Some(&dims))?, norm)
}

/// The elements moved by a part of the size of each dim.
fn shift(op: &str, x: &Tensor, dims: Option<&[isize]>, by: fn(usize) -> usize) -> Result<Tensor> {
    let all: Vec<isize> = (0..x.rank() as isize).collect();
    let dims = dims.unwrap_or(&all);
    let mut shifts = Vec::with_capacity(dims.len());
    for &d in dims {
        shifts.push(by(x.shape()[resolve_dim(op, d, x.rank(), x.ty())?]) as isize);
    }
    if dims.is_empty() { x.unchanged(op) } else { x.roll(&shifts, dims) }
}

pub(super) fn fftshift_of(x: &Tensor, dims: Option<&[isize]>) -> Result<Tensor> {
    shift("fftshift", x, dims, |n| n / 2)
}

pub(super) fn ifftshift_of(x: &Tensor, dims: Option<&[isize]>) -> Result<Tensor> {
    shift("ifftshift", x, dims, |n| n.div_ceil(2))
}
