"""Checks of lab 10b: weights sharded by hand, and what needs all shards at once."""
