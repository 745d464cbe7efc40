"""The roster of a class: who should hand in, until when, and where the points go.

A roster is a CSV file with a row for each learner. Its columns may be

- ours: id, name, section, due, late,
- those of Moodle's grading worksheet: Identifier, Full name, Email address, Grade,
- those of Canvas's exported gradebook: Student, ID, SIS User ID, SIS Login ID, Section,
- those of Classroom 50's roster: username, first_name, last_name, email, section.

`with_points` returns it with one column filled; Moodle and Canvas import that. Moodle reads
Identifier, Grade and "Last modified (grade)" (`importgradeslib.php`). Canvas finds learners by ID
and a column by its title; its row "Points Possible" is not a learner (`gradebook_importer.rb`).
"""

import csv
import io
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from course.commands.grading.formats import csv_text, read_time
from course.commands.grading.names import Owner, comparable
from course.core import CourseError

NUMBERS = ("id", "identifier")  # columns whose numbers Moodle or Canvas puts into file names
IDS = (*NUMBERS, "username", "sis user id", "sis login id", "email", "email address")
NAMES = ("name", "full name", "student")
GRADE = "Grade"  # Moodle's title of the column of points
POINTS = "points"  # our title
TRUE_WORDS = ("yes", "true", "1", "late")


@dataclass(frozen=True)
class Person:
    """One learner of the roster, in the row `row`, counted from 0."""

    row: int
    name: str
    id: str = ""
    section: str = ""
    due: datetime | None = None
    late: bool = False


class Roster:
    """The rows of a roster, and the learners in them."""

    def __init__(
        self, path: Path, header: list[str], rows: list[list[str]], delimiter: str
    ) -> None:
        self.path = os.path.abspath(path)
        self.people: list[Person] = []
        self._header, self._rows, self._delimiter = header, rows, delimiter
        self._titles = [title.strip().casefold() for title in header]
        self._numbers: dict[str, list[Person]] = {}
        self._ids: dict[str, list[Person]] = {}
        self._names: dict[str, list[Person]] = {}
        for number, row in enumerate(rows):
            self._add(number, row)
        if not self.people:
            raise CourseError(
                f"The roster {path} has no learner: it needs a column `id` or `name`."
            )

    def _add(self, number: int, row: list[str]) -> None:
        cells = {title: cell.strip() for title, cell in zip(self._titles, row, strict=False)}
        ids = [cells[title] for title in IDS if cells.get(title)]
        names = [cells[title] for title in NAMES if cells.get(title)]
        if cells.get("first_name") or cells.get("last_name"):
            names.append(f"{cells.get('first_name', '')} {cells.get('last_name', '')}".strip())
        if not (ids or names) or "points possible" in cells.get("student", "").casefold():
            return
        person = Person(
            row=number,
            name=(names or ids)[0],
            id=(ids or [""])[0],
            section=cells.get("section", ""),
            due=read_time(cells.get("due", "")),
            late=cells.get("late", "").casefold() in TRUE_WORDS,
        )
        self.people.append(person)
        numbers = (re.search(r"\d+$", cells.get(title, "")) for title in NUMBERS)
        for key in {match[0] for match in numbers if match}:  # 123 of "Participant 123"
            self._numbers.setdefault(key, []).append(person)
        logins = [address.partition("@")[0] for address in ids]
        for key in {comparable(text) for text in (*ids, *logins)} - {""}:
            self._ids.setdefault(key, []).append(person)
        for key in {comparable(spelling) for name in names for spelling in (name, _swap(name))} - {
            ""
        }:
            self._names.setdefault(key, []).append(person)

    def find(self, owner: Owner) -> Person | None:
        """The person who owns a submission; None if that is not certain."""
        name = comparable(owner.learner)
        numbered = [
            person
            for person in self._numbers.get(owner.number, [])
            if self._has_numbered_files
            or all(comparable(word) in name for word in person.name.split())
        ]
        by_ending = self._with_id_at_end(owner.learner) if owner.is_clone else []
        for people in (numbered, self._ids.get(name, []), self._names.get(name, []), by_ending):
            if len(people) == 1:
                return people[0]
        return None

    @property
    def _has_numbered_files(self) -> bool:
        """Whether the roster is from Moodle or Canvas, which put its numbers into file names."""
        return "identifier" in self._titles or "student" in self._titles

    def _with_id_at_end(self, name: str) -> list[Person]:
        """The people whose id ends a repository's name; the longest such id counts."""
        parts = name.split("-")
        for first in range(1, len(parts)):
            if people := self._ids.get(comparable("".join(parts[first:])), []):
                return people
        return []

    def with_points(self, points: Mapping[int, float], column: str | None) -> str:
        """The roster as CSV, with the points (by row) written into one column.

        Without `column`, that is Moodle's "Grade" if the roster has it, otherwise "points". A
        column that does not exist is added.
        """
        title = column or (GRADE if GRADE in self._header else POINTS)
        header = self._header if title in self._header else [*self._header, title]
        index = header.index(title)
        rows = []
        for number, row in enumerate(self._rows):
            cells = row + [""] * (len(header) - len(row))
            if number in points:
                cells[index] = f"{points[number]:g}"
            rows.append(cells)
        return csv_text([header, *rows], self._delimiter)


def _swap(name: str) -> str:
    """Swap the parts of a name: "Lovelace, Ada" to "Ada Lovelace", and that to "Lovelace Ada"."""
    last, comma, first = name.partition(",")
    if not comma:
        first, _, last = name.strip().rpartition(" ")
        first, last = last, first
    return f"{first} {last}"


def read(path: Path) -> Roster:
    """The roster in a CSV file; raises `CourseError` if it is not one."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"The roster {path} cannot be read: {error}.") from None
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise CourseError(f"The roster {path} cannot be read: {error}.") from None
    header, *rest = rows or [[]]
    duplicates = [title for title, count in Counter(header).items() if title and count > 1]
    if duplicates:
        raise CourseError(f"The roster {path} has two columns named {duplicates[0]!r}.")
    return Roster(path, header, rest, delimiter)
