"""A plugin of pytest: how many workers of xdist there are, and which tests stay together."""

import os

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling


@pytest.hookimpl(tryfirst=True)  # before xdist, which reads the options here
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Share the tests among workers, in the order that conftest.py gives, unless ``-n`` is said."""
    is_worker = hasattr(config, "workerinput")
    if config.option.numprocesses is None and not is_worker:
        config.option.numprocesses = "auto"
    config.option.loadscopereorder = False


def pytest_xdist_auto_num_workers() -> int:
    """Two at least, since most tests wait for ranks; four at most, since ranks need cores."""
    return min(max(2, os.cpu_count() or 1), 4)


class ByFile(LoadFileScheduling):
    """A file's tests stay on one worker; of a long file of answers, those to one exercise."""

    def _split_scope(self, nodeid: str) -> str:
        file, _, test = nodeid.partition("::")
        exercise, is_answer, _ = test.partition(": ")
        return f"{file}::{exercise}" if is_answer else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile:
    """How tests are dealt to workers."""
    return ByFile(config, log)
