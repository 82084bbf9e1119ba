//! Attention.

use crate::error::bail;
use crate::kernels::attention;
use crate::kernels::half::widened;
use crate::ops::family::broadcast_shape;
use crate::ops::shape::broadcast_to;
use crate::ops::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::random::Key;
use crate::shape::Shape;
use crate::{DType, ErrorKind, Result, Tensor};

/// The options of [`scaled_dot_product_attention`](Tensor::scaled_dot_product_attention).
///
/// ```
/// use pullback::{DType, Tensor, nn::Attention};
/// let (q, k) = (Tensor::ones(&[8, 5, 4], DType::F32)?, Tensor::ones(&[2, 5, 4], DType::F32)?);
/// let y = q.scaled_dot_product_attention(&k, &k, &Attention::new().causal(true).enable_gqa(true))?;
/// assert_eq!(y.shape(), [8, 5, 4]);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Attention {
    mask: Option<Tensor>,
    causal: bool,
    scale: Option<f64>,
    dropout: Option<(f64, Key)>,
    enable_gqa: bool,
}

impl Attention {
    /// No mask, all keys seen by all queries, the usual scale, no dropout, as many heads of keys as of queries.
    pub fn new() -> Attention {
        Attention::default()
    }

    /// Which keys each query sees, as bools (true: it does), or numbers that are added to the scores. The mask broadcasts to
    /// `[.., queries, keys]`.
    #[must_use]
    pub fn mask(mut self, mask: &Tensor) -> Attention {
        self.mask = Some(mask.clone());
        self
    }

    /// Whether query `i` sees keys `0..=i` only.
    #[must_use]
    pub fn causal(mut self, causal: bool) -> Attention {
        self.causal = causal;
        self
    }

    /// What scores are multiplied by; `1/sqrt(size of a query)` unless set.
    #[must_use]
    pub fn scale(mut self, scale: f64) -> Attention {
        self.scale = Some(scale);
        self
    }

    /// Sets each weight to zero with probability `p`, and divides the others by `1 - p`. Calls with one key drop the same.
    #[must_use]
    pub fn dropout(mut self, p: f64, key: Key) -> Attention {
        self.dropout = Some((p, key));
        self
    }

    /// Whether several heads of queries may share one of keys and values: the third dimension from the end of the queries is then a multiple
    /// of that of the others.
    #[must_use]
    pub fn enable_gqa(mut self, enable_gqa: bool) -> Attention {
        self.enable_gqa = enable_gqa;
        self
    }
}

ops! { OPS;
    /// The mean of the values, for each query by the weights `softmax(scale·queries @ keysᵀ + mask)`.
    ///
    /// A query that sees no key at all gives zeros, and derivatives of zero; so does every query where there are no keys.
    ///
    /// # Shapes
    /// Queries `[.., queries, size]`, keys `[.., keys, size]`, values `[.., keys, n]`, result `[.., queries, n]`. Leading
    /// dimensions broadcast.
    ///
    /// # Dtypes
    /// Floats, which must be the same; a mask holds bools or floats of that dtype.
    ///
    /// # Derivative
    /// That of the formula, in the queries, keys, values and a mask of floats.
    ///
    /// # Errors
    /// `Shape` if sizes do not fit or do not broadcast; `Value` for both a mask and `causal`, for a dropout probability outside of [0, 1] or
    /// a scale that is no finite number; `Dtype` for different or other dtypes.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, nn::Attention};
    /// let (q, k) = (Tensor::from([[0.0, 1.0]]), Tensor::from([[1.0, 0.0], [2.0, 0.0]]));
    /// let v = Tensor::from([[1.0], [3.0]]);
    /// assert_eq!(q.scaled_dot_product_attention(&k, &v, &Attention::new())?.to_vec::<f64>()?, [2.0]);
    /// let first = Attention::new().mask(&Tensor::from([true, false]));
    /// assert_eq!(q.scaled_dot_product_attention(&k, &v, &first)?.to_vec::<f64>()?, [1.0]);
    /// let none = Attention::new().mask(&Tensor::from([false, false]));
    /// assert_eq!(q.scaled_dot_product_attention(&k, &v, &none)?.to_vec::<f64>()?, [0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// Vaswani et al., "Attention is all you need", 2017.
    fn scaled_dot_product_attention(&self, key: &Tensor, value: &Tensor, options: &Attention) -> Result<Tensor> = attention {
        samples: samples, errors: errors
    };
}

