//! Reading and replacing a rectangular part of a tensor.

use std::fmt;

use smallvec::{SmallVec, smallvec};

use super::family::{Linear, linear};
use super::index::advanced::{Picks, explain};
use super::index::{advanced_samples as picks, check_number};
use super::shape::broadcast_to;
use super::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::array::{Array, Cut};
use crate::error::bail;
use crate::function::op::{Batched, Cotangents, Op, Tangents};
use crate::function::{Cotangent, OpRef, Outs, Saved, Tangent, VmapInfo};
use crate::interp::{batch, bind, bind1};
use crate::kernels::region;
use crate::shape::{Shape, with_dim};
use crate::tensor::{Indices, Operand, Part};
use crate::{Ellipsis, ErrorKind, NewAxis, Result, Tensor, s};

ops! { OPS;
    /// The part of the tensor that an index selects: a view, unless the index has lists or tensors of positions.
    ///
    /// # Shapes
    /// See [`Indices`] for what an index may be. Integers drop their dimension, ranges keep it, dimensions without an
    /// item are taken whole; where the dims of tensors go is said there.
    ///
    /// # Dtypes
    /// All; tensors in the index are `i64`, `i32` or bool.
    ///
    /// # Derivative
    /// The cotangent at the selected places, added up where one is selected several times, zero elsewhere.
    ///
    /// # Errors
    /// `Dim` if there are more items than dimensions; `Index` if a position is out of range; `Value` for a step of 0;
    /// `Shape` if tensors in the index do not broadcast, or a mask has another shape than the dims that it speaks of;
    /// `Dtype` for a tensor in the index that is neither; `ConcreteValueNeeded` for a mask that is batched or captured.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1, 2, 3], [4, 5, 6]]);
    /// assert_eq!(x.i(1)?.to_vec::<i32>()?, [4, 5, 6]);
    /// assert_eq!(x.i((.., -1))?.to_vec::<i32>()?, [3, 6]);
    /// assert_eq!(x.i((0, 1..))?.to_vec::<i32>()?, [2, 3]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn i(&self, index: impl Indices) -> Result<Tensor> = read { samples: read_samples, errors: read_errors };

    /// The tensor with the part that an index selects replaced by `value`.
    ///
    /// [`set_`](Tensor::set_) does the same to a handle and reuses its memory. Of several values for one position of a
    /// tensor in the index, the last one in row-major order stays.
    ///
    /// # Shapes
    /// `value` broadcasts to the shape of the part; see [`Indices`]. The result has the shape of the tensor.
    ///
    /// # Dtypes
    /// All. `value` is converted to the dtype of the tensor, whose category must not be lower.
    ///
    /// # Derivative
    /// With respect to the tensor, the cotangent with zeros in the part; with respect to `value`, the cotangent of the
    /// part, and zero for values that were overwritten.
    ///
    /// # Errors
    /// As [`i`](Tensor::i); `Shape` if `value` does not broadcast to the part; `Dtype` for a float into a tensor of
    /// integers, or a number into one of bools.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, grad};
    /// let x = Tensor::from([1.0, 2.0, 3.0]);
    /// assert_eq!(x.index_set(1.., 0.0)?.to_vec::<f64>()?, [1.0, 0.0, 0.0]);
    /// let g = grad(|x: &Tensor| x.index_set(0, &(x.i(2)? * 5.0))?.sum())(&x)?;
    /// assert_eq!(g.to_vec::<f64>()?, [0.0, 1.0, 6.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn index_set(&self, index: impl Indices, value: impl Operand) -> Result<Tensor> = write
        { samples: write_samples, errors: write_errors };

    /// The tensor with `values` in the part that an index selects, or added to it if `accumulate`: then several values
    /// for one position add up, in row-major order.
    ///
    /// Without `accumulate` this is [`index_set`](Tensor::index_set).
    ///
    /// # Shapes
    /// As those of [`index_set`](Tensor::index_set).
    ///
    /// # Dtypes
    /// All; numbers to accumulate. `values` are converted to the dtype of the tensor, whose category must not be lower.
    ///
    /// # Derivative
    /// Accumulating, the cotangent for the tensor, and that of the part for `values`; else that of
    /// [`index_set`](Tensor::index_set).
    ///
    /// # Errors
    /// As those of [`index_set`](Tensor::index_set); `Dtype` to accumulate bools.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor};
    /// let x = Tensor::zeros(&[3], DType::I32)?;
    /// let (places, values) = (Tensor::from([1i64, 1, -1]), Tensor::from([5, 7, 9]));
    /// assert_eq!(x.index_put((&places,), &values, true)?.to_vec::<i32>()?, [0, 12, 9]);
    /// assert_eq!(x.index_put((&places,), &values, false)?.to_vec::<i32>()?, [0, 7, 9]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn index_put(&self, index: impl Indices, values: impl Operand, accumulate: bool) -> Result<Tensor> = put {
        in_place: true, samples: put_samples, errors: put_errors,
        python: index_put(index as indices, values, accumulate = false)
    };
}

