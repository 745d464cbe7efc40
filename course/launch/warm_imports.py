"""In the warm server: import what its forks need, in an environment that keeps forks safe.

This also detects a run that changes a variable that was already read, and so needs new
interpreters.
"""

import atexit
import importlib
import logging
import os
import sys
from dataclasses import dataclass, field
from typing import Any

# Set while libraries are imported, so that none starts a thread: a process with threads cannot be
# forked safely. CUDA must not be touched either, so torch looks for GPUs through NVML.
SINGLE_THREADED = {
    "OPENBLAS_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
}

COMPILER = "torch._dynamo.utils"
SENTENCES = "course.data.nli"

FIRST = (
    "torch",
    "torch.distributed.run",
    "torch.distributed.elastic.rendezvous.c10d_rendezvous_backend",
    "torch.distributed.elastic.rendezvous.static_tcp_rendezvous",
    "encodings.idna",  # which encodes host names
    "torch.nn.parallel",
    "torch.utils.data",
    "course.launch.launcher",
)
THEN = (
    "transformers.models.bert.modeling_bert",
    "transformers.models.bert.tokenization_bert",
    "datasets",
    "accelerate.commands.accelerate_cli",
    SENTENCES,
    "course.models",
    # What checks need: exercises as handed out, and the modules that their ranks import first.
    "course.lessons",
    "course.checks.runner.plain_data",
    "course.checks.runner.untouched",
    "course.checks.tools.loose_ends",
)


def skip_unread_compile_times() -> None:
    """Let torch make its table of compile times at exit only if its log will show it.

    By default torch always makes the table, which takes each rank 3 ms.
    """
    compiler: Any = sys.modules.get(COMPILER)
    if write := getattr(compiler, "dump_compile_times", None):
        atexit.unregister(write)
        atexit.register(lambda: compiler.log.isEnabledFor(logging.INFO) and write())


@dataclass
class Warmth:
    """What the warm server has imported; a fork inherits the state of its parent.

    `growing` is true while later forks will have more. `failed` has, by module, why it could not be
    imported.
    """

    growing: bool = False
    failed: dict[str, str] = field(default_factory=dict)

    def import_rest(self) -> None:
        """Import the modules in THEN; one that cannot be imported here is noted in `failed`."""
        for module in THEN:
            try:
                importlib.import_module(module)
            except Exception as error:  # whatever a library raises while it is imported
                self.failed[module] = f"{type(error).__name__}: {error}".split("\n")[0]
        if sentences := sys.modules.get(SENTENCES):
            sentences.pairs()  # or each rank would draw them, in a tenth of a second
        skip_unread_compile_times()
        self.growing = False

    def sentence(self) -> str:
        """A note for the learner on modules that could not be imported, "" if there are none."""
        if not self.failed:
            return ""
        why = "; ".join(f"{module} ({error})" for module, error in self.failed.items())
        return f"A script that imports one of these starts more slowly here than it could: {why}."


warmth = Warmth()

# Python or a library reads these variables once, at its start. The warm server has read them
# already, so a run that changes one of them gets new interpreters.
READ_AT_START = (
    "PYTHON", "TORCH", "PYTORCH_", "HF_", "TRANSFORMERS_", "DATASETS_", "TOKENIZERS_",
    "OMP_", "MKL_", "KMP_", "GOMP_", "OPENBLAS_", "LD_", "MALLOC_", "LC_", "LANG", "TZ", "HOME",
    "XDG_", "HUGGING", "TQDM_", "TMPDIR",
)  # fmt: skip
# The exceptions: libraries read these later, or `forked.enter` makes them read them again.
READ_LATE = (
    "PYTHONUNBUFFERED", "PYTHONFAULTHANDLER", "PYTHON_COLORS", "TORCHELASTIC_", "TORCH_ELASTIC_",
    "TORCH_NCCL_", "TORCH_GLOO_", "TORCH_FR_", "TORCH_DISTRIBUTED_DEBUG", "TRANSFORMERS_VERBOSITY",
    "DATASETS_VERBOSITY", "OMP_NUM_THREADS", "TORCHINDUCTOR_CACHE_DIR",
    "TORCH_DISABLE_SHARE_RDZV_TCP_STORE",
    "KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK",  # scikit-learn sets them in a kernel
)  # fmt: skip

PATH = "PYTHONPATH"
ENTRY = "sitecustomize.py"


def path_without_entry(env: dict[str, str]) -> str:
    """PYTHONPATH without its first folder if that has a ``sitecustomize.py`` (`forked.begin`)."""
    first, mark, rest = env.get(PATH, "").partition(os.pathsep)
    return rest if os.path.isfile(os.path.join(first, ENTRY)) else first + mark + rest


def changed_at_start(before: dict[str, str], after: dict[str, str]) -> set[str]:
    """The variables that differ, among those that were read when the warm server started."""
    after = {**after, PATH: path_without_entry(after)}
    before = {**before, PATH: path_without_entry(before)}
    names = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    return {
        name for name in names if name.startswith(READ_AT_START) and not name.startswith(READ_LATE)
    }
