//! Tensors put side by side as rows, columns or layers, and the dimensions that they get for it.

use super::join::cat;
use super::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::error::bail;
use crate::{ErrorKind, Result, Tensor};

ops! { OPS;
    /// The tensor with at least one dimension: a 0-d tensor becomes a vector.
    ///
    /// # Shapes
    /// `[]` gives `[1]`; others stay.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The cotangent, in the shape of the tensor.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from(3).atleast_1d()?.shape(), [1]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn atleast_1d(&self) -> Result<Tensor> = atleast_1d {
        samples: atleast_1d_samples,
        python: function::atleast_1d(self as input)
    };

    /// The tensor with at least two dimensions: a vector becomes a row.
    ///
    /// # Shapes
    /// `[]` gives `[1, 1]` and `[n]` gives `[1, n]`; others stay.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The cotangent, in the shape of the tensor.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([1, 2]).atleast_2d()?.shape(), [1, 2]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn atleast_2d(&self) -> Result<Tensor> = atleast_2d {
        samples: atleast_2d_samples,
        python: function::atleast_2d(self as input)
    };

    /// The tensor with at least three dimensions: a matrix becomes a layer of thickness 1.
    ///
    /// # Shapes
    /// `[]` gives `[1, 1, 1]`, `[n]` gives `[1, n, 1]` and `[m, n]` gives `[m, n, 1]`; others stay.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The cotangent, in the shape of the tensor.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([1, 2]).atleast_3d()?.shape(), [1, 2, 1]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn atleast_3d(&self) -> Result<Tensor> = atleast_3d {
        samples: atleast_3d_samples,
        python: function::atleast_3d(self as input)
    };

    /// The tensors side by side: vectors one after the other, others along dimension 1.
    ///
    /// # Shapes
    /// All alike except along that dimension, at least one tensor. 0-d tensors are vectors of one element.
    ///
    /// # Dtypes
    /// All, promoted to a common one; see [`DType`](crate::DType).
    ///
    /// # Derivative
    /// Each tensor's part of the cotangent.
    ///
    /// # Errors
    /// `Arity` for no tensor; `Shape` if other sizes differ.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, hstack};
    /// let (x, y) = (Tensor::from([[1], [2]]), Tensor::from([[3, 4], [5, 6]]));
    /// assert_eq!(hstack(&[&x, &y])?.to_vec::<i32>()?, [1, 3, 4, 2, 5, 6]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn hstack(tensors: &[&Tensor]) -> Result<Tensor> = horizontal { samples: hstack_samples, errors: hstack_errors };

    /// The tensors below each other, along dimension 0; vectors are rows.
    ///
    /// # Shapes
    /// All alike except along that dimension, at least one tensor. 0-d tensors are rows of one element.
    ///
    /// # Dtypes
    /// All, promoted to a common one; see [`DType`](crate::DType).
    ///
    /// # Derivative
    /// Each tensor's part of the cotangent.
    ///
    /// # Errors
    /// `Arity` for no tensor; `Shape` if other sizes differ.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, vstack};
    /// let x = vstack(&[&Tensor::from([1, 2]), &Tensor::from([[3, 4], [5, 6]])])?;
    /// assert_eq!(x.shape(), [3, 2]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn vstack(tensors: &[&Tensor]) -> Result<Tensor> = vertical {
        samples: vstack_samples, errors: vstack_errors,
        python: vstack(tensors),
        python: row_stack(tensors)
    };

    /// The tensors behind each other, along dimension 2; see [`atleast_3d`](Tensor::atleast_3d).
    ///
    /// # Shapes
    /// All alike except along that dimension, at least one tensor.
    ///
    /// # Dtypes
    /// All, promoted to a common one; see [`DType`](crate::DType).
    ///
    /// # Derivative
    /// Each tensor's part of the cotangent.
    ///
    /// # Errors
    /// `Arity` for no tensor; `Shape` if other sizes differ.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, dstack};
    /// let x = dstack(&[&Tensor::from([1, 2]), &Tensor::from([3, 4])])?;
    /// assert_eq!(x.shape(), [1, 2, 2]);
    /// assert_eq!(x.to_vec::<i32>()?, [1, 3, 2, 4]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn dstack(tensors: &[&Tensor]) -> Result<Tensor> = deep { samples: dstack_samples, errors: dstack_errors };

    /// The tensors side by side along dimension 1; vectors are columns.
    ///
    /// # Shapes
    /// All alike except along that dimension, at least one tensor. 0-d tensors are columns of one element.
    ///
    /// # Dtypes
    /// All, promoted to a common one; see [`DType`](crate::DType).
    ///
    /// # Derivative
    /// Each tensor's part of the cotangent.
    ///
    /// # Errors
    /// `Arity` for no tensor; `Shape` if other sizes differ.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, column_stack};
    /// let x = column_stack(&[&Tensor::from([1, 2]), &Tensor::from([3, 4])])?;
    /// assert_eq!(x.to_vec::<i32>()?, [1, 3, 2, 4]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn column_stack(tensors: &[&Tensor]) -> Result<Tensor> = columns {
        samples: column_stack_samples, errors: column_stack_errors
    };
}

