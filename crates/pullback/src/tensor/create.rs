//! Making tensors: from Rust values, constant, and evenly spaced.

use std::ops::Range;

use super::Tensor;
use crate::array::Array;
use crate::dtype::{Element, Scalar};
use crate::kernels::cast;
use crate::shape::{Shape, numel};
use crate::{DType, Result, error::bail};

impl Tensor {
    /// A tensor of `shape` with the elements of `data` in row-major order.
    ///
    /// # Errors
    /// `Shape` if the number of elements is not that of the shape.
    ///
    /// ```
    /// use pullback::Tensor;
    /// let t = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
    /// assert_eq!(t.shape(), [2, 2]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn from_slice<T: Element>(data: &[T], shape: &[usize]) -> Result<Tensor> {
        if checked_numel("from_slice", shape)? != data.len() {
            let shape = crate::shape::Brackets(shape);
            bail!(Shape, "from_slice: expected {} elements for shape {shape}, got {}", numel(shape.0), data.len());
        }
        Ok(Array::from_slice(Shape::from_slice(shape), data).into())
    }

    /// Zeros (`false` for bool).
    ///
    /// # Errors
    /// `Shape` if the size overflows.
    pub fn zeros(shape: &[usize], dtype: DType) -> Result<Tensor> {
        Tensor::full(shape, 0, dtype)
    }

    /// Ones (`true` for bool).
    ///
    /// # Errors
    /// `Shape` if the size overflows.
    pub fn ones(shape: &[usize], dtype: DType) -> Result<Tensor> {
        Tensor::full(shape, 1, dtype)
    }

    /// Every element equal to `value`.
    ///
    /// # Errors
    /// `Shape` if the size overflows; `Dtype` for a complex number and a dtype that is not.
    ///
    /// ```
    /// use pullback::{DType, Tensor};
    /// assert_eq!(Tensor::full(&[2], 7, DType::I32)?.to_vec::<i32>()?, [7, 7]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn full(shape: &[usize], value: impl Into<Scalar>, dtype: DType) -> Result<Tensor> {
        checked_numel("full", shape)?;
        let value = value.into();
        if let Scalar::Complex(z) = value
            && !dtype.is_complex()
        {
            bail!(Dtype, "full: expected a complex dtype for {z}, got {dtype}");
        }
        Ok(cast::full(shape, value, dtype).into())
    }

    /// Ones on the main diagonal of a square matrix, zeros elsewhere.
    ///
    /// # Errors
    /// `Shape` if the size overflows.
    ///
    /// ```
    /// use pullback::{DType, Tensor};
    /// assert_eq!(Tensor::eye(2, DType::I32)?.to_vec::<i32>()?, [1, 0, 0, 1]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn eye(n: usize, dtype: DType) -> Result<Tensor> {
        Tensor::eye_m(n, n, dtype)
    }

    /// Ones on the main diagonal of an `n × m` matrix, zeros elsewhere.
    ///
    /// # Errors
    /// `Shape` if the size overflows.
    ///
    /// ```
    /// use pullback::{DType, Tensor};
    /// assert_eq!(Tensor::eye_m(2, 3, DType::I32)?.to_vec::<i32>()?, [1, 0, 0, 0, 1, 0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn eye_m(n: usize, m: usize, dtype: DType) -> Result<Tensor> {
        checked_numel("eye", &[n, m])?;
        Ok(cast::eye(n, m, 0, dtype).into())
    }

    /// The positions of the lower triangle of an `n × m` matrix, row by row: those whose column minus row is at most
    /// `offset`.
    ///
    /// # Shapes
    /// `[2,count]`, of dtype `i64`: the rows, and the columns.
    ///
    /// # Errors
    /// `Shape` if there are too many.
    ///
    /// ```
    /// use pullback::Tensor;
    /// let places = Tensor::tril_indices(2, 2, 0)?;
    /// assert_eq!(places.to_vec::<i64>()?, [0, 1, 1, 0, 0, 1]);
    /// let x = Tensor::from([[1, 2], [3, 4]]);
    /// assert_eq!(x.i((places.i(0)?, places.i(1)?))?.to_vec::<i32>()?, [1, 3, 4]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn tril_indices(n: usize, m: usize, offset: isize) -> Result<Tensor> {
        // How many columns of a row are at most that far from the diagonal.
        let count = || below_in_all(n, offset, m, true);
        triangle_indices("tril_indices", n, m, count, |row| 0..below(row, offset, m, true))
    }

    /// The positions of the upper triangle of an `n × m` matrix, row by row: those whose column minus row is at least
    /// `offset`.
    ///
    /// # Shapes
    /// `[2,count]`, of dtype `i64`: the rows, and the columns.
    ///
    /// # Errors
    /// `Shape` if there are too many.
    ///
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::triu_indices(2, 2, 0)?.to_vec::<i64>()?, [0, 0, 1, 0, 1, 1]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn triu_indices(n: usize, m: usize, offset: isize) -> Result<Tensor> {
        let count = || n * m - below_in_all(n, offset, m, false);
        triangle_indices("triu_indices", n, m, count, |row| below(row, offset, m, false)..m)
    }

    /// The numbers from `start` (included) to `end` (excluded) in steps of `step`.
    ///
    /// # Shapes
    /// `[n]` with `n = ceil((end - start) / step)`. With float steps, rounding can make that one more than meant;
    /// [`linspace`](Tensor::linspace) says the number of elements instead.
    ///
    /// # Dtypes
    /// Integers and floats. Integer arguments are computed exactly, others in `f64`; a float argument needs a float dtype.
    ///
    /// # Errors
    /// `Value` for a step of 0, one that leads away from `end`, and arguments that are not finite; `Dtype` for a float
    /// argument and an integer dtype, and for bool and complex numbers; `Shape` if there are too many elements.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor};
    /// assert_eq!(Tensor::arange(0, 10, 3, DType::I64)?.to_vec::<i64>()?, [0, 3, 6, 9]);
    /// assert_eq!(Tensor::arange(1, 0, -0.25, DType::F64)?.to_vec::<f64>()?, [1.0, 0.75, 0.5, 0.25]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// The length is NumPy's; the error for a step that leads away, where NumPy gives no elements, is PyTorch's.
    pub fn arange(
        start: impl Into<Scalar>,
        end: impl Into<Scalar>,
        step: impl Into<Scalar>,
        dtype: DType,
    ) -> Result<Tensor> {
        let (start, end, step) = (start.into(), end.into(), step.into());
        let all = [start, end, step];
        if !dtype.is_int() && !dtype.is_float() {
            bail!(Dtype, "arange: expected a dtype of integers or floats, got {dtype}");
        }
        check_real("arange", &all)?;
        if all.iter().any(|x| matches!(x, Scalar::Float(_))) && !dtype.is_float() {
            bail!(Dtype, "arange: expected a float dtype for float arguments, got {dtype}");
        }
        let (a, b, s) = (start.to_f64(), end.to_f64(), step.to_f64());
        if ![a, b, s].iter().all(|x| x.is_finite()) {
            bail!(Value, "arange: expected finite arguments, got start {a}, end {b} and step {s}");
        }
        if s == 0.0 || (b - a) * s.signum() < 0.0 {
            bail!(Value, "arange: expected a step that leads from {a} to {b}, got {s}");
        }
        let n = match all {
            [Scalar::Int(a), Scalar::Int(b), Scalar::Int(s)] => {
                (i128::from(b) - i128::from(a)).unsigned_abs().div_ceil(i128::from(s).unsigned_abs()) as f64
            }
            _ => ((b - a) / s).ceil(),
        };
        // Larger numbers saturate, and are refused.
        let n = checked_numel("arange", &[n as usize])?;
        if let (Scalar::Int(a), Scalar::Int(s)) = (start, step) {
            let last = i128::from(a) + i128::from(s) * (n as i128 - 1);
            let range = match dtype {
                DType::U8 => 0..=i128::from(u8::MAX),
                DType::I32 => i32::MIN.into()..=i32::MAX.into(),
                _ => i128::MIN..=i128::MAX,
            };
            if n > 0 && !(range.contains(&a.into()) && range.contains(&last)) {
                bail!(Value, "arange: expected numbers that {dtype} can hold, got {a} to {last}");
            }
        }
        Ok(cast::arange(start, step, n, dtype).into())
    }

    /// `n` evenly spaced numbers from `start` to `end`, both included.
    ///
    /// # Shapes
    /// `[n]`. A single number is `start`.
    ///
    /// # Dtypes
    /// Floats.
    ///
    /// # Errors
    /// `Value` for arguments that are not finite; `Dtype` for other dtypes; `Shape` if the size overflows.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor};
    /// assert_eq!(Tensor::linspace(0, 1, 5, DType::F64)?.to_vec::<f64>()?, [0.0, 0.25, 0.5, 0.75, 1.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn linspace(start: impl Into<Scalar>, end: impl Into<Scalar>, n: usize, dtype: DType) -> Result<Tensor> {
        let (start, end) = (start.into(), end.into());
        check_real("linspace", &[start, end])?;
        if !dtype.is_float() {
            bail!(Dtype, "linspace: expected a floating dtype, got {dtype}");
        }
        let (a, b) = (start.to_f64(), end.to_f64());
        if !a.is_finite() || !b.is_finite() {
            bail!(Value, "linspace: expected finite arguments, got start {a} and end {b}");
        }
        checked_numel("linspace", &[n])?;
        let gaps = n.saturating_sub(1).max(1) as f64;
        // The difference of two finite numbers may overflow.
        let step = if (b - a).is_finite() { (b - a) / gaps } else { b / gaps - a / gaps };
        let numbers = cast::generate([n], |k| {
            // From both ends, so that the last number is `end` and the numbers are symmetric.
            if k < n.div_ceil(2) { a + k as f64 * step } else { b - (n - 1 - k) as f64 * step }
        });
        Ok(cast::cast(&numbers, dtype).into())
    }

    /// Zeros with the shape and dtype of this tensor.
    ///
    /// Like every tensor that is made inside a `vmap`, it is the same for all lanes until values of a lane are written
    /// into it.
    ///
    /// # Errors
    /// None in practice.
    ///
    /// ```
    /// use pullback::{Tensor, vmap};
    /// let f = |x: &Tensor| {
    ///     let mut out = x.zeros_like()?;
    ///     out.set_(0, x.i(0)?)?;
    ///     Ok(out)
    /// };
    /// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(vmap(f)(&x)?.to_vec::<f64>()?, [1.0, 0.0, 3.0, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn zeros_like(&self) -> Result<Tensor> {
        self.full_like(0)
    }

    /// Ones with the shape and dtype of this tensor; see [`zeros_like`](Tensor::zeros_like).
    ///
    /// # Errors
    /// None in practice.
    pub fn ones_like(&self) -> Result<Tensor> {
        self.full_like(1)
    }

    /// A tensor with the shape and dtype of this one and every element equal to `value`; see
    /// [`zeros_like`](Tensor::zeros_like).
    ///
    /// # Errors
    /// None in practice.
    pub fn full_like(&self, value: impl Into<Scalar>) -> Result<Tensor> {
        Tensor::full(self.shape(), value, self.dtype())
    }
}

