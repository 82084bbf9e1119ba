//! What a rule returned, taken apart along the structure of what it belongs to.

use pullback::{Error, ErrorKind, Result, Tensor, TensorType};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyTuple};

use super::outputs::{Outputs, path};
use crate::error::from_py;
use crate::tensor::PyTensor;
use crate::tree::{Structure, class_name, flatten_into};

/// `text` as an error of a rule of the user.
pub fn wrong(kind: ErrorKind, text: String, help: &str) -> Error {
    let e = Error::new(kind, text);
    if help.is_empty() { e } else { e.with_help(help) }
}

/// The arguments or the outputs of a call: where gradients or tangents belong, and how messages name that.
pub struct Parts<'a> {
    pub structures: &'a [Structure],
    pub name: &'a dyn Fn(usize) -> String,
}

/// What was found in the place of one tensor.
type Entry = Option<Tensor>;

fn describe(value: &Bound<'_, PyAny>) -> String {
    match value.cast::<PyTensor>() {
        Ok(tensor) => format!("a tensor {}", tensor.get().get().ty()),
        Err(_) => class_name(value),
    }
}

/// The entries for the tensors of one part, where `None` stands for a zero. `kind` is a gradient or a tangent.
fn entries(
    kind: &str,
    (structure, name): (&Structure, &dyn Fn() -> String),
    value: &Bound<'_, PyAny>,
    out: &mut Vec<Entry>,
) -> Result<()> {
    match structure {
        Structure::Leaf => {
            if let Ok(tensor) = value.cast::<PyTensor>() {
                out.push(Some(tensor.get().get()));
            } else if value.is_none() {
                out.push(None);
            } else {
                let (name, got) = (name(), class_name(value));
                let text = format!("expected a tensor or None as the {kind} of {name}, got {got}");
                return Err(wrong(ErrorKind::Dtype, text, ""));
            }
            Ok(())
        }
        Structure::None | Structure::Static(_) if value.is_none() => Ok(()),
        Structure::None | Structure::Static(_) => {
            let (name, got) = (name(), describe(value));
            let text = format!("expected None as the {kind} of {name}, which is not a tensor, got {got}");
            Err(wrong(ErrorKind::Rule, text, ""))
        }
        Structure::Node(node) if value.is_none() && node.leaves == 0 => Ok(()),
        expected @ Structure::Node(_) => {
            let mut leaves: Vec<Py<PyAny>> = Vec::new();
            let got = flatten_into(value, &mut leaves).map_err(from_py)?;
            let mut leaves = leaves.into_iter().map(|x| x.into_bound(value.py()));
            let found = walk(expected, &got, &mut leaves, out);
            if value.is_none() || !found {
                let (name, expected, got) = (name(), expected.describe(), got.describe_as("value"));
                let text = format!("expected the {kind} of {name} in its structure, {expected}, got {got}");
                let help = "return a tensor or None in the place of each tensor";
                return Err(wrong(ErrorKind::Rule, text, help));
            }
            Ok(())
        }
    }
}

/// Takes entries from what was returned; false where it does not fit.
fn walk<'py>(
    expected: &Structure,
    got: &Structure,
    leaves: &mut dyn Iterator<Item = Bound<'py, PyAny>>,
    out: &mut Vec<Entry>,
) -> bool {
    match (expected, got) {
        (Structure::Leaf, Structure::Leaf) => match leaves.next() {
            Some(leaf) => {
                let tensor = leaf.cast::<PyTensor>().ok().map(|t| t.get().get());
                let fits = tensor.is_some();
                out.push(tensor);
                fits
            }
            None => false,
        },
        (_, Structure::None) => {
            out.extend((0..expected.leaves()).map(|_| None));
            true
        }
        (Structure::Node(a), Structure::Node(b)) => {
            a.children.len() == b.children.len()
                && a.kind.same(&b.kind)
                && a.children.iter().zip(&b.children).all(|(a, b)| walk(a, b, leaves, out))
        }
        _ => false,
    }
}

/// The entries of a tuple that a rule returned, one part after the other.
pub fn all_entries(
    kind: &str,
    of: &str,
    parts: &Parts<'_>,
    returned: &Bound<'_, PyAny>,
    more_may_be_none: bool,
) -> Result<Vec<Entry>> {
    let py = returned.py();
    let tuple = match returned.cast::<PyTuple>() {
        Ok(tuple) => tuple.clone(),
        Err(_) => PyTuple::new(py, [returned]).map_err(from_py)?,
    };
    let (n, got) = (parts.structures.len(), tuple.len());
    let extra = || tuple.iter().skip(n).all(|value| value.is_none());
    if got < n || got > n && !(more_may_be_none && extra()) {
        let names: Vec<String> = (0..n).map(parts.name).collect();
        let list = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
        let s = if n == 1 { "" } else { "s" };
        let text = format!("expected {n} {kind}{s}, one for each {of}{list}, got {got}");
        return Err(wrong(ErrorKind::Rule, text, &format!("return None for an {of} that has none")));
    }
    let mut out = Vec::new();
    for (k, (structure, value)) in parts.structures.iter().zip(tuple.iter()).enumerate() {
        entries(kind, (structure, &|| (parts.name)(k)), &value, &mut out)?;
    }
    Ok(out)
}

