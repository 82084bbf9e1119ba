//! The table of operations: every row that a family declares, with what tests, documentation and bindings need.

use std::fmt;
use std::sync::Arc;

use crate::{ErrorKind, Result, Tensor};

/// One operation.
///
/// Its lists of calls are for tests: they are empty in builds without debug assertions, which would take longer with them.
#[derive(Clone, Copy)]
pub struct OpInfo {
    /// The public name.
    pub name: &'static str,
    /// The documentation, as written at the declaration.
    pub doc: &'static str,
    /// The parameters, as written at the declaration.
    pub signature: &'static str,
    /// Calls that cover the operation's parameters, shapes and domain.
    pub samples: fn() -> Vec<Sample>,
    /// Calls that must fail.
    pub errors: fn() -> Vec<ErrorSample>,
    /// Points where the derivative is a convention.
    pub kinks: fn() -> Vec<Kink>,
    /// The module of the family.
    pub module: &'static str,
    /// The ways to call it from other languages.
    #[cfg(feature = "dynamic")]
    pub forms: &'static [super::dynamic::Form],
}

impl fmt::Debug for OpInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A call of an operation with its parameters fixed: tensors in, tensors out.
pub type Call = Arc<dyn Fn(&[Tensor]) -> Result<Vec<Tensor>> + Send + Sync>;

/// The naive f64 implementation that a sample is compared with.
pub type Reference = Arc<dyn Fn(&[Naive]) -> Vec<Naive> + Send + Sync>;

/// Other inputs like those of a sample: those of lane number `n`.
pub type Lanes = Arc<dyn Fn(usize) -> Vec<Tensor> + Send + Sync>;

/// One call of an operation on given inputs.
#[derive(Clone)]
pub struct Sample {
    /// Tells the samples of an operation apart.
    pub label: String,
    /// The inputs; those in f64 are differentiated, the others held fixed.
    pub inputs: Vec<Tensor>,
    /// The operation.
    pub call: Call,
    /// Expected values.
    pub reference: Option<Reference>,
    /// Whether derivatives are tested: false where the result is discrete or the sample sits on a kink.
    pub differentiable: bool,
    /// Whether non-finite values are expected.
    pub special: bool,
    /// Whether the dtype of the outputs stays what it is when the inputs are converted from `f64` to `f32`.
    pub fixed_dtype: bool,
    /// How far values may be from the reference, relative to their size.
    pub tolerance: f64,
    /// The inputs of the lanes when the sample is batched; by default its own, slightly varied.
    pub lanes: Option<Lanes>,
    /// Properties that this sample is known to violate, each with the reason.
    pub expected_failures: Vec<(&'static str, &'static str)>,
}

impl Sample {
    /// A differentiable sample without a reference.
    pub fn new(
        label: impl Into<String>,
        inputs: impl Into<Vec<Tensor>>,
        call: impl Fn(&[Tensor]) -> Result<Vec<Tensor>> + Send + Sync + 'static,
    ) -> Sample {
        Sample {
            label: label.into(),
            inputs: inputs.into(),
            call: Arc::new(call),
            reference: None,
            differentiable: true,
            special: false,
            fixed_dtype: false,
            tolerance: 1e-12,
            lanes: None,
            expected_failures: Vec::new(),
        }
    }

    /// A sample of an operation with one output.
    pub fn one(
        label: impl Into<String>,
        inputs: impl Into<Vec<Tensor>>,
        call: impl Fn(&[Tensor]) -> Result<Tensor> + Send + Sync + 'static,
    ) -> Sample {
        Sample::new(label, inputs, move |x| Ok(vec![call(x)?]))
    }

    /// True if the sample has something to differentiate: it is not marked otherwise, an input is `f64`, and an
    /// output is a float.
    pub fn is_differentiable(&self) -> bool {
        self.differentiable
            && self.inputs.iter().any(|t| t.dtype() == crate::DType::F64)
            && (self.call)(&self.inputs).is_ok_and(|y| y.iter().any(|t| t.dtype().is_float()))
    }

    /// Sets the naive implementation.
    #[must_use]
    pub fn reference(mut self, f: impl Fn(&[Naive]) -> Vec<Naive> + Send + Sync + 'static) -> Sample {
        self.reference = Some(Arc::new(f));
        self
    }

    /// Excludes the sample from tests of derivatives.
    #[must_use]
    pub fn not_differentiable(mut self) -> Sample {
        self.differentiable = false;
        self
    }

    /// Allows non-finite values; such a sample is not differentiated.
    #[must_use]
    pub fn special(mut self) -> Sample {
        self.special = true;
        self.differentiable = false;
        self
    }

    /// Says that the dtype of the outputs does not follow that of floating inputs.
    #[must_use]
    pub fn fixed_dtype(mut self) -> Sample {
        self.fixed_dtype = true;
        self
    }

    /// Sets how far values may be from the reference, relative to their size; `1e-12` unless set.
    #[must_use]
    pub fn tolerance(mut self, relative: f64) -> Sample {
        self.tolerance = relative;
        self
    }

