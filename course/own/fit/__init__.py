"""Whether a script fits: a rehearsal on tensors without memory, and what it says of real cards."""
