"""Where torch cannot follow a script, small real runs are extrapolated to its own size."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.launching import clean_environment

from course.core import ROOT, CourseError
from course.diagnostics.fit import layers, rehearsal, small
from course.diagnostics.fit.account import add_up
from course.diagnostics.fit.client import Rehearsal, open_client
from course.diagnostics.fit.command import Script
from course.diagnostics.fit.record import Record, Storage

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
        phases=[(0, "")],
    )


def test_a_peak_that_only_large_batches_have_is_found() -> None:
    def of(batch: int) -> Record:  # weights for a moment, then activations
        return record([100, 70, 10 * batch], "AaBCcb")

    records = {2: of(2), 4: of(4)}
    assert [add_up(known).peak for known in records.values()] == [100, 110]
    assert add_up(small.extrapolate(records, [2, 4], 64)).peak == add_up(of(64)).peak == 710


def test_a_storage_that_is_resized_keeps_to_its_line() -> None:
    def of(batch: int) -> Record:
        known = record([50], "A")
        known.events += [(0, -50), (0, 50)]  # like FSDP's whole weights
        known.storages.append(Storage(batch, "", "other"))
        known.events.append((1, batch))
        return known

    result = small.extrapolate({2: of(2), 4: of(4)}, [2, 4], 16)
    assert result.events == of(16).events


def test_runs_that_make_other_storages_are_not_compared() -> None:
    records = {2: record([1, 2], "AB"), 4: record([1, 2, 3], "ABC")}
    assert small.extrapolate(records, [2, 4], 8) is None


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return tmp_path / "train.py"


def rehearsed(script: Path) -> Rehearsal:
    with open_client(Script(str(script), [])) as opened:
        return opened.rehearse(1)


@pytest.mark.parametrize("batch", [8, 64])
def test_it_counts_what_a_script_that_can_be_followed_holds(script: Path, batch: int) -> None:
    accounts = []
    for chooses in ("x = x + 0", CHOOSES):
        script.write_text(TRAINS.format(samples=256, batch=batch, chooses=chooses))
        accounts.append(rehearsed(script))
    followed, small_one = accounts
    assert small_one.batch == followed.batch == batch
    assert small_one.account.peak == pytest.approx(followed.account.peak, rel=0.01)
    assert small_one.account.phase == followed.account.phase
    assert not followed.notes
    first, *others = small_one.notes
    assert "cannot follow the script at train.py:8" in first and "real tensors" in first
    assert bool(others) == (batch > 8)
    assert all(f"from batches of 4, 8 and 16 to {batch}" in other for other in others)


def test_advice_is_tried_on_real_tensors_too(script: Path) -> None:
    script.write_text(TRAINS.format(samples=256, batch=64, chooses=CHOOSES))
    with open_client(Script(str(script), [])) as opened:
        before, halved = opened.rehearse(1), opened.rehearse(1, batch=32, passes=2)
    assert halved.applied_changes == ["batch"]
    assert halved.account.by["activations"] < 0.6 * before.account.by["activations"]


def test_a_script_that_fails_on_real_tensors_too_says_both(script: Path) -> None:
    text = TRAINS.format(samples=256, batch=64, chooses=CHOOSES)
    script.write_text(text.replace("optimizer.step()", "nothing.step()"))
    with pytest.raises(CourseError) as error:
        rehearsed(script)
    assert "cannot follow the script at train.py:8" in str(error.value)
    assert "On real tensors it fails, too: The script fails at train.py:11:" in str(error.value)


def test_an_error_of_the_rehearsal_alone_is_not_one_of_the_script(script: Path) -> None:
    chooses = "import pickle; x = pickle.loads(pickle.dumps(x))"
    script.write_text(TRAINS.format(samples=64, batch=8, chooses=chooses))
    (note,) = rehearsed(script).notes
    assert "cannot follow the script at train.py:8: " in note and "real tensors" in note


def test_an_error_that_real_tensors_share_is_one_of_the_script(script: Path) -> None:
    script.write_text(TRAINS.format(samples=64, batch=8, chooses="1 / 0"))
    with pytest.raises(CourseError) as error:
        rehearsed(script)
    assert (
        str(error.value) == "The script fails at train.py:8: ZeroDivisionError: division by zero."
    )


def test_a_change_is_tried_on_real_tensors_only_where_the_script_itself_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried = []

    def answer(request: dict, failed: dict, ask: object) -> dict:
        tried.append(request)
        return {}

    monkeypatch.setattr(small, "answer_by_real_steps", answer)
    failed = {"failed": "It fails.", "error": ["train.py:8", "why"]}
    monkeypatch.setattr(rehearsal, "_forked", lambda requests: [failed] * len(requests))
    rehearsals, changed = rehearsal.Rehearsals(), {"changes": {"shard": True}}
    for request in (changed, {}, changed):
        rehearsals.answers([request])
    assert tried == [{}, changed]


DEEP = """
import torch
from torch import nn

