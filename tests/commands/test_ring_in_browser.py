"""The exercise of the page try_ring: its verdicts and pictures, without a browser."""

import json
import subprocess
import sys

import pytest
import torch
from support.ring_answers import BEGUN, RIGHT, SOLVED, WRONG, solved

from course.commands.web.ring import answer, check, picture, tensors
from course.core import ROOT

STAND_IN = tensors.torch(None)
# What the page's tensors can do: expressions that have the same value in torch ...
EXPRESSIONS = """
[part.tolist() for part in torch.zeros(10).tensor_split(4)]
[part.tolist() for part in torch.zeros(3).tensor_split(5)]
[part.tolist() for part in torch.zeros(5).chunk(4)]
[part.tolist() for part in torch.zeros(7).split(3)]
[part.tolist() for part in torch.zeros(7).split([3, 0, 4])]
type(torch.zeros(4).tensor_split(2)).__name__
(torch.tensor([1.0, 2.0]) + torch.tensor([10.0, 20.0])).tolist()
(1 + torch.tensor([1.0, 2.0]) * 3 / 2 - torch.tensor([4.0])).tolist()
tuple(torch.tensor([4.0, 5.0])[1:].shape), len(torch.zeros(4)[1:3]), torch.zeros(4).numel()
[float(x) for x in torch.tensor([4.0, 5.0])] + [float(torch.tensor([4.0, 5.0])[-1])]
torch.cat([torch.zeros(1), torch.tensor([2.0])]).tolist()
torch.zeros_like(torch.tensor([2.0])).tolist(), len(torch.empty_like(torch.empty(3)))
""".strip().splitlines()
# ... and changes to a tensor `x` of five numbers, of which `part` is a view.
CHANGES = """
part += 1
part -= torch.tensor([1.0, 2.0])
part *= 3; part /= 2
part.add_(torch.tensor([7.0, 8.0])).copy_(part)
part.zero_()
part[0] = 9
x[1:3] = torch.tensor([5.0, 6.0])
x[-1] += 1
part = part + 1
other = x.clone(); other += 1
x.tensor_split(2)[1].copy_(x[:2])
""".strip().splitlines()


def reasons(source: str) -> str:
    """All reasons that the check gives for a source."""
    return " ".join(line for verdict in check.judge(source).verdicts for line in verdict.why)


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_are_accepted(name):
    report = check.judge(RIGHT[name])
    assert report.passed, reasons(RIGHT[name])
    assert len(report.verdicts) == len(check.CLAIMS)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_rejected_and_the_reason_is_named(name):
    source, words = WRONG[name]
    report = check.judge(source)
    assert not report.passed
    assert words in reasons(source)
    holds = [verdict.holds for verdict in report.verdicts]
    fault = holds.index(False)
    assert holds[:fault] == [True] * fault  # and the claims after it are not judged
    assert holds[fault + 1 :] == [None] * (len(holds) - fault - 1)


def test_messages_travel_in_rounds_of_one_port():
    ring = check.judge(SOLVED).run
    assert [len(ring.world.sent(round)) for round in range(1, ring.world.rounds + 1)] == [4] * 6
    star = check.judge(WRONG["all to rank 0 and back"][0]).run
    sent = [post for round in range(1, 7) for post in star.world.sent(round)]
    pairs = [(post.rank, post.peer) for post in sent]
    assert pairs == [(1, 0), (2, 0), (3, 0), (0, 1), (0, 2), (0, 3)]


def test_the_picture_of_each_round_shows_the_vectors_of_that_round():
    run = check.judge(SOLVED).run
    start = check.vectors()
    assert [run.vector(rank, 0) for rank in range(4)] == start
    for round in range(1, 4):  # after each, the received chunk has one more rank's numbers
        for rank in range(4):
            chunk = (rank - round) % 4
            whose = [(rank - back) % 4 for back in range(round + 1)]
            place = slice(2 * chunk, 2 * chunk + 2)
            sums = [sum(start[other][i] for other in whose) for i in range(8)][place]
            assert run.vector(rank, round)[place] == sums
    assert "Round 3 of 6: 8 of 32 sums complete" in picture.draw(run, 3)
    assert "Rank 0 sends chunk C to rank 1." in picture.draw(run, 3).alt
    assert "Rank 3 waits for rank 0." in picture.draw(check.judge(BEGUN).run, 0).alt


def test_the_page_gets_pictures_lines_and_what_was_printed():
    source = solved(("    chunks = flat", '    print("rank", rank, end="")\n    chunks = flat'))
    right = json.loads(answer.answer(source))
    assert right["passed"] and len(right["pictures"]) == 7 and right["rounds"] == list(range(7))
    assert right["printed"] == [f"rank {rank}: rank {rank}" for rank in range(4)]
    assert right["marks"] == []
    hung = json.loads(answer.answer(BEGUN))
    assert hung["marks"] == [{"rank": rank, "line": 14} for rank in range(4)]
    assert json.loads(answer.answer("def"))["pictures"] == []
    long = json.loads(answer.answer(solved(("range(n - 1):  # all", "range(10 * n - 1):  # all"))))
    assert len(long["pictures"]) == answer.MAX_DRAWN and long["rounds"][-1] == 42


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_tensor_is_what_it_is_in_torch(expression):
    assert eval(expression, {"torch": STAND_IN}) == eval(expression, {"torch": torch})


@pytest.mark.parametrize("change", CHANGES)
def test_a_tensor_changes_as_it_does_in_torch(change):
    after = []
    for library in (STAND_IN, torch):
        names = {"torch": library, "x": library.tensor([1.0, 2.0, 3.0, 4.0, 5.0])}
        exec(f"part = x[1:3]\n{change}", names)
        after.append((names["x"].tolist(), names["part"].tolist()))
    assert after[0] == after[1]


@pytest.mark.parametrize(
    "wrong",
    ["torch.zeros(2) + torch.zeros(3)", "torch.zeros(2)[2]", "torch.zeros(3).split([1, 1])"],
)
def test_what_torch_refuses_is_refused(wrong):
    kinds = []
    for library in (STAND_IN, torch):
        with pytest.raises(Exception) as raised:
            eval(wrong, {"torch": library})
        kinds.append(raised.type)
    assert kinds[0] is kinds[1]


def test_the_browser_needs_nothing_that_it_does_not_have():
    heavy = ["numpy", "torch", "pandas", "matplotlib", "IPython", "ipywidgets", "anywidget"]
    code = f"""
import sys
for name in {heavy}:
    sys.modules[name] = None
from course.commands.web.ring import answer
assert '"passed": true' in answer.answer({SOLVED!r})
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
