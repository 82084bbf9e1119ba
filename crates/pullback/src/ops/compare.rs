//! Comparisons and logical operations, with results of dtype bool.

use super::arith::{binary_samples, fits, scalar_tensor, with_common_dtype};
use super::family::{Binary, binary};
use super::table::{ErrorSample, Naive, OpInfo, Sample, ops, sample_tensor};
use crate::array::Array;
use crate::dtype::{Element, Scalar, dispatch};
use crate::kernels::map;
use crate::tensor::Operand;
use crate::{DType, ErrorKind, Result, Tensor};

/// The documentation of a comparison from its example.
macro_rules! comparison_doc {
    ($example:literal) => {
        concat!(
            "\n# Shapes\nBoth operands broadcast against each other.\n\n# Dtypes\nAll, promoted by the table of ",
            "[`DType`]; an integer and a float are compared as `f64`. The result is bool. A comparison with NaN is ",
            "false, except that NaN is not equal to anything.\n\n# Derivative\nNone: the result is discrete.\n\n",
            "# Errors\n`Shape` if the shapes do not broadcast.\n\n# Example\n```\nuse pullback::Tensor;\n",
            $example,
            "\n# Ok::<(), pullback::Error>(())\n```\n"
        )
    };
}

/// Writes the struct, the method and the row of each comparison.
macro_rules! comparisons {
    ($($(#[doc = $doc:literal])* $name:ident = $op:ident, |$a:ident, $b:ident, $shape:ident| $kernel:expr,
        reference |$x:ident, $y:ident| $holds:expr, example $example:literal $(, also $alias:ident)?;)*) => {
        $(
            struct $op;

            impl Binary for $op {
                const NAME: &'static str = stringify!($name);
                const DIFFERENTIABLE: bool = false;
                fn kernel($a: &Array, $b: &Array, $shape: &[usize]) -> Result<Array> {
                    $kernel
                }
            }

            impl Tensor {
                $(#[doc = $doc])*
                #[doc = comparison_doc!($example)]
                pub fn $name(&self, rhs: impl Operand) -> Result<Tensor> {
                    compare::<$op>(self, rhs)
                }
            }
        )*
        pub(super) static OPS: &[OpInfo] = &[$(OpInfo {
            name: stringify!($name),
            doc: concat!($($doc, "\n",)* comparison_doc!($example)),
            signature: "rhs: impl Operand",
            samples: || comparison_samples(|a, b| a.$name(b), |a| a.$name(0.5),
                |$x, $y| f64::from(u8::from($holds))),
            errors: || comparison_errors(|a, b| a.$name(b)),
            kinks: Vec::new,
            module: module_path!(),
            #[cfg(feature = "dynamic")]
            forms: ::pullback_macros::operation_forms! { method $name(rhs: impl $crate::Operand) -> $crate::Result<$crate::Tensor>
                [$name(rhs) $(, $alias(rhs))?] in_place true },
        }),*];
    };
}

comparisons! {
    /// True where the elements are equal.
    eq = Eq, |a, b, shape| dispatch!(a.dtype(), "eq", [Bool, U8, I32, I64, F32, F64, C64, C128], T =>
        Ok(map::zip::<T, T, bool>(a, b, shape, #[inline(always)] |x, y| x == y))),
        reference |x, y| x == y,
        example "assert_eq!(Tensor::from([1, 2, 3]).eq(2)?.to_vec::<bool>()?, [false, true, false]);";

    /// True where the elements differ.
    ne = Ne, |a, b, shape| dispatch!(a.dtype(), "ne", [Bool, U8, I32, I64, F32, F64, C64, C128], T =>
        Ok(map::zip::<T, T, bool>(a, b, shape, #[inline(always)] |x, y| x != y))),
        reference |x, y| x != y,
        example "assert_eq!(Tensor::from([1, 2, 3]).ne(2)?.to_vec::<bool>()?, [true, false, true]);",
        also not_equal;

    /// True where the left element is smaller.
    lt = Lt, |a, b, shape| less(a, b, shape), reference |x, y| x < y,
        example "assert_eq!(Tensor::from([1, 2, 3]).lt(2)?.to_vec::<bool>()?, [true, false, false]);",
        also less;

    /// True where the left element is smaller or equal.
    le = Le, |a, b, shape| less_or_equal(a, b, shape), reference |x, y| x <= y,
        example "assert_eq!(Tensor::from([1, 2, 3]).le(2)?.to_vec::<bool>()?, [true, true, false]);",
        also less_equal;

    /// True where the left element is larger.
    gt = Gt, |a, b, shape| less(b, a, shape), reference |x, y| x > y,
        example "assert_eq!(Tensor::from([1, 2, 3]).gt(2)?.to_vec::<bool>()?, [false, false, true]);",
        also greater;

    /// True where the left element is larger or equal.
    ge = Ge, |a, b, shape| less_or_equal(b, a, shape), reference |x, y| x >= y,
        example "assert_eq!(Tensor::from([1, 2, 3]).ge(2)?.to_vec::<bool>()?, [false, true, true]);",
        also greater_equal;
}

// A path instead of a closure would not be inlined into the loop.
#[allow(clippy::redundant_closure)]
fn less(a: &Array, b: &Array, shape: &[usize]) -> Result<Array> {
    dispatch!(a.dtype(), "lt", all, T =>
        Ok(map::zip::<T, T, bool>(a, b, shape, #[inline(always)] |x, y| below(x, y))))
}

/// `x < y` for any element, of which `false` is below `true`.
#[inline(always)]
pub(super) fn below<T: Element + PartialOrd>(x: T, y: T) -> bool {
    x < y
}

fn less_or_equal(a: &Array, b: &Array, shape: &[usize]) -> Result<Array> {
    dispatch!(a.dtype(), "le", all, T =>
        Ok(map::zip::<T, T, bool>(a, b, shape, #[inline(always)] |x, y| x <= y)))
}

/// Brings the operands of a comparison to a common dtype. The result does not show that dtype, so it may be one that
/// holds both exactly where the table of [`DType`] has a coarser one.
fn compare<K: Binary>(a: &Tensor, rhs: impl Operand) -> Result<Tensor> {
    let dtype = a.dtype();
    match rhs.as_scalar() {
        Some(Scalar::Int(i)) if dtype.is_int() && !fits(i, dtype) => {
            return binary::<K>(&a.to_dtype(DType::I64)?, &scalar_tensor(Scalar::Int(i), DType::I64));
        }
        Some(Scalar::Float(x)) if dtype.is_int() => {
            return binary::<K>(&a.to_dtype(DType::F64)?, &scalar_tensor(Scalar::Float(x), DType::F64));
        }
        _ => {}
    }
    rhs.with_operand(K::NAME, dtype, |b| {
        if dtype.is_float() && b.dtype().is_int() || dtype.is_int() && b.dtype().is_float() {
            return binary::<K>(&a.to_dtype(DType::F64)?, &b.to_dtype(DType::F64)?);
        }
        with_common_dtype(a, b, false, binary::<K>)
    })
}

fn comparison_samples(
    call: fn(&Tensor, &Tensor) -> Result<Tensor>,
    with_number: fn(&Tensor) -> Result<Tensor>,
    reference: fn(f64, f64) -> f64,
) -> Vec<Sample> {
    let mut all = binary_samples((-1.0, 1.0), call, reference);
    let (a, b) = (Tensor::from([1.0, 2.0, 3.0]), Tensor::from([1.0, 3.0, 2.0]));
    all.push(
        Sample::one("ties", [a, b], move |x| call(&x[0], &x[1]))
            .reference(move |x| vec![Naive::from_fn(&[3], |i| reference(x[0].at(i), x[1].at(i)))]),
    );
    let (a, b) = (Tensor::from([1i64, 2]), Tensor::from([1.0, 2.5]));
    all.push(
        Sample::one("integers with floats", [a, b], move |x| call(&x[0], &x[1]))
            .reference(move |x| vec![Naive::from_fn(&[2], |i| reference(x[0].at(i), x[1].at(i)))]),
    );
    all.push(
        Sample::one("number", [Tensor::from([0.0, 0.5, 1.0])], move |x| with_number(&x[0]))
            .reference(move |x| vec![Naive::from_fn(&[3], |i| reference(x[0].at(i), 0.5))]),
    );
    all.into_iter().map(Sample::not_differentiable).collect()
}

fn comparison_errors(call: fn(&Tensor, &Tensor) -> Result<Tensor>) -> Vec<ErrorSample> {
    let (a, b) = (sample_tensor(&[2, 3], 0.0, 1.0, 1), sample_tensor(&[4], 0.0, 1.0, 2));
    vec![ErrorSample::new(
        "shapes",
        ErrorKind::Shape,
        "shapes must broadcast, got lhs f64[2,3] and rhs f64[4]",
        move || call(&a, &b),
    )]
}

ops! { LOGIC;
    /// True where both elements are true.
    ///
    /// # Shapes
    /// Both operands broadcast against each other.
    ///
    /// # Dtypes
    /// All; what is not zero is true, NaN included. The result is bool.
    ///
    /// # Derivative
    /// None: the result is discrete.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([1, 2, 3]);
    /// let inside = x.gt(1)?.logical_and(&x.lt(3)?)?;
    /// assert_eq!(inside.to_vec::<bool>()?, [false, true, false]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn logical_and(&self, rhs: impl Operand) -> Result<Tensor> = logical_and { in_place: true, samples: and_samples, errors: logic_errors };

    /// True where at least one element is true.
    ///
    /// # Shapes
    /// Both operands broadcast against each other.
    ///
    /// # Dtypes
    /// All; what is not zero is true, NaN included. The result is bool.
    ///
    /// # Derivative
    /// None: the result is discrete.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([1, 2, 3]);
    /// assert_eq!(x.lt(2)?.logical_or(&x.gt(2)?)?.to_vec::<bool>()?, [true, false, true]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn logical_or(&self, rhs: impl Operand) -> Result<Tensor> = logical_or { in_place: true, samples: or_samples, errors: logic_errors };

    /// True where exactly one element is true.
    ///
    /// # Shapes
    /// Both operands broadcast against each other.
    ///
    /// # Dtypes
    /// All; what is not zero is true, NaN included. The result is bool.
    ///
    /// # Derivative
    /// None: the result is discrete.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([true, true, false]);
    /// assert_eq!(x.logical_xor(true)?.to_vec::<bool>()?, [false, false, true]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn logical_xor(&self, rhs: impl Operand) -> Result<Tensor> = logical_xor { in_place: true, samples: xor_samples, errors: logic_errors };

    /// True where an element is false or zero.
    ///
    /// # Shapes
    /// The result has the shape of the tensor.
    ///
    /// # Dtypes
    /// All; what is not zero is true, NaN included. The result is bool.
    ///
    /// # Derivative
    /// None: the result is discrete.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([0.0, 2.5]).logical_not()?.to_vec::<bool>()?, [true, false]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn logical_not(&self) -> Result<Tensor> = logical_not { in_place: true, samples: not_samples };
}

/// Whether each element is not 0.
pub(super) fn truth(x: &Tensor) -> Result<Tensor> {
    if x.dtype().is_complex() { x.ne(0) } else { x.to_dtype(DType::Bool) }
}

/// Calls `f` with the truth of both operands, after a check that names `op`.
fn with_truth(
    op: &str,
    a: &Tensor,
    b: impl Operand,
    f: impl FnOnce(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    b.with_operand(op, DType::Bool, |b| {
        super::family::broadcast_shape(op, a, b)?;
        f(&truth(a)?, &truth(b)?)
    })
}

fn logical_and(a: &Tensor, b: impl Operand) -> Result<Tensor> {
    with_truth("logical_and", a, b, |a, b| a.mul(b))
}

fn logical_or(a: &Tensor, b: impl Operand) -> Result<Tensor> {
    with_truth("logical_or", a, b, |a, b| a.add(b))
}

fn logical_xor(a: &Tensor, b: impl Operand) -> Result<Tensor> {
    with_truth("logical_xor", a, b, |a, b| a.ne(b))
}

fn logical_not(a: &Tensor) -> Result<Tensor> {
    a.eq(false)
}

fn logic_samples(call: fn(&Tensor, &Tensor) -> Result<Tensor>, reference: fn(bool, bool) -> bool) -> Vec<Sample> {
    let table = |x: &[Naive], reference: fn(bool, bool) -> bool| {
        let shape = crate::shape::broadcast(&x[0].shape, &x[1].shape).expect("samples broadcast");
        vec![Naive::from_fn(&shape, |i| {
            f64::from(u8::from(reference(x[0].at_broadcast(i) != 0.0, x[1].at_broadcast(i) != 0.0)))
        })]
    };
    let case = |label: &str, a: Tensor, b: Tensor| {
        Sample::one(label, [a, b], move |x| call(&x[0], &x[1]))
            .reference(move |x| table(x, reference))
            .not_differentiable()
    };
    vec![
        case("bools", Tensor::from([[false], [true]]), Tensor::from([false, true])),
        case("numbers", Tensor::from([[0.0], [-0.5]]), Tensor::from([[0i32, 3], [0, 256]])),
        case("0-d", Tensor::from(true), Tensor::from(0.5)),
    ]
}

fn and_samples() -> Vec<Sample> {
    logic_samples(|a, b| a.logical_and(b), |a, b| a && b)
}

fn or_samples() -> Vec<Sample> {
    logic_samples(|a, b| a.logical_or(b), |a, b| a || b)
}

fn xor_samples() -> Vec<Sample> {
    logic_samples(|a, b| a.logical_xor(b), |a, b| a != b)
}

fn not_samples() -> Vec<Sample> {
    let case = |label: &str, x: Tensor| {
        Sample::one(label, [x], |x| x[0].logical_not())
            .reference(|x| {
                let data = x[0].data.iter().map(|&v| f64::from(u8::from(v == 0.0))).collect();
                vec![Naive { shape: x[0].shape.clone(), data }]
            })
            .not_differentiable()
    };
    vec![
        case("bools", Tensor::from([false, true])),
        case("floats", Tensor::from([0.0, 0.5])),
        case("0-d", Tensor::from(3)),
    ]
}

fn logic_errors() -> Vec<ErrorSample> {
    let (a, b) = (Tensor::from([true, false]), Tensor::from([true, false, true]));
    vec![ErrorSample::new(
        "shapes",
        ErrorKind::Shape,
        "shapes must broadcast, got lhs bool[2] and rhs bool[3]",
        move || a.logical_and(&b).and(a.logical_or(&b)).and(a.logical_xor(&b)),
    )]
}
