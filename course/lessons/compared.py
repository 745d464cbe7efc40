"""Select the parts of a notebook's outputs that nbval compares, which must agree between runs."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable

from nbformat import NotebookNode

from course.lessons.lesson import IGNORED

WIDGET = "application/vnd.jupyter.widget-view+json"
OVERWRITTEN = re.compile(r"^.*\r(?=[^\n])", re.MULTILINE)  # a line's text before a lone return
# Bookkeeping, what varies from run to run, and pictures, whose numbers a cell can print instead.
NOT_COMPARED = {"output_type", "data", "metadata", "execution_count", "traceback", "name"}
NOT_COMPARED |= {"image/png", "image/jpeg", WIDGET}


def fields(outputs: Iterable[NotebookNode]) -> dict[str, list[str]]:
    """The contents of each kind of output (a MIME type or a stream) as texts, in order.

    A stream is one text, however often the cell wrote to it. The order of the kinds does not
    matter.
    """
    values, streams = defaultdict(list), defaultdict(str)
    for output in outputs:
        if output.output_type == "stream":
            streams[output.name] += output.text
            continue
        for kind, value in {**output, **output.get("data", {})}.items():
            if kind not in NOT_COMPARED:
                values[kind].append(
                    value if isinstance(value, str) else json.dumps(value, sort_keys=True)
                )
    return values | {name: [OVERWRITTEN.sub("", text)] for name, text in streams.items()}


def have_same_outputs(old: NotebookNode, new: NotebookNode) -> bool:
    """Whether two runs of the same code agree in everything that is compared."""
    return _compared_parts(old) == _compared_parts(new)


def _compared_parts(node: NotebookNode) -> list[tuple]:
    """Each code cell's source, execution count and outputs; only the errors if outputs vary."""
    parts = []
    for cell in (cell for cell in node.cells if cell.cell_type == "code"):
        varies = IGNORED in cell.metadata.get("tags", [])
        outputs = [output for output in cell.outputs if not varies or output.output_type == "error"]
        parts.append((cell.source, cell.execution_count, fields(outputs)))
    return parts
