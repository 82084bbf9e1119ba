//! xⁿ computed on slices, with every way to give its derivative, for the tests of opaque functions.

use pullback::function::{ArrayMut, ArrayRef, Batching, Types};
use pullback::*;

/// The sizes that two shapes have when broadcast against each other.
fn broadcast(a: &[usize], b: &[usize]) -> Vec<usize> {
    let at = |s: &[usize], k: usize| if k < s.len() { s[s.len() - 1 - k] } else { 1 };
    let rank = a.len().max(b.len());
    (0..rank).rev().map(|k| if at(a, k) == 1 { at(b, k) } else { at(a, k) }).collect()
}

/// Which element of an array of shape `from` stands at element `k` of an array of shape `to`.
fn source(mut k: usize, from: &[usize], to: &[usize]) -> usize {
    let (mut index, mut step) = (0, 1);
    for (j, n) in to.iter().rev().enumerate() {
        let own = if j < from.len() { from[from.len() - 1 - j] } else { 1 };
        index += step * (k % n % own);
        (step, k) = (step * own, k / n);
    }
    index
}

/// y = w·xⁿ with broadcasting.
fn weighted_powers<T: Element + Into<f64>>(n: i32, x: &[ArrayRef<'_>], y: &mut ArrayMut<'_>) -> Result<()> {
    let ((xs, ws), shape) = ((x[0].shape(), x[1].shape()), y.shape().to_vec());
    let (x, w) = (x[0].as_slice::<T>()?, x[1].as_slice::<T>()?);
    for (k, y) in y.as_mut_slice::<T>()?.iter_mut().enumerate() {
        let (x, w) = (x[source(k, xs, &shape)], w[source(k, ws, &shape)]);
        *y = T::from_f64(Into::<f64>::into(w) * Into::<f64>::into(x).powi(n));
    }
    Ok(())
}

fn powers<T: Element + Into<f64>>(n: i32, scale: f64, x: ArrayRef<'_>, y: &mut ArrayMut<'_>) -> Result<()> {
    for (y, x) in y.as_mut_slice::<T>()?.iter_mut().zip(x.as_slice::<T>()?) {
        *y = T::from_f64(scale * Into::<f64>::into(*x).powi(n));
    }
    Ok(())
}

fn compute(n: i32, scale: f64, x: ArrayRef<'_>, y: &mut ArrayMut<'_>) -> Result<()> {
    if x.dtype() == DType::F32 { powers::<f32>(n, scale, x, y) } else { powers::<f64>(n, scale, x, y) }
}

/// `y *= g`
fn times(y: &mut ArrayMut<'_>, g: ArrayRef<'_>) -> Result<()> {
    if g.dtype() == DType::F32 {
        y.as_mut_slice::<f32>()?.iter_mut().zip(g.as_slice::<f32>()?).for_each(|(y, g)| *y *= g);
    } else {
        y.as_mut_slice::<f64>()?.iter_mut().zip(g.as_slice::<f64>()?).for_each(|(y, g)| *y *= g);
    }
    Ok(())
}

/// xⁿ, whose rules with tensor operations use xⁿ⁻¹. `FORWARD` and `REVERSE` say which are there.
pub struct Power<const FORWARD: bool, const REVERSE: bool>(pub i32, pub Batching);

impl<const FORWARD: bool, const REVERSE: bool> Power<FORWARD, REVERSE>
where
    Self: OpaqueFunction<Inputs = Tensor, Outputs = Tensor>,
{
    /// `g` times the derivative.
    fn scaled(&self, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
        g.map(|g| g.mul(&Opaque::new(Self(self.0 - 1, self.1)).apply(x)?)?.mul(self.0))
    }
}

macro_rules! power {
    ($forward:literal, $reverse:literal, {$($rules:tt)*}) => {
        impl OpaqueFunction for Power<$forward, $reverse> {
            type Inputs = Tensor;
            type Outputs = Tensor;
            fn output_types(&self, x: &TensorType) -> Result<TensorType> {
                Ok(x.clone())
            }
            fn forward(&self, x: &[ArrayRef<'_>], y: &mut [ArrayMut<'_>]) -> Result<()> {
                compute(self.0, 1.0, x[0], &mut y[0])
            }
            fn batching(&self) -> Batching {
                self.1
            }
            $($rules)*
        }
    };
}
power!(false, true, {
    fn tensor_backward(&self, _: &Context<Opaque<Self>>, (x, _): &(Tensor, Tensor), g: Cotangent) -> Result<Cotangent> {
        self.scaled(x, g)
    }
});
power!(true, false, {
    fn tensor_jvp(&self, _: &Context<Opaque<Self>>, (x, _): &(Tensor, Tensor), t: Tangent) -> Result<Tangent> {
        self.scaled(x, t)
    }
});
power!(true, true, {
    fn tensor_backward(&self, _: &Context<Opaque<Self>>, (x, _): &(Tensor, Tensor), g: Cotangent) -> Result<Cotangent> {
        self.scaled(x, g)
    }
    fn tensor_jvp(&self, _: &Context<Opaque<Self>>, (x, _): &(Tensor, Tensor), t: Tangent) -> Result<Tangent> {
        self.scaled(x, t)
    }
});

/// xⁿ with every part on slices.
pub struct RawPower(pub i32, pub Batching);

impl OpaqueFunction for RawPower {
    type Inputs = Tensor;
    type Outputs = Tensor;
    fn output_types(&self, x: &TensorType) -> Result<TensorType> {
        Ok(x.clone())
    }
    fn forward(&self, x: &[ArrayRef<'_>], y: &mut [ArrayMut<'_>]) -> Result<()> {
        compute(self.0, 1.0, x[0], &mut y[0])
    }
    fn backward(
        &self,
        x: &[ArrayRef<'_>],
        _: &[ArrayRef<'_>],
        g: &[ArrayRef<'_>],
        dx: &mut [Option<ArrayMut<'_>>],
    ) -> Result<()> {
        let dx = dx[0].as_mut().expect("the only input is needed");
        compute(self.0 - 1, f64::from(self.0), x[0], dx)?;
        times(dx, g[0])
    }
    fn jvp(
        &self,
        x: &[ArrayRef<'_>],
        _: &[ArrayRef<'_>],
        t: &[ArrayRef<'_>],
        dy: &mut [Option<ArrayMut<'_>>],
    ) -> Result<()> {
        let dy = dy[0].as_mut().expect("the only output is a float");
        compute(self.0 - 1, f64::from(self.0), x[0], dy)?;
        times(dy, t[0])
    }
    fn batching(&self) -> Batching {
        self.1
    }
}

/// w·xⁿ with two inputs, which broadcast.
pub struct Weighted(pub i32, pub Batching);

impl OpaqueFunction for Weighted {
    type Inputs = (Tensor, Tensor);
    type Outputs = Tensor;
    fn output_types(&self, (x, w): &Types<(Tensor, Tensor)>) -> Result<TensorType> {
        Ok(TensorType::new(x.dtype, &broadcast(&x.shape, &w.shape)))
    }
    fn forward(&self, x: &[ArrayRef<'_>], y: &mut [ArrayMut<'_>]) -> Result<()> {
        match x[0].dtype() {
            DType::F32 => weighted_powers::<f32>(self.0, x, &mut y[0]),
            _ => weighted_powers::<f64>(self.0, x, &mut y[0]),
        }
    }
    fn tensor_backward(
        &self,
        _: &Context<Opaque<Self>>,
        ((x, w), _): &((Tensor, Tensor), Tensor),
        g: Cotangent,
    ) -> Result<(Cotangent, Cotangent)> {
        let slope = Opaque::new(Weighted(self.0 - 1, self.1)).apply(&(x.clone(), w.clone()))?;
        let power = Opaque::new(Power::<false, true>(self.0, self.1)).apply(x)?;
        Ok((g.map(|g| g.mul(&slope)?.mul(self.0)?.sum_to(x.shape()))?, g.map(|g| g.mul(&power)?.sum_to(w.shape()))?))
    }
    fn batching(&self) -> Batching {
        self.1
    }
}
