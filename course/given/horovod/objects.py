"""Objects as bytes, to send things that are not tensors."""

import io

import torch
from torch import Tensor


def pickled(obj: object) -> Tensor:
    """The bytes of an object. If it holds tensors, the bytes name the device they are on."""
    file = io.BytesIO()
    torch.save(obj, file)
    return torch.frombuffer(file.getbuffer(), dtype=torch.uint8)


def unpickled(data: Tensor) -> object:
    """The object of these bytes.

    Its tensors come to the CPU: the device that the bytes name may be another rank's GPU.
    """
    return torch.load(io.BytesIO(data.numpy().tobytes()), map_location="cpu", weights_only=False)
