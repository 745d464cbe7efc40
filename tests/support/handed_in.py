"""Submissions as a class hands them in: right, half finished, odd and broken."""

import io
import json
import os
import struct
import tarfile
import zipfile
from pathlib import Path

from course.exercises import exercises

RING = '"""src/ring.py: a ring."""\n\n\ndef all_reduce(tensor):\n    return tensor\n'
BROKEN = (  # whose submissions cannot be read at all
    *("ned", "oli", "pat", "quin", "rob", "sue", "tom", "=HYPERLINK(1)", "Ruf#?%�", "vic"),
)


def notebook(*cells: str) -> str:
    """A notebook with these code cells, as a file's text."""
    return json.dumps({"cells": [{"cell_type": "code", "source": [cell]} for cell in cells]})


def zipped(**files: str | bytes) -> bytes:
    """A zip file; a name such as ``labs__src__ring_py`` is the path ``labs/src/ring.py``."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(path(name), text)
    return content.getvalue()


def path(name: str) -> str:
    """``labs__src__ring_py`` as a path."""
    return name.replace("__", "/")[::-1].replace("_", ".", 1)[::-1]


def tarred(**files: str) -> bytes:
    """A tar.gz file, with names as `zipped` has them."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(path(name))
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return content.getvalue()


def encrypted() -> bytes:
    """A zip file that asks for a password, because of a flag in its two headers."""
    content = bytearray(zipped(ring_py=RING))
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    return bytes(content)


def deflate64() -> bytes:
    """A zip file whose headers name a method that Python lacks."""
    content = bytearray(zipped(ring_py=RING))
    struct.pack_into("<H", content, 8, 9)
    struct.pack_into("<H", content, content.index(b"PK\x01\x02") + 10, 9)
    return bytes(content)


def damaged() -> bytes:
    """A zip file with some bytes changed in the middle."""
    content = bytearray(zipped(ring_py=RING * 20))
    content[60:70] = b"\xff" * 10
    return bytes(content)


def class_of_20(folder: Path) -> list[str]:
    """Write twenty submissions, ten of them broken; return the learners' names as shown."""
    folder.mkdir()
    ring, blank = RING, exercises()["ring"].script(solved=False)
    for name in ("ada", "bea", "cem"):
        (folder / name / "labs" / "src").mkdir(parents=True)
        (folder / name / "labs" / "src" / "ring.py").write_text(f"{ring}\nname = {name!r}\n")
    (folder / "dan.ZIP").write_bytes(zipped(labs__src__ring_py=ring))
    (folder / "eve.tar.gz").write_bytes(tarred(work__ring_py=ring))
    (folder / "fay.ipynb").write_text(notebook("1 + 1", f"%%writefile src/ring.py\n{ring}"))
    moodle = folder / "Gil Gül_77_assignsubmission_file_"
    moodle.mkdir()
    (moodle / "my work.zip").write_bytes(zipped(labs__src__ring_py=ring))
    (folder / "hopekim_LATE_123_456_ring-1.py").write_text(ring)
    for number, name in enumerate(("ida", "x" * 250), 1):
        (folder / name).mkdir()
        (folder / name / "ring.py").write_text(blank if number == 1 else "x = " + "1+" * 3000 + "1")
    # And ten that cannot be used.
    (folder / "ned.zip").write_bytes(encrypted())
    (folder / "oli.zip").write_bytes(damaged())
    (folder / "pat.zip").write_bytes(deflate64())
    (folder / "quin.ipynb").write_text("[" * 100_000)
    (folder / "rob.7z").write_bytes(b"7z\xbc\xaf\x27\x1c")
    (folder / "sue.py").write_text(ring)
    (folder / "tom").mkdir()
    os.mkfifo(folder / "tom" / "ring.py")
    (folder / "=HYPERLINK(1)").mkdir()
    (folder / "Ruf#?%\x1b.zip").write_bytes(b"")
    (folder / "vic").symlink_to("/etc")
    learners = ["=HYPERLINK(1)", "Gil Gül", "Ruf#?%�", "ada", "bea", "cem", "dan", "eve", "fay"]
    learners += ["hopekim", "ida", "ned", "oli", "pat", "quin", "rob", "sue", "tom", "vic"]
    return [*learners, "x" * 59 + "…"]
