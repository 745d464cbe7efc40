"""``python -m course bench``: a table and a file of paired measurements, or why there is none."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from course.commands import bench
from course.core.files import ROOT
from course.launch.connect import warm_up
from course.lessons import lesson

pytestmark = pytest.mark.slow

LABS = (
    "02_all_reduce",
    "03b_overlap",
    "06_horovod_style",
    "06b_horovod_engine",
    "08_scaling",
    "10_sharding",
    "10b_fsdp",
    "11b_pipelines",
)


@pytest.fixture(scope="module")
def solved(tmp_path_factory) -> Path:
    """The solved scripts that the contests take."""
    folder = tmp_path_factory.mktemp("src")
    for lab in LABS:
        for path, text in (
            lesson.read(ROOT / "course" / "lessons" / f"{lab}.md").scripts(solved=True).items()
        ):
            (folder / Path(path).name).write_text(text)
    return folder


@pytest.mark.rest
@pytest.mark.parametrize("contest", bench.CONTESTS, ids=lambda contest: contest.name)
def test_every_contest_is_held(contest, solved):
    warm_up()
    result = bench.compete(contest, 2, solved, rounds=4)
    assert result.note == ""
    assert result.low <= result.ratio <= result.high
    # What DDP adds to a step is a difference of two times, which chance can make negative.
    assert result.low > 0 or contest.name == "exposed"


def test_a_contest_needs_ranks_that_talk(solved):
    exposed = next(contest for contest in bench.CONTESTS if contest.name == "exposed")
    assert bench.compete(exposed, 1, solved).note == "needs 2 ranks"


def test_every_contest_says_what_its_ratio_means():
    assert all("{ratio}" in means for means in bench.MEANS.values())
    assert {contest.name for contest in bench.CONTESTS} == set(bench.MEANS) - {"launch"}


def test_the_slower_one_loses(solved, tmp_path):
    warm_up()
    for script in solved.glob("*.py"):
        (tmp_path / script.name).write_text(script.read_text())
    ring = tmp_path / "ring.py"
    ring.write_text(
        ring.read_text().replace("    reduce_scatter(chunks)\n", "    reduce_scatter(chunks)\n" * 8)
    )
    once, often = (
        bench.compete(bench.CONTESTS[0], 2, folder).ratio for folder in (solved, tmp_path)
    )
    assert often > 1.5 * once


@pytest.mark.rest
def test_what_is_not_written_is_said_and_the_rest_is_measured(tmp_path, monkeypatch, capsys):
    (tmp_path / "simple_ways.py").write_text("")
    (tmp_path / "ring.py").write_text('    raise NotImplementedError("TODO 3: send and receive")\n')
    report = tmp_path / "bench.json"
    monkeypatch.setattr(bench, "LAUNCHES", 2)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # two threads wait for each other on a busy box
    options = ["--src", str(tmp_path), "--ranks", "1", "--rounds", "4", "--json", str(report)]
    assert bench.main(options) == 1
    shown = capsys.readouterr()
    assert shown.err == "" and "still to write: TODO 3: send and receive" in shown.out
    written = json.loads(report.read_text())
    by_name = {result["contest"]: result for result in written["results"]}
    assert by_name["ring"]["ratio"] is None
    assert by_name["ddp"]["ratio"] > 0
    launch = by_name["launch"]
    assert 0 < launch["low"] <= launch["ratio"] <= launch["high"]
    assert "ddp: Averaging gradients makes a step" in shown.out
    assert "cores" in written["box"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--src", "nowhere"], "There is no folder nowhere"),
        (["--ranks", "0"], "above 0"),
        (["--rounds", "1"], "above 1"),
    ],
)
def test_bad_input_gets_one_sentence(arguments, says, tmp_path):
    command = [sys.executable, "-m", "course", "bench", "--src", str(tmp_path), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert says in done.stderr and len(done.stderr.splitlines()) == 1
