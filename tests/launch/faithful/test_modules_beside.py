"""A module of the user's wins over a library of its name, on warm ranks as in a terminal."""

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from support.both_ways import ADDED
from support.launching import Client, clean_environment, torchrun
from support.patience import PATIENCE_S

from course.launch import shadowed

pytestmark = pytest.mark.slow

MINE = "class Digits: pass\nwhose = 'mine'\n"
# What lies beside the script, what it imports, and whether it still runs in a fork.
CASES = {
    "a module": ({"datasets.py": MINE}, "from datasets import Digits; print(Digits)", False),
    "a package": (
        {"tokenizers/__init__.py": MINE, "tokenizers/fast.py": "x = 1"},
        "import tokenizers.fast; print(tokenizers.whose)",
        False,
    ),
    "a module of the standard library": (
        {"queue.py": MINE},
        "import queue; print(queue.whose)",
        False,
    ),
    "a module that Python has loaded": (
        {"types.py": MINE, "re.py": MINE, "os.py": MINE, "sys.py": MINE},
        "import os, re, sys, types\n"
        "print(*(hasattr(module, 'whose') for module in (os, re, sys, types)))",
        False,
    ),
    "a namespace package": (
        {"tqdm/notes.txt": "", "tqdm/mine.py": MINE},
        "import tqdm; print(tqdm.__file__)",
        True,
    ),
    "compiled": ({"token.cpython-39-nowhere.so": "", "profile.pyd": ""}, "import profile", True),
    "no name of a library": ({"data.py": MINE}, "import data; print(data.whose)", True),
    "a name that the script does not import": ({"profile.py": MINE}, "print('on')", False),
}


def write(folder: Path, files: dict[str, str]) -> None:
    """Write files into a folder, by their names there."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize("case", CASES)
def test_a_script_imports_what_it_imports_in_a_terminal(
    client: Client, tmp_path: Path, case: str
) -> None:
    files, source, forked = CASES[case]
    (tmp_path / "script.py").write_text(f"{source}\nprint('torch' in __import__('sys').modules)")
    write(tmp_path, files)
    terminal = subprocess.run(
        [sys.executable, "-u", "script.py"],
        env=clean_environment() | ADDED,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    answer = client.run("python", "script.py", cwd=tmp_path, env=ADDED)
    assert answer["ok"] and terminal.returncode == 0, (answer, terminal.stderr)
    *shown, has_torch = answer["stdout"][0].splitlines()
    assert shown == terminal.stdout.splitlines()[:-1]
    assert has_torch == str(forked)


def test_on_ranks(client: Client) -> None:
    client.script("src/tokenizers", MINE)
    client.script("src/ranks", "import tokenizers; print(tokenizers.whose)")
    answer = client.run(*torchrun(), "src/ranks.py")
    assert answer["ok"] and answer["stdout"] == {None: "", 0: "mine", 1: "mine"}
    (client.folder / "src" / "tokenizers.py").unlink()


def test_a_module_as_the_script(client: Client, tmp_path: Path) -> None:
    """With `-m`, the modules of the current folder come first."""
    write(tmp_path, {"queue.py": MINE, "job.py": "import queue; print(queue.whose)"})
    answer = client.run(*torchrun(), "-m", "job", cwd=tmp_path)
    assert answer["ok"] and answer["stdout"] == {None: "", 0: "mine", 1: "mine"}


def test_a_script_through_a_link(client: Client, tmp_path: Path) -> None:
    """The folder of the real file counts."""
    write(tmp_path / "real", {"queue.py": MINE, "script.py": "import queue; print(queue.whose)"})
    (tmp_path / "link.py").symlink_to(tmp_path / "real" / "script.py")
    assert client.run("python", "link.py", cwd=tmp_path)["stdout"][0] == "mine"


def test_python_path(client: Client, tmp_path: Path) -> None:
    write(tmp_path, {"there/queue.py": MINE, "script.py": "import queue; print(queue.whose)"})
    answer = client.run("python", "script.py", cwd=tmp_path, env={"PYTHONPATH": "there"})
    assert answer["stdout"][0] == "mine"


@pytest.mark.parametrize(("beside", "forked"), [("new.py", True), ("queue.py", False)])
def test_a_folder_with_a_module_for_the_start(
    client: Client, tmp_path: Path, beside: str, forked: bool
) -> None:
    """A magic puts such a folder first in PYTHONPATH for every run, and ranks must stay warm."""
    at_start = f"{MINE}import sys; words = [*sys.argv, *sys.orig_argv[1:]]\n"
    write(tmp_path, {"there/sitecustomize.py": at_start, f"there/{beside}": MINE})
    source = f"import sitecustomize, sys, {beside[:-3]} as beside\n"
    source += (
        "print(sitecustomize.whose, *sitecustomize.words, beside.whose, 'torch' in sys.modules)"
    )
    (tmp_path / "script.py").write_text(source)
    env = {"PYTHONPATH": str(tmp_path / "there")}
    answer = client.run("python", "script.py", cwd=tmp_path, env=env)
    assert answer["stdout"][0] == f"mine script.py -u script.py mine {forked}"


def test_a_file_is_compared_with_the_origin_of_what_is_in_memory(tmp_path: Path) -> None:
    write(tmp_path, {"json.py": "", "queue/__init__.py": "", "__main__.py": "", "new.py": ""})
    loaded = {name: ModuleType(name) for name in ("json", "queue", "__main__", "sys")}
    names = {"json.py", "queue/__init__.py"}
    assert set(shadowed.files([str(tmp_path)], loaded)) == {str(tmp_path / name) for name in names}
    (tmp_path / "link").symlink_to(tmp_path)
    loaded["json"].__spec__ = type("Spec", (), {"origin": str(tmp_path / "link" / "json.py")})
    (file,) = shadowed.files([str(tmp_path), str(tmp_path / "nowhere")], loaded)
    assert file == str(tmp_path / "queue" / "__init__.py")


def test_folders_of_the_python_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert shadowed.python_path("") == []
    assert shadowed.python_path("/a:src:") == ["/a", str(tmp_path / "src"), str(tmp_path)]
