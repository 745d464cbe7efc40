"""What ranks may print: very many lines, lines without an end, and bytes that are not text."""

from pathlib import Path

import pytest
from support.launching import Client, once

pytestmark = [pytest.mark.slow, pytest.mark.rest]


def test_many_lines(client: Client) -> None:
    answer = client.ranks(
        "import os\nfor i in range(200_000): print('line', i, 'of rank', os.environ['RANK'])\n"
    )
    assert answer["ok"]
    for rank in (0, 1):
        whole = Path(answer["log_dir"], f"rank{rank}.log").read_text().splitlines()
        assert whole == [f"line {i} of rank {rank}" for i in range(200_000)]
        assert answer["stdout"][rank].endswith(f"line 199999 of rank {rank}")
    assert answer["lines"] < 11_000
    assert answer["shown"].count("\n") < 450 and "… the rest is in " in answer["shown"]


@once
def test_lines_without_an_end(client: Client) -> None:
    source = """
    import sys, time
    from tqdm import tqdm
    for _ in tqdm(range(30), desc="steps", mininterval=0): time.sleep(0.001)
    sys.stdout.write("\\r 10 %")
    sys.stdout.write("\\r100 %\\nwindows\\r\\n")
    sys.stdout.write("x" * 300_000)
    sys.stdout.write("the end")
    """
    answer = client.ranks(source)
    assert answer["ok"]
    for rank in (0, 1):
        first, second, last = answer["stdout"][rank].splitlines()
        assert (first, second) == ("100 %", "windows")
        assert last.startswith("xxx") and len(last) < 3_000
        bar = answer["stderr"][rank]
        assert bar.startswith("steps: 100%") and "30/30" in bar and "\n" not in bar
        assert Path(answer["log_dir"], f"rank{rank}.log").read_text().endswith("the end")


@once
def test_output_that_is_not_text(client: Client) -> None:
    answer = client.ranks(
        "import os; os.write(1, b'caf\\xe9 \\x00\\xff\\xfe \\xe2\\x82\\xac\\n'); print('after')"
    )
    assert answer["ok"]
    assert answer["stdout"][0] == "caf� \x00�� €\nafter"
    log = Path(answer["log_dir"], "rank0.log").read_bytes()
    assert log == b"caf\xe9 \x00\xff\xfe \xe2\x82\xac\nafter\n"
