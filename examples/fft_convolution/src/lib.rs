//! Convolution of real signals by fast Fourier transforms, with [rustfft](https://docs.rs/rustfft).
//!
//! What it shows about operations of your own:
//! - a bilinear operation, whose derivatives belong to the same family: those of a convolution are correlations, those of
//!   a correlation are convolutions and correlations. A flag of one [`Function`] covers all, and every order exists;
//! - `forward` goes through complex numbers, which the library does not have, and no rule needs them;
//! - a hand-written batching rule that moves lanes to leading dimensions, where one plan transforms all of them;
//! - variants ([`convolve`] in two modes) are compositions of the one operation with those of the library.

mod transform;

use pullback::{
    Context, Cotangent, DType, Dims, Error, ErrorKind, Function, Result, Tangent, Tensor, TensorType, VmapInfo, cat,
};

/// What happens at the ends of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The signal repeats for ever; the result is as long as the signal.
    Circular,
    /// There are zeros around the signal; for lengths `n` and `m` the result has length `n + m - 1`.
    Full,
}

/// The convolution `yᵢ = Σⱼ kⱼ·xᵢ₋ⱼ` of signals with a kernel, along the last dimension.
///
/// # Shapes
/// `x: [.., n]` and `kernel: [.., m]`, whose leading dimensions broadcast; in circular mode `m` is at most `n`.
///
/// # Dtypes
/// `f32` or `f64`, the same for both.
///
/// # Derivative
/// It is linear in both arguments; see [`CircularConvolution`].
///
/// # Errors
/// `Shape` and `Dtype` for other arguments.
///
/// # Example
/// ```
/// use fft_convolution::{Mode, convolve};
/// use pullback::{Tensor, grad};
///
/// let (x, kernel) = (Tensor::from([1.0, 2.0, 3.0]), Tensor::from([1.0, 10.0]));
/// let y = convolve(&x, &kernel, Mode::Full)?;
/// assert!(y.allclose(&Tensor::from([1.0, 12.0, 23.0, 30.0]), 0.0, 1e-12)?);
/// let slope = grad(|k: &Tensor| convolve(&x, k, Mode::Circular)?.i(0)?.sum())(&kernel)?;
/// assert!(slope.allclose(&Tensor::from([1.0, 3.0]), 0.0, 1e-12)?);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn convolve(x: &Tensor, kernel: &Tensor, mode: Mode) -> Result<Tensor> {
    let (Some(&n), Some(&m)) = (x.shape().last(), kernel.shape().last()) else {
        return Err(shape_error(format!("expected [.., n] and [.., m], got {} and {}", x.ty(), kernel.ty())));
    };
    if n == 0 || m == 0 || (mode == Mode::Circular && m > n) {
        let message = format!("expected a kernel of 1 to {n} elements, got {} for {}", kernel.ty(), x.ty());
        return Err(shape_error(message));
    }
    let size = if mode == Mode::Circular { n } else { n + m - 1 };
    CircularConvolution::default().apply(&(padded(x, size)?, padded(kernel, size)?))
}

fn shape_error(message: String) -> Error {
    Error::new(ErrorKind::Shape, message).in_context("convolve")
}

/// `x` with zeros after it, up to a length of `size`.
fn padded(x: &Tensor, size: usize) -> Result<Tensor> {
    let mut shape = x.shape().to_vec();
    let Some(last) = shape.last_mut() else { return Ok(x.clone()) };
    *last = size - *last;
    if *last == 0 { Ok(x.clone()) } else { cat(&[x, &Tensor::zeros(&shape, x.dtype())?], -1) }
}

/// `(x, k) ↦ y` with `yᵢ = Σⱼ kⱼ·xᵢ₋ⱼ`, where indices are taken modulo the length, in `O(n log n)`.
///
/// # Shapes
/// `x: [.., n]` and `k: [.., n]`, whose leading dimensions broadcast. Each row is transformed once, also one that is
/// combined with many.
///
/// # Dtypes
/// `f32` or `f64`, the same for both.
///
/// # Derivative
/// With `x ⋆ k` for the correlation, where `yᵢ = Σⱼ kⱼ·xᵢ₊ⱼ`: reverse mode gives `g ⋆ k` for `x` and `g ⋆ x` for `k`. For the
/// correlation itself it gives the convolution of `g` and `k`, and `x ⋆ g`.
///
/// # Batching
/// Lanes become leading dimensions.
///
/// # Errors
/// `Shape` and `Dtype` for other arguments.
#[derive(Clone, Debug, Default)]
pub struct CircularConvolution {
    /// Computes the correlation instead.
    correlate: bool,
}

