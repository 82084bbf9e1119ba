//! Printing: the elements in aligned columns, and what a transform made of the value. It never fails.

use std::fmt::{self, Write as _};

use super::{Repr, Tensor};
use crate::DType;
use crate::array::Array;
use crate::dtype::{Complex64, Element, any_dtype};
use crate::interp::Traced;
use crate::interp::level::AMBIENT;

/// Tensors with more elements are summarised,
const THRESHOLD: usize = 1000;
/// by this many items at both ends of each long dimension.
const EDGE: usize = 3;
/// If even those are more than this, outer dimensions show their first item only.
const LIMIT: usize = 2000;
/// Rows are broken so that they fit into this many columns.
const WIDTH: usize = 80;
/// Digits behind the point, unless the format asks for another number.
const PRECISION: usize = 4;
/// The elements of tensors with more dimensions are not printed: their brackets alone would fill the screen.
const MAX_RANK: usize = 32;

/// The elements in rows, then the dtype and shape; inside a transform also its level, and what it knows of the value.
///
/// Elements of one tensor share a format: four digits behind the point, or a power of ten where they are too large,
/// too small or too far apart for that, the parts of complex numbers each for itself. `{:.2}` asks for two digits. A tensor of more than 1000 elements is
/// summarised by three at each end of a dimension.
///
/// ```
/// use pullback::{Tensor, grad};
/// let x = Tensor::from([[1.0f32, 2.0], [3.0, 4.0]]);
/// assert_eq!(x.to_string(), "\
/// tensor([[1.0000, 2.0000],
///         [3.0000, 4.0000]], f32[2,2])");
/// let f = |x: &Tensor| {
///     assert!(format!("{x:.1}").starts_with("grad(level "));
///     assert!(format!("{x:.1}").ends_with(", tensor(2.0, f64[]))"));
///     Ok(x * x)
/// };
/// grad(f)(&Tensor::from(2.0))?;
/// # Ok::<(), pullback::Error>(())
/// ```
impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        write_tensor(&mut out, self, &Style { precision: f.precision().unwrap_or(PRECISION), is_python: false });
        f.write_str(&out)
    }
}

/// As [`Display`](fmt::Display).
impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// How tensors are written.
struct Style {
    /// The number of digits behind the point.
    precision: usize,
    /// Whether words are spelled as in Python, and types left out where the elements show them.
    is_python: bool,
}

impl Tensor {
    /// The text of [`Display`](fmt::Display), spelled as in Python: `True`, and `dtype=float64` for a dtype that such elements do
    /// not have by default.
    ///
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([1.0f32, 2.0]).to_python_string(), "tensor([1.0000, 2.0000])");
    /// assert_eq!(Tensor::from([1i32, 2]).to_python_string(), "tensor([1, 2], dtype=int32)");
    /// assert_eq!(Tensor::from([true, false]).to_python_string(), "tensor([ True, False])");
    /// ```
    pub fn to_python_string(&self) -> String {
        let mut out = String::new();
        write_tensor(&mut out, self, &Style { precision: PRECISION, is_python: true });
        out
    }
}

fn write_tensor(out: &mut String, t: &Tensor, style: &Style) {
    let tracer = match t.repr() {
        Repr::Array(array) => return write_array(out, array, style),
        Repr::Tracer(tracer) => tracer,
    };
    let level = &tracer.level;
    match level.id {
        AMBIENT => put(out, format_args!("{}(", level.transform())),
        id => put(out, format_args!("{}(level {id}, ", level.transform())),
    }
    if !level.is_alive() {
        out.push_str("ended, ");
    }
    match &tracer.value {
        Traced::Reverse { primal: value, .. }
        | Traced::Linear { primal: value, .. }
        | Traced::Capture { value, .. } => {
            write_tensor(out, value, style);
        }
        Traced::Forward { primal, tangent } => {
            write_tensor(out, primal, style);
            out.push_str(", tangent ");
            write_tensor(out, tangent, style);
        }
        Traced::Batch { value, dim, .. } => {
            put(out, format_args!("dim {dim} of {}, ", value.shape()[*dim as usize]));
            write_tensor(out, value, style);
        }
    }
    out.push(')');
}

