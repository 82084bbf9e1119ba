//! The one operation behind all products: a sum of products over shared dimensions, with every dimension labelled.
//!
//! Labels make its rules uniform. The transpose with respect to an operand is the same operation with that operand and
//! the result exchanged, and lanes of a `vmap` are one more label. So a batch that only one operand has is summed over
//! inside one product, and an operand without lanes is never repeated.

use std::fmt;

use smallvec::{SmallVec, smallvec};

use crate::array::Array;
use crate::error::bail;
use crate::function::op::{Batched, Cotangents, Op, State, Tangents};
use crate::function::{Cotangent, OpRef, Outs, Saved, Tangent, VmapInfo};
use crate::interp::bind1;
use crate::kernels::half::widened;
use crate::kernels::matmul::{Term, contract};
use crate::ops::arith::add_owned;
use crate::ops::family::adjoint;
use crate::ops::shape::broadcast_to;
use crate::shape::Shape;
use crate::{Result, Tensor};

/// One label per dimension.
pub(super) type Labels = SmallVec<[u8; 16]>;

/// Which dimensions of the operands and the result belong together.
///
/// Every label occurs in two of `lhs`, `rhs` and `out`, and at most once in each. The labels of a bias are among those
/// of the result.
#[derive(Clone, Copy)]
pub(super) struct Spec<'a> {
    /// What messages call the operation.
    pub(super) name: &'static str,
    pub(super) lhs: &'a [u8],
    pub(super) rhs: &'a [u8],
    pub(super) bias: Option<&'a [u8]>,
    pub(super) out: &'a [u8],
}

impl Spec<'_> {
    /// The result for tensors of one dtype whose sizes fit.
    #[inline]
    pub(super) fn apply(&self, lhs: &Tensor, rhs: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
        debug_assert_eq!(bias.is_some(), self.bias.is_some());
        if let (Some(a), Some(b)) = (lhs.array(), rhs.array()) {
            match bias.map(Tensor::array) {
                None => return Ok(self.product(a, b)?.into()),
                Some(Some(bias)) => return self.product_with_bias(a, b, bias),
                Some(None) => {}
            }
        }
        let op = OpRef::new(self.owned());
        match bias {
            None => bind1(&op, &[lhs, rhs]),
            Some(bias) => bind1(&op, &[lhs, rhs, bias]),
        }
    }

    fn product(&self, a: &Array, b: &Array) -> Result<Array> {
        widened([a, b], |[a, b]| {
            contract(self.name, Term { array: a, labels: self.lhs }, Term { array: b, labels: self.rhs }, self.out)
        })
    }

    fn product_with_bias(&self, a: &Array, b: &Array, bias: &Array) -> Result<Tensor> {
        let sum = widened([a, b, bias], |[a, b, bias]| {
            let bias = spread(&bias.clone().into(), self.bias.unwrap_or_default(), self.out)?;
            // In the memory of the product, which nobody else holds.
            Ok(add_owned(self.product(a, b)?.into(), bias)?.concrete().clone())
        });
        Ok(sum?.into())
    }

    fn owned(self) -> Contract {
        Contract {
            name: self.name,
            lhs: Labels::from_slice(self.lhs),
            rhs: Labels::from_slice(self.rhs),
            bias: self.bias.map(Labels::from_slice),
            out: Labels::from_slice(self.out),
        }
    }
}

/// `x` with its dimensions in the order of `out` and ones for those it lacks, so that it broadcasts to the result.
fn spread(x: &Tensor, labels: &[u8], out: &[u8]) -> Result<Tensor> {
    if out.ends_with(labels) {
        return Ok(x.clone());
    }
    let order: SmallVec<[isize; 6]> =
        out.iter().filter_map(|l| labels.iter().position(|o| o == l)).map(|d| d as isize).collect();
    let x = x.permute(&order)?;
    let mut sizes = x.shape().iter();
    let shape: Shape =
        out.iter().map(|l| if labels.contains(l) { sizes.next().map_or(1, |&n| n) } else { 1 }).collect();
    x.reshape_to(&shape)
}

