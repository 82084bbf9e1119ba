//! Powers.

use super::arith::{Arithmetic, binary_samples, mul_owned, scalar_tensor, with_common_dtype};
use super::compare::below;
use super::family::{Binary, Operands, Reads, UnaryOp, UnaryWith, binary, unary_with};
use super::table::{ErrorSample, Kink, Naive, Sample, ops, sample_tensor};
use crate::array::Array;
use crate::dtype::{Element, Scalar, dispatch};
use crate::error::bail;
use crate::function::OpRef;
use crate::kernels::math::{self, Float};
use crate::kernels::{complex, map};
use crate::tensor::Operand;
use crate::{Complex64, DType, ErrorKind, Result, Tensor};

ops! { OPS;
    /// The elements to a whole power.
    ///
    /// # Shapes
    /// The result has the shape of the tensor.
    ///
    /// # Dtypes
    /// Numbers, which stay what they are; integers wrap on overflow. Bools become `i64`.
    ///
    /// # Derivative
    /// `n·x^(n-1)`, exact at 0 to every order. The power 0 is 1 everywhere and its derivative 0.
    ///
    /// # Errors
    /// `Value` for a negative power of integers.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([2.0, -1.0]).powi(3)?.to_vec::<f64>()?, [8.0, -1.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn powi(&self, n: i32) -> Result<Tensor> = powi {
        samples: powi_samples, errors: powi_errors, kinks: powi_kinks,
        python: pow(n as exponent)
    };

    /// The elements to a power that need not be whole; NaN for negative elements unless it is. Complex numbers have the
    /// principal value.
    ///
    /// # Shapes
    /// The result has the shape of the tensor.
    ///
    /// # Dtypes
    /// Floats and complex numbers; integers and bools become `f32`.
    ///
    /// # Derivative
    /// `p·x^(p-1)`, exact at 0 to every order if `p` is whole. The power 0 is 1 everywhere and its derivative 0.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([4.0, 9.0]).powf(0.5)?.to_vec::<f64>()?, [2.0, 3.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn powf(&self, p: f64) -> Result<Tensor> = powf {
        samples: powf_samples, kinks: powf_kinks,
        python: pow(p as exponent)
    };

    /// The elements to the power of those of `exponent`, which may also be a number.
    ///
    /// # Shapes
    /// Both operands broadcast against each other.
    ///
    /// # Dtypes
    /// Numbers, promoted by the table of [`DType`]; complex ones have the principal value. Powers of integers by integers are integers, and wrap
    /// on overflow. A tensor of bools to the power of `true` or `false` becomes `i64`.
    ///
    /// # Derivative
    /// With respect to the base, `e·x^(e-1)`, exact at base 0 to every order if `e` is whole, and 0 where `e` is 0.
    /// With respect to the exponent, `x^e·log(x)`, which is 0 at base 0 unless `e` is negative, and NaN for negative
    /// bases. `0^0` is 1 and both its derivatives are 0.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; `Value` for integers to a negative power; `Dtype` for two bools.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([2.0, 3.0]);
    /// assert_eq!(x.pow(&Tensor::from([3.0, 2.0]))?.to_vec::<f64>()?, [8.0, 9.0]);
    /// assert_eq!(x.pow(2)?.to_vec::<f64>()?, [4.0, 9.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn pow(&self, exponent: impl Operand) -> Result<Tensor> = pow { in_place: true, samples: pow_samples, errors: pow_errors, kinks: pow_kinks };

    /// [`pow`](Tensor::pow) in double precision: of anything, also of integers by negative ones.
    ///
    /// # Shapes
    /// Both operands broadcast against each other.
    ///
    /// # Dtypes
    /// All. The result is `f64`, or `c128` if either operand is complex.
    ///
    /// # Derivative
    /// That of [`pow`](Tensor::pow).
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([2, 4]).float_power(-1)?.to_vec::<f64>()?, [0.5, 0.25]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn float_power(&self, exponent: impl Operand) -> Result<Tensor> = float_power {
        samples: float_power_samples, errors: float_power_errors, kinks: float_power_kinks
    };
}

/// Whole powers, apart from those that have an operation of their own.
#[derive(Clone, Copy, Debug)]
struct Powi(i32);

