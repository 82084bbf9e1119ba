//! Derivatives of scalar functions of a scalar by any sequence of transforms.

use pullback::{Result, Tensor, Vmap, grad, jvp, stack, vmap};

/// One transform of a nest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// One derivative by `jvp`.
    Forward,
    /// One derivative by `grad`.
    Reverse,
    /// No derivative: the function runs under `vmap`, and the lane of interest is selected.
    Lanes,
    /// No derivative: the function runs under a `vmap` that none of its arguments is mapped by.
    Unmapped,
}
use Mode::*;

pub type Scalar<'a> = dyn Fn(&Tensor) -> Result<Tensor> + Sync + 'a;

/// `f` transformed by `modes`, the outermost first, at `x`.
pub fn apply(f: &Scalar<'_>, modes: &[Mode], x: &Tensor) -> Result<Tensor> {
    let Some((first, rest)) = modes.split_first() else { return f(x) };
    let inner = |x: &Tensor| apply(f, rest, x);
    match first {
        Forward => Ok(jvp(inner, x, &Tensor::ones(x.shape(), x.dtype())?)?.1),
        Reverse => grad(inner)(x),
        Lanes => vmap(inner)(&stack(&[&Tensor::from(0.25), x, &x.mul(0.5)?], 0)?)?.select(0, 1),
        Unmapped => Vmap::new().in_dims(None).batch_size(2).of(inner)(x)?.select(0, 1),
    }
}

/// All sequences of `n` derivatives in forward and reverse mode.
pub fn mixes(n: usize) -> Vec<Vec<Mode>> {
    (0..1usize << n).map(|bits| (0..n).map(|k| if bits >> k & 1 == 1 { Reverse } else { Forward }).collect()).collect()
}

/// The sequence with one more transform at every place.
pub fn inserted(modes: &[Mode], one: Mode) -> Vec<Vec<Mode>> {
    (0..=modes.len())
        .map(|k| {
            let mut longer = modes.to_vec();
            longer.insert(k, one);
            longer
        })
        .collect()
}

/// The number in a tensor of one element.
pub fn number(t: &Tensor) -> f64 {
    t.item::<f64>().expect("a number")
}

/// Fails unless `f` under `modes` is `want` at `x`.
#[track_caller]
pub fn check(f: &Scalar<'_>, modes: &[Mode], x: f64, want: f64) {
    let got = match apply(f, modes, &Tensor::from(x)) {
        Ok(y) => number(&y),
        Err(e) => panic!("{modes:?} at {x}: {e}"),
    };
    assert!((got - want).abs() <= 1e-12 * want.abs().max(1.0), "{modes:?} at {x}: {got} instead of {want}");
}
