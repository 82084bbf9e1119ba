//! Methods whose name ends in `_`, and `+=` and its relatives: they rebind a handle, and write into the memory of the
//! old value where nobody else holds it.

use std::ops::{AddAssign, DivAssign, MulAssign, SubAssign};

use smallvec::SmallVec;

use super::index::{Indices, Part};
use super::operators::{Operand, fail};
use super::{Repr, ReprMut, Tensor};
use crate::array::Cut;
use crate::dtype::promote_ranked;
use crate::error::bail;
use crate::handle::Handle;
use crate::interp::noted::{ambient_parts, update_leaf};
use crate::interp::{Traced, batch, check_usable, forward};
use crate::kernels::region::replace_in_place;
use crate::ops::arith::{add_owned, div_owned, mul_owned, sub_owned};
use crate::ops::region::{fit_value, put_part, replace};
use crate::ops::structural::{broadcast_to, move_dim};
use crate::shape::{broadcasts_to, with_dim};
use crate::{Complex32, Complex64, DType, Result, bf16, f16};

impl Tensor {
    /// Replaces the part that an index selects by `value`: [`index_set`](Tensor::index_set) that rebinds the handle.
    ///
    /// Other handles to the old value keep it. Where there are none, its memory is reused, unless the index has lists or
    /// tensors of positions.
    ///
    /// # Errors
    /// As [`index_set`](Tensor::index_set); the tensor is then unchanged.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor, jacrev};
    /// let f = |v: &Tensor| {
    ///     let mut out = Tensor::zeros(&[3], v.dtype())?;
    ///     out.set_(0..2, v * 2.0)?.set_(2, v.i(0)?)?;
    ///     Ok(out)
    /// };
    /// let j = jacrev(f)(&Tensor::from([1.0, 1.0]))?;
    /// assert_eq!(j.to_vec::<f64>()?, [2.0, 0.0, 0.0, 2.0, 1.0, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn set_(&mut self, index: impl Indices, value: impl Operand) -> Result<&mut Tensor> {
        let part = Part::of("set_", self, index.items())?;
        value.with_operand("set_", self.dtype(), |value| {
            if !part.picks.is_empty() {
                return set_picked(self, &part, value);
            }
            let value = fit_value("set_", self, &part, value)?;
            set_part(self, &value, &part.cuts)
        })?;
        Ok(self)
    }
}

/// Replaces a part of `x` with lists or tensors of positions, in a copy.
fn set_picked(x: &mut Tensor, part: &Part, value: &Tensor) -> Result<()> {
    let mut change = |x: &mut Tensor, value: &Tensor| {
        *x = put_part("set_", x, part, value, false)?;
        Ok(())
    };
    if in_leaf(x, value, &mut change)? { Ok(()) } else { change(x, value) }
}

type Cuts = SmallVec<[Cut; 4]>;

/// Replaces the part of `x` that `cuts` select by `value`, which has the dtype of `x` and the shape of the part.
fn set_part(x: &mut Tensor, value: &Tensor, cuts: &Cuts) -> Result<()> {
    if in_leaf(x, value, &mut |x, value| set_part(x, value, cuts))? {
        return Ok(());
    }
    if !set_in_place(x, value, cuts)? {
        *x = replace(x, value, cuts)?;
    }
    Ok(())
}

