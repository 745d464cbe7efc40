"""A form that shows the sbatch file as you fill it in, and submits it."""

import html
from typing import Any

import ipywidgets as widgets

from course.clusters.slurm.batch import STRATEGIES, Request
from course.clusters.slurm.cluster import Cluster
from course.clusters.slurm.submitted import SubmittedJob
from course.core import CourseError
from course.drawing import card, palette, widget_view

WIDE = {"description_width": "110px"}
SITE_FIELDS = ("partition", "account", "qos", "constraint", "memory")  # depend on the cluster
FILE_STYLE = "padding:10px 14px;font-size:12px;line-height:1.45;overflow-x:auto;white-space:pre"


class Form:
    """Controls for a `Request`, the file that they make, and a button to submit it.

    `job` is the job that the button submitted last.
    """

    def __init__(self, cluster: Cluster, **values: Any) -> None:
        self.cluster = cluster
        self.job: SubmittedJob | None = None
        first = Request(**{"script": "src/train.py", **values})
        self.controls = _controls(cluster, first)
        self._fixed = {name: getattr(first, name) for name in ("name", "reservation")}
        self._file, self._message = widgets.HTML(), widgets.HTML()
        self._button = widgets.Button(description="Submit", button_style="primary")
        self._button.on_click(lambda _: self.submit())
        for control in self.controls.values():
            control.style, control.layout.width = WIDE, "360px"
            control.observe(lambda _: self._show(), names="value")
        self._show()

    @property
    def request(self) -> Request:
        """The request with the controls' values; raises `CourseError` if it is invalid."""
        return Request(
            **self._fixed, **{name: control.value for name, control in self.controls.items()}
        )

    def submit(self) -> SubmittedJob | None:
        """Submit the request, and show the job's number, or why it was refused."""
        try:
            self.job = self.cluster.submit(self.request)
        except CourseError as error:
            self._show_message(str(error), palette.ALARM)
            return None
        self._show_message(
            f"Submitted: job {self.job.number}. Watch it in a cell: form.job.follow()", palette.GOOD
        )
        return self.job

    def _show(self) -> None:
        try:
            self._file.value = _file(self.request.text())
            self.cluster.check(self.request)
        except CourseError as error:
            self._show_message(str(error), palette.ALARM)
            self._button.disabled = True
        else:
            self._show_message(self.cluster.commands.recorded, palette.MUTED)
            self._button.disabled = False

    def _show_message(self, words: str, colour: str) -> None:
        self._message.value = f'<span style="color:{colour}">{html.escape(words)}</span>'

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        left = [control for name, control in self.controls.items() if name not in SITE_FIELDS]
        columns = [widgets.VBox(left), widgets.VBox([self.controls[name] for name in SITE_FIELDS])]
        submit = widgets.HBox([self._button, self._message])
        rows = [widgets.HBox(columns), submit, self._file]
        text = self.request.text()
        static = {"text/html": _file(text), "text/plain": text}  # where no kernel shows the widgets
        return {**widget_view.bundle(widgets.VBox(rows)), **static}


def form(cluster: Cluster, **values: Any) -> Form:
    """Make a form for jobs on a cluster; `values`, such as ``nodes=2``, fill it in at first."""
    return Form(cluster, **values)


def _controls(cluster: Cluster, first: Request) -> dict[str, widgets.DOMWidget]:
    """One control for each field that the form offers, filled in with the values of `first`."""
    choices = cluster.partitions()
    partitions = {
        f"{p.name} (default)" if p.default else p.name: "" if p.default else p.name for p in choices
    }
    default = next((p.name for p in choices if p.default), None)
    partition = "" if first.partition == default else first.partition
    if partition not in partitions.values():  # the form shows it, and says what is wrong with it
        partitions[partition or "(choose one)"] = partition
    most_gpus = max((node.gpus for node in cluster.nodes()), default=8) or 1
    return {
        "script": widgets.Text(first.script, description="Script", continuous_update=False),
        "strategy": widgets.Dropdown(
            options=list(STRATEGIES), value=first.strategy, description="Strategy"
        ),
        "nodes": widgets.BoundedIntText(first.nodes, min=1, max=1024, description="Nodes"),
        "gpus": widgets.BoundedIntText(
            first.gpus, min=1, max=max(most_gpus, first.gpus), description="GPUs per node"
        ),
        "cores_per_gpu": widgets.BoundedIntText(
            first.cores_per_gpu, min=1, max=1024, description="Cores per GPU"
        ),
        "minutes": widgets.BoundedIntText(first.minutes, min=1, max=100_000, description="Minutes"),
        "resume": widgets.Checkbox(
            first.resume, description="Requeue, and go on from the checkpoint", indent=False
        ),
        "partition": widgets.Dropdown(options=partitions, value=partition, description="Partition"),
        **{name: _optional(name, getattr(first, name)) for name in SITE_FIELDS[1:]},
    }


def _optional(name: str, value: str) -> widgets.Text:
    """A text field for an option that is left out of the file while the field is empty."""
    return widgets.Text(
        value,
        description="QOS" if name == "qos" else name.capitalize(),
        placeholder="the cluster's default",
        continuous_update=False,
    )


def _file(text: str) -> str:
    """The file as HTML."""
    return card(html.escape(text), FILE_STYLE, tag="pre")
