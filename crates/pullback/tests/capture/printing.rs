//! Graphs as text.

use pullback::{Context, Cotangent, DType, Function, Result, Tensor, Vmap, capture, cat, einsum, grad, s, vmap};

/// A function of two tensors with two results.
#[derive(Clone)]
struct SumAndProduct;

impl Function for SumAndProduct {
    type Inputs = (Tensor, Tensor);
    type Outputs = (Tensor, Tensor);
    type Saved = (Tensor, Tensor);

    fn name(&self) -> &str {
        "SumAndProduct"
    }
    fn forward(&self, (x, y): &(Tensor, Tensor)) -> Result<(Tensor, Tensor)> {
        Ok((x.add(y)?, x.mul(y)?))
    }
    fn setup_context(
        &self,
        _: &mut Context<Self>,
        x: &(Tensor, Tensor),
        _: &(Tensor, Tensor),
    ) -> Result<(Tensor, Tensor)> {
        Ok(x.clone())
    }
    fn backward(
        &self,
        _: &Context<Self>,
        (x, y): &(Tensor, Tensor),
        (g, h): (Cotangent, Cotangent),
    ) -> Result<(Cotangent, Cotangent)> {
        Ok((g.clone() + h.clone() * y, g + h * x))
    }
}

#[test]
fn functions_and_their_results() -> Result<()> {
    let scale = Tensor::from([2.0f32, 3.0]);
    let f = |(x, y): &(Tensor, Tensor)| {
        let (sum, product) = SumAndProduct.apply(&(x.mul(&scale)?, y.clone()))?;
        Ok((sum, product.mul(0.5)?, y.clone()))
    };
    let x = (Tensor::from([1.0f32, 2.0]), Tensor::from(3.0f32));
    assert_eq!(
        capture(f)(&x)?.to_string(),
        "\
graph(a: f32[2], b: f32[]) captured(A: f32[2]) {
    c: f32[2] = mul a A
    (d: f32[2], e: f32[2]) = SumAndProduct(c, b)
    f: f32[2] = mul e 0.5
    return (d, f, b)
}"
    );
    let loss = |x: &(Tensor, Tensor)| SumAndProduct.apply(x)?.1.sum();
    let graph = capture(grad(loss))(&(x.0.clone(), x.0.clone()))?;
    assert_eq!(
        graph.to_string(),
        "\
graph(a: f32[2], b: f32[2]) {
    c: f32[2] = mul full(1.0) b
    d: f32[2] = mul full(1.0) a
    return (c, d)
}"
    );
    assert_eq!(format!("{graph:?}"), graph.to_string());
    // Lanes by the generated rule.
    let graph = capture(vmap(|x: &(Tensor, Tensor)| SumAndProduct.apply(x)))(&(x.0.clone(), x.0.clone()))?;
    assert_eq!(
        graph.to_string(),
        "\
graph(a: f32[2], b: f32[2]) {
    (c: f32[2], d: f32[2]) = SumAndProduct[lanes: 2, in_dims: [0, 0]](a, b)
    return (c, d)
}"
    );
    let shared = Vmap::new().in_dims((0, None)).of(|x: &(Tensor, Tensor)| SumAndProduct.apply(x));
    let text = capture(shared)(&x)?.to_string();
    assert!(text.contains("SumAndProduct[lanes: 2, in_dims: [0, -]](a, b)"), "{text}");
    Ok(())
}

/// The right sides of the lines.
fn lines(f: impl Fn(&Tensor) -> Result<Vec<Tensor>>) -> Vec<String> {
    let x = Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let text = capture(f)(&x).expect("a graph").to_string();
    text.lines().filter_map(|line| line.split_once(" = ").map(|(_, right)| right.to_string())).collect()
}

#[test]
fn parameters_of_operations() {
    let found = lines(|x| {
        Ok(vec![
            x.sum_dims(&[-1], true)?,
            x.max_dims(&[1], false)?,
            x.reshape(&[3, 2])?,
            x.permute(&[1, 0])?,
            x.flip(&[1])?,
            x.roll(&[1], &[0])?,
            x.expand(&[4, 2, 3])?,
            x.powi(3)?,
            x.powf(1.5)?,
            x.clamp(Some(-1.0), None)?,
            x.to_dtype(DType::F32)?,
            x.softmax(1)?,
            x.cumsum(0)?,
            x.i((1, ..2))?,
            x.i((.., s(0, 3, 2)))?,
            cat(&[x, x], 1)?,
            x.tril(1)?,
            x.matmul(&x.t()?)?,
            einsum("ij,kj->ik", &[x, x])?,
        ])
    });
    let want = [
        "sum[dims: [1], keepdim: true] a",
        "max[dims: [1], keepdim: false] a",
        "reshape[3, 2] a",
        "permute[1, 0] a",
        "flip[1] a",
        "roll[dim: 0, shift: 1] a",
        "reshape[1, 2, 3] a",
        "expand[4, 2, 3] h",
        "powi[3] a",
        "powf[1.5] a",
        "clamp[min: -1.0, max: inf] a",
        "to_dtype[f32] a",
        "softmax[dim: 1] a",
        "cumsum[dim: 0, reverse: false] a",
        "i[1, 0:2] a",
        "i[0:2, 0:4:2] a",
        "cat[dim: 1] a a",
        "triangle[diagonal: 1, upper: false] a",
        "permute[1, 0] a",
        "matmul[ab,bc->ac] a t",
        "einsum[ab,cb->ac] a a",
    ];
    assert_eq!(found, want);
}

#[test]
fn numbers_are_those_of_the_code() {
    let found = lines(|x| {
        Ok(vec![
            x.mul(0.1)?,
            x.mul(f64::NAN)?,
            x.mul(-1e300)?,
            x.to_dtype(DType::F32)?.mul(0.1f32)?,
            x.to_dtype(DType::I64)?.add(7)?,
            x.gt(0.0)?.logical_and(true)?,
            x.add(Tensor::zeros(&[3], DType::F64)?)?,
        ])
    });
    let want = [
        "mul a 0.1",
        "mul a NaN",
        "mul a -1e300",
        "to_dtype[f32] a",
        "mul e 0.1",
        "to_dtype[i64] a",
        "add g 7",
        "gt a 0.0",
        "mul i true",
        "add a full(0.0)",
    ];
    assert_eq!(found, want);
}

#[test]
fn trees_are_flattened_in_order() -> Result<()> {
    let f = |(xs, y): &(Vec<Tensor>, Option<Tensor>)| {
        Ok([xs[1].clone(), xs[0].clone(), y.clone().unwrap_or(xs[0].clone())])
    };
    let graph = capture(f)(&(vec![Tensor::from(1.0), Tensor::from(2i64)], Some(Tensor::from(true))))?;
    assert_eq!(graph.to_string(), "graph(a: f64[], b: i64[], c: bool[]) {\n    return (b, a, c)\n}");
    assert_eq!(graph.argument_types().len(), 3);
    assert_eq!(graph.result_types()[0].to_string(), "i64[]");
    let nothing = capture(|(): &()| Ok(()))(&())?;
    assert_eq!(nothing.to_string(), "graph() {\n    return ()\n}");
    nothing.verify()?;
    nothing.call(&())?;
    Ok(())
}
