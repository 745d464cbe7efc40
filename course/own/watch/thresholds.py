"""The numbers by which a rank is seen to work; `hang/how.md` says what each is for."""

SNAPSHOT_S = 0.5  # seconds from one look at a rank to the next
BUSY_CORE = 0.2  # the share of a core from which on a process computes
READS = 1 << 20  # bytes a second from which on it reads or writes
STALE_S = 10.0  # a process that has not looked at itself for so long keeps Python's lock
GONE_S = 60.0  # a process of another machine that has written nothing for so long has ended
