//! The documentation of operations for Python, made of that for Rust.

use super::{Operation, signature};

/// What `help()` shows.
pub fn text(operation: &Operation) -> String {
    let skipped = usize::from(operation.is_method);
    if let Some(overload) = signature::most_general(operation) {
        return of_row(overload.row.doc);
    }
    let one = |overload: &super::Overload| {
        let head = signature::of_overload(overload, skipped);
        format!("{head} -> {}\n\n{}", signature::result(overload), of_row(overload.row.doc))
    };
    operation.overloads.iter().map(one).collect::<Vec<_>>().join("\n\n")
}

/// The documentation of a row: headings as in Python, links as names, and no Rust.
fn of_row(doc: &str) -> String {
    let mut out = String::new();
    let mut in_code = false;
    let mut heading: Option<String> = None;
    for line in doc.lines() {
        let line = line.strip_prefix(' ').unwrap_or(line);
        if line.starts_with("```") {
            in_code = !in_code;
            continue;
        }
        if in_code {
            continue;
        }
        if let Some(title) = line.strip_prefix("# ") {
            heading = Some(title.to_owned());
            continue;
        }
        if line.trim().is_empty() {
            if heading.is_none() {
                out.push('\n');
            }
            continue;
        }
        if let Some(title) = heading.take() {
            while out.ends_with('\n') {
                out.pop();
            }
            out.push_str(&format!("\n\n{title}:\n"));
        }
        out.push_str(&links(line));
        out.push('\n');
    }
    out.trim().to_owned()
}

/// A line with the texts of its links.
fn links(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('[') {
        let (before, after) = rest.split_at(start);
        out.push_str(before);
        // `[text](target)`, or [`name`].
        let end = after.find(']');
        match end {
            Some(end) if after[end + 1..].starts_with('(') && !before.ends_with('`') => {
                let close = after[end..].find(')').map_or(after.len(), |c| end + c + 1);
                out.push_str(&after[1..end]);
                rest = &after[close..];
            }
            Some(end) if after[1..].starts_with('`') && after[..end].ends_with('`') => {
                out.push_str(&after[1..end]);
                rest = &after[end + 1..];
            }
            _ => {
                out.push('[');
                rest = &after[1..];
            }
        }
    }
    out.push_str(rest);
    out
}
