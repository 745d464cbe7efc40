"""What torch's context parallelism does on two ranks of the CPU."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.experimental import context_parallel
from torch.nn.functional import scaled_dot_product_attention as by_name

TOKENS = 32


def outcome() -> dict[str, object]:
    """The error of torch's function, and whether one imported by name sees only its rank's keys."""
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 1, 4, TOKENS, 8)
    places = torch.arange(TOKENS).expand(1, TOKENS).clone()
    buffers = [q, k, v, places]
    with context_parallel(
        mesh, buffers=buffers, buffer_seq_dims=[2, 2, 2, 1], no_restore_buffers=set(buffers)
    ):
        out, error = by_name(q, k, v, is_causal=True), ""
        try:
            nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        except NotImplementedError as raised:
            error = str(raised)
    own = by_name(q, k, v, is_causal=True)
    return {"error": error, "own keys only": torch.equal(out, own), "places": places[0]}
