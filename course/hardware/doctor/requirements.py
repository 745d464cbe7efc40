"""The packages that the course needs, as in pyproject.toml.

The bounds are repeated here because the doctor also works where the course is not installed, on a
Python too old to read TOML, and after `git pull`, when the installed metadata is old. A test
compares the two.
"""

PYTHON = (3, 11)
PACKAGES = {
    "torch": "2.11",
    "numpy": "2",
    "transformers": "5",
    "datasets": "4",
    "accelerate": "1.12",
    "scikit-learn": "1.5",
    "jupyterlab": "4.4",
    "ipywidgets": "8.1",
    "anywidget": "0.9.18",
    "matplotlib": "3.9",
    "pandas": "2.2.2",
    "psutil": "6",
    "nvidia-ml-py": "12",
    "jupytext": "1.16",
    "nbclient": "0.10",
    "nbval": "0.11",
    "pytest": "8.4",
}
UNTRIED_TORCH = "2.16"  # and later ones
