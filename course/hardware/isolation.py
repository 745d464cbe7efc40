"""Isolate code that is not trusted: bubblewrap's command line, and whether it works here.

bubblewrap (bwrap) gives a process its own view of the machine: its own files, processes, network
and users. `prlimit` adds the limits that it lacks, and `confined` adds what neither has. None of
them needs root. Code inside can do what it likes with what it sees, and cannot reach anything else.
"""

import functools
import os
import platform
import shutil
import site
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from course.core import ROOT, CourseError, installed, words
from course.hardware import confined

HOME = "/tmp"  # inside: the home folder, the working folder, and where temporary files go
RESULTS = f"{HOME}/results"  # inside: where the writable files are
SUBMITTED = "/submitted"  # inside: the learner's folder as it was handed in, read-only
# The whole environment of a process inside, the same on every machine.
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": HOME, "LANG": "C.UTF-8", "USER": "learner"}
# A check must not import what an earlier one has left in the home folder.
ENVIRONMENT |= {"PYTHONNOUSERSITE": "1"}

SYSTEM = ("/usr", "/bin", "/lib", "/lib32", "/lib64", "/sbin")
CONFIGURATION = ("/etc/hosts", "/etc/ld.so.cache", "/etc/localtime", "/sys/devices/system/cpu")
PROCESSES = 512  # threads count, too: eight ranks have about a hundred
MEMORY = 4 * words.GIB  # bytes that one process may allocate
TOGETHER = 8 * words.GIB  # bytes of all processes together; `launch` checks four times a second
ADDRESSES = 16 * words.GIB  # bytes that one process may map, for instance the code of libraries
DISK = 512 * words.MIB  # bytes of temporary files, of shared memory, and of the learner's folder
LARGEST_FILE = DISK // 8  # bytes; the result files of eight ranks are outside
OPEN_FILES = 1024
# What the warm server imports before it forks the first rank.
IMPORTS = (
    "import importlib, sys; sys.path.pop(0); from course.launch.warm_imports import FIRST; "
    "[importlib.import_module(module) for module in FIRST]"
)

TOOLS = {"bwrap": "bubblewrap"} | dict.fromkeys(("prlimit", "choom", "setpriv"), "util-linux")
APPARMOR = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
SPARE_USERS = 2**30  # ids from here on belong to no user


def command(
    program: Sequence[str], submitted: Path, src: Path, writable: Iterable[Path] = ()
) -> list[str]:
    """The command that runs `program` inside, with a copy of the folder `submitted` at `src`.

    The files `writable` are the only ones outside that it can change; inside they are in `RESULTS`.
    Any user who may enter their folders can read `submitted` and change the files `writable`.
    """
    writable = list(writable)
    inside = [
        *("bwrap", "["),
        "--die-with-parent",  # it ends with the process that started it
        "--new-session",  # no terminal
        "--unshare-pid",  # it sees no other processes, and when its first one ends, all end
        "--unshare-net",  # a network that has only its own loopback
        *("--unshare-ipc", "--unshare-uts", "--hostname", "localhost"),
        *("--unshare-user", "--disable-userns"),  # no rights, and no way to get any
        *("--size", str(DISK), "--tmpfs", HOME),
        *_view(),
        *("--ro-bind", str(submitted), SUBMITTED, "--size", str(DISK), "--tmpfs", str(src)),
        *(word for path in writable for word in ("--bind", str(path), f"{RESULTS}/{path.name}")),
        *("--proc", "/proc", "--dev", "/dev", "--size", str(DISK), "--tmpfs", "/dev/shm"),
        *("--dev-bind", "/dev/null", "/dev/zero"),  # mapping /dev/zero gives memory without a limit
        # Anything could be written to these, without a limit.
        *(word for path in (*_hidden(), "/dev", "/") for word in ("--remount-ro", path)),
        *("--chdir", HOME, "]"),
        *("prlimit", f"--nproc={PROCESSES}", f"--data={MEMORY}", f"--as={ADDRESSES}"),
        *(f"--fsize={LARGEST_FILE}", f"--nofile={OPEN_FILES}", "--core=0"),
        *("choom", "-n", "1000", "--"),  # if the machine runs out of memory, these end first
        *("sh", "-c", f'cp -R {SUBMITTED}/. "$0" && exec "$@"', str(src)),
        *program,
    ]
    other_user = [] if os.getuid() else _as_other_user([submitted, *writable])
    return [sys.executable, "-I", "-S", confined.__file__, *other_user, *inside]


def require() -> None:
    """Raise `CourseError`, with the reason from `missing`, if code cannot be isolated here."""
    if why := missing():
        raise CourseError(f"The code cannot be isolated here: {why}.")


