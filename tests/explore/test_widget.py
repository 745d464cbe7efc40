"""Controls, and the widget that draws again when one of them moves."""

import re

import pytest

from course import explore
from course.core.errors import CourseError
from course.drawing import svg
from course.explore.controls import Button, Choice, Fields, Slider, Steps, Toggle
from course.explore.widget import Explorable


def _sample(ranks, step, kind, fast):
    return svg.card(100, f"{ranks} ranks, step {step}, {kind}, {fast}", [])


@pytest.fixture
def sample():
    return Explorable(
        _sample,
        ranks=Slider("Ranks", 2, 8, 4),
        step=Steps("Step", lambda values: 2 * (values["ranks"] - 1) + 1),
        kind=Choice("Kind", ("ring", "tree"), "ring"),
        fast=Toggle("Fast", False),
    )


def test_moving_a_control_draws_again(sample):
    assert "4 ranks, step 0, ring, False" in sample.picture
    sample.values = {**sample.values, "ranks": 3}  # what the front end does
    assert "3 ranks" in sample.picture
    assert "tree, True" in sample.at(kind="tree", fast=True).picture


def test_steps_follow_the_control_that_they_depend_on(sample):
    sample.at(step=6)
    assert _control(sample, "step")["last"] == 6
    sample.at(ranks=2)
    assert (sample.values["step"], _control(sample, "step")["last"]) == (2, 2)


def _control(explorable, name):
    return next(control for control in explorable.controls if control["name"] == name)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"ranks": 9}, "Ranks takes a number from 2 to 8, not 9."),
        ({"ranks": "four"}, "Ranks takes a number from 2 to 8, not 'four'."),
        ({"ranks": float("nan")}, "not nan"),
        ({"kind": "star"}, "Kind is one of ring, tree, not 'star'."),
        ({"fast": 1}, "Fast is True or False, not 1."),
        ({"step": -1}, "Step is a step, counted from 0, not -1."),
        ({"speed": 1}, "There is no control 'speed' here; there are ranks, step, kind, fast."),
    ],
)
def test_a_bad_value_is_one_clear_sentence_and_changes_nothing(sample, wrong, message):
    before = sample.values
    with pytest.raises(CourseError, match=re.escape(message)):
        sample.at(**wrong)
    assert sample.values == before


def test_fields_follow_the_control_that_names_them_and_a_button_counts():
    def draw(names, **_):
        return svg.card(100, " and ".join(names), [])

    widget = Explorable(
        draw,
        ranks=Slider("Ranks", 1, 3, 2),
        names=Fields("Names", lambda values: [f"Rank {rank}" for rank in range(values["ranks"])]),
        run=Button("Run"),
    )
    assert widget.values["names"] == ["", ""]
    assert "Ada and Bob" in widget.at(names=["Ada", "Bob", "Cleo"], run=1).picture
    assert _control(widget.at(ranks=1), "names")["names"] == ["Rank 0"]
    for wrong in ({"names": "Ada"}, {"names": [1]}, {"run": -1}, {"run": True}):
        with pytest.raises(CourseError, match=r"is a list of texts|how often it was pressed"):
            widget.at(**wrong)


def test_slider_stops_are_round_rise_and_hold_the_first_value():
    stops = Slider("Cap", 0.5, 1024, 25, step=2**0.25, log=True).stops()
    assert stops == sorted(set(stops)) and {0.5, 25, 1024} <= set(stops) and 30 < len(stops) < 60
    assert Slider("Delay", 0, 0.3, 0.1, step=0.1).stops() == [0, 0.1, 0.2, 0.3]
    assert explore.buckets(cap=24.4).values["cap"] == 25  # the nearest stop


def test_a_slider_ends_where_the_controls_before_it_let_it():
    ring = explore.ring_attention(ranks=8, turn=8)
    assert _control(ring, "turn")["stops"] == [*range(1, 9)]
    fewer = ring.at(ranks=7)
    assert fewer.values["turn"] == 7 and _control(fewer, "turn")["stops"] == [*range(1, 8)]
    assert explore.processes(nodes=1, per_node=2).values["look"] == 1


def test_the_mimebundle_carries_the_widget_and_a_still_with_its_alt_text(sample):
    data, metadata = sample._repr_mimebundle_()
    assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == sample.model_id
    assert data["image/svg+xml"] == sample.picture
    assert metadata["image/svg+xml"] == {"values": sample.values}
    assert data["text/plain"].startswith("4 ranks, step 0")


def test_nothing_is_fetched_from_a_network():
    assert not re.search(r"https?:|import\s", Explorable._esm + Explorable._css)
