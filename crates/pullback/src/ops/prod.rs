//! Products, whose derivatives of every order stay right where elements are zero.

use std::fmt;

use smallvec::smallvec;

use super::family::{adjoint, vmap_front};
use super::join::cat;
use super::reduce::{dims_errors, dims_samples, total_samples};
use super::reduction::{Over, Reduce, reduction};
use super::shape::slice;
use super::table::{ErrorSample, Kink, Sample, ops};
use crate::array::Array;
use crate::function::op::{Batched, Cotangents, Op, Tangents};
use crate::function::{Cotangent, OpRef, Outs, Saved, Tangent, VmapInfo};
use crate::interp::bind1;
use crate::kernels::half::widened;
use crate::kernels::{prod, reduce};
use crate::shape::{Dims, Shape, numel};
use crate::{Result, Tensor};

ops! { OPS;
    /// The product of all elements, as a 0-d tensor.
    ///
    /// # Shapes
    /// The product of no elements is 1.
    ///
    /// # Dtypes
    /// All; integers and bools multiply as `i64`, wrapping on overflow.
    ///
    /// # Derivative
    /// The product of the other elements. It is computed without dividing, so that derivatives of every order are
    /// right where elements are 0.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, grad};
    /// let x = Tensor::from([2.0, 0.0, 3.0, 4.0]);
    /// assert_eq!(grad(Tensor::prod)(&x)?.to_vec::<f64>()?, [0.0, 24.0, 0.0, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn prod(&self) -> Result<Tensor> = prod_all { samples: prod_samples, kinks: prod_kinks };

    /// The product over `dims`, all of them if the list is empty.
    ///
    /// # Shapes
    /// The dimensions are removed, or kept with size 1 if `keepdim`. The product of no elements is 1.
    ///
    /// # Dtypes
    /// All; integers and bools multiply as `i64`, wrapping on overflow.
    ///
    /// # Derivative
    /// As that of [`prod`](Tensor::prod).
    ///
    /// # Errors
    /// `Dim` if a dimension is out of range or given twice.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.prod_dims(&[-1], false)?.to_vec::<f64>()?, [2.0, 12.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn prod_dims(&self, dims: &[isize], keepdim: bool) -> Result<Tensor> = prod_dims {
        samples: prod_dims_samples, errors: prod_dims_errors,
        python: prod(dims = [], keepdim, dtype)
    };
}

#[derive(Clone, Debug)]
struct Prod;

impl Reduce for Prod {
    const NAME: &'static str = "prod";
    fn kernel(&self, x: &Array, over: &Over) -> Result<Array> {
        if x.dtype().is_complex() {
            return Ok(prod::complex_product(x, &over.dims));
        }
        reduce::prod(x, &over.dims)
    }
    fn weights(&self, x: &Tensor, _: &Tensor, over: &Over) -> Result<Tensor> {
        if let [dim] = over.dims[..] {
            return others(x, dim);
        }
        // Several dims become one at the front, and are taken apart again.
        let shape = x.shape();
        let order: Dims = over.dims.iter().copied().chain((0..x.rank()).filter(|d| !over.dims.contains(d))).collect();
        let split: Shape = order.iter().map(|&d| shape[d]).collect();
        let (front, rest) = split.split_at(over.dims.len());
        let merged: Shape = std::iter::once(numel(front)).chain(rest.iter().copied()).collect();
        let back: Dims = (0..x.rank()).map(|d| order.iter().position(|&o| o == d).unwrap_or(d)).collect();
        let y = others(&permuted(x, &order)?.reshape_to(&merged)?, 0)?;
        permuted(&y.reshape_to(&split)?, &back)
    }
}

fn permuted(x: &Tensor, order: &[usize]) -> Result<Tensor> {
    if order.is_sorted() {
        return Ok(x.clone());
    }
    x.permute(&order.iter().map(|&d| d as isize).collect::<smallvec::SmallVec<[isize; 6]>>())
}

fn prod_all(x: &Tensor) -> Result<Tensor> {
    reduction(Prod, Over::all(x.rank()), x)
}