type Cuts = SmallVec<[Cut; 4]>;

/// The cuts for all lanes of a batch, which lie along dimension 0.
fn batched_cuts(cuts: &Cuts, size: usize) -> Cuts {
    std::iter::once(Cut::all(size)).chain(cuts.iter().copied()).collect()
}

/// The shape of the part that `cuts` select.
fn kept(cuts: &Cuts) -> Shape {
    cuts.iter().filter(|c| c.keep).map(|c| c.len).collect()
}

/// A part of a tensor.
#[derive(Clone, Debug)]
struct Read(Cuts);

impl Linear for Read {
    const NAME: &'static str = "i";
    const COMPUTES: bool = false;
    fn kernel(&self, x: &Array) -> Result<Array> {
        Ok(x.region(&self.0))
    }
    fn transpose(&self, g: &Tensor, input: &[usize]) -> Result<Tensor> {
        linear(Place { cuts: self.0.clone(), shape: Shape::from_slice(input) }, g)
    }
    fn batched(&self, size: usize) -> Read {
        Read(batched_cuts(&self.0, size))
    }
}

/// The transpose of [`Read`]: the elements at their places in zeros of `shape`.
#[derive(Clone, Debug)]
struct Place {
    cuts: Cuts,
    shape: Shape,
}

impl Linear for Place {
    const NAME: &'static str = "i_backward";
    const COMPUTES: bool = false;
    fn kernel(&self, x: &Array) -> Result<Array> {
        Ok(region::place(x, &self.shape, &self.cuts))
    }
    fn transpose(&self, g: &Tensor, _: &[usize]) -> Result<Tensor> {
        read_cuts(g, &self.cuts)
    }
    fn batched(&self, size: usize) -> Place {
        Place { cuts: batched_cuts(&self.cuts, size), shape: with_dim(&self.shape, 0, size) }
    }
}

fn read_cuts(x: &Tensor, cuts: &Cuts) -> Result<Tensor> {
    if cuts.iter().zip(x.shape()).all(|(c, &n)| c.is_all(n)) {
        return x.unchanged("i");
    }
    linear(Read(cuts.clone()), x)
}

fn read(x: &Tensor, index: impl Indices) -> Result<Tensor> {
    let part = Part::of("i", x, index.items())?;
    if part.picks.is_empty() {
        return read_part(x, &part);
    }
    let picks = Picks::of("i", x, &part)?;
    picks.read(&read_part(x, &part)?).map_err(|e| explain("i", x, &part, e))
}

/// The part of `x` before picks are made.
fn read_part(x: &Tensor, part: &Part) -> Result<Tensor> {
    read_cuts(x, &part.cuts)?.reshape_to(&part.shape)
}

/// The first input with the part that the cuts select replaced by the second one, which has the shape of the part.
#[derive(Debug)]
struct Replace(Cuts);

impl Replace {
    /// `x` with zeros in the part.
    fn clear(&self, x: &Tensor) -> Result<Tensor> {
        let zeros = broadcast_to(&Tensor::zeros(&[], x.dtype())?, &kept(&self.0))?;
        replace(x, &zeros, &self.0)
    }
}

/// `x` with the part that `cuts` select replaced by `value`, which has its dtype and the shape of the part.
pub(crate) fn replace(x: &Tensor, value: &Tensor, cuts: &Cuts) -> Result<Tensor> {
    match (x.array(), value.array()) {
        (Some(x), Some(value)) => Ok(region::replace(x, value, cuts).into()),
        _ => bind1(&OpRef::new(Replace(cuts.clone())), &[x, value]),
    }
}

