"""Every explorable: what draws it, and which controls it has with which first values."""

from course.drawing import Picture
from course.explore import models, pictures
from course.explore.controls import Choice, Slider, Steps, Toggle
from course.explore.factory import Description, explorable

FINE, COARSE = 10**0.1, 10**0.2  # ten or five stops of a slider for each power of ten


@explorable
def all_reduce() -> Description:
    """Two all-reduces side by side, round by round, with their times under the α–β model."""
    names = tuple(models.all_reduce.ALGORITHMS)

    def pictures_of(values: dict[str, object]) -> int:
        """One before the first round, and one after each round of the longer of the two."""
        plans = [
            models.all_reduce.plan(values[side], values["ranks"]) for side in ("left", "right")
        ]
        return max(plan.messages for plan in plans) + 1

    return pictures.all_reduce.draw, {
        "left": Choice("Left", names, "reduce + broadcast"),
        "right": Choice("Right", names, "ring"),
        "ranks": Slider("Ranks", 2, 8, 4),
        "size": Slider("Buffer", 0.001, 1000, 1, step=COARSE, unit="MB", log=True),
        "latency": Slider("α, a message", 1, 1000, 20, step=COARSE, unit="µs", log=True),
        "bandwidth": Slider("1/β, bandwidth", 0.1, 400, 10, step=COARSE, unit="GB/s", log=True),
        "step": Steps("Round", pictures_of, 1),
    }


@explorable
def backfill() -> Description:
    """A cluster's board with your job in it: change its size and its time limit, see its start."""
    return pictures.backfill.draw, {
        "nodes": Slider("Servers", 1, models.backfill.NODES, 1),
        "gpus": Slider("GPUs per server", 1, models.backfill.GPUS, 2),
        "hours": Slider("Time limit", 0.5, 12, 8, step=0.5, unit="h"),
        "backfill": Toggle("Backfill", True),
    }


@explorable
def buckets() -> Description:
    """DDP's buckets over time: change the model, the bucket cap and the network.

    See what is left to wait for.
    """
    names, cap = tuple(models.buckets.MODELS), models.buckets.DEFAULT_CAP_MIB
    return pictures.buckets.draw, {
        "layers": Choice("Model", names, "BERT-base"),
        "cap": Slider("Bucket cap", 0.5, 1024, cap, step=2**0.25, unit="MiB", log=True),
        "bandwidth": Slider("Network", 0.1, 300, 12.5, step=FINE, unit="GB/s", log=True),
        "ranks": Slider("Ranks", 1, 64, 4),
        "latency": Slider("Start of an all-reduce", 0, 2, 0.5, step=0.05, unit="ms"),
        "overlap": Toggle("Overlap with backward", True),
    }


@explorable
def collectives() -> Description:
    """Every collective, for 2 to 6 ranks: what each holds before and after, who sends to whom."""
    names, ops = tuple(models.collectives.COLLECTIVES), tuple(models.collectives.OPS)
    most, moments = pictures.collectives.MOST, ("before", "on the way", "after")

    def draw(collective: str, moment: str, ranks: int, root: int, op: str) -> Picture:
        numbers = models.collectives.counted(ranks)
        example = models.collectives.Example(collective, numbers, min(root, ranks - 1), op)
        return pictures.collectives.draw(example, moments.index(moment))

    return draw, {
        "collective": Choice("Collective", names, "all-reduce"),
        "moment": Choice("Moment", moments, "after"),
        "ranks": Slider("Ranks", 2, most, 4),
        "root": Slider("Root", 0, most - 1, 0),
        "op": Choice("Reduction", ops, "sum"),
    }


@explorable
def fewer_messages() -> Description:
    """A training that sends less often, or less, beside DDP: which is first at the same loss?"""
    model = models.fewer_messages
    return pictures.fewer_messages.draw, {
        "ranks": Slider("Ranks", 2, 64, 4, step=2, log=True),
        "link": Slider("Link", 10, 400_000, 100, step=COARSE, unit="Mbit/s", log=True),
        "parameters": Slider("Parameters", 1, 10_000, 100, step=COARSE, unit="million", log=True),
        "compute": Slider("A step computes for", 1, 1000, 400, step=FINE, unit="ms", log=True),
        "every": Slider("H, steps for a message", 1, 500, 50, step=FINE, log=True, whole=True),
        "compression": Choice("Compression", model.COMPRESSIONS, model.WHOLE),
        "extra": Slider("Extra steps to the loss", 0, 100, 20, step=5, unit="%"),
    }


@explorable
def hierarchy() -> Description:
    """All-reduce across nodes: one ring or two levels, under the α–β model."""
    one, each = pictures.hierarchy.ONE, pictures.hierarchy.EACH
    return pictures.hierarchy.draw, {
        "nodes": Slider("Nodes", 1, 64, 8),
        "gpus": Slider("GPUs per node", 1, 8, 8),
        "size": Slider("Buffer", 0.01, 1000, 1, step=COARSE, unit="MB", log=True),
        "inside": Slider("1/β inside a node", 1, 900, 200, step=COARSE, unit="GB/s", log=True),
        "network": Slider("1/β of a NIC", 0.1, 100, 25, step=COARSE, unit="GB/s", log=True),
        "latency": Slider("α of the network", 1, 1000, 20, step=COARSE, unit="µs", log=True),
        "nics": Choice("NICs", (one, each), one),
    }


