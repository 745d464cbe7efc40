"""The filter of system calls, run here as the kernel would run it, for both architectures."""

import errno
import mmap
import re
import socket
import struct
from pathlib import Path

import pytest

from course.hardware import confined

HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
REFUSED = 0x50000 | errno.EPERM
ALLOWED = 0x7FFF0000
BOTH = pytest.mark.parametrize("name", confined.PROCESSORS)


def verdict(name: str, number: int, *arguments: int, audit: int | None = None) -> int:
    """The verdict of the filter for a processor on a call."""
    processor = confined.PROCESSORS[name]
    numbers = [*arguments, *[0] * 6][:6]
    call = struct.pack("=IIQ6Q", number, processor.audit if audit is None else audit, 0, *numbers)
    lines = list(struct.iter_unpack("=HBBI", confined.seccomp_filter(processor)))
    at = register = 0
    while True:
        code, if_so, if_not, operand = lines[at]
        at += 1
        if code == 0x20:
            (register,) = struct.unpack_from("=I", call, operand)
        elif code == 0x54:
            register &= operand
        elif code == 0x15:
            at += if_so if register == operand else if_not
        elif code == 0x35:
            at += if_so if register >= operand else if_not
        else:
            assert code == 0x06
            return operand


@BOTH
def test_what_is_refused_and_nothing_else(name):
    column = confined.PROCESSORS[name].column
    numbers = {pair[column] for pair in confined.REFUSED.values()}
    assert {number for number in range(500) if verdict(name, number) == REFUSED} == numbers | {
        confined.SOCKET[column]  # of family 0, which does not exist
    }
    assert {verdict(name, number) for number in range(500)} == {ALLOWED, REFUSED}


@BOTH
def test_sockets_of_the_usual_families(name):
    call = confined.SOCKET[confined.PROCESSORS[name].column]
    usual = {socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK}
    assert {family for family in range(60) if verdict(name, call, family) == ALLOWED} == usual
    assert verdict(name, call, 2**32 + 40) == REFUSED  # the kernel looks at 32 bits


@BOTH
@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, ALLOWED),
        (mmap.MAP_SHARED, ALLOWED),  # of a file
        (mmap.MAP_SHARED | mmap.MAP_ANONYMOUS, REFUSED),
        (0x03 | mmap.MAP_ANONYMOUS, REFUSED),  # MAP_SHARED_VALIDATE
    ],
)
def test_memory_that_is_shared_by_no_file(name, flags, reason):
    call = confined.MMAP[confined.PROCESSORS[name].column]
    assert verdict(name, call, 0, 4096, 3, flags) == reason


@BOTH
def test_other_ways_into_the_kernel(name):
    """The calls of 32-bit programs have other numbers, so none of them passes."""
    assert verdict(name, 1, audit=0x40000003) == REFUSED
    assert verdict(name, confined.X32 + 1) == REFUSED


@BOTH
def test_the_numbers_are_those_of_the_system(name):
    header, column = HEADERS[name], confined.PROCESSORS[name].column
    if not header.is_file():
        pytest.skip(f"this system has no {header}")
    numbers = dict(re.findall(r"^#define __NR(?:3264)?_(\w+)\s+(\d+)", header.read_text(), re.M))
    ours = confined.REFUSED | {"socket": confined.SOCKET, "mmap": confined.MMAP}
    assert "keyctl" in numbers
    for call, pair in ours.items():
        if call in numbers:  # an older system has not heard of the newest
            assert pair[column] == int(numbers[call]), call
