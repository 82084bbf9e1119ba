//! Operations by name, with parameters as they are written in the data files.

use pullback::{
    DType, Ellipsis, IndexItem, Interpolation, MatrixNorm, NewAxis, Reduction, Result, Tensor, cat, einsum, multi_dot,
    s, stack,
};

use crate::read::list;

/// The parameters of a line.
pub(crate) struct Parameters<'a>(pub(crate) &'a [&'a str]);

impl Parameters<'_> {
    pub(crate) fn int(&self, k: usize) -> isize {
        self.0[k].parse().unwrap()
    }
    pub(crate) fn size(&self, k: usize) -> usize {
        self.0[k].parse().unwrap()
    }
    pub(crate) fn float(&self, k: usize) -> f64 {
        self.0[k].parse().unwrap()
    }
    pub(crate) fn flag(&self, k: usize) -> bool {
        self.0[k].parse().unwrap()
    }
    /// `none` or a number.
    pub(crate) fn maybe<T: std::str::FromStr>(&self, k: usize) -> Option<T> {
        self.0[k].parse().ok()
    }
    /// `[1,2]`
    pub(crate) fn ints(&self, k: usize) -> Vec<isize> {
        list(self.0[k].trim_matches(['[', ']']))
    }
    pub(crate) fn sizes(&self, k: usize) -> Vec<usize> {
        list(self.0[k].trim_matches(['[', ']']))
    }
    pub(crate) fn dtype(&self, k: usize) -> DType {
        DType::ALL.into_iter().find(|d| d.name() == self.0[k]).unwrap()
    }
    pub(crate) fn reduction(&self, k: usize) -> Reduction {
        match self.0[k] {
            "none" => Reduction::None,
            "mean" => Reduction::Mean,
            "sum" => Reduction::Sum,
            other => panic!("no reduction: {other}"),
        }
    }
    pub(crate) fn interpolation(&self, k: usize) -> Interpolation {
        use Interpolation::{Higher, Linear, Lower, Midpoint, Nearest};
        [Linear, Lower, Higher, Midpoint, Nearest]
            .into_iter()
            .find(|i| format!("{i:?}").to_lowercase() == self.0[k])
            .expect("a mode of interpolation")
    }
    fn matrix_norm(&self, k: usize) -> MatrixNorm {
        use MatrixNorm::{Frobenius, Infinity, MinusInfinity, MinusOne, MinusTwo, Nuclear, One, Two};
        [Frobenius, Nuclear, Two, MinusTwo, One, MinusOne, Infinity, MinusInfinity]
            .into_iter()
            .find(|n| format!("{n:?}") == self.0[k])
            .expect("a norm")
    }
    /// `1:3/.../new/-1`
    pub(crate) fn index(&self, k: usize) -> Vec<IndexItem> {
        let item = |text: &str| match text {
            "..." => Ellipsis.into(),
            "new" => NewAxis.into(),
            _ if text.contains(':') => {
                let bounds: Vec<Option<isize>> = text.split(':').map(|e| e.parse().ok()).collect();
                s(bounds[0], bounds[1], bounds[2].unwrap_or(1))
            }
            _ => text.parse::<isize>().unwrap().into(),
        };
        self.0[k].split('/').map(item).collect()
    }
}

/// Calls a method whose right operand is a number, if the parameter is there, or else a tensor.
macro_rules! operand {
    ($x:expr, $method:ident, $right:expr, $parameter:expr) => {
        match $parameter {
            None => $x.$method($right),
            Some(text) => match (text.parse::<bool>(), text.parse::<i64>()) {
                (Ok(flag), _) => $x.$method(flag),
                (_, Ok(whole)) => $x.$method(whole),
                _ => $x.$method(text.parse::<f64>().unwrap()),
            },
        }
    };
}

