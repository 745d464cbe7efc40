"""Watching a rank's numerics does not change the script, even if the watcher fails."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist

from course.diagnostics.numerics import reader
from course.diagnostics.numerics.collectives import Collectives
from course.diagnostics.numerics.context import RankContext
from course.diagnostics.numerics.fence import Fence
from course.diagnostics.numerics.guarded_hooks import GuardedHooks
from course.diagnostics.numerics.training import TrainingReport
from course.diagnostics.watch.hook_set import Args, Function, Kwargs
from course.diagnostics.watch.lines import Lines

# Trains, and prints each loss and the sum of a weight to the last bit.
TRAINS = """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.1), nn.Linear(16, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
model[2].weight.register_hook(lambda gradient: gradient.clamp(-0.01, 0.01))
for step in range(12):
    if step == 3:
        model[0].bias.data.copy_(torch.ones(16))
    loss = model(torch.randn(4, 8)).square().mean()
    torch.autograd.backward([model[0].bias.sum() * 0, model[0].bias.sum() * 0])
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item().hex(), model[0].weight.sum().item().hex())
"""
# Copies its model in each step, and saves the copy and the model itself to a file.
KEEPS = """
import copy, io
torch.manual_seed(0)
model = nn.Linear(8, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(6):
    model(torch.randn(4, 8)).square().mean().backward()
    optimizer.step()
    file = io.BytesIO()
    torch.save(copy.deepcopy(model), file)
    torch.save(model, file := io.BytesIO())
    file.seek(0)
    read = torch.load(file, weights_only=False)
    print(b"course" in file.getvalue(), read(torch.ones(1, 8)).sum().item().hex())
"""
WATCHES = """
import os, sys
from pathlib import Path
os.environ |= {"RANK": "0", "WORLD_SIZE": "1"}
from course.diagnostics.numerics import observer
observer.observe(Path(sys.argv[1]), 5, sys.argv[0])
"""
BREAKS = """
from course.diagnostics.numerics import loss_graph, module_state, optimizers, recorder
from course.diagnostics.numerics import tensor_samples
def fails(*args, **kwargs):
    raise RuntimeError("a look that fails")
tensor_samples.concatenate = tensor_samples.values = fails
loss_graph.reductions = module_state.modes = fails
"""
# Every method of these classes fails, and every hook with it.
BREAKS_HOOKS = """
import inspect
from course.diagnostics.numerics import (
    clipping, collectives, files, loaders, model_calls, observer, optimizers, recorder, registry,
    schedules, user_hooks, weight_changes,
)
def fails(*args, **kwargs):
    raise RuntimeError("a hook that fails")
for owner in (
    clipping.Clipping, collectives.Collectives, files.Files, loaders.Loaders,
    model_calls.ModelCalls, optimizers.OptimizerProbe, recorder.NumericsRecorder,
    registry.OptimizerRegistry, schedules.Schedules, user_hooks.UserHooks,
    weight_changes.WeightChanges,
):
    for name, method in list(vars(owner).items()):
        hooks = name in ("__init__", "install", "_hook", "_start_search")
        if inspect.isfunction(method) and not hooks:
            setattr(owner, name, fails)
"""
# Computes a gradient and a Jacobian by torch.func, in each step of an ordinary loop.
TRANSFORMS = """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(6):
    weights = dict(model.named_parameters())
    def loss(weights, rows):
        return torch.func.functional_call(model, weights, (rows,)).square().mean()
    model(torch.randn(8, 4)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    rows = torch.randn(8, 4)
    print(torch.func.grad(loss)(weights, rows)["0.bias"].sum().item().hex())
    print(torch.func.jacrev(model)(rows).sum().item().hex())
    per_row = torch.func.vmap(torch.func.grad(loss), (None, 0), randomness="different")
    print(per_row(weights, rows)["0.bias"].sum().item().hex())
"""
# An optimizer that makes another one for its steps, as ZeroRedundancyOptimizer does.
NESTS = """
import torch
class Outer(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, {})
        self.inner = torch.optim.SGD(self.param_groups[0]["params"][:1], lr=0.1)
    def step(self):
        self.inner.step()
model = torch.nn.Linear(4, 2)
optimizer = Outer(model.parameters())
for _ in range(6):
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
# Computes the statistics of batch norm over a loader, then evaluates on it.
UPDATES = """
import torch
from torch import nn
model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
loader = torch.utils.data.DataLoader(torch.randn(8, 4), 4)
torch.optim.swa_utils.update_bn(loader, model)
model.eval()
with torch.no_grad():
    for rows in loader:
        model(rows)
"""


def printed(tmp_path: Path, *parts: str) -> str:
    """What a script that consists of these parts prints."""
    script = tmp_path / "train.py"
    script.write_text("".join(parts))
    command = [sys.executable, str(script), str(tmp_path)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.slow
def test_the_numbers_are_the_same_bit_for_bit_with_and_without_a_broken_watcher(
    tmp_path: Path,
) -> None:
    alone = printed(tmp_path, TRAINS)
    assert len(alone.splitlines()) == 12
    assert printed(tmp_path, WATCHES, TRAINS) == alone
    seen = reader.read(tmp_path / "rank0.json")
    assert not seen.unseen and len(seen.optimizers[0].watched) == 5
    assert seen.optimizers[0].steps == 12 and seen.is_over
    assert printed(tmp_path, WATCHES, BREAKS, TRAINS) == alone
    seen = reader.read(tmp_path / "rank0.json")
    assert "RuntimeError: a look that fails" in seen.unseen.values()
    assert printed(tmp_path, BREAKS_HOOKS, WATCHES, TRAINS) == alone
    seen = reader.read(tmp_path / "rank0.json")
    assert seen.unseen["hooks"] == "RuntimeError: a hook that fails" and not seen.optimizers


@pytest.mark.slow
def test_a_model_inside_a_transform_of_torch_func_is_not_watched(tmp_path: Path) -> None:
    alone = printed(tmp_path, TRANSFORMS)
    assert printed(tmp_path, WATCHES, TRANSFORMS) == alone
    seen = reader.read(tmp_path / "rank0.json")
    assert not seen.unseen
    assert [len(step.passes[0].samples) for step in seen.optimizers[0].watched] == [8] * 5


@pytest.mark.slow
def test_gradients_belong_to_the_optimizer_that_the_script_steps(tmp_path: Path) -> None:
    printed(tmp_path, WATCHES, NESTS)
    (optimizer,) = reader.read(tmp_path / "rank0.json").optimizers
    assert optimizer.name == "Outer"
    gradients = optimizer.watched[0].gradients
    assert (gradients.samples("own") == gradients.samples("used")).all()


@pytest.mark.slow
def test_a_pass_that_updates_batch_norm_is_no_evaluation(tmp_path: Path) -> None:
    printed(tmp_path, WATCHES, UPDATES)
    passes = reader.read(tmp_path / "rank0.json").loader_passes
    assert [loader_pass.evaluation.calls for loader_pass in passes] == [0, 2]


def test_what_a_communication_hook_sends_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dist, "all_reduce", lambda _: None)
    report = TrainingReport(0, 2, 2)
    context = RankContext(report, Lines(__file__), Fence(report.unseen))
    collectives = Collectives(context, lambda: "backward", lambda: None)
    hooks = GuardedHooks(context.fence)
    collectives.install(hooks, hooks)
    for averages, so_far in ((False, 1), (True, 1), (False, 2)):
        collectives.ddp_averages = averages
        dist.all_reduce(torch.ones(1))
        assert collectives.so_far == so_far
    hooks.remove()


def test_only_the_scripts_own_errors_leave_a_hook() -> None:
    def halve(number: int) -> float:
        if number < 0:
            raise ValueError("of the script")
        return number / 2

    def fails_before(name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        raise RuntimeError("before the call")

    def fails_after(name: str, real: Function, args: Args, kwargs: Kwargs) -> object:
        try:
            return real(*args, **kwargs)
        finally:
            raise RuntimeError("after the call")

    for ours in (fails_before, fails_after):
        unseen: dict[str, str] = {}
        home, hooks = SimpleNamespace(halve=halve), GuardedHooks(Fence(unseen))
        hooks.around(ours, ("halve",), home)
        assert home.halve(4) == 2
        with pytest.raises(ValueError, match="of the script"):
            home.halve(-1)
        assert unseen == {"hooks": f"RuntimeError: {ours.__name__[6:]} the call"}


@pytest.mark.slow
@pytest.mark.parametrize("package", ["numerics", "profiling"])
def test_a_model_can_be_copied_and_saved_whole_without_what_watches_it(
    tmp_path: Path, package: str
) -> None:
    watches = WATCHES.replace("diagnostics.numerics", f"diagnostics.{package}")
    imports = "import torch\nfrom torch import nn\n"
    alone = printed(tmp_path, imports, KEEPS)
    assert alone.count("False ") == 6
    assert printed(tmp_path, watches, imports, KEEPS) == alone
