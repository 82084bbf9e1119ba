use pullback_macros::Tree;

#[derive(Clone)]
struct Tensor;

#[derive(Clone, Tree)]
enum Choice<T = Tensor> {
    One(T),
    None,
}

#[derive(Clone, Tree)]
struct NoLeaf {
    weight: Tensor,
}

#[derive(Clone, Tree)]
struct Borrowing<'a, T = Tensor> {
    weight: &'a T,
}

#[derive(Clone, Tree)]
struct TwoLeaves<T, U> {
    weight: T,
    bias: U,
}

#[derive(Clone, Tree)]
struct Bounded<T: std::fmt::Display> {
    weight: T,
}

#[derive(Clone, Tree)]
struct WrongAttribute<T = Tensor> {
    #[tree(skip)]
    size: usize,
    weight: T,
}

fn main() {}
