//! Functions that between them use every feature of the contract; `database.rs` has their tests.
//!
//! "Opaque" functions compute on raw numbers, as a call of another library would, and so write their batching rule.

use pullback::function::rules;
use pullback::*;

/// Raw elementwise arithmetic.
fn raw(x: &Tensor, mut f: impl FnMut(f64) -> f64) -> Result<Tensor> {
    Tensor::from_slice(&x.to_vec::<f64>()?.into_iter().map(&mut f).collect::<Vec<_>>(), x.shape())
}

/// A tensor with its lanes in front; one that has none is repeated.
fn in_front(t: &Tensor, dim: Option<usize>, size: usize) -> Result<Tensor> {
    match dim {
        Some(dim) => t.movedim(&[dim as isize], &[0]),
        None => t.unsqueeze(0)?.expand(&[&[size], t.shape()].concat()),
    }
}

/// The dim that names, in a tensor with lanes in front, what `dim` names in a lane.
fn behind_lanes(dim: isize) -> isize {
    if dim < 0 { dim } else { dim + 1 }
}

/// `(x³, 3x²)` on raw numbers: the second output is an intermediate with a cotangent of its own.
#[derive(Clone)]
pub struct OpaqueCube;

impl Function for OpaqueCube {
    type Inputs = Tensor;
    type Outputs = (Tensor, Tensor);
    type Saved = (Tensor, Tensor);
    fn forward(&self, x: &Tensor) -> Result<(Tensor, Tensor)> {
        Ok((raw(x, |x| x * x * x)?, raw(x, |x| 3.0 * x * x)?))
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, y: &(Tensor, Tensor)) -> Result<(Tensor, Tensor)> {
        Ok((x.clone(), y.1.clone()))
    }
    fn backward(
        &self,
        _: &Context<Self>,
        (x, dx): &(Tensor, Tensor),
        (g, h): (Cotangent, Cotangent),
    ) -> Result<Cotangent> {
        // By another function, which makes the second derivative depend on its rules.
        let first = g.map(|g| OpaqueMul.apply(&(g.clone(), dx.clone())))?;
        let second = h.map(|h| OpaqueMul.apply(&(h.mul(6.0)?, x.clone())))?;
        Ok(first + second)
    }
    fn jvp(&self, _: &Context<Self>, (x, dx): &(Tensor, Tensor), t: Tangent) -> Result<(Tangent, Tangent)> {
        Ok((&t * dx, t * x * 6.0))
    }
    fn vmap(&self, _: &VmapInfo, dim: Dims<Tensor>, x: &Tensor) -> Result<((Tensor, Tensor), Dims<(Tensor, Tensor)>)> {
        Ok((self.apply(x)?, (dim, dim)))
    }
}

/// `eˣ`, computed in place on a copy of the handle: the caller's tensor keeps its value.
#[derive(Clone)]
pub struct ExpInPlace;

impl Function for ExpInPlace {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let mut y = x.clone();
        y.mul_(0.0)?.add_(&x.exp()?)?;
        Ok(y)
    }
    fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, y: &Tensor) -> Result<Tensor> {
        Ok(y.clone())
    }
    fn backward(&self, _: &Context<Self>, y: &Tensor, g: Cotangent) -> Result<Cotangent> {
        Ok(g * y)
    }
    fn jvp(&self, _: &Context<Self>, y: &Tensor, t: Tangent) -> Result<Tangent> {
        let mut t = t.tensor()?;
        t.mul_(y)?;
        Ok(t.into())
    }
    fn vmap(&self, _: &VmapInfo, dim: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
        Ok((self.apply(x)?, dim))
    }
}

/// The product with broadcasting, on raw numbers.
#[derive(Clone)]
pub struct OpaqueMul;

