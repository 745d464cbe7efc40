"""What an exercise is, and what a verdict on it says: plain data that everyone reads."""

from course.exercises.exercise import Exercise, exercise, exercises
from course.exercises.report import Report
from course.exercises.verdict import Outcome, Result

__all__ = ["Exercise", "Outcome", "Report", "Result", "exercise", "exercises"]
