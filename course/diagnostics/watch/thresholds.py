"""The numbers by which a rank is seen to work; `run/how.md` says what each is for."""

SNAPSHOT_S = 0.5  # seconds from one snapshot of a rank to the next
BUSY_CORE = 0.2  # the share of a core above which a process computes
POLLS_S = 5e-4  # a thread that runs for less each time it has a core only polls
READS = 1 << 20  # bytes per second above which it reads or writes
STALE_S = 10.0  # a process that has taken no snapshot for this long keeps Python's lock
GONE_S = 60.0  # a process of another machine that has written nothing for this long has ended
