"""The protocol of a run: the messages between its processes."""

import socket
import threading

import pytest

from course.launch.channel import LONGEST, Channel
from course.launch.messages import (
    MESSAGES,
    Done,
    Interrupt,
    Lines,
    Logged,
    Message,
    Note,
    ProcessEnded,
    ProcessRefused,
    ProcessStarted,
    Progress,
    RankEnded,
    RankStarted,
    Reason,
    RunEnded,
    StartRank,
    StartRun,
    SupervisorStarted,
    decode,
    encode,
)
from course.launch.netns import Host

HOST = Host("node1", "/run/netns/node1", "/tmp/hosts")
REQUEST = StartRun(
    program="torchrun",
    argv=["--nproc-per-node", "2", "two words.py"],
    env={"NAME": "ä €\n"},
    cwd="/labs",
    umask=0o022,
    limit=1.5,
    log_dir="/labs/course-runs/1",
    host=HOST,
)
SAMPLES = [
    REQUEST,
    Interrupt(),
    SupervisorStarted(4710, 1700000000.123456),
    RankStarted(1, 4711, 1700000000.123456),
    Lines(None, "stderr", ["one", "", 'say "two" — \x00\x1b[31m'], skipped=3),
    Progress(0, "50%"),
    RankEnded(1, -9),
    Note("two lines\nin one message"),
    RunEnded(Reason.LIMIT, 1, 2),
    Logged([{"rank": 0, "time": 0.5, "step": 1, "loss": 0.25}]),
    Done(),
    StartRank(1, ["python", "-u", "ddp.py"], {"RANK": "1"}, stdout="/tmp/out"),
    ProcessStarted(4711),
    ProcessRefused("no such program"),
    ProcessEnded(4711, 3),
]


def test_every_message_has_a_sample() -> None:
    assert sorted(MESSAGES) == sorted(type(sample).__name__ for sample in SAMPLES)


@pytest.mark.parametrize("message", SAMPLES, ids=lambda message: type(message).__name__)
def test_message_survives_the_channel(message: Message) -> None:
    """It is one line, whatever its text holds, and is decoded to what was encoded."""
    line = encode(message)
    assert line.count(b"\n") == 1 and line.endswith(b"\n")
    assert decode(line) == message


def test_messages_that_arrive_in_pieces_are_whole() -> None:
    sender, receiver = socket.socketpair()
    channel = Channel(receiver)
    data = b"".join(map(encode, SAMPLES))
    cut = len(data) // 2
    received = []
    for piece in (data[:cut], data[cut:]):
        sender.sendall(piece)
        received += channel.receive()
    assert received == SAMPLES
    sender.close()
    with pytest.raises(EOFError):
        channel.receive()
    channel.close()


@pytest.mark.parametrize(
    "sent",
    [
        b"{\n",
        b"[]\n",
        b"7\n",
        b"\xff\n",
        b"[" * 10_000 + b"\n",
        b"x" * (LONGEST + 1),
        b'["Nothing", {}]\n',
        b'["StartRun", {}]\n',
        b'["RankEnded", {"rank": 1}]\n',
        b'["RunEnded", {"reason": "joy"}]\n',
    ],
    ids=lambda sent: repr(sent[:12]),
)
def test_what_is_no_message_ends_the_conversation(sent: bytes) -> None:
    """Such a sender is not one of our processes, and the learner must not see a traceback."""
    sender, receiver = socket.socketpair()
    channel = Channel(receiver)
    writer = threading.Thread(target=sender.sendall, args=(sent,))
    writer.start()
    with pytest.raises(EOFError):
        while True:
            channel.receive()
    writer.join()
    sender.close()
    channel.close()
