use super::*;

/// All three arrays of a convolution, of whole numbers, of which sums are exact in either width.
struct Example {
    s: Sizes,
    x: Vec<f64>,
    w: Vec<f64>,
    y: Vec<f64>,
}

impl Example {
    fn new(s: Sizes) -> Example {
        let g = &s.geometry;
        let numbers = |n: usize, seed: usize| (0..n).map(|i| ((i * 7919 + seed * 31) % 7) as f64 - 3.0).collect();
        let outer = s.lanes * s.images * s.groups;
        Example {
            x: numbers(outer * s.inputs * g.volume(), 1),
            w: numbers(s.lanes * s.groups * s.outputs * s.inputs * g.taps(), 2),
            y: numbers(outer * s.outputs * g.positions(), 3),
            s,
        }
    }

    /// Calls `f` with the places of all elements that meet, in `x`, `w` and `y`: the definition.
    fn meetings(&self, mut f: impl FnMut(usize, usize, usize)) {
        let (s, g) = (&self.s, &self.s.geometry);
        let digits = |mut n: usize, sizes: [usize; 3]| {
            let mut digits = [0; 3];
            for d in (0..3).rev() {
                (digits[d], n) = (n % sizes[d], n / sizes[d]);
            }
            digits
        };
        for outer in 0..s.lanes * s.images * s.groups {
            let filter = outer / s.groups / s.images * s.groups + outer % s.groups;
            for (o, c) in (0..s.outputs).flat_map(|o| (0..s.inputs).map(move |c| (o, c))) {
                for (position, k) in (0..g.positions()).flat_map(|p| (0..g.taps()).map(move |k| (p, k))) {
                    let (at, tap) = (digits(position, g.output), digits(k, g.kernel));
                    let place = |d: usize| {
                        let place = (at[d] * g.stride[d] + tap[d] * g.dilation[d]).checked_sub(g.padding[d])?;
                        (place < g.input[d]).then_some(place)
                    };
                    if let (Some(z), Some(y), Some(x)) = (place(0), place(1), place(2)) {
                        f(
                            (outer * s.inputs + c) * g.volume() + (z * g.input[1] + y) * g.input[2] + x,
                            ((filter * s.outputs + o) * s.inputs + c) * g.taps() + k,
                            (outer * s.outputs + o) * g.positions() + position,
                        );
                    }
                }
            }
        }
    }

    /// Every role against the definition, by `convolve` and by each way that there is.
    fn check<T: Real>(&self) {
        let s = &self.s;
        let convert = |v: &[f64]| v.iter().map(|&v| T::from_f64(v)).collect::<Vec<T>>();
        let [mut x, mut w, mut y] = [vec![0.0; self.x.len()], vec![0.0; self.w.len()], vec![0.0; self.y.len()]];
        self.meetings(|i, k, o| {
            x[i] += self.w[k] * self.y[o];
            w[k] += self.x[i] * self.y[o];
            y[o] += self.x[i] * self.w[k];
        });
        for (role, a, b, expected) in [
            (Role::Input, &self.w, &self.y, &x),
            (Role::Weight, &self.x, &self.y, &w),
            (Role::Output, &self.x, &self.w, &y),
        ] {
            let (a, b) = (Array::from_slice([a.len()], &convert(a)), Array::from_slice([b.len()], &convert(b)));
            let shape = Shape::from_slice(&[expected.len()]);
            let got = convolve(s, role, &a, &b, shape.clone()).unwrap();
            assert_eq!(got.as_slice::<T>().unwrap(), convert(expected), "{role:?} {s:?}");
            if s.inputs == 1 && s.outputs == 1 {
                continue;
            }
            // As if there were work for several threads.
            let depth = s.inputs * s.geometry.taps();
            let work = Work::<T> { s: *s, depth, a: In::of(&a), b: In::of(&b), nanos: 1_000_000 };
            for is_direct in [false, direct::suits::<T>(s, role)] {
                // SAFETY: the operands and the result have the sizes of the example.
                let got = unsafe {
                    output(shape.clone(), |c| match (role, is_direct) {
                        (Role::Weight, true) => work.weight_directly(c),
                        (_, true) => work.directly(role, c),
                        (Role::Input, false) => work.input(c),
                        (Role::Weight, false) => work.weight(c),
                        (Role::Output, false) => work.output(c),
                    })
                };
                assert_eq!(got.as_slice::<T>().unwrap(), convert(expected), "{is_direct} {role:?} {s:?}");
            }
        }
    }
}