@explorable
def number_formats() -> Description:
    """What a number format keeps of a weight and of a small change to it."""
    low, high = pictures.number_formats.WEIGHTS
    return pictures.number_formats.draw, {
        "format": Choice("Format", tuple(models.number_formats.FORMATS), "fp16"),
        "weight": Slider("Weight w", low, high, 1, step=FINE, log=True, fine=True),
        "change": Slider("Change", 1e-9, 1e3, 1e-4, step=FINE, log=True),
    }


@explorable
def processes() -> Description:
    """A job of 1 to 4 nodes with 1 to 8 processes each: rank, local rank, and where they meet."""
    nodes, each = 4, 8
    return pictures.processes.draw, {
        "nodes": Slider("Nodes", 1, nodes, 2),
        "per_node": Slider("Processes per node", 1, each, 4),
        "look": Slider("Look at rank", 0, nodes * each - 1, 6),
    }


@explorable
def replicas() -> Description:
    """DataParallel's bytes: what each device holds and sends in a step.

    Change the devices, the batch, the parameters and the vocabulary.
    """
    places = pictures.replicas.PLACES
    return pictures.replicas.draw, {
        "devices": Slider("Devices", 1, 8, 4),
        "batch": Slider("Sequences in the batch", 1, 512, 32, step=2, log=True),
        "parameters": Slider("Parameters", 1, 3000, 110, step=FINE, unit="million", log=True),
        "vocabulary": Slider("Vocabulary", 2, 131072, 32768, step=2, unit="words", log=True),
        "loss": Choice("Loss", places, places[0]),
    }


@explorable
def sharding() -> Description:
    """DDP, ZeRO-1, 2 and 3: what each rank holds of a model, against the memory of its GPU."""
    model = models.sharding
    return pictures.sharding.draw, {
        "size": Choice("Model", tuple(model.MODELS), "Llama 3, 8 billion"),
        "ranks": Slider("GPUs", 1, 1024, 8, step=2, log=True),
        "memory": Slider("Memory per GPU", 16, 192, 80, step=16, unit="GB"),
        "precision": Choice("Precision", tuple(model.PRECISIONS), model.MIXED),
        "tokens": Slider("Tokens per GPU", 1, 128, 4, step=2, unit="thousand", log=True),
        "recompute": Toggle("Recompute activations", False),
    }


@explorable
def split() -> Description:
    """One network on several ranks, split by data or by layers: who holds, computes, waits."""
    data, layers = pictures.split.DATA, pictures.split.LAYERS
    return pictures.split.draw, {
        "by": Choice("Split by", (data, layers), data),
        "ranks": Slider("Ranks", 1, 4, 2),
        "parts": Slider("Parts of the batch (by layers)", 1, 8, 1),
    }


@explorable
def staleness() -> Description:
    """Workers of a parameter server: change the bound, see who waits and how stale it gets."""
    none = models.staleness.UNBOUNDED
    return pictures.staleness.draw, {
        "workers": Slider("Workers", 1, 6, 3),
        "bound": Slider(f"Bound, in steps ({none}: none)", 0, none, 2),
        "slow": Slider("The last worker is slower", 1, 8, 4, step=0.5, unit="times"),
        "nap": Toggle("… but in one step only", False),
    }


@explorable
def stragglers() -> Description:
    """Ranks that meet at every all-reduce: slow one down, make all jitter, let them meet less."""
    return pictures.stragglers.draw, {
        "ranks": Slider("Ranks", 2, 8, 8),
        "slower": Slider("Last rank slower by", 0, 100, 0, step=5, unit="%"),
        "jitter": Slider("Jitter of every pass", 0, 30, 10, step=2, unit="%"),
        "every": Slider("Passes per step", 1, 8, 1, step=2, log=True),
    }


@explorable
def strategies() -> Description:
    """A strategy on so many devices: where variables live, what moves, what a death leaves."""
    model = models.strategies
    return pictures.strategies.draw, {
        "strategy": Choice("Strategy", model.STRATEGIES, model.MIRRORED),
        "devices": Slider("Devices", 1, 8, 4),
        "mib": Slider("Weights", 10, 10_000, 420, step=10**0.125, unit="MiB", log=True),
        "optimizer": Choice("Optimizer", tuple(model.OPTIMIZERS), "Adam"),
        "bandwidth": Slider("Link, each way", 0.1, 300, 25, step=FINE, unit="GB/s", log=True),
        "dies": Choice("What dies", model.DEATHS, model.NOTHING),
    }


@explorable
def tensor_fusion() -> Description:
    """Tensors that become ready one after another: the messages, the waiting, the time in all."""
    return pictures.tensor_fusion.draw, {
        "tensors": Slider("Tensors", 1, 400, 100, step=FINE, log=True, whole=True),
        "size": Slider("Size of each", 4, 4096, 256, step=2**0.5, unit="KiB", log=True),
        "threshold": Slider("Fusion threshold", 0.01, 128, 128, step=2**0.5, unit="MiB", log=True),
        "cycle": Slider("Cycle time", 0.1, 50, 1, step=FINE, unit="ms", log=True),
        "latency": Slider("Start of a message", 0, 2, 0.5, step=0.05, unit="ms"),
        "bandwidth": Slider("Network", 0.1, 300, 10, step=FINE, unit="GB/s", log=True),
        "hurry": Toggle("Begin a cycle when the program waits", False),
    }
