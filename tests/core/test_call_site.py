"""The calls that need one partner, not all ranks."""

import torch.distributed as dist

from course.core.call_site import POINT_TO_POINT


def test_messages_are_those_of_torch() -> None:
    messages = {name for name in vars(dist) if "send" in name or "recv" in name}
    assert messages | {"wait"} == POINT_TO_POINT
