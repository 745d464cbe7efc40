"""`%%writefile` writes a cell as a whole, or leaves the old content unchanged."""

import subprocess
from pathlib import Path

import pytest
from support.cells import RunCell, refused
from support.disks import mounted


def test_writefile(cell: RunCell, labs: Path) -> None:
    assert cell("%%writefile src/new/a.py\nx = 'ä €'\n").shown == "Writing src/new/a.py\n"
    file = labs / "src" / "new" / "a.py"
    assert file.read_text("utf-8") == "x = 'ä €'\n"
    assert cell("%%writefile 'src/new/a.py'\ny\n").shown == "Overwriting src/new/a.py\n"
    assert file.read_text() == "y\n" and [path.name for path in file.parent.iterdir()] == ["a.py"]


def test_writefile_where_a_file_is_in_the_way(cell: RunCell, labs: Path) -> None:
    (labs / "src" / "file").write_text("old")
    for target in ("src/file/a.py", "src"):
        sentence = refused(cell(f"%%writefile {target}\nx"))
        assert sentence.startswith(f"{target} cannot be written: ") and "\n" not in sentence
    assert (labs / "src" / "file").read_text() == "old"
    assert [path.name for path in (labs / "src").iterdir()] == ["file"]


@pytest.mark.parametrize("fault", ["full", "read-only"])
def test_writefile_leaves_the_old_content(cell: RunCell, labs: Path, fault: str) -> None:
    src = labs / "src"
    with mounted(src, "size=64k"):
        (src / "a.py").write_text("old")
        if fault == "read-only":
            subprocess.run(["mount", "-o", "remount,ro", str(src)], check=True)
        sentence = refused(cell("%%writefile src/a.py\n" + "x = 1\n" * 30_000))
        reason = "No space left on device" if fault == "full" else "Read-only file system"
        unharmed = "Its old content, if any, is unharmed."
        assert sentence == f"src/a.py cannot be written: {reason}. {unharmed}"
        assert (src / "a.py").read_text() == "old" and len(list(src.iterdir())) == 1
