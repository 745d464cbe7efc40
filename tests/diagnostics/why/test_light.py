"""`why` imports little on a rank, and nowhere anything that a training environment may lack."""

import subprocess
import sys

import pytest

# Packages that a training environment may lack, or that are slow to import.
NEVER = ("IPython", "ipykernel", "pandas", "matplotlib", "transformers", "datasets", "jupytext")
NEVER += ("nbformat", "anywidget", "accelerate", "safetensors")
HEAVY_ON_A_RANK = ("torch.distributed.checkpoint", "torch.distributed.fsdp", "course.drawing")
HEAVY_ON_A_RANK += (
    "course.launch",
    "course.charts",
    "course.diagnostics.why",
    "course.diagnostics.answers",
)


def loaded(code: str) -> list[str]:
    """The modules that some code has imported, except those that torch itself imports."""
    begin = "import sys, torch, torch.distributed, torch.utils.data, torch.nn.parallel\n"
    begin += "before = set(sys.modules)\n"
    end = "\nprint(*set(sys.modules) - before)"
    return subprocess.check_output([sys.executable, "-c", begin + code + end], text=True).split()


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("import course.diagnostics.profiling.observer", NEVER + HEAVY_ON_A_RANK),
        (
            "from course.diagnostics import WhyAnswer, why_answer\n"
            "from course.diagnostics.why import detectors",
            NEVER,
        ),
    ],
    ids=["on a rank", "the answer"],
)
def test_nothing_heavy_is_imported(code: str, heavy: tuple[str, ...]) -> None:
    there = loaded(code)
    assert [name for name in there if name.startswith(heavy)] == []


def test_a_module_is_acted_on_when_the_script_imports_it() -> None:
    code = (
        "from course.diagnostics.watch.late_import import on_import\n"
        "seen = []\n"
        "with on_import('wave', lambda module: seen.append(module.open)):\n"
        "    assert not seen and 'wave' not in sys.modules\n"
        "    import wave\n"
        "    assert seen == [wave.open] and wave.__spec__.name == 'wave'\n"
        "with on_import('wave', lambda module: seen.append(1)):\n"
        "    assert seen[1:] == [1]\n"
        "with on_import('chunk_that_is_not_there', seen.append):\n"
        "    pass\n"
        "assert len(sys.meta_path) == len({id(each) for each in sys.meta_path})\n"
    )
    assert "wave" in loaded(code)


@pytest.mark.parametrize("command", ["run", "why", "right"])
def test_a_command_begins_without_torch(command: str) -> None:
    """Importing torch takes seconds, and would delay the user's command."""
    code = (
        "import contextlib, sys\nfrom course.diagnostics import terminal\n"
        f"with contextlib.suppress(SystemExit):\n    terminal.{command}(['--help'])\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert done.splitlines()[-1] == "False"
