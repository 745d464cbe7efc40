"""Run a script on pretended GPUs: ``torchrun --nproc-per-node 2 on_pretended_gpus.py 2 SCRIPT``.

The first argument is the number of GPUs that each process sees.
"""

import sys

from course.launch import forked
from course.pretended import pretend_gpus

if __name__ == "__main__":
    sys.path.pop(0)  # this folder; `run_as_main` puts the script's folder there
    pretend_gpus(int(sys.argv[1]))
    sys.argv = sys.argv[2:]
    forked.run_as_main()
