"""What others published: every figure has its source, and the picture shows the figures."""

import html
import re
from datetime import date
from itertools import pairwise

import pytest
from support.pictures import assert_fits, assert_legible

from course.charts import published
from course.core import words
from course.core.errors import CourseError

LINES = published.lines()
LICENCES = {"MIT", "MIT-0", "BSD-3-Clause", "Apache-2.0", "CC BY-SA 4.0", "not stated"}
MINE = {"2 ranks, torch": [(1024.0, 0.003), (2.0**20, 0.25), (2.0**24, 0.41)]}


def named(lines):
    """Parametrize a test with one case per line, named after it."""
    return pytest.mark.parametrize("line", lines, ids=lambda line: f"{line.measured}: {line.name}")


@named(LINES)
def test_every_line_has_its_source_dates_and_unit(line):
    assert re.fullmatch(r"https://(?:gist\.)?github\.com/[\w./+-]+", line.address)
    assert line.by and line.machine and line.link and line.licence in LICENCES
    assert date(2017, 1, 1) < line.published < line.read <= date.today()
    assert line.unit in published.UNITS and line.along in ("bytes", "GPUs", "n")
    assert published.UNITS[line.unit] is None or line.ranks


@named(LINES)
def test_its_figures_rise_along_the_line_and_its_name_fits(line):
    firsts = [first for first, _ in line.figures]
    assert firsts == sorted(set(firsts)) and min(firsts) > 0
    assert all(value > 0 for _, value in line.figures)
    assert len(line.name) <= 22


@named(published.all_reduces())
def test_a_typing_error_would_stand_out_in_a_line_by_size(line):
    """A buffer twice as large takes from as long to twice as long, give or take a quarter."""
    seconds = [(size, size / rate) for size, rate in line.figures]
    for (size, one), (larger, other) in pairwise(seconds):
        assert 0.75 < other / one < 1.25 * larger / size, f"at {words.size(larger)}"


@named([line for line in LINES if line.unit in ("sequences/s", "images/s")])
def test_a_typing_error_would_stand_out_in_a_line_by_gpus(line):
    """From one figure to the next a GPU's share falls by less than 30 %, and rises by less than
    10 %; only Lambda's figures, which cannot be right, rise by up to 43 %.
    """
    most = 1.5 if line.by == "Lambda" else 1.1
    for (gpus, one), (more, other) in pairwise(line.figures):
        assert 0.7 < (other / more) / (one / gpus) < most, f"at {more} GPUs"


def test_a_file_of_a_repository_is_named_at_a_commit():
    files = {line.address for line in LINES if "/blob/" in line.address}
    assert files and all(re.search(r"/blob/[0-9a-f]{40}/", address) for address in files)


def test_there_are_enough_and_no_line_is_twice():
    assert sum(len(line.figures) for line in LINES) >= 100
    assert len({line.address for line in LINES}) >= 8
    assert len({(line.measured, line.name) for line in LINES}) == len(LINES)


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(CourseError, match=r"'broadcast': choose from .*all-reduce"):
        published.lines("broadcast")


def test_a_time_becomes_a_bandwidth_as_nccl_tests_define_it():
    (line,) = (curve for curve in published.lines("all-reduce") if curve.name.endswith("Gloo"))
    (same,) = (curve for curve in published.all_reduces() if curve.name == line.name)
    (size, milliseconds), (_, gb_per_s) = line.figures[-1], same.figures[-1]
    assert (line.unit, same.unit) == ("ms", "GB/s")
    assert gb_per_s == pytest.approx(2 * (2 - 1) / 2 * size / (milliseconds * 1e-3) / 1e9)


def test_a_bandwidth_stays_as_it_was_published():
    as_published = {line.name: line for line in published.lines("all-reduce")}
    for line in published.all_reduces():
        before = as_published[line.name]
        assert before.unit == "ms" or line == before


