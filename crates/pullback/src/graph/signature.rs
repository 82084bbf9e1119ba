//! What the arguments of a graph must be: tensors of the same types at the same places, and the same static parts.

use std::any::Any;

use crate::random::Key;
use crate::tree::{has_fixed_structure, leaves, paths};
use crate::{Complex32, Complex64, DType, Result, TensorType, Tree, bf16, error::bail, f16};

/// What a graph was captured for.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    pub(super) types: Vec<TensorType>,
    /// Empty where the type of the arguments fixes them.
    places: Vec<String>,
    statics: Vec<String>,
    /// The structure, for messages.
    structure: String,
}

/// One way in which arguments differ from those of a signature.
pub(super) enum Difference {
    Structure { expected: String, got: String },
    Static { expected: String, got: String },
    Shape { place: String, expected: TensorType, got: TensorType },
    Dtype { place: String, expected: TensorType, got: TensorType },
}

impl Signature {
    pub(super) fn of<A: Tree>(x: &A) -> Result<Signature> {
        let places = if has_fixed_structure::<A>() { Vec::new() } else { paths(x) };
        let types = leaves(x).into_iter().map(crate::Tensor::ty).collect();
        Ok(Signature { types, places, statics: statics(x)?, structure: x.describe() })
    }

    /// How `x` differs; nothing where the graph can be called with it.
    pub(super) fn differences<A: Tree>(&self, x: &A) -> Result<Vec<Difference>> {
        let tensors = leaves(x);
        let mut found = Vec::new();
        if tensors.len() != self.types.len() || (!has_fixed_structure::<A>() && paths(x) != self.places) {
            let (expected, got) = (self.structure.clone(), x.describe());
            return Ok(vec![Difference::Structure { expected, got }]);
        }
        for (expected, got) in self.statics.iter().zip(statics(x)?) {
            if *expected != got {
                found.push(Difference::Static { expected: expected.clone(), got });
            }
        }
        for (k, (t, ty)) in tensors.iter().zip(&self.types).enumerate() {
            let place = || format!("argument{}", crate::tree::path_of(x, k));
            if t.shape() != &ty.shape[..] {
                found.push(Difference::Shape { place: place(), expected: ty.clone(), got: t.ty() });
            } else if t.dtype() != ty.dtype {
                found.push(Difference::Dtype { place: place(), expected: ty.clone(), got: t.ty() });
            }
        }
        Ok(found)
    }

    /// An error unless the graph can be called with `x`.
    pub(super) fn check<A: Tree>(&self, x: &A) -> Result<()> {
        match self.differences(x)?.into_iter().next() {
            None => Ok(()),
            Some(Difference::Structure { expected, got }) => {
                bail!(Arity, "expected arguments {expected}, as captured, got {got}")
            }
            Some(Difference::Static { expected, got }) => {
                bail!(Value, "expected the static part {expected}, which the graph was captured with, got {got}";
                    help = "capture the function again for this value")
            }
            Some(Difference::Shape { place, expected, got }) => {
                bail!(Shape, "expected {expected} at {place}, as captured, got {got}"; help = "capture the function again \
                    for this shape, or use `vmap` for one more dimension")
            }
            Some(Difference::Dtype { place, expected, got }) => {
                bail!(Dtype, "expected {expected} at {place}, as captured, got {got}"; help = "convert it with `to_dtype`")
            }
        }
    }
}

/// The static parts of a tree, as texts that differ where they do.
fn statics<A: Tree>(x: &A) -> Result<Vec<String>> {
    let (mut found, mut unknown) = (Vec::new(), false);
    x.visit_statics(&mut |part| match text(part) {
        Some(text) => found.push(text),
        None => unknown = true,
    });
    if unknown {
        bail!(Value, "the arguments {} have a static part whose type cannot be compared, so that a call with another value \
            would go unnoticed", x.describe(); help = "let the closure capture that part instead of passing it; numbers, \
            bools, strings, dtypes and keys can be passed");
    }
    Ok(found)
}

/// Writes the texts of the types that can be compared.
macro_rules! comparable {
    ($part:ident: $($ty:ty),* $(,)?) => {
        $(
            if let Some(value) = $part.downcast_ref::<$ty>() {
                return Some(format!("{value:?} ({})", stringify!($ty)));
            }
            if let Some(value) = $part.downcast_ref::<Option<$ty>>() {
                return Some(format!("{value:?} (Option<{}>)", stringify!($ty)));
            }
            if let Some(value) = $part.downcast_ref::<Vec<$ty>>() {
                return Some(format!("{value:?} (Vec<{}>)", stringify!($ty)));
            }
        )*
    };
}

fn text(part: &dyn Any) -> Option<String> {
    if size_of_val(part) == 0 {
        // A type with one value.
        return Some(String::new());
    }
    comparable!(part: bool, char, u8, u16, u32, u64, usize, i8, i16, i32, i64, isize, f16, bf16, f32, f64, Complex32, Complex64,
        String, &'static str, DType, Key);
    None
}
