"""Pictures of what a run measured: metrics, profiler traces, bandwidths."""

from course.charts.bandwidth import bandwidth
from course.charts.device_lanes import STAGES, TOGETHER, Stretch, device_lanes, draw_stages
from course.charts.loss_curves import loss_curves
from course.charts.replica_lanes import Training, draw_training, replica_lanes
from course.charts.tensor_timeline import tensor_timeline

__all__ = [
    "STAGES",
    "TOGETHER",
    "Stretch",
    "Training",
    "bandwidth",
    "device_lanes",
    "draw_stages",
    "draw_training",
    "loss_curves",
    "replica_lanes",
    "tensor_timeline",
]
