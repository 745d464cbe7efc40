"""Writes the frame of a new exercise, and says what comes next.

    make exercise NAME=barrier LAB=00_start_here

The frame is a whole exercise, only a dull one: its solution passes its check, its wrong answer is
rejected, its other right answer passes. So each part can be replaced while the tests of the
exercise stay green; those of the notebooks and the README fail until the last steps.

A lab that does not exist yet is begun: `LAB=14_my_lab`.
"""

import argparse
import re
import sys
from pathlib import Path

from course.core import CourseError, write_whole
from course.exercises import exercises
from course.lessons import Lesson, labs

ROOT = Path(__file__).parents[2]
NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
LESSON = re.compile(r"(?P<number>\d\d[a-z]?)_[a-z0-9]+(_[a-z0-9]+)*")
SECTION = re.compile(r"^## ", re.MULTILINE)

LAB = '''\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
course:
  minutes: 30  # to read and write
  seconds: 15  # that the solved cells run
  needs: ["{before}"]
---

# What question does this lab answer?

Say in one sentence what goes wrong without the idea of this lab, and in one what the idea is.

> - **After this lab** you can do what this sentence promises.
> - **You need** lab {before}; no GPU.
> - **Time:** about {{{{ minutes }}}} minutes to read and write. Its cells, solved, run in
>   about {{{{ seconds }}}} s on two CPU cores.

```{{code-cell}}
%load_ext course
```

## Which question does this section answer?

Say why a reader would ask it, and link each word that may be new, such as
[rank](../labs/glossary.md#rank). Then say what the script below does, which number to look at, and
what you expect of it. A lab has at least four words of prose for each line of code, and something
to do every 150 lines. Replace this paragraph and the script by your own: as they stand, they have
all that a finished lab has, and `make quick` tells you what your text still lacks.

```{{code-cell}}
%%writefile src/{script}_first.py
"""src/{script}_first.py: what every rank knows of itself.

    torchrun --standalone --nproc-per-node 2 src/{script}_first.py
"""
import torch.distributed as dist
from course import log

dist.init_process_group("gloo")
log(rank=dist.get_rank(), ranks=dist.get_world_size())
dist.destroy_process_group()
```

```{{code-cell}}
:tags: [nbval-ignore-output]

run = %torchrun --standalone --nproc-per-node 2 src/{script}_first.py
run.metrics
```

## What stays

**Remember.** One sentence that a reader should still know in a year.
'''

CELLS = '''\
## Your turn: {words}

```{{code-cell}}
%%writefile src/{name}.py
"""src/{name}.py: the mean over the ranks."""
import torch
import torch.distributed as dist


def {name}(number: torch.Tensor) -> None:
    """Replace the number by its mean over the ranks, on every rank."""
    ### BEGIN SOLUTION hint: Which call adds up over the ranks?
    dist.all_reduce(number)
    number /= dist.get_world_size()
    ### END SOLUTION
```

```{{code-cell}}
%check {name}
```

'''
CHECK = '''\
"""Checks of {name}: the mean over the ranks."""

from course.checks.lab_{lab} import on_rank_{name} as on_rank
from course.checks.tools.hint import hint


class Test{camel}:
    """The mean over the ranks."""

    @hint("Which ranks' numbers are in the result?")
    def test_mean(self, ranks):
        """Every rank has the mean of all ranks' numbers, of 2 and of 3 ranks."""
        for world_size in (2, 3):
            mean = sum(on_rank.NUMBERS[:world_size]) / world_size
            for rank, result in enumerate(ranks(world_size, on_rank.result)):
                assert result == mean, f"rank {{rank}} of {{world_size}}: {{result}}, not {{mean}}"
'''
ON_RANK = '''\
"""What the checks of {name} do on each rank."""

import importlib

import torch
import torch.distributed as dist

NUMBERS = (1.5, -4.5, 9.0)  # by rank


def result() -> float:
    """What the learner's function makes of this rank's number."""
    number = torch.tensor([NUMBERS[dist.get_rank()]])
    importlib.import_module("{name}").{name}(number)
    return number.item()
'''
HINTS = """\
## {name}

1. `dist.all_reduce` adds in place: after it, `number` holds the sum on every rank. Divide that.

"""
WARNING = '\n    ("{name}", "Divide that", "It leaves the sum as it is"),\n]\n'
ANSWERS = "# {kind} answers to the exercises of lab {lab}\n"
WRONG = """
## {name}

### It leaves the sum as it is

Named by `test_mean`.

```diff
-    number /= dist.get_world_size()
```
"""
RIGHT = """
## {name}

### It gathers all numbers and adds them up itself

```diff
-    dist.all_reduce(number)
-    number /= dist.get_world_size()
+    numbers = [torch.empty_like(number) for _ in range(dist.get_world_size())]
+    dist.all_gather(numbers, number)
+    number.copy_(sum(numbers) / len(numbers))
```
"""
NEXT = """\
Written: the exercise {name} of lab {lab}, a placeholder whose own tests pass already. Tests of the
notebooks fail until steps 6 and 7, tests/project/test_readme.py until step 8. Now, in this order:

1. course/lessons/{lesson}.md: the idea, the script, the TODO with its short hint. Keep it to one
   idea, and wrap the text at 120 columns.
2. course/checks/lab_{lab}/{name}.py and on_rank_{name}.py: what the text asks, and nothing else;
   course/checks/README.md has what a check is written with.
3. course/lessons/hints.md: one fuller hint for each TODO. Each exercise's hints must warn of at
   least one mutant: change its row in WARNINGS of tests/lessons/test_hints_hold.py with the hint.
4. tests/mutants/{lesson}.md: a wrong answer at least for each check, which names it.
   tests/right_answers/{lesson}.md: correct answers written differently.
   tests/support/answers.py describes the format.
5. make test ARGS="tests/checks -k {name}"
   PYTHONPATH=tests .venv/bin/python tests/tools/change_solutions.py build/changes {name}
6. make notebooks ARGS={lesson}, which runs the lab; then `minutes` in the lesson's header, if
   `make quick` says that they have changed, and `make prose ARGS={lesson}`.
7. make notebooks ARGS=start: its stored outputs count the labs and exercises. Step 6 also rebuilds
   images/labs_map.svg: commit both. Then .venv/bin/python -m course build --check prints nothing.
8. README.md: the number of exercises, and the minutes and hours of the lab if they have changed.
"""
OF_A_NEW_LAB = """\

The lab is new, so it also needs, by hand:

9. course/lessons/{before_lesson}.md: its last cell ends with `Next: [TITLE]({lesson}.ipynb)`;
   then make prose ARGS={before_lesson}.
10. README.md and TEACHING.md: the row of the lab, its hours, and the number of labs.
11. labs/glossary.md: its new words. course/lessons/sources.toml: each link to somebody's page.
12. course/lessons/lesson.py: its number in CORE, if the other labs build on it.
"""


