"""A preprocessor with which nbgrader replaces a solution by the lab's own numbered TODO.

The kit's `nbgrader_config.py` names it. Only this module imports nbgrader.
"""

from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor

from course.lessons import opened


class OpenTodos(NbGraderPreprocessor):
    """The replacement for nbgrader's ClearSolutions."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Open the solutions of a whole notebook, so that its TODOs are numbered throughout."""
        code = [cell for cell in nb.cells if cell.cell_type == "code"]
        for cell, source in zip(code, opened([cell.source for cell in code]), strict=True):
            cell.source = source
        return nb, resources
