"""In the launcher: torchrun's or accelerate's own code, whose ranks the supervisor starts.

Everything between the command line and the start of a rank is torch's: its parser, its elastic
agent, rendezvous, restarts and exit codes. One replacement matters: torch's own
`SubprocessHandler._popen` would start a rank as a child of this process, and ours asks the
supervisor to start it. So the supervisor is the parent of every process of the run, and reads each
rank's pipes. Whatever else `serve` replaces follows from that, or saves time.
"""

import contextlib
import functools
import os
import shlex
import signal
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable
from typing import Any

from course import hardware
from course.core import CourseError, insides, words
from course.launch import channel, loopback, preflight
from course.launch.channel import Channel
from course.launch.child import CHANNEL
from course.launch.rank_handles import Process, Ranks

POLL_S = 0.02  # how often the launcher of one machine checks whether its ranks have ended


def serve(supervisor: Channel, argv: list[str]) -> None:
    """Run the launcher `argv[1]` with the arguments that follow.

    `argv[0]` is the folder for its temporary files. torch leaves them behind, so the supervisor
    removes the folder.
    """
    tempfile.tempdir, program, *rest = argv
    ranks = Ranks(supervisor)
    sys.argv = [program, *rest]
    try:
        _start_ranks_through(ranks)
        {"torchrun": _torchrun, "accelerate": _accelerate}[program](ranks, rest)
    except CourseError as error:
        sys.exit(str(error))


def _start_ranks_through(ranks: Ranks) -> None:
    """Have `ranks` start every rank that torch's agent starts."""

    def start(handler: Any, args: tuple[str, ...], env: dict[str, str]) -> Process:
        files = insides.inside(handler, "_stdout"), insides.inside(handler, "_stderr")
        return ranks.start(args, env, *(file and file.name for file in files))

    handlers = insides.module("torch.distributed.elastic.multiprocessing.subprocess_handler")
    kind = insides.inside(handlers, "SubprocessHandler")
    insides.replace(kind, "_popen", start)
    insides.replace(kind, "close", _unless_ended(insides.inside(kind, "close")))
    rendezvous = insides.module("torch.distributed.elastic.rendezvous.dynamic_rendezvous")
    insides.replace_if_there(rendezvous, "get_method_name", _caller_name)


def _caller_name(depth: int = 2) -> str:
    """The name of the method that records an event of the rendezvous.

    torch's own function reads the source of every frame, which takes 0.3 s per launch with all
    libraries loaded. This returns the same name.
    """
    return sys._getframe(depth).f_code.co_name


def _unless_ended(close: Callable[..., None]) -> Callable[..., None]:
    """Wrap torch's function that ends a rank to allow for one that has already ended.

    torch expects to signal a child of its own, which stays in the process table until torch reaps
    it. Here the rank is a child of the supervisor, which may have reaped it a moment ago.
    """

    def call(handler: object, death_sig: signal.Signals | None = None) -> None:
        with contextlib.suppress(ProcessLookupError):
            close(handler, death_sig)

    return call


def _torchrun(ranks: Ranks, argv: list[str]) -> None:
    run = insides.module("torch.distributed.run")
    args = run.parse_args(argv)
    if not args.no_python and not args.module:
        _require_script(args.training_script)
    count = _requested_gpus(args.nproc_per_node) or run.determine_local_world_size(
        args.nproc_per_node
    )
    args.nproc_per_node = str(count)
    _prepare(ranks, count)
    if args.nnodes in ("1", "1:1"):
        _rendezvous_on_this_machine(args)
    run.record(run.run)(args)
    if not ranks.started:
        raise insides.unknown(run, "starts ranks in another way than by SubprocessHandler._popen")


def _rendezvous_on_this_machine(args: Namespace) -> None:
    """Have the ranks of one machine meet on loopback, whatever its hostname, and without delay."""
    args.local_addr = args.local_addr or "127.0.0.1"
    loopback.restrict_to_loopback()
    # torch waits a random time, up to 0.3 s, in case many machines meet at once. One need not.
    rendezvous = insides.module("torch.distributed.elastic.rendezvous.dynamic_rendezvous")
    insides.replace_if_there(rendezvous, "_delay", _skip_random_wait)
    # torch checks its ranks only every 0.1 s.
    args.monitor_interval = min(args.monitor_interval, POLL_S)


