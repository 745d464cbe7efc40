"""The comparisons of labs 07, 07b and 07c are valid on any device, and the race times its work."""

import pytest
from support.programs import Program
from support.solutions import scripts, write

from course.launch import launch

LAB, SIX, ASYNC = "07_strategies", "07b_six_ways", "07c_asynchronous"
WAYS = sorted(name for name in scripts(SIX) if name.startswith("way_"))
DATA = "data = digits.load()[0]\n"  # in worker_dies.py, just before its training begins


@pytest.mark.slow
def test_the_strategies_train_as_one_device_does(tmp_path):
    """In single precision, results would differ as soon as a device rounds differently."""
    write(LAB, tmp_path)
    curves = []
    for strategy in ("one", "mirrored", "central"):
        run = launch(["python", str(tmp_path / "train_any.py"), "--strategy", strategy])
        assert run.ok, run.lines
        curves.append(run.metrics["loss"])
    one, *others = curves
    assert len(one) == 48
    assert one.iloc[-1] < one.iloc[0] / 2
    for other in others:
        assert len(other) == 48 and (one - other).abs().max() < 1e-12


@pytest.mark.parametrize("name", WAYS)
def test_weights_that_are_compared_are_of_full_float32(name):
    """By default a GPU computes convolutions in TF32, which shows in the weights."""
    used = "".join(file.text for file in Program.of(name, scripts(SIX)).files)
    assert 'torch.backends.cudnn.conv.fp32_precision = "ieee"' in used


@pytest.mark.slow
def test_a_server_takes_no_slow_worker_for_a_dead_one(tmp_path):
    """On a busy machine workers may be silent for seconds; only a closed connection is a death."""
    write(ASYNC, tmp_path)
    script = tmp_path / "worker_dies.py"
    assert DATA in script.read_text()
    slow = f"{DATA}import time\ntime.sleep(4 if rank else 0)\n"
    script.write_text(script.read_text().replace(DATA, slow))
    command = ["torchrun", "--standalone", "--nproc-per-node", "4", str(script)]
    run = launch([*command, "--strategy", "server"])
    assert run.ok, run.lines
    rows = run.metrics.set_index("rank")
    assert rows["updates"][0] == 4 + 12 + 12  # rank 2 dies in its fifth step
    assert rows["taken"][1] == rows["taken"][3] == 12
    assert set(rows["ended"]) == {"to the end"}


def test_ranks_that_wait_in_the_race_leave_the_gpus_alone():
    """In a barrier of NCCL they would keep the GPUs busy that rank 0 is timing."""
    race, *_ = Program.of("strategy_race.py", scripts(LAB)).files
    barriers = race.calls("barrier")
    assert barriers and all("gloo" in race.meaning(call) for call in barriers)


def test_the_race_waits_for_every_gpu_that_a_way_uses():
    race, *_ = Program.of("strategy_race.py", scripts(LAB)).files
    (wait,) = race.calls("synchronize")
    assert len(wait.args) == 1