/// Writing to a string cannot fail.
fn put(out: &mut String, text: fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

/// The column in which the text ends.
fn column(out: &str) -> usize {
    out.len() - out.rfind('\n').map_or(0, |k| k + 1)
}

fn write_array(out: &mut String, array: &Array, style: &Style) {
    out.push_str("tensor(");
    if array.rank() > MAX_RANK {
        out.push_str("...");
    } else if array.numel() == 0 {
        out.push_str("[]");
    } else {
        let shown = shown(array.shape());
        let items = any_dtype!(array.dtype(), T => format_items(&read::<T>(array, &shown), style));
        let width = items.iter().map(String::len).max().unwrap_or(0);
        let indent = column(out);
        Writer { out, items: items.into_iter(), width, indent }.write(&shown, 0);
    }
    if style.is_python {
        write_python_type(out, array);
    } else {
        put(out, format_args!(", {})", array.ty()));
    }
}

/// What the elements do not show: a dtype that such elements do not have by default, and the shape where some are left out.
fn write_python_type(out: &mut String, array: &Array) {
    let dtype = array.dtype();
    if !matches!(dtype, DType::F32 | DType::I64 | DType::Bool | DType::C64) {
        let bits = 8 * dtype.size();
        match dtype {
            DType::U8 => put(out, format_args!(", dtype=uint{bits}")),
            DType::BF16 => put(out, format_args!(", dtype=bfloat{bits}")),
            _ if dtype.is_int() => put(out, format_args!(", dtype=int{bits}")),
            _ if dtype.is_float() => put(out, format_args!(", dtype=float{bits}")),
            _ => put(out, format_args!(", dtype=complex{bits}")),
        }
    }
    let is_all = array.rank() <= MAX_RANK && shown(array.shape()).iter().all(Shown::is_all);
    if !is_all || (array.numel() == 0 && array.shape() != [0]) {
        let sizes: Vec<String> = array.shape().iter().map(usize::to_string).collect();
        let comma = if sizes.len() == 1 { "," } else { "" };
        put(out, format_args!(", shape=({}{comma})", sizes.join(", ")));
    }
    out.push(')');
}

/// What is shown of a dimension: all of it, or items at its ends.
#[derive(Clone, Copy)]
struct Shown {
    size: usize,
    head: usize,
    tail: usize,
}

impl Shown {
    fn count(&self) -> usize {
        self.head + self.tail
    }

    fn is_all(&self) -> bool {
        self.count() == self.size
    }

    fn indices(self) -> impl Iterator<Item = usize> + Clone {
        (0..self.head).chain(self.size - self.tail..self.size)
    }
}

fn shown(shape: &[usize]) -> Vec<Shown> {
    let long = crate::shape::numel(shape) > THRESHOLD;
    let mut shown: Vec<Shown> = shape
        .iter()
        .map(|&size| match long && size > 2 * EDGE {
            true => Shown { size, head: EDGE, tail: EDGE },
            false => Shown { size, head: size, tail: 0 },
        })
        .collect();
    for k in 0..shown.len() {
        let total = shown.iter().fold(1usize, |n, s| n.saturating_mul(s.count()));
        if total <= LIMIT {
            break;
        }
        shown[k] = Shown { size: shape[k], head: 1, tail: 0 };
    }
    shown
}

/// The shown elements in row-major order.
fn read<T: Element>(array: &Array, shown: &[Shown]) -> Vec<T> {
    let mut offsets = vec![0isize];
    for (s, &stride) in shown.iter().zip(array.strides()) {
        offsets = offsets.iter().flat_map(|&at| s.indices().map(move |k| at + k as isize * stride)).collect();
    }
    // SAFETY: every offset is that of an index inside the shape.
    offsets.into_iter().map(|at| unsafe { *array.as_ptr::<T>().offset(at) }).collect()
}

/// The elements in one common format.
fn format_items<T: Element>(items: &[T], style: &Style) -> Vec<String> {
    let precision = style.precision;
    if T::DTYPE == DType::Bool && style.is_python {
        return items.iter().map(|x| if *x == T::ZERO { "False".into() } else { "True".into() }).collect();
    }
    if !T::DTYPE.is_differentiable() {
        return items.iter().map(|x| x.to_string()).collect();
    }
    let values: Vec<Complex64> = items.iter().map(|x| x.to_complex()).collect();
    let real = format_floats(&values.iter().map(|z| z.re).collect::<Vec<_>>(), precision);
    if T::DTYPE.is_float() {
        return real;
    }
    let imaginary = format_floats(&values.iter().map(|z| z.im).collect::<Vec<_>>(), precision);
    let sign = |part: &str| if part.starts_with('-') { "" } else { "+" };
    real.iter().zip(imaginary).map(|(re, im)| format!("{re}{}{im}j", sign(&im))).collect()
}

fn format_floats(values: &[f64], precision: usize) -> Vec<String> {
    let scientific = is_scientific(values.iter().copied(), precision);
    let format = |&x: &f64| match x {
        x if x.is_nan() => "nan".into(),
        x if x.is_infinite() => if x > 0.0 { "inf" } else { "-inf" }.into(),
        x if scientific => with_exponent(x, precision),
        x => format!("{x:.precision$}"),
    };
    values.iter().map(format).collect()
}

/// Whether a fixed point would hide digits: numbers are huge, or not whole and tiny or far apart.
fn is_scientific(values: impl Iterator<Item = f64> + Clone, precision: usize) -> bool {
    let sizes = values.filter(|x| x.is_finite() && *x != 0.0).map(f64::abs);
    let (min, max) = sizes.clone().fold((f64::INFINITY, 0.0f64), |(lo, hi), x| (lo.min(x), hi.max(x)));
    if max == 0.0 {
        return false;
    }
    let whole = sizes.clone().all(|x| x.fract() == 0.0);
    max >= 1e8 || !whole && (min < 10f64.powi(-(precision.min(300) as i32)) || max / min > 1000.0)
}

/// `1.2000e-05`: the exponent has a sign and at least two digits, so that columns align.
fn with_exponent(x: f64, precision: usize) -> String {
    let text = format!("{x:.precision$e}");
    match text.split_once('e') {
        Some((digits, exponent)) => {
            let (sign, size) = exponent.strip_prefix('-').map_or(('+', exponent), |size| ('-', size));
            format!("{digits}e{sign}{size:0>2}")
        }
        None => text,
    }
}

/// Writes formatted elements in brackets.
struct Writer<'a> {
    out: &'a mut String,
    items: std::vec::IntoIter<String>,
    width: usize,
    /// The column of the outermost bracket.
    indent: usize,
}

