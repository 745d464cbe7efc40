"""`right --deep` as a user types it: a script on two ranks, then on one process."""

import json
import sys
from pathlib import Path

import pytest
from diagnostics.right.test_terminal import RANKS, typed

from course.core import CourseError
from course.diagnostics.right.table import DIFFERS, EQUAL, NOT_SEEN
from course.notebook.magics import CourseMagics

PLANTS = Path(__file__).with_name("plants")
DEEP = (sys.executable, "-m", "course", "right", "--deep")

RIGHT = [
    ("deep", "plain"),
    ("deep", "by hand"),
    ("deep", "accumulates"),
    ("deep", "attention"),
    ("deep", "sum over all"),
    ("deep", "linear rate"),
    ("with_accelerate", "none"),
    ("with_trainer", "none"),
]
WRONG = [
    ("added", "factor", "# step", 2.0),
    ("divided twice", "factor", "# backward", 0.5),
    ("mean of means", "mean of means", "# call", None),
    ("past DDP", "not averaged", "# call", None),
]
NOT_JUDGED = [
    ("deep", "sum", DIFFERS, "the loss is not a mean over a batch"),
    ("deep", "local steps", DIFFERS, "without --deep"),
    ("deep", "batch norm", NOT_SEEN, "not compared: batch norm"),
    ("deep", "noise", NOT_SEEN, "not compared: the model is called with other samples"),
    ("deep", "start by ranks", NOT_SEEN, "not compared: one process begins with other weights"),
    ("deep", "lengths", NOT_SEEN, "not compared: the batches have different shapes"),
    ("deep", "fixed view", NOT_SEEN, "not compared: the script fails on one process"),
    ("by_hand", "none", NOT_SEEN, "not compared: the batches do not come from a DataLoader"),
]


def compare(folder: Path, make: str, what: str) -> tuple[int, dict, str]:
    """The exit code, the JSON and the text of an answer."""
    script = str(PLANTS / f"{make}.py")
    done = typed(folder, *DEEP, "--json", "deep.json", "--", *RANKS, script, what, str(folder))
    assert (folder / "deep.json").exists(), done.stderr
    return done.returncode, json.loads((folder / "deep.json").read_text()), done.stderr


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize(("make", "what"), RIGHT)
def test_a_right_script_agrees_with_one_process(tmp_path: Path, make: str, what: str) -> None:
    code, answer, text = compare(tmp_path, make, what)
    assert (code, answer["findings"]) == (0, []), text
    assert [row["state"] for row in answer["rows"]] == [EQUAL], text
    assert answer["parameters"] != []
    assert all(parameter["difference"] < 1e-5 for parameter in answer["parameters"]), text


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize(("fault", "what", "line", "times"), WRONG)
def test_a_fault_is_named(
    tmp_path: Path, fault: str, what: str, line: str, times: float | None
) -> None:
    code, answer, text = compare(tmp_path, "deep", fault)
    assert code == 3 and [finding["what"] for finding in answer["findings"]] == [what], text
    number = int(answer["findings"][0]["where"].removeprefix("deep.py:"))
    assert line in (PLANTS / "deep.py").read_text().splitlines()[number - 1]
    if times:
        assert {round(parameter["times"], 5) for parameter in answer["parameters"]} == {times}


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize(("make", "what", "state", "why"), NOT_JUDGED)
def test_what_cannot_be_compared_is_not_judged(
    tmp_path: Path, make: str, what: str, state: str, why: str
) -> None:
    code, answer, text = compare(tmp_path, make, what)
    assert (code, answer["findings"]) == (0, []), text
    assert [row["state"] for row in answer["rows"]] == [state]
    assert why in answer["rows"][0]["says"]


@pytest.mark.slow
@pytest.mark.sampled
def test_a_script_that_starts_its_ranks_itself_is_not_compared(tmp_path: Path) -> None:
    script = PLANTS / "spawns.py"
    done = typed(tmp_path, *DEEP, "--", sys.executable, str(script))
    assert done.returncode == 0 and "starts its ranks itself" in " ".join(done.stderr.split())


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize(("what", "code"), [("plain", 0), ("added", 3)])
def test_quiet_says_only_what_is_wrong(tmp_path: Path, what: str, code: int) -> None:
    done = typed(tmp_path, *DEEP, "--quiet", "--", *RANKS, str(PLANTS / "deep.py"), what)
    assert done.returncode == code, done.stderr
    assert ("Factor: " in done.stderr) == bool(code)
    assert "Now one process" not in done.stderr and "same gradients" not in done.stderr


def test_in_a_notebook_it_says_what_to_type() -> None:
    with pytest.raises(CourseError, match=r"!python -m course right --deep -- torchrun train\.py"):
        CourseMagics(None).right("--deep torchrun train.py")


def test_it_needs_the_command_that_starts_all_ranks(tmp_path: Path) -> None:
    done = typed(tmp_path, *DEEP, "--rank", "--", "train.py")
    assert done.returncode == 2 and "without --rank" in done.stderr


def test_a_folder_in_which_a_run_was_kept_is_not_used_again(tmp_path: Path) -> None:
    (tmp_path / "kept" / "ranks").mkdir(parents=True)
    done = typed(tmp_path, *DEEP, "--keep", "kept", "--", "true")
    assert done.returncode == 2 and "kept is not empty" in done.stderr
