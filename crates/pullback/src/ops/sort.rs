//! Sorting, and selecting the largest or smallest.

use std::fmt;

use smallvec::smallvec;

use super::discrete::{Discrete, discrete};
use super::family::vmap_front;
use super::shape::broadcast_to;
use super::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::array::Array;
use crate::error::bail;
use crate::function::op::{Batched, Cotangents, Op, Tangents};
use crate::function::{Cotangent, OpRef, Outs, Saved, Tangent, VmapInfo};
use crate::interp::bind;
use crate::kernels::half::widened;
use crate::kernels::sort as kernel;
use crate::shape::resolve_dim;
use crate::{DType, ErrorKind, Result, Tensor};

ops! { OPS;
    /// The elements in order along `dim`, and the positions where they were, as `i64`.
    ///
    /// The order is stable: equal elements stay as they came. NaN is the largest.
    ///
    /// # Shapes
    /// Both results have that of the tensor.
    ///
    /// # Dtypes
    /// All; `false` comes before `true`.
    ///
    /// # Derivative
    /// Tangents and cotangents move with their elements; ties are resolved as the order resolves them.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (values, indices) = Tensor::from([3.0, 1.0, 2.0]).sort(0, false)?;
    /// assert_eq!(values.to_vec::<f64>()?, [1.0, 2.0, 3.0]);
    /// assert_eq!(indices.to_vec::<i64>()?, [1, 2, 0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn sort(&self, dim: isize, descending: bool) -> Result<(Tensor, Tensor)> = sort {
        samples: sort_samples, errors: sort_errors,
        python: sort(dim = -1, descending = false, +stable: bool = false) -> (values, indices)
    };

    /// The positions of the elements in order along `dim`, as `i64`: the second result of [`sort`](Tensor::sort).
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// None: the result is discrete.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([3.0, 1.0, 2.0]).argsort(0, true)?.to_vec::<i64>()?, [0, 2, 1]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn argsort(&self, dim: isize, descending: bool) -> Result<Tensor> = argsort {
        samples: argsort_samples, errors: argsort_errors,
        python: argsort(dim = -1, descending = false, +stable: bool = false)
    };

    /// The `k` largest (or smallest) elements along `dim`, and the positions where they were, as `i64`.
    ///
    /// Of equal elements the first are taken. NaN is the largest. The results are in falling (or rising) order if
    /// `sorted`, else in the order in which they were.
    ///
    /// # Shapes
    /// Both results have that of the tensor with size `k` in `dim`.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// Tangents and cotangents move with their elements; elements that were not taken get none.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Value` if `k` is larger than the dimension.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (values, indices) = Tensor::from([1.0, 4.0, 2.0, 3.0]).topk(2, 0, true, true)?;
    /// assert_eq!(values.to_vec::<f64>()?, [4.0, 3.0]);
    /// assert_eq!(indices.to_vec::<i64>()?, [1, 3]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn topk(&self, k: usize, dim: isize, largest: bool, sorted: bool) -> Result<(Tensor, Tensor)> = topk {
        samples: topk_samples, errors: topk_errors,
        python: topk(k, dim = -1, largest = true, sorted = true) -> (values, indices)
    };

    /// The element that comes at place `k`, counted from 1, if those along `dim` are put in rising order, and the position where it
    /// was, as `i64`.
    ///
    /// # Shapes
    /// `dim` vanishes, or stays with size 1 if `keepdim`.
    ///
    /// # Dtypes
    /// All. NaN is the largest.
    ///
    /// # Derivative
    /// Tangents and cotangents move with the element.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Value` unless `k` is a place in the dimension.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (value, index) = Tensor::from([3.0, 1.0, 2.0]).kthvalue(2, 0, false)?;
    /// assert_eq!((value.item::<f64>()?, index.item::<i64>()?), (2.0, 2));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn kthvalue(&self, k: usize, dim: isize, keepdim: bool) -> Result<(Tensor, Tensor)> = kthvalue {
        samples: kthvalue_samples, errors: kthvalue_errors,
        python: kthvalue(k, dim = -1, keepdim) -> (values, indices)
    };
}

fn kthvalue(x: &Tensor, k: usize, dim: isize, keepdim: bool) -> Result<(Tensor, Tensor)> {
    let op = "kthvalue";
    let place = resolve_dim(op, dim, x.rank(), x.ty())?;
    let n = x.shape()[place];
    if k == 0 || k > n {
        bail!(Value, "{op}: expected `k` from 1 to {n} for dim {dim} of {}, got {k}", x.ty());
    }
    let (values, indices) = x.sort(dim, false).map_err(|e| e.renamed("sort", op))?;
    let at = |t: Tensor| match keepdim {
        true => t.narrow(place as isize, k as isize - 1, 1),
        false => t.select(place as isize, k as isize - 1),
    };
    Ok((at(values)?, at(indices)?))
}

