"""Everything that `right` can name; in `ALL`, causes come before consequences."""

from course.diagnostics.finding import CauseInfo

START = CauseInfo("start", "the weights differ when training starts", lab="03")
OTHER_MODEL = CauseInfo(
    "other model",
    "a model that is only evaluated, such as a teacher, differs",
    "Build it from the same seed or checkpoint on all ranks, copy it from the model after DDP has "
    "made that equal, or broadcast its weights.",
    "03",
)
RESUME = CauseInfo(
    "resume", "a training goes on from different states, or from a part of one", lab="04"
)
MODE = CauseInfo("mode", "ranks train in different modes, or in evaluation")
PRECISION = CauseInfo(
    "precision",
    "ranks compute in different precision",
    "Choose the dtype and autocast from what is the same on all ranks.",
    "05b",
)
SETTINGS = CauseInfo(
    "settings",
    "an optimizer's settings other than the learning rate differ",
    "Give the optimizer the same settings on all ranks.",
    "04c",
)
LEARNING_RATE = CauseInfo(
    "learning rate",
    "the learning rates differ",
    "Let all ranks decide by the same numbers: average a loss over the ranks before a schedule "
    "sees it, and scale a rate by the world size on all ranks.",
    "04c",
)
SAME_DATA = CauseInfo("same data", "ranks compute on the same samples", lab="03")
REPEATED_DATA = CauseInfo("repeated data", "samples come several times in an epoch", lab="03")
PART_OF_THE_DATA = CauseInfo("part of the data", "an epoch leaves out samples", lab="03")
CHANGED_GRADIENT = CauseInfo(
    "changed gradient",
    "a rank changes its gradient after the average",
    "Change gradients on all ranks alike, or before they are averaged.",
    "04c",
)
NOT_AVERAGED = CauseInfo("not averaged", "a rank uses its own gradient", lab="03")
NOT_ZEROED = CauseInfo(
    "not zeroed",
    "the gradients of the step before are still there",
    "Call optimizer.zero_grad() once per step, on all ranks.",
    "07b",
)
FACTOR = CauseInfo("factor", "the gradients are a multiple of the mean", lab="03")
MEAN_OF_MEANS = CauseInfo(
    "mean of means",
    "targets count unequally",
    "Sum the losses, divide by the number of targets of all ranks and passes, and multiply by the "
    "number of ranks, since DDP divides by it.",
    "04e",
)
NON_FINITE = CauseInfo(
    "non-finite",
    "a loss or a gradient is not finite",
    "Find the sample that does it; clamp what is divided by, and let all ranks leave out such a "
    "step together.",
    "04c",
)
CLIP = CauseInfo("clip", "gradients are clipped too early, or differently on different ranks")
SKIPPED_STEP = CauseInfo(
    "skipped step",
    "a rank leaves out a step",
    "Decide on all ranks alike: all-reduce the flag (with MAX) that skips a step.",
    "04e",
)
NEVER_UPDATED = CauseInfo("never updated", "a parameter is in no optimizer")
SCHEDULE = CauseInfo("schedule", "a schedule is too fast")
DRIFT = CauseInfo(
    "drift", "weights drift apart between or within steps, for no reason named above", lab="04c"
)
ORDER_OF_EPOCHS = CauseInfo(
    "order of epochs", "every epoch has the same order, or the ranks' orders differ"
)
BUFFERS = CauseInfo(
    "buffers",
    "buffers differ, and are evaluated or saved",
    "Let DDP broadcast buffers, use SyncBatchNorm, or average the buffers before you evaluate or "
    "save.",
    "03",
)
EVALUATION = CauseInfo(
    "evaluation", "an evaluation counts a share as the whole, or samples twice", lab="07b"
)
SAME_FILE = CauseInfo(
    "same file",
    "several ranks write one file",
    "Let rank 0 write it, or put the rank into the name.",
    "04c",
)
NOISE = CauseInfo(
    "noise",
    "ranks draw the same random numbers (a note)",
    "If you want other noise on each rank, seed with seed + rank after the model is built.",
    "04",
)

ALL = (
    START, OTHER_MODEL, RESUME, MODE, PRECISION, SETTINGS, LEARNING_RATE, SAME_DATA, REPEATED_DATA,
    PART_OF_THE_DATA, CHANGED_GRADIENT, NOT_AVERAGED, NOT_ZEROED, FACTOR, MEAN_OF_MEANS, NON_FINITE,
    CLIP, SKIPPED_STEP, NEVER_UPDATED, SCHEDULE, DRIFT, ORDER_OF_EPOCHS, BUFFERS, EVALUATION,
    SAME_FILE, NOISE,
)  # fmt: skip
