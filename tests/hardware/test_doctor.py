"""Every check of the doctor, ok and not; the doctor as a whole on this box and on boxes that it is not."""

import subprocess
import sys
import time
import tomllib
from dataclasses import replace
from pathlib import Path

import pynvml
import pytest
from support.fake_nvml import FakeNvml

from course.commands import doctor
from course.hardware import gpus
from course.hardware.box import GIB, Box, Card
from course.hardware.doctor import machine
from course.hardware.doctor.facts import LOGS, SCRIPTS, Torch, Vitals
from course.hardware.doctor.machine import BROKEN, COURSE, NOTE, OK, PACKAGES

H100 = "NVIDIA H100 80GB HBM3"
PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def box(nvml=None, visible=None, **facts) -> Box:
    """A sound box of 16 cores, with the GPUs of `nvml`."""
    environ = {} if visible is None else {gpus.VARIABLE: visible}
    here = Box.here(
        nvml or FakeNvml(refusal=pynvml.NVML_ERROR_LIBRARY_NOT_FOUND), environ, Path("/nowhere")
    )
    sound = {
        "cores": 16,
        "memory": 64 * GIB,
        "memory_free": 60 * GIB,
        "torch_version": "2.13.0",
        "torch_cuda": "13.0",
    }
    return replace(here, **(sound | facts))


def person(box_=None, **facts) -> Vitals:
    """The facts of a sound machine, but for `facts`."""
    here = box_ or box()
    sound = {
        "box": here,
        "torch": Torch(gloo=True, nccl="2.27.5", gpus=here.usable_gpus),
        "system": "Linux",
        "python": (3, 11),
        "packages": dict.fromkeys(PACKAGES, "99.0") | {COURSE: "0.1.0"},
        "shm": (8 * GIB, 8 * GIB),
        "open_files": 1024,
        "loopback_error": None,
        "host": "box",
        "host_error": None,
        "folders": {SCRIPTS: None, LOGS: None},
        "disk_free": 2 * GIB,
        "environ": {},
    }
    return Vitals(**(sound | facts))


EIGHT = FakeNvml(*[H100] * 8, switched=18)
EIGHT_OLD = FakeNvml(*[H100] * 8, switched=18, cuda=12020)
TWO_FULL = FakeNvml("A", "A", free=3 * GIB)
ON_BUS = gpus.Gpus(installed=2, failure="The NVIDIA driver is installed but not loaded.")
CPU_BUILD = {"torch_cuda": None, "torch_version": "2.13.0+cpu"}
no_package = {"packages": dict.fromkeys(PACKAGES, "99.0") | {COURSE: "0.1.0", "datasets": None}}
old_package = {
    "packages": dict.fromkeys(PACKAGES, "99.0") | {COURSE: "0.1.0", "accelerate": "1.9.2"}
}
no_course = {"packages": dict.fromkeys(PACKAGES, "99.0") | {COURSE: None}}


def says_no(error: str) -> Vitals:
    return person(box(EIGHT), torch=Torch(gloo=True, nccl="2.27.5", gpus=8, gpu_error=error))


