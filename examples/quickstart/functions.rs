//! Two operations that the library does not have.

use pullback::{Context, Cotangent, DType, Dims, Error, Function, Result, Tensor, VmapInfo};

/// `x + x³/12`, an activation that returns its slope `1 + x²/4` as a second output.
///
/// The derivative reads the slope instead of computing it again. As an output it has a cotangent of its own, so that
/// second and higher derivatives are exact too.
#[derive(Clone)]
pub struct Bend;

impl Function for Bend {
    type Inputs = Tensor;
    type Outputs = (Tensor, Tensor);
    type Saved = (Tensor, Tensor);

    fn forward(&self, x: &Tensor) -> Result<(Tensor, Tensor)> {
        let quarter = x * x * 0.25;
        Ok((x + x * &quarter * (1.0 / 3.0), quarter + 1.0))
    }

    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, y: &(Tensor, Tensor)) -> Result<(Tensor, Tensor)> {
        Ok((x.clone(), y.1.clone()))
    }

    fn backward(
        &self,
        _: &Context<Self>,
        (x, slope): &(Tensor, Tensor),
        (g, g_slope): (Cotangent, Cotangent),
    ) -> Result<Cotangent> {
        Ok(g * slope + g_slope * x * 0.5)
    }
}

/// `(1 + x²)^(-n/2)`, computed by code that knows nothing of tensors.
///
/// Its derivative `-n·x·(1 + x²)^(-(n+2)/2)` is the same operation with another parameter, so every order exists
/// although the library never sees what happens inside.
#[derive(Clone)]
pub struct Bell {
    pub n: i32,
}

/// Stands for a library of somebody else's: it fills raw slices.
mod outside {
    pub fn bell_f32(n: i32, x: &[f32], out: &mut [f32]) {
        for (o, &v) in out.iter_mut().zip(x) {
            *o = (1.0 + v * v).sqrt().recip().powi(n);
        }
    }

    pub fn bell_f64(n: i32, x: &[f64], out: &mut [f64]) {
        for (o, &v) in out.iter_mut().zip(x) {
            *o = (1.0 + v * v).sqrt().recip().powi(n);
        }
    }
}

impl Function for Bell {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        match x.dtype() {
            DType::F32 => {
                let mut out = vec![0.0; x.numel()];
                outside::bell_f32(self.n, &x.to_vec::<f32>()?, &mut out);
                Tensor::from_slice(&out, x.shape())
            }
            DType::F64 => {
                let mut out = vec![0.0; x.numel()];
                outside::bell_f64(self.n, &x.to_vec::<f64>()?, &mut out);
                Tensor::from_slice(&out, x.shape())
            }
            other => Err(Error::other(format!("Bell works on f32 and f64, got {other}"))),
        }
    }

    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        Ok(x.clone())
    }

    fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
        let steeper = Bell { n: self.n + 2 }.apply(x)?;
        Ok(g * x * steeper * f64::from(-self.n))
    }

    /// It works element by element, so all lanes go through in one call and stay where they are.
    fn vmap(&self, _: &VmapInfo, in_dims: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
        Ok((self.apply(x)?, in_dims))
    }
}

/// `x / √(1 + x²)`, a smooth step from -1 to 1.
pub fn squash(x: &Tensor) -> Result<Tensor> {
    x.mul(&Bell { n: 1 }.apply(x)?)
}
