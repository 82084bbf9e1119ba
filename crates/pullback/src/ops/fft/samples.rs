//! Samples of the transforms, with sums over the definition as references. Complex numbers go in and out as pairs of real
//! ones.

use super::{DType, Norm, Result, Tensor};
use crate::ErrorKind;
use crate::ops::complex::of_parts;
use crate::ops::table::{ErrorSample, Naive, Sample, sample_tensor};

type Numbers = Vec<(f64, f64)>;

/// The sum over the definition of a transform of `x`, to length `n`.
fn line(x: &[(f64, f64)], n: usize, sign: f64) -> Numbers {
    let turn = |j: usize, k: usize| sign * std::f64::consts::TAU * ((j * k) % n) as f64 / n as f64;
    let term = |(j, &(re, im)): (usize, &(f64, f64)), k: usize| {
        let (sin, cos) = turn(j, k).sin_cos();
        (re * cos - im * sin, re * sin + im * cos)
    };
    (0..n)
        .map(|k| x.iter().take(n).enumerate().map(|x| term(x, k)).fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1)))
        .collect()
}

/// A complex array of a shape.
#[derive(Clone)]
struct Spectrum {
    shape: Vec<usize>,
    data: Numbers,
}

impl Spectrum {
    fn of(x: &[Naive]) -> Spectrum {
        let im = |k: usize| x.get(1).map_or(0.0, |im| im.data[k]);
        let data = x[0].data.iter().enumerate().map(|(k, &re)| (re, im(k))).collect();
        Spectrum { shape: x[0].shape.clone(), data }
    }

    /// With `f` applied to each line along `dim`, whose results have `n` elements.
    fn along(&self, dim: usize, n: usize, f: impl Fn(&[(f64, f64)]) -> Numbers) -> Spectrum {
        let inner: usize = self.shape[dim + 1..].iter().product();
        let outer: usize = self.shape[..dim].iter().product();
        let size = self.shape[dim];
        let mut shape = self.shape.clone();
        shape[dim] = n;
        let mut data = vec![(0.0, 0.0); outer * n * inner];
        for o in 0..outer {
            for i in 0..inner {
                let old: Numbers = (0..size).map(|k| self.data[(o * size + k) * inner + i]).collect();
                for (k, value) in f(&old).into_iter().enumerate() {
                    data[(o * n + k) * inner + i] = value;
                }
            }
        }
        Spectrum { shape, data }
    }

    fn transformed(&self, dim: usize, n: usize, sign: f64, norm: Norm) -> Spectrum {
        let scale = norm.scale(n, sign > 0.0);
        self.along(dim, n, |x| line(x, n, sign).into_iter().map(|(re, im)| (re * scale, im * scale)).collect())
    }

    fn cut(&self, dim: usize, n: usize) -> Spectrum {
        self.along(dim, n, |x| x[..n].to_vec())
    }

    /// The whole of which this is the first half.
    fn whole(&self, dim: usize, n: usize) -> Spectrum {
        self.along(dim, n, |x| {
            let at = |k: usize| x.get(k).copied().unwrap_or((0.0, 0.0));
            let value = |k: usize| match k {
                0 => (at(0).0, 0.0),
                k if 2 * k == n => (at(k).0, 0.0),
                k if 2 * k < n => at(k),
                k => (at(n - k).0, -at(n - k).1),
            };
            (0..n).map(value).collect()
        })
    }

    fn pairs(self) -> Vec<Naive> {
        let mut shape = self.shape;
        shape.push(2);
        vec![Naive { shape, data: self.data.into_iter().flat_map(|(re, im)| [re, im]).collect() }]
    }

    fn real(self) -> Vec<Naive> {
        vec![Naive { shape: self.shape, data: self.data.into_iter().map(|z| z.0).collect() }]
    }
}

type One = fn(&Tensor, Option<usize>, isize, Norm) -> Result<Tensor>;
type Many = fn(&Tensor, Option<&[usize]>, Option<&[isize]>, Norm) -> Result<Tensor>;
type Two = fn(&Tensor, Option<&[usize]>, [isize; 2], Norm) -> Result<Tensor>;