impl Function for OpaqueMul {
    type Inputs = (Tensor, Tensor);
    type Outputs = Tensor;
    type Saved = (Tensor, Tensor);
    fn forward(&self, (x, y): &(Tensor, Tensor)) -> Result<Tensor> {
        let shape = x.mul(y)?.shape().to_vec();
        let (x, y) = (x.expand(&shape)?.to_vec::<f64>()?, y.expand(&shape)?.to_vec::<f64>()?);
        Tensor::from_slice(&x.iter().zip(y).map(|(x, y)| x * y).collect::<Vec<_>>(), &shape)
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &(Tensor, Tensor), _: &Tensor) -> Result<(Tensor, Tensor)> {
        Ok(x.clone())
    }
    fn backward(&self, ctx: &Context<Self>, (x, y): &(Tensor, Tensor), g: Cotangent) -> Result<(Cotangent, Cotangent)> {
        // What is not needed is not computed, and what was broadcast is summed by the caller.
        let product = |t: &Tensor, needed: bool| match needed {
            true => g.map(|g| OpaqueMul.apply(&(g.clone(), t.clone()))),
            false => Ok(Cotangent::not_supplied()),
        };
        let needs = ctx.needs_input_grad();
        Ok((product(y, needs.0)?, product(x, needs.1)?))
    }
    fn jvp(&self, _: &Context<Self>, (x, y): &(Tensor, Tensor), (dx, dy): (Tangent, Tangent)) -> Result<Tangent> {
        let (from_x, from_y) = (dx.map(|dx| dx.mul(y))?, dy.map(|dy| dy.mul(x))?);
        match (from_x.is_zero(), from_y.is_zero()) {
            (false, false) => Ok(from_x + from_y),
            (_, true) => Ok(from_x),
            (true, _) => Ok(from_y),
        }
    }
    fn vmap(
        &self,
        _: &VmapInfo,
        dims: Dims<(Tensor, Tensor)>,
        (x, y): &(Tensor, Tensor),
    ) -> Result<(Tensor, Dims<Tensor>)> {
        // Lanes last, where they do not disturb the broadcasting.
        let last = |t: &Tensor, dim: Option<usize>| match dim {
            Some(dim) => t.movedim(&[dim as isize], &[-1]),
            None => t.unsqueeze(-1),
        };
        let z = self.apply(&(last(x, dims.0)?, last(y, dims.1)?))?;
        let dim = z.rank() - 1;
        Ok((z, Some(dim)))
    }
}

/// `x³` whose rules run on raw numbers and are differentiable once; its state is not a tensor.
#[derive(Clone)]
pub struct OnceCube;

impl Function for OnceCube {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = (Tensor, Static<f64>);
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        raw(x, |x| x * x * x)
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<(Tensor, Static<f64>)> {
        Ok((x.clone(), Static(3.0)))
    }
    fn backward(&self, _: &Context<Self>, (x, factor): &(Tensor, Static<f64>), g: Cotangent) -> Result<Cotangent> {
        let (x, g) = (x.to_vec::<f64>()?, g.tensor()?);
        let mut x = x.into_iter();
        Ok(raw(&g, |g| g * factor.0 * x.next().map_or(0.0, |x| x * x))?.into())
    }
    fn jvp(&self, ctx: &Context<Self>, saved: &(Tensor, Static<f64>), t: Tangent) -> Result<Tangent> {
        self.backward(ctx, saved, t)
    }
    fn once_differentiable(&self) -> bool {
        true
    }
    fn vmap(&self, info: &VmapInfo, dim: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
        rules::per_example(self, info, dim, x)
    }
}

/// Sorted values, the permutation and its inverse, on raw numbers.
#[derive(Clone)]
pub struct OpaqueSort {
    pub dim: isize,
}

