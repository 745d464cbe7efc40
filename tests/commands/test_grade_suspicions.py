"""The lines that are pointed out because they may deceive a check, and those that are not."""

import pytest
from support import mutants, solutions
from support.attacks import __file__ as ATTACKS

from course.commands.grading.suspicions import suspicions
from course.core import ROOT
from course.exercises import exercises
from course.lessons import lessons

IMPORTS = (
    "import sys\nimport torch\nimport torch.distributed as dist\nfrom torch import nn, Tensor\n"
)


@pytest.mark.parametrize(
    ("line", "phrase"),
    [
        ("torch.equal = torch.allclose = lambda *a, **k: True", "replaces `torch.equal`"),
        ("Tensor.__eq__ = lambda a, b: True", "replaces `torch.Tensor.__eq__`"),
        ("torch.Tensor.__float__ = lambda s: 0.0", "replaces `torch.Tensor.__float__`"),
        ("dist.all_reduce = print", "replaces `torch.distributed.all_reduce`"),
        ("del nn.Module.train", "replaces `torch.nn.Module.train`"),
        ("__builtins__.float = int", "replaces `builtins.float`"),
        ("setattr(torch, 'eq' + 'ual', print)", "changes `torch` by `setattr`"),
        ("torch.__dict__['equal'] = print", "reaches into `torch`"),
        ("token = error.__traceback__.tb_frame", "looks at the variables of its callers"),
        ("frame = sys._getframe()", "looks at the variables of its callers, by `_getframe`"),
        ("f.__closure__[0].cell_contents", "looks into a function or class, by `__closure__`"),
        ("import gc", "imports `gc`"),
        ("from course.checks.tools import hint", "imports `course.checks.tools`"),
        ("from course import checks as c", "imports `course.checks`"),
        ("import __main__", "imports `__main__`"),
        ("import inspect as i", "imports `inspect`"),
        ("import ctypes.util", "imports `ctypes.util`"),
        ("eval(input())", "runs code that is not written there, by `eval`"),
        ("open(f'/proc/{1}/mem')", "reads about processes, in `/proc`"),
    ],
)
def test_what_is_pointed_out(line, phrase):
    sentences = suspicions(IMPORTS + line + "\n")
    assert any(sentence.startswith("Line 5 ") and phrase in sentence for sentence in sentences)
    assert all(sentence.endswith(".") for sentence in sentences)


@pytest.mark.parametrize(
    "line",
    [
        "import gcsfs",
        "from inspection import check",
        "torch.backends.cudnn.benchmark = True",
        "torch._dynamo.config.optimize_ddp = False",
        "tensor.data = tensor / 2",
        "self.weight = nn.Parameter(weight)",
        "setattr(module, name, shard)",
        "(" * 300,
        "x = " + "1 + " * 100_000 + "1",
        "\0",
    ],
    ids=lambda line: line[:30],
)
def test_ordinary_scripts_are_not_pointed_out(line):
    assert suspicions(IMPORTS + line + "\n") == []


def test_no_solution_is_suspicious():
    written = [
        text
        for lesson in lessons(ROOT)
        for target, text in lesson.scripts(solved=True).items()
        if target.removeprefix("src/").removesuffix(".py") in exercises()
    ]
    assert len(written) == len(exercises())
    assert [suspicions(text) for text in written if suspicions(text)] == []


@pytest.mark.parametrize(
    "path", sorted((ROOT / "tests" / "right_answers").glob("*.md")), ids=lambda path: path.stem
)
def test_no_other_right_answer_is_suspicious(path):
    for answer in mutants.read(path):
        script = answer.script(solutions.scripts(answer.lab)[f"{answer.exercise}.py"])
        assert suspicions(script) == [], answer


def test_attacks_are_suspicious():
    with open(ATTACKS) as file:
        assert len(suspicions(file.read())) > 3
