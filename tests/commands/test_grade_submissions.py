"""The owners of submissions: every entry is kept, and the right file of each is taken."""

import os
import shutil
from pathlib import Path

import pytest
from support.handed_in import RING, damaged, deflate64, encrypted, notebook, tarred, zipped

from course.commands.grading.roster import read
from course.commands.grading.submissions import Submission, collect
from course.core import CourseError
from course.exercises import exercises

BLANK = exercises()["ring"].script(solved=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "class"


def put(folder: Path, **files: str | bytes) -> None:
    """Write files; ``ada__labs__src__ring_py`` is the path ``ada/labs/src/ring.py``."""
    for name, content in files.items():
        path = folder / name.replace("__", "/")[::-1].replace("_", ".", 1)[::-1]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def collected(folder: Path) -> dict[str, Submission]:
    return {
        submission.learner: submission for submission in collect(folder, folder.parent / "work")
    }


def ring(submission: Submission) -> str:
    return (submission.src / "ring.py").read_text()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("ada.zip", zipped(ring_py=RING)),
        ("ada.ZIP", zipped(labs__src__ring_py=RING)),
        ("ada.tar.gz", tarred(work__ring_py=RING)),
        ("ada.tgz", tarred(ring_py=RING)),
        ("ada.zip", zipped(inner_zip=zipped(ring_py=RING))),
        ("ada.ipynb", notebook("1 + 1", f"%%writefile src/ring.py\n{RING}")),
        ("ada.zip", zipped(labs__02_ipynb=notebook(f"%%writefile src/ring.py\n{RING}"))),
    ],
)
def test_each_form_of_a_submission_is_read(folder, name, content):
    folder.mkdir()
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    (submission,) = collected(folder).values()
    assert (submission.learner, submission.problem) == ("ada", "")
    assert ring(submission) == RING


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("ada.zip", b"no archive", "File is not a zip file"),
        ("ada.zip", encrypted(), "protected by a password"),
        ("ada.zip", damaged(), "ring.py was not read: it is damaged"),
        ("ada.zip", deflate64(), "such as Deflate64"),
        ("ada.zip", zipped(_py="x"), "holds no script that is named"),
        ("ada.7z", b"7z", "an archive must be a .zip or a .tar.gz"),
        ("ada.rar", b"Rar", "an archive must be a .zip or a .tar.gz"),
        ("ada.tar.gz", b"no archive", "Not a gzipped file"),
        ("ada.tar", b"no archive", "was not read"),
        ("ada.ipynb", b"[" * 100_000, "as a notebook: it is too deep"),
        ("ada.ipynb", b"{}", "was not read"),
        ("ada.ipynb", b'{"cells": [{"cell_type": 1}]}', "was not read"),
        ("ada.ipynb", b"\xff", "was not read"),
        ("ada.py", RING.encode(), "holds no script that is named"),
        ("ada.pdf", b"%PDF", "holds no script that is named"),
        ("ada", b"", "holds no script that is named"),
    ],
)
def test_what_cannot_be_read_has_its_place_and_a_line(folder, name, content, sentence):
    folder.mkdir()
    (folder / name).write_bytes(content)
    (submission,) = collected(folder).values()
    assert submission.learner == "ada" and submission.exercises == []
    assert sentence in submission.problem and "\n" not in submission.problem


def test_a_link_a_device_and_a_closed_pipe_are_not_opened(folder, tmp_path):
    put(tmp_path, secret_py="secret = 1")
    put(folder, ada__ring_py=RING)
    (folder / "ada" / "simple_ways.py").symlink_to(tmp_path / "secret.py")
    os.mkfifo(folder / "ada" / "my_ddp.py")
    (folder / "bob.py").symlink_to("/dev/zero")
    submissions = collected(folder)
    assert submissions["ada"].exercises == ["ring"] and "bob" in submissions
    assert "simple_ways.py was not read: it is a link" in submissions["ada"].problem


def test_what_is_too_large_is_not_read(folder):
    put(folder, ada__ring_py=RING, ada__my_ddp_py="x" * 300_000)
    put(folder, bob_zip=zipped(ring_py="\n" * 50_000_000))
    bomb = zipped(a_ipynb=b" " * 9_000_000)
    put(folder, cyd_zip=zipped(**{f"part{number}_zip": bomb for number in range(20)}, ring_py=RING))
    submissions = collected(folder)
    assert (
        submissions["ada"].exercises == ["ring"]
        and "more than 200 KiB" in submissions["ada"].problem
    )
    assert submissions["bob"].exercises == [] and "more than 200 KiB" in submissions["bob"].problem
    assert "the submission has more than 100 MiB" in submissions["cyd"].problem