/// A gradient or tangent in the dtype of what it belongs to: floats of other sizes are converted, as by an assignment.
pub fn in_dtype(kind: &str, name: &dyn Fn() -> String, value: Tensor, ty: &TensorType) -> Result<Tensor> {
    let got = value.dtype();
    if got == ty.dtype || !ty.dtype.is_differentiable() {
        return Ok(value);
    }
    let convertible = got.is_differentiable() && (got.is_float() || !ty.dtype.is_float());
    if convertible {
        return value.to_dtype(ty.dtype);
    }
    let (name, dtype) = (name(), ty.dtype);
    let text = format!("expected a {kind} of dtype {dtype} for {name} ({ty}), got {}", value.ty());
    let help = match got.is_differentiable() {
        true => "the gradient of a real tensor is real: return the real part",
        false => "convert it with `.to(dtype)`",
    };
    Err(wrong(ErrorKind::Dtype, text, help))
}

/// The output and the batch dims that a batching rule returned, for each tensor of the output.
pub fn lanes<'py>(returned: &Bound<'py, PyAny>) -> Result<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let help = "return two values: the output, and the dim of each of its tensors along which the lanes lie (None for one that \
                has none)";
    match returned.cast::<PyTuple>() {
        Ok(tuple) if tuple.len() == 2 => Ok((tuple.get_item(0).map_err(from_py)?, tuple.get_item(1).map_err(from_py)?)),
        Ok(tuple) => {
            let text = format!("expected a tuple (output, out_dims), got a tuple of length {}", tuple.len());
            Err(wrong(ErrorKind::Rule, text, help))
        }
        Err(_) => {
            let text = format!("expected a tuple (output, out_dims), got {}", class_name(returned));
            Err(wrong(ErrorKind::Dtype, text, help))
        }
    }
}

/// The batch dim of each tensor of the output.
pub fn out_dims(outputs: &Outputs, tensors: &[Tensor], dims: &Bound<'_, PyAny>) -> Result<Vec<Option<usize>>> {
    let mut leaves: Vec<Py<PyAny>> = Vec::new();
    let got = flatten_into(dims, &mut leaves).map_err(from_py)?;
    let mut leaves = leaves.into_iter().map(|x| x.into_bound(dims.py()));
    let mut found = Vec::new();
    let fits = match (&got, outputs.single()) {
        (Structure::Leaf | Structure::None, _) => {
            let all = leaves.next();
            found.resize(outputs.leaves, all);
            true
        }
        (Structure::Node(node), None) => {
            node.children.len() == outputs.slots.len()
                && dims.is_instance_of::<PyTuple>()
                && outputs.slots.iter().zip(&node.children).all(|(a, b)| spread(a, b, &mut leaves, &mut found))
        }
        (_, Some(only)) => spread(only, &got, &mut leaves, &mut found),
        _ => false,
    };
    if !fits {
        let (expected, got) = (outputs.describe(), got.describe_as("dim"));
        let text = format!("expected out_dims in the structure of the output, {expected}, got {got}");
        return Err(wrong(ErrorKind::Rule, text, "return one dim or None for each tensor, or one for all of them"));
    }
    let dim = |(k, dim): (usize, Option<Bound<'_, PyAny>>)| one_dim(outputs, k, &tensors[k], dim.as_ref());
    found.into_iter().enumerate().map(dim).collect()
}

fn one_dim(outputs: &Outputs, k: usize, tensor: &Tensor, dim: Option<&Bound<'_, PyAny>>) -> Result<Option<usize>> {
    let Some(dim) = dim.filter(|dim| !dim.is_none()) else { return Ok(None) };
    let number = dim.is_instance_of::<PyInt>() && !dim.is_instance_of::<PyBool>();
    let Some(d) = number.then(|| dim.extract::<isize>().ok()).flatten() else {
        let text = format!("expected an int or None as the out_dim of {}, got {}", outputs.name(k), class_name(dim));
        return Err(wrong(ErrorKind::Dtype, text, ""));
    };
    let rank = tensor.rank() as isize;
    if d >= rank || d < -rank {
        let text = format!("out_dim {d} of {} is out of range for {}", outputs.name(k), tensor.ty());
        return Err(wrong(ErrorKind::Dim, text, "return None for an output that has no lanes"));
    }
    Ok(Some(if d < 0 { d + rank } else { d } as usize))
}

/// Takes dims, where one stands for all tensors below its place; false where they do not fit.
fn spread<'py>(
    output: &Structure,
    got: &Structure,
    leaves: &mut dyn Iterator<Item = Bound<'py, PyAny>>,
    out: &mut Vec<Option<Bound<'py, PyAny>>>,
) -> bool {
    match (output, got) {
        (_, Structure::Leaf) => {
            let dim = leaves.next();
            out.extend((0..output.leaves()).map(|_| dim.clone()));
            true
        }
        (_, Structure::None) => {
            out.extend((0..output.leaves()).map(|_| None));
            true
        }
        (Structure::Node(a), Structure::Node(b)) => {
            a.children.len() == b.children.len()
                && a.kind.same(&b.kind)
                && a.children.iter().zip(&b.children).all(|(a, b)| spread(a, b, leaves, out))
        }
        _ => false,
    }
}

/// How messages name leaf number `leaf` of the arguments or outputs.
pub fn name_of_leaf(parts: &Parts<'_>, leaf: usize) -> String {
    let mut before = 0;
    for (k, structure) in parts.structures.iter().enumerate() {
        let n = structure.leaves();
        if leaf < before + n {
            return (parts.name)(k) + &path(structure, leaf - before);
        }
        before += n;
    }
    format!("input {leaf}")
}
