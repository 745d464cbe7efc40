"""A process is watched on a system without real-time signals, such as macOS, too."""

import subprocess
import sys
from pathlib import Path

from course.core.files import ROOT
from course.diagnostics.watch import snapshots

WITHOUT_REAL_TIME_SIGNALS = """
import signal, sys
from pathlib import Path
del signal.SIGRTMAX
from course.diagnostics.watch.calls import Calls
from course.diagnostics.watch.snapshots import SnapshotWriter

folder = Path(sys.argv[1])
writer = SnapshotWriter(folder, Calls(folder / "calls"), 1, 2)
writer.start()
writer.end(None)
"""


def test_a_system_without_real_time_signals(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WITHOUT_REAL_TIME_SIGNALS, str(tmp_path)]
    subprocess.run(command, check=True, cwd=ROOT)
    snapshot = snapshots.read(tmp_path / "snapshot.json")
    assert snapshot and snapshot.ended and (snapshot.rank, snapshot.world) == (1, 2)
