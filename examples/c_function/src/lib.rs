//! The modified Bessel functions `Iₙ`, computed by a C library.
//!
//! What it shows about operations of your own:
//! - `forward` is a call across the language border: a C file that `build.rs` compiles, and one safe wrapper around it;
//! - derivatives are members of the same family, `Iₙ' = (Iₙ₋₁ + Iₙ₊₁)/2`, so all orders exist although the library never sees
//!   what C does;
//! - parameters that are not tensors are fields;
//! - the hand-written batching rule makes one call for all lanes, which stay where they are.

mod ffi;

use pullback::{Context, Cotangent, DType, Dims, Error, ErrorKind, Function, Result, Tangent, Tensor, VmapInfo};

/// `Iₙ(x)`, elementwise, where `n` is the order.
///
/// # Shapes
/// The result has the shape of the tensor.
///
/// # Dtypes
/// `f32` and `f64`. The result is infinite where it overflows, for `f64` from about `|x| = 713`.
///
/// # Derivative
/// `(Iₙ₋₁(x) + Iₙ₊₁(x))/2`, and `I₁(x)` for order 0.
///
/// # Errors
/// `Dtype` for other dtypes; `Value` for orders above 1000, also those that a derivative needs.
///
/// # Example
/// ```
/// use c_function::BesselI;
/// use pullback::{Function, Tensor, grad};
///
/// let i0 = |x: &Tensor| BesselI { order: 0 }.apply(x);
/// let x = Tensor::from(1.0);
/// assert!((i0(&x)?.item::<f64>()? - 1.2660658777520084).abs() < 1e-15);
/// assert!((grad(i0)(&x)?.item::<f64>()? - 0.5651591039924851).abs() < 1e-15);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BesselI {
    /// The order `n`.
    pub order: u32,
}

impl BesselI {
    fn slope(&self, x: &Tensor) -> Result<Tensor> {
        let above = BesselI { order: self.order.saturating_add(1) }.apply(x)?;
        match self.order.checked_sub(1) {
            // I₋₁ = I₁.
            None => Ok(above),
            Some(below) => BesselI { order: below }.apply(x)?.add(&above)?.mul(0.5),
        }
    }
}

fn call<T: ffi::Real>(order: u32, x: &Tensor) -> Result<Tensor> {
    Tensor::from_slice(&T::bessel_i(order, &x.to_vec::<T>()?)?, x.shape())
}

impl Function for BesselI {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        match x.dtype() {
            DType::F32 => call::<f32>(self.order, x),
            DType::F64 => call::<f64>(self.order, x),
            _ => {
                let message = format!("expected an f32 or f64 tensor, got {}", x.ty());
                Err(Error::new(ErrorKind::Dtype, message).with_help("convert it with `to_dtype`"))
            }
        }
    }

    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        Ok(x.clone())
    }

    fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
        let slope = self.slope(x)?;
        g.map(|g| g.mul(&slope))
    }

    // The Jacobian is diagonal, so it is its own transpose. Without this the rule would be derived from `backward`.
    fn jvp(&self, ctx: &Context<Self>, x: &Tensor, dx: Tangent) -> Result<Tangent> {
        self.backward(ctx, x, dx)
    }

    // All lanes are elements of one array, so C is called once. An elementwise function leaves them where they are.
    fn vmap(&self, _: &VmapInfo, in_dims: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
        Ok((self.apply(x)?, in_dims))
    }

    fn backward_is_linear(&self) -> bool {
        true
    }
}
