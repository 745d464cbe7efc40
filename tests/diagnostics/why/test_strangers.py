"""Scripts as other people write them: each answer is right on any machine, and not a guess."""

from pathlib import Path

import pytest
from support.watching import watch_ranks

from course.core import CourseError
from course.diagnostics import WhyAnswer

pytestmark = [pytest.mark.slow, pytest.mark.sampled]

STRANGERS = Path(__file__).with_name("strangers")
RANKS = ["torchrun", "--standalone", "--nproc-per-node", "2"]


@pytest.fixture
def stranger(warm_ranks: None) -> object:
    """Run such a script on two ranks, and return the answer of `why`."""

    def ask(name: str) -> WhyAnswer:
        run, reports = watch_ranks([*RANKS, str(STRANGERS / f"{name}.py")])
        assert run.ok, run.text(run.first_failed)
        return WhyAnswer(reports)

    return ask


def names(answer: WhyAnswer) -> set[str]:
    """The names of the causes that were found."""
    return {cause.name for cause in answer.causes}


def test_what_fsdp_sends_in_its_passes_is_neither_late_nor_in_vain(stranger: object) -> None:
    answer = stranger("sharded")
    assert not names(answer) & {"no overlap", "accumulation", "synchronization"}
    assert "the loaders" not in str(answer)


def test_an_optimizer_that_calls_a_closure_computes_in_it(stranger: object) -> None:
    answer = stranger("closure")
    breakdown = answer.diagnosis.breakdown
    assert breakdown.mean_own("forward") > 0 and breakdown.mean_own("optimizer") > 0
    assert "accumulation" not in names(answer)


def test_a_sample_that_is_there_several_times_is_not_drawn_by_all(stranger: object) -> None:
    answer = stranger("twice")
    assert "not sharded" not in names(answer)
    assert "the shares of the data" in " ".join(str(answer).split())


def test_a_trainer_sends_once_for_all_its_passes_and_searches_although_nobody_asked_it_to(
    stranger: object,
) -> None:
    answer = stranger("passes")
    assert "unused parameters" in names(answer)
    assert "accumulation" not in names(answer)


def test_too_few_steps_are_said_so_although_ranks_have_left_their_group(stranger: object) -> None:
    with pytest.raises(CourseError, match="saw only 3 training steps on rank 0"):
        stranger("short")


def test_a_module_is_watched_like_a_script(
    warm_ranks: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "sizes.py").write_text("SIDE = 4\n")
    script = (STRANGERS / "short.py").read_text().replace("range(3)", "range(int(sys.argv[1]))")
    head = '"""Starts with -m."""\nimport sys\nfrom .sizes import SIDE\nassert SIDE == 4\n'
    (package / "train.py").write_text(head + script)
    monkeypatch.chdir(tmp_path)
    run, reports = watch_ranks([*RANKS, "-m", "package.train", "40"])
    assert run.ok, run.text(run.first_failed)
    assert [len(rank.steps) for rank in reports] == [20, 20]
