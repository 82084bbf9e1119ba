//! Several tensors brought to one grid, shape or matrix, and choices of elements.

use super::join::{cat, stack};
use super::shape::broadcast_to;
use super::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::error::bail;
use crate::shape::{Shape, broadcast, numel};
use crate::{ErrorKind, PadMode, Result, Tensor};

/// Which dimension of a [`meshgrid`] belongs to which vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GridOrder {
    /// The dimensions in the order of the vectors: rows first, as in a matrix.
    #[default]
    Ij,
    /// The first two exchanged: columns first, as in a plot.
    Xy,
}

ops! { OPS;
    /// The powers of the elements of a vector, one after the other as columns: those of `n - 1` down to 0, or up if `increasing`.
    ///
    /// # Shapes
    /// `[m]` gives `[m, n]`, where `n` is `m` if it is not given.
    ///
    /// # Dtypes
    /// Numbers, which stay what they are; bools become `i64`.
    ///
    /// # Derivative
    /// That of the powers, exact at 0.
    ///
    /// # Errors
    /// `Shape` unless the tensor is a vector.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([2, 3]).vander(Some(3), false)?;
    /// assert_eq!(x.to_vec::<i32>()?, [4, 2, 1, 9, 3, 1]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn vander(&self, n: Option<usize>, increasing: bool) -> Result<Tensor> = vander {
        samples: vander_samples, errors: vander_errors,
        python: function::vander(self as x, n as N, increasing = false)
    };

    /// The coordinates of all points of a grid: result `k` has the elements of vector `k`, repeated along the dimensions
    /// of the others, as views.
    ///
    /// # Shapes
    /// Vectors of sizes `n0`, `n1`, … give tensors of shape `[n0,n1,…]`, or `[n1,n0,…]` in the order
    /// [`Xy`](GridOrder::Xy). 0-d tensors count as vectors of size 1.
    ///
    /// # Dtypes
    /// All; each keeps its own.
    ///
    /// # Derivative
    /// The cotangent of each, summed over the dimensions of the others.
    ///
    /// # Errors
    /// `Shape` for a tensor with more dimensions.
    ///
    /// # Example
    /// ```
    /// use pullback::{GridOrder, Tensor, meshgrid};
    /// let grid = meshgrid(&[&Tensor::from([1, 2]), &Tensor::from([3, 4, 5])], GridOrder::Ij)?;
    /// assert_eq!(grid[0].to_vec::<i32>()?, [1, 1, 1, 2, 2, 2]);
    /// assert_eq!(grid[1].to_vec::<i32>()?, [3, 4, 5, 3, 4, 5]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn meshgrid(tensors: &[&Tensor], order: GridOrder) -> Result<Vec<Tensor>> = grid {
        samples: meshgrid_samples, errors: meshgrid_errors,
        python: meshgrid(*tensors, order as indexing)
    };

    /// The tensors repeated along dimensions of size 1 and new leading ones to the shape that they have in common, as views.
    ///
    /// # Shapes
    /// They broadcast against each other.
    ///
    /// # Dtypes
    /// All; each keeps its own.
    ///
    /// # Derivative
    /// The sum over the repetitions.
    ///
    /// # Errors
    /// `Shape` if they do not broadcast.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, broadcast_tensors};
    /// let both = broadcast_tensors(&[&Tensor::from([1, 2]), &Tensor::from([[3], [4]])])?;
    /// assert_eq!(both[0].to_vec::<i32>()?, [1, 2, 1, 2]);
    /// assert_eq!(both[1].to_vec::<i32>()?, [3, 3, 4, 4]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn broadcast_tensors(tensors: &[&Tensor]) -> Result<Vec<Tensor>> = to_common {
        samples: broadcast_tensors_samples, errors: broadcast_tensors_errors,
        python: broadcast_tensors(*tensors)
    };

    /// All ways to take one element of each vector: one way in each row, the last element changing fastest.
    ///
    /// # Shapes
    /// `m` vectors of sizes `n0`, `n1`, … give `[n0*n1*…,m]`; a single one is returned as it is.
    ///
    /// # Dtypes
    /// All, promoted to a common one; see [`DType`](crate::DType).
    ///
    /// # Derivative
    /// The cotangent of each element, summed over the rows that it is in.
    ///
    /// # Errors
    /// `Arity` for no vector; `Shape` for a tensor that is none, or if the result is too large.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, cartesian_prod};
    /// let pairs = cartesian_prod(&[&Tensor::from([1, 2]), &Tensor::from([3, 4])])?;
    /// assert_eq!(pairs.to_vec::<i32>()?, [1, 3, 1, 4, 2, 3, 2, 4]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn cartesian_prod(tensors: &[&Tensor]) -> Result<Tensor> = product {
        samples: cartesian_prod_samples, errors: cartesian_prod_errors,
        python: cartesian_prod(*tensors)
    };

    /// The matrix with the given ones along its diagonal, and zeros elsewhere.
    ///
    /// # Shapes
    /// Rows and columns add up. A vector counts as one row, a 0-d tensor as a matrix with one element.
    ///
    /// # Dtypes
    /// All, promoted to a common one; see [`DType`](crate::DType).
    ///
    /// # Derivative
    /// Each matrix gets its block of the cotangent.
    ///
    /// # Errors
    /// `Arity` for no matrix; `Shape` for a tensor with more dimensions.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, block_diag};
    /// let x = block_diag(&[&Tensor::from([[1, 2]]), &Tensor::from(3)])?;
    /// assert_eq!(x.to_vec::<i32>()?, [1, 2, 0, 0, 0, 3]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn block_diag(tensors: &[&Tensor]) -> Result<Tensor> = blocks {
        samples: block_diag_samples, errors: block_diag_errors,
        python: block_diag(*tensors)
    };

    /// All ways to take `r` elements of a vector, in their order: one way in each row. An element is taken once, or any
    /// number of times if `with_replacement`.
    ///
    /// # Shapes
    /// `[n]` becomes `[count,r]`.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The cotangent of each element, summed over the rows that it is in.
    ///
    /// # Errors
    /// `Shape` unless the tensor is a vector, or if the result is too large.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let pairs = Tensor::from([1, 2, 3]).combinations(2, false)?;
    /// assert_eq!(pairs.to_vec::<i32>()?, [1, 2, 1, 3, 2, 3]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn combinations(&self, r: usize, with_replacement: bool) -> Result<Tensor> = combinations {
        samples: combinations_samples, errors: combinations_errors,
        python: combinations(r = 2, with_replacement = false)
    };
}

