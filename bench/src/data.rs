//! Operations that order, gather, scan, contract and reduce.

use pullback::{DType::F32, Result, Tensor, einsum};

use crate::harness::Harness;
use crate::inputs::{labels, uniform};

pub fn run(h: &Harness) -> Result<()> {
    order(h)?;
    gather(h)?;
    contract(h)?;
    reduce(h)
}

fn order(h: &Harness) -> Result<()> {
    let million = uniform(&[1 << 20], 210, F32, 4.0)?;
    let table = uniform(&[1024, 1024], 211, F32, 4.0)?;
    h.run("sort1M", 1, || million.sort(0, false));
    h.run("argsort1M", 1, || million.argsort(0, false));
    // Of equal elements, frameworks choose different ones.
    h.run("topk1M", 1, || Ok(million.topk(100, 0, true, true)?.0));
    for d in 0..2 {
        h.run(&format!("sort1024_d{d}"), 1, || table.sort(d, false));
        h.run(&format!("topk1024_d{d}"), 1, || Ok(table.topk(10, d, true, true)?.0));
    }
    let near = million.mul(1e-3)?.add(1.0)?;
    h.run("cumsum1M", 1, || million.cumsum(0));
    h.run("cumprod1M", 1, || near.cumprod(0));
    h.run("logcumsumexp1M", 1, || million.logcumsumexp(0));
    for d in 0..2 {
        h.run(&format!("cumsum1024_d{d}"), 1, || table.cumsum(d));
    }
    Ok(())
}

fn gather(h: &Harness) -> Result<()> {
    let million = uniform(&[1 << 20], 210, F32, 4.0)?;
    let table = uniform(&[1024, 1024], 211, F32, 4.0)?;
    let (places, columns) = (labels(1 << 20, 1 << 20, 220), labels(1 << 20, 1024, 221).reshape(&[1024, 1024])?);
    let zeros = Tensor::zeros(&[1 << 20], F32)?;
    let (rows, chosen) = (uniform(&[100_000, 64], 222, F32, 1.0)?, labels(1 << 14, 100_000, 223));
    let (added, mask) = (uniform(&[1 << 14, 64], 224, F32, 1.0)?, million.gt(0.0)?);
    let near = million.mul(1e-3)?.add(1.0)?;
    h.run("gather1M", 1, || million.gather(0, &places));
    h.run("scatter_add1M", 1, || zeros.scatter_add(0, &places, &million));
    for d in 0..2 {
        h.run(&format!("gather1024_d{d}"), 1, || table.gather(d, &columns));
        h.run(&format!("scatter_add1024_d{d}"), 1, || table.scatter_add(d, &columns, &table));
    }
    h.run("index_select1M", 1, || rows.index_select(0, &chosen));
    h.run("index_add1M", 1, || rows.index_add(0, &chosen, &added));
    h.run("masked_fill1M", 1, || million.masked_fill(&mask, 0.5));
    h.run("where1M", 1, || mask.where_(&million, &near));
    Ok(())
}

fn contract(h: &Harness) -> Result<()> {
    let equations: [(&str, &[&[usize]]); 3] = [
        ("bij,bjk->bik", &[&[64, 128, 64], &[64, 64, 128]]),
        ("bhqd,bhkd->bhqk", &[&[8, 8, 128, 64], &[8, 8, 128, 64]]),
        ("bi,ij,bj->b", &[&[256, 128], &[128, 128], &[256, 128]]),
    ];
    for (equation, shapes) in equations {
        let operands: Result<Vec<Tensor>> =
            shapes.iter().enumerate().map(|(k, shape)| uniform(shape, 230 + k as u64, F32, 1.0)).collect();
        let operands = operands?;
        let operands: Vec<&Tensor> = operands.iter().collect();
        h.run(&format!("einsum_{equation}"), 1, || einsum(equation, &operands));
    }
    Ok(())
}

fn reduce(h: &Harness) -> Result<()> {
    let block = uniform(&[256, 128, 64], 240, F32, 4.0)?;
    let close = block.mul(0.05)?.add(1.0)?;
    let reductions: [(&str, fn(&Tensor, isize) -> Result<Tensor>); 8] = [
        ("sum", |x, d| x.sum_dims(&[d], false)),
        ("max", |x, d| x.max_dims(&[d], false)),
        ("mean", |x, d| x.mean_dims(&[d], false)),
        ("var", |x, d| x.var_dims(&[d], 1, false)),
        ("argmax", |x, d| x.argmax(d, false)),
        ("prod", |x, d| x.prod_dims(&[d], false)),
        ("logsumexp", |x, d| x.logsumexp(&[d], false)),
        ("norm", |x, d| x.norm_dims(2.0, &[d], false)),
    ];
    for (name, reduce) in reductions {
        let x = if name == "prod" { &close } else { &block };
        for d in 0..3 {
            h.run(&format!("reduce_{name}_d{d}"), 1, || reduce(x, d));
        }
    }
    Ok(())
}
