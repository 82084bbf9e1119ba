//! Joining elements of one tensor to those of another at the places of an index, by a reduction.

use std::fmt;

use smallvec::smallvec;

use super::check::{Wanted, check_number};
use super::elements::{Gather, Scatter, placed};
use super::lanes_at;
use super::naive::{flat, index, resolve, with};
use super::slices::{check_slices, rows_of};
use crate::error::bail;
use crate::function::op::{Batched, Cotangents, Op, Tangents, no_derivative};
use crate::function::{Cotangent, OpRef, Outs, Saved, Tangent, VmapInfo};
use crate::interp::bind;
use crate::kernels::half::widened;
use crate::kernels::scatter;
use crate::ops::family::apply1;
use crate::ops::shape::zeros;
use crate::ops::table::{ErrorSample, Kink, Naive, Sample, ops, sample_tensor};
use crate::shape::Shape;
use crate::{DType, ErrorKind, Operand, Result, Tensor};

/// How elements that meet in one place are joined by [`scatter_reduce`](Tensor::scatter_reduce) and
/// [`index_reduce`](Tensor::index_reduce).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduce {
    /// Their sum.
    Sum,
    /// Their product.
    Prod,
    /// Their mean.
    Mean,
    /// The largest of them; NaN if there is one.
    Amax,
    /// The smallest of them; NaN if there is one.
    Amin,
}

ops! { OPS;
    /// The tensor with elements of `src` joined to those at the places that `index` gives along `dim`:
    /// `out[.., index[.., i, ..], ..]` is the reduction of all `src[.., i, ..]` with this place, and of the element that
    /// was there if `include_self`.
    ///
    /// # Shapes
    /// As those of [`scatter_add`](Tensor::scatter_add). Elements whose place is not in the index stay.
    ///
    /// # Dtypes
    /// Numbers, the same for the tensor and `src`; for the extremes bools too, for the mean floats only. The index is `i64` or
    /// `i32`.
    ///
    /// # Derivative
    /// That of the reduction. Of elements that tie for an extreme, NaNs among them, each gets the same part. That of a
    /// product takes no quotients, so that it is right where elements are 0, however many and in every order.
    ///
    /// # Errors
    /// As those of [`scatter_add`](Tensor::scatter_add).
    ///
    /// # Example
    /// ```
    /// use pullback::{Reduce, Tensor};
    /// let (x, places) = (Tensor::from([1.0, 2.0, 3.0]), Tensor::from([0i64, 0, 2]));
    /// let src = Tensor::from([5.0, 7.0, 9.0]);
    /// assert_eq!(x.scatter_reduce(0, &places, &src, Reduce::Amax, true)?.to_vec::<f64>()?, [7.0, 2.0, 9.0]);
    /// assert_eq!(x.scatter_reduce(0, &places, &src, Reduce::Mean, false)?.to_vec::<f64>()?, [6.0, 2.0, 9.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn scatter_reduce(&self, dim: isize, index: &Tensor, src: &Tensor, reduce: Reduce, include_self: bool) -> Result<Tensor>
        = scatter_reduce {
        in_place: true, samples: scatter_reduce_samples, errors: scatter_reduce_errors, kinks: scatter_reduce_kinks,
        python: scatter_reduce(dim, index, src, reduce, include_self = true)
    };

    /// The tensor with elements of `src` joined to those at the places that `index` gives along `dim`, those that were there taking
    /// part; see [`scatter_reduce`](Tensor::scatter_reduce).
    ///
    /// # Shapes
    /// As those of [`scatter_add`](Tensor::scatter_add): a number, or a 0-d `src`, is joined to the element at every place.
    ///
    /// # Dtypes
    /// As those of [`scatter_reduce`](Tensor::scatter_reduce).
    ///
    /// # Derivative
    /// As that of [`scatter_reduce`](Tensor::scatter_reduce).
    ///
    /// # Errors
    /// As those of [`scatter_add`](Tensor::scatter_add).
    ///
    /// # Example
    /// ```
    /// use pullback::{Reduce, Tensor};
    /// let (x, places) = (Tensor::from([1.0, 2.0, 3.0]), Tensor::from([0i64, 0, 2]));
    /// let y: Vec<f64> = x.scatter_with(0, &places, 10.0, Reduce::Prod)?.to_vec()?;
    /// assert_eq!(y, [100.0, 2.0, 30.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn scatter_with(&self, dim: isize, index: &Tensor, src: impl Operand, reduce: Reduce) -> Result<Tensor> = scatter_with {
        in_place: true, samples: scatter_with_samples, errors: scatter_with_errors,
        python: scatter(dim, index, src, reduce as reduce: AddOrMultiply),
        python: scatter(dim, index, src as value, reduce as reduce: AddOrMultiply)
    };

    /// The tensor with slices of `src` joined to those along `dim` at the places that `index` gives; the slices that were
    /// there take part if `include_self`.
    ///
    /// # Shapes
    /// As those of [`index_add`](Tensor::index_add). Slices whose place is not in the index stay.
    ///
    /// # Dtypes
    /// As those of [`scatter_reduce`](Tensor::scatter_reduce).
    ///
    /// # Derivative
    /// As that of [`scatter_reduce`](Tensor::scatter_reduce).
    ///
    /// # Errors
    /// As those of [`index_add`](Tensor::index_add).
    ///
    /// # Example
    /// ```
    /// use pullback::{Reduce, Tensor};
    /// let (x, src) = (Tensor::from([[1.0, 2.0], [3.0, 4.0]]), Tensor::from([[5.0, 1.0], [0.0, 9.0]]));
    /// let y = x.index_reduce(0, &Tensor::from([1i64, 1]), &src, Reduce::Amax, true)?;
    /// assert_eq!(y.to_vec::<f64>()?, [1.0, 2.0, 5.0, 9.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn index_reduce(&self, dim: isize, index: &Tensor, src: &Tensor, reduce: Reduce, include_self: bool) -> Result<Tensor>
        = index_reduce {
        in_place: true, samples: index_reduce_samples, errors: index_reduce_errors,
        python: index_reduce(dim, index, src as source, reduce, include_self = true)
    };
}