    /// Sets the inputs of each lane, for operations whose inputs cannot be varied element by element.
    ///
    /// By default the elements of floating inputs shrink by a few percent from lane to lane, and those of other inputs
    /// change places.
    #[must_use]
    pub fn lanes(mut self, f: impl Fn(usize) -> Vec<Tensor> + Send + Sync + 'static) -> Sample {
        self.lanes = Some(Arc::new(f));
        self
    }

    /// Says that the sample violates a property, and why. The property is then tested to fail.
    #[must_use]
    pub fn expect_failure(mut self, property: &'static str, reason: &'static str) -> Sample {
        self.expected_failures.push((property, reason));
        self
    }
}

/// A call that must fail with a given kind, and a message that contains a given text.
#[derive(Clone)]
pub struct ErrorSample {
    /// Tells the samples of an operation apart.
    pub label: String,
    /// The call.
    pub call: Arc<dyn Fn() -> Result<Tensor> + Send + Sync>,
    /// The expected kind.
    pub kind: ErrorKind,
    /// A part of the expected message.
    pub message: &'static str,
}

impl ErrorSample {
    /// A new sample.
    pub fn new(
        label: impl Into<String>,
        kind: ErrorKind,
        message: &'static str,
        call: impl Fn() -> Result<Tensor> + Send + Sync + 'static,
    ) -> ErrorSample {
        ErrorSample { label: label.into(), call: Arc::new(call), kind, message }
    }
}

/// A call with one `f64` tensor of this shape that fails.
pub(crate) fn failing(
    label: &str,
    kind: ErrorKind,
    message: &'static str,
    shape: &[usize],
    call: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static,
) -> ErrorSample {
    let x = sample_tensor(shape, 0.0, 1.0, 1);
    ErrorSample::new(label, kind, message, move || call(&x))
}

/// A point where the derivative does not exist and a convention gives it, the same in both modes.
#[derive(Clone)]
pub struct Kink {
    /// Tells the kinks of an operation apart.
    pub label: String,
    /// The point: one f64 tensor.
    pub input: Tensor,
    /// The operation.
    pub call: Call,
    /// The gradient of the sum of the first output.
    pub gradient: Vec<f64>,
}

impl Kink {
    /// A new kink.
    pub fn new(
        label: impl Into<String>,
        input: Tensor,
        gradient: impl Into<Vec<f64>>,
        call: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static,
    ) -> Kink {
        Kink { label: label.into(), input, call: Arc::new(move |x| Ok(vec![call(&x[0])?])), gradient: gradient.into() }
    }
}

/// A row-major f64 array for reference implementations: as plain as possible.
#[derive(Clone, Debug, PartialEq)]
pub struct Naive {
    /// The sizes of the dimensions.
    pub shape: Vec<usize>,
    /// The elements.
    pub data: Vec<f64>,
}

impl Naive {
    /// The contents of a tensor.
    ///
    /// # Errors
    /// As [`Tensor::to_vec`].
    pub fn of(t: &Tensor) -> Result<Naive> {
        Ok(Naive { shape: t.shape().to_vec(), data: t.to_dtype(crate::DType::F64)?.to_vec::<f64>()? })
    }

    /// The array of `shape` whose element at each index is `f` of the index.
    pub fn from_fn(shape: &[usize], mut f: impl FnMut(&[usize]) -> f64) -> Naive {
        let n: usize = shape.iter().product();
        let mut index = vec![0; shape.len()];
        let mut data = Vec::with_capacity(n);
        for _ in 0..n {
            data.push(f(&index));
            for k in (0..shape.len()).rev() {
                index[k] += 1;
                if index[k] < shape[k] {
                    break;
                }
                index[k] = 0;
            }
        }
        Naive { shape: shape.to_vec(), data }
    }

    /// The element at `index`.
    pub fn at(&self, index: &[usize]) -> f64 {
        let mut flat = 0;
        for (&i, &n) in index.iter().zip(&self.shape) {
            assert!(i < n, "index {index:?} of shape {:?}", self.shape);
            flat = flat * n + i;
        }
        self.data[flat]
    }

    /// The element at the index that broadcasting gives, `index` being one of a larger shape.
    pub fn at_broadcast(&self, index: &[usize]) -> f64 {
        let lead = index.len() - self.shape.len();
        let own: Vec<usize> =
            self.shape.iter().zip(&index[lead..]).map(|(&n, &i)| if n == 1 { 0 } else { i }).collect();
        self.at(&own)
    }
}

/// A tensor of `shape` with deterministic, irregular f64 values in `lo..hi`, for samples. Different seeds give
/// different values.
pub fn sample_tensor(shape: &[usize], lo: f64, hi: f64, seed: u64) -> Tensor {
    let n: usize = shape.iter().product();
    let values: Vec<f64> = (0..n as u64)
        .map(|i| {
            // The fractional parts of multiples of the golden ratio fill the interval evenly and never repeat.
            let u = ((i + 1 + 1009 * seed) as f64 * 0.618_033_988_749_894_9).fract();
            lo + (hi - lo) * u
        })
        .collect();
    Tensor::from(values).reshape_to(shape).expect("the number of values is that of the shape")
}

