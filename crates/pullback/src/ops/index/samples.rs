//! Calls that cover the operations of this family, and calls that fail.

use super::*;

fn index(places: &[i64], shape: &[usize]) -> Tensor {
    Tensor::from_slice(places, shape).expect("the number of places is that of the shape")
}

/// The place that an index names along a dim of size `n`.
fn resolve(i: f64, n: usize) -> usize {
    if i < 0.0 { (i + n as f64) as usize } else { i as usize }
}

fn with(at: &[usize], dim: usize, place: usize) -> Vec<usize> {
    let mut at = at.to_vec();
    at[dim] = place;
    at
}

fn flat(shape: &[usize], at: &[usize]) -> usize {
    at.iter().zip(shape).fold(0, |flat, (&i, &n)| flat * n + i)
}

/// The shape of the slices of `shape` along `dim` at the places of `index`.
fn sliced(shape: &[usize], dim: usize, index: &[usize]) -> Vec<usize> {
    [&shape[..dim], index, &shape[dim + 1..]].concat()
}

/// Where in `x` the element `at` of its slices comes from.
fn origin(x: &Naive, dim: usize, index: &Naive, at: &[usize]) -> Vec<usize> {
    let rank = index.shape.len();
    let place = resolve(index.at(&at[dim..dim + rank]), x.shape[dim]);
    [&at[..dim], &[place], &at[dim + rank..]].concat()
}

fn naive_select(x: &Naive, dim: usize, index: &Naive) -> Naive {
    Naive::from_fn(&sliced(&x.shape, dim, &index.shape), |at| x.at(&origin(x, dim, index, at)))
}

/// Joins the slices of `src` to `x`.
fn naive_slices(x: &Naive, dim: usize, index: &Naive, src: &Naive, join: fn(f64, f64) -> f64) -> Naive {
    let mut out = x.clone();
    Naive::from_fn(&src.shape, |at| {
        let k = flat(&x.shape, &origin(x, dim, index, at));
        out.data[k] = join(out.data[k], src.at(at));
        0.0
    });
    out
}

fn naive_gather(x: &Naive, dim: usize, index: &Naive) -> Naive {
    Naive::from_fn(&index.shape, |at| x.at(&with(at, dim, resolve(index.at(at), x.shape[dim]))))
}

fn naive_scatter(x: &Naive, dim: usize, index: &Naive, src: &Naive, join: fn(f64, f64) -> f64) -> Naive {
    let mut out = x.clone();
    Naive::from_fn(&index.shape, |at| {
        let k = flat(&x.shape, &with(at, dim, resolve(index.at(at), x.shape[dim])));
        out.data[k] = join(out.data[k], if src.shape.is_empty() { src.data[0] } else { src.at(at) });
        0.0
    });
    out
}

/// Cases for [`index_select`] and its relatives: label, shape, dim, index.
fn slices_cases() -> Vec<(&'static str, &'static [usize], isize, Tensor)> {
    vec![
        ("rows", &[4, 3], 0, index(&[2, 0, -1], &[3])),
        ("columns, repeated", &[2, 4], -1, index(&[1, 1, -3, 0, 1], &[5])),
        ("middle, i32", &[2, 3, 2], 1, Tensor::from([2i32, 0])),
        ("one place", &[3, 2], 0, index(&[-2], &[])),
        ("two dims of places", &[2, 4, 2], 1, index(&[0, 3, -1, 1, 1, 2], &[2, 3])),
        ("no place", &[2, 3], 1, index(&[], &[0])),
        ("empty slices", &[3, 0], 0, index(&[1, 1], &[2])),
    ]
}

pub(super) fn index_select_samples() -> Vec<Sample> {
    slices_cases()
        .into_iter()
        .map(|(label, shape, dim, index)| {
            let d = dim.rem_euclid(shape.len() as isize) as usize;
            Sample::one(label, [sample_tensor(shape, -1.0, 1.0, 1), index], move |x| x[0].index_select(dim, &x[1]))
                .reference(move |x| vec![naive_select(&x[0], d, &x[1])])
        })
        .collect()
}

