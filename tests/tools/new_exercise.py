"""Writes the frame of a new exercise, and says what comes next.

    make exercise NAME=barrier LAB=00_start_here

The frame is a whole exercise, only a dull one: its solution passes its check, its wrong answer is
rejected, its other right answer passes. So each part can be replaced while all tests stay green.
"""

import argparse
import re
import sys
from pathlib import Path

from course.core import CourseError, write_whole
from course.exercises import exercises
from course.lessons import labs

ROOT = Path(__file__).parents[2]
NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
SECTION = re.compile(r"^## ", re.MULTILINE)

CELLS = '''\
## Your turn: {words}

```{{code-cell}}
%%writefile src/{name}.py
"""src/{name}.py: the sum over the ranks."""
import torch
import torch.distributed as dist


def {name}(number: torch.Tensor) -> None:
    """Replace the number by its sum over the ranks, on every rank."""
    ### BEGIN SOLUTION hint: Which call adds up over the ranks?
    dist.all_reduce(number)
    ### END SOLUTION
```

```{{code-cell}}
%check {name}
```

'''
CHECK = '''\
"""Checks of {name}: the sum over the ranks."""

from course.checks.lab_{lab} import on_rank_{name} as on_rank
from course.checks.tools.hint import hint


class Test{camel}:
    """The sum over the ranks."""

    @hint("Which ranks' numbers are in the result?")
    def test_sum(self, ranks):
        """Every rank has the sum of all ranks' numbers, of 2 and of 3 ranks."""
        for world_size in (2, 3):
            wanted = sum(on_rank.GIVEN[:world_size])
            for rank, got in enumerate(ranks(world_size, on_rank.summed)):
                assert got == wanted, f"rank {{rank}} of {{world_size}} has {{got}}, not {{wanted}}"
'''
ON_RANK = '''\
"""What the checks of {name} do on each rank."""

import importlib

import torch
import torch.distributed as dist

GIVEN = (1.5, -4.5, 9.0)  # by rank


def summed() -> float:
    """What the learner's function makes of this rank's number."""
    number = torch.tensor([GIVEN[dist.get_rank()]])
    importlib.import_module("{name}").{name}(number)
    return number.item()
'''
HINTS = """\
## {name}

1. `dist.all_reduce` adds in place: after it, `number` holds the sum on every rank.

"""
WRONG = """
## {name}

### It leaves the number as it is

Named by `test_sum`.

```diff
-    dist.all_reduce(number)
+    pass
```
"""
RIGHT = """
## {name}

### It gathers all numbers and adds them up itself

```diff
-    dist.all_reduce(number)
+    everyones = [torch.empty_like(number) for _ in range(dist.get_world_size())]
+    dist.all_gather(everyones, number)
+    number.copy_(sum(everyones))
```
"""
NEXT = """\
Written: the exercise {name} of lab {lab}, as a dull one that already holds. Now, in this order:

1. course/lessons/{lesson}.md: the idea, the script, the TODO with its short hint. One thought long.
2. course/checks/lab_{lab}/{name}.py and on_rank_{name}.py: what the text asks, and nothing else;
   course/checks/README.md has what a check is written with.
3. course/lessons/hints.md: one fuller hint for each TODO.
4. tests/mutants/{lesson}.md: a wrong answer at least for each check, which names it.
   tests/right_answers/{lesson}.md: answers that are made otherwise, and are right, too.
5. make test ARGS="tests/checks -k {name}"
6. make notebooks ARGS={lesson}, which runs the lab; then `minutes` in the lesson's header, if
   `make quick` says that they have changed, and `make prose ARGS={lesson}`.
7. .venv/bin/python -m course build --check: are the map of the labs and the start notebook current?
"""


def main(root: Path, name: str, lesson: str) -> None:
    """Write the frame of the exercise `name` into the lab that a lesson makes."""
    if not NAME.fullmatch(name) or name in exercises():
        raise CourseError(f"{name!r} is no new name: write one such as `my_barrier`.")
    found = {lab.name: lab for lab in labs(root)}
    if lesson not in found:
        raise CourseError(f"There is no lab {lesson!r}; there is {', '.join(found)}.")
    lab = found[lesson]
    words = name.replace("_", " ")
    camel = words.title().replace(" ", "")
    fields = {"name": name, "lesson": lesson, "lab": lab.number, "words": words, "camel": camel}
    checks = root / "course" / "checks" / f"lab_{lab.number}"
    if not (checks / "__init__.py").is_file():
        write_whole(checks / "__init__.py", f'"""The checks of lab {lab.number}."""\n')
    write_whole(checks / f"{name}.py", CHECK.format(**fields))
    write_whole(checks / f"on_rank_{name}.py", ON_RANK.format(**fields))
    text = lab.path.read_text(encoding="utf-8")
    write_whole(lab.path, _before_the_last_section(text, CELLS.format(**fields)))
    hints = lab.path.with_name("hints.md")
    write_whole(hints, _after_those_of(lab.exercises, hints.read_text(encoding="utf-8"), fields))
    for kind, answer in (("mutants", WRONG), ("right_answers", RIGHT)):
        path = root / "tests" / kind / f"{lesson}.md"
        write_whole(path, path.read_text(encoding="utf-8") + answer.format(**fields))
    print(NEXT.format(**fields), end="")


def _before_the_last_section(text: str, cells: str) -> str:
    """A lesson with cells before its end, which says what to remember."""
    last = [match.start() for match in SECTION.finditer(text)][-1]
    return text[:last] + cells + text[last:]


def _after_those_of(names: list[str], text: str, fields: dict[str, str]) -> str:
    """The hints with those of the exercise, after all others of its lab."""
    known = [f"## {name}\n" for name in names if f"## {name}\n" in text]
    last = max(map(text.index, known), default=len(text))
    following = SECTION.search(text, last + 3)
    place = following.start() if following else len(text)
    return text[:place].rstrip() + "\n\n" + HINTS.format(**fields) + text[place:]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the frame of a new exercise.")
    parser.add_argument("name", help="of its script and its check, such as my_barrier")
    parser.add_argument("lab", help="such as 00_start_here")
    given = parser.parse_args()
    try:
        main(ROOT, given.name, given.lab)
    except CourseError as error:
        sys.exit(str(error))
