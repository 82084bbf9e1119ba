"""The types of what operations with several results return: tuples whose fields have names."""

# Written by stubs/write.py.

from typing import NamedTuple

from ._core import Tensor

class max(NamedTuple):
    """What `max` returns: (values, indices)."""

    values: Tensor
    indices: Tensor

class min(NamedTuple):
    """What `min` returns: (values, indices)."""

    values: Tensor
    indices: Tensor

class aminmax(NamedTuple):
    """What `aminmax` returns: (min, max)."""

    min: Tensor
    max: Tensor

class lu(NamedTuple):
    """What `lu` returns: (P, L, U)."""

    P: Tensor
    L: Tensor
    U: Tensor

class lu_factor(NamedTuple):
    """What `lu_factor` returns: (LU, order)."""

    LU: Tensor
    order: Tensor

class slogdet(NamedTuple):
    """What `slogdet` returns: (sign, logabsdet)."""

    sign: Tensor
    logabsdet: Tensor

class eig(NamedTuple):
    """What `eig` returns: (eigenvalues, eigenvectors)."""

    eigenvalues: Tensor
    eigenvectors: Tensor

class eigh(NamedTuple):
    """What `eigh` returns: (eigenvalues, eigenvectors)."""

    eigenvalues: Tensor
    eigenvectors: Tensor

class qr(NamedTuple):
    """What `qr` returns: (Q, R)."""

    Q: Tensor
    R: Tensor

class svd(NamedTuple):
    """What `svd` returns: (U, S, Vh)."""

    U: Tensor
    S: Tensor
    Vh: Tensor

class median(NamedTuple):
    """What `median` returns: (values, indices)."""

    values: Tensor
    indices: Tensor

class nanmedian(NamedTuple):
    """What `nanmedian` returns: (values, indices)."""

    values: Tensor
    indices: Tensor

class batch_norm_training(NamedTuple):
    """What `batch_norm_training` returns: (output, running_mean, running_var)."""

    output: Tensor
    running_mean: Tensor
    running_var: Tensor

class max_pool1d_with_indices(NamedTuple):
    """What `max_pool1d_with_indices` returns: (output, indices)."""

    output: Tensor
    indices: Tensor

class max_pool2d_with_indices(NamedTuple):
    """What `max_pool2d_with_indices` returns: (output, indices)."""

    output: Tensor
    indices: Tensor

class max_pool3d_with_indices(NamedTuple):
    """What `max_pool3d_with_indices` returns: (output, indices)."""

    output: Tensor
    indices: Tensor

class cummax(NamedTuple):
    """What `cummax` returns: (values, indices)."""

    values: Tensor
    indices: Tensor

class cummin(NamedTuple):
    """What `cummin` returns: (values, indices)."""

    values: Tensor
    indices: Tensor

class sort(NamedTuple):
    """What `sort` returns: (values, indices)."""

    values: Tensor
    indices: Tensor

class topk(NamedTuple):
    """What `topk` returns: (values, indices)."""

    values: Tensor
    indices: Tensor

class unique(NamedTuple):
    """What `unique` returns: (values, inverse, counts)."""

    values: Tensor
    inverse: Tensor
    counts: Tensor

class unique_consecutive(NamedTuple):
    """What `unique_consecutive` returns: (values, inverse, counts)."""

    values: Tensor
    inverse: Tensor
    counts: Tensor
