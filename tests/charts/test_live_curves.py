"""The live curves of a run: its progress, its axes and its results."""

import math
import re

import pytest
from support.pictures import assert_fits

from course.charts import live_curves

STEPS = 564


def rows(last: int, ranks: int = 2, **more: float) -> list[dict]:
    """What ranks log if they log only every tenth step."""
    return [
        {"rank": rank, "time": 1.0, "step": step, "steps": STEPS, "loss": 8.0 / step} | more
        for step in range(10, last + 1, 10)
        for rank in range(ranks)
    ]


def bar(picture: str) -> float:
    """The share of the progress bar that is full."""
    ground, full = (float(width) for width in re.findall(r'width="([\d.]+)" height="8"', picture))
    return full / ground


def test_a_run_that_ended_well_ends_at_its_last_step_with_the_bar_full():
    """The bar is full although only every tenth step is logged."""
    going = live_curves.draw(rows(560))
    assert going.alt.startswith("Step 560 of 564: ") and bar(going) == pytest.approx(
        560 / 564, abs=1e-4
    )
    over = live_curves.draw(rows(560), ended=True)
    assert over.alt == "All 564 steps: loss 0.0143 loss from 0.8 to 0.0143" and bar(over) == 1
    assert_fits(over)
    assert all(re.match(live_curves.TITLE, picture.alt) for picture in (going, over))


def test_a_run_that_ended_early_does_not_look_as_if_it_had_taken_all_steps():
    early = live_curves.draw(rows(300), ended=True)
    assert early.alt.startswith("Step 300 of 564: ") and bar(early) == pytest.approx(
        300 / 564, abs=1e-4
    )
    no_end = [{name: row[name] for name in row if name != "steps"} for row in rows(300)]
    assert live_curves.draw(no_end, ended=True).alt.startswith("Step 300: ")


def test_what_a_script_logs_last_is_in_the_title():
    logged = [*rows(560), {"rank": 0, "time": 2.0, "accuracy": 0.976}]
    assert "accuracy 0.976, loss 0.0143" in live_curves.draw(logged, ended=True).alt
    assert "accuracy" not in live_curves.draw([*logged, *rows(570)[-1:]]).alt


def test_a_tiny_number_has_an_exponent():
    logged = [*rows(560), {"rank": 0, "time": 2.0, "off": 1.19e-7}]
    assert "All 564 steps: off 1.2e-07, loss" in live_curves.draw(logged, ended=True).alt


def test_each_plot_has_the_ends_of_both_axes():
    picture = live_curves.draw(rows(560, pairs_per_s=2500.0, lowest=-0.25))
    texts = re.findall(r"<text[^>]*>([^<]*)<", picture)
    assert [texts.count(end) for end in ("0", "0.8", "2,500", "-0.25")] == [3, 1, 1, 1]
    assert texts.count("10") == texts.count("step 560") == 3
    assert_fits(picture)


def test_ranks_that_differ_are_named_and_give_the_ends_of_their_newest_values():
    logged = [row | {"loss": 1.0 + row["rank"]} for row in rows(560, ranks=3)]
    over = live_curves.draw(logged, ended=True)
    other_order = live_curves.draw(logged[:-3] + logged[:-4:-1], ended=True)
    for picture in (over, other_order):
        assert picture.alt.startswith("All 564 steps: loss 1 to 3 ")
        assert re.findall(r">(rank \d)<", picture) == ["rank 0", "rank 1", "rank 2"]
        assert_fits(picture)
    assert "rank 0" not in re.findall(r">([^<]*)<", live_curves.draw(rows(560, ranks=1)))


def test_a_title_leaves_out_what_it_has_no_room_for():
    many = live_curves.draw(rows(560, validation_loss_of_all=1234567.0, another_long_name=12345.6))
    assert_fits(many)
    assert "loss" in many.alt


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_no_number_is_said_and_its_curve_breaks_off(value):
    logged = [*rows(20), {"rank": 0, "step": 30, "steps": STEPS, "loss": value}]
    picture = live_curves.draw(logged)
    assert f"Step 30 of 564: loss {value}" in picture.alt
    assert_fits(picture)
    assert live_curves.draw(logged[-1:]).alt.startswith("Step 30 of 564")


@pytest.mark.parametrize(
    ("steps", "pieces"),
    [
        ([*range(1, 41)], 1),
        ([*range(1, 11), *range(30, 41)], 2),  # away while the other rank went on
        ([*range(1, 21), *range(11, 41)], 2),  # back at a snapshot
        ([*range(1, 41, 10)], 1),  # only every tenth step
    ],
)
def test_a_line_is_cut_where_its_rank_was_away_or_went_back(steps, pieces):
    logged = [{"rank": 0, "step": step, "loss": 1.0} for step in range(1, 41)]
    logged += [{"rank": 1, "step": step, "loss": 2.0} for step in steps]
    assert live_curves.draw(logged).count('stroke-linejoin="round"') == 1 + pieces


def test_a_rank_alone_is_never_away():
    logged = [{"rank": 0, "step": 2**power, "loss": 1.0} for power in range(12)]
    assert live_curves.draw(logged).count('stroke-linejoin="round"') == 1