fn scatter_reduce(
    x: &Tensor,
    dim: isize,
    index: &Tensor,
    src: &Tensor,
    reduce: Reduce,
    include_self: bool,
) -> Result<Tensor> {
    let op = "scatter_reduce";
    check_dtype(op, x, reduce)?;
    let (dim, src) = placed(op, x, dim, index, src)?;
    let index = Wanted::Elements.check(op, x, dim, index)?;
    join(x, dim, &index, &src, reduce, include_self)
}

fn scatter_with(x: &Tensor, dim: isize, index: &Tensor, src: impl Operand, reduce: Reduce) -> Result<Tensor> {
    src.with_operand("scatter", x.dtype(), |src| {
        check_dtype("scatter", x, reduce)?;
        let (dim, src) = placed("scatter", x, dim, index, src)?;
        join(x, dim, &Wanted::Elements.check("scatter", x, dim, index)?, &src, reduce, true)
    })
}

fn index_reduce(
    x: &Tensor,
    dim: isize,
    index: &Tensor,
    src: &Tensor,
    reduce: Reduce,
    include_self: bool,
) -> Result<Tensor> {
    let op = "index_reduce";
    check_dtype(op, x, reduce)?;
    let dim = check_slices(op, x, dim, index, src)?;
    let index = Wanted::Elements.check(op, x, dim, index)?;
    let (index, src) = rows_of(x, dim, &index, src)?;
    join(x, dim, &index, &src, reduce, include_self)
}

fn check_dtype(op: &str, x: &Tensor, reduce: Reduce) -> Result<()> {
    match reduce {
        Reduce::Amax | Reduce::Amin => Ok(()),
        Reduce::Mean if x.dtype().is_int() => {
            bail!(Dtype, "{op}: expected floats for the mean, got {}", x.ty(); help = "convert the tensor with `to_dtype`")
        }
        _ => check_number(op, x),
    }
}

