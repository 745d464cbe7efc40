"""No cure offers what the script uses already or cannot use; the steps are made up."""

from typing import Any

import pytest
from support.made_steps import MIB, STEP, average, computed, did, loader, message, same, script

from course.diagnostics import WhyAnswer
from course.diagnostics.profiling.timeline import Ddp

WORK = [*computed(), STEP]
SMALL = [average(1, 60_000) for _ in range(60)]
SCATTERED = message("reduce_scatter_tensor", 60, 40 * MIB, "train.py:7", within="backward")
GATHERED = message("all_gather_into_tensor", 60, 40 * MIB, "train.py:7", within="forward")
AVERAGED = [*computed(), average(40)]
SYNCED = did("buffers", 40, name="broadcast", within="forward")
SAME = {"rows": [list(range(8))] * 2, "tail": 2.0}
LARGE = {"tail": 60.0, "overlap": 30.0}
DDP = Ddp(ranks=2, forwards=10)
# The cause, a step's slices, other arguments of `same`, what the script uses, a part of the cure.
CURES: list[tuple[str, list, dict, dict[str, Any], str]] = [
    ("latency", [*computed(), *SMALL, STEP], {}, {}, "in one large buffer"),
    ("latency", WORK, {"tail": 60.0, "buckets": (4096,) * 60}, {"ddp": [DDP]}, "few messages"),
    ("latency", WORK, {"tail": 60.0, "buckets": (4096,) * 60},
     {"ddp": [Ddp(ranks=2, forwards=10, bucket_cap_bytes=4096)]},
     "`bucket_cap_mb` at its usual 25"),
    ("latency", WORK, {"tail": 60.0, "buckets": (4096,)},
     {"ddp": [Ddp(ranks=2, forwards=10, bucket_cap_bytes=MIB)]}, "few messages already"),
    ("latency", [*computed(), average(40, 60_000), STEP],
     {"settings": {"gradients": 60_000}}, {}, "few messages already"),
    ("latency", [*computed(), *SMALL, STEP], {}, {"sharded": "fully_shard"}, "on larger blocks"),
    ("bandwidth", WORK, LARGE, {"ddp": [DDP]}, "`bf16_compress_hook`"),
    ("bandwidth", WORK, LARGE, {"ddp": [Ddp(ranks=2, forwards=10, hook="bf16_compress_hook")]},
     "in 16 bits already"),
    ("bandwidth", [*WORK, SCATTERED], {}, {"sharded": "fully_shard"}, "`MixedPrecisionPolicy("),
    ("bandwidth", [*WORK, SCATTERED], {}, {"sharded": "FSDP"}, "`MixedPrecision("),
    ("bandwidth", [*WORK, SCATTERED], {}, {"sharded": "FSDP", "half": True}, "in 16 bits already"),
    ("gathering weights", [GATHERED, *WORK], {}, {"sharded": "fully_shard"}, "kept from forward"),
    ("no overlap", [*computed(), average(30), STEP], {}, {},
     "`async_op=True`"),
    ("no overlap", WORK, {"tail": 30.0, "buckets": (10 * MIB,)}, {"ddp": [DDP]},
     "a smaller `bucket_cap_mb`"),
    ("accumulation", [*AVERAGED * 4, STEP], {}, {"ddp": [DDP], "no_sync": "train.py:5"},
     "There is a no_sync() at train.py:5, but it begins after the forward"),
    ("accumulation", [*AVERAGED * 4, STEP], {},
     {"ddp": [Ddp(ranks=2, forwards=10, no_sync_forwards=5)], "no_sync": "train.py:5"},
     "leaves out some"),
    ("accumulation", [*AVERAGED * 4, STEP], {}, {"sharded": "FSDP"}, "`with model.no_sync():`"),
    ("accumulation", [*AVERAGED * 4, STEP], {}, {"ddp": [DDP], "framework": "accelerate"},
     "`with accelerator.accumulate(model):`"),
    ("synchronization", [*WORK, message("barrier", 40, 0, "train.py:11", "python")], {}, {},
     "Remove the barrier"),
    ("synchronization", [*WORK, message("all_gather_object", 40, 0, "train.py:11", "python")],
     {}, {},
     "Objects are pickled"),
    ("synchronization", [*WORK, message("all_reduce", 40, 4, "train.py:11", "python")], {}, {},
     "reduce them once in many steps"),
    ("buffers", [SYNCED, *WORK], {}, {"ddp": [DDP]}, "`forward_sync_buffers=False`"),
    ("buffers", [SYNCED, *WORK], {}, {}, "Send them once"),
    ("buffers", [did("buffers", 40, name="all_reduce"), *WORK], {}, {"ddp": [DDP]},
     "Send them once"),
    ("unused parameters", [did("search", 20), *WORK], {},
     {"ddp": [Ddp(True, 0, 2, forwards=10)], "framework": "Trainer"},
     "`ddp_find_unused_parameters=False`"),
    ("unused parameters", [did("search", 20), *WORK], {},
     {"ddp": [Ddp(True, 0, 2, forwards=10, static=True)]}, "in every step."),
    ("saving", [*WORK, did("saving", 40)], {}, {"async_save": True}, "in the background already"),
    ("optimizer", [*computed(), did("optimizer", 60)], {}, {"optimizer": "AdamW"},
     "`foreach=True` or `fused=True`"),
    ("optimizer", [*computed(), did("optimizer", 60)], {},
     {"optimizer": "AdamW", "fused": True, "sharded": "fully_shard"}, "Take fewer steps"),
    ("optimizer", [*computed(), did("optimizer", 60)], {}, {"optimizer": "Muon"},
     "Try a share of its work"),
    ("not sharded", WORK, SAME, {}, "`data[rank::world_size]`"),
    ("not sharded", WORK, SAME, {"loader": loader(stream=True)}, "split it by rank and worker"),
    ("not sharded", WORK, SAME, {"loader": loader(sampler="DistributedSampler")}, "omit its"),
    ("not sharded", WORK, SAME, {"loader": loader(sampler="ByLength")}, "(ByLength)"),
    ("not sharded", WORK, SAME, {"loader": loader(), "framework": "accelerate"},
     "`accelerator.prepare`"),
]  # fmt: skip


@pytest.mark.parametrize(("cause", "slices", "given", "has", "says"), CURES)
def test_the_cure_is_for_this_script(
    cause: str, slices: list, given: dict, has: dict, says: str
) -> None:
    settings = given.get("settings", {}) | script(*has.get("ddp", []), **_rest(has))
    answer = WhyAnswer(same(*slices, **given | {"settings": settings}))
    match = next(candidate for candidate in answer.causes if candidate.name == cause)
    assert says in match.cure
    assert match.cure.endswith(".") and match.says.endswith(".")


def _rest(has: dict) -> dict:
    return {name: value for name, value in has.items() if name != "ddp"}
