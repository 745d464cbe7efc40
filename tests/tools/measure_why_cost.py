"""What does the watching of `why` cost?

    PYTHONPATH=tests python tests/tools/measure_why_cost.py [--blocks 8] [--runs 3]

Two ranks train with DDP. Blocks of watched steps alternate with blocks of unwatched ones, so that
both see the same model, the same memory and the same load of the machine. A step is measured by
the clock and in this process's processor time, which hardly depends on what else the machine does.
"""

import argparse
import os
from statistics import median, quantiles

from support.warm_script import on_two_ranks

from course.diagnostics.profiling.recorder import WARM_UP
from course.launch import launch

SCRIPT = """
import itertools, sys, time, torch, torch.distributed as dist
from pathlib import Path
from statistics import median
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from course.diagnostics.profiling.observer import observe

wide, rows, steps, warm_up, blocks = map(int, sys.argv[1:6])
dist.init_process_group("gloo")
layers = [torch.nn.Linear(wide, wide), torch.nn.ReLU()] * 3
model = DistributedDataParallel(torch.nn.Sequential(*layers))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

def train(count):
    took = []
    for (inputs,) in DataLoader(TensorDataset(torch.randn(rows * count, wide)), rows):
        start = time.perf_counter(), time.process_time()
        model(inputs).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        took.append((time.perf_counter() - start[0], time.process_time() - start[1]))
    return took

train(20)
for _ in range(blocks):
    observe(Path(__file__).parent, steps, __file__)
    watched = train(warm_up + steps + 5)[warm_up + 1 : warm_up + steps]
    plain = train(warm_up + steps)[warm_up + 1 :]
    print(*(median(column) for took in (watched, plain) for column in zip(*took)))
dist.destroy_process_group()
"""
STEPS = 20
SIZES = {"small": (64, 32), "middle": (256, 256), "large": (512, 512)}


def main() -> None:
    """Run each size several times, and print the medians of all blocks."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    with on_two_ranks(SCRIPT) as command:
        for name, sizes in SIZES.items():
            numbers = map(str, (*sizes, STEPS, WARM_UP, args.blocks))
            words = [*command, *numbers]
            runs = [launch(words, limit=600.0) for _ in range(args.runs)]
            lines = [line for run in runs for line in run.text(0, "stdout").splitlines()]
            rows = [[float(number) for number in line.split()] for line in lines]
            plain = median(work for _, _, _, work in rows)
            low, more, high = quantiles((on - off for _, on, _, off in rows), n=4)
            wall = median(on / off for on, _, off, _ in rows)
            print(
                f"{name:7} a step of {1e3 * plain:6.2f} ms of processor time takes "
                f"{1e3 * more:+.2f} ms more while it is watched ({1e3 * low:+.2f} to "
                f"{1e3 * high:+.2f}; {more / plain:+.1%}); by the clock {wall - 1:+.1%}; "
                f"load {os.getloadavg()[0]:.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