fn atleast_1d(x: &Tensor) -> Result<Tensor> {
    if x.rank() == 0 { x.reshape_to(&[1]) } else { x.unchanged("atleast_1d") }
}

fn atleast_2d(x: &Tensor) -> Result<Tensor> {
    if x.rank() < 2 { x.reshape_to(&[1, x.numel()]) } else { x.unchanged("atleast_2d") }
}

fn atleast_3d(x: &Tensor) -> Result<Tensor> {
    match *x.shape() {
        [] => x.reshape_to(&[1, 1, 1]),
        [n] => x.reshape_to(&[1, n, 1]),
        [m, n] => x.reshape_to(&[m, n, 1]),
        _ => x.unchanged("atleast_3d"),
    }
}

/// The tensors along `dim`, each raised to enough dimensions.
fn joined(op: &str, tensors: &[&Tensor], dim: isize, raised: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    if tensors.is_empty() {
        bail!(Arity, "{op}: expected at least one tensor, got none");
    }
    let raised = tensors.iter().map(|t| raised(t)).collect::<Result<Vec<_>>>()?;
    cat(&raised.iter().collect::<Vec<_>>(), dim).map_err(|e| e.renamed("cat", op))
}

fn horizontal(tensors: &[&Tensor]) -> Result<Tensor> {
    let dim = isize::from(tensors.first().is_some_and(|t| t.rank() > 1));
    joined("hstack", tensors, dim, atleast_1d)
}

fn vertical(tensors: &[&Tensor]) -> Result<Tensor> {
    joined("vstack", tensors, 0, atleast_2d)
}

fn deep(tensors: &[&Tensor]) -> Result<Tensor> {
    joined("dstack", tensors, 2, atleast_3d)
}

fn columns(tensors: &[&Tensor]) -> Result<Tensor> {
    let column = |t: &Tensor| if t.rank() < 2 { t.reshape_to(&[t.numel(), 1]) } else { Ok(t.clone()) };
    joined("column_stack", tensors, 1, column)
}

type Shapes = &'static [usize];

/// Samples that only give the elements another shape.
fn reshaped(call: fn(&Tensor) -> Result<Tensor>, cases: &[(Shapes, Shapes)]) -> Vec<Sample> {
    let sample = |&(from, to): &(Shapes, Shapes)| {
        Sample::one(format!("{from:?}"), [sample_tensor(from, -1.0, 1.0, 1)], move |x| call(&x[0]))
            .reference(move |x| vec![Naive { shape: to.to_vec(), data: x[0].data.clone() }])
    };
    cases.iter().map(sample).collect()
}

fn atleast_1d_samples() -> Vec<Sample> {
    reshaped(Tensor::atleast_1d, &[(&[], &[1]), (&[2], &[2]), (&[2, 0], &[2, 0])])
}

fn atleast_2d_samples() -> Vec<Sample> {
    reshaped(Tensor::atleast_2d, &[(&[], &[1, 1]), (&[3], &[1, 3]), (&[2, 3], &[2, 3]), (&[0], &[1, 0])])
}

fn atleast_3d_samples() -> Vec<Sample> {
    let cases: &[(Shapes, Shapes)] =
        &[(&[], &[1, 1, 1]), (&[3], &[1, 3, 1]), (&[2, 3], &[2, 3, 1]), (&[2, 1, 3], &[2, 1, 3])];
    reshaped(Tensor::atleast_3d, cases)
}

