"""The README names what is there: the labs, the commands, the files."""

import re

from course.__main__ import COMMANDS
from course.core.files import ROOT

README = (ROOT / "README.md").read_text()


def test_every_command_of_the_course_is_in_the_readme():
    listed = re.findall(r"^\| `(\w+)` \|", README, re.MULTILINE)
    assert sorted(listed) == sorted(COMMANDS)


def test_the_readme_counts_the_commands_and_names_only_targets_that_make_has():
    numbers = ("seven", "eight", "nine", "ten", "eleven")
    assert f"has {numbers[len(COMMANDS) - 7]} commands" in README
    targets = re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]
    assert set(re.findall(r"(?:`|^)make (\w+)", README, re.MULTILINE)) <= set(targets.split())


def test_the_readmes_map_links_the_labs_that_are_there_and_no_others():
    lessons = sorted(path.stem for path in (ROOT / "course/lessons").glob("[0-9]*.md"))
    assert re.findall(r"^\| \[(\w+)\]\(labs/\1\.ipynb\)", README, re.MULTILINE) == lessons
    assert {int(name[:2]) for name in lessons} == set(range(12))


def test_every_file_that_the_readme_links_is_there():
    links = [link for link in re.findall(r"\]\(([^)]+)\)", README) if "://" not in link]
    assert [link for link in links if not (ROOT / link).is_file()] == []
