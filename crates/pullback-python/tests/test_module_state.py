"""Objects that hold tensors, called with others: `functional_call`, `named_tensors`, `stack_module_state`."""

import dataclasses

import numpy as np
import pytest

import pullback as pb
from pullback.func import functional_call, grad, jvp, named_tensors, stack_module_state, vmap


def f64(x):
    return pb.tensor(x, dtype=pb.float64)


class Linear:
    def __init__(self, weight, bias=0.0):
        self.weight, self.bias = f64(weight), f64(bias)

    def __call__(self, x):
        return self.weight * x + self.bias


@dataclasses.dataclass(frozen=True)
class Scale:
    factor: object
    name: str = "scale"

    def __call__(self, x):
        return self.factor * x


class Slotted:
    __slots__ = ("owner", "shift")

    def __init__(self, owner):
        self.owner, self.shift = owner, f64(1.0)

    def __call__(self, x):
        return x + self.shift * self.owner.layers[0].weight


class Net:
    def __init__(self, w=2.0):
        self.layers = [Linear(w, 1.0), Scale(f64(3.0))]
        self.extra = {"a": Slotted(self), "b": (f64(0.5),)}
        self.tied = self.layers[0].weight
        self.steps = pb.tensor(0)
        self.function = np.sin
        self.calls = 0

    def __call__(self, x, *, gain=1.0):
        self.calls += 1
        for layer in self.layers:
            x = layer(x)
        return self.extra["a"](x) * self.extra["b"][0] * self.tied * gain

    def loss(self, x):
        return self(x) ** 2


def by_hand(w, x, bias=1.0, factor=3.0, shift=1.0, b=0.5):
    return (factor * (w * x + bias) + shift * w) * b * w


NAMES = ["layers.0.weight", "layers.0.bias", "layers.1.factor", "extra.a.shift", "extra.b.0", "steps"]


def test_names_are_the_ways_to_tensors():
    assert list(named_tensors(Net())) == NAMES
    assert named_tensors(Scale(1.0)) == {} == named_tensors(3)


def test_calls_with_other_tensors_leave_the_object_as_it_is():
    net, x = Net(), f64(5.0)
    before = named_tensors(net)
    assert functional_call(net, {}, x).item() == net(x).item() == by_hand(2, 5)
    changed = functional_call(net, {"layers.0.weight": f64(7.0), "extra.b.0": f64(2.0)}, (x,), {"gain": 10.0})
    assert changed.item() == 10 * by_hand(7, 5, b=2)
    after = named_tensors(net)
    assert all(after[name] is before[name] for name in NAMES) and net.calls == 1 and net.extra["a"].owner is net


def test_methods_are_called_too():
    assert functional_call(Net().loss, {"layers.1.factor": f64(1.0)}, f64(5.0)).item() == by_hand(2, 5, factor=1) ** 2


def test_gradients_by_the_tensors_of_an_object():
    net, x = Net(), f64(5.0)
    params = {name: t for name, t in named_tensors(net).items() if name != "steps"}
    g = grad(lambda p: functional_call(net, p, (x,)))(params)
    eps = 1e-6
    close = lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6)
    close(g["layers.0.weight"].item(), (by_hand(2 + eps, 5) - by_hand(2 - eps, 5)) / (2 * eps))
    close(g["extra.a.shift"].item(), 2 * 0.5 * 2)
    close(g["layers.0.bias"].item(), 3 * 0.5 * 2)
    one = {name: t * 0 + (name == "extra.b.0") for name, t in params.items()}
    close(jvp(lambda p: functional_call(net, p, (x,)), (params,), (one,))[1].item(), by_hand(2, 5) / 0.5)


def test_c166_tied_weights():
    net, x = Net(), f64(5.0)
    new = f64(7.0)
    assert functional_call(net, {"tied": new}, x).item() == by_hand(7, 5)
    assert functional_call(net, {"tied": new, "layers.0.weight": new}, x).item() == by_hand(7, 5)
    with pytest.raises(ValueError, match="expected one tensor for `layers.0.weight` and `tied`"):
        functional_call(net, {"tied": f64(1.0), "layers.0.weight": new}, x)
    only = functional_call(net, {"tied": new}, x, tie_weights=False)
    assert only.item() == (3 * (2 * 5 + 1) + 2) * 0.5 * 7


