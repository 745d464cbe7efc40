"""`why` on pretended GPUs: it starts there, and blames nothing on what it cannot see.

What a profiler records on a real GPU is in tests/diagnostics/why/test_on_gpus.py. Here it is made
up, so that all that leads to the verdict is tried on ranks.
"""

from collections import Counter
from pathlib import Path

import pytest
from support import on_pretended_gpus as runner
from support.watching import watch_ranks

from course.diagnostics import WhyAnswer
from course.diagnostics.profiling.timeline import NO_PROFILER, TAKEN, TOO_SHORT

pytestmark = [pytest.mark.slow, pytest.mark.rest, pytest.mark.usefixtures("warm_ranks")]

SCRIPT = """
import os, sys, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
dist.init_process_group("nccl", device_id=device)
model = DistributedDataParallel(torch.nn.Linear(64, 64).to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = TensorDataset(torch.randn(8 * 2 * STEPS, 64))
for (rows,) in DataLoader(data, 8, sampler=DistributedSampler(data)):
    loss = model(rows.to(device, non_blocking=True)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(loss.item() > 0)
dist.destroy_process_group()
"""
# A profiler that saw copies for three quarters of the time, and computing for the rest.
PROFILER = """
import json, time, torch.profiler as profiler

class Profile:
    def __init__(self, activities):
        assert activities == [profiler.ProfilerActivity.CUDA]

    def prepare_trace(self):
        pass

    def start_trace(self):
        self.began = time.time()

    def stop_trace(self):
        self.ended = time.time()

    def export_chrome_trace(self, path):
        events = []
        for number in range(int((self.ended - self.began) * 1e5)):
            at = 1e6 * self.began + 10 * number
            copies = number % 4 < 3
            name = "Memcpy HtoD (Pageable -> Device)" if copies else "gemm"
            kind = "gpu_memcpy" if copies else "kernel"
            args = {"correlation": number}
            events += [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "tid": 1,
                        "ts": at, "dur": 1, "args": args},
                       {"ph": "X", "cat": kind, "name": name, "tid": 7, "ts": at, "dur": 10,
                        "args": args}]
        with open(path, "w") as file:
            json.dump({"traceEvents": events}, file)

profiler.profile = Profile
profiler.supported_activities = lambda: {profiler.ProfilerActivity.CUDA}
"""
OWN_PROFILER = """
import atexit
import torch.profiler
own = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
own.start()
atexit.register(own.stop)  # or Python ends with a segmentation fault, watched or not
"""


def answer_on(folder: Path, before: str = "", steps: int = 60) -> WhyAnswer:
    """The answer of `why` about the script, with something done before it."""
    script = folder / "train.py"
    script.write_text(before + SCRIPT.replace("STEPS", str(steps)))
    words = ["torchrun", "--standalone", "--nproc-per-node", "2", runner.__file__, "2"]
    run, reports = watch_ranks([*words, str(script)])
    assert run.ok, run.text(run.first_failed)
    assert [run.text(rank, "stdout") for rank in (0, 1)] == ["True"] * 2
    assert all(rank.device == "cuda" and rank.backend == "nccl" for rank in reports)
    return WhyAnswer(reports)


def test_it_starts_and_accuses_nobody_of_what_it_cannot_see(tmp_path: Path) -> None:
    answer = answer_on(tmp_path)
    assert answer.causes == []
    text = " ".join(str(answer).split())
    assert f"The ranks compute on GPUs, and {NO_PROFILER}" in text and "Cure" not in text


def test_what_a_profiler_records_becomes_the_verdict(tmp_path: Path) -> None:
    answer = answer_on(tmp_path, PROFILER)
    first = answer.causes[0]
    assert (first.name, first.rank) == ("copies", None)
    # Not by the answer's share: on a busy machine it also reports that one rank's steps are longer.
    for rank in answer.diagnosis.breakdown.reports:
        lasts = Counter()
        for slice_ in (slice_ for step in rank.on_gpu for slice_ in step.slices):
            lasts[slice_.kind] += slice_.end - slice_.start
        assert lasts["copies"] / lasts.total() == pytest.approx(0.75, abs=0.05)
    text = " ".join(str(answer).split())
    assert "the mean of 5 steps on 2 ranks while torch.profiler recorded the GPUs" in text
    assert "pin_memory=True" in text


@pytest.mark.parametrize(
    ("before", "steps", "blind"), [(PROFILER, 27, TOO_SHORT), (OWN_PROFILER, 60, TAKEN)]
)
def test_why_there_is_no_record(tmp_path: Path, before: str, steps: int, blind: str) -> None:
    answer = answer_on(tmp_path, before, steps)
    assert answer.causes == [] and blind in " ".join(str(answer).split())
