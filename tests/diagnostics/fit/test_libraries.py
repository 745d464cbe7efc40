"""A script's libraries are imported before the fork, and the user's own modules are not."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.launching import clean_environment

from course.core import ROOT

LOADS = """import json, sys
from course.diagnostics.fit import libraries
libraries.load(sys.argv[1])
print(json.dumps([name in sys.modules for name in ("wave", "mine", "sched")]))
"""


@pytest.mark.slow
def test_only_libraries_are_imported_before_the_script_runs(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("import wave\nimport mine\nimport sched\n")
    (tmp_path / "mine.py").write_text("")
    (tmp_path / "sched.py").write_text("")  # the script means this one, not Python's
    env = clean_environment() | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", LOADS, str(script)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [True, False, False]
