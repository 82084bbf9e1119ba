//! The documentation of operations for Python, made of that for Rust.

use std::cell::RefCell;
use std::collections::HashMap;

use pullback::DType;
use pullback::dynamic::Form;
use pullback::testing::operations;
use pullback::testing::table::OpInfo;

use super::{Operation, Overload, example, signature};
use crate::dtype::python_name;

/// Makes the documentation of operations.
pub struct Docs {
    /// The Python names of rows, with `pb.` before those of functions.
    names: HashMap<&'static str, String>,
    /// What rows have; it is the same for a method and a function.
    made: RefCell<HashMap<*const Form, String>>,
}

impl Docs {
    pub fn new() -> Docs {
        let name = |row: &'static OpInfo| {
            let has_method = row.forms.iter().any(|f| f.is_method);
            let form = row.forms.iter().find(|f| f.keeps_order && f.is_method == has_method)?;
            let namespace = match super::namespace_of(row.module) {
                "fft" => "fft.",
                _ => "",
            };
            let prefix = if has_method { "" } else { "pb." };
            let namespace = if prefix.is_empty() { "" } else { namespace };
            Some((row.name, format!("{prefix}{namespace}{}", form.name)))
        };
        // An example is translated word by word.
        Docs { names: operations().filter_map(name).collect(), made: RefCell::default() }
    }

    /// What `help()` shows.
    pub fn of(&self, operation: &Operation) -> String {
        if operation.in_place {
            return Docs::in_place(operation);
        }
        if let [overload] = &operation.overloads[..] {
            return self.of_row(overload.row, overload.form);
        }
        let skipped = usize::from(operation.is_method);
        let head = |overload: &Overload| {
            let head = signature::of_overload(overload, skipped);
            format!("{head} -> {}", signature::result(overload))
        };
        // Forms of one row have one text.
        let rows = operation.overloads.chunk_by(|a, b| a.row.name == b.row.name);
        let one = |forms: &[Overload]| {
            let heads: Vec<String> = forms.iter().map(head).collect();
            format!("{}\n\n{}", heads.join("\n"), self.of_row(forms[0].row, forms[0].form))
        };
        rows.map(one).collect::<Vec<_>>().join("\n\n")
    }

    /// What is to say of a method in place besides what the other one says.
    fn in_place(operation: &Operation) -> String {
        let plain = operation.name.trim_end_matches('_');
        let mut doc = format!(
            "Gives this object the result of `{plain}` with the same arguments, converted to its dtype, and returns the object.\n\n\
             Views and copies that were made before do not see it. Inside of `no_grad`, a leaf stays the leaf that it is.\n\n\
             Raises:\n    ValueError: if the result has another shape.\n    TypeError: if it has a dtype of a higher category. The \
             tensor is then unchanged."
        );
        if operation.overloads.len() > 1 {
            let forms = operation.overloads.iter().map(|overload| signature::of_overload(overload, 1));
            doc = format!("{}\n\n{doc}", forms.collect::<Vec<_>>().join("\n"));
        }
        doc
    }

    fn of_row(&self, row: &OpInfo, form: &Form) -> String {
        self.made.borrow_mut().entry(form).or_insert_with(|| self.make(row, form)).clone()
    }

    /// The documentation of a row: headings as in Python, links as names, and no Rust.
    fn make(&self, row: &OpInfo, form: &Form) -> String {
        let mut out = String::new();
        let mut code: Option<String> = None;
        let mut heading = None;
        for line in row.doc.lines() {
            let line = line.strip_prefix(' ').unwrap_or(line);
            if line.starts_with("```") {
                match code.take() {
                    None => code = Some(String::new()),
                    Some(code) => {
                        if let Some(example) = example::translate(&code, &self.names) {
                            begin(&mut out, &mut heading);
                            out.push_str(&example);
                            out.push('\n');
                        }
                    }
                }
            } else if let Some(code) = &mut code {
                code.push_str(line);
                code.push('\n');
            } else if let Some(title) = line.strip_prefix("# ") {
                heading = Some(title.to_owned());
            } else if line.trim().is_empty() {
                if heading.is_none() {
                    out.push('\n');
                }
            } else {
                begin(&mut out, &mut heading);
                out.push_str(&self.line(line, form));
                out.push('\n');
            }
        }
        out.trim().to_owned()
    }

    /// A line with the texts of its links, the exceptions for kinds of errors, and Python's names.
    fn line(&self, line: &str, form: &Form) -> String {
        let mut out = String::new();
        let mut rest = line;
        while let Some(start) = rest.find(['[', '`']) {
            let (before, after) = rest.split_at(start);
            out.push_str(before);
            if let Some(inside) = after.strip_prefix('`') {
                let end = inside.find('`').map_or(after.len(), |end| end + 2);
                out.push_str(&self.quoted(&after[..end], form));
                rest = &after[end..];
                continue;
            }
            let end = after.find(']').unwrap_or(after.len() - 1);
            let is_name = after[1..].starts_with('`') && after[..end].ends_with('`');
            let target = after[end + 1..].starts_with('(').then(|| after[end..].find(')')).flatten();
            match (is_name, target) {
                (true, _) => out.push_str(&self.quoted(&after[1..end], form)),
                (false, Some(_)) => out.push_str(&after[1..end]),
                (false, None) => out.push_str(&after[..=end]),
            }
            rest = &after[target.map_or(end + 1, |close| end + close + 1)..];
        }
        out.push_str(rest);
        out
    }

    /// A name in backquotes, as Python has it.
    fn quoted(&self, text: &str, form: &Form) -> String {
        let name = text.trim_matches('`');
        if name.contains('(') {
            // An expression: without what only Rust writes.
            return text.replace(['?', '&'], "").replace("where_(", "where(");
        }
        let parameter = form.renamed.iter().find(|(rust, _)| *rust == name);
        if let Some(dtype) = DType::ALL.into_iter().find(|d| d.name() == name) {
            return format!("`{}`", python_name(dtype));
        }
        let python = match name {
            "Shape" | "Value" | "Arity" => "ValueError",
            "Dim" | "Index" => "IndexError",
            "Dtype" => "TypeError",
            "MissingRule" => "NotImplementedError",
            "ConcreteValueNeeded" | "NotDifferentiable" => "RuntimeError",
            "true" => "True",
            "false" => "False",
            "DType" => "dtype",
            _ if parameter.is_some() => parameter.map_or(name, |(_, python)| python),
            name => self.names.get(name).map_or(name, |name| name.trim_start_matches("pb.")),
        };
        format!("`{python}`")
    }
}

/// Begins a section, if a heading waits for its text.
fn begin(out: &mut String, heading: &mut Option<String>) {
    if let Some(title) = heading.take() {
        out.truncate(out.trim_end().len());
        out.push_str(&format!("\n\n{title}:\n"));
    }
}
