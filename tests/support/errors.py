"""The form that every error message for a learner has."""

from course.core.errors import CourseError


def one_sentence(error: CourseError) -> bool:
    """Whether the message is one line that ends with a period."""
    return "\n" not in str(error) and str(error).endswith(".")
