"""What users do wrong with `autograd.Function`: the class of each exception, and what its message names."""

import re
import sys
import traceback
import warnings

import pytest

import pullback as pb
from pullback.autograd import Function
from pullback.autograd.function import FunctionCtx, once_differentiable
from pullback.func import grad, jacfwd, jvp, vmap

X = pb.tensor([1.0, 2.0, 3.0], dtype=pb.float64)
BATCH = pb.ones((4, 3), dtype=pb.float64)


def make(name="Own", forward=None, setup=None, **members):
    """A class of functions: twice its argument, unless told otherwise."""
    body = {
        "forward": staticmethod(forward or (lambda x: x * 2)),
        "setup_context": staticmethod(setup or (lambda ctx, inputs, output: None)),
    }
    for key, value in members.items():
        body[key] = value if isinstance(value, bool) else staticmethod(value)
    return type(name, (Function,), body)


def total(function, *more):
    return lambda x: function.apply(x, *more).sum()


def pushed(function, x=X, tangent=None):
    return jvp(function.apply, (x,), (pb.ones_like(x) if tangent is None else tangent,))


def refuse(call, kind, *parts):
    """The message of the exception that `call` raises, which is exactly a `kind`, and has these parts in this order."""
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    text = str(caught.value)
    assert re.search(".*".join(re.escape(part) for part in parts), text, re.DOTALL), text
    return text


def two(x, w):
    return x * w


