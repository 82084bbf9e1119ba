//! Examples of the documentation for Rust, written in Python.
//!
//! Only what translates word by word is taken: tensors of literals, methods, and comparisons with literals. Of another
//! example nothing is left, rather than something that does not run.

use std::collections::HashMap;

use pullback::DType;

use crate::dtype::python_name;

/// The lines of an example in Python, or nothing. `names` has the Python names of the methods and functions; those of functions
/// begin with `pb.`.
pub fn translate(code: &str, names: &HashMap<&str, String>) -> Option<String> {
    let mut out = vec![">>> import pullback as pb".to_owned()];
    for statement in statements(code) {
        if statement.starts_with("use ") {
            continue;
        }
        if let Some(inner) = statement.strip_prefix("assert_eq!(").and_then(|s| s.strip_suffix(')')) {
            let [left, right] = split(inner)?;
            let is_shape = left.ends_with(".shape()");
            let left = expression(&left, names)?;
            out.push(format!(">>> {}", if is_shape { format!("tuple({left})") } else { left }));
            out.push(literal(&right, is_shape)?);
        } else if let Some(inner) = statement.strip_prefix("let ") {
            let (target, value) = inner.split_once(" = ")?;
            if target.contains(':') || target.contains("mut ") {
                return None;
            }
            let target = target.trim_start_matches('(').trim_end_matches(')');
            let mut value = expression(value, names)?;
            // A tuple of values for a tuple of names needs no parentheses.
            if target.contains(',') && value.starts_with('(') && value.ends_with(')') {
                value = value[1..value.len() - 1].to_owned();
            }
            out.push(format!(">>> {target} = {value}"));
        } else {
            return None;
        }
    }
    (out.iter().any(|line| !line.starts_with(">>>"))).then(|| out.join("\n"))
}

/// The statements, each in one line, without what rustdoc hides.
fn statements(code: &str) -> Vec<String> {
    let lines = code.lines().map(str::trim).filter(|line| !line.starts_with('#') && !line.starts_with("//"));
    let joined = lines.collect::<Vec<_>>().join(" ");
    joined.split(';').map(|s| s.trim().to_owned()).filter(|s| !s.is_empty()).collect()
}

/// The two arguments of a macro.
fn split(inner: &str) -> Option<[String; 2]> {
    let mut depth = 0;
    let mut place = None;
    for (k, c) in inner.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                if place.is_some() {
                    return None;
                }
                place = Some(k);
            }
            _ => {}
        }
    }
    let place = place?;
    Some([inner[..place].trim().to_owned(), inner[place + 1..].trim().to_owned()])
}

/// A word of Rust, or what is between words.
fn words(code: &str) -> Vec<&str> {
    let mut all = vec![];
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let end = match is_word(first) {
            // Paths and numbers are words.
            true => rest
                .char_indices()
                .find(|&(k, c)| {
                    let is_point =
                        c == '.' && first.is_ascii_digit() && !rest[k + 1..].starts_with(|c: char| c.is_alphabetic());
                    let in_path = c == ':' || (c == '<' && rest[..k].ends_with("::"));
                    let in_type = c == '>' && rest[..k].contains("::<");
                    !(is_word(c) || is_point || in_path || in_type)
                })
                .map_or(rest.len(), |(k, _)| k),
            false => first.len_utf8(),
        };
        let (word, after) = rest.split_at(end);
        all.push(word);
        rest = after;
    }
    all
}

/// An expression in Python.
fn expression(code: &str, names: &HashMap<&str, String>) -> Option<String> {
    let code = &options(code)?;
    let words = words(code);
    let mut out = String::new();
    let mut skip = 0;
    // Where tensors of literals begin, and how deep in parentheses.
    let mut tensors: Vec<(usize, usize)> = vec![];
    let mut depth = 0;
    for (k, &word) in words.iter().enumerate() {
        if skip > 0 {
            skip -= 1;
            continue;
        }
        let after_point = k > 0 && words[k - 1] == ".";
        let is_call = words.get(k + 1) == Some(&"(");
        match word {
            "Tensor::from" => {
                tensors.push((out.len(), depth));
                out.push_str("pb.tensor");
            }
            "to_vec::<f64>" | "to_vec::<f32>" | "to_vec::<i32>" | "to_vec::<i64>" | "to_vec::<bool>"
            | "to_vec::<u8>" => {
                // Rust's vectors are flat.
                let nested = code.contains("[[") || !code.starts_with("Tensor::from([");
                out.push_str(if nested { "flatten().tolist" } else { "tolist" });
            }
            "item::<f64>" | "item::<f32>" | "item::<i32>" | "item::<i64>" | "item::<bool>" | "item::<u8>" => {
                out.push_str("item")
            }
            "shape" if after_point && is_call => {
                out.push_str("shape");
                skip = 2;
            }
            "&" | "?" => {}
            "true" => out.push_str("True"),
            "false" => out.push_str("False"),
            "None" => out.push_str("None"),
            "Some" => {}
            "Tensor::ones" | "Tensor::zeros" => out.push_str(&word.replace("Tensor::", "pb.")),
            _ if word.starts_with("DType::") => {
                let dtype = DType::ALL.into_iter().find(|d| d.name().eq_ignore_ascii_case(&word["DType::".len()..]))?;
                // Python's integers are `int64` where Rust's are `i32`.
                let dtype = if dtype == DType::I32 { DType::I64 } else { dtype };
                out.push_str(&format!("dtype=pb.{}", python_name(dtype)));
            }
            _ if is_choice(word) => {
                let (kind, name) = word.split_once("::")?;
                // Other options may come before it, which Rust has in a struct.
                let is_named = out.trim_end().ends_with('=');
                let own = if kind == "Reduction" && !is_named { "reduction=" } else { "" };
                out.push_str(&format!("{own}'{}'", name.to_lowercase()));
            }
            "f64::NAN" => out.push_str("float('nan')"),
            "f64::INFINITY" => out.push_str("float('inf')"),
            "f64::NEG_INFINITY" => out.push_str("-float('inf')"),
            _ if word.starts_with(|c: char| c.is_ascii_digit()) => out.push_str(number(word)?),
            _ if word.contains("::") => return None,
            _ if is_call => match names.get(word) {
                Some(name) if after_point != name.starts_with("pb.") => out.push_str(name),
                _ => return None,
            },
            _ if word.starts_with(|c: char| c.is_alphabetic() || c == '_') => out.push_str(word),
            "(" => {
                depth += 1;
                out.push('(');
            }
            ")" => {
                depth -= 1;
                if tensors.last().is_some_and(|t| t.1 == depth) {
                    let (start, _) = tensors.pop()?;
                    // Rust's floats are doubles.
                    if out[start..].contains(['.', 'n']) && out[start + "pb.tensor".len()..].contains(['.', '\'']) {
                        out.push_str(", dtype=pb.float64");
                    }
                }
                out.push(')');
            }
            // The names of arguments.
            "=" => out.push('='),
            "|" | "!" | "{" | "}" | "\"" | "*" | "+" | "/" | "<" | ">" | "'" | "#" => return None,
            other => out.push_str(other),
        }
    }
    Some(out)
}

