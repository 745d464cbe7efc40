"""What lab 12 says about torch's communication hooks, PowerSGD, and averaging of models."""

import inspect

import pytest
import torch
import torch.distributed as dist
from support.says import says
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.futures import Future
from torch.nn.parallel import DistributedDataParallel

from course.explore.models import fewer_messages
from course.given import digits_task

LAB = "12_fewer_messages"
pytestmark = pytest.mark.usefixtures("group_of_one", "one_thread")
GROUPS: list[dist.ProcessGroup] = []  # kept until the process ends


def test_a_hook_gets_the_state_and_a_bucket_and_must_say_that_it_returns_a_future():
    seen = []

    def hook(state: object, bucket: dist.GradBucket) -> Future[torch.Tensor]:
        done = Future()
        done.set_result(7 * bucket.buffer())
        seen.append((state, sorted(len(p.flatten()) for p in bucket.parameters())))
        return done

    replica = DistributedDataParallel(nn.Linear(2, 1))
    replica.register_comm_hook("the state", hook)
    replica(torch.ones(1, 2)).sum().backward()
    assert seen == [("the state", [1, 2])]
    assert replica.module.weight.grad.tolist() == [[7, 7]]
    says(LAB, "annotation")
    hook.__annotations__["return"] = torch.Tensor
    with pytest.raises(ValueError, match="return annotation should be"):
        DistributedDataParallel(nn.Linear(2, 1)).register_comm_hook("the state", hook)


def test_a_later_step_has_its_parameters_in_another_order():
    orders = []

    def note(state: object, bucket: dist.GradBucket) -> Future[torch.Tensor]:
        orders.append([parameter.numel() for parameter in bucket.parameters()])
        return default_hooks.allreduce_hook(None, bucket)

    class Rows(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rows = nn.ParameterList(nn.Parameter(torch.ones(n)) for n in (1, 2, 3))

        def forward(self, factor: torch.Tensor) -> torch.Tensor:
            return sum((factor * row).sum() for row in self.rows)

    replica = DistributedDataParallel(Rows())
    replica.register_comm_hook(None, note)
    for _ in range(3):
        replica(torch.ones(1)).backward()
    assert orders[0] != orders[1] == orders[2]


def test_the_hook_of_torch_does_what_ddp_does_without_one():
    gradients = []
    for hooked in (False, True):
        replica = DistributedDataParallel(digits_task.model())
        if hooked:
            replica.register_comm_hook(None, default_hooks.allreduce_hook)
        batch = next(iter(digits_task.batches(1)))
        digits_task.loss_of(replica, batch).backward()
        gradients.append([parameter.grad for parameter in replica.parameters()])
    assert all(torch.equal(*pair) for pair in zip(*gradients, strict=True))


def test_power_sgd_begins_late_and_has_a_memory():
    says(LAB, "`start_powerSGD_iter`", "step 1000", "error feedback")
    defaults = inspect.signature(power.PowerSGDState).parameters
    assert defaults["start_powerSGD_iter"].default == 1000
    assert defaults["use_error_feedback"].default is True


def test_power_sgd_sends_two_narrow_matrices_once_it_has_begun(monkeypatch):
    says(LAB, "two columns")
    GROUPS.append(dist.group.WORLD)  # a thread of the group may drop it last, and then torch aborts
    sent, real = [], dist.all_reduce
    monkeypatch.setattr(dist, "all_reduce", lambda t, **k: sent.append(t.numel()) or real(t, **k))
    state = power.PowerSGDState(None, matrix_approximation_rank=2, start_powerSGD_iter=2)
    replica = DistributedDataParallel(nn.Linear(30, 20, bias=False))
    replica.register_comm_hook(state, power.powerSGD_hook)
    by_step = []
    for _ in range(4):
        sent.clear()
        replica(torch.randn(5, 30)).square().sum().backward()
        by_step.append([numbers for numbers in sent if numbers])
    assert by_step == [[600], [600], [2 * 20, 2 * 30], [2 * 20, 2 * 30]]


def test_sgd_with_nesterov_is_the_formula_of_the_lab():
    says(LAB, "g + m\\,v")
    weight = torch.zeros(1, requires_grad=True)
    update, w, v = torch.optim.SGD([weight], lr=0.5, momentum=0.9, nesterov=True), 0.0, 0.0
    for g in (1.0, 2.0, -4.0):
        weight.grad = torch.tensor([g])
        update.step()
        v = 0.9 * v + g
        w -= 0.5 * (g + 0.9 * v)
        assert weight.item() == pytest.approx(w)


def test_torch_has_local_sgd():
    says(LAB, "`torch.distributed.algorithms.model_averaging`")
    model = digits_task.model()
    averager = PeriodicModelAverager(period=4, warmup_steps=0)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)  # it leaves out what has no gradient
    averager.average_parameters(list(model.parameters()))
    assert all(map(torch.equal, before, model.parameters()))  # the mean of one rank


def test_the_task_has_the_size_that_it_says():
    says(LAB, "three layers")
    assert sum(parameter.numel() for parameter in digits_task.model().parameters()) == 85_002
    assert "85,002 weights, or 340 kB" in " ".join(digits_task.model.__doc__.split())


def test_with_100_ranks_the_largest_1_percent_sends_as_much_as_ddp():
    says(LAB, "100 ranks")
    whole, few = (
        fewer_messages.message_s(100, mbit=100, parameters=1e9, compression=compression)
        for compression in (fewer_messages.WHOLE, fewer_messages.FEW)
    )
    assert few == pytest.approx(whole, rel=1e-3)
