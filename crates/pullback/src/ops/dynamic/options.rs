//! Structs of options, whose fields are parameters of their own.

use smallvec::SmallVec;

use super::{Argument, Arguments, Literal, Parameter};
use crate::error::bail;
use crate::nn::{
    Attention, AvgPool, BinaryCrossEntropy, BinaryCrossEntropyWithLogits, Conv, ConvPadding, ConvTranspose,
    CrossEntropy, CtcLoss, GridMode, GridPadding, GridSample, Interpolate, InterpolateMode, MaxPool, NllLoss, Patches,
    PerDim,
};
use crate::random::Key;
use crate::{PadMode, Reduction, Result, Tensor};

/// Writes the parameters of a struct of options, and how it is made of them.
macro_rules! options {
    ($($t:ty, |$op:ident| { $($name:ident: $field:ty $(= $default:expr)?),* $(,)? } => $made:expr;)*) => { $(
        impl Argument for $t {
            fn describe(all: &mut Vec<Parameter>, _: &'static str, _: Option<Literal>) {
                $(<$field as Argument>::describe(all, stringify!($name), options!(@default $($default)?));)*
            }
            fn take(arguments: &mut Arguments, _: &'static str, _: Option<Literal>) -> Result<$t> {
                let $op = arguments.operation;
                $(let $name = <$field as Argument>::take(arguments, stringify!($name), options!(@default $($default)?))?;)*
                $made
            }
        }
    )* };
    (@default) => { None };
    (@default $default:expr) => { Some($default) };
}

const ZERO: Literal = Literal::Int(0);
const ONE: Literal = Literal::Int(1);
const FALSE: Literal = Literal::Bool(false);
const TRUE: Literal = Literal::Bool(true);
/// The target that other frameworks leave out unless told otherwise.
const IGNORED: Literal = Literal::Int(-100);