BACKWARD = {
    "f01_too_few_gradients": (
        lambda: grad(total(make(forward=two, backward=lambda ctx, g: g), X))(X),
        RuntimeError,
        ["`backward` of function `Own`", "expected 2 gradients", "argument 0 (x), argument 1 (w)", "got 1", "None"],
    ),
    "f01_no_gradients": (
        lambda: grad(total(make(backward=lambda ctx, g: ())))(X),
        RuntimeError,
        ["`backward` of function `Own`", "expected 1 gradient", "got 0"],
    ),
    "f02_too_many_gradients": (
        lambda: grad(total(make(backward=lambda ctx, g: (g, g))))(X),
        RuntimeError,
        ["`backward` of function `Own`", "expected 1 gradient", "got 2"],
    ),
    "f02_too_many_gradients_under_the_generated_rule": (
        lambda: vmap(grad(total(make(backward=lambda ctx, g: (g, g), generate_vmap_rule=True))))(BATCH),
        RuntimeError,
        ["`backward` of function `Own`", "expected 1 gradient", "got 2"],
    ),
    "f04_no_tensor": (
        lambda: grad(total(make(backward=lambda ctx, g: "g")))(X),
        TypeError,
        ["`backward` of function `Own`", "expected a tensor or None", "argument 0 (x)", "got str"],
    ),
    "f04_a_list": (
        lambda: grad(total(make(backward=lambda ctx, g: [g])))(X),
        TypeError,
        ["`backward` of function `Own`", "expected a tensor or None", "argument 0 (x)", "got list"],
    ),
    "f05_a_tensor_for_a_number": (
        lambda: grad(total(make(forward=lambda x, n: x * n, backward=lambda ctx, g: (g, g)), 2))(X),
        RuntimeError,
        ["`backward` of function `Own`", "expected None", "argument 1 (n), which is not a tensor", "a tensor f64[3]"],
    ),
    "f08_another_shape": (
        lambda: grad(total(make(backward=lambda ctx, g: g[:2])))(X),
        RuntimeError,
        ["`backward` of function `Own`", "f64[3]", "argument 0 (x)", "got f64[2]"],
    ),
    "f08_a_smaller_shape": (
        lambda: grad(total(make(backward=lambda ctx, g: g.sum())))(X),
        RuntimeError,
        ["`backward` of function `Own`", "f64[3]", "argument 0 (x)", "got f64[]"],
    ),
    "f08_another_shape_under_the_generated_rule": (
        lambda: vmap(grad(total(make(backward=lambda ctx, g: g[:2], generate_vmap_rule=True))))(BATCH),
        RuntimeError,
        ["`backward` of function `Own`", "f64[3]", "argument 0 (x)", "got f64[2]"],
    ),
    "c15_a_larger_shape_that_nothing_explains": (
        lambda: grad(total(make(backward=lambda ctx, g: pb.ones(10, dtype=pb.float64))))(X[0]),
        RuntimeError,
        ["`backward` of function `Own`", "f64[]", "argument 0 (x)", "got f64[10]", "sum_to"],
    ),
    "f09_complex_for_real": (
        lambda: grad(total(make(backward=lambda ctx, g: g.to(pb.complex128))))(X),
        TypeError,
        ["`backward` of function `Own`", "float64", "argument 0 (x)", "c128[3]", "real part"],
    ),
    "f15_integers_for_floats": (
        lambda: grad(total(make(backward=lambda ctx, g: pb.ones(3, dtype=pb.int64))))(X),
        TypeError,
        ["`backward` of function `Own`", "float64", "argument 0 (x)", "i64[3]"],
    ),
    "c19_a_gradient_for_integers": (
        lambda: grad(total(make(forward=lambda x, i: x[i], backward=lambda ctx, g: (g * pb.ones_like(X), g)), pb.tensor(1)))(X),
        RuntimeError,
        ["`backward` of function `Own`", "expected None", "argument 1 (i)", "i64[]", "takes none", "got f64[]"],
    ),
    "f13_neither_rule": (
        lambda: grad(total(make()))(X),
        NotImplementedError,
        ["`Own`", "neither `backward` nor `jvp`"],
    ),
    "f14_both_names": (
        lambda: make(backward=lambda ctx, g: g, vjp=lambda ctx, g: g),
        TypeError,
        ["`Own`", "`backward` and `vjp`", "keep one"],
    ),
    "f06_once_differentiable_twice": (
        lambda: grad(total_of_grad(make(backward=once_differentiable(lambda ctx, g: g * 2))))(X),
        RuntimeError,
        ["`backward` of function `Own`", "differentiable once", "decorator `once_differentiable`"],
    ),
    "c14_none_for_a_container": (
        lambda: grad(lambda x: make(forward=lambda xs: xs[0] * xs[1], backward=lambda ctx, g: (None,)).apply([x, x]).sum())(X),
        RuntimeError,
        ["`backward` of function `Own`", "argument 0 (xs)", "[tensor, tensor]", "got None"],
    ),
    "c14_another_structure": (
        lambda: grad(lambda x: make(forward=lambda xs: xs[0] * xs[1], backward=lambda ctx, g: ([g],)).apply([x, x]).sum())(X),
        RuntimeError,
        ["`backward` of function `Own`", "argument 0 (xs)", "[tensor, tensor]", "got [value]"],
    ),
}


def total_of_grad(function):
    return lambda x: (grad(total(function))(x) * x).sum()