impl Op for Replace {
    fn name(&self) -> &str {
        "index_set"
    }
    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        Ok(smallvec![region::replace(inputs[0].concrete(), inputs[1].concrete(), &self.0).into()])
    }
    fn save(&self, _: &[bool], inputs: &[&Tensor], _: &[Tensor]) -> Result<Saved> {
        Ok(Saved::shape(inputs[0].shape()))
    }
    fn backward(&self, _: &Saved, needs: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        let target = if needs[0] { grads[0].map(|g| self.clear(g))? } else { Cotangent::zero() };
        let value = if needs[1] { grads[0].map(|g| read_cuts(g, &self.0))? } else { Cotangent::zero() };
        Ok(smallvec![target, value])
    }
    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        Ok(smallvec![match (tangents[0].as_tensor(), tangents[1].as_tensor()) {
            (Some(dx), Some(dv)) => replace(dx, dv, &self.0)?.into(),
            (Some(dx), None) => self.clear(dx)?.into(),
            (None, Some(dv)) => {
                linear(Place { cuts: self.0.clone(), shape: saved.get_shape() }, dv)?.into()
            }
            (None, None) => Tangent::zero(),
        }])
    }
    fn vmap(&self, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        // What is the same for every lane is repeated without a copy.
        let x = batch::materialize(inputs[0], dims[0], info.batch_size)?;
        let value = batch::materialize(inputs[1], dims[1], info.batch_size)?;
        let outs = bind(&OpRef::new(Replace(batched_cuts(&self.0, info.batch_size))), &[&x, &value])?;
        Ok((outs, smallvec![Some(0)]))
    }
}

/// Checks `value` against the part of `x` that it shall replace, and gives it the dtype of `x` and the shape of the
/// part.
pub(crate) fn fit_value(op: &str, x: &Tensor, part: &Part, value: &Tensor) -> Result<Tensor> {
    fit_shape(op, x, &part.shape, value)?.reshape_to(&part.kept())
}

/// [`fit_value`] for a part of this shape.
fn fit_shape(op: &str, x: &Tensor, part: &[usize], value: &Tensor) -> Result<Tensor> {
    if !value.dtype().fits_in(x.dtype()) {
        bail!(Dtype, "{op}: expected a value that can be stored in {}, got {}", x.ty(), value.ty(); help = "convert one \
            of them with `to_dtype`");
    }
    let value = value.to_dtype(x.dtype())?;
    if !crate::shape::broadcasts_to(value.shape(), part) {
        let place = crate::TensorType::new(x.dtype(), part);
        bail!(
            Shape,
            "{op}: expected a value that broadcasts to the selected part, {place} of {}, got {}",
            x.ty(),
            value.ty()
        );
    }
    broadcast_to(&value, part)
}

fn write(x: &Tensor, index: impl Indices, value: impl Operand) -> Result<Tensor> {
    put_at("index_set", x, index, value, false)
}

fn put(x: &Tensor, index: impl Indices, value: impl Operand, accumulate: bool) -> Result<Tensor> {
    if accumulate {
        check_number("index_put", x)?;
    }
    put_at("index_put", x, index, value, accumulate)
}

fn put_at(op: &'static str, x: &Tensor, index: impl Indices, value: impl Operand, accumulate: bool) -> Result<Tensor> {
    let part = Part::of(op, x, index.items())?;
    value.with_operand(op, x.dtype(), |value| put_part(op, x, &part, value, accumulate))
}

/// `x` with `value` in a part of it, or added to the part.
pub(crate) fn put_part(op: &'static str, x: &Tensor, part: &Part, value: &Tensor, accumulate: bool) -> Result<Tensor> {
    if !part.picks.is_empty() {
        let picks = Picks::of(op, x, part)?;
        let old = read_part(x, part)?;
        let value = fit_shape(op, x, &picks.shape_of(&old), value)?;
        let new = picks.put(op, &old, &value, accumulate).map_err(|e| explain(op, x, part, e))?;
        if part.cuts.iter().zip(x.shape()).all(|(c, &n)| c.is_all(n)) {
            return new.reshape_to(x.shape());
        }
        return replace(x, &new.reshape_to(&part.kept())?, &part.cuts);
    }
    let value = fit_value(op, x, part, value)?;
    if accumulate {
        return replace(x, &read_cuts(x, &part.cuts)?.add(&value)?, &part.cuts);
    }
    replace(x, &value, &part.cuts)
}

