"""The command at its end: an answer for an unchanged script, and one sentence for a bad one."""

import json
from pathlib import Path

import pytest

from course.core import CourseError
from course.own import fit_answer

pytestmark = pytest.mark.slow

TRAINS = """import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = "cuda" if torch.cuda.is_available() else "cpu"
model = nn.Linear(1024, 1024).to(device)
optimizer = torch.optim.AdamW(model.parameters())
data = DataLoader(TensorDataset(torch.randn(4096, 1024)), batch_size=64, num_workers=2)
for (x,) in data:
    loss = model(x.to(device)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if loss.item() < 0.1:
        break
"""
BAD = {
    "never_steps": (
        "import torch\nprint(torch.zeros(3))\n",
        "ends without a step",
    ),
    "trains_nothing": (
        "import torch\nw = torch.nn.Linear(2, 2)\no = torch.optim.SGD(w.parameters(), lr=1)\n"
        "for _ in range(3):\n    o.step()\n",
        "trains nothing",
    ),
    "by_data": (
        "import torch\nw = torch.nn.Linear(2, 2)\nx = torch.randn(4, 2)\n"
        "w(torch.unique(x, dim=0)).sum().backward()\n",
        r"cannot follow the script at train\.py:4: the shape",
    ),
    "no_data": (
        "import torch\nopen('nowhere.csv')\n",
        r"fails at train\.py:2: FileNotFoundError",
    ),
}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return tmp_path / "train.py"


def test_an_unchanged_script_for_gpus(script: Path, tmp_path: Path) -> None:
    script.write_text(TRAINS)
    found = tmp_path / "fit.json"
    answer = fit_answer(
        ["--gpus", "1", "--memory", "1,24", "--json", str(found), "--", "python", str(script)],
        "fit",
    )
    (rehearsal,) = answer.rehearsals
    by, weights = rehearsal.account.by, 4 * (1024 * 1024 + 1024)
    assert rehearsal.account.uses_gpu and rehearsal.batch == 64
    assert by["weights"] == weights
    assert by["optimizer"] == pytest.approx(2 * weights, abs=64)
    assert by["gradients"] == weights  # the peak is in the step
    assert by["other"] < 4 * 4096 * 1024  # of the data, which is on the host
    assert answer.assumed == ["train.py:14"]
    plain = json.loads(found.read_text())
    assert [run["fits"] for run in plain["runs"]] == [False, True]
    assert plain["advice"]
    assert plain["tool"] == "fit" and plain["command"] == ["python", str(script)]
    assert plain["findings"] == []  # `fit` finds no faults


@pytest.mark.sampled
@pytest.mark.parametrize("name", BAD)
def test_a_bad_script_is_one_sentence(script: Path, name: str) -> None:
    text, says = BAD[name]
    script.write_text(text)
    with pytest.raises(CourseError, match=says):
        fit_answer(["--gpus", "1", "--", "python", str(script)], "fit")
