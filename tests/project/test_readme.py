"""README, INSTALL and TEACHING.md name exactly the labs and commands, and files that exist."""

import re

from course.__main__ import COMMANDS
from course.core.files import ROOT
from course.lessons import CORE, labs

README = (ROOT / "README.md").read_text(encoding="utf-8")
INSTALL = (ROOT / "INSTALL.md").read_text(encoding="utf-8")
BOTH = README + INSTALL
TEACHING = (ROOT / "TEACHING.md").read_text(encoding="utf-8")
LAB = re.compile(
    r"^\| \[(?P<name>\w+)\]\(labs/(?P=name)\.ipynb\)(?P<core> ●)? \| (?P<title>.+?) "
    r"\| (?P<minutes>\d+) \| \[solved\]\(solutions/(?P=name)\.ipynb\) \|$",
    re.MULTILINE,
)
SMALL = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    "nineteen",
)
SESSION = re.compile(r"^\| (\d+) \| (.+?) \|", re.MULTILINE)  # in TEACHING.md, of a term
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
WORDS = 800  # of the README without its table of labs, at most: a few minutes' reading


def in_words(number: int) -> str:
    """A number below 100 in words: "seven", "forty", "twenty-one"."""
    if number < len(SMALL):
        return SMALL[number]
    tens, ones = divmod(number, 10)
    return "-".join([TENS[tens - 2], *([SMALL[ones]] if ones else [])])


def test_every_command_of_the_course_is_told():
    listed = re.findall(r"^\| `(\w+)` \|", INSTALL, re.MULTILINE)
    assert sorted(listed) == sorted(COMMANDS)


def test_only_targets_are_named_that_make_has():
    targets = re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]
    assert set(re.findall(r"(?:`|^)make (\w+)", BOTH, re.MULTILINE)) <= set(targets.split())


def test_the_readmes_table_has_the_labs_that_are_there_and_no_others():
    every = labs(ROOT)
    rows = [row.groupdict() for row in LAB.finditer(README)]
    assert [row["name"] for row in rows] == [lab.name for lab in every]
    assert README.count("](labs/") == len(rows)
    assert [row["title"] for row in rows] == [lab.title for lab in every]
    assert [int(row["minutes"]) for row in rows] == [lab.minutes for lab in every]
    assert [bool(row["core"]) for row in rows] == [lab.number in CORE for lab in every]
    numbers = {int(lab.name[:2]) for lab in every}
    assert numbers == set(range(len(numbers))), "the labs are numbered through"


def test_a_term_has_every_lab_in_one_session():
    sessions = SESSION.findall(TEACHING)
    assert [int(number) for number, _ in sessions] == list(range(1, len(sessions) + 1))
    assert f"({len(sessions)} sessions of" in TEACHING
    taught = [lab for _, labs_of_it in sessions for lab in re.findall(r"\d\d[a-z]?", labs_of_it)]
    assert sorted(taught) == [lab.number for lab in labs(ROOT)]


def test_the_readme_adds_up():
    every = labs(ROOT)
    hours = round(sum(lab.minutes for lab in every) / 60)
    core_hours = sum(lab.minutes for lab in every if lab.number in CORE) / 60
    exercises = sum(len(lab.exercises) for lab in every)
    assert f"these {len(every)} Jupyter labs" in README
    assert f"All labs take {hours} hours and have {exercises} exercises" in README
    assert f"about {in_words(round(core_hours))} hours" in README


def test_the_readme_is_short():
    assert len(LAB.sub("", README).split()) <= WORDS


def test_every_file_that_is_linked_is_there():
    links = [link for link in re.findall(r"\]\(([^)]+)\)", BOTH) if "://" not in link]
    assert [link for link in links if not (ROOT / link).is_file()] == []
