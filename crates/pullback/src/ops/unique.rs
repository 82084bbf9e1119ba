//! Different elements or slices, each once.

use super::index::masks::of_unknown_size;
use super::shape::move_dim;
use super::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::array::Array;
use crate::error::bail;
use crate::kernels::copy::contiguous;
use crate::kernels::{gather, sort};
use crate::shape::{numel, resolve_dim};
use crate::{DType, ErrorKind, Result, Tensor};

ops! { OPS;
    /// The different elements in rising order, or the different slices along `dim` ordered by their first elements that
    /// differ; then, for each element or slice of the tensor, which of these it is; and how often each occurs.
    ///
    /// The size of the result depends on the contents, so these must be known: they are read, not traced. NaNs differ from
    /// each other.
    ///
    /// # Shapes
    /// Without a `dim`: `[n]`, the shape of the tensor, `[n]`. With one: the tensor with size `n` in `dim`, `[size of dim]`,
    /// `[n]`.
    ///
    /// # Dtypes
    /// All that have an order; the other two results are `i64`.
    ///
    /// # Derivative
    /// That of picking the first of the elements or slices which are equal.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Dtype` for complex numbers; `ConcreteValueNeeded` for a tensor that is batched by `vmap` or written down by
    /// `capture`.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (values, inverse, counts) = Tensor::from([3, 1, 3]).unique(None)?;
    /// assert_eq!(values.to_vec::<i32>()?, [1, 3]);
    /// assert_eq!(inverse.to_vec::<i64>()?, [1, 0, 1]);
    /// assert_eq!(counts.to_vec::<i64>()?, [1, 2]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn unique(&self, dim: impl Into<Option<isize>>) -> Result<(Tensor, Tensor, Tensor)> = unique {
        samples: unique_samples, errors: unique_errors,
        python: unique(+sorted: bool = true, +return_inverse: Exactly<false> = false, +return_counts: Exactly<false> = false, dim) -> (0),
        python: unique(+return_inverse: Exactly<true>, +return_counts: Exactly<false> = false, +sorted: bool = true, dim) -> (0, 1),
        python: unique(+return_counts: Exactly<true>, +return_inverse: Exactly<false> = false, +sorted: bool = true, dim) -> (0, 2),
        python: unique(+return_inverse: Exactly<true>, +return_counts: Exactly<true>, +sorted: bool = true, dim) -> (values, inverse, counts)
    };

    /// The first of every run of equal elements, or of equal slices along `dim`; then, for each element or slice of the
    /// tensor, in which run it is; and how long each run is.
    ///
    /// # Shapes
    /// As those of [`unique`](Tensor::unique).
    ///
    /// # Dtypes
    /// All that have an order; the other two results are `i64`.
    ///
    /// # Derivative
    /// That of picking the first of each run.
    ///
    /// # Errors
    /// As those of [`unique`](Tensor::unique).
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (values, inverse, counts) = Tensor::from([3, 3, 1, 3]).unique_consecutive(None)?;
    /// assert_eq!(values.to_vec::<i32>()?, [3, 1, 3]);
    /// assert_eq!(inverse.to_vec::<i64>()?, [0, 0, 1, 2]);
    /// assert_eq!(counts.to_vec::<i64>()?, [2, 1, 1]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn unique_consecutive(&self, dim: impl Into<Option<isize>>) -> Result<(Tensor, Tensor, Tensor)> = unique_consecutive {
        samples: unique_consecutive_samples, errors: unique_consecutive_errors,
        python: unique_consecutive(+return_inverse: Exactly<false> = false, +return_counts: Exactly<false> = false, dim) -> (0),
        python: unique_consecutive(+return_inverse: Exactly<true>, +return_counts: Exactly<false> = false, dim) -> (0, 1),
        python: unique_consecutive(+return_counts: Exactly<true>, +return_inverse: Exactly<false> = false, dim) -> (0, 2),
        python: unique_consecutive(+return_inverse: Exactly<true>, +return_counts: Exactly<true>, dim) -> (values, inverse, counts)
    };
}

/// Equal things together.
#[derive(Default)]
struct Groups {
    /// The number of the first of each group.
    firsts: Vec<i64>,
    /// The group of each.
    inverse: Vec<i64>,
    counts: Vec<i64>,
}

impl Groups {
    /// Groups of neighbours in `order`; `begins` says whether the thing at a place of the order differs from the one before.
    fn of(order: &[i64], begins: impl Fn(usize) -> bool) -> Groups {
        let mut groups = Groups { inverse: vec![0; order.len()], ..Groups::default() };
        for (k, &which) in order.iter().enumerate() {
            if k == 0 || begins(k) {
                groups.firsts.push(which);
                groups.counts.push(0);
            }
            groups.inverse[which as usize] = groups.counts.len() as i64 - 1;
            if let Some(count) = groups.counts.last_mut() {
                *count += 1;
            }
        }
        groups
    }

