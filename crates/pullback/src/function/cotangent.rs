//! Tangents and cotangents, with zeros that stay symbolic until somebody reads them.

use std::fmt;
use std::ops::{Add, Mul, Neg, Sub};
use std::sync::Arc;

use crate::ops::structural::add_owned;
use crate::{Result, Tensor, TensorType, error::bail};

/// The cotangent of one tensor: a tensor of its shape and dtype, or a zero that was never computed.
///
/// Rules may read it as a tensor and never notice zeros: [`tensor`](Cotangent::tensor) makes one of the right type.
/// Rules that want to skip work ask [`is_zero`](Cotangent::is_zero). The operators `+`, `-`, `*` and unary `-` keep
/// zeros symbolic, and so does [`map`](Cotangent::map) for any linear function.
///
/// "Zero" and "not supplied" differ: a rule that has no cotangent to give for an input returns
/// [`not_supplied`](Cotangent::not_supplied), which is an error if that input turns out to be needed.
///
/// ```
/// use pullback::{Cotangent, Tensor};
/// let g = Cotangent::from(Tensor::from([1.0f32, 2.0]));
/// let h = &g * &Tensor::from([3.0f32, 4.0]) + Cotangent::zero();
/// assert_eq!(h.tensor()?.to_vec::<f32>()?, [3.0, 8.0]);
/// assert!((Cotangent::zero() * &Tensor::from(5.0)).is_zero());
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone)]
pub struct Cotangent(Content);

/// The tangent of one tensor. It behaves like a [`Cotangent`] in every way.
pub type Tangent = Cotangent;

#[derive(Clone)]
enum Content {
    /// Of this type, where it is known.
    Zero(Option<Arc<TensorType>>),
    NotSupplied,
    Value(Tensor),
}

impl Cotangent {
    /// A symbolic zero. It takes its shape and dtype from the tensor that it belongs to.
    pub const fn zero() -> Cotangent {
        Cotangent(Content::Zero(None))
    }

    /// "This rule has no cotangent for that input": an error if the input is needed, and ignored if it is not.
    pub const fn not_supplied() -> Cotangent {
        Cotangent(Content::NotSupplied)
    }

    /// True for a symbolic zero; a tensor that happens to hold zeros is not one.
    pub fn is_zero(&self) -> bool {
        matches!(self.0, Content::Zero(_))
    }

    pub(crate) fn is_supplied(&self) -> bool {
        !matches!(self.0, Content::NotSupplied)
    }

    /// The cotangent as a tensor; a symbolic zero is materialised.
    ///
    /// # Errors
    /// `Rule` for a cotangent that was not supplied, and for a zero made by [`Cotangent::zero`] that does not belong
    /// to a tensor yet. What a rule is given always has a type.
    pub fn tensor(&self) -> Result<Tensor> {
        match &self.0 {
            Content::Value(t) => Ok(t.clone()),
            Content::Zero(Some(ty)) => Tensor::zeros(&ty.shape, ty.dtype),
            Content::Zero(None) => {
                bail!(Rule, "a symbolic zero has no shape until it is returned from a rule"; help = "use `Tensor::zeros`")
            }
            Content::NotSupplied => bail!(Rule, "expected a cotangent, got one that was not supplied"),
        }
    }

    /// The tensor inside, or `None` for a symbolic zero and for one that was not supplied.
    pub fn as_tensor(&self) -> Option<&Tensor> {
        match &self.0 {
            Content::Value(t) => Some(t),
            _ => None,
        }
    }

    pub(crate) fn into_tensor(self) -> Option<Tensor> {
        match self.0 {
            Content::Value(t) => Some(t),
            _ => None,
        }
    }

