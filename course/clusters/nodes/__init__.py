"""Several nodes that run one command each, as a cluster does, on this one machine.

two = nodes.start(2)
run = two.run(f"torchrun --nnodes 2 --rdzv-endpoint {two.head} ... src/x.py")
"""

from course.clusters.nodes.nodes import Nodes, start

__all__ = ["Nodes", "start"]
