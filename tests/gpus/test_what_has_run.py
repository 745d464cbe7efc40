"""What README and lessons say of a real GPU is in the record of it, tests/gpus/h200.toml."""

import sys
import tomllib
from pathlib import Path

from support import one_gpu

from course.commands import report_scripts
from course.core import ROOT
from course.lessons import lessons

RECORD = tomllib.loads(Path(__file__).with_name("h200.toml").read_text())


def said(file: str) -> str:
    """The words of a page, its lines joined."""
    return " ".join((ROOT / file).read_text().split())


def test_what_the_readme_counts():
    number = len(RECORD["ran"]["several_ranks"])
    assert f"{number} commands for several ranks have also run over NCCL" in said("README.md")


def test_what_ran_is_a_command_of_the_course():
    """One whose script has changed so that its command is another has to run again."""
    known = {command.text for command in report_scripts.commands(lessons(ROOT))}
    ran = RECORD["ran"]
    assert known >= {*ran["several_ranks"], *ran["one_process"], *ran["unknown"]}


def test_what_lab_04_says_of_pinned_memory():
    measured = RECORD["measured"]
    pinned, pageable = measured["pinned_non_blocking"], measured["pageable_non_blocking"]
    words = (
        f"On one H200, 64 MiB were there after {pinned['done']:.1f} ms, and Python went on after "
        f"{pinned['returned']:.2f}; from other memory both took {pageable['done']:.1f}."
    )
    assert words in said("course/lessons/04_ddp_in_practice.md")


def test_ranks_that_share_a_gpu_find_one_another():
    """Shown over Gloo: how `tests/tools/run_on_one_gpu.py` starts them."""
    script = (
        "import torch.distributed as dist; dist.init_process_group('gloo'); dist.barrier(); "
        "raise SystemExit(3 * dist.get_rank())"
    )
    assert one_gpu.run([sys.executable, "-c", script], 2, limit=60) == [0, 3]