/// Shape, length, dim, and norm of transforms of one dim: even, odd and prime lengths, cut and filled up, no lines.
const LINES: [(&[usize], Option<usize>, isize, Norm); 7] = [
    (&[4], None, -1, Norm::Backward),
    (&[7], None, 0, Norm::Ortho),
    (&[2, 3], Some(5), -1, Norm::Forward),
    (&[5, 2], Some(4), 0, Norm::Backward),
    (&[2, 6, 2], None, 1, Norm::Ortho),
    (&[2], Some(1), 0, Norm::Backward),
    (&[0, 3], None, 1, Norm::Backward),
];

fn real_input(
    label: String,
    shape: &[usize],
    call: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static,
) -> Sample {
    Sample::one(label, [sample_tensor(shape, -1.0, 1.0, 3)], move |x| {
        let y = call(&x[0])?;
        if y.dtype().is_complex() { y.view_as_real() } else { Ok(y) }
    })
}

fn place(dim: isize, rank: usize) -> usize {
    (if dim < 0 { dim + rank as isize } else { dim }) as usize
}

/// Samples of a transform of complex numbers along one dim.
fn complex_lines(call: One, sign: f64) -> Vec<Sample> {
    let case = |&(shape, n, dim, norm): &(&'static [usize], Option<usize>, isize, Norm)| {
        of_parts(&format!("{shape:?} to {n:?} along {dim}, {norm:?}"), shape, move |x| call(x, n, dim, norm)).reference(
            move |x| {
                let dim = place(dim, x[0].shape.len());
                Spectrum::of(x).transformed(dim, n.unwrap_or(x[0].shape[dim]), sign, norm).pairs()
            },
        )
    };
    let mut all: Vec<Sample> = LINES.iter().map(case).collect();
    all.push(
        real_input("real".into(), &[5], move |x| call(x, None, 0, Norm::Backward))
            .reference(move |x| Spectrum::of(x).transformed(0, 5, sign, Norm::Backward).pairs()),
    );
    all
}

pub(super) fn fft_samples() -> Vec<Sample> {
    complex_lines(super::fft, -1.0)
}

pub(super) fn ifft_samples() -> Vec<Sample> {
    complex_lines(super::ifft, 1.0)
}

pub(super) fn rfft_samples() -> Vec<Sample> {
    let case = |&(shape, n, dim, norm): &(&'static [usize], Option<usize>, isize, Norm)| {
        let label = format!("{shape:?} to {n:?} along {dim}, {norm:?}");
        real_input(label, shape, move |x| super::rfft(x, n, dim, norm)).reference(move |x| {
            let dim = place(dim, x[0].shape.len());
            let n = n.unwrap_or(x[0].shape[dim]);
            Spectrum::of(x).transformed(dim, n, -1.0, norm).cut(dim, n / 2 + 1).pairs()
        })
    };
    LINES.iter().map(case).collect()
}

pub(super) fn ihfft_samples() -> Vec<Sample> {
    let case = |&(shape, n, dim, norm): &(&'static [usize], Option<usize>, isize, Norm)| {
        let label = format!("{shape:?} to {n:?} along {dim}, {norm:?}");
        real_input(label, shape, move |x| super::ihfft(x, n, dim, norm)).reference(move |x| {
            let dim = place(dim, x[0].shape.len());
            let n = n.unwrap_or(x[0].shape[dim]);
            Spectrum::of(x).transformed(dim, n, 1.0, norm).cut(dim, n / 2 + 1).pairs()
        })
    };
    LINES.iter().map(case).collect()
}

/// Samples of a transform of halves of spectra.
fn half_lines(call: One, sign: f64) -> Vec<Sample> {
    let case = |&(shape, n, dim, norm): &(&'static [usize], Option<usize>, isize, Norm)| {
        of_parts(&format!("{shape:?} to {n:?} along {dim}, {norm:?}"), shape, move |x| call(x, n, dim, norm)).reference(
            move |x| {
                let dim = place(dim, x[0].shape.len());
                let n = n.unwrap_or(2 * (x[0].shape[dim] - 1));
                Spectrum::of(x).whole(dim, n).transformed(dim, n, sign, norm).real()
            },
        )
    };
    LINES.iter().map(case).collect()
}

pub(super) fn irfft_samples() -> Vec<Sample> {
    half_lines(super::irfft, 1.0)
}

pub(super) fn hfft_samples() -> Vec<Sample> {
    half_lines(super::hfft, -1.0)
}

