"""The numbers by which `run` decides; how.md lists them, and those of `watch/thresholds.py`."""

MIN_SNAPSHOTS = 3  # each rank must have taken this many before the run is judged
PATIENCE_S = 300.0  # a run that has hung for this long is ended
WARN_AFTER_S = 30.0  # the user is warned of a run that has paused for this long
WORKING_BELOW_S = 1.0  # at a limit or an interrupt, a run that has paused for less is working
HUNG_AFTER_S = 3.0  # at a limit or an interrupt, a run that has paused for less may be working
PAUSE_FACTOR = 2  # so may one that has paused for less than this many times its longest pause
MAX_DELAY_S = 30.0  # a limit is put off for this long at most, until it is clear if the run works
MAX_EXTRA_CALLS = 4  # if one rank alone has made more calls than this, the script works that way
