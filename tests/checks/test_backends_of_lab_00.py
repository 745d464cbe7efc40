"""Lab 00: its table of backends on a machine with GPUs, tested with pretended GPUs."""

from pathlib import Path

import pytest
from support import pretended


@pytest.mark.slow
def test_gloo_is_not_asked_to_send_what_lies_on_a_gpu(tmp_path, monkeypatch):
    """One of Gloo's threads may raise the error and end the rank, so no `except` can catch it."""
    monkeypatch.chdir(pretended.written("00_start_here", tmp_path))
    run = pretended.on_gpus(Path("src"), "backends.py")
    assert pretended.fault(run) == ""  # pretended GPUs report such a message
    for rank in (0, 1):
        rows = [row for row in run.rows if row["rank"] == rank]
        works = {(row["way"], row["op"]): row["works"] for row in rows if "op" in row}
        refused = {case for case, outcome in works.items() if outcome.startswith("not tried")}
        assert refused == {("gloo, cuda", "send and receive")}
        assert works["nccl, cuda", "send and receive"] == "yes"
        assert works["gloo, cuda", "all-reduce"] == "yes"
        timed = {(row["way"], row["kib"]) for row in rows if "kib" in row}
        assert len(timed) == 9  # each of the three ways, at each of the three sizes
