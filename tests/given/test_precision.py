"""Lab 05b's given parts: the watch on formats, and the number of steps of a race."""

import torch
from torch import nn

from course.given import precision


def test_watch_names_the_innermost_layers_and_the_latest_format_of_each():
    inner = nn.Sequential(nn.LayerNorm(8), nn.Sequential(nn.GELU()))
    model = nn.Sequential(nn.Linear(8, 8), inner)
    formats = precision.watch(model)
    model(torch.randn(2, 8))
    assert formats == dict.fromkeys(["0", "1.0", "1.1.0"], torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        model(torch.randn(2, 8))
    assert formats["0"] == torch.bfloat16


def test_a_race_on_a_cpu_has_40_steps():
    assert precision.affordable_steps("tiny", 4, ways=7, device=torch.device("cpu")) == 40
