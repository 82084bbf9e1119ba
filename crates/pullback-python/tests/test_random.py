"""Random tensors: seeds and keys, distributions, transforms, dropout, first values."""

import pickle

import numpy as np
import pytest

import pullback as pb
from pullback import init, random
from pullback.func import grad, vmap


def same(a, b):
    return bool((a == b).all())


def test_a_seed_gives_the_same_numbers():
    pb.manual_seed(3)
    a = pb.rand(4), pb.randn(2), pb.randint(10, (5,)), pb.randperm(5)
    generator = pb.manual_seed(3)
    b = pb.rand(4), pb.randn(2), pb.randint(10, (5,)), pb.randperm(5)
    assert all(map(same, a, b)) and generator is random.default_generator and pb.initial_seed() == 3
    assert not same(pb.rand(4), a[0])


def test_generators_are_independent_of_each_other():
    g, h = random.Generator(1), random.Generator(1)
    a = pb.rand(3, generator=g)
    pb.rand(3)
    assert same(a, pb.rand(3, generator=h)) and not same(a, pb.rand(3, generator=h))
    assert same(a, pb.rand(3, generator=g.manual_seed(1)))
    with pytest.raises(TypeError, match="Generator or a Key, got <class 'int'>"):
        pb.rand(3, generator=1)


def test_keys_give_the_same_numbers_and_derive_others():
    key = random.key(7)
    assert same(key.normal((3,)), key.normal((3,))) and same(key.normal((3,)), random.normal(key, (3,)))
    a, b = key.split()
    assert not same(a.uniform((3,)), b.uniform((3,))) and b == key.fold_in(1) == random.fold_in(key, 1)
    assert len(random.split(key, 5)) == 5 and {key: 1}[random.Key(7)] == 1
    assert pickle.loads(pickle.dumps(b)) == b and repr(key) == "Key(7)"
    assert same(pb.rand(3, generator=key), random.Generator(7).uniform((3,)))


def test_every_draw_is_a_method_of_both_and_a_function():
    draws = [name for name in dir(random.Key) if not name.startswith("_") and name not in ("split", "fold_in")]
    assert {"uniform", "normal", "gamma", "categorical", "permutation", "dropout"} <= set(draws)
    for name in draws:
        assert callable(getattr(random.Generator, name)) and getattr(random, name).__doc__


@pytest.mark.parametrize(
    ("draw", "mean", "std"),
    [
        (lambda k: k.uniform((20_000,)), 0.5, 12**-0.5),
        (lambda k: k.normal((20_000,), dtype=pb.float64), 0.0, 1.0),
        (lambda k: k.exponential(4.0, (20_000,)), 0.25, 0.25),
        (lambda k: k.poisson(3.0, (20_000,)).float(), 3.0, 3**0.5),
        (lambda k: k.bernoulli(0.3, (20_000,)).float(), 0.3, 0.21**0.5),
        (lambda k: k.randint(0, 10, (20_000,)).float(), 4.5, (99 / 12) ** 0.5),
        (lambda k: pb.normal(2.0, 3.0, (20_000,), generator=k), 2.0, 3.0),
        (lambda k: pb.bernoulli(pb.full((20_000,), 0.3), generator=k), 0.3, 0.21**0.5),
        (lambda k: pb.poisson(pb.full((20_000,), 3.0), generator=k), 3.0, 3**0.5),
        (lambda k: pb.ones(20_000).uniform_(2.0, 4.0, generator=k), 3.0, 3**-0.5),
        (lambda k: pb.ones(20_000).normal_(1.0, 0.5, generator=k), 1.0, 0.5),
        (lambda k: pb.multinomial(pb.tensor([1.0, 0.0, 3.0]), 20_000, True, generator=k).float(), 1.5, 0.75**0.5),
    ],
)
def test_draws_have_their_mean_and_deviation(draw, mean, std):
    x = draw(random.key(5)).numpy()
    assert abs(x.mean() - mean) < 5 * std / len(x) ** 0.5 and abs(x.std() / std - 1) < 0.05


def test_shapes_and_dtypes_of_draws():
    assert pb.rand(2, 3).shape == pb.randn((2, 3)).shape == (2, 3) and pb.rand(()).shape == ()
    assert pb.rand(1, dtype=pb.float64).dtype is pb.float64 and pb.rand_like(pb.ones(2, dtype=float)).dtype is pb.float64
    assert pb.randint(1, 7, (3,), dtype=pb.float32).dtype is pb.float32 and pb.randint(5, size=(2,)).shape == (2,)
    assert pb.rand(2, requires_grad=True).requires_grad
    assert random.key(1).uniform().shape == () and random.key(1).randint(0, 5, (2,)).dtype is pb.int64
    for broken, error in (
        (lambda: pb.rand(2, dtype=pb.int64), TypeError),
        (lambda: pb.randint(5, 5, (2,)), ValueError),
        (lambda: pb.normal(0.0, -1.0, (2,)), ValueError),
        (lambda: pb.bernoulli(pb.tensor([2.0])), ValueError),
        (lambda: random.key(1).uniform("a"), TypeError),
    ):
        with pytest.raises(error):
            broken()


