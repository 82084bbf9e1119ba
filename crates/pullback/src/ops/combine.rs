//! Sums with factors: a tensor, and a multiple of another one, of a product or of a quotient.

use super::arith::with_common_dtype;
use super::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::shape::broadcast;
use crate::tensor::Operand;
use crate::{ErrorKind, Result, Tensor};

ops! { OPS;
    /// The tensor plus `alpha·rhs`.
    ///
    /// # Shapes
    /// All operands broadcast against each other.
    ///
    /// # Dtypes
    /// Numbers, promoted by the table of [`DType`](crate::DType).
    ///
    /// # Derivative
    /// That of the formula.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; `Value` for a number that the integer dtype of the tensor cannot hold.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([1.0, 2.0]).add_scaled(&Tensor::from([10.0, 20.0]), -0.5)?.to_vec::<f64>()?, [-4.0, -8.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn add_scaled(&self, rhs: impl Operand, alpha: impl Operand) -> Result<Tensor> = add_scaled {
        samples: add_scaled_samples, errors: add_scaled_errors,
        python: add(rhs, alpha)
    };

    /// The tensor minus `alpha·rhs`.
    ///
    /// # Shapes
    /// All operands broadcast against each other.
    ///
    /// # Dtypes
    /// Numbers, promoted by the table of [`DType`](crate::DType).
    ///
    /// # Derivative
    /// That of the formula.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; `Value` for a number that the integer dtype of the tensor cannot hold.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([1.0, 2.0]).sub_scaled(&Tensor::from([10.0, 20.0]), 0.5)?.to_vec::<f64>()?, [-4.0, -8.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn sub_scaled(&self, rhs: impl Operand, alpha: impl Operand) -> Result<Tensor> = sub_scaled {
        samples: sub_scaled_samples, errors: sub_scaled_errors,
        python: sub(rhs, alpha)
    };

    /// The tensor plus `value·tensor1·tensor2`, elementwise.
    ///
    /// # Shapes
    /// All tensors broadcast against each other.
    ///
    /// # Dtypes
    /// Numbers, promoted by the table of [`DType`](crate::DType).
    ///
    /// # Derivative
    /// That of the formula.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; `Value` for a number that the integer dtype of the tensors cannot hold.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([2.0, 3.0]);
    /// assert_eq!(x.addcmul(&x, &x, 0.5)?.to_vec::<f64>()?, [4.0, 7.5]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn addcmul(&self, tensor1: &Tensor, tensor2: &Tensor, value: impl Operand) -> Result<Tensor> = addcmul {
        samples: addcmul_samples,
        python: addcmul(tensor1, tensor2, value = 1)
    };

    /// The tensor plus `value·tensor1/tensor2`, elementwise.
    ///
    /// # Shapes
    /// All tensors broadcast against each other.
    ///
    /// # Dtypes
    /// Numbers, promoted by the table of [`DType`](crate::DType); integers are divided as floats.
    ///
    /// # Derivative
    /// That of the formula.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([2.0, 3.0]);
    /// assert_eq!(x.addcdiv(&x, &x, 0.5)?.to_vec::<f64>()?, [2.5, 3.5]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn addcdiv(&self, tensor1: &Tensor, tensor2: &Tensor, value: impl Operand) -> Result<Tensor> = addcdiv {
        samples: addcdiv_samples,
        python: addcdiv(tensor1, tensor2, value = 1)
    };
}

/// `rhs·alpha` as an operand beside `x`.
fn multiple(op: &str, x: &Tensor, rhs: impl Operand, alpha: impl Operand) -> Result<Tensor> {
    let rhs = rhs.into_operand(op, x.dtype())?;
    alpha
        .with_operand(op, rhs.dtype(), |alpha| with_common_dtype(&rhs, alpha, false, |a, b| a.mul(b)))
        .map_err(|e| e.renamed("mul", op))
}

