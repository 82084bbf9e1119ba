//! Messages of the library in the words of this package. They name Rust's paths and builders where they offer a way out.

use std::borrow::Cow;

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
    ("..=", " to "),
    ("`Anomaly::infinities`", "`detect_anomaly(infinities=True)`"),
    ("`where_` and `masked_fill`", "`where` with three arguments and `masked_fill`"),
];

/// What says where, in Rust and here.
const PLACES: &[(&str, &str)] = &[("i: ", "indexing: "), ("set_: ", "assignment: "), ("to_vec: ", "tolist: ")];

/// `text`, with paths as `module.name`.
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
    if text.contains("::") { text.replace("::", ".") } else { text.into_owned() }
}
