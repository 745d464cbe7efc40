"""What the checks of `from_slurm` do: be the tasks of a job."""

import builtins
import importlib
import os

import torch
import torch.distributed as dist


def tasks_of(nodelist: str, job: int, tasks: tuple[int, ...]) -> list[dict[str, str]]:
    """The variables that Slurm gives to each task of a job; `tasks` says how many each node has."""
    places = [(node, local) for node, count in enumerate(tasks) for local in range(count)]
    return [
        {
            "SLURM_JOB_ID": str(job),
            "SLURM_JOBID": str(job),
            "SLURM_JOB_NODELIST": nodelist,
            "SLURM_NODELIST": nodelist,
            "SLURM_NNODES": str(len(tasks)),
            "SLURM_JOB_NUM_NODES": str(len(tasks)),
            "SLURM_NTASKS": str(len(places)),
            "SLURM_NPROCS": str(len(places)),
            "SLURM_NTASKS_PER_NODE": str(max(tasks)),
            "SLURM_PROCID": str(rank),
            "SLURM_NODEID": str(node),
            "SLURM_LOCALID": str(local),
            "SLURMD_NODENAME": f"node{3 + node}",
            "SLURM_LAUNCH_NODE_IPADDR": "10.0.0.3",
            "SLURM_STEP_ID": "0",
            "SLURM_STEPID": "0",
            "SLURM_STEP_NODELIST": nodelist,
            "SLURM_STEP_NUM_NODES": str(len(tasks)),
            "SLURM_STEP_NUM_TASKS": str(len(places)),
            "SLURM_SRUN_COMM_PORT": str(40000 + job % 1000),
            "SLURM_STEP_GPUS": "0,1",
            "SLURM_TASK_PID": str(1000 + rank),
            "SLURM_CPUS_ON_NODE": "2",
        }
        for rank, (node, local) in enumerate(places)
    ]


def environments(cases: tuple[tuple[str, int, tuple[int, ...]], ...]) -> list[list[dict[str, str]]]:
    """What the learner's function makes of each task, by (node list, job, tasks on each node)."""
    return [[as_task(number, task) for number, task in enumerate(tasks_of(*c))] for c in cases]


def ports(jobs: int) -> list[str]:
    """The port that the first task of each of the jobs 1, 2 and so on takes."""
    return [
        as_task(0, tasks_of("node3", job, (1,))[0])["MASTER_PORT"] for job in range(1, jobs + 1)
    ]


def as_task(number: int, task: dict[str, str]) -> dict[str, str]:
    """What the learner's function makes of a task: with the hashes that its own process would have.

    Python mixes a random number into the hash of a text, another one in each process.
    """
    real = builtins.hash
    builtins.hash = lambda key: real(key) if isinstance(key, int) else real((number, key))
    try:
        mine = importlib.import_module("from_slurm").environment(task)
    finally:
        builtins.hash = real
    return {key: str(value) for key, value in mine.items()}


def join_as_tasks() -> tuple[int, float]:
    """Be one of four tasks on two nodes (both this machine): the rank, and the sum of all ranks."""
    task = tasks_of("node[3-4]", os.getppid(), (2, 2))[int(os.environ["RANK"])]
    mine = importlib.import_module("from_slurm").environment(task)
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        os.environ.pop(name)
    os.environ.pop("TORCHELASTIC_USE_AGENT_STORE", None)  # there is no agent under Slurm
    os.environ.update(mine)
    os.environ["MASTER_ADDR"] = "127.0.0.1"  # the only node that there is
    dist.init_process_group("gloo")
    total = torch.tensor(float(dist.get_rank()))
    dist.all_reduce(total)
    return dist.get_rank(), total.item()


def environment_is_pure() -> tuple[list[str], list[str]]:
    """What `environment` changes of a task or of this process's own variables, and its results
    that depend on the latter.
    """
    environment = importlib.import_module("from_slurm").environment
    task = tasks_of("node[3-4]", 4711, (2, 2))[3]
    before, own = dict(task), dict(os.environ)
    first = environment(task)
    changed = sorted({name for name, _ in before.items() ^ task.items()})
    changed += sorted({name for name, _ in own.items() ^ os.environ.items()})
    misleading = (*before, "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_PORT")
    os.environ.update(dict.fromkeys(misleading, "99"))
    second = environment(before)
    return changed, sorted(name for name in first if first[name] != second.get(name))