impl CircularConvolution {
    /// The convolution or the correlation of the same signals, with the result summed over dimensions along which `like`
    /// was repeated.
    fn rule(correlate: bool, x: &Tensor, k: &Tensor, like: &TensorType) -> Result<Tensor> {
        CircularConvolution { correlate }.apply(&(x.clone(), k.clone()))?.sum_to(&like.shape)
    }
}

impl Function for CircularConvolution {
    type Inputs = (Tensor, Tensor);
    type Outputs = Tensor;
    type Saved = (Tensor, Tensor);

    fn forward(&self, (x, k): &(Tensor, Tensor)) -> Result<Tensor> {
        let shape = check(&x.ty(), &k.ty())?;
        match x.dtype() {
            DType::F32 => transform::convolve::<f32>(x, k, &shape, self.correlate),
            _ => transform::convolve::<f64>(x, k, &shape, self.correlate),
        }
    }

    fn setup_context(&self, _: &mut Context<Self>, inputs: &(Tensor, Tensor), _: &Tensor) -> Result<(Tensor, Tensor)> {
        Ok(inputs.clone())
    }

    fn backward(&self, ctx: &Context<Self>, (x, k): &(Tensor, Tensor), g: Cotangent) -> Result<(Cotangent, Cotangent)> {
        let ((needs_x, needs_k), (x_type, k_type)) = (ctx.needs_input_grad(), ctx.input_types());
        let when = |needed: bool, rule: &dyn Fn(&Tensor) -> Result<Tensor>| match needed {
            true => g.map(rule),
            false => Ok(Cotangent::zero()),
        };
        Ok((
            when(*needs_x, &|g| Self::rule(!self.correlate, g, k, x_type))?,
            when(*needs_k, &|g| match self.correlate {
                false => Self::rule(true, g, x, k_type),
                true => Self::rule(true, x, g, k_type),
            })?,
        ))
    }

    fn jvp(&self, _: &Context<Self>, (x, k): &(Tensor, Tensor), (dx, dk): (Tangent, Tangent)) -> Result<Tangent> {
        let by_x = dx.map(|dx| self.apply(&(dx.clone(), k.clone())))?;
        let by_k = dk.map(|dk| self.apply(&(x.clone(), dk.clone())))?;
        Ok(by_x + by_k)
    }

    fn vmap(
        &self,
        _: &VmapInfo,
        (x_dim, k_dim): Dims<(Tensor, Tensor)>,
        (x, k): &(Tensor, Tensor),
    ) -> Result<(Tensor, Option<usize>)> {
        // Checked here, so that an error speaks of one lane.
        let rank = check(&lane_type(x, x_dim), &lane_type(k, k_dim))?.len();
        Ok((self.apply(&(to_front(x, x_dim, rank)?, to_front(k, k_dim, rank)?))?, Some(0)))
    }

    fn backward_is_linear(&self) -> bool {
        true
    }
}

/// The type that a lane sees.
fn lane_type(t: &Tensor, dim: Option<usize>) -> TensorType {
    let mut ty = t.ty();
    if let Some(dim) = dim {
        ty.shape.remove(dim);
    }
    ty
}

/// `t` with its lanes in front of `rank` other dimensions, of which those that it lacks have size 1, so that it broadcasts
/// as a lane of it would. A tensor without lanes is left as it is.
fn to_front(t: &Tensor, dim: Option<usize>, rank: usize) -> Result<Tensor> {
    let Some(dim) = dim else { return Ok(t.clone()) };
    let mut front = t.movedim(&[dim as isize], &[0])?;
    while front.rank() <= rank {
        front = front.unsqueeze(1)?;
    }
    Ok(front)
}

/// The shape of the result, or an error if there is none.
fn check(x: &TensorType, k: &TensorType) -> Result<Vec<usize>> {
    if !matches!(x.dtype, DType::F32 | DType::F64) || x.dtype != k.dtype {
        let message = format!("expected two f32 or two f64 tensors, got {x} and {k}");
        return Err(Error::new(ErrorKind::Dtype, message).with_help("convert them with `to_dtype`"));
    }
    let shape = match (x.shape.as_slice(), k.shape.as_slice()) {
        ([x_lead @ .., n], [k_lead @ .., m]) if n == m => {
            broadcast(x_lead, k_lead).map(|lead| [lead, vec![*n]].concat())
        }
        _ => None,
    };
    shape.ok_or_else(|| {
        let message = format!("expected [.., n] twice with leading dimensions that broadcast, got {x} and {k}");
        Error::new(ErrorKind::Shape, message)
    })
}

fn broadcast(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    // Sizes from the back; dimensions that are not there count as 1.
    let size = |shape: &[usize], k: usize| shape.len().checked_sub(rank - k).map_or(1, |k| shape[k]);
    (0..rank)
        .map(|k| match (size(a, k), size(b, k)) {
            (1, n) | (n, 1) => Some(n),
            (n, m) => (n == m).then_some(n),
        })
        .collect()
}
