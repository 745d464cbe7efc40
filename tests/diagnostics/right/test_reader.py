"""The reader returns a rank's report as it was written, and sums its gradients."""

from pathlib import Path

import numpy as np
from diagnostics.right import made

from course.diagnostics.numerics import reader
from course.diagnostics.numerics.training import StepGradients, TrainingReport
from course.diagnostics.watch import report_files


def read_back(report: TrainingReport, folder: Path) -> TrainingReport:
    """The report as `right` reads it from the file that the rank writes."""
    report_files.write(report, folder)
    return reader.read(folder / f"rank{report.rank}.json")


def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    report = made.ranks()[1]
    report.loader_passes = [made.loader_pass(1), made.evaluation(1)]
    report.others, report.loads = [made.other(7)], [made.load()]
    report.written = [made.written("/runs/model.pt")]
    assert read_back(report, tmp_path) == report


def test_the_gradients_of_several_passes_are_added_up(tmp_path: Path) -> None:
    report = made.ranks()[0]
    body, head = made.COUNTS
    gradients = report.optimizers[0].watched[0].gradients = StepGradients()
    # The body gets two gradients, and has none before the first; the head has ones before its one.
    gradients.entries = [(0, body, 0), (1, head, head), (0, body, body)]
    parts = [np.full(body, 2), np.full(head, 3), np.ones(head), np.full(body, 5), np.full(body, 2)]
    gradients.keep("entries", np.concatenate(parts))
    result = read_back(report, tmp_path).optimizers[0].watched[0].gradients
    assert result.samples("own").tolist() == [7] * body + [3] * head
    assert result.samples("base").tolist() == [0] * body + [1] * head
    assert result.clean == [True, False]
