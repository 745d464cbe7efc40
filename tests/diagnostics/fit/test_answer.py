"""The answer for made-up rehearsals: what fits, what is tried, and the form of the answer."""

from dataclasses import replace

import pytest

from course.diagnostics.fit import answer, costs, overhead
from course.diagnostics.fit.account import Account, Traffic
from course.diagnostics.fit.client import NotFollowed, Rehearsal
from course.diagnostics.fit.record import KINDS
from course.diagnostics.fit.result import RehearsedRun

GIB = 2**30
TRAFFIC = Traffic(messages=4, hops=56, nbytes=7e9)  # 8 GPUs all-reduce 4 GB


class Made:
    """A client whose script needs 2 GiB for weights, and a quarter of a GiB for each sample."""

    def __init__(self, batch: int | None = 16) -> None:
        self.batch = batch
        self.requests: list[dict] = []

    def rehearse_all(self, setups: list[tuple[int, dict]]) -> list[Rehearsal | NotFollowed]:
        assert setups
        return [self._outcome(ranks, changes) for ranks, changes in setups]

    def _outcome(self, ranks: int, changes: dict) -> Rehearsal | NotFollowed:
        try:
            return self.rehearse(ranks, **changes)
        except NotFollowed as error:
            return error

    def rehearse(self, ranks: int, **changes: object) -> Rehearsal:
        self.requests.append(changes)
        if "checkpoint" in changes:
            raise NotFollowed("it fails then", "")
        batch = changes.get("batch", self.batch)
        weights = 2 * GIB // (ranks if "shard" in changes else 1)
        weights = 0 if "offload" in changes else weights
        activations = GIB // 4 * (batch or 16) // (2 if "autocast" in changes else 1)
        by = dict.fromkeys(KINDS, 0) | {"weights": weights, "activations": activations}
        series = [(0.0, by), (1.0, by), (3.0, by)]
        peak = weights + activations
        account = Account(peak, by, "train.py:41", 2, "backward", series, 3, True, 0, peak, TRAFFIC)
        applied = [name for name in ("batch", "autocast", "shard", "offload") if name in changes]
        return Rehearsal(ranks, account, ["train.py:57"], [], applied, self.batch)


def test_what_fits_needs_no_advice_but_the_largest_batch() -> None:
    result = answer.advise(Made(), [1, 2], [24 * GIB])
    assert [run.fits for run in result.runs] == [True, True]
    assert result.advice == [] and result.target is None
    batch, run = result.largest
    assert run.peak <= 24 * GIB < run.peak + GIB // 4
    assert batch == (24 * GIB - 2 * GIB - overhead.nbytes(2)) // (GIB // 4)


def test_what_does_not_fit_is_tried_with_changes() -> None:
    client = Made()
    memory = 3 * GIB + overhead.nbytes(4)  # room for 4 samples
    result = answer.advise(client, [1, 4], [memory])
    assert [run.fits for run in result.runs] == [False, False]
    assert result.target.rehearsal.ranks == 4
    first_words = [advice.do.split()[0] for advice in result.advice]
    assert first_words == ["batches", "batches", "bfloat16", "fully_shard", "fully_shard"]
    assert {"batch": 4, "passes": 4} in client.requests  # it fits, so no smaller one is tried
    assert {"batch": 2, "passes": 8} not in client.requests
    assert all(advice.peak > 0 for advice in result.advice)


def test_changes_that_are_not_enough_alone_are_tried_together() -> None:
    client = Made()
    memory = GIB + overhead.nbytes(
        4
    )  # half-size activations of 2 samples, a quarter of the weights
    result = answer.advise(client, [4], [memory])
    *alone, together = result.advice
    assert all(advice.peak > memory for advice in alone) and together.peak <= memory
    assert together.do.startswith("together, batches of 2, with 8 backward passes for each step; ")
    assert together.do.endswith("forward pass; fully_shard by layers over 4 GPUs instead of DDP")
    changes = {"batch": 2, "passes": 8, "autocast": True}
    sums = [wish for wish in client.requests if len(wish) > 2]
    assert sums == [changes, changes | {"shard": True}, changes | {"offload": True}]


def test_without_two_changes_that_help_none_are_tried_together() -> None:
    client = Made()
    plain = client.rehearse
    client.rehearse = lambda ranks, **changes: plain(ranks)
    assert answer.advise(client, [1], [GIB]).advice == []


