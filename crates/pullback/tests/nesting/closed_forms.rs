//! Derivatives to order 4 in every mix of modes, with `vmap` at every place, against closed forms.

use pullback::{Function, Result, Tensor, grad, jvp};

use super::functions::{Cube, OpaqueSin, SquareBackward, SquareBoth, SquareJvp};
use super::modes::Mode::{Lanes, Unmapped};
use super::modes::{Scalar, apply, check, inserted, mixes, number};

/// Checks `f` and its derivatives to order 4 at `x`, whose values are `want`.
#[track_caller]
fn all_orders(f: &Scalar<'_>, x: f64, want: [f64; 5]) {
    for (order, want) in want.into_iter().enumerate() {
        for modes in mixes(order) {
            check(f, &modes, x, want);
            for kind in [Lanes, Unmapped] {
                for once in inserted(&modes, kind) {
                    check(f, &once, x, want);
                    if order <= 2 {
                        inserted(&once, Lanes).iter().for_each(|twice| check(f, twice, x, want));
                    }
                }
            }
        }
    }
}

/// `sin(x)·exp(−x²) + tanh(x)`.
fn wave(x: &Tensor) -> Result<Tensor> {
    x.sin()?.mul(x.mul(x)?.neg()?.exp()?)?.add(x.tanh()?)
}

#[test]
fn smooth_function() {
    let values = [0.999_032_535_919_414_1, 0.550_771_438_975_525_8, -2.489_658_690_931_667_5];
    all_orders(&wave, 0.7, [values[0], values[1], values[2], 3.486_618_127_464_054, 13.458_682_159_097_312]);
}

const FOURTH_POWER: [f64; 5] = [81.0, 108.0, 108.0, 72.0, 24.0];

#[test]
fn fourth_power_with_only_backward() {
    all_orders(&|x| SquareBackward.apply(&SquareBackward.apply(x)?), 3.0, FOURTH_POWER);
}

#[test]
fn fourth_power_with_only_jvp() {
    all_orders(&|x| SquareJvp.apply(&SquareJvp.apply(x)?), 3.0, FOURTH_POWER);
}

#[test]
fn fourth_power_with_both_rules() {
    all_orders(&|x| SquareBoth.apply(&SquareBoth.apply(x)?), 3.0, FOURTH_POWER);
}

#[test]
fn fourth_power_with_a_rule_of_each_kind() {
    all_orders(&|x| SquareBackward.apply(&SquareJvp.apply(x)?), 3.0, FOURTH_POWER);
    all_orders(&|x| SquareJvp.apply(&SquareBoth.apply(x)?), 3.0, FOURTH_POWER);
}

/// C02: Cube at 3 gives 27, 27, 18, 6, 0.
#[test]
fn cube_with_backward() {
    all_orders(&|x| Cube.apply(x), 3.0, [27.0, 27.0, 18.0, 6.0, 0.0]);
}

#[test]
fn code_outside_the_library_whose_rule_calls_a_function() {
    let (s, c) = (0.9f64.sin(), 0.9f64.cos());
    all_orders(&|x| OpaqueSin.apply(x), 0.9, [s, c, -s, -c, s]);
}

#[test]
fn polynomial() {
    let p = |x: &Tensor| {
        let cube = x.mul(x)?.mul(x)?;
        cube.mul(x)?.mul(x)?.mul(2)?.sub(cube.mul(3)?)?.add(x)
    };
    all_orders(&p, 1.3, [2.13486, 14.351, 64.48, 184.8, 312.0]);
}

/// `x · d/dy (x·y³ + y)` at `y = x`, which is `3x⁴ + x`: the inner function closes over a value of the outer one.
#[test]
fn closures_over_outer_values() {
    let inner = |x: &Tensor, y: &Tensor| x.mul(y)?.mul(y)?.mul(y)?.add(y);
    let forward = |x: &Tensor| x.mul(jvp(|y: &Tensor| inner(x, y), x, &Tensor::from(1.0))?.1);
    let reverse = |x: &Tensor| x.mul(grad(|y: &Tensor| inner(x, y))(x)?);
    let want = [50.0, 97.0, 144.0, 144.0, 72.0];
    all_orders(&forward, 2.0, want);
    all_orders(&reverse, 2.0, want);
}

/// The derivatives of a function of two variables, one by each transform: `∂²/∂x∂y (x²y³) = 6xy²`.
#[test]
fn mixed_partials_through_closures() {
    let f = |x: &Tensor, y: &Tensor| x.mul(x)?.mul(y)?.mul(y)?.mul(y);
    for outer in mixes(1) {
        for inner in mixes(1) {
            let by_y = |x: &Tensor| apply(&|y: &Tensor| f(x, y), &inner, &Tensor::from(2.0));
            let got = number(&apply(&by_y, &outer, &Tensor::from(5.0)).unwrap());
            assert_eq!(got, 120.0, "{outer:?} over {inner:?}");
        }
    }
}
