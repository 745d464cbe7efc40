"""A preprocessor for nbgrader that replaces each solution by the lab's own numbered TODO.

The kit's `nbgrader_config.py` refers to it. Only this module imports nbgrader.
"""

from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor

from course.lessons import with_todos


class OpenTodos(NbGraderPreprocessor):
    """The replacement for nbgrader's ClearSolutions."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Remove all solutions at once, so that the TODOs are numbered throughout the notebook."""
        code = [cell for cell in nb.cells if cell.cell_type == "code"]
        for cell, source in zip(code, with_todos([cell.source for cell in code]), strict=True):
            cell.source = source
        return nb, resources
