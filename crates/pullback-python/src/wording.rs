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
    ("`Anomaly::infinities`", "`detect_anomaly(infinities=True)`"),
];

/// `text`, with paths as `module.name`.
pub fn in_python(text: String) -> String {
    let mut text = Cow::from(text);
    for (rust, python) in WAYS {
        if text.contains(rust) {
            text = text.replace(rust, python).into();
        }
    }
    if text.contains("::") { text.replace("::", ".") } else { text.into_owned() }
}
