"""The cores and the memory that a process may use, within a container's limits."""

import psutil
import pytest
from support.machines import put

from course.core.words import GIB
from course.hardware import quotas

CPUINFO = "\n\n".join(  # 2 sockets of 2 cores of 2 threads
    f"processor\t: {cpu}\nmodel name\t: Test CPU 9000\n"
    f"physical id\t: {cpu // 2 % 2}\ncore id\t\t: {cpu % 2}"
    for cpu in range(8)
)


def test_cpu_and_its_cores(tmp_path):
    put(tmp_path, "proc/cpuinfo", CPUINFO + "\n")
    assert quotas.cpu_name(tmp_path) == "Test CPU 9000"
    assert quotas.physical_cores(tmp_path, set(range(8))) == 4
    assert quotas.physical_cores(tmp_path, {0, 4}) == 1, "two threads of one core"
    assert quotas.physical_cores(tmp_path / "none", {0}) == 1


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"sys/fs/cgroup/cpu.max": "150000 100000\n"}, 1.5),
        ({"sys/fs/cgroup/cpu.max": "max 100000\n"}, None),
        (
            {
                "sys/fs/cgroup/a/cpu.max": "max 100000\n",
                "sys/fs/cgroup/a/b/cpu.max": "200000 100000\n",
            },
            2,
        ),
        (
            {
                "sys/fs/cgroup/a/cpu.max": "100000 100000\n",
                "sys/fs/cgroup/a/b/cpu.max": "200000 100000\n",
            },
            1,
        ),
        ({"sys/fs/cgroup/other/cpu.max": "100000 100000\n"}, None),
        ({}, None),
    ],
)
def test_cpu_quota_version_2(tmp_path, files, quota):
    put(tmp_path, "proc/self/cgroup", "0::/a/b\n")
    for path, text in files.items():
        put(tmp_path, path, text)
    assert quotas.cpu_quota(tmp_path) == quota


@pytest.mark.parametrize(("us", "quota"), [("300000", 3), ("-1", None)])
def test_cpu_quota_version_1(tmp_path, us, quota):
    put(tmp_path, "proc/self/cgroup", "4:memory:/host/path\n1:cpu,cpuacct:/host/path\n0::/\n")
    put(tmp_path, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", f"{us}\n")
    put(tmp_path, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n")
    assert quotas.cpu_quota(tmp_path) == quota


@pytest.mark.parametrize(
    ("names", "top"), [(("max", "current"), ""), (("limit_in_bytes", "usage_in_bytes"), "memory/")]
)
def test_memory_limit_of_a_container(tmp_path, names, top):
    put(tmp_path, "proc/self/cgroup", "0::/\n" if not top else "4:memory:/\n")
    for name, size in zip(names, (GIB, GIB // 2), strict=True):
        put(tmp_path, f"sys/fs/cgroup/{top}memory.{name}", f"{size}\n")
    put(tmp_path, f"sys/fs/cgroup/{top}memory.stat", f"anon 1\ninactive_file {GIB // 4}\n")
    assert quotas.memory(tmp_path) == (GIB, GIB * 3 // 4)


def test_memory_without_a_limit_is_the_machines(tmp_path):
    put(tmp_path, "proc/self/cgroup", "0::/\n")
    put(tmp_path, "sys/fs/cgroup/memory.max", "max\n")
    assert quotas.memory(tmp_path)[0] == psutil.virtual_memory().total
