//! Shapes that another tensor has, and mirror images of matrices.

use super::broadcast_to;
use crate::error::bail;
use crate::ops::table::{ErrorSample, Naive, Sample, failing, ops, sample_tensor};
use crate::shape::broadcasts_to;
use crate::{ErrorKind, Result, Tensor};

ops! { OPS;
    /// All elements in row-major order, as a vector.
    ///
    /// # Shapes
    /// A vector.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The reshape back.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([[1, 2], [3, 4]]).ravel()?.shape(), [4]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn ravel(&self) -> Result<Tensor> = ravel { samples: ravel_samples };

    /// The same elements in row-major order under the shape of another tensor.
    ///
    /// # Shapes
    /// That of `other`, which must have as many elements.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The reshape back.
    ///
    /// # Errors
    /// `Shape` if the numbers of elements differ.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([1, 2, 3, 4]).reshape_as(&Tensor::from([[0, 0], [0, 0]]))?;
    /// assert_eq!(x.shape(), [2, 2]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn reshape_as(&self, other: &Tensor) -> Result<Tensor> = reshape_as {
        samples: reshape_as_samples, errors: reshape_as_errors,
        python: reshape_as(self, other), python: view_as(self, other)
    };

    /// The tensor repeated to the shape of another one, without copying.
    ///
    /// # Shapes
    /// That of `other`, to which the tensor must broadcast.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The sum over the repetitions.
    ///
    /// # Errors
    /// `Shape` if it does not broadcast.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([1, 2]).expand_as(&Tensor::from([[0, 0], [0, 0]]))?;
    /// assert_eq!(x.to_vec::<i32>()?, [1, 2, 1, 2]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn expand_as(&self, other: &Tensor) -> Result<Tensor> = expand_as {
        samples: expand_as_samples, errors: expand_as_errors,
        python: expand_as(self, other)
    };

    /// The columns in reverse order: a matrix turned over from left to right.
    ///
    /// # Shapes
    /// That of the tensor, which has at least two dimensions.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The same reversal.
    ///
    /// # Errors
    /// `Shape` for fewer than two dimensions.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([[1, 2], [3, 4]]).fliplr()?.to_vec::<i32>()?, [2, 1, 4, 3]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn fliplr(&self) -> Result<Tensor> = fliplr { samples: fliplr_samples, errors: fliplr_errors };

    /// The rows in reverse order: a matrix turned upside down.
    ///
    /// # Shapes
    /// That of the tensor, which has at least one dimension.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The same reversal.
    ///
    /// # Errors
    /// `Shape` for a 0-d tensor.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([[1, 2], [3, 4]]).flipud()?.to_vec::<i32>()?, [3, 4, 1, 2]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn flipud(&self) -> Result<Tensor> = flipud { samples: flipud_samples, errors: flipud_errors };
}

fn ravel(x: &Tensor) -> Result<Tensor> {
    x.reshape_to(&[x.numel()])
}

fn reshape_as(x: &Tensor, other: &Tensor) -> Result<Tensor> {
    if x.numel() != other.numel() {
        bail!(Shape, "reshape_as: expected as many elements as {} has, got {}", other.ty(), x.ty());
    }
    x.reshape_to(other.shape())
}

fn expand_as(x: &Tensor, other: &Tensor) -> Result<Tensor> {
    if !broadcasts_to(x.shape(), other.shape()) {
        bail!(Shape, "expand_as: {} does not broadcast to the shape of {}", x.ty(), other.ty());
    }
    broadcast_to(x, other.shape())
}

/// `x` reversed along `dim`, if it has at least so many dimensions.
fn mirrored(op: &str, x: &Tensor, dim: isize, least: usize) -> Result<Tensor> {
    if x.rank() < least {
        bail!(Shape, "{op}: expected at least {least} dims, got {}", x.ty());
    }
    x.flip(&[dim])
}

fn fliplr(x: &Tensor) -> Result<Tensor> {
    mirrored("fliplr", x, 1, 2)
}

fn flipud(x: &Tensor) -> Result<Tensor> {
    mirrored("flipud", x, 0, 1)
}