/// The reduction for an index that was checked and a source of its shape.
fn join(x: &Tensor, dim: usize, index: &Tensor, src: &Tensor, reduce: Reduce, own: bool) -> Result<Tensor> {
    // `x` with a number where something arrives, if what is there does not take part.
    let base = |x: &Tensor, number: i64| match own {
        true => Ok(x.clone()),
        false => {
            let number = Tensor::full(&[], number, x.dtype())?.expand(index.shape())?;
            Scatter { dim, add: false }.call(x, index, &number)
        }
    };
    let add = Scatter { dim, add: true };
    match reduce {
        Reduce::Sum => add.call(&base(x, 0)?, index, src),
        Reduce::Mean => {
            let one = Tensor::ones(&[], x.dtype())?;
            let (ones, each) = (one.expand(x.shape())?, one.expand(index.shape())?);
            let count = add.call(&base(&ones, 0)?, index, &each)?;
            add.call(&base(x, 0)?, index, src)?.div(&count)
        }
        Reduce::Prod => {
            let x = base(x, 1)?;
            if let (Some(x), Some(index), Some(src)) = (x.array(), index.array(), src.array()) {
                return Ok(widened([x, src], |[x, src]| scatter::scatter_prod(x, dim, index, src))?.into());
            }
            if !x.dtype().is_float() {
                return apply1(IntegerProduct { dim }, &[&x, index, src]);
            }
            let nothing = zeros(src.shape(), src.dtype())?;
            Ok(bind(&OpRef::new(Recurrence { dim, backwards: false }), &[&x, index, src, &nothing])?.swap_remove(1))
        }
        Reduce::Amax | Reduce::Amin => apply1(Extreme { dim, largest: reduce == Reduce::Amax, own }, &[x, index, src]),
    }
}

/// The product of integers, under transforms.
#[derive(Clone, Copy, Debug)]
struct IntegerProduct {
    dim: usize,
}

impl Op for IntegerProduct {
    fn name(&self) -> &str {
        "scatter_reduce"
    }
    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }
    no_derivative!();
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let [x, index, src] = [0, 1, 2].map(|k| inputs[k].concrete());
        Ok(smallvec![scatter::scatter_prod(x, self.dim, index, src)?.into()])
    }
    fn vmap(&self, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        super::vmap_at(IntegerProduct { dim: self.dim + 1 }, 0, info, dims, inputs)
    }
}

/// `t[p] = a[i] t[p] + b[i]` at the place `p = index[i]`, for one `i` after the other or the other way round: the values
/// before each step, and those at the end. Inputs: `t`, the index, `a`, `b`.
///
/// A product is such a recurrence with `b = 0`, and the derivatives of one, in both modes, are others with the same `a`.
#[derive(Clone, Copy, Debug)]
struct Recurrence {
    dim: usize,
    backwards: bool,
}

impl Recurrence {
    fn call(self, inputs: [&Tensor; 4]) -> Result<(Tensor, Tensor)> {
        let mut outs = bind(&OpRef::new(self), &inputs)?;
        let end = outs.swap_remove(1);
        Ok((outs.swap_remove(0), end))
    }
}

