//! Losses with options, and images at the places of a grid, by name.

use pullback::nn::{
    BinaryCrossEntropy, BinaryCrossEntropyWithLogits, CrossEntropy, CtcLoss, GridMode, GridPadding, GridSample,
    Interpolate, InterpolateMode, NllLoss,
};
use pullback::{Result, Tensor};

use crate::call::Parameters;
use crate::read::list;

/// The outputs, if this is a line of `losses.txt`; other files have lines of these operations without such parameters.
pub fn call(op: &str, parameters: &[&str], inputs: &[Tensor]) -> Option<Result<Vec<Tensor>>> {
    let p = Parameters(parameters);
    let (x, y) = (&inputs[0], inputs.get(1).unwrap_or(&inputs[0]));
    let weight = inputs.get(2);
    let out = match (op, parameters.len()) {
        ("cross_entropy_with", 3) => {
            let mut options = CrossEntropy::new().label_smoothing(p.float(1)).reduction(p.reduction(2));
            if let Some(class) = p.maybe(0) {
                options = options.ignore_index(class);
            }
            x.cross_entropy_with(y, weight.map_or(options.clone(), |w| options.weight(w)))
        }
        ("nll_loss_with", 3) => {
            let mut options = NllLoss::new().reduction(p.reduction(2));
            if let Some(class) = p.maybe(0) {
                options = options.ignore_index(class);
            }
            x.nll_loss_with(y, weight.map_or(options.clone(), |w| options.weight(w)))
        }
        ("binary_cross_entropy", 1) => {
            let options = BinaryCrossEntropy::new().reduction(p.reduction(0));
            x.binary_cross_entropy(y, &options.weight(weight?))
        }
        ("binary_cross_entropy_with_logits", 1) => {
            let options = BinaryCrossEntropyWithLogits::new().reduction(p.reduction(0));
            x.binary_cross_entropy_with_logits(y, &options.weight(weight?).pos_weight(&inputs[3]))
        }
        ("ctc_loss", 3) => {
            let options = CtcLoss::new().blank(p.size(0)).reduction(p.reduction(1)).zero_infinity(p.flag(2));
            x.log_softmax(-1).and_then(|x| x.ctc_loss(y, &inputs[2], &inputs[3], &options))
        }
        ("grid_sample", 3) => {
            let mode = match p.0[0] {
                "bilinear" => GridMode::Linear,
                "nearest" => GridMode::Nearest,
                _ => GridMode::Cubic,
            };
            let padding = match p.0[1] {
                "zeros" => GridPadding::Zeros,
                "border" => GridPadding::Border,
                _ => GridPadding::Reflection,
            };
            x.grid_sample(y, &GridSample::new().mode(mode).padding(padding).align_corners(p.flag(2)))
        }
        ("affine_grid", 2) => x.affine_grid(&p.sizes(0), p.flag(1)),
        ("interpolate", 2) => {
            let mode = if p.0[1] == "linear" { InterpolateMode::Linear } else { InterpolateMode::Cubic };
            let options = match p.0[0] {
                text if text.contains('.') => Interpolate::by_scale(&list::<f64>(text.trim_matches(['[', ']']))),
                _ => Interpolate::to_size(&p.sizes(0)[..]),
            };
            x.interpolate(&options.mode(mode).antialias(true))
        }
        _ => return None,
    };
    Some(out.map(|y| vec![y]))
}
