//! Messages of the library in the words of this package. They name Rust's paths and builders where they offer a way out.

use std::borrow::Cow;

use pullback::DType;

use crate::dtype::python_name;

/// What a way out is called in Rust, and here.
const WAYS: &[(&str, &str)] = &[
    (
        "mark the leaves that it is computed from with `autograd::leaf`",
        "mark what it is computed from with `requires_grad_()`",
    ),
    ("take `None` for it from `Grad::optional`", "take None for it with `allow_unused=True`"),
    ("`Grad::materialize_grads`", "`materialize_grads=True`"),
    ("give cotangents with `Backward` or `Grad`", "give the gradient of each output"),
    ("`Grad::cotangents`", "`grad_outputs`"),
    ("`Ellipsis`, got several; help: write `..`", "`...`, got several; help: write `:`"),
    ("use `to_vec`, or select an element first", "use `tolist`, or select an element first"),
    (
        "use `cond` in place of an `if`, `where_` between elements",
        "use `cond` in place of an `if`, `where` between elements",
    ),
    ("operations such as `where_`", "operations such as `where`"),
    ("`to_vec` reads the data", "`tolist` reads the data"),
    (
        "read the other tensors by name from a `safetensors::File`",
        "read the others with `load_safetensors(path, strict=False)`",
    ),
    ("..=", " to "),
    ("`to_dtype`", "`to`"),
    ("`ConvPadding::Same`", "`padding='same'`"),
    ("`Anomaly::infinities`", "`detect_anomaly(infinities=True)`"),
    ("`where_` and `masked_fill`", "`where` with three arguments and `masked_fill`"),
];

/// What says where, in Rust and here.
const PLACES: &[(&str, &str)] =
    &[("i: ", "indexing: "), ("set_: ", "assignment: "), ("to_vec: ", "tolist: "), ("to_dtype: ", "to: ")];

/// `text` in the words of Python.
pub fn in_python(text: String) -> String {
    let mut text = Cow::from(text);
    for (rust, python) in PLACES {
        // Where the chain of transforms and functions ends.
        let start = match text.find(&format!(" > {rust}")) {
            Some(chain) => chain + 3,
            None if text.starts_with(rust) => 0,
            None => continue,
        };
        text.to_mut().replace_range(start..start + rust.len(), python);
    }
    for (rust, python) in WAYS {
        if text.contains(rust) {
            text = text.replace(rust, python).into();
        }
    }
    words(&text)
}

/// The text with options as keywords (`.randomness(Randomness::Same)` is `randomness='same'`), choices as texts (`Batching::Loop` is
/// `'loop'`), paths as `module.name`, and dtypes by their names here; in types, such as `f32[2,3]`, they stay short.
fn words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_alphanumeric() || c == '_') {
        let (before, after) = rest.split_at(start);
        let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != ':').unwrap_or(after.len());
        // A colon that ends a word does not belong to it.
        let word = after[..end].trim_end_matches(':');
        rest = &after[word.len()..];
        out.push_str(before);
        let is_option = before.ends_with("`.") && rest.starts_with('(');
        if let Some(close) = rest.find(")`").filter(|_| is_option)
            && let value = &rest[1..close]
            && (value == ".." || value.contains("::"))
        {
            out.truncate(out.len() - 1);
            out.push_str(word);
            out.push('=');
            out.push_str(&if value == ".." { "...".to_owned() } else { words(value) });
            rest = &rest[close + 1..];
            continue;
        }
        let is_type = rest.starts_with('[');
        let is_code = before.ends_with('`') && rest.starts_with('`');
        match (choice(word, is_code), DType::ALL.iter().find(|dtype| dtype.name() == word)) {
            (Some(choice), _) => out.push_str(&choice),
            (_, Some(dtype)) if !is_type => out.push_str(python_name(*dtype)),
            _ => out.push_str(&word.replace("::", ".")),
        }
    }
    out.push_str(rest);
    out
}

/// A variant with its type, such as `Batching::LeadingDims`, as the text that stands for it: `'leading_dims'`, or with the keyword that
/// takes it: `batching='leading_dims'`.
fn choice(word: &str, with_keyword: bool) -> Option<String> {
    let (of, variant) = word.split_once("::")?;
    let is_type = |name: &str| name.starts_with(|c: char| c.is_ascii_uppercase()) && !name.contains("::");
    if !is_type(of) || !is_type(variant) {
        return None;
    }
    let mut name = if with_keyword { of.to_ascii_lowercase() + "='" } else { String::from("'") };
    for (k, letter) in variant.char_indices() {
        if k > 0 && letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name.push('\'');
    Some(name)
}