SETUP = {
    "g01_a_captured_tensor_in_forward": (
        lambda: grad(lambda w: make(forward=lambda x: x * w, backward=lambda ctx, g: g).apply(X).sum())(X),
        RuntimeError,
        ["`forward` of function `Own`", "grad", "not one of the arguments", "as an input"],
    ),
    "g01_a_captured_tensor_in_backward": (
        lambda: grad(lambda w: (grad(total(make(backward=lambda ctx, g: g * w)))(X) * w).sum())(X),
        RuntimeError,
        ["`backward` of function `Own`", "grad", "not one of the arguments", "as an input"],
    ),
    "g03_a_tensor_as_attribute": (
        lambda: grad(total(make(setup=lambda ctx, inputs, output: setattr(ctx, "x", inputs[0]))))(X),
        TypeError,
        ["function `Own`", "`ctx.x`", "got a tensor", "ctx.save_for_backward"],
    ),
    "g03_a_container_with_tensors_as_attribute": (
        lambda: grad(total(make(setup=lambda ctx, inputs, output: setattr(ctx, "x", {"a": [inputs[0]]}))))(X),
        TypeError,
        ["function `Own`", "`ctx.x`", "got a container with tensors"],
    ),
    "saving_a_number": (
        lambda: grad(total(make(setup=lambda ctx, inputs, output: ctx.save_for_backward(1, X))))(X),
        TypeError,
        ["function `Own`", "expected a tensor or None as argument 0 of `ctx.save_for_backward`", "got int", "attribute"],
    ),
    "saving_a_number_for_forward": (
        lambda: grad(total(make(setup=lambda ctx, inputs, output: ctx.save_for_forward(None, "x"))))(X),
        TypeError,
        ["function `Own`", "expected a tensor or None as argument 1 of `ctx.save_for_forward`", "got str"],
    ),
    "marking_a_number": (
        lambda: grad(total(make(setup=lambda ctx, inputs, output: ctx.mark_non_differentiable(3))))(X),
        TypeError,
        ["function `Own`", "expected a tensor as argument 0 of `ctx.mark_non_differentiable`", "got int"],
    ),
    "marking_what_is_no_output": (
        lambda: grad(total(make(setup=lambda ctx, inputs, output: ctx.mark_non_differentiable(X + 1))))(X),
        RuntimeError,
        ["`setup_context` of function `Own`", "expected outputs in `ctx.mark_non_differentiable`", "argument 0"],
    ),
    "materialize_is_a_bool": (
        lambda: grad(total(make(setup=lambda ctx, inputs, output: ctx.set_materialize_grads(1))))(X),
        TypeError,
        ["function `Own`", "True or False", "got int"],
    ),
    "reserved_names": (
        lambda: grad(total(make(setup=lambda ctx, inputs, output: setattr(ctx, "saved_tensors", 1))))(X),
        AttributeError,
        ["function `Own`", "`ctx.saved_tensors`", "choose another name"],
    ),
    "unknown_names": (
        lambda: grad(total(make(backward=lambda ctx, g: g * ctx.factor)))(X),
        AttributeError,
        ["the context of function `Own` has no attribute `factor`"],
    ),
    "saving_too_late": (
        lambda: grad(total(make(backward=lambda ctx, g: ctx.save_for_backward(g))))(X),
        RuntimeError,
        ["`backward` of function `Own`", "`ctx.save_for_backward`", "`setup_context`"],
    ),
    "reading_too_early": (
        lambda: grad(total(make(setup=lambda ctx, inputs, output: ctx.saved_tensors)))(X),
        RuntimeError,
        ["function `Own`", "`ctx.saved_tensors`", "nothing is saved yet"],
    ),
    "g22_saved_for_the_other_mode_only": (
        lambda: pushed(
            make(
                setup=lambda ctx, inputs, output: ctx.save_for_backward(*inputs), jvp=lambda ctx, t: t * ctx.saved_tensors[0]
            )
        ),
        RuntimeError,
        ["`jvp` of function `Own`", "only with `ctx.save_for_backward`", "`ctx.save_for_forward`"],
    ),
    "g22_saved_for_forward_only": (
        lambda: grad(
            total(
                make(
                    setup=lambda ctx, inputs, output: ctx.save_for_forward(*inputs),
                    backward=lambda ctx, g: g * ctx.saved_tensors[0],
                )
            )
        )(X),
        RuntimeError,
        ["`backward` of function `Own`", "only with `ctx.save_for_forward`", "`ctx.save_for_backward`"],
    ),
    "g14_changed_without_a_mark": (
        lambda: make(forward=lambda x: x.mul_(2)).apply(X),
        RuntimeError,
        ["`forward` of function `Own`", "argument 0 (x)", "changed in place without `ctx.mark_dirty`", "clone"],
    ),
    "dirty_but_not_returned": (
        lambda: make(
            forward=lambda x: x.mul_(2) + 1, setup=lambda ctx, inputs, output: ctx.mark_dirty(*inputs)
        ).apply(X),
        RuntimeError,
        ["`forward` of function `Own`", "argument 0 (x) to be returned", "`ctx.mark_dirty`"],
    ),
    "dirty_is_for_tensors": (
        lambda: make(forward=lambda x: x.mul_(2), setup=lambda ctx, inputs, output: ctx.mark_dirty("x")).apply(X),
        TypeError,
        ["function `Own`", "expected a tensor as argument 0 of `ctx.mark_dirty`", "got str"],
    ),
    "dirty_inside_of_a_container": (
        lambda: make(
            forward=lambda xs: xs[0].mul_(2), setup=lambda ctx, inputs, output: ctx.mark_dirty(inputs[0][0])
        ).apply([X]),
        RuntimeError,
        ["`forward` of function `Own`", "argument 0 (xs)[0]", "container"],
    ),
}

