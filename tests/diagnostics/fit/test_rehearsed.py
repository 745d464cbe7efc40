"""The whole command `fit`: an answer for an unchanged script, and one sentence for a bad one."""

import json
from pathlib import Path

import pytest

from course.core import CourseError
from course.diagnostics import fit_answer, options, terminal
from course.diagnostics.fit.answer import FitAnswer

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


OPTIONS = {
    "no_gpus": (["--gpus", "0"], "whole numbers with commas between, not 0"),
    "half_a_gpu": (["--gpus", "1,1.5"], "whole numbers with commas between, not 1,1.5"),
    "no_size": (["--memory", "x"], "sizes in GiB with commas between, not x"),
    "endless_size": (["--memory", "inf"], "sizes in GiB with commas between, not inf"),
    "no_time": (["--step-ms", "0"], "milliseconds, not 0"),
    "no_file": ([], "There is no script nowhere.py"),
}


def answered(*words: str) -> FitAnswer:
    return fit_answer(options.fit(words))


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return tmp_path / "train.py"


def test_an_unchanged_script_for_gpus(script: Path, tmp_path: Path) -> None:
    script.write_text(TRAINS)
    file = tmp_path / "fit.json"
    options = ("--gpus", "1", "--memory", "1,24", "--json", str(file))
    answer = answered(*options, "--", "python", str(script))
    (rehearsal,) = answer.rehearsals
    by, weights = rehearsal.account.by, 4 * (1024 * 1024 + 1024)
    assert rehearsal.account.uses_gpu and rehearsal.batch == 64
    assert by["weights"] == weights
    assert by["optimizer"] == pytest.approx(2 * weights, abs=64)
    assert by["gradients"] == weights  # the peak is in the step
    assert by["other"] < 4 * 4096 * 1024  # of the data, which is on the host
    assert answer.assumed == ["train.py:14"]
    plain = json.loads(file.read_text())
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
        answered("--gpus", "1", "--", "python", str(script))


@pytest.mark.parametrize("name", OPTIONS)
def test_a_bad_option_is_one_sentence(name: str) -> None:
    words, says = OPTIONS[name]
    with pytest.raises(CourseError, match=says) as error:
        answered(*words, "--", "torchrun", "nowhere.py")
    assert "\n" not in str(error.value)


def test_no_command_is_one_sentence() -> None:
    with pytest.raises(CourseError, match="No command was given"):
        answered("--gpus", "1")


@pytest.mark.sampled
def test_quiet_says_nothing_of_what_fits(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text(TRAINS)
    command = ["--gpus", "1", "--quiet", "--memory"]
    assert terminal.fit([*command, "24", "--", "python", str(script)]) == 0
    assert capsys.readouterr().out == ""
    assert terminal.fit([*command, "1", "--", "python", str(script)]) == 3
    assert capsys.readouterr().out.startswith("does not fit")


@pytest.mark.sampled
def test_what_is_moved_to_the_host_leaves_the_gpu(script: Path) -> None:
    mib = 2**20
    begin, end = TRAINS.split("optimizer = ", 1)
    peaks = []
    for move in ("kept", "kept.cpu()", "kept.to('cpu')", "kept.to(kept.device)"):
        kept = f"kept = torch.zeros({8 * mib // 4}, device=device)\nkept = {move}\n"
        script.write_text(f"{begin}{kept}optimizer = {end}")
        answer = answered("--gpus", "1", "--memory", "24", "--", "python", str(script))
        peaks.append(answer.rehearsals[0].account.by["other"])
    assert [other >= 8 * mib for other in peaks] == [True, False, False, True]