    /// The groups of the elements of a vector.
    fn of_elements(op: &str, x: &Array, sorted: bool) -> Result<Groups> {
        if u32::try_from(x.numel()).is_err() {
            bail!(Shape, "{op}: expected at most {} elements to sort, got {}", u32::MAX, x.ty());
        }
        let order = match sorted {
            true => sort::argsort(x, 0, false)?,
            false => Array::from_slice(x.shape(), &(0..x.numel() as i64).collect::<Vec<_>>()),
        };
        let values = Tensor::from(if sorted { gather::index_select(x, 0, 0, &order)? } else { x.clone() });
        let differ = contiguous(values.i(1..)?.ne(values.i(..-1)?)?.concrete());
        let differ = differ.as_slice::<bool>().unwrap_or_default();
        Ok(Groups::of(order.as_slice::<i64>().unwrap_or_default(), |k| differ[k - 1]))
    }

    /// The groups of the rows of a matrix.
    fn of_rows(op: &str, x: &Array, sorted: bool) -> Result<Groups> {
        let (rows, columns) = (x.shape()[0], x.shape()[1]);
        // Numbers in the order of the elements, so that rows of any dtype compare alike.
        let flat = contiguous(x).reshape_view(&[x.numel()]);
        let Some(flat) = flat else { bail!(Internal, "{op}: a contiguous matrix has no view as a vector") };
        let ranks = Groups::of_elements(op, &flat, true)?.inverse;
        let row = |k: i64| &ranks[k as usize * columns..][..columns];
        let mut order: Vec<i64> = (0..rows as i64).collect();
        if sorted {
            order.sort_by(|&a, &b| row(a).cmp(row(b)));
        }
        Ok(Groups::of(&order, |k| row(order[k]) != row(order[k - 1])))
    }
}

fn unique(x: &Tensor, dim: impl Into<Option<isize>>) -> Result<(Tensor, Tensor, Tensor)> {
    find("unique", x, dim.into(), true)
}

fn unique_consecutive(x: &Tensor, dim: impl Into<Option<isize>>) -> Result<(Tensor, Tensor, Tensor)> {
    find("unique_consecutive", x, dim.into(), false)
}

fn find(op: &str, x: &Tensor, dim: Option<isize>, sorted: bool) -> Result<(Tensor, Tensor, Tensor)> {
    let dim = dim.map(|dim| resolve_dim(op, dim, x.rank(), x.ty())).transpose()?;
    let data = x.data(op).map_err(|e| match e.kind() {
        ErrorKind::ConcreteValueNeeded => {
            e.with_help("the size of the result depends on the contents of the tensor; compute it outside")
        }
        _ => e,
    })?;
    if data.dtype().is_complex() {
        bail!(Dtype, "{op}: expected elements that have an order, got {}", x.ty());
    }
    let mut data = Tensor::from(data.clone());
    if data.dtype().is_half() {
        data = data.to_dtype(DType::F32)?;
    }
    let (values, groups, shape) = match dim {
        None => {
            let groups = Groups::of_elements(op, data.reshape_to(&[x.numel()])?.concrete(), sorted)?;
            let firsts = Tensor::from(&groups.firsts);
            (x.reshape_to(&[x.numel()])?.index_select(0, &firsts)?, groups, x.shape())
        }
        Some(dim) => {
            let n = x.shape()[dim];
            let front = move_dim(&data, dim, 0)?;
            let columns = numel(&front.shape()[1..]);
            let groups = Groups::of_rows(op, front.reshape_to(&[n, columns])?.concrete(), sorted)?;
            let firsts = Tensor::from(&groups.firsts);
            (x.index_select(dim as isize, &firsts)?, groups, &x.shape()[dim..=dim])
        }
    };
    Ok((values, Tensor::from_slice(&groups.inverse, shape)?, Tensor::from(groups.counts)))
}