fn kthvalue_samples() -> Vec<Sample> {
    let case = |shape: &[usize], k: usize, dim: isize, keepdim: bool| {
        let label = format!("{k} of {shape:?} along {dim}, keepdim {keepdim}");
        Sample::new(label, [sample_tensor(shape, -1.0, 1.0, 1)], move |x| {
            let (value, index) = x[0].kthvalue(k, dim, keepdim)?;
            Ok(vec![value, index])
        })
        .reference(move |x| {
            let dim = dim.rem_euclid(x[0].shape.len() as isize) as usize;
            let at = |x: &[f64]| {
                let mut order: Vec<usize> = (0..x.len()).collect();
                order.sort_by(|&a, &b| x[a].total_cmp(&x[b]));
                order[k - 1]
            };
            vec![
                super::reduction::naive_reduce(&x[0], &[dim], keepdim, |x| x[at(x)]),
                super::reduction::naive_reduce(&x[0], &[dim], keepdim, |x| at(x) as f64),
            ]
        })
    };
    vec![case(&[5], 2, 0, false), case(&[2, 4], 4, -1, true), case(&[3, 2], 1, 0, false), case(&[0, 2], 1, 1, false)]
}

fn kthvalue_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![ErrorSample::new("place", ErrorKind::Value, "kthvalue: expected `k` from 1 to 3 for dim -1", move || {
        Ok(x.kthvalue(4, -1, false)?.0)
    })]
}

/// Sorting, or taking the first elements of the sorted ones.
#[derive(Clone, Debug)]
struct Sort {
    dim: usize,
    descending: bool,
    top: Option<Top>,
}

#[derive(Clone, Copy, Debug)]
struct Top {
    k: usize,
    sorted: bool,
}

impl Sort {
    fn compute(&self, x: &Array) -> Result<(Array, Array)> {
        widened([x], |[x]| match self.top {
            None => kernel::sort(x, self.dim, self.descending),
            Some(Top { k, sorted }) => kernel::topk(x, k, self.dim, self.descending, sorted),
        })
    }

    fn apply(self, x: &Tensor) -> Result<(Tensor, Tensor)> {
        if let Some(array) = x.array() {
            let (values, places) = self.compute(array)?;
            return Ok((values.into(), places.into()));
        }
        let mut outs = bind(&OpRef::new(self), &[x])?.into_iter();
        match (outs.next(), outs.next()) {
            (Some(values), Some(places)) => Ok((values, places)),
            _ => bail!(Internal, "sort: an operation with two outputs returned fewer"),
        }
    }
}

impl Op for Sort {
    fn name(&self) -> &str {
        if self.top.is_some() { "topk" } else { "sort" }
    }
    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let (values, places) = self.compute(inputs[0].concrete())?;
        Ok([values.into(), places.into()].into_iter().collect())
    }
    fn save(&self, _: &[bool], inputs: &[&Tensor], outputs: &[Tensor]) -> Result<Saved> {
        let mut saved = Saved::shape(inputs[0].shape());
        saved.tensors.push(outputs[1].clone());
        Ok(saved)
    }
    fn backward(&self, saved: &Saved, _: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        let found = grads[0].map(|g| {
            let zeros = broadcast_to(&Tensor::zeros(&[], g.dtype())?, &saved.get_shape())?;
            zeros.scatter_add(self.dim as isize, &saved.tensors[0], g)
        });
        Ok(smallvec![found?])
    }
    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        let values = tangents[0].map(|t| t.gather(self.dim as isize, &saved.tensors[0]))?;
        Ok([values, Tangent::zero()].into_iter().collect())
    }
    fn vmap(&self, _: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        vmap_front(&OpRef::new(Sort { dim: self.dim + 1, ..self.clone() }), dims, inputs)
    }
}

/// [`resolve_dim`] for a dimension whose positions are sorted, which the kernel packs into 32 bits.
fn sorted_dim(op: &str, x: &Tensor, dim: isize) -> Result<usize> {
    let dim = resolve_dim(op, dim, x.rank(), x.ty())?;
    if u32::try_from(x.shape()[dim]).is_err() {
        bail!(Shape, "{op}: expected at most {} elements along dim {dim} to sort, got {}", u32::MAX, x.ty());
    }
    Ok(dim)
}

fn sort(x: &Tensor, dim: isize, descending: bool) -> Result<(Tensor, Tensor)> {
    let dim = sorted_dim("sort", x, dim)?;
    Sort { dim, descending, top: None }.apply(x)
}

fn topk(x: &Tensor, k: usize, dim: isize, largest: bool, sorted: bool) -> Result<(Tensor, Tensor)> {
    let dim = sorted_dim("topk", x, dim)?;
    if k > x.shape()[dim] {
        bail!(Value, "topk: expected k of at most {} for dim {dim} of {}, got {k}", x.shape()[dim], x.ty());
    }
    Sort { dim, descending: largest, top: Some(Top { k, sorted }) }.apply(x)
}

#[derive(Clone, Debug)]
struct ArgSort {
    dim: usize,
    descending: bool,
}

impl Discrete for ArgSort {
    const NAME: &'static str = "argsort";
    fn kernel(&self, x: &Array) -> Result<Array> {
        kernel::argsort(x, self.dim, self.descending)
    }
    fn batched(&self) -> ArgSort {
        ArgSort { dim: self.dim + 1, ..self.clone() }
    }
}

