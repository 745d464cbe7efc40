"""The exceptions whose text is shown to the learner."""


class CourseError(Exception):
    """One sentence on what is wrong and what to do; a notebook shows it without a traceback."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows instead of a traceback into the course's own code."""
        return [str(self)]


class UnknownTorch(CourseError):
    """The installed torch lacks something the course relies on. It is not the learner's fault."""


class Interrupted(KeyboardInterrupt):
    """An interrupt that has already been dealt with; a notebook shows it as one line."""

    def _render_traceback_(self) -> list[str]:
        return ["Interrupted."]