/// Equal elements of `x`, or slices along `dim`, found by comparing all with all.
fn naive(x: &Naive, dim: Option<usize>, sorted: bool) -> Vec<Naive> {
    let slices: Vec<Vec<f64>> = match dim {
        None => x.data.iter().map(|&v| vec![v]).collect(),
        Some(d) => {
            let mut slices = vec![vec![]; x.shape[d]];
            Naive::from_fn(&x.shape, |at| {
                slices[at[d]].push(x.at(at));
                0.0
            });
            slices
        }
    };
    let mut groups: Vec<(Vec<f64>, f64)> = vec![];
    let mut inverse = vec![];
    for slice in &slices {
        let known = match sorted {
            true => groups.iter().position(|(value, _)| value == slice),
            false => groups.len().checked_sub(1).filter(|&k| groups[k].0 == *slice),
        };
        let k = known.unwrap_or(groups.len());
        if known.is_none() {
            groups.push((slice.clone(), 0.0));
        }
        groups[k].1 += 1.0;
        inverse.push(k);
    }
    let mut order: Vec<usize> = (0..groups.len()).collect();
    if sorted {
        order.sort_by(|&a, &b| groups[a].0.partial_cmp(&groups[b].0).unwrap_or(std::cmp::Ordering::Equal));
    }
    let n = order.len();
    let place = |k: usize| order.iter().position(|&o| o == k).unwrap_or(n) as f64;
    let inverse: Vec<f64> = inverse.into_iter().map(place).collect();
    let counts = Naive { shape: vec![n], data: order.iter().map(|&k| groups[k].1).collect() };
    match dim {
        None => {
            let values = order.iter().map(|&k| groups[k].0[0]).collect();
            vec![Naive { shape: vec![n], data: values }, Naive { shape: x.shape.clone(), data: inverse }, counts]
        }
        Some(d) => {
            let mut shape = x.shape.clone();
            shape[d] = n;
            let rest: Vec<usize> = x.shape.iter().enumerate().filter(|(k, _)| *k != d).map(|(_, &n)| n).collect();
            let values = Naive::from_fn(&shape, |at| {
                let own: Vec<usize> = at.iter().enumerate().filter(|(k, _)| *k != d).map(|(_, &i)| i).collect();
                groups[order[at[d]]].0[own.iter().zip(&rest).fold(0, |flat, (&i, &n)| flat * n + i)]
            });
            vec![values, Naive { shape: vec![x.shape[d]], data: inverse }, counts]
        }
    }
}

fn samples(call: fn(&Tensor, Option<isize>) -> Result<(Tensor, Tensor, Tensor)>, sorted: bool) -> Vec<Sample> {
    let case = |label: &str, x: Tensor, dim: Option<isize>| {
        let d = dim.map(|d| d.rem_euclid(x.rank() as isize) as usize);
        let sample = Sample::new(label, [x], move |x| {
            let (values, inverse, counts) = call(&x[0], dim)?;
            Ok(vec![values, inverse, counts])
        });
        sample.reference(move |x| naive(&x[0], d, sorted))
    };
    let equal = |data: &[f64], shape: &[usize]| Tensor::from_slice(data, shape).expect("a small tensor");
    let all = vec![
        case("all different", sample_tensor(&[2, 3], -1.0, 1.0, 1), None),
        case("rows, all different", sample_tensor(&[3, 2], -1.0, 1.0, 2), Some(0)),
        case("integers", Tensor::from([[3, 3, 1], [0, 1, 3]]), None),
        case("bools", Tensor::from([true, true, false]), None),
        case("equal", equal(&[2.0, 2.0, -1.0, 2.0, 0.0, -0.0], &[6]), None).not_differentiable(),
        case("equal rows", equal(&[2.0, 1.0, 2.0, 1.0, 0.0, 5.0, 2.0, 1.0], &[4, 2]), Some(0)).not_differentiable(),
        case("equal columns", equal(&[3.0, 1.0, 1.0, 0.0, 2.0, 2.0], &[2, 3]), Some(-1)).not_differentiable(),
        case("empty rows", sample_tensor(&[3, 0], 0.0, 1.0, 1), Some(0)),
        case("empty", sample_tensor(&[0], 0.0, 1.0, 1), None),
        case("0-d", sample_tensor(&[], 0.0, 1.0, 1), None),
    ];
    all.into_iter().map(of_unknown_size).collect()
}

fn unique_samples() -> Vec<Sample> {
    samples(|x, dim| x.unique(dim), true)
}

fn unique_consecutive_samples() -> Vec<Sample> {
    samples(|x, dim| x.unique_consecutive(dim), false)
}

fn errors(call: fn(&Tensor, Option<isize>) -> Result<(Tensor, Tensor, Tensor)>) -> Vec<ErrorSample> {
    let x = || sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![
        ErrorSample::new("dim", ErrorKind::Dim, "dim 2 is out of range for f64[2,3]", move || {
            Ok(call(&x(), Some(2))?.0)
        }),
        ErrorSample::new("lanes", ErrorKind::ConcreteValueNeeded, "compute it outside", move || {
            crate::vmap(move |x: &Tensor| Ok(call(x, None)?.0))(&x())
        }),
    ]
}

fn unique_errors() -> Vec<ErrorSample> {
    errors(|x, dim| x.unique(dim))
}

fn unique_consecutive_errors() -> Vec<ErrorSample> {
    errors(|x, dim| x.unique_consecutive(dim))
}