/// [`set_part`] without a new value, where nobody else holds `x`; false, and nothing done, where that is impossible.
///
/// A batched value and a value with a tangent are changed inside their tracer. A value of a level that writes down what
/// happens never is.
fn set_in_place(x: &mut Tensor, value: &Tensor, cuts: &Cuts) -> Result<bool> {
    let tracer = match x.repr_mut() {
        ReprMut::Array(array) => {
            return Ok(value.array().is_some_and(|value| replace_in_place(array, value, cuts)));
        }
        ReprMut::Tracer(tracer) => tracer,
    };
    check_usable(tracer, "set_")?;
    if let Repr::Tracer(v) = value.repr() {
        check_usable(v, "set_")?;
        if v.level.id > tracer.level.id {
            return Ok(false);
        }
    }
    let level = tracer.level.clone();
    let Some(tracer) = Handle::get_mut(tracer) else { return Ok(false) };
    match &mut tracer.value {
        Traced::Reverse { .. } | Traced::Linear { .. } | Traced::Capture { .. } => return Ok(false),
        Traced::Forward { primal, tangent } => {
            let (value, dvalue) = forward::unwrap(&level, value);
            let dvalue = match dvalue {
                Some(dvalue) => dvalue,
                None => broadcast_to(&Tensor::zeros(&[], value.dtype())?, value.shape())?,
            };
            set_part(tangent, &dvalue, cuts)?;
            set_part(primal, &value, cuts)?;
        }
        Traced::Batch { value: lanes, dim, .. } => {
            let lane = *dim as usize;
            let size = lanes.shape()[lane];
            // Where the lanes lie in the part.
            let place = cuts[..lane].iter().filter(|c| c.keep).count();
            let value = match batch::unwrap(&level, value) {
                (value, Some(dim)) => move_dim(&value, dim, place)?,
                (value, None) => {
                    broadcast_to(&value.unsqueeze(place as isize)?, &with_dim(value.shape(), place, size))?
                }
            };
            let mut cuts = cuts.clone();
            cuts.insert(lane, Cut::all(size));
            set_part(lanes, &value, &cuts)?;
        }
    }
    Ok(true)
}

/// Changes the value under a leaf that requires gradients, inside `no_grad`: what an optimizer does. The leaf stays the
/// leaf it is. False, and nothing done, for any other tensor, and where a transform is working on `rhs`.
fn in_leaf(x: &mut Tensor, rhs: &Tensor, change: &mut dyn FnMut(&mut Tensor, &Tensor) -> Result<()>) -> Result<bool> {
    if x.array().is_some() {
        return Ok(false);
    }
    let rhs = match ambient_parts(rhs) {
        Some((value, _)) => value,
        None if rhs.array().is_some() => rhs,
        None => return Ok(false),
    };
    update_leaf(x, &mut |x| change(x, rhs))
}

/// `x = x op rhs`, where the type of `x` stays. `float` says that the operation has float results only.
fn assign(
    name: &str,
    x: &mut Tensor,
    rhs: &Tensor,
    float: bool,
    owned: fn(Tensor, Tensor) -> Result<Tensor>,
) -> Result<()> {
    if !broadcasts_to(rhs.shape(), x.shape()) {
        bail!(Shape, "{name}: expected an operand that broadcasts to {}, got {}", x.ty(), rhs.ty(); help = "assign the \
            result of the method without `_`, which may have another shape");
    }
    if in_leaf(x, rhs, &mut |x, rhs| assign(name, x, rhs, float, owned))? {
        return Ok(());
    }
    let dtype = x.dtype();
    let mut common = promote_ranked((dtype, x.rank()), (rhs.dtype(), rhs.rank()));
    if float {
        common = common.to_float();
    }
    if !common.fits_in(dtype) {
        bail!(Dtype, "{name}: expected a result that can be stored in {}, got {common} from an operand {}", x.ty(), rhs.ty();
            help = "convert the tensor with `to_dtype` first");
    }
    if common != dtype {
        *x = owned(x.clone(), rhs.clone())?.to_dtype(dtype)?;
        return Ok(());
    }
    let rhs = rhs.to_dtype(dtype)?;
    if x.array().is_none() || rhs.array().is_none() || dtype == DType::Bool {
        *x = owned(x.clone(), rhs)?;
        return Ok(());
    }
    // Concrete numbers of one dtype and fitting shapes: this cannot fail any more, so the old value may be given up.
    // The placeholder costs nothing to make, it shares the memory of the operand.
    let old = std::mem::replace(x, rhs.clone());
    *x = owned(old, rhs)?;
    Ok(())
}

