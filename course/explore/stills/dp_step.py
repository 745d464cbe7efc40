"""A step of nn.DataParallel on three devices: stages out, and their mirrors on the way back."""

from course.charts import STAGES, TOGETHER, Stretch, draw_stages
from course.drawing import Picture

# The length of each stage in ms, long enough to hold its name.
LENGTHS = {
    "scatter": 9,
    "replicate": 11,
    "forward": 13,
    "gather": 8,
    "loss": 6,
    "scatter back": 14.5,
    "backward": 20,
    "reduce": 8,
    "step": 6,
}
TIME_FACTORS = (1.0, 0.94, 0.97)  # of the devices' computing


def step() -> Picture:
    """Draw one step: the master works alone between the stages that all devices share."""
    stretches, begin = [], 0.0
    for stage in STAGES:
        factors = TIME_FACTORS if stage in TOGETHER else TIME_FACTORS[:1]
        stretches += [
            Stretch(i, stage, begin, begin + LENGTHS[stage] * factor)
            for i, factor in enumerate(factors)
        ]
        begin += LENGTHS[stage]
    return draw_stages(
        {"": stretches},
        "The master does all but forward and backward by itself",
        "Each copy has its mirror on the way back: scatter and gather, replicate and reduce",
    )
