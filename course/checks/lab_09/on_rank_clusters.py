"""What the checks of lab 09's networks and tasks do on each rank."""

import importlib
import os

import torch
import torch.distributed as dist

CALLS = (
    "all_reduce", "reduce", "broadcast", "all_gather", "gather", "scatter", "reduce_scatter", "all_to_all", "send",
    "recv", "isend", "irecv", "all_gather_into_tensor", "reduce_scatter_tensor", "all_gather_object",
    "broadcast_object_list",
)  # fmt: skip


class Calls:
    """The collectives called while it is entered: who takes part, whether they span nodes, how large the tensor is."""

    def __init__(self, local_size: int) -> None:
        self.local_size, self.made = local_size, []

    def __enter__(self) -> list[dict]:
        self._real = {name: getattr(dist, name) for name in CALLS if hasattr(dist, name)}
        for name, real in self._real.items():
            setattr(dist, name, self._counting(real))
        return self.made

    def __exit__(self, *_: object) -> None:
        for name, real in self._real.items():
            setattr(dist, name, real)

    def _counting(self, real):
        def call(*args, **kwargs):
            group = kwargs.get("group") or next(
                (a for a in args if isinstance(a, dist.ProcessGroup)), dist.group.WORLD
            )
            numels = [a.numel() for a in (*args, *kwargs.values()) if isinstance(a, torch.Tensor)]
            members = dist.get_process_group_ranks(group)
            crosses = len({rank // self.local_size for rank in members}) > 1
            self.made.append(
                {"ranks": members, "crosses": crosses, "numel": max(numels, default=0)}
            )
            return real(*args, **kwargs)

        return call


def groups() -> int:
    """How many process groups this rank has made."""
    return len(dist.distributed_c10d._world.pg_names)


def two_level(sizes: tuple[int, ...]) -> dict[int, dict]:
    """For each number of ranks a node: the sum, what was called, and the groups made in a call."""
    module, results = importlib.import_module("two_level"), {}
    for size in sizes:
        reducer = module.TwoLevel(size)
        tensor, before = torch.full((2, 2), dist.get_rank() + 1.0), groups()
        with Calls(size) as calls:
            reducer.all_reduce(tensor)
        total = tensor.flatten().tolist()
        reducer.all_reduce(tensor)
        results[size] = {
            "sum": total, "again": tensor.flatten().tolist(), "calls": calls, "groups_in_call": groups() - before,
        }  # fmt: skip
    return results


# -- tasks of Slurm ----------------------------------------------------------------------------------------------------


def tasks_of(nodelist: str, job: int, tasks: tuple[int, ...]) -> list[dict[str, str]]:
    """The variables that Slurm gives to each task of a job with so many tasks on each of its nodes."""
    places = [(node, local) for node, count in enumerate(tasks) for local in range(count)]
    return [
        {
            "SLURM_JOB_ID": str(job), "SLURM_JOBID": str(job), "SLURM_JOB_NODELIST": nodelist,
            "SLURM_NODELIST": nodelist, "SLURM_NNODES": str(len(tasks)), "SLURM_JOB_NUM_NODES": str(len(tasks)),
            "SLURM_NTASKS": str(len(places)), "SLURM_NPROCS": str(len(places)),
            "SLURM_NTASKS_PER_NODE": str(max(tasks)), "SLURM_PROCID": str(rank), "SLURM_NODEID": str(node),
            "SLURM_LOCALID": str(local), "SLURMD_NODENAME": f"node{3 + node}", "SLURM_LAUNCH_NODE_IPADDR": "10.0.0.3",
            "SLURM_STEP_GPUS": "0,1", "SLURM_TASK_PID": str(1000 + rank), "SLURM_CPUS_ON_NODE": "2",
        }
        for rank, (node, local) in enumerate(places)
    ]  # fmt: skip


def environments(cases: tuple[tuple[str, int, tuple[int, ...]], ...]) -> list[list[dict[str, str]]]:
    """What the learner's function makes of each task, for each (node list, job, tasks on each node)."""
    environment = importlib.import_module("from_slurm").environment
    return [
        [{key: str(value) for key, value in environment(task).items()} for task in tasks_of(*case)]
        for case in cases
    ]


def join_as_tasks() -> tuple[int, float]:
    """Be one of four tasks on two nodes, both of them this machine: the rank, and the sum of all ranks."""
    script = importlib.import_module("from_slurm")
    script.first_node = lambda nodelist: "127.0.0.1"  # the only node that there is
    task = tasks_of("node[3-4]", os.getppid(), (2, 2))[int(os.environ["RANK"])]
    mine = script.environment(task)
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        os.environ.pop(name)
    os.environ.pop("TORCHELASTIC_USE_AGENT_STORE", None)  # there is no agent under Slurm
    os.environ.update(mine)
    dist.init_process_group("gloo")
    total = torch.tensor(float(dist.get_rank()))
    dist.all_reduce(total)
    return dist.get_rank(), total.item()


def environment_is_pure() -> tuple[list[str], list[str]]:
    """The task's variables that `environment` changes; the results that depend on this process's own environment."""
    environment = importlib.import_module("from_slurm").environment
    task = tasks_of("node[3-4]", 4711, (2, 2))[3]
    before = dict(task)
    first = environment(task)
    changed = sorted(
        name for name in before.keys() | task.keys() if before.get(name) != task.get(name)
    )
    os.environ.update(
        dict.fromkeys((*before, "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_PORT"), "99")
    )
    second = environment(before)
    return changed, sorted(name for name in first if first[name] != second.get(name))
