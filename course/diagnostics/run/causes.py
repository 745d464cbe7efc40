"""All causes that `run` can name."""

from course.diagnostics.finding import CauseInfo

# Why a run hangs.
HIDDEN_ERROR = CauseInfo(
    "hidden error",
    "a rank waits in a collective while an exception is on its way",
    "Let the exception out before any collective: no collective in `finally` or `except`, unless "
    "all ranks get there.",
    "04b",
)
TWO_THREADS = CauseInfo(
    "two threads",
    "two threads of a rank call collectives of one group",
    "Give the second thread a group of its own: `dist.new_group()`, called on all ranks.",
    "04b",
)
ENDED_RANK = CauseInfo(
    "ended rank",
    "a rank has come to its end, and others wait for it",
    "Have all ranks make the same number of steps and calls, or end together.",
    "04b",
)
NOT_JOINED = CauseInfo(
    "not joined",
    "a rank never joined the group",
    "Start as many processes as the world size says, with the same address and port.",
    "04b",
)
DIFFERENT_CALLS = CauseInfo(
    "different calls",
    "the ranks wait in different calls",
    "Have all ranks call the same collectives in the same order.",
    "04b",
)
MISSING_CALL = CauseInfo(
    "missing call",
    "some ranks wait in a collective that others did not call",
    "Call it on every rank or on none: take it out of the branch that only some ranks enter.",
    "04b",
)
SAME_CALL = CauseInfo(
    "same call",
    "all ranks wait in the same call",
    "Check that all ranks name the same root and send tensors of the same size, and that the "
    "network lets their messages through.",
    "04b",
)
UNMATCHED_MESSAGES = CauseInfo(
    "unmatched messages",
    "all ranks wait in messages between two ranks that do not meet",
    "Give each `send` a `recv` on the other rank, with the same tag and size. Where two ranks send "
    "to each other, let one of them receive first, or use `dist.batch_isend_irecv`.",
    "00",
)
OUTSIDE = CauseInfo(
    "outside",
    "no rank moves, and none waits for another rank",
    "Each line above shows what its rank waits for: find out why that never comes.",
)

# Why a run has failed.
DIFFERENT_SIZES = CauseInfo(
    "different sizes",
    "collectives of different sizes met",
    "Have all ranks make the same calls with tensors of the same size; where sizes differ by rank, "
    "send the sizes first.",
    "04b",
)
UNUSED_PARAMETERS = CauseInfo(
    "unused parameters",
    "a rank made no gradient for some parameters",
    "Use them on every rank, with `+ 0 * parameter.sum()` if need be, or wrap the model with "
    "`find_unused_parameters=True`.",
    "04b",
)
ERROR = CauseInfo("error", "an exception on one rank")
KILLED = CauseInfo(
    "killed",
    "a rank was killed",
    "Look for a lack of memory: `dmesg`, or the scheduler's log, says who was killed.",
)

# Notes.
LATER_LINE = CauseInfo(
    "later line", "on GPUs, where Python stands after the call that waits (a note)"
)
UNSEEN_RANKS = CauseInfo("unseen ranks", "ranks of other machines may be why (a note)")

ALL = (
    HIDDEN_ERROR, TWO_THREADS, ENDED_RANK, NOT_JOINED, DIFFERENT_CALLS, MISSING_CALL, SAME_CALL,
    UNMATCHED_MESSAGES, OUTSIDE, DIFFERENT_SIZES, UNUSED_PARAMETERS, ERROR, KILLED, LATER_LINE,
    UNSEEN_RANKS,
)  # fmt: skip
