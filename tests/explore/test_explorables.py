"""The functions that learners call: one per model and picture, with help; their sliders."""

import inspect
import itertools
import random
import re
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest
from support.pictures import assert_fits

from course import explore
from course.explore import EXPLORABLES, models, pictures, stills

GRADIENTS = pd.DataFrame({"where": "weights", "exponent": range(-30, -5), "count": 1})
DATA = {"loss_scale": [GRADIENTS]}
STATES = 100  # of each explorable, out of hundreds
NO_NUMBER = re.compile(r"\bnan\b|\d[eE]\+")
THINGS = "batches|blocks|copies|GPUs|lanes|machines|nodes|parts|processes|ranks|rounds"
MANY_OF_ONE = re.compile(rf"(?<![\d.,])1 (?:{THINGS})\b")


def files(package: ModuleType) -> set[str]:
    return {path.stem for path in Path(package.__file__).parent.glob("[a-z]*.py")}


def test_every_file_is_named_as_its_explorable():
    assert set(EXPLORABLES) == files(pictures)
    assert files(models) - files(pictures) == {"alpha_beta", "backward"}
    assert files(stills) <= set(explore.figures.__globals__), "each still is drawn in figures()"
    assert set(EXPLORABLES) <= set(dir(explore))
    with pytest.raises(AttributeError, match="has no attribute 'ring'"):
        explore.ring()


def test_a_function_says_which_controls_it_has_and_what_they_begin_with():
    values = {
        name: parameter.default
        for name, parameter in inspect.signature(explore.split).parameters.items()
    }
    assert values == explore.split().values
    assert list(inspect.signature(explore.scaling).parameters)[:2] == ["points", "work"]
    assert list(inspect.signature(explore.loss_scale).parameters)[:2] == ["metrics", "where"]
    for name in EXPLORABLES:
        assert "first values" in getattr(explore, name).__doc__
    assert "Quiz" in dir(explore) and explore.Quiz.__name__ == "Quiz"


@pytest.mark.parametrize("name", EXPLORABLES)
def test_every_state_fits_its_card(name):
    explorable = getattr(explore, name)(*DATA.get(name, []))
    stops = {control["name"]: _stops(control) for control in explorable.controls}
    every = list(itertools.product(*stops.values()))
    for state in random.Random(0).sample(every, min(STATES, len(every))):
        drawn = explorable.at(**dict(zip(stops, state, strict=True))).picture
        assert_fits(drawn)
        assert not NO_NUMBER.search(drawn), state
        assert not MANY_OF_ONE.search(drawn + drawn.alt), state


def _stops(control: dict) -> list:
    """Five stops of a slider, including both ends, or all options of a choice."""
    if "stops" in control:
        stops = control["stops"]
        return sorted({stops[i * (len(stops) - 1) // 4] for i in range(5)})
    if "last" in control:
        return [*range(control["last"] + 1)]
    return control.get("options", [False, True])
