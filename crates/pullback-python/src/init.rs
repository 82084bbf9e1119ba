//! First values of parameters.

use pullback::init::{self, Fan, Gain};
use pullback::random::Generator;
use pullback::{DType, Error, ErrorKind, Tensor};
use pyo3::prelude::*;

use crate::convert::{Sizes, create, wrap};
use crate::dtype::DTypeArg;
use crate::error::OrRaise;
use crate::random::generator;
use crate::tensor::PyTensor;

/// What a new tensor is made for: a shape, or a tensor whose elements it replaces.
enum Target<'py> {
    New(Vec<usize>, DType),
    Old(Bound<'py, PyTensor>),
}

impl<'py> Target<'py> {
    fn fill(
        self,
        py: Python<'py>,
        random: Option<&Bound<'py, PyAny>>,
        make: impl FnOnce(&[usize], DType, &Generator) -> pullback::Result<Tensor> + Send,
    ) -> PyResult<Bound<'py, PyTensor>> {
        let random = generator(py, random)?;
        let (shape, dtype) = match &self {
            Target::New(shape, dtype) => (shape.clone(), *dtype),
            Target::Old(tensor) => {
                let tensor = tensor.get().get();
                (tensor.shape().to_vec(), tensor.dtype())
            }
        };
        let made = create(py, "init", &shape, || make(&shape, dtype, &random))?;
        match self {
            Target::New(..) => wrap(py, made),
            Target::Old(tensor) => {
                // As an optimizer does: the leaf stays the leaf that it is.
                pullback::autograd::no_grad(|| tensor.get().refill(made)).or_raise()?;
                Ok(tensor)
            }
        }
    }
}

/// Writes each way to make first values twice: for a shape, and in place of the elements of a tensor, as PyTorch has it.
macro_rules! initializers {
    ($($(#[doc = $doc:literal])* $name:ident, $in_place:ident($($arg:ident: $ty:ty = $default:tt),*),
        |$shape:ident, $dtype:ident, $random:ident| $make:expr;)*) => {
        $(
            $(#[doc = $doc])*
            ///
            /// shape: that of the tensor; weights are `[outputs, inputs, ..kernel]`.
            /// dtype: `float32` unless given.
            /// generator: a `Generator` or a `Key`; that of `manual_seed` unless given.
            // The arguments are those of PyTorch.
            #[allow(clippy::too_many_arguments)]
            #[pyfunction]
            #[pyo3(signature = (shape, $($arg=$default,)* *, dtype=None, generator=None))]
            fn $name<'py>(
                py: Python<'py>,
                shape: Sizes,
                $($arg: $ty,)*
                dtype: Option<DTypeArg>,
                generator: Option<&Bound<'py, PyAny>>,
            ) -> PyResult<Bound<'py, PyTensor>> {
                let target = Target::New(shape.0, dtype.map_or(DType::F32, |d| d.0));
                target.fill(py, generator, move |$shape, $dtype, $random| $make)
            }

            #[doc = concat!("`", stringify!($name), "` in the place of the elements of a tensor, which may be a leaf that requires gradients. \
                Returns the tensor.")]
            #[pyfunction]
            #[pyo3(signature = (tensor, $($arg=$default,)* *, generator=None))]
            fn $in_place<'py>(
                tensor: Bound<'py, PyTensor>,
                $($arg: $ty,)*
                generator: Option<&Bound<'py, PyAny>>,
            ) -> PyResult<Bound<'py, PyTensor>> {
                let py = tensor.py();
                Target::Old(tensor).fill(py, generator, move |$shape, $dtype, $random| $make)
            }
        )*

        fn add_all(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(
                module.add_function(wrap_pyfunction!($name, module)?)?;
                module.add_function(wrap_pyfunction!($in_place, module)?)?;
            )*
            Ok(())
        }
    };
}

/// `'fan_in'` or `'fan_out'`.
fn fan(mode: &str) -> pullback::Result<Fan> {
    match mode {
        "fan_in" => Ok(Fan::In),
        "fan_out" => Ok(Fan::Out),
        other => {
            let text = format!("init: expected the mode 'fan_in' or 'fan_out', got '{other}'");
            Err(Error::new(ErrorKind::Value, text))
        }
    }
}

/// The function behind a layer by its name, and the slope of `leaky_relu`.
fn gain_of(nonlinearity: &str, slope: f64) -> pullback::Result<Gain> {
    match nonlinearity {
        "linear" | "sigmoid" | "conv1d" | "conv2d" | "conv3d" | "conv_transpose1d" | "conv_transpose2d"
        | "conv_transpose3d" => Ok(Gain::Linear),
        "tanh" => Ok(Gain::Tanh),
        "relu" => Ok(Gain::Relu),
        "leaky_relu" => Ok(Gain::LeakyRelu(slope)),
        "selu" => Ok(Gain::Selu),
        other => {
            let text = format!(
                "init: expected the nonlinearity 'linear', 'sigmoid', 'tanh', 'relu', 'leaky_relu', 'selu' or a \
                 convolution, got '{other}'"
            );
            Err(Error::new(ErrorKind::Value, text))
        }
    }
}

