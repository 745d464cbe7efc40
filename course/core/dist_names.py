"""The torch.distributed functions by which ranks exchange data, as the installed torch has them.

`diagnostics.watch.calls` lists the names by hand, because it must not import torch; a test compares
the two.
"""

import torch.distributed as dist

PREFIXES = ("all_", "_all_", "reduce", "_reduce", "broadcast", "_broadcast", "gather", "scatter")
COLLECTIVES = tuple(
    name for name in vars(dist) if name.startswith(PREFIXES) and name != "reduce_op"
)
BARRIERS = ("barrier", "monitored_barrier")
MESSAGES = ("send", "recv", "isend", "irecv", "batch_isend_irecv")
MOVES_DATA = COLLECTIVES + MESSAGES
# All-reduces and all-gathers of one tensor, each with the argument that holds a rank's part.
CONTRIBUTIONS = {
    "all_reduce": "tensor",
    "all_gather": "tensor",
    "all_gather_into_tensor": "input_tensor",
    "all_gather_single": "input_tensor",
}
