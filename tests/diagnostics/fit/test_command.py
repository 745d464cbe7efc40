"""The script of a command, and one sentence if there is none."""

from pathlib import Path

import pytest

from course.core import CourseError
from course.diagnostics.fit import command


@pytest.mark.parametrize(
    "words",
    [
        "torchrun --standalone --nproc-per-node 2 train.py --batch-size 8",
        "python -m torch.distributed.run --nproc-per-node=2 train.py --batch-size 8",
        "python3 -u -m torch.distributed.run --nproc-per-node=2 train.py --batch-size 8",
        "python -m torch.distributed.launch --nproc-per-node=2 train.py --batch-size 8",
        "python -m accelerate.commands.launch --num_processes 2 train.py --batch-size 8",
        "python -u -W ignore train.py --batch-size 8",
        "train.py --batch-size 8",
        "accelerate launch --num_processes 2 train.py --batch-size 8",
    ],
)
def test_the_script_and_its_words(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").touch()
    monkeypatch.chdir(tmp_path)
    script = command.script(words.split())
    assert (script.name, script.words) == ("train.py", ["--batch-size", "8"])


def test_a_module() -> None:
    script = command.script(["torchrun", "-m", "package.train", "--lr", "1"])
    assert script.is_module and script.name == "package.train" and script.words == ["--lr", "1"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("torchrun --nproc-per-node 2 nowhere.py", "There is no script nowhere.py"),
        ("torchrun --nproc-per-mode 2", "torchrun does not understand this"),
        ("make train", "No script was named"),
        ("", "No script was named"),
    ],
)
def test_no_script(words: str, says: str) -> None:
    with pytest.raises(CourseError, match=says):
        command.script(words.split())