JVP = {
    "f20_too_few_tangents": (
        lambda: pushed(make(forward=lambda x: (x * 2, x * 3), jvp=lambda ctx, t: t)),
        RuntimeError,
        ["`jvp` of function `Own`", "expected 2 tangents, one for each output", "got 1"],
    ),
    "f20_too_many_tangents_although_none": (
        lambda: pushed(make(jvp=lambda ctx, t: (t, None))),
        RuntimeError,
        ["`jvp` of function `Own`", "expected 1 tangent", "got 2"],
    ),
    "f21_no_tensor": (
        lambda: pushed(make(jvp=lambda ctx, t: 2.0)),
        TypeError,
        ["`jvp` of function `Own`", "expected a tensor or None as the tangent of output 0", "got float"],
    ),
    "f22_a_tangent_for_a_marked_output": (
        lambda: pushed(make(setup=lambda ctx, i, output: ctx.mark_non_differentiable(output), jvp=lambda ctx, t: t)),
        RuntimeError,
        ["`jvp` of function `Own`", "expected None as the tangent of output 0", "not differentiable"],
    ),
    "f22_a_tangent_for_integers": (
        lambda: pushed(make(forward=lambda x: (x * 2, x.argmax()), jvp=lambda ctx, t: (t * 2, t.sum()))),
        RuntimeError,
        ["`jvp` of function `Own`", "expected None as the tangent of output 1", "not differentiable"],
    ),
    "f23_none_for_a_differentiable_output": (
        lambda: pushed(make(jvp=lambda ctx, t: None)),
        RuntimeError,
        ["`jvp` of function `Own`", "expected a tangent for output 0 (f64[3]), got None", "zeros"],
    ),
    "f24_another_shape": (
        lambda: pushed(make(jvp=lambda ctx, t: t[:1])),
        RuntimeError,
        ["`jvp` of function `Own`", "f64[3]", "output 0", "got f64[1]"],
    ),
    "f25_integers": (
        lambda: pushed(make(jvp=lambda ctx, t: pb.ones(3, dtype=pb.int64))),
        TypeError,
        ["`jvp` of function `Own`", "float64", "output 0", "i64[3]"],
    ),
    "f29_neither_rule": (
        lambda: pushed(make()),
        NotImplementedError,
        ["`Own`", "neither `backward` nor `jvp`"],
    ),
    "a_rule_with_a_constant_term_has_no_transpose": (
        lambda: grad(total(make(jvp=lambda ctx, t: t + 1)))(X),
        RuntimeError,
        ["`jvp` of function `Own`", "linear", "output 0"],
    ),
}


def returning(result, **members):
    return make(vmap=lambda info, in_dims, x: result(info, x), backward=lambda ctx, g: g, **members)