fn powi(x: &Tensor, n: i32) -> Result<Tensor> {
    match (n, x.dtype()) {
        (n, dtype) if n < 0 && !dtype.is_differentiable() => Err(negative("powi", x, n)),
        (n, DType::Bool) => powi(&x.to_dtype(DType::I64)?, n),
        (0, dtype) => Tensor::ones(x.unchanged("powi")?.shape(), dtype),
        (1, _) => x.unchanged("powi"),
        (2, _) => x.square(),
        (-1, _) => x.reciprocal(),
        (n, _) => unary_with(&Powi(n), x),
    }
}

#[cold]
fn negative(op: &str, x: &Tensor, n: impl std::fmt::Display) -> crate::Error {
    crate::Error::new(ErrorKind::Value, format!("{op}: expected a power of at least 0 for {}, got {n}", x.ty()))
        .with_help("convert the tensor to a float with `to_dtype` first")
}

impl UnaryWith for Powi {
    const NAME: &'static str = "powi";
    fn share(&self) -> OpRef {
        OpRef::new(UnaryOp(*self))
    }
    fn kernel(&self, x: &Array) -> Result<Array> {
        let n = self.0;
        if x.dtype().is_complex() {
            return Ok(complex::map(x, &|z| math::complex::powi(z, n)));
        }
        if x.dtype().is_differentiable() {
            return dispatch!(x.dtype(), "powi", float, T => Ok(math::powi::<T>(x, n)));
        }
        let n = u64::from(n.unsigned_abs());
        dispatch!(x.dtype(), "powi", integer, T => Ok(map::map::<T, T>(x, #[inline(always)] move |x| integer_power(x, n))))
    }
    fn derivative(&self, d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        let n = f64::from(self.0);
        mul_owned(x.powf(n - 1.0)?, d.mul(n)?)
    }
}

#[inline(always)]
fn integer_power<T: Arithmetic + Element>(mut x: T, mut n: u64) -> T {
    let mut out = T::ONE;
    while n > 0 {
        if n & 1 == 1 {
            out = out.times(x);
        }
        x = x.times(x);
        n >>= 1;
    }
    out
}

/// Powers that are not whole, or too large for [`Powi`].
#[derive(Clone, Copy, Debug)]
struct Powf(f64);

fn powf(x: &Tensor, p: f64) -> Result<Tensor> {
    let dtype = x.dtype();
    if !dtype.is_differentiable() {
        return powf(&x.to_dtype(dtype.to_float())?, p);
    }
    if p.fract() == 0.0 && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&p) {
        return powi(x, p as i32);
    }
    if p == 0.5 {
        return x.sqrt();
    }
    if p == -0.5 {
        return x.rsqrt();
    }
    unary_with(&Powf(p), x)
}

impl UnaryWith for Powf {
    const NAME: &'static str = "powf";
    fn share(&self) -> OpRef {
        OpRef::new(UnaryOp(*self))
    }
    fn kernel(&self, x: &Array) -> Result<Array> {
        if x.dtype().is_complex() {
            let p = Complex64 { re: self.0, im: 0.0 };
            return Ok(complex::map(x, &|z| math::complex::pow(z, p)));
        }
        dispatch!(x.dtype(), "powf", float, T => {
            let p = T::from_f64(self.0);
            Ok(map::map::<T, T>(x, #[inline(always)] move |x| Float::powf(x, p)))
        })
    }
    fn derivative(&self, d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        mul_owned(x.powf(self.0 - 1.0)?, d.mul(self.0)?)
    }
}

struct Pow;

fn pow(x: &Tensor, exponent: impl Operand) -> Result<Tensor> {
    match exponent.as_scalar() {
        None | Some(Scalar::Complex(_)) => {
            exponent.with_operand("pow", x.dtype(), |e| with_common_dtype(x, e, false, binary::<Pow>))
        }
        Some(Scalar::Float(p)) => powf(x, p),
        Some(Scalar::Bool(b)) => powi(x, i32::from(b)),
        Some(Scalar::Int(n)) => match i32::try_from(n) {
            Ok(n) if n >= 0 || x.dtype().is_differentiable() => powi(x, n),
            _ if x.dtype().is_differentiable() => powf(x, n as f64),
            _ if n < 0 => Err(negative("pow", x, n)),
            _ => binary::<Pow>(&x.to_dtype(DType::I64)?, &scalar_tensor(Scalar::Int(n), DType::I64))?
                .to_dtype(Scalar::Int(n).promote_with(x.dtype())),
        },
    }
}

fn float_power(x: &Tensor, exponent: impl Operand) -> Result<Tensor> {
    let wide = |t: &Tensor| t.to_dtype(if t.dtype().is_complex() { DType::C128 } else { DType::F64 });
    let x = wide(x)?;
    let found = match exponent.as_scalar() {
        Some(_) => pow(&x, exponent),
        None => exponent.with_operand("float_power", x.dtype(), |e| pow(&x, &wide(e)?)),
    };
    found.map_err(|e| e.renamed("pow", "float_power"))
}

impl Binary for Pow {
    const NAME: &'static str = "pow";
    // A path instead of a closure would not be inlined into the loop.
    #[allow(clippy::redundant_closure)]
    fn kernel(x: &Array, e: &Array, shape: &[usize]) -> Result<Array> {
        if x.dtype().is_complex() {
            return Ok(complex::zip(x, e, shape, math::complex::pow));
        }
        if x.dtype().is_differentiable() {
            return dispatch!(x.dtype(), "pow", float, T => Ok(map::zip::<T, T, T>(x, e, shape,
                #[inline(always)] |x, e| Float::powf(x, e))));
        }
        dispatch!(x.dtype(), "pow", integer, T => {
            let negative = map::map::<T, bool>(e, #[inline(always)] |e| below(e, T::ZERO));
            if negative.as_slice::<bool>().is_some_and(|all| all.contains(&true)) {
                bail!(Value, "pow: expected powers of at least 0 for {}, got some below", x.ty(); help = "convert the \
                    tensor to a float with `to_dtype` first");
            }
            Ok(map::zip::<T, T, T>(x, e, shape, #[inline(always)] |x, e| integer_power(x, e.to_i64() as u64)))
        })
    }
    fn reads(needs: (bool, bool)) -> Reads {
        Reads { lhs: true, rhs: true, output: needs.1 }
    }
    fn left(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        let (x, e) = (values.lhs(), values.rhs());
        // Where the exponent is 0 and x^-1 is not finite, another base gives the derivative 0 without a detour by NaN.
        let safe = no_inverse(x, e)?.where_(1, x)?;
        // At base 0 the derivative with respect to the exponent is 0 whatever the base: so is this one whatever the exponent, where that
        // is differentiated as well.
        let held;
        let e = match e.array() {
            Some(_) => e,
            None => {
                held = no_log(x, e)?.where_(&e.detach()?, e)?;
                &held
            }
        };
        mul_owned(d.mul(e)?, binary::<Pow>(&safe, &e.sub(1)?)?)
    }
    fn right(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        let (x, e) = (values.lhs(), values.rhs());
        // The limit of x^e·log(x) at base 0 is 0: the logarithm of another base gives it, to every order.
        let flat = no_log(x, e)?;
        let safe = flat.where_(1, x)?;
        let y = match x.array() {
            Some(_) => values.output().clone(),
            // Not even a cotangent of 0 may reach a base at which the slope is infinite.
            None => flat.where_(0, binary::<Pow>(&safe, e)?)?,
        };
        mul_owned(safe.log()?, d.mul(y)?)
    }
}

/// Whether the exponent is 0 and the base has no finite inverse.
fn no_inverse(x: &Tensor, e: &Tensor) -> Result<Tensor> {
    if x.dtype().is_complex() { e.eq(0)?.logical_and(x.eq(0)?) } else { binary::<NoInverse>(x, e) }
}

fn no_log(x: &Tensor, e: &Tensor) -> Result<Tensor> {
    if x.dtype().is_complex() { e.real()?.ge(0)?.logical_and(x.eq(0)?) } else { binary::<NoLog>(x, e) }
}

struct NoInverse;

impl Binary for NoInverse {
    const NAME: &'static str = "no_inverse";
    const DIFFERENTIABLE: bool = false;
    fn kernel(x: &Array, e: &Array, shape: &[usize]) -> Result<Array> {
        dispatch!(x.dtype(), "no_inverse", float, T => Ok(map::zip::<T, T, bool>(x, e, shape, #[inline(always)] |x, e| {
            e == T::ZERO && !Float::is_finite(T::ONE / x)
        })))
    }
}

/// Whether the base is 0 and the exponent is not negative, or the base infinite and the exponent negative: the power is 0 beside an
/// infinite logarithm.
struct NoLog;

impl Binary for NoLog {
    const NAME: &'static str = "no_log";
    const DIFFERENTIABLE: bool = false;
    fn kernel(x: &Array, e: &Array, shape: &[usize]) -> Result<Array> {
        dispatch!(x.dtype(), "no_log", float, T => Ok(map::zip::<T, T, bool>(x, e, shape, #[inline(always)] |x, e| {
            x == T::ZERO && e >= T::ZERO || x == T::INFINITY && e < T::ZERO
        })))
    }
}

fn powi_samples() -> Vec<Sample> {
    let case = |n: i32, lo: f64| {
        Sample::one(format!("{n}"), [sample_tensor(&[2, 3], lo, 2.0, 1)], move |x| x[0].powi(n)).reference(move |x| {
            let of = |v: &f64| {
                let product: f64 = (0..n.unsigned_abs()).map(|_| v).product();
                if n < 0 { 1.0 / product } else { product }
            };
            vec![Naive { shape: x[0].shape.clone(), data: x[0].data.iter().map(of).collect() }]
        })
    };
    let mut all: Vec<Sample> = [0, 1, 2, 3, 4, 7].map(|n| case(n, -2.0)).into();
    all.extend([-1, -2, -3].map(|n| case(n, 0.5)));
    all.push(
        Sample::one("integers", [Tensor::from([-3i64, 0, 2])], |x| x[0].powi(3))
            .reference(|_| vec![Naive { shape: vec![3], data: vec![-27.0, 0.0, 8.0] }])
            .not_differentiable(),
    );
    all.push(
        Sample::one("bools", [Tensor::from([true, false])], |x| x[0].powi(0))
            .reference(|_| vec![Naive { shape: vec![2], data: vec![1.0, 1.0] }])
            .not_differentiable(),
    );
    all.push(
        Sample::one("0-d", [Tensor::from(1.5)], |x| x[0].powi(5))
            .reference(|x| vec![Naive { shape: vec![], data: vec![(0..5).map(|_| x[0].data[0]).product()] }]),
    );
    all
}

fn powi_errors() -> Vec<ErrorSample> {
    vec![ErrorSample::new(
        "negative",
        ErrorKind::Value,
        "powi: expected a power of at least 0 for i32[1], got -1",
        || Tensor::from([2]).powi(-1),
    )]
}

fn powi_kinks() -> Vec<Kink> {
    (0..4)
        .map(|n| Kink::new(format!("0^{n}"), Tensor::from(0.0), [if n == 1 { 1.0 } else { 0.0 }], move |x| x.powi(n)))
        .collect()
}

fn powf_samples() -> Vec<Sample> {
    let shapes = std::iter::repeat_n(&[2usize, 3][..], 5).chain([&[][..], &[0, 2]]);
    [0.0, 0.5, -0.5, 1.5, 2.0, -2.7, 3.3]
        .into_iter()
        .zip(shapes)
        .map(|(p, shape)| {
            Sample::one(format!("{p}"), [sample_tensor(shape, 0.5, 2.0, 1)], move |x| x[0].powf(p)).reference(
                move |x| {
                    let of = |v: &f64| (v.ln() * p).exp();
                    vec![Naive { shape: x[0].shape.clone(), data: x[0].data.iter().map(of).collect() }]
                },
            )
        })
        .collect()
}

fn powf_kinks() -> Vec<Kink> {
    [(0.0, 0.0), (1.0, 1.0), (2.5, 0.0)]
        .into_iter()
        .map(|(p, slope)| Kink::new(format!("0^{p}"), Tensor::from(0.0), [slope], move |x| x.powf(p)))
        .collect()
}

fn pow_samples() -> Vec<Sample> {
    let mut all = binary_samples((0.5, 2.0), |a, b| a.pow(b), |a, b| (a.ln() * b).exp());
    all.push(
        Sample::one("whole powers of negative bases", [sample_tensor(&[2, 3], -2.0, -0.5, 1)], |x| {
            x[0].pow(Tensor::from([0i64, 1, 3]))
        })
        .reference(|x| {
            vec![Naive::from_fn(&[2, 3], |i| {
                let v = x[0].at(i);
                [1.0, v, v * v * v][i[1]]
            })]
        }),
    );
    all.push(
        Sample::one("number", [sample_tensor(&[2, 3], 0.5, 2.0, 1)], |x| x[0].pow(3))
            .reference(|x| vec![Naive { shape: vec![2, 3], data: x[0].data.iter().map(|v| v * v * v).collect() }]),
    );
    all.push(
        Sample::one("integers", [Tensor::from([-3i64, 0, 2]), Tensor::from([3i64, 0, 10])], |x| x[0].pow(&x[1]))
            .reference(|_| vec![Naive { shape: vec![3], data: vec![-27.0, 1.0, 1024.0] }])
            .not_differentiable(),
    );
    all
}

fn float_power_samples() -> Vec<Sample> {
    let fixed = |mut sample: Sample| {
        sample.fixed_dtype = true;
        sample
    };
    let mut all = binary_samples((0.5, 2.0), |a, b| a.float_power(b), |a, b| (a.ln() * b).exp());
    all.push(
        Sample::one("integers", [Tensor::from([-3i64, 2, 2]), Tensor::from([3i64, -1, 10])], |x| {
            x[0].float_power(&x[1])
        })
        .reference(|_| vec![Naive { shape: vec![3], data: vec![-27.0, 0.5, 1024.0] }])
        .not_differentiable(),
    );
    all.push(
        Sample::one("number", [sample_tensor(&[2, 3], 0.5, 2.0, 1)], |x| x[0].float_power(3))
            .reference(|x| vec![Naive { shape: vec![2, 3], data: x[0].data.iter().map(|v| v * v * v).collect() }]),
    );
    all.into_iter().map(fixed).collect()
}

fn float_power_errors() -> Vec<ErrorSample> {
    super::pairwise::pair_errors_of(|a, b| a.float_power(b))
}

fn float_power_kinks() -> Vec<Kink> {
    vec![Kink::new("base 0", Tensor::from([0.0, 0.0]), [0.0, 1.0], |x| x.float_power(Tensor::from([0, 1])))]
}

fn pow_errors() -> Vec<ErrorSample> {
    let (a, b) = (sample_tensor(&[2, 3], 0.0, 1.0, 1), sample_tensor(&[4], 0.0, 1.0, 2));
    vec![
        ErrorSample::new(
            "shapes",
            ErrorKind::Shape,
            "pow: shapes must broadcast, got lhs f64[2,3] and rhs f64[4]",
            move || a.pow(&b),
        ),
        ErrorSample::new("negative", ErrorKind::Value, "pow: expected powers of at least 0 for i32[2]", || {
            Tensor::from([1, 2]).pow(Tensor::from([1, -1]))
        }),
        ErrorSample::new(
            "negative number",
            ErrorKind::Value,
            "pow: expected a power of at least 0 for i32[1], got -1",
            || Tensor::from([2]).pow(-1),
        ),
        ErrorSample::new("bools", ErrorKind::Dtype, "pow: expected a tensor of dtype u8", || {
            Tensor::from([true]).pow(Tensor::from([true]))
        }),
    ]
}

fn pow_kinks() -> Vec<Kink> {
    vec![
        Kink::new("base 0", Tensor::from([0.0, 0.0, 0.0, 0.0]), [0.0, 1.0, 0.0, 0.0], |x| {
            x.pow(Tensor::from([0.0, 1.0, 2.0, 2.5]))
        }),
        Kink::new("exponent at base 0", Tensor::from([0.0, 0.5, 1.0]), [0.0, 0.0, 0.0], |e| {
            Tensor::from([0.0, 0.0, 0.0]).pow(e)
        }),
    ]
}
