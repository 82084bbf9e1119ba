//! The chapters of the book, whose code blocks are tests. `scripts/book` fails if one is missing here.

/// Includes each chapter as the documentation of a struct.
macro_rules! chapters {
    ($($name:ident $file:literal)*) => { $(
        #[doc = include_str!(concat!("../../../book/src/", $file))]
        struct $name;
    )* };
}

chapters! {
    Introduction "introduction.md"
    Tensors "tensors.md"
    Transforms "transforms.md"
    Extending "extending.md"
    Functions "functions.md"
}