def test_archives_in_archives_come_to_an_end(folder):
    content = zipped(ring_py=RING)
    for _ in range(2):
        content = zipped(inner_zip=content)
    put(folder, ada_zip=content, bob_zip=zipped(inner_zip=content))
    submissions = collected(folder)
    assert ring(submissions["ada"]) == RING
    assert "inner.zip was not read: it is inside 3 other archives" in submissions["bob"].problem


def test_where_there_are_labs_nothing_else_is_read(folder):
    put(
        folder,
        ada__labs__src__ring_py=RING,
        ada__labs__src__helper_py="mine = 1",
        ada__solutions__src__ring_py="wrong = 1",
        ada__course__checks__lab_02__ring_py="wrong = 1",
        ada__old__ring_py="wrong = 1",
        ada__solutions__03_ipynb=notebook("%%writefile src/my_ddp.py\nwrong = 1"),
        ada__labs__03_ipynb=notebook("%%writefile src/ddp.py\nmine = 1"),
    )
    submission = collected(folder)["ada"]
    assert submission.exercises == ["ring", "ddp"] and ring(submission) == RING
    assert (submission.src / "helper.py").exists() and submission.notes == []


def test_a_clone_named_course_is_read_like_any_other(folder):
    put(folder, ada_zip=zipped(course__labs__src__ring_py=RING, course__course__ring_py="x = 1"))
    assert ring(collected(folder)["ada"]) == RING


def test_without_labs_the_course_itself_and_hidden_folders_are_left_out(folder):
    put(
        folder,
        ada__solutions__ring_py="x = 1",
        ada__course__ring_py="x = 1",
        ada___cache__ring_py="x = 1",
        ada__tests__ring_py="x = 1",
    )
    (folder / "ada" / "_cache").rename(folder / "ada" / ".cache")
    submission = collected(folder)["ada"]
    assert submission.exercises == [] and "3 scripts of the course itself" in submission.problem


def test_scripts_beside_those_of_exercises_come_along_and_others_do_not(folder):
    put(folder, ada__work__ring_py=RING, ada__work__helper_py="a = 1", ada__env__site_py="b = 1")
    src = collected(folder)["ada"].src
    assert (src / "helper.py").exists() and not (src / "site.py").exists()


def test_where_there_are_two_the_page_says_which_was_taken(folder):
    cell = notebook(f"%%writefile src/ring.py\n{RING}\nolder = 1")
    put(folder, ada__labs__src__ring_py=RING, ada__labs__02_ipynb=cell)
    put(folder, bob__labs__src__ring_py=BLANK, bob__labs__02_ipynb=cell)
    put(
        folder,
        cyd__labs__src__ring_py=RING,
        cyd__labs__02_ipynb=notebook(f"%%writefile src/ring.py\n{RING}"),
    )
    submissions = collected(folder)
    assert ring(submissions["ada"]) == RING
    assert submissions["ada"].notes == [
        "ring.py was taken from ada/labs/src/ring.py, not ada/labs/02.ipynb, cell 1"
    ]
    assert "older" in ring(submissions["bob"])  # a changed script is preferred to one as handed out
    assert submissions["cyd"].notes == []


def test_the_given_scripts_of_a_lab_lie_beside_where_they_are_missing(folder):
    put(folder, ada__flat_unit_py="mine = 1", bob__flat_unit_py="m = 1", bob__zero_two_py="own = 1")
    submissions = collected(folder)
    script = exercises()["flat_unit"].given["zero_two"]
    assert (submissions["ada"].src / "zero_two.py").read_text() == script
    assert (submissions["bob"].src / "zero_two.py").read_text() == "own = 1"
    assert submissions["ada"].exercises == ["flat_unit"]


def test_downloads_of_moodle_are_one_submission_for_each_learner(folder):
    put(folder, my_zip=zipped(ring_py=RING))
    for name in ("Ada Lovelace_7_assignsubmission_file_", "Ada Lovelace_8_assignsubmission_file"):
        (folder / name).mkdir()
        (folder / "my.zip").rename(folder / name / "my.zip")
        put(folder, my_zip=zipped(ring_py=RING))
    (folder / "my.zip").rename(folder / "Bob_9_assignsubmission_file_my.zip")
    put(folder, **{"Bob_9_assignsubmission_onlinetext__text_html": "Hello."})
    submissions = collected(folder)
    assert list(submissions) == ["Ada Lovelace", "Ada Lovelace (8)", "Bob"]
    assert all(submission.exercises == ["ring"] for submission in submissions.values())


