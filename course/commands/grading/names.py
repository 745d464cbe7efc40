"""Find the owners of submissions by the names of files, as other programs download them.

Each form comes from the program's own source code:

- Moodle (`mod/assign/classes/downloader.php`): a folder for each learner, such as
  ``Ada Lovelace_123_assignsubmission_file_``, or without folders, files such as
  ``Ada Lovelace_123_assignsubmission_file_ring.py``. In Moodle's grading worksheet, the same
  learner is "Participant 123".
- Canvas (`lib/content_zipper.rb`): files such as ``lovelaceada_LATE_123_456_ring.py``. The first
  number is the learner's, the second the file's. LATE marks a late file, and ``anon_x7Yz`` stands
  for name and number if names are hidden.
- GitHub Classroom (`student-repos.go` of `gh-classroom`) and Classroom 50 (`download.go` of
  `gh-teacher`): a folder for each repository. Its name ends with the learner's, as in
  ``gpus-lab02-ada``.
- Everything else: a folder, an archive or a file with the name of the learner.
"""

import hashlib
import re
import unicodedata
from dataclasses import dataclass

MOODLE = re.compile(
    r"(?P<learner>.+)_(?P<number>\d+)_assignsubmission_[a-z]+(?:_(?P<file>.*))?", re.DOTALL
)
CANVAS = re.compile(
    r"(?:(?P<learner>\w+?)_)??(?P<late>LATE_)?(?P<number>\d+|anon_[^_\W]+)_\d+_(?P<file>.+)",
    re.DOTALL,
)
REPEATED = re.compile(r"-\d+(?=\.\w+$)")  # Canvas calls a second ring.py ring-1.py
ARCHIVES = re.compile(r"\.(zip|tar|tgz|tbz2|txz|tar\.(gz|bz2|xz))$", re.IGNORECASE)
MAX_LENGTH = 60  # characters shown of a name


@dataclass(frozen=True)
class Owner:
    """The learner who handed in a file; `number` is from Moodle or Canvas, "" if there is none.

    `file` is the file's own name, without the prefix; "" for a folder. `is_clone` is true for a
    clone of a repository, whose name only ends with the learner's.
    """

    learner: str
    number: str = ""
    file: str = ""
    late: bool = False
    is_clone: bool = False


def owner(name: str, is_folder: bool, is_clone: bool = False) -> Owner:
    """The owner of an entry with this name in the folder of submissions."""
    if match := MOODLE.fullmatch(name):
        return Owner(match["learner"], match["number"], match["file"] or "")
    if is_folder:
        return Owner(name, is_clone=is_clone)
    if match := CANVAS.fullmatch(name):
        file = REPEATED.sub("", match["file"])
        learner = match["learner"] or match["number"]
        return Owner(learner, match["number"], file, bool(match["late"]))
    stem = ARCHIVES.sub("", name)
    return Owner(stem if stem != name else name.rpartition(".")[0] or name, file=name)


def printable(text: str) -> str:
    """Replace characters that move the cursor, reverse the text or are not valid UTF-8."""
    return "".join(char if char.isprintable() else "�" for char in text)


def shortened(name: str) -> str:
    """A name for pages and tables: printable, and at most `MAX_LENGTH` characters long."""
    name = printable(name)
    return name if len(name) <= MAX_LENGTH else f"{name[: MAX_LENGTH - 1]}…"


def file_name(name: str) -> str:
    """A name for a file, at most 170 bytes long; different names give different ones."""
    plain = re.sub(r"[^\w.-]", "_", printable(name)).lstrip(".")[:40]
    if plain == name:
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{plain}-{digest[:8]}"


def comparable(name: str) -> str:
    """The letters and digits of a name in lower case, for comparisons."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    return "".join(char for char in folded if char.isalnum())
