//! Pictures of graphs are well-formed SVG that shows what the graph holds.

use std::collections::HashMap;

use pullback::random::Key;
use pullback::{Context, DType, Function, Result, Tensor, capture, grad, hessian};

/// An element: its name, attributes, and how deep it lies.
struct Element {
    name: String,
    attributes: HashMap<String, String>,
    text: String,
}

/// All elements of a document, in order. Panics if it is not well-formed: elements that are not closed or in the wrong
/// order, attributes without quotes or twice, `<` or a bare `&` in text.
fn elements(xml: &str) -> Vec<Element> {
    let mut found: Vec<Element> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut rest = xml;
    while !rest.is_empty() {
        let Some(text) = rest.strip_prefix('<') else {
            let end = rest.find('<').unwrap_or(rest.len());
            check_text(&rest[..end]);
            match open.last() {
                Some(&k) => found[k].text.push_str(&rest[..end]),
                None => assert!(rest[..end].trim().is_empty(), "text outside of the root: {}", &rest[..end]),
            }
            rest = &rest[end..];
            continue;
        };
        let end = text.find('>').expect("`>` ends a tag");
        let (tag, after) = (&text[..end], &text[end + 1..]);
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            let k = open.pop().expect("an element to close");
            assert_eq!(found[k].name, name);
            continue;
        }
        assert!(!open.is_empty() || found.is_empty(), "two roots");
        let (tag, closed) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, mut list) = tag.split_once(' ').unwrap_or((tag, ""));
        assert!(!name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric()), "{name}");
        let mut attributes = HashMap::new();
        list = list.trim();
        while !list.is_empty() {
            let (key, value) = list.split_once("=\"").expect("an attribute has a value in quotes");
            let (value, after) = value.split_once('"').expect("a value ends with a quote");
            check_text(value);
            assert!(after.is_empty() || after.starts_with(' '), "{after}");
            assert!(attributes.insert(key.to_string(), value.to_string()).is_none(), "{key} is there twice");
            list = after.trim();
        }
        if !closed {
            open.push(found.len());
        }
        found.push(Element { name: name.into(), attributes, text: String::new() });
    }
    assert!(open.is_empty(), "elements that are not closed");
    found
}

fn check_text(text: &str) {
    assert!(!text.contains('<'), "{text}");
    for part in text.split('&').skip(1) {
        let entity = part.split(';').next().unwrap_or_default();
        assert!(["amp", "lt", "gt", "quot"].contains(&entity), "&{part}");
    }
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
}

#[test]
fn the_reader_notices_what_is_not_well_formed() {
    elements("<a b=\"1\"><c/>text &lt; &amp;</a>");
    for bad in ["<a>", "<a></b>", "<a/><b/>", "<a b=1/>", "<a b=\"1\" b=\"2\"/>", "<a>&nbsp;</a>", "<a>x & y</a>", "x"]
    {
        assert!(std::panic::catch_unwind(|| elements(bad)).is_err(), "{bad}");
    }
}

/// The numbers of the classes of boxes.
fn boxes(svg: &str) -> [usize; 5] {
    let found = elements(svg);
    ["argument", "captured", "operation", "function", "result"]
        .map(|class| found.iter().filter(|e| e.attributes.get("class").is_some_and(|c| c == class)).count())
}

/// A name that markup must not be made of.
#[derive(Clone)]
struct Odd;

impl Function for Odd {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = ();

    fn name(&self) -> &str {
        "<Odd> & \"quoted\" ]]>\u{7}"
    }
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        Ok(x.clone())
    }
    fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
        Ok(())
    }
}