def test_what_functional_call_takes():
    net, x = Net(), f64(5.0)
    assert functional_call(net, [{"tied": f64(1.0)}, {"extra.b.0": f64(1.0)}], x).item() == by_hand(1, 5, b=1)
    with pytest.raises(ValueError, match="`tied` is in several dicts"):
        functional_call(net, ({"tied": x}, {"tied": x}), x)
    with pytest.raises(ValueError, match=r"expected the names of tensors of the object, \['layers.0.weight', .*got \['typo'\]"):
        functional_call(net, {"typo": x}, x)
    with pytest.raises(ValueError, match=r"got nothing for \['layers.0.weight', 'layers.0.bias', .*\]"):
        functional_call(net, {"layers.1.factor": x}, x, strict=True)
    with pytest.raises(TypeError, match="expected a dict of tensors, or a sequence of them, got Tensor"):
        functional_call(net, x, x)
    with pytest.raises(TypeError, match="expected dicts of tensors, got int"):
        functional_call(net, [3], x)
    with pytest.raises(TypeError, match="expected a tensor for `tied`, got float"):
        functional_call(net, {"tied": 1.0}, x)
    with pytest.raises(TypeError, match="expected a callable object, got object"):
        functional_call(object(), {}, x)


def test_exceptions_of_the_call_arrive_and_change_nothing():
    class Fails(Linear):
        def __call__(self, x):
            raise KeyError("mine")

    model = Fails(1.0)
    weight = model.weight
    with pytest.raises(KeyError, match="^'mine'$"):
        functional_call(model, {"weight": f64(2.0)}, (f64(1.0),))
    assert model.weight is weight


def test_c170_ensembles():
    members = [Linear(w) for w in [1.0, 2.0, 3.0]]
    params, buffers = stack_module_state(members)
    assert params["weight"].tolist() == [1, 2, 3] and buffers == {}
    call = lambda p, x: functional_call(members[0], p, (x,))
    assert vmap(call, in_dims=(0, None))(params, f64(2.0)).tolist() == [2, 4, 6]
    assert vmap(call)(params, f64([1.0, 2.0, 3.0])).tolist() == [1, 4, 9]
    loss = lambda p, x: call(p, x) ** 2
    assert vmap(grad(loss), in_dims=(0, None))(params, f64(2.0))["weight"].tolist() == [8, 16, 24]


def test_integer_tensors_are_buffers():
    params, buffers = stack_module_state([Net(1.0), Net(2.0)])
    assert set(buffers) == {"steps"} and buffers["steps"].tolist() == [0, 0]
    assert params["layers.0.weight"].tolist() == [1, 2]
    assert set(params) == set(NAMES) - {"steps"}


def test_members_of_an_ensemble_are_alike():
    with pytest.raises(ValueError, match="expected at least one object, got none"):
        stack_module_state([])
    with pytest.raises(ValueError, match="objects of one class, got Linear and, at position 1, Net"):
        stack_module_state([Linear(1.0), Net()])
    with pytest.raises(ValueError, match=r"stack_module_state: stack_trees: expected f64\[\] at `\['weight'\]`.*f64\[2\] at position 1"):
        stack_module_state([Linear(1.0), Linear([1.0, 2.0])])
    other = Linear(1.0)
    other.more = f64(1.0)
    with pytest.raises(ValueError, match="expected trees of one structure"):
        stack_module_state([Linear(1.0), other])


def test_objects_of_an_outer_transform_are_stacked_with_their_derivatives():
    def f(w):
        a, b = Linear(1.0), Linear(1.0)
        a.weight, b.weight = w, w * w
        return stack_module_state([a, b])[0]["weight"].sum()

    assert grad(f)(f64(3.0)).item() == 7
