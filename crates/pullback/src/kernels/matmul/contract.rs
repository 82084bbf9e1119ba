//! Contractions: products of two arrays summed over dimensions that they share, whatever the order of the dimensions.
//!
//! Dimensions carry labels. One that both operands and the result have runs through a batch of products, one that
//! only an operand and the result have makes rows or columns, one that the result lacks is summed over. The work here
//! is to find, among the dimensions and their steps, the largest matrix products that need no copy.

use smallvec::SmallVec;

use super::{Batch, Kernel, Product, plain, run};
use crate::Result;
use crate::array::Array;
use crate::dtype::{Element, dispatch};
use crate::kernels::copy;
use crate::kernels::strided::{In, Loop, Nest, output};
use crate::shape::{Dims, Shape};
use crate::tensor::checked_numel;

/// An array with a label for each dimension, no label twice.
#[derive(Clone, Copy)]
pub(crate) struct Term<'a> {
    pub(crate) array: &'a Array,
    pub(crate) labels: &'a [u8],
}

impl Term<'_> {
    fn dim(&self, label: u8) -> Option<usize> {
        self.labels.iter().position(|&l| l == label)
    }

    /// The size of a dimension and its step, which is zero where the operand has no such dimension.
    fn size_and_step(&self, label: u8) -> Option<(usize, isize)> {
        self.dim(label).map(|d| (self.array.shape()[d], self.array.strides()[d]))
    }

    /// A contiguous copy whose products are in one piece each: first the labels that `other` shares with the result
    /// `out`, then the others of the result, then those that are summed over.
    fn copy(&self, other: Term<'_>, out: &[u8], depth: &[(u8, Loop<2>)]) -> (Array, SmallVec<[u8; 16]>) {
        let batch = out.iter().filter(|&&l| other.dim(l).is_some());
        let own = out.iter().filter(|&&l| other.dim(l).is_none());
        let summed = depth.iter().map(|(l, _)| l);
        let mut labels: SmallVec<[u8; 16]> =
            batch.chain(own).chain(summed).copied().filter(|&l| self.dim(l).is_some()).collect();
        // Those of size 1 that are summed over do not count as depth.
        labels.extend(self.labels.iter().copied().filter(|l| !labels.contains(l)).collect::<SmallVec<[u8; 4]>>());
        let order: Dims = labels.iter().filter_map(|&l| self.dim(l)).collect();
        (copy::contiguous(&self.array.permute(&order)), labels)
    }
}

/// The contraction of two arrays of one dtype. Every label occurs in two of `a`, `b` and `out` at least, with the same
/// size in both operands. `name` is what messages call it.
pub(crate) fn contract(name: &str, a: Term<'_>, b: Term<'_>, out: &[u8]) -> Result<Array> {
    debug_assert_eq!(a.array.dtype(), b.array.dtype());
    let size = |l: &u8| a.size_and_step(*l).or(b.size_and_step(*l)).map_or(1, |(size, _)| size);
    checked_numel(name, &out.iter().map(size).collect::<Shape>())?;
    if a.array.dtype().is_complex() {
        return crate::kernels::complex::product(name, a, b, out);
    }
    if a.array.dtype().is_int() {
        dispatch!(a.array.dtype(), name, integer, T => Ok(contract_as(a, b, out, 1, plain::products::<T>)))
    } else {
        dispatch!(a.array.dtype(), name, float, T => {
            Ok(contract_as(a, b, out, super::FLOPS_PER_NANO_8 / size_of::<T>(), super::floating::<T>))
        })
    }
}