fn prod_dims(x: &Tensor, dims: &[isize], keepdim: bool) -> Result<Tensor> {
    reduction(Prod, Over::new("prod_dims", x, dims, keepdim)?, x)
}

/// For every element the product of the others along `dim`: the derivative of the product.
#[derive(Clone, Debug)]
struct Others {
    dim: usize,
}

fn others(x: &Tensor, dim: usize) -> Result<Tensor> {
    match x.array() {
        Some(array) => Ok(widened([array], |[x]| prod::others(x, dim))?.into()),
        None => bind1(&OpRef::new(Others { dim }), &[x]),
    }
}

/// The Jacobian is the Hessian of the product, which is symmetric: one formula serves both modes, up to conjugates.
impl Op for Others {
    fn name(&self) -> &str {
        "prod_backward"
    }
    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        Ok(smallvec![widened([inputs[0].concrete()], |[x]| prod::others(x, self.dim))?.into()])
    }
    fn save(&self, _: &[bool], inputs: &[&Tensor], _: &[Tensor]) -> Result<Saved> {
        Ok(Saved::tensors([inputs[0]]))
    }
    fn backward(&self, saved: &Saved, _: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        let found = grads[0].map(|g| adjoint(true, g, |g| tangent_of_others(&saved.tensors[0], g, self.dim)));
        Ok(smallvec![found?])
    }
    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        Ok(smallvec![tangents[0].map(|t| tangent_of_others(&saved.tensors[0], t, self.dim))?])
    }
    fn vmap(&self, _: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        vmap_front(&OpRef::new(Others { dim: self.dim + 1 }), dims, inputs)
    }
}

/// The tangent of [`others`] at `x` in direction `t`.
fn tangent_of_others(x: &Tensor, t: &Tensor, dim: usize) -> Result<Tensor> {
    match x.shape()[dim] {
        0 => Ok(t.clone()),
        1 => t.mul(0),
        _ => Ok(Dual(x.clone(), t.clone()).others(dim)?.1),
    }
}

/// Values with their tangents.
struct Dual(Tensor, Tensor);

impl Dual {
    fn times(&self, other: &Dual) -> Result<Dual> {
        Ok(Dual(self.0.mul(&other.0)?, self.1.mul(&other.0)?.add(self.0.mul(&other.1)?)?))
    }

    fn slice(&self, dim: usize, start: usize, len: usize) -> Result<Dual> {
        Ok(Dual(slice(&self.0, dim, start, len, 1)?, slice(&self.1, dim, start, len, 1)?))
    }

    fn cat(parts: &[&Dual], dim: usize) -> Result<Dual> {
        let join = |part: fn(&Dual) -> &Tensor| {
            cat(&parts.iter().map(|&p| part(p)).collect::<smallvec::SmallVec<[&Tensor; 3]>>(), dim as isize)
        };
        Ok(Dual(join(|d| &d.0)?, join(|d| &d.1)?))
    }

    /// The product of the others along `dim`, of which there are at least two, by halves: the others of an element
    /// are its partner in the other half and the others of the product of the two.
    fn others(&self, dim: usize) -> Result<Dual> {
        let n = self.0.shape()[dim];
        let half = n / 2;
        let (a, b) = (self.slice(dim, 0, half)?, self.slice(dim, half, half)?);
        if n == 2 {
            return Dual::cat(&[&b, &a], dim);
        }
        let pairs = a.times(&b)?;
        if n.is_multiple_of(2) {
            let o = pairs.others(dim)?;
            return Dual::cat(&[&o.times(&b)?, &o.times(&a)?], dim);
        }
        let last = self.slice(dim, n - 1, 1)?;
        let o = Dual::cat(&[&pairs, &last], dim)?.others(dim)?;
        let (pairs, last) = (o.slice(dim, 0, half)?, o.slice(dim, half, 1)?);
        Dual::cat(&[&pairs.times(&b)?, &pairs.times(&a)?, &last], dim)
    }
}

fn product(x: &[f64]) -> f64 {
    x.iter().product()
}

fn prod_samples() -> Vec<Sample> {
    total_samples((-1.5, 1.5), &[&[2, 3], &[5], &[1], &[], &[0, 2]], Tensor::prod, product)
}

