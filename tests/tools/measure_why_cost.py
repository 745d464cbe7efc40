"""What does watching cost? ``python tests/tools/measure_why_cost.py [--runs 5]``.

Two ranks train with DDP. Each prints, for the steps that are watched and for those after, what a
step takes by the clock and of this process's processor time: the second hardly depends on what
else the machine does. Steps before the watching are the warm-up, in which the hooks work, too.
"""

import argparse
import tempfile
from pathlib import Path
from statistics import median

from course.checks.runner.on_ranks import await_warm_ranks
from course.launch import warm_up
from course.why import watch
from course.why.recorder import WARM_UP

SCRIPT = """
import sys, time, torch, torch.distributed as dist
from statistics import median
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

dist.init_process_group("gloo")
wide, rows, watched, first = map(int, sys.argv[1:])
layers = [torch.nn.Linear(wide, wide), torch.nn.ReLU()] * 3
model = DistributedDataParallel(torch.nn.Sequential(*layers))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loader = DataLoader(TensorDataset(torch.randn(rows * (first + 2 * watched + 4), wide)), rows)
walls, work = [time.perf_counter()], [time.process_time()]
for (inputs,) in loader:
    model(inputs).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    walls.append(time.perf_counter())
    work.append(time.process_time())
for clock in (walls, work):
    steps = [late - early for early, late in zip(clock, clock[1:])]
    print(median(steps[first : first + watched]), median(steps[first + watched + 3 :]))
dist.destroy_process_group()
"""
STEPS = 40
SIZES = {"small": (64, 32), "middle": (256, 256), "large": (512, 512)}


def main() -> None:
    """Run each size some times, and print the median of the ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    warm_up()
    await_warm_ranks()
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "steps.py")
        script.write_text(SCRIPT)
        for name, sizes in SIZES.items():
            found = [_ratios(script, sizes) for _ in range(runs)]
            wall, work, more = (median(column) for column in zip(*found, strict=True))
            print(
                f"{name:7} a step of {1e3 * work:6.2f} ms of processor time takes "
                f"{1e3 * more:+.2f} ms ({more / work:+.1%}) while it is watched; "
                f"by the clock {wall - 1:+.1%}",
                flush=True,
            )


def _ratios(script: Path, sizes: tuple[int, int]) -> tuple[float, float, float]:
    """A watched step by an unwatched one; processor seconds of one, and how many more it takes."""
    words = ["torchrun", "--standalone", "--nproc-per-node", "2", str(script)]
    run, _ = watch([*words, *map(str, sizes), str(STEPS), str(WARM_UP)], STEPS)
    lines = [[float(each) for each in line.split()] for line in run.text(0, "stdout").splitlines()]
    (watched, after), (work, work_after) = lines
    return watched / after, work_after, work - work_after


if __name__ == "__main__":
    main()
