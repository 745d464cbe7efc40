"""One-dimensional tensors with torch's names: lists of numbers that share memory with views.

`empty` holds NaN, which shows if a number was never received. Any missing name raises an error.
"""

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace

Number = int | float


class Tensor:
    """The `length` numbers from `start` on of a `storage`, which several tensors may share."""

    def __init__(self, storage: list[Number], start: int = 0, length: int | None = None) -> None:
        self.storage, self.start = storage, start
        self.length = len(storage) if length is None else length

    def __getattr__(self, name: str) -> object:
        raise AttributeError(f"A tensor on this page has no {name}.")

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[Number]:
        return iter(self.tolist())

    def __repr__(self) -> str:
        return f"tensor({shown(self.tolist())})"

    @property
    def shape(self) -> tuple[int]:
        """Its length, in torch's form."""
        return (self.length,)

    def numel(self) -> int:
        """The number of its elements."""
        return self.length

    def tolist(self) -> list[Number]:
        """A copy of its numbers."""
        return self.storage[self.start : self.start + self.length]

    def clone(self) -> "Tensor":
        """A copy with its own memory."""
        return Tensor(self.tolist())

    # Views, which share its memory.
    def __getitem__(self, index: int | slice) -> "Tensor | Number":
        if not isinstance(index, slice):
            return self.tolist()[index]
        start, end, step = index.indices(self.length)
        if step != 1:
            raise ValueError("A slice on this page has no step.")
        return Tensor(self.storage, self.start + start, max(end - start, 0))

    def __setitem__(self, index: int | slice, value: "Tensor | Number") -> None:
        at = index if isinstance(index, slice) else range(self.length)[index]
        part = self[at] if isinstance(index, slice) else self[at : at + 1]
        part.copy_(value)

    def tensor_split(self, sections: int) -> tuple["Tensor", ...]:
        """`sections` views, the first of them one number longer if the length does not divide."""
        small, more = divmod(self.length, sections)
        return self.split([small + (i < more) for i in range(sections)])

    def chunk(self, chunks: int) -> tuple["Tensor", ...]:
        """Views of equal length, except for the last; if there are few numbers, fewer views."""
        return self.split(math.ceil(self.length / chunks) or 1)

    def split(self, sizes: int | Sequence[int]) -> tuple["Tensor", ...]:
        """Views of these sizes, one after another; raises RuntimeError if they do not add up."""
        if isinstance(sizes, int):
            sizes = [min(sizes, self.length - at) for at in range(0, self.length, sizes)]
        if sum(sizes) != self.length:
            raise RuntimeError(f"split expects sizes that add up to {self.length}")
        starts = [sum(sizes[:i]) for i in range(len(sizes))]
        return tuple(self[at : at + size] for at, size in zip(starts, sizes, strict=True))

    # Arithmetic: `+` makes a new tensor; `+=` and names that end in `_` write into this one.
    def _with(self, apply: Callable, other: "Tensor | Number") -> "Tensor":
        theirs = list(other) if isinstance(other, Tensor) else [other]
        if len(theirs) == 1:
            theirs *= self.length
        if len(theirs) != self.length:
            raise RuntimeError(
                f"The size of tensor a ({self.length}) must match the size of tensor b "
                f"({len(theirs)})"
            )
        return Tensor(list(map(apply, self, theirs)))

    def copy_(self, other: "Tensor | Number") -> "Tensor":
        """Write the numbers of another tensor into this one."""
        numbers = self._with(lambda mine, theirs: theirs, other).storage
        self.storage[self.start : self.start + self.length] = numbers
        return self

    def add_(self, other: "Tensor | Number") -> "Tensor":
        """Add to the numbers of this tensor."""
        return self.copy_(self + other)

    def zero_(self) -> "Tensor":
        """Write zeros into this tensor."""
        return self.copy_(0.0)

    def __add__(self, other: "Tensor | Number") -> "Tensor":
        return self._with(operator.add, other)

    def __sub__(self, other: "Tensor | Number") -> "Tensor":
        return self._with(operator.sub, other)

    def __mul__(self, other: "Tensor | Number") -> "Tensor":
        return self._with(operator.mul, other)

    def __truediv__(self, other: "Tensor | Number") -> "Tensor":
        return self._with(operator.truediv, other)

    def __isub__(self, other: "Tensor | Number") -> "Tensor":
        return self.copy_(self - other)

    def __imul__(self, other: "Tensor | Number") -> "Tensor":
        return self.copy_(self * other)

    def __itruediv__(self, other: "Tensor | Number") -> "Tensor":
        return self.copy_(self / other)

    __radd__, __rmul__, __iadd__ = __add__, __mul__, add_


def shown(value: list[Number] | Number) -> str:
    """Numbers for a reader: 11 instead of 11.0."""
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    return str(int(value)) if math.isfinite(value) and value == int(value) else str(value)


class TorchModule(SimpleNamespace):
    """The module that the learner's `import torch` gives."""

    def __getattr__(self, name: str) -> object:
        raise AttributeError(
            f"torch.{name} is not on this page, which has only {', '.join(vars(self))}."
        )


def torch(distributed: object) -> TorchModule:
    """The names of torch that this page has, with this `torch.distributed`."""
    return TorchModule(
        Tensor=Tensor,
        tensor=lambda values: Tensor([float(value) for value in values]),
        empty=lambda size: Tensor([math.nan] * size),
        zeros=lambda size: Tensor([0.0] * size),
        empty_like=lambda tensor: Tensor([math.nan] * len(tensor)),
        zeros_like=lambda tensor: Tensor([0.0] * len(tensor)),
        cat=lambda tensors: Tensor([number for tensor in tensors for number in tensor]),
        distributed=distributed,
    )