/// Whether a word is a value of an enumeration, which Python names by its text.
fn is_choice(word: &str) -> bool {
    let plain = ["Reduction::", "Norm::", "Interpolation::", "Reduce::", "GridOrder::"];
    plain.iter().any(|name| word.starts_with(name))
        || matches!(word, "PadMode::Reflect" | "PadMode::Replicate" | "PadMode::Circular")
}

/// Options written as calls one after another, as arguments by name: `&Conv::new().stride(2)` is `stride=2`.
fn options(code: &str) -> Option<String> {
    const FIRST: [(&str, &str); 12] = [
        ("BinaryCrossEntropyWithLogits::new(", ""),
        ("BinaryCrossEntropy::new(", ""),
        ("CrossEntropy::new(", ""),
        ("NllLoss::new(", ""),
        ("CtcLoss::new(", ""),
        ("GridSample::new(", ""),
        ("ConvTranspose::new(", ""),
        ("Conv::new(", ""),
        ("MaxPool::new(", "kernel_size="),
        ("AvgPool::new(", "kernel_size="),
        ("Patches::new(", "kernel_size="),
        ("Interpolate::by_scale(", "scale_factor="),
    ];
    let Some((start, head, name)) = FIRST.iter().find_map(|(head, name)| Some((code.find(head)?, *head, *name))) else {
        return Some(code.to_owned());
    };
    let mut arguments = vec![];
    let mut rest = &code[start + head.len()..];
    let mut name = name.trim_end_matches('=');
    loop {
        let end = closing(rest)?;
        if !name.is_empty() {
            arguments.push(format!("{name}={}", &rest[..end]));
        }
        rest = &rest[end + 1..];
        let Some(next) = rest.strip_prefix('.').filter(|_| !rest.starts_with(".to_")) else { break };
        let (method, after) = next.split_once('(')?;
        (name, rest) = (method, after);
    }
    let before = code[..start].trim_end_matches('&').trim_end();
    let before = if arguments.is_empty() { before.trim_end_matches(',') } else { before };
    let gap = if arguments.is_empty() || before.ends_with('(') { "" } else { " " };
    options(&format!("{before}{gap}{}{rest}", arguments.join(", ")))
}

/// The place of the parenthesis that closes the one before the text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    text.char_indices().find_map(|(k, c)| {
        depth += match c {
            '(' | '[' => 1,
            ')' | ']' => -1,
            _ => 0,
        };
        (depth < 0).then_some(k)
    })
}

/// A number without its type.
fn number(word: &str) -> Option<&str> {
    let number = ["f64", "f32", "i64", "i32", "u8"].iter().find_map(|t| word.strip_suffix(t)).unwrap_or(word);
    let is_number = number.parse::<f64>().is_ok() && !number.ends_with('.');
    is_number.then_some(number)
}

/// How Python prints a literal.
fn literal(code: &str, is_shape: bool) -> Option<String> {
    if let Some(inner) = code.strip_prefix('[').and_then(|s| s.strip_suffix(']')) {
        let elements = match inner.trim() {
            "" => vec![],
            inner => inner.split(',').map(|x| scalar(x.trim())).collect::<Option<Vec<_>>>()?,
        };
        return Some(match (is_shape, &elements[..]) {
            (true, [one]) => format!("({one},)"),
            (true, all) => format!("({})", all.join(", ")),
            (false, all) => format!("[{}]", all.join(", ")),
        });
    }
    scalar(code)
}

fn scalar(code: &str) -> Option<String> {
    Some(match code {
        "true" => "True".to_owned(),
        "false" => "False".to_owned(),
        "f64::INFINITY" => "inf".to_owned(),
        "f64::NEG_INFINITY" => "-inf".to_owned(),
        _ => {
            let (sign, digits) = code.strip_prefix('-').map_or(("", code), |rest| ("-", rest));
            let digits = number(digits)?;
            // Python writes large and small numbers in another way.
            if digits.contains('e') {
                return None;
            }
            format!("{sign}{digits}")
        }
    })
}
