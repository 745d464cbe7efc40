"""The explorables that also show a run of the learner's: its data is their argument."""

from collections.abc import Sequence

from course.drawing import Picture
from course.explore import models, pictures
from course.explore.controls import Choice, Slider, Toggle
from course.explore.factory import Description, explorable


@explorable
def loss_scale(metrics=None) -> Description:
    """The gradients of a run, in a format of your choice, under a loss scale of your choice.

    `metrics` is the table of a run (`run.metrics`) with rows of `where`, `exponent` and `count`: a
    histogram; without it, a run of lab 05 is shown. A table without such rows is a `CourseError`.
    """
    model = models.loss_scale
    rows = None if metrics is None else metrics.to_dict("records")
    measured = model.recorded() if rows is None else model.histograms(rows)

    def draw(where: str, format: str, power: int) -> Picture:
        return pictures.loss_scale.draw(measured[where], where, format, power)

    return draw, {
        "where": Choice("Gradients of", tuple(measured), next(iter(measured))),
        "format": Choice("Format", pictures.loss_scale.NARROW, "fp16"),
        "power": Slider("Loss scale: 2 to the power of", 0, 32, 0),
    }


@explorable
def pipeline(metrics=None) -> Description:
    """A pipeline's schedule over time: change the policy, the stages and the micro-batches.

    `metrics` is the table of a run of src/pipeline_times.py (`run.metrics`), drawn below it. A
    table without a timeline is a `CourseError`.
    """
    model = models.pipeline
    ran = None if metrics is None else model.measured(metrics.to_dict("records"))
    stages, microbatches = (4, 8) if ran is None else (len(ran), len(ran[0]) // 2)

    def draw(**state: object) -> Picture:
        return pictures.pipeline.draw(measured=ran, **state)

    return draw, {
        "policy": Choice("Schedule", model.POLICIES, model.GPIPE),
        "stages": Slider("Ranks", 1, 8, stages),
        "microbatches": Slider("Micro-batches", 1, 16, microbatches),
        "backward": Slider("Backward, in forwards", 1, 3, 2, step=0.5),
    }


@explorable
def scaling(points: Sequence[tuple[float, float]] = ()) -> Description:
    """Efficiency against GPUs: change the model, the batch and the links.

    `points` are your own measurements, as (ranks, efficiency).
    """
    measured = tuple(points)

    def draw(**state: object) -> Picture:
        return pictures.scaling.draw(points=measured, **state)

    return draw, {
        "work": Choice("Model", tuple(models.scaling.WORKLOADS), "ResNet-50"),
        "gpus": Slider("GPUs", 1, 1024, 128, step=2, log=True),
        "batch": Slider("Batch", 1, 1024, 64, step=2, log=True),
        "per_node": Slider("GPUs per node", 1, 16, 8, step=2, log=True),
        "inside": Choice("Inside a node", tuple(models.scaling.INSIDE), "NVLink"),
        "network": Choice("Between nodes", tuple(models.scaling.NETWORKS), "10 Gbit/s"),
        "hidden": Slider("May hide", 0, 100, 80, step=5, unit="%"),
        "strong": Toggle("The batch is shared by all GPUs", False),
    }


@explorable
def shards(metrics=None) -> Description:
    """Files that ranks and loader workers read: change who shares, see who reads which line.

    `metrics` is the table of a run of lab 04d (`run.metrics`), drawn below. A table without the
    lines that were read is a `CourseError`.
    """
    model = models.shards
    ran = None if metrics is None else model.measured(metrics.to_dict("records"))

    def draw(**state: object) -> Picture:
        return pictures.shards.draw(measured=ran, **state)

    return draw, {
        "way": Choice("Who shares", model.WAYS, model.NOBODY),
        "ranks": Slider("Ranks", 1, 4, 2),
        "workers": Slider("Loader workers per rank", 0, 3, 2),
        "files": Slider("Files", 1, len(model.SIZES), 4),
    }
