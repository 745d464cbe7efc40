"""The check of snapshots finds the file that a script has synced, on Linux and on macOS."""

from pathlib import Path

from course.checks.lab_04 import on_rank_snapshot


def test_the_file_behind_a_descriptor(tmp_path: Path) -> None:
    with (tmp_path / "model.pt").open("wb") as file:
        assert on_rank_snapshot.path_of(file.fileno()) == tmp_path / "model.pt"


def test_the_file_behind_a_descriptor_as_macos_tells_it(tmp_path: Path, monkeypatch) -> None:
    class Mac:
        F_GETPATH = 50

        @staticmethod
        def fcntl(descriptor: int, command: int, buffer: bytes) -> bytes:
            path = str(tmp_path / f"file {descriptor}").encode() if command == 50 else b""
            return path.ljust(len(buffer), b"\0")

    monkeypatch.setattr(on_rank_snapshot, "fcntl", Mac)
    assert on_rank_snapshot.path_of(7) == tmp_path / "file 7"
