"""Models, pictures, stills and controls import in a Python that has nothing else installed."""

import subprocess
import sys
from pathlib import Path

from course import explore

ROOT = Path(explore.__file__).parents[2]
# What a browser's Python does not have, or only after a long download.
JUPYTER = ["anywidget", "ipywidgets", "traitlets", "IPython"]
HEAVY = ["numpy", "pandas", "torch", "matplotlib"]


def test_models_pictures_and_stills_import_where_there_is_only_python():
    code = f"""
import sys
for name in {JUPYTER + HEAVY}:
    sys.modules[name] = None  # an import of it now fails
from course import explore
assert len(explore.EXPLORABLES) > 15 and explore.stills and explore.figures
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
