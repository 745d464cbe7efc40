"""What the checks of ddp do on each rank: run its functions and bring back what they did."""

import importlib
import os
from types import SimpleNamespace

import torch
import torch.distributed as dist
from torch.utils.data import Dataset

from course.checks.engine.pretend_cuda.start import pretend_gpus
from course.checks.engine.reference import weights


class Drawn(Dataset):
    """A data set that keeps the indices drawn from it, in order."""

    def __init__(self, data: Dataset) -> None:
        self.data, self.drawn = data, []

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> object:
        self.drawn.append(int(index))
        return self.data[int(index)]


class Oracle(torch.nn.Module):
    """A model that labels correctly the pairs whose first token is divisible by three."""

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor) -> SimpleNamespace:
        wrong = (input_ids[:, 0] % 3 != 0).long()
        return SimpleNamespace(logits=torch.nn.functional.one_hot((labels + wrong) % 3, 3).float())

    @property
    def module(self) -> "Oracle":
        """As DDP's: code that evaluates the bare model asks for it."""
        return self


def numbered(size: int) -> Dataset:
    """Pairs that consist of their own number."""
    return [{"input_ids": torch.tensor([i]), "labels": torch.tensor(i % 3)} for i in range(size)]


def main(epochs: int, size: int) -> dict:
    """Run `main` on a small part of the data: what was drawn, and the weights in the end."""
    from course.data import nli

    script = importlib.import_module("ddp")
    script.BATCH, script.log = 4, lambda **row: None
    dist.destroy_process_group = lambda: None  # the script that runs the check ends the group
    script.torch.optim.AdamW = lambda parameters, rate: torch.optim.SGD(parameters, lr=0.1)
    train = Drawn(nli.tokenized("train", size=size))
    model = script.main(train, nli.tokenized("validation", size=6), epochs=epochs)
    return {"drawn": train.drawn, "weights": weights(model)}


def one_process(drawn_by_rank: list[list[int]], size: int) -> list[torch.Tensor]:
    """The weights after the same steps of one process on the batches of all ranks together."""
    from course.data import nli
    from course.models import bert

    torch.manual_seed(0)
    model, data = bert(), nli.tokenized("train", size=size)
    update = torch.optim.SGD(model.parameters(), lr=0.1)
    for start in range(0, len(drawn_by_rank[0]), 4):
        whole = [index for drawn in drawn_by_rank for index in drawn[start : start + 4]]
        update.zero_grad()
        model(**data[whole]).loss.backward()
        update.step()
    return weights(model)


def setup() -> tuple[str, int]:
    """The device on this rank, and how many ranks have joined."""
    device = importlib.import_module("ddp").setup()
    return str(device), dist.get_world_size()


def setup_on_gpus() -> dict:
    """What `setup` makes of two pretended nodes with two GPUs each; for four ranks."""
    rank = int(os.environ["RANK"])
    os.environ.update(LOCAL_RANK=str(rank % 2), LOCAL_WORLD_SIZE="2", GROUP_RANK=str(rank // 2))
    pretend_gpus(2)
    device = importlib.import_module("ddp").setup()
    return {
        "local rank": rank % 2,
        "device": str(torch.zeros(1, device=device).device),
        "current": f"cuda:{torch.cuda.current_device()}",
        "backends": dist.get_backend_config(),
        "world size": dist.get_world_size(),
    }


def wrapped() -> tuple[object, object]:
    """The `device_ids` that DDP is given for the second GPU and for the CPU."""
    os.environ["LOCAL_RANK"] = "1"
    pretend_gpus(2)
    torch.cuda.set_device(1)
    script, given = importlib.import_module("ddp"), []
    script.DistributedDataParallel = lambda model, device_ids=None, **_: given.append(device_ids)
    for device in (torch.device("cuda", 1), torch.device("cpu")):
        script.wrap(torch.nn.Linear(1, 1), device)
    gpus, cpu = given
    return gpus and [torch.device(gpu).index for gpu in gpus], cpu


def accuracy(size: int) -> tuple[float, list[int], bool]:
    """What `accuracy` returns, which pairs it looked at, and whether the model trains on."""
    data, model = Drawn(numbered(size)), Oracle()
    share = importlib.import_module("ddp").accuracy(model, data, torch.device("cpu"))
    return float(share), data.drawn, model.training
