//! Operations that are made of others by name, as [`call`](crate::call) does the others.

use pullback::nn::Approximate;
use pullback::{Classes, DType, NormOrder, Reduce, Result, RoundingMode, Tensor, column_stack, dstack, hstack, vstack};

use crate::call::Parameters;

fn norm_order(text: &str) -> Option<NormOrder> {
    match text {
        "none" => None,
        "fro" => Some(NormOrder::Frobenius),
        "nuc" => Some(NormOrder::Nuclear),
        p => Some(NormOrder::P(p.parse().expect("a number"))),
    }
}

/// The outputs of operation `op`, if it is one of these.
pub fn call(op: &str, p: &[&str], inputs: &[Tensor]) -> Option<Result<Vec<Tensor>>> {
    let p = Parameters(p);
    let x = &inputs[0];
    let [y, z] = [1, 2].map(|k| inputs.get(k).unwrap_or(x));
    let all: Vec<&Tensor> = inputs.iter().collect();
    let pair = |(a, b): (Tensor, Tensor)| vec![a, b];
    let one = match op {
        "isclose" => x.isclose(y, p.float(0), p.float(1), p.flag(2)),
        "mm" => x.mm(y),
        "bmm" => x.bmm(y),
        "mv" => x.mv(y),
        "addmm" => x.addmm(y, z, p.float(0), p.float(1)),
        "addmv" => x.addmv(y, z, p.float(0), p.float(1)),
        "baddbmm" => x.baddbmm(y, z, p.float(0), p.float(1)),
        "inner" => x.inner(y),
        "vdot" => x.vdot(y),
        "vecdot" => x.vecdot(y, p.int(0)),
        "norm_with" => x.norm_with(norm_order(p.0[0]), &p.ints(1), p.flag(2)),
        "atleast_1d" => x.atleast_1d(),
        "atleast_2d" => x.atleast_2d(),
        "atleast_3d" => x.atleast_3d(),
        "hstack" => hstack(&all),
        "vstack" => vstack(&all),
        "dstack" => dstack(&all),
        "column_stack" => column_stack(&all),
        "clamp_with" => x.clamp_with(Some(y), Some(z)),
        "clamp_min" => x.clamp_min(y),
        "clamp_max" => x.clamp_max(y),
        "nonzero_dims" => return Some(x.nonzero_dims()),
        "bincount_with" => x.bincount_with(inputs.get(1), p.size(0)),
        "repeat_interleave_to" => x.repeat_interleave_to(y, p.maybe(0), p.size(1)),
        "diff_with" => x.diff_with(p.size(0), p.int(1), Some(y), Some(z)),
        "index_add_scaled" => x.index_add_scaled(p.int(0), y, z, p.float(1)),
        "scatter_with" => x.scatter_with(p.int(0), y, z, if p.0[1] == "Sum" { Reduce::Sum } else { Reduce::Prod }),
        "repeat_interleave_by" => x.repeat_interleave_by(y, p.maybe(0)),
        "repeat_elements" => x.repeat_elements(p.size(0)),
        "one_hot" if p.0.len() < 2 => x.one_hot(Classes::OfData, DType::I64),
        "add_scaled" if x.dtype().is_int() => x.add_scaled(y, p.int(0)),
        "add_scaled" => x.add_scaled(y, p.float(0)),
        "sub_scaled" if x.dtype().is_int() => x.sub_scaled(y, p.int(0)),
        "sub_scaled" => x.sub_scaled(y, p.float(0)),
        "addcmul" => x.addcmul(y, z, p.float(0)),
        "addcdiv" => x.addcdiv(y, z, p.float(0)),
        "cov" => x.cov(p.size(0), None, inputs.get(1)),
        "corrcoef" => x.corrcoef(),
        "trapezoid" => x.trapezoid(inputs.get(1), None, p.int(0)),
        "cumulative_trapezoid" => x.cumulative_trapezoid(inputs.get(1), None, p.int(0)),
        "relu6" => x.relu6(),
        "gelu_with" => x.gelu_with(if p.0[0] == "tanh" { Approximate::Tanh } else { Approximate::None }),
        "logit" => x.logit(),
        "logit_with" => x.logit_with(p.maybe(0)),
        "ndtr" => x.ndtr(),
        "ndtri" => x.ndtri(),
        "log_ndtr" => x.log_ndtr(),
        "entr" => x.entr(),
        "xlog1py" => x.xlog1py(y),
        "logaddexp2" => x.logaddexp2(y),
        "copysign" => x.copysign(y),
        "ldexp" => x.ldexp(y),
        "float_power" => x.float_power(y),
        "signbit" => x.signbit(),
        "frexp" => return Some(x.frexp().map(|(a, b)| vec![a, b])),
        "div_with" => x.div_with(y, Some(if p.0[0] == "trunc" { RoundingMode::Trunc } else { RoundingMode::Floor })),
        "mode" => return Some(x.mode(p.int(0), p.flag(1)).map(|(a, b)| vec![a, b])),
        "dist" => x.dist(y, p.float(0)),
        "pdist" => x.pdist(p.float(0)),
        "renorm" => x.renorm(p.float(0), p.int(1), p.float(2)),
        "round_with" => x.round_with(p.int(0) as i32),
        "frac" => x.frac(),
        "deg2rad" => x.deg2rad(),
        "rad2deg" => x.rad2deg(),
        "ravel" => x.ravel(),
        "fliplr" => x.fliplr(),
        "flipud" => x.flipud(),
        "reshape_as" => x.reshape_as(y),
        "expand_as" => x.expand_as(y),
        "heaviside" => x.heaviside(y),
        "fmax" => x.fmax(y),
        "fmin" => x.fmin(y),
        "isin" => x.isin(y, p.flag(0)),
        "vander" => x.vander(p.maybe(0), p.flag(1)),
        "gradient" => return Some(x.gradient(p.float(0), &p.ints(1))),
        "var_mean" => return Some(x.var_mean(&p.ints(0), p.size(1), p.flag(2)).map(pair)),
        "std_mean" => return Some(x.std_mean(&p.ints(0), p.size(1), p.flag(2)).map(pair)),
        "kthvalue" => return Some(x.kthvalue(p.size(0), p.int(1), p.flag(2)).map(pair)),
        _ => return None,
    };
    Some(one.map(|y| vec![y]))
}
