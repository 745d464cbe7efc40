"""Tensors of one dimension under torch's names: lists of numbers that share memory with views.

Where torch differs, it differs here too: `tensor_split` returns a tuple of views, `+=` writes into
the memory, and `empty` holds anything (here NaN, so that one sees it). What is not here says so.
"""

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import SimpleNamespace

Number = int | float


class Tensor:
    """Numbers at `start` … `start + length` of a `storage` that several tensors may share."""

    dtype, device = float, "cpu"

    def __init__(
        self, storage: list[Number], start: int = 0, length: int | None = None, dim: int = 1
    ) -> None:
        self.storage, self.start, self.dim = storage, start, dim  # a single number has dim 0
        self.length = len(storage) if length is None else length

    def _values(self) -> list[Number]:
        return self.storage[self.start : self.start + self.length]

    def _write(self, values: Iterable[Number]) -> "Tensor":
        self.storage[self.start : self.start + self.length] = values
        return self

    def __getattr__(self, name: str) -> object:
        raise AttributeError(f"A tensor on this page has no {name}.")

    # What it is.
    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator["Tensor"]:
        return (self[i] for i in range(self.length))

    def __repr__(self) -> str:
        return f"tensor({shown(self.tolist())})"

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    @property
    def shape(self) -> tuple[int, ...]:
        """Its length, or nothing if it is a single number."""
        return (self.length,) if self.dim else ()

    def size(self, dim: int | None = None) -> tuple[int, ...] | int:
        """Its shape, or its length in one dimension."""
        return self.shape if dim is None else self.shape[dim]

    def numel(self) -> int:
        """How many numbers it has."""
        return self.length

    def tolist(self) -> list[Number] | Number:
        """Its numbers as Python's own."""
        return self._values() if self.dim else self.item()

    def item(self) -> Number:
        """The one number that it has."""
        if self.length != 1:
            raise RuntimeError(f"a Tensor with {self.length} elements cannot be a single number")
        return self.storage[self.start]

    # Parts of it, which share its memory.
    def __getitem__(self, index: int | slice) -> "Tensor":
        if isinstance(index, slice):
            start, end, step = index.indices(self.length)
            if step != 1:
                raise ValueError("A slice on this page has no step.")
            return Tensor(self.storage, self.start + start, max(end - start, 0))
        at = operator.index(index)
        if not -self.length <= at < self.length:
            raise IndexError(f"index {at} is out of bounds for a tensor of {self.length} numbers")
        return Tensor(self.storage, self.start + at % self.length, 1, dim=0)

    def __setitem__(self, index: int | slice, value: "Tensor | Number") -> None:
        self[index].copy_(value)

    def tensor_split(self, sections: int) -> tuple["Tensor", ...]:
        """As many views as `sections`; the first have one number more if it does not divide."""
        small, more = divmod(self.length, sections)
        return self.split([small + (i < more) for i in range(sections)])

    def chunk(self, chunks: int) -> tuple["Tensor", ...]:
        """Views of equal length, but for the last; if there are few numbers, fewer views."""
        return self.split(math.ceil(self.length / chunks) or 1)

    def split(self, sizes: int | Sequence[int]) -> tuple["Tensor", ...]:
        """Views of these sizes, one after another."""
        if isinstance(sizes, int):
            sizes = [min(sizes, self.length - at) for at in range(0, self.length, sizes)]
        if sum(sizes) != self.length:
            raise RuntimeError(f"split expects sizes that add up to {self.length}")
        starts = [sum(sizes[:i]) for i in range(len(sizes))]
        return tuple(self[at : at + size] for at, size in zip(starts, sizes, strict=True))

    # Arithmetic.
    def _pairs(self, other: "Tensor | Number") -> Iterable[tuple[Number, Number]]:
        if not isinstance(other, Tensor):
            return ((mine, other) for mine in self._values())
        if other.length == 1:
            return ((mine, other.item()) for mine in self._values())
        if self.length != other.length:
            raise RuntimeError(
                f"The size of tensor a ({self.length}) must match the size of tensor b "
                f"({other.length})"
            )
        return zip(self._values(), other._values(), strict=True)

    def _with(self, apply: Callable, other: "Tensor | Number") -> "Tensor":
        if isinstance(other, Tensor) and self.length == 1 and (other.length > 1 or other.dim):
            return other._with(lambda theirs, mine: apply(mine, theirs), self.item())
        return Tensor([apply(a, b) for a, b in self._pairs(other)], dim=self.dim)

    def _in_place(self, apply: Callable, other: "Tensor | Number") -> "Tensor":
        return self._write([apply(a, b) for a, b in self._pairs(other)])

    def copy_(self, other: "Tensor | Number") -> "Tensor":
        """Write the numbers of another tensor into this one."""
        return self._in_place(lambda _, theirs: theirs, other)

    def fill_(self, value: Number) -> "Tensor":
        """Write one number everywhere."""
        return self.copy_(value)

    def zero_(self) -> "Tensor":
        """Write zeros."""
        return self.copy_(0.0)

    def clone(self) -> "Tensor":
        """A copy with memory of its own."""
        return Tensor(self._values(), dim=self.dim)

    def sum(self) -> "Tensor":
        """The sum of its numbers."""
        return Tensor([sum(self._values())], dim=0)

    def all(self) -> bool:
        """Whether all of its numbers are other than zero."""
        return all(self._values())

    def view(self, *_: int) -> "Tensor":
        """Itself, since it is flat."""
        return self

    reshape = flatten = contiguous = detach = view
    __hash__ = object.__hash__


