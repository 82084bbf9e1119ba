//! Putting tensors together.

use std::fmt;

use smallvec::{SmallVec, smallvec};

use super::family::apply1;
use super::shape::{behind, move_dim, select_at, slice, zeros};
use super::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::error::bail;
use crate::function::op::{Batched, Cotangents, Op, Tangents};
use crate::function::{Cotangent, OpRef, Outs, Saved, Tangent, VmapInfo};
use crate::interp::{batch, bind};
use crate::kernels::join;
use crate::shape::{Shape, resolve_dim, with_dim};
use crate::{ErrorKind, Result, Tensor};

ops! { OPS;
    /// The tensors one after the other along `dim`.
    ///
    /// # Shapes
    /// All alike except along `dim`, at least one tensor.
    ///
    /// # Dtypes
    /// All, promoted to a common one; see [`DType`](crate::DType).
    ///
    /// # Derivative
    /// Each tensor's part of the cotangent.
    ///
    /// # Errors
    /// `Arity` for no tensor; `Shape` if other sizes differ; `Dim` if `dim` is out of range.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, cat};
    /// let x = cat(&[&Tensor::from([1, 2]), &Tensor::from([3])], 0)?;
    /// assert_eq!(x.to_vec::<i32>()?, [1, 2, 3]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn cat(tensors: &[&Tensor], dim: isize) -> Result<Tensor> = concatenate {
        samples: cat_samples, errors: cat_errors,
        python: cat(tensors, dim = 0),
        python: concat(tensors, dim = 0),
        python: concatenate(tensors, dim = 0)
    };

    /// The tensors along a new dimension `dim`.
    ///
    /// # Shapes
    /// All alike, at least one tensor. `dim` counts in the result.
    ///
    /// # Dtypes
    /// All, promoted to a common one; see [`DType`](crate::DType).
    ///
    /// # Derivative
    /// Each tensor's slice of the cotangent.
    ///
    /// # Errors
    /// `Arity` for no tensor; `Shape` if the shapes differ; `Dim` if `dim` is out of range.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, stack};
    /// let x = stack(&[&Tensor::from(1.0), &Tensor::from(2.0)], 0)?;
    /// assert_eq!(x.to_vec::<f64>()?, [1.0, 2.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn stack(tensors: &[&Tensor], dim: isize) -> Result<Tensor> = stack_tensors {
        samples: stack_samples, errors: stack_errors,
        python: stack(tensors, dim = 0)
    };
}

#[derive(Debug)]
struct Cat {
    dim: usize,
}

fn concatenate(tensors: &[&Tensor], dim: isize) -> Result<Tensor> {
    let Some(first) = tensors.first() else {
        bail!(Arity, "cat: expected at least one tensor, got none");
    };
    let dim = resolve_dim("cat", dim, first.rank(), first.ty())?;
    let mut dtype = first.dtype();
    for (k, t) in tensors.iter().enumerate() {
        let alike = t.rank() == first.rank() && (0..t.rank()).all(|d| d == dim || t.shape()[d] == first.shape()[d]);
        if !alike {
            bail!(
                Shape,
                "cat: tensors must agree in every dim but {dim}, got {} and, at position {k}, {}",
                first.ty(),
                t.ty()
            );
        }
        dtype = dtype.promote(t.dtype());
    }
    let same: SmallVec<[Tensor; 8]> = tensors.iter().map(|t| t.to_dtype(dtype)).collect::<Result<_>>()?;
    join_parts(&same, dim)
}

/// [`cat`] of parts that fit together.
fn join_parts(parts: &[Tensor], dim: usize) -> Result<Tensor> {
    match parts {
        [one] => Ok(one.clone()),
        _ => apply1(Cat { dim }, &parts.iter().collect::<SmallVec<[&Tensor; 8]>>()),
    }
}

#[derive(Debug)]
struct Stack {
    dim: usize,
}

fn stack_tensors(tensors: &[&Tensor], dim: isize) -> Result<Tensor> {
    let Some(first) = tensors.first() else {
        bail!(Arity, "stack: expected at least one tensor, got none");
    };
    let mut dtype = first.dtype();
    for (k, t) in tensors.iter().enumerate() {
        if t.shape() != first.shape() {
            bail!(Shape, "stack: tensors must have one shape, got {} and, at position {k}, {}", first.ty(), t.ty());
        }
        dtype = dtype.promote(t.dtype());
    }
    let dim = resolve_dim("stack", dim, first.rank() + 1, format_args!("the result of stacking {}", first.ty()))?;
    if tensors.iter().all(|t| t.dtype() == dtype) {
        return stack_parts(tensors, dim);
    }
    let same: SmallVec<[Tensor; 8]> = tensors.iter().map(|t| t.to_dtype(dtype)).collect::<Result<_>>()?;
    stack_parts(&same.iter().collect::<SmallVec<[&Tensor; 8]>>(), dim)
}

