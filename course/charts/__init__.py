"""Pictures of what a run measured: metrics, profiler traces, bandwidths."""

from course.charts.bandwidth import bandwidth
from course.charts.device_lanes import device_lanes
from course.charts.live_curves import Display
from course.charts.loss_curves import loss_curves
from course.charts.tensor_timeline import tensor_timeline

__all__ = ["Display", "bandwidth", "device_lanes", "loss_curves", "tensor_timeline"]
