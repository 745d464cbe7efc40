"""The numbers by which `run` decides; how.md lists them, and those of `watch/thresholds.py`."""

SNAPSHOTS = 3  # each rank must have taken this many before the run is judged
PATIENCE_S = 300.0  # a run that has stood still for this long is ended
TOLD_S = 30.0  # the user is warned of a run that has stood for this long
MOVES_S = 1.0  # at a limit or an interrupt, a run that has stood for less is working
STANDS_S = 3.0  # at a limit or an interrupt, a run that has stood for less may be working
TIMES = 2  # a run that has stood for less than this many times its longest pause may be working
LATE_S = 30.0  # a limit is put off for this long at most, until it is clear whether the run works
FEW = 4  # if one rank alone has made more calls than this, that is how the script works
