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
    Gradients "gradients.md"
    BothModes "both-modes.md"
    Linearize "linearize.md"
    Graphs "graphs.md"
    Jacobians "jacobians.md"
    Curvature "curvature.md"
    Batching "batching.md"
    Models "models.md"
    Options "options.md"
    Implicit "implicit.md"
    ControlFlow "control-flow.md"
    Checkpointing "checkpointing.md"
    Autograd "autograd.md"
    Extending "extending.md"
    Functions "functions.md"
    Closures "closures.md"
    FromPyTorch "from-pytorch.md"
    FromJax "from-jax.md"
    Errors "errors.md"
    Shape "errors/shape.md"
    Dtype "errors/dtype.md"
    Dim "errors/dim.md"
    Index "errors/index.md"
    Value "errors/value.md"
    Arity "errors/arity.md"
    MissingRule "errors/missing_rule.md"
    NotScalar "errors/not_scalar.md"
    NotDifferentiable "errors/not_differentiable.md"
    EscapedTracer "errors/escaped_tracer.md"
    CapturedTracer "errors/captured_tracer.md"
    ConcreteValueNeeded "errors/concrete_value_needed.md"
    Rule "errors/rule.md"
    Randomness "errors/randomness.md"
    InTransform "errors/in_transform.md"
    Anomaly "errors/anomaly.md"
    Io "errors/io.md"
    User "errors/user.md"
    Internal "errors/internal.md"
}

// Its examples use every feature.
#[cfg(all(
    feature = "faer",
    feature = "nalgebra",
    feature = "ndarray",
    feature = "npy",
    feature = "safetensors",
    feature = "serde"
))]
chapters! {
    Files "files.md"
}
