//! Reductions over dimensions.

use super::family::{Linear, linear};
use super::shape::broadcast_to;
use super::table::{Naive, Sample, ops, sample_tensor};
use crate::array::Array;
use crate::error::bail;
use crate::kernels::reduce;
use crate::shape::{Brackets, Dims, Shape, broadcasts_to, resolve_dims};
use crate::{Result, Tensor};

ops! { OPS;
    /// The sum of all elements, as a 0-d tensor.
    ///
    /// # Dtypes
    /// All; integers and bools sum as `i64`.
    ///
    /// # Derivative
    /// The cotangent, repeated.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([1.0, 2.0]).sum()?.item::<f64>()?, 3.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn sum(&self) -> Result<Tensor> = sum_all { samples: sum_samples };

    /// The sum over `dims`, all of them if the list is empty.
    ///
    /// # Shapes
    /// The dimensions are removed, or kept with size 1 if `keepdim`.
    ///
    /// # Dtypes
    /// All; integers and bools sum as `i64`.
    ///
    /// # Derivative
    /// The cotangent, repeated along the dimensions.
    ///
    /// # Errors
    /// `Dim` if a dimension is out of range or given twice.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.sum_dims(&[0], false)?.to_vec::<f64>()?, [4.0, 6.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn sum_dims(&self, dims: &[isize], keepdim: bool) -> Result<Tensor> = sum_dims { samples: sum_dims_samples };

    /// The sum over everything that broadcasting repeated: the inverse of [`expand`](Tensor::expand) for cotangents.
    ///
    /// # Shapes
    /// `shape` must broadcast to the shape of the tensor.
    ///
    /// # Derivative
    /// The cotangent, expanded.
    ///
    /// # Errors
    /// `Shape` if it does not broadcast.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let g = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(g.sum_to(&[2])?.to_vec::<f64>()?, [4.0, 6.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn sum_to(&self, shape: &[usize]) -> Result<Tensor> = sum_to { samples: sum_to_samples };
}

/// The sum over some dimensions, in rising order, which are removed.
#[derive(Clone)]
struct Sum(Dims);

impl Linear for Sum {
    const NAME: &'static str = "sum";
    fn kernel(&self, x: &Array) -> Result<Array> {
        reduce::sum(x, &self.0)
    }
    fn transpose(&self, g: &Tensor, input: &[usize]) -> Result<Tensor> {
        let mut kept = Shape::from_slice(input);
        for &d in &self.0 {
            kept[d] = 1;
        }
        broadcast_to(&g.reshape_to(&kept)?, input)
    }
    fn batched(&self, _: usize) -> Sum {
        Sum(self.0.iter().map(|d| d + 1).collect())
    }
}

fn sum_all(x: &Tensor) -> Result<Tensor> {
    linear(Sum((0..x.rank()).collect()), x)
}

/// `shape` with the dimensions `dims` set to 1.
pub(crate) fn keep_dims(shape: &[usize], dims: &[usize]) -> Shape {
    let mut kept = Shape::from_slice(shape);
    for &d in dims {
        kept[d] = 1;
    }
    kept
}

fn sum_dims(x: &Tensor, dims: &[isize], keepdim: bool) -> Result<Tensor> {
    let mut dims = resolve_dims("sum", dims, x.rank(), x.ty())?;
    dims.sort_unstable();
    let kept = keepdim.then(|| keep_dims(x.shape(), &dims));
    let sum = linear(Sum(dims), x)?;
    match kept {
        Some(shape) => sum.reshape_to(&shape),
        None => Ok(sum),
    }
}

fn sum_to(x: &Tensor, shape: &[usize]) -> Result<Tensor> {
    if x.shape() == shape {
        return Ok(x.clone());
    }
    if !broadcasts_to(shape, x.shape()) {
        bail!(Shape, "sum_to: {} does not broadcast to {}", Brackets(shape), x.ty());
    }
    let lead = x.rank() - shape.len();
    let dims: Dims = (0..x.rank()).filter(|&k| k < lead || (shape[k - lead] == 1 && x.shape()[k] != 1)).collect();
    linear(Sum(dims), x)?.reshape_to(shape)
}

/// The naive sum over `dims`, which are removed.
fn naive_sum(x: &Naive, dims: &[usize], keepdim: bool) -> Naive {
    let out: Vec<usize> = x.shape.iter().enumerate().map(|(k, &n)| if dims.contains(&k) { 1 } else { n }).collect();
    let mut sums = Naive::from_fn(&out, |_| 0.0);
    Naive::from_fn(&x.shape, |i| {
        let mut flat = 0;
        for (k, &n) in out.iter().enumerate() {
            flat = flat * n + if n == 1 { 0 } else { i[k] };
        }
        sums.data[flat] += x.at(i);
        0.0
    });
    if !keepdim {
        sums.shape = x.shape.iter().enumerate().filter(|(k, _)| !dims.contains(k)).map(|(_, &n)| n).collect();
    }
    sums
}

fn sum_samples() -> Vec<Sample> {
    [&[2usize, 3][..], &[], &[0, 2]]
        .into_iter()
        .map(|shape| {
            Sample::one(format!("{shape:?}"), [sample_tensor(shape, -1.0, 1.0, 1)], |x| x[0].sum())
                .reference(|x| vec![Naive { shape: vec![], data: vec![x[0].data.iter().sum()] }])
        })
        .collect()
}

fn sum_dims_samples() -> Vec<Sample> {
    let case = |shape: &[usize], dims: &'static [isize], resolved: &'static [usize], keepdim: bool| {
        Sample::one(format!("{dims:?} keepdim {keepdim}"), [sample_tensor(shape, -1.0, 1.0, 1)], move |x| {
            x[0].sum_dims(dims, keepdim)
        })
        .reference(move |x| vec![naive_sum(&x[0], resolved, keepdim)])
    };
    vec![
        case(&[2, 3, 2], &[1], &[1], false),
        case(&[2, 3, 2], &[-1, 0], &[0, 2], false),
        case(&[2, 3], &[0], &[0], true),
        case(&[2, 3], &[], &[0, 1], true),
        case(&[2, 0], &[1], &[1], false),
    ]
}

fn sum_to_samples() -> Vec<Sample> {
    let case = |from: &[usize], to: &'static [usize], dims: &'static [usize]| {
        Sample::one(format!("{from:?} to {to:?}"), [sample_tensor(from, -1.0, 1.0, 1)], move |x| x[0].sum_to(to))
            .reference(move |x| vec![Naive { shape: to.to_vec(), ..naive_sum(&x[0], dims, true) }])
    };
    vec![case(&[2, 3], &[3], &[0]), case(&[2, 3], &[2, 1], &[1]), case(&[2, 3], &[], &[0, 1])]
}
