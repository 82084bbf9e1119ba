//! Random numbers in a graph are drawn in each call.

use std::sync::Arc;

use pullback::graph::{Cached, Capture};
use pullback::random::{Generator, Key};
use pullback::{
    Context, Cotangent, DType, ErrorKind, Function, Randomness, Result, Static, Tensor, Vmap, capture, custom, grad,
    vmap,
};

use super::{close, refused, value, values};

#[test]
fn c147_a_generator_goes_on_drawing() -> Result<()> {
    let x = Tensor::from([1.0, 2.0]);
    let (captured, eager) = (Generator::new(7), Generator::new(7));
    let f = |g: &Generator, x: &Tensor| x.add(g.uniform(&[2], DType::F64)?);
    let graph = capture(|x: &Tensor| f(&captured, x))(&x)?;
    f(&eager, &x)?; // the run that was captured
    let mut seen = Vec::new();
    for _ in 0..3 {
        let got = values(&graph.call(&x)?);
        assert_eq!(got, values(&f(&eager, &x)?));
        seen.push(got);
    }
    assert!(seen[0] != seen[1] && seen[1] != seen[2] && seen[0] != seen[2]);
    // Eager draws and those of graphs take turns.
    captured.uniform(&[2], DType::F64)?;
    eager.uniform(&[2], DType::F64)?;
    assert_eq!(values(&graph.call(&x)?), values(&f(&eager, &x)?));
    // Looking at the graph draws nothing.
    graph.verify()?;
    assert_eq!(values(&graph.call(&x)?), values(&f(&eager, &x)?));
    Ok(())
}

#[test]
fn c147_on_another_thread_it_is_the_same_generator() -> Result<()> {
    let (generator, eager) = (Generator::new(7), Generator::new(7));
    let x = Tensor::from([1.0, 2.0]);
    let graph = std::thread::scope(|s| {
        s.spawn(|| capture(|x: &Tensor| x.add(generator.normal(&[2], DType::F64)?))(&x)).join().expect("no panic")
    })?;
    drop(generator);
    eager.normal(&[2], DType::F64)?;
    assert_eq!(values(&graph.call(&x)?), values(&x.add(eager.normal(&[2], DType::F64)?)?));
    Ok(())
}

#[test]
fn c147_a_key_gives_the_same_numbers_and_is_a_part_of_the_signature() -> Result<()> {
    let x = Tensor::from([1.0, 2.0]);
    let f = |(x, key): &(Tensor, Static<Key>)| x.add(key.0.uniform(&[2], DType::F64)?);
    let with = |seed| (x.clone(), Static(Key::new(seed)));
    let graph = capture(f)(&with(1))?;
    for _ in 0..3 {
        assert_eq!(values(&graph.call(&with(1))?), values(&f(&with(1))?));
    }
    let e = refused(graph.call(&with(2)));
    assert_eq!(e.kind(), ErrorKind::Value);
    // The cache captures again: new key, new numbers.
    let cached = Cached::new(f);
    for seed in [1, 2, 1, 2] {
        assert_eq!(values(&cached.call(&with(seed))?), values(&f(&with(seed))?));
    }
    assert_eq!(cached.traces(), 2);
    Ok(())
}

#[test]
fn c147_a_key_from_a_generator_is_refused() {
    let generator = Generator::new(7);
    let f = |x: &Tensor| x.add(generator.next_key().uniform(&[2], DType::F64)?);
    let e = refused(capture(f)(&Tensor::from([1.0, 2.0])));
    assert_eq!(e.kind(), ErrorKind::Randomness);
    assert!(e.to_string().starts_with("capture: the function takes a key from a `Generator`"), "{e}");
}

