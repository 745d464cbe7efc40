"""Scripts on ranks: tracebacks, processes inside ranks, restarts, and fresh imports."""

from pathlib import Path

import pytest
from support.both_ways import both, warm
from support.launching import Client, torchrun

pytestmark = pytest.mark.slow


def test_traceback_of_ranks(client: Client) -> None:
    """Also after a process group has put torch's own hook in place."""
    source = """
    import os
    import torch.distributed as dist

    dist.init_process_group("gloo")
    dist.barrier()
    if dist.get_rank() == 1:
        dist.barrier()
    print("before")
    def f():
        raise ValueError("on rank 0")
    if dist.get_rank() == 0:
        f()
    """
    terminal, forked = both(client, source)
    assert forked.code == terminal.code == 1
    assert forked.stdout[0] == terminal.stdout[0] == "before"
    shown = [
        way.stderr[0].partition("Traceback")[2].partition("ValueError: on rank 0")[0]
        for way in (forked, terminal)
    ]
    assert shown[0] == shown[1] and "in f" in shown[0]


@pytest.mark.rest
def test_processes_inside_of_ranks(client: Client) -> None:
    """Pickling from `__main__`, loader workers, `mp.spawn`, `torch.save`, all in one script."""
    source = """
    import io, os, pickle, sys
    import torch
    import torch.distributed as dist
    import torch.multiprocessing as mp
    from torch.utils.data import DataLoader, Dataset

    class Squares(Dataset):
        def __len__(self):
            return 8
        def __getitem__(self, i):
            return i * i

    class Net(torch.nn.Linear):
        pass

    def worker(i, queue):
        queue.put((i, __name__, os.path.basename(__file__), sys.argv[1:]))

    if __name__ == "__main__":
        dist.init_process_group("gloo")
        print([batch.tolist() for batch in DataLoader(Squares(), batch_size=4, num_workers=2)])
        queue = mp.get_context("spawn").SimpleQueue()
        mp.spawn(worker, args=(queue,), nprocs=1)
        print(queue.get())
        file = io.BytesIO()
        torch.save(Net(2, 2), file)
        file.seek(0)
        net = torch.load(file, weights_only=False)
        print(type(net) is Net, Net.__module__, type(pickle.loads(pickle.dumps(net))) is Net)
        objects = [None, None]
        dist.all_gather_object(objects, Net)
        print(objects == [Net, Net])
        torch.manual_seed(dist.get_rank())
        parts = [torch.rand(2).tolist(), torch.nn.Linear(2, 1).weight.tolist()]
        print(parts)
        dist.destroy_process_group()
    """
    terminal, forked = both(client, source, "an argument")
    assert forked.code == terminal.code == 0, forked.stderr
    assert forked.stdout == terminal.stdout
    assert "__mp_main__" in forked.stdout[0] and "True __main__ True" in forked.stdout[1]
    assert forked.stderr == terminal.stderr


def test_restarts(client: Client) -> None:
    """torchrun's own restarts: a failure on the first attempt, success on the second."""
    source = """
    import os, sys
    attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
    print("attempt", attempt, "of", os.environ["TORCHELASTIC_MAX_RESTARTS"], flush=True)
    if attempt == "0":
        sys.exit(3)
    """
    client.script("both", source)
    answer = client.run(*torchrun(), "--max-restarts", "1", "both.py")
    assert answer["ok"] and answer["codes"] == {0: 0, 1: 0}, answer
    for rank in (0, 1):
        assert answer["stdout"][rank].splitlines()[-1] == "attempt 1 of 1"
        log = Path(answer["log_dir"], f"rank{rank}.log").read_text()
        assert log.endswith("attempt 1 of 1\n")
        assert "exit code 3 – is started again" in answer["shown"]


def test_record_writes_its_error_file(client: Client) -> None:
    """torch's `@record`, which learners meet in the documentation, finds its file.

    On one rank: torchrun ends the others, and cannot read a file that one of them is writing.
    """
    source = """
    import os
    from torch.distributed.elastic.multiprocessing.errors import record

    @record
    def main():
        if os.environ["RANK"] == "0":
            raise ValueError("recorded")

    main()
    """
    client.script("both", source)
    answer = client.run(*torchrun(), "both.py")
    assert "ValueError: recorded" in answer["stderr"][None]
    assert "ValueError: recorded" in answer["shown"]


def test_sibling_is_fresh_in_each_run(client: Client) -> None:
    """The warm server never keeps a learner's module, even one edited within a clock tick."""
    client.script("src/main", "import mine; print(mine.value)")
    for value in (1, 10, 100, 1000):  # as long as it was, Python takes its own .pyc of that second
        client.script("src/mine", f"value = {value}")
        assert warm(client, "src/main").stdout == {0: str(value), 1: str(value)}


def test_a_process_group_is_not_destroyed_at_the_end(client: Client) -> None:
    """Objects of a script are finalized, but a group's threads may need the GIL just then."""
    source = """
    import os
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    class Last:
        def __del__(self, os=os, open=open, print=print):
            tasks = [f"/proc/self/task/{task}/comm" for task in os.listdir("/proc/self/task")]
            print(sum("pt_gloo" in open(task).read() for task in tasks), "threads")

    dist.init_process_group("gloo")
    model = DistributedDataParallel(torch.nn.Linear(2, 2))
    model(torch.ones(1, 2)).sum().backward()
    dist.barrier()
    dist.destroy_process_group()
    last = Last()
    """
    client.script("group", source)
    assert warm(client, "group").stdout == {0: "2 threads", 1: "2 threads"}