class Layer(nn.Module):
    def __init__(self, width, wide):
        super().__init__()
        self.parts = nn.Sequential(nn.Linear(width, wide), nn.ReLU(), nn.Linear(wide, width))

    def forward(self, x):
        return x + self.parts(x)

layers = nn.ModuleList([Layer(256, {wide}) for number in range(24)])
head = nn.Linear(256, 4096)
model = nn.ModuleDict({{"layers": layers, "head": head}})
optimizer = torch.optim.AdamW(model.parameters())
for step in range(3):
    x = torch.randn(64, 256)
    torch.unique(x)
    for layer in layers:
        x = layer(x)
    optimizer.zero_grad()
    head(x).square().mean().backward()
    optimizer.step()
"""
SAME, GROWING = "3072", "3072 + 8 * number"
WITH_LITTLE_MEMORY = """
import sys, torch
torch.set_num_threads(1)
from course.diagnostics.fit import rehearsal
free = int(sys.argv[2]) * 2**20
rehearsal.quotas.memory = lambda path: (free, free)
rehearsal.main(sys.argv[1])
"""


def answer(script: Path, free: int) -> dict:
    """Rehearse one rank of a script in a process that has `free` MiB of memory left."""
    request = {"script": str(script), "words": [], "ranks": 1}
    done = subprocess.run(
        [sys.executable, "-c", WITH_LITTLE_MEMORY, str(script), str(free)],
        input=json.dumps([request]) + "\n", capture_output=True, text=True, check=True,
        env=clean_environment() | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    (one,) = json.loads(done.stdout)
    return one


def test_with_too_little_memory_a_model_keeps_fewer_of_its_layers(script: Path) -> None:
    script.write_text(DEEP.format(wide=SAME))
    whole, small_one = answer(script, 8000), answer(script, 600)
    assert len(whole["notes"]) == 1
    assert "for 24 layers (Layer), so 2, 4 and 8 were tried" in small_one["notes"][-1]
    expected, account = whole["account"], small_one["account"]
    assert account["peak"] == pytest.approx(expected["peak"], rel=0.01)
    assert account["by"] == pytest.approx(expected["by"], rel=0.01, abs=0.003 * expected["peak"])
    for name in ("phase", "at", "step", "steps"):
        assert account[name] == expected[name], name
    assert account["reserved"] == pytest.approx(expected["reserved"], rel=0.05)
    assert small_one["applied_changes"] == []


def test_layers_that_differ_are_not_left_out(script: Path) -> None:
    script.write_text(DEEP.format(wide=GROWING))
    assert "needs more memory than is free here" in answer(script, 600)["failed"]


TWO_LISTS = """
from torch import nn
from course.diagnostics.fit.changes import Changes

class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = nn.Linear(2, 2)

changes = Changes({"layers": ["Layer", 4]})
changes.install()
encoder, decoder = (nn.ModuleList([Layer() for number in range(12)]) for number in range(2))
print(changes.layers(), len(encoder), len(decoder))
shorter = nn.ModuleList([Layer() for number in range(3)])
print(changes.layers())
"""


def test_only_equal_lists_of_layers_are_shortened_together() -> None:
    done = subprocess.run(
        [sys.executable, "-c", TWO_LISTS], capture_output=True, text=True, check=True,
        env=clean_environment() | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.stdout == "('Layer', 4) 4 4\nNone\n"


def test_each_phase_has_its_own_line_over_the_layers() -> None:
    def run(count: int) -> layers.Counted:  # first it holds 100, then 30 for each layer
        known = record([100, *[30] * count], "Aa" + "BCDEFGHIJ"[:count])
        known.phases = [(0, "forward"), (2, "backward")]
        return known, add_up(known)

    account = layers.extrapolate({2: run(2), 3: run(3)}, [2, 3], 9)
    assert account is not None
    assert (account.peak, account.phase) == (270, "backward") == (run(9)[1].peak, "backward")


def test_runs_with_other_phases_are_not_compared() -> None:
    one, other = record([1, 2], "AB"), record([1, 2], "AB")
    other.phases.append((1, "forward"))
    runs = {2: (one, add_up(one)), 4: (other, add_up(other))}
    assert layers.extrapolate(runs, [2, 4], 8) is None
