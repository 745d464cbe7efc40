"""Classroom 50's runner starts this in a learner's checkout. The course's folder lies beside it."""

import subprocess
import sys
from pathlib import Path

NAMES = ["my_ddp"]  # the exercises that this assignment asks for
COURSE = Path(__file__).parent / "course"

subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", str(COURSE)], check=True)
check = [sys.executable, "-m", "course", "check", "--src", ".", "--classroom50", "result.json"]
done = subprocess.run([*check, *NAMES])
sys.exit(done.returncode not in (0, 1))  # 1: a check does not hold, which result.json says
