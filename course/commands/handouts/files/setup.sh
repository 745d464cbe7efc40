#!/usr/bin/env bash
# Gradescope runs this once, when it builds its image. The folder of the course lies beside it.
set -euo pipefail
apt-get update
apt-get install -y python3-pip python3-venv
python3 -m venv /autograder/venv
/autograder/venv/bin/pip install "torch==2.13.0" --extra-index-url https://download.pytorch.org/whl/cpu
/autograder/venv/bin/pip install /autograder/source/course
