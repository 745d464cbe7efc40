"""The start notebook: its map, table and next step follow from what has passed."""

import re
from pathlib import Path

import pytest
from support.pictures import assert_fits

from course.core import ROOT
from course.lessons import CORE, labs, lessons
from course.notebook import progress, start

LABS = labs(ROOT)
ALL = sum(len(lab.exercises) for lab in LABS)


def keep(src: Path, *names: str, passed: bool = True) -> None:
    """Store results of exercises as `%check` stores them."""
    for name in names:
        when = "2026-11-22T15:20:00"
        record = progress.Record(name, when, ["a"], 2, when if passed else "", "script")
        progress.write(record, src)


def exercises(*numbers: str) -> list[str]:
    return [name for lab in LABS if lab.number in numbers for name in lab.exercises]


def test_without_progress_everything_is_open_and_lab_00_is_where_to_begin(tmp_path: Path) -> None:
    assert start.picture(tmp_path) == start.picture(tmp_path / "none")
    assert f"{len(LABS)} labs, and what builds on what" in start.picture(tmp_path)
    assert start.go_on(tmp_path).text == (
        f"Begin with **[Lab 00: {LABS[0].title}](00_start_here.ipynb)** "
        "Its first exercise is `start_here`."
    )
    assert start.table(tmp_path).text.count("○") == len(exercises(*(lab.number for lab in LABS)))


def test_the_map_counts_what_has_passed_and_marks_where_to_go_on(tmp_path: Path) -> None:
    keep(tmp_path, *exercises("00", "02"), "ddp")
    keep(tmp_path, "my_ddp", passed=False)
    picture = start.picture(tmp_path)
    assert_fits(picture)
    assert (
        f">{len(LABS)} labs: 6 of {ALL} exercises have passed<" in picture
        and picture.count("go on here") == 1
    )
    ddp = "Lab 03, of the core, distributed data parallel: 65 minutes, builds on 02, 1 of 2"
    assert ddp in picture.alt
    for name in ("all-reduce", "DDP in practice", "FSDP", "Horovod engine"):
        assert f">{name}</text>" in picture
    table = start.table(tmp_path).text
    assert "✓\N{NO-BREAK SPACE}`ddp` · ◐\N{NO-BREAK SPACE}`my_ddp`" in table
    assert "Go on with **[Lab 03" in start.go_on(tmp_path).text
    assert start.go_on(tmp_path).text.endswith("Its next exercise is `my_ddp`.")


def test_a_lab_that_is_begun_comes_before_those_that_are_not(tmp_path: Path) -> None:
    keep(tmp_path, *exercises("00"), exercises("05")[0])
    assert "(05_mixed_precision.ipynb)" in start.go_on(tmp_path).text
    keep(tmp_path, *exercises("05"))
    assert "(01_data_parallel.ipynb)" in start.go_on(tmp_path).text


def test_the_core_comes_before_the_other_labs(tmp_path: Path) -> None:
    keep(tmp_path, *exercises("00", "01", "02", "03", "03b"))
    assert "(05_mixed_precision.ipynb)" in start.go_on(tmp_path).text
    keep(tmp_path, *exercises(*CORE))
    assert "(04_ddp_in_practice.ipynb)" in start.go_on(tmp_path).text


def test_when_all_has_passed_it_says_so(tmp_path: Path) -> None:
    keep(tmp_path, *exercises(*(lab.number for lab in LABS)))
    assert start.go_on(tmp_path).text.startswith(f"All {ALL} exercises have passed.")
    assert "go on here" not in start.picture(tmp_path)


@pytest.mark.parametrize("text", [start.table().text, start.go_on().text])
def test_every_link_leads_to_a_lab(text: str) -> None:
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert links and set(links) <= {f"{lab.name}.ipynb" for lab in LABS}


def test_the_time_in_all_is_the_sum_of_the_labs(tmp_path: Path) -> None:
    minutes = sum(lab.minutes for lab in LABS)
    hours = f"{minutes // 60} h" + (f" {minutes % 60} min" if minutes % 60 else "")
    assert start.count() == f"{len(LABS)} labs with {ALL} exercises, {hours} in all"


def test_the_start_notebook_says_where_to_go_on_before_its_one_map() -> None:
    sources = [cell.source for cell in lessons(ROOT)[0].cells]
    assert sources.index("start.go_on()") < sources.index("start.picture()")
    assert not [source for source in sources if "labs_map.svg" in source]
