//! Rows of a table by number.

use crate::array::Array;
use crate::error::bail;
use crate::kernels::classes::position;
use crate::kernels::copy::contiguous;
use crate::ops::discrete::{Discrete, discrete};
use crate::ops::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::shape::Shape;
use crate::{DType, ErrorKind, Result, Tensor};

ops! { OPS;
    /// The rows of the table `weight` that the elements name.
    ///
    /// # Shapes
    /// Numbers `[..]` and a table `[rows, size]` give `[.., size]`.
    ///
    /// # Dtypes
    /// Integers for the numbers, any for the table.
    ///
    /// # Derivative
    /// The cotangent of each row is the sum of those of the places where it went; that of row `padding_idx` is zero.
    ///
    /// # Batching
    /// With numbers of each lane, the table is not repeated.
    ///
    /// # Errors
    /// `Index` if a number is negative or not below the number of rows; `Value` if `padding_idx` is; `Shape` if the table is not 2-d;
    /// `Dtype` unless the elements are integers.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let table = Tensor::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    /// let rows = Tensor::from([2i64, 0]).embedding(&table, None)?;
    /// assert_eq!(rows.to_vec::<f64>()?, [5.0, 6.0, 1.0, 2.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn embedding(&self, weight: &Tensor, padding_idx: Option<usize>) -> Result<Tensor> = embedding {
        samples: samples, errors: errors
    };
}

/// Numbers of rows that have been checked, as `i64`.
#[derive(Clone, Debug)]
struct Rows {
    rows: usize,
    /// How many of the first dimensions are lanes.
    lanes: usize,
}

impl Discrete for Rows {
    const NAME: &'static str = "embedding";
    fn kernel(&self, x: &Array) -> Result<Array> {
        let x = contiguous(&crate::kernels::cast::cast(x, DType::I64));
        let values = x.as_slice::<i64>().unwrap_or_default();
        if let Some(k) = values.iter().position(|&v| v as u64 >= self.rows as u64) {
            let at = position(x.shape(), k, self.lanes);
            bail!(
                Index,
                "embedding: expected numbers from 0 to below {}, the number of rows, got {}{at}",
                self.rows,
                values[k]
            );
        }
        Ok(x)
    }
    fn batched(&self) -> Rows {
        Rows { lanes: self.lanes + 1, ..*self }
    }
}

fn embedding(x: &Tensor, weight: &Tensor, padding_idx: Option<usize>) -> Result<Tensor> {
    if !x.dtype().is_int() {
        bail!(Dtype, "embedding: expected integers, got {}", x.ty());
    }
    let &[rows, size] = weight.shape() else {
        bail!(Shape, "embedding: expected a table [rows, size], got {}", weight.ty());
    };
    if let Some(n) = padding_idx.filter(|&n| n >= rows) {
        bail!(Value, "embedding: expected a padding_idx below {rows}, the number of rows, got {n}");
    }
    let x = discrete(Rows { rows, lanes: 0 }, x)?;
    let mut shape = Shape::from_slice(x.shape());
    shape.push(size);
    crate::tensor::checked_numel("embedding", &shape)?;
    let found = weight.index_select(0, &x.reshape_to(&[x.numel()])?)?.reshape_to(&shape)?;
    match padding_idx {
        None => Ok(found),
        Some(n) => x.eq(n as i64)?.unsqueeze(-1)?.where_(&found.detach()?, &found),
    }
}

fn samples() -> Vec<Sample> {
    let case = |label: &str, places: &[i64], shape: &[usize], table: &[usize]| {
        let places = Tensor::from_slice(places, shape).expect("as many numbers");
        Sample::one(label, [places, sample_tensor(table, -1.0, 1.0, 1)], |x| x[0].embedding(&x[1], None)).reference(
            |x| {
                let shape = [&x[0].shape[..], &x[1].shape[1..]].concat();
                vec![Naive::from_fn(&shape, |i| {
                    let (column, place) = i.split_last().expect("a dimension");
                    x[1].at(&[x[0].at(place) as usize, *column])
                })]
            },
        )
    };
    let padded = Sample::one("padding", [sample_tensor(&[3, 2], -1.0, 1.0, 1)], |x| {
        // Without the row that has no derivative.
        let y = Tensor::from([0i64, 2, 0]).embedding(&x[0], Some(1))?;
        Ok(y)
    })
    .reference(|x| {
        let shape = [3, 2];
        vec![Naive::from_fn(&shape, |i| x[0].at(&[[0, 2, 0][i[0]], i[1]]))]
    });
    vec![
        case("vector", &[2, 0, 2], &[3], &[3, 2]),
        case("matrix", &[1, 0, 3, 3], &[2, 2], &[4, 3]),
        case("0-d", &[1], &[], &[2, 3]),
        case("empty", &[], &[0], &[2, 3]),
        padded,
    ]
}

fn errors() -> Vec<ErrorSample> {
    let table = || sample_tensor(&[3, 2], 0.0, 1.0, 1);
    vec![
        ErrorSample::new(
            "range",
            ErrorKind::Index,
            "embedding: expected numbers from 0 to below 3, the number of rows, got 3 at \
            position [1]",
            move || Tensor::from([0i64, 3]).embedding(&table(), None),
        ),
        ErrorSample::new("negative", ErrorKind::Index, "got -1 at position [0]", move || {
            Tensor::from([-1i64]).embedding(&table(), None)
        }),
        ErrorSample::new("table", ErrorKind::Shape, "embedding: expected a table [rows, size], got f64[3]", || {
            Tensor::from([0i64]).embedding(&Tensor::from([1.0, 2.0, 3.0]), None)
        }),
        ErrorSample::new(
            "padding",
            ErrorKind::Value,
            "expected a padding_idx below 3, the number of rows, got 3",
            move || Tensor::from([0i64]).embedding(&table(), Some(3)),
        ),
        ErrorSample::new("dtype", ErrorKind::Dtype, "embedding: expected integers, got f64[1]", move || {
            Tensor::from([0.0]).embedding(&table(), None)
        }),
    ]
}
