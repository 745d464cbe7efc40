"""The checks of the doctor on cores, memory, disk, network and isolation."""

from pathlib import Path

from course.core import words
from course.hardware.doctor.facts import LOGS, SCRIPTS, Facts
from course.hardware.doctor.results import BROKEN, NOTE, CheckResult, broken, note, ok


def cores(facts: Facts) -> CheckResult:
    """Check that there is a core for each rank."""
    has, ranks = words.plural(facts.machine.cores, "core"), facts.machine.ranks
    if facts.machine.cores < ranks:
        return note(f"{ranks} ranks share {has}: all runs, but times say less here.")
    return ok(f"{has} for {ranks} ranks")


def idle(facts: Facts) -> CheckResult | None:
    """Check that no other program keeps the cores busy."""
    if facts.load is None:
        return None
    has = words.plural(facts.machine.cores, "core")
    if facts.load > facts.machine.cores:
        lead = f"About {facts.load:.0f} processes compete for {has}, so everything takes longer"
        return note(f"{lead} and times say less: `top` shows them.")
    return ok(f"{has}, of which other programs use {facts.load:.1f}")


def memory(facts: Facts) -> CheckResult:
    """Check the free memory: torch and transformers take about a GiB in each."""
    free, ranks = facts.machine.memory_free, facts.machine.ranks
    if free < ranks * words.GIB:
        lead = f"{words.gib(free)} of memory is free; {ranks} ranks want {ranks} GiB"
        return CheckResult(NOTE if free >= words.GIB else BROKEN, f"{lead}: close other programs.")
    return ok(f"{words.gib(free)} of memory free")


def shared_memory(facts: Facts) -> CheckResult | None:
    """Check /dev/shm, where NCCL and DataLoader workers pass data; Docker gives it 64 MiB."""
    if facts.shm is None:
        return None
    total, free = map(words.gib, facts.shm)
    if facts.shm[1] < words.GIB:
        lead = f"/dev/shm has {free} free of {total}; NCCL and DataLoader workers want 1 GiB"
        remount = "else `sudo mount -o remount,size=2g /dev/shm`, or delete what fills it"
        return note(f"{lead}: `docker run --shm-size=2g ...`, {remount}.")
    return ok(f"/dev/shm has {free} free")


def open_files(facts: Facts) -> CheckResult:
    """Check how many files and sockets a process may open."""
    limit = facts.open_files
    if limit is None:
        return ok("a process may open any number of files")
    if limit < 1024:
        fix = "`ulimit -n 4096` before starting JupyterLab"
        return note(f"A process may open only {limit} files: {fix}.")
    return ok(f"a process may open {limit} files")


def loopback(facts: Facts) -> CheckResult:
    """Check that this machine can reach itself on a port."""
    if facts.loopback_error:
        lead = f"The ranks cannot meet on a port of localhost ({facts.loopback_error})"
        fix = "let a firewall or sandbox allow it, and have /etc/hosts say `127.0.0.1 localhost`"
        return broken(f"{lead}: {fix}.")
    return ok("ranks can meet on a port of localhost")


def host_name(facts: Facts) -> CheckResult:
    """Check that the host name leads back to this machine."""
    if facts.host_error:
        lead = f"The host name {facts.host} {facts.host_error}: the labs use loopback instead"
        return note(f"{lead}; for a plain torchrun add `127.0.1.1 {facts.host}` to /etc/hosts.")
    return ok(f"the host name {facts.host} leads here")


def proxy(facts: Facts) -> CheckResult:
    """Check for a proxy that would catch what is sent to this machine itself."""
    settings = {name.lower(): value for name, value in facts.environ.items() if value}
    proxies = [name for name in ("http_proxy", "https_proxy", "all_proxy") if name in settings]
    exempt = {name.strip().lstrip(".").lower() for name in settings.get("no_proxy", "").split(",")}
    if proxies and exempt != {"*"} and not {"localhost", "127.0.0.1"} <= exempt:
        lead = f"A proxy ({', '.join(proxies)}) can catch traffic to this machine itself"
        return note(f"{lead}: `export no_proxy=localhost,127.0.0.1` before starting JupyterLab.")
    return ok("no proxy in the way of localhost")


def scripts(facts: Facts) -> CheckResult:
    """Check that the notebooks' scripts can be written."""
    return _writable(SCRIPTS, facts, BROKEN, "copy the course to a folder that is yours")


def logs(facts: Facts) -> CheckResult:
    """Check that the logs of runs can be written."""
    return _writable(LOGS, facts, NOTE, "until it can, logs go to a temporary folder")


def disk(facts: Facts) -> CheckResult:
    """Check the room on the disk for scripts, logs, checkpoints and traces."""
    free = facts.disk_free
    if free < 2 * words.GIB:
        lead = f"Only {words.gib(free)} is free on the disk of {SCRIPTS.parent}"
        fix = "delete files until 2 GiB are, for checkpoints and traces"
        return CheckResult(NOTE if free >= words.GIB / 4 else BROKEN, f"{lead}: {fix}.")
    return ok(f"{words.gib(free)} free on the disk")


def isolation(facts: Facts) -> CheckResult:
    """Check whether untrusted code can be isolated; all is well if not, as no lab needs it."""
    if facts.isolation_error:
        return ok(f"Checks cannot isolate the code of others here: {facts.isolation_error}.")
    return ok("checks can isolate code of others: `python -m course check --isolated`")


MACHINE = (
    cores,
    idle,
    memory,
    shared_memory,
    open_files,
    loopback,
    host_name,
    proxy,
    scripts,
    logs,
    disk,
    isolation,
)


def _writable(folder: Path, facts: Facts, level: str, fix: str) -> CheckResult:
    error = facts.folders[folder]
    if error:
        return CheckResult(level, f"{folder} cannot be written ({error}): {fix}.")
    return ok(f"{folder} can be written")