def main(root: Path, name: str, lesson: str) -> None:
    """Write the frame of the exercise `name` into the lab that a lesson makes, or will make."""
    if not NAME.fullmatch(name) or name in exercises():
        raise CourseError(f"{name!r} is not a new name: write one such as `my_barrier`.")
    every = labs(root)
    earlier = [lab for lab in every if lab.name <= lesson]
    is_new = lesson not in [lab.name for lab in every]
    number = _new_number(lesson, every) if is_new else earlier[-1].number
    words = name.replace("_", " ")
    fields = {
        "name": name,
        "lesson": lesson,
        "lab": number,
        "words": words,
        "camel": words.title().replace(" ", ""),
        "script": lesson.partition("_")[2],
        "before": earlier[-1].number,
        "before_lesson": earlier[-1].name,
    }
    files = _files(root, fields, [name for lab in earlier for name in lab.exercises], is_new)
    for path, text in files.items():
        write_whole(path, text)
    print(NEXT.format(**fields), end="")
    if is_new:
        print(OF_A_NEW_LAB.format(**fields), end="")


def _new_number(lesson: str, every: list[Lesson]) -> str:
    """The number of a lab that does not exist yet."""
    match = LESSON.fullmatch(lesson)
    if not match or match["number"] in [lab.number for lab in every]:
        there = ", ".join(lab.name for lab in every)
        raise CourseError(
            f"There is no lab {lesson!r}; there is {there}. "
            "A new one has a number of its own, as in `14_my_lab`."
        )
    return match["number"]


def _files(root: Path, fields: dict[str, str], earlier: list[str], is_new: bool) -> dict[Path, str]:
    """The text of each file to write, by its path.

    `earlier` are the exercises of the labs up to this one; `is_new` says whether the lab is.
    """
    lessons, checks = root / "course" / "lessons", root / "course" / "checks"
    folder, lesson = checks / f"lab_{fields['lab']}", lessons / f"{fields['lesson']}.md"
    hints, warnings = lessons / "hints.md", root / "tests" / "lessons" / "test_hints_hold.py"
    text = LAB.format(**fields) if is_new else lesson.read_text(encoding="utf-8")
    files = {
        lesson: _before_the_last_section(text, CELLS.format(**fields)),
        hints: _after_those_of(earlier, hints.read_text(encoding="utf-8"), fields),
        warnings: warnings.read_text("utf-8").replace("\n]\n", WARNING.format(**fields)),
        folder / f"{fields['name']}.py": CHECK.format(**fields),
        folder / f"on_rank_{fields['name']}.py": ON_RANK.format(**fields),
    }
    if not (folder / "__init__.py").is_file():
        files[folder / "__init__.py"] = f'"""The checks of lab {fields["lab"]}."""\n'
    for kind, of, answer in (("Wrong", "mutants", WRONG), ("Right", "right_answers", RIGHT)):
        path = root / "tests" / of / f"{fields['lesson']}.md"
        title = ANSWERS.format(kind=kind, **fields)
        known = path.read_text(encoding="utf-8") if path.is_file() else title
        files[path] = known + answer.format(**fields)
    return files


def _before_the_last_section(text: str, cells: str) -> str:
    """A lesson with cells before its end, which says what to remember."""
    last = [match.start() for match in SECTION.finditer(text)][-1]
    return text[:last] + cells + text[last:]


def _after_those_of(names: list[str], text: str, fields: dict[str, str]) -> str:
    """The hints with those of the exercise, after those of the exercises before it."""
    known = [f"## {name}\n" for name in names if f"## {name}\n" in text]
    last = max(map(text.index, known), default=len(text))
    following = SECTION.search(text, last + 3)
    place = following.start() if following else len(text)
    return text[:place].rstrip() + "\n\n" + HINTS.format(**fields) + text[place:]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the frame of a new exercise.")
    parser.add_argument("name", help="of its script and its check, such as my_barrier")
    parser.add_argument("lab", help="such as 00_start_here, or a new one")
    args = parser.parse_args()
    try:
        main(ROOT, args.name, args.lab)
    except CourseError as error:
        sys.exit(str(error))