/// [`stack`] of parts of one type.
fn stack_parts(parts: &[&Tensor], dim: usize) -> Result<Tensor> {
    match parts {
        [one] => one.reshape_to(&with_dim(one.shape(), dim, 1)),
        _ => apply1(Stack { dim }, parts),
    }
}

impl Op for Stack {
    fn name(&self) -> &str {
        "stack"
    }
    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        Ok(smallvec![self.forward1(inputs)?])
    }
    fn forward1(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let arrays: SmallVec<[_; 8]> = inputs.iter().map(|t| t.concrete()).collect();
        Ok(join::stack(&arrays, self.dim)?.into())
    }
    fn save(&self, _: &[bool], _: &[&Tensor], _: &[Tensor]) -> Result<Saved> {
        Ok(Saved::default())
    }
    fn backward(&self, _: &Saved, needs: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        let part = |(k, &needed): (usize, &bool)| match needed {
            true => grads[0].map(|g| select_at(g, self.dim, k)),
            false => Ok(Cotangent::zero()),
        };
        needs.iter().enumerate().map(part).collect()
    }
    fn jvp(&self, _: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        let Some(one) = tangents.iter().find_map(Tangent::as_tensor) else {
            return Ok(smallvec![Tangent::zero()]);
        };
        let zero = zeros(one.shape(), one.dtype())?;
        let parts: SmallVec<[&Tensor; 8]> = tangents.iter().map(|t| t.as_tensor().unwrap_or(&zero)).collect();
        Ok(smallvec![stack_parts(&parts, self.dim)?.into()])
    }
    fn vmap(&self, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        let (parts, lane) = with_common_lane(info, dims, inputs)?;
        // The new dimension comes before that of the lanes or behind it.
        let (dim, out_lane) = if self.dim < lane { (self.dim, lane + 1) } else { (self.dim + 1, lane) };
        let outs = bind(&OpRef::new(Stack { dim }), &parts.iter().collect::<SmallVec<[&Tensor; 8]>>())?;
        Ok((outs, smallvec![Some(out_lane)]))
    }
}

/// All parts with their lanes where those of the first batched part lie.
fn with_common_lane(
    info: &VmapInfo,
    dims: &[Option<usize>],
    parts: &[&Tensor],
) -> Result<(SmallVec<[Tensor; 8]>, usize)> {
    let lane = dims.iter().find_map(|d| *d).unwrap_or(0);
    let moved = parts.iter().zip(dims).map(|(t, d)| match d {
        Some(d) => move_dim(t, *d, lane),
        None => move_dim(&batch::materialize(t, None, info.batch_size)?, 0, lane),
    });
    Ok((moved.collect::<Result<_>>()?, lane))
}

impl Op for Cat {
    fn name(&self) -> &str {
        "cat"
    }
    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let arrays: SmallVec<[_; 8]> = inputs.iter().map(|t| t.concrete()).collect();
        Ok(smallvec![join::cat(&arrays, self.dim)?.into()])
    }
    fn save(&self, _: &[bool], inputs: &[&Tensor], _: &[Tensor]) -> Result<Saved> {
        let shapes: Vec<Shape> = inputs.iter().map(|t| Shape::from_slice(t.shape())).collect();
        Ok(Saved::default().with_state(shapes))
    }
    fn backward(&self, saved: &Saved, needs: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        let mut start = 0;
        saved
            .get_state::<Vec<Shape>>()
            .iter()
            .zip(needs)
            .map(|(shape, &needed)| {
                let (from, len) = (start, shape[self.dim]);
                start += len;
                if needed { grads[0].map(|g| slice(g, self.dim, from, len, 1)) } else { Ok(Cotangent::zero()) }
            })
            .collect()
    }
    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        let Some(dtype) = tangents.iter().find_map(Tangent::as_tensor).map(Tensor::dtype) else {
            return Ok(smallvec![Tangent::zero()]);
        };
        let parts: SmallVec<[Tensor; 8]> = saved
            .get_state::<Vec<Shape>>()
            .iter()
            .zip(tangents)
            .map(|(shape, t)| t.as_tensor().map_or_else(|| zeros(shape, dtype), |t| Ok(t.clone())))
            .collect::<Result<_>>()?;
        Ok(smallvec![join_parts(&parts, self.dim)?.into()])
    }
    fn vmap(&self, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        let (parts, lane) = with_common_lane(info, dims, inputs)?;
        let op = OpRef::new(Cat { dim: behind(self.dim, lane) });
        let outs = bind(&op, &parts.iter().collect::<SmallVec<[&Tensor; 8]>>())?;
        Ok((outs, smallvec![Some(lane)]))
    }
}

