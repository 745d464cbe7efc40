"""axe-core, which finds barriers for people who see or move differently."""

import subprocess
import tarfile
from pathlib import Path

AXE = "axe-core@4.14.1"
RUN = """() => axe.run(document, {
        runOnly: ['wcag2a', 'wcag2aa', 'wcag22aa', 'best-practice']
    }).then(found => found.violations.map(each => each.id + ': ' +
        each.nodes.slice(0, 3).map(node => node.html.slice(0, 160)).join(' | ')))"""


def source(folder: Path) -> str:
    """axe-core's JavaScript, to evaluate on a page before `RUN`; npm downloads it to `folder`."""
    subprocess.run(["npm", "pack", AXE, "--silent"], cwd=folder, check=True, capture_output=True)
    with tarfile.open(next(folder.glob("axe-core-*.tgz"))) as archive:
        return archive.extractfile("package/axe.min.js").read().decode()
