//! Products of operands of given ranks, which are errors for others, and products that are added to something.

use super::check_numbers;
use super::samples::naive_matmul;
use crate::error::bail;
use crate::ops::arith::number;
use crate::ops::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::shape::{broadcast, broadcasts_to, resolve_dim};
use crate::{ErrorKind, Result, Scalar, Tensor};

ops! { OPS;
    /// The product of two matrices: [`matmul`](Tensor::matmul) of nothing else.
    ///
    /// # Shapes
    /// `[m, k]` times `[k, n]` gives `[m, n]`.
    ///
    /// # Dtypes
    /// All but `bool`, promoted by the table of [`DType`](crate::DType). Integers wrap on overflow.
    ///
    /// # Derivative
    /// Bilinear: the cotangents are `g @ rhsᵀ` and `lhsᵀ @ g`.
    ///
    /// # Errors
    /// `Shape` unless both are 2-d and the inner dimensions match; `Dtype` for bools.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (a, b) = (Tensor::from([[1, 2]]), Tensor::from([[3], [4]]));
    /// assert_eq!(a.mm(&b)?.to_vec::<i32>()?, [11]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn mm(&self, mat2: &Tensor) -> Result<Tensor> = mm { samples: mm_samples, errors: mm_errors };

    /// The products of two batches of matrices: [`matmul`](Tensor::matmul) of nothing else.
    ///
    /// # Shapes
    /// `[b, m, k]` times `[b, k, n]` gives `[b, m, n]`.
    ///
    /// # Dtypes
    /// All but `bool`, promoted by the table of [`DType`](crate::DType). Integers wrap on overflow.
    ///
    /// # Derivative
    /// Bilinear: the cotangents are `g @ rhsᵀ` and `lhsᵀ @ g`.
    ///
    /// # Errors
    /// `Shape` unless both are 3-d with one number of matrices, and the inner dimensions match; `Dtype` for bools.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (a, b) = (Tensor::from([[[1, 2]], [[0, 1]]]), Tensor::from([[[3], [4]], [[5], [6]]]));
    /// assert_eq!(a.bmm(&b)?.to_vec::<i32>()?, [11, 6]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn bmm(&self, mat2: &Tensor) -> Result<Tensor> = bmm { samples: bmm_samples, errors: bmm_errors };

    /// The product of a matrix and a vector: [`matmul`](Tensor::matmul) of nothing else.
    ///
    /// # Shapes
    /// `[m, k]` times `[k]` gives `[m]`.
    ///
    /// # Dtypes
    /// All but `bool`, promoted by the table of [`DType`](crate::DType). Integers wrap on overflow.
    ///
    /// # Derivative
    /// Bilinear: the cotangents are the outer product of `g` and `vec`, and `lhsᵀ @ g`.
    ///
    /// # Errors
    /// `Shape` unless they are 2-d and 1-d, and the inner dimensions match; `Dtype` for bools.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let a = Tensor::from([[1, 2], [0, 1]]);
    /// assert_eq!(a.mv(&Tensor::from([3, 4]))?.to_vec::<i32>()?, [11, 4]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn mv(&self, vec: &Tensor) -> Result<Tensor> = mv { samples: mv_samples, errors: mv_errors };

    /// `beta·self + alpha·(mat1 @ mat2)`. If `beta` is 0 this tensor does not count, whatever it holds.
    ///
    /// # Shapes
    /// `[m, k]` times `[k, n]` gives `[m, n]`, to which this tensor broadcasts.
    ///
    /// # Dtypes
    /// All but `bool`, promoted by the table of [`DType`](crate::DType). Integers wrap on overflow.
    ///
    /// # Derivative
    /// `beta` for this tensor, and that of the product times `alpha`.
    ///
    /// # Errors
    /// `Shape` unless `mat1` and `mat2` are matrices that fit, and this tensor broadcasts to their product; `Dtype` for bools;
    /// `Value` for a factor of integers that is not whole.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (a, b) = (Tensor::from([[1, 2]]), Tensor::from([[3], [4]]));
    /// assert_eq!(Tensor::from([[100]]).addmm(&a, &b, 2.0, 3.0)?.to_vec::<i32>()?, [233]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn addmm(&self, mat1: &Tensor, mat2: &Tensor, beta: f64, alpha: f64) -> Result<Tensor> = addmm {
        samples: addmm_samples, errors: addmm_errors,
        python: addmm(mat1, mat2, beta = 1.0, alpha = 1.0)
    };

    /// `beta·self + alpha·(mat @ vec)`. If `beta` is 0 this tensor does not count, whatever it holds.
    ///
    /// # Shapes
    /// `[m, k]` times `[k]` gives `[m]`, to which this tensor broadcasts.
    ///
    /// # Dtypes
    /// All but `bool`, promoted by the table of [`DType`](crate::DType). Integers wrap on overflow.
    ///
    /// # Derivative
    /// `beta` for this tensor, and that of the product times `alpha`.
    ///
    /// # Errors
    /// `Shape` unless `mat` and `vec` are a matrix and a vector that fit, and this tensor broadcasts to their product; `Dtype` for
    /// bools; `Value` for a factor of integers that is not whole.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (a, v) = (Tensor::from([[1, 2]]), Tensor::from([3, 4]));
    /// assert_eq!(Tensor::from([100]).addmv(&a, &v, 1.0, 1.0)?.to_vec::<i32>()?, [111]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn addmv(&self, mat: &Tensor, vec: &Tensor, beta: f64, alpha: f64) -> Result<Tensor> = addmv {
        samples: addmv_samples, errors: addmv_errors,
        python: addmv(mat, vec, beta = 1.0, alpha = 1.0)
    };

    /// `beta·self + alpha·(batch1 @ batch2)` for batches of matrices. If `beta` is 0 this tensor does not count, whatever it
    /// holds.
    ///
    /// # Shapes
    /// `[b, m, k]` times `[b, k, n]` gives `[b, m, n]`, to which this tensor broadcasts.
    ///
    /// # Dtypes
    /// All but `bool`, promoted by the table of [`DType`](crate::DType). Integers wrap on overflow.
    ///
    /// # Derivative
    /// `beta` for this tensor, and that of the products times `alpha`.
    ///
    /// # Errors
    /// `Shape` unless both batches are 3-d and fit, and this tensor broadcasts to their products; `Dtype` for bools; `Value` for
    /// a factor of integers that is not whole.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (a, b) = (Tensor::from([[[1, 2]]]), Tensor::from([[[3], [4]]]));
    /// assert_eq!(Tensor::from(100).baddbmm(&a, &b, 1.0, -1.0)?.to_vec::<i32>()?, [89]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn baddbmm(&self, batch1: &Tensor, batch2: &Tensor, beta: f64, alpha: f64) -> Result<Tensor> = baddbmm {
        samples: baddbmm_samples, errors: baddbmm_errors,
        python: baddbmm(batch1, batch2, beta = 1.0, alpha = 1.0)
    };

    /// The sums of products over the last dimensions: every vector of this tensor with every one of the other.
    ///
    /// # Shapes
    /// `[.., k]` and `[.., k]` give the leading dimensions of the first, then those of the second. A 0-d tensor is a factor.
    ///
    /// # Dtypes
    /// All but `bool`, promoted by the table of [`DType`](crate::DType). Integers wrap on overflow.
    ///
    /// # Derivative
    /// Bilinear: such a product of the cotangent with the other tensor.
    ///
    /// # Errors
    /// `Shape` unless the last dimensions match; `Dtype` for bools.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1, 2], [3, 4]]);
    /// assert_eq!(x.inner(&Tensor::from([1, 10]))?.to_vec::<i32>()?, [21, 43]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// NumPy's `inner`.
    fn inner(&self, rhs: &Tensor) -> Result<Tensor> = inner { samples: inner_samples, errors: inner_errors };

    /// The scalar products of the vectors along `dim`, the first of which is conjugated if it is complex.
    ///
    /// # Shapes
    /// The tensors broadcast against each other, and `dim` vanishes.
    ///
    /// # Dtypes
    /// All but `bool`, promoted by the table of [`DType`](crate::DType). Small integers are added as `i64`.
    ///
    /// # Derivative
    /// The other tensor times the cotangent.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast, or the sizes along `dim` differ; `Dim` if `dim` is out of range; `Dtype` for bools.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (x, y) = (Tensor::from([[1.0, 2.0], [3.0, 4.0]]), Tensor::from([1.0, 10.0]));
    /// assert_eq!(x.vecdot(&y, -1)?.to_vec::<f64>()?, [21.0, 43.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// `vecdot` of the Python array API standard.
    fn vecdot(&self, rhs: &Tensor, dim: isize) -> Result<Tensor> = vecdot {
        samples: vecdot_samples, errors: vecdot_errors,
        python: linalg::vecdot(self as x, rhs as y, dim = -1)
    };

    /// The scalar product of two vectors, the first of which is conjugated if it is complex.
    ///
    /// # Shapes
    /// `[n]` and `[n]` give a 0-d tensor, zero for `n = 0`.
    ///
    /// # Dtypes
    /// All but `bool`, promoted by the table of [`DType`](crate::DType). Integers wrap on overflow.
    ///
    /// # Derivative
    /// The other vector, times the cotangent.
    ///
    /// # Errors
    /// `Shape` unless both are 1-d and of one length; `Dtype` for bools.
    ///
    /// # Example
    /// ```
    /// use pullback::{Complex64, Tensor};
    /// let i = Tensor::from([Complex64::new(0.0, 1.0)]);
    /// assert_eq!(i.vdot(&i)?.item::<Complex64>()?, Complex64::new(1.0, 0.0));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn vdot(&self, rhs: &Tensor) -> Result<Tensor> = vdot { samples: vdot_samples, errors: vdot_errors };
}

