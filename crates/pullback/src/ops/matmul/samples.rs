//! Samples of the products, with naive references.

use crate::ErrorKind::{self, Dtype, Shape};
use crate::ops::table::{ErrorSample, Naive, Sample, sample_tensor};
use crate::{DType, Result, Tensor};

type Shapes = &'static [usize];

/// The product of `[.., m, k]` and `[.., k, n]` by three loops; 1-d operands as a row and as a column.
pub(super) fn naive_matmul(a: &Naive, b: &Naive) -> Naive {
    let (row, column) = (a.shape.len() == 1, b.shape.len() == 1);
    let full = |x: &Naive, at: usize| {
        let mut shape = x.shape.clone();
        if shape.len() == 1 {
            shape.insert(at, 1);
        }
        Naive { shape, data: x.data.clone() }
    };
    let (a, b) = (full(a, 0), full(b, 1));
    let (ra, rb) = (a.shape.len(), b.shape.len());
    let k = a.shape[ra - 1];
    let mut shape =
        crate::shape::broadcast(&a.shape[..ra - 2], &b.shape[..rb - 2]).expect("samples broadcast").to_vec();
    shape.extend([a.shape[ra - 2], b.shape[rb - 1]]);
    let at = shape.len() - 2;
    let mut product = Naive::from_fn(&shape, |i| {
        let element = |p: usize| {
            let (mut x, mut y) = (i.to_vec(), i.to_vec());
            x[at + 1] = p;
            y[at] = p;
            a.at_broadcast(&x) * b.at_broadcast(&y)
        };
        (0..k).map(element).sum()
    });
    if column {
        product.shape.remove(at + 1);
    }
    if row {
        product.shape.remove(at);
    }
    product
}

/// Samples of a product of two tensors of each pair of shapes.
fn products(
    shapes: &[(Shapes, Shapes)],
    call: fn(&Tensor, &Tensor) -> Result<Tensor>,
    reference: fn(&Naive, &Naive) -> Naive,
) -> Vec<Sample> {
    let sample = |&(a, b): &(Shapes, Shapes)| {
        let inputs = [sample_tensor(a, -1.0, 1.0, 1), sample_tensor(b, -1.0, 1.0, 2)];
        Sample::one(format!("{a:?} {b:?}"), inputs, move |x| call(&x[0], &x[1]))
            .reference(move |x| vec![reference(&x[0], &x[1])])
    };
    shapes.iter().map(sample).collect()
}

/// Two tensors of integers, whose product is exact.
fn integers(
    a: Shapes,
    b: Shapes,
    call: fn(&Tensor, &Tensor) -> Result<Tensor>,
    reference: fn(&Naive, &Naive) -> Naive,
) -> Sample {
    let whole = |shape, seed| sample_tensor(shape, -9.0, 9.0, seed).to_dtype(DType::I32).expect("any dtype converts");
    Sample::one("integers", [whole(a, 1), whole(b, 2)], move |x| call(&x[0], &x[1]))
        .reference(move |x| vec![reference(&x[0], &x[1])])
        .not_differentiable()
}

/// A call with tensors of two types that must fail.
fn failing(
    label: &str,
    kind: ErrorKind,
    message: &'static str,
    (a, b): ((Shapes, DType), (Shapes, DType)),
    call: fn(&Tensor, &Tensor) -> Result<Tensor>,
) -> ErrorSample {
    ErrorSample::new(label, kind, message, move || call(&Tensor::ones(a.0, a.1)?, &Tensor::ones(b.0, b.1)?))
}

