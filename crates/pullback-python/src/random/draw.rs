//! The functions and methods that PyTorch has for random tensors, with a generator that need not be given.

use pullback::random::Generator;
use pullback::{DType, Tensor};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::generator;
use crate::convert::{Device, Operand, Sizes, count, create, expect_operand, is_listlike, shape, wrap};
use crate::dtype::DTypeArg;
use crate::error::OrRaise;
use crate::tensor::{PyTensor, named_size};

fn finish(py: Python<'_>, tensor: Tensor, requires_grad: bool) -> PyResult<Bound<'_, PyTensor>> {
    let mut tensor = tensor;
    if requires_grad {
        tensor.requires_grad_().or_raise()?;
    }
    wrap(py, tensor)
}

/// Writes a function of a shape, and one of the shape of a tensor.
macro_rules! of_shape {
    ($($(#[doc = $doc:literal])* $name:ident, $like:ident = $draw:ident;)*) => { $(
        $(#[doc = $doc])*
        ///
        /// size: the shape, as `f(2, 3)` or `f((2, 3))`.
        /// generator: a `Generator` or a `Key`; that of `manual_seed` unless given.
        /// dtype: a float, `float32` unless given.
        ///
        /// Raises RuntimeError under a `vmap` whose `randomness` is `'error'`.
        #[pyfunction]
        #[pyo3(signature = (*size, generator=None, dtype=None, device=None, requires_grad=false, **named))]
        fn $name<'py>(
            py: Python<'py>,
            size: &Bound<'py, PyTuple>,
            generator: Option<&Bound<'py, PyAny>>,
            dtype: Option<DTypeArg>,
            device: Option<Device>,
            requires_grad: bool,
            named: Option<&Bound<'py, PyDict>>,
        ) -> PyResult<Bound<'py, PyTensor>> {
            let _ = device;
            let shape = shape(stringify!($name), size, named_size(stringify!($name), named)?)?;
            let (generator, dtype) = (super::generator(py, generator)?, dtype.map_or(DType::F32, |d| d.0));
            finish(py, create(py, stringify!($name), &shape, || generator.$draw(&shape, dtype))?, requires_grad)
        }

        #[doc = concat!("`", stringify!($name), "` with the shape and dtype of a tensor.")]
        #[pyfunction]
        #[pyo3(signature = (input, *, generator=None, dtype=None, device=None, requires_grad=false))]
        fn $like<'py>(
            input: &Bound<'py, PyTensor>,
            generator: Option<&Bound<'py, PyAny>>,
            dtype: Option<DTypeArg>,
            device: Option<Device>,
            requires_grad: bool,
        ) -> PyResult<Bound<'py, PyTensor>> {
            let _ = device;
            let (py, like) = (input.py(), input.get().get());
            let (generator, dtype) = (super::generator(py, generator)?, dtype.map_or(like.dtype(), |d| d.0));
            let make = || generator.$draw(like.shape(), dtype);
            finish(py, create(py, stringify!($like), like.shape(), make)?, requires_grad)
        }
    )* };
}
of_shape! {
    /// Numbers uniform in [0, 1).
    ///
    /// >>> pullback.rand(2, 3).shape
    /// (2, 3)
    rand, rand_like = uniform;

    /// Numbers of the normal distribution with mean 0 and variance 1.
    ///
    /// >>> pullback.randn(2, 3).shape
    /// (2, 3)
    randn, randn_like = normal;
}