/// The product of operands of exactly these ranks, on behalf of an operation.
fn ranked(op: &str, a: &Tensor, b: &Tensor, ranks: [usize; 2]) -> Result<Tensor> {
    if [a.rank(), b.rank()] != ranks {
        let [m, n] = ranks;
        bail!(Shape, "{op}: expected tensors of {m} and {n} dims, got {} and {}", a.ty(), b.ty(); help = "`matmul` takes \
            any number of dims");
    }
    if ranks == [3, 3] && a.shape()[0] != b.shape()[0] {
        bail!(Shape, "{op}: expected as many matrices in both, got {} and {}", a.ty(), b.ty(); help = "`matmul` \
            broadcasts");
    }
    a.matmul(b).map_err(|e| e.renamed("matmul", op))
}

fn mm(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    ranked("mm", a, b, [2, 2])
}

fn bmm(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    ranked("bmm", a, b, [3, 3])
}

fn mv(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    ranked("mv", a, b, [2, 1])
}

/// `factor·t`, which stays what it is if it is of integers.
fn scaled(op: &str, name: &str, t: &Tensor, factor: f64) -> Result<Tensor> {
    if factor == 1.0 {
        return t.unchanged(op);
    }
    if !t.dtype().is_int() {
        return t.mul(factor);
    }
    if factor.fract() != 0.0 || factor.abs() >= 2f64.powi(63) {
        bail!(Value, "{op}: expected a whole `{name}` for integers, got {factor} for {}", t.ty());
    }
    t.mul(number(op, Scalar::Int(factor as i64), t.dtype())?)
}