impl Op for Recurrence {
    fn name(&self) -> &str {
        "scatter_recurrence"
    }
    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let [t, index, a, b] = [0, 1, 2, 3].map(|k| inputs[k].concrete());
        let [before, end] = widened([t, a, b], |[t, a, b]| scatter::recur(t, self.dim, index, [a, b], self.backwards))?;
        Ok(smallvec![before.into(), end.into()])
    }
    fn save(&self, _: &[bool], inputs: &[&Tensor], outputs: &[Tensor]) -> Result<Saved> {
        let saved = Saved::tensors([inputs[1], inputs[2], &outputs[0]]);
        Ok(saved.with_state(Shape::from_slice(inputs[0].shape())))
    }
    fn backward(&self, saved: &Saved, _: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        let [index, a, before] = [0, 1, 2].map(|k| &saved.tensors[k]);
        let Some(dtype) = grads.iter().find_map(|g| g.as_tensor().map(Tensor::dtype)) else {
            return Ok(smallvec![Cotangent::zero(); 4]);
        };
        let full = |g: &Cotangent, shape: &[usize]| match g.as_tensor() {
            Some(g) => Ok(g.clone()),
            None => zeros(shape, dtype),
        };
        let each = full(&grads[0], index.shape())?;
        let end = full(&grads[1], saved.get_state::<Shape>())?;
        let back = Recurrence { dim: self.dim, backwards: !self.backwards };
        let (b, start) = back.call([&end, index, a, &each])?;
        let a = b.mul(before)?;
        Ok(smallvec![start.into(), Cotangent::zero(), a.into(), b.into()])
    }
    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        let [index, a, before] = [0, 1, 2].map(|k| &saved.tensors[k]);
        let start = match tangents[0].as_tensor() {
            Some(t) => t.clone(),
            None => zeros(saved.get_state::<Shape>(), before.dtype())?,
        };
        let da = tangents[2].map(|da| da.mul(before))?;
        let each = match (da.into_tensor(), tangents[3].as_tensor()) {
            (Some(da), Some(db)) => da.add(db)?,
            (Some(d), None) => d,
            (None, Some(db)) => db.clone(),
            (None, None) => zeros(index.shape(), before.dtype())?,
        };
        let (before, end) = self.call([&start, index, a, &each])?;
        Ok(smallvec![before.into(), end.into()])
    }
    fn vmap(&self, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        let mut moved = Vec::with_capacity(4);
        for (t, d) in inputs.iter().zip(dims) {
            moved.push(lanes_at(t, *d, 0, info.batch_size)?);
        }
        let outs = bind(&OpRef::new(Recurrence { dim: self.dim + 1, ..*self }), &moved.iter().collect::<Vec<_>>())?;
        Ok((outs, smallvec![Some(0), Some(0)]))
    }
}

/// The extreme of the elements that meet, and of the one that was there if `own`. Inputs: tensor, index, source.
#[derive(Clone, Copy, Debug)]
struct Extreme {
    dim: usize,
    largest: bool,
    own: bool,
}

/// Which elements are the extreme of their place, and how many there are in each place.
struct Ties {
    x: Tensor,
    src: Tensor,
    count: Tensor,
}

impl Extreme {
    fn gather(&self, x: &Tensor, index: &Tensor) -> Result<Tensor> {
        Gather { dim: self.dim, last: false }.call(x, index)
    }

    fn ties(&self, saved: &Saved) -> Result<Ties> {
        let [x, index, src, y] = [0, 1, 2, 3].map(|k| &saved.tensors[k]);
        // NaNs tie with each other.
        let same = |a: &Tensor, b: &Tensor| a.eq(b)?.logical_or(a.isnan()?.logical_and(b.isnan()?)?);
        let mut from_x = same(x, y)?;
        if !self.own {
            let none = zeros(index.shape(), DType::Bool)?;
            from_x = Scatter { dim: self.dim, add: false }.call(&from_x, index, &none)?;
        }
        let from_src = same(src, &self.gather(y, index)?)?;
        let dtype = y.dtype();
        let add = Scatter { dim: self.dim, add: true };
        let count = add.call(&from_x.to_dtype(dtype)?, index, &from_src.to_dtype(dtype)?)?;
        Ok(Ties { x: from_x, src: from_src, count })
    }
}

