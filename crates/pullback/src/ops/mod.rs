//! The operations, one file per family. Each is declared once, as a row with its documentation and samples and an
//! implementation with its rules.

pub(crate) mod arith;
mod bins;
mod bitwise;
mod bounds;
mod cast;
mod choose;
mod close;
mod combine;
mod compare;
mod complex;
mod counted;
mod diag;
mod discrete;
mod distance;
#[cfg(feature = "dynamic")]
pub mod dynamic;
mod extreme_dim;
mod extremes;
pub(crate) mod family;
#[cfg(feature = "fft")]
pub mod fft;
mod fill;
mod grid;
mod index;
mod join;
mod linalg;
mod loss;
mod matmul;
mod median;
mod mode;
mod modulo;
mod moments;
mod nan;
pub mod nn;
mod norm;
mod pairwise;
mod part_scatter;
mod power;
mod prod;
mod quantile;
mod reduce;
mod reduction;
pub(crate) mod region;
mod regression;
mod running;
mod scaled;
mod scan;
mod selection;
pub(crate) mod shape;
mod softmax;
mod sort;
mod stacks;
mod statistics;
pub(crate) mod structural;
pub mod table;
mod unary;
mod unique;
mod window;

pub use complex::{complex, polar};
pub use grid::{GridOrder, block_diag, broadcast_tensors, cartesian_prod, meshgrid};
pub use index::reduce::Reduce;
pub use join::{cat, stack};
pub use linalg::either::NormOrder;
pub use linalg::norms::MatrixNorm;
pub use linalg::power::multi_dot;
pub use loss::{Classes, Reduction};
pub use matmul::einsum;
pub use matmul::tensordot::Contracted;
pub use modulo::RoundingMode;
pub use quantile::Interpolation;
pub use shape::pad::PadMode;
pub use stacks::{column_stack, dstack, hstack, vstack};
pub use window::{blackman_window, hamming_window, hann_window};

/// The tables of the families. Of forms of one name, those that are called most come first.
static FAMILIES: &[&[table::OpInfo]] = &[
    arith::OPS,
    bins::OPS,
    bitwise::OPS,
    cast::OPS,
    bounds::OPS,
    choose::OPS,
    close::OPS,
    compare::LOGIC,
    compare::OPS,
    combine::OPS,
    complex::OPS,
    diag::OPS,
    distance::OPS,
    extreme_dim::OPS,
    extremes::OPS,
    #[cfg(feature = "fft")]
    fft::OPS,
    fill::OPS,
    grid::OPS,
    index::elements::OPS,
    index::flat::OPS,
    index::masks::OPS,
    index::reduce::OPS,
    index::slices::OPS,
    join::OPS,
    linalg::cholesky::OPS,
    linalg::triangular::OPS,
    linalg::lu::OPS,
    linalg::solve::OPS,
    linalg::det::OPS,
    #[cfg(feature = "linalg")]
    linalg::eig::OPS,
    linalg::eigh::OPS,
    linalg::norms::OPS,
    linalg::power::OPS,
    linalg::product::OPS,
    linalg::qr::OPS,
    linalg::svd::OPS,
    linalg::pinv::OPS,
    loss::OPS,
    matmul::OPS,
    matmul::ranked::OPS,
    matmul::tensordot::OPS,
    median::OPS,
    mode::OPS,
    modulo::OPS,
    moments::OPS,
    nan::OPS,
    nn::activations::OPS,
    nn::attention::OPS,
    nn::class_loss::OPS,
    nn::conv::OPS,
    nn::ctc::OPS,
    nn::embedding::OPS,
    nn::fold::OPS,
    nn::grid_sample::OPS,
    nn::interpolate::OPS,
    nn::losses::OPS,
    nn::norms::OPS,
    nn::pool::OPS,
    nn::shuffle::OPS,
    norm::OPS,
    linalg::either::OPS,
    pairwise::OPS,
    part_scatter::OPS,
    power::OPS,
    prod::OPS,
    quantile::OPS,
    reduce::OPS,
    region::OPS,
    regression::OPS,
    running::OPS,
    scaled::OPS,
    scan::OPS,
    shape::like::OPS,
    shape::pad::OPS,
    shape::reorder::OPS,
    shape::repeat::OPS,
    shape::reshape::OPS,
    shape::slice::OPS,
    shape::split::OPS,
    shape::unfold::OPS,
    selection::OPS,
    softmax::OPS,
    sort::OPS,
    stacks::OPS,
    statistics::OPS,
    unary::activation::OPS,
    unary::activation::WITH_PARAMETERS,
    unary::exponential::OPS,
    unary::gated::CLAMPED,
    unary::gated::OPS,
    unary::normal::OPS,
    unary::rounding::OPS,
    unary::rounding::WITH_PARAMETERS,
    unary::sign::OPS,
    unary::special::ODDS,
    unary::special::OPS,
    unary::special::WITH_PARAMETERS,
    unary::trigonometric::OPS,
    unique::OPS,
    counted::OPS,
    window::OPS,
];

/// Every operation.
pub fn all() -> impl Iterator<Item = &'static table::OpInfo> {
    FAMILIES.iter().copied().flatten()
}
