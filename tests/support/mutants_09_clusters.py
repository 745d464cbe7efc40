"""Wrong answers to the exercises of lab 09."""

from support.mutants import Mutant

WITHIN = "        dist.reduce(tensor, dst=self.leader, group=self.within)\n"
BETWEEN = """        if self.leads:
            dist.all_reduce(tensor, group=self.between)
"""
AFTER = "        dist.broadcast(tensor, src=self.leader, group=self.within)\n"
GROUPS = "[dist.new_group(list(range(first, first + local_size))) for first in leaders]"

TWO_LEVEL = [
    Mutant("the neighbours are not told", "two_level", "test_sum", AFTER, ""),
    Mutant("the neighbours' numbers are lost", "two_level", "test_sum", WITHIN, ""),
    Mutant("each node on its own", "two_level", "test_sum", BETWEEN, ""),
    Mutant("the second node tells everyone", "two_level", "test_sum", "src=self.leader", "src=self.leader + 1"),
    Mutant("groups of every other rank", "two_level", "test_sum", GROUPS,
           "[dist.new_group(list(range(i, world_size, len(leaders)))) for i in range(len(leaders))]"),
    Mutant("each rank makes its own group only", "two_level", "test_sum", GROUPS,
           GROUPS.replace(" for", " if first <= rank < first + local_size else None for")),
    Mutant("a new tensor instead of the old one", "two_level", "test_sum", WITHIN,
           "        tensor = tensor.clone()\n" + WITHIN),
    Mutant("an average, not a sum", "two_level", "test_sum", AFTER, AFTER + "        tensor /= tensor.numel()\n"),
    Mutant("one ring over all ranks", "two_level", "test_cable", WITHIN + BETWEEN + AFTER,
           "        dist.all_reduce(tensor)\n"),
    Mutant("a leader for all nodes tells all ranks", "two_level", "test_cable", BETWEEN + AFTER,
           "        if self.leads:\n            dist.reduce(tensor, dst=0, group=self.between)\n"
           "        dist.broadcast(tensor, src=0)\n"),
    Mutant("there and back between the leaders", "two_level", "test_cable", BETWEEN,
           "        if self.leads:\n            dist.reduce(tensor, dst=0, group=self.between)\n"
           "            dist.broadcast(tensor, src=0, group=self.between)\n"),
    Mutant("the leaders collect everybody's tensors", "two_level", "test_bytes", BETWEEN,
           "        if self.leads:\n            n = dist.get_world_size(self.between)\n"
           "            parts = torch.zeros(n, *tensor.shape)\n"
           "            parts[dist.get_rank(self.between)] = tensor\n"
           "            dist.all_reduce(parts, group=self.between)\n            tensor.copy_(parts.sum(0))\n"),
    Mutant("groups anew in each call", "two_level", "test_groups", WITHIN,
           "        dist.new_group()\n" + WITHIN),
]  # fmt: skip

PORT = 'str(20000 + int(task["SLURM_JOB_ID"]) % 20000)'
FROM_SLURM = [
    Mutant("the local number as the rank", "from_slurm", "test_rank", '"RANK": task["SLURM_PROCID"]',
           '"RANK": task["SLURM_LOCALID"]'),
    Mutant("the node's number as the rank", "from_slurm", "test_rank", '"RANK": task["SLURM_PROCID"]',
           '"RANK": task["SLURM_NODEID"]'),
    Mutant("as if all nodes had as many tasks", "from_slurm", "test_local_rank", 'task["SLURM_LOCALID"]',
           'str(int(task["SLURM_PROCID"]) % max(1, int(task["SLURM_NTASKS"]) // int(task["SLURM_NNODES"])))'),
    Mutant("the rank picks the GPU", "from_slurm", "test_local_rank", 'task["SLURM_LOCALID"]', 'task["SLURM_PROCID"]'),
    Mutant("the number of nodes as the world size", "from_slurm", "test_world_size", 'task["SLURM_NTASKS"]',
           'task["SLURM_NNODES"]'),
    Mutant("nodes times tasks a node", "from_slurm", "test_world_size", 'task["SLURM_NTASKS"]',
           'str(int(task["SLURM_NNODES"]) * int(task["SLURM_NTASKS_PER_NODE"]))'),
    Mutant("each task meets at home", "from_slurm", "test_address", 'first_node(task["SLURM_JOB_NODELIST"])',
           'task["SLURMD_NODENAME"]'),
    Mutant("the whole list as an address", "from_slurm", "test_address", 'first_node(task["SLURM_JOB_NODELIST"])',
           'task["SLURM_JOB_NODELIST"]'),
    Mutant("everyone meets on this machine", "from_slurm", "test_address", 'first_node(task["SLURM_JOB_NODELIST"])',
           '"localhost"'),
    Mutant("the same port for all jobs", "from_slurm", "test_port", PORT, '"29500"'),
    Mutant("a port of each task's own", "from_slurm", "test_port", PORT,
           'str(20000 + int(task["SLURM_TASK_PID"]) % 20000)'),
    Mutant("a random port", "from_slurm", "test_port", PORT, 'str(__import__("random").randrange(20000, 40000))'),
    Mutant("the job's number as the port", "from_slurm", "test_port", PORT, 'task["SLURM_JOB_ID"]'),
    Mutant("a world size that is no text", "from_slurm", "test_joins", '"WORLD_SIZE": task["SLURM_NTASKS"]',
           '"WORLD_SIZE": int(task["SLURM_NTASKS"])'),
    Mutant("LOCAL_RANK is forgotten", "from_slurm", "test_local_rank",
           '        "LOCAL_RANK": task["SLURM_LOCALID"],\n', '        "LOCAL_RANK": "0",\n'),
    Mutant("the process's own variables, not the task's", "from_slurm", "test_pure", '"RANK": task["SLURM_PROCID"]',
           '"RANK": os.environ.get("SLURM_PROCID", task["SLURM_PROCID"])'),
]  # fmt: skip

