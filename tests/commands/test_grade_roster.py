"""The roster: who is who, the due times, and the points that are written back."""

import csv
import io
from pathlib import Path

import pytest

from course.commands.grading.formats import csv_text, read_time
from course.commands.grading.gradebook import days_late
from course.commands.grading.names import Owner, owner
from course.commands.grading.roster import Roster, read
from course.commands.grading.submissions import Submission
from course.core import CourseError

MOODLE = (
    '﻿Identifier,"Full name","Email address",Status,Grade,"Maximum Grade",'
    '"Last modified (submission)","Last modified (grade)","Feedback comments"\n'
    '"Participant 123","Ada Lovelace",ada@uni.example,"Submitted for grading",,9.00,'
    '"Friday, 20 November 2026, 5:00 PM",-,\n'
    '"Participant 124","Ada Lovelace",lovelace@uni.example,"No submission",,9.00,-,-,\n'
)
CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Lab 02 (77),Final Score\n"
    "    Points Possible,,,,,9,(read only)\n"
    '"Lovelace, Ada",12,s12,ada,A,3,30\n'
    '"Student, Test",99,,x,A,,\n'
)
CLASSROOM50 = (
    "username,first_name,last_name,email,section,github_id\n"
    "ada-l,Ada,Lovelace,ada@uni.example,1,5\nl,Lee,Ek,,2,6\n"
)


def roster(tmp_path: Path, text: str) -> Roster:
    (tmp_path / "roster.csv").write_text(text, encoding="utf-8")
    return read(tmp_path / "roster.csv")


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def row(known: Roster, name: str, is_folder: bool = True, is_clone: bool = False) -> int | None:
    person = known.find(owner(name, is_folder, is_clone))
    return person.row if person else None


def test_moodles_worksheet_gets_its_grades(tmp_path):
    known = roster(tmp_path, MOODLE)
    assert [person.name for person in known.people] == ["Ada Lovelace", "Ada Lovelace"]
    assert row(known, "Ada Lovelace_123_assignsubmission_file_") == 0
    assert row(known, "Ada Lovelace_124_assignsubmission_file") == 1
    assert row(known, "Ada Lovelace") is None  # there are two of them
    assert row(known, "lovelace") == 1  # by the name in the mail address
    before, after = rows(MOODLE.lstrip("﻿")), rows(known.with_points({0: 8.5}, None))
    assert after[0] == before[0] and after[1][4] == "8.5" and after[2] == before[2]
    assert after[1][:4] + after[1][5:] == before[1][:4] + before[1][5:]


def test_canvass_gradebook_gets_the_column_that_is_named(tmp_path):
    known = roster(tmp_path, CANVAS)
    assert [person.id for person in known.people] == ["12", "99"]
    assert row(known, "lovelaceada_LATE_12_34_ring.py", is_folder=False) == 1
    after = rows(known.with_points({1: 8.25}, "Lab 02 (77)"))
    assert after[1] == ["    Points Possible", "", "", "", "", "9", "(read only)"]
    assert after[2][5] == "8.25" and after[3][5] == ""
    new = rows(known.with_points({1: 8.25}, "Lab 03"))
    assert new[0][-1] == "Lab 03" and new[2][-1] == "8.25" and new[1][-1] == ""


def test_repositories_are_known_by_the_end_of_their_names(tmp_path):
    known = roster(tmp_path, CLASSROOM50)
    assert [person.name for person in known.people] == ["Ada Lovelace", "Lee Ek"]
    assert row(known, "gpus-lab02-ada-l", is_clone=True) == 0  # the longest known ending
    assert row(known, "gpus-lab02-l", is_clone=True) == 1
    assert row(known, "gpus-lab02-mallory", is_clone=True) is None
    assert row(known, "gpus-lab02-l") is None  # it could be someone else's name


def test_a_roster_of_ours(tmp_path):
    known = roster(tmp_path, "name;id;due;late\nAda;1;2026-11-20T18:00;\nBob;2;;yes\n;;;\n")
    ada, bob = known.people
    assert ada.due == read_time("2026-11-20 18:00") and bob.due is None
    assert bob.late and not ada.late
    assert known.with_points({0: 1.0, 1: 0.5}, None).splitlines() == [
        *("name;id;due;late;points", "Ada;1;2026-11-20T18:00;;1", "Bob;2;;yes;0.5", ";;;;"),
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "has no learner: it needs a column `id` or `name`"),
        ("colour\nred\n", "has no learner"),
        ("id,name,name\n1,a,b\n", "has two columns named 'name'"),
        ("id,due\n1,soon\n", "'soon' is not a time"),
    ],
)
def test_a_roster_that_makes_no_sense(tmp_path, text, sentence):
    with pytest.raises(CourseError, match=sentence):
        roster(tmp_path, text)


def test_a_roster_that_is_no_text(tmp_path):
    (tmp_path / "roster.csv").write_bytes(b"PK\x03\x04\xff")
    with pytest.raises(CourseError, match="cannot be read"):
        read(tmp_path / "roster.csv")


def test_no_cell_is_a_formula_and_a_number_is_one():
    cells = ["=1+1", "+1", "-1.5", "-", "@a", "\t=1", "a=1", -1, 0.5, ""]
    assert rows(csv_text([cells])) == [
        ["'=1+1", "+1", "-1.5", "-", "'@a", "'\t=1", "a=1", "-1", "0.5", ""],
    ]


def late(time: str, due: str | None, **options: bool) -> float:
    """The number of days by which a submission at this time is late."""
    when = read_time(time).timestamp() if time else 0.0
    submission = Submission("ada", Path("src"), time=when, **options)
    return days_late(submission, read_time(due or ""))


def test_days_late_are_counted_whole():
    assert late("2026-11-20 17:59", "2026-11-20 18:00") == 0
    assert late("2026-11-20 18:01", "2026-11-20 18:00") == 1
    assert late("2026-11-22 18:01", "2026-11-20 18:00") == 3
    assert late("2026-11-22 18:01", None) == 0
    assert late("2026-11-22 18:01", None, late=True) == 1
    assert late("", "2026-11-20", late=False) == 0


def test_a_number_of_ours_counts_only_with_the_name(tmp_path):
    known = roster(tmp_path, "id,name\n12,Ada Lovelace\n13,Bob\n")
    assert row(known, "lovelaceada_12_34_ring.py", is_folder=False) == 0
    assert row(known, "lovelaceada_99_34_ring.py", is_folder=False) == 0
    assert row(known, "evesmith_13_34_ring.py", is_folder=False) is None
    assert known.find(Owner("Eve", "14")) is None


def test_two_of_the_same_name_are_told_apart_or_not_at_all(tmp_path):
    known = roster(tmp_path, "id,name\na1,Ada\na2,Ada\n")
    assert row(known, "a2") == 1 and row(known, "Ada") is None