impl Op for Extreme {
    fn name(&self) -> &str {
        "scatter_reduce"
    }
    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let [x, index, src] = [0, 1, 2].map(|k| inputs[k].concrete());
        let out =
            widened([x, src], |[x, src]| scatter::scatter_extreme(x, self.dim, index, src, self.largest, self.own));
        Ok(smallvec![out?.into()])
    }
    fn save(&self, _: &[bool], inputs: &[&Tensor], outputs: &[Tensor]) -> Result<Saved> {
        Ok(Saved::tensors([inputs[0], inputs[1], inputs[2], &outputs[0]]))
    }
    fn backward(&self, saved: &Saved, needs: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        let Some(g) = grads[0].as_tensor() else { return Ok(smallvec![Cotangent::zero(); 3]) };
        let ties = self.ties(saved)?;
        let part = g.div(&ties.count)?;
        let x = if needs[0] { ties.x.where_(&part, 0)?.into() } else { Cotangent::zero() };
        let src = match needs[2] {
            true => ties.src.where_(self.gather(&part, &saved.tensors[1])?, 0)?.into(),
            false => Cotangent::zero(),
        };
        Ok(smallvec![x, Cotangent::zero(), src])
    }
    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        let ties = self.ties(saved)?;
        let (y, index) = (&saved.tensors[3], &saved.tensors[1]);
        let mut sum = match tangents[0].as_tensor() {
            Some(t) => ties.x.where_(t, 0)?,
            None => zeros(y.shape(), y.dtype())?,
        };
        if let Some(t) = tangents[2].as_tensor() {
            sum = Scatter { dim: self.dim, add: true }.call(&sum, index, &ties.src.where_(t, 0)?)?;
        }
        Ok(smallvec![sum.div(&ties.count)?.into()])
    }
    fn vmap(&self, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        super::vmap_at(Extreme { dim: self.dim + 1, ..*self }, 0, info, dims, inputs)
    }
}

const ALL: [Reduce; 5] = [Reduce::Sum, Reduce::Prod, Reduce::Mean, Reduce::Amax, Reduce::Amin];

fn naive_reduce(x: &Naive, dim: usize, index: &Naive, src: &Naive, reduce: Reduce, own: bool) -> Naive {
    let mut groups: Vec<Vec<f64>> = x.data.iter().map(|_| vec![]).collect();
    Naive::from_fn(&index.shape, |at| {
        let k = flat(&x.shape, &with(at, dim, resolve(index.at(at), x.shape[dim])));
        groups[k].push(src.at(at));
        0.0
    });
    let data = x.data.iter().zip(groups).map(|(&old, mut group)| {
        if own || group.is_empty() {
            group.push(old);
        }
        match reduce {
            Reduce::Sum => group.iter().sum(),
            Reduce::Prod => group.iter().product(),
            Reduce::Mean => group.iter().sum::<f64>() / group.len() as f64,
            Reduce::Amax => group.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Reduce::Amin => group.iter().copied().fold(f64::INFINITY, f64::min),
        }
    });
    Naive { shape: x.shape.clone(), data: data.collect() }
}

fn scatter_reduce_samples() -> Vec<Sample> {
    let mut out = vec![];
    for reduce in ALL {
        for own in [true, false] {
            let mut case = |label: &str, x: Tensor, dim: usize, index: Tensor, src: Tensor| {
                let label = format!("{reduce:?} {own} {label}");
                out.push(
                    Sample::one(label, [x, index, src], move |x| {
                        x[0].scatter_reduce(dim as isize, &x[1], &x[2], reduce, own)
                    })
                    .reference(move |x| vec![naive_reduce(&x[0], dim, &x[1], &x[2], reduce, own)]),
                );
            };
            let v = |shape: &[usize], seed| sample_tensor(shape, -1.5, 1.5, seed);
            case("vector", v(&[4], 1), 0, index(&[1, 3, 1, -3, 0], &[5]), v(&[5], 2));
            case("rows", v(&[3, 2], 3), 0, index(&[0, 2, 2, -1, 2, 0, 1, 2], &[4, 2]), v(&[4, 2], 4));
            case("columns, fewer", v(&[3, 3], 5), 1, index(&[1, 1, -1, 0], &[2, 2]), v(&[2, 2], 6));
            case("no place", v(&[2, 2], 7), 1, index(&[], &[2, 0]), v(&[2, 0], 8));
        }
    }
    // Products of several zeros, whose derivatives of second order are not zero.
    let zeros = Tensor::from([0.0, 2.0, 0.0, 3.0, 0.0]);
    let zeros = Sample::one("Prod with zeros", [Tensor::from([2.0, 0.0]), index(&[0, 0, 0, 1, 1], &[5]), zeros], |x| {
        x[0].scatter_reduce(0, &x[1], &x[2], Reduce::Prod, true)
    });
    out.push(zeros.reference(|x| vec![naive_reduce(&x[0], 0, &x[1], &x[2], Reduce::Prod, true)]));
    out
}