/// How many of `m` columns have a column minus row below `offset`, or at most `offset` if `included`.
fn below(row: usize, offset: isize, m: usize, included: bool) -> usize {
    let end = row as i128 + offset as i128 + i128::from(included);
    end.clamp(0, m as i128) as usize
}

/// The sum of [`below`] over all rows, without going through them.
fn below_in_all(n: usize, offset: isize, m: usize, included: bool) -> usize {
    let (n, m, shift) = (n as i128, m as i128, offset as i128 + i128::from(included));
    // From the first row on with a column, and from the first one on with all.
    let (some, all) = ((-shift).clamp(0, n), (m - shift).clamp(0, n));
    let between = (all - some) * (some + all - 1 + 2 * shift) / 2;
    (between + (n - all) * m) as usize
}

/// The positions in these columns of every row, of which there are `count` in all.
fn triangle_indices(
    op: &str,
    n: usize,
    m: usize,
    count: impl Fn() -> usize,
    columns: impl Fn(usize) -> Range<usize>,
) -> Result<Tensor> {
    // A matrix that can be held has no more positions than memory for them.
    checked_numel(op, &[2, n, m])?;
    let count = count();
    let mut places = Array::full([2, count], 0i64);
    let (rows, cols) = places.as_mut_slice::<i64>().unwrap_or_default().split_at_mut(count);
    let found = (0..n).flat_map(|row| columns(row).map(move |column| (row as i64, column as i64)));
    for ((row, col), place) in rows.iter_mut().zip(cols).zip(found) {
        (*row, *col) = place;
    }
    Ok(places.into())
}

