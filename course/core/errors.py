"""The one exception that speaks to the learner."""


class CourseError(Exception):
    """One sentence that says what is wrong and what to do; a notebook shows it and no traceback."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows instead of a stack that leads only into the course's own code."""
        return [str(self)]


class UnknownTorch(CourseError):
    """The installed torch has not what the course builds on; no fault of the learner's."""


class Interrupted(KeyboardInterrupt):
    """An interrupt that has already been dealt with; a notebook shows it as one line."""

    def _render_traceback_(self) -> list[str]:
        return ["Interrupted."]
