"""Lab 07's comparisons hold on any device, and its race measures what each way does."""

import pytest
from support.programs import Program
from support.solutions import scripts, write

from course.launch import launch

LAB = "07_strategies"
WAYS = sorted(name for name in scripts(LAB) if name.startswith("way_"))


def test_the_strategies_train_as_one_device_does(tmp_path):
    """Single precision would show a difference as soon as a device rounds in its own manner."""
    write(LAB, tmp_path)
    curves = []
    for strategy in ("one", "mirrored"):
        run = launch(["python", str(tmp_path / "train_any.py"), "--strategy", strategy])
        assert run.ok, run.lines
        curves.append(run.metrics["loss"])
    one, mirrored = curves
    assert len(one) == len(mirrored) == 48
    assert one.iloc[-1] < one.iloc[0] / 2
    assert (one - mirrored).abs().max() < 1e-12


@pytest.mark.parametrize("name", WAYS)
def test_weights_that_are_compared_are_of_full_float32(name):
    """By default a GPU computes convolutions in TF32, which shows in the weights."""
    assert 'torch.backends.cudnn.conv.fp32_precision = "ieee"' in scripts(LAB)[name]


def test_ranks_that_wait_in_the_race_leave_the_gpus_alone():
    """In a barrier of NCCL they would keep GPUs busy on which rank 0 is being timed."""
    race, *_ = Program.of("strategy_race.py", scripts(LAB)).files
    barriers = race.calls("barrier")
    assert barriers and all("gloo" in race.meaning(call) for call in barriers)


def test_the_race_waits_for_every_gpu_that_a_way_uses():
    race, *_ = Program.of("strategy_race.py", scripts(LAB)).files
    (wait,) = race.calls("synchronize")
    assert len(wait.args) == 1
