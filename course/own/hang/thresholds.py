"""The numbers by which `run` decides; how.md lists them, and those of `watch/thresholds.py`."""

SNAPSHOTS = 3  # of each rank, before it is judged
PATIENCE_S = 300.0  # a run that has stood still for this long is ended
TOLD_S = 30.0  # the user is warned of a run that has stood for this long
MOVES_S = 1.0  # at a limit or an interrupt, a run that has stood for less is working
STANDS_S = 3.0  # ... and one that has stood for less may be working
TIMES = 2  # ... as may one that has stood less than that many times as long as it did before
LATE_S = 30.0  # a limit is put off for this long at most, until it is clear which of the two it is
SPARED = 5  # ... and by at most this many times itself, for the time in which the machine was busy
FEW = 4  # calls that one rank alone has made; more than these are how the script works
