"""A right script also passes if a script that the lab provides was not handed in."""

from pathlib import Path

import pytest
from support import solutions

from course.__main__ import main
from course.commands.check_given import complete
from course.exercises import exercises


def scripts(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_nothing_is_copied_where_nothing_is_missing(tmp_path):
    (tmp_path / "kept").mkdir()
    with complete(tmp_path, []) as src:
        assert src == tmp_path
    (tmp_path / "flat_unit.py").write_text("x = 1")
    for name, text in exercises()["flat_unit"].given.items():
        (tmp_path / f"{name}.py").write_text(text)
    with complete(tmp_path, ["flat_unit"]) as src:
        assert src == tmp_path


def test_what_is_missing_is_laid_beside_a_copy(tmp_path):
    own, *others = exercises()["flat_unit"].given
    (tmp_path / "flat_unit.py").write_text("x = 1")
    (tmp_path / f"{own}.py").write_text("own = 1")
    (tmp_path / "folder.py").mkdir()
    with complete(tmp_path, ["flat_unit", "ring"]) as src:
        assert scripts(src) == {f"{name}.py" for name in ("flat_unit", own, *others)}
        assert (src / f"{own}.py").read_text() == "own = 1"
    assert scripts(tmp_path) == {"flat_unit.py", f"{own}.py", "folder.py"}
    assert not src.exists()


@pytest.mark.slow
@pytest.mark.rest
def test_a_right_flat_unit_passes_alone(tmp_path):
    solutions.write(exercises()["flat_unit"].path.stem, tmp_path)
    for path in tmp_path.iterdir():
        if path.name != "flat_unit.py":
            path.unlink()
    assert main(["check", "flat_unit", "--src", str(tmp_path)]) == 0