/// The outputs of operation `op`.
pub fn call(op: &str, parameters: &[&str], inputs: &[Tensor]) -> Result<Vec<Tensor>> {
    let others = [crate::complex::call, crate::index::call, crate::losses::call, crate::words::call];
    if let Some(outputs) = others.iter().find_map(|call| call(op, parameters, inputs)) {
        return outputs;
    }
    let p = Parameters(parameters);
    let x = &inputs[0];
    let y = inputs.get(1).unwrap_or(x);
    let all: Vec<&Tensor> = inputs.iter().collect();
    let first = p.0.first();
    macro_rules! by_name {
        (unary: $($unary:ident)*; binary: $($binary:ident)*; dims: $($dims:ident)*; $($name:pat => $body:expr,)*) => {
            match op {
                $(stringify!($unary) => x.$unary()?,)*
                $(stringify!($binary) => operand!(x, $binary, y, first)?,)*
                $(stringify!($dims) => x.$dims(&p.ints(0), p.flag(1))?,)*
                $($name => $body?,)*
                // Several outputs.
                "sort" => return x.sort(p.int(0), p.flag(1)).map(|(a, b)| vec![a, b]),
                "topk" => return x.topk(p.size(0), p.int(1), p.flag(2), p.flag(3)).map(|(a, b)| vec![a, b]),
                "split" => return x.split(p.size(0), p.int(1)),
                "split_with_sizes" => return x.split_with_sizes(&p.sizes(0), p.int(1)),
                "chunk" => return x.chunk(p.size(0), p.int(1)),
                "unbind" => return x.unbind(p.int(0)),
                "cummax" => return x.cummax(p.int(0)).map(|(a, b)| vec![a, b]),
                "cummin" => return x.cummin(p.int(0)).map(|(a, b)| vec![a, b]),
                "median_dim" => return x.median_dim(p.int(0), p.flag(1)).map(|(a, b)| vec![a, b]),
                "nanmedian_dim" => return x.nanmedian_dim(p.int(0), p.flag(1)).map(|(a, b)| vec![a, b]),
                "lu" => return x.lu().map(|(a, b, c)| vec![a, b, c]),
                "lu_factor" => return x.lu_factor().map(|(a, b)| vec![a, b]),
                "slogdet" => return x.slogdet().map(|(a, b)| vec![a, b]),
                "qr" => return x.qr(p.flag(0)).map(|(a, b)| vec![a, b]),
                "eigh" => return x.eigh().map(|(a, b)| vec![a, b]),
                "svd" => return x.svd(p.flag(0)).map(|(a, b, c)| vec![a, b, c]),
                "aminmax" => return x.aminmax(p.maybe::<isize>(0), p.flag(1)).map(|(a, b)| vec![a, b]),
                other => return crate::nn::call(other, &p, inputs),
            }
        };
    }
    let out = by_name! {
        unary: detach logical_not trace max min var std prod sum mean any all t squeeze_all sigmoid softplus erf erfc exp exp2
            expm1 log log2 log10 log1p sqrt rsqrt cbrt reciprocal floor ceil round trunc isnan isinf isfinite neg abs sign
            square relu silu sinc sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh lgamma
            digamma erfinv i0 i1 i0e i1e gelu gelu_tanh mish softsign hardswish selu
            log_sigmoid hardsigmoid nansum nanmean count_nonzero median nanmedian;
        binary: add sub mul div maximum minimum logical_and logical_or logical_xor eq ne lt le gt ge hypot atan2 logaddexp pow xlogy fmod remainder;
        dims: max_dims min_dims sum_dims mean_dims prod_dims any_dims all_dims logsumexp nansum_dims nanmean_dims
            count_nonzero_dims;
        "to_dtype" => x.to_dtype(p.dtype(0)),
        "where_" => match first {
            None => x.where_(y, &inputs[2]),
            Some(text) => match (text.parse::<bool>(), text.parse::<i64>()) {
                (Ok(flag), _) => x.where_(y, flag),
                (_, Ok(whole)) => x.where_(y, whole),
                _ => x.where_(y, p.float(0)),
            },
        },
        "polygamma" => x.polygamma(p.size(0) as u32),
        "leaky_relu" => x.leaky_relu(p.float(0)),
        "elu" => x.elu(p.float(0)),
        "diff" => x.diff(p.size(0), p.int(1)),
        "clamp" => x.clamp(p.maybe(0), p.maybe(1)),
        "diagonal" => x.diagonal(p.int(0), p.int(1), p.int(2)),
        "diag_embed" => x.diag_embed(p.int(0), p.int(1), p.int(2)),
        "diag" => x.diag(p.int(0)),
        "tril" => x.tril(p.int(0)),
        "triu" => x.triu(p.int(0)),
        "argmax" => x.argmax(p.maybe::<isize>(0), p.flag(1)),
        "argmin" => x.argmin(p.maybe::<isize>(0), p.flag(1)),
        "gather" => x.gather(p.int(0), y),
        "take_along_dim" => x.take_along_dim(y, p.int(0)),
        "scatter_add" => x.scatter_add(p.int(0), y, &inputs[2]),
        "scatter" => x.scatter(p.int(0), y, &inputs[2]),
        "index_select" => x.index_select(p.int(0), y),
        "index_add" => x.index_add(p.int(0), y, &inputs[2]),
        "index_copy" => x.index_copy(p.int(0), y, &inputs[2]),
        "dynamic_slice" => x.dynamic_slice(p.int(0), y, p.size(1)),
        "cat" => cat(&all, p.int(0)),
        "stack" => stack(&all, p.int(0)),
        "one_hot" => x.one_hot(p.size(0), p.dtype(1)),
        "cross_entropy" => x.cross_entropy(y),
        "cross_entropy_with" => x.cross_entropy_with(y, p.reduction(0)),
        "nll_loss" => x.nll_loss(y),
        "nll_loss_with" => x.nll_loss_with(y, p.reduction(0)),
        "mse_loss" => x.mse_loss(y),
        "masked_fill" => match first {
            Some(_) => x.masked_fill(y, p.float(0)),
            None => x.masked_fill(y, &inputs[2]),
        },
        "lerp" => match first {
            Some(_) => x.lerp(y, p.float(0)),
            None => x.lerp(y, &inputs[2]),
        },
        "nan_to_num" => x.nan_to_num(p.float(0), p.maybe(1), p.maybe(2)),
        "l1_loss" => x.l1_loss(y, p.reduction(0)),
        "huber_loss" => x.huber_loss(y, p.float(0), p.reduction(1)),
        "smooth_l1_loss" => x.smooth_l1_loss(y, p.float(0), p.reduction(1)),
        "binary_cross_entropy_with_logits" => x.binary_cross_entropy_with_logits(y, p.reduction(0)),
        "kl_div" => x.kl_div(y, p.flag(0), p.reduction(1)),
        "mse_loss_with" => x.mse_loss_with(y, p.reduction(0)),
        "matmul" => x.matmul(y),
        "dot" => x.dot(y),
        "outer" => x.outer(y),
        "linear" => x.linear(y, inputs.get(2)),
        "einsum" => einsum(p.0[0], &all),
        "var_dims" => x.var_dims(&p.ints(0), p.size(1), p.flag(2)),
        "std_dims" => x.std_dims(&p.ints(0), p.size(1), p.flag(2)),
        "powi" => x.powi(p.int(0) as i32),
        "powf" => x.powf(p.float(0)),
        "sum_to" => x.sum_to(&p.sizes(0)),
        "i" => x.i(p.index(0)),
        "index_set" => match p.0.get(1) {
            None => x.index_set(p.index(0), y),
            Some(text) if text.contains('.') => x.index_set(p.index(0), p.float(1)),
            Some(_) => x.index_set(p.index(0), p.int(1)),
        },
        "cumsum" => x.cumsum(p.int(0)),
        "permute" => x.permute(&p.ints(0)),
        "transpose" => x.transpose(p.int(0), p.int(1)),
        "movedim" => x.movedim(&p.ints(0), &p.ints(1)),
        "flip" => x.flip(&p.ints(0)),
        "roll" => x.roll(&p.ints(0), &p.ints(1)),
        "expand" => x.expand(&p.sizes(0)),
        "repeat" => x.repeat(&p.sizes(0)),
        "repeat_interleave" => x.repeat_interleave(p.size(0), p.int(1)),
        "reshape" => x.reshape(&p.ints(0)),
        "unsqueeze" => x.unsqueeze(p.int(0)),
        "squeeze" => x.squeeze(p.int(0)),
        "flatten" => x.flatten(p.int(0), p.int(1)),
        "unflatten" => x.unflatten(p.int(0), &p.ints(1)),
        "select" => x.select(p.int(0), p.int(1)),
        "narrow" => x.narrow(p.int(0), p.int(1), p.size(2)),
        "slice" => x.slice(p.int(0), p.maybe::<isize>(1), p.maybe::<isize>(2), p.int(3)),
        "softmax" => x.softmax(p.int(0)),
        "log_softmax" => x.log_softmax(p.int(0)),
        "argsort" => x.argsort(p.int(0), p.flag(1)),
        "norm" => x.norm(p.float(0)),
        "norm_dims" => x.norm_dims(p.float(0), &p.ints(1), p.flag(2)),
        "cumprod" => x.cumprod(p.int(0)),
        "logcumsumexp" => x.logcumsumexp(p.int(0)),
        "quantile" => x.quantile(y, p.maybe::<isize>(0), p.flag(1), p.interpolation(2)),
        "nanquantile" => x.nanquantile(y, p.maybe::<isize>(0), p.flag(1), p.interpolation(2)),
        "searchsorted" => x.searchsorted(y, p.flag(0)),
        "bucketize" => x.bucketize(y, p.flag(0)),
        "bincount" => x.bincount(inputs.get(1), p.size(0)),
        "histogram" => x.histogram(y, inputs.get(2), p.flag(0)),
        "histc" => x.histc(p.size(0), p.float(1), p.float(2)),
        "cholesky" => x.cholesky(),
        "cholesky_solve" => x.cholesky_solve(y),
        "solve_triangular" => x.solve_triangular(y, p.flag(0), p.flag(1), p.flag(2)),
        "solve" => x.solve(y),
        "inv" => x.inv(),
        "det" => x.det(),
        "logdet" => x.logdet(),
        "lstsq" => x.lstsq(y),
        "eigvalsh" => x.eigvalsh(),
        "svdvals" => x.svdvals(),
        "pinv" => x.pinv(None),
        "matrix_rank" => x.matrix_rank(None),
        "matrix_exp" => x.matrix_exp(),
        "matrix_power" => x.matrix_power(p.int(0) as i64),
        "multi_dot" => multi_dot(&all),
        "kron" => x.kron(y),
        "cross" => x.cross(y, p.int(0)),
        "tensordot" => x.tensordot(y, (&p.ints(0)[..], &p.ints(1)[..])),
        "matrix_norm" => x.matrix_norm(p.matrix_norm(0), p.flag(1)),
        "cond" => x.cond(p.matrix_norm(0)),
    };
    Ok(vec![out])
}
