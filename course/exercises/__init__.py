"""Exercises and the verdicts on them: plain data for every other package."""

from course.exercises.exercise import Exercise, exercise, exercises
from course.exercises.report import Report
from course.exercises.verdict import Outcome, Result

__all__ = ["Exercise", "Outcome", "Report", "Result", "exercise", "exercises"]
