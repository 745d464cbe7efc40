"""The launcher of a run: torchrun's or accelerate's own code, whose ranks the supervisor starts.

Everything between the command line and the start of a rank is torch's: its parser, its elastic agent, rendezvous,
restarts and exit codes. Only `SubprocessHandler._popen`, which would start a rank as a child of this process, asks
the supervisor instead, so that the supervisor holds every process of the run and reads each rank's own pipes.
"""

import os
import select
import shlex
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from pathlib import Path

from course import hardware
from course.launch import channel

LOOK_S = 0.02  # how often the launcher of one box's ranks looks whether they have ended


class Ranks:
    """The supervisor as the launcher sees it: starts ranks and tells how they ended."""

    def __init__(self, supervisor: channel.Wire) -> None:
        self._supervisor = supervisor
        self.codes: dict[int, int] = {}
        self._answers: list[dict] = []

    def start(
        self, argv: tuple[str, ...], env: dict[str, str], stdout: str | None, stderr: str | None
    ) -> "Process":
        """Start one rank; `stdout` and `stderr` name files, where torchrun redirects them."""
        rank = int(env.get("RANK", 0))
        if rank > 0:  # set before the libraries are imported: one rank's warnings are enough
            env = {"TRANSFORMERS_VERBOSITY": "error", "DATASETS_VERBOSITY": "error"} | env
        self._supervisor.send(rank=rank, argv=list(argv), env=env, stdout=stdout, stderr=stderr)
        while not self._answers:
            self.update(timeout=None)
        answer = self._answers.pop()
        if "error" in answer:
            raise OSError(answer["error"])
        return Process(self, answer["pid"])

    def update(self, timeout: float | None) -> None:
        """Take in what the supervisor says within `timeout` seconds (None: until it says something)."""
        if not select.select([self._supervisor], [], [], timeout)[0]:
            return
        try:
            messages = self._supervisor.receive()
        except EOFError:
            sys.exit("the run's supervisor is gone")
        for message in messages:
            if "exited" in message:
                self.codes[message["exited"]] = message["code"]
            else:
                self._answers.append(message)

    def note(self, text: str) -> None:
        """Tell the learner something about the launch."""
        self._supervisor.send(note=text)


class Process:
    """The part of `subprocess.Popen` that the elastic agent uses, for a rank that the supervisor started."""

    def __init__(self, ranks: Ranks, pid: int) -> None:
        self._ranks, self.pid = ranks, pid

    def poll(self) -> int | None:
        """The exit code, or None while the rank runs."""
        self._ranks.update(timeout=0)
        return self._ranks.codes.get(self.pid)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end; raises `subprocess.TimeoutExpired` after `timeout` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        while (code := self._ranks.codes.get(self.pid)) is None:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            self._ranks.update(left)
        return code


def serve(supervisor: channel.Wire, argv: list[str]) -> None:
    """Run the launcher `argv[1]` with the arguments that follow; `argv[0]` is the folder for its temporary files."""
    from torch.distributed.elastic.multiprocessing.subprocess_handler import SubprocessHandler

    tempfile.tempdir, kind, *rest = (
        argv  # torch would leave its files behind; the supervisor removes this folder
    )
    ranks = Ranks(supervisor)

    def start(handler: SubprocessHandler, args: tuple[str, ...], env: dict[str, str]) -> Process:
        files = [file and file.name for file in (handler._stdout, handler._stderr)]
        return ranks.start(args, env, *files)

    SubprocessHandler._popen = start
    sys.argv = [kind, *rest]
    {"torchrun": _torchrun, "accelerate": _accelerate}[kind](ranks, rest)


def _torchrun(ranks: Ranks, argv: list[str]) -> None:
    from torch.distributed import run
    from torch.distributed.elastic.rendezvous import dynamic_rendezvous

    args = run.parse_args(argv)
    if not args.no_python and not args.module:
        _need_script(args.training_script)
    count = _need_gpus(args.nproc_per_node) or run.determine_local_world_size(args.nproc_per_node)
    _prepare(ranks, count)
    if args.nnodes in ("1", "1:1"):
        # The ranks of one box meet on loopback, whatever this box is called.
        args.local_addr = args.local_addr or "127.0.0.1"
        if sys.platform == "linux":
            os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        # Nor do they need to wait a random time, up to 0.3 s, lest many boxes meet at once ...
        dynamic_rendezvous._delay = lambda seconds: (
            None if isinstance(seconds, tuple) else time.sleep(seconds)
        )
        args.monitor_interval = min(
            args.monitor_interval, LOOK_S
        )  # ... or be looked at only every 0.1 s.
    run.record(run.run)(args)


def _accelerate(ranks: Ranks, argv: list[str]) -> None:
    from accelerate.commands import accelerate_cli, launch

    if argv[:1] == ["launch"]:
        args = launch.launch_command_parser().parse_args(argv[1:])
        if not args.module and not args.no_python:
            _need_script(args.training_script)
        wanted = args.num_processes or 1
        on_cpu = _prepare(ranks, wanted) == 0
        script = argv[len(argv) - len(args.training_script_args) - 1 :]
        options = argv[1 : len(argv) - len(script)]
        if wanted > 1 and (on_cpu or args.cpu):
            # On the CPU `accelerate launch` starts one process whatever it is asked for, unless told otherwise.
            os.environ["ACCELERATE_USE_CPU"] = "1"
            options = ["--multi_gpu", *(word for word in options if word != "--cpu")]
            ranks.note(
                "in a terminal: ACCELERATE_USE_CPU=1 "
                + shlex.join(["accelerate", "launch", *options, *script])
            )
        if wanted > 1 and args.main_process_port is None:
            options += ["--main_process_port", "0"]  # any free one: two runs at once must not meet
        sys.argv = ["accelerate", "launch", *options, *script]
        launch.simple_launcher = lambda args: _one_process(ranks, launch, args)
    accelerate_cli.main()


def _one_process(ranks: Ranks, launch: object, args: Namespace) -> None:
    """What accelerate's `simple_launcher` does, the process started by the supervisor."""
    command, env = launch.prepare_simple_launcher_cmd_env(args)
    command = [command[0], "-u", *command[1:]]
    code = ranks.start(tuple(command), env, None, None).wait()
    if code:
        sys.exit(code)


def _need_script(script: str) -> None:
    if not Path(script).is_file():
        sys.exit(
            f"There is no script {script} in {os.getcwd()}: run the cell that writes it, or check the name."
        )


def _need_gpus(wanted: str) -> int | None:
    """The GPUs of this box where `--nproc-per-node` is the word for them; ends the launch where there are none."""
    if wanted not in ("gpu", "cuda"):
        return None
    count = hardware.gpu_count()
    if count == 0:
        sys.exit(
            "This box has no GPU that can be used: give --nproc-per-node a number, and the ranks run on the CPU."
        )
    return count


def _prepare(ranks: Ranks, count: int) -> int:
    """Divide the box among `count` ranks; return how many GPUs they use (0: they run on the CPU)."""
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, hardware.cores() // count)))
    gpus = hardware.gpu_count()
    if 0 < gpus < count:
        ranks.note(
            f"{count} ranks are more than {gpus} GPU{'s'[: gpus > 1]}: they run on the CPU with Gloo."
        )
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        return 0
    return gpus


def main() -> None:
    """Be the launcher of a run whose supervisor left one end of a wire as descriptor 3."""
    serve(channel.inherited(3), sys.argv[1:])
