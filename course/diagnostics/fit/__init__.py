"""Find on which GPUs a script fits, by a rehearsal on tensors without memory."""