/// A convolution of these sizes, if the kernel fits in the image.
fn sizes(
    input: [usize; 3],
    kernel: [usize; 3],
    [stride, padding, dilation]: [[usize; 3]; 3],
    [lanes, images, groups, inputs, outputs]: [usize; 5],
) -> Option<Sizes> {
    let mut output = [0; 3];
    for d in 0..3 {
        let reach = (kernel[d] - 1) * dilation[d] + 1;
        output[d] = (input[d] + 2 * padding[d]).checked_sub(reach)? / stride[d] + 1;
    }
    let geometry = Geometry { input, kernel, output, stride, padding, dilation };
    Some(Sizes { lanes, images, groups, inputs, outputs, geometry })
}

#[test]
fn every_way_agrees_with_the_definition() {
    let counts = [[1, 1, 1, 3, 5], [1, 2, 2, 8, 17], [2, 1, 1, 16, 8], [2, 3, 1, 5, 33], [1, 1, 3, 9, 4]];
    let settings = [
        [[1, 1, 1], [0, 0, 0], [1, 1, 1]],
        [[1, 1, 1], [0, 1, 2], [1, 1, 1]],
        [[1, 2, 2], [0, 0, 3], [1, 1, 1]],
        [[2, 3, 1], [1, 1, 0], [1, 1, 2]],
        [[1, 4, 3], [0, 2, 1], [1, 2, 1]],
        [[1, 2, 5], [0, 3, 2], [1, 3, 3]],
    ];
    let images = [
        ([1, 5, 6], [1, 3, 3]),
        ([1, 1, 9], [1, 1, 4]),
        ([1, 7, 4], [1, 2, 1]),
        ([3, 4, 5], [2, 3, 2]),
        ([1, 6, 6], [1, 1, 1]),
    ];
    let mut seen = 0;
    for (input, kernel) in images {
        for setting in settings {
            for count in counts {
                if let Some(s) = sizes(input, kernel, setting, count) {
                    let example = Example::new(s);
                    example.check::<f64>();
                    example.check::<f32>();
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 80, "{seen} of these fit");
}

#[test]
fn images_that_are_computed_in_several_blocks_agree_with_the_definition() {
    let plain = [[1, 1, 1], [0, 1, 1], [1, 1, 1]];
    for (input, kernel, setting, counts) in [
        ([1, 30, 70], [1, 3, 3], plain, [1, 1, 1, 16, 8]),
        ([1, 60, 40], [1, 3, 2], [[1, 2, 2], [0, 2, 0], [1, 1, 2]], [1, 1, 1, 17, 9]),
        ([1, 4, 5], [1, 2, 2], plain, [1, 1, 1, 140, 24]),
        ([1, 40, 40], [1, 2, 3], [[1, 1, 1], [0, 0, 0], [1, 1, 1]], [1, 2, 1, 4, 40]),
        ([1, 1, 3000], [1, 1, 5], [[1, 1, 2], [0, 0, 2], [1, 1, 1]], [1, 1, 1, 16, 24]),
        ([1, 2, 2500], [1, 1, 3], plain, [1, 1, 1, 20, 16]),
        // Taps that lie far apart.
        ([1, 6, 7], [1, 3, 3], [[1, 1, 1], [0, 90, 91], [1, 90, 91]], [1, 1, 1, 8, 8]),
    ] {
        let s = sizes(input, kernel, setting, counts).expect("the kernel fits");
        Example::new(s).check::<f64>();
    }
}
