"""The types of what operations with several results return: tuples whose fields have names."""

# Written by stubs/write.py.

from typing import final

from _typeshed import structseq

from ._core import Tensor

@final
class max(structseq[Tensor], tuple[Tensor, Tensor]):
    """What `max` returns: (values, indices)."""

    __match_args__ = ('values', 'indices')
    @property
    def values(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...

@final
class min(structseq[Tensor], tuple[Tensor, Tensor]):
    """What `min` returns: (values, indices)."""

    __match_args__ = ('values', 'indices')
    @property
    def values(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...

@final
class aminmax(structseq[Tensor], tuple[Tensor, Tensor]):
    """What `aminmax` returns: (min, max)."""

    __match_args__ = ('min', 'max')
    @property
    def min(self) -> Tensor: ...
    @property
    def max(self) -> Tensor: ...

@final
class lu(structseq[Tensor], tuple[Tensor, Tensor, Tensor]):
    """What `lu` returns: (P, L, U)."""

    __match_args__ = ('P', 'L', 'U')
    @property
    def P(self) -> Tensor: ...
    @property
    def L(self) -> Tensor: ...
    @property
    def U(self) -> Tensor: ...

@final
class lu_factor(structseq[Tensor], tuple[Tensor, Tensor]):
    """What `lu_factor` returns: (LU, order)."""

    __match_args__ = ('LU', 'order')
    @property
    def LU(self) -> Tensor: ...
    @property
    def order(self) -> Tensor: ...

@final
class slogdet(structseq[Tensor], tuple[Tensor, Tensor]):
    """What `slogdet` returns: (sign, logabsdet)."""

    __match_args__ = ('sign', 'logabsdet')
    @property
    def sign(self) -> Tensor: ...
    @property
    def logabsdet(self) -> Tensor: ...

@final
class eig(structseq[Tensor], tuple[Tensor, Tensor]):
    """What `eig` returns: (eigenvalues, eigenvectors)."""

    __match_args__ = ('eigenvalues', 'eigenvectors')
    @property
    def eigenvalues(self) -> Tensor: ...
    @property
    def eigenvectors(self) -> Tensor: ...

@final
class eigh(structseq[Tensor], tuple[Tensor, Tensor]):
    """What `eigh` returns: (eigenvalues, eigenvectors)."""

    __match_args__ = ('eigenvalues', 'eigenvectors')
    @property
    def eigenvalues(self) -> Tensor: ...
    @property
    def eigenvectors(self) -> Tensor: ...

@final
class qr(structseq[Tensor], tuple[Tensor, Tensor]):
    """What `qr` returns: (Q, R)."""

    __match_args__ = ('Q', 'R')
    @property
    def Q(self) -> Tensor: ...
    @property
    def R(self) -> Tensor: ...

@final
class lstsq(structseq[Tensor], tuple[Tensor]):
    """What `lstsq` returns: (solution)."""

    __match_args__ = ('solution',)
    @property
    def solution(self) -> Tensor: ...

@final
class svd(structseq[Tensor], tuple[Tensor, Tensor, Tensor]):
    """What `svd` returns: (U, S, Vh)."""

    __match_args__ = ('U', 'S', 'Vh')
    @property
    def U(self) -> Tensor: ...
    @property
    def S(self) -> Tensor: ...
    @property
    def Vh(self) -> Tensor: ...

@final
class median(structseq[Tensor], tuple[Tensor, Tensor]):
    """What `median` returns: (values, indices)."""

    __match_args__ = ('values', 'indices')
    @property
    def values(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...

@final
class nanmedian(structseq[Tensor], tuple[Tensor, Tensor]):
    """What `nanmedian` returns: (values, indices)."""

    __match_args__ = ('values', 'indices')
    @property
    def values(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...

@final
class mode(structseq[Tensor], tuple[Tensor, Tensor]):
    """What `mode` returns: (values, indices)."""

    __match_args__ = ('values', 'indices')
    @property
    def values(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...

@final
class batch_norm_training(structseq[Tensor], tuple[Tensor, Tensor, Tensor]):
    """What `batch_norm_training` returns: (output, running_mean, running_var)."""

    __match_args__ = ('output', 'running_mean', 'running_var')
    @property
    def output(self) -> Tensor: ...
    @property
    def running_mean(self) -> Tensor: ...
    @property
    def running_var(self) -> Tensor: ...

@final
class max_pool1d_with_indices(structseq[Tensor], tuple[Tensor, Tensor]):
    """What `max_pool1d_with_indices` returns: (output, indices)."""

    __match_args__ = ('output', 'indices')
    @property
    def output(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...

@final
class max_pool2d_with_indices(structseq[Tensor], tuple[Tensor, Tensor]):
    """What `max_pool2d_with_indices` returns: (output, indices)."""

    __match_args__ = ('output', 'indices')
    @property
    def output(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...

@final
class max_pool3d_with_indices(structseq[Tensor], tuple[Tensor, Tensor]):
    """What `max_pool3d_with_indices` returns: (output, indices)."""

    __match_args__ = ('output', 'indices')
    @property
    def output(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...

@final
class cummax(structseq[Tensor], tuple[Tensor, Tensor]):
    """What `cummax` returns: (values, indices)."""

    __match_args__ = ('values', 'indices')
    @property
    def values(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...

@final
class cummin(structseq[Tensor], tuple[Tensor, Tensor]):
    """What `cummin` returns: (values, indices)."""

    __match_args__ = ('values', 'indices')
    @property
    def values(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...

@final
class frexp(structseq[Tensor], tuple[Tensor, Tensor]):
    """What `frexp` returns: (mantissa, exponent)."""

    __match_args__ = ('mantissa', 'exponent')
    @property
    def mantissa(self) -> Tensor: ...
    @property
    def exponent(self) -> Tensor: ...

@final
class sort(structseq[Tensor], tuple[Tensor, Tensor]):
    """What `sort` returns: (values, indices)."""

    __match_args__ = ('values', 'indices')
    @property
    def values(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...

@final
class topk(structseq[Tensor], tuple[Tensor, Tensor]):
    """What `topk` returns: (values, indices)."""

    __match_args__ = ('values', 'indices')
    @property
    def values(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...

@final
class kthvalue(structseq[Tensor], tuple[Tensor, Tensor]):
    """What `kthvalue` returns: (values, indices)."""

    __match_args__ = ('values', 'indices')
    @property
    def values(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...

@final
class unique(structseq[Tensor], tuple[Tensor, Tensor, Tensor]):
    """What `unique` returns: (values, inverse, counts)."""

    __match_args__ = ('values', 'inverse', 'counts')
    @property
    def values(self) -> Tensor: ...
    @property
    def inverse(self) -> Tensor: ...
    @property
    def counts(self) -> Tensor: ...

@final
class unique_consecutive(structseq[Tensor], tuple[Tensor, Tensor, Tensor]):
    """What `unique_consecutive` returns: (values, inverse, counts)."""

    __match_args__ = ('values', 'inverse', 'counts')
    @property
    def values(self) -> Tensor: ...
    @property
    def inverse(self) -> Tensor: ...
    @property
    def counts(self) -> Tensor: ...