/// Where PyTorch cuts off a normal distribution.
const LOW: f64 = -2.0;

initializers! {
    /// Numbers uniform in [`a`, `b`).
    ///
    /// Raises ValueError unless `a` is at most `b`.
    ///
    /// >>> pullback.init.uniform((2, 3)).shape
    /// (2, 3)
    uniform, uniform_(a: f64 = 0.0, b: f64 = 1.0),
        |shape, dtype, random| init::uniform(shape, a, b, dtype, random);

    /// Numbers of a normal distribution.
    ///
    /// Raises ValueError if `std` is negative.
    normal, normal_(mean: f64 = 0.0, std: f64 = 1.0),
        |shape, dtype, random| init::normal(shape, mean, std, dtype, random);

    /// Numbers of a normal distribution, of which only those in [`a`, `b`] are taken, from -2 to 2 unless given.
    ///
    /// Raises ValueError if the distribution does not reach the interval.
    trunc_normal, trunc_normal_(mean: f64 = 0.0, std: f64 = 1.0, a: f64 = LOW, b: f64 = 2.0),
        |shape, dtype, random| init::trunc_normal(shape, mean, std, a, b, dtype, random);

    /// Numbers uniform around 0, so that activations and gradients keep their size: Glorot and Bengio, 2010.
    ///
    /// Raises ValueError for a shape of less than two dimensions.
    ///
    /// >>> w = pullback.init.xavier_uniform((4, 2))
    /// >>> w.abs().max().item() <= 1.0
    /// True
    xavier_uniform, xavier_uniform_(gain: f64 = 1.0),
        |shape, dtype, random| init::xavier_uniform(shape, dtype, Gain::Factor(gain), random);

    /// Numbers of a normal distribution, so that activations and gradients keep their size: Glorot and Bengio, 2010.
    xavier_normal, xavier_normal_(gain: f64 = 1.0),
        |shape, dtype, random| init::xavier_normal(shape, dtype, Gain::Factor(gain), random);

    /// Numbers uniform around 0, for layers before a `relu` or another function: He et al., 2015.
    ///
    /// a: the slope of the `leaky_relu` behind the layer.
    /// mode: `'fan_in'` keeps the size of activations, `'fan_out'` that of gradients.
    /// nonlinearity: the function behind the layer, as for `calculate_gain`.
    kaiming_uniform, kaiming_uniform_(a: f64 = 0.0, mode: &str = "fan_in", nonlinearity: &str = "leaky_relu"),
        |shape, dtype, random| init::kaiming_uniform(shape, dtype, fan(mode)?, gain_of(nonlinearity, a)?, random);

    /// Numbers of a normal distribution, for layers before a `relu` or another function: He et al., 2015. See `kaiming_uniform`.
    kaiming_normal, kaiming_normal_(a: f64 = 0.0, mode: &str = "fan_in", nonlinearity: &str = "leaky_relu"),
        |shape, dtype, random| init::kaiming_normal(shape, dtype, fan(mode)?, gain_of(nonlinearity, a)?, random);

    /// A matrix whose rows or columns, whichever are fewer, are perpendicular and of length `gain`: Saxe et al., 2013. Further
    /// dimensions count as one with the second.
    orthogonal, orthogonal_(gain: f64 = 1.0),
        |shape, dtype, random| init::orthogonal(shape, dtype, Gain::Factor(gain), random);

    /// The weight of a convolution that gives back its input, as far as there are channels.
    dirac, dirac_(groups: usize = 1), |shape, dtype, _random| init::dirac(shape, groups, dtype);

    /// A matrix of which each column has a part `sparsity` of zeros, and numbers of a normal distribution else: Martens, 2010.
    sparse, sparse_(sparsity: f64 = 0.5, std: f64 = 0.01),
        |shape, dtype, random| init::sparse(shape, sparsity, std, dtype, random);

    /// The number everywhere.
    constant, constant_(val: f64 = 0.0), |shape, dtype, _random| Tensor::full(shape, val, dtype);

    /// Ones everywhere.
    ones, ones_(), |shape, dtype, _random| Tensor::ones(shape, dtype);

    /// Zeros everywhere.
    zeros, zeros_(), |shape, dtype, _random| Tensor::zeros(shape, dtype);
}

/// The factor by which a weight makes up for the function behind its layer.
///
/// param: the slope of `leaky_relu`.
///
/// Raises ValueError for a name that is not known.
///
/// >>> pullback.init.calculate_gain('tanh')
/// 1.6666666666666667
#[pyfunction]
#[pyo3(signature = (nonlinearity, param=None))]
fn calculate_gain(nonlinearity: &str, param: Option<f64>) -> PyResult<f64> {
    Ok(init::calculate_gain(gain_of(nonlinearity, param.unwrap_or(0.01)).or_raise()?))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let inner = PyModule::new(module.py(), "pullback.init")?;
    add_all(&inner)?;
    inner.add_function(wrap_pyfunction!(calculate_gain, &inner)?)?;
    module.add("_init", inner)
}
