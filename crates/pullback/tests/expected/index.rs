//! Operations of indexing by name, as [`call`](crate::call) does the others.

use pullback::{
    Ellipsis, GridOrder, IndexItem, NewAxis, PadMode, Reduce, Result, Tensor, block_diag, broadcast_tensors,
    cartesian_prod, meshgrid, s,
};

use crate::read::list;

/// `t/1:3/.../new/-1`, where `t` is the next of the tensors.
fn items(text: &str, tensors: &[Tensor]) -> Vec<IndexItem> {
    let mut tensors = tensors.iter();
    let item = |text: &str| match text {
        "t" => tensors.next().expect("a tensor for each `t`").into(),
        "..." => Ellipsis.into(),
        "new" => NewAxis.into(),
        _ if text.contains(':') => {
            let bounds: Vec<Option<isize>> = text.split(':').map(|e| e.parse().ok()).collect();
            s(bounds[0], bounds[1], bounds.get(2).copied().flatten().unwrap_or(1))
        }
        _ => text.parse::<isize>().unwrap().into(),
    };
    text.split('/').map(item).collect()
}

fn number<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("no number: `{text}`"))
}

fn numbers<T: std::str::FromStr>(text: &str) -> Vec<T> {
    list(text.trim_matches(['[', ']']))
}

fn reduction(text: &str) -> Reduce {
    use Reduce::{Amax, Amin, Mean, Prod, Sum};
    [Sum, Prod, Mean, Amax, Amin].into_iter().find(|r| format!("{r:?}").to_lowercase() == text).unwrap()
}

fn mode(p: &[&str]) -> PadMode {
    match p[1] {
        "constant" => PadMode::Constant(number(p[2])),
        "reflect" => PadMode::Reflect,
        "replicate" => PadMode::Replicate,
        "circular" => PadMode::Circular,
        other => panic!("no mode: {other}"),
    }
}

/// The outputs of operation `op`, if it is one of these.
pub fn call(op: &str, p: &[&str], inputs: &[Tensor]) -> Option<Result<Vec<Tensor>>> {
    let (x, n) = (&inputs[0], inputs.len());
    let [y, z] = [1, 2].map(|k| inputs.get(k).unwrap_or(x));
    let all: Vec<&Tensor> = inputs.iter().collect();
    let int = |k: usize| number::<isize>(p[k]);
    let flag = |k: usize| number::<bool>(p[k]);
    let one = match op {
        "i" if n > 1 => x.i(items(p[0], &inputs[1..])),
        "index_set" if n > 2 => x.index_set(items(p[0], &inputs[2..]), y),
        "index_put" => x.index_put(items(p[0], &inputs[2..]), y, flag(1)),
        "nonzero" => x.nonzero(),
        "masked_select" => x.masked_select(y),
        "masked_scatter" => x.masked_scatter(y, z),
        "take" => x.take(y),
        "put" => x.put(y, z, flag(0)),
        "index_fill" => x.index_fill(int(0), y, z),
        "scatter_reduce" => x.scatter_reduce(int(0), y, z, reduction(p[1]), flag(2)),
        "index_reduce" => x.index_reduce(int(0), y, z, reduction(p[1]), flag(2)),
        "unfold" => x.unfold(int(0), number(p[1]), number(p[2])),
        "tile" => x.tile(&numbers(p[0])),
        "pad" => x.pad(&numbers(p[0]), mode(p)),
        "select_scatter" => x.select_scatter(y, int(0), int(1)),
        "slice_scatter" => x.slice_scatter(y, int(0), int(1), int(2), int(3)),
        "diagonal_scatter" => x.diagonal_scatter(y, int(0), int(1), int(2)),
        "cartesian_prod" => cartesian_prod(&all),
        "block_diag" => block_diag(&all),
        "combinations" => x.combinations(number(p[0]), flag(1)),
        "rot90" => {
            let dims: Vec<isize> = numbers(p[1]);
            x.rot90(int(0), [dims[0], dims[1]])
        }
        "meshgrid" => return Some(meshgrid(&all, if p[0] == "xy" { GridOrder::Xy } else { GridOrder::Ij })),
        "broadcast_tensors" => return Some(broadcast_tensors(&all)),
        "tensor_split" => return Some(x.tensor_split(number(p[0]), int(1))),
        "unique" => return Some(x.unique(p[0].parse::<isize>().ok()).map(|(a, b, c)| vec![a, b, c])),
        "unique_consecutive" => {
            return Some(x.unique_consecutive(p[0].parse::<isize>().ok()).map(|(a, b, c)| vec![a, b, c]));
        }
        _ => return None,
    };
    Some(one.map(|y| vec![y]))
}
