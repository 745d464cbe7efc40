"""Twenty scripts by an author who had not seen the rules, and what `right` says of them today.

`score.toml` records what it said the first time, and never changes.
"""

import tomllib
from pathlib import Path

import pytest

TWENTY = Path(__file__).with_name("twenty")
EXPECTED = tomllib.loads((TWENTY / "expectations.toml").read_text())
SCORE = tomllib.loads((TWENTY / "score.toml").read_text())
KNOWN = (
    "fewshot_byhand", "reinforce_guard", "token_schedule", "lr_finder", "fsdp2_vit",
    "asr_buckets", "shard_stream", "accelerate_glue", "diffusion_ema", "detector", "smooth_trainer",
    "rnn_clamp",
)  # fmt: skip
pytestmark = [pytest.mark.slow, pytest.mark.sampled]


def _named(judge: object, name: str) -> list:
    return [finding for finding in judge(TWENTY / f"{name}.py").findings if not finding.note]


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_fault_is_named_first(judge: object, name: str) -> None:
    first = _named(judge, name)[0]
    assert first.what in EXPECTED[name]["what"]
    assert first.where in [*EXPECTED[name]["where"], SCORE[name].get("where")]


@pytest.mark.parametrize("name", sorted(set(EXPECTED) - set(KNOWN)))
def test_a_right_script_or_a_missed_fault_is_accused_of_nothing_else(
    judge: object, name: str
) -> None:
    accepted = EXPECTED[name].get("what", [])
    assert [finding.what for finding in _named(judge, name) if finding.what not in accepted] == []
