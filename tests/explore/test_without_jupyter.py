"""Models, pictures, stills and controls can be imported without Jupyter, numpy and torch."""

import subprocess
import sys
from pathlib import Path

from course import explore

ROOT = Path(explore.__file__).parents[2]
# A browser's Python lacks these, or gets them only by a long download.
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
