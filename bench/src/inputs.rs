//! The inputs of the workloads, built the same way in every framework so that checksums can be compared.

use pullback::{DType, Result, Tensor, Tree};

/// Values in `[-0.5, 0.5) * scale`: the top 24 bits of splitmix64 of `i + seed * 2³²`.
fn numbers(n: usize, seed: u64, scale: f64) -> Vec<f64> {
    (0..n as u64)
        .map(|i| {
            let mut z = i.wrapping_add(seed << 32).wrapping_add(0x9E37_79B9_7F4A_7C15);
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^= z >> 31;
            ((z >> 40) as f64 / f64::from(1 << 24) - 0.5) * scale
        })
        .collect()
}

/// Uniform values of a dtype and shape.
pub fn uniform(shape: &[usize], seed: u64, dtype: DType, scale: f64) -> Result<Tensor> {
    Tensor::from_slice(&numbers(shape.iter().product(), seed, scale), shape)?.to_dtype(dtype)
}

/// Class numbers: `floor((u + 0.5) * classes)`.
pub fn labels(n: usize, classes: usize, seed: u64) -> Tensor {
    let values: Vec<i64> = numbers(n, seed, 1.0).iter().map(|u| ((u + 0.5) * classes as f64).floor() as i64).collect();
    Tensor::from(values)
}

/// A fully connected layer: `weight` is `[out, in]`.
#[derive(Clone, Tree)]
pub struct Dense<T = Tensor> {
    pub weight: T,
    pub bias: T,
}

/// Layers with weights and biases of scale `2 / √in`; `batch` is put in front of every shape.
pub fn mlp(sizes: &[usize], seed: u64, dtype: DType, batch: &[usize]) -> Result<Vec<Dense>> {
    (0..sizes.len() - 1)
        .map(|k| {
            let (i, o) = (sizes[k], sizes[k + 1]);
            let scale = 2.0 / (i as f64).sqrt();
            let seed = seed + 2 * k as u64;
            Ok(Dense {
                weight: uniform(&[batch, &[o, i]].concat(), seed, dtype, scale)?,
                bias: uniform(&[batch, &[o]].concat(), seed + 1, dtype, scale)?,
            })
        })
        .collect()
}

/// Two convolutions, 1 to 16 channels with 8 x 8 and 16 to 32 with 4 x 4 elements, and full layers 512-32-10, all of scale
/// `2 / √(inputs of an output)`.
pub fn cnn(seed: u64) -> Result<Vec<Dense>> {
    let shapes: [&[usize]; 4] = [&[16, 1, 8, 8], &[32, 16, 4, 4], &[32, 512], &[10, 32]];
    (seed..)
        .step_by(2)
        .zip(shapes)
        .map(|(seed, shape)| {
            let inputs: usize = shape[1..].iter().product();
            let scale = 2.0 / (inputs as f64).sqrt();
            Ok(Dense {
                weight: uniform(shape, seed, DType::F32, scale)?,
                bias: uniform(&shape[..1], seed + 1, DType::F32, scale)?,
            })
        })
        .collect()
}

/// `tanh` layers, the last one linear. `x` is `[.., in]`.
pub fn forward(layers: &[Dense], x: &Tensor) -> Result<Tensor> {
    let mut x = x.clone();
    for (k, layer) in layers.iter().enumerate() {
        x = x.linear(&layer.weight, Some(&layer.bias))?;
        if k + 1 < layers.len() {
            x = x.tanh()?;
        }
    }
    Ok(x)
}