fn vander(x: &Tensor, n: Option<usize>, increasing: bool) -> Result<Tensor> {
    let &[m] = x.shape() else { bail!(Shape, "vander: expected a vector, got {}", x.ty()) };
    let n = n.unwrap_or(m);
    if n == 0 {
        return Tensor::zeros(&[m, 0], x.powi(1)?.dtype());
    }
    let power = |k: usize| match i32::try_from(if increasing { k } else { n - 1 - k }) {
        Ok(k) => x.powi(k),
        Err(_) => bail!(Shape, "vander: {n} columns are too many"),
    };
    let columns = (0..n).map(power).collect::<Result<Vec<_>>>()?;
    super::join::stack(&columns.iter().collect::<Vec<_>>(), 1)
}

fn vander_samples() -> Vec<Sample> {
    let case = |m: usize, n: Option<usize>, increasing: bool| {
        let label = format!("{m} by {n:?}, increasing {increasing}");
        Sample::one(label, [sample_tensor(&[m], -1.5, 1.5, 1)], move |x| x[0].vander(n, increasing)).reference(
            move |x| {
                let n = n.unwrap_or(m);
                let power = |k: usize| (if increasing { k } else { n - 1 - k }) as i32;
                vec![Naive::from_fn(&[m, n], |i| x[0].data[i[0]].powi(power(i[1])))]
            },
        )
    };
    vec![
        case(3, None, false),
        case(2, Some(4), true),
        case(3, Some(1), false),
        case(0, Some(2), true),
        case(2, Some(0), false),
    ]
}

fn vander_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 2], 0.0, 1.0, 1);
    vec![ErrorSample::new("matrix", ErrorKind::Shape, "vander: expected a vector, got f64[2,2]", move || {
        x.vander(None, false)
    })]
}

/// An error unless `x` has at most `most` dims.
fn check_rank(op: &str, x: &Tensor, k: usize, most: usize) -> Result<()> {
    if x.rank() > most {
        let what = if most == 1 { "vectors" } else { "matrices" };
        bail!(Shape, "{op}: expected {what}, got {} at position {k}", x.ty());
    }
    Ok(())
}