pub(super) fn contract_as<T: Element>(
    a: Term<'_>,
    b: Term<'_>,
    out: &[u8],
    flops_per_nano: usize,
    kernel: Kernel<T>,
) -> Array {
    let mut shape = Shape::new();
    let mut axes: SmallVec<[Loop<3>; 8]> = SmallVec::new();
    for &label in out {
        let (of_a, of_b) = (a.size_and_step(label), b.size_and_step(label));
        debug_assert!(of_a.is_none_or(|x| of_b.is_none_or(|y| x.0 == y.0)));
        let size = of_a.or(of_b).map_or(1, |(size, _)| size);
        shape.push(size);
        axes.push(Loop { size, steps: [of_a.map_or(0, |x| x.1), of_b.map_or(0, |x| x.1), 0] });
    }
    let mut depth: SmallVec<[(u8, Loop<2>); 4]> = SmallVec::new();
    for &label in a.labels.iter().filter(|l| !out.contains(l)) {
        if let (Some((size, step_a)), Some((_, step_b))) = (a.size_and_step(label), b.size_and_step(label)) {
            depth.push((label, Loop { size, steps: [step_a, step_b] }));
        }
    }
    if shape.contains(&0) || depth.iter().any(|(_, l)| l.size == 0) {
        return Array::full(shape, T::ZERO);
    }
    depth.retain(|(_, l)| l.size != 1);

    // What is summed over must be one loop, at equal steps in each operand.
    depth.sort_by_key(|(_, l)| (std::cmp::Reverse(l.steps[0].abs()), std::cmp::Reverse(l.steps[1].abs())));
    let inner = Nest::new(depth.iter().map(|(_, l)| *l));
    if inner.loops.len() > 1 {
        return contract_copies(a, b, out, depth, flops_per_nano, kernel);
    }
    let inner = inner.loops.first().copied().unwrap_or(Loop { size: 1, steps: [0; 2] });

    // The result is written in the order of its labels, unless its last dimension runs through the batch: then the
    // batch goes to the front, and the caller gets a view.
    let is_batch = |l: &Loop<3>| l.size != 1 && l.steps[0] != 0 && l.steps[1] != 0;
    let batch_last = axes.iter().rfind(|l| l.size != 1).is_some_and(is_batch);
    let mut order: Option<Dims> = None;
    if batch_last && axes.iter().any(|l| l.size != 1 && !is_batch(l)) {
        let (front, back): (Dims, Dims) = (0..axes.len()).partition(|&d| is_batch(&axes[d]));
        order = Some(front.into_iter().chain(back).collect());
    }
    if let Some(order) = &order {
        axes = order.iter().map(|&d| axes[d]).collect();
        shape = order.iter().map(|&d| shape[d]).collect();
    }
    let mut step = 1;
    for axis in axes.iter_mut().rev() {
        axis.steps[2] = step;
        step *= axis.size as isize;
    }

    // Columns are those of `b`, or the operands change places. Where the step says nothing, because one value is repeated, the label
    // does.
    let swap = axes.iter().rposition(|l| l.size != 1).is_some_and(|d| {
        let [of_a, of_b, _] = axes[d].steps;
        let label = out[order.as_ref().map_or(d, |order| order[d])];
        of_b == 0 && (of_a != 0 || b.dim(label).is_none())
    });
    axes.retain(|l| l.size != 1);
    let side = |k: usize| usize::from((k == 1) != swap);
    if swap {
        for axis in &mut axes {
            axis.steps.swap(0, 1);
        }
    }
    let columns = take_columns(&mut axes);
    let rows = take_rows(&mut axes);
    let nest = Nest::new(axes);

    // An operand whose neighbours belong to different products would be read with gaps, over and over.
    for k in [0, 1] {
        let own = [inner.steps[side(k)].unsigned_abs(), [rows.steps[0], columns.steps[1]][k].unsigned_abs()];
        let Some(own) = own.into_iter().filter(|&s| s != 0).min() else { continue };
        if nest.loops.iter().any(|l| l.steps[k] != 0 && l.steps[k].unsigned_abs() < own) {
            let (of, other) = if side(k) == 0 { (a, b) } else { (b, a) };
            let (array, labels) = of.copy(other, out, &depth);
            if labels[..] == *of.labels {
                continue;
            }
            let copy = Term { array: &array, labels: &labels };
            let (a, b) = if side(k) == 0 { (copy, other) } else { (other, copy) };
            return contract_as(a, b, out, flops_per_nano, kernel);
        }
    }

    let (a, b) = if swap { (b.array, a.array) } else { (a.array, b.array) };
    let product = Product {
        m: rows.size,
        k: inner.size,
        n: columns.size,
        a: [rows.steps[0], inner.steps[side(0)]],
        b: [inner.steps[side(1)], columns.steps[1]],
        c_row: rows.steps[2].unsigned_abs(),
    };
    // SAFETY: the rows, columns and loops together run once over every element of the result.
    let result = unsafe {
        output(shape, |c| {
            run(Batch { product, nest: &nest, a: In::of(a), b: In::of(b), c }, flops_per_nano, kernel);
        })
    };
    match order {
        None => result,
        Some(order) => {
            let mut back = order.clone();
            for (k, &d) in order.iter().enumerate() {
                back[d] = k;
            }
            result.permute(&back)
        }
    }
}

