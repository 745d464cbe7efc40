"""A pytest plugin that splits the tests among machines, and on each among xdist's workers."""

import os
import zlib

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling


@pytest.hookimpl(tryfirst=True)  # before xdist, which reads the options here
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Share the tests among workers, in the order set by conftest.py, unless ``-n`` is given."""
    is_worker = hasattr(config, "workerinput")
    if config.option.numprocesses is None and not is_worker:
        config.option.numprocesses = "auto"
    config.option.loadscopereorder = False
    config.option.maxworkerrestart = "0"  # xdist 3.8 waits forever after it has replaced a worker


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores, as many tests wait; at most four, as ranks need cores."""
    return min((os.cpu_count() or 1) + 1, 4)


# Folders whose files share a warm server, which takes ten seconds to start.
GROUPED_FOLDERS = ("tests/launch/faithful", "tests/launch/faults")


def group_of(nodeid: str) -> str:
    """The group of a test: its file, its folder, or in a file of answers its exercise."""
    file, _, test = nodeid.partition("::")
    folder = file.rpartition("/")[0]
    exercise, is_answer, _ = test.partition(": ")
    return f"{file}::{exercise}" if is_answer else folder if folder in GROUPED_FOLDERS else file


class ByFile(LoadFileScheduling):
    """Keeps the tests of a group on one worker."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile:
    """Return the scheduler that keeps groups together."""
    return ByFile(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep only the tests of one machine among several, by ``COURSE_SHARD=2/4``."""
    shard, shards = map(int, os.environ.get("COURSE_SHARD", "1/1").split("/"))
    others = [item for item in items if _shard(item, shards) != shard]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if _shard(item, shards) == shard]


def _shard(item: pytest.Item, shards: int) -> int:
    return 1 + zlib.crc32(group_of(item.nodeid).encode()) % shards