options! {
    Conv, |_op| { stride: PerDim = ONE, padding: ConvPadding = ZERO, dilation: PerDim = ONE, groups: usize = ONE } =>
        Ok(Conv::new().stride(stride).padding(padding).dilation(dilation).groups(groups));

    ConvTranspose, |_op| {
        stride: PerDim = ONE, padding: PerDim = ZERO, output_padding: PerDim = ZERO, groups: usize = ONE,
        dilation: PerDim = ONE,
    } => Ok(ConvTranspose::new()
        .stride(stride)
        .padding(padding)
        .output_padding(output_padding)
        .groups(groups)
        .dilation(dilation));

    MaxPool, |_op| {
        kernel_size: PerDim, stride: Option<PerDim>, padding: PerDim = ZERO, dilation: PerDim = ONE,
        ceil_mode: bool = FALSE,
    } => {
        let options = MaxPool::new(kernel_size).padding(padding).dilation(dilation).ceil_mode(ceil_mode);
        Ok(match stride {
            Some(stride) => options.stride(stride),
            None => options,
        })
    };

    AvgPool, |_op| {
        kernel_size: PerDim, stride: Option<PerDim>, padding: PerDim = ZERO, ceil_mode: bool = FALSE,
        count_include_pad: bool = TRUE, divisor_override: Option<usize>,
    } => {
        let mut options =
            AvgPool::new(kernel_size).padding(padding).ceil_mode(ceil_mode).count_include_pad(count_include_pad);
        if let Some(stride) = stride {
            options = options.stride(stride);
        }
        if let Some(divisor) = divisor_override {
            options = options.divisor_override(divisor);
        }
        Ok(options)
    };

    Patches, |_op| { kernel_size: PerDim, dilation: PerDim = ONE, padding: PerDim = ZERO, stride: PerDim = ONE } =>
        Ok(Patches::new(kernel_size).dilation(dilation).padding(padding).stride(stride));

    Attention, |op| {
        attn_mask: Option<Tensor>, dropout_p: f64 = Literal::Float(0.0), is_causal: bool = FALSE, scale: Option<f64>,
        enable_gqa: bool = FALSE, seed: Option<u64>,
    } => {
        let mut options = Attention::new().causal(is_causal).enable_gqa(enable_gqa);
        if let Some(mask) = attn_mask {
            options = options.mask(&mask);
        }
        if let Some(scale) = scale {
            options = options.scale(scale);
        }
        match seed {
            Some(seed) => options = options.dropout(dropout_p, Key::new(seed)),
            None if dropout_p != 0.0 => bail!(Value, "{op}: expected a `seed` for a dropout of {dropout_p}"),
            None => {}
        }
        Ok(options)
    };

    Interpolate, |op| {
        size: Option<PerDim>, scale_factor: Option<SmallVec<[f64; 4]>>, mode: InterpolateMode,
        align_corners: Option<bool>, antialias: bool = FALSE,
    } => {
        let options = match (size, scale_factor) {
            (Some(size), None) => Interpolate::to_size(size),
            (None, Some(scale)) => Interpolate::by_scale(&scale),
            _ => bail!(Value, "{op}: expected one of `size` and `scale_factor`"),
        };
        Ok(options.mode(mode).align_corners(align_corners.unwrap_or(false)).antialias(antialias))
    };

    CtcLoss, |_op| { blank: usize = ZERO, reduction: Reduction, zero_infinity: bool = FALSE } =>
        Ok(CtcLoss::new().blank(blank).zero_infinity(zero_infinity).reduction(reduction));

    GridSample, |_op| { mode: GridMode, padding_mode: GridPadding, align_corners: Option<bool> } =>
        Ok(GridSample::new().mode(mode).padding(padding_mode).align_corners(align_corners.unwrap_or(false)));

    CrossEntropy, |_op| {
        weight: Option<Tensor>, ignore_index: i64 = IGNORED, reduction: Reduction,
        label_smoothing: f64 = Literal::Float(0.0),
    } => {
        let options =
            CrossEntropy::new().ignore_index(ignore_index).label_smoothing(label_smoothing).reduction(reduction);
        Ok(weight.map_or(options.clone(), |w| options.weight(&w)))
    };

    NllLoss, |_op| { weight: Option<Tensor>, ignore_index: i64 = IGNORED, reduction: Reduction } => {
        let options = NllLoss::new().ignore_index(ignore_index).reduction(reduction);
        Ok(weight.map_or(options.clone(), |w| options.weight(&w)))
    };

    BinaryCrossEntropy, |_op| { weight: Option<Tensor>, reduction: Reduction } => {
        let options = BinaryCrossEntropy::new().reduction(reduction);
        Ok(weight.map_or(options.clone(), |w| options.weight(&w)))
    };

    BinaryCrossEntropyWithLogits, |_op| {
        weight: Option<Tensor>, reduction: Reduction, pos_weight: Option<Tensor>,
    } => {
        let options = BinaryCrossEntropyWithLogits::new().reduction(reduction);
        let options = weight.map_or(options.clone(), |w| options.weight(&w));
        Ok(pos_weight.map_or(options.clone(), |w| options.pos_weight(&w)))
    };
}

/// The ways to pad.
const PAD_MODES: &[&str] = &["constant", "reflect", "replicate", "circular"];

impl Argument for PadMode {
    fn describe(all: &mut Vec<Parameter>, _: &'static str, _: Option<Literal>) {
        <PadName as Argument>::describe(all, "mode", Some(Literal::Name(PAD_MODES[0])));
        <f64 as Argument>::describe(all, "value", Some(Literal::Float(0.0)));
    }
    fn take(arguments: &mut Arguments, _: &'static str, _: Option<Literal>) -> Result<PadMode> {
        let PadName(mode) = Argument::take(arguments, "mode", Some(Literal::Name(PAD_MODES[0])))?;
        let value = f64::take(arguments, "value", Some(Literal::Float(0.0)))?;
        Ok(match mode {
            0 => PadMode::Constant(value),
            1 => PadMode::Reflect,
            2 => PadMode::Replicate,
            _ => PadMode::Circular,
        })
    }
}

/// The place of a name among [`PAD_MODES`].
struct PadName(usize);

impl super::argument::FromValue for PadName {
    const KIND: super::Kind = super::Kind::Choice(PAD_MODES);
    fn from_value(value: super::Value, operation: &'static str, name: &'static str) -> Result<PadName> {
        match value {
            super::Value::Choice(k) => Ok(PadName(k)),
            other => super::unexpected(operation, name, &other),
        }
    }
}