/// Integers uniform in `low..high`: `randint(high, size)` or `randint(low, high, size)`.
///
/// dtype: `int64` unless given; for a float, the integers as floats.
///
/// Raises ValueError if there is no such integer, or the dtype cannot hold one.
///
/// >>> pullback.randint(1, 7, (100,)).max().item() < 7
/// True
// The arguments are those of PyTorch.
#[allow(clippy::too_many_arguments)]
#[pyfunction]
#[pyo3(signature = (low, high=None, size=None, *, generator=None, dtype=None, device=None, requires_grad=false))]
fn randint<'py>(
    py: Python<'py>,
    low: i64,
    high: Option<&Bound<'py, PyAny>>,
    size: Option<Sizes>,
    generator: Option<&Bound<'py, PyAny>>,
    dtype: Option<DTypeArg>,
    device: Option<Device>,
    requires_grad: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    let _ = device;
    let (low, high, size) = match (high, size) {
        (Some(high), Some(size)) => (low, high.extract::<i64>()?, size),
        (Some(size), None) if is_listlike(size)? => (0, low, size.extract::<Sizes>()?),
        (None, Some(size)) => (0, low, size),
        _ => return Err(PyTypeError::new_err("randint: expected `randint(high, size)` or `randint(low, high, size)`")),
    };
    let (generator, dtype) = (super::generator(py, generator)?, dtype.map_or(DType::I64, |d| d.0));
    let draw = || match dtype.is_int() {
        true => generator.randint(low, high, &size.0, dtype),
        false => generator.randint(low, high, &size.0, DType::I64)?.to_dtype(dtype),
    };
    finish(py, create(py, "randint", &size.0, draw)?, requires_grad)
}

/// The numbers `0..n` in random order.
///
/// >>> sorted(pullback.randperm(4).tolist())
/// [0, 1, 2, 3]
#[pyfunction]
#[pyo3(signature = (n, *, generator=None, dtype=None, device=None))]
fn randperm<'py>(
    py: Python<'py>,
    n: &Bound<'py, PyAny>,
    generator: Option<&Bound<'py, PyAny>>,
    dtype: Option<DTypeArg>,
    device: Option<Device>,
) -> PyResult<Bound<'py, PyTensor>> {
    let _ = device;
    let n = count("randperm", "n", 0, n)?;
    let (generator, dtype) = (super::generator(py, generator)?, dtype.map_or(DType::I64, |d| d.0));
    wrap(py, create(py, "randperm", &[n], || generator.permutation(n)?.to_dtype(dtype))?)
}

/// The shape and dtype that tensors have together; numbers beside them give way.
fn together(all: &[&Operand]) -> (Vec<usize>, DType) {
    let tensors = all.iter().filter_map(|x| match x {
        Operand::Tensor(t) => Some(t),
        Operand::Number(_) => None,
    });
    let (mut shape, mut dtype) = (Vec::new(), None);
    for t in tensors {
        let (long, short) =
            if t.rank() > shape.len() { (t.shape().to_vec(), shape) } else { (shape, t.shape().to_vec()) };
        shape = long;
        let lead = shape.len() - short.len();
        for (n, m) in shape[lead..].iter_mut().zip(short) {
            *n = if *n == 1 { m } else { *n };
        }
        dtype = Some(dtype.map_or(t.dtype(), |d: DType| d.promote(t.dtype())));
    }
    (shape, dtype.unwrap_or(DType::F32).to_float())
}

fn tensor_of(x: Operand, dtype: DType) -> PyResult<Tensor> {
    x.into_tensor("normal", dtype)
}

/// Numbers of normal distributions.
///
/// mean, std: tensors or numbers, which broadcast against each other.
/// size: the shape; that of `mean` and `std` unless given.
///
/// The derivative is that of `mean + std * z` with `z` held fixed.
///
/// Raises ValueError for a number `std` that is negative.
///
/// >>> pullback.normal(pullback.tensor([0.0, 100.0]), 1.0).shape
/// (2,)
#[pyfunction]
#[pyo3(signature = (mean=None, std=None, size=None, *, generator=None, dtype=None))]
fn normal<'py>(
    py: Python<'py>,
    mean: Option<&Bound<'py, PyAny>>,
    std: Option<&Bound<'py, PyAny>>,
    size: Option<Sizes>,
    generator: Option<&Bound<'py, PyAny>>,
    dtype: Option<DTypeArg>,
) -> PyResult<Bound<'py, PyTensor>> {
    let number = |x: f64| Ok(Operand::Number(pullback::Scalar::Float(x)));
    let mean = mean.map_or(number(0.0), |mean| expect_operand("normal", "mean", mean))?;
    let std = std.map_or(number(1.0), |std| expect_operand("normal", "std", std))?;
    if let Operand::Number(std) = &std
        && (std.to_f64() < 0.0 || std.to_f64().is_nan())
    {
        return Err(pyo3::exceptions::PyValueError::new_err(format!(
            "normal: expected a std that is not negative, got {}",
            std.to_f64()
        )));
    }
    let (own, float) = together(&[&mean, &std]);
    let shape = size.map_or(own, |size| size.0);
    let dtype = dtype.map_or(float, |d| d.0);
    let generator = super::generator(py, generator)?;
    let (mean, std) = (tensor_of(mean, dtype)?, tensor_of(std, dtype)?);
    wrap(py, create(py, "normal", &shape, || generator.normal(&shape, dtype)?.mul(std)?.add(mean))?)
}

