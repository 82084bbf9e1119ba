"""Random numbers under transforms."""

import numpy as np
import pytest

import pullback as pb
from pullback import random
from pullback.func import capture, checkpoint, grad, hessian, jacfwd, laplacian, vmap


def f64(x):
    return pb.tensor(x, dtype=pb.float64)


def noisy(x):
    return x + random.key(7).uniform((), dtype=pb.float64)


def test_c72_lanes_share_numbers_or_do_not():
    x = f64([0.0] * 5)
    with pytest.raises(RuntimeError, match=r"vmap.*randomness"):
        vmap(noisy)(x)
    same = vmap(noisy, randomness="same")(x).tolist()
    different = vmap(noisy, randomness="different")(x).tolist()
    assert len(set(same)) == 1 and len(set(different)) == 5
    # As one draw for all lanes, and again the same.
    assert different == random.key(7).uniform((5,), dtype=pb.float64).tolist() == vmap(noisy, randomness="different")(x).tolist()
    for size in [1, 2, 3, 5]:
        assert vmap(noisy, randomness="different", chunk_size=size)(x).tolist() == different
        assert vmap(noisy, randomness="same", chunk_size=size)(x).tolist() == same


def test_every_active_vmap_is_asked():
    x = f64([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    with pytest.raises(RuntimeError, match="randomness"):
        vmap(vmap(noisy, randomness="different"))(x)
    out = vmap(vmap(noisy, randomness="same"), randomness="different")(x).tolist()
    assert len({tuple(row) for row in out}) == 2 and all(len(set(row)) == 1 for row in out)


@pytest.mark.parametrize("transform", [jacfwd, hessian, laplacian])
def test_forward_modes_ask_for_a_policy(transform):
    f = lambda x: (x**3 * random.key(1).uniform((), dtype=pb.float64)).sum()
    x = f64([1.0, 2.0])
    with pytest.raises(RuntimeError, match="randomness"):
        transform(f)(x)
    u = random.key(1).uniform((), dtype=pb.float64).item()
    want = {"jacfwd": [3 * u, 12 * u], "hessian": [[6 * u, 0], [0, 12 * u]], "laplacian": 18 * u}[transform.__name__]
    np.testing.assert_allclose(np.asarray(transform(f, randomness="same")(x)), want)


def test_gradients_see_the_numbers_of_the_value():
    f = lambda x: x * random.key(3).uniform((), dtype=pb.float64)
    u = random.key(3).uniform((), dtype=pb.float64).item()
    assert grad(f)(f64(2.0)).item() == u
    assert vmap(grad(f), randomness="different")(f64([1.0, 1.0])).tolist() == random.key(3).uniform((2,), dtype=pb.float64).tolist()


def test_checkpoints_repeat_the_numbers_of_a_generator():
    generator = random.Generator(5)
    f = checkpoint(lambda x: x * generator.uniform((), dtype=pb.float64) * x)
    u = random.Generator(5).uniform((), dtype=pb.float64).item()
    assert grad(f)(f64(3.0)).item() == pytest.approx(6 * u)


def test_c147_numbers_are_not_frozen_in_a_graph():
    generator = random.Generator(5)
    graph = capture(lambda x: x + generator.uniform((), dtype=pb.float64))(f64(0.0))
    assert len({graph(f64(0.0)).item() for _ in range(3)}) == 3
    keyed = capture(lambda x, key: x + key.uniform((), dtype=pb.float64))(f64(0.0), random.key(1))
    assert keyed(f64(0.0), random.key(1)).item() == keyed(f64(0.0), random.key(1)).item()
    with pytest.raises(ValueError, match=r"graph: expected .*Key.* at argument\[1\], got .*Key"):
        keyed(f64(0.0), random.key(2))
