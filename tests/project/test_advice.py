"""When tests fail, the last lines of output help, as a small tree of tests shows."""

from pathlib import Path

import pytest
from support.advice import LOG, advice
from support.pytest_runs import run_pytest

SHARED = ("-p", "support.advice", "-p", "xdist.plugin", "-n")


@pytest.mark.parametrize("workers", ["0", "2"])
def test_the_last_three_lines_say_what_is_concerned_how_to_try_it_and_where_the_log_is(
    tmp_path: Path, workers: str
) -> None:
    folder = tmp_path / "tests" / "launch"
    folder.mkdir(parents=True)
    text = "def test_a_rank():\n    print('the rank said')\n    assert 1 == 2\n"
    (folder / "test_ranks.py").write_text(text + "def test_well(): pass\n")
    done = run_pytest(tmp_path, *SHARED, workers)
    test = "tests/launch/test_ranks.py::test_a_rank"
    assert done.returncode == 1
    assert done.stdout.splitlines()[-3:] == advice([test])
    log = (tmp_path / LOG).read_text()
    assert f"=== {test} (call)" in log and "assert 1 == 2" in log and "the rank said" in log
    assert "test_well" not in log


def test_where_all_is_well_nothing_is_added(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_well(): pass\n")
    done = run_pytest(tmp_path, *SHARED, "0")
    assert done.returncode == 0 and "1 passed" in done.stdout.splitlines()[-1]
    assert not (tmp_path / LOG).exists()


@pytest.mark.parametrize(
    ("test", "part", "alone"),
    [
        ("tests/launch/faults/test_a.py::test_b[x y]", "course/launch", "'tests/launch/faults/te"),
        ("tests/facts/test_ddp.py::test_b", "what tests/facts/test_ddp.py tries", "tests/facts/"),
        ("labs/03.ipynb::Cell 4", "the lab labs/03.ipynb", "--small labs/03.ipynb"),
    ],
)
def test_the_part_and_the_command_fit_the_test(test: str, part: str, alone: str) -> None:
    concerned, command, _ = advice([test])
    assert concerned == f"This concerns {part}." and alone in command
    assert "Cell" not in command  # a cell needs those before it


def test_of_several_the_first_is_named_and_how_to_try_them_all() -> None:
    concerned, command, _ = advice(
        ["tests/diagnostics/a.py::b", "tests/diagnostics/a.py::c", "tests/data/a.py::b"]
    )
    assert concerned == "This concerns course/diagnostics, course/data."
    assert "tests/diagnostics/a.py::b (all 3: with --last-failed" in command
