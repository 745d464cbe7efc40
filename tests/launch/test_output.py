"""All bytes that ranks write go to disk, and lines go to the client within limits."""

import os
from pathlib import Path

import pytest

from course.launch import run_folder
from course.launch.messages import Lines, Note, Progress
from course.launch.output import KEPT_CHARS, KEPT_LINES, LAST_LINES, Log, Output


class Events(list):
    """The events that a client receives."""

    @property
    def lines(self) -> list[str]:
        return [line for event in self if isinstance(event, Lines) for line in event.lines]

    @property
    def progress(self) -> list[str]:
        return [event.text for event in self if isinstance(event, Progress)]


class Stream:
    """A pipe whose read end is an `Output`."""

    def __init__(self, folder: Path) -> None:
        self.events, self.folder = Events(), folder
        read, self.write_end = os.pipe()
        self.log = Log(folder, self.events.append)
        self.output = Output(read, 1, "stdout", self.log, self.events.append)

    def write(self, data: bytes) -> None:
        """Write, and have everything read."""
        for start in range(0, len(data), 1 << 14):
            os.write(self.write_end, data[start : start + (1 << 14)])
            assert self.output.read()

    def end(self) -> None:
        """Close the pipe and read its end."""
        os.close(self.write_end)
        assert not self.output.read()
        self.output.finish()
        self.log.finish()


@pytest.fixture
def stream(tmp_path: Path) -> Stream:
    return Stream(tmp_path)


def test_lines_are_whole(stream: Stream) -> None:
    stream.write(b"one\ntw")
    assert stream.events.lines == ["one"]
    stream.write(b"o\n\nthree")
    assert stream.events.lines == ["one", "two", ""]
    stream.end()
    assert stream.events.lines == ["one", "two", "", "three"]
    assert all((event.rank, event.stream) == (1, "stdout") for event in stream.events)
    assert (stream.folder / "rank1.log").read_bytes() == b"one\ntwo\n\nthree"
    assert run_folder.FINISHED in {file.name for file in stream.folder.iterdir()}


def test_a_character_split_between_reads_is_whole(stream: Stream) -> None:
    euro = "€\n".encode()
    stream.write(euro[:1])
    stream.write(euro[1:])
    assert stream.events.lines == ["€"]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (b" 10%\r 50%\r100%\n", "100%"),
        (b"\r 10%\r 50%\n", " 50%"),
        (b"windows\r\n", "windows"),
        (b"\xff\xfe caf\xe9\n", "�� caf�"),
        (b"\x00\n", "\x00"),
        (b"y" * (KEPT_CHARS + 9) + b"\n", "y" * KEPT_CHARS + " …"),
    ],
)
def test_what_is_shown_of_a_line(stream: Stream, written: bytes, shown: str) -> None:
    stream.write(written)
    assert stream.events.lines == [shown]
    stream.end()
    assert (stream.folder / "rank1.log").read_bytes() == written


def test_first_and_last_of_many_lines(stream: Stream) -> None:
    total = KEPT_LINES + 1000
    stream.write(b"".join(b"%d\n" % i for i in range(total)))
    assert stream.events.lines == [str(i) for i in range(KEPT_LINES)]
    stream.end()
    assert stream.events.lines[KEPT_LINES:] == [str(i) for i in range(total - LAST_LINES, total)]
    assert stream.events[-1].skipped == total - KEPT_LINES - LAST_LINES
    assert (stream.folder / "rank1.log").read_text().count("\n") == total


def test_endless_line_does_not_grow_in_memory(stream: Stream) -> None:
    for _ in range(40):
        stream.write(b"z" * (1 << 14))
    assert len(stream.output._partial) <= 1 << 16
    stream.end()
    assert (stream.folder / "rank1.log").stat().st_size == 40 << 14


def test_progress_is_shown_while_its_line_has_no_end(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("course.launch.output.time.monotonic", lambda: now[0])
    for i in range(10):
        stream.write(b"\r%d" % i)
        stream.output.show_progress()
        now[0] += 0.1
    shown = stream.events.progress
    assert shown[0] == "0" and 3 <= len(shown) <= 5  # a few times a second
    stream.write(b"\n")
    assert stream.events.lines == ["9"]


def test_half_a_line_is_no_progress(stream: Stream) -> None:
    """Python writes a traceback in pieces, and a busy machine may pause between two of them."""
    stream.write(b'Traceback (most recent call last):\n  File "ddp.py"')
    stream.output.show_progress()
    assert stream.events.progress == []


def test_disk_that_refuses_is_mentioned_once(stream: Stream) -> None:
    (stream.folder / "rank1.log").mkdir()  # so that it cannot be opened, not even by root
    stream.write(b"a\n")
    stream.write(b"b\n")
    notes = [event.text for event in stream.events if isinstance(event, Note)]
    assert notes == [f"the log in {stream.folder} stops here: Is a directory; the run goes on."]
    assert stream.events.lines == ["a", "b"]