def _arithmetic(name: str, apply: Callable) -> None:
    """Give tensors the operator `apply` in all its forms."""
    setattr(Tensor, f"__{name}__", lambda self, other: self._with(apply, other))
    setattr(Tensor, f"__r{name}__", lambda self, other: self._with(lambda a, b: apply(b, a), other))
    setattr(Tensor, f"__i{name}__", lambda self, other: self._in_place(apply, other))


_NAMES = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div"}
for _operator, _method in _NAMES.items():
    _arithmetic(_operator, getattr(operator, _operator))
    setattr(Tensor, _method, getattr(Tensor, f"__{_operator}__"))
    setattr(Tensor, f"{_method}_", getattr(Tensor, f"__i{_operator}__"))
Tensor.__eq__ = lambda self, other: self._with(operator.eq, other)
Tensor.__neg__ = lambda self: self * -1


def shown(value: list[Number] | Number) -> str:
    """Numbers as one reads them: 11 and not 11.0."""
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    return str(int(value)) if math.isfinite(value) and value == int(value) else str(value)


def _filled(value: Number) -> Callable[..., Tensor]:
    return lambda size, **_: Tensor([value] * operator.index(size))


def _like(value: Number) -> Callable[..., Tensor]:
    return lambda tensor, **_: Tensor([value] * tensor.length, dim=tensor.dim)


class Torch(SimpleNamespace):
    """What the learner's `import torch` gives."""

    def __getattr__(self, name: str) -> object:
        raise AttributeError(
            f"torch.{name} is not on this page, which has only {', '.join(vars(self))}."
        )


def torch(distributed: object) -> Torch:
    """The names of torch that this page has, with this `torch.distributed`."""
    return Torch(
        Tensor=Tensor,
        tensor=lambda values, **_: Tensor([float(value) for value in values]),
        empty=_filled(math.nan),
        zeros=_filled(0.0),
        ones=_filled(1.0),
        empty_like=_like(math.nan),
        zeros_like=_like(0.0),
        ones_like=_like(1.0),
        clone=Tensor.clone,
        cat=lambda tensors: Tensor([value for each in tensors for value in each._values()]),
        equal=lambda one, other: one._values() == other._values(),
        distributed=distributed,
    )
