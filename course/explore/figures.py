"""The drawings in images/, which is built from this table."""

from functools import cache

from course.core import ROOT
from course.drawing import Picture
from course.explore import explorables, explorables_of_runs, stills
from course.explore.models.pipeline import ONE_F_ONE_B
from course.explore.models.sharding import LARGEST
from course.explore.models.strategies import CENTRAL, MIRRORED, SERVER, WORKERS


def figures() -> dict[str, str]:
    """Every drawing in images/ as SVG, by file name: explorables in one state, and stills."""
    return {
        "all_reduce_ring.svg": explorables.all_reduce(step=3).still,
        "buckets.svg": explorables.buckets().still,
        "buckets_off.svg": explorables.buckets(overlap=False).still,
        "by_name.svg": stills.by_name.by_name(),
        "collectives.svg": stills.collectives.overview(),
        "ddp_constructor.svg": stills.ddp.constructor(),
        "ddp_step.svg": stills.ddp.step(),
        "dp_step.svg": stills.dp_step.step(),
        "tensor_fusion.svg": explorables.tensor_fusion().still,
        "tensor_fusion_off.svg": explorables.tensor_fusion(threshold=0.01).still,
        "hierarchy_phases.svg": stills.hierarchy.phases(),
        "labs_map.svg": _labs_map(),
        "number_formats_bf16.svg": explorables.number_formats(format="bf16", change=0.0032).still,
        "backfill.svg": explorables.backfill().still,
        "outer_step.svg": stills.outer_step.outer_step(),
        "pipeline_1f1b.svg": explorables_of_runs.pipeline(policy=ONE_F_ONE_B).still,
        "replicas_inside.svg": explorables.replicas(loss="inside forward").still,
        "scaling.svg": explorables_of_runs.scaling().still,
        "sharding.svg": explorables.sharding(size=LARGEST, ranks=64, recompute=True).still,
        "no_dead_stops.svg": stills.no_dead_stops.both_ways(),
        "snapshot.svg": stills.snapshot.saving(),
        "split_data.svg": explorables.split().still,
        "staleness.svg": explorables.staleness().still,
        "strategies_central.svg": explorables.strategies(strategy=CENTRAL).still,
        "strategies_mirrored.svg": explorables.strategies(strategy=MIRRORED).still,
        "strategies_server.svg": explorables.strategies(strategy=SERVER).still,
        "strategies_workers.svg": explorables.strategies(strategy=WORKERS).still,
        "two_nodes.svg": stills.nodes.meeting(),
        "two_nodes_levels.svg": stills.nodes.levels(),
        "why.svg": stills.why.straggler(),
    }


@cache  # reading all lessons takes longer than drawing all pictures
def _labs_map() -> Picture:
    from course.lessons import labs, labs_map  # imports jupytext, which a notebook can do without

    return labs_map.draw(labs(ROOT))