def missing() -> str | None:
    """Why code cannot be isolated on this machine, and what to do; None if it can."""
    if sys.platform != "linux":
        return "it needs Linux"
    if platform.machine() not in confined.PROCESSORS:
        return f"it needs a processor of these: {', '.join(confined.PROCESSORS)}"
    for tool, package in TOOLS.items():
        if not shutil.which(tool):
            return f"{tool} is missing: `sudo apt-get install {package}` installs it"
    if not (error := _error_inside(["true"])):
        return _not_imported()
    if APPARMOR.is_file() and APPARMOR.read_text().strip() == "1":
        profile = "/usr/share/apparmor/extra-profiles/bwrap-userns-restrict"
        fix = (
            "Ubuntu's AppArmor keeps it from users: `sudo apt-get install apparmor-profiles`, "
            f"`sudo cp {profile} /etc/apparmor.d/` and `sudo systemctl reload apparmor` let it work"
        )
    elif "Unknown option" in error:
        fix = "it is too old, and 0.8 or later is needed: update bubblewrap or the system"
    else:
        fix = "a container must allow user namespaces, and a system must not forbid them"
    return f"bubblewrap does not work here ({error}): {fix}"


@functools.cache
def _not_imported() -> str | None:
    """Why Python inside cannot import what ranks need, or None if it can; takes seconds."""
    if not (error := _error_inside([sys.executable, "-c", IMPORTS])):
        return None
    return (
        f"Python cannot import there what it can import here ({error}): what is found by "
        f"PYTHONPATH or LD_LIBRARY_PATH must be installed for {sys.executable} itself"
    )


def _error_inside(program: Sequence[str]) -> str:
    """The last line of the error if a program fails inside, "" if it succeeds."""
    argv = command(program, submitted=Path(__file__).parent, src=Path("/src"))
    run = subprocess.run(
        argv, env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if run.returncode == 0:
        return ""
    return (run.stderr.strip().splitlines() or [f"it ended with exit code {run.returncode}"])[-1]


def _as_other_user(paths: Iterable[Path]) -> list[str]:
    """For root: become a user who owns nothing, but can see what bubblewrap will show.

    Root has no limit on processes, and another user may not enter root's folders. So this returns
    the command of an outer bubblewrap, which shows only those folders, and changes the user in it.
    """
    other_user = str(SPARE_USERS + os.getpid())  # each process its own user, and so its own limit
    shown = {*_visible(), *map(str, paths)}
    parents = sorted({str(parent) for path in shown for parent in Path(path).parents} - {"/"})
    return [
        *("bwrap", "--die-with-parent", "--perms", "1777", "--dir", HOME),
        *(word for path in parents for word in ("--perms", "0755", "--dir", path)),
        *(word for path in sorted(shown) for word in ("--bind", path, path)),
        *("--bind", "/proc", "/proc", "--dev-bind", "/dev", "/dev"),
        *("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"),
        *("setpriv", "--reuid", other_user, "--regid", other_user, "--clear-groups"),
        "--inh-caps=-all",
    ]


def _view() -> list[str]:
    """Bubblewrap's options for what is visible inside, and for the empty folders in it."""
    kinds = dict.fromkeys(_visible(), "--ro-bind") | dict.fromkeys(_hidden(), "--tmpfs")
    view: list[str] = []
    for path in sorted(kinds):  # a folder comes before what is in it
        view += [kinds[path], path]
        if kinds[path] == "--ro-bind":
            view.append(path)
    return view


def _hidden() -> list[str]:
    """The folders with solutions: lessons, the site's own ring, notebooks, a whole clone."""
    folders = {ROOT / "course" / "lessons", ROOT / "course" / "commands" / "web"}
    for name, path in installed.shared_files().items():
        folder = path.parents[len(Path(name).parts) - 1]
        folders |= {folder, folder.resolve()}  # an environment may be seen through a link
    if (ROOT / "pyproject.toml").is_file():  # a clone: in it only the course itself is seen
        folders.add(ROOT)
    return sorted(str(folder) for folder in folders if folder.is_dir())


def _visible() -> list[str]:
    """The paths visible inside, read-only: the system, Python, packages, the course."""
    python = [sys.prefix, sys.base_prefix, Path(sys.executable).resolve().parents[1]]
    packages = [*site.getsitepackages(), site.getusersitepackages(), ROOT / "course"]
    paths = {str(path) for path in (*SYSTEM, *CONFIGURATION, *python, *packages)}
    return sorted(path for path in paths if os.path.exists(path))