SICK = [  # check, facts, level, what the sentence says
    ("system", person(system="Darwin"), NOTE, "warm ranks need Linux"),
    ("system", person(system="Windows"), BROKEN, "`wsl --install`"),
    ("python", person(python=(3, 10)), BROKEN, "This is Python 3.10 and the course needs 3.11"),
    (
        "packages",
        person(**no_package),
        BROKEN,
        "Missing or too old: datasets>=4; `python -m pip install -e",
    ),
    ("packages", person(**old_package), BROKEN, "Missing or too old: accelerate>=1.12;"),
    ("packages", person(**no_course), BROKEN, "Missing or too old: multi-gpu-course;"),
    (
        "torch",
        person(box(torch_version=None)),
        BROKEN,
        "torch is missing; the course needs 2.11 or later: `python -m pip",
    ),
    ("torch", person(box(torch_version="2.9.1+cu128")), BROKEN, 'pip install -U "torch>=2.11"`'),
    (
        "torch",
        person(torch=Torch(import_error="OSError: libx.so")),
        BROKEN,
        "cannot be imported (OSError: libx.so)",
    ),
    (
        "driver",
        person(box(nvidia=ON_BUS)),
        BROKEN,
        "not loaded. Until then the labs run on the CPU.",
    ),
    (
        "driver",
        person(box(nvidia=replace(ON_BUS, installed=1))),
        NOTE,
        "Until then the labs run on the CPU.",
    ),
    (
        "driver",
        person(box(EIGHT_OLD)),
        BROKEN,
        "runs CUDA up to 12.2 and torch is built for CUDA 13.0: update the driver",
    ),
    (
        "driver",
        person(box(EIGHT_OLD)),
        BROKEN,
        '"torch>=2.11" --index-url https://download.pytorch.org/whl/cu126`.',
    ),
    (
        "driver",
        person(box(FakeNvml("A", cuda=12020))),
        NOTE,
        "update the driver to 580 or later, or `python",
    ),
    ("driver", person(box(FakeNvml("A", cuda=11080))), NOTE, "update the driver to 580 or later."),
    (
        "driver",
        person(box(EIGHT, **CPU_BUILD)),
        BROKEN,
        "torch 2.13.0+cpu is built for the CPU only",
    ),
    (
        "driver",
        person(box(EIGHT, **CPU_BUILD)),
        BROKEN,
        "https://download.pytorch.org/whl/cu130` installs one",
    ),
    (
        "driver",
        person(box(EIGHT_OLD, **CPU_BUILD)),
        BROKEN,
        "https://download.pytorch.org/whl/cu126` installs one",
    ),
    ("driver", person(box(FakeNvml("A"), **CPU_BUILD)), NOTE, "is built for the CPU only"),
    ("visible", person(box(EIGHT, "0,9")), BROKEN, "CUDA ignores '9' and all entries after it"),
    (
        "visible",
        person(box(FakeNvml("A"), "1")),
        NOTE,
        "this machine has only GPU 0, so CUDA ignores '1'",
    ),
    (
        "alike",
        person(box(FakeNvml("A", "B"))),
        NOTE,
        "The GPUs differ (A, B), so each step waits for the slowest",
    ),
    (
        "room",
        person(box(TWO_FULL)),
        NOTE,
        "free on GPU 0 (3 GiB of 80 GiB), GPU 1 (3 GiB of 80 GiB): `nvidia-smi`",
    ),
    (
        "cuda",
        says_no("no kernel image is available"),
        BROKEN,
        "(no kernel image is available): this build has no code",
    ),
    ("cuda", says_no("Error 802: system not yet initialized"), BROKEN, "nvidia-fabricmanager"),
    ("cuda", says_no("CUDA out of memory."), BROKEN, "another program fills it"),
    ("cuda", says_no("unknown error"), BROKEN, "(unknown error): `nvidia-smi` should say more"),
    (
        "cuda",
        person(box(EIGHT), torch=Torch(gloo=True, gpus=7)),
        BROKEN,
        "The driver shows 8 GPUs and torch sees 7",
    ),
    ("backend", person(torch=Torch(gloo=False, nccl="2.27.5")), BROKEN, "built without Gloo"),
    ("backend", person(box(EIGHT), torch=Torch(gloo=True)), BROKEN, "built without NCCL"),
    ("cores", person(box(cores=1)), NOTE, "2 ranks share 1 core:"),
    (
        "memory",
        person(box(memory_free=3 * GIB)),
        NOTE,
        "3 GiB of memory is free; 4 ranks want 4 GiB",
    ),
    ("memory", person(box(memory_free=GIB // 2)), BROKEN, "0.5 GiB of memory is free"),
    (
        "shared_memory",
        person(shm=(GIB // 16, GIB // 16)),
        NOTE,
        "0.0625 GiB free of 0.0625 GiB; NCCL and DataLoader",
    ),
    ("shared_memory", person(shm=(8 * GIB, GIB // 2)), NOTE, "`docker run --shm-size=2g ...`"),
    ("open_files", person(open_files=256), NOTE, "only 256 files: `ulimit -n 4096`"),
    (
        "loopback",
        person(loopback_error="refused"),
        BROKEN,
        "cannot meet on a port of localhost (refused)",
    ),
    (
        "host_name",
        person(host_error="leads to no address"),
        NOTE,
        "add `127.0.1.1 box` to /etc/hosts",
    ),
    (
        "proxy",
        person(environ={"http_proxy": "http://u:secret@p:1"}),
        NOTE,
        "A proxy (http_proxy) can catch",
    ),
    (
        "proxy",
        person(environ={"ALL_PROXY": "http://p", "no_proxy": "localhost"}),
        NOTE,
        "(all_proxy)",
    ),
    (
        "scripts",
        person(folders={SCRIPTS: "Permission denied", LOGS: None}),
        BROKEN,
        "labs/src cannot be written (Permission",
    ),
    (
        "logs",
        person(folders={SCRIPTS: None, LOGS: "Permission denied"}),
        NOTE,
        "labs/runs cannot be written (Permission",
    ),
    ("disk", person(disk_free=GIB), NOTE, "Only 1 GiB is free on the disk"),
    ("disk", person(disk_free=GIB // 8), BROKEN, "Only 0.125 GiB is free"),
]
WELL = [  # check, facts, what the sentence says; None: nothing to look at
    ("system", person(), "Linux"),
    ("python", person(python=(3, 14)), "Python 3.14"),
    (
        "packages",
        person(),
        "transformers 99.0, datasets 99.0, accelerate 99.0, jupyterlab 99.0, ipywidgets 99.0, nbval",
    ),
    (
        "torch",
        person(box(torch_version="2.11.0a0+git1")),
        "torch 2.11.0a0+git1, built for CUDA 13.0",
    ),
    ("torch", person(box(**CPU_BUILD)), "torch 2.13.0+cpu, built for the CPU only"),
    ("driver", person(), "no NVIDIA GPU: the labs run on the CPU with Gloo"),
    ("driver", person(box(EIGHT)), "NVIDIA driver 580.65.06 runs CUDA up to 13.0"),
    (
        "driver",
        person(box(EIGHT_OLD, torch_cuda="12.6")),
        "NVIDIA driver 580.65.06 runs CUDA up to 12.2",
    ),
    ("visible", person(), None),
    (
        "visible",
        person(box(EIGHT, "2,3"), environ={gpus.VARIABLE: "2,3"}),
        "CUDA_VISIBLE_DEVICES=2,3 shows 2 of 8 GPUs",
    ),
    ("alike", person(), None),
    ("alike", person(box(FakeNvml("A"))), "1 × A"),
    ("alike", person(box(EIGHT)), f"8 × {H100}, each pair connected by NVLink (NV18)"),
    ("room", person(), None),
    ("room", person(box(EIGHT)), "at least 79 GiB free on each GPU"),
    ("cuda", person(box(EIGHT, **CPU_BUILD)), None),
    ("cuda", person(box(EIGHT), torch=Torch(import_error="it took more than 90 s")), None),
    ("cuda", person(box(EIGHT)), "torch computes on the GPU and sees 8"),
    ("backend", person(box(EIGHT)), "NCCL 2.27.5 and Gloo"),
    ("backend", person(torch=Torch(gloo=True)), "Gloo"),
    ("backend", person(torch=Torch(import_error="no")), None),
    ("cores", person(box(cores=2)), "2 cores for 2 ranks"),
    ("memory", person(box(memory_free=4 * GIB)), "4 GiB of memory free"),
    ("shared_memory", person(shm=(GIB, GIB)), "/dev/shm has 1 GiB free"),
    ("shared_memory", person(shm=None), None),
    ("open_files", person(), "a process may open 1024 files"),
    ("open_files", person(open_files=None), "a process may open any number of files"),
    ("loopback", person(), "ranks can meet on a port of localhost"),
    ("host_name", person(), "the host name box leads here"),
    ("proxy", person(environ={"http_proxy": ""}), "no proxy in the way of localhost"),
    (
        "proxy",
        person(environ={"HTTP_PROXY": "http://p", "no_proxy": "localhost,127.0.0.1"}),
        "no proxy in the way",
    ),
    ("proxy", person(environ={"https_proxy": "http://p", "NO_PROXY": "*"}), "no proxy in the way"),
    ("scripts", person(), "labs/src can be written"),
    ("logs", person(), "labs/runs can be written"),
    ("disk", person(), "2 GiB free on the disk"),
]
BY_NAME = {check.__name__: check for check in doctor.CHECKS}


@pytest.mark.parametrize(
    ("name", "facts", "level", "words"), SICK, ids=[f"{n}-{w[:30]}" for n, _, _, w in SICK]
)
def test_a_check_finds_its_fault(name, facts, level, words):
    finding = BY_NAME[name](facts)
    assert finding.level == level and words in finding.text
    assert finding.text.endswith(".") and "\n" not in finding.text


@pytest.mark.parametrize(
    ("name", "facts", "words"), WELL, ids=[f"{n}-{(w or '')[:30]}" for n, _, w in WELL]
)
def test_a_check_lets_a_sound_box_pass(name, facts, words):
    finding = BY_NAME[name](facts)
    assert (finding is None) if words is None else (finding.level == OK and words in finding.text)


def test_every_check_is_tested_both_ways():
    names = [check.__name__ for check in doctor.CHECKS]
    assert {name for name, *_ in SICK} == {name for name, *_ in WELL} == set(names)
    assert len(names) == len(set(names))


def test_no_check_is_left_out():
    written = {
        function
        for module in (machine, gpus)
        for function in vars(module).values()
        if callable(function) and getattr(function, "__annotations__", {}).get("vitals") is Vitals
    }
    assert {f for f in written if not f.__name__.startswith("_")} == set(doctor.CHECKS)


@pytest.mark.parametrize(
    "sick", [facts for _, facts, _, _ in SICK], ids=[f"{n}-{w[:30]}" for n, _, _, w in SICK]
)
def test_a_fault_trips_no_other_check(sick):
    assert all(check(sick) is None or check(sick).text for check in doctor.CHECKS)


def test_no_password_of_a_proxy_is_printed():
    assert "secret" not in machine.proxy(person(environ={"http_proxy": "http://u:secret@p:1"})).text


def test_bounds_are_those_of_the_project():
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    bounds = dict([*line.split(">="), "0"][:2] for line in project["dependencies"])
    assert bounds == PACKAGES
    assert project["requires-python"] == ">=" + ".".join(map(str, machine.PYTHON))
    assert project["name"] == COURSE


@pytest.mark.parametrize(
    ("facts", "code", "notes", "verdict"),
    [
        (person(), 0, 0, "The labs run here."),
        (person(box(EIGHT)), 0, 0, "The labs run here."),
        (person(box(FakeNvml("A"))), 0, 0, "The labs run here."),
        (
            person(open_files=9, disk_free=GIB),
            0,
            2,
            "The labs run here. 2 notes above may be worth a look.",
        ),
        (person(open_files=9), 0, 1, "The labs run here. 1 note above may be worth a look."),
        (person(box(EIGHT_OLD)), 1, 0, "1 thing is broken: see the lines above for the fix."),
        (
            person(python=(3, 9), loopback_error="x"),
            1,
            0,
            "2 things are broken: see the lines above for the fix.",
        ),
    ],
)
def test_exit_code_and_verdict(monkeypatch, capsys, facts, code, notes, verdict):
    monkeypatch.setattr(doctor, "examine", lambda packages: facts)
    assert doctor.main([]) == code
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == verdict
    assert sum(line.startswith("note    ") for line in lines) == notes


@pytest.mark.parametrize(
    ("facts", "beyond"), [(person(box(EIGHT)), []), (person(open_files=9), ["note"])]
)
def test_short_is_the_card_and_what_is_not_ok(monkeypatch, capsys, facts, beyond):
    monkeypatch.setattr(doctor, "examine", lambda packages: facts)
    assert doctor.main(["--short"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "\n".join(lines[:5]) == repr(Card(facts.box))
    assert [line.split()[0] for line in lines[5:]] == beyond


def test_an_unknown_option_is_refused(capsys):
    with pytest.raises(SystemExit, match="2"):
        doctor.main(["--long"])
    assert "unrecognized arguments: --long" in capsys.readouterr().err


def test_here_the_doctor_ends_in_time_without_torch_in_its_process():
    code = (
        "import sys\nfrom course import doctor\ncode = doctor.main([])\n"
        "print('torch' in sys.modules, 'libcuda' in open('/proc/self/maps').read())\nsys.exit(code)"
    )
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    *lines, modules = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout + done.stderr
    assert time.perf_counter() - start < 10
    assert modules == "False False"
    assert any(line.startswith("ok      torch 2.") for line in lines)


def test_without_what_the_doctor_itself_needs_it_says_so():
    code = "import sys; sys.modules['psutil'] = None; import course.doctor"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("The package psutil is missing: `python -m pip install -e .`")
