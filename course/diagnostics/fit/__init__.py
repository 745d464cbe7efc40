"""Find on which GPUs a script fits, by rehearsing it on tensors without memory."""