#[test]
fn every_kind_of_draw_is_an_operation() -> Result<()> {
    let (a, b) = (Generator::new(3), Generator::new(3));
    let f = |g: &Generator, x: &Tensor| {
        Ok((
            g.uniform(&[2], DType::F32)?,
            g.normal(&[1, 2], DType::F64)?,
            g.randint(1, 7, &[3], DType::I64)?,
            g.bernoulli(0.5, &[4])?,
            g.permutation(5)?,
            g.dropout(x, 0.5)?,
        ))
    };
    let x = Tensor::from([1.0; 8]);
    let graph = capture(|x: &Tensor| f(&a, x))(&x)?;
    let draws = ["uniform", "normal", "randint", "bernoulli", "permutation", "dropout", "mul", "where_"];
    assert!(graph.operations().eq(draws), "{graph}");
    f(&b, &x)?;
    for _ in 0..3 {
        pullback::testing::assert_close(&graph.call(&x)?, &f(&b, &x)?, 0.0);
    }
    graph.verify()?;
    // The operation has the parameters of the call.
    assert!(graph.to_string().contains("= randint[low: 1, high: 7, from: generator 0x3]"), "{graph}");
    assert!(
        capture(|_: &Tensor| Key::new(1).bernoulli(0.25, &[4]))(&x)?.to_string().contains("[p: 0.25, from: key 0x1.0]")
    );
    Ok(())
}

#[test]
fn draws_that_nobody_reads_still_move_the_generator() -> Result<()> {
    let (a, b) = (Generator::new(3), Generator::new(3));
    let f = |g: &Generator, x: &Tensor| {
        let _ = g.uniform(&[2], DType::F64)?;
        let _ = Key::new(1).uniform(&[2], DType::F64)?;
        x.add(g.uniform(&[2], DType::F64)?)
    };
    let x = Tensor::from([1.0, 2.0]);
    let graph = capture(|x: &Tensor| f(&a, x))(&x)?;
    assert!(graph.operations().eq(["uniform", "uniform", "add"]), "{graph}");
    f(&b, &x)?;
    assert_eq!(values(&graph.call(&x)?), values(&f(&b, &x)?));
    Ok(())
}

#[test]
fn lanes_are_asked_when_the_graph_runs() -> Result<()> {
    let rows = Tensor::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    let key = Key::new(5);
    let f = |x: &Tensor| x.add(key.uniform(&[2], DType::F64)?);
    let graph = capture(f)(&rows.select(0, 0)?)?;
    for policy in [Randomness::Same, Randomness::Different] {
        let map = Vmap::new().randomness(policy);
        let want = map.of(f)(&rows)?;
        // The graph in vmap, vmap in the graph, and capture in vmap.
        assert_eq!(values(&map.of(|x: &Tensor| graph.call(x))(&rows)?), values(&want));
        assert_eq!(values(&capture(map.of(f))(&rows)?.call(&rows)?), values(&want));
        assert_eq!(values(&map.of(|x: &Tensor| capture(f)(x)?.call(x))(&rows)?), values(&want));
        // Between two vmaps.
        let cube = pullback::stack(&[&rows, &rows], 0)?;
        let want = map.of(map.of(f))(&cube)?;
        let between = map.of(|rows: &Tensor| capture(map.of(f))(rows)?.call(rows));
        assert_eq!(values(&between(&cube)?), values(&want));
        assert_eq!(values(&capture(map.of(map.of(f)))(&cube)?.call(&cube)?), values(&want));
    }
    // In parts: the same numbers as at once.
    for chunk in [1, 2] {
        let map = Vmap::new().randomness(Randomness::Different);
        let want = map.of(f)(&rows)?;
        let parts = map.chunk_size(chunk);
        assert_eq!(values(&capture(parts.of(f))(&rows)?.call(&rows)?), values(&want));
        assert_eq!(values(&parts.of(|x: &Tensor| graph.call(x))(&rows)?), values(&want));
        assert_eq!(values(&parts.of(|x: &Tensor| capture(f)(x)?.call(x))(&rows)?), values(&want));
    }
    let e = refused(vmap(|x: &Tensor| graph.call(x))(&rows));
    assert_eq!(e.kind(), ErrorKind::Randomness);
    refused(vmap(|x: &Tensor| capture(f)(x)?.call(x))(&rows));
    refused(capture(vmap(f))(&rows));
    Ok(())
}

