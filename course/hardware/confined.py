"""Start bubblewrap with two more limits: no access to the teacher's keys, fewer system calls.

python -I -S confined.py PROGRAM ... "[" OPTIONS OF BUBBLEWRAP "]" COMMAND

This process is replaced by that program and keeps its process id. bubblewrap reads its options from
a file in memory: code inside can read bubblewrap's command line, and would learn the paths outside.

The kernel's keyrings (https://man7.org/linux/man-pages/man7/keyrings.7.html) have no namespace:
whatever a process starts finds its session's keys, such as tickets and tokens. So this process
first replaces the session's keyring with a new one.

`seccomp_filter` returns a filter as in https://man7.org/linux/man-pages/man2/seccomp.2.html: a list
of instructions that the kernel runs at each system call. An instruction loads a word of the call's
description into the one register, compares the register and skips some instructions, or returns
whether the call is allowed. Every block here either returns or falls through to the next. The
filter allows all calls except those in `REFUSED`. They are of three kinds: calls that get at
secrets or other processes, large parts of the kernel that no learner needs, and memory that belongs
to no process, so that no limit would count it.
"""

import ctypes
import errno
import os
import platform
import struct
import sys
from dataclasses import dataclass

# Numbers of system calls: x86_64 (asm/unistd_64.h), aarch64 (asm-generic/unistd.h).
REFUSED = {
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "syslog": (103, 116),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
}
SOCKET, MMAP = (41, 198), (9, 222)
FAMILIES = (1, 2, 10, 16)  # of sockets: AF_UNIX, AF_INET, AF_INET6, AF_NETLINK
SHARED_ANONYMOUS = 0x21  # MAP_SHARED and MAP_ANONYMOUS
X32 = 0x40000000  # on x86_64, numbers from here on are a second way to make each call

LOAD, AND, RETURN = 0x20, 0x54, 0x06  # BPF_LD | BPF_W | BPF_ABS; BPF_ALU | BPF_AND; BPF_RET
IF_EQUAL, IF_AT_LEAST = 0x15, 0x35  # BPF_JMP with BPF_JEQ and BPF_JGE, both with a constant
NUMBER, ARCHITECTURE, FIRST_ARGUMENT, FOURTH_ARGUMENT = 0, 4, 16, 40  # in struct seccomp_data
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM  # SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO

JOIN_SESSION_KEYRING = 1  # a command of keyctl


@dataclass(frozen=True)
class Processor:
    """A kind of processor: the kernel's number for it, and its column in the pairs above."""

    audit: int
    column: int


PROCESSORS = {"x86_64": Processor(0xC000003E, 0), "aarch64": Processor(0xC00000B7, 1)}


def seccomp_filter(processor: Processor) -> bytes:
    """The filter for a processor, as the kernel reads it."""
    column = processor.column
    lines = [
        *((LOAD, ARCHITECTURE), (IF_EQUAL, processor.audit, 1, 0), (RETURN, REFUSE)),
        *((LOAD, NUMBER), (IF_AT_LEAST, X32, 0, 1), (RETURN, REFUSE)),
    ]
    for numbers in REFUSED.values():
        lines += [(IF_EQUAL, numbers[column], 0, 1), (RETURN, REFUSE)]
    family = [(LOAD, FIRST_ARGUMENT)]
    for allowed in FAMILIES:
        family += [(IF_EQUAL, allowed, 0, 1), (RETURN, ALLOW)]
    family += [(RETURN, REFUSE)]
    lines += [(IF_EQUAL, SOCKET[column], 0, len(family)), *family]
    flags = [(LOAD, FOURTH_ARGUMENT), (AND, SHARED_ANONYMOUS)]
    flags += [(IF_EQUAL, SHARED_ANONYMOUS, 0, 1), (RETURN, REFUSE), (RETURN, ALLOW)]
    lines += [(IF_EQUAL, MMAP[column], 0, len(flags)), *flags, (RETURN, ALLOW)]
    return b"".join(_instruction(*line) for line in lines)


def _instruction(code: int, operand: int, skip_if_true: int = 0, skip_if_false: int = 0) -> bytes:
    """One instruction (struct sock_filter); the last two are how many others it then skips."""
    return struct.pack("=HBBI", code, skip_if_true, skip_if_false, operand)


def leave_keyring(processor: Processor) -> None:
    """Give this process a new, empty session keyring, if the kernel has keyrings."""
    call = REFUSED["keyctl"][processor.column]
    ctypes.CDLL(None).syscall(call, JOIN_SESSION_KEYRING, None)


def _in_memory(content: bytes) -> str:
    """The number of a descriptor from which the next program can read the content."""
    descriptor = os.memfd_create("confined", 0)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return str(descriptor)


def main(command: list[str]) -> None:
    """Replace this process with `command`."""
    processor = PROCESSORS[platform.machine()]
    leave_keyring(processor)
    begin, end = command.index("["), command.index("]")
    options = [*command[begin + 1 : end], "--seccomp", _in_memory(seccomp_filter(processor))]
    arguments = _in_memory("\0".join([*options, ""]).encode(errors="surrogateescape"))
    os.execvp(command[0], [*command[:begin], "--args", arguments, *command[end + 1 :]])


if __name__ == "__main__":
    main(sys.argv[1:])
