"""Practice nodes on this one machine; each of them runs one command, as in a cluster.

two = nodes.start(2)
run = two.run(f"torchrun --nnodes 2 --rdzv-endpoint {two.head} ... src/x.py")
"""

from course.clusters.nodes.nodes import Nodes, start

__all__ = ["Nodes", "start"]
