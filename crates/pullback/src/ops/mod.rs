//! The operations, one file per family. Each is declared once, as a row with its documentation and samples and an
//! implementation with its rules.

pub(crate) mod arith;
mod bins;
mod cast;
mod choose;
mod compare;
mod diag;
mod discrete;
mod extremes;
pub(crate) mod family;
mod fill;
mod index;
mod join;
mod linalg;
mod loss;
mod matmul;
mod median;
mod modulo;
mod moments;
mod nan;
mod norm;
mod pairwise;
mod power;
mod prod;
mod quantile;
mod reduce;
mod reduction;
pub(crate) mod region;
mod regression;
mod running;
mod scan;
pub(crate) mod shape;
mod softmax;
mod sort;
pub(crate) mod structural;
pub mod table;
mod unary;

pub use join::{cat, stack};
pub use linalg::norms::MatrixNorm;
pub use linalg::power::multi_dot;
pub use loss::Reduction;
pub use matmul::einsum;
pub use quantile::Interpolation;

/// The tables of the families.
static FAMILIES: &[&[table::OpInfo]] = &[
    arith::OPS,
    bins::OPS,
    cast::OPS,
    choose::OPS,
    compare::LOGIC,
    compare::OPS,
    diag::OPS,
    extremes::OPS,
    fill::OPS,
    index::elements::OPS,
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
    loss::OPS,
    matmul::OPS,
    matmul::tensordot::OPS,
    median::OPS,
    modulo::OPS,
    moments::OPS,
    nan::OPS,
    norm::OPS,
    pairwise::OPS,
    power::OPS,
    prod::OPS,
    quantile::OPS,
    reduce::OPS,
    region::OPS,
    regression::OPS,
    running::OPS,
    scan::OPS,
    shape::reorder::OPS,
    shape::repeat::OPS,
    shape::reshape::OPS,
    shape::slice::OPS,
    shape::split::OPS,
    softmax::OPS,
    sort::OPS,
    unary::activation::OPS,
    unary::activation::WITH_PARAMETERS,
    unary::exponential::OPS,
    unary::gated::CLAMPED,
    unary::gated::OPS,
    unary::rounding::OPS,
    unary::sign::OPS,
    unary::special::OPS,
    unary::special::WITH_PARAMETERS,
    unary::trigonometric::OPS,
];

/// Every operation.
pub fn all() -> impl Iterator<Item = &'static table::OpInfo> {
    FAMILIES.iter().copied().flatten()
}
