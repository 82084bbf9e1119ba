//! Trees of parameters as maps of names.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::{leaves, paths, try_map};
use crate::{Result, Tensor, Tree, error::bail};

/// The tensors of a tree by name, as they are written to files.
///
/// The parts of a name are field names, positions and keys, joined by dots: `layers.0.weight`. `Option`, `Box` and `Arc` add
/// nothing. A map from names to tensors is a tree, whose names are its keys, so it comes back as it is.
///
/// # Errors
/// `Value` for a tensor without a name (a tree that is nothing but a tensor, or an empty key), and for two with the same.
///
/// # Example
/// ```
/// use pullback::{Tensor, Tree, io::state_dict};
///
/// #[derive(Clone, Tree)]
/// struct Layer<T = Tensor> {
///     weight: T,
///     bias: Option<T>,
/// }
/// #[derive(Clone, Tree)]
/// struct Model<T = Tensor> {
///     layers: Vec<Layer<T>>,
/// }
///
/// let layer = || Layer { weight: Tensor::from([[1.0]]), bias: Some(Tensor::from([0.0])) };
/// let names: Vec<String> = state_dict(&Model { layers: vec![layer(), layer()] })?.into_keys().collect();
/// assert_eq!(names, ["layers.0.bias", "layers.0.weight", "layers.1.bias", "layers.1.weight"]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn state_dict<T: Tree>(tree: &T) -> Result<BTreeMap<String, Tensor>> {
    let names = names("state_dict", tree)?;
    Ok(names.into_iter().zip(leaves(tree).into_iter().cloned()).collect())
}

/// The tree with the tensors of a map in the place of its own, by the names of [`state_dict`].
///
/// Every name must be in both. To load a part, take the rest of the map from `state_dict(tree)` first; to load what is named
/// or typed otherwise, change the map.
///
/// # Errors
/// `Arity` if names are missing or unexpected, all of which are listed; `Shape` or `Dtype` if a tensor has not the type of
/// that in the tree; `Value` as for [`state_dict`].
///
/// # Example
/// ```
/// use std::collections::BTreeMap;
/// use pullback::{Tensor, io::load_state_dict};
///
/// let model = vec![Tensor::from([0.0, 0.0]), Tensor::from(0.0)];
/// let state = BTreeMap::from([("0".to_string(), Tensor::from([1.0, 2.0])), ("1".to_string(), Tensor::from(3.0))]);
/// assert_eq!(load_state_dict(&model, &state)?[0].to_vec::<f64>()?, [1.0, 2.0]);
///
/// let other = BTreeMap::from([("0".to_string(), Tensor::from([1.0, 2.0])), ("bias".to_string(), Tensor::from(3.0))]);
/// let err = load_state_dict(&model, &other).unwrap_err();
/// assert_eq!(err.message(), "load_state_dict: expected the names of the tree, got others: missing `1`; unexpected `bias`");
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn load_state_dict<T: Tree>(tree: &T, state: &BTreeMap<String, Tensor>) -> Result<T> {
    let op = "load_state_dict";
    let names = names(op, tree)?;
    let known: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    let missing: Vec<&str> = names.iter().map(String::as_str).filter(|n| !state.contains_key(*n)).collect();
    let unexpected: Vec<&str> = state.keys().map(String::as_str).filter(|n| !known.contains(n)).collect();
    if !missing.is_empty() || !unexpected.is_empty() {
        let parts = [("missing", missing), ("unexpected", unexpected)];
        let parts = parts.iter().filter(|(_, list)| !list.is_empty());
        let parts: Vec<String> = parts.map(|(what, list)| format!("{what} `{}`", list.join("`, `"))).collect();
        bail!(Arity, "{op}: expected the names of the tree, got others: {}", parts.join("; "));
    }
    let mut names = names.iter();
    try_map(tree, &mut |old| {
        let Some((name, new)) = names.next().and_then(|n| state.get_key_value(n)) else { return Ok(old.clone()) };
        let (want, got) = (old.ty(), new.ty());
        if want.shape != got.shape {
            bail!(Shape, "{op}: expected {want} for `{name}`, got {got}");
        }
        if want.dtype != got.dtype {
            bail!(Dtype, "{op}: expected {want} for `{name}`, got {got}"; help = "convert it with `to_dtype`");
        }
        Ok(new.clone())
    })
}

/// The name of every tensor of a tree, in order.
fn names<T: Tree>(op: &str, tree: &T) -> Result<Vec<String>> {
    let names: Vec<String> = paths(tree).iter().map(|path| name(path)).collect();
    let mut seen = BTreeSet::new();
    for name in &names {
        if name.is_empty() {
            bail!(Value, "{op}: expected a tree of tensors with names, got one without";
                help = "put it in a struct or a map");
        }
        if !seen.insert(name) {
            bail!(Value, "{op}: expected a tree of tensors with different names, got two of the name `{name}`");
        }
    }
    Ok(names)
}

/// The name that belongs to a path: `.layers[0].weight` is `layers.0.weight`, `["a"]` is `a`.
fn name(path: &str) -> String {
    let mut out = String::new();
    let mut rest = path;
    while let Some(first) = rest.chars().next() {
        if !out.is_empty() {
            out.push('.');
        }
        let (part, after) = match first {
            '[' => bracketed(&rest[1..]),
            '.' => {
                let end = rest[1..].find(['.', '[']).map_or(rest.len(), |k| k + 1);
                (rest[1..end].to_string(), &rest[end..])
            }
            _ => (rest.to_string(), ""),
        };
        out.push_str(&part);
        rest = after;
    }
    out
}

/// What stands before the bracket that closes, and what follows it. A quoted text counts for what it says.
fn bracketed(text: &str) -> (String, &str) {
    let (mut out, mut depth) = (String::new(), 1);
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => out.push_str(&quoted(&mut chars)),
            '[' | '(' | '{' => {
                depth += 1;
                out.push(c);
            }
            ']' | ')' | '}' => {
                depth -= 1;
                if depth == 0 {
                    return (out, &text[at + 1..]);
                }
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    (out, "")
}

/// The text that `Debug` wrote up to the closing quote.
fn quoted(chars: &mut std::str::CharIndices) -> String {
    let mut out = String::new();
    while let Some((_, c)) = chars.next() {
        match c {
            '"' => break,
            '\\' => match chars.next().map(|(_, c)| c) {
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                Some('t') => out.push('\t'),
                Some('0') => out.push('\0'),
                Some('u') => {
                    let digits: String = chars.map(|(_, c)| c).skip(1).take_while(|c| *c != '}').collect();
                    out.extend(u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32));
                }
                Some(c) => out.push(c),
                None => {}
            },
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_paths() {
        assert_eq!(name(""), "");
        assert_eq!(name(".slope"), "slope");
        assert_eq!(name(".layers[10].weight.0"), "layers.10.weight.0");
        assert_eq!(name("[0][1]"), "0.1");
        assert_eq!(name("[(1, 2)].x"), "(1, 2).x");
    }

    #[test]
    fn keys_that_are_text_come_back_as_they_were() {
        for key in
            ["a", "a.b[0]", "]x", "say \"hi\" \\ 'now'", "line\nand\ttab\r\0", "\u{301}é\u{7f}\u{200b}", "[(", "x] y"]
        {
            let tree = BTreeMap::from([(key.to_string(), vec![Tensor::from(1.0)])]);
            let names: Vec<String> = state_dict(&tree).unwrap().into_keys().collect();
            assert_eq!(names, [format!("{key}.0")]);
        }
    }
}