impl Function for OpaqueSort {
    type Inputs = Tensor;
    type Outputs = (Tensor, Tensor, Tensor);
    type Saved = (Tensor, Tensor);
    fn forward(&self, x: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
        let x = x.movedim(&[self.dim], &[-1])?;
        let (shape, n) = (x.shape().to_vec(), x.shape()[x.rank() - 1]);
        let (mut sorted, mut order, mut inverse) = (Vec::new(), Vec::new(), Vec::new());
        for row in x.to_vec::<f64>()?.chunks(n) {
            let mut places: Vec<usize> = (0..n).collect();
            places.sort_by(|&a, &b| row[a].total_cmp(&row[b]));
            let mut back = vec![0i64; n];
            places.iter().enumerate().for_each(|(k, &p)| back[p] = k as i64);
            sorted.extend(places.iter().map(|&p| row[p]));
            order.extend(places.iter().map(|&p| p as i64));
            inverse.extend(back);
        }
        let back = |t: Tensor| t.movedim(&[-1], &[self.dim]);
        Ok((
            back(Tensor::from_slice(&sorted, &shape)?)?,
            back(Tensor::from_slice(&order, &shape)?)?,
            back(Tensor::from_slice(&inverse, &shape)?)?,
        ))
    }
    fn setup_context(
        &self,
        ctx: &mut Context<Self>,
        _: &Tensor,
        y: &(Tensor, Tensor, Tensor),
    ) -> Result<(Tensor, Tensor)> {
        ctx.mark_non_differentiable(&[1, 2])?;
        Ok((y.1.clone(), y.2.clone()))
    }
    fn backward(
        &self,
        _: &Context<Self>,
        (order, inverse): &(Tensor, Tensor),
        (g, _, _): (Cotangent, Cotangent, Cotangent),
    ) -> Result<Cotangent> {
        g.map(|g| OpaqueTake { dim: self.dim }.apply(&(g.clone(), inverse.clone(), order.clone())))
    }
    fn jvp(
        &self,
        _: &Context<Self>,
        (order, inverse): &(Tensor, Tensor),
        t: Tangent,
    ) -> Result<(Tangent, Tangent, Tangent)> {
        let taken = t.map(|t| OpaqueTake { dim: self.dim }.apply(&(t.clone(), order.clone(), inverse.clone())))?;
        Ok((taken, Tangent::zero(), Tangent::not_supplied()))
    }
    fn vmap(
        &self,
        info: &VmapInfo,
        dim: Dims<Tensor>,
        x: &Tensor,
    ) -> Result<(Self::Outputs, Dims<(Tensor, Tensor, Tensor)>)> {
        let sorted = OpaqueSort { dim: behind_lanes(self.dim) }.apply(&in_front(x, dim, info.batch_size)?)?;
        Ok((sorted, (Some(0), Some(0), Some(0))))
    }
}

/// The elements of `x` that a permutation names, on raw numbers; its inverse serves the rule.
#[derive(Clone)]
pub struct OpaqueTake {
    pub dim: isize,
}

impl Function for OpaqueTake {
    type Inputs = (Tensor, Tensor, Tensor);
    type Outputs = Tensor;
    type Saved = (Tensor, Tensor);
    fn forward(&self, (x, index, _): &(Tensor, Tensor, Tensor)) -> Result<Tensor> {
        let last = |t: &Tensor| t.movedim(&[self.dim], &[-1]);
        let (x, index) = (last(x)?, last(index)?);
        let n = x.shape()[x.rank() - 1];
        let (values, places) = (x.to_vec::<f64>()?, index.to_vec::<i64>()?);
        let taken: Vec<f64> = places.iter().enumerate().map(|(k, &p)| values[k / n * n + p as usize]).collect();
        Tensor::from_slice(&taken, x.shape())?.movedim(&[-1], &[self.dim])
    }
    fn setup_context(
        &self,
        _: &mut Context<Self>,
        x: &(Tensor, Tensor, Tensor),
        _: &Tensor,
    ) -> Result<(Tensor, Tensor)> {
        Ok((x.1.clone(), x.2.clone()))
    }
    fn backward(
        &self,
        ctx: &Context<Self>,
        (index, inverse): &(Tensor, Tensor),
        g: Cotangent,
    ) -> Result<Cotangents<Self::Inputs>> {
        assert_eq!(*ctx.needs_input_grad(), (true, false, false), "integers are never needed");
        let back = g.map(|g| self.apply(&(g.clone(), inverse.clone(), index.clone())))?;
        Ok((back, Cotangent::not_supplied(), Cotangent::zero()))
    }
    fn jvp(
        &self,
        _: &Context<Self>,
        (index, inverse): &(Tensor, Tensor),
        (t, none, nothing): Tangents<Self::Inputs>,
    ) -> Result<Tangent> {
        assert!(none.is_zero() && nothing.is_zero(), "integers have no tangent");
        t.map(|t| self.apply(&(t.clone(), index.clone(), inverse.clone())))
    }
    fn vmap(
        &self,
        info: &VmapInfo,
        dims: Dims<Self::Inputs>,
        (x, index, inverse): &Self::Inputs,
    ) -> Result<(Tensor, Dims<Tensor>)> {
        let n = info.batch_size;
        let all = (in_front(x, dims.0, n)?, in_front(index, dims.1, n)?, in_front(inverse, dims.2, n)?);
        Ok((OpaqueTake { dim: behind_lanes(self.dim) }.apply(&all)?, Some(0)))
    }
}