SHARE = "order[:GLOBAL_BATCH][dist.get_rank()::dist.get_world_size()]"
STOP = """    flag = torch.tensor(float(told_to_stop), device="cuda" if torch.cuda.is_available() else "cpu")
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return bool(flag)
"""
RESUMABLE = [
    Mutant("a batch for each rank", "resumable", "test_share", SHARE,
           "order[dist.get_rank()::dist.get_world_size()][:GLOBAL_BATCH]"),
    Mutant("every rank takes the whole batch", "resumable", "test_share", SHARE, "order[:GLOBAL_BATCH]"),
    Mutant("half the batch, whatever the world size", "resumable", "test_share", SHARE,
           "order[:GLOBAL_BATCH][dist.get_rank() * 24:(dist.get_rank() + 1) * 24]"),
    Mutant("the last rank takes what is left of uneven parts", "resumable", "test_share", SHARE,
           "order[:GLOBAL_BATCH].tensor_split([20, 40])[dist.get_rank()]"),
    Mutant("all ranks start at the beginning", "resumable", "test_share", SHARE,
           "order[:GLOBAL_BATCH // dist.get_world_size()]"),
    Mutant("the same samples in every step", "resumable", "test_steps_differ", SHARE,
           "torch.arange(GLOBAL_BATCH)[dist.get_rank()::dist.get_world_size()]"),
    Mutant("only the rank that was told stops", "resumable", "test_agree",
           "    dist.all_reduce(flag, op=dist.ReduceOp.MAX)\n", ""),
    Mutant("only where all were told", "resumable", "test_agree", "ReduceOp.MAX", "ReduceOp.MIN"),
    Mutant("rank 0 decides", "resumable", "test_agree", "dist.all_reduce(flag, op=dist.ReduceOp.MAX)",
           "dist.broadcast(flag, src=0)"),
    Mutant("only rank 0 hears of it", "resumable", "test_agree", "dist.all_reduce(flag, op=dist.ReduceOp.MAX)",
           "dist.reduce(flag, dst=0, op=dist.ReduceOp.MAX)"),
    Mutant("never", "resumable", "test_agree", STOP, "    return False\n"),
    Mutant("told ranks do not ask", "resumable", "test_stops_together", STOP,
           "    if told_to_stop:\n        return True\n" + STOP),
    Mutant("heard a step too late", "resumable", "test_stops_together", STOP,
           "    asked = getattr(all_stop, 'asked', False)\n    all_stop.asked = told_to_stop\n"
           + STOP.replace("told_to_stop", "asked")),
    Mutant("an order that a new process does not know", "resumable", "test_goes_on", "    return " + SHARE,
           '    share.calls = getattr(share, "calls", 0) + 1\n    order = order.roll(share.calls)\n    return '
           + SHARE),
    Mutant("the share drifts from rank to rank with the world size", "resumable", "test_fewer_ranks", SHARE,
           "order[dist.get_world_size():][:GLOBAL_BATCH][dist.get_rank()::dist.get_world_size()]"),
]  # fmt: skip

MUTANTS = TWO_LEVEL + FROM_SLURM + RESUMABLE
