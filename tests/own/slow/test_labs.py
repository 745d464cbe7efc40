"""The labs' own scripts, of which the labs say what takes their time.

Only those whose cause is large, so that no load hides it.
"""

from pathlib import Path

import pytest
from support import solutions

from course.own import Answer, watch_ranks

pytestmark = [pytest.mark.slow, pytest.mark.sampled]

RACE = "race --size tiny --pairs 8 --ways"


@pytest.fixture
def asked(warm_ranks: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    """What `why` answers of a lab's script."""
    monkeypatch.chdir(tmp_path)

    def ask(lab: str, words: str) -> Answer:
        src = tmp_path / "src"
        src.mkdir()
        solutions.write(lab, src)
        script, *arguments = words.split()
        command = ["torchrun", "--standalone", "--nproc-per-node", "2", f"src/{script}"]
        run, told = watch_ranks([*command, *arguments])
        assert run.ok, run.text(run.first_failed)
        return Answer(told)

    return ask


@pytest.mark.parametrize(
    ("lab", "words", "cause", "rank", "line"),
    [
        ("06_horovod_style", "digits_hvd.py", "latency", None, "digits_hvd.py"),
        ("08_scaling", "where.py", "straggler", 0, "where.py"),
        ("08b_why", "slow.py reading", "input", None, "slow.py"),
        ("08b_why", "slow.py passes", "accumulation", None, "slow.py"),
        ("08b_why", "slow.py lengths", "straggler", 1, "slow.py"),
        ("10_sharding", f"zero_ways.py {RACE} zero_one", "latency", None, "zero_one.py"),
        ("10b_fsdp", f"fsdp_ways.py {RACE} my_fsdp", "bandwidth", None, "my_fsdp.py"),
        ("11b_pipelines", "three_ways.py --mesh 2 1 1 --steps 30", "latency", None, "my_gradients"),
    ],
)
def test_the_cause_is_the_one_that_the_lab_tells(
    asked: object, lab: str, words: str, cause: str, rank: int | None, line: str
) -> None:
    found = asked(lab, words).causes[0]
    assert (found.cause, found.rank) == (cause, rank)
    assert found.line.startswith(line)


def test_workers_that_read_the_same_and_take_a_share_each_are_not_accused(asked: object) -> None:
    answer = asked("07_strategies", "train_any.py --strategy workers")
    assert "not sharded" not in {cause.cause for cause in answer.causes}
    assert "the shares of the data" in " ".join(str(answer).split())


def test_a_pipelines_messages_do_not_tell_who_is_late(asked: object) -> None:
    answer = asked("11b_pipelines", "three_ways.py --mesh 1 2 1 --steps 30")
    assert "which rank is late where ranks send to one another" in " ".join(str(answer).split())
