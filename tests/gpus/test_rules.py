"""Every script of the lessons follows the rules for GPUs, as far as its syntax tree shows."""

import pytest
from support.gpu_rules import RULES, faults
from support.programs import Program, programs

START = '''"""src/sample.py: a sample.

    torchrun --standalone --nproc-per-node 2 src/sample.py
"""
local_rank = int(os.environ["LOCAL_RANK"])
on_gpus = torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
device = torch.device("cuda", local_rank) if on_gpus else torch.device("cpu")
if on_gpus:
    torch.cuda.set_device(device)
dist.init_process_group("nccl" if on_gpus else "gloo", device_id=device if on_gpus else None)
'''
ALONE = '"""python src/sample.py"""\n'
SET = "torch.cuda.set_device(1)\n"
GLOO = 'dist.init_process_group("gloo")\n'


def sample(text: str, **modules: str) -> Program:
    """A program of one script, and the modules next to it."""
    scripts = {f"{name}.py": source for name, source in modules.items()}
    return Program.of("sample.py", {"sample.py": text} | scripts)


def changed(old: str, new: str) -> str:
    """The right start of a script, with one change."""
    assert START.count(old) == 1
    return START.replace(old, new)


@pytest.mark.parametrize("name", programs())
def test_a_script_is_right_on_gpus(name):
    assert faults(programs()[name]) == []


WRONG = {
    "joins_with_its_gpu": [
        (
            changed("    torch.cuda.set_device(device)\n", "    pass\n"),
            "before `init_process_group`",
        ),
        (changed(", device_id=device if on_gpus else None", ""), "as `device_id`"),
        (ALONE + SET + 'b = "nccl" if a else "gloo"\ndist.init_process_group(b)\n', "`device_id`"),
        (ALONE + "dist.init_process_group('nccl', device_id=d)\n" + SET, "before `init_process"),
    ],
    "asks_for_a_gpu_per_rank": [
        (changed('>= int(os.environ["LOCAL_WORLD_SIZE"])', "> 1"), "by the one test"),
        (changed('LOCAL_WORLD_SIZE"', 'WORLD_SIZE"'), "by the one test"),
        (START + "fast = torch.cuda.is_available()\n", "`is_available()` sends some"),
        (START + 'dist.new_group(backend="nccl")\n', "by the one test"),
    ],
    "reads_statistics_of_a_cuda_that_runs": [
        (ALONE + "torch.cuda.reset_peak_memory_stats(1)\n", "call `torch.cuda.init()`"),
        (
            ALONE + "a = torch.cuda.max_memory_allocated()\ntorch.cuda.init()\n",
            "is not initialized",
        ),
    ],
    "waits_before_it_reads_the_clock": [
        (
            START + "s = time.perf_counter()\ny = x.matmul(x)\nt = time.perf_counter() - s\n",
            "clock",
        ),
        (
            START + "for b in c:\n    loss.backward()\n    if a:\n        t = time.time() - s\n",
            "clock",
        ),
        (START + "def go():\n    loss.backward()\ngo()\nt = time.perf_counter() - s\n", "clock"),
        (START + "wait.synchronize()\ndist.all_reduce(t)\nt = time.time() - s\n", "clock"),
    ],
    "waits_for_its_own_gpu": [
        ('"""torchrun src/sample.py"""\ntorch.cuda.synchronize()\n', "waits for GPU 0"),
    ],
    "sends_what_lies_on_its_gpu": [
        (START + "dist.all_reduce(torch.zeros(1))\n", "make this tensor with `device=...`"),
        (
            START + "def f(x):\n    t = torch.tensor(x)\n    dist.all_reduce(t)\n",
            "`all_reduce` gets it",
        ),
        (
            START + "a = [torch.empty(2) for _ in b]\ndist.all_gather(a, t)\n",
            "`all_gather` gets it",
        ),
        ("def f(x):\n    dist.broadcast(torch.ones(1), 0)\n", "`broadcast` gets it"),
    ],
    "batches_its_messages": [
        (START + "dist.send(x, 1)\n", "NCCL warns of a `send`"),
        ("def f(x):\n    dist.irecv(x, 1).wait()\n", "NCCL warns of a `irecv`"),
    ],
    "shards_on_a_mesh": [(GLOO + "fully_shard(model)\n", "give `fully_shard` its `mesh`")],
    "decides_alike_on_all_ranks": [
        (
            START + "new = torch.cuda.get_device_capability() >= (8, 0)\n",
            "`course.given.gpus.capability()`",
        ),
        (START + "if torch.cuda.is_bf16_supported():\n    pass\n", "ranks on unlike GPUs"),
    ],
}
RIGHT = {
    "joins_with_its_gpu": [START, GLOO, ALONE + "b = 'gloo'\ndist.init_process_group(b)\n"],
    "asks_for_a_gpu_per_rank": [
        ALONE + 'cuda = torch.cuda.is_available()\nname = "nccl" if cuda else "gloo"\n',
        START + 'if dist.get_backend() == "nccl":\n    pass\n',
        START + 'ways = [("nccl", device)] if on_gpus else []\n',
        changed("on_gpus = torch", 'n = int(os.environ["LOCAL_WORLD_SIZE"])\non_gpus = torch'),
        START + "queue.is_available()\n",
    ],
    "reads_statistics_of_a_cuda_that_runs": [
        ALONE + "torch.cuda.init()\ntorch.cuda.reset_peak_memory_stats(1)\n",
        START + "peak = torch.cuda.max_memory_allocated()\n",
        ALONE + "arena.memory_stats()\n",
    ],
    "waits_before_it_reads_the_clock": [
        START + "loss.backward()\nif on_gpus:\n    torch.cuda.synchronize()\nt = time.time() - s\n",
        START
        + "def go():\n    b.step()\n    torch.cuda.synchronize()\ngo()\nt = time.time() - s\n",
        START + "dist.all_reduce(t)\nx = t.item()\nt = time.perf_counter() - s\n",
        START + "dist.all_reduce(t)\ndist.barrier()\nt = time.perf_counter() - s\n",
        GLOO + "dist.all_reduce(t)\nt = time.perf_counter() - s\n",
        START + "loss.backward()\ntime.sleep(1)\nlate = time.perf_counter()\n",
    ],
    "waits_for_its_own_gpu": [
        START + "torch.cuda.synchronize()\n",
        ALONE + "torch.cuda.synchronize()\n",
        '"""torchrun src/sample.py"""\ntorch.cuda.synchronize(device)\n',
    ],
    "sends_what_lies_on_its_gpu": [
        START + "dist.all_reduce(torch.zeros(1, device=device))\n",
        START + "t = torch.zeros(1)\nt = t.to(device)\ndist.all_reduce(t)\n",
        START + "dist.all_reduce(torch.zeros(1).to(device))\n",
        START + "dist.all_gather([torch.empty_like(t) for _ in range(2)], t)\n",
        START + 'g = dist.new_group(backend="gloo")\ndist.all_reduce(torch.zeros(1), group=g)\n',
        GLOO + "dist.all_reduce(torch.zeros(1))\n",
        START + "functools.reduce(torch.zeros(1))\n",
    ],
    "batches_its_messages": [
        START + "dist.batch_isend_irecv([dist.P2POp(dist.isend, x, 1)])\n",
        GLOO + "dist.send(x, 1)\n",
        START + "socket.send(data)\n",
    ],
    "shards_on_a_mesh": [GLOO + 'fully_shard(model, mesh=init_device_mesh("cpu", (2,)))\n'],
    "decides_alike_on_all_ranks": [
        START + "from course.given import gpus\nnew = gpus.capability() >= (8, 0)\n",
        ALONE + "new = torch.cuda.get_device_capability() >= (8, 0)\n",
    ],
}


