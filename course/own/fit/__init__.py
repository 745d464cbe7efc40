"""Does a script fit? A rehearsal on tensors without memory tells which real GPUs suffice."""
