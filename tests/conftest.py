"""Fixtures for the tests of several packages, and a safeguard for every fork in a test."""

import gc
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from support.chromium import CHROMIUM, FLAGS
from support.lesson_samples import ELSEWHERE, GOOD, NEXT, WIDGET, built, course
from support.patience import PATIENCE_S

from course.checks.runner.on_ranks import await_warm_ranks
from course.launch import warm_up

# A forked child that collects a destroyed Gloo group waits for the group's threads, which only the
# parent has. So DataLoader workers have hung, or crashed with SIGSEGV.
os.register_at_fork(before=gc.collect)


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Let torch use one thread, since small models gain nothing from more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def group_of_one() -> Iterator[None]:
    """A process group of one rank, in this process."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def warm_ranks() -> None:
    """Ranks that start at once, with all libraries in memory."""
    warm_up()
    await_warm_ranks()


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course of four small lessons, built once; tests that change it use ``copied``."""
    root = course(
        tmp_path_factory.mktemp("course"),
        adding=GOOD,
        next=NEXT,
        widget=WIDGET,
        elsewhere=ELSEWHERE,
    )
    assert built(root) == []
    return root


@pytest.fixture
def copied(finished: Path, tmp_path: Path) -> Path:
    """A copy of that course."""
    return shutil.copytree(finished, tmp_path, dirs_exist_ok=True)


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    """A headless Chromium, as playwright drives it."""
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM, args=FLAGS, timeout=PATIENCE_S * 1000
        )
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def tab(browser: object) -> Iterator[object]:
    """One tab for all pages of a test file: their code is compiled only once."""
    tab = browser.new_page()
    tab.set_default_timeout(PATIENCE_S * 1000)
    yield tab
    tab.close()
