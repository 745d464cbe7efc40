"""The site's page of machines: the published figures, and the benches that were sent."""

from course.charts import published
from course.commands.bench_results import Result, write
from course.commands.web import machines
from course.core import words

RING = Result("ring", "your ring, 16 MB", "torch's all-reduce", 2, 0.98, 0.91, 1.04)


def test_every_line_is_in_the_page_with_its_ends_and_its_source():
    rows = machines.machines_page().splitlines()
    for line in published.lines():
        (row,) = [
            row
            for row in rows
            if row.startswith(f"| {line.name}: ")
            and line.address in row
            and line.machine in row
            and str(line.published) in row
            and words.significant(line.figures[0][1]) in row
            and words.significant(line.figures[-1][1]) in row
        ]
        assert row.count(" | ") == 4


def test_the_page_counts_what_it_shows():
    text = machines.machines_page()
    assert f"These {sum(len(line.figures) for line in published.lines())} figures" in text
    assert "{{" not in text


def test_a_bench_that_was_sent_is_shown(tmp_path):
    assert machines.NONE_YET in machines.machines_page(tmp_path)
    write([RING], tmp_path / "laptop.json")
    text = machines.machines_page(tmp_path)
    assert machines.NONE_YET not in text
    assert "A  laptop.json" in text and RING.measured in text
