//! Graphs as pictures.

use super::layout::{Item, Layout, layout};
use super::print::{Names, put, tuple};
use super::program::Program;
use crate::interp::capture::Source;

/// What a box stands for.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Argument,
    Captured,
    Operation,
    Function,
    Result,
}

impl Kind {
    /// The class in the style sheet.
    fn class(self) -> &'static str {
        match self {
            Kind::Argument => "argument",
            Kind::Captured => "captured",
            Kind::Operation => "operation",
            Kind::Function => "function",
            Kind::Result => "result",
        }
    }
}

/// A box with one or two lines of text.
struct Node {
    kind: Kind,
    lines: Vec<String>,
    /// True for a value that comes from nowhere and lies best where it is used.
    hangs: bool,
}

/// The widths of letters are not known here, so the font is one whose letters are equally wide.
const LETTER: f64 = 7.3;
const LINE: f64 = 16.0;
const MARGIN: f64 = 16.0;
/// Longer texts are cut; the whole text shows when the pointer rests on the box.
const MAX_LETTERS: usize = 56;

const STYLE: &str = "\
text { font: 12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; text-anchor: middle; fill: #222 }
text.type { fill: #667 }
rect { stroke: #889; fill: #fff; rx: 4px }
rect.paper { stroke: none; rx: 0 }
.argument rect { fill: #dceaff; stroke: #4a7dc0; rx: 14px }
.captured rect { fill: #f1f1f1; stroke: #888; stroke-dasharray: 4 3; rx: 14px }
.function rect { fill: #ffe6c7; stroke: #c7812b; stroke-width: 2 }
.result rect { fill: #ddf3dc; stroke: #4e9a4b; rx: 14px }
path { fill: none; stroke: #889; stroke-width: 1.2 }
";

pub(super) fn svg(program: &Program) -> String {
    let (nodes, arrows) = boxes(program);
    let items: Vec<Item> = nodes
        .iter()
        .map(|n| {
            let letters = n.lines.iter().map(|l| shortened(l).chars().count()).max().unwrap_or(0);
            let (width, height) = (letters as f64 * LETTER + 18.0, n.lines.len() as f64 * LINE + 10.0);
            Item { width, height, hangs: n.hangs }
        })
        .collect();
    let places = layout(&items, &arrows);
    let (width, height) = (places.width + 2.0 * MARGIN, places.height + 2.0 * MARGIN);
    let mut out = String::new();
    put(
        &mut out,
        format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.1} \
             {height:.1}\">\n<title>graph</title>\n<style>\n{STYLE}</style>\n<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" \
             refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" \
             style=\"fill: #889; stroke: none\"/></marker></defs>\n<rect class=\"paper\" width=\"100%\" \
             height=\"100%\"/>\n<g transform=\"translate({MARGIN} {MARGIN})\">\n"
        ),
    );
    for ((item, center), trunk) in items.iter().zip(&places.centers).zip(&places.trunks) {
        draw_trunk(&mut out, item, *center, trunk);
    }
    for (arrow, branch) in arrows.iter().zip(&places.branches) {
        draw_arrow(&mut out, &items, &places, *arrow, *branch);
    }
    for ((node, item), center) in nodes.iter().zip(&items).zip(&places.centers) {
        draw_box(&mut out, node, item, *center);
    }
    out.push_str("</g>\n</svg>\n");
    out
}

/// The boxes, in the order of the graph, and which one leads to which.
fn boxes(program: &Program) -> (Vec<Node>, Vec<(usize, usize)>) {
    let names = Names::of(program);
    let mut nodes = Vec::new();
    let mut arrows = Vec::new();
    // The box that a value comes from.
    let mut variables = vec![0; program.types.len()];
    for v in 0..program.arguments {
        variables[v] = nodes.len();
        nodes.push(Node {
            kind: Kind::Argument,
            lines: vec![names.variable(v as u32), program.types[v].to_string()],
            hangs: false,
        });
    }
    let mut constants = vec![None; program.constants.len()];
    for (c, place) in constants.iter_mut().enumerate() {
        if let Some(text) = names.captured(program, c as u32) {
            *place = Some(nodes.len());
            let lines = text.split(": ").map(str::to_string).collect();
            nodes.push(Node { kind: Kind::Captured, lines, hangs: true });
        }
    }
    let origin = |variables: &[usize], source: Source| match source {
        Source::Variable(v) => Some(variables[v as usize]),
        Source::Constant(c) => constants[c as usize],
    };
    for call in &program.calls {
        let node = nodes.len();
        let mut from: Vec<usize> = call.inputs.iter().filter_map(|&s| origin(&variables, s)).collect();
        from.sort_unstable();
        from.dedup();
        arrows.extend(from.into_iter().map(|f| (f, node)));
        let outputs: Vec<String> = call.outputs.iter().map(|&v| names.variable(v)).collect();
        let types: Vec<String> = call.outputs.iter().map(|&v| program.types[v as usize].to_string()).collect();
        let kind = if call.op.is_function() { Kind::Function } else { Kind::Operation };
        let lines = vec![format!("{} = {}", tuple(&outputs), names.call(call)), tuple(&types)];
        nodes.push(Node { kind, lines, hangs: call.inputs.is_empty() });
        call.outputs.iter().for_each(|&v| variables[v as usize] = node);
    }
    for (k, &source) in program.results.iter().enumerate() {
        let number = if program.results.len() > 1 { format!(" {k}:") } else { String::new() };
        arrows.extend(origin(&variables, source).map(|from| (from, nodes.len())));
        let lines = vec![format!("return{number} {}", names.source(source)), program.type_of(source).to_string()];
        nodes.push(Node { kind: Kind::Result, lines, hangs: false });
    }
    (nodes, arrows)
}

/// The line that arrows from a box share, down to where the last one branches off.
fn draw_trunk(out: &mut String, item: &Item, (x, y): (f64, f64), trunk: &[(f64, f64)]) {
    if trunk.is_empty() {
        return;
    }
    let mut at = (x, y + item.height / 2.0);
    put(out, format_args!("<path d=\"M{:.1} {:.1}", at.0, at.1));
    for &next in trunk {
        curve(out, at, next);
        at = next;
    }
    out.push_str("\"/>\n");
}

/// From where it branches off, or the lower edge of a box, to the upper edge of another box.
fn draw_arrow(
    out: &mut String,
    items: &[Item],
    places: &Layout,
    (from, to): (usize, usize),
    branch: Option<(f64, f64)>,
) {
    let (x, y) = places.centers[from];
    let start = branch.unwrap_or((x, y + items[from].height / 2.0));
    let (end, below) = places.centers[to];
    // Arrows into a wide box end side by side, below where they come from.
    let reach = (items[to].width / 2.0 - 12.0).max(0.0);
    let target = (end + (start.0 - end).clamp(-reach, reach) * 0.6, below - items[to].height / 2.0);
    put(out, format_args!("<path marker-end=\"url(#tip)\" d=\"M{:.1} {:.1}", start.0, start.1));
    curve(out, start, target);
    out.push_str("\"/>\n");
}

/// A piece of a line that leaves and arrives going down.
fn curve(out: &mut String, (x, y): (f64, f64), (next, down): (f64, f64)) {
    let middle = (y + down) / 2.0;
    put(out, format_args!("C{x:.1} {middle:.1} {next:.1} {middle:.1} {next:.1} {down:.1}"));
}

fn draw_box(out: &mut String, node: &Node, item: &Item, (x, y): (f64, f64)) {
    let Item { width, height, .. } = item;
    let (left, top) = (x - width / 2.0, y - height / 2.0);
    let title = escaped(&node.lines.join(": "));
    put(out, format_args!("<g class=\"{}\"><title>{title}</title>", node.kind.class()));
    put(out, format_args!("<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"));
    for (k, line) in node.lines.iter().enumerate() {
        let class = if k > 0 { " class=\"type\"" } else { "" };
        let (base, text) = (top + 17.0 + k as f64 * LINE, escaped(&shortened(line)));
        put(out, format_args!("<text{class} x=\"{x:.1}\" y=\"{base:.1}\">{text}</text>"));
    }
    out.push_str("</g>\n");
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_LETTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

/// Text as the contents of an element; what XML does not allow becomes a question mark.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('?'),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_cut() {
        assert_eq!(escaped("a<b> & \"c\"\n"), "a&lt;b&gt; &amp; &quot;c&quot;?");
        assert_eq!(shortened(&"é".repeat(60)).chars().count(), MAX_LETTERS + 1);
        assert_eq!(shortened("short"), "short");
    }
}