/// An index, and which index of the tensor each index of the part stands for.
struct Case<I> {
    label: &'static str,
    index: I,
    shape: &'static [usize],
    place: fn(&[usize]) -> Vec<usize>,
}

/// Calls a macro with the cases that both rows are sampled on; the tensor has shape `[3, 4, 2]`.
macro_rules! with_cases {
    ($each:ident) => {
        [
            $each(Case { label: "position", index: 1, shape: &[4, 2], place: |i| vec![1, i[0], i[1]] }),
            $each(Case {
                label: "position and range",
                index: (-1, 1..3),
                shape: &[2, 2],
                place: |i| vec![2, i[0] + 1, i[1]],
            }),
            $each(Case {
                label: "steps",
                index: (s(None, None, -2), s(1, None, 2), ..),
                shape: &[2, 2, 2],
                place: |i| vec![2 - 2 * i[0], 1 + 2 * i[1], i[2]],
            }),
            $each(Case { label: "ellipsis", index: (Ellipsis, 0), shape: &[3, 4], place: |i| vec![i[0], i[1], 0] }),
            $each(Case {
                label: "new axes",
                index: (NewAxis, .., 3, NewAxis),
                shape: &[1, 3, 1, 2],
                place: |i| vec![i[1], 3, i[3]],
            }),
            $each(Case { label: "one element", index: (0, 1, 1), shape: &[], place: |_| vec![0, 1, 1] }),
            $each(Case { label: "nothing", index: (.., 2..2), shape: &[3, 0, 2], place: |i| i.to_vec() }),
            $each(Case { label: "everything", index: (), shape: &[3, 4, 2], place: |i| i.to_vec() }),
        ]
    };
}

const SAMPLE_SHAPE: [usize; 3] = [3, 4, 2];

fn read_samples() -> Vec<Sample> {
    fn one<I: Indices + Clone + Send + Sync + 'static>(case: Case<I>) -> Sample {
        let Case { label, index, shape, place } = case;
        Sample::one(label, [sample_tensor(&SAMPLE_SHAPE, -1.0, 1.0, 1)], move |x| x[0].i(index.clone()))
            .reference(move |x| vec![Naive::from_fn(shape, |i| x[0].at(&place(i)))])
    }
    let mut samples: Vec<Sample> = with_cases!(one).into();
    samples.push(
        Sample::one("0-d", [sample_tensor(&[], -1.0, 1.0, 1)], |x| x[0].i((NewAxis, Ellipsis, NewAxis)))
            .reference(|x| vec![Naive { shape: vec![1, 1], data: x[0].data.clone() }]),
    );
    samples.push(
        Sample::one("empty", [sample_tensor(&[0, 3], -1.0, 1.0, 1)], |x| x[0].i((s(None, None, -1), 1)))
            .reference(|_| vec![Naive { shape: vec![0], data: vec![] }]),
    );
    samples.extend(picks::read_samples());
    samples
}

fn write_samples() -> Vec<Sample> {
    fn with_value<I: Indices + Clone + Send + Sync + 'static>(case: Case<I>, value: &[usize]) -> Sample {
        let Case { label, index, shape, place } = case;
        let inputs = [sample_tensor(&SAMPLE_SHAPE, -1.0, 1.0, 1), sample_tensor(value, -1.0, 1.0, 2)];
        Sample::one(label, inputs, move |x| x[0].index_set(index.clone(), &x[1])).reference(move |x| {
            let mut out = x[0].clone();
            Naive::from_fn(shape, |i| {
                let at = place(i);
                let flat = at.iter().zip(SAMPLE_SHAPE).fold(0, |flat, (&k, n)| flat * n + k);
                out.data[flat] = x[1].at_broadcast(i);
                0.0
            });
            vec![out]
        })
    }
    fn one<I: Indices + Clone + Send + Sync + 'static>(case: Case<I>) -> Sample {
        let shape = case.shape;
        with_value(case, shape)
    }
    let mut samples: Vec<Sample> = with_cases!(one).into();
    let row = Case { label: "row into all", index: Ellipsis, shape: &SAMPLE_SHAPE, place: |i| i.to_vec() };
    samples.push(with_value(row, &[2]));
    let number = Case {
        label: "0-d into steps",
        index: s(None, None, 2),
        shape: &[2, 4, 2],
        place: |i| vec![2 * i[0], i[1], i[2]],
    };
    samples.push(with_value(number, &[]));
    samples.extend(picks::write_samples(|x, items, value| x.index_set(items, value), |_, new| new));
    samples
}

