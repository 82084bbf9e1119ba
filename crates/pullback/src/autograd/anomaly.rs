//! Finding where a NaN in a gradient was born.

use crate::interp::mode::{self, Scope};

/// Turns anomaly mode on for this thread, until the guard is dropped: a NaN in a gradient is an error that names its
/// birthplace. See [`Anomaly`].
///
/// ```
/// use pullback::{ErrorKind, Tensor, autograd, grad};
/// let f = |x: &Tensor| x.exp()?.add(1.0)?.log()?.sum(); // overflows: softplus done wrong
/// let x = Tensor::from([1.0, 1000.0]);
/// assert!(grad(f)(&x)?.to_vec::<f64>()?[1].is_nan());
/// let _guard = autograd::detect_anomaly();
/// let err = grad(f)(&x).unwrap_err();
/// assert_eq!(err.kind(), ErrorKind::Anomaly);
/// assert!(err.message().starts_with("the backward of `exp` made NaN"));
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn detect_anomaly() -> DetectAnomaly {
    Anomaly::new().enter()
}

/// Options of anomaly mode.
///
/// While it is on, every recorded operation remembers where its forward ran, and every walk back, of
/// [`backward`](crate::Tensor::backward) as of [`grad`](crate::grad()), [`vjp`](crate::vjp()) and the Jacobians, looks
/// at each cotangent. If a *result* is NaN, the walk fails with `ErrorKind::Anomaly`. The message names the operation
/// whose backward made NaN from cotangents without any, the input, the element and the lane of each
/// [`vmap`](crate::vmap()), the line that called it, and, if the NaN came from values, the operation whose forward
/// made it. A NaN that is masked out on the way is no anomaly.
///
/// It is meant for debugging: each operation walks the stack. Forward mode is not watched.
#[derive(Clone, Copy, Debug, Default)]
pub struct Anomaly {
    infinities: bool,
}

impl Anomaly {
    /// Looks for NaN.
    pub fn new() -> Anomaly {
        Anomaly::default()
    }

    /// Looks for infinities as well.
    ///
    /// ```
    /// use pullback::{Tensor, autograd::Anomaly, grad};
    /// let _guard = Anomaly::new().infinities().enter();
    /// let err = grad(|x: &Tensor| x.sqrt())(&Tensor::from(0.0)).unwrap_err();
    /// assert!(err.message().starts_with("the backward of `sqrt` made inf"));
    /// ```
    pub fn infinities(mut self) -> Anomaly {
        self.infinities = true;
        self
    }

    /// Turns anomaly mode on for this thread, until the guard is dropped. Guards nest.
    pub fn enter(self) -> DetectAnomaly {
        DetectAnomaly { _scope: Scope::anomaly(Some(mode::Anomaly { infinities: self.infinities })) }
    }

    /// Lets messages say where an operation was called by what `caller` returns, such as `at model.py:12 in loss`, instead of by
    /// a line of Rust: for bindings to other languages. It holds for the process, and the first one stays. Where it returns
    /// `None`, messages name a line of Rust.
    pub fn name_callers(caller: fn() -> Option<String>) {
        crate::interp::anomaly::name_callers(caller);
    }

    /// Turns anomaly mode off for this thread, until the guard is dropped.
    pub fn off() -> DetectAnomaly {
        DetectAnomaly { _scope: Scope::anomaly(None) }
    }
}

/// Anomaly mode, on or off for this thread as long as the guard lives.
#[must_use = "the mode ends when the guard is dropped"]
pub struct DetectAnomaly {
    _scope: Scope,
}
