"""A pipeline's schedule: bubble and memory against the papers, and pictures that fit."""

import html
import itertools

import pandas as pd
import pytest
from support.pictures import assert_fits

from course import explore
from course.core.errors import CourseError
from course.explore.models import pipeline as model

SHAPES = list(itertools.product((1, 2, 3, 4, 8), (1, 2, 4, 8, 16)))


def follows(plan: model.Schedule) -> bool:
    """Whether each pass begins after the pass it needs, and no rank does two passes at once."""
    ends = {
        (step.kind, step.microbatch, step.chunk * len(plan) + rank): step.end
        for rank, steps in enumerate(plan)
        for step in steps
    }
    last = max(stage for _, _, stage in ends)
    for rank, steps in enumerate(plan):
        if any(a.end > b.start + 1e-9 for a, b in itertools.pairwise(steps)):
            return False
        for step in steps:
            stage = step.chunk * len(plan) + rank
            above, below = ("F", stage - 1), ("B", stage + 1)
            needs = {"F": above, "B": below if stage < last else ("F", last), "W": ("B", stage)}
            kind, of = needs[step.kind]
            if ends.get((kind, step.microbatch, of), 0.0) > step.start + 1e-9:
                return False
    return True


@pytest.mark.parametrize("policy", model.POLICIES)
def test_a_schedule_does_everything_once_and_in_order(policy):
    for ranks, microbatches in SHAPES:
        if policy == model.INTERLEAVED and microbatches % ranks:
            continue
        plan = model.schedule(policy, ranks, microbatches, backward=2)
        assert follows(plan)
        kinds = 3 if policy == model.ZERO_BUBBLE else 2
        chunks = model.CHUNKS if policy == model.INTERLEAVED else 1
        for steps in plan:
            done = {(step.kind, step.microbatch, step.chunk) for step in steps}
            assert len(done) == len(steps) == kinds * chunks * microbatches


def test_the_bubble_is_that_of_the_papers():
    for ranks, m in SHAPES:
        for backward in (1, 2):
            for policy in (model.GPIPE, model.ONE_F_ONE_B):
                share = model.bubble(model.schedule(policy, ranks, m, backward))
                assert share == pytest.approx((ranks - 1) / (m + ranks - 1))  # Huang et al. 2019
        if m % ranks == 0:
            plan = model.schedule(model.INTERLEAVED, ranks, m, 2)  # Narayanan et al. 2021
            wait = (ranks - 1) / model.CHUNKS
            assert model.bubble(plan) == pytest.approx(wait / (m + wait))
        if m >= ranks:
            plan = model.schedule(model.ZERO_BUBBLE, ranks, m, 2)  # Qi et al. 2024: (p-1)(F+B-W)
            assert model.length(plan) == pytest.approx(3 * m + ranks - 1)


def test_what_ranks_keep():
    def in_memory(policy: str) -> list[int]:
        return [model.kept(steps) for steps in model.schedule(policy, 4, 8, 2)]

    assert in_memory(model.GPIPE) == [8, 8, 8, 8]
    assert in_memory(model.ONE_F_ONE_B) == [4, 3, 2, 1]
    assert in_memory(model.ZERO_BUBBLE) == [4, 4, 4, 4]
    assert in_memory(model.INTERLEAVED) == [11, 9, 7, 5]  # chunks, half as large


def test_a_pipeline_that_cannot_be_is_refused():
    with pytest.raises(CourseError, match="at least one stage"):
        model.schedule(model.GPIPE, 0, 1, 2)
    with pytest.raises(CourseError, match="a multiple of 4 micro-batches, not 6"):
        model.schedule(model.INTERLEAVED, 4, 6, 2)


def test_the_timeline_of_a_run_is_drawn_below_the_prediction():
    rows = [
        {
            "stage": stage,
            "kind": step.kind,
            "microbatch": step.microbatch,
            "start_ms": 20 * step.start,
            "end_ms": 20 * step.end,
        }
        for stage, steps in enumerate(model.schedule(model.ONE_F_ONE_B, 3, 5, 2))
        for step in steps
    ]
    metrics = pd.DataFrame([{"stage": 0, "most_alive": 3}, *rows])
    shown = explore.pipeline(metrics, policy=model.ONE_F_ONE_B)
    assert (shown.values["stages"], shown.values["microbatches"]) == (3, 5)
    assert "the bubble is 29 % of the ranks' time, measured 29 %" in shown.picture
    assert_fits(shown.picture)
    with pytest.raises(CourseError, match=r"src/pipeline_times\.py"):
        explore.pipeline(pd.DataFrame([{"loss": 0.5}]))


def test_the_picture_says_why_a_zero_bubble_has_one():
    picture = html.unescape(explore.pipeline(policy=model.ZERO_BUBBLE).picture)
    assert "Zero bubble: the bubble is 11 %" in picture
    assert "ZB-H1 shrinks the bubble of 1F1B (27 %), but does not close it" in picture
