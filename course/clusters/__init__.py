"""Several machines: nodes for practice on this one, and the scheduler Slurm."""