type Join = fn(&[&Tensor]) -> Result<Tensor>;

/// Samples of tensors whose shapes are raised to `raised` and put together along a dimension.
fn join_samples(call: Join, cases: &[(&[Shapes], &'static [Shapes], usize)]) -> Vec<Sample> {
    let sample = |&(shapes, raised, dim): &(&[Shapes], &'static [Shapes], usize)| {
        let inputs: Vec<Tensor> = shapes.iter().zip(1..).map(|(s, seed)| sample_tensor(s, -1.0, 1.0, seed)).collect();
        Sample::one(format!("{shapes:?}"), inputs, move |x| call(&x.iter().collect::<Vec<_>>())).reference(move |x| {
            let mut shape = raised[0].to_vec();
            shape[dim] = raised.iter().map(|s| s[dim]).sum();
            vec![Naive::from_fn(&shape, |i| {
                let (mut part, mut at) = (0, i.to_vec());
                while at[dim] >= raised[part][dim] {
                    at[dim] -= raised[part][dim];
                    part += 1;
                }
                Naive { shape: raised[part].to_vec(), data: x[part].data.clone() }.at(&at)
            })]
        })
    };
    cases.iter().map(sample).collect()
}

fn hstack_samples() -> Vec<Sample> {
    let cases: &[(&[Shapes], &'static [Shapes], usize)] = &[
        (&[&[2], &[3]], &[&[2], &[3]], 0),
        (&[&[], &[2]], &[&[1], &[2]], 0),
        (&[&[2, 1], &[2, 3]], &[&[2, 1], &[2, 3]], 1),
        (&[&[2, 0, 2]], &[&[2, 0, 2]], 1),
    ];
    join_samples(hstack, cases)
}

fn vstack_samples() -> Vec<Sample> {
    let cases: &[(&[Shapes], &'static [Shapes], usize)] = &[
        (&[&[2], &[2]], &[&[1, 2], &[1, 2]], 0),
        (&[&[2], &[3, 2]], &[&[1, 2], &[3, 2]], 0),
        (&[&[], &[]], &[&[1, 1], &[1, 1]], 0),
    ];
    join_samples(vstack, cases)
}

fn dstack_samples() -> Vec<Sample> {
    let cases: &[(&[Shapes], &'static [Shapes], usize)] = &[
        (&[&[2], &[2]], &[&[1, 2, 1], &[1, 2, 1]], 2),
        (&[&[2, 3], &[2, 3, 2]], &[&[2, 3, 1], &[2, 3, 2]], 2),
        (&[&[], &[]], &[&[1, 1, 1], &[1, 1, 1]], 2),
    ];
    join_samples(dstack, cases)
}

fn column_stack_samples() -> Vec<Sample> {
    let cases: &[(&[Shapes], &'static [Shapes], usize)] =
        &[(&[&[2], &[2]], &[&[2, 1], &[2, 1]], 1), (&[&[2, 2], &[2]], &[&[2, 2], &[2, 1]], 1), (&[&[]], &[&[1, 1]], 1)];
    join_samples(column_stack, cases)
}

fn join_errors(call: Join, shape: &'static str, others: [Shapes; 2]) -> Vec<ErrorSample> {
    let [a, b] = others.map(|s| sample_tensor(s, 0.0, 1.0, 1));
    vec![
        ErrorSample::new("none", ErrorKind::Arity, "expected at least one tensor, got none", move || call(&[])),
        ErrorSample::new("shapes", ErrorKind::Shape, shape, move || call(&[&a, &b])),
    ]
}

fn hstack_errors() -> Vec<ErrorSample> {
    join_errors(hstack, "hstack: tensors must agree in every dim but 1", [&[2, 2], &[3, 2]])
}

fn vstack_errors() -> Vec<ErrorSample> {
    join_errors(vstack, "vstack: tensors must agree in every dim but 0", [&[2, 2], &[3]])
}

fn dstack_errors() -> Vec<ErrorSample> {
    join_errors(dstack, "dstack: tensors must agree in every dim but 2", [&[2, 2], &[3, 2]])
}

fn column_stack_errors() -> Vec<ErrorSample> {
    join_errors(column_stack, "column_stack: tensors must agree in every dim but 1", [&[2, 2], &[3]])
}
