"""The table from which the drawings in images/ are built."""

from functools import cache

from course.core import ROOT
from course.drawing import Picture
from course.explore.factory import EXPLORABLES
from course.explore.models.pipeline import ONE_F_ONE_B
from course.explore.models.ring_attention import ZIGZAG
from course.explore.models.sharding import LARGEST
from course.explore.models.strategies import CENTRAL, MIRRORED, SERVER, WORKERS
from course.explore.stills import (
    by_name,
    collectives,
    ddp,
    dp_step,
    hierarchy,
    no_dead_stops,
    nodes,
    outer_step,
    snapshot,
    why,
)


def figures() -> dict[str, str]:
    """Draw every picture in images/ as SVG, by file name: explorables in one state, and stills."""
    return {
        "all_reduce_ring.svg": _still("all_reduce", step=3),
        "buckets_off.svg": _still("buckets", overlap=False),
        "by_name.svg": by_name.by_name(),
        "collectives.svg": collectives.overview(),
        "ddp_constructor.svg": ddp.constructor(),
        "ddp_step.svg": ddp.step(),
        "dp_step.svg": dp_step.step(),
        "hierarchy_phases.svg": hierarchy.phases(),
        "labs_map.svg": _labs_map(),
        "no_dead_stops.svg": no_dead_stops.both_ways(),
        "number_formats_bf16.svg": _still("number_formats", format="bf16", change=0.0032),
        "outer_step.svg": outer_step.outer_step(),
        "pipeline_1f1b.svg": _still("pipeline", policy=ONE_F_ONE_B),
        "replicas_inside.svg": _still("replicas", loss="inside forward"),
        "ring_attention_zigzag.svg": _still("ring_attention", order=ZIGZAG, turn=2),
        "sharding.svg": _still("sharding", size=LARGEST, ranks=64, recompute=True),
        "snapshot.svg": snapshot.saving(),
        "split_data.svg": _still("split"),
        "strategies_central.svg": _still("strategies", strategy=CENTRAL),
        "strategies_mirrored.svg": _still("strategies", strategy=MIRRORED),
        "strategies_server.svg": _still("strategies", strategy=SERVER),
        "strategies_workers.svg": _still("strategies", strategy=WORKERS),
        "tensor_fusion_off.svg": _still("tensor_fusion", threshold=0.01),
        "two_nodes.svg": nodes.meeting(),
        "two_nodes_levels.svg": nodes.levels(),
        "why.svg": why.straggler(),
    }


def _still(name: str, **values: object) -> Picture:
    """Draw an explorable in one state."""
    return EXPLORABLES[name](**values).still


@cache  # reading all lessons takes longer than drawing all pictures
def _labs_map() -> Picture:
    from course.lessons import labs, labs_map  # imports jupytext, which notebooks do not need

    return labs_map.draw(labs(ROOT))
