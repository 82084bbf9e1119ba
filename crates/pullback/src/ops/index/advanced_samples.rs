//! Samples of [`i`](Tensor::i), [`index_set`](Tensor::index_set) and [`index_put`](Tensor::index_put) with tensors in the
//! index.

use super::naive::{flat, index, mask, resolve};
use crate::ops::table::{ErrorSample, Naive, Sample, sample_tensor};
use crate::tensor::IndexItem;
use crate::{Ellipsis, ErrorKind, NewAxis, Result, Tensor, s};

const SHAPE: [usize; 3] = [3, 4, 2];

/// An index of a tensor of [`SHAPE`], the positions in it, and which element each index of the result stands for.
struct Case {
    label: &'static str,
    positions: Vec<Tensor>,
    items: fn(&[Tensor]) -> Vec<IndexItem>,
    shape: &'static [usize],
    place: fn(&[usize], &dyn Fn(usize, &[usize]) -> f64) -> [f64; 3],
}

/// True at `[0,2]`, `[1,0]` and `[2,3]`.
fn matrix_mask() -> Tensor {
    let mut data = [false; 12];
    data[2] = true;
    data[4] = true;
    data[11] = true;
    mask(&data, &[3, 4])
}

/// `n` as a coordinate, which may be negative in a case.
fn c(n: usize) -> f64 {
    n as f64
}

fn cases() -> Vec<Case> {
    vec![
        Case {
            label: "positions, repeated",
            positions: vec![index(&[2, 0, -1, 2], &[4])],
            items: |p| vec![(&p[0]).into()],
            shape: &[4, 4, 2],
            place: |i, p| [p(0, &i[..1]), c(i[1]), c(i[2])],
        },
        Case {
            label: "positions of the middle, i32",
            positions: vec![Tensor::from([[3i32, -4], [1, 1]])],
            items: |p| vec![(..).into(), (&p[0]).into()],
            shape: &[3, 2, 2, 2],
            place: |i, p| [c(i[0]), p(0, &i[1..3]), c(i[3])],
        },
        Case {
            label: "pairs",
            positions: vec![index(&[2, 0, -1], &[3]), index(&[-4, 3, 3], &[3])],
            items: |p| vec![(&p[0]).into(), (&p[1]).into()],
            shape: &[3, 2],
            place: |i, p| [p(0, &i[..1]), p(1, &i[..1]), c(i[1])],
        },
        Case {
            label: "rows by columns",
            positions: vec![index(&[1, -2], &[2, 1]), index(&[0, 3, 0], &[3])],
            items: |p| vec![(&p[0]).into(), (&p[1]).into(), s(None, None, -1)],
            shape: &[2, 3, 2],
            place: |i, p| [p(0, &[i[0], 0]), p(1, &[i[1]]), c(1 - i[2])],
        },
        Case {
            label: "separated",
            positions: vec![index(&[2, 0], &[2]), index(&[0, -1], &[2])],
            items: |p| vec![(&p[0]).into(), (..).into(), (&p[1]).into()],
            shape: &[2, 4],
            place: |i, p| [p(0, &i[..1]), c(i[1]), p(1, &i[..1])],
        },
        Case {
            label: "separated, one element",
            positions: vec![index(&[-1], &[]), index(&[1], &[1])],
            items: |p| vec![(&p[0]).into(), s(1, 2, 1), (&p[1]).into()],
            shape: &[1, 1],
            place: |_, p| [p(0, &[]), 1.0, p(1, &[0])],
        },
        Case {
            label: "a position and positions",
            positions: vec![index(&[1, 0, 0], &[3])],
            items: |p| vec![1.into(), Ellipsis.into(), (&p[0]).into()],
            shape: &[4, 3],
            place: |i, p| [1.0, c(i[0]), p(0, &i[1..])],
        },
        Case {
            label: "a new axis between",
            positions: vec![index(&[1, 0], &[2]), index(&[2], &[])],
            items: |p| vec![(&p[0]).into(), NewAxis.into(), (&p[1]).into()],
            shape: &[2, 1, 2],
            place: |i, p| [p(0, &i[..1]), p(1, &[]), c(i[2])],
        },
        Case {
            label: "in a range",
            positions: vec![index(&[-1, 1], &[2])],
            items: |p| vec![(1..).into(), (&p[0]).into(), 0.into()],
            shape: &[2, 2],
            place: |i, p| [c(i[0] + 1), p(0, &i[1..]), 0.0],
        },
        Case {
            label: "all three",
            positions: vec![index(&[0, 2, 1, 1], &[2, 2]), index(&[-1], &[1]), index(&[1, 0], &[2])],
            items: |p| p.iter().map(IndexItem::from).collect(),
            shape: &[2, 2],
            place: |i, p| [p(0, i), 3.0 + 0.0 * p(1, &[0]), p(2, &i[1..])],
        },
        Case {
            label: "no position",
            positions: vec![index(&[], &[0])],
            items: |p| vec![(&p[0]).into()],
            shape: &[0, 4, 2],
            place: |_, _| [0.0; 3],
        },
        Case {
            label: "list",
            positions: vec![],
            items: |_| vec![(..).into(), [1, -1, 1].into()],
            shape: &[3, 3, 2],
            place: |i, _| [c(i[0]), [1.0, 3.0, 1.0][i[1]], c(i[2])],
        },
        Case {
            label: "mask",
            positions: vec![],
            items: |_| vec![matrix_mask().into()],
            shape: &[3, 2],
            place: |i, _| [c(i[0]), [2.0, 0.0, 3.0][i[0]], c(i[1])],
        },
        Case {
            label: "mask and positions",
            positions: vec![index(&[1, 0], &[2])],
            items: |p| vec![mask(&[true, false, true], &[3]).into(), (..2).into(), (&p[0]).into()],
            shape: &[2, 2],
            place: |i, p| [c(2 * i[0]), c(i[1]), p(0, &i[..1])],
        },
        Case {
            label: "nothing of a mask",
            positions: vec![],
            items: |_| vec![(..).into(), mask(&[false; 8], &[4, 2]).into()],
            shape: &[3, 0],
            place: |_, _| [0.0; 3],
        },
    ]
}

