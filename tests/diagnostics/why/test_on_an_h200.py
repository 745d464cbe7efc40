"""A cause that was planted in a training on a real GPU is found in the recorded reports.

recorded/h200.json.xz: two ranks over NCCL 2.28.9 that shared one NVIDIA H200, with torch 2.11.0 and
driver 580.159.04, on 2026-11-26. plants/on_gpus.py was the script, with delays of 60 ms;
tests/tools/record_why_on_gpu.py records it again.
"""

import json
import lzma
from pathlib import Path

import pytest
from support.why_runs import ON_A_GPU

from course.diagnostics import WhyAnswer
from course.diagnostics.profiling import timeline
from course.diagnostics.why import devices

RECORDED = Path(__file__).with_name("recorded") / "h200.json.xz"


@pytest.fixture(scope="module")
def runs() -> dict[str, list[dict]]:
    return json.loads(lzma.decompress(RECORDED.read_bytes()))


def test_every_recorded_run_is_judged(runs: dict) -> None:
    assert runs.keys() == ON_A_GPU.keys()


@pytest.mark.parametrize("planted", ON_A_GPU)
def test_what_was_planted_comes_first(runs: dict, planted: str, tmp_path: Path) -> None:
    reports = []
    for number, recorded in enumerate(runs[planted]):
        for name, content in recorded.items():
            (tmp_path / f"{name}{number}.json").write_text(json.dumps(content))
        reports.append(timeline.read(tmp_path / f"rank{number}.json"))
        devices.see(reports[-1], tmp_path / f"trace{number}.json")
    assert not any(rank.gpu_unknown_because for rank in reports)
    cause, whose, least = ON_A_GPU[planted]
    first = WhyAnswer(reports).causes[0]
    assert (first.name, first.rank) == (cause, whose) and first.share >= least