fn grid(tensors: &[&Tensor], order: GridOrder) -> Result<Vec<Tensor>> {
    grid_of("meshgrid", tensors, order)
}

fn grid_of(op: &str, tensors: &[&Tensor], order: GridOrder) -> Result<Vec<Tensor>> {
    let place = |k: usize| if order == GridOrder::Xy && k < 2 && tensors.len() > 1 { 1 - k } else { k };
    let mut shape = Shape::from_elem(1, tensors.len());
    for (k, x) in tensors.iter().enumerate() {
        check_rank(op, x, k, 1)?;
        shape[place(k)] = x.numel();
    }
    crate::tensor::checked_numel(op, &shape)?;
    let spread = |(k, x): (usize, &&Tensor)| {
        let mut line = Shape::from_elem(1, tensors.len());
        line[place(k)] = x.numel();
        broadcast_to(&x.reshape_to(&line)?, &shape)
    };
    tensors.iter().enumerate().map(spread).collect()
}

fn to_common(tensors: &[&Tensor]) -> Result<Vec<Tensor>> {
    let mut shape = Shape::new();
    for (k, x) in tensors.iter().enumerate() {
        let Some(common) = broadcast(&shape, x.shape()) else {
            let types: Vec<String> = tensors[..=k].iter().map(|x| x.ty().to_string()).collect();
            bail!(Shape, "broadcast_tensors: expected shapes that broadcast, got {}", types.join(", "));
        };
        shape = common;
    }
    crate::tensor::checked_numel("broadcast_tensors", &shape)?;
    tensors.iter().map(|x| broadcast_to(x, &shape)).collect()
}

fn product(tensors: &[&Tensor]) -> Result<Tensor> {
    let op = "cartesian_prod";
    match tensors {
        [] => bail!(Arity, "{op}: expected at least one vector, got none"),
        [x] => {
            check_rank(op, x, 0, 1)?;
            return x.reshape_to(&[x.numel()]);
        }
        _ => {}
    }
    let mut columns = grid_of(op, tensors, GridOrder::Ij)?;
    for column in &mut columns {
        *column = column.reshape_to(&[column.numel()])?;
    }
    stack(&columns.iter().collect::<Vec<_>>(), 1)
}

fn blocks(tensors: &[&Tensor]) -> Result<Tensor> {
    let op = "block_diag";
    if tensors.is_empty() {
        bail!(Arity, "{op}: expected at least one matrix, got none");
    }
    let mut matrices = Vec::with_capacity(tensors.len());
    for (k, x) in tensors.iter().enumerate() {
        check_rank(op, x, k, 2)?;
        let columns = x.shape().last().copied().unwrap_or(1);
        matrices.push(if x.rank() == 2 { x.unchanged(op)? } else { x.reshape_to(&[1, columns])? });
    }
    let width = matrices.iter().fold(0usize, |sum, x| sum.saturating_add(x.shape()[1]));
    let mut left = 0;
    for x in &mut matrices {
        let columns = x.shape()[1];
        let padding = [left, width - left - columns].map(|n| isize::try_from(n).unwrap_or(isize::MAX));
        *x = x.pad(&padding, PadMode::Constant(0.0))?;
        left += columns;
    }
    cat(&matrices.iter().collect::<Vec<_>>(), 0)
}

/// How many ways there are to take `r` of `n` elements.
fn ways(n: usize, r: usize, with_replacement: bool) -> usize {
    // Each element taken may be taken again: as many as without from `n + r - 1`.
    let n = if with_replacement && r > 0 { n.saturating_add(r - 1) } else { n };
    let small = r.min(n.wrapping_sub(r));
    if r > n {
        return 0;
    }
    let mut count = 1u128;
    for k in 0..small {
        count = count * (n - k) as u128 / (k + 1) as u128;
        if count > usize::MAX as u128 {
            return usize::MAX;
        }
    }
    count as usize
}

