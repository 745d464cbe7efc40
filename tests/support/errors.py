"""What every error for a learner has in common."""

from course.core.errors import CourseError


def one_sentence(error: CourseError) -> bool:
    """Whether the message is one line that ends in a full stop."""
    return "\n" not in str(error) and str(error).endswith(".")