/// One row; the rule needs only metadata. With `GENERATED` the batching rule is generated, else written.
#[derive(Clone)]
pub struct Select<const GENERATED: bool> {
    pub row: isize,
}

/// The last of three rows unless told otherwise.
impl<const GENERATED: bool> Default for Select<GENERATED> {
    fn default() -> Self {
        Select { row: 2 }
    }
}

impl<const GENERATED: bool> Function for Select<GENERATED> {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Static<Vec<usize>>;
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.select(0, self.row)
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Static<Vec<usize>>> {
        Ok(Static(x.shape().to_vec()))
    }
    fn backward(&self, _: &Context<Self>, shape: &Static<Vec<usize>>, g: Cotangent) -> Result<Cotangent> {
        g.map(|g| {
            let mut all = Tensor::zeros(&shape.0, g.dtype())?;
            all.set_(self.row, g)?;
            Ok(all)
        })
    }
    fn jvp(&self, _: &Context<Self>, _: &Static<Vec<usize>>, t: Tangent) -> Result<Tangent> {
        t.map(|t| self.apply(t))
    }
    fn vmap(&self, info: &VmapInfo, dim: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
        let Some(at) = dim.filter(|_| !GENERATED) else { return rules::generated(self, info, dim, x) };
        // Behind the rows, of which one is selected, so that the lanes come out in front.
        Ok((self.apply(&x.movedim(&[at as isize], &[1])?)?, Some(0)))
    }
}

/// [`OpaqueCube`] in tensor operations, with the generated batching rule.
#[derive(Clone)]
pub struct Cube;

impl Function for Cube {
    type Inputs = Tensor;
    type Outputs = (Tensor, Tensor);
    type Saved = (Tensor, Tensor);
    fn forward(&self, x: &Tensor) -> Result<(Tensor, Tensor)> {
        Ok((x.powi(3)?, x.square()?.mul(3.0)?))
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, y: &(Tensor, Tensor)) -> Result<(Tensor, Tensor)> {
        Ok((x.clone(), y.1.clone()))
    }
    fn backward(
        &self,
        _: &Context<Self>,
        (x, dx): &(Tensor, Tensor),
        (g, h): (Cotangent, Cotangent),
    ) -> Result<Cotangent> {
        Ok(g * dx + h * x * 6.0)
    }
    fn jvp(&self, _: &Context<Self>, (x, dx): &(Tensor, Tensor), t: Tangent) -> Result<(Tangent, Tangent)> {
        Ok((&t * dx, t * x * 6.0))
    }
}

/// [`OpaqueMul`] in tensor operations, with only `backward`.
#[derive(Clone)]
pub struct Product;

impl Function for Product {
    type Inputs = (Tensor, Tensor);
    type Outputs = Tensor;
    type Saved = (Tensor, Tensor);
    fn forward(&self, (x, y): &(Tensor, Tensor)) -> Result<Tensor> {
        x.mul(y)
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &(Tensor, Tensor), _: &Tensor) -> Result<(Tensor, Tensor)> {
        Ok(x.clone())
    }
    fn backward(&self, _: &Context<Self>, (x, y): &(Tensor, Tensor), g: Cotangent) -> Result<(Cotangent, Cotangent)> {
        Ok((&g * y, g * x))
    }
}

/// [`OpaqueSort`] in tensor operations; its rules call [`Take`].
#[derive(Clone)]
pub struct Sort;

