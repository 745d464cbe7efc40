"""What is done to a gradient before it travels."""

import torch
from torch import Tensor


class Compression:
    """What is done to a tensor before it travels, and undone afterwards."""

    class none:
        """Nothing."""

        @staticmethod
        def compress(tensor: Tensor) -> tuple[Tensor, torch.dtype]:
            """What travels, and the dtype to restore."""
            return tensor, tensor.dtype

        @staticmethod
        def decompress(tensor: Tensor, dtype: torch.dtype) -> Tensor:
            """What arrived, in the dtype that it had."""
            return tensor.to(dtype)

    class fp16(none):
        """Floating-point numbers travel as float16: half the bytes of float32, three digits."""

        @staticmethod
        def compress(tensor: Tensor) -> tuple[Tensor, torch.dtype]:
            """Half precision, if it is a floating-point tensor."""
            return tensor.half() if tensor.is_floating_point() else tensor, tensor.dtype
