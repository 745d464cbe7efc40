"""The form that makes an sbatch file."""

import pytest

from course.clusters import slurm


def test_the_form_shows_the_file_and_refuses_what_cannot_run(recorded):
    form = slurm.form(recorded, script="src/resumable.py", nodes=2, gpus=2)
    assert "#SBATCH --nodes=2" in form._file.value and not form._button.disabled
    form.controls["nodes"].value = 3
    assert "#SBATCH --nodes=3" in form._file.value
    form.controls["nodes"].value = 4
    assert "train has 3 nodes" in form._message.value and form._button.disabled
    form.controls["strategy"].value = "standalone"
    assert "ask for 1 node, or" in form._message.value
    form.controls["strategy"].value, form.controls["nodes"].value = "torchrun", 2
    assert not form._button.disabled
    job = form.submit()
    assert job is form.job and f"job {job.number}" in form._message.value


def test_what_a_cluster_may_want_beside_is_a_field_of_the_form(recorded):
    form = slurm.form(recorded, script="src/resumable.py", memory="64G")
    fields = {"cores_per_gpu": 2, "account": "lab", "qos": "high", "constraint": "h100"}
    assert "--mem=64G" in form._file.value
    assert not any(f"--{name}" in form._file.value for name in ("account", "qos", "constraint"))
    for name, value in fields.items():
        form.controls[name].value = value
    for option in ("cpus-per-task=2", "account=lab", "qos=high", "constraint=h100", "mem=64G"):
        assert f"#SBATCH --{option}\n" in form._file.value
    assert "export OMP_NUM_THREADS=2\n" in form._file.value


@pytest.mark.parametrize(
    ("partition", "line"), [("", None), ("train", None), ("debug", "#SBATCH --partition=debug\n")]
)
def test_the_form_begins_with_the_partition_it_is_given(recorded, partition, line):
    form = slurm.form(recorded, script="src/resumable.py", partition=partition)
    assert form.request.partition == ("" if line is None else partition)  # train is the default
    assert (line or "#SBATCH --nodes=1\n") in form._file.value
    assert not form._button.disabled


def test_a_partition_that_the_cluster_lacks_is_shown_and_refused(recorded):
    form = slurm.form(recorded, script="src/resumable.py", partition="gpu-fast")
    assert form._button.disabled
    assert "There is no partition &#x27;gpu-fast&#x27; here." in form._message.value
    form.controls["partition"].value = "debug"
    assert not form._button.disabled


def test_a_form_is_the_file_where_no_kernel_shows_it(recorded):
    shown = slurm.form(recorded, script="src/resumable.py")._repr_mimebundle_()
    assert shown["text/plain"].startswith("#!/bin/bash") and "#SBATCH" in shown["text/html"]
    assert "application/vnd.jupyter.widget-view+json" in shown
