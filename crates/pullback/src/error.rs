//! The one error type of the crate, its kinds, and the grammar of its messages.
//!
//! Every message reads `where: what was expected, got what; help: one way out`, where *where* is the chain of
//! transforms and functions that were running, outermost first.

use std::error::Error as StdError;
use std::fmt;

/// The result of every named method of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, as a category that a program can match on.
///
/// More kinds may be added, so a `match` needs a wildcard arm.
///
/// ```
/// use pullback::{ErrorKind, Tensor};
/// let err = Tensor::from([1.0, 2.0]).reshape(&[3]).unwrap_err();
/// assert_eq!(err.kind(), ErrorKind::Shape);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Shapes do not fit each other, or do not fit the operation.
    Shape,
    /// A dtype is not accepted, or two dtypes that must agree do not.
    Dtype,
    /// A dimension number is out of range or given twice.
    Dim,
    /// An index or a range of indices is out of range.
    Index,
    /// A parameter has a value that the operation does not define.
    Value,
    /// The number or the structure of arguments, results, tangents or cotangents is not the expected one.
    Arity,
    /// A derivative or batching rule that was needed does not exist.
    MissingRule,
    /// `grad` was asked for the gradient of something that is not a scalar.
    NotScalar,
    /// A derivative was asked for where none exists (an integer tensor, a function marked as such).
    NotDifferentiable,
    /// A value was used after the transform that made it had ended.
    EscapedTracer,
    /// A value that is being transformed was captured by a [`Function`](crate::Function) instead of passed to it.
    CapturedTracer,
    /// The data of a value was read where it has no single concrete contents.
    ConcreteValueNeeded,
    /// A user's derivative or batching rule returned something that cannot be right.
    Rule,
    /// A random operation ran under a `vmap` whose randomness policy forbids it.
    Randomness,
    /// Reading or writing a file failed, or its contents are damaged.
    Io,
    /// An error of the user's own code; see [`Error::other`].
    User,
    /// A broken promise inside this crate. Please report it.
    Internal,
}

/// The error of every fallible operation.
///
/// It is one pointer wide. [`kind`](Error::kind) says what to match on; [`Display`](fmt::Display) gives the whole
/// message: the chain of transforms and functions (outermost first), what was expected and what was found, and
/// usually one way out.
///
/// ```
/// use pullback::{grad, Tensor};
/// let err = grad(|x: &Tensor| Ok(x * 2.0))(&Tensor::from([1.0f32, 2.0])).unwrap_err();
/// assert!(err.is_not_scalar());
/// assert!(err.to_string().starts_with("grad: the function must return a scalar, got f32[2]"));
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    /// Innermost first, because contexts are added while the error travels outwards.
    context: Vec<String>,
    message: String,
    help: Option<String>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// A new error of `kind` with `message`, which should read "what was expected, got what".
    #[cold]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error(Box::new(Inner { kind, context: Vec::new(), message: message.into(), help: None, source: None }))
    }

    /// Wraps an error of the user's own, unchanged: its text is the message, and [`source`](StdError::source) and
    /// [`downcast_ref`](Error::downcast_ref) give it back.
    ///
    /// ```
    /// use pullback::{grad, Error, ErrorKind, Tensor};
    /// let f = grad(|_: &Tensor| Err::<Tensor, _>(Error::other("x".parse::<f64>().unwrap_err())));
    /// let err = f(&Tensor::from(1.0)).unwrap_err();
    /// assert_eq!(err.kind(), ErrorKind::User);
    /// assert!(err.downcast_ref::<std::num::ParseFloatError>().is_some());
    /// ```
    #[cold]
    pub fn other(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        let source = error.into();
        let mut e = Error::new(ErrorKind::User, source.to_string());
        e.0.source = Some(source);
        e
    }

    /// The same error with a sentence that names one way out.
    #[cold]
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Error {
        self.0.help = Some(help.into());
        self
    }

    /// The same error seen from one transform or function further out.
    #[cold]
    #[must_use]
    pub fn in_context(mut self, place: impl Into<String>) -> Error {
        self.0.context.push(place.into());
        self
    }

    /// The category to match on.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The chain of transforms and functions in which the error arose, outermost first.
    pub fn context(&self) -> impl Iterator<Item = &str> {
        self.0.context.iter().rev().map(String::as_str)
    }

    /// The message alone, without its context and help.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The sentence that names a way out, where there is one.
    pub fn help(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// The user's error inside, if it has type `E`.
    pub fn downcast_ref<E: StdError + 'static>(&self) -> Option<&E> {
        self.0.source.as_deref().and_then(|s| s.downcast_ref::<E>())
    }

    /// True for [`ErrorKind::Shape`].
    pub fn is_shape(&self) -> bool {
        self.kind() == ErrorKind::Shape
    }

    /// True for [`ErrorKind::Dtype`].
    pub fn is_dtype(&self) -> bool {
        self.kind() == ErrorKind::Dtype
    }

    /// True for [`ErrorKind::Dim`].
    pub fn is_dim(&self) -> bool {
        self.kind() == ErrorKind::Dim
    }

    /// True for [`ErrorKind::MissingRule`].
    pub fn is_missing_rule(&self) -> bool {
        self.kind() == ErrorKind::MissingRule
    }

    /// True for [`ErrorKind::NotScalar`].
    pub fn is_not_scalar(&self) -> bool {
        self.kind() == ErrorKind::NotScalar
    }

    /// True for [`ErrorKind::EscapedTracer`].
    pub fn is_escaped_tracer(&self) -> bool {
        self.kind() == ErrorKind::EscapedTracer
    }

    /// True for [`ErrorKind::Rule`].
    pub fn is_rule(&self) -> bool {
        self.kind() == ErrorKind::Rule
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, place) in self.context().enumerate() {
            if k > 0 {
                f.write_str(" > ")?;
            }
            f.write_str(place)?;
        }
        if !self.0.context.is_empty() {
            f.write_str(": ")?;
        }
        f.write_str(&self.0.message)?;
        match &self.0.help {
            Some(help) => write!(f, "; help: {help}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.kind())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|s| s as &(dyn StdError + 'static))
    }
}

/// Adds a place to the context of an error on its way out.
pub(crate) trait Context<T> {
    fn context(self, place: impl FnOnce() -> String) -> Result<T>;
}

impl<T> Context<T> for Result<T> {
    fn context(self, place: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|e| e.in_context(place()))
    }
}

/// Returns an [`Error`] of the given kind: `bail!(Shape, "expected {}, got {}", a, b; help = "…")`.
macro_rules! bail {
    ($kind:ident, $($fmt:expr),+ ; help = $($help:expr),+ $(,)?) => {
        return Err($crate::Error::new($crate::ErrorKind::$kind, format!($($fmt),+)).with_help(format!($($help),+)))
    };
    ($kind:ident, $($fmt:expr),+ $(,)?) => {
        return Err($crate::Error::new($crate::ErrorKind::$kind, format!($($fmt),+)))
    };
}
pub(crate) use bail;
