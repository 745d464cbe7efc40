"""``python -m course lab``: say what this machine has, then open JupyterLab at the start notebook.

python -m course lab [any option of jupyter lab]
"""

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from course.commands import lab_saved_widgets
from course.commands.lab_folder import lab_folder, unchanged_solutions
from course.core import ROOT

SETTINGS = ROOT / "course" / "notebook" / "settings"
STARTUP = ROOT / "course" / "notebook" / "ipython_startup.py"
DOCTOR_LIMIT_S = 120  # the doctor may hang, for instance on a broken driver


def main(argv: Sequence[str]) -> int:
    """Serve until interrupted; options in `argv` take precedence over the course's settings."""
    os.environ |= environment(os.environ)

    from jupyterlab.labapp import LabApp

    if {"-h", "--help", "--help-all", "--version"} & set(argv):
        LabApp.launch_instance(argv)
        return 0
    folder = lab_folder(Path.cwd())
    examine()
    trust(unchanged_solutions(folder))
    chosen = ["--LabApp.custom_css=True", *options(folder, sys.platform, os.environ)]
    server = LabApp.initialize_server(argv=[*chosen, *argv])
    # Jupyter looks for custom.css in these folders, the user's first; no option adds one.
    server.static_custom_path.append(str(SETTINGS / "custom"))
    server.contents_manager.register_pre_save_hook(lab_saved_widgets.keep)
    if not server.identity_provider.token_generated:  # there is a password, so Jupyter is silent
        print(f"JupyterLab is at {server.display_url}", flush=True)
    server.start()
    # Everything is shut down, but Python would wait forever for an idle thread of the server.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def environment(env: Mapping[str, str]) -> dict[str, str]:
    """The environment variables to add to `env` for Jupyter, its kernels and its terminals."""
    programs = Path(sys.executable).parent  # the course's own `python` and `torchrun`
    return {
        "JUPYTER_CONFIG_PATH": _prepended(SETTINGS, env.get("JUPYTER_CONFIG_PATH")),
        "JUPYTER_PREFER_ENV_PATH": "1",  # or a kernel from the user's own folder replaces ours
        "PATH": _prepended(programs, env.get("PATH")),
        "PYTHONSTARTUP": env.get("PYTHONSTARTUP") or str(STARTUP),  # the user's own comes first
    }


def _prepended(first: Path, rest: str | None) -> str:
    """A search path: the folder `first`, then `rest`."""
    return f"{first}{os.pathsep}{rest}" if rest else str(first)


def examine() -> None:
    """Print this machine's state; never raise, so that the page that explains a fault opens."""
    command = [sys.executable, "-m", "course", "doctor", "--short"]
    try:
        subprocess.run(command, cwd=ROOT, timeout=DOCTOR_LIMIT_S)
    except subprocess.TimeoutExpired:
        late = f"`python -m course doctor` did not end within {DOCTOR_LIMIT_S} s"
        print(f"{late}: run it by itself to see where it hangs.")


def trust(paths: Iterable[Path]) -> None:
    """Sign notebooks that the course has run, because JupyterLab draws only trusted outputs."""
    import nbformat
    from nbformat.sign import NotebookNotary

    notary = NotebookNotary()
    for path in paths:
        notary.sign(nbformat.read(path, as_version=4))


def options(folder: Path, platform: str, env: Mapping[str, str]) -> list[str]:
    """The options of `jupyter lab` that depend on the machine."""
    chosen = [f"--ServerApp.root_dir={folder}"]  # labs/ and solutions/ side by side
    displays = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    if platform == "linux" and not any(env.get(name) for name in displays):
        chosen.append("--no-browser")  # a text browser might take over the terminal
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # in a container
        chosen.append("--allow-root")
    return chosen
