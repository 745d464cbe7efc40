"""The causes by name: what each means, its cure, and the lab that teaches it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Cause:
    """Why a step takes longer than it must.

    `share` of a step would be saved at most without it; `rank` is the one that it lies with, where
    it is one; `where` a line of the user's, or for a straggler the part of its step. `line` is
    that line in every case.
    """

    cause: str
    share: float
    rank: int | None = None
    where: str = ""
    line: str = ""

    @property
    def lab(self) -> str:
        """The number of the lab that teaches the cure."""
        return KNOWN[self.cause].lab

    def plain(self) -> dict:
        """As JSON."""
        return {
            "cause": self.cause,
            "rank": self.rank,
            "share": round(self.share, 4),
            "where": self.where or None,
            "line": self.line or None,
            "lab": self.lab,
        }


@dataclass(frozen=True)
class Known:
    """What is known of a cause: a sentence on what is seen, its cure, a lab, what else is fine."""

    seen: str
    cure: str
    lab: str
    fine: str = ""


# Of latency and bandwidth, where a layer's parts lie on several ranks.
SPLIT_CURE = (
    "Most of it is not gradients, but what layers send that are split between ranks. Split each "
    "over fewer ranks, or compute in 16 bits."
)
SPLIT_LAB = "11"

KNOWN = {
    "computing": Known(
        "nothing is wrong: the ranks compute nearly all the time",
        "A faster step needs less to compute: a lower precision, or a better kernel.",
        "05",
    ),
    "input": Known(
        "all ranks wait for their loaders",
        "Let processes prepare the next batches: `num_workers` of the DataLoader, at most a core "
        "each; or prepare the data once and store it.",
        "04",
        "the loaders",
    ),
    "straggler": Known(
        "one rank is later than the others, which wait for it",
        "Give all ranks the same work: batches of equal length, equal machines, and no chores for "
        "one rank alone.",
        "08",
        "the ranks' pace",
    ),
    "latency": Known(
        "small messages are sent, and each takes its time however small it is",
        "Send many together: one large buffer, or DDP with its usual `bucket_cap_mb`. If there are "
        "few already, take larger batches, and so fewer steps.",
        "03b",
    ),
    "bandwidth": Known(
        "what the ranks send is too large to hide behind what they compute",
        "Send less: 16-bit gradients (DDP's `bf16_compress_hook`, FSDP's `MixedPrecisionPolicy`), "
        "or fewer steps with larger batches.",
        "05b",
        "messages",
    ),
    "no overlap": Known(
        "communication begins when the backward pass is over",
        "Use DDP, or begin an all-reduce with `async_op=True` as soon as a bucket of gradients is "
        "there; with DDP, take a smaller `bucket_cap_mb`.",
        "03b",
    ),
    "accumulation": Known(
        "gradients are averaged in passes that take no step",
        "Run all passes but the last inside `with model.no_sync():`.",
        "04",
    ),
    "synchronization": Known(
        "the script itself makes the ranks meet in each step",
        "Leave out barriers and objects, and reduce numbers such as the loss once in many steps.",
        "02",
        "synchronization",
    ),
    "buffers": Known(
        "rank 0's buffers are sent to all before each forward pass",
        "Give DDP `forward_sync_buffers=False` (before torch 2.13 `broadcast_buffers=False`) where "
        "buffers do not change, or make them smaller.",
        "08",
        "buffers",
    ),
    "unused parameters": Known(
        "DDP searches the graph for unused parameters in each step",
        "Leave `find_unused_parameters=True` out where all are used (transformers' Trainer may set "
        "it: `ddp_find_unused_parameters=False`); else try `static_graph=True`.",
        "03b",
    ),
    "saving": Known(
        "ranks wait while one saves",
        "Save less often, each rank its own part, or in the background "
        "(`torch.distributed.checkpoint.async_save`).",
        "10b",
        "saving",
    ),
    "threads": Known(
        "there are more threads than cores, and they wait for one another",
        "Give each rank its share of the cores: leave `torch.set_num_threads` and "
        "`OMP_NUM_THREADS` to torchrun.",
        "00",
        "threads",
    ),
    "python": Known(
        "other Python runs between the steps",
        "Do it once in many steps, or in another process.",
        "08",
        "other Python",
    ),
    "optimizer": Known(
        "the optimizer's step takes long",
        "Try `foreach=True` or `fused=True`, or share its work between the ranks "
        "(`ZeroRedundancyOptimizer`).",
        "10",
        "the optimizer",
    ),
    "not sharded": Known(
        "the ranks draw the same samples, so that all but one compute in vain",
        "Give the DataLoader `sampler=DistributedSampler(dataset)`, and call its `set_epoch`.",
        "03",
        "the shares of the data",
    ),
    "copies": Known(
        "the device waits for copies from the host",
        "Use `pin_memory=True` in the DataLoader and `.to(device, non_blocking=True)`.",
        "04",
        "copies",
    ),
}