/// An error for a complex number.
fn check_real(op: &str, all: &[Scalar]) -> Result<()> {
    match all.iter().find(|x| matches!(x, Scalar::Complex(_))) {
        Some(Scalar::Complex(z)) => bail!(Dtype, "{op}: expected real arguments, got {z}"),
        _ => Ok(()),
    }
}

/// The number of elements, or an error if it cannot be addressed. Dimensions of size 0 do not make up for others: a
/// reduction may remove them.
pub(crate) fn checked_numel(op: &str, shape: &[usize]) -> Result<usize> {
    let n = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d.max(1)));
    match n {
        Some(n) if n <= isize::MAX as usize / 16 => Ok(if shape.contains(&0) { 0 } else { n }),
        _ => bail!(Shape, "{op}: a tensor of shape {} is too large", crate::shape::Brackets(shape)),
    }
}

impl<T: Element> From<T> for Tensor {
    /// A 0-d tensor.
    fn from(value: T) -> Tensor {
        Array::full(Shape::new(), value).into()
    }
}

impl<T: Element> From<Vec<T>> for Tensor {
    /// A 1-d tensor.
    fn from(data: Vec<T>) -> Tensor {
        Array::from_slice(Shape::from_slice(&[data.len()]), &data).into()
    }
}

impl<T: Element> From<&[T]> for Tensor {
    /// A 1-d tensor.
    fn from(data: &[T]) -> Tensor {
        Array::from_slice(Shape::from_slice(&[data.len()]), data).into()
    }
}