fn scatter_with_samples() -> Vec<Sample> {
    let mut out = vec![];
    for reduce in ALL {
        let mut case = |label: &str, x: &[usize], index: &Tensor, src: Tensor| {
            let inputs = [sample_tensor(x, 0.5, 1.5, 3), index.clone(), src];
            let sample = Sample::one(format!("{reduce:?}, {label}"), inputs, move |x| {
                x[0].scatter_with(0, &x[1], &x[2], reduce)
            });
            out.push(sample.reference(move |x| vec![naive_reduce(&x[0], 0, &x[1], &x[2], reduce, true)]));
        };
        let places = index(&[0, 2, 2, -1], &[2, 2]);
        case("rows", &[3, 2], &places, sample_tensor(&[2, 2], -1.5, 1.5, 4));
        case("no place", &[2, 2], &index(&[], &[0, 2]), sample_tensor(&[0, 2], -1.5, 1.5, 5));
        let number =
            Sample::one(format!("{reduce:?}, number"), [sample_tensor(&[3, 2], 0.5, 1.5, 3), places], move |x| {
                x[0].scatter_with(0, &x[1], 2.5, reduce)
            });
        out.push(number.reference(move |x| {
            let src = Naive { shape: vec![2, 2], data: vec![2.5; 4] };
            vec![naive_reduce(&x[0], 0, &x[1], &src, reduce, true)]
        }));
    }
    // One number at every place.
    let inputs = [sample_tensor(&[3], 0.5, 1.5, 3), index(&[0, 2], &[2]), Tensor::from(1.75)];
    let one = Sample::one("one src", inputs, |x| x[0].scatter_with(0, &x[1], &x[2], Reduce::Prod));
    out.push(one.reference(|x| {
        let src = Naive { shape: vec![2], data: vec![x[2].data[0]; 2] };
        vec![naive_reduce(&x[0], 0, &x[1], &src, Reduce::Prod, true)]
    }));
    out
}

fn scatter_with_errors() -> Vec<ErrorSample> {
    vec![
        ErrorSample::new("src", ErrorKind::Shape, "scatter: expected a src no smaller than the index", || {
            let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
            x.scatter_with(1, &index(&[0; 4], &[1, 4]), &x, Reduce::Sum)
        }),
        ErrorSample::new("bools", ErrorKind::Dtype, "scatter: expected a tensor of numbers, got bool[1]", || {
            let x = Tensor::from([true]);
            x.scatter_with(0, &index(&[0], &[1]), &x, Reduce::Prod)
        }),
    ]
}

