//! Graphs as text.

use std::fmt::{self, Write as _};

use super::program::Program;
use crate::dtype::{Element, any_dtype};
use crate::interp::capture::{Call, Source};
use crate::tensor::Repr;
use crate::{DType, Tensor};

/// The whole graph.
pub(super) fn listing(program: &Program) -> String {
    let names = Names::of(program);
    let mut out = String::from("graph(");
    for v in 0..program.arguments as u32 {
        let separator = if v > 0 { ", " } else { "" };
        put(&mut out, format_args!("{separator}{}: {}", names.variable(v), program.types[v as usize]));
    }
    out.push(')');
    let captured: Vec<String> =
        (0..program.constants.len() as u32).filter_map(|c| names.captured(program, c)).collect();
    if !captured.is_empty() {
        put(&mut out, format_args!(" captured({})", captured.join(", ")));
    }
    out.push_str(" {\n");
    for (call, unused) in program.calls.iter().zip(program.unused()) {
        let outputs: Vec<String> =
            call.outputs.iter().map(|&v| format!("{}: {}", names.variable(v), program.types[v as usize])).collect();
        let note = if unused { " // unused" } else { "" };
        put(&mut out, format_args!("    {} = {}{note}\n", tuple(&outputs), names.call(call)));
    }
    let results: Vec<String> = program.results.iter().map(|&source| names.source(source)).collect();
    put(&mut out, format_args!("    return {}\n}}", tuple(&results)));
    out
}

/// Writing to a string cannot fail.
pub(super) fn put(out: &mut String, text: fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

/// One item as it is, others in parentheses.
pub(super) fn tuple(items: &[String]) -> String {
    match items {
        [one] => one.clone(),
        _ => format!("({})", items.join(", ")),
    }
}

/// What the values of a graph are called.
pub(super) struct Names {
    constants: Vec<String>,
}

impl Names {
    pub(super) fn of(program: &Program) -> Names {
        let mut captured = 0..;
        let name = |c: &super::program::Constant| match c.is_literal {
            true => literal(&c.value),
            false => letters(captured.next().unwrap_or_default(), b'A'),
        };
        Names { constants: program.constants.iter().map(name).collect() }
    }

    pub(super) fn variable(&self, v: u32) -> String {
        letters(v as usize, b'a')
    }

    pub(super) fn source(&self, source: Source) -> String {
        match source {
            Source::Variable(v) => self.variable(v),
            Source::Constant(c) => self.constants[c as usize].clone(),
        }
    }

    /// A value from outside with its type, unless it is printed where it is used.
    pub(super) fn captured(&self, program: &Program, c: u32) -> Option<String> {
        let (name, constant) = (&self.constants[c as usize], &program.constants[c as usize]);
        if constant.is_literal {
            return None;
        }
        let ty = constant.value.ty();
        Some(match constant.value.repr() {
            Repr::Array(_) => format!("{name}: {ty}"),
            Repr::Tracer(tracer) => format!("{name}: {ty} of {}", tracer.level.transform()),
        })
    }

    /// The right side of a line.
    pub(super) fn call(&self, call: &Call) -> String {
        let inputs: Vec<String> = call.inputs.iter().map(|&source| self.source(source)).collect();
        let mut out = call.op.name().to_string();
        let parameters = call.op.parameters().map(|p| fields(format!("{p:?}"))).unwrap_or_default();
        if !parameters.is_empty() {
            put(&mut out, format_args!("[{parameters}]"));
        }
        if call.op.is_function() {
            put(&mut out, format_args!("({})", inputs.join(", ")));
        } else {
            inputs.iter().for_each(|input| put(&mut out, format_args!(" {input}")));
        }
        out
    }
}

/// What stands inside of a struct, or of the only field of one, as `Debug` writes it: `Sum(Over { dim: 1 })` is `dim: 1`.
fn fields(debug: String) -> String {
    let mut text = debug.trim();
    loop {
        let name = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
        let rest = text[name..].trim_start();
        let is_struct = text.starts_with(|c: char| c.is_ascii_uppercase());
        let inner = if !is_struct {
            None
        } else if rest.is_empty() {
            Some("")
        } else {
            rest.strip_prefix('{')
                .and_then(|r| r.strip_suffix('}'))
                .or_else(|| rest.strip_prefix('(').and_then(|r| r.strip_suffix(')')))
        };
        match inner {
            Some(inner) => text = inner.trim(),
            // The brackets of a list are those of the parameters.
            None => {
                let list = text.strip_prefix('[').and_then(|r| r.strip_suffix(']'));
                return list.filter(|r| !r.contains('[')).unwrap_or(text).to_string();
            }
        }
    }
}

/// a, b, …, z, aa, ab, …
fn letters(mut n: usize, first: u8) -> String {
    let mut name = Vec::new();
    loop {
        name.push(char::from(first + (n % 26) as u8));
        if n < 26 {
            return name.iter().rev().collect();
        }
        n = n / 26 - 1;
    }
}

/// A number as it stands in code, or one that fills a tensor.
fn literal(t: &Tensor) -> String {
    fn show<T: Element>(x: T) -> String {
        match T::DTYPE {
            DType::F64 => format!("{:?}", x.to_f64()),
            DType::F16 | DType::BF16 | DType::F32 => format!("{:?}", x.to_f64() as f32),
            DType::C64 | DType::C128 => {
                let z = x.to_complex();
                let sign = if z.im.is_sign_negative() { "" } else { "+" };
                format!("({:?}{sign}{:?}j)", z.re, z.im)
            }
            _ => x.to_string(),
        }
    }
    let number = match t.array() {
        Some(array) => any_dtype!(t.dtype(), T => show(array.first::<T>())),
        None => t.ty().to_string(),
    };
    if t.rank() == 0 { number } else { format!("full({number})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_continue_after_z() {
        let names: Vec<String> = [0, 25, 26, 27, 51, 52, 701, 702].map(|n| letters(n, b'a')).into();
        assert_eq!(names, ["a", "z", "aa", "ab", "az", "ba", "zz", "aaa"]);
    }

    #[test]
    fn parameters_are_what_the_structs_hold() {
        let cases = [
            ("Sum(Over { dims: [0], keepdim: false })", "dims: [0], keepdim: false"),
            ("Reshape([2, 3])", "2, 3"),
            ("Powi(3)", "3"),
            ("Unit", ""),
            ("", ""),
            ("Read([0:2, 1])", "0:2, 1"),
            ("Sizes([[1], [2]])", "[[1], [2]]"),
            ("ab,bc->ac", "ab,bc->ac"),
        ];
        for (debug, want) in cases {
            assert_eq!(fields(debug.into()), want);
        }
    }
}