/// `beta·x + alpha·product`.
fn added(op: &str, x: &Tensor, product: Tensor, beta: f64, alpha: f64) -> Result<Tensor> {
    check_numbers(op, &[x])?;
    if !broadcasts_to(x.shape(), product.shape()) {
        bail!(Shape, "{op}: expected a tensor that broadcasts to the product {}, got {}", product.ty(), x.ty());
    }
    let product = scaled(op, "alpha", &product, alpha)?;
    if beta == 0.0 {
        // Not its values, but whether it may be used at all.
        x.unchanged(op)?;
        return product.to_dtype(product.dtype().promote(x.dtype()));
    }
    scaled(op, "beta", x, beta)?.add(product)
}

fn addmm(x: &Tensor, a: &Tensor, b: &Tensor, beta: f64, alpha: f64) -> Result<Tensor> {
    added("addmm", x, ranked("addmm", a, b, [2, 2])?, beta, alpha)
}

fn addmv(x: &Tensor, a: &Tensor, b: &Tensor, beta: f64, alpha: f64) -> Result<Tensor> {
    added("addmv", x, ranked("addmv", a, b, [2, 1])?, beta, alpha)
}

fn baddbmm(x: &Tensor, a: &Tensor, b: &Tensor, beta: f64, alpha: f64) -> Result<Tensor> {
    added("baddbmm", x, ranked("baddbmm", a, b, [3, 3])?, beta, alpha)
}

