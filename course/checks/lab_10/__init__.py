"""Checks of lab 10: optimizer state, gradients and weights sharded by hand."""
