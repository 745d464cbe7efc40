"""The exercise of the page try_ring, as its Python judges and draws it, without a browser."""

import json
import re
import subprocess
import sys

import pytest
import torch
from support.ring_answers import BEGUN, RIGHT, SOLVED, solved
from support.ring_mutants import WRONG

from course.commands.web.ring import answer, check, picture, replay, tensors, trial
from course.core import ROOT

STAND_IN = tensors.torch(None)
# Every name of tensors that the page has, in an expression whose value torch has, too.
EXPRESSIONS = """
torch.tensor([1.0, 2.0, 3.0]).tolist()
[part.tolist() for part in torch.ones(10).tensor_split(4)]
[part.tolist() for part in torch.ones(3).tensor_split(5)]
[part.tolist() for part in torch.ones(10).chunk(4)]
[part.tolist() for part in torch.ones(5).chunk(4)]
[part.tolist() for part in torch.zeros(7).split(3)]
[part.tolist() for part in torch.zeros(7).split([3, 0, 4])]
type(torch.ones(4).tensor_split(2)).__name__
(torch.tensor([1.0, 2.0]) + torch.tensor([10.0, 20.0])).tolist()
(1 - torch.tensor([1.0, 2.0]) * 3 / 2).tolist()
(torch.ones(3) + torch.tensor([2.0])).tolist()
(torch.ones(1) + torch.tensor([2.0, 3.0])).tolist()
(torch.tensor([1.0, 2.0])[1] + 1).item()
(torch.tensor([1.0, 2.0])[-1] * torch.tensor([3.0, 4.0])).tolist()
torch.tensor([4.0, 5.0])[0].shape == ()
tuple(torch.tensor([4.0, 5.0])[1:].shape)
[float(x) for x in torch.tensor([4.0, 5.0])]
len(torch.ones(4)[1:3]), torch.ones(4).numel()
(-torch.ones(2)).tolist()
int(torch.tensor([4.0])[0]), float(torch.tensor([2.5]))
tuple(torch.ones(3).size()), torch.ones(3).size(0)
torch.tensor([3.0, 4.0]).sum().item()
bool((torch.ones(2) == torch.ones(2)).all())
torch.equal(torch.ones(2), torch.zeros(2))
torch.cat([torch.ones(1), torch.zeros(2)]).tolist()
torch.zeros_like(torch.ones(2)).tolist() + torch.ones_like(torch.zeros(1)).tolist()
torch.empty_like(torch.ones(2)).shape[0], torch.empty(3).numel()
torch.tensor([1.0]).view(-1).reshape(-1).flatten().contiguous().detach().clone().tolist()
torch.ones(2).add(1).sub(3).mul(2).div(4).tolist()
""".strip().splitlines()
# The same for what changes a tensor `x` of five numbers that `part` is a view of.
CHANGES = """
part += 1
part -= torch.tensor([1.0, 2.0])
part *= 3; part /= 2
part.add_(1).mul_(2).sub_(1).div_(2)
part.copy_(torch.tensor([7.0, 8.0]))
part.zero_()
part.fill_(4)
part[0] = 9
x[1:3] = torch.tensor([5.0, 6.0])
x[-1] += 1
part = part + 1
other = x.clone(); other += 1
x.view(-1)[0] = 5
x.tensor_split(2)[1].copy_(x[:2])
""".strip().splitlines()


def said(source: str) -> str:
    """All that the check says of a source."""
    return " ".join(line for verdict in check.check(source).verdicts for line in verdict.why)


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_are_accepted(name):
    report = check.check(RIGHT[name])
    assert report.passed, said(RIGHT[name])
    assert len(report.verdicts) == len(check.ASKED)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_rejected_and_told_why(name):
    source, words = WRONG[name]
    report = check.check(source)
    assert not report.passed
    assert words in said(source)
    holds = [verdict.holds for verdict in report.verdicts]
    fault = holds.index(False)
    assert holds[:fault] == [True] * fault  # and what comes after it is not judged
    assert holds[fault + 1 :] == [None] * (len(holds) - fault - 1)


def test_who_waits_for_whom_is_told_rank_by_rank():
    [ends, *_] = check.check(BEGUN).verdicts
    assert ends.why[:4] == tuple(
        f"Rank {rank} waits in send to rank {(rank + 1) % 4}, line 14: dist.send(leaving, right)"
        for rank in range(4)
    )
    assert BEGUN.splitlines()[13].strip() == "dist.send(leaving, right)"