    /// Applies a linear function: a zero stays zero without calling it.
    ///
    /// ```
    /// use pullback::{Cotangent, Tensor};
    /// let g = Cotangent::from(Tensor::from([1.0f32, 2.0]));
    /// assert_eq!(g.map(|g| g.sum())?.tensor()?.item::<f32>()?, 3.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn map(&self, f: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Cotangent> {
        match &self.0 {
            Content::Value(t) => Ok(Cotangent::from(f(t)?)),
            _ => Ok(self.without_value()),
        }
    }

    /// What becomes of a cotangent that is no tensor. Apart from [`map`](Cotangent::map), of which there are hundreds of copies.
    #[inline(never)]
    fn without_value(&self) -> Cotangent {
        match &self.0 {
            Content::NotSupplied => Cotangent::not_supplied(),
            _ => Cotangent::zero(),
        }
    }

    /// The sum of two cotangents of the same tensor.
    pub(crate) fn plus(self, other: Cotangent) -> Result<Cotangent> {
        Ok(match (self.0, other.0) {
            (Content::NotSupplied, _) | (_, Content::NotSupplied) => Cotangent::not_supplied(),
            (Content::Value(a), Content::Value(b)) => add_owned(a, b)?.into(),
            (a, Content::Zero(None)) => Cotangent(a),
            (Content::Zero(_), b) => Cotangent(b),
            (a, Content::Zero(_)) => Cotangent(a),
        })
    }

    /// Adds a tensor, in place where nobody else holds this one.
    pub(crate) fn accumulate(&mut self, grad: Tensor) -> Result<()> {
        self.0 = Content::Value(match std::mem::take(self).0 {
            Content::Value(sum) => add_owned(sum, grad)?,
            _ => grad,
        });
        Ok(())
    }

    /// Gives a symbolic zero its type.
    pub(crate) fn set_type(&mut self, ty: &TensorType) {
        if let Content::Zero(slot @ None) = &mut self.0 {
            *slot = Some(Arc::new(ty.clone()));
        }
    }
}

/// A symbolic zero.
impl Default for Cotangent {
    fn default() -> Cotangent {
        Cotangent::zero()
    }
}

impl From<Tensor> for Cotangent {
    fn from(t: Tensor) -> Cotangent {
        Cotangent(Content::Value(t))
    }
}

impl fmt::Debug for Cotangent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Content::Zero(Some(ty)) => write!(f, "zero {ty}"),
            Content::Zero(None) => f.write_str("zero"),
            Content::NotSupplied => f.write_str("not supplied"),
            Content::Value(t) => fmt::Debug::fmt(t, f),
        }
    }
}

/// Panics with the message of the error, at the caller's line: what operators do, because they cannot return it.
#[track_caller]
fn expect(result: Result<Cotangent>) -> Cotangent {
    match result {
        Ok(c) => c,
        Err(e) => panic!("{e:#}"),
    }
}

/// Writes an operator for all combinations of owned and borrowed operands.
macro_rules! cotangent_operator {
    ($trait:ident, $method:ident, $rhs:ty, |$a:ident, $b:ident| $body:expr) => {
        impl $trait<&$rhs> for &Cotangent {
            type Output = Cotangent;
            #[track_caller]
            fn $method(self, rhs: &$rhs) -> Cotangent {
                let ($a, $b) = (self, rhs);
                expect($body)
            }
        }
        impl $trait<$rhs> for &Cotangent {
            type Output = Cotangent;
            #[track_caller]
            fn $method(self, rhs: $rhs) -> Cotangent {
                $trait::$method(self, &rhs)
            }
        }
        impl $trait<&$rhs> for Cotangent {
            type Output = Cotangent;
            #[track_caller]
            fn $method(self, rhs: &$rhs) -> Cotangent {
                $trait::$method(&self, rhs)
            }
        }
        impl $trait<$rhs> for Cotangent {
            type Output = Cotangent;
            #[track_caller]
            fn $method(self, rhs: $rhs) -> Cotangent {
                $trait::$method(&self, &rhs)
            }
        }
    };
}
cotangent_operator!(Add, add, Cotangent, |a, b| a.clone().plus(b.clone()));
cotangent_operator!(Sub, sub, Cotangent, |a, b| b.map(Tensor::neg).and_then(|b| a.clone().plus(b)));
cotangent_operator!(Mul, mul, Tensor, |a, b| a.map(|g| g.mul(b)));
cotangent_operator!(Mul, mul, f64, |a, b| a.map(|g| g.mul(*b)));

impl Neg for &Cotangent {
    type Output = Cotangent;
    #[track_caller]
    fn neg(self) -> Cotangent {
        expect(self.map(Tensor::neg))
    }
}

impl Neg for Cotangent {
    type Output = Cotangent;
    #[track_caller]
    fn neg(self) -> Cotangent {
        -&self
    }
}