pub(super) fn index_select_errors() -> Vec<ErrorSample> {
    let x = || sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![
        ErrorSample::new(
            "index",
            ErrorKind::Index,
            "index_select: index 3 at position [1] is out of range for dim 1 of f64[2,3], which has size 3",
            move || x().index_select(1, &index(&[0, 3], &[2])),
        ),
        ErrorSample::new(
            "of a lane",
            ErrorKind::Index,
            "index_select: index -4 of lane 1 is out of range for dim 1 of f64[2,3], which has size 3",
            move || crate::vmap(move |i: &Tensor| x().index_select(1, i))(&index(&[2, -4], &[2])),
        ),
        ErrorSample::new("dim", ErrorKind::Dim, "dim 2 is out of range for f64[2,3]", move || {
            x().index_select(2, &index(&[0], &[1]))
        }),
        ErrorSample::new("dtype", ErrorKind::Dtype, "expected an index of dtype i64 or i32, got f64", move || {
            x().index_select(0, &x())
        }),
    ]
}

/// Samples of the operations that put slices into a tensor.
fn slices_samples(
    call: fn(&Tensor, isize, &Tensor, &Tensor) -> Result<Tensor>,
    join: fn(f64, f64) -> f64,
) -> Vec<Sample> {
    slices_cases()
        .into_iter()
        .map(|(label, shape, dim, index)| {
            let d = dim.rem_euclid(shape.len() as isize) as usize;
            let src = sample_tensor(&sliced(shape, d, index.shape()), -1.0, 1.0, 2);
            let inputs = [sample_tensor(shape, -1.0, 1.0, 1), index, src];
            Sample::one(label, inputs, move |x| call(&x[0], dim, &x[1], &x[2]))
                .reference(move |x| vec![naive_slices(&x[0], d, &x[1], &x[2], join)])
        })
        .collect()
}

fn slices_errors(call: fn(&Tensor, isize, &Tensor, &Tensor) -> Result<Tensor>) -> Vec<ErrorSample> {
    let x = || sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![
        ErrorSample::new(
            "index",
            ErrorKind::Index,
            "index 3 at position [1] is out of range for dim 1 of f64[2,3], which has size 3",
            move || call(&x(), 1, &index(&[0, 3], &[2]), &sample_tensor(&[2, 2], 0.0, 1.0, 2)),
        ),
        ErrorSample::new(
            "src",
            ErrorKind::Shape,
            "expected a src of shape [2,2] for f64[2,3] and index i64[2] in dim 1, got f64[2,3]",
            move || call(&x(), 1, &index(&[0, 1], &[2]), &x()),
        ),
        ErrorSample::new("dtype", ErrorKind::Dtype, "expected a src of dtype f64, got f32[2,3]", move || {
            call(&x(), 0, &index(&[0, 1], &[2]), &x().to_dtype(DType::F32)?)
        }),
    ]
}

pub(super) fn index_add_samples() -> Vec<Sample> {
    slices_samples(Tensor::index_add, |a, b| a + b)
}

pub(super) fn index_add_errors() -> Vec<ErrorSample> {
    slices_errors(Tensor::index_add)
}

pub(super) fn index_copy_samples() -> Vec<Sample> {
    slices_samples(Tensor::index_copy, |_, b| b)
}

pub(super) fn index_copy_errors() -> Vec<ErrorSample> {
    slices_errors(Tensor::index_copy)
}

/// Cases for [`gather`] and its relatives: label, shape, dim, index.
fn element_cases() -> Vec<(&'static str, &'static [usize], isize, Tensor)> {
    vec![
        ("1-d, repeated", &[3], 0, index(&[1, 1, -1, 0, 1], &[5])),
        ("rows", &[3, 2], 0, index(&[0, -1, 2, 2], &[2, 2])),
        ("columns, fewer rows, i32", &[3, 4], -1, Tensor::from([[3i32, 0, 0], [1, -4, 2]])),
        ("middle", &[2, 3, 2], 1, index(&[0, 1, 2, 0, 1, 1, -1, -2], &[2, 2, 2])),
        ("no place", &[2, 3], 1, index(&[], &[2, 0])),
        ("empty", &[0, 3], 1, index(&[], &[0, 2])),
    ]
}

pub(super) fn gather_samples() -> Vec<Sample> {
    element_cases()
        .into_iter()
        .map(|(label, shape, dim, index)| {
            let d = dim.rem_euclid(shape.len() as isize) as usize;
            Sample::one(label, [sample_tensor(shape, -1.0, 1.0, 1), index], move |x| x[0].gather(dim, &x[1]))
                .reference(move |x| vec![naive_gather(&x[0], d, &x[1])])
        })
        .collect()
}