/// Shape, sizes, dims as given and as meant, and norm of transforms of several dims.
type Box = (&'static [usize], Option<&'static [usize]>, Option<&'static [isize]>, &'static [usize], Norm);
const BOXES: [Box; 5] = [
    (&[2, 3], None, None, &[0, 1], Norm::Backward),
    (&[2, 3, 4], Some(&[2, 5]), None, &[1, 2], Norm::Ortho),
    (&[3, 2, 4], Some(&[3, 2]), Some(&[-1, 0]), &[2, 0], Norm::Forward),
    (&[4], None, Some(&[0]), &[0], Norm::Backward),
    (&[2, 0, 3], None, Some(&[0, 2]), &[0, 2], Norm::Backward),
];

fn size(s: Option<&[usize]>, shape: &[usize], k: usize, dim: usize) -> usize {
    s.map_or(shape[dim], |s| s[k])
}

fn complex_boxes(call: Many, sign: f64) -> Vec<Sample> {
    let case = |&(shape, s, given, dims, norm): &Box| {
        of_parts(&format!("{shape:?} to {s:?} along {given:?}, {norm:?}"), shape, move |x| call(x, s, given, norm))
            .reference(move |x| {
                let mut y = Spectrum::of(x);
                for (k, &dim) in dims.iter().enumerate() {
                    y = y.transformed(dim, size(s, shape, k, dim), sign, norm);
                }
                y.pairs()
            })
    };
    BOXES.iter().map(case).collect()
}

fn real_boxes(call: Many) -> Vec<Sample> {
    let case = |&(shape, s, given, dims, norm): &Box| {
        let label = format!("{shape:?} to {s:?} along {given:?}, {norm:?}");
        real_input(label, shape, move |x| call(x, s, given, norm)).reference(move |x| {
            let mut y = Spectrum::of(x);
            for (k, &dim) in dims.iter().enumerate() {
                y = y.transformed(dim, size(s, shape, k, dim), -1.0, norm);
            }
            let last = dims[dims.len() - 1];
            y.cut(last, size(s, shape, dims.len() - 1, last) / 2 + 1).pairs()
        })
    };
    BOXES.iter().map(case).collect()
}

fn half_boxes(call: Many) -> Vec<Sample> {
    let case = |&(shape, s, given, dims, norm): &Box| {
        of_parts(&format!("{shape:?} to {s:?} along {given:?}, {norm:?}"), shape, move |x| call(x, s, given, norm))
            .reference(move |x| {
                let (last, others) = dims.split_last().expect("samples have dims");
                let n = s.map_or(2 * (shape[*last] - 1), |s| s[s.len() - 1]);
                let mut y = Spectrum::of(x);
                for (k, &dim) in others.iter().enumerate() {
                    y = y.transformed(dim, size(s, shape, k, dim), 1.0, norm);
                }
                y.whole(*last, n).transformed(*last, n, 1.0, norm).real()
            })
    };
    BOXES.iter().map(case).collect()
}

pub(super) fn fftn_samples() -> Vec<Sample> {
    complex_boxes(super::fftn, -1.0)
}

pub(super) fn ifftn_samples() -> Vec<Sample> {
    complex_boxes(super::ifftn, 1.0)
}

pub(super) fn rfftn_samples() -> Vec<Sample> {
    real_boxes(super::rfftn)
}

pub(super) fn irfftn_samples() -> Vec<Sample> {
    half_boxes(super::irfftn)
}

/// The samples of two dims, of a transform that takes two.
macro_rules! two {
    ($($samples:ident $call:ident $boxes:expr;)*) => { $(
        pub(super) fn $samples() -> Vec<Sample> {
            let call: Many = |x, s, dims, norm| {
                let rank = x.rank() as isize;
                let dims = dims.map_or([rank - 2, rank - 1], |d| [d[0], d[1]]);
                super::$call(x, s, dims, norm)
            };
            let all: fn(Many) -> Vec<Sample> = $boxes;
            all(call).into_iter().filter(|s| !s.label.contains("along Some([0])")).collect()
        }
    )* };
}
two! {
    fft2_samples fft2 |f| complex_boxes(f, -1.0);
    ifft2_samples ifft2 |f| complex_boxes(f, 1.0);
    rfft2_samples rfft2 real_boxes;
    irfft2_samples irfft2 half_boxes;
}