fn inner(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    check_numbers("inner", &[a, b])?;
    match (a.shape().last(), b.shape().last()) {
        (Some(m), Some(n)) if m != n => {
            bail!(Shape, "inner: expected last dims of one size, got {} and {} ({m} vs {n})", a.ty(), b.ty())
        }
        (Some(_), Some(_)) => a.tensordot(b, ([-1], [-1])),
        _ => a.mul(b),
    }
}

fn vecdot(a: &Tensor, b: &Tensor, dim: isize) -> Result<Tensor> {
    let op = "vecdot";
    check_numbers(op, &[a, b])?;
    let Some(shape) = broadcast(a.shape(), b.shape()) else {
        bail!(Shape, "{op}: shapes must broadcast, got {} and {}", a.ty(), b.ty());
    };
    let largest = if a.rank() == shape.len() { a } else { b };
    let place = resolve_dim(op, dim, shape.len(), largest.ty())?;
    // Along the vectors nothing is repeated: that would be a mistake rather than a product.
    let size = |t: &Tensor| (place + t.rank()).checked_sub(shape.len()).map(|own| t.shape()[own]);
    if size(a) != size(b) {
        bail!(Shape, "{op}: expected vectors of one size along dim {dim}, got {} and {}", a.ty(), b.ty());
    }
    a.conj()?.mul(b)?.sum_dims(&[dim], false)
}

fn vdot(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    check_numbers("vdot", &[a, b])?;
    a.conj()?.dot(b).map_err(|e| e.renamed("dot", "vdot"))
}

type Shapes = &'static [usize];

fn inputs(shapes: &[Shapes]) -> Vec<Tensor> {
    shapes.iter().zip(1..).map(|(shape, seed)| sample_tensor(shape, -1.0, 1.0, seed)).collect()
}

fn products(shapes: &[[Shapes; 2]], call: fn(&Tensor, &Tensor) -> Result<Tensor>) -> Vec<Sample> {
    let sample = |pair: &[Shapes; 2]| {
        Sample::one(format!("{pair:?}"), inputs(pair), move |x| call(&x[0], &x[1]))
            .reference(|x| vec![naive_matmul(&x[0], &x[1])])
    };
    shapes.iter().map(sample).collect()
}

fn mm_samples() -> Vec<Sample> {
    products(&[[&[2, 3], &[3, 4]], [&[1, 0], &[0, 2]], [&[0, 2], &[2, 1]]], Tensor::mm)
}

fn bmm_samples() -> Vec<Sample> {
    products(&[[&[2, 2, 3], &[2, 3, 1]], [&[1, 2, 1], &[1, 1, 2]], [&[0, 2, 3], &[0, 3, 2]]], Tensor::bmm)
}