pub(super) fn gather_errors() -> Vec<ErrorSample> {
    let x = || sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![
        ErrorSample::new(
            "index",
            ErrorKind::Index,
            "gather: index 3 at position [1,0] is out of range for dim 1 of f64[2,3], which has size 3",
            move || x().gather(1, &index(&[0, 3], &[2, 1])),
        ),
        ErrorSample::new(
            "of a lane",
            ErrorKind::Index,
            "gather: index -4 at position [1,0] of lane 1 is out of range for dim 1 of f64[2,3], which has size 3",
            move || crate::vmap(move |i: &Tensor| x().gather(1, i))(&index(&[0, 1, 2, -4], &[2, 2, 1])),
        ),
        ErrorSample::new(
            "shape",
            ErrorKind::Shape,
            "expected an index of the rank of f64[2,3], no larger in any dim but 1, got i64[3,1]",
            move || x().gather(1, &index(&[0, 1, 2], &[3, 1])),
        ),
        ErrorSample::new("dtype", ErrorKind::Dtype, "expected an index of dtype i64 or i32, got f64", move || {
            x().gather(0, &x())
        }),
    ]
}

pub(super) fn take_along_dim_samples() -> Vec<Sample> {
    let case = |label: &str, shape: &[usize], index: Tensor, dim: usize, out: &'static [usize]| {
        Sample::one(label, [sample_tensor(shape, -1.0, 1.0, 1), index], move |x| {
            x[0].take_along_dim(&x[1], dim as isize)
        })
        .reference(move |x| {
            let n = x[0].shape[dim];
            vec![Naive::from_fn(out, |at| {
                let i = resolve(x[1].at_broadcast(at), n);
                let mut from = with(at, dim, i);
                for (k, f) in from.iter_mut().enumerate() {
                    *f = if x[0].shape[k] == 1 { 0 } else { *f };
                }
                x[0].at(&from)
            })]
        })
    };
    vec![
        case("same shapes", &[2, 3], index(&[2, 0, 1, 1, -1, 0], &[2, 3]), 1, &[2, 3]),
        case("index repeated", &[2, 3], index(&[2, 2, 0, -2], &[1, 4]), 1, &[2, 4]),
        case("tensor repeated", &[3, 1], index(&[2, 0, 1, -1], &[2, 2]), 0, &[2, 2]),
        case("no index", &[2, 3], index(&[], &[2, 0]), 1, &[2, 0]),
    ]
}

pub(super) fn take_along_dim_errors() -> Vec<ErrorSample> {
    let x = || sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![
        ErrorSample::new(
            "shape",
            ErrorKind::Shape,
            "expected an index that broadcasts with f64[2,3] in every dim but 1, got i64[3,1]",
            move || x().take_along_dim(&index(&[0, 1, 2], &[3, 1]), 1),
        ),
        ErrorSample::new("rank", ErrorKind::Shape, "got i64[1]", move || x().take_along_dim(&index(&[0], &[1]), 1)),
    ]
}

/// Samples of the operations that put elements into a tensor.
fn elements_samples(
    call: fn(&Tensor, isize, &Tensor, &Tensor) -> Result<Tensor>,
    join: fn(f64, f64) -> f64,
) -> Vec<Sample> {
    let case = |label: &str, shape: &[usize], dim: isize, index: Tensor, src: Tensor| {
        let d = dim.rem_euclid(shape.len() as isize) as usize;
        Sample::one(label, [sample_tensor(shape, -1.0, 1.0, 1), index, src], move |x| call(&x[0], dim, &x[1], &x[2]))
            .reference(move |x| vec![naive_scatter(&x[0], d, &x[1], &x[2], join)])
    };
    let mut out: Vec<Sample> = element_cases()
        .into_iter()
        .map(|(label, shape, dim, index)| {
            let src = sample_tensor(index.shape(), -1.0, 1.0, 2);
            case(label, shape, dim, index, src)
        })
        .collect();
    let src = sample_tensor(&[3, 4], -1.0, 1.0, 2);
    out.push(case("larger src", &[3, 4], 0, index(&[0, 2, -1, 1, 1, 1], &[2, 3]), src));
    out.push(case("one src", &[4], 0, index(&[2, 2, 0], &[3]), sample_tensor(&[], 1.0, 2.0, 2)));
    out
}

