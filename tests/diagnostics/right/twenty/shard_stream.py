"""Classify documents streamed out of shard files, with a shuffle buffer and two workers."""

import json
import logging
import random
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

log = logging.getLogger("train")


def write_shards(folder, shards=8, lines=120):
    rng = random.Random(0)
    for s in range(shards):
        with open(folder / f"docs-{s:04d}.jsonl", "w") as f:
            for i in range(lines):
                label = rng.randrange(4)
                words = [rng.randrange(50) + 50 * label * (rng.random() < 0.6) for _ in range(30)]
                f.write(json.dumps({"id": s * lines + i, "words": words, "label": label}) + "\n")


class ShardedDocs(IterableDataset):
    def __init__(self, folder, buffer=32, seed=0):
        self.files = sorted(Path(folder).glob("docs-*.jsonl"))
        self.buffer = buffer
        self.seed = seed

    def _lines(self):
        info = get_worker_info()
        files = self.files
        if info is not None:  # share the files among the workers
            files = files[info.id :: info.num_workers]
        for path in files:
            with open(path) as f:
                for line in f:
                    yield json.loads(line)

    def __iter__(self):
        rng = random.Random(self.seed)
        held = []
        for doc in self._lines():
            held.append(doc)
            if len(held) >= self.buffer:
                yield held.pop(rng.randrange(len(held)))
        rng.shuffle(held)
        yield from held


def collate(docs):
    words = torch.tensor([d["words"] for d in docs])
    return words, torch.tensor([d["label"] for d in docs])


def main():
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    box = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(box)
    folder = Path(box[0])
    if rank == 0:
        write_shards(folder)
    dist.barrier()

    torch.manual_seed(0)
    net = nn.Sequential(nn.EmbeddingBag(200, 32), nn.ReLU(), nn.Linear(32, 4))
    net = nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    loader = DataLoader(
        ShardedDocs(folder, seed=rank), batch_size=16, num_workers=2, collate_fn=collate
    )
    step = 0
    while step < 50:
        for words, label in loader:
            loss = nn.functional.cross_entropy(net(words), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 10 == 0 and rank == 0:
                log.info("step %d loss %.4f", step, loss.item())
            if step == 50:
                break
    dist.barrier()
    if rank == 0:
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