VMAP = {
    "c08_neither_rule_nor_flag": (
        lambda: vmap(make().apply)(BATCH),
        NotImplementedError,
        ["vmap", "function `Own` has no batching rule", "`generate_vmap_rule = True`", "`vmap(info, in_dims, *args)`"],
    ),
    "c08_both": (
        lambda: make(generate_vmap_rule=True, vmap=lambda info, in_dims, x: (x, 0)),
        TypeError,
        ["function `Own`", "`vmap`", "`generate_vmap_rule = True`", "remove one"],
    ),
    "the_flag_is_a_bool": (
        lambda: type("Own", (Function,), {"generate_vmap_rule": "yes"}),
        TypeError,
        ["function `Own`", "True or False for `generate_vmap_rule`", "got yes"],
    ),
    "f40_no_tuple": (
        lambda: vmap(returning(lambda info, x: x * 2).apply)(BATCH),
        TypeError,
        ["`vmap` of function `Own`", "expected a tuple (output, out_dims)", "got Tensor"],
    ),
    "f40_a_list": (
        lambda: vmap(returning(lambda info, x: [x, 0]).apply)(BATCH),
        TypeError,
        ["`vmap` of function `Own`", "expected a tuple (output, out_dims)", "got list"],
    ),
    "f41_another_length": (
        lambda: vmap(returning(lambda info, x: (x, 0, 0)).apply)(BATCH),
        RuntimeError,
        ["`vmap` of function `Own`", "expected a tuple (output, out_dims)", "length 3"],
    ),
    "f42_a_tuple_for_one_tensor": (
        lambda: vmap(returning(lambda info, x: (x * 2, (0,))).apply)(BATCH),
        RuntimeError,
        ["`vmap` of function `Own`", "out_dims", "tensor", "got (dim,)"],
    ),
    "f42_a_list_for_a_tuple": (
        lambda: vmap(returning(lambda info, x: ((x * 2, x * 3), [0, 0])).apply)(BATCH),
        RuntimeError,
        ["`vmap` of function `Own`", "out_dims", "(tensor, tensor)", "got [dim, dim]"],
    ),
    "c09_one_dim_for_two_outputs": (
        lambda: vmap(returning(lambda info, x: ((x * 2, x * 3), (0,))).apply)(BATCH),
        RuntimeError,
        ["`vmap` of function `Own`", "out_dims", "(tensor, tensor)", "got (dim,)"],
    ),
    "f43_out_of_range": (
        lambda: vmap(returning(lambda info, x: (x * 2, 2)).apply)(BATCH),
        IndexError,
        ["`vmap` of function `Own`", "out_dim 2 of output 0 is out of range for f64[4,3]"],
    ),
    "f43_out_of_range_below": (
        lambda: vmap(returning(lambda info, x: ((x, x * 2), (0, -3))).apply)(BATCH),
        IndexError,
        ["`vmap` of function `Own`", "out_dim -3 of output 1 is out of range for f64[4,3]"],
    ),
    "f44_a_bool": (
        lambda: vmap(returning(lambda info, x: (x * 2, False)).apply)(BATCH),
        TypeError,
        ["`vmap` of function `Own`", "an int or None as the out_dim of output 0", "got bool"],
    ),
    "f44_a_string": (
        lambda: vmap(returning(lambda info, x: (x * 2, "0")).apply)(BATCH),
        TypeError,
        ["`vmap` of function `Own`", "an int or None as the out_dim of output 0", "got str"],
    ),
    "f44_a_float": (
        lambda: vmap(returning(lambda info, x: (x, 0.0)).apply)(BATCH),
        TypeError,
        ["`vmap` of function `Own`", "an int or None as the out_dim of output 0", "got float"],
    ),
    "f45_another_batch_size": (
        lambda: vmap(returning(lambda info, x: (x[:2] * 2, 0)).apply)(BATCH),
        RuntimeError,
        ["`vmap` of function `Own`", "expected batch size 4", "output 0", "got 2"],
    ),
    "f45_a_batch_of_one": (
        lambda: vmap(returning(lambda info, x: (x[:1] * 2, 0)).apply)(BATCH),
        RuntimeError,
        ["`vmap` of function `Own`", "expected batch size 4", "output 0", "got 1"],
    ),
    "f46_an_input_with_another_dim": (
        lambda: vmap(returning(lambda info, x: (x, 1)).apply)(pb.ones((4, 4))),
        RuntimeError,
        ["`vmap` of function `Own`", "output 0 is argument 0 (x) as it came", "batch dim is 0, got 1"],
    ),
    "f49_a_dim_was_forgotten": (
        lambda: vmap(returning(lambda info, x: (x.sum(), 0)).apply)(BATCH),
        IndexError,
        ["`vmap` of function `Own`", "out_dim 0 of output 0 is out of range for f64[]"],
    ),
    "g10_randomness_that_is_forbidden": (
        lambda: vmap(returning(lambda info, x: (x * pb.rand(4, 3, dtype=pb.float64), 0)).apply)(BATCH),
        RuntimeError,
        ["`vmap` of function `Own`", "randomness"],
    ),
    "g10_randomness_that_is_forbidden_under_the_generated_rule": (
        lambda: vmap(make(forward=lambda x: x * pb.rand(3, dtype=pb.float64), generate_vmap_rule=True).apply)(BATCH),
        RuntimeError,
        ["`forward` of function `Own`", "randomness"],
    ),
    "g08_a_generated_rule_over_other_software": (
        lambda: vmap(make(forward=lambda x: pb.tensor(x.numpy()), generate_vmap_rule=True).apply)(BATCH),
        RuntimeError,
        ["`forward` of function `Own`", "numpy", "batched", "static method `vmap(info, in_dims, *args)`"],
    ),
}

