//! The operations of neural networks by name.

use pullback::nn::{Attention, AvgPool, Conv, ConvTranspose, Interpolate, InterpolateMode, MaxPool, Patches, PerDim};
use pullback::{Result, Tensor};

use crate::call::Parameters;
use crate::read::list;

impl Parameters<'_> {
    fn per_dim(&self, k: usize) -> PerDim {
        PerDim::from(&self.sizes(k)[..])
    }

    fn interpolate(&self) -> Interpolate {
        let mode = match self.0[1] {
            "nearest" => InterpolateMode::Nearest,
            "nearestexact" => InterpolateMode::NearestExact,
            "linear" => InterpolateMode::Linear,
            "cubic" => InterpolateMode::Cubic,
            "area" => InterpolateMode::Area,
            other => panic!("no mode: {other}"),
        };
        let target = match self.0[0] {
            text if text.contains('.') => Interpolate::by_scale(&list::<f64>(text.trim_matches(['[', ']']))),
            _ => Interpolate::to_size(self.per_dim(0)),
        };
        target.mode(mode).align_corners(self.flag(2))
    }
}

fn conv(p: &Parameters<'_>) -> Conv {
    Conv::new().stride(p.per_dim(0)).padding(p.per_dim(1)).dilation(p.per_dim(2)).groups(p.size(3))
}

fn conv_transpose(p: &Parameters<'_>) -> ConvTranspose {
    ConvTranspose::new()
        .stride(p.per_dim(0))
        .padding(p.per_dim(1))
        .output_padding(p.per_dim(2))
        .groups(p.size(3))
        .dilation(p.per_dim(4))
}

fn max_pool(p: &Parameters<'_>) -> MaxPool {
    MaxPool::new(p.per_dim(0)).stride(p.per_dim(1)).padding(p.per_dim(2)).dilation(p.per_dim(3)).ceil_mode(p.flag(4))
}

fn avg_pool(p: &Parameters<'_>) -> AvgPool {
    let pool = AvgPool::new(p.per_dim(0)).stride(p.per_dim(1)).padding(p.per_dim(2));
    pool.ceil_mode(p.flag(3)).count_include_pad(p.flag(4))
}

fn patches(p: &Parameters<'_>, k: usize) -> Patches {
    let patches = Patches::new(p.per_dim(k)).stride(p.per_dim(k + 1));
    patches.padding(p.per_dim(k + 2)).dilation(p.per_dim(k + 3))
}

