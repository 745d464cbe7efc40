"""``python -m course grade``: the submissions of a class are judged, shown and counted."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from xml.etree import ElementTree

import pytest
from support.grading import HALF, hand_in, page, run, table
from support.handed_in import RING
from support.patience import PATIENCE_S

from course.commands import grade
from course.commands.check import NOT_JUDGED
from course.commands.grading import verdicts
from course.core import Interrupted
from course.exercises import Outcome, Report, Result, exercises
from course.hardware import isolation


def test_points_are_the_part_of_the_checks_that_hold(tmp_path, judged):
    folder = hand_in(tmp_path, ada__ring="a = 1", cyd__ring="b = 1", cyd__simple_ways="c = 1")
    assert run(folder, "--lab", "02") == 0
    assert sorted(judged["requests"]) == [("ring", "ada"), ("ring", "cyd"), ("simple_ways", "cyd")]
    rows = table(folder)
    assert [rows[name]["points"] for name in ("ada", "cyd")] == ["0.5", "1.0"]
    assert rows["ada"]["ring"] == "0.5" and rows["ada"]["simple_ways"] == "0.0"
    assert "2 learners, 2 exercises" in page(folder)


def test_an_exercise_that_all_have_skipped_costs_them_its_point(tmp_path, judged):
    folder = hand_in(tmp_path, ada__ring="a = 1")
    run(folder, "--lab", "02", "03")
    names = [name for name, exercise in exercises().items() if exercise.lab in ("02", "03")]
    assert len(names) > 2 and f"At most {len(names)} points" in page(folder)
    run(folder, "--names", "ring")
    assert "At most 1 point." in page(folder)


def test_all_checks_run_isolated_and_within_the_learners_time(tmp_path, judged):
    folder = hand_in(tmp_path, ada__ring="a = 1")
    run(folder, "--minutes", "2")
    assert judged["options"]["isolated"] and judged["options"]["thorough"]
    assert 0 < judged["options"]["limit"] <= 120
    run(folder, "--trust")
    assert not judged["options"]["isolated"]
    assert len(judged["requests"]) == 2  # a verdict without isolation is a different one


def test_where_nothing_can_be_isolated_nothing_is_run(tmp_path, judged, monkeypatch, capsys):
    monkeypatch.setattr(isolation, "missing", lambda: "bwrap is missing: install it")
    folder = hand_in(tmp_path, ada__ring="a = 1")
    assert run(folder) == 2
    error = capsys.readouterr().err
    assert "bwrap is missing: install it" in error and "--trust" in error and "your rights" in error
    assert judged["requests"] == []
    assert run(folder, "--trust") == 0


def test_only_changed_scripts_are_checked_again(tmp_path, judged, monkeypatch):
    folder = hand_in(tmp_path, ada__ring="a = 1", bob__ring="b = 1")
    run(folder)
    run(folder)
    assert len(judged["requests"]) == 2
    hand_in(tmp_path, ada__ring="a = 2")
    run(folder)
    assert judged["requests"][2:] == [("ring", "ada")]
    monkeypatch.setattr(grade, "digest", lambda: "other checks")
    run(folder)
    assert len(judged["requests"]) == 5


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"report": 1, "judged": 2}', "\0"])
def test_an_exercise_with_an_unreadable_stored_verdict_is_checked_again(tmp_path, judged, text):
    folder = hand_in(tmp_path, ada__ring="a = 1")
    run(folder)
    (tmp_path / "out" / "verdicts" / "ada" / "ring.json").write_text(text)
    assert run(folder) == 0
    assert len(judged["requests"]) == 2


def test_an_unchanged_handout_is_not_checked(tmp_path, judged):
    folder = hand_in(tmp_path, ada__ring=exercises()["ring"].script(solved=False))
    assert run(folder) == 0
    assert judged["requests"] == []
    assert "handed in as it was handed out" in page(folder)


def busy(name: str, **options: object) -> Report:
    """The report of a check that could not judge everything."""
    late = Result(
        "test_ends", "It ends.", Outcome.NOT_JUDGED, "The machine is too busy.", again=True
    )
    return Report(name, ("test_adds", "test_ends"), (HALF[0], late))


def fails(error: Exception) -> Callable[..., Report]:
    def verdict(name: str, **options: object) -> Report:
        raise error

    return verdict


@pytest.mark.parametrize("verdict", [busy, fails(OSError("no disk")), fails(RuntimeError())])
def test_an_exercise_without_a_verdict_gets_no_points_and_is_checked_again(
    tmp_path, judged, verdict
):
    folder = hand_in(tmp_path, ada__ring="a = 1", bob__ring="b = 1")
    (tmp_path / "roster.csv").write_text("id,name\nada,Ada\nbob,Bob\n")
    sane = judged["verdict"]
    judged["verdict"] = lambda name, src, **options: (verdict if "Ada" in src else sane)(
        name, **options
    )
    roster = ("--roster", str(tmp_path / "roster.csv"), "--names", "ring")
    assert run(folder, *roster) == NOT_JUDGED
    assert table(folder)["Ada"]["not judged"] == "ring"
    assert "1 exercise not judged" in page(folder) and "not all judged" in page(folder)
    assert (tmp_path / "out" / "roster.csv").read_text().splitlines()[1:] == [
        "ada,Ada,",
        "bob,Bob,0.5",
    ]
    judged["verdict"] = sane
    assert run(folder, *roster) == 0
    assert len(judged["requests"]) == 3


def test_an_interrupt_ends_the_class_at_once_and_what_is_judged_is_kept(
    tmp_path, judged, monkeypatch
):
    learners = {f"learner{number}__ring": f"a = {number}" for number in range(8)}
    folder = hand_in(tmp_path, **learners)
    sane, second = judged["verdict"], threading.Event()

    def verdict(name: str, stop: threading.Event, **options: object) -> Report:
        if len(judged["requests"]) == 1:
            return sane(name)
        second.set()
        assert stop.wait(PATIENCE_S)  # like a check that waits for its ranks
        raise Interrupted

    judged["verdict"] = verdict
    follow = verdicts._follow

    def interrupted(under_way: dict) -> None:
        second.wait()
        raise KeyboardInterrupt

    monkeypatch.setattr(verdicts, "_follow", interrupted)
    assert run(folder, "--names", "ring", "--jobs", "1") == NOT_JUDGED
    assert len(judged["requests"]) == 2
    rows = table(folder)
    assert len(rows) == 8 and rows["learner0"]["not judged"] == ""
    assert [row["not judged"] for row in rows.values()].count("ring") == 7
    monkeypatch.setattr(verdicts, "_follow", follow)
    judged["verdict"] = sane
    assert run(folder, "--names", "ring") == 0
    assert len(judged["requests"]) == 2 + 7


def test_the_checks_of_one_learner_run_one_after_the_other(tmp_path, judged):
    names = ("ring", "simple_ways", "my_ddp")
    folder = hand_in(
        tmp_path, **{f"{who}__{name}": "a = 1" for who in ("ada", "bob") for name in names}
    )
    sane, running = judged["verdict"], defaultdict(threading.Lock)

    def verdict(name: str, src: str, **options: object) -> Report:
        assert running[src].acquire(blocking=False)
        time.sleep(0.05)  # so that a second check would meet this one
        running[src].release()
        return sane(name)

    judged["verdict"] = verdict
    assert run(folder, "--jobs", "4") == 0
    assert len(judged["requests"]) == 6


def test_when_the_minutes_of_a_learner_are_over_the_rest_is_not_judged(
    tmp_path, judged, monkeypatch
):
    now = [0.0]
    monkeypatch.setattr(verdicts.time, "monotonic", lambda: now[0])
    folder = hand_in(tmp_path, ada__ring="a = 1", ada__simple_ways="b = 1", bob__ring="c = 1")
    sane = judged["verdict"]

    def verdict(name: str, **options: object) -> Report:
        now[0] += 61
        return sane(name)

    judged["verdict"] = verdict
    assert run(folder, "--minutes", "1", "--jobs", "1") == NOT_JUDGED
    rows = table(folder)
    assert (rows["ada"]["not judged"], rows["bob"]["not judged"]) == ("ring", "")
    assert "this learner&#x27;s 1 minutes are up" in page(folder, "feedback/ada.html")


def test_a_script_that_equals_another_or_the_solution_is_pointed_out(tmp_path, judged):
    mine = RING.replace("    return", "    # mine\n    return")
    folder = hand_in(tmp_path, ada__ring=RING, bob__ring=mine, cyd__ring="c = 1")
    hand_in(tmp_path, dan__my_ddp=exercises()["my_ddp"].script(solved=True))
    run(folder)
    assert "<li>ring: ada, bob (" in page(folder)
    assert "<li>my_ddp: dan, the published solution (" in page(folder)


def test_what_a_teacher_should_look_at_is_listed_for_the_teacher(tmp_path, judged):
    rewrites = "import torch\n" + "torch.equal = lambda *a: True\n" * 9
    folder = hand_in(tmp_path, ada__ring=rewrites, bob__ring="b = 1")
    run(folder)
    assert "ring.py: line 2 replaces `torch.equal`" in page(folder)
    assert "and 4 more lines to look at" in page(folder)
    assert "torch.equal" not in page(folder, "feedback/ada.html")


def test_pages_and_junit_say_what_a_learner_reads(tmp_path, judged):
    folder = hand_in(tmp_path, ada__ring="a = 1")
    (tmp_path / "weights.toml").write_text("ring = 4\n")
    run(folder, "--names", "ring", "--weights", str(tmp_path / "weights.toml"))
    feedback = page(folder, "feedback/ada.html")
    assert "ring: 1 of 2 checks hold." in feedback and "&lt;no&gt;" in feedback
    assert "2 of 4" in feedback
    suite = ElementTree.parse(tmp_path / "out" / "junit" / "ada.xml").find("testsuite")
    assert suite.attrib == {"name": "ring", "tests": "2", "failures": "1", "skipped": "0"}
    assert [case.get("name") for case in suite] == ["It adds.", "It ends."]


def test_comments_replace_points_and_survive_the_next_run(tmp_path, judged):
    folder = hand_in(tmp_path, ada__ring="a = 1", bob__ring="b = 1")
    run(folder, "--names", "ring")
    comments = tmp_path / "out" / "comments.toml"
    assert '["ada"]' in comments.read_text() and '["bob"]' in comments.read_text()
    own = comments.read_text().replace('["ada"]', '["ada"]\nring = 1\nremark = "<Well> said."')
    comments.write_text(own)
    for _ in range(2):
        assert run(folder, "--names", "ring") == 0
        assert table(folder)["ada"]["points"] == "1.0" and table(folder)["bob"]["points"] == "0.5"
        assert "&lt;Well&gt; said." in page(folder, "feedback/ada.html")
    assert comments.read_text() == own