fn add_scaled(x: &Tensor, rhs: impl Operand, alpha: impl Operand) -> Result<Tensor> {
    x.add(multiple("add", x, rhs, alpha)?)
}

fn sub_scaled(x: &Tensor, rhs: impl Operand, alpha: impl Operand) -> Result<Tensor> {
    x.sub(multiple("sub", x, rhs, alpha)?)
}

fn addcmul(x: &Tensor, a: &Tensor, b: &Tensor, value: impl Operand) -> Result<Tensor> {
    let op = "addcmul";
    let product = a.mul(b).map_err(|e| e.renamed("mul", op))?;
    x.add(multiple(op, &product, &product, value)?).map_err(|e| e.renamed("add", op))
}

fn addcdiv(x: &Tensor, a: &Tensor, b: &Tensor, value: impl Operand) -> Result<Tensor> {
    let op = "addcdiv";
    let quotient = a.div(b).map_err(|e| e.renamed("div", op))?;
    x.add(multiple(op, &quotient, &quotient, value)?).map_err(|e| e.renamed("add", op))
}

/// Samples of tensors of shapes that broadcast.
fn samples(
    count: usize,
    call: impl Fn(&[Tensor]) -> Result<Tensor> + Copy + Send + Sync + 'static,
    reference: fn(&[f64]) -> f64,
) -> Vec<Sample> {
    let cases: [[&[usize]; 3]; 4] = [[&[2, 3]; 3], [&[2, 3], &[3], &[2, 1]], [&[]; 3], [&[0, 2], &[2], &[]]];
    let sample = |shapes: &[&[usize]]| {
        let inputs: Vec<Tensor> = shapes.iter().zip(1..).map(|(s, seed)| sample_tensor(s, 0.5, 2.0, seed)).collect();
        Sample::one(format!("{shapes:?}"), inputs, call).reference(move |x| {
            let shape = x.iter().try_fold(crate::Shape::new(), |s, x| broadcast(&s, &x.shape));
            let of = |i: &[usize]| reference(&x.iter().map(|x| x.at_broadcast(i)).collect::<Vec<_>>());
            vec![Naive::from_fn(&shape.expect("samples broadcast"), of)]
        })
    };
    cases.iter().map(|shapes| sample(&shapes[..count])).collect()
}

fn add_scaled_samples() -> Vec<Sample> {
    let mut all = samples(2, |x| x[0].add_scaled(&x[1], -2), |x| x[0] - 2.0 * x[1]);
    all.extend(samples(3, |x| x[0].add_scaled(&x[1], &x[2]), |x| x[0] + x[1] * x[2]));
    all
}

fn sub_scaled_samples() -> Vec<Sample> {
    samples(2, |x| x[0].sub_scaled(&x[1], -2), |x| x[0] + 2.0 * x[1])
}

fn addcmul_samples() -> Vec<Sample> {
    samples(3, |x| x[0].addcmul(&x[1], &x[2], -2), |x| x[0] - 2.0 * x[1] * x[2])
}

fn addcdiv_samples() -> Vec<Sample> {
    samples(3, |x| x[0].addcdiv(&x[1], &x[2], 3), |x| x[0] + 3.0 * x[1] / x[2])
}

fn shape_errors(call: fn(&Tensor, &Tensor) -> Result<Tensor>) -> Vec<ErrorSample> {
    let (x, y) = (sample_tensor(&[2], 0.0, 1.0, 1), sample_tensor(&[3], 0.0, 1.0, 1));
    vec![ErrorSample::new("shapes", ErrorKind::Shape, "shapes must broadcast", move || call(&x, &y))]
}

fn add_scaled_errors() -> Vec<ErrorSample> {
    shape_errors(|x, y| x.add_scaled(y, 2.0))
}

fn sub_scaled_errors() -> Vec<ErrorSample> {
    shape_errors(|x, y| x.sub_scaled(y, 2.0))
}
