"""Compression of gradients before they travel."""

import torch
from torch import Tensor


class Compression:
    """Ways to compress a tensor before it travels, and to undo that afterwards."""

    class none:
        """No compression."""

        @staticmethod
        def compress(tensor: Tensor) -> tuple[Tensor, torch.dtype]:
            """The tensor that travels, and the dtype to restore."""
            return tensor, tensor.dtype

        @staticmethod
        def decompress(tensor: Tensor, dtype: torch.dtype) -> Tensor:
            """The tensor that arrived, in its original dtype."""
            return tensor.to(dtype)

    class fp16(none):
        """Floating-point numbers travel as float16: half the bytes of float32, three digits."""

        @staticmethod
        def compress(tensor: Tensor) -> tuple[Tensor, torch.dtype]:
            """A floating-point tensor in half precision; leave others as they are."""
            return tensor.half() if tensor.is_floating_point() else tensor, tensor.dtype