fn elements_errors(call: fn(&Tensor, isize, &Tensor, &Tensor) -> Result<Tensor>) -> Vec<ErrorSample> {
    let x = || sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![
        ErrorSample::new(
            "index",
            ErrorKind::Index,
            "index 3 at position [0,1] is out of range for dim 1 of f64[2,3], which has size 3",
            move || call(&x(), 1, &index(&[0, 3], &[1, 2]), &x()),
        ),
        ErrorSample::new(
            "src",
            ErrorKind::Shape,
            "expected a src no smaller than the index in any dim, got f64[2,3] and index i64[1,4]",
            move || call(&x(), 1, &index(&[0; 4], &[1, 4]), &x()),
        ),
        ErrorSample::new("shape", ErrorKind::Shape, "got i64[3,1]", move || {
            call(&x(), 1, &index(&[0; 3], &[3, 1]), &x())
        }),
        ErrorSample::new("dtype", ErrorKind::Dtype, "expected a src of dtype f64, got f32[2,3]", move || {
            call(&x(), 0, &index(&[0, 1], &[1, 2]), &x().to_dtype(DType::F32)?)
        }),
    ]
}

pub(super) fn scatter_add_samples() -> Vec<Sample> {
    elements_samples(Tensor::scatter_add, |a, b| a + b)
}

pub(super) fn scatter_add_errors() -> Vec<ErrorSample> {
    let mut out = elements_errors(Tensor::scatter_add);
    out.push(ErrorSample::new("bool", ErrorKind::Dtype, "expected a tensor of numbers, got bool[1]", || {
        let x = Tensor::from([true]);
        x.scatter_add(0, &index(&[0], &[1]), &x)
    }));
    out
}

pub(super) fn scatter_samples() -> Vec<Sample> {
    elements_samples(Tensor::scatter, |_, b| b)
}

pub(super) fn scatter_errors() -> Vec<ErrorSample> {
    elements_errors(Tensor::scatter)
}

pub(super) fn dynamic_slice_samples() -> Vec<Sample> {
    let case = |label: &str, shape: &[usize], dim: isize, start: Tensor, len: usize| {
        let d = dim.rem_euclid(shape.len() as isize) as usize;
        Sample::one(label, [sample_tensor(shape, -1.0, 1.0, 1), start], move |x| x[0].dynamic_slice(dim, &x[1], len))
            .reference(move |x| {
                let n = x[0].shape[d];
                let places = Naive::from_fn(&[&x[1].shape[..], &[len]].concat(), |at| {
                    (resolve(x[1].at(&at[..at.len() - 1]), n) + at[at.len() - 1]) as f64
                });
                vec![naive_select(&x[0], d, &places)]
            })
    };
    vec![
        case("vector", &[5], 0, index(&[3], &[]), 2),
        case("columns, from the end, i32", &[2, 4], -1, Tensor::from(-3i32), 3),
        case("several starts", &[5, 2], 0, index(&[3, 0, 2], &[3]), 2),
        case("nothing", &[3, 2], 0, index(&[3], &[]), 0),
    ]
}

pub(super) fn dynamic_slice_errors() -> Vec<ErrorSample> {
    let x = || sample_tensor(&[5], 0.0, 1.0, 1);
    vec![
        ErrorSample::new(
            "over the end",
            ErrorKind::Index,
            "dynamic_slice: a slice of 2 from 4 is out of range for dim 0 of f64[5], which has size 5",
            move || x().dynamic_slice(0, &index(&[4], &[]), 2),
        ),
        ErrorSample::new("around the end", ErrorKind::Index, "a slice of 2 from -1 is out of range", move || {
            x().dynamic_slice(0, &index(&[-1], &[]), 2)
        }),
        ErrorSample::new(
            "of a lane",
            ErrorKind::Index,
            "a slice of 2 from 4 of lane 1 is out of range for dim 0 of f64[5], which has size 5",
            move || crate::vmap(move |i: &Tensor| x().dynamic_slice(0, i, 2))(&index(&[3, 4], &[2])),
        ),
        ErrorSample::new("too long", ErrorKind::Index, "a slice of 6 from 0 is out of range", move || {
            x().dynamic_slice(0, &index(&[0], &[]), 6)
        }),
    ]
}