/// The outputs of operation `op`.
pub(crate) fn call(op: &str, p: &Parameters<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
    let x = &inputs[0];
    let y = inputs.get(1).unwrap_or(x);
    let z = inputs.get(2);
    let second = inputs.get(1);
    let both = |pair: (Tensor, Tensor)| vec![pair.0, pair.1];
    let out = match op {
        "conv1d" => x.conv1d(y, z, &conv(p)),
        "conv2d" => x.conv2d(y, z, &conv(p)),
        "conv3d" => x.conv3d(y, z, &conv(p)),
        "conv_transpose1d" => x.conv_transpose1d(y, z, &conv_transpose(p)),
        "conv_transpose2d" => x.conv_transpose2d(y, z, &conv_transpose(p)),
        "conv_transpose3d" => x.conv_transpose3d(y, z, &conv_transpose(p)),
        "max_pool1d" => x.max_pool1d(&max_pool(p)),
        "max_pool2d" => x.max_pool2d(&max_pool(p)),
        "max_pool3d" => x.max_pool3d(&max_pool(p)),
        "max_pool1d_with_indices" => return x.max_pool1d_with_indices(&max_pool(p)).map(both),
        "max_pool2d_with_indices" => return x.max_pool2d_with_indices(&max_pool(p)).map(both),
        "max_pool3d_with_indices" => return x.max_pool3d_with_indices(&max_pool(p)).map(both),
        "avg_pool1d" => x.avg_pool1d(&avg_pool(p)),
        "avg_pool2d" => x.avg_pool2d(&avg_pool(p)),
        "avg_pool3d" => x.avg_pool3d(&avg_pool(p)),
        "adaptive_avg_pool1d" => x.adaptive_avg_pool1d(p.per_dim(0)),
        "adaptive_avg_pool2d" => x.adaptive_avg_pool2d(p.per_dim(0)),
        "adaptive_avg_pool3d" => x.adaptive_avg_pool3d(p.per_dim(0)),
        "adaptive_max_pool1d" => x.adaptive_max_pool1d(p.per_dim(0)),
        "adaptive_max_pool2d" => x.adaptive_max_pool2d(p.per_dim(0)),
        "adaptive_max_pool3d" => x.adaptive_max_pool3d(p.per_dim(0)),
        "layer_norm" => x.layer_norm(&p.sizes(0), second, z, p.float(1)),
        "rms_norm" => x.rms_norm(&p.sizes(0), second, p.float(1)),
        "group_norm" => x.group_norm(p.size(0), second, z, p.float(1)),
        "instance_norm" => x.instance_norm(second, z, p.float(0)),
        "batch_norm" => x.batch_norm(y, &inputs[2], inputs.get(3), inputs.get(4), p.float(0)),
        // PyTorch has the statistics as buffers that it overwrites.
        "batch_norm_training" => {
            let (weight, bias) = (inputs.get(3), inputs.get(4));
            x.batch_norm_training(y, &inputs[2], weight, bias, p.float(0), p.float(1)).map(|found| found.0)
        }
        "scaled_dot_product_attention" => {
            let mut options = Attention::new().causal(p.flag(0)).scale(p.float(1)).enable_gqa(p.flag(2));
            if let Some(mask) = inputs.get(3) {
                options = options.mask(mask);
            }
            x.scaled_dot_product_attention(y, &inputs[2], &options)
        }
        "embedding" => x.embedding(y, p.maybe(0)),
        "im2col" => x.im2col(&patches(p, 0)),
        "col2im" => x.col2im(p.per_dim(0), &patches(p, 1)),
        "interpolate" => x.interpolate(&p.interpolate()),
        "pixel_shuffle" => x.pixel_shuffle(p.size(0)),
        "pixel_unshuffle" => x.pixel_unshuffle(p.size(0)),
        "channel_shuffle" => x.channel_shuffle(p.size(0)),
        "celu" => x.celu(p.float(0)),
        "hardtanh" => x.hardtanh(p.float(0), p.float(1)),
        "hardshrink" => x.hardshrink(p.float(0)),
        "softshrink" => x.softshrink(p.float(0)),
        "tanhshrink" => x.tanhshrink(),
        "threshold" => x.threshold(p.float(0), p.float(1)),
        "glu" => x.glu(p.int(0)),
        "prelu" => x.prelu(y),
        "softmin" => x.softmin(p.int(0)),
        "binary_cross_entropy" => x.binary_cross_entropy(y, p.reduction(0)),
        "poisson_nll_loss" => x.poisson_nll_loss(y, p.flag(0), p.reduction(1)),
        "gaussian_nll_loss" => x.gaussian_nll_loss(y, &inputs[2], p.float(0), p.reduction(1)),
        "soft_margin_loss" => x.soft_margin_loss(y, p.reduction(0)),
        "hinge_embedding_loss" => x.hinge_embedding_loss(y, p.float(0), p.reduction(1)),
        "margin_ranking_loss" => x.margin_ranking_loss(y, &inputs[2], p.float(0), p.reduction(1)),
        "cosine_embedding_loss" => x.cosine_embedding_loss(y, &inputs[2], p.float(0), p.reduction(1)),
        "triplet_margin_loss" => x.triplet_margin_loss(y, &inputs[2], p.float(0), p.float(1), p.reduction(2)),
        "multi_margin_loss" => x.multi_margin_loss(y, p.float(0), p.reduction(1)),
        "cosine_similarity" => x.cosine_similarity(y, p.int(0), p.float(1)),
        "pairwise_distance" => x.pairwise_distance(y, p.float(0), p.float(1), p.flag(2)),
        "cdist" => x.cdist(y, p.float(0)),
        "normalize" => x.normalize(p.float(0), p.int(1), p.float(2)),
        "local_response_norm" => x.local_response_norm(p.size(0), p.float(1), p.float(2), p.float(3)),
        other => panic!("`{other}` is not in tests/expected"),
    };
    Ok(vec![out?])
}
