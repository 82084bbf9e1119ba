//! Operations on complex numbers, which go in and out as pairs of real ones. The first parameter of a line says which
//! inputs are complex: `c` or `r` for each.

#[cfg(feature = "fft")]
use pullback::fft::{self, Norm};
use pullback::{DType, Result, Tensor, complex, polar};

use crate::read::list;

fn dims(text: &str) -> Vec<isize> {
    list(text.trim_matches(['[', ']']))
}

/// The lines of `complex.txt` that can be computed here.
pub fn can_run(op: &str) -> bool {
    cfg!(feature = "fft") || !op.contains("fft")
}

/// The outputs, if this is a line about complex numbers.
pub fn call(op: &str, parameters: &[&str], inputs: &[Tensor]) -> Option<Result<Vec<Tensor>>> {
    let (kinds, rest) = parameters.split_first()?;
    if kinds.is_empty() || !kinds.chars().all(|c| c == 'c' || c == 'r') {
        return None;
    }
    let run = || {
        let own = |(t, kind): (&Tensor, char)| if kind == 'c' { t.view_as_complex() } else { Ok(t.clone()) };
        let inputs: Vec<Tensor> = inputs.iter().zip(kinds.chars()).map(own).collect::<Result<_>>()?;
        let outputs = match crate::complex_linalg::call(op, rest, &inputs) {
            Some(outputs) => outputs?,
            None => vec![compute(op, rest, &inputs)?],
        };
        outputs.into_iter().map(|y| if y.dtype().is_complex() { y.view_as_real() } else { Ok(y) }).collect()
    };
    Some(run())
}

fn compute(op: &str, rest: &[&str], inputs: &[Tensor]) -> Result<Tensor> {
    let x = &inputs[0];
    let y = inputs.get(1).unwrap_or(x);
    match op {
        "neg" => x.neg(),
        "square" => x.square(),
        "exp" => x.exp(),
        "exp2" => x.exp2(),
        "expm1" => x.expm1(),
        "log" => x.log(),
        "log2" => x.log2(),
        "log10" => x.log10(),
        "log1p" => x.log1p(),
        "sqrt" => x.sqrt(),
        "rsqrt" => x.rsqrt(),
        "reciprocal" => x.reciprocal(),
        "sin" => x.sin(),
        "cos" => x.cos(),
        "tan" => x.tan(),
        "asin" => x.asin(),
        "acos" => x.acos(),
        "atan" => x.atan(),
        "sinh" => x.sinh(),
        "cosh" => x.cosh(),
        "tanh" => x.tanh(),
        "asinh" => x.asinh(),
        "acosh" => x.acosh(),
        "atanh" => x.atanh(),
        "abs" => x.abs(),
        "angle" => x.angle(),
        "sgn" => x.sgn(),
        "real" => x.real(),
        "imag" => x.imag(),
        "conj" => x.conj(),
        "sum" => x.sum(),
        "mean" => x.mean(),
        "add" => x.add(y),
        "sub" => x.sub(y),
        "mul" => x.mul(y),
        "div" => x.div(y),
        "pow" => x.pow(y),
        "eq" => x.eq(y),
        "ne" => x.ne(y),
        "matmul" => x.matmul(y),
        "dot" => x.dot(y),
        "outer" => x.outer(y),
        "cumsum" => x.cumsum(1),
        "cumprod" => x.cumprod(1),
        "prod" => x.prod(),
        "prod_dims" => x.prod_dims(&dims(rest[0]), rest[1] == "true"),
        "solve" => x.solve(y),
        "inv" => x.inv(),
        "cholesky" => {
            let square = x.matmul(&x.conj()?.transpose(-2, -1)?)?;
            square.add(&Tensor::eye(x.shape()[x.rank() - 2], DType::F64)?)?.cholesky()
        }
        "norm" => x.norm(rest[0].parse().unwrap()),
        "norm_dims" => x.norm_dims(rest[0].parse().unwrap(), &dims(rest[1]), rest[2] == "true"),
        "complex" => complex(x, y),
        "polar" => polar(x, y),
        "view_as_real" => x.view_as_real(),
        "view_as_complex" => x.view_as_complex(),
        _ => fourier(op, rest, x),
    }
}

#[cfg(not(feature = "fft"))]
fn fourier(op: &str, _: &[&str], _: &Tensor) -> Result<Tensor> {
    panic!("no operation: {op}")
}

#[cfg(feature = "fft")]
fn fourier(op: &str, rest: &[&str], x: &Tensor) -> Result<Tensor> {
    let numbers = |k: usize| dims(rest[k]);
    if let "fftshift" | "ifftshift" = op {
        let shift = if op == "fftshift" { fft::fftshift } else { fft::ifftshift };
        return shift(x, Some(&numbers(0)));
    }
    let norm = match rest[2] {
        "backward" => Norm::Backward,
        "ortho" => Norm::Ortho,
        _ => Norm::Forward,
    };
    let one = |f: fn(&Tensor, Option<usize>, isize, Norm) -> Result<Tensor>| {
        f(x, rest[0].parse().ok(), rest[1].parse().unwrap(), norm)
    };
    let sizes: Vec<usize> = if rest[0].starts_with('[') { list(rest[0].trim_matches(['[', ']'])) } else { Vec::new() };
    let sizes = (!sizes.is_empty()).then_some(&sizes[..]);
    match op {
        "fft" => one(fft::fft),
        "ifft" => one(fft::ifft),
        "rfft" => one(fft::rfft),
        "irfft" => one(fft::irfft),
        "hfft" => one(fft::hfft),
        "ihfft" => one(fft::ihfft),
        "fftn" => fft::fftn(x, sizes, Some(&numbers(1)), norm),
        "ifftn" => fft::ifftn(x, sizes, Some(&numbers(1)), norm),
        "rfftn" => fft::rfftn(x, sizes, Some(&numbers(1)), norm),
        "irfftn" => fft::irfftn(x, sizes, Some(&numbers(1)), norm),
        _ => {
            let dims: [isize; 2] = numbers(1).try_into().unwrap();
            match op {
                "fft2" => fft::fft2(x, sizes, dims, norm),
                "ifft2" => fft::ifft2(x, sizes, dims, norm),
                "rfft2" => fft::rfft2(x, sizes, dims, norm),
                "irfft2" => fft::irfft2(x, sizes, dims, norm),
                _ => panic!("no operation: {op}"),
            }
        }
    }
}
