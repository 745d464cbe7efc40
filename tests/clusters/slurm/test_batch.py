"""The sbatch file: it parses and requests what was specified; invalid requests are refused."""

import os
import re
import signal
import subprocess

import pytest
from support.patience import until

from course.clusters.slurm.batch import STRATEGIES, Request
from course.core.errors import CourseError

BOUNDED = {name: {"nodes": 1} for name, how in STRATEGIES.items() if how.most_nodes == 1}


def request_for(strategy: str, **more) -> Request:
    return Request(
        "src/train.py --epochs 3",
        strategy,
        **{"nodes": 2, "gpus": 4, **BOUNDED.get(strategy, {}), **more},
    )


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("resume", [False, True])
def test_every_file_is_shell_that_parses_and_asks_for_what_was_asked(strategy, resume, tmp_path):
    request = request_for(strategy, resume=resume, partition="train", minutes=95, cores_per_gpu=3)
    text = request.text()
    subprocess.run(["bash", "-n"], input=text, text=True, check=True)
    assert text.startswith("#!/bin/bash\n")
    for option in (
        "--partition=train",
        f"--nodes={request.nodes}",
        f"--gpus-per-node={request.gpus}",
        "--time=01:35:00",
    ):
        assert f"#SBATCH {option}\n" in text
    assert ("#SBATCH --requeue\n" in text) == resume
    assert "src/train.py --epochs 3" in text
    tasks = int(re.search(r"--ntasks-per-node=(\d+)", text)[1])
    assert tasks * int(re.search(r"#SBATCH --cpus-per-task=(\d+)", text)[1]) == 3 * request.gpus
    assert "export OMP_NUM_THREADS=3\n" in text
    assert max(map(len, text.splitlines())) <= 120


def test_what_only_some_clusters_want_is_left_out_unless_it_is_given():
    options = {"account": "lab-7", "qos": "high", "constraint": "a100|h100", "memory": "200G"}
    lines = [
        f"#SBATCH --{name.replace('memory', 'mem')}={value}" for name, value in options.items()
    ]
    text = request_for("torchrun", **options).text().splitlines()
    assert [line for line in text if line in lines] == lines
    plain = request_for("torchrun").text().splitlines()
    assert [line for line in text if line not in lines] == plain
    assert "#SBATCH --cpus-per-task=32" in plain  # 8 cores for each of 4 GPUs


@pytest.mark.parametrize(("nodes", "gpus", "ranks"), [(1, 1, 1), (1, 2, 2), (2, 1, 2)])
def test_accelerate_is_told_of_several_gpus_only_where_there_are_several(nodes, gpus, ranks):
    text = Request("src/train.py", "accelerate", nodes=nodes, gpus=gpus).text()
    assert f"--num_processes {ranks}" in text and ("--multi_gpu" in text) == (ranks > 1)


def test_every_job_has_a_port_that_linux_gives_to_nobody_else():
    line = next(line for line in Request("src/train.py").text().splitlines() if "_PORT=" in line)
    jobs = [1, 2, 12768, 12769, 19999, 20000, 1_234_567]
    echo = f"for SLURM_JOB_ID in {' '.join(map(str, jobs))}; do {line}; echo $MASTER_PORT; done"
    ports = [int(port) for port in subprocess.check_output(["bash", "-c", echo]).split()]
    assert len(set(ports[:5])) == 5
    assert all(1024 <= port < 32768 for port in ports)  # Linux's own begin at 32768


# Stand-ins for Slurm's commands that log what happens; srun's ranks save when they get a signal.
COMMANDS = {
    "srun": "touch started; while [ ! -e told ]; do sleep 0.02; done; $SAVES; echo saved >>events",
    "scancel": 'echo "scancel $*" >>events; touch told',
    "scontrol": 'case $1 in requeue) echo "requeue $2" >>events;; *) echo NodeAddr=n1;; esac',
}


@pytest.mark.parametrize(
    ("saves", "grace", "events"),
    [
        ("sleep 0.3", 60, ["scancel --signal=TERM 7", "saved", "requeue 7"]),
        ("sleep 6000", 0.3, ["scancel --signal=TERM 7", "requeue 7"]),
    ],
    ids=["the ranks save", "the ranks hang"],
)
def test_a_job_that_resumes_lets_its_ranks_save_before_it_goes_back_into_the_queue(
    tmp_path, saves, grace, events
):
    for name, does in COMMANDS.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{does}\n")
        (tmp_path / name).chmod(0o755)
    text = request_for("torchrun", resume=True).text()
    (tmp_path / "job.sh").write_text(text.replace("sleep 60 ", f"sleep {grace} "))
    own = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_JOB_ID": "7", "SAVES": saves}
    job = subprocess.Popen(
        ["bash", "job.sh"], cwd=tmp_path, env=os.environ | own, start_new_session=True
    )
    try:
        until((tmp_path / "started").exists)
        job.send_signal(signal.SIGUSR1)
        job.wait()
    finally:
        os.killpg(job.pid, signal.SIGKILL)  # the sleep that is left, as Slurm does
    assert (tmp_path / "events").read_text().splitlines() == events


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"nodes": 0}, "nodes must be a whole number of 1 or more, not 0."),
        ({"gpus": True}, "gpus must be a whole number of 1 or more, not True."),
        ({"minutes": 1.5}, "minutes must be a whole number of 1 or more, not 1.5."),
        (
            {"strategy": "best"},
            "There is no strategy 'best'. Choose one of one_process, standalone, "
            "torchrun, accelerate, tasks.",
        ),
        (
            {"strategy": "standalone", "nodes": 2},
            "standalone is torchrun on one node, which starts a process for each GPU: "
            "ask for 1 node, or choose another strategy.",
        ),
        (
            {"script": "train"},
            "script must be a Python file and its arguments, such as src/train.py, not 'train'.",
        ),
        (
            {"script": "it's.py"},
            'script must be a Python file and its arguments, such as src/train.py, not "it\'s.py".',
        ),
        (
            {"partition": "a b"},
            "partition must be one word of letters, digits, '.', '_' and '-', not 'a b'.",
        ),
        (
            {"account": "a b"},
            "account must be one word of letters, digits, '.', '_' and '-', not 'a b'.",
        ),
        (
            {"memory": "lots"},
            "memory must be a number and K, M, G or T, such as 200G, not 'lots'.",
        ),
        (
            {"constraint": "a, b"},
            "constraint must be a feature of nodes, or several joined by & (and) or | (or), "
            "not 'a, b'.",
        ),
        (
            {"resume": True, "minutes": 3},
            "A job that resumes gets a signal 2 minutes before its end: "
            "give it 5 minutes or more, not 3.",
        ),
    ],
)
def test_a_request_that_makes_no_sense_is_one_sentence(wrong, why):
    with pytest.raises(CourseError) as refusal:
        Request(**{"script": "src/train.py", **wrong})
    assert str(refusal.value) == why


def test_quotes_in_the_scripts_arguments_reach_it_whole(tmp_path):
    text = Request("""src/train.py --name 'two words'""").text()
    command = text[text.index("bash -c ") :].replace("torchrun ", "echo ").replace("\\\n", " ")
    output = subprocess.check_output(["bash"], input=command, text=True)
    assert output.rstrip().endswith("src/train.py --name two words")
