//! Masks: where they are true, and the elements there.

use super::check::{Wanted, check_src_dtype};
use super::naive::mask;
use super::slices::IndexSelect;
use crate::array::Array;
use crate::error::bail;
use crate::kernels::copy::contiguous;
use crate::ops::shape::broadcast_to;
use crate::ops::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::shape::{Brackets, broadcast, broadcasts_to};
use crate::{DType, ErrorKind, Result, Tensor};

ops! { OPS;
    /// The positions of the elements that are not zero, in row-major order, as `i64`; those of `true` in a mask.
    ///
    /// The size of the result depends on the contents, so these must be known: they are read, not traced.
    ///
    /// # Shapes
    /// `[n,r]` for `n` such elements of a tensor of rank `r`: each row is a position.
    ///
    /// # Dtypes
    /// All. NaN is not zero.
    ///
    /// # Errors
    /// `ConcreteValueNeeded` for a tensor that is batched by `vmap` or written down by `capture`.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[0, 7], [8, 0]]);
    /// assert_eq!(x.nonzero()?.to_vec::<i64>()?, [0, 1, 1, 0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn nonzero(&self) -> Result<Tensor> = nonzero {
        samples: nonzero_samples, errors: nonzero_errors,
        python: nonzero(+as_tuple: Exactly<false> = false),
        python: argwhere()
    };

    /// The elements at which a mask is true, in row-major order, as a vector.
    ///
    /// # Shapes
    /// Tensor and mask broadcast against each other. The size of the result depends on the contents of the mask, so these
    /// must be known.
    ///
    /// # Dtypes
    /// All; the mask is bool.
    ///
    /// # Derivative
    /// The cotangent at the places that were selected, zero elsewhere.
    ///
    /// # Errors
    /// `Dtype` if the mask is not bool; `Shape` if the shapes do not broadcast; `ConcreteValueNeeded` for a mask that is
    /// batched by `vmap` or written down by `capture`: [`where_`](Tensor::where_) and
    /// [`masked_fill`](Tensor::masked_fill) keep the shape.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1.0, -2.0], [-3.0, 4.0]]);
    /// assert_eq!(x.masked_select(&x.gt(0.0)?)?.to_vec::<f64>()?, [1.0, 4.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn masked_select(&self, mask: &Tensor) -> Result<Tensor> = masked_select
        { samples: masked_select_samples, errors: masked_select_errors };

    /// The tensor with the elements at which a mask is true replaced by those of `source`, in turn.
    ///
    /// # Shapes
    /// The mask broadcasts to the shape of the tensor, which is that of the result. `source` has any shape, and is read
    /// in row-major order; it has an element for each that the mask selects, or more.
    ///
    /// # Dtypes
    /// All, the same for the tensor and `source`; the mask is bool.
    ///
    /// # Derivative
    /// For the tensor the cotangent where the mask is false, for `source` the cotangent where its elements went.
    ///
    /// # Errors
    /// `Dtype` if the mask is not bool, or the dtypes differ; `Shape` if the mask does not broadcast to the tensor; `Index`
    /// if it selects more elements than `source` has.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (x, mask) = (Tensor::from([0, 0, 0]), Tensor::from([true, false, true]));
    /// assert_eq!(x.masked_scatter(&mask, &Tensor::from([5, 6, 7]))?.to_vec::<i32>()?, [5, 0, 6]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn masked_scatter(&self, mask: &Tensor, source: &Tensor) -> Result<Tensor> = masked_scatter
        { in_place: true, samples: masked_scatter_samples, errors: masked_scatter_errors };
}

/// The contents of a tensor as bools in row-major order.
///
/// The size of a result depends on them, so they are read here, and nothing is recorded.
fn truth(op: &str, x: &Tensor) -> Result<Array> {
    let data = x.data(op).map_err(|e| match e.kind() {
        ErrorKind::ConcreteValueNeeded => e.with_help(
            "the size of the result depends on the contents of the mask; `where_` and `masked_fill` keep the shape, or \
             compute the mask outside",
        ),
        _ => e,
    })?;
    match data.dtype() {
        DType::Bool => Ok(contiguous(data)),
        _ => Ok(contiguous(Tensor::from(data.clone()).ne(0)?.concrete())),
    }
}

/// The places of `true` in row-major order, counted through.
fn true_places(truth: &Array) -> Vec<i64> {
    let data = truth.as_slice::<bool>().unwrap_or_default();
    let mut places = Vec::with_capacity(data.iter().filter(|&&b| b).count());
    places.extend(data.iter().enumerate().filter(|(_, b)| **b).map(|(k, _)| k as i64));
    places
}

