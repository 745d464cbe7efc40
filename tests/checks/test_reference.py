"""The distance between two lists of tensors, which checks compare, hides no difference."""

import math

import torch

from course.checks.tools.reference import furthest

ONE, NAN, INFINITE = (torch.tensor([value]) for value in (1.0, math.nan, math.inf))


def test_the_largest_difference_of_all_tensors_counts():
    assert furthest([ONE, ONE], [ONE, 3 * ONE]) == 2
    assert furthest([torch.tensor([1, 5])], [torch.tensor([1, 2])]) == 3


def test_a_nan_in_any_tensor_is_no_small_difference():
    assert math.isnan(furthest([ONE, NAN], [ONE, ONE]))
    assert math.isnan(furthest([NAN, ONE], [NAN, ONE]))


def test_infinity_is_near_itself_and_far_from_everything_else():
    assert furthest([INFINITE], [INFINITE]) == 0
    assert furthest([INFINITE], [ONE]) == math.inf