impl Function for Sort {
    type Inputs = Tensor;
    type Outputs = (Tensor, Tensor, Tensor);
    type Saved = (Tensor, Tensor);
    fn forward(&self, x: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
        let (sorted, order) = x.sort(-1, false)?;
        let inverse = order.argsort(-1, false)?;
        Ok((sorted, order, inverse))
    }
    fn setup_context(
        &self,
        ctx: &mut Context<Self>,
        _: &Tensor,
        y: &(Tensor, Tensor, Tensor),
    ) -> Result<(Tensor, Tensor)> {
        ctx.mark_non_differentiable(&[1])?;
        ctx.mark_non_differentiable(&[2])?;
        Ok((y.1.clone(), y.2.clone()))
    }
    fn backward(
        &self,
        _: &Context<Self>,
        (order, inverse): &(Tensor, Tensor),
        (g, _, _): (Cotangent, Cotangent, Cotangent),
    ) -> Result<Cotangent> {
        g.map(|g| Take.apply(&(g.clone(), inverse.clone(), order.clone())))
    }
    fn jvp(
        &self,
        _: &Context<Self>,
        (order, inverse): &(Tensor, Tensor),
        t: Tangent,
    ) -> Result<(Tangent, Tangent, Tangent)> {
        let taken = t.map(|t| Take.apply(&(t.clone(), order.clone(), inverse.clone())))?;
        Ok((taken, Tangent::zero(), Tangent::zero()))
    }
}

#[derive(Clone)]
pub struct Take;

impl Function for Take {
    type Inputs = (Tensor, Tensor, Tensor);
    type Outputs = Tensor;
    type Saved = (Tensor, Tensor);
    fn forward(&self, (x, index, _): &(Tensor, Tensor, Tensor)) -> Result<Tensor> {
        x.take_along_dim(index, -1)
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Self::Inputs, _: &Tensor) -> Result<(Tensor, Tensor)> {
        Ok((x.1.clone(), x.2.clone()))
    }
    fn backward(
        &self,
        _: &Context<Self>,
        (index, inverse): &(Tensor, Tensor),
        g: Cotangent,
    ) -> Result<Cotangents<Self::Inputs>> {
        let back = g.map(|g| Take.apply(&(g.clone(), inverse.clone(), index.clone())))?;
        Ok((back, Cotangent::zero(), Cotangent::zero()))
    }
}

/// The identity with a gradient that is some times too large.
#[derive(Clone)]
pub struct ScaleGrad(pub f64);

impl Function for ScaleGrad {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = ();
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        Ok(x.clone())
    }
    fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, _: &Tensor) -> Result<()> {
        Ok(())
    }
    fn backward(&self, _: &Context<Self>, _: &(), g: Cotangent) -> Result<Cotangent> {
        Ok(g * self.0)
    }
    fn jvp(&self, _: &Context<Self>, _: &(), t: Tangent) -> Result<Tangent> {
        Ok(t * self.0)
    }
}

/// Copies of both inputs; the rules return fresh zeros that depend on nothing, one of them too large.
#[derive(Clone)]
pub struct ZeroGradients;

impl Function for ZeroGradients {
    type Inputs = (Tensor, Tensor);
    type Outputs = (Tensor, Tensor);
    type Saved = ();
    fn forward(&self, x: &(Tensor, Tensor)) -> Result<(Tensor, Tensor)> {
        Ok(x.clone())
    }
    fn setup_context(&self, _: &mut Context<Self>, _: &(Tensor, Tensor), _: &(Tensor, Tensor)) -> Result<()> {
        Ok(())
    }
    fn backward(&self, ctx: &Context<Self>, _: &(), _: (Cotangent, Cotangent)) -> Result<(Cotangent, Cotangent)> {
        let large = Tensor::zeros(&ctx.input_types().1.shape, DType::F64)?;
        Ok((large.clone().into(), large.into()))
    }
    fn jvp(&self, ctx: &Context<Self>, _: &(), _: (Tangent, Tangent)) -> Result<(Tangent, Tangent)> {
        let zeros = |ty: &TensorType| Tensor::zeros(&ty.shape, ty.dtype);
        let types = ctx.output_types();
        Ok((zeros(&types.0)?.into(), zeros(&types.1)?.into()))
    }
}