fn shift_samples(call: fn(&Tensor, Option<&[isize]>) -> Result<Tensor>, by: fn(usize) -> usize) -> Vec<Sample> {
    let case = |label: &str, shape: &[usize], given: Option<&'static [isize]>, dims: &'static [usize]| {
        Sample::one(label, [sample_tensor(shape, -1.0, 1.0, 1)], move |x| call(&x[0], given)).reference(move |x| {
            let shape = x[0].shape.clone();
            vec![Naive::from_fn(&shape, |i| {
                let mut from = i.to_vec();
                for &d in dims {
                    from[d] = (i[d] + shape[d] - by(shape[d])) % shape[d];
                }
                x[0].at(&from)
            })]
        })
    };
    vec![
        case("even", &[4], None, &[0]),
        case("odd", &[5], Some(&[-1]), &[0]),
        case("all", &[2, 3], None, &[0, 1]),
        case("one of two", &[3, 4], Some(&[0]), &[0]),
        case("0-d", &[], None, &[]),
        case("empty", &[0, 3], None, &[0, 1]),
    ]
}

pub(super) fn fftshift_samples() -> Vec<Sample> {
    shift_samples(super::fftshift, |n| n / 2)
}

pub(super) fn ifftshift_samples() -> Vec<Sample> {
    shift_samples(super::ifftshift, |n| n.div_ceil(2))
}

fn shift_errors(call: fn(&Tensor, Option<&[isize]>) -> Result<Tensor>) -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![ErrorSample::new("dim", ErrorKind::Dim, "dim 2 is out of range for f64[2,3]", move || call(&x, Some(&[2])))]
}

pub(super) fn fftshift_errors() -> Vec<ErrorSample> {
    shift_errors(super::fftshift)
}

pub(super) fn ifftshift_errors() -> Vec<ErrorSample> {
    shift_errors(super::ifftshift)
}

fn line_errors(call: One, real: bool) -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    let empty = sample_tensor(&[2, 0], 0.0, 1.0, 1);
    let (a, b, c, z) = (x.clone(), x.clone(), x.clone(), Tensor::ones(&[2], DType::C64).expect("a small tensor"));
    let mut all = vec![
        ErrorSample::new("dim", ErrorKind::Dim, "dim 2 is out of range for f64[2,3]", move || {
            call(&a, None, 2, Norm::Backward)
        }),
        ErrorSample::new(
            "empty",
            ErrorKind::Shape,
            "expected at least one element along dim 1 of f64[2,0]",
            move || call(&empty, None, 1, Norm::Backward),
        ),
        ErrorSample::new("length 0", ErrorKind::Shape, "expected at least one element along dim 0", move || {
            call(&b, Some(0), 0, Norm::Backward)
        }),
        ErrorSample::new(
            "too long",
            ErrorKind::Shape,
            "a tensor of shape [18446744073709551615,3] is too large",
            move || call(&c, Some(usize::MAX), 0, Norm::Backward),
        ),
    ];
    if real {
        all.push(ErrorSample::new("complex", ErrorKind::Dtype, "expected real numbers, got c64[2]", move || {
            call(&z, None, 0, Norm::Backward)
        }));
    }
    all
}

fn box_errors(call: Many, real: bool) -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    let (a, b, c, z) = (x.clone(), x.clone(), x.clone(), Tensor::ones(&[2, 2], DType::C64).expect("a small tensor"));
    let mut all = vec![
        ErrorSample::new("twice", ErrorKind::Dim, "dim -1 is given twice for f64[2,3]", move || {
            call(&x, None, Some(&[1, -1]), Norm::Backward)
        }),
        ErrorSample::new("sizes", ErrorKind::Shape, "expected a size for each of 2 dims, got 1", move || {
            call(&a, Some(&[2]), Some(&[0, 1]), Norm::Backward)
        }),
        ErrorSample::new("size 0", ErrorKind::Shape, "expected at least one element along dim 1", move || {
            call(&b, Some(&[2, 0]), Some(&[0, 1]), Norm::Backward)
        }),
        ErrorSample::new(
            "too long",
            ErrorKind::Shape,
            "a tensor of shape [1099511627776,1099511627776] is too large",
            move || call(&c, Some(&[1 << 40, 1 << 40]), Some(&[0, 1]), Norm::Backward),
        ),
    ];
    if real {
        all.push(ErrorSample::new("complex", ErrorKind::Dtype, "expected real numbers, got c64[2,2]", move || {
            call(&z, None, Some(&[0, 1]), Norm::Backward)
        }));
    }
    all
}