/// Where a mask of the dimensions of `x` from `dim` on is true, counted through in row-major order.
pub(super) fn true_places_in(op: &str, x: &Tensor, dim: usize, mask: &Tensor) -> Result<Tensor> {
    let covered = &x.shape()[dim..dim + mask.rank()];
    if mask.shape() != covered {
        let (covered, x, mask) = (Brackets(covered), x.ty(), mask.ty());
        bail!(Shape, "{op}: expected a mask of shape {covered} for {x} from dim {dim} on, got {mask}");
    }
    Ok(Tensor::from(true_places(&truth(op, mask)?)))
}

fn nonzero(x: &Tensor) -> Result<Tensor> {
    let flat = true_places(&truth("nonzero", x)?);
    let mut places = vec![0; flat.len() * x.rank()];
    if x.rank() > 0 {
        for (row, &k) in places.chunks_exact_mut(x.rank()).zip(&flat) {
            let mut rest = k as usize;
            for (place, &n) in row.iter_mut().zip(x.shape()).rev() {
                *place = (rest % n) as i64;
                rest /= n;
            }
        }
    }
    Tensor::from_slice(&places, &[flat.len(), x.rank()])
}

fn check_mask(op: &str, mask: &Tensor) -> Result<()> {
    if mask.dtype() != DType::Bool {
        let mask = mask.ty();
        bail!(Dtype, "{op}: expected a mask of dtype bool, got {mask}"; help = "compare it with something, for example \
            `ne(0)`");
    }
    Ok(())
}

fn masked_select(x: &Tensor, mask: &Tensor) -> Result<Tensor> {
    let op = "masked_select";
    check_mask(op, mask)?;
    let Some(shape) = broadcast(x.shape(), mask.shape()) else {
        bail!(Shape, "{op}: expected a mask that broadcasts with {}, got {}", x.ty(), mask.ty());
    };
    let n = crate::tensor::checked_numel(op, &shape)?;
    let places = Tensor::from(true_places(&truth(op, &broadcast_to(mask, &shape)?)?));
    IndexSelect { batch: 0, dim: 0 }.call(&broadcast_to(x, &shape)?.reshape_to(&[n])?, &places)
}

fn masked_scatter(x: &Tensor, mask: &Tensor, source: &Tensor) -> Result<Tensor> {
    let op = "masked_scatter";
    check_mask(op, mask)?;
    check_src_dtype(op, x, source)?;
    if !broadcasts_to(mask.shape(), x.shape()) {
        bail!(Shape, "{op}: expected a mask that broadcasts to {}, got {}", x.ty(), mask.ty());
    }
    let mask = broadcast_to(mask, x.shape())?;
    let flat = mask.reshape_to(&[x.numel()])?;
    // Every place that the mask selects takes the element with its number among these.
    let turn = flat.where_(flat.cumsum(0)?.sub(1)?, -1)?;
    let source = source.reshape_to(&[source.numel()])?;
    let turn = Wanted::InTurn.check(op, &source, 0, &turn)?;
    if source.numel() == 0 {
        return x.unchanged(op);
    }
    let taken = IndexSelect { batch: 0, dim: 0 }.call(&source, &flat.where_(&turn, 0)?)?;
    mask.where_(taken.reshape_to(x.shape())?, x)
}

/// A sample whose size depends on the contents of its inputs, which lanes and graphs therefore refuse.
pub(in crate::ops) fn of_unknown_size(mut sample: Sample) -> Sample {
    let mut properties = vec!["vmap_is_loop", "nested_vmap", "capture_replays", "capture_replays_under_vmap"];
    // These have nothing to do without floats, or derivatives.
    if sample.inputs.iter().any(|t| t.dtype().is_float()) {
        properties.extend(["vmap_keeps_dtypes", "half"]);
    }
    if sample.is_differentiable() {
        properties.extend(["capture_replays_derivatives", "walks_match_transforms", "vmap_of_grad", "grad_of_vmap"]);
        properties.extend(["vmap_of_jvp", "jvp_of_vmap", "vmap_of_second_order", "grad_of_vmap_of_grad"]);
    }
    for property in properties {
        sample = sample.expect_failure(property, "the size of the result depends on the contents");
    }
    sample
}

fn nonzero_samples() -> Vec<Sample> {
    [
        ("matrix", Tensor::from([[0.0, 2.0, f64::NAN], [-1.0, 0.0, -0.0]])),
        ("mask", Tensor::from([true, false, true])),
        ("nothing", Tensor::from([0, 0])),
        ("0-d", Tensor::from(3)),
        ("empty", sample_tensor(&[2, 0], 0.0, 1.0, 1)),
    ]
    .into_iter()
    .map(|(label, x)| {
        let sample = Sample::one(label, [x], |x| x[0].nonzero()).special().fixed_dtype().reference(|x| {
            let (mut places, mut count) = (vec![], 0);
            Naive::from_fn(&x[0].shape, |at| {
                if x[0].at(at) != 0.0 {
                    places.extend(at.iter().map(|&i| i as f64));
                    count += 1;
                }
                0.0
            });
            vec![Naive { shape: vec![count, x[0].shape.len()], data: places }]
        });
        of_unknown_size(sample)
    })
    .collect()
}

