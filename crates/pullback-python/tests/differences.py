"""Derivatives by central differences, of functions of NumPy arrays: what rules are compared with."""

import numpy as np

import pullback as pb


def values(x):
    return np.asarray(x.numpy() if isinstance(x, pb.Tensor) else x, dtype=np.float64)


def jacobian(f, x, step=1e-5):
    """d f(x)[i] / d x[j], with the axes of the result in front, where `f` takes and returns tensors."""
    x = values(x)
    columns = []
    for k in range(x.size):
        up, down = x.copy().reshape(-1), x.copy().reshape(-1)
        up[k] += step
        down[k] -= step
        above, below = (values(f(pb.tensor(v.reshape(x.shape), dtype=pb.float64))) for v in (up, down))
        columns.append((above - below) / (2 * step))
    return np.stack(columns, axis=-1).reshape(columns[0].shape + x.shape)


def gradient(f, x, step=1e-5):
    """The same for a function whose result is a number."""
    return jacobian(f, x, step)


def same(got, expected, tolerance=1e-6):
    np.testing.assert_allclose(values(got), values(expected), rtol=tolerance, atol=tolerance)