impl Writer<'_> {
    /// Writes the part at dimension `dim`, one of nested lists.
    fn write(&mut self, shown: &[Shown], dim: usize) {
        let Some(&here) = shown.get(dim) else {
            let item = self.items.next().unwrap_or_default();
            put(self.out, format_args!("{item:>width$}", width = self.width));
            return;
        };
        let inner = shown.len() - dim - 1;
        let per_line = if inner > 0 {
            1
        } else {
            // Where a transform's name stands before the tensor, rows do not shrink for it.
            (WIDTH.saturating_sub("tensor(".len() + shown.len()) / (self.width + 2)).max(1)
        };
        self.out.push('[');
        let mut in_line = 0;
        for k in 0..here.count() + usize::from(!here.is_all()) {
            if k > 0 {
                self.out.push(',');
                if in_line == per_line {
                    // Blank lines set off blocks of more than one row.
                    (0..inner.max(1)).for_each(|_| self.out.push('\n'));
                    put(self.out, format_args!("{:indent$}", "", indent = self.indent + dim + 1));
                    in_line = 0;
                } else {
                    self.out.push(' ');
                }
            }
            in_line += 1;
            if k == here.head && !here.is_all() {
                self.out.push_str("...");
            } else {
                self.write(shown, dim + 1);
            }
        }
        self.out.push(']');
    }
}
