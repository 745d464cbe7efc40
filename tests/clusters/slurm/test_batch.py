"""The sbatch file: it parses, asks for what was asked, and refuses what makes no sense."""

import re
import subprocess

import pytest

from course.clusters.slurm.batch import STRATEGIES, Request
from course.core.errors import CourseError

BOUNDED = {name: {"nodes": 1} for name, how in STRATEGIES.items() if how.most_nodes == 1} | {
    "single": {"nodes": 1, "gpus": 1}
}


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
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"nodes": 0}, "nodes is a whole number from 1, not 0."),
        ({"gpus": True}, "gpus is a whole number from 1, not True."),
        ({"minutes": 1.5}, "minutes is a whole number from 1, not 1.5."),
        (
            {"strategy": "best"},
            "There is no strategy 'best'; there are single, data_parallel, mirrored, ddp, "
            "sharded, parameter_server, accelerate, horovod.",
        ),
        (
            {"strategy": "mirrored", "nodes": 2},
            "mirrored is a process for each GPU of one server: ask for 1 node, "
            "or choose another strategy.",
        ),
        (
            {"strategy": "single", "gpus": 2},
            "single is one process on one GPU: ask for 1 node and 1 GPU, "
            "or choose another strategy.",
        ),
        (
            {"script": "train"},
            "script is a Python file and its arguments, such as src/train.py, not 'train'.",
        ),
        (
            {"script": "it's.py"},
            'script is a Python file and its arguments, such as src/train.py, not "it\'s.py".',
        ),
        (
            {"partition": "a b"},
            "partition is a word of letters, digits, '.', '_' and '-', not 'a b'.",
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
    said = subprocess.check_output(["bash"], input=command, text=True)
    assert said.rstrip().endswith("src/train.py --name two words")
