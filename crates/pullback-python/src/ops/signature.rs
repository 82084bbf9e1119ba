//! Signatures as texts: for `inspect.signature`, messages and stubs.

use pullback::dynamic::{Kind, Literal, Parameter, Results};

use super::{Operation, Overload};
use crate::dtype::python_name;

/// A default as Python writes it.
pub fn literal(value: &Literal) -> String {
    match value {
        Literal::Bool(true) => "True".to_owned(),
        Literal::Bool(false) => "False".to_owned(),
        Literal::Int(i) => i.to_string(),
        Literal::Float(x) => format!("{x:?}"),
        Literal::Name(name) => format!("'{name}'"),
        Literal::DType(dtype) => format!("'{}'", python_name(*dtype)),
        // No dims are all of them, which Python's users write so.
        Literal::Ints([]) => "None".to_owned(),
        Literal::Ints([one]) => format!("({one},)"),
        Literal::Ints(all) => format!("({})", all.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")),
        _ => "None".to_owned(),
    }
}

/// Whether None stands for the default, which is an empty list and written so, or a dtype.
pub fn none_is_default(p: &Parameter) -> bool {
    matches!(p.default, Some(Literal::Ints([]) | Literal::DType(_)))
}

fn parameter(p: &Parameter) -> String {
    match p.default {
        _ if p.is_variadic => format!("*{}", p.name),
        Some(default) => format!("{}={}", p.name, literal(&default)),
        // What it must be.
        None if matches!(p.kind, Kind::Exactly(_)) => format!("{}: {}", p.name, in_words(p)),
        None => p.name.to_owned(),
    }
}

/// `sum(dim=(), keepdim=False)`, without the first parameters.
pub fn of_overload(overload: &Overload, skipped: usize) -> String {
    let parameters: Vec<String> = overload.parameters[skipped..].iter().map(|p| parameter(&p.of)).collect();
    format!("{}({})", overload.name, parameters.join(", "))
}

/// [`of_overload`] with what each parameter takes.
pub fn in_full(overload: &Overload, skipped: usize) -> String {
    let one = |p: &Parameter| match p.default {
        Some(default) => format!("{}: {} = {}", p.name, in_words(p), literal(&default)),
        None => format!("{}: {}", p.name, in_words(p)),
    };
    let parameters: Vec<String> = overload.parameters[skipped..].iter().map(|p| one(&p.of)).collect();
    format!("{}({})", overload.form.name, parameters.join(", "))
}

/// Whether a parameter of one kind takes all that one of the other kind does.
fn covers(kind: Kind, other: Kind) -> bool {
    kind == other || (kind == Kind::Operand && matches!(other, Kind::Int | Kind::Float | Kind::Tensor))
}

/// Whether an overload takes all that the other takes, and returns the same.
pub fn is_more_general(overload: &Overload, other: &Overload) -> bool {
    let mut rest = other.parameters.iter().map(|p| &p.of).peekable();
    let mut same = |p: &Parameter| rest.next_if(|o| o.name == p.name && covers(p.kind, o.kind)).is_some();
    let optional = overload.parameters.iter().all(|p| same(&p.of) || p.of.default.is_some());
    optional && rest.peek().is_none() && result(other) == result(overload)
}

/// The first line of the documentation, from which Python makes the signature.
pub fn text(operation: &Operation) -> String {
    let skipped = usize::from(operation.is_method);
    let mut parameters: Vec<String> = Vec::new();
    if operation.is_method {
        parameters.push("$self".to_owned());
        parameters.push("/".to_owned());
    }
    match &operation.overloads[..] {
        [overload] => parameters.extend(overload.parameters[skipped..].iter().map(|p| parameter(&p.of))),
        _ => parameters.extend(["*args".to_owned(), "**kwargs".to_owned()]),
    }
    format!("{}({})", operation.name, parameters.join(", "))
}

fn choices(names: &[&str]) -> String {
    names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
}

/// What a parameter takes, in a message.
pub fn in_words(p: &Parameter) -> String {
    let words = match p.kind {
        Kind::Tensor => "Tensor".to_owned(),
        Kind::Operand => "Tensor or number".to_owned(),
        Kind::Tensors => "a sequence of tensors".to_owned(),
        Kind::Int => "int".to_owned(),
        Kind::Ints => "int or a sequence of ints".to_owned(),
        Kind::Float => "float".to_owned(),
        Kind::Floats => "float or a sequence of floats".to_owned(),
        Kind::Bool => "bool".to_owned(),
        Kind::Text => "str".to_owned(),
        Kind::DType => "a dtype".to_owned(),
        Kind::Source => "Key or Generator".to_owned(),
        Kind::Choice(names) => format!("one of {}", choices(names)),
        Kind::IntsOr(names) => format!("int, a sequence of ints, or one of {}", choices(names)),
        Kind::FloatOr(names) => format!("float, or one of {}", choices(names)),
        Kind::Exactly(only) => literal(&Literal::Bool(only)),
        Kind::IntOrPair => "int or a pair of sequences of ints".to_owned(),
        _ => "something else".to_owned(),
    };
    if p.or_none || none_is_default(p) { format!("{words} or None") } else { words }
}

/// The type of a parameter in stubs.
pub fn type_of(p: &Parameter) -> String {
    let ty = match p.kind {
        Kind::Tensor => "Tensor".to_owned(),
        Kind::Operand => "Tensor | _Number".to_owned(),
        Kind::Tensors => "Iterable[Tensor]".to_owned(),
        Kind::Int => "SupportsIndex".to_owned(),
        Kind::Ints => "SupportsIndex | Iterable[SupportsIndex]".to_owned(),
        Kind::Float => "SupportsFloat".to_owned(),
        Kind::Floats => "SupportsFloat | Iterable[SupportsFloat]".to_owned(),
        Kind::Bool => "bool".to_owned(),
        Kind::Text => "str".to_owned(),
        Kind::DType => "_DTypeLike".to_owned(),
        Kind::Source => "Key | Generator".to_owned(),
        Kind::Choice(names) => format!("Literal[{}]", choices(names)),
        Kind::IntsOr(names) => format!("SupportsIndex | Iterable[SupportsIndex] | Literal[{}]", choices(names)),
        Kind::FloatOr(names) => format!("SupportsFloat | Literal[{}]", choices(names)),
        Kind::Exactly(only) => format!("Literal[{}]", literal(&Literal::Bool(only))),
        Kind::IntOrPair => "SupportsIndex | Sequence[SupportsIndex | Iterable[SupportsIndex]]".to_owned(),
        _ => "object".to_owned(),
    };
    if p.or_none || none_is_default(p) { format!("{ty} | None") } else { ty }
}

/// The type of what an overload returns, in stubs.
pub fn result(overload: &Overload) -> String {
    match overload.form.results {
        Results::One => "Tensor".to_owned(),
        Results::Bool => "bool".to_owned(),
        Results::Several(_, [_, ..]) => format!("return_types.{}", overload.form.name),
        Results::Several(n, []) => format!("tuple[{}]", vec!["Tensor"; n].join(", ")),
        _ => "tuple[Tensor, ...]".to_owned(),
    }
}
