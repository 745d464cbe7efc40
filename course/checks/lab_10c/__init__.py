"""Checks of lab 10c: copies of a sharded model, and its checkpoints for any ranks."""