APPLY = {
    "unknown_keyword": (
        lambda: make().apply(X, factor=2),
        TypeError,
        ["Own.apply", "parameters of `forward` (x)", "got `factor`"],
    ),
    "given_twice": (
        lambda: make().apply(X, x=X),
        TypeError,
        ["Own.apply", "`x`", "given twice"],
    ),
    "too_many": (
        lambda: make().apply(X, X),
        TypeError,
        ["Own.apply", "expected at most 1 arguments (x), got 2"],
    ),
    "too_few": (
        lambda: make(forward=two).apply(X),
        TypeError,
        ["Own.apply", "expected an argument for parameter `w` of `forward` (x, w), got none"],
    ),
    "a_gap": (
        lambda: make(forward=lambda x, w, n=1: x).apply(X, n=3),
        TypeError,
        ["Own.apply", "parameter `w`", "got none"],
    ),
    "f48_keyword_only": (
        lambda: eval("make(forward=lambda x, *, w: x).apply(X, w=X)", globals()),
        TypeError,
        ["Own.apply", "`w`", "keyword only", "`*`"],
    ),
    "c07_split_without_setup_context": (
        lambda: type("Own", (Function,), {"forward": staticmethod(lambda x: x)}).apply(X),
        TypeError,
        ["Own.apply", "got 1", "first parameter of `forward` is `ctx`"],
    ),
    "no_forward": (
        lambda: type("Own", (Function,), {}).apply(X),
        NotImplementedError,
        ["`forward`", "static method"],
    ),
    "instances": (
        lambda: make()(X),
        TypeError,
        ["`Own`", "no instances", "`Own.apply(...)`"],
    ),
    "contexts_are_not_made": (lambda: FunctionCtx(), TypeError, []),
    "once_differentiable_takes_a_method": (
        lambda: once_differentiable(3),
        TypeError,
        ["once_differentiable", "got 3"],
    ),
}

TABLE = {**BACKWARD, **SETUP, **JVP, **VMAP, **APPLY}


@pytest.mark.parametrize("case", TABLE)
def test_a_mistake_is_named(case):
    call, kind, parts = TABLE[case]
    refuse(call, kind, *parts)


@pytest.mark.parametrize("case", TABLE)
def test_the_library_works_after_a_mistake(case):
    call, kind, _ = TABLE[case]
    with pytest.raises(kind):
        call()
    good = make(backward=lambda ctx, g: g * 2, generate_vmap_rule=True)
    assert vmap(grad(total(good)))(BATCH).tolist() == [[2.0] * 3] * 4


