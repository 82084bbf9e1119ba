//! Methods that rebind a handle: they never change a value that somebody else holds, and differentiate and map like
//! their functional forms.

use pullback::*;

use crate::{every_nesting, gradient, is, noise, ones, second, value, values, zeros};

/// Checks that two ways to write a function agree in everything.
#[track_caller]
fn agree(f: impl Fn(&Tensor) -> Result<Tensor>, g: impl Fn(&Tensor) -> Result<Tensor>, x: &Tensor) {
    let before = values(x);
    let y = g(x).unwrap();
    is(&f(x).unwrap(), y.shape(), &values(&y));
    is(&jacrev(&f)(x).unwrap(), &[y.shape(), x.shape()].concat(), &values(&jacrev(&g)(x).unwrap()));
    is(&jacfwd(&f)(x).unwrap(), &[y.shape(), x.shape()].concat(), &values(&jacrev(&g)(x).unwrap()));
    let (f, g) = (|x: &Tensor| f(x)?.square()?.sum(), |x: &Tensor| g(x)?.square()?.sum());
    gradient(f, x, &values(&grad(g)(x).unwrap()));
    second(f, x, &values(&jacrev(jacrev(g))(x).unwrap()));
    assert_eq!(values(x), before, "the argument changed");
}

#[test]
fn c36_a_function_that_computes_in_place_is_pure_outside() {
    /// Twice the first input plus the second, written in place.
    #[derive(Clone)]
    struct Double;
    impl Function for Double {
        type Inputs = (Tensor, Tensor);
        type Outputs = Tensor;
        type Saved = ();
        fn forward(&self, (x, y): &(Tensor, Tensor)) -> Result<Tensor> {
            let mut out = x.clone();
            out.mul_(2.0)?.add_(y)?;
            Ok(out)
        }
        fn setup_context(&self, _: &mut Context<Self>, _: &(Tensor, Tensor), _: &Tensor) -> Result<()> {
            Ok(())
        }
        fn backward(&self, _: &Context<Self>, _: &(), g: Cotangent) -> Result<(Cotangent, Cotangent)> {
            Ok((&g * 2.0, g))
        }
    }
    let x = Tensor::from([1.0, 2.0]);
    let f = |x: &Tensor| Double.apply(&(x.clone(), zeros(&[2])));
    is(&f(&x).unwrap(), &[2], &[2.0, 4.0]);
    is(&x, &[2], &[1.0, 2.0]);
    gradient(|x| f(x)?.sum(), &x, &[2.0, 2.0]);
    // The target is the same for all lanes, the operand is not.
    let lanes = Vmap::new().in_dims((None, 0)).of(|a: &(Tensor, Tensor)| Double.apply(a));
    let y = Tensor::from([[0.0, 0.0], [10.0, 20.0]]);
    is(&lanes(&(x.clone(), y.clone())).unwrap(), &[2, 2], &[2.0, 4.0, 12.0, 24.0]);
    let (dx, dy) = grad(|a: &(Tensor, Tensor)| lanes(a)?.sum())(&(x, y)).unwrap();
    is(&dx, &[2], &[4.0, 4.0]);
    is(&dy, &[2, 2], &[1.0; 4]);
}

