class dtype:
    @property
    def name(self) -> str: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def is_floating_point(self) -> bool: ...
    @property
    def is_complex(self) -> bool: ...
    @property
    def is_signed(self) -> bool: ...
    def to_real(self) -> dtype: ...
    def to_complex(self) -> dtype: ...

class Key:
    def __new__(cls, seed: SupportsIndex) -> Key: ...
    def fold_in(self, number: SupportsIndex) -> Key: ...
    def split(self, num: SupportsIndex = 2) -> list[Key]: ...

class Generator:
    def __new__(cls, seed: SupportsIndex | None = None) -> Generator: ...
    def manual_seed(self, seed: SupportsIndex) -> Generator: ...
    def initial_seed(self) -> int: ...
    def next_key(self) -> Key: ...

default_generator: Generator
def tensor(
    data: Any,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    requires_grad: bool = False,
) -> Tensor: ...
def as_tensor(data: Any, dtype: DTypeLike | None = None, device: str | None = None) -> Tensor: ...
def from_numpy(array: Any, *, copy: bool = True) -> Tensor: ...
def from_dlpack(x: Any, *, copy: bool | None = None) -> Tensor: ...
def zeros(
    *size: SupportsIndex | Sequence[SupportsIndex],
    dtype: DTypeLike | None = None,
    device: str | None = None,
    requires_grad: bool = False,
    **named: SupportsIndex | Sequence[SupportsIndex],
) -> Tensor: ...
def ones(
    *size: SupportsIndex | Sequence[SupportsIndex],
    dtype: DTypeLike | None = None,
    device: str | None = None,
    requires_grad: bool = False,
    **named: SupportsIndex | Sequence[SupportsIndex],
) -> Tensor: ...
def empty(
    *size: SupportsIndex | Sequence[SupportsIndex],
    dtype: DTypeLike | None = None,
    device: str | None = None,
    requires_grad: bool = False,
    **named: SupportsIndex | Sequence[SupportsIndex],
) -> Tensor: ...
def full(
    size: SupportsIndex | Sequence[SupportsIndex],
    fill_value: Number | Tensor,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    requires_grad: bool = False,
) -> Tensor: ...
def eye(
    n: SupportsIndex,
    m: SupportsIndex | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    requires_grad: bool = False,
) -> Tensor: ...
def arange(
    start: Number | Tensor,
    end: Number | Tensor | None = None,
    step: Number | Tensor | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    requires_grad: bool = False,
) -> Tensor: ...
def linspace(
    start: Number | Tensor,
    end: Number | Tensor,
    steps: SupportsIndex,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    requires_grad: bool = False,
) -> Tensor: ...
def logspace(
    start: Number | Tensor,
    end: Number | Tensor,
    steps: SupportsIndex,
    base: SupportsFloat = 10.0,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    requires_grad: bool = False,
) -> Tensor: ...
def tril_indices(row: SupportsIndex, col: SupportsIndex, offset: SupportsIndex = 0) -> Tensor: ...
def triu_indices(row: SupportsIndex, col: SupportsIndex, offset: SupportsIndex = 0) -> Tensor: ...
def zeros_like(
    input: Tensor,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    requires_grad: bool = False,
) -> Tensor: ...
def ones_like(
    input: Tensor,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    requires_grad: bool = False,
) -> Tensor: ...
def empty_like(
    input: Tensor,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    requires_grad: bool = False,
) -> Tensor: ...
def full_like(
    input: Tensor,
    fill_value: Number | Tensor,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    requires_grad: bool = False,
) -> Tensor: ...
def rand(
    *size: SupportsIndex | Sequence[SupportsIndex],
    generator: Generator | Key | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    requires_grad: bool = False,
    **named: SupportsIndex | Sequence[SupportsIndex],
) -> Tensor: ...
def randn(
    *size: SupportsIndex | Sequence[SupportsIndex],
    generator: Generator | Key | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    requires_grad: bool = False,
    **named: SupportsIndex | Sequence[SupportsIndex],
) -> Tensor: ...
def rand_like(
    input: Tensor,
    *,
    generator: Generator | Key | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    requires_grad: bool = False,
) -> Tensor: ...
def randn_like(
    input: Tensor,
    *,
    generator: Generator | Key | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    requires_grad: bool = False,
) -> Tensor: ...
@overload
def randint(
    low: SupportsIndex,
    high: SupportsIndex | Sequence[SupportsIndex],
    *,
    generator: Generator | Key | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    requires_grad: bool = False,
) -> Tensor: ...
@overload
def randint(
    low: SupportsIndex,
    high: SupportsIndex,
    size: SupportsIndex | Sequence[SupportsIndex],
    *,
    generator: Generator | Key | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    requires_grad: bool = False,
) -> Tensor: ...
@overload
def randint(
    low: SupportsIndex,
    *,
    size: SupportsIndex | Sequence[SupportsIndex],
    generator: Generator | Key | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    requires_grad: bool = False,
) -> Tensor: ...
def randperm(
    n: SupportsIndex,
    *,
    generator: Generator | Key | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
) -> Tensor: ...
def normal(
    mean: Number | Tensor | None = None,
    std: Number | Tensor | None = None,
    size: SupportsIndex | Sequence[SupportsIndex] | None = None,
    *,
    generator: Generator | Key | None = None,
    dtype: DTypeLike | None = None,
) -> Tensor: ...
def bernoulli(input: Tensor, *, generator: Generator | Key | None = None) -> Tensor: ...
def poisson(input: Tensor, *, generator: Generator | Key | None = None) -> Tensor: ...
def multinomial(
    input: Tensor,
    num_samples: SupportsIndex,
    replacement: bool = False,
    *,
    generator: Generator | Key | None = None,
) -> Tensor: ...
def manual_seed(seed: SupportsIndex) -> Generator: ...
def get_default_dtype() -> dtype: ...
def set_default_dtype(d: DTypeLike) -> None: ...
def initial_seed() -> int: ...
def num_threads() -> int: ...
def set_num_threads(threads: SupportsIndex) -> None: ...
def clear_cache() -> None: ...
def live_bytes() -> int: ...

class finfo:
    def __new__(cls, dtype: DTypeLike | None = None, /) -> finfo: ...
    @property
    def dtype(self) -> str: ...
    @property
    def bits(self) -> int: ...
    @property
    def eps(self) -> float: ...
    @property
    def max(self) -> float: ...
    @property
    def min(self) -> float: ...
    @property
    def tiny(self) -> float: ...
    @property
    def smallest_normal(self) -> float: ...
    @property
    def resolution(self) -> float: ...

class iinfo:
    def __new__(cls, dtype: DTypeLike, /) -> iinfo: ...
    @property
    def dtype(self) -> str: ...
    @property
    def bits(self) -> int: ...
    @property
    def max(self) -> int: ...
    @property
    def min(self) -> int: ...

def is_tensor(obj: object, /) -> bool: ...
def is_floating_point(input: Tensor) -> bool: ...
def is_complex(input: Tensor) -> bool: ...
def numel(input: Tensor) -> int: ...
def clone(input: Tensor) -> Tensor: ...
def promote_types(type1: DTypeLike, type2: DTypeLike) -> dtype: ...
def result_type(*tensors: Tensor | Number) -> dtype: ...
def broadcast_shapes(*shapes: SupportsIndex | Sequence[SupportsIndex]) -> tuple[int, ...]: ...
