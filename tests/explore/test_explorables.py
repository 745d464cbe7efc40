"""The functions that learners call: one per model and picture, with help; their sliders."""

import inspect
from pathlib import Path

import pandas as pd
import pytest

from course import explore
from course.explore import models, pictures, stills

GRADIENTS = pd.DataFrame({"where": "weights", "exponent": range(-30, -5), "count": 1})
DATA = {"loss_scale": [GRADIENTS]}


def test_every_file_is_in_its_room_and_named_as_its_explorable():
    for room in (models, pictures, stills):
        folder = Path(room.__file__).parent
        assert sorted(room.__all__) == sorted(path.stem for path in folder.glob("[a-z]*.py"))
    assert set(models.__all__) - set(pictures.__all__) == {"alpha_beta"}
    assert set(pictures.__all__) == set(explore.__all__) - {"Quiz", "State", "figures"}


def test_a_function_says_which_controls_it_has_and_what_they_begin_with():
    values = {
        name: each.default for name, each in inspect.signature(explore.split).parameters.items()
    }
    assert values == explore.split().values
    assert list(inspect.signature(explore.scaling).parameters)[:2] == ["points", "work"]
    assert list(inspect.signature(explore.loss_scale).parameters)[:2] == ["metrics", "where"]
    for name in pictures.__all__:
        assert "first values" in getattr(explore, name).__doc__
    assert "Quiz" in dir(explore) and explore.Quiz.__name__ == "Quiz"


@pytest.mark.parametrize("name", pictures.__all__)
def test_the_smallest_stops_of_every_slider_and_its_largest_can_be_drawn(name):
    explorable = getattr(explore, name)(*DATA.get(name, []))
    first = explorable.values
    for control in explorable.controls:
        stops = control.get("stops", [])
        for stop in (*stops[:8], *stops[-1:]):
            assert explorable.at(**{**first, control["name"]: stop}).picture