const OP: &str = "scaled_dot_product_attention";

fn check(q: &Tensor, k: &Tensor, v: &Tensor, options: &Attention) -> Result<()> {
    let types = || format!("queries {}, keys {} and values {}", q.ty(), k.ty(), v.ty());
    if [q, k, v].iter().any(|t| t.rank() < 2) {
        bail!(Shape, "{OP}: expected at least 2 dimensions each, got {}", types());
    }
    if let Some(t) = [q, k, v].iter().find(|t| !t.dtype().is_float() || t.dtype() != q.dtype()) {
        bail!(Dtype, "{OP}: expected queries, keys and values of one floating dtype, got {} and {}", q.ty(), t.ty());
    }
    let last = |t: &Tensor, n: usize| t.shape()[t.rank() - n];
    if last(q, 1) != last(k, 1) || last(k, 2) != last(v, 2) {
        bail!(Shape, "{OP}: expected queries and keys of one size, and as many values as keys, got {}", types());
    }
    if let Some(mask) = &options.mask {
        if mask.dtype() != DType::Bool && mask.dtype() != q.dtype() {
            bail!(Dtype, "{OP}: expected a mask of bools or of dtype {}, got {}", q.dtype(), mask.ty());
        }
        if options.causal {
            bail!(Value, "{OP}: expected a mask or `causal`, got both"; help = "make the one a part of the other, with `tril`");
        }
    }
    if let Some(scale) = options.scale
        && !scale.is_finite()
    {
        bail!(Value, "{OP}: expected a finite scale, got {scale}");
    }
    if let Some((p, _)) = options.dropout
        && !(0.0..=1.0).contains(&p)
    {
        bail!(Value, "{OP}: expected a dropout probability from 0 to 1, got {p}");
    }
    Ok(())
}

