"""Merge what a learner wrote in an old notebook into its new version."""

import copy
import uuid
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import PurePath

from nbformat import NotebookNode

from course.core import lesson_marks

TOP = -1  # the position above the first cell


@dataclass(frozen=True)
class Carried:
    """The new `notebook`, with the cells that were `taken` from the learner's.

    `left` has the cells that were not taken, because the new version changed them as well.
    """

    notebook: NotebookNode
    taken: list[NotebookNode]
    left: list[NotebookNode]


def carry(mine: NotebookNode, base: NotebookNode, new: NotebookNode) -> Carried:
    """Merge the learner's changes, from `base` to `mine`, into a copy of `new`.

    An edited cell is taken if `new` has not changed it. A cell that the learner added comes after
    the cell that it followed. Outputs are left out, because they belong to the old version.
    """
    merged, same = copy.deepcopy(new), _identical_cells(base, new)
    near = _same_scripts(base, new) | same
    own: dict[int, list[NotebookNode]] = defaultdict(list)
    taken, left = [], []
    position = TOP
    for cell, origin in zip(mine.cells, _origins(mine, base), strict=True):
        position = near.get(origin, position)
        if origin is None:
            if cell.source.strip():
                own[position].append(_with_new_id(cell))
                taken.append(cell)
        elif cell.source != base.cells[origin].source:
            if origin in same:
                _take_over(merged.cells[position], cell.source)
                taken.append(cell)
            else:
                left.append(cell)
    cells = own[TOP]
    for number, cell in enumerate(merged.cells):
        cells += [cell, *own[number]]
    merged.cells = cells
    return Carried(merged, taken, left)


def scripts(cells: Iterable[NotebookNode]) -> list[str]:
    """The names of the scripts that cells write: ``ring`` for src/ring.py."""
    return list(dict.fromkeys(name for cell in cells if (name := _script_name(cell))))


def _script_name(cell: NotebookNode) -> str | None:
    match = lesson_marks.WRITES.match(cell.source) if cell.cell_type == "code" else None
    return PurePath(match[1]).stem if match else None


def _same_scripts(base: NotebookNode, new: NotebookNode) -> dict[int, int]:
    """Map the cells of `base` that write scripts to the cells of `new` that write the same ones."""
    there = {_script_name(cell): number for number, cell in enumerate(new.cells)}
    names = ((number, _script_name(cell)) for number, cell in enumerate(base.cells))
    return {number: there[name] for number, name in names if name and name in there}


def _identical_cells(one: NotebookNode, other: NotebookNode) -> dict[int, int]:
    """Map the cells of `one` to identical cells of `other`, in the same order."""
    texts = [[(cell.cell_type, cell.source) for cell in node.cells] for node in (one, other)]
    blocks = SequenceMatcher(None, *texts, autojunk=False).get_matching_blocks()
    return {block.a + i: block.b + i for block in blocks for i in range(block.size)}


def _origins(mine: NotebookNode, base: NotebookNode) -> list[int | None]:
    """Return, for each of the learner's cells, its number in `base`; None for a new cell.

    Cells are matched by content, then by script, and by id last: an editor may give a cell a new
    id, and another version may use an id for another cell.
    """
    same = _identical_cells(mine, base)
    origins = [same.get(number) for number in range(len(mine.cells))]
    for key in (_script_name, _id):
        left = {key(cell): n for n, cell in enumerate(base.cells) if n not in origins and key(cell)}
        for number, cell in enumerate(mine.cells):
            if origins[number] is None:
                origins[number] = left.pop(key(cell), None)
    return origins


def _id(cell: NotebookNode) -> str | None:
    return cell.get("id")


def _with_new_id(cell: NotebookNode) -> NotebookNode:
    """A copy of a cell that the learner added, with a unique id."""
    return NotebookNode(cell | {"id": uuid.uuid4().hex[:8]})


def _take_over(cell: NotebookNode, source: str) -> None:
    """Give a cell the learner's text, and remove its old outputs."""
    cell.source = source
    if cell.cell_type == "code":
        cell.outputs, cell.execution_count = [], None