pub(super) fn matmul() -> Vec<Sample> {
    let mut samples = products(
        &[
            (&[3], &[3]),
            (&[3], &[3, 2]),
            (&[2, 3], &[3]),
            (&[2, 3], &[3, 4]),
            (&[3], &[2, 3, 4]),
            (&[2, 3, 4], &[4]),
            (&[5, 2, 3], &[3, 4]),
            (&[2, 3], &[5, 3, 4]),
            (&[2, 2, 3], &[2, 3, 2]),
            (&[2, 1, 2, 3], &[3, 3, 2]),
            (&[2, 1, 2, 3], &[1, 4, 3, 2]),
            (&[1, 2, 3], &[1, 3, 2]),
            (&[1, 2, 3], &[4, 3, 2]),
            (&[2, 1], &[1, 3]),
            (&[1, 1], &[1, 1]),
            (&[2, 0], &[0, 3]),
            (&[0, 3], &[3, 2]),
            (&[0, 2, 3], &[3, 2]),
            (&[0], &[0]),
        ],
        Tensor::matmul,
        naive_matmul,
    );
    samples.push(integers(&[2, 3], &[3, 4], Tensor::matmul, naive_matmul));
    samples
}

pub(super) fn matmul_errors() -> Vec<ErrorSample> {
    use DType::{Bool, F32, F64};
    vec![
        failing(
            "inner dimensions",
            Shape,
            "matmul: inner dimensions must match, got lhs f32[4,3] and rhs f32[2,5] (3 vs 2)",
            ((&[4, 3], F32), (&[2, 5], F32)),
            Tensor::matmul,
        ),
        failing(
            "vectors",
            Shape,
            "matmul: inner dimensions must match, got lhs f32[4] and rhs f64[3] (4 vs 3)",
            ((&[4], F32), (&[3], F64)),
            Tensor::matmul,
        ),
        failing(
            "leading dimensions",
            Shape,
            "matmul: leading dimensions must broadcast, got lhs f32[2,3,4] and rhs f32[5,4,2]",
            ((&[2, 3, 4], F32), (&[5, 4, 2], F32)),
            Tensor::matmul,
        ),
        failing(
            "0-d",
            Shape,
            "expected at least one dimension, got lhs f32[2] and rhs f32[]; help: use `mul`",
            ((&[2], F32), (&[], F32)),
            Tensor::matmul,
        ),
        failing(
            "bool",
            Dtype,
            "matmul: expected numbers, got bool[2,2]",
            ((&[2, 2], Bool), (&[2, 2], F32)),
            Tensor::matmul,
        ),
    ]
}

fn naive_dot(a: &Naive, b: &Naive) -> Naive {
    Naive { shape: vec![], data: vec![a.data.iter().zip(&b.data).map(|(x, y)| x * y).sum()] }
}

pub(super) fn dot() -> Vec<Sample> {
    let mut samples = products(&[(&[5], &[5]), (&[1], &[1]), (&[0], &[0])], Tensor::dot, naive_dot);
    samples.push(integers(&[4], &[4], Tensor::dot, naive_dot));
    samples
}

pub(super) fn dot_errors() -> Vec<ErrorSample> {
    use DType::{Bool, F64};
    vec![
        failing(
            "lengths",
            Shape,
            "dot: lengths must match, got lhs f64[3] and rhs f64[4] (3 vs 4)",
            ((&[3], F64), (&[4], F64)),
            Tensor::dot,
        ),
        failing(
            "matrix",
            Shape,
            "dot: expected two 1-d tensors, got lhs f64[2,3] and rhs f64[3]; help: use `matmul`",
            ((&[2, 3], F64), (&[3], F64)),
            Tensor::dot,
        ),
        failing("bool", Dtype, "dot: expected numbers", ((&[2], Bool), (&[2], Bool)), Tensor::dot),
    ]
}

fn naive_outer(a: &Naive, b: &Naive) -> Naive {
    Naive::from_fn(&[a.data.len(), b.data.len()], |i| a.data[i[0]] * b.data[i[1]])
}

pub(super) fn outer() -> Vec<Sample> {
    let mut samples =
        products(&[(&[2], &[3]), (&[1], &[3]), (&[3], &[1]), (&[1], &[1]), (&[0], &[2])], Tensor::outer, naive_outer);
    samples.push(integers(&[2], &[3], Tensor::outer, naive_outer));
    samples
}

