//! The one error type of the crate, its kinds, and the grammar of its messages.
//!
//! Every message reads `where: what was expected, got what; help: one way out`, where *where* is the chain of
//! transforms and functions that were running, outermost first.

use std::error::Error as StdError;
use std::fmt;

/// The result of every named method of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Declares the kinds, each with the page of the book that explains it: `Shape = "errors/shape"` becomes the variant
/// `ErrorKind::Shape`, whose [`page`](ErrorKind::page) is `"errors/shape"`.
macro_rules! kinds {
    ($(#[$about:meta])* pub enum ErrorKind { $($(#[$of:meta])* $kind:ident = $page:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorKind { $($(#[$of])* $kind,)* }

        impl ErrorKind {
            #[cfg(test)]
            const ALL: &[ErrorKind] = &[$(ErrorKind::$kind),*];

            /// The page of the book that explains errors of this kind: what causes them, an example, and the fix.
            ///
            /// It is the path of the page without its extension. An [`Error`] names it when it is written with `{:#}`
            /// or `{:?}`.
            ///
            /// ```
            /// use pullback::ErrorKind;
            /// assert_eq!(ErrorKind::NotScalar.page(), "errors/not_scalar");
            /// ```
            pub const fn page(self) -> &'static str {
                match self { $(ErrorKind::$kind => $page,)* }
            }
        }
    };
}

kinds! {
    /// What went wrong, as a category that a program can match on.
    ///
    /// More kinds may be added, so a `match` needs a wildcard arm.
    ///
    /// ```
    /// use pullback::{ErrorKind, Tensor};
    /// let err = Tensor::from([1.0, 2.0]).reshape(&[3]).unwrap_err();
    /// assert_eq!(err.kind(), ErrorKind::Shape);
    /// ```
    pub enum ErrorKind {
        /// Shapes do not fit each other, or do not fit the operation.
        Shape = "errors/shape",
        /// A dtype is not accepted, or two dtypes that must agree do not.
        Dtype = "errors/dtype",
        /// A dimension number is out of range or given twice.
        Dim = "errors/dim",
        /// An index or a range of indices is out of range.
        Index = "errors/index",
        /// A parameter has a value that the operation does not define.
        Value = "errors/value",
        /// The number or the structure of arguments, results, tangents or cotangents is not the expected one.
        Arity = "errors/arity",
        /// A derivative or batching rule that was needed does not exist.
        MissingRule = "errors/missing_rule",
        /// `grad` was asked for the gradient of something that is not a scalar.
        NotScalar = "errors/not_scalar",
        /// A derivative was asked for where none exists (an integer tensor, a function marked as such).
        NotDifferentiable = "errors/not_differentiable",
        /// A value was used after the transform that made it had ended.
        EscapedTracer = "errors/escaped_tracer",
        /// A value that is being transformed was captured by a [`Function`](crate::Function) instead of passed to it.
        CapturedTracer = "errors/captured_tracer",
        /// The data of a value was read where it has no single concrete contents.
        ConcreteValueNeeded = "errors/concrete_value_needed",
        /// A user's derivative or batching rule returned something that cannot be right.
        Rule = "errors/rule",
        /// A random operation ran under a `vmap` whose randomness policy forbids it.
        Randomness = "errors/randomness",
        /// An imperative method was called on a value that a transform is working on.
        InTransform = "errors/in_transform",
        /// Anomaly mode found a NaN in a gradient.
        Anomaly = "errors/anomaly",
        /// Reading or writing a file failed, or its contents are damaged.
        Io = "errors/io",
        /// An error of the user's own code; see [`Error::other`].
        User = "errors/user",
        /// A broken promise inside this crate. Please report it.
        Internal = "errors/internal",
    }
}

