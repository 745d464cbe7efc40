"""What the checks of ddp do on each rank: run its functions and bring back what they did."""

import importlib
import os
from types import SimpleNamespace

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import Dataset

from course.checks.tools.reference import weights
from course.pretended import pretend_gpus


class Drawn(Dataset):
    """A data set that keeps the indices drawn from it, in order."""

    def __init__(self, data: Dataset) -> None:
        self.data, self.drawn = data, []

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: object) -> object:
        self.drawn += torch.arange(len(self.data))[index].reshape(-1).tolist()
        return self.data[index]


class Oracle(torch.nn.Module):
    """A model that labels correctly the numbers that are divisible by three.

    Like a BERT it takes labels, or none. It notes whether it was ever asked in training mode.
    """

    def __init__(self) -> None:
        super().__init__()
        self.asked_in_training = False

    def forward(
        self, input_ids: torch.Tensor, labels: torch.Tensor | None = None
    ) -> SimpleNamespace:
        self.asked_in_training |= self.training
        remainder = input_ids[:, 0] % 3  # which is the label, see Numbered
        answer = (remainder + (remainder != 0)) % 3
        return SimpleNamespace(logits=torch.nn.functional.one_hot(answer, 3).float())


class Wrapped(torch.nn.Module):
    """Stands for DDP around the oracle; it counts the forwards through DDP."""

    def __init__(self) -> None:
        super().__init__()
        self.module, self.forwards = Oracle(), 0

    def forward(self, **batch: torch.Tensor) -> SimpleNamespace:
        self.forwards += 1
        return self.module(**batch)


class Numbered(Dataset):
    """Pairs that consist of their own number; one item, or a whole batch, as of the real ones."""

    def __init__(self, size: int) -> None:
        numbers = torch.arange(size)
        self.tensors = {"input_ids": numbers.unsqueeze(1), "labels": numbers % 3}

    def __len__(self) -> int:
        return len(self.tensors["labels"])

    def __getitem__(self, index: object) -> dict[str, torch.Tensor]:
        return {name: tensor[index] for name, tensor in self.tensors.items()}


def drawn(size: int, shuffle: bool) -> list[int]:
    """What `loader` gives this rank out of `size` samples, in order."""
    script, data = importlib.import_module("ddp"), Drawn(Numbered(size))
    script.BATCH = 4
    for _ in script.loader(data, shuffle=shuffle):
        pass
    return data.drawn


def main(epochs: int, size: int, given: tuple[str, ...] = ()) -> dict:
    """Run `main` on a small part of the data: what was drawn, and the weights in the end.

    The functions that are `given` do here what they should, so that the rest can be judged alone.
    """
    from course.data import nli

    script = importlib.import_module("ddp")
    script.BATCH, script.log = 4, lambda **row: None
    right = {
        "setup": lambda: torch.device("cpu"),  # the group is there already
        "wrap": lambda model, device: DistributedDataParallel(model),
        "accuracy": lambda model, dataset, device: 0.0,
    }
    for name in given:
        setattr(script, name, right[name])
    dist.destroy_process_group = lambda: None  # the script that runs the check ends the group
    script.torch.optim.AdamW = lambda parameters, *_, **__: torch.optim.SGD(parameters, lr=0.1)
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


def setup_with_a_gpu_for_one_of_two() -> str:
    """The device of local rank 0 of two, if there is one pretended GPU; it joins a group alone."""
    os.environ.update(LOCAL_RANK="0", LOCAL_WORLD_SIZE="2")
    pretend_gpus(1)
    return str(torch.zeros(1, device=importlib.import_module("ddp").setup()).device)


def wrapped() -> tuple[object, object]:
    """The `device_ids` that DDP is given for the second GPU and for the CPU."""
    os.environ["LOCAL_RANK"] = "1"
    pretend_gpus(2)
    torch.cuda.set_device(1)
    script, calls = importlib.import_module("ddp"), []

    def note(
        ddp: torch.nn.Module, module: torch.nn.Module, device_ids: list | None = None, *_, **__
    ) -> None:
        torch.nn.Module.__init__(ddp)
        calls.append(device_ids)

    DistributedDataParallel.__init__ = note
    for device in (torch.device("cuda", 1), torch.device("cpu")):
        script.wrap(torch.nn.Linear(1, 1), device)
    gpus, cpu = calls
    numbers = [gpu if isinstance(gpu, int) else torch.device(gpu).index for gpu in gpus or ()]
    return numbers, cpu


def accuracy(size: int) -> dict:
    """What `accuracy` returns, which pairs it looked at, and how it treated the model."""
    data, model = Drawn(Numbered(size)), Wrapped()
    share = importlib.import_module("ddp").accuracy(model, data, torch.device("cpu"))
    return {
        "share": float(share),
        "drawn": data.drawn,
        "asked in training": model.module.asked_in_training,
        "trains on": all(part.training for part in model.modules()),
        "forwards": model.forwards,  # that went through DDP
    }
