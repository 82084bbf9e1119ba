//! What a reduction does with two elements, and the arithmetic of elements behind it.

use crate::dtype::Element;

/// Arithmetic that wraps for integers.
pub(crate) trait Number: Element {
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
}

/// The type in which elements are summed and multiplied.
pub(crate) trait Widen: Element {
    type Wide: Number;
    fn widen(self) -> Self::Wide;
}

/// The ends of the order of a type.
pub(crate) trait Bounds: Element + PartialOrd {
    const LOWEST: Self;
    const HIGHEST: Self;
    /// NaN, for types that have it.
    const UNORDERED: Self = Self::ZERO;
}

macro_rules! integers {
    ($($t:ty),*) => { $(
        impl Number for $t {
            #[inline(always)]
            fn plus(self, other: $t) -> $t { self.wrapping_add(other) }
            #[inline(always)]
            fn times(self, other: $t) -> $t { self.wrapping_mul(other) }
        }
        impl Bounds for $t {
            const LOWEST: $t = <$t>::MIN;
            const HIGHEST: $t = <$t>::MAX;
        }
    )* };
}
integers!(u8, i32, i64);

macro_rules! floats {
    ($($t:ty),*) => { $(
        impl Number for $t {
            #[inline(always)]
            fn plus(self, other: $t) -> $t { self + other }
            #[inline(always)]
            fn times(self, other: $t) -> $t { self * other }
        }
        impl Bounds for $t {
            const LOWEST: $t = <$t>::NEG_INFINITY;
            const HIGHEST: $t = <$t>::INFINITY;
            const UNORDERED: $t = <$t>::NAN;
        }
    )* };
}
floats!(f32, f64);

impl Bounds for bool {
    const LOWEST: bool = false;
    const HIGHEST: bool = true;
}

macro_rules! widen {
    ($($t:ty => $wide:ty),*) => { $(
        impl Widen for $t {
            type Wide = $wide;
            #[inline(always)]
            fn widen(self) -> $wide { self as $wide }
        }
    )* };
}
widen!(bool => i64, u8 => i64, i32 => i64, i64 => i64, f32 => f32, f64 => f64);

/// How elements of type `T` are joined to one; associative and commutative but for rounding.
pub(crate) trait Monoid<T>: 'static {
    type Acc: Element;
    /// The result of joining nothing.
    const EMPTY: Self::Acc;
    fn lift(x: T) -> Self::Acc;
    fn join(a: Self::Acc, b: Self::Acc) -> Self::Acc;

    /// Whether there is anything for which [`is_last`](Monoid::is_last) holds.
    const HAS_LAST: bool = false;

    /// What [`is_last`](Monoid::is_last) holds for, if for anything.
    const LAST: Self::Acc = Self::EMPTY;

    /// Whether the join of this with anything is this.
    #[inline(always)]
    fn is_last(_: Self::Acc) -> bool {
        false
    }

    /// [`join`](Monoid::join) of two neither of which is the last.
    #[inline(always)]
    fn join_simply(a: Self::Acc, b: Self::Acc) -> Self::Acc {
        Self::join(a, b)
    }
}

pub(crate) struct Sum;
/// The sum of squares.
pub(crate) struct Squares;
pub(crate) struct Prod;
pub(crate) struct Max;
pub(crate) struct Min;
pub(crate) struct Any;
pub(crate) struct All;

impl<T: Widen> Monoid<T> for Sum {
    type Acc = T::Wide;
    const EMPTY: T::Wide = T::Wide::ZERO;
    #[inline(always)]
    fn lift(x: T) -> T::Wide {
        x.widen()
    }
    #[inline(always)]
    fn join(a: T::Wide, b: T::Wide) -> T::Wide {
        a.plus(b)
    }
}

impl<T: Widen> Monoid<T> for Squares {
    type Acc = T::Wide;
    const EMPTY: T::Wide = T::Wide::ZERO;
    #[inline(always)]
    fn lift(x: T) -> T::Wide {
        x.widen().times(x.widen())
    }
    #[inline(always)]
    fn join(a: T::Wide, b: T::Wide) -> T::Wide {
        a.plus(b)
    }
}

impl<T: Widen> Monoid<T> for Prod {
    type Acc = T::Wide;
    const EMPTY: T::Wide = T::Wide::ONE;
    #[inline(always)]
    fn lift(x: T) -> T::Wide {
        x.widen()
    }
    #[inline(always)]
    fn join(a: T::Wide, b: T::Wide) -> T::Wide {
        a.times(b)
    }
}

/// True for NaN, without a bound on the type.
#[inline(always)]
#[allow(clippy::eq_op)]
pub(crate) fn is_nan<T: PartialEq>(x: T) -> bool {
    x != x
}

impl<T: Bounds> Monoid<T> for Max {
    type Acc = T;
    const EMPTY: T = T::LOWEST;
    const HAS_LAST: bool = true;
    const LAST: T = T::UNORDERED;
    #[inline(always)]
    fn lift(x: T) -> T {
        x
    }
    // A comparison with NaN is false, so a NaN in `b` is taken and one in `a` needs the second test.
    #[inline(always)]
    fn join(a: T, b: T) -> T {
        if a > b || is_nan(a) { a } else { b }
    }
    #[inline(always)]
    fn is_last(a: T) -> bool {
        is_nan(a)
    }
    #[inline(always)]
    fn join_simply(a: T, b: T) -> T {
        if a > b { a } else { b }
    }
}

impl<T: Bounds> Monoid<T> for Min {
    type Acc = T;
    const EMPTY: T = T::HIGHEST;
    const HAS_LAST: bool = true;
    const LAST: T = T::UNORDERED;
    #[inline(always)]
    fn lift(x: T) -> T {
        x
    }
    #[inline(always)]
    fn join(a: T, b: T) -> T {
        if a < b || is_nan(a) { a } else { b }
    }
    #[inline(always)]
    fn is_last(a: T) -> bool {
        is_nan(a)
    }
    #[inline(always)]
    fn join_simply(a: T, b: T) -> T {
        if a < b { a } else { b }
    }
}

impl<T: Element> Monoid<T> for Any {
    type Acc = bool;
    const EMPTY: bool = false;
    #[inline(always)]
    fn lift(x: T) -> bool {
        x != T::ZERO
    }
    #[inline(always)]
    fn join(a: bool, b: bool) -> bool {
        a | b
    }
}

impl<T: Element> Monoid<T> for All {
    type Acc = bool;
    const EMPTY: bool = true;
    #[inline(always)]
    fn lift(x: T) -> bool {
        x != T::ZERO
    }
    #[inline(always)]
    fn join(a: bool, b: bool) -> bool {
        a & b
    }
}
