"""README, INSTALL and TEACHING.md name exactly the labs and commands, and files that exist."""

import re
import shutil

from course.__main__ import COMMANDS
from course.core.files import ROOT
from course.lessons import CORE, labs, stale_readme, write_readme
from course.lessons.readme import MARK

README = (ROOT / "README.md").read_text(encoding="utf-8")
INSTALL = (ROOT / "INSTALL.md").read_text(encoding="utf-8")
BOTH = README + INSTALL
TEACHING = (ROOT / "TEACHING.md").read_text(encoding="utf-8")
LAB = re.compile(
    r"^\| \[(\w+)\]\(labs/\1\.ipynb\).+\[solved\]\(solutions/\1\.ipynb\) \|$", re.MULTILINE
)
SMALL = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    "nineteen",
)
SESSION = re.compile(r"^\| (\d+) \| (.+?) \|", re.MULTILINE)  # in TEACHING.md, of a term
WORDS = 800  # of the README without its table of labs, at most: a few minutes' reading


def test_every_command_of_the_course_is_told():
    listed = re.findall(r"^\| `(\w+)` \|", INSTALL, re.MULTILINE)
    assert sorted(listed) == sorted(COMMANDS)


def test_only_targets_are_named_that_make_has():
    targets = re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]
    assert set(re.findall(r"(?:`|^)make (\w+)", BOTH, re.MULTILINE)) <= set(targets.split())


def test_the_readme_has_the_labs_and_counts_that_make_prose_writes(tmp_path):
    every = labs(ROOT)
    assert stale_readme(ROOT) == [] and MARK in README
    assert README.count("](labs/") == len(LAB.findall(README)) == len(every)
    numbers = {int(lab.name[:2]) for lab in every}
    assert numbers == set(range(len(numbers))), "the labs are numbered through"
    shutil.copytree(ROOT / "course" / "lessons", tmp_path / "course" / "lessons")
    copy = tmp_path / "README.md"
    old = README.replace("](labs/04b_", "](labs/05_").replace(f" {len(every)} Jup", " 7 Jup")
    copy.write_text(re.sub(r"have \d+ ex", "have 8 ex", old), encoding="utf-8")
    assert stale_readme(tmp_path) == ["README.md is not what the lessons make"]
    write_readme(tmp_path)
    assert copy.read_text(encoding="utf-8") == README


def test_a_term_has_every_lab_in_one_session():
    sessions = SESSION.findall(TEACHING)
    assert [int(number) for number, _ in sessions] == list(range(1, len(sessions) + 1))
    assert f"({len(sessions)} sessions of" in TEACHING
    taught = [lab for _, labs_of_it in sessions for lab in re.findall(r"\d\d[a-z]?", labs_of_it)]
    every = [lab.number for lab in labs(ROOT)]
    assert sorted(taught) == every, "TEACHING.md: each lab is in one session of the term"


def test_the_readme_names_the_hours_of_the_core():
    core_hours = sum(lab.minutes for lab in labs(ROOT) if lab.number in CORE) / 60
    assert f"about {SMALL[round(core_hours)]} hours" in README


def test_the_readme_is_short():
    assert len(LAB.sub("", README.replace(MARK, "")).split()) <= WORDS


def test_every_file_that_is_linked_is_there():
    links = [link for link in re.findall(r"\]\(([^)]+)\)", BOTH) if "://" not in link]
    assert [link for link in links if not (ROOT / link).is_file()] == []
