"""The scripts of the lessons that may use NCCL run on pretended GPUs without a warning.

They run at small sizes, each with its arguments in `SMALL`.
"""

from pathlib import Path

import pytest
from support import pretended
from support.programs import programs

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_ranks")]

# Not torch's own: the module of `ZeroRedundancyOptimizer` refuses pretended GPUs.
OWN_ZERO = "--ways ddp zero_one zero_two"
SMALL = {
    "00_start_here/backends.py": "",
    "00_start_here/data_or_layers.py": "",
    "01_data_parallel/dp_or_ddp.py": "--steps 2 --ways DDP",  # DataParallel is not pretended
    "02_all_reduce/ping.py": "",
    "02_all_reduce/measure.py": "--rounds 1",
    "02_all_reduce/duel.py": "",
    "03_distributed_data_parallel/ddp.py": "",
    "03b_overlap/compare.py": "none inf each 1 torch --rounds -1",
    "03b_overlap/real.py": "",
    "04_ddp_in_practice/moved.py": "",
    "04_ddp_in_practice/train.py": "--pairs 64 --epochs 1 --every 2",
    "05_mixed_precision/apex_today.py": "--steps 4 --levels O0 O1 O2 O3",
    "05b_autocast/amp_bert.py": "--steps 1 --batch 4 --size tiny",
    "06_horovod_style/digits_hvd.py": "",
    "06_horovod_style/by_name.py": "",
    "06_horovod_style/uneven.py": "",
    "06b_horovod_engine/faults.py": "",
    "06b_horovod_engine/hvd_race.py": "--turns 1 --batch 4 --size tiny",
    "07_strategies/train_any.py": "--strategy workers",
    "07_strategies/strategy_race.py": "",
    "07b_six_ways/way_ddp.py": "",
    "07b_six_ways/way_horovod.py": "",
    "07b_six_ways/way_accelerate.py": "",
    "08_scaling/throughput.py": "",
    "08_scaling/where.py": "",
    "09_clusters/hello_nodes.py": "",
    "09_clusters/link.py": "",
    "09_clusters/levels.py": "",
    "09b_queue_and_restart/resumable.py": "--steps 10",
    "10_sharding/zero_ways.py": f"race --rounds 1 --size tiny --pairs 4 {OWN_ZERO}",
    "10b_fsdp/fsdp_ways.py": "race --rounds 1 --size tiny --pairs 4 --ways ddp my_fsdp torch_fsdp",
    "10c_copies_of_shards/hsdp.py": "--replicas 1 --until 2",
    "10c_copies_of_shards/resume.py": "",
    "11_splitting/train_split.py": "",
    "11b_pipelines/pipeline_times.py": "--microbatches 2",
    "11c_three_ways/three_ways.py": "--mesh 1 2 1 --steps 1",
    "13_long_sequences/long_compare.py": "--length 64",
    "13_long_sequences/train_long.py": "",
    "13b_experts/train_experts.py": "--steps 2",
}
LEFT_OUT = {
    "04_ddp_in_practice/doomed.py": "the trainer, which runs above, killed on purpose",
    "06_horovod_style/process_sets.py": "tensors of the CPU on four ranks, as uneven.py has on two",
    "06b_horovod_engine/stall.py": "a stall on purpose, with tensors of the CPU",
    "06b_horovod_engine/hvd_sweep.py": "messages of tensors of the CPU, as by_name.py has",
    "06b_horovod_engine/hvd_trace.py": "messages of tensors of the CPU, as by_name.py has",
    "10c_copies_of_shards/hybrid_ledger.py": "four ranks, with the collectives that resume.py has",
    "11_splitting/tp_compare.py": "autograd asks a build for CUDA what torch's split layers return",
    "11b_pipelines/torch_pipeline.py": "torch's stages tell their shapes in single messages",
}


@pytest.mark.rest
def test_every_script_that_may_use_nccl_is_run_or_left_out_for_a_reason():
    there = {
        name
        for name, program in programs().items()
        if program.launched and program.may_use_nccl and any(file.nccl for file in program.files)
    }
    there.add("07b_six_ways/way_accelerate.py")  # accelerate chooses the backend
    assert there == SMALL.keys() | LEFT_OUT.keys() and not SMALL.keys() & LEFT_OUT.keys()


@pytest.mark.rest
@pytest.mark.parametrize("name", SMALL)
def test_a_script_runs_on_gpus(name, tmp_path, monkeypatch):
    lab, script = name.split("/")
    monkeypatch.chdir(pretended.written(lab, tmp_path))
    assert pretended.fault(pretended.on_gpus(Path("src"), script, *SMALL[name].split())) == ""


@pytest.mark.rest
def test_shards_in_main_memory_are_computed_with_on_gpus(tmp_path, monkeypatch):
    monkeypatch.chdir(pretended.written("10c_copies_of_shards", tmp_path))
    for replicas, until in ((2, 1), (1, 2)):  # the second run loads what the first one saves
        args = ["--replicas", str(replicas), "--until", str(until), "--offload"]
        run = pretended.on_gpus(Path("src"), "hsdp.py", *args)
        assert pretended.fault(run) == ""
        assert "computed on cuda; shards lie on cpu" in run.text(0, "stdout")


@pytest.mark.sampled
@pytest.mark.parametrize(
    "name",
    [
        "03_distributed_data_parallel/ddp.py",
        "04_ddp_in_practice/moved.py",
        "06_horovod_style/digits_hvd.py",
        "07b_six_ways/way_horovod.py",
        "09_clusters/hello_nodes.py",
    ],
)
def test_two_ranks_on_one_gpu_take_the_cpu(name, tmp_path, monkeypatch):
    lab, script = name.split("/")
    monkeypatch.chdir(pretended.written(lab, tmp_path))
    assert pretended.fault(pretended.on_gpus(Path("src"), script, gpus=1)) == ""