macro_rules! errors {
    ($($name:ident = $errors:ident($call:expr, $real:literal);)*) => { $(
        pub(super) fn $name() -> Vec<ErrorSample> {
            $errors($call, $real)
        }
    )* };
}
errors! {
    fft_errors = line_errors(super::fft, false);
    ifft_errors = line_errors(super::ifft, false);
    rfft_errors = line_errors(super::rfft, true);
    irfft_errors = line_errors(super::irfft, false);
    hfft_errors = line_errors(super::hfft, false);
    ihfft_errors = line_errors(super::ihfft, true);
    fftn_errors = box_errors(super::fftn, false);
    ifftn_errors = box_errors(super::ifftn, false);
    rfftn_errors = box_errors(super::rfftn, true);
    irfftn_errors = box_errors(super::irfftn, false);
    fft2_errors = box_errors(|x, s, d, norm| pair(super::fft2, x, s, d, norm), false);
    ifft2_errors = box_errors(|x, s, d, norm| pair(super::ifft2, x, s, d, norm), false);
    rfft2_errors = box_errors(|x, s, d, norm| pair(super::rfft2, x, s, d, norm), true);
    irfft2_errors = box_errors(|x, s, d, norm| pair(super::irfft2, x, s, d, norm), false);
}

fn pair(call: Two, x: &Tensor, s: Option<&[usize]>, dims: Option<&[isize]>, norm: Norm) -> Result<Tensor> {
    call(x, s, dims.map_or([-2, -1], |d| [d[0], d[1]]), norm)
}

/// Samples of frequencies, those of `n` numbers and a list of what is divided by `n·d`.
fn frequency_samples(
    call: fn(usize, f64, DType) -> Result<Tensor>,
    cases: &[(usize, f64, &'static [f64])],
) -> Vec<Sample> {
    let sample = |&(n, d, whole): &(usize, f64, &'static [f64])| {
        // Times a number, for there to be an input.
        let x = Tensor::from(2i64);
        Sample::one(format!("{n}, {d} apart"), [x], move |x| x[0].mul(call(n, d, DType::F64)?)).reference(move |x| {
            let data = whole.iter().map(|k| x[0].data[0] * k / (n as f64 * d)).collect();
            vec![Naive { shape: vec![whole.len()], data }]
        })
    };
    cases.iter().map(sample).collect()
}

pub(super) fn fftfreq_samples() -> Vec<Sample> {
    let cases: &[(usize, f64, &'static [f64])] =
        &[(4, 0.5, &[0.0, 1.0, -2.0, -1.0]), (5, 1.0, &[0.0, 1.0, 2.0, -2.0, -1.0]), (1, -2.0, &[0.0]), (0, 1.0, &[])];
    frequency_samples(super::fftfreq, cases)
}

pub(super) fn rfftfreq_samples() -> Vec<Sample> {
    let cases: &[(usize, f64, &'static [f64])] =
        &[(4, 0.5, &[0.0, 1.0, 2.0]), (5, 1.0, &[0.0, 1.0, 2.0]), (1, -2.0, &[0.0]), (0, 1.0, &[])];
    frequency_samples(super::rfftfreq, cases)
}

fn frequency_errors(call: fn(usize, f64, DType) -> Result<Tensor>) -> Vec<ErrorSample> {
    vec![
        ErrorSample::new("dtype", ErrorKind::Dtype, "fftfreq: expected a floating dtype, got i64", move || {
            call(4, 1.0, DType::I64)
        }),
        ErrorSample::new("distance", ErrorKind::Value, "expected a distance of numbers that is not 0", move || {
            call(4, 0.0, DType::F64)
        }),
    ]
}

pub(super) fn fftfreq_errors() -> Vec<ErrorSample> {
    frequency_errors(super::fftfreq)
}

pub(super) fn rfftfreq_errors() -> Vec<ErrorSample> {
    frequency_errors(super::rfftfreq)
}
