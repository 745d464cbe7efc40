"""What nbgrader puts in the place of a solution: the lab's own numbered TODO.

`nbgrader_config.py` of the kit names it. The only module that imports nbgrader.
"""

from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor

from course.lessons import opened


class OpenTodos(NbGraderPreprocessor):
    """Stands where nbgrader's ClearSolutions would stand."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Open the solutions of a whole notebook, so that its TODOs are numbered through."""
        code = [cell for cell in nb.cells if cell.cell_type == "code"]
        for cell, source in zip(code, opened([cell.source for cell in code]), strict=True):
            cell.source = source
        return nb, resources
