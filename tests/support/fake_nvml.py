"""A stand-in for the module `pynvml` on another machine; it raises pynvml's own errors."""

from types import SimpleNamespace

import pynvml


class FakeNvml:
    """A machine whose GPUs are called `names`.

    `wires` maps (a, b) to their number of direct NVLinks; `switched` NVLinks of each GPU lead to a
    switch. `levels` maps (a, b) to a PCIe level as in nvml.h (by default 50, across sockets).
    `refusal` is the error code of nvmlInit, and `unsupported` names the functions that this driver
    lacks. `free` is how many bytes of each GPU's 80 GiB are free. `mig` maps each GPU that has MIG
    on to its number of instances (place 0 is empty, as after an instance was destroyed).
    `exclusive` lists the GPUs that take one process at a time.
    """

    NVMLError = pynvml.NVMLError
    NVML_NVLINK_MAX_LINKS = 18

    def __init__(
        self,
        *names,
        wires=None,
        switched=0,
        levels=None,
        cuda=13000,
        refusal=None,
        unsupported=(),
        free=79 * 2**30,
        mig=None,
        exclusive=(),
    ):
        self.names, self.switched, self.levels, self.cuda = names, switched, levels or {}, cuda
        self.refusal, self.free, self.open = refusal, free, 0
        self.mig, self.exclusive = mig or {}, exclusive
        self.ends = {gpu: ["switch"] * switched for gpu in range(len(names))}
        for (a, b), count in (wires or {}).items():
            self.ends[a] += [b] * count
            self.ends[b] += [a] * count
        for name in unsupported:
            setattr(self, name, self._refuse)

    def _refuse(self, *_):
        raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)

    def nvmlInit(self):
        if self.refusal is not None:
            raise pynvml.NVMLError(self.refusal)
        self.open += 1

    def nvmlShutdown(self):
        self.open -= 1

    def nvmlSystemGetDriverVersion(self):
        return "580.65.06"

    def nvmlSystemGetCudaDriverVersion_v2(self):
        return self.cuda

    def nvmlDeviceGetCount(self):
        return len(self.names)

    def nvmlDeviceGetHandleByIndex(self, number):
        return number

    def nvmlDeviceGetHandleByUUID(self, uuid):
        if uuid != "MIG-aa":
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
        return 0

    def nvmlDeviceGetMigMode(self, gpu):
        return [pynvml.NVML_DEVICE_MIG_ENABLE if gpu in self.mig else 0, 0]

    def nvmlDeviceGetMaxMigDeviceCount(self, gpu):
        return 7 if gpu in self.mig else 0

    def nvmlDeviceGetMigDeviceHandleByIndex(self, gpu, index):
        if not 1 <= index <= self.mig[gpu]:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
        return f"{gpu}.{index}"

    def nvmlDeviceGetName(self, gpu):
        if gpu not in range(len(self.names)):
            return f"{self.names[int(gpu[0])]} MIG 1g.10gb"
        return self.names[gpu]

    def nvmlDeviceGetUUID(self, gpu):
        return f"GPU-{gpu}{gpu}{gpu}{gpu}"

    def nvmlDeviceGetComputeMode(self, gpu):
        exclusive = pynvml.NVML_COMPUTEMODE_EXCLUSIVE_PROCESS
        return exclusive if gpu in self.exclusive else pynvml.NVML_COMPUTEMODE_DEFAULT

    def nvmlDeviceGetMemoryInfo(self, gpu):
        return SimpleNamespace(total=80 * 2**30, free=self.free)

    def nvmlDeviceGetPciInfo(self, gpu):
        return SimpleNamespace(domain=0, bus=gpu + 1, device=0)

    def nvmlDeviceGetNvLinkState(self, gpu, wire):
        if wire >= len(self.ends[gpu]):
            raise pynvml.NVMLError(pynvml.NVML_ERROR_INVALID_ARGUMENT)
        return 1

    def nvmlDeviceGetNvLinkRemoteDeviceType(self, gpu, wire):
        return 2 if self.ends[gpu][wire] == "switch" else 0

    def nvmlDeviceGetNvLinkRemotePciInfo(self, gpu, wire):
        return self.nvmlDeviceGetPciInfo(self.ends[gpu][wire])

    def nvmlDeviceGetP2PStatus(self, a, b, index):
        assert index == pynvml.NVML_P2P_CAPS_INDEX_NVLINK
        return 0 if b in self.ends[a] or self.switched else pynvml.NVML_P2P_STATUS_NOT_SUPPORTED

    def nvmlDeviceGetTopologyCommonAncestor(self, a, b):
        return self.levels.get((a, b), pynvml.NVML_TOPOLOGY_SYSTEM)