#[test]
fn boxes_are_told_apart_and_text_is_escaped() -> Result<()> {
    let w = Tensor::from([1.0, 2.0]);
    let f = |(x, y): &(Tensor, Tensor)| {
        let noise = Key::new(1).normal(&[2], DType::F64)?;
        let odd = Odd.apply(&w.mul(x)?.add(noise)?)?;
        Ok((odd.mul(2.0)?, y.clone(), odd.sum()?))
    };
    let graph = capture(f)(&(w.clone(), Tensor::from(1i64)))?;
    let svg = graph.to_svg();
    // Two arguments, `w`; the draw, mul, add, mul, sum; the function; three results.
    assert_eq!(boxes(&svg), [2, 1, 5, 1, 3]);
    assert!(svg.contains("&lt;Odd&gt; &amp; &quot;quoted&quot; ]]&gt;?"), "{svg}");
    let found = elements(&svg);
    let texts: Vec<&str> = found.iter().filter(|e| e.name == "text").map(|e| e.text.as_str()).collect();
    for line in ["a", "b", "A", "f64[2]", "i64[]", "g = mul f 2.0", "return 0: g", "return 1: b", "return 2: h"] {
        assert!(texts.contains(&line), "{line} is not in {texts:?}");
    }
    // Both operands, one arrow each; the results' own.
    assert_eq!(found.iter().filter(|e| e.attributes.contains_key("marker-end")).count(), 10);
    Ok(())
}

#[test]
fn nothing_lies_outside_of_the_picture() -> Result<()> {
    let f = |x: &Tensor| x.sin()?.mul(x)?.matmul(&x.t()?)?.exp()?.sum();
    let x = Tensor::from([[0.1, 0.2], [0.3, 0.4]]);
    for svg in [capture(f)(&x)?.to_svg(), capture(grad(f))(&x)?.to_svg(), capture(hessian(f))(&x)?.to_svg()] {
        let found = elements(&svg);
        let size = |e: &Element, key: &str| e.attributes[key].parse::<f64>().expect("a number");
        let (width, height) = (size(&found[0], "width"), size(&found[0], "height"));
        let boxes: Vec<[f64; 4]> = found
            .iter()
            .filter(|e| e.name == "rect" && e.attributes.contains_key("x"))
            .map(|e| ["x", "y", "width", "height"].map(|key| size(e, key)))
            .collect();
        assert!(boxes.len() > 5);
        for (k, [x, y, w, h]) in boxes.iter().enumerate() {
            assert!(*x >= 0.0 && *y >= 0.0 && x + w <= width && y + h <= height, "box {k}");
            for [x2, y2, w2, h2] in &boxes[..k] {
                let apart = x + w <= *x2 || x2 + w2 <= *x || y + h <= *y2 || y2 + h2 <= *y;
                assert!(apart, "box {k} overlaps another");
            }
        }
    }
    Ok(())
}

#[test]
fn an_empty_graph_and_a_large_one() -> Result<()> {
    let nothing = capture(|_: &()| Ok(()))(&())?;
    assert_eq!(boxes(&nothing.to_svg()), [0; 5]);
    let constant = capture(|_: &Tensor| Ok(Tensor::from(1.0)))(&Tensor::from(1.0))?;
    assert_eq!(boxes(&constant.to_svg()), [1, 0, 0, 0, 1]);
    let long =
        capture(|x: &Tensor| (0..1000).try_fold(x.clone(), |y, k| y.mul(x)?.add(f64::from(k))))(&Tensor::from(1.0))?;
    assert_eq!(boxes(&long.to_svg()), [1, 0, 2000, 0, 1]);
    Ok(())
}

/// The picture of the book's page about graphs, which is written by this test if `PULLBACK_WRITE_PICTURES` is set.
#[test]
fn the_picture_in_the_book_is_current() -> Result<()> {
    let loss = |(w, x): &(Tensor, Tensor)| w.mul(x)?.sin()?.sum();
    let at = (Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0]));
    let svg = capture(grad(loss))(&at)?.to_svg();
    elements(&svg);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/src/graph.svg");
    if std::env::var_os("PULLBACK_WRITE_PICTURES").is_some() {
        std::fs::write(path, &svg).expect("the book can be written");
    }
    let stored = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        stored == svg,
        "book/src/graph.svg is not what the graph looks like; write it with PULLBACK_WRITE_PICTURES=1"
    );
    Ok(())
}
