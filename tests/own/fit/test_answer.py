"""The answer for made rehearsals: what fits, what is tried, and in which form it comes."""

from dataclasses import replace

import pytest

from course.own.fit import answer, beside, result
from course.own.fit.account import Account
from course.own.fit.record import KINDS
from course.own.fit.stage import NotFollowed, Rehearsal

GIB = 2**30


class Made:
    """A stage whose script needs 2 GiB of weights, and a quarter of one for each sample."""

    def __init__(self, batch: int | None = 16) -> None:
        self.batch = batch
        self.asked: list[dict] = []

    def together(self, wishes: list[tuple[int, dict]]) -> list[Rehearsal | NotFollowed]:
        return [self._outcome(ranks, changes) for ranks, changes in wishes]

    def _outcome(self, ranks: int, changes: dict) -> Rehearsal | NotFollowed:
        try:
            return self.rehearse(ranks, **changes)
        except NotFollowed as error:
            return error

    def rehearse(self, ranks: int, **changes: object) -> Rehearsal:
        self.asked.append(changes)
        if "checkpoint" in changes:
            raise NotFollowed("it fails then", "")
        batch = changes.get("batch", self.batch)
        weights = 2 * GIB // (ranks if "shard" in changes else 1)
        activations = GIB // 4 * (batch or 16) // (2 if "autocast" in changes else 1)
        by = dict.fromkeys(KINDS, 0) | {"weights": weights, "activations": activations}
        series = [(0.0, by), (1.0, by), (3.0, by)]
        peak = weights + activations
        account = Account(peak, by, "train.py:41", 2, "backward", series, 3, True)
        made = [each for each in ("batch", "autocast", "shard") if each in changes]
        return Rehearsal(ranks, account, ["train.py:57"], [], made, self.batch)


def test_what_fits_needs_no_advice_but_the_largest_batch() -> None:
    found = answer.answer(Made(), [1, 2], [24 * GIB])
    assert [run.fits for run in found.runs] == [True, True]
    assert found.advice == [] and found.target is None
    batch, run = found.largest
    assert run.peak <= 24 * GIB < run.peak + GIB // 4
    assert batch == (24 * GIB - 2 * GIB - overhead.nbytes(2)) // (GIB // 4)


def test_what_does_not_fit_is_tried_with_changes() -> None:
    stage = Made()
    memory = 3 * GIB + overhead.nbytes(4)  # room for 4 samples
    found = answer.answer(stage, [1, 4], [memory])
    assert [run.fits for run in found.runs] == [False, False]
    assert found.target.rehearsal.ranks == 4
    first_words = [each.do.split()[0] for each in found.advice]
    assert first_words == ["batches", "batches", "bfloat16", "fully_shard"]
    assert {"batch": 4, "passes": 4} in stage.asked  # it fits, so no smaller one is tried
    assert {"batch": 2, "passes": 8} not in stage.asked
    assert all(each.peak > 0 for each in found.advice)


def test_the_json_is_as_promised() -> None:
    found = answer.answer(Made(), [1], [5 * GIB]).plain()
    (run,) = found["runs"]
    assert set(found) == {"runs", "advice", "assumed"}
    assert set(run) == {"gpus", "memory_bytes", "fits", "peak_bytes", "at", "by"}
    assert set(run["by"]) == set(KINDS) and sum(run["by"].values()) == run["peak_bytes"]
    assert run["at"] == "train.py:41" and found["assumed"] == ["train.py:57"]
    assert all(set(each) == {"do", "peak_bytes"} for each in found["advice"])


def test_a_script_without_loaders_gets_no_advice_on_batches() -> None:
    found = answer.answer(Made(batch=None), [2], [5 * GIB])
    assert found.largest is None
    assert not any("batches" in each.do for each in found.advice)


def test_words_and_picture_name_each_run() -> None:
    found = answer.answer(Made(), [1, 8], [5 * GIB, 80 * GIB])
    text = str(found)
    assert text.count("does not fit  ") == 2 and text.count("fits          ") == 2
    assert "train.py:57" in text and "not measured" in text
    assert max(map(len, text.splitlines())) <= 140
    assert "8 GPUs of 80 GiB: fits" in found.picture.alt


def test_one_rank_has_no_nccl() -> None:
    assert overhead.nbytes(1) < overhead.nbytes(2)
    assert all(part.address.startswith("https://") for part in overhead.parts(2))


@pytest.mark.parametrize("peak", [0, 1])
def test_to_the_byte(peak: int) -> None:
    made = Made().rehearse(1)
    exact = made.account.peak + overhead.nbytes(1)
    account = replace(made.account, peak=made.account.peak + peak)
    assert result.Run(replace(made, account=account), exact).fits is (peak == 0)