/// Writes a method that rebinds the handle, and the assignment operator with tensors and numbers on its right.
macro_rules! assignments {
    ($($(#[doc = $doc:literal])* $method:ident, $trait:ident::$operator:ident = $owned:path, float: $float:literal;)*) => { $(
        impl Tensor {
            $(#[doc = $doc])*
            ///
            /// Other handles to the old value keep it. Where there are none, its memory is reused.
            ///
            /// # Errors
            /// `Shape` if `rhs` does not broadcast to the shape of the tensor, which stays as it is; `Dtype` if the
            /// result has a dtype of a higher category than the tensor. The tensor is then unchanged.
            pub fn $method(&mut self, rhs: impl Operand) -> Result<&mut Tensor> {
                rhs.with_operand(stringify!($method), self.dtype(), |rhs| assign(stringify!($method), self, rhs, $float, $owned))?;
                Ok(self)
            }
        }
        assignments!(@operator $trait, $operator, $method, &Tensor, Tensor, bool, u8, i32, i64, u32, usize, isize, f16, bf16, f32, f64,
            Complex32, Complex64);
    )* };
    (@operator $trait:ident, $operator:ident, $method:ident, $($rhs:ty),*) => { $(
        impl $trait<$rhs> for Tensor {
            #[track_caller]
            fn $operator(&mut self, rhs: $rhs) {
                if let Err(e) = self.$method(rhs) {
                    fail(e);
                }
            }
        }
    )* };
}
assignments! {
    /// Adds `rhs` to the tensor: [`add`](Tensor::add) that rebinds the handle.
    ///
    /// ```
    /// use pullback::Tensor;
    /// let mut x = Tensor::from([1.0f32, 2.0]);
    /// x.add_(1)?.mul_(10)?;
    /// x += &Tensor::from(0.5f32);
    /// assert_eq!(x.to_vec::<f32>()?, [20.5, 30.5]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    add_, AddAssign::add_assign = add_owned, float: false;

    /// Subtracts `rhs` from the tensor: [`sub`](Tensor::sub) that rebinds the handle.
    sub_, SubAssign::sub_assign = sub_owned, float: false;

    /// Multiplies the tensor by `rhs`: [`mul`](Tensor::mul) that rebinds the handle.
    mul_, MulAssign::mul_assign = mul_owned, float: false;

    /// Divides the tensor by `rhs`: [`div`](Tensor::div) that rebinds the handle.
    div_, DivAssign::div_assign = div_owned, float: true;
}

/// Gives a tensor the result of an operation on it, converted to its dtype: what `exp_` does with the result of `exp`.
///
/// Other handles to the old value keep it. A leaf inside of `no_grad` stays the leaf that it is.
///
/// # Errors
/// `Shape` if the result does not have the shape of the tensor, `Dtype` if it has a dtype of a higher category. The tensor is then
/// unchanged.
#[cfg(feature = "dynamic")]
pub fn rebind(tensor: &mut Tensor, operation: &str, result: Tensor) -> Result<()> {
    if result.shape() != tensor.shape() {
        bail!(Shape, "{operation}: expected a result of the shape of {}, got {}", tensor.ty(), result.ty(); help = "assign the \
            result of the method without `_`, which may have another shape");
    }
    if !result.dtype().fits_in(tensor.dtype()) {
        bail!(Dtype, "{operation}: expected a result that can be stored in {}, got {}", tensor.ty(), result.dtype();
            help = "convert the tensor with `to_dtype` first");
    }
    let result = result.to_dtype(tensor.dtype())?;
    let mut put = |x: &mut Tensor, value: &Tensor| {
        *x = value.clone();
        Ok(())
    };
    if in_leaf(tensor, &result, &mut put)? { Ok(()) } else { put(tensor, &result) }
}

#[cfg(test)]
mod tests {
    //! Where the memory of the old value is reused; that the values are right is tested outside.

    use super::*;
    use crate::{jvp, vmap};

    fn address(x: &Tensor) -> usize {
        x.concrete().as_ptr::<f64>() as usize
    }

    /// The address of the value inside the tracers.
    fn inner_address(x: &Tensor) -> usize {
        match x.repr() {
            Repr::Array(_) => address(x),
            Repr::Tracer(tracer) => match &tracer.value {
                Traced::Reverse { primal, .. } | Traced::Forward { primal, .. } | Traced::Linear { primal, .. } => {
                    inner_address(primal)
                }
                Traced::Capture { value, .. } | Traced::Batch { value, .. } => inner_address(value),
            },
        }
    }

    fn large() -> Tensor {
        Tensor::full(&[10, 10], 2.0, DType::F64).unwrap()
    }

    #[test]
    fn the_only_handle_is_changed_in_place() -> Result<()> {
        let mut x = large();
        let before = address(&x);
        x += 1.0;
        x *= &Tensor::full(&[10, 1], 2.0, DType::F64)?;
        x -= Tensor::from(1i32);
        x /= 5.0;
        x.set_((1, 2..), 3.0)?.set_((.., 0), &Tensor::zeros(&[10], DType::F64)?)?;
        assert_eq!(address(&x), before);
        assert_eq!(x.i((0, 1))?.item::<f64>()?, 1.0);
        Ok(())
    }

    #[test]
    fn other_handles_and_views_keep_the_old_value() -> Result<()> {
        let mut x = large();
        let other = x.clone();
        x += 1.0;
        assert_ne!(address(&x), address(&other));
        let row = x.i(0)?;
        x.set_(0, 0.0)?;
        assert_eq!((row.to_vec::<f64>()?, x.i((0, 0))?.item::<f64>()?), (vec![3.0; 10], 0.0));
        assert_eq!(other.to_vec::<f64>()?, [2.0; 100]);
        let y = x.clone();
        x += &y;
        assert_eq!(x.i((1, 0))?.item::<f64>()?, 6.0);
        Ok(())
    }

    #[test]
    fn batched_values_are_changed_in_place() -> Result<()> {
        let f = |v: &Tensor| {
            let mut x = v.mul(2.0)?;
            let before = inner_address(&x);
            x.set_(0, v.i(1)?)?.set_(1..3, 7.0)?.set_(3, Tensor::from(8.0))?;
            assert_eq!(inner_address(&x), before);
            let other = x.clone();
            x.set_(4, 0.0)?;
            assert_ne!(inner_address(&x), before);
            Ok((x, other))
        };
        let v = Tensor::from([[1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, 10.0]]);
        let (x, other) = vmap(f)(&v)?;
        assert_eq!(x.to_vec::<f64>()?, [2.0, 7.0, 7.0, 8.0, 0.0, 7.0, 7.0, 7.0, 8.0, 0.0]);
        assert_eq!(other.i((.., 4))?.to_vec::<f64>()?, [10.0, 20.0]);
        let (columns, _) = crate::Vmap::new().in_dims(1).out_dims(1).of(f)(&v.permute(&[1, 0])?)?;
        assert_eq!(columns.permute(&[1, 0])?.to_vec::<f64>()?, x.to_vec::<f64>()?);
        Ok(())
    }

    #[test]
    fn values_with_tangents_are_changed_in_place() -> Result<()> {
        let f = |v: &Tensor| {
            let mut x = v.mul(2.0)?;
            let before = inner_address(&x);
            x.set_(0, v.i(1)?)?.set_(2, 7.0)?;
            assert_eq!(inner_address(&x), before);
            Ok(x)
        };
        let (x, dx) = jvp(f, &Tensor::from([1.0, 2.0, 3.0]), &Tensor::from([10.0, 20.0, 30.0]))?;
        assert_eq!(x.to_vec::<f64>()?, [2.0, 4.0, 7.0]);
        assert_eq!(dx.to_vec::<f64>()?, [20.0, 40.0, 0.0]);
        let lanes = vmap(|v: &Tensor| Ok(jvp(f, v, &v.mul(10.0)?)?.1))(&Tensor::from([[1.0, 2.0, 3.0]]))?;
        assert_eq!(lanes.to_vec::<f64>()?, [20.0, 40.0, 0.0]);
        Ok(())
    }
}