/// The element of a tensor of [`SHAPE`] that `at` of the result stands for.
fn origin(
    case_place: fn(&[usize], &dyn Fn(usize, &[usize]) -> f64) -> [f64; 3],
    at: &[usize],
    x: &[Naive],
) -> Vec<usize> {
    let place = case_place(at, &|k, i| x[k].at(i));
    place.iter().zip(SHAPE).map(|(&i, n)| resolve(i, n)).collect()
}

pub(in crate::ops) fn read_samples() -> Vec<Sample> {
    cases()
        .into_iter()
        .map(|Case { label, positions, items, shape, place }| {
            let mut inputs = vec![sample_tensor(&SHAPE, -1.0, 1.0, 1)];
            inputs.extend(positions);
            Sample::one(label, inputs, move |x| x[0].i(items(&x[1..])))
                .reference(move |x| vec![Naive::from_fn(shape, |at| x[0].at(&origin(place, at, &x[1..])))])
        })
        .collect()
}

/// Samples of a call that joins values with the elements that an index selects.
pub(in crate::ops) fn write_samples(
    call: fn(&Tensor, Vec<IndexItem>, &Tensor) -> Result<Tensor>,
    join: fn(f64, f64) -> f64,
) -> Vec<Sample> {
    let sample = |case: Case, values: &[usize]| {
        let Case { label, positions, items, shape, place } = case;
        let mut inputs = vec![sample_tensor(&SHAPE, -1.0, 1.0, 1), sample_tensor(values, -1.0, 1.0, 2)];
        inputs.extend(positions);
        Sample::one(label, inputs, move |x| call(&x[0], items(&x[2..]), &x[1])).reference(move |x| {
            let mut out = x[0].clone();
            Naive::from_fn(shape, |at| {
                let k = flat(&SHAPE, &origin(place, at, &x[2..]));
                out.data[k] = join(out.data[k], x[1].at_broadcast(at));
                0.0
            });
            vec![out]
        })
    };
    let mut samples: Vec<Sample> = cases()
        .into_iter()
        .map(|case| {
            let shape = case.shape;
            sample(case, shape)
        })
        .collect();
    for (label, values) in [("one value for all", &[][..]), ("a row for all", &[2])] {
        let Some(case) = cases().into_iter().next() else { continue };
        samples.push(sample(Case { label, ..case }, values));
    }
    samples
}