impl<T: Element> From<&Vec<T>> for Tensor {
    /// A 1-d tensor.
    fn from(data: &Vec<T>) -> Tensor {
        Tensor::from(data.as_slice())
    }
}

impl<T: Element, const N: usize> From<&[T; N]> for Tensor {
    /// A 1-d tensor.
    fn from(data: &[T; N]) -> Tensor {
        Tensor::from(data.as_slice())
    }
}

impl<T: Element, const N: usize> From<[T; N]> for Tensor {
    /// A 1-d tensor.
    fn from(data: [T; N]) -> Tensor {
        Tensor::from(data.as_slice())
    }
}

impl<T: Element, const M: usize, const N: usize> From<[[T; N]; M]> for Tensor {
    /// A 2-d tensor, row by row.
    fn from(data: [[T; N]; M]) -> Tensor {
        Array::from_slice(Shape::from_slice(&[M, N]), data.as_flattened()).into()
    }
}

impl<T: Element, const L: usize, const M: usize, const N: usize> From<[[[T; N]; M]; L]> for Tensor {
    /// A 3-d tensor.
    fn from(data: [[[T; N]; M]; L]) -> Tensor {
        Array::from_slice(Shape::from_slice(&[L, M, N]), data.as_flattened().as_flattened()).into()
    }
}

impl<T: Element, const K: usize, const L: usize, const M: usize, const N: usize> From<[[[[T; N]; M]; L]; K]>
    for Tensor
{
    /// A 4-d tensor.
    fn from(data: [[[[T; N]; M]; L]; K]) -> Tensor {
        let flat = data.as_flattened().as_flattened().as_flattened();
        Array::from_slice(Shape::from_slice(&[K, L, M, N]), flat).into()
    }
}

impl<T: Element, const N: usize> From<Vec<[T; N]>> for Tensor {
    /// A 2-d tensor, row by row.
    fn from(data: Vec<[T; N]>) -> Tensor {
        Array::from_slice(Shape::from_slice(&[data.len(), N]), data.as_flattened()).into()
    }
}

impl<T: Element> FromIterator<T> for Tensor {
    /// A 1-d tensor.
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Tensor {
        Tensor::from(items.into_iter().collect::<Vec<T>>())
    }
}

/// A list of lists of numbers, as deep as it may be.
trait Nested {
    type Element: Element;
    /// Adds the sizes to `shape`, where `depth` of them are known from an earlier list, and the elements to `data`.
    /// `at` is the position of this list among the others.
    fn collect(&self, at: &mut Vec<usize>, shape: &mut Vec<usize>, data: &mut Vec<Self::Element>) -> Result<()>;
}

fn check_size(at: &[usize], shape: &mut Vec<usize>, size: usize) -> Result<()> {
    match shape.get(at.len()) {
        None => shape.push(size),
        Some(&expected) if expected != size => {
            let place: String = at.iter().map(|k| format!("[{k}]")).collect();
            bail!(Shape, "try_from: expected lists of one length, got {expected} items in the first one and {size} at {place}";
                help = "pad the short ones");
        }
        Some(_) => {}
    }
    Ok(())
}

impl<T: Element> Nested for Vec<T> {
    type Element = T;
    fn collect(&self, at: &mut Vec<usize>, shape: &mut Vec<usize>, data: &mut Vec<T>) -> Result<()> {
        check_size(at, shape, self.len())?;
        data.extend_from_slice(self);
        Ok(())
    }
}

/// Writes the conversion of a `Vec` of something nested; the depth of lists that are empty is known from the type.
macro_rules! nested {
    ($($inner:ty, $depth:literal;)*) => { $(
        impl<T: Element> Nested for Vec<$inner> {
            type Element = T;
            fn collect(&self, at: &mut Vec<usize>, shape: &mut Vec<usize>, data: &mut Vec<T>) -> Result<()> {
                check_size(at, shape, self.len())?;
                for (k, inner) in self.iter().enumerate() {
                    at.push(k);
                    inner.collect(at, shape, data)?;
                    at.pop();
                }
                Ok(())
            }
        }

        impl<T: Element> TryFrom<Vec<$inner>> for Tensor {
            type Error = crate::Error;

            /// A tensor with a dimension for each level of lists, row by row.
            ///
            /// # Errors
            /// `Shape` if lists of one level have different lengths.
            fn try_from(nested: Vec<$inner>) -> Result<Tensor> {
                let (mut shape, mut data) = (Vec::new(), Vec::new());
                nested.collect(&mut Vec::new(), &mut shape, &mut data)?;
                shape.resize($depth, 0);
                Tensor::from_slice(&data, &shape)
            }
        }
    )* };
}
nested! {
    Vec<T>, 2;
    Vec<Vec<T>>, 3;
    Vec<Vec<Vec<T>>>, 4;
}