fn prod_dims_samples() -> Vec<Sample> {
    dims_samples((-1.5, 1.5), true, Tensor::prod_dims, product)
}

fn prod_dims_errors() -> Vec<ErrorSample> {
    dims_errors(Tensor::prod_dims)
}

fn prod_kinks() -> Vec<Kink> {
    vec![
        Kink::new("one zero", Tensor::from([2.0, 0.0, 3.0, 4.0]), [0.0, 24.0, 0.0, 0.0], Tensor::prod),
        Kink::new("two zeros", Tensor::from([2.0, 3.0, 0.0, 0.0]), [0.0; 4], Tensor::prod),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{grad, hessian, jacfwd, jacrev, vmap};

    fn vec(t: &Tensor) -> Vec<f64> {
        t.to_vec::<f64>().unwrap()
    }

    #[test]
    fn derivatives_of_every_order_are_right_with_zeros() {
        let x = Tensor::from([2.0, 0.0, 3.0, 4.0]);
        assert_eq!(vec(&grad(Tensor::prod)(&x).unwrap()), [0.0, 24.0, 0.0, 0.0]);
        let h = vec(&hessian(Tensor::prod)(&Tensor::from([2.0, 3.0, 0.0, 0.0])).unwrap());
        let expected: Vec<f64> = (0..16).map(|k| if k == 11 || k == 14 { 6.0 } else { 0.0 }).collect();
        assert_eq!(h, expected);
        let third = jacfwd(jacrev(jacrev(Tensor::prod)))(&Tensor::from([5.0, 0.0, 0.0, 0.0])).unwrap();
        let expected: Vec<f64> = (0..64)
            .map(|k| {
                let mut at = [k / 16, k / 4 % 4, k % 4];
                at.sort_unstable();
                if at == [1, 2, 3] { 5.0 } else { 0.0 }
            })
            .collect();
        assert_eq!(vec(&third), expected);
    }

    #[test]
    fn second_derivatives_agree_with_products_for_every_size() {
        for n in 0..10usize {
            let x: Vec<f64> = (0..n).map(|k| k as f64 - 2.0).collect();
            let without = |skip: &[usize]| -> f64 { (0..n).filter(|k| !skip.contains(k)).map(|k| x[k]).product() };
            let t = Tensor::from(x.clone());
            assert_eq!(vec(&grad(Tensor::prod)(&t).unwrap()), (0..n).map(|k| without(&[k])).collect::<Vec<_>>());
            let expected: Vec<f64> =
                (0..n * n).map(|k| if k / n == k % n { 0.0 } else { without(&[k / n, k % n]) }).collect();
            assert_eq!(vec(&hessian(Tensor::prod)(&t).unwrap()), expected);
            assert_eq!(vec(&jacfwd(grad(Tensor::prod))(&t).unwrap()), expected);
        }
    }

    #[test]
    fn products_over_several_dims_differentiate_and_batch() {
        let x = crate::ops::table::sample_tensor(&[3, 2, 4, 2], -2.0, 2.0, 3);
        let f = |x: &Tensor| x.prod_dims(&[0, 2], true);
        let flat = |x: &Tensor| x.permute(&[1, 0, 2])?.reshape(&[2, 12])?.prod_dims(&[1], false)?.reshape(&[1, 2, 1]);
        let close = |a: &Tensor, b: &Tensor| {
            assert_eq!(a.shape(), b.shape());
            assert!(vec(a).iter().zip(vec(b)).all(|(a, b)| (a - b).abs() < 1e-12));
        };
        let lane = x.select(-1, 0).unwrap();
        close(&jacrev(f)(&lane).unwrap(), &jacrev(flat)(&lane).unwrap());
        close(
            &hessian(|x: &Tensor| f(x)?.sum())(&lane).unwrap(),
            &hessian(|x: &Tensor| flat(x)?.sum())(&lane).unwrap(),
        );
        let batched = vmap(jacrev(f))(&x.permute(&[3, 0, 1, 2]).unwrap()).unwrap();
        close(&batched.select(0, 0).unwrap(), &jacrev(f)(&lane).unwrap());
    }
}