fn mv_samples() -> Vec<Sample> {
    products(&[[&[2, 3], &[3]], [&[2, 0], &[0]]], Tensor::mv)
}

/// An error for a pair of shapes.
fn failing(
    label: &str,
    message: &'static str,
    shapes: [Shapes; 2],
    call: fn(&Tensor, &Tensor) -> Result<Tensor>,
) -> ErrorSample {
    let x = inputs(&shapes);
    ErrorSample::new(label, ErrorKind::Shape, message, move || call(&x[0], &x[1]))
}

fn mm_errors() -> Vec<ErrorSample> {
    vec![
        failing("ranks", "mm: expected tensors of 2 and 2 dims, got f64[2] and f64[2,3]", [&[2], &[2, 3]], Tensor::mm),
        failing("sizes", "mm: inner dimensions must match", [&[2, 2], &[3, 2]], Tensor::mm),
    ]
}

fn bmm_errors() -> Vec<ErrorSample> {
    vec![
        failing("ranks", "bmm: expected tensors of 3 and 3 dims", [&[2, 2], &[2, 2]], Tensor::bmm),
        failing("batches", "bmm: expected as many matrices in both", [&[1, 2, 2], &[3, 2, 2]], Tensor::bmm),
    ]
}

fn mv_errors() -> Vec<ErrorSample> {
    vec![failing("ranks", "mv: expected tensors of 2 and 1 dims", [&[2, 2], &[2, 2]], Tensor::mv)]
}

type Sum = fn(&Tensor, &Tensor, &Tensor, f64, f64) -> Result<Tensor>;

/// Samples of a product that is added to something.
fn sums(shapes: &[[Shapes; 3]], call: Sum) -> Vec<Sample> {
    let mut samples = Vec::new();
    for triple in shapes {
        for (beta, alpha) in [(1.0, 1.0), (0.5, -2.0), (0.0, 1.0)] {
            let label = format!("{triple:?}, beta {beta}, alpha {alpha}");
            let sample = Sample::one(label, inputs(triple), move |x| call(&x[0], &x[1], &x[2], beta, alpha));
            samples.push(sample.reference(move |x| {
                let product = naive_matmul(&x[1], &x[2]);
                let of = |i: &[usize]| beta * x[0].at_broadcast(i) + alpha * product.at(i);
                vec![Naive::from_fn(&product.shape, of)]
            }));
        }
    }
    samples
}

fn addmm_samples() -> Vec<Sample> {
    sums(&[[&[2, 4], &[2, 3], &[3, 4]], [&[4], &[2, 3], &[3, 4]], [&[], &[2, 0], &[0, 1]]], Tensor::addmm)
}

fn addmv_samples() -> Vec<Sample> {
    sums(&[[&[2], &[2, 3], &[3]], [&[], &[2, 3], &[3]]], Tensor::addmv)
}

fn baddbmm_samples() -> Vec<Sample> {
    sums(
        &[[&[2, 2, 1], &[2, 2, 3], &[2, 3, 1]], [&[2, 1], &[2, 2, 3], &[2, 3, 1]], [&[], &[1, 1, 0], &[1, 0, 2]]],
        Tensor::baddbmm,
    )
}

fn addmm_errors() -> Vec<ErrorSample> {
    let (x, a, b) = (Tensor::from([1, 2]), Tensor::from([[1, 2]]), Tensor::from([[3], [4]]));
    let (y, c, d) = (x.clone(), a.clone(), b.clone());
    vec![
        ErrorSample::new(
            "shape",
            ErrorKind::Shape,
            "addmm: expected a tensor that broadcasts to the product i32[1,1], got i32[2]",
            move || x.addmm(&a, &b, 1.0, 1.0),
        ),
        ErrorSample::new(
            "factor",
            ErrorKind::Value,
            "addmm: expected a whole `alpha` for integers, got 0.5",
            move || y.sum()?.addmm(&c, &d, 1.0, 0.5),
        ),
    ]
}

