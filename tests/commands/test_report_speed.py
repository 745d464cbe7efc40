"""The races of `report`: the labs' own scripts in a separate folder, and their ratios."""

import re

import pytest

from course.commands import report_scripts, report_speed
from course.core import ROOT, CourseError
from course.launch import warm_up
from course.lessons import lessons


def test_a_ratio_is_that_of_the_slowest_ranks_of_a_round():
    logged = [{"way": "mine", "off": 0.0}]
    for turn, mine in enumerate((2.0, 3.0, 4.0)):
        for rank in (0, 1):
            logged.append({"way": "mine", "round": turn, "step_ms": mine * (1 + rank)})
            logged.append({"way": "torch", "round": turn, "step_ms": 1.0 + rank})
    pair = report_speed.Duel("mine", "torch", "mine to torch's")
    sentence = "mine to torch's: 3.00 (2.50 to 3.50 in half of the rounds)"
    assert report_speed.compared(logged, pair) == sentence


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("script", report_speed.races())
def test_every_race_is_run(script, tmp_path, monkeypatch):
    report_scripts.write(lessons(ROOT), tmp_path)
    monkeypatch.chdir(tmp_path)
    warm_up()
    logged = report_speed.rows(script, 2)
    for pair in report_speed.races()[script]:
        ratio = re.search(r": ([\d.]+) \(", report_speed.compared(logged, pair))[1]
        assert float(ratio) > 0


@pytest.mark.slow
def test_a_race_whose_script_raises_says_why(tmp_path, monkeypatch):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "duel.py").write_text("raise ValueError('no such thing')\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CourseError, match="ValueError: no such thing"):
        report_speed.rows("src/duel.py", 2)