fn argsort(x: &Tensor, dim: isize, descending: bool) -> Result<Tensor> {
    discrete(ArgSort { dim: sorted_dim("argsort", x, dim)?, descending }, x)
}

/// Values and positions of the `k` first in order along `dim`, by an insertion sort; in their old order if not
/// `sorted`.
fn naive_sort(x: &Naive, dim: usize, descending: bool, k: usize, sorted: bool) -> [Naive; 2] {
    let at = |i: &[usize], place: usize| {
        let mut other = i.to_vec();
        other[dim] = place;
        x.at(&other)
    };
    let order = |i: &[usize]| -> Vec<usize> {
        let mut order: Vec<usize> = Vec::new();
        for p in 0..x.shape[dim] {
            let before = |q: usize| if descending { at(i, q) >= at(i, p) } else { at(i, q) <= at(i, p) };
            let end = order.iter().take_while(|&&q| before(q)).count();
            order.insert(end, p);
        }
        order.truncate(k);
        if !sorted {
            order.sort_unstable();
        }
        order
    };
    let mut shape = x.shape.clone();
    shape[dim] = k;
    [Naive::from_fn(&shape, |i| at(i, order(i)[i[dim]])), Naive::from_fn(&shape, |i| order(i)[i[dim]] as f64)]
}

const CASES: &[(&[usize], isize, usize, bool)] = &[
    (&[5], 0, 0, false),
    (&[2, 4], -1, 1, true),
    (&[4, 2], 0, 0, false),
    (&[2, 3, 2], 1, 1, true),
    (&[0, 2], 1, 1, false),
    (&[2, 0], 1, 1, false),
];

fn sort_samples() -> Vec<Sample> {
    let mut samples: Vec<Sample> = CASES
        .iter()
        .map(|&(shape, dim, resolved, descending)| {
            let label = format!("dim {dim} of {shape:?}{}", if descending { " descending" } else { "" });
            Sample::new(label, [sample_tensor(shape, -1.0, 1.0, 1)], move |x| {
                let (values, places) = x[0].sort(dim, descending)?;
                Ok(vec![values, places])
            })
            .reference(move |x| naive_sort(&x[0], resolved, descending, x[0].shape[resolved], true).into())
        })
        .collect();
    for descending in [false, true] {
        samples.push(
            Sample::new(format!("ties, descending {descending}"), [Tensor::from([2.0, 1.0, 2.0, 1.0])], move |x| {
                let (values, places) = x[0].sort(0, descending)?;
                Ok(vec![values, places])
            })
            .reference(move |x| naive_sort(&x[0], 0, descending, 4, true).into())
            .not_differentiable(),
        );
    }
    samples
}

fn argsort_samples() -> Vec<Sample> {
    CASES
        .iter()
        .map(|&(shape, dim, resolved, descending)| {
            let label = format!("dim {dim} of {shape:?}{}", if descending { " descending" } else { "" });
            Sample::one(label, [sample_tensor(shape, -1.0, 1.0, 1)], move |x| x[0].argsort(dim, descending))
                .reference(move |x| {
                    let [_, places] = naive_sort(&x[0], resolved, descending, x[0].shape[resolved], true);
                    vec![places]
                })
                .not_differentiable()
        })
        .collect()
}

fn topk_samples() -> Vec<Sample> {
    let cases: &[(usize, bool)] = &[(3, true), (2, false), (1, true), (2, true), (1, false), (0, true)];
    CASES
        .iter()
        .zip(cases)
        .map(|(&(shape, dim, resolved, largest), &(k, sorted))| {
            let label = format!("{k} of dim {dim} of {shape:?}, largest {largest}, sorted {sorted}");
            Sample::new(label, [sample_tensor(shape, -1.0, 1.0, 1)], move |x| {
                let (values, places) = x[0].topk(k, dim, largest, sorted)?;
                Ok(vec![values, places])
            })
            .reference(move |x| naive_sort(&x[0], resolved, largest, k, sorted).into())
        })
        .collect()
}

fn dim_errors(call: fn(&Tensor) -> Result<Tensor>) -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![ErrorSample::new("dim", ErrorKind::Dim, "dim 2 is out of range for f64[2,3] (valid: -2..=1)", move || {
        call(&x)
    })]
}

fn sort_errors() -> Vec<ErrorSample> {
    dim_errors(|x| Ok(x.sort(2, false)?.0))
}

fn argsort_errors() -> Vec<ErrorSample> {
    dim_errors(|x| x.argsort(2, false))
}

fn topk_errors() -> Vec<ErrorSample> {
    let mut errors = dim_errors(|x| Ok(x.topk(1, 2, true, true)?.0));
    errors.push(ErrorSample::new(
        "k",
        ErrorKind::Value,
        "topk: expected k of at most 3 for dim 1 of f32[2,3], got 4",
        || Ok(Tensor::zeros(&[2, 3], DType::F32)?.topk(4, 1, true, true)?.0),
    ));
    errors
}
