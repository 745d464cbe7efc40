"""Checks of `local_sgd`, exercise 1 of lab 12."""

from course.checks.lab_12.any_training import AnyTraining


class TestLocalSgd(AnyTraining):
    """Exercise 1: train alone, then take the mean of all ranks' weights."""

    outer = (1.0, 0.0)