def test_messages_speak_of_python():
    for call, kind, _ in TABLE.values():
        with pytest.raises(kind) as caught:
            call()
        text = str(caught.value)
        for word in ("::", "Cotangent", "Tangent", "trait", "closure", "Err(", "Result"):
            assert word not in text, text


def test_what_is_marked_dirty_but_no_argument_is_a_warning():
    f = make(forward=lambda x: x.mul_(2), setup=lambda ctx, inputs, output: ctx.mark_dirty(*inputs, X))
    with pytest.warns(UserWarning, match="`ctx.mark_dirty` is for arguments"):
        assert f.apply(X.clone()).tolist() == [2.0, 4.0, 6.0]
    with warnings.catch_warnings(), pytest.raises(UserWarning):
        warnings.simplefilter("error")
        f.apply(X.clone())


class Boom(Exception):
    pass


@pytest.mark.parametrize("method", ["forward", "setup_context", "backward", "jvp", "vmap"])
@pytest.mark.parametrize("transformed", [True, False])
def test_c175_exceptions_of_the_user_arrive_as_they_are(method, transformed):
    raised = Boom("boom")

    def fail(*_):
        raise raised

    members = {
        "forward": lambda x: x * 2,
        "setup_context": lambda ctx, inputs, output: None,
        "backward": lambda ctx, g: g * 2,
        "jvp": lambda ctx, t: t * 2,
        "vmap": lambda info, in_dims, x: (x * 2, in_dims[0]),
    }
    members[method] = fail
    own = type("Own", (Function,), {name: staticmethod(f) for name, f in members.items()})
    f = total(own)
    if method == "jvp":
        call = (lambda: jacfwd(grad(lambda x: x.sum()))(X), lambda: jvp(f, (X,), (X,)))[1]
    elif method == "vmap":
        call = lambda: vmap(f)(BATCH)
    else:
        call = lambda: grad(f)(X)
    if transformed and method != "vmap":
        inner = call
        call = lambda: grad(lambda y: (inner(), y.sum())[1])(X)
    with pytest.raises(Boom) as caught:
        call()
    assert caught.value is raised and caught.value.args == ("boom",)
    frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert frames[-1] == "fail"
    if sys.version_info >= (3, 11):
        assert f"in `{method}` of function `Own`" in caught.value.__notes__


def test_an_interrupt_passes_through():
    def interrupt(ctx, g):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        grad(total(make(backward=interrupt)))(X)


def test_mistakes_in_operations_inside_of_a_rule_say_where():
    text = refuse(lambda: grad(total(make(backward=lambda ctx, g: g @ pb.ones((2, 2), dtype=pb.float64))))(X), ValueError)
    assert "matmul" in text


def test_a_failed_call_changes_nothing_in_place():
    x = X.clone()

    def forward(x):
        x.mul_(2)
        raise Boom

    with pytest.raises(Boom):
        make(forward=forward).apply(x)
    assert x.tolist() == X.tolist()


def test_an_unnamed_parameter_is_named_by_its_number():
    f = make(forward=lambda *xs: xs[0] * xs[1], backward=lambda ctx, g: (g, "w"))
    refuse(lambda: grad(total(f, X))(X), TypeError, "argument 1", "got str")


@pytest.mark.parametrize("call", ["save_for_backward", "save_for_forward", "mark_dirty", "mark_non_differentiable"])
def test_a_context_that_was_kept_saves_nothing_any_more(call):
    kept = []

    class Kept(Function):
        @staticmethod
        def forward(ctx, x):
            kept.append(ctx)
            return 2 * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    x = pb.tensor(1.0)
    grad(Kept.apply)(x)
    for ctx in kept:
        with pytest.raises(RuntimeError, match=f"`Kept`: `ctx.{call}` has no effect any more"):
            getattr(ctx, call)(x)
        with pytest.raises(RuntimeError, match="`ctx.set_materialize_grads` has no effect any more"):
            ctx.set_materialize_grads(False)
