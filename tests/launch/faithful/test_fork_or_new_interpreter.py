"""A rank is a fork of the warm server wherever that is as faithful as a new interpreter."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.both_ways import ADDED
from support.launching import Client, clean_environment, torchrun
from support.says import says

pytestmark = pytest.mark.slow


def test_forks_are_forks(client: Client) -> None:
    """The modules imported at the start tell them apart, so these tests do compare two ways."""
    client.script("both", "import sys; print('torch' in sys.modules)")
    assert client.run("python", "both.py")["stdout"][0] == "True"
    assert client.run("python", "both.py", env={"PYTHONHASHSEED": "0"})["stdout"][0] == "False"


def test_warm_ranks_share_the_seed_of_hash(client: Client) -> None:
    """The only difference that a lab mentions."""
    says("04c_wrong_numbers", "copies of one Python")
    client.script("seed", "print(hash(b'a'))")
    output = client.run(*torchrun(), "seed.py")["stdout"]
    assert output[0] == output[1]


@pytest.mark.parametrize(
    ("name", "value", "expression"),
    [
        ("PYTHONHASHSEED", "0", "hash('a'), sys.flags.hash_randomization"),
        ("PYTHONOPTIMIZE", "1", "__debug__, sys.flags.optimize"),
        ("PYTHONWARNINGS", "error", "sys.warnoptions"),
        ("HF_HOME", "/nowhere/hub", "__import__('huggingface_hub.constants').constants.HF_HOME"),
        ("OMP_WAIT_POLICY", "passive", "os.environ['OMP_WAIT_POLICY']"),
        ("TORCH_DISTRIBUTED_DEBUG", "DETAIL", "__import__('torch').distributed.get_debug_level()"),
        ("TMPDIR", "/dev/shm", "__import__('tempfile').gettempdir()"),
        ("XDG_CACHE_HOME", "/nowhere", "__import__('huggingface_hub.constants').constants.HF_HOME"),
        ("TZ", "Asia/Tokyo", "__import__('time').tzname, __import__('time').localtime(0).tm_hour"),
        ("OMP_NUM_THREADS", "2", "__import__('torch').get_num_threads()"),
        ("LC_ALL", "C", "__import__('locale').getpreferredencoding(), sys.stdout.encoding"),
        ("PATH", "/nowhere", "os.environ['PATH']"),
    ],
)
def test_variable_of_the_run(client: Client, name: str, value: str, expression: str) -> None:
    """A script sees it as in a terminal; one that is read at the start needs a new interpreter."""
    shown = f"{expression}, signal.getsignal(signal.SIGINT)"
    client.script("both", f"import os, signal, sys\nprint({shown})")
    answer = client.run("python", "both.py", env=ADDED | {name: value})
    env = clean_environment() | ADDED | {name: value}
    command = [sys.executable, "-u", "both.py"]
    bare = subprocess.run(command, env=env, cwd=client.folder, capture_output=True, text=True)
    assert (answer["stdout"][0], answer["ok"]) == (bare.stdout.strip(), bare.returncode == 0)
    assert bare.stdout, bare.stderr


def test_current_folder_and_umask_are_those_of_the_launch(client: Client, tmp_path: Path) -> None:
    (tmp_path / "there.py").write_text("import os; print(os.getcwd()); open('new', 'w')")
    answer = client.run("python", "there.py", cwd=tmp_path)
    assert answer["stdout"][0] == str(tmp_path)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_script_through_a_link(client: Client) -> None:
    client.script("real/beside", "value = 'beside the real file'")
    source = "import sys, beside; print(beside.value, __file__, sys.argv[0])"
    target = client.script("real/target", source)
    link = client.folder / "both.py"
    link.unlink(missing_ok=True)
    link.symlink_to(target)
    try:
        command = [sys.executable, "both.py"]
        bare = subprocess.run(command, cwd=client.folder, capture_output=True, text=True)
        assert client.run("python", "both.py")["stdout"][0] == bare.stdout.strip() != ""
    finally:
        link.unlink()


def test_module_and_program_instead_of_a_script(client: Client) -> None:
    """`-m` and `--no-python` always start new interpreters."""
    client.script("package/asking", "import sys; print(__name__, __package__, sys.argv[1:])")
    answer = client.run(*torchrun(), "-m", "package.asking", "a")
    assert answer["ok"] and answer["stdout"][1] == "__main__ package ['a']"
    answer = client.run(*torchrun(), "--no-python", "echo", "b", "c")
    assert answer["ok"] and answer["stdout"] == {None: "", 0: "b c", 1: "b c"}


@pytest.mark.rest
def test_what_a_notebook_imports_leaves_its_ranks_warm() -> None:
    """Some libraries set variables when they are imported; these do not count as the learner's."""
    code = """
import os
before = dict(os.environ)
import accelerate, matplotlib.pyplot, pandas, sklearn.datasets, torch._dynamo, transformers
from course import checks, explore, hardware
from course.clusters import nodes, slurm
from course.data import digits, nli
from course.models import bert
from course.launch.warm_imports import changed_at_start
nli.tokenized("train", size=8), digits.load(), bert()
print(changed_at_start(before, dict(os.environ)) or "none")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "none\n", done.stdout + done.stderr