/// The error of every fallible operation.
///
/// It is one pointer wide. [`kind`](Error::kind) says what to match on; [`Display`](fmt::Display) gives the whole
/// message: the chain of transforms and functions (outermost first), what was expected and what was found, and
/// usually one way out. With `{:#}` it also names the [page](ErrorKind::page) of the book that explains the kind; so does
/// [`Debug`](fmt::Debug), which is what `unwrap` and a `main` that returns the error print.
///
/// ```
/// use pullback::{grad, Tensor};
/// let err = grad(|x: &Tensor| Ok(x * 2.0))(&Tensor::from([1.0f32, 2.0])).unwrap_err();
/// assert!(err.is_not_scalar());
/// assert!(err.to_string().starts_with("grad: the function must return a scalar, got f32[2]"));
/// assert!(format!("{err:#}").ends_with(" (errors/not_scalar in the book)"));
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

    /// The error of an operation that the caller knows by another name.
    #[cold]
    pub(crate) fn renamed(mut self, from: &str, to: &str) -> Error {
        if let Some(rest) = self.0.message.strip_prefix(from)
            && rest.starts_with(':')
        {
            self.0.message = format!("{to}{rest}");
        }
        self
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

    /// The same error with the one that caused it, for [`source`](StdError::source) and
    /// [`downcast_ref`](Error::downcast_ref).
    ///
    /// ```
    /// use pullback::{Error, ErrorKind};
    /// let cause = std::fs::read("not/there").unwrap_err();
    /// let err = Error::new(ErrorKind::Io, "expected weights, got none").with_source(cause);
    /// assert_eq!(err.downcast_ref::<std::io::Error>().unwrap().kind(), std::io::ErrorKind::NotFound);
    /// ```
    #[cold]
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        self.0.source = Some(source.into());
        self
    }

    /// The same error seen from one transform or function further out.
    #[cold]
    #[must_use]
    pub fn in_context(mut self, place: impl Into<String>) -> Error {
        let place = place.into();
        // Where an operator may panic with it, a message says its place itself. Once is enough.
        let rest = self.0.message.strip_prefix(&place).and_then(|rest| rest.strip_prefix(": "));
        if self.0.context.is_empty()
            && let Some(rest) = rest
        {
            self.0.message = rest.to_string();
        }
        self.0.context.push(place);
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

    /// The error inside, the user's or one that caused this, if it has type `E`.
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
        if let Some(help) = &self.0.help {
            write!(f, "; help: {help}")?;
        }
        if f.alternate() {
            write!(f, " ({} in the book)", self.kind().page())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self:#}", self.kind())
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_kind_has_a_page_named_after_it_and_every_page_a_kind() {
        let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/src");
        let mut pages: Vec<String> = std::fs::read_dir(book.join("errors"))
            .expect("the pages of the kinds are in book/src/errors")
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_string())
            .collect();
        for &kind in ErrorKind::ALL {
            let mut snake = String::new();
            for c in format!("{kind:?}").chars() {
                if c.is_uppercase() && !snake.is_empty() {
                    snake.push('_');
                }
                snake.extend(c.to_lowercase());
            }
            assert_eq!(kind.page(), format!("errors/{snake}"));
            let text = std::fs::read_to_string(book.join(format!("{}.md", kind.page()))).unwrap_or_default();
            assert!(
                text.contains(&format!("ErrorKind::{kind:?}")),
                "book/src/{}.md shows no error of its kind",
                kind.page()
            );
            pages.retain(|page| *page != snake);
        }
        assert_eq!(pages, [""; 0], "pages without a kind");
    }

    #[test]
    fn the_page_is_named_where_there_is_room_for_it() {
        let err = Error::new(ErrorKind::Dim, "dim 2 is out of range").with_help("use 1").in_context("vmap");
        assert_eq!(err.to_string(), "vmap: dim 2 is out of range; help: use 1");
        assert_eq!(format!("{err:#}"), "vmap: dim 2 is out of range; help: use 1 (errors/dim in the book)");
        assert_eq!(format!("{err:?}"), "Dim: vmap: dim 2 is out of range; help: use 1 (errors/dim in the book)");
    }
}
