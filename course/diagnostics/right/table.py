"""The table of what was compared: each row is equal, differs, or was not seen, with a reason."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from course.diagnostics.finding import Finding
from course.diagnostics.right.evidence import Evidence

EQUAL, DIFFERS, NOT_SEEN = "equal", "differs", "not seen"

START = "weights at start"
MODE = "training mode"
PRECISION = "precision"
SETTINGS = "optimizer's settings"
RATE = "learning rate"
SAMPLES = "samples of a step"
OWN = "own gradient"
USED = "gradient used = mean of the ranks'"
TARGET = "what one target counts"
ZERO = "gradients zero when a step begins"
BETWEEN = "between backward and step"
STEPS = "steps per backward pass"
AFTER = "weights after each step"
OTHERS = "models called without gradients"
BUFFERS = "buffers"
UNOPTIMIZED = "parameters in no optimizer"
FINITE = "non-finite gradients"
EPOCHS = "order of epochs"
SHARE = "samples of an epoch"
SCHEDULE = "schedule"
NOISE = "random numbers in the model"
EVALUATION = "evaluation"
FILES = "files written by several ranks"
RESUME = "resume"
ONE = "one process"  # the only row of `right --deep`

ORDER = (
    START, MODE, PRECISION, SETTINGS, RATE, SAMPLES, OWN, USED, TARGET, ZERO, BETWEEN, STEPS, AFTER,
    OTHERS, BUFFERS, UNOPTIMIZED, FINITE, EPOCHS, SHARE, SCHEDULE, NOISE, EVALUATION, FILES, RESUME,
)  # fmt: skip
# The samples and the own gradients must differ between the ranks, the order between epochs.
MUST_DIFFER = (SAMPLES, OWN, EPOCHS)


@dataclass(frozen=True)
class Row:
    """A row of the table: `name` is what was compared, `says` describes the result."""

    name: str
    state: str
    says: str

    def plain(self) -> dict[str, str]:
        """The row as plain data for JSON."""
        return {"row": self.name, "state": self.state, "says": self.says}


Result = list[Finding | Row]
Rule = Callable[[Evidence], Result]


def first_of(name: str, judges: Iterable[Callable[..., Finding | None]], *args: object) -> Result:
    """The first finding of the judges, with the row of this name; empty if they find nothing."""
    for judge in judges:
        if finding := judge(*args):
            return [Row(name, DIFFERS, finding.says), finding]
    return []


def shorten(names: list[str]) -> str:
    """The first three names in backquotes, and how many more there are."""
    shown = ", ".join(f"`{name}`" for name in names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"
