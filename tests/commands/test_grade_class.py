"""No submission can stop the grading of a class, and no learner is lost."""

import csv
import io
import json
import os
import re
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support import handed_in, solutions

from course.__main__ import main
from course.commands.grading.alike import program
from course.commands.grading.names import comparable, file_name, owner, shortened
from course.commands.grading.submissions import collect

QUICK = settings(
    deadline=None,
    max_examples=60,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


def test_a_class_of_20_with_ten_broken_submissions_has_20_rows(tmp_path, judged, capsys):
    there = handed_in.class_of_20(tmp_path / "class")
    arguments = [str(tmp_path / "class"), "--out", str(tmp_path / "out"), "--names", "ring"]
    assert main(["grade", *arguments]) == 1
    with (tmp_path / "out" / "grades.csv").open(newline="") as file:
        rows = {row["learner"].lstrip("'"): row for row in csv.DictReader(file)}
    assert sorted(rows) == sorted(there) and len(rows) == 20
    assert [name for name in there if rows[name]["points"] == "0.5"] == [
        *("Gil Gül", "ada", "bea", "cem", "dan", "eve", "fay", "hopekim", "x" * 59 + "…"),
    ]
    broken = [name for name in there if "was not read" in rows[name]["notes"]]
    broken += [name for name in there if "holds no script" in rows[name]["notes"]]
    assert sorted(set(broken)) == sorted(handed_in.BROKEN)
    page = (tmp_path / "out" / "index.html").read_text()
    links = re.findall(r'href="(feedback/[^"]+)"', page)
    assert len(links) == 20 and len(set(links)) == 20
    assert "<li>ring: Gil Gül, dan, eve, fay, hopekim (" in page
    assert "\x1b" not in page + capsys.readouterr().out


def test_no_cell_of_the_table_is_a_formula(tmp_path, judged):
    for name in ("=1+1", "+1+1", "-1+1", "@sum", "\t=1"):
        (tmp_path / "class" / name).mkdir(parents=True)
    main(["grade", str(tmp_path / "class"), "--out", str(tmp_path / "out"), "--names", "ring"])
    rows = list(csv.reader((tmp_path / "out" / "grades.csv").open(newline="")))
    assert len(rows) == 6
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@", "\t"))]


NAMES = st.one_of(
    st.sampled_from(["ring.py", "labs/src/ring.py", "02.ipynb", "../ring.py", "a.zip", "b.tar.gz"]),
    st.text(st.characters(exclude_characters="\0"), min_size=1, max_size=30),
)
CELLS = st.builds(
    lambda kind, source: {"cell_type": kind, "source": source},
    st.one_of(st.sampled_from(["code", "markdown"]), st.none()),
    st.one_of(
        st.just("%%writefile src/ring.py\nx = 1"),
        st.text(max_size=30),
        st.lists(st.text(max_size=10), max_size=3),
        st.integers(),
    ),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
NOTEBOOKS = st.one_of(
    st.builds(lambda cells: {"cells": cells}, st.lists(CELLS, max_size=4)),
    st.builds(lambda cells: {"cells": cells}, JSON),
    JSON,
).map(lambda value: json.dumps(value).encode())
TEXTS = st.one_of(st.binary(max_size=200), NOTEBOOKS, st.text(max_size=100).map(str.encode))
FILES = st.lists(st.tuples(NAMES, TEXTS), max_size=5)


def as_zip(files: list[tuple[str, bytes]]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files:
            archive.writestr(zipfile.ZipInfo(name.encode("utf-8", "replace").decode()), text)
    return content.getvalue()


def as_tar(files: list[tuple[str, bytes]]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name, text in files:
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    return content.getvalue()


@st.composite
def archives(draw: st.DrawFn) -> tuple[str, bytes]:
    """An archive with up to three wrong bytes: the ending of its name, and its content."""
    ending, make = draw(st.sampled_from([(".zip", as_zip), (".tar.gz", as_tar)]))
    content = bytearray(make(draw(FILES)))
    others = st.tuples(st.integers(0, 10**6), st.integers(0, 255))
    for at, value in draw(st.lists(others, max_size=3)):
        content[at % len(content)] = value
    return ending, bytes(content)


SUBMISSIONS = st.one_of(
    archives(),
    st.tuples(st.sampled_from([".ipynb", ".py", ".zip", ".tgz", ".pdf", ""]), TEXTS),
)


@QUICK
@given(st.lists(SUBMISSIONS, min_size=1, max_size=4))
def test_whatever_is_handed_in_nobody_is_lost(submissions):
    with tempfile.TemporaryDirectory() as folder:
        handed, work = Path(folder, "class"), Path(folder, "work")
        handed.mkdir()
        for number, (ending, content) in enumerate(submissions):
            (handed / f"learner{number}{ending}").write_bytes(content)
        collected = collect(handed, work)
        assert [submission.learner for submission in collected] == [
            f"learner{n}" for n in range(len(submissions))
        ]
        for submission in collected:
            assert submission.exercises or submission.problem
            assert "\n" not in submission.problem and len(submission.problem) < 3000
            assert {path.suffix for path in submission.src.iterdir()} <= {".py"}
        assert {path.name for path in Path(folder).iterdir()} == {"class", "work"}


@QUICK
@given(st.lists(st.binary(min_size=1, max_size=60), min_size=1, max_size=5, unique=True))
@example([b"Jos\xe9", b"Jos\xe8", b"Jos\xc3\xa9"])
@example([b"ada.zip", b"ada.tar.gz", b"ada"])
def test_whatever_they_are_called_nobody_is_lost(names):
    with tempfile.TemporaryDirectory() as folder:
        handed = Path(folder, "class")
        handed.mkdir()
        made = set()
        for name in names:
            name = os.fsdecode(name.replace(b"/", b"_").replace(b"\0", b"_"))
            if not name.startswith("."):
                (handed / name).mkdir(exist_ok=True)
                made.add(name)
        if made:
            submissions = collect(handed, Path(folder, "work"))
            assert len({submission.learner for submission in submissions}) == len(submissions)
            assert len(submissions) == len({(owner(name, True)) for name in made})
            assert all(submission.learner.isprintable() for submission in submissions)


@QUICK
@given(st.text(max_size=300), st.booleans())
def test_every_name_has_an_owner_and_a_file_name(name, is_folder):
    assert owner(name, is_folder).learner or not name
    assert re.fullmatch(r"[\w.-]*", file_name(name)) and len(file_name(name).encode()) <= 170
    assert shortened(name).isprintable() or not name
    comparable(name)


@QUICK
@given(st.text(max_size=300), st.booleans())
@example("x = " + "1+" * 3000 + "1", True)
@example("a" + ".b" * 5000, True)
@example("if a: pass\n" + "elif a: pass\n" * 3000, False)
@example("(" * 300, True)
@example("\0", True)
def test_every_text_has_a_program(text, renamed):
    assert isinstance(program(text, renamed), str)


@pytest.mark.slow
def test_a_class_with_real_checks_and_broken_submissions(tmp_path):
    folder = tmp_path / "class"
    handed_in.class_of_20(folder)
    solutions.write("00_start_here", folder / "ada" / "labs" / "src")
    (folder / "bea" / "labs" / "src" / "start_here.py").write_text("raise SystemExit\n")
    options = ["--names", "start_here", "my_reduce_scatter", "--trust", "--jobs", "2"]
    assert main(["grade", str(folder), "--out", str(tmp_path / "out"), *options]) == 1
    rows = list(csv.DictReader((tmp_path / "out" / "grades.csv").open(newline="")))
    points = {row["learner"]: float(row["points"]) for row in rows}
    assert len(rows) == 20 and points.pop("ada") == 2.0
    assert set(points.values()) == {0.0}
    assert not [row for row in rows if row["not judged"]]
