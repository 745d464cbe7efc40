"""The text of each file that `make exercise` writes, with placeholders for the names.

A sentence of the lesson that the author replaces begins with TO WRITE, which `finished` refuses,
so that no exercise is taken for finished while it is the mean over the ranks.
"""

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

# TO WRITE: which question does this lab answer?

TO WRITE: in one sentence what goes wrong without the idea of this lab, and in one what the idea is.

> - **After this lab** TO WRITE: what you can do.
> - **You need** lab {before}; no GPU.
>   TO WRITE: name the labs that this one builds on, here and in `needs` above.
> - **Time:** about {{{{ minutes }}}} minutes to read and write. Its cells, solved, run in
>   about {{{{ seconds }}}} s on two CPU cores.

```{{code-cell}}
%load_ext course
from course.notebook import claims, it_was
```

## TO WRITE: which question does this section answer?

TO WRITE: why a reader would ask it. Link each word that may be new, such as
[rank](../labs/glossary.md#rank). Then say what the script below does, which number to look at, and
what you expect of it. A lab has at least four words of prose for each line of code, and something
to do every 150 lines. Replace this paragraph and the script by your own: apart from the words in
capitals, they have all that a finished lab has, and `make quick` tells you what your text lacks.

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

%%guess {script}_rows rows
TO WRITE: a question that a number answers. How many rows does the table have that the run logs?
```

```{{code-cell}}
:tags: [nbval-ignore-output]

run = %torchrun --standalone --nproc-per-node 2 src/{script}_first.py
it_was("{script}_rows", len(run.metrics))
run.metrics
```

## Claims and measurements

```{{code-cell}}
:tags: [nbval-ignore-output, hide-input]

# Claims, and what was measured
if run.ok:
    display(claims([
        ("TO WRITE: what is often said.", f"{{run.wall_s:.1f}} s for a run"),
        ("TO WRITE: what the lab asked.", f"{{len(run.metrics)}} rows", "{script}_rows"),
    ]))
```

**Remember.** TO WRITE: one sentence that a reader should still know in a year.{following}
'''

CELLS = '''\
## Your turn: {words}

TO WRITE: the idea of this exercise, in place of the mean over the ranks, and what its check asks.

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
ANSWERS = "# {kind} answers to the exercises of lab {lab}\n"
WRONG = """
## {name}

### It leaves the sum as it is

Named by `test_mean`, warned of by "Divide that".

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