#[test]
fn draws_in_nested_graphs_and_derivatives() -> Result<()> {
    let (a, b) = (Generator::new(3), Generator::new(3));
    let f = |g: &Generator, x: &Tensor| x.mul(g.normal(&[], DType::F64)?)?.sin();
    let x = Tensor::from(0.7);
    // Capture in capture: one draw, which both write down.
    let graph = capture(|x: &Tensor| capture(|x: &Tensor| f(&a, x))(x)?.call(x))(&x)?;
    // The inner capture draws once, and its replay once more; the first draw is unused.
    assert_eq!(graph.operations().filter(|name| *name == "normal").count(), 2);
    f(&b, &x)?;
    f(&b, &x)?;
    f(&b, &x)?;
    close(&[value(&graph.call(&x)?)], &[value(&f(&b, &x)?)]);
    let slope = capture(grad(|x: &Tensor| f(&a, x)))(&x)?;
    grad(|x: &Tensor| f(&b, x))(&x)?;
    close(&[value(&slope.call(&x)?)], &[value(&grad(|x: &Tensor| f(&b, x))(&x)?)]);
    let by_graph = capture(|x: &Tensor| f(&a, x))(&x)?;
    f(&b, &x)?;
    close(&[value(&grad(|x: &Tensor| by_graph.call(x))(&x)?)], &[value(&grad(|x: &Tensor| f(&b, x))(&x)?)]);
    // A draw makes no graph open: it is no tensor from outside.
    Capture::new().closed(true).of(|x: &Tensor| f(&a, x))(&x)?;
    Ok(())
}

static SHARED: Generator = Generator::new(11);

#[test]
fn generators_may_be_statics() -> Result<()> {
    let graph = capture(|x: &Tensor| x.add(SHARED.uniform(&[], DType::F64)?))(&Tensor::from(0.0))?;
    let (a, b) = (value(&graph.call(&Tensor::from(0.0))?), value(&graph.call(&Tensor::from(0.0))?));
    assert_ne!(a, b);
    Ok(())
}

/// Adds noise in its `forward`.
#[derive(Clone)]
struct Noisy {
    generator: Arc<Generator>,
}

impl Function for Noisy {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = ();

    fn name(&self) -> &str {
        "Noisy"
    }
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.add(self.generator.uniform(x.shape(), DType::F64)?)
    }
    fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
        Ok(())
    }
    fn backward(&self, _: &Context<Self>, (): &(), g: Cotangent) -> Result<Cotangent> {
        Ok(g)
    }
}

#[test]
fn draws_in_users_functions_are_made_by_them() -> Result<()> {
    let noisy = || Noisy { generator: Arc::new(Generator::new(4)) };
    let (captured, eager) = (noisy(), noisy());
    let x = Tensor::from([1.0, 2.0]);
    let graph = capture(|x: &Tensor| captured.apply(x))(&x)?;
    assert!(graph.operations().eq(["Noisy"]));
    eager.apply(&x)?;
    for _ in 0..3 {
        assert_eq!(values(&graph.call(&x)?), values(&eager.apply(&x)?));
    }
    Ok(())
}

#[test]
fn a_draw_for_lanes_below_a_graph_is_an_error() {
    // Its `forward` returns what it draws, which has lanes although its input has none.
    let drawn = custom(|x: &Tensor| Key::new(1).uniform(x.shape(), DType::F64))
        .name("Drawn")
        .saving(|_, _| Ok(()), |(): &(), g: Cotangent| Ok(g))
        .backward_is_linear()
        .into_fn();
    let rows = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    let shared = |w: &Tensor| Vmap::new().randomness(Randomness::Different).of(|x: &Tensor| drawn(w)?.mul(x))(&rows);
    let e = refused(capture(shared)(&Tensor::from([1.0, 2.0])));
    assert_eq!(e.kind(), ErrorKind::Randomness);
    assert!(e.to_string().contains("`Drawn` draws random numbers for a `vmap` (level "), "{e}");
}

#[test]
fn a_rule_may_draw_while_a_graph_is_captured() -> Result<()> {
    // The draw is a variable of the graph, which none of the arguments of the rule depends on.
    let noise = custom(|x: &Tensor| Ok(x.clone()))
        .vjp(
            |x: &Tensor| Ok((x.clone(), ())),
            |(): &(), g: Cotangent| g.map(|g| g.add(Key::new(1).uniform(g.shape(), DType::F64)?)),
        )
        .into_fn();
    let at = Tensor::from([5.0, 6.0]);
    let f = |x: &Tensor| x.mul(&grad(|y: &Tensor| noise(y)?.sum())(&at)?);
    let (x, y) = (Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0]));
    close(&values(&capture(f)(&x)?.call(&y)?), &values(&f(&y)?));
    Ok(())
}