def test_vmap_decides_whether_lanes_share_their_numbers():
    def f(x):
        return x + pb.rand(())

    with pytest.raises(RuntimeError, match="randomness"):
        vmap(f)(pb.zeros(3))
    each = vmap(f, randomness="different")(pb.zeros(3)).tolist()
    assert len(set(each)) == 3
    assert len(set(vmap(f, randomness="same")(pb.zeros(3)).tolist())) == 1
    key = random.key(1)
    by_key = vmap(lambda x: x + key.uniform(), randomness="different")
    assert same(by_key(pb.zeros(6)), vmap(lambda x: x + key.uniform(), randomness="different", chunk_size=2)(pb.zeros(6)))


def test_parameters_of_distributions_are_differentiated():
    key = random.key(2)
    z = key.normal((), dtype=pb.float64).item()
    mean, std = pb.tensor(1.0, dtype=float), pb.tensor(2.0, dtype=float)
    assert grad(lambda m: pb.normal(m, std, generator=key))(mean).item() == 1.0
    slope = grad(lambda s: pb.normal(mean, s, generator=key))(std).item()
    h = 1e-6
    values = [pb.normal(mean, std + d, generator=key).item() for d in (h, -h)]
    np.testing.assert_allclose(slope, (values[0] - values[1]) / (2 * h), rtol=1e-6)
    assert z == z


def test_dropout_scales_what_it_keeps_and_its_gradient_alike():
    key, x = random.key(3), pb.ones(1000)
    dropout = pb.nn.functional.dropout
    y = dropout(x, 0.25, generator=key)
    assert sorted(set(y.tolist())) == pytest.approx([0.0, 4 / 3]) and 650 < (y != 0).float().sum().item() < 850
    assert same(grad(lambda x: dropout(x, 0.25, generator=key).sum())(x), y)
    assert dropout(x, training=False) is x
    with pytest.raises(ValueError, match="probability"):
        dropout(x, 1.5)


def test_first_values_of_parameters():
    pb.manual_seed(0)
    w = init.xavier_uniform((30, 20))
    bound = (6 / 50) ** 0.5
    assert w.shape == (30, 20) and w.abs().max().item() <= bound and w.abs().max().item() > 0.9 * bound
    assert abs(init.kaiming_normal((100, 50), nonlinearity="relu").numpy().std() / (2 / 50) ** 0.5 - 1) < 0.05
    assert abs(init.kaiming_normal((100, 50), mode="fan_out").numpy().std() / (2 / 100) ** 0.5 - 1) < 0.05
    q = init.orthogonal((3, 5), dtype=pb.float64)
    np.testing.assert_allclose((q @ q.T).numpy(), np.eye(3), atol=1e-12)
    assert init.calculate_gain("leaky_relu", 1.0) == 1.0 and init.calculate_gain("relu") == 2**0.5
    assert init.constant((2,), 3.0).tolist() == [3.0, 3.0] and init.dirac((1, 1, 3)).tolist() == [[[0.0, 1.0, 0.0]]]
    for broken in (lambda: init.kaiming_normal((2, 3), nonlinearity="x"), lambda: init.kaiming_normal((2, 3), mode="x")):
        with pytest.raises(ValueError, match="'x'"):
            broken()
    with pytest.raises(ValueError, match="shape of a weight"):
        init.xavier_uniform((3,))


def test_first_values_in_the_place_of_a_leaf():
    w = pb.zeros(3, 2, dtype=pb.float64, requires_grad=True)
    assert init.xavier_normal_(w, gain=2.0, generator=random.key(1)) is w
    want = init.xavier_normal((3, 2), gain=2.0, dtype=pb.float64, generator=random.key(1))
    assert w.requires_grad and w.is_leaf and same(w.detach(), want)


def test_wrong_seeds_and_counts_name_the_function():
    with pytest.raises(ValueError, match="^Key: expected a seed of 64 bits"):
        random.key(2**64)
    with pytest.raises(ValueError, match="^Generator: expected a seed of 64 bits"):
        random.Generator("a")
    with pytest.raises(ValueError, match="^split: expected `num` to be an int of at least 0, got -1"):
        random.split(random.key(1), -1)
    with pytest.raises(ValueError, match="^fold_in: expected a number of at least 0 that fits 64 bits, got -1"):
        random.key(1).fold_in(-1)
    with pytest.raises(TypeError, match="^fold_in: expected a number"):
        random.key(1).fold_in("a")
    with pytest.raises(ValueError, match="^randperm: expected `n` to be"):
        pb.randperm(-1)