def test_a_speedup_is_over_one_gpu():
    (line,) = (
        curve
        for curve in published.speedups("BERT-base, fine-tuning")
        if curve.name == "H100 SXM, fp16"
    )
    assert dict(line.figures) == {
        1: 1,
        2: pytest.approx(1630 / 812),
        4: pytest.approx(3219 / 812),
        8: pytest.approx(9176 / 812),
    }
    with pytest.raises(CourseError, match="Nothing published"):
        published.speedups("GPT-4")


def test_a_token_costs_six_operations_per_parameter():
    (line,) = (
        curve for curve in published.computed("Llama 3.1 8B", 8e9) if curve.name == "H100, FSDP"
    )
    assert line.unit == "TFLOP/s"
    assert dict(line.figures) == {
        8: pytest.approx(6 * 8e9 * 5762 / 1e12),
        128: pytest.approx(6 * 8e9 * 5605 / 1e12),
    }


def test_every_figure_in_the_picture_is_its_row():
    picture = published.draw(MINE, published.all_reduces(), title="Yours, and others'")
    shown = [html.unescape(tip) for tip in re.findall(r"<g><title>(.*?)</title>", picture)]
    rows = [
        f"{line.name}, {words.size(size)}: {words.significant(value)} GB/s"
        for line in published.all_reduces()
        for size, value in line.figures
    ]
    own = [
        f"{name}, {words.size(size)}: {words.significant(value)} GB/s"
        for name, line in MINE.items()
        for size, value in line
    ]
    assert shown == rows + own


@pytest.mark.parametrize(
    ("mine", "behind"),
    [
        (MINE, published.all_reduces()),
        ({"yours": [(1, 1.0), (2, 1.7)]}, published.speedups("BERT-base, fine-tuning")),
        ({"yours": [(256.0, 0.03)]}, published.lines("matmul in fp16")),
        ({"yours": [(2, 0.04)]}, published.computed("Llama 3.1 8B", 8e9)),
    ],
    ids=["all-reduces", "speed-ups", "one point", "operations"],
)
def test_the_picture_fits_and_is_legible(mine, behind):
    picture = published.draw(mine, behind, title="Your points, and what others published")
    assert_fits(picture)
    assert_legible(picture)
    assert all(f">{name}<" in picture for name in [*mine, *(line.name for line in behind)])


@pytest.mark.parametrize(
    ("mine", "behind", "message"),
    [
        ({}, published.all_reduces(), "points of your own"),
        ({"yours": []}, published.all_reduces(), "points of your own"),
        (MINE, [], "published lines"),
        ({"yours": [(1024.0, 0.0)]}, published.all_reduces(), "above 0"),
        ({"8 H200": [(1024.0, 1.0)]}, published.all_reduces(), "name of its own"),
        (MINE, published.lines(), "show the same"),
    ],
)
def test_a_picture_that_would_mislead_is_refused(mine, behind, message):
    with pytest.raises(CourseError, match=message):
        published.draw(mine, behind, title="")


def test_a_sentence_says_where_one_stands():
    behind = published.all_reduces()
    sentence = published.stands("Your 2 ranks at 16 MiB", 2**24, 0.5, behind)
    assert sentence == (
        "Your 2 ranks at 16 MiB: 0.5 GB/s. Published: 0.95 (2 V100 over TCP), 240 (8 H200); "
        "that is 481 times as much."
    )
    between = published.stands("Mine", 2**24, 10.0, behind)
    assert "4.9 (4 GPUs over PCIe), 26 (16 A100, 2 nodes), 240 (8 H200)" in between
    assert published.stands("Mine", 2**24, 500.0, behind).endswith("; yours is 2.1 times that.")


@pytest.mark.parametrize(("at", "value", "message"), [(2**24, 0.0, "above 0"), (3, 1.0, "near 3")])
def test_what_cannot_be_compared_is_refused(at, value, message):
    with pytest.raises(CourseError, match=message):
        published.stands("Mine", at, value, published.all_reduces())
