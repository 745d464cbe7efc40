"""What does `right` cost?

    PYTHONPATH=tests python tests/tools/measure_right_cost.py [--blocks 8] [--profile]

Two ranks train 100 parameters of up to 65,536 numbers with DDP. Blocks of watched steps alternate
with blocks of unwatched ones. Only the main thread's processor time counts: all of the watching
happens there, and it hardly depends on what else the machine does. Batches are small, so that the
difference is not lost in the step. `right` looks at the gradients in the first three steps and in
every fifth, and at the weights in all of them.
"""

import argparse
import os
from statistics import mean, median, quantiles

from support.warm_script import on_two_ranks

from course.launch import launch

SCRIPT = """
import cProfile, pstats, sys, time, torch, torch.distributed as dist
from pathlib import Path
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from course.diagnostics.numerics.observer import observe

blocks, steps, profiled = map(int, sys.argv[1:4])
torch.set_num_threads(1)
dist.init_process_group("gloo")
layers = [layer for _ in range(50) for layer in (torch.nn.Linear(256, 256), torch.nn.Tanh())]
model = DistributedDataParallel(torch.nn.Sequential(*layers))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

def train(count):
    took = []
    for (inputs,) in DataLoader(TensorDataset(torch.randn(4 * count, 256)), 4):
        start = time.thread_time()
        model(inputs).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        took.append(1e3 * (time.thread_time() - start))
    return took

train(5)
for _ in range(blocks):
    end = observe(Path(__file__).parent, steps + 1, __file__)
    with cProfile.Profile(time.thread_time) as profile:
        if not profiled:
            profile.disable()
        watched = train(steps)
    end()
    print(*train(2 + steps)[2:], *watched)
if profiled and dist.get_rank() == 0:
    pstats.Stats(profile).sort_stats("cumulative").print_stats("own|built-in|method", 60)
dist.destroy_process_group()
"""
STEPS = 20
FIRST, WHOLE = (1, 2, 3), (5, 10, 15, 20)


def main() -> None:
    """Print how much more a step costs while it is watched, by kind of step."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--profile", action="store_true", help="also print where the time goes")
    args = parser.parse_args()
    with on_two_ranks(SCRIPT) as command:
        numbers = map(str, (args.blocks, STEPS, int(args.profile)))
        run = launch([*command, *numbers], limit=600.0)
        out = [run.text(rank, "stdout").splitlines() for rank in range(2)]
    rows = [list(map(float, line.split())) for lines in out for line in lines[: args.blocks]]
    if len(rows) != 2 * args.blocks:
        raise SystemExit(run.text(run.first_failed))
    plain = median(ms for row in rows for ms in row[:STEPS])
    print(f"a step of {plain:.1f} ms of processor time takes more while it is watched:")
    some = [step for step in range(1, STEPS + 1) if step not in FIRST + WHOLE]
    kinds = {"the first": FIRST[:1], "2 and 3": FIRST[1:], "each fifth": WHOLE, "others": some}
    for name, steps in kinds.items():
        more = [row[STEPS + step - 1] - median(row[:STEPS]) for row in rows for step in steps]
        low, middle, high = quantiles(more, n=4)
        print(f"{name:11}{middle:+6.2f} ms ({low:+.2f} to {high:+.2f})")
    more = [mean(row[STEPS:]) - mean(row[:STEPS]) for row in rows]
    print(f"mean of all{median(more):+6.2f} ms; load {os.getloadavg()[0]:.0f}")
    if args.profile:
        print("\n".join(out[0][args.blocks :]))


if __name__ == "__main__":
    main()