fn nonzero_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![ErrorSample::new("lanes", ErrorKind::ConcreteValueNeeded, "nonzero: the value is batched", move || {
        crate::vmap(Tensor::nonzero)(&x)
    })]
}

fn masked_select_samples() -> Vec<Sample> {
    let case = |label: &str, shape: &[usize], mask: Tensor, places: &'static [&'static [usize]]| {
        Sample::one(label, [sample_tensor(shape, -1.0, 1.0, 1)], move |x| x[0].masked_select(&mask)).reference(
            move |x| {
                let data = places.iter().map(|at| x[0].at_broadcast(at)).collect();
                vec![Naive { shape: vec![places.len()], data }]
            },
        )
    };
    vec![
        case("matrix", &[2, 2], mask(&[true, false, true, true], &[2, 2]), &[&[0, 0], &[1, 0], &[1, 1]]),
        case("columns", &[2, 3], mask(&[false, true, false], &[3]), &[&[0, 1], &[1, 1]]),
        case("tensor repeated", &[2], mask(&[true, false, true, true], &[2, 2]), &[&[0, 0], &[1, 0], &[1, 1]]),
        case("0-d", &[], Tensor::from(true), &[&[]]),
        case("nothing", &[3], Tensor::from(false), &[]),
        case("empty", &[0, 2], Tensor::from(true), &[]),
    ]
}

fn masked_select_errors() -> Vec<ErrorSample> {
    let x = || sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![
        ErrorSample::new("dtype", ErrorKind::Dtype, "expected a mask of dtype bool, got f64[2,3]", move || {
            x().masked_select(&x())
        }),
        ErrorSample::new(
            "shape",
            ErrorKind::Shape,
            "expected a mask that broadcasts with f64[2,3], got bool[2]",
            move || x().masked_select(&Tensor::from([true, false])),
        ),
        ErrorSample::new("lanes", ErrorKind::ConcreteValueNeeded, "`where_` and `masked_fill`", move || {
            crate::vmap(|x: &Tensor| x.masked_select(&x.gt(0.5)?))(&x())
        }),
    ]
}

fn masked_scatter_samples() -> Vec<Sample> {
    let case = |label: &str, shape: &[usize], mask: Tensor, source: &[usize]| {
        let inputs = [sample_tensor(shape, -1.0, 1.0, 1), mask, sample_tensor(source, -1.0, 1.0, 2)];
        Sample::one(label, inputs, |x| x[0].masked_scatter(&x[1], &x[2])).reference(|x| {
            let mut next = x[2].data.iter();
            vec![Naive::from_fn(&x[0].shape, |at| match x[1].at_broadcast(at) == 0.0 {
                true => x[0].at(at),
                false => *next.next().expect("the source is large enough"),
            })]
        })
    };
    vec![
        case("matrix", &[2, 3], mask(&[true, false, true, false, true, true], &[2, 3]), &[4]),
        case("columns, larger source", &[2, 3], mask(&[false, true, false], &[3]), &[2, 2]),
        case("nothing", &[3], Tensor::from(false), &[0]),
        case("0-d", &[], Tensor::from(true), &[1]),
        case("empty", &[0, 2], Tensor::from(true), &[1]),
    ]
}

fn masked_scatter_errors() -> Vec<ErrorSample> {
    let x = || sample_tensor(&[2, 3], 0.0, 1.0, 1);
    let few = |shape: &[usize]| sample_tensor(shape, 0.0, 1.0, 2);
    vec![
        ErrorSample::new("mask", ErrorKind::Dtype, "expected a mask of dtype bool, got f64[2,3]", move || {
            x().masked_scatter(&x(), &x())
        }),
        ErrorSample::new("dtype", ErrorKind::Dtype, "expected a src of dtype f64, got i32[1]", move || {
            x().masked_scatter(&Tensor::from(true), &Tensor::from([1]))
        }),
        ErrorSample::new("shape", ErrorKind::Shape, "a mask that broadcasts to f64[2,3], got bool[2]", move || {
            x().masked_scatter(&Tensor::from([true, false]), &x())
        }),
        ErrorSample::new(
            "few",
            ErrorKind::Index,
            "expected a source with an element for each that the mask selects, got f64[5]",
            move || x().masked_scatter(&Tensor::from(true), &few(&[5])),
        ),
        ErrorSample::new("none", ErrorKind::Index, "that the mask selects, got f64[0]", move || {
            x().masked_scatter(&Tensor::from(true), &few(&[0]))
        }),
        ErrorSample::new(
            "few in a lane",
            ErrorKind::Index,
            "expected a source with an element for each that the mask selects in lane 1, got f64[1]",
            move || {
                let masks = mask(&[true, false, false, false, true, true], &[2, 3]);
                crate::vmap(move |mask: &Tensor| x().i(0)?.masked_scatter(mask, &few(&[1])))(&masks)
            },
        ),
    ]
}
