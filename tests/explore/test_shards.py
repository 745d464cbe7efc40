"""The model of a shared stream by hand and against a run, and what its picture says."""

import itertools

import pandas as pd
import pytest
from support.pictures import assert_fits

from course import explore
from course.core.errors import CourseError
from course.explore.models import shards


@pytest.mark.parametrize(("workers", "times"), [(0, 2), (1, 2), (2, 4), (3, 6)])
def test_if_nobody_shares_each_reader_reads_all(workers, times):
    reading = shards.read(shards.NOBODY, files=4, ranks=2, workers=workers)
    assert {reading.times(line) for line in reading.lines} == {times}


def test_if_ranks_share_their_workers_repeat():
    reading = shards.read(shards.RANKS, files=4, ranks=2, workers=3)
    assert {reading.times(line) for line in reading.lines} == {3}
    assert reading.readers[0, 0] == (0, 0, 0) and reading.readers[1, 0] == (1, 1, 1)


@pytest.mark.parametrize("way", [shards.FILES, shards.PARTS])
def test_readers_that_share_read_each_line_once(way):
    for files, ranks, workers in itertools.product((1, 2, 5, 6), (1, 3, 4), (0, 2, 3)):
        reading = shards.read(way, files, ranks, workers)
        assert {reading.times(line) for line in reading.lines} == {1}
        readers = ranks * max(workers, 1)
        assert reading.idle == (max(0, readers - files) if way == shards.FILES else 0)


def test_ranks_that_stop_together_leave_the_ends_of_files():
    reading = shards.read(shards.FILES, files=4, ranks=2, workers=2)
    assert reading.batches == (6, 7)  # files a and c; files b and d
    assert reading.left == {(3, 9), (3, 10), (3, 11)}


def test_what_a_run_read_is_told_by_its_rows():
    rows = [
        {"file": "a", "line": 0, "rank": 1},
        {"file": "a", "line": 0, "rank": 0},
        {"file": "b", "line": 2, "rank": 1},
        {"loss": 0.5, "rank": 0},
    ]
    reading = shards.measured(rows)
    assert reading.readers == {(0, 0): (0, 1), (1, 2): (1,)}
    assert reading.sizes == shards.SIZES[:2]
    with pytest.raises(CourseError, match="No row says which line"):
        shards.measured([{"loss": 0.5, "rank": 0}])


@pytest.mark.parametrize("wrong", [{"files": 0}, {"files": 7}, {"ranks": 0}, {"workers": -1}])
def test_a_stream_that_cannot_be_is_refused(wrong):
    with pytest.raises(CourseError, match="A stream needs"):
        shards.read(shards.FILES, **({"files": 4, "ranks": 2, "workers": 2} | wrong))


def test_titles_say_what_the_state_shows():
    def title(**state):
        return explore.shards(**state).picture.split("<title>")[1].split("</title>")[0]

    assert title() == "Each line is read 4 times in every epoch"
    assert title(way=shards.FILES) == "Each line is read once, but ranks have 6 to 7 batches"
    assert "1 reader" in title(way=shards.FILES, files=3)
    assert (
        title(way=shards.FILES, files=1) == "Each line is read once, but a rank has no batch at all"
    )
    assert "all ranks have 2 batches" in title(way=shards.PARTS, files=1)


def test_a_run_is_drawn_below():
    run = pd.DataFrame({"file": ["a", "d"], "line": [3, 4], "rank": [0, 1]})
    drawn = explore.shards(run, way=shards.PARTS).picture
    assert "Your run" in drawn and "In the run a line is read 0 to 1 times" in drawn
    assert "line 4 of file d: rank 1" in drawn and "line 5 of file d: no rank" in drawn
    assert_fits(drawn)


@pytest.mark.parametrize(
    ("lines", "title"),
    [
        ([0, 1, 2, 3, 4, 5], "In your run 6 of 12 lines are missing"),
        ([*range(12)], "In your run each line is read once"),
        ([*range(12), 3], "In your run a line is read 2 times"),
    ],
)
def test_the_title_is_that_of_the_run(lines, title):
    run = pd.DataFrame({"file": "a", "line": lines, "rank": 0})
    assert f"<title>{title}</title>" in explore.shards(run, way=shards.FILES).picture
