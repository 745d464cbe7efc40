"""What the course says about torch's pipeline parallelism."""

import inspect
from contextlib import nullcontext
from unittest import mock

import pytest
import torch
from support.says import says
from torch import nn
from torch.distributed import pipelining
from torch.distributed.pipelining._utils import generate_stage_to_rank_mapping

pytestmark = pytest.mark.usefixtures("group_of_one", "one_thread")


def test_the_schedules_of_torch():
    says("11b_pipelines", "`torch.distributed.pipelining`")
    names = {"GPipe", "1F1B", "Interleaved1F1B", "InterleavedZeroBubble"}
    for name in names | {"ZBVZeroBubble", "DualPipeV"}:
        assert issubclass(
            pipelining.schedules.get_schedule_class(name), pipelining.schedules._PipelineSchedule
        )


def test_in_which_order_the_gpipe_of_torch_goes_backward():
    says("11b_pipelines", "GPipe")
    stage = pipelining.PipelineStage(nn.Linear(1, 1), 0, 1, torch.device("cpu"))
    with mock.patch.object(stage, "backward_one_chunk", wraps=stage.backward_one_chunk) as backward:
        pipelining.ScheduleGPipe(stage, 3, loss_fn=nn.functional.mse_loss).step(
            torch.ones(3, 1), target=torch.ones(3, 1)
        )
    assert [call.args[0] for call in backward.call_args_list] == [0, 1, 2]


def test_how_a_v_lies_on_two_ranks():
    says("11b_pipelines", "the very last two")
    for name in ("ScheduleZBVZeroBubble", "ScheduleDualPipeV"):
        assert 'style="v"' in inspect.getsource(getattr(pipelining.schedules, name))
    lies = generate_stage_to_rank_mapping(2, 4, style="v")
    assert lies == {0: 0, 1: 1, 2: 1, 3: 0}


@pytest.mark.parametrize("name", ["ZBVZeroBubble", "DualPipeV"])
def test_since_2_12_a_v_over_gloo_has_no_message_of_a_rank_to_itself(name):
    says("11b_pipelines", "torch 2.12")
    stages = [pipelining.PipelineStage(nn.Linear(1, 1), i, 2, torch.device("cpu")) for i in (0, 1)]
    schedule = pipelining.schedules.get_schedule_class(name)
    works = torch.__version__ >= (2, 12)
    refused = pytest.raises(RuntimeError, match="Pair is not connected")
    with nullcontext() if works else refused:
        schedule(stages, 2, loss_fn=nn.functional.mse_loss).step(
            torch.ones(2, 1), target=torch.ones(2, 1)
        )
    assert all(stage.submod.weight.grad is not None for stage in stages) == works
