//! Whether a graph is whole.

use std::panic::{AssertUnwindSafe, catch_unwind};

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
        // Kernels trust what has been checked before an operation was made, so a wrong operand may end in a panic.
        match catch_unwind(AssertUnwindSafe(|| bind(&call.op, inputs))) {
            Ok(Err(e)) if is_about_values(call, e.kind()) => expected(),
            Ok(found) => found,
            Err(_) if call.op.is_function() => expected(),
            Err(_) => bail!(Internal, "`{}` panics", call.op.name()),
        }
    });
    match run {
        Ok(_) => Ok(()),
        Err(e) if e.kind() == ErrorKind::EscapedTracer => Err(e),
        Err(e) => bail!(Internal, "the graph does not run: {e}"),
    }
}

/// Ones, as a value that few functions refuse; zeros for what may be an index.
fn plain(ty: &TensorType) -> Result<Tensor> {
    Tensor::full(&ty.shape, u8::from(ty.dtype.is_differentiable() || ty.dtype == DType::Bool), ty.dtype)
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

#[cfg(test)]
mod tests {
    //! Graphs from outside are whole, so here they are damaged.

    use super::*;
    use crate::graph::Capture;
    use crate::{capture, grad};

    type Damage = fn(&mut Program);

    fn program() -> Program {
        let w = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
        let f = |(x, y): &(Tensor, Tensor)| {
            let (sorted, order) = w.matmul(x)?.sort(0, false)?;
            Ok((sorted.mul(y)?.sum()?, order, x.sub(2.0)?))
        };
        let graph = capture(f)(&(Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0]))).unwrap();
        graph.content.program.clone()
    }

    #[test]
    fn a_graph_that_was_captured_is_whole() -> Result<()> {
        let program = program();
        verify(&program)?;
        assert_eq!(
            program.calls.iter().map(|c| c.op.name()).collect::<Vec<_>>(),
            ["matmul", "sort", "mul", "sum", "sub"]
        );
        let of_grad = capture(grad(|x: &Tensor| x.log()?.sqrt()?.sum()))(&Tensor::from([2.0, 3.0]))?;
        of_grad.verify()
    }

    #[test]
    fn damage_is_found() {
        let kinds: [(&str, Damage); 14] = [
            ("operation 2, `sum`, reads `f`, which is not defined before it", |p| p.calls.swap(2, 3)),
            ("operation 0, `matmul`, reads `i`, which is not defined before it", |p| {
                p.calls[0].inputs[1] = Source::Variable(8);
            }),
            ("operation 0, `matmul`, reads `zz`, which is not defined before it", |p| {
                p.calls[0].inputs[1] = Source::Variable(701);
            }),
            ("operation 4, `sub`, reads value 5 from outside, and there are 2", |p| {
                p.calls[4].inputs[1] = Source::Constant(5);
            }),
            ("operation 3, `sum`, defines `c` a second time", |p| p.calls[3].outputs[0] = 2),
            ("operation 3, `sum`, defines `a` a second time", |p| p.calls[3].outputs[0] = 0),
            ("operation 3, `sum`, defines `zz`, which has no type", |p| p.calls[3].outputs[0] = 701),
            ("the result reads `h`, which is not defined before it", |p| drop(p.calls.pop())),
            ("the result reads `zz`, which is not defined before it", |p| p.results[1] = Source::Variable(701)),
            ("expected a type for each of 2 arguments, got 1", |p| p.types.truncate(1)),
            ("`sum` must return f64[3], as when the graph was captured, got f64[]", |p| {
                p.types[6] = TensorType::new(DType::F64, &[3]);
            }),
            ("`sort` must return f64[2], as when the graph was captured, got i64[2]", |p| {
                p.types[4].dtype = DType::F64
            }),
            ("`sort` must return 1 tensors, as when the graph was captured, got 2", |p| {
                // Both outputs are read: so is nothing else in their place.
                p.calls[1].outputs.pop();
                p.results[1] = Source::Variable(3);
                p.types.remove(4);
                for call in &mut p.calls[2..] {
                    call.outputs.iter_mut().for_each(|v| *v -= 1);
                    for s in &mut call.inputs {
                        if let Source::Variable(v @ 4..) = s {
                            *v -= 1;
                        }
                    }
                }
                for s in &mut p.results {
                    if let Source::Variable(v @ 4..) = s {
                        *v -= 1;
                    }
                }
            }),
            ("the graph does not run: `matmul` panics", |p| p.calls[0].inputs.swap(0, 1)),
        ];
        for (text, damage) in kinds {
            let mut program = program();
            damage(&mut program);
            match verify(&program) {
                Ok(()) => panic!("not found: {text}"),
                Err(e) => {
                    assert_eq!(e.kind(), ErrorKind::Internal);
                    assert!(e.to_string().contains(text), "{e}, want {text}");
                }
            }
        }
    }

    #[test]
    fn values_that_a_function_does_not_take_are_no_damage() -> Result<()> {
        // Zeros are no index of nothing, and ones have no logarithm of a logarithm.
        let x = Tensor::zeros(&[0, 2], DType::F64)?;
        let index = Tensor::zeros(&[0], DType::I64)?;
        let f = |(x, i): &(Tensor, Tensor)| x.index_select(0, i);
        Capture::new().keep_unused(true).of(f)(&(x, index))?.verify()?;
        capture(|x: &Tensor| x.log()?.log())(&Tensor::from(20.0))?.verify()?;
        let fussy = crate::custom(|x: &Tensor| match x.item::<f64>()? {
            1.0 => Err(crate::Error::new(ErrorKind::Shape, "not one")),
            _ => x.mul(2.0),
        });
        let fussy = fussy.into_fn();
        capture(|x: &Tensor| fussy(x)?.add(1.0))(&Tensor::from(20.0))?.verify()
    }
}