fn addmv_errors() -> Vec<ErrorSample> {
    vec![failing("ranks", "addmv: expected tensors of 2 and 1 dims", [&[2, 2], &[2, 2]], |x, y| {
        x.addmv(x, y, 1.0, 1.0)
    })]
}

fn baddbmm_errors() -> Vec<ErrorSample> {
    vec![failing("ranks", "baddbmm: expected tensors of 3 and 3 dims", [&[2, 2], &[2, 2]], |x, y| {
        x.baddbmm(x, y, 1.0, 1.0)
    })]
}

fn inner_samples() -> Vec<Sample> {
    let case = |a: Shapes, b: Shapes| {
        Sample::one(format!("{a:?} {b:?}"), inputs(&[a, b]), |x| x[0].inner(&x[1])).reference(|x| {
            let (a, b) = (&x[0], &x[1]);
            let (Some((&n, lead)), Some((_, rest))) = (a.shape.split_last(), b.shape.split_last()) else {
                let shape = if a.shape.is_empty() { &b.shape } else { &a.shape };
                return vec![Naive::from_fn(shape, |i| a.at_broadcast(i) * b.at_broadcast(i))];
            };
            let at = |x: &Naive, own: &[usize], k: usize| x.at(&[own, &[k]].concat());
            let product = |i: &[usize]| {
                let (left, right) = i.split_at(lead.len());
                (0..n).map(|k| at(a, left, k) * at(b, right, k)).sum()
            };
            vec![Naive::from_fn(&[lead, rest].concat(), product)]
        })
    };
    vec![case(&[3], &[3]), case(&[2, 3], &[4, 3]), case(&[2, 0], &[0]), case(&[], &[2]), case(&[2, 2], &[])]
}

fn inner_errors() -> Vec<ErrorSample> {
    vec![failing(
        "sizes",
        "inner: expected last dims of one size, got f64[2] and f64[3] (2 vs 3)",
        [&[2], &[3]],
        |x, y| x.inner(y),
    )]
}

fn vecdot_samples() -> Vec<Sample> {
    let case = |a: Shapes, b: Shapes, dim: isize| {
        let label = format!("{a:?} {b:?} along {dim}");
        Sample::one(label, inputs(&[a, b]), move |x| x[0].vecdot(&x[1], dim)).reference(move |x| {
            let shape = broadcast(&x[0].shape, &x[1].shape).expect("samples broadcast");
            let all = Naive::from_fn(&shape, |i| x[0].at_broadcast(i) * x[1].at_broadcast(i));
            let dim = dim.rem_euclid(shape.len() as isize) as usize;
            vec![crate::ops::reduction::naive_reduce(&all, &[dim], false, |x| x.iter().sum())]
        })
    };
    vec![
        case(&[3], &[3], -1),
        case(&[2, 3], &[3], -1),
        case(&[2, 3, 1], &[2, 1, 2], 0),
        case(&[2, 1, 3], &[4, 3], -1),
        case(&[2, 0], &[2, 0], -1),
    ]
}

fn vecdot_errors() -> Vec<ErrorSample> {
    vec![
        failing("sizes", "vecdot: expected vectors of one size along dim -1", [&[2, 3], &[2, 1]], |x, y| {
            x.vecdot(y, -1)
        }),
        failing("shapes", "vecdot: shapes must broadcast", [&[2, 3], &[2, 4]], |x, y| x.vecdot(y, -1)),
    ]
}

fn vdot_samples() -> Vec<Sample> {
    products(&[[&[3], &[3]], [&[0], &[0]]], Tensor::vdot)
}

fn vdot_errors() -> Vec<ErrorSample> {
    vec![failing("ranks", "vdot: ", [&[2, 2], &[2]], Tensor::vdot)]
}
