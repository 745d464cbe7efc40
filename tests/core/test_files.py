"""A file is written whole or not at all, and what is not a file is never replaced."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from course.core.files import write_atomically


def mode(path: Path) -> int:
    """The permissions of a file."""
    return path.stat().st_mode & 0o777


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.ipynb"
    write_atomically(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "new \udc00")
    assert [file.name for file in tmp_path.iterdir()] == ["a.ipynb"] and path.read_text() == "old"


def test_an_old_file_keeps_its_mode_and_a_new_one_has_that_of_the_umask(tmp_path):
    path, new = tmp_path / "grades.csv", tmp_path / "new.csv"
    path.touch(0o600)
    before = os.umask(0o027)
    try:
        write_atomically(path, "ada")
        write_atomically(new, "bob")
    finally:
        os.umask(before)
    assert (mode(path), mode(new)) == (0o600, 0o640)


def test_an_old_file_keeps_its_owner(tmp_path):
    path = tmp_path / "grades.csv"
    path.touch()
    if os.geteuid() == 0:
        os.chown(path, 1234, 5678)
    before = path.stat()
    write_atomically(path, "ada")
    assert (path.stat().st_uid, path.stat().st_gid) == (before.st_uid, before.st_gid)


@pytest.mark.parametrize("old", ["old", None])
def test_a_link_stays_a_link(tmp_path, old):
    path, link = tmp_path / "scratch" / "a.json", tmp_path / "a.json"
    path.parent.mkdir()
    if old:
        path.write_text(old)
    link.symlink_to(path)
    write_atomically(link, "new")
    assert link.readlink() == path and path.read_text() == "new"


def test_what_is_no_file_is_written_to_and_stays_what_it_is(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as reader:
        write_atomically(path, "new")
        assert reader.communicate()[0] == b"new"
    assert path.is_fifo()


def test_a_file_that_we_print_to_keeps_what_was_and_will_be_printed(tmp_path):
    path = tmp_path / "log"  # never by way of /dev/stdout, which a fault here would replace
    code = """if True:
        import sys
        from pathlib import Path
        from course.core.files import write_atomically
        print("before", flush=True)
        write_atomically(Path(sys.argv[1]), "{}\\n")
        print("after")
    """
    with path.open("w") as log:
        subprocess.run([sys.executable, "-c", code, path], stdout=log, check=True)
    assert path.read_text() == "before\n{}\nafter\n"
