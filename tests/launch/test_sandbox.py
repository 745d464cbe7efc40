"""Before anything runs, a sandbox takes in a copy of the learner's folder, and no more."""

from pathlib import Path

import pytest

from course.core import CourseError
from course.hardware import isolation
from course.launch import Sandbox

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def possible(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that this machine can isolate; nothing is started here."""
    monkeypatch.setattr(isolation, "missing", lambda: None)


def test_a_copy_has_the_files_and_no_links(tmp_path: Path) -> None:
    src = tmp_path / "src"
    (src / "parts").mkdir(parents=True)
    (src / "parts" / "ring.py").write_text("1 + 1\n")
    (src / "ring.py").symlink_to(src / "parts" / "ring.py")
    (src / "everything").symlink_to("/")
    src.chmod(0o700)
    with Sandbox.around(src, results=2) as sandbox:
        copied = sandbox.outside / "submitted"
        names = [str(path.relative_to(copied)) for path in sorted(copied.rglob("*"))]
        assert names == ["parts", "parts/ring.py"]
        assert copied.stat().st_mode & 0o777 == 0o755  # a user of no rights reads it
        assert sorted(path.name for path in sandbox.outside.glob("rank*")) == ["rank0", "rank1"]
    assert not sandbox.outside.exists()


def test_a_folder_that_is_too_large_is_not_copied(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(isolation, "DISK", 10)
    with (tmp_path / "weights.pt").open("wb") as file:
        file.truncate(2**40)
    reason = "holds more than 10 B: keep only the scripts there"
    with pytest.raises(CourseError, match=reason), Sandbox.around(tmp_path, results=1):
        pass
