//! Whether a graph is whole.

use crate::error::bail;
use crate::function::Outs;
use crate::interp::bind;
use crate::interp::capture::{Call, Source};
use crate::{DType, ErrorKind, Result, Tensor, TensorType};

use super::print::Names;
use super::program::Program;

pub(super) fn verify(program: &Program) -> Result<()> {
    structure(program)?;
    types(program)
}

/// Every value is defined once, and before it is used.
fn structure(program: &Program) -> Result<()> {
    let names = Names::of(program);
    let mut defined = vec![false; program.types.len()];
    if defined.len() < program.arguments {
        bail!(Internal, "expected a type for each of {} arguments, got {}", program.arguments, defined.len());
    }
    defined[..program.arguments].fill(true);
    let check = |defined: &[bool], place: &dyn Fn() -> String, source: Source| match source {
        Source::Variable(v) if !defined.get(v as usize).is_some_and(|d| *d) => {
            bail!(Internal, "{} reads `{}`, which is not defined before it", place(), names.variable(v))
        }
        Source::Constant(c) if c as usize >= program.constants.len() => {
            bail!(Internal, "{} reads value {c} from outside, and there are {}", place(), program.constants.len())
        }
        _ => Ok(()),
    };
    for (k, call) in program.calls.iter().enumerate() {
        let place = || format!("operation {k}, `{}`,", call.op.name());
        for &source in &call.inputs {
            check(&defined, &place, source)?;
        }
        for &v in &call.outputs {
            match defined.get_mut(v as usize) {
                None => bail!(Internal, "{} defines `{}`, which has no type", place(), names.variable(v)),
                Some(true) => bail!(Internal, "{} defines `{}` a second time", place(), names.variable(v)),
                Some(d) => *d = true,
            }
        }
    }
    let place = || "the result".to_string();
    program.results.iter().try_for_each(|&source| check(&defined, &place, source))
}

/// Every operation returns the types that are written down.
fn types(program: &Program) -> Result<()> {
    let arguments: Vec<Tensor> = program.types[..program.arguments].iter().map(plain).collect::<Result<_>>()?;
    let run = program.run_with(&arguments.iter().collect::<Vec<_>>(), |call, inputs| {
        let expected = || call.outputs.iter().map(|&v| plain(&program.types[v as usize])).collect::<Result<Outs>>();
        if call.op.has_effect() {
            return expected();
        }
        bind(&call.op, inputs).or_else(|e| if is_about_values(call, e.kind()) { expected() } else { Err(e) })
    });
    match run {
        Ok(_) => Ok(()),
        Err(e) if e.kind() == ErrorKind::EscapedTracer => Err(e),
        Err(e) => bail!(Internal, "the graph does not run: {e}"),
    }
}

/// Ones, as a value that few functions refuse; zeros for what may be an index.
fn plain(ty: &TensorType) -> Result<Tensor> {
    Tensor::full(&ty.shape, u8::from(ty.dtype.is_float() || ty.dtype == DType::Bool), ty.dtype)
}

/// True for an error that says nothing about the graph: ones are not the values that the call is meant for.
fn is_about_values(call: &Call, kind: ErrorKind) -> bool {
    use ErrorKind::{ConcreteValueNeeded, EscapedTracer, Index, Internal, Io, Randomness, User, Value};
    match kind {
        EscapedTracer | Internal => false,
        User | Value | Index | Io | Randomness | ConcreteValueNeeded => true,
        _ => call.op.is_function(),
    }
}