def test_a_chain_that_ends_in_a_circle_names_only_the_circle():
    source = """import torch.distributed as dist


def all_reduce(flat):
    peer = {0: 1, 1: 2, 2: 3, 3: 2}[dist.get_rank()]
    dist.recv(flat, peer)
"""
    assert "They wait in a circle, 2 → 3 → 2." in said(source)


def test_messages_travel_in_rounds_of_one_port():
    [ring] = [check.check(SOLVED).run]
    assert ring.world.rounds == 6
    assert [len(ring.world.sent(round)) for round in range(1, 7)] == [4] * 6
    star = check.check(WRONG["all to rank 0 and back"][0]).run
    assert [(post.rank, post.peer) for round in range(1, 7) for post in star.world.sent(round)] == [
        (1, 0), (2, 0), (3, 0), (0, 1), (0, 2), (0, 3),
    ]  # fmt: skip


def test_the_picture_of_each_round_shows_the_vectors_of_that_round():
    run = check.check(SOLVED).run
    start = check.vectors()
    assert [run.vector(rank, 0) for rank in range(4)] == start
    for round in range(1, 4):  # after it, the chunk that came in holds one more rank's numbers
        for rank in range(4):
            chunk = (rank - round) % 4
            whose = [(rank - back) % 4 for back in range(round + 1)]
            place = slice(2 * chunk, 2 * chunk + 2)
            wanted = [sum(start[other][i] for other in whose) for i in range(8)][place]
            assert run.vector(rank, round)[place] == wanted
    drawn = [picture.draw(run, round) for round in range(7)]
    assert "Round 3 of 6: 8 of 32 sums complete" in drawn[3]
    assert "Rank 0 sends chunk C to rank 1." in drawn[3].alt
    assert "Round 6 of 6: 32 of 32 sums complete" in drawn[6]


def test_a_hang_is_drawn_with_who_waits_for_whom():
    drawn = picture.draw(check.check(BEGUN).run, 0)
    assert "All wait forever: 0 of 32 sums complete" in drawn
    assert "Rank 3 waits for rank 0." in drawn.alt


def test_the_page_gets_pictures_lines_and_what_was_printed():
    source = solved(("    chunks = flat", '    print("rank", rank, end="")\n    chunks = flat'))
    told = json.loads(answer.answer(source))
    assert told["passed"] and len(told["pictures"]) == 7 and told["rounds"] == list(range(7))
    assert told["printed"] == [f"rank {rank}: rank {rank}" for rank in range(4)]
    assert told["marks"] == []
    hung = json.loads(answer.answer(BEGUN))
    assert hung["marks"] == [{"rank": rank, "line": 14} for rank in range(4)]
    assert json.loads(answer.answer("def"))["pictures"] == []


def test_of_very_many_rounds_the_first_and_the_last_are_drawn():
    source = solved(("range(n - 1):  # all", "range(10 * n - 1):  # all"))
    told = json.loads(answer.answer(source))
    assert len(told["pictures"]) == answer.MOST_DRAWN and told["rounds"][-1] == 42


def test_an_all_reduce_and_a_barrier_do_what_they_say():
    source = """import torch.distributed as dist


def all_reduce(flat):
    dist.barrier()
    dist.all_reduce(flat)
    flat += dist.get_rank()
"""
    run = replay.run(replay.compiled(source), [[1.0, 2.0], [10.0, 20.0]])
    assert run.vectors == [[11.0, 22.0], [12.0, 23.0]]
    assert not run.waits and not run.failures


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
    [
        "torch.ones(2) + torch.ones(3)",
        "torch.ones(2)[2]",
        "torch.ones(3).split([1, 1])",
        "torch.ones(2).item()",
    ],
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


def test_the_page_has_the_code_a_first_picture_and_the_solution():
    text = trial.trial_page()
    assert "{{" not in text
    editor = re.search(r"<textarea.*?>(.*?)</textarea>", text, re.DOTALL)[1]
    assert editor.count("&#10;") == BEGUN.count("\n") and "\n" not in editor
    assert "Before: 0 of 32 sums complete" in text
    assert SOLVED.rstrip() in text
