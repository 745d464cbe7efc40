"""What the course needs to be installed, as pyproject.toml says.

The bounds stand here again because a doctor must work where the package's own metadata is missing;
a test compares the two.
"""

PYTHON = (3, 11)
COURSE = "multi-gpu-course"
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
