use pullback_macros::Tree;

#[derive(Clone)]
struct Tensor;

#[derive(Clone, Tree)]
struct Layer<T = Tensor> {
    weight: T,
    size: usize,
    bias: Tensor,
}

fn main() {}
