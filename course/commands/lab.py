"""``make lab``: say what this box has, then open JupyterLab at the notebook that the course starts with.

python -m course lab [any option of jupyter lab]
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

COURSE = Path(__file__).resolve().parents[1]
DOCTOR_S = 60  # of patience with a doctor that hangs, on a sick driver for instance


def main(argv: list[str]) -> None:
    """Serve until interrupted; `argv` are options of `jupyter lab` and win over the course's settings."""
    os.environ |= environment(os.environ)

    from jupyterlab.labapp import LabApp

    if {"-h", "--help", "--help-all", "--version"} & set(argv):
        return LabApp.launch_instance(argv)
    examine()
    trust(COURSE.parent / "solutions")
    server = LabApp.initialize_server(argv=[*options(sys.platform, os.environ), *argv])
    if (
        not server.identity_provider.token_generated
    ):  # with a token or password of the user's own, Jupyter is silent
        print(f"JupyterLab is at {server.display_url}", flush=True)
    server.start()


def environment(env: Mapping[str, str]) -> dict[str, str]:
    """What Jupyter, its kernels and its terminals need beyond `env`."""

    def before(first: str | Path, name: str) -> str:
        return os.pathsep.join(filter(None, [str(first), env.get(name)]))

    return {
        "JUPYTER_CONFIG_PATH": before(COURSE / "notebook" / "settings", "JUPYTER_CONFIG_PATH"),
        "JUPYTER_PREFER_ENV_PATH": "1",  # or a kernel that the user once installed would stand in for ours
        "PATH": before(
            Path(sys.executable).parent, "PATH"
        ),  # the course's own `python` and `torchrun`
    }


def examine() -> None:
    """Print the box's state; whatever is wrong, a notebook that explains it is better than none."""
    try:
        subprocess.run(
            [sys.executable, "-m", "course", "doctor", "--short"],
            cwd=COURSE.parent,
            timeout=DOCTOR_S,
        )
    except subprocess.TimeoutExpired:
        print(
            f"`python -m course doctor` did not end within {DOCTOR_S} s: run it by itself to see where it hangs."
        )


def trust(folder: Path) -> None:
    """Sign the notebooks that the course itself has run: JupyterLab shows the drawings of trusted notebooks only."""
    import nbformat
    from nbformat.sign import NotebookNotary

    notary = NotebookNotary()
    for path in folder.glob("*.ipynb"):
        notary.sign(nbformat.read(path, as_version=4))


def options(platform: str, env: Mapping[str, str]) -> list[str]:
    """Options of `jupyter lab` that depend on the machine."""
    chosen = [f"--ServerApp.root_dir={COURSE.parent}"]  # labs/ and solutions/ side by side
    if platform == "linux" and not any(
        env.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    ):
        chosen.append("--no-browser")  # a text browser might take over the terminal
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # in a container
        chosen.append("--allow-root")
    return chosen
