"""Whatever README and lessons say about real GPUs is recorded in h200.toml and h100.toml."""

import re
import sys
import tomllib
from pathlib import Path

from support import one_gpu

from course.commands import report_scripts
from course.core import ROOT
from course.lessons import lessons

H200, H100 = (
    tomllib.loads(Path(__file__).with_name(f"{gpu}.toml").read_text()) for gpu in ("h200", "h100")
)
NEWEST = H100["torch_2_15"]
RUNS = (H200["ran"], H100["torch_2_11"], NEWEST)


def text_of(file: str) -> str:
    """The words of a page, its lines joined."""
    return " ".join((ROOT / file).read_text().split())


def test_what_the_readme_counts():
    number = len(set().union(*(run["several_ranks"] for run in RUNS)))
    read = re.sub(r"\[(.+?)\]\(.+?\)", r"\1", text_of("README.md"))
    assert f"{number} commands for several ranks have also run over NCCL" in read
    assert f"H200 or H100, {len(NEWEST['several_ranks'])} of them with torch 2.15" in read


def test_what_ran_is_a_command_of_the_course():
    """If a script has changed so that its command is another, it has to run again."""
    known = {command.text for command in report_scripts.commands(lessons(ROOT))}
    ran = set(H200["ran"]["one_process"])
    assert known >= ran.union(*(run["several_ranks"] + run["unknown"] for run in RUNS))


def test_what_torch_said_on_a_gpu():
    """Tests of the facts read the same in its library, or try it with a stand-in."""
    watchdog = text_of("course/lessons/09_clusters.md")
    assert "ends with `Watchdog caught collective operation timeout` (from" in watchdog
    assert H100["torch_2_11"]["watchdog"].startswith("Watchdog caught collective operation timeout")
    assert "(from torch 2.15 on, `Aborting process on rank ... due to timeout`)" in watchdog
    assert re.match(r"Aborting process on rank \d+ due to timeout", NEWEST["said"]["watchdog"])
    assert "torch before 2.15 warns" in text_of("course/lessons/02_all_reduce.md")
    assert NEWEST["said"]["single_messages"] == ""
    assert "connects at once (as torch 2.15 always does)" in text_of(
        "course/lessons/00_start_here.md"
    )
    assert NEWEST["said"]["bound_device_id"] == "cuda:0"


def test_what_lab_04_says_of_pinned_memory():
    measured = H200["measured"]
    pinned, pageable = measured["pinned_non_blocking"], measured["pageable_non_blocking"]
    words = (
        f"On one H200, copying 64 MiB took {pinned['done']:.1f} ms, and Python waited for "
        f"{pinned['returned']:.2f}; from other memory both were {pageable['done']:.1f} ms."
    )
    assert words in text_of("course/lessons/04_ddp_in_practice.md")


def test_ranks_that_share_a_gpu_find_one_another():
    """Over Gloo, this shows how `tests/tools/run_on_one_gpu.py` starts them."""
    script = (
        "import torch.distributed as dist; dist.init_process_group('gloo'); dist.barrier(); "
        "raise SystemExit(3 * dist.get_rank())"
    )
    assert one_gpu.run([sys.executable, "-c", script], 2, limit=60) == [0, 3]
