"""Part of `report`: facts about a machine that the doctor does not report, none of them secret."""

import os
import shutil
import sys
from collections.abc import Iterator

# Variables that change how GPUs or messages behave. Only these are shown, because any other
# variable may hold a secret key.
VARIABLES = (
    *("CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_DEVICE_ORDER", "CUDA_LAUNCH_BLOCKING"),
    *("CUDA_MODULE_LOADING", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"),
    *("ROCR_VISIBLE_DEVICES", "NVIDIA_TF32_OVERRIDE", "NVIDIA_VISIBLE_DEVICES"),
    *("NVIDIA_DRIVER_CAPABILITIES", "NVIDIA_PYTORCH_VERSION"),
    *("NCCL_ALGO", "NCCL_CUMEM_ENABLE", "NCCL_DEBUG", "NCCL_IB_DISABLE", "NCCL_IB_HCA"),
    *("NCCL_NET", "NCCL_NVLS_ENABLE", "NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_PROTO"),
    *("NCCL_SHM_DISABLE", "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"),
    *("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE"),
    *("TORCH_CUDA_ARCH_LIST", "TORCH_DISTRIBUTED_DEBUG", "TORCH_NCCL_ASYNC_ERROR_HANDLING"),
    *("ACCELERATE_USE_CPU", "LD_LIBRARY_PATH", "MKL_NUM_THREADS", "OMP_NUM_THREADS"),
    *("SLURM_GPUS_ON_NODE", "SLURM_JOB_NUM_NODES", "SLURM_NTASKS", "SLURM_STEP_GPUS"),
)
CLOCKS = (
    *("index", "name", "compute_cap", "compute_mode", "mig.mode.current", "persistence_mode"),
    *("clocks.sm", "clocks.max.sm", "clocks.mem", "clocks.max.mem", "power.draw", "power.limit"),
    *("temperature.gpu", "clocks_throttle_reasons.active", "pcie.link.gen.current"),
    "pcie.link.width.current",
)
NVIDIA_SMI = (
    ["nvidia-smi"],
    ["nvidia-smi", "topo", "-m"],
    ["nvidia-smi", "topo", "-p2p", "r"],  # which GPUs can read each other's memory
    ["nvidia-smi", f"--query-gpu={','.join(CLOCKS)}", "--format=csv"],
)
# torch's tool for bug reports; the only variables that it shows are the allocator's settings
COLLECT_ENV = [sys.executable, "-P", "-m", "torch.utils.collect_env"]


def tools() -> list[list[str]]:
    """The commands that describe this machine."""
    return [COLLECT_ENV, *(NVIDIA_SMI if shutil.which("nvidia-smi") else ())]


def settings() -> Iterator[str]:
    """The `VARIABLES` that are set, each as ``NAME=value``."""
    return (f"{name}={os.environ[name]}" for name in sorted(VARIABLES) if name in os.environ)