fn put_samples() -> Vec<Sample> {
    let mut samples = picks::write_samples(|x, items, values| x.index_put(items, values, true), |old, new| old + new);
    let inputs = [sample_tensor(&[3, 2], -1.0, 1.0, 1), sample_tensor(&[2], -1.0, 1.0, 2)];
    samples.push(
        Sample::one("range", inputs, |x| x[0].index_put(1.., &x[1], true)).reference(|x| {
            vec![Naive::from_fn(&[3, 2], |i| x[0].at(i) + if i[0] > 0 { x[1].at(&i[1..]) } else { 0.0 })]
        }),
    );
    for mut sample in picks::write_samples(|x, items, values| x.index_put(items, values, false), |_, new| new) {
        sample.label += ", replaced";
        samples.push(sample);
    }
    samples
}

fn read_errors() -> Vec<ErrorSample> {
    fn case(
        label: &str,
        kind: ErrorKind,
        message: &'static str,
        index: impl Indices + Clone + Send + Sync + 'static,
    ) -> ErrorSample {
        let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
        ErrorSample::new(label, kind, message, move || x.i(index.clone()))
    }
    let mut out = vec![
        case("position", ErrorKind::Index, "index 3 is out of range for dim 1 of f64[2,3], which has size 3", (0, 3)),
        case("negative", ErrorKind::Index, "index -3 is out of range for dim 0 of f64[2,3], which has size 2", -3),
        case("step", ErrorKind::Value, "a step other than 0 for dim 0", s(None, None, 0)),
        case("items", ErrorKind::Dim, "at most 2 items for the dims of f64[2,3], got 3", (0, 0, 0)),
        case("ellipses", ErrorKind::Dim, "at most one `Ellipsis`", (Ellipsis, Ellipsis)),
    ];
    out.extend(picks::errors(|x, items| x.i(items)));
    out
}

fn write_errors() -> Vec<ErrorSample> {
    let x = || sample_tensor(&[2, 3], 0.0, 1.0, 1);
    let (a, b, c) = (x(), x(), Tensor::from([1, 2]));
    let mut out = vec![
        ErrorSample::new("index", ErrorKind::Index, "index_set: index 2 is out of range", move || a.index_set(2, 0.0)),
        ErrorSample::new("value", ErrorKind::Shape, "the selected part, f64[3] of f64[2,3], got f64[2]", move || {
            b.index_set(0, Tensor::from([1.0, 2.0]))
        }),
        ErrorSample::new("dtype", ErrorKind::Dtype, "can be stored in i32[2], got f32[]", move || c.index_set(0, 1.5)),
    ];
    out.extend(picks::errors(|x, items| x.index_set(items, 0.0)));
    out
}

fn put_errors() -> Vec<ErrorSample> {
    let (x, b) = (sample_tensor(&[2, 3], 0.0, 1.0, 1), Tensor::from([true, false]));
    let mut out = vec![
        ErrorSample::new(
            "values",
            ErrorKind::Shape,
            "index_put: expected a value that broadcasts to the selected part, f64[2,2] of f64[2,3], got f64[3]",
            move || x.index_put((.., [0, 2]), Tensor::from([1.0, 2.0, 3.0]), true),
        ),
        ErrorSample::new(
            "bools",
            ErrorKind::Dtype,
            "index_put: expected a tensor of numbers, got bool[2]",
            move || b.index_put([0], true, true),
        ),
    ];
    out.extend(picks::errors(|x, items| x.index_put(items, 0.0, true)));
    out
}
