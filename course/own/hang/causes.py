"""Everything that `run` can name, with its cure and the lab that teaches it."""

from dataclasses import dataclass

from course.own.finding import Finding


@dataclass(frozen=True)
class Known:
    """What is `seen` of a cause in a few words, and what helps against it."""

    seen: str
    cure: str
    lab: str = "04b"


KNOWN = {
    # A run that stands still.
    "hidden error": Known(
        "a rank waits in a collective while an exception is on its way",
        "Let the exception out before any collective: no collective in `finally` or `except`, "
        "unless all ranks get there.",
    ),
    "two threads": Known(
        "two threads of a rank call collectives of one group",
        "Give the second thread a group of its own: `dist.new_group()`, called on all ranks.",
    ),
    "ended rank": Known(
        "a rank has come to its end, and others wait for it",
        "Have all ranks make the same number of steps and calls, or end together.",
    ),
    "not joined": Known(
        "a rank never joined the group",
        "Start as many processes as the world size says, with the same address and port.",
    ),
    "different calls": Known(
        "the ranks wait in different calls",
        "Have all ranks call the same collectives in the same order.",
    ),
    "missing call": Known(
        "some ranks wait in a collective that others did not call",
        "Call it on every rank or on none: take it out of the branch that only some ranks enter.",
    ),
    "same call": Known(
        "all ranks wait in the same call",
        "Check that all ranks name the same root and send tensors of the same size, and that the "
        "network lets their messages through.",
    ),
    "outside": Known(
        "no rank moves, and none waits for another rank",
        "Each line above shows what its rank waits for: find out why that never comes.",
        "",
    ),
    # A run that has failed.
    "different sizes": Known(
        "collectives of different sizes met",
        "Have all ranks make the same calls with tensors of the same size; where sizes differ by "
        "rank, send the sizes first.",
    ),
    "unused parameters": Known(
        "a rank made no gradient for some parameters",
        "Use them on every rank, with `+ 0 * parameter.sum()` if need be, or wrap the model with "
        "`find_unused_parameters=True`.",
    ),
    "error": Known("an exception on one rank", "", ""),
    "killed": Known("a rank was killed", "Look for a lack of memory: `dmesg`, or the scheduler's "
                    "log, says who was killed.", ""),
}  # fmt: skip


def finding(what: str, says: str, **more: object) -> Finding:
    """Make a finding of the list, with its cure and its lab."""
    known = KNOWN[what]
    return Finding(what, says, **({"cure": known.cure, "lab": known.lab} | more))
