"""The tools installed next to a training script: they need only torch, numpy and psutil."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.installed import install_wheel, link_packages
from support.launching import clean_environment

from course.core import ROOT

PLANT = ROOT / "tests" / "diagnostics" / "run" / "plants" / "with_ddp.py"
NOT_NEEDED = (
    "IPython", "accelerate", "anywidget", "datasets", "jsonschema", "jupyter_core", "jupyterlab",
    "jupytext", "matplotlib", "nbformat", "pandas", "pynvml", "pytest", "sklearn", "traitlets",
    "transformers",
)  # fmt: skip
BLOCKED = f"""
import sys
for name in {NOT_NEEDED}:
    sys.modules[name] = None  # an import of it fails now
"""
RANKS = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")


@pytest.mark.parametrize("command", ["run", "why", "right"])
def test_the_tools_import_nothing_of_the_labs(command: str) -> None:
    code = f"{BLOCKED}\nfrom course.__main__ import main\nmain(['{command}', '--help'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert "exit codes:" in done.stdout, done.stderr


def test_what_the_labs_need_is_said_in_a_sentence() -> None:
    code = (
        f"{BLOCKED}\nfrom importlib import metadata\nmetadata.distributions = lambda: []\n"
        "from course.__main__ import main\nsys.exit(main(['build']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "which is not installed; the labs need" in done.stderr
    assert "pip install 'torch" in done.stderr


@pytest.mark.slow
def test_ranks_import_nothing_of_the_labs_and_an_own_sitecustomize_still_runs(
    tmp_path: Path,
) -> None:
    """A single rank, which fails so that the tool reports on it."""
    (tmp_path / "sitecustomize.py").write_text(f"{BLOCKED}\nsys.own_one = 'ran'\n")
    asks = (
        "import sys\nassert sys.own_one == 'ran'\n"
        "assert 'course.diagnostics.watch.entry' not in sys.path\n"
    )
    script = tmp_path / "train.py"
    script.write_text(asks + PLANT.read_text())
    alone = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
    path = {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    command = [sys.executable, "-m", "course", "run", "--json", "found.json", "--"]
    done = subprocess.run(
        [*command, sys.executable, str(script), "error"],
        env=clean_environment() | alone | path, cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    report = json.loads((tmp_path / "found.json").read_text())
    assert report["findings"][0]["what"] == "error", done.stderr
    assert "a bad sample" in report["findings"][0]["says"]


@pytest.mark.slow
@pytest.mark.rest
def test_beside_torch_alone(tmp_path: Path) -> None:
    """One run is watched for its time, and then hangs; commands of the labs say what they need."""
    python = install_wheel(tmp_path)
    link_packages(python, "torch", "numpy", "psutil")
    script = tmp_path / "train.py"
    script.write_text(
        PLANT.read_text().replace("range(10)", "range(40)").replace("step == 6", "step == 30")
    )

    def ended(*words: str) -> subprocess.CompletedProcess:
        command, env = [python, "-m", "course", *words], clean_environment()
        return subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True)

    words = ["why", "--patience", "6", "--json", "why.json", "--", str(python), *RANKS]
    done = ended(*words, str(script), "leftover")
    assert done.returncode == 3 and "Different calls: " in done.stderr, done.stderr
    assert json.loads((tmp_path / "why.json").read_text())["why"]["step_s"] > 0, done.stderr
    for command in ("build", "lab"):
        done = ended(command)
        assert done.returncode == 2 and "the labs need" in done.stderr, done.stderr