def test_downloads_of_canvas_are_one_submission_for_each_learner(folder):
    folder.mkdir()
    for name in ("lovelaceada_LATE_12_34_ring.py", "lovelaceada_LATE_12_35_my_ddp-1.py"):
        (folder / name).write_text(RING)
    (folder / "anon_x7Yz_36_ring.py").write_text(RING)
    (folder / "bobby_13_37_work.zip").write_bytes(zipped(ring_py=RING))
    submissions = collected(folder)
    assert list(submissions) == ["anon_x7Yz", "bobby", "lovelaceada"]
    assert (
        submissions["lovelaceada"].exercises == ["ring", "my_ddp"]
        and submissions["lovelaceada"].late
    )
    assert submissions["anon_x7Yz"].exercises == submissions["bobby"].exercises == ["ring"]
    assert not submissions["bobby"].late


def test_clones_are_read_without_their_git_folder(folder):
    put(folder, **{"gpus-lab02-ada__labs__src__ring_py": RING})
    put(folder, **{"gpus-lab02-ada__.git__hooks__ring_py": "x = 1"})
    assert ring(collected(folder)["gpus-lab02-ada"]) == RING


def test_names_of_every_kind_are_different_and_can_be_shown(folder):
    folder.mkdir()
    broken = [os.fsdecode(name) for name in (b"Jos\xe9", b"Jos\xe8", b"a\x1b[31m", b"=1+1")]
    for name in (*broken, "x" * 250, "x" * 249 + "y", "a#?%", "‮drawkcab"):
        (folder / name).mkdir()
        (folder / name / "ring.py").write_text(RING)
    submissions = collected(folder)
    assert len(submissions) == 8 and all(
        submission.exercises == ["ring"] for submission in submissions.values()
    )
    assert all(name.isprintable() and len(name) < 70 for name in submissions)
    assert len({submission.src for submission in submissions.values()}) == 8


def test_the_roster_says_who_is_who_and_who_is_missing(folder, tmp_path):
    (tmp_path / "roster.csv").write_text(
        "id,name,section\nada,Ada Lovelace,1\nbob,Bob,2\n9,Cyd Charisse,2\neve,Eve,1\n"
    )
    put(folder, **{"gpus-lab02-ada__ring_py": RING, "charissecyd_9_8_ring_py": RING})
    (folder / "gpus-lab02-ada" / ".git").mkdir()
    (folder / "broken").symlink_to("nowhere")
    put(folder, bob_zip=zipped(ring_py=RING), bob__my_ddp_py="x = 1", mallory_py=RING)
    submissions = collect(folder, tmp_path / "work", read(tmp_path / "roster.csv"))
    assert [submission.learner for submission in submissions] == [
        *("Ada Lovelace", "Bob", "Cyd Charisse", "Eve", "broken", "mallory"),
    ]
    assert submissions[1].exercises == ["ring", "my_ddp"]
    assert submissions[3].notes == ["handed in nothing"] and submissions[3].problem == ""
    assert submissions[1].notes == ["taken together: bob and bob.zip"]
    assert all(
        submission.notes == ["not in the roster"] and not submission.person
        for submission in submissions[4:]
    )


def test_the_roster_itself_is_not_a_submission(folder):
    put(folder, ada__ring_py=RING, roster_csv="id\nada\n")
    submissions = collect(folder, folder.parent / "work", read(folder / "roster.csv"))
    assert [submission.learner for submission in submissions] == ["ada"]


def test_what_was_copied_before_is_gone(folder):
    put(folder, ada__ring_py=RING, ada__my_ddp_py="x = 1")
    assert collected(folder)["ada"].exercises == ["ring", "my_ddp"]
    (folder / "ada" / "my_ddp.py").unlink()
    assert collected(folder)["ada"].exercises == ["ring"]


def test_a_folder_of_somebody_else_is_not_replaced(folder):
    put(folder, ada__ring_py=RING)
    (folder.parent / "work" / "ada").mkdir(parents=True)
    (folder.parent / "work" / "ada" / "thesis.tex").write_text("two years")
    with pytest.raises(CourseError, match="work is there and holds something else"):
        collected(folder)
    assert (folder.parent / "work" / "ada" / "thesis.tex").read_text() == "two years"


def test_a_folder_with_nothing_is_one_sentence(folder):
    folder.mkdir()
    (folder / ".DS_Store").write_bytes(b"")
    with pytest.raises(CourseError, match="There are no submissions in"):
        collect(folder, folder.parent / "work")
    shutil.rmtree(folder)
