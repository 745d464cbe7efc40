#!/usr/bin/env bash
# Gradescope runs this once, when it builds its image. The folder of the course is next to it.
set -euo pipefail
apt-get update
apt-get install -y python3-pip python3-venv
python3 -m venv /autograder/venv
course=/autograder/source/course
cpu=https://download.pytorch.org/whl/cpu # torch without CUDA, which is gigabytes smaller
/autograder/venv/bin/pip install -c "$course/constraints.txt" --extra-index-url "$cpu" "$course"