/// The leading dimensions of all three tensors, which broadcast.
fn leading(q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Shape> {
    let lead = |t: &Tensor| Shape::from_slice(&t.shape()[..t.rank() - 2]);
    let both = |a: &[usize], b: &[usize]| crate::shape::broadcast(a, b);
    match both(&lead(q), &lead(k)).and_then(|l| both(&l, &lead(v))) {
        Some(shape) => Ok(shape),
        None => {
            bail!(Shape, "{OP}: leading dimensions must broadcast, got queries {}, keys {} and values {}", q.ty(), k.ty(),
            v.ty(); help = "heads of queries that share keys need `enable_gqa`")
        }
    }
}

/// Each head of `t` as often as heads of queries share it.
fn shared(t: &Tensor, heads: usize) -> Result<Tensor> {
    let own = t.shape()[t.rank() - 3];
    if own == heads {
        return Ok(t.clone());
    }
    if own == 0 || !heads.is_multiple_of(own) {
        bail!(
            Shape,
            "{OP}: expected a number of heads of queries that is a multiple of that of {}, got {heads}",
            t.ty()
        );
    }
    t.repeat_interleave(heads / own, -3)
}

fn attention(q: &Tensor, k: &Tensor, v: &Tensor, options: &Attention) -> Result<Tensor> {
    check(q, k, v, options)?;
    if options.enable_gqa && q.rank() > 2 && k.rank() > 2 && v.rank() > 2 {
        let heads = q.shape()[q.rank() - 3];
        let plain = Attention { enable_gqa: false, ..options.clone() };
        return attention(q, &shared(k, heads)?, &shared(v, heads)?, &plain);
    }
    let lead = leading(q, k, v)?;
    let (queries, width) = (q.shape()[q.rank() - 2], q.shape()[q.rank() - 1]);
    let (keys, values) = (k.shape()[k.rank() - 2], v.shape()[v.rank() - 1]);
    let mut shape = lead.clone();
    shape.extend([queries, values]);
    crate::tensor::checked_numel(OP, &shape)?;
    let scale = options.scale.unwrap_or(1.0 / (width.max(1) as f64).sqrt());
    if options.mask.is_none()
        && options.dropout.is_none()
        && [queries, width, keys, values].iter().all(|&n| n > 0)
        && [q, k, v].iter().all(|t| t.array().is_some())
    {
        let batch: usize = lead.iter().product();
        let whole = |t: &Tensor| {
            let own = &t.shape()[t.rank() - 2..];
            broadcast_to(t, &[&lead[..], own].concat())?.reshape_to(&[batch, own[0], own[1]])
        };
        let [q, k, v] = [whole(q)?, whole(k)?, whole(v)?];
        let out = widened([q.concrete(), k.concrete(), v.concrete()], |[q, k, v]| {
            attention::attention(q, k, v, scale, options.causal)
        })?;
        return Tensor::from(out).reshape_to(&shape);
    }
    let scores = q.mul(scale)?.matmul(&k.transpose(-2, -1)?)?;
    let seen = match &options.mask {
        _ if options.causal => Some(Tensor::ones(&[queries, keys], DType::Bool)?.tril(0)?),
        Some(mask) if mask.dtype() == DType::Bool => Some(mask.clone()),
        Some(mask) => Some(mask.ne(f64::NEG_INFINITY)?),
        None => None,
    };
    let weights = match seen {
        None => scores.softmax(-1)?,
        // Every query sees the first key at least.
        Some(seen) if options.causal => seen.where_(&scores, f64::NEG_INFINITY)?.softmax(-1)?,
        Some(seen) => {
            let mut scores = scores;
            if let Some(mask) = &options.mask {
                let all = broadcast_shape(OP, &scores, mask)?;
                if mask.dtype() != DType::Bool {
                    // A zero for what is not seen keeps infinities away from the derivatives.
                    scores = scores.add(&seen.where_(mask, 0.0)?)?;
                }
                scores = broadcast_to(&scores, &all)?;
            }
            // Where nothing is seen, the softmax of zeros is computed and not used.
            let any = seen.any_dims(&[-1], true)?;
            let hidden = any.where_(&seen.where_(&scores, f64::NEG_INFINITY)?, 0.0)?;
            any.where_(&hidden.softmax(-1)?, 0.0)?
        }
    };
    let weights = match options.dropout {
        Some((p, key)) => key.dropout(&weights, p)?,
        None => weights,
    };
    weights.matmul(v)
}

fn samples() -> Vec<Sample> {
    let case = |label: &str, shapes: [&[usize]; 3], options: Attention, allowed: fn(usize, usize) -> f64| {
        let inputs = [0, 1, 2].map(|k| sample_tensor(shapes[k], -1.5, 1.5, k as u64 + 1));
        let scale = options.scale;
        Sample::one(label, inputs, move |x| x[0].scaled_dot_product_attention(&x[1], &x[2], &options)).reference(
            move |x| {
                let (q, k, v) = (&x[0], &x[1], &x[2]);
                let size = |t: &Naive, n: usize| t.shape[t.shape.len() - n];
                let longest = [q, k, v].into_iter().max_by_key(|t| t.shape.len()).expect("three");
                let mut shape = longest.shape.clone();
                let rank = shape.len();
                for d in 3..=rank {
                    shape[rank - d] =
                        [q, k, v].iter().filter(|t| t.shape.len() >= d).map(|t| size(t, d)).max().expect("one");
                }
                (shape[rank - 2], shape[rank - 1]) = (size(q, 2), size(v, 1));
                let scale = scale.unwrap_or(1.0 / (size(q, 1) as f64).sqrt());
                vec![Naive::from_fn(&shape, |at| {
                    let (lead, i, n) = (&at[..rank - 2], at[rank - 2], at[rank - 1]);
                    // Heads that are shared count slower.
                    let of = |t: &Naive, row: usize, column: usize| {
                        let own = t.shape.len() - 2;
                        let mut index: Vec<usize> = lead[lead.len() - own..].to_vec();
                        for (d, place) in index.iter_mut().enumerate() {
                            *place = *place * t.shape[d] / shape[rank - 2 - own + d];
                        }
                        index.extend([row, column]);
                        t.at(&index)
                    };
                    let weights: Vec<f64> = (0..size(k, 2))
                        .map(|j| {
                            let score: f64 = (0..size(q, 1)).map(|e| of(q, i, e) * of(k, j, e)).sum();
                            (score * scale + allowed(i, j)).exp()
                        })
                        .collect();
                    let total: f64 = weights.iter().sum();
                    let sum: f64 = weights.iter().enumerate().map(|(j, w)| w * of(v, j, n)).sum();
                    if total > 0.0 { sum / total } else { 0.0 }
                })]
            },
        )
    };
    let hidden = f64::NEG_INFINITY;
    let all = |_: usize, _: usize| 0.0;
    let new = Attention::new;
    // A mask of the dtype of the queries, so that the sample has one in all dtypes.
    let added = |mask: [[f64; 2]; 2], label: &str| {
        let shapes: [&[usize]; 3] = [&[2, 2, 2], &[2, 2, 2], &[2, 2, 3]];
        let inputs = [0, 1, 2].map(|k| sample_tensor(shapes[k], -1.5, 1.5, k as u64 + 1));
        Sample::one(label, inputs, move |x| {
            let mask = Tensor::from(mask).to_dtype(x[0].dtype())?;
            x[0].scaled_dot_product_attention(&x[1], &x[2], &Attention::new().mask(&mask))
        })
        .reference(move |x| {
            vec![Naive::from_fn(&[2, 2, 3], |at| {
                let (b, i, n) = (at[0], at[1], at[2]);
                let score =
                    |j: usize| (0..2).map(|e| x[0].at(&[b, i, e]) * x[1].at(&[b, j, e])).sum::<f64>() / 2f64.sqrt();
                let weights = [0, 1].map(|j| (score(j) + mask[i][j]).exp());
                let total: f64 = weights.iter().sum();
                let sum: f64 = (0..2).map(|j| weights[j] * x[2].at(&[b, j, n])).sum();
                if total > 0.0 { sum / total } else { 0.0 }
            })]
        })
    };
    let below = |i: usize, j: usize| if j <= i { 0.0 } else { f64::NEG_INFINITY };
    vec![
        case("one head", [&[3, 4], &[5, 4], &[5, 2]], new(), all),
        case("batch", [&[2, 2, 3, 4], &[2, 2, 3, 4], &[2, 2, 3, 4]], new().causal(true), below),
        case(
            "more queries than keys, causal",
            [&[1, 4, 2], &[1, 2, 2], &[1, 2, 3]],
            new().causal(true).scale(0.7),
            below,
        ),
        case("broadcast", [&[2, 1, 2, 3], &[3, 4, 3], &[1, 4, 2]], new().scale(2.0), all),
        case("shared heads", [&[4, 3, 2], &[2, 3, 2], &[2, 3, 2]], new().enable_gqa(true), all),
        case(
            "mask",
            [&[3, 2], &[3, 2], &[3, 2]],
            new().mask(&Tensor::from([[true, false, true], [false; 3], [true; 3]])),
            |i, j| if i == 2 || (i == 0 && j != 1) { 0.0 } else { f64::NEG_INFINITY },
        ),
        added([[0.5, hidden], [-0.25, 1.0]], "added mask"),
        added([[0.5, hidden], [hidden, hidden]], "added mask that hides all"),
        Sample::one(
            "a mask with a derivative",
            [&[2, 3][..], &[4, 3], &[4, 2], &[2, 4]].map(|s| sample_tensor(s, -1.0, 1.0, 1)),
            |x| x[0].scaled_dot_product_attention(&x[1], &x[2], &Attention::new().mask(&x[3])),
        )
        .reference(|x| {
            vec![Naive::from_fn(&[2, 2], |i| {
                let score =
                    |j: usize| (0..3).map(|e| x[0].at(&[i[0], e]) * x[1].at(&[j, e])).sum::<f64>() / 3f64.sqrt();
                let weights: Vec<f64> = (0..4).map(|j| (score(j) + x[3].at(&[i[0], j])).exp()).collect();
                (0..4).map(|j| weights[j] * x[2].at(&[j, i[1]])).sum::<f64>() / weights.iter().sum::<f64>()
            })]
        }),
        case("no keys", [&[2, 3], &[0, 3], &[0, 2]], new(), all),
        case("no queries", [&[0, 3], &[2, 3], &[2, 2]], new(), all),
    ]
}

fn errors() -> Vec<ErrorSample> {
    let error = |label: &'static str, kind, message, shapes: [&[usize]; 3], options: Attention| {
        let [q, k, v] = shapes.map(|s| sample_tensor(s, 0.0, 1.0, 1));
        ErrorSample::new(label, kind, message, move || q.scaled_dot_product_attention(&k, &v, &options))
    };
    let new = Attention::new;
    let mask = Tensor::from([true, true]);
    vec![
        error(
            "rank",
            ErrorKind::Shape,
            "expected at least 2 dimensions each, got queries f64[2], keys f64[3,2] and values f64[3,2]",
            [&[2], &[3, 2], &[3, 2]],
            new(),
        ),
        error(
            "size",
            ErrorKind::Shape,
            "expected queries and keys of one size, and as many values as keys",
            [&[2, 3], &[3, 2], &[3, 2]],
            new(),
        ),
        error(
            "values",
            ErrorKind::Shape,
            "got queries f64[2,2], keys f64[3,2] and values f64[2,2]",
            [&[2, 2], &[3, 2], &[2, 2]],
            new(),
        ),
        error(
            "batch",
            ErrorKind::Shape,
            "leading dimensions must broadcast",
            [&[4, 2, 2], &[2, 3, 2], &[2, 3, 2]],
            new(),
        ),
        error(
            "heads",
            ErrorKind::Shape,
            "a number of heads of queries that is a multiple of that of f64[2,3,2], got 3",
            [&[3, 2, 2], &[2, 3, 2], &[2, 3, 2]],
            new().enable_gqa(true),
        ),
        error(
            "both",
            ErrorKind::Value,
            "expected a mask or `causal`, got both",
            [&[2, 2], &[2, 2], &[2, 2]],
            new().causal(true).mask(&mask),
        ),
        error("mask", ErrorKind::Shape, "shapes must broadcast", [&[2, 2], &[3, 2], &[3, 2]], new().mask(&mask)),
        error(
            "mask dtype",
            ErrorKind::Dtype,
            "expected a mask of bools or of dtype f64, got i64[2]",
            [&[2, 2], &[2, 2], &[2, 2]],
            new().mask(&Tensor::from([1i64, 0])),
        ),
        error(
            "dropout",
            ErrorKind::Value,
            "expected a dropout probability from 0 to 1, got 2",
            [&[2, 2], &[2, 2], &[2, 2]],
            new().dropout(2.0, Key::new(1)),
        ),
        error(
            "scale",
            ErrorKind::Value,
            "expected a finite scale, got NaN",
            [&[2, 2], &[2, 2], &[2, 2]],
            new().scale(f64::NAN),
        ),
    ]
}