def test_what_is_too_large_with_all_changes_shows_how_far_they_come() -> None:
    *_, together = answer.advise(Made(), [4], [GIB // 8]).advice
    assert together.do.startswith("together, ") and "CPUOffloadPolicy" in together.do


def test_the_json_is_as_promised() -> None:
    result = answer.advise(Made(), [1], [5 * GIB]).plain()
    (run,) = result["runs"]
    assert set(result) == {"runs", "advice", "assumed", "notes"}
    assert set(run) == {"gpus", "memory_bytes", "fits", "peak_bytes", "at", "by"}
    assert set(run["by"]) == set(KINDS) and sum(run["by"].values()) == run["peak_bytes"]
    assert run["at"] == "train.py:41" and result["assumed"] == ["train.py:57"]
    assert all(set(advice) == {"do", "peak_bytes"} for advice in result["advice"])


def test_a_script_without_loaders_gets_no_advice_on_batches() -> None:
    result = answer.advise(Made(batch=None), [2], [5 * GIB])
    assert result.largest is None
    assert not any("batches" in advice.do for advice in result.advice)


def test_a_sharded_script_may_fit_on_more_gpus() -> None:
    client = Made()
    plain = client.rehearse
    client.rehearse = lambda ranks, **changes: plain(ranks, **changes | {"shard": True})
    result = answer.advise(client, [1], [5 * GIB])
    (advice,) = [candidate for candidate in result.advice if candidate.do == "2 GPUs"]
    assert advice.peak == plain(2, shard=True).account.reserved + overhead.nbytes(2)


def test_an_estimate_lies_between_all_messages_hidden_and_none() -> None:
    result = answer.advise(Made(), [8, 16], [80 * GIB])
    result.one_gpu_s = 0.25
    near, far = [list(costs.forecasts(rehearsal, 0.25)) for rehearsal in result.rehearsals]
    seconds = {forecast.link: forecast.longest for forecast in near}
    assert seconds["NVLink"] == pytest.approx(0.25 + 7 / 432, rel=0.01)  # 432 GB/s, as fitted
    assert seconds["PCIe"] == pytest.approx(0.25 + 7 / 4.88, rel=0.02)
    assert [forecast.link for forecast in far] == ["EFA between nodes"]
    text = " ".join(str(result).split())
    assert "4 collectives, for which each GPU sends 6.52 GiB" in text
    assert "250 ms to 266 ms over NVLink" in text


def test_small_sizes_are_in_mib_and_nothing_is_zero() -> None:
    result = answer.advise(Made(batch=None), [1], [80 * GIB])
    assert "GiB at the peak" in str(result)
    by = dict.fromkeys(KINDS, 0) | {"weights": 3 * 2**20, "other": 8}
    small = replace(result.rehearsals[0].account, peak=3 * 2**20, reserved=20 * 2**20, by=by)
    run = RehearsedRun(replace(result.rehearsals[0], account=small), GIB)
    head, weights, gradients, *_, other = str(answer.FitAnswer([run])).splitlines()[2:9]
    assert head.split() == ["MiB", "at", "the", "peak", "1", "GPU"]
    assert weights.split()[1] == "3.00" and gradients.split()[1] == "0"
    assert other.split()[1:3] == ["<", "0.01"]


@pytest.mark.parametrize(("mib", "is_tiny"), [(2, True), (200, False)])
def test_a_tiny_model_is_told_that_cuda_takes_nearly_all(mib: int, is_tiny: bool) -> None:
    made = Made().rehearse(2)
    account = replace(made.account, reserved=mib * 2**20)
    run = RehearsedRun(replace(made, account=account), 80 * GIB)
    assert ("Tensors take less than 1 %" in str(answer.FitAnswer([run]))) is is_tiny


def test_words_and_picture_name_each_run() -> None:
    result = answer.advise(Made(), [1, 8], [5 * GIB, 80 * GIB])
    text = str(result)
    assert text.count("does not fit  ") == 2 and text.count("fits          ") == 2
    assert "train.py:57" in text and "not measured" in text
    assert max(map(len, text.splitlines())) <= 140
    assert "8 GPUs of 80 GiB: fits" in result.picture.alt


def test_one_rank_has_no_nccl() -> None:
    assert overhead.nbytes(1) < overhead.nbytes(2)
    assert all(part.address.startswith("https://") for part in overhead.parts(2))


@pytest.mark.parametrize("peak", [0, 1])
def test_to_the_byte(peak: int) -> None:
    made = Made().rehearse(1)
    exact = made.account.reserved + overhead.nbytes(1)
    account = replace(made.account, reserved=made.account.reserved + peak)
    assert RehearsedRun(replace(made, account=account), exact).fits is (peak == 0)