fn combinations(x: &Tensor, r: usize, with_replacement: bool) -> Result<Tensor> {
    let op = "combinations";
    if x.rank() != 1 {
        bail!(Shape, "{op}: expected a vector, got {}", x.ty());
    }
    let n = x.numel();
    let count = if with_replacement && n == 0 && r > 0 { 0 } else { ways(n, r, with_replacement) };
    crate::tensor::checked_numel(op, &[count, r.max(1)])?;
    let mut places: Vec<i64> = Vec::with_capacity(count * r);
    // Without a way to go through, `r` may be as large as it likes.
    let taken = if count > 0 { r } else { 0 };
    let mut way: Vec<usize> = (0..taken).map(|k| if with_replacement { 0 } else { k }).collect();
    for _ in 0..count {
        places.extend(way.iter().map(|&k| k as i64));
        // The last place that can grow does, and those behind it follow it.
        let largest = |k: usize| if with_replacement { n - 1 } else { n - r + k };
        if let Some(k) = (0..r).rev().find(|&k| way[k] < largest(k)) {
            way[k] += 1;
            for j in k + 1..r {
                way[j] = way[j - 1] + usize::from(!with_replacement);
            }
        }
    }
    x.index_select(0, &Tensor::from_slice(&places, &[count, r])?)
}

/// Vectors of these sizes.
fn vectors(sizes: &[usize]) -> Vec<Tensor> {
    sizes.iter().enumerate().map(|(k, &n)| sample_tensor(&[n], -1.0, 1.0, k as u64 + 1)).collect()
}

fn refs(x: &[Tensor]) -> Vec<&Tensor> {
    x.iter().collect()
}

fn meshgrid_samples() -> Vec<Sample> {
    let case = |label: &str, inputs: Vec<Tensor>, order: GridOrder| {
        Sample::new(label, inputs, move |x| meshgrid(&refs(x), order)).reference(move |x| {
            let mut shape: Vec<usize> = x.iter().map(|x| x.data.len()).collect();
            let xy = order == GridOrder::Xy && shape.len() > 1;
            if xy {
                shape.swap(0, 1);
            }
            let place = |k: usize| if xy && k < 2 { 1 - k } else { k };
            (0..x.len()).map(|k| Naive::from_fn(&shape, |i| x[k].data[i[place(k)]])).collect()
        })
    };
    vec![
        case("two", vectors(&[2, 3]), GridOrder::Ij),
        case("two, xy", vectors(&[2, 3]), GridOrder::Xy),
        case("three, xy", vectors(&[2, 3, 2]), GridOrder::Xy),
        case("one, xy", vectors(&[3]), GridOrder::Xy),
        case("0-d", vec![sample_tensor(&[], -1.0, 1.0, 1), sample_tensor(&[2], -1.0, 1.0, 2)], GridOrder::Ij),
        case("empty", vectors(&[2, 0]), GridOrder::Ij),
    ]
}

fn meshgrid_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![ErrorSample::new("rank", ErrorKind::Shape, "expected vectors, got f64[2,3] at position 1", move || {
        Ok(meshgrid(&[&Tensor::from([1.0]), &x], GridOrder::Ij)?.swap_remove(0))
    })]
}

fn broadcast_tensors_samples() -> Vec<Sample> {
    let case = |label: &str, shapes: &[&[usize]], out: &'static [usize]| {
        let inputs: Vec<Tensor> =
            shapes.iter().enumerate().map(|(k, s)| sample_tensor(s, -1.0, 1.0, k as u64 + 1)).collect();
        Sample::new(label, inputs, |x| broadcast_tensors(&refs(x)))
            .reference(move |x| x.iter().map(|x| Naive::from_fn(out, |i| x.at_broadcast(i))).collect())
    };
    vec![
        case("both", &[&[2], &[3, 1]], &[3, 2]),
        case("three", &[&[2, 1, 3], &[], &[4, 1]], &[2, 4, 3]),
        case("empty", &[&[0], &[2, 1]], &[2, 0]),
    ]
}

fn broadcast_tensors_errors() -> Vec<ErrorSample> {
    let x = vectors(&[2, 1, 3]);
    vec![ErrorSample::new(
        "shapes",
        ErrorKind::Shape,
        "broadcast_tensors: expected shapes that broadcast, got f64[2], f64[1], f64[3]",
        move || Ok(broadcast_tensors(&refs(&x))?.swap_remove(0)),
    )]
}

