"""Old folders of runs are deleted, and nothing that is not certainly the course's."""

import os
import shutil
from pathlib import Path

import pytest

from course.core import RUNS
from course.launch import run_folder

OURS = "run-20200101-120000-train-abcd{:04d}"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ended(number: int) -> Path:
    """The folder of an old run of ours that has ended."""
    path = RUNS / OURS.format(number)
    path.mkdir(parents=True)
    for name in ("launcher.log", "rank0.log", "rank11.log", run_folder.METRICS):
        (path / name).write_text("old")
    run_folder.mark_finished(path)
    return path


def everything(folder: Path) -> dict[str, tuple[float, str]]:
    """Each path in a folder and below, when it was changed, and what it holds or points to."""
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_mtime,
            os.readlink(path) if path.is_symlink() else path.read_text() if path.is_file() else "",
        )
        for path in [folder, *folder.rglob("*")]
    }


def test_the_oldest_folders_of_finished_runs_are_deleted() -> None:
    old = [ended(number) for number in range(run_folder.KEPT_RUNS + 4)]
    (old[1] / run_folder.FINISHED).unlink()  # it may still be running
    new = run_folder.new(["torchrun", "src/my train.py"])
    assert new.parent == RUNS.resolve() and "-my_train-" in new.name
    left = {path.name for path in RUNS.iterdir()}
    assert len(left) == run_folder.KEPT_RUNS + 1
    assert left == {path.name for path in (old[1], *old[5:], new)}
    assert not run_folder.may_delete(new)
    run_folder.mark_finished(new)
    assert run_folder.may_delete(new)


def test_what_a_folder_holds_beside_our_files_keeps_it() -> None:
    (model, link, below), others = map(ended, range(3)), range(3, run_folder.KEPT_RUNS + 9)
    (model / "model.pt").write_text("three days of training")
    (link / "rank1.log").symlink_to(model / "model.pt")
    (below / "rank2.log").mkdir()
    before = [everything(folder) for folder in (model, link, below)]
    for number in others:
        ended(number)
    run_folder.new(["python", "train.py"])
    assert [everything(folder) for folder in (model, link, below)] == before
    assert not (RUNS / OURS.format(3)).exists()


def test_a_renamed_or_copied_folder_stays() -> None:
    copy = ended(0).rename(RUNS / OURS.format(9000))
    shutil.copytree(ended(1), RUNS / OURS.format(9001))
    shutil.copytree(RUNS / OURS.format(1), RUNS / "best")
    outside = (RUNS / OURS.format(1)).rename("elsewhere")
    (RUNS / OURS.format(1)).symlink_to(outside.resolve())
    for path in (copy, RUNS / OURS.format(9001), RUNS / "best", RUNS / OURS.format(1)):
        assert not run_folder.may_delete(path), path


@pytest.mark.parametrize("place", ["runs", str(RUNS)])
def test_a_strangers_runs_are_left_alone(folder: Path, place: str) -> None:
    """TensorBoard's and trainers' folders, some named as ours are, some with a `finished`."""
    runs = folder / place
    (folder / "archive").mkdir()
    for number in range(run_folder.KEPT_RUNS + 9):
        names = (
            f"20250101-lr{number:02}",
            f"Jan01_12-00-{number:02}_host",
            OURS.format(number),
            f"run-20250101-1200{number:02}-train-abcdefgh",
        )
        for name in names:
            (runs / name).mkdir(parents=True)
            (runs / name / f"events.out.tfevents.{number}").write_text("a curve")
            (runs / name / run_folder.FINISHED).touch()
        bare = runs / f"run-20250102-1200{number:02}-train-abcdefgh"
        bare.mkdir()
        (bare / run_folder.FINISHED).write_text(["", "yes\n", "\0"][number % 3])
        (runs / f"run-20250103-1200{number:02}-train-abcdefgh").symlink_to(folder / "archive")
    before = everything(runs)
    for _ in range(3):
        run_folder.mark_finished(run_folder.new(["torchrun", "train.py"]))
    after = everything(runs)
    if place == str(RUNS):  # where three new folders are ours, each with its marker
        for seen in (before, after):
            del seen["."]
        assert len(after) == len(before) + 6
    assert before.items() <= after.items()
    assert place == str(RUNS) or after == before


def test_a_line_of_the_metrics_that_is_no_row_is_left_out(folder: Path) -> None:
    """A script may write there, and a write on a full disk may be cut short."""
    metrics = run_folder.MetricsFile(folder)
    row = '{"rank": 0, "time": 1.5, "loss": 2}'
    lines = (row, "", '{"rank": 0, "ti', "[1]", '{"a": 1}', "\ud800", "[" * 100_000, row)
    metrics.path.write_bytes("\n".join([*lines, '{"rank": 1']).encode(errors="surrogatepass"))
    assert metrics.new_rows() == [{"rank": 0, "time": 1.5, "loss": 2}] * 2
