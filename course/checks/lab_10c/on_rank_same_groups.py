"""Check that all ranks make the same process groups, in the same order.

Every rank must call `new_group`, even if it is not in the new group. If ranks call it for different
groups, torch may connect ranks of different groups, or wait forever, depending on timing. So the
ranks compare each call before they make it.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch.distributed as dist

from course.core import interceptor


class GroupsDiffer(Exception):
    """The ranks make different groups, or make them in different orders."""


@contextmanager
def same_groups() -> Iterator[None]:
    """Within this context, all ranks raise `GroupsDiffer` if they make different groups.

    A group with `use_local_synchronization` is not compared, since only its own ranks make it.
    """

    def compare_first(name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        arguments = inspect.signature(real).bind(*args, **kwargs).arguments
        if not arguments.get("use_local_synchronization"):
            ranks = arguments.get("ranks")
            _compare(range(dist.get_world_size()) if ranks is None else ranks)
        return real(*args, **kwargs)

    with interceptor.intercepted(compare_first, ["new_group"]):
        yield
    _compare([])  # a rank that makes no more groups


def _compare(ranks: object) -> None:
    """Raise `GroupsDiffer` unless all ranks call this with the same ranks."""
    every: list = [None] * dist.get_world_size()
    dist.all_gather_object(every, sorted(map(int, ranks)))
    other = next((rank for rank, group in enumerate(every) if group != every[0]), None)
    if other is not None:
        first, second = (
            f"a group of {group}" if group else "none" for group in (every[0], every[other])
        )
        raise GroupsDiffer(f"rank 0 makes {first} while rank {other} makes {second}")
