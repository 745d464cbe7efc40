"""Where torch cannot follow a script, small real runs are extrapolated to its own batches."""

from pathlib import Path

import pytest

from course.core import CourseError
from course.own.fit import small
from course.own.fit.account import add_up
from course.own.fit.command import Script
from course.own.fit.record import Record, Storage
from course.own.fit.stage import Rehearsal, stage

MIB = 2**20
TRAINS = """
import torch
from torch.utils.data import DataLoader
data = torch.randn({samples}, 8)
model = torch.nn.Sequential(*[torch.nn.Linear(8, 8) for _ in range(4)], torch.nn.Linear(8, 4096))
optimizer = torch.optim.Adam(model.parameters())
for x in DataLoader(data, batch_size={batch}):
    {chooses}
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
"""
CHOOSES = "x = x[torch.unique(x[:, 0].argsort())]"  # all of them


def record(sizes: list[int], order: str) -> Record:
    """Storages of these sizes; in `order`, A makes the first, and a frees it."""
    events = [(ord(letter.upper()) - ord("A"), 1 if letter.isupper() else -1) for letter in order]
    return Record(
        [Storage(nbytes, "", "other") for nbytes in sizes],
        [(number, sign * sizes[number]) for number, sign in events],
        moments=[(0, "")],
    )


def test_a_peak_that_only_large_batches_have_is_found() -> None:
    def of(batch: int) -> Record:  # weights for a moment, then activations
        return record([100, 70, 10 * batch], "AaBCcb")

    records = {2: of(2), 4: of(4)}
    assert [add_up(known).peak for known in records.values()] == [100, 110]
    assert add_up(small.extrapolated(records, [2, 4], 64)).peak == add_up(of(64)).peak == 710


def test_a_storage_that_is_resized_keeps_to_its_line() -> None:
    def of(batch: int) -> Record:
        known = record([50], "A")
        known.events += [(0, -50), (0, 50)]  # like FSDP's whole weights
        known.storages.append(Storage(batch, "", "other"))
        known.events.append((1, batch))
        return known

    result = small.extrapolated({2: of(2), 4: of(4)}, [2, 4], 16)
    assert result.events == of(16).events


def test_runs_that_make_other_storages_are_not_compared() -> None:
    records = {2: record([1, 2], "AB"), 4: record([1, 2, 3], "ABC")}
    assert small.extrapolated(records, [2, 4], 8) is None


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return tmp_path / "train.py"


def rehearsed(script: Path, **changes: object) -> Rehearsal:
    with stage(Script(str(script), [])) as opened:
        return opened.rehearse(1, **changes)


@pytest.mark.parametrize("batch", [8, 64])
def test_it_counts_what_a_script_that_can_be_followed_holds(script: Path, batch: int) -> None:
    accounts = []
    for chooses in ("x = x + 0", CHOOSES):
        script.write_text(TRAINS.format(samples=256, batch=batch, chooses=chooses))
        accounts.append(rehearsed(script))
    followed, small_one = accounts
    assert small_one.batch == followed.batch == batch
    assert small_one.account.peak == pytest.approx(followed.account.peak, rel=0.01)
    assert small_one.account.moment == followed.account.moment
    assert not followed.notes
    first, *others = small_one.notes
    assert "cannot follow the script at train.py:8" in first and "real tensors" in first
    assert bool(others) == (batch > 8)
    assert all(f"from batches of 4, 8 and 16 to {batch}" in other for other in others)


def test_advice_is_tried_on_real_tensors_too(script: Path) -> None:
    script.write_text(TRAINS.format(samples=256, batch=64, chooses=CHOOSES))
    before, halved = rehearsed(script), rehearsed(script, batch=32, passes=2)
    assert halved.made == ["batch"]
    assert halved.account.by["activations"] < 0.6 * before.account.by["activations"]


def test_a_script_that_fails_on_real_tensors_too_says_both(script: Path) -> None:
    text = TRAINS.format(samples=256, batch=64, chooses=CHOOSES)
    script.write_text(text.replace("optimizer.step()", "nothing.step()"))
    with pytest.raises(CourseError) as error:
        rehearsed(script)
    assert "cannot follow the script at train.py:8" in str(error.value)
    assert "On real tensors it fails, too: The script fails at train.py:11:" in str(error.value)
