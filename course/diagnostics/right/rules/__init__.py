"""The rules of `right`, with a file for each family; `RULES` has all of them."""

from course.diagnostics.right.rules import (
    changes,
    data,
    epochs,
    evaluations,
    files,
    gradients,
    losses,
    optimizers,
    resuming,
    settings,
    starts,
    steps,
)

RULES = (
    *starts.RULES, *settings.RULES, *data.RULES, *epochs.RULES, *gradients.RULES,
    *changes.RULES, *losses.RULES, *steps.RULES, *optimizers.RULES, *files.RULES,
    *evaluations.RULES, *resuming.RULES,
)  # fmt: skip