def _skip_random_wait(seconds: float | tuple[float, float]) -> None:
    """Sleep for a given time as the rendezvous does, but skip a random one, given as a range."""
    if not isinstance(seconds, tuple):
        time.sleep(seconds)


def _accelerate(ranks: Ranks, argv: list[str]) -> None:
    from accelerate.commands import accelerate_cli, launch

    if argv[:1] == ["launch"]:
        args = launch.launch_command_parser().parse_args(argv[1:])
        if not args.module and not args.no_python:
            _require_script(args.training_script)
        # accelerate's own defaults: a process for each GPU, all of them on one machine.
        count = args.num_processes or max(1, hardware.gpu_count())
        on_cpu = _prepare(ranks, max(1, count // (args.num_machines or 1))) == 0
        script = argv[len(argv) - len(args.training_script_args) - 1 :]
        options = argv[1 : len(argv) - len(script)]
        if count > 1 and (on_cpu or args.cpu):
            # On the CPU `accelerate launch` starts one process, whatever number is requested,
            # unless these settings say otherwise.
            os.environ["ACCELERATE_USE_CPU"] = "1"
            options = ["--multi_gpu", *(word for word in options if word != "--cpu")]
            ranks.note(
                "in a terminal: ACCELERATE_USE_CPU=1 "
                + shlex.join(["accelerate", "launch", *options, *script])
            )
        if (args.num_machines or 1) == 1:
            loopback.restrict_to_loopback()
            if count > 1 and args.main_process_port is None:
                _let_torch_choose_the_port()
                options += ["--main_process_port", "0"]  # else it warns if 29500 is taken
        sys.argv = ["accelerate", "launch", *options, *script]
        insides.replace(
            launch, "simple_launcher", functools.partial(_run_one_process, ranks, launch)
        )
    accelerate_cli.main()


def _let_torch_choose_the_port() -> None:
    """Make the torchrun inside accelerate a standalone one, whose store binds a free port itself.

    accelerate would find a free port, release it, and have the store bind it later. In between,
    another run may take it.
    """
    run = insides.module("torch.distributed.run")
    real = insides.inside(run, "run")

    def standalone(args: Namespace) -> None:
        args.standalone = True
        _rendezvous_on_this_machine(args)
        real(args)

    insides.replace(run, "run", standalone)


def _run_one_process(ranks: Ranks, launch: Any, args: Namespace) -> None:
    """Do what accelerate's `simple_launcher` does, but let the supervisor start the process."""
    command, env = launch.prepare_simple_launcher_cmd_env(args)
    command = [command[0], "-u", *command[1:]]
    code = ranks.start(tuple(command), env).wait()
    if code:
        sys.exit(code)


def _require_script(script: str) -> None:
    if why := preflight.missing(script):
        sys.exit(why)


def _requested_gpus(nproc_per_node: str) -> int | None:
    """The number of GPUs of this machine if `--nproc-per-node` is ``gpu`` or ``cuda``, else None.

    Ends the launch if GPUs are requested and there is none.
    """
    if nproc_per_node not in ("gpu", "cuda"):
        return None
    count = hardware.gpu_count()
    if count == 0:
        sys.exit(
            "This machine has no GPU that can be used: give --nproc-per-node a number, "
            "and the ranks run on the CPU."
        )
    return count


def _prepare(ranks: Ranks, count: int) -> int:
    """Divide the machine among `count` ranks; return how many GPUs they use, 0 for the CPU.

    Either every rank gets a GPU or none does. Scripts that start from a terminal make the same
    choice. GPUs are hidden from ranks on the CPU, because accelerate would use any that it sees,
    and the driver may show GPUs that torch cannot use.
    """
    machine = hardware.Machine.here()
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, machine.cores // count)))
    if machine.usable_gpus >= count:
        return count
    if machine.usable_gpus:
        has = words.plural(machine.usable_gpus, "GPU")
        lead = f"{words.plural(count, 'rank')} on a machine with {has}"
        why = "NCCL needs one for each, so they run on the CPU with Gloo."
        ranks.note(f"{lead}: {why}", once=True)
    if machine.nvidia.installed:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    return 0


def main() -> None:
    """Be a launcher in a new interpreter, for which the supervisor left a channel open."""
    serve(channel.inherit(CHANNEL), sys.argv[1:])
