"""A rehearsal counts deep copies of its tensors, of those with values and of those without."""

import subprocess
import sys

from support.launching import clean_environment

from course.core import ROOT

COPIES = """
import copy
import torch
from course.diagnostics.fit import ledger, values
from course.diagnostics.watch.lines import Lines

lines = Lines("train.py")
made_up = values.Values(lines)
counted = ledger.Ledger(lines, made_up.run)
made_up.install()
with values.mode(), counted:
    with_values, without = torch.tensor([1.0, 2.0]), torch.zeros(256)
    model = torch.nn.BatchNorm1d(4)
    kept = []
    for original in (with_values, without, [with_values, with_values[1:]], model):
        before = sum(change for _, change in counted.record.events)
        kept.append(copy.deepcopy(original))
        print(sum(change for _, change in counted.record.events) - before)
    print(kept[0].tolist(), kept[1].unsqueeze_(0).shape)
"""


def test_deep_copies_are_counted() -> None:
    done = subprocess.run(
        [sys.executable, "-c", COPIES], capture_output=True, text=True,
        env=clean_environment() | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    *nbytes, kept = done.stdout.splitlines() or [done.stderr]
    assert nbytes == ["8", "1024", "8", "72"], kept
    assert kept == "[1.0, 2.0] torch.Size([1, 256])"
