"""``python -m course doctor``: its verdict, its exit code, and how it ends on this machine."""

import subprocess
import sys

import pytest
from support.fake_nvml import FakeNvml
from support.machines import eight_gpus, facts, machine

from course.commands import doctor
from course.core.words import GIB
from course.hardware.machine_card import Card


@pytest.mark.parametrize(
    ("sick", "code", "notes", "verdict"),
    [
        (facts(), 0, 0, "The labs run here."),
        (facts(machine(eight_gpus())), 0, 0, "The labs run here."),
        (facts(machine(FakeNvml("A"))), 0, 0, "The labs run here."),
        (
            facts(open_files=9, disk_free=GIB),
            0,
            2,
            "The labs run here. 2 notes above may be worth a look.",
        ),
        (facts(open_files=9), 0, 1, "The labs run here. 1 note above may be worth a look."),
        (
            facts(machine(eight_gpus(cuda=12020))),
            1,
            0,
            "1 thing is broken: see the lines above for the fix.",
        ),
        (
            facts(python=(3, 9), loopback_error="x"),
            1,
            0,
            "2 things are broken: see the lines above for the fix.",
        ),
    ],
)
def test_exit_code_and_verdict(monkeypatch, capsys, sick, code, notes, verdict):
    monkeypatch.setattr(doctor, "examine", lambda: sick)
    assert doctor.main([]) == code
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == verdict
    assert sum(line.startswith("note    ") for line in lines) == notes


@pytest.mark.parametrize(
    ("sick", "beyond"), [(facts(machine(eight_gpus())), []), (facts(open_files=9), ["note"])]
)
def test_short_is_the_card_and_what_is_not_ok(monkeypatch, capsys, sick, beyond):
    monkeypatch.setattr(doctor, "examine", lambda: sick)
    assert doctor.main(["--short"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "\n".join(lines[:5]) == repr(Card(sick.machine))
    assert [line.split()[0] for line in lines[5:]] == beyond


def test_an_unknown_option_is_refused(capsys):
    with pytest.raises(SystemExit, match="2"):
        doctor.main(["--long"])
    assert "unrecognized arguments: --long" in capsys.readouterr().err


def test_here_the_doctor_ends_without_torch_in_its_process():
    code = (
        "import sys\nfrom course.commands import doctor\ncode = doctor.main([])\n"
        "print('torch' in sys.modules, 'libcuda' in open('/proc/self/maps').read())\nsys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    *lines, modules = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout + done.stderr
    assert modules == "False False"
    assert any(line.startswith("ok      torch 2.") for line in lines)


def test_the_doctor_names_a_missing_package_that_it_needs_itself():
    code = "import sys; sys.modules['psutil'] = None; import course.commands.doctor"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("The package psutil is missing: `python -m pip install -e .`")