/// Samples of the errors of `op`, which is given the items of an index.
pub(in crate::ops) fn errors(call: fn(&Tensor, Vec<IndexItem>) -> Result<Tensor>) -> Vec<ErrorSample> {
    let case = |label: &str, kind: ErrorKind, message: &'static str, items: fn() -> Vec<IndexItem>| {
        let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
        ErrorSample::new(label, kind, message, move || call(&x, items()))
    };
    let lanes = |label: &str, message: &'static str, batched: (bool, bool)| {
        ErrorSample::new(label, ErrorKind::Index, message, move || {
            let (x, index) = (sample_tensor(&[2, 2, 3], 0.0, 1.0, 1), index(&[0, 1, 1, 3], &[2, 2]));
            let dims = (batched.0.then_some(0usize), batched.1.then_some(0usize));
            let x = if batched.0 { x } else { x.i(0)? };
            let index = if batched.1 { index } else { index.i(1)? };
            crate::Vmap::new()
                .in_dims(dims)
                .of(move |(x, index): &(Tensor, Tensor)| call(x, vec![(..).into(), index.into()]))(&(
                x, index,
            ))
        })
    };
    vec![
        case(
            "one of the positions",
            ErrorKind::Index,
            "index 3 at position [1] is out of range for dim 1 of f64[2,3], which has size 3",
            || vec![(..).into(), index(&[0, 3], &[2]).into()],
        ),
        case(
            "one of many positions",
            ErrorKind::Index,
            "index -3 at position [1,0] is out of range for dim 0 of f64[2,3], which has size 2",
            || vec![index(&[0, -3], &[2, 1]).into(), index(&[0, 1], &[2]).into()],
        ),
        lanes(
            "lanes of positions",
            "index 3 at position [1] of lane 1 is out of range for dim 1 of f64[2,3]",
            (false, true),
        ),
        lanes("lanes", "index 3 at position [1] is out of range for dim 1 of f64[2,3]", (true, false)),
        lanes("lanes of both", "index 3 at position [1] of lane 1 is out of range for dim 1 of f64[2,3]", (true, true)),
        case("broadcast", ErrorKind::Shape, "expected positions whose shapes broadcast, got i64[2], i64[3]", || {
            vec![index(&[0, 1], &[2]).into(), index(&[0, 1, 2], &[3]).into()]
        }),
        case(
            "dtype",
            ErrorKind::Dtype,
            "expected an index of dtype i64 or i32, or a bool mask with a dim, got f64[1]",
            || vec![Tensor::from([1.0]).into()],
        ),
        case("0-d mask", ErrorKind::Dtype, "got bool[]", || vec![Tensor::from(true).into()]),
        case("mask", ErrorKind::Shape, "expected a mask of shape [3] for f64[2,3] from dim 1 on, got bool[2]", || {
            vec![(..).into(), mask(&[true, false], &[2]).into()]
        }),
        case(
            "rank of a mask",
            ErrorKind::Dim,
            "expected at most 2 dims in items for the dims of f64[2,3], got 3",
            || vec![0.into(), mask(&[true; 6], &[2, 3]).into()],
        ),
        case("positions of too many", ErrorKind::Dim, "at most 2 items for the dims of f64[2,3], got 3", || {
            vec![0.into(), 0.into(), [0].into()]
        }),
        ErrorSample::new("lanes of masks", ErrorKind::ConcreteValueNeeded, "`where_` and `masked_fill`", move || {
            let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
            crate::vmap(move |x: &Tensor| call(x, vec![x.gt(0.5)?.into()]))(&x)
        }),
        ErrorSample::new("captured mask", ErrorKind::ConcreteValueNeeded, "`where_` and `masked_fill`", move || {
            let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
            crate::capture(move |x: &Tensor| call(x, vec![x.gt(0.5)?.into()]))(&x)?;
            Ok(Tensor::from(0))
        }),
    ]
}