fn scatter_reduce_errors() -> Vec<ErrorSample> {
    let x = || sample_tensor(&[2, 3], 0.0, 1.0, 1);
    let call = |x: &Tensor, index: &Tensor, src: &Tensor| x.scatter_reduce(1, index, src, Reduce::Amax, true);
    vec![
        ErrorSample::new(
            "index",
            ErrorKind::Index,
            "scatter_reduce: index 3 at position [0,1] is out of range for dim 1 of f64[2,3], which has size 3",
            move || call(&x(), &index(&[0, 3], &[1, 2]), &x()),
        ),
        ErrorSample::new(
            "of a lane",
            ErrorKind::Index,
            "scatter_reduce: index -4 at position [0,1] of lane 1 is out of range for dim 1 of f64[2,3], which has size 3",
            move || {
                let indices = index(&[0, 1, 2, -4], &[2, 1, 2]);
                crate::vmap(move |index: &Tensor| call(&x(), index, &x()))(&indices)
            },
        ),
        ErrorSample::new("shape", ErrorKind::Shape, "got i64[3,1]", move || call(&x(), &index(&[0; 3], &[3, 1]), &x())),
        ErrorSample::new("dtype", ErrorKind::Dtype, "expected a src of dtype f64, got i32[1,1]", move || {
            call(&x(), &index(&[0], &[1, 1]), &Tensor::from([[1]]))
        }),
        ErrorSample::new("mean", ErrorKind::Dtype, "expected floats for the mean, got i32[1]", || {
            let x = Tensor::from([1]);
            x.scatter_reduce(0, &index(&[0], &[1]), &x, Reduce::Mean, true)
        }),
        ErrorSample::new("bools", ErrorKind::Dtype, "expected a tensor of numbers, got bool[1]", || {
            let x = Tensor::from([true]);
            x.scatter_reduce(0, &index(&[0], &[1]), &x, Reduce::Prod, true)
        }),
    ]
}

fn scatter_reduce_kinks() -> Vec<Kink> {
    let ties = |x: &Tensor, reduce, own| {
        let start = Tensor::from([3.0, 0.0]);
        start.scatter_reduce(0, &index(&[0, 0, 0, 1], &[4]), x, reduce, own)
    };
    vec![
        Kink::new(
            "ties with its own",
            Tensor::from([3.0, 1.0, 3.0, 2.0]),
            [1.0 / 3.0, 0.0, 1.0 / 3.0, 1.0],
            move |x| ties(x, Reduce::Amax, true),
        ),
        Kink::new("ties", Tensor::from([3.0, 4.0, 3.0, 2.0]), [0.5, 0.0, 0.5, 1.0], move |x| {
            ties(x, Reduce::Amin, false)
        }),
        Kink::new("NaN", Tensor::from([f64::NAN, 4.0, f64::NAN, 2.0]), [0.5, 0.0, 0.5, 1.0], move |x| {
            ties(x, Reduce::Amax, true)
        }),
    ]
}

fn index_reduce_samples() -> Vec<Sample> {
    let case = |label: &str, shape: &[usize], index: Tensor, src: &[usize], reduce: Reduce, own: bool| {
        let inputs = [sample_tensor(shape, -1.5, 1.5, 1), index, sample_tensor(src, -1.5, 1.5, 2)];
        Sample::one(label, inputs, move |x| x[0].index_reduce(0, &x[1], &x[2], reduce, own)).reference(move |x| {
            let rows = Naive::from_fn(&x[2].shape, |at| x[1].data[at[0]]);
            vec![naive_reduce(&x[0], 0, &rows, &x[2], reduce, own)]
        })
    };
    let places = || index(&[1, 1, -1], &[3]);
    let mut out: Vec<Sample> = ALL
        .into_iter()
        .map(|reduce| case(&format!("{reduce:?}"), &[3, 2], places(), &[3, 2], reduce, reduce != Reduce::Prod))
        .collect();
    out.push(case("no place", &[3, 2], index(&[], &[0]), &[0, 2], Reduce::Amin, false));
    out
}

fn index_reduce_errors() -> Vec<ErrorSample> {
    let x = || sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![
        ErrorSample::new(
            "index",
            ErrorKind::Index,
            "index_reduce: index 2 at position [1] is out of range for dim 0 of f64[2,3], which has size 2",
            move || x().index_reduce(0, &index(&[0, 2], &[2]), &x(), Reduce::Sum, true),
        ),
        ErrorSample::new("src", ErrorKind::Shape, "expected a src of shape [1,3] for f64[2,3]", move || {
            x().index_reduce(0, &index(&[0], &[1]), &x(), Reduce::Sum, true)
        }),
    ]
}
