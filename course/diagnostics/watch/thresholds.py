"""The numbers that decide whether a rank is working; `run/how.md` explains each."""

SNAPSHOT_S = 0.5  # seconds from one snapshot of a rank to the next
BUSY_CORE = 0.2  # the share of a core above which a process computes
POLLS_S = 5e-4  # a thread that runs for less than this each time it gets a core only polls
READS = 1 << 20  # bytes per second above which it reads or writes
STALE_S = 10.0  # a process that has taken no snapshot for this long is holding Python's lock
GONE_S = 60.0  # a process on another machine that has written nothing for this long has ended