/// The sum over the dimensions of `g` that `labels` lacks, with the others in the order of `labels`.
fn gather(g: &Tensor, out: &[u8], labels: &[u8]) -> Result<Tensor> {
    let over: SmallVec<[isize; 6]> =
        (0..out.len()).filter(|&d| !labels.contains(&out[d])).map(|d| d as isize).collect();
    let sum = if over.is_empty() { g.clone() } else { g.sum_dims(&over, false)? };
    let left: Labels = out.iter().copied().filter(|l| labels.contains(l)).collect();
    if left[..] == *labels {
        return Ok(sum);
    }
    let order: SmallVec<[isize; 6]> =
        labels.iter().filter_map(|l| left.iter().position(|o| o == l)).map(|d| d as isize).collect();
    sum.permute(&order)
}

/// A [`Spec`] as an operation.
#[derive(Clone)]
struct Contract {
    name: &'static str,
    lhs: Labels,
    rhs: Labels,
    bias: Option<Labels>,
    out: Labels,
}

impl Contract {
    fn spec(&self) -> Spec<'_> {
        let Contract { name, lhs, rhs, bias, out } = self;
        Spec { name, lhs, rhs, bias: bias.as_deref(), out }
    }

    /// The same without a bias.
    fn product(&self) -> Spec<'_> {
        Spec { bias: None, ..self.spec() }
    }

    /// Where the result shall have lanes that lie at dimension `dim` of the operand with labels `own`.
    ///
    /// Beside a neighbour that makes rows (or columns) of the same operand, the lanes become more of them without a
    /// copy. Otherwise they go to the front.
    fn place(&self, own: &[u8], dim: usize, other: &[u8]) -> usize {
        let place = |l: &u8| (!other.contains(l)).then(|| self.out.iter().position(|o| o == l)).flatten();
        if let Some(k) = own.get(dim).and_then(place) {
            return k;
        }
        match dim.checked_sub(1).and_then(|d| own.get(d)).and_then(place) {
            Some(k) => k + 1,
            None => 0,
        }
    }
}

/// The equation as `einsum` takes it, with labels named in order.
impl fmt::Debug for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut seen = Labels::new();
        let mut write = |separator: &str, labels: &[u8]| {
            f.write_str(separator)?;
            for label in labels {
                let known = seen.iter().position(|l| l == label);
                let place = known.unwrap_or(seen.len());
                if known.is_none() {
                    seen.push(*label);
                }
                match u8::try_from(place) {
                    Ok(place) if place < 26 => write!(f, "{}", char::from(b'a' + place))?,
                    _ => write!(f, "({place})")?,
                }
            }
            Ok(())
        };
        write("", &self.lhs)?;
        write(",", &self.rhs)?;
        if let Some(bias) = &self.bias {
            write(",", bias)?;
        }
        write("->", &self.out)
    }
}

