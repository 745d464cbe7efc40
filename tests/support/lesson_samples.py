"""A small good lesson, and a course in a temporary folder made of such lessons."""

from pathlib import Path

import nbformat

from course.lessons.notebooks import build, write_figures
from course.lessons.rules import select
from course.lessons.up_to_date import stale, stale_beside

NAME = "00_adding"  # the good lesson, as the first one of a course

HEADER = """\
---
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

"""

GOOD = (
    HEADER
    + '''\
# Adding up

How does a sum grow? See ![the sum](../images/sum.svg) and [the next lab](01_next.ipynb).

```{code-cell}
:tags: [nbval-ignore-output]

import os
print(os.getpid())
```

```{code-cell}
%%writefile src/adding.py
"""src/adding.py: adds."""


def add(a, b):
    ### BEGIN SOLUTION hint: what is "a" and b?
    total_of_both = a + b
    return total_of_both
    ### END SOLUTION


def twice(a):
    ### BEGIN SOLUTION hint: one addition
    return add(a, second_summand := a)
    ### END SOLUTION
```

```{code-cell}
import sys
sys.path.insert(0, "src")
print("a sum of", 2)
```

+++

Now a third one.

```{code-cell}
class Counter:
    def third(self):
        ### BEGIN SOLUTION hint: count
        third_answer_here = 3
        ### END SOLUTION
```
'''
)
NEXT = HEADER + "# Next\n\n```{code-cell}\n1 + 1\n```\n"
WIDGET = HEADER + "# W\n\n```{code-cell}\nimport ipywidgets\nipywidgets.IntSlider(value=7)\n```\n"
ELSEWHERE = HEADER + '# E\n\n```{code-cell}\nimport os\nos.getcwd() + "/x " + os.__file__\n```\n'
# A stand-in for the course's `%check`, with a verdict on a wrong solution.
CHECKED = (
    HEADER
    + """\
# C

```{code-cell}
class Verdict:
    def __repr__(self):
        return "my_sum: 4 of 5 checks hold."

get_ipython().register_magic_function(lambda line: Verdict(), magic_name="check")
```

```{code-cell}
%check my_sum
```
"""
)
CHECKS = {"my_sum"}
FIGURES = {"sum.svg": "<svg/>\n"}


def course(root: Path, **texts: str) -> Path:
    """Write lessons by name below ``root``, numbered in this order; return ``root``."""
    folder = root / "course" / "lessons"
    folder.mkdir(parents=True)
    for number, (name, text) in enumerate(texts.items()):
        (folder / f"{number:02}_{name}.md").write_text(text)
    return root


def code(*lines: str) -> str:
    """A lesson of one cell, whose code begins at line 11."""
    return "\n".join([HEADER + "# Title", "", "```{code-cell}", *lines, "```", ""])


def built(root: Path, *names: str) -> list[str]:
    """Build lessons below a root; return the failures."""
    chosen = select(root, names, FIGURES, checks=CHECKS)
    write_figures(root, FIGURES)
    return build(root, chosen, say=lambda line: None)


def complaints(root: Path) -> list[str]:
    """What is stale below a root."""
    chosen = select(root, [], FIGURES, checks=CHECKS)
    names = [lesson.name for lesson in chosen]
    return stale(root, chosen) + stale_beside(root, names, FIGURES)


def notebook(root: Path, folder: str, name: str = NAME) -> nbformat.NotebookNode:
    return nbformat.read(root / folder / f"{name}.ipynb", as_version=4)


def rewrite(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