/// Writes a function that draws for each element of a tensor of parameters, in its dtype.
macro_rules! of_parameter {
    ($($(#[doc = $doc:literal])* $name:ident($parameter:ident), |$generator:ident, $x:ident| $draw:expr;)*) => { $(
        $(#[doc = $doc])*
        #[pyfunction]
        #[pyo3(signature = ($parameter, *, generator=None))]
        fn $name<'py>(
            $parameter: &Bound<'py, PyTensor>,
            generator: Option<&Bound<'py, PyAny>>,
        ) -> PyResult<Bound<'py, PyTensor>> {
            let (py, $x) = ($parameter.py(), $parameter.get().get());
            let $generator = super::generator(py, generator)?;
            wrap(py, create(py, stringify!($name), $x.shape(), || $draw)?)
        }
    )* };
}
of_parameter! {
    /// Ones with the probabilities in a tensor, zeros otherwise, in its dtype.
    ///
    /// Raises ValueError unless they are from 0 to 1.
    ///
    /// >>> pullback.bernoulli(pullback.tensor([0.0, 1.0]))
    /// tensor([0.0000, 1.0000])
    bernoulli(input), |generator, p| generator.bernoulli(&p, p.shape())?.to_dtype(p.dtype());

    /// Numbers of events where a tensor has how many are expected, in its dtype.
    ///
    /// Raises ValueError for one that is negative.
    ///
    /// >>> pullback.poisson(pullback.tensor([0.0]))
    /// tensor([0.0000])
    poisson(input), |generator, rate| generator.poisson(&rate, rate.shape(), rate.dtype());
}

/// Positions in the last dimension, drawn by its weights, which need not add up to 1.
///
/// replacement: whether a position can be drawn again.
///
/// Raises ValueError for weights that are negative or all zero, and for more draws than positions without replacement.
///
/// >>> pullback.multinomial(pullback.tensor([0.0, 1.0, 0.0]), 1)
/// tensor([1])
#[pyfunction]
#[pyo3(signature = (input, num_samples, replacement=false, *, generator=None))]
fn multinomial<'py>(
    input: &Bound<'py, PyTensor>,
    num_samples: &Bound<'py, PyAny>,
    replacement: bool,
    generator: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyTensor>> {
    let (py, weights) = (input.py(), input.get().get());
    let num_samples = count("multinomial", "num_samples", 0, num_samples)?;
    let generator = super::generator(py, generator)?;
    let make = || generator.multinomial(&weights, num_samples, replacement);
    wrap(py, create(py, "multinomial", weights.shape(), make)?)
}