impl Op for Contract {
    fn name(&self) -> &str {
        self.name
    }

    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        Ok(smallvec![self.spec().apply(inputs[0], inputs[1], inputs.get(2).copied())?])
    }

    fn save(&self, needs: &[bool], inputs: &[&Tensor], outputs: &[Tensor]) -> Result<Saved> {
        let mut saved = Saved::default();
        for k in [0, 1] {
            if needs[1 - k] {
                saved.tensors.push(inputs[k].clone());
            }
        }
        if needs.get(2) == Some(&true) {
            saved.state = State::Shape(Box::new(Shape::from_slice(outputs[0].shape())));
        }
        Ok(saved)
    }

    fn backward(&self, saved: &Saved, needs: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        let mut found: Cotangents = needs.iter().map(|_| Cotangent::zero()).collect();
        let Some(g) = grads[0].as_tensor() else { return Ok(found) };
        let Contract { name, lhs, rhs, out, .. } = self;
        let mut tensors = saved.tensors.iter();
        let x = if needs[1] { tensors.next() } else { None };
        if let (true, Some(y)) = (needs[0], tensors.next()) {
            found[0] =
                adjoint(true, g, |g| Spec { name, lhs: out, rhs, bias: None, out: lhs }.apply(g, y, None))?.into();
        }
        if let Some(x) = x {
            found[1] =
                adjoint(true, g, |g| Spec { name, lhs, rhs: out, bias: None, out: rhs }.apply(x, g, None))?.into();
        }
        if let (Some(true), Some(labels)) = (needs.get(2), &self.bias) {
            found[2] = gather(g, out, labels)?.into();
        }
        Ok(found)
    }

    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        let mut tensors = saved.tensors.iter();
        let (tx, ty) = (tangents[0].as_tensor(), tangents[1].as_tensor());
        let mut tbias = tangents.get(2).and_then(Tangent::as_tensor);
        let x = if ty.is_some() { tensors.next() } else { None };
        let y = if tx.is_some() { tensors.next() } else { None };
        let mut sum = None;
        for (a, b) in [(tx, y), (x, ty)] {
            let (Some(a), Some(b)) = (a, b) else { continue };
            // The tangent of the bias goes along with the first product.
            let bias = tbias.take();
            let spec = if bias.is_some() { self.spec() } else { self.product() };
            let part = spec.apply(a, b, bias)?;
            sum = Some(match sum.take() {
                None => part,
                Some(sum) => add_owned(sum, part)?,
            });
        }
        if let (Some(t), Some(labels)) = (tbias, &self.bias) {
            sum = Some(broadcast_to(&spread(t, labels, &self.out)?, saved.get_shape())?);
        }
        Ok(smallvec![sum.map_or_else(Tangent::zero, Tangent::from)])
    }

    fn vmap(&self, _: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        let Some(lane) = (0..=u8::MAX).find(|l| !self.lhs.contains(l) && !self.rhs.contains(l)) else {
            bail!(Shape, "{}: expected at most 256 different dimensions", self.name);
        };
        let mut lanes = self.clone();
        for (labels, dim) in [(Some(&mut lanes.lhs), dims[0]), (Some(&mut lanes.rhs), dims[1])]
            .into_iter()
            .chain(dims.get(2).map(|d| (lanes.bias.as_mut(), *d)))
        {
            if let (Some(labels), Some(dim)) = (labels, dim) {
                labels.insert(dim, lane);
            }
        }
        let place = match (dims[0], dims[1]) {
            (Some(dim), None) => self.place(&self.lhs, dim, &self.rhs),
            (None, Some(dim)) => self.place(&self.rhs, dim, &self.lhs),
            _ => 0,
        };
        lanes.out.insert(place, lane);
        let out = match (dims[0].or(dims[1]), inputs.get(2)) {
            // One product serves all lanes.
            (None, Some(bias)) => {
                let product = self.product().apply(inputs[0], inputs[1], None)?;
                product.add(&spread(bias, lanes.bias.as_deref().unwrap_or_default(), &lanes.out)?)?
            }
            (_, bias) => lanes.spec().apply(inputs[0], inputs[1], bias.copied())?,
        };
        Ok((smallvec![out], smallvec![Some(place)]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_lie_beside_what_makes_one_product_with_them() {
        let place = |lhs: &[u8], rhs: &[u8], out: &[u8], left: Option<usize>, right: Option<usize>| {
            let op = Spec { name: "test", lhs, rhs, bias: None, out }.owned();
            let tensor = |labels: &[u8], dim: Option<usize>| {
                Tensor::ones(&vec![2; labels.len() + usize::from(dim.is_some())], crate::DType::F64).unwrap()
            };
            let (x, y) = (tensor(lhs, left), tensor(rhs, right));
            let info = VmapInfo::new(2, crate::Randomness::Error, None);
            let (outs, dims) = op.vmap(&info, &[left, right], &[&x, &y]).unwrap();
            assert_eq!(outs[0].rank(), out.len() + 1);
            dims[0].unwrap()
        };
        // Rows of a matrix, whichever way it lies.
        assert_eq!(place(b"mk", b"kn", b"mn", Some(0), None), 0);
        assert_eq!(place(b"mk", b"kn", b"mn", Some(1), None), 1);
        assert_eq!(place(b"mk", b"kn", b"mn", Some(2), None), 0);
        // Columns.
        assert_eq!(place(b"mk", b"kn", b"mn", None, Some(2)), 2);
        assert_eq!(place(b"mk", b"kn", b"mn", None, Some(1)), 1);
        assert_eq!(place(b"mk", b"kn", b"mn", None, Some(0)), 0);
        // The weights of an ensemble.
        assert_eq!(place(b"ni", b"oi", b"no", None, Some(0)), 1);
        // A vector has rows or columns only with its lanes.
        assert_eq!(place(b"mk", b"k", b"m", None, Some(0)), 0);
        assert_eq!(place(b"k", b"kn", b"n", Some(1), None), 0);
        assert_eq!(place(b"mk", b"kn", b"mn", Some(2), Some(1)), 0);
    }
}
