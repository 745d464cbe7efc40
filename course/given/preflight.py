"""Can this node meet the others? Run it on every node before torchrun.

python course/given/preflight.py node0:29400
"""

import ipaddress
import re
import socket
import sys
from pathlib import Path

import psutil
import torch
import torch.distributed as dist

NAME = socket.gethostname()


def say(verdict: str, text: str) -> None:
    """Print one line of the report: `verdict` is ok, NO, or nothing for a mere fact."""
    print(f"{NAME}  {verdict:2}  {text}")


def check_name() -> None:
    """Report the address at which the other nodes look for this one."""
    try:
        own = socket.gethostbyname(NAME)
    except OSError:
        own = ""
    reachable = own and not ipaddress.ip_address(own).is_loopback
    say("ok" if reachable else "NO", f"the others are told to find {NAME} at {own or 'no address'}")


def check_endpoint(head: str, port: int) -> None:
    """Report whether the address where the agents meet can be reached."""
    try:
        socket.create_connection((head, port), timeout=3).close()
        say("NO", f"something listens at {head}:{port} already: an agent of an earlier run?")
    except ConnectionRefusedError:
        say("ok", f"{head} answers; nothing listens at {port} yet")
    except OSError as error:
        say("NO", f"{head}:{port} cannot be reached, {error}: a firewall, another network?")


def show_networks() -> None:
    """Report the interfaces and InfiniBand ports of this node."""
    for interface, addresses in psutil.net_if_addrs().items():
        say("", f"{interface}: {[a.address for a in addresses if a.family == socket.AF_INET]}")
    for port in sorted(Path("/sys/class/infiniband").glob("*/ports/*")):
        state = (port / "state").read_text().strip()
        say("", f"InfiniBand {port.parts[4]}, port {port.name}: {state}")


def check_gpus() -> None:
    """Report whether each GPU computes."""
    for gpu in range(torch.cuda.device_count()):
        try:
            free, total = (bytes_ >> 30 for bytes_ in torch.cuda.mem_get_info(gpu))
            torch.ones(1000, device=f"cuda:{gpu}").sum().item()
            name = torch.cuda.get_device_name(gpu)
            say("ok", f"GPU {gpu} computes: {name}, {free} of {total} GiB free")
        except RuntimeError as error:
            say("NO", f"GPU {gpu}: {str(error).splitlines()[0]}")


def show_versions() -> None:
    """Report the versions on this node, to compare with the others."""
    file = Path("/proc/driver/nvidia/version")
    driver = re.search(r"\d+\.[\d.]+", file.read_text())[0] if file.exists() else None
    nccl = ".".join(map(str, torch.cuda.nccl.version())) if dist.is_nccl_available() else None
    gpus = f"{torch.cuda.device_count()} GPUs, driver {driver}"
    versions = f"torch {torch.__version__}, CUDA {torch.version.cuda}, NCCL {nccl}"
    say("", f"{versions}, {gpus}: the same on all nodes?")


if __name__ == "__main__":
    host, _, number = sys.argv[1].partition(":")
    check_name()
    check_endpoint(host, int(number))
    show_networks()
    check_gpus()
    show_versions()