/// The kinds of dropout that PyTorch has as functions of `training`.
macro_rules! dropouts {
    ($($(#[doc = $doc:literal])* $name:ident;)*) => {
        $(
            $(#[doc = $doc])*
            ///
            /// training: without it, the tensor comes back as it is.
            /// generator: a `Generator` or a `Key`; that of `manual_seed` unless given.
            ///
            /// The derivative is the same elements of the cotangent, scaled alike.
            ///
            /// Raises ValueError unless `p` is a probability, RuntimeError under a `vmap` whose `randomness` is `'error'`.
            #[pyfunction]
            #[pyo3(signature = (input, p=0.5, training=true, *, generator=None))]
            fn $name<'py>(
                input: &Bound<'py, PyTensor>,
                p: f64,
                training: bool,
                generator: Option<&Bound<'py, PyAny>>,
            ) -> PyResult<Bound<'py, PyTensor>> {
                if !training {
                    return Ok(input.clone());
                }
                let (py, x) = (input.py(), input.get().get());
                let generator = super::generator(py, generator)?;
                wrap(py, create(py, stringify!($name), x.shape(), || generator.$name(&x, p))?)
            }
        )*

        /// Puts the kinds of dropout into the namespace of what layers compute.
        fn add_dropouts(module: &Bound<'_, PyModule>) -> PyResult<()> {
            let functional = module.getattr("_operations")?.get_item("nn.functional")?;
            $( functional.set_item(stringify!($name), wrap_pyfunction!($name, module)?)?; )*
            Ok(())
        }
    };
}
dropouts! {
    /// The tensor with each element set to zero with probability `p`, and the others divided by `1 - p`.
    ///
    /// >>> x = pullback.nn.functional.dropout(pullback.ones(8))
    /// >>> set(x.tolist()) <= {0.0, 2.0}
    /// True
    dropout;

    /// `dropout` of whole channels of sequences: the last dimension stays together.
    dropout1d;

    /// `dropout` of whole channels of images: the last two dimensions stay together.
    dropout2d;

    /// `dropout` of whole channels of volumes: the last three dimensions stay together.
    dropout3d;

    /// Dropout that keeps mean 0 and variance 1, for networks with `selu`.
    alpha_dropout;
}

/// Replaces the elements of a tensor by those that `draw` makes for its shape and dtype.
fn refill<'py>(
    slf: Bound<'py, PyTensor>,
    generator: Option<&Bound<'py, PyAny>>,
    draw: impl FnOnce(&Generator, &[usize], DType) -> pullback::Result<Tensor> + Send,
) -> PyResult<Bound<'py, PyTensor>> {
    let (py, tensor) = (slf.py(), slf.get().get());
    let generator = self::generator(py, generator)?;
    let made = create(py, "random", tensor.shape(), || draw(&generator, tensor.shape(), tensor.dtype()))?;
    slf.get().refill(made).or_raise()?;
    Ok(slf)
}

#[pymethods]
impl PyTensor {
    /// Sets the elements to numbers uniform in [`from`, `to`): this object gets another value.
    #[pyo3(signature = (from_=0.0, to=1.0, *, generator=None))]
    fn uniform_<'py>(
        slf: Bound<'py, Self>,
        from_: f64,
        to: f64,
        generator: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Self>> {
        refill(slf, generator, |g, shape, dtype| pullback::init::uniform(shape, from_, to, dtype, g))
    }

    /// Sets the elements to numbers of a normal distribution: this object gets another value.
    #[pyo3(signature = (mean=0.0, std=1.0, *, generator=None))]
    fn normal_<'py>(
        slf: Bound<'py, Self>,
        mean: f64,
        std: f64,
        generator: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Self>> {
        refill(slf, generator, |g, shape, dtype| pullback::init::normal(shape, mean, std, dtype, g))
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(rand, module)?)?;
    module.add_function(wrap_pyfunction!(rand_like, module)?)?;
    module.add_function(wrap_pyfunction!(randn, module)?)?;
    module.add_function(wrap_pyfunction!(randn_like, module)?)?;
    module.add_function(wrap_pyfunction!(randint, module)?)?;
    module.add_function(wrap_pyfunction!(randperm, module)?)?;
    module.add_function(wrap_pyfunction!(normal, module)?)?;
    module.add_function(wrap_pyfunction!(bernoulli, module)?)?;
    module.add_function(wrap_pyfunction!(poisson, module)?)?;
    module.add_function(wrap_pyfunction!(multinomial, module)?)?;
    add_dropouts(module)
}