/// Samples whose elements are those of the tensor at other places.
fn moved(shapes: &[&[usize]], call: fn(&Tensor) -> Result<Tensor>, reference: fn(&Naive) -> Naive) -> Vec<Sample> {
    let sample = |shape: &&[usize]| {
        Sample::one(format!("{shape:?}"), [sample_tensor(shape, -1.0, 1.0, 1)], move |x| call(&x[0]))
            .reference(move |x| vec![reference(&x[0])])
    };
    shapes.iter().map(sample).collect()
}

fn ravel_samples() -> Vec<Sample> {
    let flat = |x: &Naive| Naive { shape: vec![x.data.len()], data: x.data.clone() };
    moved(&[&[2, 3], &[], &[0, 2]], Tensor::ravel, flat)
}

/// Samples with a second tensor, whose shape alone counts.
fn like(cases: &[(&[usize], &'static [usize])], call: fn(&Tensor, &Tensor) -> Result<Tensor>) -> Vec<Sample> {
    let sample = |&(from, to): &(&[usize], &'static [usize])| {
        let other = sample_tensor(to, -1.0, 1.0, 2);
        Sample::one(format!("{from:?} as {to:?}"), [sample_tensor(from, -1.0, 1.0, 1)], move |x| call(&x[0], &other))
    };
    cases.iter().map(sample).collect()
}

fn reshape_as_samples() -> Vec<Sample> {
    let cases: [(&[usize], &'static [usize]); 3] = [(&[2, 3], &[3, 2]), (&[], &[1, 1]), (&[0, 2], &[0])];
    let of = |(sample, (_, to)): (Sample, (&[usize], &'static [usize]))| {
        sample.reference(move |x| vec![Naive { shape: to.to_vec(), data: x[0].data.clone() }])
    };
    like(&cases, Tensor::reshape_as).into_iter().zip(cases).map(of).collect()
}

fn reshape_as_errors() -> Vec<ErrorSample> {
    vec![failing("elements", ErrorKind::Shape, "expected as many elements as f64[] has, got f64[2]", &[2], |x| {
        x.reshape_as(&Tensor::from(1.0))
    })]
}

fn expand_as_samples() -> Vec<Sample> {
    let cases: [(&[usize], &'static [usize]); 3] = [(&[3], &[2, 3]), (&[], &[2]), (&[1], &[0])];
    let of = |(sample, (_, to)): (Sample, (&[usize], &'static [usize]))| {
        sample.reference(move |x| vec![Naive::from_fn(to, |i| x[0].at_broadcast(i))])
    };
    like(&cases, Tensor::expand_as).into_iter().zip(cases).map(of).collect()
}

fn expand_as_errors() -> Vec<ErrorSample> {
    vec![failing("shape", ErrorKind::Shape, "expand_as: f64[2] does not broadcast to the shape of f64[]", &[2], |x| {
        x.expand_as(&Tensor::from(1.0))
    })]
}

fn fliplr_samples() -> Vec<Sample> {
    moved(&[&[2, 3], &[2, 2, 2], &[0, 2]], Tensor::fliplr, |x| {
        Naive::from_fn(&x.shape, |i| {
            let mut own = i.to_vec();
            own[1] = x.shape[1] - 1 - i[1];
            x.at(&own)
        })
    })
}

fn fliplr_errors() -> Vec<ErrorSample> {
    vec![failing("vector", ErrorKind::Shape, "fliplr: expected at least 2 dims, got f64[2]", &[2], Tensor::fliplr)]
}

fn flipud_samples() -> Vec<Sample> {
    moved(&[&[2, 3], &[4], &[0, 2]], Tensor::flipud, |x| {
        Naive::from_fn(&x.shape, |i| {
            let mut own = i.to_vec();
            own[0] = x.shape[0] - 1 - i[0];
            x.at(&own)
        })
    })
}

fn flipud_errors() -> Vec<ErrorSample> {
    vec![failing("0-d", ErrorKind::Shape, "flipud: expected at least 1 dims, got f64[]", &[], Tensor::flipud)]
}