#[test]
fn c111_changing_the_argument_in_place_rebinds_a_handle() {
    // The derivative is that at the value given, not at the one overwritten.
    let squared = |x: &Tensor| {
        let mut y = x.clone();
        y.mul_(x)?.add_(1.0)?;
        y.sin()
    };
    let x: f64 = 1.2;
    every_nesting(squared, x, &[(x * x + 1.0).sin(), 2.0 * x * (x * x + 1.0).cos()]);
    let point = Tensor::from(x);
    let (_, pull) = vjp(squared, &point).unwrap();
    crate::close(&[value(&pull.call(&Tensor::from(1.0)).unwrap())], &[2.0 * x * (x * x + 1.0).cos()]);
    assert_eq!(value(&point), 1.2);
    // A buffer written in parts.
    let f = |v: &Tensor| {
        let mut buffer = Tensor::zeros(&[3], v.dtype())?;
        buffer.set_(0..2, v * 2.0)?.set_(2, v.i(0)?)?;
        Ok(buffer)
    };
    let want = [2.0, 0.0, 0.0, 2.0, 1.0, 0.0];
    let v = Tensor::from([1.0, 5.0]);
    is(&jacrev(f)(&v).unwrap(), &[3, 2], &want);
    is(&jacfwd(f)(&v).unwrap(), &[3, 2], &want);
    is(&vmap(jacfwd(f))(&ones(&[4, 2])).unwrap(), &[4, 3, 2], &want.repeat(4));
    is(&vmap(jacrev(f))(&ones(&[4, 2])).unwrap(), &[4, 3, 2], &want.repeat(4));
    // An argument changed after the pullback was made.
    let mut x = Tensor::from([1.0, 2.0]);
    let (y, pull) = vjp(|x: &Tensor| x.square(), &x).unwrap();
    x.set_(0, 100.0).unwrap().mul_(3.0).unwrap();
    is(&pull.call(&ones(&[2])).unwrap(), &[2], &[2.0, 4.0]);
    // And a result that the rule reads.
    let (mut y2, pull) = vjp(|x: &Tensor| x.exp(), &y).unwrap();
    y2.set_(.., 0.0).unwrap();
    is(&pull.call(&ones(&[2])).unwrap(), &[2], &[1f64.exp(), 4f64.exp()]);
}

#[test]
fn values_that_rules_read_are_never_overwritten() {
    let x = noise(&[3], 0.4);
    agree(
        |x| {
            let mut y = x.mul(2.0)?;
            let z = y.sin()?;
            y.set_(0, 5.0)?;
            y.add_(&z)?.mul_(x)?;
            Ok(y)
        },
        |x| {
            let y = x.mul(2.0)?;
            y.index_set(0, 5.0)?.add(&y.sin()?)?.mul(x)
        },
        &x,
    );
    // The result itself is what the rule of `exp` reads.
    agree(
        |x| {
            let mut y = x.exp()?;
            y.mul_(&y.clone())?.set_(1, x.i(0)?)?;
            Ok(y)
        },
        |x| x.exp()?.square()?.index_set(1, &x.i(0)?),
        &x,
    );
    // Division reads its operand and its result.
    agree(
        |x| {
            let mut y = ones(&[3]);
            y.div_(&x.add(3.0)?)?;
            let kept = y.clone();
            y.div_(&kept.add(1.0)?)?.sub_(&kept)?;
            Ok(y)
        },
        |x| {
            let y = x.add(3.0)?.reciprocal()?;
            y.div(&y.add(1.0)?)?.sub(&y)
        },
        &x,
    );
}

#[test]
fn views_and_repetitions_are_never_written_through() {
    let x = noise(&[2, 3], 0.1);
    // Each row of the repetition is its own after writing.
    agree(
        |x| {
            let mut y = x.i(0)?.expand(&[2, 3])?;
            y.set_((0, 1), 7.0)?.set_((1, 2), x.i((0, 0))?)?;
            Ok(y)
        },
        |x| x.i(0)?.expand(&[2, 3])?.index_set((0, 1), 7.0)?.index_set((1, 2), &x.i((0, 0))?),
        &x,
    );
    // A part taken before the whole is written keeps its value, and one shifted onto the other does not smear.
    agree(
        |x| {
            let mut y = x.mul(3.0)?;
            let row = y.i(0)?;
            let shifted = y.i((.., ..-1))?;
            y.set_(0, 0.0)?;
            y.set_((.., 1..), &shifted)?;
            y.mul(&row)
        },
        |x| {
            let y = x.mul(3.0)?;
            y.index_set(0, 0.0)?.index_set((.., 1..), &y.i((.., ..-1))?)?.mul(&y.i(0)?)
        },
        &x,
    );
    // Steps backwards and reversals.
    agree(
        |x| {
            let mut y = x.flip(&[1])?;
            y.set_((.., s(None, None, -2)), x.i((.., s(0, 2, 1)))?)?;
            let same = y.t()?.t()?;
            y.mul_(&same)?;
            Ok(y)
        },
        |x| x.flip(&[1])?.index_set((.., s(None, None, -2)), &x.i((.., 0..2))?)?.square(),
        &x,
    );
    let mut a = Tensor::from([1.0, 2.0]);
    let b = a.clone();
    let c = a.expand(&[2, 2]).unwrap();
    a.set_(0, 9.0).unwrap().add_(1.0).unwrap();
    assert_eq!((values(&a), values(&b), values(&c)), (vec![10.0, 3.0], vec![1.0, 2.0], vec![1.0, 2.0, 1.0, 2.0]));
}