/// Takes the innermost axes of the result that are one equally spaced run of `b`.
fn take_columns(axes: &mut SmallVec<[Loop<3>; 8]>) -> Loop<3> {
    let mut columns = Loop { size: 1, steps: [0, 0, 1] };
    while let Some(&axis) = axes.last() {
        if axis.steps[0] != 0 {
            break;
        }
        if columns.size == 1 {
            columns = axis;
        } else if axis.steps[1] == columns.steps[1] * columns.size as isize {
            // The result has no gaps, so its steps fit as well.
            columns.size *= axis.size;
        } else {
            break;
        }
        axes.pop();
    }
    columns
}

/// Takes the axes that are the longest equally spaced run of `a` and of the result.
fn take_rows(axes: &mut SmallVec<[Loop<3>; 8]>) -> Loop<3> {
    let is_row = |l: &Loop<3>| l.steps[1] == 0;
    let runs = Nest::new(axes.iter().copied().filter(is_row));
    let Some(&rows) = runs.loops.iter().max_by_key(|l| l.size) else {
        return Loop { size: 1, steps: [0, 0, 1] };
    };
    let mut rest: SmallVec<[Loop<3>; 8]> = axes.iter().copied().filter(|l| !is_row(l)).collect();
    rest.extend(runs.loops.into_iter().filter(|l| *l != rows));
    // Outermost first, so that neighbouring results are written after each other.
    rest.sort_by_key(|l| std::cmp::Reverse(l.steps[2]));
    *axes = rest;
    rows
}

/// The contraction over several dimensions that are not one loop: where one operand has them in a row, the other is
/// copied to fit, else both are.
fn contract_copies<T: Element>(
    a: Term<'_>,
    b: Term<'_>,
    out: &[u8],
    mut depth: SmallVec<[(u8, Loop<2>); 4]>,
    flops_per_nano: usize,
    kernel: Kernel<T>,
) -> Array {
    let mut fits = [false; 2];
    // In the order of `a` last, since that is the one to keep if both are copied or only `a` fits.
    for k in [1, 0] {
        depth.sort_by_key(|(_, l)| std::cmp::Reverse(l.steps[k].abs()));
        let one = |l: &Loop<2>| Loop { size: l.size, steps: [l.steps[k]] };
        fits[k] = Nest::new(depth.iter().map(|(_, l)| one(l))).loops.len() == 1;
    }
    if fits[1] && (!fits[0] || a.array.numel() < b.array.numel()) {
        depth.sort_by_key(|(_, l)| std::cmp::Reverse(l.steps[1].abs()));
        fits[0] = false;
    } else {
        fits[1] = false;
    }
    let copies = [(!fits[0]).then(|| a.copy(b, out, &depth)), (!fits[1]).then(|| b.copy(a, out, &depth))];
    let [a, b] = [(a, &copies[0]), (b, &copies[1])].map(|(term, copy)| match copy {
        Some((array, labels)) => Term { array, labels },
        None => term,
    });
    contract_as(a, b, out, flops_per_nano, kernel)
}
