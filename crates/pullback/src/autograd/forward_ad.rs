//! Forward mode by marked values: dual numbers, each a value and its tangent.
//!
//! ```
//! use pullback::{Tensor, autograd::forward_ad::dual_level};
//! let level = dual_level();
//! let x = level.make_dual(&Tensor::from(3.0), &Tensor::from(1.0))?;
//! let (y, dy) = level.unpack_dual(&x.square()?)?;
//! assert_eq!((y.item::<f64>()?, dy.unwrap().item::<f64>()?), (9.0, 6.0));
//! # Ok::<(), pullback::Error>(())
//! ```
//!
//! [`jvp`](crate::jvp()) does the same to a function, and cannot leave anything behind. Levels nest: a level inside another
//! one takes derivatives of derivatives, and perturbations never mix. Duals may be made of leaves, and tangents walked
//! back from with `backward`, for products with a Hessian.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::error::bail;
use crate::interp::level::OpenLevel;
use crate::interp::{Level, check_alive, forward};
use crate::{Result, Tensor};

thread_local! {
    /// The open levels of this thread, oldest first.
    static OPEN: RefCell<Vec<Arc<Level>>> = const { RefCell::new(Vec::new()) };
}

/// Opens a level of dual numbers, which ends when the guard is dropped.
pub fn dual_level() -> DualLevel {
    let open = OpenLevel::dual();
    OPEN.with_borrow_mut(|levels| levels.push(open.level().clone()));
    DualLevel { open, here: PhantomData }
}

/// An open level of dual numbers.
///
/// A dual that is used after its level has ended is an error (`EscapedTracer`): unpack what you need before.
#[must_use = "the level ends when the guard is dropped"]
pub struct DualLevel {
    open: OpenLevel,
    /// The functions of this module find it on this thread only.
    here: PhantomData<*const ()>,
}

impl Drop for DualLevel {
    fn drop(&mut self) {
        let id = self.open.level().id;
        OPEN.with_borrow_mut(|levels| levels.retain(|level| level.id != id));
    }
}

impl DualLevel {
    /// The value `primal` with the tangent `tangent`.
    ///
    /// # Errors
    /// `NotDifferentiable` for integer tensors, and for a primal that is a dual of this level already; `Shape` or `Dtype` if the tangent
    /// is not of the type of the primal.
    pub fn make_dual(&self, primal: &Tensor, tangent: &Tensor) -> Result<Tensor> {
        make(self.open.level(), primal, tangent)
    }

    /// The value without this level, and its tangent, if it has one.
    ///
    /// # Errors
    /// `EscapedTracer` for a value of a level that has ended.
    pub fn unpack_dual(&self, value: &Tensor) -> Result<(Tensor, Option<Tensor>)> {
        check_alive(value, "unpack_dual: the value")?;
        Ok(forward::unwrap(self.open.level(), value))
    }
}

fn make(level: &Arc<Level>, primal: &Tensor, tangent: &Tensor) -> Result<Tensor> {
    check_alive(primal, "make_dual: the primal")?;
    check_alive(tangent, "make_dual: the tangent")?;
    let (p, t) = (primal.ty(), tangent.ty());
    if !p.dtype.is_differentiable() {
        bail!(NotDifferentiable, "make_dual: expected a floating-point primal, got {p}"; help = "convert it with \
            `to_dtype`");
    }
    for (what, t) in [("primal", primal), ("tangent", tangent)] {
        if let crate::tensor::Repr::Tracer(tracer) = t.repr()
            && tracer.level.id >= level.id
        {
            let (kind, id) = (tracer.level.transform(), tracer.level.id);
            match tracer.level.id == level.id {
                true => {
                    bail!(NotDifferentiable, "make_dual: expected a {what} that is no dual of this level, got {}", t.ty();
                    help = "unpack it first, or open a `dual_level` inside for the derivative of a derivative")
                }
                false => {
                    bail!(InTransform, "make_dual: the {what} ({}) is a value that a `{kind}` (level {id}) opened \
                    inside of this dual level is working on", t.ty(); help = "use `jvp` on a function, or open the \
                    `dual_level` inside")
                }
            }
        }
    }
    if p.shape != t.shape {
        bail!(Shape, "make_dual: expected a tangent of the type of the primal, {p}, got {t}");
    }
    if p.dtype != t.dtype {
        bail!(Dtype, "make_dual: expected a tangent of the type of the primal, {p}, got {t}"; help = "convert it with \
            `to_dtype`");
    }
    Ok(forward::wrap(level, primal.clone(), tangent.clone()))
}

/// The newest level of this thread.
fn innermost(place: &str) -> Result<Arc<Level>> {
    match OPEN.with_borrow(|levels| levels.last().cloned()) {
        Some(level) => Ok(level),
        None => {
            bail!(Value, "{place}: expected a dual level that is open on this thread, got none"; help = "open one with \
            `dual_level`, or use `jvp` on a function")
        }
    }
}

/// [`DualLevel::make_dual`] at the innermost open level of this thread.
///
/// # Errors
/// As [`DualLevel::make_dual`]; `Value` if no level is open.
///
/// ```
/// use pullback::{Tensor, autograd::forward_ad::{dual_level, make_dual, unpack_dual}};
/// let _level = dual_level();
/// let x = make_dual(&Tensor::from([1.0, 2.0]), &Tensor::from([1.0, 0.0]))?;
/// let (_, dy) = unpack_dual(&x.square()?.sum()?)?;
/// assert_eq!(dy.unwrap().item::<f64>()?, 2.0);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn make_dual(primal: &Tensor, tangent: &Tensor) -> Result<Tensor> {
    make(&innermost("make_dual")?, primal, tangent)
}

/// [`DualLevel::unpack_dual`] at the innermost open level of this thread.
///
/// # Errors
/// As [`DualLevel::unpack_dual`]; `Value` if no level is open.
pub fn unpack_dual(value: &Tensor) -> Result<(Tensor, Option<Tensor>)> {
    check_alive(value, "unpack_dual: the value")?;
    let level = innermost("unpack_dual")?;
    Ok(forward::unwrap(&level, value))
}