fn cartesian_prod_samples() -> Vec<Sample> {
    let case = |label: &str, sizes: &'static [usize]| {
        Sample::one(label, vectors(sizes), |x| cartesian_prod(&refs(x))).reference(move |x| {
            let mut rows = vec![];
            Naive::from_fn(sizes, |at| {
                rows.extend(at.iter().enumerate().map(|(k, &i)| x[k].data[i]));
                0.0
            });
            let shape = if sizes.len() == 1 { vec![rows.len()] } else { vec![numel(sizes), sizes.len()] };
            vec![Naive { shape, data: rows }]
        })
    };
    vec![case("two", &[2, 3]), case("three", &[2, 1, 3]), case("one", &[2]), case("empty", &[2, 0])]
}

fn cartesian_prod_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![
        ErrorSample::new("none", ErrorKind::Arity, "expected at least one vector, got none", || cartesian_prod(&[])),
        ErrorSample::new("rank", ErrorKind::Shape, "cartesian_prod: expected vectors, got f64[2,3]", move || {
            cartesian_prod(&[&x, &x])
        }),
    ]
}

fn block_diag_samples() -> Vec<Sample> {
    let case =
        |label: &str, shapes: &[&[usize]], out: &'static [usize], block: fn(&[usize]) -> Option<(usize, usize)>| {
            let inputs: Vec<Tensor> =
                shapes.iter().enumerate().map(|(k, s)| sample_tensor(s, -1.0, 1.0, k as u64 + 1)).collect();
            Sample::one(label, inputs, |x| block_diag(&refs(x)))
                .reference(move |x| vec![Naive::from_fn(out, |i| block(i).map_or(0.0, |(k, flat)| x[k].data[flat]))])
        };
    vec![
        case("two", &[&[2, 3], &[1, 2]], &[3, 5], |i| match (i[0] < 2, i[1] < 3) {
            (true, true) => Some((0, 3 * i[0] + i[1])),
            (false, false) => Some((1, i[1] - 3)),
            _ => None,
        }),
        case("vector and 0-d", &[&[2], &[]], &[2, 3], |i| match (i[0], i[1]) {
            (0, j @ 0..2) => Some((0, j)),
            (1, 2) => Some((1, 0)),
            _ => None,
        }),
        case("without columns", &[&[1, 0], &[1, 1]], &[2, 1], |i| (i[0] == 1).then_some((1, 0))),
    ]
}

fn block_diag_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[1, 2, 3], 0.0, 1.0, 1);
    vec![
        ErrorSample::new("none", ErrorKind::Arity, "expected at least one matrix, got none", || block_diag(&[])),
        ErrorSample::new("rank", ErrorKind::Shape, "expected matrices, got f64[1,2,3] at position 0", move || {
            block_diag(&[&x])
        }),
    ]
}

fn combinations_samples() -> Vec<Sample> {
    let case = |label: &str, n: usize, r: usize, again: bool| {
        Sample::one(label, vectors(&[n]), move |x| x[0].combinations(r, again)).reference(move |x| {
            // Of all ways to take r elements, those in rising order.
            let mut rows = vec![];
            let mut count = 0;
            Naive::from_fn(&vec![n; r], |at| {
                if at.windows(2).all(|w| w[0] < w[1] || again && w[0] == w[1]) {
                    rows.extend(at.iter().map(|&i| x[0].data[i]));
                    count += 1;
                }
                0.0
            });
            vec![Naive { shape: vec![count, r], data: rows }]
        })
    };
    vec![
        case("pairs", 4, 2, false),
        case("pairs, again", 3, 2, true),
        case("triples", 5, 3, false),
        case("triples, again", 2, 3, true),
        case("all", 3, 3, false),
        case("too many", 2, 3, false),
        case("none", 2, 0, false),
        case("of nothing", 0, 2, true),
    ]
}

fn combinations_errors() -> Vec<ErrorSample> {
    let (x, y) = (sample_tensor(&[2, 3], 0.0, 1.0, 1), sample_tensor(&[200], 0.0, 1.0, 1));
    vec![
        ErrorSample::new("rank", ErrorKind::Shape, "combinations: expected a vector, got f64[2,3]", move || {
            x.combinations(2, false)
        }),
        ErrorSample::new("size", ErrorKind::Shape, "is too large", move || y.combinations(100, false)),
    ]
}