pub(super) fn outer_errors() -> Vec<ErrorSample> {
    use DType::{Bool, F64};
    vec![
        failing(
            "0-d",
            Shape,
            "outer: expected two 1-d tensors, got lhs f64[] and rhs f64[3]",
            ((&[], F64), (&[3], F64)),
            Tensor::outer,
        ),
        failing("bool", Dtype, "outer: expected numbers", ((&[2], Bool), (&[2], F64)), Tensor::outer),
        ErrorSample::new(
            "too large",
            Shape,
            "outer: a tensor of shape [1099511627776,1099511627776] is too large",
            || {
                let x = Tensor::ones(&[1], F64)?.expand(&[1 << 40])?;
                x.outer(&x)
            },
        ),
    ]
}

pub(super) fn linear() -> Vec<Sample> {
    let shapes: &[(Shapes, Shapes)] = &[
        (&[3], &[2, 3]),
        (&[4, 3], &[2, 3]),
        (&[2, 4, 3], &[2, 3]),
        (&[4, 3], &[1, 3]),
        (&[4, 1], &[2, 1]),
        (&[1, 3], &[2, 3]),
        (&[0, 3], &[2, 3]),
        (&[4, 0], &[2, 0]),
    ];
    let sample = |&(x, w): &(Shapes, Shapes), with_bias: bool| {
        let mut inputs = vec![sample_tensor(x, -1.0, 1.0, 1), sample_tensor(w, -1.0, 1.0, 2)];
        if with_bias {
            inputs.push(sample_tensor(&w[..1], -1.0, 1.0, 3));
        }
        let label = format!("{x:?} {w:?}{}", if with_bias { " with bias" } else { "" });
        Sample::one(label, inputs, |x| x[0].linear(&x[1], x.get(2))).reference(|x| {
            let (input, w) = (&x[0], &x[1]);
            let mut shape = input.shape.clone();
            let last = shape.len() - 1;
            shape[last] = w.shape[0];
            vec![Naive::from_fn(&shape, |i| {
                let element = |p: usize| {
                    let mut at = i.to_vec();
                    at[last] = p;
                    input.at(&at) * w.at(&[i[last], p])
                };
                (0..w.shape[1]).map(element).sum::<f64>() + x.get(2).map_or(0.0, |b| b.at(&[i[last]]))
            })]
        })
    };
    [false, true].into_iter().flat_map(|bias| shapes.iter().map(move |s| sample(s, bias))).collect()
}

pub(super) fn linear_errors() -> Vec<ErrorSample> {
    use DType::{Bool, F32};
    fn without_bias(x: &Tensor, w: &Tensor) -> Result<Tensor> {
        x.linear(w, None)
    }
    fn bias_of_three(x: &Tensor, w: &Tensor) -> Result<Tensor> {
        x.linear(w, Some(&Tensor::from([0.0f32; 3])))
    }
    vec![
        failing(
            "sizes",
            Shape,
            "must match, got input f32[4,3] and weight f32[2,5] (3 vs 5)",
            ((&[4, 3], F32), (&[2, 5], F32)),
            without_bias,
        ),
        failing("0-d input", Shape, "got input f32[] and weight f32[2,5]", ((&[], F32), (&[2, 5], F32)), without_bias),
        failing(
            "weight",
            Shape,
            "expected an input [.., in] and a weight [out, in], got input f32[5] and weight f32[5]",
            ((&[5], F32), (&[5], F32)),
            without_bias,
        ),
        failing(
            "bias",
            Shape,
            "expected a bias of 2 elements, one for each row of the weight f32[2,5], got f32[3]",
            ((&[5], F32), (&[2, 5], F32)),
            bias_of_three,
        ),
        failing("bool", Dtype, "linear: expected numbers, got bool[2,5]", ((&[5], F32), (&[2, 5], Bool)), without_bias),
    ]
}
