//! User-defined operations: what each method is given, what is checked, and that the rules a user wrote are the rules
//! that run, under every transform.

/// Writes a `Function` of one tensor from closures over its parts, to keep the cases short.
macro_rules! function {
    ($name:ident; $x:ident => $forward:expr; |$s:ident, $g:ident| $backward:expr $(; $($more:tt)*)?) => {
        #[derive(Clone)]
        struct $name;
        impl Function for $name {
            type Inputs = Tensor;
            type Outputs = Tensor;
            type Saved = Tensor;
            fn forward(&self, $x: &Tensor) -> Result<Tensor> {
                $forward
            }
            fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
                Ok(x.clone())
            }
            fn backward(&self, _: &Context<Self>, $s: &Tensor, $g: Cotangent) -> Result<Cotangent> {
                $backward
            }
            $($($more)*)?
        }
    };
}

mod arguments;
mod cases;
mod cases_in_use;
mod closures;
mod contract;
mod database;
mod draws;
mod entries;
mod errors;
mod lane_types;
mod lanes_by_hand;
mod nests;
mod once;
mod opaque;
mod opaque_rules;
mod power;
mod rules;
mod semantics_f;
mod semantics_g;
mod silent;
mod tensor_rules;
mod wrong_rules;

use pullback::{Result, Tensor};

pub fn value(t: &Tensor) -> f64 {
    t.item::<f64>().expect("a 0-d f64 tensor")
}

pub fn values(t: &Tensor) -> Vec<f64> {
    t.to_vec::<f64>().expect("an f64 tensor")
}

#[track_caller]
pub fn close(got: &[f64], want: &[f64]) {
    assert_eq!(got.len(), want.len(), "got {got:?}, want {want:?}");
    for (g, w) in got.iter().zip(want) {
        assert!((g - w).abs() <= 1e-8 * w.abs().max(1.0), "got {got:?}, want {want:?}");
    }
}

/// The derivative of a scalar function by forward mode, as a function again.
pub fn forward(f: impl Fn(&Tensor) -> Result<Tensor>) -> impl Fn(&Tensor) -> Result<Tensor> {
    move |x| Ok(pullback::jvp(&f, x, &Tensor::from(1.0))?.1)
}