def cases(samples: dict) -> list:
    return [(rule, case) for rule in samples for case in samples[rule]]


def faults_of(rule: str, program: Program) -> list[str]:
    """The faults that one rule finds in a program."""
    (function,) = (function for function in RULES if function.__name__ == rule)
    return [text for _, _, text in function(program)]


def test_every_rule_has_samples():
    assert list(WRONG) == list(RIGHT) == [rule.__name__ for rule in RULES]


@pytest.mark.parametrize(("rule", "case"), cases(WRONG))
def test_a_rule_finds_its_fault(rule, case):
    text, says = case
    (sentence,) = faults_of(rule, sample(text))
    assert says in sentence and sentence.endswith(".") and "\n" not in sentence


@pytest.mark.parametrize(("rule", "text"), cases(RIGHT))
def test_a_rule_lets_what_is_right_pass(rule, text):
    assert faults_of(rule, sample(text)) == []


def test_a_program_is_read_with_the_modules_that_it_imports():
    module = "def f(x):\n    dist.all_reduce(torch.zeros(1))\n    torch.cuda.synchronize()\n"
    (fault,) = faults(sample(START + "import other\n", other=module))
    assert fault.startswith("other.py:2: make this tensor")
    assert faults(sample(GLOO + "import other\n", other=module)) == []
    assert (
        faults(Program.of("other.py", {"other.py": module, "sample.py": GLOO + "import other"}))
        == []
    )


def test_a_fault_names_its_file_and_line():
    (fault,) = faults(sample(START + "dist.all_reduce(torch.zeros(1))\n"))
    assert fault.startswith("sample.py:11: ")
