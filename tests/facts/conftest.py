"""Fixtures for the tests of facts."""

from collections.abc import Iterator

import pytest
import torch.distributed as dist


@pytest.fixture
def group_of_one() -> Iterator[None]:
    """A process group of one rank, in this process."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()
