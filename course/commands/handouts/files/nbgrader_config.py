# nbgrader's settings for this course, in the folder where nbgrader is started.
from nbgrader.converters import GenerateAssignment
from nbgrader.preprocessors import ClearSolutions

from course.commands.handouts.todos import OpenTodos

c = get_config()  # noqa: F821 (Jupyter gives it to its configuration files)
c.CourseDirectory.course_id = "multi-gpu-course"
# The labs' own numbered TODOs in place of the solutions.
c.GenerateAssignment.preprocessors = [
    OpenTodos if preprocessor is ClearSolutions else preprocessor
    for preprocessor in GenerateAssignment.preprocessors.default()
]
c.ExecutePreprocessor.timeout = 300  # seconds for a cell: some runs take a minute
c.Execute.timeout = 300