fn cat_samples() -> Vec<Sample> {
    vec![
        Sample::one("rows", [sample_tensor(&[2, 2], -1.0, 1.0, 1), sample_tensor(&[1, 2], -1.0, 1.0, 2)], |x| {
            cat(&[&x[0], &x[1]], 0)
        })
        .reference(|x| vec![Naive { shape: vec![3, 2], data: [&x[0].data[..], &x[1].data[..]].concat() }]),
        Sample::one("columns", [sample_tensor(&[2, 2], -1.0, 1.0, 1), sample_tensor(&[2, 1], -1.0, 1.0, 2)], |x| {
            cat(&[&x[0], &x[1]], -1)
        })
        .reference(|x| vec![Naive::from_fn(&[2, 3], |i| if i[1] < 2 { x[0].at(i) } else { x[1].at(&[i[0], 0]) })]),
        Sample::one("empty part", [sample_tensor(&[0, 2], -1.0, 1.0, 1), sample_tensor(&[1, 2], -1.0, 1.0, 2)], |x| {
            cat(&[&x[0], &x[1]], 0)
        })
        .reference(|x| vec![x[1].clone()]),
        Sample::one("three, one twice", [sample_tensor(&[2], -1.0, 1.0, 1), sample_tensor(&[1], -1.0, 1.0, 2)], |x| {
            cat(&[&x[0], &x[1], &x[0]], 0)
        })
        .reference(|x| vec![Naive { shape: vec![5], data: [&x[0].data[..], &x[1].data, &x[0].data].concat() }]),
        Sample::one("one part", [sample_tensor(&[2], -1.0, 1.0, 1)], |x| cat(&[&x[0]], 0))
            .reference(|x| vec![x[0].clone()]),
        Sample::one("with integers", [sample_tensor(&[2], -1.0, 1.0, 1), Tensor::from([3i64])], |x| {
            cat(&[&x[0], &x[1]], 0)
        })
        .reference(|x| vec![Naive { shape: vec![3], data: [&x[0].data[..], &x[1].data].concat() }]),
    ]
}

fn cat_errors() -> Vec<ErrorSample> {
    let (x, y) = (sample_tensor(&[2, 3], 0.0, 1.0, 1), sample_tensor(&[2, 2], 0.0, 1.0, 2));
    let (z, dim) = (x.clone(), x.clone());
    vec![
        ErrorSample::new("none", ErrorKind::Arity, "cat: expected at least one tensor, got none", || cat(&[], 0)),
        ErrorSample::new(
            "shapes",
            ErrorKind::Shape,
            "tensors must agree in every dim but 0, got f64[2,3] and, at position 1, f64[2,2]",
            move || cat(&[&x, &y], 0),
        ),
        ErrorSample::new("0-d", ErrorKind::Dim, "cat: dim 0 is out of range for f64[]", || {
            cat(&[&Tensor::from(1.0)], 0)
        }),
        ErrorSample::new("dim", ErrorKind::Dim, "cat: dim 2 is out of range for f64[2,3]", move || cat(&[&z, &dim], 2)),
    ]
}

fn stack_samples() -> Vec<Sample> {
    let inputs = |shape: &[usize]| [sample_tensor(shape, -1.0, 1.0, 1), sample_tensor(shape, -1.0, 1.0, 2)];
    vec![
        Sample::one("back", inputs(&[2]), |x| stack(&[&x[0], &x[1]], -1))
            .reference(|x| vec![Naive::from_fn(&[2, 2], |i| x[i[1]].at(&i[..1]))]),
        Sample::one("middle", inputs(&[2, 3]), |x| stack(&[&x[0], &x[1]], 1))
            .reference(|x| vec![Naive::from_fn(&[2, 2, 3], |i| x[i[1]].at(&[i[0], i[2]]))]),
        Sample::one("0-d", inputs(&[]), |x| stack(&[&x[0], &x[1], &x[0]], 0))
            .reference(|x| vec![Naive { shape: vec![3], data: [0, 1, 0].map(|k| x[k].data[0]).to_vec() }]),
        Sample::one("empty", inputs(&[0]), |x| stack(&[&x[0], &x[1]], 0))
            .reference(|_| vec![Naive { shape: vec![2, 0], data: vec![] }]),
    ]
}

fn stack_errors() -> Vec<ErrorSample> {
    let (x, y) = (sample_tensor(&[2, 3], 0.0, 1.0, 1), sample_tensor(&[2, 2], 0.0, 1.0, 2));
    let z = x.clone();
    vec![
        ErrorSample::new("none", ErrorKind::Arity, "stack: expected at least one tensor, got none", || stack(&[], 0)),
        ErrorSample::new(
            "shapes",
            ErrorKind::Shape,
            "tensors must have one shape, got f64[2,3] and, at position 1, f64[2,2]",
            move || stack(&[&x, &y], 0),
        ),
        ErrorSample::new(
            "dim",
            ErrorKind::Dim,
            "dim 3 is out of range for the result of stacking f64[2,3]",
            move || stack(&[&z], 3),
        ),
    ]
}
