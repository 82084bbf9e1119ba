//! Other shapes for the same elements: reshaping, repeating, reordering and cutting dimensions. Views, not copies,
//! wherever strides can express the result.

pub(super) mod like;
pub(super) mod pad;
pub(super) mod reorder;
pub(super) mod repeat;
pub(super) mod reshape;
pub(super) mod slice;
pub(crate) mod split;
pub(super) mod unfold;
mod view;

pub(crate) use reorder::move_dim;
pub(crate) use repeat::{broadcast_to, zeros};
pub(crate) use slice::{select_at, slice};
pub(super) use view::{Placed, View, ViewOp};

use super::table::{self, ErrorSample};
use crate::{ErrorKind, Result, Tensor};

/// The place of dim `dim` of one lane in a tensor whose lanes lie along `lane`.
pub(super) fn behind(dim: usize, lane: usize) -> usize {
    dim + usize::from(lane <= dim)
}

/// A call with `f64[2,3]` that fails.
fn failing(
    label: &str,
    kind: ErrorKind,
    message: &'static str,
    call: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static,
) -> ErrorSample {
    table::failing(label, kind, message, &[2, 3], call)
}

#[cfg(test)]
mod tests {
    use crate::{DType, Result, Tensor, Vmap};

    /// Whether `f` of lanes along dim `lane` of a large tensor is a view of it.
    fn is_view(shape: &[usize], lane: i32, f: impl Fn(&Tensor) -> Result<Tensor>) -> bool {
        let x = Tensor::zeros(shape, DType::F32).unwrap();
        let y = Vmap::new().in_dims(lane).out_dims(-1).of(f)(&x).unwrap();
        let (x, y) = (x.array().unwrap(), y.array().unwrap());
        let base = x.as_ptr::<f32>();
        // A copy would lie in other memory.
        (base..base.wrapping_add(x.numel())).contains(&y.as_ptr::<f32>())
    }

    #[test]
    fn views_of_lanes_are_views_wherever_the_lanes_lie() {
        for lane in 0..3 {
            let view = |f: &dyn Fn(&Tensor) -> Result<Tensor>| assert!(is_view(&[8, 12, 16], lane, f), "{lane}");
            view(&|x| x.unsqueeze(1));
            view(&|x| x.unsqueeze(-1)?.squeeze(-1));
            view(&|x| x.t());
            view(&|x| x.movedim(&[0], &[1]));
            view(&|x| x.select(1, 3));
            view(&|x| x.narrow(0, 1, 4));
            view(&|x| x.slice(-1, None, None, -2));
            view(&|x| x.flip(&[0, 1]));
            view(&|x| x.diagonal(1, 0, 1));
            view(&|x| x.unsqueeze(0)?.expand(&[3, x.shape()[0], x.shape()[1]]));
            view(&|x| x.unflatten(0, &[2, -1]));
            view(&|x| x.unflatten(1, &[-1, 4]));
            view(&|x| Ok(x.split(3, 1)?.swap_remove(1)));
            view(&|x| Ok(x.unbind(0)?.swap_remove(1)));
        }
        // Where the lanes do not lie between the dims that merge, these are neighbours.
        assert!(is_view(&[8, 12, 16], 0, |x| x.flatten(0, -1)));
        assert!(is_view(&[8, 12, 16], 2, |x| x.flatten(0, -1)));
        assert!(!is_view(&[8, 12, 16], 1, |x| x.flatten(0, -1)));
    }
}