/// Writes the public method or function of each row, and the family's table.
///
/// ```text
/// ops! { OPS;
///     /// Documentation.
///     fn tril(&self, diagonal: isize) -> Result<Tensor> = tril { samples: tril_samples, errors: tril_errors };
/// }
/// ```
/// becomes
/// ```text
/// impl Tensor {
///     /// Documentation.
///     pub fn tril(&self, diagonal: isize) -> Result<Tensor> { tril(self, diagonal) }
/// }
/// pub(in crate::ops) static OPS: &[OpInfo] = &[OpInfo { name: "tril", … }];
/// ```
/// `free fn` makes a function instead of a method. `errors` and `kinks` may be left out.
///
/// A row may say how Python calls it, if not by its own name and parameters, as in
/// ```text
/// python: linalg::norm(p as ord = 2.0, dims = [], keepdim), python: sort(dim = -1, descending = false) -> (values, indices)
/// ```
/// `x as name` renames a parameter, `= literal` gives it a default, and `*x` takes integers one by one. The tensor itself comes first and
/// need not be named. With `self`, or `x as self`, in the first place it is a method only, with `self as name` there a function
/// only. `x as name: T` takes it as another type, which `x` is made of. `+name: T` is no parameter of the row: it tells forms of one
/// name apart. So is `dtype`, unless the row has one: the tensor is converted to it first. `-> (0, 2)` returns those results alone.
///
/// `in_place: true` before the samples says that the result can have the type of the tensor: Python then has a method of the name with
/// `_` behind it, too, which gives the object the result.
macro_rules! ops {
    ($table:ident; $($rows:tt)*) => {
        $crate::ops::table::ops! { @item $($rows)* }
        pub(in crate::ops) static $table: &[$crate::ops::table::OpInfo] = &$crate::ops::table::ops!(@table [] $($rows)*);
    };
    (@item) => {};
    (@item $(#[doc = $doc:literal])* fn $name:ident(&self $(, $arg:ident: $ty:ty)* $(,)?) -> $ret:ty = $f:path { $($facts:tt)* }; $($rest:tt)*) => {
        impl $crate::Tensor {
            $(#[doc = $doc])*
            pub fn $name(&self $(, $arg: $ty)*) -> $ret { $f(self $(, $arg)*) }
        }
        $crate::ops::table::ops! { @item $($rest)* }
    };
    (@item $(#[doc = $doc:literal])* free fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty = $f:path { $($facts:tt)* }; $($rest:tt)*) => {
        $(#[doc = $doc])*
        pub fn $name($($arg: $ty),*) -> $ret { $f($($arg),*) }
        $crate::ops::table::ops! { @item $($rest)* }
    };
    (@table [$($done:tt)*]) => { [$($done)*] };
    (@table [$($done:tt)*] $(#[doc = $doc:literal])* fn $name:ident(&self $(, $arg:ident: $ty:ty)* $(,)?) -> $ret:ty = $f:path
        { $($facts:tt)* }; $($rest:tt)*) => {
        $crate::ops::table::ops!(@table [$($done)*
            $crate::ops::table::ops!(@info method $name [$($doc)*] [$($arg: $ty),*] $ret; $($facts)*),] $($rest)*)
    };
    (@table [$($done:tt)*] $(#[doc = $doc:literal])* free fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty = $f:path
        { $($facts:tt)* }; $($rest:tt)*) => {
        $crate::ops::table::ops!(@table [$($done)*
            $crate::ops::table::ops!(@info free $name [$($doc)*] [$($arg: $ty),*] $ret; $($facts)*),] $($rest)*)
    };
    (@info $form:ident $name:ident [$($doc:literal)*] [$($arg:ident: $ty:ty),*] $ret:ty;
        $(in_place: $in_place:literal,)? samples: $samples:path $(, errors: $errors:path)? $(, kinks: $kinks:path)?
        $(, python: $($path:ident)::+ ($($given:tt)*) $(-> ($($result:tt),*))?)* $(,)?) => {
        $crate::ops::table::OpInfo {
            name: stringify!($name),
            doc: concat!($($doc, "\n"),*),
            signature: stringify!($($arg: $ty),*),
            samples: $crate::ops::table::for_tests!($samples),
            errors: $crate::ops::table::for_tests!($($errors)?),
            kinks: $crate::ops::table::for_tests!($($kinks)?),
            module: module_path!(),
            #[cfg(feature = "dynamic")]
            forms: ::pullback_macros::operation_forms! { $form $name($($arg: $ty),*) -> $ret
                [$($($path)::+ ($($given)*) $(-> ($($result),*))?),*] $(in_place $in_place)? },
        }
    };
}
pub(crate) use ops;

/// A function that makes a list for tests, if there is one. Builds without debug assertions need not compile what it calls.
macro_rules! for_tests {
    () => {
        Vec::new
    };
    ($list:expr) => {
        if cfg!(debug_assertions) { $list } else { Vec::new }
    };
}
pub(crate) use for_tests;
