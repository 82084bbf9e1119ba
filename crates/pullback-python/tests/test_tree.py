"""Trees: what is a container, what a leaf, and what messages call the way to it."""

import collections
import dataclasses
import typing

import pytest

import pullback as pb
from pullback import tree


class Point(typing.NamedTuple):
    x: object
    y: object


@dataclasses.dataclass
class Layer:
    weight: object
    bias: object = None
    name: str = dataclasses.field(default="layer", metadata={"static": True})


@dataclasses.dataclass(frozen=True)
class Frozen:
    weight: object
    kinds: typing.ClassVar[int] = 3


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    weight: object


class Pair:
    def __init__(self, a, b, tag="pair"):
        self.a, self.b, self.tag = a, b, tag


tree.register(Pair, lambda p: ((p.a, p.b), p.tag), lambda children, tag: Pair(*children, tag))


@pytest.mark.parametrize(
    ("value", "leaves"),
    [
        (1, [1]),
        ((), []),
        (None, []),
        ((1, [2, (3,)]), [1, 2, 3]),
        ({"b": 1, "a": {"c": 2}}, [1, 2]),
        (collections.OrderedDict(b=1, a=2), [1, 2]),
        (collections.defaultdict(list, b=1), [1]),
        (Point(1, [2]), [1, 2]),
        (Layer(1, {"k": 2}), [1, 2]),
        (Layer(1), [1]),
        (Frozen(1), [1]),
        (Slotted(1), [1]),
        ("text", ["text"]),
    ],
)
def test_trees_come_apart_and_together_again(value, leaves):
    found, structure = tree.flatten(value)
    assert found == leaves == tree.leaves(value)
    assert structure.num_leaves == len(leaves) == len(structure.paths())
    assert structure == tree.structure(value)
    again = tree.unflatten(found, structure)
    assert again == value
    assert type(again) is type(value)


def test_registered_classes_are_containers():
    doubled = tree.map(lambda x: 2 * x, Pair(1, [2], "tag"))
    assert (doubled.a, doubled.b, doubled.tag) == (2, [4], "tag")
    assert tree.structure(Pair(1, 2, "a")) != tree.structure(Pair(1, 2, "b"))
    with pytest.raises(ValueError, match="`Pair` is registered already"):
        tree.register(Pair, lambda p: ((), None), lambda c, _: None)


@pytest.mark.parametrize("cls", [tuple, list, dict, type(None), pb.Tensor])
def test_what_is_known_cannot_be_registered(cls):
    with pytest.raises(ValueError, match="expected a class of your own"):
        tree.register(cls, lambda x: ((), None), lambda c, _: None)


def test_register_takes_functions():
    with pytest.raises(TypeError, match="expected a function for `unflatten`, got int"):
        tree.register(type("New", (), {}), lambda x: ((), None), 3)


def test_a_wrong_flatten_is_named():
    new = type("Wrong", (), {})
    tree.register(new, lambda x: [1, 2, 3], lambda c, _: new())
    with pytest.raises(TypeError, match="`flatten` of the registered class `Wrong` must return a pair .* got list"):
        tree.leaves(new())


def test_exceptions_of_flatten_arrive():
    new = type("Raises", (), {})

    def flatten(x):
        raise KeyError("mine")

    tree.register(new, flatten, lambda c, _: new())
    with pytest.raises(KeyError, match="mine"):
        tree.leaves([new()])


def test_paths_are_written_as_in_python():
    value = [{"w": Layer(1, Point(2, 3))}, Pair(4, 5)]
    assert tree.structure(value).paths() == ["[0]['w'].weight", "[0]['w'].bias.x", "[0]['w'].bias.y", "[1][0]", "[1][1]"]


def test_structures_show_what_they_are():
    assert repr(tree.structure({"w": (1, None)})) == "TreeStructure({'w': (*, None)})"
    assert repr(tree.structure(Layer(1))) == "TreeStructure(Layer(weight=*, bias=None, name='layer'))"
    assert repr(tree.structure([1] * 9)) == "TreeStructure([*, …, 9 in all])"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((1, 2), [1, 2]),
        ((1,), (1, 2)),
        ({"a": 1}, {"b": 1}),
        ({"a": 1}, collections.OrderedDict(a=1)),
        (Point(1, 2), (1, 2)),
        (Layer(1, name="a"), Layer(1, name="b")),
        (None, 1),
    ],
)
def test_different_structures_are_not_equal(a, b):
    assert tree.structure(a) != tree.structure(b)


def test_map_takes_the_leaves_at_the_same_places():
    assert tree.map(lambda a, b, c: a + b + c, {"x": 1, "y": [2]}, {"y": [20], "x": 10}, {"x": 100, "y": [200]}) == {
        "x": 111,
        "y": [222],
    }
    assert tree.map(lambda x: None, (1, 2)) == (None, None)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"a": [1]}, r"map: expected \[\*, \*\] at rest\[0\]\['a'\], got \[1\]"),
        ({"b": [1, 2]}, r"at rest\[0\], got \{'b': \[1, 2\]\}"),
        ({"a": (1, 2)}, r"at rest\[0\]\['a'\], got \(1, 2\)"),
        ({"a": [1, [2]]}, r"map: expected \* at rest\[0\]\['a'\]\[1\], got \[2\]"),
        ({"a": [1, None]}, r"map: expected \* at rest\[0\]\['a'\]\[1\], got None"),
        (3, r"at rest\[0\], got 3"),
    ],
)
def test_map_says_where_another_tree_differs(other, message):
    with pytest.raises(ValueError, match=message):
        tree.map(lambda a, b: a, {"a": [1, 2]}, other)


def test_exceptions_of_mapped_functions_arrive():
    with pytest.raises(ZeroDivisionError):
        tree.map(lambda x: 1 / x, [1, 0])


def test_a_wrong_number_of_leaves_is_an_error():
    with pytest.raises(ValueError, match=r"unflatten: expected 2 leaves for \(\*, \*\), got 3"):
        tree.unflatten([1, 2, 3], tree.structure((1, 2)))


def test_a_list_that_contains_itself_is_an_error():
    endless = []
    endless.append(endless)
    with pytest.raises(RecursionError, match="does one contain itself"):
        tree.leaves(endless)


def test_dataclasses_are_built_without_their_constructor():
    @dataclasses.dataclass
    class Checked:
        x: object

        def __post_init__(self):
            assert isinstance(self.x, int)

    assert tree.map(str, Checked(3)).x == "3"


def test_defaultdicts_keep_their_factory():
    again = tree.map(lambda x: x, collections.defaultdict(lambda: 7, a=1))
    assert again["missing"] == 7


def test_a_container_that_is_not_known_does_not_hide_tensors():
    class Mine(dict):
        pass

    assert tree.leaves(Mine(a=1)) == [{"a": 1}]
    with pytest.raises(TypeError, match="containers that are known, got `Mine` with tensors inside"):
        tree.leaves([Mine(a=pb.tensor(1.0))])


def test_what_is_no_structure_and_no_leaves_is_named():
    with pytest.raises(TypeError, match="unflatten: expected a `structure`.*got None"):
        tree.unflatten([1], None)
    with pytest.raises(TypeError, match="unflatten: expected .*iterable of leaves, got 3"):
        tree.unflatten(3, tree.structure(1))


def test_a_registered_class_without_iterable_children_is_named():
    class Bad:
        pass

    tree.register(Bad, lambda x: (3, None), lambda children, _: Bad())
    with pytest.raises(TypeError, match="`flatten` of the registered class `Bad` must return an iterable .*got int"):
        tree.leaves(Bad())