#[test]
fn lanes_and_levels_meet_in_place() {
    let x = noise(&[2, 3], 0.9);
    // A shared buffer takes on lanes; the one outside stays what it was.
    let shared = ones(&[3]);
    let into_shared = |x: &Tensor| {
        let mut y = shared.clone();
        y.set_(1, x.i(0)?)?.mul_(x)?;
        Ok(y)
    };
    let functional = |x: &Tensor| ones(&[3]).index_set(1, &x.i(0)?)?.mul(x);
    for dims in [0, 1] {
        let x = if dims == 0 { x.clone() } else { x.t().unwrap() };
        let map = Vmap::new().in_dims(dims).out_dims(-1);
        agree(map.of(into_shared), map.of(functional), &x);
    }
    is(&shared, &[3], &[1.0; 3]);
    // A value with lanes takes a value without, at lanes that are not in front.
    let constant = Tensor::from([5.0, 6.0]);
    let map = Vmap::new().in_dims(1).out_dims(1);
    agree(
        map.of(|x: &Tensor| {
            let mut y = x.mul(x)?;
            y.set_(1.., &constant)?.sub_(&constant.i(0)?)?;
            Ok(y)
        }),
        map.of(|x: &Tensor| x.square()?.index_set(1.., &constant)?.sub(5.0)),
        &x.t().unwrap(),
    );
    // Buffers of one level written with values of another, in both directions.
    let outer = |x: &Tensor| {
        let inner = |z: &Tensor| {
            let mut from_outer = x.mul(2.0)?;
            from_outer.set_(0, z.square()?)?;
            let mut from_inner = z.expand(&[3])?.mul(1.0)?;
            from_inner.set_(2, x.i(1)?)?;
            from_outer.mul_(&from_inner)?;
            from_outer.sum()
        };
        let plain = grad(inner)(&x.i(2)?)?;
        let (_, pushed) = jvp(inner, &x.i(2)?, &ones(&[]))?;
        Ok((plain, pushed))
    };
    // The inner function is z³ + 2x₁z + 2x₂x₁, its derivative at z = x₂ is 3x₂² + 2x₁.
    let x = Tensor::from([0.5, 1.5, 2.0]);
    for part in [0, 1] {
        let f = |x: &Tensor| outer(x).map(|(a, b)| if part == 0 { a } else { b });
        gradient(f, &x, &[0.0, 2.0, 12.0]);
        second(f, &x, &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 6.0]);
    }
}

#[test]
fn what_cannot_be_done_in_place_is_an_error_and_changes_nothing() {
    let mut x = Tensor::from([1.0, 2.0]);
    assert!(x.add_(&ones(&[3])).unwrap_err().is_shape());
    assert!(x.add_(&ones(&[2, 2])).unwrap_err().is_shape());
    assert!(x.set_(0..2, &ones(&[3])).unwrap_err().is_shape());
    assert_eq!(x.set_(2, 1.0).unwrap_err().kind(), ErrorKind::Index);
    let mut k = Tensor::from([1i64, 2]);
    assert!(k.mul_(0.5).unwrap_err().is_dtype());
    assert!(k.div_(2).unwrap_err().is_dtype());
    assert!(k.set_(0, 0.5).unwrap_err().is_dtype());
    assert_eq!((values(&x), k.to_vec::<i64>().unwrap()), (vec![1.0, 2.0], vec![1, 2]));
    // The same under lanes: the shape is that of the lane.
    let err = vmap(|x: &Tensor| {
        let mut y = x.clone();
        y.add_(&ones(&[2, 3]))?;
        Ok(y)
    })(&ones(&[2, 3]))
    .unwrap_err();
    assert!(err.is_shape() && err.to_string().contains("f64[3]"), "{err}");
    // A lane that fails leaves the buffer outside alone.
    let outside = std::cell::RefCell::new(ones(&[3]));
    let f = |x: &Tensor| {
        let mut held = outside.borrow_mut();
        held.set_(0, x.i(0)?)?;
        x.sum()
    };
    vmap(f)(&ones(&[2, 3])).unwrap();
    let err = outside.borrow().sum().unwrap_err();
    assert!(err.is_escaped_tracer(), "{err}");
}
